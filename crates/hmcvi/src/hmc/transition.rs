//! Make one HMC step of a chain: momentum update, simulation, acceptance (`alg:HMCWithPartial`).

use hmcvi_graph::Expr;

use super::{Leapfrog, State, Trajectory, accept, momentum};

/// How a chain moves on.
#[derive(Clone)]
pub struct Transition<'g> {
    /// The integrator.
    pub leapfrog: Leapfrog<'g>,
    /// `α` of partial momentum updates; `None` draws the momentum anew.
    pub alpha: Option<Expr<'g>>,
    /// Whether the Metropolis step decides about proposals; otherwise all are taken.
    pub accept: bool,
}

/// What happened in a step.
#[derive(Clone, Debug)]
pub struct Info<'g> {
    /// `u`, the momentum at the start of the simulation.
    pub u: Expr<'g>,
    /// The simulation.
    pub trajectory: Trajectory<'g>,
    /// Where it ended.
    pub proposal: State<'g>,
    /// `ΔH = H(proposal) - H(z, u)`, positive infinity for diverged rows.
    pub energy_error: Expr<'g>,
    /// 1 where the proposal was accepted. Constant 1 without acceptance step.
    pub accepted: Expr<'g>,
    /// 1 where the simulation diverged.
    pub diverging: Expr<'g>,
}

impl<'g> Transition<'g> {
    /// The next state, from standard normal noise for the momentum and a uniform draw for the
    /// decision.
    pub fn step(&self, state: State<'g>, noise: Expr<'g>, uniform: Expr<'g>) -> (State<'g>, Info<'g>) {
        self.step_with(state, self.leapfrog.kinetic.momentum().sample(noise), uniform)
    }

    /// The same with a momentum that was drawn already.
    pub fn step_with(&self, state: State<'g>, sampled: Expr<'g>, uniform: Expr<'g>) -> (State<'g>, Info<'g>) {
        self.step_by(state, sampled, uniform, |start| self.leapfrog.integrate(start))
    }

    /// The same with a simulation that may be another one.
    pub fn step_by(
        &self,
        state: State<'g>,
        sampled: Expr<'g>,
        uniform: Expr<'g>,
        simulate: impl FnOnce(State<'g>) -> Trajectory<'g>,
    ) -> (State<'g>, Info<'g>) {
        let u = match self.alpha {
            Some(alpha) => momentum::partial_update(alpha, state.v, sampled),
            None => sampled,
        };
        let start = state.with_momentum(u);
        let trajectory = simulate(start);
        let (proposal, diverging) = (trajectory.end(), trajectory.diverged);
        let error = self.leapfrog.energy_change(start, proposal);
        let (next, accepted) = if self.accept {
            // A diverged row is rejected whatever its energy.
            let accepted = diverging.select(0.0, accept::decide(error, uniform)).stop_gradient();
            (accept::next_state(accepted, start, proposal), accepted)
        } else {
            (proposal, state.z.graph().constant(1.0))
        };
        let energy_error = diverging.select(f64::INFINITY, error);
        (next, Info { u, trajectory, proposal, energy_error, accepted, diverging })
    }
}
