//! Time how long large programs take from description to code: recurrences over time and many small terms.
//!
//! `cargo bench -p hmcvi-graph --bench compile` prints, for programs of about 10,000 and 100,000 expressions, seconds of
//! writing the expressions with their derivatives, of compiling them, and of preparing them for the CPU.
#![allow(clippy::print_stdout, unreachable_pub, missing_docs)]

#[path = "../tests/common/large.rs"]
mod large;

use std::time::Instant;

use hmcvi_graph::{CpuOptions, Graph};
use large::{KINDS, program};

fn main() {
    println!(
        "{:24} {:>11} {:>9} {:>11} {:>11} {:>7}",
        "program", "expressions", "write, s", "compile, s", "prepare, s", "all, s"
    );
    for wanted in [10_000, 100_000] {
        for (name, kind, per_step) in KINDS {
            let begun = Instant::now();
            let graph = Graph::new();
            let builder = program(&graph, kind, wanted / per_step);
            let write = begun.elapsed().as_secs_f64();
            let program = builder.compile().expect("the program is well formed");
            let compile = begun.elapsed().as_secs_f64() - write;
            let executable = program.on_cpu::<f64>(CpuOptions { threads: 1, ..CpuOptions::for_rows(4) });
            let all = begun.elapsed().as_secs_f64();
            let (expressions, prepare) = (program.expressions(), all - write - compile);
            println!("{name:24} {expressions:11} {write:9.3} {compile:11.3} {prepare:11.3} {all:7.3}");
            drop(executable);
        }
    }
}
