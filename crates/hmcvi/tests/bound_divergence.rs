//! Check that a diverged simulation inside the bound is data: all terms and derivatives stay finite.

mod common;

use std::rc::Rc;

use common::model::{LATENT, STEP_SIZE, chain, image_input, images, values};
use common::{Compiled, Outputs, combinations, describe, per_row};
use hmcvi::dist::Gaussian;
use hmcvi::family::{Acceptance, Chain, ChainSettings, Entropies, Inference, Mass, StepSize};
use hmcvi::nn::{Activation, Parameters};
use hmcvi::potential::Potential;
use hmcvi_graph::{Expr, Graph, Run, Store};

const ROWS: usize = 20;

/// Terms, total, start, end and divergences of a chain, and the gradient of the mean bound by every
/// parameter: of all rows, and of those that are not marked as diverging.
fn run(
    graph: &Graph,
    parameters: &Parameters<'_>,
    chain: &Chain<'_>,
    store: &mut Store<f64>,
    x: &[f64],
) -> Outputs {
    let (names, wrt): (Vec<String>, Vec<Expr<'_>>) = parameters.all().into_iter().unzip();
    let total = chain.terms.total();
    let named = |of: &str| names.iter().map(|name| format!("gradient of {of} by {name}")).collect::<Vec<_>>();
    let names = [named("all"), named("unmarked rows")].concat();
    let unmarked = chain.diverging.select(0.0, total);
    let mut gradients = graph.grad(total.mean_rows(), &wrt);
    gradients.extend(graph.grad(unmarked.mean_rows(), &wrt));
    let mut outputs: Vec<_> = chain.terms.named().map(|(name, term)| (name, per_row(term))).to_vec();
    outputs.extend([
        ("total", chain.terms.total()),
        ("start", chain.start),
        ("end", chain.end),
        ("diverging", per_row(chain.diverging)),
    ]);
    outputs.extend(names.iter().map(String::as_str).zip(gradients));
    let run = Run { rows: ROWS, inputs: &[("x", x)], seed: 3, ..Run::default() };
    Compiled::new(graph, ROWS, &outputs).run(store, &run)
}

#[track_caller]
fn assert_finite(what: &str, found: &Outputs) {
    for (name, values) in found {
        let wrong = values.iter().filter(|v| !v.is_finite()).count();
        assert!(
            wrong == 0,
            "{what}: {wrong} of {} values of `{name}` are not finite: {values:?}",
            values.len()
        );
    }
}

fn auto_encoder(settings: ChainSettings, activation: Activation, step_size: f64) -> Outputs {
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let chain = chain(&parameters, image_input(&graph), settings, Entropies::ClosedForm, activation);
    let mut store = values(&parameters, 11, step_size);
    run(&graph, &parameters, &chain, &mut store, &images(5, ROWS))
}

#[test]
fn huge_steps_diverge_and_leave_finite_terms_and_gradients() {
    for settings in combinations() {
        let what = describe(&settings);
        let found = auto_encoder(settings, Activation::Relu, 1e4);
        assert!(found["diverging"].iter().all(|d| *d == 1.0), "{what}: all rows diverge");
        assert_finite(&what, &found);
        // The first step leads out of range, so that every particle stays where it was.
        assert_eq!(found["start"], found["end"], "{what}");
        if settings.acceptance != Acceptance::None {
            assert!(
                found["acceptance"].iter().all(|a| *a == 0.0),
                "{what}: diverged rows are rejected for sure"
            );
        }
    }
}

#[test]
fn with_steps_of_any_size_a_row_is_finite_or_marked() {
    // From steps that are merely bad to those that leave the range of positions on the way. A row
    // whose bound is infinite and that is not marked makes the gradient of the whole batch useless.
    for settings in combinations() {
        let mut diverging = 0.0;
        for step_size in [2.0, 4.0, 8.0, 16.0, 64.0, 256.0] {
            let what = format!("ε={step_size} {}", describe(&settings));
            let found = auto_encoder(settings, Activation::Relu, step_size);
            diverging += found["diverging"].iter().sum::<f64>();
            for (row, (marked, total)) in found["diverging"].iter().zip(&found["total"]).enumerate() {
                let fine = *marked != 0.0 || total.is_finite();
                assert!(fine, "{what}: the bound of row {row} is {total} and not marked");
            }
            for (name, values) in found.iter().filter(|(name, _)| name.contains("unmarked")) {
                assert!(values.iter().all(|v| v.is_finite()), "{what}: {name} is {values:?}");
            }
        }
        assert!(diverging > 0.0, "{}: some rows diverge", describe(&settings));
    }
}

#[test]
fn a_diverging_row_leaves_the_others_as_they_are() {
    // The network's step size grows with x: one row's is huge, the others' are the usual ones.
    let (partial_momentum, mass, acceptance) = (true, Mass::Network, Acceptance::Simple);
    let settings = ChainSettings {
        hmc_steps: 2,
        leapfrog_steps: 3,
        partial_momentum,
        mass,
        acceptance,
        step_size: StepSize::Network,
        ..ChainSettings::default()
    };
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let chain = chain(&parameters, image_input(&graph), settings, Entropies::ClosedForm, Activation::Relu);
    let mut store = values(&parameters, 11, STEP_SIZE);
    store.get_mut("log_step_size").expect("chains have a step size").values.fill(0.1f64.ln());
    for tensor in ["step_size.0.weight", "step_size.0.bias", "step_size.1.weight", "step_size.1.bias"] {
        let tensor = store.get_mut(tensor).expect("the network of step sizes has two layers");
        tensor.values.iter_mut().for_each(|w| *w = 0.2 * w.abs());
    }
    let usual = images(5, ROWS);
    let mut other = usual.clone();
    other[0] = 1000.0;
    let (usual, other) = (
        run(&graph, &parameters, &chain, &mut store.clone(), &usual),
        run(&graph, &parameters, &chain, &mut store, &other),
    );
    assert_eq!((usual["diverging"][0], other["diverging"][0]), (0.0, 1.0));
    assert_finite("one row", &other);
    for name in ["total", "log_joint", "acceptance"] {
        assert_eq!(usual[name][1..], other[name][1..], "{name}");
    }
    assert_eq!(usual["end"][LATENT..], other["end"][LATENT..]);
}

/// A chain on a potential of the user's own, from `N(centre, 0.5²)` in two dimensions.
fn own_potential(
    acceptance: Acceptance,
    step_size: f64,
    centre: f64,
    log_density: impl for<'g> Fn(Expr<'g>) -> Expr<'g> + 'static,
) -> Outputs {
    let settings = ChainSettings {
        hmc_steps: 2,
        leapfrog_steps: 3,
        partial_momentum: true,
        mass: Mass::Global,
        acceptance,
        step_size: StepSize::Global,
        ..ChainSettings::default()
    };
    let graph = Graph::new();
    let parameters = Parameters::new(&graph);
    let potential = Potential::from_expression(2, log_density);
    let initial = Gaussian {
        mean: graph.constant_matrix(1, 2, &[centre; 2]),
        log_variance: graph.constant_matrix(1, 2, &[0.25f64.ln(); 2]),
    };
    let inference = Inference {
        parameters: &parameters,
        settings,
        potential: &potential,
        initial,
        context: graph.batch_input("x", 1),
        hidden: &[4],
        activation: Activation::Tanh,
        entropies: Entropies::ClosedForm,
    };
    let chain = inference.run();
    let mut store = parameters.initial_values(5);
    store.get_mut("log_step_size").expect("chains have a step size").values.fill(step_size.ln());
    run(&graph, &parameters, &chain, &mut store, &[0.5; ROWS])
}

