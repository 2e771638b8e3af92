//! Check what `hmcvi hmc` says of its own chains: its defaults pass, and what goes wrong is named by its cause.

mod common;

use common::Sandbox;
use serde_json::Value;

/// Output and exit code of a run on a landscape.
fn hmc(landscape: &str, arguments: &[&str]) -> (Value, i32, String) {
    let all = [&["hmc", "--json", "--landscape", landscape], arguments].concat();
    let output = Sandbox::new().run(&all);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let found = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{all:?}: {e}: {errors}"));
    (found, output.status.code().expect("an exit code"), errors)
}

#[test]
fn defaults_pass_their_own_checks_on_every_landscape() {
    for landscape in ["craters", "gaussian", "banana", "mixture"] {
        let (found, code, errors) = hmc(landscape, &[]);
        assert_eq!((code, &found["satisfactory"]), (0, &Value::Bool(true)), "{landscape}: {errors}");
        assert_eq!(found["problems"].as_array().map(Vec::len), Some(0), "{landscape}");
        for c in found["coordinates"].as_array().expect("two coordinates") {
            let number = |key: &str| c[key].as_f64().expect("a number");
            assert!(number("r_hat") <= 1.01 && number("ess_bulk").min(number("ess_tail")) >= 400.0, "{c}");
        }
    }
}

/// Checks that a run fails with exit code 1, that its results are printed, and that the first problem and its advice
/// are these.
#[track_caller]
fn assert_problem(landscape: &str, arguments: &[&str], finding: &str, advice: &[&str]) {
    let (found, code, errors) = hmc(landscape, arguments);
    assert_eq!((code, &found["satisfactory"]), (1, &Value::Bool(false)), "{arguments:?}: {errors}");
    assert!(found["coordinates"].as_array().is_some_and(|c| c.len() == 2), "{found}");
    let problem = &found["problems"][0];
    let text = |key: &str| problem[key].as_str().unwrap_or_default();
    assert!(text("finding").contains(finding), "{arguments:?}: {problem}");
    assert!(advice.iter().all(|a| text("advice").contains(a)), "{arguments:?}: {problem}");
    assert!(errors.contains(finding), "{errors}");
}

#[test]
fn divergences_call_for_smaller_steps_and_not_for_longer_chains() {
    let arguments = ["--steps", "2000", "--step-size", "3"];
    assert_problem(
        "gaussian",
        &arguments,
        "diverged",
        &["a smaller --step-size (now 3.000)", "--leapfrog-steps"],
    );
    let (found, ..) = hmc("gaussian", &arguments);
    let advice: Vec<&str> =
        found["problems"].as_array().expect("a list").iter().filter_map(|p| p["advice"].as_str()).collect();
    assert!(advice.len() > 1 && advice.iter().all(|a| !a.contains("--steps")), "{advice:?}");
}

#[test]
fn proposals_that_are_rejected_call_for_smaller_steps() {
    // Stable, but far too coarse for the narrow craters.
    let arguments = ["--steps", "2000", "--step-size", "0.9", "--leapfrog-steps", "30"];
    assert_problem("craters", &arguments, "of its proposals", &["a smaller --step-size (now 0.900)"]);
}

#[test]
fn few_draws_call_for_more_of_them() {
    assert_problem("banana", &["--steps", "20"], "", &["more --steps (now 20)"]);
    assert_problem("craters", &["--steps", "2000"], "the chains do not agree", &["more --steps (now 2000)"]);
}

#[test]
fn the_text_shows_results_and_problems() {
    let output =
        Sandbox::new().run(&["hmc", "--landscape", "gaussian", "--steps", "2000", "--step-size", "3"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    for part in
        ["acceptance rate", "R-hat", "bulk ESS", "PROBLEM", "diverged", "next: use a smaller --step-size"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("good  "), "{text}");
}
