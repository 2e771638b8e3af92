//! Guard what the program says when something is wrong, and its exit codes.

mod common;

use common::{Sandbox, train};

#[test]
fn an_unknown_preset_is_a_usage_error_that_lists_presets() {
    let text = Sandbox::new().fail(2, &["train", "HMCVI_4"]);
    assert!(text.contains("did you mean `hmcvi-4`") && text.contains("hmcvi presets"), "{text}");
}

#[test]
fn bad_settings_name_the_key_the_value_and_what_is_allowed() {
    let sandbox = Sandbox::new();
    for (assignment, expected) in [
        ("train.batch=0", "`train.batch` is 0, but must be a whole number from 1 to 1000000"),
        (
            "train.learning_rate.warm_up=10",
            "`train.learning_rate.warm_up` is 10, but must be a number from 0 to 1",
        ),
        (
            "train.learning_rate=0.01",
            "`train.learning_rate` is a table of settings, not a single value: set `train.learning_rate.first=0.01` (keys: first, kind, last, warm_up)",
        ),
        ("train.epoch=3", "there is no setting `train.epoch`; did you mean `train.epochs`?"),
        (
            "chain.mass=heavy",
            "`chain.mass` is \"heavy\", but must be \"identity\", \"global\" or \"network\"",
        ),
        ("epochs", "write `key=value`"),
        ("data.pixel_scale=100", "256 or 255"),
    ] {
        let text = sandbox.fail(2, &["train", "basic-2d", "--set", assignment]);
        assert!(text.contains(expected) && text.contains("config schema"), "{assignment}: {text}");
        assert!(!text.contains("TOML") && !text.contains("struct"), "{assignment}: {text}");
        let (key, value) = assignment.split_once('=').unwrap_or((assignment, ""));
        if value != "heavy" && !value.is_empty() {
            std::fs::write(sandbox.path().join("bad.toml"), format!("{key} = {value}\n")).expect("written");
            let text = sandbox.fail(2, &["train", "bad.toml"]);
            assert!(text.contains("bad.toml: ") && text.contains(expected), "{assignment}: {text}");
        }
    }
    assert!(!sandbox.path().join("runs").exists());
}

#[test]
fn errors_are_json_where_results_are() {
    let sandbox = Sandbox::new();
    for (code, kind, next, arguments) in [
        (2, "usage", "config schema", &["train", "basic-2d", "--set", "train.batch=0", "--json"][..]),
        (2, "usage", "--help", &["train", "--json", "--colour", "basic-2d"]),
        (2, "usage", "--help", &["eval", "--json"]),
        (2, "usage", "--help", &["--json"]),
        (2, "usage", "hmcvi train", &["resume", "nothing", "--json"]),
        (3, "data", "hmcvi data fetch", &["train", "basic-2d", "--data", "nowhere", "--json"]),
        (5, "device", "--device cpu", &["train", "basic-2d", "--device", "cuda", "--json", "--quiet"]),
    ] {
        let text = sandbox.fail(code, arguments);
        let line = text.lines().last().unwrap_or_default();
        let error: serde_json::Value = serde_json::from_str(line).expect(&text);
        let error = &error["error"];
        assert_eq!((&error["kind"], &error["code"]), (&kind.into(), &code.into()), "{text}");
        assert!(error["message"].as_str().is_some_and(|m| !m.is_empty() && !m.contains("error:")), "{text}");
        assert!(error["next"].as_str().is_some_and(|n| n.contains(next)), "{text}");
    }
    // Help is no error.
    assert!(sandbox.succeed(&["eval", "--json", "--help"]).contains("Usage: hmcvi eval"));
}

#[test]
fn the_evaluations_help_has_groups_and_examples() {
    let help = Sandbox::new().succeed(&["eval", "--help"]);
    let headings = [
        "Usage: hmcvi eval [OPTIONS] <RUN>",
        "What to compute:",
        "Importance sampling:",
        "Annealing:",
        "Model and data:",
        "Where to compute:",
        "Output and help:",
        "Examples:",
    ];
    let places: Vec<Option<usize>> = headings.iter().map(|heading| help.find(heading)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{help}");
    assert_eq!(help.lines().filter(|line| line.starts_with("  hmcvi eval ")).count(), 3, "{help}");
}

#[test]
fn the_old_name_of_a_setting_is_still_read() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("old.toml"), "[train.adam]\nlongest_gradient = 7.0\n")
        .expect("written");
    let shown = sandbox.succeed(&["config", "show", "old.toml"]);
    assert!(shown.contains("max_grad_norm = 7.0") && !shown.contains("longest_gradient"), "{shown}");
    let set = ["config", "show", "basic-2d", "--set", "train.adam.longest_gradient=8"];
    assert!(sandbox.succeed(&set).contains("max_grad_norm = 8.0"));
    // Records of earlier reports have it too.
    let mut record = serde_json::to_value(hmcvi_record::RunSettings::default()).expect("plain values");
    let fields = record.as_object_mut().expect("a table");
    fields.remove("max_grad_norm").expect("the new name is written");
    fields.insert("longest_gradient".into(), 9.0.into());
    let read: hmcvi_record::RunSettings = serde_json::from_value(record).expect("an old record");
    assert_eq!(read.max_grad_norm, 9.0);
}

#[test]
fn all_seeds_can_be_set_and_read_back() {
    let sandbox = Sandbox::new();
    let shown = sandbox.succeed(&["config", "show", "basic-2d", "--set", "seed=18446744073709551615"]);
    std::fs::write(sandbox.path().join("mine.toml"), &shown).expect("written");
    assert_eq!(sandbox.succeed(&["config", "show", "mine.toml", "--set", "train.epochs=60"]), shown);
}

