//! Feed every reader with ten thousand damaged files: each is read or refused, without panic, without hanging, and
//! without more memory than the file justifies.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use hmcvi::config::{RunSpec, preset};
use hmcvi::data::{ByteArray, read_idx_bytes, read_npy_bytes, write_npy_to};
use hmcvi::run::{Checkpoint, Journal, RunDirectory};
use hmcvi_graph::Store;
use hmcvi_record::{CHECKPOINT_SCHEMA, CheckpointInfo, RunInfo, files};

/// Counts what a thread allocates.
struct Counting;

thread_local! {
    static NOW: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does the work; only sizes are noted, in memory that needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        NOW.with(|now| {
            now.set(now.get().wrapping_add(layout.size()));
            MOST.with(|most| most.set(most.get().max(now.get())));
        });
        // SAFETY: passed on as it came.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.with(|now| now.set(now.get().saturating_sub(layout.size())));
        // SAFETY: passed on as it came.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const INPUTS: usize = 10_000;
/// Memory that any file may take, and how many times its size: formats that compress may grow by a thousand.
const PLAIN: usize = 1 << 20;
const LONGEST: Duration = Duration::from_secs(2);

/// A small generator (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % sides.max(1) as u64) as usize
    }

    /// A damaged copy: one to four changes of random kinds at random places.
    fn damage(&mut self, seed: &[u8]) -> Vec<u8> {
        let mut bytes = seed.to_vec();
        for _ in 0..=self.roll(4) {
            let at = self.roll(bytes.len() + 1).min(bytes.len());
            // Most damage to headers, which say how long everything is.
            let at = if self.roll(2) == 0 { at.min(self.roll(64)) } else { at };
            let end = (at + 1 + self.roll(16)).min(bytes.len());
            match self.roll(8) {
                0 if at < bytes.len() => bytes[at] ^= 1 << self.roll(8),
                1 if at < bytes.len() => bytes[at] = self.roll(256) as u8,
                2 => bytes.truncate(at),
                3 => drop(bytes.drain(at..end)),
                4 => {
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
                5 => {
                    let extreme = [[0u8; 8], [0xff; 8], [0x7f; 8], [0x80, 0, 0, 0, 0, 0, 0, 0]][self.roll(4)];
                    let end = (at + [1, 2, 4, 8][self.roll(4)]).min(bytes.len());
                    bytes[at..end].copy_from_slice(&extreme[..end - at]);
                }
                6 => {
                    let digits = [&b"99999999999999999999"[..], b"-1", b"1e999", b"NaN", b"{[", b"\"\\u0000"];
                    bytes.splice(at..at, digits[self.roll(6)].iter().copied());
                }
                _ => {
                    let other = self.roll(bytes.len() + 1).min(bytes.len());
                    bytes.rotate_left(at.min(other));
                }
            }
        }
        bytes
    }
}

fn torment(name: &str, seeds: &[Vec<u8>], growth: usize, read: impl FnMut(&[u8]) -> bool) {
    torment_with(INPUTS, name, seeds, growth, read);
}

/// Reads damaged copies of `seeds`; `read` says whether it accepted one. `growth` is how many times its size a file
/// may take.
fn torment_with(
    inputs: usize,
    name: &str,
    seeds: &[Vec<u8>],
    growth: usize,
    mut read: impl FnMut(&[u8]) -> bool,
) {
    for (i, seed) in seeds.iter().enumerate() {
        assert!(read(seed), "{name}: the undamaged file {i} is accepted");
    }
    let mut dice = Dice(7);
    let mut accepted = 0;
    for number in 0..inputs {
        let input = dice.damage(&seeds[number % seeds.len()]);
        let before = NOW.with(Cell::get);
        MOST.with(|most| most.set(before));
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| read(&input)));
        let taken = MOST.with(Cell::get) - before;
        let Ok(fine) = result else { panic!("{name}, input {number}: a panic for {input:?}") };
        accepted += usize::from(fine);
        assert!(start.elapsed() < LONGEST, "{name}, input {number}: too slow for {input:?}");
        let most = PLAIN + growth * input.len();
        assert!(taken < most, "{name}, input {number}: {taken} bytes for a file of {}", input.len());
    }
    assert!(accepted < inputs, "{name}: some damage is noticed");
}

fn idx() -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, 3, 0, 0, 0, 5, 0, 0, 0, 4, 0, 0, 0, 4];
    bytes.extend((0..80).map(|i| (i * 3) as u8));
    bytes
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn npy() -> Vec<u8> {
    let mut bytes = Vec::new();
    write_npy_to(&mut bytes, &[5, 4, 4], &[200u8; 80]).expect("memory");
    bytes
}

#[test]
fn idx_files() {
    torment("IDX", &[idx()], 8, |bytes| read_idx_bytes("damaged", bytes).is_ok());
}

