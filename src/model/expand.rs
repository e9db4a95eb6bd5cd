//! Functions of the model, written out wherever they are called.

use super::ast::{
    Argument, Call, Expr, ExprKind, Extent, Formula, Name, Span, Statement, Subscript,
};
use super::check::constant;
use super::families::looks_like_distribution;
use super::functions;
use super::names::did_you_mean;
use super::parse::Block;
use super::source::{error_at, line_number};
use crate::{Error, Result};
use std::collections::{BTreeSet, HashMap};

/// Deepest nesting of operations, and most of them in one statement, with its functions written out.
const DEPTH: usize = 1000;
const OPERATIONS: usize = 20_000;

/// `statements` without calls of `formulas`, and warnings about those that are never called.
pub(super) fn expand(
    text: &str,
    statements: Vec<Statement>,
    formulas: &[Formula],
) -> Result<(Vec<Statement>, Vec<String>)> {
    if formulas.is_empty() {
        return Ok((statements, Vec::new()));
    }
    let mut all = Expansion::new(text, formulas);
    let defined = statements.iter().filter_map(Statement::name);
    all.names(&defined.collect::<Vec<_>>())?;
    all.alone()?;
    let mut out = Vec::with_capacity(statements.len());
    for statement in statements {
        all.operations = 0;
        out.push(all.statement(statement)?);
    }
    let unused = |k: &usize| !all.used.contains(k);
    let warning = |k: usize| {
        let name = &formulas[k].name;
        let line = line_number(text, name.span.start());
        format!("the function `{name}` (line {line}) is never called")
    };
    let unused = (0..formulas.len()).filter(unused).map(warning);
    Ok((out, unused.collect()))
}

/// What the arguments of a function stand for, each with its depth.
type Given<'a> = HashMap<&'a str, (Expr, usize)>;

/// Where an expression stands: in a function, with what its arguments stand for and the call in a statement
/// that leads there; or in a statement.
type Inside<'a> = Option<(&'a Given<'a>, Option<Span>)>;

struct Expansion<'a> {
    text: &'a str,
    formulas: &'a [Formula],
    /// The functions that are being written out, the outermost first.
    active: Vec<usize>,
    used: BTreeSet<usize>,
    /// Operations of this statement.
    operations: usize,
    /// Whether other functions are those of the language, so that a name near theirs is a slip.
    closed: bool,
}

/// A formula without calls of `formulas`. Functions that are unknown here may be known to who uses it.
pub(super) fn block(text: &str, block: Block, formulas: &[Formula]) -> Result<Block> {
    if formulas.is_empty() {
        return Ok(block);
    }
    let (lets, value) = block;
    let mut all = Expansion {
        closed: false,
        ..Expansion::new(text, formulas)
    };
    all.names(&lets.iter().map(|(name, _)| name).collect::<Vec<_>>())?;
    all.alone()?;
    let mut out = Vec::with_capacity(lets.len());
    for (name, value) in lets {
        all.operations = 0;
        out.push((name, all.plain(&value)?));
    }
    all.operations = 0;
    Ok((out, all.plain(&value)?))
}

impl<'a> Expansion<'a> {
    fn new(text: &'a str, formulas: &'a [Formula]) -> Self {
        Expansion {
            text,
            formulas,
            active: Vec::new(),
            used: BTreeSet::new(),
            operations: 0,
            closed: true,
        }
    }

    /// Looks at each function by itself, called or not: an argument stands for itself.
    fn alone(&mut self) -> Result<()> {
        for (k, formula) in self.formulas.iter().enumerate() {
            let own = formula.parameters.iter().map(|p| {
                let kind = ExprKind::Name(p.text.clone());
                (&*p.text, (Expr { kind, span: p.span }, 0))
            });
            self.operations = 0;
            self.active = vec![k];
            self.expr(&formula.value, Some((&own.collect(), None)))?;
        }
        (self.active, self.used) = (Vec::new(), BTreeSet::new());
        Ok(())
    }

    fn error(&self, span: Span, message: impl std::fmt::Display) -> Error {
        error_at(self.text, span, message)
    }

