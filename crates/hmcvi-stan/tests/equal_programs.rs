//! Programs that say the same in different ways have the same log density, and loops become operations of vectors.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use hmcvi::bayes::{Bound, Data};
use hmcvi_graph::{CpuOptions, Graph, Run, Store};
use hmcvi_stan::Program;

fn bound(text: &str, data: &str) -> Bound {
    let data = Data::from_json(data).expect("data");
    match Program::parse(text).and_then(|program| program.model(&data)) {
        Ok(model) => model.bound().clone(),
        Err(error) => panic!("{error}"),
    }
}

fn at(bound: &Bound, z: &[f64]) -> f64 {
    let graph = Graph::new();
    let log_density = bound.at(graph.batch_input("z", bound.dimension())).log_density();
    let program = graph.program().output("value", log_density).compile().expect("a program");
    let mut executable = program.on_cpu::<f64>(CpuOptions::for_rows(1));
    executable
        .evaluate(&Store::new(), &Run { rows: 1, inputs: &[("z", z)], ..Run::default() })
        .expect("it runs");
    executable.output("value").expect("an output")[0]
}

fn operations(bound: &Bound) -> usize {
    let graph = Graph::new();
    let _ = bound.at(graph.batch_input("z", bound.dimension())).log_density();
    graph.len()
}

