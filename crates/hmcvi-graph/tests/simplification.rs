//! Check that simplification keeps values and derivatives, and that shared work is done once.
#![allow(missing_docs, unreachable_pub, reason = "tests are named for what they guard")]

mod common;
#[path = "common/reference.rs"]
mod reference;
#[path = "common/training.rs"]
mod training;

use common::{Draws, Function, Point, assert_close, check, evaluate, five_point};
use hmcvi_graph::{CpuOptions, Expr, Graph, Program, Run, Shape, Store};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use reference::Recipe;
use training::{SMALL, model};

/// A random graph: rows of the batch, choices of operations, and a seed for the leaves.
fn graphs(operations: usize) -> impl Strategy<Value = (usize, Vec<[u16; 4]>, u64)> {
    (1..6usize, vec(any::<[u16; 4]>(), 1..operations), any::<u64>())
}

/// Random graphs of some ten to twenty operations on leaves, numbers and each other, against a plain
/// evaluator that knows nothing of rules, stages or fusion.
#[test]
fn random_graphs_have_the_values_of_the_plain_evaluator() {
    check(1, 3000, graphs(30), |(rows, choices, seed)| {
        let recipe = Recipe::new(rows, &choices, seed);
        let graph = Graph::new();
        let (expressions, point) = recipe.build(&graph, rows);
        let expected = recipe.values(recipe.leaves());
        for (found, expected) in evaluate(&expressions, &point).iter().zip(&expected) {
            assert_close("value", found, &expected.values, 1e-9);
        }
    });
}

/// Only some values are wanted, so that fewer are kept and more is fused; on several tiles, shards
/// and threads, with parameters updated in the same run.
#[test]
fn random_programs_have_the_values_of_the_plain_evaluator() {
    let choices = vec(any::<[u16; 4]>(), 10..60);
    check(2, 1000, (1..90usize, choices, any::<u64>()), |(rows, choices, seed)| {
        let recipe = Recipe::new(rows, &choices, seed);
        let graph = Graph::new();
        let (expressions, point) = recipe.build(&graph, rows);
        let expected = recipe.values(recipe.leaves());
        let mut draws = Draws(seed);
        let mut program = graph.program();
        let mut wanted: Vec<usize> = (0..expressions.len()).filter(|_| draws.below(5) == 0).collect();
        wanted.push(expressions.len() - 1);
        wanted.dedup();
        for place in &wanted {
            program = program.output(&place.to_string(), expressions[*place]);
        }
        // Each leaf that is a parameter is updated by some value of its shape.
        let mut updates = Vec::new();
        for (leaf, parameter) in expressions[..recipe.leaves().len()].iter().enumerate() {
            let is_parameter = point.store.get(&format!("leaf {leaf}")).is_some();
            let fitting = |place: &usize| expressions[*place].shape() == parameter.shape();
            let values: Vec<usize> = (0..expressions.len()).filter(fitting).collect();
            if is_parameter {
                let value = values[draws.below(values.len())];
                program = program.update(*parameter, expressions[value]);
                updates.push((format!("leaf {leaf}"), value));
            }
        }
        let program = program.compile().expect("the program is well formed");
        let options = CpuOptions { threads: 2, tile_rows: 8, ..CpuOptions::for_rows(rows) };
        let mut executable = program.on_cpu::<f64>(options);
        let inputs: Vec<(&str, &[f64])> =
            point.inputs.iter().map(|(n, v)| (n.as_str(), v.as_slice())).collect();
        let mut store = point.store.clone();
        executable.run(&mut store, &Run { rows, inputs: &inputs, ..Run::default() }).expect("the point fits");
        for place in wanted {
            let found = executable.output(&place.to_string()).expect("it is an output");
            assert_close("output", found, &expected[place].values, 1e-8);
        }
        for (name, value) in updates {
            let found = &store.get(&name).expect("it is a parameter").values;
            assert_close("update", found, &expected[value].values, 1e-8);
        }
    });
}

