//! Distributions of single numbers with the values of their arguments: scalar ones, mixtures and
//! censored ones.

use super::Draw;
use super::build::Build;
use crate::Result;
use crate::dist::{Bound, Form, Real, Scalar, Structured, Support};
use crate::model::ast::{Call, Expr, ExprKind, Name};
use crate::model::families::{Resolved, as_distribution, resolve};
use fitzroy_graph::{DimId, Expr as Value};

fn lit<'g>(x: f64) -> Value<'g> {
    Value::lit(x)
}

/// A distribution of single numbers.
#[derive(Clone, Debug)]
pub(super) enum Law<'g> {
    /// One formula.
    Scalar(Scalar, Vec<Value<'g>>),
    /// Weights, their logarithms, and a distribution for each.
    Mixture(Vec<(Value<'g>, Value<'g>)>, Vec<Law<'g>>),
    /// What lies beyond a bound is recorded as the bound.
    Censored(Box<Law<'g>>, Option<Value<'g>>, Option<Value<'g>>),
}

/// Lower and upper end of a support, where there is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends<'g> {
    pub(super) lower: Option<Value<'g>>,
    pub(super) upper: Option<Value<'g>>,
}

/// What a distribution is for: the variable, and the dims its arguments may have.
#[derive(Clone, Copy)]
pub(super) struct Of<'a> {
    pub(super) name: &'a Name,
    pub(super) dims: &'a [DimId],
}

/// True for −∞ or ∞ known while building.
pub(super) fn infinite(v: Value<'_>) -> bool {
    v.constant().is_some_and(f64::is_infinite)
}

/// ln Σ eˣ over several, pairwise.
pub(super) fn log_sum_exp<'g>(terms: &[Value<'g>]) -> Value<'g> {
    match terms {
        [] => lit(f64::NEG_INFINITY),
        [one] => *one,
        _ => {
            let (left, right) = terms.split_at(terms.len() / 2);
            log_sum_exp(left).log_add_exp(log_sum_exp(right))
        }
    }
}

impl<'g> Law<'g> {
    /// The name of the distribution.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Law::Scalar(scalar, _) => scalar.name(),
            Law::Mixture(..) => "Mixture",
            Law::Censored(..) => "Censored",
        }
    }

    /// True for whole numbers.
    pub(super) fn is_discrete(&self) -> bool {
        match self {
            Law::Scalar(scalar, _) => scalar.support().is_discrete(),
            Law::Mixture(_, parts) => parts[0].is_discrete(),
            Law::Censored(part, ..) => part.is_discrete(),
        }
    }

    /// ln p(y), element by element; `None` where a share beyond a bound has no closed form.
    pub(super) fn log_density(&self, y: Value<'g>) -> Option<Value<'g>> {
        match self {
            Law::Scalar(scalar, arguments) => Some(scalar.log_density(y, arguments)),
            Law::Mixture(weights, parts) => mixed(weights, parts, |part| part.log_density(y)),
            Law::Censored(part, lower, upper) => {
                if let Law::Scalar(scalar, arguments) = &**part {
                    return scalar.censored_log_density(y, arguments, *lower, *upper);
                }
                let mut value = part.log_density(y)?;
                if let Some(lower) = *lower {
                    let share = part.log_cdf(lower)?;
                    value = y.equals(lower).select(share, value);
                    value = y.lt(lower).select(lit(f64::NEG_INFINITY), value);
                }
                if let Some(upper) = *upper {
                    let share = part.log_mass(upper, lit(f64::INFINITY))?;
                    value = y.equals(upper).select(share, value);
                    value = upper.lt(y).select(lit(f64::NEG_INFINITY), value);
                }
                Some(value)
            }
        }
    }

    /// ln P(Y ≤ y), where a closed form exists.
    pub(super) fn log_cdf(&self, y: Value<'g>) -> Option<Value<'g>> {
        match self {
            Law::Scalar(scalar, arguments) => scalar.log_cdf(y, arguments),
            Law::Mixture(weights, parts) => mixed(weights, parts, |part| part.log_cdf(y)),
            Law::Censored(..) => None,
        }
    }

    /// ln P(lower ≤ Y ≤ upper), where a closed form exists.
    pub(super) fn log_mass(&self, lower: Value<'g>, upper: Value<'g>) -> Option<Value<'g>> {
        let end = |v: Value<'g>| (!infinite(v)).then_some(v);
        match self {
            Law::Scalar(scalar, arguments) => scalar.log_mass(end(lower), end(upper), arguments),
            Law::Mixture(weights, parts) => {
                mixed(weights, parts, |part| part.log_mass(lower, upper))
            }
            Law::Censored(..) => None,
        }
    }

    /// The ends of the support: of a mixture, those of the union of its parts.
    pub(super) fn ends(&self) -> Ends<'g> {
        let (scalar, arguments) = match self {
            Law::Scalar(scalar, arguments) => (scalar, arguments),
            Law::Mixture(_, parts) => return union(parts),
            Law::Censored(..) => {
                return Ends {
                    lower: None,
                    upper: None,
                };
            }
        };
        let at = |bound: Bound| match bound {
            Bound::At(x) => lit(x),
            Bound::Arg(k) => arguments[k],
        };
        let (lower, upper) = match scalar.support() {
            Support::LowerBounded(b) => (Some(at(b)), None),
            Support::Interval(a, b) => (Some(at(a)), Some(at(b))),
            Support::Circular => {
                let pi = std::f64::consts::PI;
                (Some(lit(-pi)), Some(lit(pi)))
            }
            _ => (None, None),
        };
        Ends {
            lower: lower.filter(|v| !infinite(*v)),
            upper: upper.filter(|v| !infinite(*v)),
        }
    }

    /// How it is drawn, and the arguments of that.
    pub(super) fn drawing(&self) -> (Draw, Vec<Value<'g>>) {
        match self {
            Law::Scalar(scalar, arguments) => (Draw::Scalar(*scalar), arguments.clone()),
            Law::Mixture(weights, parts) => {
                let mut arguments: Vec<Value<'g>> = weights.iter().map(|w| w.0).collect();
                let mut draws = Vec::new();
                for part in parts {
                    let (draw, own) = part.drawing();
                    draws.push(draw);
                    arguments.extend(own);
                }
                (Draw::Mixture(draws), arguments)
            }
            Law::Censored(part, lower, upper) => {
                let (draw, own) = part.drawing();
                let mut arguments = vec![
                    lower.unwrap_or(lit(f64::NEG_INFINITY)),
                    upper.unwrap_or(lit(f64::INFINITY)),
                ];
                arguments.extend(own);
                (Draw::Censored(Box::new(draw)), arguments)
            }
        }
    }
}

