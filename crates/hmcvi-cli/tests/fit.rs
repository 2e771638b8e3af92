//! Guard fits of Bayesian models: what they print and leave behind, and that other programs can read it.

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use common::{Sandbox, skipped, train};
use serde_json::Value;

/// Learning that takes a moment.
const QUICK: [&str; 3] = ["--set", "learning.most_updates=300", "learning.rows=32"];

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn fit(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    json(&sandbox.succeed(&[&["fit"][..], arguments, &["--json", "--quiet"], &QUICK].concat()))
}

fn row<'r>(record: &'r Value, name: &str) -> &'r Value {
    let rows = record["parameters"].as_array().expect("rows");
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn a_fit_prints_what_it_found_and_keeps_it() {
    let sandbox = Sandbox::new();
    let found = fit(&sandbox, &["eight-schools", "--draws", "2000", "--out", "schools"]);
    let number = |key: &str| found[key].as_f64().unwrap_or_else(|| panic!("{key}: {}", found[key]));
    assert_eq!((&found["method"], &found["divergences"]), (&"hmcvi".into(), &0.into()));
    // Annealing and importance sampling of this model agree on -31.3 (tests of the library).
    assert!(number("bound") < number("log_evidence") && number("bound") > -32.5, "{found}");
    assert!((number("log_evidence") + 31.3).abs() < 0.3 && number("seconds") > 0.0, "{found}");
    for name in ["mu", "tau", "theta[1]", "theta[8]"] {
        let row = row(&found, name);
        for key in ["mean", "sd", "q05", "q50", "q95", "mcse"] {
            assert!(row[key].as_f64().is_some_and(f64::is_finite), "{row}");
        }
        for key in ["rhat", "ess_bulk", "ess_tail"] {
            assert!(row[key].is_null(), "independent draws have no {key}: {row}");
        }
    }
    assert!(row(&found, "tau")["q05"].as_f64().expect("a number") > 0.0, "on its support");
    let kept = |file: &str| fs::read_to_string(sandbox.path().join("schools").join(file)).expect(file);
    assert_eq!(json(&kept("fit.json")), found);
    assert!(kept("README.txt").contains("hmcvi report schools"));
    assert!(kept("fit.toml").contains("most_updates = 300"));
    // The settings make the same draws again.
    sandbox.succeed(&["fit", "schools/fit.toml", "--out", "again", "--quiet"]);
    assert_eq!(
        fs::read_to_string(sandbox.path().join("again/draws-1.csv")).expect("draws"),
        kept("draws-1.csv")
    );
}

#[test]
fn fits_are_reported_examined_compared_and_refused_where_a_run_is_needed() {
    let sandbox = Sandbox::new();
    let found = fit(&sandbox, &["eight-schools", "--check", "--draws", "1000", "--out", "schools"]);
    let check = &found["check"];
    assert_eq!(check["parameters"].as_array().map(Vec::len), found["parameters"].as_array().map(Vec::len));
    assert!(check["parameters"][0]["wasserstein"].as_f64().is_some_and(|w| w < 0.5), "{check}");
    assert!(check["verdict"].is_string() != (check["doubts"] != Value::Array(Vec::new())), "{check}");
    let nuts = fit(&sandbox, &["eight-schools", "--method", "nuts", "--draws", "2000", "--out", "nuts"]);
    assert!(nuts["bound"].is_null() && nuts["log_evidence"].is_null());
    assert_eq!((&nuts["chains"], &nuts["draws"]), (&4.into(), &2000.into()));
    let mu = row(&nuts, "mu");
    assert!(mu["rhat"].as_f64().is_some_and(|rhat| rhat < 1.05), "{mu}");
    assert!(mu["ess_bulk"].as_f64().is_some_and(|ess| ess > 200.0), "{mu}");

    sandbox.succeed(&["report", "schools", "--quiet"]);
    let page = fs::read_to_string(sandbox.path().join("schools/report.html")).expect("a page");
    let parts = ["posterior", "pair", "results", "differences", "learning", "diagnosis", "reproduce"];
    for part in parts.map(|part| format!("<section id=\"{part}\"")) {
        assert!(page.contains(&part), "{part}");
    }
    for words in ["is furthest from NUTS", "hmcvi fit schools/fit.toml --out schools-again"] {
        assert!(page.contains(words), "{words}");
    }
    let data = json(&fs::read_to_string(sandbox.path().join("schools/report.json")).expect("its data"));
    assert_eq!(data["pair"]["panels"].as_array().map(Vec::len), Some(3), "Gaussian, fit and NUTS");
    let text = sandbox.fail(2, &["report", "schools"]);
    assert!(text.contains("--force"), "{text}");

    let all = json(&sandbox.succeed(&["compare", "schools", "nuts", "--json"]));
    assert_eq!(all["comparisons"][0]["reference"], "nuts");
    assert!(sandbox.succeed(&["compare", "schools", "nuts"]).contains("schools against nuts"));
    sandbox.succeed(&["report", "schools", "nuts", "--out", "both.html", "--quiet"]);
    let diagnosis = sandbox.run(&["diagnose", "nuts"]);
    assert!(String::from_utf8_lossy(&diagnosis.stdout).contains("R-hat: at most"));

    for command in ["eval", "resume", "sample"] {
        let text = sandbox.fail(2, &[command, "schools"]);
        assert!(
            text.contains("holds the fit of a Bayesian model") && text.contains("hmcvi report schools"),
            "{text}"
        );
    }
    train(&sandbox, "basic-2d", "run", 1);
    for runs in [["schools", "run"], ["run", "schools"]] {
        assert!(sandbox.fail(2, &["compare", runs[0], runs[1]]).contains("schools"));
    }
    fit(&sandbox, &["regression", "--method", "gaussian", "--draws", "100", "--out", "other"]);
    assert!(sandbox.fail(2, &["compare", "schools", "other"]).contains("fits of different models"));
}

