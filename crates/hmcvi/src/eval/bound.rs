//! Evaluate the bound, and draw from the posterior approximation.

use std::collections::BTreeMap;
use std::rc::Rc;

use hmcvi_graph::{Graph, Run, Shape, Store};

use super::EvalError;
use crate::data::{Drawn, Observation, batch};
use crate::device::{Device, Prepared};
use crate::family::{Dropped, NotABound};
use crate::nn::Parameters;
use crate::problem::Problem;

/// Rows that are evaluated together.
const ROWS: usize = 500;

/// Draws from the posterior approximation of a trained model.
pub struct BoundEvaluator {
    executable: Prepared<f32>,
    latent: usize,
    names: Vec<&'static str>,
}

/// Values of images, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// The bound of every image; NaN for those that have none.
    pub bound: Vec<f64>,
    /// Mean of every term over the images that have a bound.
    pub terms: BTreeMap<String, f64>,
    /// `z_0` and `z_T` of every image.
    pub start: Vec<f32>,
    /// The improved draw.
    pub end: Vec<f32>,
    /// Mean and log variance of the encoder.
    pub encoder_mean: Vec<f32>,
    /// Log variance of the encoder.
    pub encoder_log_variance: Vec<f32>,
    /// Images whose simulation diverged.
    pub divergences: u64,
    /// Images that have no bound.
    pub dropped: Dropped,
}

impl Bounds {
    /// The mean bound of all images.
    ///
    /// # Errors
    /// If more than 1% of them have none: the mean of the others is no bound then.
    pub fn mean(&self) -> Result<f64, NotABound> {
        self.dropped.check()?;
        let counted = self.bound.iter().filter(|b| b.is_finite());
        Ok(counted.sum::<f64>() / (self.dropped.rows - self.dropped.dropped) as f64)
    }
}

impl BoundEvaluator {
    /// Prepares the draws of a problem.
    pub fn new(problem: &Problem, observation: &Observation, device: &Device) -> Result<Self, EvalError> {
        let graph = Graph::new();
        let parameters = Rc::new(Parameters::new(&graph));
        let draw = problem.infer(&parameters, observation.drawn(&graph));
        let (column, rows) = (Shape::batch(1), Shape::batch(problem.model.latent()));
        let mut program = graph
            .program()
            .output("bound", draw.dropped.select(f64::NAN, draw.bound))
            .output("no_density", draw.no_density.broadcast_to(column))
            .output("start", draw.start)
            .output("end", draw.z)
            .output("encoder_mean", draw.gaussian.mean.broadcast_to(rows))
            .output("encoder_log_variance", draw.gaussian.log_variance.broadcast_to(rows));
        if let Some(diverging) = draw.diverging {
            program = program.output("diverging", diverging.broadcast_to(column));
        }
        for (name, term) in &draw.terms {
            program = program.output(name, term.broadcast_to(column));
        }
        let names = draw.terms.iter().map(|(name, _)| *name).collect();
        Ok(BoundEvaluator {
            executable: device.prepare(&program.compile()?, ROWS)?,
            latent: problem.model.latent(),
            names,
        })
    }

    /// Runs the chain once on some rows of data that was drawn beforehand. Different
    /// `draw`s give independent chains; `done` is told how many rows are done and returns whether to stop.
    pub fn run(
        &mut self,
        store: &Store<f32>,
        data: &Drawn,
        rows: &[u32],
        seed: u64,
        draw: u64,
        mut done: impl FnMut(usize) -> bool,
    ) -> Result<Bounds, EvalError> {
        let mut all = Bounds::default();
        let mut sums = vec![0.0; self.names.len()];
        for (i, rows) in rows.chunks(ROWS).enumerate() {
            let run = Run {
                rows: rows.len(),
                data: &[data.data_set()],
                indices: &[batch(rows)],
                seed,
                step: draw,
                row_offset: (i * ROWS) as u64,
                ..Run::default()
            };
            self.executable.evaluate(store, &run)?;
            let output = |name| self.executable.output(name).expect("the program has this output");
            let bound = output("bound");
            all.bound.extend(bound.iter().map(|b| f64::from(*b)));
            all.start.extend(output("start"));
            all.end.extend(output("end"));
            all.encoder_mean.extend(output("encoder_mean"));
            all.encoder_log_variance.extend(output("encoder_log_variance"));
            let diverging = self.executable.output("diverging").unwrap_or_default();
            all.divergences += diverging.iter().filter(|d| **d != 0.0).count() as u64;
            all.dropped += Dropped {
                rows: rows.len() as u64,
                dropped: bound.iter().filter(|b| !b.is_finite()).count() as u64,
                no_density: output("no_density").iter().filter(|d| **d != 0.0).count() as u64,
            };
            for (sum, name) in sums.iter_mut().zip(&self.names) {
                let counted = output(name).iter().zip(bound).filter(|(_, b)| b.is_finite());
                *sum += counted.map(|(t, _)| f64::from(*t)).sum::<f64>();
            }
            if done(all.bound.len()) {
                return Err(EvalError::Stopped);
            }
        }
        let counted = all.bound.iter().filter(|b| b.is_finite()).count().max(1) as f64;
        let mean = |(name, sum): (&&'static str, f64)| (name.to_string(), sum / counted);
        all.terms = self.names.iter().zip(sums).map(mean).collect();
        Ok(all)
    }

    /// Latent dimensions.
    pub fn latent(&self) -> usize {
        self.latent
    }
}

/// The numbers of so many first rows.
pub fn rows(count: usize) -> Vec<u32> {
    (0..count as u32).collect()
}
