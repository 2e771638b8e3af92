//! Log densities of distributions: SciPy's values, derivatives, and a sum of 1.
#![allow(missing_docs, reason = "tests are named for what they guard")]

#[path = "common/density.rs"]
mod density;

use density::{Wanted, at, differences};
use hmcvi::bayes::*;
use serde_json::Value;

/// Observed classes, as in the script of the reference.
const CLASSES: [f64; 4] = [1.0, 3.0, 2.0, 4.0];

type Make = for<'g> fn(&mut Builder<'g>) -> Distribution<'g>;
type LogDensity = for<'g> fn(&mut Builder<'g>, Var<'g>) -> Var<'g>;

/// Distributions of numbers by their arguments.
macro_rules! univariate {
    ($($name:ident($($i:literal),*);)*) => {
        [$((stringify!($name), [$($i),*].len(), |_, z| {
            let _ = z;
            $name($(z.at($i)),*).log_prob(z.at([$($i),*].len()))
        })),*]
    };
}

const UNIVARIATE: [(&str, usize, LogDensity); 25] = univariate! {
    normal(0, 1); cauchy(0, 1); student_t(0, 1, 2); laplace(0, 1); logistic(0, 1);
    half_normal(0); half_cauchy(0); lognormal(0, 1); exponential(0); gamma(0, 1); inv_gamma(0, 1);
    weibull(0, 1); chi_square(0); inv_chi_square(0); beta(0, 1); uniform(0, 1);
    bernoulli(0); bernoulli_logit(0); binomial(0, 1); binomial_logit(0, 1); poisson(0); poisson_log(0);
    neg_binomial(0, 1); neg_binomial_2(0, 1); neg_binomial_2_log(0, 1);
};

fn classes<'g>(m: &mut Builder<'g>) -> Var<'g> {
    m.known(4, &CLASSES)
}

fn components<'g>(means: Var<'g>, sds: Var<'g>) -> Vec<Distribution<'g>> {
    (0..3).map(|k| normal(means.at(k), sds.at(k))).collect()
}

/// Others: their name, the length of what the density is a function of, and the density.
fn multivariate() -> Vec<(&'static str, usize, LogDensity)> {
    vec![
        ("flat", 1, |_, z| flat().log_prob(z)),
        ("dirichlet", 6, |_, z| dirichlet(z.slice(0..3)).log_prob(z.slice(3..6))),
        ("categorical", 4, |m, z| categorical(z).log_prob(classes(m))),
        ("categorical_logit", 4, |m, z| categorical_logit(z).log_prob(classes(m))),
        ("ordered_logistic", 7, |m, z| ordered_logistic(z.slice(0..4), z.slice(4..7)).log_prob(classes(m))),
        ("multi_normal_cholesky", 18, |_, z| {
            let factor = z.slice(3..12).reshape((3, 3));
            multi_normal_cholesky(z.slice(0..3), factor).log_prob(z.slice(12..18).reshape((2, 3)))
        }),
        ("multi_normal", 18, |_, z| {
            let covariance = z.slice(3..12).reshape((3, 3));
            multi_normal(z.slice(0..3), covariance).log_prob(z.slice(12..18).reshape((2, 3)))
        }),
        ("lkj_corr_cholesky", 10, |_, z| {
            lkj_corr_cholesky(3, z.at(0)).log_prob(z.slice(1..10).reshape((3, 3)))
        }),
        ("mixture", 13, |_, z| {
            mixture(z.slice(0..3), components(z.slice(3..6), z.slice(6..9))).log_prob(z.slice(9..13))
        }),
        ("mixture_logit", 13, |_, z| {
            mixture_logit(z.slice(0..3), components(z.slice(3..6), z.slice(6..9))).log_prob(z.slice(9..13))
        }),
    ]
}

/// A model of real numbers that have no prior, and a log density of them.
fn of_reals(size: usize, log_density: LogDensity) -> Bound {
    let model = Model::new(move |m| {
        let z = m.sample("z", flat().shape(size));
        let value = log_density(m, z);
        m.add_log_density("density", value);
    });
    model.bind(&Data::new()).expect("a model")
}

