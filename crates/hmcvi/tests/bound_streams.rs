//! Run two chains in one graph, and check that they are two: different expressions with independent noise.

mod common;

use std::rc::Rc;

use common::model::{STEP_SIZE, chain, image_input, images, values};
use common::{STANDARD_ERRORS, evaluate, per_row};
use hmcvi::family::{Acceptance, Chain, ChainSettings, Entropies};
use hmcvi::nn::{Activation, Parameters};
use hmcvi_graph::{CpuOptions, Expr, Graph, Run};

const ROWS: usize = 2000;

/// All draws of a chain: start, momenta, and the decisions of its acceptance steps.
fn draws<'g>(chain: &Chain<'g>) -> Vec<(String, Expr<'g>)> {
    let mut all = vec![("start".to_owned(), chain.start)];
    for (t, step) in chain.steps.iter().enumerate() {
        all.push((format!("u{t}"), step.info.u));
        all.push((format!("accepted{t}"), per_row(step.info.accepted)));
    }
    all
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let (ma, mb) = (mean(a), mean(b));
    let covariance = |x: &[f64], mx: f64, y: &[f64], my: f64| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum::<f64>()
    };
    covariance(a, ma, b, mb) / (covariance(a, ma, a, ma) * covariance(b, mb, b, mb)).sqrt()
}

#[test]
fn two_chains_in_one_graph_have_independent_draws() {
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let settings = ChainSettings {
        hmc_steps: 2,
        leapfrog_steps: 2,
        acceptance: Acceptance::Simple,
        ..ChainSettings::default()
    };
    let infer = || chain(&parameters, image_input(&graph), settings, Entropies::ClosedForm, Activation::Tanh);
    let (one, other) = (infer(), infer());
    let (first, second) = (draws(&one), draws(&other));
    let mut program =
        graph.program().output("total", one.terms.total()).output("other total", other.terms.total());
    for (which, draws) in [("first", &first), ("second", &second)] {
        for (name, draw) in draws {
            program = program.output(&format!("{which} {name}"), *draw);
        }
    }
    let mut executable =
        program.compile().expect("two chains make a program").on_cpu::<f64>(CpuOptions::for_rows(ROWS));
    // One image for all rows: what differs between rows is noise.
    let x: Vec<f64> = images(5, 1).repeat(ROWS);
    let mut store = values(&parameters, 4, STEP_SIZE);
    executable
        .run(&mut store, &Run { rows: ROWS, inputs: &[("x", &x)], seed: 3, ..Run::default() })
        .expect("the run is complete");
    let output = |name: &str| executable.output(name).expect("it is an output").to_vec();
    assert!(output("total") != output("other total"), "two estimates of the bound, not one twice");
    // Under independence a correlation of so many pairs has the standard error 1/√rows.
    let limit = STANDARD_ERRORS / (ROWS as f64).sqrt();
    for (name, draw) in &first {
        let (a, b) = (output(&format!("first {name}")), output(&format!("second {name}")));
        assert!(a != b, "{name}: the same draws twice");
        for column in 0..draw.cols() {
            let of =
                |x: &[f64]| -> Vec<f64> { x.iter().skip(column).step_by(draw.cols()).copied().collect() };
            let r = correlation(&of(&a), &of(&b));
            assert!(r.abs() < limit, "{name}, column {column}: correlation {r}");
        }
    }
}

#[test]
fn streams_are_given_out_once_and_begin_where_named_ones_end() {
    let graph = Graph::new();
    assert_eq!(graph.new_streams(8), 16..24, "the first chain of a graph draws as it always has");
    assert_eq!(graph.new_streams(1), 24..25);
    let (a, b) = (graph.normal(graph.new_streams(1).start, 1), graph.normal(graph.new_streams(1).start, 1));
    let difference = evaluate(&graph, 100, &[], &[("difference", a - b)]);
    assert!(difference["difference"].iter().all(|d| *d != 0.0));
}