/// A functional that keeps values and higher derivatives small: `Σ tanh(y / 10)`.
fn functional(y: Expr<'_>) -> Expr<'_> {
    (y * 0.1).tanh().sum()
}

/// The gradient of a functional of the last value along random directions, against differences of
/// the plain evaluator.
#[test]
fn random_graphs_have_the_derivatives_of_the_plain_evaluator() {
    check(3, 2000, graphs(25), |(rows, choices, seed)| {
        let recipe = Recipe::new(rows, &choices, seed);
        let graph = Graph::new();
        let (expressions, point) = recipe.build(&graph, rows);
        let leaves = &expressions[..recipe.leaves().len()];
        let last = *expressions.last().expect("there are leaves");
        let gradients = evaluate(&graph.grad(functional(last), leaves), &point);
        for (leaf, gradient) in gradients.iter().enumerate() {
            let direction = Draws(seed ^ leaf as u64).vector(gradient.len(), -1.0, 1.0);
            let found: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
            let along = |h: f64| {
                let mut moved = recipe.leaves().to_vec();
                moved[leaf].values.iter_mut().zip(&direction).for_each(|(x, d)| *x += h * d);
                let values = recipe.values(&moved);
                values.last().expect("there are leaves").values.iter().map(|x| (x * 0.1).tanh()).sum()
            };
            assert_close("derivative", &[found], &[five_point(along, 1e-4)], 1e-6);
        }
    });
}

/// The gradient of a random weighting of the gradient, which takes several row stages as soon as
/// the graph has sums over rows, against differences of that weighting.
#[test]
fn random_graphs_have_second_derivatives() {
    check(4, 1000, graphs(15), |(rows, choices, seed)| {
        let recipe = Recipe::new(rows, &choices, seed);
        let graph = Graph::new();
        let (expressions, mut point) = recipe.build(&graph, rows);
        let leaves = &expressions[..recipe.leaves().len()];
        let last = *expressions.last().expect("there are leaves");
        let mut draws = Draws(seed);
        let mut weighted = graph.constant(0.0);
        for (i, gradient) in graph.grad(functional(last), leaves).into_iter().enumerate() {
            let values = draws.vector(common::len(gradient.shape(), rows), -1.0, 1.0);
            weighted =
                weighted + (point.input(&graph, &format!("u{i}"), gradient.shape(), values) * gradient).sum();
        }
        let found = evaluate(&graph.grad(weighted, leaves), &point);
        let mut first = Function::new(&[weighted], rows);
        for (leaf, found) in found.iter().enumerate() {
            let direction = draws.vector(found.len(), -1.0, 1.0);
            let along = |h: f64| {
                let mut moved = point.clone();
                let values = moved.values(&format!("leaf {leaf}"));
                values.iter_mut().zip(&direction).for_each(|(x, d)| *x += h * d);
                first.number(&moved, 0)
            };
            let expected = five_point(along, 1e-4);
            let found: f64 = found.iter().zip(&direction).map(|(g, d)| g * d).sum();
            assert_close("second derivative", &[found], &[expected], 1e-6);
        }
    });
}

#[test]
fn equal_expressions_are_stored_once() {
    let graph = Graph::new();
    let (x, y) = (graph.batch_input("x", 3), graph.batch_input("y", 3));
    let w = graph.parameter("w", 3, 2);
    let first = (x + y).matmul(w).tanh().sum_cols();
    let count = graph.len();
    // Sums and products do not depend on the order of their arguments.
    let again = (y + x).matmul(w).tanh().sum_cols();
    assert_eq!(first, again);
    assert_eq!(graph.len(), count);
    assert_eq!(graph.batch_input("x", 3), x);
    assert_eq!(graph.parameter("w", 3, 2), w);
    assert_eq!(graph.constant(0.5), graph.constant(0.5));
    assert_eq!(graph.batch_size(), graph.batch_size());
    assert_ne!(x - y, y - x);
}

#[test]
fn simple_algebra_is_done_while_the_graph_is_built() {
    let graph = Graph::new();
    let (x, y) = (graph.batch_input("x", 3), graph.batch_input("y", 3));
    let w = graph.parameter("w", 3, 2);
    let zero = |shape: Shape| graph.constant(0.0).broadcast_to(shape);
    let (wide, scalar) = (Shape::batch(3), |value: f64| graph.constant(value));
    let equal = [
        ("x·1", x * 1.0, x),
        ("1·x", 1.0 * x, x),
        ("x/1", x / 1.0, x),
        ("x+0", x + 0.0, x),
        ("0+x", 0.0 + x, x),
        ("x-0", x - 0.0, x),
        ("0-x", 0.0 - x, -x),
        ("0·x", 0.0 * x, zero(wide)),
        ("x·0", x * 0.0, zero(wide)),
        ("0/x", 0.0 / x, zero(wide)),
        ("x-x", x - x, zero(wide)),
        ("x+x", x + x, x * 2.0),
        ("x·(-1)", x * -1.0, -x),
        ("-(-x)", -(-x), x),
        ("-(x-y)", -(x - y), y - x),
        ("x+(-y)", x + (-y), x - y),
        ("x-(-y)", x - (-y), x + y),
        ("(-x)·(-y)", (-x) * (-y), x * y),
        ("2·(3·x)", 2.0 * (3.0 * x), 6.0 * x),
        ("log exp x", x.exp().log(), x),
        ("x + zeros", x + zero(wide), x),
        ("2+3", scalar(2.0) + 3.0, scalar(5.0)),
        ("exp 0", scalar(0.0).exp(), scalar(1.0)),
        ("2<3", scalar(2.0).less(3.0), scalar(1.0)),
        ("zeros·w", zero(wide).matmul(w), zero(Shape::batch(2))),
        ("x·zeros", x.matmul(zero(Shape::fixed(3, 2))), zero(Shape::batch(2))),
        ("select(1, x, y)", scalar(1.0).select(x, y), x),
        ("select(0, x, y)", scalar(0.0).select(x, y), y),
        ("select(x, y, y)", x.select(y, y), y),
        ("all columns", x.slice_cols(0, 3), x),
        ("slice of slice", x.slice_cols(1, 2).slice_cols(1, 1), x.slice_cols(2, 1)),
        ("slice of concat", Expr::concat_cols(&[x, y]).slice_cols(3, 3), y),
        ("concat of slices", Expr::concat_cols(&[x.slice_cols(0, 1), x.slice_cols(1, 2)]), x),
        (
            "concat of concat",
            Expr::concat_cols(&[Expr::concat_cols(&[x, y]), x]),
            Expr::concat_cols(&[x, y, x]),
        ),
        (
            "sum of ones",
            scalar(1.0).broadcast_to(wide).sum_rows(),
            graph.batch_size().broadcast_to(Shape::fixed(1, 3)),
        ),
        (
            "sum of columns",
            scalar(1.5).broadcast_to(wide).sum_cols(),
            scalar(4.5).broadcast_to(Shape::batch(1)),
        ),
        ("stop of stop", x.stop_gradient().stop_gradient(), x.stop_gradient()),
    ];
    for (what, found, expected) in equal {
        assert!(found == expected, "{what} is {found:?}, not {expected:?}");
    }
}

/// Values that are broadcast are computed before they are repeated.
#[test]
fn columns_are_picked_where_that_costs_nothing() {
    let graph = Graph::new();
    let (x, row) = (graph.batch_input("x", 3), graph.constant_matrix(1, 4, &[0.1, 0.2, 0.3, 0.4]));
    let first = x.slice_cols(0, 1);
    let places = [3, 0, 0, 2, 1];
    // Constants are picked now, and one column repeats.
    assert_eq!((first * row).sigmoid().gather_cols(&places), (first * row.gather_cols(&places)).sigmoid());
    assert_eq!(x.gather_cols(&[2, 2, 2]), x.slice_cols(2, 1).broadcast_to(Shape::batch(3)));
    assert_eq!(x.sqrt().square(), x);
    // Dear functions of few columns are not computed for many.
    let many: Vec<usize> = (0..400).map(|i| i % 4).collect();
    let picks = |x: Expr<'_>| {
        let listing = graph.program().output("y", x).compile().expect("well formed").to_string();
        listing.lines().any(|line| line.contains("gather_cols") && line.contains("[N, 400]"))
    };
    assert!(picks((first * row).exp().sigmoid().tanh().gather_cols(&many)));
    assert!(!picks((first * row + row).gather_cols(&many)));
}

