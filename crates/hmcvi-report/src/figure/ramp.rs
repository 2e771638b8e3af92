//! Turn numbers from 0 to 1 into colours whose lightness tells them apart, also in grey and for the colour-blind.

use crate::scene::Colour;

/// From the first point of a path to the last: dark violet, red, orange.
const PATH: [Colour; 5] = [(42, 16, 110), (118, 22, 140), (190, 50, 108), (236, 108, 60), (252, 178, 48)];
/// From low to high energies: slate blue to almost white.
const ENERGY: [Colour; 5] =
    [(118, 150, 190), (160, 184, 213), (196, 212, 230), (224, 233, 242), (248, 249, 251)];
/// From low to high densities: white to dark blue.
const DENSITY: [Colour; 6] =
    [(255, 255, 255), (218, 232, 245), (160, 200, 227), (92, 158, 204), (34, 105, 175), (8, 48, 107)];
/// From low to high contours: dark blue, green, yellow ochre.
const CONTOUR: [Colour; 5] = [(38, 32, 110), (40, 92, 140), (32, 144, 130), (110, 178, 70), (196, 178, 40)];

fn between(stops: &[Colour], share: f64) -> Colour {
    let at = share.clamp(0.0, 1.0) * (stops.len() - 1) as f64;
    let (low, part) = ((at as usize).min(stops.len() - 2), at - (at as usize).min(stops.len() - 2) as f64);
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8;
    let ((r, g, b), (r2, g2, b2)) = (stops[low], stops[low + 1]);
    (mix(r, r2), mix(g, g2), mix(b, b2))
}

pub(super) fn path(share: f64) -> Colour {
    between(&PATH, share)
}

pub(super) fn energy(share: f64) -> Colour {
    between(&ENERGY, share)
}

pub(super) fn density(share: f64) -> Colour {
    between(&DENSITY, share)
}

pub(super) fn contour(share: f64) -> Colour {
    between(&CONTOUR, share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ramp_goes_one_way_in_lightness() {
        let lightness =
            |(r, g, b): Colour| 0.299 * f64::from(r) + 0.587 * f64::from(g) + 0.114 * f64::from(b);
        for (ramp, sign) in [
            (path as fn(f64) -> Colour, 1.0),
            (energy as fn(f64) -> Colour, 1.0),
            (density as fn(f64) -> Colour, -1.0),
            (contour as fn(f64) -> Colour, 1.0),
        ] {
            let all: Vec<f64> = (0..=20).map(|i| sign * lightness(ramp(f64::from(i) / 20.0))).collect();
            assert!(all.windows(2).all(|w| w[1] > w[0]), "{all:?}");
        }
        assert_eq!([path(-1.0), path(2.0)], [PATH[0], PATH[4]]);
    }
}
