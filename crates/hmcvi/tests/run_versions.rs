//! Guard that run directories, checkpoints and journals of every version are read or refused as they promise, and that
//! nothing of a later version is replaced. Fixtures were written by the versions that they are named for.

use std::path::{Path, PathBuf};

use hmcvi::config::preset;
use hmcvi::run::{Checkpoint, DirectoryError, Journal, RunDirectory, load_initial};
use hmcvi_record::{CHECKPOINT_SCHEMA, CheckpointInfo, ReadError, RunInfo, SCHEMA, Versioned, files};
use serde_json::json;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../hmcvi-record/tests/fixtures").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(fixture(name)).expect("a fixture")
}

fn new_run(folder: &Path) -> RunDirectory {
    let (spec, info) =
        (preset("basic-2d").expect("a preset"), RunInfo { schema: SCHEMA, ..RunInfo::default() });
    RunDirectory::create(folder, &spec, &info, false).expect("an empty folder").0
}

fn is_newer(error: &DirectoryError, file: &Path) -> bool {
    let said = error.to_string();
    let named = said.starts_with("schema 9 of") && said.contains(&file.display().to_string());
    matches!(error, DirectoryError::Record(ReadError::Newer { .. }))
        && named
        && said.ends_with("update hmcvi")
}

#[test]
fn directories_with_a_record_of_a_later_version_are_refused_as_a_whole() {
    let fixtures = [
        (files::INFO, "run-1.json"),
        (files::INFO, "run-1-first.json"),
        (files::SUMMARY, "summary-1.json"),
        (files::SUMMARY, "summary-1-first.json"),
        (files::EVALUATION, "evaluation-2.json"),
        (files::EVALUATION, "evaluation-1.json"),
    ];
    for (name, from) in fixtures {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = new_run(folder.path()).file(name);
        let old = text(from);
        std::fs::write(&file, &old).expect("written");
        let run = RunDirectory::open(folder.path()).unwrap_or_else(|e| panic!("{from}: {e}"));
        assert!(run.info().is_ok());
        if name == files::SUMMARY {
            assert_eq!(run.summary().map(|s| s.epochs).expect(from), 1);
        }
        if name == files::EVALUATION {
            // An evaluation that is too old can be made again, so the run is opened.
            let refused = matches!(run.evaluation(), Err(DirectoryError::Record(ReadError::Older { .. })));
            assert_eq!(refused, from == "evaluation-1.json");
        }
        let known = old.lines().nth(1).expect("the version").to_owned();
        std::fs::write(&file, old.replacen(&known, "  \"schema\": 9,", 1)).expect("written");
        let error = RunDirectory::open(folder.path()).expect_err(from);
        assert!(is_newer(&error, &file), "{from}: {error}");
    }
}

#[test]
fn epochs_of_the_first_version_are_read() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = new_run(folder.path());
    std::fs::write(run.file(files::METRICS), text("metrics-first.jsonl")).expect("written");
    let epochs = run.epochs().expect("readable");
    assert_eq!((epochs.len(), epochs[0].step, epochs[0].images), (1, 5, 0));
}

#[test]
fn checkpoints_of_every_version_are_read_or_refused() {
    for version in 1..=CHECKPOINT_SCHEMA {
        let file = fixture(&format!("checkpoint-{version}.safetensors"));
        let known = CheckpointInfo::SCHEMAS.contains(&version);
        match (Checkpoint::read(&file), load_initial(&file)) {
            (Ok(checkpoint), Ok(initial)) => {
                assert!(known);
                assert_eq!((checkpoint.info.epoch, checkpoint.info.step), (1, 5));
                let weights = |store: &hmcvi_graph::Store<f32>| store.get("encoder.0.weight").cloned();
                assert_eq!(weights(&initial), weights(&checkpoint.store));
            }
            (
                Err(DirectoryError::Record(ReadError::Older { found, .. })),
                Err(DirectoryError::Record(ReadError::Older { .. })),
            ) => assert!(!known && found == u64::from(version)),
            other => panic!("version {version}: {other:?}"),
        }
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("newer.safetensors");
    let bytes = std::fs::read(fixture("checkpoint-3.safetensors")).expect("a fixture");
    let name = br#"schema\":"#;
    let at = bytes.windows(name.len()).position(|w| w == name).expect("a version") + name.len();
    let newer = [&bytes[..at], b"9", &bytes[at + 1..]].concat();
    std::fs::write(&file, newer).expect("written");
    for error in [Checkpoint::read(&file).err(), load_initial(&file).err()] {
        let error = error.expect("a later version");
        assert!(is_newer(&error, &file), "{error}");
    }
}

#[test]
fn journals_of_a_later_version_are_refused_and_stay() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("parts.jsonl");
    let of = json!({"samples": 5});
    // The first ones had no version.
    let parts = "{\"part\":\"a\",\"value\":[1.5]}\n";
    for head in [json!({"of": of}), json!({"schema": 1, "of": of})] {
        std::fs::write(&path, format!("{head}\n{parts}")).expect("written");
        assert_eq!(Journal::open(&path, &of).expect("a journal").recall("a"), Some(&json!([1.5])), "{head}");
    }
    let written = std::fs::read_to_string(&path).expect("readable");
    assert!(written.contains("\"schema\":1"), "{written}");
    let newer = format!("{}\n{parts}", json!({"schema": 9, "of": 3}));
    std::fs::write(&path, &newer).expect("written");
    let error = Journal::open(&path, &of).expect_err("a later version");
    assert!(is_newer(&error, &path), "{error}");
    assert_eq!(std::fs::read_to_string(&path).expect("readable"), newer);
}
