//! Measure how long a whole training step takes: binarisation, bound, gradient and update.

mod all;
mod exchange;
mod host;
mod jobs;
mod peer;
mod products;
mod step;
mod table;

use std::sync::Arc;
use std::time::Instant;

use clap::Subcommand;
use hmcvi::config::RunSpec;
use hmcvi::data::Dataset;
use hmcvi::device::Device;
use hmcvi::train::Trainer;

use crate::Context;
use crate::failure::Failure;

/// What was typed.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Time training steps on the embedded images, alone or alternating with other programs
    #[command(after_help = "Examples:
  hmcvi bench step
  hmcvi bench step --preset hmcvi-16 --batch 100 --peer python3")]
    Step(step::Arguments),
    /// Print the table of this machine: steps, threads, products, and a GPU where there is one
    #[command(after_help = "Examples:
  hmcvi bench all
  hmcvi bench all --peer python3 --rounds 9")]
    All(all::Arguments),
    /// Time how fast processes exchange bytes that `mpirun` started together
    #[command(after_help = "Example, after `mpirun -n 2`:
  hmcvi bench exchange")]
    Exchange,
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<(), Failure> {
    match command {
        Command::Step(arguments) => step::run(context, arguments),
        Command::All(arguments) => all::run(context, arguments),
        Command::Exchange => exchange::run(context),
    }
}

/// Seconds that a round takes of each program.
const ROUND: f64 = 0.8;

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn best(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Our training step.
struct Ours {
    trainer: Trainer,
    rows: Vec<u32>,
    rate: f64,
}

impl Ours {
    fn new(spec: &RunSpec, device: &Device) -> Result<Self, Failure> {
        let data = Arc::new(enough(spec.train.batch)?);
        let trainer = Trainer::new(spec, data, device, None)?;
        let rows = (0..spec.train.batch as u32).collect();
        Ok(Ours { trainer, rows, rate: spec.train.learning_rate.last })
    }

    /// Microseconds per image over some steps.
    fn time(&mut self, steps: usize) -> Result<f64, Failure> {
        let start = Instant::now();
        self.trainer.updates(&self.rows, self.rate, steps)?;
        Ok(start.elapsed().as_secs_f64() * 1e6 / (steps * self.rows.len()) as f64)
    }
}

/// The embedded images, repeated where a batch is larger than their number.
fn enough(batch: usize) -> Result<Dataset, Failure> {
    let data = Dataset::embedded()?;
    let train = data.train();
    if batch <= train.len() {
        return Ok(data);
    }
    let rows: Vec<u32> = (0..train.len() as u32).cycle().take(batch).collect();
    let train = train.pick(&rows);
    Ok(Dataset::new(data.name(), data.source(), train, data.validation().clone(), data.test().clone())?)
}
