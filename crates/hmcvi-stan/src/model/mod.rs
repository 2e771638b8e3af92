//! Turn a program and its data into a log density, and draws into all quantities of the program.

mod compile;
pub(crate) mod data;
pub(crate) mod declared;
mod generate;
mod parameter;
pub(crate) mod uniform;

use std::path::Path;
use std::sync::Arc;

use hmcvi::bayes::{Bound, Data};

use crate::ast::{Blocks, StmtKind};
use crate::check::check;
use crate::error::{Problem, Source, StanError};
use crate::machine::Frame;
use crate::parser::parse;

pub use generate::{Block, Failed, Quantities, Variable};
pub(crate) use parameter::{Kind, Parameter};

/// The memory that nested expressions and calls may take.
const STACK: usize = 256 << 20;

/// How errors begin that no program should get.
const OUR_MISTAKE: &str = "this is a mistake of hmcvi-stan, not of the program; please report it";

/// A program whose names and types are in order.
#[derive(Clone, Debug)]
pub struct Program {
    source: Source,
    blocks: Arc<Blocks>,
}

/// How a program is turned into a model.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether `~` keeps what does not depend on parameters. Stan drops it, which samplers do not notice; the evidence of
    /// a model needs it.
    pub constants: bool,
    /// Seed of draws in transformed data.
    pub seed: u64,
    /// Whether parameters that are uniform between known numbers near 0, each of them, have these for bounds. The posterior
    /// is the same; unconstrained values are not those of Stan where the program does not declare the bounds.
    pub bounds_of_uniform: bool,
}

/// A program with its data.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) program: Program,
    pub(crate) bound: Bound,
    pub(crate) parameters: Arc<[Parameter]>,
    /// Variables after data were read and transformed.
    pub(crate) frame: Arc<Frame>,
    variables: Vec<Variable>,
    /// Places of the numbers of each variable in Stan's order.
    orders: Vec<Vec<usize>>,
    improper: Option<Problem>,
    names: Vec<String>,
}

impl Program {
    /// Reads a program and checks its names and types.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn parse(text: &str) -> Result<Self, StanError> {
        Self::of(text.into())
    }

    fn of(source: Source) -> Result<Self, StanError> {
        let read = on_stack(|| {
            let mut blocks = parse(&source.text)?;
            check(&mut blocks)?;
            Ok(Arc::new(blocks))
        });
        match read {
            Ok(blocks) => Ok(Program { source, blocks }),
            Err(problem) => Err(Problem::in_text(problem, &source)),
        }
    }

    /// Reads a program from a file. Lines `#include other.stan` are replaced by what is in the other file, whose path
    /// begins at the folder of this one; errors there name it.
    ///
    /// # Errors
    /// If a file cannot be read, or the first thing that is wrong in the program.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StanError> {
        Self::of(crate::include::read(path.as_ref())?)
    }

    /// The text of the program, with those of the files that it includes.
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// The model with its data, as Stan has it: `~` drops constants.
    ///
    /// # Errors
    /// If data are missing or do not fit, or the program does what is not supported.
    pub fn model(&self, data: &Data) -> Result<Model, StanError> {
        self.model_with(data, &Settings::default())
    }

    /// The model with its data and settings.
    ///
    /// # Errors
    /// If data are missing or do not fit, or the program does what is not supported.
    pub fn model_with(&self, data: &Data, settings: &Settings) -> Result<Model, StanError> {
        on_stack(|| compile::model(self, data, settings)).map_err(|problem| problem.in_text(&self.source))
    }

    /// Names of the variables that the program reads.
    pub fn data_names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for statement in &self.blocks.data {
            if let StmtKind::Declare { name, .. } = &statement.kind {
                names.push(name.as_str());
            }
        }
        names
    }

    pub(crate) fn blocks(&self) -> &Blocks {
        &self.blocks
    }
}

impl Model {
    /// The log density, as all models of `hmcvi` have it.
    pub fn bound(&self) -> &Bound {
        &self.bound
    }

    /// Names of all quantities of a draw in Stan's order: parameters, transformed parameters, generated quantities.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The variables of a draw, in the order of [`names`](Self::names).
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Looks for parameters that the log density does not depend on and whose support has no end: with one of them,
    /// the posterior is none.
    ///
    /// # Errors
    /// If there is one, with its place.
    pub fn check_proper(&self) -> Result<(), StanError> {
        match &self.improper {
            Some(problem) => Err(problem.clone().in_text(&self.program.source)),
            None => Ok(()),
        }
    }

    /// Variables of a block, with the places of their numbers in Stan's order.
    pub(crate) fn of_block(&self, block: Block) -> impl Iterator<Item = (&Variable, &Vec<usize>)> {
        self.variables.iter().zip(&self.orders).filter(move |(variable, _)| variable.block == block)
    }

    /// All quantities of one draw, in the order of [`names`](Self::names), from the values of a row of
    /// [`Built::row`](hmcvi::bayes::Built::row). Random numbers depend on the seed and the number of the draw alone.
    ///
    /// # Errors
    /// If the row has another length, or the program does what it cannot: the error has the place.
    pub fn quantities(&self, row: &[f64], seed: u64, draw: u32) -> Result<Vec<f64>, StanError> {
        on_stack(|| generate::one(self, row, seed, draw))
            .map_err(|problem| problem.in_text(&self.program.source))
    }

    /// All quantities of many draws, whose rows come one after the other, on some threads: as
    /// [`quantities`](Self::quantities) has them, draw by draw. What cannot be computed is not a number, and the first
    /// such draw is said. `goes_on` hears how many draws are done; nothing comes back where it says no.
    ///
    /// # Errors
    /// If the numbers are no rows of [`Built::row`](hmcvi::bayes::Built::row).
    pub fn all_quantities(
        &self,
        rows: &[f64],
        seed: u64,
        threads: usize,
        goes_on: &(dyn Fn(usize) -> bool + Sync),
    ) -> Result<Option<Quantities>, StanError> {
        generate::all(self, rows, seed, threads, goes_on)
            .map_err(|problem: Problem| problem.in_text(&self.program.source))
    }
}

/// Runs what may be nested deeply on a stack of its own.
fn on_stack<T: Send>(f: impl FnOnce() -> Result<T, Problem> + Send) -> Result<T, Problem> {
    std::thread::scope(|scope| {
        let started = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, f);
        match started.map(|thread| thread.join()) {
            Ok(Ok(found)) => found,
            // Whoever runs many programs goes on with the next.
            Ok(Err(panic)) => {
                let said = panic.downcast_ref::<String>().cloned();
                let said = said.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                Err(Problem::from(format!("{OUR_MISTAKE}: {}", said.unwrap_or_default())))
            }
            Err(e) => Err(Problem::from(format!("no thread could be started: {e}"))),
        }
    })
}
