//! Run whole programs: precisions, threads, batch sizes, updates, fixed matrices and simplification.
#![allow(missing_docs, unreachable_pub, reason = "tests are named for what they guard")]

mod common;
#[path = "common/training.rs"]
mod training;

use common::{Draws, Point, assert_close, evaluate, five_point};
use hmcvi_graph::{CpuOptions, Executable, Expr, Graph, Program, Real, Run, Shape, Store};
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
    let data: &[(&str, &[u8])] = &[("images", &images)];
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

/// Runs a program with updates `steps` times and returns the parameters and the last outputs.
struct Updates {
    store: Store<f64>,
    executable: Executable<f64>,
}

impl Updates {
    fn new(program: hmcvi_graph::ProgramBuilder<'_>, store: Store<f64>) -> Self {
        let program = program.compile().expect("the program is well formed");
        Updates { store, executable: program.on_cpu(CpuOptions { threads: 2, ..CpuOptions::for_rows(3) }) }
    }

    fn run(&mut self, run: &Run<'_, f64>) {
        self.executable.run(&mut self.store, run).expect("everything is given");
    }

    fn parameter(&self, name: &str) -> &[f64] {
        &self.store.get(name).expect("it is a parameter").values
    }

    fn output(&self, name: &str) -> &[f64] {
        self.executable.output(name).expect("it is an output")
    }
}

fn store(tensors: &[(&str, usize, usize, &[f64])]) -> Store<f64> {
    let mut store = Store::new();
    for (name, rows, cols, values) in tensors {
        store.insert(name, *rows, *cols, values.to_vec()).expect("sizes agree");
    }
    store
}

#[test]
fn updates_swap_parameters() {
    let graph = Graph::new();
    let (a, b) = (graph.parameter("a", 2, 2), graph.parameter("b", 2, 2));
    let (c, d) = (graph.parameter("c", 1, 3), graph.parameter("d", 1, 3));
    let program = graph.program().update(a, b).update(b, a).update(c, d + c).update(d, c * 2.0 - d);
    let (first, second) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
    let (third, fourth) = ([1.0, 2.0, 3.0], [10.0, 20.0, 30.0]);
    let mut updates = Updates::new(
        program,
        store(&[("a", 2, 2, &first), ("b", 2, 2, &second), ("c", 1, 3, &third), ("d", 1, 3, &fourth)]),
    );
    updates.run(&Run::default());
    assert_eq!((updates.parameter("a"), updates.parameter("b")), (&second[..], &first[..]));
    // c + d and 2c - d of the old values
    assert_eq!(updates.parameter("c"), [11.0, 22.0, 33.0]);
    assert_eq!(updates.parameter("d"), [-8.0, -16.0, -24.0]);
    updates.run(&Run::default());
    assert_eq!((updates.parameter("a"), updates.parameter("b")), (&first[..], &second[..]));
}

#[test]
fn updates_of_different_shapes_see_old_values() {
    let graph = Graph::new();
    let (p, q) = (graph.parameter("p", 2, 3), graph.parameter("q", 1, 1));
    let (row, column) = (graph.parameter("row", 1, 3), graph.parameter("column", 2, 1));
    let program = graph
        .program()
        .update(q, q + 1.0)
        .update(p, p + q)
        .update(row, p.sum_rows() * q)
        .update(column, column + p.sum_cols())
        .output("p", p)
        .output("q", q)
        .output("total", p * row + column);
    let tensors = [
        ("p", 2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..]),
        ("q", 1, 1, &[10.0]),
        ("row", 1, 3, &[1.0, 2.0, 3.0]),
        ("column", 2, 1, &[100.0, 200.0]),
    ];
    let mut updates = Updates::new(program, store(&tensors));
    updates.run(&Run::default());
    assert_eq!(updates.output("p"), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(updates.output("q"), [10.0]);
    // p_ij row_j + column_i
    assert_eq!(updates.output("total"), [101.0, 104.0, 109.0, 204.0, 210.0, 218.0]);
    assert_eq!(updates.parameter("q"), [11.0]);
    assert_eq!(updates.parameter("p"), [11.0, 12.0, 13.0, 14.0, 15.0, 16.0]);
    // (1 + 4, 2 + 5, 3 + 6) · 10
    assert_eq!(updates.parameter("row"), [50.0, 70.0, 90.0]);
    assert_eq!(updates.parameter("column"), [106.0, 215.0]);
    updates.run(&Run::default());
    assert_eq!(updates.parameter("q"), [12.0]);
    assert_eq!(updates.parameter("p"), [22.0, 23.0, 24.0, 25.0, 26.0, 27.0]);
}

