//! Train for a long time and watch: memory must not grow and steps must not slow down.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What a process had used at some time.
struct Sample {
    minutes: f64,
    /// Kilobytes in memory.
    resident: f64,
    /// Seconds of processor time.
    processor: f64,
    /// Updates done.
    steps: f64,
}

/// The growth of resident memory from the first to the last quarter that is taken for a leak.
const MOST_GROWTH: f64 = 0.02;
/// The change of processor time per update that is taken for drift: other programs on the machine slow caches down.
const MOST_DRIFT: f64 = 0.10;

/// Trains for so many minutes and compares the first quarter with the last.
pub(crate) fn soak(minutes: f64, threads: &str) -> Result<ExitCode, String> {
    let status = Command::new("cargo").args(["build", "--release", "--quiet", "-p", "hmcvi-cli"]).status();
    if !status.is_ok_and(|s| s.success()) {
        return Err("the program could not be built".into());
    }
    let folder = std::env::temp_dir().join(format!("hmcvi-soak-{}", std::process::id()));
    let settings = ["train.epochs=1000000", "train.batch=100", "train.validate_every=5", "data.limit=500"];
    let mut child = Command::new("target/release/hmcvi")
        .args(["--quiet", "train", "hmcvi-13", "--data", "embedded", "--threads", threads, "--out"])
        .arg(&folder)
        .arg("--set")
        .args(settings)
        .stdout(Stdio::null())
        .spawn()
        .map_err(|e| format!("the training could not be started: {e}"))?;
    let samples = watch(&mut child, &folder, Duration::from_secs_f64(60.0 * minutes));
    let stopped = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    let ended = child.wait().map_err(|e| e.to_string())?;
    fs::remove_dir_all(&folder).ok();
    let samples = samples?;
    if !stopped.is_ok_and(|s| s.success()) || ended.code() != Some(130) {
        return Err(format!("the training did not end as an interrupted one: {ended}"));
    }
    evaluate(&samples)
}

fn watch(child: &mut Child, folder: &Path, time: Duration) -> Result<Vec<Sample>, String> {
    let (begun, every) = (Instant::now(), (time / 120).max(Duration::from_secs(1)));
    let mut samples = Vec::new();
    while begun.elapsed() < time {
        sleep(every);
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            return Err(format!("the training ended by itself: {status}"));
        }
        samples.extend(sample(child.id(), folder, begun.elapsed().as_secs_f64() / 60.0));
    }
    Ok(samples)
}

/// `None` before the first epoch is done.
fn sample(id: u32, folder: &Path, minutes: f64) -> Option<Sample> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let resident =
        status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?.split_whitespace().next()?.parse().ok()?;
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name may hold spaces; fields 14 and 15 are the ticks, of which a second has 100.
    let ticks: Vec<f64> =
        stat.rsplit(')').next()?.split_whitespace().filter_map(|f| f.parse().ok()).collect();
    let metrics = fs::read_to_string(folder.join("metrics.jsonl")).ok()?;
    let last = metrics.lines().rfind(|l| l.ends_with('}'))?;
    let steps = last.split("\"step\":").nth(1)?.split(',').next()?.parse().ok()?;
    Some(Sample { minutes, resident, processor: (ticks.get(10)? + ticks.get(11)?) / 100.0, steps })
}

fn evaluate(samples: &[Sample]) -> Result<ExitCode, String> {
    let quarter = samples.len() / 4;
    if quarter < 2 {
        return Err("too few measurements; give more minutes".into());
    }
    let (first, last) = (&samples[..quarter], &samples[samples.len() - quarter..]);
    let resident = |part: &[Sample]| part.iter().map(|s| s.resident).sum::<f64>() / quarter as f64 / 1024.0;
    let step = |part: &[Sample]| {
        let (a, b) = (&part[0], &part[quarter - 1]);
        1e3 * (b.processor - a.processor) / (b.steps - a.steps)
    };
    let (end, steps) = (&samples[samples.len() - 1], samples[samples.len() - 1].steps);
    eprintln!("{:.0} minutes, {steps} updates, {} measurements", end.minutes, samples.len());
    eprintln!(
        "resident memory: {:.2} MiB in the first quarter, {:.2} in the last",
        resident(first),
        resident(last)
    );
    eprintln!("processor time of an update: {:.3} ms, then {:.3} ms", step(first), step(last));
    let growth = resident(last) / resident(first) - 1.0;
    let drift = step(last) / step(first) - 1.0;
    eprintln!("memory grew by {:.2} %, updates by {:.2} %", 100.0 * growth, 100.0 * drift);
    let good = growth < MOST_GROWTH && drift < MOST_DRIFT;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
