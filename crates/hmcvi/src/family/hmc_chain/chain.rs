//! Form the auxiliary lower bound of a chain of HMC steps (`eq:HMCVIAuxLowerBound`).

use hmcvi_graph::{Expr, Graph, Shape};

use super::settings::{Acceptance, ChainSettings};
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
    /// The HMC steps.
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
    /// 1 for rows in which any simulation diverged.
    pub diverging: Expr<'g>,
    /// 1 for rows that have no bound: those that diverged without an acceptance step that could reject it, and those
    /// whose terms are not finite.
    pub dropped: Expr<'g>,
    /// 1 for rows whose first draw has no density.
    pub no_density: Expr<'g>,
}

/// Random streams of a chain, which it shares with nothing else in its graph.
struct Streams {
    initial: u16,
    momentum: u16,
    /// Noise and decision of the first step; those of the others follow.
    steps: u16,
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
        let d = self.potential.dimension();
        let zero = self.graph().constant(0.0);
        let streams = Streams::new(self.graph(), self.settings.hmc_steps);
        let start = self.initial.sample(self.graph().normal(streams.initial, d));
        let mut variables = Vec::new();
        let start = self.entropies.take(start.broadcast_to(Shape::batch(d)), &mut variables);
        let initial_entropy = self.entropies.of(&self.initial, start);
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
                diverging,
                dropped,
                no_density: 1.0 - log_joint.is_finite(),
            };
        }
        let (kinetic, step_size) = (self.kinetic(), self.step_size());
        // The first momentum has none before it: a chain of one step updates nothing in part.
        let partial = self.settings.partial_momentum && self.settings.hmc_steps > 1;
        let alpha = partial.then(|| self.alpha());
        let (potential, steps) = (self.potential.clone(), self.settings.leapfrog_steps);
        let leapfrog = Leapfrog { potential, kinetic, step_size, steps };
        let transition = Transition { leapfrog, alpha, accept: self.settings.acceptance != Acceptance::None };
        let (steps, momentum_entropy) = self.walk(&transition, start, &streams, &mut variables);
        let last = steps[steps.len() - 1].after;
        let mut arrivals = self.arrivals(&steps);
        let reverse_momentum = sum(zero, arrivals.iter().map(|a| a.log_prob));
        let final_momentum = self.final_momentum(last).log_prob(last.v);
        arrivals.push(Arrival { v: last.v, seen: last.z, log_prob: final_momentum });
        let terms = BoundTerms {
            log_joint: last.log_density,
            initial_entropy,
            momentum_entropy,
            reverse_momentum,
            final_momentum,
            acceptance: sum(
                zero,
                steps.iter().enumerate().map(|(t, s)| self.acceptance_term(&s.info, s.after, t + 1)),
            ),
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
            diverging,
            dropped: self.dropped(&terms, diverging),
            no_density: 1.0 - steps[0].before.log_density.is_finite(),
            steps,
        }
    }

    /// 1 for rows that have no bound. With the acceptance step a diverged simulation is a rejection like any other;
    /// without it the row's path means nothing.
    fn dropped(&self, terms: &BoundTerms<'g>, diverging: Expr<'g>) -> Expr<'g> {
        let lost = 1.0 - terms.total().is_finite();
        match self.settings.acceptance {
            Acceptance::None => diverging.max(lost),
            _ => lost,
        }
    }

    /// `α = tanh` of a free parameter, in `(-1, 1)`.
    fn alpha(&self) -> Expr<'g> {
        self.parameters.get("raw_alpha", 1, 1, crate::nn::Initial::PAPER).tanh()
    }

    /// All HMC steps, and the entropy of the momenta that were drawn for them.
    fn walk(
        &self,
        transition: &Transition<'g>,
        start: Expr<'g>,
        streams: &Streams,
        variables: &mut Vec<Variable<'g>>,
    ) -> (Vec<Step<'g>>, Expr<'g>) {
        let (graph, d) = (self.graph(), self.potential.dimension());
        let momentum = transition.leapfrog.kinetic.momentum();
        let first = momentum.sample(graph.normal(streams.momentum, d));
        let mut state = State::new(self.potential, start, first);
        let mut steps: Vec<Step<'g>> = Vec::new();
        let mut entropy = graph.constant(0.0);
        for t in 0..self.settings.hmc_steps as u16 {
            let noise = graph.normal(streams.steps + 2 * t, d);
            let uniform = graph.uniform(streams.steps + 2 * t + 1, 1);
            // Whatever α is, u_0 has the distribution of momenta, and what it tells about v_0 is known: v_0 cancels.
            let transition = Transition { alpha: transition.alpha.filter(|_| t > 0), ..transition.clone() };
            let sampled = self.entropies.take(momentum.sample(noise), variables);
            let (after, info) = transition.step_with(state, sampled, uniform);
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

    /// The momenta `v_{t-1}` before the steps, with `log r_V(v_{t-1} | …)`, where they are part of the bound.
    fn arrivals(&self, steps: &[Step<'g>]) -> Vec<Arrival<'g>> {
        let partial = self.settings.partial_momentum;
        // v_0 cancels, so the first step has no term.
        let counted = steps.iter().enumerate().skip(1);
        let arrival = |(t, step): (usize, &Step<'g>)| {
            let State { z, v, .. } = step.before;
            let u = partial.then_some(step.info.u);
            let seen: Vec<Expr<'g>> = [Some(z), u].into_iter().flatten().collect();
            let log_prob = self.reverse_momentum(step.before, u, t + 1).log_prob(v);
            Arrival { v, seen: Expr::concat_cols(&seen), log_prob }
        };
        counted.map(arrival).collect()
    }
}

fn sum<'g>(zero: Expr<'g>, terms: impl Iterator<Item = Expr<'g>>) -> Expr<'g> {
    terms.fold(zero, |a, b| a + b)
}
