//! Give every kept value its place in memory, and reuse places whose value is no longer needed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use super::{Base, Repeated, Source, Stage, Step, View};

/// A buffer's size and the time from its first write to its last use.
#[derive(Clone, Copy)]
struct Life {
    size: usize,
    first: usize,
    last: usize,
    /// A buffer of the same size that ends where this one begins and may be overwritten in place.
    replaces: Option<usize>,
}

/// Places of the buffers of a row stage, in columns. Steps run one after the other, so a group may
/// overwrite a value of the same shape that it is the last to read.
pub(super) fn tile(sizes: &[usize], steps: &[&Step], loops: &[Repeated]) -> (Vec<usize>, usize) {
    let mut lives = lives(sizes, steps.iter().copied().enumerate(), |base| match base {
        Base::Tile(i) => Some(i),
        _ => None,
    });
    last_through_loops(&mut lives, steps, loops);
    for (time, step) in steps.iter().enumerate() {
        let Step::Group(group) = step else { continue };
        // Buffers that are read for the last time, by their sizes.
        let mut dying: HashMap<usize, Vec<usize>> = HashMap::new();
        for source in group.sources.iter().rev() {
            let Source::Full(View { base: Base::Tile(i), stride, .. }) = *source else { continue };
            if lives[i].last == time && stride == sizes[i] {
                dying.entry(sizes[i]).or_default().push(i);
            }
        }
        for view in group.sinks.iter().filter_map(|sink| match sink {
            super::Sink::Store(_, view) => Some(view),
            _ => None,
        }) {
            let Base::Tile(new) = view.base else { continue };
            if lives[new].first != time || lives[new].replaces.is_some() {
                continue;
            }
            lives[new].replaces = dying.get_mut(&sizes[new]).and_then(Vec::pop);
        }
    }
    allocate(&lives)
}

/// Keeps what a loop reads from outside until its last step is over, and what is read after it from its first step on.
fn last_through_loops(lives: &mut [Life], steps: &[&Step], loops: &[Repeated]) {
    for Repeated { range, .. } in loops {
        let (begin, end) = (range.start, range.end);
        let views = steps[range.clone()].iter().flat_map(|step| [step.reads(), step.writes()].concat());
        for i in views.filter_map(|view| if let Base::Tile(i) = view.base { Some(i) } else { None }) {
            let life = &mut lives[i];
            if life.first < begin {
                life.last = life.last.max(end);
            } else if life.last >= end {
                life.first = begin;
            }
        }
    }
}

#[cfg(feature = "cuda")]
impl super::RowStage {
    /// Places of some of the buffers for a device that adds up all products over rows after the other steps,
    /// and columns in all.
    pub(crate) fn places_with_products_last(&self, is_here: impl Fn(usize) -> bool) -> (Vec<usize>, usize) {
        let is_sum = |step: &&Step| matches!(step, Step::Accumulate { .. });
        let steps = self.steps.iter().filter(|s| !is_sum(s)).chain(self.steps.iter().filter(is_sum));
        let size = |(i, cols): (usize, &usize)| if is_here(i) { *cols } else { 0 };
        let sizes: Vec<usize> = self.buffers.iter().enumerate().map(size).collect();
        tile(&sizes, &steps.collect::<Vec<_>>(), &[])
    }
}

/// Places of the buffers of the fixed stages. Steps of one wave run at the same time, and a row
/// stage reads its operands from beginning to end. What is made once stays.
pub(super) fn fixed(sizes: &[usize], once: &[Vec<Step>], stages: &[Stage]) -> (Vec<usize>, usize) {
    let mut time = 0;
    let mut timed: Vec<(usize, &Step)> = Vec::new();
    let mut packed: Vec<(usize, Base)> = Vec::new();
    for wave in once {
        timed.extend(wave.iter().map(|step| (time, step)));
        time += 1;
    }
    let begin = time;
    for stage in stages {
        match stage {
            Stage::Fixed { waves } => {
                for wave in waves {
                    timed.extend(wave.iter().map(|step| (time, step)));
                    time += 1;
                }
            }
            Stage::Rows(rows) => {
                timed.extend(rows.steps.iter().map(|step| (time, step)));
                packed.extend(rows.packs.iter().map(|pack| (time, pack.view.base)));
                time += 1;
            }
        }
    }
    let pick = |base| match base {
        Base::Fixed(i) => Some(i),
        _ => None,
    };
    let mut lives = lives(sizes, timed.into_iter(), pick);
    for (time, base) in packed {
        if let Some(i) = pick(base) {
            lives[i].last = lives[i].last.max(time);
        }
    }
    for life in lives.iter_mut().filter(|life| life.first < begin) {
        life.last = usize::MAX;
    }
    allocate(&lives)
}

