//! List distributions, and ask for their log densities and distribution functions.

use hmcvi::bayes::{self, Dims, Distribution, Var, cumulative};
use hmcvi_graph::{CpuOptions, Graph, Run, Shape, Store};

use super::{Found, matrix};
use crate::machine::Machine;
use crate::tape::{Op, Part};
use crate::types::{Base, Ty};
use crate::value::{Sizes, Value};

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

/// Endings of functions, and what they ask for.
const ENDINGS: [(&str, Wanted); 9] = [
    ("_lpdf", Wanted::Log { constants: true }),
    ("_lpmf", Wanted::Log { constants: true }),
    ("_lupdf", Wanted::Log { constants: false }),
    ("_lupmf", Wanted::Log { constants: false }),
    ("_lccdf", Wanted::LogCcdf),
    ("_lcdf", Wanted::LogCdf),
    ("_ccdf_log", Wanted::LogCcdf),
    ("_cdf_log", Wanted::LogCdf),
    ("_log", Wanted::Log { constants: true }),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Log { constants: bool },
    LogCdf,
    LogCcdf,
    Cdf,
}

/// Regressions: the distribution, and where the other arguments of it come from.
const REGRESSIONS: [(&str, &str); 5] = [
    ("normal_id_glm", "normal"),
    ("bernoulli_logit_glm", "bernoulli_logit"),
    ("poisson_log_glm", "poisson_log"),
    ("neg_binomial_2_log_glm", "neg_binomial_2_log"),
    ("ordered_logistic_glm", "ordered_logistic"),
];

/// Names of all distributions, with their numbers of arguments, for the document of the language.
pub(crate) fn listed() -> Vec<(&'static str, usize, bool)> {
    let all = DISTRIBUTIONS.iter().map(|d| (d.name, d.arguments, cumulative::is_known(d.name)));
    let regressions = REGRESSIONS.iter().map(|(name, base)| (*name, number_of(base).unwrap_or(1) + 2, false));
    all.chain(regressions).collect()
}

pub(crate) fn names() -> Vec<String> {
    let ending = |d: &Dist| if d.discrete { "_lpmf" } else { "_lpdf" };
    DISTRIBUTIONS.iter().map(|d| format!("{}{}", d.name, ending(d))).collect()
}

/// Names of all distributions.
pub(crate) fn distribution_names() -> impl Iterator<Item = &'static str> {
    DISTRIBUTIONS.iter().map(|d| d.name).chain(REGRESSIONS.iter().map(|(name, _)| *name))
}

fn find(name: &str) -> Option<u16> {
    DISTRIBUTIONS.iter().position(|d| d.name == name).map(|i| i as u16)
}

fn number_of(name: &str) -> Option<usize> {
    if let Some((_, base)) = REGRESSIONS.iter().find(|(own, _)| *own == name) {
        return number_of(base).map(|n| n + 2);
    }
    find(name).map(|id| DISTRIBUTIONS[id as usize].arguments)
}

fn parts(name: &str) -> Option<(&str, Wanted)> {
    let own = |(ending, wanted): &(&str, Wanted)| {
        let base = name.strip_suffix(ending)?;
        number_of(base).map(|_| (base, *wanted))
    };
    let cdf =
        || name.strip_suffix("_cdf").filter(|base| find(base).is_some()).map(|base| (base, Wanted::Cdf));
    ENDINGS.iter().find_map(own).map(|(base, wanted)| (&name[..base.len()], wanted)).or_else(cdf)
}

/// Whether a name is that of a density or of a distribution function.
pub(crate) fn is_one(name: &str) -> bool {
    parts(name).is_some()
}

/// The type of a call, or what is wrong with it; nothing where the name is of something else.
pub(super) fn result_type(name: &str, types: &[Ty]) -> Result<Option<Ty>, String> {
    let Some((base, _)) = parts(name) else { return Ok(None) };
    check_types(base, types)?;
    Ok(Some(Ty::REAL))
}

/// Whether a distribution can be asked about values of these types, the first of which is its own.
pub(crate) fn check_types(name: &str, types: &[Ty]) -> Result<(), String> {
    let Some(number) = number_of(name) else {
        let close = distribution_names().min_by_key(|known| super::distance(name, known));
        let instead = close.filter(|known| super::distance(name, known) <= 3);
        let instead = instead.map_or(String::new(), |known| format!("; did you mean `{known}`?"));
        return Err(format!("there is no distribution `{name}`{instead}"));
    };
    if types.len() != number + 1 {
        return Err(format!(
            "`{name}` has {number} arguments besides its value, not {}",
            types.len().saturating_sub(1)
        ));
    }
    let discrete = find(name).is_some_and(|id| DISTRIBUTIONS[id as usize].discrete);
    if discrete && types[0].base != Base::Int {
        return Err(format!("`{name}` describes integers, not {}", types[0]));
    }
    Ok(())
}

