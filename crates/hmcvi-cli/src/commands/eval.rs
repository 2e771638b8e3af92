//! Judge a trained model: the bound with its terms, and the likelihood by importance sampling.

use clap::Args;
use hmcvi::config::RunSpec;
use hmcvi::data::{Dataset, Images};
use hmcvi::eval::{JudgeOptions, Judgement, TEST_SEED, judge};
use hmcvi::run::Checkpoint;
use hmcvi_record::{Evaluation, SCHEMA};
use hmcvi_report::{Align, Table};

use crate::Context;
use crate::arguments::{SplitName, Trained};
use crate::failure::Failure;
use crate::progress::judging;
use crate::settings::{Model, open_trained, paper_row};

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    trained: Trained,
    /// Images to judge by
    #[arg(long, value_enum, default_value_t = SplitName::Test)]
    split: SplitName,
    /// Samples of importance sampling for each image; 0 computes the bound only [default: eval.importance_samples]
    #[arg(long, value_name = "S")]
    samples: Option<usize>,
    /// Use only the first N images
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let mut model = open_trained(context, &arguments.trained)?;
    let split = hmcvi::data::Split::from(arguments.split);
    let images = first(model.data.images(split), arguments.limit)?;
    let options = JudgeOptions {
        threads: arguments.trained.machine.threads,
        samples: arguments.samples.unwrap_or(model.spec.eval.importance_samples),
        images_seed: TEST_SEED,
    };
    let judged = judge(&model.spec, &mut model.checkpoint.store, &images, &options, &mut judging(context))?;
    let which: hmcvi::run::Which = arguments.trained.checkpoint.into();
    let record = record(&model.spec, &model.checkpoint, &model.data, &judged, (split.name(), which.name()));
    model.directory.write_evaluation(&record)?;
    if context.terminal.json {
        return context.terminal.print_json(&record);
    }
    context.terminal.print(&text(&model, &record))
}

/// The first images, if not all are wanted.
pub(crate) fn first(images: &Images, limit: Option<usize>) -> Result<Images, Failure> {
    match limit {
        Some(0) => Err(Failure::Usage("`--limit` is 0, but must be at least 1".into())),
        Some(limit) if limit < images.len() => images
            .slice(0..limit)
            .ok_or_else(|| Failure::Usage(format!("`--limit` is {limit}, but there are fewer images"))),
        _ => Ok(images.clone()),
    }
}

/// The record of what was found out.
pub(crate) fn record(
    spec: &RunSpec,
    checkpoint: &Checkpoint,
    data: &Dataset,
    judged: &Judgement,
    (split, which): (&str, &str),
) -> Evaluation {
    Evaluation {
        schema: SCHEMA,
        split: split.into(),
        images: judged.bounds.len() as u64,
        checkpoint: which.into(),
        epoch: checkpoint.info.epoch,
        draws: judged.draws,
        pixel_scale: spec.data.pixel_scale.divisor().into(),
        seed: spec.eval.seed,
        data_sha256: data.sha256().into(),
        bound: judged.bound,
        terms: judged.terms.clone(),
        divergences: judged.divergences,
        importance_sampling: judged.importance_sampling,
    }
}

fn text(model: &Model, record: &Evaluation) -> String {
    let row = paper_row(&model.spec);
    let paper = |value: Option<f64>| value.map_or("-".into(), |v| format!("{v:.2}"));
    let mut table = Table::new([
        ("nats per image", Align::Left),
        ("here", Align::Right),
        ("standard error", Align::Right),
        ("paper", Align::Right),
    ]);
    let mut add = |name: &str, estimate: &hmcvi_record::Estimate, published: Option<f64>| {
        let (mean, error) = (format!("{:.2}", -estimate.mean), format!("{:.2}", estimate.standard_error));
        table.row([name.to_string(), mean, error, paper(published)]);
    };
    add("-log p(x) <= (bound)", &record.bound, row.map(|r| r.bound));
    if let Some(sampling) = &record.importance_sampling {
        add("-log p(x) ~ (importance sampling)", &sampling.log_likelihood, row.map(|r| r.nll));
    }
    let mut text = format!(
        "{} {} images, {} draws of each, pixel scale {}, {} checkpoint (epoch {})\n\n{table}",
        record.images, record.split, record.draws, record.pixel_scale, record.checkpoint, record.epoch
    );
    if let Some(s) = &record.importance_sampling {
        text += &format!(
            "\n{} samples for each image, mean effective sample size {:.0}\n",
            s.samples, s.effective_sample_size
        );
    }
    let terms: Vec<String> = record.terms.iter().map(|(name, value)| format!("{name} {value:.3}")).collect();
    text += &format!("terms of the bound: {}\n", terms.join(", "));
    if record.divergences > 0 {
        text += &format!("{} simulations diverged; their draws are left out\n", record.divergences);
    }
    if row.is_some() && model.data.name() != "mnist" {
        text += "the paper's numbers are for all of MNIST; this data is another\n";
    }
    text
}
