//! Account for the acceptance step in the bound: `log r_A - log q_A` of the event that happened.

use hmcvi_graph::Expr;

use super::chain::Inference;
use super::settings::Acceptance;
use crate::hmc::{Info, State};
use crate::nn::Network;

/// Probabilities of the network's model stay this far from 0 and 1, so that no event that can be
/// sampled has an infinite log probability.
const CLIP: f64 = 1e-4;

impl<'g> Inference<'_, 'g> {
    /// The acceptance step's contribution to the bound; `next` is the state `s_t` after step `time`.
    ///
    /// With `ΔH = H(proposal) - H(z, u)`: if accepted, `revHD(s_t) = (z, u)`; if rejected,
    /// `H(revHD(s_t)) = H(proposal)`. So no further simulation is needed
    /// (`app:DerivationOfReverseAcceptanceProbability`).
    pub(super) fn acceptance_term(&self, info: &Info<'g>, next: State<'g>, time: usize) -> Expr<'g> {
        let accepted = info.accepted;
        // A diverged row was rejected with probability one, by the chain and by its reverse.
        let error = info.diverging.select(1.0, info.energy_error);
        let term = match self.settings.acceptance {
            Acceptance::None => return self.graph().constant(0.0),
            // min(0, ΔH) - min(0, -ΔH) = ΔH if accepted; the probabilities are equal if rejected.
            Acceptance::Simple => accepted.select(error, 0.0),
            Acceptance::Network => {
                self.network_log_reverse(accepted, error, next, time) - log_forward(accepted, error)
            }
        };
        info.diverging.select(0.0, term)
    }

    /// `log P(A | s_t, t, x)`: the converged chain's probability `min(1, exp(H(s_t) - H(revHD(s_t))))`
    /// plus `tanh` of a network, clipped. Where that is 1 by theory, the network has no say.
    fn network_log_reverse(
        &self,
        accepted: Expr<'g>,
        error: Expr<'g>,
        next: State<'g>,
        time: usize,
    ) -> Expr<'g> {
        let time = self.graph().constant(time as f64);
        let inputs = Expr::concat_cols(&[self.context, next.z, next.v, time]);
        let network = Network { name: "acceptance", hidden: self.hidden, activation: self.activation };
        let correction = network.apply(self.parameters, inputs, 1).tanh();
        let log_converged = accepted.select(error, -error).min(0.0);
        let probability = (log_converged.exp() + correction).max(CLIP).min(1.0 - CLIP);
        let log_probability = accepted.select(probability, 1.0 - probability).log();
        // Only an accepted proposal with ΔH ≥ 0 has the certain reverse event A = 1.
        (accepted * error.greater_equal(0.0)).select(0.0, log_probability)
    }
}

/// `log q_A`: `min(0, -ΔH)` if accepted, `log(1 - exp(-ΔH))` if rejected.
fn log_forward<'g>(accepted: Expr<'g>, error: Expr<'g>) -> Expr<'g> {
    // The other branch's argument is replaced where it is not taken: its derivative may be infinite.
    let rejected_error = accepted.select(1.0, error);
    let log_rejection = (-(-rejected_error).exp()).log1p();
    accepted.select((-error).min(0.0), log_rejection)
}
