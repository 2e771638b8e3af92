//! Say what is wrong with settings, in the terms of whoever wrote them.

/// Settings that do not describe a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is not TOML.
    #[error("{0}")]
    Syntax(String),
    /// A value of the wrong type or out of its range.
    #[error("`{key}` is {value}, but must be {allowed}")]
    Value {
        /// The setting, as it is written in the file.
        key: String,
        /// Its value.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// A single value for a whole table of settings.
    #[error(
        "`{key}` is a table of settings, not a single value: set `{key}.{}={value}` (keys: {})",
        .example.as_ref().unwrap_or(&.keys[0]), .keys.join(", ")
    )]
    Table {
        /// The table.
        key: String,
        /// The value that was given for it.
        value: String,
        /// The settings in the table.
        keys: Vec<String>,
        /// The first of them that the value fits.
        example: Option<String>,
    },
    /// A setting that does not exist.
    #[error("there is no setting `{key}`; {hint}")]
    Unknown {
        /// The setting.
        key: String,
        /// What was probably meant, or what there is.
        hint: String,
    },
    /// An assignment that is not `key=value`.
    #[error("`{0}` does not set anything; write `key=value`, for example `seed=6`")]
    Assignment(String),
}
