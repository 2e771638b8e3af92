//! Check the whole of Fashion-MNIST, where a folder with its four files is at hand.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use hmcvi::data::{FASHION_MNIST, KnownSet, Source, info, open};

/// The folder that the environment variable `HMCVI_TEST_FASHION_MNIST` names; without it there is nothing to check.
fn folder() -> Option<PathBuf> {
    std::env::var_os("HMCVI_TEST_FASHION_MNIST").map(PathBuf::from)
}

#[test]
fn fashion_mnist_is_recognised_read_and_split_as_mnist_is() {
    let Some(folder) = folder() else { return };
    let set = KnownSet::in_folder(&folder);
    assert_eq!(*set, FASHION_MNIST);
    assert_eq!(set.verify(&folder).unwrap().len(), 4);
    let dataset = open(&Source::Folder(folder.clone())).unwrap();
    assert_eq!(dataset.name(), "fashion-mnist");
    let info = info(&dataset);
    assert_eq!(info.splits.iter().map(|split| split.rows).collect::<Vec<_>>(), [50_000, 10_000, 10_000]);
    // 7,000 images of each class, 1,000 of them in the test file.
    let [first, last, test] = [0, 1, 2].map(|split| info.splits[split].class_counts.clone().unwrap());
    assert_eq!(first.iter().zip(&last).map(|(a, b)| a + b).collect::<Vec<_>>(), [6000; 10]);
    assert_eq!(test, [1000; 10]);
    // The mean that everybody normalises with: 0.2860 of the 60,000 training images.
    let mean = (5.0 * info.splits[0].mean + info.splits[1].mean) / 6.0 / 255.0;
    assert!((mean - 0.2860).abs() < 5e-5, "{mean}");
    // As before it was known by name.
    assert_eq!(open(&Source::IdxFolder(folder)).unwrap().sha256(), dataset.sha256());
}