/// All densities, with the number of last elements that are counts and have no derivatives.
fn all() -> Vec<(&'static str, Bound, usize)> {
    let discrete = |name: &str| {
        usize::from(name.contains("binomial") || name.contains("poisson") || name.contains("bernoulli"))
    };
    let numbers = UNIVARIATE.iter().map(|&(name, arguments, f)| (name, arguments + 1, f));
    let all = numbers.chain(multivariate());
    all.map(|(name, size, f)| (name, of_reals(size, f), discrete(name))).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("an array").iter().map(|x| x.as_f64().expect("a number")).collect()
}

/// Rows of the reference for a density, with its values there.
fn reference(name: &str) -> (Vec<Vec<f64>>, Vec<f64>) {
    let table: Value = serde_json::from_str(include_str!("reference/distributions.json")).expect("JSON");
    let cases = table["densities"][name].as_array().unwrap_or_else(|| panic!("{name} is in the reference"));
    cases.iter().map(|case| (numbers(&case["z"]), case["value"].as_f64().expect("a number"))).unzip()
}

#[test]
fn log_densities_are_those_of_scipy() {
    for (name, bound, _) in all() {
        let (rows, values) = reference(name);
        let found = at(&bound, Wanted::LogDensity, &rows.concat());
        assert_eq!(found.len(), values.len());
        for ((row, found), value) in rows.iter().zip(found).zip(values) {
            let error = (found - value).abs() / value.abs().max(1.0);
            assert!(error < 1e-10, "{name} at {row:?} is {found}, and {value} by SciPy");
        }
    }
}

#[test]
fn every_density_of_the_reference_is_compared() {
    let table: Value = serde_json::from_str(include_str!("reference/distributions.json")).expect("JSON");
    let mut names: Vec<&str> = all().iter().map(|(name, ..)| *name).collect();
    names.sort_unstable();
    let known: Vec<&str> =
        table["densities"].as_object().expect("densities").keys().map(String::as_str).collect();
    let mut known = known;
    known.sort_unstable();
    assert_eq!(names, known);
}

/// Compares derivatives with differences, whose rounding errors grow with what is subtracted.
fn compare(name: &str, row: &[f64], exact: &[f64], found: &[Vec<f64>], size: f64) {
    let width = exact.len() / found.len();
    for (i, found) in found.iter().enumerate() {
        for (j, found) in found.iter().enumerate() {
            let exact = exact[i * width + j];
            // The four values are `3e-4 |z|` apart, and at least `6e-6`.
            let rounding = 1e-15 * size / (3e-4 * row[i].abs().clamp(0.02, 1.0));
            let allowed = 1e-7 * exact.abs().max(1.0) + 10.0 * rounding;
            assert!((exact - found).abs() < allowed, "{name} at {row:?}, {i} {j}: {exact} and {found}");
        }
    }
}

#[test]
fn gradients_and_second_derivatives_are_those_of_differences() {
    for (name, bound, discrete) in all() {
        let (rows, _) = reference(name);
        for row in &rows {
            let free = row.len() - discrete;
            let value = at(&bound, Wanted::LogDensity, row)[0].abs();
            let gradient = at(&bound, Wanted::Gradient, row);
            let found = differences(&bound, Wanted::LogDensity, row);
            compare(name, row, &gradient[..free], &found[..free], value);
            let hessian = at(&bound, Wanted::Hessian, row);
            let found: Vec<Vec<f64>> = differences(&bound, Wanted::Gradient, row)
                .into_iter()
                .map(|row| row[..free].to_vec())
                .collect();
            let exact: Vec<f64> =
                hessian.chunks(row.len()).take(free).flat_map(|row| row[..free].to_vec()).collect();
            let largest = gradient.iter().fold(value, |a, b| a.max(b.abs()));
            compare(name, row, &exact, &found[..free], largest);
        }
    }
}

