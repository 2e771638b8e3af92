//! Make one number of many: sums, products, moments, extremes.

use super::{Entry, Found};
use crate::machine::Machine;
use crate::tape::Op;
use crate::types::Ty;
use crate::value::Value;

const NUMBERS: &str = "real(vector|row_vector|matrix|real[])";

pub(super) const FUNCTIONS: &[Entry] = &[
    ("sum", "int(int[])", |m, a| Ok(m.sum(&a[0])?.typed(Ty::INT))),
    ("sum", "real(vector|row_vector|matrix|real[]|real)", |m, a| m.sum(&a[0])),
    ("prod", "int(int[])", |m, a| Ok(product(m, &a[0])?.typed(Ty::INT))),
    ("prod", NUMBERS, |m, a| product(m, &a[0])),
    ("mean", NUMBERS, |m, a| mean(m, &a[0])),
    ("variance", NUMBERS, |m, a| variance(m, &a[0])),
    ("sd", NUMBERS, |m, a| {
        let variance = variance(m, &a[0])?;
        m.map("sqrt", &[&variance])
    }),
    ("log_sum_exp", NUMBERS, |m, a| {
        if a[0].elements() == 0 {
            return Ok(Value::num(f64::NEG_INFINITY));
        }
        m.reduce(Op::LogSumExp, &a[0])
    }),
    ("log_sum_exp", "real(real, real)", |m, a| m.map("log_sum_exp_of_two", &[&a[0], &a[1]])),
    ("log_sum_exp", "1(vector|row_vector|matrix|real[], vector|row_vector|matrix|real[]|real)", |m, a| {
        m.map("log_sum_exp_of_two", &[&a[0], &a[1]])
    }),
    ("log_sum_exp", "2(real, vector|row_vector|matrix|real[])", |m, a| {
        m.map("log_sum_exp_of_two", &[&a[0], &a[1]])
    }),
    ("max", "int(int[])", |m, a| Ok(extreme(m, "fmax", &a[0])?.typed(Ty::INT))),
    ("max", NUMBERS, |m, a| extreme(m, "fmax", &a[0])),
    ("min", "int(int[])", |m, a| Ok(extreme(m, "fmin", &a[0])?.typed(Ty::INT))),
    ("min", NUMBERS, |m, a| extreme(m, "fmin", &a[0])),
    ("max", "int(int, int)", |m, a| Ok(m.map("fmax", &[&a[0], &a[1]])?.typed(Ty::INT))),
    ("min", "int(int, int)", |m, a| Ok(m.map("fmin", &[&a[0], &a[1]])?.typed(Ty::INT))),
    ("norm2", "real(vector|row_vector|real[])", |m, a| {
        let square = dot(m, &a[0], &a[0])?;
        m.map("sqrt", &[&square])
    }),
    ("norm1", "real(vector|row_vector|real[])", |m, a| {
        let abs = m.map("abs", &[&a[0]])?;
        m.sum(&abs)
    }),
    ("dot_product", "real(vector|row_vector|real[], vector|row_vector|real[])", |m, a| dot(m, &a[0], &a[1])),
    ("dot_self", "real(vector|row_vector)", |m, a| dot(m, &a[0], &a[0])),
    ("distance", "real(vector|row_vector, vector|row_vector)", |m, a| {
        let square = squared_distance(m, &a[0], &a[1])?;
        m.map("sqrt", &[&square])
    }),
    ("squared_distance", "real(vector|row_vector|real, vector|row_vector|real)", |m, a| {
        squared_distance(m, &a[0], &a[1])
    }),
    ("trace", "real(matrix)", |m, a| {
        let diagonal = super::matrix::diagonal(&a[0]);
        m.sum(&diagonal)
    }),
    ("quantile", "real(real[]|vector|row_vector, real)", |_, a| quantile(&a[0], &a[1])),
    ("quantile", "real[](real[]|vector|row_vector, real[])", |_, a| {
        let n = a[1].elements();
        let each = |i: usize| quantile(&a[0], &a[1].slice(Ty::REAL, &[], i));
        let all = (0..n).map(each).collect::<Result<Vec<_>, _>>()?;
        Ok(crate::machine::joined(Ty::REAL.array(1), &[n], &all))
    }),
    ("log_mix", "real(vector|row_vector|real[], vector|row_vector|real[])", |m, a| {
        let logs = m.map("log", &[&a[0]])?;
        mixed(m, &logs, &a[1])
    }),
    ("log_mix", "real(vector|row_vector|real[], vector[]|row_vector[]|real[,])", |m, a| {
        let logs = m.map("log", &[&a[0]])?;
        let (count, size) = (a[1].sizes.at(0), a[0].elements());
        if a[1].elements() != count * size {
            return Err(format!("`log_mix` of {size} parts takes arrays of as many, not {}", a[1].sizes));
        }
        let each = |i: usize| mixed(m, &logs, &a[1].slice(Ty::VECTOR, &[size], i * size));
        let all = (0..count).map(each).collect::<Result<Vec<_>, _>>()?;
        m.sum(&crate::machine::joined(Ty::VECTOR, &[count], &all))
    }),
];

