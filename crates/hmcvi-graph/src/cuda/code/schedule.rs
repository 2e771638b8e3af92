//! Arrange a row stage for a cluster of blocks: which values every block has for itself, which results of products
//! stay in shared memory for the steps that follow, and which left operands are handed on through shared memory.
//!
//! A value with few columns is computed by every block of a cluster: that takes less time than waiting for the others.
//! Values with many columns are divided among the blocks; where one is the left operand of a product next, the step
//! that makes it writes it into the shared memory of all blocks, in the order in which tensor cores read it.

use std::collections::HashMap;

use crate::plan::{Base, Group, RowStage, Sink, Source, Step, View};

/// Most columns of a value that every block computes for itself.
const NARROW: usize = 64;
/// Deepest product that every block computes for itself: blocks share what takes longer.
const DEEPEST: usize = 1024;
/// Steps after the one that makes an operand in which it is still in shared memory.
const WINDOW: usize = 8;

/// A place for left operands in shared memory, by number.
pub(super) type Slot = usize;

/// What is known about each step of a row stage, by its number.
pub(super) struct Schedule {
    /// Buffers that every block has for itself.
    pub(super) own: Vec<bool>,
    /// For products: where the left operand is, whether it is there already, and what becomes of the result.
    pub(super) products: HashMap<usize, Product>,
    /// For groups: the value that is the result of the product before, in shared memory.
    pub(super) results: HashMap<usize, View>,
    /// For groups: values that are handed on, with the places where they go.
    pub(super) handed: HashMap<usize, Vec<(View, Slot)>>,
    /// Values that each slot has room for, and those that a product's results take.
    pub(super) slots: Vec<usize>,
    pub(super) result: usize,
    /// Values from row to row of the results.
    pub(super) result_stride: usize,
}

/// How a product reads and writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Product {
    pub(super) slot: Slot,
    /// The operand was handed on; otherwise the product copies it.
    pub(super) is_there: bool,
    /// The result stays in shared memory for the groups that follow.
    pub(super) near: bool,
    /// The result is also read later.
    pub(super) kept: bool,
}

/// How rows and shared memory are divided.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) tile_rows: usize,
    pub(super) cluster: usize,
    /// Most columns of a left operand that is staged at once.
    pub(super) deepest: usize,
    /// Values of shared memory for operands and results.
    pub(super) values: usize,
}

impl Room {
    /// Values of an operand in the order of the tensor cores.
    fn operand(self, depth: usize) -> usize {
        self.tile_rows * depth.div_ceil(16) * 16
    }

    /// Columns of a block's share.
    fn share(self, cols: usize, own: bool) -> usize {
        let tiles = cols.div_ceil(8);
        8 * if own { tiles } else { tiles.div_ceil(self.cluster) }
    }
}

impl Schedule {
    pub(super) fn new(stage: &RowStage, room: Room) -> Self {
        let own = own_buffers(stage, room.cluster);
        // Wide values stay in global memory where shared memory has no room for all of them.
        let widths = [usize::MAX, 512, 256, 128, 0];
        let all = widths.into_iter().map(|widest| Schedule::with(stage, room, own.clone(), widest));
        let fits = |s: &Schedule| s.slots.iter().sum::<usize>() + s.result <= room.values;
        let mut last = None;
        for schedule in all {
            if fits(&schedule) {
                return schedule;
            }
            last = Some(schedule);
        }
        last.expect("there are several")
    }

    fn with(stage: &RowStage, room: Room, own: Vec<bool>, widest: usize) -> Self {
        let empty = HashMap::new;
        let (products, results, handed) = (empty(), HashMap::new(), HashMap::new());
        let mut schedule =
            Schedule { own, products, results, handed, slots: Vec::new(), result: 0, result_stride: 0 };
        schedule.place_results(stage, room, widest);
        schedule.place_operands(stage, room, widest);
        schedule
    }

    pub(super) fn is_own(&self, view: View) -> bool {
        matches!(view.base, Base::Tile(i) if self.own[i])
    }

