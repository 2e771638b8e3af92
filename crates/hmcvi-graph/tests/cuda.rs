//! Run programs on a GPU and on the CPU, and compare. Without a GPU every test says so and passes.
#![cfg(feature = "cuda")]
#![allow(clippy::print_stderr, reason = "errors are shown with what fails")]

mod common;
#[path = "common/reference.rs"]
mod reference;

use common::on_cuda::{DIVISIONS, card, exact};
use common::{Draws, Function, Point, assert_close, check, error};
use hmcvi_graph::cuda::{
    CudaData, CudaDevice, CudaError, CudaIndex, CudaIndices, CudaOptions, CudaRun, CudaStore,
};
use hmcvi_graph::{CpuOptions, DataSet, Expr, Graph, Program, Run, RunError, Shape, SparseRows, Store};
use proptest::prelude::*;
use reference::Recipe;

fn outputs(values: &[Expr<'_>]) -> (Program, Vec<String>) {
    let names: Vec<String> = (0..values.len()).map(|i| format!("output {i}")).collect();
    let mut program = values[0].graph().program();
    for (name, value) in names.iter().zip(values) {
        program = program.output(name, *value);
    }
    (program.compile().expect("the program is well formed"), names)
}

/// Values of some expressions at a point, on the GPU.
fn on_gpu(
    device: &CudaDevice,
    values: &[Expr<'_>],
    point: &Point<f32>,
    options: &CudaOptions,
) -> Vec<Vec<f64>> {
    let (program, names) = outputs(values);
    let mut executable = program.on_cuda(device, options).unwrap_or_else(|why| panic!("{why}"));
    let mut store = CudaStore::upload(device, &point.store).expect("there is memory");
    let inputs: Vec<(&str, &[f32])> = point.inputs.iter().map(|(n, v)| (n.as_str(), v.as_slice())).collect();
    let run = CudaRun { rows: point.rows, inputs: &inputs, ..CudaRun::default() };
    executable.run(&mut store, &run).expect("the point fits the program");
    let wide = |name: &String| -> Vec<f64> {
        executable.output(name).expect("it is an output").iter().map(|x| f64::from(*x)).collect()
    };
    names.iter().map(wide).collect()
}

fn narrow(point: &Point<f64>) -> Point<f32> {
    let short = |v: &Vec<f64>| v.iter().map(|x| *x as f32).collect();
    Point {
        rows: point.rows,
        inputs: point.inputs.iter().map(|(n, v)| (n.clone(), short(v))).collect(),
        store: point.store.convert(),
    }
}

/// The GPU must be about as near to the CPU's f64 as the CPU's f32 is.
#[track_caller]
fn compare(device: &CudaDevice, values: &[Expr<'_>], point: &Point<f64>, options: &CudaOptions, what: &str) {
    let single = narrow(point);
    let mut double = Point::<f64>::new(point.rows);
    double.store = single.store.convert();
    double.inputs =
        single.inputs.iter().map(|(n, v)| (n.clone(), v.iter().map(|x| f64::from(*x)).collect())).collect();
    let expected = Function::<f64>::new(values, point.rows).call(&double);
    let cpu = Function::<f32>::new(values, point.rows).call(&single);
    let found = on_gpu(device, values, &single, options);
    for (i, ((found, expected), cpu)) in found.iter().zip(&expected).zip(&cpu).enumerate() {
        let cpu: Vec<f64> = cpu.iter().map(|x| f64::from(*x)).collect();
        let limit = 5e-5 + 30.0 * error(&cpu, expected);
        assert_close(&format!("{what}, value {i}"), found, expected, limit);
    }
}

#[test]
fn random_programs_give_the_values_of_the_cpu() {
    let Some(device) = card() else { return };
    let choice = prop::array::uniform4(any::<u16>());
    let strategy = (prop::collection::vec(choice, 20..60), 0usize..6, 0usize..5, any::<u64>());
    check(71, 40, strategy, |(choices, rows, division, seed)| {
        let rows = [1, 3, 16, 17, 33, 70][rows];
        let graph = Graph::new();
        let (all, point) = Recipe::new(rows, &choices, seed).build(&graph, rows);
        compare(&device, &all, &point, &exact(rows, DIVISIONS[division]), "random program");
    });
}

#[test]
fn derivatives_of_random_programs_are_those_of_the_cpu() {
    let Some(device) = card() else { return };
    let choice = prop::array::uniform4(any::<u16>());
    let strategy = (prop::collection::vec(choice, 15..40), 0usize..4, 0usize..5, any::<u64>());
    check(72, 25, strategy, |(choices, rows, division, seed)| {
        let rows = [2, 16, 19, 50][rows];
        let graph = Graph::new();
        let (all, point) = Recipe::new(rows, &choices, seed).build(&graph, rows);
        let loss = (all[all.len() - 1].tanh().sum() + all[all.len() / 2].tanh().sum()) * 0.5;
        let wrt = &all[..8];
        let first = graph.grad(loss, wrt);
        let second = graph.grad(first.iter().fold(loss, |sum, g| sum + g.tanh().sum()), wrt);
        let wanted: Vec<Expr<'_>> = first.into_iter().chain(second).collect();
        compare(&device, &wanted, &point, &exact(rows, DIVISIONS[division]), "derivatives");
    });
}

/// Products of many sizes: rows, depth and columns.
const PRODUCTS: [[usize; 3]; 12] = [
    [1, 1, 1],
    [2, 1, 2],
    [5, 4, 4],
    [16, 16, 8],
    [17, 15, 9],
    [33, 100, 130],
    [64, 31, 257],
    [100, 321, 7],
    [70, 784, 200],
    [40, 200, 784],
    [20, 3000, 5],
    [19, 4100, 33],
];

/// Products of one size, of rows and of fixed values, and where they are computed.
fn products(graph: &Graph, [rows, depth, cols]: [usize; 3]) -> ([Expr<'_>; 7], Point<f64>) {
    let mut draws = Draws((rows * 1_000_000 + depth * 1000 + cols) as u64);
    let mut point = Point::<f64>::new(rows);
    let mut vector = |len: usize| draws.vector(len, -1.0, 1.0);
    let (values, weights, others) = (vector(rows * depth), vector(depth * cols), vector(rows * cols));
    let x = point.input(graph, "x", Shape::batch(depth), values.clone());
    let fixed = point.parameter(graph, "fixed", Shape::fixed(rows, depth), values);
    let w = point.parameter(graph, "w", Shape::fixed(depth, cols), weights.clone());
    let transposed = point.parameter(graph, "wt", Shape::fixed(cols, depth), weights);
    let y = point.input(graph, "y", Shape::batch(cols), others.clone());
    let fixed_y = point.parameter(graph, "fixed_y", Shape::fixed(rows, cols), others);
    let values = [
        x.matmul(w),
        fixed.matmul(w),
        x.matmul_transposed(transposed),
        fixed.matmul_transposed(transposed),
        x.transposed_matmul(y),
        fixed.transposed_matmul(fixed_y),
        (x.exp()).matmul(w).tanh().matmul_transposed(w),
    ];
    (values, point)
}

#[test]
fn products_of_all_sizes() {
    let Some(device) = card() else { return };
    for (i, size) in PRODUCTS.into_iter().enumerate() {
        let graph = Graph::new();
        let (values, point) = products(&graph, size);
        for division in [DIVISIONS[i % 5], DIVISIONS[(i + 3) % 5]] {
            let what = format!("products of {size:?} divided as {division:?}");
            compare(&device, &values, &point, &exact(size[0], division), &what);
        }
    }
}

#[test]
fn products_of_all_sizes_in_tf32() {
    let Some(device) = card() else { return };
    for size in PRODUCTS {
        let graph = Graph::new();
        let (values, point) = products(&graph, size);
        let [rows, depth, _] = size;
        let found = on_gpu(&device, &values[..1], &narrow(&point), &CudaOptions::for_rows(rows));
        let expected = Function::<f64>::new(&values[..1], rows).call(&point);
        // TF32 has ten bits behind the point.
        assert_close("product in TF32", &found[0], &expected[0], 1e-3 * (depth as f64).sqrt());
    }
}

#[test]
fn draws_are_those_of_the_cpu() {
    let Some(device) = card() else { return };
    let graph = Graph::new();
    let bytes = graph.gather("data", "index", 45);
    let (normal, uniform) = (graph.normal(3, 70), graph.uniform(9, 45));
    let program = graph.program().output("normal", normal).output("uniform", uniform);
    let program = program.output("drawn", uniform.less(bytes / 256.0)).compile().expect("well formed");
    let rows = 37;
    let data: Vec<u8> = (0..45 * 20).map(|i| (i * 37 % 256) as u8).collect();
    let index: Vec<u32> = (0..rows as u32).map(|i| i * 7 % 20).collect();
    let (seed, step, row_offset) = (0x1234_5678_9abc_def0, (3 << 32) + 11, 1000);
    let mut cpu = program.on_cpu::<f32>(CpuOptions::for_rows(rows));
    let given = Run {
        rows,
        data: &[("data", DataSet::Bytes(&data))],
        indices: &[("index", &index)],
        seed,
        step,
        row_offset,
        ..Run::default()
    };
    cpu.run(&mut Store::new(), &given).expect("everything is given");
    let uploaded = CudaData::upload(&device, DataSet::Bytes(&data)).expect("there is memory");
    let all: Vec<u32> = [9, 9, 9].into_iter().chain(index.iter().copied()).collect();
    let on_device = CudaIndex::upload(&device, &all).expect("there is memory");
    for division in DIVISIONS {
        let mut gpu = program.on_cuda(&device, &exact(rows, division)).expect("it compiles");
        let mut store = CudaStore::upload(&device, &Store::new()).expect("there is memory");
        for indices in [CudaIndices::Host(&index), CudaIndices::Device(&on_device, 3)] {
            let run = CudaRun {
                rows,
                data: &[("data", &uploaded)],
                indices: &[("index", indices)],
                seed,
                step,
                row_offset,
                ..CudaRun::default()
            };
            gpu.run(&mut store, &run).expect("everything is given");
            let of = |name| gpu.output(name).expect("an output");
            assert_eq!(of("uniform"), cpu.output("uniform").expect("an output"));
            assert_eq!(of("drawn"), cpu.output("drawn").expect("an output"));
            for (a, b) in of("normal").iter().zip(cpu.output("normal").expect("an output")) {
                assert!((a - b).abs() <= 2e-6 * b.abs().max(1.0), "{a} is not {b}");
            }
        }
    }
}

#[test]
fn log_gamma_and_its_derivatives_are_those_of_the_cpu() {
    let Some(device) = card() else { return };
    let graph = Graph::new();
    let mut point = Point::<f64>::new(70);
    let values = Draws(4).vector(70 * 33, -7.0, 12.0).into_iter().map(f64::exp).collect();
    let x = point.input(&graph, "x", Shape::batch(33), values);
    // The functions have sizes of many orders; logarithms of them are compared.
    let large = |order: u32| (x.polygamma(order) * if order.is_multiple_of(2) { -1.0 } else { 1.0 }).log();
    let values = [x.lgamma() / (1.0 + x), x.digamma() / (1.0 + x.reciprocal()), large(1), large(2), large(3)];
    for division in DIVISIONS {
        compare(&device, &values, &point, &exact(70, division), "log Γ");
    }
}

#[test]
fn functions_of_the_normal_distribution_angles_and_powers_are_those_of_the_cpu() {
    let Some(device) = card() else { return };
    let graph = Graph::new();
    let mut point = Point::<f64>::new(70);
    let x = point.input(&graph, "x", Shape::batch(33), Draws(5).vector(70 * 33, -9.0, 9.0));
    let y = point.input(&graph, "y", Shape::batch(33), Draws(6).vector(70 * 33, 0.1, 4.0));
    // Tails are compared by their logarithms.
    let values = [
        x.erf(),
        x.erfc().log(),
        x.log_normal_cdf(),
        (-x.log_normal_cdf()).log(),
        x.inverse_mills().log(),
        x.sin(),
        (100.0 * x).cos(),
        x.atan(),
        x.expm1() / y.exp(),
        y.pow(0.5 * x),
    ];
    for division in DIVISIONS {
        compare(&device, &values, &point, &exact(70, division), "functions");
    }
}

#[test]
fn values_and_sparse_values_are_gathered_as_on_the_cpu() {
    let Some(device) = card() else { return };
    let (rows, points, cols) = (37, 20, 45);
    let graph = Graph::new();
    let (a, b) = (graph.gather_values("a", "first", cols), graph.gather_values("b", "second", cols));
    let program = graph.program().output("a", a).output("b", b).output("sum", (a + b).sum_cols());
    let program = program.compile().expect("well formed");
    let values: Vec<f32> = (0..points * cols).map(|i| (i * 37 % 101) as f32 * 0.25).collect();
    // Every third value of every row, and an empty row at the end.
    let columns: Vec<u32> = (0..points - 1).flat_map(|_| (0..cols as u32).step_by(3)).collect();
    let starts = (0..points).chain([points - 1]).map(|row| row * cols.div_ceil(3)).collect();
    let kept = (0..columns.len()).map(|i| i as f32 + 1.0).collect();
    let sparse = SparseRows::new(cols, starts, columns, kept).expect("the parts fit");
    let data = [("a", DataSet::Values(&values)), ("b", DataSet::Sparse(&sparse))];
    let first: Vec<u32> = (0..rows as u32).map(|i| i * 7 % points as u32).collect();
    let second: Vec<u32> = (0..rows as u32).map(|i| i * 3 % points as u32).collect();
    let indices: [(&str, &[u32]); 2] = [("first", &first), ("second", &second)];
    let mut cpu = program.on_cpu::<f32>(CpuOptions::for_rows(rows));
    let run = Run { rows, data: &data, indices: &indices, ..Run::default() };
    cpu.run(&mut Store::new(), &run).expect("everything is given");

    let whole = data.map(|(_, data)| CudaData::upload(&device, data).expect("there is memory"));
    let picked = data.map(|(name, data)| {
        CudaData::upload_rows(&device, &program, name, data, &indices).expect("there is memory")
    });
    let places: Vec<u32> = (0..rows as u32).collect();
    let given = [(&whole, [&first, &second]), (&picked, [&places, &places])];
    for division in DIVISIONS {
        let mut gpu = program.on_cuda(&device, &exact(rows, division)).expect("it compiles");
        let mut store = CudaStore::upload(&device, &Store::new()).expect("there is memory");
        for (data, [first, second]) in given {
            let run = CudaRun {
                rows,
                data: &[("a", &data[0]), ("b", &data[1])],
                indices: &[("first", CudaIndices::Host(first)), ("second", CudaIndices::Host(second))],
                ..CudaRun::default()
            };
            gpu.run(&mut store, &run).expect("everything is given");
            for name in ["a", "b", "sum"] {
                assert_eq!(gpu.output(name).expect("an output"), cpu.output(name).expect("an output"));
            }
        }
    }
}

#[test]
fn what_is_not_a_number_is_treated_as_on_the_cpu() {
    let Some(device) = card() else { return };
    let graph = Graph::new();
    let (a, b) = (graph.batch_input("a", 1), graph.batch_input("b", 1));
    let values = [
        a.min(b),
        a.max(b),
        a.less(b),
        a.less_equal(b),
        a.equal(b),
        a.select(b, graph.constant(7.0)),
        a.relu(),
        a.softplus(),
        a.sigmoid(),
        a.tanh(),
        a.exp(),
        a.log(),
        a.log1p(),
        a.sqrt(),
        a.abs(),
        a.expm1(),
        a.sin(),
        a.cos(),
        a.atan(),
        a.pow(b),
        a.erf(),
        a.erfc(),
        a.log_normal_cdf(),
        a.inverse_mills(),
        a.lgamma(),
        a.digamma(),
        a.polygamma(1),
        a.polygamma(2),
        Expr::concat_cols(&[a, b]).log_sum_exp(),
        Expr::concat_cols(&[a, b]).sum_cols(),
    ];
    let special =
        [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 1.5, -2.5, 1e-40, 90.0, -110.0, -1.0];
    let mut point = Point::<f32>::new(special.len() * special.len());
    let pairs: Vec<(f32, f32)> = special.iter().flat_map(|x| special.iter().map(move |y| (*x, *y))).collect();
    point.inputs.push(("a".into(), pairs.iter().map(|p| p.0).collect()));
    point.inputs.push(("b".into(), pairs.iter().map(|p| p.1).collect()));
    let expected = Function::<f32>::new(&values, point.rows).call(&point);
    let tf32 = CudaOptions { history: 64, ..CudaOptions::for_rows(point.rows) };
    for options in [exact(point.rows, (0, 0)), tf32] {
        let found = on_gpu(&device, &values, &point, &options);
        for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
            for ((f, e), pair) in found.iter().zip(expected).zip(&pairs) {
                let e = f64::from(*e);
                let near = (f - e).abs() <= 1e-5 * e.abs().max(1.0);
                assert!(
                    f.is_nan() && e.is_nan() || *f == e || near,
                    "value {i} of {pair:?}: {f}, on the CPU {e}"
                );
            }
        }
    }
}

#[test]
fn sums_over_rows_are_used_in_later_row_stages_and_shorter_batches_run_too() {
    let Some(device) = card() else { return };
    let graph = Graph::new();
    let x = graph.batch_input("x", 3);
    let w = graph.parameter("w", 3, 4);
    let y = x.matmul(w).tanh();
    let centred = y - y.mean_rows();
    let normalised = centred / (centred.square().mean_rows() + 1e-3).sqrt();
    let gradient = graph.grad((normalised.exp() * x.slice_cols(0, 1)).sum(), &[w])[0];
    let program = graph
        .program()
        .output("rows", normalised)
        .output("gradient", gradient)
        .update(w, w - gradient * 0.01);
    let program = program.compile().expect("the program is well formed");
    let values: Vec<f32> = Draws(17).vector(3 * 257, -1.0, 1.0).iter().map(|x| *x as f32).collect();
    for division in DIVISIONS {
        let mut start = Store::new();
        let weights = Draws(18).vector(12, -1.0, 1.0).iter().map(|x| *x as f32).collect();
        start.insert("w", 3, 4, weights).expect("sizes agree");
        let mut gpu = program.on_cuda(&device, &exact(257, division)).expect("it compiles");
        let mut on_gpu = CudaStore::upload(&device, &start).expect("there is memory");
        let mut cpu = program.on_cpu::<f64>(CpuOptions::for_rows(257));
        let mut on_cpu = start.convert::<f64>();
        for rows in [257, 1, 16, 100, 257] {
            let wide: Vec<f64> = values[..3 * rows].iter().map(|x| f64::from(*x)).collect();
            cpu.run(&mut on_cpu, &Run { rows, inputs: &[("x", &wide)], ..Run::default() }).expect("given");
            let run = CudaRun { rows, inputs: &[("x", &values[..3 * rows])], ..CudaRun::default() };
            gpu.run(&mut on_gpu, &run).expect("given");
            for name in ["rows", "gradient"] {
                let found: Vec<f64> =
                    gpu.output(name).expect("an output").iter().map(|x| f64::from(*x)).collect();
                let expected = cpu.output(name).expect("an output");
                assert_close(&format!("{name} of {rows} divided as {division:?}"), &found, expected, 2e-3);
            }
        }
        let found = on_gpu.download().expect("it is there").convert::<f64>();
        let of = |s: &Store<f64>| s.get("w").expect("it is there").values.clone();
        assert_close("updated", &of(&found), &of(&on_cpu), 1e-3);
    }
}

#[test]
fn updates_see_the_old_values_and_the_history_has_every_run() {
    let Some(device) = card() else { return };
    let graph = Graph::new();
    let (p, q) = (graph.parameter("p", 2, 3), graph.parameter("q", 2, 3));
    let rate = graph.scalar_input("rate");
    let program = graph
        .program()
        .update(p, q + rate)
        .update(q, p * 2.0)
        .output("sum", p.sum())
        .output("rows", p.sum_rows())
        .output("columns", q.exp().sum_cols())
        .compile()
        .expect("well formed");
    let mut start = Store::new();
    start.insert("p", 2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("sizes agree");
    start.insert("q", 2, 3, vec![0.5, 0.25, 0.0, -0.25, -0.5, -1.0]).expect("sizes agree");
    let mut gpu = program.on_cuda(&device, &exact(1, (0, 0))).expect("it compiles");
    let mut cpu = program.on_cpu::<f32>(CpuOptions::for_rows(1));
    let mut store = CudaStore::upload(&device, &start).expect("there is memory");
    let mut sums = Vec::new();
    for step in 0..5 {
        let rate = [step as f32];
        cpu.run(&mut start, &Run { inputs: &[("rate", &rate)], ..Run::default() }).expect("given");
        sums.push(cpu.output("sum").expect("an output")[0]);
        let run = CudaRun { rows: 1, inputs: &[("rate", &rate)], ..CudaRun::default() };
        gpu.run(&mut store, &run).expect("given");
        let close = |name| {
            let wide = |v: &[f32]| v.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
            assert_close(
                name,
                &wide(&gpu.output(name).expect("on")),
                &wide(cpu.output(name).expect("on")),
                1e-6,
            );
        };
        close("rows");
        close("columns");
    }
    assert_eq!(gpu.history().expect("it is there").output("sum").expect("it is kept"), sums);
    assert_eq!(store.download().expect("it is there"), start);
    gpu.clear_history();
    assert!(gpu.history().expect("it is there").output("sum").expect("it is kept").is_empty());
}

#[test]
fn inputs_that_are_kept_are_those_of_the_last_run() {
    let Some(device) = card() else { return };
    let graph = Graph::new();
    let (x, y) = (graph.batch_input("x", 2), graph.batch_input("y", 2));
    let program = graph.program().output("sum", x + y).compile().expect("well formed");
    let mut gpu = program.on_cuda(&device, &CudaOptions::for_rows(4)).expect("it compiles");
    let mut store = CudaStore::upload(&device, &Store::new()).expect("there is memory");
    let (ones, twos) = ([1f32; 4], [2f32; 4]);
    let mut sum = |rows, inputs: &[(&str, &[f32])], kept: &[&str]| {
        gpu.run(&mut store, &CudaRun { rows, inputs, kept, ..CudaRun::default() })?;
        gpu.output("sum")
    };
    let refused = |result: Result<Vec<f32>, CudaError>| {
        assert!(matches!(result, Err(CudaError::Run(RunError::Size { .. }))), "{result:?}");
    };
    refused(sum(2, &[("y", &twos)], &["x"]));
    assert_eq!(sum(2, &[("x", &ones), ("y", &ones)], &[]).expect("given"), [2.0; 4]);
    assert_eq!(sum(2, &[("y", &twos)], &["x"]).expect("x is kept"), [3.0; 4]);
    assert_eq!(sum(2, &[("x", &twos), ("y", &ones)], &["x"]).expect("x is kept"), [2.0; 4]);
    refused(sum(1, &[("y", &twos[..2])], &["x"]));
}

#[test]
fn runs_that_cannot_start_say_why() {
    let Some(device) = card() else { return };
    let graph = Graph::new();
    let x = graph.batch_input("x", 2);
    let w = graph.parameter("w", 2, 1);
    let program = graph.program().output("y", x.matmul(w)).compile().expect("well formed");
    let mut gpu = program.on_cuda(&device, &CudaOptions::for_rows(4)).expect("it compiles");
    let mut empty = CudaStore::upload(&device, &Store::new()).expect("there is memory");
    let values = [0f32; 8];
    let mut fails = |rows: usize, inputs: &[(&str, &[f32])]| {
        let failure = gpu.run(&mut empty, &CudaRun { rows, inputs, ..CudaRun::default() });
        match failure.expect_err("it cannot start") {
            CudaError::Run(why) => why,
            other => panic!("{other}"),
        }
    };
    assert!(matches!(fails(5, &[]), RunError::Rows { found: 5, most: 4 }));
    assert!(matches!(fails(4, &[]), RunError::Missing { kind: "input", .. }));
    assert!(matches!(fails(4, &[("x", &values[..6])]), RunError::Size { found: 6, expected: 8, .. }));
    assert!(matches!(fails(4, &[("x", &values)]), RunError::Missing { kind: "parameter", .. }));
}