/// A function of the language that asks for a density or a distribution function.
pub(super) fn call(machine: &mut Machine<'_>, name: &str, arguments: &[Value]) -> Found {
    let Some((base, wanted)) = parts(name) else { return Err(format!("there is no function `{name}`")) };
    match wanted {
        Wanted::Log { constants } => log_density(machine, base, arguments, constants || machine.constants),
        Wanted::LogCdf => cumulate(machine, base, arguments, Part::LogCdf),
        Wanted::LogCcdf => cumulate(machine, base, arguments, Part::LogCcdf),
        Wanted::Cdf => {
            let log = cumulate(machine, base, arguments, Part::LogCdf)?;
            machine.map("exp", &[&log])
        }
    }
}

/// The sum of log densities of the first value, given the others.
pub(crate) fn log_density(machine: &mut Machine<'_>, name: &str, all: &[Value], constants: bool) -> Found {
    let types: Vec<Ty> = all.iter().map(|value| value.ty).collect();
    check_types(name, &types)?;
    if let Some((_, base)) = REGRESSIONS.iter().find(|(own, _)| *own == name) {
        return regression(machine, base, all, constants);
    }
    ask(machine, name, all, Part::Density { constants })
}

/// A distribution of what a linear function of columns says.
fn regression(machine: &mut Machine<'_>, base: &str, all: &[Value], constants: bool) -> Found {
    let (y, x) = (&all[0], &all[1]);
    // Cut points stand where other regressions have their coefficients.
    let linear = if base == "ordered_logistic" {
        matrix::times(machine, x, &all[2])?
    } else {
        let product = matrix::times(machine, x, &all[3])?;
        machine.add(&product, &all[2])?
    };
    let rest = if base == "ordered_logistic" { &all[3..] } else { &all[4..] };
    let y = if y.is_scalar() {
        y.pick(Ty { base: y.ty.base, arrays: 1 }, &[linear.elements()], (0..linear.elements()).map(|_| 0))
    } else {
        y.clone()
    };
    let mut arguments = vec![y, linear];
    arguments.extend(rest.iter().cloned());
    ask(machine, base, &arguments, Part::Density { constants })
}

fn cumulate(machine: &mut Machine<'_>, name: &str, all: &[Value], part: Part) -> Found {
    match cumulative::is_known(name) {
        true => ask(machine, name, all, part),
        false => Err(format!("the distribution function of `{name}` is not supported")),
    }
}

fn ask(machine: &mut Machine<'_>, name: &str, all: &[Value], part: Part) -> Found {
    let id = find(name).ok_or_else(|| format!("there is no distribution `{name}`"))?;
    let dist = &DISTRIBUTIONS[id as usize];
    let known = all.iter().all(Value::is_known);
    if known && part == (Part::Density { constants: false }) {
        // Nothing depends on a parameter.
        return Ok(Value::num(0.0));
    }
    if dist.kind == Kind::Numbers {
        let length = common_length(name, all)?;
        if length == 0 {
            return Ok(Value::num(0.0));
        }
    } else if all[0].elements() == 0 {
        return Ok(Value::num(0.0));
    }
    let sizes: Vec<Sizes> = match dist.kind {
        Kind::Numbers => Vec::new(),
        Kind::Together { .. } => all.iter().map(|value| value.sizes).collect(),
    };
    if known {
        return eval_known(dist, part, all).map(Value::num);
    }
    let sizes = machine.tape.sizes_of(sizes);
    let arguments: Vec<&Value> = all.iter().collect();
    let data = machine.record(Op::Density { id, part, sizes }, &arguments, 1)?;
    Ok(Value { ty: Ty::REAL, sizes: Sizes::SCALAR, data })
}

/// Elements that are described together: those of the arguments that are no numbers.
fn common_length(name: &str, all: &[Value]) -> Result<usize, String> {
    let mut length = None;
    for value in all.iter().filter(|value| !value.is_scalar()) {
        match length {
            None => length = Some(value.elements()),
            Some(known) if known == value.elements() => {}
            Some(known) => {
                return Err(format!(
                    "the arguments of `{name}` have {known} and {} elements",
                    value.elements()
                ));
            }
        }
    }
    Ok(length.unwrap_or(1))
}