    /// Finds products whose results the groups right behind them use.
    fn place_results(&mut self, stage: &RowStage, room: Room, widest: usize) {
        let readers = readers(stage);
        let mut columns = 0;
        for (i, step) in stage.steps.iter().enumerate() {
            let Step::Product { pack, out, .. } = step else { continue };
            let Base::Tile(buffer) = out.base else { continue };
            let cols = stage.packs[*pack].cols;
            let mut product = Product { kept: true, ..Product::default() };
            if cols <= widest && stage.packs[*pack].depth <= room.deepest {
                let near: Vec<usize> = following_groups(stage, i)
                    .filter(|(_, group)| reads_in_columns(group, *out, cols))
                    .filter(|(_, group)| is_own_group(group, &self.own) == self.own[buffer])
                    .map(|(j, _)| j)
                    .collect();
                product.near = !near.is_empty();
                product.kept = readers[buffer].iter().any(|reader| !near.contains(reader))
                    || near.iter().any(|&j| has_row_sinks(&stage.steps[j]));
                self.results.extend(near.into_iter().map(|j| (j, *out)));
                if product.near {
                    columns = columns.max(room.share(cols, self.own[buffer]));
                }
            }
            self.products.insert(i, product);
        }
        // Rows begin in different banks: 8 or 24 values beyond a multiple of 32.
        self.result_stride = if columns == 0 { 0 } else { columns + 8 * (columns / 8 + 1) % 16 };
        self.result = room.tile_rows * self.result_stride;
    }

    /// Finds left operands that groups hand on, and gives all left operands a place.
    fn place_operands(&mut self, stage: &RowStage, room: Room, widest: usize) {
        let mut taken = Vec::new();
        // Where nothing is handed on, one slot serves all products.
        let mut take =
            |from, until, depth| if widest == 0 { 0 } else { take(&mut taken, from, until, depth) };
        // Operands in slots, with the steps until which they are there.
        let mut there: HashMap<View, (Slot, usize)> = HashMap::new();
        for (i, step) in stage.steps.iter().enumerate() {
            match step {
                Step::Group(group) => {
                    for view in stored_whole(group, stage) {
                        let depth = group.shape.cols;
                        let Some(until) = self.last_product(stage, i, view, depth, room) else { continue };
                        if depth > widest {
                            continue;
                        }
                        let slot = take(i, until, depth);
                        self.make_room(slot, room.operand(depth));
                        there.insert(view, (slot, until));
                        self.handed.entry(i).or_default().push((view, slot));
                    }
                }
                Step::Product { a, pack, .. } => {
                    let depth = stage.packs[*pack].depth;
                    let known = there.get(a).filter(|(_, until)| i <= *until).map(|(slot, _)| *slot);
                    let slot = known.unwrap_or_else(|| take(i, i, depth));
                    self.make_room(slot, room.operand(depth.min(room.deepest)));
                    let product =
                        self.products.entry(i).or_insert(Product { kept: true, ..Product::default() });
                    (product.slot, product.is_there) = (slot, known.is_some());
                }
                _ => {}
            }
        }
    }

    fn make_room(&mut self, slot: Slot, values: usize) {
        self.slots.resize(self.slots.len().max(slot + 1), 0);
        self.slots[slot] = self.slots[slot].max(values);
    }

    /// The last product soon after a step that has this left operand.
    fn last_product(
        &self,
        stage: &RowStage,
        from: usize,
        view: View,
        depth: usize,
        room: Room,
    ) -> Option<usize> {
        let soon = stage.steps.iter().enumerate().skip(from + 1).take(WINDOW);
        let is_operand = |step: &Step| matches!(step, Step::Product { a, pack, .. } if *a == view && stage.packs[*pack].depth == depth);
        soon.filter(|(_, step)| is_operand(step))
            .map(|(i, _)| i)
            .next_back()
            .filter(|_| depth <= room.deepest)
    }
}

/// A slot while slots are given out.
struct Taken {
    is_deep: bool,
    /// The last step that uses it.
    until: usize,
}

/// Depth from which operands have slots of their own, which are large.
const DEEP: usize = 256;

