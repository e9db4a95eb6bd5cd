//! Discrete parameters: which distributions they may have.

use super::super::ast::{Centring, Expr, ExprKind, Sampled};
use super::super::families;
use super::Checker;
use crate::Result;
use crate::dist::{Form, Scalar, Structured, Support};

impl Checker<'_> {
    /// That a discrete parameter has a finite number of values, and nothing that is for continuous ones.
    pub(super) fn discrete_parameter(&self, s: &Sampled) -> Result<()> {
        let (name, call) = (&s.name.text, &s.distribution);
        let law = &call.name.text;
        let resolved = families::resolve(self.text, call)?;
        let message = match resolved.form {
            _ if s.ordered => {
                format!("`ordered` is for continuous parameters, and `{name}` is discrete")
            }
            _ if s.centring != Centring::Auto => {
                format!(
                    "`@` chooses coordinates of a continuous parameter, and `{name}` is discrete"
                )
            }
            Form::Scalar(scalar) if ends(scalar) || has_upper_limit(s) => return Ok(()),
            Form::Scalar(_) => format!(
                "`{name}` would be a discrete parameter with infinitely many values, and only a finite \
                 number can be summed out; limit it, as in `{name} ~ {call} truncated(upper=100)`, or \
                 declare `data {name}` if it is observed"
            ),
            Form::Structured(Structured::Categorical | Structured::CategoricalLogit) => {
                return Ok(());
            }
            Form::Structured(Structured::OrderedLogistic | Structured::OrderedProbit) => format!(
                "`{name}` would be a discrete parameter with a prior `{law}`; give its probabilities to \
                 `Categorical`"
            ),
            Form::Structured(_) => format!(
                "`{name}` would be a discrete parameter with a prior `{law}`, which cannot be summed out; \
                 `Categorical`, `Bernoulli`, `Binomial`, `BetaBinomial` and `DiscreteUniform` can, and \
                 counts with an upper limit; declare `data {name}` if it is observed"
            ),
        };
        Err(self.error(call.name.span, message))
    }

    /// Whether `name` stands for whole numbers that are drawn, so that a table can be looked up by it.
    pub(super) fn is_discrete(&self, name: &str) -> bool {
        let symbol = self.symbols.get(name);
        let statement = symbol.map(|symbol| &self.statements[symbol.statement]);
        match statement {
            Some(super::Statement::Sampled(s)) => families::values_of(&s.distribution).discrete(),
            _ => false,
        }
    }
}

/// Whether there is a greatest value.
fn ends(scalar: Scalar) -> bool {
    matches!(scalar.support(), Support::IntegerRange(..))
}

/// Whether the statement gives a greatest value.
fn has_upper_limit(s: &Sampled) -> bool {
    let infinite = |e: &Expr| matches!(&e.kind, ExprKind::Name(name) if name == "inf");
    s.limits.as_ref().is_some_and(|l| !infinite(&l.upper))
}
