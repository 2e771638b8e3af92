//! Distribution functions by the names of Stan's distributions, in logarithms: what truncation and censoring need.

use std::f64::consts::{FRAC_1_PI, LN_2};

use hmcvi_graph::Expr;

use super::{
    Distribution, bernoulli, beta_binomial, binomial, incomplete, neg_binomial, neg_binomial_2, poisson,
    quadrature,
};
use crate::bayes::{Dims, Var};

/// Largest count whose probability is summed up from 0.
const LARGEST: f64 = 100_000.0;

/// `log F(x)` and `log (1 - F(x))` of a value and the arguments.
type Formula = for<'g> fn(Var<'g>, &[Var<'g>]) -> [Var<'g>; 2];

/// A distribution of counts.
type Counts = for<'g> fn(&[Var<'g>]) -> Distribution<'g>;

const FORMULAS: &[(&str, Formula)] = &[
    ("normal", |x, a| normal((x - a[0]) / a[1])),
    ("std_normal", |x, _| normal(x)),
    ("lognormal", |x, a| normal((x.log() - a[0]) / a[1])),
    ("logistic", |x, a| logistic((x - a[0]) / a[1])),
    ("loglogistic", |x, a| logistic((x.log() - a[0].log()) * a[1])),
    ("cauchy", |x, a| {
        let z = (x - a[0]) / a[1];
        [cauchy(z).log(), cauchy(-z).log()]
    }),
    ("double_exponential", |x, a| laplace((x - a[0]) / a[1])),
    ("exponential", |x, a| survival(-(a[0] * x))),
    ("weibull", |x, a| survival(-((x.log() - a[1].log()) * a[0]).exp())),
    ("frechet", |x, a| flip(survival(-((a[1].log() - x.log()) * a[0]).exp()))),
    ("gumbel", |x, a| flip(survival(-(-((x - a[0]) / a[1])).exp()))),
    ("rayleigh", |x, a| survival((x / a[0]).square() * -0.5)),
    ("pareto", |x, a| survival((a[0].log() - x.log()) * a[1])),
    ("pareto_type_2", |x, a| survival(-(((x - a[0]) / a[1]).log1p() * a[2]))),
    ("uniform", |x, a| [((x - a[0]) / (a[1] - a[0])).log(), ((a[1] - x) / (a[1] - a[0])).log()]),
    ("skew_double_exponential", |x, a| skew_laplace(x - a[0], a[1], a[2])),
    ("exp_mod_normal", |x, a| exp_mod_normal((x - a[0]) / a[1], a[1] * a[2])),
    ("skew_normal", |x, a| {
        let z = (x - a[0]) / a[1];
        let twice = quadrature::owens_t(z, a[2]) * 2.0;
        [(z.normal_cdf() - twice).log(), ((-z).normal_cdf() + twice).log()]
    }),
    ("student_t", |x, a| quadrature::log_student(a[0], (x - a[1]) / a[2])),
    ("gamma", |x, a| quadrature::log_gamma(a[0], x * a[1])),
    ("inv_gamma", |x, a| flip(quadrature::log_gamma(a[0], a[1] / x))),
    ("chi_square", |x, a| quadrature::log_gamma(a[0] * 0.5, x * 0.5)),
    ("inv_chi_square", |x, a| flip(quadrature::log_gamma(a[0] * 0.5, x.reciprocal() * 0.5))),
    ("scaled_inv_chi_square", |x, a| flip(quadrature::log_gamma(a[0] * 0.5, a[0] * a[1].square() / x * 0.5))),
    ("beta", |x, a| quadrature::log_beta(a[0], a[1], [x, -x + 1.0])),
    ("beta_proportion", |x, a| quadrature::log_beta(a[0] * a[1], (-a[0] + 1.0) * a[1], [x, -x + 1.0])),
];

/// `[F(x), 1 - F(x)]` of known numbers.
type Numeric = fn(f64, &[f64]) -> [f64; 2];

