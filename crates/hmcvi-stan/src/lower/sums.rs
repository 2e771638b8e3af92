//! Turn sums that were added up one by one into one sum, whose summands do not wait for each other.

use super::for_each_source;
use crate::functions::elementwise::{ADD, SUB};
use crate::tape::{Node, Op, source};
use crate::value::{Cell, Data, Value};

/// Shorter chains stay as they are.
const SHORTEST: usize = 6;

/// Replaces additions of numbers whose first side is used nowhere else.
pub(super) fn collapse(nodes: &mut [Node], wanted: &mut [Data], outputs: &[&Value]) {
    let mut uses = vec![0u32; nodes.len()];
    for node in nodes.iter() {
        for_each_source(node, |source| uses[source as usize] += 1);
    }
    for data in wanted.iter() {
        if let Data::Span { node, .. } = data {
            uses[*node as usize] += 1;
        }
    }
    for value in outputs {
        value.cells().into_iter().filter_map(source).for_each(|node| uses[node as usize] += 1);
    }
    // Length of the chain of additions that ends at each operation.
    let mut chain = vec![0usize; nodes.len()];
    let mut inner = vec![false; nodes.len()];
    for i in 0..nodes.len() {
        let Some([first, _]) = addends(&nodes[i]) else { continue };
        chain[i] = 1;
        if let Cell::Of { node, .. } = first {
            let before = node as usize;
            if chain[before] > 0 && uses[before] == 1 {
                chain[i] += chain[before];
                inner[before] = true;
            }
        }
    }
    for i in 0..nodes.len() {
        if chain[i] < SHORTEST || inner[i] {
            continue;
        }
        let mut terms = Vec::with_capacity(chain[i] + 1);
        let mut signs = Vec::new();
        let mut at = i;
        while let Some([first, second]) = addends(&nodes[at]) {
            terms.push(second);
            signs.push(nodes[at].op == Op::Map(SUB));
            match first {
                Cell::Of { node, .. } if inner[node as usize] && chain[node as usize] + 1 == chain[at] => {
                    at = node as usize;
                }
                first => {
                    terms.push(first);
                    signs.push(false);
                    break;
                }
            }
        }
        // Differences would need their summands negated; those chains are rare.
        if signs.iter().any(|minus| *minus) {
            continue;
        }
        terms.reverse();
        let length = terms.len() as u32;
        nodes[i].op = Op::Sum;
        nodes[i].arguments = vec![(Data::Cells(terms.into()), length)].into();
    }
}

/// Both sides of an addition of numbers.
fn addends(node: &Node) -> Option<[Cell; 2]> {
    match (&node.op, &*node.arguments) {
        (Op::Map(ADD | SUB), [(a, 1), (b, 1)]) if node.length == 1 => Some([a.cell(0), b.cell(0)]),
        _ => None,
    }
}