#[test]
fn missing_data_is_a_data_error_with_a_next_step() {
    let sandbox = Sandbox::new();
    let text = sandbox.fail(3, &["train", "basic-2d", "--data", "nowhere"]);
    assert!(text.contains("nowhere") && text.contains("hmcvi data fetch"), "{text}");
    assert!(sandbox.fail(3, &["data", "verify"]).contains("train-images-idx3-ubyte"));
    for data_set in ["mnist", "fashion-mnist"] {
        let text = sandbox.fail(3, &["data", "fetch", data_set, "--offline"]);
        assert!(text.contains("by hand") && text.contains(&format!("/{data_set}:")), "{text}");
    }
}

#[test]
fn a_missing_device_is_a_device_error() {
    let text = Sandbox::new().fail(5, &["train", "basic-2d", "--device", "cuda"]);
    assert!(text.contains("no CUDA") && text.contains("--device cpu"), "{text}");
}

#[test]
fn a_model_that_does_not_fit_into_memory_is_refused_with_its_size() {
    let sandbox = Sandbox::new();
    let text = sandbox.fail(5, &["train", "basic-2d", "--set", "model.hidden=[65536,65536,65536]"]);
    assert!(text.contains("GB of memory") && text.contains("model.hidden"), "{text}");
    assert!(!sandbox.path().join("runs").exists());
}

#[test]
fn settings_have_a_schema_for_people_and_one_for_programs() {
    let sandbox = Sandbox::new();
    assert!(sandbox.succeed(&["config", "schema"]).contains("[train.learning_rate]"));
    let schema: serde_json::Value =
        serde_json::from_str(&sandbox.succeed(&["config", "schema", "--json"])).expect("JSON");
    assert_eq!(schema["title"], "RunSpec");
    assert_eq!(schema["properties"]["seed"]["default"], 1);
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["$defs"]["PixelScale"]["enum"], serde_json::json!([256, 255]));
}

#[test]
fn a_run_is_replaced_only_by_force_and_other_folders_never() {
    let sandbox = Sandbox::new();
    train(&sandbox, "basic-2d", "run", 1);
    let text = sandbox.fail(2, &["train", "basic-2d", "--out", "run"]);
    assert!(text.contains("--force") && text.contains("hmcvi resume run"), "{text}");
    std::fs::write(sandbox.path().join("run/notes.txt"), "mine").expect("written");
    sandbox.succeed(&[
        "train",
        "basic-2d",
        "--out",
        "run",
        "--force",
        "--quiet",
        "--set",
        "data.limit=50",
        "train.epochs=1",
    ]);
    assert!(sandbox.path().join("run/notes.txt").exists(), "what is not the run's stays");
    std::fs::create_dir(sandbox.path().join("photos")).expect("a folder");
    std::fs::write(sandbox.path().join("photos/me.jpg"), "x").expect("written");
    assert!(sandbox.fail(2, &["train", "basic-2d", "--out", "photos", "--force"]).contains("left alone"));
}

#[test]
fn commands_on_runs_refuse_what_is_no_run() {
    let sandbox = Sandbox::new();
    for command in ["resume", "eval", "sample"] {
        assert!(sandbox.fail(2, &[command, "nothing"]).contains("not a run directory"), "{command}");
    }
    train(&sandbox, "basic-2d", "run", 1);
    assert!(sandbox.fail(2, &["resume", "run", "--set", "model.latent=3"]).contains("start a new run"));
    std::fs::write(sandbox.path().join("run/best.safetensors"), "broken").expect("written");
    assert!(sandbox.fail(1, &["eval", "run"]).contains("best.safetensors"));
}

#[test]
fn settings_can_be_shown_checked_and_written_back() {
    let sandbox = Sandbox::new();
    let shown = sandbox.succeed(&["config", "show", "hmcvi-16", "--set", "train.epochs=7"]);
    assert!(shown.contains("epochs = 7") && shown.contains("mass = \"network\""), "{shown}");
    std::fs::write(sandbox.path().join("mine.toml"), &shown).expect("written");
    sandbox.succeed(&["config", "check", "mine.toml"]);
    assert_eq!(sandbox.succeed(&["config", "show", "mine.toml"]), shown);
    std::fs::write(sandbox.path().join("bad.toml"), "[train]\nbatch = 0\n").expect("written");
    let text = sandbox.fail(2, &["config", "check", "bad.toml"]);
    assert!(text.contains("bad.toml") && text.contains("`train.batch` is 0"), "{text}");
    assert!(sandbox.succeed(&["config", "schema"]).contains("leapfrog_steps = 4"));
}

#[test]
fn results_go_to_standard_output_and_nothing_else_does() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["data", "info"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("5000"));
    let narration = String::from_utf8_lossy(&output.stderr);
    assert!(
        narration.contains("embedded") && !narration.contains('\u{1b}'),
        "no colour in a pipe: {narration}"
    );
    assert!(sandbox.run(&["data", "info", "--quiet"]).stderr.is_empty());
}

#[test]
fn completions_and_manual_pages_come_out() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        assert!(sandbox.succeed(&["completions", shell]).contains("quickstart"), "{shell}");
    }
    assert!(sandbox.succeed(&["man"]).contains(".TH"));
    assert!(sandbox.succeed(&["man", "train"]).contains("init"));
    assert!(sandbox.fail(2, &["man", "paint"]).contains("quickstart"));
}
