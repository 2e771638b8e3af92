//! Run whole programs: precisions, threads, batch sizes.
#![allow(missing_docs, unreachable_pub, reason = "tests are named for what they guard")]

mod common;
#[path = "common/training.rs"]
mod training;

use common::{Draws, five_point};
use hmcvi_graph::{
    CpuOptions, DataSet, Executable, Expr, Graph, Instructions, Program, Run, Shape, Split, Store,
};
use training::{SMALL, Trainer, model, random_store};

fn on_one_thread(rows: usize) -> CpuOptions {
    CpuOptions { threads: 1, ..CpuOptions::for_rows(rows) }
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|x| x * x).sum::<f64>().sqrt()
}

#[test]
fn training_in_f32_agrees_with_f64() {
    let program = model::training_step(SMALL);
    let mut narrow = Trainer::<f32>::new(&program, on_one_thread(50), SMALL, random_store(SMALL));
    let mut wide = Trainer::<f64>::new(&program, on_one_thread(50), SMALL, narrow.store.convert());
    let before = wide.store.clone();
    let (found, expected) = (f64::from(narrow.step(50)), wide.step(50));
    // A sum of 30 pixels and two chains of some ten functions each, all rounded to 6e-8.
    assert!((found - expected).abs() < 2e-6 * expected.abs(), "bound {found} and {expected}");
    for (name, wide) in wide.store.iter() {
        let narrow = narrow.store.get(name).expect("both have the same tensors").values.iter();
        let old = &before.get(name).expect("both have the same tensors").values;
        let difference = norm(narrow.zip(&wide.values).map(|(a, b)| f64::from(*a) - b));
        let change = norm(wide.values.iter().zip(old).map(|(new, old)| new - old));
        assert!(change > 0.0, "{name} was not updated");
        // Rounding of the gradients, relative to them; and half a unit of the parameters themselves.
        let limit = 1e-4 * change + f64::from(f32::EPSILON) * norm(wide.values.iter().copied());
        assert!(difference < limit, "{name} differs by {difference:e}, which is over {limit:e}");
    }
}

/// Outputs the mean bound and its gradient by every parameter, named as the parameters are.
fn gradient_program() -> (Program, Vec<String>) {
    let graph = Graph::new();
    let (bound, parameters) = model::bound(&graph, model::images(&graph, SMALL), SMALL);
    let bound = bound.mean_rows();
    let wrt: Vec<Expr<'_>> = parameters.all.iter().map(|(_, p)| *p).collect();
    let mut program = graph.program().output("bound", bound);
    let names: Vec<String> = parameters.all.iter().map(|(name, _)| name.clone()).collect();
    for (name, gradient) in names.iter().zip(graph.grad(bound, &wrt)) {
        program = program.output(name, gradient);
    }
    (program.compile().expect("the program is well formed"), names)
}

#[test]
fn gradient_of_the_bound_agrees_with_differences() {
    let (program, names) = gradient_program();
    let mut trainer = Trainer::<f64>::new(&program, on_one_thread(20), SMALL, random_store(SMALL));
    let (images, batch) = (training::images(SMALL), (0..20).collect::<Vec<u32>>());
    let data = &[("images", DataSet::Bytes(&images))];
    let run = Run { rows: 20, data, indices: &[("batch", &batch)], seed: 5, step: 9, ..Run::default() };
    trainer.executable.run(&mut trainer.store, &run).expect("everything is given");
    let gradients: Vec<Vec<f64>> =
        names.iter().map(|name| trainer.executable.output(name).expect("an output").to_vec()).collect();
    let mut draws = Draws(13);
    for (name, gradient) in names.iter().zip(&gradients) {
        let direction: Vec<f64> = gradient.iter().map(|_| [-1.0, 1.0][draws.below(2)]).collect();
        let found: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
        let centre = trainer.store.clone();
        let along = |h: f64| {
            let mut store = centre.clone();
            let values = &mut store.get_mut(name).expect("it is a parameter").values;
            values.iter_mut().zip(&direction).for_each(|(v, d)| *v += h * d);
            trainer.executable.run(&mut store, &run).expect("everything is given");
            trainer.executable.output("bound").expect("an output")[0]
        };
        // Small steps, so that no rectified linear unit changes sides.
        let expected = five_point(along, 1e-5);
        let size = norm(gradient.iter().copied());
        assert!(size > 1e-6, "the gradient of {name} is {size}");
        let error = (found - expected).abs() / expected.abs().max(size);
        assert!(error < 1e-6, "{name}: {found} by derivative, {expected} by differences, error {error:e}");
    }
}

/// Sizes below, at and above tiles and shards of any likely size, with rests.
const BATCHES: [usize; 14] = [1, 2, 7, 15, 16, 50, 63, 64, 65, 81, 100, 129, 161, 257];

