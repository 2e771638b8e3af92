//! List the distributions of the language.

use hmcvi::bayes::{self, Distribution, Var};

/// What a distribution describes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Numbers, each for itself.
    Numbers,
    /// Values that belong together, with so many dimensions each, and with the arguments that have to be the same where
    /// many are computed together.
    Together { rank: usize, shared: &'static [usize] },
}

/// A distribution of the language.
pub(crate) struct Dist {
    pub(crate) name: &'static str,
    pub(crate) arguments: usize,
    pub(crate) discrete: bool,
    pub(crate) kind: Kind,
    pub(crate) make: Make,
}

/// The distribution for a value and its arguments.
pub(crate) type Make = for<'g> fn(Var<'g>, &[Var<'g>]) -> Distribution<'g>;

macro_rules! distributions {
    ($($name:ident($($argument:ident),*) $values:ident $kind:expr => |$x:ident| $make:expr;)*) => {
        pub(crate) static DISTRIBUTIONS: &[Dist] = &[$(Dist {
            name: stringify!($name),
            arguments: count(&[$(stringify!($argument)),*]),
            discrete: stringify!($values).as_bytes()[0] == b'i',
            kind: $kind,
            make: |$x, all| {
                let _ = $x;
                let [$($argument),*] = *all else { unreachable!("arguments are counted before") };
                $make
            },
        }),*];
    };
}

const fn count(names: &[&str]) -> usize {
    names.len()
}

const NUMBERS: Kind = Kind::Numbers;

distributions! {
    normal(m, s) real NUMBERS => |x| bayes::normal(m, s);
    std_normal() real NUMBERS => |x| bayes::normal(0.0, 1.0);
    cauchy(m, s) real NUMBERS => |x| bayes::cauchy(m, s);
    student_t(n, m, s) real NUMBERS => |x| bayes::student_t(n, m, s);
    double_exponential(m, s) real NUMBERS => |x| bayes::laplace(m, s);
    logistic(m, s) real NUMBERS => |x| bayes::logistic(m, s);
    gumbel(m, s) real NUMBERS => |x| bayes::gumbel(m, s);
    skew_normal(m, s, a) real NUMBERS => |x| bayes::skew_normal(m, s, a);
    skew_double_exponential(m, s, t) real NUMBERS => |x| bayes::skew_laplace(m, s, t);
    exp_mod_normal(m, s, l) real NUMBERS => |x| bayes::exp_mod_normal(m, s, l);
    lognormal(m, s) real NUMBERS => |x| bayes::lognormal(m, s);
    exponential(r) real NUMBERS => |x| bayes::exponential(r);
    gamma(a, b) real NUMBERS => |x| bayes::gamma(a, b);
    inv_gamma(a, b) real NUMBERS => |x| bayes::inv_gamma(a, b);
    weibull(a, s) real NUMBERS => |x| bayes::weibull(a, s);
    frechet(a, s) real NUMBERS => |x| bayes::frechet(a, s);
    rayleigh(s) real NUMBERS => |x| bayes::rayleigh(s);
    loglogistic(a, b) real NUMBERS => |x| bayes::log_logistic(a, b);
    chi_square(n) real NUMBERS => |x| bayes::chi_square(n);
    inv_chi_square(n) real NUMBERS => |x| bayes::inv_chi_square(n);
    scaled_inv_chi_square(n, s) real NUMBERS => |x| bayes::scaled_inv_chi_square(n, s);
    pareto(m, a) real NUMBERS => |x| bayes::pareto(m, a);
    pareto_type_2(m, s, a) real NUMBERS => |x| bayes::pareto_type_2(m, s, a);
    beta(a, b) real NUMBERS => |x| bayes::beta(a, b);
    beta_proportion(m, k) real NUMBERS => |x| bayes::beta_proportion(m, k);
    uniform(a, b) real NUMBERS => |x| bayes::uniform(a, b);
    bernoulli(p) int NUMBERS => |x| bayes::bernoulli(p);
    bernoulli_logit(l) int NUMBERS => |x| bayes::bernoulli_logit(l);
    binomial(n, p) int NUMBERS => |x| bayes::binomial(n, p);
    binomial_logit(n, l) int NUMBERS => |x| bayes::binomial_logit(n, l);
    beta_binomial(n, a, b) int NUMBERS => |x| bayes::beta_binomial(n, a, b);
    poisson(r) int NUMBERS => |x| bayes::poisson(r);
    poisson_log(l) int NUMBERS => |x| bayes::poisson_log(l);
    neg_binomial(a, b) int NUMBERS => |x| bayes::neg_binomial(a, b);
    neg_binomial_2(m, p) int NUMBERS => |x| bayes::neg_binomial_2(m, p);
    neg_binomial_2_log(m, p) int NUMBERS => |x| bayes::neg_binomial_2_log(m, p);
    categorical(p) int Kind::Together { rank: 0, shared: &[] } => |x| bayes::categorical(p);
    categorical_logit(l) int Kind::Together { rank: 0, shared: &[] } => |x| bayes::categorical_logit(l);
    ordered_logistic(l, c) int Kind::Together { rank: 0, shared: &[2] } => |x| bayes::ordered_logistic(l, c);
    ordered_probit(l, c) int Kind::Together { rank: 0, shared: &[2] } => |x| bayes::ordered_probit(l, c);
    multinomial(p) int Kind::Together { rank: 1, shared: &[] } => |x| bayes::multinomial(p);
    dirichlet(a) real Kind::Together { rank: 1, shared: &[] } => |x| bayes::dirichlet(a);
    multi_normal(m, c) real Kind::Together { rank: 1, shared: &[2] } => |x| bayes::multi_normal(m, c);
    multi_normal_cholesky(m, l) real Kind::Together { rank: 1, shared: &[2] } => |x| bayes::multi_normal_cholesky(m, l);
    multi_normal_prec(m, p) real Kind::Together { rank: 1, shared: &[2] } => |x| bayes::multi_normal_prec(m, p);
    multi_student_t(n, m, c) real Kind::Together { rank: 1, shared: &[1, 3] } => |x| bayes::multi_student_t(n, m, c);
    lkj_corr_cholesky(e) real Kind::Together { rank: 2, shared: &[0, 1] } => |x| {
        bayes::lkj_corr_cholesky(x.dims().sizes().last().copied().unwrap_or(1), e)
    };
    lkj_corr(e) real Kind::Together { rank: 2, shared: &[0, 1] } => |x| {
        bayes::lkj_corr(x.dims().sizes().last().copied().unwrap_or(1), e)
    };
    wishart(n, s) real Kind::Together { rank: 2, shared: &[0, 1, 2] } => |x| bayes::wishart(n, s);
    inv_wishart(n, s) real Kind::Together { rank: 2, shared: &[0, 1, 2] } => |x| bayes::inv_wishart(n, s);
}
