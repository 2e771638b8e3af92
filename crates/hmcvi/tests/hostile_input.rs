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
use hmcvi::data::{
    CsvColumns, DataError, Dataset, Kind, Reading, Source, Splitting, Table, info, open_as, read_csv_bytes,
    read_idx_bytes, read_mtx_bytes, read_npy_bytes, read_png_bytes, write_npy_to,
};
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
/// Time that a file may take, also where all cores are busy.
const LONGEST: Duration = Duration::from_secs(20);

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
        read_npy_bytes("damaged", bytes).and_then(|table| table.taken_as(Some(Kind::Byte))).is_ok()
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
        open_as(&Source::File(path.clone()), &Reading::default()).is_ok()
    });
}

/// Reads damaged tables as a table, without a file on the disk.
fn torment_table(
    name: &str,
    seeds: &[Vec<u8>],
    growth: usize,
    read: impl Fn(&[u8]) -> Result<Table, DataError>,
) {
    torment(name, seeds, growth, |bytes| match read(bytes) {
        Ok(table) => {
            // What is accepted can be used.
            let dataset = Dataset::from_parts("damaged", "memory", Splitting::Shuffled, (table, None, None));
            dataset.map_or(true, |dataset| dataset.summary().rows > 0 && !dataset.remarks().is_empty())
        }
        Err(_) => false,
    });
}

#[test]
fn arrays_of_numbers() {
    let values: Vec<f64> = (0..80).map(|i| f64::from(i) - 0.5).collect();
    let mut c = Vec::new();
    write_npy_to(&mut c, &[5, 4, 4], &values).expect("memory");
    let at = c.windows(7).position(|word| word == b"False, ").expect("the order of the axes");
    let fortran = [&c[..at], b"True,  ", &c[at + 7..]].concat();
    torment_table("table npy", &[c, npy(), fortran], 60, |bytes| read_npy_bytes("damaged", bytes));
}

#[test]
fn sparse_archives() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let array = |shape: &[usize], values: &[u32]| {
        let mut bytes = Vec::new();
        write_npy_to(&mut bytes, shape, values).expect("memory");
        bytes
    };
    let mut format = Vec::new();
    write_npy_to(&mut format, &[], b"c").expect("memory");
    let at = format.windows(3).position(|code| code == b"|u1").expect("the type");
    format[at..at + 3].copy_from_slice(b"|S3");
    format.extend(b"sr");
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in [
        ("indices", array(&[5], &[0, 3, 2, 1, 0])),
        ("indptr", array(&[6], &[0, 2, 2, 3, 4, 5])),
        ("format", format),
        ("shape", array(&[2], &[5, 4])),
        ("data", array(&[5], &[9, 8, 7, 6, 5])),
    ] {
        archive.start_file(format!("{name}.npy"), stored).expect("memory");
        archive.write_all(&bytes).expect("memory");
    }
    let seed = archive.finish().expect("memory").into_inner();
    let path = folder.path().join("damaged.npz");
    // Fewer inputs, because each is written to the disk; the archive around the arrays is damaged above.
    torment_with(2_000, "table npz", &[seed], 4000, |bytes| {
        std::fs::write(&path, bytes).expect("written");
        open_as(&Source::File(path.clone()), &Reading::default())
            .is_ok_and(|dataset| dataset.train().is_sparse())
    });
}

#[test]
fn text_tables() {
    let text = "a,b,\"the class\"\n1,0.5,x\n-2e3,7,\"y\"\"\"\n3,4,x\n";
    let columns = CsvColumns { selected: Vec::new(), labels: Some("the class".to_string()) };
    let seeds = [text.into(), compressed(text.as_bytes())];
    torment_table("csv", &seeds, 4000, |bytes| read_csv_bytes("damaged", bytes, &columns));
    let text =
        "%%MatrixMarket matrix coordinate integer general\n%\n4 3 5\n1 1 5\n2 3 1\n3 2 9\n4 1 2\n4 3 3\n";
    let seeds = [text.into(), compressed(text.as_bytes())];
    torment_table("mtx", &seeds, 4000, |bytes| read_mtx_bytes("damaged", bytes, bytes.len() % 2 == 0));
}

