//! Check that the figures of landscapes and of binarisation plot what they say.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use hmcvi::data::{Dataset, PixelScale};
use hmcvi::figure::{EnsembleSettings, FigureError, MotionSettings, binarised, ensemble, flow_chart, motion};
use hmcvi_record::figure::{Motion, Point};

/// The craters, written down again.
fn craters([x, y]: Point) -> f64 {
    let wells: [(f64, f64, f64, f64); 4] =
        [(-1.6, 1.1, 9.0, 0.55), (1.3, 1.4, 7.0, 0.45), (0.4, -1.5, 8.0, 0.6), (-1.2, -0.9, 5.0, 0.4)];
    let well = |(cx, cy, depth, width): (f64, f64, f64, f64)| {
        depth * (-((x - cx).powi(2) + (y - cy).powi(2)) / (2.0 * width * width)).exp()
    };
    (x * x + y * y) / 8.0 - wells.into_iter().map(well).sum::<f64>()
}

/// Largest distance of the total energy from what it was at the start of its simulation.
fn energy_error(motion: &Motion) -> f64 {
    let total = |p: &hmcvi_record::figure::Phase| p.potential + p.kinetic;
    let errors = motion.simulations.iter().flat_map(|s| s.iter().map(|p| (total(p) - total(&s[0])).abs()));
    errors.fold(0.0, f64::max)
}

#[test]
fn the_total_energy_of_a_motion_is_constant_up_to_the_square_of_the_step_size() {
    let usual = MotionSettings::default();
    let error = |parts: usize| {
        let settings = MotionSettings {
            leapfrog_steps: parts * usual.leapfrog_steps,
            step_size: usual.step_size / parts as f64,
            ..usual
        };
        energy_error(&motion(&settings).expect("it runs"))
    };
    let errors = [1, 2, 4, 8].map(error);
    assert!(errors[0] < 0.6, "the potential energy changes by 8: {errors:?}");
    // The leading term has the factor 4; the next one, of the fourth order, is gone after the first halving.
    assert!(errors.windows(2).skip(1).all(|e| (3.8..4.2).contains(&(e[0] / e[1]))), "{errors:?}");
}

#[test]
fn energies_of_a_motion_belong_to_its_positions_and_momenta() {
    let found = motion(&MotionSettings { hmc_steps: 3, leapfrog_steps: 4, ..MotionSettings::default() })
        .expect("it runs");
    assert_eq!(found.simulations.iter().map(Vec::len).collect::<Vec<_>>(), [5, 5, 5]);
    for (i, p) in found.simulations.iter().flatten().enumerate() {
        assert!((p.potential - craters(p.z)).abs() < 1e-12, "potential {i}");
        assert!((p.kinetic - 0.5 * (p.v[0].powi(2) + p.v[1].powi(2))).abs() < 1e-12, "kinetic {i}");
        let time = 0.1 * ((i / 5) * 4 + i % 5) as f64;
        assert!((p.time - time).abs() < 1e-12, "time {i}");
    }
    for t in 0..2 {
        let (end, start) = (found.simulations[t][4], found.simulations[t + 1][0]);
        assert!(found.accepted[t], "the seed of the figure has no rejection");
        assert_eq!(end.z, start.z, "only the momentum is drawn anew");
        assert_ne!(end.v, start.v);
    }
    let one = motion(&MotionSettings::default()).expect("it runs");
    assert_eq!(one.simulations[0][..5], found.simulations[0][..], "the two figures begin alike");
    for (z, value) in found.landscape.points().zip(&found.landscape.values) {
        assert!((value - craters(z)).abs() < 1e-12, "landscape at {z:?}");
    }
}

#[test]
fn energies_of_an_ensemble_belong_to_its_positions_and_fall() {
    let found = ensemble(&EnsembleSettings::default()).expect("it runs");
    for particles in [&found.before, &found.after] {
        assert_eq!(
            (particles.positions.len(), particles.momenta.len(), particles.potential.len()),
            (1000, 1000, 1000)
        );
        for (z, potential) in particles.positions.iter().zip(&particles.potential) {
            assert!((potential - craters(*z)).abs() < 1e-12);
        }
    }
    // First momenta are standard normal: both variances within five standard errors of 1.
    for i in 0..2 {
        let variance = found.before.momenta.iter().map(|v| v[i] * v[i]).sum::<f64>() / 1000.0;
        assert!((variance - 1.0).abs() < 5.0 * (2.0f64 / 1000.0).sqrt(), "{variance}");
    }
    let mean = |energies: &[f64]| energies.iter().sum::<f64>() / 1000.0;
    assert!(mean(&found.after.potential) < mean(&found.before.potential) - 0.5, "particles slide downhill");
    assert!(found.acceptance_rate > 0.9 && found.acceptance_rate < 1.0, "{}", found.acceptance_rate);
    // Energy goes from one kind to the other: accepted particles keep their total.
    let total = |p: &hmcvi_record::figure::Particles| -> f64 {
        let kinetic = p.momenta.iter().map(|v| 0.5 * (v[0] * v[0] + v[1] * v[1])).sum::<f64>();
        kinetic / 1000.0 + mean(&p.potential)
    };
    assert!((total(&found.after) - total(&found.before)).abs() < 0.1);
}

#[test]
fn binary_images_are_binary_and_draws_average_to_the_original() {
    let data = Dataset::embedded().expect("embedded");
    let found = binarised(data.test(), 11, PixelScale::P256, 1).expect("an image");
    let (original, average) = (&found.original.values, &found.average.values);
    assert_eq!((original.len(), found.class), (784, Some(6)));
    assert!(original.iter().any(|v| *v > 0.0 && *v < 1.0), "the original is grey");
    for (i, p) in original.iter().enumerate() {
        let (threshold, stochastic) = (found.threshold.values[i], found.stochastic.values[i]);
        assert_eq!(threshold, if *p >= 0.5 { 1.0 } else { 0.0 });
        assert!(stochastic == 0.0 || stochastic == 1.0);
        assert!(*p > 0.0 || stochastic == 0.0, "what is black stays black");
        let error = (p * (1.0 - p) / found.draws as f32).sqrt();
        // 784 pixels: five standard errors and a draw.
        assert!(
            (average[i] - p).abs() <= 5.0 * error + 1.0 / found.draws as f32,
            "pixel {i}: {} for {p}",
            average[i]
        );
    }
    assert_ne!(found.threshold, found.stochastic);
    let error = binarised(data.test(), 1000, PixelScale::P256, 1).expect_err("there are 1000 images");
    assert!(matches!(error, FigureError::NoImage { image: 1000, images: 1000 }), "{error}");
}

#[test]
fn the_flow_chart_names_every_state_of_the_paper() {
    let found = flow_chart();
    assert_eq!((found.states.len(), found.steps.len(), found.ends.len()), (4, 4, 2));
    let all = serde_json::to_string(&found).expect("JSON");
    for name in ["s_{t−1}", "s*_{t−1}", "s_HD", "s̃_t", "s_t = (z_HD, v_HD)", "s_t = (z_{t−1}, −u_{t−1})"]
    {
        assert!(all.contains(name), "{name}");
    }
}
