//! Take both sides of a condition that depends on parameters, and choose between what they leave.

use super::{Flow, Frame, Machine, same};
use crate::ast::Stmt;
use crate::error::{Problem, Result, Span};
use crate::value::{Cell, Value};

impl<'p> Machine<'p> {
    pub(super) fn branch(
        &mut self,
        condition: &Value,
        then: &'p Stmt,
        otherwise: Option<&'p Stmt>,
        span: Span,
        frame: &mut Frame,
    ) -> Result<Flow> {
        let site = self.site;
        let before = self.target.len();
        let mut other = frame.clone();
        self.branches += 1;
        let waiting = self.waiting();
        let first = self.exec(then, frame)?;
        self.restrict(waiting, condition).map_err(|m| Problem::at(span, m))?;
        let waiting = self.waiting();
        let first_target = self.target.split_off(before);
        let second = match otherwise {
            Some(statement) => self.exec(statement, &mut other)?,
            None => Flow::Next,
        };
        if self.waiting() > waiting {
            let otherwise = self.map("logical_negation", &[condition]).map_err(|m| Problem::at(span, m))?;
            self.restrict(waiting, &otherwise).map_err(|m| Problem::at(span, m))?;
        }
        self.branches -= 1;
        let second_target = self.target.split_off(before);
        self.site = site;
        let zero = Value::num(0.0);
        for value in first_target {
            let part = self.select(condition, &value, &zero).map_err(|m| Problem::at(span, m))?;
            self.target.push(part);
        }
        for value in second_target {
            let part = self.select(condition, &zero, &value).map_err(|m| Problem::at(span, m))?;
            self.target.push(part);
        }
        match (first, second) {
            (Flow::Next, Flow::Next) => {
                self.merge(condition, frame, &other).map_err(|m| Problem::at(span, m))?;
                Ok(Flow::Next)
            }
            (Flow::Return(a), Flow::Return(b)) => {
                Ok(Flow::Return(self.select(condition, &a, &b).map_err(|m| Problem::at(span, m))?))
            }
            (Flow::Return(a), Flow::Next) => {
                *frame = other;
                self.wait(condition.clone(), a, span)
            }
            (Flow::Next, Flow::Return(b)) => {
                let condition =
                    self.map("logical_negation", &[condition]).map_err(|m| Problem::at(span, m))?;
                self.wait(condition, b, span)
            }
            _ => {
                let message =
                    "`break` and `continue` here depend on a parameter; write a condition on the data";
                Err(Problem::at(span, message))
            }
        }
    }

    /// Number of values that wait to be returned.
    pub(super) fn waiting(&self) -> usize {
        self.pending.last().map_or(0, Vec::len)
    }

    /// Lets values that one side returns wait for the condition of that side, too.
    fn restrict(&mut self, from: usize, side: &Value) -> std::result::Result<(), String> {
        for i in from..self.waiting() {
            let Some(own) = self.pending.last().map(|pending| pending[i].0.clone()) else { continue };
            let both = self.map("logical_and", &[side, &own])?;
            if let Some(pending) = self.pending.last_mut() {
                pending[i].0 = both;
            }
        }
        Ok(())
    }

    /// A value that is returned if a condition holds, while the rest is computed for where it does not.
    fn wait(&mut self, condition: Value, value: Value, span: Span) -> Result<Flow> {
        match self.pending.last_mut() {
            Some(pending) => {
                pending.push((condition, value));
                Ok(Flow::Next)
            }
            None => Err(Problem::at(span, "`return` stands in functions only")),
        }
    }

    fn merge(
        &mut self,
        condition: &Value,
        frame: &mut Frame,
        other: &Frame,
    ) -> std::result::Result<(), String> {
        for (own, other) in frame.iter_mut().zip(other) {
            if !same(own, other) {
                *own = self.choose(condition, own, other)?;
            }
        }
        Ok(())
    }

    /// A choice between values of which most elements may be the same.
    fn choose(&mut self, condition: &Value, a: &Value, b: &Value) -> std::result::Result<Value, String> {
        if a.sizes != b.sizes {
            // A variable of one side alone, which nobody sees afterwards.
            return Ok(a.clone());
        }
        let (mut cells, others) = (a.cells(), b.cells());
        let differ: Vec<usize> = (0..cells.len()).filter(|&i| !same_cell(cells[i], others[i])).collect();
        let sizes = [differ.len()];
        let part = |value: &Value| value.pick(crate::types::Ty::VECTOR, &sizes, differ.iter().copied());
        let chosen = self.select(condition, &part(a), &part(b))?;
        for (i, &place) in differ.iter().enumerate() {
            cells[place] = chosen.cell(i);
        }
        Ok(Value::of_cells(a.ty, &a.sizes.to_vec(), cells))
    }
}

fn same_cell(a: Cell, b: Cell) -> bool {
    match (a, b) {
        (Cell::Known(a), Cell::Known(b)) => a.to_bits() == b.to_bits(),
        _ => a == b,
    }
}
