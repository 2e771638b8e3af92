//! Hold a linear auto-encoder against the exact maximum of probabilistic principal component analysis, on measurements.
//!
//! A decoder and an encoder without hidden layers and one share of the columns' standard deviations for all of them are that
//! model of the standardised columns. All numbers here are densities of the data as they are: those of the standardised
//! columns, less the sum of the logarithms of the standard deviations.

#![allow(clippy::print_stderr, reason = "how near is shown with what fails")]

mod common;

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use common::principal::PrincipalComponents;
use common::{assert_close, determinant, mean_and_error};
use hmcvi::Problem;
use hmcvi::config::{RunSpec, Schedule, ScheduleKind};
use hmcvi::data::{CsvColumns, Dataset, Table, read_csv};
use hmcvi::device::Device;
use hmcvi::eval::{BoundEvaluator, rows};
use hmcvi::family::ChainSettings;
use hmcvi::model::likelihood::{LikelihoodKind, Scale};
use hmcvi::nn::Parameters;
use hmcvi::potential::LinearGaussian;
use hmcvi::train::{FitSettings, Objective, Trainer, averaged, fit};
use hmcvi_graph::{Graph, Store};

/// How far from the maximum a training may end, in nats for each row.
const NEAR: f64 = 0.02;
/// Standard errors that a difference must have, and that a bound may lie above what it bounds.
const ERRORS: f64 = 3.0;

/// Measurements, all of them to train on and to look at.
struct Measurements {
    data: Arc<Dataset>,
    /// Rows with mean 0 and standard deviation 1 in every column.
    standardised: Vec<Vec<f64>>,
    /// Sum of the logarithms of the columns' standard deviations.
    log_scales: f64,
}

impl Measurements {
    fn new(table: Table) -> Self {
        let values = table.values(0..table.len()).expect("all rows").into_owned();
        let mut standardised: Vec<Vec<f64>> =
            values.chunks(table.columns()).map(|row| row.iter().map(|x| f64::from(*x)).collect()).collect();
        let mut log_scales = 0.0;
        for column in 0..table.columns() {
            let n = standardised.len() as f64;
            let mean = standardised.iter().map(|row| row[column]).sum::<f64>() / n;
            let variance = standardised.iter().map(|row| (row[column] - mean).powi(2)).sum::<f64>() / n;
            standardised.iter_mut().for_each(|row| row[column] = (row[column] - mean) / variance.sqrt());
            log_scales += 0.5 * variance.ln();
        }
        let data = Dataset::new("measurements", "memory", table.clone(), table.clone(), table);
        Measurements { data: Arc::new(data.expect("three times the same rows")), standardised, log_scales }
    }

    /// The numbers of a file, without the column that names classes.
    fn of_file(file: &str, labels: &str) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let columns = CsvColumns { labels: Some(labels.into()), ..CsvColumns::default() };
        Measurements::new(read_csv(&file, &columns).expect("the file is part of the repository"))
    }

    /// Lengths and widths of the leaves of 150 iris flowers.
    fn iris() -> Self {
        Measurements::of_file("../../docs/data/iris.csv", "species")
    }

    /// Thirty measurements of cell nuclei in each of 569 images of breast tissue.
    fn breast_cancer() -> Self {
        let measured = Measurements::of_file("tests/data/breast_cancer.csv", "diagnosis");
        assert_eq!((measured.standardised.len(), measured.standardised[0].len()), (569, 30));
        measured
    }

    /// Mean log density of the rows under a model of the standardised columns.
    fn evidence(&self, model: &LinearGaussian) -> f64 {
        let all: f64 = self.standardised.iter().map(|row| model.log_evidence(row)).sum();
        all / self.standardised.len() as f64 - self.log_scales
    }

    fn components(&self, latent: usize) -> PrincipalComponents {
        PrincipalComponents::new(&self.standardised, latent)
    }

    fn maximum(&self, latent: usize) -> f64 {
        self.components(latent).maximum() - self.log_scales
    }

    /// Bounds of so many independent draws, each of all rows.
    fn bounds(&self, spec: &RunSpec, store: &Store<f32>, draws: u64) -> Vec<Vec<f64>> {
        let (table, spec) = (self.data.train(), spec.for_data(&self.data).expect("the settings fit"));
        let drawn = spec.data.observation(table).draw(table, 1, 0);
        let problem = Problem::of_run(&spec, table.columns());
        let mut evaluator =
            BoundEvaluator::new(&problem, &drawn.observation(), &Device::cpu(1)).expect("it compiles");
        let mut one = |draw| {
            let found =
                evaluator.run(store, &drawn, &rows(table.len()), 5, draw, |_| false).expect("it runs");
            assert_eq!(found.dropped.dropped, 0, "every row has a bound");
            found.bound
        };
        (0..draws).map(&mut one).collect()
    }
}

