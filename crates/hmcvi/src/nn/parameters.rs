//! Collect the parameters that expressions ask for, with how each begins.

use std::cell::RefCell;
use std::sync::Arc;

use hmcvi_graph::random::{self, Key};
use hmcvi_graph::{Expr, Graph, Real, Rows, Store};

/// How a parameter begins.
#[derive(Clone, Debug, PartialEq)]
pub enum Initial {
    /// Independent draws from a Gaussian with mean 0 and this variance.
    Normal {
        /// Variance of the draws.
        variance: f64,
    },
    /// The same value everywhere.
    Constant(f64),
    /// These values, row after row.
    Values(Arc<[f32]>),
}

impl Initial {
    /// The paper's choice for all parameters, `N(0, 0.01)` (`sec:ModelSpecifications`).
    pub const PAPER: Initial = Initial::Normal { variance: 0.01 };
}

/// The parameters of a model, in the order in which they were first asked for.
pub struct Parameters<'g> {
    graph: &'g Graph,
    list: RefCell<Vec<Parameter<'g>>>,
}

struct Parameter<'g> {
    name: String,
    value: Expr<'g>,
    initial: Initial,
    trained: bool,
}

impl<'g> Parameters<'g> {
    /// No parameters yet.
    pub fn new(graph: &'g Graph) -> Self {
        Parameters { graph, list: RefCell::new(Vec::new()) }
    }

    /// The graph that the parameters belong to.
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// The parameter of that name; asking again gives the same one.
    #[track_caller]
    pub fn get(&self, name: &str, rows: usize, cols: usize, initial: Initial) -> Expr<'g> {
        self.add(name, rows, cols, initial, true)
    }

    /// A tensor that belongs to the model and its checkpoints but is not trained: what was found out about the data
    /// before training began. Asking again gives the same one.
    #[track_caller]
    pub fn fixed(&self, name: &str, rows: usize, cols: usize, initial: Initial) -> Expr<'g> {
        self.add(name, rows, cols, initial, false)
    }

    #[track_caller]
    fn add(&self, name: &str, rows: usize, cols: usize, initial: Initial, trained: bool) -> Expr<'g> {
        let value = self.graph.parameter(name, rows, cols);
        let mut list = self.list.borrow_mut();
        match list.iter().find(|known| known.name == name) {
            Some(known) => assert_eq!(known.trained, trained, "`{name}` is either trained or fixed"),
            None => list.push(Parameter { name: name.into(), value, initial, trained }),
        }
        value
    }

    /// All parameters that are trained, with their names.
    pub fn all(&self) -> Vec<(String, Expr<'g>)> {
        let list = self.list.borrow();
        list.iter().filter(|p| p.trained).map(|p| (p.name.clone(), p.value)).collect()
    }

    /// Names of all parameters, trained and fixed.
    pub fn names(&self) -> Vec<String> {
        self.list.borrow().iter().map(|p| p.name.clone()).collect()
    }

    /// Number of values of all parameters together, trained and fixed.
    pub fn count(&self) -> u64 {
        self.list.borrow().iter().map(|p| (rows(p.value) * p.value.cols()) as u64).sum()
    }

    /// First values of all parameters, trained and fixed. Each depends on the seed and its own name alone, so adding a
    /// parameter does not change the others.
    ///
    /// # Panics
    /// If a parameter was given another number of first values than it has.
    pub fn initial_values<T: Real>(&self, seed: u64) -> Store<T> {
        let mut store = Store::new();
        for Parameter { name, value, initial, .. } in self.list.borrow().iter() {
            let (rows, cols) = (rows(*value), value.cols());
            let values = first_values(name, rows, cols, initial, seed);
            store.insert(name, rows, cols, values).expect("the sizes were taken from the parameter");
        }
        store
    }
}

fn first_values<T: Real>(name: &str, rows: usize, cols: usize, initial: &Initial, seed: u64) -> Vec<T> {
    match initial {
        Initial::Constant(value) => vec![T::from_f64(*value); rows * cols],
        Initial::Values(values) => {
            assert_eq!(values.len(), rows * cols, "`{name}` has as many first values as elements");
            values.iter().map(|&value| T::from_f64(value.into())).collect()
        }
        Initial::Normal { variance } => {
            let mut values = vec![T::default(); rows * cols];
            let scale = T::from_f64(variance.sqrt());
            for (row, values) in values.chunks_mut(cols).enumerate() {
                let step = name_hash(name) >> 16;
                random::normal(Key { seed, stream: INITIAL_STREAM, step, row: row as u32 }, values);
                values.iter_mut().for_each(|v| *v = *v * scale);
            }
            values
        }
    }
}

/// Stream of first values, apart from those of training.
const INITIAL_STREAM: u16 = u16::MAX;

fn rows(parameter: Expr<'_>) -> usize {
    match parameter.shape().rows {
        Rows::Fixed(n) => n,
        Rows::Batch => unreachable!("parameters have fixed rows"),
    }
}

/// FNV-1a of the name.
fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_tensors_are_stored_with_the_others_but_not_trained() {
        let graph = Graph::new();
        let parameters = Parameters::new(&graph);
        parameters.get("weight", 2, 3, Initial::PAPER);
        let alone: Store<f32> = parameters.initial_values(7);
        let mean = || parameters.fixed("mean", 1, 2, Initial::Values([1.5, -2.0].into()));
        assert_eq!(mean(), mean());
        let names: Vec<String> = parameters.all().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["weight"]);
        assert_eq!(parameters.count(), 8);
        let both: Store<f32> = parameters.initial_values(7);
        assert_eq!(both.get("mean").expect("stored").values, [1.5, -2.0]);
        assert_eq!(alone.get("weight").expect("stored").values, both.get("weight").expect("stored").values);
    }
}
