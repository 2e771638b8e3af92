//! Compare a program on a graphics card with itself on the processor, where there is a card.

use std::cell::{Cell, OnceCell};

use hmcvi_graph::cuda::{CudaDevice, CudaOptions, CudaRun, CudaStore, Precision};
use hmcvi_graph::{CpuOptions, Program, Real, Run};

use super::Point;

/// Programs of each test that are compared: compiling their kernels takes about a second.
const PROGRAMS: usize = 12;

thread_local! {
    static DEVICE: OnceCell<Option<CudaDevice>> = const { OnceCell::new() };
    static COMPARED: Cell<usize> = const { Cell::new(0) };
}

/// Requires all outputs to agree in f32 as far as rounding allows.
pub fn compare<T: Real>(program: &Program, names: &[String], point: &Point<T>) {
    let device = DEVICE.with(|device| device.get_or_init(|| CudaDevice::new(0).ok()).clone());
    let number = COMPARED.with(|n| n.replace(n.get() + 1));
    let Some(device) = device.filter(|_| number < PROGRAMS) else { return };
    let (exact, rounded) =
        (outputs::<f64, T>(program, names, point), outputs::<f32, T>(program, names, point));
    let options = CudaOptions { precision: Precision::F32, ..CudaOptions::for_rows(point.rows) };
    let mut executable = program.on_cuda(&device, &options).expect("it compiles");
    let mut store = CudaStore::upload(&device, &point.store.convert()).expect("there is room");
    let inputs: Vec<(&str, Vec<f32>)> = point
        .inputs
        .iter()
        .map(|(name, v)| (name.as_str(), v.iter().map(|x| x.to_f64() as f32).collect()))
        .collect();
    let inputs: Vec<(&str, &[f32])> = inputs.iter().map(|(name, v)| (*name, v.as_slice())).collect();
    let run = CudaRun { rows: point.rows, inputs: &inputs, ..CudaRun::default() };
    executable.run(&mut store, &run).expect("the point fits the program");
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
