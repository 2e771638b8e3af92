//! Read the listing, the cost and the drawing of small programs, counted by hand.
#![allow(missing_docs, unreachable_pub, reason = "tests are named for what they guard")]

mod common;
#[path = "common/training.rs"]
mod training;

use hmcvi_graph::{BatchProduct, Graph, Program};
use training::{SMALL, model};

/// Logistic regression on 5 features with 3 outputs, a gradient step included.
fn regression() -> Program {
    let graph = Graph::new();
    let (x, y) = (graph.batch_input("x", 5), graph.batch_input("y", 3));
    let (w, b) = (graph.parameter("w", 5, 3), graph.parameter("b", 1, 3));
    let logits = x.matmul(w) + b;
    let loss = (logits.softplus() - y * logits).sum_cols().mean_rows();
    let gradient = graph.grad(loss, &[w, b]);
    let rate = graph.scalar_input("rate");
    let program = graph.program().output("loss", loss);
    let program = program.update(w, w - rate * gradient[0]).update(b, b - rate * gradient[1]);
    program.compile().expect("the program is well formed")
}

#[test]
fn the_listing_names_stages_groups_products_and_work() {
    let listing = format!("{}", regression());
    let parts = [
        "program: ",
        "60 FLOP in products",
        "prelude (fixed stage 0)",
        "row stage 0",
        "1 packed operand",
        "pack 0: w as [5, 3]",
        "= x · pack 0   [N, 5]·[5, 3], 30 FLOP per row",
        "group [N, 3]",
        "= softplus(",
        "= sigmoid(",
        "= sum_cols(",
        // The sum xᵀ·δ over the rows, for the gradient by w
        "xᵀ·",
        "30 FLOP per row",
        "sum_rows(",
        "finish (fixed stage 1)",
        "group [5, 3]",
        "group [1, 3]",
        "group [1, 1]",
        "output loss = ",
    ];
    for part in parts {
        assert!(listing.contains(part), "`{part}` is not in the listing:\n{listing}");
    }
    assert!(!listing.contains("row stage 1"), "one pass over the rows is enough:\n{listing}");
}

#[test]
fn the_cost_is_what_was_counted_by_hand() {
    let cost = regression().cost();
    // x·w forward and xᵀ·δ backward, 2·5·3 each
    assert_eq!(cost.product_flop_per_row, 2 * (2 * 5 * 3));
    let product = BatchProduct { is_sum: false, rows: 5, cols: 3, terms: 1 };
    assert_eq!(regression().products(), [product, BatchProduct { is_sum: true, ..product }]);
    // w is packed once
    assert_eq!(cost.packed_values, 5 * 3);
    // Sums over rows: w's [5, 3], b's [1, 3], the loss [1, 1], each from a multiple of 16 values on
    assert_eq!(cost.accumulator_values, 16 * 3);
}

#[test]
fn element_wise_work_is_counted_per_row() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 7);
    let y = (x.exp() + 1.0).log() * x;
    let program = graph.program().output("sum", y.sum_cols()).compile().expect("well formed");
    let cost = program.cost();
    // exp, add, log, mul and the sum, for each of 7 columns
    assert_eq!(cost.element_ops_per_row, 5 * 7);
    assert_eq!(cost.product_flop_per_row, 0);
    assert_eq!(cost.accumulator_values, 0);
}

/// Forward and backward through the layers of the model without HMC: each weight but the first of
/// the encoder is used three times (forward, by its input, by itself), that one twice.
#[test]
fn the_training_step_costs_what_its_layers_cost() {
    let sizes = model::Sizes { hmc_steps: 0, ..SMALL };
    let (pixels, hidden, latent) = (sizes.pixels as u64, sizes.hidden as u64, sizes.latent as u64);
    let first = pixels * hidden;
    let rest = [hidden * hidden, hidden * 2 * latent, latent * hidden, hidden * hidden, hidden * pixels];
    let expected = 2 * (2 * first + 3 * rest.iter().sum::<u64>());
    assert_eq!(model::training_step(sizes).cost().product_flop_per_row, expected);
}

#[test]
fn products_of_fixed_matrices_are_listed_with_their_shapes() {
    let graph = Graph::new();
    let (a, b) = (graph.parameter("a", 2, 3), graph.parameter("b", 3, 4));
    let c = graph.parameter("c", 5, 3);
    let program = graph
        .program()
        .output("ab", a.matmul(b))
        .output("act", a.matmul_transposed(c))
        .output("ata", a.transposed_matmul(a))
        .compile()
        .expect("well formed");
    let listing = format!("{program}");
    for part in ["a · b   [2, 3]·[3, 4]", "a · cᵀ   [2, 3]·[5, 3]", "aᵀ · a   [2, 3]·[2, 3]"] {
        assert!(listing.contains(part), "`{part}` is not in the listing:\n{listing}");
    }
    assert_eq!(program.cost().product_flop_per_row, 0, "none of it is done for rows");
}

/// A line of the drawing that declares a node, such as `n3 [label=...`.
fn is_node(line: &&str) -> bool {
    let digits = line.trim().strip_prefix('n').and_then(|rest| rest.split_once(" [label=")).map(|(n, _)| n);
    digits.is_some_and(|n| n.chars().all(|c| c.is_ascii_digit()))
}

#[test]
fn the_drawing_has_a_node_for_every_expression_and_an_edge_for_every_argument() {
    let graph = Graph::new();
    let x = graph.batch_input("x", 2);
    let w = graph.parameter("w", 2, 2);
    // Nodes: x, w, matmul, tanh, sum_rows. Edges: 2 + 1 + 1.
    let program = graph.program().output("y", x.matmul(w).tanh().sum_rows()).compile().expect("well formed");
    let drawing = program.graphviz();
    assert!(drawing.starts_with("digraph"), "{drawing}");
    assert!(drawing.trim_end().ends_with('}'), "{drawing}");
    assert_eq!(drawing.lines().filter(is_node).count(), 5, "{drawing}");
    assert_eq!(drawing.lines().filter(|line| line.contains("->")).count(), 4, "{drawing}");
    for label in ["input x", "parameter w", "matmul", "tanh", "sum_rows", "[N, 2]", "[2, 2]", "[1, 2]"] {
        assert!(drawing.contains(label), "`{label}` is not in the drawing:\n{drawing}");
    }
    assert_eq!(graph.len(), 5);
    assert!(format!("{program}").starts_with("program: 5 expressions"));
}

#[test]
fn the_drawing_names_all_kinds_of_leaves() {
    let graph = Graph::new();
    let bytes = graph.gather("images", "index", 4);
    let noise = graph.normal(3, 4) + graph.uniform(4, 4);
    let y = (bytes * 0.25 + noise).slice_cols(1, 2) / graph.batch_size();
    let drawing = graph.program().output("y", y).compile().expect("well formed").graphviz();
    for label in
        ["gather images[index]", "normal 3", "uniform 4", "scalar 0.25", "slice_cols from 1", "batch_size"]
    {
        assert!(drawing.contains(label), "`{label}` is not in the drawing:\n{drawing}");
    }
}

/// A name in a label is text, whatever characters it has.
#[test]
fn names_with_quotes_keep_the_drawing_well_formed() {
    let graph = Graph::new();
    let program = graph.program().output("y", graph.batch_input("a \"b\" \\", 1).exp()).compile();
    let drawing = program.expect("well formed").graphviz();
    let label = drawing.lines().find(|line| line.contains("input")).expect("the input is drawn");
    assert!(label.contains(r#"a \"b\" \\"#), "{label}");
}
