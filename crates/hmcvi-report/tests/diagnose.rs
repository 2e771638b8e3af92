//! Check that every kind of trouble is found, and none where there is none.

use std::collections::BTreeMap;

use hmcvi_record::{
    Annealing, AnnealingSettings, Bidirectional, EVALUATION_SCHEMA, Epoch, Estimate, Evaluation,
    ImportanceSampling, Level, PosteriorDistance, PosteriorQuality, Quadrature, ReverseQuality, RunInfo,
    RunSettings, SCHEMA, Summary, UsedDimensions,
};
use hmcvi_report::{Known, diagnose};

/// A run without trouble.
struct Run {
    settings: RunSettings,
    epochs: Vec<Epoch>,
    info: RunInfo,
    summary: Summary,
    evaluation: Option<Evaluation>,
    current: bool,
}

impl Run {
    fn known(&self) -> Known<'_> {
        Known {
            place: "runs/a",
            settings: &self.settings,
            epochs: &self.epochs,
            info: Some(&self.info),
            summary: Some(&self.summary),
            evaluation: self.evaluation.as_ref(),
            evaluation_is_current: Some(self.current),
        }
    }
}

fn map(values: &[(&str, f64)]) -> BTreeMap<String, f64> {
    values.iter().map(|(name, value)| (name.to_string(), *value)).collect()
}

fn near(mean: f64) -> Estimate {
    Estimate { mean, standard_error: 0.01 }
}

fn epoch(n: u64) -> Epoch {
    Epoch {
        epoch: n,
        step: 100 * n,
        seconds: n as f64,
        learning_rate: 1e-3 / n as f64,
        train: map(&[
            ("bound", -100.0),
            ("step_size", 0.05),
            ("acceptance_rate", 0.9),
            ("gradient_norm", 100.0),
        ]),
        validation: Some(map(&[("bound", -100.5 - 0.1 / n as f64)])),
        images: 50_000,
        divergences: 0,
        skipped: 0,
        images_per_second: 1e4,
    }
}

fn good() -> Run {
    let settings = AnnealingSettings {
        temperatures: 1000,
        chains: 16,
        leapfrog_steps: 2,
        schedule: "linear".into(),
        start: "encoder".into(),
    };
    let distance =
        |x| PosteriorDistance { gaussian_kl: near(x), wasserstein: near(x), energy_excess: near(x) };
    let importance_sampling = ImportanceSampling {
        samples: 5000,
        proposal: "gaussian".into(),
        proposal_scale: 1.0,
        mean_draws: 5,
        log_likelihood: near(-96.0),
        effective_sample_size: 500.0,
        log_weight_variance: 1.0,
        k_hat_median: Some(0.4),
        k_hat_high: 0.01,
        gflops: None,
        bytes: 0,
    };
    let quadrature = Quadrature {
        spacing: 0.02,
        refined: 0.01,
        log_likelihood: near(-95.99),
        halves_apart: 0.1,
        rim: Some(1e-6),
        radius: Some(5.0),
        above_importance_sampling: Some(near(0.01)),
    };
    let annealing = Annealing {
        settings: settings.clone(),
        images: 1000,
        log_likelihood: near(-95.99),
        acceptance_rate: 0.8,
        log_weight_variance: 0.1,
        above_importance_sampling: Some(near(0.01)),
    };
    let (lower, upper, gap) = (near(-80.0), near(-79.9), near(0.1));
    let reverse = ReverseQuality {
        images: 100,
        draws: 4000,
        learnt: near(-30.0),
        own: near(0.2),
        linear: near(0.3),
        correlated: near(0.9),
    };
    let posterior = PosteriorQuality {
        images: 10,
        chains: 4,
        draws: 100,
        r_hat: 1.01,
        ess_bulk: 200.0,
        ess_tail: Some(150.0),
        approximation_draws: 1000,
        initial: distance(2.0),
        improved: distance(1.0),
        gain: distance(1.0),
        energies: Default::default(),
    };
    let evaluation = Evaluation {
        schema: EVALUATION_SCHEMA,
        version: "0".into(),
        command: Vec::new(),
        split: "test".into(),
        images: 1000,
        checkpoint: "best".into(),
        epoch: 10,
        draws: 5,
        chain_draws: 1,
        kept_from: Vec::new(),
        checkpoint_sha256: None,
        pixel_scale: 256,
        seed: 1,
        data_sha256: String::new(),
        bound: near(-100.0),
        terms: BTreeMap::new(),
        divergences: 0,
        dropped: 0,
        dimensions: Some(UsedDimensions { used: 20, all: 20 }),
        importance_sampling: Some(importance_sampling),
        encoder_bound: None,
        quadrature: Some(quadrature),
        annealing: Some(annealing),
        bidirectional: Some(Bidirectional { settings, points: 100, lower, upper, gap }),
        posterior: Some(posterior),
        reverse: Some(reverse),
        seconds: BTreeMap::new(),
    };
    let summary = Summary {
        schema: SCHEMA,
        epochs: 10,
        best_epoch: 10,
        best_validation_bound: Some(-100.5),
        seconds: 10.0,
        divergences: 0,
        skipped: 0,
        finished: true,
    };
    let settings = RunSettings { latent: 20, max_grad_norm: 300.0, ..RunSettings::default() };
    let info = RunInfo {
        schema: SCHEMA,
        version: "0".into(),
        command: Vec::new(),
        started: 0,
        device: String::new(),
        data: "embedded".into(),
        data_sha256: String::new(),
        initial_sha256: None,
        changes: Vec::new(),
        parameters: 1,
        bytes: 1,
        first_step_size: None,
        image_shape: None,
        columns: None,
    };
    let epochs = (1..=10).map(epoch).collect();
    Run { settings, epochs, info, summary, evaluation: Some(evaluation), current: true }
}