#[test]
fn updates_by_parts_of_the_parameter_itself() {
    let graph = Graph::new();
    let p = graph.parameter("p", 3, 2);
    let rotated = Expr::concat_rows(&[p.slice_rows(1, 2), p.slice_rows(0, 1)]);
    let w = graph.parameter("w", 2, 2);
    let mirrored = Expr::concat_cols(&[w.slice_cols(1, 1), w.slice_cols(0, 1)]);
    let m = graph.parameter("m", 2, 2);
    let program = graph.program().update(p, rotated).update(w, mirrored).update(m, m.matmul(m));
    let tensors = [
        ("p", 3, 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..]),
        ("w", 2, 2, &[1.0, 2.0, 3.0, 4.0]),
        ("m", 2, 2, &[1.0, 1.0, 0.0, 1.0]),
    ];
    let mut updates = Updates::new(program, store(&tensors));
    updates.run(&Run::default());
    assert_eq!(updates.parameter("p"), [3.0, 4.0, 5.0, 6.0, 1.0, 2.0]);
    assert_eq!(updates.parameter("w"), [2.0, 1.0, 4.0, 3.0]);
    // [[1, n], [0, 1]]² = [[1, 2n], [0, 1]]
    assert_eq!(updates.parameter("m"), [1.0, 2.0, 0.0, 1.0]);
}

#[test]
fn counters_count_runs() {
    let graph = Graph::new();
    let (count, rows) = (graph.parameter("count", 1, 1), graph.parameter("rows", 1, 1));
    let program = graph.program().update(count, count + 1.0).update(rows, rows + graph.batch_size());
    let mut updates = Updates::new(program, store(&[("count", 1, 1, &[0.0]), ("rows", 1, 1, &[0.0])]));
    for rows in [1, 2, 3, 2] {
        updates.run(&Run { rows, ..Run::default() });
    }
    assert_eq!(updates.parameter("count"), [4.0]);
    assert_eq!(updates.parameter("rows"), [8.0]);
}

/// "All updates see the old values" holds for what a program returns too: rows of the batch are
/// computed with the parameters as they were before the run.
#[test]
fn batch_outputs_see_the_parameters_before_the_update() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 1);
    let w = graph.parameter("w", 1, 1);
    let program = graph.program().output("y", x * w).update(w, w + 1.0);
    let mut updates = Updates::new(program, store(&[("w", 1, 1, &[10.0])]));
    updates.run(&Run { rows: 3, inputs: &[("x", &[1.0, 2.0, 3.0])], ..Run::default() });
    assert_eq!(updates.output("y"), [10.0, 20.0, 30.0]);
    assert_eq!(updates.parameter("w"), [11.0]);
}

/// As above, where the rows need a finished sum over rows first, as the update does.
#[test]
fn batch_outputs_after_a_sum_over_rows_see_the_parameters_before_the_update() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 1);
    let w = graph.parameter("w", 1, 2);
    let y = x * w;
    let program = graph.program().output("centred", y - y.mean_rows()).update(w, w - y.sum_rows());
    let mut updates = Updates::new(program, store(&[("w", 1, 2, &[10.0, 1.0])]));
    updates.run(&Run { rows: 3, inputs: &[("x", &[1.0, 2.0, 3.0])], ..Run::default() });
    // (x - 2)·w, and w - 6w
    assert_eq!(updates.output("centred"), [-10.0, -1.0, 0.0, 0.0, 10.0, 1.0]);
    assert_eq!(updates.parameter("w"), [-50.0, -5.0]);
}

