//! Run long chains of plain HMC to targets with known moments, and check what settings do to them.

mod common;

use common::{STANDARD_ERRORS, assert_close, normals};
use hmcvi::hmc::diagnostics::summary;
use hmcvi::hmc::{Sampler, SamplerError, SamplerSettings, Samples};
use hmcvi::potential::{Landscape, Potential};

const CHAINS: usize = 32;
const STEPS: usize = 1100;
/// Steps that are left out at the beginning: starts are not draws from the target.
const WARM_UP: usize = 100;

fn run(landscape: Landscape, settings: &SamplerSettings) -> Samples {
    let mut sampler = Sampler::new(settings, CHAINS, |g| landscape.potential(g)).expect("valid settings");
    assert_eq!(sampler.dimension(), 2);
    let samples = sampler.run(&normals(12, 2 * CHAINS), STEPS).expect("the sampler runs");
    assert_eq!(samples.steps(), STEPS);
    samples
}

/// Checks the mean of a function of the position against its known value.
#[track_caller]
fn assert_moment(what: &str, samples: &Samples, expected: f64, f: impl Fn(f64, f64) -> f64) {
    let chain = |c: usize| -> Vec<f64> {
        let (x, y) = (samples.coordinate(c, 0), samples.coordinate(c, 1));
        x.iter().zip(&y).skip(WARM_UP).map(|(x, y)| f(*x, *y)).collect()
    };
    let s = summary(&(0..samples.chains).map(chain).collect::<Vec<_>>()).expect("values are finite");
    let distance = (s.mean - expected).abs() / s.mcse_mean;
    assert!(s.r_hat < 1.015, "{what}: {s:?}");
    assert!(distance < STANDARD_ERRORS, "{what}: {s:?}, expected {expected}: {distance:.1} errors");
    // Four errors are then at most 10% of a standard deviation: small enough to see a wrong value.
    assert!(s.ess_mean > 1500.0, "{what}: {s:?}");
}

fn check_moments(landscape: Landscape, settings: &SamplerSettings) {
    let samples = run(landscape, settings);
    let what = |moment: &str| format!("{landscape:?}, {moment}, {settings:?}");
    let (mean, variance) = landscape.moments().expect("the landscape's moments are known");
    assert_moment(&what("mean of z₀"), &samples, mean[0], |x, _| x);
    assert_moment(&what("mean of z₁"), &samples, mean[1], |_, y| y);
    assert_moment(&what("variance of z₀"), &samples, variance[0], |x, _| (x - mean[0]).powi(2));
    assert_moment(&what("variance of z₁"), &samples, variance[1], |_, y| (y - mean[1]).powi(2));
    let (expected, product): (f64, fn(f64, f64) -> f64) = match landscape {
        // Covariance: correlation 0.8 with standard deviations 1 and 0.5.
        Landscape::Gaussian => (0.4, |x, y| x * y),
        // E[z₀² z₁] = E[z₀²(z₀² - 1)] = 3 - 1
        Landscape::Banana => (2.0, |x, y| x * x * y),
        // E|z₀|² is known already; both wells are visited equally.
        _ => (0.0, |x, _| x.signum()),
    };
    assert_moment(&what("third moment"), &samples, expected, product);
    let rate = samples.acceptance_rate();
    assert!(rate > 0.5 && rate < 0.995, "{landscape:?}: {rate} accepted; the acceptance step has no work");
}

/// Step sizes at which a part of the proposals is rejected.
const KNOWN: [(Landscape, f64, usize, [f64; 2]); 3] = [
    (Landscape::Gaussian, 0.4, 5, [0.8, 2.0]),
    (Landscape::Banana, 0.11, 22, [0.9, 1.2]),
    (Landscape::Mixture, 0.7, 4, [1.5, 0.7]),
];

#[test]
fn chains_reach_the_known_moments() {
    for (landscape, step_size, leapfrog_steps, _) in KNOWN {
        let settings = SamplerSettings { step_size, leapfrog_steps, seed: 21, ..SamplerSettings::default() };
        check_moments(landscape, &settings);
    }
}

#[test]
fn chains_with_partial_momentum_updates_reach_the_known_moments() {
    for (landscape, step_size, leapfrog_steps, _) in KNOWN {
        let (alpha, seed) = (0.6, 22);
        let settings =
            SamplerSettings { step_size, leapfrog_steps, alpha, seed, ..SamplerSettings::default() };
        check_moments(landscape, &settings);
    }
}

