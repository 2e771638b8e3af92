//! Draw many particles before and after an HMC step: positions, momenta, potential energies.

use hmcvi_record::figure::{Ensemble, Field, Particles, Point};

use super::motion::levels;
use super::panel::Panel;
use super::{contour, ramp};
use crate::palette::{Colour, PAPER};
use crate::scene::{Place, Rect, Scene, Shape, Stroke};

const SIDE: f64 = 300.0;
/// Bins of the histograms.
const BINS: usize = 30;
/// Colour of the particles: dark, on pale contours.
const PARTICLES: Colour = Colour::Fixed((136, 34, 85));

/// Two rows of three panels.
pub fn ensemble(data: &Ensemble) -> Scene {
    let mut scene = Scene::new("An ensemble of particles before and after one HMC step", 1140.0, 836.0);
    let both = || [&data.before, &data.after].into_iter();
    let reach = 1.05 * both().flat_map(|p| p.momenta.iter().flatten()).fold(1.0, |m: f64, v| m.max(v.abs()));
    let energies = || both().flat_map(|p| p.potential.iter().copied());
    let (low, high) =
        (energies().fold(f64::INFINITY, f64::min), energies().fold(f64::NEG_INFINITY, f64::max));
    let range = if low < high { (low, high) } else { (0.0, 1.0) };
    let counts: Vec<Vec<usize>> = both().map(|p| histogram(&p.potential, range)).collect();
    let most = counts.iter().flatten().copied().max().unwrap_or(0).max(1);
    for (row, (particles, name)) in both().zip(["before", "after one HMC step"]).enumerate() {
        let y = 44.0 + 400.0 * row as f64;
        let area = |i: f64| Rect { x: 68.0 + 378.0 * i, y, width: SIDE, height: SIDE };
        positions(&mut scene, data, particles, area(0.0), &format!("Positions {name}"));
        momenta(&mut scene, particles, area(1.0), reach, &format!("Momenta {name}"));
        let panel = Panel::new(area(2.0), [range.0, 0.0], [range.1, 1.06 * most as f64]);
        bars(&mut scene, &panel, &counts[row], range);
        panel.axes(&mut scene, &format!("Energies {name}"), "potential energy U(z)", "particles");
    }
    scene
}

fn dots(scene: &mut Scene, panel: &Panel, points: &[Point]) {
    let places: Vec<Place> = points.iter().map(|p| panel.at(*p)).collect();
    let dots = Shape::Dots { places, radius: 2.2, colour: PARTICLES, opacity: 0.55 };
    scene.clipped(panel.area, |scene| scene.add(dots));
}

fn positions(scene: &mut Scene, data: &Ensemble, particles: &Particles, area: Rect, title: &str) {
    let field = &data.landscape;
    let panel = Panel::new(area, field.low, field.high);
    let (low, high) = field.range();
    contour::bands(scene, &panel, field, &levels(low, high, 11), ramp::energy);
    dots(scene, &panel, &particles.positions);
    panel.axes(scene, title, "z_1", "z_2");
}

fn momenta(scene: &mut Scene, particles: &Particles, area: Rect, reach: f64, title: &str) {
    let mut field = Field::empty([-reach; 2], [reach; 2], 81, 81);
    field.values = field.points().map(|[x, y]| 0.5 * (x * x + y * y)).collect();
    let panel = Panel::new(area, field.low, field.high);
    contour::bands(scene, &panel, &field, &levels(0.0, reach * reach, 11), ramp::energy);
    dots(scene, &panel, &particles.momenta);
    panel.axes(scene, title, "v_1", "v_2");
}

/// Numbers of values in equal parts of a range, both ends included.
fn histogram(values: &[f64], (low, high): (f64, f64)) -> Vec<usize> {
    let mut counts = vec![0; BINS];
    for value in values.iter().filter(|v| v.is_finite()) {
        let share = (value - low) / (high - low).max(1e-12);
        counts[((share * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    counts
}

fn bars(scene: &mut Scene, panel: &Panel, counts: &[usize], (low, high): (f64, f64)) {
    let edge = |i: usize| low + (high - low) * i as f64 / BINS as f64;
    for (i, count) in counts.iter().enumerate().filter(|(_, c)| **c > 0) {
        let ((x, y), (right, bottom)) = (panel.at([edge(i), *count as f64]), panel.at([edge(i + 1), 0.0]));
        let bar = Rect { x, y, width: right - x, height: bottom - y };
        scene.rect(bar, Some(Colour::Line(0)), Some(Stroke::new(PAPER, 0.8)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_every_value_once() {
        let counts = histogram(&[0.0, 0.01, 0.5, 1.0, f64::NAN], (0.0, 1.0));
        assert_eq!((counts[0], counts[15], counts[29]), (2, 1, 1));
        assert_eq!(counts.iter().sum::<usize>(), 4);
    }
}
