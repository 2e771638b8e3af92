//! Write the steps of a pass over wide values for one block of columns.

use std::collections::HashMap;

use super::emit::Emitter;
use super::{Group, Instruction, Sink, Source, Step, Value, View};
use crate::graph::NodeId;
use crate::op::{Op, Transpose, Unary, WideArg, WidePass, WideResult};
use crate::rowwise::{Columns, RowOp};
use crate::shape::Shape;

/// Columns of a block: whole panels of packed operands, few enough that the blocks of a tile stay in the second-level
/// cache, and enough that a step has something to do. Results are rounded differently for different values.
const BLOCK: usize = 256;

/// Values of many columns, computed for one block of columns after the other, and sums over all of them.
#[derive(Clone)]
pub(crate) struct Wide {
    pub(crate) cols: usize,
    /// Columns of a block.
    pub(crate) block: usize,
    /// What is done for a block, and for the last one where it is shorter.
    pub(crate) whole: Vec<WideStep>,
    pub(crate) rest: Vec<WideStep>,
    /// What is read, and what is written: the results and the memory of a block.
    pub(crate) reads: Vec<View>,
    pub(crate) writes: Vec<View>,
}

/// A step for a block of columns. Views of blocks have a column for each of its columns; rows and lists of columns are
/// those of all columns and are read from the block's first one on.
#[derive(Clone)]
pub(crate) enum WideStep {
    /// `out = a · pack`, of the block's columns of the pack.
    Spread {
        a: View,
        pack: usize,
        out: View,
    },
    /// Columns of `from`, with so many columns, by the block's part of a list.
    Gather {
        from: (View, usize),
        list: Columns,
        out: View,
    },
    Group(Group),
    /// Adds `a · pack` to `out`, of the block's rows of the pack.
    Collect {
        a: View,
        pack: usize,
        out: View,
    },
    /// Adds the columns of `a` to those of `out`, which has so many, by the block's part of a list.
    Segment {
        a: View,
        list: Columns,
        out: (View, usize),
    },
}

impl Wide {
    /// The steps for a whole block or the last one, for each block.
    pub(crate) fn parts(&self) -> [&[WideStep]; 2] {
        [&self.whole, &self.rest]
    }
}

impl Emitter<'_> {
    /// The step of a pass, and the place of its results.
    pub(super) fn wide(&mut self, id: NodeId, pass: &WidePass) -> Step {
        let args = self.node(id).args.clone();
        let out = self.keep(id);
        let block = BLOCK.min(pass.cols);
        let mut writer = Writer {
            emitter: self,
            pass,
            args: &args,
            out,
            cols: block,
            blocks: Vec::new(),
            reads: Vec::new(),
        };
        let whole = writer.steps();
        let (mut writes, reads) = (writer.blocks.clone(), writer.reads.clone());
        let rest = match pass.cols % block {
            0 => Vec::new(),
            cols => {
                writer.cols = cols;
                writer.steps()
            }
        };
        writes.push(out);
        Step::Wide(Wide { cols: pass.cols, block, whole, rest, reads, writes })
    }
}

/// Writes the steps for blocks of some number of columns.
struct Writer<'w, 'e, 'a> {
    emitter: &'e mut Emitter<'a>,
    pass: &'w WidePass,
    args: &'w [NodeId],
    out: View,
    cols: usize,
    /// Memory of a block; shorter blocks use the same.
    blocks: Vec<View>,
    reads: Vec<View>,
}

/// Where the values of a pass are.
#[derive(Default)]
struct Places {
    /// What is in the memory of a block.
    stored: HashMap<usize, View>,
    /// Values of the group.
    values: HashMap<WideArg, Value>,
    sources: Vec<Source>,
    instructions: Vec<Instruction>,
    sinks: Vec<Sink>,
}

