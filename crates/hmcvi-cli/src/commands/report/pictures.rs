//! Draw what a trained model does with images, for its report.

use std::path::Path;

use hmcvi::run::{RunDirectory, Which};
use hmcvi_report::{GreyGrid, Picture};

use crate::Context;
use crate::arguments::{CheckpointName, Data, Machine, Trained};
use crate::commands::sample::{prior, reconstructions};
use crate::failure::Failure;
use crate::settings::{Model, open_trained};

/// Images that are reconstructed, and rows and columns of samples.
const RECONSTRUCTED: usize = 12;
const SIDE: usize = 10;
/// Seed of the draws.
const SEED: u64 = 1;

/// The pictures of a run, and whether its data is the paper's.
pub(super) fn draw(
    context: &Context,
    run: &Path,
    (data, machine): (&Data, &Machine),
    index: usize,
) -> Result<(Vec<Picture>, bool), Failure> {
    // A training of which no look was the best yet has its last state.
    let best = RunDirectory::open(run)?.has_checkpoint(Which::Best);
    let checkpoint = if best { CheckpointName::Best } else { CheckpointName::Last };
    let trained = Trained { run: run.into(), checkpoint, data: data.clone(), machine: *machine };
    let mut model = open_trained(context, &trained)?;
    let pictures = vec![reconstructed(&mut model, index)?, sampled(&mut model, index)?];
    Ok((pictures, model.data.name() == "mnist"))
}

fn reconstructed(model: &mut Model, run: usize) -> Result<Picture, Failure> {
    let (values, shape, columns) = reconstructions(model, RECONSTRUCTED, SEED)?;
    let chain = model.spec.chain.hmc_steps > 0;
    let count = shape.last().copied().unwrap_or(0);
    let rows = if chain {
        "from the encoder’s draw, and from the draw after the HMC steps"
    } else {
        "from the encoder’s draw"
    };
    // Without HMC steps both draws are the same.
    let pixels = model.data.test().pixels();
    let values = if chain { values } else { values[..2 * count * pixels].to_vec() };
    Ok(Picture {
        run,
        title: "Reconstructions".into(),
        caption: format!("From top to bottom: test images, decoded {rows}."),
        alternative: format!("{count} test images in a row and, below each, the images decoded {rows}."),
        png: grid(model, values, columns, 2)?,
        drawing: false,
        full: true,
    })
}

fn sampled(model: &mut Model, run: usize) -> Result<Picture, Failure> {
    let (values, _, columns) = prior(model, SIDE * SIDE, SEED)?;
    Ok(Picture {
        run,
        title: "Samples".into(),
        caption: "Means of images decoded from draws of the prior.".into(),
        alternative: format!("A grid of {} images that the model drew.", SIDE * SIDE),
        png: grid(model, values, columns, 2)?,
        drawing: false,
        full: false,
    })
}

fn grid(model: &Model, values: Vec<f32>, columns: usize, zoom: usize) -> Result<Vec<u8>, Failure> {
    let (height, width) = (model.data.train().height(), model.data.train().width());
    Ok(GreyGrid { height, width, columns, zoom, values }.png()?)
}
