//! Distributions of counts that share a sum.

use super::{Density, Distribution, check_argument};
use crate::bayes::support::Support;
use crate::bayes::{Arg, Dims, Var};

/// How often each class is drawn, with the probabilities of the classes along the last dimension.
pub fn multinomial<'g>(probabilities: Var<'g>) -> Distribution<'g> {
    Distribution::new(Multinomial { probabilities })
}

struct Multinomial<'g> {
    probabilities: Var<'g>,
}

impl<'g> Density<'g> for Multinomial<'g> {
    fn name(&self) -> &'static str {
        "multinomial"
    }

    fn support(&self) -> Support<'g> {
        Support::COUNTS
    }

    fn together(&self) -> usize {
        1
    }

    fn dims(&self) -> Result<Dims, String> {
        check_argument(self.name(), "probabilities", Arg::Var(self.probabilities), Support::Simplex)?;
        Ok(self.probabilities.dims())
    }

    /// `log (Σ x)! - Σ log x! + Σ x log p`
    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        let Some((dims, own)) = x.dims().split(1) else {
            return x.wrong("multinomial describes vectors, not a scalar", x.dims());
        };
        let p = match self.probabilities.repeated(x.dims()) {
            Ok(p) => p,
            Err(problem) => return x.wrong(format!("multinomial: {problem}"), dims),
        };
        let size = own.elements();
        let ways = (x.expr().sum_groups(size) + 1.0).lgamma() - (x + 1.0).lgamma().expr().sum_groups(size);
        Var::new(x.times_log(p).expr().sum_groups(size) + ways, dims)
    }
}