#[test]
fn repeated_values_are_computed_once() {
    let graph = Graph::new();
    let row = graph.parameter("row", 1, 4);
    let wide = row.broadcast_to(Shape::batch(4));
    assert_eq!(wide.exp(), row.exp().broadcast_to(Shape::batch(4)));
    let w = graph.parameter("w", 4, 2);
    assert_eq!(wide.matmul(w), row.matmul(w).broadcast_to(Shape::batch(2)));
}

/// Lines of a listing that are products by some packed operand, named as the listing names it.
fn products_with(program: &Program, operand: &str) -> usize {
    let listing = format!("{program}");
    let packs: Vec<String> = listing
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pack "))
        .filter_map(|line| line.split_once(": "))
        .filter(|(_, rest)| rest.split_once(" as ").is_some_and(|(name, _)| name == operand))
        .map(|(number, _)| format!("· pack {number} "))
        .collect();
    let is_product = |line: &&str| packs.iter().any(|pack| line.contains(pack.as_str()));
    listing.lines().filter(is_product).count()
}

/// `concat(x, z)·W = x·W_x + z·W_z`: for three `z` and one `x` that is one product with `W_x`.
#[test]
fn products_of_concatenations_share_their_common_part() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 5);
    let w = graph.parameter("w", 8, 4);
    let mut program = graph.program();
    for name in ["a", "b", "c"] {
        let z = graph.batch_input(name, 3);
        program = program.output(&format!("{name} of"), Expr::concat_cols(&[x, z]).matmul(w).tanh());
    }
    let program = program.compile().expect("the program is well formed");
    assert_eq!(products_with(&program, "w"), 1, "{program}");
    // The part for z begins 5 rows of 4 values further on.
    assert_eq!(products_with(&program, "w+20"), 3, "{program}");
    // 2·5·4 once and 2·3·4 three times
    assert_eq!(program.cost().product_flop_per_row, 40 + 3 * 24);
}