    fn line(&self, name: &Name) -> usize {
        line_number(self.text, name.span.start())
    }

    /// That the names of functions and of their arguments mean nothing else.
    fn names(&self, defined: &[&Name]) -> Result<()> {
        for (k, formula) in self.formulas.iter().enumerate() {
            let name = &formula.name;
            let first = self.formulas[..k].iter().find(|f| f.name.text == name.text);
            let variable = defined.iter().find(|n| n.text == name.text);
            let message = if functions::function(&name.text).is_some() {
                Some("is a function of the language; give yours another name".into())
            } else if looks_like_distribution(&name.text) {
                Some("begins with a capital letter, as distributions do; functions do not".into())
            } else if let Some(first) = first {
                Some(format!(
                    "is defined already in line {}",
                    self.line(&first.name)
                ))
            } else {
                variable.map(|v| format!("is the name of a variable, too (line {})", self.line(v)))
            };
            if let Some(message) = message {
                return Err(self.error(name.span, format!("`{name}` {message}")));
            }
            for (i, parameter) in formula.parameters.iter().enumerate() {
                let twice = formula.parameters[..i]
                    .iter()
                    .any(|p| p.text == parameter.text);
                let message = match (twice, constant(&parameter.text)) {
                    (true, _) => "is the name of two arguments",
                    (_, Some(_)) => "is a constant and cannot be the name of an argument",
                    _ => continue,
                };
                return Err(self.error(parameter.span, format!("`{parameter}` {message}")));
            }
        }
        Ok(())
    }

    fn statement(&mut self, statement: Statement) -> Result<Statement> {
        Ok(match statement {
            Statement::Data(_) => statement,
            Statement::Dim(mut dim) => {
                if let Extent::Size(e) = &dim.extent {
                    dim.extent = Extent::Size(self.plain(e)?);
                }
                Statement::Dim(dim)
            }
            Statement::Computed(mut s) => {
                s.value = self.plain(&s.value)?;
                Statement::Computed(s)
            }
            Statement::Target(e) => Statement::Target(self.plain(&e)?),
            Statement::Sampled(mut s) => {
                let law = &s.distribution.name;
                if self.formulas.iter().any(|f| f.name.text == law.text) {
                    let message = format!(
                        "`{law}` is a function, not a distribution; a quantity computed from others is \
                         written `NAME = ...`"
                    );
                    return Err(self.error(law.span, message));
                }
                s.subscripts = self.subscripts(&s.subscripts, None)?.0;
                s.distribution.arguments = self.arguments(&s.distribution, None)?.0;
                if let Some(limits) = &mut s.limits {
                    limits.lower = self.plain(&limits.lower)?;
                    limits.upper = self.plain(&limits.upper)?;
                }
                Statement::Sampled(s)
            }
        })
    }

    fn plain(&mut self, e: &Expr) -> Result<Expr> {
        Ok(self.expr(e, None)?.0)
    }

    /// An expression without calls of functions, and how deep it nests.
    fn expr(&mut self, e: &Expr, inside: Inside<'_>) -> Result<(Expr, usize)> {
        self.operations += 1;
        let span = match inside {
            Some((_, Some(call))) => e.span.brought_by(call),
            _ => e.span,
        };
        if self.operations > OPERATIONS {
            let message = format!(
                "with its functions written out this statement has more than {OPERATIONS} operations; \
                 name parts of it with `let`"
            );
            return Err(self.error(span.site(), message));
        }
        let (kind, depth) = match &e.kind {
            ExprKind::Number(_) => (e.kind.clone(), 0),
            ExprKind::Name(name) => match self.given(name, span, inside)? {
                Some(given) => return Ok(given),
                None => {
                    self.refuse_a_bare_name(name, span)?;
                    (e.kind.clone(), 0)
                }
            },
            ExprKind::List(items) => {
                let (mut out, mut depth) = (Vec::new(), 0);
                for item in items {
                    let (item, below) = self.expr(item, inside)?;
                    out.push(item);
                    depth = depth.max(below);
                }
                (ExprKind::List(out), depth)
            }
            ExprKind::Unary(op, x) => {
                let (x, depth) = self.expr(x, inside)?;
                (ExprKind::Unary(*op, Box::new(x)), depth)
            }
            ExprKind::Binary(op, a, b) => {
                let ((a, left), (b, right)) = (self.expr(a, inside)?, self.expr(b, inside)?);
                let kind = ExprKind::Binary(*op, Box::new(a), Box::new(b));
                (kind, left.max(right))
            }
            ExprKind::Index(base, subscripts) => {
                let (base, left) = self.expr(base, inside)?;
                let (subscripts, right) = self.subscripts(subscripts, inside)?;
                (ExprKind::Index(Box::new(base), subscripts), left.max(right))
            }
            ExprKind::Call(call) => return self.call(call, span, inside),
        };
        self.deep(Expr { kind, span }, depth + 1)
    }

