//! Simulate Hamiltonian dynamics by leapfrog steps, reversibly and with volume preserved.

use hmcvi_graph::Expr;

use super::{Kinetic, State};
use crate::potential::Potential;

/// Positions beyond this, and values that are not numbers, mark a trajectory as diverged. It is far
/// outside any posterior and small enough that energies and their derivatives stay finite in f32.
const POSITION_LIMIT: f64 = 1e4;

/// The leapfrog integrator `HD`.
#[derive(Clone)]
pub struct Leapfrog<'g> {
    /// The landscape.
    pub potential: Potential<'g>,
    /// The kinetic energy.
    pub kinetic: Kinetic<'g>,
    /// `ε`: one for all, one for each dimension, or one for each row.
    pub step_size: Expr<'g>,
    /// Number of steps.
    pub steps: usize,
}

/// The path of a simulation.
#[derive(Clone, Debug)]
pub struct Trajectory<'g> {
    /// All states from the first to the last. Coordinates that would leave the range stay where they are.
    pub states: Vec<State<'g>>,
    /// 1 for rows that left the range of numbers on the way, or ended where there is no density; else 0.
    pub diverged: Expr<'g>,
}

impl<'g> Trajectory<'g> {
    /// The last state. The end of a diverged row is its start: its values are finite. So are their
    /// derivatives, unless a force overflowed at a position in range; training then leaves the update
    /// out.
    pub fn end(&self) -> State<'g> {
        let (first, last) = (self.states[0], self.last());
        State {
            z: self.diverged.select(first.z, last.z),
            v: self.diverged.select(first.v, last.v),
            log_density: self.diverged.select(first.log_density, last.log_density),
            terms: self.diverged.select(first.terms, last.terms),
            force: self.diverged.select(first.force, last.force),
        }
    }

    /// The last state that was simulated, also of rows that diverged.
    pub fn last(&self) -> State<'g> {
        self.states[self.states.len() - 1]
    }
}

impl<'g> Leapfrog<'g> {
    /// Half a step of the momentum, a step of the position, half a step of the momentum.
    pub fn step(&self, state: State<'g>) -> State<'g> {
        let half = self.step_size * 0.5;
        let kicked = state.v + half * state.force;
        let moved =
            State::new(&self.potential, state.z + self.step_size * self.kinetic.velocity(kicked), kicked);
        moved.with_momentum(kicked + half * moved.force)
    }

    /// The same step as motion under constant acceleration: `q + εM⁻¹p + ε²/2 M⁻¹F(q)`.
    pub fn position_step(&self, state: State<'g>) -> State<'g> {
        let e = self.step_size;
        let straight = e * self.kinetic.velocity(state.v);
        let z = state.z + straight + e.square() * 0.5 * self.kinetic.velocity(state.force);
        let moved = State::new(&self.potential, z, state.v);
        moved.with_momentum(state.v + e * (state.force + moved.force) * 0.5)
    }

    /// All steps. Rows that diverge on the way, or whose end has no density, end where they began.
    pub fn integrate(&self, start: State<'g>) -> Trajectory<'g> {
        self.integrate_with(start, |_, state| state)
    }

    /// The same with something that is done to the state after every step; steps are counted from 0.
    pub fn integrate_with(
        &self,
        start: State<'g>,
        after: impl Fn(usize, State<'g>) -> State<'g>,
    ) -> Trajectory<'g> {
        let mut states = vec![start];
        let mut stayed = start.z.graph().constant(1.0);
        let mut state = start;
        for step in 0..self.steps {
            let (next, fine) = self.held_step(state);
            stayed = stayed * fine;
            state = after(step, next);
            states.push(state);
        }
        let left = (1.0 - stayed).sum_cols().greater(0.0);
        Trajectory { states, diverged: left.max(1.0 - state.log_density.is_finite()) }
    }

    /// One step, and 1 for coordinates that it leaves in range. The others stay where they were, one by one: whole rows
    /// would have to wait for a sum over their coordinates, twice in every step, and have diverged in either case.
    fn held_step(&self, state: State<'g>) -> (State<'g>, Expr<'g>) {
        let half = self.step_size * 0.5;
        let kicked = state.v + half * state.force;
        let moved = state.z + self.step_size * self.kinetic.velocity(kicked);
        // Before the second force is evaluated: it must only ever see positions in range.
        let in_range = moved.abs().less_equal(POSITION_LIMIT);
        let next = State::new(&self.potential, in_range.select(moved, state.z), kicked);
        let pushed = kicked + half * next.force;
        let fine = in_range * pushed.is_finite();
        (next.with_momentum(fine.select(pushed, state.v)), fine)
    }

    /// Total energy `H(z, v) = U(z) + K(v)` of every row.
    pub fn energy(&self, state: State<'g>) -> Expr<'g> {
        self.kinetic.energy(state.v) - state.log_density
    }

    /// `H(end) - H(start)` of every row, from the differences of its terms.
    pub fn energy_change(&self, start: State<'g>, end: State<'g>) -> Expr<'g> {
        let squares = (end.v - start.v) * (end.v + start.v);
        let kinetic = (squares * (-self.kinetic.log_mass).exp()).sum_cols() * 0.5;
        kinetic - (end.terms - start.terms).sum_cols()
    }
}
