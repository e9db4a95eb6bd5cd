//! Parameters with their priors and transforms.

use super::build::Build;
use super::law::{Ends, Law, Of, infinite};
use super::rewrite::{Factors, Latent, Positive, reaches_zero, sign};
use super::{Coordinates, Parameter, Plate, Range, TermKind};
use crate::Result;
use crate::dist::{Real, Scalar, Support, Transform};
use crate::model::ast::{Centring, Expr, LimitKind, Limits, Sampled};
use fitzroy_graph::{DimId, Expr as Value};
use std::f64::consts::{PI, TAU};

fn lit<'g>(x: f64) -> Value<'g> {
    Value::lit(x)
}

impl<'g> Build<'_, 'g> {
    /// A free variable that is sampled.
    pub(super) fn continuous(&mut self, s: &Sampled) -> Result<()> {
        self.parameter(s)?;
        let x = self.names[&s.name.text];
        if !self.depends_on_discrete(x) {
            return Ok(());
        }
        let name = &s.name;
        let message = format!(
            "limits and coordinates of the continuous `{name}` cannot depend on discrete parameters: \
             limit it by what holds for all of their values, and leave `@ noncentred` out (of vectors, \
             write `@ centred`)"
        );
        Err(self.model.error(name.span, message))
    }

    /// A free variable.
    pub(super) fn parameter(&mut self, s: &Sampled) -> Result<()> {
        let dims = self.declared_dims(&s.subscripts)?;
        let of = Of {
            name: &s.name,
            dims: &dims,
        };
        let Some(law) = self.law(&s.distribution, of)? else {
            return super::vector::parameter(self, s, &dims);
        };
        if law.is_censored() {
            let message =
                "a censored quantity is observed; a parameter takes the distribution itself";
            return Err(self.model.error(s.distribution.span, message));
        }
        if law.has_zeros() {
            let message = format!(
                "`{}` is for observed data and predictions: a parameter that is exactly 0 in some cases \
                 and positive in others cannot be sampled",
                law.name()
            );
            return Err(self.model.error(s.distribution.span, message));
        }
        if s.ordered {
            return super::vector::ordered(self, s, &dims, &law);
        }
        let limits = self.limit_values(s, &dims)?;
        self.number_parameter(s, &dims, &law, limits)
    }

    /// A free variable of a distribution of single numbers.
    pub(super) fn number_parameter(
        &mut self,
        s: &Sampled,
        dims: &[DimId],
        law: &Law<'g>,
        limits: Option<(Value<'g>, Value<'g>)>,
    ) -> Result<()> {
        let varies = |v: Value<'g>| {
            let node = self.scope.node(v);
            self.scope.with(|g| g.varies(node))
        };
        if let Law::Scalar(scalar, arguments) = law
            && let Some([location, scale]) = scalar.location_scale()
            && s.limits.is_none()
        {
            let hierarchical = varies(arguments[location]) || varies(arguments[scale]);
            let by_discrete = [location, scale].map(|k| self.depends_on_discrete(arguments[k]));
            let wanted = match s.centring {
                // Steps that depend on the one before are coordinates themselves.
                Centring::Auto => hierarchical && self.lags.is_none() && by_discrete == [false; 2],
                Centring::Centred => false,
                Centring::NonCentred => true,
            };
            if wanted {
                self.plate(s, dims, law, location, scale);
                return Ok(());
            }
        }
        let u = self.coordinates_of(s, dims);
        let parameter = self.parameters.len() - 1;
        let reflected = reaches_zero(law, limits);
        let has_sign = reflected && self.signed.contains(&parameter);
        let range = self.range(ends(law, limits), dims).filter(|_| !has_sign);
        self.parameters[parameter].range = range;
        let (x, log_slope) = match has_sign {
            // Half of the density on either side of 0.
            true => (u.abs(), lit(-std::f64::consts::LN_2)),
            false if goes_round(law, limits) => turned(u),
            false => transform(ends(law, limits), u),
        };
        let x = x.broadcast(self.scope, dims);
        let x = self.or_given(s, x, |b, x| {
            let u = match has_sign {
                true => x,
                false if goes_round(law, limits) => x,
                false => untransform(ends(law, limits), x),
            };
            vec![u.broadcast(b.scope, dims)]
        });
        if reflected {
            self.positives.push(Positive {
                parameter,
                node: self.scope.node(x),
                sign: has_sign.then(|| sign(u)),
            });
        }
        let density = self.prior_density(s, law, x, limits)?;
        self.define(s, x, density + log_slope, dims);
        if limits.is_none() && s.centring == Centring::Auto {
            if let Law::Scalar(Scalar::Normal, arguments) = law {
                self.latent(u, arguments[0], arguments[1]);
            }
            if !has_sign && self.lags.is_none() {
                self.note_conjugate(law, u, x);
            }
        }
        Ok(())
    }

    /// The ends of a parameter, where they are known.
    fn range(&self, ends: Ends<'g>, dims: &[DimId]) -> Option<Range> {
        let known = |end: Option<Value<'g>>, missing: f64| match end {
            None => Some(vec![missing]),
            Some(end) => match end.constant() {
                Some(x) => Some(vec![x]),
                None => self.scope.known(end.broadcast(self.scope, dims)),
            },
        };
        Some(Range {
            lower: known(ends.lower, f64::NEG_INFINITY)?,
            upper: known(ends.upper, f64::INFINITY)?,
        })
    }

    /// Notes that the last parameter has a normal prior in its coordinate.
    pub(super) fn latent(&mut self, u: Value<'g>, mean: Value<'g>, sd: Value<'g>) {
        let node = |v| self.scope.node(v);
        self.latents.push(Latent {
            parameter: self.parameters.len() - 1,
            node: node(u),
            mean: node(mean),
            sd: node(sd),
            term: self.terms.len() - 1,
        });
    }

    /// ln p(x) of a parameter whose transform keeps it inside the support.
    pub(super) fn prior_density(
        &self,
        s: &Sampled,
        law: &Law<'g>,
        x: Value<'g>,
        limits: Option<(Value<'g>, Value<'g>)>,
    ) -> Result<Value<'g>> {
        // A part of a mixture need not have mass wherever the whole has.
        let trusted = self.scope.trust_support(matches!(law, Law::Scalar(..)));
        let density = law.log_density(x);
        self.scope.trust_support(trusted);
        let mut density = density.expect("only censored distributions may lack a density");
        if let (Some((lower, upper)), Some(LimitKind::Truncated)) = (limits, kind(s)) {
            density = density - self.log_mass(s, law, lower, upper)?;
        }
        Ok(density)
    }

    /// Names, records and scores a parameter.
    pub(super) fn define(&mut self, s: &Sampled, x: Value<'g>, density: Value<'g>, dims: &[DimId]) {
        self.give(s, x);
        let density = density.broadcast(self.scope, dims);
        self.term(&s.name.text, TermKind::Prior, density);
    }

    /// Names and records a parameter.
    pub(super) fn give(&mut self, s: &Sampled, x: Value<'g>) {
        let name = &s.name.text;
        self.names.insert(name.clone(), x);
        let record = self.record(name, x);
        self.recorded.push(record);
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
        let in_order = self.n_params;
        let laid_out = self.layout.get(self.parameters.len());
        let offset = laid_out.copied().unwrap_or(in_order);
        self.n_params += len;
        let bound = |d: &DimId| self.dims.iter().position(|m| m == d);
        self.parameters.push(Parameter {
            name: s.name.text.clone(),
            dims: dims.iter().filter_map(bound).collect(),
            offset,
            len,
            range: None,
        });
        self.scope.param(offset, shape)
    }

    /// A parameter whose coordinates are centred, standardised or in between.
    fn plate(&mut self, s: &Sampled, dims: &[DimId], law: &Law<'g>, location: usize, scale: usize) {
        let Law::Scalar(scalar, arguments) = law else {
            panic!("only scalar distributions have a location and a scale")
        };
        let (m, sd) = (arguments[location], arguments[scale]);
        let which = self.plates.len();
        let w = self.coordinates_of(s, dims);
        let parameter = self.parameters.len() - 1;
        let factors = match scalar.is_symmetric() {
            true => self.factors_of(self.scope.node(sd)),
            false => Factors::default(),
        };
        let default = Coordinates::NonCentred;
        let chosen = self.coordinates.get(which).unwrap_or(&default).clone();
        let mut standard = arguments.clone();
        standard[location] = lit(0.0);
        standard[scale] = lit(1.0);
        let standard_normal = *scalar == Scalar::Normal
            && chosen == Coordinates::NonCentred
            && s.centring == Centring::Auto;
        let is_integrated = self.integrated.get(parameter) == Some(&true);
        let has_sign = chosen == Coordinates::NonCentred && !is_integrated;
        let sign = factors.sign.filter(|_| has_sign);
        let mut powers = None;
        let (x, density) = match &chosen {
            Coordinates::Centred => (w, scalar.log_density(w, arguments)),
            Coordinates::NonCentred => {
                let scale = sign.map_or(sd, |sign| sd * sign);
                (m + scale * w, scalar.log_density(w, &standard))
            }
            Coordinates::Partial(c) => {
                let c = self
                    .scope
                    .bound_data(&format!("centring of {}", s.name), dims, c);
                powers = Some(c);
                // ln p(w) = ln f(z) − c ln sd, with z = (w − c m) sd^−c.
                let log_power = c * sd.ln();
                let z = (w - c * m) * (-log_power).exp();
                (m + sd * z, scalar.log_density(z, &standard) - log_power)
            }
        };
        let x = self.or_given(s, x.broadcast(self.scope, dims), |b, x| {
            let u = match (&chosen, powers) {
                (Coordinates::Centred, _) => x,
                (_, Some(c)) => c * m + ((c - lit(1.0)) * sd.ln()).exp() * (x - m),
                (_, None) => (x - m) / sign.map_or(sd, |sign| sd * sign),
            };
            vec![u.broadcast(b.scope, dims)]
        });
        let node = |v: Value<'g>| self.scope.node(v.broadcast(self.scope, dims));
        self.plate_nodes.push((node(m), node(sd)));
        self.plate_signs.push(sign.map(node));
        self.plates.push(Plate {
            parameter,
            asked: s.centring,
            standardised: false,
            scales: factors.parameters,
        });
        self.define(s, x, density, dims);
        if standard_normal {
            self.latent(w, lit(0.0), lit(1.0));
        }
    }

    /// Lower and upper limit, where the statement has any.
    pub(super) fn limit_values(
        &mut self,
        s: &Sampled,
        dims: &[DimId],
    ) -> Result<Option<(Value<'g>, Value<'g>)>> {
        let Some(limits) = &s.limits else {
            return Ok(None);
        };
        let of = Of {
            name: &s.name,
            dims,
        };
        let mut one = |e: &Expr| {
            let value = self.value(e)?;
            let value = self.fit_list(value, dims);
            self.within(value, "the limit", e, of)
        };
        let Limits { lower, upper, .. } = limits;
        Ok(Some((one(lower)?, one(upper)?)))
    }

    /// ln P(lower < Y < upper).
    pub(super) fn log_mass(
        &self,
        s: &Sampled,
        law: &Law<'g>,
        lower: Value<'g>,
        upper: Value<'g>,
    ) -> Result<Value<'g>> {
        law.log_mass(lower, upper).ok_or_else(|| {
            let message = format!(
                "`{}` has no closed distribution function, so it cannot be `truncated`; `bounded(lower, upper)` restricts it without the normalising term",
                law.name()
            );
            self.model.error(s.distribution.span, message)
        })
    }
}

