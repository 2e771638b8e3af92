//! Check that averages of parameters are what their names say, that validation sees them, and that a training that goes on
//! keeps them.

mod common;

use std::sync::Arc;

use common::part_of_the_data;
use hmcvi::config::{RunSpec, preset};
use hmcvi::data::Dataset;
use hmcvi::device::Device;
use hmcvi::train::{Trainer, averaged};
use hmcvi_graph::Store;

fn data() -> Arc<Dataset> {
    part_of_the_data(200, 50)
}

fn spec(average: f64) -> RunSpec {
    let mut spec = preset("hmcvi-5").expect("a preset");
    (spec.model.hidden, spec.train.batch, spec.train.epochs) = (vec![12], 50, 4);
    (spec.data.evaluation_draws, spec.train.average) = (1, average);
    spec
}

fn begin(spec: &RunSpec) -> Trainer {
    Trainer::new(spec, data(), &Device::cpu(1), None).expect("it begins")
}

fn epoch(trainer: &mut Trainer) -> hmcvi_record::Epoch {
    trainer.epoch(&mut ()).expect("it trains").expect("nobody stops it")
}

/// Names of what is trained.
fn trained(store: &Store<f32>) -> Vec<String> {
    let is_trained = |name: &str| !name.starts_with("adam.") && !name.starts_with("average.");
    store.iter().map(|(name, _)| name.to_owned()).filter(|name| is_trained(name)).collect()
}

#[test]
fn the_average_of_all_epochs_is_their_mean() {
    let mut trainer = begin(&spec(1.0));
    let stores: Vec<Store<f32>> = (0..4)
        .map(|_| {
            epoch(&mut trainer);
            trainer.finished_store().expect("it is there")
        })
        .collect();
    let last = &stores[3];
    assert!(trained(last).len() > 10);
    for name in trained(last) {
        let values = |store: &Store<f32>, name: &str| store.get(name).expect("a tensor").values.clone();
        let found = values(last, &format!("average.{name}"));
        for (i, found) in found.iter().enumerate() {
            let mean = stores.iter().map(|s| values(s, &name)[i]).sum::<f32>() / 4.0;
            assert!((found - mean).abs() <= 1e-6 * (1.0 + mean.abs()), "{name}[{i}]: {found} and {mean}");
        }
        assert_ne!(found, values(last, &name), "{name} did not move");
    }
}

#[test]
fn looks_at_validation_images_see_the_averages() {
    let mut trainer = begin(&spec(0.5));
    let looks: Vec<f64> =
        (0..3).map(|_| epoch(&mut trainer).validation.expect("every epoch looks")["bound"]).collect();
    let bound = |store: Store<f32>| {
        let done = ((3, 12, 0.0), None);
        let mut other =
            Trainer::resume(&spec(0.0), data(), &Device::cpu(1), store, done).expect("it goes on");
        other.validate().expect("it looks")["bound"]
    };
    let store = trainer.store().expect("it is there");
    assert_eq!(bound(averaged(&store)), looks[2]);
    // A training without averages goes on with them as its parameters.
    assert_eq!(bound(store.clone()), looks[2]);
    let mut parameters = Store::new();
    for (name, t) in store.iter().filter(|(name, _)| !name.starts_with("average.")) {
        parameters.insert(name, t.rows, t.cols, t.values.clone()).expect("the sizes agree");
    }
    assert_ne!(bound(parameters), looks[2]);
}

#[test]
fn averages_change_no_update_and_outlive_an_interruption() {
    let (mut with, mut without) = (begin(&spec(0.3)), begin(&spec(0.0)));
    for _ in 0..2 {
        assert_eq!(epoch(&mut with).train, epoch(&mut without).train);
    }
    let state = (with.epochs_done(), with.updates_done(), 0.0);
    let store = with.store().expect("it is there");
    let mut again =
        Trainer::resume(&spec(0.3), data(), &Device::cpu(1), store, (state, None)).expect("it goes on");
    assert_eq!(epoch(&mut with).train, epoch(&mut again).train);
    assert_eq!(with.store().expect("it is there"), again.store().expect("it is there"));
}

#[test]
fn a_training_that_had_no_averages_begins_them_where_it_is() {
    let mut trainer = begin(&spec(0.0));
    epoch(&mut trainer);
    let store = trainer.store().expect("it is there");
    let resumed = Trainer::resume(&spec(0.5), data(), &Device::cpu(1), store.clone(), ((1, 4, 0.0), None));
    let begun = resumed.expect("it goes on").store().expect("it is there");
    for name in trained(&store) {
        let values = |name: &str| begun.get(name).map(|t| t.values.clone());
        assert_eq!(values(&format!("average.{name}")), values(&name), "{name}");
    }
}