/// Bits of everything a training run leaves behind.
fn trained_bits(program: &Program, options: CpuOptions, rows: usize, steps: usize) -> Vec<u32> {
    let mut trainer = Trainer::<f32>::new(program, options, SMALL, random_store(SMALL));
    let mut bits: Vec<u32> = (0..steps).map(|_| trainer.step(rows).to_bits()).collect();
    for (_, tensor) in trainer.store.iter() {
        assert!(tensor.values.iter().all(|x| x.is_finite()));
        bits.extend(tensor.values.iter().map(|x| x.to_bits()));
    }
    bits
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let program = model::training_step(SMALL);
    for rows in BATCHES {
        let train =
            |threads| trained_bits(&program, CpuOptions { threads, ..CpuOptions::for_rows(rows) }, rows, 3);
        let expected = train(1);
        for threads in [2, 3, 4] {
            assert!(train(threads) == expected, "{threads} threads give other bits for {rows} rows");
        }
    }
}

#[test]
fn results_do_not_depend_on_whether_threads_share_rows() {
    let program = model::training_step(SMALL);
    for (rows, tile_rows) in [(1, 80), (2, 80), (15, 80), (16, 5), (50, 80), (81, 80), (100, 13), (257, 20)] {
        let train = |threads, split| {
            let options = CpuOptions { threads, split, tile_rows, ..CpuOptions::for_rows(rows) };
            trained_bits(&program, options, rows, 2)
        };
        let expected = train(1, Split::Shards);
        for threads in [2, 3, 5, 8, 16] {
            for split in [Split::Rows, Split::Best] {
                let found = train(threads, split);
                assert!(found == expected, "{threads} threads ({split:?}) give other bits for {rows} rows");
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_the_instructions() {
    let program = model::training_step(SMALL);
    for rows in BATCHES {
        let train = |instructions| {
            trained_bits(&program, CpuOptions { instructions, ..CpuOptions::for_rows(rows) }, rows, 2)
        };
        let expected = train(Instructions::Fastest);
        assert!(train(Instructions::Avx2) == expected, "AVX2 gives other bits for {rows} rows");
        // One value after the other, with fused multiply-adds in software.
        let portable = rows > 20 || train(Instructions::Portable) == expected;
        assert!(portable, "portable instructions give other bits for {rows} rows");
    }
}

#[test]
fn results_do_not_depend_on_the_rows_prepared_for() {
    let program = model::training_step(SMALL);
    for rows in BATCHES {
        let expected = trained_bits(&program, on_one_thread(rows), rows, 2);
        let options = CpuOptions { threads: 2, ..CpuOptions::for_rows(300) };
        assert!(trained_bits(&program, options, rows, 2) == expected, "other bits for {rows} rows");
    }
}

/// A later run of fewer rows must not see sums or tiles of an earlier one of more.
#[test]
fn runs_leave_nothing_behind() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 3);
    let w = graph.parameter("w", 3, 2);
    let y = x.matmul(w).tanh();
    let gradient = graph.grad(y.square().sum(), &[w])[0];
    let program = graph.program().output("y", y).output("sum", y.sum_rows()).output("gradient", gradient);
    let program = program.compile().expect("the program is well formed");
    let mut store = Store::<f32>::new();
    store.insert("w", 3, 2, vec![0.1, -0.2, 0.3, 0.4, -0.5, 0.6]).expect("sizes agree");
    let all: Vec<f32> = Draws(14).vector(3 * 257, -1.0, 1.0).iter().map(|x| *x as f32).collect();
    let mut outputs = |executable: &mut Executable<f32>, rows: usize| {
        let run = Run { rows, inputs: &[("x", &all[..3 * rows])], ..Run::default() };
        executable.run(&mut store, &run).expect("everything is given");
        ["y", "sum", "gradient"].map(|name| executable.output(name).expect("an output").to_vec())
    };
    let mut used = program.on_cpu::<f32>(CpuOptions { threads: 2, ..CpuOptions::for_rows(257) });
    for rows in [257, 1, 129, 2, 65, 64, 7, 257, 63] {
        let mut fresh = program.on_cpu::<f32>(on_one_thread(rows));
        assert_eq!(outputs(&mut used, rows), outputs(&mut fresh, rows), "{rows} rows");
    }
}

/// Every tile and shard writes its own rows: output row `i` is made of input row `i`.
#[test]
fn batch_outputs_come_in_order() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 2);
    let w = graph.constant_matrix(2, 3, &[1.0, 0.0, 1.0, 0.0, 1.0, 1.0]);
    let sum = x.sum_cols();
    let program = graph
        .program()
        .output("x", x)
        .output("product", x.matmul(w))
        .output("sum", sum)
        .output("both", Expr::concat_cols(&[sum, x * 10.0]))
        .output("second", x.slice_cols(1, 1))
        .output("constant", graph.constant(7.0).broadcast_to(Shape::batch(2)));
    let program = program.compile().expect("the program is well formed");
    for rows in BATCHES {
        for threads in [1, 3] {
            let mut executable = program.on_cpu::<f32>(CpuOptions { threads, ..CpuOptions::for_rows(rows) });
            // Row i holds i and 1000 + i.
            let values: Vec<f32> = (0..rows).flat_map(|i| [i as f32, 1000.0 + i as f32]).collect();
            let run = Run { rows, inputs: &[("x", &values)], ..Run::default() };
            executable.run(&mut Store::new(), &run).expect("everything is given");
            let each = |f: fn(f32) -> Vec<f32>| (0..rows).flat_map(|i| f(i as f32)).collect::<Vec<f32>>();
            let expected = [
                ("x", values.clone()),
                // [i, 1000 + i] · [[1, 0, 1], [0, 1, 1]]
                ("product", each(|i| vec![i, 1000.0 + i, 1000.0 + 2.0 * i])),
                ("sum", each(|i| vec![1000.0 + 2.0 * i])),
                ("both", each(|i| vec![1000.0 + 2.0 * i, 10.0 * i, 10_000.0 + 10.0 * i])),
                ("second", each(|i| vec![1000.0 + i])),
                ("constant", each(|_| vec![7.0; 2])),
            ];
            for (name, expected) in expected {
                assert_eq!(executable.output(name).expect("an output"), expected, "{name} of {rows} rows");
            }
        }
    }
}

