//! Evaluate a trained model: the bound with its terms, and the likelihood in as many ways as are asked for.

use clap::{Args, ValueEnum};
use hmcvi::config::RunSpec;
use hmcvi::data::{Dataset, Table};
use hmcvi::eval::{
    AnnealingOptions, AnnealingSchedule, AnnealingStart, EvaluationOptions, EvaluationResult,
    ImportanceOptions, PosteriorOptions, Proposal, Quadrature, QuadratureOptions, evaluate,
};
use hmcvi::model::likelihood::LikelihoodKind;
use hmcvi::run::{Checkpoint, Journal, Kept, Lock, RunDirectory};
use hmcvi_record::{EVALUATION_SCHEMA, Evaluation, files};
use hmcvi_report::evaluation_text;
use serde_json::json;

use crate::Context;
use crate::arguments::{SplitName, Trained};
use crate::failure::Failure;
use crate::progress::Evaluating;
use crate::settings::{Model, open_trained, paper_row};
use crate::source;

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Images or rows to evaluate on
    #[arg(long, value_enum, default_value_t = SplitName::Test, help_heading = WHAT)]
    split: SplitName,
    /// Use only the first N images or rows
    #[arg(long, value_name = "N", help_heading = WHAT)]
    limit: Option<usize>,
    /// Fixed binarisations of each image; rows of a table are taken once [default: data.evaluation_draws]
    #[arg(long, value_name = "N", help_heading = WHAT, value_parser = clap::value_parser!(u32).range(1..=1000))]
    draws: Option<u32>,
    /// Chains per image or row in the estimate of the bound
    #[arg(long, value_name = "N", help_heading = WHAT, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    chain_draws: u32,
    /// Importance samples per image or row; 0 skips importance sampling [default: eval.importance_samples]
    #[arg(long, value_name = "S", help_heading = IMPORTANCE)]
    samples: Option<usize>,
    /// Distribution to draw importance samples from
    #[arg(long, value_enum, help_heading = IMPORTANCE, default_value_t = ProposalName::Gaussian)]
    proposal: ProposalName,
    /// Factor by which the proposal's covariance exceeds the encoder's
    #[arg(long, value_name = "FACTOR", help_heading = IMPORTANCE, default_value_t = 1.0)]
    proposal_scale: f64,
    /// Posterior draws after the HMC steps whose mean is the centre of the proposal
    #[arg(long, value_name = "N", help_heading = IMPORTANCE, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    proposal_draws: u32,
    /// Samples in the encoder's own multi-sample (IWAE) bound; 0 skips it
    #[arg(long, value_name = "K", help_heading = WHAT, default_value_t = 0)]
    iwae: usize,
    /// Compute the likelihood by quadrature with this spacing (models with two latent dimensions) [default spacing: 0.02]
    #[arg(long, value_name = "SPACING", help_heading = WHAT, num_args = 0..=1, default_missing_value = "0.02")]
    quadrature: Option<f64>,
    /// Run annealed importance sampling (AIS) on the first N images
    #[arg(long, value_name = "N", help_heading = ANNEALING, default_value_t = 0)]
    ais: usize,
    /// Run bidirectional Monte Carlo (BDMC) on N data points simulated by the model
    #[arg(long, value_name = "N", help_heading = ANNEALING, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    bdmc: u32,
    /// Number of temperatures
    #[arg(long, value_name = "N", help_heading = ANNEALING, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    temperatures: u32,
    /// Annealed chains per image
    #[arg(long, value_name = "N", help_heading = ANNEALING, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    chains: u32,
    /// Leapfrog steps at each temperature
    #[arg(long, value_name = "N", help_heading = ANNEALING, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    leapfrog_steps: u32,
    /// Spacing of temperatures
    #[arg(long, value_enum, help_heading = ANNEALING, default_value_t = ScheduleName::Sigmoidal)]
    schedule: ScheduleName,
    /// Distribution at which annealing starts
    #[arg(long, value_enum, help_heading = ANNEALING, default_value_t = StartName::Encoder)]
    start: StartName,
    /// Compare the approximation with long HMC chains on the posteriors of the first N images
    #[arg(long, value_name = "N", help_heading = WHAT, default_value_t = 0)]
    posterior: usize,
    /// Measure by how much better reverse models would raise the bound of the first N images
    #[arg(long, value_name = "N", help_heading = WHAT, default_value_t = 0)]
    reverse: usize,
    /// Start over instead of resuming an interrupted evaluation
    #[arg(long, help_heading = WHAT)]
    fresh: bool,
    #[command(flatten)]
    trained: Trained,
}

