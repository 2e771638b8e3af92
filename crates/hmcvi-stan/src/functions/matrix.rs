//! Compute with matrices: products, factors, inverses.

use super::divide::{eliminate, solve_spd};
pub(crate) use super::divide::{left_divide, right_divide};
use super::{Entry, Found, reduce};
use crate::machine::{Machine, square};
use crate::types::Ty;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    ("transpose", "row_vector(vector); vector(row_vector); matrix(matrix)", |_, a| Ok(transpose(&a[0]))),
    ("multiply", "matrix(matrix, matrix); vector(matrix, vector); row_vector(row_vector, matrix)", |m, a| {
        times(m, &a[0], &a[1])
    }),
    ("cholesky_decompose", "matrix(matrix)", |m, a| m.cholesky(&a[0])),
    ("crossprod", "matrix(matrix)", |m, a| times(m, &transpose(&a[0]), &a[0])),
    ("tcrossprod", "matrix(matrix)", |m, a| times(m, &a[0], &transpose(&a[0]))),
    ("multiply_lower_tri_self_transpose", "matrix(matrix)", |m, a| {
        let lower = lower_triangle(&a[0]);
        times(m, &lower, &transpose(&lower))
    }),
    ("quad_form", "matrix(matrix, matrix)", |m, a| quad_form(m, &a[0], &a[1])),
    ("quad_form", "real(matrix, vector)", |m, a| quad_form(m, &a[0], &a[1])),
    ("quad_form_sym", "matrix(matrix, matrix)", |m, a| quad_form(m, &a[0], &a[1])),
    ("quad_form_sym", "real(matrix, vector)", |m, a| quad_form(m, &a[0], &a[1])),
    ("quad_form_diag", "matrix(matrix, vector|row_vector)", |m, a| {
        let left = scale_rows(m, &a[1], &a[0])?;
        scale_columns(m, &left, &a[1])
    }),
    ("trace_quad_form", "real(matrix, matrix|vector)", |m, a| {
        let b = as_matrix(&a[1]);
        let right = times(m, &a[0], &b)?;
        let each = m.mul(&b, &right)?;
        m.sum(&each)
    }),
    ("diag_pre_multiply", "matrix(vector|row_vector, matrix)", |m, a| scale_rows(m, &a[0], &a[1])),
    ("diag_post_multiply", "matrix(matrix, vector|row_vector)", |m, a| scale_columns(m, &a[0], &a[1])),
    ("diag_matrix", "matrix(vector)", |m, a| {
        let n = a[0].elements();
        let mut whole = m.empty(Ty::MATRIX, &[n, n])?;
        whole.write(&(0..n * n).collect::<Vec<_>>(), &Value::num(0.0));
        whole.write(&(0..n).map(|i| i * (n + 1)).collect::<Vec<_>>(), &a[0]);
        Ok(whole)
    }),
    ("add_diag", "matrix(matrix, vector|row_vector|real)", |m, a| {
        let diagonal = diagonal(&a[0]);
        let sum =
            m.add(&diagonal, &if a[1].is_scalar() { a[1].clone() } else { reduce::as_vector(&a[1]) })?;
        let (mut whole, cols) = (a[0].clone(), a[0].sizes.at(1));
        whole.write(&(0..sum.elements()).map(|i| i * (cols + 1)).collect::<Vec<_>>(), &sum);
        Ok(whole)
    }),
    ("diagonal", "vector(matrix)", |_, a| Ok(diagonal(&a[0]))),
    ("columns_dot_product", "row_vector(matrix, matrix); 1(row_vector, row_vector)", |m, a| {
        let each = m.mul(&a[0], &a[1])?;
        if each.ty == Ty::MATRIX { sum_columns(m, &each) } else { Ok(each) }
    }),
    ("columns_dot_self", "row_vector(matrix); 1(row_vector)", |m, a| {
        let each = m.mul(&a[0], &a[0])?;
        if each.ty == Ty::MATRIX { sum_columns(m, &each) } else { Ok(each) }
    }),
    ("rows_dot_product", "vector(matrix, matrix); 1(vector, vector)", |m, a| {
        let each = m.mul(&a[0], &a[1])?;
        sum_rows(m, each)
    }),
    ("rows_dot_self", "vector(matrix); 1(vector)", |m, a| {
        let each = m.mul(&a[0], &a[0])?;
        sum_rows(m, each)
    }),
    ("mdivide_left_tri_low", "2(matrix, vector|matrix)", |m, a| m.solve_lower(&a[0], &a[1], false)),
    ("mdivide_right_tri_low", "1(row_vector|matrix, matrix)", |m, a| {
        let solved = m.solve_lower(&a[1], &transpose(&a[0]), true)?;
        Ok(transpose(&solved))
    }),
    ("mdivide_left_spd", "2(matrix, vector|matrix)", |m, a| solve_spd(m, &a[0], &a[1])),
    ("mdivide_right_spd", "1(row_vector|matrix, matrix)", |m, a| {
        Ok(transpose(&solve_spd(m, &a[1], &transpose(&a[0]))?))
    }),
    ("mdivide_left", "2(matrix, vector|matrix)", |m, a| left_divide(m, &a[0], &a[1])),
    ("mdivide_right", "1(row_vector|matrix, matrix)", |m, a| right_divide(m, &a[0], &a[1])),
    ("inverse_spd", "matrix(matrix)", |m, a| {
        let n = square("inverse_spd", &a[0])?;
        solve_spd(m, &a[0], &identity(n))
    }),
    ("inverse", "matrix(matrix)", |m, a| {
        let n = square("inverse", &a[0])?;
        left_divide(m, &a[0], &identity(n))
    }),
    ("chol2inv", "matrix(matrix)", |m, a| {
        let n = square("chol2inv", &a[0])?;
        let half = m.solve_lower(&a[0], &identity(n), false)?;
        times(m, &transpose(&half), &half)
    }),
    ("log_determinant_spd", "real(matrix)", |m, a| {
        let factor = m.cholesky(&a[0])?;
        let logs = m.map("log", &[&diagonal(&factor)])?;
        let sum = m.sum(&logs)?;
        m.scale(&sum, 2.0)
    }),
    ("log_determinant", "real(matrix)", |m, a| {
        let (pivots, _) = eliminate(m, &a[0], &identity(0))?;
        let abs = m.map("abs", &[&pivots])?;
        let logs = m.map("log", &[&abs])?;
        m.sum(&logs)
    }),
    ("determinant", "real(matrix)", |m, a| {
        let (pivots, _) = eliminate(m, &a[0], &identity(0))?;
        super::call(m, "prod", &[pivots])
    }),
    ("eigenvalues_sym", "vector(matrix)", |m, a| Ok(m.symmetric_eigen("eigenvalues_sym", &a[0])?.0)),
    ("eigenvectors_sym", "matrix(matrix)", |m, a| Ok(m.symmetric_eigen("eigenvectors_sym", &a[0])?.1)),
    ("csr_matrix_times_vector", "vector(int, int, vector, int[], int[], vector)", sparse_times),
];

