//! Lay out the directory of a fit, and read and write its files.

use std::fs;
use std::path::{Path, PathBuf};

use hmcvi_record::{DrawTable, FitRecord, files, read, refuse_newer};

use super::atomic;
use super::directory::{begin, check_free, remove_if};
use super::error::DirectoryError;
use super::lock::Lock;
use crate::config::FitSpec;

/// The directory of a fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitDirectory {
    path: PathBuf,
}

/// Files that belong to a fit, and that replacing it removes.
const FILES: [&str; 9] = [
    files::FIT_CONFIG,
    files::MODEL,
    files::DATA,
    files::FIT,
    files::DRAWS,
    files::GAUSSIAN,
    files::REPORT,
    files::REPORT_DATA,
    files::README,
];

/// Whether a file of this name belongs to a fit, and replacing the fit removes it.
fn belongs(name: &str) -> bool {
    let of_chain = |prefix| number_of(prefix, name).is_some();
    FILES.contains(&name) || of_chain(files::DRAWS_OF_CHAIN) || of_chain(files::NUTS_OF_CHAIN)
}

/// The number of a chain in the name of its file.
fn number_of(prefix: &str, name: &str) -> Option<u64> {
    name.strip_prefix(prefix)?.strip_suffix(".csv")?.parse().ok()
}

impl FitDirectory {
    /// Checks that a fit may be kept at `path`, without changing anything.
    ///
    /// # Errors
    /// If there is one, or anything else.
    pub fn check_free(path: &Path, force: bool) -> Result<(), DirectoryError> {
        check_free(path, force, files::FIT_CONFIG, |_| false)
    }

    /// Begins a fit: its settings are written, its results come later. One that is there is replaced with `force` only,
    /// and of it the files that belong to a fit, nothing else.
    ///
    /// # Errors
    /// As those of [`check_free`](Self::check_free), or if files cannot be written.
    pub fn create(path: &Path, spec: &FitSpec, force: bool) -> Result<(Self, Lock), DirectoryError> {
        Self::check_free(path, force)?;
        let lock = begin(path, belongs)?;
        let fitted = path.join(files::FITTED);
        if fitted.is_dir() {
            remove_if(&fitted, |name| name == files::FIT || name.ends_with(".safetensors"))?;
            // What is left in it is somebody's.
            let _ = fs::remove_dir(&fitted);
        }
        let directory = FitDirectory { path: path.into() };
        directory.write(files::FIT_CONFIG, spec.to_toml().as_bytes())?;
        directory.write(files::README, super::readme::of_fit(path, spec).as_bytes())?;
        Ok((directory, lock))
    }

    /// Whether a folder holds a fit.
    pub fn is_fit(path: &Path) -> bool {
        path.join(files::FIT_CONFIG).is_file()
    }

    /// Opens the directory of a fit.
    ///
    /// # Errors
    /// If it holds none, or one of a later version.
    pub fn open(path: &Path) -> Result<Self, DirectoryError> {
        if path.join(files::CONFIG).is_file() {
            return Err(DirectoryError::NoFitButARun(path.into()));
        }
        if !Self::is_fit(path) {
            return Err(DirectoryError::NotAFit(path.into()));
        }
        let file = path.join(files::FIT);
        refuse_newer::<FitRecord>(&file, &fs::read_to_string(&file).unwrap_or_default())?;
        Ok(FitDirectory { path: path.into() })
    }

    /// Takes back a fit that has found nothing.
    pub fn abandon(self) {
        for name in [files::README, files::FIT_CONFIG] {
            // What cannot be removed is removed by force when the next fit begins.
            let _ = fs::remove_file(self.file(name));
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The settings.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn spec(&self) -> Result<FitSpec, DirectoryError> {
        let file = self.file(files::FIT_CONFIG);
        FitSpec::from_toml(&text(&file)?).map_err(|source| DirectoryError::Config { file, source })
    }

    /// What the fit has found; nothing while it is under way, or where it was ended before it had anything.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn record(&self) -> Result<Option<FitRecord>, DirectoryError> {
        let file = self.file(files::FIT);
        if !file.exists() {
            return Ok(None);
        }
        Ok(Some(read(&file, &text(&file)?)?))
    }

    /// Writes what the fit has found.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_record(&self, record: &FitRecord) -> Result<(), DirectoryError> {
        let text = serde_json::to_string_pretty(record).expect("plain values become JSON") + "\n";
        self.write(files::FIT, text.as_bytes())
    }

    /// Writes a file in one piece.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), DirectoryError> {
        atomic::write(&self.file(name), bytes)
    }

    /// The draws of a file.
    ///
    /// # Errors
    /// If it cannot be read, or is no table of draws.
    pub fn table(&self, name: &str) -> Result<DrawTable, DirectoryError> {
        self.columns(name, &|_| true)
    }

    fn columns(&self, name: &str, wanted: &dyn Fn(&str) -> bool) -> Result<DrawTable, DirectoryError> {
        let file = self.file(name);
        let table = DrawTable::some_of_csv(&text(&file)?, wanted);
        table.map_err(|why| DirectoryError::content(&file, why, "draws of a fit"))
    }

    /// The draws of all chains whose files begin with `prefix`, in order, and of them the columns that are wanted; none
    /// if there are no such files.
    ///
    /// # Errors
    /// If one of them cannot be read.
    pub fn chains(
        &self,
        prefix: &str,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<DrawTable>, DirectoryError> {
        let entries = fs::read_dir(&self.path).map_err(|e| DirectoryError::io(&self.path, "open", e))?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut chains: Vec<(u64, String)> =
            names.filter_map(|name| Some((number_of(prefix, &name)?, name))).collect();
        chains.sort();
        chains.iter().map(|(_, name)| self.columns(name, wanted)).collect()
    }
}

fn text(file: &Path) -> Result<String, DirectoryError> {
    fs::read_to_string(file).map_err(|e| DirectoryError::io(file, "read", e))
}
