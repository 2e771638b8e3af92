//! Check dataset read from `.npy` and `.npz` files of every type against known values.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

use hmcvi::data::{
    About, DataError, Dataset, Kind, Reading, Severity, Source, Split, Splitting, Stored, Table, open_as,
    read_npy, read_npy_bytes, write_npy,
};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A `.npy` file.
fn npy(descr: &str, fortran: bool, shape: &str, values: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({shape}), }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(values);
    file
}

/// The values one after the other, in the byte order of `descr`.
macro_rules! bytes {
    ($descr:expr, $type:ty, $values:expr) => {
        $values
            .iter()
            .flat_map(|&value| {
                let value = value as $type;
                if $descr.starts_with('>') { value.to_be_bytes() } else { value.to_le_bytes() }
            })
            .collect::<Vec<u8>>()
    };
}

fn encode(descr: &str, values: &[f64]) -> Vec<u8> {
    match &descr[1..] {
        "f4" => bytes!(descr, f32, values),
        "f8" => bytes!(descr, f64, values),
        "i1" => bytes!(descr, i8, values),
        "i2" => bytes!(descr, i16, values),
        "i4" => bytes!(descr, i32, values),
        "i8" => bytes!(descr, i64, values),
        "u1" | "b1" => bytes!(descr, u8, values),
        "u2" => bytes!(descr, u16, values),
        "u4" => bytes!(descr, u32, values),
        "u8" => bytes!(descr, u64, values),
        other => panic!("{other}"),
    }
}

fn read(bytes: &[u8]) -> Result<Table, DataError> {
    read_npy_bytes("test.npy", bytes)
}

fn open(path: &Path, reading: &Reading) -> Result<Dataset, DataError> {
    let source = if path.is_dir() { Source::Folder(path.into()) } else { Source::File(path.into()) };
    open_as(&source, reading)
}

fn all(table: &Table) -> Vec<f32> {
    table.values(0..table.len()).unwrap().into_owned()
}

fn message(result: Result<impl std::fmt::Debug, DataError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn every_type_is_read_in_both_byte_orders() {
    let values = [0.0, 1.0, 2.0, 100.0, 3.0, 7.0];
    let reference = Table::dense(3, values.map(|value| value as f32).to_vec()).unwrap();
    for code in ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"] {
        for order in ['<', '>'] {
            let descr = format!("{order}{code}");
            let table = read(&npy(&descr, false, "2, 3", &encode(&descr, &values))).unwrap();
            assert_eq!((table.len(), table.columns(), all(&table)), (2, 3, all(&reference)), "{descr}");
            assert_eq!(table.sha256(), reference.sha256(), "{descr}");
            let kind = match code {
                "u1" => Kind::Byte,
                _ if code.starts_with('f') => Kind::Real,
                _ => Kind::Count,
            };
            assert_eq!(table.kind(), kind, "{descr}");
        }
    }
    // 1.5, -2, the smallest half 2^-24, and the largest 65504.
    let halves: Vec<u8> =
        [0x3e00u16, 0xc000, 0x0001, 0x7bff].iter().flat_map(|half| half.to_le_bytes()).collect();
    let table = read(&npy("<f2", false, "4,", &halves)).unwrap();
    assert_eq!(all(&table), [1.5, -2.0, 2f32.powi(-24), 65504.0]);
    let table = read(&npy("<i8", false, "2,", &encode("<i8", &[-5.0, 3.0]))).unwrap();
    assert_eq!((all(&table), table.kind(), table.stored()), (vec![-5.0, 3.0], Kind::Real, Stored::Integer));
    let table = read(&npy("|b1", false, "3, 1", &[1, 1, 1])).unwrap();
    assert_eq!((all(&table), table.kind()), (vec![1.0; 3], Kind::Binary));
}