/// Reads damaged files of every kind as programs do, and looks at what is accepted.
fn torment_source(name: &str, file: &str, seeds: &[Vec<u8>], reading: &Reading) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(file);
    let source = match file.ends_with(".png") || file.ends_with("ubyte") {
        true => Source::Folder(folder.path().into()),
        false => Source::File(path.clone()),
    };
    // Images of a folder are divided, so that there have to be some.
    if file.ends_with(".png") {
        (0..4).for_each(|i| {
            std::fs::write(folder.path().join(format!("{i}.png")), &seeds[0]).expect("written")
        });
    }
    let kinds: Vec<Option<Kind>> = Kind::ALL.into_iter().map(Some).chain([None]).collect();
    let mut number = 0;
    torment_with(1_500, name, seeds, 4000, |bytes| {
        std::fs::write(&path, bytes).expect("written");
        let kind = if number < seeds.len() { None } else { kinds[number % kinds.len()] };
        number += 1;
        open_as(&source, &Reading { kind, ..reading.clone() }).is_ok_and(|dataset| info(&dataset).rows > 2)
    });
}

#[test]
fn every_source_is_opened_by_one_function() {
    let text = "a,b,\"the class\"\n1,0,x\n2,7,\"y\"\"\"\n3,4,x\n0,1,z\n";
    let columns = CsvColumns { selected: Vec::new(), labels: Some("the class".to_string()) };
    let reading = Reading { columns, ..Reading::default() };
    torment_source("csv file", "a.csv", &[text.into(), compressed(text.as_bytes())], &reading);
    let text =
        "%%MatrixMarket matrix coordinate integer general\n%\n4 3 5\n1 1 5\n2 3 1\n3 2 9\n4 1 2\n4 3 3\n";
    for transpose in [false, true] {
        let reading = Reading { transpose, ..Reading::default() };
        torment_source("mtx file", "a.mtx.gz", &[text.into(), compressed(text.as_bytes())], &reading);
    }
    let mut floats = Vec::new();
    write_npy_to(&mut floats, &[5, 4, 4], &[0.25f64; 80]).expect("memory");
    torment_source("npy file", "a.npy", &[npy(), floats], &Reading::default());
    torment_source("idx folder", "train-images-idx3-ubyte", &[idx()], &Reading::default());
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, 8, 8);
    encoder.set_color(png::ColorType::Grayscale);
    let pixels: Vec<u8> = (0..64).map(|i| (i * 4) as u8).collect();
    encoder.write_header().and_then(|mut writer| writer.write_image_data(&pixels)).expect("memory");
    torment_source("png folder", "a.png", &[png], &Reading::default());
}

#[test]
fn sparse_tables_are_never_dense_in_memory() {
    // 10,000 x 10,000 with two values in each row: 400 MB if it were dense.
    let size = 10_000;
    let entries = (1..=size).map(|row| format!("{row} {row} 3\n{row} {} 1\n", row % size + 1));
    let text = entries.collect::<String>();
    let text =
        format!("%%MatrixMarket matrix coordinate integer general\n{size} {size} {}\n{text}", 2 * size);
    let before = NOW.with(Cell::get);
    MOST.with(|most| most.set(before));
    let table = read_mtx_bytes("counts.mtx", text.as_bytes(), true).expect("counts");
    let parts = (table, None, None);
    let dataset = Dataset::from_parts("counts", "memory", Splitting::Shuffled, parts).expect("counts");
    assert_eq!((dataset.summary().rows, dataset.summary().max), (size, 3.0));
    assert!(!dataset.remarks().is_empty() && dataset.test().values(0..1).is_some());
    let taken = MOST.with(Cell::get) - before;
    // At most 64 bytes for each value and 128 for each row and column, all copies together.
    assert!(taken < 64 * 2 * size + 128 * 2 * size, "{taken} bytes");
}

#[test]
fn png_images() {
    let mut seeds = Vec::new();
    for (color, samples) in [(png::ColorType::Grayscale, 1), (png::ColorType::Rgb, 3)] {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 8, 8);
        encoder.set_color(color);
        let pixels: Vec<u8> = (0..64 * samples).map(|i| (i * 5) as u8).collect();
        encoder.write_header().and_then(|mut writer| writer.write_image_data(&pixels)).expect("memory");
        seeds.push(bytes);
    }
    torment("png", &seeds, 4000, |bytes| read_png_bytes("damaged", bytes).is_ok());
    // Damage behind valid checksums, which reaches the sizes.
    torment("png sizes", &seeds, 4000, |bytes| {
        let mut bytes = bytes.to_vec();
        if let Some(header) = bytes.get_mut(12..33) {
            let mut crc = flate2::Crc::new();
            crc.update(&header[..17]);
            header[17..].copy_from_slice(&crc.sum().to_be_bytes());
        }
        read_png_bytes("damaged", &bytes).is_ok()
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
        columns: None,
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
