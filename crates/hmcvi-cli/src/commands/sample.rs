//! Draw rows, such as images, from the prior of a trained model, or reconstruct test rows with it.

use std::path::{Path, PathBuf};

use clap::Args;
use hmcvi::Problem;
use hmcvi::config::RunSpec;
use hmcvi::data::Kind;
use hmcvi::device::Device;
use hmcvi::eval::{BoundEvaluator, Decoder, TEST_SEED, prior_draws, rows};
use hmcvi::run::Checkpoint;
use hmcvi_report::{GreyGrid, Scene};
use serde::Serialize;

use crate::Context;
use crate::arguments::Trained;
use crate::commands::eval::first;
use crate::failure::Failure;
use crate::heat::{self, Columns};
use crate::output::Outputs;
use crate::settings::{Model, Size, open_network, open_trained};
use crate::source;

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    trained: Trained,
    /// Number of images or rows
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    count: u32,
    /// Images or a heat map of rows (.png; the values are next to it as .npy), values alone (.npy), or values with the
    /// names of their columns (.csv); the latent points are next to it as FILE-z.npy
    #[arg(long, default_value = "samples.png", value_name = "FILE.png")]
    out: PathBuf,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    /// Reconstruct test images or rows: what was observed, its reconstruction before the HMC steps, and after them
    #[arg(long)]
    reconstruct: bool,
    /// Seed of the draws
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What is to be written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Picture,
    Array,
    Text,
}

impl Form {
    fn of(out: &Path) -> Result<Form, Failure> {
        let end = out.extension().map(|end| end.to_string_lossy().to_lowercase());
        match end.as_deref() {
            Some("png") => Ok(Form::Picture),
            Some("npy") => Ok(Form::Array),
            Some("csv") => Ok(Form::Text),
            _ => Err(Failure::Usage(format!(
                "`--out` is {}, but must be the name of a .png, .npy or .csv file",
                out.display()
            ))),
        }
    }

    /// The picture, if there is one, and the file of the values.
    fn files(self, out: &Path) -> (Option<PathBuf>, PathBuf) {
        match self {
            Form::Picture => (Some(out.into()), out.with_extension("npy")),
            Form::Array | Form::Text => (None, out.into()),
        }
    }
}

/// What was written.
#[derive(Serialize)]
struct Written {
    /// Images, or a heat map of rows.
    image: Option<PathBuf>,
    values: PathBuf,
    shape: Vec<usize>,
    z: PathBuf,
    z_shape: Vec<usize>,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let form = Form::of(&arguments.out)?;
    let (image, values) = form.files(&arguments.out);
    let z = z_file(&arguments.out);
    let outputs = Outputs::claim(image.iter().chain([&values, &z]).cloned(), arguments.force)?;
    let Made { size, mut pictures, columns } = match arguments.reconstruct {
        true => reconstructed(context, arguments, &outputs, form)?,
        false => sampled(context, arguments, &outputs, form)?,
    };
    let (mut shape, z_shape) = (std::mem::take(&mut pictures.shape), std::mem::take(&mut pictures.z_shape));
    shape.extend(size.lengths());
    outputs.write_npy(&z, &z_shape, &pictures.z)?;
    match (form, &columns) {
        (Form::Text, Some(columns)) => {
            let parts: Vec<_> = ["original", "before", "after"].into_iter().zip(pictures.parts()).collect();
            outputs.write(&values, heat::csv(columns.names(), &parts).as_bytes())?;
        }
        _ => outputs.write_npy(&values, &shape, &pictures.values)?,
    }
    if let Some(image) = &image {
        outputs.write(image, &drawn(context, size, pictures, columns.as_ref())?)?;
    }
    let written = Written { image, values, shape, z, z_shape };
    if context.terminal.json {
        return context.terminal.print_json(&written);
    }
    let files = written.image.iter().chain([&written.values, &written.z]);
    context.terminal.print(&files.map(|file| format!("{}\n", file.display())).collect::<String>())
}

/// The picture of images, or of rows where columns are given.
fn drawn(
    context: &Context,
    size: Size,
    pictures: Pictures,
    columns: Option<&Columns>,
) -> Result<Vec<u8>, Failure> {
    match (size, columns) {
        (Size::Row(each), Some(columns)) => {
            let rows = pictures.values.len() / pictures.parts / each;
            if rows > heat::ROWS {
                context
                    .terminal
                    .notice(&format!("the picture shows the first {} of {rows} rows", heat::ROWS));
            }
            Ok(pictures.heat_map(columns)?.to_png()?)
        }
        _ => {
            let [height, width] = match size {
                Size::Image(lengths) => lengths,
                Size::Row(columns) => [1, columns],
            };
            let Pictures { values, columns, .. } = pictures;
            Ok(GreyGrid { height, width, columns, values }.png()?)
        }
    }
}

