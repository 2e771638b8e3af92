//! Guard that a run directory of an earlier version opens, resumes, evaluates and reports, to the numbers of that version.
//!
//! The program wrote `fixtures/before-tables` before models, families and tables had their own types (commit 5aeae32):
//! `hmcvi train hmcvi-8 --set data.limit=100 model.hidden=[2] train.batch=50 train.epochs=2 eval.importance_samples=50`.
//! The third epoch and the evaluation expected here are its own, too.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::Sandbox;
use serde_json::Value;

/// Products in single precision depend on the processor in their last digits.
const ROUNDING: f64 = 2e-3;

/// A copy of the old run in a folder of its own.
fn copied() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let run = sandbox.path().join("run");
    fs::create_dir(&run).expect("a new folder");
    for entry in fs::read_dir(fixture()).expect("the fixture is there") {
        let entry = entry.expect("readable");
        fs::copy(entry.path(), run.join(entry.file_name())).expect("copied");
    }
    (sandbox, run)
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/before-tables")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[track_caller]
fn assert_near(what: &str, found: &Value, expected: f64) {
    let found = found.as_f64().unwrap_or(f64::NAN);
    assert!((found - expected).abs() <= ROUNDING, "{what}: {found}, not {expected}");
}

#[test]
fn training_goes_on_as_it_would_have() {
    let (sandbox, run) = copied();
    sandbox.succeed(&["resume", "run", "--set", "train.epochs=3"]);
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).expect("metrics");
    assert_eq!(metrics.lines().count(), 3, "{metrics}");
    let expected =
        json(&fs::read_to_string(fixture().join("third-epoch.json")).expect("the fixture is there"));
    let found = json(metrics.lines().last().expect("three lines"));
    assert_eq!((&found["epoch"], &found["step"]), (&expected["epoch"], &expected["step"]));
    for part in ["train", "validation"] {
        let means = expected[part].as_object().expect("means by name");
        assert!(means.len() >= 9, "{means:?}");
        for (name, mean) in means {
            assert_near(&format!("{part}: {name}"), &found[part][name], mean.as_f64().expect("a number"));
        }
    }
}

#[test]
fn evaluations_find_what_they_found() {
    let (sandbox, run) = copied();
    let arguments = ["eval", "run", "--limit", "20", "--ais", "4", "--temperatures", "20"];
    sandbox.succeed(&arguments);
    let found = json(&fs::read_to_string(run.join("evaluation.json")).expect("an evaluation"));
    assert_near("bound", &found["bound"]["mean"], -544.95186);
    assert_near("importance sampling", &found["importance_sampling"]["log_likelihood"]["mean"], -544.40823);
    assert_near("annealing", &found["annealing"]["log_likelihood"]["mean"], -544.05576);
    assert_near("reverse momentum", &found["terms"]["reverse_momentum"], -5.77678);
    sandbox.succeed(&["report", "run"]);
    sandbox.succeed(&["encode", "run", "--limit", "10", "--out", "codes"]);
}