impl Writer<'_, '_, '_> {
    fn steps(&mut self) -> Vec<WideStep> {
        let (mut steps, mut places, mut used) = (Vec::new(), Places::default(), 0);
        for (i, node) in self.pass.nodes.iter().enumerate() {
            let Some(WideArg::Outer(first)) = node.args.first().copied() else { continue };
            let first = self.args[first];
            let out = match &node.op {
                Op::MatMul(_) | Op::Rowwise(_) => self.block(&mut used),
                _ => continue,
            };
            steps.push(match &node.op {
                Op::MatMul(transpose) => {
                    let (a, pack) = (self.read(first), self.pack(node.args[1], *transpose));
                    WideStep::Spread { a, pack, out }
                }
                Op::Rowwise(RowOp::Gather(list)) => {
                    let from = (self.read(first), self.emitter.shape(first).cols);
                    WideStep::Gather { from, list: list.clone(), out }
                }
                other => unreachable!("{} makes no wide values", other.name()),
            });
            places.stored.insert(i, out);
        }
        self.group(&mut places);
        let mut collecting = Vec::new();
        for result in &self.pass.results {
            let out = View { offset: self.out.offset + result.first, ..self.out };
            if result.op == Op::SumCols {
                places.sinks.push(Sink::SumCols(places.values[&WideArg::Inner(result.of)], out));
                continue;
            }
            let a = match places.stored.get(&result.of) {
                Some(&stored) => stored,
                None => {
                    let view = self.block(&mut used);
                    places.sinks.push(Sink::Store(places.values[&WideArg::Inner(result.of)], view));
                    places.stored.insert(result.of, view);
                    view
                }
            };
            collecting.push(self.collect(result, a, out));
        }
        if !places.sinks.is_empty() {
            let Places { sources, instructions, sinks, .. } = places;
            let shape = Shape::batch(self.cols);
            steps.push(WideStep::Group(Group { shape, sources, instructions, sinks }));
        }
        steps.extend(collecting);
        steps
    }

    /// The element-wise values, all in one group: sources first.
    fn group(&mut self, places: &mut Places) {
        let pass = self.pass;
        for (i, node) in pass.nodes.iter().enumerate() {
            let source = match (&node.op, places.stored.get(&i)) {
                (Op::Scalar(bits), _) => Source::Literal(f64::from_bits(*bits)),
                (Op::BatchSize, _) => Source::BatchSize,
                (_, Some(&view)) => Source::Full(view),
                _ => continue,
            };
            places.source(WideArg::Inner(i), source);
        }
        let elements = || pass.nodes.iter().enumerate().filter(|(_, node)| node.op.is_elementwise());
        for &arg in elements().flat_map(|(_, node)| &node.args) {
            if let WideArg::Outer(outer) = arg
                && !places.values.contains_key(&arg)
            {
                let id = self.args[outer];
                let (view, shape) = (self.read(id), self.emitter.shape(id));
                places.source(
                    arg,
                    match (shape.is_batch(), shape.cols) {
                        (true, _) => Source::Column(view),
                        (false, 1) => Source::One(view),
                        (false, _) => Source::Row(view),
                    },
                );
            }
        }
        for (i, node) in elements() {
            let args: Vec<Value> = node.args.iter().map(|arg| places.values[arg]).collect();
            let instruction = match (&node.op, &args[..]) {
                (Op::Unary(Unary::Broadcast), &[a]) => {
                    places.values.insert(WideArg::Inner(i), a);
                    continue;
                }
                (Op::Unary(f), &[a]) => Instruction::Unary(*f, a),
                (Op::Binary(f), &[a, b]) => Instruction::Binary(*f, a, b),
                (Op::Select, &[c, a, b]) => Instruction::Select(c, a, b),
                (other, _) => unreachable!("{} is not element-wise", other.name()),
            };
            places.values.insert(WideArg::Inner(i), places.sources.len() + places.instructions.len());
            places.instructions.push(instruction);
        }
    }

    fn collect(&mut self, result: &WideResult, a: View, out: View) -> WideStep {
        match (&result.op, result.operand) {
            (Op::MatMul(transpose), Some(operand)) => {
                WideStep::Collect { a, pack: self.pack(operand, *transpose), out }
            }
            (Op::Rowwise(RowOp::SegmentSum(list)), _) => {
                WideStep::Segment { a, list: list.clone(), out: (out, result.cols) }
            }
            (other, _) => unreachable!("{} does not add up columns", other.name()),
        }
    }

    /// Memory of a block.
    fn block(&mut self, used: &mut usize) -> View {
        if *used == self.blocks.len() {
            let view = self.emitter.buffer(Shape::batch(self.cols));
            self.blocks.push(view);
        }
        *used += 1;
        View { stride: self.cols, ..self.blocks[*used - 1] }
    }

    fn read(&mut self, id: NodeId) -> View {
        let view = self.emitter.view(id);
        self.reads.push(view);
        view
    }

    fn pack(&mut self, operand: WideArg, transpose: Transpose) -> usize {
        let WideArg::Outer(operand) = operand else { unreachable!("right operands are fixed matrices") };
        self.emitter.pack(self.args[operand], transpose == Transpose::Right)
    }
}

impl Places {
    fn source(&mut self, arg: WideArg, source: Source) {
        self.values.insert(arg, self.sources.len());
        self.sources.push(source);
    }
}
