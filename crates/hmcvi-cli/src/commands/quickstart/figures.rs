//! Draw what the quickstart has learnt: the gain, curves, latent maps and decoded grids.

use std::path::{Path, PathBuf};

use hmcvi::Problem;
use hmcvi::config::RunSpec;
use hmcvi::data::Dataset;
use hmcvi::device::Device;
use hmcvi::eval::{BoundEvaluator, Decoder, TEST_SEED, finite_estimate, rows};
use hmcvi::figure::{FigureError, PlaneModel, posteriors};
use hmcvi::run::Checkpoint;
use hmcvi_record::{Curve, Epoch, ImageEvaluation, LatentPoint};
use hmcvi_report::figure::{Chart, Gain, GainOf, chart, gain, latent_map};
use hmcvi_report::{GreyGrid, Scene};

use super::{BASIC, EvaluatedModel, HMCVI};
use crate::failure::Failure;
use crate::output::{Outputs, drawing_files};

/// Draws behind the density after the HMC steps.
const DRAWS: usize = 20_000;
/// How the image of the gain is chosen.
const CHOSEN: &str = "The plain VAE’s bound on this image is looser than on nine in ten others.";
/// Decoded means in a row of the grid.
const SIDE: usize = 16;

/// Drawings, each as SVG and PNG, and pictures of decoded images.
const DRAWINGS: [&str; 3] = ["gain", "learning-curves", "latent-map"];

/// The files that are drawn.
pub(super) fn files(out: &Path) -> Vec<PathBuf> {
    let drawings = DRAWINGS.iter().flat_map(|name| drawing_files(&out.join(name)));
    drawings.chain([BASIC, HMCVI].map(|model| decoded_file(out, model.0))).collect()
}

fn decoded_file(out: &Path, model: &str) -> PathBuf {
    out.join(format!("decoded-{model}.png"))
}

pub(super) fn draw(
    (out, outputs): (&Path, &Outputs),
    data: &Dataset,
    models: [&EvaluatedModel; 2],
    device: &Device,
) -> Result<(), Failure> {
    outputs.write_drawing(&out.join(DRAWINGS[0]), &gained(data, models, device)?)?;
    outputs.write_drawing(&out.join(DRAWINGS[1]), &learning_curves(models)?)?;
    let mut panels = Vec::new();
    for model in models {
        panels.push((format!("{}: draws of test images", model.name), latent_points(model, data, device)?));
        let file = decoded_file(out, &model.directory_name());
        outputs.write(&file, &decoded(model, data, device)?)?;
    }
    outputs.write_drawing(&out.join(DRAWINGS[2]), &latent_map(&panels)?)
}

/// What HMC steps gain, in nats and for the posterior of one image.
fn gained(data: &Dataset, [basic, hmcvi]: [&EvaluatedModel; 2], device: &Device) -> Result<Scene, Failure> {
    let image = telling_image(&basic.result.images);
    let of = |name: &str, model: &EvaluatedModel| {
        gain_of(name, (&model.spec, &model.checkpoint), &model.result.images, (data, image, device))
    };
    let (plain, hmcvi) = (of("Plain VAE", basic)?, of(hmcvi.name, hmcvi)?);
    Ok(gain(&Gain { plain, hmcvi, chosen: CHOSEN.into() }))
}

impl EvaluatedModel {
    fn directory_name(&self) -> String {
        self.directory.path().file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned())
    }
}

fn learning_curves(models: [&EvaluatedModel; 2]) -> Result<Scene, Failure> {
    let mut curves = Vec::new();
    for model in models {
        let epochs = model.directory.epochs()?;
        let curve = |name: &str, value: &dyn Fn(&Epoch) -> Option<f64>| Curve {
            name: format!("{}, {name}", model.name),
            points: epochs.iter().filter_map(|e| Some((e.epoch as f64, value(e)?))).collect(),
        };
        curves.push(curve("training", &|e| e.train.get("bound").copied()));
        curves.push(curve("validation", &|e| e.validation.as_ref()?.get("bound").copied()));
    }
    let data = Chart {
        title: "Bound over further training from the same start".into(),
        x: "epoch".into(),
        y: "bound in nats".into(),
        curves,
    };
    Ok(chart(&data)?)
}

fn latent_points(
    model: &EvaluatedModel,
    data: &Dataset,
    device: &Device,
) -> Result<Vec<LatentPoint>, Failure> {
    let (images, spec) = (data.test(), &model.spec);
    let drawn = spec.data.observation(images).draw(images, TEST_SEED, 0);
    let problem = Problem::of_run(spec, images.columns());
    let mut evaluator = BoundEvaluator::new(&problem, &drawn.observation(), device)?;
    let store = model.checkpoint.store.clone();
    let chains = evaluator.run(&store, &drawn, &rows(images.len()), spec.eval.seed, 0, |_| false)?;
    let point = |(i, z): (usize, &[f32])| LatentPoint {
        x: z[0].into(),
        y: z[1].into(),
        class: images.labels().and_then(|labels| labels.class(i)),
    };
    Ok(chains.end.chunks(2).enumerate().map(point).collect())
}

/// The test image whose bound is looser than those of nine tenths of the images: one that the model serves badly, but no
/// exception.
fn telling_image(images: &[ImageEvaluation]) -> usize {
    let mut order: Vec<(usize, f64)> =
        gaps(images).into_iter().enumerate().filter(|g| g.1.is_finite()).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    order.get(order.len() * 9 / 10).map_or(0, |(image, _)| *image)
}

/// How far the bound of each image is below its exact log-likelihood.
fn gaps(images: &[ImageEvaluation]) -> Vec<f64> {
    images.iter().map(|i| i.exact.zip(i.bound).map_or(f64::NAN, |(exact, bound)| exact - bound)).collect()
}

fn gain_of(
    name: &str,
    (spec, checkpoint): (&RunSpec, &Checkpoint),
    images: &[ImageEvaluation],
    (data, image, device): (&Dataset, usize, &Device),
) -> Result<GainOf, Failure> {
    let negative = |of: fn(&ImageEvaluation) -> Option<f64>| {
        finite_estimate(&images.iter().map(|i| -of(i).unwrap_or(f64::NAN)).collect::<Vec<_>>())
    };
    let store = checkpoint.store.clone();
    let plane = PlaneModel::new(spec, data.test(), &store, device)?;
    Ok(GainOf {
        name: name.into(),
        exact: negative(|i| i.exact),
        bound: negative(|i| i.bound),
        gap: finite_estimate(&gaps(images)),
        posterior: posteriors(&plane, data.test(), image, DRAWS, spec.eval.seed)?,
    })
}

/// Decoded means over a square of the latent space, the first coordinate to the right, the second upwards.
fn decoded(model: &EvaluatedModel, data: &Dataset, device: &Device) -> Result<Vec<u8>, Failure> {
    let at = |i: usize| -2.5 + 5.0 * i as f32 / (SIDE - 1) as f32;
    let z: Vec<f32> = (0..SIDE * SIDE).flat_map(|i| [at(i % SIDE), -at(i / SIDE)]).collect();
    let images = data.test();
    let mut decoder = Decoder::new(&Problem::of_run(&model.spec, images.columns()), device)?;
    let values = decoder.means(&model.checkpoint.store.clone(), &z)?;
    let (height, width) = images.shape().ok_or(FigureError::NoShape)?;
    Ok(GreyGrid { height, width, columns: SIDE, values }.png()?)
}
