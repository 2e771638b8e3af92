//! Run chains of plain HMC on a potential (`alg:HMC`, `alg:HMCWithPartial`).

use hmcvi_graph::random::{self, Key};
use hmcvi_graph::{CompileError, CpuOptions, Executable, Expr, Graph, Run, RunError, Shape, Store};
use serde::{Deserialize, Serialize};

use super::{DualAveraging, Kinetic, Leapfrog, State, Transition};
use crate::potential::Potential;

/// Chains that one thread moves on.
const ROWS_OF_ONE_THREAD: usize = 256;

/// Settings of plain HMC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SamplerSettings {
    /// `ε`
    pub step_size: f64,
    /// Part of the step size, from 0 to below 1, that every HMC step of a chain draws anew: trajectories of one length
    /// can return to where they began.
    pub jitter: f64,
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
            jitter: 0.0,
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

    /// Share of accepted proposals of every chain.
    pub fn acceptance_rates(&self) -> Vec<f64> {
        let of = |chain| self.accepted.iter().skip(chain).step_by(self.chains).filter(|a| **a).count();
        (0..self.chains).map(|chain| of(chain) as f64 / self.steps().max(1) as f64).collect()
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
    /// `ε` of every chain.
    step_sizes: Vec<f64>,
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
        let step_size = graph.batch_input("step_size", 1);
        let step_size = match settings.jitter {
            0.0 => step_size,
            jitter => step_size * (1.0 - graph.uniform(3, 1) * jitter),
        };
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
        // A few rows are done before a second thread wakes up; results do not depend on threads.
        let threads = usize::from(chains <= ROWS_OF_ONE_THREAD);
        let executable = program.on_cpu(CpuOptions { threads, ..CpuOptions::for_rows(chains) });
        Ok(Sampler {
            executable,
            store: Store::new(),
            settings: settings.clone(),
            step_sizes: vec![settings.step_size; chains],
            dimension,
            chains,
            done: 0,
        })
    }

    /// Number of dimensions.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Step size of every chain: that of the settings, or the one that [`Sampler::warm_up`] found.
    pub fn step_sizes(&self) -> &[f64] {
        &self.step_sizes
    }

    /// Moves all chains on by `steps` steps while each tunes its step size to an acceptance rate of `target` on its own,
    /// and returns where they are then. Draws made on the way are not draws from the target distribution.
    pub fn warm_up(&mut self, start: &[f64], steps: usize, target: f64) -> Result<Vec<f64>, SamplerError> {
        let mut tuning: Vec<_> = self.step_sizes.iter().map(|s| DualAveraging::new(*s, target)).collect();
        let (mut z, mut v) = (start.to_vec(), self.momenta());
        for _ in 0..steps {
            self.step(&mut z, &mut v)?;
            for (tuning, error) in tuning.iter_mut().zip(self.output("energy_error")) {
                tuning.update((-error).min(0.0).exp());
            }
            self.step_sizes = tuning.iter().map(DualAveraging::step_size).collect();
        }
        self.step_sizes = tuning.iter().map(DualAveraging::average).collect();
        Ok(z)
    }

    /// Moves all chains on by `steps` steps from their starting positions (chain by chain), with
    /// first momenta drawn from the canonical distribution. Every call goes on with fresh draws.
    pub fn run(&mut self, start: &[f64], steps: usize) -> Result<Samples, SamplerError> {
        let (mut z, mut v) = (start.to_vec(), self.momenta());
        let mut samples = Samples { dimension: self.dimension, chains: self.chains, ..Samples::default() };
        for _ in 0..steps {
            self.step(&mut z, &mut v)?;
            samples.positions.extend(&z);
            samples.momenta.extend(&v);
            samples.energy.extend(self.output("energy"));
            samples.energy_error.extend(self.output("energy_error"));
            samples.accepted.extend(self.output("accepted").iter().map(|a| *a != 0.0));
            samples.diverging.extend(self.output("diverging").iter().map(|d| *d != 0.0));
        }
        Ok(samples)
    }

    /// First momenta of all chains.
    fn momenta(&self) -> Vec<f64> {
        let mut v = vec![0.0; self.chains * self.dimension];
        for (chain, v) in v.chunks_mut(self.dimension).enumerate() {
            let (seed, step) = (self.settings.seed, self.done);
            random::normal(Key { seed, stream: 2, step, row: chain as u32 }, v);
            v.iter_mut().zip(&self.settings.mass).for_each(|(v, mass)| *v *= mass.sqrt());
        }
        v
    }

    /// One step of all chains.
    fn step(&mut self, z: &mut [f64], v: &mut [f64]) -> Result<(), SamplerError> {
        let inputs: &[(&str, &[f64])] = &[("z", z), ("v", v), ("step_size", &self.step_sizes)];
        let (rows, seed, step) = (self.chains, self.settings.seed, self.done);
        self.done += 1;
        self.executable.run(&mut self.store, &Run { rows, inputs, seed, step, ..Run::default() })?;
        z.copy_from_slice(self.output("z"));
        v.copy_from_slice(self.output("v"));
        Ok(())
    }

    fn output(&self, name: &str) -> &[f64] {
        self.executable.output(name).expect("the program has this output")
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
    if !(0.0..1.0).contains(&settings.jitter) {
        return wrong("jitter", settings.jitter.to_string(), "from 0 to below 1");
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
