//! Take the logarithm of what a distribution gives between two bounds.

use super::table::DISTRIBUTIONS;
use super::{cumulate, find};
use crate::functions::Found;
use crate::machine::Machine;
use crate::tape::Part;
use crate::types::{Base, Ty};
use crate::value::Value;

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
    between(machine, name, all, low.as_ref(), high)
}

/// The same with a lower bound that is left out.
fn between(
    machine: &mut Machine<'_>,
    name: &str,
    all: &[Value],
    low: Option<&Value>,
    high: Option<&Value>,
) -> Found {
    let outside = |x: f64| {
        low.and_then(Value::number).is_some_and(|low| x < low)
            || high.and_then(Value::number).is_some_and(|high| x > high)
    };
    if all[0].known().is_some_and(|values| values.iter().copied().any(outside)) {
        return Err("a value lies outside of the bounds of the truncation".into());
    }
    let length = all.iter().map(Value::elements).max().unwrap_or(1);
    if low.is_some() && high.is_some() && length > 1 && !all[1..].iter().all(Value::is_scalar) {
        return each(machine, name, all, low, high);
    }
    let at = |bound: &Value| [std::slice::from_ref(bound), &all[1..]].concat();
    let mass = match (low, high) {
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
        _ => Ok(mass),
    }
}

/// Element by element, where arguments differ.
fn each(
    machine: &mut Machine<'_>,
    name: &str,
    all: &[Value],
    low: Option<&Value>,
    high: Option<&Value>,
) -> Found {
    let length = all.iter().map(Value::elements).max().unwrap_or(1);
    let mut sum = Vec::with_capacity(length);
    for i in 0..length {
        let one = |value: &Value| match value.is_scalar() {
            true => value.clone(),
            false => value.pick(Ty { arrays: 0, base: scalar(value.ty.base) }, &[], std::iter::once(i)),
        };
        let own: Vec<Value> = all.iter().map(one).collect();
        sum.push(between(machine, name, &own, low, high)?);
    }
    let all = crate::machine::joined(Ty::VECTOR, &[length], &sum);
    machine.sum(&all)
}

fn scalar(base: Base) -> Base {
    if base == Base::Int { Base::Int } else { Base::Real }
}
