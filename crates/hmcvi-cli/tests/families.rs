//! Guard that every family goes through the whole program: training, resuming, every estimate of an evaluation, samples,
//! pictures of its latent plane and a report.

mod common;

use std::fs;

use common::Sandbox;
use serde_json::Value;

const ROWS: usize = 120;
const COLUMNS: usize = 5;

/// Two groups of rows with some noise.
fn table() -> String {
    let value =
        |row: usize, column: usize| ((row % 2) * column + (row * 13 + column * 7) % 5).rem_euclid(3).min(1);
    let line = |row| (0..COLUMNS).map(|column| value(row, column).to_string()).collect::<Vec<_>>().join(",");
    let names = (0..COLUMNS).map(|column| format!("c{column}")).collect::<Vec<_>>().join(",");
    std::iter::once(names).chain((0..ROWS).map(line)).map(|line| line + "\n").collect()
}

/// Trains, interrupts and resumes, evaluates, samples and reports a run of these settings.
#[track_caller]
fn goes_through(preset: &str, settings: &[&str], shown: &str) {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path().join("table.csv"), table()).expect("written");
    let mut training =
        vec!["train", preset, "--data", "table.csv", "--out", "run", "--quiet", "--threads", "1"];
    let small = ["model.hidden=[8]", "model.latent=2", "train.batch=40", "train.epochs=2"];
    training.extend(["--set", "model.likelihood=bernoulli"].into_iter().chain(small));
    training.extend(["train.learning_rate.kind=constant"].iter().chain(settings));
    sandbox.succeed(&training);
    sandbox.succeed(&["resume", "run", "--set", "train.epochs=4", "--quiet", "--threads", "1"]);
    let at = training.iter().position(|word| *word == "train.epochs=2").expect("it was given");
    (training[at], training[5]) = ("train.epochs=4", "whole");
    sandbox.succeed(&training);
    let bytes =
        |run: &str| fs::read(sandbox.path().join(run).join("last.safetensors")).expect("a checkpoint");
    assert!(bytes("run") == bytes("whole"), "{settings:?}: a resumed run is another one");

    let mut evaluation = vec!["eval", "run", "--limit", "10", "--draws", "1", "--samples", "200", "--json"];
    evaluation.extend(["--ais", "10", "--bdmc", "20", "--temperatures", "100", "--posterior", "2"]);
    let found: Value = serde_json::from_str(&sandbox.succeed(&evaluation)).expect("JSON");
    let number = |path: &str| found.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let (above, error) = (
        number("/annealing/above_importance_sampling/mean"),
        number("/annealing/above_importance_sampling/standard_error"),
    );
    assert!(above.abs() < 4.0 * error + 0.05, "{settings:?}: annealing is {above} ± {error} off");
    sandbox.succeed(&["sample", "run", "--count", "5", "--out", "drawn.png"]);
    sandbox.succeed(&["report", "run", "--out", "report.html"]);
    let page = fs::read_to_string(sandbox.path().join("report.html")).expect("a page");
    for text in ["Reconstructions", "Samples", "Latent map", shown] {
        assert!(page.contains(text), "{settings:?}: the report does not show {text}");
    }
}

#[test]
fn several_draws_go_through() {
    goes_through("basic-2d", &["family.draws=5"], "5 draws for each row");
    let doubly = ["family.draws=3", "family.gradient=doubly-reparameterised"];
    goes_through("hmcvi-5", &doubly, "doubly reparameterised gradient");
    goes_through("hmcvi-9", &["family.draws=2"], "simple acceptance");
}

#[test]
fn decisions_with_unbiased_gradients_go_through() {
    let score = ["family.draws=2", "chain.acceptance_gradient=score"];
    goes_through("hmcvi-9", &score, "2 draws for each row");
    let marginal = ["family.draws=2", "family.combine=mean", "chain.acceptance_gradient=marginal"];
    goes_through("hmcvi-10", &marginal, "the mean of 2 draws for each row");
}

#[test]
fn first_draws_of_all_kinds_go_through() {
    for (start, shown) in [
        ("full-covariance", "full covariance"),
        ("mixture", "4 mixed Gaussians"),
        ("planar", "4 planar flows"),
        ("coupling", "4 coupling flows"),
        ("autoregressive", "4 autoregressive flows"),
    ] {
        goes_through("basic-2d", &[&format!("family.start={start}")], shown);
    }
    goes_through("hmcvi-1", &["family.start=mixture", "family.parts=2"], "2 mixed Gaussians");
}

#[test]
fn annealed_and_tempered_chains_go_through() {
    let langevin = ["chain.leapfrog_steps=1", "chain.bridge=learnt", "chain.reverse=balance"];
    goes_through("hmcvi-4", &langevin, "bridges");
    let learnt = ["chain.bridge=network", "chain.per_step=true"];
    goes_through("hmcvi-5", &learnt, "factors for each step");
    goes_through("hmcvi-4", &["chain.reverse=flow", "chain.writing=loop"], "reverse models with a flow");
    goes_through("hmcvi-2", &["chain.tempering=true", "chain.reverse=balance"], "tempered");
}

