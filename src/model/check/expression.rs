//! Names, calls and indices in expressions.

use super::super::ast::{
    Argument, Call, Expr, ExprKind, Extent, Limits, Span, Statement, Subscript,
};
use super::super::families::{self, as_distribution, looks_like_distribution};
use super::super::functions::{self, Shape};
use super::super::names::did_you_mean;
use super::scope::constant;
use super::{Checker, Role};
use crate::{Error, Result};

impl Checker<'_> {
    pub(super) fn expr(&self, e: &Expr) -> Result<()> {
        match &e.kind {
            ExprKind::Number(_) => Ok(()),
            ExprKind::Name(name) => self.name(name, e.span),
            ExprKind::List(items) => items.iter().try_for_each(|e| self.expr(e)),
            ExprKind::Unary(_, x) => self.expr(x),
            ExprKind::Binary(_, a, b) => {
                self.expr(a)?;
                self.expr(b)
            }
            ExprKind::Index(base, subscripts) => self.index(base, subscripts),
            ExprKind::Call(call) => self.function(call),
        }
    }

    fn name(&self, name: &str, span: Span) -> Result<()> {
        if self.symbols.contains_key(name) || self.is_dim(name) || constant(name).is_some() {
            return Ok(());
        }
        if let Some(dim) = name.strip_suffix('\'').filter(|dim| self.is_dim(dim)) {
            let message = format!(
                "`{name}` is the second axis over dim `{dim}` and has no value; it stands in an \
                 index, as in `x[{dim}] - x[{name}]`"
            );
            return Err(self.error(span, message));
        }
        Err(self.error(span, self.undefined(name)))
    }

    /// Whether `name` is a dim, or the twin of one: `obs'`.
    fn is_axis_name(&self, name: &str) -> bool {
        self.is_dim(name.strip_suffix('\'').unwrap_or(name))
    }

    fn undefined(&self, name: &str) -> String {
        if let Some(plain) = name
            .strip_suffix('\'')
            .filter(|x| self.symbols.contains_key(*x))
        {
            return format!("`{name}` is not defined; a transpose is written `transpose({plain})`");
        }
        if let Some(function) = functions::function(name) {
            return format!(
                "`{name}` is a function; it is called as `{}`",
                function.usage()
            );
        }
        if families::family(name).is_some() {
            return format!("`{name}` is a distribution; it stands after `~`");
        }
        let known = self.symbols.keys().chain(self.dims.iter().map(|d| &d.text));
        let near = did_you_mean(name, known.map(String::as_str));
        if near.is_empty() {
            format!("`{name}` is not defined; declare it as data, give it a prior, or define it")
        } else {
            format!("`{name}` is not defined{near}")
        }
    }

    fn function(&self, call: &Call) -> Result<()> {
        let name = &call.name.text;
        if looks_like_distribution(name) && families::family(name).is_some() {
            let message = format!(
                "`{name}` is a distribution and has no value; declare `NAME ~ {call}` and write `NAME`"
            );
            return Err(self.error(call.span, message));
        }
        let Some(function) = functions::function(name) else {
            let message = if self.symbols.contains_key(name) {
                format!("`{name}` is not a function; an element of it is written `{name}[...]`")
            } else {
                functions::unknown(name)
            };
            return Err(self.error(call.name.span, message));
        };
        functions::check_arguments(self.text, function, call)?;
        for (i, argument) in call.arguments.iter().enumerate() {
            if is_axis(argument) && function.takes_axis() {
                self.axis(argument)?;
            } else if function.shape == Shape::OfDim {
                self.dim_argument(argument, function.name)?;
            } else if function.shape == Shape::Size && i == 1 {
                if !matches!(argument.value.kind, ExprKind::Number(v) if v.fract() == 0.0) {
                    let message = "expected the number of an axis: 0, 1, ...";
                    return Err(self.error(argument.value.span, message));
                }
            } else {
                self.expr(&argument.value)?;
            }
        }
        Ok(())
    }

    fn axis(&self, argument: &Argument) -> Result<()> {
        match &argument.value.kind {
            ExprKind::Name(name) if self.is_axis_name(name) => Ok(()),
            ExprKind::Name(name) => Err(self.not_a_dim(name, argument.value.span)),
            _ => Err(self.error(argument.value.span, "expected a dim, as in `axis=obs`")),
        }
    }

    /// The argument of a function of a dim, such as `identity`.
    fn dim_argument(&self, argument: &Argument, function: &str) -> Result<()> {
        match &argument.value.kind {
            ExprKind::Name(name) if self.is_dim(name) => Ok(()),
            ExprKind::Name(name) => Err(self.not_a_dim(name, argument.value.span)),
            _ => {
                let message = format!("expected a dim, as in `{function}(obs)`");
                Err(self.error(argument.value.span, message))
            }
        }
    }

    fn not_a_dim(&self, name: &str, span: Span) -> Error {
        let near = did_you_mean(name, self.dims.iter().map(|d| d.text.as_str()));
        self.error(span, format!("`{name}` is not a dim{near}"))
    }

    /// A distribution with its arguments, those that are distributions included.
    pub(super) fn distribution(&self, call: &Call) -> Result<()> {
        families::resolve(self.text, call)?;
        for argument in &call.arguments {
            match as_distribution(&argument.value) {
                Some(part) => self.distribution(part)?,
                None => self.expr(&argument.value)?,
            }
        }
        Ok(())
    }

    fn index(&self, base: &Expr, subscripts: &[Subscript]) -> Result<()> {
        self.expr(base)?;
        let dims = match &base.kind {
            ExprKind::Name(name) => match self.symbols.get(name) {
                Some(symbol) if symbol.has_known_dims() => Some((name, &symbol.dims)),
                _ => None,
            },
            _ => None,
        };
        if let Some((name, dims)) = dims
            && subscripts.len() > dims.len()
        {
            let (n, s) = (
                subscripts.len(),
                if subscripts.len() == 1 { "" } else { "s" },
            );
            let message = match dims.len() {
                0 => format!("`{name}` is a scalar and has no elements"),
                _ => format!(
                    "`{name}` has dims [{}], but {n} subscript{s} stand here",
                    dims.join(", ")
                ),
            };
            return Err(self.error(subscripts[0].span(), message));
        }
        for (k, subscript) in subscripts.iter().enumerate() {
            let axis = dims.and_then(|(name, dims)| Some((name.as_str(), dims.get(k)?.as_str())));
            match subscript {
                Subscript::At(e) => self.position(e, axis)?,
                Subscript::Slice { start, stop, .. } => {
                    start.iter().chain(stop).try_for_each(|e| self.expr(e))?;
                }
            }
        }
        Ok(())
    }

    /// A subscript that is not a slice, on axis `(variable, dim)` where that is known.
    fn position(&self, e: &Expr, axis: Option<(&str, &str)>) -> Result<()> {
        let ExprKind::Name(name) = &e.kind else {
            return self.expr(e);
        };
        if let Some(plain) = name.strip_suffix('\'').filter(|dim| self.is_dim(dim)) {
            return match axis {
                Some((of, dim)) if dim != plain => Err(self.wrong_dim(e.span, plain, of, dim)),
                _ => Ok(()),
            };
        }
        self.expr(e)?;
        let Some(symbol) = self.symbols.get(name) else {
            return match axis {
                Some((of, dim)) if dim != name && self.is_dim(name) => {
                    Err(self.wrong_dim(e.span, name, of, dim))
                }
                _ => Ok(()),
            };
        };
        match (&symbol.indexes, symbol.role) {
            (Some(dim), _) => match axis {
                Some((of, own)) if own != dim => {
                    let message = format!(
                        "`{name}` indexes dim `{dim}`, but this axis of `{of}` is dim `{own}`"
                    );
                    Err(self.error(e.span, message))
                }
                _ => Ok(()),
            },
            (None, Role::Data) if symbol.dims.is_empty() => Ok(()),
            (None, Role::Parameter | Role::Predicted) if self.is_discrete(name) => Ok(()),
            (None, Role::Data) => {
                let own = axis.map_or("DIM", |(_, dim)| dim);
                let dims = symbol.dims.join(", ");
                let message = format!(
                    "`{name}` is used as an index; declare which dim it indexes: `data {name}[{dims}] in {own}`"
                );
                Err(self.error(e.span, message))
            }
            (None, Role::Local | Role::Deterministic) => Ok(()), // It may be computed from data.
            (None, _) => {
                let message = format!(
                    "`{name}` cannot be an index: expected a whole number, a slice, a dim, data declared with `in DIM`, or whole numbers computed from data"
                );
                Err(self.error(e.span, message))
            }
        }
    }

    fn wrong_dim(&self, span: Span, name: &str, of: &str, dim: &str) -> Error {
        let columns = self
            .symbols
            .iter()
            .filter(|(_, s)| s.indexes.as_deref() == Some(dim));
        let advice = columns
            .map(|(column, _)| format!("; by index: `{of}[{column}]`"))
            .next()
            .unwrap_or_default();
        self.error(
            span,
            format!("this axis of `{of}` is dim `{dim}`, not `{name}`{advice}"),
        )
    }

    /// The size of a dim: numbers, scalar data, dims, and their arithmetic.
    pub(super) fn size(&self, e: &Expr) -> Result<()> {
        self.expr(e)?;
        let mut wrong = None;
        names_in_expr(e, false, &mut |Use { name, span, .. }| {
            let scalar = self
                .symbols
                .get(name)
                .is_none_or(|s| s.role == Role::Data && s.dims.is_empty());
            if !scalar && wrong.is_none() {
                wrong = Some((name.to_owned(), span));
            }
        });
        match wrong {
            Some((name, span)) if !inside_size_call(e, &name) => {
                let message = format!(
                    "`{name}` cannot give a size: expected numbers, scalar data, dims, `size(array, axis)`, or the max, min or sum of data"
                );
                Err(self.error(span, message))
            }
            _ => Ok(()),
        }
    }
}

