//! Write the steps of each stage.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::fuse::{self, FINAL, Fusion, Key, Members};
use super::group::GroupBuilder;
use super::order::{Placed, waves};
use super::stages::{Analysis, Summand};
use super::{Base, Block, Named, Pack, Root, Rowwise, Sink, Step, Term, View};
use crate::data::{DataKind, Gathered};
use crate::graph::{Node, NodeId};
use crate::op::{Op, Transpose};
use crate::rowwise::RowOp;
use crate::shape::Shape;

/// Terms of a sum of products that are multiplied together: enough that the target is read and
/// written seldom, few enough that their operands need not be kept for long.
const TERMS_TOGETHER: usize = 4;

/// Names of everything that is given to a program or returned by it.
#[derive(Default)]
pub(super) struct Leaves {
    pub(super) inputs: Vec<Named>,
    pub(super) parameters: Vec<Named>,
    pub(super) data: Vec<Gathered>,
    pub(super) indices: Vec<Arc<str>>,
    pub(super) outputs: Vec<Named>,
}

impl Leaves {
    /// Places of a data set and of its index.
    pub(super) fn gathered(
        &mut self,
        name: &Arc<str>,
        index: &Arc<str>,
        cols: usize,
        kind: DataKind,
    ) -> (usize, usize) {
        if let Some(known) = self.data.iter().position(|d| d.name == *name) {
            return (known, self.data[known].index);
        }
        let known = self.indices.iter().position(|n| n == index);
        let index = known.unwrap_or_else(|| {
            self.indices.push(index.clone());
            self.indices.len() - 1
        });
        self.data.push(Gathered { name: name.clone(), cols, kind, index });
        (self.data.len() - 1, index)
    }
}

pub(super) struct Emitter<'a> {
    pub(super) analysis: &'a Analysis,
    roots: &'a [Root],
    pub(super) leaves: Leaves,
    /// Where values are: those of the fixed stages, and those of the present row stage.
    views: HashMap<NodeId, View>,
    pub(super) tile_views: HashMap<NodeId, View>,
    /// Sizes of the buffers: values of fixed ones, columns of those in tiles.
    pub(super) fixed_buffers: Vec<usize>,
    tile_buffers: Vec<usize>,
    pub(super) packs: Vec<Pack>,
    pub(super) pack_of: HashMap<(NodeId, bool), usize>,
    /// Targets and rows of them that the present row stage has sums for.
    pub(super) summed: HashSet<(usize, usize)>,
}

/// Finds a name in a list, adding it if it is new.
fn place(list: &mut Vec<Named>, name: &Arc<str>, shape: Shape) -> usize {
    list.iter().position(|n| n.name == *name).unwrap_or_else(|| {
        list.push(Named::new(name, shape));
        list.len() - 1
    })
}

impl<'a> Emitter<'a> {
    pub(super) fn new(analysis: &'a Analysis, roots: &'a [Root]) -> Self {
        let mut leaves = Leaves::default();
        for root in roots {
            if let Root::Output { name, node } = root {
                let shape = analysis.nodes[*node as usize].shape;
                leaves.outputs.push(Named { name: name.as_str().into(), shape });
            }
        }
        Emitter {
            analysis,
            roots,
            leaves,
            views: HashMap::new(),
            tile_views: HashMap::new(),
            fixed_buffers: Vec::new(),
            tile_buffers: Vec::new(),
            packs: Vec::new(),
            pack_of: HashMap::new(),
            summed: HashSet::new(),
        }
    }

