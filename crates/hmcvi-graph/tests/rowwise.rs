//! Check functions of whole rows: columns picked and summed, and small matrices in every row.
#![allow(missing_docs, reason = "tests are named for what they guard")]

mod common;

use common::{Draws, Function, Point, assert_close, differences, evaluate, len};
use hmcvi_graph::{CpuOptions, Expr, Graph, Real, Rows, Run, Shape, Store};

/// A function of some arguments, with the shapes of their rows.
struct Case {
    name: &'static str,
    cols: &'static [usize],
    build: for<'g> fn(&[Expr<'g>]) -> Expr<'g>,
}

/// `AAᵀ + 2I` for a matrix that is not symmetric: always positive definite.
fn positive_definite(a: Expr<'_>, n: usize) -> Expr<'_> {
    let identity: Vec<f64> = (0..n * n).map(|i| if i / n == i % n { 2.0 } else { 0.0 }).collect();
    a.row_matmul(a.row_transpose(n, n), [n, n, n]) + a.graph().constant_matrix(1, n * n, &identity)
}

/// A matrix whose diagonal is at least 1, for triangular systems.
fn with_diagonal(a: Expr<'_>, n: usize) -> Expr<'_> {
    let identity: Vec<f64> = (0..n * n).map(|i| if i / n == i % n { 3.0 } else { 0.0 }).collect();
    a + a.graph().constant_matrix(1, n * n, &identity)
}

const CASES: [Case; 28] = [
    Case { name: "gather_cols", cols: &[4], build: |x| x[0].gather_cols(&[3, 0, 0, 2, 3, 3, 1]) },
    Case { name: "gather of one", cols: &[4], build: |x| x[0].gather_cols(&[2]) },
    Case {
        name: "gather twice",
        cols: &[3],
        build: |x| x[0].gather_cols(&[2, 0, 1, 1]).square().gather_cols(&[1, 3, 0]),
    },
    Case {
        name: "gather of what constants and a number make",
        cols: &[1],
        build: |x| {
            let c = x[0].graph().constant_matrix(1, 4, &[0.3, -0.4, 1.1, 0.7]);
            (x[0] * c + c).exp().gather_cols(&[3, 0, 0, 2, 3, 3, 1])
        },
    },
    Case {
        name: "gather of what gathered columns make",
        cols: &[4, 2],
        build: |x| {
            let c = x[0].graph().constant_matrix(1, 4, &[0.3, -0.4, 1.1, 0.7]);
            (x[0].gather_cols(&[3, 1, 0, 2]) * c + x[1].gather_cols(&[0, 1, 1, 0]))
                .gather_cols(&[0, 2, 1, 3, 0])
        },
    },
    Case {
        name: "gather of one column of several",
        cols: &[4, 1],
        build: |x| (x[0].gather_cols(&[3, 1, 0, 3]).square() * x[1]).gather_cols(&[3, 0, 3]),
    },
    Case { name: "segment_sum_cols", cols: &[6], build: |x| x[0].segment_sum_cols(&[2, 0, 2, 4, 4, 2], 5) },
    Case { name: "sum of one segment", cols: &[3], build: |x| x[0].segment_sum_cols(&[1, 1, 1], 2) },
    Case { name: "cumsum_cols", cols: &[5], build: |x| x[0].cumsum_cols() },
    Case { name: "reverse_cumsum_cols", cols: &[5], build: |x| x[0].reverse_cumsum_cols() },
    Case { name: "cumsum_groups", cols: &[6], build: |x| x[0].cumsum_groups(3) },
    Case { name: "log_sum_exp_groups", cols: &[6], build: |x| x[0].log_sum_exp_groups(3) },
    Case { name: "many groups", cols: &[5], build: |x| x[0].repeat_cols(180).log_sum_exp_groups(3) },
    Case { name: "pairs", cols: &[4], build: |x| x[0].log_sum_exp_groups(2) },
    Case {
        name: "log_sum_exp_of",
        cols: &[3, 1],
        build: |x| Expr::log_sum_exp_of(&[x[0], x[1], 2.0 * x[0]]),
    },
    Case { name: "sum_groups", cols: &[6], build: |x| x[0].sum_groups(2) },
    Case { name: "repeat_cols", cols: &[3], build: |x| x[0].repeat_cols(3) },
    Case { name: "row_matmul", cols: &[6, 12], build: |x| x[0].row_matmul(x[1], [2, 3, 4]) },
    Case { name: "matrix and vector", cols: &[6, 3], build: |x| x[0].row_matmul(x[1], [2, 3, 1]) },
    Case { name: "row_transpose", cols: &[6], build: |x| x[0].row_transpose(2, 3) },
    Case {
        name: "product of transposes",
        cols: &[6, 12],
        build: |x| {
            let a = x[0].row_transpose(3, 2);
            a.row_matmul(x[1].row_transpose(4, 3), [2, 3, 4]).tanh()
        },
    },
    Case { name: "cholesky", cols: &[9], build: |x| positive_definite(x[0], 3).cholesky(3) },
    // Only the lower triangle is read: a matrix that is not symmetric tells.
    Case { name: "cholesky of a triangle", cols: &[9], build: |x| with_diagonal(x[0], 3).cholesky(3) },
    Case {
        name: "triangular_solve",
        cols: &[9, 6],
        build: |x| with_diagonal(x[0], 3).triangular_solve(x[1], 3, false),
    },
    Case {
        name: "transposed triangular_solve",
        cols: &[9, 3],
        build: |x| with_diagonal(x[0], 3).triangular_solve(x[1], 3, true),
    },
    Case { name: "eigenvalues", cols: &[9], build: |x| x[0].symmetric_eigen(3).0 },
    Case {
        name: "eigenvectors",
        cols: &[9],
        build: |x| {
            let vectors = x[0].symmetric_eigen(3).1;
            vectors * vectors.gather_cols(&[3, 4, 5, 6, 7, 8, 0, 1, 2])
        },
    },
    // The density of a normal distribution, up to a constant: -½ |L⁻¹x|² - Σ log L_ii.
    Case {
        name: "normal density",
        cols: &[9, 3],
        build: |x| {
            let l = positive_definite(x[0], 3).cholesky(3);
            let solved = l.triangular_solve(x[1], 3, false);
            -0.5 * solved.square().sum_cols() - l.gather_cols(&[0, 4, 8]).log().sum_cols()
        },
    },
];

/// Which arguments have rows of the batch, fixed rows, or a single row.
fn layouts(args: usize) -> Vec<Vec<Rows>> {
    let (batch, three, one) = (Rows::Batch, Rows::Fixed(3), Rows::Fixed(1));
    match args {
        1 => vec![vec![batch], vec![three], vec![one]],
        _ => {
            vec![vec![batch, batch], vec![three, three], vec![one, batch], vec![batch, one], vec![one, three]]
        }
    }
}

/// As for other operations: the gradient of a weighted sum of values and squares, and that of a weighted gradient.
fn check_derivatives(case: &Case, layout: &[Rows], seed: u64) {
    let (graph, rows, mut draws) = (Graph::new(), 3, Draws(seed));
    let mut point = Point::new(rows);
    let mut x = Vec::new();
    for (i, (cols, kind)) in case.cols.iter().zip(layout).enumerate() {
        let shape = Shape { rows: *kind, cols: *cols };
        let values = draws.vector(len(shape, rows), -1.0, 1.0);
        x.push(match kind {
            Rows::Fixed(_) if i == 0 => point.parameter(&graph, &format!("x{i}"), shape, values),
            _ => point.input(&graph, &format!("x{i}"), shape, values),
        });
    }
    let mut weights = |name: String, shape: Shape| {
        let values = draws.vector(len(shape, rows), -1.0, 1.0);
        point.input(&graph, &name, shape, values)
    };
    let y = (case.build)(&x);
    let (w, v) = (weights("w".into(), y.shape()), weights("v".into(), y.shape()));
    let f = (w * y + v * y.square() * 0.5).sum();
    let gradient = graph.grad(f, &x);
    let parts = gradient.iter().enumerate().map(|(i, g)| (weights(format!("u{i}"), g.shape()) * *g).sum());
    let h = parts.reduce(|a, b| a + b).expect("there are arguments");
    let second = graph.grad(h, &x);
    let mut value = Function::new(&[f], rows);
    let mut first = Function::new(&[&gradient[..], &[h]].concat(), rows);
    let (found, found_again) = (first.call(&point), evaluate(&second, &point));
    for i in 0..x.len() {
        let name = format!("x{i}");
        let what = |order: &str| format!("{}, {layout:?}: {order} derivative by {name}", case.name);
        let expected = differences(&mut value, 0, &point, &name);
        assert_close(&what("first"), &found[i], &expected, 1e-7);
        let expected = differences(&mut first, x.len(), &point, &name);
        assert_close(&what("second"), &found_again[i], &expected, 1e-7);
    }
}

#[test]
fn first_and_second_derivatives_are_those_of_differences() {
    for case in &CASES {
        for layout in layouts(case.cols.len()) {
            for seed in 0..3 {
                check_derivatives(case, &layout, seed);
            }
        }
    }
}

/// Values of a function of rows of the batch.
fn rows_of<T: Real>(
    cols: &[usize],
    values: &[Vec<T>],
    build: impl for<'g> Fn(&[Expr<'g>]) -> Expr<'g>,
) -> Vec<T> {
    let graph = Graph::new();
    let mut point = Point::new(values[0].len() / cols[0]);
    let mut x = Vec::new();
    for (i, (cols, values)) in cols.iter().zip(values).enumerate() {
        x.push(point.input(&graph, &format!("x{i}"), Shape::batch(*cols), values.clone()));
    }
    evaluate(&[build(&x)], &point).remove(0)
}