/// Distributions that have faster ways where all is known.
const KNOWN: &[(&str, Numeric)] = &[
    ("student_t", |x, a| {
        let z = (x - a[1]) / a[2];
        let tail =
            0.5 * incomplete::beta(a[0] / 2.0, 0.5, [a[0] / (a[0] + z * z), z * z / (a[0] + z * z)])[0];
        if z > 0.0 { [1.0 - tail, tail] } else { [tail, 1.0 - tail] }
    }),
    ("gamma", |x, a| incomplete::gamma(a[0], x * a[1])),
    ("inv_gamma", |x, a| {
        let [p, q] = incomplete::gamma(a[0], a[1] / x);
        [q, p]
    }),
    ("chi_square", |x, a| incomplete::gamma(a[0] / 2.0, x / 2.0)),
    ("beta", |x, a| incomplete::beta(a[0], a[1], [x, 1.0 - x])),
];

const COUNTS: &[(&str, Counts)] = &[
    ("bernoulli", |a| bernoulli(a[0])),
    ("binomial", |a| binomial(a[0], a[1])),
    ("beta_binomial", |a| beta_binomial(a[0], a[1], a[2])),
    ("poisson", |a| poisson(a[0])),
    ("neg_binomial", |a| neg_binomial(a[0], a[1])),
    ("neg_binomial_2", |a| neg_binomial_2(a[0], a[1])),
];

/// Whether the distribution function of this distribution is known.
pub fn is_known(name: &str) -> bool {
    let named = |known: &str| known == name;
    FORMULAS.iter().any(|(known, _)| named(known)) || COUNTS.iter().any(|(known, _)| named(known))
}

