//! In which power of the predictors' unit a parameter is measured, as its place in the formula demands: what is
//! added must agree, and exponents and angles are plain numbers.

use super::names::CONSTANTS;
use super::{Formula, Roles};
use fitzroy::model::ast::{Expr, ExprKind, UnaryOp};
use std::collections::HashMap;

/// The power of an expression.
#[derive(Clone)]
enum Power {
    /// A number, which may have any.
    Any,
    /// Not known.
    Unknown,
    /// A multiple of the power of every parameter, and last a number.
    Sum(Vec<f64>),
}

/// Equations between powers, in reduced form: each with the parameter that it gives.
struct Powers<'f> {
    roles: &'f Roles,
    local: HashMap<&'f str, Power>,
    equations: Vec<(usize, Vec<f64>)>,
}

impl Formula {
    /// The power of the predictors' unit that each parameter is measured in: 1 for a centre or a width, −1
    /// for a rate, 0 for a plain number; `None` where the formula leaves it open. The response is taken to
    /// have no part in it, and all predictors to have one unit.
    pub(crate) fn powers(&self, roles: &Roles) -> Vec<Option<f64>> {
        let n = roles.parameters.len();
        if self.is_code() {
            return vec![None; n];
        }
        let mut powers = Powers {
            roles,
            local: HashMap::new(),
            equations: Vec::new(),
        };
        for (name, value) in self.statements() {
            let power = powers.of(value);
            powers.local.insert(name, power);
        }
        let whole = powers.of(self.value());
        powers.is_plain(&whole);
        let shared = |k: usize| powers.place(&base(roles, k)).unwrap_or(k);
        (0..n).map(|k| powers.solved(shared(k))).collect()
    }
}

/// The name of parameter `k` without its label.
fn base(roles: &Roles, k: usize) -> String {
    let parameter = &roles.parameters[k];
    let base = parameter.indexed.as_ref().map(|(base, _, _)| base);
    base.unwrap_or(&parameter.name).clone()
}

impl<'f> Powers<'f> {
    /// The parameter called `name`, the first of several with labels.
    fn place(&self, name: &str) -> Option<usize> {
        (0..self.roles.parameters.len()).find(|&k| base(self.roles, k) == name)
    }

    fn constant(&self, power: f64) -> Power {
        let mut sum = vec![0.0; self.roles.parameters.len() + 1];
        *sum.last_mut().expect("a number at least") = power;
        Power::Sum(sum)
    }

    fn of(&mut self, e: &'f Expr) -> Power {
        match &e.kind {
            ExprKind::Number(_) => Power::Any,
            ExprKind::Name(name) => self.name(name),
            ExprKind::Unary(_, a) => self.of(a),
            ExprKind::Index(name, _) => match &name.kind {
                ExprKind::Name(name) => self.name(name),
                _ => Power::Unknown,
            },
            ExprKind::Binary(op, a, b) => self.binary(op.sign(), a, b),
            ExprKind::Call(call) => {
                let all: Vec<&'f Expr> = call.arguments.iter().map(|a| &a.value).collect();
                self.call(&call.name.text, &all)
            }
            ExprKind::List(_) => Power::Unknown,
        }
    }

    fn name(&self, name: &str) -> Power {
        if let Some(power) = self.local.get(name) {
            return power.clone();
        }
        if self.roles.predictors.iter().any(|p| p == name) {
            return self.constant(1.0);
        }
        match self.place(name) {
            Some(k) => {
                let mut sum = vec![0.0; self.roles.parameters.len() + 1];
                sum[k] = 1.0;
                Power::Sum(sum)
            }
            None if CONSTANTS.iter().any(|(c, _)| *c == name) => Power::Any,
            None => Power::Unknown,
        }
    }

    fn binary(&mut self, sign: &str, a: &'f Expr, b: &'f Expr) -> Power {
        let (left, right) = (self.of(a), self.of(b));
        match (sign, &left, &right) {
            ("+" | "-", Power::Sum(x), Power::Sum(y)) => {
                self.equation(joined(x, y, -1.0));
                left
            }
            ("+" | "-", Power::Any, _) => self.beside_number(right),
            ("+" | "-", _, Power::Any) => self.beside_number(left),
            ("+" | "-", _, _) => left,
            ("*", Power::Any, _) => right,
            ("*" | "/", _, Power::Any) => left,
            ("*", Power::Sum(x), Power::Sum(y)) => Power::Sum(joined(x, y, 1.0)),
            ("/", Power::Sum(x), Power::Sum(y)) => Power::Sum(joined(x, y, -1.0)),
            ("/", Power::Any, Power::Sum(y)) => Power::Sum(joined(&vec![0.0; y.len()], y, -1.0)),
            ("^" | "**", Power::Sum(x), Power::Any) => match number(b) {
                Some(n) => Power::Sum(x.iter().map(|x| n * x).collect()),
                None => Power::Unknown,
            },
            ("^" | "**", _, _) => {
                self.is_plain(&right);
                // Of `(x/c)^b` the base is a plain number; `x^b` and `k^b` have factors for their units.
                match is_mixed(&left) {
                    true => {
                        self.is_plain(&left);
                        self.constant(0.0)
                    }
                    false => Power::Unknown,
                }
            }
            _ => Power::Unknown,
        }
    }

