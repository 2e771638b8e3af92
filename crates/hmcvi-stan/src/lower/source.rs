//! Say where numbers come from: constants, results of steps, or several of them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::value::Cell;

/// Where a row of numbers comes from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    Known(Arc<Vec<f64>>),
    /// Neighbouring columns of a step.
    Slice {
        step: usize,
        start: usize,
        length: usize,
    },
    /// Columns of a step.
    Gather {
        step: usize,
        places: Arc<Vec<usize>>,
    },
    /// Parts one after the other, and then their columns in another order.
    Join {
        parts: Vec<Source>,
        order: Option<Arc<Vec<usize>>>,
    },
}

/// Steps that operations were put into, and where their results begin.
pub(super) struct Homes {
    homes: Vec<(u32, u32)>,
}

const NOWHERE: u32 = u32::MAX;

impl Homes {
    pub(super) fn new(nodes: usize) -> Self {
        Homes { homes: vec![(NOWHERE, 0); nodes] }
    }

    pub(super) fn set(&mut self, node: u32, step: usize, start: usize) {
        self.homes[node as usize] = (step as u32, start as u32);
    }

    fn place(&self, node: u32, at: u32) -> (u32, usize) {
        let (step, start) = self.homes[node as usize];
        (step, start as usize + at as usize)
    }

    /// Where cells come from, in their order.
    pub(super) fn source(&self, cells: &[Cell]) -> Source {
        let mut steps: Vec<u32> = Vec::new();
        let mut taken: Vec<Vec<usize>> = Vec::new();
        let mut known = Vec::new();
        // For each cell: which part it is in, and where.
        let mut all: Vec<(usize, usize)> = Vec::with_capacity(cells.len());
        const KNOWN: usize = usize::MAX;
        let (mut last, mut numbers) = (0, HashMap::new());
        for cell in cells {
            match *cell {
                Cell::Known(x) => {
                    all.push((KNOWN, known.len()));
                    known.push(x);
                }
                Cell::Of { node, at } => {
                    let (step, place) = self.place(node, at);
                    if steps.get(last) != Some(&step) {
                        last = *numbers.entry(step).or_insert_with(|| {
                            steps.push(step);
                            taken.push(Vec::new());
                            steps.len() - 1
                        });
                    }
                    all.push((last, taken[last].len()));
                    taken[last].push(place);
                }
            }
        }
        let mut parts: Vec<Source> = Vec::new();
        let mut starts = Vec::new();
        let mut length = 0;
        for (step, places) in steps.into_iter().zip(taken) {
            starts.push(length);
            length += places.len();
            parts.push(of_step(step as usize, places));
        }
        let known_start = length;
        if !known.is_empty() {
            parts.push(Source::Known(known.into()));
        }
        if parts.len() == 1 {
            return parts.remove(0);
        }
        let order: Vec<usize> = all
            .iter()
            .map(|&(part, at)| if part == KNOWN { known_start + at } else { starts[part] + at })
            .collect();
        let sorted = order.iter().enumerate().all(|(i, place)| i == *place);
        Source::Join { parts, order: (!sorted).then(|| order.into()) }
    }

    /// One source for each step that cells come from, in whatever order: to be summed up.
    pub(super) fn by_step(&self, cells: impl Iterator<Item = Cell>) -> Vec<Source> {
        let mut steps: Vec<Vec<usize>> = Vec::new();
        let mut known = Vec::new();
        for cell in cells {
            match cell {
                Cell::Known(x) => known.push(x),
                Cell::Of { node, at } => {
                    let (step, place) = self.place(node, at);
                    if steps.len() <= step as usize {
                        steps.resize(step as usize + 1, Vec::new());
                    }
                    steps[step as usize].push(place);
                }
            }
        }
        let filled = steps.into_iter().enumerate().filter(|(_, places)| !places.is_empty());
        let mut all: Vec<Source> = filled
            .map(|(step, mut places)| {
                places.sort_unstable();
                of_step(step, places)
            })
            .collect();
        if !known.is_empty() {
            all.push(Source::Known(vec![known.iter().sum()].into()));
        }
        all
    }
}

fn of_step(step: usize, places: Vec<usize>) -> Source {
    match places.windows(2).all(|pair| pair[1] == pair[0] + 1) {
        true => Source::Slice { step, start: places[0], length: places.len() },
        false => Source::Gather { step, places: places.into() },
    }
}
