//! Say what is wrong with a model, by the name of the variable.

/// A model that cannot be bound to its data, or data that it cannot take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Data that were not given.
    #[error("the model needs data `{name}`; given are {given}")]
    NoData {
        /// The data.
        name: String,
        /// Names of the data that were given.
        given: String,
    },
    /// Something is wrong where a variable is made.
    #[error("`{name}`: {problem}")]
    Variable {
        /// The variable.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// Two variables with one name.
    #[error("`{name}` is the name of two variables; every variable needs a name of its own")]
    Twice {
        /// The name.
        name: String,
    },
    /// Nothing to infer.
    #[error("the model has no variables; `m.sample(name, distribution)` makes one")]
    Empty,
    /// Data that cannot be read.
    #[error("data: {0}")]
    Data(String),
}