/// A linear auto-encoder with a chain.
fn linear(latent: usize, chain: ChainSettings) -> RunSpec {
    let mut spec = RunSpec { chain, ..RunSpec::default() };
    (spec.model.latent, spec.model.hidden) = (latent, Vec::new());
    (spec.model.likelihood, spec.model.scale) = (Some(LikelihoodKind::Gaussian), Scale::Shared);
    spec
}

fn tensor<'s>(store: &'s mut Store<f32>, name: &str) -> &'s mut Vec<f32> {
    &mut store.get_mut(name).unwrap_or_else(|| panic!("no tensor `{name}`")).values
}

/// The logarithm of the learnt share, which is kept within ±7.
const LIMIT: f64 = 7.0;

/// The model of the standardised columns that an auto-encoder has learnt.
fn learnt(store: &Store<f32>, latent: usize) -> LinearGaussian {
    let values = |name: &str| -> Vec<f64> {
        store.get(name).expect("a tensor").values.iter().map(|x| f64::from(*x)).collect()
    };
    let share = (LIMIT * (values("likelihood.log_scale")[0] / LIMIT).tanh()).exp();
    LinearGaussian::new(latent, &values("decoder.0.weight"), &values("decoder.0.bias"), share)
}

/// Trains an auto-encoder without HMC steps and compares it with the maximum.
fn reaches_the_maximum(measured: &Measurements, latent: usize, epochs: usize, draws: u64, near: f64) {
    let mut spec = linear(latent, ChainSettings::basic());
    (spec.train.epochs, spec.train.batch, spec.train.validate_every) = (epochs, 500, epochs);
    spec.train.learning_rate =
        Schedule { first: 0.02, last: 1e-4, kind: ScheduleKind::Exponential, warm_up: 0.0 };
    spec.train.average = 0.1;
    let mut trainer =
        Trainer::new(&spec, measured.data.clone(), &Device::cpu(1), None).expect("training begins");
    for _ in 0..epochs {
        trainer.epoch(&mut ()).expect("it trains");
    }
    let store = averaged(&trainer.store().expect("the tensors are there"));
    let (maximum, evidence) = (measured.maximum(latent), measured.evidence(&learnt(&store, latent)));
    let means: Vec<f64> = measured
        .bounds(&spec, &store, draws)
        .iter()
        .map(|bounds| bounds.iter().sum::<f64>() / bounds.len() as f64)
        .collect();
    let (bound, error) = mean_and_error(&means);
    let found =
        format!("{latent}: maximum {maximum:.5}, evidence {evidence:.5}, bound {bound:.5} ± {error:.5}");
    eprintln!("{found}");
    // Single precision holds the parameters to about 1e-7 of their size.
    assert!(evidence <= maximum + 1e-6, "{found}");
    assert!(bound <= evidence + ERRORS * error, "{found}");
    assert!(bound - ERRORS * error >= maximum - near, "{found}");
}

#[test]
fn the_exact_maximum_is_that_of_the_known_eigenvalues() {
    let iris = Measurements::iris();
    // Squares of the standard deviations that R 4 prints for `prcomp(iris[1:4], scale. = TRUE)`, times 149/150 · 150/149:
    // correlations do not depend on the divisor of the variances.
    let published = [1.7083611f64, 0.9560494, 0.3830886, 0.1439265].map(|s| s * s);
    let found: Vec<f64> = iris.components(1).eigen.iter().map(|(value, _)| *value).collect();
    assert_close("eigenvalues", &found, &published, 1e-6);
    // The likelihood itself is the maximum's formula, for every rotation.
    for latent in 1..4 {
        for turned in [false, true] {
            let evidence = iris.evidence(&iris.components(latent).model(turned));
            assert_close("maximum", &[evidence], &[iris.maximum(latent)], 1e-9);
        }
    }
}

#[test]
fn a_linear_auto_encoder_reaches_the_maximum() {
    for latent in 1..4 {
        reaches_the_maximum(&Measurements::iris(), latent, 6000, 10_000, NEAR);
    }
}

#[test]
fn a_linear_auto_encoder_reaches_the_maximum_of_thirty_columns() {
    reaches_the_maximum(&Measurements::breast_cancer(), 5, 6000, 500, NEAR);
}

