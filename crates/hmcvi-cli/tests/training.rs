//! Guard training from the command line: checkpoints, resuming, presets, interruption.

mod common;

use std::fs;

use common::{SMALL, Sandbox, train};
use hmcvi::run::load_initial;

fn bytes(sandbox: &Sandbox, file: &str) -> Vec<u8> {
    fs::read(sandbox.path().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

#[test]
fn a_resumed_run_ends_with_the_bytes_of_an_uninterrupted_one() {
    let sandbox = Sandbox::new();
    let constant = "train.learning_rate.kind=constant";
    let begin = |out: &str, epochs: &str| {
        let mut arguments = vec!["train", "hmcvi-5", "--out", out, "--quiet"];
        arguments.extend(SMALL);
        arguments.extend([constant, "train.average=0.5", epochs]);
        sandbox.succeed(&arguments);
    };
    begin("whole", "train.epochs=3");
    // The schedule is constant, so that the length of the run does not enter the first epoch.
    begin("parts", "train.epochs=1");
    sandbox.succeed(&["resume", "parts", "--set", "train.epochs=3", "--quiet", "--threads", "1"]);
    for file in ["last.safetensors", "best.safetensors", "config.toml"] {
        assert!(
            bytes(&sandbox, &format!("whole/{file}")) == bytes(&sandbox, &format!("parts/{file}")),
            "{file}"
        );
    }
    let lines = |run: &str| {
        String::from_utf8(bytes(&sandbox, &format!("{run}/metrics.jsonl"))).map(|t| t.lines().count())
    };
    assert_eq!(lines("whole"), lines("parts"));
}

#[test]
fn the_learning_rate_warms_up() {
    let sandbox = Sandbox::new();
    let mut arguments = vec!["train", "basic-2d", "--out", "run", "--quiet"];
    arguments.extend(SMALL);
    let rate = ["train.learning_rate.kind=constant", "train.learning_rate.warm_up=0.5", "train.epochs=4"];
    arguments.extend(rate);
    sandbox.succeed(&arguments);
    let text = String::from_utf8(bytes(&sandbox, "run/metrics.jsonl")).expect("text");
    let rate = |line: &str| -> f64 {
        let epoch: serde_json::Value = serde_json::from_str(line).expect("JSON");
        epoch["learning_rate"].as_f64().expect("a rate")
    };
    // Two updates in each epoch, of which the second is recorded: 1, 3 and from then on 4 of 4 parts.
    let found: Vec<f64> = text.lines().map(rate).collect();
    let expected = [0.25e-3, 0.75e-3, 1e-3, 1e-3];
    assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-9), "{found:?}");
}

#[test]
fn averages_are_what_a_run_is_evaluated_by() {
    let sandbox = Sandbox::new();
    let mut arguments = vec!["train", "basic-2d", "--out", "run", "--quiet"];
    arguments.extend(SMALL);
    arguments.extend(["train.epochs=3", "train.average=0.5"]);
    sandbox.succeed(&arguments);
    let bound = |checkpoint: &str| {
        let options = ["--split", "validation", "--samples", "0", "--json", "--quiet"];
        let text = sandbox.succeed(&[&["eval", "run", "--checkpoint", checkpoint][..], &options].concat());
        let found: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        found["bound"]["mean"].as_f64().expect("a bound")
    };
    // The last epoch was the best: one file has its averages as parameters, the other beside them.
    let (best, last) = (bound("best"), bound("last"));
    assert_eq!(best, last);
    // What only training needs is in the last one.
    for tensor in ["average.decoder.0.weight", "adam.m.decoder.0.weight"] {
        let has = |file: &str| String::from_utf8_lossy(&bytes(&sandbox, file)).contains(tensor);
        assert!(has("run/last.safetensors") && !has("run/best.safetensors"), "{tensor}");
    }
    let first = |file: &str| {
        let store = load_initial(&sandbox.path().join(file)).expect("tensors");
        store.get("decoder.0.weight").expect("a decoder").values.clone()
    };
    assert_eq!(first("run/last.safetensors"), first("run"));
    let metrics = String::from_utf8(bytes(&sandbox, "run/metrics.jsonl")).expect("text");
    let epoch: serde_json::Value =
        serde_json::from_str(metrics.lines().last().expect("a line")).expect("JSON");
    assert!((epoch["validation"]["bound"].as_f64().expect("a bound") - best).abs() < 1.0, "{epoch} {best}");
}

#[test]
fn epochs_after_the_last_checkpoint_are_done_again() {
    let sandbox = Sandbox::new();
    train(&sandbox, "basic-2d", "run", 2);
    let file = sandbox.path().join("run/metrics.jsonl");
    let before = fs::read_to_string(&file).expect("metrics");
    // As after a crash: an epoch that no checkpoint knows, and half a line.
    let third = before.lines().last().expect("a line").replace("\"epoch\":2", "\"epoch\":3");
    fs::write(&file, format!("{before}{third}\n{{\"epoch\":4,")).expect("written");
    sandbox.succeed(&["resume", "run", "--quiet", "--set", "train.epochs=3"]);
    let after = fs::read_to_string(&file).expect("metrics");
    let epochs: Vec<u64> = after
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).expect("JSON")["epoch"]
                .as_u64()
                .expect("a number")
        })
        .collect();
    assert_eq!(epochs, [1, 2, 3]);
    assert!(after.starts_with(&before));
}

