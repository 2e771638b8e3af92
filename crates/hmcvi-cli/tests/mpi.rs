//! Guard work that processes share over MPI: the same bits, and no process that waits for ever. Needs `--features mpi` and
//! `mpirun`; without it these tests say that they are skipped.
#![cfg(all(feature = "mpi", unix))]

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Sandbox, skipped};

/// A job has to end so soon after one of its processes has.
const SOON: Duration = Duration::from_secs(30);

/// `mpirun` with so many processes, of one thread each; nothing where there is no `mpirun`.
fn mpirun(folder: &Path, processes: usize) -> Option<Command> {
    if Command::new("mpirun").arg("--version").output().is_err() {
        skipped("work over MPI is not tested, because there is no `mpirun`");
        return None;
    }
    let mut command = Command::new("mpirun");
    command.args([
        "--allow-run-as-root",
        "--oversubscribe",
        "--bind-to",
        "none",
        "-n",
        &processes.to_string(),
    ]);
    command.current_dir(folder).env("HMCVI_CACHE", folder.join("cache"));
    // Containers mostly forbid to read the memory of other processes.
    command.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    Some(command)
}

/// The program in it, with `words` of arguments.
fn started(mut mpirun: Command, words: &[&str]) -> Command {
    mpirun.arg(env!("CARGO_BIN_EXE_hmcvi")).args(words);
    mpirun
}

fn training<'a>(preset: &'a str, out: &'a str, epochs: &'a str) -> Vec<&'a str> {
    let mut words = vec!["train", preset, "--out", out, "--data", "embedded", "--threads", "1", "--set"];
    words.extend([
        "data.limit=200",
        "model.hidden=[16,16]",
        "train.batch=100",
        "train.save_seconds=0.001",
        // A resumed run may have more epochs without another learning rate in those before.
        "train.learning_rate.kind=constant",
        epochs,
    ]);
    words
}

#[track_caller]
fn succeed(mut command: Command) -> Output {
    let output = command.output().expect("mpirun starts");
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{command:?}: {out}{err}");
    output
}

#[track_caller]
fn fail(mut command: Command) -> String {
    let output = command.output().expect("mpirun starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{command:?} succeeded: {text}");
    text
}

/// All that training leaves behind, without the times that it took.
fn bits(run: &Path) -> (Vec<u8>, Vec<u8>, Vec<String>) {
    let read =
        |name: &str| fs::read(run.join(name)).unwrap_or_else(|e| panic!("{}: {e}", run.join(name).display()));
    let without_times = |line: &str| {
        let mut epoch: serde_json::Value = serde_json::from_str(line).expect("JSON");
        for key in ["seconds", "images_per_second"] {
            epoch.as_object_mut().expect("an epoch").remove(key);
        }
        epoch.to_string()
    };
    let metrics =
        String::from_utf8(read("metrics.jsonl")).expect("text").lines().map(without_times).collect();
    (tensors(&read("last.safetensors")), tensors(&read("best.safetensors")), metrics)
}

/// The numbers of a file of tensors, without the notes in its head.
fn tensors(file: &[u8]) -> Vec<u8> {
    let head = u64::from_le_bytes(file[..8].try_into().expect("eight bytes")) as usize;
    file[8 + head..].to_vec()
}

#[test]
fn any_number_of_processes_has_the_same_bits() {
    let sandbox = Sandbox::new();
    let mut found = Vec::new();
    for processes in [1, 2, 4] {
        let Some(mpirun) = mpirun(sandbox.path(), processes) else { return };
        let out = format!("run-{processes}");
        let output = succeed(started(mpirun, &training("hmcvi-13", &out, "train.epochs=2")));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(said.matches("epoch 2/2").count(), 1, "one process speaks: {said}");
        let evaluation =
            ["eval", &out, "--samples", "20", "--ais", "3", "--bdmc", "3", "--temperatures", "20"];
        let Some(mpirun) = self::mpirun(sandbox.path(), processes) else { return };
        let evaluation = [&evaluation[..], &["--limit", "30", "--threads", "1", "--json"]].concat();
        let output = succeed(started(mpirun, &evaluation));
        let mut record: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one record");
        for key in ["seconds", "command"] {
            record.as_object_mut().expect("a record").remove(key);
        }
        for part in ["importance_sampling", "annealing", "bidirectional"] {
            // How fast it was.
            record[part].as_object_mut().expect("a part").retain(|key, _| !key.contains("gflop"));
        }
        found.push((bits(&sandbox.path().join(out)), record));
    }
    assert_eq!(found[0].0.2.len(), 2);
    assert!(found.iter().all(|one| one.0 == found[0].0), "training");
    assert!(found.iter().all(|one| one.1 == found[0].1), "{} and {}", found[0].1, found[1].1);
}

