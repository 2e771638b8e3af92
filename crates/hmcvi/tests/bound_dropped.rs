//! Check that rows without a bound are counted, and that nobody calls what is left a bound where they are many.

mod common;

use std::sync::Arc;

use common::part_of_the_data;
use hmcvi::Problem;
use hmcvi::config::{RunSpec, preset};
use hmcvi::data::Dataset;
use hmcvi::device::Device;
use hmcvi::dist::Gaussian;
use hmcvi::eval::{BoundEvaluator, EvalError, EvaluationOptions, evaluate, rows};
use hmcvi::family::{ChainSettings, Entropies, Inference};
use hmcvi::nn::{Activation, Initial, Parameters};
use hmcvi::potential::Potential;
use hmcvi::train::{Fit, FitError, FitSettings, Objective, TrainError, Trainer, fit};
use hmcvi_graph::{Expr, Graph, Store};

/// Fits a chain to a density of one variable, from a standard Gaussian and the given step size.
fn fitted(
    hmc_steps: usize,
    step_size: f64,
    settings: &FitSettings,
    log_density: impl for<'g> Fn(Expr<'g>) -> Expr<'g> + 'static,
) -> Result<Fit, FitError> {
    let graph = Graph::new();
    let parameters = Parameters::new(&graph);
    let potential = Potential::from_expression(1, log_density);
    let free = |name| parameters.get(name, 1, 1, Initial::Constant(0.0));
    let chain = ChainSettings { hmc_steps, leapfrog_steps: 3, ..ChainSettings::default() };
    let inference = Inference {
        parameters: &parameters,
        settings: chain,
        potential: &potential,
        initial: Gaussian { mean: free("mean"), log_variance: free("log_variance") },
        context: graph.constant(0.0),
        hidden: &[8],
        activation: Activation::Tanh,
        entropies: Entropies::ClosedForm,
    };
    let found = inference.run();
    let objective = Objective::new(&parameters, found);
    let mut first = parameters.initial_values(1);
    if let Some(size) = first.get_mut("log_step_size") {
        size.values.fill(step_size.ln() as f32);
    }
    fit(&objective, first, settings, &[])
}

/// Gamma with shape 3 and scale 1, without its constant: the integral is Γ(3) = 2.
fn gamma(x: Expr<'_>) -> Expr<'_> {
    x.log() * 2.0 - x
}

/// A standard Gaussian without its constant: the integral is √(2π).
fn gaussian(z: Expr<'_>) -> Expr<'_> {
    z.square() * -0.5
}

#[test]
fn a_density_with_another_support_ends_in_an_error_that_says_what_to_do() {
    // Half of the draws from a standard Gaussian are negative. With no HMC step at all, too.
    for hmc_steps in [0, 1, 2] {
        let error = fitted(hmc_steps, 0.1, &FitSettings::default(), gamma)
            .expect_err("half of the rows have no bound");
        let FitError::NotABound(what) = &error else { panic!("{error}") };
        let (share, no_density) = (what.0.share(), what.0.no_density as f64 / what.0.rows as f64);
        // Gradients are not finite, so that nothing is learnt: half of the draws, within four standard errors and more.
        assert!(no_density > 0.45 && no_density < 0.55 && share > 0.45, "{hmc_steps}: {what:?}");
        let text = error.to_string();
        assert!(text.contains("not a bound") && text.contains("transform variables"), "{text}");
    }
}

#[test]
fn the_same_density_of_all_reals_has_its_bound() {
    for hmc_steps in [0, 1] {
        // x = e^z, with the derivative e^z.
        let found = fitted(hmc_steps, 0.1, &FitSettings::default(), |z| gamma(z.exp()) + z).expect("a bound");
        assert_eq!(found.dropped.dropped, 0);
        assert!(
            found.bound < 2f64.ln() + 0.05 && found.bound > 2f64.ln() - 0.1,
            "{hmc_steps}: {}",
            found.bound
        );
    }
}

#[test]
fn simulations_that_keep_diverging_end_in_an_error_and_few_at_the_beginning_do_not() {
    let held = FitSettings { learning_rate: 1e-9, updates: 200, ..FitSettings::default() };
    let error = fitted(1, 1e4, &held, gaussian).expect_err("all rows diverge");
    let FitError::NotABound(what) = &error else { panic!("{error}") };
    assert_eq!((what.0.share(), what.0.no_density), (1.0, 0));
    assert!(error.to_string().contains("acceptance step"), "{error}");
    // Where training may shorten the steps, it does, and ends with a bound.
    let learning = FitSettings { learning_rate: 0.1, updates: 1000, ..FitSettings::default() };
    let found = fitted(1, 40.0, &learning, gaussian).expect("steps become short enough");
    let (bound, exact) = (found.bound, 0.5 * std::f64::consts::TAU.ln());
    // Four standard errors of 12,800 rows whose bounds scatter by less than 1.
    assert!(found.dropped.share() <= 0.01 && bound < exact + 0.04 && bound > exact - 0.3, "{bound}, {exact}");
}

/// A run whose step size is far too long, and stays so.
fn unstable() -> (RunSpec, Arc<Dataset>, Store<f32>) {
    let mut spec = preset("hmcvi-1").expect("a preset");
    (spec.model.hidden, spec.train.batch, spec.train.epochs) = (vec![8], 50, 10);
    (spec.train.learning_rate.first, spec.train.learning_rate.last) = (1e-12, 1e-12);
    spec.data.evaluation_draws = 1;
    let data = part_of_the_data(100, 50);
    let trainer = Trainer::new(&spec, data.clone(), &Device::cpu(1), None).expect("it begins");
    let mut store = trainer.store().expect("it is there");
    store.get_mut("log_step_size").expect("chains have a step size").values.fill(1e5f32.ln());
    (spec, data, store)
}

#[test]
fn a_training_whose_simulations_keep_diverging_ends_in_an_error() {
    let (spec, data, store) = unstable();
    let mut trainer =
        Trainer::resume(&spec, data, &Device::cpu(1), store, ((0, 0, 0.0), None)).expect("it begins");
    for _ in 0..2 {
        let epoch = trainer.epoch(&mut ()).expect("a few epochs are forgiven").expect("nobody stops it");
        assert_eq!((epoch.divergences, epoch.train["dropped"]), (100, 1.0));
        assert_eq!(epoch.validation.expect("every epoch is validated")["dropped"], 1.0);
    }
    let error = trainer.epoch(&mut ()).expect_err("not a third one");
    assert!(matches!(error, TrainError::NotABound(_)), "{error}");
    assert!(error.to_string().contains("100 of 100 rows"), "{error}");
}

#[test]
fn an_evaluation_of_diverging_simulations_is_refused() {
    let (spec, data, store) = unstable();
    let images = data.validation();
    let drawn = spec.data.observation(images).draw(images, 1, 0);
    let mut evaluator =
        BoundEvaluator::new(&Problem::of_run(&spec, images.columns()), &drawn.observation(), &Device::cpu(1))
            .expect("it compiles");
    let found = evaluator.run(&store, &drawn, &rows(images.len()), 1, 0, |_| false).expect("it runs");
    assert_eq!((found.dropped.rows, found.dropped.dropped, found.dropped.no_density), (50, 50, 0));
    assert!(found.mean().is_err() && found.bound.iter().all(|b| b.is_nan()));
    let error = evaluate(&spec, &store, images, &EvaluationOptions::new(&spec), &Device::cpu(1), &mut ());
    assert!(matches!(error, Err(EvalError::NotABound(_))), "{error:?}");
}
