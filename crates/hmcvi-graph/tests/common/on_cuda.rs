//! Compare a program on a GPU with itself on the processor, where there is a card.

use std::cell::{Cell, OnceCell};

use hmcvi_graph::cuda::{
    CudaDevice, CudaError, CudaExecutable, CudaOptions, CudaRanks, CudaRun, CudaStore, Precision,
};
use hmcvi_graph::{CpuOptions, Executable, Program, Real, Run, Store};

use super::required::required;
use super::{Point, assert_close};

/// Programs of each test that are compared: compiling their kernels takes about a second.
const PROGRAMS: usize = 12;

thread_local! {
    static DEVICE: OnceCell<Option<CudaDevice>> = const { OnceCell::new() };
    static COMPARED: Cell<usize> = const { Cell::new(0) };
}

/// The GPU, or a note that there is none.
pub fn card() -> Option<CudaDevice> {
    required(CudaDevice::new(0))
}

/// What processes need to add up sums by NCCL, or a note that it is missing.
pub fn required_nccl(found: Result<CudaRanks, CudaError>) -> Option<CudaRanks> {
    required(found)
}

/// Ways to divide rows: as usual, and every other.
pub const DIVISIONS: [(usize, usize); 5] = [(0, 0), (1, 1), (1, 2), (1, 8), (2, 1)];

/// A number that the environment sets, for tools under which everything takes a hundred times as long.
pub fn number(variable: &str) -> Option<usize> {
    std::env::var(variable)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{variable}={text}: no number")))
}

/// The divisions that are tried: all, or the one with the number `HMCVI_TEST_DIVISION`.
pub fn divisions() -> impl Iterator<Item = (usize, usize)> {
    let one = number("HMCVI_TEST_DIVISION");
    DIVISIONS.into_iter().enumerate().filter(move |(i, _)| one.is_none_or(|one| one == *i)).map(|(_, d)| d)
}

/// Options for programs in f32 with rows divided in some way.
pub fn exact(rows: usize, (row_tiles, cluster): (usize, usize)) -> CudaOptions {
    CudaOptions { precision: Precision::F32, row_tiles, cluster, history: 64, ..CudaOptions::for_rows(rows) }
}

/// The card, if there is one and this test has not compared enough programs yet.
fn device() -> Option<CudaDevice> {
    let device = DEVICE.with(|device| device.get_or_init(card).clone());
    let number = COMPARED.with(|n| n.replace(n.get() + 1));
    device.filter(|_| number < PROGRAMS)
}

/// The run with narrower inputs.
fn run_on_cuda<T: Real>(
    executable: &mut CudaExecutable,
    store: &mut CudaStore,
    rows: usize,
    inputs: impl Iterator<Item = (impl AsRef<str>, impl AsRef<[T]>)>,
) {
    let narrow = |v: &[T]| v.iter().map(|x| x.to_f64() as f32).collect();
    let inputs: Vec<(String, Vec<f32>)> =
        inputs.map(|(name, v)| (name.as_ref().to_owned(), narrow(v.as_ref()))).collect();
    let inputs: Vec<(&str, &[f32])> = inputs.iter().map(|(name, v)| (name.as_str(), v.as_slice())).collect();
    executable
        .run(store, &CudaRun { rows, inputs: &inputs, ..CudaRun::default() })
        .expect("it fits the program");
}

/// Requires a run with updates to give the outputs and the parameters of the processor.
pub fn compare_updates(
    program: &Program,
    before: &Store<f64>,
    run: &Run<'_, f64>,
    after: &Store<f64>,
    processor: &Executable<f64>,
) {
    let Some(device) = device() else { return };
    let options = CudaOptions { precision: Precision::F32, ..CudaOptions::for_rows(run.rows) };
    let mut executable = program.on_cuda(&device, &options).expect("it compiles");
    let mut store = CudaStore::upload(&device, &before.convert()).expect("there is room");
    run_on_cuda(&mut executable, &mut store, run.rows, run.inputs.iter().copied());
    let wide = |values: &[f32]| -> Vec<f64> { values.iter().map(|x| f64::from(*x)).collect() };
    for name in program.output_names() {
        let found = wide(&executable.output(name).expect("it is an output"));
        assert_close(name, &found, processor.output(name).expect("it is an output"), 1e-5);
    }
    let found = store.download().expect("it is there");
    for (name, tensor) in after.iter() {
        let found = wide(&found.get(name).expect("it was uploaded").values);
        assert_close(name, &found, &tensor.values, 1e-5);
    }
}

/// Requires all outputs to agree in f32 as far as rounding allows.
pub fn compare<T: Real>(program: &Program, names: &[String], point: &Point<T>) {
    let Some(device) = device() else { return };
    let (exact, rounded) =
        (outputs::<f64, T>(program, names, point), outputs::<f32, T>(program, names, point));
    let options = CudaOptions { precision: Precision::F32, ..CudaOptions::for_rows(point.rows) };
    let mut executable = program.on_cuda(&device, &options).expect("it compiles");
    let mut store = CudaStore::upload(&device, &point.store.convert()).expect("there is room");
    run_on_cuda(&mut executable, &mut store, point.rows, point.inputs.iter().map(|(name, v)| (name, v)));
    for ((name, exact), rounded) in names.iter().zip(exact).zip(rounded) {
        let found = executable.output(name).expect("it is an output");
        assert_eq!(found.len(), exact.len(), "{name} on the card");
        for (i, ((found, exact), rounded)) in found.iter().zip(exact).zip(rounded).enumerate() {
            let (found, rounded) = (f64::from(*found), f64::from(rounded));
            // What f32 cannot hold, or what rounding decides, says nothing about the card.
            if !rounded.is_finite() || !exact.is_finite() {
                assert!(!found.is_finite() || exact.is_finite(), "{name}, value {i}: {found}, not {exact}");
                continue;
            }
            let limit = 1e-4 * exact.abs().max(1.0) + 30.0 * (rounded - exact).abs();
            assert!(
                (found - exact).abs() <= limit,
                "{name}, value {i}: {found} on the card, not {exact}\n{program}"
            );
        }
    }
}

fn outputs<R: Real, T: Real>(program: &Program, names: &[String], point: &Point<T>) -> Vec<Vec<R>> {
    let mut executable = program.on_cpu::<R>(CpuOptions { threads: 1, ..CpuOptions::for_rows(point.rows) });
    let inputs: Vec<(&str, Vec<R>)> = point
        .inputs
        .iter()
        .map(|(name, v)| (name.as_str(), v.iter().map(|x| R::from_f64(x.to_f64())).collect()))
        .collect();
    let inputs: Vec<(&str, &[R])> = inputs.iter().map(|(name, v)| (*name, v.as_slice())).collect();
    let run = Run { rows: point.rows, inputs: &inputs, ..Run::default() };
    executable.run(&mut point.store.convert(), &run).expect("the point fits the program");
    names.iter().map(|name| executable.output(name).expect("it is an output").to_vec()).collect()
}
