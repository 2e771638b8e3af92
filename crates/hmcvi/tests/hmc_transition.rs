//! Check one HMC step: momentum updates, decisions, the state after them, and divergences.

mod common;

use common::{STANDARD_ERRORS, assert_close, assert_mean, evaluate, normals, per_row, uniforms};
use hmcvi::hmc::diagnostics::summary;
use hmcvi::hmc::{Kinetic, Leapfrog, Sampler, SamplerSettings, Samples, State, Transition, accept, momentum};
use hmcvi::potential::{Landscape, Potential};
use hmcvi_graph::{CpuOptions, Expr, Graph, Real, Run, Store};

const MASS: [f64; 2] = [2.5, 0.4];

#[test]
fn a_partial_update_keeps_the_momentum_covariance() {
    const ROWS: usize = 20_000;
    for alpha in [0.6, -0.9, 0.0] {
        let graph = Graph::new();
        let kinetic = Kinetic { log_mass: graph.constant_matrix(1, 2, &MASS).log() };
        let draw = |stream| kinetic.momentum().sample(graph.normal(stream, 2));
        let v = draw(0);
        let u = momentum::partial_update(graph.constant(alpha), v, draw(1));
        let found = evaluate(&graph, ROWS, &[], &[("u", u), ("v", v)]);
        let product = |a: &str, i: usize, b: &str, j: usize| -> Vec<f64> {
            found[a].chunks(2).zip(found[b].chunks(2)).map(|(a, b)| a[i] * b[j]).collect()
        };
        // α²M + (1 - α²)M = M
        assert_mean("u₀²", &product("u", 0, "u", 0), MASS[0]);
        assert_mean("u₁²", &product("u", 1, "u", 1), MASS[1]);
        assert_mean("u₀u₁", &product("u", 0, "u", 1), 0.0);
        // Cov(u, v) = αM: the particle keeps part of its direction.
        assert_mean("u₀v₀", &product("u", 0, "v", 0), alpha * MASS[0]);
        assert_mean("u₁v₁", &product("u", 1, "v", 1), alpha * MASS[1]);
    }
}

/// Checks the mean of a quantity over all steps of all chains, which is given by chain and step.
#[track_caller]
fn assert_chain_mean(
    what: &str,
    chains: usize,
    steps: usize,
    expected: f64,
    f: impl Fn(usize, usize) -> f64,
) {
    let values: Vec<Vec<f64>> = (0..chains).map(|c| (0..steps).map(|s| f(c, s)).collect()).collect();
    let s = summary(&values).expect("values are finite");
    let distance = (s.mean - expected).abs() / s.mcse_mean;
    assert!(distance < STANDARD_ERRORS, "{what}: {s:?}, expected {expected}: {distance:.1} errors");
}

#[test]
fn the_momenta_of_a_long_chain_keep_their_covariance() {
    const CHAINS: usize = 32;
    const STEPS: usize = 1500;
    for (accept, step_size) in [(true, 0.35), (false, 0.02)] {
        let settings = SamplerSettings {
            step_size,
            jitter: 0.0,
            leapfrog_steps: 3,
            alpha: 0.8,
            mass: MASS.to_vec(),
            accept,
            seed: 4,
        };
        let mut sampler =
            Sampler::new(&settings, CHAINS, |g| Landscape::Gaussian.potential(g)).expect("valid settings");
        // Starts drawn from the target, covariance [[1, 0.4], [0.4, 0.25]]: y = 0.4 x + 0.3 e.
        let noise = normals(8, 2 * CHAINS);
        let start: Vec<f64> = noise.chunks(2).flat_map(|n| [n[0], 0.4 * n[0] + 0.3 * n[1]]).collect();
        let samples = sampler.run(&start, STEPS).expect("the sampler runs");
        if accept {
            // Rejections turn momenta round: they are part of what is checked.
            let rate = samples.acceptance_rate();
            assert!(rate > 0.5 && rate < 0.95, "{rate}");
        }
        let v = |c: usize, s: usize, i: usize| samples.momenta[(s * CHAINS + c) * 2 + i];
        assert_chain_mean("v₀²", CHAINS, STEPS, MASS[0], |c, s| v(c, s, 0).powi(2));
        assert_chain_mean("v₁²", CHAINS, STEPS, MASS[1], |c, s| v(c, s, 1).powi(2));
        assert_chain_mean("v₀v₁", CHAINS, STEPS, 0.0, |c, s| v(c, s, 0) * v(c, s, 1));
    }
}

