//! Make up runs of which everything is known.

use std::collections::BTreeMap;

use hmcvi_record::{
    Annealing, AnnealingSettings, Bidirectional, EVALUATION_SCHEMA, EncoderBound, EnergyHistogram, Epoch,
    Estimate, Evaluation, ImageEvaluation, ImportanceSampling, PosteriorDistance, PosteriorQuality,
    Published, ReverseQuality, RunFacts, RunInfo, RunSettings, RunState, SCHEMA, Summary,
};
use hmcvi_report::{Maker, RunData};

pub(crate) fn map(values: &[(&str, f64)]) -> BTreeMap<String, f64> {
    values.iter().map(|(name, value)| (name.to_string(), *value)).collect()
}

fn near(mean: f64) -> Estimate {
    Estimate { mean, standard_error: 0.25 }
}

pub(crate) fn epoch(n: u64) -> Epoch {
    let bound = -90.0 - 40.0 / n as f64;
    let values = [
        ("bound", bound),
        ("log_joint", bound - 30.0),
        ("initial_entropy", 20.0),
        ("momentum_entropy", 40.0),
        ("reverse_momentum", -20.0),
        ("final_momentum", -9.5),
        ("acceptance", -0.5),
        ("acceptance_rate", 0.9),
        ("step_size", 0.07),
        ("alpha", 0.2),
    ];
    let looks = [
        ("energy_error", 0.3),
        ("mass", 1.5),
        ("acceptance_rate_1", 0.95),
        ("acceptance_rate_2", 0.9),
        ("acceptance_rate_3", 0.85),
    ];
    Epoch {
        epoch: n,
        step: 100 * n,
        seconds: 2.0 * n as f64,
        learning_rate: 1e-3 / n as f64,
        train: map(&values),
        validation: Some(map(&[&values[..], &looks].concat())),
        images: 10_000,
        divergences: 3,
        skipped: 0,
        images_per_second: 5000.0,
    }
}

/// Images whose bounds differ by tens of nats, all moved by as much.
fn images(by: f64) -> Vec<ImageEvaluation> {
    let image = |i: u64| ImageEvaluation {
        image: i,
        bound: Some(-90.0 - 10.0 * i as f64 + by),
        log_likelihood: Some(-88.0 - 10.0 * i as f64 + 0.5 * by),
        effective_sample_size: Some(40.0 + i as f64),
        log_weight_variance: Some(2.0),
        k_hat: Some(0.3 + 0.1 * i as f64),
        exact: Some(-87.9 - 10.0 * i as f64),
        annealed: Some(-87.9 - 10.0 * i as f64),
    };
    (0..6).map(image).collect()
}

fn evaluation(by: f64) -> Evaluation {
    let settings = AnnealingSettings {
        temperatures: 1000,
        chains: 16,
        leapfrog_steps: 2,
        schedule: "sigmoidal".into(),
        start: "encoder".into(),
    };
    let distance = |size: f64| PosteriorDistance {
        gaussian_kl: near(size),
        wasserstein: near(0.1 * size),
        energy_excess: near(2.0 * size),
    };
    Evaluation {
        schema: EVALUATION_SCHEMA,
        version: "0.1.0".into(),
        command: ["hmcvi", "eval", "runs/a"].map(String::from).to_vec(),
        split: "test".into(),
        images: 6,
        checkpoint: "best".into(),
        epoch: 10,
        draws: 5,
        chain_draws: 1,
        kept_from: Vec::new(),
        checkpoint_sha256: None,
        pixel_scale: 256,
        seed: 1,
        data_sha256: "00".into(),
        bound: Estimate { mean: -115.0 + by, standard_error: 7.64 },
        terms: map(&[("log_joint", -130.0)]),
        divergences: 0,
        dropped: 0,
        dimensions: None,
        importance_sampling: Some(ImportanceSampling {
            samples: 5000,
            proposal: "gaussian".into(),
            proposal_scale: 1.0,
            mean_draws: 5,
            log_likelihood: Estimate { mean: -113.0 + 0.5 * by, standard_error: 7.5 },
            effective_sample_size: 42.5,
            log_weight_variance: 2.0,
            k_hat_median: Some(0.55),
            k_hat_high: 0.1667,
            gflops: None,
            bytes: 1000,
        }),
        encoder_bound: Some(EncoderBound { samples: 100, bound: near(-113.4) }),
        quadrature: None,
        annealing: Some(Annealing {
            settings: settings.clone(),
            images: 6,
            log_likelihood: near(-112.9),
            acceptance_rate: 0.81,
            log_weight_variance: 0.2,
            above_importance_sampling: Some(near(0.05)),
        }),
        bidirectional: Some(Bidirectional {
            settings,
            points: 50,
            lower: near(-99.5),
            upper: near(-99.375),
            gap: near(0.125),
        }),
        posterior: Some(PosteriorQuality {
            images: 6,
            chains: 8,
            draws: 500,
            r_hat: 1.004,
            ess_bulk: 900.0,
            ess_tail: Some(800.0),
            approximation_draws: 100,
            initial: distance(6.0),
            improved: distance(1.5),
            gain: distance(4.5),
            energies: EnergyHistogram {
                edges: vec![-2.0, 0.0, 2.0, 4.0],
                reference: vec![0.5, 0.4, 0.1],
                initial: vec![0.1, 0.3, 0.6],
                improved: vec![0.4, 0.4, 0.2],
            },
        }),
        reverse: Some(ReverseQuality {
            images: 6,
            draws: 4000,
            learnt: near(-20.0),
            own: near(1.25),
            linear: near(1.5),
            correlated: near(1.75),
        }),
        seconds: BTreeMap::new(),
    }
}

