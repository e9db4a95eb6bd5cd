//! Expressions, by precedence as in Python.

use super::super::ast::{Argument, BinaryOp, Call, Expr, ExprKind, Name, Subscript, UnaryOp};
use super::super::source::{Span, error_at};
use super::super::token::Kind;
use super::{Parser, RESERVED};
use crate::Result;

impl BinaryOp {
    /// How tightly the operator binds; see [`UNARY`] and [`NOT`] for the ones in front.
    pub(crate) fn precedence(self) -> u8 {
        use BinaryOp as B;
        match self {
            B::Or => 1,
            B::And => 2,
            B::Equal | B::NotEqual | B::Less | B::LessEqual | B::Greater | B::GreaterEqual => 4,
            B::Add | B::Sub => 5,
            B::Mul | B::Div | B::MatMul => 6,
            B::Pow => 8,
        }
    }

    /// As it is written.
    pub fn sign(self) -> &'static str {
        use BinaryOp as B;
        match self {
            B::Or => "or",
            B::And => "and",
            B::Equal => "==",
            B::NotEqual => "!=",
            B::Less => "<",
            B::LessEqual => "<=",
            B::Greater => ">",
            B::GreaterEqual => ">=",
            B::Add => "+",
            B::Sub => "-",
            B::Mul => "*",
            B::Div => "/",
            B::MatMul => "@",
            B::Pow => "^",
        }
    }
}

/// Precedence of `not`.
pub(crate) const NOT: u8 = 3;
/// Precedence of comparisons, which do not chain.
pub(crate) const COMPARISON: u8 = 4;
/// Precedence of `-x`; the right side of `^` may carry one.
pub(crate) const UNARY: u8 = 7;

const BINARY: [BinaryOp; 14] = [
    BinaryOp::Or,
    BinaryOp::And,
    BinaryOp::Equal,
    BinaryOp::NotEqual,
    BinaryOp::Less,
    BinaryOp::LessEqual,
    BinaryOp::Greater,
    BinaryOp::GreaterEqual,
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::MatMul,
    BinaryOp::Pow,
];

