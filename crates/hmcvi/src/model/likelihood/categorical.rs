//! Let one column of each group be 1.

use hmcvi_graph::Expr;

use super::{Columns, Likelihood, LikelihoodError, LikelihoodSettings, Observed};
use crate::dist::{self, RandomSource};

pub(super) struct Categorical;

/// Classes of each variable: those of the settings, or all columns.
fn groups(settings: &LikelihoodSettings, columns: usize) -> Vec<usize> {
    if settings.groups.is_empty() { vec![columns] } else { settings.groups.clone() }
}

impl Likelihood for Categorical {
    fn given<'g>(
        &self,
        columns: &Columns<'_, 'g>,
        decoded: Expr<'g>,
        _: Option<Expr<'g>>,
    ) -> Box<dyn Observed<'g> + 'g> {
        Box::new(dist::Categorical::new(decoded, &groups(columns.settings, columns.count)))
    }

    fn sample(
        &self,
        settings: &LikelihoodSettings,
        parameters: &[f32],
        source: &mut RandomSource,
        x: &mut [f32],
    ) {
        x.fill(0.0);
        let mut start = 0;
        for size in groups(settings, x.len()) {
            let logs = &parameters[start..start + size];
            let weights: Vec<f64> = logs.iter().map(|&log| f64::from(log).exp()).collect();
            x[start + source.categorical(&weights)] = 1.0;
            start += size;
        }
    }

    fn allows(&self, value: f32) -> bool {
        value == 0.0 || value == 1.0
    }

    fn allowed(&self) -> &'static str {
        "0 or 1"
    }

    fn check(&self, settings: &LikelihoodSettings, columns: usize) -> Result<(), LikelihoodError> {
        let groups = &settings.groups;
        match groups.is_empty() {
            true if columns < 2 => Err(LikelihoodError::SingleClass { columns }),
            false if groups.iter().any(|&size| size < 2) || groups.iter().sum::<usize>() != columns => {
                Err(LikelihoodError::Groups { groups: groups.clone(), columns })
            }
            _ => Ok(()),
        }
    }
}

impl<'g> Observed<'g> for dist::Categorical<'g> {
    fn log_prob_terms(&self, x: Expr<'g>) -> Expr<'g> {
        dist::Categorical::log_prob_terms(self, x)
    }

    fn mean(&self) -> Expr<'g> {
        dist::Categorical::mean(self)
    }

    /// Logarithms of probabilities, which have no common constant that overflows.
    fn parameters(&self) -> Expr<'g> {
        self.log_probabilities()
    }
}
