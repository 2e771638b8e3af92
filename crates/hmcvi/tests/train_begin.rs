//! Check where trainings of chains begin: at the bound that the encoder has alone, with a step size that is held for as
//! long as was asked.

mod common;

use std::sync::Arc;

use common::part_of_the_data;
use hmcvi::config::{RunSpec, preset};
use hmcvi::data::Dataset;
use hmcvi::device::Device;
use hmcvi::train::Trainer;
use hmcvi_graph::Store;

/// Four standard errors of a mean over 500 draws of `Σ ½(χ² - 1)`, the momenta of three steps in 20 dimensions.
const LIMIT: f64 = 1.0;

fn data() -> Arc<Dataset> {
    part_of_the_data(200, 100)
}

fn spec(name: &str) -> RunSpec {
    let mut spec = preset(name).expect("a preset");
    (spec.model.hidden, spec.train.batch, spec.train.epochs) = (vec![12], 50, 4);
    spec.data.evaluation_draws = 5;
    spec
}

fn begin(spec: &RunSpec, init: Option<&Store<f32>>) -> Trainer {
    Trainer::new(spec, data(), &Device::cpu(1), init).expect("it begins")
}

/// The mean bound of validation images after one epoch in which next to nothing is learnt.
fn first_bound(spec: &RunSpec, init: Option<&Store<f32>>) -> f64 {
    let mut spec = spec.clone();
    (spec.train.learning_rate.first, spec.train.learning_rate.last) = (1e-12, 1e-12);
    let epoch = begin(&spec, init).epoch(&mut ()).expect("it trains").expect("nobody stops it");
    epoch.validation.expect("every epoch looks at them")["bound"]
}

#[test]
fn a_chain_begins_with_the_bound_of_its_encoder() {
    let basic = spec("basic-20d");
    let mut trainer = begin(&basic, None);
    for _ in 0..4 {
        trainer.epoch(&mut ()).expect("it trains").expect("nobody stops it");
    }
    let store = trainer.store().expect("it is there");
    let alone = first_bound(&basic, Some(&store));
    for name in ["hmcvi-11", "hmcvi-13", "hmcvi-15", "hmcvi-16"] {
        let bound = first_bound(&spec(name), Some(&store));
        // Energies are conserved but for errors of the simulation.
        assert!((bound - alone).abs() < LIMIT, "{name}: {bound}, the encoder alone {alone}");
    }
    // What remains of momenta costs something until reverse models know it.
    for name in ["hmcvi-14", "hmcvi-17"] {
        let bound = first_bound(&spec(name), Some(&store));
        assert!((bound - (alone - 0.575)).abs() < LIMIT, "{name}: {bound}, the encoder alone {alone}");
    }
}

#[test]
fn a_step_size_is_held_for_as_long_as_was_asked() {
    let mut held = spec("hmcvi-13");
    held.train.hold_step_size = 2;
    let mut trainer = begin(&held, None);
    let value = |trainer: &Trainer, name: &str| {
        trainer.store().expect("it is there").get(name).expect("a chain has it").values[0]
    };
    let (step, mass) = (value(&trainer, "log_step_size"), value(&trainer, "log_mass"));
    let first = trainer.first_step_size().expect("a chain has one").ln() as f32;
    assert_eq!(step, first);
    for _ in 0..2 {
        trainer.epoch(&mut ()).expect("it trains").expect("nobody stops it");
        assert_eq!(value(&trainer, "log_step_size"), first);
    }
    assert_ne!(value(&trainer, "log_mass"), mass);
    // Adam has known its gradients all the while: the first step is no larger than others.
    trainer.epoch(&mut ()).expect("it trains").expect("nobody stops it");
    let moved = (value(&trainer, "log_step_size") - first).abs();
    let updates = 4.0;
    assert!(moved > 0.0 && moved < 2.0 * updates * held.train.learning_rate.first as f32, "{moved}");
}
