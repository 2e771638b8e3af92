//! Turn errors of all parts into messages with a next step, and into exit codes.

use std::fmt;
use std::io::ErrorKind;

use hmcvi::config::ConfigError;
use hmcvi::data::DataError;
use hmcvi::eval::EvalError;
use hmcvi::figure::FigureError;
use hmcvi::hmc::SamplerError;
use hmcvi::run::{DirectoryError, SessionError};
use hmcvi::train::TrainError;
use hmcvi_report::ReportError;

/// Why the program stops, with what its exit code says.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for makes no sense: 2.
    Usage(String),
    /// Data is missing or broken: 3.
    Data(String),
    /// Numbers went out of range: 4.
    Numerical(String),
    /// The device or its memory does not do: 5.
    Device(String),
    /// Everything was done, and what was found is not satisfactory: 1.
    Unsatisfactory(String),
    /// Stopped by the user: 130.
    Interrupted(String),
    /// Anything else: 1.
    Other(String),
}

impl Failure {
    /// The same failure with what it is about in front.
    #[must_use]
    pub(crate) fn about(self, what: &str) -> Self {
        let kind = match self {
            Failure::Usage(_) => Failure::Usage,
            Failure::Data(_) => Failure::Data,
            Failure::Numerical(_) => Failure::Numerical,
            Failure::Device(_) => Failure::Device,
            Failure::Unsatisfactory(_) => Failure::Unsatisfactory,
            Failure::Interrupted(_) => Failure::Interrupted,
            Failure::Other(_) => Failure::Other,
        };
        kind(format!("{what}: {self}"))
    }

    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Other(_) | Failure::Unsatisfactory(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Data(_) => 3,
            Failure::Numerical(_) => 4,
            Failure::Device(_) => 5,
            Failure::Interrupted(_) => 130,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(m) | Failure::Data(m) | Failure::Numerical(m) => f.write_str(m),
            Failure::Device(m) | Failure::Interrupted(m) | Failure::Other(m) => f.write_str(m),
            Failure::Unsatisfactory(m) => f.write_str(m),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Failure::Usage(format!("{error}\n`hmcvi config schema` shows every setting and what is allowed"))
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        Failure::Data(format!("{error}\n`hmcvi data fetch` gets MNIST; `--data embedded` needs no files"))
    }
}

impl From<TrainError> for Failure {
    fn from(error: TrainError) -> Self {
        let text = error.to_string();
        match error {
            _ if error.is_mismatch() => Failure::Usage(format!(
                "{text}\nthe checkpoint is of another model; `model.latent`, `model.hidden` and the size of the images have to be equal"
            )),
            TrainError::NoStepSize | TrainError::Diverged(_) => Failure::Numerical(text),
            TrainError::NoImages(_) => Failure::Data(text),
            TrainError::Memory { .. } | TrainError::Device(_) => Failure::Device(text),
            _ => Failure::Other(text),
        }
    }
}

/// What to do about a file that cannot be written or read.
fn advice(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "\nwhat was saved before is whole; make room, then `hmcvi resume` goes on from it"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "\nwhat was saved before is whole; make the folder writable, or choose another place with --out"
        }
        ErrorKind::NotFound => "\nthe folder or file is gone; was it moved while the program ran?",
        _ => "",
    }
}

impl From<DirectoryError> for Failure {
    fn from(error: DirectoryError) -> Self {
        let text = error.to_string();
        match error {
            DirectoryError::Io { source, .. } => Failure::Other(text + advice(&source)),
            DirectoryError::Tensors { .. } | DirectoryError::Content { .. } | DirectoryError::Record(_) => {
                Failure::Other(text)
            }
            _ => Failure::Usage(text),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Directory(error) => error.into(),
            SessionError::Train(error) => error.into(),
            other => Failure::Other(other.to_string()),
        }
    }
}

impl From<EvalError> for Failure {
    fn from(error: EvalError) -> Self {
        match error {
            EvalError::Stopped => {
                Failure::Interrupted("interrupted; the same command goes on with what is finished".into())
            }
            EvalError::Device(error) => Failure::Device(error.to_string()),
            other => Failure::Other(other.to_string()),
        }
    }
}

impl From<SamplerError> for Failure {
    fn from(error: SamplerError) -> Self {
        let text = error.to_string();
        match error {
            SamplerError::Setting { .. } => Failure::Usage(text),
            _ => Failure::Other(text),
        }
    }
}

impl From<FigureError> for Failure {
    fn from(error: FigureError) -> Self {
        let text = error.to_string();
        match error {
            FigureError::Eval(error) => error.into(),
            FigureError::Sampler(error) => error.into(),
            FigureError::Data(error) => error.into(),
            FigureError::NotAPlane(_) | FigureError::NoImage { .. } => Failure::Usage(text),
            _ => Failure::Numerical(text),
        }
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        Failure::Other(error.to_string())
    }
}
