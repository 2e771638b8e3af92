//! Gather rows of data sets: bytes, values and sparse values, each with its own index.
#![allow(missing_docs, reason = "tests are named for what they guard")]

mod common;

use common::Draws;
use hmcvi_graph::{CpuOptions, DataSet, Graph, Program, Real, Run, RunError, SparseError, SparseRows, Store};

/// Rows of the batch, of the data set, and columns, which are no multiple of a vector.
const ROWS: usize = 131;
const POINTS: usize = 40;
const COLS: usize = 37;

/// Numbers that f32 and bytes can both hold, most of them zero.
fn counts() -> Vec<f32> {
    let mut draws = Draws(1);
    let count = |draws: &mut Draws| if draws.below(4) == 0 { draws.below(256) as f32 } else { 0.0 };
    let mut counts: Vec<f32> = (0..POINTS * COLS).map(|_| count(&mut draws)).collect();
    // An empty row and a full one.
    counts[3 * COLS..4 * COLS].fill(0.0);
    counts[4 * COLS..5 * COLS].fill(7.0);
    counts
}

fn sparse(values: &[f32], cols: usize) -> SparseRows {
    let (mut starts, mut columns, mut kept) = (vec![0], Vec::new(), Vec::new());
    for row in values.chunks(cols) {
        for (column, x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            columns.push(column as u32);
            kept.push(*x);
        }
        starts.push(kept.len());
    }
    SparseRows::new(cols, starts, columns, kept).expect("the parts fit")
}

fn index() -> Vec<u32> {
    let mut draws = Draws(2);
    (0..ROWS).map(|_| draws.below(POINTS) as u32).collect()
}

/// `log(1 + x)·W` of rows `x`, a sum over rows of it and the rows themselves; the gradient by `W`.
fn program(x: impl for<'g> Fn(&'g Graph) -> hmcvi_graph::Expr<'g>) -> Program {
    let graph = Graph::new();
    let (x, w) = (x(&graph), graph.parameter("w", COLS, 3));
    let y = (x.log1p().matmul(w) + 1.0).tanh();
    let loss = y.square().sum_cols().mean_rows();
    let program = graph.program().output("x", x).output("y", y).output("loss", loss);
    program.output("gradient", graph.grad(loss, &[w])[0]).compile().expect("well formed")
}

fn outputs<T: Real>(program: &Program, run: &Run<'_, T>, options: CpuOptions) -> Vec<Vec<f64>> {
    let mut store = Store::new();
    let weights = Draws(3).vector(COLS * 3, -0.1, 0.1).into_iter().map(T::from_f64).collect();
    store.insert("w", COLS, 3, weights).expect("sizes agree");
    let mut executable = program.on_cpu::<T>(options);
    executable.run(&mut store, run).expect("everything is given");
    let of = |name| executable.output(name).expect("an output").iter().map(|x| x.to_f64()).collect();
    ["x", "y", "loss", "gradient"].map(of).to_vec()
}

fn check_gathers<T: Real>() {
    let (values, index) = (counts(), index());
    let bytes: Vec<u8> = values.iter().map(|x| *x as u8).collect();
    let sparse = sparse(&values, COLS);
    let picked = index.iter().flat_map(|row| &values[*row as usize * COLS..][..COLS]);
    let plain: Vec<T> = picked.map(|x| T::from_f64(f64::from(*x))).collect();
    let expected = outputs::<T>(
        &program(|graph| graph.batch_input("x", COLS)),
        &Run { rows: ROWS, inputs: &[("x", &plain)], ..Run::default() },
        CpuOptions { threads: 1, ..CpuOptions::for_rows(ROWS) },
    );
    let of_bytes = program(|graph| graph.gather("x", "batch", COLS));
    let of_values = program(|graph| graph.gather_values("x", "batch", COLS));
    let given = [
        (&of_bytes, DataSet::Bytes(&bytes)),
        (&of_values, DataSet::Values(&values)),
        (&of_values, DataSet::Sparse(&sparse)),
    ];
    for (program, data) in given {
        let run = Run { rows: ROWS, data: &[("x", data)], indices: &[("batch", &index)], ..Run::default() };
        for threads in [1, 2, 3] {
            let found = outputs::<T>(program, &run, CpuOptions { threads, ..CpuOptions::for_rows(ROWS) });
            assert_eq!(found, expected, "{threads} threads");
        }
        // Tiles of another size change the order of sums over rows, but not the rows.
        for tile_rows in [1, 7] {
            let found = outputs::<T>(program, &run, CpuOptions { tile_rows, ..CpuOptions::for_rows(ROWS) });
            assert_eq!(found[..2], expected[..2], "tiles of {tile_rows} rows");
        }
    }
}

