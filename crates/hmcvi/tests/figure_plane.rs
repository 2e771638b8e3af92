//! Check that the figures of a trained model plot what they say, with the model inside the library.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use std::sync::LazyLock;

use hmcvi::Problem;
use hmcvi::config::preset;
use hmcvi::data::Dataset;
use hmcvi::device::Device;
use hmcvi::dist::normal_quantile;
use hmcvi::eval::{
    BoundEvaluator, Decoder, PosteriorOptions, PosteriorSampler, TEST_SEED, log_mean_exp, prior_draws, rows,
};
use hmcvi::figure::{
    FigureError, ModesSettings, PlaneModel, energy_surface, latent_square, modes, posteriors,
};
use hmcvi::run::Builtin;
use hmcvi_graph::Store;
use hmcvi_record::figure::{Field, Mosaic, Point, Posteriors};

/// The image that figures show.
const IMAGE: usize = 11;

fn builtin() -> (Builtin, Dataset, Device) {
    (Builtin::open().expect("built in"), Dataset::embedded().expect("embedded"), Device::cpu(2))
}

/// `U(z)` by way of the evaluation.
fn energies(model: &mut Builtin, data: &Dataset, device: &Device, z: &[Point]) -> Vec<f64> {
    let one = data.test().slice(IMAGE..IMAGE + 1).expect("an image");
    let x = model.spec.data.observation(&one).draw(&one, TEST_SEED, 0).values(0..1);
    let z: Vec<f32> = z.as_flattened().iter().map(|z| *z as f32).collect();
    let problem = Problem::of_run(&model.spec, one.columns());
    let mut sampler =
        PosteriorSampler::<f32>::new(&problem, PosteriorOptions::default(), device).expect("it compiles");
    sampler.energies(&model.checkpoint.store, &x, &z).expect("it runs")
}

/// One image of a mosaic.
fn tile(mosaic: &Mosaic, column: usize, row: usize) -> Vec<f32> {
    let (height, width) = (mosaic.picture.height / mosaic.rows, mosaic.picture.width / mosaic.columns);
    let line = |y: usize| {
        let at = (row * height + y) * mosaic.picture.width + column * width;
        mosaic.picture.values[at..at + width].to_vec()
    };
    (0..height).flat_map(line).collect()
}

fn assert_decoded(model: &mut Builtin, device: &Device, found: &[f32], z: [f32; 2]) {
    let mut decoder = Decoder::new(&Problem::of_run(&model.spec, found.len()), device).expect("it compiles");
    let means = decoder.means(&model.checkpoint.store, &z).expect("it runs");
    assert!(found.iter().zip(&means).all(|(a, b)| (a - b).abs() < 0.006), "decoded at {z:?}");
}

#[test]
fn an_energy_surface_has_the_models_energies_and_its_chains() {
    let (mut model, data, device) = builtin();
    let plane = PlaneModel::new(&model.spec, data.test(), &model.checkpoint.store, &device).expect("a plane");
    let found = energy_surface(&plane, data.test(), IMAGE, 1).expect("it runs");
    for field in [&found.energy, &found.near] {
        assert_eq!(field.values.len(), field.columns * field.rows);
        let some: Vec<(Point, f64)> = field.points().zip(field.values.iter().copied()).step_by(977).collect();
        let points: Vec<Point> = some.iter().map(|(z, _)| *z).collect();
        for ((z, found), exact) in some.iter().zip(energies(&mut model, &data, &device, &points)) {
            assert!((found - exact).abs() < 1e-4 * exact.abs(), "{found} and {exact} at {z:?}");
        }
    }
    let chain = model.spec.chain;
    for path in &found.paths {
        assert_eq!(path.points.len(), 1 + chain.hmc_steps * chain.leapfrog_steps);
        assert!((0..2).all(|i| path.end[i] > found.near.low[i] && path.end[i] < found.near.high[i]));
        if chain.acceptance == hmcvi::family::Acceptance::None {
            assert_eq!(path.points.last(), Some(&path.end), "all proposals are taken");
        }
    }
    // The upper left image of twelve by twelve.
    assert_decoded(&mut model, &device, &tile(&found.decoded, 0, 0), [-2.75, 2.75]);
    assert_decoded(&mut model, &device, &tile(&found.decoded, 7, 10), [0.75, -2.25]);
}

