//! Check that processes, which are threads here, read a part of a file each, see the same data as one that reads all of
//! it, and train to the same bits.
#![allow(clippy::unwrap_used)]

#[path = "../../hmcvi-graph/tests/common/meeting.rs"]
mod meeting;

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hmcvi::config::{RunSpec, preset};
use hmcvi::data::{
    ByteArray, DataError, Dataset, Kind, NpyValue, Reading, Source, Split, Splitting, Storage, open_among,
    open_as, write_idx, write_npy, write_npy_to,
};
use hmcvi::device::{Device, Ranks, Sums};
use hmcvi::train::Trainer;
use meeting::together;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const ROWS: usize = 211;
const COLUMNS: usize = 12;

/// Numbers in no order.
fn numbers() -> impl Iterator<Item = u32> {
    (0..(ROWS * COLUMNS) as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7)
}

fn npy<T: NpyValue>(folder: &Path, name: &str, values: &[T]) -> PathBuf {
    let path = folder.join(name);
    write_npy(&path, &[ROWS, COLUMNS], values).unwrap();
    path
}

fn pixels() -> Vec<u8> {
    numbers().map(|n| if n % 3 == 0 { 0 } else { n as u8 }).collect()
}

fn npz(folder: &Path, name: &str, method: CompressionMethod) -> PathBuf {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    let labels: Vec<u8> = (0..ROWS).map(|row| row as u8 % 5).collect();
    let mut files = [("x.npy", Vec::new()), ("y.npy", Vec::new())];
    write_npy_to(&mut files[0].1, &[ROWS, 3, 4], &pixels()).unwrap();
    write_npy_to(&mut files[1].1, &[ROWS], &labels).unwrap();
    for (name, bytes) in files {
        writer.start_file(name, options).unwrap();
        writer.write_all(&bytes).unwrap();
    }
    let path = folder.join(name);
    fs::write(&path, writer.finish().unwrap().into_inner()).unwrap();
    path
}

fn idx(folder: &Path, storage: Storage) -> PathBuf {
    let folder = folder.join(if storage == Storage::Plain { "plain" } else { "gzip" });
    fs::create_dir(&folder).unwrap();
    let images = |rows: usize, from: usize| {
        ByteArray::new(vec![rows, 3, 4], pixels()[from * COLUMNS..(from + rows) * COLUMNS].to_vec()).unwrap()
    };
    write_idx(&folder.join("train-images-idx3-ubyte"), &images(ROWS - 9, 0), storage).unwrap();
    write_idx(&folder.join("t10k-images-idx3-ubyte"), &images(9, ROWS - 9), storage).unwrap();
    folder
}

fn read(path: &Path, kind: Option<Kind>, splitting: Splitting) -> (Source, Reading) {
    (Source::from(path.to_str().unwrap()), Reading { kind, splitting, ..Reading::default() })
}

/// Everything that there is to see of a data set, in the order in which all processes look at it.
fn seen(data: &Dataset) -> String {
    let mut all = format!("{} {:?} {:?}", data.sha256(), data.summary(), data.remarks());
    for table in Split::ALL.map(|split| data.table(split)) {
        let values: Vec<f32> = table.values(3..7).unwrap().into_owned();
        let odd: Vec<u32> = (0..table.len() as u32 / 2).map(|row| 2 * row + 1).rev().collect();
        let picked = table.pick(&odd).here();
        let last: Vec<(usize, f32)> = table.non_zeros(table.len() - 1).collect();
        all += &format!(" {} {values:?} {picked:?} {last:?} {:?}", table.sha256(), table.byte_counts_of());
        all += &format!(" {:?} {:?} {:?}", table.labels(), table.shape(), table.rows_in_file());
    }
    all
}

/// Counts of the bytes of a table, where it has some.
trait ByteCounts {
    fn byte_counts_of(&self) -> Option<Vec<usize>>;
}

