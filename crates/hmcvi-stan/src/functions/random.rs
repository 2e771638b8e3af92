//! Draw from distributions, for generated quantities.

use hmcvi::dist::random::RandomSource;

use super::{Found, known};
use crate::machine::Machine;
use crate::types::{Base, Ty};
use crate::value::Value;

/// A draw of one number from its arguments.
type DrawNumber = fn(&mut RandomSource, &[f64]) -> f64;

/// Distributions of numbers: name, number of arguments, whether draws are integers, and the draw.
const NUMBERS: &[(&str, usize, bool, DrawNumber)] = &[
    ("normal", 2, false, |r, a| a[0] + a[1] * r.normal()),
    ("std_normal", 0, false, |r, _| r.normal()),
    ("student_t", 3, false, |r, a| a[1] + a[2] * r.normal() / (r.gamma(a[0] / 2.0) / (a[0] / 2.0)).sqrt()),
    ("cauchy", 2, false, |r, a| a[0] + a[1] * (std::f64::consts::PI * (r.uniform() - 0.5)).tan()),
    ("double_exponential", 2, false, |r, a| {
        let u = r.uniform() - 0.5;
        a[0] - a[1] * u.signum() * (-2.0 * u.abs()).ln_1p()
    }),
    ("logistic", 2, false, |r, a| {
        let u = r.uniform();
        a[0] + a[1] * (u.ln() - (-u).ln_1p())
    }),
    ("gumbel", 2, false, |r, a| a[0] - a[1] * (-r.uniform().ln()).ln()),
    ("lognormal", 2, false, |r, a| (a[0] + a[1] * r.normal()).exp()),
    ("exponential", 1, false, |r, a| -r.uniform().ln() / a[0]),
    ("gamma", 2, false, |r, a| r.gamma(a[0]) / a[1]),
    ("inv_gamma", 2, false, |r, a| a[1] / r.gamma(a[0])),
    ("weibull", 2, false, |r, a| a[1] * (-r.uniform().ln()).powf(1.0 / a[0])),
    ("frechet", 2, false, |r, a| a[1] * (-r.uniform().ln()).powf(-1.0 / a[0])),
    ("rayleigh", 1, false, |r, a| a[0] * (-2.0 * r.uniform().ln()).sqrt()),
    ("chi_square", 1, false, |r, a| 2.0 * r.gamma(a[0] / 2.0)),
    ("inv_chi_square", 1, false, |r, a| 0.5 / r.gamma(a[0] / 2.0)),
    ("scaled_inv_chi_square", 2, false, |r, a| a[0] * a[1] * a[1] * 0.5 / r.gamma(a[0] / 2.0)),
    ("pareto", 2, false, |r, a| a[0] * r.uniform().powf(-1.0 / a[1])),
    ("beta", 2, false, |r, a| draw_beta(r, a[0], a[1])),
    ("beta_proportion", 2, false, |r, a| draw_beta(r, a[0] * a[1], (1.0 - a[0]) * a[1])),
    ("uniform", 2, false, |r, a| a[0] + (a[1] - a[0]) * r.uniform()),
    ("skew_normal", 3, false, |r, a| {
        let (shared, own) = (r.normal().abs(), r.normal());
        a[0] + a[1] * (a[2] * shared + own) / (1.0 + a[2] * a[2]).sqrt()
    }),
    ("exp_mod_normal", 3, false, |r, a| a[0] + a[1] * r.normal() - r.uniform().ln() / a[2]),
    ("bernoulli", 1, true, |r, a| f64::from(u8::from(r.bernoulli(a[0])))),
    ("bernoulli_logit", 1, true, |r, a| f64::from(u8::from(r.bernoulli(1.0 / (1.0 + (-a[0]).exp()))))),
    ("binomial", 2, true, |r, a| r.binomial(a[0], a[1])),
    ("binomial_logit", 2, true, |r, a| r.binomial(a[0], 1.0 / (1.0 + (-a[1]).exp()))),
    ("beta_binomial", 3, true, |r, a| {
        let p = draw_beta(r, a[1], a[2]);
        r.binomial(a[0], p)
    }),
    ("poisson", 1, true, |r, a| r.poisson(a[0])),
    ("poisson_log", 1, true, |r, a| r.poisson(a[0].exp())),
    ("neg_binomial", 2, true, |r, a| r.negative_binomial(a[0] / a[1], a[0])),
    ("neg_binomial_2", 2, true, |r, a| r.negative_binomial(a[0], a[1])),
    ("neg_binomial_2_log", 2, true, |r, a| r.negative_binomial(a[0].exp(), a[1])),
    ("discrete_range", 2, true, |r, a| a[0] + (r.uniform() * (a[1] - a[0] + 1.0)).floor()),
];

