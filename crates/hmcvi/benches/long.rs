//! Time long chains as loops and written out: how long a training step takes to compile, how large its program is, and how
//! long an update takes.
//!
//! `cargo bench -p hmcvi --bench long` takes the paper's auto-encoder (d = 20, two layers of 200, global mass) with 3 HMC
//! steps of 4 leapfrog steps, 10 of 5 and 100 of 10, and prints seconds in which the program is written, differentiated
//! and compiled, its steps, values of each row and milliseconds of an update of 100 images, the median of several.
//! `-- 10x5` takes other numbers, and `-- compile` times no updates.
#![allow(clippy::print_stdout, unreachable_pub, missing_docs)]

use std::rc::Rc;
use std::time::Instant;

use hmcvi::Problem;
use hmcvi::config::{Adam, preset};
use hmcvi::family::Writing;
use hmcvi::nn::Parameters;
use hmcvi::train::{Objective, add_adam_state};
use hmcvi_graph::{CpuOptions, Graph, Program, Run, Store};

const PIXELS: usize = 784;
const ROWS: usize = 100;
const ROUNDS: usize = 5;
/// Written out, a chain of more leapfrog steps is not worth waiting for.
const MOST_UNROLLED: usize = 120;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let times = !words.iter().any(|word| word == "compile");
    let size = |word: &String| {
        let (hmc, leapfrog) = word.split_once('x')?;
        Some((hmc.parse().ok()?, leapfrog.parse().ok()?))
    };
    let mut sizes: Vec<(usize, usize)> = words.iter().filter_map(size).collect();
    if sizes.is_empty() {
        sizes = vec![(3, 4), (10, 5), (100, 10)];
    }
    println!("HMC x leapfrog  writing   compile, s  steps  values of a row  working memory, MiB  update, ms");
    for (hmc_steps, leapfrog_steps) in sizes {
        for writing in [Writing::Unrolled, Writing::Loop] {
            if writing == Writing::Loop || hmc_steps * leapfrog_steps <= MOST_UNROLLED {
                measure(hmc_steps, leapfrog_steps, writing, times);
            }
        }
    }
}

fn measure(hmc_steps: usize, leapfrog_steps: usize, writing: Writing, times: bool) {
    let mut spec = preset("hmcvi-13").expect("a preset");
    (spec.chain.hmc_steps, spec.chain.leapfrog_steps) = (hmc_steps, leapfrog_steps);
    spec.chain.writing = writing;
    let mut seconds = Vec::new();
    let mut last = None;
    for _ in 0..3 {
        let begun = Instant::now();
        last = Some(compiled(&Problem::of_run(&spec, PIXELS)));
        seconds.push(begun.elapsed().as_secs_f64());
    }
    let (program, mut store) = last.expect("it was compiled");
    let cost = program.cost();
    let options = CpuOptions::for_rows(ROWS);
    let memory = program.cpu_bytes::<f32>(options) as f64 / f64::from(1 << 20);
    let update =
        if times { format!("{:10.1}", 1e3 * update(&program, &mut store, options)) } else { "-".into() };
    println!(
        "{hmc_steps:5} x {leapfrog_steps:<6}  {:8}  {:10.3}  {:5}  {:15}  {memory:19.1}  {update:>10}",
        format!("{writing:?}").to_lowercase(),
        median(seconds),
        cost.steps,
        cost.tile_values_per_row,
    );
}

/// The program of a training step, with first values of all that it has.
fn compiled(problem: &Problem) -> (Program, Store<f32>) {
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let draw = problem.infer(&parameters, graph.batch_input("x", PIXELS));
    let objective = Objective::new(&parameters, draw);
    let program = objective.training_program(&Adam::default()).expect("a program");
    let mut store = parameters.initial_values::<f32>(1);
    add_adam_state(&mut store, objective.parameters());
    (program, store)
}

/// Median seconds of an update.
fn update(program: &Program, store: &mut Store<f32>, options: CpuOptions) -> f64 {
    let mut executable = program.on_cpu::<f32>(options);
    let x: Vec<f32> = (0..ROWS * PIXELS).map(|i| f32::from(u8::from(i * i % 5 == 0))).collect();
    let mut run = |step: u64| {
        let inputs: [(&str, &[f32]); 2] = [("x", &x), ("learning_rate", &[1e-4])];
        let begun = Instant::now();
        executable
            .run(store, &Run { rows: ROWS, inputs: &inputs, seed: 1, step, ..Run::default() })
            .expect("it runs");
        begun.elapsed().as_secs_f64()
    };
    run(0);
    median((1..=ROUNDS as u64).map(run).collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
