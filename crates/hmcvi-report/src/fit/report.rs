//! Gather what is known of fits into the record of a report. A pure function: nothing is read or drawn here.

use hmcvi_record::{FIT_REPORT_SCHEMA, FitComparison, FitMethod, FitReport, FitRunReport, Level};

use super::data::{FitData, Series, reference, series};
use super::diagnose::diagnose_fit;
use super::differences::differences;
use super::trust::trust;
use super::{choose, figures};
use crate::Maker;
use crate::report::quoted;
use crate::words::{counted, fixed};

/// The report on a fit, or the comparison of several of one model.
pub fn fit_report(fits: &[FitData], maker: Maker) -> FitReport {
    let all = series(fits);
    let (names, rule) = choose::worst_first(fits, &all);
    let shown = &names[..names.len().min(choose::SHOWN)];
    let mut drawn: Vec<_> = figures::bound(fits).into_iter().collect();
    drawn.extend(figures::marginals(&all, shown));
    let title = match fits {
        [one] => one.name.clone(),
        [one, other] => format!("{} and {}", one.name, other.name),
        [one, others @ ..] => format!("{} and {} others", one.name, others.len()),
        [] => "No fits".into(),
    };
    FitReport {
        schema: FIT_REPORT_SCHEMA,
        version: maker.version,
        command: maker.command,
        made: maker.made,
        title,
        verdict: verdict(fits),
        runs: fits.iter().map(run).collect(),
        comparisons: compare_fits(fits),
        figures: drawn,
        shown: of_all(names.len(), shown.len(), rule),
        pair: choose::pair(&all, &names, rule),
    }
}

/// How far the draws of fits are from NUTS, where it was run, else from those of the first fit.
pub fn compare_fits(fits: &[FitData]) -> Vec<FitComparison> {
    let all = series(fits);
    let Some(held) = reference(&all, fits.len()) else { return Vec::new() };
    let others = all.iter().filter(|series| !std::ptr::eq(*series, held));
    others.map(|series| comparison(series, held)).collect()
}

fn comparison(series: &Series<'_>, held: &Series<'_>) -> FitComparison {
    let mut parameters = differences(series.chains, held.chains);
    let size = |d: &hmcvi_record::FitDifference| d.wasserstein.unwrap_or(f64::NEG_INFINITY);
    parameters.sort_by(|a, b| size(b).total_cmp(&size(a)));
    FitComparison { name: series.name.clone(), reference: held.name.clone(), parameters }
}

fn of_all(all: usize, shown: usize, [_, rule]: choose::Rule) -> String {
    match all > shown {
        true => format!("Shown are the {shown} of {all} numbers that {rule}, the worst first."),
        false => String::new(),
    }
}

fn run(fit: &FitData) -> FitRunReport {
    let (settings, out) = (format!("{}/fit.toml", fit.place), format!("{}-again", fit.place));
    FitRunReport {
        name: fit.name.clone(),
        place: fit.place.clone(),
        record: fit.record.clone(),
        findings: diagnose_fit(&fit.record, &fit.place),
        reproduce: vec![format!("hmcvi fit {} --out {}", quoted(&settings), quoted(&out))],
        config: fit.config.clone(),
    }
}

fn verdict(fits: &[FitData]) -> String {
    let [fit] = fits else {
        let model = fits.first().map_or("", |fit| &fit.record.model);
        return format!("{} of {model}, side by side.", counted(fits.len() as u64, "fit"));
    };
    let record = &fit.record;
    let how = match record.method {
        FitMethod::Hmcvi => "A chain of HMC steps",
        FitMethod::Gaussian => "A Gaussian",
        FitMethod::Nuts => "NUTS",
    };
    let bound = match (record.bound, record.log_evidence) {
        (Some(bound), Some(evidence)) => {
            format!(" with a log evidence of {} nats (the bound is {})", fixed(evidence, 2), fixed(bound, 2))
        }
        _ => String::new(),
    };
    let (_, meaning) = trust(record);
    let end = if record.finished { "" } else { ", unfinished" };
    let findings = diagnose_fit(record, &fit.place);
    let problems: Vec<_> = findings.iter().filter(|f| f.level == Level::Problem).collect();
    let trusted = match problems[..] {
        [] => meaning.to_string(),
        [only] => format!("there is a problem: {}", only.finding),
        [first, ..] => {
            format!("there are {}, first of all {}", counted(problems.len() as u64, "problem"), first.finding)
        }
    };
    format!("{how} gives {} of {}{end}{bound}; {trusted}.", counted(record.draws, "draw"), record.model)
}