pub(super) fn kind(s: &Sampled) -> Option<LimitKind> {
    s.limits.as_ref().map(|l| l.kind)
}

/// The ends of the support, within limits.
pub(super) fn ends<'g>(law: &Law<'g>, limits: Option<(Value<'g>, Value<'g>)>) -> Ends<'g> {
    let own = law.ends();
    let Some((lower, upper)) = limits else {
        return own;
    };
    let join = |own: Option<Value<'g>>, new: Value<'g>, max: bool| {
        let new = Some(new).filter(|v| !infinite(*v));
        match (own, new) {
            (Some(a), Some(b)) => Some(if max { a.max(b) } else { a.min(b) }),
            (a, b) => a.or(b),
        }
    };
    Ends {
        lower: join(own.lower, lower, true),
        upper: join(own.upper, upper, false),
    }
}

/// x and ln |dx/du| of an unconstrained u.
///
/// Both ends free: x = u. One end: x = lower + eᵘ or upper − eᵘ. Two: x = lower + (upper −
/// lower)/(1 + e⁻ᵘ).
pub(super) fn transform<'g>(ends: Ends<'g>, u: Value<'g>) -> (Value<'g>, Value<'g>) {
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

/// Whether a parameter is a direction, of which −π and π are the same.
fn goes_round(law: &Law<'_>, limits: Option<(Value<'_>, Value<'_>)>) -> bool {
    let is_circular = |scalar: &Scalar| scalar.support() == Support::Circular;
    limits.is_none() && matches!(law, Law::Scalar(scalar, _) if is_circular(scalar))
}

