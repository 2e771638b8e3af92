//! Measure how fast processes that work together exchange bytes: what predictions of their speed are made from.

use std::time::Instant;

use hmcvi::device::Ranks;
use serde::Serialize;

use super::median;
use crate::Context;
use crate::failure::Failure;

/// What was measured.
#[derive(Serialize)]
struct Measured {
    processes: usize,
    /// Median time in which all processes hear a byte of each other, in microseconds.
    latency: f64,
    /// Bytes that each process gets in a second where all hand out their parts of 64 MB, in millions.
    bandwidth: f64,
}

/// Exchanges that the median is taken of.
const SMALL: usize = 2000;
const LARGE: usize = 9;
/// Bytes of the large ones.
const BYTES: usize = 64 << 20;

pub(super) fn run(context: &Context) -> Result<(), Failure> {
    let Some(ranks) = context.processes.ranks() else {
        return Err(Failure::Usage("there is nobody to exchange anything with".into())
            .then("start several processes: `mpirun -n 2 hmcvi bench exchange` (see docs/clusters.md)"));
    };
    let size = ranks.size();
    let latency = 1e6 * time(&*ranks, size, SMALL);
    let received = (BYTES - BYTES / size) as f64;
    let bandwidth = received / time(&*ranks, BYTES, LARGE) / 1e6;
    let measured = Measured { processes: size, latency, bandwidth };
    if context.terminal.json {
        return context.terminal.print_json(&measured);
    }
    context.terminal.print(&format!(
        "{size} processes: a byte from each to all takes {latency:.1} us; each gets {bandwidth:.0} MB/s\n"
    ))
}

/// Median seconds in which all have so many bytes, of which each has a part.
fn time(ranks: &dyn Ranks, bytes: usize, rounds: usize) -> f64 {
    let mut all = vec![0; bytes];
    let ends: Vec<usize> = (1..=ranks.size()).map(|rank| rank * bytes / ranks.size()).collect();
    ranks.gather(&mut all, &ends);
    let mut round = || {
        let start = Instant::now();
        ranks.gather(&mut all, &ends);
        start.elapsed().as_secs_f64()
    };
    median((0..rounds).map(|_| round()))
}
