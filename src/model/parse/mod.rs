//! From tokens to statements: the cursor, and what every rule shares.

mod expression;
mod statement;

pub(crate) use expression::{COMPARISON, NOT, UNARY};

use super::ast::{Expr, Formula, Name, Statement};
use super::source::{Span, error_at, line_number};
use super::token::{Kind, Token, tokens};
use crate::{Error, Result};

/// Words that cannot be names.
pub(crate) const RESERVED: [&str; 9] = [
    "data", "dim", "let", "predict", "target", "and", "or", "not", "in",
];

/// Deepest nesting of brackets, and most operations in one statement: far above what people
/// write, and low enough that no text can exhaust the stack.
const NESTING: usize = 100;
const OPERATIONS: usize = 1000;

/// The statements of `text`, and the functions that it defines.
pub(crate) fn statements(text: &str) -> Result<(Vec<Statement>, Vec<Formula>)> {
    let mut parser = Parser::new(text)?;
    let mut out = Vec::new();
    loop {
        parser.skip_newlines();
        if *parser.kind() == Kind::End {
            return Ok((out, parser.formulas));
        }
        parser.operations = 0;
        parser.statement(&mut out)?;
    }
}

/// The one expression that `text` holds.
pub(crate) fn expression(text: &str) -> Result<Expr> {
    let mut parser = Parser::new(text)?;
    parser.skip_newlines();
    let out = parser.expr()?;
    parser.skip_newlines();
    match parser.kind() {
        Kind::End => Ok(out),
        _ => Err(parser.expected("an operator or the end of the expression")),
    }
}

/// Named parts, and the expression that is the value.
pub(crate) type Block = (Vec<(Name, Expr)>, Expr);

/// `let NAME = EXPRESSION` and `let NAME(arguments) = EXPRESSION` as often as wanted, then one expression; and
/// the functions.
pub(crate) fn block(text: &str) -> Result<(Block, Vec<Formula>)> {
    let mut parser = Parser::new(text)?;
    let mut lets = Vec::new();
    loop {
        parser.skip_newlines();
        parser.operations = 0;
        if !parser.take_word("let") {
            break;
        }
        if matches!(parser.kind_after(), Kind::Sign("(")) {
            let formula = parser.formula()?;
            parser.formulas.push(formula);
        } else {
            let name = parser.name("a name after `let`")?;
            parser.need("=", "`=`")?;
            lets.push((name, parser.expr()?));
        }
        if *parser.kind() != Kind::Newline {
            return Err(parser.expected("an operator or the end of the statement"));
        }
    }
    let out = parser.expr()?;
    parser.skip_newlines();
    match parser.kind() {
        Kind::End => Ok(((lets, out), parser.formulas)),
        _ => Err(parser.expected("an operator or the end of the expression")),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    nesting: usize,
    operations: usize,
    formulas: Vec<Formula>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self> {
        Ok(Parser {
            text,
            tokens: tokens(text)?,
            at: 0,
            nesting: 0,
            operations: 0,
            formulas: Vec::new(),
        })
    }

    fn kind(&self) -> &Kind {
        &self.tokens[self.at].kind
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// The span of the token before this one.
    fn previous(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn kind_after(&self) -> &Kind {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].kind
    }

    /// Steps over this token; the last, `End`, stays.
    fn step(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    fn skip_newlines(&mut self) {
        while *self.kind() == Kind::Newline {
            self.step();
        }
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.kind(), Kind::Sign(s) if *s == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.kind(), Kind::Name(n) if n == word)
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.step();
        }
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.step();
        }
        found
    }

    /// Steps over `sign`, or says that `what` was expected.
    fn need(&mut self, sign: &str, what: &str) -> Result<()> {
        if self.take_sign(sign) {
            Ok(())
        } else {
            Err(self.expected(what))
        }
    }

    /// Steps over the bracket that closes the one opened at `open`.
    fn close(&mut self, sign: &str, open: Span) -> Result<()> {
        if self.take_sign(sign) {
            return Ok(());
        }
        let opener = &self.text[open.start()..open.end()];
        let (line, here) = (
            line_number(self.text, open.start()),
            line_number(self.text, self.span().start()),
        );
        let place = if line == here {
            String::new()
        } else {
            format!(" of line {line}")
        };
        Err(self.expected(&format!("`,` or `{sign}` to close `{opener}`{place}")))
    }

    /// A name that a user may give.
    fn name(&mut self, what: &str) -> Result<Name> {
        let text = match self.kind() {
            Kind::Name(text) => text,
            Kind::Quoted(text) => {
                let (text, span) = (text.clone(), self.span());
                self.step();
                return Ok(Name { text, span });
            }
            _ => return Err(self.expected(what)),
        };
        if RESERVED.contains(&text.as_str()) {
            let message =
                format!("expected {what}; `{text}` is a word of the language and cannot be a name");
            return Err(self.error(message));
        }
        if let Some(plain) = text.strip_suffix('\'') {
            let message = format!(
                "expected {what}, found `{text}`; a prime stands behind a dim in an index alone, \
                 as in `x[{plain}']`; a dim twice is written `K[{plain}, {plain}]`"
            );
            return Err(self.error(message));
        }
        let name = Name {
            text: text.clone(),
            span: self.span(),
        };
        self.step();
        Ok(name)
    }

    /// An error at this token.
    fn error(&self, message: impl std::fmt::Display) -> Error {
        error_at(self.text, self.span(), message)
    }

    fn expected(&self, what: &str) -> Error {
        self.error(format!("expected {what}, found {}", self.found()))
    }

    /// This token in words.
    fn found(&self) -> String {
        match self.kind() {
            Kind::Name(n) | Kind::Quoted(n) => format!("`{n}`"),
            Kind::Number(_) => {
                let span = self.span();
                format!("the number {}", &self.text[span.start()..span.end()])
            }
            Kind::Text(t) => format!("the text {t:?}"),
            Kind::Sign(s) => format!("`{s}`"),
            Kind::Newline => "the end of the line".into(),
            Kind::End => "the end of the text".into(),
        }
    }

    /// Counts one operation of this statement.
    fn count(&mut self, span: Span) -> Result<()> {
        self.operations += 1;
        if self.operations <= OPERATIONS {
            return Ok(());
        }
        let message =
            format!("this statement has more than {OPERATIONS} operations; split it with `let`");
        Err(error_at(self.text, span, message))
    }

    /// Runs `rule` one bracket deeper.
    fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting == NESTING {
            let message =
                format!("brackets nest more than {NESTING} deep here; split this with `let`");
            return Err(self.error(message));
        }
        self.nesting += 1;
        let out = rule(self);
        self.nesting -= 1;
        out
    }
}
