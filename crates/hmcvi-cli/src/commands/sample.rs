//! Draw images from the prior of a trained model, or reconstruct test images with it.

use std::path::PathBuf;

use clap::Args;
use hmcvi::data::fixed_draw;
use hmcvi::eval::{BoundEvaluator, Decoder, TEST_SEED, prior_draws};
use hmcvi_report::GreyGrid;
use serde::Serialize;

use crate::Context;
use crate::arguments::Trained;
use crate::commands::eval::first;
use crate::failure::Failure;
use crate::output::Outputs;
use crate::settings::{Model, open_trained};

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    trained: Trained,
    /// Number of images
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    count: u32,
    /// PNG file; the values go beside it as .npy
    #[arg(long, default_value = "samples.png", value_name = "FILE.png")]
    out: PathBuf,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
    /// Reconstruct test images: the image, then from the draw before and from the draw after the HMC steps
    #[arg(long)]
    reconstruct: bool,
    /// Seed of the draws
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What was written.
#[derive(Serialize)]
struct Written {
    image: PathBuf,
    values: PathBuf,
    shape: Vec<usize>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    if arguments.out.extension().is_none_or(|e| !e.eq_ignore_ascii_case("png")) {
        let text = format!("`--out` is {}, but must be the name of a .png file", arguments.out.display());
        return Err(Failure::Usage(text));
    }
    let values_file = arguments.out.with_extension("npy");
    let outputs = Outputs::claim([arguments.out.clone(), values_file.clone()], arguments.force)?;
    let mut model = open_trained(context, &arguments.trained)?;
    outputs.spare(&model.spec.data.source)?;
    let (height, width) = (model.data.train().height(), model.data.train().width());
    let (values, mut shape, columns) = match arguments.reconstruct {
        true => reconstructions(&mut model, arguments.count as usize, arguments.seed)?,
        false => prior(&mut model, arguments.count as usize, arguments.seed)?,
    };
    shape.extend([height, width]);
    outputs.write_npy(&values_file, &shape, &values)?;
    outputs.write(&arguments.out, &GreyGrid { height, width, columns, zoom: 2, values }.png()?)?;
    let written = Written { image: arguments.out.clone(), values: values_file, shape };
    if context.terminal.json {
        return context.terminal.print_json(&written);
    }
    context.terminal.print(&format!("{}\n{}\n", written.image.display(), written.values.display()))
}

/// Values, their shape without that of an image, and images in a row.
pub(crate) type Pictures = (Vec<f32>, Vec<usize>, usize);

/// Images decoded from draws of the prior.
pub(crate) fn prior(model: &mut Model, count: usize, seed: u64) -> Result<Pictures, Failure> {
    let z = prior_draws(model.spec.model.latent, count, seed);
    let mut decoder = Decoder::new(&model.spec, model.data.train().pixels(), &model.device)?;
    let values = decoder.means(&mut model.checkpoint.store, &z)?;
    Ok((values, vec![count], (count as f64).sqrt().ceil() as usize))
}

/// Test images, then decoded from draws before and after the HMC steps.
pub(crate) fn reconstructions(model: &mut Model, count: usize, seed: u64) -> Result<Pictures, Failure> {
    let images = first(model.data.test(), Some(count))?;
    let (spec, device, pixels) = (&model.spec, &model.device, images.pixels());
    let binary = fixed_draw(&images, spec.data.binarisation, spec.data.pixel_scale, TEST_SEED, 0);
    let store = &mut model.checkpoint.store;
    let chains =
        BoundEvaluator::new(spec, pixels, device)?.run(store, &binary, images.len(), seed, 0, |_| false)?;
    let mut decoder = Decoder::new(spec, pixels, device)?;
    let scale = f32::from(binary.iter().copied().max().unwrap_or(1).max(1));
    let originals = binary.iter().map(|b| f32::from(*b) / scale).collect();
    let parts = [originals, decoder.means(store, &chains.start)?, decoder.means(store, &chains.end)?];
    // Rows of three: below each other in the picture, first axis of the values.
    Ok((parts.concat(), vec![3, images.len()], images.len()))
}