#[test]
fn decisions_follow_the_metropolis_rule() {
    let graph = Graph::new();
    let (error, uniform) = (graph.batch_input("error", 1), graph.batch_input("uniform", 1));
    let outputs = [("p", accept::log_probability(error)), ("accepted", accept::decide(error, uniform))];
    let half = 2f64.ln();
    // ΔH = log 2 is accepted with probability ½; falling energies always; NaN and ∞ never.
    let errors = [half, half, -3.0, -3.0, 0.0, f64::NAN, f64::INFINITY, f64::INFINITY];
    let draws = [0.49, 0.51, 0.999_999, 0.0, 0.999_999, 0.0, 0.0, 0.5];
    let found = evaluate(&graph, 8, &[("error", &errors), ("uniform", &draws)], &outputs);
    assert_eq!(found["accepted"], [1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    assert_close("log probability", &found["p"][..5], &[-half, -half, 0.0, 0.0, 0.0], 1e-15);
}

#[test]
fn rejected_proposals_reverse_the_momentum_and_accepted_ones_keep_it() {
    const ROWS: usize = 400;
    let (z, v, noise) = (normals(1, 2 * ROWS), normals(2, 2 * ROWS), normals(3, 2 * ROWS));
    let draws = uniforms(4, ROWS);
    for (landscape, step_size) in Landscape::ALL.into_iter().zip([0.4, 0.4, 0.4, 0.9]) {
        for alpha in [None, Some(0.7)] {
            let graph = Graph::new();
            let kinetic = Kinetic { log_mass: graph.constant_matrix(1, 2, &MASS).log() };
            let (potential, step_size) = (landscape.potential(&graph), graph.constant(step_size));
            let leapfrog = Leapfrog { potential, kinetic, step_size, steps: 3 };
            let transition = Transition { leapfrog, alpha: alpha.map(|a| graph.constant(a)), accept: true };
            let first = State::new(
                &transition.leapfrog.potential,
                graph.batch_input("z", 2),
                graph.batch_input("v", 2),
            );
            let (noise_input, uniform) = (graph.batch_input("noise", 2), graph.batch_input("uniform", 1));
            let (next, info) = transition.step(first, noise_input, uniform);
            let simulated = transition.leapfrog.integrate(first.with_momentum(info.u)).end();
            let start_energy = transition.leapfrog.energy(first.with_momentum(info.u));
            let outputs = [
                ("z", next.z),
                ("v", next.v),
                ("density", next.log_density),
                ("force", next.force),
                ("density again", transition.leapfrog.potential.log_density(next.z)),
                ("force again", transition.leapfrog.potential.force(next.z)),
                ("u", info.u),
                ("end z", simulated.z),
                ("end v", simulated.v),
                ("error", info.energy_error),
                ("error again", transition.leapfrog.energy(simulated) - start_energy),
                ("accepted", info.accepted),
                ("diverging", per_row(info.diverging)),
            ];
            let inputs: &[(&str, &[f64])] = &[("z", &z), ("v", &v), ("noise", &noise), ("uniform", &draws)];
            let found = evaluate(&graph, ROWS, inputs, &outputs);
            let what = format!("{landscape:?} {alpha:?}");
            let mut seen = [0, 0];
            for row in 0..ROWS {
                if found["diverging"][row] != 0.0 {
                    continue;
                }
                let accepted = found["accepted"][row] != 0.0;
                seen[usize::from(accepted)] += 1;
                let expected = draws[row] < (-found["error"][row]).exp().min(1.0);
                assert_eq!(accepted, expected, "{what}, row {row}");
                // The sum of differences and the difference of sums are rounded differently.
                let scale = 1.0 + found["error"][row].abs();
                assert_close(
                    &what,
                    &found["error again"][row..=row],
                    &found["error"][row..=row],
                    1e-9 * scale,
                );
                for i in 2 * row..2 * row + 2 {
                    let u = match alpha {
                        // √(1 - α²) with α = 0.7
                        Some(a) => a * v[i] + (1.0 - a * a).sqrt() * MASS[i % 2].sqrt() * noise[i],
                        None => MASS[i % 2].sqrt() * noise[i],
                    };
                    assert!((found["u"][i] - u).abs() < 1e-12, "{what}: updated momentum");
                    if accepted {
                        assert_eq!(found["z"][i], found["end z"][i], "{what}: accepted position");
                        assert_eq!(found["v"][i], found["end v"][i], "{what}: accepted momentum");
                    } else {
                        assert_eq!(found["z"][i], z[i], "{what}: rejected position");
                        assert_eq!(found["v"][i], -found["u"][i], "{what}: rejected momentum");
                    }
                }
            }
            assert!(seen[0] > 20 && seen[1] > 20, "{what}: {seen:?} rejected and accepted");
            // Density and force belong to the new position.
            assert_close(&what, &found["density"], &found["density again"], 1e-12);
            assert_close(&what, &found["force"], &found["force again"], 1e-12);
        }
    }
}

#[test]
fn without_acceptance_every_proposal_is_taken() {
    let settings = SamplerSettings { step_size: 0.5, accept: false, ..SamplerSettings::default() };
    let mut sampler =
        Sampler::new(&settings, 16, |g| Landscape::Gaussian.potential(g)).expect("valid settings");
    let samples = sampler.run(&normals(1, 32), 20).expect("the sampler runs");
    assert_eq!(samples.acceptance_rate(), 1.0);
    // Energies do rise by more than any acceptance step would take.
    assert!(samples.energy_error.iter().any(|e| *e > 1.0));
}

/// Checks that everything but the energy error of diverged rows is an ordinary number, and that the
/// acceptance step rejects those rows. Returns the number of divergences.
fn check_divergences(what: &str, start: &[f64], samples: &Samples, accept: bool) -> usize {
    let (d, n) = (samples.dimension, samples.chains);
    for (name, values) in
        [("positions", &samples.positions), ("momenta", &samples.momenta), ("energy", &samples.energy)]
    {
        assert!(values.iter().all(|x| x.is_finite()), "{what}: {name} are finite");
    }
    for i in 0..samples.diverging.len() {
        let error = samples.energy_error[i];
        assert!(!error.is_nan(), "{what}: energy error of simulation {i}");
        assert_eq!(
            error == f64::INFINITY,
            samples.diverging[i],
            "{what}: energy error {error} of simulation {i}"
        );
        if samples.diverging[i] && accept {
            assert!(!samples.accepted[i], "{what}: diverged and accepted");
            let before = if i < n {
                &start[i * d..(i + 1) * d]
            } else {
                &samples.positions[(i - n) * d..(i - n + 1) * d]
            };
            assert_eq!(&samples.positions[i * d..(i + 1) * d], before, "{what}: position of a diverged row");
        }
    }
    samples.divergences()
}

type AnyPotential = for<'g> fn(&'g Graph) -> Potential<'g>;

/// Steep landscapes, with step sizes at which simulations leave the range of numbers in some way:
/// beyond all positions, or to a place whose energy or force overflows.
const STEEP: [(&str, AnyPotential, f64); 4] = [
    ("quartic", |_| Potential::from_expression(2, |z| z.square().square().sum_cols() * -25.0), 0.6),
    ("banana", |g| Landscape::Banana.potential(g), 1.0),
    ("gaussian", |g| Landscape::Gaussian.potential(g), 200.0),
    // Poisson counts with a log rate: e^z overflows at positions that are still in range.
    (
        "poisson",
        |_| Potential::from_expression(2, |z| (z * 3.0 - z.exp() - z.square() * 0.5).sum_cols()),
        30.0,
    ),
];

#[test]
fn divergences_are_data_and_are_rejected() {
    for (name, potential, step_size) in STEEP {
        for alpha in [0.0, 0.5] {
            let settings =
                SamplerSettings { step_size, leapfrog_steps: 6, alpha, ..SamplerSettings::default() };
            let start = normals(6, 64);
            let mut sampler = Sampler::new(&settings, 32, potential).expect("valid settings");
            let samples = sampler.run(&start, 10).expect("the sampler runs");
            let divergences = check_divergences(name, &start, &samples, true);
            assert!(divergences > 10, "{name}: {divergences} of 320 diverged");
        }
    }
}

#[test]
fn divergences_without_acceptance_leave_finite_values() {
    for (name, potential, step_size) in STEEP {
        let settings =
            SamplerSettings { step_size, leapfrog_steps: 6, accept: false, ..SamplerSettings::default() };
        let start = normals(6, 64);
        let mut sampler = Sampler::new(&settings, 32, potential).expect("valid settings");
        let samples = sampler.run(&start, 10).expect("the sampler runs");
        let divergences = check_divergences(name, &start, &samples, false);
        assert!(divergences > 10, "{name}: {divergences} of 320 diverged");
    }
}

#[test]
fn a_row_that_diverges_does_not_touch_its_neighbours() {
    let run = |start: &[f64]| {
        let settings =
            SamplerSettings { step_size: 0.3, leapfrog_steps: 6, seed: 9, ..SamplerSettings::default() };
        let quartic: AnyPotential = STEEP[0].1;
        let mut sampler = Sampler::new(&settings, 2, quartic).expect("valid settings");
        sampler.run(start, 1).expect("the sampler runs")
    };
    let (alone, beside) = (run(&[0.1, 0.2, 0.1, 0.2]), run(&[0.1, 0.2, 50.0, 50.0]));
    assert_eq!(alone.diverging, [false, false]);
    assert_eq!(beside.diverging, [false, true]);
    assert_eq!(alone.positions[..2], beside.positions[..2]);
}

/// Chains on the Gamma distribution with shape 3, mean 3 and variance 3: log p = 2 log z - z. Below 0
/// there is no density, though the force 2/z - 1 is a number; with this step size simulations get there.
fn gamma_chains(chains: usize, steps: usize) -> Samples {
    let settings = SamplerSettings { step_size: 0.9, leapfrog_steps: 4, ..SamplerSettings::default() };
    let gamma: AnyPotential = |_| Potential::from_expression(1, |z| z.log() * 2.0 - z);
    let mut sampler = Sampler::new(&settings, chains, gamma).expect("valid settings");
    sampler.run(&vec![3.0; chains], steps).expect("the sampler runs")
}

#[test]
fn proposals_without_a_density_are_rejected() {
    let (chains, steps) = (32, 2000);
    let samples = gamma_chains(chains, steps);
    assert!(samples.positions.iter().all(|z| *z > 0.0));
    assert!(samples.energy.iter().all(|e| e.is_finite()));
    let z = |c: usize, s: usize| samples.positions[s * chains + c];
    assert_chain_mean("mean", chains, steps, 3.0, z);
    assert_chain_mean("variance", chains, steps, 3.0, |c, s| (z(c, s) - 3.0).powi(2));
}

#[test]
fn proposals_without_a_density_have_an_infinite_energy_error() {
    let samples = gamma_chains(32, 200);
    let lost = samples.energy_error.iter().filter(|e| !e.is_finite()).count();
    assert!(lost > 10, "{lost} proposals have no density");
    assert!(samples.energy_error.iter().all(|e| !e.is_nan()), "an energy error is not a number");
}

/// `-(a_j·z + c_j)²/2` for every `j`.
fn large_terms<'g>(z: Expr<'g>, weights: Expr<'g>, offset: Expr<'g>) -> Expr<'g> {
    (z.matmul(weights) + offset).square() * -0.5
}