#[test]
fn what_cannot_be_fitted_is_refused_by_name_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path().join("short.json"), r#"{"J": 2, "y": [1, 2], "sigma": [1, -2]}"#)
        .expect("written");
    fs::write(sandbox.path().join("broken.json"), r#"{"y": [1, [2]]}"#).expect("written");
    for (code, arguments, parts) in [
        (2, &["eightschools"][..], ["did you mean `eight-schools`", "hmcvi fit --list"]),
        (2, &["eight-schools", "--set", "learning.row=2"], ["`learning.rows`", "config schema --fit"]),
        (2, &["eight-schools", "--draws", "0"], ["`draws` is 0", "from 1 to"]),
        (2, &["eight-schools", "--leapfrog-steps", "0"], ["`chain.leapfrog_steps`", "at least 1"]),
        (3, &["eight-schools", "--data", "nowhere.json"], ["nowhere.json", "--data"]),
        (
            3,
            &["eight-schools", "--data", "broken.json"],
            ["broken.json", "`y`: numbers and arrays are mixed"],
        ),
        (3, &["logistic", "--data", "short.json"], ["the model needs data", "--data"]),
        (3, &["diamonds"], ["`diamonds` comes without data", "--data FILE.json"]),
    ] {
        let text = sandbox.fail(code, &[&["fit", "--out", "out"], arguments].concat());
        assert!(parts.iter().all(|part| text.contains(part)), "{arguments:?}: {text}");
        assert!(!sandbox.path().join("out/fit.toml").exists(), "{arguments:?}");
    }
    let list = json(&sandbox.succeed(&["fit", "--list", "--json"]));
    let names: Vec<&str> =
        list.as_array().expect("a list").iter().filter_map(|m| m["name"].as_str()).collect();
    assert!(names.len() >= 12, "{names:?}");
    for name in ["eight-schools", "logistic", "radon", "brownian", "seeds"] {
        assert!(names.contains(&name), "{names:?}");
    }
}

