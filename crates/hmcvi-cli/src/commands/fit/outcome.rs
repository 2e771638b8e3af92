//! Turn what was found into its record, and write it with all draws.

use hmcvi::bayes::fit::Row;
use hmcvi::bayes::{Dims, Draws, Fitted};
use hmcvi::config::FitSpec;
use hmcvi::data::NpzWriter;
use hmcvi::run::FitDirectory;
use hmcvi_nuts::Sampled;
use hmcvi_record::{
    BoundTogether, DrawTable, FIT_SCHEMA, FitCheck, FitEvidence, FitGenerated, FitRecord, FitRow, FitStage,
    SamplerFacts, files,
};

use super::model::Chosen;
use crate::failure::Failure;

/// Draws whose weights are averaged for a bound of several draws.
const TOGETHER: usize = 32;

/// What a method has found.
pub(super) struct Outcome {
    pub(super) finished: bool,
    pub(super) seconds: f64,
    pub(super) stages: Vec<FitStage>,
    /// Draws of each chain; independent draws are one.
    pub(super) chains: Vec<DrawTable>,
    /// Draws of the Gaussian that a chain begins with.
    pub(super) gaussian: Option<DrawTable>,
    /// Draws of NUTS that a fit is held against, and how far it is from them.
    pub(super) nuts: Vec<DrawTable>,
    pub(super) check: Option<FitCheck>,
    pub(super) evidence: Option<FitEvidence>,
    /// Generated quantities of a Stan program; the chains have their draws.
    pub(super) generated: Option<FitGenerated>,
    pub(super) found: Found,
}

/// The draws, as the method gives them.
pub(super) enum Found {
    Fit {
        /// Draws with their weights.
        draws: Draws,
        /// What the draws that are kept say.
        parameters: Vec<Row>,
        /// Whether these were chosen from the others by their weights.
        resampled: bool,
        fitted: Box<Fitted>,
    },
    Chains(Sampled, SamplerFacts),
}

impl Outcome {
    /// The record.
    pub(super) fn record(&self, spec: &FitSpec, chosen: &Chosen, started: u64) -> FitRecord {
        let mut record = FitRecord {
            schema: FIT_SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            command: std::env::args().collect(),
            started,
            model: chosen.name.clone(),
            data_sha256: chosen.data_sha256.clone(),
            dimension: chosen.bound.dimension() as u64,
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
            chains: self.chains.len() as u64,
            draws: self.chains.iter().map(|chain| chain.len() as u64).sum(),
            resampled: false,
            parameters: Vec::new(),
            stages: self.stages.clone(),
            sampler: None,
            check: self.check.clone(),
            evidence: self.evidence.clone(),
            generated: self.generated.clone(),
        };
        match &self.found {
            Found::Fit { draws, parameters, resampled, .. } => {
                record.resampled = *resampled;
                of_fit(&mut record, draws, parameters);
            }
            Found::Chains(sampled, facts) => of_chains(&mut record, sampled, facts),
        }
        record
    }