/// Takes the slot of a kind that was not used for the longest time, or a new one.
fn take(taken: &mut Vec<Taken>, from: usize, until: usize, depth: usize) -> Slot {
    let is_deep = depth > DEEP;
    let all = || taken.iter().enumerate().filter(|(_, slot)| slot.is_deep == is_deep);
    // Two slots in turn: what one step hands on must not go where others may still be reading. Deep operands are too
    // seldom for that.
    let enough = all().count() > usize::from(!is_deep);
    let free = all().filter(|(_, slot)| slot.until < from).min_by_key(|(_, slot)| slot.until);
    let slot = match free.map(|(slot, _)| slot) {
        Some(slot) if enough => slot,
        _ => {
            taken.push(Taken { is_deep, until });
            taken.len() - 1
        }
    };
    taken[slot].until = until;
    slot
}

/// Buffers of few columns that every block can compute for itself.
fn own_buffers(stage: &RowStage, cluster: usize) -> Vec<bool> {
    let mut own: Vec<bool> = stage.buffers.iter().map(|cols| cluster > 1 && *cols <= NARROW).collect();
    for step in &stage.steps {
        let shared = match step {
            Step::Rowwise(rowwise) => rowwise.out.0,
            Step::Product { pack, out, .. } if stage.packs[*pack].depth > DEEPEST => *out,
            _ => continue,
        };
        if let Base::Tile(i) = shared.base {
            own[i] = false;
        }
    }
    // A group whose results are not all its own is divided among the blocks.
    loop {
        let mut changed = false;
        for step in &stage.steps {
            let Step::Group(group) = step else { continue };
            if is_own_group(group, &own) {
                continue;
            }
            for i in written(group) {
                changed |= std::mem::replace(&mut own[i], false);
            }
        }
        if !changed {
            return own;
        }
    }
}

/// Whether every block computes the whole group.
pub(super) fn is_own_group(group: &Group, own: &[bool]) -> bool {
    group.shape.cols <= NARROW && written(group).all(|i| own[i])
}

/// Tile buffers that a group writes.
fn written(group: &Group) -> impl Iterator<Item = usize> {
    let buffer = |sink: &Sink| match sink.view()?.base {
        Base::Tile(i) => Some(i),
        _ => None,
    };
    group.sinks.iter().filter_map(buffer)
}

/// Steps that read each buffer.
fn readers(stage: &RowStage) -> Vec<Vec<usize>> {
    let mut readers = vec![Vec::new(); stage.buffers.len()];
    for (i, step) in stage.steps.iter().enumerate() {
        for view in step.reads() {
            if let Base::Tile(buffer) = view.base {
                readers[buffer].push(i);
            }
        }
    }
    readers
}

/// The groups between a product and the next step of another kind.
fn following_groups(stage: &RowStage, product: usize) -> impl Iterator<Item = (usize, &Group)> {
    let steps = stage.steps.iter().enumerate().skip(product + 1);
    let steps = steps.take_while(|(_, step)| matches!(step, Step::Group(_) | Step::Accumulate { .. }));
    steps.filter_map(|(i, step)| if let Step::Group(group) = step { Some((i, group)) } else { None })
}

/// Whether a group reads a value of its own shape, and something by columns becomes of it.
fn reads_in_columns(group: &Group, view: View, cols: usize) -> bool {
    let is_view = |source: &Source| matches!(source, Source::Full(v) if *v == view);
    group.shape.cols == cols && group.sources.iter().any(is_view) && group.sinks.iter().any(|s| !is_by_row(s))
}

pub(super) fn is_by_row(sink: &Sink) -> bool {
    matches!(sink, Sink::SumCols(..) | Sink::LogSumExp(..))
}

fn has_row_sinks(step: &Step) -> bool {
    matches!(step, Step::Group(group) if group.sinks.iter().any(is_by_row))
}

/// Whole buffers that a group writes by columns.
fn stored_whole(group: &Group, stage: &RowStage) -> impl Iterator<Item = View> {
    group.sinks.iter().filter_map(|sink| match *sink {
        Sink::Store(_, view @ View { base: Base::Tile(i), offset: 0, .. })
            if stage.buffers[i] == group.shape.cols =>
        {
            Some(view)
        }
        _ => None,
    })
}