#[test]
fn fortran_order_gives_the_same_table() {
    let c: Vec<f64> = (0..24).map(f64::from).collect();
    let three = npy("<f8", false, "2, 3, 4", &encode("<f8", &c));
    // Value (i, j, k) is at i + 2 j + 6 k instead of 12 i + 4 j + k.
    let fortran: Vec<f64> = (0..24).map(|at| f64::from(12 * (at % 2) + 4 * (at / 2 % 3) + at / 6)).collect();
    let fortran = npy("<f8", true, "2, 3, 4", &encode("<f8", &fortran));
    assert_eq!(read(&fortran).unwrap(), read(&three).unwrap());
    let one = |fortran| read(&npy("<f8", fortran, "24,", &encode("<f8", &c))).unwrap();
    assert_eq!(one(true), one(false));
}

#[test]
fn shapes_say_what_is_a_row() {
    let values = encode("<u2", &[300.0; 24]);
    for (shape, rows, columns, image) in [
        ("24,", 24, 1, None),
        ("4, 6", 4, 6, None),
        ("4, 2, 3", 4, 6, Some((2, 3))),
        ("4, 1, 2, 3", 4, 6, Some((2, 3))),
        ("4, 2, 3, 1", 4, 6, Some((2, 3))),
    ] {
        let table = read(&npy("<u2", false, shape, &values)).unwrap();
        assert_eq!((table.len(), table.columns(), table.shape()), (rows, columns, image), "{shape}");
    }
    for (shape, values) in [("", 1), ("2, 3, 2, 2", 24), ("0, 4", 0), ("4, 0", 0), ("0,", 0)] {
        let error = message(read(&npy("<u2", false, shape, &encode("<u2", &vec![1.0; values]))));
        assert!(error.contains("shape is ["), "{shape}: {error}");
    }
}

#[test]
fn bytes_are_pixels_and_so_are_integers_with_the_shape_of_images() {
    let kind = |descr: &str, shape: &str, values: &[f64]| {
        let table = read(&npy(descr, false, shape, &encode(descr, values))).unwrap();
        (table.kind(), table.shape(), table.summary().max)
    };
    let (grey, dark) =
        ([0.0, 9.0, 3.0, 200.0, 1.0, 2.0, 3.0, 4.0], [0.0, 9.0, 3.0, 20.0, 1.0, 2.0, 3.0, 4.0]);
    let white = [0.0, 255.0, 0.0, 255.0, 0.0, 0.0, 0.0, 0.0];
    assert_eq!(kind("|u1", "2, 2, 2", &grey), (Kind::Byte, Some((2, 2)), 200.0));
    assert_eq!(kind("|u1", "2, 2, 2", &dark), (Kind::Byte, Some((2, 2)), 20.0));
    assert_eq!(kind("|u1", "2, 2, 2", &white), (Kind::Binary, Some((2, 2)), 1.0));
    // Flat images are square, or have no shape.
    assert_eq!(kind("|u1", "2, 4", &grey), (Kind::Byte, Some((2, 2)), 200.0));
    assert_eq!(kind("|u1", "4, 2", &grey), (Kind::Byte, None, 200.0));
    assert_eq!(kind("<i8", "2, 2, 2", &grey), (Kind::Byte, Some((2, 2)), 200.0));
    assert_eq!(kind("<i8", "2, 2, 2", &dark), (Kind::Count, Some((2, 2)), 20.0));
    assert_eq!(kind("<i8", "2, 4", &grey), (Kind::Count, None, 200.0));
    assert_eq!(kind("<i8", "2, 2, 2", &white), (Kind::Byte, Some((2, 2)), 255.0));
    assert_eq!(kind("<f8", "2, 2, 2", &grey), (Kind::Real, Some((2, 2)), 200.0));
}