/// The force at the end of a leapfrog step is the one at the beginning of the next, across HMC steps
/// too: `T·L + 1` evaluations, each with one product by the transpose of the last decoder weight.
#[test]
fn a_chain_of_leapfrog_steps_evaluates_each_force_once() {
    for (hmc_steps, leapfrog_steps) in [(1, 1), (1, 4), (2, 2), (3, 4)] {
        let sizes = model::Sizes { hmc_steps, leapfrog_steps, ..SMALL };
        let graph = Graph::new();
        let (bound, _) = model::bound(&graph, model::images(&graph, sizes), sizes);
        let program = graph.program().output("bound", bound).compile().expect("the program is well formed");
        let forces = hmc_steps * leapfrog_steps + 1;
        for layer in ["decoder.2.weightᵀ", "decoder.1.weightᵀ", "decoder.0.weightᵀ"] {
            assert_eq!(products_with(&program, layer), forces, "{layer} in {program}");
        }
        // The energy is evaluated at the same points, and its layers forward with it.
        assert_eq!(products_with(&program, "decoder.2.weight"), forces, "{program}");
        // The reverse model reads the same images at every HMC step.
        assert_eq!(products_with(&program, "reverse.0.weight"), 1, "{program}");
    }
}

/// Derivatives of slices join into one matrix again, without adding zeros.
#[test]
fn derivatives_of_all_slices_need_no_addition() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 4);
    let (a, b) = (x.slice_cols(0, 1), x.slice_cols(1, 3));
    let gradient = graph.grad(a.exp().sum() + b.tanh().sum(), &[x])[0];
    let program = graph.program().output("gradient", gradient).compile().expect("the program is well formed");
    assert!(!format!("{program}").contains("add("), "{program}");
    let mut point = Point::new(1);
    point.inputs.push(("x".into(), vec![0.1, 0.2, 0.3, 0.4]));
    let slope = |x: f64| 1.0 - x.tanh().powi(2);
    // eˣ for the first column, 1 - tanh² for the others
    let expected = [0.1f64.exp(), slope(0.2), slope(0.3), slope(0.4)];
    assert_close("gradient", &evaluate(&[gradient], &point)[0], &expected, 1e-15);
}

/// What no output needs is not computed, and needs no values.
#[test]
fn unused_expressions_are_left_out() {
    let graph = Graph::new();
    let (x, unused) = (graph.batch_input("x", 1), graph.batch_input("unused", 1));
    let _ = unused.exp().sum_rows() * graph.parameter("p", 1, 1);
    let program = graph.program().output("y", x * 2.0).compile().expect("the program is well formed");
    let mut executable = program.on_cpu::<f32>(CpuOptions::for_rows(1));
    executable
        .run(&mut Store::new(), &Run { inputs: &[("x", &[3.0])], ..Run::default() })
        .expect("only x is needed");
    assert_eq!(executable.output("y"), Some(&[6.0][..]));
}
