//! Print the program that `docs/engine.md` follows through all passes: one leapfrog step on a small
//! energy, and the derivative of where it ends. Expected: 13 row-stage steps, 96 FLOP per row in products.
#![allow(clippy::print_stdout)]

use hmcvi_graph::Graph;

fn main() -> Result<(), hmcvi_graph::CompileError> {
    let graph = Graph::new();
    let z = graph.batch_input("z", 2);
    let (w, b) = (graph.parameter("w", 2, 3), graph.parameter("b", 1, 3));
    let energy = (z.matmul(w) + b).softplus().sum_cols();
    let moved = z - 0.1 * graph.row_grad(energy, z);
    let loss = (moved.matmul(w) + b).softplus().sum_cols().mean_rows();
    let gradient = graph.grad(loss, &[w])[0];

    let program = graph.program().output("loss", loss).update(w, w - 0.01 * gradient).compile()?;
    print!("{program}");
    Ok(())
}
