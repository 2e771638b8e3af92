//! Check the whole of MNIST, where a folder with its four files is at hand.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use hmcvi::data::{Dataset, Source, Split, Table, info, open, verify_mnist, write_npy};

/// The folder that the environment variable `HMCVI_TEST_MNIST` names; without it there is nothing to check.
fn folder() -> Option<PathBuf> {
    std::env::var_os("HMCVI_TEST_MNIST").map(PathBuf::from)
}

fn labels(table: &Table) -> Vec<u8> {
    table.labels().unwrap().bytes().unwrap()
}

#[test]
fn mnist_is_read_split_and_described() {
    let Some(folder) = folder() else { return };
    assert_eq!(verify_mnist(&folder).unwrap().len(), 4);
    let dataset = open(&Source::Folder(folder)).unwrap();
    assert_eq!(dataset.name(), "mnist");
    // The bytes that `Dataset::sha256` documents, hashed by another program.
    assert_eq!(dataset.sha256(), "d296a89c3e18fd3ef8cf8d876f4b3f7a1cf3b1da6c59fe49fede8cdb5147b6b6");
    let info = info(&dataset);
    assert_eq!(info.splits.iter().map(|split| split.rows).collect::<Vec<_>>(), [50_000, 10_000, 10_000]);
    // Published counts of the digits in the test file.
    let test = Some(vec![980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]);
    assert_eq!(info.splits[2].class_counts, test);
    // And in the training file, here in two parts.
    let train = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949];
    let [first, last] = [0, 1].map(|split| info.splits[split].class_counts.clone().unwrap());
    assert_eq!(first.iter().zip(&last).map(|(a, b)| a + b).collect::<Vec<_>>(), train);
    // The mean that everybody normalises with: 0.1307 of the 60,000 training images.
    let mean = (5.0 * info.splits[0].mean + info.splits[1].mean) / 6.0 / 255.0;
    assert!((mean - 0.1307).abs() < 5e-5, "{mean}");
}

#[test]
fn the_embedded_subset_is_the_beginning_of_mnist() {
    let Some(folder) = folder() else { return };
    let (mnist, subset) = (open(&Source::Folder(folder)).unwrap(), Dataset::embedded().unwrap());
    assert_eq!(mnist.train().slice(0..5_000).as_ref(), Some(subset.train()));
    assert_eq!(mnist.train().slice(5_000..6_000).as_ref(), Some(subset.validation()));
    assert_eq!(mnist.test().slice(0..1_000).as_ref(), Some(subset.test()));
}

#[test]
fn mnist_has_the_same_hash_in_another_format() {
    let Some(folder) = folder() else { return };
    let mnist = open(&Source::Folder(folder)).unwrap();
    let copy = tempfile::tempdir().unwrap();
    for split in Split::ALL {
        let images = mnist.table(split);
        let shape = [images.len(), 28, 28];
        write_npy(&copy.path().join(format!("{split}.npy")), &shape, images.bytes().unwrap()).unwrap();
        write_npy(&copy.path().join(format!("y_{split}.npy")), &shape[..1], &labels(images)).unwrap();
    }
    assert_eq!(open(&Source::Folder(copy.path().into())).unwrap().sha256(), mnist.sha256());
}

#[test]
fn the_training_images_of_mnist_are_split_as_usual_in_any_format() {
    let Some(folder) = folder() else { return };
    let mnist = open(&Source::Folder(folder)).unwrap();
    let copy = tempfile::tempdir().unwrap();
    let save = |name: &str, parts: &[&Table]| {
        let (count, size) = (parts.iter().map(|images| images.len()).sum(), parts[0].columns());
        let pixels = parts.iter().map(|images| images.bytes().unwrap()).collect::<Vec<_>>().concat();
        let labels = parts.iter().map(|images| labels(images)).collect::<Vec<_>>().concat();
        write_npy(&copy.path().join(format!("x_{name}.npy")), &[count, size], &pixels).unwrap();
        write_npy(&copy.path().join(format!("y_{name}.npy")), &[count], &labels).unwrap();
    };
    save("train", &[mnist.train(), mnist.validation()]);
    save("test", &[mnist.test()]);
    assert_eq!(open(&Source::Folder(copy.path().into())).unwrap().sha256(), mnist.sha256());
}
