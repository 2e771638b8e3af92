//! Begin with a mixture of Gaussians, and draw from each of them: shares are then weights, which can be learnt.

use hmcvi_graph::Expr;

use super::Around;
use crate::dist::Gaussian;
use crate::family::hmc_chain::Start;
use crate::nn::Initial;
use crate::potential::Potential;

/// Variance of the distances of the Gaussians from the encoder's at first, in all dimensions: that of the usual prior.
const SPREAD: f64 = 1.0;

/// Logits of shares stay between minus this and this: a part that is far from all modes keeps a share of which it can
/// learn where they are, and costs hundredths of a nat.
const LARGEST_LOGIT: f64 = 4.0;

/// A mixture of Gaussians.
pub(super) struct Mixture<'g> {
    /// Logarithms of their shares, `[N, K]`.
    pub(super) log_shares: Expr<'g>,
    parts: Vec<Gaussian<'g>>,
}

impl<'g> Around<'_, 'g> {
    /// The encoder's Gaussian and others at some distance of it.
    pub(super) fn mixture(&self) -> Mixture<'g> {
        let (d, count) = (self.dimension(), self.family.parts);
        let given = self.correction("mixture", self.target.context, count * (2 * d + 1));
        let spread = Initial::Normal { variance: SPREAD };
        let distances = self.target.parameters.get("mixture.distances", 1, count * d, spread);
        let part = |k: usize| {
            let (moved, widened) = (given.slice_cols(k * d, d), given.slice_cols((count + k) * d, d));
            let near = self.gaussian.mean + moved;
            let mean = if k == 0 { near } else { near + distances.slice_cols(k * d, d) };
            Gaussian { mean, log_variance: self.gaussian.log_variance + widened }
        };
        let logits = (given.slice_cols(2 * count * d, count) * (1.0 / LARGEST_LOGIT)).tanh() * LARGEST_LOGIT;
        Mixture { log_shares: logits - logits.log_sum_exp(), parts: (0..count).map(part).collect() }
    }
}

impl<'g> Mixture<'g> {
    fn log_prob(&self, z: Expr<'g>) -> Expr<'g> {
        log_prob(self.log_shares, &self.parts, z)
    }

    /// A draw from each Gaussian, with the density of the whole mixture.
    pub(super) fn starts(&self, around: &Around<'_, 'g>) -> Vec<Start<'g>> {
        let d = around.dimension();
        let of = |part: &Gaussian<'g>| {
            let z = part.sample(around.noise());
            let (shares, parts) = (self.log_shares, self.parts.clone());
            let density = Potential::from_expression(d, move |z| log_prob(shares, &parts, z));
            around.start(z, -self.log_prob(z), density)
        };
        self.parts.iter().map(of).collect()
    }
}

fn log_prob<'g>(log_shares: Expr<'g>, parts: &[Gaussian<'g>], z: Expr<'g>) -> Expr<'g> {
    let each: Vec<Expr<'g>> = parts.iter().map(|part| part.log_prob(z)).collect();
    (Expr::concat_cols(&each) + log_shares).log_sum_exp()
}
