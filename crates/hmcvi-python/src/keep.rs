//! Keep what was found in a directory that the program reads, with the model where that can be written.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use hmcvi::bayes::Data;
use hmcvi::config::FitSpec;
use hmcvi::run::FitDirectory;
use hmcvi_fit::{Outcome, Subject};
use hmcvi_record::files;

use crate::model::Origin;

/// What is kept.
pub(crate) struct Kept<'k> {
    pub(crate) spec: &'k FitSpec,
    pub(crate) subject: &'k Subject,
    pub(crate) origin: &'k Origin,
}

/// Writes a directory; one that is there is replaced with `force` only.
pub(crate) fn keep(
    kept: &Kept<'_>,
    outcome: &Outcome,
    folder: &Path,
    force: bool,
    command: Vec<String>,
) -> Result<(), String> {
    let whole = std::path::absolute(folder).map_err(|error| error.to_string())?;
    let (program, data): (Option<&str>, Option<&Data>) = match kept.origin {
        Origin::Function => (None, None),
        Origin::Builtin(data) => (None, data.as_ref()),
        Origin::Stan(program, data) => (Some(program), Some(data)),
    };
    let place = |name: &str| whole.join(name).display().to_string();
    let mut spec = kept.spec.clone();
    if program.is_some() {
        spec.model = place(files::MODEL);
    }
    spec.data = data.map(|_| place(files::DATA));
    let (directory, _lock) = FitDirectory::create(folder, &spec, force).map_err(|error| {
        let advice = if !force && FitDirectory::is_fit(folder) { "; `force=True` replaces it" } else { "" };
        format!("{error}{advice}")
    })?;
    let text = [(files::MODEL, program.map(str::to_owned)), (files::DATA, data.map(Data::to_json))];
    for (name, text) in text.iter().filter_map(|(name, text)| Some((name, text.as_ref()?))) {
        directory.write(name, text.as_bytes()).map_err(|error| error.to_string())?;
    }
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let started = started.saturating_sub(outcome.seconds as u64);
    let record = outcome.record(&spec, kept.subject, command, started);
    outcome.write(&directory, &spec, &record).map_err(|error| error.to_string())
}