#[test]
fn chains_with_a_mass_reach_the_known_moments() {
    for (landscape, step_size, leapfrog_steps, mass) in KNOWN {
        // With partial updates for one of them.
        let alpha = if landscape == Landscape::Gaussian { 0.6 } else { 0.0 };
        let (mass, seed) = (mass.to_vec(), 23);
        let settings =
            SamplerSettings { step_size, leapfrog_steps, alpha, mass, seed, ..SamplerSettings::default() };
        check_moments(landscape, &settings);
    }
}

#[test]
fn a_mass_matrix_is_a_rescaling_of_space() {
    // `sec:EffectOfKineticEnergyChoice`: mass M in q is the identity in q' = A⁻¹q with A = M^(-½),
    // draw for draw. Momenta are p' = Ap.
    let mass: [f64; 2] = [2.5, 0.4];
    let scale = mass.map(|m| 1.0 / m.sqrt());
    for landscape in Landscape::ALL {
        for alpha in [0.0, 0.6] {
            let (step_size, leapfrog_steps, seed) = (0.25, 4, 31);
            let plain =
                SamplerSettings { step_size, leapfrog_steps, alpha, seed, ..SamplerSettings::default() };
            let heavy = SamplerSettings { mass: mass.to_vec(), ..plain.clone() };
            let start = normals(13, 2 * CHAINS);
            let scaled: Vec<f64> = start.iter().enumerate().map(|(i, q)| q / scale[i % 2]).collect();
            let mut in_q = Sampler::new(&heavy, CHAINS, |g| landscape.potential(g)).expect("valid settings");
            let mut in_scaled = Sampler::new(&plain, CHAINS, |g| {
                let (potential, a) = (landscape.potential(g), g.constant_matrix(1, 2, &scale));
                Potential::from_expression(2, move |z| potential.log_density(z * a))
            })
            .expect("valid settings");
            let a = in_q.run(&start, 8).expect("the sampler runs");
            let b = in_scaled.run(&scaled, 8).expect("the sampler runs");
            let what = format!("{landscape:?} {alpha}");
            let times =
                |x: &[f64]| -> Vec<f64> { x.iter().enumerate().map(|(i, x)| x * scale[i % 2]).collect() };
            assert_eq!(a.accepted, b.accepted, "{what}");
            assert!(
                a.accepted.iter().any(|a| !a) && a.accepted.iter().any(|a| *a),
                "{what}: decisions differ"
            );
            // Motion between the craters is chaotic: rounding of 1e-16 grows by a factor of 2 or so in
            // each of 32 leapfrog steps.
            assert_close(&what, &a.positions, &times(&b.positions), 1e-6);
            assert_close(&what, &times(&a.momenta), &b.momenta, 1e-6);
            assert_close(&what, &a.energy_error, &b.energy_error, 1e-6);
        }
    }
}

