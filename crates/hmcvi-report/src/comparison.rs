//! Show a comparison of runs as a table for a terminal.

use hmcvi_record::{ComparedRun, Comparison, Difference, Estimate};

use crate::table::{Align, Table};
use crate::{Noun, counted};

/// The table, and how the errors of differences were found.
pub fn comparison_text(comparison: &Comparison, noun: Noun) -> String {
    let first = noun.say("nats per image, smaller is better");
    let mut table = Table::new([
        (first.as_str(), Align::Left),
        ("-log p(x) <=", Align::Right),
        ("to the first", Align::Right),
        ("-log p(x) ~", Align::Right),
        ("to the first", Align::Right),
        ("validation", Align::Right),
        ("epochs", Align::Right),
        ("seconds", Align::Right),
        ("divergences", Align::Right),
    ]);
    for run in &comparison.runs {
        table.row([
            run.name.clone(),
            estimate(run.bound.as_ref()),
            difference(run.bound_difference.as_ref()),
            estimate(run.log_likelihood.as_ref()),
            difference(run.log_likelihood_difference.as_ref()),
            run.validation_bound.map_or("-".into(), |b| format!("{:.2}", -b)),
            run.epochs.to_string(),
            format!("{:.0}", run.seconds),
            run.divergences.to_string(),
        ]);
    }
    format!("{table}\n{}", notes(comparison, noun))
}

fn estimate(e: Option<&Estimate>) -> String {
    e.map_or("-".into(), |e| format!("{:.2} +- {:.2}", -e.mean, e.standard_error))
}

fn difference(d: Option<&Difference>) -> String {
    d.map_or("-".into(), |d| format!("{:+.2} +- {:.2}", -d.estimate.mean, d.estimate.standard_error))
}

fn notes(comparison: &Comparison, noun: Noun) -> String {
    let mut text = String::new();
    for run in &comparison.runs {
        text += &format!("{}: {}\n", run.name, evaluated(run, noun));
    }
    for run in &comparison.runs {
        if let (Some(why), Some(first)) = (&run.not_comparable, comparison.runs.first()) {
            text += &format!("WARNING {} cannot be compared with {}: {why}\n", run.name, first.name);
        }
        let Some(d) = run.bound_difference.or(run.log_likelihood_difference) else { continue };
        let how = match d.paired {
            true => "differences are over pairs of the same binary images",
            false => {
                "errors of differences are those of independent means, since the evaluations are not of the same images \
                 and draws"
            }
        };
        text += &format!("{}: {}\n", run.name, noun.say(how));
    }
    text
}

fn evaluated(run: &ComparedRun, noun: Noun) -> String {
    match (&run.split, run.images, run.draws) {
        (Some(split), Some(images), Some(draws)) => {
            format!("{}, {} of each", noun.counted(images, split), counted(draws, "draw"))
        }
        _ => format!("not evaluated yet: hmcvi eval {}", run.place),
    }
}
