//! Run chains of plain HMC on a potential (`alg:HMC`, `alg:HMCWithPartial`).

use hmcvi_graph::random::{self, Key};
use hmcvi_graph::{CompileError, CpuOptions, Executable, Expr, Graph, Run, RunError, Shape, Store};
use serde::{Deserialize, Serialize};

use super::{Kinetic, Leapfrog, State, Transition};
use crate::potential::Potential;

/// Settings of plain HMC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SamplerSettings {
    /// `ε`
    pub step_size: f64,
    /// Leapfrog steps in each HMC step.
    pub leapfrog_steps: usize,
    /// `α` of partial momentum updates; 0 draws the momentum anew.
    pub alpha: f64,
    /// Diagonal of the mass matrix; empty for the identity.
    pub mass: Vec<f64>,
    /// Whether the Metropolis step decides about proposals.
    pub accept: bool,
    /// Seed of all draws.
    pub seed: u64,
}

impl Default for SamplerSettings {
    fn default() -> Self {
        SamplerSettings {
            step_size: 0.1,
            leapfrog_steps: 10,
            alpha: 0.0,
            mass: Vec::new(),
            accept: true,
            seed: 1,
        }
    }
}

/// Settings that make no sampler, or a failed run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SamplerError {
    /// A setting out of its range.
    #[error("`{key}` is {value}, but must be {allowed}")]
    Setting {
        /// The setting.
        key: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The potential is not a well-formed program.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The program could not run.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Draws of several chains.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Number of dimensions.
    pub dimension: usize,
    /// Number of chains.
    pub chains: usize,
    /// Positions after each step: step by step, chain by chain.
    pub positions: Vec<f64>,
    /// Momenta after each step.
    pub momenta: Vec<f64>,
    /// Potential energy after each step and chain.
    pub energy: Vec<f64>,
    /// `ΔH` of each step and chain; infinite where the simulation diverged.
    pub energy_error: Vec<f64>,
    /// Whether each proposal was accepted.
    pub accepted: Vec<bool>,
    /// Whether each simulation diverged.
    pub diverging: Vec<bool>,
}

impl Samples {
    /// Number of steps.
    pub fn steps(&self) -> usize {
        self.energy.len().checked_div(self.chains).unwrap_or(0)
    }

    /// Share of accepted proposals.
    pub fn acceptance_rate(&self) -> f64 {
        self.accepted.iter().filter(|a| **a).count() as f64 / self.accepted.len().max(1) as f64
    }

    /// Number of simulations that diverged.
    pub fn divergences(&self) -> usize {
        self.diverging.iter().filter(|d| **d).count()
    }

    /// One coordinate of one chain over all steps.
    pub fn coordinate(&self, chain: usize, dimension: usize) -> Vec<f64> {
        let at = |step: usize| self.positions[(step * self.chains + chain) * self.dimension + dimension];
        (0..self.steps()).map(at).collect()
    }
}

/// Chains of plain HMC, all moved on together.
pub struct Sampler {
    executable: Executable<f64>,
    store: Store<f64>,
    settings: SamplerSettings,
    dimension: usize,
    chains: usize,
    /// Steps so far, over all calls.
    done: u64,
}

