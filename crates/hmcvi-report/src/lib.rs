//! Show records of runs: terminal tables, figures as SVG and PNG, and pages of HTML. No tensors, no system libraries.
#![forbid(unsafe_code)]

mod comparison;
mod diagnose;
mod error;
mod evaluation;
pub mod figure;
mod fit;
mod grid;
mod page;
mod palette;
mod report;
mod scene;
mod table;
mod tensorboard;
mod words;

pub use comparison::comparison_text;
pub use diagnose::{Known, diagnose};
pub use error::ReportError;
pub use evaluation::evaluation_text;
pub use fit::{
    FitData, Trust, compare_fits, diagnose_fit, differences, fit_report, fit_text, fits_text, trace, trust,
};
pub use grid::GreyGrid;
pub use page::{Picture, fit_page, page};
pub use palette::COLOURS;
pub use report::{Maker, RunData, compare, quoted, report};
pub use scene::Scene;
pub use table::{Align, Table};
pub use tensorboard::EventWriter;
pub use words::{Noun, counted};
