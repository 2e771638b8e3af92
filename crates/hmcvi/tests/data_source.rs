//! Check what a word or path stands for, what is found in a folder, and what is said when nothing is.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use hmcvi::data::{
    ByteArray, DataError, FASHION_MNIST_FIRST, KnownSet, MNIST, MNIST_FILES, Source, Split, Storage,
    load_mnist, open, verify_mnist, write_idx, write_npy,
};

fn write_images(folder: &Path, name: &str, count: usize, storage: Storage) {
    let array = ByteArray::new(vec![count, 2, 2], vec![count as u8; 4 * count]).unwrap();
    write_idx(&folder.join(name), &array, storage).unwrap();
}

fn write_labels(folder: &Path, name: &str, count: usize) {
    let array = ByteArray::new(vec![count], vec![3; count]).unwrap();
    write_idx(&folder.join(name), &array, Storage::Plain).unwrap();
}

/// A folder with the names of MNIST's four files, but 12 training and 2 test images.
fn small_mnist() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_images(folder.path(), "train-images-idx3-ubyte", 12, Storage::Plain);
    write_labels(folder.path(), "train-labels-idx1-ubyte", 12);
    write_images(folder.path(), "t10k-images-idx3-ubyte.gz", 2, Storage::Gzip);
    write_labels(folder.path(), "t10k-labels-idx1-ubyte", 2);
    folder
}

fn lengths(source: Source) -> Result<[usize; 3], DataError> {
    let dataset = open(&source)?;
    Ok(Split::ALL.map(|split| dataset.table(split).len()))
}

#[test]
fn sources_are_words_and_paths() {
    for (text, source) in [
        ("embedded", Source::Embedded),
        ("./embedded", Source::Folder("./embedded".into())),
        ("some/folder", Source::Folder("some/folder".into())),
        ("idx:some/folder", Source::IdxFolder("some/folder".into())),
        ("a/b.npz", Source::File("a/b.npz".into())),
        ("a/b.NPY", Source::File("a/b.NPY".into())),
        ("a/b.csv", Source::File("a/b.csv".into())),
        ("a/b.tsv.gz", Source::File("a/b.tsv.gz".into())),
        ("a/b.mtx.gz", Source::File("a/b.mtx.gz".into())),
        ("a/b.gz", Source::Folder("a/b.gz".into())),
    ] {
        assert_eq!(Source::from(text), source);
        assert_eq!(text.parse::<Source>().unwrap(), source);
        assert_eq!(source.to_string(), text);
        let json = serde_json::to_string(&source).unwrap();
        assert_eq!(json, format!("\"{text}\""));
        assert_eq!(serde_json::from_str::<Source>(&json).unwrap(), source);
    }
}

#[test]
fn the_embedded_data_set_is_a_source() {
    assert_eq!(lengths(Source::Embedded).unwrap(), [5000, 1000, 1000]);
}

#[test]
fn a_folder_with_the_names_of_mnist_has_to_be_mnist() {
    let folder = small_mnist();
    let error = open(&Source::Folder(folder.path().into())).unwrap_err().to_string();
    assert!(error.contains("shape is [2], expected [10000] as in MNIST"), "{error}");
    assert!(error.contains("`idx:FOLDER`"), "{error}");
    assert_eq!(lengths(Source::IdxFolder(folder.path().into())).unwrap(), [10, 2, 2]);
}

#[test]
fn files_of_the_size_of_mnist_with_other_content_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for file in MNIST_FILES {
        let array = ByteArray::new(file.shape.to_vec(), vec![0; file.shape.iter().product()]).unwrap();
        write_idx(&folder.path().join(file.name), &array, Storage::Plain).unwrap();
    }
    for error in [load_mnist(folder.path()).unwrap_err(), verify_mnist(folder.path()).unwrap_err()] {
        assert!(matches!(&error, DataError::Hash { next, .. } if next.contains("idx:FOLDER")), "{error}");
    }
    assert_eq!(lengths(Source::IdxFolder(folder.path().into())).unwrap(), [50_000, 10_000, 10_000]);
}

#[test]
fn files_of_another_known_data_set_are_named() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(*KnownSet::in_folder(folder.path()), MNIST);
    // The only files of a known data set that can be written down: in the first release of Fashion-MNIST, as it is
    // kept here, the ten classes take turns.
    let [_, train, _, test] = FASHION_MNIST_FIRST.files;
    for file in [train, test] {
        let labels = (0..10).cycle().take(file.shape[0]).collect();
        let array = ByteArray::new(file.shape.to_vec(), labels).unwrap();
        write_idx(&folder.path().join(file.name), &array, Storage::Plain).unwrap();
        file.verify(&folder.path().join(file.name)).unwrap();
    }
    assert_eq!(*KnownSet::in_folder(folder.path()), FASHION_MNIST_FIRST);
    let error = MNIST_FILES[3].verify(&folder.path().join(test.name)).unwrap_err().to_string();
    assert!(
        error.ends_with("belongs to the first release of Fashion-MNIST, so choose another folder"),
        "{error}"
    );
    // Images of some other data set beside these labels are not taken for it.
    for file in [FASHION_MNIST_FIRST.files[0], FASHION_MNIST_FIRST.files[2]] {
        let array = ByteArray::new(file.shape.to_vec(), vec![0; file.shape.iter().product()]).unwrap();
        write_idx(&folder.path().join(file.name), &array, Storage::Plain).unwrap();
    }
    let error = open(&Source::Folder(folder.path().into())).unwrap_err();
    assert!(matches!(error, DataError::Hash { .. }), "{error}");
}

