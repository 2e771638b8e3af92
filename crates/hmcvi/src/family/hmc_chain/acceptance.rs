//! Account for the acceptance step in the bound: `log r_A - log q_A` of the event that happened.

use hmcvi_graph::Expr;

use super::chain::{Inference, Step};
use super::settings::{Acceptance, AcceptanceGradient};
use crate::family::Entropies;
use crate::hmc::accept::{log_probability, next_state};
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
    pub(super) fn acceptance_term(&self, info: &Info<'g>, next: State<'g>, time: Expr<'g>) -> Expr<'g> {
        self.event_term(info, info.accepted, error_of(info), next, time)
    }

    /// The same for an event that may be another one than what happened.
    fn event_term(
        &self,
        info: &Info<'g>,
        accepted: Expr<'g>,
        error: Expr<'g>,
        next: State<'g>,
        time: Expr<'g>,
    ) -> Expr<'g> {
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

    /// Whether the last decision enters the bound by its expectation. An importance weight has a single outcome.
    pub(super) fn is_marginal(&self) -> bool {
        self.settings.acceptance != Acceptance::None
            && self.settings.acceptance_gradient == AcceptanceGradient::Marginal
            && self.entropies == Entropies::ClosedForm
    }

    /// What depends on how the last step ended: `log p(x, z_T)`, `log r_final(v_T | …)` and the acceptance term.
    pub(super) fn tail(&self, last: &Step<'g>, time: usize) -> [Expr<'g>; 3] {
        let (info, after) = (&last.info, last.after);
        let time = self.graph().constant(time as f64);
        let of = |state: State<'g>, acceptance| [state.log_density, self.final_momentum(state), acceptance];
        if !self.is_marginal() {
            return of(after, self.acceptance_term(info, after, time));
        }
        let (yes, no) = (self.graph().constant(1.0), self.graph().constant(0.0));
        let error = error_of(info);
        let probability = info.diverging.select(0.0, log_probability(error).exp());
        // Where there is no rejection its terms may be infinite, and count as nothing.
        let rejected_error = error.greater(0.0).select(error, 1.0);
        let start = last.before.with_momentum(info.u);
        let (taken, left) = (next_state(yes, start, info.proposal), next_state(no, start, info.proposal));
        let taken = of(taken, self.event_term(info, yes, error, taken, time));
        let left = of(left, self.event_term(info, no, rejected_error, left, time));
        std::array::from_fn(|part| probability * taken[part] + (1.0 - probability) * left[part])
    }

    /// `log q_A` of all decisions that the bound takes as given, where its derivative is to see them.
    pub(super) fn log_decisions(&self, steps: &[Step<'g>]) -> Option<Expr<'g>> {
        let given = &steps[..steps.len() - usize::from(self.is_marginal())];
        given.iter().filter_map(|step| self.log_decision(&step.info)).reduce(|a, b| a + b)
    }

    /// The same of one decision.
    pub(super) fn log_decision(&self, info: &Info<'g>) -> Option<Expr<'g>> {
        let seen = self.settings.acceptance_gradient != AcceptanceGradient::Pathwise;
        let is_seen = self.settings.acceptance != Acceptance::None && seen;
        is_seen.then(|| info.diverging.select(0.0, log_forward(info.accepted, error_of(info))))
    }

    /// `log P(A | s_t, t, x)`: the converged chain's probability `min(1, exp(H(s_t) - H(revHD(s_t))))`
    /// plus `tanh` of a network, clipped. Where that is 1 by theory, the network has no say.
    fn network_log_reverse(
        &self,
        accepted: Expr<'g>,
        error: Expr<'g>,
        next: State<'g>,
        time: Expr<'g>,
    ) -> Expr<'g> {
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

/// `ΔH`. A diverged row was rejected with probability one, by the chain and by its reverse.
fn error_of<'g>(info: &Info<'g>) -> Expr<'g> {
    info.diverging.select(1.0, info.energy_error)
}

/// `log q_A`: `min(0, -ΔH)` if accepted, `log(1 - exp(-ΔH))` if rejected.
fn log_forward<'g>(accepted: Expr<'g>, error: Expr<'g>) -> Expr<'g> {
    // The other branch's argument is replaced where it is not taken: its derivative may be infinite.
    let rejected_error = accepted.select(1.0, error);
    let log_rejection = (-(-rejected_error).exp()).log1p();
    accepted.select((-error).min(0.0), log_rejection)
}
