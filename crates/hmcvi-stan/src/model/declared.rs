//! Find the sizes of declared variables, and check values against what was declared.

use crate::ast::{Constraint, Declared, Special};
use crate::error::{Problem, Result};
use crate::machine::{Frame, Machine};
use crate::value::Value;

/// Sizes of a declared variable, which are known from the data.
pub(crate) fn sizes(machine: &mut Machine<'_>, declared: &Declared, frame: &mut Frame) -> Result<Vec<usize>> {
    let mut all = Vec::with_capacity(declared.sizes.len());
    for e in &declared.sizes {
        let value = machine.eval(e, frame)?;
        match value.number() {
            Some(x) if (0.0..1e9).contains(&x) => all.push(x as usize),
            Some(x) => {
                return Err(Problem::at(
                    e.span,
                    format!("{x} is no size; expected an integer of at least 0"),
                ));
            }
            None => {
                return Err(Problem::at(
                    e.span,
                    "this size depends on a parameter; sizes are known from the data",
                ));
            }
        }
    }
    // Complex numbers have two parts.
    if declared.ty.is_complex() {
        all.push(2);
    }
    Ok(all)
}

/// How far sums of data may be from what they should be.
const ROUNDING: f64 = 1e-8;

/// Checks a known value of a declared variable; what depends on parameters is not checked.
pub(crate) fn check(
    machine: &mut Machine<'_>,
    name: &str,
    declared: &Declared,
    value: &Value,
    frame: &mut Frame,
) -> Result<()> {
    let Some(known) = value.known() else { return Ok(()) };
    let known = known.into_owned();
    match &declared.constraint {
        Constraint::Bounds { lower, upper } => {
            for (bound, above, sign) in [(lower, false, "at least"), (upper, true, "at most")] {
                let Some(e) = bound else { continue };
                let limit = machine.eval(e, frame)?;
                let Some(limits) = limit.known() else { continue };
                for (i, x) in known.iter().enumerate() {
                    let limit = limits[if limits.len() == 1 { 0 } else { i.min(limits.len() - 1) }];
                    let inside = if above { *x <= limit } else { *x >= limit };
                    if !inside {
                        let place =
                            if known.len() == 1 { String::new() } else { format!(" at element {}", i + 1) };
                        let message = format!("`{name}` is {x}{place}, and must be {sign} {limit}");
                        return Err(Problem::at(e.span, message));
                    }
                }
            }
            Ok(())
        }
        Constraint::Named(special) => {
            let size = value.sizes.to_vec().last().copied().unwrap_or(1).max(1);
            let length = if declared.ty.base.rank() == 2 { size * size } else { size };
            match known.chunks(length.max(1)).all(|part| holds(*special, part, size)) {
                true => Ok(()),
                false => Err(Problem::from(format!("`{name}` does not have its declared type"))),
            }
        }
        _ => Ok(()),
    }
}

fn holds(special: Special, part: &[f64], size: usize) -> bool {
    let ascends = || part.windows(2).all(|pair| pair[0] < pair[1]);
    match special {
        Special::Simplex => {
            part.iter().all(|x| *x >= 0.0) && (part.iter().sum::<f64>() - 1.0).abs() < ROUNDING
        }
        Special::SumToZero => part.iter().sum::<f64>().abs() < ROUNDING,
        Special::UnitVector => (part.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < ROUNDING,
        Special::Ordered => ascends(),
        Special::PositiveOrdered => part.first().is_none_or(|x| *x >= 0.0) && ascends(),
        Special::CovMatrix | Special::CorrMatrix => {
            part.len() != size * size || crate::functions::known::cholesky(part, size).is_some()
        }
        Special::CholeskyFactorCov | Special::CholeskyFactorCorr => part.iter().all(|x| x.is_finite()),
    }
}
