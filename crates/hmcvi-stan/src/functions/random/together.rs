//! Draw classes, vectors and matrices.

use hmcvi::dist::random::RandomSource;

use super::numbers::{MOST, log_gamma};
use crate::functions::{Found, known};
use crate::types::{Base, Ty};
use crate::value::Value;

/// Distributions of what belongs together: name, number of arguments, and the type of a draw.
pub(super) const TOGETHER: &[(&str, usize, Ty)] = &[
    ("categorical", 1, Ty::INT),
    ("categorical_logit", 1, Ty::INT),
    ("ordered_logistic", 2, Ty::INT),
    ("ordered_probit", 2, Ty::INT),
    ("multinomial", 2, Ty::INT.array(1)),
    ("multinomial_logit", 2, Ty::INT.array(1)),
    ("dirichlet_multinomial", 2, Ty::INT.array(1)),
    ("bernoulli_logit_glm", 3, Ty::INT.array(1)),
    ("dirichlet", 1, Ty::VECTOR),
    ("multi_normal", 2, Ty::VECTOR),
    ("multi_normal_cholesky", 2, Ty::VECTOR),
    ("multi_normal_prec", 2, Ty::VECTOR),
    ("multi_student_t", 3, Ty::VECTOR),
    ("multi_student_t_cholesky", 3, Ty::VECTOR),
    ("hmm_latent", 3, Ty::INT.array(1)),
    ("lkj_corr", 2, Ty::MATRIX),
    ("lkj_corr_cholesky", 2, Ty::MATRIX),
    ("wishart_cholesky", 2, Ty::MATRIX),
    ("inv_wishart_cholesky", 2, Ty::MATRIX),
    ("wishart", 2, Ty::MATRIX),
    ("inv_wishart", 2, Ty::MATRIX),
];

/// The type of a draw for arguments of these types.
pub(super) fn result_type(base: &str, ty: Ty, types: &[Ty]) -> Ty {
    match mean_of(base).and_then(|place| types.get(place)) {
        // An array of means gives an array of draws.
        Some(mean) if mean.arrays == 1 && mean.base != Base::Real => ty.array(1),
        _ => ty,
    }
}

/// Which argument is the mean of a distribution of vectors.
fn mean_of(base: &str) -> Option<usize> {
    match base {
        "multi_normal" | "multi_normal_cholesky" | "multi_normal_prec" => Some(0),
        "multi_student_t" | "multi_student_t_cholesky" => Some(1),
        _ => None,
    }
}

/// A draw from known arguments.
pub(super) fn draw(random: &mut RandomSource, base: &str, arguments: &[Value]) -> Found {
    let wrong = |message: String| Err(format!("{base}_rng: {message}"));
    let mut all = Vec::with_capacity(arguments.len());
    for value in arguments {
        let known = value.known().ok_or("a draw here would depend on a parameter")?.into_owned();
        if known.is_empty() {
            return wrong("an argument has no elements".into());
        }
        if let Some(x) = known.iter().find(|x| !x.is_finite()) {
            return wrong(format!("{x} is no finite number"));
        }
        all.push(known);
    }
    let first = &all[0];
    match base {
        "categorical" => Ok(class(random, &weights(base, first)?)),
        "categorical_logit" => Ok(class(random, &softmax(first))),
        "ordered_logistic" => {
            let u = random.uniform();
            Ok(ordered(first[0] + u.ln() - (-u).ln_1p(), &all[1]))
        }
        "ordered_probit" => Ok(ordered(first[0] + random.normal(), &all[1])),
        "multinomial" => counts(random, base, &weights(base, first)?, all[1][0]),
        "multinomial_logit" => counts(random, base, &softmax(first), all[1][0]),
        "dirichlet_multinomial" => {
            let p = dirichlet(random, base, first)?;
            counts(random, base, &p, all[1][0])
        }
        "bernoulli_logit_glm" => regression(random, base, arguments, &all),
        "hmm_latent" => hidden(random, base, arguments, &all),
        "dirichlet" => Ok(Value::vector(dirichlet(random, base, first)?)),
        "lkj_corr" | "lkj_corr_cholesky" => lkj(random, base, first[0], all[1][0]),
        _ if base.contains("wishart") => wishart(random, base, first[0], &arguments[1], &all[1]),
        _ => vectors(random, base, arguments, &all),
    }
}

fn class(random: &mut RandomSource, weights: &[f64]) -> Value {
    Value::int(1.0 + random.categorical(weights) as f64)
}

/// The class of a number between cut points.
fn ordered(x: f64, cuts: &[f64]) -> Value {
    Value::int(1.0 + cuts.iter().filter(|cut| **cut < x).count() as f64)
}

/// How far sums of probabilities may be from 1.
const ROUNDING: f64 = 1e-8;

