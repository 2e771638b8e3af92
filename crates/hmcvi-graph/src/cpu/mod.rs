//! Run programs on the CPU: tiles of rows over threads, each tile through the whole row stage.
//!
//! Rows are divided into *shards*, by their number alone and not by the number of threads. Each
//! shard adds up its own sums over rows, tile by tile, and the shards' sums are added in order: the
//! same seed gives the same bits on any number of threads.

mod arena;
mod code;
mod eigen;
mod elements;
mod group;
pub(crate) mod kernels;
mod matmul;
mod memory;
mod options;
mod pool;
mod prepare;
mod ranks;
mod room;
mod rowwise;
mod steps;
mod tiles;
mod together;
mod wide;

use std::ops::Range;
use std::sync::Arc;

pub use self::options::{CpuOptions, Instructions, Split};
pub use self::pool::{Part, Times};
pub use self::ranks::Sums;
pub(crate) use self::ranks::bytes;

use self::arena::Arena;
use self::memory::{Frame, Memory};
use self::options::{Cut, shards};
use self::pool::Pool;
use self::prepare::{Codes, PackTask, Prepared, Wave, prepare};
use self::ranks::Shared;
use self::room::Room;
use self::steps::{Engine, Worker};
use crate::data::DataSet;
use crate::error::RunError;
use crate::plan::{Plan, Program, RowStage, Stage, Step};
use crate::real::Real;
use crate::store::Store;

/// What a run is given beside the store.
#[derive(Clone, Copy, Debug)]
pub struct Run<'r, T> {
    /// Rows of the batch.
    pub rows: usize,
    /// Values of the inputs, by name.
    pub inputs: &'r [(&'r str, &'r [T])],
    /// Data sets, by name.
    pub data: &'r [(&'r str, DataSet<'r>)],
    /// Indices into data sets, by name, one for each row of the batch.
    pub indices: &'r [(&'r str, &'r [u32])],
    /// Seed of the random draws.
    pub seed: u64,
    /// Number of the step, which gives every step its own draws.
    pub step: u64,
    /// Number of the batch's first row, which gives every row of a data set its own draws.
    pub row_offset: u64,
}

impl<T> Default for Run<'_, T> {
    fn default() -> Self {
        Run { rows: 1, inputs: &[], data: &[], indices: &[], seed: 0, step: 0, row_offset: 0 }
    }
}

/// A program prepared to run on the CPU, with all the memory it needs.
pub struct Executable<T: Real> {
    plan: Arc<Plan>,
    options: CpuOptions,
    /// Rows that the workers' tiles have room for.
    tile_capacity: usize,
    engine: Engine<T>,
    pool: Pool,
    stages: Vec<Prepared>,
    workers: Vec<Worker<T>>,
    tiles: Tiles<T>,
    /// What the engine's memory points to.
    constants: Vec<Vec<T>>,
    outputs: Vec<Vec<T>>,
    fixed: Arena<T>,
    accumulators: Arena<T>,
    packed: Arena<T>,
    bytes: usize,
    rows: usize,
    /// Processes that share the rows.
    shared: Option<Shared<T>>,
}

/// Where the tiles of all workers are.
struct Tiles<T>(Vec<*mut T>);

// SAFETY: the memory belongs to the same executable, and runs, which borrow it exclusively, are all that uses it.
unsafe impl<T: Real> Send for Tiles<T> {}
// SAFETY: as above.
unsafe impl<T: Real> Sync for Tiles<T> {}

impl<T> Tiles<T> {
    fn of(&self, worker: usize) -> *mut T {
        self.0[worker]
    }
}

/// Hands each worker its own memory.
struct Workers<T>(*mut Worker<T>);

// SAFETY: the pool runs each worker number on one thread at a time.
unsafe impl<T> Sync for Workers<T> {}