/// Sums over rows may be merged into sums of sums, but not where they are wanted themselves.
#[test]
fn a_sum_over_rows_can_be_returned_beside_its_negative_and_its_sums() {
    let graph = Graph::new();
    let (x, y) = (graph.batch_input("x", 2), graph.batch_input("y", 2));
    let (a, b) = (x.sum_rows(), y.sum_rows());
    let gram = x.transposed_matmul(y);
    let program = graph
        .program()
        .output("a", a)
        .output("-a", -a)
        .output("b", b)
        .output("b - a", b - a)
        .output("gram", gram)
        .output("stack", Expr::concat_rows(&[gram, y.transposed_matmul(y)]));
    let mut updates = Updates::new(program, Store::new());
    let inputs: &[(&str, &[f64])] = &[("x", &[1.0, 2.0, 3.0, 4.0]), ("y", &[5.0, 6.0, 7.0, 8.0])];
    updates.run(&Run { rows: 2, inputs, ..Run::default() });
    assert_eq!(updates.output("a"), [4.0, 6.0]);
    assert_eq!(updates.output("-a"), [-4.0, -6.0]);
    assert_eq!(updates.output("b"), [12.0, 14.0]);
    assert_eq!(updates.output("b - a"), [8.0, 8.0]);
    // xᵀy = [[1·5 + 3·7, 1·6 + 3·8], [2·5 + 4·7, 2·6 + 4·8]], yᵀy likewise
    assert_eq!(updates.output("gram"), [26.0, 30.0, 38.0, 44.0]);
    assert_eq!(updates.output("stack"), [26.0, 30.0, 38.0, 44.0, 74.0, 86.0, 86.0, 100.0]);
}

/// A parameter that is updated to a sum over rows which is also used once elsewhere.
#[test]
fn an_update_by_a_sum_over_rows_that_is_used_again() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 2);
    let (p, q) = (graph.parameter("p", 1, 2), graph.parameter("q", 1, 2));
    let sum = x.sum_rows();
    let program = graph.program().update(p, sum).update(q, sum - (x * 2.0).exp().sum_rows());
    let zeros: &[f64] = &[0.0, 0.0];
    let mut updates = Updates::new(program, store(&[("p", 1, 2, zeros), ("q", 1, 2, zeros)]));
    updates.run(&Run { rows: 2, inputs: &[("x", &[0.0, 1.0, 0.0, 2.0])], ..Run::default() });
    assert_eq!(updates.parameter("p"), [0.0, 3.0]);
    // Σx - Σe^(2x)
    assert_close("q", updates.parameter("q"), &[-2.0, 3.0 - 2f64.exp() - 4f64.exp()], 1e-15);
}

/// `a · b` by the definition; strides say how far apart rows and columns are.
fn product(
    a: &[f64],
    b: &[f64],
    sizes: [usize; 3],
    a_strides: [usize; 2],
    b_strides: [usize; 2],
) -> Vec<f64> {
    let [rows, depth, cols] = sizes;
    let element = |i: usize, j: usize| -> f64 {
        let at = |p: usize| a[i * a_strides[0] + p * a_strides[1]] * b[p * b_strides[0] + j * b_strides[1]];
        (0..depth).map(at).sum()
    };
    (0..rows).flat_map(|i| (0..cols).map(move |j| element(i, j)).collect::<Vec<_>>()).collect()
}

