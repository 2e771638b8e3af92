//! Turn numbers from 0 to 1 into colours whose lightness tells them apart, also in grey and for the colour-blind.

use crate::palette::{Colour, Rgb};

/// Red, green, blue and opacity.
pub(super) type Rgba = [u8; 4];

/// From the first point of a path to the last: dark violet, red, orange.
const PATH: [Rgb; 5] = [(42, 16, 110), (118, 22, 140), (190, 50, 108), (236, 108, 60), (252, 178, 48)];
/// Low energies are slate blue, which high ones let the paper shine through.
const ENERGY: Rgb = (96, 134, 180);
/// From low to high densities: white to dark blue.
const DENSITY: [Rgb; 6] =
    [(255, 255, 255), (218, 232, 245), (160, 200, 227), (92, 158, 204), (34, 105, 175), (8, 48, 107)];
/// From low to high contours: blue, green, yellow ochre.
const CONTOUR: [Rgb; 5] = [(80, 70, 190), (50, 110, 180), (32, 150, 140), (110, 178, 70), (196, 178, 40)];

fn between(stops: &[Rgb], share: f64) -> Rgb {
    let at = share.clamp(0.0, 1.0) * (stops.len() - 1) as f64;
    let (low, part) = ((at as usize).min(stops.len() - 2), at - (at as usize).min(stops.len() - 2) as f64);
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8;
    let ((r, g, b), (r2, g2, b2)) = (stops[low], stops[low + 1]);
    (mix(r, r2), mix(g, g2), mix(b, b2))
}

pub(super) fn path(share: f64) -> Colour {
    Colour::Fixed(between(&PATH, share))
}

pub(super) fn energy(share: f64) -> Rgba {
    let (r, g, b) = ENERGY;
    [r, g, b, (230.0 * (1.0 - share.clamp(0.0, 1.0))).round() as u8]
}

pub(super) fn density(share: f64) -> Rgba {
    let (r, g, b) = between(&DENSITY, share);
    [r, g, b, u8::MAX]
}

pub(super) fn contour(share: f64) -> Colour {
    Colour::Fixed(between(&CONTOUR, share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ramp_goes_one_way_in_lightness() {
        let lightness = |(r, g, b): Rgb| 0.299 * f64::from(r) + 0.587 * f64::from(g) + 0.114 * f64::from(b);
        for (stops, sign) in [(&PATH[..], 1.0), (&DENSITY[..], -1.0), (&CONTOUR[..], 1.0)] {
            let all: Vec<f64> =
                (0..=20).map(|i| sign * lightness(between(stops, f64::from(i) / 20.0))).collect();
            assert!(all.windows(2).all(|w| w[1] > w[0]), "{all:?}");
        }
        let opacities: Vec<u8> = (0..=20).map(|i| energy(f64::from(i) / 20.0)[3]).collect();
        assert!(opacities.windows(2).all(|w| w[1] < w[0]), "{opacities:?}");
        assert_eq!([between(&PATH, -1.0), between(&PATH, 2.0)], [PATH[0], PATH[4]]);
    }
}
