//! Check that pixels have the values, or the distribution, that their settings name.
#![allow(clippy::unwrap_used)]

use hmcvi::data::{Binarisation, PixelScale};

/// Uniform draws from `[0, 1)` with 24 bits, by SplitMix64.
fn uniforms(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 40) as f32 / 16_777_216.0
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn probabilities_are_bytes_over_the_divisor() {
    for byte in 0..=255 {
        assert_eq!(PixelScale::P256.probability(byte), f64::from(byte) / 256.0);
        assert_eq!(PixelScale::P255.probability(byte), f64::from(byte) / 255.0);
    }
    assert_eq!(PixelScale::P256.probability(255), 255.0 / 256.0);
    assert_eq!(PixelScale::P255.probability(255), 1.0);
}

#[test]
fn stochastic_means_are_the_probabilities() {
    const DRAWS: usize = 100_000;
    for (scale, divisor) in [(PixelScale::P256, 256.0), (PixelScale::P255, 255.0)] {
        for byte in [0, 1, 17, 64, 127, 128, 200, 254, 255] {
            let draws = uniforms(u64::from(byte) + 1000, DRAWS);
            let pixels = Binarisation::Stochastic.pixels(scale, &[byte; DRAWS], &draws).unwrap();
            assert!(pixels.iter().all(|&pixel| pixel == 0.0 || pixel == 1.0));
            let mean = pixels.iter().map(|&pixel| f64::from(pixel)).sum::<f64>() / DRAWS as f64;
            let probability = f64::from(byte) / divisor;
            // Four standard errors of the mean of Bernoulli draws; none for the sure events.
            let tolerance = 4.0 * (probability * (1.0 - probability) / DRAWS as f64).sqrt();
            assert!((mean - probability).abs() <= tolerance, "{byte}/{divisor}: {mean}");
        }
    }
}

#[test]
fn the_edges_of_a_draw_count_as_documented() {
    // A pixel is one where the draw is below the probability, so 0 is never one and 255/255 always.
    let pixel = |byte, uniform| Binarisation::Stochastic.pixel(PixelScale::P255, byte, uniform);
    assert_eq!((pixel(0, 0.0), pixel(1, 0.0), pixel(255, 1.0 - f32::EPSILON / 2.0)), (0.0, 1.0, 1.0));
    assert_eq!(Binarisation::Stochastic.pixel(PixelScale::P256, 128, 0.5), 0.0);
}

#[test]
fn the_threshold_is_one_half() {
    for scale in [PixelScale::P256, PixelScale::P255] {
        let pixels = Binarisation::Threshold.pixels(scale, &[0, 127, 128, 255], &[]).unwrap();
        assert_eq!(pixels, [0.0, 0.0, 1.0, 1.0]);
    }
}

#[test]
fn grey_values_are_kept_where_nothing_is_binarised() {
    let pixels = Binarisation::None.pixels(PixelScale::P256, &[0, 64, 255], &[]).unwrap();
    assert_eq!(pixels, [0.0, 0.25, 255.0 / 256.0]);
}

#[test]
fn stochastic_pixels_need_a_draw_each() {
    let error = Binarisation::Stochastic.pixels(PixelScale::P256, &[1, 2, 3], &[0.5]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "binarisation: number of uniform draws is 1, expected 3, one for each pixel"
    );
}

#[test]
fn settings_are_words_and_numbers() {
    for (setting, text) in [
        (Binarisation::None, "\"none\""),
        (Binarisation::Threshold, "\"threshold\""),
        (Binarisation::Stochastic, "\"stochastic\""),
    ] {
        assert_eq!(serde_json::to_string(&setting).unwrap(), text);
        assert_eq!(serde_json::from_str::<Binarisation>(text).unwrap(), setting);
    }
    for (scale, text) in [(PixelScale::P256, "256"), (PixelScale::P255, "255")] {
        assert_eq!(serde_json::to_string(&scale).unwrap(), text);
        assert_eq!(serde_json::from_str::<PixelScale>(text).unwrap(), scale);
    }
    let error = serde_json::from_str::<PixelScale>("254").unwrap_err().to_string();
    assert!(error.contains("pixel_scale is 254, expected 256 or 255"), "{error}");
}
