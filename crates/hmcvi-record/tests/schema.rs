//! Guard that records of every version are read or refused as they promise, by files that those versions wrote.
#![allow(clippy::unwrap_used)]

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use hmcvi_record::{
    Comparison, Evaluation, ReadError, Report, RunInfo, Summary, Versioned, read, refuse_newer,
};
use serde::Serialize;
use serde_json::{Value, json};

fn fixture(name: &str) -> (PathBuf, String) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    let text = read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    (file, text)
}

/// Reads the files of all versions of a record: those that it promises to read stay what they are when they are written
/// and read again, others are refused. A new version needs a new file.
fn every_version<T: Versioned + Serialize + PartialEq + std::fmt::Debug>(name: &str) {
    for version in 1..=*T::SCHEMAS.end() {
        let (file, text) = fixture(&format!("{name}-{version}.json"));
        match read::<T>(&file, &text) {
            Ok(record) => {
                assert!(T::SCHEMAS.contains(&version), "{}", file.display());
                let again = serde_json::to_string(&record).unwrap();
                assert_eq!(read::<T>(&file, &again).unwrap(), record, "{}", file.display());
            }
            Err(ReadError::Older { found, .. }) => {
                assert_eq!(found, u64::from(version));
                assert!(version < *T::SCHEMAS.start(), "{}", file.display());
            }
            Err(other) => panic!("{other}"),
        }
    }
    refuses_others::<T>(name);
}

/// Refuses other versions whatever else the file holds.
fn refuses_others<T: Versioned>(name: &str) {
    let file = Path::new("somewhere").join(name);
    let refused = |value: Value| match read::<T>(&file, &value.to_string()) {
        Ok(_) => panic!("{value} was read"),
        Err(error) => error,
    };
    let newest = u64::from(*T::SCHEMAS.end());
    // Fields that are missing, or of another type, are no reason to speak of them.
    for value in [json!({"schema": newest + 1}), json!({"schema": 1u64 << 40, "seconds": [], "runs": 3})] {
        let error = refused(value.clone());
        assert!(matches!(error, ReadError::Newer { .. }), "{error}");
        let said = error.to_string();
        let expected =
            format!("schema {} of {} is newer than this program reads", value["schema"], file.display());
        assert!(said.starts_with(&expected) && said.ends_with("; update hmcvi"), "{said}");
        assert!(refuse_newer::<T>(&file, &value.to_string()).is_err());
    }
    let older = refused(json!({"schema": T::SCHEMAS.start() - 1}));
    assert!(matches!(older, ReadError::Older { .. }) && older.to_string().contains(T::IF_OLDER), "{older}");
    for value in [json!({}), json!([]), json!({"schema": "1"}), json!({"schema": 1.5}), json!({"schema": -1})]
    {
        let error = refused(value.clone());
        assert!(matches!(error, ReadError::Unnumbered { .. }), "{value}: {error}");
        assert!(refuse_newer::<T>(&file, &value.to_string()).is_ok(), "{value}");
    }
    for text in ["", "{\"schema\": 1", "{\"schema\": 1}"] {
        let text = text.replace('1', &newest.to_string());
        let error = read::<T>(&file, &text).err().unwrap();
        assert!(matches!(error, ReadError::Content { .. }), "{text}: {error}");
    }
}

#[test]
fn descriptions_of_runs() {
    every_version::<RunInfo>("run");
}

#[test]
fn outcomes() {
    every_version::<Summary>("summary");
}

#[test]
fn evaluations() {
    every_version::<Evaluation>("evaluation");
}

#[test]
fn reports() {
    every_version::<Report>("report");
}

#[test]
fn comparisons() {
    every_version::<Comparison>("comparison");
}

/// Fields that came later without a new version have the defaults that their documentation names.
#[test]
fn the_first_files_of_a_version_are_read_as_well() {
    let (file, text) = fixture("evaluation-2-first.json");
    let evaluation: Evaluation = read(&file, &text).unwrap();
    let sampling = evaluation.importance_sampling.unwrap();
    assert_eq!((sampling.mean_draws, sampling.samples), (5, 20));
    assert_eq!((evaluation.reverse, evaluation.quadrature, evaluation.dimensions), (None, None, None));

    let (file, text) = fixture("report-1-first.json");
    let report: Report = read(&file, &text).unwrap();
    assert_eq!(report.runs[0].facts.settings.max_grad_norm, 0.0);
    assert_eq!(report.comparison.runs.len(), 1);
}

#[test]
fn a_single_version_is_not_shown_as_a_range() {
    let said = |text: &str| read::<Evaluation>(Path::new("e.json"), text).err().unwrap().to_string();
    assert_eq!(
        said(r#"{"schema":7}"#),
        "schema 7 of e.json is newer than this program reads (2); update hmcvi"
    );
    let known = hmcvi_record::Schemas(1..=2);
    assert_eq!(known.to_string(), "1 to 2");
}
