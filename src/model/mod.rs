//! Models: the language they are written in, and their meaning for data.
//!
//! A model is a short text in the notation people write on paper, or the same statements made by
//! [`Builder`]; both give the same [`Model`]:
//!
//! ```
//! use fitzroy::model::Model;
//! let text = Model::parse(
//!     "data y[obs], group[obs] in groups
//!      mu ~ Normal(0, 10)
//!      theta[groups] ~ Normal(mu, 1)
//!      y[obs] ~ Normal(theta[group], 2)",
//! )?;
//! let built = Model::builder()
//!     .data("y", &["obs"])
//!     .data_in("group", &["obs"], "groups")
//!     .parameter("mu", &[], "Normal(0, 10)")
//!     .parameter("theta", &["groups"], "Normal(mu, 1)")
//!     .observed("y", &["obs"], "Normal(theta[group], 2)")
//!     .build()?;
//! assert_eq!(text, built);
//! # Ok::<(), fitzroy::Error>(())
//! ```

pub mod ast;
mod bind;
mod builder;
mod check;
mod expand;
pub mod families;
pub mod foreign;
pub mod functions;
pub mod joint;
pub(crate) mod names;
mod numbers;
mod parse;
mod prediction;
mod print;
mod source;
mod token;
mod tree;

#[cfg(test)]
mod tests;

pub(crate) use bind::place;
pub use bind::{Binding, BoundArray, BoundDim, Content, Missing};
pub use builder::{Builder, Piece};
pub use check::{Level, Role, Symbol};
pub use source::error_at;

use crate::{Error, Result};
use ast::{Expr, Name, Span, Statement};
use std::collections::BTreeMap;
use std::fmt;

/// The value of a name that the language fixes, such as `pi`.
pub fn constant(name: &str) -> Option<f64> {
    check::constant(name)
}

/// A model: what is known, what is unknown, and how they hang together. Not yet bound to data.
///
/// Two models are equal when their statements are, wherever and however they were written.
#[derive(Clone, Debug)]
pub struct Model {
    text: String,
    statements: Vec<Statement>,
    checked: check::Checked,
}

impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        self.statements == other.statements
    }
}

impl Model {
    /// Reads a model from `text`.
    ///
    /// Checks all that needs no data: syntax, names, number and names of arguments, cycles,
    /// discrete parameters. An error names line and column, shows the line with a caret and says
    /// what was expected. Statements may stand in any order.
    ///
    /// ```
    /// # use fitzroy::model::Model;
    /// let error = Model::parse("mu ~ Norml(0, 1)").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "line 1, column 6: unknown distribution `Norml`; did you mean `Normal`?\n    \
    ///      mu ~ Norml(0, 1)\n         ^^^^^"
    /// );
    /// ```
    pub fn parse(text: &str) -> Result<Model> {
        let (statements, formulas) = parse::statements(text)?;
        let (statements, unused) = expand::expand(text, statements, &formulas)?;
        let mut checked = check::check(text, &statements)?;
        checked.warnings.extend(unused);
        Ok(Model {
            text: text.into(),
            statements,
            checked,
        })
    }

    /// Starts a model made statement by statement.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The text the model was read from, to which the spans of its statements refer.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The statements, in the order they were written.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// Indices of the statements in an order in which everything is defined before it is used;
    /// otherwise as written. Declarations of data and dims come first, predictions last.
    pub fn order(&self) -> &[usize] {
        &self.checked.order.statements
    }

    /// Definitions that refer to each other's values of the step before, by their indices; each
    /// part stands together in [`Model::order`], in the same order.
    pub(crate) fn recurrences(&self) -> &[Vec<usize>] {
        &self.checked.order.recurrences
    }

    /// What each name stands for.
    pub fn symbols(&self) -> &BTreeMap<String, Symbol> {
        &self.checked.symbols
    }

    /// Names of all dims, in the order they first occur.
    pub fn dims(&self) -> &[Name] {
        &self.checked.dims
    }

    /// What is odd but not wrong, for example data that are declared and not used.
    pub fn warnings(&self) -> &[String] {
        &self.checked.warnings
    }

    /// Matches the model with `data`: sizes and labels of dims, indices, checked values.
    pub fn bind(&self, data: &crate::data::Dataset) -> Result<Binding> {
        bind::bind(self, data)
    }

    /// An error about this model at `span`.
    pub(crate) fn error(&self, span: Span, message: impl fmt::Display) -> Error {
        source::error_at(&self.text, span, message)
    }
}

impl fmt::Display for Model {
    /// The model as canonical text: one statement a line, in the order written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.statements.iter().try_for_each(|s| writeln!(f, "{s}"))
    }
}

impl Expr {
    /// Reads an expression, for example `a * exp(-b * t) + c`. Names are not checked.
    pub fn parse(text: &str) -> Result<Expr> {
        parse::expression(text)
    }

    /// Reads a formula: `let NAME = EXPRESSION` as often as wanted, separated by `;` or by lines,
    /// then the expression that is its value. `let NAME(arguments) = EXPRESSION` is a function, which is written
    /// out wherever it is called. Other names are not checked.
    ///
    /// ```
    /// # use fitzroy::model::ast::Expr;
    /// let (lets, value) = Expr::parse_formula("let u = (x - m) / s; a * exp(-u^2 / 2)")?;
    /// assert_eq!((lets[0].0.text.as_str(), value.to_string().as_str()), ("u", "a * exp(-u ^ 2 / 2)"));
    /// # Ok::<(), fitzroy::Error>(())
    /// ```
    pub fn parse_formula(text: &str) -> Result<(Vec<(Name, Expr)>, Expr)> {
        let text = text.replace(';', "\n");
        let (block, formulas) = parse::block(&text)?;
        expand::block(&text, block, &formulas)
    }
}
