//! Make covariance matrices of Gaussian processes.

use super::{Entry, Found};
use crate::machine::Machine;
use crate::types::Ty;
use crate::value::Value;

const ONE: &str = "matrix(real[], real, real); matrix(vector[], real, real|real[])";
const TWO: &str = "matrix(real[], real[], real, real); matrix(vector[], vector[], real, real|real[])";

pub(super) const FUNCTIONS: &[Entry] = &[
    ("cov_exp_quad", ONE, |m, a| exp_quad(m, &a[0], &a[0], &a[1], &a[2])),
    ("cov_exp_quad", TWO, |m, a| exp_quad(m, &a[0], &a[1], &a[2], &a[3])),
    ("gp_exp_quad_cov", ONE, |m, a| exp_quad(m, &a[0], &a[0], &a[1], &a[2])),
    ("gp_exp_quad_cov", TWO, |m, a| exp_quad(m, &a[0], &a[1], &a[2], &a[3])),
    ("gp_exponential_cov", ONE, |m, a| matern(m, &a[0], &a[0], &a[1], &a[2], 0)),
    ("gp_exponential_cov", TWO, |m, a| matern(m, &a[0], &a[1], &a[2], &a[3], 0)),
    ("gp_matern32_cov", ONE, |m, a| matern(m, &a[0], &a[0], &a[1], &a[2], 1)),
    ("gp_matern32_cov", TWO, |m, a| matern(m, &a[0], &a[1], &a[2], &a[3], 1)),
    ("gp_matern52_cov", ONE, |m, a| matern(m, &a[0], &a[0], &a[1], &a[2], 2)),
    ("gp_matern52_cov", TWO, |m, a| matern(m, &a[0], &a[1], &a[2], &a[3], 2)),
    ("gp_periodic_cov", "matrix(real[]|vector[], real, real, real)", |m, a| {
        periodic(m, &a[0], &a[0], [&a[1], &a[2], &a[3]])
    }),
    (
        "gp_periodic_cov",
        "matrix(real[], real[], real, real, real); matrix(vector[], vector[], real, real, real)",
        |m, a| periodic(m, &a[0], &a[1], [&a[2], &a[3], &a[4]]),
    ),
    ("gp_dot_prod_cov", "matrix(real[]|vector[], real)", |m, a| dot_prod(m, &a[0], &a[0], &a[1])),
    ("gp_dot_prod_cov", "matrix(real[], real[], real); matrix(vector[], vector[], real)", |m, a| {
        dot_prod(m, &a[0], &a[1], &a[2])
    }),
];

/// Number of points, and their coordinates.
fn points(x: &Value) -> (usize, usize) {
    let count = x.sizes.at(0);
    (count, if x.sizes.rank() > 1 { x.sizes.at(1) } else { 1 })
}

/// `Σ ((xᵢ - yⱼ) / l)²` for all pairs.
fn squares(machine: &mut Machine<'_>, x: &Value, y: &Value, scales: Option<&Value>) -> Found {
    let ((n, dim), (m, other)) = (points(x), points(y));
    if dim != other {
        return Err(format!("points have {dim} and {other} coordinates"));
    }
    machine.keep(n.saturating_mul(m).saturating_mul(dim))?;
    let mut sum: Option<Value> = None;
    for d in 0..dim {
        let a = x.pick(Ty::MATRIX, &[n, m], (0..n * m).map(|at| at / m * dim + d));
        let b = y.pick(Ty::MATRIX, &[n, m], (0..n * m).map(|at| at % m * dim + d));
        let mut difference = machine.sub(&a, &b)?;
        if let Some(scales) = scales {
            let scale = if scales.is_scalar() { scales.clone() } else { scales.slice(Ty::REAL, &[], d) };
            difference = machine.div(&difference, &scale)?;
        }
        let square = machine.map("square", &[&difference])?;
        sum = Some(match sum {
            Some(sum) => machine.add(&sum, &square)?,
            None => square,
        });
    }
    sum.ok_or_else(|| "points need coordinates".into())
}

/// Sets what is on the diagonal, where distances are 0, for points with themselves.
fn with_diagonal(mut whole: Value, n: usize, same: bool, diagonal: &Value) -> Value {
    if same {
        whole.write(&(0..n).map(|i| i * (n + 1)).collect::<Vec<_>>(), diagonal);
    }
    whole
}