/// Distributions of vectors and classes, with the type of a draw.
const OTHERS: &[(&str, usize, Ty)] = &[
    ("categorical", 1, Ty::INT),
    ("categorical_logit", 1, Ty::INT),
    ("ordered_logistic", 2, Ty::INT),
    ("multinomial", 2, Ty::INT.array(1)),
    ("dirichlet", 1, Ty::VECTOR),
    ("multi_normal", 2, Ty::VECTOR),
    ("multi_normal_cholesky", 2, Ty::VECTOR),
];

fn draw_beta(random: &mut RandomSource, a: f64, b: f64) -> f64 {
    let (x, y) = (random.gamma(a), random.gamma(b));
    x / (x + y)
}

fn base(name: &str) -> Option<&str> {
    let base = name.strip_suffix("_rng")?;
    let known = NUMBERS.iter().any(|(own, ..)| *own == base) || OTHERS.iter().any(|(own, ..)| *own == base);
    known.then_some(base)
}

pub(crate) fn names() -> Vec<String> {
    let all = NUMBERS.iter().map(|(name, ..)| name).chain(OTHERS.iter().map(|(name, ..)| name));
    all.map(|name| format!("{name}_rng")).collect()
}

pub(super) fn is_one(name: &str) -> bool {
    base(name).is_some()
}

pub(super) fn result_type(name: &str, types: &[Ty]) -> Result<Option<Ty>, String> {
    let Some(base) = base(name) else { return Ok(None) };
    let wrong = |number: usize| format!("`{name}` has {number} arguments, not {}", types.len());
    if let Some((_, number, int, _)) = NUMBERS.iter().find(|(own, ..)| *own == base) {
        if types.len() != *number {
            return Err(wrong(*number));
        }
        let numbers = types.iter().all(|ty| ty.is_scalar());
        let own = if *int { Ty::INT } else { Ty::REAL };
        return Ok(Some(if numbers { own } else { own.array(1) }));
    }
    let Some((_, number, ty)) = OTHERS.iter().find(|(own, ..)| *own == base) else { return Ok(None) };
    match types.len() == *number {
        true => Ok(Some(*ty)),
        false => Err(wrong(*number)),
    }
}

pub(super) fn call(machine: &mut Machine<'_>, name: &str, arguments: &[Value]) -> Found {
    let Some(base) = base(name) else { return Err(format!("there is no function `{name}`")) };
    let Some(random) = &mut machine.random else {
        return Err("draws can be made in generated quantities and in transformed data only".into());
    };
    let Some(all) = arguments.iter().map(Value::known).collect::<Option<Vec<_>>>() else {
        return Err("a draw here would depend on a parameter".into());
    };
    if let Some((_, _, int, draw)) = NUMBERS.iter().find(|(own, ..)| *own == base) {
        check(base, arguments)?;
        let length = arguments.iter().filter(|value| !value.is_scalar()).map(Value::elements).max();
        let mut one = |i: usize| {
            let at = |values: &std::borrow::Cow<'_, [f64]>| {
                values[if values.len() == 1 { 0 } else { i.min(values.len() - 1) }]
            };
            let own: Vec<f64> = all.iter().map(at).collect();
            match own.iter().all(|x| x.is_finite()) {
                true => Ok(draw(random, &own)),
                false => Err(format!("{name} needs numbers, not {own:?}")),
            }
        };
        let ty = if *int { Ty::INT } else { Ty::REAL };
        return match length {
            None => Ok(Value { ty, ..Value::num(one(0)?) }),
            Some(n) => Ok(Value::known_of(ty.array(1), &[n], (0..n).map(one).collect::<Result<_, _>>()?)),
        };
    }
    others(random, base, arguments, &all)
}

