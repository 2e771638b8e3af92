//! Read tokens into the tree of a program.

mod declare;
mod expr;
mod stmt;

pub(crate) use declare::type_names;

use crate::ast::{Blocks, Function, Stmt};
use crate::error::{Problem, Result, Span};
use crate::lexer::{Lexeme, Token, tokens};
use crate::types::Ty;

/// Expressions and blocks may be nested so deep.
const DEEPEST: usize = 100;

pub(crate) struct Parser {
    tokens: Vec<Lexeme>,
    at: usize,
    depth: usize,
    ids: u32,
}

/// Names of the blocks, in their order.
const BLOCKS: [&str; 7] = [
    "functions",
    "data",
    "transformed data",
    "parameters",
    "transformed parameters",
    "model",
    "generated quantities",
];

/// The tree of a text.
pub(crate) fn parse(text: &str) -> Result<Blocks> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0, ids: 0 };
    let mut blocks = Blocks::default();
    let mut last = None;
    while *parser.peek() != Token::End {
        let (name, span) = parser.block_name()?;
        if last.is_some_and(|last| last >= name) {
            let message = format!(
                "the block `{}` comes once, and the blocks in this order: {}",
                BLOCKS[name],
                BLOCKS.join(", ")
            );
            return Err(Problem::at(span, message));
        }
        last = Some(name);
        parser.expect("{")?;
        match name {
            0 => blocks.functions = parser.functions()?,
            1 => blocks.data = parser.statements()?,
            2 => blocks.transformed_data = parser.statements()?,
            3 => blocks.parameters = parser.statements()?,
            4 => blocks.transformed_parameters = parser.statements()?,
            5 => blocks.model = parser.statements()?,
            _ => blocks.generated = parser.statements()?,
        }
        parser.expect("}")?;
    }
    Ok(blocks)
}

impl Parser {
    fn peek(&self) -> &Token {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> &Token {
        let at = (self.at + by).min(self.tokens.len() - 1);
        &self.tokens[at].token
    }

    /// The place of the next token.
    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// The place of the token before.
    fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn advance(&mut self) -> Token {
        let token = self.tokens[self.at].token.clone();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(found) if *found == sign)
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(self.peek(), Token::Name(found) if found == name)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        if found {
            self.advance();
        }
        found
    }

    fn takes_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.takes(sign) {
            return Ok(());
        }
        // What is missing after a line belongs behind that line.
        let span = if sign == ";" && self.at > 0 { self.last_span() } else { self.span() };
        Err(Problem::at(
            span,
            format!(
                "expected `{sign}`{} {}",
                if sign == ";" { " after this, before" } else { ", not" },
                self.shown()
            ),
        ))
    }

    /// The next token, for messages.
    fn shown(&self) -> String {
        match self.peek() {
            Token::Name(name) => format!("`{name}`"),
            Token::Int(number) => format!("`{number}`"),
            Token::Real(number) => format!("`{number}`"),
            Token::Imaginary(number) => format!("`{number}i`"),
            Token::Text(text) => format!("\"{text}\""),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end of the program".into(),
        }
    }

    fn name(&mut self, what: &str) -> Result<String> {
        match self.peek().clone() {
            Token::Name(name) => {
                self.advance();
                Ok(name)
            }
            _ => Err(Problem::at(self.span(), format!("expected {what}, not {}", self.shown()))),
        }
    }

    /// Runs a part that may contain itself, up to a depth that no program of a person has.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let message = format!("more than {DEEPEST} levels of nesting; give parts names of their own");
            return Err(Problem::at(self.span(), message));
        }
        let found = f(self);
        self.depth -= 1;
        found
    }

    fn new_id(&mut self) -> u32 {
        self.ids += 1;
        self.ids
    }

    fn block_name(&mut self) -> Result<(usize, Span)> {
        let start = self.span();
        let mut name = self.name("a block, such as `data`")?;
        if matches!(name.as_str(), "transformed" | "generated") {
            name = format!("{name} {}", self.name("the name of a block")?);
        }
        let span = start.until(self.last_span());
        match BLOCKS.iter().position(|block| *block == name) {
            Some(place) => Ok((place, span)),
            None => {
                Err(Problem::at(span, format!("`{name}` is no block; the blocks are {}", BLOCKS.join(", "))))
            }
        }
    }

    /// Statements up to a closing brace.
    fn statements(&mut self) -> Result<Vec<Stmt>> {
        let mut all = Vec::new();
        while !self.is("}") && *self.peek() != Token::End {
            self.statement(&mut all)?;
        }
        Ok(all)
    }

    fn functions(&mut self) -> Result<Vec<Function>> {
        let mut all = Vec::new();
        while !self.is("}") && *self.peek() != Token::End {
            let start = self.span();
            let result = self.unsized_type()?;
            let name = self.name("the name of a function")?;
            self.expect("(")?;
            let mut arguments: Vec<(String, Ty)> = Vec::new();
            while !self.is(")") {
                if !arguments.is_empty() {
                    self.expect(",")?;
                }
                self.takes_name("data");
                let ty = self.unsized_type()?;
                arguments.push((self.name("the name of an argument")?, ty));
            }
            self.expect(")")?;
            let span = start.until(self.last_span());
            if self.takes(";") {
                continue;
            }
            self.expect("{")?;
            let body = self.statements()?;
            self.expect("}")?;
            all.push(Function { name, span, result, arguments, body, slots: 0 });
        }
        Ok(all)
    }
}
