//! Compare training on a GPU with training on the processor. Where there is no card every test says so and
//! passes, or fails if `HMCVI_REQUIRE_CUDA=1`.
#![cfg(feature = "cuda")]
#![allow(
    clippy::print_stderr,
    unreachable_pub,
    reason = "tests are named for what they guard, and share files"
)]

mod common;
#[path = "../../hmcvi-graph/tests/common/required.rs"]
mod required;

use std::rc::Rc;

use common::model::{chain, image_input, images, values};
use common::{combinations, describe, part_of_the_data};
use hmcvi::config::{RunSpec, preset};
use hmcvi::device::{Device, Precision};
use hmcvi::eval::{AnnealingOptions, EvaluationOptions, ImportanceOptions, evaluate};
use hmcvi::family::Entropies;
use hmcvi::nn::{Activation, Parameters};
use hmcvi::train::Trainer;
use hmcvi_graph::cuda::{CudaDevice, CudaOptions, CudaRun, CudaStore};
use hmcvi_graph::{CpuOptions, Graph, Run};
use required::required;

/// A card, unless there is none.
fn card(precision: Precision) -> Option<Device> {
    required(Device::cuda(0, precision, None))
}

/// Checks every sixth combination, from this one on: compiling kernels takes longest, and tests run side by side.
fn check_gradients(first: usize) {
    const ROWS: usize = 40;
    let Some(device) = required(CudaDevice::new(0)) else { return };
    let mut worst: f64 = 0.0;
    for settings in combinations().into_iter().skip(first).step_by(6) {
        let graph = Graph::new();
        let parameters = Rc::new(Parameters::new(&graph));
        let chain =
            chain(&parameters, image_input(&graph), settings, Entropies::ClosedForm, Activation::Tanh);
        let (names, wrt): (Vec<String>, Vec<_>) = parameters.all().into_iter().unzip();
        let gradients = graph.grad(chain.terms.total().mean_rows(), &wrt);
        let mut program = graph.program().output("bound", chain.terms.total());
        for (name, gradient) in names.iter().zip(gradients) {
            program = program.output(name, gradient);
        }
        let program = program.compile().expect("the bound makes a program");
        let (mut store, x) = (values(&parameters, 11, 0.1), images(5, ROWS));
        let mut cpu = program.on_cpu::<f64>(CpuOptions::for_rows(ROWS));
        let run = Run { rows: ROWS, inputs: &[("x", &x)], seed: 3, ..Run::default() };
        cpu.run(&mut store, &run).expect("it runs");
        let narrow: Vec<f32> = x.iter().map(|x| *x as f32).collect();
        let options = CudaOptions { precision: Precision::F32, ..CudaOptions::for_rows(ROWS) };
        let mut gpu = program.on_cuda(&device, &options).expect("it compiles");
        let mut there = CudaStore::upload(&device, &store.convert()).expect("there is room");
        let run = CudaRun { rows: ROWS, inputs: &[("x", &narrow)], seed: 3, ..CudaRun::default() };
        gpu.run(&mut there, &run).expect("it runs");
        let (mut difference, mut size) = (0.0, 0.0);
        for name in &names {
            let exact = cpu.output(name).expect("an output");
            for (a, b) in exact.iter().zip(gpu.output(name).expect("an output")) {
                difference += (a - f64::from(b)).powi(2);
                size += a * a;
            }
        }
        let error = f64::sqrt(difference / size);
        assert!(error < 1e-4, "{}: the gradient is off by {error:.1e}", describe(&settings));
        worst = worst.max(error);
    }
    eprintln!("largest relative error of a whole gradient: {worst:.1e}");
}

#[test]
fn the_gradient_of_every_combinations_bound_is_that_of_the_processor_part_1() {
    check_gradients(0);
}

#[test]
fn the_gradient_of_every_combinations_bound_is_that_of_the_processor_part_2() {
    check_gradients(1);
}