impl ByteCounts for hmcvi::data::Table {
    fn byte_counts_of(&self) -> Option<Vec<usize>> {
        let here = self.here();
        let bytes = here.bytes()?;
        Some((0..=u8::MAX).map(|byte| bytes.iter().filter(|found| **found == byte).count()).collect())
    }
}

fn check(path: &Path, kind: Option<Kind>, splitting: Splitting, is_spread: bool) {
    let (source, reading) = read(path, kind, splitting);
    let alone = open_as(&source, &reading).unwrap();
    assert!(!alone.train().is_spread());
    let expected = seen(&alone);
    for size in [1, 2, 3, 5] {
        let (found, _) = together(size, |ranks| {
            let data = open_among(&source, &reading, &ranks).unwrap();
            assert_eq!(data.train().is_spread(), is_spread, "{}", path.display());
            assert!(!data.validation().is_spread(), "all look at these");
            (data.train().memory(), seen(&data))
        });
        let what = format!("{} of {size} processes", path.display());
        assert!(found.iter().all(|(_, seen)| *seen == expected), "{what}");
        if is_spread {
            // A row more than others, and four bytes for the number of each row.
            let width = if alone.train().are_bytes() { 1 } else { 4 } * COLUMNS;
            let most = (ROWS.div_ceil(size)) * width + 4 * ROWS;
            assert!(found.iter().all(|(memory, _)| *memory <= most), "{what}: {found:?}");
        }
    }
}

#[test]
fn processes_that_read_a_part_each_see_what_one_sees() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let real: Vec<f32> = numbers().map(|n| n as f32 / 1e5 - 100.0).collect();
    let double: Vec<f64> = numbers().map(|n| f64::from(n) / 1e5).collect();
    let truths: Vec<u8> = numbers().map(|n| u8::from(n % 3 == 0)).collect();
    let truths = npy(folder, "truths.npy", &truths);
    let bytes = fs::read(&truths).unwrap();
    let at = bytes.windows(3).position(|code| code == b"|u1").unwrap();
    fs::write(&truths, [&bytes[..at], &b"|b1"[..], &bytes[at + 3..]].concat()).unwrap();
    for splitting in [Splitting::Shuffled, Splitting::InOrder] {
        check(&npy(folder, "pixels.npy", &pixels()), None, splitting, true);
        check(&npy(folder, "real.npy", &real), None, splitting, true);
        check(&npy(folder, "double.npy", &double), None, splitting, true);
        check(&truths, None, splitting, true);
        check(&npz(folder, "stored.npz", CompressionMethod::Stored), None, splitting, true);
        check(&npz(folder, "deflated.npz", CompressionMethod::Deflated), None, splitting, false);
    }
    let two: Vec<u8> = numbers().map(|n| (n % 2) as u8).collect();
    check(&npy(folder, "two.npy", &two), None, Splitting::Shuffled, true);
    check(&npy(folder, "counts.npy", &pixels()), Some(Kind::Count), Splitting::Shuffled, true);
    check(&idx(folder, Storage::Plain), None, Splitting::Shuffled, true);
    check(&idx(folder, Storage::Gzip), None, Splitting::Shuffled, false);
    let arrays = folder.join("arrays");
    fs::create_dir(&arrays).unwrap();
    npy(&arrays, "x_train.npy", &pixels());
    npy(&arrays, "x_test.npy", &pixels());
    check(&arrays, None, Splitting::Shuffled, true);
}

