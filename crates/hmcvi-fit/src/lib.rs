//! Put together what fits and chains have found about a posterior, and keep it in a directory.
//!
//! The program `hmcvi` and the Python package share this crate, so that they make the same draws, records and files.
//! [`open`] finds a model and its data, [`Found`] has a fit with its draws, [`Drawn`] has the numbers of all draws with
//! those that a Stan program generates, and [`Outcome`] becomes the files of a
//! [`FitDirectory`](hmcvi::run::FitDirectory). Nothing here prints, or decides when to stop: callers pass functions that
//! hear of progress.
#![forbid(unsafe_code)]

mod drawn;
mod error;
mod evidence;
mod found;
mod outcome;
mod quantities;
mod sampler;
mod stages;
mod subject;

pub use drawn::{Drawing, Drawn, Variable};
pub use error::{KeepError, OpenError};
pub use evidence::{Checked, check, elsewhere, evidence_record};
pub use found::Found;
pub use outcome::{Outcome, Source};
pub use sampler::{facts, nuts, of_chains};
pub use stages::{Stages, in_words, name, of_evidence, why};
pub use subject::{Opened, PYTHON, Subject, builtin, find, is_stan, open, settings_of, stem};