/// Products of all kinds against the definition, at sizes around all blocks that the code divides
/// matrices into: 6 rows, vectors of 4 to 16, depths of 256 and 320, 240 rows of a sum.
fn check_products<T: Real>(sizes: &[[usize; 3]], epsilon: f64) {
    for &[rows, depth, cols] in sizes {
        let graph = Graph::new();
        let mut draws = Draws((rows * 1_000_000 + depth * 1000 + cols) as u64);
        let mut point = Point::<T>::new(rows);
        let mut vector =
            |len: usize| draws.vector(len, -1.0, 1.0).into_iter().map(T::from_f64).collect::<Vec<T>>();
        let (values, weights) = (vector(rows * depth), vector(depth * cols));
        let others = vector(rows * cols);
        let x = point.input(&graph, "x", Shape::batch(depth), values.clone());
        let fixed = point.parameter(&graph, "fixed", Shape::fixed(rows, depth), values.clone());
        let w = point.parameter(&graph, "w", Shape::fixed(depth, cols), weights.clone());
        let w_transposed = point.parameter(&graph, "wt", Shape::fixed(cols, depth), weights.clone());
        let y = point.input(&graph, "y", Shape::batch(cols), others.clone());
        let fixed_y = point.parameter(&graph, "fixed_y", Shape::fixed(rows, cols), others.clone());
        let found = evaluate(
            &[
                x.matmul(w),
                fixed.matmul(w),
                x.matmul_transposed(w_transposed),
                fixed.matmul_transposed(w_transposed),
                x.transposed_matmul(y),
                fixed.transposed_matmul(fixed_y),
            ],
            &point,
        );
        let wide = |v: &[T]| v.iter().map(|x| x.to_f64()).collect::<Vec<f64>>();
        let (a, b, c) = (wide(&values), wide(&weights), wide(&others));
        let plain = product(&a, &b, [rows, depth, cols], [depth, 1], [cols, 1]);
        let right = product(&a, &b, [rows, depth, cols], [depth, 1], [1, depth]);
        let left = product(&a, &c, [depth, rows, cols], [1, depth], [cols, 1]);
        let names = ["matmul", "matmul_transposed", "transposed_matmul"];
        for (i, expected) in [plain, right, left].iter().enumerate() {
            for kind in [0, 1] {
                // Each addition rounds a partial sum, which is far smaller than the number of terms.
                let limit = epsilon * (1 + if i == 2 { rows } else { depth }) as f64;
                let what = format!("{} {} of {rows}, {depth}, {cols}", ["batch", "fixed"][kind], names[i]);
                assert_close(&what, &wide(&found[2 * i + kind]), expected, limit);
            }
        }
    }
}

/// Rows, depth, columns.
const PRODUCTS: [[usize; 3]; 14] = [
    [1, 1, 1],
    [1, 2, 3],
    [2, 1, 2],
    [3, 5, 1],
    [5, 4, 4],
    [6, 8, 8],
    [7, 9, 9],
    [13, 15, 17],
    [64, 16, 33],
    [65, 319, 31],
    [100, 321, 7],
    [129, 241, 65],
    [257, 480, 5],
    [300, 700, 35],
];

#[test]
fn products_of_all_sizes_in_f32() {
    check_products::<f32>(&PRODUCTS, f64::from(f32::EPSILON));
}

#[test]
fn products_of_all_sizes_in_f64() {
    check_products::<f64>(&PRODUCTS, f64::EPSILON);
}

/// A row's product has the same bits whatever rows stand beside it.
#[test]
fn a_row_of_a_product_does_not_depend_on_its_neighbours() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 333);
    let w = graph.parameter("w", 333, 19);
    let program = graph.program().output("y", x.matmul(w)).compile().expect("well formed");
    let mut draws = Draws(15);
    let mut vector =
        |len: usize| draws.vector(len, -1.0, 1.0).iter().map(|x| *x as f32).collect::<Vec<f32>>();
    let (values, mut store) = (vector(100 * 333), Store::new());
    store.insert("w", 333, 19, vector(333 * 19)).expect("sizes agree");
    let mut run = |rows: std::ops::Range<usize>| {
        let mut executable = program.on_cpu::<f32>(on_one_thread(rows.len()));
        let values = &values[333 * rows.start..333 * rows.end];
        executable
            .run(&mut store, &Run { rows: rows.len(), inputs: &[("x", values)], ..Run::default() })
            .expect("fits");
        executable.output("y").expect("an output").to_vec()
    };
    let all = run(0..100);
    for start in [0, 1, 5, 50, 99] {
        assert_eq!(run(start..start + 1), all[19 * start..19 * (start + 1)]);
    }
}

fn wide_point() -> (Graph, Point<f64>) {
    (Graph::new(), Point::new(2))
}

