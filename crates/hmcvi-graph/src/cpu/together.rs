//! Let many threads share the rows of few shards: pieces of rows first, then pieces of the sums over them.
//!
//! A batch is divided into shards by its number of rows alone, so that sums are rounded in the same way on any number of
//! threads. Where there are fewer shards than threads, several threads take some of a shard's rows each through all steps
//! but the sums over rows. When all are through, the sums are computed for some rows or columns of a target at a time:
//! every element is the same chain of additions as on one thread.

use std::ops::Range;

use super::code::block_rows;
use super::matmul::{Accumulate, SumTerm};
use super::memory::Frame;
use super::options::{CpuOptions, Cut, Split, shards};
use super::pool::Part;
use super::prepare::Codes;
use super::steps::{Engine, Worker};
use super::{Executable, Workers};
use crate::plan::{Block, Group, Plan, RowStage, Sink, Source, Step, SumsLast, View};
use crate::real::Real;

/// A row stage prepared for threads that share the rows of a shard.
pub(super) struct Together {
    pub(super) stage: RowStage,
    pub(super) codes: Vec<Codes>,
    /// Sums of every target.
    sums: Vec<(usize, Vec<Step>)>,
    /// Parts of targets that one thread computes at a time, those with the most work first.
    pieces: Vec<Piece>,
    /// Work that a row is, in multiply-adds.
    work: usize,
}

/// Some elements of a target.
struct Piece {
    /// Place in the list of sums.
    sum: usize,
    rows: Range<usize>,
    cols: Range<usize>,
}

/// Pieces that the rows of a shard are cut into at most.
pub(super) fn most_pieces(threads: usize) -> usize {
    2 * threads
}

/// A tile whose rows threads share: memory for one piece of them after the other.
struct Shared<T> {
    frame: Frame<T>,
    rows: usize,
    pieces: usize,
    /// Columns of the tile memory.
    width: usize,
}

impl<T: Real> Shared<T> {
    fn cut(&self, piece: usize) -> usize {
        piece * self.rows / self.pieces
    }

    /// A piece as a tile of its own, and its number of rows.
    fn piece(&self, piece: usize) -> (Frame<T>, usize) {
        let (from, to) = (self.cut(piece), self.cut(piece + 1));
        // The memory has room for all rows of the tile.
        let tile = self.frame.tile.wrapping_add(from * self.width);
        (
            Frame { tile, tile_rows: to - from, first_row: self.frame.first_row + from, ..self.frame },
            to - from,
        )
    }

    /// The piece in which a row is, and which of its rows it is.
    fn place(&self, row: usize) -> (Frame<T>, usize) {
        let piece = ((row + 1) * self.pieces - 1) / self.rows;
        (self.piece(piece).0, row - self.cut(piece))
    }
}

/// Multiply-adds that take as long as an element-wise instruction.
const INSTRUCTION: usize = 16;
/// Rows that would take as long as what every piece of rows costs beside them: weights come from afar for each.
const PIECE_ROWS: usize = 3;
/// Multiply-adds that threads which share rows have to save to be worth waiting for each other.
const WORTH: usize = 500_000;
/// Pieces of the sums for each thread: enough to divide them evenly, and few because each reads all of one operand.
const SUM_PIECES: usize = 3;
/// Multiply-adds that take as long as reading a value from another core's cache.
const FAR_VALUE: usize = 48;
/// Rows and columns of a target in a piece are multiples of these, to be whole blocks of the kernels.
const PIECE_OF_ROWS: usize = 48;
const PIECE_OF_COLS: usize = 32;

impl Together {
    pub(super) fn new(
        plan: &Plan,
        stage: &RowStage,
        options: &CpuOptions,
        codes: impl Fn(&RowStage) -> Vec<Codes>,
    ) -> Self {
        let SumsLast { stage, sums } = SumsLast::new(stage);
        let sums: Vec<(usize, Vec<Step>)> = sums.into_iter().collect();
        let of_sums: Vec<usize> =
            sums.iter().map(|(target, steps)| work_of_sums(plan.targets[*target].cols, steps)).collect();
        let sum_work: usize = of_sums.iter().sum();
        let all_parts = (SUM_PIECES * options.threads).div_ceil(shards(options.rows, options));
        let mut pieces = Vec::new();
        for (sum, (target, _)) in sums.iter().enumerate() {
            let (rows, cols) = (plan.targets[*target].rows, plan.targets[*target].cols);
            let parts = (of_sums[sum] * all_parts).div_ceil(sum_work.max(1)).max(1);
            if cols >= rows {
                let each = cols.div_ceil(parts).next_multiple_of(PIECE_OF_COLS);
                let ends = (0..cols).step_by(each).map(|from| from..(from + each).min(cols));
                pieces.extend(ends.map(|cols| Piece { sum, rows: 0..rows, cols }));
            } else {
                let each = rows.div_ceil(parts).next_multiple_of(PIECE_OF_ROWS);
                let ends = (0..rows).step_by(each).map(|from| from..(from + each).min(rows));
                pieces.extend(ends.map(|rows| Piece { sum, rows, cols: 0..cols }));
            }
        }
        let size = |piece: &Piece| {
            let target = &plan.targets[sums[piece.sum].0];
            of_sums[piece.sum] * piece.rows.len() * piece.cols.len() / (target.rows * target.cols)
        };
        pieces.sort_by_key(|piece| std::cmp::Reverse(size(piece)));
        let work = stage.steps.iter().map(|step| work_of_row(&stage, step)).sum::<usize>() + sum_work;
        Together { codes: codes(&stage), stage, sums, pieces, work }
    }

