//! From the call of a distribution to a [`Law`]: its arguments with their dims checked.

use super::super::build::Build;
use super::{Law, infinite, lit};
use crate::Result;
use crate::dist::{ArgKind, Form, Real, Scalar, Structured};
use crate::model::ast::{Call, Expr, ExprKind, Name};
use crate::model::families::{Resolved, as_distribution, family, resolve};
use fitzroy_graph::{DimId, Expr as Value};

/// What a distribution is for: the variable, and the dims its arguments may have.
#[derive(Clone, Copy)]
pub(in crate::model::joint) struct Of<'a> {
    pub(in crate::model::joint) name: &'a Name,
    pub(in crate::model::joint) dims: &'a [DimId],
}

impl<'g> Build<'_, 'g> {
    /// The distribution of single numbers that `call` names; `None` for one of categories,
    /// vectors or matrices.
    pub(in crate::model::joint) fn law(
        &mut self,
        call: &Call,
        of: Of<'_>,
    ) -> Result<Option<Law<'g>>> {
        let resolved = resolve(self.model.text(), call)?;
        match resolved.form {
            Form::Scalar(scalar) => self.scalar(scalar, call, &resolved, of).map(Some),
            Form::Structured(Structured::Mixture) if of_vectors(&resolved) => Ok(None),
            Form::Structured(Structured::Mixture) => self.mixture(call, &resolved, of).map(Some),
            Form::Structured(Structured::Censored) => self.censored(&resolved, of).map(Some),
            Form::Structured(Structured::Interval) => {
                let message = "`Interval` says between which numbers data lie, as in `low ~ \
                               Interval(Normal(mu, sigma), upper=high)`; elsewhere the distribution \
                               itself stands";
                Err(self.model.error(call.name.span, message))
            }
            Form::Structured(_) => Ok(None),
        }
    }

    /// A distribution that stands as an argument and must give single numbers.
    pub(in crate::model::joint) fn part(&mut self, e: &Expr, of: Of<'_>) -> Result<Law<'g>> {
        let call = as_distribution(e).expect("the kind of the argument was checked");
        self.law(call, of)?.ok_or_else(|| {
            let message = format!("`{}` does not give single numbers", call.name);
            self.model.error(call.name.span, message)
        })
    }

    fn scalar(
        &mut self,
        scalar: Scalar,
        call: &Call,
        resolved: &Resolved<'_>,
        of: Of<'_>,
    ) -> Result<Law<'g>> {
        let mut arguments = Vec::new();
        for (arg, given) in scalar.args().iter().zip(&resolved.values) {
            let value = match (given, arg.default) {
                (Some(e), _) => self.argument(call, arg.name, e, of)?,
                (None, Some(x)) => lit(x),
                (None, None) => panic!("`{}` was checked to be given", arg.name),
            };
            arguments.push(value);
        }
        // By scale, so that location and scale are known as such.
        let by_scale = match scalar {
            Scalar::NormalPrecision => Some((Scalar::Normal, 1)),
            Scalar::StudentTPrecision => Some((Scalar::StudentT, 2)),
            _ => None,
        };
        let Some((scalar, place)) = by_scale else {
            return Ok(Law::Scalar(scalar, arguments));
        };
        arguments[place] = lit(1.0) / arguments[place].sqrt();
        Ok(Law::Scalar(scalar, arguments))
    }

    /// The value of an argument, which has at most the dims of the variable.
    pub(in crate::model::joint) fn argument(
        &mut self,
        call: &Call,
        name: &str,
        e: &Expr,
        of: Of<'_>,
    ) -> Result<Value<'g>> {
        let value = self.value(e)?;
        let value = self.fit_list(value, of.dims);
        self.within(value, &format!("`{name}` of `{}`", call.name), e, of)
    }

    /// That `value` has at most the dims of the variable.
    pub(in crate::model::joint) fn within(
        &self,
        value: Value<'g>,
        what: &str,
        e: &Expr,
        of: Of<'_>,
    ) -> Result<Value<'g>> {
        let own = value.dims();
        if own.iter().all(|d| of.dims.contains(d)) {
            self.refuse_half_of_a_square(&own, of.dims, &of.name.text, e.span)?;
            return Ok(value);
        }
        let (has, needs) = self
            .scope
            .with(|g| (g.describe_dims(&own), g.describe_dims(of.dims)));
        let list = matches!(e.kind, ExprKind::List(_));
        let message = if list {
            format!(
                "{what} is a list that fits no dim, or more than one: it has dims {has}, but `{}` has {needs}",
                of.name
            )
        } else {
            format!(
                "{what} has dims {has}, but `{}` has {needs}; look it up by a column that maps one to the other, or name the dims between brackets",
                of.name
            )
        };
        Err(self.model.error(e.span, message))
    }

    fn mixture(&mut self, call: &Call, resolved: &Resolved<'_>, of: Of<'_>) -> Result<Law<'g>> {
        let w = resolved.values[0].expect("weights were checked to be given");
        let first = resolved.values[1].expect("components were checked to be given");
        let mut parts = vec![self.part(first, of)?];
        for e in &resolved.more {
            let part = self.part(e, of)?;
            if part.is_discrete() != parts[0].is_discrete() {
                let message = format!(
                    "`{}` and `{}` cannot be mixed: one gives whole numbers, the other real ones",
                    parts[0].name(),
                    part.name()
                );
                return Err(self.model.error(e.span, message));
            }
            if part.has_zeros() != parts[0].has_zeros() {
                let message = format!(
                    "`{}` and `{}` cannot be mixed: of one 0 has a probability, of the other a density",
                    parts[0].name(),
                    part.name()
                );
                return Err(self.model.error(e.span, message));
            }
            parts.push(part);
        }
        let weights = self.weights(call, w, parts.len(), of)?;
        Ok(Law::Mixture(weights, parts))
    }

    /// Weights and their logarithms: the elements of a list, or along the one dim that the
    /// variable has not.
    pub(in crate::model::joint) fn weights(
        &mut self,
        call: &Call,
        w: &Expr,
        n: usize,
        of: Of<'_>,
    ) -> Result<Vec<(Value<'g>, Value<'g>)>> {
        let weights = self.listed_weights(call, w, n, of)?;
        let known: Option<Vec<f64>> = weights.iter().map(|w| w.0.constant()).collect();
        if let Some(known) = known {
            let total: f64 = known.iter().sum();
            if (total - 1.0).abs() > 1e-6 || known.iter().any(|w| *w < 0.0) {
                let message =
                    format!("weights must be 0 or more and sum to 1; these sum to {total}");
                return Err(self.model.error(w.span, message));
            }
        }
        Ok(weights)
    }

    fn listed_weights(
        &mut self,
        call: &Call,
        w: &Expr,
        n: usize,
        of: Of<'_>,
    ) -> Result<Vec<(Value<'g>, Value<'g>)>> {
        let wrong = |b: &Self, got: usize| {
            let message = format!("{got} weights for {n} components");
            Err(b.model.error(w.span, message))
        };
        if let ExprKind::List(items) = &w.kind {
            if items.len() != n {
                return wrong(self, items.len());
            }
            let item = |e: &Expr| {
                let value = self.argument(call, "w", e, of)?;
                Ok((value, value.ln()))
            };
            return items.iter().map(item).collect();
        }
        let value = self.value(w)?;
        let (value, axis) = self.event_axis(value, "w", w, of)?;
        let size = self.scope.with(|g| g.size(axis));
        if size != n {
            return wrong(self, size);
        }
        let log = value.ln();
        let element = |k: usize| {
            let one = |v: Value<'g>| -> Result<Value<'g>> {
                let node = self.scope.node(v);
                Ok(self
                    .scope
                    .expr(self.scope.with(|g| g.element(node, axis, k))?))
            };
            Ok((one(value)?, one(log)?))
        };
        (0..n).map(element).collect()
    }

    /// The one dim of a vector argument that the variable has not.
    pub(in crate::model::joint) fn event_axis(
        &self,
        value: Value<'g>,
        name: &str,
        e: &Expr,
        of: Of<'_>,
    ) -> Result<(Value<'g>, DimId)> {
        let value = self.scope.expr(self.scope.node(value));
        let dims = value.dims();
        let own: Vec<DimId> = dims
            .iter()
            .copied()
            .filter(|d| !of.dims.contains(d))
            .collect();
        if let [axis] = own[..] {
            return Ok((value, axis));
        }
        let (has, needs) = self
            .scope
            .with(|g| (g.describe_dims(&dims), g.describe_dims(of.dims)));
        let message = format!(
            "`{name}` has dims {has}, but must have one dim more than `{}`, which has {needs}",
            of.name
        );
        Err(self.model.error(e.span, message))
    }

    fn censored(&mut self, resolved: &Resolved<'_>, of: Of<'_>) -> Result<Law<'g>> {
        let dist = resolved.values[0].expect("the distribution was checked to be given");
        let part = self.part(dist, of)?;
        let mut ends = [None, None];
        for (k, end) in ends.iter_mut().enumerate() {
            if let Some(e) = resolved.values[k + 1] {
                let value = self.value(e)?;
                let value = self.fit_list(value, of.dims);
                let value = self.within(value, "the bound", e, of)?;
                *end = (!infinite(value)).then_some(value);
            }
        }
        Ok(Law::Censored(Box::new(part), ends[0], ends[1]))
    }
}

/// Whether the first component of a mixture gives vectors.
fn of_vectors(resolved: &Resolved<'_>) -> bool {
    let first = resolved.values[1].and_then(as_distribution);
    let family = first.and_then(|call| family(&call.name.text));
    family.is_some_and(|f| f.forms[0].support().event() != ArgKind::Scalar)
}