#[test]
fn one_byte_holds_a_pixel_in_every_order_of_axes() {
    let values: Vec<f64> = (0..24).map(|i| f64::from(i * 10)).collect();
    let c = read(&npy("|u1", false, "2, 3, 4", &encode("|u1", &values))).unwrap();
    assert_eq!((c.memory(), c.shape()), (24, Some((3, 4))));
    let fortran: Vec<f64> =
        (0..24).map(|at| f64::from(10 * (12 * (at % 2) + 4 * (at / 2 % 3) + at / 6))).collect();
    assert_eq!(read(&npy("|u1", true, "2, 3, 4", &encode("|u1", &fortran))).unwrap(), c);
    // Kinds that are no pixels are numbers, and flat ones have no shape.
    let counts = c.clone().taken_as(Some(Kind::Count)).unwrap();
    assert_eq!((counts.memory(), counts.bytes(), counts.shape()), (96, None, Some((3, 4))));
    assert_eq!(all(&counts), all(&c));
    let flat = read(&npy("|u1", false, "6, 4", &encode("|u1", &values))).unwrap();
    assert_eq!(flat.shape(), Some((2, 2)));
}

#[test]
fn parts_of_several_types_are_of_one_kind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.npz");
    let bytes = npy("|u1", false, "2, 2", &[1, 2, 3, 4]);
    npz(
        &path,
        &[("x_train", bytes.clone()), ("x_test", npy("<f8", false, "1, 2", &encode("<f8", &[0.5, 1.0])))],
    );
    let dataset = open(&path, &Reading::default()).unwrap();
    assert_eq!(Split::ALL.map(|split| dataset.table(split).kind()), [Kind::Real; 3]);
    assert_eq!(all(dataset.test()), [0.5, 1.0]);
    npz(&path, &[("x_train", bytes), ("x_test", npy("|u1", false, "1, 2, 1", &[5, 6]))]);
    let dataset = open(&path, &Reading::default()).unwrap();
    assert_eq!(Split::ALL.map(|split| dataset.table(split).shape()), [Some((2, 1)); 3]);
}

#[test]
fn whole_numbers_beyond_the_exact_ones_are_no_counts() {
    let table = |largest: f64| read(&npy("<i8", false, "2,", &encode("<i8", &[3.0, largest]))).unwrap();
    assert_eq!(table(16_777_215.0).kind(), Kind::Count);
    assert_eq!(table(16_777_217.0).kind(), Kind::Real);
}

#[test]
fn damaged_and_foreign_arrays_are_refused() {
    let good = npy("<f8", false, "2, 3", &encode("<f8", &[0.5; 6]));
    assert!(message(read(&good[..good.len() - 1])).contains("only 47 of 48 bytes of the values are there"));
    assert!(message(read(&[&good[..], &[0]].concat())).contains("bytes follow after the end of the values"));
    assert!(message(read(b"PK\x03\x04whatever")).contains("expected 93 4e 55"));
    for (descr, words) in [("<c8", "`<c8`"), ("|O", "`|O`"), ("<M8[ns]", "`<M8[ns]`"), ("<f16", "`<f16`")] {
        let error = message(read(&npy(descr, false, "1,", &[0; 16])));
        assert!(error.contains(words) && error.contains("float64"), "{error}");
    }
    let nan = message(read(&npy("<f8", true, "2, 2", &encode("<f8", &[0.0, 0.0, f64::NAN, 0.0]))));
    assert!(nan.contains("row 0, column 1") && nan.contains("NaN"), "{nan}");
    let large = message(read(&npy("<f8", false, "1,", &encode("<f8", &[1e300]))));
    assert!(large.contains("row 0, column 0") && large.contains("single precision"), "{large}");
    assert!(message(read(&npy("|b1", false, "2,", &[1, 2]))).contains("a truth value is 2"));
    // Sizes are claims: nothing is taken for them before the file shows that it has so much.
    let huge = npy("|u1", false, "99999999999, 9999", &[1; 8]);
    assert!(matches!(read(&huge), Err(DataError::TooLarge { .. } | DataError::Truncated { .. })));
    let overflow = npy("|u1", false, "99999999999, 99999999999", &[1; 8]);
    assert!(message(read(&overflow)).contains("2^64"));
}

