//! Find the first step size: the largest at which no simulation of a few batches goes wrong.
//!
//! Posteriors of a two-dimensional latent space are tens of times narrower than those of twenty
//! dimensions, and a mass network at its random beginning makes some particles very light. So the
//! search looks at the worst simulation, not at their mean.

use hmcvi_graph::Store;

use crate::device::{DeviceError, Runner};

/// The largest energy error, in nats, that a first simulation may have.
const WORST_ENERGY_ERROR: f64 = 2.0;
/// Candidates: 1, ½, ¼, … down to about 1e-7.
const CANDIDATES: i32 = 24;

/// Sets `log_step_size` in the store; `run` evaluates the program for one of the batches. Returns the
/// step size, or `None` if even the smallest goes wrong.
pub(super) fn find(
    program: &mut Runner<f32>,
    store: &mut Store<f32>,
    batches: usize,
    mut run: impl FnMut(&mut Runner<f32>, &mut Store<f32>, usize) -> Result<(), DeviceError>,
) -> Result<Option<f64>, DeviceError> {
    for halvings in 0..CANDIDATES {
        let step_size = 0.5f64.powi(halvings);
        if let Some(tensor) = store.get_mut("log_step_size") {
            tensor.values.fill(step_size.ln() as f32);
        }
        let mut worst = 0.0f64;
        for batch in 0..batches {
            run(program, store, batch)?;
            let errors = program.output("energy_error").expect("the program has this output");
            // What is not a number is worse than anything.
            let bad = |e: f64| if e.is_nan() { f64::INFINITY } else { e };
            worst = errors.iter().map(|e| bad(f64::from(*e))).fold(worst, f64::max);
            if worst > WORST_ENERGY_ERROR {
                break;
            }
        }
        if worst <= WORST_ENERGY_ERROR {
            return Ok(Some(step_size));
        }
    }
    Ok(None)
}