#[test]
fn files_that_differ_are_refused_by_all() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.npy", "b.npy"].map(|name| npy(folder.path(), name, &pixels()));
    let mut other = fs::read(&paths[1]).unwrap();
    // In the part of the second of three, which the first one compares.
    let at = other.len() - ROWS * COLUMNS / 2;
    other[at] ^= 1;
    fs::write(&paths[1], &other).unwrap();
    let refused = |with: &[u8]| {
        fs::write(&paths[1], with).unwrap();
        let (errors, _) = together(3, |ranks| {
            let (source, reading) = read(&paths[usize::from(ranks.rank() == 1)], None, Splitting::Shuffled);
            open_among(&source, &reading, &ranks).err().unwrap().to_string()
        });
        assert!(errors.iter().all(|error| error.contains("process 1 reads other values")), "{errors:?}");
    };
    refused(&other);
    refused(&other[..other.len() - COLUMNS]);
    let (source, reading) = read(&paths[0], None, Splitting::Shuffled);
    let (errors, _) = together(2, |ranks| open_among(&source, &reading, &ranks).err());
    assert!(errors.iter().all(Option::is_none));
    // What is wrong with a file is said as by one process.
    let path = folder.path().join("nothing.npy");
    fs::write(&path, b"no array").unwrap();
    let (source, reading) = read(&path, None, Splitting::Shuffled);
    let (errors, _) = together(2, |ranks| open_among(&source, &reading, &ranks).err().unwrap());
    assert!(errors.iter().all(|error| matches!(error, DataError::Magic { .. })), "{errors:?}");
}

fn spec(batch: usize) -> RunSpec {
    let mut spec = preset("hmcvi-13").unwrap();
    (spec.model.hidden, spec.model.latent) = (vec![8], 3);
    (spec.train.batch, spec.train.epochs, spec.data.evaluation_draws) = (batch, 2, 2);
    spec
}

/// Bits of all tensors and the mean bounds after two epochs.
fn trained(data: Dataset, batch: usize, device: &Device) -> (Vec<u32>, String) {
    let spec = spec(batch).for_data(&data).unwrap();
    let mut trainer = Trainer::new(&spec, Arc::new(data), device, None).unwrap();
    let epoch = |trainer: &mut Trainer| {
        let epoch = trainer.epoch(&mut ()).unwrap().unwrap();
        format!("{:?} {:?}", epoch.train, epoch.validation)
    };
    let said = epoch(&mut trainer) + &epoch(&mut trainer);
    let bits = |(_, tensor): (&str, &hmcvi_graph::Tensor<f32>)| {
        tensor.values.iter().map(|value| value.to_bits()).collect::<Vec<_>>()
    };
    (trainer.store().unwrap().iter().flat_map(bits).collect(), said)
}

#[test]
fn training_on_parts_has_the_bits_of_training_on_all() {
    let folder = tempfile::tempdir().unwrap();
    let real: Vec<f32> = numbers().map(|n| n as f32 / 1e7 - 1.0).collect();
    for (path, batch) in [
        (npy(folder.path(), "pixels.npy", &pixels()), 100),
        (npy(folder.path(), "real.npy", &real), 64),
        // Fewer shards than processes.
        (npy(folder.path(), "pixels.npy", &pixels()), 7),
    ] {
        let (source, reading) = read(&path, None, Splitting::Shuffled);
        let alone = trained(open_as(&source, &reading).unwrap(), batch, &Device::cpu(1));
        let train = |ranks: Arc<dyn Ranks>, sums: Sums, parts: bool| {
            let data = match parts {
                true => open_among(&source, &reading, &ranks).unwrap(),
                false => open_as(&source, &reading).unwrap(),
            };
            assert_eq!(data.train().is_spread(), parts);
            trained(data, batch, &Device::cpu(1).among(ranks, sums).unwrap())
        };
        for size in [2, 3, 4] {
            let (found, _) = together(size, |ranks| train(ranks, Sums::Ordered, true));
            assert!(found.iter().all(|found| *found == alone), "{size} processes, batch {batch}");
        }
        let (whole, of_whole) = together(3, |ranks| train(ranks, Sums::PerProcess, false));
        let (parts, of_parts) = together(3, |ranks| train(ranks, Sums::PerProcess, true));
        assert!(parts == whole, "sums per process, batch {batch}");
        assert!(of_parts > of_whole, "rows travel");
    }
}