#[test]
fn without_acceptance_the_variance_is_that_of_the_shadow_energy() {
    // For U = z²/2s² leapfrog conserves v²/2 + (1 - ε²/4s²) z²/2s² exactly: the chain's variance
    // becomes s²/(1 - ε²/4s²). The acceptance step brings it back to s².
    let (s, step_size): (f64, f64) = (0.8, 0.9);
    let shadow = s * s / (1.0 - step_size * step_size / (4.0 * s * s));
    for (accept, alpha, variance) in [(true, 0.0, s * s), (false, 0.0, shadow), (false, 0.5, shadow)] {
        let settings = SamplerSettings {
            step_size,
            leapfrog_steps: 4,
            alpha,
            accept,
            seed: 41,
            ..SamplerSettings::default()
        };
        let mut sampler = Sampler::new(&settings, CHAINS, |_| {
            Potential::from_expression(1, move |z| z.square() * (-0.5 / (s * s)))
        })
        .expect("valid settings");
        let samples = sampler.run(&vec![0.0; CHAINS], STEPS).expect("the sampler runs");
        let squares = |c| samples.coordinate(c, 0).iter().skip(WARM_UP).map(|z| z * z).collect::<Vec<_>>();
        let s = summary(&(0..CHAINS).map(squares).collect::<Vec<_>>()).expect("values are finite");
        let distance = (s.mean - variance).abs() / s.mcse_mean;
        assert!(distance < STANDARD_ERRORS, "accept {accept}, α {alpha}: {s:?}, expected {variance}");
        // The two predictions are told apart.
        assert!(s.mcse_mean < 0.05 * (shadow - 0.64), "{s:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_chains_and_another_seed_others() {
    let sample = |seed, chains: usize| {
        let settings = SamplerSettings { seed, ..SamplerSettings::default() };
        let mut sampler =
            Sampler::new(&settings, chains, |g| Landscape::Banana.potential(g)).expect("valid settings");
        sampler.run(&vec![0.5; 2 * chains], 5).expect("the sampler runs")
    };
    let (first, again, other) = (sample(1, 4), sample(1, 4), sample(2, 4));
    assert_eq!(first.positions, again.positions);
    assert_ne!(first.positions, other.positions);
    // A chain's draws do not depend on how many run beside it; chains differ from each other.
    let more = sample(1, 200);
    for chain in 0..4 {
        assert_eq!(first.coordinate(chain, 0), more.coordinate(chain, 0));
        assert_ne!(first.coordinate(chain, 0), more.coordinate(chain + 1, 0));
    }
}

#[test]
fn wrong_settings_are_named_with_their_value_and_what_is_allowed() {
    type Change = fn(&mut SamplerSettings);
    let cases: [(&str, &str, &str, Change); 13] = [
        ("step_size", "0", "a positive number", |s| s.step_size = 0.0),
        ("step_size", "-0.1", "a positive number", |s| s.step_size = -0.1),
        ("step_size", "NaN", "a positive number", |s| s.step_size = f64::NAN),
        ("step_size", "inf", "a positive number", |s| s.step_size = f64::INFINITY),
        ("jitter", "1", "from 0 to below 1", |s| s.jitter = 1.0),
        ("jitter", "NaN", "from 0 to below 1", |s| s.jitter = f64::NAN),
        ("leapfrog_steps", "0", "at least 1", |s| s.leapfrog_steps = 0),
        ("alpha", "1", "between -1 and 1", |s| s.alpha = 1.0),
        ("alpha", "-1.5", "between -1 and 1", |s| s.alpha = -1.5),
        ("alpha", "NaN", "between -1 and 1", |s| s.alpha = f64::NAN),
        ("mass", "[1.0]", "empty or one value for each dimension", |s| s.mass = vec![1.0]),
        ("mass", "[1.0, 0.0]", "made of positive numbers", |s| s.mass = vec![1.0, 0.0]),
        ("mass", "[1.0, inf]", "made of positive numbers", |s| s.mass = vec![1.0, f64::INFINITY]),
    ];
    for (key, value, allowed, change) in cases {
        let mut settings = SamplerSettings::default();
        change(&mut settings);
        let error =
            Sampler::new(&settings, 3, |g| Landscape::Gaussian.potential(g)).err().expect("a wrong setting");
        assert!(matches!(error, SamplerError::Setting { .. }));
        assert_eq!(error.to_string(), format!("`{key}` is {value}, but must be {allowed}"));
    }
    let error = Sampler::new(&SamplerSettings::default(), 0, |g| Landscape::Gaussian.potential(g));
    assert_eq!(error.err().expect("no chains").to_string(), "`chains` is 0, but must be at least 1");
    // Starts that do not fit the chains are named as well.
    let mut sampler = Sampler::new(&SamplerSettings::default(), 3, |g| Landscape::Gaussian.potential(g))
        .expect("valid settings");
    let error = sampler.run(&[0.0; 4], 1).expect_err("two values for each of three chains");
    assert!(matches!(error, SamplerError::Run(_)), "{error}");
    assert!(error.to_string().contains('4') && error.to_string().contains('6'), "{error}");
}

#[test]
fn a_second_call_goes_on_with_fresh_draws() {
    let settings = SamplerSettings::default();
    let sampler =
        || Sampler::new(&settings, 2, |g| Landscape::Gaussian.potential(g)).expect("valid settings");
    let (mut one, mut other, start) = (sampler(), sampler(), normals(3, 4));
    let first = one.run(&start, 5).expect("the sampler runs");
    let second = one.run(&start, 5).expect("the sampler runs");
    assert_ne!(first.positions, second.positions);
    assert_eq!(first.positions, other.run(&start, 5).expect("the sampler runs").positions);
}
