//! Say what to do about run directories that cannot be used.

use std::io::ErrorKind;

use hmcvi::run::DirectoryError;
use hmcvi_report::quoted;

use super::Failure;

/// What to do about a file that cannot be written or read.
fn advice(error: &std::io::Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            Some("everything saved before is intact; free some space, then continue with `hmcvi resume`")
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Some("everything saved before is intact; make the folder writable, or choose another with --out")
        }
        ErrorKind::NotFound => Some("the folder or file is gone; was it moved while the program ran?"),
        _ => None,
    }
}

/// What to do about a run directory that cannot be used.
fn way_out(error: &DirectoryError) -> Option<String> {
    match error {
        DirectoryError::Exists(run) => Some(format!(
            "continue it with `hmcvi resume {}`, choose another folder with --out, or replace it with --force",
            run.display()
        )),
        DirectoryError::FitExists(_) => {
            Some("choose another folder with --out, or replace it with --force".into())
        }
        DirectoryError::NoRunButAFit(fit) => {
            let fit = quoted(&fit.display().to_string());
            Some(format!(
                "`hmcvi report {fit}`, `hmcvi diagnose {fit}` and `hmcvi compare` read fits; `hmcvi fit` makes them"
            ))
        }
        DirectoryError::NoFitButARun(run) => {
            let run = quoted(&run.display().to_string());
            Some(format!(
                "`hmcvi report {run}` and `hmcvi diagnose {run}` read it; name runs or fits, not both at once"
            ))
        }
        DirectoryError::NotAFit(_) => Some("`hmcvi fit MODEL` makes fits".into()),
        DirectoryError::Foreign(_) => Some("choose another folder with --out".into()),
        DirectoryError::NotARun(_) => Some("`hmcvi train` makes run directories".into()),
        DirectoryError::NoCheckpoint(_) => Some("`hmcvi resume RUN` continues the run".into()),
        DirectoryError::Io { source, .. } => advice(source).map(Into::into),
        DirectoryError::Content { file, .. } => {
            let evaluation =
                file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("evaluation"));
            evaluation.then(|| "`hmcvi eval RUN` computes the evaluation again".into())
        }
        _ => None,
    }
}

impl From<DirectoryError> for Failure {
    fn from(error: DirectoryError) -> Self {
        let (text, next) = (error.to_string(), way_out(&error));
        let failure = match error {
            DirectoryError::Config { file, source } => {
                return Failure::from(source).about(&file.display().to_string());
            }
            DirectoryError::Io { .. }
            | DirectoryError::Tensors { .. }
            | DirectoryError::Content { .. }
            | DirectoryError::Record(_) => Failure::Other(text),
            _ => Failure::Usage(text),
        };
        match next {
            Some(next) => failure.then(next),
            None => failure,
        }
    }
}
