//! Guard the reproduction of the table: order, pieces, records.

mod common;

use common::Sandbox;

fn arguments<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments =
        vec!["reproduce", "table1", "--rows", "hmcvi-4,hmcvi-1", "--epochs", "2", "--jobs", "2"];
    arguments.extend(["--data", "embedded", "--out", "table", "--json", "--reverse", "2", "--quadrature"]);
    arguments.extend(["--set", "data.limit=60", "model.hidden=[8,8]", "eval.importance_samples=20"]);
    arguments.extend(more);
    arguments
}

#[test]
fn rows_are_trained_in_order_and_in_pieces_and_set_beside_the_paper() {
    let sandbox = Sandbox::new();
    let said = sandbox.fail(130, &arguments(&["--minutes", "0"]));
    assert!(said.contains("3 rows are left"), "the basic model belongs to the rows: {said}");
    let text = sandbox.succeed(&arguments(&[]));
    let rows: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let rows = rows.as_array().expect("rows");
    let presets: Vec<&str> = rows.iter().filter_map(|r| r["preset"].as_str()).collect();
    assert_eq!(presets, ["basic-2d", "hmcvi-1", "hmcvi-4"]);
    for row in rows {
        assert_eq!(row["state"], "evaluated", "{row}");
        let value = |name: &str| row[name]["mean"].as_f64().unwrap_or(f64::NAN);
        assert!(value("test_bound") > 0.0 && value("nll") > 0.0, "positive nats: {row}");
        // Posteriors of models that have learnt nothing are wide: importance sampling is right for them.
        let above = |name: &str| row["exact_above"][name].as_f64().unwrap_or(f64::NAN);
        assert!(above("mean").abs() < 5.0 * above("standard_error") + 1e-3, "{row}");
        let reverse = row["reverse"]["linear"]["mean"].as_f64();
        assert_eq!(reverse.is_some_and(f64::is_finite), row["preset"] != "basic-2d", "{row}");
        assert!(row["test_bound"]["se"].as_f64().is_some_and(|se| se > 0.0), "{row}");
        assert_eq!((row["epochs"].as_u64(), row["seed"].as_u64()), (Some(2), Some(1)));
    }
    // HMCVI began with the basic model.
    let config = std::fs::read_to_string(sandbox.path().join("table/hmcvi-4/config.toml")).expect("written");
    assert!(config.contains("table/basic-2d"), "{config}");
    let file = std::fs::read_to_string(sandbox.path().join("table/table1.json")).expect("written");
    let table: serde_json::Value = serde_json::from_str(&file).expect("JSON");
    assert_eq!((&table["schema"], table["rows"].as_array()), (&2.into(), Some(rows)));
    let written =
        |name: &str| std::fs::read_to_string(sandbox.path().join("table").join(name)).expect("written");
    let curves: serde_json::Value = serde_json::from_str(&written("curves.json")).expect("JSON");
    assert_eq!(
        curves["curves"]["hmcvi-4"].as_array().map(Vec::len),
        Some(1),
        "the last epoch is looked at: {curves}"
    );
    let lines = written("table1.md").lines().count();
    assert_eq!(lines, (2 + 3) + 1 + (2 + 3) + 1 + (2 + 2), "results, exact likelihoods and reverse models");
    assert!(sandbox.path().join("table/learning-curves-2d.png").is_file());
    // Done is done; more epochs go on with what is there.
    assert_eq!(sandbox.succeed(&arguments(&["--status"])), text);
    let other = sandbox.succeed(&arguments(&["train.batch=7", "--status"]));
    assert_eq!(other, text, "a record says what a run was made with");
    let mut longer = arguments(&[]);
    let epochs = longer.iter().position(|a| *a == "2").expect("epochs");
    longer[epochs] = "3";
    let rows: serde_json::Value = serde_json::from_str(&sandbox.succeed(&longer)).expect("JSON");
    assert_eq!(rows[2]["epochs"], 3, "{rows}");
    // A record outlives its run, and rows that were not asked for.
    std::fs::remove_dir_all(sandbox.path().join("table/hmcvi-4")).expect("it was there");
    let mut one = arguments(&["--status"]);
    let asked = one.iter().position(|a| *a == "hmcvi-4,hmcvi-1").expect("rows");
    one[asked] = "hmcvi-4";
    let kept: serde_json::Value = serde_json::from_str(&sandbox.succeed(&one)).expect("JSON");
    assert_eq!((&kept[1]["preset"], &kept[1]["test_bound"]), (&rows[2]["preset"], &rows[2]["test_bound"]));
    let all: serde_json::Value = serde_json::from_str(&written("table1.json")).expect("JSON");
    assert_eq!(all["rows"], rows);
    // What cannot be read is not written over.
    std::fs::write(sandbox.path().join("table/table1.json"), "[{").expect("a writable folder");
    let said = sandbox.fail(1, &one);
    assert!(said.contains("table1.json") && said.contains("move it away"), "{said}");
    assert_eq!(written("table1.json"), "[{");
}

