//! Time Stan programs of known posteriors against the builder's models: how long they take to become a model, and what
//! an evaluation of the log density with its gradient costs. Both are timed in turn, and the least of all rounds counts.
//!
//! `cargo bench -p hmcvi-stan --bench posteriors`
#![allow(clippy::print_stdout, reason = "it is a benchmark")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::{Compiled, POSTERIORS, place};
use hmcvi::bayes::Bound;
use hmcvi_stan::Program;

/// Rows of the diamonds that are timed: as many as there are diamonds.
const DIAMONDS: usize = 53_940;
/// Seconds that the rounds of a comparison take.
const SECONDS: f64 = 0.6;

/// Least seconds of an evaluation of each of two models, with so many rows on one thread.
fn race(models: [&Bound; 2], rows: usize) -> [f64; 2] {
    let z: Vec<f64> = (0..rows).flat_map(|row| place(models[0].dimension(), row)).collect();
    let mut both = models.map(|model| Compiled::new(model, rows, 1));
    let mut least = [f64::INFINITY; 2];
    let begun = Instant::now();
    while begun.elapsed().as_secs_f64() < SECONDS {
        for (compiled, least) in both.iter_mut().zip(&mut least) {
            // So many that the clock's own time does not count.
            let (started, mut times) = (Instant::now(), 0);
            while times < 3 || (started.elapsed().as_secs_f64() < 2e-3 && times < 1000) {
                compiled.run(&z, rows);
                times += 1;
            }
            *least = least.min(started.elapsed().as_secs_f64() / f64::from(times));
        }
    }
    least
}

fn main() {
    println!(
        "{:22} {:>9} {:>9} {:>12} {:>12} {:>7} {:>12} {:>12} {:>7}",
        "posterior",
        "model s",
        "code s",
        "1 row us",
        "builder us",
        "ratio",
        "64 rows us",
        "builder us",
        "ratio"
    );
    let mut most = [0f64; 3];
    for posterior in POSTERIORS {
        let data = posterior.data(DIAMONDS);
        let started = Instant::now();
        let stan = posterior.stan(&data);
        let model = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let _ = Compiled::new(&stan, 64, 1);
        let code = started.elapsed().as_secs_f64();
        let builder = posterior.builder(&data);
        let [[one, own_one], [many, own_many]] = [1, 64].map(|rows| race([&stan, &builder], rows));
        println!(
            "{:22} {model:>9.3} {code:>9.3} {:>12.1} {:>12.1} {:>7.2} {:>12.1} {:>12.1} {:>7.2}",
            posterior.name,
            one * 1e6,
            own_one * 1e6,
            one / own_one,
            many * 1e6,
            own_many * 1e6,
            many / own_many
        );
        most = [most[0].max(model + code), most[1].max(one / own_one), most[2].max(many / own_many)];
    }
    println!("most: {:.3} s to compile, ratios {:.2} and {:.2}", most[0], most[1], most[2]);
    loops();
}

/// A loop over all diamonds against the vectorised statement.
fn loops() {
    let head = "data { int N; int K; matrix[N, K] X; vector[N] Y; } parameters { vector[K] b; real<lower=0> s; } model { ";
    let posterior = POSTERIORS.iter().find(|posterior| posterior.name == "diamonds").expect("diamonds");
    let data = posterior.data(DIAMONDS);
    let model = |body: &str| {
        let started = Instant::now();
        let model = Program::parse(&format!("{head}{body} }}")).and_then(|program| program.model(&data));
        (model.unwrap_or_else(|error| panic!("{error}")).bound().clone(), started.elapsed().as_secs_f64())
    };
    let (vectorised, seconds) = model("Y ~ normal(X * b, s);");
    println!("\n{DIAMONDS} observations: the vectorised statement is a model after {seconds:.3} s");
    for body in [
        "for (n in 1 : N) Y[n] ~ normal(X[n] * b, s);",
        "for (n in 1 : N) target += normal_lpdf(Y[n] | dot_product(X[n], b), s);",
        "vector[N] m = X * b; for (n in 1 : N) Y[n] ~ normal(m[n], s);",
    ] {
        let (looped, seconds) = model(body);
        let [own, other] = race([&looped, &vectorised], 1);
        println!(
            "{body:75} model {seconds:.3} s, {:.2} ms, vectorised {:.2} ms, ratio {:.2}",
            own * 1e3,
            other * 1e3,
            own / other
        );
    }
}
