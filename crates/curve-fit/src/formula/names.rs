//! Names of a formula: which are predictors, which are parameters.

use super::Formula;
use fitzroy::model::ast::{Expr, ExprKind, Span, Subscript};
use fitzroy::model::functions;
use fitzroy::{Error, ErrorKind, Result};

/// The constants of a curve. `e` is a parameter like other letters: models of five parameters have one.
pub(crate) const CONSTANTS: [(&str, f64); 2] =
    [("pi", std::f64::consts::PI), ("inf", f64::INFINITY)];

/// A parameter of a formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, with the label in brackets where it has one for each: `c[left]`.
    pub name: String,
    /// For `c[set]`: the name before the brackets, the column of labels, the place of the label.
    pub indexed: Option<(String, String, usize)>,
}

/// What the names of a formula stand for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roles {
    /// Columns that occur in the formula, in the order they occur.
    pub predictors: Vec<String>,
    /// Names that are no columns, in the order they occur.
    pub parameters: Vec<Parameter>,
}

impl Formula {
    /// Divides the names of the formula into predictors (columns) and parameters (all others).
    ///
    /// `labels` are the columns of text with their labels: `c[set]` is one parameter for each
    /// label of the column `set`.
    ///
    /// # Errors
    /// Functions that do not exist or are not row by row, arrays, and formulas without parameter.
    pub fn roles(&self, columns: &[&str], labels: &[(&str, &[String])]) -> Result<Roles> {
        let roles = self.names(columns, labels)?;
        if roles.parameters.is_empty() {
            let message = format!(
                "the model `{}` has no parameter: all its names are columns ({})",
                self.text,
                columns.join(", ")
            );
            return Err(Error::new(ErrorKind::Usage, message));
        }
        Ok(roles)
    }

    /// As [`Formula::roles`], for formulas that may lack parameters.
    pub(crate) fn names(&self, columns: &[&str], labels: &[(&str, &[String])]) -> Result<Roles> {
        if let Some(code) = &self.code {
            let parameter = |name: &String| Parameter {
                name: name.clone(),
                indexed: None,
            };
            return Ok(Roles {
                predictors: columns.iter().map(ToString::to_string).collect(),
                parameters: code.parameters.iter().map(parameter).collect(),
            });
        }
        let mut finder = Finder {
            formula: self,
            columns,
            labels,
            local: Vec::new(),
            roles: Roles::default(),
        };
        for (name, value) in &self.lets {
            finder.expr(value)?;
            if columns.contains(&name.text.as_str()) {
                let message = format!("`{}` is a column; give this another name", name.text);
                return Err(self.error(name.span, message));
            }
            finder.local.push(&name.text);
        }
        finder.expr(&self.value)?;
        let mut roles = finder.roles;
        if let Some(arguments) = &self.arguments {
            self.order(arguments, columns, &mut roles)?;
        }
        Ok(roles)
    }

    /// Parameters that occur in the value itself.
    pub(crate) fn value_names(&self, columns: &[&str]) -> Result<Vec<String>> {
        let mut finder = Finder {
            formula: self,
            columns,
            labels: &[],
            local: Vec::new(),
            roles: Roles::default(),
        };
        finder.expr(&self.value)?;
        let names = finder.roles.parameters.into_iter().map(|p| p.name);
        let is_local = |name: &String| self.lets.iter().any(|(local, _)| local.text == *name);
        Ok(names.filter(|name| !is_local(name)).collect())
    }

    /// Puts parameters in the order of the arguments of a function.
    fn order(&self, arguments: &[String], columns: &[&str], roles: &mut Roles) -> Result<()> {
        let usage = |message: String| Err(Error::new(ErrorKind::Usage, message));
        let is_column = |name: &str| columns.contains(&name);
        if let Some(first) = arguments.first().filter(|name| !is_column(name)) {
            return usage(format!(
                "`{first}`, the first argument of the function, must be a column; the columns are {}. \
                 Rename one with ⟨x {first}=COLUMN⟩",
                columns.join(", ")
            ));
        }
        let base = |p: &Parameter| match &p.indexed {
            Some((base, ..)) => base.clone(),
            None => p.name.clone(),
        };
        let place = |p: &Parameter| arguments.iter().position(|a| *a == base(p));
        if let Some(stray) = roles.parameters.iter().find(|p| place(p).is_none()) {
            return usage(format!(
                "`{}` is neither an argument of the function ({}) nor a column",
                base(stray),
                arguments.join(", ")
            ));
        }
        for name in arguments.iter().filter(|name| !is_column(name)) {
            if roles.parameters.iter().all(|p| base(p) != *name) {
                let (name, indexed) = (name.clone(), None);
                roles.parameters.push(Parameter { name, indexed });
            }
        }
        roles.parameters.sort_by_key(place);
        Ok(())
    }
}

struct Finder<'f> {
    formula: &'f Formula,
    columns: &'f [&'f str],
    labels: &'f [(&'f str, &'f [String])],
    local: Vec<&'f str>,
    roles: Roles,
}

