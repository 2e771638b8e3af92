//! Multiply matrices of all sizes and kinds: rows of the batch, parameters, parts of them, numbers.
#![allow(missing_docs, unreachable_pub, reason = "tests are named for what they guard")]

mod common;

use common::{Draws, Point, assert_close, evaluate};
use hmcvi_graph::{CpuOptions, Expr, Graph, Instructions, Real, Run, Shape, Store};

fn on_one_thread(rows: usize) -> CpuOptions {
    CpuOptions { threads: 1, ..CpuOptions::for_rows(rows) }
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

/// Bits of a product of rows, of a product by a transpose and of a sum over rows, with some instructions.
fn bits([rows, depth, cols]: [usize; 3], instructions: Instructions) -> Vec<u32> {
    let graph = Graph::new();
    let (x, y) = (graph.batch_input("x", depth), graph.batch_input("y", cols));
    let w = graph.parameter("w", depth, cols);
    let program = graph.program().output("product", x.matmul(w)).output("transposed", y.matmul_transposed(w));
    let program =
        program.output("sum", x.transposed_matmul(y)).compile().expect("the program is well formed");
    let mut draws = Draws((rows * 1_000_000 + depth * 1000 + cols) as u64);
    let mut vector =
        |len: usize| draws.vector(len, -1.0, 1.0).iter().map(|x| *x as f32).collect::<Vec<f32>>();
    let (x, y, mut store) = (vector(rows * depth), vector(rows * cols), Store::new());
    store.insert("w", depth, cols, vector(depth * cols)).expect("sizes agree");
    let run = Run { rows, inputs: &[("x", &x), ("y", &y)], ..Run::default() };
    let mut executable = program.on_cpu::<f32>(CpuOptions { instructions, ..on_one_thread(rows) });
    executable.run(&mut store, &run).expect("everything is given");
    let output = |name| executable.output(name).expect("an output").iter().map(|x| x.to_bits());
    ["product", "transposed", "sum"].into_iter().flat_map(output).collect()
}

/// Blocks have 6 or 12 rows, vectors 4 to 16 values: the order of every sum must not depend on it.
#[test]
fn products_have_the_same_bits_with_all_instructions() {
    let mut draws = Draws(31);
    for case in 0..60 {
        let sizes = [1 + draws.below(90), 1 + draws.below(340), 1 + draws.below(70)];
        let expected = bits(sizes, Instructions::Fastest);
        assert!(bits(sizes, Instructions::Avx2) == expected, "AVX2 gives other bits for {sizes:?}");
        let portable = case % 10 > 0 || bits(sizes, Instructions::Portable) == expected;
        assert!(portable, "portable instructions give other bits for {sizes:?}");
    }
}

/// Products of all kinds against the definition, at sizes around all blocks that the code divides
/// matrices into: 6 or 12 rows, vectors of 4 to 16, depths of 256 and 320, 240 rows of a sum.
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