fn node(kind: ExprKind, span: Span) -> Expr {
    Expr { kind, span }
}

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Result<Expr> {
        self.binary(0)
    }

    fn operator(&self) -> Option<BinaryOp> {
        match self.kind() {
            Kind::Sign("**") => Some(BinaryOp::Pow),
            Kind::Sign(s) => BINARY.into_iter().find(|op| op.sign() == *s),
            Kind::Name(n) => BINARY[..2].iter().copied().find(|op| op.sign() == n),
            _ => None,
        }
    }

    fn binary(&mut self, least: u8) -> Result<Expr> {
        let mut left = self.prefix(least)?;
        while let Some(op) = self.operator() {
            let precedence = op.precedence();
            if precedence < least {
                break;
            }
            self.count(self.span())?;
            self.step();
            self.skip_newlines();
            let right = match op {
                BinaryOp::Pow => self.nested(|p| p.binary(UNARY))?,
                _ => self.binary(precedence + 1)?,
            };
            let span = left.span.to(right.span);
            left = node(ExprKind::Binary(op, Box::new(left), Box::new(right)), span);
            let chained = self.operator().filter(|o| o.precedence() == COMPARISON);
            if precedence == COMPARISON && chained.is_some() {
                let message = "comparisons do not chain; write `a < b and b < c`";
                return Err(self.error(message));
            }
        }
        Ok(left)
    }

    fn prefix(&mut self, least: u8) -> Result<Expr> {
        let start = self.span();
        let (op, operand) = if self.is_sign("-") {
            (UnaryOp::Neg, UNARY)
        } else if self.is_word("not") {
            if least > NOT {
                return Err(self.error("put brackets around `not ...` here"));
            }
            (UnaryOp::Not, NOT)
        } else if self.is_sign("+") {
            self.step();
            return self.nested(|p| p.binary(UNARY));
        } else {
            return self.postfix();
        };
        self.count(start)?;
        self.step();
        let value = self.nested(|p| p.binary(operand))?;
        let span = start.to(value.span);
        Ok(node(ExprKind::Unary(op, Box::new(value)), span))
    }

    fn postfix(&mut self) -> Result<Expr> {
        let mut out = self.primary()?;
        while self.is_sign("[") {
            self.count(self.span())?;
            let subscripts = self.subscripts()?;
            let span = out.span.to(self.previous());
            out = node(ExprKind::Index(Box::new(out), subscripts), span);
        }
        Ok(out)
    }

    fn primary(&mut self) -> Result<Expr> {
        let span = self.span();
        match self.kind().clone() {
            Kind::Number(value) => {
                self.step();
                Ok(node(ExprKind::Number(value), span))
            }
            Kind::Name(name) if !RESERVED.contains(&name.as_str()) => {
                if matches!(self.kind_after(), Kind::Sign("(")) {
                    let call = self.call("a function")?;
                    let span = call.span;
                    return Ok(node(ExprKind::Call(call), span));
                }
                self.step();
                Ok(node(ExprKind::Name(name), span))
            }
            Kind::Quoted(name) => {
                self.step();
                Ok(node(ExprKind::Name(name), span))
            }
            Kind::Sign("(") => {
                self.step();
                let inner = self.nested(Self::expr)?;
                if self.is_sign(",") {
                    return Err(self.error("expected `)`, found `,`; a vector is written `[a, b]`"));
                }
                self.close(")", span)?;
                Ok(node(inner.kind, span.to(self.previous())))
            }
            Kind::Sign("[") => {
                self.step();
                let items = self.nested(|p| p.separated("]", span, Self::expr))?;
                let span = span.to(self.previous());
                if items.is_empty() {
                    return Err(error_at(self.text, span, "this vector has no elements"));
                }
                Ok(node(ExprKind::List(items), span))
            }
            _ => Err(self.expected("an expression")),
        }
    }

    /// `NAME(arguments)`; `what` says what the name should be.
    pub(super) fn call(&mut self, what: &str) -> Result<Call> {
        let name = self.name(what)?;
        self.count(name.span)?;
        let open = self.span();
        if !self.take_sign("(") {
            let example = format!("`(` after `{}`", name.text);
            return Err(self.expected(&example));
        }
        let arguments = self.nested(|p| p.separated(")", open, Self::argument))?;
        for pair in arguments.windows(2) {
            if let (Some(first), None) = (&pair[0].name, &pair[1].name) {
                let message = format!(
                    "an argument by position cannot follow one by name (`{}=`)",
                    first.text
                );
                return Err(error_at(self.text, pair[1].value.span, message));
            }
        }
        let span = name.span.to(self.previous());
        Ok(Call {
            name,
            arguments,
            span,
        })
    }

    fn argument(&mut self) -> Result<Argument> {
        let named =
            matches!(self.kind(), Kind::Name(_)) && matches!(self.kind_after(), Kind::Sign("="));
        let name: Option<Name> = if named {
            let name = self.name("the name of an argument")?;
            self.step();
            Some(name)
        } else {
            None
        };
        let value = self.expr()?;
        Ok(Argument { name, value })
    }

    /// Items separated by commas up to the sign `end`; a comma may follow the last.
    pub(super) fn separated<T>(
        &mut self,
        end: &str,
        open: Span,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut out = Vec::new();
        while !self.take_sign(end) {
            out.push(item(self)?);
            if !self.take_sign(",") {
                self.close(end, open)?;
                break;
            }
        }
        Ok(out)
    }

    /// `[a, b:c, :]` after a name.
    pub(super) fn subscripts(&mut self) -> Result<Vec<Subscript>> {
        let open = self.span();
        self.need("[", "`[`")?;
        let out = self.nested(|p| p.separated("]", open, Self::subscript))?;
        if out.is_empty() {
            let span = open.to(self.previous());
            return Err(error_at(
                self.text,
                span,
                "expected a dim or a position between `[` and `]`",
            ));
        }
        Ok(out)
    }

    fn subscript(&mut self) -> Result<Subscript> {
        let start_span = self.span();
        let start = if self.is_sign(":") {
            None
        } else {
            Some(self.expr()?)
        };
        if !self.take_sign(":") {
            return match start {
                Some(at) => Ok(Subscript::At(at)),
                None => Err(self.expected("a position")),
            };
        }
        let ends = self.is_sign(",") || self.is_sign("]") || self.is_sign(":");
        let stop = if ends { None } else { Some(self.expr()?) };
        if self.is_sign(":") {
            return Err(self.error("expected `,` or `]`, found `:`; slices have no step"));
        }
        let span = start_span.to(self.previous());
        Ok(Subscript::Slice { start, stop, span })
    }
}