/// ln Σ w·f(part), where f gives logarithms.
fn mixed<'g>(
    weights: &[(Value<'g>, Value<'g>)],
    parts: &[Law<'g>],
    f: impl Fn(&Law<'g>) -> Option<Value<'g>>,
) -> Option<Value<'g>> {
    let term = |(w, part): (&(Value<'g>, Value<'g>), &Law<'g>)| Some(w.1 + f(part)?);
    let terms: Option<Vec<_>> = weights.iter().zip(parts).map(term).collect();
    Some(log_sum_exp(&terms?))
}

/// The ends that no part goes beyond.
fn union<'g>(parts: &[Law<'g>]) -> Ends<'g> {
    let ends: Vec<Ends<'g>> = parts.iter().map(Law::ends).collect();
    let lower: Option<Vec<_>> = ends.iter().map(|e| e.lower).collect();
    let upper: Option<Vec<_>> = ends.iter().map(|e| e.upper).collect();
    let fold = |all: Vec<Value<'g>>, op: fn(Value<'g>, Value<'g>) -> Value<'g>| {
        all.into_iter().reduce(op).expect("a mixture has parts")
    };
    Ends {
        lower: lower.map(|all| fold(all, |a, b| a.min(b))),
        upper: upper.map(|all| fold(all, |a, b| a.max(b))),
    }
}

impl<'g> Build<'_, 'g> {
    /// The distribution of single numbers that `call` names; `None` for one of categories,
    /// vectors or matrices.
    pub(super) fn law(&mut self, call: &Call, of: Of<'_>) -> Result<Option<Law<'g>>> {
        let resolved = resolve(self.model.text(), call)?;
        match resolved.form {
            Form::Scalar(scalar) => self.scalar(scalar, call, &resolved, of).map(Some),
            Form::Structured(Structured::Mixture) => self.mixture(call, &resolved, of).map(Some),
            Form::Structured(Structured::Censored) => self.censored(&resolved, of).map(Some),
            Form::Structured(_) => Ok(None),
        }
    }

    /// A distribution that stands as an argument and must give single numbers.
    pub(super) fn part(&mut self, e: &Expr, of: Of<'_>) -> Result<Law<'g>> {
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
    pub(super) fn argument(
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
    pub(super) fn within(
        &self,
        value: Value<'g>,
        what: &str,
        e: &Expr,
        of: Of<'_>,
    ) -> Result<Value<'g>> {
        let own = value.dims();
        if own.iter().all(|d| of.dims.contains(d)) {
            return Ok(value);
        }
        let (has, needs) = self
            .scope
            .with(|g| (g.describe_dims(&own), g.describe_dims(of.dims)));
        let message = format!(
            "{what} has dims {has}, but `{}` has {needs}; look it up by a column that maps one to the other, or name the dims between brackets",
            of.name
        );
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
            parts.push(part);
        }
        let weights = self.weights(call, w, parts.len(), of)?;
        let known: Option<Vec<f64>> = weights.iter().map(|w| w.0.constant()).collect();
        if let Some(known) = known {
            let total: f64 = known.iter().sum();
            if (total - 1.0).abs() > 1e-6 || known.iter().any(|w| *w < 0.0) {
                let message =
                    format!("weights must be 0 or more and sum to 1; these sum to {total}");
                return Err(self.model.error(w.span, message));
            }
        }
        Ok(Law::Mixture(weights, parts))
    }

    /// Weights and their logarithms: the elements of a list, or along the one dim that the
    /// variable has not.
    fn weights(
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
    pub(super) fn event_axis(
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
