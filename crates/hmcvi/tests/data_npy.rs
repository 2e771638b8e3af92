//! Check `.npy` and `.npz` files against bytes that NumPy 2.4 wrote, and that damaged ones are refused.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{Cursor, Write};

use hmcvi::data::{
    About, DataError, Dataset, Kind, NpyValue, Reading, Severity, Source, Split, Splitting, Stored, Table,
    open_as, read_npy, read_npy_bytes, write_npy, write_npy_to,
};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// `numpy.savez_compressed(file, x_train=t, y_train=numpy.arange(6, dtype='u1'), x_test=t[:2])` with
/// `t = (numpy.arange(24) * 10 % 256).astype('u1').reshape(6, 2, 2)`.
const NUMPY_NPZ: &str = "\
    504b03042d000000080000002100fd7dd09fffffffffffffffff0b001400785f747261696e2e6e707901001000980000 \
    000000000061000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a05e536aa8aea3a09e965f54529498 \
    179f5f94920a12774bcc294e058a17672416a402f91a663a0a4640a4a9a350ab401ee062e01291d330b2710b884ac9ab \
    68ea99b660d5967d272edd790600504b03042d000000080000002100eb75d709ffffffffffffffff0b001400795f7472 \
    61696e2e6e70790100100086000000000000004a000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a0 \
    5e536aa8aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a663a9a3a0ab50a14002e0646 \
    2666165600504b03042d000000080000002100c2cab715ffffffffffffffff0a001400785f746573742e6e7079010010 \
    0088000000000000004f000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a05e536aa8aea3a09e965f \
    54529498179f5f94920a12774bcc294e058a17672416a402f91a463a0a20a4a9a350ab401ee062e01291d330b2710300 \
    504b01022d032d000000080000002100fd7dd09f61000000980000000b0000000000000000000000800100000000785f \
    747261696e2e6e7079504b01022d032d000000080000002100eb75d7094a000000860000000b00000000000000000000 \
    0080019e000000795f747261696e2e6e7079504b01022d032d000000080000002100c2cab7154f000000880000000a00 \
    00000000000000000000800125010000785f746573742e6e7079504b05060000000003000300aa000000b00100000000";

fn from_hexadecimal(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len() / 2).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn read(bytes: &[u8]) -> Result<Table, DataError> {
    read_npy_bytes("test.npy", bytes)
}

fn bytes(table: &Table) -> &[u8] {
    table.bytes().unwrap()
}

/// A `.npy` file of the given version, dictionary and values.
fn npy(version: u8, header: &str, values: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([version, 0]);
    match version {
        1 => file.extend(u16::try_from(header.len()).unwrap().to_le_bytes()),
        _ => file.extend(u32::try_from(header.len()).unwrap().to_le_bytes()),
    }
    file.extend(header.as_bytes());
    file.extend(values);
    file
}

fn written<T: NpyValue>(shape: &[usize], values: &[T]) -> Vec<u8> {
    let mut file = Vec::new();
    write_npy_to(&mut file, shape, values).unwrap();
    file
}

const CUBE: &str = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2, 3), }";

#[test]
fn all_versions_are_read() {
    let values: Vec<u8> = (0..12).collect();
    for version in 1..=3 {
        let array = read(&npy(version, &format!("{CUBE}     \n"), &values)).unwrap();
        assert_eq!((array.shape(), array.bytes()), (Some((2, 3)), Some(&values[..])));
    }
}

#[test]
fn written_files_are_those_of_numpy_to_the_byte() {
    // numpy.save of numpy.arange(12, dtype='u1').reshape(2, 2, 3)
    let mut expected = b"\x93NUMPY\x01\x00v\x00".to_vec();
    expected.extend(format!("{CUBE:<117}\n").as_bytes());
    expected.extend(0..12u8);
    assert_eq!(written(&[2, 2, 3], &(0..12).collect::<Vec<u8>>()), expected);
}

#[test]
fn floating_point_numbers_are_written_with_their_type_and_shape() {
    let single = written(&[2], &[1.5f32, -2.0]);
    assert!(
        String::from_utf8_lossy(&single)
            .contains("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }")
    );
    assert_eq!(single[128..], [1.5f32.to_le_bytes(), (-2f32).to_le_bytes()].concat());
    let double = written(&[], &[f64::NAN]);
    assert!(
        String::from_utf8_lossy(&double).contains("{'descr': '<f8', 'fortran_order': False, 'shape': (), }")
    );
    assert_eq!(double[128..], f64::NAN.to_le_bytes());
    let mut none = Vec::new();
    assert!(write_npy_to(&mut none, &[3], &[0u8; 2]).is_err());
    assert!(none.is_empty());
}