#[test]
fn a_latent_map_shows_the_chains_ends_through_the_distribution_function() {
    let (mut model, data, device) = builtin();
    let plane = PlaneModel::new(&model.spec, data.test(), &model.checkpoint.store, &device).expect("a plane");
    let found = latent_square(&plane, data.train(), 60, 3).expect("it runs");
    assert_eq!((found.images, found.points.len()), (60, 60));
    let images = data.train().slice(0..60).expect("sixty images");
    let drawn = model.spec.data.observation(&images).draw(&images, TEST_SEED, 0);
    let mut evaluator =
        BoundEvaluator::new(&Problem::of_run(&model.spec, images.columns()), &drawn.observation(), &device)
            .expect("it compiles");
    let chains = evaluator.run(&model.checkpoint.store, &drawn, &rows(60), 3, 0, |_| false).expect("it runs");
    for (i, point) in found.points.iter().enumerate() {
        assert!((0.0..=1.0).contains(&point.x) && (0.0..=1.0).contains(&point.y));
        assert_eq!(point.class, images.labels().and_then(|l| l.class(i)));
        for (share, z) in [point.x, point.y].into_iter().zip(&chains.end[2 * i..]) {
            // Far out the share itself has few digits.
            let error = (normal_quantile(share) - f64::from(*z)).abs();
            assert!(error < 1e-6 || z.abs() > 5.0, "{share} for {z}");
        }
    }
    let z = normal_quantile(0.025) as f32;
    assert_decoded(&mut model, &device, &tile(&found.decoded, 0, 0), [z, -z]);
}

/// The posteriors of the image, which take a while.
static POSTERIORS: LazyLock<Posteriors> = LazyLock::new(|| {
    let (model, data, device) = builtin();
    let plane = PlaneModel::new(&model.spec, data.test(), &model.checkpoint.store, &device).expect("a plane");
    posteriors(&plane, data.test(), IMAGE, 4000, 1).expect("it runs")
});

fn divergence(q: &Field, p: &Field) -> f64 {
    let term = |(q, p): (&f64, &f64)| if *q > 0.0 { q * (q.ln() - p.ln()) } else { 0.0 };
    let [dx, dy] = q.spacing();
    q.values.iter().zip(&p.values).map(term).filter(|t| t.is_finite()).sum::<f64>() * dx * dy
}

#[test]
fn posteriors_are_densities_and_the_chain_comes_nearer() {
    let found = &*POSTERIORS;
    let (exact, initial, improved) = (&found.exact, &found.initial, &found.improved);
    for (what, density, error) in
        [("exact", exact, 1e-9), ("initial", &initial.density, 1e-3), ("improved", &improved.density, 1e-9)]
    {
        assert!(density.values.iter().all(|v| *v >= 0.0), "{what}");
        assert!((density.integral() - 1.0).abs() < error, "{what}: {}", density.integral());
        // Nothing of it is cut off: the edges are empty.
        let edge = density
            .points()
            .zip(&density.values)
            .filter(|(z, _)| z[0] == density.low[0] || z[1] == density.low[1]);
        assert!(edge.map(|(_, v)| *v).fold(0.0, f64::max) < 1e-3 * density.range().1, "{what}");
    }
    for (what, part) in [("initial", initial), ("improved", improved)] {
        assert!(part.divergence > 0.0, "{what}");
        assert!(
            (part.divergence - divergence(&part.density, exact)).abs() < 1e-2 * part.divergence + 1e-6,
            "{what}"
        );
    }
    assert!(improved.divergence < initial.divergence, "{} to {}", initial.divergence, improved.divergence);
    // What the kernel does to a divergence that is known: 4,000 draws leave a few hundredths of a nat.
    assert!((0.0..0.05).contains(&found.estimate_of_exact), "{}", found.estimate_of_exact);
    let off = (found.estimate_of_initial - initial.divergence).abs();
    assert!(
        off < 0.1 * initial.divergence + 0.05,
        "{} for {}",
        found.estimate_of_initial,
        initial.divergence
    );
    // L_aux = log p(x) - KL(q(z_T) ‖ p) - what the reverse model misses.
    assert!(found.bound < found.log_evidence - improved.divergence + 0.1, "{}", found.bound);
}

