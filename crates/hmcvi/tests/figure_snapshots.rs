//! Keep the data of every figure as it is: `UPDATE_SNAPSHOTS=1 cargo test --test figure_snapshots` writes it anew.
//!
//! Figures of a model are of a small one with its first parameters, so that the built-in model can be replaced.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use std::collections::BTreeMap;
use std::path::Path;

use hmcvi::Problem;
use hmcvi::config::{RunSpec, preset};
use hmcvi::data::{Dataset, PixelScale};
use hmcvi::device::Device;
use hmcvi::figure::{
    EnsembleSettings, MotionSettings, PlaneModel, binarised, energy_surface, ensemble, flow_chart,
    latent_square, motion, posteriors,
};
use hmcvi_graph::Store;
use serde::Serialize;
use serde_json::Value;

/// Arrays of more numbers are told by their length, mean and root mean square.
const SHORT: usize = 12;

/// Numbers and texts of a value by their paths.
fn sketch(path: &str, value: &Value, all: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, v)| sketch(&format!("{path}.{key}"), v, all)),
        Value::Array(items) if items.len() > SHORT => {
            let mut flat = Vec::new();
            numbers(value, &mut flat);
            let n = flat.len().max(1) as f64;
            let mean = flat.iter().sum::<f64>() / n;
            let square = flat.iter().map(|v| v * v).sum::<f64>() / n;
            all.insert(format!("{path}.len"), items.len().into());
            all.insert(format!("{path}.mean"), mean.into());
            all.insert(format!("{path}.rms"), square.sqrt().into());
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, v)| sketch(&format!("{path}.{i}"), v, all))
        }
        other => {
            all.insert(path.into(), other.clone());
        }
    }
}

fn numbers(value: &Value, all: &mut Vec<f64>) {
    match value {
        Value::Object(map) => map.values().for_each(|v| numbers(v, all)),
        Value::Array(items) => items.iter().for_each(|v| numbers(v, all)),
        other => all.extend(other.as_f64()),
    }
}

/// Compares a figure's data with what was kept; numbers may differ by `tolerance`, relative to their size or to 1.
fn check<T: Serialize>(name: &str, data: &T, tolerance: f64) {
    let mut found = BTreeMap::new();
    sketch("", &serde_json::to_value(data).expect("JSON"), &mut found);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.json"));
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        let text = serde_json::to_string_pretty(&found).expect("JSON") + "\n";
        std::fs::write(&file, text).expect("it can be written");
        return;
    }
    let text = std::fs::read_to_string(&file).expect("the snapshot is there");
    let kept: BTreeMap<String, Value> = serde_json::from_str(&text).expect("JSON");
    assert_eq!(kept.keys().collect::<Vec<_>>(), found.keys().collect::<Vec<_>>(), "{name}");
    for (path, kept) in &kept {
        let found = &found[path];
        match (kept.as_f64(), found.as_f64()) {
            (Some(a), Some(b)) => {
                assert!((a - b).abs() <= tolerance * a.abs().max(1.0), "{name}{path}: {b}, but was {a}");
            }
            _ => assert_eq!(kept, found, "{name}{path}"),
        }
    }
}

#[test]
fn figures_of_landscapes_are_as_they_were() {
    check("motion-one-step", &motion(&MotionSettings::default()).expect("it runs"), 1e-9);
    let three = MotionSettings { hmc_steps: 3, leapfrog_steps: 4, ..MotionSettings::default() };
    check("motion-three-steps", &motion(&three).expect("it runs"), 1e-9);
    check("ensemble", &ensemble(&EnsembleSettings::default()).expect("it runs"), 1e-9);
    check("flow-chart", &flow_chart(), 0.0);
    let data = Dataset::embedded().expect("embedded");
    check("binarisation", &binarised(data.test(), 11, PixelScale::P256, 1).expect("an image"), 1e-6);
}

/// A small model with its first parameters.
fn small() -> (RunSpec, Store<f32>) {
    let mut spec = preset("hmcvi-8").expect("a preset");
    spec.model.hidden = vec![16, 16];
    let mut store = Problem::of_run(&spec, 784).initial_values(1);
    store.get_mut("log_step_size").expect("the chain has a step size").values.fill(-3.0);
    (spec, store)
}

#[test]
fn figures_of_a_model_are_as_they_were() {
    let (data, device) = (Dataset::embedded().expect("embedded"), Device::cpu(2));
    let (spec, store) = small();
    let plane = PlaneModel::new(&spec, data.test(), &store, &device).expect("a plane");
    // Products in f32 depend on the processor in their last digits.
    check("energy-surface", &energy_surface(&plane, data.test(), 11, 1).expect("it runs"), 2e-3);
    check("latent-map", &latent_square(&plane, data.train(), 200, 1).expect("it runs"), 2e-3);
    check("posteriors", &posteriors(&plane, data.test(), 11, 1000, 1).expect("it runs"), 5e-3);
}