#[test]
fn files_go_round() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    write_npy(&path, &[3, 4], &[9u8; 12]).unwrap();
    assert_eq!(read_npy(&path).unwrap(), Table::images(2, 2, vec![9; 12], None).unwrap());
    let unwritable = folder.path().join("no such folder").join("a.npy");
    assert!(matches!(write_npy(&unwritable, &[1], &[0u8]), Err(DataError::Io { action: "write", .. })));
}

#[test]
fn the_dictionary_is_read_in_any_order_and_spacing() {
    for header in [
        "{\"shape\":(2,),\"fortran_order\":True,\"descr\":\"|u1\"}",
        "{ 'fortran_order' : False , 'descr' : 'u1' , 'shape' : ( 2L , ) , } \n",
    ] {
        assert_eq!(read(&npy(1, header, &[7, 8])).unwrap().bytes(), Some(&[7, 8][..]), "{header}");
    }
}

#[test]
fn malformed_dictionaries_are_refused() {
    for header in [
        "",
        "{",
        "{}",
        "[]",
        "{'descr': '|u1', 'shape': (2,)}",
        "{'descr': '|u1', 'fortran_order': 0, 'shape': (2,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': 2}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2,,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), 'more': 1}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)} x",
        "{'descr': '|u1",
        "{'descr' '|u1'}",
    ] {
        let error = read(&npy(1, header, &[7, 8])).unwrap_err();
        assert!(matches!(&error, DataError::Field { field, .. } if field == "header"), "{header}: {error}");
    }
    let axes = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({})}}", "1,".repeat(65));
    assert!(read(&npy(1, &axes, &[7])).is_err());
}

/// What is said about the range of an image of these values.
fn range(values: &[f32]) -> Option<String> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, 1, 1)}}", values.len());
    let remarks = read(&npy(1, &header, &bytes)).unwrap().remarks();
    let mut found = remarks.into_iter().filter(|remark| remark.about == About::Range);
    found.next().map(|remark| remark.text)
}

#[test]
fn a_conversion_is_proposed_only_where_it_keeps_the_values() {
    for values in [&[0.25f32, 1.0][..], &[0.5, 1.0 + f32::EPSILON]] {
        let text = range(values).unwrap();
        assert!(text.contains("numpy.round(255 * numpy.clip(x, 0, 1)).astype('uint8')"), "{text}");
    }
    // Standardised values wrap around when they are cast to bytes; so do all that follow.
    for values in [&[-0.5f32, 1.0][..], &[0.25, 256.0], &[0.5, 2.0], &[0.0, 17.0, 255.0]] {
        assert_eq!(range(values), None, "{values:?}");
    }
    // Whole numbers are kept by a kind.
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1, 1)}";
    let bytes: Vec<u8> = [0f32, 17.0, 255.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    let pixels = read(&npy(1, header, &bytes)).unwrap().taken_as(Some(Kind::Byte)).unwrap();
    assert_eq!((pixels.bytes(), pixels.shape()), (Some(&[0, 17, 255][..]), Some((1, 1))));
}

#[test]
fn types_that_are_no_numbers_are_refused() {
    for descr in ["|O", "<U3", "<c8", "<M8[ns]", "<f16"] {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1, 1)}}");
        let error = read(&npy(1, &header, &[0; 16])).unwrap_err();
        assert!(matches!(error, DataError::Type { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(descr) && !text.contains("astype"), "{text}");
    }
    let header = "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1, 1)}";
    let error = read(&npy(1, header, &[0; 8])).unwrap_err();
    assert!(matches!(&error, DataError::Type { next, .. } if next.contains("each field")), "{error}");
}

