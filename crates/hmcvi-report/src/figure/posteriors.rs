//! Draw the encoder's Gaussian, the density after the HMC steps and the exact posterior, side by side.

use hmcvi_record::figure::{Field, Picture, Point, Posteriors};

use super::panel::Panel;
use super::picture::framed;
use super::{LABEL, contour, ramp};
use crate::palette::{Colour, INK, PAPER, SOFT};
use crate::scene::{Rect, Scene, Stroke, Text};
use crate::words::grouped;

const SIDE: f64 = 300.0;
/// Shares of the posterior inside the contours.
const SHARES: [f64; 3] = [0.5, 0.9, 0.99];

/// Panels with the same axes and colours; the contours of the posterior are in all of them.
pub fn posteriors(data: &Posteriors) -> Scene {
    let kl = |sign: &str, value: f64| format!("KL {sign} {value:.3} nats");
    let mut parts = vec![("Encoder", &data.initial.density, kl("=", data.initial.divergence))];
    if data.hmc_steps > 0 {
        parts.push((after(data.hmc_steps), &data.improved.density, kl("≈", data.improved.divergence)));
    }
    let evidence = format!("log p(x) = {:.2} nats", data.log_evidence).replace('-', "−");
    parts.push(("Exact posterior", &data.exact, evidence));
    let title = "Posterior approximations of one image beside the exact posterior";
    let width = 24.0 + 372.0 * parts.len() as f64;
    let window = window(&data.exact, &data.initial.density);
    let exact = Beside::of(&data.exact, [&data.initial.density, &data.improved.density]);
    let mut scene = Scene::new(title, width, 512.0);
    let last = parts.len() - 1;
    for (i, (name, density, text)) in parts.into_iter().enumerate() {
        let area = Rect { x: 76.0 + 372.0 * i as f64, y: 44.0, width: SIDE, height: SIDE };
        exact.draw(&mut scene, (area, window), name, density);
        scene.text(Text::new((area.centre().0, area.bottom() + 66.0), text, LABEL + 1.0).bold());
        if i == last {
            observed(&mut scene, area, &data.observed);
        }
    }
    notes(&mut scene, data, width / 2.0);
    scene
}

fn after(hmc_steps: u64) -> &'static str {
    if hmc_steps == 1 { "After the HMC step" } else { "After the HMC steps" }
}

/// Panels of densities with the contours of an exact posterior on them, all in the same colours.
pub(super) struct Beside<'a> {
    exact: &'a Field,
    top: f64,
    levels: [f64; SHARES.len()],
}

impl<'a> Beside<'a> {
    /// Panels of these densities.
    pub(super) fn of(exact: &'a Field, densities: impl IntoIterator<Item = &'a Field>) -> Self {
        let tops = densities.into_iter().chain([exact]).map(|field| field.range().1);
        let top = tops.fold(f64::MIN_POSITIVE, f64::max);
        Beside { exact, top, levels: SHARES.map(|share| level_around(exact, share)) }
    }

    /// One of the panels.
    pub(super) fn draw(
        &self,
        scene: &mut Scene,
        (area, (low, high)): (Rect, Window),
        title: &str,
        density: &Field,
    ) {
        let panel = Panel::new(area, low, high);
        // The square root shows more of what is not the summit.
        contour::fill(scene, &panel, density, |v| ramp::density((v / self.top).max(0.0).sqrt()));
        scene.clipped(area, |scene| {
            for level in self.levels {
                let stroke = Stroke::new(Colour::Fixed((200, 60, 30)), 1.2);
                contour::draw_lines(scene, &panel, self.exact, level, (stroke, 0.9));
            }
        });
        panel.axes(scene, title, "z_1", "z_2");
    }
}

/// The image itself, in the corner of an area.
pub(super) fn observed(scene: &mut Scene, area: Rect, image: &Picture) {
    let inset = Rect { x: area.right() - 74.0, y: area.y + 6.0, width: 68.0, height: 68.0 };
    scene.rect(inset, Some(PAPER), Some(Stroke::new(INK, 1.0)));
    framed(scene, inset, image);
}

fn notes(scene: &mut Scene, data: &Posteriors, centre: f64) {
    let mut lines = vec![
        "Contours hold 50, 90 and 99% of the exact posterior, found by quadrature on a grid, as is the encoder’s KL(q ‖ p)."
            .to_string(),
    ];
    if data.hmc_steps > 0 {
        lines.push(format!(
            "The density {} is a kernel estimate from {} draws, which is too wide and noisy: for as many draws",
            after(data.hmc_steps).replace("After", "after"),
            grouped(data.draws as u64)
        ));
        lines.push(format!(
            "of the exact posterior, whose KL is 0, it gives {:.3}; for the encoder’s draws it gives {:.3}.",
            data.estimate_of_exact, data.estimate_of_initial
        ));
    }
    for (i, line) in lines.into_iter().enumerate() {
        scene.text(Text::new((centre, 450.0 + 21.0 * i as f64), line, 14.5).colour(SOFT));
    }
}

/// The lower left and the upper right corner of a part of the plane.
pub(super) type Window = (Point, Point);

/// The part of the grid in which either density can be seen.
pub(super) fn window(a: &Field, b: &Field) -> Window {
    let tops = [a.range().1, b.range().1];
    let seen = a
        .points()
        .zip(a.values.iter().zip(&b.values))
        .filter(|(_, (a, b))| **a > 1e-3 * tops[0] || **b > 1e-3 * tops[1]);
    let (mut low, mut high) = (a.high, a.low);
    for (z, _) in seen {
        for i in 0..2 {
            (low[i], high[i]) = (low[i].min(z[i]), high[i].max(z[i]));
        }
    }
    // A square, so that shapes are not distorted, no larger than the grid.
    let half = (0.52 * (high[0] - low[0]).max(high[1] - low[1])).min(0.5 * (a.high[0] - a.low[0]));
    let middle = [0, 1].map(|i| (0.5 * (low[i] + high[i])).clamp(a.low[i] + half, a.high[i] - half));
    (middle.map(|m| m - half), middle.map(|m| m + half))
}

/// The density above which a share of the mass lies.
fn level_around(field: &Field, share: f64) -> f64 {
    let mut values = field.values.clone();
    values.sort_by(|a, b| b.total_cmp(a));
    let total: f64 = values.iter().sum();
    let mut inside = 0.0;
    let level = values.iter().find(|v| {
        inside += **v;
        inside >= share * total
    });
    level.copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_gaussian_lies_above_half_of_its_summit() {
        let mut field = Field::empty([-6.0; 2], [6.0; 2], 301, 301);
        field.values = field.points().map(|[x, y]| (-0.5 * (x * x + y * y)).exp()).collect();
        // In two dimensions the density itself, in units of its summit, is uniformly distributed.
        for share in SHARES {
            assert!((level_around(&field, share) - (1.0 - share)).abs() < 2e-3);
        }
    }
}
