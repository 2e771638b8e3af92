//! Draw images from the prior of a trained model, or reconstruct test images with it.

use std::path::{Path, PathBuf};

use clap::Args;
use hmcvi::Problem;
use hmcvi::config::RunSpec;
use hmcvi::device::Device;
use hmcvi::eval::{BoundEvaluator, Decoder, TEST_SEED, prior_draws, rows};
use hmcvi::run::Checkpoint;
use hmcvi_report::GreyGrid;
use serde::Serialize;

use crate::Context;
use crate::arguments::Trained;
use crate::commands::eval::first;
use crate::failure::Failure;
use crate::output::Outputs;
use crate::settings::{Model, Size, open_network, open_trained};
use crate::source;

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    trained: Trained,
    /// Number of images
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    count: u32,
    /// PNG file; next to it, the values are written as FILE.npy and the latent points as FILE-z.npy
    #[arg(long, default_value = "samples.png", value_name = "FILE.png")]
    out: PathBuf,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    /// Reconstruct test images: the image, its reconstruction before the HMC steps, and the one after them
    #[arg(long)]
    reconstruct: bool,
    /// Seed of the draws
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What was written.
#[derive(Serialize)]
struct Written {
    /// Only where rows of the data are images.
    image: Option<PathBuf>,
    values: PathBuf,
    shape: Vec<usize>,
    z: PathBuf,
    z_shape: Vec<usize>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let out = &arguments.out;
    if out.extension().is_none_or(|e| !e.eq_ignore_ascii_case("png")) {
        let text = format!("`--out` is {}, but must be the name of a .png file", out.display());
        return Err(Failure::Usage(text));
    }
    let files = [out.clone(), out.with_extension("npy"), z_file(out)];
    let outputs = Outputs::claim(files.clone(), arguments.force)?;
    let (size, pictures) = match arguments.reconstruct {
        true => reconstructed(context, arguments, &outputs)?,
        false => sampled(context, arguments, &outputs)?,
    };
    let Pictures { values, mut shape, columns, z, z_shape } = pictures;
    shape.extend(size.lengths());
    let [image, values_file, z_file] = files;
    outputs.write_npy(&values_file, &shape, &values)?;
    outputs.write_npy(&z_file, &z_shape, &z)?;
    let image = match size {
        Size::Image([height, width]) => {
            outputs.write(&image, &GreyGrid { height, width, columns, values }.png()?)?;
            Some(image)
        }
        Size::Row(_) => {
            context.terminal.notice("no picture is written: the rows of this model's data are no images");
            None
        }
    };
    let written = Written { image, values: values_file, shape, z: z_file, z_shape };
    if context.terminal.json {
        return context.terminal.print_json(&written);
    }
    let files = written.image.iter().chain([&written.values, &written.z]);
    context.terminal.print(&files.map(|file| format!("{}\n", file.display())).collect::<String>())
}

/// The file of the latent points beside a picture.
fn z_file(picture: &Path) -> PathBuf {
    let mut name = picture.file_stem().unwrap_or_default().to_owned();
    name.push("-z.npy");
    picture.with_file_name(name)
}

fn reconstructed(
    context: &Context,
    arguments: &Arguments,
    outputs: &Outputs,
) -> Result<(Size, Pictures), Failure> {
    let mut model = open_trained(context, &arguments.trained)?;
    outputs.spare(&model.spec.data.source)?;
    let size = Size::of(model.data.test());
    Ok((size, reconstructions(&mut model, arguments.count as usize, arguments.seed)?))
}

/// The data may be gone: all that is needed is in the run.
fn sampled(context: &Context, arguments: &Arguments, outputs: &Outputs) -> Result<(Size, Pictures), Failure> {
    let mut network = open_network(&arguments.trained)?;
    outputs.spare(&network.spec.data.source)?;
    if let Some(data) = &arguments.trained.data.data {
        outputs.spare(&source::named(data).to_string())?;
        context.terminal.notice("`--data` is not used: samples from the prior need no data");
    }
    let size = network.size()?;
    let model = (&network.spec, &mut network.checkpoint, &network.device);
    Ok((size, prior(model, size.lengths().iter().product(), arguments.count as usize, arguments.seed)?))
}

/// Images and the latent points that they were decoded from.
pub(crate) struct Pictures {
    /// Image after image.
    pub(crate) values: Vec<f32>,
    /// Shape of the values without that of an image.
    pub(crate) shape: Vec<usize>,
    /// Images in a row of the picture.
    pub(crate) columns: usize,
    z: Vec<f32>,
    z_shape: Vec<usize>,
}

/// Images decoded from draws of the prior.
pub(crate) fn prior(
    (spec, checkpoint, device): (&RunSpec, &mut Checkpoint, &Device),
    pixels: usize,
    count: usize,
    seed: u64,
) -> Result<Pictures, Failure> {
    let z = prior_draws(spec.model.latent, count, seed);
    let values = Decoder::new(&Problem::of_run(spec, pixels), device)?.means(&checkpoint.store, &z)?;
    let columns = (count as f64).sqrt().ceil() as usize;
    Ok(Pictures { values, shape: vec![count], columns, z, z_shape: vec![count, spec.model.latent] })
}

/// Test images, then decoded from draws before and after the HMC steps.
pub(crate) fn reconstructions(model: &mut Model, count: usize, seed: u64) -> Result<Pictures, Failure> {
    let images = first(model.data.test(), Some(count))?;
    let (spec, device, count) = (&model.spec, &model.device, images.len());
    let (problem, seen) = (model.problem(), spec.data.observation(&images).draw(&images, TEST_SEED, 0));
    let store = &model.checkpoint.store;
    let chains = BoundEvaluator::new(&problem, &seen.observation(), device)?.run(
        store,
        &seen,
        &rows(count),
        seed,
        0,
        |_| false,
    )?;
    let mut decoder = Decoder::new(&problem, device)?;
    let originals = seen.values(0..count);
    let parts = [originals, decoder.means(store, &chains.start)?, decoder.means(store, &chains.end)?];
    Ok(Pictures {
        // Rows of three: below each other in the picture, first axis of the values.
        values: parts.concat(),
        shape: vec![3, count],
        columns: count,
        z: [chains.start, chains.end].concat(),
        z_shape: vec![2, count, spec.model.latent],
    })
}
