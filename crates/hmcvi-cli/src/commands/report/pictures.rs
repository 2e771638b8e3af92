//! Draw what a trained model does with images, or with rows of other tables, for its report.

use std::path::Path;

use hmcvi::data::Kind;
use hmcvi::figure::{self, FigureError, PlaneModel};
use hmcvi::run::{RunDirectory, Which};
use hmcvi_report::{GreyGrid, Picture, Scene, figure as drawing, quoted};

use crate::Context;
use crate::arguments::{Data, Machine};
use crate::commands::sample::{Pictures, prior, reconstructions};
use crate::failure::Failure;
use crate::heat::Columns;
use crate::settings::{Model, open_model};
use crate::source;

/// Images or rows that are reconstructed, and rows and columns of sampled images.
const RECONSTRUCTED: usize = 12;
const SIDE: usize = 10;
/// Sampled rows of a table.
const ROWS: usize = 40;
/// Images or rows of the latent map, and the test image that the energy surface is of.
const MAPPED: usize = 2000;
const IMAGE: usize = 7;
/// Runs of a comparison whose latent planes are drawn: each takes up to a megabyte, and pages stay below three.
const PLANES: usize = 2;
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
    let which = if best { Which::Best } else { Which::Last };
    let mut model = open_model(context, Some(run), which, data.data.as_deref(), machine)?;
    let mnist = model.data.name() == "mnist";
    let images = model.data.train().shape().is_some();
    let mut pictures = match images {
        true => vec![reconstructed(&mut model, index)?, sampled(&mut model, index)?],
        false => heat_maps(&mut model, index)?,
    };
    if model.spec.model.latent == 2 && index < PLANES {
        pictures.push(latent_map(&mut model, index)?);
        if images {
            pictures.push(energy_surface(&mut model, index)?);
        }
    } else if model.spec.model.latent == 2 {
        let place = quoted(&run.display().to_string());
        context.terminal.notice(&format!(
            "the pictures of the latent plane are left out, to keep the page small; `hmcvi report {place}` shows them"
        ));
    }
    Ok((pictures, mnist))
}

fn reconstructed(model: &mut Model, run: usize) -> Result<Picture, Failure> {
    let Pictures { values, shape, columns, .. } = reconstructions(model, RECONSTRUCTED, SEED)?;
    let chain = model.spec.chain.hmc_steps > 0;
    let count = shape.last().copied().unwrap_or(0);
    let rows = match model.spec.chain.hmc_steps {
        0 => "the images decoded from the encoder’s draws",
        1 => "the images decoded from the encoder’s draws, and from the draws after the HMC step",
        _ => "the images decoded from the encoder’s draws, and from the draws after the HMC steps",
    };
    // Without HMC steps both draws are the same.
    let pixels = model.data.test().columns();
    let values = if chain { values } else { values[..2 * count * pixels].to_vec() };
    Ok(Picture {
        run,
        title: "Reconstructions".into(),
        caption: format!("From top to bottom: test images, then {rows}."),
        alternative: format!("{count} test images in a row, and below them {rows}."),
        drawing: grid(model, values, columns)?,
        full: true,
    })
}

fn sampled(model: &mut Model, run: usize) -> Result<Picture, Failure> {
    let network = (&model.spec, &mut model.checkpoint, &model.device);
    let pixels = model.data.train().columns();
    let Pictures { values, columns, .. } = prior(network, pixels, SIDE * SIDE, SEED)?;
    Ok(Picture {
        run,
        title: "Samples".into(),
        caption: "Pixel means decoded from draws of the prior.".into(),
        alternative: format!("A grid of {} images sampled from the model.", SIDE * SIDE),
        drawing: grid(model, values, columns)?,
        full: false,
    })
}

