//! A statement about a discrete parameter: its values and its prior.

use super::super::build::Build;
use super::super::drawing::drawing_of;
use super::super::law::{Law, Of};
use super::super::sampled::kind;
use super::super::vector;
use super::{Discrete, MOST_VALUES};
use crate::Result;
use crate::dist::{Bound, Real, Support};
use crate::model::ast::{LimitKind, Sampled};
use crate::model::families::values_of;
use fitzroy_graph::{DimId, Expr as Value};

fn lit<'g>(x: f64) -> Value<'g> {
    Value::lit(x)
}

type Limits<'g> = Option<(Value<'g>, Value<'g>)>;

impl<'g> Build<'_, 'g> {
    /// Whether a statement about a parameter is about a discrete one.
    pub(in super::super) fn is_discrete(&self, s: &Sampled) -> bool {
        values_of(&s.distribution).discrete()
    }

    /// A parameter whose values can be counted.
    ///
    /// `is_chain` where its elements depend on the one before.
    pub(in super::super) fn discrete_parameter(
        &mut self,
        s: &Sampled,
        is_chain: bool,
    ) -> Result<()> {
        let dims = self.declared_dims(&s.subscripts)?;
        let of = Of {
            name: &s.name,
            dims: &dims,
        };
        let (k, z) = self.declared(s, &dims, is_chain);
        let density = match self.law(&s.distribution, of)? {
            Some(law) => {
                let limits = self.limit_values(s, &dims)?;
                self.numbers(k, s, &law, limits)?
            }
            None => {
                let (shares, axis) = vector::categories(self, s, &dims)?;
                self.has_values(k, 0.0, self.scope.with(|g| g.size(axis)))?;
                self.picked(k, z, shares, axis)
            }
        };
        self.check_start(k)?;
        self.define(s, z, density, &dims);
        Ok(())
    }

    /// A discrete parameter of a distribution of single numbers.
    pub(in super::super) fn discrete_numbers(
        &mut self,
        s: &Sampled,
        dims: &[DimId],
        law: &Law<'g>,
        limits: Limits<'g>,
    ) -> Result<()> {
        let (k, z) = self.declared(s, dims, false);
        let density = self.numbers(k, s, law, limits)?;
        self.define(s, z, density, dims);
        Ok(())
    }

    /// A new discrete variable, and what stands for its values.
    fn declared(&mut self, s: &Sampled, dims: &[DimId], is_chain: bool) -> (usize, Value<'g>) {
        let hole = self.scope.with(|g| g.hole(dims));
        self.discrete.push(Discrete {
            name: s.name.clone(),
            hole,
            dims: dims.to_vec(),
            low: 0.0,
            count: 0,
            endless: None,
            own_draw: None,
            term: self.terms.len(),
            is_chain,
            before: None,
        });
        (self.discrete.len() - 1, self.scope.expr(hole))
    }

    /// Notes which numbers variable `k` can be and how they are drawn; ln P of them.
    fn numbers(
        &mut self,
        k: usize,
        s: &Sampled,
        law: &Law<'g>,
        limits: Limits<'g>,
    ) -> Result<Value<'g>> {
        let dims = self.discrete[k].dims.clone();
        let is_normalised = limits.is_none() || kind(s) == Some(LimitKind::Truncated);
        if is_normalised && !self.discrete[k].is_chain {
            let drawing = drawing_of(law, limits, &dims);
            self.discrete[k].own_draw = Some(self.drawn_as(&s.name.text, &drawing));
        }
        match self.range_of(s, law, limits, &dims) {
            Ok((low, count)) => self.has_values(k, low, count)?,
            // It may turn out that nothing depends on it.
            Err(why) if self.discrete[k].own_draw.is_some() => self.discrete[k].endless = Some(why),
            Err(why) => return Err(why),
        }
        let z = self.scope.expr(self.discrete[k].hole);
        self.log_mass_at(s, z, law, limits)
    }

    /// Notes which values variable `k` has. Its prior may have looked up a table by values before.
    fn has_values(&mut self, k: usize, low: f64, count: usize) -> Result<()> {
        let own = &mut self.discrete[k];
        let assumed = std::mem::replace(&mut own.count, count);
        own.low = low;
        let fits = low >= 0.0 && low + count as f64 <= assumed as f64;
        if assumed == 0 || fits {
            return Ok(());
        }
        let (name, span) = (&own.name.text, own.name.span);
        let message = format!(
            "`{name}` has values from {low} to {}, but a table that its values before are looked up in \
             has positions 0 to {}",
            low + count as f64 - 1.0,
            assumed - 1
        );
        Err(self.model.error(span, message))
    }

    /// ln P(z), −∞ outside the limits.
    fn log_mass_at(
        &self,
        s: &Sampled,
        z: Value<'g>,
        law: &Law<'g>,
        limits: Limits<'g>,
    ) -> Result<Value<'g>> {
        let density = law.log_density(z);
        let mut density = density.expect("only censored distributions may lack a density");
        if let Some((lower, upper)) = limits {
            if kind(s) == Some(LimitKind::Truncated) {
                density = density - self.log_mass(s, law, lower, upper)?;
            }
            let inside = lower.le(z) * z.le(upper);
            density = inside.select(density, lit(f64::NEG_INFINITY));
        }
        Ok(density)
    }

    /// The least value that an element can have, and how many there are from there to the greatest.
    fn range_of(
        &self,
        s: &Sampled,
        law: &Law<'g>,
        limits: Limits<'g>,
        dims: &[DimId],
    ) -> Result<(f64, usize)> {
        let (mut low, mut high) = self.support_ends(s, law, dims)?;
        if let Some((lower, upper)) = limits {
            let (least, _) = self.extremes(s, lower, "the lower limit", dims)?;
            let (_, most) = self.extremes(s, upper, "the upper limit", dims)?;
            (low, high) = (low.max(least.ceil()), high.min(most.floor()));
        }
        let name = &s.name;
        let message = if !low.is_finite() || !high.is_finite() {
            format!(
                "`{name}` has infinitely many values, and only a finite number can be summed out: \
                 limit it by `truncated(upper=...)`"
            )
        } else if high < low {
            format!("`{name}` has no value: none lies between {low} and {high}")
        } else if high - low >= MOST_VALUES as f64 {
            format!(
                "`{name}` has {} values, from {low} to {high}; up to {MOST_VALUES} can be summed out",
                high - low + 1.0
            )
        } else {
            return Ok((low, (high - low) as usize + 1));
        };
        Err(self.model.error(s.distribution.span, message))
    }

    fn support_ends(&self, s: &Sampled, law: &Law<'g>, dims: &[DimId]) -> Result<(f64, f64)> {
        let Law::Scalar(scalar, arguments) = law else {
            let message = format!(
                "`{}` cannot be the prior of a discrete parameter; say which part an element belongs \
                 to by a parameter of its own, `which ~ Categorical(w)`",
                law.name()
            );
            return Err(self.model.error(s.distribution.span, message));
        };
        let end = |bound: Bound| match bound {
            Bound::At(x) => Ok((x, x)),
            Bound::Arg(k) => {
                let what = format!("`{}` of `{}`", scalar.args()[k].name, scalar.name());
                self.extremes(s, arguments[k], &what, dims)
            }
            _ => {
                let what = format!("an argument of `{}`", scalar.name());
                self.extremes(s, bound.at(arguments), &what, dims)
            }
        };
        Ok(match scalar.support() {
            Support::IntegerRange(low, high) => (end(low)?.0.ceil(), end(high)?.1.floor()),
            Support::PositiveInteger => (1.0, f64::INFINITY),
            _ => (0.0, f64::INFINITY),
        })
    }

    /// The least and the greatest element of a bound of the values.
    fn extremes(
        &self,
        s: &Sampled,
        bound: Value<'g>,
        what: &str,
        dims: &[DimId],
    ) -> Result<(f64, f64)> {
        let known = match bound.constant() {
            Some(x) => Some(vec![x]),
            None => self.scope.known(bound.broadcast(self.scope, dims)),
        };
        let Some(known) = known else {
            let name = &s.name;
            let message = format!(
                "which values `{name}` can have depends on parameters, by {what}, so they cannot be \
                 summed; give it bounds that are numbers or data, and let its probabilities depend \
                 on parameters"
            );
            return Err(self.model.error(s.distribution.span, message));
        };
        let fold = |f: fn(f64, f64) -> f64, x: f64| known.iter().copied().fold(x, f);
        Ok((
            fold(f64::min, f64::INFINITY),
            fold(f64::max, f64::NEG_INFINITY),
        ))
    }
}
