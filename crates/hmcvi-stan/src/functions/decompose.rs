//! Take matrices apart: singular values, orthogonal columns, and what of them is not 0.

use super::divide::solve_spd;
use super::matrix::{needed, scale_columns, times, transpose};
use super::{Entry, Found, known};
use crate::machine::Machine;
use crate::types::Ty;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    ("singular_values", "vector(matrix)", |m, a| Ok(singular(m, &a[0])?.0)),
    ("svd_U", "matrix(matrix)", |m, a| vectors(m, &a[0], true)),
    ("svd_V", "matrix(matrix)", |m, a| vectors(m, &a[0], false)),
    ("generalized_inverse", "matrix(matrix)", |m, a| {
        // `(AᵀA)⁻¹Aᵀ`, or its counterpart for more columns than rows.
        let (rows, cols) = a[0].rows_and_columns();
        let turned = transpose(&a[0]);
        if rows >= cols {
            let square = times(m, &turned, &a[0])?;
            return solve_spd(m, &square, &turned);
        }
        let square = times(m, &a[0], &turned)?;
        Ok(transpose(&solve_spd(m, &square, &a[0])?))
    }),
    ("qr_thin_Q", "matrix(matrix)", |m, a| Ok(thin(m, &a[0], "qr_thin_Q")?.0)),
    ("qr_thin_R", "matrix(matrix)", |m, a| Ok(thin(m, &a[0], "qr_thin_R")?.1)),
    ("csr_extract_w", "vector(matrix)", |_, a| {
        let (x, _, places) = nonzero(&a[0], "csr_extract_w")?;
        Ok(Value::vector(places.into_iter().map(|at| x[at]).collect()))
    }),
    ("csr_extract_v", "int[](matrix)", |_, a| {
        let (_, cols, places) = nonzero(&a[0], "csr_extract_v")?;
        Ok(Value::ints(places.into_iter().map(|at| (at % cols + 1) as f64).collect()))
    }),
    ("csr_extract_u", "int[](matrix)", |_, a| {
        let (_, cols, places) = nonzero(&a[0], "csr_extract_u")?;
        let rows = a[0].rows_and_columns().0;
        let before = |row: usize| places.iter().filter(|at| **at < row * cols).count() as f64 + 1.0;
        let all: Vec<f64> = (0..=rows).map(before).collect();
        Ok(Value::ints(all))
    }),
];

/// Singular values, descending, and the vectors on the shorter side.
fn singular(machine: &mut Machine<'_>, a: &Value) -> Result<(Value, Value), String> {
    let (rows, cols) = a.rows_and_columns();
    let tall = if rows >= cols { a.clone() } else { transpose(a) };
    let squares = times(machine, &transpose(&tall), &tall)?;
    let (values, vectors) = machine.symmetric_eigen("singular_values", &squares)?;
    let n = values.elements();
    // Rounding may leave less than nothing.
    let values = machine.map("fmax", &[&values, &Value::num(0.0)])?;
    let roots = machine.map("sqrt", &[&values])?;
    let vectors = vectors.pick(Ty::MATRIX, &[n, n], (0..n * n).map(|at| at / n * n + n - 1 - at % n));
    Ok((roots.pick(Ty::VECTOR, &[n], (0..n).rev()), vectors))
}

/// The vectors to the left or to the right of a matrix, in columns. Those of the longer side come from the others, so that
/// their signs fit each other.
fn vectors(machine: &mut Machine<'_>, a: &Value, left: bool) -> Found {
    let (rows, cols) = a.rows_and_columns();
    let (values, vectors) = singular(machine, a)?;
    if left == (rows < cols) {
        return Ok(vectors);
    }
    let inverse = machine.map("inv", &[&values])?;
    let across = if left { a.clone() } else { transpose(a) };
    let product = times(machine, &across, &vectors)?;
    scale_columns(machine, &product, &inverse)
}

/// `A = QR` with as many columns as `A` and a positive diagonal of `R`.
fn thin(machine: &mut Machine<'_>, a: &Value, name: &str) -> Result<(Value, Value), String> {
    let (n, k) = a.rows_and_columns();
    if a.is_known() || n < k {
        let (q, r) = known::thin_qr(&needed(a, name)?, n, k);
        return Ok((Value::matrix(n, k, q), Value::matrix(k, k, r)));
    }
    // `AᵀA = RᵀR`
    let turned = transpose(a);
    let square = times(machine, &turned, a)?;
    let factor = machine.cholesky(&square)?;
    let q = machine.solve_lower(&factor, &turned, false)?;
    Ok((transpose(&q), transpose(&factor)))
}

/// The numbers of a matrix, its columns, and places of what is not 0.
fn nonzero(a: &Value, name: &str) -> Result<(Vec<f64>, usize, Vec<usize>), String> {
    let x = needed(a, name)?;
    let places = (0..x.len()).filter(|at| x[*at] != 0.0).collect();
    Ok((x, a.rows_and_columns().1.max(1), places))
}
