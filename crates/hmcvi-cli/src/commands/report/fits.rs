//! Read everything that is known of fits of a Bayesian model.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use hmcvi::run::{FitDirectory, Lock};
use hmcvi_record::{FitReport, files};
use hmcvi_report::{FitData, Maker, fit_page, fit_report, quoted};

use super::gather::name;
use crate::failure::Failure;

/// The report on fits, and its page.
pub(super) fn report(paths: &[PathBuf], maker: Maker) -> Result<(FitReport, String), Failure> {
    let record = fit_report(&all(paths)?, maker);
    let text = fit_page(&record);
    Ok((record, text))
}

/// All fits, with names that tell them apart. They are of one model and the same data.
pub(crate) fn all(paths: &[PathBuf]) -> Result<Vec<FitData>, Failure> {
    let mut fits = paths.iter().map(|path| one(path)).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = fits.iter().map(|fit| fit.name.clone()).collect();
    for fit in &mut fits {
        if names.iter().filter(|name| **name == fit.name).count() > 1 {
            fit.name.clone_from(&fit.place);
        }
    }
    let subject = |fit: &FitData| (fit.record.model.clone(), fit.record.data_sha256.clone());
    let other = fits.first().and_then(|first| fits.iter().find(|fit| subject(fit) != subject(first)));
    match (fits.first(), other) {
        (Some(first), Some(other)) => {
            let what = if first.record.model == other.record.model { "data" } else { "models" };
            let (place, its) = (quoted(&first.place), quoted(&other.place));
            let (model, its_model) = (&first.record.model, &other.record.model);
            let text = format!("{place} ({model}) and {its} ({its_model}) are fits of different {what}");
            Err(Failure::Usage(text).then("name fits of one model with the same data"))
        }
        _ => Ok(fits),
    }
}

/// A fit with its draws.
pub(crate) fn one(path: &Path) -> Result<FitData, Failure> {
    let directory = FitDirectory::open(path)?;
    let config = directory.spec()?.to_toml();
    let Some(record) = directory.record()? else {
        let place = path.display();
        return Err(match Lock::is_held(path) {
            true => Failure::Usage(format!("the fit in {place} is under way; it has no results yet")),
            false => {
                Failure::Usage(format!("the fit in {place} was ended before it had results")).then(format!(
                    "`hmcvi fit {0}/fit.toml --out {0} --force` begins again",
                    quoted(&place.to_string())
                ))
            }
        });
    };
    // Generated quantities may be many times as many as the numbers of the model.
    let own: HashSet<&str> = record.parameters.iter().map(|row| row.name.as_str()).collect();
    let wanted = |name: &str| name.ends_with("__") || own.contains(name);
    let chains = directory.chains(files::DRAWS_OF_CHAIN, &wanted)?;
    let gaussian = directory.file(files::GAUSSIAN).exists().then(|| directory.table(files::GAUSSIAN));
    Ok(FitData {
        name: name(path),
        place: path.display().to_string(),
        chains,
        record,
        config,
        gaussian: gaussian.transpose()?,
        nuts: directory.chains(files::NUTS_OF_CHAIN, &|_| true)?,
    })
}