#[test]
fn columns_are_picked_and_summed() {
    let x = vec![vec![1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0]];
    assert_eq!(rows_of(&[4], &x, |x| x[0].gather_cols(&[3, 0, 0])), [4.0, 1.0, 1.0, 40.0, 10.0, 10.0]);
    assert_eq!(
        rows_of(&[4], &x, |x| x[0].segment_sum_cols(&[2, 0, 2, 0], 3)),
        [6.0, 0.0, 4.0, 60.0, 0.0, 40.0]
    );
    assert_eq!(rows_of(&[4], &x, |x| x[0].cumsum_cols())[..4], [1.0, 3.0, 6.0, 10.0]);
    assert_eq!(rows_of(&[4], &x, |x| x[0].reverse_cumsum_cols())[4..], [100.0, 90.0, 70.0, 40.0]);
    assert_eq!(rows_of(&[4], &x, |x| x[0].cumsum_groups(2))[..4], [1.0, 3.0, 3.0, 7.0]);
    assert_eq!(rows_of(&[4], &x, |x| x[0].sum_groups(2)), [3.0, 7.0, 30.0, 70.0]);
    assert_eq!(rows_of(&[4], &x, |x| x[0].repeat_cols(2))[..4], [1.0, 1.0, 2.0, 2.0]);
    assert_eq!(rows_of(&[4], &x, |x| x[0].row_transpose(2, 2))[..4], [1.0, 3.0, 2.0, 4.0]);
}

