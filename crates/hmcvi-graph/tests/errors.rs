//! Provoke every error, and check that its message names what went wrong and where.
#![allow(missing_docs, reason = "tests are named for what they guard")]

mod common;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use common::check;
use hmcvi_graph::{
    CompileError, CpuOptions, DataSet, Executable, Expr, Graph, Real, Rows, Run, RunError, Shape, Store,
};
use proptest::collection::vec;
use proptest::prelude::any;
use safetensors::tensor::{Dtype, TensorView};

/// The message of the panic that `build` ends in.
#[track_caller]
fn panic_message<R>(build: impl FnOnce() -> R) -> String {
    match catch_unwind(AssertUnwindSafe(build)) {
        Ok(_) => panic!("this should have panicked"),
        Err(panic) => panic.downcast_ref::<String>().expect("the message is text").clone(),
    }
}

/// Requires an operation to panic with its name, all shapes and this file and line in the message.
macro_rules! rejects {
    ($operation:literal, [$($shape:literal),*], $build:expr) => {{
        let (message, line) = (panic_message(|| $build), line!());
        let place = format!("{}:{line}:", file!());
        for part in [concat!($operation, ":"), $($shape,)* &place] {
            assert!(message.contains(part), "`{part}` is not in the message: {message}");
        }
        message
    }};
}

#[test]
fn wrong_shapes_are_named_with_the_operation_and_the_line() {
    let graph = Graph::new();
    let (a, b) = (graph.batch_input("a", 3), graph.batch_input("b", 4));
    let (p, q) = (graph.parameter("p", 2, 3), graph.parameter("q", 5, 3));
    let one = graph.parameter("one", 1, 3);

    rejects!("add", ["[N, 3]", "[N, 4]"], a + b);
    rejects!("sub", ["[N, 3]", "[N, 4]"], a - b);
    rejects!("mul", ["[N, 3]", "[2, 3]"], a * p);
    rejects!("div", ["[2, 3]", "[5, 3]"], p / q);
    rejects!("min", ["[N, 3]", "[N, 4]"], a.min(b));
    rejects!("max", ["[N, 3]", "[N, 4]"], a.max(b));
    rejects!("less", ["[N, 3]", "[N, 4]"], a.less(b));
    rejects!("less_equal", ["[N, 3]", "[N, 4]"], a.less_equal(b));
    rejects!("equal", ["[N, 3]", "[N, 4]"], a.equal(b));
    rejects!("less", ["[N, 4]", "[N, 3]"], a.greater(b));
    rejects!("less_equal", ["[N, 4]", "[N, 3]"], a.greater_equal(b));
    rejects!("select", ["[N, 3]", "[N, 4]", "[1, 3]"], a.select(b, one));
    rejects!("select", ["[1, 3]", "[2, 3]", "[5, 3]"], one.select(p, q));

    // Columns of the left, rows of the right; a batch cannot be on the right.
    rejects!("matmul", ["[N, 3]", "[2, 3]"], a.matmul(p));
    rejects!("matmul", ["[2, 3]", "[N, 4]"], p.matmul(b));
    rejects!("matmul_transposed", ["[N, 4]", "[2, 3]"], b.matmul_transposed(p));
    rejects!("matmul_transposed", ["[N, 3]", "[N, 3]"], a.matmul_transposed(a));
    rejects!("transposed_matmul", ["[N, 3]", "[2, 3]"], a.transposed_matmul(p));
    rejects!("transposed_matmul", ["[2, 3]", "[5, 3]"], p.transposed_matmul(q));

    rejects!("slice_cols", ["[N, 3]", "2..4"], a.slice_cols(2, 2));
    rejects!("slice_cols", ["[N, 3]", "1..1"], a.slice_cols(1, 0));
    rejects!("slice_rows", ["[5, 3]", "4..6"], q.slice_rows(4, 2));
    rejects!("slice_rows", ["[N, 3]", "0..1"], a.slice_rows(0, 1));
    rejects!("concat_cols", ["[2, 3]", "[5, 3]"], Expr::concat_cols(&[p, q]));
    rejects!("concat_cols", ["[N, 3]", "[2, 3]"], Expr::concat_cols(&[a, p]));
    rejects!("concat_cols", [], Expr::concat_cols(&[]));
    rejects!("concat_rows", ["[2, 3]", "[N, 3]"], Expr::concat_rows(&[p, a]));
    rejects!("concat_rows", [], Expr::concat_rows(&[]));
    rejects!("broadcast", ["[N, 3]", "[N, 4]"], a.broadcast_to(Shape::batch(4)));
    rejects!("broadcast", ["[N, 3]", "[1, 3]"], a.broadcast_to(Shape::fixed(1, 3)));

    rejects!("grad", ["[N, 3]"], graph.grad(a, &[a]));
    rejects!("row_grad", ["[N, 3]", "[N, 4]"], graph.row_grad(a, b));
    rejects!("row_grad", ["[1, 1]", "[N, 3]"], graph.row_grad(a.sum(), a));
    rejects!("broadcast", ["[N, 4]", "[N, 3]"], graph.pull_back(a, b, &[a]));
}