fn weights(base: &str, p: &[f64]) -> Result<Vec<f64>, String> {
    let sum: f64 = p.iter().sum();
    match p.iter().all(|p| *p >= 0.0) && (sum - 1.0).abs() < ROUNDING {
        true => Ok(p.to_vec()),
        false => {
            Err(format!("{base}_rng needs a simplex: numbers of at least 0 that add up to 1, not to {sum}"))
        }
    }
}

fn softmax(x: &[f64]) -> Vec<f64> {
    let total = known::log_sum_exp(x);
    x.iter().map(|x| (x - total).exp()).collect()
}

fn counts(random: &mut RandomSource, base: &str, p: &[f64], n: f64) -> Found {
    if !(0.0..=MOST).contains(&n) {
        return Err(format!("{base}_rng: {n} is not a number from 0 to 2^30"));
    }
    // One class after the other, of what the classes before have left.
    let (mut left, mut rest) = (n, p.iter().sum::<f64>());
    let mut all = Vec::with_capacity(p.len());
    for (i, own) in p.iter().enumerate() {
        let share = if i + 1 == p.len() || rest <= 0.0 { 1.0 } else { (own / rest).clamp(0.0, 1.0) };
        let count = if *own > 0.0 { random.binomial(left, share) } else { 0.0 };
        all.push(count);
        (left, rest) = (left - count, rest - own);
    }
    Ok(Value::ints(all))
}

fn dirichlet(random: &mut RandomSource, base: &str, a: &[f64]) -> Result<Vec<f64>, String> {
    if let Some(x) = a.iter().find(|a| **a <= 0.0) {
        return Err(format!("{base}_rng: {x} is not above 0"));
    }
    let logs: Vec<f64> = a.iter().map(|a| log_gamma(random, *a)).collect();
    Ok(softmax(&logs))
}

/// Binary values whose log odds are a linear function.
fn regression(random: &mut RandomSource, base: &str, arguments: &[Value], all: &[Vec<f64>]) -> Found {
    let (rows, cols) = arguments[0].rows_and_columns();
    let offset = &all[1];
    if all[2].len() != cols || (offset.len() != 1 && offset.len() != rows) {
        let (own, given) = (offset.len(), all[2].len());
        return Err(format!(
            "{base}_rng: the matrix is [{rows}, {cols}], the intercept has {own} elements, the slopes {given}"
        ));
    }
    let value = |row: usize| {
        let linear: f64 = (0..cols).map(|j| all[0][row * cols + j] * all[2][j]).sum();
        let log_odds = linear + offset[if offset.len() == 1 { 0 } else { row }];
        f64::from(u8::from(random.bernoulli(1.0 / (1.0 + (-log_odds).exp()))))
    };
    Ok(Value::ints((0..rows).map(value).collect()))
}

/// The Cholesky factor of a matrix argument, which is the factor itself for some.
fn factor(base: &str, matrix: &[f64], n: usize) -> Result<Vec<f64>, String> {
    if base.ends_with("_cholesky") {
        return Ok(matrix.to_vec());
    }
    let asymmetric =
        |at: usize| (matrix[at] - matrix[at % n * n + at / n]).abs() > ROUNDING * matrix[at].abs().max(1.0);
    if (0..n * n).any(asymmetric) {
        return Err(format!("{base}_rng: the matrix is not symmetric"));
    }
    known::cholesky(matrix, n).ok_or_else(|| format!("{base}_rng: the matrix is not positive definite"))
}

/// States of a hidden Markov model: forwards what is known at each time, then draws backwards.
fn hidden(random: &mut RandomSource, base: &str, arguments: &[Value], all: &[Vec<f64>]) -> Found {
    let (states, times) = arguments[0].rows_and_columns();
    if all[1].len() != states * states || all[2].len() != states {
        return Err(format!("{base}_rng: transitions and first states of {states} states are needed"));
    }
    let normal = |p: Vec<f64>| -> Vec<f64> {
        let sum: f64 = p.iter().sum();
        p.iter().map(|p| p / sum).collect()
    };
    let mut known: Vec<Vec<f64>> = Vec::with_capacity(times);
    for t in 0..times {
        let logs: Vec<f64> = (0..states).map(|k| all[0][k * times + t]).collect();
        let before = match known.last() {
            Some(p) => known::product(p, &all[1], [1, states, states]),
            None => all[2].clone(),
        };
        known.push(normal(softmax(&logs).iter().zip(before).map(|(a, b)| a * b).collect()));
    }
    let mut drawn = vec![0.0; times];
    for t in (0..times).rev() {
        let weights = match drawn.get(t + 1) {
            Some(next) => (0..states).map(|k| known[t][k] * all[1][k * states + *next as usize]).collect(),
            None => known[t].clone(),
        };
        drawn[t] = random.categorical(&normal(weights)) as f64;
    }
    Ok(Value::ints(drawn.into_iter().map(|state| state + 1.0).collect()))
}

