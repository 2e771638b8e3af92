//! Decide which values of a stage are kept in memory and which element-wise operations run together.
//!
//! Operations that are not element-wise (products, sums over columns, concatenations) are *heavy*: each
//! gets a slot, in the order of the graph; slices of one value share theirs. An element-wise value can be computed as
//! soon as the last heavy operation it depends on is done. Element-wise values of one shape that are
//! computed after the same slot form a group. A cheap value that later groups need is computed
//! again there; others are kept.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::stages::is_given;
use crate::graph::{Node, NodeId};
use crate::op::Op;
use crate::shape::Shape;

/// Computing up to this many cheap operations again costs less than a pass through memory.
pub(super) const CHEAP: usize = 8;
pub(super) const EXPENSIVE: usize = 100;
/// Groups that are told apart: it matters only whether a value is needed in more than one. Long recurrences have
/// thousands.
const MANY: usize = 2;

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
    /// Values that wait for others though they need them not.
    pub(super) after: &'a HashMap<NodeId, NodeId>,
    /// Values that are copied out at the end.
    pub(super) copied: HashSet<NodeId>,
}

impl<'a> Members<'a> {
    fn op(&self, id: NodeId) -> &'a Op {
        &self.nodes[id as usize].op
    }

    fn shape(&self, id: NodeId) -> Shape {
        self.nodes[id as usize].shape
    }

    fn is_sum(&self, id: NodeId) -> bool {
        self.sums.contains(&id)
    }

    fn is_element(&self, id: NodeId) -> bool {
        self.is_sum(id) || self.op(id).is_elementwise()
    }

    fn args(&self, id: NodeId) -> &'a [NodeId] {
        if self.is_sum(id) { &[] } else { &self.nodes[id as usize].args }
    }

    /// Element-wise members, in order.
    fn elements(&self) -> impl DoubleEndedIterator<Item = NodeId> {
        self.members.iter().copied().filter(|id| self.is_element(*id))
    }
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

/// Decides when everything in a stage runs, where, and what is kept.
pub(super) fn fuse(stage: &Members<'_>) -> Fusion {
    let times = Times::of(stage);
    let uses = uses(stage, &times);
    let mut places = Places::of(stage, &times, &uses);
    places.keep_what_is_dear(stage);
    let (Times { slot, phase }, Places { home, mut kept, .. }) = (times, places);
    kept.retain(|id| stage.is_element(*id) && phase.contains_key(id));
    Fusion { slot, phase, home, kept }
}

/// When: slots of heavy operations, phases of all members.
struct Times {
    slot: HashMap<NodeId, usize>,
    phase: HashMap<NodeId, usize>,
}

impl Times {
    fn of(stage: &Members<'_>) -> Self {
        let (mut slot, mut phase) = (HashMap::new(), HashMap::new());
        // When slices of element-wise values can be read, by their arguments.
        let mut sliced: HashMap<NodeId, usize> = HashMap::new();
        let mut slots = 0;
        let mut next = || {
            slots += 1;
            slots
        };
        for &id in &stage.members {
            if stage.is_element(id) {
                let waits_for = stage.args(id).iter().chain(stage.after.get(&id));
                let ready = waits_for.filter_map(|a| phase.get(a)).max();
                phase.insert(id, ready.copied().unwrap_or(0));
                continue;
            }
            let at = match stage.op(id) {
                // Slices are read where their arguments are: those of one value do not wait for each other.
                Op::SliceCols(_) | Op::SliceRows(_) => {
                    let of = stage.args(id)[0];
                    match phase.get(&of) {
                        Some(_) if stage.is_element(of) => *sliced.entry(of).or_insert_with(&mut next),
                        there => there.copied().unwrap_or(0),
                    }
                }
                _ => next(),
            };
            slot.insert(id, at);
            phase.insert(id, at);
        }
        Times { slot, phase }
    }
}

