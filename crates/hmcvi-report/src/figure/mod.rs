//! Draw figures from their data, one module for each: the paper's, learning curves and latent maps. Every function returns a
//! [`Scene`], which becomes SVG or PNG.
//!
//! [`Scene`]: crate::Scene

mod against_time;
mod binarised;
mod chart;
mod classes;
mod contour;
mod energy_surface;
mod ensemble;
mod flow_chart;
mod gain;
mod heat_map;
mod intervals;
mod latent_map;
mod latent_square;
mod modes;
mod motion;
mod pairs;
mod panel;
mod picture;
mod posteriors;
mod ramp;

pub use against_time::{against_time, likelihoods};
pub use binarised::binarised;
pub use chart::{Chart, chart};
pub(crate) use chart::{Layout, beyond, plot};
pub use energy_surface::energy_surface;
pub use ensemble::ensemble;
pub use flow_chart::flow_chart;
pub use gain::{Gain, GainOf, gain};
pub use heat_map::{HeatMap, heat_map};
pub(crate) use intervals::{Interval, intervals};
pub use latent_map::latent_map;
pub use latent_square::latent_square;
pub use modes::modes;
pub use motion::motion;
pub use pairs::pairs;
pub use posteriors::posteriors;

/// Sizes of text: titles of panels, labels of axes and legends, numbers.
const TITLE: f64 = 17.0;
const LABEL: f64 = 15.0;
const NUMBER: f64 = 13.0;

#[cfg(test)]
mod tests {
    use hmcvi_record::{Curve, Figure, FigureKind, Mark, MarkAxis, Section};

    use super::*;

    #[test]
    fn labels_are_not_crossed_by_lines() {
        let curve = |i: usize| {
            let points =
                (0..50).map(|x| (f64::from(x), (f64::from(x) * 0.7 + i as f64).sin() * 9.0)).collect();
            Curve { name: format!("a run with the number {i}"), points }
        };
        let marks = [MarkAxis::X, MarkAxis::Y].map(|axis| Mark { name: "a mark".into(), value: 4.0, axis });
        let figure = Figure {
            id: "test".into(),
            section: Section::Learning,
            kind: FigureKind::Lines,
            title: "A test".into(),
            caption: String::new(),
            x: "epoch".into(),
            y: "bound on log p(x) (nats)".into(),
            curves: (0..7).map(curve).collect(),
            marks: marks.to_vec(),
        };
        let interval =
            |i: usize| Interval { name: format!("run {i}"), mean: i as f64 - 2.0, error: 0.5, colour: i };
        let all: Vec<Interval> = (0..6).map(interval).collect();
        let mut scenes =
            vec![intervals("Differences", &all, 340.0, true), intervals("Estimates", &all, 920.0, false)];
        for (width, height, alone) in [(340.0, 224.0, false), (920.0, 340.0, false), (860.0, 552.0, true)] {
            scenes.extend(plot(&figure, Layout { width, height, alone }));
        }
        assert_eq!(scenes.len(), 5);
        for scene in scenes {
            assert_eq!(scene.crossed(), Vec::<String>::new(), "{}", scene.title());
        }
    }
}
