//! Write draws from the posterior approximation, before and after the HMC steps, as `.npy` files.

use std::path::PathBuf;

use clap::Args;
use hmcvi::eval::{BoundEvaluator, TEST_SEED, rows};
use serde::Serialize;

use crate::Context;
use crate::arguments::{SplitName, Trained};
use crate::commands::eval::first;
use crate::failure::Failure;
use crate::output::Outputs;
use crate::settings::open_trained;

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    trained: Trained,
    /// Folder for the files
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    /// Images or rows to encode
    #[arg(long, value_enum, default_value_t = SplitName::Test)]
    split: SplitName,
    /// Posterior draws per image or row
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    draws: u32,
    /// Use only the first N images or rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Seed of the draws
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The files that are written; labels only where the data has them, and rows where the data was shuffled.
const FILES: [&str; 6] = ["z0.npy", "zT.npy", "encoder_mean.npy", "encoder_log_variance.npy", LABELS, ROWS];
const LABELS: &str = "labels.npy";
const ROWS: &str = "rows.npy";

/// A file and the shape of what it holds.
#[derive(Serialize)]
struct Written {
    file: PathBuf,
    shape: Vec<usize>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let model = open_trained(context, &arguments.trained)?;
    let images = first(model.data.table(arguments.split.into()), arguments.limit)?;
    let names = FILES.iter().filter(|name| match **name {
        LABELS => images.labels().is_some(),
        ROWS => images.rows_in_file().is_some(),
        _ => true,
    });
    let outputs = Outputs::claim(names.map(|name| arguments.out.join(name)), arguments.force)?;
    outputs.spare(&model.spec.data.source)?;
    let (spec, n, d) = (&model.spec, images.len(), model.spec.model.latent);
    let (problem, drawn) = (model.problem(), spec.data.observation(&images).draw(&images, TEST_SEED, 0));
    let all = rows(n);
    let mut evaluator = BoundEvaluator::new(&problem, &drawn.observation(), &model.device)?;
    let (mut start, mut end, mut last) = (Vec::new(), Vec::new(), None);
    for draw in 0..u64::from(arguments.draws) {
        if context.interrupt.requested() {
            return Err(Failure::Interrupted("interrupted; nothing was written".into()));
        }
        let chains = evaluator.run(&model.checkpoint.store, &drawn, &all, arguments.seed, draw, |_| {
            context.interrupt.requested()
        })?;
        start.extend(&chains.start);
        end.extend(&chains.end);
        last = Some(chains);
    }
    let last = last.unwrap_or_default();
    let draws = arguments.draws as usize;
    let arrays: [(Vec<usize>, &[f32]); 4] = [
        (vec![draws, n, d], &start),
        (vec![draws, n, d], &end),
        (vec![n, d], &last.encoder_mean),
        (vec![n, d], &last.encoder_log_variance),
    ];
    let mut written = Vec::new();
    for (name, (shape, values)) in FILES.iter().zip(arrays) {
        let file = arguments.out.join(name);
        outputs.write_npy(&file, &shape, values)?;
        written.push(Written { file, shape });
    }
    if let Some(labels) = images.labels() {
        let file = arguments.out.join(LABELS);
        match labels.bytes() {
            Some(bytes) => outputs.write_npy(&file, &[n], &bytes)?,
            None => outputs.write_npy(&file, &[n], labels.values())?,
        }
        written.push(Written { file, shape: vec![n] });
    }
    if let Some(rows) = images.rows_in_file() {
        let file = arguments.out.join(ROWS);
        outputs.write_npy(&file, &[n], rows)?;
        written.push(Written { file, shape: vec![n] });
    }
    if context.terminal.json {
        return context.terminal.print_json(&written);
    }
    let line = |w: &Written| format!("{}  {:?}\n", w.file.display(), w.shape);
    context.terminal.print(&written.iter().map(line).collect::<String>())
}