/// `log P(X ≤ x)`, element by element.
#[must_use]
pub fn log_cdf<'g>(name: &str, x: Var<'g>, arguments: &[Var<'g>]) -> Var<'g> {
    both(name, x, arguments)[0]
}

/// `log P(X > x)`, element by element.
#[must_use]
pub fn log_ccdf<'g>(name: &str, x: Var<'g>, arguments: &[Var<'g>]) -> Var<'g> {
    both(name, x, arguments)[1]
}

fn both<'g>(name: &str, x: Var<'g>, arguments: &[Var<'g>]) -> [Var<'g>; 2] {
    let numeric = KNOWN.iter().find(|(known, _)| *known == name);
    if let Some(known) = numeric.and_then(|(_, numeric)| numbers(x, arguments, *numeric)) {
        return known;
    }
    if let Some((_, formula)) = FORMULAS.iter().find(|(known, _)| *known == name) {
        return formula(x, arguments);
    }
    match COUNTS.iter().find(|(known, _)| *known == name) {
        Some((_, make)) => counts(name, x, arguments, *make),
        None => [x.wrong(format!("the distribution function of {name} is not known"), x.dims()); 2],
    }
}

fn normal(z: Var<'_>) -> [Var<'_>; 2] {
    [z.log_normal_cdf(), (-z).log_normal_cdf()]
}

/// `½ + atan(z)/π`, as the angle of the other tail where digits would be lost.
fn cauchy(z: Var<'_>) -> Var<'_> {
    z.less(-1.0).select((-z.reciprocal()).atan() * FRAC_1_PI, z.atan() * FRAC_1_PI + 0.5)
}

fn logistic(z: Var<'_>) -> [Var<'_>; 2] {
    [z.log_sigmoid(), (-z).log_sigmoid()]
}

fn flip([a, b]: [Var<'_>; 2]) -> [Var<'_>; 2] {
    [b, a]
}

/// Both from `log P(X > x)`.
fn survival(log_survival: Var<'_>) -> [Var<'_>; 2] {
    [log1m_exp(log_survival), log_survival]
}

/// `log(1 - eˣ)` for negative numbers.
fn log1m_exp(x: Var<'_>) -> Var<'_> {
    let near = (-x).less(LN_2);
    let small = (-near.select(x, -1.0).expm1()).log();
    near.select(small, (-near.select(-1.0, x).exp()).log1p())
}

fn laplace(z: Var<'_>) -> [Var<'_>; 2] {
    let far = -z.abs() - LN_2;
    let near = log1m_exp(far);
    let below = z.less(0.0);
    [below.select(far, near), below.select(near, far)]
}

/// Of a skewed Laplace distribution with scale `s` and skewness `t`, of `d` beside its place.
fn skew_laplace<'g>(d: Var<'g>, s: Var<'g>, t: Var<'g>) -> [Var<'g>; 2] {
    let below = d.less(0.0);
    let rest = -t + 1.0;
    let left = t.log() + rest * below.select(d, 0.0) * 2.0 / s;
    let right = rest.log() - t * below.select(0.0, d) * 2.0 / s;
    [below.select(left, log1m_exp(right)), below.select(log1m_exp(left), right)]
}

/// Of the sum of a standard normal and an exponential number with rate `l`: `Φ(z) - exp(l²/2 - lz) Φ(z - l)`.
fn exp_mod_normal<'g>(z: Var<'g>, l: Var<'g>) -> [Var<'g>; 2] {
    let taken = l * (l * 0.5 - z) + (z - l).log_normal_cdf();
    let below = z.log_normal_cdf() + log1m_exp(taken - z.log_normal_cdf());
    [below, ((-z).normal_cdf() + taken.exp()).log()]
}

/// Element by element, where all numbers are known.
fn numbers<'g>(x: Var<'g>, arguments: &[Var<'g>], numeric: Numeric) -> Option<[Var<'g>; 2]> {
    let all: Option<Vec<Vec<f64>>> = [&[x], arguments].concat().into_iter().map(Var::known).collect();
    let all = all?;
    let length = all.iter().map(Vec::len).max().unwrap_or(1);
    let at =
        |i: usize| -> Vec<f64> { all.iter().map(|own| own[if own.len() == 1 { 0 } else { i }]).collect() };
    let found: Vec<[f64; 2]> = (0..length).map(|i| numeric(at(i)[0], &at(i)[1..])).collect();
    Some([0, 1].map(|side| {
        let logs: Vec<f64> = found.iter().map(|both| both[side].ln()).collect();
        match length {
            1 => Var::new(x.graph().constant(logs[0]), Dims::SCALAR),
            _ => Var::new(x.graph().constant_matrix(1, length, &logs), length.into()),
        }
    }))
}

/// Sums of probabilities up to a count that is known.
fn counts<'g>(name: &str, x: Var<'g>, arguments: &[Var<'g>], make: Counts) -> [Var<'g>; 2] {
    let graph = x.graph();
    let Some(seen) = x.known() else {
        return [x
            .wrong(format!("the distribution function of {name} is for counts that are known"), x.dims());
            2];
    };
    let length = arguments.iter().map(|a| a.dims().elements()).fold(seen.len(), usize::max);
    let mut sums: [Vec<Expr<'g>>; 2] = [Vec::new(), Vec::new()];
    for i in 0..length {
        let at = |value: &Var<'g>| if value.dims().is_scalar() { *value } else { value.at(i) };
        let own: Vec<Var<'g>> = arguments.iter().map(at).collect();
        let count = seen[if seen.len() == 1 { 0 } else { i }].floor();
        // Above this many all is counted: trials say how many there are.
        let most = if name.contains("binomial") && !name.contains("neg") {
            own[0].known().map(|n| n[0])
        } else {
            None
        };
        let most = most.or((name == "bernoulli").then_some(1.0));
        let count = most.map_or(count, |most| count.min(most));
        if count > LARGEST {
            return [x
                .wrong(format!("{name}: counts above {LARGEST} are too large to be summed up"), x.dims());
                2];
        }
        let infinite = graph.constant(f64::NEG_INFINITY);
        let zero = graph.constant(0.0);
        if count < 0.0 || most == Some(count) {
            let [below, above] = if count < 0.0 { [infinite, zero] } else { [zero, infinite] };
            sums[0].push(below);
            sums[1].push(above);
            continue;
        }
        let all: Vec<f64> = (0..=count as usize).map(|k| k as f64).collect();
        let ks = match all.len() {
            1 => Var::new(graph.constant(0.0), Dims::SCALAR),
            n => Var::new(graph.constant_matrix(1, n, &all), n.into()),
        };
        let below = make(&own).log_prob(ks).log_sum_exp();
        sums[0].push(below.expr());
        sums[1].push(log1m_exp(below).expr());
    }
    let dims = if length == 1 { Dims::SCALAR } else { length.into() };
    sums.map(|parts| Var::new(Expr::concat_cols(&parts), dims))
}