/// The file of the latent points beside a picture.
fn z_file(picture: &Path) -> PathBuf {
    let mut name = picture.file_stem().unwrap_or_default().to_owned();
    name.push("-z.npy");
    picture.with_file_name(name)
}

/// What is to be written down.
struct Made {
    size: Size,
    pictures: Pictures,
    /// Where they are needed.
    columns: Option<Columns>,
}

/// Whether something is written that needs to know columns.
fn needs_columns(form: Form, size: Size) -> bool {
    form == Form::Text || (form == Form::Picture && matches!(size, Size::Row(_)))
}

fn reconstructed(
    context: &Context,
    arguments: &Arguments,
    outputs: &Outputs,
    form: Form,
) -> Result<Made, Failure> {
    let mut model = open_trained(context, &arguments.trained)?;
    outputs.spare(&model.spec.data.source)?;
    let size = Size::of(model.data.test());
    let pictures = reconstructions(&mut model, arguments.count as usize, arguments.seed)?;
    let columns = needs_columns(form, size).then(|| Columns::of(model.data.train()));
    Ok(Made { size, pictures, columns })
}

/// The data may be gone: all that is needed is in the run.
fn sampled(context: &Context, arguments: &Arguments, outputs: &Outputs, form: Form) -> Result<Made, Failure> {
    let mut network = open_network(&arguments.trained)?;
    outputs.spare(&network.spec.data.source)?;
    if let Some(data) = &arguments.trained.data.data {
        outputs.spare(&source::named(data).to_string())?;
        context.terminal.notice("`--data` is not used: samples from the prior need no data");
    }
    let size = network.size()?;
    let (all, count) = (size.lengths().iter().product(), arguments.count as usize);
    let model = (&network.spec, &mut network.checkpoint, &network.device);
    let pictures = prior(model, all, count, arguments.seed)?;
    let columns = needs_columns(form, size).then(|| {
        // Names and means are those of the data, as long as it is there.
        let own = network.own_data().filter(|data| data.train().columns() == all);
        let kind = network.spec.data.kind.unwrap_or(Kind::Byte);
        own.map_or_else(|| Columns::of_values(kind, all, &pictures.values), |data| Columns::of(data.train()))
    });
    Ok(Made { size, pictures, columns })
}

/// Rows, such as images, and the latent points that they were decoded from.
pub(crate) struct Pictures {
    /// Row after row.
    pub(crate) values: Vec<f32>,
    /// Shape of the values without that of an image or a row.
    pub(crate) shape: Vec<usize>,
    /// Images in a line of the picture.
    pub(crate) columns: usize,
    /// What the parts of the values are, as far as they are worth showing.
    names: Vec<&'static str>,
    /// Parts that the values have.
    parts: usize,
    z: Vec<f32>,
    z_shape: Vec<usize>,
}

impl Pictures {
    /// The values of each part.
    fn parts(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks(self.values.len() / self.parts)
    }

    /// The rows of a table as a heat map.
    pub(crate) fn heat_map(&self, columns: &Columns) -> Result<Scene, Failure> {
        columns.heat_map("Rows of a table", self.names.iter().copied().zip(self.parts()))
    }
}

/// Parts of reconstructions.
const OBSERVED: &str = "Test rows";
const ENCODED: &str = "Decoded from the encoder’s draws";

/// Rows decoded from draws of the prior.
pub(crate) fn prior(
    (spec, checkpoint, device): (&RunSpec, &mut Checkpoint, &Device),
    pixels: usize,
    count: usize,
    seed: u64,
) -> Result<Pictures, Failure> {
    let z = prior_draws(spec.model.latent, count, seed);
    let values = Decoder::new(&Problem::of_run(spec, pixels), device)?.means(&checkpoint.store, &z)?;
    let columns = (count as f64).sqrt().ceil() as usize;
    let names = vec!["Decoded from draws of the prior"];
    let z_shape = vec![count, spec.model.latent];
    Ok(Pictures { values, shape: vec![count], columns, names, parts: 1, z, z_shape })
}

/// Test rows, then rows decoded from draws before and after the HMC steps.
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
    let names = match spec.chain.hmc_steps {
        // Without HMC steps both draws are the same.
        0 => vec![OBSERVED, ENCODED],
        1 => vec![OBSERVED, ENCODED, "Decoded from the draws after the HMC step"],
        _ => vec![OBSERVED, ENCODED, "Decoded from the draws after the HMC steps"],
    };
    Ok(Pictures {
        // Rows of three: below each other in the picture, first axis of the values.
        values: parts.concat(),
        shape: vec![3, count],
        columns: count,
        names,
        parts: parts.len(),
        z: [chains.start, chains.end].concat(),
        z_shape: vec![2, count, spec.model.latent],
    })
}
