//! Say how data follow from what a decoder gives: `p(x | z)` for binary values, numbers, counts and classes.
//!
//! A new likelihood is a file that implements [`Likelihood`], named as a module here, and its line in the list below.

mod bernoulli;
mod categorical;
mod columns;
mod counts;
mod gaussian;
mod multinomial;
mod negative_binomial;
mod poisson;
mod settings;
mod statistics;
mod zero_inflated_negative_binomial;

use hmcvi_graph::Expr;
use serde::{Deserialize, Serialize};

pub use columns::Columns;
pub use settings::{LikelihoodError, LikelihoodSettings, Scale};
pub use statistics::ColumnStatistics;

use crate::dist::RandomSource;

/// How rows of data follow from what a decoder gives for them.
pub trait Likelihood: Send + Sync {
    /// Columns of the decoder's last layer for so many columns of data.
    fn outputs(&self, columns: usize) -> usize {
        columns
    }

    /// What an encoder is shown of the data, in a range that networks take well.
    fn encoder_input<'g>(&self, _columns: &Columns<'_, 'g>, x: Expr<'g>) -> Expr<'g> {
        x
    }

    /// `p(x | z)` for what the decoder gave, `[N, outputs]`. The rows `x` are for likelihoods that take the sum of a
    /// row as known; without them, it is that of a typical row.
    fn given<'g>(
        &self,
        columns: &Columns<'_, 'g>,
        decoded: Expr<'g>,
        x: Option<Expr<'g>>,
    ) -> Box<dyn Observed<'g> + 'g>;

    /// `l` and `c` such that `log p(x | z)` is `x · l + c`, where it is.
    fn linear<'g>(&self, _decoded: Expr<'g>) -> Option<(Expr<'g>, Expr<'g>)> {
        None
    }

    /// Draws one row, given the values of [`Observed::parameters`] for it.
    fn sample(
        &self,
        settings: &LikelihoodSettings,
        parameters: &[f32],
        source: &mut RandomSource,
        x: &mut [f32],
    );

    /// Whether `size_factor` means something to it.
    fn has_size_factor(&self) -> bool {
        false
    }

    /// Whether a value can be drawn from this likelihood.
    fn allows(&self, value: f32) -> bool;

    /// What [`Likelihood::allows`], in words.
    fn allowed(&self) -> &'static str;

    /// Refuses settings that do not fit data with so many columns.
    ///
    /// # Errors
    /// Which setting it is, and what fits.
    fn check(&self, _settings: &LikelihoodSettings, _columns: usize) -> Result<(), LikelihoodError> {
        Ok(())
    }
}

/// A distribution of rows of data.
pub trait Observed<'g> {
    /// Terms of the log density of every row, `[N, any]`.
    fn log_prob_terms(&self, x: Expr<'g>) -> Expr<'g>;

    /// Log density of every row, `[N, 1]`.
    fn log_prob(&self, x: Expr<'g>) -> Expr<'g> {
        self.log_prob_terms(x).sum_cols()
    }

    /// Expected values, `[N, columns]`.
    fn mean(&self) -> Expr<'g>;

    /// Everything that a draw depends on, `[N, any]`, as [`Likelihood::sample`] takes it.
    fn parameters(&self) -> Expr<'g>;
}

macro_rules! likelihoods {
    ($($(#[$meta:meta])* $name:ident => $likelihood:path;)*) => {
        /// How data follow from what a decoder gives.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum LikelihoodKind {
            $($(#[$meta])* $name,)*
        }

        impl LikelihoodKind {
            /// Every kind.
            pub const ALL: &[LikelihoodKind] = &[$(LikelihoodKind::$name),*];

            /// The name in configurations.
            pub fn name(self) -> String {
                serde_json::to_value(self).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
            }

            /// The likelihood itself.
            pub fn likelihood(self) -> &'static dyn Likelihood {
                match self {
                    $(LikelihoodKind::$name => &$likelihood,)*
                }
            }
        }
    };
}

likelihoods! {
    /// Binary values.
    #[default]
    Bernoulli => bernoulli::Bernoulli;
    /// Real numbers.
    Gaussian => gaussian::Gaussian;
    /// Counts that vary as independent events do.
    Poisson => poisson::Poisson;
    /// Counts that vary more, with a learnt dispersion for each column.
    NegativeBinomial => negative_binomial::NegativeBinomial;
    /// The same with zeros that have another cause.
    ZeroInflatedNegativeBinomial => zero_inflated_negative_binomial::ZeroInflatedNegativeBinomial;
    /// Counts whose sum is given for each row.
    Multinomial => multinomial::Multinomial;
    /// Choices among classes, with one column for each class.
    Categorical => categorical::Categorical;
}
