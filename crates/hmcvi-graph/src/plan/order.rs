//! Order the steps of a stage: which sums come first, which updates wait, which steps may run side by side.

use std::collections::HashMap;

use super::emit::Emitter;
use super::fuse::{FINAL, Key};
use super::{Base, Block, Group, Sink, Source, Step, View};

/// A step with its place in the order of its stage.
pub(super) type Placed = ((Key, usize), Step);

impl Emitter<'_> {
    /// Lets the first sum into each block overwrite it, unless the target is cleared.
    pub(super) fn mark_first(&mut self, steps: &mut [Placed]) {
        let mut seen = std::mem::take(&mut self.summed);
        let mut clears = HashMap::new();
        let mut mark = |block: &mut Block| {
            let clears = clears.entry(block.target).or_insert_with(|| self.clears(block.target));
            block.first = !*clears && seen.insert((block.target, block.row));
        };
        for (_, step) in steps {
            match step {
                Step::Accumulate { into, .. } => mark(into),
                Step::Group(group) => group.sinks.iter_mut().for_each(|sink| {
                    if let Sink::Accumulate { into, .. } = sink {
                        mark(into);
                    }
                }),
                _ => {}
            }
        }
        self.summed = seen;
    }

    /// Makes updates wait in a buffer where other steps of the end still read the old value;
    /// returns the copies that complete them.
    pub(super) fn defer_updates(&mut self, steps: &mut [Placed]) -> Vec<Step> {
        let is_final = |key: &(Key, usize)| key.0.slot == FINAL;
        let reads: Vec<(usize, View, bool)> = steps
            .iter()
            .enumerate()
            .filter(|(_, (key, _))| is_final(key))
            .flat_map(|(i, (_, step))| match step {
                Step::Group(g) => g.sources.iter().map(move |s| (i, *s)).collect::<Vec<_>>(),
                _ => Vec::new(),
            })
            .filter_map(|(i, source)| match source {
                Source::Full(view) => Some((i, view, true)),
                Source::Row(view) | Source::Column(view) | Source::One(view) => Some((i, view, false)),
                _ => None,
            })
            .collect();
        let mut copies = Vec::new();
        for (i, (key, step)) in steps.iter_mut().enumerate() {
            let Step::Group(group) = step else { continue };
            if !is_final(key) {
                continue;
            }
            let shape = group.shape;
            for sink in &mut group.sinks {
                let Sink::Store(_, view) = sink else { continue };
                let in_place = |(j, read, full): &(usize, View, bool)| *j == i && *full && read == view;
                let read = |r: &&(usize, View, bool)| r.1.base == view.base;
                if matches!(view.base, Base::Parameter(_)) && !reads.iter().filter(read).all(in_place) {
                    let (parameter, buffer) = (*view, self.buffer(shape));
                    *view = buffer;
                    let sources = vec![Source::Full(buffer)];
                    let sinks = vec![Sink::Store(0, parameter)];
                    copies.push(Step::Group(Group { shape, sources, instructions: Vec::new(), sinks }));
                }
            }
        }
        copies
    }
}

/// Groups steps that do not depend on each other; `copies` come last.
pub(super) fn waves(steps: Vec<Placed>, copies: Vec<Step>) -> Vec<Vec<Step>> {
    let mut written: HashMap<Base, usize> = HashMap::new();
    let mut waves: Vec<Vec<Step>> = Vec::new();
    // Final groups may overwrite parameters that others read, so they wait for all others.
    let mut all_before = 0;
    for ((key, _), step) in steps {
        let after = step.reads().iter().filter_map(|v| written.get(&v.base)).max();
        let mut wave = after.map_or(0, |w| w + 1);
        if key.slot == FINAL {
            wave = wave.max(all_before);
        } else {
            all_before = all_before.max(wave + 1);
        }
        for view in step.writes() {
            let last = written.entry(view.base).or_insert(wave);
            *last = (*last).max(wave);
        }
        waves.resize_with(waves.len().max(wave + 1), Vec::new);
        waves[wave].push(step);
    }
    if !copies.is_empty() {
        waves.push(copies);
    }
    waves
}
