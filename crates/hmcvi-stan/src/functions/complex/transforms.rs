//! Transform vectors and matrices of complex numbers: Fourier transforms, eigenvalues and Schur forms.

use super::formulas::product;
use super::{Pair, join, split};
use crate::ast::BinaryOp;
use crate::functions::{Found, eigen};
use crate::machine::Machine;
use crate::types::{Base, Ty};
use crate::value::Value;

/// Discrete Fourier transforms as products with a matrix of known numbers.
pub(super) fn fourier(m: &mut Machine<'_>, name: &str, z: &Pair) -> Result<Value, String> {
    let inverse = name.starts_with("inv");
    let (rows, cols) = z.0.rows_and_columns();
    m.keep(rows.saturating_mul(rows).saturating_add(cols.saturating_mul(cols)))?;
    let matrix = |n: usize| -> Pair {
        let sign = if inverse { 1.0 } else { -1.0 };
        let size = if inverse { 1.0 / n.max(1) as f64 } else { 1.0 };
        let angle = |at: usize| sign * std::f64::consts::TAU * ((at / n) * (at % n) % n) as f64 / n as f64;
        let all = |f: fn(f64) -> f64| (0..n * n).map(|at| size * f(angle(at))).collect();
        (Value::matrix(n, n, all(f64::cos)), Value::matrix(n, n, all(f64::sin)))
    };
    let left = product(m, BinaryOp::Mul, &matrix(rows), z)?;
    let both = if name.ends_with('2') { product(m, BinaryOp::Mul, &left, &matrix(cols))? } else { left };
    Ok(join(&both))
}

pub(super) fn decomposed(name: &str, a: &Value) -> Found {
    let (x, y) = split(a);
    let n = crate::machine::square(name, &x)?;
    let (Some(x), Some(y)) = (x.known(), y.known()) else {
        return Err(format!(
            "`{name}` of a parameter is not supported in the model; call it in generated quantities, or \
             `eigenvalues_sym` for a symmetric matrix"
        ));
    };
    let of_schur =
        eigen::schur(&x, &y, n).ok_or_else(|| format!("`{name}` found no end; the matrix has no values"))?;
    let all = match name {
        "eigenvalues" => of_schur.values(),
        "eigenvectors" => of_schur.vectors(),
        "complex_schur_decompose_t" => of_schur.t,
        _ => of_schur.u,
    };
    let numbers = all.iter().flat_map(|z| [z.re, z.im]).collect();
    Ok(match name {
        "eigenvalues" => Value::known_of(Ty::new(Base::ComplexVector), &[n, 2], numbers),
        _ => Value::known_of(Ty::new(Base::ComplexMatrix), &[n, n, 2], numbers),
    })
}
