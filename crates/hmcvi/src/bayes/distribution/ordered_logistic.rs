//! Classes in an order, by where a number with logistic noise lies among cut points.

use hmcvi_graph::Expr;

use super::classes::{classes, positions};
use super::{Density, Distribution, check_argument};
use crate::bayes::support::Support;
use crate::bayes::{Arg, Dims, Var};

/// Classes from 1 on, with a location and the ascending cut points between the classes, one fewer than there are classes:
/// class `k` has the probability `σ(l - cₖ₋₁) - σ(l - cₖ)`.
pub fn ordered_logistic<'g>(location: impl Into<Arg<'g>>, cut_points: Var<'g>) -> Distribution<'g> {
    Distribution::new(OrderedLogistic { location: location.into(), cut_points })
}

struct OrderedLogistic<'g> {
    location: Arg<'g>,
    cut_points: Var<'g>,
}

const NAME: &str = "ordered_logistic";

impl<'g> Density<'g> for OrderedLogistic<'g> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn support(&self) -> Support<'g> {
        classes(self.cut_points.dims().elements() + 1)
    }

    fn dims(&self) -> Result<Dims, String> {
        let cuts = self.cut_points;
        if cuts.dims().sizes().len() != 1 {
            return Err(format!("the cut points of {NAME} must be a vector, not {}", cuts.dims()));
        }
        check_argument(NAME, "location", self.location, Support::Real)?;
        check_argument(NAME, "cut_points", Arg::Var(cuts), Support::Ordered)?;
        Ok(self.location.dims())
    }

    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        let location = self.location.var(x.graph());
        if !location.dims().is_scalar() && location.dims() != x.dims() {
            let problem = format!("{NAME} describes {}, not {}", location.dims(), x.dims());
            return x.wrong(problem, x.dims());
        }
        match positions(x, self.cut_points.dims().elements() + 1) {
            Ok(seen) => Var::new(self.log_prob_of(location.expr(), &seen), x.dims()),
            Err(problem) => x.wrong(format!("{NAME}: {problem}"), x.dims()),
        }
    }
}

impl<'g> OrderedLogistic<'g> {
    /// `log σ(l - cₖ₋₁) + log σ(cₖ - l) + log(1 - exp(cₖ₋₁ - cₖ))`, without what the first and the last class lack.
    fn log_prob_of(&self, location: Expr<'g>, seen: &[usize]) -> Expr<'g> {
        let (graph, cuts) = (location.graph(), self.cut_points.expr());
        let flags = |has: &dyn Fn(usize) -> bool| {
            let flags: Vec<f64> = seen.iter().map(|&class| f64::from(u8::from(has(class)))).collect();
            graph.constant_matrix(1, flags.len(), &flags)
        };
        let last = cuts.cols();
        let (has_lower, has_upper) = (flags(&|class| class > 0), flags(&|class| class < last));
        let pick = |place: &dyn Fn(usize) -> usize| {
            cuts.gather_cols(&seen.iter().map(|&class| place(class)).collect::<Vec<_>>())
        };
        let lower = pick(&|class| class.saturating_sub(1));
        let upper = pick(&|class| class.min(last - 1));
        // Outer classes have no width; any that is positive keeps derivatives finite.
        let has_both = has_lower * has_upper;
        let width = has_both.select(upper - lower, 1.0);
        let inner = has_both.select((-(-width).expm1()).log(), 0.0);
        let above = has_lower.select((location - lower).log_sigmoid(), 0.0);
        above + has_upper.select((upper - location).log_sigmoid(), 0.0) + inner
    }
}