    /// Into how many pieces the rows of each shard should be cut; 1 if each had better stay on one thread.
    ///
    /// A thread needs as long as it has rows to take through the stage, and a few more for every piece of them.
    fn pieces_of_rows(&self, shards: usize, threads: usize, rows: usize, split: Split) -> usize {
        if shards == 0 || shards > threads || rows < 2 {
            return 1;
        }
        let time = |pieces: usize| {
            (shards * pieces).div_ceil(threads)
                * (rows.div_ceil(pieces) + PIECE_ROWS * usize::from(pieces > 1))
        };
        let best = (1..=rows.min(most_pieces(threads))).min_by_key(|pieces| time(*pieces)).unwrap_or(1);
        match split {
            Split::Shards => 1,
            Split::Rows => best.max(2),
            Split::Best if time(1).saturating_sub(time(best)) * self.work > WORTH => best,
            Split::Best => 1,
        }
    }
}

/// Multiply-adds for each row.
fn work_of_row(stage: &RowStage, step: &Step) -> usize {
    match step {
        Step::Group(group) => group.shape.cols * INSTRUCTION * (group.instructions.len() + 1),
        Step::Product { pack, .. } => stage.packs[*pack].depth * stage.packs[*pack].cols,
        Step::Rowwise(step) => step.args.iter().map(|(_, cols)| INSTRUCTION * cols).sum(),
        Step::Wide(wide) => wide.cols * INSTRUCTION * wide.whole.len(),
        Step::Accumulate { .. } | Step::FixedProduct { .. } => 0,
    }
}

fn work_of_sums(cols: usize, steps: &[Step]) -> usize {
    let work = |step: &Step| match step {
        Step::Accumulate { into, terms, .. } => into.rows * cols * terms.len(),
        Step::Group(group) => cols * FAR_VALUE * group.sinks.len(),
        _ => 0,
    };
    steps.iter().map(work).sum()
}

impl<T: Real> Executable<T> {
    /// Into how many pieces threads cut the rows of each of these shards.
    pub(super) fn pieces_of_rows(&self, together: Option<&Together>, cut: Cut, own: &Range<usize>) -> usize {
        let Some(together) = together else { return 1 };
        let rows = cut.rows.div_ceil(cut.shards.max(1)).min(self.options.tile_rows);
        together.pieces_of_rows(own.len(), self.pool.workers(), rows, self.options.split)
    }

    /// Takes all rows through a row stage, the first tile of each shard first; so many pieces of each at a time.
    pub(super) fn rows_together(
        &self,
        workers: &Workers<T>,
        together: &Together,
        packed: &[usize],
        (cut, own): (Cut, &Range<usize>),
        pieces: usize,
    ) {
        let Together { stage, codes, .. } = together;
        let (plan, engine) = (&self.plan, &self.engine);
        let tiles = &self.tiles;
        let most = own.clone().map(|shard| cut.tiles(shard)).max().unwrap_or(0);
        for tile in 0..most {
            let shared = |shard: usize| {
                let rows = cut.tile(shard, tile)?;
                let frame = Frame {
                    tile: tiles.of(shard - own.start),
                    tile_offsets: stage.offsets.as_ptr(),
                    first_row: rows.start,
                    shard,
                    first_tile: tile == 0,
                    ..Frame::fixed()
                };
                Some(Shared { frame, rows: rows.len(), pieces, width: stage.width })
            };
            self.pool.run(Part::Rows, own.len() * pieces, &|task, worker| {
                let Some(shared) = shared(own.start + task / pieces) else { return };
                let (frame, rows) = shared.piece(task % pieces);
                if rows == 0 {
                    return;
                }
                // SAFETY: this thread is `worker` for the duration of the task.
                let worker = unsafe { workers.get(worker) };
                engine.tile(stage, codes, packed, &frame, rows, worker);
            });
            self.pool.run(Part::Sums, own.len() * together.pieces.len(), &|task, worker| {
                let Some(shared) = shared(own.start + task % own.len()) else { return };
                // SAFETY: this thread is `worker` for the duration of the task.
                let worker = unsafe { workers.get(worker) };
                engine.sum_piece(plan, together, &together.pieces[task / own.len()], &shared, worker);
            });
        }
    }
}

