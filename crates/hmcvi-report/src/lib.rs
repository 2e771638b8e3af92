//! Show records of runs: terminal tables, and figures as SVG and PNG. No tensors, no system libraries.
#![forbid(unsafe_code)]

mod canvas;
mod chart;
mod diagnose;
mod error;
mod evaluation;
pub mod figure;
mod grid;
mod palette;
mod scene;
mod table;

pub use chart::{Chart, LatentMap};
pub use diagnose::{Finding, Level, diagnose};
pub use error::ReportError;
pub use evaluation::evaluation_text;
pub use grid::{GreyGrid, encode_png};
pub use palette::{BEFORE, COLOURS};
pub use scene::Scene;
pub use table::{Align, Table};
