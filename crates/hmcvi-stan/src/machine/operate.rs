//! Apply the operations that everything is made of: at once to known numbers, else on the tape.

use super::{Machine, data_of};
use crate::functions::elementwise::{self, MAPS};
use crate::functions::known;
use crate::tape::Op;
use crate::types::Ty;
use crate::value::{Data, Sizes, Value};

type Result<T> = std::result::Result<T, String>;

impl Machine<'_> {
    /// A function of numbers, element by element; numbers meet all elements.
    pub(crate) fn map(&mut self, name: &str, arguments: &[&Value]) -> Result<Value> {
        let id = elementwise::find(name).ok_or_else(|| format!("there is no function `{name}`"))?;
        self.map_id(id, arguments)
    }

    pub(crate) fn map_id(&mut self, id: u16, arguments: &[&Value]) -> Result<Value> {
        let (ty, sizes) = meet(MAPS[id as usize].name, arguments)?;
        let ty = if MAPS[id as usize].gives_int { int_like(ty) } else { ty.real() };
        let length = sizes.elements();
        if length == 0 {
            return Ok(Value { ty, sizes, data: Data::Known(Vec::new().into()) });
        }
        if let Some((own, n)) = numbers(arguments) {
            return Ok(Value { ty, sizes, data: Data::Num(MAPS[id as usize].eval(&own[..n])) });
        }
        if let Some(all) = arguments.iter().map(|value| value.known()).collect::<Option<Vec<_>>>() {
            let f = &MAPS[id as usize];
            if length == 1 && arguments.len() <= 3 {
                let mut own = [0.0; 3];
                own.iter_mut().zip(&all).for_each(|(to, from)| *to = from[0]);
                let data = f.eval(&own[..all.len()]);
                return Ok(scalar_or(ty, sizes, vec![data]));
            }
            self.keep(length)?;
            let mut own = vec![0.0; all.len()];
            let mut values = Vec::with_capacity(length);
            for i in 0..length {
                for (to, from) in own.iter_mut().zip(&all) {
                    *to = from[if from.len() == 1 { 0 } else { i }];
                }
                values.push(f.eval(&own));
            }
            return Ok(scalar_or(ty, sizes, values));
        }
        if MAPS[id as usize].expr.is_none() {
            return Err(format!(
                "`{}` of a parameter is not supported in the model; call it of data, or in generated quantities",
                MAPS[id as usize].name
            ));
        }
        let data = self.record(Op::Map(id), arguments, length)?;
        Ok(Value { ty, sizes, data })
    }

    /// An operation on the tape.
    pub(crate) fn record(&mut self, op: Op, arguments: &[&Value], length: usize) -> Result<Data> {
        self.keep(1)?;
        let site = self.site();
        if matches!(op, Op::Density { .. }) {
            self.tape.spans.entry(site).or_insert(self.span);
        }
        self.tape.push(op, site, arguments.iter().map(|value| data_of(value)).collect(), length)
    }

    pub(crate) fn add(&mut self, a: &Value, b: &Value) -> Result<Value> {
        self.map_id(elementwise::ADD, &[a, b])
    }

    pub(crate) fn sub(&mut self, a: &Value, b: &Value) -> Result<Value> {
        self.map_id(elementwise::SUB, &[a, b])
    }

    pub(crate) fn mul(&mut self, a: &Value, b: &Value) -> Result<Value> {
        self.map_id(elementwise::MUL, &[a, b])
    }

    pub(crate) fn div(&mut self, a: &Value, b: &Value) -> Result<Value> {
        self.map_id(elementwise::DIV, &[a, b])
    }

    pub(crate) fn scale(&mut self, a: &Value, by: f64) -> Result<Value> {
        self.mul(a, &Value::num(by))
    }

    /// `aᵇ`, which has any base where the exponent is an integer known now.
    pub(crate) fn power(&mut self, a: &Value, b: &Value) -> Result<Value> {
        let exponent = b.number().filter(|x| x.fract() == 0.0 && x.abs() < 1000.0);
        match exponent {
            Some(exponent) if !a.is_known() => {
                let data = self.record(Op::Power(exponent as i32), &[a], a.elements())?;
                Ok(Value { ty: a.ty.real(), sizes: a.sizes, data })
            }
            _ => self.map("pow", &[a, b]),
        }
    }

    /// `a` where the condition is not 0, else `b`.
    pub(crate) fn select(&mut self, condition: &Value, a: &Value, b: &Value) -> Result<Value> {
        if let Some(truth) = condition.number() {
            return Ok(if truth != 0.0 { a.clone() } else { b.clone() });
        }
        let (_, sizes) = meet("a choice", &[condition, a, b])?;
        let ty = a.ty.common(b.ty).unwrap_or(a.ty);
        if sizes.elements() == 0 {
            return Ok(a.clone());
        }
        let data = self.record(Op::Select, &[condition, a, b], sizes.elements())?;
        Ok(Value { ty, sizes, data })
    }

    /// Operations that make one number of many.
    pub(crate) fn reduce(&mut self, op: Op, value: &Value) -> Result<Value> {
        if let Some(values) = value.known() {
            return Ok(Value::num(match op {
                Op::Sum => values.iter().sum(),
                _ => known::log_sum_exp(&values),
            }));
        }
        if value.elements() == 1 {
            return Ok(value.with(Ty::REAL, &[]));
        }
        let data = self.record(op, &[value], 1)?;
        Ok(Value { ty: Ty::REAL, sizes: Sizes::SCALAR, data })
    }

    pub(crate) fn sum(&mut self, value: &Value) -> Result<Value> {
        self.reduce(Op::Sum, value)
    }

    pub(crate) fn cumsum(&mut self, value: &Value) -> Result<Value> {
        let ty = value.ty.real();
        if let Some(values) = value.known() {
            let mut sum = 0.0;
            let mut add = |x: &f64| {
                sum += x;
                sum
            };
            return Ok(Value::known_of(ty, &value.sizes.to_vec(), values.iter().map(&mut add).collect()));
        }
        let data = self.record(Op::Cumsum, &[value], value.elements())?;
        Ok(Value { ty, sizes: value.sizes, data })
    }

    /// The product of matrices `[n, m]` and `[m, k]`, as numbers row by row.
    pub(crate) fn product(&mut self, a: &Value, b: &Value, [n, m, k]: [usize; 3]) -> Result<Data> {
        self.keep(n.saturating_mul(k))?;
        if let (Some(a), Some(b)) = (a.known(), b.known()) {
            if n.saturating_mul(m).saturating_mul(k) > 1_000_000_000 {
                return Err("this product of matrices is too large".into());
            }
            return Ok(Data::Known(known::product(&a, &b, [n, m, k]).into()));
        }
        if n * k == 0 || m == 0 {
            return Ok(Data::Known(vec![0.0; n * k].into()));
        }
        self.record(Op::Product([n as u32, m as u32, k as u32]), &[a, b], n * k)
    }

    /// The product as a value of this type.
    pub(crate) fn product_as(&mut self, a: &Value, b: &Value, sizes: [usize; 3], ty: Ty) -> Result<Value> {
        let data = self.product(a, b, sizes)?;
        let shape = match ty.rank() {
            0 => Sizes::SCALAR,
            1 => Sizes::new(&[sizes[0] * sizes[2]]),
            _ => Sizes::new(&[sizes[0], sizes[2]]),
        };
        Ok(match (&data, ty.rank()) {
            (Data::Known(values), 0) => Value::num(values[0]),
            _ => Value { ty, sizes: shape, data },
        })
    }

    pub(crate) fn cholesky(&mut self, a: &Value) -> Result<Value> {
        let n = square("cholesky_decompose", a)?;
        if n == 0 {
            return Ok(a.clone());
        }
        let data = match a.known() {
            Some(values) => Data::Known(
                known::cholesky(&values, n)
                    .ok_or("cholesky_decompose: the matrix is not positive definite")?
                    .into(),
            ),
            None => self.record(Op::Cholesky(n as u32), &[a], n * n)?,
        };
        Ok(Value { ty: Ty::MATRIX, sizes: a.sizes, data })
    }

    /// Eigenvalues of a symmetric matrix, ascending, and its eigenvectors in columns.
    pub(crate) fn symmetric_eigen(&mut self, name: &str, a: &Value) -> Result<(Value, Value)> {
        let n = square(name, a)?;
        if n == 0 {
            return Ok((Value::vector(Vec::new()), a.clone()));
        }
        if let Some(values) = a.known() {
            let (values, vectors) = known::symmetric_eigen(&values, n);
            return Ok((Value::vector(values), Value::matrix(n, n, vectors)));
        }
        let data = self.record(Op::Eigen(n as u32), &[a], n + n * n)?;
        let both = Value { ty: Ty::VECTOR, sizes: Sizes::new(&[n + n * n]), data };
        Ok((both.slice(Ty::VECTOR, &[n], 0), both.slice(Ty::MATRIX, &[n, n], n)))
    }

    /// `L⁻¹B` or `L⁻ᵀB`, of which `B` says type and sizes.
    pub(crate) fn solve_lower(&mut self, l: &Value, b: &Value, transposed: bool) -> Result<Value> {
        let n = square("mdivide_left_tri_low", l)?;
        let (rows, cols) = b.rows_and_columns();
        if rows != n {
            return Err(format!("the matrix is {}, what it divides has {rows} rows", l.sizes));
        }
        if b.elements() == 0 {
            return Ok(b.clone());
        }
        let data = match (l.known(), b.known()) {
            (Some(l), Some(b)) => Data::Known(known::solve_lower(&l, &b, n, cols, transposed).into()),
            _ => {
                let op = Op::Solve { n: n as u32, cols: cols as u32, transposed };
                self.record(op, &[l, b], n * cols)?
            }
        };
        Ok(Value { ty: b.ty.real(), sizes: b.sizes, data })
    }
}

