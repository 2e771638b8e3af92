//! List the rows of the paper's table with their published results.

use hmcvi::config::{PAPER_TABLE, PaperRow};
use hmcvi::family::{Acceptance, Mass};
use hmcvi_report::{Align, Table};
use serde::Serialize;

use crate::Context;
use crate::failure::Failure;

/// A row for programs.
#[derive(Serialize)]
struct Row {
    preset: &'static str,
    name: &'static str,
    latent: usize,
    chain: hmcvi::family::ChainSettings,
    /// Published `-log p(x) ≤`.
    paper_bound: f64,
    /// Published `-log p(x) ≈`.
    paper_nll: f64,
}

impl From<&PaperRow> for Row {
    fn from(row: &PaperRow) -> Self {
        let PaperRow { preset, name, latent, chain, bound, nll } = *row;
        Row { preset, name, latent, chain, paper_bound: bound, paper_nll: nll }
    }
}

pub(crate) fn run(context: &Context) -> Result<(), Failure> {
    if context.terminal.json {
        return context.terminal.print_json(&PAPER_TABLE.iter().map(Row::from).collect::<Vec<_>>());
    }
    use Align::{Left, Right};
    let mut table = Table::new([
        ("preset", Left),
        ("d", Right),
        ("HMC steps", Right),
        ("leapfrog", Right),
        ("partial", Left),
        ("mass", Left),
        ("acceptance", Left),
        ("paper -log p(x) <=", Right),
        ("paper -log p(x) ~", Right),
    ]);
    for row in &PAPER_TABLE {
        table.row(cells(row));
    }
    context.terminal.print(&table.to_string())
}

fn cells(row: &PaperRow) -> [String; 9] {
    let chain = &row.chain;
    let only = |text: &str| if chain.hmc_steps > 0 { text.to_string() } else { "-".into() };
    let mass = match chain.mass {
        Mass::Identity => "identity",
        Mass::Global => "global",
        Mass::Network => "network",
    };
    let acceptance = match chain.acceptance {
        Acceptance::None => "none",
        Acceptance::Simple => "simple",
        Acceptance::Network => "network",
    };
    [
        row.preset.into(),
        row.latent.to_string(),
        chain.hmc_steps.to_string(),
        only(&chain.leapfrog_steps.to_string()),
        only(if chain.partial_momentum { "yes" } else { "no" }),
        only(mass),
        only(acceptance),
        format!("{:.2}", row.bound),
        format!("{:.2}", row.nll),
    ]
}
