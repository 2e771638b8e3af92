//! Guard the files for TensorBoard: their framing, what they hold, and that TensorBoard itself reads them.

mod common;

use std::collections::BTreeMap;
use std::path::PathBuf;

use common::{SMALL, Sandbox, skipped};

/// CRC-32C bit by bit, as its definition has it.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
    let byte = |crc: u32, b: &u8| (0..8).fold(crc ^ u32::from(*b), |crc, _| step(crc));
    let crc = !bytes.iter().fold(!0, byte);
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The contents of all records; every byte of the file has to belong to one.
fn records(file: &[u8]) -> Vec<Vec<u8>> {
    let (mut rest, mut all) = (file, Vec::new());
    while !rest.is_empty() {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().expect("four bytes"));
        let length = u64::from_le_bytes(rest[..8].try_into().expect("eight bytes")) as usize;
        assert_eq!(word(8), checksum(&rest[..8]), "checksum of a length");
        let content = &rest[12..12 + length];
        assert_eq!(word(12 + length), checksum(content), "checksum of a content");
        all.push(content.to_vec());
        rest = &rest[16 + length..];
    }
    all
}

/// A field of a protocol buffer.
#[derive(Debug, PartialEq)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field)> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let length = match key & 7 {
            0 => {
                all.push((key >> 3, Field::Number(varint(&mut bytes))));
                continue;
            }
            1 => 8,
            2 => varint(&mut bytes) as usize,
            5 => 4,
            other => panic!("wire type {other}"),
        };
        all.push((key >> 3, Field::Bytes(bytes[..length].to_vec())));
        bytes = &bytes[length..];
    }
    all
}

fn bytes(message: &[(u64, Field)], field: u64) -> Vec<&[u8]> {
    let of = |f: &'_ (u64, Field)| f.0 == field;
    message.iter().filter(|f| of(f)).map(|f| if let Field::Bytes(b) = &f.1 { &b[..] } else { &[] }).collect()
}

/// The scalars of an event by their tags, with its step.
fn scalars(record: &[u8]) -> (u64, BTreeMap<String, f32>) {
    let event = fields(record);
    let step = event.iter().find_map(|f| if let (2, Field::Number(n)) = f { Some(*n) } else { None });
    let value = |value: &[u8]| {
        let value = fields(value);
        let tag = String::from_utf8(bytes(&value, 1)[0].to_vec()).expect("text");
        (tag, f32::from_le_bytes(bytes(&value, 2)[0].try_into().expect("four bytes")))
    };
    let summaries = bytes(&event, 5);
    let values = summaries.iter().flat_map(|s| fields(s)).map(|(_, f)| match f {
        Field::Bytes(b) => value(&b),
        Field::Number(n) => panic!("{n} is no value"),
    });
    (step.unwrap_or(0), values.collect())
}

fn event_files(sandbox: &Sandbox, run: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(sandbox.path().join(run)).expect("a run").flatten().map(|e| e.path());
    let ours =
        |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("events.out.tfevents."));
    let mut files: Vec<PathBuf> = entries.filter(ours).collect();
    files.sort();
    files
}

fn epochs(sandbox: &Sandbox, run: &str) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(sandbox.path().join(run).join("metrics.jsonl")).expect("metrics");
    text.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect()
}

fn train(sandbox: &Sandbox, run: &str, flags: &[&str]) {
    sandbox.succeed(
        &[&["train", "hmcvi-9", "--out", run, "-q"][..], flags, &SMALL, &["train.epochs=3"]].concat(),
    );
}

#[test]
fn every_metric_of_an_epoch_is_in_its_event() {
    let sandbox = Sandbox::new();
    train(&sandbox, "run", &["--tensorboard"]);
    let files = event_files(&sandbox, "run");
    assert_eq!(files.len(), 1);
    let records = records(&std::fs::read(&files[0]).expect("written"));
    assert_eq!(bytes(&fields(&records[0]), 3), [b"brain.Event:2"], "the first record names the format");
    let lines = epochs(&sandbox, "run");
    assert_eq!((records.len(), lines.len()), (4, 3));
    for (record, line) in records[1..].iter().zip(&lines) {
        let (step, found) = scalars(record);
        assert_eq!(step, line["step"]);
        for group in ["train", "validation"] {
            for (name, value) in line[group].as_object().expect("numbers") {
                let tag = format!("{group}/{name}");
                assert_eq!(found.get(&tag).copied(), value.as_f64().map(|v| v as f32), "{tag}");
            }
        }
        assert_eq!(f64::from(found["run/epoch"]), line["epoch"].as_f64().expect("a number"));
    }
    // Without being asked nothing is written; a run that is replaced leaves nothing behind.
    train(&sandbox, "run", &["--force"]);
    assert!(event_files(&sandbox, "run").is_empty());
}

