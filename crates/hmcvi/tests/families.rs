//! Hold every family to what a family has to be: weights whose mean is the evidence, a bound below it, and derivatives that
//! agree with finite differences.

mod common;

use std::rc::Rc;
use std::sync::Arc;

use common::linear::{LATENT, OBSERVED, correlated, diagonal, observations};
use common::{Compiled, STANDARD_ERRORS, STENCIL, assert_close, assert_mean, mean_and_error, normals};
use hmcvi::family::{
    Acceptance, Bridge, ChainSettings, Combine, Draw, Entropies, Family, HmcChain, Mass, Reverse,
    ReverseNetworks, Several, StartKind, Started, StepSize, Target, WeightGradient,
};
use hmcvi::nn::{Activation, Parameters};
use hmcvi::potential::LinearGaussian;
use hmcvi_graph::{Expr, Graph, Run, Store};

const STEP_SIZE: f64 = 0.35;
/// Variances of the encoder, in units of the posterior's: wide enough that layers of flows that shrink leave it wider, so
/// that weights have a variance.
const WIDTH: f64 = 2.2;

fn started(start: StartKind, settings: ChainSettings) -> Started {
    let activation = Activation::Tanh;
    let chain = HmcChain { settings, encoder: Some(vec![]), hidden: vec![4], activation };
    Started { start, parts: 3, chain }
}

/// An annealed chain of three steps.
fn annealed() -> ChainSettings {
    ChainSettings {
        hmc_steps: 3,
        leapfrog_steps: 1,
        bridge: Bridge::Learnt,
        reverse: Reverse::Balance,
        ..ChainSettings::default()
    }
}

fn families() -> Vec<(&'static str, Arc<dyn Family>)> {
    use StartKind::{Autoregressive, Coupling, FullCovariance, Gaussian, Mixture, Planar};
    let chain = ChainSettings { hmc_steps: 2, leapfrog_steps: 2, ..ChainSettings::default() };
    let plain = ChainSettings::basic();
    let underdamped = ChainSettings { partial_momentum: true, ..annealed() };
    let all: Vec<(&'static str, StartKind, ChainSettings)> = vec![
        ("full covariance", FullCovariance, plain),
        ("mixture", Mixture, plain),
        ("planar flow", Planar, plain),
        ("coupling flow", Coupling, plain),
        ("autoregressive flow", Autoregressive, plain),
        ("chain from a mixture", Mixture, chain),
        ("chain from a flow", Planar, chain),
        ("chain of steps of their own", Gaussian, ChainSettings { per_step: true, ..chain }),
        (
            "chain of steps of their own for every row",
            Gaussian,
            ChainSettings { per_step: true, per_step_network: true, partial_momentum: true, ..chain },
        ),
        (
            "the same in all that can depend on rows and steps",
            Gaussian,
            ChainSettings {
                hmc_steps: 3,
                mass: Mass::Network,
                step_size: StepSize::Network,
                bridge: Bridge::Network,
                per_step: true,
                per_step_network: true,
                ..chain
            },
        ),
        ("reverse models with a flow", Gaussian, ChainSettings { reverse: Reverse::Flow, ..chain }),
        (
            "the same with momenta that remain",
            Gaussian,
            ChainSettings { reverse: Reverse::Flow, partial_momentum: true, ..chain },
        ),
        (
            "a reverse network for each step",
            Gaussian,
            ChainSettings { hmc_steps: 3, reverse_networks: ReverseNetworks::Each, ..chain },
        ),
        (
            "the same with the score and momenta that remain",
            Gaussian,
            ChainSettings {
                reverse: Reverse::Score,
                reverse_networks: ReverseNetworks::Each,
                partial_momentum: true,
                ..chain
            },
        ),
        ("ULA", Gaussian, annealed()),
        ("DAIS", Gaussian, underdamped),
        ("UHA", Gaussian, ChainSettings { leapfrog_steps: 2, per_step: true, ..underdamped }),
        ("MCD", Gaussian, ChainSettings { reverse: Reverse::Network, bridge: Bridge::Network, ..annealed() }),
        (
            "LDVI",
            Gaussian,
            ChainSettings { reverse: Reverse::Network, mass: Mass::Network, per_step: true, ..underdamped },
        ),
        (
            "annealing with acceptance",
            Gaussian,
            ChainSettings { acceptance: Acceptance::Simple, ..annealed() },
        ),
        (
            "annealing from a mixture",
            Mixture,
            ChainSettings { step_size: StepSize::PerDimension, ..annealed() },
        ),
        (
            "HVAE",
            Gaussian,
            ChainSettings {
                hmc_steps: 1,
                leapfrog_steps: 3,
                tempering: true,
                bridge: Bridge::None,
                ..annealed()
            },
        ),
        ("tempered chain", Gaussian, ChainSettings { tempering: true, partial_momentum: true, ..chain }),
    ];
    let mut all: Vec<(&'static str, Arc<dyn Family>)> = all
        .into_iter()
        .map(|(name, start, settings)| (name, Arc::new(started(start, settings)) as Arc<dyn Family>))
        .collect();
    let shared = |start, settings| -> Arc<dyn Family> {
        Arc::new(Several {
            family: Arc::new(started(start, settings)),
            draws: 3,
            shared_start: true,
            combine: Combine::Importance,
            gradient: WeightGradient::Plain,
        })
    };
    all.push(("chains with a shared start", shared(Gaussian, chain)));
    all.push(("chains with a shared start in each part", shared(Mixture, chain)));
    all.push(("chains with a shared start from a flow", shared(Planar, annealed())));
    let several = Several {
        family: Arc::new(started(Mixture, underdamped)),
        draws: 2,
        shared_start: false,
        combine: Combine::Importance,
        gradient: WeightGradient::Plain,
    };
    all.push(("several draws of annealing from a mixture", Arc::new(several)));
    all
}

fn draw<'g>(
    parameters: &Rc<Parameters<'g>>,
    model: &LinearGaussian,
    family: &dyn Family,
    entropies: Entropies,
) -> Draw<'g> {
    let x = parameters.graph().batch_input("x", OBSERVED);
    let potential = model.potential(parameters.graph(), x);
    family.draw_with(&Target { parameters, potential: &potential, context: x }, entropies)
}

