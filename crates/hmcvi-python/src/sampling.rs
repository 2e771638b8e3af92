//! Sample posteriors with NUTS, and hold fits against it.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hmcvi::bayes::fit::EvidenceSettings;
use hmcvi::config::FitSpec;
use hmcvi::run::FitDirectory;
use hmcvi_fit::{Outcome, Source, Subject, evidence_record, facts, of_evidence};
use hmcvi_nuts::{NutsError, Progress, Start};
use hmcvi_record::{FitMethod, FitRow, FitStage};
use pyo3::prelude::*;

use crate::drawn::{Drawn, Lazy, rows};
use crate::failure;
use crate::fitted::Fitted;
use crate::keep::{Kept, keep};
use crate::model::{BoundModel, Origin, log_likelihoods};
use crate::watch::Watch;

/// Draws of chains of NUTS.
#[pyclass(frozen, module = "hmcvi")]
pub(crate) struct Sampled {
    subject: Arc<Subject>,
    origin: Arc<Origin>,
    spec: FitSpec,
    /// Where they come from; chains that were read from files have their draws alone.
    source: Option<Source>,
    /// What the draws say about each number of the model.
    own: Vec<FitRow>,
    stages: Vec<FitStage>,
    drawn: Lazy,
    seconds: f64,
    stopped: bool,
}

impl Sampled {
    /// Chains that were just run. `before` is the fit that they began with.
    fn new(
        subject: &Arc<Subject>,
        origin: &Arc<Origin>,
        spec: FitSpec,
        sampled: hmcvi_nuts::Sampled,
        before: Option<&Fitted>,
    ) -> Result<Self, NutsError> {
        let nuts = hmcvi_fit::nuts(&spec);
        let warm_up = if before.is_some() { nuts.warm_up_after_fit } else { nuts.warm_up };
        let facts = facts(&sampled, warm_up, nuts.max_depth);
        let raw = hmcvi_fit::Drawn::of_chains(subject, &sampled)?;
        let (seconds, stopped) = (sampled.seconds, sampled.stopped);
        let source = Source::Chains(Arc::new(sampled), facts);
        Ok(Sampled {
            subject: subject.clone(),
            origin: origin.clone(),
            own: source.rows(),
            source: Some(source),
            stages: before.map_or_else(Vec::new, |fitted| fitted.found.stages.clone()),
            drawn: Lazy::new(raw, FitMethod::Nuts, spec.seed),
            seconds,
            stopped,
            spec,
        })
    }

    /// Chains of this model that were kept in a folder.
    pub(crate) fn load(subject: &Arc<Subject>, origin: &Arc<Origin>, folder: &Path) -> Result<Self, String> {
        let said = |error: &dyn std::fmt::Display| error.to_string();
        let directory = FitDirectory::open(folder).map_err(|error| said(&error))?;
        let spec = directory.spec().map_err(|error| said(&error))?;
        let record = directory.record().map_err(|error| said(&error))?;
        let record = record.ok_or_else(|| format!("{}: there are no results yet", folder.display()))?;
        if record.data_sha256 != subject.data_sha256 {
            return Err(format!("{}: the chains are of other data than the model", folder.display()));
        }
        let drawn = hmcvi_fit::Drawn::read(&directory, subject).map_err(|error| said(&error))?;
        Ok(Sampled {
            subject: subject.clone(),
            origin: origin.clone(),
            source: None,
            own: record.parameters,
            stages: record.stages,
            drawn: Lazy::whole(drawn, FitMethod::Nuts, spec.seed),
            seconds: record.seconds,
            stopped: !record.finished,
            spec,
        })
    }

    fn sampled(&self) -> Option<&hmcvi_nuts::Sampled> {
        match &self.source {
            Some(Source::Chains(sampled, _)) => Some(sampled),
            _ => None,
        }
    }
}

#[pymethods]
impl Sampled {
    /// Whether the chains were stopped before their last draw.
    #[getter]
    fn stopped(&self) -> bool {
        self.stopped
    }

