//! Sample posteriors with NUTS, and hold fits against it.

use std::ops::ControlFlow;

use hmcvi::bayes::FitError;
use hmcvi::bayes::fit::{EvidenceSettings, EvidenceStage};
use hmcvi::config::FitSpec;
use hmcvi_nuts::{ChainDraws, CheckSettings, Nuts, Progress, Start};
use numpy::PyArray2;
use pyo3::prelude::*;

use crate::fitted::Fitted;
use crate::model::{BoundModel, settings};
use crate::watch::Watch;
use crate::{arrays, failure};

/// Draws of chains of NUTS.
#[pyclass(frozen, module = "hmcvi")]
pub(crate) struct Sampled {
    sampled: hmcvi_nuts::Sampled,
    /// Log densities of the draws of each chain.
    densities: Vec<Vec<f64>>,
}

/// Numbers of a chain beside its draws: log density, step size, doublings, steps, failed or not, energy.
type Statistics = Vec<(&'static str, Vec<f64>)>;

#[pymethods]
impl Sampled {
    /// Number of chains.
    #[getter]
    fn chains(&self) -> usize {
        self.sampled.chains.len()
    }

    /// Whether the chains were stopped before their last draw.
    #[getter]
    fn stopped(&self) -> bool {
        self.sampled.stopped
    }

    /// Seconds that it took.
    #[getter]
    fn seconds(&self) -> f64 {
        self.sampled.seconds
    }

    /// Draws of all elements of one chain.
    fn values<'py>(&self, py: Python<'py>, chain: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        arrays::matrix(py, self.sampled.chains[chain].values.concat(), self.sampled.names.len())
    }

    /// What the sampler says of each draw of one chain.
    fn statistics(&self, chain: usize) -> Statistics {
        let ChainDraws { diverging, depths, steps, energies, step_size, .. } = &self.sampled.chains[chain];
        let numbers = |counts: &[u64]| counts.iter().map(|count| *count as f64).collect();
        vec![
            ("lp", self.densities[chain].clone()),
            ("step_size", vec![*step_size; depths.len()]),
            ("tree_depth", numbers(depths)),
            ("n_steps", numbers(steps)),
            ("diverging", diverging.iter().map(|diverging| f64::from(u8::from(*diverging))).collect()),
            ("energy", energies.clone()),
        ]
    }

    /// What the draws say about each number of the model, as JSON.
    fn summary(&self) -> PyResult<String> {
        json(&self.sampled.summary())
    }
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| failure::of_other(&error))
}

fn sampler(spec: &FitSpec) -> Nuts {
    Nuts {
        chains: spec.nuts.chains,
        warm_up: spec.nuts.warm_up,
        draws: spec.draws.div_ceil(spec.nuts.chains),
        seed: spec.seed,
        target_accept: spec.nuts.target_accept,
        max_depth: spec.nuts.max_depth,
        threads: spec.nuts.threads,
        ..Nuts::default()
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
    let nuts = sampler(&settings(&assignments)?);
    let mut count = Count::new(watch, nuts.chains);
    let found = py.detach(|| {
        let start = start.map(|fitted| Start::try_from(&fitted.fitted.gaussian())).transpose()?;
        let sampled = nuts.run(&model.bound, start.as_ref(), |progress| count.add(progress))?;
        Sampled::of(&model.bound, sampled)
    });
    match (found, count.watch.ended_by()) {
        (Ok(sampled), ended) => Ok((sampled, ended)),
        (Err(_), Some(ended)) => Err(ended),
        (Err(error), None) => Err(failure::of_nuts(&error)),
    }
}

impl Sampled {
    fn of(bound: &hmcvi::bayes::Bound, sampled: hmcvi_nuts::Sampled) -> Result<Self, hmcvi_nuts::NutsError> {
        let density = |chain: &ChainDraws| Ok(bound.evaluate(&chain.unconstrained.concat())?.log_density);
        let densities = sampled.chains.iter().map(density).collect::<Result<_, FitError>>()?;
        Ok(Sampled { sampled, densities })
    }
}

/// Holds a fit against NUTS, as the program does: elements, trust and verdict as JSON, and the chains.
#[pyfunction]
#[pyo3(signature = (fitted, draws, watch=None))]
pub(crate) fn check(
    py: Python<'_>,
    fitted: &Fitted,
    draws: usize,
    watch: Option<Py<PyAny>>,
) -> PyResult<(String, String, Option<String>, Sampled)> {
    let nuts = sampler(&FitSpec { draws, ..fitted.spec.clone() });
    let how = CheckSettings { draws, cold: true, ..CheckSettings::default() };
    let mut count = Count::new(watch, nuts.chains);
    let checked =
        py.detach(|| hmcvi_nuts::check(&fitted.fitted, &nuts, &how, |progress| count.add(progress)));
    if let Some(ended) = count.watch.ended_by() {
        return Err(ended);
    }
    let checked = checked.map_err(|error| failure::of_nuts(&error))?;
    let verdict = checked.verdict().map(|verdict| json(&verdict)).transpose()?;
    let verdict = verdict.map(|verdict| verdict.trim_matches('"').to_owned());
    let (elements, trust) = (json(&checked.elements)?, json(&checked.trust)?);
    let warm = py.detach(|| Sampled::of(fitted.fitted.model(), checked.warm));
    Ok((elements, trust, verdict, warm.map_err(|error| failure::of_nuts(&error))?))
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
    let how = EvidenceSettings { draws, seed, ..EvidenceSettings::default() };
    let mut watch = Watch::new(watch);
    let found = py.detach(|| {
        let posterior = chains.map(|sampled| sampled.sampled.unconstrained());
        fitted.fitted.evidence_watched(&how, posterior.as_deref(), &mut |stage, share| {
            watch.goes_on(|| (in_words(stage), (1000.0 * share) as usize, 1000, f64::NAN))
        })
    });
    if let Some(ended) = watch.ended_by() {
        return Err(ended);
    }
    let found = found.map_err(|error| failure::of_fit(&error))?;
    Ok((json(&found)?, found.is_bracket()))
}

fn in_words(stage: EvidenceStage) -> &'static str {
    match stage {
        EvidenceStage::Importance => "importance sampling",
        EvidenceStage::LongChain => "a long chain",
        EvidenceStage::Tuning => "tuning annealing",
        EvidenceStage::Lower => "annealing from the Gaussian",
        EvidenceStage::Upper => "annealing from the posterior",
    }
}