pub(super) fn needed(value: &Value, name: &str) -> Result<Vec<f64>, String> {
    value
        .known()
        .map(|values| values.into_owned())
        .ok_or_else(|| format!("`{name}` of a parameter is not supported"))
}

pub(super) fn identity(n: usize) -> Value {
    Value::matrix(n, n, (0..n * n).map(|at| f64::from(u8::from(at / n == at % n))).collect())
}

pub(crate) fn as_matrix(value: &Value) -> Value {
    let (rows, cols) = value.rows_and_columns();
    value.with(Ty::MATRIX, &[rows, cols])
}

pub(crate) fn transpose(value: &Value) -> Value {
    match value.ty {
        Ty::VECTOR => value.clone().typed(Ty::ROW),
        Ty::ROW => value.clone().typed(Ty::VECTOR),
        _ => {
            let (n, m) = value.rows_and_columns();
            if n == 1 || m == 1 {
                return value.with(Ty::MATRIX, &[m, n]);
            }
            value.pick(Ty::MATRIX, &[m, n], (0..n * m).map(|at| at % n * m + at / n))
        }
    }
}

pub(crate) fn diagonal(value: &Value) -> Value {
    let (rows, cols) = value.rows_and_columns();
    let n = rows.min(cols);
    value.pick(Ty::VECTOR, &[n], (0..n).map(|i| i * (cols + 1)))
}

