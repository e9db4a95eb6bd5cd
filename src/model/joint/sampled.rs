//! Random variables: parameters with their priors and transforms, likelihood terms, predictions.

use super::build::Build;
use super::{Coordinates, Drawn, Parameter, Plate, TermKind};
use crate::dist::{Bound, Real, Scalar, Support};
use crate::model::ast::{Centring, Expr, ExprKind, LimitKind, Limits, Sampled, Span};
use crate::model::families::{Resolved, plain, resolve};
use crate::{Error, ErrorKind, Result};
use fitzroy_graph::{DimId, Expr as Value};

fn lit<'g>(x: f64) -> Value<'g> {
    Value::lit(x)
}

/// A scalar distribution with the values of its arguments.
pub(super) struct Law<'g> {
    pub(super) scalar: Scalar,
    pub(super) arguments: Vec<Value<'g>>,
}

/// Lower and upper end of a support, where there is one.
#[derive(Clone, Copy)]
struct Ends<'g> {
    lower: Option<Value<'g>>,
    upper: Option<Value<'g>>,
}

/// Positions of location and scale among the arguments of a location-scale distribution.
fn location_scale(scalar: Scalar) -> Option<(usize, usize)> {
    match scalar {
        Scalar::Normal | Scalar::Cauchy | Scalar::Laplace | Scalar::Logistic | Scalar::Gumbel => {
            Some((0, 1))
        }
        Scalar::StudentT => Some((1, 2)),
        _ => None,
    }
}

