//! Check what tables hold, what their values are taken for, and how they are divided.
#![allow(clippy::unwrap_used)]

use hmcvi::data::{About, DataError, Dataset, Kind, Labels, Remark, Severity, Split, Splitting, Table};
use hmcvi_graph::DataSet;
use sha2::{Digest, Sha256};

/// Rows (1, 0, 2), (0, 0, 0), (0, 3, 0.5).
fn dense() -> Table {
    Table::dense(3, vec![1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.5]).unwrap()
}

fn sparse() -> Table {
    Table::sparse(3, &[0, 2, 2, 4], &[2, 0, 1, 2], &[2.0, 1.0, 3.0, 0.5]).unwrap()
}

fn message(result: Result<impl std::fmt::Debug, DataError>) -> String {
    result.unwrap_err().to_string()
}

fn divide(table: Table, splitting: Splitting, kind: Option<Kind>) -> Result<Dataset, DataError> {
    Dataset::from_parts("test", "memory", splitting, (table, None, None))?.taken_as(kind)
}

fn about(remarks: &[Remark], about: About) -> Vec<(Severity, &str)> {
    let found = remarks.iter().filter(|remark| remark.about == about);
    found.map(|remark| (remark.severity, remark.text.as_str())).collect()
}

#[test]
fn dense_and_sparse_tables_give_the_same_rows() {
    for table in [dense(), sparse()] {
        assert_eq!((table.len(), table.columns()), (3, 3));
        assert_eq!(table.values(0..2).unwrap().as_ref(), [1.0, 0.0, 2.0, 0.0, 0.0, 0.0]);
        assert!(table.values(3..3).unwrap().is_empty());
        assert!(table.values(2..4).is_none() && table.slice(2..4).is_none());
        assert_eq!(table.non_zeros(2).collect::<Vec<_>>(), [(1, 3.0), (2, 0.5)]);
        let mut batch = [9.0; 6];
        table.gather(&[2, 0], &mut batch);
        assert_eq!(batch, [0.0, 3.0, 0.5, 1.0, 0.0, 2.0]);
        let slice = table.slice(1..3).unwrap();
        assert_eq!(slice.values(0..2), table.values(1..3));
        assert_eq!(slice.is_sparse(), table.is_sparse());
    }
}

#[test]
fn the_engine_takes_tables_as_they_are() {
    assert!(matches!(dense().data_set(), ("data", DataSet::Values(values)) if values.len() == 9));
    let table = sparse();
    let (_, DataSet::Sparse(rows)) = table.data_set() else { panic!("sparse") };
    assert_eq!((rows.rows(), rows.cols(), rows.row(2)), (3, 3, (&[1, 2][..], &[3.0, 0.5][..])));
}

#[test]
fn memory_of_sparse_tables_is_in_proportion_to_what_is_not_zero() {
    let (rows, columns) = (1000, 50_000);
    let starts: Vec<usize> = (0..=rows).map(|row| 3 * row).collect();
    let indices: Vec<u32> = (0..3 * rows as u32).map(|i| (i % 3) * 10_000).collect();
    let table = Table::sparse(columns, &starts, &indices, &vec![1.0; 3 * rows]).unwrap();
    // A column of four and a value of four bytes for each, a start of eight for each row and one more.
    assert_eq!(table.memory(), 8 * 3 * rows + 8 * (rows + 1));
    let tables = divide(table, Splitting::Shuffled, None).unwrap();
    let all: usize = Split::ALL.iter().map(|&split| tables.table(split).memory()).sum();
    assert_eq!(all, 8 * 3 * rows + 8 * (rows + 3));
    // Zeros that are given are not kept.
    assert_eq!(Table::sparse(2, &[0, 2], &[0, 1], &[0.0, -0.0]).unwrap().memory(), 16);
}