/// Sums of the rows of a matrix; a vector has one number in each.
fn sum_rows(machine: &mut Machine<'_>, each: Value) -> Found {
    if each.ty != Ty::MATRIX {
        return Ok(each);
    }
    Ok(transpose(&sum_columns(machine, &transpose(&each))?))
}

fn lower_triangle(value: &Value) -> Value {
    let cols = value.sizes.at(1);
    let mut lower = value.clone();
    let above: Vec<usize> = (0..value.elements()).filter(|at| at % cols > at / cols).collect();
    lower.write(&above, &Value::num(0.0));
    lower
}

/// The product of matrices and vectors.
pub(super) fn times(machine: &mut Machine<'_>, a: &Value, b: &Value) -> Found {
    let ((n, m), (rows, k)) = (a.rows_and_columns(), b.rows_and_columns());
    if m != rows {
        return Err(format!(
            "a product needs as many columns on the left as rows on the right, not {m} and {rows}"
        ));
    }
    let ty = match (a.ty, b.ty) {
        (_, Ty::VECTOR) => Ty::VECTOR,
        (Ty::ROW, _) => Ty::ROW,
        _ => Ty::MATRIX,
    };
    machine.product_as(a, b, [n, m, k], ty)
}

/// `BᵀAB`
fn quad_form(machine: &mut Machine<'_>, a: &Value, b: &Value) -> Found {
    square("quad_form", a)?;
    let right = times(machine, a, b)?;
    match b.ty {
        Ty::VECTOR => reduce::dot(machine, b, &right),
        _ => times(machine, &transpose(b), &right),
    }
}

fn scale_rows(machine: &mut Machine<'_>, scales: &Value, a: &Value) -> Found {
    let (rows, cols) = a.rows_and_columns();
    fits(scales, rows)?;
    machine.mul(&scales.pick(Ty::MATRIX, &[rows, cols], (0..rows * cols).map(|at| at / cols)), a)
}

pub(super) fn scale_columns(machine: &mut Machine<'_>, a: &Value, scales: &Value) -> Found {
    let (rows, cols) = a.rows_and_columns();
    fits(scales, cols)?;
    machine.mul(a, &scales.pick(Ty::MATRIX, &[rows, cols], (0..rows * cols).map(|at| at % cols)))
}

fn fits(scales: &Value, size: usize) -> Result<(), String> {
    match scales.elements() == size {
        true => Ok(()),
        false => Err(format!("{size} factors are needed, not {}", scales.elements())),
    }
}

fn sum_columns(machine: &mut Machine<'_>, a: &Value) -> Found {
    let (rows, cols) = a.rows_and_columns();
    machine.product_as(&Value::known_of(Ty::ROW, &[rows], vec![1.0; rows]), a, [1, rows, cols], Ty::ROW)
}

/// A sparse matrix by its values, their columns and where rows begin, times a vector.
fn sparse_times(machine: &mut Machine<'_>, a: &[Value]) -> Found {
    let (rows, cols) = (super::make::count(&a[0])?, super::make::count(&a[1])?);
    let (places, begins) =
        (needed(&a[3], "csr_matrix_times_vector")?, needed(&a[4], "csr_matrix_times_vector")?);
    let b = &a[5];
    if b.elements() != cols || places.len() != a[2].elements() || begins.len() != rows + 1 {
        return Err("csr_matrix_times_vector: the sizes do not fit each other".into());
    }
    let valid = places.iter().all(|place| *place >= 1.0 && *place <= cols as f64);
    let ascends = begins.windows(2).all(|pair| pair[0] >= 1.0 && pair[0] <= pair[1]);
    if !valid || !ascends || begins.last().is_some_and(|end| *end as usize != places.len() + 1) {
        return Err("csr_matrix_times_vector: a position is outside of the matrix".into());
    }
    let picked = b.pick(Ty::VECTOR, &[places.len()], places.iter().map(|place| *place as usize - 1));
    let each = machine.mul(&a[2], &picked)?;
    let mut sums = Vec::with_capacity(rows);
    for pair in begins.windows(2) {
        let (from, to) = (pair[0] as usize - 1, pair[1] as usize - 1);
        sums.push(if from == to {
            Value::num(0.0)
        } else {
            machine.sum(&each.slice(Ty::VECTOR, &[to - from], from))?
        });
    }
    Ok(crate::machine::joined(Ty::VECTOR, &[rows], &sums))
}