impl<'g> Build<'_, 'g> {
    /// The scalar distribution a call names, each argument repeated to at most `dims`.
    pub(super) fn law(&mut self, s: &Sampled, dims: &[DimId]) -> Result<Option<Law<'g>>> {
        let resolved = resolve(self.model.text(), &s.distribution)?;
        let Some(scalar) = scalar_of(&resolved) else {
            return Ok(None);
        };
        let names = resolved.family.forms[resolved.form];
        let mut arguments = Vec::new();
        for arg in scalar.args() {
            let place = names.iter().position(|n| plain(n) == arg.name);
            let given = place.and_then(|p| resolved.values[p]);
            let value = match (given, arg.default) {
                (Some(e), _) => {
                    let value = self.value(e)?;
                    self.check_argument(s, arg.name, e, value, dims)?
                }
                (None, Some(x)) => lit(x),
                (None, None) => panic!("`{}` was checked to be given", arg.name),
            };
            arguments.push(value);
        }
        Ok(Some(Law { scalar, arguments }))
    }

    fn check_argument(
        &self,
        s: &Sampled,
        name: &str,
        e: &Expr,
        value: Value<'g>,
        dims: &[DimId],
    ) -> Result<Value<'g>> {
        let value = self.fit_list(value, dims);
        if value.dims().iter().all(|d| dims.contains(d)) {
            return Ok(value);
        }
        let own = value.dims();
        let (has, needs) = self
            .scope
            .with(|g| (g.describe_dims(&own), g.describe_dims(dims)));
        let message = format!(
            "`{name}` of `{}` has dims {has}, but `{}` has {needs}; look it up by a column that maps one to the other, or name the dims between brackets",
            s.distribution.name, s.name
        );
        Err(self.model.error(e.span, message))
    }

    /// A free variable.
    pub(super) fn parameter(&mut self, s: &Sampled) -> Result<()> {
        let dims = self.declared_dims(&s.subscripts)?;
        let Some(law) = self.law(s, &dims)? else {
            return super::vector::parameter(self, s, &dims);
        };
        let varies = |v: Value<'g>| {
            let node = self.scope.node(v);
            self.scope.with(|g| g.varies(node))
        };
        if let Some((location, scale)) = location_scale(law.scalar)
            && s.limits.is_none()
        {
            let hierarchical = varies(law.arguments[location]) || varies(law.arguments[scale]);
            let wanted = match s.centring {
                Centring::Auto => hierarchical,
                Centring::Centred => false,
                Centring::NonCentred => true,
            };
            if wanted {
                return self.plate(s, &dims, law, location, scale);
            }
        }
        let u = self.coordinates_of(s, &dims);
        let ends = self.ends(&law, s.limits.as_ref())?;
        let (x, log_slope) = transform(ends, u);
        let x = x.broadcast(self.scope, &dims);
        let trusted = self.scope.trust_support(true);
        let mut density = law.scalar.log_density(x, &law.arguments);
        self.scope.trust_support(trusted);
        if let Some(limits) = s.limits.as_ref().filter(|l| l.kind == LimitKind::Truncated) {
            density = density - self.log_mass(&law, limits, &s.distribution.span)?;
        }
        self.define(s, x, density + log_slope, &dims);
        Ok(())
    }

    /// Names, records and scores a parameter.
    pub(super) fn define(&mut self, s: &Sampled, x: Value<'g>, density: Value<'g>, dims: &[DimId]) {
        let name = &s.name.text;
        self.names.insert(name.clone(), x);
        let record = self.record(name, x);
        self.recorded.push(record);
        let density = density.broadcast(self.scope, dims);
        self.term(name, TermKind::Prior, density);
    }

    /// Unconstrained coordinates for a parameter with these dims.
    pub(super) fn coordinates_of(&mut self, s: &Sampled, dims: &[DimId]) -> Value<'g> {
        let len = self.scope.with(|g| g.len_of(dims));
        self.coordinates_over(s, dims, dims, len)
    }

    /// `len` coordinates shaped as `shape`, for a parameter with dims `dims`.
    pub(super) fn coordinates_over(
        &mut self,
        s: &Sampled,
        dims: &[DimId],
        shape: &[DimId],
        len: usize,
    ) -> Value<'g> {
        let offset = self.n_params;
        self.n_params += len;
        let bound = |d: &DimId| self.dims.iter().position(|m| m == d);
        self.parameters.push(Parameter {
            name: s.name.text.clone(),
            dims: dims.iter().filter_map(bound).collect(),
            offset,
            len,
        });
        self.scope.param(offset, shape)
    }

    /// A parameter whose coordinates are centred, standardised or in between.
    fn plate(
        &mut self,
        s: &Sampled,
        dims: &[DimId],
        law: Law<'g>,
        location: usize,
        scale: usize,
    ) -> Result<()> {
        let (m, sd) = (law.arguments[location], law.arguments[scale]);
        let which = self.plates.len();
        let w = self.coordinates_of(s, dims);
        let default = Coordinates::NonCentred;
        let chosen = self.coordinates.get(which).unwrap_or(&default).clone();
        let mut standard = law.arguments.clone();
        standard[location] = lit(0.0);
        standard[scale] = lit(1.0);
        let (x, density) = match chosen {
            Coordinates::Centred => (w, law.scalar.log_density(w, &law.arguments)),
            Coordinates::NonCentred => (m + sd * w, law.scalar.log_density(w, &standard)),
            Coordinates::Partial(c) => {
                let c = self
                    .scope
                    .bound_data(&format!("centring of {}", s.name), dims, &c);
                // ln p(w) = ln f(z) − c ln sd, with z = (w − c m) sd^−c.
                let log_power = c * sd.ln();
                let z = (w - c * m) * (-log_power).exp();
                (m + sd * z, law.scalar.log_density(z, &standard) - log_power)
            }
        };
        let node = |v: Value<'g>| self.scope.node(v.broadcast(self.scope, dims));
        self.plate_nodes.push((node(m), node(sd)));
        self.plates.push(Plate {
            parameter: self.parameters.len() - 1,
            asked: s.centring,
        });
        self.define(s, x.broadcast(self.scope, dims), density, dims);
        Ok(())
    }

    fn ends(&mut self, law: &Law<'g>, limits: Option<&Limits>) -> Result<Ends<'g>> {
        let at = |bound: Bound| match bound {
            Bound::At(x) => lit(x),
            Bound::Arg(k) => law.arguments[k],
        };
        let (lower, upper) = match law.scalar.support() {
            Support::LowerBounded(b) => (Some(at(b)), None),
            Support::Interval(a, b) => (Some(at(a)), Some(at(b))),
            Support::Circular => (
                Some(lit(-std::f64::consts::PI)),
                Some(lit(std::f64::consts::PI)),
            ),
            _ => (None, None),
        };
        let finite = |v: &Value<'g>| v.constant().is_none_or(f64::is_finite);
        let mut ends = Ends {
            lower: lower.filter(finite),
            upper: upper.filter(finite),
        };
        if let Some(limits) = limits {
            let (lower, upper) = (self.value(&limits.lower)?, self.value(&limits.upper)?);
            let join = |own: Option<Value<'g>>, new: Value<'g>, max: bool| {
                let new = Some(new).filter(finite);
                match (own, new) {
                    (Some(a), Some(b)) => Some(if max { a.max(b) } else { a.min(b) }),
                    (a, b) => a.or(b),
                }
            };
            ends = Ends {
                lower: join(ends.lower, lower, true),
                upper: join(ends.upper, upper, false),
            };
        }
        Ok(ends)
    }

    /// ln P(lower < Y < upper).
    fn log_mass(&mut self, law: &Law<'g>, limits: &Limits, span: &Span) -> Result<Value<'g>> {
        let (lower, upper) = (self.value(&limits.lower)?, self.value(&limits.upper)?);
        let infinite = |v: Value<'g>| v.constant().is_some_and(f64::is_infinite);
        let (cdf, ccdf) = (
            |y: Value<'g>| law.scalar.log_cdf(y, &law.arguments),
            |y: Value<'g>| law.scalar.log_ccdf(y, &law.arguments),
        );
        let mass = match (infinite(lower), infinite(upper)) {
            (true, true) => Some(lit(0.0)),
            (true, false) => cdf(upper),
            (false, true) => ccdf(lower),
            (false, false) => between(cdf(lower), cdf(upper), ccdf(lower), ccdf(upper)),
        };
        mass.ok_or_else(|| {
            let message = format!(
                "`{}` has no closed distribution function, so it cannot be `truncated`; `bounded(lower, upper)` restricts it without the normalising term",
                law.scalar.name()
            );
            self.model.error(*span, message)
        })
    }

    /// Data given parameters.
    pub(super) fn likelihood(&mut self, s: &Sampled) -> Result<()> {
        let name = &s.name.text;
        let base = Expr {
            kind: ExprKind::Name(name.clone()),
            span: s.name.span,
        };
        let y = if s.subscripts.is_empty() {
            self.value(&base)?
        } else {
            self.index(&base, &s.subscripts)?
        };
        let y = self.scope.expr(self.scope.node(y));
        let dims = y.dims();
        let Some(law) = self.law(s, &dims)? else {
            return super::vector::likelihood(self, s, y, &dims);
        };
        let values = self.scope.known(y).unwrap_or_default();
        let checked = self.check_observed(s, law.scalar.support(), law.scalar.name(), &values)?;
        let before = self.scope.trust_support(checked);
        let mut density = law.scalar.log_density(y, &law.arguments);
        self.scope.trust_support(before);
        if let Some(limits) = &s.limits {
            let (lower, upper) = (self.value(&limits.lower)?, self.value(&limits.upper)?);
            if limits.kind == LimitKind::Truncated {
                density = density - self.log_mass(&law, limits, &s.distribution.span)?;
            }
            let inside = lower.le(y) * y.le(upper);
            density = inside.select(density, lit(f64::NEG_INFINITY));
        }
        let density = density.broadcast(self.scope, &dims);
        self.term(name, TermKind::Likelihood, density);
        self.draw(s, &law, &dims, true);
        Ok(())
    }

    /// Checks observed values against a support that is known; true when it is.
    pub(super) fn check_observed(
        &self,
        s: &Sampled,
        support: Support,
        law: &str,
        values: &[f64],
    ) -> Result<bool> {
        let whole = |v: f64| v.fract() == 0.0;
        let (inside, meaning): (Box<dyn Fn(f64) -> bool>, String) = match support {
            Support::Real | Support::RealVector => {
                (Box::new(f64::is_finite), "finite numbers".into())
            }
            Support::LowerBounded(Bound::At(a)) => (
                Box::new(move |v| v >= a && v.is_finite()),
                format!("numbers from {a} on"),
            ),
            Support::Interval(Bound::At(a), Bound::At(b)) => (
                Box::new(move |v| v >= a && v <= b),
                format!("numbers from {a} to {b}"),
            ),
            Support::IntegerRange(Bound::At(a), Bound::At(b)) => (
                Box::new(move |v| whole(v) && v >= a && v <= b),
                format!("whole numbers from {a} to {b}"),
            ),
            Support::NonNegativeInteger => (
                Box::new(move |v| whole(v) && v >= 0.0),
                "whole numbers from 0 on".into(),
            ),
            Support::PositiveInteger => (
                Box::new(move |v| whole(v) && v >= 1.0),
                "whole numbers from 1 on".into(),
            ),
            _ => return Ok(false),
        };
        match values.iter().position(|&v| !inside(v)) {
            None => Ok(true),
            Some(row) => {
                let (name, got) = (&s.name, values[row]);
                let message = format!(
                    "`{name}`, row {}: {got} cannot come from {law}, which gives {meaning}",
                    row + 1
                );
                Err(Error::new(ErrorKind::Data, message))
            }
        }
    }

    /// `predict NAME[dims] ~ Dist(...)`
    pub(super) fn drawn_later(&mut self, s: &Sampled) -> Result<()> {
        let dims = self.declared_dims(&s.subscripts)?;
        match self.law(s, &dims)? {
            Some(law) => {
                self.draw(s, &law, &dims, false);
                Ok(())
            }
            None => super::vector::prediction(self, s, &dims),
        }
    }

    fn draw(&mut self, s: &Sampled, law: &Law<'g>, dims: &[DimId], observed: bool) {
        let name = s.name.text.clone();
        let (dim_names, shape) = self.dim_names(&name, dims);
        let node = |&v: &Value<'g>| self.scope.node(v.broadcast(self.scope, dims));
        let arguments = law.arguments.iter().map(node).collect();
        self.drawn.push(Drawn {
            name,
            dims: dim_names,
            shape,
            observed,
            distribution: law.scalar,
            arguments,
        });
    }
}

/// x and ln |dx/du| of an unconstrained u.
///
/// Both ends free: x = u. One end: x = lower + eᵘ or upper − eᵘ. Two: x = lower + (upper −
/// lower)/(1 + e⁻ᵘ).
fn transform<'g>(ends: Ends<'g>, u: Value<'g>) -> (Value<'g>, Value<'g>) {
    match (ends.lower, ends.upper) {
        (None, None) => (u, lit(0.0)),
        (Some(lower), None) => (lower + u.exp(), u),
        (None, Some(upper)) => (upper - u.exp(), u),
        (Some(lower), Some(upper)) => {
            let width = upper - lower;
            let log_slope = width.ln() - (-u).softplus() - u.softplus();
            (lower + width * u.inv_logit(), log_slope)
        }
    }
}

