//! Numbers that a model takes over whole data, such as `max(abs(x))`.

use super::Model;
use super::ast::UnaryOp;
use super::ast::{Argument, Call, Computed, Expr, ExprKind, Limits, Sampled, Statement, Subscript};
use super::check::{Level, Use, expressions, is_predicted, names_in_expr};
use super::functions::{Shape, function};
use crate::Result;
use std::collections::BTreeMap;

impl Model {
    /// The numbers that parameters and observed variables depend on and that are taken over whole
    /// data, each once, as text: `max(abs(x))`, `mean(x)`. Sums over one `axis` are none.
    pub(crate) fn numbers_of_data(&self) -> Vec<String> {
        let mut out = Vec::new();
        for statement in self
            .statements
            .iter()
            .filter(|s| !is_predicted(self.symbols(), s))
        {
            expressions(statement, &mut |e| {
                mapped(e, &mut |call| {
                    if self.is_number_of_data(call) {
                        out.push(call.to_string());
                        return Some(0.0);
                    }
                    None
                });
            });
        }
        out.sort();
        out.dedup();
        out
    }

    /// The same model with these `numbers` in the place of their texts.
    pub(crate) fn with_numbers(&self, numbers: &BTreeMap<String, f64>) -> Result<Model> {
        let mut map = |e: &Expr| mapped(e, &mut |call| numbers.get(&call.to_string()).copied());
        let mut lines = Vec::new();
        for statement in &self.statements {
            lines.push(match is_predicted(self.symbols(), statement) {
                true => statement.to_string(),
                false => with_expressions(statement, &mut map).to_string(),
            });
        }
        Model::parse(&lines.join("\n"))
    }

    /// The declarations of data, what is computed from these alone, and `numbers`, which are recorded
    /// as `fitted_0`, `fitted_1`, ...
    pub(crate) fn of_numbers(&self, numbers: &[String]) -> Result<Model> {
        let is_of_data = |s: &&Statement| match s {
            Statement::Data(_) | Statement::Dim(_) => true,
            Statement::Computed(c) => self.symbols()[&c.name.text].level == Level::Data,
            _ => false,
        };
        let of_data = self.statements.iter().filter(is_of_data);
        let mut lines: Vec<String> = of_data.map(ToString::to_string).collect();
        let numbered = numbers.iter().enumerate();
        lines.extend(numbered.map(|(k, text)| format!("fitted_{k} = {text}")));
        Model::parse(&lines.join("\n"))
    }

    fn is_number_of_data(&self, call: &Call) -> bool {
        let reduces = function(&call.name.text).is_some_and(|f| f.shape == Shape::Reduction);
        if !reduces || call.arguments.len() != 1 || call.arguments[0].name.is_some() {
            return false;
        }
        let (mut is_of_data, mut n_arrays) = (true, 0);
        names_in_expr(
            &call.arguments[0].value,
            false,
            &mut |Use { name, before, .. }| {
                let symbol = self.symbols().get(name);
                is_of_data &= !before && symbol.is_none_or(|s| s.level == Level::Data);
                n_arrays += usize::from(symbol.is_some());
            },
        );
        is_of_data && n_arrays > 0
    }
}

/// The statement with other expressions.
fn with_expressions(statement: &Statement, map: &mut impl FnMut(&Expr) -> Expr) -> Statement {
    match statement {
        Statement::Computed(c) => Statement::Computed(Computed {
            value: map(&c.value),
            ..c.clone()
        }),
        Statement::Target(e) => Statement::Target(map(e)),
        Statement::Sampled(s) => Statement::Sampled(Sampled {
            distribution: with_arguments(&s.distribution, map),
            limits: s.limits.as_ref().map(|limits| Limits {
                lower: map(&limits.lower),
                upper: map(&limits.upper),
                ..limits.clone()
            }),
            ..s.clone()
        }),
        other => other.clone(),
    }
}

fn with_arguments(call: &Call, map: &mut impl FnMut(&Expr) -> Expr) -> Call {
    let argument = |a: &Argument| Argument {
        value: map(&a.value),
        ..a.clone()
    };
    Call {
        arguments: call.arguments.iter().map(argument).collect(),
        ..call.clone()
    }
}

/// The expression with the number that `of` gives in the place of each call that it gives one for.
fn mapped(e: &Expr, of: &mut dyn FnMut(&Call) -> Option<f64>) -> Expr {
    let mut inner = |e: &Expr| Box::new(mapped(e, of));
    let kind = match &e.kind {
        ExprKind::Number(_) | ExprKind::Name(_) => e.kind.clone(),
        ExprKind::List(items) => ExprKind::List(items.iter().map(|e| *inner(e)).collect()),
        ExprKind::Unary(op, x) => ExprKind::Unary(*op, inner(x)),
        ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, inner(a), inner(b)),
        ExprKind::Index(base, subscripts) => {
            let base = inner(base);
            let at = |s: &Subscript| match s {
                Subscript::At(e) => Subscript::At(*inner(e)),
                slice => slice.clone(),
            };
            ExprKind::Index(base, subscripts.iter().map(at).collect())
        }
        ExprKind::Call(call) => match of(call) {
            Some(x) if x < 0.0 => ExprKind::Unary(
                UnaryOp::Neg,
                Box::new(Expr {
                    kind: ExprKind::Number(-x),
                    span: e.span,
                }),
            ),
            Some(x) => ExprKind::Number(x),
            None => ExprKind::Call(with_arguments(call, &mut |e| mapped(e, of))),
        },
    };
    Expr { kind, span: e.span }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_over_whole_data_are_found_and_replaced() {
        let text = "data y[obs], x[obs], X[obs, k]\n\
                    let z = (x - mean(x)) / sd(x)\n\
                    let half = 1.5 * max(abs(z))\n\
                    b[k] ~ Normal(0, 1)\n\
                    let m = sum(X * b, axis=k) + half * sum(b)\n\
                    predict top = max(x)\n\
                    y ~ Normal(m, 1)";
        let model = Model::parse(text).unwrap();
        let found = model.numbers_of_data();
        assert_eq!(found, ["max(abs(z))", "mean(x)", "sd(x)"]);
        let numbers = found.into_iter().zip([2.0, -3.5, 0.25]).collect();
        let made = model.with_numbers(&numbers).unwrap();
        let want = "let z = (x - -3.5) / 0.25\nlet half = 1.5 * 2\n";
        assert!(made.to_string().contains(want), "{made}");
        assert!(made.to_string().contains("predict top = max(x)"), "{made}");
    }
}
