//! Draw families that were fitted to one image beside its exact posterior, which has several modes.

use hmcvi_record::figure::Modes;

use super::posteriors::{Beside, observed, window};
use super::{LABEL, NUMBER};
use crate::palette::SOFT;
use crate::scene::{Rect, Scene, Text};
use crate::words::grouped;

const SIDE: f64 = 300.0;
const COLUMNS: usize = 3;
/// From a panel to the next.
const WIDTH: f64 = 372.0;
const HEIGHT: f64 = 436.0;

/// Two rows of panels with the same axes and colours; the contours of the posterior are in all of them.
pub fn modes(data: &Modes) -> Scene {
    let shares = |shares: &[f64]| {
        let each: Vec<String> = shares.iter().take(3).map(|share| format!("{:.0}%", 100.0 * share)).collect();
        format!("in the modes: {}", each.join(", "))
    };
    let mut parts: Vec<_> = data
        .fits
        .iter()
        .map(|fit| {
            let kl = format!("KL ≈ {:.3} nats", fit.density.divergence);
            (fit.name.as_str(), &fit.density.density, kl, shares(&fit.shares))
        })
        .collect();
    let evidence = format!("log p(x) = {:.2} nats", data.log_evidence).replace('-', "−");
    parts.push(("Exact posterior", &data.exact, evidence, shares(&data.shares)));
    let exact = Beside::of(&data.exact, data.fits.iter().map(|fit| &fit.density.density));
    let trained = data.fits.first().map_or(&data.exact, |fit| &fit.density.density);
    let window = window(&data.exact, trained);
    let rows = parts.len().div_ceil(COLUMNS);
    let width = 24.0 + WIDTH * COLUMNS as f64;
    let title = "Families fitted to one image beside its exact posterior";
    let mut scene = Scene::new(title, width, 80.0 + HEIGHT * rows as f64);
    let last = parts.len() - 1;
    for (i, (name, density, text, shares)) in parts.into_iter().enumerate() {
        let (column, row) = (i % COLUMNS, i / COLUMNS);
        let area = Rect {
            x: 76.0 + WIDTH * column as f64,
            y: 44.0 + HEIGHT * row as f64,
            width: SIDE,
            height: SIDE,
        };
        exact.draw(&mut scene, (area, window), name, density);
        let centre = area.centre().0;
        scene.text(Text::new((centre, area.bottom() + 66.0), text, LABEL + 1.0).bold());
        scene.text(Text::new((centre, area.bottom() + 86.0), shares, NUMBER + 1.0).colour(SOFT));
        if i == last {
            observed(&mut scene, area, &data.observed);
        }
    }
    for (i, line) in notes(data).into_iter().enumerate() {
        let at = (width / 2.0, HEIGHT * rows as f64 + 22.0 + 21.0 * i as f64);
        scene.text(Text::new(at, line, 14.5).colour(SOFT));
    }
    scene
}

fn notes(data: &Modes) -> [String; 3] {
    let parts = data.fits.iter().map(|fit| fit.parts).max().unwrap_or(1);
    [
        "Contours hold 50, 90 and 99% of the exact posterior, found by quadrature on a grid. The first panel is the model’s own chain.".into(),
        format!(
            "The others were fitted to this image alone with {} updates along tempered posteriors, from the model’s encoder; a mixture has {parts} parts.",
            grouped(data.updates)
        ),
        format!(
            "Densities are kernel estimates from {} draws: for as many draws of the exact posterior, whose KL is 0, it gives {:.3}.",
            grouped(data.draws as u64),
            data.estimate_of_exact
        ),
    ]
}
