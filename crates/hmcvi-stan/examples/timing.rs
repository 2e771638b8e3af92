//! Time how long programs take to become models, and their log density with its gradient: loops, vectors, carried loops.
//!
//! `cargo run --release -p hmcvi-stan --example timing`
#![allow(clippy::print_stdout, reason = "it is a benchmark")]

use std::time::Instant;

use hmcvi::bayes::{Bound, Data};
use hmcvi_graph::{CpuOptions, Graph, Run, Store};
use hmcvi_stan::Program;

const REGRESSION: &str = "data { int N; vector[N] x; vector[N] y; array[N] int g; }
parameters { vector[5] a; real b; real<lower=0> s; } model { a ~ normal(0, 1); b ~ normal(0, 1); s ~ exponential(1); ";

const CARRIED: &str = "data { int N; vector[N] x; vector[N] y; array[N] int g; }
parameters { real mu; real<lower=0> a0; real<lower=0, upper=1> a1; real<lower=0, upper=1 - a1> b1; }
model { vector[N] v; v[1] = 1; for (n in 2:N) v[n] = sqrt(a0 + a1 * square(y[n - 1] - mu) + b1 * square(v[n - 1])); y ~ normal(mu, v); }";

const WALK: &str = "data { int N; vector[N] x; vector[N] y; array[N] int g; }
parameters { vector[N] e; real<lower=0> s; real<lower=0, upper=1> phi; }
model { vector[N] h = e * s; e ~ std_normal(); for (n in 2:N) h[n] += phi * h[n - 1]; y ~ normal(0, exp(h / 2)); }";

const CHAIN: &str = "data { int N; vector[N] x; vector[N] y; array[N] int g; }
parameters { array[3] simplex[3] t; ordered[3] m; }
model { array[N, 3] real f; array[3] real acc; for (k in 1:3) f[1, k] = normal_lpdf(y[1] | m[k], 1);
  for (n in 2:N) for (k in 1:3) { for (j in 1:3) acc[j] = f[n - 1, j] + log(t[j, k]) + normal_lpdf(y[n] | m[k], 1); f[n, k] = log_sum_exp(acc); }
  target += log_sum_exp(f[N]); }";

fn data(n: usize) -> Data {
    let all = |f: &dyn Fn(usize) -> f64| (0..n).map(f).collect::<Vec<f64>>();
    Data::new()
        .with("N", n as f64)
        .with("x", all(&|i| (i as f64).sin()))
        .with("y", all(&|i| (i as f64 * 0.7).cos()))
        .with("g", all(&|i| (i % 5 + 1) as f64))
}

/// Seconds of one evaluation of the log density and its gradient, the least of some, and operations.
fn evaluation(bound: &Bound) -> (f64, f64, usize) {
    let started = Instant::now();
    let graph = Graph::new();
    let input = graph.batch_input("z", bound.dimension());
    let log_density = bound.at(input).log_density();
    let gradient = graph.row_grad(log_density, input);
    let program = graph.program().output("value", log_density).output("gradient", gradient);
    let Ok(program) = program.compile() else { return (f64::NAN, f64::NAN, 0) };
    let mut executable = program.on_cpu::<f64>(CpuOptions::for_rows(1));
    let compiled = started.elapsed().as_secs_f64();
    let z = vec![0.1; bound.dimension()];
    let run = Run { rows: 1, inputs: &[("z", &z)], ..Run::default() };
    let mut least = f64::INFINITY;
    for _ in 0..30 {
        let started = Instant::now();
        if executable.evaluate(&Store::new(), &run).is_err() {
            return (f64::NAN, compiled, graph.len());
        }
        least = least.min(started.elapsed().as_secs_f64());
    }
    (least, compiled, graph.len())
}

fn main() {
    println!(
        "{:28} {:>8} {:>10} {:>10} {:>12} {:>8}",
        "program", "rows", "model s", "compile s", "gradient ms", "nodes"
    );
    let body = |text: &str| format!("{REGRESSION}{text} }}");
    let cases = [
        ("vectorised", body("y ~ normal(a[g] + b * x, s);"), 53_940),
        ("loop", body("for (n in 1:N) y[n] ~ normal(a[g[n]] + b * x[n], s);"), 53_940),
        (
            "sum in a loop",
            body(
                "real lp = 0; for (n in 1:N) lp += normal_lpdf(y[n] | a[g[n]] + b * x[n], s); target += lp;",
            ),
            53_940,
        ),
        ("volatility", CARRIED.into(), 1_000),
        ("latent autoregression", WALK.into(), 1_000),
        ("hidden Markov", CHAIN.into(), 400),
    ];
    for (name, text, rows) in cases {
        let started = Instant::now();
        let model = match Program::parse(&text).and_then(|program| program.model(&data(rows))) {
            Ok(model) => model,
            Err(error) => {
                println!("{name}: {error}");
                continue;
            }
        };
        let seconds = started.elapsed().as_secs_f64();
        let (least, compiled, nodes) = evaluation(model.bound());
        println!("{name:28} {rows:>8} {seconds:>10.3} {compiled:>10.3} {:>12.3} {nodes:>8}", least * 1e3);
    }
}