/// Headings of its options.
const WHAT: &str = "What to compute";
const IMPORTANCE: &str = "Importance sampling";
const ANNEALING: &str = "Annealing";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProposalName {
    /// Diagonal Gaussian, as in the paper
    Gaussian,
    /// Student's t with four degrees of freedom
    StudentT,
    /// Half Gaussian, half prior: finds every mode if there are few latent dimensions
    Defensive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScheduleName {
    /// Evenly spaced
    Linear,
    /// Denser at both ends
    Sigmoidal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StartName {
    /// The encoder's Gaussian
    Encoder,
    /// The prior
    Prior,
}

impl Arguments {
    fn options(&self, spec: &RunSpec) -> Result<EvaluationOptions, Failure> {
        if !(self.proposal_scale.is_finite() && self.proposal_scale > 0.0) {
            let value = self.proposal_scale;
            return Err(Failure::Usage(format!(
                "`--proposal-scale` is {value}, but must be a positive number"
            )));
        }
        if self.reverse > 0 && spec.chain.hmc_steps == 0 {
            return Err(Failure::Usage(
                "`--reverse` needs a model with HMC steps, but this one was trained without; leave it out"
                    .into(),
            ));
        }
        let quadrature = self.quadrature.map(|spacing| quadrature(spacing, spec)).transpose()?;
        let usual = EvaluationOptions::new(spec);
        let samples = self.samples.unwrap_or(spec.eval.importance_samples);
        let proposal = match self.proposal {
            ProposalName::Gaussian => Proposal::Gaussian,
            ProposalName::StudentT => Proposal::StudentT,
            ProposalName::Defensive => Proposal::Defensive,
        };
        let annealing = AnnealingOptions {
            temperatures: self.temperatures as usize,
            chains: self.chains as usize,
            leapfrog_steps: self.leapfrog_steps as usize,
            schedule: match self.schedule {
                ScheduleName::Linear => AnnealingSchedule::Linear,
                ScheduleName::Sigmoidal => AnnealingSchedule::Sigmoidal,
            },
            start: match self.start {
                StartName::Encoder => AnnealingStart::Encoder,
                StartName::Prior => AnnealingStart::Prior,
            },
        };
        let of = |count: usize| (count > 0).then_some((annealing, count));
        Ok(EvaluationOptions {
            // Without stochastic binarisation all draws are the same.
            draws: if usual.draws == 1 { 1 } else { self.draws.map_or(usual.draws, |d| d as usize) },
            chain_draws: self.chain_draws as usize,
            importance: (samples > 0).then_some(ImportanceOptions {
                samples,
                proposal,
                scale: self.proposal_scale,
                mean_draws: self.proposal_draws as usize,
            }),
            encoder_samples: self.iwae,
            quadrature,
            annealing: of(self.ais),
            bidirectional: of(self.bdmc as usize),
            posterior: (self.posterior > 0).then_some((PosteriorOptions::default(), self.posterior)),
            reverse: self.reverse,
            ..usual
        })
    }
}

/// The division of a plane, if there is one.
fn quadrature(spacing: f64, spec: &RunSpec) -> Result<QuadratureOptions, Failure> {
    if spec.model.latent != 2 {
        return Err(Failure::Usage(format!(
            "`--quadrature` needs two latent dimensions, but this model has {}; `--ais N` works for any number",
            spec.model.latent
        )));
    }
    let likelihood = spec.model.likelihood();
    if likelihood != LikelihoodKind::Bernoulli {
        return Err(Failure::Usage(format!(
            "`--quadrature` needs the likelihood `bernoulli`, but this model has `{}`; `--ais N` works for any",
            likelihood.name()
        )));
    }
    let allowed = Quadrature::SPACINGS;
    if !allowed.contains(&spacing) {
        return Err(Failure::Usage(format!(
            "`--quadrature` is {spacing}, but must be from {} to {}",
            allowed.start(),
            allowed.end()
        )));
    }
    Ok(QuadratureOptions { spacing })
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let mut model = open_trained(context, &arguments.trained)?;
    model.device = context.processes.device(&arguments.trained.machine)?;
    let keeper = model.directory.as_ref().filter(|_| context.processes.leads());
    let split = hmcvi::data::Split::from(arguments.split);
    let images = first(model.data.table(split), arguments.limit)?;
    let options = arguments.options(&model.spec)?;
    let which: hmcvi::run::Which = arguments.trained.checkpoint.into();
    let parts = (split.name(), which.name());
    // The model inside the program has no folder to keep anything in.
    let _lock = keeper.map(|directory| Lock::take(directory.path())).transpose()?;
    let journal = keeper
        .map(|directory| journal(context, arguments, directory, &model, (&options, images.len()), parts))
        .transpose()?;
    let mut evaluating = Evaluating::new(context, journal.into());
    let evaluated =
        evaluate(&model.spec, &model.checkpoint.store, &images, &options, &model.device, &mut evaluating)?;
    let mut record = record(&model.spec, &model.checkpoint, &model.data, &evaluated, &options, parts);
    if let Some(directory) = keeper {
        tell_kept(context, &directory.write_evaluation(&record, &evaluated.images)?);
        record = directory.evaluation()?.unwrap_or(record);
    }
    evaluating.finish()?;
    if context.terminal.json {
        return context.terminal.print_json(&record);
    }
    // The paper's numbers mean nothing beside those of other data.
    let row = paper_row(&model.spec).filter(|_| model.data.name() == "mnist");
    context.terminal.print(&evaluation_text(
        &record,
        row.map(|r| (r.bound, r.nll)),
        source::noun(&model.data),
    ))
}

/// Says what became of the evaluation before.
fn tell_kept(context: &Context, kept: &Kept) {
    if !kept.parts.is_empty() {
        context.terminal.say(&format!("kept from earlier evaluations: {}", kept.parts.join(", ")));
    }
    if let Some(file) = &kept.previous {
        context.terminal.notice(&format!("the evaluation before this one is kept as {}", file.display()));
    }
}

/// The journal of this evaluation: parts of others do not belong into it.
fn journal(
    context: &Context,
    arguments: &Arguments,
    directory: &RunDirectory,
    model: &Model,
    (options, images): (&EvaluationOptions, usize),
    (split, checkpoint): (&str, &str),
) -> Result<Journal, Failure> {
    let of = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "options": options,
        "images": images,
        "split": split,
        "checkpoint": checkpoint,
        "state": model.checkpoint.info,
        "seed": model.spec.eval.seed,
        "data": model.data.sha256(),
    });
    let path = directory.file(files::EVALUATION_PARTS);
    if arguments.fresh && path.exists() {
        std::fs::remove_file(&path)
            .map_err(|e| Failure::Other(format!("cannot remove {}: {e}", path.display())))?;
    }
    let journal = Journal::open(&path, &of)?;
    if !journal.is_empty() {
        context.terminal.notice(&format!(
            "resuming an interrupted evaluation: {} parts are done (--fresh starts over)",
            journal.len()
        ));
    }
    Ok(journal)
}

