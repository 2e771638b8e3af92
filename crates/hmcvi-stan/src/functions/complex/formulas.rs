//! Compute functions of complex numbers by their two parts.

use super::Pair;
use crate::ast::BinaryOp;
use crate::functions::Found;
use crate::machine::Machine;
use crate::value::Value;

pub(super) fn product(m: &mut Machine<'_>, op: BinaryOp, a: &Pair, b: &Pair) -> Result<Pair, String> {
    let (xx, yy) = (m.binary(op, &a.0, &b.0)?, m.binary(op, &a.1, &b.1)?);
    let (xy, yx) = (m.binary(op, &a.0, &b.1)?, m.binary(op, &a.1, &b.0)?);
    Ok((m.sub(&xx, &yy)?, m.add(&xy, &yx)?))
}

pub(super) fn times(m: &mut Machine<'_>, a: &Pair, b: &Pair) -> Result<Pair, String> {
    product(m, BinaryOp::TimesEach, a, b)
}

fn by_number(m: &mut Machine<'_>, z: &Pair, number: f64) -> Result<Pair, String> {
    Ok((m.scale(&z.0, number)?, m.scale(&z.1, number)?))
}

pub(super) fn norm(m: &mut Machine<'_>, z: &Pair) -> Found {
    let (x, y) = (m.map("square", &[&z.0])?, m.map("square", &[&z.1])?);
    m.add(&x, &y)
}

pub(super) fn exp(m: &mut Machine<'_>, z: &Pair) -> Result<Pair, String> {
    let size = m.map("exp", &[&z.0])?;
    let (c, s) = (m.map("cos", &[&z.1])?, m.map("sin", &[&z.1])?);
    Ok((m.mul(&size, &c)?, m.mul(&size, &s)?))
}

pub(super) fn log(m: &mut Machine<'_>, z: &Pair) -> Result<Pair, String> {
    let size = m.map("hypot", &[&z.0, &z.1])?;
    Ok((m.map("log", &[&size])?, m.map("atan2", &[&z.1, &z.0])?))
}

pub(super) fn log10(m: &mut Machine<'_>, z: &Pair) -> Result<Pair, String> {
    let log = log(m, z)?;
    by_number(m, &log, std::f64::consts::LOG10_E)
}

pub(super) fn cos(m: &mut Machine<'_>, z: &Pair) -> Result<Pair, String> {
    let turned = turn(m, z)?;
    waves(m, &turned, ["cosh", "cos", "sinh", "sin"])
}

pub(super) fn sqrt(m: &mut Machine<'_>, z: &Pair) -> Result<Pair, String> {
    let size = m.map("hypot", &[&z.0, &z.1])?;
    let root = m.map("sqrt", &[&size])?;
    let angle = m.map("atan2", &[&z.1, &z.0])?;
    let half = m.scale(&angle, 0.5)?;
    let (c, s) = (m.map("cos", &[&half])?, m.map("sin", &[&half])?);
    Ok((m.mul(&root, &c)?, m.mul(&root, &s)?))
}

/// `a(x) b(y) + i c(x) d(y)`
pub(super) fn waves(m: &mut Machine<'_>, z: &Pair, [a, b, c, d]: [&str; 4]) -> Result<Pair, String> {
    let (a, b) = (m.map(a, &[&z.0])?, m.map(b, &[&z.1])?);
    let (c, d) = (m.map(c, &[&z.0])?, m.map(d, &[&z.1])?);
    Ok((m.mul(&a, &b)?, m.mul(&c, &d)?))
}

/// `i z`
fn turn(m: &mut Machine<'_>, z: &Pair) -> Result<Pair, String> {
    Ok((m.scale(&z.1, -1.0)?, z.0.clone()))
}

/// `-i f(i z)`, which makes circular functions of hyperbolic ones.
pub(super) fn turned(
    m: &mut Machine<'_>,
    z: &Pair,
    f: fn(&mut Machine<'_>, &Pair) -> Result<Pair, String>,
) -> Result<Pair, String> {
    let own = turn(m, z)?;
    let (x, y) = f(m, &own)?;
    Ok((y, m.scale(&x, -1.0)?))
}

pub(super) fn tanh(m: &mut Machine<'_>, z: &Pair) -> Result<Pair, String> {
    let above = waves(m, z, ["sinh", "cos", "cosh", "sin"])?;
    let below = waves(m, z, ["cosh", "cos", "sinh", "sin"])?;
    let turned = (below.0.clone(), m.scale(&below.1, -1.0)?);
    let (product, size) = (times(m, &above, &turned)?, norm(m, &below)?);
    Ok((m.div(&product.0, &size)?, m.div(&product.1, &size)?))
}

/// `log(z + √(z² + 1))`
pub(super) fn asinh(m: &mut Machine<'_>, z: &Pair) -> Result<Pair, String> {
    let square = times(m, z, z)?;
    let more = (m.add(&square.0, &Value::num(1.0))?, square.1);
    let root = sqrt(m, &more)?;
    let sum = (m.add(&z.0, &root.0)?, m.add(&z.1, &root.1)?);
    log(m, &sum)
}

/// `½ (log(1 + z) - log(1 - z))`
pub(super) fn atanh(m: &mut Machine<'_>, z: &Pair) -> Result<Pair, String> {
    let one = Value::num(1.0);
    let up = (m.add(&z.0, &one)?, z.1.clone());
    let down = (m.sub(&one, &z.0)?, m.scale(&z.1, -1.0)?);
    let (up, down) = (log(m, &up)?, log(m, &down)?);
    let difference = (m.sub(&up.0, &down.0)?, m.sub(&up.1, &down.1)?);
    by_number(m, &difference, 0.5)
}
