//! A model as text again, one statement a line, with no more brackets than needed.

use super::ast::{
    Argument, Call, Centring, Computed, Data, Expr, ExprKind, Extent, Keep, LimitKind, Name,
    Sampled, Statement, Subscript, UnaryOp,
};
use super::check::constant;
use super::parse::{COMPARISON, NOT, RESERVED, UNARY};
use super::token::is_plain;
use crate::data::Labels;
use std::borrow::Cow;
use std::fmt::{Display, Formatter, Result};

/// Precedence of names, calls and whatever else needs no brackets.
const ATOM: u8 = 9;

fn precedence(e: &Expr) -> u8 {
    match &e.kind {
        ExprKind::Binary(op, ..) => op.precedence(),
        ExprKind::Unary(UnaryOp::Neg, _) => UNARY,
        ExprKind::Unary(UnaryOp::Not, _) => NOT,
        _ => ATOM,
    }
}

/// `e`, in brackets when it binds less tightly than `least`.
fn bracketed(f: &mut Formatter<'_>, e: &Expr, least: u8) -> Result {
    if precedence(e) < least {
        write!(f, "({e})")
    } else {
        write!(f, "{e}")
    }
}

fn separated<T: Display>(f: &mut Formatter<'_>, items: &[T]) -> Result {
    for (i, item) in items.iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(f, "{comma}{item}")?;
    }
    Ok(())
}

fn dims<T: Display>(f: &mut Formatter<'_>, items: &[T]) -> Result {
    if items.is_empty() {
        return Ok(());
    }
    f.write_str("[")?;
    separated(f, items)?;
    f.write_str("]")
}

/// A name as it stands in a text: between backquotes if it is no plain one.
fn written(name: &str) -> Cow<'_, str> {
    let (own, prime) = match name.strip_suffix('\'') {
        Some(dim) => (dim, "'"),
        None => (name, ""),
    };
    match is_plain(own) && !RESERVED.contains(&own) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(format!("`{own}`{prime}")),
    }
}

/// The same of a name that is declared, which may be that of a constant.
fn declared(name: &Name) -> Cow<'_, str> {
    match constant(&name.text) {
        Some(_) => Cow::Owned(format!("`{name}`")),
        None => written(&name.text),
    }
}

fn declared_dims(f: &mut Formatter<'_>, names: &[Name]) -> Result {
    let names: Vec<_> = names.iter().map(declared).collect();
    dims(f, &names)
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(&self.text)
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.kind {
            ExprKind::Number(v) => number(f, *v),
            ExprKind::Name(n) => f.write_str(&written(n)),
            ExprKind::List(items) => dims(f, items),
            ExprKind::Call(call) => write!(f, "{call}"),
            ExprKind::Unary(UnaryOp::Neg, x) => {
                f.write_str("-")?;
                bracketed(f, x, UNARY)
            }
            ExprKind::Unary(UnaryOp::Not, x) => {
                f.write_str("not ")?;
                bracketed(f, x, NOT)
            }
            ExprKind::Binary(op, a, b) => {
                let own = op.precedence();
                let (left, right) = match own {
                    COMPARISON => (own + 1, own + 1),
                    _ if own > UNARY => (own + 1, UNARY),
                    _ => (own, own + 1),
                };
                bracketed(f, a, left)?;
                write!(f, " {} ", op.sign())?;
                bracketed(f, b, right)
            }
            ExprKind::Index(base, subscripts) => {
                bracketed(f, base, ATOM)?;
                dims(f, subscripts)
            }
        }
    }
}

/// The shortest text that reads back as the same number.
fn number(f: &mut Formatter<'_>, v: f64) -> Result {
    if v.fract() == 0.0 && v.abs() < 1e15 {
        write!(f, "{v}")
    } else {
        write!(f, "{v:?}")
    }
}

impl Display for Subscript {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Subscript::At(e) => write!(f, "{e}"),
            Subscript::Slice { start, stop, .. } => {
                if let Some(e) = start {
                    write!(f, "{e}")?;
                }
                f.write_str(":")?;
                stop.as_ref().map_or(Ok(()), |e| write!(f, "{e}"))
            }
        }
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(name) = &self.name {
            write!(f, "{name}=")?;
        }
        write!(f, "{}", self.value)
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}(", self.name)?;
        separated(f, &self.arguments)?;
        f.write_str(")")
    }
}

impl Display for Data {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "data {}", declared(&self.name))?;
        declared_dims(f, &self.dims)?;
        if let Some(dim) = &self.indexes {
            write!(f, " in {}", declared(dim))?;
        }
        if let Some(base) = self.from {
            write!(f, " from {base}")?;
        }
        if self.whole {
            f.write_str(" : int")
        } else {
            Ok(())
        }
    }
}

impl Display for Sampled {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if self.predicted {
            f.write_str("predict ")?;
        }
        f.write_str(&declared(&self.name))?;
        dims(f, &self.subscripts)?;
        write!(f, " ~ {}", self.distribution)?;
        if let Some(limits) = &self.limits {
            let word = match limits.kind {
                LimitKind::Truncated => "truncated",
                LimitKind::Bounded => "bounded",
            };
            write!(f, " {word}({}, {})", limits.lower, limits.upper)?;
        }
        if self.ordered {
            f.write_str(" ordered")?;
        }
        match self.centring {
            Centring::Auto => Ok(()),
            Centring::Centred => f.write_str(" @ centred"),
            Centring::NonCentred => f.write_str(" @ noncentred"),
        }
    }
}

impl Display for Computed {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self.keep {
            Keep::Recorded => "",
            Keep::Local => "let ",
            Keep::Predicted => "predict ",
        })?;
        f.write_str(&declared(&self.name))?;
        declared_dims(f, &self.dims)?;
        write!(f, " = {}", self.value)
    }
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Statement::Data(s) => write!(f, "{s}"),
            Statement::Dim(s) => {
                write!(f, "dim {} = ", declared(&s.name))?;
                match &s.extent {
                    Extent::Size(e) => write!(f, "{e}"),
                    Extent::Labels(Labels::Integers(v)) => dims(f, v),
                    Extent::Labels(Labels::Text(v)) => {
                        let quoted: Vec<String> = v.iter().map(|t| quoted(t)).collect();
                        dims(f, &quoted)
                    }
                }
            }
            Statement::Sampled(s) => write!(f, "{s}"),
            Statement::Computed(s) => write!(f, "{s}"),
            Statement::Target(e) => write!(f, "target += {e}"),
        }
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