#[test]
fn evidence_is_bracketed_and_draws_are_chosen_by_their_weights() {
    let sandbox = Sandbox::new();
    let arguments = ["regression", "--method", "gaussian", "--evidence", "--draws", "1000", "--out", "fit"];
    let found = fit(&sandbox, &arguments);
    assert_eq!(found["resampled"], true, "k-hat allows it: {found}");
    let side = |side: &str| found["evidence"][side]["mean"].as_f64().expect("a number");
    // The posterior is nearly Gaussian, so that both sides are close to importance sampling.
    for mean in [side("lower"), side("upper")] {
        assert!((mean - found["log_evidence"].as_f64().expect("a number")).abs() < 0.1, "{found}");
    }
    let draws = fs::read_to_string(sandbox.path().join("fit/draws-1.csv")).expect("draws");
    let rows: Vec<&str> = draws.lines().filter(|line| line.starts_with('-')).collect();
    let weight = |row: &&str| row.split(',').nth(1).expect("a weight").to_owned();
    assert_eq!(rows.len(), 1000);
    assert!(rows.iter().all(|row| weight(row) == weight(&rows[0])), "chosen draws have equal weights");
    let said =
        sandbox.succeed(&["fit", "fit/fit.toml", "--resample=never", "--draws", "900", "--out", "plain"]);
    assert!(said.contains("900 independent draws") && said.contains("by annealing"), "{said}");
    let plain = fs::read_to_string(sandbox.path().join("plain/draws-1.csv")).expect("draws");
    let plain: Vec<&str> = plain.lines().filter(|line| line.starts_with('-')).collect();
    assert_ne!(weight(&plain[0]), weight(&plain[1]), "these have weights of their own");
    let saved = sandbox.path().join("fit/fitted/fit.json");
    assert!(saved.exists(), "the library can take it up again");
    sandbox.succeed(&[
        "fit",
        "regression",
        "--method",
        "nuts",
        "--draws",
        "400",
        "--out",
        "fit",
        "--force",
        "-q",
    ]);
    assert!(!saved.exists(), "what belongs to the fit before is gone");
    let text = sandbox.fail(2, &["fit", "regression", "--method", "nuts", "--check", "--out", "other"]);
    assert!(text.contains("`--check` is about a fit"), "{text}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_fit_keeps_its_draws_and_says_that_it_is_unfinished() {
    let sandbox = Sandbox::new();
    let mut command =
        sandbox.command(&["fit", "eight-schools", "--out", "fit", "--set", "learning.tolerance=0"]);
    // So many updates that it cannot end by itself while it is waited for.
    command.args(["learning.most_updates=1000000000", "learning.rows=4096"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    assert!(lines.any(|line| line.expect("text").contains("learning the Gaussian")));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    let said: Vec<String> = lines.map_while(Result::ok).collect();
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(130), "{said:?}");
    let said = said.join("\n");
    assert!(
        said.contains("unfinished fit") && said.contains("hmcvi fit fit/fit.toml --out fit --force"),
        "{said}"
    );
    let record = json(&fs::read_to_string(sandbox.path().join("fit/fit.json")).expect("a record"));
    assert_eq!(record["finished"], false);
    assert_eq!(record["stages"].as_array().expect("stages").last().expect("one")["stopped"], "asked");
    assert!(sandbox.path().join("fit/draws-1.csv").exists());
    assert!(String::from_utf8_lossy(&sandbox.run(&["diagnose", "fit"]).stdout).contains("unfinished fit"));
}

/// What ArviZ is asked to find in the files of a fit and of chains.
const CHECKS: &str = r#"
import json, warnings
warnings.simplefilter("ignore")
import arviz, numpy as np

for folder, chains in [("fit", 1), ("nuts", 4)]:
    record = json.load(open(f"{folder}/fit.json"))
    found = arviz.from_cmdstan(f"{folder}/draws-*.csv")
    assert found.posterior.sizes["chain"] == chains and found.posterior.sizes["draw"] * chains == 1000
    assert found.posterior["theta"].shape == (chains, 1000 // chains, 8)
    arrays = np.load(f"{folder}/draws.npz")
    named = arviz.from_dict(posterior={name: arrays[name] for name in arrays if not name.endswith("__")})
    for row in record["parameters"]:
        name, _, place = row["name"].partition("[")
        place = int(place[:-1]) - 1 if place else ...
        for data in [found, named]:
            values = data.posterior[name].values[..., place] if place is not ... else data.posterior[name].values
            assert abs(values.mean() - row["mean"]) < 1e-9 * row["sd"], (folder, row)
        if chains > 1:
            assert abs(arviz.rhat(found.posterior[name].values[..., place] if place is not ... else found.posterior[name].values) - row["rhat"]) < 1e-6, row
    stats = found.sample_stats
    assert np.isfinite(stats["lp"].values).all()
    if chains == 1:
        assert abs(stats["log_weight"].values.mean() - record["bound"]) < 1e-9
    else:
        assert int(stats["diverging"].values.sum()) == record["divergences"]
print("agreed")
"#;

#[test]
fn arviz_reads_the_draws() {
    let python = std::env::var("HMCVI_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let ready = Command::new(&python).args(["-W", "ignore", "-c", "import numpy, arviz"]).output();
    if !ready.is_ok_and(|output| output.status.success()) {
        return skipped(&format!("`{python}` has no numpy or no arviz (HMCVI_TEST_PYTHON names another)"));
    }
    let sandbox = Sandbox::new();
    // Draws that are chosen by their weights have equal ones, whose mean is not the bound.
    fit(&sandbox, &["eight-schools", "--draws", "1000", "--resample=never", "--out", "fit"]);
    fit(&sandbox, &["eight-schools", "--draws", "1000", "--method", "nuts", "--out", "nuts"]);
    let output =
        Command::new(&python).args(["-c", CHECKS]).current_dir(sandbox.path()).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output.stdout == b"agreed\n", "{said}");
}

const SCHOOLS_DATA: &str =
    r#"{"J": 8, "y": [28, 8, -3, 7, -1, 1, 18, 12], "sigma": [15, 10, 16, 11, 9, 11, 10, 18]}"#;

const SCHOOLS: &str = "data { int<lower=0> J; vector[J] y; vector<lower=0>[J] sigma; }
parameters { real mu; real<lower=0> tau; vector[J] raw; }
transformed parameters { vector[J] theta = mu + tau * raw; }
model {
  mu ~ normal(0, 5);
  tau ~ cauchy(0, 5);
  raw ~ std_normal();
  y ~ normal(theta, sigma);
}
";

/// What the program computes of each draw; the last goes wrong where `mu` is above 4.
const GENERATED: &str = "generated quantities {
  vector[J] log_lik;
  array[J] real y_rep = normal_rng(theta, sigma);
  matrix[2, 2] both = [[mu, tau], [1, 2]];
  vector[150] many = rep_vector(mu, 150);
  real below = 1;
  for (j in 1:J) log_lik[j] = normal_lpdf(y[j] | theta[j], sigma[j]);
  if (mu > 4) reject(\"too large\");
}
";

/// What ArviZ is asked to find in the draws of such a program.
const STAN_CHECKS: &str = r#"
import json, warnings
warnings.simplefilter("ignore")
import arviz, numpy as np

for folder, chains in [("fit", 1), ("nuts", 4)]:
    found = arviz.from_cmdstan(f"{folder}/draws-*.csv", posterior_predictive="y_rep", log_likelihood="log_lik")
    arrays = np.load(f"{folder}/draws.npz")
    same = lambda group, name: np.array_equal(group[name].values, arrays[name], equal_nan=True)
    assert found.posterior["theta"].shape == (chains, 400 // chains, 8)
    assert found.posterior["both"].shape[2:] == (2, 2), found.posterior["both"].shape
    assert same(found.posterior, "both") and same(found.posterior_predictive, "y_rep")
    assert same(found.log_likelihood, "log_lik") and same(found.posterior, "many")
    both, mu = found.posterior["both"].values, found.posterior["mu"].values
    kept = ~np.isnan(both[..., 0, 0])
    assert (kept == (mu <= 4)).all() and 0 < kept.sum() < 400
    assert (both[kept][:, 0, 0] == mu[kept]).all() and (both[kept][:, 1, 0] == 1).all()
    y, sigma = np.array([28, 8, -3, 7, -1, 1, 18, 12]), np.array([15, 10, 16, 11, 9, 11, 10, 18])
    theta = found.posterior["theta"].values[kept]
    expected = -0.5 * ((y - theta) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)
    assert abs(found.log_likelihood["log_lik"].values[kept] - expected).max() < 1e-12
    noise = (found.posterior_predictive["y_rep"].values[kept] - theta) / sigma
    assert abs(noise.mean()) < 4 / noise.size ** 0.5 and abs(noise.var() - 1) < 4 * (2 / noise.size) ** 0.5
    record = json.load(open(f"{folder}/fit.json"))["generated"]
    assert record["failed"]["draws"] == (~kept).sum(), record["failed"]
print("agreed")
"#;

#[test]
fn generated_quantities_are_run_on_the_draws() {
    let sandbox = Sandbox::new();
    let write = |name: &str, text: &str| fs::write(sandbox.path().join(name), text).expect(name);
    write("schools.stan", &format!("{SCHOOLS}{GENERATED}"));
    write("schools.json", SCHOOLS_DATA);
    let common = ["schools.stan", "--data", "schools.json", "--draws", "400"];
    let found = fit(&sandbox, &[&common[..], &["--method", "gaussian", "--out", "fit"]].concat());
    let rows = found["generated"]["rows"].as_array().expect("rows");
    let names: Vec<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names[7..10], ["log_lik[8]", "y_rep[1]", "y_rep[2]"]);
    assert_eq!(names[16..], ["both[1,1]", "both[2,1]", "both[1,2]", "both[2,2]", "below"]);
    assert_eq!(found["generated"]["large"], serde_json::json!([{ "name": "many", "numbers": 150 }]));
    let failed = &found["generated"]["failed"];
    assert!(failed["message"].as_str().is_some_and(|text| text.contains("line 17")), "{failed}");
    let draws = |run: &str| fs::read_to_string(sandbox.path().join(run).join("draws-1.csv")).expect("draws");
    let header = draws("fit").lines().find(|line| !line.starts_with('#')).expect("names").to_owned();
    assert!(header.starts_with("lp__,log_weight__,mu,tau,raw.1,"), "{header}");
    assert!(
        header.contains("theta.8,log_lik.1,") && header.contains("both.1.1,both.2.1,both.1.2,"),
        "{header}"
    );
    sandbox.succeed(&["fit", "fit/fit.toml", "--out", "again", "--quiet"]);
    assert_eq!(draws("fit"), draws("again"), "the seed and the draw say all");
    let said = sandbox.run(&["fit", "fit/fit.toml", "--out", "told"]);
    let said = String::from_utf8_lossy(&said.stderr);
    assert!(said.contains("quantities of") && said.contains("line 17, column"), "{said}");
    fit(&sandbox, &[&common[..], &["--method", "nuts", "--out", "nuts"]].concat());
    sandbox.succeed(&["report", "fit", "nuts", "--out", "page.html", "--quiet"]);
    let page = fs::read_to_string(sandbox.path().join("page.html")).expect("a page");
    assert!(
        page.contains("Generated quantities") && page.contains("y_rep[1]") && page.contains("150 numbers")
    );
    assert!(!page.contains("many[1]"));

    let python = std::env::var("HMCVI_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let ready = Command::new(&python).args(["-W", "ignore", "-c", "import numpy, arviz"]).output();
    if !ready.is_ok_and(|output| output.status.success()) {
        return skipped(&format!("`{python}` has no numpy or no arviz (HMCVI_TEST_PYTHON names another)"));
    }
    let output = Command::new(&python)
        .args(["-c", STAN_CHECKS])
        .current_dir(sandbox.path())
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output.stdout == b"agreed\n", "{said}");
}

#[test]
fn stan_programs_are_fitted_as_they_are() {
    let sandbox = Sandbox::new();
    let write = |name: &str, text: &str| fs::write(sandbox.path().join(name), text).expect(name);
    write("schools.stan", SCHOOLS);
    write("schools.json", SCHOOLS_DATA);
    let found =
        fit(&sandbox, &["schools.stan", "--data", "schools.json", "--method", "gaussian", "--out", "stan"]);
    // A Cauchy distribution on positive numbers has half of the mass that the half-Cauchy of the built-in model has.
    let built_in = fit(&sandbox, &["eight-schools", "--method", "gaussian", "--out", "built-in"]);
    let of = |record: &Value, key: &str| record[key].as_f64().expect("a number");
    let less = of(&built_in, "log_evidence") - of(&found, "log_evidence");
    let error = of(&built_in, "log_evidence_standard_error").hypot(of(&found, "log_evidence_standard_error"));
    assert!((less - 2f64.ln()).abs() < 4.0 * error, "{less} ± {error}");
    assert_eq!(found["model"], "schools");
    assert!(row(&found, "theta[8]")["mean"].is_f64() && row(&found, "tau")["q05"].as_f64() > Some(0.0));
    // The settings name the program.
    sandbox.succeed(&["fit", "stan/fit.toml", "--out", "again", "--quiet"]);
    let draws = |run: &str| fs::read_to_string(sandbox.path().join(run).join("draws-1.csv")).expect("draws");
    assert_eq!(draws("stan"), draws("again"));
    write("wrong.stan", &SCHOOLS.replace("std_normal", "std_nromal"));
    let refused = sandbox.fail(2, &["fit", "wrong.stan", "--data", "schools.json"]);
    assert!(
        refused.contains("wrong.stan") && refused.contains("7") && refused.contains("std_normal"),
        "{refused}"
    );
    let no_data = sandbox.fail(3, &["fit", "schools.stan"]);
    assert!(no_data.contains("`J`") && no_data.contains("`--data FILE.json`"), "{no_data}");
    write("idle.stan", "parameters {\n  real x;\n  real<lower=0> idle;\n}\nmodel { x ~ normal(0, 1); }");
    let idle = sandbox.fail(2, &["fit", "idle.stan"]);
    assert!(idle.contains("line 3") && idle.contains("`idle`") && idle.contains("improper"), "{idle}");
    write("nothing.stan", "data { real x; }");
    write("x.json", "{\"x\": Infinity}");
    let nothing = sandbox.fail(3, &["fit", "nothing.stan", "--data", "x.json"]);
    assert!(nothing.contains("no parameters") && nothing.contains("parameters { ... }"), "{nothing}");
}
