//! Generated quantities: their names, values and draws.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use hmcvi::bayes::Data;
use hmcvi_stan::{Block, Program};

const TEXT: &str = "
functions { real twice(real x) { return 2 * x; } }
data { int N; vector[N] y; }
transformed data { real shift = mean(y); }
parameters { real mu; real<lower=0> s; matrix[2, 3] M; simplex[3] p; }
transformed parameters { vector[N] centred = y - mu; }
model { y ~ normal(mu, s); to_vector(M) ~ normal(0, 1); }
generated quantities {
  real double_mu = twice(mu) + shift;
  vector[N] log_lik;
  array[2] int k;
  array[400] real z;
  real total = sum(M) + dot_self(centred);
  real joint = multi_normal_lpdf(to_vector({mu, s}) | rep_vector(0, 2), diag_matrix(rep_vector(2, 2)));
  for (n in 1:N) log_lik[n] = normal_lpdf(y[n] | mu, s);
  for (i in 1:2) k[i] = categorical_rng(p);
  for (i in 1:400) z[i] = normal_rng(mu, s);
}";

#[test]
fn quantities_of_a_draw_have_stan_s_order_and_values() {
    let data = Data::from_json(r#"{"N": 2, "y": [1.5, -0.5]}"#).expect("data");
    let model = Program::parse(TEXT).and_then(|program| program.model(&data)).expect("a model");
    assert_eq!(model.names()[..8], ["mu", "s", "M[1,1]", "M[2,1]", "M[1,2]", "M[2,2]", "M[1,3]", "M[2,3]"]);
    assert_eq!(model.names()[11..14], ["centred[1]", "centred[2]", "double_mu"]);
    let variables: Vec<(&str, Block)> =
        model.variables().iter().map(|v| (v.name.as_str(), v.block)).collect();
    assert_eq!(variables[3..5], [("p", Block::Parameters), ("centred", Block::Transformed)]);
    assert_eq!(model.variables()[2].sizes, [2, 3]);
    assert_eq!(model.variables()[2].order(), [0, 3, 1, 4, 2, 5]);
    // Values as the model has them: matrices row by row.
    let row = [0.3, 2.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.2, 0.5, 0.3, 1.2, -0.8];
    let all = model.quantities(&row, 7, 3).expect("quantities");
    assert_eq!(all.len(), model.names().len());
    assert_eq!(all[..8], [0.3, 2.0, 1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    let value = |name: &str| all[model.names().iter().position(|own| own == name).expect("a name")];
    assert!((value("double_mu") - 1.1).abs() < 1e-12);
    assert!((value("total") - (21.0 + 1.44 + 0.64)).abs() < 1e-12);
    let gauss =
        |x: f64, m: f64, v: f64| -0.5 * (x - m).powi(2) / v - 0.5 * (2.0 * std::f64::consts::PI * v).ln();
    assert!((value("log_lik[2]") - gauss(-0.5, 0.3, 4.0)).abs() < 1e-12);
    assert!((value("joint") - gauss(0.3, 0.0, 2.0) - gauss(2.0, 0.0, 2.0)).abs() < 1e-12);
    assert!([1.0, 2.0, 3.0].contains(&value("k[1]")));
    let z: Vec<f64> = (1..=400).map(|i| value(&format!("z[{i}]"))).collect();
    let mean = z.iter().sum::<f64>() / 400.0;
    // Four standard errors.
    assert!((mean - 0.3).abs() < 4.0 * 2.0 / 20.0, "{mean}");
    assert_eq!(all, model.quantities(&row, 7, 3).expect("quantities"), "the seed and the draw say all");
    assert_ne!(all, model.quantities(&row, 7, 4).expect("quantities"));
    assert!(model.quantities(&row[..5], 7, 3).is_err());
}

#[test]
fn complex_quantities_have_two_parts_each() {
    let text = "parameters { real x; } model { x ~ normal(0, 1); }
        generated quantities {
          complex z = 2 + 3i * x;
          complex_matrix[2, 2] m = to_complex([[1, 2], [3, 4]], [[5, 6], [7, 8]]);
          complex_vector[2] e = eigenvalues([[0, x], [-x, 0]]);
          array[2] complex a = {z, conj(z)};
          vector[2] size = abs(e);
        }";
    let model = Program::parse(text).and_then(|program| program.model(&Data::new())).expect("a model");
    let names: Vec<&str> = model.names()[1..].iter().map(String::as_str).collect();
    assert_eq!(names[..4], ["z[real]", "z[imag]", "m[1,1,real]", "m[1,1,imag]"]);
    assert_eq!(names[4..6], ["m[2,1,real]", "m[2,1,imag]"]);
    assert_eq!(names[10..12], ["e[1,real]", "e[1,imag]"]);
    let all = model.quantities(&[0.5], 1, 0).expect("quantities");
    // Columns one after the other, the two parts together.
    assert_eq!(all[1..11], [2.0, 1.5, 1.0, 5.0, 3.0, 7.0, 2.0, 6.0, 4.0, 8.0]);
    let value = |name: &str| all[model.names().iter().position(|own| own == name).expect("a name")];
    assert!((value("e[1,imag]") + value("e[2,imag]")).abs() < 1e-15);
    assert!((value("e[1,imag]").abs() - 0.5).abs() < 1e-15 && value("e[1,real]").abs() < 1e-15);
    assert_eq!((value("a[2,real]"), value("a[2,imag]")), (2.0, -1.5));
    assert!((value("size[1]") - 0.5).abs() < 1e-15);
}

#[test]
fn the_times_at_which_a_walk_leaves_add_up_to_how_likely_it_is() {
    let text = "parameters { real x; } model { x ~ normal(0, 1); }
        generated quantities { array[8000] real f;
          for (i in 1:8000) f[i] = exp(wiener_lpdf(0.2 + 0.0025 * i | 1.5, 0.2, 0.4, 0.7)); }";
    let model = Program::parse(text).and_then(|program| program.model(&Data::new())).expect("a model");
    let all = model.quantities(&[0.0], 1, 0).expect("quantities");
    // P = (1 - exp(-2 d a b)) / (1 - exp(-2 d a)), by trapezoids over 20 units of time.
    let (a, b, d) = (1.5, 0.4, 0.7);
    let likely = (-2.0_f64 * d * a * b).exp_m1() / (-2.0_f64 * d * a).exp_m1();
    let sum = 0.0025 * all[1..].iter().sum::<f64>();
    assert!((sum - likely).abs() < 1e-9, "{sum} and {likely}");
}
