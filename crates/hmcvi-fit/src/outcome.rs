//! Turn what was found into its record, and write it with all draws.

use std::sync::Arc;

use hmcvi::bayes::fit::Row;
use hmcvi::config::FitSpec;
use hmcvi::run::FitDirectory;
use hmcvi_nuts::Sampled;
use hmcvi_record::{
    BoundTogether, DrawTable, FIT_SCHEMA, FitCheck, FitElsewhere, FitEvidence, FitRecord, FitRow, FitStage,
    SamplerFacts, files,
};

use crate::drawn::Drawn;
use crate::error::KeepError;
use crate::found::Found;
use crate::subject::Subject;

/// Draws whose weights are averaged for a bound of several draws.
const TOGETHER: usize = 32;

/// What a method has found.
#[derive(Debug)]
pub struct Outcome {
    /// Whether it came to its end.
    pub finished: bool,
    /// Seconds for fitting or sampling.
    pub seconds: f64,
    /// What a fit went through.
    pub stages: Vec<FitStage>,
    /// Draws of all numbers.
    pub drawn: Drawn,
    /// Draws of the Gaussian that a chain begins with.
    pub gaussian: Option<DrawTable>,
    /// Draws of NUTS that a fit is held against.
    pub nuts: Vec<DrawTable>,
    /// How far the fit is from them.
    pub check: Option<FitCheck>,
    /// What was found in places that no draw comes near.
    pub elsewhere: Option<FitElsewhere>,
    /// The log evidence between annealing from both sides.
    pub evidence: Option<FitEvidence>,
    /// What the numbers of the record come from.
    pub source: Source,
}

/// Whose draws they are.
#[derive(Clone, Debug)]
pub enum Source {
    /// Those of a fit.
    Fit(Arc<Found>),
    /// Those of chains of NUTS.
    Chains(Arc<Sampled>, SamplerFacts),
}

impl Source {
    /// What the draws that are kept say about each number of the model.
    pub fn rows(&self) -> Vec<FitRow> {
        match self {
            Source::Fit(found) => found.shown().summary().iter().map(independent).collect(),
            Source::Chains(sampled, _) => sampled.summary().into_iter().map(of_chain).collect(),
        }
    }
}

impl Outcome {
    /// The record. `command` is what made it, `started` is when it began, in seconds since 1970.
    pub fn record(&self, spec: &FitSpec, subject: &Subject, command: Vec<String>, started: u64) -> FitRecord {
        let mut record = FitRecord {
            schema: FIT_SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            command,
            started,
            model: subject.name.clone(),
            data_sha256: subject.data_sha256.clone(),
            dimension: subject.bound.dimension() as u64,
            method: spec.method,
            finished: self.finished,
            bound: None,
            bound_standard_error: None,
            bound_together: None,
            log_evidence: None,
            log_evidence_standard_error: None,
            k_hat: None,
            effective_sample_size: None,
            seconds: self.seconds,
            divergences: 0,
            chains: self.drawn.chains.len() as u64,
            draws: self.drawn.count() as u64,
            resampled: false,
            parameters: self.source.rows(),
            stages: self.stages.clone(),
            sampler: None,
            check: self.check.clone(),
            elsewhere: self.elsewhere.clone(),
            evidence: self.evidence.clone(),
            generated: self.drawn.generated.clone(),
        };
        match &self.source {
            Source::Fit(found) => of_fit(&mut record, found),
            Source::Chains(_, facts) => {
                record.divergences = facts.divergences.iter().sum();
                record.sampler = Some(facts.clone());
            }
        }
        record
    }

    /// Writes all files; the record last.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(
        &self,
        directory: &FitDirectory,
        spec: &FitSpec,
        record: &FitRecord,
    ) -> Result<(), KeepError> {
        for (prefix, chains) in
            [(files::DRAWS_OF_CHAIN, &self.drawn.chains), (files::NUTS_OF_CHAIN, &self.nuts)]
        {
            for (chain, table) in (1..).zip(chains) {
                let text = table.to_csv(&comments(spec, record, chain, table.len()));
                directory.write(&format!("{prefix}{chain}.csv"), text.as_bytes())?;
            }
        }
        if let Some(table) = &self.gaussian {
            let comments = [
                format!("model = {}", spec.model),
                "draws of the Gaussian that the chain begins with".into(),
            ];
            directory.write(files::GAUSSIAN, table.to_csv(&comments).as_bytes())?;
        }
        if !self.drawn.chains.is_empty() {
            directory.write(files::DRAWS, &self.drawn.to_npz()?)?;
        }
        if let Source::Fit(found) = &self.source {
            found.fitted.save_over(directory.file(files::FITTED))?;
        }
        Ok(directory.write_record(record)?)
    }
}

fn of_fit(record: &mut FitRecord, found: &Found) {
    record.resampled = found.chosen.is_some();
    let draws = &found.draws;
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    let ((bound, error), weights) = (draws.bound(), draws.smoothed());
    record.bound = finite(bound);
    record.bound_standard_error = finite(error);
    let together = draws.bound_of(TOGETHER).filter(|(bound, error)| bound.is_finite() && error.is_finite());
    record.bound_together =
        together.map(|(mean, standard_error)| BoundTogether { draws: TOGETHER as u64, mean, standard_error });
    record.log_evidence = finite(weights.log_mean);
    record.log_evidence_standard_error = finite(found.log_evidence_error(&weights));
    // Where annealing from both sides agrees, it says more than weights that may miss a part of the posterior.
    if let Some(between) = record.evidence.as_ref().filter(|e| e.is_bracket).and_then(|e| e.between) {
        record.log_evidence = finite(between.mean);
        record.log_evidence_standard_error = finite(between.standard_error);
    }
    record.k_hat = weights.k_hat;
    record.effective_sample_size = finite(weights.effective_sample_size);
    record.divergences = draws.dropped;
}

/// Independent draws have neither R-hat nor autocorrelation: chains alone can fail to converge.
pub(crate) fn independent(row: &Row) -> FitRow {
    let Row { name, mean, sd, q05, q50, q95, mcse } = row.clone();
    FitRow { name, mean, sd, q05, q50, q95, mcse: Some(mcse), rhat: None, ess_bulk: None, ess_tail: None }
}

pub(crate) fn of_chain(row: hmcvi_nuts::Row) -> FitRow {
    let hmcvi_nuts::Row { name, mean, sd, q05, q50, q95, mcse, r_hat, ess_bulk, ess_tail } = row;
    FitRow { name, mean, sd, q05, q50, q95, mcse, rhat: r_hat, ess_bulk, ess_tail }
}

/// What CmdStan's files say of themselves, as far as readers ask for it.
fn comments(spec: &FitSpec, record: &FitRecord, chain: usize, draws: usize) -> Vec<String> {
    let mut all = vec![
        format!("model = {}", spec.model),
        format!("method = {}", spec.method.name()),
        format!("  num_samples = {draws}"),
        format!("  num_warmup = {}", record.sampler.as_ref().map_or(0, |sampler| sampler.warm_up)),
        // A number, which all readers take.
        "  save_warmup = 0".into(),
        "  thin = 1".into(),
        format!("id = {chain}"),
        format!("seed = {}", spec.seed),
        format!("hmcvi_version = {}", record.version),
    ];
    if !record.finished {
        all.push("finished = false".into());
    }
    all
}
