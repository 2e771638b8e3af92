//! Compare estimates of the likelihood with the exact one of a linear-Gaussian model with ten dimensions.

mod common;

use std::rc::Rc;

use common::{STANDARD_ERRORS, normals};
use hmcvi::Problem;
use hmcvi::device::Device;
use hmcvi::dist::{Gaussian, RandomSource};
use hmcvi::eval::{
    Annealer, AnnealingOptions, AnnealingSchedule, AnnealingStart, ImportanceSampler, PosteriorOptions,
    PosteriorSampler, Proposal, estimate, log_mean_exp, sandwich, simulate,
};
use hmcvi::family::{Family, Target};
use hmcvi::model::{Simulator, Site};
use hmcvi::nn::Parameters;
use hmcvi::potential::{LinearGaussian, Potential};
use hmcvi_graph::{Expr, Graph, Store};

const LATENT: usize = 10;
const OBSERVED: usize = 15;
const NOISE: f64 = 0.7;
const POINTS: usize = 100;

/// The model, with an encoder that has the exact means and marginal variances, shifted by so many standard
/// deviations in every dimension.
struct Model {
    exact: LinearGaussian,
    weights: Vec<f64>,
    shift: f64,
}

impl Model {
    fn new(shift: f64) -> Self {
        let weights: Vec<f64> = normals(1, LATENT * OBSERVED).iter().map(|w| 0.4 * w).collect();
        let exact = LinearGaussian::new(LATENT, &weights, &[0.0; OBSERVED], NOISE);
        Model { exact, weights, shift }
    }

    fn problem(&self) -> Problem {
        Problem::new(Model::new(self.shift), Model::new(self.shift))
    }

    /// Data points with exact draws from their posteriors, and their exact log-likelihoods.
    fn data(&self) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let found = simulate::<f64>(&self.problem(), &Store::new(), POINTS, 3, &Device::cpu(1))
            .expect("the model simulates");
        let exact = found.x.chunks(OBSERVED).map(|x| self.exact.log_evidence(x)).collect();
        (found.x, found.z, exact)
    }

    /// Mean and log variance that the encoder gives a data point.
    fn encoded(&self, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mean, covariance) = self.exact.posterior(x);
        let variance = |i: usize| covariance[i * LATENT + i];
        let mean = mean.iter().enumerate().map(|(i, m)| m + self.shift * variance(i).sqrt()).collect();
        (mean, (0..LATENT).map(|i| variance(i).ln()).collect())
    }
}

impl hmcvi::model::Model for Model {
    fn observed(&self) -> usize {
        OBSERVED
    }

    fn sites(&self) -> Vec<Site> {
        vec![Site { name: "z".into(), columns: 0..LATENT }]
    }

    fn potential<'g>(&self, _: &Rc<Parameters<'g>>, x: Expr<'g>) -> Potential<'g> {
        self.exact.potential(x.graph(), x)
    }

    fn simulator(&self) -> Option<&dyn Simulator> {
        Some(self)
    }
}

impl Simulator for Model {
    fn mean<'g>(&self, _: &Rc<Parameters<'g>>, z: Expr<'g>) -> Expr<'g> {
        z.matmul(z.graph().constant_matrix(LATENT, OBSERVED, &self.weights))
    }

    fn draw(&self, decoded: &[f32], source: &mut RandomSource, x: &mut [f32]) {
        x.iter_mut().zip(decoded).for_each(|(x, mean)| *x = mean + (NOISE * source.normal()) as f32);
    }
}

/// The encoder.
impl Family for Model {
    fn gaussian<'g>(&self, target: &Target<'_, 'g>) -> Gaussian<'g> {
        // The posterior's mean is linear in x: its matrix from the means of unit vectors.
        let unit = |k: usize| (0..OBSERVED).map(|j| f64::from(u8::from(j == k))).collect::<Vec<_>>();
        let matrix: Vec<f64> = (0..OBSERVED).flat_map(|k| self.exact.posterior(&unit(k)).0).collect();
        let (offset, log_variance) = self.encoded(&[0.0; OBSERVED]);
        let (x, graph) = (target.context, target.parameters.graph());
        let mean = x.matmul(graph.constant_matrix(OBSERVED, LATENT, &matrix))
            + graph.constant_matrix(1, LATENT, &offset);
        Gaussian { mean, log_variance: graph.constant_matrix(1, LATENT, &log_variance) }
    }
}

/// Checks that the mean difference is zero within Monte Carlo error.
#[track_caller]
fn assert_agrees(what: &str, found: &[f64], exact: &[f64]) {
    let e = estimate(&found.iter().zip(exact).map(|(a, b)| a - b).collect::<Vec<_>>());
    let distance = e.mean / e.standard_error;
    assert!(distance.abs() < STANDARD_ERRORS, "{what}: {e:?}, {distance:.1} standard errors");
    // Four errors are small enough to see an estimate that is wrong by a tenth of a nat.
    assert!(e.standard_error < 0.025, "{what}: {e:?}");
}

