//! Find where a chain begins: momenta that remain in part, masses that fit the encoder, reverse models that know these
//! masses, then the largest step size at which no simulation of a few batches goes wrong.
//!
//! Of twenty latent dimensions some are not used, and others known to a few hundredths: with equal masses a step that the
//! narrowest bears hardly moves the widest, and learning needs very long to find masses that far apart. A mass network at a
//! random beginning makes some particles so light that all steps have to be short: it begins with the same masses for all
//! images. Posteriors of a two-dimensional latent space are tens of times narrower than those of twenty, and very
//! different: the search looks at the worst simulation, not at their mean.
//!
//! Reverse models with random weights cost many nats at first, and some trainings do not recover from what the first updates do
//! about that. They begin as the momenta's own distribution: simulations conserve energy, so a chain then begins with the bound
//! that the encoder has without it.
//!
//! Momenta of which nothing remains are hard to leave: a reverse model has nothing to learn from the next momentum while
//! `α` is 0, and `α` nothing to gain while the model has not learnt it. Until then what remains costs half of
//! `-log(1 - α²)` for each dimension and HMC step but the first.

use std::f64::consts::FRAC_PI_2;

use hmcvi_graph::{Real, Store};

use super::reverse::{REVERSE, network_at};
use super::{ChainSettings, Reverse};
use crate::device::DeviceError;
use crate::family::FirstLook;

/// The parameter that scales all step sizes.
pub(super) const LOG_STEP_SIZE: &str = "log_step_size";

/// The largest energy error, in nats, that a first simulation may have.
const WORST_ENERGY_ERROR: f64 = 2.0;
/// What the momenta that remain may cost at first, in nats.
const FIRST_COST: f64 = 0.575;
/// How much shorter the next step is that is tried, and how often, before there is none.
const SHORTER: f64 = 0.84;
const TRIALS: i32 = 96;

