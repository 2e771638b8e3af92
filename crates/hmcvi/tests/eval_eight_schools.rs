//! Sample the posterior of the eight schools (Rubin 1981) in two parameterisations, and check every single chain.

mod common;

use common::STANDARD_ERRORS;
use std::rc::Rc;

use hmcvi::Problem;
use hmcvi::device::Device;
use hmcvi::dist::Gaussian;
use hmcvi::eval::{PosteriorOptions, PosteriorSampler, Reference};
use hmcvi::family::{Family, Target};
use hmcvi::hmc::diagnostics::{R_HAT_LIMIT, summary};
use hmcvi::model::{Model, Site};
use hmcvi::nn::Parameters;
use hmcvi::potential::Potential;
use hmcvi_graph::{Expr, Store};

const SCHOOLS: usize = 8;
/// `z`: a value for each school, `μ` and `log τ`.
const LATENT: usize = SCHOOLS + 2;
/// Effects of coaching and their standard errors.
const Y: [f64; SCHOOLS] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
const SIGMA: [f64; SCHOOLS] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];

/// Means of `θ`, `μ` and `τ` with their standard deviations, of the 10,000 independent reference draws of posteriordb
/// (`eight_schools-eight_schools_noncentered`).
const REFERENCE: [(f64, f64); LATENT] = [
    (6.1505, 5.6159),
    (4.9396, 4.6456),
    (3.9059, 5.2807),
    (4.7960, 4.7709),
    (3.6144, 4.6147),
    (4.0512, 4.7962),
    (6.3172, 5.0029),
    (4.8840, 5.3177),
    (4.4105, 3.3093),
    (3.6021, 3.1985),
];
const REFERENCE_DRAWS: f64 = 10_000.0;

const CHAINS: usize = 8;
const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];

struct EightSchools {
    /// Whether the schools' values are `θ` instead of `(θ - μ)/τ`.
    centred: bool,
}

impl EightSchools {
    fn log_density<'g>(&self, z: Expr<'g>, y: Expr<'g>) -> Expr<'g> {
        let graph = z.graph();
        let (schools, mu, log_tau) =
            (z.slice_cols(0, SCHOOLS), z.slice_cols(SCHOOLS, 1), z.slice_cols(SCHOOLS + 1, 1));
        let tau = log_tau.exp();
        // θ ~ N(μ, τ), or (θ - μ)/τ ~ N(0, 1)
        let (theta, raw, jacobian) = if self.centred {
            (schools, (schools - mu) / tau, log_tau * -(SCHOOLS as f64))
        } else {
            (mu + tau * schools, schools, graph.constant(0.0))
        };
        let precision = graph.constant_matrix(1, SCHOOLS, &SIGMA.map(|s| 1.0 / s));
        let likelihood = ((y - theta) * precision).square().sum_cols() * -0.5;
        // μ ~ N(0, 5), τ ~ half Cauchy(0, 5), with the derivative τ of τ by log τ.
        let prior = raw.square().sum_cols() * -0.5 + jacobian + mu.square() * (-0.5 / 25.0);
        likelihood + prior - (tau * 0.2).square().log1p() + log_tau
    }
}

impl Model for EightSchools {
    fn observed(&self) -> usize {
        SCHOOLS
    }

    fn sites(&self) -> Vec<Site> {
        vec![Site { name: "schools, mu and log tau".into(), columns: 0..LATENT }]
    }

    fn potential<'g>(&self, _: &Rc<Parameters<'g>>, x: Expr<'g>) -> Potential<'g> {
        let model = EightSchools { ..*self };
        Potential::from_expression(LATENT, move |z| model.log_density(z, x))
    }
}

/// Rough: what a mean-field fit would say of widths, around no effect at all.
struct Rough {
    /// Standard deviation of the schools' values.
    width: f64,
}

impl Family for Rough {
    fn gaussian<'g>(&self, target: &Target<'_, 'g>) -> Gaussian<'g> {
        let mut log_variance = [2.0 * self.width.ln(); LATENT];
        (log_variance[SCHOOLS], log_variance[SCHOOLS + 1]) = (2.0 * 3.3f64.ln(), 0.0);
        let graph = target.parameters.graph();
        let mean = graph.constant(0.0).broadcast_to(hmcvi_graph::Shape::fixed(1, LATENT));
        Gaussian { mean, log_variance: graph.constant_matrix(1, LATENT, &log_variance) }
    }
}

fn sample(centred: bool, seed: u64) -> Reference {
    let options = PosteriorOptions { chains: CHAINS, warm_up: 500, draws: 1000, leapfrog_steps: 8 };
    let model = Problem::new(EightSchools { centred }, Rough { width: if centred { 5.0 } else { 1.0 } });
    let mut sampler =
        PosteriorSampler::<f64>::new(&model, options, &Device::cpu(1)).expect("the model compiles");
    let found = sampler.reference(&Store::new(), (&Y, 0), seed, &mut |_| false).expect("it samples");
    found.into_iter().next().expect("one data point")
}

/// Draws of one coordinate, chain by chain.
fn chains(reference: &Reference, coordinate: impl Fn(&[f64]) -> f64) -> Vec<Vec<f64>> {
    let draws: Vec<f64> = reference.draws.chunks(LATENT).map(coordinate).collect();
    draws.chunks(draws.len() / CHAINS).map(<[f64]>::to_vec).collect()
}

/// Longest time in which a chain stayed where it was.
fn longest_stay(chain: &[f64]) -> usize {
    chain.chunk_by(|a, b| a == b).map(<[f64]>::len).max().unwrap_or(0)
}

#[test]
fn no_chain_freezes_in_either_parameterisation() {
    // The centred posterior is a funnel: no step size suits both its neck and its mouth. Chains get stuck there for a
    // while, but none for good.
    for (centred, lowest_rate, longest) in [(false, 0.6, 30), (true, 0.2, 100)] {
        for seed in SEEDS {
            let reference = sample(centred, seed);
            for (chain, mu) in chains(&reference, |z| z[SCHOOLS]).iter().enumerate() {
                let (rate, stay) = (reference.acceptance_rate[chain], longest_stay(mu));
                let what = format!("centred {centred}, seed {seed}, chain {chain}");
                assert!(rate > lowest_rate && stay < longest, "{what}: acceptance {rate}, stayed for {stay}");
            }
            let good = reference.r_hat < R_HAT_LIMIT && reference.ess_bulk.min(reference.ess_tail) > 400.0;
            assert_eq!(good, !centred, "centred {centred}, seed {seed}: R-hat {}", reference.r_hat);
        }
    }
}

#[test]
fn moments_are_those_of_the_reference_draws() {
    for seed in SEEDS {
        let reference = sample(false, seed);
        let quantity = |i: usize, z: &[f64]| match i {
            SCHOOLS => z[SCHOOLS],
            i if i > SCHOOLS => z[SCHOOLS + 1].exp(),
            i => z[SCHOOLS] + z[SCHOOLS + 1].exp() * z[i],
        };
        for (i, (mean, sd)) in REFERENCE.into_iter().enumerate() {
            let s = summary(&chains(&reference, |z| quantity(i, z))).expect("the chains move");
            let error = s.mcse_mean.hypot(sd / REFERENCE_DRAWS.sqrt());
            assert!((s.mean - mean).abs() < STANDARD_ERRORS * error, "seed {seed}, {i}: {s:?}, not {mean}");
            // The standard error of a standard deviation is at most so much for tails like these.
            assert!((s.standard_deviation / sd - 1.0).abs() < 0.2, "seed {seed}, {i}: {s:?}, not {sd}");
        }
    }
}