/// What is not good about a run.
fn found(run: &Run) -> Vec<(String, Level)> {
    let findings = diagnose(&run.known());
    for f in &findings {
        assert_eq!(f.level == Level::Good, f.action.is_empty(), "trouble comes with a next action: {f:?}");
        assert!(!f.meaning.is_empty() && !f.finding.is_empty(), "{f:?}");
    }
    findings.iter().filter(|f| f.level != Level::Good).map(|f| (f.about.clone(), f.level)).collect()
}

#[test]
fn a_run_without_trouble_has_none() {
    let run = good();
    assert_eq!(found(&run), []);
    assert!(diagnose(&run.known()).len() >= 8);
}

/// Spoils something of a run.
type Spoil = fn(&mut Run);

fn evaluation(run: &mut Run) -> &mut Evaluation {
    run.evaluation.as_mut().expect("a good run is evaluated")
}

fn sampling(run: &mut Run) -> &mut ImportanceSampling {
    evaluation(run).importance_sampling.as_mut().expect("a good run is sampled")
}

fn dimensions(run: &mut Run) -> &mut UsedDimensions {
    evaluation(run).dimensions.as_mut().expect("a good run has them counted")
}

fn last(run: &mut Run) -> &mut Epoch {
    run.epochs.last_mut().expect("a good run has epochs")
}

fn set(epoch: &mut Epoch, name: &str, value: f64) {
    epoch.train.insert(name.into(), value);
}

#[test]
fn each_trouble_is_found_by_its_name() {
    let cases: [(&str, Level, Spoil); 31] = [
        ("training", Level::Problem, |r| r.summary.finished = false),
        ("overfitting", Level::Problem, |r| last(r).validation = Some(map(&[("bound", -101.5)]))),
        ("overfitting", Level::Problem, |r| {
            r.epochs.iter_mut().for_each(|e| set(e, "bound", -95.0));
        }),
        ("learning-rate", Level::Problem, |r| r.epochs.iter_mut().for_each(|e| e.learning_rate = 1e-3)),
        ("gradients", Level::Remark, |r| set(last(r), "gradient_norm", 250.0)),
        ("convergence", Level::Remark, |r| last(r).validation = Some(map(&[("bound", -99.5)]))),
        ("acceptance", Level::Problem, |r| set(last(r), "acceptance_rate", 0.3)),
        ("acceptance", Level::Remark, |r| set(last(r), "acceptance_rate", 0.999)),
        ("divergences", Level::Problem, |r| last(r).divergences = 100),
        ("updates", Level::Remark, |r| last(r).skipped = 1),
        ("evaluation", Level::Problem, |r| r.evaluation = None),
        ("evaluation", Level::Problem, |r| r.current = false),
        ("data", Level::Problem, |r| r.info.data_sha256 = "other".into()),
        ("images", Level::Problem, |r| evaluation(r).images = 99),
        ("divergences", Level::Problem, |r| evaluation(r).divergences = 51),
        ("samples", Level::Problem, |r| sampling(r).samples = 99),
        ("overfitting", Level::Unchecked, |r| r.epochs.iter_mut().for_each(|e| e.validation = None)),
        ("dimensions", Level::Remark, |r| dimensions(r).used = 15),
        ("dimensions", Level::Problem, |r| dimensions(r).used = 0),
        ("dimensions", Level::Unchecked, |r| evaluation(r).dimensions = None),
        ("k-hat", Level::Problem, |r| {
            sampling(r).k_hat_high = 0.3;
            evaluation(r).quadrature = None;
            evaluation(r).bidirectional = None;
        }),
        ("k-hat", Level::Unchecked, |r| sampling(r).k_hat_median = None),
        ("importance-sampling", Level::Unchecked, |r| {
            evaluation(r).quadrature = None;
            evaluation(r).annealing = None;
        }),
        ("quadrature", Level::Problem, |r| {
            evaluation(r).quadrature.as_mut().expect("there").above_importance_sampling = Some(near(2.0));
        }),
        ("quadrature", Level::Problem, |r| {
            evaluation(r).quadrature.as_mut().expect("there").halves_apart = 0.8;
        }),
        ("quadrature", Level::Problem, |r| {
            evaluation(r).quadrature.as_mut().expect("there").rim = Some(0.02);
        }),
        ("importance-sampling", Level::Problem, |r| {
            evaluation(r).quadrature = None;
            evaluation(r).annealing.as_mut().expect("there").above_importance_sampling = Some(near(0.5));
        }),
        ("BDMC-gap", Level::Problem, |r| {
            evaluation(r).bidirectional.as_mut().expect("there").gap = near(0.8);
        }),
        ("posterior", Level::Problem, |r| evaluation(r).posterior.as_mut().expect("there").r_hat = 1.3),
        ("posterior", Level::Unchecked, |r| evaluation(r).posterior.as_mut().expect("there").images = 1),
        ("reverse-models", Level::Remark, |r| evaluation(r).reverse.as_mut().expect("there").own = near(1.5)),
    ];
    for (about, level, spoil) in cases {
        let mut run = good();
        spoil(&mut run);
        assert_eq!(found(&run), [(about.to_string(), level)]);
    }
}