#[test]
fn wrong_leaves_are_named_with_the_line() {
    let graph = Graph::new();
    graph.batch_input("x", 3);
    let message = rejects!("input", ["[N, 2]", "[N, 3]"], graph.batch_input("x", 2));
    assert!(message.contains("`x` is already taken"), "{message}");
    rejects!("parameter", ["[3, 3]", "[N, 3]"], graph.parameter("x", 3, 3));
    rejects!("gather", ["[N, 5]", "[N, 3]"], graph.gather("x", "index", 5));
    rejects!("input", ["[N, 0]"], graph.batch_input("none", 0));
    rejects!("parameter", ["[0, 3]"], graph.parameter("none", 0, 3));
    rejects!("input", ["[0, 1]"], graph.input("none", Rows::Fixed(0), 1));
    rejects!("constant_matrix", ["[2, 2]", "3 values"], graph.constant_matrix(2, 2, &[1.0, 2.0, 3.0]));
}

/// A name that a panic refused is still free.
#[test]
fn a_refused_name_stays_free() {
    let graph = Graph::new();
    panic_message(|| graph.batch_input("x", 0));
    assert_eq!(graph.batch_input("x", 2).shape(), Shape::batch(2));
}

#[test]
fn every_compile_error_names_its_cause() {
    let graph = Graph::new();
    let (x, p) = (graph.batch_input("x", 2), graph.parameter("p", 1, 2));
    let error =
        |program: hmcvi_graph::ProgramBuilder<'_>| program.compile().err().expect("it cannot be compiled");

    let found = error(graph.program().output("y", x).output("y", x * 2.0));
    assert_eq!(found, CompileError::DuplicateOutput("y".into()));
    assert_eq!(found.to_string(), "two outputs are called `y`; each output needs a name of its own");

    let found = error(graph.program().update(p, p * 2.0).update(p, p * 3.0));
    assert_eq!(found, CompileError::DuplicateUpdate("p".into()));
    assert_eq!(found.to_string(), "parameter `p` is updated twice in one program");

    let found = error(graph.program().update(p * 2.0, p));
    assert_eq!(found, CompileError::NotAParameter("mul"));
    assert_eq!(found.to_string(), "an update needs a parameter as its target, not the result of `mul`");
    assert_eq!(error(graph.program().update(x, x)), CompileError::NotAParameter("input"));

    let found = error(graph.program().update(p, x));
    let (expected, shape) = (Shape::fixed(1, 2), Shape::batch(2));
    assert_eq!(found, CompileError::UpdateShape { name: "p".into(), expected, found: shape });
    assert_eq!(found.to_string(), "parameter `p` has shape [1, 2] but its update has shape [N, 2]");

    let found = error(graph.program());
    assert_eq!(found, CompileError::Empty);
    assert_eq!(found.to_string(), "the program has no output and no update");
}