impl<T> Workers<T> {
    /// # Safety
    /// Only the thread that is worker `worker` in the current round may call this, and only once
    /// per task.
    #[expect(clippy::mut_from_ref, reason = "each worker's memory is reached by that worker alone")]
    unsafe fn get(&self, worker: usize) -> &mut Worker<T> {
        // SAFETY: guaranteed by the caller.
        unsafe { &mut *self.0.add(worker) }
    }
}

impl Program {
    /// Prepares the program to run on the CPU.
    pub fn on_cpu<T: Real>(&self, options: CpuOptions) -> Executable<T> {
        Executable::new(self.plan.clone(), options)
    }
}

impl<T: Real> Executable<T> {
    fn new(plan: Arc<Plan>, options: CpuOptions) -> Self {
        let options = options.settled();
        let arch = options.instructions.arch();
        let lanes = T::lanes(arch);
        let stages = prepare(&plan, &options, lanes);
        let options = options.with_tiles::<T>(&plan, &stages);
        let room = Room::new(&plan, &options, &stages, lanes);
        let worker = |_| Worker {
            tile: Arena::new(room.tile),
            scratch: Arena::new(room.scratch),
            sums: Arena::new(room.sums),
            pointers: vec![std::ptr::null_mut(); room.pointers],
            terms: Vec::with_capacity(room.terms),
        };
        let pool = Pool::new(options.threads);
        let values = |c: &Arc<[f64]>| c.iter().map(|&x| T::from_f64(x)).collect::<Vec<T>>();
        let mut workers: Vec<_> = (0..pool.workers()).map(worker).collect();
        let mut executable = Executable {
            engine: Engine { arch, lanes, memory: Memory::new(&plan) },
            tiles: Tiles(workers.iter_mut().map(|worker| worker.tile.as_mut_ptr()).collect()),
            workers,
            bytes: room.values(pool.workers()) * size_of::<T>(),
            pool,
            stages,
            constants: plan.constants.iter().map(values).collect(),
            outputs: room.outputs.iter().map(|len| vec![T::default(); *len]).collect(),
            fixed: Arena::new(room.fixed),
            accumulators: Arena::new(room.accumulators),
            packed: Arena::new(room.packed),
            rows: 0,
            shared: None,
            tile_capacity: options.tile_rows.min(options.rows),
            plan,
            options,
        };
        executable.engine.memory.constants = executable.constants.iter().map(|c| c.as_ptr()).collect();
        executable.engine.memory.packed = executable.packed.as_mut_ptr();
        executable.engine.memory.fixed = executable.fixed.as_mut_ptr();
        executable.prepare_constants();
        executable
    }

    /// The settings in force.
    pub fn options(&self) -> CpuOptions {
        self.options
    }

    /// Bytes of working memory, all of which is allocated beforehand. Parameters, inputs and data
    /// sets are not counted.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Starts to measure where the time of runs goes, from zero.
    pub fn measure(&mut self) {
        self.pool.measure();
    }

    /// Where the time of runs went since [`Executable::measure`].
    pub fn times(&self) -> Times {
        self.pool.times()
    }

    /// Value of an output after the last run, row by row.
    pub fn output(&self, name: &str) -> Option<&[T]> {
        let i = self.plan.outputs.iter().position(|o| *o.name == *name)?;
        let shape = self.plan.outputs[i].shape;
        let rows = if shape.is_batch() { self.rows } else { shape.fixed_rows() };
        Some(&self.outputs[i][..rows * shape.cols])
    }

    /// Runs the program once. Nothing is changed if it cannot start.
    pub fn run(&mut self, store: &mut Store<T>, run: &Run<'_, T>) -> Result<(), RunError> {
        self.bind(run, |name, shape| Ok(store.expect_mut(name, shape)?.values.as_mut_ptr()))?;
        self.execute(run);
        Ok(())
    }

