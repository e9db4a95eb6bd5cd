//! Built-in curves inside formulas: `gaussian(x, a, m, s) + k*x` is written out before use.

use crate::library;
use fitzroy::Result;
use fitzroy::model::ast::{Argument, Call, Expr, ExprKind, Name, Subscript};

/// `lets` and `value` with calls of built-in curves replaced by their formulas.
pub(super) fn write_out(
    text: &str,
    lets: Vec<(Name, Expr)>,
    value: Expr,
) -> Result<(Vec<(Name, Expr)>, Expr)> {
    let lets = lets
        .into_iter()
        .map(|(name, e)| Ok((name, expand(text, e)?)));
    Ok((lets.collect::<Result<_>>()?, expand(text, value)?))
}

fn expand(text: &str, e: Expr) -> Result<Expr> {
    let Expr { kind, span } = map(e, &mut |e| expand(text, e))?;
    let ExprKind::Call(call) = kind else {
        return Ok(Expr { kind, span });
    };
    let Some(entry) = library::entry(&call.name.text) else {
        let kind = ExprKind::Call(call);
        return Ok(Expr { kind, span });
    };
    let names: Vec<&str> = entry
        .predictors
        .iter()
        .chain(entry.parameters)
        .copied()
        .collect();
    if names.len() != call.arguments.len() || call.arguments.iter().any(|a| a.name.is_some()) {
        let message = format!(
            "`{0}` is called as `{0}({1})`",
            entry.name,
            names.join(", ")
        );
        let lined = text.replace(';', "\n");
        return Err(fitzroy::model::error_at(&lined, call.span, message));
    }
    let known = "built-in formulas parse; a test reads them";
    let (lets, value) = Expr::parse_formula(entry.formula).expect(known);
    let arguments = call.arguments.into_iter().map(|a| a.value);
    let mut known: Vec<(String, Expr)> = names
        .iter()
        .map(ToString::to_string)
        .zip(arguments)
        .collect();
    for (name, value) in lets {
        let value = substitute(value, &known)?;
        known.push((name.text, value));
    }
    let mut out = substitute(value, &known)?;
    out.span = span;
    Ok(out)
}

/// `e` with each known name replaced by its expression.
fn substitute(e: Expr, known: &[(String, Expr)]) -> Result<Expr> {
    if let ExprKind::Name(name) = &e.kind
        && let Some((_, value)) = known.iter().find(|(n, _)| n == name)
    {
        return Ok(value.clone());
    }
    map(e, &mut |e| substitute(e, known))
}

/// `e` with `f` applied to its parts.
fn map(e: Expr, f: &mut dyn FnMut(Expr) -> Result<Expr>) -> Result<Expr> {
    let Expr { kind, span } = e;
    let kind = match kind {
        ExprKind::Unary(op, a) => ExprKind::Unary(op, Box::new(f(*a)?)),
        ExprKind::Binary(op, a, b) => ExprKind::Binary(op, Box::new(f(*a)?), Box::new(f(*b)?)),
        ExprKind::Index(base, subscripts) => {
            let subscripts = subscripts.into_iter().map(|s| match s {
                Subscript::At(e) => f(e).map(Subscript::At),
                slice => Ok(slice),
            });
            ExprKind::Index(base, subscripts.collect::<Result<_>>()?)
        }
        ExprKind::Call(Call {
            name,
            arguments,
            span,
        }) => {
            let arguments = arguments.into_iter().map(|a| {
                let value = f(a.value)?;
                Ok(Argument {
                    name: a.name,
                    value,
                })
            });
            ExprKind::Call(Call {
                name,
                arguments: arguments.collect::<Result<_>>()?,
                span,
            })
        }
        other => other,
    };
    Ok(Expr { kind, span })
}
