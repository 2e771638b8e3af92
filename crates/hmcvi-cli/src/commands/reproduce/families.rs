//! Compare families of posterior approximations that refine one plain model: a sweep that comes with the program, and a
//! chart of how each of them learns over time.

use std::path::Path;

use hmcvi::run::RunDirectory;
use hmcvi_record::Curve;
use hmcvi_report::figure::{Chart, chart};

use crate::Context;
use crate::commands::sweep;
use crate::failure::Failure;
use crate::output::{Outputs, drawing_files};

/// The rows, as a sweep.
const ROWS: &str = include_str!("families.toml");
/// What the folder is called, unless another one is asked for.
const NAME: &str = "families";
/// The row that all others begin with.
const PLAIN: &str = "plain";
/// Stem of the chart's files.
const CHART: &str = "learning";

pub(super) fn run(context: &Context, options: &sweep::Options) -> Result<(), Failure> {
    let out = options.folder(Path::new(NAME));
    let outputs = Outputs::claim(drawing_files(&out.join(CHART)), sweep::is_folder(&out))?;
    let names = sweep::run_described(context, ROWS, NAME, options)?;
    if !context.processes.leads() || !out.is_dir() {
        return Ok(());
    }
    let curves: Vec<Curve> =
        names.iter().filter(|name| *name != PLAIN).filter_map(|name| learnt(&out, name)).collect();
    if curves.is_empty() {
        return Ok(());
    }
    let data = Chart {
        title: "Bound on validation rows, all after one plain model".into(),
        x: "seconds of training".into(),
        y: "bound [nats]".into(),
        curves,
    };
    outputs.write_drawing(&out.join(CHART), &chart(&data)?)
}

/// The validation bound of a run over time, if it is there.
fn learnt(out: &Path, name: &str) -> Option<Curve> {
    let epochs = RunDirectory::open(&out.join(name)).ok()?.epochs().ok()?;
    let point = |e: &hmcvi_record::Epoch| Some((e.seconds, *e.validation.as_ref()?.get("bound")?));
    let points: Vec<(f64, f64)> = epochs.iter().filter_map(point).collect();
    (!points.is_empty()).then(|| Curve { name: name.into(), points })
}