/// The first images, if not all are wanted.
pub(crate) fn first(images: &Table, limit: Option<usize>) -> Result<Table, Failure> {
    match limit {
        Some(0) => Err(Failure::Usage("`--limit` is 0, but must be at least 1".into())),
        Some(limit) if limit < images.len() => images
            .slice(0..limit)
            .ok_or_else(|| Failure::Usage(format!("`--limit` is {limit}, but there are fewer rows"))),
        _ => Ok(images.clone()),
    }
}

/// The record of what was found out.
pub(crate) fn record(
    spec: &RunSpec,
    checkpoint: &Checkpoint,
    data: &Dataset,
    evaluated: &EvaluationResult,
    options: &EvaluationOptions,
    (split, which): (&str, &str),
) -> Evaluation {
    Evaluation {
        schema: EVALUATION_SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        command: std::env::args().collect(),
        kept_from: Vec::new(),
        split: split.into(),
        images: evaluated.bounds.len() as u64,
        checkpoint: which.into(),
        checkpoint_sha256: None,
        epoch: checkpoint.info.epoch,
        draws: options.draws as u64,
        chain_draws: options.chain_draws as u64,
        pixel_scale: spec.data.pixel_scale.divisor().into(),
        seed: spec.eval.seed,
        data_sha256: data.sha256().into(),
        bound: evaluated.bound,
        terms: evaluated.terms.clone(),
        divergences: evaluated.divergences,
        dropped: evaluated.dropped,
        dimensions: evaluated.dimensions,
        importance_sampling: evaluated.importance_sampling.clone(),
        encoder_bound: evaluated.encoder_bound,
        quadrature: evaluated.quadrature,
        annealing: evaluated.annealing.clone(),
        bidirectional: evaluated.bidirectional.clone(),
        posterior: evaluated.posterior.clone(),
        reverse: evaluated.reverse,
        seconds: evaluated.seconds.clone(),
    }
}
