//! Formulas: from the text of a curve to a graph over rows, with its partial derivatives.

mod along;
mod build;
mod curve;
mod derive;
mod inner;
mod link;
mod loss;
mod names;
mod newton;
mod numpy;
mod projection;
mod python;
mod separate;
mod structure;
mod template;
mod tie;
mod units;

pub use build::Setting;
pub use curve::Curve;
pub(crate) use curve::{Closure, Recorded};
pub use derive::Programs;
pub(crate) use derive::{RESPONSE, WEIGHT};
pub use loss::Loss;
pub(crate) use names::CONSTANTS;
pub use names::{Parameter, Roles};
pub use newton::Newton;
pub use projection::Projection;
pub use python::function_in;
pub(crate) use structure::{Place, Structure, Term, Waves};
pub use tie::computed_column;
pub(crate) use tie::tie_value;

use crate::library;
use fitzroy::model::ast::{Expr, Name};
use fitzroy::{Error, ErrorKind, Result};

/// A curve as it was written: what its names stand for depends on the data.
///
/// ```
/// use fitzroy_curve_fit::Formula;
/// let formula = Formula::parse("a * exp(-b * t) + c")?;
/// let roles = formula.roles(&["t", "counts"], &[])?;
/// assert_eq!(roles.predictors, ["t"]);
/// let names: Vec<&str> = roles.parameters.iter().map(|p| p.name.as_str()).collect();
/// assert_eq!(names, ["a", "b", "c"]);
/// # Ok::<(), fitzroy::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Formula {
    /// As written, with built-in curves written out.
    text: String,
    lets: Vec<(Name, Expr)>,
    value: Expr,
    /// The built-in curve it is, when it is one and nothing else.
    builtin: Option<library::Use>,
    /// The Rust code it is, when it is not text.
    code: Option<Recorded>,
    /// Arguments of the function it was written as: columns, then parameters in this order.
    arguments: Option<Vec<String>>,
}

impl Formula {
    /// Reads a formula: an expression of the model language, perhaps after
    /// `let NAME = EXPRESSION;`, or the name of a built-in curve, or both. Functions may have the prefixes of
    /// Python's modules (`np.exp`), and the formula may be a function of Python that computes it:
    /// `lambda x, a, b: a*exp(-b*x)`, or `def f(x, a, b): return a*exp(-b*x)`. Its first argument is then a
    /// column, and so are others that are; the rest are parameters in their order.
    ///
    /// # Errors
    /// What does not parse, with line, column and caret; Python that is more than an expression.
    pub fn parse(text: &str) -> Result<Formula> {
        if text.trim().is_empty() {
            let message = "the model is empty; write a formula such as a*exp(-b*x)+c";
            return Err(Error::new(ErrorKind::Usage, message));
        }
        let builtin = library::whole(text);
        let (text, arguments) = match &builtin {
            Some(found) => (found.text(), None),
            None => {
                let found = python::read(text)?;
                (found.text, found.arguments)
            }
        };
        let (lets, value) = Expr::parse_formula(&text)?;
        let (lets, value) = template::write_out(&text, lets, value)?;
        Ok(Formula {
            text,
            lets,
            value,
            builtin,
            code: None,
            arguments,
        })
    }

    /// A curve that is Rust code: it takes all columns of the data, in their order.
    ///
    /// # Errors
    /// No parameters, two of one name, or a name that is no name.
    pub fn from_curve(curve: impl Curve + 'static) -> Result<Formula> {
        let code = Recorded::new(curve)?;
        let (lets, value) = Expr::parse_formula("0")?;
        Ok(Formula {
            text: format!("f(columns, {})", code.parameters.join(", ")),
            lets,
            value,
            builtin: None,
            code: Some(code),
            arguments: None,
        })
    }

    /// True for Rust code, which no model text can be made of.
    pub fn is_code(&self) -> bool {
        self.code.is_some()
    }

    /// The formula as text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its `let` statements, in order.
    pub fn statements(&self) -> impl Iterator<Item = (&str, &Expr)> {
        self.lets
            .iter()
            .map(|(name, value)| (name.text.as_str(), value))
    }

    /// Its value.
    pub fn value(&self) -> &Expr {
        &self.value
    }

    /// The same statements with another value.
    pub(crate) fn with_value(&self, value: Expr) -> Formula {
        Formula {
            value,
            builtin: None,
            ..self.clone()
        }
    }

    /// The built-in curve it is, if it is one and nothing else.
    pub fn builtin(&self) -> Option<&library::Use> {
        self.builtin.as_ref()
    }

    /// An error about this formula at an expression of it.
    fn error(&self, span: fitzroy::model::ast::Span, message: impl std::fmt::Display) -> Error {
        let lined = self.text.replace(';', "\n");
        fitzroy::model::error_at(&lined, span, message)
    }
}
