//! Runs of chains: repeated, stopped and refused.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use std::ops::ControlFlow;

use hmcvi::bayes::{Bound, Data, Model, normal};
use hmcvi_nuts::{Nuts, NutsError, Progress, Sampled, Start};

fn pair() -> Bound {
    let model = Model::new(|m| {
        let x = m.sample("x", normal(0.0, 1.0).shape(2));
        m.deterministic("sum", x.sum());
    });
    model.bind(&Data::new()).expect("a model")
}

fn short() -> Nuts {
    Nuts { chains: 3, warm_up: 100, warm_up_after_fit: 50, draws: 40, seed: 1, ..Nuts::default() }
}

fn run(nuts: &Nuts) -> Sampled {
    nuts.run(&pair(), None, |_| ControlFlow::Continue(())).expect("draws")
}

fn refused(nuts: &Nuts, bound: &Bound, start: Option<&Start>) -> NutsError {
    nuts.run(bound, start, |_| ControlFlow::Continue(())).expect_err("an error")
}

#[test]
fn the_same_seed_gives_the_same_draws_on_any_number_of_threads() {
    let first = run(&Nuts { threads: 1, ..short() });
    assert_eq!(first.chains, run(&Nuts { threads: 3, ..short() }).chains);
    assert_ne!(first.chains, run(&Nuts { seed: 2, ..short() }).chains);
    assert_ne!(first.chains[0], first.chains[1]);
    assert_ne!(first.chains[1], first.chains[2]);
}

#[test]
fn every_draw_is_told_and_has_its_values() {
    let mut told: Vec<Progress> = Vec::new();
    let sampled = short().run(&pair(), None, |progress| {
        told.push(*progress);
        ControlFlow::Continue(())
    });
    let sampled = sampled.expect("draws");
    assert_eq!(sampled.names, ["x[1]", "x[2]", "sum"]);
    assert!(!sampled.stopped);
    for (number, chain) in sampled.chains.iter().enumerate() {
        assert_eq!(
            [chain.depths.len(), chain.steps.len(), chain.energies.len(), chain.diverging.len()],
            [40; 4]
        );
        for (z, values) in chain.unconstrained.iter().zip(&chain.values) {
            assert_eq!(values, &[z[0], z[1], z[0] + z[1]]);
        }
        let mine: Vec<&Progress> = told.iter().filter(|progress| progress.chain == number).collect();
        assert_eq!(mine.len(), 140);
        assert!(mine.iter().enumerate().all(|(i, p)| (p.done, p.of, p.warming_up) == (i + 1, 140, i < 100)));
    }
}

#[test]
fn a_fit_shortens_the_warm_up() {
    let start = Start::new(&[0.0; 2], &[1.0, 0.0, 0.0, 1.0]).expect("a Gaussian");
    let mut of = 0;
    let sampled = short().run(&pair(), Some(&start), |progress| {
        of = progress.of;
        ControlFlow::Continue(())
    });
    assert_eq!((of, sampled.expect("draws").chains[2].values.len()), (90, 40));
}

#[test]
fn a_run_that_is_stopped_keeps_its_draws() {
    let endless = Nuts { draws: 100_000_000, threads: 2, ..short() };
    let stop = |progress: &Progress| match progress.done < 160 {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    let sampled = endless.run(&pair(), None, stop).expect("draws");
    assert!(sampled.stopped);
    let lengths: Vec<usize> = sampled.chains.iter().map(|chain| chain.values.len()).collect();
    assert!(lengths.iter().any(|length| *length >= 60), "{lengths:?}");
    assert!(lengths.iter().all(|length| *length < 100_000_000), "{lengths:?}");
    // Two chains ran; the third had not begun.
    assert_eq!((lengths.len(), lengths[2]), (3, 0));
    let summary = sampled.summary();
    assert_eq!(summary.len(), 3);
    assert!(summary.iter().all(|row| row.mean.is_finite() && row.r_hat.is_some()), "{summary:?}");
    // Stopped during the warm-up, there is nothing to summarise.
    let warming = Nuts { warm_up: 100_000_000, ..endless };
    let sampled = warming.run(&pair(), None, stop).expect("no draws, but no error");
    assert!(sampled.stopped && sampled.chains.len() == 3);
    assert_eq!(sampled.summary(), []);
}

#[test]
fn where_there_is_no_density_the_error_says_so() {
    let model = Model::new(|m| {
        let x = m.sample("x", normal(0.0, 1.0));
        m.add_log_density("nowhere", (-1.0 - x.square()).log());
    });
    let bound = model.bind(&Data::new()).expect("a model");
    let cold = refused(&short(), &bound, None).to_string();
    for part in [
        "100 random places",
        "between -2 and 2",
        "the log density is NaN",
        "`nowhere` is not finite",
        "Check that the data",
    ] {
        assert!(cold.contains(part), "{cold}");
    }
    let start = Start::new(&[0.0], &[1.0]).expect("a Gaussian");
    let warm = refused(&short(), &bound, Some(&start)).to_string();
    assert!(warm.contains("draws of the Gaussian that was given"), "{warm}");
}

#[test]
fn a_density_in_a_corner_is_found_by_trying_again() {
    let model = Model::new(|m| {
        let x = m.sample("x", normal(0.0, 1.0).shape(3));
        m.add_log_density("corner", x.log());
    });
    let bound = model.bind(&Data::new()).expect("a model");
    let sampled = short().run(&bound, None, |_| ControlFlow::Continue(())).expect("draws");
    assert!(sampled.chains.iter().flat_map(|chain| &chain.values).flatten().all(|x| *x > 0.0));
}

#[test]
fn settings_that_mean_nothing_are_refused_by_name() {
    let message = |nuts: Nuts| refused(&nuts, &pair(), None).to_string();
    assert_eq!(
        message(Nuts { chains: 0, ..short() }),
        "`chains` is 0; allowed is a number from 1 to 1000000000"
    );
    assert!(message(Nuts { draws: 0, ..short() }).starts_with("`draws` is 0"));
    assert!(message(Nuts { warm_up: usize::MAX, ..short() }).starts_with("`warm_up` is"));
    for target_accept in [0.0, 1.0, f64::NAN] {
        assert!(message(Nuts { target_accept, ..short() }).starts_with("`target_accept` is"));
    }
    for max_depth in [0, 31] {
        assert!(message(Nuts { max_depth, ..short() }).starts_with("`max_depth` is"));
    }
    let start = Start::new(&[0.0], &[1.0]).expect("a Gaussian");
    let message = refused(&short(), &pair(), Some(&start)).to_string();
    assert_eq!(
        message,
        "start: the Gaussian has 1 dimensions, but the variables of the model are made from 2 real numbers"
    );
}
