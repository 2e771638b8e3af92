//! Set the results of all posteriors beside reference draws and published bounds, and say which bars are missed.

use hmcvi_record::{Estimate, FitEvidence};
use hmcvi_report::{Align, Table};

use super::against::{Against, Worst};
use super::apart::Apart;
use super::record::{Found, PublishedBound, Record, Standing};

/// A mean by NUTS agrees with the reference if it is fewer standard errors away.
const MOST_Z: f64 = 4.0;
/// A mean of a fit may be off by so many standard deviations, and a standard deviation by this share.
const MOST_MEAN: f64 = 0.1;
const MOST_SD: f64 = 0.1;
/// Posteriors of all those with reference draws whose moments may be further off.
const EXCUSED: usize = 2;
/// Standard errors beyond which a difference is not by chance.
const ERRORS: f64 = 2.0;
/// A bracket of the log evidence may be so wide, in nats.
const MOST_WIDTH: f64 = 0.3;

impl Against {
    fn nuts_agrees(&self) -> bool {
        self.nuts.value.abs() < MOST_Z
    }

    fn has_moments(&self) -> bool {
        let [low, high] = &self.sd;
        let sd = |worst: &Worst| (worst.value - 1.0).abs() <= MOST_SD;
        self.mean.value.abs() <= MOST_MEAN && sd(low) && sd(high)
    }
}

impl Apart {
    /// Whether what weights say is what NUTS says.
    fn is_confirmed(&self) -> bool {
        self.weights.value.abs() < MOST_Z
    }

    fn is_closer(&self) -> bool {
        self.is_confirmed() && self.gain.mean > ERRORS * self.gain.standard_error
    }

    fn is_further(&self) -> bool {
        self.is_confirmed() && self.gain.mean < -ERRORS * self.gain.standard_error
    }
}

/// Rows with reference draws, with what they say.
fn compared(records: &[Record]) -> Vec<(&Record, &Found, &Against)> {
    let found = records.iter().filter_map(|record| Some((record, record.found.as_ref()?)));
    found.filter_map(|(record, found)| Some((record, found, found.against.as_ref()?))).collect()
}

/// Rows with published bounds.
fn published(records: &[Record]) -> Vec<(&Record, &Found, &PublishedBound, Standing)> {
    let found = records.iter().filter_map(|record| Some((record, record.found.as_ref()?)));
    found
        .filter_map(|(record, found)| Some((record, found, found.published.as_ref()?, found.standing()?)))
        .collect()
}

/// What is to be reached, and how far it is: one line for each, with whether it is missed.
pub(super) fn bars(records: &[Record]) -> Vec<(String, bool)> {
    let mut all = Vec::new();
    let compared = compared(records);
    let n = compared.len();
    if n > 0 {
        let count = |of: fn(&Against) -> bool| compared.iter().filter(|(_, _, against)| of(against)).count();
        let agrees = count(Against::nuts_agrees);
        all.push((
            format!("NUTS agrees with the reference in every mean (|z| < {MOST_Z}) in {agrees} of {n}"),
            agrees < n,
        ));
        let moments = count(Against::has_moments);
        let text = format!(
            "means of HMCVI are within {MOST_MEAN} sd and standard deviations within {:.0}% in {moments} of {n}",
            100.0 * MOST_SD
        );
        all.push((text, n - moments > EXCUSED));
        let apart = |of: fn(&Apart) -> bool| {
            compared.iter().filter(|(_, found, _)| found.apart.as_ref().is_some_and(of)).count()
        };
        let (closer, further) = (apart(Apart::is_closer), apart(Apart::is_further));
        let mut text = format!(
            "HMCVI is closer to the posterior than the Gaussian alone (1-Wasserstein, by more than two standard errors) in \
             {closer} of {n}"
        );
        if further > 0 {
            text += &format!(", and further in {further}");
        }
        all.push((text, closer < n));
    }
    let published = published(records);
    if !published.is_empty() {
        let count = |standing| published.iter().filter(|(_, _, _, other)| *other == standing).count();
        let (reached, other) = (count(Standing::Reached), count(Standing::OfAnother));
        let together = count(Standing::ReachedTogether);
        let mut text = format!("published bounds are reached in {reached} of {}", published.len());
        if together > 0 {
            text += &format!("; {together} more with several draws together");
        }
        if other > 0 {
            text += &format!("; {other} are above the log evidence, which no bound can be");
        }
        all.push((text, count(Standing::Below) > 0));
    }
    let brackets: Vec<&FitEvidence> =
        records.iter().filter_map(|record| record.found.as_ref()?.bracket()).collect();
    if !brackets.is_empty() {
        let narrow = brackets.iter().filter(|e| e.is_bracket && width(e) <= MOST_WIDTH).count();
        all.push((
            format!("log evidences are bracketed within {MOST_WIDTH} nats in {narrow} of {}", brackets.len()),
            narrow < brackets.len(),
        ));
    }
    all
}

