//! Compare likelihoods of a trained model with integrals over its latent plane.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use std::rc::Rc;

use hmcvi::Problem;
use hmcvi::config::preset;
use hmcvi::data::Dataset;
use hmcvi::device::Device;
use hmcvi::eval::{
    AnnealingOptions, EvalError, EvaluationOptions, ImportanceOptions, ImportanceSampler, Proposal,
    Quadrature, QuadratureOptions, ReverseFitter, evaluate,
};
use hmcvi::nn::Parameters;
use hmcvi::run::Builtin;
use hmcvi_graph::{CpuOptions, Graph, Run, Store};

/// Test images whose posteriors the encoder finds; for others both estimates see another mode than the highest.
const IMAGES: std::ops::Range<usize> = 24..28;
/// Prior mass outside of this square is below 1e-4, and posteriors are some hundredths wide.
const SIDE: f64 = 4.0;
const SPACING: f64 = 0.02;
const ROWS: usize = 1000;
/// What single precision and the midpoint rule leave uncertain.
const ROUNDING: f64 = 0.01;

/// `log ∫ p(x, z) dz` of every image, by the midpoint rule.
fn integrals(builtin: &mut Builtin, x: &[Vec<f32>]) -> Vec<f64> {
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let model = Problem::of_run(&builtin.spec, x[0].len()).model;
    let energy =
        model.potential(&parameters, graph.batch_input("x", x[0].len())).energy(graph.batch_input("z", 2));
    let program = graph.program().output("energy", energy).compile().expect("it compiles");
    let mut executable = program.on_cpu::<f32>(CpuOptions { threads: 2, ..CpuOptions::for_rows(ROWS) });
    let count = (2.0 * SIDE / SPACING) as usize;
    let middle = |i: usize| (-SIDE + (i as f64 + 0.5) * SPACING) as f32;
    let points: Vec<[f32; 2]> = (0..count * count).map(|i| [middle(i / count), middle(i % count)]).collect();
    x.iter()
        .map(|x| {
            let x = x.repeat(ROWS);
            let mut joint: Vec<f64> = Vec::with_capacity(points.len());
            for z in points.chunks(ROWS) {
                let inputs: &[(&str, &[f32])] = &[("x", &x), ("z", z.as_flattened())];
                let run = Run { rows: z.len(), inputs, ..Run::default() };
                executable.evaluate(&builtin.checkpoint.store, &run).expect("it runs");
                let energies = executable.output("energy").expect("an output");
                joint.extend(energies.iter().map(|e| -f64::from(*e)));
            }
            let highest = joint.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            highest + (joint.iter().map(|l| (l - highest).exp()).sum::<f64>() * SPACING * SPACING).ln()
        })
        .collect()
}

#[test]
fn likelihoods_of_the_builtin_model_are_those_of_quadrature() {
    let mut builtin = Builtin::open().expect("it is part of the library");
    let images = Dataset::embedded().expect("embedded").test().slice(IMAGES).expect("some images");
    let mut options = EvaluationOptions::new(&builtin.spec);
    options.draws = 1;
    options.importance = Some(ImportanceOptions::new(5000));
    options.quadrature = Some(QuadratureOptions { spacing: SPACING });
    let annealing = AnnealingOptions { temperatures: 300, ..AnnealingOptions::default() };
    options.annealing = Some((annealing, images.len()));
    let drawn = builtin.spec.data.observation(&images).draw(&images, options.images_seed, 0);
    let x: Vec<Vec<f32>> = (0..images.len()).map(|i| drawn.values(i..i + 1)).collect();
    let exact = integrals(&mut builtin, &x);
    let Builtin { spec, checkpoint, .. } = &mut builtin;
    let found =
        evaluate(spec, &checkpoint.store, &images, &options, &Device::cpu(2), &mut ()).expect("it evaluates");
    let annealing = found.annealing.as_ref().expect("it was asked for");
    for (image, exact) in found.images.iter().zip(&exact) {
        let integrated = image.exact.expect("it was integrated") - exact;
        assert!(integrated.abs() < ROUNDING, "{image:?}, not {exact}");
        let sampled = image.log_likelihood.expect("it was sampled") - exact;
        let annealed = image.annealed.expect("it was annealed") - exact;
        // The relative error of a mean of weights is 1 / sqrt(effective sample size).
        let error = image.effective_sample_size.expect("it was sampled").powf(-0.5);
        assert!(sampled.abs() < 5.0 * error + ROUNDING, "{image:?}, not {exact}");
        // Weights of chains are log-normal, nearly.
        let error = (annealing.log_weight_variance.exp_m1() / 16.0).sqrt();
        assert!(annealed.abs() < 5.0 * error + ROUNDING, "{image:?}, not {exact}, error {error}");
    }
}

