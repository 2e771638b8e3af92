//! Show records of runs: terminal tables, and figures as SVG and PNG. No tensors, no system libraries.
#![forbid(unsafe_code)]

mod canvas;
mod chart;
mod error;
mod grid;
mod palette;
mod table;

pub use chart::{Chart, LatentMap};
pub use error::ReportError;
pub use grid::{GreyGrid, encode_png};
pub use palette::{BEFORE, COLOURS};
pub use table::{Align, Table};