/// Reconstructions and samples of rows that are no images.
fn heat_maps(model: &mut Model, run: usize) -> Result<Vec<Picture>, Failure> {
    let columns = Columns::of(model.data.train());
    let of_columns = format!("Each line is a row, with {}", columns.shown_in_words());
    let scaled = format!("; colours show {}.{}", columns.scale_in_words(), typical(model.data.kind()));
    let picture = |title: &str, what: &str, pictures: &Pictures| -> Result<Picture, Failure> {
        Ok(Picture {
            run,
            title: title.into(),
            caption: format!("{what} {of_columns}{scaled}"),
            alternative: format!("A heat map. {what}"),
            drawing: pictures.heat_map(&columns)?,
            full: true,
        })
    };
    let what = match model.spec.chain.hmc_steps {
        0 => "Test rows, and below them the means decoded from the encoder’s draws.",
        1 => {
            "Test rows, and below them the means decoded from the encoder’s draws and from those after the HMC step."
        }
        _ => {
            "Test rows, and below them the means decoded from the encoder’s draws and from those after the HMC steps."
        }
    };
    let reconstructed = picture("Reconstructions", what, &reconstructions(model, RECONSTRUCTED, SEED)?)?;
    let network = (&model.spec, &mut model.checkpoint, &model.device);
    let sampled = prior(network, model.data.train().columns(), ROWS, SEED)?;
    Ok(vec![reconstructed, picture("Samples", "Means decoded from draws of the prior.", &sampled)?])
}

/// What is to be known about decoded counts.
fn typical(kind: Kind) -> &'static str {
    match kind {
        Kind::Count => {
            " Where the likelihood is given the total of a row, decoded means are for rows with the mean total."
        }
        _ => "",
    }
}

fn latent_map(model: &mut Model, run: usize) -> Result<Picture, Failure> {
    let Model { spec, data, checkpoint, device, .. } = model;
    let plane = PlaneModel::new(spec, data.train(), &checkpoint.store, device)?;
    let square = figure::latent_square(&plane, data.train(), MAPPED, SEED)?;
    let from =
        if square.hmc_steps > 0 { "drawn from the end of the chain" } else { "drawn from the encoder" };
    let labelled = square.points.iter().any(|p| p.class.is_some());
    let coloured = if labelled { " and coloured by class" } else { "" };
    let (behind, alternative) = match data.train().shape() {
        Some(_) => (
            " Behind them is what the decoder makes of the square.",
            "Points in a square, over decoded images that change smoothly across it.",
        ),
        None => ("", "Points in a square, one for each row."),
    };
    Ok(Picture {
        run,
        title: "Latent map".into(),
        caption: format!(
            "{} training {} {from}, mapped into the unit square by the prior’s distribution function{coloured}.{behind}",
            square.images,
            source::rows(data)
        ),
        alternative: alternative.into(),
        drawing: drawing::latent_square(&square),
        full: false,
    })
}

fn energy_surface(model: &mut Model, run: usize) -> Result<Picture, Failure> {
    let Model { spec, data, checkpoint, device, .. } = model;
    let image = IMAGE.min(data.test().len().saturating_sub(1));
    let plane = PlaneModel::new(spec, data.test(), &checkpoint.store, device)?;
    let surface = figure::energy_surface(&plane, data.test(), image, SEED)?;
    let draws = if spec.chain.hmc_steps > 0 { "chains that start" } else { "draws" };
    Ok(Picture {
        run,
        title: "Energy surface".into(),
        caption: format!(
            "Potential energy of the latent variables given test image {image}, with {draws} from the encoder."
        ),
        alternative: format!(
            "Contours of the energy over the latent plane and near its minimum, with {draws} from the encoder."
        ),
        drawing: drawing::energy_surface(&surface),
        full: true,
    })
}

fn grid(model: &Model, values: Vec<f32>, columns: usize) -> Result<Scene, Failure> {
    let (height, width) = model.data.train().shape().ok_or(FigureError::NoShape)?;
    Ok(GreyGrid { height, width, columns, values }.scene()?)
}