#[test]
fn defensive_proposals_find_the_posterior_where_the_encoder_points_elsewhere() {
    const SAMPLES: usize = 400_000;
    let mut builtin = Builtin::open().expect("it is part of the library");
    let images = Dataset::embedded().expect("embedded").test().slice(IMAGES).expect("some images");
    let x = builtin.spec.data.observation(&images).draw(&images, 1, 0).values(0..1);
    let exact = integrals(&mut builtin, std::slice::from_ref(&x))[0];
    let model = Problem::of_run(&builtin.spec, x.len());
    let sample = |proposal| {
        let mut sampler =
            ImportanceSampler::new(&model, proposal, SAMPLES, &Device::cpu(2)).expect("it compiles");
        // Far from all posteriors, and narrow.
        let elsewhere = (&[3.5f32, -3.5][..], &[-6f32, -6.0][..]);
        sampler.run(&builtin.checkpoint.store, &x, elsewhere, SAMPLES, (1, 0)).expect("it runs")
    };
    let (gaussian, defensive) = (sample(Proposal::Gaussian), sample(Proposal::Defensive));
    assert!(gaussian.log_mean < exact - 10.0, "{gaussian:?}, not {exact}");
    let error = defensive.effective_sample_size.powf(-0.5);
    assert!((defensive.log_mean - exact).abs() < 5.0 * error + ROUNDING, "{defensive:?}, not {exact}");
    // Draws of the prior come near often enough that the comparison can fail.
    assert!(error < 0.2, "{defensive:?}");
}

#[test]
fn reverse_models_that_know_an_image_bring_the_bound_nearer_to_the_likelihood_but_not_beyond() {
    let mut builtin = Builtin::open().expect("it is part of the library");
    let images = Dataset::embedded().expect("embedded").test().slice(IMAGES).expect("some images");
    let image = images.slice(0..1).expect("one of them");
    let mut options = EvaluationOptions::new(&builtin.spec);
    (options.draws, options.chain_draws, options.importance) = (1, 1000, None);
    // Refined where that is too coarse.
    options.quadrature = Some(QuadratureOptions { spacing: 0.05 });
    options.reverse = 1;
    let Builtin { spec, checkpoint, .. } = &mut builtin;
    let found =
        evaluate(spec, &checkpoint.store, &image, &options, &Device::cpu(2), &mut ()).expect("it evaluates");
    let reverse = found.reverse.expect("it was asked for");
    let exact = found.quadrature.expect("it was asked for").log_likelihood.mean;
    let gap = exact - found.bound.mean;
    // Energies and log densities differ by about a nat from draw to draw.
    let error = 5.0 * (1.0 / 1000f64).sqrt();
    assert!(reverse.linear.mean > error, "{reverse:?}");
    assert!(
        reverse.own.mean < reverse.linear.mean && reverse.linear.mean < reverse.correlated.mean,
        "{reverse:?}"
    );
    assert!(
        reverse.correlated.mean < gap + error,
        "{reverse:?}, but the bound is {gap} below the likelihood"
    );
}

#[test]
fn reverse_models_are_those_of_steps() {
    let data = Dataset::embedded().expect("embedded");
    let basic = preset("basic-2d").expect("a preset");
    let refused = ReverseFitter::new(
        &Problem::of_run(&basic, 784),
        &basic.data.observation(data.test()),
        &Device::cpu(1),
    )
    .err();
    assert!(matches!(refused, Some(EvalError::NoSteps)), "{refused:?}");
}

/// A plain model of images.
fn model(latent: usize, hidden: Vec<usize>) -> Problem {
    let mut spec = preset("basic-2d").expect("a preset");
    (spec.model.latent, spec.model.hidden) = (latent, hidden);
    Problem::of_run(&spec, 784)
}

#[test]
fn discs_are_widened_for_posteriors_far_from_the_origin() {
    // All pixels have the logit softplus(z₁) / 20: for a white image the posterior is near z₁ = 13.
    const SLOPE: f64 = 0.05;
    let model = model(2, vec![1]);
    let mut store: Store<f32> = model.initial_values(1);
    for (name, values) in [
        ("decoder.0.weight", vec![1.0, 0.0]),
        ("decoder.0.bias", vec![0.0]),
        ("decoder.1.weight", vec![SLOPE as f32; 784]),
        ("decoder.1.bias", vec![0.0; 784]),
    ] {
        store.get_mut(name).expect("a layer of the decoder").values = values;
    }
    let mut quadrature =
        Quadrature::new(&model, QuadratureOptions { spacing: 0.1 }, &Device::cpu(2)).expect("a plane");
    let found = quadrature.run(&store, &[1.0; 784], &mut |_| false).expect("it integrates");
    let softplus = |x: f64| x.exp().ln_1p();
    let joint = |z: f64| -0.5 * (z * z + std::f64::consts::TAU.ln()) - 784.0 * softplus(-SLOPE * softplus(z));
    // The other dimension changes nothing, and integrates to 1.
    let exact =
        (-3000..3000).map(|i| (joint(f64::from(i) * 0.01) + 400.0).exp() * 0.01).sum::<f64>().ln() - 400.0;
    let found = found[0];
    assert!((found.log_likelihood - exact).abs() < 1e-3, "{found:?}, not {exact}");
    assert!((found.radius - 20.0).abs() < 1e-6 && found.rim < 1e-4, "{found:?}");
}

#[test]
fn spacings_have_limits() {
    let model = model(2, vec![8]);
    for spacing in [0.0, 0.001, 1.0, f64::NAN] {
        let refused = Quadrature::new(&model, QuadratureOptions { spacing }, &Device::cpu(1)).err();
        assert!(matches!(refused, Some(EvalError::Spacing(_))), "{spacing}: {refused:?}");
    }
}

#[test]
fn more_than_a_plane_is_not_integrated_over() {
    let model = model(20, vec![8]);
    let refused = Quadrature::new(&model, QuadratureOptions::default(), &Device::cpu(1)).err();
    assert!(matches!(refused, Some(EvalError::NotAPlane(20))), "{refused:?}");
}