/// The log density of a mixture, from logarithms of its parts and their log densities.
fn mixed(machine: &mut Machine<'_>, logs: &Value, densities: &Value) -> Found {
    let sum = machine.add(&as_vector(logs), &as_vector(densities))?;
    machine.reduce(Op::LogSumExp, &sum)
}

pub(super) fn as_vector(value: &Value) -> Value {
    value.with(Ty::VECTOR, &[value.elements()])
}

/// The log density so far.
pub(super) fn sum_all(machine: &mut Machine<'_>) -> Found {
    let parts = machine.target.clone();
    let mut sums = Vec::with_capacity(parts.len());
    for part in &parts {
        sums.push(machine.sum(part)?);
    }
    let cells = sums.iter().map(|sum| sum.cell(0)).collect();
    machine.sum(&Value::of_cells(Ty::VECTOR, &[sums.len()], cells))
}

/// Element by element in halves, so that few operations depend on each other.
fn halves(machine: &mut Machine<'_>, name: &str, value: &Value) -> Found {
    let mut rest = as_vector(value);
    while rest.elements() > 1 {
        let half = rest.elements() / 2;
        let low = rest.slice(Ty::VECTOR, &[half], 0);
        let high = rest.slice(Ty::VECTOR, &[half], half);
        let mut next = machine.map(name, &[&low, &high])?.cells();
        if rest.elements() % 2 == 1 {
            next.push(rest.cell(rest.elements() - 1));
        }
        rest = Value::of_cells(Ty::VECTOR, &[next.len()], next);
    }
    Ok(rest.slice(Ty::REAL, &[], 0))
}

fn product(machine: &mut Machine<'_>, value: &Value) -> Found {
    match value.known() {
        Some(values) => Ok(Value::num(values.iter().product())),
        None => halves(machine, "elt_multiply", value),
    }
}

fn extreme(machine: &mut Machine<'_>, name: &str, value: &Value) -> Found {
    if value.elements() == 0 {
        return match value.ty.base {
            crate::types::Base::Int => Err("there are no elements".into()),
            _ => Ok(Value::num(if name == "fmax" { f64::NEG_INFINITY } else { f64::INFINITY })),
        };
    }
    match value.known() {
        Some(values) if name == "fmax" => {
            Ok(Value::num(values.iter().copied().fold(f64::NEG_INFINITY, f64::max)))
        }
        Some(values) => Ok(Value::num(values.iter().copied().fold(f64::INFINITY, f64::min))),
        None => halves(machine, name, value),
    }
}

pub(super) fn mean(machine: &mut Machine<'_>, value: &Value) -> Found {
    if value.elements() == 0 {
        return Err("the mean of no elements has no meaning".into());
    }
    let sum = machine.sum(value)?;
    machine.scale(&sum, 1.0 / value.elements() as f64)
}

fn variance(machine: &mut Machine<'_>, value: &Value) -> Found {
    match value.elements() {
        0 => return Err("the variance of no elements has no meaning".into()),
        1 => return Ok(Value::num(0.0)),
        _ => {}
    }
    let mean = mean(machine, value)?;
    let d = machine.sub(value, &mean)?;
    let square = machine.map("square", &[&d])?;
    let sum = machine.sum(&square)?;
    machine.scale(&sum, 1.0 / (value.elements() - 1) as f64)
}

pub(super) fn dot(machine: &mut Machine<'_>, a: &Value, b: &Value) -> Found {
    let n = a.elements();
    if b.elements() != n {
        return Err(format!("products need equal sizes, not {} and {}", a.sizes, b.sizes));
    }
    machine.product_as(a, b, [1, n, 1], Ty::REAL)
}

fn squared_distance(machine: &mut Machine<'_>, a: &Value, b: &Value) -> Found {
    let (a, b) = (as_vector(a), as_vector(b));
    let d = machine.sub(&a, &b)?;
    let square = machine.map("square", &[&d])?;
    machine.sum(&square)
}

/// By the rule 7 of R, as Stan has it.
fn quantile(x: &Value, p: &Value) -> Found {
    let (Some(x), Some(p)) = (x.known(), p.number()) else {
        return Err("`quantile` of a parameter is not supported".into());
    };
    let mut x = x.into_owned();
    if x.is_empty() || !(0.0..=1.0).contains(&p) {
        return Err("`quantile` needs elements, and a probability from 0 to 1".into());
    }
    x.sort_by(f64::total_cmp);
    let place = p * (x.len() - 1) as f64;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    Ok(Value::num(x[low] + (place - place.floor()) * (x[high] - x[low])))
}
