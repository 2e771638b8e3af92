//! Check statements.

use std::collections::HashMap;

use super::{Checker, Place};
use crate::ast::{Constraint, Declared, Expr, LValue, Stmt, StmtKind};
use crate::error::{Problem, Result, Span};
use crate::functions::density;
use crate::machine::{binary_type, find_function};
use crate::types::{Base, Ty};

impl Checker {
    pub(super) fn statements(&mut self, all: &mut [Stmt]) -> Result<()> {
        all.iter_mut().try_for_each(|statement| self.statement(statement))
    }

    /// A statement with variables of its own.
    fn scoped(&mut self, statement: &mut Stmt) -> Result<()> {
        self.scopes.push(HashMap::new());
        let found = self.statement(statement);
        self.scopes.pop();
        found
    }

    pub(super) fn statement(&mut self, statement: &mut Stmt) -> Result<()> {
        let span = statement.span;
        match &mut statement.kind {
            StmtKind::Declare { name, declared, value, slot } => {
                self.declared(declared)?;
                if let Some(value) = value {
                    self.expect(value, declared.ty, &format!("`{name}`"))?;
                }
                let writable = !matches!(self.place, Place::Data | Place::Parameters);
                *slot = self.declare(name, declared.ty, writable, span)?;
            }
            StmtKind::Assign { target, op, value } => {
                let ty = self.target(target)?;
                let mut found = self.expr(value)?;
                if let Some(op) = op {
                    let both = binary_type(*op, ty, found);
                    found = both.ok_or_else(|| {
                        Problem::at(span, format!("`{}=` has no meaning for {ty} and {found}", op.sign()))
                    })?;
                }
                if !ty.takes(found) {
                    let message = format!("`{}` is {ty} here, and cannot be {found}", target.name);
                    return Err(Problem::at(value.span, message));
                }
            }
            StmtKind::Target(value) => {
                self.adds(span)?;
                let ty = self.expr(value)?;
                if matches!(ty.base, Base::Void | Base::Other) {
                    return Err(Problem::at(value.span, format!("the log density is of numbers, not {ty}")));
                }
            }
            StmtKind::Sample { value, name, arguments, truncation } => {
                self.adds(span)?;
                let mut types = vec![self.expr(value)?];
                for argument in arguments.iter_mut() {
                    types.push(self.expr(argument)?);
                }
                let own = |ending: &str| {
                    find_function(&self.functions, &format!("{name}{ending}"), &types).is_some()
                };
                if !["_lpdf", "_lpmf", "_log"].iter().any(|ending| own(ending)) {
                    density::check_types(name, &types).map_err(|message| Problem::at(span, message))?;
                }
                if let Some((low, high)) = truncation {
                    for bound in [low, high].into_iter().flatten() {
                        self.expect(bound, Ty::REAL, "a bound of a truncation")?;
                    }
                }
            }
            StmtKind::If { condition, then, otherwise } => {
                self.condition(condition)?;
                self.scoped(then)?;
                if let Some(otherwise) = otherwise {
                    self.scoped(otherwise)?;
                }
            }
            StmtKind::For { slot, name, from, to, body } => {
                self.expect(from, Ty::INT, "the begin of a loop")?;
                self.expect(to, Ty::INT, "the end of a loop")?;
                *slot = self.in_loop(name, Ty::INT, body, span)?;
            }
            StmtKind::ForEach { slot, name, over, body } => {
                let ty = self.expr(over)?;
                let part = if ty == Ty::MATRIX { Some(Ty::REAL) } else { ty.part() };
                let part = part.ok_or_else(|| {
                    Problem::at(
                        over.span,
                        format!("a loop goes over an array, a vector or a matrix, not {ty}"),
                    )
                })?;
                *slot = self.in_loop(name, part, body, span)?;
            }
            StmtKind::While { condition, body } => {
                self.condition(condition)?;
                self.loops += 1;
                self.scoped(body)?;
                self.loops -= 1;
            }
            StmtKind::Block(all) => {
                self.scopes.push(HashMap::new());
                let found = self.statements(all);
                self.scopes.pop();
                found?;
            }
            StmtKind::Call(call) => {
                let ty = self.expr(call)?;
                if ty != Ty::VOID {
                    return Err(Problem::at(
                        span,
                        format!("this gives {ty}, which is not used; assign it to a variable"),
                    ));
                }
            }
            StmtKind::Return(value) => {
                let Some(result) = self.result else {
                    return Err(Problem::at(span, "`return` stands in functions only"));
                };
                match value {
                    Some(value) => self.expect(value, result, "the result")?,
                    None if result == Ty::VOID => {}
                    None => return Err(Problem::at(span, format!("this function returns {result}"))),
                }
            }
            StmtKind::Break | StmtKind::Continue if self.loops == 0 => {
                return Err(Problem::at(span, "`break` and `continue` stand in loops only"));
            }
            StmtKind::Reject(said) => {
                for e in said {
                    self.expr(e)?;
                }
            }
            StmtKind::Print | StmtKind::Empty | StmtKind::Break | StmtKind::Continue => {}
        }
        Ok(())
    }

    fn adds(&self, span: Span) -> Result<()> {
        match self.place {
            Place::Model | Place::Function { adds: true, .. } | Place::TransformedParameters => Ok(()),
            _ => {
                Err(Problem::at(span, "only the model, and functions ending in _lp, add to the log density"))
            }
        }
    }

    fn condition(&mut self, condition: &mut Expr) -> Result<()> {
        let ty = self.expr(condition)?;
        match ty.is_scalar() {
            true => Ok(()),
            false => Err(Problem::at(condition.span, format!("a condition is a number, not {ty}"))),
        }
    }

    fn in_loop(&mut self, name: &str, ty: Ty, body: &mut Stmt, span: Span) -> Result<usize> {
        self.scopes.push(HashMap::new());
        self.loops += 1;
        let slot = self.declare(name, ty, false, span);
        let found = slot.and_then(|slot| self.scoped(body).map(|()| slot));
        self.loops -= 1;
        self.scopes.pop();
        found
    }

    fn declared(&mut self, declared: &mut Declared) -> Result<()> {
        for size in &mut declared.sizes {
            self.expect(size, Ty::INT, "a size")?;
        }
        let bounds = match &mut declared.constraint {
            Constraint::Bounds { lower, upper } => [lower, upper],
            Constraint::Affine { offset, multiplier } => [offset, multiplier],
            _ => return Ok(()),
        };
        for bound in bounds.into_iter().flatten() {
            let ty = self.expr(bound)?;
            let fits = ty.is_scalar() || ty.rank() <= declared.ty.rank();
            if !fits || matches!(ty.base, Base::Void | Base::Other) {
                return Err(Problem::at(
                    bound.span,
                    format!("a bound of {} is a number, not {ty}", declared.ty),
                ));
            }
        }
        Ok(())
    }

    /// The type of what is assigned to.
    fn target(&mut self, target: &mut LValue) -> Result<Ty> {
        let Some(known) = self.find(&target.name) else {
            return Err(self.unknown(&target.name, target.span));
        };
        if known.writable != Some(self.place) {
            let message = format!(
                "`{}` cannot be assigned to here; declare a variable of another name and assign to that",
                target.name
            );
            return Err(Problem::at(target.span, message));
        }
        target.slot = known.slot;
        let mut ty = known.ty;
        for own in &mut target.indices {
            ty = self.indices(ty, own, target.span)?;
        }
        Ok(ty)
    }
}
