//! Train, evaluate and draw a model and a family that the library does not know, and mix them with its own.

mod common;

use std::rc::Rc;
use std::sync::Arc;

use common::normals;
use hmcvi::config::TrainSettings;
use hmcvi::data::{Dataset, Observation, Seen, Table};
use hmcvi::device::Device;
use hmcvi::dist::{Gaussian, RandomSource};
use hmcvi::eval::{
    AnnealingOptions, EvaluationOptions, EvaluationResult, ImportanceOptions, PosteriorOptions,
    evaluate_problem,
};
use hmcvi::family::{ChainSettings, Family, FirstLook, HmcChain, Target};
use hmcvi::figure::{PlaneModel, latent_square};
use hmcvi::model::{Model, Simulator, Site};
use hmcvi::nn::{Activation, Initial, Network, Parameters};
use hmcvi::potential::{LinearGaussian, Potential};
use hmcvi::train::{Objective, Trainer, Training};
use hmcvi::{Problem, Subject};
use hmcvi_graph::{Expr, Graph, Run, Store};

const LATENT: usize = 2;
const OBSERVED: usize = 4;
const ROWS: usize = 300;
const NOISE: f64 = 0.5;
/// Standard errors by which an estimate may miss what it estimates.
const ERRORS: f64 = 4.0;

/// `x = z W + noise`, with `W` learnt and two sites in `z`.
struct Factors;

fn loadings<'g>(parameters: &Parameters<'g>) -> Expr<'g> {
    parameters.get("loadings", LATENT, OBSERVED, Initial::PAPER)
}

impl Model for Factors {
    fn observed(&self) -> usize {
        OBSERVED
    }

    fn sites(&self) -> Vec<Site> {
        let site = |name: &str, at| Site { name: name.into(), columns: at..at + 1 };
        vec![site("size", 0), site("shape", 1)]
    }

    fn potential<'g>(&self, parameters: &Rc<Parameters<'g>>, x: Expr<'g>) -> Potential<'g> {
        let (parameters, prior) = (parameters.clone(), self.prior(x.graph()));
        let log_variance = x.graph().constant(2.0 * NOISE.ln());
        Potential::from_terms(LATENT, move |z| {
            let seen = Gaussian { mean: z.matmul(loadings(&parameters)), log_variance };
            vec![("prior", prior.log_prob_terms(z)), ("likelihood", seen.log_prob_terms(x))]
        })
    }

    fn simulator(&self) -> Option<&dyn Simulator> {
        Some(self)
    }
}

impl Simulator for Factors {
    fn mean<'g>(&self, parameters: &Rc<Parameters<'g>>, z: Expr<'g>) -> Expr<'g> {
        z.matmul(loadings(parameters))
    }

    fn draw(&self, decoded: &[f32], source: &mut RandomSource, x: &mut [f32]) {
        x.iter_mut().zip(decoded).for_each(|(x, mean)| *x = mean + (NOISE * source.normal()) as f32);
    }
}

/// A Gaussian whose mean is linear in the data.
struct Guess;

impl Family for Guess {
    fn gaussian<'g>(&self, target: &Target<'_, 'g>) -> Gaussian<'g> {
        let network = Network { name: "guess", hidden: &[], activation: Activation::Relu };
        let mean = network.apply(target.parameters, target.context, LATENT);
        let log_variance = target.parameters.get("spread", 1, LATENT, Initial::Constant(-1.0));
        Gaussian { mean, log_variance }
    }
}

fn chain() -> HmcChain {
    let settings = ChainSettings { hmc_steps: 2, leapfrog_steps: 3, ..ChainSettings::default() };
    HmcChain { settings, encoder: Some(vec![]), hidden: vec![8], activation: Activation::Tanh }
}

fn data() -> Table {
    let (z, noise) = (normals(1, LATENT * ROWS), normals(2, OBSERVED * ROWS));
    let weights = [1.0, -0.5, 0.8, 0.1, 0.2, 0.9, 0.3, -1.1];
    let value = |i: usize, j: usize| z[2 * i] * weights[j] + z[2 * i + 1] * weights[OBSERVED + j];
    let all = (0..ROWS * OBSERVED).map(|k| (value(k / OBSERVED, k % OBSERVED) + NOISE * noise[k]) as f32);
    Table::dense(OBSERVED, all.collect()).expect("whole rows")
}

