//! Keep the numbers of all draws, chain by chain, and give them as arrays.

use hmcvi::bayes::{Draws, FitError};
use hmcvi::data::{DataError, NpzWriter};
use hmcvi::run::FitDirectory;
use hmcvi_nuts::Sampled;
use hmcvi_record::{DrawTable, FitGenerated, FitMethod, files};
use hmcvi_stan::{Block, StanError};

use crate::error::KeepError;
use crate::subject::Subject;
use crate::{found, quantities, sampler};

/// A variable of draws: its name, its sizes, and where its columns belong.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its size along each dimension; none for a number.
    pub sizes: Vec<usize>,
    /// Whether it is a generated quantity.
    pub generated: bool,
    /// The place of each of its columns among its numbers row by row, where that is another one.
    order: Option<Vec<usize>>,
}

impl Variable {
    /// A variable whose columns come row by row.
    pub(crate) fn by_rows(name: String, sizes: &[usize]) -> Self {
        Variable { name, sizes: sizes.to_vec(), generated: false, order: None }
    }

    /// The variables of a Stan program.
    pub(crate) fn of_stan(model: &hmcvi_stan::Model) -> Vec<Self> {
        let own = |v: &hmcvi_stan::Variable| Variable {
            name: v.name.clone(),
            sizes: v.sizes.clone(),
            generated: v.block == Block::Generated,
            order: Some(v.order()),
        };
        model.variables().iter().map(own).collect()
    }

    /// How many numbers it has.
    pub fn elements(&self) -> usize {
        self.sizes.iter().product()
    }
}

/// An array `[chain, draw, ...]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its numbers, row by row.
    pub values: Vec<f64>,
}

/// Draws of all numbers, with what a sampler says of them.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// Draws of each chain; independent draws are one.
    pub chains: Vec<DrawTable>,
    /// What their columns are.
    pub variables: Vec<Variable>,
    /// What was generated, where a Stan program does.
    pub generated: Option<FitGenerated>,
}

impl Drawn {
    /// Draws of a fit.
    ///
    /// # Errors
    /// If the density cannot be computed.
    pub fn of_fit(subject: &Subject, draws: &Draws) -> Result<Self, FitError> {
        Ok(Self::of(subject, vec![found::of_draws(&subject.bound, draws)?]))
    }

    /// Draws of NUTS.
    ///
    /// # Errors
    /// If the density cannot be computed.
    pub fn of_chains(subject: &Subject, sampled: &Sampled) -> Result<Self, FitError> {
        Ok(Self::of(subject, sampler::of_chains(&subject.bound, sampled)?))
    }

    fn of(subject: &Subject, chains: Vec<DrawTable>) -> Self {
        Drawn { chains, variables: subject.own_variables(), generated: None }
    }

    /// Computes all quantities of a Stan program, where the model is one; returns whether it came to the end. Random
    /// numbers depend on the seed and the number of the draw alone.
    ///
    /// # Errors
    /// If the draws are none of the program.
    pub fn generate(
        &mut self,
        subject: &Subject,
        seed: u64,
        method: FitMethod,
        goes_on: &(dyn Fn(usize, usize) -> bool + Sync),
    ) -> Result<bool, StanError> {
        let Some(model) = subject.stan.as_ref().filter(|_| !self.chains.is_empty()) else { return Ok(true) };
        self.generated = quantities::add(model, seed, method, &mut self.chains, goes_on)?;
        if self.generated.is_some() {
            self.variables = subject.variables();
        }
        Ok(self.generated.is_some())
    }

    /// Draws of all chains.
    pub fn count(&self) -> usize {
        self.chains.iter().map(DrawTable::len).sum()
    }

    /// What a sampler says of each draw, under the names that tables have; each is an array `[chain, draw]`.
    pub fn statistics(&self) -> impl Iterator<Item = Drawing> {
        let columns = self.chains.first().map_or(&[][..], |chain| &chain.columns);
        let names = columns.iter().take_while(|name| name.ends_with("__"));
        names.enumerate().map(|(place, name)| self.array(&Variable::by_rows(name.clone(), &[]), place))
    }

    /// All variables as arrays `[chain, draw, ...]`. Chains are cut to the length of the shortest.
    pub fn arrays(&self) -> impl Iterator<Item = Drawing> {
        let first = self.statistics().count();
        self.variables.iter().scan(first, |first, variable| {
            let array = self.array(variable, *first);
            *first += variable.elements();
            Some(array)
        })
    }

    /// The columns of a variable, from the first one on.
    fn array(&self, variable: &Variable, first: usize) -> Drawing {
        let Variable { name, sizes, order, .. } = variable;
        let draws = self.chains.iter().map(DrawTable::len).min().unwrap_or(0);
        let elements = variable.elements();
        let mut values = Vec::with_capacity(self.chains.len() * draws * elements);
        let rows = |chain: &DrawTable| chain.columns.len().max(1);
        let rows = self.chains.iter().flat_map(|chain| chain.values.chunks_exact(rows(chain)).take(draws));
        for own in rows.map(|row| &row[first..first + elements]) {
            let start = values.len();
            values.extend_from_slice(own);
            for (value, place) in own.iter().zip(order.iter().flatten()) {
                values[start + place] = *value;
            }
        }
        let shape = [self.chains.len(), draws].into_iter().chain(sizes.iter().copied()).collect();
        Drawing { name: name.clone(), shape, values }
    }

    /// All of it as an archive of NumPy.
    pub(crate) fn to_npz(&self) -> Result<Vec<u8>, DataError> {
        let mut writer = NpzWriter::new();
        for Drawing { name, shape, values } in self.statistics().chain(self.arrays()) {
            writer.array(&name, &shape, &values)?;
        }
        writer.finish()
    }

    /// The draws of a directory.
    ///
    /// # Errors
    /// If there are none, or they are not of this model.
    pub fn read(directory: &FitDirectory, subject: &Subject) -> Result<Self, KeepError> {
        let folder = || directory.path().display().to_string();
        let chains = directory.chains(files::DRAWS_OF_CHAIN, &|_| true)?;
        let Some(first) = chains.first() else { return Err(KeepError::NoDraws { folder: folder() }) };
        let generated = directory.record()?.and_then(|record| record.generated);
        let variables = match generated {
            Some(_) => subject.variables(),
            None => subject.own_variables(),
        };
        let (found, expected) = (first.names().count(), variables.iter().map(Variable::elements).sum());
        match found == expected {
            true => Ok(Drawn { chains, variables, generated }),
            false => Err(KeepError::Columns { folder: folder(), found, expected }),
        }
    }
}