#[test]
fn the_evidence_by_quadrature_is_that_of_importance_sampling() {
    let (mut model, data, device) = builtin();
    let found = &*POSTERIORS;
    // Draws from a Gaussian with the moments of the posterior, made wider.
    let cell: f64 = found.exact.spacing().iter().product();
    let moment = |f: &dyn Fn(Point) -> f64| -> f64 {
        found.exact.points().zip(&found.exact.values).map(|(z, p)| f(z) * p * cell).sum()
    };
    let mean = [0, 1].map(|i| moment(&|z| z[i]));
    let deviation = [0, 1].map(|i| 1.5 * moment(&|z| (z[i] - mean[i]).powi(2)).sqrt());
    let noise: Vec<[f64; 2]> =
        prior_draws(2, 4000, 5).as_chunks::<2>().0.iter().map(|n| n.map(f64::from)).collect();
    let z: Vec<Point> = noise.iter().map(|n| [0, 1].map(|i| mean[i] + deviation[i] * n[i])).collect();
    let log_q = |n: &[f64; 2]| {
        -0.5 * (n[0] * n[0] + n[1] * n[1]) - (std::f64::consts::TAU * deviation[0] * deviation[1]).ln()
    };
    let weights: Vec<f64> =
        energies(&mut model, &data, &device, &z).iter().zip(&noise).map(|(u, n)| -u - log_q(n)).collect();
    let estimate = log_mean_exp(weights.iter().copied());
    let relative: Vec<f64> = weights.iter().map(|w| (w - estimate).exp()).collect();
    let variance = relative.iter().map(|r| (r - 1.0).powi(2)).sum::<f64>() / relative.len() as f64;
    let error = (variance / relative.len() as f64).sqrt();
    assert!(
        (estimate - found.log_evidence).abs() < 4.0 * error + 1e-3,
        "{estimate} +- {error}, {}",
        found.log_evidence
    );
}

#[test]
fn mixtures_find_both_modes_where_the_trained_chain_has_one() {
    let (model, data, device) = builtin();
    let plane = PlaneModel::new(&model.spec, data.test(), &model.checkpoint.store, &device).expect("a plane");
    let settings = ModesSettings { draws: 2000, ..ModesSettings::default() };
    let found = modes(&plane, &model.spec, data.test(), IMAGE, &settings).expect("it runs");
    let told: Vec<String> = found
        .fits
        .iter()
        .map(|fit| format!("{}: {}, {:?}", fit.name, fit.density.divergence, fit.shares))
        .collect();
    let trained = &found.fits[0];
    assert!((trained.density.divergence - POSTERIORS.improved.divergence).abs() < 0.3, "{told:?}");
    assert!((found.shares.iter().sum::<f64>() - 0.99).abs() < 2e-3 && found.shares.len() == 2);
    assert!(found.shares[1] > 0.1 && trained.shares[0] < 0.01, "{told:?}");
    for fit in &found.fits {
        let gap = found.log_evidence - fit.bound;
        // The bound is at least the divergence below; the kernel makes densities wider, as it does the posterior's own.
        let blurred = found.estimate_of_exact + 0.05;
        assert!(fit.density.divergence < gap + blurred && fit.outside < 1e-2, "{told:?}, {gap}");
        if fit.parts > 1 {
            assert!(fit.density.divergence < 0.5, "{told:?}");
            assert!(fit.shares.iter().zip(&found.shares).all(|(q, p)| *q > 0.4 * p), "{told:?}");
        }
    }
}

#[test]
fn only_planes_have_these_figures() {
    let spec = preset("basic-20d").expect("a preset");
    let (model, data, device) = builtin();
    let store = Store::new();
    let error = PlaneModel::new(&spec, data.test(), &store, &device).err().expect("twenty dimensions");
    assert!(matches!(error, FigureError::NotAPlane(20)), "{error}");
    let plane = PlaneModel::new(&model.spec, data.test(), &model.checkpoint.store, &device).expect("a plane");
    let error = energy_surface(&plane, data.test(), 5000, 1).expect_err("no such image");
    assert!(error.to_string().contains("image 5000"), "{error}");
}