fn importance(model: &Model, proposal: Proposal, x: &[f64]) -> Vec<hmcvi::eval::WeightSummary> {
    const SAMPLES: usize = 5000;
    let mut sampler = ImportanceSampler::new(&model.problem(), proposal, SAMPLES, &Device::cpu(2))
        .expect("the model compiles");
    let each = |(i, x): (usize, &[f64])| {
        let (mean, log_variance) = model.encoded(x);
        let numbers = (11, i as u64);
        sampler.run(&Store::new(), x, (&mean, &log_variance), SAMPLES, numbers).expect("it runs")
    };
    x.chunks(OBSERVED).enumerate().map(each).collect()
}

fn annealed(model: &Model, options: AnnealingOptions, x: &[f64]) -> Vec<f64> {
    let mut annealer =
        Annealer::<f64>::new(&model.problem(), options, &Device::cpu(2)).expect("the model compiles");
    let (store, points) = (Store::new(), annealer.points());
    let tuning = &x[..OBSERVED * points.min(x.len() / OBSERVED)];
    let sizes = annealer.tune(&store, tuning, 1, &mut |_| false).expect("it tunes");
    let mut found = Vec::new();
    for (block, x) in x.chunks(points * OBSERVED).enumerate() {
        let data = (x, block * points);
        let (weights, acceptance) =
            annealer.forward(&store, data, &sizes, 2, &mut |_| false).expect("it anneals");
        assert!((0.7..0.9).contains(&acceptance), "step sizes are tuned to 0.8: {acceptance}");
        found.extend(weights.into_iter().map(log_mean_exp));
    }
    found
}

#[test]
fn the_encoder_of_this_test_is_the_posterior_as_it_says() {
    let model = Model::new(0.5);
    let (x, ..) = model.data();
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let mean = model.problem().gaussian(&parameters, graph.batch_input("x", OBSERVED)).mean;
    let found = common::evaluate(&graph, POINTS, &[("x", &x)], &[("mean", mean)]);
    let expected: Vec<f64> = x.chunks(OBSERVED).flat_map(|x| model.encoded(x).0).collect();
    common::assert_close("mean", &found["mean"], &expected, 1e-10);
}

#[test]
fn importance_sampling_agrees_with_the_exact_likelihood() {
    let model = Model::new(0.0);
    let (x, _, exact) = model.data();
    for proposal in [Proposal::Gaussian, Proposal::StudentT, Proposal::Defensive] {
        let found = importance(&model, proposal, &x);
        let estimates: Vec<f64> = found.iter().map(|w| w.log_mean).collect();
        assert_agrees(&format!("{proposal:?}"), &estimates, &exact);
        let high = found.iter().filter(|w| w.k_hat > Some(0.7)).count();
        assert!(high < POINTS / 10, "{proposal:?}: k-hat is above 0.7 for {high} good proposals");
    }
}

#[test]
fn annealing_agrees_with_the_exact_likelihood() {
    let model = Model::new(0.0);
    let (x, _, exact) = model.data();
    for (schedule, start, temperatures) in [
        (AnnealingSchedule::Sigmoidal, AnnealingStart::Encoder, 200),
        (AnnealingSchedule::Linear, AnnealingStart::Encoder, 200),
        (AnnealingSchedule::Sigmoidal, AnnealingStart::Prior, 1000),
    ] {
        let options = AnnealingOptions { temperatures, schedule, start, ..AnnealingOptions::default() };
        assert_agrees(&format!("{options:?}"), &annealed(&model, options, &x), &exact);
    }
}

#[test]
fn both_bounds_of_bidirectional_annealing_bracket_the_exact_likelihood() {
    let model = Model::new(0.0);
    let (x, z, exact) = model.data();
    // Few temperatures, from afar: a gap that can be seen.
    for (temperatures, start) in [(300, AnnealingStart::Encoder), (60, AnnealingStart::Prior)] {
        let options = AnnealingOptions { temperatures, chains: 8, start, ..AnnealingOptions::default() };
        let mut annealer =
            Annealer::<f64>::new(&model.problem(), options, &Device::cpu(2)).expect("the model compiles");
        let store = Store::new();
        let sizes = annealer.tune(&store, &x, 1, &mut |_| false).expect("it tunes");
        let data = (&x[..], &z[..], 0);
        let found = sandwich(&mut annealer, &store, data, &sizes, 5, &mut |_| false).expect("it anneals");
        let difference = |f: &dyn Fn(usize) -> f64| estimate(&(0..POINTS).map(f).collect::<Vec<_>>());
        let below = difference(&|i| exact[i] - found[i].lower);
        let above = difference(&|i| found[i].upper - exact[i]);
        let gap = difference(&|i| found[i].upper - found[i].lower);
        let limit = |e: &hmcvi_record::Estimate| -STANDARD_ERRORS * e.standard_error;
        assert!(below.mean > limit(&below) && above.mean > limit(&above), "{below:?} {above:?}");
        match start {
            AnnealingStart::Encoder => {
                let agree = |e: &hmcvi_record::Estimate| e.mean.abs() < STANDARD_ERRORS * e.standard_error;
                assert!(agree(&below) && agree(&above) && gap.mean < 0.1, "{below:?} {above:?} {gap:?}");
            }
            // Hurried from the prior, both bounds are visibly apart, and the exact value lies between.
            AnnealingStart::Prior => {
                assert!(
                    below.mean > 0.0 && above.mean > 0.0 && gap.mean > 0.1,
                    "{below:?} {above:?} {gap:?}"
                );
            }
        }
    }
}

