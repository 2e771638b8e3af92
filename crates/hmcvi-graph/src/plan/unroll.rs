//! Write loops out, step by step.
//!
//! Equal values are one, so what a derivative computes again of a loop's body is what the loop computed: the program is
//! the one that was written without a loop.

use std::collections::HashMap;

use super::Root;
use super::loops::Loops;
use crate::graph::{Node, NodeId};
use crate::op::{Binary, Op, Unary};
use crate::shape::{Rows, Shape};

/// The same program without loops.
pub(super) fn unrolled(nodes: Vec<Node>, roots: Vec<Root>) -> (Vec<Node>, Vec<Root>) {
    let loops = Loops::of(&nodes);
    if loops.is_empty() {
        return (nodes, roots);
    }
    let mut writer = Writer {
        loops: &loops,
        new_id: vec![NodeId::MAX; nodes.len()],
        nodes: &nodes,
        new: Vec::new(),
        known: HashMap::new(),
        stacks: HashMap::new(),
    };
    for part in 0..=2 * loops.len() {
        if part % 2 == 1 {
            writer.repeat(part / 2);
        } else {
            writer.copy(part);
        }
    }
    let mut new_id = |id: NodeId| writer.value(id);
    let roots = roots.into_iter().map(|root| match root {
        Root::Output { name, node } => Root::Output { name, node: new_id(node) },
        Root::Update { parameter, node } => Root::Update { parameter: new_id(parameter), node: new_id(node) },
    });
    let roots = roots.collect();
    (writer.new, roots)
}

struct Writer<'n> {
    nodes: &'n [Node],
    loops: &'n Loops,
    new: Vec<Node>,
    known: HashMap<Node, NodeId>,
    /// Where nodes are; those of bodies, in the present step.
    new_id: Vec<NodeId>,
    /// Values of all steps that were stacked, in the order of the steps' numbers.
    stacks: HashMap<NodeId, Vec<NodeId>>,
}

impl Writer<'_> {
    fn add(&mut self, op: Op, mut args: Vec<NodeId>, shape: Shape) -> NodeId {
        if matches!(op, Op::Binary(f) if f.is_commutative()) {
            args.sort_unstable();
        }
        let node = Node { op, args, shape };
        if let Some(&known) = self.known.get(&node) {
            return known;
        }
        let id = self.new.len() as NodeId;
        self.new.push(node.clone());
        self.known.insert(node, id);
        id
    }

    fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// Values outside of loops; those that loops leave behind are there already.
    fn copy(&mut self, part: usize) {
        for id in 0..self.nodes.len() as NodeId {
            let is_known = self.new_id[id as usize] != NodeId::MAX || self.stacks.contains_key(&id);
            if self.loops.part(id) != part || is_known {
                continue;
            }
            let Node { op, args, shape } = self.node(id).clone();
            let args = args.into_iter().map(|arg| self.value(arg)).collect();
            self.new_id[id as usize] = self.add(op, args, shape);
        }
    }

    /// A value outside of loops: a stack is put together where it is needed as a whole.
    fn value(&mut self, id: NodeId) -> NodeId {
        if let Some(stacked) =
            self.stacks.get(&id).cloned().filter(|_| self.new_id[id as usize] == NodeId::MAX)
        {
            let shape = self.node(id).shape;
            self.new_id[id as usize] = self.add(Op::ConcatCols, stacked, shape);
        }
        self.new_id[id as usize]
    }

    fn repeat(&mut self, number: usize) {
        let (of, end) = self.loops.all()[number];
        let [start, next] = self.node(end).args[..] else { unreachable!("a loop has a start and a step") };
        let ids = || 0..self.nodes.len() as NodeId;
        let inside = |id: &NodeId| self.loops.body(*id) == Some(number);
        let body: Vec<NodeId> = ids().filter(inside).collect();
        // What is added up or stacked of values of the body.
        let is_result = |id: &NodeId| *id != end && !inside(id) && self.node(*id).args.iter().any(inside);
        let results: Vec<NodeId> = ids().filter(is_result).collect();
        let mut parts: Vec<Vec<NodeId>> = vec![Vec::new(); results.len()];
        let mut carried = self.value(start);
        let steps = of.steps as usize;
        for i in 0..steps {
            let step = if of.backward { steps - 1 - i } else { i };
            for &id in &body {
                self.new_id[id as usize] = self.inside(id, step, carried);
            }
            for (parts, &id) in parts.iter_mut().zip(&results) {
                parts.push(self.part_of_result(id));
            }
            carried = self.value(next);
        }
        self.new_id[end as usize] = carried;
        for (mut parts, id) in parts.into_iter().zip(results) {
            let Node { op, shape, .. } = self.node(id).clone();
            if of.backward && !matches!(op, Op::SumSteps(_) | Op::SumRows | Op::MatMul(_)) {
                parts.reverse();
            }
            match op {
                Op::Stack(_) => drop(self.stacks.insert(id, parts)),
                Op::SumRowsOfSteps(_) => {
                    self.new_id[id as usize] = self.add(Op::ConcatCols, parts, shape);
                }
                _ => {
                    let add = Op::Binary(Binary::Add);
                    let sum = parts.into_iter().reduce(|a, b| self.add(add.clone(), vec![a, b], shape));
                    self.new_id[id as usize] = sum.expect("a loop has steps");
                }
            }
        }
    }

    /// A value of the body in a step.
    fn inside(&mut self, id: NodeId, step: usize, carried: NodeId) -> NodeId {
        let Node { op, args, shape } = self.node(id).clone();
        let first = step * shape.cols;
        match op {
            Op::Carried(_) => carried,
            Op::Held(_) => self.value(args[0]),
            Op::PickCols(_) => match self.stacks.get(&args[0]) {
                Some(stacked) => stacked[step],
                None => {
                    let from = self.value(args[0]);
                    self.add(Op::SliceCols(first), vec![from], shape)
                }
            },
            Op::PickRow(_) => {
                let from = self.value(args[0]);
                let row = Shape { rows: Rows::Fixed(1), cols: shape.cols };
                let picked = self.add(Op::SliceCols(first), vec![from], row);
                self.add(Op::Unary(Unary::Broadcast), vec![picked], shape)
            }
            Op::StepDraw(draw, stream, each, _) => {
                self.add(Op::Draw(draw, stream + step as u16 * each), Vec::new(), shape)
            }
            op => {
                let args = args.into_iter().map(|arg| self.value(arg)).collect();
                self.add(op, args, shape)
            }
        }
    }

    /// What one step adds to a result.
    fn part_of_result(&mut self, id: NodeId) -> NodeId {
        let Node { op, args, shape } = self.node(id).clone();
        match op {
            Op::Stack(_) | Op::SumSteps(_) => self.value(args[0]),
            Op::SumRowsOfSteps(_) => {
                let value = self.value(args[0]);
                let cols = self.new[value as usize].shape.cols;
                self.add(Op::SumRows, vec![value], Shape::fixed(1, cols))
            }
            op => {
                let args = args.into_iter().map(|arg| self.value(arg)).collect();
                self.add(op, args, shape)
            }
        }
    }
}
