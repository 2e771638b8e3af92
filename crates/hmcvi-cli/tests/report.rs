//! Guard what the program says about runs side by side: reports as pages, comparisons as tables.

mod common;

use common::{Sandbox, train};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn read(sandbox: &Sandbox, file: &str) -> String {
    std::fs::read_to_string(sandbox.path().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// A plain model and one that began with it, both evaluated on the same images.
fn two_runs(sandbox: &Sandbox) {
    train(sandbox, "basic-2d", "basic", 2);
    let mut arguments = vec!["train", "hmcvi-9", "--out", "chain", "--init-from", "basic", "-q"];
    arguments.extend(common::SMALL);
    arguments.extend(["train.epochs=2", "chain.partial_momentum=true"]);
    sandbox.succeed(&arguments);
    for run in ["basic", "chain"] {
        sandbox.succeed(&["eval", run, "--samples", "50", "--limit", "30", "--draws", "2", "-q"]);
    }
}

#[test]
fn a_report_is_a_page_with_its_data_beside_it() {
    let sandbox = Sandbox::new();
    two_runs(&sandbox);
    let written = json(&sandbox.succeed(&["report", "chain", "--json"]));
    assert_eq!(
        (&written["page"], &written["data"]),
        (&"chain/report.html".into(), &"chain/report.json".into())
    );
    let (page, record) = (read(&sandbox, "chain/report.html"), json(&read(&sandbox, "chain/report.json")));
    assert_eq!(written["bytes"], page.len());
    // Two megabytes and more are left for larger images and longer trainings.
    assert!(page.len() < 1_000_000, "{}", page.len());
    let run = &record["runs"][0];
    assert_eq!(run["evaluation"], json(&read(&sandbox, "chain/evaluation.json")));
    assert_eq!((&run["state"], &run["basic"]["name"]), (&"finished".into(), &"basic".into()));
    assert_eq!(run["basic"]["bound_gain"]["paired"], true);
    assert!(page.contains(
        record["verdict"].as_str().expect("a sentence").split(" ± ").next().expect("its beginning")
    ));
    for title in ["Reconstructions", "Samples", "Latent map", "Energy surface"] {
        assert!(page.contains(&format!("<h3>{title}</h3>")), "{title}");
    }
    let figures = record["figures"].as_array().expect("figures");
    let ids: Vec<&str> = figures.iter().filter_map(|f| f["id"].as_str()).collect();
    for id in
        ["bound", "log_joint", "acceptance_by_step", "energy_error", "step_size", "mass", "alpha", "k_hat"]
    {
        assert!(ids.contains(&id), "{id} is not in {ids:?}");
    }
    // What was recorded with every look at validation images: one acceptance rate for each step.
    let line = json(read(&sandbox, "chain/metrics.jsonl").lines().last().expect("two epochs"));
    let rate = |name: &str| line["validation"][name].as_f64().unwrap_or_else(|| panic!("{name}: {line}"));
    let mean = (1..=3).map(|t| rate(&format!("acceptance_rate_{t}"))).sum::<f64>() / 3.0;
    assert!((mean - rate("acceptance_rate")).abs() < 1e-6, "{line}");
    assert!(rate("energy_error") > 0.0 && rate("mass") > 0.0);
    // The commands of the page make the same run again.
    let again = run["reproduce"][0].as_str().expect("a command");
    let mut words: Vec<&str> = again.split(' ').skip(1).collect();
    words.push("-q");
    sandbox.succeed(&words);
    let bytes =
        |run: &str| std::fs::read(sandbox.path().join(run).join("last.safetensors")).expect("trained");
    assert!(bytes("chain") == bytes("chain-again"), "`{again}` makes another run");
}

#[test]
fn a_report_is_not_replaced_unless_that_is_asked_for() {
    let sandbox = Sandbox::new();
    train(&sandbox, "basic-2d", "run", 1);
    sandbox.succeed(&["report", "run"]);
    assert!(sandbox.fail(2, &["report", "run"]).contains("--force"));
    sandbox.succeed(&["report", "run", "--force"]);
    // The data would go where the outcome of the training is.
    assert!(sandbox.fail(2, &["report", "run", "--out", "run/summary.html"]).contains("summary.json"));
    assert!(
        sandbox.fail(2, &["report", "run", "--out", "run/summary.html", "--force"]).contains("not a report")
    );
    assert!(sandbox.fail(2, &["report", "run", "--out", "page.pdf"]).contains(".html"));
    assert!(sandbox.fail(2, &["report", "nowhere"]).contains("not a run directory"));
    sandbox.succeed(&["report", "run", "--out", "deep/page.html"]);
    assert!(sandbox.path().join("deep/page.json").exists());
}

#[test]
fn a_run_that_just_began_has_a_report_too() {
    let sandbox = Sandbox::new();
    train(&sandbox, "hmcvi-1", "run", 1);
    // As if it had been stopped before its first epoch was finished.
    for file in ["metrics.jsonl", "last.safetensors", "best.safetensors", "summary.json"] {
        std::fs::remove_file(sandbox.path().join("run").join(file)).expect("a file of the run");
    }
    sandbox.succeed(&["report", "run"]);
    let (page, record) = (read(&sandbox, "run/report.html"), json(&read(&sandbox, "run/report.json")));
    assert!(
        record["verdict"].as_str().is_some_and(|v| v.contains("stopped after 0 of 1 epochs")),
        "{record}"
    );
    assert!(page.contains("hmcvi resume run") && page.contains("hmcvi eval run"));
}

#[cfg(unix)]
#[test]
fn a_page_is_opened_by_what_the_system_has_for_it() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    train(&sandbox, "basic-2d", "run", 1);
    let folder = sandbox.path().join("programs");
    std::fs::create_dir(&folder).expect("a folder");
    let open = |arguments: &[&str]| {
        let output = sandbox.command(arguments).env("PATH", &folder).output().expect("the program starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = open(&["report", "run", "--open"]);
    assert!(code == Some(1) && said.contains("in a browser") && said.contains("report.html"), "{said}");
    let name = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let opener = folder.join(name);
    std::fs::write(&opener, "#!/bin/sh\nprintf %s \"$1\" > opened\n").expect("a program");
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).expect("its right to run");
    let (code, said) = open(&["report", "run", "--open", "--force"]);
    assert_eq!(code, Some(0), "{said}");
    let opened = std::path::PathBuf::from(read(&sandbox, "opened"));
    assert!(opened.is_absolute() && opened.ends_with("run/report.html"), "{opened:?}");
}

#[test]
fn runs_are_compared_image_by_image() {
    let sandbox = Sandbox::new();
    two_runs(&sandbox);
    let found = json(&sandbox.succeed(&["compare", "basic", "chain", "--json"]));
    let [first, second] = [0, 1].map(|i| &found["runs"][i]);
    assert!(first["bound_difference"].is_null() && second["bound_difference"]["paired"] == true, "{found}");
    let mean = |run: &Value, key: &str| run[key]["mean"].as_f64().expect("a number");
    let difference = second["bound_difference"]["estimate"]["mean"].as_f64().expect("a number");
    assert!((difference - (mean(second, "bound") - mean(first, "bound"))).abs() < 1e-6, "{found}");
    let error = second["bound_difference"]["estimate"]["standard_error"].as_f64().expect("a number");
    let alone = first["bound"]["standard_error"].as_f64().expect("a number");
    assert!(error < alone, "pairs are less different than images: {found}");
    let text = sandbox.succeed(&["compare", "basic", "chain"]);
    assert!(text.contains("pairs of the same binary images") && text.contains("divergences"), "{text}");
    // A model that was trained further is not what was evaluated.
    sandbox.succeed(&["resume", "basic", "--set", "train.epochs=3", "-q"]);
    let text = sandbox.succeed(&["compare", "basic", "chain"]);
    assert!(text.contains("cannot be compared with basic: basic was trained further"), "{text}");
    sandbox.succeed(&["eval", "basic", "--samples", "50", "--limit", "30", "--draws", "2", "-q"]);
    // Fewer images: no pairs.
    sandbox.succeed(&["eval", "chain", "--samples", "50", "--limit", "20", "--draws", "2", "-q"]);
    assert!(sandbox.succeed(&["compare", "basic", "chain"]).contains("independent means"));
    // Runs of one name in two folders keep apart.
    train(&sandbox, "basic-2d", "other/basic", 1);
    let text = sandbox.succeed(&["compare", "basic", "other/basic"]);
    assert!(text.contains("other/basic") && text.contains("not evaluated yet"), "{text}");
    assert!(sandbox.fail(2, &["compare", "basic", "nowhere"]).contains("nowhere is not a run directory"));
    let written = json(&sandbox.succeed(&["report", "basic", "chain", "--json"]));
    assert_eq!(written["page"], "comparison.html");
    assert!(read(&sandbox, "comparison.html").contains("Comparison of runs"));
}

#[test]
fn the_commands_of_a_run_that_was_changed_on_the_way_make_it_again() {
    let sandbox = Sandbox::new();
    train(&sandbox, "hmcvi-1", "run", 1);
    sandbox.succeed(&["resume", "run", "--set", "train.epochs=3", "train.learning_rate.last=0.0005", "-q"]);
    sandbox.succeed(&["report", "run"]);
    let run = &json(&read(&sandbox, "run/report.json"))["runs"][0];
    let commands: Vec<&str> =
        run["reproduce"].as_array().expect("commands").iter().filter_map(Value::as_str).collect();
    assert_eq!(commands.len(), 2, "train, then resume: {commands:?}");
    for command in &commands {
        let mut words: Vec<&str> = command.split(' ').skip(1).collect();
        words.push("-q");
        sandbox.succeed(&words);
    }
    let bytes =
        |run: &str| std::fs::read(sandbox.path().join(run).join("last.safetensors")).expect("trained");
    assert!(bytes("run") == bytes("run-again"), "{commands:?} make another run");
    assert_eq!(run["reproduce_caveats"], json("[]"));
}

#[test]
fn a_run_whose_beginning_was_trained_further_says_so() {
    let sandbox = Sandbox::new();
    two_runs(&sandbox);
    // The best checkpoint is of the last epoch here, so two more epochs change it.
    sandbox.succeed(&["resume", "basic", "--set", "train.epochs=4", "-q"]);
    sandbox.succeed(&["report", "chain"]);
    let caveats = &json(&read(&sandbox, "chain/report.json"))["runs"][0]["reproduce_caveats"];
    assert!(caveats[0].as_str().is_some_and(|text| text.contains("was trained further since")), "{caveats}");
    let page = read(&sandbox, "chain/report.html");
    assert!(page.contains("was trained further since") && !page.contains("gives the same numbers again"));
}