/// By SciPy: `scipy.linalg.cholesky(A, lower=True)`, `solve_triangular(L, b, lower=True)`, the same with `trans=1`, and
/// `scipy.special.logsumexp(x, axis=1)`.
#[test]
fn values_are_those_of_scipy() {
    // What is above the diagonal must not be read.
    let a = vec![4.0, 9.0, 9.0, 1.0, 3.0, 9.0, -0.5, 0.25, 2.0];
    let b = vec![1.0, 2.0, -3.0, 0.5, 0.25, 4.0];
    let given = [a, b];
    let found = rows_of(&[9, 6], &given, |x| x[0].cholesky(3));
    let expected = [2.0, 0.0, 0.0, 0.5, 1.6583123951777, 0.0, -0.25, 0.22613350843332272, 1.3734495390671027];
    assert_close("cholesky", &found, &expected, 1e-15);
    let found = rows_of(&[9, 6], &given, |x| x[0].cholesky(3).triangular_solve(x[1], 3, false));
    let expected = [0.5, 1.0, -1.9598237397554636, 0.0, 0.5957130530893456, 3.09439835910299];
    assert_close("triangular_solve", &found, &expected, 1e-15);
    let found = rows_of(&[9, 6], &given, |x| x[0].cholesky(3).triangular_solve(x[1], 3, true));
    let expected = [
        0.9812252902807108,
        1.3879545384806058,
        -1.8338894446786378,
        -0.09563069081513347,
        0.18202343288841116,
        2.9123749262145786,
    ];
    assert_close("transposed triangular_solve", &found, &expected, 1e-15);
    let found = rows_of(&[6], &[vec![1.0, -2.0, 3.0, 500.0, 501.0, -1000.0]], |x| x[0].log_sum_exp_groups(3));
    assert_close("log_sum_exp_groups", &found, &[3.1328452337275756, 501.3132616875182], 1e-15);
}

