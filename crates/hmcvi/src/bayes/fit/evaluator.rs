//! Evaluate a log density and its gradient for many rows at once, in double precision.

use hmcvi_graph::{Executable, Graph, Run, RunError, Store};

use super::FitError;
use crate::bayes::Bound;
use crate::device::Device;

/// A compiled log density with its gradient.
pub(crate) struct Evaluator {
    executable: Executable<f64>,
    store: Store<f64>,
    dimension: usize,
}

impl Evaluator {
    /// The density of a model, for at most so many rows at a time.
    pub(crate) fn new(bound: &Bound, rows: usize) -> Result<Self, FitError> {
        let graph = Graph::new();
        let z = graph.batch_input("z", bound.dimension());
        let log_density = bound.at(z).log_density();
        let gradient = graph.row_grad(log_density, z);
        let program =
            graph.program().output("log_density", log_density).output("gradient", gradient).compile()?;
        // One row cannot be shared out; every process computes it.
        let device = if rows > 1 { bound.device() } else { &Device::cpu(1) };
        let executable = device.on_cpu(&program, rows);
        Ok(Evaluator { executable, store: Store::new(), dimension: bound.dimension() })
    }

    /// Evaluates rows `z`; [`log_density`](Self::log_density) and [`gradient`](Self::gradient) have what was found.
    pub(crate) fn evaluate(&mut self, z: &[f64]) -> Result<(), RunError> {
        let run = Run { rows: z.len() / self.dimension, inputs: &[("z", z)], ..Run::default() };
        self.executable.evaluate(&self.store, &run)
    }

    /// Log densities of the last rows.
    pub(crate) fn log_density(&self) -> &[f64] {
        self.executable.output("log_density").unwrap_or_default()
    }

    /// Gradients of the last rows, one after the other.
    pub(crate) fn gradient(&self) -> &[f64] {
        self.executable.output("gradient").unwrap_or_default()
    }
}
