//! Read statements.

use super::Parser;
use crate::ast::{BinaryOp, Expr, ExprKind, LValue, Stmt, StmtKind};
use crate::error::{Problem, Result};
use crate::lexer::Token;

impl Parser {
    /// One statement, or all variables of one declaration.
    pub(super) fn statement(&mut self, all: &mut Vec<Stmt>) -> Result<()> {
        if self.is_declaration() {
            return self.declaration(all);
        }
        let start = self.span();
        let kind = self.nested(|p| p.statement_kind())?;
        let span = start.until(self.last_span());
        all.push(Stmt { kind, span });
        Ok(())
    }

    /// The body of a loop or of a branch.
    fn body(&mut self) -> Result<Box<Stmt>> {
        let start = self.span();
        let mut all = Vec::new();
        self.statement(&mut all)?;
        match all.len() {
            1 => Ok(Box::new(all.remove(0))),
            _ => Ok(Box::new(Stmt { kind: StmtKind::Block(all), span: start.until(self.last_span()) })),
        }
    }

    fn statement_kind(&mut self) -> Result<StmtKind> {
        let Token::Name(name) = self.peek().clone() else {
            if self.takes(";") {
                return Ok(StmtKind::Empty);
            }
            if self.is("{") && !self.is_array() {
                return self.block();
            }
            return self.other();
        };
        match name.as_str() {
            "for" => self.for_loop(),
            "while" => {
                self.advance();
                let condition = self.condition()?;
                Ok(StmtKind::While { condition, body: self.body()? })
            }
            "if" => {
                self.advance();
                let condition = self.condition()?;
                let then = self.body()?;
                let otherwise = if self.takes_name("else") { Some(self.body()?) } else { None };
                Ok(StmtKind::If { condition, then, otherwise })
            }
            "profile" if *self.ahead(1) == Token::Sign("(") => {
                self.advance();
                self.arguments()?;
                self.block()
            }
            "return" => {
                self.advance();
                let value = if self.is(";") { None } else { Some(self.expression()?) };
                self.end(StmtKind::Return(value))
            }
            "break" => {
                self.advance();
                self.end(StmtKind::Break)
            }
            "continue" => {
                self.advance();
                self.end(StmtKind::Continue)
            }
            "print" => {
                self.advance();
                self.arguments()?;
                self.end(StmtKind::Print)
            }
            "reject" | "fatal_error" => {
                self.advance();
                let said = self.arguments()?;
                self.end(StmtKind::Reject(said))
            }
            "target" if *self.ahead(1) == Token::Sign("+=") => {
                self.advance();
                self.advance();
                let value = self.expression()?;
                self.end(StmtKind::Target(value))
            }
            "jacobian" if *self.ahead(1) == Token::Sign("+=") => {
                self.advance();
                self.advance();
                let value = self.expression()?;
                self.end(StmtKind::Target(value))
            }
            "increment_log_prob" => {
                self.advance();
                let mut arguments = self.arguments()?;
                match arguments.len() {
                    1 => self.end(StmtKind::Target(arguments.remove(0))),
                    _ => Err(Problem::at(self.last_span(), "increment_log_prob has one argument")),
                }
            }
            _ => self.other(),
        }
    }

    /// Whether a brace here begins an array, which something is said about: `{1, 2} ~ …`.
    fn is_array(&self) -> bool {
        let mut depth = 0usize;
        for ahead in 0.. {
            match self.ahead(ahead) {
                Token::Sign("{") => depth += 1,
                Token::Sign("}") if depth == 1 => {
                    return matches!(self.ahead(ahead + 1), Token::Sign("~" | "[" | "'"));
                }
                Token::Sign("}") => depth -= 1,
                Token::Sign(";") | Token::End => return false,
                _ => {}
            }
        }
        false
    }

    fn end(&mut self, kind: StmtKind) -> Result<StmtKind> {
        self.expect(";")?;
        Ok(kind)
    }

    fn block(&mut self) -> Result<StmtKind> {
        self.expect("{")?;
        let statements = self.statements()?;
        self.expect("}")?;
        Ok(StmtKind::Block(statements))
    }

    fn condition(&mut self) -> Result<Expr> {
        self.expect("(")?;
        let condition = self.expression()?;
        self.expect(")")?;
        Ok(condition)
    }

    fn for_loop(&mut self) -> Result<StmtKind> {
        self.advance();
        self.expect("(")?;
        let name = self.name("the name of the loop's variable")?;
        if !self.takes_name("in") {
            return Err(Problem::at(self.span(), format!("expected `in`, not {}", self.shown())));
        }
        let from = self.expression()?;
        if self.takes(":") {
            let to = self.expression()?;
            self.expect(")")?;
            return Ok(StmtKind::For { slot: 0, name, from, to, body: self.body()? });
        }
        self.expect(")")?;
        Ok(StmtKind::ForEach { slot: 0, name, over: from, body: self.body()? })
    }

    /// An assignment, a `~` or a call.
    fn other(&mut self) -> Result<StmtKind> {
        let value = self.expression()?;
        if self.takes("~") {
            return self.sampling(value);
        }
        let op = match self.peek() {
            Token::Sign("=" | "<-") => None,
            Token::Sign("+=") => Some(BinaryOp::Add),
            Token::Sign("-=") => Some(BinaryOp::Sub),
            Token::Sign("*=") => Some(BinaryOp::Mul),
            Token::Sign("/=") => Some(BinaryOp::Div),
            Token::Sign(".*=") => Some(BinaryOp::TimesEach),
            Token::Sign("./=") => Some(BinaryOp::DivEach),
            Token::Sign(";") if matches!(value.kind, ExprKind::Call { .. }) => {
                return self.end(StmtKind::Call(value));
            }
            _ => {
                let message = format!("expected `=`, `~` or `;` after this, not {}", self.shown());
                return Err(Problem::at(value.span, message));
            }
        };
        self.advance();
        let target = place(value)?;
        let value = self.expression()?;
        self.end(StmtKind::Assign { target, op, value })
    }

    /// `x ~ normal(0, 1) T[0, ];`
    fn sampling(&mut self, value: Expr) -> Result<StmtKind> {
        let name = self.name("the name of a distribution")?;
        let arguments = self.arguments()?;
        let mut truncation = None;
        if self.is_name("T") {
            self.advance();
            self.expect("[")?;
            let low = if self.is(",") { None } else { Some(self.expression()?) };
            self.expect(",")?;
            let high = if self.is("]") { None } else { Some(self.expression()?) };
            self.expect("]")?;
            truncation = Some((low, high));
        }
        self.end(StmtKind::Sample { value, name, arguments, truncation })
    }
}

/// What is assigned to, of an expression on the left.
fn place(expr: Expr) -> Result<LValue> {
    let span = expr.span;
    let (mut indices, mut inner) = (Vec::new(), expr);
    loop {
        match inner.kind {
            ExprKind::Index(of, own) => {
                indices.push(own);
                inner = *of;
            }
            ExprKind::Var { name, slot } => {
                indices.reverse();
                return Ok(LValue { name, slot, indices, span });
            }
            _ => {
                let message = "only variables and their elements can be assigned to";
                return Err(Problem::at(span, message));
            }
        }
    }
}