/// `∫ exp f(y) dy` over a grid that is dense near 0 and reaches far.
fn integral(bound: &Bound, [from, to]: [f64; 2]) -> f64 {
    let step = 1e-3;
    let (from, to) = ((f64::asinh(from) / step).round() as i64, (f64::asinh(to) / step).round() as i64);
    let t: Vec<f64> = (from..=to).map(|i| i as f64 * step).collect();
    let y: Vec<f64> = t.iter().map(|t| t.sinh()).collect();
    let f = at(bound, Wanted::LogDensity, &y);
    f.iter().zip(&t).map(|(f, t)| f.exp() * t.cosh() * step).sum()
}

fn sampled(distribution: Make) -> Bound {
    let model = Model::new(move |m| {
        let distribution = distribution(m);
        m.sample("x", distribution);
    });
    model.bind(&Data::new()).expect("a model")
}

#[test]
fn densities_on_their_supports_integrate_to_one() {
    let far = [-1e12, 1e12];
    let logarithms = [-300.0, 300.0];
    let cases: Vec<(&str, Bound, [f64; 2])> = vec![
        ("normal", sampled(|_| normal(0.7, 2.0)), far),
        ("cauchy", sampled(|_| cauchy(0.7, 2.0)), far),
        ("student_t", sampled(|_| student_t(1.5, 0.7, 2.0)), far),
        ("laplace", sampled(|_| laplace(0.0, 2.0)), far),
        ("logistic", sampled(|_| logistic(0.7, 2.0)), far),
        ("half_normal", sampled(|_| half_normal(2.0)), logarithms),
        ("half_cauchy", sampled(|_| half_cauchy(2.0)), logarithms),
        ("lognormal", sampled(|_| lognormal(0.7, 2.0)), logarithms),
        ("exponential", sampled(|_| exponential(2.0)), logarithms),
        ("gamma", sampled(|_| gamma(0.4, 2.0)), logarithms),
        ("inv_gamma", sampled(|_| inv_gamma(0.4, 2.0)), logarithms),
        ("weibull", sampled(|_| weibull(0.4, 2.0)), logarithms),
        ("chi_square", sampled(|_| chi_square(3.0)), logarithms),
        ("inv_chi_square", sampled(|_| inv_chi_square(3.0)), logarithms),
        ("gumbel", sampled(|_| gumbel(0.7, 2.0)), [-20.0, 1e12]),
        ("skew_normal", sampled(|_| skew_normal(0.7, 2.0, -1.5)), far),
        ("skew_laplace", sampled(|_| skew_laplace(0.0, 2.0, 0.3)), far),
        ("exp_mod_normal", sampled(|_| exp_mod_normal(0.7, 2.0, 0.4)), far),
        ("frechet", sampled(|_| frechet(1.4, 2.0)), [-5.0, 300.0]),
        ("rayleigh", sampled(|_| rayleigh(2.0)), [-300.0, 10.0]),
        ("log_logistic", sampled(|_| log_logistic(1.4, 2.0)), logarithms),
        ("scaled_inv_chi_square", sampled(|_| scaled_inv_chi_square(3.0, 2.0)), [-5.0, 300.0]),
        ("pareto", sampled(|_| pareto(0.5, 2.0)), [-30.0, 300.0]),
        ("pareto_type_2", sampled(|_| pareto_type_2(0.5, 1.3, 2.0)), [-30.0, 300.0]),
        ("beta_proportion", sampled(|_| beta_proportion(0.4, 2.0)), [-300.0, 30.0]),
        // Beyond 30 the numbers cannot be told from 1.
        ("beta", sampled(|_| beta(0.4, 2.0)), [-300.0, 30.0]),
        ("uniform", sampled(|_| uniform(-2.0, 5.0)), [-300.0, 30.0]),
        ("dirichlet", sampled(|_| dirichlet(1.4).shape(2)), [-30.0, 30.0]),
        ("lkj_corr_cholesky", sampled(|_| lkj_corr_cholesky(2, 1.7)), [-300.0, 300.0]),
    ];
    for (name, bound, range) in cases {
        let found = integral(&bound, range);
        assert!((found - 1.0).abs() < 1e-6, "{name} integrates to {found}");
    }
}

