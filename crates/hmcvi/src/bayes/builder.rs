//! Describe a model variable by variable.

use std::collections::HashSet;
use std::sync::Arc;

use hmcvi_graph::{Expr, Graph};

use super::data::Data;
use super::distribution::Distribution;
use super::support::{Constrained, Support};
use super::{Dims, Index, ModelError, Var};

/// Where real numbers of variables come from.
pub(super) enum Raw<'g> {
    /// Inputs, one for each variable: to find out how many there are.
    Unknown,
    /// The columns of one latent row.
    Columns(Expr<'g>),
}

/// A variable that is inferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its dimensions.
    pub dims: Dims,
    /// Real numbers that it is made from.
    pub unconstrained: usize,
}

/// The order in which elements of a matrix take their real numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// One row after the other.
    Rows,
    /// One column after the other, as in Stan; for matrices whose elements are constrained each for itself.
    Columns,
}

/// What a model is made of, collected while it is described.
pub struct Builder<'g> {
    graph: &'g Graph,
    data: Arc<Data>,
    raw: Raw<'g>,
    /// Real numbers that were used so far.
    used: usize,
    pub(super) variables: Vec<Variable>,
    /// Inferred variables on their supports, and what is computed from them.
    pub(super) values: Vec<(String, Var<'g>)>,
    pub(super) deterministic: Vec<(String, Var<'g>)>,
    /// Summands of `log p(z)`, `[N, 1]`, by the name of the variable.
    pub(super) log_prior: Vec<(String, Expr<'g>)>,
    /// `log p(x | z)` of each observation, by the name of the data.
    pub(super) log_likelihood: Vec<(String, Var<'g>)>,
    pub(super) error: Option<ModelError>,
}

impl<'g> Builder<'g> {
    pub(super) fn new(graph: &'g Graph, data: Arc<Data>, raw: Raw<'g>) -> Self {
        Builder {
            graph,
            data,
            raw,
            used: 0,
            variables: Vec::new(),
            values: Vec::new(),
            deterministic: Vec::new(),
            log_prior: Vec::new(),
            log_likelihood: Vec::new(),
            error: None,
        }
    }

    /// Data by name: a number, a vector or a matrix.
    pub fn data(&mut self, name: &str) -> Var<'g> {
        let data = self.data.clone();
        match data.get(name) {
            Some(array) if array.values.is_empty() => {
                self.fail(name, "there are no values".into(), Dims::SCALAR)
            }
            Some(array) => self.known(array.dims, &array.values),
            None => {
                let given: Vec<&str> = data.names().collect();
                let given = if given.is_empty() { "none".into() } else { given.join(", ") };
                self.error.get_or_insert(ModelError::NoData { name: name.into(), given });
                Var::new(self.graph.constant(0.0), Dims::SCALAR)
            }
        }
    }

    /// Numbers known now, with their dimensions.
    pub fn known(&mut self, dims: impl Into<Dims>, values: &[f64]) -> Var<'g> {
        let dims = dims.into();
        if values.len() != dims.elements() || values.is_empty() {
            let problem = format!("{} values were given for {dims}", values.len());
            return self.fail("known", problem, Dims::SCALAR);
        }
        if dims.is_scalar() {
            return Var::new(self.graph.constant(values[0]), dims);
        }
        let matrix = dims.matrix().map(|(rows, columns)| self.graph.constant_matrix(rows, columns, values));
        Var { matrix, ..Var::new(self.graph.constant_matrix(1, values.len(), values), dims) }
    }

    /// A whole number of the data, such as a size.
    pub fn size(&mut self, name: &str) -> usize {
        let data = self.data.clone();
        match data.get(name).map(|array| array.values.as_slice()) {
            Some(&[size]) if size >= 0.0 && size.fract() == 0.0 && size < 1e9 => size as usize,
            Some(_) => {
                self.fail(name, "expected one whole number of at least 0".into(), Dims::SCALAR);
                1
            }
            None => {
                self.data(name);
                1
            }
        }
    }

    /// Positions of the data, such as the group of each observation, that count from `first`: 1 in data for Stan and R, 0
    /// in others.
    pub fn index(&mut self, name: &str, first: usize) -> Index {
        let data = self.data.clone();
        let Some(array) = data.get(name) else {
            self.data(name);
            return Index::new([0]);
        };
        let position = |value: &f64| {
            (value.fract() == 0.0 && *value >= first as f64 && *value < f64::from(u32::MAX))
                .then(|| *value as usize - first)
        };
        match array.values.iter().map(position).collect::<Option<Vec<usize>>>() {
            Some(positions) if !positions.is_empty() => Index::new(positions),
            _ => {
                let wrong = array.values.iter().position(|value| position(value).is_none());
                let value = wrong.map_or("nothing".into(), |place| array.values[place].to_string());
                self.fail(
                    name,
                    format!("{value} is no position; expected integers from {first}"),
                    Dims::SCALAR,
                );
                Index::new([0])
            }
        }
    }

    /// A variable to infer, with its prior.
    pub fn sample(&mut self, name: &str, distribution: Distribution<'g>) -> Var<'g> {
        let dims = match distribution.dims() {
            Ok(dims) => dims,
            Err(problem) => return self.fail(name, problem, Dims::SCALAR),
        };
        let value = self.free(name, &distribution, dims);
        if self.error.is_none() {
            let log_prob = distribution.log_prob(value).sum();
            self.log_prior.push((name.into(), log_prob.expr()));
        }
        self.check(name);
        value
    }

    /// A variable to infer on a support, without a prior: each of its values is as good as another. Elements of
    /// matrices take their real numbers row by row or, as in Stan, column by column.
    pub fn declare(
        &mut self,
        name: &str,
        support: Support<'g>,
        dims: impl Into<Dims>,
        order: Order,
    ) -> Var<'g> {
        let dims = dims.into();
        let value = self.constrained(name, "its type", support, dims, order);
        self.check(name);
        value
    }

    /// A variable on the support of a distribution.
    fn free(&mut self, name: &str, distribution: &Distribution<'g>, dims: Dims) -> Var<'g> {
        let described = format!("{} is its distribution", distribution.name());
        self.constrained(name, &described, distribution.support(), dims, Order::Rows)
    }

    fn constrained(
        &mut self,
        name: &str,
        described: &str,
        support: Support<'g>,
        dims: Dims,
        order: Order,
    ) -> Var<'g> {
        if name.is_empty() {
            let problem = "a variable needs a name";
            self.error.get_or_insert(ModelError::Variable { name: name.into(), problem: problem.into() });
        }
        if self.variables.iter().any(|known| known.name == name) {
            self.error.get_or_insert(ModelError::Twice { name: name.into() });
        }
        let unconstrained = match support.unconstrained(dims) {
            Ok(0) => return self.fail(name, format!("{dims} leave nothing to infer"), dims),
            Ok(unconstrained) => unconstrained,
            Err(problem) => return self.fail(name, format!("{described}: {problem}"), dims),
        };
        let raw = match self.raw {
            Raw::Unknown => self.graph.batch_input(&format!("raw {name} {}", self.used), unconstrained),
            Raw::Columns(z) => z.slice_cols(self.used, unconstrained),
        };
        self.used += unconstrained;
        self.variables.push(Variable { name: name.into(), dims, unconstrained });
        let raw = if order == Order::Columns { by_columns(raw, dims) } else { raw };
        let Constrained { value, log_jacobian } = support.constrain(raw, dims);
        self.log_prior.extend(log_jacobian.map(|log_jacobian| (name.into(), log_jacobian)));
        self.values.push((name.into(), value));
        value
    }

    /// Names a value that is computed from variables, so that draws and summaries have it too.
    pub fn deterministic(&mut self, name: &str, value: Var<'g>) -> Var<'g> {
        let known = |all: &[(String, Var<'g>)]| all.iter().any(|(known, _)| known == name);
        if known(&self.values) || known(&self.deterministic) {
            self.error.get_or_insert(ModelError::Twice { name: name.into() });
        }
        self.check(name);
        self.deterministic.push((name.into(), value));
        value
    }

    /// Data that were seen, with the distribution that they come from.
    pub fn observe(&mut self, name: &str, distribution: Distribution<'g>, seen: Var<'g>) {
        self.check(name);
        if self.error.is_some() {
            return;
        }
        if let Err(problem) = distribution.check(seen) {
            self.fail(name, problem, Dims::SCALAR);
            return;
        }
        let log_prob = distribution.log_prob(seen);
        self.check(name);
        self.log_likelihood.push((name.into(), log_prob));
    }

    /// Adds the elements of a value to the log density: what no distribution says.
    pub fn add_log_density(&mut self, name: &str, value: Var<'g>) {
        self.check(name);
        self.log_likelihood.push((name.into(), value));
    }

    /// Takes what was wrong with an expression for a problem of the variable that it was meant for.
    fn check(&mut self, name: &str) {
        if let Some(problem) = self.graph.take_problem() {
            self.error.get_or_insert(ModelError::Variable { name: name.into(), problem });
        }
    }

    fn fail(&mut self, name: &str, problem: String, dims: Dims) -> Var<'g> {
        self.check(name);
        self.error.get_or_insert(ModelError::Variable { name: name.into(), problem });
        let zero = self.graph.constant(0.0);
        Var::new(zero.broadcast_to(hmcvi_graph::Shape::fixed(1, dims.elements().max(1))), dims)
    }

    /// Two elements with one name, such as `a[1]` of a vector `a` and a scalar of that name.
    fn same_elements(&self) -> Option<ModelError> {
        let all = || self.values.iter().chain(&self.deterministic);
        if !all().any(|(name, _)| name.contains('[')) {
            return None;
        }
        let mut known = HashSet::new();
        let mut names = all().flat_map(|(name, value)| value.dims().element_names(name));
        names.find(|name| !known.insert(name.clone())).map(|name| ModelError::Twice { name })
    }

    /// What is left to report when the description ends.
    pub(super) fn finish(mut self) -> Result<Self, ModelError> {
        self.check("the model");
        match self.error.take().or_else(|| self.same_elements()) {
            Some(error) => Err(error),
            None if self.variables.is_empty() => Err(ModelError::Empty),
            None => Ok(self),
        }
    }
}

/// Real numbers that come by columns of each matrix, by its rows.
fn by_columns(raw: Expr<'_>, dims: Dims) -> Expr<'_> {
    let [.., rows, columns] = *dims.sizes() else { return raw };
    let size = rows * columns;
    let place = |at: usize| at / size * size + at % columns * rows + at % size / columns;
    raw.gather_cols(&(0..raw.cols()).map(place).collect::<Vec<_>>())
}
