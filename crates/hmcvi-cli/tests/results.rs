//! Guard what the program says about trained models: evaluation, samples, codes, benchmarks.

mod common;

use common::{Sandbox, train};

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// An evaluation without the times that it took.
fn timeless(mut evaluation: serde_json::Value) -> serde_json::Value {
    evaluation["seconds"] = serde_json::Value::Null;
    evaluation["importance_sampling"]["gflops"] = serde_json::Value::Null;
    evaluation
}

#[test]
fn an_evaluation_has_bound_terms_and_likelihood() {
    let sandbox = Sandbox::new();
    train(&sandbox, "hmcvi-9", "run", 2);
    let arguments = ["eval", "run", "--samples", "200", "--limit", "40", "--json"];
    let found = json(&sandbox.succeed(&arguments));
    let number = |path: &str| {
        found.pointer(path).and_then(serde_json::Value::as_f64).unwrap_or_else(|| panic!("{path}: {found}"))
    };
    assert_eq!((number("/images"), number("/draws"), number("/pixel_scale")), (40.0, 5.0, 256.0));
    // The terms add up to the bound.
    let terms = found["terms"].as_object().expect("terms");
    let sum: f64 = terms.values().filter_map(serde_json::Value::as_f64).sum();
    assert!((sum - number("/bound/mean")).abs() < 1e-3, "{found}");
    assert_eq!(terms.len(), 6);
    // Importance sampling is below the likelihood in expectation, and the bound below that.
    let nll = number("/importance_sampling/log_likelihood/mean");
    assert!(nll + 4.0 * number("/importance_sampling/log_likelihood/standard_error") > number("/bound/mean"));
    let size = number("/importance_sampling/effective_sample_size");
    assert!((1.0..=200.0).contains(&size), "{size}");
    let file = std::fs::read_to_string(sandbox.path().join("run/evaluation.json")).expect("written");
    assert_eq!(json(&file), found);
    let again = json(&sandbox.succeed(&arguments));
    assert_eq!(timeless(again), timeless(found.clone()), "the same evaluation gives the same numbers");
    let text = sandbox.succeed(&["eval", "run", "--samples", "0", "--limit", "10"]);
    assert!(
        !text.contains("129.93") && !text.contains("paper"),
        "the paper's number is for other data: {text}"
    );
}

#[test]
fn every_kind_of_evaluation_is_recorded_and_shown() {
    let sandbox = Sandbox::new();
    train(&sandbox, "hmcvi-9", "run", 1);
    let mut arguments =
        vec!["eval", "run", "--samples", "50", "--limit", "12", "--draws", "1", "--iwae", "20"];
    arguments.extend(["--proposal", "student-t", "--proposal-scale", "1.5", "--ais", "10", "--bdmc", "8"]);
    arguments.extend(["--temperatures", "10", "--chains", "4", "--schedule", "linear", "--start", "prior"]);
    arguments.extend(["--posterior", "1"]);
    let text = sandbox.succeed(&arguments);
    for part in
        ["encoder alone", "annealing, 10 images", "student-t", "bidirectional", "R-hat", "Wasserstein"]
    {
        assert!(text.contains(part), "`{part}` is missing: {text}");
    }
    let file = std::fs::read_to_string(sandbox.path().join("run/evaluation.json")).expect("written");
    let found = json(&file);
    assert_eq!(found["annealing"]["settings"]["start"], "prior");
    assert_eq!(found["importance_sampling"]["proposal_scale"], 1.5);
    let lower = found["bidirectional"]["lower"]["mean"].as_f64().expect("a number");
    assert!(lower.is_finite() && found["posterior"]["energies"]["edges"].is_array());
    let lines = std::fs::read_to_string(sandbox.path().join("run/evaluation-images.jsonl")).expect("written");
    assert_eq!(lines.lines().count(), 12);
    let image = json(lines.lines().nth(9).expect("ten lines"));
    assert!(image["k_hat"].is_number() && image["annealed"].is_number() && image["image"] == 9, "{image}");
    assert!(!sandbox.path().join("run/evaluation-parts.jsonl").exists(), "finished work leaves no parts");
    assert!(sandbox.fail(2, &["eval", "run", "--proposal-scale", "0"]).contains("--proposal-scale"));
}

