//! Change parameters inside programs: everything sees the values from before the run.
#![allow(missing_docs, unreachable_pub, reason = "tests are named for what they guard")]

mod common;

use common::assert_close;
use hmcvi_graph::{CpuOptions, Executable, Expr, Graph, Run, Store};

/// A program with updates, its parameters and the last outputs.
struct Updates {
    #[cfg(feature = "cuda")]
    program: hmcvi_graph::Program,
    store: Store<f64>,
    executable: Executable<f64>,
}

impl Updates {
    fn new(program: hmcvi_graph::ProgramBuilder<'_>, store: Store<f64>) -> Self {
        let program = program.compile().expect("the program is well formed");
        let executable = program.on_cpu(CpuOptions { threads: 2, ..CpuOptions::for_rows(3) });
        Updates {
            #[cfg(feature = "cuda")]
            program,
            store,
            executable,
        }
    }

    fn run(&mut self, run: &Run<'_, f64>) {
        #[cfg(feature = "cuda")]
        let before = self.store.clone();
        self.executable.run(&mut self.store, run).expect("everything is given");
        #[cfg(feature = "cuda")]
        common::on_cuda::compare_updates(&self.program, &before, run, &self.store, &self.executable);
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
fn the_same_expressions_of_other_parameters() {
    let graph = Graph::new();
    let (a, b) = (graph.parameter("a", 1, 2), graph.parameter("b", 1, 2));
    let program = graph.program().output("sum", a + b).update(a, a * b).parameters_from("other.");
    let tensors: [(&str, usize, usize, &[f64]); 3] =
        [("a", 1, 2, &[1.0, 2.0]), ("other.a", 1, 2, &[3.0, 4.0]), ("other.b", 1, 2, &[5.0, 6.0])];
    let mut updates = Updates::new(program, store(&tensors));
    updates.run(&Run { rows: 1, ..Run::default() });
    assert_eq!(updates.output("sum"), [8.0, 10.0]);
    assert_eq!((updates.parameter("other.a"), updates.parameter("a")), (&[15.0, 24.0][..], &[1.0, 2.0][..]));
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
