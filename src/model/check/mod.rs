//! What can be said about a model before any data are seen.

mod discrete;
mod equation;
mod expression;
mod order;
mod scope;

use super::ast::{
    Centring, Expr, ExprKind, Extent, LimitKind, Name, Sampled, Span, Statement, Subscript,
};
use super::families;
use super::names::{did_you_mean, list};
use super::source::{error_at, line_number};
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) use equation::{equation_of, times_of};
pub(crate) use expression::{Use, expressions, names_in_expr, uses};
pub(crate) use order::{Order, is_predicted};
pub(crate) use scope::constant;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A data array.
    Data,
    /// A free variable with a prior.
    Parameter,
    /// A computed quantity that is recorded.
    Deterministic,
    /// A computed quantity that is not recorded.
    Local,
    /// A quantity drawn or computed after sampling.
    Predicted,
}

/// What a quantity depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// On data alone: known before sampling.
    Data,
    /// On parameters.
    Parameters,
    /// On predicted quantities.
    Predicted,
}

/// A name of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// What it stands for.
    pub role: Role,
    /// Index of the statement that defines it.
    pub statement: usize,
    /// Its dims as declared. Empty for a scalar, and for a computed quantity that leaves its dims
    /// to its expression.
    pub dims: Vec<String>,
    /// For data declared with `in DIM`: that dim.
    pub indexes: Option<String>,
    /// What it depends on.
    pub level: Level,
}

impl Symbol {
    /// True when `dims` are known to be all its dims.
    pub fn has_known_dims(&self) -> bool {
        matches!(self.role, Role::Data | Role::Parameter) || !self.dims.is_empty()
    }
}

/// What checking finds out.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub(crate) symbols: BTreeMap<String, Symbol>,
    pub(crate) dims: Vec<Name>,
    pub(crate) order: Order,
    pub(crate) warnings: Vec<String>,
}

/// Checks `statements`, read from `text`.
pub(crate) fn check(text: &str, statements: &[Statement]) -> Result<Checked> {
    let mut checker = Checker {
        text,
        statements,
        symbols: BTreeMap::new(),
        dims: Vec::new(),
    };
    checker.collect_dims()?;
    checker.collect_symbols()?;
    for (i, statement) in statements.iter().enumerate() {
        checker.statement(i, statement)?;
        checker.equations(statement)?;
    }
    checker.likelihoods()?;
    checker.dim_cycles()?;
    let order = checker.order()?;
    checker.levels(&order)?;
    let warnings = checker.unused();
    let Checker { symbols, dims, .. } = checker;
    Ok(Checked {
        symbols,
        dims,
        order,
        warnings,
    })
}

struct Checker<'a> {
    text: &'a str,
    statements: &'a [Statement],
    symbols: BTreeMap<String, Symbol>,
    dims: Vec<Name>,
}