/// A program that needs everything a run can give: `y = x·p + images[index]`, `p ← p + rate`.
fn program() -> Executable<f32> {
    let graph = Graph::new();
    let (x, rate) = (graph.batch_input("x", 2), graph.scalar_input("rate"));
    let p = graph.parameter("p", 2, 2);
    let y = x.matmul(p) + graph.gather("images", "index", 2);
    let program = graph.program().output("y", y.sum_rows()).update(p, p + rate);
    program.compile().expect("it is well formed").on_cpu(CpuOptions { threads: 1, ..CpuOptions::for_rows(3) })
}

fn parameters() -> Store<f32> {
    let mut store = Store::new();
    store.insert("p", 2, 2, vec![1.0, 2.0, 3.0, 4.0]).expect("sizes agree");
    store
}

const GOOD: Run<'static, f32> = Run {
    rows: 2,
    inputs: &[("x", &[1.0, 2.0, 3.0, 4.0]), ("rate", &[0.5])],
    data: &[("images", DataSet::Bytes(&[1, 2, 3, 4, 5, 6]))],
    indices: &[("index", &[2, 0])],
    seed: 0,
    step: 0,
    row_offset: 0,
};

/// The message of a run that cannot start. The store must be as it was.
#[track_caller]
fn run_error(store: Store<f32>, run: &Run<'_, f32>) -> (RunError, String) {
    let mut after = store.clone();
    let error = program().run(&mut after, run).expect_err("the run cannot start");
    assert_eq!(after, store, "a run that cannot start changes nothing");
    let message = error.to_string();
    (error, message)
}

#[test]
fn the_run_that_the_errors_are_made_from_is_good() {
    let (mut executable, mut store) = (program(), parameters());
    executable.run(&mut store, &GOOD).expect("everything is given");
    // Σ x·p = (1 + 9 + 4·... ): rows (7, 10) and (15, 22), images (5, 6) and (1, 2)
    assert_eq!(executable.output("y"), Some(&[28.0, 40.0][..]));
    assert_eq!(store.get("p").expect("it is there").values, [1.5, 2.5, 3.5, 4.5]);
}

#[test]
fn missing_values_are_named() {
    let cases = [
        (Run { inputs: &GOOD.inputs[1..], ..GOOD }, "input `x` was not given"),
        (Run { inputs: &GOOD.inputs[..1], ..GOOD }, "input `rate` was not given"),
        (Run { data: &[], ..GOOD }, "data set `images` was not given"),
        (Run { indices: &[], ..GOOD }, "index `index` was not given"),
    ];
    for (run, expected) in cases {
        let (error, message) = run_error(parameters(), &run);
        assert!(matches!(error, RunError::Missing { .. }));
        assert_eq!(message, expected);
    }
    let (error, message) = run_error(Store::new(), &GOOD);
    assert!(matches!(error, RunError::Missing { kind: "parameter", .. }));
    assert_eq!(message, "parameter `p` was not given");
}

#[test]
fn wrong_numbers_of_values_are_named() {
    let cases = [
        // 2 rows of 2 columns
        (
            Run { inputs: &[("x", &[1.0; 5]), ("rate", &[0.5])], ..GOOD },
            "input `x` has 5 values, 4 are needed",
        ),
        (
            Run { inputs: &[("x", &[1.0; 4]), ("rate", &[])], ..GOOD },
            "input `rate` has 0 values, 1 are needed",
        ),
        (Run { indices: &[("index", &[0])], ..GOOD }, "index `index` has 1 values, 2 are needed"),
        // Two whole rows and a half
        (
            Run { data: &[("images", DataSet::Bytes(&[0; 5]))], ..GOOD },
            "data set `images` has 5 values, 4 are needed",
        ),
    ];
    for (run, expected) in cases {
        let (error, message) = run_error(parameters(), &run);
        assert!(matches!(error, RunError::Size { .. }));
        assert_eq!(message, expected);
    }
    let error = Store::<f32>::new().insert("t", 2, 3, vec![0.0; 5]).expect_err("5 values for 2 · 3");
    assert_eq!(error.to_string(), "tensor `t` has 5 values, 6 are needed");
}