fn width(evidence: &FitEvidence) -> f64 {
    (evidence.upper.mean - evidence.lower.mean).abs()
}

/// Titles of the first part, and its cells.
const COMPARED: [&str; 14] = [
    "posterior",
    "d",
    "NUTS: z",
    "of",
    "mean off by",
    "of",
    "sd ratios",
    "W1",
    "Gaussian",
    "closer by",
    "weights: z",
    "k-hat",
    "bound",
    "seconds",
];
/// Titles of the second part.
const BOUNDS: [&str; 8] =
    ["posterior", "T, L", "bound", "of 32 draws together", "published", "log evidence", "k-hat", "seconds"];

fn compared_row((record, found, against): (&Record, &Found, &Against)) -> Vec<String> {
    let [low, high] = &against.sd;
    let distance = |of: fn(&Apart) -> Estimate| {
        let e = found.apart.as_ref().map(of);
        e.map_or("-".into(), |e| format!("{:.4} ± {:.4}", e.mean, e.standard_error))
    };
    vec![
        record.model.clone(),
        found.dimension.to_string(),
        format!("{:.1}", against.nuts.value.abs()),
        against.nuts.parameter.clone(),
        format!("{:.3}", against.mean.value.abs()),
        against.mean.parameter.clone(),
        format!("{:.3} to {:.3}", low.value, high.value),
        distance(|apart| apart.hmcvi),
        distance(|apart| apart.gaussian),
        distance(|apart| apart.gain),
        found.apart.as_ref().map_or("-".into(), |apart| format!("{:.1}", apart.weights.value.abs())),
        k_hat(found),
        pair(found.bound.as_ref()),
        format!("{:.1}", found.seconds),
    ]
}

fn published_row(
    (record, found, published, standing): (&Record, &Found, &PublishedBound, Standing),
) -> Vec<String> {
    let mark = match standing {
        Standing::Reached | Standing::ReachedTogether => "",
        Standing::Below => " (not reached)",
        Standing::OfAnother => " (above the log evidence)",
    };
    vec![
        record.model.clone(),
        format!("{}, {}", found.hmc_steps, found.leapfrog_steps),
        pair(found.bound.as_ref()),
        found.together.map_or("-".into(), |b| format!("{:.3} ± {:.3}", b.mean, b.standard_error)),
        format!("{} by {}{mark}", published.bound, published.by),
        published.log_evidence.map_or_else(|| sides(found.bracket()), |exact| format!("{exact} exactly")),
        k_hat(found),
        format!("{:.0}", found.seconds),
    ]
}

fn k_hat(found: &Found) -> String {
    found.k_hat.map_or("-".into(), |k| format!("{k:.2}"))
}

fn pair(estimate: Option<&Estimate>) -> String {
    estimate.map_or("-".into(), |e| format!("{:.3} ± {:.3}", e.mean, e.standard_error))
}

fn sides(evidence: Option<&FitEvidence>) -> String {
    let both = |e: &FitEvidence| format!("{} to {}", pair(Some(&e.lower)), pair(Some(&e.upper)));
    evidence.map_or("-".into(), both)
}

/// The table for a terminal.
pub(super) fn text(records: &[Record]) -> String {
    let laid_out = |titles: &[&str], rows: Vec<Vec<String>>| {
        let columns = titles.iter().enumerate();
        let mut table =
            Table::new(columns.map(|(i, title)| (*title, if i == 0 { Align::Left } else { Align::Right })));
        let any = !rows.is_empty();
        rows.into_iter().for_each(|row| table.row(row));
        if any { format!("{table}\n") } else { String::new() }
    };
    let mut text = laid_out(&COMPARED, compared(records).into_iter().map(compared_row).collect());
    text += &laid_out(&BOUNDS, published(records).into_iter().map(published_row).collect());
    for (bar, missed) in bars(records) {
        text += &format!("{bar}{}\n", if missed { "  MISSED" } else { "" });
    }
    let done = records.iter().filter(|record| record.found.is_some()).count();
    text + &format!("{done} of {} posteriors are done\n", records.len())
}

/// The table for a document.
pub(super) fn markdown(records: &[Record]) -> String {
    let laid_out = |titles: &[&str], rows: Vec<Vec<String>>| {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rows: String = rows.iter().map(|row| line(row)).collect();
        let head = format!("| {} |\n{}|\n", titles.join(" | "), "|---".repeat(titles.len()));
        if rows.is_empty() { rows } else { format!("{head}{rows}\n") }
    };
    let mut text = laid_out(&COMPARED, compared(records).into_iter().map(compared_row).collect());
    text += &laid_out(&BOUNDS, published(records).into_iter().map(published_row).collect());
    for (bar, missed) in bars(records) {
        text += &format!("- {bar}{}.\n", if missed { " (missed)" } else { "" });
    }
    text
}
