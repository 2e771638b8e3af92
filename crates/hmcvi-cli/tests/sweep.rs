//! Guard sweeps: rows in parts, in order, resumed, and told apart from those with other settings.

mod common;

use std::fs;
use std::path::Path;

use common::Sandbox;
use serde_json::Value;

/// A plain model and two chains that begin with it, for two seeds.
const FILE: &str = r#"
[set]
data.limit = 60
model.hidden = [8, 8]
train.epochs = 2
train.batch = 30
eval.importance_samples = 20

[grid]
seed = [1, 2]

[[rows]]
name = "plain"
base = "basic-2d"

[[rows]]
name = "hmc"
base = "hmcvi-4"
after = "plain"
chain.leapfrog_steps = 2
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path().join("chains.toml"), FILE).expect("written");
    sandbox
}

fn sweep(sandbox: &Sandbox, more: &[&str]) -> Value {
    let text = sandbox.succeed(&[&["sweep", "chains.toml", "--data", "embedded", "--json"], more].concat());
    serde_json::from_str(&text).expect("JSON")
}

fn states(records: &Value) -> Vec<(&str, &str)> {
    let rows = records["rows"].as_array().expect("rows");
    rows.iter().map(|r| (r["name"].as_str().unwrap_or(""), r["state"].as_str().unwrap_or(""))).collect()
}

#[test]
fn parts_make_one_table_and_one_page() {
    let sandbox = sandbox();
    let file = |name: &str| sandbox.path().join("runs/chains").join(name);
    let missing = sweep(&sandbox, &["--status"]);
    assert!(states(&missing).iter().all(|(_, state)| *state == "missing"), "{missing}");
    assert!(!file("").exists(), "asking changes nothing");

    // Of four parts, each has one row, and the rows with a chain train the models that they begin with.
    let mut seen = Vec::new();
    for part in ["1/4", "2/4"] {
        let records = sweep(&sandbox, &["--part", part]);
        let done = states(&records).into_iter().filter(|(_, state)| *state == "evaluated");
        seen.push(done.map(|(name, _)| name.to_owned()).collect::<Vec<_>>());
    }
    assert_eq!(seen, [vec!["hmc,seed=1"], vec!["hmc,seed=1", "hmc,seed=2"]], "the longest rows come first");
    let status = sweep(&sandbox, &["--status"]);
    let trained = [("plain,seed=1", "trained"), ("plain,seed=2", "trained")];
    assert_eq!(states(&status)[..2], trained, "they have what their rows need, and no more");
    assert!(!file("report.html").exists());

    let records = sweep(&sandbox, &[]);
    assert!(states(&records).iter().all(|(_, state)| *state == "evaluated"), "{records}");
    for row in records["rows"].as_array().expect("rows") {
        for value in ["bound", "log_likelihood"] {
            let [mean, error] =
                ["mean", "standard_error"].map(|key| row[value][key].as_f64().unwrap_or(f64::NAN));
            assert!(mean < 0.0 && error > 0.0, "{row}");
        }
        assert_eq!((&row["epochs"], row["settings"]["seed"].as_u64().is_some()), (&2.into(), true));
    }
    assert_eq!(records["split"], "validation");
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(file("sweep.json")).expect("written")).expect("JSON");
    assert_eq!(kept, records);
    let config = fs::read_to_string(file("hmc,seed=2/config.toml")).expect("written");
    assert!(config.contains("runs/chains/plain,seed=2") && config.contains("leapfrog_steps = 2"), "{config}");
    let page = fs::read_to_string(file("report.html")).expect("written");
    assert!(page.contains("plain,seed=1") && page.contains("hmc,seed=2"));

    // Done is done: neither runs nor the page are touched, and the table is the same.
    let text = sandbox.succeed(&["sweep", "chains.toml", "--data", "embedded", "--status"]);
    assert!(text.contains("4 of 4 rows are done, 0 running, 0 failed, 0 left"), "{text}");
    assert!(text.contains("hmcvi compare") && text.contains("validation images"), "{text}");
    let before = fs::metadata(file("report.html")).and_then(|m| m.modified()).expect("a time");
    assert_eq!(sweep(&sandbox, &[]), records);
    assert_eq!(fs::metadata(file("report.html")).and_then(|m| m.modified()).expect("a time"), before);
}