#[test]
fn unknown_rows_are_refused() {
    let said = Sandbox::new().fail(2, &["reproduce", "table1", "--rows", "hmcvi-99"]);
    assert!(said.contains("hmcvi-99") && said.contains("hmcvi presets"), "{said}");
}

#[test]
fn other_seeds_begin_with_their_own_basic_model_and_the_best_row_is_annealed() {
    let sandbox = Sandbox::new();
    let mut arguments =
        vec!["reproduce", "table1", "--rows", "hmcvi-20", "--epochs", "1", "--data", "embedded"];
    arguments.extend(["--repeat", "1", "--ais", "2", "--reverse", "0", "--jobs", "2", "--out", "table"]);
    arguments.extend(["--set", "data.limit=40", "model.hidden=[6]", "eval.importance_samples=10"]);
    let text = sandbox.succeed(&arguments);
    assert!(text.contains("hmcvi-20, 2 seeds") && text.contains("basic-20d, 2 seeds"), "{text}");
    let record = std::fs::read_to_string(sandbox.path().join("table/table1.json")).expect("written");
    let record: serde_json::Value = serde_json::from_str(&record).expect("JSON");
    let rows = record["rows"].as_array().expect("rows");
    let named = |preset: &str, seed: u64| {
        rows.iter().find(|r| r["preset"] == preset && r["seed"] == seed).cloned().unwrap_or_default()
    };
    for (preset, seed) in [("basic-20d", 1), ("basic-20d", 2), ("hmcvi-20", 1), ("hmcvi-20", 2)] {
        assert_eq!(named(preset, seed)["state"], "evaluated", "{preset} with seed {seed}");
    }
    let again =
        std::fs::read_to_string(sandbox.path().join("table/hmcvi-20-seed-2/config.toml")).expect("written");
    assert!(again.contains("table/basic-20d-seed-2"), "{again}");
    // The basic row is annealed in any case, the other one if it is the best.
    let nll = |row: &serde_json::Value| row["nll"]["mean"].as_f64().unwrap_or(f64::NAN);
    let (basic, hmcvi) = (named("basic-20d", 1), named("hmcvi-20", 1));
    assert!(!basic["annealed_nll"].is_null() && !basic["bdmc_gap"].is_null(), "{basic}");
    assert_eq!(!hmcvi["annealed_nll"].is_null(), nll(&hmcvi) <= nll(&basic), "{hmcvi}");
    assert!(named("hmcvi-20", 2)["annealed_nll"].is_null());
}

