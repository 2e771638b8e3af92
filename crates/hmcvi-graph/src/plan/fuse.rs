//! Decide which values of a stage are kept in memory and which element-wise operations run together.
//!
//! Operations that are not element-wise (products, sums over columns, slices, concatenations) are
//! *heavy*: each gets a slot, in the order of the graph. An element-wise value can be computed as
//! soon as the last heavy operation it depends on is done. Element-wise values of one shape that are
//! computed after the same slot form a group. A cheap value that later groups need is computed
//! again there; others are kept.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::stages::is_given;
use crate::graph::{Node, NodeId};
use crate::op::{Op, Unary};
use crate::shape::Shape;

/// Computing up to this many cheap operations again costs less than a pass through memory.
const CHEAP: usize = 8;
const EXPENSIVE: usize = 100;

/// When and where a group runs: after which slot, as part of the heavy operation of that slot
/// (rank 0) or behind it (rank 1), small shapes before those that repeat them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Key {
    pub(super) slot: usize,
    pub(super) rank: usize,
    elements: usize,
    cols: usize,
}

impl Key {
    pub(super) fn new(slot: usize, rank: usize, shape: Shape) -> Self {
        Key { slot, rank, elements: shape.elements(), cols: shape.cols }
    }

    fn fits(self, shape: Shape) -> bool {
        self == Key::new(self.slot, self.rank, shape)
    }
}

/// The slot of what happens to the results of a stage.
pub(super) const FINAL: usize = usize::MAX;

/// A stage to be fused.
pub(super) struct Members<'a> {
    pub(super) nodes: &'a [Node],
    /// What the stage computes, in order.
    pub(super) members: Vec<NodeId>,
    /// Values without arguments in this stage, whatever their operation: sums of earlier stages.
    pub(super) sums: HashSet<NodeId>,
    /// Values that must be in memory: operands of sums of products, values that other stages read.
    pub(super) kept: HashSet<NodeId>,
    /// Values that are copied out at the end.
    pub(super) copied: HashSet<NodeId>,
}

/// The outcome: when everything runs, and what is kept.
pub(super) struct Fusion {
    pub(super) slot: HashMap<NodeId, usize>,
    phase: HashMap<NodeId, usize>,
    home: HashMap<NodeId, Key>,
    pub(super) kept: HashSet<NodeId>,
}

impl Fusion {
    /// The group in which an element-wise member is computed first, or in which another value can
    /// first be read.
    pub(super) fn home(&self, id: NodeId, shape: Shape) -> Key {
        let phase = || self.phase.get(&id).copied().unwrap_or(0);
        self.home.get(&id).copied().unwrap_or_else(|| Key::new(phase(), 1, shape))
    }

    pub(super) fn is_elementwise_member(&self, id: NodeId) -> bool {
        self.home.contains_key(&id)
    }
}

/// How a member uses an argument.
enum Use {
    /// In an element-wise operation.
    Element(NodeId),
    /// In a group that is part of a heavy operation, or at the end.
    Part(usize),
    /// From memory.
    Memory,
}

/// Whether a heavy operation reads its arguments through a group of its own rather than from memory.
fn reads_by_group(op: &Op) -> bool {
    matches!(op, Op::SumCols | Op::SumRows | Op::LogSumExp | Op::ConcatCols | Op::ConcatRows)
}

