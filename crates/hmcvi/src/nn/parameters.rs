//! Collect the parameters that expressions ask for, with how each begins.

use std::cell::RefCell;

use hmcvi_graph::random::{self, Key};
use hmcvi_graph::{Expr, Graph, Real, Rows, Store};

/// How a parameter begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Initial {
    /// Independent draws from a Gaussian with mean 0 and this variance.
    Normal {
        /// Variance of the draws.
        variance: f64,
    },
    /// The same value everywhere.
    Constant(f64),
}

impl Initial {
    /// The paper's choice for all parameters, `N(0, 0.01)` (`sec:ModelSpecifications`).
    pub const PAPER: Initial = Initial::Normal { variance: 0.01 };
}

/// The parameters of a model, in the order in which they were first asked for.
pub struct Parameters<'g> {
    graph: &'g Graph,
    list: RefCell<Vec<(String, Expr<'g>, Initial)>>,
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
        let parameter = self.graph.parameter(name, rows, cols);
        let mut list = self.list.borrow_mut();
        if !list.iter().any(|(known, ..)| known == name) {
            list.push((name.into(), parameter, initial));
        }
        parameter
    }

    /// All parameters with their names.
    pub fn all(&self) -> Vec<(String, Expr<'g>)> {
        self.list.borrow().iter().map(|(name, p, _)| (name.clone(), *p)).collect()
    }

    /// Number of values of all parameters together.
    pub fn count(&self) -> u64 {
        self.list.borrow().iter().map(|(_, p, _)| (rows(*p) * p.cols()) as u64).sum()
    }

    /// First values of all parameters. Each depends on the seed and its own name alone, so adding a
    /// parameter does not change the others.
    pub fn initial_values<T: Real>(&self, seed: u64) -> Store<T> {
        let mut store = Store::new();
        for (name, parameter, initial) in self.list.borrow().iter() {
            let cols = parameter.cols();
            let rows = rows(*parameter);
            let mut values = vec![T::default(); rows * cols];
            match *initial {
                Initial::Constant(value) => values.fill(T::from_f64(value)),
                Initial::Normal { variance } => {
                    let scale = T::from_f64(variance.sqrt());
                    for (row, values) in values.chunks_mut(cols).enumerate() {
                        let step = name_hash(name) >> 16;
                        random::normal(Key { seed, stream: INITIAL_STREAM, step, row: row as u32 }, values);
                        values.iter_mut().for_each(|v| *v = *v * scale);
                    }
                }
            }
            store.insert(name, rows, cols, values).expect("the sizes were taken from the parameter");
        }
        store
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
