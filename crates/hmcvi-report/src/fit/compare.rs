//! Set fits side by side as a table for a terminal.

use hmcvi_record::{FitComparison, FitDifference};

use super::data::FitData;
use crate::table::{Align, Table};
use crate::words::grouped;

/// Numbers of a model whose differences are listed.
const LISTED: usize = 8;

/// Bound, log evidence and k-hat of each fit, and the numbers that differ most.
pub fn fits_text(fits: &[FitData], comparisons: &[FitComparison]) -> String {
    use Align::{Left, Right};
    let titles = [
        ("fit", Left),
        ("method", Left),
        ("bound", Right),
        ("log evidence", Right),
        ("k-hat", Right),
        ("draws", Right),
        ("divergences", Right),
        ("seconds", Right),
    ];
    let mut table = Table::new(titles);
    let number = |value: Option<f64>, digits: usize| value.map_or("-".into(), |v| format!("{v:.digits$}"));
    for FitData { name, record, .. } in fits {
        table.row([
            name.clone(),
            record.method.name().into(),
            number(record.bound, 3),
            number(record.log_evidence, 3),
            number(record.k_hat, 2),
            grouped(record.draws),
            grouped(record.divergences),
            format!("{:.1}", record.seconds),
        ]);
    }
    let mut text = table.to_string();
    for comparison in comparisons {
        text += &differences(comparison);
    }
    text
}

fn differences(comparison: &FitComparison) -> String {
    let FitComparison { name, reference, parameters } = comparison;
    let titles = ["number", "mean (sd)", "sd ratio", "Wasserstein (sd)"];
    let align = |i: usize| if i == 0 { Align::Left } else { Align::Right };
    let mut table = Table::new(titles.into_iter().enumerate().map(|(i, title)| (title, align(i))));
    let number = |value: Option<f64>| value.map_or("-".into(), |v| format!("{v:.3}"));
    for FitDifference { name, mean, sd_ratio, wasserstein } in parameters.iter().take(LISTED) {
        table.row([name.clone(), number(*mean), number(*sd_ratio), number(*wasserstein)]);
    }
    let more = match parameters.len().saturating_sub(LISTED) {
        0 => String::new(),
        n => format!("… and {n} that differ less\n"),
    };
    format!("\n{name} against {reference}, the largest differences first:\n{table}{more}")
}
