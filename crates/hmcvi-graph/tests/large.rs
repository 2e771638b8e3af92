//! Count what large programs become: everything grows in proportion to what was written.
#![allow(missing_docs, unreachable_pub, reason = "tests are named for what they guard")]

#[path = "common/large.rs"]
mod large;

use hmcvi_graph::{CpuOptions, Graph, Run, Store};
use large::{KINDS, program};

#[test]
fn expressions_steps_and_memory_grow_in_proportion() {
    for (name, kind, _) in KINDS {
        let count = |steps: usize| {
            let graph = Graph::new();
            let program = program(&graph, kind, steps).compile().expect("well formed");
            let cost = program.cost();
            [graph.len() as u64, program.expressions() as u64, cost.steps, cost.tile_values_per_row]
        };
        let (few, more, most) = (count(100), count(200), count(400));
        let what = ["nodes", "expressions", "steps", "values of a tile"];
        for (i, what) in what.into_iter().enumerate() {
            let (first, second) = (more[i] - few[i].min(more[i]), most[i] - more[i].min(most[i]));
            assert!(second <= 2 * first + first / 10 + 20, "{name}: {few:?}, {more:?}, {most:?} {what}");
        }
    }
}

#[test]
fn chains_may_be_longer_than_the_stack_is_deep() {
    let graph = Graph::new();
    let z = graph.batch_input("z", 1);
    let x = (0..50_000).fold(z, |x, _| (x * 0.5).sin() + z);
    let program = graph.program().output("x", x).compile().expect("well formed");
    let mut executable = program.on_cpu::<f64>(CpuOptions { threads: 1, ..CpuOptions::for_rows(1) });
    executable.evaluate(&Store::new(), &Run { inputs: &[("z", &[0.7])], ..Run::default() }).expect("it runs");
    // The fixed point of x = sin(x / 2) + z.
    let found = executable.output("x").expect("an output")[0];
    assert!((found - ((found * 0.5).sin() + 0.7)).abs() < 1e-14);
}
