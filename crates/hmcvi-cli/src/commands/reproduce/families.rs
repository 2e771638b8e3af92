//! Compare families of posterior approximations that refine one plain model: a sweep that comes with the program, and
//! charts of how each of them learns over time, and of the likelihoods that they reach.

use std::path::{Path, PathBuf};

use clap::Args;
use hmcvi::run::RunDirectory;
use hmcvi_record::{Curve, Likelihoods};
use hmcvi_report::figure::{self, Chart, chart};

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
/// Stems of the charts' files: bounds, and likelihoods.
const LEARNING: &str = "learning";
const REACHED: &str = "likelihoods";
/// What is drawn of likelihoods.
const RECORD: &str = "likelihoods.json";
/// The longest training that can be asked for, in seconds.
const LONGEST: f64 = 1e9;

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Evaluate all rows after so many seconds of training, such as `60,600`; the plain model that they begin with is
    /// trained for the longest of these times
    #[arg(long, value_name = "SECONDS", value_delimiter = ',')]
    times: Vec<f64>,
    #[command(flatten)]
    options: sweep::Options,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let (options, times) = (&arguments.options, times(arguments)?);
    let out = options.folder(Path::new(NAME));
    let ours = sweep::is_folder(&out);
    let mut outputs = claim(&out, ours)?;
    let known = known(&out.join(RECORD), ours)?;
    let mut likelihoods = None;
    // What is done is the same whatever the time.
    let stages = if options.is_status() { &times[times.len().saturating_sub(1)..] } else { &times[..] };
    for text in stages.iter().map(|at| described(*at, &times)).chain(times.is_empty().then(|| ROWS.into())) {
        let worked = sweep::run_described(context, &text, NAME, options);
        if !context.processes.leads() || !sweep::is_folder(&out) {
            worked?;
            continue;
        }
        let (split, rows) = sweep::reached(&out)?;
        let all: &mut Likelihoods = likelihoods
            .get_or_insert_with(|| known.clone().unwrap_or_else(|| Likelihoods::new(split.clone())));
        rows.iter().filter(|(name, _)| name != PLAIN).for_each(|(name, at)| all.add(name, *at));
        draw(&out, &outputs, all)?;
        worked?;
        outputs = claim(&out, true)?;
    }
    Ok(())
}

/// Claims the record and the charts.
fn claim(out: &Path, ours: bool) -> Result<Outputs, Failure> {
    let files = [LEARNING, REACHED].into_iter().flat_map(|stem| drawing_files(&out.join(stem)));
    Outputs::claim(files.chain([out.join(RECORD)]), ours)
}

/// The times, from the shortest to the longest.
fn times(arguments: &Arguments) -> Result<Vec<f64>, Failure> {
    let mut times = arguments.times.clone();
    if let Some(bad) = times.iter().find(|time| !(**time > 0.0 && **time <= LONGEST)) {
        return Err(Failure::Usage(format!(
            "`--times` has {bad}, but must be seconds above 0 and at most 1e9"
        )));
    }
    if !times.is_empty() && arguments.options.assigns("train.seconds") {
        return Err(Failure::Usage(
            "`--times` says how long rows are trained, and so does `--set train.seconds`".into(),
        )
        .then("leave one of them out"));
    }
    times.sort_by(f64::total_cmp);
    times.dedup();
    Ok(times)
}

/// The rows for one of the times: what they begin with is trained for the last one.
fn described(at: f64, times: &[f64]) -> String {
    let last = times.last().copied().unwrap_or(at);
    let plain = format!("name = \"{PLAIN}\"\n");
    ROWS.replacen("[set]\n", &format!("[set]\ntrain.seconds = {at:?}\n"), 1).replacen(
        &plain,
        &format!("{plain}train.seconds = {last:?}\n"),
        1,
    )
}

/// The record of earlier commands in a folder that is ours.
fn known(file: &Path, ours: bool) -> Result<Option<Likelihoods>, Failure> {
    if !ours || !file.is_file() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(file)
        .map_err(|e| Failure::Other(format!("cannot read {}: {e}", file.display())))?;
    hmcvi_record::read(file, &text).map(Some).map_err(|e| Failure::Usage(e.to_string()))
}

/// Writes the record and both charts, as far as there is something to draw.
fn draw(out: &Path, outputs: &Outputs, likelihoods: &Likelihoods) -> Result<(), Failure> {
    let names = likelihoods.rows.iter().map(|row| row.name.as_str());
    let curves: Vec<Curve> = names.filter_map(|name| learnt(out, name)).collect();
    if curves.is_empty() {
        return Ok(());
    }
    let json = serde_json::to_string_pretty(likelihoods).map_err(|e| Failure::Other(e.to_string()))? + "\n";
    outputs.write(&out.join(RECORD), json.as_bytes())?;
    let learning = Chart {
        title: "Bound on validation rows, all after one plain model".into(),
        x: "seconds of training".into(),
        y: "bound [nats]".into(),
        curves,
    };
    outputs.write_drawing(&out.join(LEARNING), &chart(&learning)?)?;
    outputs.write_drawing(&out.join(REACHED), &figure::likelihoods(likelihoods)?)
}

/// The validation bound of a run over time, if it is there.
fn learnt(out: &Path, name: &str) -> Option<Curve> {
    let path: PathBuf = out.join(name);
    let epochs = RunDirectory::open(&path).ok()?.epochs().ok()?;
    let point = |e: &hmcvi_record::Epoch| Some((e.seconds, *e.validation.as_ref()?.get("bound")?));
    let points: Vec<(f64, f64)> = epochs.iter().filter_map(point).collect();
    (!points.is_empty()).then(|| Curve { name: name.into(), points })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_model_is_trained_for_the_longest_time() {
        let text = described(60.0, &[60.0, 600.0]);
        assert!(text.contains("[set]\ntrain.seconds = 60.0\n"), "{text}");
        assert!(text.contains("name = \"plain\"\ntrain.seconds = 600.0\n"), "{text}");
        assert_eq!(text.matches("train.seconds").count(), 2);
    }
}
