//! Write a chain as a loop over its HMC steps: a program that is as large for a hundred steps as for two.
//!
//! The first step has no momentum before it. Here it is a step like all others, with an `α` of 0 and a reverse model that
//! does not count.

use hmcvi_graph::{Expr, Repeat, Repeated, Shape};

use super::chain::{BoundTerms, Chain, Happened, Inference, Start, Streams};
use super::reverse::Place;
use super::settings::{Acceptance, AcceptanceGradient, Reverse, ReverseNetworks, Writing};
use crate::family::{Arrival, Entropies};
use crate::hmc::{Info, Kinetic, Leapfrog, State, Transition};
use crate::potential::Potential;

/// Leapfrog steps of a chain from which on it is written as a loop, unless settings say otherwise: below, programs are
/// small, and what a loop computes again costs more than it saves.
const MANY: usize = 64;

impl Inference<'_, '_> {
    /// Whether the chain is written as a loop.
    pub(super) fn is_repeated(&self) -> bool {
        let settings = self.settings;
        let is_possible = settings.hmc_steps > 1
            && settings.reverse != Reverse::Score
            && settings.reverse_networks == ReverseNetworks::One
            && self.entropies != Entropies::Held
            && !(settings.acceptance != Acceptance::None
                && settings.acceptance_gradient == AcceptanceGradient::Marginal);
        let is_long = settings.hmc_steps * settings.leapfrog_steps > MANY;
        match settings.writing {
            Writing::Automatic => is_possible && is_long,
            Writing::Unrolled => false,
            Writing::Loop => is_possible,
        }
    }
}

/// What is the same in all steps, and what each step picks its own of.
struct Common<'g> {
    kinetic: Kinetic<'g>,
    step_size: Expr<'g>,
    alpha: Option<Expr<'g>>,
    /// Density that bridges begin with.
    first: Potential<'g>,
    /// `β` of every step, where there are bridges.
    betas: Option<Expr<'g>>,
    /// Learnt for every step: changes of log masses, and those of the step before; factors of step sizes.
    masses: Option<[Expr<'g>; 2]>,
    sizes: Option<Expr<'g>>,
    /// 0 for the first step, 1 for the others.
    has_momentum: Expr<'g>,
}

/// What one step gives beside the state after it.
struct OneStep<'g> {
    info: Info<'g>,
    entropy: Expr<'g>,
    arrival: Arrival<'g>,
    acceptance: Expr<'g>,
    log_decision: Option<Expr<'g>>,
}

/// What is carried from step to step.
#[derive(Clone, Copy)]
struct Carried<'g> {
    z: Expr<'g>,
    v: Expr<'g>,
    /// Of the posterior, whatever density the step was made for.
    log_density: Expr<'g>,
    force: Expr<'g>,
    diverging: Expr<'g>,
    worst_error: Expr<'g>,
}

impl<'g> Carried<'g> {
    fn pack(self) -> Expr<'g> {
        let all = [self.z, self.v, self.log_density, self.force, self.diverging, self.worst_error];
        Expr::concat_cols(&all.map(|part| part.broadcast_to(Shape::batch(part.cols()))))
    }

    fn unpack(all: Expr<'g>, d: usize) -> Self {
        let at = |start: usize, cols: usize| all.slice_cols(start, cols);
        Carried {
            z: at(0, d),
            v: at(d, d),
            log_density: at(2 * d, 1),
            force: at(2 * d + 1, d),
            diverging: at(3 * d + 1, 1),
            worst_error: at(3 * d + 2, 1),
        }
    }
}

