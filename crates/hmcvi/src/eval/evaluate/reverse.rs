//! What better reverse models would add to the bound.

use hmcvi_record as record;
use hmcvi_record::Estimate;

use super::{Evaluator, Phase, finite_estimate};
use crate::eval::EvalError;
use crate::eval::reverse::{ReverseFit, ReverseFitter};

/// Seed of the simulations.
const REVERSE_SEED: u64 = 0x0bac;

impl Evaluator<'_> {
    pub(super) fn reverse(&mut self, images: usize) -> Result<record::ReverseQuality, EvalError> {
        let mut fitter = ReverseFitter::new(&self.problem, &self.observation, self.device)?;
        let (drawn, seed) = (self.draw(0), self.seed ^ REVERSE_SEED);
        let mut all: Vec<ReverseFit> = Vec::new();
        for image in 0..images {
            all.push(self.part(&format!("reverse {image}"), |evaluator| {
                evaluator.progress(Phase::Reverse, image as f64 / images as f64)?;
                fitter.run(evaluator.store, &drawn, image as u32, seed)
            })?);
        }
        let each = |of: fn(&ReverseFit) -> f64| -> Estimate {
            finite_estimate(&all.iter().map(of).collect::<Vec<_>>())
        };
        Ok(record::ReverseQuality {
            images: images as u64,
            draws: ReverseFitter::DRAWS as u64,
            learnt: each(|f| f.learnt),
            own: each(|f| f.own - f.learnt),
            linear: each(|f| f.linear - f.learnt),
            correlated: each(|f| f.correlated - f.learnt),
        })
    }
}
