//! Time Bayesian models of many observations: updates of a chain's bound, and densities with gradients of single rows.
//!
//! `cargo bench -p hmcvi --bench wide` takes a logistic regression of 30 columns and 569, 5,690 and 56,900 observations
//! in double precision, as fits do. It prints milliseconds of an update (64 draws, three HMC steps of four leapfrog steps)
//! and microseconds of a density with its gradient of one row on one thread, each the median of many, and bytes of working
//! memory. `-- 5690` takes that many observations.
#![allow(clippy::print_stdout, unreachable_pub, missing_docs)]

use std::rc::Rc;
use std::time::Instant;

use hmcvi::bayes::{Bound, Data, Model, bernoulli_logit, normal};
use hmcvi::config::Adam;
use hmcvi::family::{ChainSettings, Family, HmcChain, Mass, Target};
use hmcvi::nn::{Activation, Parameters};
use hmcvi::train::{Objective, add_adam_state};
use hmcvi_graph::random::{Key, normal as draws, uniform};
use hmcvi_graph::{CpuOptions, Graph, Run, Store};

const COLUMNS: usize = 30;
const ROWS: usize = 64;

fn main() {
    let given: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let sizes = if given.is_empty() { vec![569, 5690, 56_900] } else { given };
    println!(
        "observations  update, ms  working memory, MiB  one row, µs  working memory, MiB  peak of the process, MiB"
    );
    for observations in sizes {
        let bound = regression(observations);
        let (update, of_update) = update(&bound);
        let (row, of_row) = one_row(&bound);
        println!(
            "{observations:12}  {update:10.2}  {of_update:19.1}  {row:11.1}  {of_row:19.1}  {:24}",
            peak()
        );
    }
}

fn regression(observations: usize) -> Bound {
    let mut x = vec![0.0; observations * COLUMNS];
    draws(Key { seed: 1, stream: 1, step: 0, row: 0 }, &mut x);
    let mut y = vec![0.0; observations];
    uniform(Key { seed: 1, stream: 2, step: 0, row: 0 }, &mut y);
    for (y, x) in y.iter_mut().zip(x.chunks(COLUMNS)) {
        let logit = x.iter().take(3).sum::<f64>();
        *y = f64::from(u8::from(*y < 1.0 / (1.0 + (-logit).exp())));
    }
    let model = Model::new(|m| {
        let (x, y) = (m.data("x"), m.data("y"));
        let alpha = m.sample("alpha", normal(0.0, 5.0));
        let beta = m.sample("beta", normal(0.0, 1.0).shape(COLUMNS));
        m.observe("y", bernoulli_logit(alpha + x.times(beta)), y);
    });
    let data = Data::new().with("y", y).with_matrix("x", observations, COLUMNS, x).expect("a matrix");
    model.bind(&data).expect("a model")
}

/// Milliseconds of an update, and MiB of its working memory.
fn update(bound: &Bound) -> (f64, f64) {
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let potential = bound.potential();
    let chain = HmcChain {
        settings: ChainSettings {
            hmc_steps: 3,
            leapfrog_steps: 4,
            mass: Mass::Global,
            ..ChainSettings::default()
        },
        encoder: None,
        hidden: vec![32],
        activation: Activation::Tanh,
    };
    let context = graph.constant(0.0);
    let draw = chain.draw(&Target { parameters: &parameters, potential: &potential, context });
    let objective = Objective::new(&parameters, draw);
    let program = objective.training_program(&Adam::default()).expect("a program");
    if std::env::var_os("LISTING").is_some() {
        println!("{program}");
    }
    let mut executable = program.on_cpu::<f64>(CpuOptions::for_rows(ROWS));
    let mut store = parameters.initial_values::<f64>(1);
    add_adam_state(&mut store, objective.parameters());
    let mut step = 0;
    let time = median(&mut || {
        let inputs: [(&str, &[f64]); 1] = [("learning_rate", &[1e-4])];
        let run = Run { rows: ROWS, inputs: &inputs, seed: 1, step, ..Run::default() };
        executable.run(&mut store, &run).expect("it runs");
        step += 1;
    });
    (time * 1e3, executable.bytes() as f64 / MIB)
}

/// Microseconds of a density with its gradient, and MiB of its working memory.
fn one_row(bound: &Bound) -> (f64, f64) {
    let graph = Graph::new();
    let z = graph.batch_input("z", bound.dimension());
    let log_density = bound.at(z).log_density();
    let gradient = graph.row_grad(log_density, z);
    let program = graph.program().output("log_density", log_density).output("gradient", gradient);
    let options = CpuOptions { threads: 1, ..CpuOptions::for_rows(1) };
    let mut executable = program.compile().expect("a program").on_cpu::<f64>(options);
    let (store, place) = (Store::new(), vec![0.1; bound.dimension()]);
    let time = median(&mut || {
        executable.evaluate(&store, &Run { inputs: &[("z", &place)], ..Run::default() }).expect("it runs");
    });
    (time * 1e6, executable.bytes() as f64 / MIB)
}

const MIB: f64 = (1 << 20) as f64;

/// Median seconds of many runs, for about two seconds.
fn median(run: &mut dyn FnMut()) -> f64 {
    run();
    let begun = Instant::now();
    let mut times = Vec::new();
    while times.len() < 5 || begun.elapsed().as_secs_f64() < 2.0 {
        let start = Instant::now();
        run();
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The most memory that the process had so far, in MiB; nothing where the system does not tell.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().split(' ').next()?.parse::<f64>().ok());
    kib.map_or_else(|| "-".into(), |kib| format!("{:.0}", kib / 1024.0))
}