/// An encoder that is somewhat wider than the posterior, and everything else in order one.
fn values(parameters: &Parameters<'_>, model: &LinearGaussian, width: f64) -> Store<f64> {
    let mut store = parameters.initial_values::<f64>(4);
    for (name, _) in parameters.all() {
        let values = &mut store.get_mut(&name).expect("it has first values").values;
        match name.as_str() {
            "log_step_size" => values.fill(STEP_SIZE.ln()),
            // Reverse models that do not know of it make weights of very different sizes.
            "raw_alpha" => values.fill(0.25),
            "raw_heat" => values.fill(0.3),
            // Corrections that are not small, and not so large that weights are very different.
            _ if name.ends_with(".factor") => values.fill(0.5),
            "mixture.distances" => values.iter_mut().for_each(|x| *x *= 0.5),
            _ if name.contains("change") || name.contains("logits") => {
                values.iter_mut().zip(normals(3, 64)).for_each(|(x, n)| *x = 0.2 * n);
            }
            _ => values.iter_mut().for_each(|x| *x *= 1.5),
        }
    }
    encode_posterior(&mut store, model, width);
    store
}

/// The posterior's mean is linear in the data, and its variances are the same for all.
fn encode_posterior(store: &mut Store<f64>, model: &LinearGaussian, width: f64) {
    let (offset, covariance) = model.posterior(&[0.0; OBSERVED]);
    for j in 0..OBSERVED {
        let mut x = [0.0; OBSERVED];
        x[j] = 1.0;
        let slope = model.posterior(&x).0;
        let weight = &mut store.get_mut("encoder.0.weight").expect("an encoder").values;
        (0..LATENT).for_each(|i| {
            weight[j * 2 * LATENT + i] = slope[i] - offset[i];
            weight[j * 2 * LATENT + LATENT + i] = 0.0;
        });
    }
    let bias = &mut store.get_mut("encoder.0.bias").expect("an encoder").values;
    (0..LATENT).for_each(|i| {
        bias[i] = offset[i];
        bias[LATENT + i] = (width * covariance[i * (LATENT + 1)]).ln();
    });
}