/// Functions that make a size of a data array.
const OF_DATA: [&str; 4] = ["size", "max", "min", "sum"];

/// True when `name` occurs in `e` only as the first argument of a function that makes a number of
/// data.
fn inside_size_call(e: &Expr, name: &str) -> bool {
    match &e.kind {
        ExprKind::Call(call) if OF_DATA.contains(&call.name.text.as_str()) => true,
        ExprKind::Name(n) => n != name,
        ExprKind::Unary(_, x) => inside_size_call(x, name),
        ExprKind::Binary(_, a, b) => inside_size_call(a, name) && inside_size_call(b, name),
        ExprKind::Number(_) => true,
        ExprKind::Call(call) => call
            .arguments
            .iter()
            .all(|a| inside_size_call(&a.value, name)),
        ExprKind::List(_) | ExprKind::Index(..) => false,
    }
}

fn is_axis(argument: &Argument) -> bool {
    argument.name.as_ref().is_some_and(|n| n.text == "axis")
}

/// A name that stands in a statement.
#[derive(Clone, Copy)]
pub(crate) struct Use<'a> {
    pub(crate) name: &'a str,
    pub(crate) span: Span,
    /// Whether its values of the step before are asked for, by `lag`, or those at the running time,
    /// by the rate of a differential equation.
    pub(crate) before: bool,
}

