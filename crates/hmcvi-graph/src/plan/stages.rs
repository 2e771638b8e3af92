//! Find what a program needs and cut it into stages: on parameters, on rows, on parameters again.
//!
//! Except for sums over rows, row `i` of every value depends on row `i` of the batch alone. A
//! value's *level* counts the sums over rows that must be finished before it: fixed values of level
//! `k` are computed in fixed stage `k`, rows in row stage `k`. Most programs have one row stage
//! between a prelude and a finish. Rows that a later row stage needs again are computed again.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::buffers;
use super::emit::{self, Emitter};
use super::loops::{self, Loops};
#[cfg(feature = "cuda")]
use super::rows_first;
use super::{For, Named, Plan, Root, RowStage, Stage, Target, again, constants, unroll, wide};
use crate::graph::{Node, NodeId};
use crate::op::{Binary, Op, Unary};
use crate::shape::Shape;

/// A term of a sum over rows: `± Σ_rows a` or `± aᵀb`, at some row of its target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summand {
    pub(super) a: NodeId,
    /// `None` for a plain sum over rows.
    pub(super) b: Option<NodeId>,
    pub(super) negative: bool,
    pub(super) row: usize,
    pub(super) rows: usize,
    /// Rows by which it moves on with every step of a loop.
    pub(super) step: usize,
}

/// The needed nodes, and what stage each belongs to.
pub(super) struct Analysis {
    pub(super) nodes: Vec<Node>,
    pub(super) loops: Loops,
    pub(super) level: Vec<usize>,
    /// Fixed values that are computed from constants alone, once.
    pub(super) constant: Vec<bool>,
    /// For the result of sums over rows: its place in `targets`.
    pub(super) target: HashMap<NodeId, usize>,
    pub(super) targets: Vec<(NodeId, Vec<Summand>)>,
    /// Nodes that exist only as summands of a target.
    pub(super) merged: Vec<bool>,
    /// Values that are to be computed after others, though they do not depend on them.
    pub(super) after: HashMap<NodeId, NodeId>,
    /// Level of the last fixed stage, which comes after all row stages: its updates must not be
    /// seen by any of them.
    pub(super) last: usize,
}

impl Analysis {
    /// Moves fixed values to the last stage that computes them in time for their users, so that
    /// nothing is kept through a row stage that could be computed after it.
    fn postpone(&mut self) {
        let mut latest = vec![self.last; self.nodes.len()];
        for id in (0..self.nodes.len()).rev() {
            if self.is_fixed_member(id as NodeId) && !self.target.contains_key(&(id as NodeId)) {
                self.level[id] = latest[id];
            }
            for &arg in &self.nodes[id].args {
                latest[arg as usize] = latest[arg as usize].min(self.level[id]);
            }
        }
    }

    /// A fixed value that runs compute: neither given nor made once.
    pub(super) fn is_fixed_member(&self, id: NodeId) -> bool {
        let node = &self.nodes[id as usize];
        let is_done = self.merged[id as usize] || self.constant[id as usize] || is_given(&node.op);
        !node.shape.is_batch() && !is_done
    }
}

pub(super) fn is_given(op: &Op) -> bool {
    matches!(op, Op::Input(_) | Op::Parameter(_) | Op::Scalar(_) | Op::Constant(_) | Op::BatchSize)
}

/// Plans a program for some roots.
pub(super) fn plan(nodes: &[Node], constants: &[Arc<[f64]>], roots: &[Root], target: For) -> Plan {
    let (mut nodes, mut roots) = compact(nodes, roots);
    let constants = constants::needed(&mut nodes, constants);
    let is_once = matches!(target, For::Processor | For::ProcessorUnrolled);
    if target != For::Processor {
        (nodes, roots) = unroll::unrolled(nodes, roots);
    }
    // Passes go in an order of their own: where there are loops, wide values stay in memory.
    if is_once && Loops::of(&nodes).is_empty() {
        (nodes, roots) = wide::gather(nodes, roots);
    }
    #[cfg(feature = "cuda")]
    if target == For::Gpu {
        (nodes, roots) = rows_first::rewrite(nodes, roots);
    }
    let mut analysis = analyse(nodes, &roots, is_once);
    if is_once && analysis.loops.is_empty() {
        again::recompute(&mut analysis);
    }
    let mut emitter = Emitter::new(&analysis, &roots);
    let once = emitter.constant_stage();
    let last = analysis.last;
    let (targets, accumulator_len) = place_targets(&analysis);
    let mut stages = Vec::new();
    for level in 0..=last {
        stages.push(Stage::Fixed { waves: emitter.fixed_stage(level, level == last) });
        let (packs, steps, loops) = emitter.row_stage(level);
        if !steps.is_empty() {
            let buffers = emitter.take_tile_buffers();
            let (offsets, width) = buffers::tile(&buffers, &steps.iter().collect::<Vec<_>>(), &loops);
            let clears = emitter.clears_at(level);
            let sums = sums_at(level, &analysis, &targets);
            stages.push(Stage::Rows(RowStage { clears, sums, packs, steps, loops, offsets, width, buffers }));
        }
    }
    let (fixed_offsets, fixed_len) = buffers::fixed(&emitter.fixed_buffers, &once, &stages);
    let emit::Leaves { inputs, parameters, data, indices, outputs } = emitter.leaves;
    Plan {
        updates: roots.iter().any(|root| matches!(root, Root::Update { .. })),
        is_for_all: analysis.after.is_empty(),
        nodes: analysis.nodes,
        constants,
        inputs,
        parameters,
        data,
        indices,
        outputs,
        targets,
        accumulator_len,
        fixed_offsets,
        fixed_len,
        once,
        stages,
    }
}