/// What is asked of a distribution, for each element or part.
pub(crate) fn of<'g>(dist: &Dist, part: Part, x: Var<'g>, arguments: &[Var<'g>]) -> Var<'g> {
    match part {
        Part::Density { .. } => (dist.make)(x, arguments).log_prob(x),
        Part::LogCdf => cumulative::log_cdf(dist.name, x, arguments),
        Part::LogCcdf => cumulative::log_ccdf(dist.name, x, arguments),
    }
}

/// The value where everything is known, by the same formulas.
fn eval_known(dist: &Dist, part: Part, all: &[Value]) -> Result<f64, String> {
    let graph = Graph::new();
    let known: Vec<_> = all.iter().filter_map(Value::known).collect();
    let value = match dist.kind {
        Kind::Numbers => {
            let length = known.iter().map(|values| values.len()).max().unwrap_or(1);
            let mut sum = 0.0;
            for i in 0..length {
                let number = |values: &std::borrow::Cow<'_, [f64]>| {
                    Var::from_expr(
                        graph.constant(values[if values.len() == 1 { 0 } else { i }]),
                        Dims::SCALAR,
                    )
                };
                let vars: Vec<Var<'_>> = known.iter().map(number).collect();
                let found = of(dist, part, vars[0], &vars[1..]);
                if let Some(problem) = graph.take_problem() {
                    return Err(problem);
                }
                sum += match found.expr().known() {
                    Some(values) => values[0],
                    None => run(found)?,
                };
            }
            sum
        }
        Kind::Together { .. } => {
            let var = |(value, known): (&Value, &std::borrow::Cow<'_, [f64]>)| {
                let dims = Dims::new(&value.sizes.to_vec()).ok_or("there are too many dimensions")?;
                let row = if known.len() == 1 {
                    graph.constant(known[0])
                } else {
                    graph.constant_matrix(1, known.len(), known)
                };
                Ok(Var::from_expr(row, dims))
            };
            let vars = all.iter().zip(&known).map(var).collect::<Result<Vec<_>, String>>()?;
            let found = of(dist, part, vars[0], &vars[1..]);
            run(found.sum())?
        }
    };
    match graph.take_problem() {
        Some(problem) => Err(problem),
        None => Ok(value),
    }
}

/// Computes an expression of known numbers.
fn run(value: Var<'_>) -> Result<f64, String> {
    let wrong = |e: &dyn std::fmt::Display| e.to_string();
    let output = value.expr().broadcast_to(Shape::batch(1));
    let program = value.graph().program().output("value", output).compile().map_err(|e| wrong(&e))?;
    let mut executable = program.on_cpu::<f64>(CpuOptions::for_rows(1));
    executable.evaluate(&Store::new(), &Run { rows: 1, ..Run::default() }).map_err(|e| wrong(&e))?;
    Ok(executable.output("value").and_then(|values| values.first().copied()).unwrap_or(f64::NAN))
}

/// The logarithm of what a distribution gives between two bounds, once for each element of the first value.
pub(crate) fn log_mass(
    machine: &mut Machine<'_>,
    name: &str,
    all: &[Value],
    low: Option<&Value>,
    high: Option<&Value>,
) -> Found {
    let discrete = find(name).is_some_and(|id| DISTRIBUTIONS[id as usize].discrete);
    let low = match low {
        Some(low) if discrete => Some(machine.sub(low, &Value::num(1.0))?),
        other => other.cloned(),
    };
    let outside = |x: f64| {
        low.as_ref().and_then(Value::number).is_some_and(|low| x < low)
            || high.and_then(Value::number).is_some_and(|high| x > high)
    };
    if all[0].known().is_some_and(|values| values.iter().copied().any(outside)) {
        return Err("a value lies outside of the bounds of the truncation".into());
    }
    let at = |bound: &Value| [std::slice::from_ref(bound), &all[1..]].concat();
    let mass = match (&low, high) {
        (None, None) => return Ok(Value::num(0.0)),
        (Some(low), None) => cumulate(machine, name, &at(low), Part::LogCcdf)?,
        (None, Some(high)) => cumulate(machine, name, &at(high), Part::LogCdf)?,
        (Some(low), Some(high)) => {
            let upper = cumulate(machine, name, &at(high), Part::LogCdf)?;
            let lower = cumulate(machine, name, &at(low), Part::LogCdf)?;
            machine.map("log_diff_exp", &[&upper, &lower])?
        }
    };
    let scalars = all[1..].iter().all(Value::is_scalar);
    match (scalars, all[0].elements()) {
        (true, n) if n != 1 => machine.scale(&mass, n as f64),
        (false, n) if n > 1 && high.is_some() && low.is_some() => {
            Err("a truncation on both sides needs numbers as arguments; write a loop".into())
        }
        _ => Ok(mass),
    }
}
