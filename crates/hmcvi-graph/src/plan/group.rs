//! Write the instructions of one group of element-wise operations.

use std::collections::HashMap;

use super::emit::Emitter;
use super::fuse::{Fusion, Key, Members};
use super::{Group, Instruction, Sink, Source, Value, View};
use crate::graph::{Node, NodeId};
use crate::op::{Op, Unary};
use crate::shape::Shape;

/// Writes the instructions of one group.
pub(super) struct GroupBuilder<'e, 'a> {
    emitter: &'e mut Emitter<'a>,
    fusion: &'e Fusion,
    members: &'e Members<'e>,
    key: Key,
    shape: Shape,
    sources: Vec<Source>,
    instructions: Vec<Instruction>,
    known: HashMap<NodeId, Value>,
}

/// Results of instructions are numbered from here on while the sources are still being found.
const RESULT: Value = usize::MAX / 2;

impl<'e, 'a> GroupBuilder<'e, 'a> {
    pub(super) fn new(
        emitter: &'e mut Emitter<'a>,
        fusion: &'e Fusion,
        members: &'e Members<'e>,
        key: Key,
        shape: Shape,
    ) -> Self {
        let (sources, instructions, known) = (Vec::new(), Vec::new(), HashMap::new());
        GroupBuilder { emitter, fusion, members, key, shape, sources, instructions, known }
    }

    pub(super) fn build(mut self, wanted: Vec<(NodeId, Sink)>) -> Group {
        let mut sinks: Vec<Sink> = wanted
            .into_iter()
            .map(|(id, sink)| {
                let v = self.value(id);
                match sink {
                    Sink::Store(_, view) => Sink::Store(v, view),
                    Sink::SumCols(_, view) => Sink::SumCols(v, view),
                    Sink::SumRows(_, view) => Sink::SumRows(v, view),
                    Sink::LogSumExp(_, view) => Sink::LogSumExp(v, view),
                    Sink::Accumulate { into, negative, .. } => Sink::Accumulate { value: v, into, negative },
                }
            })
            .collect();
        let count = self.sources.len();
        let number = |v: &mut Value| {
            if *v >= RESULT {
                *v = *v - RESULT + count;
            }
        };
        for instruction in &mut self.instructions {
            match instruction {
                Instruction::Unary(_, a) => number(a),
                Instruction::Binary(_, a, b) => [a, b].into_iter().for_each(number),
                Instruction::Select(a, b, c) => [a, b, c].into_iter().for_each(number),
            }
        }
        for sink in &mut sinks {
            match sink {
                Sink::Store(v, _) | Sink::SumCols(v, _) | Sink::LogSumExp(v, _) | Sink::SumRows(v, _) => {
                    number(v)
                }
                Sink::Accumulate { value, .. } => number(value),
            }
        }
        Group { shape: self.shape, sources: self.sources, instructions: self.instructions, sinks }
    }

    /// The value of a node in this group: computed here after its arguments, or read. Chains of operations may be
    /// longer than the stack is deep, so what is still to be done is kept in a list.
    fn value(&mut self, id: NodeId) -> Value {
        // Each with the number of its arguments that were looked at.
        let mut todo = vec![(id, 0)];
        while let Some((id, done)) = todo.pop() {
            if done == 0 && self.known.contains_key(&id) {
                continue;
            }
            let node = self.emitter.node(id);
            let is_given = self.members.sums.contains(&id) || matches!(node.op, Op::PickRow(_));
            let value = if !self.is_here(id, node) {
                self.read(id)
            } else if let Some(&arg) = node.args.get(done).filter(|_| !is_given) {
                todo.extend([(id, done + 1), (arg, 0)]);
                continue;
            } else {
                self.compute(id, node)
            };
            self.known.insert(id, value);
        }
        self.known[&id]
    }

    fn is_here(&self, id: NodeId, node: &Node) -> bool {
        self.fusion.is_elementwise_member(id)
            && node.shape == self.shape
            && (!self.fusion.kept.contains(&id) || self.fusion.home(id, node.shape) == self.key)
    }

    /// Computes a value of known arguments.
    fn compute(&mut self, id: NodeId, node: &Node) -> Value {
        if self.members.sums.contains(&id) {
            return self.source(Source::Target(self.emitter.analysis.target[&id]));
        }
        if let Op::PickRow(_) = node.op {
            let view = View { step: node.shape.cols, ..self.emitter.view(node.args[0]) };
            return self.source(if node.shape.cols == 1 { Source::One(view) } else { Source::Row(view) });
        }
        let args: Vec<Value> = node.args.iter().map(|a| self.known[a]).collect();
        let instruction = match (&node.op, &args[..]) {
            // Reading repeats the argument already.
            (Op::Unary(Unary::Broadcast), &[a]) => return a,
            (Op::Unary(f), &[a]) => Instruction::Unary(*f, a),
            (Op::Binary(f), &[a, b]) => Instruction::Binary(*f, a, b),
            (Op::Select, &[c, a, b]) => Instruction::Select(c, a, b),
            (Op::Draw(draw, stream), _) => return self.source(Source::Draw(*draw, *stream)),
            (Op::StepDraw(draw, first, each, _), _) => {
                return self.source(Source::StepDraw(*draw, *first, *each));
            }
            (Op::Gather { data, index, kind }, _) => {
                let leaves = &mut self.emitter.leaves;
                let (data, index) = leaves.gathered(data, index, node.shape.cols, *kind);
                return self.source(Source::Gather { data, index });
            }
            (other, _) => unreachable!("{} is not element-wise", other.name()),
        };
        self.instructions.push(instruction);
        RESULT + self.instructions.len() - 1
    }

    fn read(&mut self, id: NodeId) -> Value {
        let node = self.emitter.node(id);
        let source = match node.op {
            Op::Scalar(bits) => Source::Literal(f64::from_bits(bits)),
            Op::BatchSize => Source::BatchSize,
            _ => {
                let view = self.emitter.view(id);
                let one_row = !node.shape.is_batch() && node.shape.fixed_rows() == 1;
                match (one_row, node.shape.cols == 1) {
                    _ if node.shape == self.shape => Source::Full(view),
                    (true, true) => Source::One(view),
                    (true, false) => Source::Row(view),
                    _ => Source::Column(view),
                }
            }
        };
        self.source(source)
    }

    fn source(&mut self, source: Source) -> Value {
        self.sources.push(source);
        self.sources.len() - 1
    }
}
