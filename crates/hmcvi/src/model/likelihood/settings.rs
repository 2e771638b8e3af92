//! Name the choices that likelihoods leave to users.

use serde::{Deserialize, Serialize};

/// Where the standard deviations of a Gaussian likelihood come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Learnt, one for each column.
    #[default]
    PerColumn,
    /// Learnt, one share of the columns' own standard deviations for all of them.
    Shared,
    /// A given share of the columns' own standard deviations.
    Fixed,
}

/// Choices of likelihoods; each looks at its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct LikelihoodSettings {
    /// Whether counts take the sum of their row as given and model its shares.
    pub size_factor: bool,
    /// Standard deviations of real numbers around what the decoder gives.
    pub scale: Scale,
    /// The share of each column's standard deviation that `scale = "fixed"` takes.
    #[cfg_attr(test, schemars(range(min = 0.000_001, max = 1_000_000.0)))]
    pub fixed_scale: f64,
    /// Numbers of classes of the categorical variables, in the order of their columns; empty for one variable.
    #[cfg_attr(test, schemars(length(max = 65536), inner(range(min = 2, max = 65536))))]
    pub groups: Vec<usize>,
}

impl Default for LikelihoodSettings {
    fn default() -> Self {
        LikelihoodSettings {
            size_factor: false,
            scale: Scale::default(),
            fixed_scale: 1.0,
            groups: Vec::new(),
        }
    }
}

/// Settings of a likelihood that do not fit the data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LikelihoodError {
    /// Classes that are not as many as the columns.
    #[error(
        "`groups` is {groups:?}, which adds up to {}, but must be numbers of classes of at least 2 that add up to the \
         {columns} columns of the data; leave it empty if all columns are the classes of one variable",
        .groups.iter().sum::<usize>()
    )]
    Groups {
        /// The setting.
        groups: Vec<usize>,
        /// Columns of the data.
        columns: usize,
    },
    /// One variable with a single class.
    #[error(
        "the data have {columns} column, but a categorical variable needs one column for each of two classes or more"
    )]
    SingleClass {
        /// Columns of the data.
        columns: usize,
    },
}