/// Evidence less bound, row by row.
fn short_of_evidence(
    model: &LinearGaussian,
    family: &dyn Family,
    entropies: Entropies,
    rows: usize,
) -> Vec<f64> {
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let draw = draw(&parameters, model, family, entropies);
    let terms = draw.terms.iter().map(|(_, term)| *term).reduce(|a, b| a + b).expect("there are terms");
    let outputs = [("bound", draw.bound), ("terms", common::per_row(terms)), ("z", draw.z)];
    let (x, mut store) = (observations(model, 17, rows), values(&parameters, model, WIDTH));
    let run = Run { rows, inputs: &[("x", &x)], seed: 3, ..Run::default() };
    let found = Compiled::new(&graph, rows, &outputs).run(&mut store, &run);
    assert_close("the terms' sum", &found["terms"], &found["bound"], 1e-9);
    let again = Compiled::new(&graph, rows, &outputs).run(&mut store, &run);
    assert_eq!(found["z"], again["z"], "draws depend on the seed alone");
    x.chunks(OBSERVED).map(|x| model.log_evidence(x)).zip(&found["bound"]).map(|(e, b)| e - b).collect()
}

#[test]
fn the_mean_weight_is_the_evidence() {
    let model = diagonal();
    for (name, family) in families() {
        let short = short_of_evidence(&model, &*family, Entropies::Sampled, 20_000);
        let weights: Vec<f64> = short.iter().map(|short| (-short).exp()).collect();
        let largest = weights.iter().copied().fold(0.0, f64::max);
        assert!(largest < 0.02 * weights.len() as f64, "{name}: a single weight is {largest}");
        assert_mean(&format!("{name}: weight of the evidence"), &weights, 1.0);
        let spread = mean_and_error(&weights).1;
        assert!(spread > 1e-4, "{name}: weights that are all the same show nothing");
    }
}

#[test]
fn bounds_are_below_the_evidence() {
    for model in [diagonal(), correlated()] {
        for (name, family) in families() {
            let short = short_of_evidence(&model, &*family, Entropies::ClosedForm, 2000);
            let (short, error) = mean_and_error(&short);
            assert!(short > -STANDARD_ERRORS * error, "{name}: {short} ± {error} below the evidence");
        }
    }
}

