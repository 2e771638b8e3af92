//! Guard what must not be lost: runs that are killed, disks that are full, directories that are in use.

mod common;

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{SMALL, Sandbox};

fn bytes(sandbox: &Sandbox, file: &str) -> Vec<u8> {
    fs::read(sandbox.path().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// A run that takes a second or two and is saved after every epoch.
fn arguments<'a>(out: &'a str, epochs: &'a str) -> Vec<&'a str> {
    let mut arguments = vec!["train", "hmcvi-6", "--out", out, "--quiet"];
    arguments.extend(SMALL);
    arguments.extend([epochs, "train.save_seconds=0"]);
    arguments
}

/// Lines of metrics of the run that is killed.
fn epochs_done(sandbox: &Sandbox) -> usize {
    fs::read_to_string(sandbox.path().join("killed/metrics.jsonl")).map_or(0, |text| text.lines().count())
}

#[test]
fn a_run_killed_twenty_times_ends_with_the_bytes_of_one_that_was_not() {
    let sandbox = Sandbox::new();
    let epochs = "train.epochs=240";
    let begun = Instant::now();
    sandbox.succeed(&arguments("whole", epochs));
    let once = begun.elapsed();

    let mut waits: u64 = 12345;
    let mut kills = 0;
    let mut command = sandbox.command(&arguments("killed", epochs));
    loop {
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        // Anywhere from before the first epoch to some epochs later, most in the writing of a checkpoint; never so late
        // that the run could end before all kills are done.
        waits = waits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let part = (waits >> 33) as f64 / f64::from(1u32 << 31);
        let wait = once.mul_f64(0.045 * part) + Duration::from_millis(8);
        let (start, first) = (Instant::now(), epochs_done(&sandbox));
        let due = || start.elapsed() > wait || epochs_done(&sandbox) > first + 3;
        while (kills == 20 || !due()) && process.try_wait().expect("it can be asked").is_none() {
            assert!(start.elapsed() < Duration::from_secs(600), "it does not end");
            sleep(Duration::from_millis(1));
        }
        if let Some(status) = process.try_wait().expect("it can be asked") {
            assert!(status.success(), "after {kills} kills: {status}");
            break;
        }
        // The system's own SIGKILL: nothing can be done about it.
        process.kill().expect("it can be killed");
        process.wait().expect("it ends");
        kills += 1;
        let begun = sandbox.path().join("killed/config.toml").exists();
        command = match begun {
            true => sandbox.command(&["resume", "killed", "--quiet", "--threads", "1"]),
            false => sandbox.command(&arguments("killed", epochs)),
        };
    }
    assert_eq!(kills, 20);
    for file in ["last.safetensors", "best.safetensors", "config.toml"] {
        let (whole, killed) =
            (bytes(&sandbox, &format!("whole/{file}")), bytes(&sandbox, &format!("killed/{file}")));
        assert!(whole == killed, "{file} differs after {kills} kills");
    }
    let lines = |run: &str| {
        let text = String::from_utf8(bytes(&sandbox, &format!("{run}/metrics.jsonl"))).expect("text");
        text.lines().count()
    };
    assert_eq!(lines("whole"), lines("killed"));
}

#[test]
fn a_full_disk_leaves_the_earlier_checkpoint_and_says_what_to_do() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&arguments("run", "train.epochs=2"));
    let (last, best) = (bytes(&sandbox, "run/last.safetensors"), bytes(&sandbox, "run/best.safetensors"));
    let kilobytes = last.len() / 1024;
    // Files may only grow to a part of a checkpoint: writes fail after more and more of it.
    for limit in [0, 1, kilobytes / 4, kilobytes / 2, kilobytes - 1] {
        let script = format!(
            "trap '' XFSZ; ulimit -f {limit}; exec \"$0\" resume run --set train.epochs=4 train.save_seconds=0"
        );
        let program = env!("CARGO_BIN_EXE_hmcvi");
        let output = Command::new("bash")
            .args(["-c", &script, program])
            .current_dir(sandbox.path())
            .output()
            .expect("bash runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "limit {limit} kB: {said}");
        assert!(said.contains("cannot write") && said.contains("hmcvi resume"), "limit {limit} kB: {said}");
        assert!(bytes(&sandbox, "run/last.safetensors") == last, "limit {limit} kB");
        // The best one is written first, and is smaller: where there is room for it, it may be that of a later epoch.
        assert!(
            bytes(&sandbox, "run/best.safetensors") == best || limit * 1024 > best.len(),
            "limit {limit} kB"
        );
        sandbox.succeed(&["eval", "run", "--checkpoint", "best", "--samples", "1", "--quiet"]);
        let left = fs::read_dir(sandbox.path().join("run")).expect("a folder");
        let left: Vec<_> = left.flatten().map(|e| e.file_name()).collect();
        let temporary = |name: &std::ffi::OsString| name.to_string_lossy().starts_with(".hmcvi-");
        assert!(!left.iter().any(temporary), "{left:?}");
    }
    // With room again it goes on as if nothing had happened.
    sandbox.succeed(&["resume", "run", "--quiet", "--set", "train.epochs=4"]);
    sandbox.succeed(&arguments("whole", "train.epochs=4"));
    // The schedule of the first two epochs was another, so the parameters are others; the record is whole.
    let epochs = String::from_utf8(bytes(&sandbox, "run/metrics.jsonl")).expect("text");
    assert_eq!(epochs.lines().count(), 4, "{epochs}");
}

#[test]
fn two_processes_never_write_the_same_run() {
    let sandbox = Sandbox::new();
    let mut first = sandbox.command(&arguments("run", "train.epochs=100000"));
    let mut first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let begun = Instant::now();
    while !sandbox.path().join("run/last.safetensors").exists() {
        assert!(begun.elapsed() < Duration::from_secs(600), "no checkpoint");
        sleep(Duration::from_millis(5));
    }
    let holder = format!("process {}", first.id());
    for second in [
        vec!["resume", "run", "--quiet"],
        vec!["eval", "run", "--checkpoint", "last", "--samples", "1", "--quiet"],
        vec!["train", "hmcvi-6", "--out", "run", "--force", "--quiet"],
    ] {
        let said = sandbox.fail(2, &second);
        assert!(said.contains(&holder) && said.contains("in use"), "{second:?}: {said}");
    }
    // A terminal that disappears does not end it, a request to terminate does.
    let signal = |name: &str| {
        Command::new("kill").args([name, &first.id().to_string()]).status().expect("kill runs");
    };
    signal("-HUP");
    sleep(Duration::from_millis(200));
    signal("-TERM");
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = first.try_wait().expect("it can be asked") {
            break status;
        }
        assert!(begun.elapsed() < Duration::from_secs(600), "it does not stop");
        sleep(Duration::from_millis(5));
    };
    assert_eq!(status.code(), Some(130), "it saved and left by itself");
    // Its lock is gone with it.
    sandbox.succeed(&["eval", "run", "--checkpoint", "last", "--samples", "1", "--quiet"]);
}

