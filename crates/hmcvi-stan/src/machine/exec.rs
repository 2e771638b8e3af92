//! Run statements.

use super::{Flow, Frame, Machine};
use crate::ast::{BinaryOp, Expr, ExprKind, LValue, Stmt, StmtKind};
use crate::error::{Problem, Result, Span};
use crate::functions::{self, density};
use crate::model::{declared, uniform};
use crate::value::Value;

impl<'p> Machine<'p> {
    pub(crate) fn exec_all(&mut self, statements: &'p [Stmt], frame: &mut Frame) -> Result<Flow> {
        for statement in statements {
            match self.exec(statement, frame)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    pub(crate) fn exec(&mut self, statement: &'p Stmt, frame: &mut Frame) -> Result<Flow> {
        self.step(statement.span)?;
        match &statement.kind {
            StmtKind::Declare { .. } => self.declare(statement, frame)?,
            StmtKind::Assign { target, op, value } => {
                let new = self.eval(value, frame)?;
                let new = match op {
                    None => new,
                    Some(op) => self.update(target, *op, new, value, frame)?,
                };
                self.assign(target, new, frame)?;
            }
            StmtKind::Target(value) => {
                let value = self.eval(value, frame)?;
                self.add_target(value);
            }
            StmtKind::Sample { value, name, arguments, truncation } => {
                self.sample(statement.span, value, name, arguments, truncation.as_ref(), frame)?;
            }
            StmtKind::If { condition, then, otherwise } => {
                let condition = self.eval(condition, frame)?;
                return match condition.number() {
                    Some(0.0) => otherwise.as_ref().map_or(Ok(Flow::Next), |s| self.exec(s, frame)),
                    Some(_) => self.exec(then, frame),
                    None => self.branch(&condition, then, otherwise.as_deref(), statement.span, frame),
                };
            }
            StmtKind::For { slot, from, to, body, .. } => {
                let (from, to) = (self.eval_int(from, frame)?, self.eval_int(to, frame)?);
                let mut at = from;
                while at <= to {
                    frame[*slot] = Value::int(at);
                    match self.exec(body, frame)? {
                        Flow::Break => break,
                        Flow::Return(value) => return Ok(Flow::Return(value)),
                        Flow::Next | Flow::Continue => {}
                    }
                    at += 1.0;
                }
            }
            StmtKind::ForEach { slot, over, body, .. } => return self.for_each(*slot, over, body, frame),
            StmtKind::While { condition, body } => loop {
                let truth = self.eval(condition, frame)?;
                match truth.number() {
                    Some(0.0) => break,
                    Some(_) => {}
                    None => {
                        let message = "this condition depends on a parameter; `while` needs one that is known from the data";
                        return Err(Problem::at(condition.span, message));
                    }
                }
                match self.exec(body, frame)? {
                    Flow::Break => break,
                    Flow::Return(value) => return Ok(Flow::Return(value)),
                    Flow::Next | Flow::Continue => {}
                }
            },
            StmtKind::Block(statements) => return self.exec_all(statements, frame),
            StmtKind::Call(call) => {
                self.eval(call, frame)?;
            }
            StmtKind::Return(value) => {
                let value = value.as_ref().map_or(Ok(Value::void()), |e| self.eval(e, frame))?;
                return Ok(Flow::Return(value));
            }
            StmtKind::Break => return Ok(Flow::Break),
            StmtKind::Continue => return Ok(Flow::Continue),
            // On one side of a condition on parameters: those values have no density.
            StmtKind::Reject(_) if self.branches > 0 => self.add_target(Value::num(f64::NEG_INFINITY)),
            StmtKind::Reject(parts) => {
                let said = self.said(parts, frame)?;
                let colon = if said.is_empty() { "" } else { ": " };
                let message = format!("the program rejects its values here{colon}{said}");
                return Err(Problem::at(statement.span, message));
            }
            StmtKind::Print | StmtKind::Empty => {}
        }
        Ok(Flow::Next)
    }

    /// Texts and values as a statement says them, one after the other.
    fn said(&mut self, parts: &[Expr], frame: &mut Frame) -> Result<String> {
        let mut all = String::new();
        for e in parts {
            match &e.kind {
                ExprKind::Text(text) => all.push_str(text),
                _ => all.push_str(&self.eval(e, frame)?.in_words()),
            }
        }
        Ok(all)
    }

    fn for_each(&mut self, slot: usize, over: &Expr, body: &'p Stmt, frame: &mut Frame) -> Result<Flow> {
        let over = self.eval(over, frame)?;
        // Matrices are walked through by columns.
        let over = if over.ty == crate::types::Ty::MATRIX {
            functions::matrix::transpose(&over).with(crate::types::Ty::VECTOR, &[over.elements()])
        } else {
            over
        };
        let part = over.ty.part().ok_or("loops go over arrays, vectors and matrices")?;
        let sizes = &over.sizes.to_vec()[1..];
        let length: usize = sizes.iter().product();
        for i in 0..over.sizes.at(0) {
            frame[slot] = over.slice(part, sizes, i * length);
            match self.exec(body, frame)? {
                Flow::Break => break,
                Flow::Return(value) => return Ok(Flow::Return(value)),
                Flow::Next | Flow::Continue => {}
            }
        }
        Ok(Flow::Next)
    }

    fn declare(&mut self, statement: &'p Stmt, frame: &mut Frame) -> Result<()> {
        let StmtKind::Declare { declared, value, slot, name } = &statement.kind else { return Ok(()) };
        let sizes = declared::sizes(self, declared, frame)?;
        let ty = declared.ty;
        frame[*slot] = self.empty(ty, &sizes).map_err(|m| Problem::at(statement.span, m))?;
        if let Some(e) = value {
            let new = self.eval(e, frame)?;
            let target =
                LValue { name: name.clone(), slot: *slot, indices: Vec::new(), span: statement.span };
            self.assign(&target, new, frame)?;
        }
        Ok(())
    }

    /// The new value of `x += e`.
    fn update(
        &mut self,
        target: &LValue,
        op: BinaryOp,
        new: Value,
        e: &Expr,
        frame: &mut Frame,
    ) -> Result<Value> {
        let mut old = frame[target.slot].clone();
        for own in &target.indices {
            old = self.index(&old, own, frame).map_err(|p| p.or_at(target.span))?;
        }
        self.at(e);
        let value = self.binary(op, &old, &new).map_err(|m| Problem::at(target.span, m))?;
        let ty = old.ty;
        Ok(value.typed(ty))
    }

    /// `x ~ d(a) T[l, h];`
    fn sample(
        &mut self,
        span: Span,
        value: &Expr,
        name: &str,
        arguments: &[Expr],
        truncation: Option<&(Option<Expr>, Option<Expr>)>,
        frame: &mut Frame,
    ) -> Result<()> {
        let x = self.eval(value, frame)?;
        let mut all = vec![x];
        all.extend(self.eval_all(arguments, frame)?);
        self.at(value);
        self.span = span;
        for ending in ["_lpdf", "_lpmf", "_log"] {
            let own = format!("{name}{ending}");
            if let Some(function) = self.user_function(&own, &all) {
                let before = std::mem::replace(&mut self.calls, self.site);
                let found = self.call_user(function, all.clone(), span);
                self.calls = before;
                self.add_target(found?);
                return self.truncate(span, name, &all, truncation, frame);
            }
        }
        let keeps = self.constants;
        if name == "uniform" && self.branches == 0 && self.waiting() == 0 {
            self.uniforms.extend(uniform::said(&all[0], &all[1], &all[2]));
        }
        let log_density = density::log_density(self, name, &all, keeps).map_err(|m| Problem::at(span, m))?;
        self.add_target(log_density);
        self.truncate(span, name, &all, truncation, frame)
    }

    /// What is left of the density between two bounds, taken off.
    fn truncate(
        &mut self,
        span: Span,
        name: &str,
        all: &[Value],
        truncation: Option<&(Option<Expr>, Option<Expr>)>,
        frame: &mut Frame,
    ) -> Result<()> {
        let Some((low, high)) = truncation else { return Ok(()) };
        let low = low.as_ref().map(|e| self.eval(e, frame)).transpose()?;
        let high = high.as_ref().map(|e| self.eval(e, frame)).transpose()?;
        let mass = density::log_mass(self, name, all, low.as_ref(), high.as_ref());
        let mass = mass.map_err(|m| Problem::at(span, m))?;
        let minus = self.scale(&mass, -1.0).map_err(|m| Problem::at(span, m))?;
        self.add_target(minus);
        Ok(())
    }
}

/// Whether an expression is the name of a variable or function.
pub(crate) fn plain_name(e: &Expr) -> Option<&str> {
    match &e.kind {
        ExprKind::Var { name, .. } => Some(name),
        _ => None,
    }
}
