//! Turn errors of all parts into messages with a next step, and into exit codes.

mod bayes;
mod directory;
mod fit;

use std::fmt;

use hmcvi::config::ConfigError;
use hmcvi::data::DataError;
use hmcvi::device::DeviceError;
use hmcvi::eval::EvalError;
use hmcvi::figure::FigureError;
use hmcvi::hmc::SamplerError;
use hmcvi::run::SessionError;
use hmcvi::train::TrainError;
use hmcvi_fetch::FetchError;
use hmcvi_report::ReportError;
use serde_json::json;

/// Why the program stops, with what its exit code says.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for makes no sense: 2.
    Usage(String),
    /// Data is missing or broken: 3.
    Data(String),
    /// Numbers went out of range: 4.
    Numerical(String),
    /// The device or its memory does not suffice: 5.
    Device(String),
    /// Everything was done, and what was found is not satisfactory: 1.
    Unsatisfactory(String),
    /// Stopped by the user: 130.
    Interrupted(String),
    /// Anything else: 1.
    Other(String),
    /// One of these, with what to do about it.
    Advised(Box<Failure>, String),
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
            Failure::Advised(failure, next) => return failure.about(what).then(next),
        };
        kind(format!("{what}: {self}"))
    }

    /// The same failure with a next step.
    #[must_use]
    pub(crate) fn then(self, next: impl Into<String>) -> Self {
        Failure::Advised(Box::new(self), next.into())
    }

    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Other(_) | Failure::Unsatisfactory(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Data(_) => 3,
            Failure::Numerical(_) => 4,
            Failure::Device(_) => 5,
            Failure::Interrupted(_) => 130,
            Failure::Advised(failure, _) => failure.code(),
        }
    }

    /// Whether the user stopped the program.
    pub(crate) fn is_interruption(&self) -> bool {
        match self {
            Failure::Interrupted(_) => true,
            Failure::Advised(failure, _) => failure.is_interruption(),
            _ => false,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Failure::Usage(_) => "usage",
            Failure::Data(_) => "data",
            Failure::Numerical(_) => "numerical",
            Failure::Device(_) => "device",
            Failure::Unsatisfactory(_) => "unsatisfactory",
            Failure::Interrupted(_) => "interrupted",
            Failure::Other(_) => "other",
            Failure::Advised(failure, _) => failure.kind(),
        }
    }

    /// What is wrong, and what to do about it if that is known.
    pub(crate) fn parts(&self) -> (String, Option<&str>) {
        match self {
            Failure::Advised(failure, next) => (failure.to_string(), Some(next)),
            _ => (self.to_string(), None),
        }
    }

    /// The failure for programs, in one line.
    pub(crate) fn json(&self) -> String {
        let (message, next) = self.parts();
        json!({"error": {"kind": self.kind(), "code": self.code(), "message": message, "next": next}})
            .to_string()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(m) | Failure::Data(m) | Failure::Numerical(m) => f.write_str(m),
            Failure::Device(m) | Failure::Interrupted(m) | Failure::Other(m) => f.write_str(m),
            Failure::Unsatisfactory(m) => f.write_str(m),
            Failure::Advised(failure, next) => write!(f, "{failure}\nnext: {next}"),
        }
    }
}

impl From<&clap::Error> for Failure {
    fn from(error: &clap::Error) -> Self {
        use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand as NoCommand;
        if error.kind() == NoCommand {
            return Failure::Usage("a command is missing".into()).then("`hmcvi --help` lists the commands");
        }
        // Clap writes what is wrong, tips, usage, and how to get help, in paragraphs.
        let text = error.render().to_string();
        let mut paragraphs = text.split("\n\n").map(|p| p.trim().trim_start_matches("error: "));
        let message = paragraphs.next().unwrap_or_default().to_owned();
        Failure::Usage(message).then(paragraphs.collect::<Vec<_>>().join("\n"))
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Failure::Usage(error.to_string())
            .then("`hmcvi config schema` shows every setting and what is allowed")
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        let next = match error {
            // What is there, but not as it should be, is the user's own.
            DataError::Field { .. } | DataError::Type { .. } => {
                "`hmcvi data info SOURCE --set data.KEY=VALUE` tries other ways to read it"
            }
            _ => "`hmcvi data info --help` says what is read; `hmcvi data fetch` downloads MNIST",
        };
        Failure::Data(error.to_string()).then(next)
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        let failure = Failure::Device(error.to_string());
        match error {
            DeviceError::Run(_) => failure,
            DeviceError::Sums { .. } => Failure::Usage(error.to_string()),
            _ => failure.then("`--device cpu` needs no GPU; `hmcvi doctor` tests what this machine has"),
        }
    }
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::Data(error) => error.into(),
            other => Failure::Data(other.to_string()),
        }
    }
}

/// What to do about simulations that keep diverging.
const DIVERGING: &str = "train with a lower `train.learning_rate.first`, fewer `chain.leapfrog_steps`, \
                         `chain.step_size=network` or `chain.acceptance=simple`";

impl From<TrainError> for Failure {
    fn from(error: TrainError) -> Self {
        let text = error.to_string();
        match error {
            _ if error.is_mismatch() => Failure::Usage(text).then(
                "the checkpoint is of another model; `model.latent`, `model.hidden` and the columns of the data must be \
                 the same",
            ),
            TrainError::NotABound(_) => Failure::Numerical(text).then(DIVERGING),
            TrainError::Begin(_) | TrainError::Diverged(_) => Failure::Numerical(text),
            TrainError::Config(error) => error.into(),
            TrainError::NoImages(_) | TrainError::Data(_) => Failure::Data(text),
            TrainError::Memory { .. } => Failure::Device(text)
                .then("lower these with `--set model.hidden=[...]` or `--set train.batch=N`, or use `--threads 1`"),
            TrainError::Device(error) => error.into(),
            _ => Failure::Other(text),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Directory(error) => error.into(),
            SessionError::Train(error) => error.into(),
            SessionError::Disagree { .. } => Failure::Usage(error.to_string()),
            other => Failure::Other(other.to_string()),
        }
    }
}

impl From<EvalError> for Failure {
    fn from(error: EvalError) -> Self {
        match error {
            EvalError::Stopped => {
                Failure::Interrupted("interrupted; everything finished so far is kept".into())
                    .then("the same command continues from there")
            }
            EvalError::Device(error) => error.into(),
            EvalError::NotAPlane(_) | EvalError::NotLinear | EvalError::Spacing(_) | EvalError::NoSteps => {
                Failure::Usage(error.to_string())
            }
            EvalError::NotABound(error) => Failure::Numerical(error.to_string()).then(DIVERGING),
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
            FigureError::NoShape | FigureError::NotPixels(_) => Failure::Data(text),
            _ => Failure::Numerical(text),
        }
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        Failure::Other(error.to_string())
    }
}
