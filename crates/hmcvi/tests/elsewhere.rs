//! A part of the posterior that draws miss is found from other places, with a bound on what is there.

use hmcvi::bayes::{Bound, Data, Draws, Fit, Fitted, Model, examples, normal};

/// Two Gaussians in two dimensions with `share` of the mass in the left one, `apart` from each other.
fn two_modes(share: f64, apart: f64) -> Bound {
    let model = Model::new(move |m| {
        m.sample("x", normal(0.0, 1.0));
        let z = m.sample("z", normal(0.0, 1.0));
        // The prior is taken back: what is left is the mixture.
        let left = -0.5 * (z + 0.5 * apart).square() + share.ln();
        let right = -0.5 * (z - 0.5 * apart).square() + (1.0 - share).ln();
        let most = left.max(right);
        let both = most + ((left - most).exp() + (right - most).exp()).log();
        m.add_log_density("two modes", both + 0.5 * z.square());
    });
    model.bind(&Data::new()).expect("a model")
}

fn fitted(bound: &Bound, seed: u64) -> (Fitted, Draws) {
    let fitted = bound.fit(&Fit { seed, ..Fit::default() }).expect("a fit");
    let draws = fitted.draws(2000, seed).expect("draws");
    (fitted, draws)
}

#[test]
fn a_second_mode_is_found_with_its_share() {
    for (share, seed) in [(0.5, 1), (0.2, 2), (0.8, 3)] {
        let (fitted, draws) = fitted(&two_modes(share, 20.0), seed);
        let left = draws.element("z").expect("z").iter().filter(|z| **z < 0.0).count();
        assert!(left == 0 || left == draws.len(), "the fit is in one mode: {left}");
        let missed = if left == 0 { share } else { 1.0 - share };
        let sought = fitted.seek_elsewhere(&draws, &mut |_, _| true).expect("a search").expect("it ends");
        let found = sought.found.unwrap_or_else(|| panic!("the mode with {missed} of the mass is not found"));
        // The density integrates to 1. A Gaussian mode within its ellipsoid is bounded tightly, up to what is outside.
        let (most, error) = (missed.ln(), found.standard_error);
        assert!(found.log_evidence < most + 4.0 * error, "{} of {most}", found.log_evidence);
        assert!(found.log_evidence > most - 0.02 - 4.0 * error, "{} of {most}", found.log_evidence);
        assert!(found.share <= 1.02 * missed / (1.0 - missed), "{}", found.share);
        let z = found.middle.iter().find(|(name, _)| name == "z").expect("z").1;
        assert!((z.abs() - 10.0).abs() < 0.5 && (z < 0.0) == (left == 0), "the middle is {z}");
    }
}

#[test]
fn posteriors_with_one_mode_have_nothing_elsewhere() {
    // A funnel and a posterior with one among them: walks end in other places there, where draws come, too.
    for name in ["eight-schools", "funnel"] {
        let example = examples::find(name).expect("a model");
        let data = example.data().expect("its data").unwrap_or_default();
        let bound = example.model().bind(&data).expect("a model with its data");
        let (fitted, draws) = fitted(&bound, 1);
        let sought = fitted.seek_elsewhere(&draws, &mut |_, _| true).expect("a search").expect("it ends");
        assert!(sought.walks > 0 && sought.found.is_none(), "{name}: {sought:?}");
    }
}

#[test]
fn a_search_stops_when_it_is_told() {
    let (fitted, draws) = fitted(&two_modes(0.5, 20.0), 1);
    let mut asked = 0;
    let sought = fitted.seek_elsewhere(&draws, &mut |done, _| {
        asked += 1;
        done < 1
    });
    assert_eq!(sought.expect("no error"), None);
    assert!(asked > 1);
}
