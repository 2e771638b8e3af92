//! Run the generated quantities of a Stan program on all draws.

use std::time::Instant;

use hmcvi_record::{DrawTable, FailedQuantities, FitGenerated, FitMethod, FitRow, LargeQuantity};
use hmcvi_stan::{Block, Model, StanError};

use crate::outcome::{independent, of_chain};

/// Arrays with more numbers get no rows in summaries: their draws are in the files.
const MOST_ROWS: usize = 100;

/// Replaces the values in tables of draws by all quantities of the program, in Stan's order; nothing if it was
/// stopped. `goes_on` hears how many of how many draws are done.
pub(crate) fn add(
    model: &Model,
    seed: u64,
    method: FitMethod,
    tables: &mut [DrawTable],
    goes_on: &(dyn Fn(usize, usize) -> bool + Sync),
) -> Result<Option<FitGenerated>, StanError> {
    let Some(first) = tables.first() else { return Ok(None) };
    let sampler: Vec<String> = first.columns.iter().filter(|name| name.ends_with("__")).cloned().collect();
    let (own, before) = (sampler.len(), first.columns.len());
    let rows: Vec<f64> = tables
        .iter()
        .flat_map(|table| table.values.chunks_exact(before).flat_map(|row| &row[own..]).copied())
        .collect();
    let begun = Instant::now();
    let draws = tables.iter().map(DrawTable::len).sum();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let found = model.all_quantities(&rows, seed, threads, &|done| goes_on(done, draws))?;
    let Some(found) = found else { return Ok(None) };
    let names = model.names();
    let mut all = found.values.chunks_exact(names.len().max(1));
    let columns: Vec<String> = sampler.iter().chain(names).cloned().collect();
    for table in tables.iter_mut() {
        let mut values = Vec::with_capacity(table.len() * columns.len());
        for row in table.values.chunks_exact(before) {
            values.extend_from_slice(&row[..own]);
            values.extend(all.next().into_iter().flatten());
        }
        *table = DrawTable { columns: columns.clone(), values };
    }
    let failed = found.failed.map(|failed| FailedQuantities {
        draws: failed.draws as u64,
        first: failed.first as u64 + 1,
        message: failed.error.to_string(),
    });
    let (rows, large) = summary(model, method, tables, own);
    Ok(Some(FitGenerated { rows, large, failed, seconds: begun.elapsed().as_secs_f64() }))
}

/// Rows of generated quantities, and those that have too many numbers for rows.
fn summary(
    model: &Model,
    method: FitMethod,
    tables: &[DrawTable],
    sampler: usize,
) -> (Vec<FitRow>, Vec<LargeQuantity>) {
    let (mut rows, mut large, mut place) = (Vec::new(), Vec::new(), sampler);
    for variable in model.variables() {
        let (from, numbers) = (place, variable.elements());
        place += numbers;
        if variable.block != Block::Generated {
            continue;
        }
        if numbers > MOST_ROWS {
            large.push(LargeQuantity { name: variable.name.clone(), numbers: numbers as u64 });
            continue;
        }
        for (at, name) in (from..).zip(variable.names()) {
            let column = |table: &DrawTable| -> Vec<f64> {
                table.values.chunks_exact(table.columns.len()).map(|row| row[at]).collect()
            };
            let chains: Vec<Vec<f64>> = tables.iter().map(column).collect();
            rows.push(match method {
                FitMethod::Nuts => of_chain(hmcvi_nuts::Row::of(&name, &chains)),
                _ => independent(&hmcvi::bayes::fit::Row::of(&name, &chains.concat())),
            });
        }
    }
    (rows, large)
}
