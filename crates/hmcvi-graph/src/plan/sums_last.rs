//! Take the sums over rows out of a row stage, to be computed when all rows have been through its other steps.

use std::collections::BTreeMap;

use super::buffers;
use super::{Base, Block, Group, RowStage, Sink, Source, Step, View};

/// A row stage whose sums over rows come last. They are added up in the same order as in the stage that it is made from,
/// so that they have the same bits.
pub(crate) struct SumsLast {
    /// All other steps. What the sums read is still there when they are done.
    pub(crate) stage: RowStage,
    /// The sums of every target: products, and groups without instructions that add up what they read.
    pub(crate) sums: BTreeMap<usize, Vec<Step>>,
}

impl SumsLast {
    pub(crate) fn new(stage: &RowStage) -> Self {
        let mut buffers = stage.buffers.clone();
        let mut steps = Vec::new();
        let mut sums: BTreeMap<usize, Vec<Step>> = BTreeMap::new();
        for step in &stage.steps {
            match step {
                Step::Accumulate { into, .. } => sums.entry(into.target).or_default().push(step.clone()),
                Step::Group(group) => {
                    let (rest, rows) = split(group, &mut buffers);
                    for (target, group) in rows {
                        sums.entry(target).or_default().push(Step::Group(group));
                    }
                    if !rest.sinks.is_empty() {
                        steps.push(Step::Group(rest));
                    }
                }
                step => steps.push(step.clone()),
            }
        }
        let all: Vec<&Step> = steps.iter().chain(sums.values().flatten()).collect();
        let (offsets, width) = buffers::tile(&buffers, &all, &[]);
        let (clears, places, packs) = (stage.clears.clone(), stage.sums.clone(), stage.packs.clone());
        let loops = Vec::new();
        let stage = RowStage { clears, sums: places, packs, steps, loops, offsets, width, buffers };
        SumsLast { stage, sums }
    }
}

/// A group without its sums over rows, and these for each target: they read memory, to which values go that only the
/// group knew.
fn split(group: &Group, buffers: &mut Vec<usize>) -> (Group, BTreeMap<usize, Group>) {
    let is_sum = |sink: &Sink| matches!(sink, Sink::Accumulate { .. });
    let mut rest = group.clone();
    rest.sinks.retain(|sink| !is_sum(sink));
    let mut sums: BTreeMap<usize, Group> = BTreeMap::new();
    for sink in group.sinks.iter().copied() {
        let Sink::Accumulate { value, into, negative } = sink else { continue };
        let source = Source::Full(in_memory(&mut rest, value, buffers));
        let Block { target, .. } = into;
        let sum = sums.entry(target).or_insert_with(|| Group {
            shape: group.shape,
            sources: Vec::new(),
            instructions: Vec::new(),
            sinks: Vec::new(),
        });
        sum.sinks.push(Sink::Accumulate { value: sum.sources.len(), into, negative });
        sum.sources.push(source);
    }
    (rest, sums)
}

/// Where a group's value is in memory when the group is done.
fn in_memory(group: &mut Group, value: usize, buffers: &mut Vec<usize>) -> View {
    if let Some(&Source::Full(view)) = group.sources.get(value) {
        return view;
    }
    let stored = group.sinks.iter().find_map(|sink| match *sink {
        Sink::Store(stored, view) if stored == value => Some(view),
        _ => None,
    });
    stored.unwrap_or_else(|| {
        buffers.push(group.shape.cols);
        let view = View { base: Base::Tile(buffers.len() - 1), offset: 0, stride: group.shape.cols, step: 0 };
        group.sinks.push(Sink::Store(value, view));
        view
    })
}