fn npz(path: &Path, arrays: &[(&str, Vec<u8>)]) {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        archive.start_file(format!("{name}.npy"), SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    fs::write(path, archive.finish().unwrap().into_inner()).unwrap();
}

#[test]
fn named_arrays_become_splits_with_labels() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.npz");
    let rows = |count: usize, value: f64| {
        npy("<f8", false, &format!("{count}, 2"), &encode("<f8", &vec![value; 2 * count]))
    };
    let labels = |descr: &str, labels: &[f64]| {
        npy(descr, false, &format!("{},", labels.len()), &encode(descr, labels))
    };
    npz(
        &path,
        &[
            ("X_train", rows(3, 0.5)),
            ("y_train", labels("<i8", &[-1.0, 1.0, 2.0])),
            ("x_val", rows(2, 1.5)),
            ("x_test", rows(1, 2.5)),
            ("y_test", labels("|u1", &[1.0])),
            ("extra", rows(1, 0.0)),
        ],
    );
    let dataset = open(&path, &Reading::default()).unwrap();
    assert_eq!((dataset.name(), Split::ALL.map(|split| dataset.table(split).len())), ("study", [3, 2, 1]));
    assert_eq!(dataset.train().labels().unwrap().values(), [-1, 1, 2]);
    assert!(dataset.validation().labels().is_none());
    assert_eq!(all(dataset.test()), [2.5, 2.5]);
    let remarks = dataset.remarks();
    let unused = remarks.iter().find(|remark| remark.about == About::Arrays).unwrap();
    assert!(unused.severity == Severity::Warning && unused.text.contains("extra"));
    npz(&path, &[("x", rows(3, 0.5)), ("y", labels("<f8", &[0.0, 1.0, 0.5]))]);
    assert!(message(open(&path, &Reading::default())).contains("a label is 0.5, expected an integer"));
    npz(&path, &[("x", rows(3, 0.5)), ("y", labels("<f8", &[0.0, 1.0]))]);
    assert!(message(open(&path, &Reading::default())).contains("number of labels is 2, expected 3"));
    // What is alone has nothing to be mistaken for, unless it says that it is something else.
    npz(&path, &[("arr_0", rows(4, 0.5))]);
    let dataset = open(&path, &Reading::default()).unwrap();
    let rows_of = |split: &Split| dataset.table(*split).len();
    assert_eq!(Split::ALL.iter().map(rows_of).sum::<usize>(), 4);
    assert!(dataset.remarks().iter().all(|remark| remark.about != About::Arrays));
    for alone in ["x_test", "y", "VAL"] {
        npz(&path, &[(alone, rows(4, 0.5))]);
        assert!(message(open(&path, &Reading::default())).contains(&format!("there are {alone}")));
    }
    npz(&path, &[("z", rows(3, 0.5)), ("w", rows(3, 0.5))]);
    let missing = message(open(&path, &Reading::default()));
    assert!(missing.contains("there are z, w") && missing.contains("training images or rows"), "{missing}");
    // The same arrays in a folder.
    for (name, bytes) in [("x_train", rows(3, 0.5)), ("x_test", rows(1, 2.5))] {
        fs::write(folder.path().join(format!("{name}.npy")), bytes).unwrap();
    }
    let dataset = open(folder.path(), &Reading { splitting: Splitting::InOrder, ..Reading::default() });
    assert_eq!(Split::ALL.map(|split| dataset.as_ref().unwrap().table(split).len()), [2, 1, 1]);
}