/// Refuses scales and rates that are not above 0 before anything is drawn with them.
fn check(base: &str, arguments: &[Value]) -> Result<(), String> {
    let positive: &[usize] = match base {
        "normal" | "cauchy" | "double_exponential" | "logistic" | "gumbel" | "lognormal" => &[1],
        "student_t" | "exp_mod_normal" => &[0, 2],
        "exponential" | "rayleigh" | "chi_square" | "inv_chi_square" => &[0],
        "gamma"
        | "inv_gamma"
        | "weibull"
        | "frechet"
        | "beta"
        | "pareto"
        | "neg_binomial"
        | "scaled_inv_chi_square" => &[0, 1],
        "neg_binomial_2" | "neg_binomial_2_log" => &[1],
        "beta_binomial" => &[1, 2],
        _ => &[],
    };
    let limit: &[usize] = match base {
        "poisson" | "neg_binomial_2" => &[0],
        "binomial" => &[0],
        _ => &[],
    };
    let values = |i: &usize| arguments[*i].known().map(|values| values.into_owned()).unwrap_or_default();
    let low = match base {
        "exp_mod_normal" => values(&1).into_iter().find(|x| *x <= 0.0),
        _ => positive.iter().flat_map(values).find(|x| x.is_nan() || *x <= 0.0),
    };
    if let Some(x) = low {
        return Err(format!("{base}_rng: {x} is not above 0"));
    }
    if let Some(x) = limit.iter().flat_map(values).find(|x| x.is_nan() || *x < 0.0 || *x > 1e15) {
        return Err(format!("{base}_rng: {x} is not between 0 and 1e15"));
    }
    if matches!(base, "bernoulli" | "binomial") {
        let last = arguments.len() - 1;
        if let Some(x) = values(&last).into_iter().find(|x| !(0.0..=1.0).contains(x)) {
            return Err(format!("{base}_rng: {x} is no probability"));
        }
    }
    Ok(())
}

fn others(
    random: &mut RandomSource,
    base: &str,
    arguments: &[Value],
    all: &[std::borrow::Cow<'_, [f64]>],
) -> Found {
    if all.iter().any(|values| values.iter().any(|x| x.is_nan())) {
        return Err(format!("{base}_rng: an argument is not a number"));
    }
    if all[0].is_empty() {
        return Err(format!("{base}_rng: an argument has no elements"));
    }
    match base {
        "categorical" => Ok(Value::int(1.0 + random.categorical(&all[0]) as f64)),
        "categorical_logit" => {
            let total = known::log_sum_exp(&all[0]);
            let p: Vec<f64> = all[0].iter().map(|x| (x - total).exp()).collect();
            Ok(Value::int(1.0 + random.categorical(&p) as f64))
        }
        "ordered_logistic" => {
            let u = random.uniform();
            let noise = all[0][0] + u.ln() - (-u).ln_1p();
            Ok(Value::int(1.0 + all[1].iter().filter(|cut| **cut < noise).count() as f64))
        }
        "multinomial" => {
            let mut counts = vec![0f32; all[0].len()];
            random.multinomial(all[1][0], &all[0], &mut counts);
            Ok(Value::ints(counts.into_iter().map(f64::from).collect()))
        }
        "dirichlet" => {
            let draws: Vec<f64> = all[0].iter().map(|a| random.gamma(*a)).collect();
            let sum: f64 = draws.iter().sum();
            Ok(Value::vector(draws.into_iter().map(|x| x / sum).collect()))
        }
        _ => multi_normal(random, base, arguments, all),
    }
}

fn multi_normal(
    random: &mut RandomSource,
    base: &str,
    arguments: &[Value],
    all: &[std::borrow::Cow<'_, [f64]>],
) -> Found {
    let n = all[0].len();
    if arguments[0].ty.arrays > 0 && arguments[0].ty.base != Base::Real || all[1].len() != n * n {
        return Err(format!("{base}_rng needs a mean and a square matrix of one size"));
    }
    let factor = match base {
        "multi_normal" => known::cholesky(&all[1], n).ok_or("the matrix is not positive definite")?,
        _ => all[1].to_vec(),
    };
    let noise: Vec<f64> = (0..n).map(|_| random.normal()).collect();
    let sum = |i: usize| (0..=i).map(|j| factor[i * n + j] * noise[j]).sum::<f64>();
    Ok(Value::vector((0..n).map(|i| all[0][i] + sum(i)).collect()))
}
