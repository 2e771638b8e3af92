//! List the distributions of numbers that are drawn from, with what their arguments may be.

use std::f64::consts::{PI, TAU};

use hmcvi::dist::random::RandomSource;

/// A draw of one number from its arguments.
type DrawNumber = fn(&mut RandomSource, &[f64]) -> f64;

/// What an argument may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Domain {
    /// Any finite number.
    Real,
    /// A finite number above 0.
    Positive,
    /// A number of things or an expected number: from 0 to what integers can hold.
    Count,
    /// A number from 0 to 1.
    Probability,
}

use Domain::{Count, Positive, Probability, Real};

impl Domain {
    /// What is wrong with a number.
    pub(super) fn wrong(self, x: f64) -> Option<&'static str> {
        let (fits, allowed) = match self {
            Real => (x.is_finite(), "a finite number"),
            Positive => (x > 0.0 && x.is_finite(), "a finite number above 0"),
            Count => ((0.0..=MOST).contains(&x), "a number from 0 to 2^30"),
            Probability => ((0.0..=1.0).contains(&x), "a probability from 0 to 1"),
        };
        (!fits).then_some(allowed)
    }
}

/// Expected counts above this have draws that integers cannot hold, as in Stan.
pub(super) const MOST: f64 = 1_073_741_824.0;

/// Most things that are drawn one after the other.
const MOST_STEPS: f64 = 1e7;

/// A distribution of numbers.
pub(super) struct Number {
    pub(super) name: &'static str,
    pub(super) arguments: &'static [Domain],
    /// Whether draws are integers.
    pub(super) integer: bool,
    pub(super) draw: DrawNumber,
}

const fn real(name: &'static str, arguments: &'static [Domain], draw: DrawNumber) -> Number {
    Number { name, arguments, integer: false, draw }
}

const fn integer(name: &'static str, arguments: &'static [Domain], draw: DrawNumber) -> Number {
    Number { name, arguments, integer: true, draw }
}

/// All distributions of numbers.
pub(super) const NUMBERS: &[Number] = &[
    real("normal", &[Real, Positive], |r, a| a[0] + a[1] * r.normal()),
    real("std_normal", &[], |r, _| r.normal()),
    real("student_t", &[Positive, Real, Positive], |r, a| {
        a[1] + a[2] * r.normal() / (r.gamma(a[0] / 2.0) / (a[0] / 2.0)).sqrt()
    }),
    real("cauchy", &[Real, Positive], |r, a| a[0] + a[1] * (PI * (r.uniform() - 0.5)).tan()),
    real("double_exponential", &[Real, Positive], |r, a| {
        let u = r.uniform() - 0.5;
        a[0] - a[1] * u.signum() * (-2.0 * u.abs()).ln_1p()
    }),
    real("skew_double_exponential", &[Real, Positive, Probability], |r, a| {
        // Below the location with the probability of the skewness, exponential on both sides.
        let (below, t) = (r.uniform() < a[2], exponential(r) * a[1]);
        if below { a[0] - t / (2.0 * (1.0 - a[2])) } else { a[0] + t / (2.0 * a[2]) }
    }),
    real("logistic", &[Real, Positive], |r, a| a[0] + a[1] * logistic(r)),
    real("gumbel", &[Real, Positive], |r, a| a[0] - a[1] * exponential(r).ln()),
    real("lognormal", &[Real, Positive], |r, a| (a[0] + a[1] * r.normal()).exp()),
    real("loglogistic", &[Positive, Positive], |r, a| a[0] * (logistic(r) / a[1]).exp()),
    real("exponential", &[Positive], |r, a| exponential(r) / a[0]),
    real("gamma", &[Positive, Positive], |r, a| r.gamma(a[0]) / a[1]),
    real("inv_gamma", &[Positive, Positive], |r, a| a[1] / r.gamma(a[0])),
    real("weibull", &[Positive, Positive], |r, a| a[1] * exponential(r).powf(1.0 / a[0])),
    real("frechet", &[Positive, Positive], |r, a| a[1] * exponential(r).powf(-1.0 / a[0])),
    real("rayleigh", &[Positive], |r, a| a[0] * (2.0 * exponential(r)).sqrt()),
    real("chi_square", &[Positive], |r, a| 2.0 * r.gamma(a[0] / 2.0)),
    real("inv_chi_square", &[Positive], |r, a| 0.5 / r.gamma(a[0] / 2.0)),
    real("scaled_inv_chi_square", &[Positive, Positive], |r, a| {
        a[0] * a[1] * a[1] * 0.5 / r.gamma(a[0] / 2.0)
    }),
    real("pareto", &[Positive, Positive], |r, a| a[0] * (exponential(r) / a[1]).exp()),
    real("pareto_type_2", &[Real, Positive, Positive], |r, a| a[0] + a[1] * (exponential(r) / a[2]).exp_m1()),
    real("beta", &[Positive, Positive], |r, a| beta(r, a[0], a[1])),
    real("beta_proportion", &[Probability, Positive], |r, a| beta(r, a[0] * a[1], (1.0 - a[0]) * a[1])),
    real("uniform", &[Real, Real], |r, a| a[0] + (a[1] - a[0]) * r.uniform()),
    real("von_mises", &[Real, Positive], |r, a| von_mises(r, a[0], a[1])),
    real("skew_normal", &[Real, Positive, Real], |r, a| {
        let (shared, own) = (r.normal().abs(), r.normal());
        a[0] + a[1] * (a[2] * shared + own) / (1.0 + a[2] * a[2]).sqrt()
    }),
    real("exp_mod_normal", &[Real, Positive, Positive], |r, a| {
        a[0] + a[1] * r.normal() + exponential(r) / a[2]
    }),
    integer("bernoulli", &[Probability], |r, a| happens(r, a[0])),
    integer("bernoulli_logit", &[Real], |r, a| happens(r, inv_logit(a[0]))),
    integer("binomial", &[Count, Probability], |r, a| r.binomial(a[0], a[1])),
    integer("binomial_logit", &[Count, Real], |r, a| r.binomial(a[0], inv_logit(a[1]))),
    integer("beta_binomial", &[Count, Positive, Positive], |r, a| {
        let p = beta(r, a[1], a[2]);
        r.binomial(a[0], p)
    }),
    integer("hypergeometric", &[Count, Count, Count], |r, a| hypergeometric(r, a[0], a[1], a[2])),
    integer("poisson", &[Count], |r, a| r.poisson(a[0])),
    integer("poisson_log", &[Real], |r, a| r.poisson(a[0].exp())),
    integer("neg_binomial", &[Positive, Positive], |r, a| r.negative_binomial(a[0] / a[1], a[0])),
    integer("neg_binomial_2", &[Count, Positive], |r, a| r.negative_binomial(a[0], a[1])),
    integer("neg_binomial_2_log", &[Real, Positive], |r, a| r.negative_binomial(a[0].exp(), a[1])),
    integer("discrete_range", &[Real, Real], |r, a| a[0] + (r.uniform() * (a[1] - a[0] + 1.0)).floor()),
];