#[test]
fn truth_values_become_black_and_white() {
    let header = "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 2)}";
    let table = read(&npy(1, header, &[1, 0, 0, 1])).unwrap();
    assert_eq!((table.stored(), table.kind(), table.shape()), (Stored::Bool, Kind::Binary, None));
    assert_eq!(table.bytes(), Some(&[255, 0, 0, 255][..]));
    assert_eq!(table.values(0..2).unwrap().as_ref(), [1.0, 0.0, 0.0, 1.0]);
    let error = read(&npy(1, header, &[1, 0, 2, 1])).unwrap_err();
    assert_eq!(error.to_string(), "test.npy: a truth value is 2, expected 0 or 1");
}

#[test]
fn damaged_files_are_refused() {
    let file = npy(1, CUBE, &[0; 12]);
    for length in 0..file.len() {
        let error = read(&file[..length]).unwrap_err();
        assert!(matches!(error, DataError::Truncated { .. }), "{length}: {error}");
    }
    assert!(matches!(read(&npy(1, CUBE, &[0; 13])), Err(DataError::Trailing { .. })));
    assert!(matches!(read(b"\x93NUMPZ\x01\x00"), Err(DataError::Magic { .. })));
    assert!(matches!(read(&npy(4, CUBE, &[0; 12])), Err(DataError::Field { .. })));
    let huge = "{'descr': '|u1', 'fortran_order': False, 'shape': (5000000000, 28, 28)}";
    assert!(matches!(read(&npy(1, huge, &[0; 12])), Err(DataError::TooLarge { .. })));
    let mut header = npy(2, "", &[]);
    header[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(read(&header).is_err());
}

/// Opens the bytes of an `.npz` file, whose images are split in order where they have to be.
fn open_npz(bytes: &[u8]) -> Result<Dataset, DataError> {
    open_npz_as(bytes, Splitting::InOrder)
}

fn open_npz_as(bytes: &[u8], splitting: Splitting) -> Result<Dataset, DataError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some.npz");
    fs::write(&path, bytes).unwrap();
    open_as(&Source::File(path), &Reading { splitting, ..Reading::default() })
}