#[test]
fn slices_of_parameters_are_operands_of_products() {
    let (graph, mut point) = wide_point();
    // w_ij = 10 i + j
    let values: Vec<f64> = (0..4).flat_map(|i| (0..5).map(move |j| f64::from(10 * i + j))).collect();
    let w = point.parameter(&graph, "w", Shape::fixed(4, 5), values);
    let x = point.input(&graph, "x", Shape::batch(2), vec![1.0, 2.0, 3.0, 4.0]);
    let found = evaluate(
        &[
            x.matmul(w.slice_rows(1, 2)),
            x.matmul(w.slice_rows(2, 2).slice_cols(1, 3)),
            x.matmul_transposed(w.slice_cols(3, 2)),
            w.slice_rows(0, 2).matmul(
                w.slice_cols(0, 4)
                    .matmul(w)
                    .slice_rows(0, 1)
                    .slice_cols(0, 5)
                    .transposed_matmul(graph.constant(1.0).broadcast_to(Shape::fixed(1, 2))),
            ),
            w.slice_cols(1, 2).transposed_matmul(w.slice_cols(4, 1)),
            w.slice_rows(3, 1).slice_cols(2, 2).broadcast_to(Shape::batch(2)) * x,
            w.slice_rows(1, 2).sum_rows(),
            w.slice_cols(1, 2).sum_cols(),
        ],
        &point,
    );
    // [1 2; 3 4] · rows 1, 2 of w: Σ_p x_p (10 (p + 1) + j) = 50 + 3j, 110 + 7j
    assert_eq!(found[0], [50.0, 53.0, 56.0, 59.0, 62.0, 110.0, 117.0, 124.0, 131.0, 138.0]);
    // rows 2, 3 and columns 1..4: 80 + 3j, 180 + 7j
    assert_eq!(found[1], [83.0, 86.0, 89.0, 187.0, 194.0, 201.0]);
    // columns 3, 4: x · (10 i + 3, 10 i + 4)
    assert_eq!(found[2], [11.0, 41.0, 71.0, 101.0, 25.0, 95.0, 165.0, 235.0]);
    // Row 0 of (w[:, :4] · w): Σ_p p (10 p + j) = 140 + 6j, as a column twice, times rows 0, 1 of w:
    // Σ_j j (140 + 6j) = 1580, and Σ_j (10 + j)(140 + 6j) = 10·760 + 1580 = 9180
    assert_eq!(found[3], [1580.0, 1580.0, 9180.0, 9180.0]);
    // Σ_i (10 i + c)(10 i + 4) for c = 1, 2: 1400 + 60 (c + 4) + 16 c
    assert_eq!(found[4], [1716.0, 1792.0]);
    // (32, 33) beside every row
    assert_eq!(found[5], [32.0, 66.0, 96.0, 132.0]);
    // 10 + 20 + 2j
    assert_eq!(found[6], [30.0, 32.0, 34.0, 36.0, 38.0]);
    // 20 i + 3
    assert_eq!(found[7], [3.0, 23.0, 43.0, 63.0]);
}