#[test]
fn gathered_rows_are_those_of_a_plain_input_in_f32() {
    check_gathers::<f32>();
}

#[test]
fn gathered_rows_are_those_of_a_plain_input_in_f64() {
    check_gathers::<f64>();
}

#[test]
fn every_data_set_has_its_own_index() {
    let graph = Graph::new();
    let (a, b) = (graph.gather_values("a", "first", 2), graph.gather_values("b", "second", 2));
    let (c, d) = (graph.gather("c", "first", 1), graph.gather_values("d", "second", 1));
    let program = graph.program().output("y", a * 100.0 + b * 10.0 + c + d * 0.5).compile();
    let mut executable = program.expect("well formed").on_cpu::<f64>(CpuOptions::for_rows(3));
    let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
    let d = SparseRows::new(1, vec![0, 0, 1], vec![0], vec![9.0]).expect("the parts fit");
    let data = [
        ("a", DataSet::Values(&a)),
        ("b", DataSet::Values(&b)),
        ("c", DataSet::Bytes(&[1, 2])),
        ("d", DataSet::Sparse(&d)),
        ("not used", DataSet::Values(&[])),
    ];
    let indices: [(&str, &[u32]); 2] = [("second", &[1, 0, 1]), ("first", &[0, 1, 1])];
    let run = Run { rows: 3, data: &data, indices: &indices, ..Run::default() };
    executable.run(&mut Store::new(), &run).expect("everything is given");
    // Rows 0, 1, 1 of `a` and `c`, rows 1, 0, 1 of `b` and `d`.
    assert_eq!(executable.output("y"), Some(&[175.5, 285.5, 352.0, 462.0, 376.5, 486.5][..]));
}