fn place_targets(analysis: &Analysis) -> (Vec<Target>, usize) {
    let mut offset = 0;
    let mut place = |(id, _): &(NodeId, Vec<Summand>)| {
        let shape = analysis.nodes[*id as usize].shape;
        let (rows, cols) = (shape.fixed_rows(), shape.cols);
        let target = Target { rows, cols, offset };
        offset = target.place().end;
        target
    };
    (analysis.targets.iter().map(&mut place).collect(), offset)
}

/// Places of the sums that the row stage of a level adds up, in as few pieces as possible.
fn sums_at(level: usize, analysis: &Analysis, targets: &[Target]) -> Vec<Range<usize>> {
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let is_here = |(id, _): &(NodeId, Vec<Summand>)| analysis.level[*id as usize] == level + 1;
    let here = analysis.targets.iter().zip(targets).filter(|(target, _)| is_here(target));
    for place in here.map(|(_, target)| target.place()) {
        match pieces.last_mut() {
            Some(last) if last.end == place.start => last.end = place.end,
            _ => pieces.push(place),
        }
    }
    pieces
}

/// Keeps the nodes that the roots need, in order and renumbered, without `stop_gradient`.
pub(super) fn compact(nodes: &[Node], roots: &[Root]) -> (Vec<Node>, Vec<Root>) {
    let ends = loops::ends(nodes);
    let mut needed = vec![false; nodes.len()];
    let mut todo: Vec<NodeId> = roots
        .iter()
        .flat_map(|root| match root {
            Root::Output { node, .. } => vec![*node],
            Root::Update { parameter, node } => vec![*parameter, *node],
        })
        .collect();
    while let Some(id) = todo.pop() {
        if !std::mem::replace(&mut needed[id as usize], true) {
            todo.extend(&nodes[id as usize].args);
            todo.extend(nodes[id as usize].op.opens().map(|of| ends[&of.number]));
        }
    }
    let mut kept: Vec<Node> = Vec::new();
    let mut new_id = vec![NodeId::MAX; nodes.len()];
    for (id, node) in nodes.iter().enumerate().filter(|(id, _)| needed[*id]) {
        let mut args: Vec<NodeId> = node.args.iter().map(|&a| new_id[a as usize]).collect();
        if node.op == Op::StopGradient {
            new_id[id] = args[0];
            continue;
        }
        let reads_memory = matches!(
            node.op,
            Op::MatMul(_) | Op::Rowwise(_) | Op::SliceCols(_) | Op::SliceRows(_) | Op::PickRow(_)
        );
        if reads_memory {
            // These read matrices in memory, where a lone number has no place: copy it there.
            for arg in &mut args {
                if matches!(kept[*arg as usize].op, Op::Scalar(_) | Op::BatchSize) {
                    let (op, shape) = (Op::Unary(Unary::Broadcast), Shape::SCALAR);
                    kept.push(Node { op, args: vec![*arg], shape });
                    *arg = kept.len() as NodeId - 1;
                }
            }
        }
        new_id[id] = kept.len() as NodeId;
        kept.push(Node { op: node.op.clone(), args, shape: node.shape });
    }
    let renumber = |root: &Root| match root {
        Root::Output { name, node } => Root::Output { name: name.clone(), node: new_id[*node as usize] },
        Root::Update { parameter, node } => {
            Root::Update { parameter: new_id[*parameter as usize], node: new_id[*node as usize] }
        }
    };
    let roots = roots.iter().map(renumber).collect();
    (kept, roots)
}

