//! Run a program's kernels as one CUDA graph.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::sys::{CUfunction_attribute, CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode};
use cudarc::driver::{
    CudaFunction, CudaGraph, CudaSlice, CudaStream, DeviceRepr, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;

use super::code::{self, Grid, Launch};
use super::compile::Compiler;
use super::device::CudaDevice;
use super::error::CudaError;
use super::layout::{Area, Bases, FIRST_POINTER, RUN_WORDS, Tiling, history, small_inputs};
use super::memory::{CudaStore, address};
use super::ranks::{CudaRanks, Room};
use super::{CudaIndices, CudaOptions, CudaRun, Precision};
use crate::cpu::{bytes, check_size, find};
use crate::error::RunError;
use crate::plan::{Named, Plan};
use crate::ranks::{ends, own_part, part};

/// Launches that were recorded for a number of tiles.
struct Recorded(CudaGraph);

// SAFETY: a graph belongs to no thread; the driver asks only that no two use it at once, and whoever launches it has
// the executable that owns it to himself.
unsafe impl Send for Recorded {}

/// What a run's description consists of; see `set_run`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Words([u64; RUN_WORDS]);

// SAFETY: plain words, which mean the same to both sides.
unsafe impl DeviceRepr for Words {}

/// Launches that wait for no other process, and the sums that are to be added up with others behind them.
struct Segment {
    launches: Range<usize>,
    sums: Vec<Range<usize>>,
}

/// Cuts launches where the sums of a row stage are to be added up with those of other processes.
fn segments(code: &code::Code, is_shared: bool) -> Vec<Segment> {
    let (mut segments, mut first) = (Vec::new(), 0);
    for (end, sums) in code.ends.iter().filter(|(_, sums)| is_shared && !sums.is_empty()) {
        segments.push(Segment { launches: first..*end, sums: sums.clone() });
        first = *end;
    }
    if first < code.launches.len() {
        segments.push(Segment { launches: first..code.launches.len(), sums: Vec::new() });
    }
    segments
}

/// A program prepared to run on a GPU, with all the memory it needs.
pub struct CudaExecutable {
    plan: Arc<Plan>,
    device: CudaDevice,
    tiling: Tiling,
    set_run: CudaFunction,
    launches: Vec<(Launch, CudaFunction)>,
    segments: Vec<Segment>,
    /// Captured launches of each segment, where there are any, by the number of tiles.
    graphs: HashMap<usize, Vec<Option<Recorded>>>,
    /// Processes that share the rows.
    shared: Option<(Arc<CudaRanks>, Room)>,
    /// Most rows of a run of all processes.
    most: usize,
    /// Base addresses on the device, and the store that they point to.
    table: CudaSlice<u64>,
    table_of: u64,
    words: CudaSlice<u64>,
    small_inputs: Vec<Option<usize>>,
    /// Inputs and indices that are copied with runs.
    inputs: Vec<Option<CudaSlice<f32>>>,
    /// Values that each input had when it was last copied.
    copied: Vec<usize>,
    indices: Vec<CudaSlice<u32>>,
    constants: Vec<CudaSlice<f32>>,
    outputs: Vec<CudaSlice<f32>>,
    /// By [`Area`].
    areas: Vec<CudaSlice<f32>>,
    steps: Vec<String>,
    history_places: Vec<Option<usize>>,
    history_len: usize,
    history_runs: usize,
    /// Runs since the history was cleared, and rows of the last one.
    runs: usize,
    last_rows: usize,
}

/// Threads of a block of the row stages: few where many blocks share a tile, since each has little to do.
fn threads(cluster: usize) -> usize {
    if cluster >= 4 { 256 } else { 512 }
}

/// How rows are divided: many processors to a tile for small batches, one for large ones.
pub(super) fn tiling(options: &CudaOptions, processors: usize, capability: (i32, i32)) -> Tiling {
    let rows = options.rows.max(1);
    // Tiles of 32 rows read weights half as often, but there are half as many to share out.
    let overfull = rows.div_ceil(16) * options.sharers.max(1) > processors;
    let row_tiles = if options.row_tiles > 0 { options.row_tiles } else { 1 + usize::from(overfull) };
    let tiles = rows.div_ceil(16 * row_tiles);
    // A cluster's blocks must be neighbours on the chip, so a quarter of it can be out of reach.
    let fits = |cluster: &usize| 4 * cluster * tiles * options.sharers.max(1) <= 3 * processors;
    let cluster = [8, 6, 4, 3, 2].into_iter().find(fits).unwrap_or(1);
    let cluster = if options.cluster > 0 { options.cluster } else { cluster };
    let cluster = if capability >= (9, 0) { cluster } else { 1 };
    Tiling {
        exact: options.precision == Precision::F32,
        threads: threads(cluster),
        row_tiles,
        cluster,
        rows,
        trace: options.trace,
    }
}

impl CudaExecutable {
    pub(super) fn new(
        plan: Arc<Plan>,
        device: &CudaDevice,
        options: &CudaOptions,
        ranks: Option<Arc<CudaRanks>>,
    ) -> Result<Self, CudaError> {
        let processes = ranks.as_ref().map_or(1, |shared| shared.ranks().size());
        let own = CudaOptions { rows: options.rows.max(1).div_ceil(processes), ..options.clone() };
        let tiling = tiling(&own, device.processors, device.capability);
        let written = code::write(&plan, tiling, device.shared, device.processors);
        let segments = segments(&written, ranks.is_some());
        let (major, minor) = device.capability;
        let compiler = Compiler::get()?;
        let code = compiler.machine_code(
            &written.source,
            &format!("sm_{major}{minor}"),
            options.cache.as_deref(),
        )?;
        let module = device.stream.context().load_module(Ptx::from_binary(code)).map_err(|e| match e.0 {
            CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION | CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => {
                CudaError::OldDriver { compiler: compiler.version() }
            }
            _ => e.into(),
        })?;
        let function = |launch: Launch| {
            let function = module.load_function(&launch.kernel)?;
            if launch.shared > 48 << 10 {
                let most = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                function.set_attribute(most, launch.shared as i32)?;
            }
            Ok((launch, function))
        };
        let launches = written.launches.into_iter().map(function).collect::<Result<_, CudaError>>()?;
        let values = |c: &Arc<[f64]>| device.copy(&c.iter().map(|&x| x as f32).collect::<Vec<f32>>());
        let whole = tiling.tiles() * tiling.tile_rows();
        let len = |n: &Named| if n.shape.is_batch() { whole * n.shape.cols } else { n.shape.elements() };
        let small_inputs = small_inputs(&plan);
        let given = |(input, small): (&Named, &Option<usize>)| {
            if small.is_some() { Ok(None) } else { device.zeros(len(input)).map(Some) }
        };
        let (history_places, history_len) = history(&plan);
        let history_runs = options.history.max(1);
        let area = |area: Area| {
            device.zeros::<f32>(match area {
                Area::Tiles => written.tiles,
                Area::Own => written.own,
                Area::Fixed => plan.fixed_len,
                Area::Sums => plan.accumulator_len,
                Area::Parts => written.parts,
                Area::Packed => written.packed,
                Area::History => history_len * history_runs,
                Area::Trace => 4 * written.steps.len(),
            })
        };
        Ok(CudaExecutable {
            set_run: module.load_function("set_run")?,
            launches,
            segments,
            graphs: HashMap::new(),
            shared: ranks.map(|ranks| {
                let room = ranks.room(plan.accumulator_len);
                (ranks, room)
            }),
            most: options.rows.max(1),
            table: device.zeros(Bases::new(&plan).len())?,
            table_of: 0,
            words: device.zeros(RUN_WORDS)?,
            inputs: plan.inputs.iter().zip(&small_inputs).map(given).collect::<Result<_, CudaError>>()?,
            copied: vec![0; plan.inputs.len()],
            indices: plan.indices.iter().map(|_| device.zeros(whole)).collect::<Result<_, _>>()?,
            constants: plan.constants.iter().map(values).collect::<Result<_, _>>()?,
            outputs: plan.outputs.iter().map(|o| device.zeros(len(o))).collect::<Result<_, _>>()?,
            areas: Area::ALL.into_iter().map(area).collect::<Result<_, _>>()?,
            steps: written.steps,
            small_inputs,
            history_places,
            history_len,
            history_runs,
            runs: 0,
            last_rows: 0,
            device: device.clone(),
            tiling,
            plan,
        })
    }

    /// Kernels that a run consists of.
    pub fn kernels(&self) -> usize {
        self.launches.len() + 1
    }

    /// Most rows that a run may have, of all processes.
    pub fn rows(&self) -> usize {
        self.most
    }

    /// Rows of a tile, and processors that share one.
    pub fn tile(&self) -> (usize, usize) {
        (self.tiling.tile_rows(), self.tiling.cluster)
    }

    /// Multiprocessors that the row stages of a full run occupy.
    pub fn blocks(&self) -> usize {
        self.tiling.tiles() * self.tiling.cluster
    }

    /// Bytes of memory on the device. Parameters and data sets are not counted.
    pub fn bytes(&self) -> usize {
        let slices = self.areas.iter().chain(&self.outputs).chain(&self.constants);
        let inputs = self.inputs.iter().flatten();
        let values: usize = slices.chain(inputs).map(CudaSlice::len).sum();
        let indices: usize = self.indices.iter().map(CudaSlice::len).sum();
        (values + indices) * 4 + (self.table.len() + self.words.len()) * 8
    }

    /// Queues a run. Nothing is changed if it cannot start; results are there when they are asked for.
    pub fn run(&mut self, store: &mut CudaStore, run: &CudaRun<'_>) -> Result<(), CudaError> {
        self.queue(store, run)
    }

    /// Queues a run of a program that updates nothing.
    pub fn evaluate(&mut self, store: &CudaStore, run: &CudaRun<'_>) -> Result<(), CudaError> {
        if self.plan.updates {
            return Err(RunError::Updates.into());
        }
        self.queue(store, run)
    }

    fn queue(&mut self, store: &CudaStore, run: &CudaRun<'_>) -> Result<(), CudaError> {
        let words = self.bind(store, run)?;
        if self.table_of != store.number {
            self.point_to(store)?;
        }
        self.copy_inputs(run)?;
        let config =
            LaunchConfig { grid_dim: (1, 1, 1), block_dim: (RUN_WORDS as u32, 1, 1), shared_mem_bytes: 0 };
        let stream = &self.device.stream;
        // SAFETY: the kernel copies the words, for which there is room.
        unsafe { stream.launch_builder(&self.set_run).arg(&mut self.words).arg(&words).launch(config)? };
        let tiles = self.own_rows(run.rows).len().div_ceil(self.tiling.tile_rows());
        if !self.graphs.contains_key(&tiles) {
            let graphs = self.segments.iter().map(|segment| self.capture(segment, tiles));
            let graphs = graphs.collect::<Result<_, _>>()?;
            self.graphs.insert(tiles, graphs);
        }
        for (graph, segment) in self.graphs[&tiles].iter().zip(&self.segments) {
            if let Some(Recorded(graph)) = graph {
                graph.launch()?;
            }
            if let Some((ranks, room)) = &mut self.shared {
                let sums = &mut self.areas[Area::Sums as usize];
                for place in &segment.sums {
                    ranks.add(&self.device, sums, place, room)?;
                }
            }
        }
        self.runs += 1;
        self.last_rows = run.rows;
        Ok(())
    }

    /// Rows of this process, of so many of all.
    fn own_rows(&self, rows: usize) -> Range<usize> {
        self.shared.as_ref().map_or(0..rows, |(shared, _)| own_part(&**shared.ranks(), rows))
    }

    /// Checks everything that is given, and describes the run.
    fn bind(&self, store: &CudaStore, run: &CudaRun<'_>) -> Result<Words, CudaError> {
        let plan = &self.plan;
        if !store.device.is_same_queue(&self.device) {
            return Err(CudaError::OtherQueue { what: "the parameters" });
        }
        if run.rows == 0 || run.rows > self.most {
            return Err(RunError::Rows { found: run.rows, most: self.most }.into());
        }
        let own = self.own_rows(run.rows);
        let mut words = Words([0; RUN_WORDS]);
        let slot = self.runs % self.history_runs;
        words.0[..FIRST_POINTER].copy_from_slice(&[
            run.seed,
            run.step,
            run.row_offset + own.start as u64,
            own.len() as u64 | (slot as u64) << 32,
            run.rows as u64,
        ]);
        for (i, input) in plan.inputs.iter().enumerate() {
            let rows = if input.shape.is_batch() { run.rows } else { input.shape.fixed_rows() };
            let expected = rows * input.shape.cols;
            if run.kept.contains(&&*input.name) {
                check_size("input", &input.name, self.copied[i], expected)?;
                continue;
            }
            let values = find("input", &input.name, run.inputs)?;
            check_size("input", &input.name, values.len(), expected)?;
            if let Some(at) = self.small_inputs[i] {
                for (j, x) in values.iter().enumerate() {
                    words.0[at + j / 2] |= u64::from(x.to_bits()) << (32 * (j % 2));
                }
            }
        }
        for (i, data) in plan.data.iter().enumerate() {
            let given = find("data set", &data.name, run.data)?;
            let index = &plan.indices[data.index];
            let largest = match find("index", index, run.indices)? {
                CudaIndices::Host(values) => values.iter().copied().max(),
                CudaIndices::Device(index, _) => index.largest(),
            };
            data.check_index(index, largest, data.rows(given.extent())?)?;
            words.0[FIRST_POINTER + i] = given.address();
        }
        for (i, name) in plan.indices.iter().enumerate() {
            words.0[FIRST_POINTER + plan.data.len() + i] = match find("index", name, run.indices)? {
                CudaIndices::Host(values) => {
                    check_size("index", name, values.len(), run.rows)?;
                    address(&self.device, &self.indices[i])
                }
                CudaIndices::Device(index, first) => {
                    if !index.device.is_same_queue(&self.device) {
                        return Err(CudaError::OtherQueue { what: "the indices" });
                    }
                    let room = index.len().saturating_sub(first).min(run.rows);
                    check_size("index", name, room, run.rows)?;
                    index.address(first + own.start)
                }
            };
        }
        for parameter in &plan.parameters {
            store.expect(&parameter.name, [parameter.shape.fixed_rows(), parameter.shape.cols])?;
        }
        Ok(words)
    }

    /// Writes the table of base addresses for a store.
    fn point_to(&mut self, store: &CudaStore) -> Result<(), CudaError> {
        let (plan, device) = (&self.plan, &self.device);
        let bases = Bases::new(plan);
        let mut table = vec![0u64; bases.len()];
        for (i, p) in plan.parameters.iter().enumerate() {
            table[bases.parameter(i)] = store.expect(&p.name, [p.shape.fixed_rows(), p.shape.cols])?;
        }
        for (i, (input, small)) in self.inputs.iter().zip(&self.small_inputs).enumerate() {
            table[bases.input(i)] = match (input, small) {
                (Some(values), _) => address(device, values),
                (None, at) => address(device, &self.words) + 8 * at.unwrap_or(0) as u64,
            };
        }
        for (i, constant) in self.constants.iter().enumerate() {
            table[bases.constant(i)] = address(device, constant);
        }
        for (i, output) in self.outputs.iter().enumerate() {
            table[bases.output(i)] = address(device, output);
        }
        for (area, memory) in Area::ALL.into_iter().zip(&self.areas) {
            table[bases.area(area)] = address(device, memory);
        }
        device.stream.memcpy_htod(&table, &mut self.table)?;
        self.table_of = store.number;
        Ok(())
    }

    /// Copies inputs and indices that have memory of their own.
    fn copy_inputs(&mut self, run: &CudaRun<'_>) -> Result<(), CudaError> {
        let (own, stream) = (self.own_rows(run.rows), &self.device.stream);
        let places = self.inputs.iter_mut().zip(&mut self.copied);
        for (input, (memory, copied)) in self.plan.inputs.iter().zip(places) {
            if let Some(memory) = memory.as_mut().filter(|_| !run.kept.contains(&&*input.name)) {
                let values = find("input", &input.name, run.inputs)?;
                *copied = values.len();
                let cols = input.shape.cols;
                let rows = if input.shape.is_batch() { own.clone() } else { 0..values.len() / cols.max(1) };
                copy(stream, &values[rows.start * cols..rows.end * cols], memory)?;
            }
        }
        for (name, memory) in self.plan.indices.iter().zip(&mut self.indices) {
            if let CudaIndices::Host(values) = find("index", name, run.indices)? {
                copy(stream, &values[own.clone()], memory)?;
            }
        }
        Ok(())
    }

    /// Captures the launches of a segment for so many tiles; nothing where there are none.
    fn capture(&self, segment: &Segment, tiles: usize) -> Result<Option<Recorded>, CudaError> {
        let has_work = |launch: &Launch| tiles > 0 || launch.grid != Grid::Tiles;
        let launches = &self.launches[segment.launches.clone()];
        let launches: Vec<_> = launches.iter().filter(|(launch, _)| has_work(launch)).collect();
        if launches.is_empty() {
            return Ok(None);
        }
        let stream = &self.device.stream;
        stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        let launched = self.launch(&launches, tiles);
        let graph = stream.end_capture(CUgraphInstantiate_flags(0));
        launched?;
        let graph = graph?.ok_or_else(|| CudaError::Driver("the queue captured nothing".into()))?;
        Ok(Some(Recorded(graph)))
    }

    fn config(&self, launch: &Launch, tiles: usize) -> LaunchConfig {
        let blocks = match launch.grid {
            Grid::Blocks(n) => n,
            Grid::Tiles => tiles * self.tiling.cluster,
        };
        LaunchConfig {
            grid_dim: (blocks as u32, 1, 1),
            block_dim: (launch.threads as u32, 1, 1),
            shared_mem_bytes: launch.shared as u32,
        }
    }

    fn launch(&self, launches: &[&(Launch, CudaFunction)], tiles: usize) -> Result<(), CudaError> {
        for (launch, function) in launches {
            let config = self.config(launch, tiles);
            let mut builder = self.device.stream.launch_builder(function);
            // SAFETY: generated kernels stay within the memory that the layout gives them.
            unsafe { builder.arg(&self.table).arg(&self.words).launch(config)? };
        }
        Ok(())
    }

    /// Times each kernel of a run on its own, in microseconds: the median of some repetitions. The
    /// store changes as by that many runs.
    pub fn profile(&mut self, repetitions: usize) -> Result<Vec<(String, f64)>, CudaError> {
        let stream = self.device.stream.clone();
        let tiles = self.own_rows(self.last_rows).len().max(1).div_ceil(self.tiling.tile_rows());
        let mut times = vec![Vec::new(); self.launches.len()];
        for _ in 0..repetitions.max(1) {
            for (i, (launch, function)) in self.launches.iter().enumerate() {
                let config = self.config(launch, tiles);
                let mut builder = stream.launch_builder(function);
                builder.arg(&self.table).arg(&self.words);
                builder.record_kernel_launch(cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT);
                // SAFETY: as in a run.
                if let Some((start, end)) = unsafe { builder.launch(config)? } {
                    times[i].push(f64::from(start.elapsed_ms(&end)?) * 1e3);
                }
            }
        }
        let median = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or(0.0)
        };
        let names = self.launches.iter().map(|(launch, _)| launch.kernel.clone());
        Ok(names.zip(times).map(|(name, times)| (name, median(times))).collect())
    }

    /// Clock cycles that the steps of the row stages took in the first block of the last run: what each does,
    /// how long it waited for others, and how long it took. Only with [`CudaOptions::trace`].
    pub fn trace(&self) -> Result<Vec<(String, u64, u64)>, CudaError> {
        let words = self.device.stream.clone_dtoh(&self.areas[Area::Trace as usize])?;
        let time = |i: usize| u64::from(words[2 * i].to_bits()) | u64::from(words[2 * i + 1].to_bits()) << 32;
        let steps = self.steps.iter().enumerate().filter(|(_, label)| *label != "end");
        let spans = steps.map(|(i, label)| {
            let (wait, begin, end) = (time(2 * i), time(2 * i + 1), time(2 * i + 2));
            (label.clone(), begin.wrapping_sub(wait), end.wrapping_sub(begin))
        });
        Ok(spans.collect())
    }

    /// Value of an output after the last run, row by row, of all processes. Waits for it.
    pub fn output(&self, name: &str) -> Result<Vec<f32>, CudaError> {
        let i = self.output_number(name)?;
        let shape = self.plan.outputs[i].shape;
        if !shape.is_batch() {
            return self
                .wait(|| Ok(self.device.stream.clone_dtoh(&self.outputs[i].slice(..shape.elements()))?));
        }
        let (own, cols) = (self.own_rows(self.last_rows), shape.cols);
        let mut values = vec![0.0; self.last_rows * cols];
        if !own.is_empty() {
            let here = &mut values[own.start * cols..own.end * cols];
            self.wait(|| self.device.stream.memcpy_dtoh(&self.outputs[i].slice(..own.len() * cols), here))?;
        }
        if let Some((shared, _)) = &self.shared {
            let (ranks, row) = (&**shared.ranks(), cols * size_of::<f32>());
            let first = |rank| part(rank, ranks.size(), self.last_rows) * row;
            ranks.gather(bytes(&mut values), &ends(ranks, first));
        }
        Ok(values)
    }

    /// Does something that waits for the GPU, and so perhaps for other processes.
    fn wait<R>(&self, work: impl FnOnce() -> R) -> R {
        match &self.shared {
            Some((shared, _)) => shared.wait(work),
            None => work(),
        }
    }

    /// Values of the small fixed outputs in all runs since [`clear_history`](Self::clear_history), or in the last
    /// ones that there is room for. Waits for them.
    pub fn history(&self) -> Result<History<'_>, CudaError> {
        let all = self.wait(|| self.device.stream.clone_dtoh(&self.areas[Area::History as usize]))?;
        Ok(History { of: self, all })
    }

    /// Forgets the outputs of earlier runs.
    pub fn clear_history(&mut self) {
        self.runs = 0;
    }

    /// Waits until all queued runs are done.
    pub fn synchronise(&self) -> Result<(), CudaError> {
        self.wait(|| self.device.synchronise())
    }

    fn output_number(&self, name: &str) -> Result<usize, CudaError> {
        let found = self.plan.outputs.iter().position(|o| *o.name == *name);
        Ok(found.ok_or_else(|| RunError::Missing { kind: "output", name: name.into() })?)
    }
}

/// Copies values to the beginning of memory on the device.
fn copy<T: DeviceRepr>(
    stream: &Arc<CudaStream>,
    values: &[T],
    memory: &mut CudaSlice<T>,
) -> Result<(), CudaError> {
    if values.is_empty() {
        return Ok(());
    }
    Ok(stream.memcpy_htod(values, &mut memory.slice_mut(..values.len()))?)
}

/// What many runs returned, copied from the device at once.
pub struct History<'e> {
    of: &'e CudaExecutable,
    all: Vec<f32>,
}

impl History<'_> {
    /// Values of an output, run after run.
    pub fn output(&self, name: &str) -> Result<Vec<f32>, CudaError> {
        let of = self.of;
        let i = of.output_number(name)?;
        let Some(at) = of.history_places[i] else {
            return Err(RunError::Missing { kind: "history of output", name: name.into() }.into());
        };
        let len = of.plan.outputs[i].shape.elements();
        let first = of.runs.saturating_sub(of.history_runs);
        let value = |run: usize| {
            let from = run % of.history_runs * of.history_len + at;
            self.all[from..from + len].iter().copied()
        };
        Ok((first..of.runs).flat_map(value).collect())
    }
}