#[test]
fn an_index_outside_its_data_set_is_named() {
    let (error, message) = run_error(parameters(), &Run { indices: &[("index", &[0, 3])], ..GOOD });
    assert!(matches!(error, RunError::IndexOutOfRange { row: 3, rows: 3, .. }));
    assert_eq!(message, "index `index` asks for row 3 of data set `images`, which has 3 rows");
    let (_, message) = run_error(parameters(), &Run { indices: &[("index", &[u32::MAX, 0])], ..GOOD });
    assert!(message.contains("row 4294967295"), "{message}");
    let (_, message) = run_error(parameters(), &Run { data: &[("images", DataSet::Bytes(&[]))], ..GOOD });
    assert!(message.contains("which has 0 rows"), "{message}");
}

#[test]
fn rows_beyond_what_was_prepared_are_refused() {
    let (error, message) = run_error(parameters(), &Run { rows: 4, ..GOOD });
    assert!(matches!(error, RunError::Rows { found: 4, most: 3 }));
    assert_eq!(message, "a run has 4 rows; this program was prepared for 1 to 3");
    let (error, _) = run_error(parameters(), &Run { rows: 0, ..GOOD });
    assert!(matches!(error, RunError::Rows { found: 0, .. }));
}

#[test]
fn a_tensor_of_another_shape_is_refused() {
    let mut store = Store::new();
    store.insert("p", 1, 4, vec![0.0; 4]).expect("sizes agree");
    let (error, message) = run_error(store, &GOOD);
    assert!(matches!(error, RunError::TensorShape { .. }));
    assert_eq!(message, "tensor `p` has shape [1, 4], [2, 2] is needed");
    // A tensor whose values were taken away.
    let mut store = parameters();
    store.get_mut("p").expect("it is there").values.clear();
    let (error, _) = run_error(store, &GOOD);
    assert!(matches!(error, RunError::TensorShape { .. }));
}

/// After a run that could not start, the next good one is as if nothing had been.
#[test]
fn a_refused_run_leaves_the_program_usable() {
    let (mut executable, mut store) = (program(), parameters());
    executable.run(&mut store, &Run { rows: 9, ..GOOD }).expect_err("too many rows");
    executable.run(&mut store, &GOOD).expect("everything is given");
    assert_eq!(executable.output("y"), Some(&[28.0, 40.0][..]));
}

fn metadata() -> BTreeMap<String, String> {
    [("seed", "42"), ("note", "naïve “text”\nwith lines"), ("empty", "")]
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .into()
}

fn saved<T: Real>() -> (Store<T>, Vec<u8>) {
    let mut store = Store::new();
    let values = [0.1, -2.5, 3e-30, 1e30, 0.0, -0.0].map(T::from_f64).to_vec();
    store.insert("weight", 2, 3, values.clone()).expect("sizes agree");
    store.insert("bias", 1, 6, values).expect("sizes agree");
    store.insert("adam.m.weight", 1, 1, vec![T::from_f64(1.0 / 3.0)]).expect("sizes agree");
    let bytes = store.to_safetensors(&metadata()).expect("it can be written");
    (store, bytes)
}

fn check_round_trip<T: Real>() {
    let (store, bytes) = saved::<T>();
    let (found, text) = Store::<T>::from_safetensors(&bytes).expect("it can be read");
    assert_eq!(found, store);
    assert_eq!(text, metadata());
    // The file is one that others read: shape and precision are in it.
    let file = safetensors::SafeTensors::deserialize(&bytes).expect("it is in the format");
    let view = file.tensor("weight").expect("it is there");
    assert_eq!(view.shape(), [2, 3]);
    assert_eq!(view.dtype(), if size_of::<T>() == 4 { Dtype::F32 } else { Dtype::F64 });
}

#[test]
fn stores_survive_a_round_trip_in_f32() {
    check_round_trip::<f32>();
}

#[test]
fn stores_survive_a_round_trip_in_f64() {
    check_round_trip::<f64>();
}

