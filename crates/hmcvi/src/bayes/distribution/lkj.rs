//! Distributions of correlation matrices.

use super::real::LOG_PI;
use super::{Density, Distribution, check_argument};
use crate::bayes::support::Support;
use crate::bayes::{Arg, Dims, Var};

/// Cholesky factors of correlation matrices of so many variables, with a density in proportion to `det(LLᵀ)` to the power
/// of `concentration - 1` (Lewandowski, Kurowicka and Joe): 1 prefers no correlations, more prefers small ones.
pub fn lkj_corr_cholesky<'g>(size: usize, concentration: impl Into<Arg<'g>>) -> Distribution<'g> {
    Distribution::new(Lkj { size, concentration: concentration.into() })
}

struct Lkj<'g> {
    size: usize,
    concentration: Arg<'g>,
}

impl<'g> Density<'g> for Lkj<'g> {
    fn name(&self) -> &'static str {
        "lkj_corr_cholesky"
    }

    fn support(&self) -> Support<'g> {
        Support::CorrelationCholesky
    }

    fn together(&self) -> usize {
        2
    }

    fn dims(&self) -> Result<Dims, String> {
        check_argument(self.name(), "concentration", self.concentration, Support::POSITIVE)?;
        match self.concentration.dims() {
            dims if dims.is_scalar() => Ok((self.size, self.size).into()),
            dims => Err(format!("the concentration of {} must be a scalar, not {dims}", self.name())),
        }
    }

    fn fixed(&self, x: Var<'g>) -> Option<Var<'g>> {
        Some(known_constant(self.size, self.concentration.var(x.graph())))
    }

    /// `Σₖ (K - k + 2η - 2) log Lₖₖ - log c` for `k` from 2 to `K`.
    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        let size = self.size;
        let dims = match (self.dims(), x.dims().split(2)) {
            (Ok(own), Some((dims, value))) if own == value => dims,
            (own, _) => {
                let problem =
                    own.map_or_else(|e| e, |own| format!("{} is for {own}, not {}", self.name(), x.dims()));
                return x.wrong(problem, x.dims());
            }
        };
        let eta = self.concentration.var(x.graph());
        let (groups, steps) = (dims.elements(), size.saturating_sub(1));
        let log_constant = self.log_constant(eta).expr();
        if steps == 0 {
            return Var::new(log_constant.broadcast_to(hmcvi_graph::Shape::fixed(1, groups)), dims);
        }
        let diagonal = |at: usize| at / steps * size * size + (at % steps + 1) * (size + 1);
        let places: Vec<usize> = (0..groups * steps).map(diagonal).collect();
        let powers: Vec<f64> = (0..groups * steps).map(|at| (size - 2 - at % steps) as f64).collect();
        let powers = x.graph().constant_matrix(1, powers.len(), &powers) + (eta.expr() - 1.0) * 2.0;
        let log_det = (powers * x.expr().gather_cols(&places).log()).sum_groups(steps);
        Var::new(log_det - log_constant, dims)
    }
}

impl<'g> Lkj<'g> {
    /// `log c = Σₖ [k/2 log π + log Γ(η + (K - 1 - k)/2) - log Γ(η + (K - 1)/2)]` for `k` from 1 to `K - 1`.
    fn log_constant(&self, eta: Var<'g>) -> Var<'g> {
        log_constant(self.size, eta)
    }
}

/// `-log c` where the concentration is known, and 0 where it is inferred: then all of `log c` depends on it.
pub(super) fn known_constant(size: usize, eta: Var<'_>) -> Var<'_> {
    match eta.known() {
        Some(_) => -log_constant(size, eta),
        None => Arg::Number(0.0).var(eta.graph()),
    }
}

/// The logarithm of the integral of `det R` to the power of `η - 1` over correlation matrices.
pub(super) fn log_constant(size: usize, eta: Var<'_>) -> Var<'_> {
    let steps = size.saturating_sub(1);
    let all = (eta + 0.5 * steps as f64).lgamma();
    let term = |k: usize| (eta + 0.5 * (steps - k) as f64).lgamma() - all + 0.5 * k as f64 * LOG_PI;
    (1..=steps).map(term).fold(Arg::Number(0.0).var(eta.graph()), |sum, term| sum + term)
}