#[test]
fn gradients_agree_with_finite_differences() {
    let (model, rows, step) = (correlated(), 8, 1e-4);
    for (name, family) in families() {
        let graph = Graph::new();
        let parameters = Rc::new(Parameters::new(&graph));
        let draw = draw(&parameters, &model, &*family, Entropies::ClosedForm);
        let (names, wrt): (Vec<String>, Vec<Expr<'_>>) = parameters.all().into_iter().unzip();
        let loss = draw.loss.unwrap_or(-draw.bound).mean_rows();
        let slopes: Vec<_> = names.iter().map(String::as_str).zip(graph.grad(loss, &wrt)).collect();
        let mut slopes = Compiled::new(&graph, rows, &slopes);
        let mut value = Compiled::new(&graph, rows, &[("bound", draw.bound.mean_rows())]);
        let (x, store) = (observations(&model, 5, rows), values(&parameters, &model, 1.3));
        let run = Run { rows, inputs: &[("x", &x)], seed: 8, ..Run::default() };
        let found = slopes.run(&mut store.clone(), &run);
        for of in &names {
            let direction = normals(9, found[of].len());
            let exact: f64 = found[of].iter().zip(&direction).map(|(g, d)| -g * d).sum();
            let mut at = |distance: f64| {
                let mut store = store.clone();
                let tensor = store.get_mut(of).expect("a parameter");
                tensor.values.iter_mut().zip(&direction).for_each(|(x, d)| *x += distance * d);
                value.run(&mut store, &run)["bound"][0]
            };
            let difference: f64 = STENCIL.iter().map(|(k, weight)| weight * at(k * step) / step).sum();
            // Rounding is 1e-15/1e-4, the stencil's own error 1e-16 times the fifth derivative.
            let error = (difference - exact).abs() / exact.abs().max(1e-2);
            assert!(error < 1e-6, "{name}, {of}: {exact} and {difference}");
        }
    }
}

#[test]
fn a_full_covariance_can_be_that_of_the_posterior() {
    let (model, rows) = (correlated(), 50);
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let mut family = started(StartKind::FullCovariance, ChainSettings::basic());
    family.chain.hidden = vec![];
    let draw = draw(&parameters, &model, &family, Entropies::Sampled);
    let mut store = parameters.initial_values::<f64>(1);
    encode_posterior(&mut store, &model, 1.0);
    let factor = cholesky(&model.posterior(&[0.0; OBSERVED]).1);
    let set = |store: &mut Store<f64>, name: &str, values: &[f64]| {
        store.get_mut(name).expect("a parameter").values.copy_from_slice(values);
    };
    let pairs = [(1, 0), (2, 0), (2, 1)];
    set(&mut store, "covariance.factor", &[1.0; 3]);
    set(&mut store, "covariance.0.weight", &[0.0; 3 * OBSERVED]);
    set(&mut store, "covariance.0.bias", &pairs.map(|(i, j)| factor[i][j] / factor[i][i]));
    let bias = &mut store.get_mut("encoder.0.bias").expect("an encoder").values;
    (0..LATENT).for_each(|i| bias[LATENT + i] = 2.0 * factor[i][i].ln());
    let x = observations(&model, 17, rows);
    let run = Run { rows, inputs: &[("x", &x)], seed: 3, ..Run::default() };
    let found = Compiled::new(&graph, rows, &[("bound", draw.bound)]).run(&mut store, &run);
    let evidence: Vec<f64> = x.chunks(OBSERVED).map(|x| model.log_evidence(x)).collect();
    assert_close("every weight", &found["bound"], &evidence, 1e-9);
}

/// The lower triangular factor of a covariance matrix.
fn cholesky(covariance: &[f64]) -> [[f64; LATENT]; LATENT] {
    let mut factor = [[0.0; LATENT]; LATENT];
    for i in 0..LATENT {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| factor[i][k] * factor[j][k]).sum();
            let left = covariance[i * LATENT + j] - known;
            factor[i][j] = if i == j { left.sqrt() } else { left / factor[j][j] };
        }
    }
    factor
}

#[test]
fn longer_annealing_is_tighter() {
    // Two and a half times as wide as the posterior to begin with.
    let model = correlated();
    let short = |hmc_steps: usize| {
        let settings = ChainSettings { hmc_steps, mass: Mass::Identity, ..annealed() };
        let graph = Graph::new();
        let parameters = Rc::new(Parameters::new(&graph));
        let draw = draw(&parameters, &model, &started(StartKind::Gaussian, settings), Entropies::Sampled);
        let mut store = parameters.initial_values::<f64>(1);
        store.get_mut("log_step_size").expect("a step size").values[0] = 0.4f64.ln();
        encode_posterior(&mut store, &model, 6.0);
        let (rows, x) = (2000, observations(&model, 17, 2000));
        let run = Run { rows, inputs: &[("x", &x)], seed: 3, ..Run::default() };
        let found = Compiled::new(&graph, rows, &[("bound", draw.bound)]).run(&mut store, &run);
        let evidence = x.chunks(OBSERVED).map(|x| model.log_evidence(x));
        mean_and_error(&evidence.zip(&found["bound"]).map(|(e, b)| e - b).collect::<Vec<_>>())
    };
    let found = [1, 4, 16, 64].map(short);
    for pair in found.windows(2) {
        let error = pair[0].1.hypot(pair[1].1);
        assert!(pair[1].0 < pair[0].0 - STANDARD_ERRORS * error, "{found:?}");
    }
    assert!(found[3].0 < 0.3 * found[0].0, "{found:?}");
}