/// Tables of every version are read, except those of versions to come, which stay as they are.
#[test]
fn earlier_tables_are_kept_and_later_ones_refused() {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../hmcvi-record/tests/fixtures");
    let old = |name: &str| std::fs::read_to_string(format!("{fixtures}/{name}")).expect("a fixture");
    let status = ["reproduce", "table1", "--rows", "basic-2d", "--status", "--json", "--out", "table"];
    for (version, bound, first) in [(1, 132.05184646568281, -143.12), (2, 130.82589134559632, -171.006)] {
        let sandbox = Sandbox::new();
        let file = |name: &str| sandbox.path().join("table").join(name);
        std::fs::create_dir(sandbox.path().join("table")).expect("a new folder");
        std::fs::write(file("table1.json"), old(&format!("table-{version}.json"))).expect("written");
        std::fs::write(file("curves.json"), old(&format!("curves-{version}.json"))).expect("written");
        let rows: serde_json::Value = serde_json::from_str(&sandbox.succeed(&status)).expect("JSON");
        assert_eq!(rows[0]["test_bound"]["mean"], bound, "{rows}");
        let written = |name: &str| std::fs::read_to_string(file(name)).expect("written");
        let curves: serde_json::Value = serde_json::from_str(&written("curves.json")).expect("JSON");
        assert_eq!(curves["curves"]["basic-2d"][0][1], first, "{curves}");

        for name in ["table1.json", "curves.json"] {
            let before = written(name);
            let newer = before.replace("\"schema\": 2", "\"schema\": 3");
            std::fs::write(file(name), &newer).expect("written");
            let said = sandbox.fail(1, &status);
            assert!(said.contains("schema 3") && said.contains("(1 to 2); update hmcvi"), "{said}");
            assert_eq!(written(name), newer);
            std::fs::write(file(name), before).expect("written");
        }
    }
}

#[test]
fn a_row_that_a_later_version_trains_is_left_to_it() {
    let sandbox = Sandbox::new();
    let run = sandbox.path().join("table/basic-2d");
    std::fs::create_dir_all(&run).expect("a new folder");
    std::fs::write(run.join("config.toml"), "later = true").expect("written");
    std::fs::write(run.join("run.json"), r#"{"schema": 9, "later": true}"#).expect("written");
    let mut arguments = vec!["reproduce", "table1", "--rows", "basic-2d", "--epochs", "1", "--out", "table"];
    arguments.extend(["--data", "embedded", "--set", "data.limit=40", "model.hidden=[6]"]);
    let said = sandbox.fail(1, &arguments);
    assert!(said.contains("schema 9 of") && said.contains("update hmcvi"), "{said}");
    assert_eq!(std::fs::read_to_string(run.join("config.toml")).expect("still there"), "later = true");
}

/// The record of the table that comes with the program says the same everywhere.
#[test]
fn the_published_table_is_the_recorded_one() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let read = |name: &str| std::fs::read_to_string(format!("{root}/{name}")).expect("it is there");
    assert!(
        read("docs/results.md").contains(&read("results/table1.md")),
        "copy results/table1.md into docs/results.md"
    );
    let table: serde_json::Value = serde_json::from_str(&read("results/table1.json")).expect("JSON");
    // The rows alone are the first version of the file.
    let rows = table.get("rows").unwrap_or(&table).as_array().expect("rows");
    let evaluated = rows.iter().filter(|r| r["state"] == "judged");
    for row in evaluated {
        let named = |name: &str| row[name]["mean"].as_f64().expect("nats");
        let line = read("results/table1.md");
        let seed = row["seed"].as_u64().filter(|s| *s > 1).map_or(String::new(), |s| format!("-seed-{s}"));
        let start = format!("| {}{seed} |", row["preset"].as_str().expect("a name"));
        let line = line.lines().find(|l| l.starts_with(&start)).expect("every row has a line");
        for value in [named("test_bound"), named("nll")] {
            assert!(line.contains(&format!("| {value:.2} |")), "{value} in {line}");
        }
        assert!(row["command"].as_array().is_some_and(|c| c.len() > 3), "{row}");
    }
}