const ALL: [Acceptance; 3] = [Acceptance::None, Acceptance::Simple, Acceptance::Network];

/// Poisson counts with a log rate z: `e^z` is infinite from z = 710 on, far within ±1e4, and simulations
/// with this step size get there.
fn poisson(acceptance: Acceptance) -> (Outputs, Outputs) {
    let found = own_potential(acceptance, 30.0, 0.0, |z| (z * 3.0 - z.exp() - z.square() * 0.5).sum_cols());
    assert!(found["diverging"].contains(&1.0), "{acceptance:?}: some rows diverge");
    found.into_iter().partition(|(name, _)| name.contains("gradient"))
}

#[test]
fn a_force_that_overflows_in_range_leaves_finite_terms() {
    for acceptance in ALL {
        assert_finite(&format!("{acceptance:?}"), &poisson(acceptance).1);
    }
}

#[test]
fn a_proposal_without_a_density_is_rejected_in_the_bound() {
    // Gamma with shape 3: below z = 0 the log density 2 log z - z is not a number, though the force is.
    for acceptance in [Acceptance::Simple, Acceptance::Network] {
        let found = own_potential(acceptance, 0.9, 2.5, |z| (z.log() * 2.0 - z).sum_cols());
        assert_finite(&format!("{acceptance:?}"), &found);
    }
}

#[test]
fn a_path_without_a_density_is_marked_as_diverging() {
    // As above, without the acceptance step that would reject it: such a row must not go unmarked, or
    // one row makes the mean bound of all not a number.
    let found = own_potential(Acceptance::None, 0.9, 2.5, |z| (z.log() * 2.0 - z).sum_cols());
    for (row, (marked, total)) in found["diverging"].iter().zip(&found["total"]).enumerate() {
        assert!(*marked != 0.0 || total.is_finite(), "row {row} is neither finite nor marked");
    }
}