#[test]
fn outputs_before_the_first_run_have_no_rows() {
    let graph = Graph::new();
    let program = graph.program().output("y", graph.batch_input("x", 2).exp()).compile();
    let executable = program.expect("the program is well formed").on_cpu::<f32>(on_one_thread(5));
    assert_eq!(executable.output("y"), Some(&[][..]));
    assert_eq!(executable.output("z"), None);
}

/// Large fixed matrices are divided between threads; the sums over their rows are not.
#[test]
fn large_fixed_matrices_give_the_same_bits_on_any_number_of_threads() {
    let (rows, cols) = (230, 190);
    let graph = Graph::new();
    let w = graph.parameter("w", rows, cols);
    let v = graph.parameter("v", rows, cols);
    let updated = (w * 0.9 + v.tanh() * w.sum_rows() / (w.square().sum_cols() + 1.0)).exp();
    let program = graph.program().update(w, updated).update(v, v - w * 0.1).output("sum", updated.sum_rows());
    let program = program.compile().expect("the program is well formed");
    let run = |threads: usize| {
        let mut draws = Draws(16);
        let mut vector =
            || draws.vector(rows * cols, -1.0, 1.0).iter().map(|x| *x as f32).collect::<Vec<f32>>();
        let mut store = Store::new();
        store.insert("w", rows, cols, vector()).expect("sizes agree");
        store.insert("v", rows, cols, vector()).expect("sizes agree");
        let mut executable = program.on_cpu::<f32>(CpuOptions { threads, ..CpuOptions::for_rows(1) });
        executable.run(&mut store, &Run::default()).expect("everything is given");
        (store, executable.output("sum").expect("an output").to_vec())
    };
    let expected = run(1);
    for threads in [2, 3, 4] {
        assert!(run(threads) == expected, "{threads} threads give other bits");
    }
}

/// Two row stages with a fixed stage between: the rows are computed again with finished sums.
#[test]
fn two_row_stages_give_the_same_bits_on_any_number_of_threads() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 3);
    let w = graph.parameter("w", 3, 4);
    let y = x.matmul(w).tanh();
    let centred = y - y.mean_rows();
    let normalised = centred / (centred.square().mean_rows() + 1e-3).sqrt();
    let gradient = graph.grad((normalised.exp() * x.slice_cols(0, 1)).sum(), &[w])[0];
    let program =
        graph.program().output("rows", normalised).output("gradient", gradient).update(w, w - gradient);
    let program = program.compile().expect("the program is well formed");
    let values: Vec<f32> = Draws(17).vector(3 * 257, -1.0, 1.0).iter().map(|x| *x as f32).collect();
    for rows in BATCHES {
        let run = |threads: usize| {
            let mut store = Store::new();
            let weights = Draws(18).vector(12, -1.0, 1.0).iter().map(|x| *x as f32).collect();
            store.insert("w", 3, 4, weights).expect("sizes agree");
            let mut executable = program.on_cpu::<f32>(CpuOptions { threads, ..CpuOptions::for_rows(rows) });
            let run = Run { rows, inputs: &[("x", &values[..3 * rows])], ..Run::default() };
            executable.run(&mut store, &run).expect("everything is given");
            let bits = |name| {
                executable.output(name).expect("an output").iter().map(|x| x.to_bits()).collect::<Vec<_>>()
            };
            (bits("rows"), bits("gradient"), store)
        };
        let expected = run(1);
        for threads in [2, 3, 4] {
            assert!(run(threads) == expected, "{threads} threads give other bits for {rows} rows");
        }
    }
}