#[test]
fn a_bad_encoder_is_found_out_and_annealing_does_not_mind() {
    let model = Model::new(2.0);
    let (x, _, exact) = model.data();
    let found = importance(&model, Proposal::Gaussian, &x);
    let high = found.iter().filter(|w| w.k_hat > Some(0.7)).count();
    assert!(high > POINTS * 8 / 10, "k-hat is above 0.7 for {high} of {POINTS} bad proposals");
    // It is wrong indeed: what k-hat warns of happens.
    let error = estimate(&found.iter().zip(&exact).map(|(w, e)| w.log_mean - e).collect::<Vec<_>>());
    assert!(error.mean < -0.3, "importance sampling is too low: {error:?}");
    let options = AnnealingOptions { temperatures: 1000, ..AnnealingOptions::default() };
    assert_agrees("annealing from a bad encoder", &annealed(&model, options, &x), &exact);
}

#[test]
fn reference_draws_have_the_moments_of_the_exact_posterior() {
    let model = Model::new(0.0);
    let (x, ..) = model.data();
    let x = &x[..4 * OBSERVED];
    let options = PosteriorOptions { chains: 8, warm_up: 200, draws: 500, leapfrog_steps: 4 };
    let mut sampler =
        PosteriorSampler::<f64>::new(&model.problem(), options, &Device::cpu(2)).expect("the model compiles");
    let store = Store::new();
    let references = sampler.reference(&store, (x, 0), 9, &mut |_| false).expect("it samples");
    for (reference, x) in references.iter().zip(x.chunks(OBSERVED)) {
        assert!(
            reference.r_hat < 1.02 && reference.ess_bulk > 400.0,
            "R-hat {}, effective {}",
            reference.r_hat,
            reference.ess_bulk
        );
        let (mean, covariance) = model.exact.posterior(x);
        for i in 0..LATENT {
            let draws: Vec<f64> = reference.draws.iter().skip(i).step_by(LATENT).copied().collect();
            let found = draws.iter().sum::<f64>() / draws.len() as f64;
            let error = (covariance[i * LATENT + i] / reference.ess_bulk).sqrt();
            assert!((found - mean[i]).abs() < STANDARD_ERRORS * error, "mean {i}: {found}, not {}", mean[i]);
        }
        // Exact draws are as near as the number of draws allows; shifted ones as far as the shift says.
        let factor = lower_factor(&covariance);
        let noise = normals(77, 2000 * LATENT);
        let draws = |shift: f64| -> Vec<f64> {
            let draw = |n: &[f64]| -> Vec<f64> {
                let dot = |i: usize| (0..=i).map(|j| factor[i * LATENT + j] * n[j]).sum::<f64>();
                (0..LATENT).map(|i| mean[i] + dot(i) + shift * covariance[i * LATENT + i].sqrt()).collect()
            };
            noise.chunks(LATENT).flat_map(draw).collect()
        };
        for (shift, kl) in [(0.0, 0.0), (1.0, 1.0)] {
            let z = draws(shift);
            let energies = sampler.energies(&store, x, &z).expect("it runs");
            let distance = reference.distance(&z, &energies, LATENT);
            // In standard deviations, every dimension is shifted by exactly so much.
            assert!((distance.wasserstein - shift).abs() < 0.15, "shift {shift}: {distance:?}");
            if kl == 0.0 {
                // Moments of 2,000 draws against those of about as many: d(d + 3)/4 (1/n + 1/m) and its scatter.
                assert!(distance.gaussian_kl.abs() < 0.15, "{distance:?}");
                assert!(distance.energy_excess.abs() < 0.5, "{distance:?}");
            } else {
                assert!(distance.gaussian_kl > 3.0 && distance.energy_excess > 3.0, "{distance:?}");
            }
        }
    }
}

/// `L` with `LLᵀ = a`.
fn lower_factor(a: &[f64]) -> Vec<f64> {
    let mut l = vec![0.0; LATENT * LATENT];
    for i in 0..LATENT {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| l[i * LATENT + k] * l[j * LATENT + k]).sum();
            let rest: f64 = a[i * LATENT + j] - dot;
            l[i * LATENT + j] = if i == j { rest.sqrt() } else { rest / l[j * LATENT + j] };
        }
    }
    l
}
