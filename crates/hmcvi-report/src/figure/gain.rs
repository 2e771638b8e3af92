//! Draw what HMC steps gain over a plain VAE: a tighter bound, and draws that follow the exact posterior.

use hmcvi_record::Estimate;
use hmcvi_record::figure::{Density, Posteriors};

use super::panel::{BELOW, Key, legend, range, ticks};
use super::posteriors::{Beside, Window, observed, window};
use super::{LABEL, NUMBER, TITLE};
use crate::palette::{Colour, GRID, PAPER, SOFT};
use crate::scene::{Anchor, Rect, Scene, Shape, Stroke, Text};
use crate::words::{fixed, with_error};

/// Two models that had the same training, on the same test images.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// The model without HMC steps.
    pub plain: GainOf,
    /// The model with them.
    pub hmcvi: GainOf,
    /// How the image was chosen whose posterior is shown.
    pub chosen: String,
}

/// What is known of one of the models; values are `-log p(x)` in nats per image.
#[derive(Clone, Debug, PartialEq)]
pub struct GainOf {
    /// Its name.
    pub name: String,
    /// By quadrature.
    pub exact: Estimate,
    /// The variational bound.
    pub bound: Estimate,
    /// The bound less the exact value, image by image.
    pub gap: Estimate,
    /// Approximations of the posterior of one image.
    pub posterior: Posteriors,
}

const SIDE: f64 = 290.0;
const TOP: f64 = 84.0;

/// Bounds and exact values on the left; on the right, what each model draws beside its own exact posterior.
pub fn gain(data: &Gain) -> Scene {
    let (plain, hmcvi) = (&data.plain, &data.hmcvi);
    let mut scene = Scene::new(headline(data), 1180.0, 494.0);
    scene.text(Text::new((590.0, 32.0), headline(data), TITLE + 5.0).bold());
    let area = |x: f64| Rect { x, y: TOP, width: SIDE, height: SIDE };
    bounds(&mut scene, Rect { width: 360.0, ..area(36.0) }, [plain, hmcvi]);
    let (first, second) = (&plain.posterior, &hmcvi.posterior);
    let panels = [
        (area(486.0), plain, &first.initial, "=", "a Gaussian"),
        (area(862.0), hmcvi, &second.improved, "≈", "after HMC steps"),
    ];
    let windows = alike(panels.map(|(_, model, density, ..)| around(model, density)));
    for ((area, model, density, sign, what), window) in panels.into_iter().zip(windows) {
        let title = format!("{}: {what}", model.name);
        let Posteriors { exact, initial, improved, observed: image, .. } = &model.posterior;
        let exact = Beside::of(exact, [&initial.density, &improved.density]);
        exact.draw(&mut scene, (area, window), &title, &density.density);
        observed(&mut scene, area, image);
        let text = format!("KL to the exact posterior {sign} {} nats", fixed(density.divergence, 2));
        scene.text(Text::new((area.centre().0, area.bottom() + BELOW + 14.0), text, LABEL).bold());
    }
    let note = "Blue: approximate posterior of one test image; red: contours that hold 50, 90 and 99% of the exact one.";
    for (i, line) in [note, &data.chosen].into_iter().enumerate() {
        scene.text(Text::new((817.0, 466.0 + 18.0 * i as f64), line, NUMBER).colour(SOFT));
    }
    scene
}

fn around(model: &GainOf, density: &Density) -> Window {
    window(&model.posterior.exact, &density.density)
}

/// The same with sides as long as the longest, so that one unit is as long in both.
fn alike(windows: [Window; 2]) -> [Window; 2] {
    let half = windows.iter().map(|(low, high)| 0.5 * (high[0] - low[0])).fold(0.0, f64::max);
    windows.map(|(low, high)| {
        let middle = [0, 1].map(|i| 0.5 * (low[i] + high[i]));
        (middle.map(|m| m - half), middle.map(|m| m + half))
    })
}

/// The outcome in a few words.
fn headline(data: &Gain) -> String {
    let (before, after) = (data.plain.gap.mean, data.hmcvi.gap.mean);
    let better = data.plain.exact.mean - data.hmcvi.exact.mean;
    let chance = 2.0 * data.plain.gap.standard_error.hypot(data.hmcvi.gap.standard_error);
    if before - after > chance && better > 0.05 {
        let closed = 100.0 * (1.0 - after / before);
        return format!(
            "HMC steps close {closed:.0}% of the bound’s gap, and the model is {better:.1} nats better"
        );
    }
    format!("The bound’s gap without and with HMC steps: {} and {} nats", fixed(before, 2), fixed(after, 2))
}

/// A row for each model: from its exact value to its bound.
fn bounds(scene: &mut Scene, area: Rect, models: [&GainOf; 2]) {
    let values = models.into_iter().flat_map(|m| [m.exact.mean, m.bound.mean]);
    let (low, high) = range(values, 0.22).unwrap_or((0.0, 1.0));
    let at = |value: f64| area.x + (value - low) / (high - low) * area.width;
    scene.text(
        Text::new((area.centre().0, area.y - 12.0), "Nats per test image, smaller is better", TITLE).bold(),
    );
    let numbers = ticks(low, high, 5.0, false);
    for (value, label) in &numbers {
        scene.text(Text::new((at(*value), area.bottom() + 5.0 + NUMBER), label, NUMBER));
    }
    for (i, model) in models.into_iter().enumerate() {
        let (top, colour) = (area.y + 10.0 + 140.0 * i as f64, Colour::Line(1 - i));
        let (y, left, right) = (top + 56.0, at(model.exact.mean), at(model.bound.mean));
        for (value, _) in &numbers {
            scene.line(&[(at(*value), top + 34.0), (at(*value), top + 78.0)], Stroke::new(GRID, 1.0));
        }
        let name =
            format!("{}: bound {}", model.name, with_error(model.bound.mean, model.bound.standard_error, 1));
        scene.text(Text::new((area.x, top + 20.0), name, LABEL).anchor(Anchor::Start).bold());
        scene.line(&[(left, y), (right, y)], Stroke::new(colour, 9.0));
        let disc = |x: f64, fill: Colour| Shape::Disc {
            place: (x, y),
            radius: 9.0,
            fill,
            edge: Stroke::new(colour, 3.0),
        };
        scene.add(disc(left, PAPER));
        scene.add(disc(right, colour));
        let gap = format!("gap {} nats", with_error(model.gap.mean, model.gap.standard_error, 2));
        scene.text(Text::new(((left + right) / 2.0, top + 100.0), gap, LABEL));
    }
    let keys = vec![(Key::Ring(SOFT), "exact −log p(x)"), (Key::Dot(SOFT), "its bound, which is trained")];
    legend(scene, (area.centre().0, area.bottom() + BELOW + 14.0), keys);
}
