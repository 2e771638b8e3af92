//! Keep the figure of the recorded comparison of families as it is, and that of the documents with it.

use std::path::Path;

use hmcvi_record::{Estimate, Likelihoods, ReachedAt};
use hmcvi_report::figure;
use serde::Deserialize;

/// What is drawn of a row of `results/families.json`.
#[derive(Deserialize)]
struct Row {
    name: String,
    state: String,
    epochs: u64,
    seconds: f64,
    bound: Option<Estimate>,
    log_likelihood: Option<Estimate>,
    annealed: Option<Estimate>,
}

#[derive(Deserialize)]
struct Comparison {
    split: String,
    rows: Vec<Row>,
}

fn recorded() -> Likelihoods {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/families.json");
    let text = std::fs::read_to_string(file).expect("the record is there");
    let Comparison { split, rows } = serde_json::from_str(&text).expect("a record");
    let mut all = Likelihoods::new(split);
    for row in rows.into_iter().filter(|row| row.state == "evaluated") {
        let Row { name, epochs, seconds, bound, log_likelihood, annealed, .. } = row;
        all.add(&name, ReachedAt { epochs, seconds, bound, log_likelihood, annealed, exact: None });
    }
    all
}

#[test]
fn the_figure_of_the_recorded_comparison_is_what_it_was() {
    let all = recorded();
    assert!(all.rows.len() >= 12 && all.estimate().0 == "annealing");
    let scene = figure::likelihoods(&all).expect("there are points");
    let (found, folder) = (scene.to_svg(), Path::new(env!("CARGO_MANIFEST_DIR")));
    let file = folder.join("tests/snapshots/families.svg");
    if std::env::var_os("HMCVI_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&file, &found).expect("a writable folder");
        let png = scene.to_png().expect("it can be painted");
        std::fs::write(folder.join("../../docs/figures/10-families.png"), png).expect("a writable folder");
    }
    let known = std::fs::read_to_string(file).expect("the snapshot is there");
    assert!(found == known, "if this is meant, run the test with HMCVI_UPDATE_SNAPSHOTS=1");
    for row in &all.rows {
        assert!(found.contains(&format!(">{}</text>", row.name)), "{} is not in the figure", row.name);
    }
}
