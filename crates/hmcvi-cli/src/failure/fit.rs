//! Say what to do about models that cannot be opened, and fits that cannot be kept.

use hmcvi_fit::{KeepError, OpenError};

use super::Failure;

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let text = error.to_string();
        match error {
            OpenError::Unknown { .. } => {
                Failure::Usage(text).then("`hmcvi fit --list` lists the models; a Stan program ends in .stan")
            }
            OpenError::Python => Failure::Usage(text)
                .then("in Python, `fit` of the model takes the same settings, and `hmcvi.open_run(folder, model)` opens what \
                       was found"),
            OpenError::NoData { .. } => Failure::Data(text)
                .then("give them with `--data FILE.json`: an object with a number or an array for each name"),
            OpenError::Read { .. } => Failure::Data(text).then("name a JSON file with `--data`"),
            OpenError::Data { file, source } => Failure::from(source).about(&file),
            OpenError::Bind { name, source } => Failure::from(source).about(name),
            OpenError::Run { needs_data, source, .. } => {
                let failure = Failure::Data(text);
                match source.message().contains("has no parameters") {
                    true => failure
                        .then("declare what is to be inferred in a block `parameters { ... }`"),
                    false if needs_data => failure.then(
                        "give its data with `--data FILE.json`: an object with a number or an array for each name",
                    ),
                    false => failure,
                }
            }
            _ => Failure::Usage(text),
        }
    }
}

impl From<KeepError> for Failure {
    fn from(error: KeepError) -> Self {
        match error {
            KeepError::Directory(error) => error.into(),
            KeepError::Arrays(error) => error.into(),
            other => Failure::Other(other.to_string()),
        }
    }
}
