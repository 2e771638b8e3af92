//! Divide by matrices, and find their determinants.

use super::Found;
use super::matrix::{as_matrix, transpose};
use crate::machine::{Machine, square};
use crate::types::Ty;
use crate::value::{Cell, Value};

/// `A⁻¹B` of a positive definite matrix.
pub(super) fn solve_spd(machine: &mut Machine<'_>, a: &Value, b: &Value) -> Found {
    let factor = machine.cholesky(a)?;
    let half = machine.solve_lower(&factor, b, false)?;
    machine.solve_lower(&factor, &half, true)
}

/// `A⁻¹B`
pub(crate) fn left_divide(machine: &mut Machine<'_>, a: &Value, b: &Value) -> Found {
    let n = square("a division by a matrix", a)?;
    let (rows, cols) = b.rows_and_columns();
    if rows != n {
        return Err(format!("the matrix has {n} rows, what it divides {rows}"));
    }
    let solved = match !a.is_known() && n > LARGE {
        true => by_squares(machine, a, &as_matrix(b))?,
        false => eliminate(machine, a, &as_matrix(b))?.1,
    };
    Ok(if b.ty == Ty::VECTOR { solved.with(Ty::VECTOR, &[n]) } else { solved.with(Ty::MATRIX, &[n, cols]) })
}

/// From how many rows on systems of parameters are solved in few operations rather than row by row.
const LARGE: usize = 8;

/// `A⁻¹B` by `(AᵀA)⁻¹AᵀB`; what is left of `B` is divided once more, which takes the squares' rounding away.
fn by_squares(machine: &mut Machine<'_>, a: &Value, b: &Value) -> Found {
    let turned = transpose(a);
    let square = super::matrix::times(machine, &turned, a)?;
    let factor = machine.cholesky(&square)?;
    let solve = |machine: &mut Machine<'_>, b: &Value| {
        let right = super::matrix::times(machine, &turned, b)?;
        let half = machine.solve_lower(&factor, &right, false)?;
        machine.solve_lower(&factor, &half, true)
    };
    let mut x = solve(machine, b)?;
    for _ in 0..2 {
        let found = super::matrix::times(machine, a, &x)?;
        let rest = machine.sub(b, &found)?;
        let more = solve(machine, &rest)?;
        x = machine.add(&x, &more)?;
    }
    Ok(x)
}

/// `AB⁻¹`
pub(crate) fn right_divide(machine: &mut Machine<'_>, a: &Value, b: &Value) -> Found {
    let solved = left_divide(machine, &transpose(b), &transpose(&as_matrix(a)))?;
    let back = transpose(&solved);
    Ok(if a.ty == Ty::ROW { back.with(Ty::ROW, &[a.elements()]) } else { back })
}

/// Pivots of a matrix, with the sign of the determinant, and `A⁻¹B`. Rows are exchanged where the matrix is known; that
/// of parameters is taken as it stands.
pub(super) fn eliminate(machine: &mut Machine<'_>, a: &Value, b: &Value) -> Result<(Value, Value), String> {
    let n = square("an inverse or a determinant", a)?;
    let cols = if b.elements() == 0 { 0 } else { b.sizes.at(1) };
    let rows_of = |value: &Value, width: usize| -> Vec<Value> {
        (0..n).map(|i| value.slice(Ty::ROW, &[width], i * width)).collect()
    };
    let mut left = rows_of(a, n);
    let mut right = if cols > 0 { rows_of(b, cols) } else { Vec::new() };
    let (mut pivots, mut sign) = (Vec::new(), 1.0);
    for k in 0..n {
        let size = |row: &Value| match row.cell(k) {
            Cell::Known(x) => x.abs(),
            Cell::Of { .. } => 0.0,
        };
        let best = (k..n).max_by(|i, j| size(&left[*i]).total_cmp(&size(&left[*j]))).unwrap_or(k);
        if a.is_known() && best != k {
            left.swap(k, best);
            if cols > 0 {
                right.swap(k, best);
            }
            sign = -sign;
        }
        let pivot = left[k].slice(Ty::REAL, &[], k);
        for i in if cols > 0 { 0 } else { k + 1 }..n {
            if i == k {
                continue;
            }
            let factor = left[i].slice(Ty::REAL, &[], k);
            let factor = machine.div(&factor, &pivot)?;
            let part = machine.mul(&left[k], &factor)?;
            left[i] = machine.sub(&left[i], &part)?;
            if cols > 0 {
                let part = machine.mul(&right[k], &factor)?;
                right[i] = machine.sub(&right[i], &part)?;
            }
        }
        pivots.push(pivot);
    }
    if let (Some(first), true) = (pivots.first_mut(), sign < 0.0) {
        *first = machine.scale(first, -1.0)?;
    }
    let mut solved = Vec::new();
    for (row, pivot) in right.iter().zip(&pivots) {
        solved.push(machine.div(row, pivot)?);
    }
    if let (Some(first), true) = (solved.first_mut(), sign < 0.0) {
        *first = machine.scale(first, -1.0)?;
    }
    let pivots = crate::machine::joined(Ty::VECTOR, &[n], &pivots);
    let solved = crate::machine::joined(Ty::MATRIX, &[if cols > 0 { n } else { 0 }, cols], &solved);
    Ok((pivots, solved))
}

/// `A⁻¹b` of a matrix of parameters, by orthogonal columns: no pivot can be 0 where there is an inverse.
pub(super) fn solve_system(machine: &mut Machine<'_>, a: &Value, b: &Value) -> Found {
    let n = square("a system of equations", a)?;
    if n == 1 {
        return machine.div(b, &a.slice(Ty::REAL, &[], 0));
    }
    let dot = super::reduce::dot;
    let mut columns: Vec<Value> = Vec::with_capacity(n);
    let mut factors = vec![Value::num(0.0); n * n];
    for j in 0..n {
        let mut column = a.pick(Ty::VECTOR, &[n], (0..n).map(|i| i * n + j));
        for (i, other) in columns.iter().enumerate() {
            let factor = dot(machine, other, &column)?;
            let part = machine.mul(other, &factor)?;
            column = machine.sub(&column, &part)?;
            factors[i * n + j] = factor;
        }
        let square = dot(machine, &column, &column)?;
        let length = machine.map("sqrt", &[&square])?;
        columns.push(machine.div(&column, &length)?);
        factors[j * n + j] = length;
    }
    let mut x = vec![Value::num(0.0); n];
    for i in (0..n).rev() {
        let mut rest = dot(machine, &columns[i], b)?;
        for (j, known) in x.iter().enumerate().skip(i + 1) {
            let part = machine.mul(&factors[i * n + j], known)?;
            rest = machine.sub(&rest, &part)?;
        }
        x[i] = machine.div(&rest, &factors[i * n + i])?;
    }
    Ok(crate::machine::joined(Ty::VECTOR, &[n], &x))
}