    /// Seconds that it took.
    #[getter]
    fn seconds(&self) -> f64 {
        self.seconds
    }

    /// All settings, as the program writes them.
    #[getter]
    fn settings(&self) -> String {
        self.spec.to_toml()
    }

    /// Number of chains that have draws.
    #[getter]
    fn chains(&self) -> usize {
        self.drawn.chains()
    }

    /// The draws.
    #[pyo3(signature = (watch=None))]
    fn drawn(&self, py: Python<'_>, watch: Option<Py<PyAny>>) -> PyResult<Drawn> {
        Ok(Drawn { drawn: self.drawn.get(py, &self.subject, watch)? })
    }

    /// What the draws say about each number of the model, as JSON.
    #[pyo3(signature = (watch=None))]
    fn summary(&self, py: Python<'_>, watch: Option<Py<PyAny>>) -> PyResult<String> {
        let drawn = self.drawn.get(py, &self.subject, watch)?;
        failure::json(&rows(&self.own, &drawn))
    }

    /// Log densities of the observations at the draws, as many of each chain as the shortest has; nothing for chains that
    /// were read from files.
    fn log_likelihoods<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(sampled) = self.sampled() else { return Ok(None) };
        let chains = sampled.chains.iter().map(|chain| &chain.unconstrained);
        let chains: Vec<&Vec<Vec<f64>>> = chains.filter(|chain| !chain.is_empty()).collect();
        let shortest = chains.iter().map(|chain| chain.len()).min().unwrap_or(0);
        let z: Vec<f64> = chains.iter().flat_map(|chain| &chain[..shortest]).flatten().copied().collect();
        Ok(Some(log_likelihoods(py, &self.subject, &z)?.into_pyobject(py)?))
    }

    /// Keeps the chains in a folder.
    fn save(&self, py: Python<'_>, folder: PathBuf, force: bool, command: Vec<String>) -> PyResult<()> {
        let Some(source) = &self.source else {
            return Err(failure::of_other(&"the chains were read from files, which are kept already"));
        };
        let drawn = self.drawn.get(py, &self.subject, None)?;
        let outcome = Outcome {
            finished: !self.stopped,
            seconds: self.seconds,
            stages: self.stages.clone(),
            drawn: (*drawn).clone(),
            gaussian: None,
            nuts: Vec::new(),
            check: None,
            elsewhere: None,
            evidence: None,
            source: source.clone(),
        };
        let kept = Kept { spec: &self.spec, subject: &self.subject, origin: &self.origin };
        py.detach(|| keep(&kept, &outcome, &folder, force, command))
            .map_err(|error| failure::of_other(&error))
    }
}

/// Tells Python of the draws that all chains have done together.
struct Count {
    watch: Watch,
    done: Vec<usize>,
    divergences: Vec<usize>,
}

impl Count {
    fn new(watch: Option<Py<PyAny>>, chains: usize) -> Self {
        Count { watch: Watch::new(watch), done: vec![0; chains], divergences: vec![0; chains] }
    }

