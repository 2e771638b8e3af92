//! Draw every figure of the paper, and write the data behind each.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use hmcvi::data::Table;
use hmcvi::figure::{self, EnsembleSettings, FigureError, ModesSettings, MotionSettings, PlaneModel};
use hmcvi::run::{Builtin, Which};
use hmcvi_report::{Scene, figure as drawing};
use serde::Serialize;

use crate::Context;
use crate::arguments::{Data, Machine};
use crate::failure::Failure;
use crate::output::Outputs;
use crate::settings::{Model, open_model};

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Folder for the figures
    #[arg(long, default_value = "figures", value_name = "DIR")]
    out: PathBuf,
    /// Draw only these figures, such as `5,6,8`, out of 1 to 9
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=9))]
    only: Vec<u8>,
    /// Run directory of a model with two latent dimensions, or `builtin` for the one that comes with the program
    #[arg(long, default_value = Builtin::NAME, value_name = "RUN")]
    model: PathBuf,
    /// Test image of figures 5, 6, 8 and 9, counted from 0
    #[arg(long, default_value_t = 11, value_name = "N")]
    image: usize,
    /// Training images of figure 7
    #[arg(long, default_value_t = 5000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    points: u32,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    machine: Machine,
}

/// Names of the figures, which their files have.
const NAMES: [&str; 9] = [
    "motion-one-step",
    "motion-three-steps",
    "ensemble",
    "flow-chart",
    "binarisation",
    "energy-surface",
    "latent-map",
    "posteriors",
    "two-modes",
];

/// What the files of a figure end in.
const ENDS: [&str; 3] = ["svg", "png", "json"];

/// Draws behind the densities of figure 8.
const DRAWS: usize = 20_000;

/// A figure that was made.
#[derive(Serialize)]
struct Made {
    figure: u8,
    name: &'static str,
    files: Vec<PathBuf>,
    seconds: f64,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let wanted: Vec<u8> =
        (1..=9).filter(|n| arguments.only.is_empty() || arguments.only.contains(n)).collect();
    let files = wanted.iter().flat_map(|n| ENDS.map(|end| file(arguments, *n, end)));
    let outputs = Outputs::claim(files, arguments.force)?;
    let run = (arguments.model != Path::new(Builtin::NAME)).then_some(arguments.model.as_path());
    let data = arguments.data.data.as_deref();
    let mut model = open_model(context, run, Which::Best, data, &arguments.machine)?;
    outputs.spare(&model.spec.data.source)?;
    let mut all = Vec::new();
    for number in wanted {
        if context.interrupt.requested() {
            return Err(Failure::Interrupted("interrupted; figures that are finished were written".into()));
        }
        let name = NAMES[usize::from(number) - 1];
        let start = Instant::now();
        let made =
            make(number, &mut model, arguments).and_then(|made| write(arguments, &outputs, number, &made));
        let files = made.map_err(|failure| failure.about(&format!("figure {number} ({name})")))?;
        let seconds = start.elapsed().as_secs_f64();
        context.terminal.say(&format!("figure {number} of {}: {name}, {seconds:.1} s", NAMES.len()));
        all.push(Made { figure: number, name, files, seconds });
    }
    if context.terminal.json {
        return context.terminal.print_json(&all);
    }
    let line = |path: &PathBuf| format!("{}\n", path.display());
    context.terminal.print(&all.iter().flat_map(|made| &made.files).map(line).collect::<String>())
}

fn file(arguments: &Arguments, number: u8, end: &str) -> PathBuf {
    arguments.out.join(format!("{number}-{}.{end}", NAMES[usize::from(number) - 1]))
}

/// A drawing and its data as JSON.
type Drawn = (Scene, serde_json::Result<String>);

fn make(number: u8, model: &mut Model, arguments: &Arguments) -> Result<Drawn, Failure> {
    let (image, seed) = (arguments.image, arguments.seed);
    let three = MotionSettings { hmc_steps: 3, leapfrog_steps: 4, ..MotionSettings::default() };
    Ok(match number {
        1 => motion(&MotionSettings { seed, ..MotionSettings::default() })?,
        2 => motion(&MotionSettings { seed, ..three })?,
        3 => {
            let data = figure::ensemble(&EnsembleSettings { seed, ..EnsembleSettings::default() })?;
            (drawing::ensemble(&data), serde_json::to_string(&data))
        }
        4 => {
            let data = figure::flow_chart();
            (drawing::flow_chart(&data), serde_json::to_string(&data))
        }
        5 => {
            let data = figure::binarised(model.data.test(), image, model.spec.data.pixel_scale, seed)?;
            (drawing::binarised(&data), serde_json::to_string(&data))
        }
        6 => {
            let (plane, images) = plane(model)?;
            let data = figure::energy_surface(&plane, images, image, seed)?;
            (drawing::energy_surface(&data), serde_json::to_string(&data))
        }
        7 => {
            let Model { spec, data, checkpoint, device, .. } = model;
            let plane = PlaneModel::new(spec, data.train(), &checkpoint.store, device)?;
            let data = figure::latent_square(&plane, data.train(), arguments.points as usize, seed)?;
            (drawing::latent_square(&data), serde_json::to_string(&data))
        }
        8 => {
            let (plane, images) = plane(model)?;
            let data = figure::posteriors(&plane, images, image, DRAWS, seed)?;
            (drawing::posteriors(&data), serde_json::to_string(&data))
        }
        _ => {
            let spec = model.spec.clone();
            let (plane, images) = plane(model)?;
            let settings = ModesSettings { seed, ..ModesSettings::default() };
            let data = figure::modes(&plane, &spec, images, image, &settings)?;
            (drawing::modes(&data), serde_json::to_string(&data))
        }
    })
}

fn plane(model: &mut Model) -> Result<(PlaneModel<'_>, &Table), FigureError> {
    let Model { spec, data, checkpoint, device, .. } = model;
    Ok((PlaneModel::new(spec, data.test(), &checkpoint.store, device)?, data.test()))
}

fn motion(settings: &MotionSettings) -> Result<Drawn, Failure> {
    let data = figure::motion(settings)?;
    Ok((drawing::motion(&data), serde_json::to_string(&data)))
}

fn write(
    arguments: &Arguments,
    outputs: &Outputs,
    number: u8,
    (scene, data): &Drawn,
) -> Result<Vec<PathBuf>, Failure> {
    let json = data.as_ref().map_err(|e| Failure::Other(e.to_string()))?;
    let contents = [scene.to_svg().into_bytes(), scene.to_png()?, format!("{json}\n").into_bytes()];
    let mut files = Vec::new();
    for (end, bytes) in ENDS.iter().zip(contents) {
        let file = file(arguments, number, end);
        outputs.write(&file, &bytes)?;
        files.push(file);
    }
    Ok(files)
}