#[test]
fn the_gradient_of_every_combinations_bound_is_that_of_the_processor_part_3() {
    check_gradients(2);
}

#[test]
fn the_gradient_of_every_combinations_bound_is_that_of_the_processor_part_4() {
    check_gradients(3);
}

#[test]
fn the_gradient_of_every_combinations_bound_is_that_of_the_processor_part_5() {
    check_gradients(4);
}

#[test]
fn the_gradient_of_every_combinations_bound_is_that_of_the_processor_part_6() {
    check_gradients(5);
}

fn spec(name: &str) -> RunSpec {
    let mut spec = preset(name).expect("a preset");
    spec.train.batch = 100;
    spec.train.epochs = 20;
    spec.data.evaluation_draws = 1;
    spec
}

#[test]
fn epochs_of_training_agree_with_the_processor() {
    for (precision, limit) in [(Precision::F32, 0.05), (Precision::Tf32, 0.25)] {
        let Some(device) = card(precision) else { return };
        for name in ["basic-2d", "hmcvi-13"] {
            let (mut spec, data) = (spec(name), part_of_the_data(1000, 100));
            // Looks at validation images see averages.
            spec.train.average = 0.2;
            let train = |device: &Device| {
                let mut trainer = Trainer::new(&spec, data.clone(), device, None).expect("it begins");
                let epochs =
                    (0..20).map(|_| trainer.epoch(&mut ()).expect("it trains").expect("not stopped"));
                epochs.collect::<Vec<_>>()
            };
            let (there, here) = (train(&device), train(&Device::cpu(0)));
            for (a, b) in there.iter().zip(&here) {
                let bounds = |e: &hmcvi_record::Epoch| {
                    (e.train["bound"], e.validation.as_ref().map_or(f64::NAN, |v| v["bound"]))
                };
                let ((train_a, look_a), (train_b, look_b)) = (bounds(a), bounds(b));
                let off = (train_a - train_b).abs().max((look_a - look_b).abs());
                assert!(off < limit, "{name}, {precision:?}, epoch {}: {off} nats apart", a.epoch);
                assert_eq!((a.step, a.skipped, a.divergences), (b.step, b.skipped, b.divergences));
            }
        }
    }
}

#[test]
fn judgements_agree_with_the_processor() {
    let Some(device) = card(Precision::F32) else { return };
    let (spec, data) = (spec("hmcvi-13"), part_of_the_data(1000, 100));
    let mut trainer = Trainer::new(&spec, data.clone(), &device, None).expect("it begins");
    for _ in 0..5 {
        trainer.epoch(&mut ()).expect("it trains");
    }
    let store = trainer.store().expect("it can be copied");
    let annealing = AnnealingOptions { temperatures: 20, chains: 4, ..AnnealingOptions::default() };
    let options = EvaluationOptions {
        importance: Some(ImportanceOptions::new(300)),
        annealing: Some((annealing, 20)),
        bidirectional: Some((annealing, 20)),
        ..EvaluationOptions::new(&spec)
    };
    let run = |device: &Device| {
        evaluate(&spec, &store, data.test(), &options, device, &mut ()).expect("it evaluates")
    };
    let (there, here) = (run(&device), run(&Device::cpu(0)));
    let near = |what: &str, a: f64, b: f64, limit: f64| assert!((a - b).abs() < limit, "{what}: {a} and {b}");
    near("bound", there.bound.mean, here.bound.mean, 0.02);
    let likelihood = |j: &hmcvi::eval::EvaluationResult| {
        j.importance_sampling.as_ref().map_or(f64::NAN, |s| s.log_likelihood.mean)
    };
    near("importance sampling", likelihood(&there), likelihood(&here), 0.05);
    let annealed =
        |j: &hmcvi::eval::EvaluationResult| j.annealing.as_ref().map_or(f64::NAN, |a| a.log_likelihood.mean);
    // Decisions about proposals that fall the other way by rounding make other chains of the same quality.
    near("annealing", annealed(&there), annealed(&here), 1.0);
}
