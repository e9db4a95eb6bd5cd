//! Models made statement by statement.

use super::ast::{
    Call, Centring, Computed, Data, Dim, Expr, ExprKind, Extent, Keep, LimitKind, Limits, Name,
    Sampled, Statement, Subscript,
};
use super::{Model, parse};
use crate::data::Labels;
use crate::{Error, ErrorKind, Result};

/// A part of a statement: text in the language, or a tree.
#[derive(Clone, Debug)]
pub enum Piece {
    /// An expression or a distribution as text.
    Text(String),
    /// An expression made by hand.
    Tree(Expr),
}

impl From<&str> for Piece {
    fn from(text: &str) -> Self {
        Piece::Text(text.into())
    }
}

impl From<String> for Piece {
    fn from(text: String) -> Self {
        Piece::Text(text)
    }
}

impl From<Expr> for Piece {
    fn from(tree: Expr) -> Self {
        Piece::Tree(tree)
    }
}

impl From<f64> for Piece {
    fn from(value: f64) -> Self {
        Piece::Tree(Expr::number(value))
    }
}

impl Piece {
    fn expr(self) -> Result<Expr> {
        match self {
            Piece::Text(text) => parse::expression(&text),
            Piece::Tree(tree) => Ok(tree),
        }
    }

    fn call(self) -> Result<Call> {
        let text = match &self {
            Piece::Text(text) => text.clone(),
            Piece::Tree(tree) => tree.to_string(),
        };
        match self.expr()?.kind {
            ExprKind::Call(call) => Ok(call),
            _ => {
                let message =
                    format!("expected a distribution such as `Normal(0, 1)`, got `{text}`");
                Err(Error::new(ErrorKind::Model, message))
            }
        }
    }
}

/// Collects the statements of a model; see [`Model::builder`].
///
/// Each method stands for one statement of the language. Expressions are given as text or as
/// trees ([`Expr`]). The first mistake is kept and returned by [`Builder::build`].
///
/// ```
/// use fitzroy::model::{Model, ast::Expr};
/// let slope = Expr::name("b") * Expr::name("x");
/// let model = Model::builder()
///     .data("x", &["obs"])
///     .data("y", &["obs"])
///     .parameter("b", &[], "Normal(0, 1)")
///     .parameter("sigma", &[], Expr::call("HalfNormal", [Expr::number(1.0)]))
///     .deterministic("mu", &["obs"], slope)
///     .observed("y", &["obs"], "Normal(mu, sigma)")
///     .build()?;
/// assert_eq!(
///     model.to_string(),
///     "data x[obs]\ndata y[obs]\nb ~ Normal(0, 1)\nsigma ~ HalfNormal(1)\n\
///      mu[obs] = b * x\ny[obs] ~ Normal(mu, sigma)\n"
/// );
/// # Ok::<(), fitzroy::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder {
    statements: Vec<Statement>,
    error: Option<Error>,
}

fn names(dims: &[&str]) -> Vec<Name> {
    dims.iter().map(|&d| Name::from(d)).collect()
}

fn subscripts(dims: &[&str]) -> Vec<Subscript> {
    dims.iter().map(|&d| Subscript::At(Expr::name(d))).collect()
}

impl Builder {
    /// Adds any statement.
    #[must_use]
    pub fn statement(mut self, statement: Statement) -> Self {
        self.statements.push(statement);
        self
    }

    /// Adds what `make` gives, or keeps its error with a word on where it arose.
    fn try_add(self, name: &str, make: impl FnOnce() -> Result<Statement>) -> Self {
        match make() {
            Ok(statement) => self.statement(statement),
            Err(error) => {
                let error = error.context(format!("in the statement on `{name}`"));
                Builder {
                    error: self.error.or(Some(error)),
                    ..self
                }
            }
        }
    }

    fn datum(self, name: &str, dims: &[&str], indexes: Option<&str>, from: Option<i64>) -> Self {
        self.statement(Statement::Data(Data {
            name: name.into(),
            dims: names(dims),
            indexes: indexes.map(Name::from),
            from,
            whole: false,
        }))
    }

    /// `data NAME[dims]`
    #[must_use]
    pub fn data(self, name: &str, dims: &[&str]) -> Self {
        self.datum(name, dims, None, None)
    }

    /// `data NAME[dims] in DIM`
    #[must_use]
    pub fn data_in(self, name: &str, dims: &[&str], dim: &str) -> Self {
        self.datum(name, dims, Some(dim), None)
    }

    /// `data NAME[dims] in DIM from BASE`
    #[must_use]
    pub fn data_in_from(self, name: &str, dims: &[&str], dim: &str, base: i64) -> Self {
        self.datum(name, dims, Some(dim), Some(base))
    }

    /// `dim NAME = SIZE`
    #[must_use]
    pub fn dim(self, name: &str, size: impl Into<Piece>) -> Self {
        let size = size.into();
        self.try_add(name, || {
            Ok(Statement::Dim(Dim {
                name: name.into(),
                extent: Extent::Size(size.expr()?),
            }))
        })
    }

    /// `dim NAME = ["a", "b"]`
    #[must_use]
    pub fn dim_labels(self, name: &str, labels: Labels) -> Self {
        let extent = Extent::Labels(labels);
        self.statement(Statement::Dim(Dim {
            name: name.into(),
            extent,
        }))
    }