#[test]
fn a_damaged_checkpoint_is_refused_by_its_hash() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&arguments("run", "train.epochs=1"));
    let path = sandbox.path().join("run/last.safetensors");
    let mut damaged = fs::read(&path).expect("a checkpoint");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 4;
    fs::write(&path, damaged).expect("written");
    let said = sandbox.fail(1, &["resume", "run", "--set", "train.epochs=2"]);
    assert!(
        said.contains("SHA-256") && said.contains("damaged") && said.contains("last.safetensors"),
        "{said}"
    );
}

#[test]
fn a_training_that_went_wrong_ends_and_leaves_the_run_whole() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&arguments("run", "train.epochs=1"));
    let path = sandbox.path().join("run/last.safetensors");
    let before = fs::read(&path).expect("a checkpoint");
    // Steps of one with f32 numbers: nothing that is learnt survives them.
    let rate =
        ["train.learning_rate.first=1", "train.learning_rate.last=1", "train.learning_rate.kind=constant"];
    let mut resume = vec!["resume", "run", "--quiet", "--set", "train.epochs=5000"];
    resume.extend(rate);
    let output = sandbox.run(&resume);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("not a bound") && said.contains("train.learning_rate.first"), "{said}");
    assert_ne!(fs::read(&path).expect("a checkpoint"), before);
    sandbox.succeed(&["sample", "run", "--checkpoint", "last", "--count", "1"]);
    // What is left of it is not called a bound either.
    let said = sandbox.fail(4, &["eval", "run", "--checkpoint", "last", "--samples", "1"]);
    assert!(said.contains("not a bound"), "{said}");
}

#[test]
fn a_run_goes_on_with_its_own_data_and_version_only() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&arguments("run", "train.epochs=1"));
    let more = ["resume", "run", "--set", "train.epochs=2"];
    let info = sandbox.path().join("run/run.json");
    let text = fs::read_to_string(&info).expect("a description");
    let known = text.split("\"data_sha256\": \"").nth(1).and_then(|t| t.split('"').next()).expect("a hash");
    fs::write(&info, text.replace(known, &"0".repeat(64))).expect("written");
    let said = sandbox.fail(3, &more);
    assert!(said.contains("SHA-256") && said.contains(known) && said.contains("--data"), "{said}");
    fs::write(&info, &text).expect("written");

    let path = sandbox.path().join("run/last.safetensors");
    let whole = fs::read(&path).expect("a checkpoint");
    let name = br#"schema\":"#;
    let at = whole.windows(name.len()).position(|w| w == name).expect("a version") + name.len();
    let mut other = whole.clone();
    other[at] = b'9';
    fs::write(&path, other).expect("written");
    let said = sandbox.fail(1, &more);
    assert!(said.contains("schema 9") && said.contains("(2 to 3); update hmcvi"), "{said}");
    fs::write(&path, whole).expect("written");
    sandbox.succeed(&more);
}

#[test]
fn a_place_that_cannot_be_written_is_named_before_training_begins() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path().join("file"), "not a folder").expect("written");
    let said = sandbox.fail(1, &arguments("file/run", "train.epochs=1"));
    assert!(said.contains("file/run"), "{said}");
    assert_eq!(fs::read_to_string(sandbox.path().join("file")).expect("still there"), "not a folder");
}
