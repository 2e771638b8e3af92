//! Give every kept value its place in memory, and reuse places whose value is no longer needed.

use super::{Base, Source, Stage, Step};

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
pub(super) fn tile(sizes: &[usize], steps: &[&Step]) -> (Vec<usize>, usize) {
    let mut lives = lives(sizes, steps.iter().copied().enumerate(), |base| match base {
        Base::Tile(i) => Some(i),
        _ => None,
    });
    for (time, step) in steps.iter().enumerate() {
        let Step::Group(group) = step else { continue };
        let mut dying: Vec<usize> = group
            .sources
            .iter()
            .filter_map(|source| match source {
                Source::Full(view) => match view.base {
                    Base::Tile(i) if lives[i].last == time && view.stride == sizes[i] => Some(i),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        for view in group.sinks.iter().filter_map(|sink| match sink {
            super::Sink::Store(_, view) => Some(view),
            _ => None,
        }) {
            let Base::Tile(new) = view.base else { continue };
            if lives[new].first != time || lives[new].replaces.is_some() {
                continue;
            }
            if let Some(at) = dying.iter().position(|&old| sizes[old] == sizes[new]) {
                lives[new].replaces = Some(dying.swap_remove(at));
            }
        }
    }
    allocate(&lives)
}

#[cfg(feature = "cuda")]
impl super::RowStage {
    /// Places of the buffers for a device that adds up all products over rows after the other steps,
    /// and columns in all.
    pub(crate) fn places_with_products_last(&self) -> (Vec<usize>, usize) {
        let is_sum = |step: &&Step| matches!(step, Step::Accumulate { .. });
        let steps = self.steps.iter().filter(|s| !is_sum(s)).chain(self.steps.iter().filter(is_sum));
        tile(&self.buffers, &steps.collect::<Vec<_>>())
    }
}

/// Places of the buffers of the fixed stages. Steps of one wave run at the same time, and a row
/// stage reads its operands from beginning to end.
pub(super) fn fixed(sizes: &[usize], stages: &[Stage]) -> (Vec<usize>, usize) {
    let mut time = 0;
    let mut timed: Vec<(usize, &Step)> = Vec::new();
    let mut packed: Vec<(usize, Base)> = Vec::new();
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

/// First fit in the order of the first writes.
fn allocate(lives: &[Life]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..lives.len()).filter(|&i| lives[i].first != usize::MAX).collect();
    order.sort_by_key(|&i| lives[i].first);
    let mut offsets = vec![0; lives.len()];
    // Taken places by offset, with the time from which they are free.
    let mut taken: Vec<(usize, usize, usize)> = Vec::new();
    let mut end = 0;
    for i in order {
        let Life { size, first, last, replaces } = lives[i];
        let size = size.next_multiple_of(ALIGN);
        taken.retain(|&(_, _, until)| until >= first);
        if let Some(old) = replaces {
            let offset = offsets[old];
            if let Some(place) = taken.iter_mut().find(|(at, _, until)| *at == offset && *until == first) {
                place.2 = last;
                offsets[i] = offset;
                continue;
            }
        }
        let mut offset = 0;
        for &(at, len, _) in &taken {
            if offset + size <= at {
                break;
            }
            offset = offset.max(at + len);
        }
        offsets[i] = offset;
        taken.push((offset, size, last));
        taken.sort_unstable();
        end = end.max(offset + size);
    }
    (offsets, end)
}