#[test]
fn missing_files_of_mnist_are_all_named() {
    let folder = small_mnist();
    fs::remove_file(folder.path().join("t10k-images-idx3-ubyte.gz")).unwrap();
    fs::remove_file(folder.path().join("train-labels-idx1-ubyte")).unwrap();
    let error = verify_mnist(folder.path()).unwrap_err().to_string();
    assert!(error.contains("train-labels-idx1-ubyte[.gz], t10k-images-idx3-ubyte[.gz]"), "{error}");
    // The rest is a usable folder: 12 images, of which two for the test and two of the other ten for validation.
    assert_eq!(lengths(Source::Folder(folder.path().into())).unwrap(), [8, 2, 2]);
}

#[test]
fn names_with_dots_and_validation_files_are_found() {
    let folder = tempfile::tempdir().unwrap();
    write_images(folder.path(), "train-images.idx3-ubyte", 5, Storage::Gzip);
    write_images(folder.path(), "validation-images-idx3-ubyte", 3, Storage::Plain);
    write_images(folder.path(), "test-images.idx3-ubyte.gz", 4, Storage::Gzip);
    write_labels(folder.path(), "test-labels.idx1-ubyte", 4);
    let dataset = open(&Source::Folder(folder.path().into())).unwrap();
    assert_eq!(Split::ALL.map(|split| dataset.table(split).len()), [5, 3, 4]);
    assert_eq!((dataset.train().labels(), dataset.test().labels()), (None, Some(&vec![3; 4].into())));
}

#[test]
fn labels_that_do_not_fit_name_both_numbers() {
    let folder = small_mnist();
    write_labels(folder.path(), "train-labels-idx1-ubyte", 11);
    let error = open(&Source::IdxFolder(folder.path().into())).unwrap_err().to_string();
    assert!(error.ends_with("number of labels is 11, expected 12, one for each image"), "{error}");
}

#[test]
fn a_folder_of_npy_files_is_read() {
    let folder = tempfile::tempdir().unwrap();
    write_npy(&folder.path().join("x_train.npy"), &[6, 4], &[1u8; 24]).unwrap();
    write_npy(&folder.path().join("y_train.npy"), &[6], &[2u8; 6]).unwrap();
    write_npy(&folder.path().join("test.npy"), &[3, 2, 2], &[1u8; 12]).unwrap();
    let dataset = open(&Source::Folder(folder.path().into())).unwrap();
    assert_eq!(Split::ALL.map(|split| dataset.table(split).len()), [5, 1, 3]);
    assert_eq!(dataset.validation().labels(), Some(&vec![2].into()));
    assert_eq!(dataset.name(), folder.path().file_name().unwrap().to_string_lossy());
}

#[test]
fn one_npy_file_is_split() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("faces.npy");
    write_npy(&path, &[70, 2, 2], &[1u8; 280]).unwrap();
    assert_eq!(lengths(Source::File(path.clone())).unwrap(), [50, 10, 10]);
    assert_eq!(open(&Source::File(path)).unwrap().name(), "faces");
}

#[test]
fn an_empty_folder_is_told_what_was_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let error = open(&Source::Folder(folder.path().into())).unwrap_err();
    assert!(matches!(error, DataError::Missing { .. }));
    for name in [
        "train-images-idx3-ubyte[.gz]",
        "t10k-labels-idx1-ubyte[.gz]",
        "train.npy",
        "*.png",
        ".mtx",
        "`embedded`",
    ] {
        assert!(error.to_string().contains(name), "{name}: {error}");
    }
    let error = open(&Source::IdxFolder(folder.path().into())).unwrap_err();
    assert!(error.to_string().contains("train-images.idx3-ubyte.gz"), "{error}");
}

#[test]
fn what_is_no_folder_or_no_file_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("absent");
    for source in [Source::Folder(absent.clone()), Source::IdxFolder(absent), Source::from("absent.npz")] {
        assert!(matches!(open(&source), Err(DataError::Io { action: "open", .. })), "{source}");
    }
    let empty = open(&Source::from("")).unwrap_err().to_string();
    assert!(empty.starts_with("(empty path): cannot open"), "{empty}");
    let file = folder.path().join("file.idx");
    fs::write(&file, "x").unwrap();
    let error = open(&Source::Folder(file)).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "found a file with another name, expected a folder, a file that ends in .npy, .npz, .csv, .tsv or .mtx (also \
             with .gz), or `embedded`"
        )
    );
    for name in ["folder.npy", "folder.npz", "folder.csv", "folder.mtx"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        let error = open(&Source::File(folder.path().join(name))).unwrap_err();
        assert!(matches!(error, DataError::Kind { found: "a folder", .. }), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_but_devices_and_huge_files_are_refused() {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write_npy(&path("real.npy"), &[7, 4], &[1u8; 28]).unwrap();
    symlink(path("real.npy"), path("link.npy")).unwrap();
    assert_eq!(lengths(Source::File(path("link.npy"))).unwrap(), [5, 1, 1]);

    symlink("/dev/zero", path("device.npy")).unwrap();
    let error = open(&Source::File(path("device.npy"))).unwrap_err();
    assert!(matches!(error, DataError::Kind { expected: "a file", .. }), "{error}");

    // Five GiB that take no space on the disk.
    fs::File::create(path("huge.npy")).unwrap().set_len(5 << 30).unwrap();
    symlink(path("huge.npy"), path("link-to-huge.npy")).unwrap();
    let error = open(&Source::File(path("link-to-huge.npy"))).unwrap_err();
    assert!(matches!(error, DataError::TooLarge { found: 5_368_709_120, .. }), "{error}");
}
