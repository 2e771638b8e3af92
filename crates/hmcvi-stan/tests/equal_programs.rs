//! Programs that say the same in different ways have the same log density, and loops become operations of vectors.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use hmcvi::bayes::{Bound, Data};
use hmcvi_graph::{CpuOptions, Graph, Run, Store};
use hmcvi_stan::{Program, Settings};

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
            "parameters { array[2, 1, 2] matrix[1, 2] x; }
             model { for (i in 1:2) for (j in 1:2) to_vector(x[i, 1, j]) ~ normal(i, j); }",
            "parameters { vector[8] x; }
             model { for (i in 1:2) for (j in 1:2) segment(x, 4 * i + 2 * j - 5, 2) ~ normal(i, j); }",
        ),
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
            "parameters { simplex[2] p; array[3] vector[2] d; } model { target += log_mix(p, d); }",
            "parameters { simplex[2] p; array[3] vector[2] d; }
             model { for (n in 1:3) target += log_sum_exp(log(p) + d[n]); }",
        ),
        (
            "data { int N; vector[N] y; } parameters { vector[N] x; real<lower=0> s; }
             model { y ~ normal(x, s); }",
            "data { int N; vector[N] y; } parameters { vector[N] x; real<lower=0> s; }
             model { profile(\"all\") { int n = 1; while (n <= N) { y[n] ~ normal(x[n], s); n += 1; } } }",
        ),
        (
            "parameters { matrix[3, 2] A; } model { to_vector(A) ~ normal(0, 1);
               target += 2 * sum(A * generalized_inverse(A) * A) + sum(generalized_inverse(A') - generalized_inverse(A)'); }",
            "parameters { matrix[3, 2] A; } model { to_vector(A) ~ normal(0, 1); target += 2 * sum(A); }",
        ),
        (
            "functions { real up_jacobian(real x) { jacobian += x; return exp(x); } }
             parameters { real x; } transformed parameters { real s = up_jacobian(x); } model { s ~ lognormal(0.3, 2); }",
            "parameters { real x; } model { target += lognormal_lupdf(exp(x) | 0.3, 2) + x; }",
        ),
        (
            "functions { vector f(real t, vector y, real a) { return -a * y; } }
             parameters { real<lower=0> a; } model { a ~ exponential(1);
               target += sum(ode_adjoint_tol_ctl(f, [1, 2]', 0, {1.0, 2.0}, 1e-6, [1e-6, 1e-6]', 1e-6, [1e-6, 1e-6]', 1e-6, 1e-6, 1000, 9, 1, 1, 1, a)[2]); }",
            "functions { vector f(real t, vector y, real a) { return -a * y; } }
             parameters { real<lower=0> a; } model { a ~ exponential(1); target += sum(ode_bdf(f, [1, 2]', 0, {1.0, 2.0}, a)[2]); }",
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
            "functions { vector f(vector x, real a) { return [x[1]^2 - a * x[2], x[2] - a]'; } }
             parameters { real<lower=0> a; } model { vector[2] x = solve_newton(f, [1.0, 0.5]', a); target += x[1] + x[2] - a; }",
            "parameters { real<lower=0> a; } model { target += a; }",
        ),
        (
            "parameters { matrix[2, 3] w; simplex[2] first; simplex[2] a; simplex[2] b; }
             model { target += hmm_marginal(w, [a', b'], first) + hmm_hidden_state_prob(w, [a', b'], first)[1, 3]; }",
            "parameters { matrix[2, 3] w; simplex[2] first; simplex[2] a; simplex[2] b; }
             model { array[2] real f = {log(first[1]) + w[1, 1], log(first[2]) + w[2, 1]};
               for (t in 2:3) { array[2] real g = f; for (k in 1:2) f[k] = log_sum_exp(g[1] + log(a[k]), g[2] + log(b[k])) + w[k, t]; }
               target += log_sum_exp(f) + exp(f[1] - log_sum_exp(f)); }",
        ),
        (
            "parameters { matrix[2, 2] y; cov_matrix[2] S; cov_matrix[2] D; }
             model { y ~ matrix_normal_prec(rep_matrix(0.5, 2, 2), S, D); }",
            "parameters { matrix[2, 2] y; cov_matrix[2] S; cov_matrix[2] D; }
             model { target += log_determinant(S) + log_determinant(D) - 0.5 * trace_gen_quad_form(D, S, y - 0.5); }",
        ),
        (
            "data { int N; array[N] int k; vector[N] y; } parameters { vector[2] a; matrix[1, 2] b; }
             model { k ~ categorical_logit_glm(to_matrix(y), a, b); k ~ dirichlet_multinomial(exp(append_row(a, 1)));
               k ~ multinomial_logit(append_row(a, 0.3)); }",
            "data { int N; array[N] int k; vector[N] y; } parameters { vector[2] a; matrix[1, 2] b; }
             model { vector[3] e = exp(append_row(a, 1)); vector[3] q = append_row(a, 0.3);
               for (n in 1:N) k[n] ~ categorical_logit(y[n] * b[1]' + a);
               target += lgamma(sum(e)) - lgamma(sum(e) + sum(k)) - sum(lgamma(e)) + sum(lgamma(e + to_vector(k)));
               target += dot_product(to_vector(k), log_softmax(q)); }",
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
        // Sums of known multiples, in every lane and alone, with what is neither; parts of them are used, too.
        (
            "data { int N; vector[N] y; } parameters { real a; vector[7] b; }
             model { for (n in 1:N) { real eta = a; for (k in 1:7) eta += b[k] * (k * y[n] - 1); y[n] ~ normal(eta, 1); } }",
            "data { int N; vector[N] y; } parameters { real a; vector[7] b; }
             model { matrix[N, 7] X; for (k in 1:7) X[, k] = k * y - 1; y ~ normal(a + X * b, 1); }",
        ),
        (
            "parameters { vector[7] b; } model { real s = 2; for (k in 1:7) { s -= k * b[k]; if (k == 3) s += b[1]^2; } target += s;
               real t = 0; for (k in 1:7) { t += b[k] * k; if (k == 4) target += t; } target += exp(t); }",
            "parameters { vector[7] b; } model { vector[7] k = linspaced_vector(7, 1, 7);
               target += 2 - dot_product(k, b) + square(b[1]) + dot_product(k[1:4], b[1:4]) + exp(dot_product(k, b)); }",
        ),
        (
            "data { int N; vector[N] y; } parameters { vector[8] b; }
             model { for (n in 1:N) { real s = 0; for (k in 1:8) s += exp(b[k] * y[n]); target += log(s); } }",
            "data { int N; vector[N] y; } parameters { vector[8] b; } model { for (n in 1:N) target += log(sum(exp(b * y[n]))); }",
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

/// Explicit steps of this number would need a rate below 200.
#[test]
fn stiff_equations_are_solved_by_implicit_steps() {
    let stiff =
        "functions { vector f(real t, vector y, real a) { return [-a * y[1], 1e4 * (y[1] - y[2])]'; } }
        parameters { real<lower=0> a; vector[1] y0; }
        model { array[2] vector[2] y = ode_bdf(f, append_row(y0, 2 * y0), 0, {0.5, 2}, a);
        target += y[2, 1] + y[1, 2] - a; }";
    let exact = "parameters { real<lower=0> a; vector[1] y0; }
        model { target += y0[1] * (exp(-2 * a) + exp(-0.5 * a) * 1e4 / (1e4 - a)) - a; }";
    for z in [[0.3, 0.8], [-0.9, -1.2]] {
        let (found, expected) = (at(&bound(stiff, "{}"), &z), at(&bound(exact, "{}"), &z));
        // What steps of order five leave, relative to values of size 1.
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
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

#[test]
fn uniform_priors_are_bounds_where_that_is_asked_for() {
    let narrowed = |text: &str| {
        let settings = Settings { bounds_of_uniform: true, ..Settings::default() };
        let found = Program::parse(text).and_then(|program| program.model_with(&Data::new(), &settings));
        found.unwrap_or_else(|error| panic!("{error}")).bound().clone()
    };
    let same = [
        (
            "parameters { vector[2] b; } model { b[1] ~ uniform(-3, 0); b[2] ~ uniform(0, 2); b ~ normal(0, 1); }",
            "parameters { real<lower=-3, upper=0> a; real<lower=0, upper=2> b; } model { a ~ normal(0, 1); b ~ normal(0, 1); }",
        ),
        (
            "parameters { real x; array[2] real<lower=0> s; }
             model { x ~ normal(0, s[1]); for (i in 1:2) s[i] ~ uniform(-1, i); }",
            "parameters { real x; real<lower=0, upper=1> s; real<lower=0, upper=2> t; } model { x ~ normal(0, s); }",
        ),
        (
            "parameters { real m; real x; } model { m ~ uniform(2, 5); x ~ normal(m, 7); }",
            "parameters { real<lower=2, upper=5> m; real x; } model { x ~ normal(m, 7); }",
        ),
    ];
    let z = [0.3, -0.4, 0.9];
    for (text, declared) in same {
        let (own, expected) = (narrowed(text), bound(declared, "{}"));
        let z = &z[..own.dimension()];
        assert!((at(&own, z) - at(&expected, z)).abs() < 1e-12, "{text}");
    }
    // Where a number has no bounds, or far ones, or has them under a condition, all is as it is declared.
    let unchanged = [
        "parameters { vector[2] b; } model { b[1] ~ uniform(-1, 1); b ~ normal(0, 1); }",
        "parameters { real<lower=-1> b; } model { b ~ normal(0, 1); if (b > 0) b ~ uniform(-1, 1); }",
        "parameters { ordered[2] b; } model { b ~ uniform(-2, 2); }",
        "parameters { vector[2] b; } model { b ~ uniform(-100, 5); }",
        "parameters { real<lower=0, upper=1> b; } model { b ~ uniform(-1, 2); }",
    ];
    for text in unchanged {
        let (own, expected) = (narrowed(text), bound(text, "{}"));
        let z = &z[..own.dimension()];
        assert_eq!(at(&own, z), at(&expected, z), "{text}");
        assert!(at(&own, z).is_finite(), "{text}");
    }
}
