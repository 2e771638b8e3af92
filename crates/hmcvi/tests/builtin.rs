//! Open the model inside the library, use it, and make another one in the same form.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use std::path::Path;

use hmcvi::Problem;
use hmcvi::config::{RunSpec, preset};
use hmcvi::data::Dataset;
use hmcvi::device::Device;
use hmcvi::eval::{BoundEvaluator, TEST_SEED, rows};
use hmcvi::run::{Builtin, Checkpoint, DirectoryError, RunDirectory, Which, export_model};
use hmcvi_graph::Store;
use hmcvi_record::{CheckpointInfo, RunInfo, SCHEMA};

#[test]
fn the_builtin_model_has_learnt_to_describe_digits() {
    let Builtin { spec, checkpoint, provenance } = Builtin::open().expect("it is part of the library");
    assert_eq!((spec.model.latent, spec.data.source.as_str()), (2, "embedded"));
    assert!(spec.chain.hmc_steps > 0, "figures need a chain");
    assert!(provenance.epochs > 0 && provenance.data_sha256.len() == 64);
    assert!(
        checkpoint
            .store
            .iter()
            .all(|(name, t)| !name.starts_with("adam.") && t.values.iter().all(|v| v.is_finite()))
    );
    let images = Dataset::embedded().expect("embedded").test().slice(0..100).expect("a hundred images");
    let drawn = spec.data.observation(&images).draw(&images, TEST_SEED, 0);
    let mut evaluator =
        BoundEvaluator::new(&Problem::of_run(&spec, images.columns()), &drawn.observation(), &Device::cpu(1))
            .expect("it compiles");
    let found = evaluator.run(&checkpoint.store, &drawn, &rows(100), 1, 0, |_| false).expect("it runs");
    let mean = found.bound.iter().sum::<f64>() / 100.0;
    // Independent pixels with their mean probabilities reach about -206 nats, the paper's best model of this size -129.
    assert!(mean > -165.0 && mean < -110.0, "{mean}");
}

/// A run directory with made-up parameters.
fn made_up(folder: &Path, latent: usize) -> RunDirectory {
    let mut spec: RunSpec = preset("hmcvi-4").expect("a preset");
    spec.model.latent = latent;
    spec.data.source = "/home/somebody/data/mnist".into();
    let info = RunInfo {
        schema: SCHEMA,
        version: "0.1.0".into(),
        command: ["/usr/bin/hmcvi", "train", "--data", "/home/somebody/data/mnist"].map(String::from).into(),
        started: 1,
        device: "cpu, 2 threads".into(),
        data: "/home/somebody/data/mnist".into(),
        data_sha256: "00".repeat(32),
        initial_sha256: None,
        changes: Vec::new(),
        parameters: 3,
        bytes: 1,
        first_step_size: None,
        image_shape: None,
        columns: None,
    };
    let (directory, _lock) = RunDirectory::create(folder, &spec, &info, false).expect("it can be made");
    let mut store = Store::new();
    store.insert("decoder.w", 1, 3, vec![0.1, -1.0 / 3.0, 2.5]).expect("three values");
    store.insert("adam.decoder.w.m", 1, 3, vec![1.0; 3]).expect("three values");
    let info = CheckpointInfo {
        epoch: 7,
        step: 700,
        best_validation_bound: Some(-130.5),
        ..CheckpointInfo::default()
    };
    directory.write_checkpoint(Which::Best, &Checkpoint { store, info }).expect("it can be written");
    directory
}

#[test]
fn an_exported_model_has_parameters_in_half_precision_and_no_places() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = made_up(&folder.path().join("run"), 2);
    export_model(&run, folder.path()).expect("it can be exported");
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("it was written");
    let (config, provenance) = (text("config.toml"), text("provenance.json"));
    assert!(!config.contains("somebody") && !provenance.contains("somebody"), "{config}{provenance}");
    assert!(provenance.contains("\"epochs\": 7") && provenance.contains("-130.5"), "{provenance}");
    let file = std::fs::File::open(folder.path().join("parameters.safetensors.gz")).expect("it was written");
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(file), &mut bytes).expect("it is gzip");
    let (store, _) = Store::<f32>::from_safetensors(&bytes).expect("it can be read");
    assert_eq!(store.len(), 1, "the optimiser's state stays behind");
    let values = &store.get("decoder.w").expect("the parameter").values;
    for (found, exact) in values.iter().zip([0.1, -1.0 / 3.0, 2.5f32]) {
        // Eleven bits.
        assert!((found - exact).abs() <= exact.abs() / 2048.0, "{found} for {exact}");
    }
    assert_ne!(values[1], -1.0 / 3.0, "it is rounded");
}

#[test]
fn only_planes_are_exported() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let error =
        export_model(&made_up(&folder.path().join("run"), 3), folder.path()).expect_err("three dimensions");
    assert!(
        matches!(error, DirectoryError::Content { .. }) && error.to_string().contains("`model.latent` is 3"),
        "{error}"
    );
}