    /// `e`, unless it nests too deep.
    fn deep(&self, e: Expr, depth: usize) -> Result<(Expr, usize)> {
        if depth <= DEPTH {
            return Ok((e, depth));
        }
        let message = format!(
            "with its functions written out this nests more than {DEPTH} operations; name parts of it \
             with `let`"
        );
        Err(self.error(e.span.site(), message))
    }

    /// What a name in a function stands for, if it is an argument.
    fn given(&self, name: &str, span: Span, inside: Inside<'_>) -> Result<Option<(Expr, usize)>> {
        let Some((given, _)) = inside else {
            return Ok(None);
        };
        let plain = name.trim_end_matches('\'');
        let Some((value, depth)) = given.get(plain) else {
            return Ok(None);
        };
        match &value.kind {
            _ if plain == name => Ok(Some((value.clone(), *depth))),
            ExprKind::Name(dim) => {
                let kind = ExprKind::Name(format!("{dim}'"));
                Ok(Some((Expr { kind, span }, 0)))
            }
            _ => {
                let message =
                    format!("`{name}` needs a dim as the argument `{plain}`, not `{value}`");
                Err(self.error(span, message))
            }
        }
    }

    fn subscripts(
        &mut self,
        subscripts: &[Subscript],
        inside: Inside<'_>,
    ) -> Result<(Vec<Subscript>, usize)> {
        let (mut out, mut deepest) = (Vec::new(), 0);
        let mut end = |all: &mut Self, e: &Option<Expr>| -> Result<Option<Expr>> {
            let Some(e) = e else {
                return Ok(None);
            };
            let (e, depth) = all.expr(e, inside)?;
            deepest = deepest.max(depth);
            Ok(Some(e))
        };
        for subscript in subscripts {
            out.push(match subscript {
                Subscript::At(e) => {
                    let at = end(self, &Some(e.clone()))?;
                    Subscript::At(at.expect("it was given"))
                }
                Subscript::Slice { start, stop, span } => Subscript::Slice {
                    start: end(self, start)?,
                    stop: end(self, stop)?,
                    span: match inside {
                        Some((_, Some(call))) => span.brought_by(call),
                        _ => *span,
                    },
                },
            });
        }
        Ok((out, deepest))
    }

    fn arguments(&mut self, call: &Call, inside: Inside<'_>) -> Result<(Vec<Argument>, usize)> {
        let (mut out, mut deepest) = (Vec::new(), 0);
        for argument in &call.arguments {
            let (value, depth) = self.expr(&argument.value, inside)?;
            deepest = deepest.max(depth);
            let name = argument.name.clone();
            out.push(Argument { name, value });
        }
        Ok((out, deepest))
    }

