//! Accept or reject proposals by the Metropolis rule (`eq:AcceptanceProbability`).

use hmcvi_graph::Expr;

use super::State;

/// `log p_accept = min(0, -ΔH)`
pub fn log_probability(energy_error: Expr<'_>) -> Expr<'_> {
    (-energy_error).min(0.0)
}

/// 1 where a uniform draw accepts a proposal with energy error `ΔH`, else 0. An error that is not a
/// number rejects.
pub fn decide<'g>(energy_error: Expr<'g>, uniform: Expr<'g>) -> Expr<'g> {
    uniform.less(log_probability(energy_error).exp())
}

/// The state after the decision (`eq:StateAfterAcceptReject`): the end of the simulation with its
/// momentum if accepted, the start with its momentum reversed if rejected.
pub fn next_state<'g>(accepted: Expr<'g>, start: State<'g>, end: State<'g>) -> State<'g> {
    State {
        z: accepted.select(end.z, start.z),
        v: accepted.select(end.v, -start.v),
        log_density: accepted.select(end.log_density, start.log_density),
        terms: accepted.select(end.terms, start.terms),
        force: accepted.select(end.force, start.force),
    }
}