/// Rows of bytes in a file of which every process can read a part.
fn rows_of_bytes(folder: &Path, changed: Option<usize>) {
    let mut bytes: Vec<u8> = (0..150 * 49u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    if let Some(at) = changed {
        bytes[at] ^= 255;
    }
    fs::create_dir_all(folder).expect("a folder");
    hmcvi::data::write_npy(&folder.join("rows.npy"), &[150, 7, 7], &bytes).expect("written");
}

/// Training on them.
fn training_on_rows<'a>(out: &'a str, epochs: &'a str) -> Vec<&'a str> {
    let mut words = training("hmcvi-13", out, epochs);
    let data = words.iter().position(|word| *word == "embedded").expect("its data");
    words[data] = "rows.npy";
    words.retain(|word| *word != "data.limit=200");
    words
}

#[test]
fn processes_that_read_a_part_of_the_data_each_have_the_bits_of_one() {
    let sandbox = Sandbox::new();
    rows_of_bytes(sandbox.path(), None);
    sandbox.succeed(&training_on_rows("alone", "train.epochs=3"));
    for processes in [2, 4] {
        let out = format!("run-{processes}");
        let Some(mpirun) = mpirun(sandbox.path(), processes) else { return };
        succeed(started(mpirun, &training_on_rows(&out, "train.epochs=2")));
        let Some(mpirun) = self::mpirun(sandbox.path(), processes) else { return };
        succeed(started(mpirun, &["resume", &out, "--threads", "1", "--set", "train.epochs=3"]));
        assert!(bits(&sandbox.path().join(out)) == bits(&sandbox.path().join("alone")), "{processes}");
    }
    // A file that differs on another machine, in the last row.
    let [first, second] = ["a", "b"].map(|name| sandbox.path().join(name));
    rows_of_bytes(&first, None);
    rows_of_bytes(&second, Some(149 * 49));
    let words = training_on_rows("run", "train.epochs=1");
    let Some(mut other) = mpirun(sandbox.path(), 1) else { return };
    let program = env!("CARGO_BIN_EXE_hmcvi");
    other.args(["-wdir", "a", program]).args(&words);
    other.args([":", "-n", "1", "-wdir", "b", program]).args(&words);
    let said = fail(other);
    assert!(said.contains("process 1 reads other values there than process 0"), "{said}");
    assert!(!first.join("run").exists());
}

#[test]
fn sums_per_process_differ_from_those_of_one_by_rounding_alone() {
    let sandbox = Sandbox::new();
    let words = training("hmcvi-13", "alone", "train.epochs=1");
    sandbox.succeed(&words);
    // Three processes have 34, 33 and 33 of 100 rows, which are no shards of one process.
    let Some(mpirun) = mpirun(sandbox.path(), 3) else { return };
    let mut words = training("hmcvi-13", "together", "train.epochs=1");
    words.splice(1..1, ["--sums", "per-process"]);
    succeed(started(mpirun, &words));
    let bounds = ["alone", "together"].map(|run| {
        let metrics = fs::read_to_string(sandbox.path().join(run).join("metrics.jsonl")).expect("an epoch");
        let epoch: serde_json::Value = serde_json::from_str(&metrics).expect("JSON");
        ["train", "validation"].map(|part| epoch[part]["bound"].as_f64().expect("a bound"))
    });
    for (alone, together) in bounds[0].iter().zip(&bounds[1]) {
        // Two updates in f32 of a bound of some hundred nats.
        assert!((alone / together - 1.0).abs() < 1e-5, "{alone} and {together}");
    }
    let [alone, together] = ["alone", "together"].map(|run| bits(&sandbox.path().join(run)).0);
    assert!(alone != together, "they add up in another order");
    let record = fs::read_to_string(sandbox.path().join("together/run.json")).expect("a record");
    assert!(record.contains("3 processes of 1 threads, sums per process"), "{record}");
}

/// What a fit leaves behind, without the times that it took: draws, the saved fit, and the bracket of the evidence.
fn findings(folder: &Path) -> Vec<(String, String)> {
    let read = |name: &str| fs::read(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let text = |name: &str| String::from_utf8_lossy(&read(name)).into_owned();
    let rows =
        |name: &str| text(name).lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    let mut record: serde_json::Value = serde_json::from_str(&text("fit.json")).expect("JSON");
    let evidence = record["evidence"].as_object_mut().expect("a bracket");
    evidence.remove("seconds");
    let files = fs::read_dir(folder.join("fitted")).expect("the saved fit").flatten();
    let saved =
        files.map(|file| file.path()).find(|path| path.extension().is_some_and(|e| e == "safetensors"));
    let saved = format!("{:?}", tensors(&fs::read(saved.expect("its numbers")).expect("a file")));
    let found = [rows("draws-1.csv"), rows("gaussian.csv"), saved, record["evidence"].to_string()];
    ["draws", "draws of the Gaussian", "fit", "evidence"].map(String::from).into_iter().zip(found).collect()
}

/// A fit whose 200 rows are four shards.
fn fitting(out: &str) -> Vec<&str> {
    let mut words = vec!["fit", "eight-schools", "--json", "--evidence", "--draws", "300", "--out", out];
    words.extend(["--set", "learning.rows=200", "learning.most_updates=300"]);
    words
}

#[test]
fn a_fit_of_several_processes_has_the_bits_of_one() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&fitting("alone"));
    let alone = findings(&sandbox.path().join("alone"));
    for processes in [2, 4] {
        let Some(mpirun) = mpirun(sandbox.path(), processes) else { return };
        let out = format!("together-{processes}");
        let output = succeed(started(mpirun, &fitting(&out)));
        let _: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one process speaks");
        for (found, expected) in findings(&sandbox.path().join(out)).iter().zip(&alone) {
            assert!(found == expected, "{} of {processes} processes", found.0);
        }
    }
    let Some(mpirun) = mpirun(sandbox.path(), 2) else { return };
    let said = fail(started(mpirun, &["fit", "eight-schools", "--check", "--out", "checked"]));
    assert!(said.contains("chains of NUTS are not shared out"), "{said}");
}

