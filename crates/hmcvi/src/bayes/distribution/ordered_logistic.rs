//! Classes in an order, by where a number with logistic noise lies among cut points.

use hmcvi_graph::Expr;

use super::classes::{classes, positions};
use super::{Density, Distribution, check_argument};
use crate::bayes::support::Support;
use crate::bayes::{Arg, Dims, Var};

/// Classes from 1 on, with a location and the ascending cut points between the classes, one fewer than there are classes:
/// class `k` has the probability `σ(l - cₖ₋₁) - σ(l - cₖ)`.
pub fn ordered_logistic<'g>(location: impl Into<Arg<'g>>, cut_points: Var<'g>) -> Distribution<'g> {
    let noise = Noise::Logistic;
    Distribution::new(Ordered { name: "ordered_logistic", location: location.into(), cut_points, noise })
}

/// The same with Gaussian noise: class `k` has the probability `Φ(cₖ - l) - Φ(cₖ₋₁ - l)`.
pub fn ordered_probit<'g>(location: impl Into<Arg<'g>>, cut_points: Var<'g>) -> Distribution<'g> {
    let noise = Noise::Normal;
    Distribution::new(Ordered { name: "ordered_probit", location: location.into(), cut_points, noise })
}

enum Noise {
    Logistic,
    Normal,
}

struct Ordered<'g> {
    name: &'static str,
    location: Arg<'g>,
    cut_points: Var<'g>,
    noise: Noise,
}

impl<'g> Density<'g> for Ordered<'g> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn support(&self) -> Support<'g> {
        classes(self.cut_points.dims().elements() + 1)
    }

    fn dims(&self) -> Result<Dims, String> {
        let name = self.name;
        let cuts = self.cut_points;
        if cuts.dims().sizes().len() != 1 {
            return Err(format!("the cut points of {name} must be a vector, not {}", cuts.dims()));
        }
        check_argument(name, "location", self.location, Support::Real)?;
        check_argument(name, "cut_points", Arg::Var(cuts), Support::Ordered)?;
        Ok(self.location.dims())
    }

    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        let name = self.name;
        let location = self.location.var(x.graph());
        if !location.dims().is_scalar() && location.dims() != x.dims() {
            let problem = format!("{name} describes {}, not {}", location.dims(), x.dims());
            return x.wrong(problem, x.dims());
        }
        match positions(x, self.cut_points.dims().elements() + 1) {
            Ok(seen) => Var::new(self.log_prob_of(location.expr(), &seen), x.dims()),
            Err(problem) => x.wrong(format!("{name}: {problem}"), x.dims()),
        }
    }
}

impl<'g> Ordered<'g> {
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
        if let Noise::Normal = self.noise {
            return between_normal(has_lower, has_upper, lower - location, upper - location);
        }
        let inner = has_both.select((-(-width).expm1()).log(), 0.0);
        let above = has_lower.select((location - lower).log_sigmoid(), 0.0);
        above + has_upper.select((upper - location).log_sigmoid(), 0.0) + inner
    }
}

/// `log(Φ(b) - Φ(a))` where both are there, in the tail that keeps its digits, else the probability beyond one of them.
fn between_normal<'g>(has_a: Expr<'g>, has_b: Expr<'g>, a: Expr<'g>, b: Expr<'g>) -> Expr<'g> {
    let has_both = has_a * has_b;
    let is_high = a.greater(0.0) * has_both;
    // Both ends are mirrored where they lie above 0.
    let (high, low) = (is_high.select(-a, b), is_high.select(-b, a));
    let (log_high, log_low) = (high.log_normal_cdf(), low.log_normal_cdf());
    let ratio = has_both.select(log_low - log_high, -1.0);
    let inner = log_high + (-ratio.expm1()).log();
    let outer = has_a.select((-a).log_normal_cdf(), b.log_normal_cdf());
    has_both.select(inner, outer)
}