impl<T: Real> Engine<T> {
    /// Adds up a part of a target over the rows of a tile.
    fn sum_piece(
        &self,
        plan: &Plan,
        together: &Together,
        piece: &Piece,
        shared: &Shared<T>,
        worker: &mut Worker<T>,
    ) {
        let frame = &shared.frame;
        let (target, steps) = &together.sums[piece.sum];
        let stride = plan.targets[*target].cols;
        // SAFETY: the target has these elements, which belong to this task.
        let at = |row: usize| unsafe {
            self.memory.target(*target, frame.shard).add(row * stride + piece.cols.start)
        };
        if frame.first_tile && together.stage.clears.contains(target) {
            for row in piece.rows.clone() {
                // SAFETY: as above.
                unsafe { std::slice::from_raw_parts_mut(at(row), piece.cols.len()) }.fill(T::default());
            }
        }
        for step in steps {
            match step {
                Step::Accumulate { into, terms, .. } => {
                    let rows = into.row.max(piece.rows.start)..(into.row + into.rows).min(piece.rows.end);
                    if rows.is_empty() {
                        continue;
                    }
                    worker.terms.clear();
                    for (term, part) in
                        terms.iter().flat_map(|term| (0..shared.pieces).map(move |i| (term, i)))
                    {
                        let (frame, depth) = shared.piece(part);
                        if depth == 0 {
                            continue;
                        }
                        // SAFETY: the views have rows in this piece, and the columns that the block says.
                        let first = |view: View, col: usize| unsafe {
                            self.memory.row(&frame, view, 0).cast_const().add(col)
                        };
                        worker.terms.push(SumTerm {
                            rows: depth,
                            a: first(term.a, rows.start - into.row),
                            a_stride: term.a.stride,
                            b: first(term.b, piece.cols.start),
                            b_stride: term.b.stride,
                            negative: term.negative,
                        });
                    }
                    let sum = Accumulate {
                        terms: &worker.terms,
                        rows: rows.len(),
                        cols: piece.cols.len(),
                        c: at(rows.start),
                        c_stride: stride,
                        add: !(into.first && frame.first_tile),
                        scratch: worker.sums.as_mut_ptr(),
                    };
                    T::run_accumulate(self.arch, sum);
                }
                Step::Group(group) => self.sum_rows(group, piece, shared, &at),
                _ => unreachable!("sums over rows are products or groups"),
            }
        }
    }

    /// Adds rows to those of a target in the order in which a group does: a block of rows of each of its values.
    fn sum_rows(&self, group: &Group, piece: &Piece, shared: &Shared<T>, at: &dyn Fn(usize) -> *mut T) {
        let block = block_rows(group.shape.rows, group.shape.cols);
        for start in (0..shared.rows).step_by(block) {
            for sink in &group.sinks {
                let Sink::Accumulate { value, into: Block { row: to, first, .. }, negative } = *sink else {
                    unreachable!("the group only adds up")
                };
                let Source::Full(view) = group.sources[value] else { unreachable!("it reads memory") };
                if !piece.rows.contains(&to) {
                    continue;
                }
                for row in start..(start + block).min(shared.rows) {
                    let (frame, row_of_piece) = shared.place(row);
                    // SAFETY: the view has these rows and columns; the elements of the target belong to this task.
                    let (from, to) = unsafe {
                        let from = self.memory.row(&frame, view, row_of_piece).add(piece.cols.start);
                        (
                            std::slice::from_raw_parts(from.cast_const(), piece.cols.len()),
                            std::slice::from_raw_parts_mut(at(to), piece.cols.len()),
                        )
                    };
                    let overwrite = first && frame.first_tile && row == 0;
                    for (to, &x) in to.iter_mut().zip(from) {
                        *to = match (overwrite, negative) {
                            (true, false) => x,
                            (true, true) => -x,
                            (false, false) => *to + x,
                            (false, true) => *to - x,
                        };
                    }
                }
            }
        }
    }
}
