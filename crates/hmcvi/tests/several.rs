//! Hold bounds by several draws against exact evidences, and the estimates of their derivatives against each other.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use common::linear::{Dynamics, OBSERVED, correlated, diagonal, observations};
use common::{Compiled, STANDARD_ERRORS, STENCIL, assert_mean, mean_and_error, per_row};
use hmcvi::dist::Gaussian;
use hmcvi::family::{
    Acceptance, Bridge, ChainSettings, Combine, Draw, Entropies, Family, HmcChain, Reverse, Several,
    StartKind, Started, Target, WeightGradient,
};
use hmcvi::nn::{Activation, Initial, Parameters};
use hmcvi::potential::{LinearGaussian, Potential};
use hmcvi_graph::{Expr, Graph, Run, Store};

use Combine::Importance;
use WeightGradient::{DoublyReparameterised, Plain};

/// A chain from a Gaussian that is linear in the data.
fn chain(settings: ChainSettings) -> Arc<HmcChain> {
    Arc::new(HmcChain { settings, encoder: Some(vec![]), hidden: vec![], activation: Activation::Tanh })
}

fn gaussian() -> Arc<HmcChain> {
    chain(ChainSettings::basic())
}

/// Parameters that are not those of the posterior.
fn some_values(parameters: &Parameters<'_>) -> Store<f64> {
    let mut store = parameters.initial_values::<f64>(4);
    if let Some(size) = store.get_mut("log_step_size") {
        size.values.fill(0.4f64.ln());
    }
    // What flows and mixtures change is not small.
    for (name, _) in parameters.all().into_iter().filter(|(name, _)| name.ends_with(".factor")) {
        store.get_mut(&name).expect("it has first values").values.fill(0.5);
    }
    store
}

/// Draws for rows of a linear-Gaussian model.
fn draw<'g>(parameters: &Rc<Parameters<'g>>, model: &LinearGaussian, family: &dyn Family) -> Draw<'g> {
    let x = parameters.graph().batch_input("x", OBSERVED);
    let potential = model.potential(parameters.graph(), x);
    family.draw(&Target { parameters, potential: &potential, context: x })
}

/// Bounds of rows, and their exact evidences.
fn bounds(
    model: &LinearGaussian,
    family: &dyn Family,
    rows: usize,
    values: impl Fn(&Parameters<'_>) -> Store<f64>,
) -> (Vec<f64>, Vec<f64>) {
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let draw = draw(&parameters, model, family);
    let terms = draw.terms.iter().map(|(_, term)| *term).reduce(|a, b| a + b).expect("there are terms");
    let x = observations(model, 17, rows);
    let run = Run { rows, inputs: &[("x", &x)], seed: 3, ..Run::default() };
    let outputs = [("bound", draw.bound), ("terms", per_row(terms))];
    let found = Compiled::new(&graph, rows, &outputs).run(&mut values(&parameters), &run);
    common::assert_close("the terms' sum", &found["terms"], &found["bound"], 1e-9);
    (found["bound"].clone(), x.chunks(OBSERVED).map(|x| model.log_evidence(x)).collect())
}

#[test]
fn more_draws_give_a_tighter_bound() {
    let model = correlated();
    let settings = ChainSettings { hmc_steps: 2, leapfrog_steps: 2, ..ChainSettings::default() };
    for family in [gaussian(), chain(settings)] {
        let (mut last, mut first) = (f64::NEG_INFINITY, None);
        for (draws, gradient) in [(1, Plain), (4, Plain), (4, DoublyReparameterised), (32, Plain)] {
            let several =
                Several { family: family.clone(), draws, shared_start: false, combine: Importance, gradient };
            let (bounds, evidence) = bounds(&model, &several, 2000, some_values);
            let short: Vec<f64> = evidence.iter().zip(&bounds).map(|(e, b)| e - b).collect();
            let (short, error) = mean_and_error(&short);
            assert!(short > -STANDARD_ERRORS * error, "{draws} draws: {short} ± {error} below the evidence");
            let gained = gradient == DoublyReparameterised || -short > last + STANDARD_ERRORS * error;
            assert!(gained, "{draws} draws: {short} ± {error} below the evidence, after {}", -last);
            last = -short;
            first.get_or_insert(last);
        }
        assert!(-last < 0.5 * -first.expect("one draw"), "32 draws are {} below the evidence", -last);
    }
}

#[test]
fn weights_of_the_exact_posterior_are_all_the_evidence() {
    let model = diagonal();
    let settings = ChainSettings { acceptance: Acceptance::Simple, ..ChainSettings::default() };
    let dynamics = Dynamics { settings, step_size: 0.6, alpha: 0.5 };
    for family in [gaussian(), chain(settings)] {
        let exact = |parameters: &Parameters<'_>| {
            let mut store = dynamics_values(&dynamics, parameters, family.settings);
            encode_posterior(&mut store, &model);
            store
        };
        for shared_start in [false, true] {
            let several = Several {
                family: family.clone(),
                draws: 3,
                shared_start,
                combine: Importance,
                gradient: Plain,
            };
            let (bounds, evidence) = bounds(&model, &several, 50, exact);
            common::assert_close("the bound", &bounds, &evidence, 1e-8);
        }
    }
}