#[test]
fn an_interrupted_evaluation_goes_on_and_finds_the_same() {
    let sandbox = Sandbox::new();
    train(&sandbox, "basic-2d", "run", 1);
    let arguments =
        ["eval", "run", "--samples", "40", "--draws", "1", "--limit", "60", "--bdmc", "200", "--json"];
    let arguments = [&arguments[..], &["--temperatures", "40", "--chains", "8"]].concat();
    let whole = json(&sandbox.succeed(&arguments));
    let parts = sandbox.path().join("run/evaluation-parts.jsonl");
    let mut process = sandbox
        .command(&arguments)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the program starts");
    // Until the first block of simulated data is done: bound, importance sampling, step sizes, one block.
    let begun = std::time::Instant::now();
    while std::fs::read_to_string(&parts).map_or(0, |t| t.lines().count()) < 5 {
        assert!(begun.elapsed().as_secs() < 600, "no part was finished");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pid = process.id().to_string();
    let killed = std::process::Command::new("kill").args(["-INT", &pid]).status().expect("kill runs");
    assert!(killed.success());
    assert_eq!(process.wait().expect("it ends").code(), Some(130));
    assert!(parts.exists());
    let output = sandbox.run(&arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("resuming an interrupted evaluation"), "{said}");
    let found = json(&String::from_utf8_lossy(&output.stdout));
    assert_eq!(timeless(found), timeless(whole));
}

#[test]
fn a_diagnosis_says_what_to_do_and_its_exit_code_whether_something_is_to_be_done() {
    let sandbox = Sandbox::new();
    train(&sandbox, "basic-2d", "run", 3);
    let output = sandbox.run(&["diagnose", "run", "--json"]);
    assert_eq!(output.status.code(), Some(1), "it was not evaluated yet");
    let found = json(&String::from_utf8_lossy(&output.stdout));
    assert_eq!(found["satisfactory"], false);
    let missing = found["findings"].as_array().and_then(|f| f.iter().find(|f| f["about"] == "evaluation"));
    assert_eq!(missing.expect("it says so")["action"], "hmcvi eval run");
    sandbox.succeed(&["eval", "run", "--samples", "500", "--draws", "1"]);
    let output = sandbox.run(&["diagnose", "run"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("k-hat") && text.contains("meaning:"), "{text}");
    assert_eq!(output.status.code(), Some(i32::from(text.contains("PROBLEM"))), "{text}");
    assert!(sandbox.fail(2, &["diagnose", "nowhere"]).contains("not a run directory"));
}

#[test]
fn samples_and_reconstructions_are_images() {
    let sandbox = Sandbox::new();
    train(&sandbox, "hmcvi-1", "run", 1);
    sandbox.succeed(&["sample", "run", "--count", "9", "--out", "prior.png"]);
    sandbox.succeed(&["sample", "run", "--count", "4", "--out", "deep/back.png", "--reconstruct"]);
    for (file, shape) in [("prior", "(9, 28, 28)"), ("deep/back", "(3, 4, 28, 28)")] {
        let read =
            |extension| std::fs::read(sandbox.path().join(format!("{file}.{extension}"))).expect("written");
        assert!(read("png").starts_with(b"\x89PNG"), "{file}");
        let npy = read("npy");
        assert!(String::from_utf8_lossy(&npy[..128]).contains(shape), "{file}");
    }
    assert!(sandbox.fail(2, &["sample", "run", "--out", "samples.jpg"]).contains(".png"));
}

#[test]
fn codes_before_and_after_the_chain_differ() {
    let sandbox = Sandbox::new();
    train(&sandbox, "hmcvi-1", "run", 1);
    let files = json(
        &sandbox.succeed(&["encode", "run", "--out", "codes", "--draws", "2", "--limit", "30", "--json"]),
    );
    assert_eq!(files.as_array().map(Vec::len), Some(5));
    assert_eq!(files[0]["shape"], serde_json::json!([2, 30, 2]));
    let read = |name: &str| std::fs::read(sandbox.path().join("codes").join(name)).expect("written");
    assert_ne!(read("z0.npy"), read("zT.npy"));
}

#[test]
fn the_benchmark_counts_the_work_of_a_step() {
    let found = json(
        &Sandbox::new()
            .succeed(&["bench", "step", "--preset", "basic-2d", "--batch", "20", "--rounds", "2", "--json"]),
    );
    let number = |key: &str| found[key].as_f64().unwrap_or_else(|| panic!("{key}: {found}"));
    // Encoder 784·200 + 200·200 + 200·4 and decoder 2·200 + 200·200 + 200·784 multiply-adds, forward, and
    // twice that backward less the two products with the images' and the noise's derivative.
    let forward =
        2.0 * (784.0 * 200.0 + 200.0 * 200.0 + 200.0 * 4.0 + 2.0 * 200.0 + 200.0 * 200.0 + 200.0 * 784.0);
    assert!((2.0..=3.0).contains(&(number("flop_per_image") / forward)), "{found}");
    let gflops = number("flop_per_image") / number("us_per_image") / 1e3;
    assert!((number("gflops") / gflops - 1.0).abs() < 1e-9);
}

#[test]
fn chains_on_a_gaussian_have_its_moments() {
    let found = json(&Sandbox::new().succeed(&[
        "hmc",
        "--landscape",
        "gaussian",
        "--steps",
        "1500",
        "--step-size",
        "0.25",
        "--chains",
        "4",
        "--json",
        "--out",
        "draws.npy",
    ]));
    assert!(found["acceptance_rate"].as_f64().is_some_and(|a| a > 0.8), "{found}");
    for c in found["coordinates"].as_array().expect("two coordinates") {
        let number = |key: &str| c[key].as_f64().expect("a number");
        assert!((number("mean") - number("exact_mean")).abs() < 4.0 * number("mcse_mean"), "{c}");
        assert!((number("standard_deviation") / number("exact_standard_deviation") - 1.0).abs() < 0.1, "{c}");
        assert!(number("r_hat") < 1.01 && number("ess_bulk").min(number("ess_tail")) > 400.0, "{c}");
    }
}