/// Sets `raw_alpha`, the masses, the reverse models and `log_step_size`. Returns the step size, or `None` if even the
/// smallest goes wrong.
pub(super) fn find<T: Real>(
    look: &mut FirstLook<'_, T>,
    settings: ChainSettings,
) -> Result<Option<f64>, DeviceError> {
    look.evaluate(0)?;
    let log_variances = look.output("log_variance").to_vec();
    fit_masses(look.store(), &log_variances);
    look.evaluate(0)?;
    let log_masses = look.output("log_mass").to_vec();
    let dimension = fit_reverse_models(look.store(), &log_masses, settings.partial_momentum);
    set(look.store(), "raw_alpha", first_alpha(dimension * (settings.hmc_steps - 1)).atanh());
    let radian = radian(look.output("log_variance"), &log_masses);
    let longest = radian * first_angle(settings) / settings.leapfrog_steps as f64;
    for trial in 0..TRIALS {
        let step_size = longest * SHORTER.powi(trial);
        set(look.store(), LOG_STEP_SIZE, step_size.ln());
        let mut worst = 0.0f64;
        for batch in 0..look.batches() {
            look.evaluate(batch)?;
            let errors = look.output("energy_error");
            // What is not a number is worse than anything.
            let bad = |e: f64| if e.is_nan() { f64::INFINITY } else { e };
            worst = errors.iter().map(|e| bad(e.to_f64())).fold(worst, f64::max);
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
fn set<T: Real>(store: &mut Store<T>, name: &str, value: f64) {
    if let Some(tensor) = store.get_mut(name) {
        tensor.values.fill(T::from_f64(value));
    }
}

/// The first `α`, where so many numbers remain in part: a half for three steps of two dimensions.
fn first_alpha(remaining: usize) -> f64 {
    (1.0 - (-2.0 * FIRST_COST / remaining.max(1) as f64).exp()).sqrt()
}

/// How long a particle needs for one radian of an oscillation that is as wide as the encoder's Gaussian in the geometric
/// mean.
fn radian<T: Real>(log_variances: &[T], log_masses: &[T]) -> f64 {
    let mean = |values: &[T]| values.iter().map(|v| v.to_f64()).sum::<f64>() / values.len() as f64;
    let time = (0.5 * (mean(log_variances) + mean(log_masses))).exp();
    if time.is_normal() { time } else { 1.0 }
}

/// How far the first simulations turn. After a quarter of a turn, where a particle ends does not depend on where it was;
/// those that simulate for longer come back.
///
/// Reverse models that see the score gain more from smaller turns. Where a posterior differs from its Gaussian by a small
/// cubic term, a turn by `θ` leaves `cos⁶θ` of their divergence in the position and puts `3 cos⁴θ sin²θ` of it into the
/// mean of the momentum, which such a model knows; the rest is lost. All steps together know most of it at this angle.
fn first_angle(settings: ChainSettings) -> f64 {
    const PARTS: u32 = 1000;
    if matches!(settings.reverse, Reverse::Network | Reverse::Flow) {
        return FRAC_PI_2;
    }
    let known = |angle: f64| {
        let square = angle.cos().powi(2);
        let left = |step: usize| square.powi(3).powi(step as i32);
        let each = 3.0 * square.powi(2) * (1.0 - square);
        (0..settings.hmc_steps).map(|step| each * left(step)).sum::<f64>()
    };
    let angles = (1..=PARTS).map(|part| FRAC_PI_2 * f64::from(part) / f64::from(PARTS));
    angles.max_by(|a, b| known(*a).total_cmp(&known(*b))).unwrap_or(FRAC_PI_2)
}

/// Adds to log masses what makes them inverse to the encoder's mean variances, without changing their mean: momenta keep
/// their scale, with which their reverse models begin. A network begins with the same masses for all images.
fn fit_masses<T: Real>(store: &mut Store<T>, log_variances: &[T]) {
    let network = last_layer(store, "mass");
    let name = network.map_or("log_mass".into(), |layer| format!("mass.{layer}.bias"));
    let Some(log_mass) = store.get_mut(&name) else { return };
    let dimension = log_mass.values.len();
    let mut sums = vec![0.0f64; dimension];
    for row in log_variances.chunks_exact(dimension) {
        sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += v.to_f64());
    }
    let rows = (log_variances.len() / dimension).max(1) as f64;
    let means: Vec<f64> = sums.iter().map(|s| s / rows).collect();
    let middle = means.iter().sum::<f64>() / dimension as f64;
    if !middle.is_finite() {
        return;
    }
    log_mass.values.iter_mut().zip(means).for_each(|(m, mean)| *m = *m - T::from_f64(mean - middle));
    if let Some(layer) = network {
        set(store, &format!("mass.{layer}.weight"), 0.0);
    }
}

/// Makes reverse models the momenta's own distribution, whatever they see: means of 0, and the masses as variances, which
/// are those of the first image. With partial updates they do not look at the next momentum at first, the last of their
/// inputs. Returns the number of dimensions.
fn fit_reverse_models<T: Real>(store: &mut Store<T>, log_masses: &[T], partial: bool) -> usize {
    let mut dimension = 0;
    // The first network of a time of its own is that before the second step.
    let each = (2..).map(network_at).take_while(|name| last_layer(store, name).is_some());
    let each: Vec<String> = each.collect();
    let all = [REVERSE, "final"].into_iter().chain(each.iter().map(String::as_str));
    for name in all.clone() {
        let Some(layer) = last_layer(store, name) else { continue };
        set(store, &format!("{name}.{layer}.weight"), 0.0);
        let bias = store.get_mut(&format!("{name}.{layer}.bias")).expect("the layer was found");
        dimension = bias.values.len() / 2;
        let (means, log_variances) = bias.values.split_at_mut(dimension);
        means.fill(T::default());
        log_variances.copy_from_slice(&log_masses[..dimension]);
    }
    for name in all.filter(|name| partial && *name != "final") {
        let Some(weight) = store.get_mut(&format!("{name}.0.weight")) else { continue };
        let others = weight.values.len() - dimension * weight.cols;
        weight.values[others..].fill(T::default());
    }
    dimension
}

/// The number of a network's last layer, where there is such a network.
fn last_layer<T: Real>(store: &Store<T>, network: &str) -> Option<usize> {
    (0..).take_while(|layer| store.get(&format!("{network}.{layer}.bias")).is_some()).last()
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
    fn reverse_models_begin_as_the_distribution_of_momenta() {
        let mut store = Store::new();
        for (name, inputs) in [("reverse", 6), ("final", 4), ("reverse.step.2", 6), ("reverse.step.3", 6)] {
            for (part, rows, cols) in
                [("0.weight", inputs, 3), ("0.bias", 1, 3), ("1.weight", 3, 4), ("1.bias", 1, 4)]
            {
                let values = vec![0.5; rows * cols];
                store.insert(&format!("{name}.{part}"), rows, cols, values).expect("the sizes agree");
            }
        }
        assert_eq!(fit_reverse_models(&mut store, &[1.0, -2.0, 1.0, -2.0], true), 2);
        let values = |name: &str| store.get(name).expect("it is there").values.clone();
        for name in ["reverse", "final", "reverse.step.2", "reverse.step.3"] {
            assert_eq!(values(&format!("{name}.1.weight")), [0.0; 12]);
            assert_eq!(values(&format!("{name}.1.bias")), [0.0, 0.0, 1.0, -2.0]);
        }
        // All others see the next momentum, in their last two inputs.
        for name in ["reverse", "reverse.step.2", "reverse.step.3"] {
            assert_eq!(values(&format!("{name}.0.weight")), [vec![0.5; 12], vec![0.0; 6]].concat());
        }
        assert_eq!(values("final.0.weight"), [0.5; 12]);
    }

    #[test]
    fn what_remains_of_momenta_costs_the_same_in_all_dimensions() {
        assert!((first_alpha(2 * 2) - 0.5).abs() < 1e-3);
        for remaining in [1, 4, 40, 400] {
            let cost = -0.5 * remaining as f64 * (1.0 - first_alpha(remaining).powi(2)).ln();
            assert!((cost - FIRST_COST).abs() < 1e-9, "{remaining}: {cost}");
        }
    }

    #[test]
    fn a_radian_takes_a_unit_of_time_where_the_angular_frequency_is_1() {
        // An oscillator of variance 1/4 and mass 4.
        let (variance, mass) = (0.25f32.ln(), 4f32.ln());
        let time = radian(&[variance, variance], &[mass, mass]);
        assert!((time - 1.0).abs() < 1e-6, "{time}");
        assert_eq!(radian(&[f32::INFINITY], &[0.0]), 1.0);
    }

    #[test]
    fn chains_of_more_steps_turn_less_in_each() {
        let angle = |hmc_steps, reverse| {
            first_angle(ChainSettings { hmc_steps, reverse, ..ChainSettings::default() })
        };
        assert_eq!(angle(3, Reverse::Network), FRAC_PI_2);
        // One step: cos⁴θ sin²θ is largest where cos²θ = 2/3.
        assert!((angle(1, Reverse::Score).cos().powi(2) - 2.0 / 3.0).abs() < 2e-3);
        let angles = [1, 3, 10, 30].map(|steps| angle(steps, Reverse::Score));
        assert!(angles.windows(2).all(|pair| pair[1] < pair[0]), "{angles:?}");
    }
}
