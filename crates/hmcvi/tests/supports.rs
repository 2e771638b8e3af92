//! Transforms of real numbers to supports: Stan's values, and Jacobians that are those of the transforms.
#![allow(missing_docs, reason = "tests are named for what they guard")]

#[path = "common/density.rs"]
mod density;

use density::{Wanted, at, differences};
use hmcvi::bayes::*;
use serde_json::Value;

/// A support, the dimensions of a variable there, and the elements that all others follow from.
type Case = (&'static str, fn() -> Support<'static>, Dims, Vec<usize>);

fn cases() -> Vec<Case> {
    let all = |size: usize| (0..size).collect::<Vec<_>>();
    vec![
        ("above", || Support::Above(Arg::Number(-2.0)), 3.into(), all(3)),
        ("below", || Support::Below(Arg::Number(5.0)), 3.into(), all(3)),
        ("between", || Support::Between(Arg::Number(-2.0), Arg::Number(5.0)), 3.into(), all(3)),
        ("ordered", || Support::Ordered, 3.into(), all(3)),
        ("positive_ordered", || Support::PositiveOrdered, 3.into(), all(3)),
        ("simplex", || Support::Simplex, 4.into(), all(3)),
        ("correlation_cholesky", || Support::CorrelationCholesky, (3, 3).into(), vec![3, 6, 7]),
    ]
}

/// Supports whose values are compared with Stan's by its programs.
fn more() -> Vec<Case> {
    vec![
        ("affine", || Support::Affine(Arg::Number(-2.0), Arg::Number(0.3)), 3.into(), vec![0, 1, 2]),
        ("correlation", || Support::Correlation, (3, 3).into(), vec![3, 6, 7]),
        ("covariance_cholesky", || Support::CovarianceCholesky, (3, 2).into(), vec![0, 2, 3, 4, 5]),
        ("covariance", || Support::Covariance, (3, 3).into(), vec![0, 3, 4, 6, 7, 8]),
    ]
}

fn bound(support: fn() -> Support<'static>, dims: Dims) -> Bound {
    let model = Model::new(move |m| {
        m.sample("x", flat().on(support()).shape(dims));
    });
    model.bind(&Data::new()).expect("a model")
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("an array").iter().map(|x| x.as_f64().expect("a number")).collect()
}

/// Real numbers, values and log Jacobians of the reference.
fn reference(name: &str) -> Vec<(Vec<f64>, Vec<f64>, f64)> {
    let table: Value = serde_json::from_str(include_str!("reference/distributions.json")).expect("JSON");
    let cases = table["supports"][name].as_array().unwrap_or_else(|| panic!("{name} is in the reference"));
    let case = |case: &Value| {
        (numbers(&case["z"]), numbers(&case["value"]), case["log_jacobian"].as_f64().expect("a number"))
    };
    cases.iter().map(case).collect()
}

/// `log |det a|` by elimination with pivots.
fn log_determinant(mut a: Vec<Vec<f64>>) -> f64 {
    let mut sum = 0.0;
    while let Some(pivot) = (0..a.len()).max_by(|i, j| a[*i][0].abs().total_cmp(&a[*j][0].abs())) {
        let first = a.swap_remove(pivot);
        sum += first[0].abs().ln();
        for row in &mut a {
            let factor = row[0] / first[0];
            *row = row.iter().zip(&first).skip(1).map(|(x, y)| x - factor * y).collect();
        }
    }
    sum
}

#[test]
fn transforms_are_those_of_stan() {
    for (name, support, dims, _) in cases() {
        let bound = bound(support, dims);
        for (z, values, log_jacobian) in reference(name) {
            assert_eq!(bound.dimension(), z.len(), "{name}");
            let found = at(&bound, Wanted::Values, &z);
            let error = found.iter().zip(&values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 1e-13, "{name} at {z:?} is {found:?}, not {values:?}");
            let found = at(&bound, Wanted::LogPrior, &z)[0];
            assert!((found - log_jacobian).abs() < 1e-12, "{name} at {z:?}: {found}, not {log_jacobian}");
        }
    }
}

