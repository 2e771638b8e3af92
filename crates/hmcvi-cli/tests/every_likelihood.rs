//! Guard that every likelihood goes through the whole program: training, every estimate of an evaluation, samples and a
//! report with pictures.

mod common;

use std::fs;

use common::Sandbox;
use hmcvi::model::likelihood::LikelihoodKind;
use serde_json::Value;

const ROWS: usize = 140;
const COLUMNS: usize = 6;

/// A table whose values the likelihood allows.
fn table(kind: LikelihoodKind) -> String {
    let value = |row: usize, column: usize| -> String {
        let (group, wave) = (row % 2, (row * 13 + column * 7) % 5);
        match kind {
            LikelihoodKind::Bernoulli => ((group * column + wave) % 2).to_string(),
            LikelihoodKind::Gaussian => format!("{}", group as f64 - 0.3 * (wave * column) as f64),
            // Every column is a variable of three classes.
            LikelihoodKind::Categorical => ((group + wave) % 3).to_string(),
            _ => (group * column + wave).to_string(),
        }
    };
    let names: Vec<String> = (0..COLUMNS).map(|column| format!("c{column}")).collect();
    let rows =
        (0..ROWS).map(|row| (0..COLUMNS).map(|column| value(row, column)).collect::<Vec<_>>().join(","));
    std::iter::once(names.join(",")).chain(rows).map(|line| line + "\n").collect()
}

#[track_caller]
fn goes_through(kind: LikelihoodKind) {
    let sandbox = Sandbox::new();
    let name = kind.name();
    fs::write(sandbox.path().join("table.csv"), table(kind)).expect("written");
    let chosen = match kind {
        LikelihoodKind::Categorical => "data.kind=class".to_owned(),
        _ => format!("model.likelihood={name}"),
    };
    let mut training = vec!["train", "hmcvi-1", "--data", "table.csv", "--out", "run", "--set", &chosen];
    training.extend(["model.hidden=[8]", "model.latent=2", "train.batch=50", "train.epochs=3"]);
    sandbox.succeed(&training);
    let mut evaluation = vec!["eval", "run", "--limit", "10", "--draws", "1", "--samples", "200", "--json"];
    evaluation.extend(["--ais", "10", "--bdmc", "20", "--temperatures", "100"]);
    let found: Value = serde_json::from_str(&sandbox.succeed(&evaluation)).expect("JSON");
    let number = |path: &str| found.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let difference = number("/annealing/above_importance_sampling/mean");
    let error = number("/annealing/above_importance_sampling/standard_error");
    assert!(difference.abs() < 4.0 * error + 0.05, "{name}: annealing is {difference} ± {error} off");
    let (gap, error) = (number("/bidirectional/gap/mean"), number("/bidirectional/gap/standard_error"));
    assert!(gap > -4.0 * error - 0.05 && gap < 1.0, "{name}: the gap is {gap} ± {error}");
    sandbox.succeed(&["sample", "run", "--count", "5", "--out", "drawn.png"]);
    sandbox.succeed(&["report", "run", "--out", "report.html"]);
    let page = fs::read_to_string(sandbox.path().join("report.html")).expect("a page");
    for picture in ["Reconstructions", "Samples", "Latent map"] {
        assert!(page.contains(picture), "{name}: no {picture}");
    }
}

#[test]
fn every_likelihood_is_trained_evaluated_sampled_and_reported() {
    LikelihoodKind::ALL.iter().for_each(|kind| goes_through(*kind));
}
