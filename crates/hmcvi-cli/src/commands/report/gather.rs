//! Read everything that is known of runs.

use std::path::{Path, PathBuf};

use hmcvi::config::{PAPER_TABLE, PaperRow, RunSpec};
use hmcvi::run::{Lock, RunDirectory};
use hmcvi_record::{Published, RunFacts, RunSettings, RunState};
use hmcvi_report::RunData;
use serde::Serialize;

use super::reproduce;
use crate::Context;
use crate::failure::Failure;
use crate::settings::paper_row;

/// Most runs from a model back to the plain one that it began with.
const GENERATIONS: usize = 16;

/// All runs, with names that tell them apart.
pub(crate) fn all(context: &Context, paths: &[PathBuf]) -> Result<Vec<RunData>, Failure> {
    let mut runs = paths.iter().map(|path| one(context, path)).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = runs.iter().map(|r| r.facts.name.clone()).collect();
    for run in &mut runs {
        if names.iter().filter(|n| **n == run.facts.name).count() > 1 {
            run.facts.name.clone_from(&run.facts.place);
        }
    }
    Ok(runs)
}

/// A run, and the plain model that it began with.
fn one(context: &Context, path: &Path) -> Result<RunData, Failure> {
    let (mut run, spec) = read(context, path)?;
    run.began_with = ancestor(context, spec).map(Box::new);
    Ok(run)
}

/// A run by itself.
pub(crate) fn alone(context: &Context, path: &Path) -> Result<RunData, Failure> {
    Ok(read(context, path)?.0)
}

/// Follows `init_from` to a model without HMC steps; nothing if the way ends before.
fn ancestor(context: &Context, mut spec: RunSpec) -> Option<RunData> {
    for _ in 0..GENERATIONS {
        let from = spec.train.init_from?;
        let folder = if from.is_file() { from.parent()?.to_path_buf() } else { from };
        let (run, its) = read(context, &folder).ok()?;
        if its.chain.hmc_steps == 0 {
            return Some(run);
        }
        spec = its;
    }
    None
}

fn read(context: &Context, path: &Path) -> Result<(RunData, RunSpec), Failure> {
    let directory = RunDirectory::open(path)?;
    let spec = directory.spec()?;
    let (info, summary) = (directory.info().ok(), directory.summary().ok());
    // An evaluation of another version is as good as none.
    let evaluation = directory.evaluation().unwrap_or_else(|why| {
        context.terminal.notice(&format!("the evaluation is not used: {why}"));
        None
    });
    let of_evaluation =
        |images: &Vec<_>| evaluation.as_ref().is_some_and(|e| e.images == images.len() as u64);
    let images = directory.evaluation_images().ok().filter(of_evaluation).unwrap_or_default();
    let state = match summary.as_ref() {
        Some(s) if s.finished && spec.train.is_over(s.epochs, s.seconds) => RunState::Finished,
        _ if Lock::is_held(path) => RunState::Running,
        _ => RunState::Stopped,
    };
    let row = paper_row(&spec);
    let same_data = info.as_ref().filter(|i| i.data == "embedded").map(|_| false);
    let basic = || PAPER_TABLE.iter().find(|r| r.preset == format!("basic-{}d", spec.model.latent));
    let facts = RunFacts {
        name: name(path),
        place: path.display().to_string(),
        preset: spec.preset.clone(),
        settings: settings(&spec),
        state,
        summary,
        planned: spec.train.epochs as u64,
        reproduce: reproduce::commands(path, info.as_ref(), evaluation.as_ref()),
        reproduce_caveats: reproduce::caveats(&spec, info.as_ref()),
        evaluation_is_current: evaluation.as_ref().and_then(|e| directory.is_current(e)),
        evaluation,
        info,
        published: row.map(|r| published(r, same_data)),
        config: spec.to_toml(),
    };
    let run = RunData {
        facts,
        epochs: directory.epochs()?,
        images,
        began_with: None,
        published_basic: row.and_then(|_| basic()).map(|r| published(r, same_data)),
        no_pictures: None,
    };
    Ok((run, spec))
}

/// Notes whether the data is the paper's, once it was opened.
pub(super) fn settle_data(run: &mut RunData, same: bool) {
    for row in run.facts.published.iter_mut().chain(&mut run.published_basic) {
        row.same_data = Some(same);
    }
}

/// The last part of a path, also of `.` and `..`.
pub(super) fn name(path: &Path) -> String {
    let last = |path: &Path| path.file_name().map(|n| n.to_string_lossy().into_owned());
    let whole = || last(&path.canonicalize().ok()?);
    last(path).or_else(whole).unwrap_or_else(|| path.display().to_string())
}

fn published(row: &PaperRow, same_data: Option<bool>) -> Published {
    Published { name: row.name.into(), bound: -row.bound, log_likelihood: -row.nll, same_data }
}

pub(crate) fn settings(spec: &RunSpec) -> RunSettings {
    let (model, chain) = (&spec.model, &spec.chain);
    RunSettings {
        seed: spec.seed,
        latent: model.latent as u64,
        hidden: model.hidden.iter().map(|h| *h as u64).collect(),
        hmc_steps: chain.hmc_steps as u64,
        leapfrog_steps: chain.leapfrog_steps as u64,
        partial_momentum: chain.partial_momentum,
        mass: word(&chain.mass),
        acceptance: word(&chain.acceptance),
        step_size: word(&chain.step_size),
        family: [chain.words(), spec.family.words()].concat(),
        binarisation: word(&spec.data.binarisation),
        average: spec.train.average,
        max_grad_norm: spec.train.adam.max_grad_norm,
    }
}

/// A choice as settings files have it.
fn word(choice: &impl Serialize) -> String {
    let value = serde_json::to_value(choice).unwrap_or_default();
    value.as_str().unwrap_or_default().into()
}
