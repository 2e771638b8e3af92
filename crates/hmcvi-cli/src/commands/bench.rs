//! Measure how long a whole training step takes: binarisation, bound, gradient and update.

use std::sync::Arc;
use std::time::Instant;

use clap::Subcommand;
use hmcvi::config::RunSpec;
use hmcvi::data::{Dataset, Images};
use hmcvi::train::Trainer;
use serde::Serialize;

use crate::Context;
use crate::arguments::Machine;
use crate::failure::Failure;
use crate::settings::{assigned, check_device, find};

/// What was typed.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Time training steps on the embedded images
    Step {
        /// A preset or a file of settings
        #[arg(long, default_value = "hmcvi-13", value_name = "PRESET|FILE")]
        preset: String,
        /// Images in each step
        #[arg(long, default_value_t = 500, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        batch: u32,
        /// Steps that are timed; the median counts
        #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        repetitions: u32,
        /// Change a setting, such as `model.hidden=[500]`
        #[arg(long = "set", value_name = "KEY=VALUE", num_args = 1..)]
        assignments: Vec<String>,
        #[command(flatten)]
        machine: Machine,
    },
}

/// What was measured.
#[derive(Serialize)]
struct Measured {
    preset: String,
    batch: usize,
    threads: usize,
    repetitions: usize,
    /// Median time of a step, for each image.
    us_per_image: f64,
    /// Floating-point operations of matrix products, for each image.
    flop_per_image: u64,
    /// Billions of those operations in a second.
    gflops: f64,
    /// Fastest and slowest step, in microseconds for each image.
    us_per_image_range: [f64; 2],
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<(), Failure> {
    let Command::Step { preset, batch, repetitions, assignments, machine } = command;
    check_device(machine)?;
    let mut spec = assigned(find(preset)?, assignments)?.spec;
    let (batch, repetitions) = (*batch as usize, *repetitions as usize);
    spec.train.batch = batch;
    let measured = measure(&spec, preset, repetitions, machine.threads)?;
    if context.terminal.json {
        return context.terminal.print_json(&measured);
    }
    context.terminal.print(&format!(
        "{preset}, batch {batch}, {} threads: {:.1} us per image ({:.1} to {:.1}), {:.2} MFLOP per image, {:.1} GFLOP/s\n",
        measured.threads,
        measured.us_per_image,
        measured.us_per_image_range[0],
        measured.us_per_image_range[1],
        measured.flop_per_image as f64 / 1e6,
        measured.gflops
    ))
}

fn measure(spec: &RunSpec, preset: &str, repetitions: usize, threads: usize) -> Result<Measured, Failure> {
    let data = Arc::new(enough(spec.train.batch)?);
    let mut trainer = Trainer::new(spec, data, threads, None)?;
    let rows: Vec<u32> = (0..spec.train.batch as u32).collect();
    let rate = spec.train.learning_rate.last;
    // The first steps bring memory and clock to their usual state.
    for _ in 0..3 {
        trainer.update(&rows, rate)?;
    }
    let mut times = Vec::with_capacity(repetitions);
    for _ in 0..repetitions {
        let start = Instant::now();
        trainer.update(&rows, rate)?;
        times.push(start.elapsed().as_secs_f64() * 1e6 / spec.train.batch as f64);
    }
    times.sort_by(f64::total_cmp);
    let middle = times[repetitions / 2];
    Ok(Measured {
        preset: preset.into(),
        batch: spec.train.batch,
        threads: trainer.threads(),
        repetitions,
        us_per_image: middle,
        flop_per_image: trainer.flop_per_image(),
        gflops: trainer.flop_per_image() as f64 / middle / 1e3,
        us_per_image_range: [times[0], times[repetitions - 1]],
    })
}

/// The embedded images, repeated where a batch is larger than their number.
fn enough(batch: usize) -> Result<Dataset, Failure> {
    let data = Dataset::embedded()?;
    let train = data.train();
    if batch <= train.len() {
        return Ok(data);
    }
    let bytes = train.bytes().iter().copied().cycle().take(batch * train.pixels()).collect();
    let train = Images::new(train.height(), train.width(), bytes, None)?;
    Ok(Dataset::new(data.name(), data.source(), train, data.validation().clone(), data.test().clone())?)
}
