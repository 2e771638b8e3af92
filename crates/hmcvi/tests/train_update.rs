//! Check what updates do with gradients that are not finite, and with those that are too long.

mod common;

use std::rc::Rc;

use common::model::{PIXELS, STEP_SIZE, chain, image_input, images, values};
use hmcvi::config::Adam;
use hmcvi::family::{ChainSettings, Entropies, Mass};
use hmcvi::nn::{Activation, Parameters};
use hmcvi::train::{Objective, add_adam_state};
use hmcvi_graph::{CpuOptions, Graph, Run, Store};

const ROWS: usize = 6;

#[test]
fn a_gradient_that_is_not_finite_changes_nothing_and_is_counted() {
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let settings = ChainSettings { hmc_steps: 2, leapfrog_steps: 2, ..ChainSettings::default() };
    let chain = chain(&parameters, image_input(&graph), settings, Entropies::ClosedForm, Activation::Tanh);
    let objective = Objective::new(&parameters, chain);
    let program = objective.training_program(&Adam::default()).expect("the objective makes a program");
    let mut executable = program.on_cpu::<f64>(CpuOptions::for_rows(ROWS));
    let mut store = values(&parameters, 4, STEP_SIZE / 9.0);
    add_adam_state(&mut store, &parameters.all());
    let before = store.clone();

    let mut update = |store: &mut _, x: &[f64]| {
        let inputs: &[(&str, &[f64])] = &[("x", x), ("learning_rate", &[0.01])];
        let run = Run { rows: ROWS, inputs, seed: 2, step: 1, ..Run::default() };
        executable.run(store, &run).expect("the run is complete");
        executable.output("skipped").expect("the program says so")[0]
    };
    let good = images(5, ROWS);
    for bad_value in [f64::NAN, f64::INFINITY] {
        let mut bad = good.clone();
        bad[2 * PIXELS] = bad_value;
        assert_eq!(update(&mut store, &bad), 1.0);
        for (name, tensor) in before.iter() {
            assert_eq!(store.get(name).map(|t| &t.values), Some(&tensor.values), "{name} after {bad_value}");
        }
    }
    assert_eq!(update(&mut store, &good), 0.0);
    let moved = |name: &str| store.get(name).map(|t| &t.values) != before.get(name).map(|t| &t.values);
    for (name, _) in parameters.all() {
        assert!(moved(&name), "{name} is where it was after a good update");
    }
}

#[test]
fn a_gradient_that_is_too_long_is_shortened_and_others_are_not() {
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let settings = ChainSettings { hmc_steps: 2, leapfrog_steps: 2, ..ChainSettings::default() };
    let chain = chain(&parameters, image_input(&graph), settings, Entropies::ClosedForm, Activation::Tanh);
    let objective = Objective::new(&parameters, chain);
    let x = images(5, ROWS);
    // After the first update the mean of gradients is a tenth of the gradient that was used.
    let used = |longest: f64| {
        let program = objective
            .training_program(&Adam { max_grad_norm: longest, ..Adam::default() })
            .expect("it is a program");
        let mut executable = program.on_cpu::<f64>(CpuOptions::for_rows(ROWS));
        let mut store = values(&parameters, 4, STEP_SIZE / 9.0);
        add_adam_state(&mut store, &parameters.all());
        let inputs: &[(&str, &[f64])] = &[("x", &x), ("learning_rate", &[0.01])];
        executable.run(&mut store, &Run { rows: ROWS, inputs, ..Run::default() }).expect("it is complete");
        let norm = executable.output("gradient_norm").expect("it is an output")[0];
        let means = store.iter().filter(|(name, _)| name.starts_with("adam.m."));
        let all: Vec<f64> = means.flat_map(|(_, t)| t.values.iter().map(|m| 10.0 * m)).collect();
        (norm, all)
    };
    let length = |all: &[f64]| all.iter().map(|g| g * g).sum::<f64>().sqrt();
    let (norm, whole) = used(0.0);
    assert!((length(&whole) / norm - 1.0).abs() < 1e-12);
    assert_eq!(used(2.0 * norm).1, whole, "a gradient that is short enough");
    let (reported, shortened) = used(0.25 * norm);
    assert_eq!(reported, norm, "the length that is reported");
    for (s, w) in shortened.iter().zip(&whole) {
        assert!((s - 0.25 * w).abs() <= 1e-12 * norm, "{s} of {w}");
    }
}

