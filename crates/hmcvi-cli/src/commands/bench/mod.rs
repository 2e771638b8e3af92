//! Measure how long a whole training step takes: binarisation, bound, gradient and update.

mod exchange;
mod peer;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use clap::Subcommand;
use hmcvi::config::RunSpec;
use hmcvi::data::Dataset;
use hmcvi::device::Device;
use hmcvi::train::Trainer;
use serde::Serialize;

use self::peer::{Peer, check_comparable};
use crate::Context;
use crate::arguments::{DeviceName, Machine, PrecisionName};
use crate::failure::Failure;
use crate::settings::{assigned, find};

/// What was typed.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Time training steps on the embedded images, alone or alternating with other programs
    #[command(after_help = "Examples:
  hmcvi bench step
  hmcvi bench step --preset hmcvi-16 --batch 100 --peer python3")]
    Step {
        /// A preset or a TOML file of settings
        #[arg(long, default_value = "hmcvi-13", value_name = "PRESET|FILE")]
        preset: String,
        /// Images in each step
        #[arg(long, default_value_t = 500, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        batch: u32,
        /// Rounds of about a second each; the median is reported
        #[arg(long, default_value_t = 7, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
        rounds: u32,
        /// Training runs side by side, each with its own queue: how well they share a GPU
        #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
        jobs: u32,
        /// Time the same step in JAX, alternating with ours, using this Python
        #[arg(long, value_name = "PYTHON")]
        peer: Option<String>,
        /// Time another program, alternating with ours: it answers lines `go BATCH STEPS` with JSON (`us_per_image`)
        #[arg(long, value_name = "COMMAND")]
        against: Vec<String>,
        /// Change settings, such as `model.hidden=[500]`
        #[arg(long = "set", value_name = "KEY=VALUE", num_args = 1..)]
        assignments: Vec<String>,
        #[command(flatten)]
        machine: Machine,
    },
    /// Time how fast processes exchange bytes that `mpirun` started together
    #[command(after_help = "Example, after `mpirun -n 2`:
  hmcvi bench exchange")]
    Exchange,
}

/// What was measured.
#[derive(Serialize)]
struct Measured {
    preset: String,
    batch: usize,
    device: String,
    rounds: usize,
    /// Steps in each round.
    steps: usize,
    /// Median time of a step, for each image.
    us_per_image: f64,
    /// The same of the fastest round.
    us_per_image_best: f64,
    /// Floating-point operations of matrix products, for each image.
    flop_per_image: u64,
    /// Billions of those operations in a second.
    gflops: f64,
    /// Where the time of the first of several processes goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    shared: Option<Shared>,
    peers: BTreeMap<String, PeerTime>,
}

/// Milliseconds of a step, and bytes that processes hand out in it.
#[derive(Serialize)]
struct Shared {
    processes: usize,
    compute: f64,
    /// Until the slowest process is there.
    waiting: f64,
    transfer: f64,
    bytes: u64,
}

/// How another program fared in the same rounds.
#[derive(Serialize)]
struct PeerTime {
    us_per_image: f64,
    us_per_image_best: f64,
    /// Median over the rounds of its time divided by ours.
    ratio: f64,
}

/// Seconds that a round takes of each program.
const ROUND: f64 = 0.8;

pub(crate) fn run(context: &Context, command: &Command) -> Result<(), Failure> {
    let Command::Step { preset, batch, rounds, jobs, peer, against, assignments, machine } = command else {
        return exchange::run(context);
    };
    let device = context.processes.device(machine)?;
    let mut spec = assigned(find(preset)?, assignments)?.spec;
    spec.train.batch = *batch as usize;
    if (*jobs > 1 || peer.is_some() || !against.is_empty()) && context.processes.ranks().is_some() {
        let text =
            "`--jobs`, `--peer` and `--against` are for one process, but several were started together";
        return Err(Failure::Usage(text.into()));
    }
    if *jobs > 1 {
        return side_by_side(context, &spec, *jobs as usize, &device);
    }
    let mut peers = Vec::new();
    if let Some(python) = peer {
        check_comparable(&spec)?;
        let coarse = machine.device == DeviceName::Cuda && machine.precision == PrecisionName::Tf32;
        let precision = if coarse { "tf32" } else { "highest" };
        for shape in ["scan", "unroll"] {
            peers.push(Peer::jax(python, shape, precision, &spec)?);
        }
    }
    for line in against {
        peers.push(Peer::command(line)?);
    }
    let measured = measure(context, &spec, (preset, *rounds as usize, &device), &mut peers)?;
    if context.terminal.json {
        return context.terminal.print_json(&measured);
    }
    let mut text = format!(
        "{preset}, batch {batch}, {}: {:.1} us per image (best {:.1}), {:.2} MFLOP per image, {:.1} GFLOP/s\n",
        measured.device,
        measured.us_per_image,
        measured.us_per_image_best,
        measured.flop_per_image as f64 / 1e6,
        measured.gflops
    );
    if let Some(s) = &measured.shared {
        text += &format!(
            "  of {:.2} ms for a step, process 0 of {} computes for {:.2}, waits for {:.2}, and {:.2} are the transfer of \
             {:.2} MB\n",
            s.compute + s.waiting + s.transfer,
            s.processes,
            s.compute,
            s.waiting,
            s.transfer,
            s.bytes as f64 / 1e6
        );
    }
    for (name, p) in &measured.peers {
        text += &format!(
            "  {name}: {:.1} us per image (best {:.1}), {:.2} times our time\n",
            p.us_per_image, p.us_per_image_best, p.ratio
        );
    }
    context.terminal.print(&text)
}

