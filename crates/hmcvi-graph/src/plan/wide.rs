//! Find wide values that need not be in memory: passes over blocks of columns compute them where they are used.
//!
//! A likelihood of many observations has values with a column for each, but what goes in (variables) and what comes out
//! (sums over columns, products with fixed matrices, sums of segments) is narrow. Such values are computed for a block
//! of columns at a time, used up while the block is in the cache, and computed again where a later pass needs them: a
//! derivative of a force reads variables from memory, not a value for each observation.
//!
//! Wide values that are connected by element-wise operations stand or fall together: if one of them is needed in memory
//! (it is an output, say, or an operand of a sum over rows), all are kept in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Root;
use crate::graph::{Node, NodeId};
use crate::op::{Op, Transpose, WideArg, WideNode, WidePass, WideResult};
use crate::rowwise::RowOp;
use crate::shape::Shape;

/// Columns from which on a value is wide: with fewer, the values of a tile fit the caches.
const WIDE: usize = 1024;

/// The same program with passes in the place of wide values, if there are any.
pub(super) fn gather(nodes: Vec<Node>, roots: Vec<Root>) -> (Vec<Node>, Vec<Root>) {
    let passing = passing(&nodes, &roots);
    if !passing.contains(&true) {
        return (nodes, roots);
    }
    Rewrite::new(&nodes, passing).run(roots)
}

/// What an operation is to wide values.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    /// Makes a wide value of narrow ones in memory.
    Spreads,
    /// Works on wide values, column by column.
    Element,
    Other,
}

fn part(nodes: &[Node], node: &Node) -> Part {
    let is_wide = node.shape.is_batch() && node.shape.cols >= WIDE;
    match node.op {
        Op::MatMul(Transpose::None | Transpose::Right) | Op::Rowwise(RowOp::Gather(_)) if is_wide => {
            Part::Spreads
        }
        Op::Unary(_) | Op::Binary(_) | Op::Select if is_wide => {
            let fits =
                |arg: &NodeId| nodes[*arg as usize].shape.cols == 1 || is_row_or_wide(nodes, node, *arg);
            if node.args.iter().all(fits) { Part::Element } else { Part::Other }
        }
        _ => Part::Other,
    }
}

fn is_row_or_wide(nodes: &[Node], node: &Node, arg: NodeId) -> bool {
    let shape = nodes[arg as usize].shape;
    shape == node.shape || shape == Shape::fixed(1, node.shape.cols)
}

/// Whether an operation makes narrow values of its wide first argument, adding up over columns.
fn collects(op: &Op) -> bool {
    let product = matches!(op, Op::MatMul(Transpose::None | Transpose::Right));
    product || matches!(op, Op::SumCols | Op::Rowwise(RowOp::SegmentSum(_)))
}

/// Which values passes compute.
fn passing(nodes: &[Node], roots: &[Root]) -> Vec<bool> {
    let parts: Vec<Part> = nodes.iter().map(|node| part(nodes, node)).collect();
    let mut sets = Sets::new(nodes.len());
    let mut in_memory = vec![false; nodes.len()];
    for root in roots {
        let (Root::Output { node, .. } | Root::Update { node, .. }) = root;
        in_memory[*node as usize] = true;
    }
    for (id, node) in nodes.iter().enumerate() {
        for (i, &arg) in node.args.iter().enumerate().filter(|(_, arg)| parts[**arg as usize] != Part::Other)
        {
            let is_alike = parts[id] == Part::Element && nodes[arg as usize].shape == node.shape;
            if is_alike {
                sets.join(id, arg as usize);
            } else if i > 0 || !collects(&node.op) {
                in_memory[arg as usize] = true;
            }
        }
        // What is wide, but not of this kind, is read from memory, and so are all that go with it.
        let other = |arg: &&NodeId| parts[**arg as usize] == Part::Other;
        let wide = |arg: &NodeId| nodes[*arg as usize].shape == node.shape;
        in_memory[id] |= match parts[id] {
            Part::Element => node.args.iter().filter(other).any(wide),
            Part::Spreads => parts[node.args[0] as usize] != Part::Other,
            Part::Other => false,
        };
    }
    for id in 0..nodes.len() {
        let set = sets.find(id);
        in_memory[set] |= in_memory[id];
    }
    (0..nodes.len()).map(|id| parts[id] != Part::Other && !in_memory[sets.find(id)]).collect()
}

/// Sets of nodes that are joined one by one.
struct Sets(Vec<usize>);

impl Sets {
    fn new(count: usize) -> Self {
        Sets((0..count).collect())
    }

    fn find(&mut self, mut id: usize) -> usize {
        while self.0[id] != id {
            self.0[id] = self.0[self.0[id]];
            id = self.0[id];
        }
        id
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b);
    }
}

/// Which results come from one pass: those with the same passes and sums over rows before them.
type PassKey = (usize, usize, usize);

struct Rewrite<'n> {
    nodes: &'n [Node],
    passing: Vec<bool>,
    new: Vec<Node>,
    new_id: Vec<NodeId>,
    /// Where a node is in the pass that is being written, by the number of the pass.
    inner: Vec<(usize, WideArg)>,
}

impl<'n> Rewrite<'n> {
    fn new(nodes: &'n [Node], passing: Vec<bool>) -> Self {
        let new_id = vec![NodeId::MAX; nodes.len()];
        let inner = vec![(usize::MAX, WideArg::Outer(0)); nodes.len()];
        Rewrite { nodes, passing, new: Vec::new(), new_id, inner }
    }

    fn is_result(&self, id: usize) -> bool {
        let node = &self.nodes[id];
        collects(&node.op) && !self.passing[id] && self.passing[node.args[0] as usize]
    }

