//! Keep the constants that a program needs, and find what depends on them alone.

use std::collections::HashMap;
use std::sync::Arc;

use crate::graph::{Node, NodeId};
use crate::op::Op;

/// The constants that nodes need, which are renumbered.
pub(super) fn needed(nodes: &mut [Node], constants: &[Arc<[f64]>]) -> Vec<Arc<[f64]>> {
    let (mut places, mut needed) = (HashMap::new(), Vec::new());
    for node in nodes {
        if let Op::Constant(place) = &mut node.op {
            *place = *places.entry(*place).or_insert_with(|| {
                needed.push(constants[*place].clone());
                needed.len() - 1
            });
        }
    }
    needed
}

/// Which values are computed from constants alone.
pub(super) fn computed(nodes: &[Node]) -> Vec<bool> {
    let mut constant: Vec<bool> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let known = |arg: &NodeId| {
            let op = &nodes[*arg as usize].op;
            constant[*arg as usize] || matches!(op, Op::Scalar(_) | Op::Constant(_))
        };
        let is_constant = !node.shape.is_batch() && !node.args.is_empty() && node.args.iter().all(known);
        constant.push(is_constant);
    }
    constant
}
