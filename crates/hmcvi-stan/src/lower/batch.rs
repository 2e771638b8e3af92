//! Put the arguments of operations that are done together one after the other.

use super::source::Homes;
use super::{Argument, Step};
use crate::tape::Node;
use crate::value::{Cell, Data};

/// The step of these operations, which have equal kinds and lengths.
pub(super) fn step(nodes: &[Node], group: &[u32], homes: &Homes) -> Step {
    let first = &nodes[group[0] as usize];
    let argument = |i: usize| {
        let (own, length) = &first.arguments[i];
        let length = *length as usize;
        let all = group.iter().map(|node| &nodes[*node as usize].arguments[i].0);
        let shared = all.clone().skip(1).all(|data| data.same(own));
        let lanes: Vec<&Data> = if shared { vec![own] } else { all.collect() };
        let cells: Vec<Cell> = lanes.iter().flat_map(|data| (0..length).map(|j| data.cell(j))).collect();
        Argument { source: homes.source(&cells), shared, length }
    };
    let arguments = (0..first.arguments.len()).map(argument).collect();
    Step { op: first.op, lanes: group.len(), arguments, length: first.length as usize, span: None }
}