#[test]
fn log_jacobians_are_those_of_the_transforms() {
    for (name, support, dims, free) in cases().into_iter().chain(more()) {
        for parts in [1, 2] {
            let all = if parts == 1 { dims.sizes().to_vec() } else { [&[2], dims.sizes()].concat() };
            let bound = bound(support, Dims::new(&all).expect("dimensions"));
            let z: Vec<f64> = (0..bound.dimension()).map(|i| 1.3 * (1.7 * i as f64 + 0.4).sin()).collect();
            let free: Vec<usize> =
                (0..parts).flat_map(|part| free.iter().map(move |i| part * dims.elements() + i)).collect();
            let slopes = differences(&bound, Wanted::Values, &z);
            let matrix = slopes.iter().map(|row| free.iter().map(|i| row[*i]).collect()).collect();
            let (exact, found) = (log_determinant(matrix), at(&bound, Wanted::LogPrior, &z)[0]);
            assert!((exact - found).abs() < 1e-8, "{name} with {parts} parts: {found}, not {exact}");
            let gradient = at(&bound, Wanted::Gradient, &z);
            let slopes = differences(&bound, Wanted::LogDensity, &z).concat();
            for (exact, found) in gradient.iter().zip(slopes) {
                assert!(
                    (exact - found).abs() < 1e-8,
                    "{name}: a slope of {exact}, and {found} by differences"
                );
            }
            let hessian = at(&bound, Wanted::Hessian, &z);
            let slopes = differences(&bound, Wanted::Gradient, &z).concat();
            for (exact, found) in hessian.iter().zip(slopes) {
                assert!(
                    (exact - found).abs() < 1e-7,
                    "{name}: a curvature of {exact}, and {found} by differences"
                );
            }
        }
    }
}

#[test]
fn many_parts_are_each_like_one() {
    for (name, support, dims, _) in
        cases().into_iter().chain(more()).filter(|(name, ..)| !["above", "below", "between"].contains(name))
    {
        let (one, all) = (bound(support, dims), [&[3], dims.sizes()].concat());
        let many = bound(support, Dims::new(&all).expect("dimensions"));
        let z: Vec<f64> = (0..many.dimension()).map(|i| 1.3 * (1.7 * i as f64 + 0.4).sin()).collect();
        let (found, parts) = (at(&many, Wanted::Values, &z), at(&one, Wanted::Values, &z));
        let error = found.iter().zip(&parts).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(found.len() == parts.len() && error < 1e-14, "{name}: {found:?}, not {parts:?}");
        let sum: f64 = at(&one, Wanted::LogPrior, &z).iter().sum();
        assert!((at(&many, Wanted::LogPrior, &z)[0] - sum).abs() < 1e-12, "{name}");
    }
}

#[test]
fn bounds_may_be_variables() {
    let model = Model::new(|m| {
        let low = m.sample("low", normal(0.0, 1.0));
        let high = m.sample("high", flat().on(Support::Above(low.into())));
        m.sample("x", uniform(low, high).shape(2));
    });
    let bound = model.bind(&Data::new()).expect("a model");
    let z = [-0.4, 0.7, 1.2, -0.3];
    let values = at(&bound, Wanted::Values, &z);
    let high = -0.4 + 0.7f64.exp();
    let share = |y: f64| 1.0 / (1.0 + (-y).exp());
    for (found, expected) in
        values.iter().zip([-0.4, high, -0.4 + (high + 0.4) * share(1.2), -0.4 + (high + 0.4) * share(-0.3)])
    {
        assert!((found - expected).abs() < 1e-14, "{values:?}");
    }
    // The widths of transform and density cancel.
    let slope = |y: f64| (share(y) * share(-y)).ln();
    let expected =
        -0.5 * 0.4f64.powi(2) - 0.5 * (2.0 * std::f64::consts::PI).ln() + 0.7 + slope(1.2) + slope(-0.3);
    assert!((at(&bound, Wanted::LogDensity, &z)[0] - expected).abs() < 1e-13);
}

#[test]
fn far_out_all_is_finite() {
    for (name, support, dims, _) in cases() {
        let bound = bound(support, dims);
        for far in [-200.0, 200.0] {
            let z = vec![far; bound.dimension()];
            for wanted in [Wanted::LogPrior, Wanted::Values, Wanted::Gradient] {
                assert!(at(&bound, wanted, &z).iter().all(|x| x.is_finite()), "{name} at {far}");
            }
        }
    }
}

#[test]
fn directions_and_sums_of_zero_are_what_they_say() {
    let z: Vec<f64> = (0..6).map(|i| 1.3 * (1.7 * f64::from(i) + 0.4).sin()).collect();
    let unit = bound(|| Support::UnitVector, (2, 3).into());
    for part in at(&unit, Wanted::Values, &z).chunks(3) {
        assert!((part.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-14, "{part:?}");
    }
    let zero = bound(|| Support::SumToZero, (2, 4).into());
    let values = at(&zero, Wanted::Values, &z);
    for (part, free) in values.chunks(4).zip(z.chunks(3)) {
        assert!(part.iter().sum::<f64>().abs() < 1e-14, "{part:?}");
        // The map is orthogonal, so squares keep their sum.
        let squares = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
        assert!((squares(part) - squares(free)).abs() < 1e-13, "{part:?}");
    }
    assert_eq!(at(&zero, Wanted::LogPrior, &z)[0], 0.0);
}

#[test]
fn matrices_take_their_numbers_by_rows_or_by_columns() {
    let values = |order: Order| {
        let model = Model::new(move |m| {
            m.declare("x", Support::Real, (2, 3), order);
        });
        at(&model.bind(&Data::new()).expect("a model"), Wanted::Values, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    };
    assert_eq!(values(Order::Rows), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(values(Order::Columns), [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
}