#[test]
fn runs_with_other_settings_are_left_alone_without_force() {
    let sandbox = sandbox();
    let one = |more: &[&str]| {
        let mut words = vec!["sweep", "chains.toml", "--data", "embedded", "--out", "out", "--part", "3/4"];
        words.extend(more);
        words.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let words = |more: &[&str]| one(more);
    let run = |more: &[&str]| {
        let words = words(more);
        sandbox.succeed(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let config = || fs::read_to_string(sandbox.path().join("out/plain,seed=1/config.toml")).expect("written");
    run(&[]);
    let before = config();
    let other = words(&["--set", "train.batch=20"]);
    let said = sandbox.fail(2, &other.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(said.contains("plain,seed=1") && said.contains("`train.batch` was 30"), "{said}");
    assert!(said.contains("--force"), "{said}");
    assert_eq!(config(), before);
    run(&["--set", "train.batch=20", "--force"]);
    assert!(config().contains("batch = 20"), "{}", config());
    // More epochs go on with what is there.
    run(&["--set", "train.batch=20", "train.epochs=3"]);
    let metrics = fs::read_to_string(sandbox.path().join("out/plain,seed=1/metrics.jsonl")).expect("written");
    assert_eq!(metrics.lines().count(), 3);
}

#[test]
fn failed_rows_are_told_and_tried_again() {
    let sandbox = sandbox();
    let mut file = FILE.replace("seed = [1, 2]", "seed = [1]");
    file.push_str("\n[[rows]]\nname = \"wild\"\nbase = \"hmcvi-1\"\ntrain.init_from = \"nowhere\"\n");
    fs::write(sandbox.path().join("chains.toml"), &file).expect("written");
    let words = ["sweep", "chains.toml", "--data", "embedded", "--out", "out"];
    let said = sandbox.fail(2, &words);
    assert!(said.contains("wild") && said.contains("`train.init_from` is nowhere"), "{said}");

    // A checkpoint that is none: the row fails, the others do not mind.
    fs::write(sandbox.path().join("nowhere"), "no checkpoint").expect("written");
    let said = sandbox.fail(1, &words);
    assert!(said.contains("wild"), "{said}");
    let status = || sandbox.succeed(&[&words[..], &["--status"]].concat());
    let text = status();
    assert!(text.contains("2 of 3 rows are done, 0 running, 1 failed, 0 left"), "{text}");
    let note = sandbox.path().join("out/wild,seed=1/failure.json");
    assert!(fs::read_to_string(&note).expect("written").contains("nowhere"));
    // With a model there, the same command succeeds, and the note is gone.
    fs::remove_file(sandbox.path().join("nowhere")).expect("it was there");
    fs::create_dir(sandbox.path().join("nowhere")).expect("a new folder");
    for entry in fs::read_dir(sandbox.path().join("out/plain,seed=1")).expect("a run").flatten() {
        fs::copy(entry.path(), sandbox.path().join("nowhere").join(entry.file_name())).expect("copied");
    }
    sandbox.succeed(&words);
    assert!(status().contains("3 of 3 rows are done"), "{}", status());
    assert!(!note.exists());
}

#[test]
fn parts_and_files_that_make_no_sense_are_refused() {
    let sandbox = sandbox();
    let said = sandbox.fail(2, &["sweep", "chains.toml", "--part", "5/4"]);
    assert!(said.contains("5/4") && said.contains("I/N"), "{said}");
    fs::write(sandbox.path().join("bad.toml"), "[grid]\nchain.leapfrog = [1]").expect("written");
    let said = sandbox.fail(2, &["sweep", "bad.toml", "--data", "embedded"]);
    assert!(said.contains("chain.leapfrog") && said.contains("leapfrog=1"), "{said}");
    let said = sandbox.fail(2, &["sweep", "missing.toml"]);
    assert!(said.contains("missing.toml"), "{said}");
    assert!(!sandbox.path().join("runs").exists());
}

#[test]
fn sweeps_beside_the_results_are_understood() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let file = entry.path();
        if file.extension().is_some_and(|extension| extension == "toml") {
            let sandbox = Sandbox::new();
            let file = file.display().to_string();
            let text = sandbox.succeed(&["sweep", &file, "--data", "embedded", "--status"]);
            assert!(text.contains("plain") && text.contains("0 failed"), "{file}: {text}");
            count += 1;
        }
    }
    assert_eq!(count, 4);
}
