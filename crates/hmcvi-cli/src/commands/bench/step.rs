//! Time training steps, alone or alternating with other programs.

use std::collections::BTreeMap;

use clap::Args;
use serde::Serialize;

use super::jobs::side_by_side;
use super::peer::{Peer, check_comparable};
use super::{Ours, ROUND, best, median};
use crate::Context;
use crate::arguments::Machine;
use crate::failure::Failure;
use crate::settings::{assigned, find};

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
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
}

/// What was measured.
#[derive(Serialize)]
pub(super) struct Measured {
    pub(super) preset: String,
    pub(super) batch: usize,
    pub(super) device: String,
    pub(super) rounds: usize,
    /// Steps in each round.
    pub(super) steps: usize,
    /// Median time of a step, for each image.
    pub(super) us_per_image: f64,
    /// The same of the fastest round.
    pub(super) us_per_image_best: f64,
    /// Floating-point operations of matrix products, for each image.
    pub(super) flop_per_image: u64,
    /// Billions of those operations in a second.
    pub(super) gflops: f64,
    /// Where the time of the first of several processes goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shared: Option<Shared>,
    pub(super) peers: BTreeMap<String, PeerTime>,
}

/// Milliseconds of a step, and bytes that processes hand out in it.
#[derive(Serialize)]
pub(super) struct Shared {
    processes: usize,
    compute: f64,
    /// Until the slowest process is there.
    waiting: f64,
    transfer: f64,
    bytes: u64,
}

/// How another program fared in the same rounds.
#[derive(Serialize)]
pub(super) struct PeerTime {
    pub(super) us_per_image: f64,
    pub(super) us_per_image_best: f64,
    /// Median over the rounds of its time divided by ours.
    pub(super) ratio: f64,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { preset, batch, rounds, jobs, peer, against, assignments, machine } = arguments;
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
        peers.extend(Peer::jax_in_both_shapes(python, machine, &spec)?);
    }
    for line in against {
        peers.push(Peer::command(line)?);
    }
    let mut ours = Ours::new(&spec, &device)?;
    let measured = measure(context, preset, *rounds as usize, &mut ours, &mut peers)?;
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

/// Times our step in turn with others.
pub(super) fn measure(
    context: &Context,
    preset: &str,
    rounds: usize,
    ours: &mut Ours,
    peers: &mut [Peer],
) -> Result<Measured, Failure> {
    let batch = ours.rows.len();
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
    let shared = shared(context, ours, steps)?;
    let peer_time = |times: &Vec<f64>| PeerTime {
        us_per_image: median(times.iter().copied()),
        us_per_image_best: best(times),
        ratio: median(times.iter().zip(&own).map(|(theirs, ours)| theirs / ours)),
    };
    let (us, flop) = (median(own.iter().copied()), ours.trainer.flop_per_image());
    Ok(Measured {
        preset: preset.into(),
        batch,
        device: ours.trainer.device().describe(),
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