/// Energy errors of HMC steps on `U(z) = Σ_j (a_j·z + c_j)²/2` with 400 large terms, in some precision.
fn energy_errors<T: Real>(by_terms: bool) -> Vec<f64> {
    const ROWS: usize = 50;
    let graph = Graph::new();
    let weights = graph.constant_matrix(2, 400, &normals(31, 800));
    // About 100, so that U is about two million: its f32 has a last place of a quarter.
    let offset =
        graph.constant_matrix(1, 400, &normals(32, 400).iter().map(|x| 100.0 + x).collect::<Vec<_>>());
    let potential = Potential::from_expression(2, move |z| large_terms(z, weights, offset).sum_cols());
    let potential = match by_terms {
        true => potential.with_terms(move |z| large_terms(z, weights, offset)),
        false => potential,
    };
    let start = graph.normal(1, 2) * 0.01;
    let transition = Transition {
        leapfrog: Leapfrog {
            potential: potential.clone(),
            kinetic: Kinetic::identity(&graph, 2),
            step_size: graph.constant(0.01),
            steps: 3,
        },
        alpha: None,
        accept: true,
    };
    let noise = graph.normal(2, 2);
    let state = State::new(&potential, start, noise);
    let (_, info) = transition.step(state, noise, graph.uniform(3, 1));
    let program = graph.program().output("error", info.energy_error).compile().expect("a program");
    let mut executable = program.on_cpu::<T>(CpuOptions::for_rows(ROWS));
    executable.run(&mut Store::new(), &Run { rows: ROWS, seed: 4, ..Run::default() }).expect("it runs");
    executable.output("error").expect("an output").iter().map(|e| e.to_f64()).collect()
}

#[test]
fn energy_errors_of_large_energies_are_differences_of_terms() {
    let exact = energy_errors::<f64>(false);
    assert_close("f64 both ways", &energy_errors::<f64>(true), &exact, 1e-6);
    let worst = |found: &[f64]| found.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let (sums, terms) = (worst(&energy_errors::<f32>(false)), worst(&energy_errors::<f32>(true)));
    assert!(sums > 0.2, "subtracting sums loses the error: {sums}");
    assert!(terms < 0.05, "differences of terms keep it: {terms} against {sums}");
}