/// Prints steps and values of two metrics as TensorBoard sees them.
const READER: &str = "
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1])
events.Reload()
for tag in ('train/bound', 'validation/bound'):
    print(tag, ' '.join(f'{e.step}:{e.value:.6g}' for e in events.Scalars(tag)))
";

#[test]
fn tensorboard_reads_a_resumed_run_without_doubles() {
    let sandbox = Sandbox::new();
    train(&sandbox, "run", &["--tensorboard"]);
    let last = sandbox.path().join("run/last.safetensors");
    let kept = std::fs::read(&last).expect("a checkpoint");
    sandbox.succeed(&["resume", "run", "--set", "train.epochs=5", "-q"]);
    // As if it had been killed before the last two epochs were saved: they are done again.
    std::fs::write(&last, kept).expect("the checkpoint goes back");
    sandbox.succeed(&["resume", "run", "--set", "train.epochs=6", "-q"]);
    let files = event_files(&sandbox, "run");
    assert_eq!(files.len(), 3, "{files:?}");
    let of = |file: &PathBuf| records(&std::fs::read(file).expect("written"));
    assert_eq!(files.iter().map(|f| of(f).len()).collect::<Vec<_>>(), [4, 4, 5]);
    // The second record of a file that goes on is the start of a session, with the first step that counts anew.
    let start = fields(&of(&files[2])[1]);
    assert_eq!(bytes(&start, 7).iter().map(|log| fields(log)).collect::<Vec<_>>(), [[(1, Field::Number(1))]]);
    let lines = epochs(&sandbox, "run");
    let third = lines[2]["step"].as_u64().expect("a number");
    assert!(start.contains(&(2, Field::Number(third + 1))), "{start:?}");

    let python = std::env::var("HMCVI_PYTHON").unwrap_or("python3".into());
    let run = |script: &str| {
        std::process::Command::new(&python).args(["-c", script]).arg(sandbox.path().join("run")).output()
    };
    if !run("import tensorboard").is_ok_and(|o| o.status.success()) {
        return skipped(&format!("{python} has no TensorBoard; HMCVI_PYTHON names a Python that has"));
    }
    let output = run(READER).expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let number = |v: &serde_json::Value| v.as_f64().expect("a number");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for (line, group) in text.lines().zip(["train", "validation"]) {
        let seen: Vec<(u64, f64)> = line
            .split(' ')
            .skip(1)
            .filter_map(|p| p.split_once(':').and_then(|(s, v)| Some((s.parse().ok()?, v.parse().ok()?))))
            .collect();
        assert_eq!(seen.len(), lines.len(), "{text}");
        for ((step, value), epoch) in seen.iter().zip(&lines) {
            assert_eq!(*step, epoch["step"], "{text}");
            assert!((value - number(&epoch[group]["bound"])).abs() < 1e-2, "{text}");
        }
    }
}

#[test]
fn a_run_that_had_no_events_gets_those_of_its_past() {
    let sandbox = Sandbox::new();
    train(&sandbox, "run", &[]);
    sandbox.succeed(&["resume", "run", "--set", "train.epochs=4", "train.tensorboard=true", "-q"]);
    let files = event_files(&sandbox, "run");
    assert_eq!(files.len(), 1);
    let records = records(&std::fs::read(&files[0]).expect("written"));
    let steps: Vec<u64> = records[1..].iter().map(|r| scalars(r).0).collect();
    let expected: Vec<u64> = epochs(&sandbox, "run").iter().filter_map(|e| e["step"].as_u64()).collect();
    assert_eq!(steps, expected);
}
