//! Guard evaluations: what was computed once stays until something better replaces it.

mod common;

use common::{Sandbox, train};
use serde_json::Value;

fn evaluate(sandbox: &Sandbox, flags: &[&str]) -> Value {
    let arguments = [&["eval", "run", "--samples", "20", "--draws", "1", "--json"], flags].concat();
    serde_json::from_str(&sandbox.succeed(&arguments)).expect("JSON")
}

fn stored(sandbox: &Sandbox, name: &str) -> Value {
    let text = std::fs::read_to_string(sandbox.path().join("run").join(name)).expect("it is there");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_new_evaluation_keeps_the_parts_that_still_hold() {
    let sandbox = Sandbox::new();
    train(&sandbox, "hmcvi-4", "run", 1);
    let annealed = evaluate(&sandbox, &["--ais", "2", "--temperatures", "20", "--chains", "4"]);
    assert!(annealed["annealing"].is_object(), "{annealed}");

    let integrated = evaluate(&sandbox, &["--quadrature", "0.1"]);
    assert_eq!(integrated["annealing"], annealed["annealing"], "annealing is gone");
    assert!(integrated["quadrature"].is_object());
    assert_eq!(integrated["kept_from"][0], annealed["command"]);
    assert_eq!(stored(&sandbox, "evaluation.json"), integrated);
    assert!(!sandbox.path().join("run/evaluation.previous.json").exists(), "nothing was replaced");

    // Fewer images are something else: the larger evaluation is put aside, and stays there.
    let few = evaluate(&sandbox, &["--limit", "5"]);
    assert!(few["annealing"].is_null() && few["images"] == 5, "{few}");
    evaluate(&sandbox, &["--limit", "5", "--iwae", "3"]);
    assert_eq!(stored(&sandbox, "evaluation.previous.json"), integrated);

    // Back on all images, everything is there again, values of images too.
    let again = evaluate(&sandbox, &[]);
    assert_eq!(again["annealing"], annealed["annealing"]);
    assert_eq!(again["quadrature"], integrated["quadrature"]);
    let lines = std::fs::read_to_string(sandbox.path().join("run/evaluation-images.jsonl")).expect("written");
    let first: Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    assert!(
        ["bound", "log_likelihood", "exact", "annealed"].iter().all(|key| first[key].is_number()),
        "{first}"
    );
}

#[test]
fn parts_of_another_checkpoint_are_not_kept() {
    let sandbox = Sandbox::new();
    train(&sandbox, "basic-2d", "run", 1);
    evaluate(&sandbox, &["--checkpoint", "last", "--iwae", "3"]);
    sandbox.succeed(&["resume", "run", "--set", "train.epochs=2"]);
    let later = evaluate(&sandbox, &["--checkpoint", "last"]);
    assert!(later["encoder_bound"].is_null() && later["epoch"] == 2, "{later}");
    assert!(stored(&sandbox, "evaluation.previous.json")["encoder_bound"].is_object());
}

/// A model of images that are all the same has nothing to encode; it is evaluated on a few of them with a few samples.
#[test]
fn a_collapsed_model_is_never_called_good() {
    let sandbox = Sandbox::new();
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (100, 4, 4), }";
    let mut data = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    data.extend(format!("{header:<117}\n").bytes());
    data.extend((0..1600).map(|i| (i % 16 * 17) as u8));
    std::fs::write(sandbox.path().join("same.npy"), data).expect("written");
    let mut arguments = vec!["train", "basic-2d", "--out", "run", "--data", "same.npy", "--set"];
    arguments.extend(["train.epochs=1", "model.hidden=[4]", "train.batch=50", "data.binarisation=threshold"]);
    sandbox.succeed(&arguments);
    sandbox.succeed(&["eval", "run", "--limit", "10", "--samples", "10", "--draws", "1"]);
    let output = sandbox.run(&["diagnose", "run", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let level = |about: &str| {
        let all = found["findings"].as_array().expect("findings");
        let of = all.iter().find(|f| f["about"] == about).unwrap_or_else(|| panic!("{about}: {found}"));
        of["level"].as_str().expect("a word").to_string()
    };
    assert_eq!(["dimensions", "images", "samples"].map(level), ["problem"; 3]);
    assert_eq!(["k-hat", "importance-sampling"].map(level), ["unchecked"; 2]);
    sandbox.succeed(&["report", "run"]);
    let verdict = stored(&sandbox, "report.json")["verdict"].to_string();
    assert!(verdict.contains("not to be relied on"), "{verdict}");
}
