//! Form the auxiliary lower bound of a chain of HMC steps (`eq:HMCVIAuxLowerBound`).

use hmcvi_graph::{Expr, Graph, Shape};

use super::settings::{Acceptance, Bridge, ChainSettings};
use crate::dist::Gaussian;
use crate::family::{Arrival, Entropies, Variable};
use crate::hmc::{Info, Kinetic, Leapfrog, State, Transition};
use crate::nn::{Activation, Parameters};
use crate::potential::Potential;

/// Everything that an inference chain is made of.
#[derive(Clone, Copy)]
pub struct Inference<'a, 'g> {
    /// Where learnt models keep their parameters.
    pub parameters: &'a Parameters<'g>,
    /// The chain.
    pub settings: ChainSettings,
    /// `U(z) = -log p(x, z)`
    pub potential: &'a Potential<'g>,
    /// `q_0(z_0 | x)`
    pub initial: Gaussian<'g>,
    /// `x`, `[N, any]`: the input of reverse, mass, step-size and acceptance models.
    pub context: Expr<'g>,
    /// Sizes of the hidden layers of these models.
    pub hidden: &'a [usize],
    /// Activation of their hidden layers.
    pub activation: Activation,
    /// Form of the entropies.
    pub entropies: Entropies,
}

/// The parts of the bound, `[N, 1]` each. Their sum is `L_aux` of every data point.
#[derive(Clone, Copy, Debug)]
pub struct BoundTerms<'g> {
    /// `log p(x, z_T)`
    pub log_joint: Expr<'g>,
    /// `-log q_0(z_0 | x)`
    pub initial_entropy: Expr<'g>,
    /// `-log f_kin(u_0)` and `-Σ log q_U(u_{t-1} | v_{t-1})`
    pub momentum_entropy: Expr<'g>,
    /// `Σ log r_V(v_{t-1} | z_{t-1}, u_{t-1}, t, x)`
    pub reverse_momentum: Expr<'g>,
    /// `log r_final(v_T | z_T, x)`
    pub final_momentum: Expr<'g>,
    /// `Σ log r_A - log q_A`
    pub acceptance: Expr<'g>,
}

impl<'g> BoundTerms<'g> {
    /// Names and values, in the order of the equation.
    pub fn named(&self) -> [(&'static str, Expr<'g>); 6] {
        [
            ("log_joint", self.log_joint),
            ("initial_entropy", self.initial_entropy),
            ("momentum_entropy", self.momentum_entropy),
            ("reverse_momentum", self.reverse_momentum),
            ("final_momentum", self.final_momentum),
            ("acceptance", self.acceptance),
        ]
    }

    /// `L_aux`, `[N, 1]`.
    pub fn total(&self) -> Expr<'g> {
        let sum = self.named().into_iter().map(|(_, term)| term).reduce(|a, b| a + b);
        sum.expect("the bound has terms").broadcast_to(Shape::batch(1))
    }
}

/// One HMC step of the chain.
#[derive(Clone, Debug)]
pub struct Step<'g> {
    /// The state before the step.
    pub before: State<'g>,
    /// What happened.
    pub info: Info<'g>,
    /// The state `s_t` after it.
    pub after: State<'g>,
}

/// A chain with its bound. Only what is used of it is computed.
#[derive(Clone, Debug)]
pub struct Chain<'g> {
    /// What the chain was asked to be.
    pub settings: ChainSettings,
    /// `q_0(z_0 | x)`
    pub initial: Gaussian<'g>,
    /// `z_0`, drawn from the initial Gaussian.
    pub start: Expr<'g>,
    /// The HMC steps, where they are not written as a loop.
    pub steps: Vec<Step<'g>>,
    /// The momenta that are part of the bound; the last one is `v_T`.
    pub arrivals: Vec<Arrival<'g>>,
    /// `z_T`, a draw from the improved posterior approximation.
    pub end: Expr<'g>,
    /// The bound.
    pub terms: BoundTerms<'g>,
    /// Step size, where there are steps.
    pub step_size: Option<Expr<'g>>,
    /// Kinetic energy, where there are steps.
    pub kinetic: Option<Kinetic<'g>>,
    /// `α`, where updates are partial.
    pub alpha: Option<Expr<'g>>,
    /// What was drawn, where draws are held.
    pub variables: Vec<Variable<'g>>,
    /// Log probability of the acceptance step's decisions, where the bound's derivative is to see them.
    pub log_decisions: Option<Expr<'g>>,
    /// 1 for rows in which any simulation diverged.
    pub diverging: Expr<'g>,
    /// 1 for rows that have no bound: those that diverged without an acceptance step that could reject it, and those
    /// whose terms are not finite.
    pub dropped: Expr<'g>,
    /// `log p(x, z_0)`
    pub start_density: Expr<'g>,
    /// How the simulations went, where there are steps.
    pub happened: Option<Happened<'g>>,
}

