//! Ask for sizes, and cut, join, turn and sort values.

use super::make::count;
use super::{Entry, Found};
use crate::machine::Machine;
use crate::types::{Base, Ty};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    ("size", "int(any)", |_, a| {
        Ok(Value::int(if a[0].ty.arrays > 0 { a[0].sizes.at(0) } else { a[0].elements() } as f64))
    }),
    ("num_elements", "int(any)", |_, a| Ok(Value::int(a[0].elements() as f64))),
    ("rows", "int(vector|row_vector|matrix)", |_, a| Ok(Value::int(a[0].rows_and_columns().0 as f64))),
    ("cols", "int(vector|row_vector|matrix)", |_, a| Ok(Value::int(a[0].rows_and_columns().1 as f64))),
    ("dims", "int[](any)", |_, a| Ok(Value::ints(a[0].sizes.to_vec().iter().map(|n| *n as f64).collect()))),
    ("head", "=1(vector|row_vector|any, int)", |_, a| {
        let n = count(&a[1])?;
        part(&a[0], 0, n)
    }),
    ("tail", "=1(any, int)", |_, a| {
        let n = count(&a[1])?;
        let size = first_size(&a[0])?;
        part(&a[0], size.checked_sub(n).ok_or_else(|| format!("there are {size} elements, not {n}"))?, n)
    }),
    ("segment", "=1(any, int, int)", |_, a| {
        let (from, n) = (count(&a[1])?, count(&a[2])?);
        part(&a[0], from.checked_sub(usize::from(n > 0)).ok_or("positions begin at 1")?, n)
    }),
    ("row", "row_vector(matrix, int)", |_, a| {
        let cols = a[0].sizes.at(1);
        block(&a[0], [count(&a[1])?, 1, 1, cols], Ty::ROW)
    }),
    ("col", "vector(matrix, int)", |_, a| {
        let rows = a[0].sizes.at(0);
        block(&a[0], [1, count(&a[1])?, rows, 1], Ty::VECTOR)
    }),
    ("sub_row", "row_vector(matrix, int, int, int)", |_, a| {
        block(&a[0], [count(&a[1])?, count(&a[2])?, 1, count(&a[3])?], Ty::ROW)
    }),
    ("sub_col", "vector(matrix, int, int, int)", |_, a| {
        block(&a[0], [count(&a[1])?, count(&a[2])?, count(&a[3])?, 1], Ty::VECTOR)
    }),
    ("block", "matrix(matrix, int, int, int, int)", |_, a| {
        block(&a[0], [count(&a[1])?, count(&a[2])?, count(&a[3])?, count(&a[4])?], Ty::MATRIX)
    }),
    ("append_row", "vector(vector|real, vector|real)", |_, a| Ok(joined(a, Ty::VECTOR))),
    ("append_col", "row_vector(row_vector|real, row_vector|real)", |_, a| Ok(joined(a, Ty::ROW))),
    ("append_row", "matrix(matrix|row_vector, matrix|row_vector)", |_, a| append_row(&a[0], &a[1])),
    ("append_col", "matrix(matrix|vector, matrix|vector)", |_, a| append_col(&a[0], &a[1])),
    ("append_array", "=1(any, any)", |_, a| append_array(&a[0], &a[1])),
    ("reverse", "=1(any)", |_, a| {
        let (size, inner) = (first_size(&a[0])?, inner(&a[0]));
        let places = (0..size * inner).map(|at| (size - 1 - at / inner) * inner + at % inner);
        Ok(a[0].pick(a[0].ty, &a[0].sizes.to_vec(), places))
    }),
    ("sort_asc", "=1(vector|row_vector|real[]|int[])", |m, a| sorted(m, &a[0], false)),
    ("sort_desc", "=1(vector|row_vector|real[]|int[])", |m, a| sorted(m, &a[0], true)),
    ("sort_indices_asc", "int[](vector|row_vector|real[]|int[])", |_, a| order(&a[0], false)),
    ("sort_indices_desc", "int[](vector|row_vector|real[]|int[])", |_, a| order(&a[0], true)),
    ("rank", "int(vector|row_vector|real[]|int[], int)", |_, a| {
        let (x, at) = (numbers(&a[0], "rank")?, count(&a[1])?);
        let own = *x.get(at.wrapping_sub(1)).ok_or_else(|| format!("there is no position {at}"))?;
        Ok(Value::int(x.iter().filter(|x| **x < own).count() as f64))
    }),
    ("cumulative_sum", "1(vector|row_vector|real[])", |m, a| {
        if a[0].elements() == 0 { Ok(a[0].clone()) } else { m.cumsum(&a[0]) }
    }),
    ("softmax", "vector(vector)", |m, a| {
        let logs = log_softmax(m, &a[0])?;
        m.map("exp", &[&logs])
    }),
    ("log_softmax", "vector(vector)", |m, a| log_softmax(m, &a[0])),
];