#[test]
fn unstable_simulations_teach_smaller_steps_larger_masses_and_what_plain_inference_would() {
    const RATE: f64 = 0.01;
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let settings =
        ChainSettings { hmc_steps: 2, leapfrog_steps: 3, mass: Mass::Network, ..ChainSettings::default() };
    // A graph of its own for plain inference: there its first draws are those of the chain.
    let plain_graph = Graph::new();
    let plain_parameters = Rc::new(Parameters::new(&plain_graph));
    let (entropies, activation) = (Entropies::ClosedForm, Activation::Tanh);
    let plain_images = image_input(&plain_graph);
    let plain_chain = chain(&plain_parameters, plain_images, ChainSettings::basic(), entropies, activation);
    let learnt_plainly = plain_parameters.all();
    let chain = chain(&parameters, image_input(&graph), settings, entropies, activation);
    let kinetic = chain.kinetic.expect("there are steps");
    let mean_mass = graph.program().output("log_mass", kinetic.log_mass.sum()).compile().expect("a program");
    let mut masses = mean_mass.on_cpu::<f64>(CpuOptions::for_rows(ROWS));
    let x = images(5, ROWS);
    let mut log_mass = |store: &mut _| {
        masses.run(store, &Run { rows: ROWS, inputs: &[("x", &x)], ..Run::default() }).expect("complete");
        masses.output("log_mass").expect("it is an output")[0]
    };
    let update = |objective: &Objective<'_>, step_size: f64| {
        // Without limit: a common factor of the gradient would change nothing but the last digits of Adam's first update.
        let adam = Adam { max_grad_norm: 0.0, ..Adam::default() };
        let program = objective.training_program(&adam).expect("it is a program");
        let mut store = values(&parameters, 4, step_size);
        add_adam_state(&mut store, &parameters.all());
        let before = store.clone();
        let inputs: &[(&str, &[f64])] = &[("x", &x), ("learning_rate", &[RATE])];
        let run = Run { rows: ROWS, inputs, ..Run::default() };
        program.on_cpu::<f64>(CpuOptions::for_rows(ROWS)).run(&mut store, &run).expect("it is complete");
        (before, store)
    };
    let value = |store: &Store<f64>, name: &str| store.get(name).expect("it is a parameter").values.clone();
    let objective = Objective::new(&parameters, chain);
    let (mut before, mut after) = update(&objective, 50.0);
    let size = |store: &Store<f64>| value(store, "log_step_size")[0];
    assert!((size(&before) - size(&after) - RATE).abs() < 1e-6, "a step of Adam towards smaller steps");
    assert!(log_mass(&mut after) > log_mass(&mut before));
    let plain = Objective::new(&plain_parameters, plain_chain).learning(learnt_plainly.clone());
    let (_, plainly) = update(&plain, 50.0);
    for (name, _) in &learnt_plainly {
        assert_ne!(value(&after, name), value(&before, name), "{name} learns");
        for (a, b) in value(&after, name).iter().zip(value(&plainly, name)) {
            assert!((a - b).abs() < 1e-9, "{name} goes to {a}, plainly to {b}");
        }
    }
    let chain_only = |name: &str| !learnt_plainly.iter().any(|(known, _)| known == name);
    let (_, good) = update(&objective, STEP_SIZE / 9.0);
    for (name, _) in parameters.all().iter().filter(|(name, _)| chain_only(name)) {
        let stays = !name.starts_with("mass.") && name != "log_step_size";
        assert_eq!(value(&after, name) == value(&before, name), stays, "{name} in unstable simulations");
        assert_ne!(value(&good, name), value(&before, name), "good simulations teach {name}");
    }
}
