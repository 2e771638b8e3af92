//! Draw what the quickstart has learnt: curves, latent maps and decoded grids.

use std::path::{Path, PathBuf};

use hmcvi::data::{Dataset, fixed_draw};
use hmcvi::device::Device;
use hmcvi::eval::{BoundEvaluator, Decoder, TEST_SEED};
use hmcvi_record::{Curve, Epoch, LatentPoint};
use hmcvi_report::figure::{Chart, chart, latent_map};
use hmcvi_report::{GreyGrid, Scene};

use super::{BASIC, HMCVI, Judged};
use crate::failure::Failure;
use crate::output::{Outputs, drawing_files};

/// Decoded means in a row of the grid.
const SIDE: usize = 16;

/// Drawings, each as SVG and PNG, and pictures of decoded images.
const DRAWINGS: [&str; 2] = ["learning-curves", "latent-map"];

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
    models: [&Judged; 2],
    device: &Device,
) -> Result<(), Failure> {
    outputs.write_drawing(&out.join(DRAWINGS[0]), &learning_curves(models)?)?;
    let mut panels = Vec::new();
    for model in models {
        panels.push((format!("{}: draws of test images", model.name), latent_points(model, data, device)?));
        let file = decoded_file(out, &model.directory_name());
        outputs.write(&file, &decoded(model, data, device)?)?;
    }
    outputs.write_drawing(&out.join(DRAWINGS[1]), &latent_map(&panels)?)
}

impl Judged {
    fn directory_name(&self) -> String {
        self.directory.path().file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned())
    }
}

fn learning_curves(models: [&Judged; 2]) -> Result<Scene, Failure> {
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

fn latent_points(model: &Judged, data: &Dataset, device: &Device) -> Result<Vec<LatentPoint>, Failure> {
    let (images, spec) = (data.test(), &model.spec);
    let binary = fixed_draw(images, spec.data.binarisation, spec.data.pixel_scale, TEST_SEED, 0);
    let mut evaluator = BoundEvaluator::new(spec, images.pixels(), device)?;
    let mut store = model.checkpoint.store.clone();
    let chains = evaluator.run(&mut store, &binary, images.len(), spec.eval.seed, 0, |_| false)?;
    let labels = images.labels().unwrap_or_default();
    let point = |(i, z): (usize, &[f32])| LatentPoint {
        x: z[0].into(),
        y: z[1].into(),
        class: labels.get(i).copied().unwrap_or(0),
    };
    Ok(chains.end.chunks(2).enumerate().map(point).collect())
}

/// Decoded means over a square of the latent space, the first coordinate to the right, the second upwards.
fn decoded(model: &Judged, data: &Dataset, device: &Device) -> Result<Vec<u8>, Failure> {
    let at = |i: usize| -2.5 + 5.0 * i as f32 / (SIDE - 1) as f32;
    let z: Vec<f32> = (0..SIDE * SIDE).flat_map(|i| [at(i % SIDE), -at(i / SIDE)]).collect();
    let images = data.test();
    let mut decoder = Decoder::new(&model.spec, images.pixels(), device)?;
    let values = decoder.means(&mut model.checkpoint.store.clone(), &z)?;
    let (height, width) = (images.height(), images.width());
    Ok(GreyGrid { height, width, columns: SIDE, zoom: 1, values }.png()?)
}