    fn call(&mut self, call: &Call, span: Span, inside: Inside<'_>) -> Result<(Expr, usize)> {
        let (arguments, depth) = self.arguments(call, inside)?;
        let name = Name {
            text: call.name.text.clone(),
            span: match inside {
                Some((_, Some(call_site))) => call.name.span.brought_by(call_site),
                _ => call.name.span,
            },
        };
        let Some(k) = self.formulas.iter().position(|f| f.name.text == name.text) else {
            self.refuse_a_slip(&name)?;
            let call = Call {
                name,
                arguments,
                span,
            };
            let kind = ExprKind::Call(call);
            return self.deep(Expr { kind, span }, depth + 1);
        };
        self.refuse_a_circle(k, name.span)?;
        self.used.insert(k);
        let formula = &self.formulas[k];
        let given = self.placed(formula, arguments, depth, span)?;
        self.active.push(k);
        // Where functions are looked at by themselves no call leads into a statement.
        let outermost = match inside {
            None => Some(span),
            Some((_, outermost)) => outermost,
        };
        let out = self.expr(&formula.value, Some((&given, outermost)));
        self.active.pop();
        out
    }

    /// The arguments of a call by the names of the function.
    fn placed<'f>(
        &self,
        formula: &'f Formula,
        arguments: Vec<Argument>,
        depth: usize,
        span: Span,
    ) -> Result<Given<'f>> {
        let names: Vec<&str> = formula.parameters.iter().map(|p| &*p.text).collect();
        let usage = format!("it is called as `{}`", usage(formula));
        let n = arguments.len();
        let mut given = Given::new();
        for (position, Argument { name, value }) in arguments.into_iter().enumerate() {
            let slot = match &name {
                None => names.get(position),
                Some(name) => names.iter().find(|n| **n == name.text),
            };
            let Some(slot) = slot else {
                let (span, message) = match &name {
                    Some(name) => (name.span, format!("has no argument `{name}`; {usage}")),
                    None => (value.span, format!("got {n} arguments; {usage}")),
                };
                return Err(self.error(span, format!("`{}` {message}", formula.name)));
            };
            if given.contains_key(slot) {
                return Err(self.error(value.span, format!("argument `{slot}` is given twice")));
            }
            given.insert(slot, (value, depth));
        }
        match names.iter().find(|n| !given.contains_key(**n)) {
            None => Ok(given),
            Some(missing) => {
                let message = format!("`{}` lacks its argument `{missing}`; {usage}", formula.name);
                Err(self.error(span, message))
            }
        }
    }

    /// A function of the model that is not called.
    fn refuse_a_bare_name(&self, name: &str, span: Span) -> Result<()> {
        match self.formulas.iter().find(|f| f.name.text == name) {
            None => Ok(()),
            Some(formula) => {
                let message = format!(
                    "`{name}` is a function; it is called as `{}`",
                    usage(formula)
                );
                Err(self.error(span, message))
            }
        }
    }

    /// A name that is nearly one of a function of the model.
    fn refuse_a_slip(&self, name: &Name) -> Result<()> {
        let known = !self.closed
            || functions::function(&name.text).is_some()
            || functions::known_elsewhere(&name.text).is_some()
            || looks_like_distribution(&name.text);
        if known {
            return Ok(());
        }
        let all = functions::FUNCTIONS.iter().map(|f| f.name);
        let own = self.formulas.iter().map(|f| &*f.name.text);
        match did_you_mean(&name.text, own.chain(all)) {
            near if near.is_empty() => Ok(()),
            near => Err(self.error(name.span, format!("unknown function `{name}`{near}"))),
        }
    }

    /// A function that would be written out within itself.
    fn refuse_a_circle(&self, k: usize, span: Span) -> Result<()> {
        let Some(first) = self.active.iter().position(|&active| active == k) else {
            return Ok(());
        };
        let circle = self.active[first..].iter().chain([&k]);
        let names = circle.map(|&k| {
            let name = &self.formulas[k].name;
            format!("`{name}` (line {})", self.line(name))
        });
        let names = names.collect::<Vec<_>>().join(" calls ");
        let message = format!("a function cannot call itself: {names}");
        Err(self.error(span, message))
    }
}

/// How a function is called: `hill(x, half)`.
fn usage(formula: &Formula) -> String {
    let names: Vec<&str> = formula.parameters.iter().map(|p| &*p.text).collect();
    format!("{}({})", formula.name, names.join(", "))
}