fn npz(entries: &[(&str, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        writer.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn an_archive_of_numpy_is_read() {
    let dataset = open_npz(&from_hexadecimal(NUMPY_NPZ)).unwrap();
    let expected: Vec<u8> = (0..24).map(|value| (value * 10 % 256) as u8).collect();
    assert_eq!(dataset.name(), "some");
    // The last sixth of the six training images is for validation.
    assert_eq!(bytes(dataset.train()), &expected[..20]);
    assert_eq!(bytes(dataset.validation()), &expected[20..]);
    assert_eq!(bytes(dataset.test()), &expected[..8]);
    assert_eq!(dataset.train().labels(), Some(&vec![0, 1, 2, 3, 4].into()));
    assert_eq!(dataset.validation().labels(), Some(&vec![5].into()));
    assert_eq!((dataset.test().labels(), dataset.test().shape()), (None, Some((2, 2))));
}

#[test]
fn all_three_splits_and_their_labels_are_found() {
    let images = |count: usize| written(&[count, 2, 3], &vec![5u8; count * 6]);
    let labels = |count: usize| written(&[count], &vec![1u8; count]);
    let names = ["train", "validation", "test"];
    let mut entries: Vec<(String, Vec<u8>)> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        entries.push((format!("{name}.npy"), images(index + 2)));
        entries.push((format!("y_{name}.npy"), labels(index + 2)));
    }
    let entries: Vec<_> = entries.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let dataset = open_npz(&npz(&entries, method)).unwrap();
        let lengths = [dataset.train().len(), dataset.validation().len(), dataset.test().len()];
        assert_eq!(lengths, [2, 3, 4]);
        assert_eq!(dataset.test().labels(), Some(&vec![1, 1, 1, 1].into()));
    }
}

/// An archive with two images of zeros and sevens under each name, as many more as the name is further back.
fn archive(names: &[&str]) -> Vec<u8> {
    let entry = |(index, name): (usize, &&str)| {
        let (count, first) = (index + 2, name.as_bytes()[0].to_ascii_lowercase());
        let array = match first {
            b'y' => written(&[count - 1], &vec![1u8; count - 1]),
            _ => written(&[count, 2], &[0u8, 7].repeat(count)),
        };
        (format!("{name}.npy"), array)
    };
    let entries: Vec<(String, Vec<u8>)> = names.iter().enumerate().map(entry).collect();
    let entries: Vec<_> = entries.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
    npz(&entries, CompressionMethod::Stored)
}

/// Warnings about arrays.
fn unused(dataset: &Dataset) -> Vec<String> {
    let remarks = dataset.remarks().into_iter().filter(|remark| remark.about == About::Arrays);
    remarks
        .inspect(|remark| assert_eq!(remark.severity, Severity::Warning))
        .map(|remark| remark.text)
        .collect()
}

#[test]
fn usual_names_are_known() {
    // Labels follow their images, one array further back.
    for names in [
        ["x_train", "y_train", "x_val", "y_val", "x_test", "y_test"],
        ["X_train", "Y_train", "X_valid", "y_valid", "X_test", "y_test"],
        ["train", "y_train", "val", "y_val", "test", "y_test"],
        ["X", "y", "X_validation", "y_validation", "X_test", "y_test"],
    ] {
        let dataset = open_npz(&archive(&names)).unwrap();
        assert_eq!(Split::ALL.map(|split| dataset.table(split).len()), [2, 4, 6], "{names:?}");
        for split in Split::ALL {
            assert!(dataset.table(split).labels().is_some(), "{names:?}: {split}");
        }
        assert_eq!(unused(&dataset), [""; 0]);
    }
    let dataset = open_npz(&archive(&["x_test", "x_train", "x_val"])).unwrap();
    assert_eq!(Split::ALL.map(|split| dataset.table(split).len()), [3, 4, 2]);
}

#[test]
fn arrays_that_are_not_used_are_named() {
    let dataset = open_npz(&archive(&["x_train", "holdout", "x_test", "train", "y"])).unwrap();
    // `train` comes before `x_train`, and `y` belongs to `X` alone.
    assert_eq!((dataset.test().len(), dataset.train().labels()), (4, None));
    let [text] = &unused(&dataset)[..] else { panic!("one remark") };
    for name in ["[x_train]", "[holdout]", "[y]"] {
        assert!(text.contains(name), "{text}");
    }
    assert!(!text.contains("[train]") && text.contains("x_val"), "{text}");
    let error = open_npz(&archive(&["holdout", "pictures"])).unwrap_err().to_string();
    assert!(error.contains("there are holdout, pictures; save the training images"), "{error}");
}

#[test]
fn earlier_runs_find_the_data_that_they_began_with() {
    // The hash that the version before this choice gave for the same file.
    let file = archive(&["x_train", "x_val", "x_train_2", "X_test", "x_test"]);
    let dataset = open_npz_as(&file, Splitting::Earlier).unwrap();
    assert_eq!(Split::ALL.map(|split| dataset.table(split).len()), [1, 1, 6]);
    assert_eq!(dataset.sha256(), EARLIER);
    assert!(unused(&dataset)[0].contains("[x_val]"));
}

const EARLIER: &str = "968d37f71c9734d9ee73d6947a7c3666c1684ffb8c52f9e5ea70a1e5c985c857";

#[test]
fn an_archive_with_names_that_lead_out_is_refused() {
    let images = written(&[12, 4], &[0u8; 48]);
    for name in ["../train.npy", "a/../../train.npy", "/train.npy", "..\\train.npy", "C:/train.npy"] {
        let archive =
            npz(&[("train.npy", images.clone()), (name, images.clone())], CompressionMethod::Stored);
        let result = open_npz(&archive);
        assert!(matches!(result, Err(DataError::UnsafeName { .. })), "{name}: {result:?}");
    }
    let folder = npz(&[("train.npy", images.clone()), ("sub/", Vec::new())], CompressionMethod::Stored);
    assert!(open_npz(&folder).is_ok(), "a folder inside the archive is harmless");
}

#[test]
fn missing_and_unfitting_arrays_are_named() {
    let images = written(&[12, 4], &[0u8; 48]);
    let two = [("pictures.npy", images.clone()), ("others.npy", images.clone())];
    let error = open_npz(&npz(&two, CompressionMethod::Stored)).unwrap_err();
    assert!(error.to_string().contains("some.npz[train], "), "{error}");
    assert!(error.to_string().contains("some.npz[x_train]"), "{error}");
    let labels = written(&[11], &[0u8; 11]);
    let archive = npz(&[("train.npy", images.clone()), ("y_train.npy", labels)], CompressionMethod::Stored);
    let error = open_npz(&archive).unwrap_err();
    assert!(
        error.to_string().ends_with("number of labels is 11, expected 12, one for each image"),
        "{error}"
    );
    let single = written(&[12, 4], &[0.5f32; 48]);
    let dataset = open_npz(&npz(&[("train.npy", single)], CompressionMethod::Stored)).unwrap();
    assert_eq!((dataset.kind(), dataset.train().shape()), (Kind::Real, None));
    let other = written(&[3, 9], &[0u8; 27]);
    let archive = npz(&[("train.npy", images), ("test.npy", other)], CompressionMethod::Stored);
    let error = open_npz(&archive).unwrap_err().to_string();
    assert!(
        error.ends_with("size of the test images is 3 x 3, expected 2 x 2 as the training images"),
        "{error}"
    );
}

#[test]
fn an_array_inside_an_archive_cannot_be_a_bomb() {
    let mut bomb = written(&[12, 4], &[0u8; 48]);
    bomb.resize(16 << 20, 0);
    let archive = npz(&[("train.npy", bomb)], CompressionMethod::Deflated);
    assert!(matches!(open_npz(&archive), Err(DataError::Trailing { .. })));
    let huge = npy(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3000000, 28, 28)}", &[0; 100]);
    let archive = npz(&[("train.npy", huge)], CompressionMethod::Deflated);
    assert!(matches!(open_npz(&archive), Err(DataError::TooLarge { .. })));
}

