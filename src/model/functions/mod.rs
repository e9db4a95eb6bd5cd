//! The functions an expression may call, and how they are called.

mod elsewhere;
mod table;

use super::ast::{Argument, Call};
use super::names::did_you_mean;
use super::source::error_at;
use crate::Result;

pub use elsewhere::known_elsewhere;
pub use table::FUNCTIONS;

/// How a function treats its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Element by element; arguments broadcast over shared dims.
    Elementwise,
    /// One argument, reduced over `axis=dim` or over all dims; with several arguments, where the
    /// function allows them, element by element.
    Reduction,
    /// One argument, along `axis=dim` (which may be left out for a vector); dims stay.
    Along,
    /// The inner product of two vectors over their one dim.
    Dot,
    /// Of matrices and vectors as wholes.
    Matrix,
    /// Of a dim.
    OfDim,
    /// The length of axis `axis` (0-based) of its argument.
    Size,
    /// Arrays joined, along `axis=dim` where they have more than one dim.
    Join,
    /// One step before, along `axis=dim` (which may be left out if there is one dim).
    Lag,
    /// The solution of a differential equation at given times; it stands alone in a definition.
    Ode,
}

/// A function of the language.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Names of its arguments; `more` may follow when `variadic`.
    pub parameters: &'static [&'static str],
    /// Names of what may be given by name, and may be left out.
    pub options: &'static [&'static str],
    /// True when further arguments like the last may follow.
    pub variadic: bool,
    /// How it treats its arguments.
    pub shape: Shape,
    /// Its meaning, in a line.
    pub meaning: &'static str,
}

/// The function called `name`.
pub fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|f| f.name == name)
}

impl Function {
    /// How to call it: `clip(x, lower, upper)`.
    pub fn usage(&self) -> String {
        if self.shape == Shape::Join {
            return format!("{}(a, b, ..., axis=dim)", self.name);
        }
        let more = if self.variadic { ", ..." } else { "" };
        let option = |name: &&str| match *name {
            "axis" => ", axis=dim".into(),
            other => format!(", {other}="),
        };
        let options: String = self.options.iter().map(option).collect();
        format!(
            "{}({}{options}{more})",
            self.name,
            self.parameters.join(", ")
        )
    }

    /// The parameter that an argument is for, by its name or else by its position.
    pub fn slot(&self, position: usize, argument: &Argument) -> Option<usize> {
        match &argument.name {
            None => Some(position).filter(|p| *p < self.parameters.len()),
            Some(name) => self.parameters.iter().position(|p| *p == name.text),
        }
    }

    /// True when `axis=dim` may be given.
    pub fn takes_axis(&self) -> bool {
        self.options.contains(&"axis")
    }
}

/// The argument of a call, checked before, that is for the parameter or option `name`.
pub fn argument<'c>(call: &'c Call, name: &str) -> Option<&'c super::ast::Expr> {
    let slot = function(&call.name.text)?
        .parameters
        .iter()
        .position(|p| *p == name);
    let is = |(position, argument): &(usize, &Argument)| match &argument.name {
        Some(own) => own.text == name,
        None => slot == Some(*position),
    };
    let mut arguments = call.arguments.iter().enumerate();
    arguments.find(is).map(|(_, argument)| &argument.value)
}

/// What to say about a function that does not exist.
pub fn unknown(name: &str) -> String {
    let advice = match known_elsewhere(name) {
        Some(ours) => format!("; it is called `{ours}` here"),
        None => did_you_mean(name, FUNCTIONS.iter().map(|f| f.name)),
    };
    format!("unknown function `{name}`{advice}")
}

/// Checks number and names of the arguments of `call`, a call of `function`.
///
/// # Errors
/// Names what is missing, given twice or unknown, and how the function is called.
pub fn check_arguments(text: &str, function: &Function, call: &Call) -> Result<()> {
    let usage = function.usage();
    let mut given = vec![false; function.parameters.len()];
    let mut extra = 0;
    for (position, argument) in call.arguments.iter().enumerate() {
        let slot = match (function.slot(position, argument), &argument.name) {
            (_, Some(name)) if function.options.contains(&name.text.as_str()) => {
                let (before, same) = (&call.arguments[..position], |a: &Argument| {
                    a.name.as_ref().is_some_and(|n| n.text == name.text)
                });
                if before.iter().any(same) {
                    let message = format!("argument `{}` is given twice", name.text);
                    return Err(error_at(text, name.span, message));
                }
                continue;
            }
            (Some(slot), _) => slot,
            (None, None) if function.variadic => {
                extra += 1;
                continue;
            }
            (None, None) => {
                let n = call.arguments.len();
                let message = format!(
                    "`{}` got {n} arguments; it is called as `{usage}`",
                    function.name
                );
                return Err(error_at(text, argument.value.span, message));
            }
            (None, Some(name)) => {
                let message = format!(
                    "`{}` has no argument `{}`; it is called as `{usage}`",
                    function.name, name.text
                );
                return Err(error_at(text, name.span, message));
            }
        };
        if std::mem::replace(&mut given[slot], true) {
            let message = format!("argument `{}` is given twice", function.parameters[slot]);
            return Err(error_at(text, argument.value.span, message));
        }
    }
    if let Some(missing) = given.iter().position(|g| !g) {
        let message = format!(
            "`{}` lacks its argument `{}`; it is called as `{usage}`",
            function.name, function.parameters[missing]
        );
        return Err(error_at(text, call.span, message));
    }
    let axis = call
        .arguments
        .iter()
        .find(|a| a.name.as_ref().is_some_and(|n| n.text == "axis"));
    match axis {
        Some(axis) if extra > 0 && function.shape == Shape::Reduction => {
            let message = format!("`{}` of several arguments takes no axis", function.name);
            Err(error_at(text, axis.value.span, message))
        }
        _ => Ok(()),
    }
}