#[test]
fn every_preset_trains_an_epoch_without_divergences() {
    let sandbox = Sandbox::new();
    let presets: serde_json::Value =
        serde_json::from_str(&sandbox.succeed(&["presets", "--json"])).expect("JSON");
    let presets = presets.as_array().expect("rows");
    assert_eq!(presets.len(), 22);
    for row in presets {
        let preset = row["preset"].as_str().expect("a name");
        let summary: serde_json::Value =
            serde_json::from_str(&train(&sandbox, preset, preset, 1)).expect("JSON");
        let bound = summary["best_validation_bound"].as_f64();
        assert!(bound.is_some_and(|b| b.is_finite() && b > -2000.0 && b < 0.0), "{preset}: {summary}");
        assert_eq!(
            (summary["divergences"].as_u64(), summary["skipped"].as_u64()),
            (Some(0), Some(0)),
            "{preset}"
        );
    }
}

#[test]
fn hmcvi_begins_with_the_model_it_is_given() {
    let sandbox = Sandbox::new();
    train(&sandbox, "basic-2d", "basic", 3);
    let begin = |out: &str, more: &[&str]| {
        let mut arguments = vec!["train", "hmcvi-1", "--out", out, "--json"];
        arguments.extend(more);
        arguments.extend(SMALL);
        arguments.push("train.epochs=1");
        let summary: serde_json::Value = serde_json::from_str(&sandbox.succeed(&arguments)).expect("JSON");
        summary["best_validation_bound"].as_f64().expect("a bound")
    };
    assert!(begin("from", &["--init-from", "basic"]) > begin("nothing", &[]));
    let text = sandbox
        .fail(2, &["train", "hmcvi-11", "--init-from", "basic", "--out", "other", "--set", "data.limit=100"]);
    assert!(text.contains("another model"), "{text}");
    assert!(!sandbox.path().join("other").exists(), "a run that cannot begin leaves nothing behind");
}

/// Interrupts the training of a run in the middle of an epoch; returns what the checkpoint says about itself.
#[cfg(unix)]
fn interrupt(sandbox: &Sandbox, arguments: &[&str]) -> serde_json::Value {
    use std::process::{Command, Stdio};
    let mut child = sandbox.command(arguments).stderr(Stdio::null()).spawn().expect("the program starts");
    let metrics = sandbox.path().join("parts/metrics.jsonl");
    let lines = || fs::read_to_string(&metrics).map_or(0, |text| text.lines().count());
    // A little after the end of an epoch.
    let before = lines();
    while lines() == before && child.try_wait().expect("it can be asked").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::thread::sleep(std::time::Duration::from_millis(40));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let bytes = bytes(sandbox, "parts/last.safetensors");
    let header = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + header]).expect("JSON");
    let text = header["__metadata__"]["hmcvi"].as_str().expect("a description");
    serde_json::from_str(text).expect("JSON")
}

#[cfg(unix)]
#[test]
fn a_run_interrupted_within_epochs_loses_no_update_and_ends_with_the_same_bytes() {
    let sandbox = Sandbox::new();
    let settings = ["--data", "embedded", "--quiet", "--threads", "1", "--set", "data.limit=1000"];
    // Epochs enough that it cannot end while it is asked to stop.
    let more = ["train.batch=10", "train.epochs=8", "train.validate_every=1"];
    let train = |out: &'static str| {
        let mut arguments = vec!["train", "basic-2d", "--out", out];
        arguments.extend(settings);
        arguments.extend(more);
        arguments
    };
    sandbox.succeed(&train("whole"));
    let mut stops = vec![interrupt(&sandbox, &train("parts"))];
    stops.push(interrupt(&sandbox, &["resume", "parts", "--quiet", "--threads", "1"]));
    sandbox.succeed(&["resume", "parts", "--quiet", "--threads", "1"]);
    // 100 updates make an epoch.
    for stop in &stops {
        let (epoch, step) = (stop["epoch"].as_u64(), stop["step"].as_u64());
        let done = stop["under_way"]["updates"].as_u64();
        assert_eq!(step, epoch.zip(done).map(|(e, n)| 100 * e + n), "{stop}");
    }
    for file in ["last.safetensors", "best.safetensors"] {
        let of = |run: &str| bytes(&sandbox, &format!("{run}/{file}"));
        assert!(of("whole") == of("parts"), "{file}");
    }
    let metrics = |run: &str| -> Vec<serde_json::Value> {
        let text = String::from_utf8(bytes(&sandbox, &format!("{run}/metrics.jsonl"))).expect("text");
        text.lines()
            .map(|line| {
                let mut value: serde_json::Value = serde_json::from_str(line).expect("JSON");
                (value["seconds"], value["images_per_second"]) = Default::default();
                value
            })
            .collect()
    };
    assert_eq!(metrics("whole"), metrics("parts"));
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_to_go_on_and_does() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let sandbox = Sandbox::new();
    let mut arguments = vec!["train", "basic-2d", "--out", "run"];
    arguments.extend(SMALL);
    arguments.push("train.epochs=1000000");
    let mut child = sandbox.command(&arguments).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    // Wait for an epoch, then ask the process that this test started to stop.
    assert!(lines.any(|line| line.is_ok_and(|l| l.starts_with("epoch 2/"))));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(rest.iter().any(|l| l.contains("hmcvi resume run")), "{rest:?}");
    let done = fs::read_to_string(sandbox.path().join("run/metrics.jsonl")).expect("metrics").lines().count();
    let epochs = format!("train.epochs={}", done + 1);
    let text = sandbox.succeed(&["resume", "run", "--json", "--set", &epochs]);
    let summary: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        (summary["epochs"].as_u64(), summary["finished"].as_bool()),
        (Some(done as u64 + 1), Some(true))
    );
}