/// `LLᵀ = A` and `LX = B` for all sizes, with one right side and with many.
fn check_sizes<T: Real>(limit: f64) {
    for n in [1, 2, 3, 7, 8, 9, 16, 33, 64] {
        let rows = 5;
        let mut draws = Draws(n as u64);
        let mut values = |cols: usize| -> Vec<T> {
            draws.vector(rows * cols, -1.0, 1.0).into_iter().map(T::from_f64).collect()
        };
        let given = [values(n * n), values(n), values(3 * n)];
        let residual = |build: &dyn for<'g> Fn(&[Expr<'g>]) -> Expr<'g>| {
            let found = rows_of(&[n * n, n, 3 * n], &given, build);
            found.iter().fold(0.0, |most: f64, x| most.max(x.to_f64().abs()))
        };
        let of_factor = residual(&|x| {
            let a = positive_definite(x[0], n);
            let l = a.cholesky(n);
            l.row_matmul(l.row_transpose(n, n), [n, n, n]) - a
        });
        assert!(of_factor <= limit * n as f64, "n = {n}: LLᵀ - A is {of_factor:e}");
        for transposed in [false, true] {
            for (i, cols) in [(1, 1), (2, 3)] {
                let of_solution = residual(&|x| {
                    let l = positive_definite(x[0], n).cholesky(n);
                    let solved = l.triangular_solve(x[i], n, transposed);
                    let l = if transposed { l.row_transpose(n, n) } else { l };
                    l.row_matmul(solved, [n, n, cols]) - x[i]
                });
                assert!(of_solution <= limit * n as f64, "n = {n}, {cols} columns: {of_solution:e}");
            }
        }
    }
}

#[test]
fn factors_and_solutions_of_all_sizes_in_f32() {
    check_sizes::<f32>(1e-6);
}

#[test]
fn factors_and_solutions_of_all_sizes_in_f64() {
    check_sizes::<f64>(2e-15);
}

#[test]
fn log_sum_exp_of_values_is_that_of_groups() {
    let inf = f64::INFINITY;
    let rows =
        [[-1.0, 2.0, 0.5], [1e4, 1e4 + 1.0, -1e4], [-inf, -inf, -inf], [-inf, 3.0, -inf], [inf, 1.0, 2.0]];
    let graph = Graph::new();
    let x = graph.batch_input("x", 3);
    let parts: Vec<Expr<'_>> = (0..3).map(|i| x.slice_cols(i, 1)).collect();
    let program = graph.program().output("of", Expr::log_sum_exp_of(&parts)).output("row", x.log_sum_exp());
    let mut executable = program.compile().expect("well formed").on_cpu::<f64>(CpuOptions::for_rows(5));
    let run = Run { rows: 5, inputs: &[("x", rows.as_flattened())], ..Run::default() };
    executable.evaluate(&Store::new(), &run).expect("it runs");
    let output = |name| executable.output(name).expect("an output").iter();
    for (found, expected) in output("of").zip(output("row")) {
        assert!(
            found == expected || (found - expected).abs() < 1e-12 * expected.abs(),
            "{found}, {expected}"
        );
    }
}

#[test]
fn matrices_that_are_not_positive_definite_give_nan() {
    let found: Vec<f64> =
        rows_of(&[4], &[vec![1.0, 0.0, 2.0, 1.0, 4.0, 0.0, 0.0, 9.0]], |x| x[0].cholesky(2));
    assert!(found[3].is_nan(), "{found:?}");
    assert_eq!(found[4..], [2.0, 0.0, 0.0, 3.0]);
}

