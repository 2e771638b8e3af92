//! Read expressions, by the strength of their operators.

use super::Parser;
use crate::ast::{BinaryOp, Expr, ExprKind, Index, UnaryOp};
use crate::error::{Problem, Result, Span};
use crate::lexer::Token;

/// Strength of an operator, and the operator.
fn binary(token: &Token) -> Option<(u8, BinaryOp)> {
    use BinaryOp::*;
    let Token::Sign(sign) = token else { return None };
    Some(match *sign {
        "||" => (2, Or),
        "&&" => (3, And),
        "==" => (4, Equal),
        "!=" => (4, NotEqual),
        "<" => (5, Less),
        "<=" => (5, LessEqual),
        ">" => (5, Greater),
        ">=" => (5, GreaterEqual),
        "+" => (6, Add),
        "-" => (6, Sub),
        "*" => (7, Mul),
        "/" => (7, Div),
        "%" => (7, Mod),
        ".*" => (7, TimesEach),
        "./" => (7, DivEach),
        "\\" => (8, LeftDiv),
        "%/%" => (8, IntDiv),
        "^" => (10, Pow),
        ".^" => (10, PowEach),
        _ => return None,
    })
}

/// Strength of signs before an expression, and of powers.
const PREFIX: u8 = 9;
const POWER: u8 = 10;
/// Bounds end at `>`, so comparisons need parentheses there.
const BOUND: u8 = 6;

impl Parser {
    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.nested(|p| {
            let condition = p.operators(2)?;
            if !p.takes("?") {
                return Ok(condition);
            }
            let then = p.expression()?;
            p.expect(":")?;
            let otherwise = p.expression()?;
            let span = condition.span.until(otherwise.span);
            let kind = ExprKind::Conditional(Box::new(condition), Box::new(then), Box::new(otherwise));
            Ok(p.make(kind, span))
        })
    }

    /// A bound of a declared variable.
    pub(super) fn bound(&mut self) -> Result<Expr> {
        self.operators(BOUND)
    }

    fn make(&mut self, kind: ExprKind, span: Span) -> Expr {
        Expr { kind, span, id: self.new_id() }
    }

    /// Operators at least so strong.
    fn operators(&mut self, strength: u8) -> Result<Expr> {
        self.nested(|p| {
            let mut left = p.prefix()?;
            let mut count = 0;
            while let Some((own, op)) = binary(p.peek()).filter(|(own, _)| *own >= strength) {
                p.advance();
                // Powers are taken from the right.
                let right = p.operators(if own == POWER { POWER } else { own + 1 })?;
                let span = left.span.until(right.span);
                left = p.make(ExprKind::Binary(op, Box::new(left), Box::new(right)), span);
                count += 1;
                if count > 1000 {
                    return Err(Problem::at(
                        span,
                        "more than 1000 operators in a row; give parts names of their own",
                    ));
                }
            }
            Ok(left)
        })
    }

    fn prefix(&mut self) -> Result<Expr> {
        let span = self.span();
        let op = match self.peek() {
            Token::Sign("-") => UnaryOp::Minus,
            Token::Sign("+") => UnaryOp::Plus,
            Token::Sign("!") => UnaryOp::Not,
            _ => return self.postfix(),
        };
        self.advance();
        let inner = self.operators(PREFIX)?;
        let span = span.until(inner.span);
        Ok(self.make(ExprKind::Unary(op, Box::new(inner)), span))
    }

    fn postfix(&mut self) -> Result<Expr> {
        let mut expr = self.primary()?;
        let mut count = 0;
        loop {
            let start = expr.span;
            if self.is("[") {
                let indices = self.indices()?;
                let span = start.until(self.last_span());
                expr = self.make(ExprKind::Index(Box::new(expr), indices), span);
            } else if self.takes("'") {
                let span = start.until(self.last_span());
                expr = self.make(ExprKind::Unary(UnaryOp::Transpose, Box::new(expr)), span);
            } else {
                return Ok(expr);
            }
            count += 1;
            if count > 50 {
                return Err(Problem::at(start, "more than 50 indices or transposes in a row"));
            }
        }
    }

    /// `[i, :, a:b]`
    pub(super) fn indices(&mut self) -> Result<Vec<Index>> {
        self.expect("[")?;
        let mut all = Vec::new();
        loop {
            if self.is(",") || self.is("]") {
                all.push(Index::All);
            } else if self.takes(":") {
                let end = if self.is(",") || self.is("]") { None } else { Some(self.expression()?) };
                all.push(if end.is_none() { Index::All } else { Index::Range(None, end) });
            } else {
                let first = self.expression()?;
                if self.takes(":") {
                    let end = if self.is(",") || self.is("]") { None } else { Some(self.expression()?) };
                    all.push(Index::Range(Some(first), end));
                } else {
                    all.push(Index::One(first));
                }
            }
            if !self.takes(",") {
                break;
            }
        }
        self.expect("]")?;
        Ok(all)
    }

    fn primary(&mut self) -> Result<Expr> {
        let span = self.span();
        match self.peek().clone() {
            Token::Int(number) => {
                self.advance();
                Ok(self.make(ExprKind::Int(number), span))
            }
            Token::Real(number) => {
                self.advance();
                Ok(self.make(ExprKind::Real(number), span))
            }
            Token::Imaginary(number) => {
                self.advance();
                Ok(self.make(ExprKind::Imaginary(number), span))
            }
            Token::Text(text) => {
                self.advance();
                Ok(self.make(ExprKind::Text(text), span))
            }
            Token::Name(name) => {
                self.advance();
                if !self.is("(") {
                    return Ok(self.make(ExprKind::Var { name, slot: 0 }, span));
                }
                let arguments = self.arguments()?;
                let span = span.until(self.last_span());
                Ok(self.make(ExprKind::Call { name, arguments }, span))
            }
            Token::Sign("(") => {
                self.advance();
                let inner = self.expression()?;
                if self.is(",") {
                    return Err(Problem::at(
                        self.span(),
                        "tuples are not supported; use a variable for each value",
                    ));
                }
                self.expect(")")?;
                Ok(Expr { span: span.until(self.last_span()), ..inner })
            }
            Token::Sign("{") => {
                let elements = self.list("{", "}")?;
                let span = span.until(self.last_span());
                Ok(self.make(ExprKind::Array(elements), span))
            }
            Token::Sign("[") => {
                let elements = self.list("[", "]")?;
                let span = span.until(self.last_span());
                Ok(self.make(ExprKind::Row(elements), span))
            }
            _ => Err(Problem::at(span, format!("expected an expression, not {}", self.shown()))),
        }
    }

    fn list(&mut self, open: &str, close: &str) -> Result<Vec<Expr>> {
        self.expect(open)?;
        let mut all = Vec::new();
        while !self.is(close) {
            if !all.is_empty() {
                self.expect(",")?;
            }
            all.push(self.expression()?);
        }
        self.expect(close)?;
        Ok(all)
    }

    /// `(x | a, b)` or `(a, b)`
    pub(super) fn arguments(&mut self) -> Result<Vec<Expr>> {
        self.expect("(")?;
        let mut all = Vec::new();
        while !self.is(")") {
            // A density has `|` behind its value.
            let separated = all.is_empty() || (all.len() == 1 && self.takes("|"));
            if !separated {
                self.expect(",")?;
            }
            // `std_normal_lpdf(x | )` has no more.
            if all.len() == 1 && self.is(")") && matches!(self.tokens[self.at - 1].token, Token::Sign("|")) {
                break;
            }
            all.push(self.expression()?);
        }
        self.expect(")")?;
        Ok(all)
    }
}
