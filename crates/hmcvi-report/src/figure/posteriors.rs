//! Draw the encoder's Gaussian, the density after the HMC steps and the exact posterior, side by side.

use hmcvi_record::figure::{Field, Posteriors};

use super::panel::Panel;
use super::picture::framed;
use super::{LABEL, contour, ramp};
use crate::scene::{BLACK, GREY, Paint, Rect, Scene, Stroke, Text, WHITE};

const SIDE: f64 = 300.0;
/// Shares of the posterior inside the contours.
const SHARES: [f64; 3] = [0.5, 0.9, 0.99];

/// Three panels with the same axes and colours; the contours of the posterior are in all of them.
pub fn posteriors(data: &Posteriors) -> Scene {
    let title = "Posterior approximations of one digit beside the exact posterior";
    let mut scene = Scene::new(title, 1140.0, 512.0);
    let (low, high) = window(&data.exact, &data.initial.density);
    let top = data.exact.range().1.max(data.initial.density.range().1).max(data.improved.density.range().1);
    let levels = SHARES.map(|share| level_around(&data.exact, share));
    let parts = [
        ("Encoder", &data.initial.density, format!("KL = {:.3} nats", data.initial.divergence)),
        ("After the HMC steps", &data.improved.density, format!("KL ≈ {:.3} nats", data.improved.divergence)),
        (
            "Exact posterior",
            &data.exact,
            format!("log p(x) = {:.2} nats", data.log_evidence).replace('-', "−"),
        ),
    ];
    for (i, (name, density, text)) in parts.into_iter().enumerate() {
        let area = Rect { x: 76.0 + 372.0 * i as f64, y: 44.0, width: SIDE, height: SIDE };
        let panel = Panel::new(area, low, high);
        // The square root shows more of what is not the summit.
        contour::fill(&mut scene, &panel, density, |v| ramp::density((v / top).max(0.0).sqrt()));
        scene.clipped(area, |scene| {
            for level in levels {
                let paint = Paint { colour: (200, 60, 30), opacity: 0.9 };
                contour::draw_lines(scene, &panel, &data.exact, level, Stroke::new(paint, 1.2));
            }
        });
        panel.axes(&mut scene, name, "z_1", "z_2");
        scene.text(Text::new((area.centre().0, area.bottom() + 66.0), text, LABEL + 1.0).bold());
        if i == 2 {
            let inset = Rect { x: area.right() - 74.0, y: area.y + 6.0, width: 68.0, height: 68.0 };
            scene.rect(inset, Some(WHITE.into()), Some(Stroke::new(BLACK, 1.0)));
            framed(&mut scene, inset, &data.observed);
        }
    }
    notes(&mut scene, data);
    scene
}

fn notes(scene: &mut Scene, data: &Posteriors) {
    let lines = [
        "Lines hold 50, 90 and 99 % of the exact posterior, a quadrature on a grid; so is the encoder’s KL(q ‖ p).".into(),
        format!("After the HMC steps: a kernel estimate from {} draws, which is too wide and noisy. For as many", data.draws),
        format!(
            "draws of the exact posterior, where KL is 0, it gives {:.3}; for the encoder’s draws {:.3}.",
            data.estimate_of_exact, data.estimate_of_initial
        ),
    ];
    for (i, line) in lines.into_iter().enumerate() {
        scene.text(Text::new((570.0, 450.0 + 21.0 * i as f64), line, 14.5).colour(GREY));
    }
}

/// The part of the grid in which either density can be seen.
fn window(a: &Field, b: &Field) -> ([f64; 2], [f64; 2]) {
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