    /// What a number is added to: a plain number if it is made of a predictor and parameters, as in
    /// `1 + (x/w)^2`; `x - 1950` is none.
    fn beside_number(&mut self, power: Power) -> Power {
        if is_mixed(&power) {
            self.is_plain(&power);
        }
        power
    }

    fn call(&mut self, name: &str, arguments: &[&'f Expr]) -> Power {
        let powers: Vec<Power> = arguments.iter().map(|e| self.of(e)).collect();
        let times = |power: &Power, factor: f64| match power {
            Power::Sum(x) => Power::Sum(x.iter().map(|x| factor * x).collect()),
            other => other.clone(),
        };
        match (name, &powers[..]) {
            ("sqrt", [one]) => times(one, 0.5),
            ("square", [one]) => times(one, 2.0),
            ("abs", [one]) | ("where", [_, one, ..]) | ("min" | "max", [one, ..]) => one.clone(),
            // A logarithm turns a unit into a number that is added.
            ("log" | "log2" | "log10", _) => Power::Unknown,
            (_, all) => {
                all.iter().for_each(|power| self.is_plain(power));
                self.constant(0.0)
            }
        }
    }

    fn is_plain(&mut self, power: &Power) {
        if let Power::Sum(x) = power {
            self.equation(x.clone());
        }
    }

    /// Notes that `sum` is 0; what contradicts the equations so far is left out.
    fn equation(&mut self, mut sum: Vec<f64>) {
        for (k, other) in &self.equations {
            let factor = sum[*k];
            sum.iter_mut()
                .zip(other)
                .for_each(|(s, o)| *s -= factor * o);
        }
        let parameters = &sum[..sum.len() - 1];
        let largest = (0..parameters.len()).max_by(|&a, &b| sum[a].abs().total_cmp(&sum[b].abs()));
        let Some(k) = largest.filter(|&k| sum[k].abs() > 1e-9) else {
            return;
        };
        let size = sum[k];
        sum.iter_mut().for_each(|s| *s /= size);
        for (_, other) in &mut self.equations {
            let factor = other[k];
            other
                .iter_mut()
                .zip(&sum)
                .for_each(|(o, s)| *o -= factor * s);
        }
        self.equations.push((k, sum));
    }

    /// The power of parameter `k`, if the equations say it.
    fn solved(&self, k: usize) -> Option<f64> {
        let (_, sum) = self.equations.iter().find(|(own, _)| *own == k)?;
        let (constant, parameters) = sum.split_last()?;
        let mut others = parameters.iter().enumerate().filter(|(l, _)| *l != k);
        others
            .all(|(_, x)| x.abs() < 1e-9)
            .then_some(0.0 - constant)
    }
}

/// True where both a predictor and a parameter have a part.
fn is_mixed(power: &Power) -> bool {
    let Power::Sum(x) = power else {
        return false;
    };
    let (predictor, parameters) = x.split_last().expect("a number at least");
    *predictor != 0.0 && parameters.iter().any(|x| *x != 0.0)
}

fn joined(x: &[f64], y: &[f64], sign: f64) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x + sign * y).collect()
}

/// The number that an exponent is.
fn number(e: &Expr) -> Option<f64> {
    match &e.kind {
        ExprKind::Number(x) => Some(*x),
        ExprKind::Unary(UnaryOp::Neg, a) => number(a).map(|x| -x),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Widths, centres and rates have the powers that their units have.
    #[test]
    fn powers_are_those_of_units() {
        for (text, expected) in [
            ("a*exp(-b*x)+c", &[Some(0.0), Some(-1.0), Some(0.0)][..]),
            ("a*exp(-x/t)+c", &[Some(0.0), Some(1.0), Some(0.0)]),
            (
                "gaussian(x, a, m, s) + k*x + c",
                &[Some(0.0), Some(1.0), Some(1.0), Some(-1.0), Some(0.0)],
            ),
            (
                "let u = (x-m)/s; a/(1+u^2)",
                &[Some(1.0), Some(1.0), Some(0.0)],
            ),
            ("v*x/(k+x)", &[Some(0.0), Some(1.0)]),
            ("a*x^b", &[None, Some(0.0)]),
            (
                "d + (a-d)/(1 + (x/c)^b)",
                &[Some(0.0), Some(0.0), Some(1.0), Some(0.0)],
            ),
            ("a*exp(-b*(x-1950))*k", &[None, Some(-1.0), None]),
        ] {
            let formula = Formula::parse(text).expect("parses");
            let roles = formula.roles(&["x"], &[]).expect("has roles");
            assert_eq!(formula.powers(&roles), expected, "{text}");
        }
    }
}