/// Fits the encoder, and the chain where there is one, to a decoder that is held.
fn fitted(measured: &Measurements, spec: &RunSpec, init: &Store<f32>) -> Store<f32> {
    let trainer = Trainer::new(spec, measured.data.clone(), &Device::cpu(1), Some(init));
    let mut store = trainer.and_then(|trainer| trainer.store()).expect("training begins");
    let table = measured.data.train();
    let x = table.values(0..table.len()).expect("all rows");
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let draw =
        Problem::of_run(spec, table.columns()).infer(&parameters, graph.batch_input("x", table.columns()));
    let is_held = |name: &str| name.starts_with("decoder.") || name.starts_with("likelihood.");
    let free = parameters.all().into_iter().filter(|(name, _)| !is_held(name)).collect();
    let objective = Objective::new(&parameters, draw).learning(free);
    for (stage, learning_rate) in [0.02, 0.005, 0.001, 0.0002].into_iter().enumerate() {
        let settings = FitSettings {
            updates: 1000,
            rows: table.len(),
            learning_rate,
            seed: stage as u64,
            ..FitSettings::default()
        };
        store = fit(&objective, store, &settings, &[("x", &x)]).expect("it fits").store;
    }
    store
}

/// What the best diagonal Gaussian misses of a posterior with precision `P`, `½ (Σ log Pᵢᵢ - log |P|)`.
fn missed_by_diagonals(components: &PrincipalComponents, latent: usize) -> f64 {
    let (weights, variance) = (components.weights(true), components.variance());
    let rows: Vec<&[f64]> = weights.chunks(weights.len() / latent).collect();
    let precision = |i: usize, j: usize| {
        let dot: f64 = rows[i].iter().zip(rows[j]).map(|(a, b)| a * b).sum();
        dot / variance + f64::from(u8::from(i == j))
    };
    let matrix = (0..latent).map(|i| (0..latent).map(|j| precision(i, j)).collect()).collect();
    0.5 * ((0..latent).map(|i| precision(i, i).ln()).sum::<f64>() - determinant(matrix).ln())
}

/// At the maximum that training finds, nothing is left for a chain to gain: the decoder turns until posteriors are diagonal,
/// and the encoder's Gaussian is exact. So the decoder is held at another maximum, whose posteriors are not diagonal, and
/// only what approximates them is learnt. The model and its exact evidence are then the same with and without a chain.
fn hmc_steps_are_tighter(measured: &Measurements, latent: usize, draws: u64) {
    let components = measured.components(latent);
    let (without, with) = (linear(latent, ChainSettings::basic()), linear(latent, ChainSettings::default()));
    assert_eq!((with.chain.hmc_steps, with.chain.leapfrog_steps), (3, 4));
    let begun = Trainer::new(&without, measured.data.clone(), &Device::cpu(1), None);
    let mut init = begun.and_then(|trainer| trainer.store()).expect("training begins");
    let weights: Vec<f32> = components.weights(true).iter().map(|w| *w as f32).collect();
    tensor(&mut init, "decoder.0.weight").copy_from_slice(&weights);
    tensor(&mut init, "decoder.0.bias").fill(0.0);
    let raw = LIMIT * (0.5 * components.variance().ln() / LIMIT).atanh();
    tensor(&mut init, "likelihood.log_scale").fill(raw as f32);

    let plain = fitted(measured, &without, &init);
    let chain = fitted(measured, &with, &plain);
    let maximum = measured.maximum(latent);
    for store in [&plain, &chain] {
        let held = measured.evidence(&learnt(store, latent));
        assert!((held - maximum).abs() < 1e-5, "the decoder is held: {held}, {maximum}");
    }
    let [plain, chain] = [(&without, &plain), (&with, &chain)].map(|(spec, store)| {
        let bounds = measured.bounds(spec, store, draws);
        let rows = 0..bounds[0].len();
        rows.map(|row| bounds.iter().map(|b| b[row]).sum::<f64>() / draws as f64).collect::<Vec<f64>>()
    });
    let evidence: Vec<f64> = measured
        .standardised
        .iter()
        .map(|row| components.model(true).log_evidence(row) - measured.log_scales)
        .collect();
    let paired =
        |a: &[f64], b: &[f64]| mean_and_error(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>());
    let (short, short_error) = paired(&evidence, &plain);
    let (rest, rest_error) = paired(&evidence, &chain);
    let (gain, gain_error) = paired(&chain, &plain);
    let least = missed_by_diagonals(&components, latent);
    let found = format!(
        "{latent}: without {short:.5} ± {short_error:.5} below the evidence, {least:.5} at best; with {rest:.5} ± \
         {rest_error:.5}; gain {gain:.5} ± {gain_error:.5}"
    );
    eprintln!("{found}");
    // Without a chain, the best that a diagonal Gaussian can be, and no better.
    assert!(short >= least - ERRORS * short_error && short + ERRORS * short_error <= least + NEAR, "{found}");
    assert!(rest >= -ERRORS * rest_error, "{found}");
    assert!(gain > ERRORS * gain_error, "{found}");
}

#[test]
fn hmc_steps_are_tighter_where_the_posterior_is_not_diagonal() {
    hmc_steps_are_tighter(&Measurements::iris(), 2, 1500);
}

#[test]
fn hmc_steps_are_tighter_for_thirty_columns() {
    hmc_steps_are_tighter(&Measurements::breast_cancer(), 5, 500);
}
