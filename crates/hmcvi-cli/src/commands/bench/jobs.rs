//! Time trainings side by side: how well they share a device.

use hmcvi::config::RunSpec;
use hmcvi::device::Device;
use serde::Serialize;

use super::Ours;
use crate::Context;
use crate::failure::Failure;

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
pub(super) fn side_by_side(
    context: &Context,
    spec: &RunSpec,
    jobs: usize,
    device: &Device,
) -> Result<(), Failure> {
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
