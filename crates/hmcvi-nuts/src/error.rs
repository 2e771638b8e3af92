//! Say why there are no draws.

use hmcvi::bayes::FitError;
use hmcvi_graph::{CompileError, RunError};

/// Chains that cannot begin or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NutsError {
    /// A setting that means nothing.
    #[error("`{key}` is {value}; allowed is {allowed}")]
    Setting {
        /// The setting.
        key: &'static str,
        /// What it is.
        value: String,
        /// What it can be.
        allowed: &'static str,
    },
    /// A Gaussian that is none, or that is not one of the model.
    #[error("start: {0}")]
    Start(String),
    /// Nowhere to begin.
    #[error(
        "chain {chain} found no place to begin: of {tries} random places ({places}), none has a finite log density and \
         gradient; at the last, {last}{}. Check that the data lie in the support of their distributions and that priors \
         fit their scale, or begin with a fit (`Start`)",
        after_comma(.why)
    )]
    NoDensity {
        /// The chain, from 1.
        chain: usize,
        /// Places that were tried.
        tries: u64,
        /// Where they come from.
        places: &'static str,
        /// What was found at the last of them.
        last: String,
        /// What has no density near the origin, as far as that is known.
        why: String,
    },
    /// The sampler gave up.
    #[error("chain {chain} ended in draw {draw}: {why}")]
    Chain {
        /// The chain, from 1.
        chain: usize,
        /// The draw, from 1, those of the warm-up included.
        draw: usize,
        /// What the sampler says.
        why: String,
    },
    /// The fit that is to be checked gives no draws.
    #[error("the fit cannot be checked: {0}")]
    Fit(#[from] FitError),
    /// The density does not compile.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The density does not run.
    #[error(transparent)]
    Run(#[from] RunError),
}

fn after_comma(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(", and near the origin {why}") }
}
