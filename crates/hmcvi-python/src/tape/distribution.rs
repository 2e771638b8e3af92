//! Build the library's distributions from their names and arguments.

use hmcvi::bayes::{self, Arg, Builder, Dims, Distribution, Support};

use super::operation::{joined, repeat};
use super::var;

/// A distribution by its name, with the steps that made its arguments.
#[derive(Clone)]
pub(crate) struct Description {
    make: Make,
    /// Whether it is one of numbers, whose arguments are repeated as in NumPy.
    of_numbers: bool,
    arguments: Vec<usize>,
    /// Distributions that it is made of.
    components: Vec<Description>,
    /// A number of variables or dimensions that the distribution itself has.
    size: usize,
    pub(crate) shape: Option<Dims>,
    pub(crate) region: Region,
}

/// Where values of a distribution are, if not everywhere where they could be.
#[derive(Clone, Copy, Default)]
pub(crate) enum Region {
    /// Everywhere.
    #[default]
    Own,
    /// Above one value, below another, or both.
    Bounds { lower: Option<usize>, upper: Option<usize> },
    /// A named support without arguments.
    Named(fn() -> Support<'static>),
}

/// Makes a distribution of arguments, components and a size.
type Make = for<'g> fn(&[Arg<'g>], Vec<Distribution<'g>>, usize, &mut Builder<'g>) -> Distribution<'g>;

/// A description that cannot be made.
pub(crate) enum DescriptionError {
    /// There is no such distribution.
    Unknown,
    /// It takes another number of arguments.
    Arguments(usize),
}

macro_rules! distributions {
    (
        numbers { $($name:ident $count:literal [$($argument:ident),*];)* }
        others { $($other:ident $other_count:literal |$arguments:ident, $components:ident, $size:ident, $m:ident| $make:expr;)* }
    ) => {
        /// Number of arguments, how the distribution is made of them, and whether it is one of numbers.
        fn find(name: &str) -> Option<(usize, Make, bool)> {
            Some(match name {
                $(stringify!($name) => ($count, |arguments, _, _, _| {
                    let &[$($argument),*] = arguments else { unreachable!("arguments were counted") };
                    bayes::$name($($argument),*)
                }, true),)*
                $(stringify!($other) => ($other_count, |$arguments, $components, $size, $m| $make, false),)*
                _ => return None,
            })
        }

        /// Names of all distributions.
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name),)* $(stringify!($other)),*];
    };
}

distributions! {
    numbers {
        flat 0 [];
        normal 2 [a, b];
        cauchy 2 [a, b];
        student_t 3 [a, b, c];
        laplace 2 [a, b];
        logistic 2 [a, b];
        gumbel 2 [a, b];
        skew_normal 3 [a, b, c];
        skew_laplace 3 [a, b, c];
        exp_mod_normal 3 [a, b, c];
        half_normal 1 [a];
        half_cauchy 1 [a];
        lognormal 2 [a, b];
        exponential 1 [a];
        gamma 2 [a, b];
        inv_gamma 2 [a, b];
        weibull 2 [a, b];
        chi_square 1 [a];
        inv_chi_square 1 [a];
        scaled_inv_chi_square 2 [a, b];
        frechet 2 [a, b];
        rayleigh 1 [a];
        log_logistic 2 [a, b];
        pareto 2 [a, b];
        pareto_type_2 3 [a, b, c];
        beta 2 [a, b];
        beta_proportion 2 [a, b];
        uniform 2 [a, b];
        bernoulli 1 [a];
        bernoulli_logit 1 [a];
        binomial 2 [a, b];
        binomial_logit 2 [a, b];
        beta_binomial 3 [a, b, c];
        poisson 1 [a];
        poisson_log 1 [a];
        neg_binomial 2 [a, b];
        neg_binomial_2 2 [a, b];
        neg_binomial_2_log 2 [a, b];
        dirichlet 1 [a];
    }
    others {
        categorical 1 |a, _c, _n, m| bayes::categorical(var(m, a[0]));
        categorical_logit 1 |a, _c, _n, m| bayes::categorical_logit(var(m, a[0]));
        multinomial 1 |a, _c, _n, m| bayes::multinomial(var(m, a[0]));
        ordered_logistic 2 |a, _c, _n, m| bayes::ordered_logistic(a[0], var(m, a[1]));
        ordered_probit 2 |a, _c, _n, m| bayes::ordered_probit(a[0], var(m, a[1]));
        multi_normal 2 |a, _c, _n, m| bayes::multi_normal(a[0], var(m, a[1]));
        multi_normal_cholesky 2 |a, _c, _n, m| bayes::multi_normal_cholesky(a[0], var(m, a[1]));
        multi_normal_prec 2 |a, _c, _n, m| bayes::multi_normal_prec(a[0], var(m, a[1]));
        multi_student_t 3 |a, _c, _n, m| bayes::multi_student_t(a[0], a[1], var(m, a[2]));
        wishart 2 |a, _c, _n, m| bayes::wishart(a[0], var(m, a[1]));
        inv_wishart 2 |a, _c, _n, m| bayes::inv_wishart(a[0], var(m, a[1]));
        lkj_corr 1 |a, _c, n, _m| bayes::lkj_corr(n, a[0]);
        lkj_corr_cholesky 1 |a, _c, n, _m| bayes::lkj_corr_cholesky(n, a[0]);
        mixture 1 |a, c, _n, m| bayes::mixture(var(m, a[0]), c);
        mixture_logit 1 |a, c, _n, m| bayes::mixture_logit(var(m, a[0]), c);
    }
}