    fn sampled(
        self,
        name: &str,
        subscripts: Result<Vec<Subscript>>,
        distribution: Piece,
        predicted: bool,
    ) -> Self {
        self.try_add(name, || {
            Ok(Statement::Sampled(Sampled {
                name: name.into(),
                subscripts: subscripts?,
                distribution: distribution.call()?,
                limits: None,
                ordered: false,
                centring: Centring::Auto,
                predicted,
            }))
        })
    }

    /// `NAME[dims] ~ DISTRIBUTION` for a name that is not data.
    #[must_use]
    pub fn parameter(self, name: &str, dims: &[&str], distribution: impl Into<Piece>) -> Self {
        self.sampled(name, Ok(subscripts(dims)), distribution.into(), false)
    }

    /// `NAME[at] ~ DISTRIBUTION` for data; each of `at` is a dim, a position or a slice (`"5:"`).
    #[must_use]
    pub fn observed(self, name: &str, at: &[&str], distribution: impl Into<Piece>) -> Self {
        let parse = || match parse::expression(&format!("{name}[{}]", at.join(", ")))?.kind {
            ExprKind::Index(_, subscripts) => Ok(subscripts),
            _ => Err(Error::new(
                ErrorKind::Model,
                "expected dims, positions or slices",
            )),
        };
        let subscripts = if at.is_empty() {
            Ok(Vec::new())
        } else {
            parse()
        };
        self.sampled(name, subscripts, distribution.into(), false)
    }

    /// `predict NAME[dims] ~ DISTRIBUTION`
    #[must_use]
    pub fn predicted(self, name: &str, dims: &[&str], distribution: impl Into<Piece>) -> Self {
        self.sampled(name, Ok(subscripts(dims)), distribution.into(), true)
    }

    fn limited(mut self, kind: LimitKind, lower: Piece, upper: Piece) -> Self {
        let made = lower.expr().and_then(|lower| Ok((lower, upper.expr()?)));
        match (made, self.statements.last_mut()) {
            (Ok((lower, upper)), Some(Statement::Sampled(s))) => {
                s.limits = Some(Limits { kind, lower, upper });
            }
            (Err(error), _) => self.error = self.error.or(Some(error.context("in the limits"))),
            _ => {
                let message = "limits must follow a parameter, observed data or a prediction";
                self.error = self.error.or(Some(Error::new(ErrorKind::Model, message)));
            }
        }
        self
    }

    /// `truncated(lower, upper)` on the distribution just added.
    #[must_use]
    pub fn truncated(self, lower: impl Into<Piece>, upper: impl Into<Piece>) -> Self {
        self.limited(LimitKind::Truncated, lower.into(), upper.into())
    }

    /// `bounded(lower, upper)` on the distribution just added.
    #[must_use]
    pub fn bounded(self, lower: impl Into<Piece>, upper: impl Into<Piece>) -> Self {
        self.limited(LimitKind::Bounded, lower.into(), upper.into())
    }

    /// `ordered` on the parameter just added.
    #[must_use]
    pub fn ordered(mut self) -> Self {
        match self.statements.last_mut() {
            Some(Statement::Sampled(s)) => s.ordered = true,
            _ => {
                let message = "`ordered` must follow a parameter";
                self.error = self.error.or(Some(Error::new(ErrorKind::Model, message)));
            }
        }
        self
    }

    /// `@ centring` on the parameter just added.
    #[must_use]
    pub fn centring(mut self, centring: Centring) -> Self {
        match self.statements.last_mut() {
            Some(Statement::Sampled(s)) => s.centring = centring,
            _ => {
                let message = "a choice of centring must follow a parameter";
                self.error = self.error.or(Some(Error::new(ErrorKind::Model, message)));
            }
        }
        self
    }

    fn computed(self, name: &str, dims: &[&str], value: Piece, keep: Keep) -> Self {
        self.try_add(name, || {
            let value = value.expr()?;
            Ok(Statement::Computed(Computed {
                name: name.into(),
                dims: names(dims),
                value,
                keep,
            }))
        })
    }

    /// `NAME[dims] = expr`, recorded.
    #[must_use]
    pub fn deterministic(self, name: &str, dims: &[&str], value: impl Into<Piece>) -> Self {
        self.computed(name, dims, value.into(), Keep::Recorded)
    }

    /// `let NAME[dims] = expr`, not recorded.
    #[must_use]
    pub fn local(self, name: &str, dims: &[&str], value: impl Into<Piece>) -> Self {
        self.computed(name, dims, value.into(), Keep::Local)
    }

    /// `predict NAME[dims] = expr`
    #[must_use]
    pub fn predicted_value(self, name: &str, dims: &[&str], value: impl Into<Piece>) -> Self {
        self.computed(name, dims, value.into(), Keep::Predicted)
    }

    /// `target += expr`
    #[must_use]
    pub fn target(self, value: impl Into<Piece>) -> Self {
        let value = value.into();
        self.try_add("target", || Ok(Statement::Target(value.expr()?)))
    }

    /// The model, checked as [`Model::parse`] checks; lines in errors are those of its text.
    pub fn build(self) -> Result<Model> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let text: String = self.statements.iter().map(|s| format!("{s}\n")).collect();
        Model::parse(&text)
    }
}