#[test]
fn compressed_idx_files() {
    // Zeros compress a thousandfold.
    let mut zeros = vec![0, 0, 8, 3, 0, 0, 1, 0, 0, 0, 0, 16, 0, 0, 0, 16];
    zeros.extend([0; 256 * 256]);
    let seeds = [compressed(&idx()), compressed(&zeros)];
    torment("gzip", &seeds, 4000, |bytes| read_idx_bytes("damaged", bytes).is_ok());
}

#[test]
fn npy_files() {
    torment("npy", &[npy()], 40, |bytes| {
        read_npy_bytes("damaged", bytes).and_then(|a: ByteArray| a.into_images("damaged", None)).is_ok()
    });
}

#[test]
fn npz_archives() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in ["train.npy", "test.npy"] {
        archive.start_file(name, zip::write::SimpleFileOptions::default()).expect("memory");
        archive.write_all(&npy()).expect("memory");
    }
    let seed = archive.finish().expect("memory").into_inner();
    let path = folder.path().join("damaged.npz");
    torment("npz", &[seed], 4000, |bytes| {
        std::fs::write(&path, bytes).expect("written");
        hmcvi::data::open(&hmcvi::data::Source::File(path.clone())).is_ok()
    });
}

#[test]
fn settings() {
    let seeds = ["hmcvi-9", "basic-2d"].map(|name| preset(name).expect("a preset").to_toml().into_bytes());
    torment("TOML", &seeds, 200, |bytes| {
        std::str::from_utf8(bytes).is_ok_and(|text| RunSpec::from_toml(text).is_ok())
    });
}

fn store() -> Store<f32> {
    let mut store = Store::new();
    for (name, rows, cols) in [("encoder.0.weight", 3, 4), ("decoder.0.bias", 1, 5), ("adam.count", 1, 1)] {
        store.insert(name, rows, cols, vec![0.5; rows * cols]).expect("sizes agree");
    }
    store
}

#[test]
fn safetensors_files() {
    let metadata = BTreeMap::from([("note".to_string(), "a test".to_string())]);
    let seed = store().to_safetensors(&metadata).expect("memory");
    torment("safetensors", &[seed], 40, |bytes| Store::<f32>::from_safetensors(bytes).is_ok());
}

/// Reads damaged copies of a file in a run directory.
fn torment_run(file: &str, seed: Vec<u8>, read: impl Fn(&RunDirectory, &Path) -> bool) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let spec = preset("basic-2d").expect("a preset");
    let info = RunInfo {
        schema: 1,
        version: String::new(),
        command: Vec::new(),
        started: 0,
        device: String::new(),
        data: String::new(),
        data_sha256: String::new(),
        initial_sha256: None,
        changes: Vec::new(),
        parameters: 0,
        bytes: 0,
        first_step_size: None,
        image_shape: None,
    };
    let created = RunDirectory::create(folder.path(), &spec, &info, false);
    let (directory, _lock) = created.expect("an empty folder");
    let path = directory.file(file);
    torment(file, &[seed], 200, |bytes| {
        std::fs::write(&path, bytes).expect("written");
        read(&directory, &path)
    });
}

#[test]
fn checkpoints_with_any_damage_to_their_values_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("seed");
    let checkpoint = Checkpoint {
        store: store(),
        info: CheckpointInfo { schema: CHECKPOINT_SCHEMA, epoch: 3, step: 9, ..Default::default() },
    };
    checkpoint.write(&path).expect("written");
    let seed = std::fs::read(&path).expect("readable");
    torment_run(files::LAST, seed, |_, path| match Checkpoint::read(path) {
        // What is accepted is what was written: the hash covers all of it.
        Ok(read) => {
            assert_eq!(read, checkpoint);
            true
        }
        Err(_) => false,
    });
}

#[test]
fn records_of_runs() {
    let line = r#"{"epoch":1,"step":3,"seconds":0.5,"learning_rate":0.001,"train":{"bound":-100.5},"validation":null,"images":9,"divergences":0,"skipped":0,"images_per_second":10.0}"#;
    torment_run(files::METRICS, format!("{line}\n{line}\n").into_bytes(), |run, _| run.epochs().is_ok());
    let summary = r#"{"schema":1,"epochs":3,"best_epoch":2,"best_validation_bound":-99.0,"seconds":1.0,"divergences":0,"skipped":0,"finished":true}"#;
    torment_run(files::SUMMARY, summary.into(), |run, _| run.summary().is_ok());
}

#[test]
fn journals() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("parts.jsonl");
    let of = serde_json::json!({"samples": 5});
    let seed = "{\"of\":{\"samples\":5}}\n{\"part\":\"a\",\"value\":[1.5]}\n{\"part\":\"b\",\"value\":2}\n";
    // A damaged journal is not an error: what is whole of it is used. Fewer inputs, because each is written anew and
    // flushed to the disk; its lines are JSON as those of the other records.
    let (inputs, mut known) = (500, 0);
    torment_with(inputs, "journal", &[seed.into()], 200, |bytes| {
        std::fs::write(&path, bytes).expect("written");
        let journal = Journal::open(&path, &of).expect("what is whole is used");
        known += journal.len();
        journal.len() == 2
    });
    assert!(known > inputs / 20, "undamaged lines are used: {known}");
}
