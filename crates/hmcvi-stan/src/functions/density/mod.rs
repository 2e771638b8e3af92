//! Ask distributions for their log densities and distribution functions, by the names of the language.

mod ask;
mod composed;
mod filter;
mod kernel;
mod table;
mod truncate;

use std::collections::HashMap;
use std::sync::LazyLock;

use hmcvi::bayes::cumulative;

use super::{Found, distance, matrix};
use crate::machine::Machine;
use crate::tape::Part;
use crate::types::{Base, Ty};
use crate::value::Value;
use ask::ask;
use composed::{COMPOSED, Composed};

pub(crate) use ask::of;
pub(crate) use kernel::Kernels;
pub(crate) use table::{DISTRIBUTIONS, Dist, Kind};
pub(crate) use truncate::log_mass;

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

/// Names of all distributions, with their numbers of arguments and what is said of their distribution functions, for
/// the document of the language.
pub(crate) fn listed() -> Vec<(&'static str, usize, &'static str)> {
    let cumulative = |name: &str| if cumulative::is_known(name) { "yes" } else { "" };
    let all = DISTRIBUTIONS.iter().map(|d| (d.name, d.arguments, cumulative(d.name)));
    let regressions = REGRESSIONS.iter().map(|(name, _)| (*name, number_of(name).unwrap_or(3), ""));
    let composed = COMPOSED.iter().map(|d| (d.name, d.arguments, ""));
    all.chain(composed).chain(regressions).collect()
}

pub(crate) fn names() -> Vec<String> {
    let ending = |discrete: bool| if discrete { "_lpmf" } else { "_lpdf" };
    let own = DISTRIBUTIONS.iter().map(|d| format!("{}{}", d.name, ending(d.discrete)));
    own.chain(COMPOSED.iter().map(|d| format!("{}{}", d.name, ending(d.discrete)))).collect()
}

/// Names of all distributions.
pub(crate) fn distribution_names() -> impl Iterator<Item = &'static str> {
    let named = DISTRIBUTIONS.iter().map(|d| d.name).chain(COMPOSED.iter().map(|d| d.name));
    named.chain(REGRESSIONS.iter().map(|(name, _)| *name))
}

fn find(name: &str) -> Option<u16> {
    static PLACES: LazyLock<HashMap<&'static str, u16>> =
        LazyLock::new(|| DISTRIBUTIONS.iter().zip(0..).map(|(d, i)| (d.name, i)).collect());
    PLACES.get(name).copied()
}

fn number_of(name: &str) -> Option<usize> {
    if let Some((_, base)) = REGRESSIONS.iter().find(|(own, _)| *own == name) {
        return number_of(base).map(|n| if *base == "ordered_logistic" { n + 1 } else { n + 2 });
    }
    let own = find(name).map(|id| DISTRIBUTIONS[id as usize].arguments);
    own.or_else(|| composed(name).map(|d| d.arguments))
}

fn composed(name: &str) -> Option<&'static Composed> {
    COMPOSED.iter().find(|d| d.name == name)
}

/// The distribution that a function asks, and what for. Where two readings are possible, the first ending counts.
fn parts(name: &str) -> Option<(&'static str, Wanted)> {
    static PARTS: LazyLock<HashMap<String, (&'static str, Wanted)>> = LazyLock::new(|| {
        let mut all = HashMap::new();
        for (ending, wanted) in ENDINGS {
            for base in distribution_names() {
                all.entry(format!("{base}{ending}")).or_insert((base, wanted));
            }
        }
        for dist in DISTRIBUTIONS {
            all.entry(format!("{}_cdf", dist.name)).or_insert((dist.name, Wanted::Cdf));
        }
        all
    });
    PARTS.get(name).copied()
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
        let close = distribution_names().min_by_key(|known| distance(name, known));
        let instead = close.filter(|known| distance(name, known) <= 3);
        let instead = instead.map_or(String::new(), |known| format!("; did you mean `{known}`?"));
        return Err(format!("there is no distribution `{name}`{instead}"));
    };
    if types.len() != number + 1 {
        return Err(format!(
            "`{name}` has {number} arguments besides its value, not {}",
            types.len().saturating_sub(1)
        ));
    }
    let discrete = find(name).map(|id| DISTRIBUTIONS[id as usize].discrete);
    let discrete = discrete.or_else(|| composed(name).map(|d| d.discrete)).unwrap_or(false);
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
    if let Some(own) = composed(name) {
        return (own.run)(machine, all, constants);
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
