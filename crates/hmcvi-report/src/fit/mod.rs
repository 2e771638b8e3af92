//! Show fits of Bayesian models: as a table for a terminal, as findings, and as a page.

mod text;
mod trust;

pub use text::fit_text;
pub use trust::{Trust, trust};