/// Visits every name that `statement` uses; the name it defines is not one unless it is used.
pub(crate) fn uses<'a>(statement: &'a Statement, visit: &mut impl FnMut(Use<'a>)) {
    expressions(statement, &mut |e| names_in_expr(e, false, visit));
}

/// Visits the expressions of a statement.
pub(crate) fn expressions<'a>(statement: &'a Statement, visit: &mut impl FnMut(&'a Expr)) {
    match statement {
        Statement::Data(_) => {}
        Statement::Dim(dim) => {
            if let Extent::Size(e) = &dim.extent {
                visit(e);
            }
        }
        Statement::Computed(computed) => visit(&computed.value),
        Statement::Target(e) => visit(e),
        Statement::Sampled(s) => {
            let subscripts = s.subscripts.iter().flat_map(parts);
            subscripts.for_each(&mut *visit);
            let arguments = s.distribution.arguments.iter();
            arguments.for_each(|a| visit(&a.value));
            if let Some(Limits { lower, upper, .. }) = &s.limits {
                visit(lower);
                visit(upper);
            }
        }
    }
}

pub(crate) fn names_in_expr<'a>(e: &'a Expr, before: bool, visit: &mut impl FnMut(Use<'a>)) {
    match &e.kind {
        ExprKind::Number(_) => {}
        ExprKind::Name(name) => visit(Use {
            name,
            span: e.span,
            before,
        }),
        ExprKind::List(items) => items.iter().for_each(|e| names_in_expr(e, before, visit)),
        ExprKind::Unary(_, x) => names_in_expr(x, before, visit),
        ExprKind::Binary(_, a, b) => {
            names_in_expr(a, before, visit);
            names_in_expr(b, before, visit);
        }
        ExprKind::Index(base, subscripts) => {
            names_in_expr(base, before, visit);
            let all = subscripts.iter().flat_map(parts);
            all.for_each(|e| names_in_expr(e, before, visit));
        }
        ExprKind::Call(call) => {
            let is_circular = |f: &&functions::Function| matches!(f.shape, Shape::Lag | Shape::Ode);
            let lag = functions::function(&call.name.text).filter(is_circular);
            for (k, argument) in call.arguments.iter().enumerate() {
                if !is_axis(argument) {
                    let lagged = lag.is_some_and(|f| f.slot(k, argument) == Some(0));
                    names_in_expr(&argument.value, before || lagged, visit);
                }
            }
        }
    }
}

/// The expressions of a subscript.
pub(super) fn parts(s: &Subscript) -> impl Iterator<Item = &Expr> {
    let (at, start, stop) = match s {
        Subscript::At(e) => (Some(e), None, None),
        Subscript::Slice { start, stop, .. } => (None, start.as_ref(), stop.as_ref()),
    };
    at.into_iter().chain(start).chain(stop)
}