#[test]
fn where_dimensions_are_few_the_prior_is_what_misses_nothing() {
    let mut run = good();
    sampling(&mut run).k_hat_high = 0.3;
    (evaluation(&mut run).quadrature, evaluation(&mut run).bidirectional) = (None, None);
    for (latent, advice) in [(2, "--proposal defensive"), (20, "--proposal student-t")] {
        run.settings.latent = latent;
        let findings = diagnose(&run.known());
        let said = &findings.iter().find(|f| f.about == "k-hat").expect("there").action;
        assert!(said.contains(advice), "{said}");
        assert_eq!(said.contains("--start prior"), latent == 2, "{said}");
    }
}

#[test]
fn what_takes_out_noise_or_shortens_nothing_is_no_trouble() {
    let mut run = good();
    run.epochs.iter_mut().for_each(|e| e.learning_rate = 1e-3);
    run.settings.average = 0.1;
    set(last(&mut run), "gradient_norm", 1000.0);
    run.settings.max_grad_norm = 0.0;
    assert_eq!(found(&run), []);
}

#[test]
fn a_run_that_just_began_is_no_reason_to_panic() {
    let run = Run { settings: RunSettings::default(), epochs: Vec::new(), evaluation: None, ..good() };
    let findings = diagnose(&Known { info: None, summary: None, ..run.known() });
    let about: Vec<&str> = findings.iter().map(|f| f.about.as_str()).collect();
    assert_eq!(about, ["training", "evaluation"]);
}

#[test]
fn stronger_evidence_settles_what_k_hat_only_suggests() {
    let mut run = good();
    sampling(&mut run).k_hat_high = 0.3;
    // Importance sampling agrees with the exact likelihood: k-hat is no problem of the mean.
    assert_eq!(found(&run), [("k-hat".to_string(), Level::Remark)]);
    // It agrees with annealing between two bounds.
    evaluation(&mut run).quadrature = None;
    assert_eq!(found(&run), [("k-hat".to_string(), Level::Remark)]);
    // It is below the exact likelihood, whatever annealing says: one problem, and its symptom.
    run.evaluation = good().evaluation;
    sampling(&mut run).k_hat_high = 0.3;
    evaluation(&mut run).quadrature.as_mut().expect("there").above_importance_sampling = Some(near(2.0));
    let expected = [("quadrature".to_string(), Level::Problem), ("k-hat".to_string(), Level::Remark)];
    assert_eq!(found(&run), expected);
    // Quadrature that is not exact is no evidence.
    evaluation(&mut run).quadrature.as_mut().expect("there").halves_apart = 0.8;
    evaluation(&mut run).bidirectional = None;
    let expected = [("quadrature".to_string(), Level::Problem), ("k-hat".to_string(), Level::Problem)];
    assert_eq!(found(&run), expected);
}

#[test]
fn values_that_are_not_numbers_are_never_good() {
    let mut run = good();
    sampling(&mut run).effective_sample_size = f64::NAN;
    evaluation(&mut run).quadrature = None;
    evaluation(&mut run).annealing = None;
    evaluation(&mut run).bidirectional.as_mut().expect("there").gap = near(f64::NAN);
    evaluation(&mut run).posterior.as_mut().expect("there").r_hat = f64::NAN;
    let problems: Vec<String> =
        found(&run).into_iter().filter(|f| f.1 == Level::Problem).map(|f| f.0).collect();
    assert_eq!(problems, ["BDMC-gap", "k-hat", "posterior"]);
}
