//! Fits that are right agree with NUTS, wrong ones differ, and chains that cannot be trusted say so.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use std::ops::ControlFlow;

use hmcvi::bayes::{Bound, Covariance, Data, Fit, Model, half_cauchy, normal};
use hmcvi_nuts::{Check, CheckSettings, Nuts, Verdict, check};

fn checked(bound: &Bound, fit: &Fit, nuts: &Nuts, settings: &CheckSettings) -> Check {
    let fitted = bound.fit(fit).expect("a fit");
    check(&fitted, nuts, settings, |_| ControlFlow::Continue(())).expect("a check")
}

/// `x` and `y` with a correlation of 0.986: independent Gaussians are far too narrow.
fn correlated() -> Bound {
    let model = Model::new(|m| {
        let x = m.sample("x", normal(1.0, 2.0));
        m.sample("y", normal(x * 1.5, 0.5));
    });
    model.bind(&Data::new()).expect("a model")
}

#[test]
fn a_gaussian_agrees_and_one_without_correlations_differs() {
    let nuts = Nuts { draws: 2000, ..Nuts::default() };
    let (settings, plain) =
        (CheckSettings { cold: true, ..CheckSettings::default() }, Fit::default().without_chain());
    let right = checked(&correlated(), &plain, &nuts, &settings);
    assert!(right.trust.is_good(), "{:?}", right.trust);
    assert_eq!(right.verdict(), Some(Verdict::Agrees), "{:?}", right.elements);
    assert!(right.trust.r_hat_with_cold.is_some() && right.differing().is_empty());
    let narrow = Fit { gaussian: Covariance::MeanField, ..plain };
    let wrong = checked(&correlated(), &narrow, &nuts, &settings);
    // The chains begin with the wrong fit, and are not misled by it.
    assert!(wrong.trust.is_good(), "{:?}", wrong.trust);
    assert_eq!(wrong.verdict(), Some(Verdict::Differs));
    for element in wrong.differing() {
        // √(1 - 0.986²) is 0.164 = 1 - 0.836.
        assert!((element.sd.value + 0.836).abs() < 0.02, "{element:?}");
        assert!(
            (element.chains.1 / if element.name == "x" { 2.0 } else { 3.041 } - 1.0).abs() < 0.1,
            "{element:?}"
        );
    }
    assert_eq!(wrong.differing().len(), 2);
}

/// Two modes, 40 standard deviations apart, of which a fit finds one.
#[test]
fn a_mode_that_the_fit_misses_is_found_by_chains_that_begin_elsewhere() {
    let model = Model::new(|m| {
        let x = m.sample("x", normal(0.0, 10.0));
        let near = |centre: f64| normal(centre, 0.05).log_prob(x).exp();
        m.add_log_density("modes", (near(1.0) + near(-1.0)).log());
    });
    let bound = model.bind(&Data::new()).expect("a model");
    let (nuts, plain) = (Nuts { chains: 6, ..Nuts::default() }, Fit::default().without_chain());
    let alone = checked(&bound, &plain, &nuts, &CheckSettings::default());
    assert_eq!(alone.trust.r_hat_with_cold, None, "it is not checked");
    let both = checked(&bound, &plain, &nuts, &CheckSettings { cold: true, ..CheckSettings::default() });
    assert_eq!(both.verdict(), None, "{:?}", both.trust);
    assert!(
        both.trust.doubts.iter().any(|doubt| doubt.contains("began elsewhere")),
        "{:?}",
        both.trust.doubts
    );
}

#[test]
fn chains_that_fail_are_no_referee() {
    let model = Model::new(|m| {
        let v = m.sample("v", normal(0.0, 3.0));
        m.sample("x", normal(0.0, (v * 0.5).exp()).shape(9));
    });
    let bound = model.bind(&Data::new()).expect("a model");
    let found = checked(&bound, &Fit::default().without_chain(), &Nuts::default(), &CheckSettings::default());
    assert_eq!(found.verdict(), None, "{:?}", found.trust);
    assert!(!found.trust.doubts.is_empty() && !found.elements.is_empty());
    let few = Nuts { draws: 20, ..Nuts::default() };
    let found = checked(&correlated(), &Fit::default().without_chain(), &few, &CheckSettings::default());
    assert!(found.trust.doubts.iter().any(|doubt| doubt.contains("make more draws")), "{:?}", found.trust);
}

#[test]
fn a_chain_in_the_bound_brings_eight_schools_closer_to_nuts() {
    let model = Model::new(|m| {
        let (y, sd) = (m.data("y"), m.data("sigma"));
        let mu = m.sample("mu", normal(0.0, 5.0));
        let tau = m.sample("tau", half_cauchy(5.0));
        let raw = m.sample("raw", normal(0.0, 1.0).shape(8));
        let theta = m.deterministic("theta", mu + tau * raw);
        m.observe("y", normal(theta, sd), y);
    });
    let data = Data::new()
        .with("y", [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
        .with("sigma", [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]);
    let bound = model.bind(&data).expect("a model");
    let nuts = Nuts { target_accept: 0.95, seed: 2, ..Nuts::default() };
    let distance = |fit: &Fit| {
        let found = checked(&bound, fit, &nuts, &CheckSettings::default());
        assert!(found.trust.is_good(), "{:?}", found.trust);
        assert_eq!(found.elements.len(), 18);
        found.elements.iter().map(|element| element.wasserstein.value).sum::<f64>()
    };
    let settings = Fit { most_updates: 900, ..Fit::default() };
    let (alone, chain) = (distance(&settings.clone().without_chain()), distance(&settings));
    assert!(chain < alone, "{chain} with, {alone} without");
}