#[test]
fn the_hash_is_that_of_the_bytes_documented() {
    let mut bytes = Vec::new();
    for number in [3u64, 3, 0, 0] {
        bytes.extend(number.to_le_bytes());
    }
    for row in [&[(0u32, 1f32), (2, 2.0)][..], &[], &[(1, 3.0), (2, 0.5)]] {
        bytes.extend((row.len() as u64).to_le_bytes());
        for (column, value) in row {
            bytes.extend(column.to_le_bytes());
            bytes.extend(value.to_le_bytes());
        }
    }
    let mut labelled = bytes.clone();
    bytes.extend(0u64.to_le_bytes());
    let expected =
        |bytes: &[u8]| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(dense().sha256(), expected(&bytes));
    assert_eq!(sparse().sha256(), expected(&bytes));
    labelled.extend([1u64, 0].map(u64::to_le_bytes).concat());
    labelled.extend([5i64, -1, 5].map(i64::to_le_bytes).concat());
    let table = dense().with_labels(Labels::numbers(vec![5, -1, 5])).unwrap();
    assert_eq!(table.sha256(), expected(&labelled));
    // A negative zero is the same number.
    let negative = Table::dense(3, vec![1.0, -0.0, 2.0, 0.0, 0.0, -0.0, 0.0, 3.0, 0.5]).unwrap();
    assert_eq!(negative.sha256(), dense().sha256());
    // Names do not count, the shape does.
    let named = dense().with_names(["a", "b", "c"].map(str::to_owned).to_vec()).unwrap();
    assert_eq!(named.sha256(), dense().sha256());
    assert_ne!(dense().with_shape(1, 3).unwrap().sha256(), dense().sha256());
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let nan = message(Table::dense(2, vec![1.0, 2.0, 3.0, f32::NAN]));
    assert!(nan.contains("row 1, column 1") && nan.contains("NaN"), "{nan}");
    let infinite = message(Table::sparse(9, &[0, 0, 1], &[7], &[f32::NEG_INFINITY]));
    assert!(infinite.contains("row 1, column 7") && infinite.contains("-inf"), "{infinite}");
    for (error, words) in [
        (message(Table::dense(2, vec![1.0; 3])), "number of values is 3, expected a multiple"),
        (message(Table::dense(0, vec![])), "number of columns, 0"),
        (message(Table::dense(2, vec![])), "at least 1"),
        (message(Table::sparse(2, &[0, 1], &[2], &[1.0])), "column of a value in row 0 is 2"),
        (
            message(Table::sparse(2, &[0, 2], &[1, 1], &[1.0, 1.0])),
            "row 0, column 1 (counted from 0) is given twice",
        ),
        (message(Table::sparse(2, &[0, 2], &[0, 1], &[1.0])), "number of column indices is 2"),
        (message(Table::sparse(2, &[0, 3, 2], &[0, 1], &[1.0, 1.0])), "starts of the rows"),
        (message(Table::sparse(2, &[], &[], &[])), "starts of the rows"),
        (message(dense().with_names(vec!["a".into()])), "number of names is 1"),
        (message(dense().with_names(vec!["a".into(), "b".into(), "a".into()])), "`a` twice"),
        (message(dense().with_shape(2, 2)), "size of an image is 2 x 2"),
        (message(dense().with_labels(Labels::numbers(vec![1]))), "number of labels is 1"),
        (
            message(divide(dense().slice(0..1).unwrap(), Splitting::InOrder, None)),
            "number of train rows is 0",
        ),
    ] {
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn kinds_follow_from_the_values_and_the_reason_is_said() {
    let two = Table::dense(1, (0..70).map(|i| (i % 2) as f32).collect()).unwrap();
    let whole = Table::dense(1, (0..70).map(|i| (i % 5) as f32).collect()).unwrap();
    let counts = Table::sparse(2, &(0..=70).collect::<Vec<_>>(), &[0; 70], &[4.0; 70]).unwrap();
    let real = Table::dense(1, (0..70).map(|i| i as f32 / 4.0).collect()).unwrap();
    for (table, kind, why) in [
        (two, Kind::Binary, "every value is 0 or 1"),
        (whole, Kind::Real, "choose the kind `count`"),
        (counts, Kind::Count, "sparse"),
        (real, Kind::Real, "not integers"),
    ] {
        let tables = divide(table, Splitting::Shuffled, None).unwrap();
        assert_eq!(Split::ALL.map(|split| tables.table(split).kind()), [kind; 3]);
        let remarks = tables.remarks();
        let [(Severity::Note, text)] = about(&remarks, About::Kind)[..] else { panic!("{remarks:?}") };
        assert!(text.contains(why), "{text}");
    }
}

#[test]
fn a_kind_that_is_asked_for_is_checked_value_by_value() {
    let table = |values: [f32; 4]| Table::dense(2, values.to_vec()).unwrap();
    for (values, kind, refused) in [
        ([0.0, 1.0, 2.0, 3.0], Kind::Binary, Some("row 1, column 0 is 2, expected 0 or 1")),
        (
            [0.0, 256.0, 2.0, 3.0],
            Kind::Byte,
            Some("row 0, column 1 is 256, expected an integer from 0 to 255"),
        ),
        ([0.0, 1.0, 2.0, -3.0], Kind::Count, Some("row 1, column 1 is -3, expected an integer from 0")),
        ([0.0, 1.0, 2.0, 2e7], Kind::Count, Some("expected an integer from 0 to 16777215")),
        ([0.0, 1.0, 0.5, 3.0], Kind::Class, Some("row 1, column 0 is 0.5")),
        ([0.0, 1.0, 0.5, 3.0], Kind::Real, None),
        ([0.0, 1.0, 9.0, 16_777_215.0], Kind::Count, None),
    ] {
        let taken = table(values).taken_as(Some(kind));
        match refused {
            None => assert_eq!(taken.unwrap().kind(), kind),
            Some(words) => {
                let error = message(taken);
                assert!(error.contains(words) && error.contains(&format!("`{kind}`")), "{error}");
            }
        }
    }
    let named = table([0.0, 1.0, 2.0, 3.0]).with_names(vec!["age".into(), "sex".into()]).unwrap();
    assert!(message(named.taken_as(Some(Kind::Binary))).contains("column `age`"));
}

#[test]
fn names_of_kinds_are_those_of_records() {
    for kind in Kind::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        assert_eq!(serde_json::from_value::<Kind>(kind.name().into()).unwrap(), kind);
    }
}

#[test]
fn numbers_are_divided_as_bytes_are() {
    let dataset = Dataset::embedded().unwrap();
    let images = dataset.train().slice(0..140).unwrap();
    let values = images.values(0..140).unwrap().into_owned();
    let table = Table::dense(784, values).unwrap().with_labels(images.labels().unwrap().clone()).unwrap();
    for splitting in [Splitting::Shuffled, Splitting::InOrder] {
        let numbers = divide(table.clone(), splitting, None).unwrap();
        let parts = (images.clone(), None, None);
        let dataset = Dataset::from_parts("test", "memory", splitting, parts).unwrap();
        for split in Split::ALL {
            let (table, images) = (numbers.table(split), dataset.table(split));
            assert_eq!(table.rows_in_file(), images.rows_in_file());
            assert_eq!(table.values(0..table.len()), images.values(0..images.len()));
            assert_eq!(table.labels(), images.labels());
        }
        let remarks = numbers.remarks();
        let [(_, text)] = about(&remarks, About::Split)[..] else { panic!("{remarks:?}") };
        assert!(text.ends_with("100 training, 20 validation and 20 test rows"), "{text}");
    }
}

#[test]
fn parts_that_are_given_are_kept_and_must_fit() {
    let part = |columns: usize| Table::dense(columns, vec![0.25; 12]).unwrap();
    let parts = (part(2), Some(part(2)), Some(part(2)));
    let tables = Dataset::from_parts("test", "memory", Splitting::Shuffled, parts).unwrap();
    assert_eq!(Split::ALL.map(|split| tables.table(split).len()), [6; 3]);
    assert_eq!(tables.clone().limited(4).unwrap().test().len(), 4);
    assert!(message(tables.limited(0)).contains("number of train rows is 0"));
    let parts = (part(2), None, Some(part(3)));
    let error = message(Dataset::from_parts("test", "memory", Splitting::Shuffled, parts));
    assert!(error.contains("number of columns of the test rows is 3, expected 2"), "{error}");
    // One kind for all parts: a table of which only the test rows show that it is not binary.
    let two = Table::dense(1, vec![0.0, 1.0]).unwrap();
    let parts = (two.clone(), Some(two), Some(Table::dense(1, vec![0.5]).unwrap()));
    let tables = Dataset::from_parts("test", "memory", Splitting::Shuffled, parts).unwrap();
    assert_eq!(tables.train().kind(), Kind::Real);
}

#[test]
fn summaries_are_those_of_the_values() {
    for table in [dense(), sparse()] {
        let summary = table.summary();
        assert_eq!((summary.min, summary.max, summary.rows, summary.columns), (0.0, 3.0, 3, 3));
        // (1 + 2 + 3 + 0.5) / 9, and five zeros of nine values
        assert_eq!((summary.mean, summary.zeros), (6.5 / 9.0, 5.0 / 9.0));
        assert_eq!(summary.constant_columns, [0usize; 0]);
    }
    // Columns: always zero, always 2, 2 but for a zero, negative.
    let table = Table::dense(4, vec![0.0, 2.0, 2.0, -1.0, 0.0, 2.0, 0.0, -3.0]).unwrap();
    let summary = table.summary();
    assert_eq!((summary.constant_columns, summary.min, summary.max), (vec![0, 1], -3.0, 2.0));
    let remarks = table.remarks();
    assert_eq!(
        about(&remarks, About::Columns),
        [(Severity::Warning, "2 of 4 columns never change; leave them out if they carry no meaning")]
    );
    let counts = sparse().slice(0..2).unwrap().taken_as(None).unwrap();
    // Four of six values are zero.
    assert_eq!(about(&counts.remarks(), About::Range), [(Severity::Info, "66.7% of the counts are 0")]);
}

#[test]
fn binary_data_is_held_as_bytes_unless_it_is_sparse() {
    let values = |one: f32| (0..28).map(|i| if i % 3 == 0 { one } else { 0.0 }).collect::<Vec<_>>();
    let images = |one: u8| {
        let bytes = values(f32::from(one)).iter().map(|&value| value as u8).collect();
        Table::images(2, 2, bytes, None).unwrap()
    };
    let dense = Table::dense(4, values(1.0)).unwrap();
    assert_eq!((dense.kind(), dense.memory()), (Kind::Binary, 28));
    let [ones, whites] = [1, 255].map(|one| images(one).taken_as(None).unwrap());
    assert_eq!((ones.kind(), ones.shape(), &ones), (Kind::Binary, Some((2, 2)), &whites));
    assert_eq!(ones.bytes(), dense.bytes());
    assert_eq!(ones.values(0..7).unwrap().as_ref(), values(1.0));
    assert_eq!((ones.summary().max, ones.summary().mean), (1.0, 10.0 / 28.0));
    // Only bytes have white pixels.
    assert!(message(Table::dense(4, values(255.0)).unwrap().taken_as(Some(Kind::Binary))).contains("is 255"));
    let sparse = Table::sparse(4, &[0, 1, 2], &[0, 3], &[1.0, 1.0]).unwrap();
    assert!(sparse.kind() == Kind::Binary && sparse.is_sparse());
    // Splits are held alike, and intensities only as bytes.
    let parts = (dense, Some(sparse.clone()), Some(sparse.clone()));
    let dataset = Dataset::from_parts("test", "memory", Splitting::InOrder, parts).unwrap();
    assert_eq!(Split::ALL.map(|split| dataset.table(split).bytes().is_some()), [true; 3]);
    assert_eq!(dataset.test().bytes(), Some(&[255, 0, 0, 0, 0, 0, 0, 255][..]));
    assert!(message(sparse.taken_as(Some(Kind::Byte))).contains("as the table is sparse"));
}

#[test]
fn copies_share_their_values() {
    let table = dense();
    let (a, b) = (table.clone(), table.values(0..3).unwrap());
    assert!(std::ptr::eq(a.values(0..3).unwrap().as_ptr(), b.as_ptr()));
}

/// Seven rows of classes: `town` has 0, 1 and 2, `sex` 0 and 1, of which 2 and 1 are in the test rows alone.
fn classes() -> Dataset {
    let values = [[0, 0], [1, 0], [0, 0], [1, 0], [0, 0], [1, 0], [2, 1]].concat();
    let table = Table::dense(2, values.into_iter().map(|class| class as f32).collect()).unwrap();
    let table = table.with_names(vec!["town".into(), "sex".into()]).unwrap();
    let table = table.with_labels(Labels::numbers((0..7).collect())).unwrap();
    divide(table, Splitting::InOrder, Some(Kind::Class)).unwrap()
}

#[test]
fn classes_get_a_column_each() {
    let dataset = classes().one_hot().unwrap();
    for split in Split::ALL {
        let table = dataset.table(split);
        assert_eq!((table.kind(), table.groups()), (Kind::Class, Some(&[3, 2][..])));
        assert_eq!(table.names().unwrap(), ["town=0", "town=1", "town=2", "sex=0", "sex=1"]);
    }
    let train = dataset.train().values(0..2).unwrap();
    assert_eq!(train.as_ref(), [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    assert_eq!(dataset.test().values(0..1).unwrap().as_ref(), [0.0, 0.0, 1.0, 0.0, 1.0]);
    assert_eq!(dataset.test().labels().unwrap().values(), [6]);
    assert_eq!(dataset.test().slice(0..1).unwrap().groups(), Some(&[3, 2][..]));
    assert_ne!(dataset.sha256(), classes().sha256());
    // Once is enough, and other kinds stay as they are.
    assert_eq!(dataset.clone().one_hot().unwrap(), dataset);
    let embedded = Dataset::embedded().unwrap();
    assert_eq!(embedded.clone().one_hot().unwrap(), embedded);
}

#[test]
fn too_many_classes_are_refused() {
    let table = Table::dense(2, vec![0.0, 65_535.0, 0.0, 1.0, 1.0, 2.0]).unwrap();
    let dataset = divide(table, Splitting::InOrder, Some(Kind::Class)).unwrap();
    let error = message(dataset.one_hot());
    assert!(error.contains("number of classes of all columns is 65538, expected at most 65536"), "{error}");
    assert!(error.contains("column 1 alone has 65536"), "{error}");
}
