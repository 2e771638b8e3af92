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
        ("train.batch=0", "`train.batch` is 0, but must be at least 1"),
        ("train.learning_rate.warm_up=10", "`train.learning_rate.warm_up` is 10, but must be from 0 "),
        ("train.epoch=3", "unknown field `epoch`"),
        ("chain.mass=heavy", "unknown variant `heavy`, expected one of `identity`, `global`, `network`"),
        ("epochs", "write `key=value`"),
        ("data.pixel_scale=100", "256 or 255"),
    ] {
        let text = sandbox.fail(2, &["train", "basic-2d", "--set", assignment]);
        assert!(text.contains(expected) && text.contains("config schema"), "{assignment}: {text}");
    }
    assert!(!sandbox.path().join("runs").exists());
}

#[test]
fn missing_data_is_a_data_error_with_a_next_step() {
    let sandbox = Sandbox::new();
    let text = sandbox.fail(3, &["train", "basic-2d", "--data", "nowhere"]);
    assert!(text.contains("nowhere") && text.contains("hmcvi data fetch"), "{text}");
    assert!(sandbox.fail(3, &["data", "verify"]).contains("train-images-idx3-ubyte"));
    assert!(sandbox.fail(3, &["data", "fetch", "mnist", "--offline"]).contains("by hand"));
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
    assert!(sandbox.fail(2, &["resume", "run", "--set", "model.latent=3"]).contains("begin a new run"));
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