/// A file as `scipy.sparse.save_npz` writes it, of the matrix (0 5 0), (0 0 0), (1 0 7).
fn csr(path: &Path, format: Vec<u8>, change: impl Fn(&mut Vec<(&'static str, Vec<u8>)>)) {
    let mut arrays = vec![
        ("indices", npy("<i4", false, "3,", &encode("<i4", &[1.0, 2.0, 0.0]))),
        ("indptr", npy("<i4", false, "4,", &encode("<i4", &[0.0, 1.0, 1.0, 3.0]))),
        ("format", format),
        ("shape", npy("<i8", false, "2,", &encode("<i8", &[3.0, 3.0]))),
        ("data", npy("<f4", false, "3,", &encode("<f4", &[5.0, 7.0, 1.0]))),
    ];
    change(&mut arrays);
    npz(path, &arrays);
}

fn replace(arrays: &mut Vec<(&'static str, Vec<u8>)>, name: &str, bytes: Vec<u8>) {
    arrays.iter_mut().find(|array| array.0 == name).unwrap().1 = bytes;
}

#[test]
fn sparse_matrices_of_scipy_stay_sparse() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counts.npz");
    let reading = Reading { splitting: Splitting::InOrder, ..Reading::default() };
    let format = npy("|S3", false, "", b"csr");
    let unicode = npy("<U3", false, "", b"c\0\0\0s\0\0\0r\0\0\0");
    for format in [format.clone(), unicode] {
        csr(&path, format, |_| {});
        let dataset = open(&path, &reading).unwrap();
        assert!(dataset.train().is_sparse() && dataset.kind() == Kind::Count);
        let rows = Split::ALL.map(|split| all(dataset.table(split)));
        assert_eq!(rows, [[0.0, 5.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 7.0]]);
    }
    let refused = |name: &str, bytes: Vec<u8>| {
        csr(&path, format.clone(), |arrays| replace(arrays, name, bytes.clone()));
        message(open(&path, &reading))
    };
    let numbers = |values: &[f64]| npy("<i8", false, &format!("{},", values.len()), &encode("<i8", values));
    for (error, words) in [
        (refused("format", npy("|S3", false, "", b"csc")), "format of the sparse matrix is `csc`"),
        (refused("shape", numbers(&[3.0])), "number of axes is 1"),
        (refused("shape", numbers(&[1e15, 3.0])), "number of rows is 1000000000000000"),
        (refused("shape", numbers(&[3.0, 2.0])), "column of a value in row 2 is 2"),
        (refused("shape", numbers(&[4.0, 3.0])), "number of starts of rows is 4, expected 5"),
        (refused("indptr", numbers(&[0.0, 2.0, 1.0, 3.0])), "starts of the rows"),
        (refused("indices", numbers(&[1.0, 0.0, 0.0])), "row 2, column 0 (counted from 0) is given twice"),
        (refused("indices", numbers(&[1.0, 2.0])), "number of column indices is 2, expected 3"),
        (refused("indices", numbers(&[1.0, -2.0, 0.0])), "column of a value in row 2"),
        (refused("data", npy("<f4", false, "3,", &encode("<f4", &[1.0, f64::NAN, 1.0]))), "row 2, column 2"),
    ] {
        assert!(error.contains(words), "{error}");
    }
    csr(&path, format, |arrays| arrays.retain(|array| array.0 != "indptr"));
    assert!(message(open(&path, &reading)).contains("found none of indptr"));
}

#[test]
fn files_are_read_from_the_disk_also_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.npy");
    write_npy(&path, &[7, 2], &[0.5f64; 14]).unwrap();
    let table = read_npy(&path).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&fs::read(&path).unwrap()).unwrap();
    let compressed = folder.path().join("rows.npy.gz");
    fs::write(&compressed, gzip.finish().unwrap()).unwrap();
    assert_eq!(read_npy(&compressed).unwrap(), table);
    let dataset = open(&compressed, &Reading::default()).unwrap();
    assert_eq!((dataset.name(), dataset.train().len()), ("rows", 5));
    let transposed = Reading { transpose: true, ..Reading::default() };
    assert!(message(open(&path, &transposed)).contains("only Matrix Market files are transposed"));
    let other = folder.path().join("rows.xlsx");
    fs::write(&other, "x").unwrap();
    assert!(message(open(&other, &Reading::default())).contains(".csv"));
}