/// A run that is finished and evaluated, better than others by so many nats.
pub(crate) fn run(name: &str, by: f64) -> RunData {
    let settings = RunSettings {
        seed: 1,
        latent: 20,
        hidden: vec![200, 200],
        hmc_steps: 3,
        leapfrog_steps: 4,
        partial_momentum: true,
        mass: "global".into(),
        acceptance: "simple".into(),
        step_size: "global".into(),
        family: Vec::new(),
        binarisation: "stochastic".into(),
        average: 0.0,
        max_grad_norm: 300.0,
    };
    let info = RunInfo {
        schema: SCHEMA,
        version: "0.1.0".into(),
        command: ["hmcvi", "train", "hmcvi-18", "--set", "model.hidden=[200,200]"].map(String::from).to_vec(),
        started: 1_700_000_000,
        device: "cpu, 2 threads".into(),
        data: "embedded".into(),
        data_sha256: "00".into(),
        initial_sha256: None,
        changes: Vec::new(),
        parameters: 794_000,
        bytes: 1_000_000,
        first_step_size: Some(0.05),
        image_shape: Some([28, 28]),
        columns: Some(784),
    };
    let summary = Summary {
        schema: SCHEMA,
        epochs: 10,
        best_epoch: 10,
        best_validation_bound: Some(-94.0),
        seconds: 20.0,
        divergences: 30,
        skipped: 0,
        finished: true,
    };
    let facts = RunFacts {
        name: name.into(),
        place: format!("runs/{name}"),
        preset: Some("hmcvi-18".into()),
        settings,
        state: RunState::Finished,
        info: Some(info),
        summary: Some(summary),
        planned: 10,
        evaluation: Some(evaluation(by)),
        evaluation_is_current: Some(true),
        published: Some(Published {
            name: "HMCVI 18".into(),
            bound: -91.4,
            log_likelihood: -87.28,
            same_data: Some(false),
        }),
        reproduce: vec![format!("hmcvi train runs/{name}/config.toml --out runs/{name}-again")],
        reproduce_caveats: Vec::new(),
        config: "seed = 1\n".into(),
    };
    RunData {
        facts,
        epochs: (1..=10).map(epoch).collect(),
        images: images(by),
        began_with: None,
        published_basic: None,
        no_pictures: None,
    }
}

/// The plain model of the same data.
#[allow(dead_code, reason = "not every test file compares")]
pub(crate) fn basic() -> RunData {
    let mut basic = run("basic", -3.0);
    basic.facts.settings.hmc_steps = 0;
    basic.facts.published = None;
    basic
}

pub(crate) fn maker() -> Maker {
    Maker {
        version: "0.1.0".into(),
        command: ["hmcvi", "report", "runs/a"].map(String::from).to_vec(),
        made: 1_700_086_400,
    }
}
