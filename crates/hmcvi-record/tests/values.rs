//! Guard what records compute, and that what they write is what is read.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use hmcvi_record::figure::Field;
use hmcvi_record::{CheckpointInfo, Epoch, Estimate, ImportanceSampling, PartialEpoch};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

fn again<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

#[test]
fn an_estimate_is_a_mean_with_its_standard_error() {
    let estimate = Estimate::of_finite([1.0, 2.0, 3.0, 4.0]).unwrap();
    // Sum of squares 5, variance 5/3, of the mean 5/12.
    let expected = Estimate { mean: 2.5, standard_error: (5.0f64 / 12.0).sqrt() };
    assert_eq!(estimate, expected);
    let with_others = [1.0, f64::NAN, 2.0, 3.0, f64::INFINITY, 4.0, f64::NEG_INFINITY];
    assert_eq!(Estimate::of_finite(with_others), Some(expected));
    assert_eq!(Estimate::of_finite([f64::NAN]), None);
    assert_eq!(Estimate::of_finite([]), None);
}

proptest! {
    #[test]
    fn estimates_follow_shifts_and_scales(
        values in prop::collection::vec(-100.0..100.0f64, 2..40), scale in -9.0..9.0f64, shift in -9.0..9.0f64,
    ) {
        let plain = Estimate::of_finite(values.iter().copied()).unwrap();
        let moved = Estimate::of_finite(values.iter().map(|v| scale * v + shift)).unwrap();
        prop_assert!((moved.mean - (scale * plain.mean + shift)).abs() < 1e-9);
        prop_assert!((moved.standard_error - scale.abs() * plain.standard_error).abs() < 1e-9);
        // Each value twice: the same mean, and the error of 2n values with the same squares.
        let n = values.len() as f64;
        let twice = Estimate::of_finite(values.iter().chain(&values).copied()).unwrap();
        let factor = ((n - 1.0) / (2.0 * n - 1.0)).sqrt();
        prop_assert!((twice.standard_error - factor * plain.standard_error).abs() < 1e-9);
    }

    #[test]
    fn fields_integrate_products_of_lines_exactly(
        columns in 2usize..9, rows in 2usize..9, low in -3.0..0.0f64, width in 0.5..4.0f64,
        (a, b, c, d) in (-2.0..2.0f64, -2.0..2.0f64, -2.0..2.0f64, -2.0..2.0f64),
    ) {
        let mut field = Field::empty([low, 2.0 * low], [low + width, 2.0 * low + 3.0 * width], columns, rows);
        field.values = field.points().map(|[x, y]| (a + b * x) * (c + d * y)).collect();
        // Of a line, the integral is the length times the value in the middle.
        let middle = [low + width / 2.0, 2.0 * low + 1.5 * width];
        let exact = width * (a + b * middle[0]) * 3.0 * width * (c + d * middle[1]);
        prop_assert!((field.integral() - exact).abs() < 1e-9 * (1.0 + exact.abs()), "{} {exact}", field.integral());
    }

    #[test]
    fn fields_keep_six_digits(value in prop::num::f64::NORMAL) {
        let field = Field { low: [0.0; 2], high: [1.0; 2], columns: 1, rows: 1, values: vec![value] };
        let read = again(&field).values[0];
        // Subnormal numbers have fewer digits, and are nothing to a figure.
        prop_assert!((read - value).abs() <= 5.1e-6 * value.abs() || value.abs() < 1e-300, "{value} {read}");
    }
}

#[test]
fn fields_go_from_left_to_right_and_upwards() {
    let field = Field::empty([-1.0, 0.0], [1.0, 6.0], 3, 2);
    assert_eq!(field.spacing(), [1.0, 6.0]);
    let points: Vec<[f64; 2]> = field.points().collect();
    assert_eq!(points, [[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [-1.0, 6.0], [0.0, 6.0], [1.0, 6.0]]);
}

#[test]
fn what_is_not_finite_in_a_field_is_no_part_of_its_range_and_nan_when_read() {
    let values = vec![1.5, f64::INFINITY, -2.0, f64::NAN];
    let field = Field { low: [0.0; 2], high: [1.0; 2], columns: 2, rows: 2, values };
    assert_eq!(field.range(), (-2.0, 1.5));
    let read = again(&field).values;
    assert_eq!((read[0], read[2]), (1.5, -2.0));
    assert!(read[1].is_nan() && read[3].is_nan());
}

/// An evaluation with a value that could not be computed must not become a file that cannot be read.
#[test]
fn values_of_an_evaluation_that_are_nan_are_nan_when_read() {
    let nan = Estimate { mean: -90.0, standard_error: f64::NAN };
    let read = again(&nan);
    assert!(read.mean == -90.0 && read.standard_error.is_nan());
    let sampling = ImportanceSampling {
        samples: 10,
        proposal: "gaussian".into(),
        proposal_scale: 1.0,
        mean_draws: 5,
        log_likelihood: nan,
        effective_sample_size: f64::NAN,
        log_weight_variance: f64::INFINITY,
        k_hat_median: None,
        k_hat_high: 0.5,
        gflops: None,
        bytes: 8,
    };
    let read = again(&sampling);
    assert!(read.effective_sample_size.is_nan() && read.log_weight_variance.is_nan());
    assert_eq!((read.k_hat_median, read.k_hat_high, read.gflops, read.bytes), (None, 0.5, None, 8));
}

fn numbers(all: &[(&str, f64)]) -> BTreeMap<String, f64> {
    all.iter().map(|(name, value)| (name.to_string(), *value)).collect()
}

#[test]
fn values_of_an_epoch_that_are_not_finite_are_absent_when_read() {
    let epoch = Epoch {
        epoch: 3,
        step: 30,
        seconds: 1.5,
        learning_rate: 1e-3,
        train: numbers(&[("bound", -90.5), ("gradient_norm", f64::INFINITY)]),
        validation: Some(numbers(&[("bound", f64::NAN), ("mass", 2.0)])),
        images: 100,
        divergences: 2,
        skipped: 1,
        images_per_second: 10.0,
    };
    let expected = Epoch {
        train: numbers(&[("bound", -90.5)]),
        validation: Some(numbers(&[("mass", 2.0)])),
        ..epoch.clone()
    };
    assert_eq!(again(&epoch), expected);
    let without = Epoch { validation: None, ..expected };
    assert_eq!(again(&without), without);
}

/// Checkpoints are hashed as they are written: what is not there must not appear, and no bit may be lost.
#[test]
fn checkpoints_describe_themselves_to_the_last_bit() {
    let finished = CheckpointInfo {
        schema: 3,
        epoch: 2,
        step: 9,
        best_epoch: 1,
        best_validation_bound: Some(-90.1 / 3.0),
        under_way: None,
    };
    assert!(!serde_json::to_string(&finished).unwrap().contains("under_way"));
    assert_eq!(again(&finished), finished);
    let sums = [("bound".to_string(), Some(0.1 + 0.2)), ("energy_error".to_string(), None)].into();
    let part = PartialEpoch { images: 5, updates: 1, skipped: 0, seconds: 1.0 / 3.0, sums };
    let within = CheckpointInfo { under_way: Some(part), ..finished };
    assert_eq!(again(&within), within);
}