fn analyse(nodes: Vec<Node>, roots: &[Root], is_once: bool) -> Analysis {
    let mut uses = vec![0usize; nodes.len()];
    for node in &nodes {
        for &arg in &node.args {
            uses[arg as usize] += 1;
        }
    }
    for root in roots {
        let (Root::Output { node, .. } | Root::Update { node, .. }) = root;
        uses[*node as usize] += 1;
    }
    let loops = Loops::of(&nodes);
    let level = levels(&nodes, &loops);
    let mut summands: Vec<Option<Vec<Summand>>> = vec![None; nodes.len()];
    let mut merged = vec![false; nodes.len()];
    for (id, node) in nodes.iter().enumerate() {
        summands[id] = if sums_batch(&nodes, node) {
            let b = node.args.get(1).copied();
            let rows = node.shape.fixed_rows();
            let step = usize::from(matches!(node.op, Op::SumRowsOfSteps(_)));
            Some(vec![Summand { a: node.args[0], b, negative: false, row: 0, rows, step }])
        } else {
            merge(&nodes, id, &mut summands, &uses, &level, &mut merged)
        };
    }
    let mut targets = Vec::new();
    let mut target = HashMap::new();
    for (id, terms) in summands.into_iter().enumerate() {
        if let Some(terms) = terms.filter(|_| !merged[id]) {
            target.insert(id as NodeId, targets.len());
            targets.push((id as NodeId, terms));
        }
    }
    // Rows that are wanted themselves belong to a row stage of their level.
    let ends = roots.iter().map(|root| {
        let (Root::Output { node, .. } | Root::Update { node, .. }) = root;
        level[*node as usize] + usize::from(nodes[*node as usize].shape.is_batch())
    });
    let last = ends.chain(level.iter().copied()).max().unwrap_or(0);
    let constant = if is_once { constants::computed(&nodes) } else { vec![false; nodes.len()] };
    let after = HashMap::new();
    let mut analysis = Analysis { nodes, loops, level, constant, target, targets, merged, after, last };
    analysis.postpone();
    analysis
}

/// Whether a node is a sum over the rows of the batch.
fn sums_batch(nodes: &[Node], node: &Node) -> bool {
    node.op.is_sum_over_rows() && nodes[node.args[0] as usize].shape.is_batch()
}

/// How many sums over rows come before each value. The values of a loop's body have those of all that goes into it.
fn levels(nodes: &[Node], loops: &Loops) -> Vec<usize> {
    let mut of_loops = vec![0; loops.len()];
    loop {
        let mut level: Vec<usize> = Vec::with_capacity(nodes.len());
        for (id, node) in nodes.iter().enumerate() {
            let of_args = node.args.iter().map(|&a| level[a as usize]).max().unwrap_or(0);
            let of_body = loops.body(id as NodeId).map_or(0, |body| of_loops[body]);
            level.push(of_args.max(of_body) + usize::from(sums_batch(nodes, node)));
        }
        let before = of_loops.clone();
        for (id, &of) in level.iter().enumerate() {
            if let Some(body) = loops.body(id as NodeId) {
                of_loops[body] = of_loops[body].max(of);
            }
        }
        for (body, of) in of_loops.iter_mut().enumerate() {
            *of = (*of).max(level[loops.end(body) as usize]);
        }
        if of_loops == before {
            return level;
        }
    }
}

/// Sums, differences and stacks of sums over rows are one sum over rows, if nothing else needs the parts.
fn merge(
    nodes: &[Node],
    id: usize,
    summands: &mut [Option<Vec<Summand>>],
    uses: &[usize],
    level: &[usize],
    merged: &mut [bool],
) -> Option<Vec<Summand>> {
    let node = &nodes[id];
    // Arguments, the row at which each begins, and whether it is subtracted.
    let args = || node.args.iter().map(|&arg| arg as usize);
    let parts: Vec<(usize, usize, bool)> = match node.op {
        Op::Unary(Unary::Neg) => args().map(|arg| (arg, 0, true)).collect(),
        Op::Binary(Binary::Add) => args().map(|arg| (arg, 0, false)).collect(),
        Op::Binary(Binary::Sub) => args().zip([false, true]).map(|(arg, minus)| (arg, 0, minus)).collect(),
        Op::ConcatRows => {
            let rows = |next: &mut usize, arg: usize| {
                let row = *next;
                *next += nodes[arg].shape.fixed_rows();
                Some((arg, row, false))
            };
            args().scan(0, rows).filter(|(arg, ..)| !is_zero(nodes, *arg as NodeId)).collect()
        }
        _ => return None,
    };
    let fits = |&(arg, ..): &(usize, usize, bool)| {
        let same = nodes[arg].shape == node.shape || node.op == Op::ConcatRows;
        same && uses[arg] == 1 && level[arg] == level[id] && summands[arg].is_some()
    };
    // Rows of steps are not those of their target.
    let of_steps = |arg: usize| summands[arg].iter().flatten().any(|part| part.step > 0);
    let moves = parts.iter().any(|&(arg, row, _)| row > 0 && of_steps(arg));
    if parts.is_empty() || !parts.iter().all(fits) || moves {
        return None;
    }
    // The first list grows, so that long sums are not copied with every term.
    let mut all: Vec<Summand> = Vec::new();
    for (arg, row, minus) in parts {
        merged[arg] = true;
        let mut part = summands[arg].take().unwrap_or_default();
        if minus || row > 0 {
            part.iter_mut().for_each(|t| (t.row, t.negative) = (t.row + row, t.negative ^ minus));
        }
        if all.is_empty() { all = part } else { all.extend(part) }
    }
    Some(all)
}

fn is_zero(nodes: &[Node], id: NodeId) -> bool {
    match &nodes[id as usize].op {
        Op::Scalar(bits) => f64::from_bits(*bits) == 0.0,
        Op::Unary(Unary::Broadcast) => is_zero(nodes, nodes[id as usize].args[0]),
        _ => false,
    }
}

impl Named {
    pub(super) fn new(name: &Arc<str>, shape: Shape) -> Self {
        Named { name: name.clone(), shape }
    }
}
