//! Set the results of all rows beside the published ones.

use std::path::Path;

use hmcvi::config::PAPER_TABLE;
use hmcvi::family::{Acceptance, Mass};
use hmcvi_record::Estimate;
use hmcvi_report::{Align, Table};

use super::record::{Nats, Record, collect};
use super::row::{FIRST_SEED, REPEATED, TableRow};
use crate::Context;
use crate::failure::Failure;

/// Prints the table, and writes what is known of it.
pub(super) fn write(context: &Context, rows: &[TableRow], out: &Path) -> Result<(), Failure> {
    let records = collect(rows, out)?;
    if context.terminal.json {
        return context.terminal.print_json(&records);
    }
    context.terminal.print(&text(&records))
}

fn text(records: &[Record]) -> String {
    use Align::{Left, Right};
    let mut table = Table::new([
        ("row", Left),
        ("-log p(x) <=", Right),
        ("paper", Right),
        ("difference", Right),
        ("-log p(x) ~", Right),
        ("paper", Right),
        ("difference", Right),
        ("epochs", Right),
        ("state", Left),
    ]);
    let pair =
        |value: &Option<Nats>| value.as_ref().map_or("-".into(), |v| format!("{:.2} +- {:.2}", v.mean, v.se));
    let difference = |value: &Option<Nats>, paper: f64| {
        value.as_ref().map_or("-".into(), |v| format!("{:+.2}", v.mean - paper))
    };
    for r in records {
        table.row([
            r.title(),
            pair(&r.test_bound),
            format!("{:.2}", r.paper_bound),
            difference(&r.test_bound, r.paper_bound),
            pair(&r.nll),
            format!("{:.2}", r.paper_nll),
            difference(&r.nll, r.paper_nll),
            r.epochs.to_string(),
            r.state.clone(),
        ]);
    }
    let done = records.iter().filter(|r| r.state == "evaluated").count();
    let better = |r: &&Record| {
        let lower = |value: &Option<Nats>, paper| value.as_ref().is_some_and(|v| v.mean < paper);
        r.seed == FIRST_SEED && lower(&r.test_bound, r.paper_bound) && lower(&r.nll, r.paper_nll)
    };
    let better = records.iter().filter(better).count();
    let count = records.len();
    let mut text = format!(
        "{table}\n{done} of {count} rows are done; {better} are better than the paper's in both columns\n"
    );
    for preset in REPEATED {
        let of: Vec<&Record> = records.iter().filter(|r| r.preset == preset).collect();
        let values = |f: fn(&Record) -> &Option<Nats>| -> Vec<f64> {
            of.iter().filter_map(|r| f(r).as_ref().map(|v| v.mean)).collect()
        };
        let (bounds, nlls) = (values(|r| &r.test_bound), values(|r| &r.nll));
        if nlls.len() > 1 {
            text += &format!("{preset}, {} seeds: {} and {}\n", nlls.len(), spread(&bounds), spread(&nlls));
        }
    }
    text
}

/// Mean and standard deviation over seeds.
fn spread(values: &[f64]) -> String {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    format!("{mean:.2} with standard deviation {:.2}", variance.sqrt())
}

/// The table with the settings of its rows, for a document.
pub(super) fn markdown(records: &[Record]) -> String {
    let head = "| row | HMC steps | leapfrog steps | partial | mass | acceptance | bound | paper | difference | NLL | paper | difference |";
    let mut text = format!("{head}\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for r in records {
        let Some(paper) = PAPER_TABLE.iter().find(|p| p.preset == r.preset) else { continue };
        let chain = &paper.chain;
        let settings = match chain.hmc_steps {
            0 => "- | - | - | - | -".into(),
            steps => format!(
                "{steps} | {} | {} | {} | {}",
                chain.leapfrog_steps,
                if chain.partial_momentum { "yes" } else { "-" },
                match chain.mass {
                    Mass::Identity => "identity",
                    Mass::Global => "global",
                    Mass::Network => "network",
                },
                match chain.acceptance {
                    Acceptance::None => "-",
                    Acceptance::Simple => "simple",
                    Acceptance::Network => "network",
                }
            ),
        };
        let value = |nats: &Option<Nats>, published: f64| match nats {
            Some(v) => format!("{:.2} | {published:.2} | {:+.2}", v.mean, v.mean - published),
            None => format!("- | {published:.2} | -"),
        };
        let (bound, nll) = (value(&r.test_bound, r.paper_bound), value(&r.nll, r.paper_nll));
        text += &format!("| {} | {settings} | {bound} | {nll} |\n", r.title());
    }
    text + &fewer_draws(records) + &exact(records) + &annealed(records) + &reverse(records)
}

/// Rows that were evaluated less thoroughly than others.
fn fewer_draws(records: &[Record]) -> String {
    let most = records.iter().map(|r| r.draws).max().unwrap_or(0);
    let few = |r: &&Record| r.nll.is_some() && r.draws < most;
    let rows: Vec<String> =
        records.iter().filter(few).map(|r| format!("{} ({})", r.title(), r.draws)).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!("\nEvaluated on fewer than {most} draws of each test image: {}.\n", rows.join(", "))
}

/// A difference and its standard error.
fn pair(e: &Option<Estimate>) -> String {
    e.as_ref().map_or("-".into(), |e| format!("{:.3} ± {:.3}", e.mean, e.standard_error))
}

/// What the bounds lose to reverse models.
fn reverse(records: &[Record]) -> String {
    let line = |r: &Record| {
        let found = r.reverse.as_ref()?;
        let [own, linear, correlated] = [found.own, found.linear, found.correlated].map(|e| pair(&Some(e)));
        Some(format!("| {} | {} | {own} | {linear} | {correlated} |\n", r.title(), found.images))
    };
    let head = "| row | images | own Gaussians as reverse models would add to the bound | with linear means | with correlations |\n\
                |---|---|---|---|---|\n";
    titled(head, records.iter().filter_map(line).collect())
}

/// The likelihoods themselves, where they were integrated.
fn exact(records: &[Record]) -> String {
    let line = |r: &Record| {
        let nll = r.exact_nll.as_ref()?;
        Some(format!("| {} | {:.2} ± {:.2} | {} |\n", r.title(), nll.mean, nll.se, pair(&r.exact_above)))
    };
    let head = "| row | exact NLL | better than importance sampling by |\n|---|---|---|\n";
    titled(head, records.iter().filter_map(line).collect())
}

/// Lines with their head, or nothing.
fn titled(head: &str, lines: String) -> String {
    if lines.is_empty() { lines } else { format!("\n{head}{lines}") }
}

/// How far the likelihoods of the rows that were annealed can be trusted.
fn annealed(records: &[Record]) -> String {
    let line = |r: &Record| {
        let nll = r.annealed_nll.as_ref()?;
        let (above, gap) = (pair(&r.annealed_above), pair(&r.bdmc_gap));
        let how =
            r.annealed_by.as_ref().map_or("-".into(), |s| format!("{} from the {}", s.temperatures, s.start));
        let (title, images) = (r.title(), r.annealed_images);
        Some(format!("| {title} | {images} | {how} | {:.2} | {above} | {gap} |\n", nll.mean))
    };
    let head = "| row | annealed images | temperatures | annealed NLL | better than importance sampling by | bidirectional gap |\n\
                |---|---|---|---|---|---|\n";
    titled(head, records.iter().filter_map(line).collect())
}
