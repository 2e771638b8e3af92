//! Make values: repeated, counted, converted.

use super::{Entry, Found};
use crate::machine::Machine;
use crate::types::{Base, Ty};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    ("rep_vector", "vector(real, int)", |m, a| repeat(m, &a[0], Ty::VECTOR, &a[1..])),
    ("rep_row_vector", "row_vector(real, int)", |m, a| repeat(m, &a[0], Ty::ROW, &a[1..])),
    ("rep_matrix", "matrix(real, int, int)", |m, a| repeat(m, &a[0], Ty::MATRIX, &a[1..])),
    ("rep_matrix", "matrix(vector, int)", |m, a| {
        let (rows, cols) = (a[0].elements(), count(&a[1])?);
        m.keep(rows.saturating_mul(cols))?;
        Ok(a[0].pick(Ty::MATRIX, &[rows, cols], (0..rows * cols).map(|at| at / cols)))
    }),
    ("rep_matrix", "matrix(row_vector, int)", |m, a| {
        let (rows, cols) = (count(&a[1])?, a[0].elements());
        m.keep(rows.saturating_mul(cols))?;
        Ok(a[0].pick(Ty::MATRIX, &[rows, cols], (0..rows * cols).map(|at| at % cols)))
    }),
    ("rep_array", "=1[](any, int); =1[,](any, int, int); =1[,,](any, int, int, int)", rep_array),
    ("zeros_vector", "vector(int)", |m, a| repeat(m, &Value::num(0.0), Ty::VECTOR, a)),
    ("ones_vector", "vector(int)", |m, a| repeat(m, &Value::num(1.0), Ty::VECTOR, a)),
    ("zeros_row_vector", "row_vector(int)", |m, a| repeat(m, &Value::num(0.0), Ty::ROW, a)),
    ("ones_row_vector", "row_vector(int)", |m, a| repeat(m, &Value::num(1.0), Ty::ROW, a)),
    ("zeros_array", "real[](int)", |m, a| repeat(m, &Value::num(0.0), Ty::REAL.array(1), a)),
    ("ones_array", "real[](int)", |m, a| repeat(m, &Value::num(1.0), Ty::REAL.array(1), a)),
    ("zeros_int_array", "int[](int)", |m, a| repeat(m, &Value::int(0.0), Ty::INT.array(1), a)),
    ("ones_int_array", "int[](int)", |m, a| repeat(m, &Value::int(1.0), Ty::INT.array(1), a)),
    ("identity_matrix", "matrix(int)", |m, a| {
        let n = count(&a[0])?;
        m.keep(n.saturating_mul(n))?;
        Ok(Value::matrix(n, n, (0..n * n).map(|at| f64::from(u8::from(at / n == at % n))).collect()))
    }),
    ("linspaced_vector", "vector(int, real, real)", |m, a| linspaced(m, a, Ty::VECTOR)),
    ("linspaced_row_vector", "row_vector(int, real, real)", |m, a| linspaced(m, a, Ty::ROW)),
    ("linspaced_array", "real[](int, real, real)", |m, a| linspaced(m, a, Ty::REAL.array(1))),
    ("linspaced_int_array", "int[](int, int, int)", |m, a| linspaced(m, a, Ty::INT.array(1))),
    ("one_hot_vector", "vector(int, int)", |m, a| one_hot(m, a, Ty::VECTOR)),
    ("one_hot_row_vector", "row_vector(int, int)", |m, a| one_hot(m, a, Ty::ROW)),
    ("one_hot_array", "real[](int, int)", |m, a| one_hot(m, a, Ty::REAL.array(1))),
    ("one_hot_int_array", "int[](int, int)", |m, a| one_hot(m, a, Ty::INT.array(1))),
    ("uniform_simplex", "vector(int)", |m, a| {
        let n = count(&a[0])?;
        repeat(m, &Value::num(1.0 / n as f64), Ty::VECTOR, a)
    }),
    ("pi", "real()", |_, _| Ok(Value::num(std::f64::consts::PI))),
    ("e", "real()", |_, _| Ok(Value::num(std::f64::consts::E))),
    ("sqrt2", "real()", |_, _| Ok(Value::num(std::f64::consts::SQRT_2))),
    ("log2", "real()", |_, _| Ok(Value::num(std::f64::consts::LN_2))),
    ("log10", "real()", |_, _| Ok(Value::num(std::f64::consts::LN_10))),
    ("not_a_number", "real()", |_, _| Ok(Value::num(f64::NAN))),
    ("positive_infinity", "real()", |_, _| Ok(Value::num(f64::INFINITY))),
    ("negative_infinity", "real()", |_, _| Ok(Value::num(f64::NEG_INFINITY))),
    ("machine_precision", "real()", |_, _| Ok(Value::num(f64::EPSILON))),
    ("to_vector", "vector(vector|row_vector|real[]|int[])", |_, a| {
        Ok(a[0].with(Ty::VECTOR, &[a[0].elements()]))
    }),
    ("to_vector", "vector(matrix)", |_, a| Ok(by_columns(&a[0], Ty::VECTOR))),
    ("to_row_vector", "row_vector(vector|row_vector|real[]|int[])", |_, a| {
        Ok(a[0].with(Ty::ROW, &[a[0].elements()]))
    }),
    ("to_row_vector", "row_vector(matrix)", |_, a| Ok(by_columns(&a[0], Ty::ROW))),
    ("to_array_1d", "int[](int[]|int[,]|int[,,]|int[,,,]|int[,,,,])", |_, a| {
        Ok(a[0].with(Ty::INT.array(1), &[a[0].elements()]))
    }),
    ("to_array_1d", "real[](matrix)", |_, a| Ok(by_columns(&a[0], Ty::REAL.array(1)))),
    ("to_array_1d", "real[](vector|row_vector|real[]|real[,]|real[,,]|real[,,,]|real[,,,,])", |_, a| {
        Ok(a[0].with(Ty::REAL.array(1), &[a[0].elements()]))
    }),
    ("to_array_2d", "real[,](matrix)", |_, a| Ok(a[0].with(Ty::REAL.array(2), &a[0].sizes.to_vec()))),
    ("to_matrix", "matrix(matrix|real[,]|int[,]|row_vector[])", |_, a| {
        Ok(a[0].with(Ty::MATRIX, &a[0].sizes.to_vec()))
    }),
    ("to_matrix", "matrix(vector)", |_, a| Ok(a[0].with(Ty::MATRIX, &[a[0].elements(), 1]))),
    ("to_matrix", "matrix(row_vector)", |_, a| Ok(a[0].with(Ty::MATRIX, &[1, a[0].elements()]))),
    ("to_matrix", "matrix(vector|row_vector|matrix|real[], int, int)", |_, a| to_matrix(a, true)),
    ("to_matrix", "matrix(vector|row_vector|matrix|real[], int, int, int)", |_, a| {
        to_matrix(a, a[3].number().is_none_or(|x| x != 0.0))
    }),
];