/// Trains a pair, evaluates it by everything that there is, and draws its latent map.
fn trained(problem: Problem) -> (EvaluationResult, Store<f32>) {
    let (table, device) = (data(), Device::cpu(2));
    let dataset = Dataset::new("factors", "memory", table.clone(), table.clone(), table.clone());
    let observation = Observation { seen: Seen::Values, columns: OBSERVED };
    let mut settings =
        TrainSettings { epochs: 150, batch: 50, validate_every: 150, ..TrainSettings::default() };
    settings.learning_rate.first = 0.01;
    let training = Training {
        problem: problem.clone(),
        settings,
        seed: 1,
        data: Arc::new(dataset.expect("three times the same rows")),
        observation,
        draws: 1,
    };
    let mut trainer = Trainer::begin(training, &device, None).expect("training begins");
    for _ in 0..150 {
        trainer.epoch(&mut ()).expect("it trains");
    }
    let store = trainer.store().expect("the tensors are there");
    let annealing = AnnealingOptions { temperatures: 50, ..AnnealingOptions::default() };
    let options = EvaluationOptions {
        images_seed: 1,
        draws: 1,
        chain_draws: 20,
        importance: Some(ImportanceOptions::new(500)),
        encoder_samples: 10,
        quadrature: None,
        annealing: Some((annealing, 30)),
        bidirectional: Some((annealing, 30)),
        posterior: Some((PosteriorOptions::default(), 3)),
        reverse: 0,
    };
    let subject = Subject { problem, observation, seed: 1 };
    let found = evaluate_problem(&subject, &store, &table, &options, &device, &mut ()).expect("it evaluates");
    let plane = PlaneModel::of(subject, &store, &device).expect("two dimensions");
    let square = latent_square(&plane, &table, 50, 1).expect("it runs");
    assert_eq!((square.points.len(), square.decoded.columns), (50, 0), "rows are no images");
    (found, store)
}

/// Exact log densities of the rows under what was learnt.
fn exact(store: &Store<f32>) -> Vec<f64> {
    let weights: Vec<f64> =
        store.get("loadings").expect("learnt").values.iter().map(|w| f64::from(*w)).collect();
    let model = LinearGaussian::new(LATENT, &weights, &[0.0; OBSERVED], NOISE);
    let table = data();
    let row = |i: usize| -> Vec<f64> {
        table.values(i..i + 1).expect("a row").iter().map(|x| f64::from(*x)).collect()
    };
    (0..ROWS).map(|i| model.log_evidence(&row(i))).collect()
}

#[track_caller]
fn assert_right(found: &EvaluationResult, store: &Store<f32>) {
    let exact = exact(store);
    let (evidence, bound) = (exact.iter().sum::<f64>() / ROWS as f64, found.bound.mean);
    let all: f64 = found.terms.values().sum();
    assert!((all - bound).abs() < 1e-3, "the terms add up to the bound: {all}, {bound}");
    let short: Vec<f64> = exact.iter().zip(&found.bounds).map(|(exact, bound)| exact - bound).collect();
    let (mean, error) = common::mean_and_error(&short);
    assert!(
        mean > -ERRORS * error && mean < 0.1,
        "the bound is {mean} ± {error} below the evidence {evidence}"
    );
    let missed: Vec<f64> = found.log_likelihoods.iter().zip(&exact).map(|(a, b)| a - b).collect();
    let (mean, error) = common::mean_and_error(&missed);
    assert!(mean.abs() < ERRORS * error + 1e-4, "importance sampling misses by {mean} ± {error}");
    assert!(found.annealing.is_some() && found.posterior.is_some());
    let both = found.bidirectional.as_ref().expect("it was asked for");
    assert!(both.gap.mean > -ERRORS * both.gap.standard_error, "{both:?}");
}

#[test]
fn a_model_and_a_family_of_ones_own_are_trained_evaluated_and_drawn() {
    let (found, store) = trained(Problem::new(Factors, Guess));
    assert_eq!(found.terms.keys().map(String::as_str).collect::<Vec<_>>(), ["initial_entropy", "log_joint"]);
    assert_right(&found, &store);
}

#[test]
fn a_model_of_ones_own_goes_with_the_chain() {
    let (found, store) = trained(Problem::new(Factors, chain()));
    assert!(found.terms.contains_key("reverse_momentum"), "{:?}", found.terms);
    assert_right(&found, &store);
}

#[test]
fn a_first_step_size_is_found_outside_of_a_training() {
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let problem = Problem::new(Factors, chain());
    let draw = problem.infer(&parameters, graph.batch_input("x", OBSERVED));
    let program = Objective::new(&parameters, draw).first_look_program();
    let program = program.expect("it compiles").expect("a chain has to be looked at");
    let mut store = parameters.initial_values::<f32>(1);
    let values = data().values(0..ROWS).expect("all rows").into_owned();
    let inputs = [("x", &values[..])];
    let runs = vec![Run { rows: ROWS, inputs: &inputs, seed: 1, ..Run::default() }];
    let mut look = FirstLook::new(&program, &Device::cpu(1), &mut store, runs).expect("it is prepared");
    let size = chain().find_first_values(&mut look).expect("simulations go right");
    let stored = store.get("log_step_size").expect("the chain has one").values[0].exp();
    assert!(size > 1e-3 && (f64::from(stored) - size).abs() < 1e-6 * size, "{size}, {stored}");
}
