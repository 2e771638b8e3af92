//! Check the acceptance step's part of the bound where its value is known.

mod common;

use std::rc::Rc;

use common::model::{STEP_SIZE, chain, image_input, images, values};
use common::{Compiled, Outputs, assert_close, combinations, describe, per_row};
use hmcvi::family::{Acceptance, ChainSettings, Entropies, StepSize};
use hmcvi::nn::{Activation, Parameters};
use hmcvi_graph::{Graph, Run};

const ROWS: usize = 50;

/// Total, acceptance term, sum of `ΔH` over accepted steps, number of accepted steps and end.
fn run(settings: ChainSettings, step_size: f64) -> Outputs {
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let chain = chain(&parameters, image_input(&graph), settings, Entropies::Sampled, Activation::Tanh);
    let infos = || chain.steps.iter().map(|step| &step.info);
    let errors = infos().map(|i| i.accepted * i.energy_error).reduce(|a, b| a + b).expect("there are steps");
    let accepted = infos().map(|i| i.accepted).reduce(|a, b| a + b).expect("there are steps");
    let outputs = [
        ("total", chain.terms.total()),
        ("acceptance", per_row(chain.terms.acceptance)),
        ("errors", per_row(errors)),
        ("accepted", per_row(accepted)),
        ("end", chain.end),
    ];
    let x = images(5, ROWS);
    let run = Run { rows: ROWS, inputs: &[("x", &x)], seed: 3, ..Run::default() };
    Compiled::new(&graph, ROWS, &outputs).run(&mut values(&parameters, 11, step_size), &run)
}

/// All combinations with the converged chain's reverse probability.
fn simple() -> impl Iterator<Item = ChainSettings> {
    combinations().into_iter().filter(|s| s.acceptance == Acceptance::Simple)
}

#[test]
fn the_simple_term_is_the_energy_error_of_the_accepted_steps() {
    for settings in simple() {
        let found = run(settings, STEP_SIZE);
        assert_close(&describe(&settings), &found["acceptance"], &found["errors"], 1e-10);
        let accepted: f64 = found["accepted"].iter().sum();
        assert!(accepted < (ROWS * settings.hmc_steps) as f64, "{}: some are rejected", describe(&settings));
    }
}

#[test]
fn without_acceptance_the_term_is_zero() {
    for settings in combinations().into_iter().filter(|s| s.acceptance == Acceptance::None) {
        assert!(run(settings, STEP_SIZE)["acceptance"].iter().all(|term| *term == 0.0));
    }
}

#[test]
fn with_tiny_steps_the_bounds_with_and_without_acceptance_agree() {
    for settings in simple() {
        let what = describe(&settings);
        let without = ChainSettings { acceptance: Acceptance::None, ..settings };
        let (with, without) = (run(settings, 1e-3), run(without, 1e-3));
        let all = vec![settings.hmc_steps as f64; ROWS];
        assert_eq!(with["accepted"], all, "{what}: nothing is rejected");
        assert_eq!(with["end"], without["end"], "{what}: the same path");
        // ΔH is of order ε³ = 1e-9 in each step, times derivatives of the potential.
        assert_close(&what, &with["total"], &without["total"], 2e-7);
        assert_ne!(with["total"], without["total"], "{what}");
    }
}

#[test]
fn the_difference_of_the_bounds_falls_with_the_third_power_of_the_step_size() {
    // ΔH = ε² (G(end) - G(start)) + …, and with a fixed number of steps end - start is of order ε.
    for settings in simple().filter(|s| s.step_size == StepSize::Global) {
        let size = |step_size: f64| {
            let found = run(settings, step_size);
            let steps = (ROWS * settings.hmc_steps) as f64;
            assert_eq!(found["accepted"].iter().sum::<f64>(), steps, "nothing is rejected");
            found["acceptance"].iter().map(|a| a * a).sum::<f64>().sqrt()
        };
        let ratio = size(4e-3) / size(2e-3);
        assert!((ratio - 8.0).abs() < 0.8, "{}: {ratio}", describe(&settings));
    }
}