#[test]
fn stores_are_read_in_the_other_precision() {
    let (narrow, bytes) = saved::<f32>();
    assert_eq!(Store::<f64>::from_safetensors(&bytes).expect("it can be read").0, narrow.convert::<f64>());
    let (wide, bytes) = saved::<f64>();
    assert_eq!(Store::<f32>::from_safetensors(&bytes).expect("it can be read").0, wide.convert::<f32>());
}

#[test]
fn an_empty_store_survives_a_round_trip() {
    let bytes = Store::<f32>::new().to_safetensors(&BTreeMap::new()).expect("it can be written");
    let (store, text) = Store::<f32>::from_safetensors(&bytes).expect("it can be read");
    assert!(store.is_empty() && text.is_empty());
}

#[track_caller]
fn format_error(bytes: &[u8]) -> String {
    let error = Store::<f32>::from_safetensors(bytes).expect_err("it cannot be read");
    assert!(matches!(error, RunError::Format(_)), "{error:?}");
    let message = error.to_string();
    assert!(message.starts_with("cannot read tensors: "), "{message}");
    message
}

#[test]
fn truncated_files_give_errors() {
    let (_, bytes) = saved::<f32>();
    for length in 0..bytes.len() {
        format_error(&bytes[..length]);
    }
    format_error(&[&bytes[..], &[0]].concat());
}