    pub(super) fn take_tile_buffers(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.tile_buffers)
    }

    /// Whether a target must be set to zero first: its summands do not overwrite each of its rows
    /// exactly once.
    pub(super) fn clears(&self, target: usize) -> bool {
        let (id, summands) = &self.analysis.targets[target];
        let mut extents: Vec<(usize, usize)> = summands.iter().map(|s| (s.row, s.rows)).collect();
        extents.sort_unstable();
        extents.dedup();
        let mut next = 0;
        let gapless = extents.iter().all(|&(row, rows)| {
            let fits = row == next;
            next = row + rows;
            fits
        });
        let of_steps = summands.iter().any(|s| s.step > 0);
        of_steps || !gapless || next != self.shape(*id).fixed_rows()
    }

    /// Targets that the row stage of a level must set to zero first.
    pub(super) fn clears_at(&self, level: usize) -> Vec<usize> {
        let is_here = |t: &usize| self.analysis.level[self.analysis.targets[*t].0 as usize] == level + 1;
        (0..self.analysis.targets.len()).filter(|t| is_here(t) && self.clears(*t)).collect()
    }

    /// Steps on constants alone, in waves.
    pub(super) fn constant_stage(&mut self) -> Vec<Vec<Step>> {
        let analysis = self.analysis;
        let is_member = |id: &NodeId| analysis.constant[*id as usize];
        let members: Vec<NodeId> = (0..analysis.nodes.len() as NodeId).filter(is_member).collect();
        if members.is_empty() {
            return Vec::new();
        }
        let others = analysis.nodes.iter().zip(&analysis.constant).filter(|(_, constant)| !**constant);
        let roots = self.roots.iter().map(|root| match root {
            Root::Output { node, .. } | Root::Update { node, .. } => *node,
        });
        let used = others.flat_map(|(node, _)| node.args.iter().copied()).chain(roots);
        let kept = used.filter(is_member).collect();
        let (sums, copied) = (HashSet::new(), HashSet::new());
        let stage = Members { nodes: &analysis.nodes, members, sums, kept, after: &analysis.after, copied };
        let steps = self.steps(&stage, &[], &[]);
        waves(steps, Vec::new())
    }

    /// Steps on fixed values that need the sums over rows of `level` row stages, in waves.
    pub(super) fn fixed_stage(&mut self, level: usize, last: bool) -> Vec<Vec<Step>> {
        let analysis = self.analysis;
        let is_member = |id: NodeId| analysis.is_fixed_member(id) && analysis.level[id as usize] == level;
        let ids = || 0..analysis.nodes.len() as NodeId;
        let members: Vec<NodeId> = ids().filter(|id| is_member(*id)).collect();
        let mut kept = HashSet::new();
        for id in ids().filter(|id| !analysis.merged[*id as usize] && !analysis.target.contains_key(id)) {
            let node = &analysis.nodes[id as usize];
            if node.shape.is_batch() || analysis.level[id as usize] > level {
                kept.extend(node.args.iter().copied().filter(|a| is_member(*a)));
            }
        }
        let finals = self.finals(|shape| !shape.is_batch());
        if !last {
            kept.extend(finals.iter().map(|(id, _)| *id).filter(|id| is_member(*id)));
        }
        let finals = if last { finals } else { Vec::new() };
        if members.is_empty() && finals.is_empty() {
            return Vec::new();
        }
        let stage = Members {
            nodes: &analysis.nodes,
            sums: members.iter().copied().filter(|id| analysis.target.contains_key(id)).collect(),
            copied: finals.iter().map(|(id, _)| *id).filter(|id| is_member(*id)).collect(),
            members,
            kept,
            after: &analysis.after,
        };
        let mut steps = self.steps(&stage, &finals, &[]);
        let copies = self.defer_updates(&mut steps);
        waves(steps, copies)
    }

    /// Wanted values of some shapes, with the memory they go to.
    pub(super) fn finals(&mut self, wanted: impl Fn(Shape) -> bool) -> Vec<(NodeId, View)> {
        let mut finals = Vec::new();
        let mut output = 0;
        for root in self.roots {
            let (node, base) = match root {
                Root::Output { node, .. } => {
                    output += 1;
                    (*node, Base::Output(output - 1))
                }
                Root::Update { parameter, node } => {
                    let Op::Parameter(name) = &self.node(*parameter).op else {
                        unreachable!("updates were checked to have parameters as targets")
                    };
                    let shape = self.shape(*parameter);
                    (*node, Base::Parameter(place(&mut self.leaves.parameters, name, shape)))
                }
            };
            let shape = self.shape(node);
            if wanted(shape) {
                finals.push((node, View { base, offset: 0, stride: shape.cols, step: 0 }));
            }
        }
        finals
    }

    pub(super) fn node(&self, id: NodeId) -> &'a Node {
        &self.analysis.nodes[id as usize]
    }

    pub(super) fn shape(&self, id: NodeId) -> Shape {
        self.node(id).shape
    }

    /// A new buffer for a value.
    pub(super) fn buffer(&mut self, shape: Shape) -> View {
        let (buffers, size, base): (_, _, fn(usize) -> Base) = if shape.is_batch() {
            (&mut self.tile_buffers, shape.cols, Base::Tile)
        } else {
            (&mut self.fixed_buffers, shape.elements(), Base::Fixed)
        };
        buffers.push(size);
        View { base: base(buffers.len() - 1), offset: 0, stride: shape.cols, step: 0 }
    }

    /// Where a value is in memory.
    pub(super) fn view(&mut self, id: NodeId) -> View {
        let node = self.node(id);
        let at = |base| View { base, offset: 0, stride: node.shape.cols, step: 0 };
        match &node.op {
            Op::Input(name) => at(Base::Input(place(&mut self.leaves.inputs, name, node.shape))),
            Op::Parameter(name) => at(Base::Parameter(place(&mut self.leaves.parameters, name, node.shape))),
            Op::Constant(i) => at(Base::Constant(*i)),
            _ => {
                let views = if node.shape.is_batch() { &self.tile_views } else { &self.views };
                views[&id]
            }
        }
    }

    /// The steps of a stage in order, before they are cut into waves.
    pub(super) fn steps(
        &mut self,
        stage: &Members<'_>,
        finals: &[(NodeId, View)],
        sums: &[(usize, Summand)],
    ) -> Vec<Placed> {
        let fusion = fuse::fuse(stage);
        let mut steps: Vec<Placed> = Vec::new();
        let mut sinks: BTreeMap<Key, (Shape, Vec<(NodeId, Sink)>)> = BTreeMap::new();
        let mut add = |key: Key, shape: Shape, id: NodeId, sink: Sink| {
            sinks.entry(key).or_insert_with(|| (shape, Vec::new())).1.push((id, sink));
        };
        for &id in &stage.members {
            let node = self.node(id);
            if fusion.is_elementwise_member(id) {
                if fusion.kept.contains(&id) {
                    let view = self.keep(id);
                    add(fusion.home(id, node.shape), node.shape, id, Sink::Store(0, view));
                }
                continue;
            }
            let slot = fusion.slot[&id];
            let part = |shape| Key::new(slot, 0, shape);
            match &node.op {
                Op::SliceCols(_) | Op::SliceRows(_) => {
                    let base = self.view(node.args[0]);
                    let offset = match node.op {
                        Op::SliceCols(start) => start,
                        Op::SliceRows(start) => start * base.stride,
                        _ => 0,
                    };
                    self.set_view(id, View { offset: base.offset + offset, ..base });
                }
                Op::PickCols(_) => {
                    let from = self.view(node.args[0]);
                    self.set_view(id, View { step: node.shape.cols, ..from });
                }
                Op::Held(_) => {
                    let from = self.view(node.args[0]);
                    self.set_view(id, from);
                }
                Op::ConcatCols | Op::ConcatRows => {
                    let mut view = self.keep(id);
                    for &arg in &node.args {
                        let shape = self.shape(arg);
                        add(part(shape), shape, arg, Sink::Store(0, view));
                        let cols = node.op == Op::ConcatCols;
                        view.offset += if cols { shape.cols } else { shape.elements() };
                    }
                }
                Op::SumCols | Op::SumRows | Op::LogSumExp => {
                    let (arg, view) = (node.args[0], self.keep(id));
                    let sink = match node.op {
                        Op::SumCols => Sink::SumCols(0, view),
                        Op::SumRows => Sink::SumRows(0, view),
                        _ => Sink::LogSumExp(0, view),
                    };
                    add(part(self.shape(arg)), self.shape(arg), arg, sink);
                }
                Op::MatMul(transpose) => {
                    let step = self.product(id, *transpose);
                    steps.push(((part(Shape::SCALAR), 0), step));
                }
                Op::Rowwise(op) => {
                    let step = self.rowwise(id, op);
                    steps.push(((part(Shape::SCALAR), 0), step));
                }
                Op::Wide(pass) => {
                    let step = self.wide(id, pass);
                    steps.push(((part(Shape::SCALAR), 0), step));
                }
                other => unreachable!("{} is neither element-wise nor heavy", other.name()),
            }
        }
        for &(id, view) in finals {
            let shape = self.shape(id);
            add(Key::new(FINAL, 0, shape), shape, id, Sink::Store(0, view));
        }
        for &(target, sum) in sums.iter().filter(|(_, s)| s.b.is_none()) {
            let shape = self.shape(sum.a);
            let into = Block { target, row: sum.row, rows: sum.rows, first: false, step: sum.step };
            let sink = Sink::Accumulate { value: 0, into, negative: sum.negative };
            add(fusion.home(sum.a, shape), shape, sum.a, sink);
        }
        for (key, (shape, sinks)) in sinks {
            let group = GroupBuilder::new(self, &fusion, stage, key, shape).build(sinks);
            steps.push(((key, 1), Step::Group(group)));
        }
        steps.extend(self.accumulations(&fusion, sums));
        steps.sort_by_key(|(key, _)| *key);
        self.mark_first(&mut steps);
        steps
    }

    /// Gives a value a buffer.
    pub(super) fn keep(&mut self, id: NodeId) -> View {
        let view = self.buffer(self.shape(id));
        self.set_view(id, view);
        view
    }

    pub(super) fn set_view(&mut self, id: NodeId, view: View) {
        let batch = self.shape(id).is_batch();
        let views = if batch { &mut self.tile_views } else { &mut self.views };
        views.insert(id, view);
    }

    fn product(&mut self, id: NodeId, transpose: Transpose) -> Step {
        let [a, b] = self.node(id).args[..] else { unreachable!("a product has two arguments") };
        let views = (self.view(a), self.view(b));
        let out = self.keep(id);
        if self.shape(a).is_batch() {
            let pack = self.pack(b, transpose == Transpose::Right);
            return Step::Product { a: views.0, pack, out };
        }
        let size = |id: NodeId| [self.shape(id).fixed_rows(), self.shape(id).cols];
        Step::FixedProduct { transpose, a: (views.0, size(a)), b: (views.1, size(b)), out }
    }

    fn rowwise(&mut self, id: NodeId, op: &RowOp) -> Step {
        let node = self.node(id);
        let args = node.args.iter().map(|&arg| {
            let (view, shape) = (self.view(arg), self.shape(arg));
            let repeats = shape.rows != node.shape.rows;
            (View { stride: if repeats { 0 } else { view.stride }, ..view }, shape.cols)
        });
        let args = args.collect();
        let out = (self.keep(id), node.shape.cols);
        Step::Rowwise(Rowwise { op: op.clone(), rows: node.shape.rows, args, out })
    }

    pub(super) fn pack(&mut self, id: NodeId, transposed: bool) -> usize {
        if let Some(&known) = self.pack_of.get(&(id, transposed)) {
            return known;
        }
        let (view, shape) = (self.view(id), self.shape(id));
        let (depth, cols) = match transposed {
            false => (shape.fixed_rows(), shape.cols),
            true => (shape.cols, shape.fixed_rows()),
        };
        self.packs.push(Pack { view, transposed, depth, cols });
        self.pack_of.insert((id, transposed), self.packs.len() - 1);
        self.packs.len() - 1
    }

    /// Sums of products, a few terms at a time as soon as their operands are there.
    fn accumulations(&mut self, fusion: &Fusion, sums: &[(usize, Summand)]) -> Vec<Placed> {
        let mut blocks: BTreeMap<(usize, usize, usize), Vec<(Key, Term)>> = BTreeMap::new();
        for (target, sum) in sums {
            let Some(b) = sum.b else { continue };
            let ready = [sum.a, b].map(|id| fusion.home(id, self.shape(id)));
            let term = Term { a: self.view(sum.a), b: self.view(b), negative: sum.negative };
            let at = ready[0].max(ready[1]);
            blocks.entry((*target, sum.row, sum.rows)).or_default().push((at, term));
        }
        let mut steps = Vec::new();
        for ((target, row, rows), mut terms) in blocks {
            terms.sort_by_key(|(key, _)| *key);
            let cols = self.shape(self.analysis.targets[target].0).cols;
            for chunk in terms.chunks(TERMS_TOGETHER) {
                let last = chunk[chunk.len() - 1].0;
                let terms = chunk.iter().map(|(_, term)| *term).collect();
                let into = Block { target, row, rows, first: false, step: 0 };
                steps.push(((last, 2), Step::Accumulate { into, cols, terms }));
            }
        }
        steps
    }
}