impl<'g> Inference<'_, 'g> {
    /// The chain as a loop.
    pub(super) fn repeat(&self, start: Start<'g>, streams: &Streams) -> Chain<'g> {
        let (graph, d, steps) = (self.graph(), self.potential.dimension(), self.settings.hmc_steps);
        let Start { z, entropy: initial_entropy, density, variables } = start;
        let common = self.common(density);
        let zero = graph.constant(0.0);
        let start_density = self.potential.log_density(z);
        let begin = Carried {
            z,
            v: zero.broadcast_to(Shape::batch(d)),
            log_density: start_density,
            force: self.potential.force(z),
            diverging: zero,
            worst_error: zero,
        };
        let mut written = None;
        let repeated = graph.repeat(steps, begin.pack(), |of, carried| {
            let (next, step) = self.one_step(of, &common, streams, Carried::unpack(carried, d));
            written = Some(step);
            next.pack()
        });
        let step = written.expect("the body was written");
        let end = Carried::unpack(repeated.end(), d);
        let last = State {
            z: end.z,
            v: end.v,
            log_density: end.log_density,
            terms: end.log_density,
            force: end.force,
        };
        let final_momentum = self.final_momentum(last);
        let terms = BoundTerms {
            log_joint: last.log_density,
            initial_entropy,
            momentum_entropy: repeated.sum(step.entropy),
            reverse_momentum: repeated.sum(step.arrival.log_prob),
            final_momentum,
            acceptance: if self.accepts() { repeated.sum(step.acceptance) } else { zero },
        };
        Chain {
            settings: self.settings,
            initial: self.initial,
            start: z,
            steps: Vec::new(),
            arrivals: self.arrivals_of(&repeated, &step, last, final_momentum),
            end: end.z,
            terms,
            step_size: Some(common.step_size),
            kinetic: Some(common.kinetic),
            alpha: common.alpha,
            variables,
            log_decisions: step.log_decision.map(|decision| repeated.sum(decision)),
            diverging: end.diverging,
            dropped: self.dropped(&terms, end.diverging),
            happened: Some(self.happened(&repeated, &step.info, end.worst_error)),
            start_density,
        }
    }

    fn accepts(&self) -> bool {
        self.settings.acceptance != Acceptance::None
    }

    fn common(&self, first: Potential<'g>) -> Common<'g> {
        let (graph, d, steps) = (self.graph(), self.potential.dimension(), self.settings.hmc_steps);
        let (kinetic, step_size) = (self.kinetic(), self.step_size());
        let alpha = self.settings.partial_momentum.then(|| self.alpha());
        let before = |changes: Expr<'g>| {
            let others = changes.slice_cols(0, (steps - 1) * d);
            [changes, Expr::concat_cols(&[changes.slice_cols(0, d), others])]
        };
        let mut mask = vec![1.0; steps];
        mask[0] = 0.0;
        Common {
            kinetic,
            step_size,
            alpha,
            first,
            betas: self.betas(),
            masses: self.per_step("mass_change", d).map(before),
            sizes: self.per_step("step_size_change", 1).map(Expr::exp),
            has_momentum: graph.constant_matrix(1, steps, &mask),
        }
    }

    fn one_step(
        &self,
        of: &Repeat<'g>,
        common: &Common<'g>,
        streams: &Streams,
        carried: Carried<'g>,
    ) -> (Carried<'g>, OneStep<'g>) {
        let d = self.potential.dimension();
        let Carried { z, v, log_density, force, diverging, worst_error } = carried;
        let known = self.potential.knowing(z, log_density, force);
        let potential = match common.betas {
            Some(betas) => Potential::between(&common.first, &known, of.pick(betas)),
            None => known,
        };
        let mass = |at: usize| match common.masses {
            Some(changes) => Kinetic { log_mass: common.kinetic.log_mass + of.pick(changes[at]) },
            None => common.kinetic,
        };
        let (kinetic, before) = (mass(0), mass(1));
        let step_size = common.sizes.map_or(common.step_size, |sizes| common.step_size * of.pick(sizes));
        let has_momentum = of.pick(common.has_momentum);
        let alpha = common.alpha.map(|alpha| alpha * has_momentum);
        let leapfrog = Leapfrog { potential, kinetic, step_size, steps: self.settings.leapfrog_steps };
        let transition = Transition { leapfrog, alpha, accept: self.accepts() };
        let leapfrog = &transition.leapfrog;
        let (first, end) = (streams.steps, streams.steps + 2 * of.steps() as u16);
        let noise = of.normal(first..end, 2, d);
        let uniform = of.uniform(first + 1..end, 2, 1);
        let momentum = kinetic.momentum();
        let sampled = momentum.sample(noise);
        let state = State::new(&leapfrog.potential, z, v);
        let scaled = match common.masses {
            Some(_) => state.with_momentum(v * (0.5 * (kinetic.log_mass - before.log_mass)).exp()),
            None => state,
        };
        let simulate = |start| self.simulate(leapfrog, start);
        let (after, info) = transition.step_by(scaled, sampled, uniform, simulate);
        let mut entropy = self.entropies.of(&momentum, sampled);
        if let Some(alpha) = transition.alpha {
            entropy = entropy + (-alpha.square()).log1p() * (0.5 * d as f64);
        }
        let u = self.settings.partial_momentum.then_some(info.u);
        let place = Place { time: of.step() + 1.0, number: None, arriving: before, next: kinetic };
        let log_prob = self.reverse_momentum(state, u, &place);
        let seen: Vec<Expr<'g>> = [Some(z), u].into_iter().flatten().collect();
        let arrival =
            Arrival { v, seen: Expr::concat_cols(&seen), log_prob: has_momentum.select(log_prob, 0.0) };
        // Rows that were rejected, or whose simulation diverged, are where they were.
        let moved = info.diverging.select(0.0, info.accepted);
        let last = info.trajectory.last();
        let error = info.energy_error.abs();
        let error = error.is_finite().select(error, f64::INFINITY);
        let next = Carried {
            z: after.z,
            v: after.v,
            log_density: moved.select(self.potential.log_density(last.z), log_density),
            force: moved.select(self.potential.force(last.z), force),
            diverging: diverging.max(info.diverging).stop_gradient(),
            worst_error: worst_error.max(error).stop_gradient(),
        };
        let acceptance = self.acceptance_term(&info, after, of.step() + 1.0);
        let log_decision = self.log_decision(&info);
        (next, OneStep { info, entropy, arrival, acceptance, log_decision })
    }

    /// The momenta of all steps that are part of the bound, and the last one.
    fn arrivals_of(
        &self,
        repeated: &Repeated<'g>,
        step: &OneStep<'g>,
        last: State<'g>,
        final_momentum: Expr<'g>,
    ) -> Vec<Arrival<'g>> {
        let steps = self.settings.hmc_steps;
        let Arrival { v, seen, log_prob } = step.arrival;
        let of = |value: Expr<'g>| {
            let (cols, all) = (value.cols(), repeated.stack(value));
            move |t: usize| all.slice_cols(t * cols, cols)
        };
        let (v, seen, log_prob) = (of(v), of(seen), of(log_prob));
        let arrival = |t: usize| Arrival { v: v(t), seen: seen(t), log_prob: log_prob(t) };
        let end = Arrival { v: last.v, seen: last.z, log_prob: final_momentum };
        (1..steps).map(arrival).chain([end]).collect()
    }

    fn happened(&self, repeated: &Repeated<'g>, info: &Info<'g>, worst_error: Expr<'g>) -> Happened<'g> {
        let steps = self.settings.hmc_steps;
        let accepted = repeated.stack(info.accepted);
        let places: Vec<Expr<'g>> = info.trajectory.states[1..].iter().map(|state| state.z).collect();
        let path = (!places.is_empty()).then(|| repeated.stack(Expr::concat_cols(&places)));
        let d = self.potential.dimension();
        let of_path = |path: Expr<'g>| (0..steps * places.len()).map(move |at| path.slice_cols(at * d, d));
        let energy_errors = info.diverging.select(0.0, info.energy_error.abs());
        Happened {
            worst_energy_error: worst_error,
            accepted: (0..steps).map(|t| accepted.slice_cols(t, 1)).collect(),
            energy_errors: repeated.sum(energy_errors),
            simulated: repeated.sum(1.0 - info.diverging),
            path: path.into_iter().flat_map(of_path).collect(),
        }
    }
}