impl Checker<'_> {
    fn error(&self, span: Span, message: impl std::fmt::Display) -> Error {
        error_at(self.text, span, message)
    }

    /// The 1-based line of statement `i`.
    fn line(&self, i: usize) -> usize {
        let start = match &self.statements[i] {
            Statement::Target(e) => e.span.site().start(),
            other => other.name().map_or(0, |n| n.span.start()),
        };
        line_number(self.text, start)
    }

    fn is_dim(&self, name: &str) -> bool {
        self.dims.iter().any(|d| d.text == name)
    }

    fn statement(&self, i: usize, statement: &Statement) -> Result<()> {
        match statement {
            Statement::Data(_) => Ok(()),
            Statement::Dim(dim) => match &dim.extent {
                Extent::Size(e) => self.size(e),
                Extent::Labels(_) => Ok(()),
            },
            Statement::Computed(computed) => {
                computed.dims.iter().try_for_each(|d| self.dim(d))?;
                self.expr(&computed.value)
            }
            Statement::Target(e) => self.expr(e),
            Statement::Sampled(sampled) => self.sampled(i, sampled),
        }
    }

    fn sampled(&self, i: usize, sampled: &Sampled) -> Result<()> {
        let symbol = &self.symbols[&sampled.name.text];
        let defines = symbol.statement == i;
        if defines {
            self.whole_dims(sampled)?;
        } else {
            self.observed_dims(sampled, symbol)?;
        }
        self.distribution(&sampled.distribution)?;
        let call = &sampled.distribution;
        if symbol.role == Role::Parameter && families::values_of(call).discrete() {
            self.discrete_parameter(sampled)?;
        }
        if let Some(limits) = &sampled.limits {
            self.expr(&limits.lower)?;
            self.expr(&limits.upper)?;
            if symbol.role == Role::Predicted && limits.kind == LimitKind::Bounded {
                let message = "a prediction is drawn from a whole distribution: use `truncated`";
                return Err(self.error(limits.lower.span, message));
            }
        }
        if sampled.ordered {
            self.ordered(sampled, symbol)?;
        }
        self.centring(sampled, symbol)
    }

    /// `ordered` is for parameters with a dim.
    fn ordered(&self, sampled: &Sampled, symbol: &Symbol) -> Result<()> {
        let name = &sampled.name;
        let message = match symbol.role {
            role if role != Role::Parameter => {
                format!("`ordered` is for parameters, and `{name}` is none")
            }
            _ if sampled.subscripts.is_empty() => {
                format!("`ordered` needs a dim, as in `{name}[k]`")
            }
            _ if sampled.centring == Centring::NonCentred => {
                "`ordered` elements have their own coordinates; leave `@ noncentred` out".into()
            }
            _ => return Ok(()),
        };
        Err(self.error(name.span, message))
    }

    fn centring(&self, sampled: &Sampled, symbol: &Symbol) -> Result<()> {
        if sampled.centring == Centring::Auto {
            return Ok(());
        }
        let call = &sampled.distribution;
        if symbol.role != Role::Parameter {
            let message = format!(
                "`@` chooses coordinates of a parameter, and `{}` is none",
                sampled.name
            );
            return Err(self.error(sampled.name.span, message));
        }
        let scaled = families::family(&call.name.text).is_some_and(|f| f.standardises);
        if sampled.centring == Centring::NonCentred && (!scaled || sampled.limits.is_some()) {
            let able = families::families()
                .iter()
                .filter(|f| f.standardises)
                .map(|f| f.name);
            let message = format!(
                "`@ noncentred` needs a distribution with location and scale and without limits: {}",
                list(able, 10)
            );
            return Err(self.error(call.name.span, message));
        }
        Ok(())
    }

    /// Subscripts of a parameter or prediction: its dims, nothing else.
    fn whole_dims(&self, sampled: &Sampled) -> Result<()> {
        for subscript in &sampled.subscripts {
            match subscript {
                Subscript::At(Expr {
                    kind: ExprKind::Name(text),
                    span,
                }) => {
                    self.dim(&Name {
                        text: text.clone(),
                        span: *span,
                    })?;
                }
                other => {
                    let name = &sampled.name;
                    let message = format!(
                        "`{name}` is not data, so its dims must stand here, as in `{name}[DIM]`; a \
                         size is given by `dim DIM = 3`, and steps that depend on earlier ones by \
                         `GaussianRandomWalk`, `AR` or `cumsum`"
                    );
                    return Err(self.error(other.span(), message));
                }
            }
        }
        Ok(())
    }

    /// Subscripts of data on the left of `~`: its dims, slices or positions.
    fn observed_dims(&self, sampled: &Sampled, symbol: &Symbol) -> Result<()> {
        let written = &sampled.subscripts;
        let name = &sampled.name;
        if written.is_empty() {
            return Ok(());
        }
        if symbol.has_known_dims() && written.len() != symbol.dims.len() {
            let dims = symbol.dims.join(", ");
            let message = format!(
                "`{name}` has dims [{dims}], but {} stand here",
                written.len()
            );
            return Err(self.error(written[0].span(), message));
        }
        for (k, subscript) in written.iter().enumerate() {
            let own = symbol.dims.get(k);
            match subscript {
                Subscript::At(Expr {
                    kind: ExprKind::Name(text),
                    span,
                }) => {
                    let dim = Name {
                        text: text.clone(),
                        span: *span,
                    };
                    let scalar = self.symbols.get(text).is_some_and(|s| s.indexes.is_none());
                    if own == Some(text) || (scalar && !self.is_dim(text)) {
                        continue;
                    }
                    self.dim(&dim)?;
                    if let Some(own) = own {
                        let message = format!("this axis of `{name}` is dim `{own}`, not `{text}`");
                        return Err(self.error(*span, message));
                    }
                }
                Subscript::At(e) => self.expr(e)?,
                Subscript::Slice { start, stop, .. } => {
                    start.iter().chain(stop).try_for_each(|e| self.expr(e))?;
                }
            }
        }
        Ok(())
    }

    /// That `name` is a dim.
    fn dim(&self, name: &Name) -> Result<()> {
        if self.is_dim(&name.text) {
            return Ok(());
        }
        let indexed = self
            .symbols
            .get(&name.text)
            .and_then(|s| s.indexes.as_ref());
        let advice = match (indexed, self.symbols.get(&name.text)) {
            (Some(dim), _) => format!("; it is data that indexes dim `{dim}`: write `[{dim}]`"),
            (None, Some(_)) => String::new(),
            (None, None) => {
                let near = did_you_mean(&name.text, self.dims.iter().map(|d| d.text.as_str()));
                if near.is_empty() {
                    let dim = &name.text;
                    format!("; name it in the dims of a data array, or declare `dim {dim} = ...`")
                } else {
                    near
                }
            }
        };
        Err(self.error(name.span, format!("`{}` is not a dim{advice}", name.text)))
    }

    /// One whole likelihood term per data array.
    fn likelihoods(&self) -> Result<()> {
        let mut first: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
        for (i, statement) in self.statements.iter().enumerate() {
            let Statement::Sampled(s) = statement else {
                continue;
            };
            if self.symbols[&s.name.text].statement == i {
                continue;
            }
            let plain = |t: &Subscript| match t {
                Subscript::At(Expr {
                    kind: ExprKind::Name(n),
                    ..
                }) => self.is_dim(n),
                Subscript::At(_) | Subscript::Slice { .. } => false,
            };
            let whole = s.subscripts.iter().all(plain);
            if let Some((before, both)) = first.get(s.name.text.as_str())
                && (whole || *both)
            {
                let line = self.line(*before);
                let message = format!("`{}` already has a distribution on line {line}", s.name);
                return Err(self.error(s.name.span, message));
            }
            first.entry(&s.name.text).or_insert((i, whole));
        }
        Ok(())
    }

    /// Data that nothing uses.
    fn unused(&self) -> Vec<String> {
        let mut used: BTreeSet<&str> = BTreeSet::new();
        for (i, statement) in self.statements.iter().enumerate() {
            uses(statement, &mut |Use { name, .. }| {
                used.insert(name);
            });
            if let Statement::Sampled(s) = statement
                && self.symbols[&s.name.text].statement != i
            {
                used.insert(&s.name.text);
            }
        }
        let mut out = Vec::new();
        for (i, statement) in self.statements.iter().enumerate() {
            let Statement::Data(data) = statement else {
                continue;
            };
            let name = data.name.text.as_str();
            if !used.contains(name) && !self.is_dim(name) {
                let line = self.line(i);
                out.push(format!(
                    "line {line}: data `{name}` is declared and not used"
                ));
            }
        }
        out
    }
}
