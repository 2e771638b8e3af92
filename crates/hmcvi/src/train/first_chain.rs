//! Find where a chain begins: momenta that half remain, masses that fit the encoder, then the largest step size at which no
//! simulation of a few batches goes wrong.
//!
//! Of twenty latent dimensions some are not used, and others known to a few hundredths: with equal masses a step that the
//! narrowest bears hardly moves the widest, and learning needs very long to find masses that far apart. A mass network at a
//! random beginning makes some particles so light that all steps have to be short: it begins with the same masses for all
//! images. Posteriors of a two-dimensional latent space are tens of times narrower than those of twenty, and very
//! different: the search looks at the worst simulation, not at their mean.
//!
//! Momenta of which nothing remains are hard to leave: a reverse model has nothing to learn from the next momentum while
//! `α` is 0, and `α` nothing to gain while the model has not learnt it.

use hmcvi_graph::Store;

use crate::device::{DeviceError, Runner};

/// The largest energy error, in nats, that a first simulation may have.
const WORST_ENERGY_ERROR: f64 = 2.0;
/// The first `α`, where momenta are updated in part.
const FIRST_ALPHA: f64 = 0.5;
/// How often the longest step is halved, before there is none.
const HALVINGS: i32 = 24;

/// Sets `raw_alpha`, the masses and `log_step_size` in the store; `run` evaluates the program for one of the batches.
/// Returns the step size, or `None` if even the smallest goes wrong.
pub(super) fn find(
    program: &mut Runner<f32>,
    store: &mut Store<f32>,
    batches: usize,
    leapfrog_steps: usize,
    mut run: impl FnMut(&mut Runner<f32>, &mut Store<f32>, usize) -> Result<(), DeviceError>,
) -> Result<Option<f64>, DeviceError> {
    set(store, "raw_alpha", FIRST_ALPHA.atanh());
    run(program, store, 0)?;
    fit_masses(store, output(program, "log_variance"));
    run(program, store, 0)?;
    let longest =
        quarter_turn(output(program, "log_variance"), output(program, "log_mass")) / leapfrog_steps as f64;
    for halvings in 0..HALVINGS {
        let step_size = longest * 0.5f64.powi(halvings);
        set(store, "log_step_size", step_size.ln());
        let mut worst = 0.0f64;
        for batch in 0..batches {
            run(program, store, batch)?;
            let errors = output(program, "energy_error");
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

/// Gives a parameter its value, where there is one.
fn set(store: &mut Store<f32>, name: &str, value: f64) {
    if let Some(tensor) = store.get_mut(name) {
        tensor.values.fill(value as f32);
    }
}

fn output<'a>(program: &'a Runner<f32>, name: &str) -> &'a [f32] {
    program.output(name).expect("the program has this output")
}

/// How long a particle needs, in an oscillation that is as wide as the encoder's Gaussian in the geometric mean, for a
/// quarter of its way: where it ends does not depend on where it was. Those that simulate for longer come back.
fn quarter_turn(log_variances: &[f32], log_masses: &[f32]) -> f64 {
    let mean = |values: &[f32]| values.iter().map(|v| f64::from(*v)).sum::<f64>() / values.len() as f64;
    let time = std::f64::consts::FRAC_PI_2 * (0.5 * (mean(log_variances) + mean(log_masses))).exp();
    if time.is_normal() { time } else { 1.0 }
}

/// Adds to log masses what makes them inverse to the encoder's mean variances, without changing their mean: momenta keep
/// their scale, with which their reverse models begin. A network begins with the same masses for all images.
fn fit_masses(store: &mut Store<f32>, log_variances: &[f32]) {
    let last_layer = |layer: &usize| store.get(&format!("mass.{layer}.bias")).is_some();
    let network = (0..).take_while(last_layer).last();
    let name = network.map_or("log_mass".into(), |layer| format!("mass.{layer}.bias"));
    let Some(log_mass) = store.get_mut(&name) else { return };
    let dimension = log_mass.values.len();
    let mut sums = vec![0.0f64; dimension];
    for row in log_variances.chunks_exact(dimension) {
        sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += f64::from(*v));
    }
    let rows = (log_variances.len() / dimension).max(1) as f64;
    let means: Vec<f64> = sums.iter().map(|s| s / rows).collect();
    let middle = means.iter().sum::<f64>() / dimension as f64;
    if !middle.is_finite() {
        return;
    }
    log_mass.values.iter_mut().zip(means).for_each(|(m, mean)| *m -= (mean - middle) as f32);
    if let Some(layer) = network {
        set(store, &format!("mass.{layer}.weight"), 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masses(values: &[f32]) -> Store<f32> {
        let mut store = Store::new();
        store.insert("log_mass", 1, values.len(), values.to_vec()).expect("the sizes agree");
        store
    }

    #[test]
    fn masses_are_inverse_to_the_encoders_variances() {
        let mut store = masses(&[0.1, -0.1, 0.0]);
        fit_masses(&mut store, &[-4.0, -1.0, 0.0, -6.0, -3.0, 2.0]);
        // Mean log variances -5, -2 and 1 around -2.
        assert_eq!(store.get("log_mass").expect("it is there").values, [3.1, -0.1, -3.0]);
    }

    #[test]
    fn a_mass_network_begins_with_the_same_masses_for_all_images() {
        let mut store = Store::new();
        for (name, rows, cols) in [("mass.0.weight", 4, 3), ("mass.0.bias", 1, 3), ("mass.1.weight", 3, 2)] {
            store.insert(name, rows, cols, vec![0.5; rows * cols]).expect("the sizes agree");
        }
        store.insert("mass.1.bias", 1, 2, vec![0.5, 0.25]).expect("the sizes agree");
        fit_masses(&mut store, &[-4.0, -2.0]);
        let values = |name: &str| store.get(name).expect("it is there").values.clone();
        assert_eq!(values("mass.1.bias"), [1.5, -0.75]);
        assert_eq!(values("mass.1.weight"), [0.0; 6]);
        assert_eq!(values("mass.0.weight"), [0.5; 12]);
    }

    #[test]
    fn masses_stay_where_the_encoder_says_nothing() {
        let mut store = masses(&[0.5, 0.25]);
        fit_masses(&mut store, &[f32::NAN, 0.0]);
        assert_eq!(store.get("log_mass").expect("it is there").values, [0.5, 0.25]);
    }

    #[test]
    fn a_quarter_of_a_turn_takes_a_quarter_of_the_period() {
        // An oscillator of variance 1/4 and mass 4 has the angular frequency 1.
        let (variance, mass) = (0.25f32.ln(), 4f32.ln());
        let time = quarter_turn(&[variance, variance], &[mass, mass]);
        assert!((time - std::f64::consts::FRAC_PI_2).abs() < 1e-6, "{time}");
        assert_eq!(quarter_turn(&[f32::INFINITY], &[0.0]), 1.0);
    }
}