fn exp_quad(machine: &mut Machine<'_>, x: &Value, y: &Value, sd: &Value, length: &Value) -> Found {
    check_scales(length, points(x).1)?;
    let variance = machine.map("square", &[sd])?;
    // One length for all is taken out of the sum, so that distances of data stay known.
    let exponent = if length.is_scalar() {
        let squares = squares(machine, x, y, None)?;
        let precision = machine.map("inv_square", &[length])?;
        machine.mul(&squares, &precision)?
    } else {
        squares(machine, x, y, Some(length))?
    };
    let half = machine.scale(&exponent, -0.5)?;
    let correlation = machine.map("exp", &[&half])?;
    machine.mul(&correlation, &variance)
}

fn check_scales(length: &Value, dim: usize) -> Result<(), String> {
    match length.is_scalar() || length.elements() == dim {
        true => Ok(()),
        false => Err(format!("{} length scales were given for {dim} coordinates", length.elements())),
    }
}

/// Matérn covariances of smoothness 1/2, 3/2 and 5/2.
fn matern(machine: &mut Machine<'_>, x: &Value, y: &Value, sd: &Value, length: &Value, order: u8) -> Found {
    check_scales(length, points(x).1)?;
    let same = x.data.same(&y.data);
    let n = points(x).0;
    let variance = machine.map("square", &[sd])?;
    let squares = squares(machine, x, y, Some(length))?;
    // The root has no derivative at 0, so the diagonal is put aside.
    let squares = with_diagonal(squares, n, same, &Value::num(1.0));
    let distance = machine.map("sqrt", &[&squares])?;
    let r = machine.scale(&distance, [1.0, 3f64.sqrt(), 5f64.sqrt()][order as usize])?;
    let minus = machine.scale(&r, -1.0)?;
    let decay = machine.map("exp", &[&minus])?;
    let mut factor = Value::num(1.0);
    if order > 0 {
        factor = machine.add(&r, &factor)?;
    }
    if order == 2 {
        let term = machine.scale(&squares, 5.0 / 3.0)?;
        factor = machine.add(&factor, &term)?;
    }
    let correlation = machine.mul(&decay, &factor)?;
    let whole = machine.mul(&correlation, &variance)?;
    Ok(with_diagonal(whole, n, same, &variance))
}

/// `σ² exp(-2 sin²(π |xᵢ - yⱼ| / p) / l²)`
fn periodic(machine: &mut Machine<'_>, x: &Value, y: &Value, [sd, length, period]: [&Value; 3]) -> Found {
    let (n, m) = (points(x).0, points(y).0);
    let difference = if points(x).1 == 1 {
        let first = x.pick(Ty::MATRIX, &[n, m], (0..n * m).map(|at| at / m));
        let second = y.pick(Ty::MATRIX, &[n, m], (0..n * m).map(|at| at % m));
        machine.sub(&first, &second)?
    } else {
        // The root has no derivative at 0, so the diagonal is put aside.
        let same = x.data.same(&y.data);
        let squares = squares(machine, x, y, None)?;
        let distance = machine.map("sqrt", &[&with_diagonal(squares, n, same, &Value::num(1.0))])?;
        with_diagonal(distance, n, same, &Value::num(0.0))
    };
    let angle = machine.scale(&difference, std::f64::consts::PI)?;
    let angle = machine.div(&angle, period)?;
    let sine = machine.map("sin", &[&angle])?;
    let part = machine.div(&sine, length)?;
    let square = machine.map("square", &[&part])?;
    let exponent = machine.scale(&square, -2.0)?;
    let correlation = machine.map("exp", &[&exponent])?;
    let variance = machine.map("square", &[sd])?;
    machine.mul(&correlation, &variance)
}

/// `σ² + xᵢ·yⱼ`
fn dot_prod(machine: &mut Machine<'_>, x: &Value, y: &Value, sd: &Value) -> Found {
    let as_rows = |value: &Value| {
        let (n, dim) = points(value);
        value.with(Ty::MATRIX, &[n, dim])
    };
    let products = super::matrix::times(machine, &as_rows(x), &super::matrix::transpose(&as_rows(y)))?;
    let variance = machine.map("square", &[sd])?;
    machine.add(&products, &variance)
}