/// The error of a run of `y = x[batch]` with two columns.
#[track_caller]
fn refused(data: &[(&str, DataSet<'_>)], index: &[u32]) -> (RunError, String) {
    let graph = Graph::new();
    let x = graph.gather_values("x", "batch", 2);
    let program = graph.program().output("y", x).compile().expect("well formed");
    let mut executable = program.on_cpu::<f32>(CpuOptions::for_rows(2));
    let run = Run { rows: 2, data, indices: &[("batch", index)], ..Run::default() };
    let error = executable.run(&mut Store::new(), &run).expect_err("it cannot start");
    let message = error.to_string();
    (error, message)
}

#[test]
fn errors_name_the_data_set() {
    let wide = SparseRows::new(3, vec![0, 0], Vec::new(), Vec::new()).expect("the parts fit");
    let short = SparseRows::new(2, vec![0, 1], vec![1], vec![5.0]).expect("the parts fit");
    let (error, message) = refused(&[], &[0, 0]);
    assert!(matches!(error, RunError::Missing { .. }));
    assert_eq!(message, "data set `x` was not given");
    let (error, message) = refused(&[("x", DataSet::Values(&[0.0; 5]))], &[0, 0]);
    assert!(matches!(error, RunError::Size { found: 5, expected: 4, .. }));
    assert_eq!(message, "data set `x` has 5 values, 4 are needed");
    let (error, message) = refused(&[("x", DataSet::Bytes(&[0; 4]))], &[0, 0]);
    assert!(matches!(error, RunError::DataKind { .. }));
    assert_eq!(message, "data set `x` holds bytes, f32 values are needed");
    let (error, message) = refused(&[("x", DataSet::Sparse(&wide))], &[0, 0]);
    assert!(matches!(error, RunError::Columns { expected: 2, found: 3, .. }));
    assert_eq!(message, "data set `x` has 3 columns, 2 are needed");
    for data in [DataSet::Values(&[0.0; 2]), DataSet::Sparse(&short)] {
        let (error, message) = refused(&[("x", data)], &[0, 1]);
        assert!(matches!(error, RunError::IndexOutOfRange { row: 1, rows: 1, .. }));
        assert_eq!(message, "index `batch` asks for row 1 of data set `x`, which has 1 rows");
    }
}

#[test]
fn values_where_bytes_are_gathered_are_refused() {
    let graph = Graph::new();
    let program = graph.program().output("y", graph.gather("x", "batch", 1)).compile().expect("well formed");
    let run = Run { data: &[("x", DataSet::Values(&[1.0]))], indices: &[("batch", &[0])], ..Run::default() };
    let error = program.on_cpu::<f64>(CpuOptions::for_rows(1)).run(&mut Store::new(), &run);
    let message = error.expect_err("it cannot start").to_string();
    assert_eq!(message, "data set `x` holds f32 values, bytes are needed");
}

#[test]
#[should_panic(expected = "the name `x` is already taken")]
fn a_data_set_is_of_bytes_or_of_values() {
    let graph = Graph::new();
    let _ = (graph.gather("x", "batch", 2), graph.gather_values("x", "batch", 2));
}

#[test]
fn sparse_rows_that_do_not_fit_together_are_refused() {
    let new = |starts: &[usize], columns: &[u32], values: &[f32]| {
        SparseRows::new(4, starts.to_vec(), columns.to_vec(), values.to_vec()).map_err(|e| (e.to_string(), e))
    };
    let refused = |starts: &[usize], columns: &[u32], values: &[f32]| {
        new(starts, columns, values).expect_err("it does not fit")
    };
    let (message, error) = refused(&[0, 1], &[0], &[]);
    assert_eq!(error, SparseError::Lengths { columns: 1, values: 0 });
    assert_eq!(message, "1 columns are given for 0 values");
    let (message, _) = refused(&[0, 1], &[0, 1], &[1.0; 2]);
    assert_eq!(message, "the starts of rows go from 0 to 1, 0 to 2 is needed");
    let (message, _) = refused(&[], &[], &[]);
    assert_eq!(message, "the starts of rows go from nothing to nothing, 0 to 0 is needed");
    assert_eq!(refused(&[0, 2, 1, 2], &[0, 1], &[1.0; 2]).1, SparseError::Starts { row: 1 });
    assert_eq!(refused(&[0, 3, 2], &[0, 1], &[1.0; 2]).1, SparseError::Starts { row: 0 });
    let (message, _) = refused(&[0, 0, 1], &[4], &[1.0]);
    assert_eq!(message, "row 1 has a value in column 4; there are 4 columns");
    for columns in [[2, 1], [1, 1]] {
        assert_eq!(refused(&[0, 2], &columns, &[1.0; 2]).1, SparseError::Order { row: 0 });
    }
    let rows = new(&[0, 2, 2, 3], &[0, 3, 1], &[1.0, 2.0, 3.0]).expect("it fits");
    assert_eq!((rows.rows(), rows.cols(), rows.len(), rows.is_empty()), (3, 4, 3, false));
    assert_eq!(rows.row(0), (&[0, 3][..], &[1.0, 2.0][..]));
    let picked = rows.pick(&[2, 1, 2]);
    assert_eq!(picked, new(&[0, 1, 1, 2], &[1, 1], &[3.0, 3.0]).expect("it fits"));
}