/// How the simulations of a chain went, row by row.
#[derive(Clone, Debug)]
pub struct Happened<'g> {
    /// The largest energy error: infinite where a simulation diverged or is not a number.
    pub worst_energy_error: Expr<'g>,
    /// 1 where the proposal of each HMC step was accepted.
    pub accepted: Vec<Expr<'g>>,
    /// Energy errors of simulations that did not diverge, added up.
    pub energy_errors: Expr<'g>,
    /// Their number.
    pub simulated: Expr<'g>,
    /// Positions after all leapfrog steps.
    pub path: Vec<Expr<'g>>,
}

impl<'g> Happened<'g> {
    /// Of HMC steps one by one.
    fn of(steps: &[Step<'g>], zero: Expr<'g>) -> Option<Self> {
        let error = |step: &Step<'g>| {
            let error = step.info.energy_error.abs();
            error.is_finite().select(error, f64::INFINITY)
        };
        let worst_energy_error = steps.iter().fold(zero, |worst, step| worst.max(error(step)));
        // Energies of diverged simulations are not numbers; the others are counted.
        let errors = steps.iter().map(|s| s.info.diverging.select(0.0, s.info.energy_error.abs()));
        let simulated = steps.iter().map(|s| 1.0 - s.info.diverging).reduce(|a, b| a + b);
        let states = steps.iter().flat_map(|step| &step.info.trajectory.states[1..]);
        Some(Happened {
            worst_energy_error,
            accepted: steps.iter().map(|s| s.info.accepted).collect(),
            energy_errors: errors.reduce(|a, b| a + b)?,
            simulated: simulated?,
            path: states.map(|state| state.z).collect(),
        })
    }
}

/// Where a chain starts: a draw from `q_0(z_0 | x)`.
#[derive(Clone)]
pub struct Start<'g> {
    /// The draw, `[N, d]`.
    pub z: Expr<'g>,
    /// `-log q_0(z_0 | x)` of every row, or its expectation.
    pub entropy: Expr<'g>,
    /// A density that bridges begin with: that of `q_0`, or one near it.
    pub density: Potential<'g>,
    /// What was drawn, where draws are held.
    pub variables: Vec<Variable<'g>>,
}

/// Random streams of a chain, which it shares with nothing else in its graph.
pub(super) struct Streams {
    initial: u16,
    momentum: u16,
    /// Noise and decision of the first step; those of the others follow.
    pub(super) steps: u16,
}

impl Streams {
    fn new(graph: &Graph, hmc_steps: usize) -> Self {
        let first = graph.new_streams(2 + 2 * hmc_steps).start;
        Streams { initial: first, momentum: first + 1, steps: first + 2 }
    }
}