/// Normal vectors and those of Student's t, one for each mean.
fn vectors(random: &mut RandomSource, base: &str, arguments: &[Value], all: &[Vec<f64>]) -> Found {
    let place = mean_of(base).unwrap_or(0);
    let (mean, matrix) = (&arguments[place], &all[place + 1]);
    let n = mean.sizes.to_vec().last().copied().unwrap_or(1);
    if matrix.len() != n * n {
        return Err(format!(
            "{base}_rng: the mean has {n} elements, and the matrix is {}",
            arguments[place + 1].sizes
        ));
    }
    let degrees = base.starts_with("multi_student_t").then(|| all[0][0]);
    if let Some(degrees) = degrees.filter(|degrees| *degrees <= 0.0) {
        return Err(format!("{base}_rng: {degrees} is not above 0"));
    }
    let factor = factor(base, matrix, n)?;
    let mut values = Vec::with_capacity(all[place].len());
    for mean in all[place].chunks(n) {
        let noise: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let scale = degrees.map_or(1.0, |d| (d / 2.0 / random.gamma(d / 2.0)).sqrt());
        let offset = match base {
            // With P = LLᵀ, L⁻ᵀ of noise has the covariance P⁻¹.
            "multi_normal_prec" => known::solve_lower(&factor, &noise, n, 1, true),
            _ => known::product(&factor, &noise, [n, n, 1]),
        };
        values.extend(mean.iter().zip(offset).map(|(mean, offset)| mean + scale * offset));
    }
    let whole = mean.ty.arrays > 0 && mean.ty.base != Base::Real;
    match whole {
        true => Ok(Value::known_of(Ty::VECTOR.array(1), &[values.len() / n, n], values)),
        false => Ok(Value::vector(values)),
    }
}

/// Most rows of a correlation matrix that is drawn.
const LARGEST: f64 = 1000.0;

/// A correlation matrix or its factor from partial correlations (Lewandowski, Kurowicka and Joe 2009): those given `k`
/// variables before are beta variables on (-1, 1).
fn lkj(random: &mut RandomSource, base: &str, size: f64, shape: f64) -> Found {
    if !(1.0..=LARGEST).contains(&size) || shape <= 0.0 {
        return Err(format!(
            "{base}_rng needs a size from 1 to {LARGEST} and a shape above 0, not {size} and {shape}"
        ));
    }
    let n = size as usize;
    let mut factor = vec![0.0; n * n];
    // What of each row's length 1 is left.
    let mut rest = vec![1.0f64; n];
    for k in 0..n {
        factor[k * n + k] = rest[k].max(0.0).sqrt();
        let a = shape + 0.5 * (n as f64 - 2.0 - k as f64);
        for i in k + 1..n {
            let (x, y) = (log_gamma(random, a), log_gamma(random, a));
            let partial = ((x - y) / 2.0).tanh();
            let value = partial * rest[i].max(0.0).sqrt();
            factor[i * n + k] = value;
            rest[i] -= value * value;
        }
    }
    if base == "lkj_corr_cholesky" {
        return Ok(Value::matrix(n, n, factor));
    }
    let transposed: Vec<f64> = (0..n * n).map(|at| factor[at % n * n + at / n]).collect();
    let mut matrix = known::product(&factor, &transposed, [n, n, n]);
    (0..n).for_each(|i| matrix[i * n + i] = 1.0);
    Ok(Value::matrix(n, n, matrix))
}

/// A Wishart matrix `LAAᵀLᵀ` by Bartlett's factor `A`, or the inverse one `LA⁻ᵀA⁻¹Lᵀ`, for a scale `LLᵀ`.
fn wishart(random: &mut RandomSource, base: &str, degrees: f64, scale: &Value, matrix: &[f64]) -> Found {
    let (n, cols) = scale.rows_and_columns();
    if n != cols || degrees <= n as f64 - 1.0 {
        return Err(format!(
            "{base}_rng needs a square matrix and more degrees of freedom than its size less 1, not {} and {degrees}",
            scale.sizes
        ));
    }
    let l = factor(base, matrix, n)?;
    let mut a = vec![0.0; n * n];
    for i in 0..n {
        (0..i).for_each(|j| a[i * n + j] = random.normal());
        a[i * n + i] = (2.0 * random.gamma((degrees - i as f64) / 2.0)).sqrt();
    }
    let transpose = |x: &[f64]| -> Vec<f64> { (0..n * n).map(|at| x[at % n * n + at / n]).collect() };
    let half = match base.starts_with("wishart") {
        true => known::product(&l, &a, [n, n, n]),
        false => transpose(&known::solve_lower(&a, &transpose(&l), n, n, false)),
    };
    let whole = known::product(&half, &transpose(&half), [n, n, n]);
    match base.ends_with("_cholesky") {
        true => Ok(Value::matrix(n, n, factor("wishart", &whole, n)?)),
        false => Ok(Value::matrix(n, n, whole)),
    }
}