/// How far a coordinate of a direction strays, in radians: enough that turns near 0 weigh the same, and
/// the directions that a chain finds around one of them are those around all.
const STRAY: f64 = 10.0;

/// x and ln |dx/du| of the coordinate u of a direction: x = u − 2πk in [−π, π).
///
/// The density over u has the factor L(u + π) − L(u − π), L(u) = 1/(1 + e^(−u/10)): over all u that
/// lead to the same x it sums to 1, so that x keeps its density and u has one. A chain can go round.
fn turned<'g>(u: Value<'g>) -> (Value<'g>, Value<'g>) {
    let all = f64::ln_1p(-(-TAU / STRAY).exp());
    let left = (-(u + lit(PI)) / lit(STRAY)).softplus();
    let right = ((u - lit(PI)) / lit(STRAY)).softplus();
    (Transform::Circular.constrain(u), lit(all) - left - right)
}

/// The u of [`transform`] for an x; infinite or NaN outside the ends.
pub(super) fn untransform<'g>(ends: Ends<'g>, x: Value<'g>) -> Value<'g> {
    match (ends.lower, ends.upper) {
        (None, None) => x,
        (Some(lower), None) => (x - lower).ln(),
        (None, Some(upper)) => (upper - x).ln(),
        (Some(lower), Some(upper)) => (x - lower).ln() - (upper - x).ln(),
    }
}
