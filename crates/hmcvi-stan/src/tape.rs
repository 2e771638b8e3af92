//! Write down operations whose results depend on parameters, in the order in which the program asks for them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::error::Span;
use crate::value::{Cell, Data, Sizes};

/// Most operations of a program.
const MOST_NODES: usize = 6_000_000;

/// What a density is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Part {
    /// The logarithm of the density, with or without summands that do not depend on parameters.
    Density {
        constants: bool,
    },
    LogCdf,
    LogCcdf,
}

/// An operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Op {
    /// A parameter on its support, by its number.
    Param(u32),
    /// A function of numbers, by its place in the table.
    Map(u16),
    /// A power that is an integer known now.
    Power(i32),
    /// The second where the first is not 0, else the third.
    Select,
    Sum,
    LogSumExp,
    Cumsum,
    /// The product of `[n, m]` and `[m, k]`.
    Product([u32; 3]),
    Cholesky(u32),
    /// The eigenvalues of a symmetric matrix, ascending, and then its eigenvectors in the columns of a matrix.
    Eigen(u32),
    /// `L⁻¹B` or `L⁻ᵀB`
    Solve {
        n: u32,
        cols: u32,
        transposed: bool,
    },
    /// A distribution by its place in the table, with the sizes of its arguments.
    Density {
        id: u16,
        part: Part,
        sizes: u32,
    },
}

/// An operation with its arguments and the number of its results.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) op: Op,
    /// Where in the program it comes from: operations of one place are done together.
    pub(crate) site: u64,
    pub(crate) arguments: Box<[(Data, u32)]>,
    pub(crate) length: u32,
}

/// All operations of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tape {
    pub(crate) nodes: Vec<Node>,
    pub(crate) sizes: Vec<Vec<Sizes>>,
    /// Where densities stand in the program, by their sites.
    pub(crate) spans: HashMap<u64, Span>,
    known_sizes: HashMap<Vec<Sizes>, u32>,
    /// Operations by a hash of what they are: equal ones are kept once.
    known: HashMap<u64, u32>,
}

impl Tape {
    /// The result of an operation.
    pub(crate) fn push(
        &mut self,
        op: Op,
        site: u64,
        arguments: Vec<(Data, u32)>,
        length: usize,
    ) -> Result<Data, String> {
        if self.nodes.len() >= MOST_NODES {
            return Err(format!(
                "the program takes more than {MOST_NODES} operations; write sums over data with vectors"
            ));
        }
        let node = self.nodes.len() as u32;
        if !matches!(op, Op::Param(_)) {
            let hash = hash(op, &arguments, length);
            match self.known.get(&hash) {
                Some(&known) if self.nodes[known as usize].is(op, &arguments, length) => {
                    return Ok(Data::Span { node: known, start: 0 });
                }
                _ => self.known.insert(hash, node),
            };
        }
        self.nodes.push(Node { op, site, arguments: arguments.into(), length: length as u32 });
        Ok(Data::Span { node, start: 0 })
    }

    /// The number of a list of sizes.
    pub(crate) fn sizes_of(&mut self, sizes: Vec<Sizes>) -> u32 {
        if let Some(&known) = self.known_sizes.get(&sizes) {
            return known;
        }
        let number = self.sizes.len() as u32;
        self.sizes.push(sizes.clone());
        self.known_sizes.insert(sizes, number);
        number
    }
}

impl Node {
    fn is(&self, op: Op, arguments: &[(Data, u32)], length: usize) -> bool {
        let same = |(own, other): (&(Data, u32), &(Data, u32))| own.1 == other.1 && own.0.same(&other.0);
        self.op == op
            && self.length as usize == length
            && self.arguments.len() == arguments.len()
            && self.arguments.iter().zip(arguments).all(same)
    }
}

/// Longer lists are told apart by where they are kept.
const LONG: usize = 16;

fn hash(op: Op, arguments: &[(Data, u32)], length: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    (op, length).hash(&mut hasher);
    for (data, length) in arguments {
        length.hash(&mut hasher);
        match data {
            Data::Num(x) => x.to_bits().hash(&mut hasher),
            Data::Span { node, start } => (node, start).hash(&mut hasher),
            Data::Known(values) if values.len() > LONG => Arc::as_ptr(values).hash(&mut hasher),
            Data::Known(values) => values.iter().for_each(|x| x.to_bits().hash(&mut hasher)),
            Data::Cells(cells) if cells.len() > LONG => Arc::as_ptr(cells).hash(&mut hasher),
            Data::Cells(cells) => cells.iter().for_each(|cell| match cell {
                Cell::Known(x) => x.to_bits().hash(&mut hasher),
                Cell::Of { node, at } => (node, at).hash(&mut hasher),
            }),
        }
    }
    hasher.finish()
}

/// The operation that a cell comes from.
pub(crate) fn source(cell: Cell) -> Option<u32> {
    match cell {
        Cell::Of { node, .. } => Some(node),
        Cell::Known(_) => None,
    }
}
