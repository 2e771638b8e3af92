//! Note beside a run why the last attempt at it failed, for whoever looks after many runs.

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use hmcvi_record::{Versioned, files, read};
use serde::{Deserialize, Serialize};

use super::atomic;
use super::error::DirectoryError;

const SCHEMA: u32 = 1;

/// `failure.json`.
#[derive(Serialize, Deserialize)]
struct Note {
    schema: u32,
    failure: String,
}

impl Versioned for Note {
    const SCHEMAS: RangeInclusive<u32> = SCHEMA..=SCHEMA;
}

/// Notes why an attempt at the run in `folder` failed; the folder is made if the run never began.
pub fn note_failure(folder: &Path, why: &str) -> Result<(), DirectoryError> {
    fs::create_dir_all(folder).map_err(|e| DirectoryError::io(folder, "create the folder", e))?;
    let note = Note { schema: SCHEMA, failure: why.into() };
    let text = serde_json::to_string_pretty(&note).expect("plain values become JSON") + "\n";
    atomic::write(&folder.join(files::FAILURE), text.as_bytes())
}

/// Why the last attempt failed, if it did.
pub fn failure(folder: &Path) -> Option<String> {
    let file = folder.join(files::FAILURE);
    let text = fs::read_to_string(&file).ok()?;
    read::<Note>(&file, &text).ok().map(|note| note.failure)
}

/// Takes the note away: the run is well again.
pub fn forget_failure(folder: &Path) -> Result<(), DirectoryError> {
    let file = folder.join(files::FAILURE);
    match fs::remove_file(&file) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(DirectoryError::io(&file, "remove", e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RunDirectory;

    #[test]
    fn a_folder_with_nothing_but_a_note_is_free_and_one_with_a_file_of_that_name_is_not() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let run = folder.path().join("run");
        note_failure(&run, "the disk is full").expect("written");
        assert_eq!(failure(&run).as_deref(), Some("the disk is full"));
        RunDirectory::check_free(&run, false).expect("nothing but a note");
        forget_failure(&run).expect("removed");
        forget_failure(&run).expect("nothing to remove");
        assert_eq!(failure(&run), None);
        fs::write(run.join(files::FAILURE), "somebody's").expect("written");
        RunDirectory::check_free(&run, false).expect_err("somebody's own file");
    }
}