#[test]
fn garbage_gives_errors() {
    check(1, 2000, vec(any::<u8>(), 0..200), |bytes| {
        format_error(&bytes);
    });
    // A good length and garbage behind it.
    check(2, 500, vec(any::<u8>(), 0..100), |body| {
        format_error(&[&(body.len() as u64).to_le_bytes()[..], &body].concat());
    });
    // A header that promises what is not there.
    for header in [
        r#"{"t":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}"#,
        r#"{"t":{"dtype":"F32","shape":[18446744073709551615,2],"data_offsets":[0,16]}}"#,
        r#"{"t":{"dtype":"F32","shape":[2,2],"data_offsets":[16,0]}}"#,
        r#"{"t":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}}"#,
        r#"{"t":7}"#,
        "[]",
    ] {
        format_error(&[&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat());
    }
}

/// Changing any byte of a good file gives an error or other values, never a panic.
#[test]
fn damaged_files_do_not_panic() {
    let (_, bytes) = saved::<f32>();
    check(3, 3000, (0..bytes.len(), any::<u8>()), |(at, value)| {
        let mut damaged = bytes.clone();
        damaged[at] = value;
        let _ = Store::<f32>::from_safetensors(&damaged);
    });
}

/// The matrices and vectors of a file, as the format's own library reads them; `None` where it refuses the file, or a
/// tensor is not of that kind.
fn read_by_others(bytes: &[u8]) -> Option<Store<f32>> {
    let mut store = Store::new();
    for (name, view) in safetensors::SafeTensors::deserialize(bytes).ok()?.iter() {
        let (Dtype::F32, [.., cols]) = (view.dtype(), view.shape()) else { return None };
        let rows = if let [rows, _] = view.shape() { *rows } else { 1 };
        let values = view.data().chunks(4).map(|w| f32::from_le_bytes(w.try_into().expect("four bytes")));
        (view.shape().len() <= 2).then_some(())?;
        store.insert(name, rows, *cols, values.collect()).expect("sizes agree");
    }
    Some(store)
}

/// Digits and signs of a header that change make files that look right; both readers take the same of them.
#[test]
fn the_same_headers_are_refused_as_by_others() {
    let (_, bytes) = saved::<f32>();
    let header = 8 + u64::from_le_bytes(*bytes.first_chunk().expect("a length")) as usize;
    let signs = b"0123456789,:[]{}\" FIx";
    let (mut taken, mut refused) = (0, 0);
    for at in 8..header {
        for &sign in signs {
            let mut changed = bytes.clone();
            changed[at] = sign;
            let found = Store::<f32>::from_safetensors(&changed).ok().map(|(store, _)| store);
            assert_eq!(found, read_by_others(&changed), "{}", String::from_utf8_lossy(&changed[8..header]));
            if found.is_some() { taken += 1 } else { refused += 1 }
        }
    }
    assert!(taken > 100 && refused > 1000, "{taken} files were taken, {refused} refused");
}

/// Checkpoints keep their bytes, whoever writes them.
#[test]
fn files_have_the_bytes_that_others_write() {
    let (store, _) = saved::<f32>();
    let text = BTreeMap::from([("note".to_string(), "naïve “text”\nwith lines".to_string())]);
    for metadata in [BTreeMap::new(), text] {
        let data: Vec<(&str, [usize; 2], Vec<u8>)> = store
            .iter()
            .map(|(name, t)| {
                (name, [t.rows, t.cols], t.values.iter().flat_map(|x| x.to_le_bytes()).collect())
            })
            .collect();
        let views = data.iter().map(|(name, shape, bytes)| {
            (*name, TensorView::new(Dtype::F32, shape.to_vec(), bytes).expect("sizes agree"))
        });
        let text = (!metadata.is_empty()).then(|| metadata.clone().into_iter().collect());
        let known = safetensors::serialize(views, text).expect("it can be written");
        assert_eq!(store.to_safetensors(&metadata).expect("it can be written"), known);
    }
}

#[test]
fn a_header_longer_than_the_format_allows_is_refused() {
    let message = format_error(&100_000_001_u64.to_le_bytes());
    assert!(message.contains("at most 100000000 are allowed"), "{message}");
    let message = format_error(&100_000_000_u64.to_le_bytes());
    assert!(message.contains("ends after 8 bytes"), "{message}");
}

#[test]
fn a_tensor_with_the_name_of_the_text_is_refused() {
    let mut store = Store::<f32>::new();
    store.insert("__metadata__", 1, 1, vec![0.0]).expect("sizes agree");
    let error = store.to_safetensors(&BTreeMap::new()).expect_err("others would take it for text");
    assert!(error.to_string().contains("a tensor cannot be called `__metadata__`"), "{error}");
}

#[test]
fn tensors_of_other_types_and_dimensions_are_refused() {
    let file = |dtype: Dtype, shape: &[usize], bytes: usize| {
        let data = vec![0; bytes];
        let view = TensorView::new(dtype, shape.to_vec(), &data).expect("sizes agree");
        safetensors::serialize([("t", view)], None).expect("it can be written")
    };
    let message = format_error(&file(Dtype::I32, &[2, 2], 16));
    assert!(message.contains("tensor `t` has type I32"), "{message}");
    let message = format_error(&file(Dtype::F32, &[1, 2, 2], 16));
    assert!(message.contains("tensor `t` has shape [1, 2, 2]"), "{message}");
    let message = format_error(&file(Dtype::F32, &[], 4));
    assert!(message.contains("tensor `t` has shape []"), "{message}");
    // A vector is a single row.
    let (store, _) = Store::<f32>::from_safetensors(&file(Dtype::F32, &[3], 12)).expect("it can be read");
    let tensor = store.get("t").expect("it is there");
    assert_eq!((tensor.rows, tensor.cols), (1, 3));
}

#[test]
fn a_program_that_updates_parameters_needs_a_store_that_it_may_change() {
    let graph = Graph::new();
    let p = graph.parameter("p", 1, 2);
    let double = graph.program().output("twice", p * 2.0).compile().expect("it compiles");
    let update = graph.program().update(p, p * 2.0).compile().expect("it compiles");
    let mut store = Store::<f32>::new();
    store.insert("p", 1, 2, vec![1.0, 3.0]).expect("two values");
    let version = store.version();
    let mut executable = double.on_cpu::<f32>(CpuOptions::for_rows(1));
    executable.evaluate(&store, &Run::default()).expect("it changes nothing");
    assert_eq!(executable.output("twice"), Some(&[2.0, 6.0][..]));
    let error = update.on_cpu::<f32>(CpuOptions::for_rows(1)).evaluate(&store, &Run::default());
    assert!(matches!(error, Err(RunError::Updates)), "{error:?}");
    assert_eq!(
        (store.version(), &store.get("p").expect("it is there").values[..]),
        (version, &[1.0, 3.0][..])
    );
}