/// A size that is known.
pub(super) fn count(value: &Value) -> Result<usize, String> {
    match value.number() {
        Some(x) if (0.0..1e9).contains(&x) => Ok(x as usize),
        Some(x) => Err(format!("{x} is no size; expected an integer of at least 0")),
        None => Err("a size depends on a parameter".into()),
    }
}

fn repeat(machine: &mut Machine<'_>, value: &Value, ty: Ty, sizes: &[Value]) -> Found {
    let sizes = sizes.iter().map(count).collect::<Result<Vec<usize>, String>>()?;
    let elements = sizes.iter().fold(1usize, |n, size| n.saturating_mul(*size));
    machine.keep(elements)?;
    match value.number() {
        Some(x) => Ok(Value::known_of(ty, &sizes, vec![x; elements])),
        None => Ok(Value::of_cells(ty, &sizes, vec![value.cell(0); elements])),
    }
}

fn rep_array(machine: &mut Machine<'_>, a: &[Value]) -> Found {
    let mut sizes = a[1..].iter().map(count).collect::<Result<Vec<usize>, String>>()?;
    if usize::from(a[0].ty.arrays) + sizes.len() > 5 {
        return Err("arrays have at most 5 dimensions here".into());
    }
    let ty = a[0].ty.array(sizes.len() as u8);
    let (own, times) = (a[0].elements(), sizes.iter().fold(1usize, |n, size| n.saturating_mul(*size)));
    machine.keep(own.saturating_mul(times))?;
    sizes.extend(a[0].sizes.to_vec());
    Ok(a[0].pick(ty, &sizes, (0..own * times).map(|at| at % own)))
}

fn linspaced(machine: &mut Machine<'_>, a: &[Value], ty: Ty) -> Found {
    let n = count(&a[0])?;
    machine.keep(n)?;
    let (Some(low), Some(high)) = (a[1].number(), a[2].number()) else {
        return Err("bounds that depend on parameters are not supported here".into());
    };
    let step = if n > 1 { (high - low) / (n - 1) as f64 } else { 0.0 };
    let value = |i: usize| if i + 1 == n { high } else { low + i as f64 * step };
    let whole = |x: f64| if ty.base == Base::Int { x.floor() } else { x };
    Ok(Value::known_of(ty, &[n], (0..n).map(|i| whole(value(i))).collect()))
}

fn one_hot(machine: &mut Machine<'_>, a: &[Value], ty: Ty) -> Found {
    let (n, place) = (count(&a[0])?, count(&a[1])?);
    machine.keep(n)?;
    if place == 0 || place > n {
        return Err(format!("position {place} is outside of 1 to {n}"));
    }
    Ok(Value::known_of(ty, &[n], (1..=n).map(|i| f64::from(u8::from(i == place))).collect()))
}

/// Elements of a matrix, one column after the other.
pub(super) fn by_columns(value: &Value, ty: Ty) -> Value {
    let (rows, cols) = value.rows_and_columns();
    value.pick(ty, &[rows * cols], (0..rows * cols).map(|at| at % rows * cols + at / rows))
}

fn to_matrix(a: &[Value], columns_first: bool) -> Found {
    let (rows, cols) = (count(&a[1])?, count(&a[2])?);
    if rows.saturating_mul(cols) != a[0].elements() {
        return Err(format!(
            "{} elements do not make a matrix of {rows} rows and {cols} columns",
            a[0].elements()
        ));
    }
    let value = if a[0].ty == Ty::MATRIX { by_columns(&a[0], Ty::VECTOR) } else { a[0].clone() };
    if !columns_first {
        return Ok(value.with(Ty::MATRIX, &[rows, cols]));
    }
    Ok(value.pick(Ty::MATRIX, &[rows, cols], (0..rows * cols).map(|at| at % cols * rows + at / cols)))
}