/// Sums over a grid of each of some real numbers, in `±9`, where tails are below 1e-6.
fn grid_sum(bound: &Bound, points: usize) -> f64 {
    let step = 18.0 / points as f64;
    let size = bound.dimension();
    let point = |at: usize| -9.0 + (at as f64 + 0.5) * step;
    let row = |at: usize| (0..size).map(move |i| point(at / points.pow(i as u32) % points));
    let z: Vec<f64> = (0..points.pow(size as u32)).flat_map(row).collect();
    at(bound, Wanted::LogDensity, &z).iter().map(|f| f.exp() * step.powi(size as i32)).sum()
}

#[test]
fn densities_of_vectors_and_matrices_integrate_to_one() {
    let found = grid_sum(&sampled(|_| lkj_corr_cholesky(3, 1.8)), 72);
    assert!((found - 1.0).abs() < 1e-6, "lkj_corr_cholesky integrates to {found}");
    let concentrations = Model::new(|m| {
        let a = m.known(3, &[2.0, 4.5, 3.0]);
        m.sample("x", dirichlet(a));
    });
    let found = grid_sum(&concentrations.bind(&Data::new()).expect("a model"), 150);
    assert!((found - 1.0).abs() < 1e-6, "dirichlet integrates to {found}");
    let gaussian = Model::new(|m| {
        let factor = m.known((2, 2), &[1.2, 0.0, -0.5, 0.8]);
        m.sample("x", multi_normal_cholesky(0.3, factor));
    });
    let found = grid_sum(&gaussian.bind(&Data::new()).expect("a model"), 150);
    assert!((found - 1.0).abs() < 1e-6, "multi_normal_cholesky integrates to {found}");
}

#[test]
fn probabilities_of_counts_and_classes_sum_to_one() {
    let cases: [(&str, u32, u32, Make); 13] = [
        ("bernoulli", 0, 1, |_| bernoulli(0.3)),
        ("bernoulli_logit", 0, 1, |_| bernoulli_logit(0.3)),
        ("binomial", 0, 12, |_| binomial(12.0, 0.3)),
        ("binomial_logit", 0, 12, |_| binomial_logit(12.0, 0.3)),
        ("poisson", 0, 200, |_| poisson(30.0)),
        ("poisson_log", 0, 200, |_| poisson_log(3.0)),
        ("neg_binomial", 0, 2000, |_| neg_binomial(2.0, 0.1)),
        ("neg_binomial_2", 0, 2000, |_| neg_binomial_2(20.0, 1.3)),
        ("neg_binomial_2_log", 0, 2000, |_| neg_binomial_2_log(3.0, 1.3)),
        ("categorical", 1, 3, |m| categorical(m.known(3, &[0.2, 0.5, 0.3]))),
        ("categorical_logit", 1, 3, |m| categorical_logit(m.known(3, &[0.2, -0.5, 3.0]))),
        ("ordered_logistic", 1, 4, |m| ordered_logistic(0.4, m.known(3, &[-1.0, 0.5, 2.0]))),
        ("mixture", 0, 200, |m| {
            let weights = m.known(2, &[0.3, 0.7]);
            mixture(weights, [poisson(3.0), poisson(30.0)])
        }),
    ];
    for (name, first, last, make) in cases {
        let values: Vec<f64> = (first..=last).map(f64::from).collect();
        let model = Model::new(move |m| {
            m.sample("unused", flat());
            let (y, distribution) = (m.data("y"), make(m));
            let log_prob = distribution.log_prob(y);
            m.observe("y", distribution, y);
            m.deterministic("probability", log_prob.exp().sum());
        });
        let bound = model.bind(&Data::new().with("y", values)).expect("a model");
        let sum = at(&bound, Wanted::Values, &[0.0])[1];
        assert!((sum - 1.0).abs() < 1e-9, "{name} sums to {sum}");
    }
}

#[test]
fn a_distribution_of_many_counts_each_of_them_once() {
    let one = at(&sampled(|_| uniform(-2.0, 5.0)), Wanted::LogDensity, &[0.4])[0];
    let many = at(&sampled(|_| uniform(-2.0, 5.0).shape(3)), Wanted::LogDensity, &[0.4; 3])[0];
    assert!((many - 3.0 * one).abs() < 1e-12, "{many} is three times {one}");
}