pub(super) fn fuse(stage: &Members<'_>) -> Fusion {
    let nodes = stage.nodes;
    let shape = |id: NodeId| nodes[id as usize].shape;
    let is_sum = |id: NodeId| stage.sums.contains(&id);
    let is_element = |id: NodeId| is_sum(id) || nodes[id as usize].op.is_elementwise();
    let args = |id: NodeId| -> &[NodeId] { if is_sum(id) { &[] } else { &nodes[id as usize].args } };
    let member: HashSet<NodeId> = stage.members.iter().copied().collect();

    // When: slots of heavy operations, phases of all.
    let (mut slot, mut phase) = (HashMap::new(), HashMap::new());
    for &id in &stage.members {
        if is_element(id) {
            let ready = args(id).iter().filter_map(|a| phase.get(a)).max();
            phase.insert(id, ready.copied().unwrap_or(0));
        } else {
            let next = slot.len() + 1;
            slot.insert(id, next);
            phase.insert(id, next);
        }
    }

    // By whom.
    let mut uses: HashMap<NodeId, Vec<Use>> = HashMap::new();
    for &id in &stage.members {
        for &arg in args(id).iter().filter(|a| member.contains(a)) {
            uses.entry(arg).or_default().push(if is_element(id) {
                Use::Element(id)
            } else if reads_by_group(&nodes[id as usize].op) {
                Use::Part(slot[&id])
            } else {
                Use::Memory
            });
        }
    }
    for &id in &stage.copied {
        uses.entry(id).or_default().push(Use::Part(FINAL));
    }
    for &id in &stage.kept {
        uses.entry(id).or_default().push(Use::Memory);
    }

    // Where: as late as possible without keeping more alive, going from users to arguments.
    // `needed` holds the groups in which a value may be needed, `passed` those in which its
    // arguments may be needed on its account.
    let mut home: HashMap<NodeId, Key> = HashMap::new();
    let mut needed: HashMap<NodeId, BTreeSet<Key>> = HashMap::new();
    let mut passed: HashMap<NodeId, BTreeSet<Key>> = HashMap::new();
    let mut kept = stage.kept.clone();
    for &id in stage.members.iter().rev().filter(|id| is_element(**id)) {
        let own = shape(id);
        let (mut groups, mut all) = (BTreeSet::new(), BTreeSet::<Key>::new());
        let mut memory = false;
        for user in uses.get(&id).map_or(&[][..], Vec::as_slice) {
            match *user {
                Use::Element(user) if shape(user) == own => {
                    groups.insert(home[&user]);
                    all.extend(&passed[&user]);
                }
                Use::Part(slot) => {
                    groups.insert(Key::new(slot, 0, own));
                }
                // Read from memory, or repeated by a larger shape.
                Use::Element(_) | Use::Memory => memory = true,
            }
        }
        if memory {
            kept.insert(id);
        }
        let asap = Key::new(phase[&id], 1, own);
        let wide = args(id).iter().filter(|a| shape(**a) == own && !is_given(&nodes[**a as usize].op));
        let at = match (groups.first(), groups.len()) {
            (Some(&only), 1) if !memory => only,
            (Some(&first), _) if !memory && wide.count() <= 1 => first,
            _ => asap,
        };
        debug_assert!(at.fits(own));
        home.insert(id, at);
        groups.insert(at);
        groups.extend(all);
        let stays = kept.contains(&id) || is_expensive(&nodes[id as usize].op);
        passed.insert(id, if stays { BTreeSet::from([at]) } else { groups.clone() });
        needed.insert(id, groups);
    }

    // What: keep what is dear and needed in more than one group, going from arguments to users.
    let mut cost: HashMap<NodeId, usize> = HashMap::new();
    for &id in stage.members.iter().filter(|id| is_element(**id)) {
        let op = &nodes[id as usize].op;
        let own = if is_expensive(op) && !is_sum(id) { EXPENSIVE } else { 1 };
        let of = |a: &NodeId| match nodes[*a as usize].op {
            Op::Scalar(_) => 0,
            _ => cost.get(a).copied().unwrap_or(1),
        };
        let total = own + args(id).iter().map(of).sum::<usize>();
        if total > CHEAP && needed[&id].len() > 1 {
            kept.insert(id);
        }
        cost.insert(id, if kept.contains(&id) { 1 } else { total });
    }
    kept.retain(|id| is_element(*id) && member.contains(id));
    Fusion { slot, phase, home, kept }
}

fn is_expensive(op: &Op) -> bool {
    match op {
        Op::Unary(f) => f.is_expensive() && *f != Unary::Broadcast,
        Op::Draw(..) | Op::Gather { .. } => true,
        _ => false,
    }
}