#[test]
fn chains_with_a_shared_start_and_networks_of_their_own_go_through() {
    goes_through("hmcvi-4", &["family.draws=3", "family.shared_start=true"], "a shared start");
    goes_through("hmcvi-5", &["chain.reverse_networks=each"], "a reverse network for each step");
}

#[test]
fn families_have_presets_by_name() {
    let sandbox = Sandbox::new();
    let listed: Value =
        serde_json::from_str(&sandbox.succeed(&["presets", "--families", "--json"])).expect("JSON");
    let listed = listed.as_array().expect("a list");
    assert!(listed.len() >= 16, "{} families", listed.len());
    let text = sandbox.succeed(&["presets"]);
    for family in listed {
        for preset in family["presets"].as_array().expect("names") {
            let preset = preset.as_str().expect("a name");
            assert!(text.contains(preset), "{preset}");
            let shown = sandbox.succeed(&["config", "show", preset]);
            assert!(shown.contains(&format!("preset = \"{preset}\"")), "{shown}");
        }
    }
    goes_through("uha-20d", &[], "reverse models in balance");
    goes_through("hmc-annealed-mixture-2d", &[], "4 mixed Gaussians");
    let text = sandbox.fail(2, &["train", "UHA"]);
    assert!(text.contains("did you mean `uha-20d`"), "{text}");
}

#[test]
fn settings_of_families_that_do_not_go_together_are_refused() {
    let sandbox = Sandbox::new();
    for (preset, setting, expected) in [
        ("basic-2d", "family.draws=0", "`family.draws` is 0, but must be a whole number from 1 to 1000"),
        ("basic-2d", "family.shared_start=true", "false where `chain.hmc_steps` is 0"),
        ("basic-2d", "family.gradient=dreg", "\"plain\" or \"doubly-reparameterised\""),
        ("hmcvi-9", "chain.acceptance_gradient=score", "`family.draws` is 1, but must be at least 2"),
        ("hmcvi-9", "chain.tempering=true", "false where `chain.acceptance` is not \"none\""),
        ("basic-2d", "family.start=flow", "\"gaussian\", \"full-covariance\""),
        ("hmcvi-9", "family.gradient=doubly-reparameterised", "where `chain.acceptance` is not \"none\""),
    ] {
        let text = sandbox.fail(2, &["train", preset, "--out", "run", "--set", setting]);
        assert!(text.contains(expected), "{setting}: {text}");
    }
}

#[test]
fn all_families_are_compared_after_one_plain_model() {
    let sandbox = Sandbox::new();
    let compare = [
        "reproduce",
        "families",
        "--out",
        "families",
        "--quiet",
        "--set",
        "data.limit=40",
        "model.hidden=[4]",
        "model.latent=2",
        "train.epochs=1",
        "eval.importance_samples=20",
        "data.evaluation_draws=1",
    ];
    let table = sandbox.succeed(&compare);
    assert!(table.contains("22 of 22 rows are done"), "{table}");
    let folder = sandbox.path().join("families");
    for file in ["sweep.json", "report.html", "learning.svg", "likelihoods.svg", "likelihoods.png"] {
        assert!(folder.join(file).is_file(), "{file}");
    }
    // Nothing is left to do.
    sandbox.succeed(&compare);
    // Training goes on, and what was reached before stays in the record and the chart.
    let longer = compare.map(|word| if word == "train.epochs=1" { "train.epochs=2" } else { word });
    sandbox.succeed(&longer);
    let text = fs::read_to_string(folder.join("likelihoods.json")).expect("a record");
    let record: Value = serde_json::from_str(&text).expect("JSON");
    let rows = record["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 21);
    for row in rows {
        let epochs: Vec<_> = row["points"].as_array().expect("points").iter().map(|p| &p["epochs"]).collect();
        assert_eq!(epochs, [1, 2], "{row}");
    }
    let chart = fs::read_to_string(folder.join("likelihoods.svg")).expect("a chart");
    assert!(["hmc-doubly", "NLL [nats]", "importance sampling"].iter().all(|text| chart.contains(text)));
}

#[test]
fn times_of_a_comparison_are_stages_of_the_same_trainings() {
    let sandbox = Sandbox::new();
    let compare = |times: &'static str| {
        let words = ["reproduce", "families", "--out", "families", "--quiet", "--times", times, "--set"];
        let settings = ["data.limit=40", "model.hidden=[4]", "model.latent=2", "train.epochs=1000"];
        [&words[..], &settings, &["eval.importance_samples=20", "data.evaluation_draws=1"]].concat()
    };
    sandbox.succeed(&compare("0.02,0.04"));
    let text = fs::read_to_string(sandbox.path().join("families/likelihoods.json")).expect("a record");
    let record: Value = serde_json::from_str(&text).expect("JSON");
    for row in record["rows"].as_array().expect("rows") {
        let points = row["points"].as_array().expect("points");
        let seconds = |k: usize| points[k]["seconds"].as_f64().expect("seconds");
        // An epoch may take longer than both times.
        assert!(points.len() <= 2 && seconds(points.len() - 1) >= 0.04, "{row}");
        assert!(points.len() == 1 || seconds(0) < seconds(1), "{row}");
    }
    for (times, said) in [("0,1", "`--times` has 0"), ("1,x", "x")] {
        let text = sandbox.fail(2, &compare(times));
        assert!(text.contains(said), "{times}: {text}");
    }
}