    /// Writes all files; the record last.
    pub(super) fn write(
        &self,
        directory: &FitDirectory,
        spec: &FitSpec,
        chosen: &Chosen,
        record: &FitRecord,
    ) -> Result<(), Failure> {
        for (prefix, chains) in [(files::DRAWS_OF_CHAIN, &self.chains), (files::NUTS_OF_CHAIN, &self.nuts)] {
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
        if !self.chains.is_empty() {
            directory.write(files::DRAWS, &self.arrays(chosen)?)?;
        }
        if let Found::Fit { fitted, .. } = &self.found {
            let saved = fitted.save_over(directory.file(files::FITTED));
            saved.map_err(|error| Failure::Other(format!("the fit cannot be kept: {error}")))?;
        }
        Ok(directory.write_record(record)?)
    }
}

fn of_fit(record: &mut FitRecord, draws: &Draws, parameters: &[Row]) {
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    let ((bound, error), weights) = (draws.bound(), draws.smoothed());
    let (n, ess) = (draws.len() as f64, weights.effective_sample_size);
    record.bound = finite(bound);
    record.bound_standard_error = finite(error);
    let together = draws.bound_of(TOGETHER).filter(|(bound, error)| bound.is_finite() && error.is_finite());
    record.bound_together =
        together.map(|(mean, standard_error)| BoundTogether { draws: TOGETHER as u64, mean, standard_error });
    record.log_evidence = finite(weights.log_mean);
    // The relative error of the mean of weights.
    record.log_evidence_standard_error = finite(((n / ess - 1.0).max(0.0) / (n - 1.0).max(1.0)).sqrt());
    // Where annealing from both sides agrees, it says more than weights that may miss a part of the posterior.
    if let Some(between) = record.evidence.as_ref().filter(|e| e.is_bracket).and_then(|e| e.between) {
        record.log_evidence = finite(between.mean);
        record.log_evidence_standard_error = finite(between.standard_error);
    }
    record.k_hat = weights.k_hat;
    record.effective_sample_size = finite(ess);
    record.divergences = draws.dropped;
    record.parameters = parameters.iter().map(independent).collect();
}

/// Independent draws have neither R-hat nor autocorrelation: chains alone can fail to converge.
pub(super) fn independent(row: &Row) -> FitRow {
    let Row { name, mean, sd, q05, q50, q95, mcse } = row.clone();
    FitRow { name, mean, sd, q05, q50, q95, mcse: Some(mcse), rhat: None, ess_bulk: None, ess_tail: None }
}

fn of_chains(record: &mut FitRecord, sampled: &Sampled, facts: &SamplerFacts) {
    record.divergences = facts.divergences.iter().sum();
    record.sampler = Some(facts.clone());
    record.parameters = sampled.summary().into_iter().map(of_chain).collect();
}

pub(super) fn of_chain(row: hmcvi_nuts::Row) -> FitRow {
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

/// A variable of the draws: its name, its sizes, and the place of each of its columns among its numbers row by row.
struct Variable {
    name: String,
    sizes: Vec<usize>,
    order: Option<Vec<usize>>,
}

impl Outcome {
    /// The variables in the order of their columns.
    fn variables(&self, chosen: &Chosen) -> Vec<Variable> {
        match (&chosen.stan, &self.generated) {
            (Some(stan), Some(_)) => stan
                .variables()
                .iter()
                .map(|v| Variable { name: v.name.clone(), sizes: v.sizes.clone(), order: Some(v.order()) })
                .collect(),
            _ => {
                let own = |(name, dims): (String, Dims)| Variable {
                    name,
                    sizes: dims.sizes().to_vec(),
                    order: None,
                };
                chosen.bound.values().into_iter().map(own).collect()
            }
        }
    }

    /// All values as arrays of NumPy, `[chain, draw, ...]`. Chains are cut to the length of the shortest.
    fn arrays(&self, chosen: &Chosen) -> Result<Vec<u8>, Failure> {
        let chains = &self.chains;
        let draws = chains.iter().map(DrawTable::len).min().unwrap_or(0);
        let columns = &chains[0].columns;
        let sampler = columns.iter().take_while(|name| name.ends_with("__"));
        let sampler = sampler.map(|name| Variable { name: name.clone(), sizes: Vec::new(), order: None });
        let mut writer = NpzWriter::new();
        let mut first = 0;
        for Variable { name, sizes, order } in sampler.chain(self.variables(chosen)) {
            let elements: usize = sizes.iter().product();
            let mut values = Vec::with_capacity(chains.len() * draws * elements);
            let rows = chains.iter().flat_map(|chain| chain.values.chunks_exact(columns.len()).take(draws));
            for own in rows.map(|row| &row[first..first + elements]) {
                let start = values.len();
                values.extend_from_slice(own);
                for (value, place) in own.iter().zip(order.iter().flatten()) {
                    values[start + place] = *value;
                }
            }
            first += elements;
            let shape: Vec<usize> = [chains.len(), draws].into_iter().chain(sizes).collect();
            writer.array(&name, &shape, &values)?;
        }
        Ok(writer.finish()?)
    }
}