pub(crate) fn square(name: &str, a: &Value) -> Result<usize> {
    match a.rows_and_columns() {
        (n, m) if n == m && a.ty == Ty::MATRIX => Ok(n),
        _ => Err(format!("{name} needs a square matrix, not {}", a.sizes)),
    }
}

/// A few numbers that are known, and how many: most of what loops compute.
fn numbers(arguments: &[&Value]) -> Option<([f64; 3], usize)> {
    let mut own = [0.0; 3];
    if arguments.len() > own.len() {
        return None;
    }
    for (to, value) in own.iter_mut().zip(arguments) {
        match value.data {
            Data::Num(number) if value.is_scalar() => *to = number,
            _ => return None,
        }
    }
    Some((own, arguments.len()))
}

fn int_like(ty: Ty) -> Ty {
    if ty.base == crate::types::Base::Real { Ty { base: crate::types::Base::Int, ..ty } } else { ty }
}

fn scalar_or(ty: Ty, sizes: Sizes, values: Vec<f64>) -> Value {
    let data = if sizes.rank() == 0 { Data::Num(values[0]) } else { Data::Known(values.into()) };
    Value { ty, sizes, data }
}

/// Type and sizes of what is computed element by element.
fn meet(name: &str, arguments: &[&Value]) -> Result<(Ty, Sizes)> {
    let mut found: Option<&Value> = None;
    for value in arguments.iter().filter(|value| !value.is_scalar()) {
        match found {
            None => found = Some(value),
            Some(first) if first.sizes == value.sizes => {}
            Some(first) => {
                return Err(format!("{name} needs equal sizes, not {} and {}", first.sizes, value.sizes));
            }
        }
    }
    Ok(found.map_or((Ty::REAL, Sizes::SCALAR), |value| (value.ty, value.sizes)))
}
