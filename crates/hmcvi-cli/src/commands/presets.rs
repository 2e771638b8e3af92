//! List the rows of the paper's table with their published results, and families by name.

use clap::Args;
use hmcvi::config::{NamedFamily, PAPER_TABLE, PaperRow, named_families};
use hmcvi::family::{Acceptance, ChainSettings, FamilySettings, Mass};
use hmcvi_report::{Align, Table};
use serde::Serialize;

use crate::Context;
use crate::failure::Failure;

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// List families other than the paper's alone
    #[arg(long)]
    families: bool,
}

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

/// A family for programs.
#[derive(Serialize)]
struct Family {
    presets: [String; 2],
    about: &'static str,
    chain: ChainSettings,
    family: FamilySettings,
}

impl From<NamedFamily> for Family {
    fn from(named: NamedFamily) -> Self {
        let NamedFamily { about, chain, family, .. } = named;
        Family { presets: named.presets(), about, chain, family }
    }
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let families: Vec<Family> = named_families().into_iter().map(Family::from).collect();
    match (context.terminal.json, arguments.families) {
        (true, true) => context.terminal.print_json(&families),
        (true, false) => context.terminal.print_json(&PAPER_TABLE.iter().map(Row::from).collect::<Vec<_>>()),
        (false, true) => context.terminal.print(&of_families(&families).to_string()),
        (false, false) => {
            let (paper, families) = (of_paper(), of_families(&families));
            let heading = "other families, each for a trained plain model of its size (--init-from)";
            context.terminal.print(&format!("{paper}\n{heading}\n\n{families}"))
        }
    }
}

fn of_families(families: &[Family]) -> Table {
    use Align::Left;
    let mut table = Table::new([("d = 2", Left), ("d = 20", Left), ("what it is", Left)]);
    for family in families {
        let [small, large] = &family.presets;
        table.row([small.clone(), large.clone(), family.about.into()]);
    }
    table
}

fn of_paper() -> Table {
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
    table
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