#[test]
fn rows_do_not_depend_on_how_they_are_divided() {
    let graph = Graph::new();
    let (x, w) = (graph.batch_input("x", 9), graph.parameter("w", 1, 9));
    let l = positive_definite(x + w, 3).cholesky(3);
    let y = l.cumsum_cols() + l.gather_cols(&[8, 7, 6, 5, 4, 3, 2, 1, 0]);
    let gradient = graph.grad(y.log_sum_exp_groups(3).sum(), &[w])[0];
    let program = graph.program().output("y", y).output("gradient", gradient).compile().expect("well formed");
    let rows = 131;
    let mut store = Store::<f64>::new();
    store.insert("w", 1, 9, Draws(1).vector(9, -1.0, 1.0)).expect("sizes agree");
    let values = Draws(2).vector(rows * 9, -1.0, 1.0);
    let mut all = Vec::new();
    for (threads, tile_rows) in [(1, 80), (2, 80), (3, 7)] {
        let options = CpuOptions { threads, tile_rows, ..CpuOptions::for_rows(rows) };
        let mut executable = program.on_cpu::<f64>(options);
        let run = Run { rows, inputs: &[("x", &values)], ..Run::default() };
        executable.run(&mut store, &run).expect("everything is given");
        all.push(executable.output("y").expect("an output").to_vec());
        if tile_rows == 80 {
            all.push(executable.output("gradient").expect("an output").to_vec());
        }
    }
    assert_eq!(all[0], all[2]);
    assert_eq!(all[1], all[3]);
    assert_eq!(all[0], all[4]);
}

#[test]
fn simple_cases_are_simplified() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 4);
    assert_eq!(x.gather_cols(&[0, 1, 2, 3]), x);
    assert_eq!(x.gather_cols(&[1, 2]), x.slice_cols(1, 2));
    assert_eq!(x.gather_cols(&[3, 1, 1]).gather_cols(&[2, 0]), x.gather_cols(&[1, 3]));
    assert_eq!(x.row_transpose(2, 2).row_transpose(2, 2), x);
    assert_eq!(x.segment_sum_cols(&[0, 0, 0, 0], 1), x.sum_cols());
    assert_eq!(x.log_sum_exp_groups(4), x.log_sum_exp());
    assert_eq!(x.log_sum_exp_groups(1), x);
    // A single row is computed once, and then repeated.
    let w = graph.parameter("w", 1, 4);
    let repeated = w.broadcast_to(Shape::batch(4));
    assert_eq!(repeated.cholesky(2), w.cholesky(2).broadcast_to(Shape::batch(4)));
    let listing =
        graph.program().output("y", w.cholesky(2).row_matmul(x, [2, 2, 2])).compile().expect("well formed");
    let listing = listing.to_string();
    for part in ["= cholesky(w)   [1, 4]", "= row_matmul(f0, x)   [N, 4]"] {
        assert!(listing.contains(part), "`{part}` is not in the listing:\n{listing}");
    }
}

fn message(build: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = std::panic::catch_unwind(build).expect_err("it does not fit");
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn what_does_not_fit_is_refused() {
    type Build = for<'g> fn(Expr<'g>) -> Expr<'g>;
    let cases: [(Build, &str); 6] = [
        (|x| x.gather_cols(&[0, 7]), "place 7 was asked for, of 6 columns"),
        (|x| x.gather_cols(&[]), "no places were given"),
        (|x| x.segment_sum_cols(&[0, 1], 2), "2 places were given"),
        (|x| x.log_sum_exp_groups(4), "groups of 4"),
        (|x| x.cholesky(2), "2 rows and 2 columns"),
        (|x| x.row_matmul(x, [2, 3, 3]), "3 rows and 3 columns"),
    ];
    for (build, expected) in cases {
        let found = message(move || {
            build(Graph::new().batch_input("x", 6));
        });
        assert!(found.contains(expected), "`{expected}` is not in `{found}`");
    }
}