impl Description {
    pub(crate) fn new(
        name: &str,
        arguments: Vec<usize>,
        components: Vec<Description>,
        size: usize,
    ) -> Result<Self, DescriptionError> {
        let (count, make, of_numbers) = find(name).ok_or(DescriptionError::Unknown)?;
        if count != arguments.len() {
            return Err(DescriptionError::Arguments(count));
        }
        Ok(Description { make, of_numbers, arguments, components, size, shape: None, region: Region::Own })
    }

    pub(crate) fn operands(&self) -> Vec<usize> {
        let mut all = self.arguments.clone();
        all.extend(self.components.iter().flat_map(Description::operands));
        if let Region::Bounds { lower, upper } = self.region {
            all.extend(lower.into_iter().chain(upper));
        }
        all
    }

    /// Dimensions of its arguments together, where it is a distribution of numbers or a mixture of such.
    pub(crate) fn dims<'g>(&self, value: &dyn Fn(usize) -> Arg<'g>) -> Option<Dims> {
        let parts = self.components.iter().map(|part| part.dims(value));
        let own = self.arguments.iter().map(|place| Some(value(*place).dims()));
        let all: Vec<Option<Dims>> = if self.of_numbers { own.collect() } else { parts.collect() };
        let mut all = all.into_iter();
        let first = all.next().unwrap_or(self.of_numbers.then_some(Dims::SCALAR))?;
        all.try_fold(first, |together, dims| joined(together, dims?))
    }

    /// The distribution, with arguments that are repeated as in NumPy to the dimensions of what it describes.
    pub(crate) fn build<'g>(
        &self,
        m: &mut Builder<'g>,
        value: &dyn Fn(usize) -> Arg<'g>,
        described: Option<Dims>,
    ) -> Distribution<'g> {
        let fits = |dims: Dims| joined(dims, described?).filter(|dims| Some(*dims) == described);
        let all_of_it = |place: &usize| match value(*place) {
            Arg::Var(argument) if self.of_numbers => {
                Arg::Var(fits(argument.dims()).map_or(argument, |dims| repeat(argument, dims)))
            }
            other => other,
        };
        let arguments: Vec<Arg<'g>> = self.arguments.iter().map(all_of_it).collect();
        let components = self.components.iter().map(|part| part.build(m, value, described)).collect();
        let plain = (self.make)(&arguments, components, self.size, m);
        let shaped = match self.shape {
            Some(dims) => plain.shape(dims),
            None => plain,
        };
        match self.region {
            Region::Own => shaped,
            Region::Named(support) => shaped.on(support()),
            Region::Bounds { lower, upper } => match (lower.map(value), upper.map(value)) {
                (Some(low), Some(high)) => shaped.on(Support::Between(low, high)),
                (Some(low), None) => shaped.on(Support::Above(low)),
                (None, Some(high)) => shaped.on(Support::Below(high)),
                (None, None) => shaped,
            },
        }
    }
}
