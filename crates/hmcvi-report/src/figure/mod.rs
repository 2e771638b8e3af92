//! Draw figures from their data, one module for each: the paper's, learning curves and latent maps. Every function returns a
//! [`Scene`], which becomes SVG or PNG.
//!
//! [`Scene`]: crate::Scene

mod binarised;
mod chart;
mod classes;
mod contour;
mod energy_surface;
mod ensemble;
mod flow_chart;
mod latent_map;
mod latent_square;
mod motion;
mod panel;
mod picture;
mod posteriors;
mod ramp;

pub use binarised::binarised;
pub use chart::{Chart, chart};
pub use energy_surface::energy_surface;
pub use ensemble::ensemble;
pub use flow_chart::flow_chart;
pub use latent_map::latent_map;
pub use latent_square::latent_square;
pub use motion::motion;
pub use posteriors::posteriors;

/// Sizes of text: titles of panels, labels of axes and legends, numbers.
const TITLE: f64 = 17.0;
const LABEL: f64 = 15.0;
const NUMBER: f64 = 13.0;
