//! Prepare a group of element-wise instructions for the CPU: give every value its place.

use std::collections::HashMap;

use super::elements::WIDTH;
use crate::plan::{Group, Instruction, Sink, Source, Value, View};
use crate::shape::Rows;

/// Values of a block: a handful of blocks fit the first-level cache, and each is long enough that
/// choosing the instruction costs little.
const BLOCK: usize = 768;

/// Where an instruction finds or leaves a value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Place {
    /// A block of the worker's scratch memory.
    Register(usize),
    /// The rows of the block in memory, which lie there without gaps.
    Memory(View),
}

/// Values that a group is given, and where they come from.
type Sources = Vec<(Value, Source)>;
/// Tells views of the same memory from others.
type Address<'a> = dyn Fn(View) -> (usize, usize) + 'a;

/// A group prepared for the CPU.
pub(super) struct Code {
    pub(super) rows: Rows,
    pub(super) cols: usize,
    pub(super) block_rows: usize,
    /// Places of all values; instructions name values.
    pub(super) places: Vec<Place>,
    registers: usize,
    /// Sources that are the same for all blocks, and those that each block fetches.
    pub(super) once: Sources,
    pub(super) fetched: Sources,
    pub(super) first_result: Value,
    pub(super) instructions: Vec<Instruction>,
    pub(super) sinks: Vec<Sink>,
}

impl Code {
    pub(super) fn new(group: &Group, address: &Address<'_>) -> Self {
        let mut values = Values::new(group);
        values.write_in_place();
        let (once, fetched) = values.read_in_place(address);
        let registers = values.take_registers(&once, &fetched);
        let places = values.places();
        Code {
            rows: group.shape.rows,
            cols: group.shape.cols,
            block_rows: block_rows(group.shape.rows, group.shape.cols),
            sinks: group.sinks.iter().copied().filter(|s| !is_done(s, &places)).collect(),
            places,
            registers,
            once,
            fetched,
            first_result: group.sources.len(),
            instructions: group.instructions.clone(),
        }
    }

    /// Values of scratch memory that the group needs for so many rows of a tile.
    pub(super) fn scratch(&self, tile_rows: usize) -> usize {
        let most = match self.rows {
            Rows::Batch => tile_rows,
            Rows::Fixed(rows) => rows,
        };
        self.registers * self.register_len(most)
    }

    /// Number of values, each of which needs a pointer.
    pub(super) fn values(&self) -> usize {
        self.places.len()
    }

    /// Whether different rows may be computed by different threads.
    pub(super) fn is_divisible(&self) -> bool {
        !self.sinks.iter().any(|s| matches!(s, Sink::SumRows(..)))
    }

    /// Values of a register when there are so many rows.
    pub(super) fn register_len(&self, rows: usize) -> usize {
        (self.block_rows.min(rows) * self.cols).next_multiple_of(WIDTH)
    }
}

/// Whether the instruction itself writes to the sink's place.
fn is_done(sink: &Sink, places: &[Place]) -> bool {
    matches!(*sink, Sink::Store(value, view) if places[value] == Place::Memory(view))
}

/// Rows of a group that run together.
pub(super) fn block_rows(rows: Rows, cols: usize) -> usize {
    let most = match rows {
        Rows::Batch => usize::MAX,
        Rows::Fixed(n) => n,
    };
    (BLOCK / cols).clamp(1, most.max(1))
}

/// The values of a group, on their way to their places.
struct Values<'g> {
    group: &'g Group,
    places: Vec<Option<Place>>,
    /// The last instruction that reads each value; sinks read after all instructions.
    last_use: Vec<usize>,
}

impl<'g> Values<'g> {
    fn new(group: &'g Group) -> Self {
        let count = group.sources.len() + group.instructions.len();
        let mut last_use = vec![0; count];
        for (i, instruction) in group.instructions.iter().enumerate() {
            instruction.args().for_each(|v| last_use[v] = i);
        }
        let end = group.instructions.len();
        group.sinks.iter().for_each(|sink| last_use[sink.value()] = end);
        Values { group, places: vec![None; count], last_use }
    }

    /// Lets results go straight to memory where a sink keeps them without gaps.
    fn write_in_place(&mut self) {
        for sink in &self.group.sinks {
            if let Sink::Store(value, view) = *sink
                && value >= self.group.sources.len()
                && view.stride == self.group.shape.cols
                && self.places[value].is_none()
            {
                self.places[value] = Some(Place::Memory(view));
            }
        }
    }

    /// Leaves sources where they are in memory if they can be read there; returns those that are the
    /// same for all blocks and those that each block fetches.
    fn read_in_place(&mut self, address: &Address<'_>) -> (Sources, Sources) {
        let (mut once, mut fetched) = (Vec::new(), Vec::new());
        let mut written: HashMap<(usize, usize), Vec<Value>> = HashMap::new();
        for sink in &self.group.sinks {
            if let Sink::Store(value, to) = *sink {
                written.entry(address(to)).or_default().push(value);
            }
        }
        for (value, &source) in self.group.sources.iter().enumerate() {
            match source {
                Source::Full(view)
                    if view.stride == self.group.shape.cols
                        && !self.is_overwritten(written.get(&address(view)), self.last_use[value]) =>
                {
                    self.places[value] = Some(Place::Memory(view));
                }
                Source::Row(_) | Source::One(_) | Source::Literal(_) | Source::BatchSize => {
                    once.push((value, source));
                }
                _ => fetched.push((value, source)),
            }
        }
        (once, fetched)
    }

    /// Whether one of the values that are written to some memory is there before an instruction reads what was there.
    fn is_overwritten(&self, written: Option<&Vec<Value>>, read: usize) -> bool {
        let (first_result, end) = (self.group.sources.len(), self.group.instructions.len());
        let before = |value: &Value| *value < first_result || read == end || value - first_result < read;
        written.is_some_and(|values| values.iter().any(before))
    }

    /// Gives registers to all other values, to the unchanging ones first and to the others for as long
    /// as they are needed; returns how many there are.
    fn take_registers(&mut self, once: &Sources, fetched: &Sources) -> usize {
        let mut registers = Registers { unchanging: once.len(), ..Registers::default() };
        for &(value, _) in once.iter().chain(fetched) {
            self.places[value] = Some(registers.take());
        }
        for (i, instruction) in self.group.instructions.iter().enumerate() {
            // Element-wise instructions may overwrite their arguments.
            let mut args: Vec<Value> = instruction.args().collect();
            args.sort_unstable();
            args.dedup();
            let done = args.into_iter().filter(|v| self.last_use[*v] == i);
            done.for_each(|v| registers.give_back(self.places[v]));
            let result = self.group.sources.len() + i;
            if self.places[result].is_none() {
                self.places[result] = Some(registers.take());
            }
        }
        registers.count
    }

    fn places(self) -> Vec<Place> {
        self.places.into_iter().map(|p| p.expect("every value was given a place")).collect()
    }
}

/// Registers, and those that are free again.
#[derive(Default)]
struct Registers {
    count: usize,
    free: Vec<usize>,
    /// So many, the first ones, hold the same for all blocks and are never free.
    unchanging: usize,
}

impl Registers {
    fn take(&mut self) -> Place {
        Place::Register(self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        }))
    }

    fn give_back(&mut self, place: Option<Place>) {
        if let Some(Place::Register(r)) = place
            && r >= self.unchanging
        {
            self.free.push(r);
        }
    }
}