/// An archive of an array, with bytes of its entry in the directory replaced.
fn with_directory(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut archive = npz(&[("train.npy", written(&[12, 4], &[0u8; 48]))], CompressionMethod::Stored);
    let entry = archive.windows(4).position(|word| word == b"PK\x01\x02").unwrap();
    archive[entry + at..entry + at + bytes.len()].copy_from_slice(bytes);
    archive
}

#[test]
fn what_numpy_does_not_write_is_refused_by_name() {
    // In the directory, flags are at 8, the method of compression is at 10, the checksum at 16 and the size at 24.
    assert!(open_npz(&with_directory(10, &[0])).is_ok());
    for (archive, expected) in [
        (with_directory(8, &[1]), "some.npz[train]: compression is encryption, expected none or DEFLATE"),
        (
            with_directory(10, &[12]),
            "some.npz[train]: compression is method 12 (BZIP2), expected none or DEFLATE",
        ),
        (with_directory(16, &[1, 2, 3, 4]), "some.npz[train]: cannot decompress: Invalid checksum"),
        (with_directory(24, &[177]), "some.npz[train]: cannot decompress: Invalid size"),
        (b"not an archive".to_vec(), "some.npz: cannot read the archive: it does not end with the list"),
    ] {
        let error = open_npz(&archive).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let mut archive = with_directory(10, &[0]);
    let end = archive.windows(4).position(|word| word == b"PK\x05\x06").unwrap();
    // How many entries there are, on this disk and in all.
    archive[end + 8..end + 12].copy_from_slice(&[2, 0, 2, 0]);
    let error = open_npz(&archive).unwrap_err().to_string();
    assert!(error.contains("some.npz: number of entries is 1, expected 2"), "{error}");
}

#[test]
fn of_two_arrays_with_one_name_the_last_is_read() {
    let arrays = [3u8, 4].map(|value| written(&[12, 4], &[value; 48]));
    let mut archive =
        npz(&[("train.npy", arrays[0].clone()), ("trail.npy", arrays[1].clone())], CompressionMethod::Stored);
    for at in 0..archive.len() - 9 {
        if &archive[at..at + 9] == b"trail.npy" {
            archive[at + 4] = b'n';
        }
    }
    assert_eq!(open_npz(&archive).unwrap().train().bytes().unwrap()[0], 4);
}

#[test]
fn damaged_archives_never_panic_and_are_never_taken_for_good() {
    let good = from_hexadecimal(NUMPY_NPZ);
    let expected = open_npz(&good).unwrap();
    for length in 0..good.len() {
        assert!(open_npz(&good[..length]).is_err(), "cut after {length}");
    }
    for at in 0..good.len() {
        let mut damaged = good.clone();
        damaged[at] ^= 0x21;
        if let Ok(dataset) = open_npz(&damaged) {
            // A changed name hides an array, which is then not there; pixels that are there are the right ones.
            let pixels = bytes(dataset.train());
            assert!(bytes(expected.train()).starts_with(pixels), "byte {at}");
        }
    }
}