fn lives<'s>(
    sizes: &[usize],
    steps: impl Iterator<Item = (usize, &'s Step)>,
    pick: impl Fn(Base) -> Option<usize>,
) -> Vec<Life> {
    let unused = |&size| Life { size, first: usize::MAX, last: 0, replaces: None };
    let mut lives: Vec<Life> = sizes.iter().map(unused).collect();
    for (time, step) in steps {
        for view in step.writes() {
            if let Some(i) = pick(view.base) {
                lives[i].first = lives[i].first.min(time);
                lives[i].last = lives[i].last.max(time);
            }
        }
        for view in step.reads() {
            if let Some(i) = pick(view.base) {
                lives[i].last = lives[i].last.max(time);
            }
        }
    }
    lives
}

/// Sizes are rounded to this, so that buffers begin at whole vectors and cache lines.
const ALIGN: usize = 16;

/// The smallest gap that fits, in the order of the first writes.
fn allocate(lives: &[Life]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> =
        (0..lives.len()).filter(|&i| lives[i].first != usize::MAX && lives[i].size > 0).collect();
    order.sort_by_key(|&i| lives[i].first);
    let mut offsets = vec![0; lives.len()];
    let mut places = Places::default();
    for i in order {
        let Life { size, first, last, replaces } = lives[i];
        places.release_before(first);
        let in_place = replaces.is_some_and(|old| places.extend(offsets[old], first, last));
        offsets[i] = match replaces {
            Some(old) if in_place => offsets[old],
            _ => places.take(size.next_multiple_of(ALIGN), last),
        };
    }
    (offsets, places.end)
}

/// Memory that is taken and free. Lists of thousands of buffers are searched by their order, not from end to end.
#[derive(Default)]
struct Places {
    /// By offset: length, and the time until which it is taken.
    taken: HashMap<usize, (usize, usize)>,
    /// When places may become free: time and offset. A place that was taken for longer has another entry.
    ends: BinaryHeap<Reverse<(usize, usize)>>,
    /// Gaps between places that were taken, by offset, with their lengths. None touch.
    free: BTreeMap<usize, usize>,
    end: usize,
}

impl Places {
    fn release_before(&mut self, time: usize) {
        while let Some(&Reverse((until, offset))) = self.ends.peek().filter(|end| end.0.0 < time) {
            self.ends.pop();
            if let Some(&(len, current)) = self.taken.get(&offset)
                && current == until
            {
                self.taken.remove(&offset);
                self.give_back(offset, len);
            }
        }
    }

    fn give_back(&mut self, mut offset: usize, mut len: usize) {
        if let Some(next) = self.free.remove(&(offset + len)) {
            len += next;
        }
        if let Some((&before, &its)) = self.free.range(..offset).next_back()
            && before + its == offset
        {
            (offset, len) = (before, its + len);
        }
        self.free.insert(offset, len);
    }

    /// Takes a place that ends now for longer, if it is still taken.
    fn extend(&mut self, offset: usize, now: usize, until: usize) -> bool {
        match self.taken.get_mut(&offset) {
            Some(place) if place.1 == now => {
                place.1 = until;
                self.ends.push(Reverse((until, offset)));
                true
            }
            _ => false,
        }
    }

    fn take(&mut self, size: usize, until: usize) -> usize {
        let fits = self.free.iter().filter(|(_, len)| **len >= size);
        let gap = fits.min_by_key(|(_, len)| **len).map(|(offset, len)| (*offset, *len));
        // A gap at the end may grow.
        let last = self.free.last_key_value().map(|(offset, len)| (*offset, *len));
        let (offset, len) = gap.or(last.filter(|(at, len)| at + len == self.end)).unwrap_or((self.end, 0));
        self.free.remove(&offset);
        if len > size {
            self.free.insert(offset + size, len - size);
        }
        self.end = self.end.max(offset + size);
        self.taken.insert(offset, (size, until));
        self.ends.push(Reverse((until, offset)));
        offset
    }
}