fn measure(
    context: &Context,
    spec: &RunSpec,
    (preset, rounds, device): (&str, usize, &Device),
    peers: &mut [Peer],
) -> Result<Measured, Failure> {
    let batch = spec.train.batch;
    let mut ours = Ours::new(spec, device)?;
    // The first steps bring memory and clock to their usual state.
    ours.time(3)?;
    let steps = (ROUND * 1e6 / (ours.time(2)? * batch as f64)).ceil().max(1.0) as usize;
    let steps = context.processes.number_of_first(steps);
    for peer in &mut *peers {
        peer.time(batch, 2)?;
    }
    let (mut own, mut theirs) = (Vec::new(), vec![Vec::new(); peers.len()]);
    for round in 0..rounds {
        own.push(ours.time(steps)?);
        for (peer, times) in peers.iter_mut().zip(&mut theirs) {
            times.push(peer.time(batch, steps)?);
        }
        if !peers.is_empty() {
            context.terminal.say(&format!("round {} of {rounds}", round + 1));
        }
        if context.processes.any(context.interrupt.requested()) {
            return Err(Failure::Interrupted("interrupted".into()));
        }
    }
    let shared = shared(context, &mut ours, steps)?;
    let peer_time = |times: &Vec<f64>| PeerTime {
        us_per_image: median(times.iter().copied()),
        us_per_image_best: best(times),
        ratio: median(times.iter().zip(&own).map(|(theirs, ours)| theirs / ours)),
    };
    let (us, flop) = (median(own.iter().copied()), ours.trainer.flop_per_image());
    Ok(Measured {
        preset: preset.into(),
        batch,
        device: device.describe(),
        rounds,
        steps,
        us_per_image: us,
        us_per_image_best: best(&own),
        flop_per_image: flop,
        gflops: flop as f64 / us / 1e3,
        shared,
        peers: peers.iter().zip(&theirs).map(|(p, times)| (p.name.clone(), peer_time(times))).collect(),
    })
}

/// Where the time goes of steps of several processes: an extra round, because asking takes time, too.
fn shared(context: &Context, ours: &mut Ours, steps: usize) -> Result<Option<Shared>, Failure> {
    let Some(ranks) = context.processes.ranks() else { return Ok(None) };
    context.processes.measure();
    let all = ours.time(steps)? * (steps * ours.rows.len()) as f64 / 1e6;
    let found = context.processes.measure().unwrap_or_default();
    let each = |seconds: f64| 1e3 * seconds / steps as f64;
    Ok(Some(Shared {
        processes: ranks.size(),
        compute: each(all - found.waiting - found.transfer),
        waiting: each(found.waiting),
        transfer: each(found.transfer),
        bytes: found.bytes / steps as u64,
    }))
}

/// What several trainings on one device were measured at.
#[derive(Serialize)]
struct Sharing {
    device: String,
    batch: usize,
    jobs: usize,
    /// Seconds of all trainings side by side, and of one alone.
    seconds_together: f64,
    seconds_alone: f64,
    /// How many times sooner they finish than one after the other.
    gain: f64,
}

/// Times so many trainings side by side, and one alone, with the same number of updates each.
fn side_by_side(context: &Context, spec: &RunSpec, jobs: usize, device: &Device) -> Result<(), Failure> {
    let mut alone = Ours::new(spec, device)?;
    alone.time(3)?;
    let steps = (2e6 / (alone.time(10)? * spec.train.batch as f64)).ceil().max(1.0) as usize;
    let seconds_alone = alone.time(steps)? * (steps * spec.train.batch) as f64 / 1e6;
    drop(alone);
    let ready = std::sync::Barrier::new(jobs);
    let job = || -> Result<f64, Failure> {
        let ours = device.beside(jobs).map_err(Failure::from).and_then(|d| Ours::new(spec, &d));
        // Everybody comes to the barrier, also who cannot go on.
        let ours = ours.and_then(|mut ours| ours.time(3).map(|_| ours));
        ready.wait();
        let mut ours = ours?;
        Ok(ours.time(steps)? * (steps * spec.train.batch) as f64 / 1e6)
    };
    let times = std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..jobs).map(|_| scope.spawn(job)).collect();
        let ended = |_| Failure::Other("a training ended without a result".into());
        jobs.into_iter().map(|job| job.join().map_err(ended)?).collect::<Result<Vec<f64>, Failure>>()
    })?;
    let seconds_together = times.into_iter().fold(0.0, f64::max);
    let gain = jobs as f64 * seconds_alone / seconds_together;
    let batch = spec.train.batch;
    let sharing = Sharing { device: device.describe(), batch, jobs, seconds_together, seconds_alone, gain };
    if context.terminal.json {
        return context.terminal.print_json(&sharing);
    }
    context.terminal.print(&format!(
        "{jobs} trainings of {steps} updates on {}: {seconds_together:.2} s side by side, {seconds_alone:.2} s for one alone: \
         {gain:.2} times sooner than one after the other\n",
        sharing.device
    ))
}

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