/// By whom each member is used.
fn uses(stage: &Members<'_>, times: &Times) -> HashMap<NodeId, Vec<Use>> {
    let mut uses: HashMap<NodeId, Vec<Use>> = HashMap::new();
    for &id in &stage.members {
        for &arg in stage.args(id).iter().filter(|a| times.phase.contains_key(a)) {
            uses.entry(arg).or_default().push(if stage.is_element(id) {
                Use::Element(id)
            } else if reads_by_group(stage.op(id)) {
                Use::Part(times.slot[&id])
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
    uses
}

/// Where: the groups of element-wise members, and what is kept.
struct Places {
    home: HashMap<NodeId, Key>,
    /// Groups in which a value may be needed.
    needed: HashMap<NodeId, BTreeSet<Key>>,
    /// Groups in which a value's arguments may be needed on its account, at most `MANY`.
    passed: HashMap<NodeId, BTreeSet<Key>>,
    kept: HashSet<NodeId>,
}

impl Places {
    /// As late as possible without keeping more alive, going from users to arguments.
    fn of(stage: &Members<'_>, times: &Times, uses: &HashMap<NodeId, Vec<Use>>) -> Self {
        let (home, needed, passed) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut places = Places { home, needed, passed, kept: stage.kept.clone() };
        for id in stage.elements().rev() {
            let demand = places.demand(stage, id, uses.get(&id).map_or(&[], Vec::as_slice));
            let at = demand.home(stage, id, times.phase[&id]);
            places.settle(stage, id, at, demand);
        }
        places
    }

    /// What the users of a value, which have their places already, ask of it.
    fn demand(&self, stage: &Members<'_>, id: NodeId, users: &[Use]) -> Demand {
        let own = stage.shape(id);
        let mut demand = Demand::default();
        for user in users {
            match *user {
                Use::Element(user) if stage.shape(user) == own => {
                    demand.groups.insert(self.home[&user]);
                    demand.passed.extend(&self.passed[&user]);
                }
                Use::Part(slot) => {
                    demand.groups.insert(Key::new(slot, 0, own));
                }
                // Read from memory, or repeated by a larger shape.
                Use::Element(_) | Use::Memory => demand.memory = true,
            }
        }
        demand
    }

    fn settle(&mut self, stage: &Members<'_>, id: NodeId, at: Key, demand: Demand) {
        let Demand { mut groups, passed, memory } = demand;
        if memory {
            self.kept.insert(id);
        }
        self.home.insert(id, at);
        groups.insert(at);
        groups.extend(passed);
        let stays = self.kept.contains(&id) || is_expensive(stage.op(id));
        let passed = if stays { BTreeSet::from([at]) } else { groups.iter().copied().take(MANY).collect() };
        self.passed.insert(id, passed);
        self.needed.insert(id, groups);
    }

    /// Keeps what is dear and needed in more than one group, going from arguments to users.
    fn keep_what_is_dear(&mut self, stage: &Members<'_>) {
        let mut cost: HashMap<NodeId, usize> = HashMap::new();
        for id in stage.elements() {
            let own = if is_expensive(stage.op(id)) && !stage.is_sum(id) { EXPENSIVE } else { 1 };
            let of = |a: &NodeId| match stage.op(*a) {
                Op::Scalar(_) => 0,
                _ => cost.get(a).copied().unwrap_or(1),
            };
            // What is used twice on the way counts twice: in deep expressions more often than a number holds.
            let total = stage.args(id).iter().map(of).fold(own, usize::saturating_add);
            if total > CHEAP && self.needed[&id].len() > 1 {
                self.kept.insert(id);
            }
            cost.insert(id, if self.kept.contains(&id) { 1 } else { total });
        }
    }
}

/// What the users of a value ask of it.
#[derive(Default)]
struct Demand {
    /// Groups that use it.
    groups: BTreeSet<Key>,
    /// Groups in which users that are computed again need it.
    passed: BTreeSet<Key>,
    /// Whether it is read from memory.
    memory: bool,
}

impl Demand {
    /// The group in which a value of some phase is computed first.
    fn home(&self, stage: &Members<'_>, id: NodeId, phase: usize) -> Key {
        let own = stage.shape(id);
        let wide = stage.args(id).iter().filter(|a| stage.shape(**a) == own && !is_given(stage.op(**a)));
        let at = match (self.groups.first(), self.groups.len()) {
            (Some(&only), 1) if !self.memory => only,
            (Some(&first), _) if !self.memory && wide.count() <= 1 => first,
            _ => Key::new(phase, 1, own),
        };
        debug_assert!(at.fits(own));
        at
    }
}

pub(super) fn is_expensive(op: &Op) -> bool {
    match op {
        Op::Unary(f) => f.is_expensive(),
        Op::Binary(f) => f.is_expensive(),
        Op::Draw(..) | Op::StepDraw(..) | Op::Gather { .. } => true,
        _ => false,
    }
}