impl<'f> Finder<'f> {
    fn expr(&mut self, e: &'f Expr) -> Result<()> {
        match &e.kind {
            ExprKind::Number(_) => Ok(()),
            ExprKind::Name(name) => self.name(name, e.span),
            ExprKind::Unary(_, a) => self.expr(a),
            ExprKind::Binary(op, a, b) => {
                if op.sign() == "@" {
                    let message = "a curve is computed row by row; matrix products have no rows";
                    return Err(self.formula.error(e.span, message));
                }
                if let (ExprKind::Name(name), "^") = (&a.kind, op.sign())
                    && name == "e"
                    && !self.columns.contains(&"e")
                {
                    let message = "write exp(...) for powers of Euler's number; a parameter that is raised to \
                                   a power needs another name than `e`";
                    return Err(self.formula.error(a.span, message));
                }
                self.expr(a)?;
                self.expr(b)
            }
            ExprKind::Index(base, subscripts) => self.index(base, subscripts, e.span),
            ExprKind::List(_) => {
                let message = "a curve has one value per row; a list is not a value";
                Err(self.formula.error(e.span, message))
            }
            ExprKind::Call(call) => {
                let name = &call.name.text;
                let Some(function) = functions::function(name) else {
                    let message = functions::unknown(name);
                    return Err(self.formula.error(call.name.span, message));
                };
                let text = self.formula.text.replace(';', "\n");
                functions::check_arguments(&text, function, call)?;
                let pairwise = ["min", "max", "log_sum_exp"].contains(&name.as_str())
                    && call.arguments.len() > 1;
                if function.shape != functions::Shape::Elementwise && !pairwise {
                    let message = format!(
                        "a curve is computed row by row, and `{name}` goes over rows; compute \
                         that column beforehand"
                    );
                    return Err(self.formula.error(call.name.span, message));
                }
                call.arguments.iter().try_for_each(|a| self.expr(&a.value))
            }
        }
    }

    fn name(&mut self, name: &str, span: Span) -> Result<()> {
        if self.local.contains(&name) {
            return Ok(());
        }
        if self.labels.iter().any(|(column, _)| *column == name) {
            let message = format!(
                "column `{name}` holds labels; use it as an index, `c[{name}]`, for one parameter \
                 per label"
            );
            return Err(self.formula.error(span, message));
        }
        if self.columns.contains(&name) {
            if !self.roles.predictors.iter().any(|p| p == name) {
                self.roles.predictors.push(name.into());
            }
        } else if CONSTANTS.iter().all(|(c, _)| *c != name) {
            self.parameter(name.into(), None);
        }
        Ok(())
    }

    fn parameter(&mut self, name: String, indexed: Option<(String, String, usize)>) {
        if !self.roles.parameters.iter().any(|p| p.name == name) {
            self.roles.parameters.push(Parameter { name, indexed });
        }
    }

    /// `c[set]`: one parameter per label.
    fn index(&mut self, base: &'f Expr, subscripts: &'f [Subscript], span: Span) -> Result<()> {
        let refuse = |message: String| Err(self.formula.error(span, message));
        let (ExprKind::Name(base), [Subscript::At(at)]) = (&base.kind, subscripts) else {
            return refuse("only `parameter[column]` can be indexed in a curve".into());
        };
        let ExprKind::Name(column) = &at.kind else {
            return refuse("the index must be a column that tells the data sets apart".into());
        };
        if self.columns.contains(&base.as_str()) {
            return refuse(format!(
                "`{base}` is a column, which has its value in each row"
            ));
        }
        let Some((_, labels)) = self.labels.iter().find(|(name, _)| name == column) else {
            return refuse(format!(
                "`{column}` is not a column of labels; `{base}[{column}]` needs a column that \
                 names the data set of each row"
            ));
        };
        if labels.len() > 64 {
            return refuse(format!(
                "`{column}` has {} labels, and a joint fit takes up to 64; fit the sets apart with \
                 ⟨batch_by {column}⟩",
                labels.len()
            ));
        }
        if !self.roles.predictors.contains(column) {
            self.roles.predictors.push(column.clone());
        }
        for (k, label) in labels.iter().enumerate() {
            let indexed = Some((base.clone(), column.clone(), k));
            self.parameter(format!("{base}[{label}]"), indexed);
        }
        Ok(())
    }
}

impl Formula {
    /// How `parameter` meets a predictor, for starting values: (true, column) where it is added
    /// to or subtracted from it, (false, column) where it multiplies or divides it.
    pub(crate) fn place_of(&self, parameter: &str, roles: &Roles) -> Option<(bool, usize)> {
        let mut found = None;
        for e in self.lets.iter().map(|(_, e)| e).chain([&self.value]) {
            meet(e, parameter, roles, &mut found);
        }
        found
    }
}

/// The column that `e` is, perhaps with a sign.
fn column_of(e: &Expr, roles: &Roles) -> Option<usize> {
    match &e.kind {
        ExprKind::Name(name) => roles.predictors.iter().position(|p| p == name),
        ExprKind::Unary(_, a) => column_of(a, roles),
        _ => None,
    }
}

fn is_parameter(e: &Expr, parameter: &str) -> bool {
    match &e.kind {
        ExprKind::Name(name) => name == parameter,
        ExprKind::Unary(_, a) => is_parameter(a, parameter),
        _ => false,
    }
}

fn meet(e: &Expr, parameter: &str, roles: &Roles, found: &mut Option<(bool, usize)>) {
    match &e.kind {
        ExprKind::Binary(op, a, b) => {
            for (p, x) in [(a, b), (b, a)] {
                if let (true, Some(column)) = (is_parameter(p, parameter), column_of(x, roles))
                    && found.is_none()
                {
                    *found = match op.sign() {
                        "+" | "-" => Some((true, column)),
                        "*" | "/" => Some((false, column)),
                        _ => None,
                    };
                }
            }
            meet(a, parameter, roles, found);
            meet(b, parameter, roles, found);
        }
        ExprKind::Unary(_, a) => meet(a, parameter, roles, found),
        ExprKind::Call(call) => {
            call.arguments
                .iter()
                .for_each(|a| meet(&a.value, parameter, roles, found));
        }
        _ => {}
    }
}
