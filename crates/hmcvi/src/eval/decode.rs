//! Turn latent points into images.

use std::rc::Rc;

use hmcvi_graph::random::{self, Key};
use hmcvi_graph::{Graph, Run, Store};

use super::EvalError;
use crate::device::{Device, Prepared};
use crate::nn::Parameters;
use crate::problem::Problem;

/// Rows that are decoded together.
const ROWS: usize = 500;
/// Stream of draws from the prior.
const STREAM_PRIOR: u16 = 0;

/// Decodes latent points of a trained model.
pub struct Decoder {
    executable: Prepared<f32>,
    latent: usize,
}

impl Decoder {
    /// Prepares the decoder of a problem's model.
    ///
    /// # Errors
    /// [`EvalError::NoSimulator`] if it does not say how it makes data.
    pub fn new(problem: &Problem, device: &Device) -> Result<Self, EvalError> {
        let graph = Graph::new();
        let (parameters, latent) = (Rc::new(Parameters::new(&graph)), problem.model.latent());
        let simulator = problem.model.simulator().ok_or(EvalError::NoSimulator)?;
        let mean = simulator.mean(&parameters, graph.batch_input("z", latent));
        let program = graph.program().output("mean", mean).compile()?;
        let executable = device.prepare(&program, ROWS)?;
        Ok(Decoder { executable, latent })
    }

    /// Means of every column, row after row.
    pub fn means(&mut self, store: &Store<f32>, z: &[f32]) -> Result<Vec<f32>, EvalError> {
        let mut means = Vec::new();
        for z in z.chunks(ROWS * self.latent) {
            let run = Run { rows: z.len() / self.latent, inputs: &[("z", z)], ..Run::default() };
            self.executable.evaluate(store, &run)?;
            means.extend(self.executable.output("mean").expect("the program has this output"));
        }
        Ok(means)
    }
}

/// Height and width of images with so many pixels: those that a run recorded, else a square, else a row.
pub fn image_shape(recorded: Option<[u64; 2]>, pixels: usize) -> [usize; 2] {
    let fits = |[height, width]: &[usize; 2]| height.checked_mul(*width) == Some(pixels);
    let side = pixels.isqrt();
    let recorded = recorded.map(|shape| shape.map(|n| usize::try_from(n).unwrap_or(0)));
    [recorded, Some([side, side])].into_iter().flatten().find(fits).unwrap_or([1, pixels])
}

/// Draws from the standard normal prior, point after point.
pub fn prior_draws(latent: usize, count: usize, seed: u64) -> Vec<f32> {
    let mut z = vec![0f32; count * latent];
    for (row, z) in z.chunks_mut(latent.max(1)).enumerate() {
        random::normal(Key { seed, stream: STREAM_PRIOR, step: 0, row: row as u32 }, z);
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_have_the_recorded_shape_or_one_that_fits() {
        assert_eq!(image_shape(Some([2, 8]), 16), [2, 8]);
        assert_eq!(image_shape(None, 16), [4, 4]);
        assert_eq!(image_shape(None, 15), [1, 15]);
        // Records that are not of this model do not count.
        assert_eq!(image_shape(Some([3, 8]), 16), [4, 4]);
        assert_eq!(image_shape(Some([u64::MAX, 2]), 15), [1, 15]);
    }
}
