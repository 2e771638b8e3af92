//! Kill processes of a training over MPI at random moments, and resume it: the result has to be that of one process that
//! nobody disturbed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A job has to end so soon after one of its processes has.
const SOON: Duration = Duration::from_secs(30);
/// Milliseconds from the start of a job to its end.
const MOMENTS: std::ops::Range<u64> = 100..2500;
const SEED: u64 = 20_161_124;

const SETTINGS: [&str; 6] = [
    "train.epochs=60",
    "train.batch=500",
    "train.save_seconds=0.1",
    "train.validate_every=5",
    "data.limit=1000",
    "model.hidden=[100,100]",
];

/// Kills each of so many processes so many times.
pub(crate) fn kill(kills: usize, processes: usize) -> Result<ExitCode, String> {
    let build = ["build", "--release", "--quiet", "-p", "hmcvi-cli", "--features", "mpi"];
    if !Command::new("cargo").args(build).status().is_ok_and(|s| s.success()) {
        return Err("the program could not be built with `--features mpi`".into());
    }
    let folder = std::env::temp_dir().join(format!("hmcvi-kill-{}", std::process::id()));
    fs::create_dir(&folder).map_err(|e| format!("cannot create {}: {e}", folder.display()))?;
    let outcome = disturb(kills, processes, &folder);
    fs::remove_dir_all(&folder).ok();
    outcome.map(|()| ExitCode::SUCCESS)
}

fn disturb(kills: usize, processes: usize, folder: &Path) -> Result<(), String> {
    let alone = folder.join("alone");
    let begun = Instant::now();
    let status = job(1, &alone).status().map_err(|e| format!("mpirun could not be started: {e}"))?;
    if !status.success() {
        return Err(format!("the undisturbed training failed: {status}"));
    }
    eprintln!("undisturbed, one process: {:.1} s", begun.elapsed().as_secs_f64());
    let mut random = SEED;
    for rank in 0..processes {
        let run = folder.join(format!("rank-{rank}"));
        let (mut killed, mut ends, mut slowest) = (0, 0, Duration::ZERO);
        while killed < kills || ends == 0 || run.exists() {
            let child = job(processes, &run)
                .stderr(Stdio::piped())
                .spawn()
                .map_err(|e| format!("mpirun could not be started: {e}"))?;
            if killed < kills {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                sleep(Duration::from_millis(MOMENTS.start + (random >> 33) % (MOMENTS.end - MOMENTS.start)));
            }
            if killed < kills
                && let Some(time) = kill_one(&child, rank)?
            {
                slowest = slowest.max(ended(child, time)?);
                killed += 1;
                continue;
            }
            let output = child.wait_with_output().map_err(|e| e.to_string())?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                return Err(format!(
                    "after {killed} kills of process {rank} the run could not be resumed: {said}"
                ));
            }
            compare(&run, &alone).map_err(|why| format!("after {killed} kills of process {rank}: {why}"))?;
            fs::remove_dir_all(&run).map_err(|e| e.to_string())?;
            ends += 1;
        }
        eprintln!(
            "process {rank} of {processes}: {killed} kills, the same bits at {ends} ends; jobs ended within {:.1} s",
            slowest.as_secs_f64()
        );
    }
    Ok(())
}

fn compare(run: &Path, alone: &Path) -> Result<(), String> {
    for file in ["last.safetensors", "best.safetensors"] {
        if tensors(&run.join(file))? != tensors(&alone.join(file))? {
            return Err(format!("{file} has other bits"));
        }
    }
    Ok(())
}

/// Begins a run, or goes on with it.
fn job(processes: usize, run: &Path) -> Command {
    let mut command = Command::new("mpirun");
    command.args([
        "--allow-run-as-root",
        "--oversubscribe",
        "--bind-to",
        "none",
        "-n",
        &processes.to_string(),
    ]);
    command.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    command.args(["target/release/hmcvi", "--quiet"]);
    if run.join("config.toml").exists() {
        command.arg("resume").arg(run).args(["--threads", "1"]);
    } else {
        command.args(["train", "hmcvi-13", "--data", "embedded", "--threads", "1", "--out"]).arg(run);
        command.arg("--set").args(SETTINGS);
    }
    command.stdout(Stdio::null());
    command
}

/// Kills a process of a job; when, or nothing if it is not there yet or no more.
fn kill_one(job: &Child, rank: usize) -> Result<Option<Instant>, String> {
    let ids = Command::new("pgrep").args(["-P", &job.id().to_string()]).output();
    let ids = ids.map_err(|e| format!("pgrep could not be started: {e}"))?.stdout;
    let mut ids: Vec<u32> =
        String::from_utf8_lossy(&ids).split_whitespace().filter_map(|id| id.parse().ok()).collect();
    ids.sort_unstable();
    let Some(id) = ids.get(rank) else { return Ok(None) };
    let status = Command::new("kill").args(["-KILL", &id.to_string()]).status().map_err(|e| e.to_string())?;
    Ok(status.success().then(Instant::now))
}

/// Waits for the end of a job; answers how long after `killed` that was.
fn ended(mut job: Child, killed: Instant) -> Result<Duration, String> {
    while job.try_wait().map_err(|e| e.to_string())?.is_none() {
        if killed.elapsed() > SOON {
            job.kill().ok();
            return Err(format!("the job still ran {SOON:?} after one of its processes was killed"));
        }
        sleep(Duration::from_millis(10));
    }
    Ok(killed.elapsed())
}

/// The numbers of a file of tensors, without the notes in its head.
fn tensors(file: &PathBuf) -> Result<Vec<u8>, String> {
    let bytes = fs::read(file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
    let head = bytes.first_chunk().map_or(usize::MAX, |head| u64::from_le_bytes(*head) as usize);
    bytes
        .get(head.saturating_add(8)..)
        .map(<[u8]>::to_vec)
        .ok_or_else(|| format!("{} is damaged", file.display()))
}