pub(super) fn log_softmax(machine: &mut Machine<'_>, x: &Value) -> Found {
    if x.elements() == 0 {
        return Ok(x.clone());
    }
    let total = machine.reduce(crate::tape::Op::LogSumExp, x)?;
    machine.sub(x, &total)
}

fn first_size(value: &Value) -> Result<usize, String> {
    match value.sizes.rank() {
        0 => Err("a number has no elements".into()),
        _ => Ok(value.sizes.at(0)),
    }
}

fn inner(value: &Value) -> usize {
    (1..value.sizes.rank()).map(|i| value.sizes.at(i)).product()
}

/// So many parts along the first dimension.
fn part(value: &Value, from: usize, n: usize) -> Found {
    let size = first_size(value)?;
    if from.saturating_add(n) > size {
        return Err(format!("elements {} to {} are asked for, of {size}", from + 1, from.saturating_add(n)));
    }
    let mut sizes = value.sizes.to_vec();
    sizes[0] = n;
    Ok(value.slice(value.ty, &sizes, if n == 0 { 0 } else { from * inner(value) }))
}

/// Rows and columns of a matrix from a row and a column on, which count from 1.
fn block(value: &Value, [row, col, rows, cols]: [usize; 4], ty: Ty) -> Found {
    let (all_rows, all_cols) = value.rows_and_columns();
    if rows * cols > 0 && (row == 0 || col == 0 || row - 1 + rows > all_rows || col - 1 + cols > all_cols) {
        return Err(format!(
            "{rows} rows and {cols} columns from row {row} and column {col} on are not in a matrix {}",
            value.sizes
        ));
    }
    let sizes = if ty == Ty::MATRIX { vec![rows, cols] } else { vec![rows * cols] };
    Ok(value.pick(
        ty,
        &sizes,
        (0..rows * cols).map(|at| (row - 1 + at / cols) * all_cols + col - 1 + at % cols),
    ))
}

fn joined(values: &[Value], ty: Ty) -> Value {
    let length = values.iter().map(Value::elements).sum();
    crate::machine::joined(ty, &[length], values)
}

fn append_row(a: &Value, b: &Value) -> Found {
    let ((n, cols), (m, other)) = (a.rows_and_columns(), b.rows_and_columns());
    if cols != other {
        return Err(format!("append_row needs equal numbers of columns, not {cols} and {other}"));
    }
    Ok(crate::machine::joined(Ty::MATRIX, &[n + m, cols], &[a.clone(), b.clone()]))
}

fn append_col(a: &Value, b: &Value) -> Found {
    let ((rows, n), (other, m)) = (a.rows_and_columns(), b.rows_and_columns());
    if rows != other {
        return Err(format!("append_col needs equal numbers of rows, not {rows} and {other}"));
    }
    let cols = n + m;
    let cell = |at: usize| {
        let (i, j) = (at / cols, at % cols);
        if j < n { a.cell(i * n + j) } else { b.cell(i * m + j - n) }
    };
    Ok(Value::of_cells(Ty::MATRIX, &[rows, cols], (0..rows * cols).map(cell).collect()))
}

fn append_array(a: &Value, b: &Value) -> Found {
    let ty =
        a.ty.common(b.ty)
            .ok_or_else(|| format!("append_array needs equal types, not {} and {}", a.ty, b.ty))?;
    let (mut sizes, other) = (a.sizes.to_vec(), b.sizes.to_vec());
    if ty.arrays == 0 {
        return Err("append_array needs arrays".into());
    }
    if sizes[1..] != other[1..] && a.elements() > 0 && b.elements() > 0 {
        return Err(format!("append_array needs elements of equal sizes, not {} and {}", a.sizes, b.sizes));
    }
    if a.elements() == 0 {
        sizes[1..].copy_from_slice(&other[1..]);
    }
    sizes[0] += other[0];
    Ok(crate::machine::joined(ty, &sizes, &[a.clone(), b.clone()]))
}

fn numbers(value: &Value, name: &str) -> Result<Vec<f64>, String> {
    let known = value.known().map(|values| values.into_owned());
    known.ok_or_else(|| format!("`{name}` of a parameter is not supported"))
}

fn places(x: &[f64], descending: bool) -> Vec<usize> {
    let mut places: Vec<usize> = (0..x.len()).collect();
    places.sort_by(|i, j| if descending { x[*j].total_cmp(&x[*i]) } else { x[*i].total_cmp(&x[*j]) });
    places
}

fn sorted(machine: &mut Machine<'_>, value: &Value, descending: bool) -> Found {
    let Some(x) = value.known() else { return super::more::sorted(machine, value, descending) };
    Ok(value.pick(value.ty, &value.sizes.to_vec(), places(&x, descending).into_iter()))
}

fn order(value: &Value, descending: bool) -> Found {
    let x = numbers(value, "sort_indices")?;
    let places = places(&x, descending).into_iter().map(|i| (i + 1) as f64).collect();
    Ok(Value { ty: Ty { base: Base::Int, arrays: 1 }, ..Value::ints(places) })
}