    /// Runs a program that updates nothing. Nothing is changed if it cannot start.
    ///
    /// # Errors
    /// [`RunError::Updates`] for a program that does.
    pub fn evaluate(&mut self, store: &Store<T>, run: &Run<'_, T>) -> Result<(), RunError> {
        if self.plan.updates {
            return Err(RunError::Updates);
        }
        // No step writes where a parameter is: there are no updates.
        self.bind(run, |name, shape| Ok(store.expect(name, shape)?.values.as_ptr().cast_mut()))?;
        self.execute(run);
        Ok(())
    }

    fn execute(&mut self, run: &Run<'_, T>) {
        let plan = self.plan.clone();
        let workers = Workers(self.workers.as_mut_ptr());
        for (stage, prepared) in plan.stages.iter().zip(&self.stages[1..]) {
            match (stage, prepared) {
                (Stage::Fixed { waves }, Prepared::Fixed(prepared)) => {
                    self.fixed_stage(&workers, waves, prepared);
                }
                (Stage::Rows(rows), Prepared::Rows { codes, packs, packed, together, .. }) => {
                    self.pack(rows, packs, packed);
                    let (cut, own) = self.own_cut();
                    match (together, self.pieces_of_rows(together.as_deref(), cut, &own)) {
                        (Some(together), pieces @ 2..) => {
                            self.rows_together(&workers, together, packed, (cut, &own), pieces);
                        }
                        _ => self.row_stage(&workers, rows, codes, packed, (cut, &own)),
                    }
                    if let Some(shared) = &mut self.shared {
                        let memory = &mut self.engine.memory;
                        memory.shards =
                            shared.share_sums(&plan, rows, (cut.shards, &own), memory.accumulators);
                    }
                }
                _ => unreachable!("stages are prepared in order"),
            }
        }
        self.gather_rows(run.rows);
        self.rows = run.rows;
    }

    /// Checks everything that is given and notes where it is; `parameter` finds a tensor of a name and shape.
    fn bind(
        &mut self,
        run: &Run<'_, T>,
        mut parameter: impl FnMut(&str, [usize; 2]) -> Result<*mut T, RunError>,
    ) -> Result<(), RunError> {
        let plan = &self.plan;
        if run.rows == 0 || run.rows > self.options.rows {
            return Err(RunError::Rows { found: run.rows, most: self.options.rows });
        }
        let memory = &mut self.engine.memory;
        for (i, input) in plan.inputs.iter().enumerate() {
            let values = find("input", &input.name, run.inputs)?;
            let rows = if input.shape.is_batch() { run.rows } else { input.shape.fixed_rows() };
            check_size("input", &input.name, values.len(), rows * input.shape.cols)?;
            memory.inputs[i] = values.as_ptr();
        }
        for (i, name) in plan.indices.iter().enumerate() {
            let values = find("index", name, run.indices)?;
            check_size("index", name, values.len(), run.rows)?;
            memory.indices[i] = values.as_ptr();
        }
        for (i, data) in plan.data.iter().enumerate() {
            let given = find("data set", &data.name, run.data)?;
            let index = &plan.indices[data.index];
            let largest = find("index", index, run.indices)?.iter().copied().max();
            data.check_index(index, largest, data.rows(given.extent())?)?;
            memory.data[i] = given.into();
        }
        for (i, wanted) in plan.parameters.iter().enumerate() {
            memory.parameters[i] = parameter(&wanted.name, [wanted.shape.fixed_rows(), wanted.shape.cols])?;
        }
        for (pointer, output) in memory.outputs.iter_mut().zip(&mut self.outputs) {
            *pointer = output.as_mut_ptr();
        }
        memory.fixed = self.fixed.as_mut_ptr();
        memory.packed = self.packed.as_mut_ptr();
        memory.accumulators = self.accumulators.as_mut_ptr();
        memory.batch = run.rows;
        memory.shards = shards(run.rows, &self.options);
        (memory.seed, memory.step, memory.row_offset) = (run.seed, run.step, run.row_offset);
        Ok(())
    }

