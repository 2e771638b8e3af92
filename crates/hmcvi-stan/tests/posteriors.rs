//! Stan programs of known posteriors have the log density and gradient of the models that the builder makes.
#![allow(missing_docs, reason = "tests are named for what they guard")]

mod common;

use std::io::Write;
use std::path::Path;

use common::{Compiled, POSTERIORS, Posterior, place};
use hmcvi::bayes::Data;

/// Relative difference that is allowed.
const CLOSE: f64 = 1e-8;

#[test]
fn programs_have_the_densities_of_the_builder_s_models() {
    assert_eq!(POSTERIORS.len(), 17);
    let wrong: Vec<String> =
        POSTERIORS.iter().flat_map(|posterior| differences(posterior, &posterior.data(300))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn programs_have_the_densities_of_the_builder_s_models_with_the_data_of_posteriordb() {
    let Some(folder) = std::env::var_os("HMCVI_POSTERIORDB").filter(|folder| !folder.is_empty()) else {
        let why = "HMCVI_POSTERIORDB does not name a folder with the data of posteriordb";
        // The test harness keeps what tests print to itself otherwise.
        let _ = writeln!(std::io::stderr(), "skipped: {why}");
        return;
    };
    let data = |posterior: &Posterior| posterior.data_of(Path::new(&folder));
    let wrong: Vec<String> =
        POSTERIORS.iter().flat_map(|posterior| differences(posterior, &data(posterior))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where a program and the builder's model differ, with these data.
fn differences(posterior: &Posterior, data: &Data) -> Vec<String> {
    let mut wrong = Vec::new();
    let (builder, stan) = (posterior.builder(data), posterior.stan(data));
    let dimension = builder.dimension();
    assert_eq!(dimension, stan.dimension(), "{}", posterior.name);
    let (mut builder, mut stan) = (Compiled::new(&builder, 1, 1), Compiled::new(&stan, 1, 1));
    for point in 0..5 {
        let z = place(dimension, point);
        let ((expected, slopes), (found, own)) = (builder.at(&z), stan.at(&z));
        assert!(expected.is_finite(), "{} at {point}", posterior.name);
        // Not a number differs from all numbers.
        let close = |a: f64, b: f64, scale: f64| (a - b).abs() <= CLOSE * scale.max(1.0);
        if !close(found + posterior.more, expected, expected.abs()) {
            wrong.push(format!("{} at {point}: {found} and {expected}", posterior.name));
        }
        // Sums over many data cancel: slopes are compared with the largest.
        let scale = slopes.iter().fold(0f64, |most, slope| most.max(slope.abs()));
        for (i, (a, b)) in own.iter().zip(&slopes).enumerate() {
            if !close(*a, *b, scale) {
                wrong.push(format!("{} at {point}: derivative {i} is {a}, not {b}", posterior.name));
            }
        }
    }
    wrong
}