/// ln (F(upper) − F(lower)), from whichever tail loses no digits.
fn between<'g>(
    cdf_lower: Option<Value<'g>>,
    cdf_upper: Option<Value<'g>>,
    ccdf_lower: Option<Value<'g>>,
    ccdf_upper: Option<Value<'g>>,
) -> Option<Value<'g>> {
    let difference = |a: Value<'g>, b: Value<'g>| a + (-(b - a).exp()).ln_1p();
    let left = difference(cdf_upper?, cdf_lower?);
    let (Some(cl), Some(cu)) = (ccdf_lower, ccdf_upper) else {
        return Some(left);
    };
    let right = difference(cl, cu);
    let in_left_half = cdf_lower?.lt(lit(-std::f64::consts::LN_2));
    Some(in_left_half.select(left, right))
}

/// The scalar parameterisation a resolved call means.
pub(super) fn scalar_of(resolved: &Resolved<'_>) -> Option<Scalar> {
    let names: Vec<&str> = resolved.family.forms[resolved.form]
        .iter()
        .map(|n| plain(n))
        .collect();
    Scalar::ALL.iter().copied().find(|scalar| {
        let own = || scalar.args().iter().map(|a| a.name);
        scalar.name() == resolved.family.name && names.iter().all(|n| own().any(|o| o == *n))
    })
}