#[test]
fn concatenations_of_parameters_are_operands() {
    let (graph, mut point) = wide_point();
    let a = point.parameter(&graph, "a", Shape::fixed(1, 2), vec![1.0, 2.0]);
    let b = point.parameter(&graph, "b", Shape::fixed(2, 2), vec![3.0, 4.0, 5.0, 6.0]);
    let c = point.parameter(&graph, "c", Shape::fixed(2, 1), vec![7.0, 8.0]);
    let x = point.input(&graph, "x", Shape::batch(3), vec![1.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    let stacked = Expr::concat_rows(&[a, b]);
    let beside = Expr::concat_cols(&[b, c, a]);
    let found = evaluate(
        &[
            stacked,
            beside,
            x.matmul(stacked),
            x.matmul_transposed(Expr::concat_cols(&[c, b])),
            stacked.sum_rows(),
        ],
        &point,
    );
    assert_eq!(found[0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(found[1], [3.0, 4.0, 7.0, 1.0, 2.0, 5.0, 6.0, 8.0, 1.0, 2.0]);
    // rows 0 and 0 + 1 + 2 of the stack
    assert_eq!(found[2], [1.0, 2.0, 9.0, 12.0]);
    // [7 3 4; 8 5 6]: columns' firsts, and the sums of its rows
    assert_eq!(found[3], [7.0, 8.0, 14.0, 19.0]);
    assert_eq!(found[4], [9.0, 12.0]);
}

#[test]
fn numbers_are_operands_of_products() {
    let (graph, mut point) = wide_point();
    let x = point.input(&graph, "x", Shape::batch(1), vec![3.0, 4.0]);
    let p = point.parameter(&graph, "p", Shape::fixed(1, 1), vec![5.0]);
    let wide = point.input(&graph, "wide", Shape::batch(3), vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let (two, rows) = (graph.constant(2.0), graph.batch_size());
    let filled = two.broadcast_to(Shape::fixed(3, 2));
    let found = evaluate(
        &[
            x.matmul(two),
            x.matmul_transposed(two),
            x.matmul_transposed(rows),
            two.matmul(p),
            two.matmul_transposed(rows),
            rows.transposed_matmul(two),
            wide.matmul(filled),
            wide.matmul_transposed(two.broadcast_to(Shape::fixed(2, 3))),
            wide.transposed_matmul(two.broadcast_to(Shape::batch(2))),
            x.transposed_matmul(x),
        ],
        &point,
    );
    assert_eq!(found[0], [6.0, 8.0]);
    assert_eq!(found[1], [6.0, 8.0]);
    // N = 2
    assert_eq!(found[2], [6.0, 8.0]);
    assert_eq!((&found[3][..], &found[4][..], &found[5][..]), (&[10.0][..], &[4.0][..], &[4.0][..]));
    // 2 (1 + 2 + 3), 2 (4 + 5 + 6)
    assert_eq!(found[6], [12.0, 12.0, 30.0, 30.0]);
    assert_eq!(found[7], [12.0, 12.0, 30.0, 30.0]);
    // 2 (1 + 4), 2 (2 + 5), 2 (3 + 6)
    assert_eq!(found[8], [10.0, 10.0, 14.0, 14.0, 18.0, 18.0]);
    // 3² + 4²
    assert_eq!(found[9], [25.0]);
}

#[test]
fn fixed_matrices_are_summed_and_multiplied_without_a_batch() {
    let (graph, mut point) = wide_point();
    let a = point.parameter(&graph, "a", Shape::fixed(2, 3), vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let b = graph.constant_matrix(3, 2, &[1.0, -1.0, 0.0, 2.0, 3.0, 1.0]);
    let found = evaluate(
        &[
            a.matmul(b),
            a.matmul_transposed(a),
            a.transposed_matmul(a),
            a.sum_rows(),
            a.sum_cols(),
            a.sum(),
            a.mean_rows(),
            a.log_sum_exp(),
            a.matmul(b).matmul(a).sum_rows().sum_cols(),
        ],
        &point,
    );
    // Row 0: 1·1 + 3·3, -1 + 4 + 3; row 1: 4 + 18, -4 + 10 + 6
    assert_eq!(found[0], [10.0, 6.0, 22.0, 12.0]);
    // 1 + 4 + 9, 4 + 10 + 18, 16 + 25 + 36
    assert_eq!(found[1], [14.0, 32.0, 32.0, 77.0]);
    assert_eq!(found[2], [17.0, 22.0, 27.0, 22.0, 29.0, 36.0, 27.0, 36.0, 45.0]);
    assert_eq!(
        (&found[3][..], &found[4][..], &found[5][..]),
        (&[5.0, 7.0, 9.0][..], &[6.0, 15.0][..], &[21.0][..])
    );
    assert_eq!(found[6], [2.5, 3.5, 4.5]);
    // log(e + e² + e³) = 3 + log(1 + e^-1 + e^-2)
    let tail = (1.0 + (-1f64).exp() + (-2f64).exp()).ln();
    assert_close("log_sum_exp", &found[7], &[3.0 + tail, 6.0 + tail], 1e-15);
    // Column sums of a·b are 32 and 18; row sums of a are 6 and 15: 32·6 + 18·15
    assert_eq!(found[8], [462.0]);
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
