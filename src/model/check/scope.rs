//! Which names and dims there are.

use super::super::ast::{Expr, ExprKind, Keep, Name, Statement, Subscript};
use super::super::source::line_number;
use super::{Checker, Level, Role, Symbol};
use crate::Result;
use std::collections::BTreeMap;

/// Names with a fixed value, and that value.
pub(crate) const CONSTANTS: [(&str, f64); 3] = [
    ("pi", std::f64::consts::PI),
    ("e", std::f64::consts::E),
    ("inf", f64::INFINITY),
];

/// The dims that every variable of a trace begins with, and what ArviZ calls both together.
const OF_TRACES: [&str; 3] = ["chain", "draw", "sample"];

/// The value of the constant called `name`.
pub(crate) fn constant(name: &str) -> Option<f64> {
    CONSTANTS.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
}

impl Checker<'_> {
    pub(super) fn collect_dims(&mut self) -> Result<()> {
        let mut declared: BTreeMap<&str, &Name> = BTreeMap::new();
        for statement in self.statements {
            let named: Vec<&Name> = match statement {
                Statement::Data(data) => data.dims.iter().chain(&data.indexes).collect(),
                Statement::Dim(dim) => {
                    if let Some(first) = declared.insert(&dim.name.text, &dim.name) {
                        let line = line_number(self.text, first.span.start());
                        let message =
                            format!("dim `{}` is already declared on line {line}", dim.name);
                        return Err(self.error(dim.name.span, message));
                    }
                    vec![&dim.name]
                }
                _ => Vec::new(),
            };
            for name in named {
                if self.hides_constant(name) {
                    return Err(self.is_constant(name));
                }
                if OF_TRACES.contains(&name.text.as_str()) {
                    return Err(self.is_of_traces(name));
                }
                if !self.is_dim(&name.text) {
                    self.dims.push(name.clone());
                }
            }
        }
        Ok(())
    }

    /// Whether a declared name is that of a constant. Between backquotes it is meant to be another.
    fn hides_constant(&self, name: &Name) -> bool {
        let quoted = self.text[name.span.start()..].starts_with('`') && name.text != "inf";
        constant(&name.text).is_some() && !quoted
    }

    fn is_constant(&self, name: &Name) -> crate::Error {
        let value = constant(&name.text).unwrap_or(f64::NAN);
        let or = match value.is_finite() {
            true => ", or write it between backquotes",
            false => "",
        };
        self.error(
            name.span,
            format!("`{name}` is the constant {value:.6}; choose another name{or}"),
        )
    }

    fn is_of_traces(&self, name: &Name) -> crate::Error {
        self.error(
            name.span,
            format!(
                "`{name}` is what a trace calls its own dims (`chain`, `draw`, and `sample` for both); \
                 choose another name"
            ),
        )
    }

    pub(super) fn collect_symbols(&mut self) -> Result<()> {
        let statements = self.statements;
        for (i, statement) in statements.iter().enumerate() {
            match statement {
                Statement::Data(data) => {
                    self.define(i, &data.name, Role::Data, texts(&data.dims))?;
                    let indexes = data.indexes.as_ref().map(|n| n.text.clone());
                    if let Some(symbol) = self.symbols.get_mut(&data.name.text) {
                        symbol.indexes = indexes;
                    }
                }
                Statement::Computed(computed) => {
                    let role = match computed.keep {
                        Keep::Recorded => Role::Deterministic,
                        Keep::Local => Role::Local,
                        Keep::Predicted => Role::Predicted,
                    };
                    self.define(i, &computed.name, role, texts(&computed.dims))?;
                }
                Statement::Sampled(s) if s.predicted => {
                    self.define(i, &s.name, Role::Predicted, names_in(&s.subscripts))?;
                }
                Statement::Dim(_) | Statement::Sampled(_) | Statement::Target(_) => {}
            }
        }
        for (i, statement) in statements.iter().enumerate() {
            let Statement::Sampled(s) = statement else {
                continue;
            };
            let known = self.symbols.get(&s.name.text).map(|symbol| symbol.role);
            let observed = matches!(known, Some(Role::Data | Role::Local | Role::Deterministic));
            if !s.predicted && !observed {
                self.define(i, &s.name, Role::Parameter, names_in(&s.subscripts))?;
            }
        }
        self.clashes()
    }

    fn define(
        &mut self,
        statement: usize,
        name: &Name,
        role: Role,
        dims: Vec<String>,
    ) -> Result<()> {
        if self.hides_constant(name) {
            return Err(self.is_constant(name));
        }
        // Data and what is not recorded never stand beside the draws of a parameter.
        let beside = !matches!(role, Role::Data | Role::Local);
        if OF_TRACES.contains(&name.text.as_str()) && (beside || name.text != "sample") {
            return Err(self.is_of_traces(name));
        }
        if let Some(first) = self.symbols.get(&name.text) {
            let what = if first.role == Role::Data {
                "declared as data"
            } else {
                "defined"
            };
            let message = format!(
                "`{name}` is already {what} on line {}",
                self.line(first.statement)
            );
            return Err(self.error(name.span, message));
        }
        let level = match role {
            Role::Data | Role::Local | Role::Deterministic => Level::Data,
            Role::Parameter => Level::Parameters,
            Role::Predicted => Level::Predicted,
        };
        let symbol = Symbol {
            role,
            statement,
            dims,
            indexes: None,
            level,
        };
        self.symbols.insert(name.text.clone(), symbol);
        Ok(())
    }

    /// A name may be a dim and a variable only when it is a scalar that gives the dim's size.
    fn clashes(&self) -> Result<()> {
        for dim in &self.dims {
            let Some(symbol) = self.symbols.get(&dim.text) else {
                continue;
            };
            let scalar =
                symbol.role == Role::Data && symbol.dims.is_empty() && symbol.indexes.is_none();
            if !scalar {
                let name = self.statements[symbol.statement].name().unwrap_or(dim);
                let message = format!(
                    "`{dim}` is the name of a dim (line {}) and of a variable; rename one of them",
                    line_number(self.text, dim.span.start())
                );
                return Err(self.error(name.span, message));
            }
        }
        Ok(())
    }
}

fn texts(names: &[Name]) -> Vec<String> {
    names.iter().map(|n| n.text.clone()).collect()
}

/// The plain names among `subscripts`.
fn names_in(subscripts: &[Subscript]) -> Vec<String> {
    let name = |s: &Subscript| match s {
        Subscript::At(Expr {
            kind: ExprKind::Name(n),
            ..
        }) => Some(n.clone()),
        _ => None,
    };
    subscripts.iter().filter_map(name).collect()
}