/// A training of two processes on its way, past its first checkpoint.
fn under_way(sandbox: &Sandbox, out: &str, epochs: &str, patience: &str) -> Option<(Child, Vec<u32>)> {
    let mut command = started(mpirun(sandbox.path(), 2)?, &training("hmcvi-4", out, epochs));
    command.env("HMCVI_MPI_TIMEOUT", patience).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().expect("mpirun starts");
    let saved = sandbox.path().join(out).join("last.safetensors");
    let begun = Instant::now();
    while !saved.exists() {
        assert!(begun.elapsed() < 2 * SOON, "no checkpoint was written");
        sleep(Duration::from_millis(20));
    }
    let text = Command::new("pgrep").args(["-P", &child.id().to_string()]).output().expect("pgrep starts");
    let mut processes: Vec<u32> =
        String::from_utf8_lossy(&text.stdout).split_whitespace().filter_map(|id| id.parse().ok()).collect();
    processes.sort_unstable();
    assert_eq!(processes.len(), 2);
    Some((child, processes))
}

fn signal(name: &str, process: u32) {
    let status = Command::new("kill").args([name, &process.to_string()]).status().expect("kill starts");
    assert!(status.success());
}

#[track_caller]
fn ended_soon(child: Child) -> String {
    let begun = Instant::now();
    let output = child.wait_with_output().expect("it ends");
    assert!(begun.elapsed() < SOON, "it took {:?}", begun.elapsed());
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_killed_process_ends_the_job_and_it_resumes_to_the_same_bits() {
    let sandbox = Sandbox::new();
    for rank in [0, 1] {
        let out = format!("run-{rank}");
        // So many that it cannot end before it is hit.
        let Some((child, processes)) = under_way(&sandbox, &out, "train.epochs=100000", "600") else {
            return;
        };
        signal("-KILL", processes[rank]);
        let said = ended_soon(child);
        assert!(said.contains(&format!("process rank {rank}")), "{said}");
        let metrics = fs::read_to_string(sandbox.path().join(&out).join("metrics.jsonl")).unwrap_or_default();
        let epochs = format!("train.epochs={}", metrics.lines().count() + 2);
        let resumed = ["resume", &out, "--threads", "1", "--set", &epochs];
        let Some(mpirun) = mpirun(sandbox.path(), 2) else { return };
        succeed(started(mpirun, &resumed));
        let again = format!("again-{rank}");
        sandbox.succeed(&training("hmcvi-4", &again, &epochs));
        assert!(bits(&sandbox.path().join(out)) == bits(&sandbox.path().join(again)), "rank {rank}");
    }
}

#[test]
fn nobody_waits_for_ever() {
    let sandbox = Sandbox::new();
    for rank in [0, 1] {
        let out = format!("run-{rank}");
        let Some((child, processes)) = under_way(&sandbox, &out, "train.epochs=100000", "5") else { return };
        signal("-STOP", processes[rank]);
        let said = ended_soon(child);
        assert!(said.contains(&format!("process {} has waited 5 s for process {rank}", 1 - rank)), "{said}");
        assert!(said.contains("HMCVI_MPI_TIMEOUT"), "{said}");
    }
}

#[test]
fn processes_that_mean_different_things_are_refused() {
    let sandbox = Sandbox::new();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_hmcvi"));
    let words = training("basic-2d", "run", "train.epochs=1");
    let Some(mut other) = mpirun(sandbox.path(), 1) else { return };
    other.arg(&program).args(&words).args([":", "-n", "1"]).arg(&program).args(&words).args(["--seed", "2"]);
    let said = fail(other);
    assert!(said.contains("process 1 has another command line than process 0"), "{said}");

    // The same words mean other data in another folder.
    let [first, second] = ["a", "b"].map(|name| sandbox.path().join(name));
    for (folder, value) in [(&first, "1.0"), (&second, "2.0")] {
        fs::create_dir(folder).expect("a new folder");
        let rows: String = (0..40).map(|i| format!("{}.5,{value}\n", i % 7)).collect();
        fs::write(folder.join("data.csv"), format!("x,y\n{rows}")).expect("written");
    }
    let words = ["train", "basic-2d", "--data", "data.csv", "--out", "run", "--set", "train.epochs=1"];
    let Some(mut other) = mpirun(sandbox.path(), 1) else { return };
    other.args(["-wdir", "a"]).arg(&program).args(words);
    other.args([":", "-n", "1", "-wdir", "b"]).arg(&program).args(words);
    let said = fail(other);
    assert!(said.contains("process 1 has another data than process 0"), "{said}");
    assert!(!first.join("run").exists());

    // And other settings, where each reads a file of its own.
    for (folder, seed) in [(&first, 1), (&second, 2)] {
        let text = format!("seed = {seed}\n[data]\nlimit = 40\n[model]\nhidden = [4]\n[train]\nepochs = 1\n");
        fs::write(folder.join("settings.toml"), text).expect("written");
    }
    let words = ["train", "settings.toml", "--data", "embedded", "--out", "run"];
    let Some(mut other) = mpirun(sandbox.path(), 1) else { return };
    other.args(["-wdir", "a"]).arg(&program).args(words);
    other.args([":", "-n", "1", "-wdir", "b"]).arg(&program).args(words);
    let said = fail(other);
    assert!(said.contains("process 1 has another settings than process 0"), "{said}");

    // Another program does the same so far, but who knows.
    let changed = sandbox.path().join("changed");
    fs::copy(&program, &changed).expect("copied");
    let mut file = fs::OpenOptions::new().append(true).open(&changed).expect("it is there");
    file.write_all(b" ").expect("written");
    drop(file);
    let Some(mut other) = mpirun(sandbox.path(), 1) else { return };
    other.arg(&program).args(words).args([":", "-n", "1"]).arg(&changed).args(words);
    let said = fail(other);
    assert!(said.contains("process 1 has another program than process 0"), "{said}");

    let Some(mpirun) = mpirun(sandbox.path(), 2) else { return };
    let said = fail(started(mpirun, &["presets"]));
    assert!(said.contains("this command works alone"), "{said}");
}

#[test]
fn a_full_disk_ends_all_processes() {
    let sandbox = Sandbox::new();
    let Some(mut mpirun) = mpirun(sandbox.path(), 2) else { return };
    // Files of more than so many kilobytes cannot be written; the signal about it is left out.
    let limited = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
    mpirun.args(["bash", "-c", limited]).arg(env!("CARGO_BIN_EXE_hmcvi"));
    mpirun.args(training("basic-2d", "run", "train.epochs=100000"));
    let begun = Instant::now();
    let said = fail(mpirun);
    assert!(begun.elapsed() < 2 * SOON && said.contains("cannot write"), "{said}");
    assert!(said.contains("hmcvi resume"), "{said}");
}

#[test]
fn rows_of_a_sweep_are_shared_out() {
    let sandbox = Sandbox::new();
    let file = "[set]\ndata.limit = 60\nmodel.hidden = [8]\ntrain.epochs = 2\neval.importance_samples = 10\n\
                [grid]\nbase = [\"basic-2d\", \"hmcvi-1\"]\nseed = [1, 2]\n";
    fs::write(sandbox.path().join("seeds.toml"), file).expect("written");
    let words = |out: &'static str| {
        ["sweep", "seeds.toml", "--data", "embedded", "--json", "--threads", "1", "--out", out]
    };
    let Some(mpirun) = mpirun(sandbox.path(), 4) else { return };
    let together = succeed(started(mpirun, &words("together"))).stdout;
    let alone = sandbox.succeed(&words("alone"));
    let rows = |text: &[u8]| {
        let mut records: serde_json::Value = serde_json::from_slice(text).expect("one table");
        for row in records["rows"].as_array_mut().expect("rows") {
            assert_eq!(row["state"], "evaluated");
            for time in ["seconds", "microseconds_per_image"] {
                row.as_object_mut().expect("a row").remove(time);
            }
        }
        records
    };
    assert_eq!(rows(&together), rows(alone.as_bytes()));
}

#[test]
fn fits_of_the_table_of_posteriors_are_shared_out() {
    let sandbox = Sandbox::new();
    let words = |out: &'static str| {
        let mut words =
            vec!["reproduce", "posteriors", "--models", "sonar,ionosphere,seeds", "--draws", "500"];
        words.extend(["--json", "--out", out, "--set", "learning.most_updates=40", "evidence=false"]);
        words.extend(["check=false", "chain.hmc_steps=1", "learning.bend=false"]);
        words
    };
    let Some(mpirun) = mpirun(sandbox.path(), 2) else { return };
    let together = started(mpirun, &words("together")).output().expect("mpirun starts");
    let alone = sandbox.run(&words("alone"));
    let [together, alone] = [together, alone].map(|output| {
        // So short a fit reaches no published bound.
        assert!(String::from_utf8_lossy(&output.stderr).contains("published bounds are reached"));
        let mut rows: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one table");
        for row in rows.as_array_mut().expect("rows") {
            let found = row["found"].as_object_mut().expect("a fit of it");
            for time in ["seconds", "started"] {
                assert!(found.remove(time).is_some(), "{time}");
            }
        }
        rows
    });
    assert_eq!(together.as_array().map(Vec::len), Some(3));
    assert_eq!(together, alone);
}