    fn fixed_wave(&self, workers: &Workers<T>, steps: &[Step], wave: &Wave) {
        let engine = &self.engine;
        let run = |task: usize, worker: usize| {
            let (step, rows) = &wave.tasks[task];
            // SAFETY: this thread is `worker` for the duration of the task.
            let worker = unsafe { workers.get(worker) };
            match &wave.codes[*step] {
                Some(code) => engine.group(code, &Frame::fixed(), rows.clone(), worker),
                None => engine.fixed_step(&steps[*step], worker),
            }
        };
        if wave.is_parallel {
            self.pool.run(Part::Fixed, wave.tasks.len(), &run);
        } else {
            (0..wave.tasks.len()).for_each(|task| run(task, 0));
        }
    }

    fn fixed_stage(&self, workers: &Workers<T>, waves: &[Vec<Step>], prepared: &[Wave]) {
        for (steps, wave) in waves.iter().zip(prepared) {
            self.fixed_wave(workers, steps, wave);
        }
    }

    /// Computes what depends on constants alone, and lays out the right operands that never change.
    fn prepare_constants(&mut self) {
        let workers = Workers(self.workers.as_mut_ptr());
        if let Prepared::Fixed(prepared) = &self.stages[0] {
            self.fixed_stage(&workers, &self.plan.once, prepared);
        }
        for (stage, prepared) in self.plan.stages.iter().zip(&self.stages[1..]) {
            if let (Stage::Rows(rows), Prepared::Rows { once, packed, .. }) = (stage, prepared) {
                self.pack(rows, once, packed);
            }
        }
    }

    /// Lays out right operands of the stage's products.
    fn pack(&self, stage: &RowStage, tasks: &[PackTask], packed: &[usize]) {
        let engine = &self.engine;
        self.pool.run(Part::Pack, tasks.len(), &|task, _| engine.pack(stage, &tasks[task], packed));
    }

    /// Takes the rows of some shards through a stage, each shard on one thread.
    fn row_stage(
        &self,
        workers: &Workers<T>,
        stage: &RowStage,
        codes: &[Codes],
        packed: &[usize],
        (cut, own): (Cut, &Range<usize>),
    ) {
        let (engine, targets) = (&self.engine, &self.plan.targets);
        let capacity = self.tile_capacity;
        self.pool.run(Part::Rows, own.len(), &|task, worker| {
            let shard = own.start + task;
            // SAFETY: this thread is `worker` for the duration of the task.
            let worker = unsafe { workers.get(worker) };
            for &t in &stage.clears {
                let len = targets[t].rows * targets[t].cols;
                // SAFETY: the shard's sums belong to this task.
                let sums = unsafe { std::slice::from_raw_parts_mut(engine.memory.target(t, shard), len) };
                sums.fill(T::default());
            }
            let mut tile = 0;
            while let Some(rows) = cut.tile(shard, tile) {
                let frame = Frame {
                    tile: worker.tile.as_mut_ptr(),
                    tile_offsets: stage.offsets.as_ptr(),
                    tile_rows: capacity,
                    first_row: rows.start,
                    shard,
                    first_tile: tile == 0,
                    ..Frame::fixed()
                };
                engine.tile(stage, codes, packed, &frame, rows.len(), worker);
                tile += 1;
            }
        });
    }
}

/// What is given under a name.
pub(crate) fn find<V: Copy>(kind: &'static str, name: &str, given: &[(&str, V)]) -> Result<V, RunError> {
    let found = given.iter().find(|(n, _)| *n == name).map(|(_, values)| *values);
    found.ok_or_else(|| RunError::Missing { kind, name: name.into() })
}

/// Requires a number of values.
pub(crate) fn check_size(
    kind: &'static str,
    name: &str,
    found: usize,
    expected: usize,
) -> Result<(), RunError> {
    if found == expected {
        return Ok(());
    }
    Err(RunError::Size { kind, name: name.into(), expected, found })
}
