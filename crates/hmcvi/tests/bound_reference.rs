//! Compare the bound with a plain evaluation of the paper's equations, for every combination.

mod common;

use std::rc::Rc;

use common::model::{PIXELS, STEP_SIZE, chain, image_input, images, values};
use common::reference::Point;
use common::{Compiled, assert_close, combinations, describe, per_row};
use hmcvi::family::{Acceptance, ChainSettings, Entropies};
use hmcvi::nn::{Activation, Parameters};
use hmcvi_graph::{Graph, Run, Store};

const ROWS: usize = 12;
const SEED: u64 = 3;
const STEP: u64 = 7;
/// A row offset that is not zero, as for the second part of a data set.
const FIRST_ROW: u64 = 100;

/// What the engine and the plain evaluation give for the rows of a batch.
struct Comparison {
    names: Vec<String>,
    /// Engine and reference, row by row, for each name.
    values: Vec<(Vec<f64>, Vec<f64>)>,
    total: Vec<f64>,
    end: (Vec<f64>, Vec<f64>),
    accepted: (Vec<bool>, Vec<bool>),
}

fn compare(settings: ChainSettings, entropies: Entropies, activation: Activation) -> Comparison {
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let chain = chain(&parameters, image_input(&graph), settings, entropies, activation);
    let mut store: Store<f64> = values(&parameters, 11, STEP_SIZE);
    let x = images(5, ROWS);

    let accepted: Vec<String> = (1..=settings.hmc_steps).map(|t| format!("accepted {t}")).collect();
    let mut outputs: Vec<_> = chain.terms.named().map(|(name, term)| (name, per_row(term))).to_vec();
    outputs.extend([("total", chain.terms.total()), ("end", chain.end)]);
    outputs.extend(accepted.iter().zip(&chain.steps).map(|(n, s)| (n.as_str(), per_row(s.info.accepted))));
    let run = Run {
        rows: ROWS,
        inputs: &[("x", &x)],
        seed: SEED,
        step: STEP,
        row_offset: FIRST_ROW,
        ..Run::default()
    };
    let found = Compiled::new(&graph, ROWS, &outputs).run(&mut store, &run);

    let expected: Vec<_> = (0..ROWS)
        .map(|row| {
            let x = &x[row * PIXELS..(row + 1) * PIXELS];
            let (seed, step, row) = (SEED, STEP, FIRST_ROW as u32 + row as u32);
            Point { store: &store, settings, entropies, activation, x, seed, step, row }.bound()
        })
        .collect();
    let column = |k: usize| expected.iter().map(|terms| terms.values[k]).collect();
    let names = chain.terms.named().map(|(name, _)| name.to_owned()).to_vec();
    let decisions = |row: usize| accepted.iter().map(|name| found[name][row] != 0.0).collect::<Vec<_>>();
    Comparison {
        values: names.iter().enumerate().map(|(k, name)| (found[name].clone(), column(k))).collect(),
        names,
        total: found["total"].clone(),
        end: (found["end"].clone(), expected.iter().flat_map(|t| t.end.clone()).collect()),
        accepted: (
            (0..ROWS).flat_map(decisions).collect(),
            expected.iter().flat_map(|t| t.accepted.clone()).collect(),
        ),
    }
}

/// Values are of order 10 and a chain has up to 6 leapfrog steps, each of which passes rounding
/// errors of 1e-16 on with a factor of some units.
const TOLERANCE: f64 = 1e-9;

fn check(settings: ChainSettings, entropies: Entropies, activation: Activation) -> Vec<bool> {
    let what = format!("{} {entropies:?}", describe(&settings));
    let comparison = compare(settings, entropies, activation);
    assert_eq!(comparison.accepted.0, comparison.accepted.1, "{what}: decisions");
    assert_close(&format!("{what}: z_T"), &comparison.end.0, &comparison.end.1, TOLERANCE);
    for (name, (found, expected)) in comparison.names.iter().zip(&comparison.values) {
        assert_close(&format!("{what}: {name}"), found, expected, TOLERANCE);
    }
    let sum = |row: usize| comparison.values.iter().map(|(_, reference)| reference[row]).sum();
    let sums: Vec<f64> = (0..ROWS).map(sum).collect();
    assert_close(&format!("{what}: total"), &comparison.total, &sums, TOLERANCE);
    comparison.accepted.0
}

#[test]
fn every_term_equals_the_papers_equations_with_sampled_entropies() {
    for settings in combinations() {
        let accepted = check(settings, Entropies::Sampled, Activation::Tanh);
        let share = accepted.iter().filter(|a| **a).count() as f64 / accepted.len() as f64;
        if settings.acceptance != Acceptance::None {
            // Both sides of the acceptance step are seen.
            assert!(share > 0.05 && share < 0.95, "{}: {share} accepted", describe(&settings));
        }
    }
}

#[test]
fn every_term_equals_the_papers_equations_with_closed_form_entropies() {
    for settings in combinations() {
        check(settings, Entropies::ClosedForm, Activation::Relu);
    }
}

#[test]
fn without_hmc_steps_the_bound_is_the_elbo() {
    let settings = ChainSettings::basic();
    for entropies in [Entropies::ClosedForm, Entropies::Sampled] {
        check(settings, entropies, Activation::Relu);
    }
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    chain(&parameters, image_input(&graph), settings, Entropies::ClosedForm, Activation::Relu);
    let names: Vec<String> = parameters.all().into_iter().map(|(name, _)| name).collect();
    let only_the_auto_encoder = names.iter().all(|n| n.starts_with("encoder.") || n.starts_with("decoder."));
    assert!(only_the_auto_encoder, "{names:?}");
}

#[test]
fn the_total_is_the_sum_of_the_named_terms() {
    for settings in combinations().into_iter().chain([ChainSettings::basic()]) {
        for entropies in [Entropies::ClosedForm, Entropies::Sampled] {
            let comparison = compare(settings, entropies, Activation::Softplus);
            let expected = ["log_joint", "initial_entropy", "momentum_entropy"];
            let expected = [expected, ["reverse_momentum", "final_momentum", "acceptance"]].concat();
            assert_eq!(comparison.names, expected);
            let sum = |row: usize| comparison.values.iter().map(|(found, _)| found[row]).sum();
            let sums: Vec<f64> = (0..ROWS).map(sum).collect();
            // Six numbers of order 10 in another order.
            assert_close(&describe(&settings), &comparison.total, &sums, 1e-12);
        }
    }
}
