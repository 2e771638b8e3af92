//! Cut the text of a program into tokens.

use crate::error::{Problem, Result, Span};

/// A word, number or sign of a program.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Token {
    Name(String),
    Int(i64),
    Real(f64),
    /// `2i`: a part of a complex number.
    Imaginary(f64),
    Text(String),
    Sign(&'static str),
    End,
}

/// A token with its place.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Lexeme {
    pub(crate) token: Token,
    pub(crate) span: Span,
}

/// Signs, longer ones first.
const SIGNS: [&str; 42] = [
    ".*=", "./=", "%/%", "+=", "-=", "*=", "/=", "==", "!=", "<=", ">=", "<-", "&&", "||", ".*", "./", ".^",
    "{", "}", "(", ")", "[", "]", "<", ">", "=", "+", "-", "*", "/", "%", "\\", "^", "!", "?", ":", ";", ",",
    "|", "~", "'", ".",
];

/// All tokens of a text, the end included.
pub(crate) fn tokens(text: &str) -> Result<Vec<Lexeme>> {
    let mut lexer = Lexer { text, at: 0 };
    let mut all = Vec::new();
    loop {
        lexer.skip_blank()?;
        let from = lexer.at;
        let token = lexer.token()?;
        let span = Span { from: from as u32, to: lexer.at as u32 };
        let end = token == Token::End;
        all.push(Lexeme { token, span });
        if end {
            return Ok(all);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn span(&self, length: usize) -> Span {
        Span { from: self.at as u32, to: (self.at + length) as u32 }
    }

    /// Blanks and comments.
    fn skip_blank(&mut self) -> Result<()> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            let blank = rest.len() - trimmed.len();
            if blank > 0 {
                self.at += blank;
            } else if rest.starts_with("#include") {
                let message = "this text has no folder to include from; open the program by its file";
                return Err(Problem::at(self.span(8), message));
            } else if rest.starts_with("//") || rest.starts_with('#') {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                match rest.find("*/") {
                    Some(end) => self.at += end + 2,
                    None => return Err(Problem::at(self.span(2), "this comment has no end; write `*/`")),
                }
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(Token::End) };
        let second_is_digit = rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        if first.is_ascii_alphabetic() {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let name = rest[..length].to_owned();
            self.at += length;
            return Ok(Token::Name(name));
        }
        if first.is_ascii_digit() || (first == '.' && second_is_digit) {
            return self.number();
        }
        if first == '"' {
            let Some(end) = rest[1..].find('"') else {
                return Err(Problem::at(self.span(1), "this text has no end; write `\"`"));
            };
            let text = rest[1..=end].to_owned();
            self.at += end + 2;
            return Ok(Token::Text(text));
        }
        match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => {
                self.at += sign.len();
                Ok(Token::Sign(sign))
            }
            None => {
                let message = format!("`{first}` has no meaning in a Stan program");
                Err(Problem::at(self.span(first.len_utf8()), message))
            }
        }
    }

    fn number(&mut self) -> Result<Token> {
        let bytes = self.rest().as_bytes();
        let digits = |mut at: usize| {
            while bytes.get(at).is_some_and(|b| b.is_ascii_digit() || *b == b'_') {
                at += 1;
            }
            at
        };
        let mut end = digits(0);
        let mut real = false;
        // `1.*x` and `1./x` are products and quotients, element by element.
        if bytes.get(end) == Some(&b'.') && !matches!(bytes.get(end + 1), Some(b'*' | b'/' | b'^')) {
            real = true;
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let after = digits(end + 1 + sign);
            if after > end + 1 + sign {
                real = true;
                end = after;
            }
        }
        let span = self.span(end);
        let text = self.rest()[..end].replace('_', "");
        if bytes.get(end) == Some(&b'i') && !bytes.get(end + 1).is_some_and(|b| b.is_ascii_alphanumeric()) {
            self.at += end + 1;
            let number = text.parse().map(Token::Imaginary);
            return number.map_err(|_| Problem::at(span, format!("`{text}` is not a number")));
        }
        self.at += end;
        if real {
            let number = text.parse().map(Token::Real);
            return number.map_err(|_| Problem::at(span, format!("`{text}` is not a number")));
        }
        match text.parse::<i64>() {
            Ok(number) if number <= i64::from(i32::MAX) => Ok(Token::Int(number)),
            _ => Err(Problem::at(
                span,
                format!("{text} is beyond the largest integer, 2147483647; write {text}.0"),
            )),
        }
    }
}
