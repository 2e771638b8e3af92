//! Check images, splits, the embedded data and what is said about them.
#![allow(clippy::unwrap_used)]

use hmcvi::data::{
    About, ByteArray, DataError, Dataset, Kind, Labels, Severity, Split, Splitting, Table, info,
};
use sha2::{Digest, Sha256};

/// `count` images of one pixel each, numbered from `first`, with their number as the label.
fn numbered(first: u8, count: u8) -> Table {
    let numbers: Vec<u8> = (first..first + count).collect();
    Table::images(1, 1, numbers.clone(), Some(numbers.into())).unwrap()
}

fn bytes(table: &Table) -> &[u8] {
    table.bytes().unwrap()
}

fn labels(table: &Table) -> Option<&[i64]> {
    table.labels().map(Labels::values)
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn images_are_rows_of_bytes() {
    let images = Table::images(2, 3, (0..24).collect(), Some(vec![9, 8, 7, 6].into())).unwrap();
    assert_eq!((images.len(), images.columns(), images.is_empty()), (4, 6, false));
    assert_eq!((images.shape(), images.kind()), (Some((2, 3)), Kind::Byte));
    assert_eq!(images.byte_rows(1..2), Some(&[6, 7, 8, 9, 10, 11][..]));
    assert_eq!(images.byte_rows(1..3).map(<[u8]>::len), Some(12));
    assert_eq!(images.values(1..2).unwrap().as_ref(), [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
    assert_eq!(images.memory(), 24, "one byte for each pixel");
    let middle = images.slice(1..3).unwrap();
    assert_eq!((middle.len(), labels(&middle)), (2, Some(&[8, 7][..])));
    for range in [4..5, 3..5, 0..usize::MAX, usize::MAX..usize::MAX] {
        assert!(
            images.byte_rows(range.clone()).is_none() && images.slice(range.clone()).is_none(),
            "{range:?}"
        );
    }
    assert!(images.byte_rows(4..5).is_none() && images.values(4..5).is_none());
    let (first, rest) = images.clone().split_at(3);
    assert_eq!((first, rest), (images.slice(0..3).unwrap(), images.slice(3..4).unwrap()));
    let (all, none) = images.clone().split_at(usize::MAX);
    assert_eq!((all, none.len()), (images, 0));
}

#[test]
fn images_that_do_not_fit_are_refused() {
    for (height, width, bytes, labels, message) in [
        (0, 28, 0, None, "images: size of an image is 0 x 28, expected at least 1 x 1 pixels"),
        (2, 3, 13, None, "images: number of bytes is 13, expected a multiple of 2 x 3"),
        (2, 3, 12, Some(3), "images: number of labels is 3, expected 2, one for each image"),
    ] {
        let error = Table::images(height, width, vec![0; bytes], labels.map(|count| vec![0u8; count].into()))
            .unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    assert!(Table::images(usize::MAX, 2, vec![], None).is_err());
}

#[test]
fn arrays_become_images_by_their_shape() {
    let size = |shape: Vec<usize>| {
        let bytes = vec![0; shape.iter().product()];
        let images = ByteArray::new(shape, bytes).unwrap().into_images("a", None)?;
        Ok::<_, DataError>((images.len(), images.columns(), images.shape()))
    };
    assert_eq!(size(vec![2, 3, 4]).unwrap(), (2, 12, Some((3, 4))));
    assert_eq!(size(vec![2, 784]).unwrap(), (2, 784, Some((28, 28))));
    assert_eq!(size(vec![2, 10]).unwrap(), (2, 10, None));
    for shape in [vec![], vec![3], vec![1, 2, 3, 4], vec![3, 0]] {
        assert!(matches!(size(shape), Err(DataError::Field { .. })));
    }
    let error = ByteArray::new(vec![2, 2], vec![0; 4]).unwrap().into_labels("y").unwrap_err();
    assert_eq!(error.to_string(), "y: shape is [2, 2], expected [images]");
}

#[test]
fn the_last_images_are_taken_where_a_split_is_not_given() {
    let lengths = |train, validation: Option<u8>, test: Option<u8>| {
        let [validation, test] = [validation, test].map(|count| count.map(|count| numbered(200, count)));
        let parts = (numbered(0, train), validation, test);
        let dataset = Dataset::from_parts("d", "s", Splitting::InOrder, parts)?;
        Ok::<_, DataError>(Split::ALL.map(|split| dataset.table(split).len()))
    };
    // One sixth for validation, as in MNIST's 60,000 images; one seventh for the test, as in 70,000.
    assert_eq!(lengths(60, None, Some(10)).unwrap(), [50, 10, 10]);
    assert_eq!(lengths(70, None, None).unwrap(), [50, 10, 10]);
    assert_eq!(lengths(70, Some(9), None).unwrap(), [60, 9, 10]);
    assert_eq!(lengths(70, Some(9), Some(8)).unwrap(), [70, 9, 8]);
    assert_eq!(lengths(3, None, None).unwrap(), [1, 1, 1]);
    let error = lengths(2, None, None).unwrap_err();
    assert_eq!(error.to_string(), "s: number of train images is 0, expected at least 1");
    let parts = (numbered(0, 14), None, None);
    let dataset = Dataset::from_parts("d", "s", Splitting::InOrder, parts).unwrap();
    assert_eq!(dataset.test().bytes(), Some(&[12, 13][..]));
    assert_eq!(labels(dataset.validation()), Some(&[10, 11][..]));
    assert_eq!(dataset.test().rows_in_file(), None);
}

/// 70 images in seven classes, one class after the other.
fn sorted() -> Table {
    Table::images(1, 1, (0..70).collect(), Some((0..70u8).map(|i| i / 10).collect::<Vec<_>>().into()))
        .unwrap()
}

#[test]
fn images_that_are_sorted_by_class_are_shuffled_before_they_are_split() {
    let split = |splitting, validation| {
        Dataset::from_parts("d", "s", splitting, (sorted(), validation, None)).unwrap()
    };
    let dataset = split(Splitting::Shuffled, None);
    let parts = Split::ALL.map(|split| dataset.table(split));
    assert_eq!(parts.map(Table::len), [50, 10, 10]);
    let mut all = parts.map(bytes).concat();
    all.sort_unstable();
    assert_eq!(all, (0..70).collect::<Vec<u8>>());
    for images in parts {
        // The pixel is the row in the file, and a tenth of it the class.
        let rows: Vec<u32> = bytes(images).iter().map(|&byte| u32::from(byte)).collect();
        assert_eq!(images.rows_in_file(), Some(&rows[..]));
        assert!(
            bytes(images)
                .iter()
                .zip(labels(images).unwrap())
                .all(|(&byte, &label)| i64::from(byte / 10) == label)
        );
        // In file order, validation and test images would have one class and two.
        let classes: std::collections::BTreeSet<_> = labels(images).unwrap().iter().collect();
        assert!(classes.len() > 3, "{classes:?}");
    }
    // The same in every run and version, or records of results would lose their data.
    assert_eq!(bytes(dataset.test()), TEST_ROWS);
    assert_eq!(dataset, split(Splitting::Shuffled, None));
    assert_eq!(
        dataset.test().slice(2..4).unwrap().rows_in_file().unwrap(),
        &dataset.test().rows_in_file().unwrap()[2..4]
    );
    // What is given is not touched.
    let given = split(Splitting::Shuffled, Some(numbered(200, 9)));
    assert_eq!((given.validation(), given.train().len(), given.test().len()), (&numbered(200, 9), 60, 10));
}

/// What Philox gives for 70 rows.
const TEST_ROWS: [u8; 10] = [22, 5, 60, 47, 33, 13, 14, 15, 24, 20];

#[test]
fn how_images_were_split_is_said() {
    let remarks = |splitting, validation, test| {
        let parts = (sorted(), validation, test);
        let all = Dataset::from_parts("d", "s", splitting, parts).unwrap().remarks();
        let split = all.into_iter().filter(|remark| remark.about == About::Split);
        split.map(|remark| (remark.severity, remark.text)).collect::<Vec<_>>()
    };
    let given = || Some(numbered(0, 3));
    assert_eq!(remarks(Splitting::Shuffled, given(), given()), []);
    let shuffled = "there are no test or validation images, so some of the training images, shuffled with the seed 0, \
                    are taken: 50 training, 10 validation and 10 test images";
    assert_eq!(remarks(Splitting::Shuffled, None, None), [(Severity::Note, shuffled.to_owned())]);
    let [(severity, text)] = &remarks(Splitting::InOrder, None, None)[..] else { panic!("one remark") };
    assert_eq!(*severity, Severity::Warning);
    assert!(text.contains("classes that no training image has"), "{text}");
    let [(severity, text)] = &remarks(Splitting::Shuffled, None, given())[..] else { panic!("one remark") };
    assert!(*severity == Severity::Note && text.starts_with("there are no validation images"), "{text}");
}

#[test]
fn the_hash_is_that_of_the_documented_bytes() {
    let unlabelled = Table::images(1, 1, vec![7, 8], None).unwrap();
    let dataset = Dataset::new("d", "s", numbered(1, 2), numbered(3, 1), unlabelled).unwrap();
    let mut bytes = Vec::new();
    let number = |bytes: &mut Vec<u8>, number: u64| bytes.extend(number.to_le_bytes());
    number(&mut bytes, 1);
    number(&mut bytes, 1);
    for (pixels, labels) in [(&[1, 2][..], Some(&[1, 2][..])), (&[3], Some(&[3])), (&[7, 8], None)] {
        number(&mut bytes, pixels.len() as u64);
        bytes.extend(pixels);
        number(&mut bytes, u64::from(labels.is_some()));
        bytes.extend(labels.unwrap_or_default());
    }
    assert_eq!(dataset.sha256(), sha256(&bytes));
    let renamed = Dataset::from_parts(
        "other",
        "elsewhere",
        Splitting::Shuffled,
        (dataset.train().clone(), Some(dataset.validation().clone()), Some(dataset.test().clone())),
    );
    assert_eq!(renamed.unwrap().sha256(), dataset.sha256());
}

#[test]
fn the_embedded_images_are_those_of_mnist() {
    let dataset = Dataset::embedded().unwrap();
    assert_eq!((dataset.name(), dataset.source()), ("mnist-subset", "embedded"));
    assert_eq!(Split::ALL.map(|split| dataset.table(split).len()), [5_000, 1_000, 1_000]);
    assert_eq!(dataset.train().shape(), Some((28, 28)));
    // The hashes in assets/mnist-subset/README.md, of the files before compression.
    let header = [0, 0, 8, 3, 0, 0, 0x1b, 0x58, 0, 0, 0, 28, 0, 0, 0, 28];
    let splits = Split::ALL.map(|split| dataset.table(split));
    let images = [&header[..], &splits.map(bytes).concat()].concat();
    assert_eq!(sha256(&images), "b58539b17327da5d3288b0c0d753313c9fdaeadeec9c9f77b7c52339c5a006c4");
    let header = [0, 0, 8, 1, 0, 0, 0x1b, 0x58];
    let labels =
        [&header[..], &splits.map(|images| images.labels().unwrap().bytes().unwrap()).concat()].concat();
    assert_eq!(sha256(&labels), "2f167b40835ec680454f68febe45d23adfb72be1c590f5802bf7efb8c3f58f97");
    assert_eq!(dataset.sha256(), "c80f65b402025d8e8d50e085ef23f590712f088f45c1ce7f9353b62312f49dca");
}

#[test]
fn the_embedded_images_are_described() {
    let info = info(&Dataset::embedded().unwrap());
    assert_eq!((info.name.as_str(), info.height, info.width), ("mnist-subset", Some(28), Some(28)));
    // Sums of pixels and counts of labels, computed from the files of MNIST by another program.
    for (split, sum, counts) in [
        (0, 130_170_281.0, [479, 563, 488, 493, 535, 434, 501, 550, 462, 495]),
        (1, 27_533_460.0, [113, 108, 93, 115, 88, 80, 107, 101, 89, 106]),
        (2, 24_443_134.0, [85, 126, 116, 107, 110, 87, 87, 99, 89, 94]),
    ] {
        let split = &info.splits[split];
        assert_eq!(split.mean, sum / (split.rows * 784) as f64);
        assert_eq!(split.class_counts, Some(counts.to_vec()));
    }
    let json = serde_json::to_value(&info).unwrap();
    assert_eq!(
        (&json["splits"][1]["split"], &json["splits"][1]["rows"]),
        (&"validation".into(), &1000.into())
    );
}

#[test]
fn classes_are_counted_up_to_the_largest_label() {
    let unlabelled = Table::images(1, 1, vec![10, 20], None).unwrap();
    let labelled = Table::images(1, 1, vec![1, 2, 4], Some(vec![0, 3, 3].into())).unwrap();
    let info = info(&Dataset::new("d", "s", labelled, numbered(1, 1), unlabelled).unwrap());
    assert_eq!(info.splits[0].class_counts, Some(vec![1, 0, 0, 2]));
    assert_eq!(info.splits[0].mean, 7.0 / 3.0);
    assert_eq!(info.splits[1].class_counts, Some(vec![0, 1, 0, 0]));
    assert_eq!((&info.splits[2].class_counts, info.splits[2].mean), (&None, 15.0));
}