#[test]
fn programs_that_say_the_same_have_the_same_density() {
    let data = r#"{"N": 3, "y": [0.5, 1.5, -0.2], "k": [1, 2, 1], "low": [0.5, -2, 0.1]}"#;
    let cases = [
        (
            "data { int N; vector[N] low; } parameters { vector<lower=low>[N] v; } model { v ~ normal(0, 1); }",
            "data { int N; vector[N] low; } parameters { real<lower=low[1]> a; real<lower=low[2]> b; real<lower=low[3]> c; }
             model { a ~ normal(0, 1); b ~ normal(0, 1); c ~ normal(0, 1); }",
        ),
        (
            "data { int N; array[N] real y; } parameters { array[2] real<lower=0> s; } model { y ~ normal(s[1], s[2]); }",
            "data { int N; real y[N]; } parameters { real<lower=0> s[2]; } model { for (n in 1:N) y[n] ~ normal(s[1], s[2]); }",
        ),
        (
            "parameters { vector[3] v; } model { v ~ std_normal(); target += sum(v .* [1, 2, 3]') ; }",
            "functions { real f_lpdf(vector x, array[] int k) { real s = 0; for (i in k) s += normal_lupdf(x[i] | 0, 1); return s; } }
             parameters { vector[3] v; } model { v ~ f({1, 2, 3}); target += [1, 2, 3] * v; }",
        ),
        (
            "data { int N; vector[N] y; } parameters { vector[N] x; real<lower=0> s; }
             model { y ~ normal(x, s); }",
            "data { int N; vector[N] y; } parameters { vector[N] x; real<lower=0> s; }
             model { profile(\"all\") { int n = 1; while (n <= N) { y[n] ~ normal(x[n], s); n += 1; } } }",
        ),
        (
            "functions { real part(array[] real y, int from, int to, real m) { return normal_lpdf(y | m, 1); } }
             data { int N; array[N] real y; } parameters { real m; } model { target += reduce_sum(part, y, 1, m); }",
            "data { int N; array[N] real y; } parameters { real m; } model { target += normal_lpdf(y | m, 1); }",
        ),
        (
            "parameters { sum_to_zero_vector[4] v; } model { v ~ normal(0, 1); }",
            // The map is orthogonal: squares of the sum are those of the free numbers.
            "parameters { vector[3] v; } model { v ~ normal(0, 1); }",
        ),
        (
            "functions { vector f(real t, vector y, real a) { return [-a * y[1], a * y[1]]'; } }
             parameters { real<lower=0> a; vector[2] y0; }
             model { array[3] vector[2] y = ode_rk45(f, y0, 0, {0.5, 1, 2}, a); target += sum(y[3]) + y[2, 1] - a; }",
            "parameters { real<lower=0> a; vector[2] y0; } model { target += sum(y0) + y0[1] * exp(-a) - a; }",
        ),
        (
            "data { int N; array[N] int k; } parameters { vector[2] a; } model { a ~ normal(0, 1); k ~ categorical_logit(a); }",
            "data { int N; array[N] int k; } parameters { vector[2] a; }
             model { a ~ normal(0, 1); for (n in 1:N) target += log_softmax(a)[k[n]]; }",
        ),
        (
            "data { int N; array[N] int k; vector[N] y; } transformed data { matrix[N, 1] X = to_matrix(y); }
             parameters { real a; vector[1] b; } model { k ~ poisson_log_glm(X, a, b); y ~ normal_id_glm(X, a, b, 2); }",
            "data { int N; array[N] int k; vector[N] y; } transformed data { matrix[N, 1] X = to_matrix(y); }
             parameters { real a; vector[1] b; } model { k ~ poisson_log(a + X * b); y ~ normal(a + X * b, 2); }",
        ),
        (
            "functions { real root(real x) { if (x < 0) reject(\"negative\"); return sqrt(fmax(x, 0)); } }
             parameters { real<lower=0> x; } model { target += root(x); }",
            "parameters { real<lower=0> x; } model { target += sqrt(x); }",
        ),
        (
            "parameters { simplex[1] p; real x; } model { x ~ normal(p[1], 1); }",
            "parameters { real x; } model { x ~ normal(1, 1); }",
        ),
    ];
    for (a, b) in cases {
        let (first, second) = (bound(a, data), bound(b, data));
        assert_eq!(first.dimension(), second.dimension(), "{a}\n{b}");
        let z: Vec<f64> = (0..first.dimension()).map(|i| 0.7 * (1.3 * i as f64 + 0.4).sin()).collect();
        let (x, y) = (at(&first, &z), at(&second, &z));
        assert!((x - y).abs() < 1e-9 * x.abs().max(1.0), "{x} and {y}\n{a}\n{b}");
    }
}

/// A regression on so many rows.
fn rows(n: usize) -> String {
    let list = |f: &dyn Fn(usize) -> String| (0..n).map(f).collect::<Vec<_>>().join(",");
    format!(
        r#"{{"N": {n}, "x": [{}], "y": [{}], "g": [{}]}}"#,
        list(&|i| format!("{}", (i as f64).sin())),
        list(&|i| format!("{}", (i as f64 * 0.7).cos())),
        list(&|i| format!("{}", i % 5 + 1)),
    )
}

#[test]
fn loops_over_observations_are_a_few_operations() {
    let head = "data { int N; vector[N] x; vector[N] y; array[N] int g; } parameters { vector[5] a; real b; real<lower=0> s; } model { ";
    let bodies = [
        "for (n in 1:N) y[n] ~ normal(a[g[n]] + b * x[n], s);",
        "vector[N] m; for (n in 1:N) { m[n] = a[g[n]]; m[n] += b * x[n]; } y ~ normal(m, s);",
        "real lp = 0; for (n in 1:N) lp += normal_lpdf(y[n] | a[g[n]] + b * x[n], s); target += lp;",
        "for (n in 1:N) { if (x[n] > 0) target += log_mix(inv_logit(b), normal_lpdf(y[n] | a[1], s), normal_lpdf(y[n] | a[2], s)); else y[n] ~ cauchy(a[g[n]], s); }",
    ];
    for body in bodies {
        let text = format!("{head}{body} }}");
        let (few, many) = (bound(&text, &rows(20)), bound(&text, &rows(10_000)));
        let (few, many) = (operations(&few), operations(&many));
        assert!(many < few + 20 && many < 150, "{few} operations for 20 rows, {many} for 10,000: {body}");
    }
}