/// What is wrong with arguments beside their domains.
pub(super) fn wrong(name: &str, a: &[f64]) -> Option<String> {
    match name {
        "uniform" if a[0] >= a[1] => Some(format!("{} is not below {}", a[0], a[1])),
        "discrete_range" if a[0] > a[1] => Some(format!("{} is above {}", a[0], a[1])),
        "poisson_log" | "neg_binomial_2_log" if a[0].exp() > MOST => {
            Some(format!("the mean is exp({}), and must be at most 2^30", a[0]))
        }
        "neg_binomial" if a[0] / a[1] > MOST => {
            Some(format!("the mean is {}, and must be at most 2^30", a[0] / a[1]))
        }
        "hypergeometric" if a[0] > a[1] + a[2] => {
            Some(format!("{} cannot be drawn of {}", a[0], a[1] + a[2]))
        }
        "hypergeometric" if a[0] > MOST_STEPS => Some(format!("{} are more than {MOST_STEPS}", a[0])),
        _ => None,
    }
}

fn exponential(random: &mut RandomSource) -> f64 {
    -random.uniform().ln()
}

fn logistic(random: &mut RandomSource) -> f64 {
    let u = random.uniform();
    u.ln() - (-u).ln_1p()
}

fn inv_logit(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn happens(random: &mut RandomSource, p: f64) -> f64 {
    f64::from(u8::from(random.bernoulli(p)))
}

/// The logarithm of a gamma variable with scale 1, which is finite where the variable itself is too small for a number.
pub(super) fn log_gamma(random: &mut RandomSource, shape: f64) -> f64 {
    match shape < 1.0 {
        // A gamma variable of shape + 1, times a uniform one to the power of 1 / shape.
        true => random.gamma(shape + 1.0).ln() - exponential(random) / shape,
        false => random.gamma(shape).ln(),
    }
}

fn beta(random: &mut RandomSource, a: f64, b: f64) -> f64 {
    let (x, y) = (log_gamma(random, a), log_gamma(random, b));
    inv_logit(x - y)
}

/// Rejection from a wrapped Cauchy distribution (Best and Fisher 1979).
fn von_mises(random: &mut RandomSource, mean: f64, concentration: f64) -> f64 {
    // Without any concentration to speak of, all directions are alike.
    if concentration < 1e-8 {
        return mean + PI * (2.0 * random.uniform() - 1.0);
    }
    let tau = 1.0 + (1.0 + 4.0 * concentration * concentration).sqrt();
    let rho = (tau - (2.0 * tau).sqrt()) / (2.0 * concentration);
    let r = (1.0 + rho * rho) / (2.0 * rho);
    loop {
        let z = (PI * random.uniform()).cos();
        let f = (1.0 + r * z) / (r + z);
        let c = concentration * (r - f);
        let u = random.uniform();
        if c * (2.0 - c) > u || (c / u).ln() + 1.0 >= c {
            let side = if random.bernoulli(0.5) { 1.0 } else { -1.0 };
            let angle = mean + side * f.clamp(-1.0, 1.0).acos();
            return angle - TAU * ((angle - mean + PI) / TAU).floor();
        }
    }
}

/// How many of `n` things that are taken of `a` and `b` others are of the first kind: one after the other.
fn hypergeometric(random: &mut RandomSource, n: f64, a: f64, b: f64) -> f64 {
    // Those that are left are distributed alike: the smaller part is drawn.
    let (all, mut first) = (a + b, a);
    let swapped = n > all / 2.0;
    let steps = if swapped { all - n } else { n };
    let (mut left, mut taken) = (all, 0.0);
    for _ in 0..steps as u64 {
        if random.uniform() * left < first {
            first -= 1.0;
            taken += 1.0;
        }
        left -= 1.0;
    }
    if swapped { a - taken } else { taken }
}
