//! A chain that is written as a loop is the chain that is written out: the same draws, terms, reports and derivatives.

mod common;

use std::rc::Rc;

use common::model::{STEP_SIZE, chain, image_input, images, values};
use common::{Compiled, Outputs, combinations, describe, normals, per_row};
use hmcvi::config::RunSpec;
use hmcvi::family::{
    Acceptance, AcceptanceGradient, Bridge, Chain, ChainSettings, Draw, Entropies, Mass, Reverse, StepSize,
    Writing,
};
use hmcvi::nn::{Activation, Parameters};
use hmcvi_graph::{Expr, Graph, Run};

const ROWS: usize = 14;
/// Of values of the order of one, each the end of a few hundred operations in f64.
const TOLERANCE: f64 = 1e-9;

/// All that a chain tells, by name.
fn told<'g>(chain: Chain<'g>) -> Vec<(String, Expr<'g>)> {
    let mut all: Vec<(String, Expr<'g>)> =
        chain.terms.named().into_iter().map(|(name, term)| (name.to_owned(), per_row(term))).collect();
    for (t, arrival) in chain.arrivals.iter().enumerate() {
        for (name, value) in [("v", arrival.v), ("seen", arrival.seen), ("log_prob", arrival.log_prob)] {
            let sum = (value * (1.0 + value.abs())).sum_cols();
            all.push((format!("{name} {t}"), per_row(sum)));
        }
    }
    all.extend(chain.log_decisions.map(|decisions| ("decisions".into(), per_row(decisions))));
    let draw = Draw::from(chain);
    all.extend([("end".to_owned(), draw.z.sum_cols()), ("dropped".to_owned(), per_row(draw.dropped))]);
    all.extend(draw.path.iter().enumerate().map(|(t, z)| (format!("path {t}"), per_row(z.sum_cols()))));
    for (name, value) in draw.look.iter().chain(&draw.diverging.map(|d| ("diverging", d))) {
        all.push((format!("look {name}"), per_row(value.sum_cols())));
    }
    for measure in draw.measures.iter().chain(&draw.details) {
        all.push((format!("measure {}", measure.sum), per_row(measure.value)));
    }
    all.push(("loss".to_owned(), per_row(draw.loss.unwrap_or(-draw.bound))));
    all
}

/// What a chain tells, and the derivatives of its loss.
fn found(settings: ChainSettings, entropies: Entropies) -> Outputs {
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let chain = chain(&parameters, image_input(&graph), settings, entropies, Activation::Tanh);
    assert_eq!(chain.steps.is_empty(), settings.writing == Writing::Loop, "{}", describe(&settings));
    let decided = chain.log_decisions.map(per_row);
    let mut outputs = told(chain);
    let loss = outputs[outputs.len() - 1].1;
    let loss = decided.map_or(loss, |decided| loss + decided * 0.3).mean_rows();
    let (names, wrt): (Vec<String>, Vec<Expr<'_>>) = parameters.all().into_iter().unzip();
    let gradients = graph.grad(loss, &wrt);
    outputs.extend(names.iter().map(|name| format!("by {name}")).zip(gradients));
    let outputs: Vec<(&str, Expr<'_>)> =
        outputs.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let mut store = values(&parameters, 11, STEP_SIZE);
    for (name, _) in parameters.all() {
        if name.contains("change") || name.contains("logits") {
            let tensor = store.get_mut(&name).expect("it has first values");
            tensor.values.iter_mut().zip(normals(3, 64)).for_each(|(x, n)| *x = 0.2 * n);
        }
    }
    let images = images(5, ROWS);
    let run = Run { rows: ROWS, inputs: &[("x", &images)], seed: 6, ..Run::default() };
    Compiled::new(&graph, ROWS, &outputs).run(&mut store, &run)
}

fn compare(settings: ChainSettings, entropies: Entropies) {
    let of = |writing| found(ChainSettings { writing, ..settings }, entropies);
    let (looped, unrolled) = (of(Writing::Loop), of(Writing::Unrolled));
    assert_eq!(looped.len(), unrolled.len());
    for (name, expected) in &unrolled {
        let largest = expected.iter().filter(|x| x.is_finite()).fold(1.0f64, |m, x| m.max(x.abs()));
        for (i, (a, b)) in looped[name].iter().zip(expected).enumerate() {
            let what = format!("{} {entropies:?}: {name}[{i}]", describe(&settings));
            assert!(a == b || (a - b).abs() < TOLERANCE * largest, "{what}: {a}, not {b}");
        }
    }
    let moved = unrolled.iter().any(|(name, x)| name.starts_with("by ") && x.iter().any(|x| x.abs() > 1e-3));
    assert!(moved, "{}: derivatives are nothing", describe(&settings));
}

#[test]
fn chains_of_the_paper() {
    for settings in combinations().into_iter().filter(|settings| settings.hmc_steps > 1) {
        compare(settings, Entropies::ClosedForm);
    }
}

#[test]
fn annealed_tempered_and_sampled_chains() {
    let base = ChainSettings { hmc_steps: 4, leapfrog_steps: 1, ..ChainSettings::default() };
    let annealed = ChainSettings { bridge: Bridge::Learnt, reverse: Reverse::Balance, ..base };
    let underdamped = ChainSettings { partial_momentum: true, ..annealed };
    let accepting = ChainSettings { acceptance: Acceptance::Simple, ..annealed };
    for settings in [
        annealed,
        underdamped,
        ChainSettings { leapfrog_steps: 3, per_step: true, ..underdamped },
        ChainSettings { reverse: Reverse::Network, bridge: Bridge::Network, ..annealed },
        ChainSettings { reverse: Reverse::Network, mass: Mass::Network, per_step: true, ..underdamped },
        ChainSettings { step_size: StepSize::PerDimension, per_step: true, ..base },
        ChainSettings {
            mass: Mass::Network,
            step_size: StepSize::Network,
            bridge: Bridge::Network,
            per_step: true,
            per_step_network: true,
            ..base
        },
        ChainSettings { tempering: true, leapfrog_steps: 2, partial_momentum: true, ..base },
        ChainSettings { acceptance_gradient: AcceptanceGradient::Score, ..accepting },
        ChainSettings { acceptance: Acceptance::Network, partial_momentum: true, ..base },
        ChainSettings { reverse: Reverse::Flow, partial_momentum: true, ..base },
    ] {
        compare(settings, Entropies::ClosedForm);
        compare(settings, Entropies::Sampled);
    }
}

#[test]
fn what_cannot_be_a_loop_is_refused() {
    for others in [
        &["chain.reverse=score"][..],
        &["chain.reverse_networks=each"],
        &["chain.acceptance=simple", "chain.acceptance_gradient=marginal"],
        &["family.draws=4", "family.gradient=doubly-reparameterised"],
    ] {
        let spec = RunSpec::default();
        let with = |writing: &'static str| spec.with_assignments(&[others, &[writing]].concat());
        let error = with("chain.writing=loop").expect_err("it cannot be a loop").to_string();
        assert!(error.contains("`chain.writing` is \"loop\"") && error.contains("\"unrolled\""), "{error}");
        with("chain.writing=automatic").expect("it is written out");
    }
}

#[test]
fn simulations_that_diverge() {
    // With steps this long some rows leave the range of numbers, and others stay in it.
    let base = ChainSettings { hmc_steps: 3, leapfrog_steps: 3, ..ChainSettings::default() };
    let accepting = ChainSettings { acceptance: Acceptance::Simple, ..base };
    for settings in [base, accepting, ChainSettings { bridge: Bridge::Learnt, ..base }] {
        let told_by = |writing| {
            let graph = Graph::new();
            let parameters = Rc::new(Parameters::new(&graph));
            let settings = ChainSettings { writing, ..settings };
            let chain =
                chain(&parameters, image_input(&graph), settings, Entropies::ClosedForm, Activation::Tanh);
            let diverging = per_row(chain.diverging);
            let (dropped, end) = (per_row(chain.dropped), chain.end.sum_cols());
            let outputs = [("diverging", diverging), ("dropped", dropped), ("end", end)];
            let mut store = values(&parameters, 11, 400.0);
            let images = images(5, ROWS);
            let run = Run { rows: ROWS, inputs: &[("x", &images)], seed: 6, ..Run::default() };
            Compiled::new(&graph, ROWS, &outputs).run(&mut store, &run)
        };
        let (looped, unrolled) = (told_by(Writing::Loop), told_by(Writing::Unrolled));
        assert_eq!(looped["diverging"], unrolled["diverging"]);
        assert_eq!(looped["dropped"], unrolled["dropped"]);
        assert!(looped["diverging"].contains(&1.0), "{}: some rows diverge", describe(&settings));
        for (a, b) in looped["end"].iter().zip(&unrolled["end"]) {
            assert!((a - b).abs() < 1e-6 * b.abs().max(1.0), "{}: {a}, not {b}", describe(&settings));
        }
    }
}