#[test]
fn chains_with_a_shared_start_begin_at_one_place_and_go_on_alone() {
    let (model, rows) = (correlated(), 40);
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let x = graph.batch_input("x", OBSERVED);
    let potential = model.potential(&graph, x);
    let target = Target { parameters: &parameters, potential: &potential, context: x };
    let settings = ChainSettings { hmc_steps: 2, leapfrog_steps: 2, ..ChainSettings::default() };
    for (family, parts) in [
        (chain(settings) as Arc<dyn Family>, 1),
        (Arc::new(Started { start: StartKind::Mixture, parts: 3, chain: (*chain(settings)).clone() }), 3),
    ] {
        let draws = family.draws_from_one_start(&target, Entropies::Sampled, 8);
        let outputs: Vec<(String, Expr<'_>)> = draws
            .iter()
            .enumerate()
            .flat_map(|(k, draw)| {
                let (start, end) = (draw.start.slice_cols(0, 1), draw.z.slice_cols(0, 1));
                [(format!("start {k}"), start), (format!("end {k}"), end)]
            })
            .collect();
        let outputs: Vec<(&str, Expr<'_>)> = outputs.iter().map(|(name, of)| (name.as_str(), *of)).collect();
        let x = observations(&model, 17, rows);
        let run = Run { rows, inputs: &[("x", &x)], seed: 3, ..Run::default() };
        let found = Compiled::new(&graph, rows, &outputs).run(&mut some_values(&parameters), &run);
        for row in 0..rows {
            let places = |what: &str| -> BTreeSet<u64> {
                (0..draws.len()).map(|k| found[&format!("{what} {k}")][row].to_bits()).collect()
            };
            // Of a mixture, each draw is that of one of the parts, which all have a start.
            assert!(places("start").len() <= parts, "{parts}, row {row}");
            assert_eq!(places("end").len(), draws.len(), "{parts}, row {row}");
        }
    }
}

fn dynamics_values(dynamics: &Dynamics, parameters: &Parameters<'_>, settings: ChainSettings) -> Store<f64> {
    if settings.hmc_steps > 0 {
        dynamics.stationary_parameters(parameters)
    } else {
        parameters.initial_values(1)
    }
}

/// The posterior's mean is linear in the data, and its variances are the same for all.
fn encode_posterior(store: &mut Store<f64>, model: &LinearGaussian) {
    let (offset, covariance) = model.posterior(&[0.0; OBSERVED]);
    let d = offset.len();
    for j in 0..OBSERVED {
        let mut x = [0.0; OBSERVED];
        x[j] = 1.0;
        let slope = model.posterior(&x).0;
        let weight = &mut store.get_mut("encoder.0.weight").expect("an encoder").values;
        (0..d).for_each(|i| (weight[j * 2 * d + i], weight[j * 2 * d + d + i]) = (slope[i] - offset[i], 0.0));
    }
    let bias = &mut store.get_mut("encoder.0.bias").expect("an encoder").values;
    (0..d).for_each(|i| (bias[i], bias[d + i]) = (offset[i], covariance[i * (d + 1)].ln()));
}

/// Gradients of the loss by all parameters, at many steps.
fn gradients(family: &dyn Family, rows: usize, steps: u64) -> BTreeMap<String, Vec<Vec<f64>>> {
    let model = correlated();
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let draw = draw(&parameters, &model, family);
    let loss = draw.loss.expect("several draws have a loss").sum_rows() / graph.batch_size();
    let (names, wrt): (Vec<String>, Vec<Expr<'_>>) = parameters.all().into_iter().unzip();
    let gradients = graph.grad(loss, &wrt);
    let outputs: Vec<_> = names.iter().map(String::as_str).zip(gradients).collect();
    let mut compiled = Compiled::new(&graph, rows, &outputs);
    let (x, mut store) = (observations(&model, 5, rows), some_values(&parameters));
    let mut all = BTreeMap::new();
    for step in 0..steps {
        let run = Run { rows, inputs: &[("x", &x)], seed: 8, step, ..Run::default() };
        for (name, values) in compiled.run(&mut store, &run) {
            all.entry(name).or_insert_with(Vec::new).push(values);
        }
    }
    all
}

/// Sum over a tensor's elements of the variance from step to step.
fn variance(steps: &[Vec<f64>]) -> f64 {
    let column = |i: usize| steps.iter().map(|values| values[i]).collect::<Vec<_>>();
    (0..steps[0].len()).map(|i| mean_and_error(&column(i)).1.powi(2) * steps.len() as f64).sum()
}

#[test]
fn doubly_reparameterised_gradients_have_the_plain_ones_mean_and_less_noise() {
    use StartKind::{Autoregressive, Coupling, FullCovariance, Mixture, Planar};
    let settings = ChainSettings { hmc_steps: 2, leapfrog_steps: 2, ..ChainSettings::default() };
    let partial = ChainSettings { partial_momentum: true, ..settings };
    let annealed = ChainSettings { bridge: Bridge::Learnt, reverse: Reverse::Balance, ..settings };
    let plain = ChainSettings::basic();
    let from = |start, settings: ChainSettings| -> Arc<dyn Family> {
        Arc::new(Started { start, parts: 3, chain: (*chain(settings)).clone() })
    };
    // The largest share of the encoder's variance that may be left.
    for (what, family, draws, shared_start, left) in [
        ("Gaussian", gaussian() as Arc<dyn Family>, 8, false, 0.7),
        ("chain", chain(settings), 4, false, 0.7),
        ("momenta that remain", chain(partial), 4, false, 0.7),
        ("annealed chain", chain(annealed), 4, false, 0.7),
        ("all covariances", from(FullCovariance, plain), 8, false, 0.7),
        ("planar flow", from(Planar, plain), 8, false, 0.7),
        ("coupling flow", from(Coupling, plain), 8, false, 0.7),
        ("chain from an autoregressive flow", from(Autoregressive, settings), 4, false, 0.7),
        // Parts of a mixture have no density of their own: their draws keep the plain gradient, and the encoder its noise.
        ("chain from a mixture", from(Mixture, settings), 4, false, 1.1),
        ("chain with a shared start", chain(settings), 4, true, 0.7),
        ("the same from a flow", from(Planar, annealed), 4, true, 0.7),
    ] {
        let steps = 400;
        let of = |gradient| {
            gradients(
                &Several { family: family.clone(), draws, shared_start, combine: Importance, gradient },
                20,
                steps,
            )
        };
        let (plain, doubly) = (of(Plain), of(DoublyReparameterised));
        for (name, plain) in &plain {
            let doubly = &doubly[name];
            for i in 0..plain[0].len() {
                let difference: Vec<f64> = plain.iter().zip(doubly).map(|(a, b)| a[i] - b[i]).collect();
                // Both see the same draws: where they are the same but for rounding there is no noise to divide by.
                if difference.iter().any(|d| d.abs() > 1e-9) {
                    assert_mean(&format!("{what}: {name}[{i}], {draws} draws"), &difference, 0.0);
                }
            }
        }
        let encoder = ["encoder.0.bias", "encoder.0.weight"];
        let of =
            |found: &BTreeMap<_, Vec<Vec<f64>>>| encoder.map(|n| variance(&found[n])).iter().sum::<f64>();
        let (before, after) = (of(&plain), of(&doubly));
        assert!(after < left * before, "{what}: the encoder's variance {before} became {after}");
    }
}

#[test]
fn plain_gradients_are_derivatives_of_the_bound() {
    let model = correlated();
    let settings = ChainSettings { hmc_steps: 2, leapfrog_steps: 2, ..ChainSettings::default() };
    let several = Several {
        family: chain(settings),
        draws: 3,
        shared_start: false,
        combine: Importance,
        gradient: Plain,
    };
    let rows = 10;
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let draw = draw(&parameters, &model, &several);
    let (names, wrt): (Vec<String>, Vec<Expr<'_>>) = parameters.all().into_iter().unzip();
    let gradients = graph.grad(draw.loss.expect("a loss").mean_rows(), &wrt);
    let slopes: Vec<_> = names.iter().map(String::as_str).zip(gradients).collect();
    let mut slopes = Compiled::new(&graph, rows, &slopes);
    let mut value = Compiled::new(&graph, rows, &[("bound", draw.bound.mean_rows())]);
    let (x, store) = (observations(&model, 5, rows), some_values(&parameters));
    let run = Run { rows, inputs: &[("x", &x)], seed: 8, ..Run::default() };
    let found = slopes.run(&mut store.clone(), &run);
    let step = 1e-4;
    for name in &names {
        let direction = common::normals(9, found[name].len());
        let exact: f64 = found[name].iter().zip(&direction).map(|(g, d)| -g * d).sum();
        let mut at = |distance: f64| {
            let mut store = store.clone();
            let tensor = store.get_mut(name).expect("a parameter");
            tensor.values.iter_mut().zip(&direction).for_each(|(x, d)| *x += distance * d);
            value.run(&mut store, &run)["bound"][0]
        };
        let difference: f64 = STENCIL.iter().map(|(k, weight)| weight * at(k * step) / step).sum();
        // Rounding is 1e-15/1e-4, the stencil's own error 1e-16 times the fifth derivative.
        let error = (difference - exact).abs() / exact.abs().max(1e-3);
        assert!(error < 1e-7, "{name}: {exact} and {difference}");
    }
}

#[test]
fn both_gradients_take_the_same_products() {
    let settings = ChainSettings { hmc_steps: 2, leapfrog_steps: 3, ..ChainSettings::default() };
    let flop = |gradient| {
        let several =
            Several { family: chain(settings), draws: 4, shared_start: false, combine: Importance, gradient };
        let graph = Graph::new();
        let parameters = Rc::new(Parameters::new(&graph));
        let draw = draw(&parameters, &correlated(), &several);
        let program = hmcvi::train::Objective::new(&parameters, draw).training_program(&Default::default());
        program.expect("it compiles").cost().product_flop_per_row as f64
    };
    let (plain, doubly) = (flop(Plain), flop(DoublyReparameterised));
    assert!(doubly < 1.1 * plain, "{plain} and {doubly} operations");
}

#[test]
fn draws_are_chosen_by_their_weights() {
    // A posterior N(μ, σ²), and draws from N(μ + σ/2, σ²).
    let (graph, rows) = (Graph::new(), 4000);
    let parameters = Rc::new(Parameters::new(&graph));
    let zero = graph.constant(0.0).broadcast_to(hmcvi_graph::Shape::fixed(1, 1));
    let potential = Potential::gaussian(Gaussian { mean: zero, log_variance: zero });
    let several = Several {
        family: Arc::new(Shifted(0.5)),
        draws: 64,
        shared_start: false,
        combine: Importance,
        gradient: Plain,
    };
    let target = Target { parameters: &parameters, potential: &potential, context: zero };
    let z = several.draw(&target).z;
    let mut store = parameters.initial_values(1);
    let found =
        Compiled::new(&graph, rows, &[("z", z)]).run(&mut store, &Run { rows, seed: 2, ..Run::default() });
    // A bias of order σ/K is left, a quarter of the standard error.
    assert_mean("a draw", &found["z"], 0.0);
    let squares: Vec<f64> = found["z"].iter().map(|z| z * z).collect();
    assert_mean("its square", &squares, 1.0);
}

/// A Gaussian of variance 1 at some place.
struct Shifted(f64);

impl Family for Shifted {
    fn gaussian<'g>(&self, target: &Target<'_, 'g>) -> Gaussian<'g> {
        let at = |name, value| target.parameters.get(name, 1, 1, Initial::Constant(value));
        Gaussian { mean: at("mean", self.0), log_variance: at("log_variance", 0.0) }
    }
}

#[test]
fn draws_without_a_density_count_as_nothing() {
    // z e⁻ᶻ for positive z, whose integral is 1; other z have none.
    let (graph, rows) = (Graph::new(), 2000);
    let parameters = Rc::new(Parameters::new(&graph));
    let potential = Potential::from_expression(1, |z| z.log() - z);
    let context = graph.constant(0.0);
    let target = Target { parameters: &parameters, potential: &potential, context };
    let several = Several {
        family: Arc::new(Shifted(1.0)),
        draws: 8,
        shared_start: false,
        combine: Importance,
        gradient: Plain,
    };
    let draw = several.draw(&target);
    let outputs = [("bound", draw.bound), ("dropped", per_row(draw.dropped)), ("z", draw.z)];
    let mut store = parameters.initial_values(1);
    let found =
        Compiled::new(&graph, rows, &outputs).run(&mut store, &Run { rows, seed: 2, ..Run::default() });
    // All eight draws are negative with a probability of 0.16⁸.
    assert!(found["dropped"].iter().all(|dropped| *dropped == 0.0));
    assert!(found["z"].iter().all(|z| *z > 0.0));
    let weights: Vec<f64> = found["bound"].iter().map(|bound| bound.exp()).collect();
    assert_mean("the mean weight", &weights, 1.0);
}
