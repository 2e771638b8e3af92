//! Let a family look at data before training begins.

use hmcvi_graph::{Program, Real, Run, Store};

use crate::device::{Device, DeviceError, Prepared};

/// A family that found no first values.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BeginError {
    /// A program could not run.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// No step size is small enough.
    #[error(
        "even a step size of 1e-7 makes simulations diverge; check the data and `init_from`, or lower `chain.leapfrog_steps`"
    )]
    NoStepSize,
}

/// Evaluates what a [`Draw`](super::Draw) offers to look at, with parameters that may be changed between looks.
pub struct FirstLook<'a, T: Real = f32> {
    program: Prepared<T>,
    store: &'a mut Store<T>,
    runs: Vec<Run<'a, T>>,
}

impl<'a, T: Real> FirstLook<'a, T> {
    /// A look with these parameters at some batches. The program is that of an objective
    /// ([`first_look_program`](crate::train::Objective::first_look_program)).
    ///
    /// # Errors
    /// If the device cannot be used.
    pub fn new(
        program: &Program,
        device: &Device,
        store: &'a mut Store<T>,
        runs: Vec<Run<'a, T>>,
    ) -> Result<Self, DeviceError> {
        let rows = runs.iter().map(|run| run.rows).max().unwrap_or(1);
        Ok(FirstLook { program: device.prepare(program, rows)?, store, runs })
    }

    /// Batches that can be looked at.
    pub fn batches(&self) -> usize {
        self.runs.len()
    }

    /// The parameters.
    pub fn store(&mut self) -> &mut Store<T> {
        self.store
    }

    /// Looks at a batch; [`output`](Self::output) has what was seen.
    ///
    /// # Errors
    /// If the program cannot run.
    pub fn evaluate(&mut self, batch: usize) -> Result<(), DeviceError> {
        self.program.evaluate(self.store, &self.runs[batch])
    }

    /// What was seen last, row by row; nothing where the draw does not offer it.
    pub fn output(&self, name: &str) -> &[T] {
        self.program.output(name).unwrap_or_default()
    }
}
