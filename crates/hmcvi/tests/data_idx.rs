//! Check that IDX files are read back as written and that no damaged one is taken for a good one.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use hmcvi::data::{ByteArray, DataError, Storage, read_idx, read_idx_bytes, write_idx};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A file with a header of `lengths` and `body` bytes, of the given type.
fn idx(kind: u8, lengths: &[u32], body: usize) -> Vec<u8> {
    let mut file = vec![0, 0, kind, u8::try_from(lengths.len()).unwrap()];
    lengths.iter().for_each(|length| file.extend(length.to_be_bytes()));
    file.extend((0..body).map(|value| (value * 7 % 251) as u8));
    file
}

fn read(bytes: &[u8]) -> Result<ByteArray, DataError> {
    read_idx_bytes("test.idx", bytes)
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    for shape in [vec![5], vec![2, 3], vec![4, 2, 3], vec![0, 28, 28]] {
        let bytes = (0..shape.iter().product::<usize>()).map(|value| value as u8).collect();
        let array = ByteArray::new(shape, bytes).unwrap();
        for storage in [Storage::Plain, Storage::Gzip] {
            // Neither name says how the file is stored.
            let path = folder.path().join("array");
            write_idx(&path, &array, storage).unwrap();
            assert_eq!(read_idx(&path).unwrap(), array);
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file stays behind");
}

#[test]
fn several_gzip_members_are_one_file() {
    let file = idx(8, &[2, 3], 6);
    let members = [gzip(&file[..7]), gzip(&file[7..])].concat();
    assert_eq!(read(&members).unwrap(), read(&file).unwrap());
}

#[test]
fn a_file_cut_anywhere_is_truncated() {
    let file = idx(8, &[3, 2, 2], 12);
    assert!(read(&file).is_ok());
    for length in 0..file.len() {
        let error = read(&file[..length]).unwrap_err();
        assert!(matches!(error, DataError::Truncated { .. }), "{length}: {error}");
    }
    let packed = gzip(&file);
    for length in 0..packed.len() {
        assert!(read(&packed[..length]).is_err(), "{length}");
    }
}

#[test]
fn truncation_says_how_much_is_there() {
    let error = read(&idx(8, &[3, 2, 2], 11)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "test.idx: only 11 of 12 bytes of the values are there; the file is cut short, copy or fetch it again"
    );
}

#[test]
fn bytes_after_the_end_are_refused() {
    let file = idx(8, &[3], 4);
    for bytes in [file.clone(), gzip(&file)] {
        assert!(matches!(read(&bytes), Err(DataError::Trailing { expected: 11, .. })));
    }
    let garbage = [gzip(&idx(8, &[3], 3)), vec![1, 2, 3]].concat();
    assert!(read(&garbage).is_err());
}

#[test]
fn a_changed_byte_in_a_gzip_file_is_noticed() {
    let file = idx(8, &[6, 5, 5], 150);
    let array = read(&file).unwrap();
    let packed = gzip(&file);
    for at in 0..packed.len() {
        let mut damaged = packed.clone();
        damaged[at] ^= 0x55;
        // Some fields of the gzip header (time, system) say nothing about the content.
        assert!(read(&damaged).map_or(true, |read| read == array), "byte {at}");
    }
}

#[test]
fn other_formats_are_named_by_their_first_bytes() {
    let error = read(b"PK\x03\x04 and so on").unwrap_err();
    assert!(matches!(&error, DataError::Magic { found, .. } if found == "50 4b 03 04"), "{error}");
}

#[test]
fn other_types_are_named() {
    for (kind, name) in
        [(9, "signed byte"), (0x0b, "16-bit"), (0x0c, "32-bit integer"), (0x0d, "32-bit float")]
    {
        let error = read(&idx(kind, &[1], 8)).unwrap_err();
        assert!(matches!(&error, DataError::Type { found, .. } if found.starts_with(name)), "{error}");
    }
    assert!(read(&idx(0x42, &[1], 8)).unwrap_err().to_string().contains("unknown (0x42)"));
}

#[test]
fn only_one_to_three_axes_are_read_and_written() {
    for lengths in [vec![], vec![1; 4]] {
        let error = read(&idx(8, &lengths, 1)).unwrap_err();
        assert!(matches!(&error, DataError::Field { field, .. } if field == "number of axes"), "{error}");
    }
    let array = ByteArray::new(vec![1; 4], vec![0]).unwrap();
    assert!(write_idx(Path::new("never-written"), &array, Storage::Plain).is_err());
    assert!(!Path::new("never-written").exists());
}

#[test]
fn huge_declared_sizes_are_refused_before_memory_is_taken() {
    // 3 GiB fit the limit of the library but not this file: plain, its length is known; compressed, the length
    // that it could have at most is known.
    let three = idx(8, &[3 << 10, 1 << 10, 1 << 10], 5);
    assert!(matches!(read(&three), Err(DataError::Truncated { found: 5, expected: 3_221_225_472, .. })));
    assert!(matches!(read(&gzip(&three)), Err(DataError::TooLarge { found: 3_221_225_472, .. })));
    let beyond = idx(8, &[u32::MAX, u32::MAX], 5);
    assert!(matches!(read(&beyond), Err(DataError::TooLarge { limit: 5, .. })));
    let uncountable = idx(8, &[u32::MAX; 3], 5);
    assert!(matches!(read(&uncountable), Err(DataError::Field { .. })));
}

#[test]
fn a_gzip_bomb_is_left_alone() {
    // 16 MB of zeros in 16 kB behind a header that declares one small image.
    let mut bomb = idx(8, &[1, 28, 28], 784);
    bomb.resize(16 << 20, 0);
    let packed = gzip(&bomb);
    assert!(packed.len() < 32 << 10);
    assert!(matches!(read(&packed), Err(DataError::Trailing { expected: 800, .. })));
}

#[test]
fn arrays_need_as_many_values_as_their_shape_says() {
    assert!(ByteArray::new(vec![2, 3], vec![0; 5]).is_err());
    assert!(ByteArray::new(vec![usize::MAX, usize::MAX], vec![]).is_err());
}
