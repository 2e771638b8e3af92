//! Check that a result is the same on any number of threads, and after any interruption.

use std::collections::HashMap;
use std::ops::ControlFlow;

use hmcvi::Problem;
use hmcvi::config::{RunSpec, preset};
use hmcvi::data::Dataset;
use hmcvi::device::Device;
use hmcvi::eval::{
    AnnealingOptions, EvalError, EvaluationOptions, EvaluationResult, ImportanceOptions, Phase,
    PosteriorOptions, Proposal, QuadratureOptions, Watch, evaluate,
};
use hmcvi_graph::Store;

const IMAGES: usize = 130;

/// A small model that is not trained, which is as good as any for this, and all options at once.
fn model() -> (RunSpec, Store<f32>, EvaluationOptions) {
    let mut spec = preset("hmcvi-6").expect("a preset");
    (spec.model.hidden, spec.model.latent) = (vec![8, 8], 2);
    spec.data.evaluation_draws = 2;
    let mut store = Problem::of_run(&spec, 784).initial_values(1);
    store.get_mut("log_step_size").expect("the chain has a step size").values.fill(-3.0);
    let annealing = AnnealingOptions { temperatures: 5, chains: 8, ..AnnealingOptions::default() };
    let options = EvaluationOptions {
        chain_draws: 2,
        importance: Some(ImportanceOptions {
            proposal: Proposal::StudentT,
            scale: 1.2,
            ..ImportanceOptions::new(50)
        }),
        encoder_samples: 20,
        quadrature: Some(QuadratureOptions { spacing: 0.2 }),
        annealing: Some((annealing, IMAGES)),
        bidirectional: Some((annealing, 20)),
        posterior: Some((PosteriorOptions { chains: 4, warm_up: 10, draws: 20, leapfrog_steps: 2 }, 2)),
        reverse: 1,
        ..EvaluationOptions::new(&spec)
    };
    (spec, store, options)
}

fn run(threads: usize, watch: &mut dyn Watch) -> Result<EvaluationResult, EvalError> {
    run_draws(2, threads, watch)
}

fn run_draws(draws: usize, threads: usize, watch: &mut dyn Watch) -> Result<EvaluationResult, EvalError> {
    let (spec, store, mut options) = model();
    options.draws = draws;
    let data = Dataset::embedded().expect("embedded images");
    let images = data.test().slice(0..IMAGES).expect("there are as many");
    evaluate(&spec, &store, &images, &options, &Device::cpu(threads), watch).map(timeless)
}

/// The result without the times that it took.
fn timeless(mut result: EvaluationResult) -> EvaluationResult {
    result.seconds.clear();
    let sampling = result.importance_sampling.as_mut().expect("it was asked for");
    (sampling.gflops, sampling.bytes) = (None, 0);
    result
}

/// Equal to the last bit; values that are not numbers equal each other.
#[track_caller]
fn assert_same(what: &str, a: &EvaluationResult, b: &EvaluationResult) {
    assert_eq!(format!("{a:?}"), format!("{b:?}"), "{what}");
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let one = run(1, &mut ()).expect("it evaluates");
    assert!(one.bound.mean.is_finite() && one.log_likelihoods.len() == IMAGES, "{one:?}");
    for threads in [2, 3] {
        assert_same(&format!("{threads} threads"), &one, &run(threads, &mut ()).expect("it evaluates"));
    }
}

#[test]
fn annealing_is_compared_with_importance_sampling_of_the_same_draws() {
    let [one, two] = [1, 2].map(|draws| run_draws(draws, 2, &mut ()).expect("it evaluates"));
    assert_ne!(one.log_likelihoods, two.log_likelihoods, "the second draw counts");
    let above = |j: &EvaluationResult| j.annealing.as_ref().and_then(|a| a.above_importance_sampling);
    assert!(above(&one).is_some_and(|a| a.mean.is_finite()), "{one:?}");
    assert_eq!(above(&one), above(&two));
}

/// Stops at every so many reports of progress, and keeps what is finished.
struct Impatient {
    every: usize,
    reports: usize,
    phases: Vec<Phase>,
    kept: HashMap<String, String>,
}

impl Watch for Impatient {
    fn progress(&mut self, phase: Phase, share: f64) -> ControlFlow<()> {
        assert!((0.0..=1.0 + 1e-9).contains(&share), "{phase:?}: {share}");
        self.phases.push(phase);
        self.reports += 1;
        if self.reports.is_multiple_of(self.every) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn recall(&mut self, part: &str) -> Option<serde_json::Value> {
        // Through text, as a file does.
        self.kept.get(part).map(|text| serde_json::from_str(text).expect("JSON"))
    }

    fn keep(&mut self, part: &str, value: &serde_json::Value) -> Result<(), EvalError> {
        assert!(self.kept.insert(part.into(), value.to_string()).is_none(), "`{part}` is computed once");
        Ok(())
    }
}

#[test]
fn interrupted_and_continued_it_finds_the_same() {
    let whole = run(2, &mut ()).expect("it evaluates");
    let mut watch = Impatient { every: 160, reports: 0, phases: Vec::new(), kept: HashMap::new() };
    let mut sittings = 1;
    let found = loop {
        match run(2, &mut watch) {
            Ok(found) => break found,
            Err(EvalError::Stopped) => sittings += 1,
            Err(error) => panic!("{error}"),
        }
        assert!(sittings < 100, "no progress between interruptions");
    };
    assert!(sittings > 3, "it was interrupted {} times only", sittings - 1);
    watch.phases.sort();
    watch.phases.dedup();
    assert_eq!(watch.phases.len(), 10, "every phase reports: {:?}", watch.phases);
    assert_same("interrupted", &whole, &found);
}