impl Sampler {
    /// Prepares chains on a potential, which is built on a graph of the sampler's own.
    pub fn new(
        settings: &SamplerSettings,
        chains: usize,
        potential: impl for<'g> Fn(&'g Graph) -> Potential<'g>,
    ) -> Result<Self, SamplerError> {
        let graph = Graph::new();
        let potential = potential(&graph);
        let dimension = potential.dimension();
        check(settings, dimension, chains)?;
        let kinetic = match settings.mass.as_slice() {
            [] => Kinetic::identity(&graph, dimension),
            mass => Kinetic { log_mass: graph.constant_matrix(1, dimension, mass).log() },
        };
        let step_size = graph.constant(settings.step_size);
        let leapfrog = Leapfrog { potential, kinetic, step_size, steps: settings.leapfrog_steps };
        let alpha = (settings.alpha != 0.0).then(|| graph.constant(settings.alpha));
        let transition = Transition { leapfrog, alpha, accept: settings.accept };
        let (z, v) = (graph.batch_input("z", dimension), graph.batch_input("v", dimension));
        let state = State::new(&transition.leapfrog.potential, z, v);
        let (next, info) = transition.step(state, graph.normal(0, dimension), graph.uniform(1, 1));
        let program = graph
            .program()
            .output("z", next.z)
            .output("v", next.v)
            .output("energy", -next.log_density)
            .output("energy_error", column(info.energy_error))
            .output("accepted", column(info.accepted))
            .output("diverging", column(info.diverging))
            .compile()?;
        let executable = program.on_cpu(CpuOptions::for_rows(chains));
        Ok(Sampler {
            executable,
            store: Store::new(),
            settings: settings.clone(),
            dimension,
            chains,
            done: 0,
        })
    }

    /// Number of dimensions.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Moves all chains on by `steps` steps from their starting positions (chain by chain), with
    /// first momenta drawn from the canonical distribution. Every call goes on with fresh draws.
    pub fn run(&mut self, start: &[f64], steps: usize) -> Result<Samples, SamplerError> {
        let (d, n) = (self.dimension, self.chains);
        let mut z = start.to_vec();
        let mut v = vec![0.0; n * d];
        for (chain, v) in v.chunks_mut(d).enumerate() {
            random::normal(
                Key { seed: self.settings.seed, stream: 2, step: self.done, row: chain as u32 },
                v,
            );
            v.iter_mut().zip(&self.settings.mass).for_each(|(v, mass)| *v *= mass.sqrt());
        }
        let mut samples = Samples { dimension: d, chains: n, ..Samples::default() };
        for _ in 0..steps {
            let inputs: &[(&str, &[f64])] = &[("z", &z), ("v", &v)];
            let (seed, step) = (self.settings.seed, self.done);
            self.done += 1;
            self.executable.run(&mut self.store, &Run { rows: n, inputs, seed, step, ..Run::default() })?;
            let output = |name| self.executable.output(name).expect("the program has this output");
            z.copy_from_slice(output("z"));
            v.copy_from_slice(output("v"));
            samples.positions.extend(&z);
            samples.momenta.extend(&v);
            samples.energy.extend(output("energy"));
            samples.energy_error.extend(output("energy_error"));
            samples.accepted.extend(output("accepted").iter().map(|a| *a != 0.0));
            samples.diverging.extend(output("diverging").iter().map(|d| *d != 0.0));
        }
        Ok(samples)
    }
}

/// One value for each chain, also where it is the same for all.
fn column(x: Expr<'_>) -> Expr<'_> {
    x.broadcast_to(Shape::batch(1))
}

fn check(settings: &SamplerSettings, dimension: usize, chains: usize) -> Result<(), SamplerError> {
    let wrong = |key, value: String, allowed| Err(SamplerError::Setting { key, value, allowed });
    let positive = |x: f64| x.is_finite() && x > 0.0;
    if !positive(settings.step_size) {
        return wrong("step_size", settings.step_size.to_string(), "a positive number");
    }
    if settings.leapfrog_steps == 0 {
        return wrong("leapfrog_steps", "0".into(), "at least 1");
    }
    if settings.alpha.is_nan() || settings.alpha.abs() >= 1.0 {
        return wrong("alpha", settings.alpha.to_string(), "between -1 and 1");
    }
    if !settings.mass.is_empty() && settings.mass.len() != dimension {
        return wrong("mass", format!("{:?}", settings.mass), "empty or one value for each dimension");
    }
    if !settings.mass.iter().all(|m| positive(*m)) {
        return wrong("mass", format!("{:?}", settings.mass), "made of positive numbers");
    }
    if chains == 0 {
        return wrong("chains", "0".into(), "at least 1");
    }
    Ok(())
}
