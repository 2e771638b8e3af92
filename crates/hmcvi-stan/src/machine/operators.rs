//! Apply the operators of the language by the types of both sides.

use super::Machine;
use crate::ast::{BinaryOp, UnaryOp};
use crate::functions::elementwise::{ADD, DIV, MUL, NEG, SUB};
use crate::functions::{complex, matrix};
use crate::types::{Base, Ty};
use crate::value::Value;

type Result<T> = std::result::Result<T, String>;

/// The type of a result, which says whether an operator has a meaning for these types.
pub(crate) fn binary_type(op: BinaryOp, a: Ty, b: Ty) -> Option<Ty> {
    use BinaryOp::*;
    if a.is_complex() || b.is_complex() {
        return complex::binary_type(op, a, b);
    }
    let both_int = a == Ty::INT && b == Ty::INT;
    let scalars = a.is_scalar() && b.is_scalar();
    let number = if both_int { Ty::INT } else { Ty::REAL };
    match op {
        Or | And => scalars.then_some(Ty::INT),
        Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual => scalars.then_some(Ty::INT),
        Mod | IntDiv => both_int.then_some(Ty::INT),
        _ if scalars => Some(if matches!(op, Pow | PowEach | LeftDiv) { Ty::REAL } else { number }),
        Mul => product_type(a, b),
        Div if b == Ty::MATRIX && matches!(a, Ty::ROW | Ty::MATRIX) => Some(a),
        Div if b.is_scalar() => linear(a),
        LeftDiv => (a == Ty::MATRIX && matches!(b, Ty::VECTOR | Ty::MATRIX)).then_some(b),
        Add | Sub | TimesEach | DivEach if a == b => linear(a),
        Add | Sub | Div | TimesEach | DivEach if a.is_scalar() => linear(b),
        Add | Sub | TimesEach | DivEach if b.is_scalar() => linear(a),
        Pow | PowEach if b.is_scalar() => Some(a.real()),
        Pow | PowEach if a.is_scalar() => Some(b.real()),
        Pow | PowEach => (a.real() == b.real()).then_some(a.real()),
        _ => None,
    }
}

fn linear(ty: Ty) -> Option<Ty> {
    (ty.arrays == 0 && matches!(ty.base, Base::Vector | Base::RowVector | Base::Matrix)).then_some(ty)
}

fn product_type(a: Ty, b: Ty) -> Option<Ty> {
    match (a.is_scalar(), b.is_scalar()) {
        (true, _) => return linear(b),
        (_, true) => return linear(a),
        _ => {}
    }
    Some(match (a, b) {
        (Ty::ROW, Ty::VECTOR) => Ty::REAL,
        (Ty::VECTOR, Ty::ROW) | (Ty::MATRIX, Ty::MATRIX) => Ty::MATRIX,
        (Ty::MATRIX, Ty::VECTOR) => Ty::VECTOR,
        (Ty::ROW, Ty::MATRIX) => Ty::ROW,
        _ => return None,
    })
}

/// The type of a sign before a value, or a transpose.
pub(crate) fn unary_type(op: UnaryOp, a: Ty) -> Option<Ty> {
    match op {
        UnaryOp::Not => a.is_scalar().then_some(Ty::INT),
        UnaryOp::Minus | UnaryOp::Plus => (a.base != Base::Void && a.base != Base::Other).then_some(a),
        UnaryOp::Transpose => match a {
            Ty::VECTOR => Some(Ty::ROW),
            Ty::ROW => Some(Ty::VECTOR),
            Ty::MATRIX => Some(Ty::MATRIX),
            _ if a.is_complex() => unary_type(op, a.parts()).map(Ty::of_parts),
            _ => None,
        },
    }
}

impl Machine<'_> {
    pub(super) fn unary(&mut self, op: UnaryOp, a: &Value) -> Result<Value> {
        let ty = unary_type(op, a.ty).ok_or_else(|| format!("this sign has no meaning for {}", a.ty))?;
        match op {
            UnaryOp::Plus => Ok(a.clone()),
            UnaryOp::Minus => Ok(self.map_id(NEG, &[a])?.typed(ty)),
            UnaryOp::Not => self.map("logical_negation", &[a]),
            UnaryOp::Transpose if a.ty.is_complex() => {
                complex::call(self, "transpose", std::slice::from_ref(a))
            }
            UnaryOp::Transpose => Ok(matrix::transpose(a)),
        }
    }

    pub(crate) fn binary(&mut self, op: BinaryOp, a: &Value, b: &Value) -> Result<Value> {
        use BinaryOp::*;
        if a.ty.is_complex() || b.ty.is_complex() {
            return complex::binary(self, op, a, b);
        }
        let Some(ty) = binary_type(op, a.ty, b.ty) else {
            return Err(format!("`{}` has no meaning for {} and {}", op.sign(), a.ty, b.ty));
        };
        if let (Ty::INT, Some(x), Some(y)) = (ty, a.number(), b.number())
            && let Some(value) = integers(op, x, y)?
        {
            return Ok(Value::int(value));
        }
        let scalars = a.is_scalar() || b.is_scalar();
        let value = match op {
            Add => self.map_id(ADD, &[a, b])?,
            Sub => self.map_id(SUB, &[a, b])?,
            Mul if scalars => self.map_id(MUL, &[a, b])?,
            TimesEach => self.map_id(MUL, &[a, b])?,
            Div if scalars => self.map_id(DIV, &[a, b])?,
            DivEach => self.map_id(DIV, &[a, b])?,
            Mul => {
                let ((n, m), (rows, k)) = (a.rows_and_columns(), b.rows_and_columns());
                if m != rows {
                    return Err(format!(
                        "`*` needs as many columns on the left as rows on the right, not {m} and {rows}"
                    ));
                }
                self.product_as(a, b, [n, m, k], ty)?
            }
            Div => matrix::right_divide(self, a, b)?,
            LeftDiv if scalars => self.map_id(DIV, &[b, a])?,
            LeftDiv => matrix::left_divide(self, a, b)?,
            Pow | PowEach => self.power(a, b)?,
            Mod | IntDiv => return Err(format!("`{}` needs integers that are known", op.sign())),
            _ => self.map(logical(op), &[a, b])?,
        };
        Ok(value.typed(ty))
    }
}

fn logical(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Or => "logical_or",
        BinaryOp::And => "logical_and",
        BinaryOp::Equal => "logical_eq",
        BinaryOp::NotEqual => "logical_neq",
        BinaryOp::Less => "logical_lt",
        BinaryOp::LessEqual => "logical_lte",
        BinaryOp::Greater => "logical_gt",
        _ => "logical_gte",
    }
}

/// Operators of integers that are known.
fn integers(op: BinaryOp, x: f64, y: f64) -> Result<Option<f64>> {
    use BinaryOp::*;
    if matches!(op, Div | IntDiv | Mod) && y == 0.0 {
        return Err("integers cannot be divided by 0".into());
    }
    let value = match op {
        Add => x + y,
        Sub => x - y,
        Mul => x * y,
        Div | IntDiv => (x / y).trunc(),
        Mod => x % y,
        _ => return Ok(None),
    };
    match value.abs() <= f64::from(i32::MAX) + 1.0 {
        true => Ok(Some(value)),
        false => Err(format!("{x} {} {y} is beyond the largest integer, 2147483647", op.sign())),
    }
}