    fn add(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.done[progress.chain] = progress.done;
        self.divergences[progress.chain] = progress.divergences;
        let (done, of) = (self.done.iter().sum::<usize>(), self.done.len() * progress.of);
        let stage = if progress.warming_up { "warm-up" } else { "sampling" };
        let divergences = self.divergences.iter().sum::<usize>();
        match self.watch.goes_on(|| (stage, done, of, divergences)) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

/// Samples a posterior, with chains that begin with a fit where there is one; also gives what ended it before its time.
#[pyfunction]
#[pyo3(signature = (model, assignments, start=None, watch=None))]
pub(crate) fn nuts(
    py: Python<'_>,
    model: &BoundModel,
    assignments: Vec<String>,
    start: Option<&Fitted>,
    watch: Option<Py<PyAny>>,
) -> PyResult<(Sampled, Option<PyErr>)> {
    let mut spec = FitSpec { method: FitMethod::Nuts, ..model.settings(&assignments)? };
    spec.nuts.after_fit = start.is_some();
    let sampler = hmcvi_fit::nuts(&spec);
    let mut count = Count::new(watch, sampler.chains);
    let found = py.detach(|| {
        let begin = start.map(|fitted| Start::try_from(&fitted.found.fitted.gaussian())).transpose()?;
        let sampled = sampler.run(&model.subject.bound, begin.as_ref(), |progress| count.add(progress))?;
        Sampled::new(&model.subject, &model.origin, spec, sampled, start)
    });
    match (found, count.watch.ended_by()) {
        (Ok(sampled), ended) => Ok((sampled, ended)),
        (Err(_), Some(ended)) => Err(ended),
        (Err(error), None) => Err(failure::of_nuts(&error)),
    }
}

/// What a check gives: elements and trust as JSON, the verdict, and the chains.
type Check = (String, String, Option<String>, Sampled);

/// Holds a fit against NUTS, as the program does.
#[pyfunction]
#[pyo3(signature = (fitted, draws, watch=None))]
pub(crate) fn check(
    py: Python<'_>,
    fitted: &Fitted,
    draws: usize,
    watch: Option<Py<PyAny>>,
) -> PyResult<Check> {
    let spec = FitSpec { draws, ..fitted.spec.clone() };
    let mut count = Count::new(watch, spec.nuts.chains);
    let checked = py.detach(|| {
        let own = fitted.found.shown();
        let other = (own.len() != draws).then(|| fitted.found.other_draws(&spec, draws, spec.seed));
        let other = other.transpose()?;
        let fit = &fitted.found.fitted;
        hmcvi_fit::check(&spec, fit, other.as_ref().unwrap_or(own), |progress| count.add(progress))
    });
    if let Some(ended) = count.watch.ended_by() {
        return Err(ended);
    }
    let of = |error: NutsError| failure::of_nuts(&error);
    let Some(checked) = checked.map_err(of)? else {
        return Err(failure::of_other(&"the chains of the check were stopped"));
    };
    py.detach(|| fitted.add_check(&checked)).map_err(|error| failure::of_fit(&error))?;
    let (elements, trust) = (failure::json(&checked.check.elements)?, failure::json(&checked.check.trust)?);
    let mut sampling = FitSpec { method: FitMethod::Nuts, check: false, ..spec };
    sampling.nuts.after_fit = true;
    let (subject, origin) = (&fitted.subject, &fitted.origin);
    let warm = py.detach(|| Sampled::new(subject, origin, sampling, checked.check.warm, Some(fitted)));
    Ok((elements, trust, checked.record.verdict, warm.map_err(of)?))
}

/// Brackets the log evidence by annealing from both sides, back from draws of chains where they are given; as JSON, and
/// whether it is a bracket.
#[pyfunction]
#[pyo3(signature = (fitted, draws, seed, chains=None, watch=None))]
pub(crate) fn evidence(
    py: Python<'_>,
    fitted: &Fitted,
    draws: usize,
    seed: u64,
    chains: Option<&Sampled>,
    watch: Option<Py<PyAny>>,
) -> PyResult<(String, bool)> {
    let posterior = match chains.map(Sampled::sampled) {
        Some(None) => {
            return Err(failure::of_other(
                &"chains that were read from files have no real numbers to begin with",
            ));
        }
        Some(Some(sampled)) => Some(sampled.unconstrained()),
        None => None,
    };
    let how = EvidenceSettings { draws, seed, ..EvidenceSettings::default() };
    let mut watch = Watch::new(watch);
    let found = py.detach(|| {
        fitted.found.fitted.evidence_watched(&how, posterior.as_deref(), &mut |stage, share| {
            watch.goes_on(|| (of_evidence(stage), (1000.0 * share) as usize, 1000, f64::NAN))
        })
    });
    if let Some(ended) = watch.ended_by() {
        return Err(ended);
    }
    let found = found.map_err(|error| failure::of_fit(&error))?;
    fitted.add_evidence(evidence_record(&found));
    Ok((failure::json(&found)?, found.is_bracket()))
}
