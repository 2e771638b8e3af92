//! Compute expressions.

use super::{Frame, Machine};
use crate::ast::{BinaryOp, Expr, ExprKind};
use crate::error::{Problem, Result};
use crate::functions::{self, complex};
use crate::types::{Base, Ty};
use crate::value::Value;

impl Machine<'_> {
    pub(crate) fn eval(&mut self, e: &Expr, frame: &mut Frame) -> Result<Value> {
        self.step(e.span)?;
        match &e.kind {
            ExprKind::Int(x) => Ok(Value::int(*x as f64)),
            ExprKind::Real(x) => Ok(Value::num(*x)),
            ExprKind::Imaginary(x) => Ok(Value::known_of(Ty::COMPLEX, &[2], vec![0.0, *x])),
            ExprKind::Text(_) => Ok(Value { ty: Ty::OTHER, ..Value::num(0.0) }),
            ExprKind::Var { slot, .. } => Ok(frame[*slot].clone()),
            ExprKind::Index(of, indices) => {
                // Variables are looked at where they are, not copied.
                let value = match &of.kind {
                    ExprKind::Var { slot, .. } => frame[*slot].clone(),
                    _ => self.eval(of, frame)?,
                };
                self.index(&value, indices, frame).map_err(|p| p.or_at(e.span))
            }
            ExprKind::Call { name, arguments } => self.eval_call(e, name, arguments, frame),
            ExprKind::Unary(op, a) => {
                let a = self.eval(a, frame)?;
                self.at(e);
                self.unary(*op, &a).map_err(|m| Problem::at(e.span, m))
            }
            ExprKind::Binary(op, a, b) => self.eval_binary(e, *op, a, b, frame),
            ExprKind::Conditional(condition, a, b) => {
                let condition = self.eval(condition, frame)?;
                match condition.number() {
                    Some(truth) => self.eval(if truth != 0.0 { a } else { b }, frame),
                    None => {
                        let (a, b) = (self.eval(a, frame)?, self.eval(b, frame)?);
                        self.at(e);
                        self.select(&condition, &a, &b).map_err(|m| Problem::at(e.span, m))
                    }
                }
            }
            ExprKind::Array(elements) => self.eval_array(e, elements, frame),
            ExprKind::Row(elements) => self.eval_row(e, elements, frame),
        }
    }

    /// Notes the place of what is computed next: the expression, and the calls around it.
    pub(super) fn at(&mut self, e: &Expr) {
        self.site = self.calls.rotate_left(20) ^ u64::from(e.id);
        self.span = e.span;
    }

    fn eval_binary(
        &mut self,
        e: &Expr,
        op: BinaryOp,
        a: &Expr,
        b: &Expr,
        frame: &mut Frame,
    ) -> Result<Value> {
        let a = self.eval(a, frame)?;
        // The second side is not looked at where the first decides.
        match (op, a.number()) {
            (BinaryOp::And, Some(0.0)) => return Ok(Value::truth(false)),
            (BinaryOp::Or, Some(x)) if x != 0.0 => return Ok(Value::truth(true)),
            _ => {}
        }
        let b = self.eval(b, frame)?;
        self.at(e);
        self.binary(op, &a, &b).map_err(|m| Problem::at(e.span, m))
    }

    pub(super) fn eval_all(&mut self, all: &[Expr], frame: &mut Frame) -> Result<Vec<Value>> {
        all.iter().map(|e| self.eval(e, frame)).collect()
    }

    fn eval_call(&mut self, e: &Expr, name: &str, arguments: &[Expr], frame: &mut Frame) -> Result<Value> {
        if functions::higher::is_one(name) {
            return functions::higher::call(self, e, name, arguments, frame);
        }
        let values = self.eval_all(arguments, frame)?;
        self.at(e);
        if let Some(function) = self.user_function(name, &values) {
            let before = self.calls;
            self.calls = self.site;
            let found = self.call_user(function, values, e.span);
            self.calls = before;
            return found;
        }
        functions::call(self, name, &values).map_err(|m| Problem::at(e.span, m))
    }

    /// `{a, b}`: an array of one dimension more.
    fn eval_array(&mut self, e: &Expr, elements: &[Expr], frame: &mut Frame) -> Result<Value> {
        let mut values = self.eval_all(elements, frame)?;
        complex::alike(&mut values);
        let Some(first) = values.first() else {
            return Err(Problem::at(
                e.span,
                "an array needs elements; write `rep_array(0, 0)` for an empty one",
            ));
        };
        let (mut ty, sizes) = (first.ty, first.sizes);
        for value in &values {
            ty = match ty.common(value.ty) {
                Some(ty) if value.sizes == sizes => ty,
                _ => {
                    let message =
                        format!("elements of an array have one type and size, not {ty} and {}", value.ty);
                    return Err(Problem::at(e.span, message));
                }
            };
        }
        let sizes = [&[values.len()], sizes.to_vec().as_slice()].concat();
        Ok(joined(ty.array(1), &sizes, &values))
    }

    /// `[a, b]`: a row vector of numbers, a matrix of row vectors.
    fn eval_row(&mut self, e: &Expr, elements: &[Expr], frame: &mut Frame) -> Result<Value> {
        let mut values = self.eval_all(elements, frame)?;
        if complex::alike(&mut values) {
            return complex::row(&values).map_err(|m| Problem::at(e.span, m));
        }
        let all = |f: &dyn Fn(&Value) -> bool| values.iter().all(f);
        if all(&|value| value.is_scalar()) {
            return Ok(joined(Ty::ROW, &[values.len()], &values));
        }
        let length = values[0].elements();
        match all(&|value| {
            value.ty.arrays == 0 && value.ty.base == Base::RowVector && value.elements() == length
        }) {
            true => Ok(joined(Ty::MATRIX, &[values.len(), length], &values)),
            false => Err(Problem::at(
                e.span,
                "`[a, b]` needs numbers, or row vectors of one size; `{a, b}` makes an array",
            )),
        }
    }
}

/// Values one after the other.
pub(crate) fn joined(ty: Ty, sizes: &[usize], values: &[Value]) -> Value {
    if let Some(all) = values.iter().map(Value::known).collect::<Option<Vec<_>>>() {
        return Value::known_of(ty, sizes, all.concat());
    }
    Value::of_cells(ty, sizes, values.iter().flat_map(Value::cells).collect())
}
