//! Evaluate the log density of a model and its gradient for the sampler, and the values that draws stand for.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use hmcvi::bayes::Bound;
use hmcvi_graph::{CpuOptions, Executable, Graph, Program, Run, RunError, Store};
use nuts_rs::rand::Rng;
use nuts_rs::{CpuLogpFunc, CpuMathError, HasDims, LogpError};

use crate::{NutsError, Start};

/// A model as programs, for all chains.
pub(crate) struct Compiled {
    density: Program,
    values: Program,
    pub(crate) dimension: usize,
    elements: usize,
}

/// Rows whose values are computed together.
const ROWS: usize = 256;

impl Compiled {
    pub(crate) fn new(bound: &Bound) -> Result<Self, NutsError> {
        let graph = Graph::new();
        let z = graph.batch_input("z", bound.dimension());
        let built = bound.at(z);
        let (log_density, row) = (built.log_density(), built.row());
        let gradient = graph.row_grad(log_density, z);
        Ok(Compiled {
            density: graph
                .program()
                .output("log_density", log_density)
                .output("gradient", gradient)
                .compile()?,
            values: graph.program().output("row", row).compile()?,
            dimension: bound.dimension(),
            elements: row.cols(),
        })
    }

    /// The density for one chain, in the coordinates of a fit where there is one.
    pub(crate) fn density<'r>(&self, start: Option<&'r Start>, stop: &'r AtomicBool) -> Density<'r> {
        let options = CpuOptions { threads: 1, ..CpuOptions::for_rows(1) };
        let executable = self.density.on_cpu(options);
        Density { executable, store: Store::new(), start, z: vec![0.0; self.dimension], stop }
    }

    /// All values of a model at rows of real numbers.
    pub(crate) fn values(&self, draws: &[Vec<f64>]) -> Result<Vec<Vec<f64>>, RunError> {
        let options = CpuOptions { threads: 1, ..CpuOptions::for_rows(ROWS) };
        let mut executable = self.values.on_cpu::<f64>(options);
        let mut values = Vec::with_capacity(draws.len());
        for draws in draws.chunks(ROWS) {
            let run = Run { rows: draws.len(), inputs: &[("z", &draws.concat())], ..Run::default() };
            executable.evaluate(&Store::new(), &run)?;
            let rows = executable.output("row").unwrap_or_default();
            values.extend(rows.chunks_exact(self.elements).take(draws.len()).map(<[f64]>::to_vec));
        }
        Ok(values)
    }
}

/// Why there is no density.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoDensity {
    /// The place has none; a trajectory that comes here has diverged.
    #[error("the log density is {0}")]
    NotFinite(f64),
    #[error("the log density is finite, but its gradient is not")]
    NoGradient,
    #[error("stopped")]
    Stopped,
    #[error(transparent)]
    Run(#[from] RunError),
}

impl LogpError for NoDensity {
    fn is_recoverable(&self) -> bool {
        matches!(self, NoDensity::NotFinite(_) | NoDensity::NoGradient)
    }
}

/// The log density of one chain.
pub(crate) struct Density<'r> {
    executable: Executable<f64>,
    store: Store<f64>,
    start: Option<&'r Start>,
    z: Vec<f64>,
    stop: &'r AtomicBool,
}

impl Density<'_> {
    /// The real numbers of the model at a place of the sampler.
    pub(crate) fn unconstrained(&mut self, place: &[f64]) -> &[f64] {
        match self.start {
            Some(start) => start.place(place, &mut self.z),
            None => self.z.copy_from_slice(place),
        }
        &self.z
    }
}

impl HasDims for Density<'_> {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        HashMap::from([("unconstrained_parameter".into(), self.z.len() as u64)])
    }
}

impl CpuLogpFunc for Density<'_> {
    type LogpError = NoDensity;
    type FlowParameters = ();
    type ExpandedVector = ();

    fn dim(&self) -> usize {
        self.z.len()
    }

    fn logp(&mut self, place: &[f64], gradient: &mut [f64]) -> Result<f64, NoDensity> {
        // Within a trajectory too: one of many steps can take long.
        if self.stop.load(Ordering::Relaxed) {
            return Err(NoDensity::Stopped);
        }
        self.unconstrained(place);
        let run = Run { inputs: &[("z", &self.z)], ..Run::default() };
        self.executable.evaluate(&self.store, &run)?;
        let output = |name| self.executable.output(name).unwrap_or_default();
        let (log_density, by_z) = (output("log_density")[0], output("gradient"));
        match self.start {
            Some(start) => start.pull_back(by_z, gradient),
            None => gradient.copy_from_slice(by_z),
        }
        if !log_density.is_finite() {
            return Err(NoDensity::NotFinite(log_density));
        }
        if !gradient.iter().all(|g| g.is_finite()) {
            return Err(NoDensity::NoGradient);
        }
        Ok(log_density)
    }

    fn expand_vector<R: Rng + ?Sized>(&mut self, _: &mut R, _: &[f64]) -> Result<(), CpuMathError> {
        Ok(())
    }
}