impl<'g> Inference<'_, 'g> {
    pub(super) fn graph(&self) -> &'g Graph {
        self.parameters.graph()
    }

    /// Runs the chain and forms its bound. Every call is a chain with random draws of its own.
    pub fn run(&self) -> Chain<'g> {
        let streams = Streams::new(self.graph(), self.settings.hmc_steps);
        self.go(self.start_by(streams.initial), &streams)
    }

    /// A draw from the initial Gaussian, for [`run_from`](Self::run_from).
    pub fn start(&self) -> Start<'g> {
        self.start_by(self.graph().new_streams(1).start)
    }

    fn start_by(&self, stream: u16) -> Start<'g> {
        let d = self.potential.dimension();
        let start = self.initial.sample(self.graph().normal(stream, d));
        let mut variables = Vec::new();
        let z = self.entropies.take(start.broadcast_to(Shape::batch(d)), &mut variables);
        let entropy = self.entropies.of(&self.initial, z);
        Start { z, entropy, density: Potential::gaussian(self.initial), variables }
    }

    /// The same from a draw of another distribution than the initial Gaussian.
    pub fn run_from(&self, start: Start<'g>) -> Chain<'g> {
        self.go(start, &Streams::new(self.graph(), self.settings.hmc_steps))
    }

    fn go(&self, start: Start<'g>, streams: &Streams) -> Chain<'g> {
        let zero = self.graph().constant(0.0);
        let Start { z: start, entropy: initial_entropy, density, mut variables } = start;
        if self.settings.hmc_steps == 0 {
            let log_joint = self.potential.log_density(start);
            let terms = BoundTerms {
                log_joint,
                initial_entropy,
                momentum_entropy: zero,
                reverse_momentum: zero,
                final_momentum: zero,
                acceptance: zero,
            };
            let (steps, diverging, dropped) = (Vec::new(), zero, self.dropped(&terms, zero));
            return Chain {
                settings: self.settings,
                initial: self.initial,
                start,
                steps,
                arrivals: Vec::new(),
                end: start,
                terms,
                step_size: None,
                kinetic: None,
                alpha: None,
                variables,
                log_decisions: None,
                start_density: log_joint,
                diverging,
                dropped,
                happened: None,
            };
        }
        if self.is_repeated() {
            return self.repeat(Start { z: start, entropy: initial_entropy, density, variables }, streams);
        }
        let (kinetic, step_size) = (self.kinetic(), self.step_size());
        // The first momentum has none before it: a chain of one step updates nothing in part.
        let partial = self.settings.partial_momentum && self.settings.hmc_steps > 1;
        let alpha = partial.then(|| self.alpha());
        let transitions = self.transitions(alpha, &density);
        let (steps, momentum_entropy) = self.walk(&transitions, start, streams, &mut variables);
        let last = steps[steps.len() - 1].after;
        let mut arrivals = self.arrivals(&steps);
        let reverse_momentum = sum(zero, arrivals.iter().map(|a| a.log_prob));
        arrivals.push(Arrival { v: last.v, seen: last.z, log_prob: self.final_momentum(last) });
        let (final_step, others) = steps.split_last().expect("there are steps");
        let others = others.iter().enumerate();
        let acceptance = sum(
            zero,
            others.map(|(t, s)| {
                let time = self.graph().constant((t + 1) as f64);
                self.acceptance_term(&s.info, s.after, time)
            }),
        );
        let [log_joint, final_momentum, final_acceptance] = self.tail(final_step, steps.len());
        let terms = BoundTerms {
            log_joint,
            initial_entropy,
            momentum_entropy,
            reverse_momentum,
            final_momentum,
            acceptance: acceptance + final_acceptance,
        };
        let diverging = steps.iter().fold(zero, |any, step| any.max(step.info.diverging));
        let (step_size, kinetic) = (Some(step_size), Some(kinetic));
        Chain {
            settings: self.settings,
            initial: self.initial,
            start,
            end: last.z,
            arrivals,
            terms,
            step_size,
            kinetic,
            alpha,
            variables,
            log_decisions: self.log_decisions(&steps),
            diverging,
            dropped: self.dropped(&terms, diverging),
            start_density: self.potential.log_density(start),
            happened: Happened::of(&steps, zero),
            steps,
        }
    }

    /// 1 for rows that have no bound. With the acceptance step a diverged simulation is a rejection like any other;
    /// without it the row's path means nothing.
    pub(super) fn dropped(&self, terms: &BoundTerms<'g>, diverging: Expr<'g>) -> Expr<'g> {
        let lost = 1.0 - terms.total().is_finite();
        match self.settings.acceptance {
            Acceptance::None => diverging.max(lost),
            _ => lost,
        }
    }

    /// `α = tanh` of a free parameter, in `(-1, 1)`.
    pub(super) fn alpha(&self) -> Expr<'g> {
        self.parameters.get("raw_alpha", 1, 1, crate::nn::Initial::PAPER).tanh()
    }

    /// How the chain moves on in each step. `first` is the density that bridges begin with.
    fn transitions(&self, alpha: Option<Expr<'g>>, first: &Potential<'g>) -> Vec<Transition<'g>> {
        let (potentials, kinetics, sizes) = (self.potentials(first), self.kinetics(), self.step_sizes());
        let of = |(t, ((potential, kinetic), step_size))| {
            let leapfrog = Leapfrog { potential, kinetic, step_size, steps: self.settings.leapfrog_steps };
            // Whatever α is, u_0 has the distribution of momenta, and what it tells about v_0 is known: v_0 cancels.
            let alpha = alpha.filter(|_| t > 0);
            Transition { leapfrog, alpha, accept: self.settings.acceptance != Acceptance::None }
        };
        potentials.into_iter().zip(kinetics).zip(sizes).enumerate().map(of).collect()
    }

    /// All HMC steps, and the entropy of the momenta that were drawn for them.
    fn walk(
        &self,
        transitions: &[Transition<'g>],
        start: Expr<'g>,
        streams: &Streams,
        variables: &mut Vec<Variable<'g>>,
    ) -> (Vec<Step<'g>>, Expr<'g>) {
        let (graph, d) = (self.graph(), self.potential.dimension());
        let first = transitions[0].leapfrog.kinetic.momentum().sample(graph.normal(streams.momentum, d));
        let mut state = State::new(&transitions[0].leapfrog.potential, start, first);
        let mut steps: Vec<Step<'g>> = Vec::new();
        let mut entropy = graph.constant(0.0);
        for (t, transition) in transitions.iter().enumerate() {
            let stream = streams.steps + 2 * t as u16;
            let (noise, uniform) = (graph.normal(stream, d), graph.uniform(stream + 1, 1));
            if t > 0 && self.settings.bridge != Bridge::None {
                state = State::new(&transition.leapfrog.potential, state.z, state.v);
            }
            let momentum = transition.leapfrog.kinetic.momentum();
            let sampled = self.entropies.take(momentum.sample(noise), variables);
            let scaled = self.in_units_of(t, transitions, state);
            let (after, info) = transition
                .step_by(scaled, sampled, uniform, |start| self.simulate(&transition.leapfrog, start));
            entropy = entropy + self.entropies.of(&momentum, sampled);
            if let Some(alpha) = transition.alpha {
                // -log of the factor (1 - α²)^(-d/2) in q_U (`eq:qUDefinition`).
                entropy = entropy + (-alpha.square()).log1p() * (0.5 * d as f64);
            }
            steps.push(Step { before: state, info, after });
            state = after;
        }
        (steps, entropy)
    }

    /// The state before step `t` with its momentum in units of that step's masses, where they are not those of the last.
    fn in_units_of(&self, t: usize, transitions: &[Transition<'g>], state: State<'g>) -> State<'g> {
        if t == 0 || !self.settings.per_step {
            return state;
        }
        let log_mass = |t: usize| transitions[t].leapfrog.kinetic.log_mass;
        state.with_momentum(state.v * (0.5 * (log_mass(t) - log_mass(t - 1))).exp())
    }

    /// The momenta `v_{t-1}` before the steps, with `log r_V(v_{t-1} | …)`, where they are part of the bound.
    fn arrivals(&self, steps: &[Step<'g>]) -> Vec<Arrival<'g>> {
        let partial = self.settings.partial_momentum;
        // v_0 cancels, so the first step has no term.
        let counted = steps.iter().enumerate().skip(1);
        let arrival = |(t, step): (usize, &Step<'g>)| {
            let State { z, v, .. } = step.before;
            let u = partial.then_some(step.info.u);
            let seen: Vec<Expr<'g>> = [Some(z), u].into_iter().flatten().collect();
            let log_prob = self.reverse_momentum(step.before, u, &self.place(t + 1));
            Arrival { v, seen: Expr::concat_cols(&seen), log_prob }
        };
        counted.map(arrival).collect()
    }
}

fn sum<'g>(zero: Expr<'g>, terms: impl Iterator<Item = Expr<'g>>) -> Expr<'g> {
    terms.fold(zero, |a, b| a + b)
}