    /// Passes and other nodes in an order in which each comes after what it needs: by the number of passes and sums
    /// over rows that come before.
    fn run(mut self, roots: Vec<Root>) -> (Vec<Node>, Vec<Root>) {
        let mut depth: Vec<(usize, usize)> = Vec::with_capacity(self.nodes.len());
        let mut passes: BTreeMap<PassKey, Vec<usize>> = BTreeMap::new();
        let mut others: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (id, node) in self.nodes.iter().enumerate() {
            let of = |f: fn(&(usize, usize)) -> usize| node.args.iter().map(|a| f(&depth[*a as usize])).max();
            let (mut all, mut sums) = (of(|d| d.0).unwrap_or(0), of(|d| d.1).unwrap_or(0));
            let over_rows = matches!(node.op, Op::SumRows | Op::MatMul(Transpose::Left));
            if over_rows && self.nodes[node.args[0] as usize].shape.is_batch() {
                (all, sums) = (all + 1, sums + 1);
            }
            if self.is_result(id) {
                all += 1;
                let cols = self.nodes[node.args[0] as usize].shape.cols;
                passes.entry((all, sums, cols)).or_default().push(id);
            } else if !self.passing[id] {
                others.entry(all).or_default().push(id);
            }
            depth.push((all, sums));
        }
        let last = depth.iter().map(|d| d.0).max().unwrap_or(0);
        let mut passes = passes.into_iter().enumerate().peekable();
        for depth in 0..=last {
            while let Some((number, (key, results))) = passes.next_if(|(_, (key, _))| key.0 == depth) {
                self.pass(number, key.2, &results);
            }
            others.remove(&depth).unwrap_or_default().into_iter().for_each(|id| self.copy(id));
        }
        let new_id = |id: NodeId| self.new_id[id as usize];
        let roots = roots.into_iter().map(|root| match root {
            Root::Output { name, node } => Root::Output { name, node: new_id(node) },
            Root::Update { parameter, node } => {
                Root::Update { parameter: new_id(parameter), node: new_id(node) }
            }
        });
        (self.new, roots.collect())
    }

    fn copy(&mut self, id: usize) {
        let node = &self.nodes[id];
        let args = node.args.iter().map(|&arg| self.new_id[arg as usize]).collect();
        self.add(id, Node { op: node.op.clone(), args, shape: node.shape });
    }

    fn add(&mut self, id: usize, node: Node) {
        self.new_id[id] = self.new.len() as NodeId;
        self.new.push(node);
    }

    /// Writes a pass, and each result as columns of what it gives.
    fn pass(&mut self, number: usize, cols: usize, results: &[usize]) {
        let mut pass = WidePass { cols, nodes: Vec::new(), results: Vec::new() };
        let mut args = Vec::new();
        let firsts = results.iter().map(|id| self.nodes[*id].args[0]);
        for id in self.needed(number, firsts.collect()) {
            let node = &self.nodes[id as usize];
            let inside =
                node.args.iter().map(|&arg| self.argument(number, arg, &mut pass, &mut args)).collect();
            pass.nodes.push(WideNode { op: node.op.clone(), args: inside });
            self.inner[id as usize] = (number, WideArg::Inner(pass.nodes.len() - 1));
        }
        let mut total = 0;
        for &id in results {
            let node = &self.nodes[id];
            let mut inside = node.args.iter().map(|&arg| self.argument(number, arg, &mut pass, &mut args));
            let (of, operand) = (inside.next(), inside.next());
            let Some(WideArg::Inner(of)) = of else { unreachable!("results are of values of the pass") };
            pass.results.push(WideResult {
                op: node.op.clone(),
                of,
                operand,
                first: total,
                cols: node.shape.cols,
            });
            total += node.shape.cols;
        }
        let place = self.new.len() as NodeId;
        let firsts: Vec<usize> = pass.results.iter().map(|result| result.first).collect();
        self.new.push(Node { op: Op::Wide(Arc::new(pass)), args, shape: Shape::batch(total) });
        for (&id, first) in results.iter().zip(firsts) {
            if results.len() == 1 {
                self.new_id[id] = place;
            } else {
                let (op, shape) = (Op::SliceCols(first), self.nodes[id].shape);
                self.add(id, Node { op, args: vec![place], shape });
            }
        }
    }

    /// Values of a pass that some of them need, in order.
    fn needed(&mut self, number: usize, mut todo: Vec<NodeId>) -> Vec<NodeId> {
        let mut needed = Vec::new();
        while let Some(id) = todo.pop() {
            let seen = &mut self.inner[id as usize];
            if self.passing[id as usize] && seen.0 != number {
                seen.0 = number;
                needed.push(id);
                todo.extend(&self.nodes[id as usize].args);
            }
        }
        needed.sort_unstable();
        needed
    }

    /// An argument inside a pass: another value of it, a number, or an argument of the pass.
    fn argument(
        &mut self,
        number: usize,
        id: NodeId,
        pass: &mut WidePass,
        args: &mut Vec<NodeId>,
    ) -> WideArg {
        let (seen, known) = self.inner[id as usize];
        if seen == number {
            return known;
        }
        let node = &self.nodes[id as usize];
        let arg = if matches!(node.op, Op::Scalar(_) | Op::BatchSize) {
            pass.nodes.push(WideNode { op: node.op.clone(), args: Vec::new() });
            WideArg::Inner(pass.nodes.len() - 1)
        } else {
            args.push(self.new_id[id as usize]);
            WideArg::Outer(args.len() - 1)
        };
        self.inner[id as usize] = (number, arg);
        arg
    }
}
