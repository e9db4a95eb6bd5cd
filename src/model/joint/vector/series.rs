//! Series along the last dim: GaussianRandomWalk and AR.

use super::super::build::Build;
use super::super::law::{Law, Of};
use super::super::sampled::{ends, transform, untransform};
use super::super::{Draw, observed::Observed};
use super::site::{Site, Vector, lit};
use crate::Result;
use crate::dist::{Real, Scalar};
use crate::model::ast::Centring;
use fitzroy_graph::{DimId, Expr as Value};

/// Scale of the first elements where the model gives no distribution, that of PyMC.
const FIRST_SIGMA: f64 = 100.0;

/// The distribution of the first elements, over `dims`.
fn first_law<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    k: usize,
    dims: &[DimId],
) -> Result<Law<'g>> {
    let of = Of {
        name: &site.s.name,
        dims,
    };
    match site.given(k) {
        Some(e) => b.part(e, of),
        None => Ok(Law::Scalar(
            Scalar::Normal,
            vec![lit(0.0), lit(FIRST_SIGMA)],
        )),
    }
}

fn log_density<'g>(
    b: &Build<'_, 'g>,
    site: &Site<'_>,
    law: &Law<'g>,
    y: Value<'g>,
) -> Result<Value<'g>> {
    law.log_density(y).ok_or_else(|| {
        let message = format!("`{}` cannot be censored here", law.name());
        b.model.error(site.s.distribution.span, message)
    })
}

/// A random walk: drift and sigma of the steps, the law of the first element.
struct Walk<'g> {
    v: Vector,
    /// The dim of the steps, one element shorter.
    steps: DimId,
    drift: Value<'g>,
    sigma: Value<'g>,
    first: Law<'g>,
}

fn walk<'g>(b: &mut Build<'_, 'g>, site: &Site<'_>) -> Result<Walk<'g>> {
    let v = b.vector(site, 2)?;
    let steps = b.all_but_one(&v);
    let allowed = v.with(steps);
    let drift = b.given(site, 0, &allowed, &[steps])?;
    let sigma = b.given(site, 1, &allowed, &[steps])?;
    let first = first_law(b, site, 2, &v.outer)?;
    Ok(Walk {
        v,
        steps,
        drift,
        sigma,
        first,
    })
}

/// ln p(y\[0\]) + Σ ln Normal(y\[t\] − y[t − 1] | drift, sigma)
fn walk_density<'g>(
    b: &Build<'_, 'g>,
    site: &Site<'_>,
    w: &Walk<'g>,
    y: Value<'g>,
) -> Result<Value<'g>> {
    let v = &w.v;
    let first = log_density(b, site, &w.first, b.element(y, v.event, 0))?;
    let step = b.slice(y, v.event, 1, v.k - 1) - b.slice(y, v.event, 0, v.k - 1);
    let of_steps = Scalar::Normal.log_density(step, &[w.drift, w.sigma]);
    Ok(first.broadcast(b.scope, &v.outer) + of_steps.sum_over(&[w.steps]))
}

/// A walk from standard normal innovations, or itself if `@ centred`.
///
/// x\[0\] = location + scale·u\[0\] where its distribution has them, else by the transform of its
/// support; x\[t\] = x[t − 1] + mu + sigma·u\[t\].
pub(super) fn walk_parameter(b: &mut Build<'_, '_>, site: &Site<'_>) -> Result<()> {
    let w = walk(b, site)?;
    let v = &w.v;
    let u = b.coordinates_of(site.s, &v.dims());
    if site.s.centring == Centring::Centred {
        unbounded(b, site, &w.first, 2)?;
        let u = b.or_given(site.s, u, |_, x| vec![x]);
        let density = walk_density(b, site, &w, u)?;
        b.define(site.s, u, density, &v.outer);
        return Ok(());
    }
    let start = b.element(u, v.event, 0);
    let (first, of_first, of_scale) = match &w.first {
        Law::Scalar(scalar, arguments) if scalar.location_scale().is_some() => {
            let [location, scale] = scalar.location_scale().expect("it has both");
            let mut standard = arguments.clone();
            standard[location] = lit(0.0);
            standard[scale] = lit(1.0);
            let x = arguments[location] + arguments[scale] * start;
            (
                x,
                scalar.log_density(start, &standard),
                arguments[scale].ln(),
            )
        }
        law => {
            let (x, log_slope) = transform(ends(law, None), start);
            let density = b.prior_density(site.s, law, x, None)?;
            (x, density + log_slope, log_slope)
        }
    };
    let z = b.slice(u, v.event, 1, v.k - 1);
    let step = (w.drift + w.sigma * z).broadcast(b.scope, &v.with(w.steps));
    b.volume(of_scale.broadcast(b.scope, &v.outer));
    b.volume(w.sigma.ln().broadcast(b.scope, &v.with(w.steps)));
    let parts = b.place_one(v, first, 0) + b.place(v, step, 1);
    let node = b.scope.node(parts);
    let x = b
        .scope
        .expr(b.scope.with(|g| g.cum_sum(node, v.event, false)));
    let x = b.or_given(site.s, x, |b, x| vec![innovations(b, &w, x)]);
    let of_steps = Scalar::Normal.log_density(z, &[lit(0.0), lit(1.0)]);
    let density = of_first.broadcast(b.scope, &v.outer) + of_steps.sum_over(&[w.steps]);
    b.define(site.s, x, density, &v.outer);
    if matches!(w.first, Law::Scalar(Scalar::Normal, _)) && site.s.centring == Centring::Auto {
        b.latent(u, lit(0.0), lit(1.0));
    }
    Ok(())
}

/// The coordinates of a given walk.
fn innovations<'g>(b: &Build<'_, 'g>, w: &Walk<'g>, x: Value<'g>) -> Value<'g> {
    let v = &w.v;
    let first = b.element(x, v.event, 0);
    let start = match &w.first {
        Law::Scalar(scalar, arguments) if scalar.location_scale().is_some() => {
            let [location, scale] = scalar.location_scale().expect("it has both");
            (first - arguments[location]) / arguments[scale]
        }
        law => untransform(ends(law, None), first),
    };
    let step = b.slice(x, v.event, 1, v.k - 1) - b.slice(x, v.event, 0, v.k - 1);
    let z = ((step - w.drift) / w.sigma).broadcast(b.scope, &v.with(w.steps));
    b.place_one(v, start, 0) + b.place(v, z, 1)
}

/// That a law of first elements has mass on the whole line.
fn unbounded<'g>(b: &Build<'_, 'g>, site: &Site<'_>, law: &Law<'g>, k: usize) -> Result<()> {
    let ends = law.ends();
    match (ends.lower.or(ends.upper), site.given(k)) {
        (Some(_), Some(e)) => {
            let message = "the first elements need a distribution over all real numbers here";
            Err(b.model.error(e.span, message))
        }
        _ => Ok(()),
    }
}

/// An observed walk; all values must be finite.
pub(super) fn walk_observed<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    y: Value<'g>,
    observed: Observed<'_>,
) -> Result<()> {
    finite(b, observed)?;
    let w = walk(b, site)?;
    let rows = walk_density(b, site, &w, y)?;
    b.vector_term(observed, &w.v.outer, rows, None);
    walk_draw(b, site, true)
}

fn finite(b: &Build<'_, '_>, observed: Observed<'_>) -> Result<()> {
    match observed.values.iter().position(|x| !x.is_finite()) {
        Some(i) => {
            let why = format!("{} is observed; it must be finite", observed.values[i]);
            Err(b.wrong_value(observed, i, &why))
        }
        None => Ok(()),
    }
}

pub(super) fn walk_draw(b: &mut Build<'_, '_>, site: &Site<'_>, observed: bool) -> Result<()> {
    let w = walk(b, site)?;
    let (draw, own) = w.first.drawing();
    let arguments = [w.drift, w.sigma].into_iter().chain(own).collect();
    b.draw_vector(
        site,
        &w.v,
        Draw::RandomWalk(Box::new(draw)),
        arguments,
        observed,
    );
    Ok(())
}

/// An autoregression: coefficients and their dim, sigma of the steps, the law of the elements
/// before the first step.
struct Autoregression<'g> {
    v: Vector,
    order: usize,
    /// One coefficient for each lag, from lag 1 on.
    rho: Vec<Value<'g>>,
    /// All coefficients, with their dim last.
    rho_vector: Value<'g>,
    sigma: Value<'g>,
    first: Law<'g>,
}

fn autoregression<'g>(b: &mut Build<'_, 'g>, site: &Site<'_>) -> Result<Autoregression<'g>> {
    let v = b.vector(site, 2)?;
    let e = site
        .given(0)
        .expect("the coefficients were checked to be given");
    let value = b.value(e)?;
    let value = b.scope.expr(b.scope.node(value));
    let of = Of {
        name: &site.s.name,
        dims: &v.outer,
    };
    let alone = value.dims().iter().all(|d| v.outer.contains(d));
    let (rho, rho_vector) = if alone {
        let one = b.scope.dim(&site.tag("lag"), 1);
        let dims: Vec<DimId> = value.dims().into_iter().chain([one]).collect();
        (vec![value], value.broadcast(b.scope, &dims))
    } else {
        let (value, axis) = b.event_axis(value, "rho", e, of)?;
        let n = b.scope.with(|g| g.size(axis));
        let kept = v.outer.iter().copied().filter(|d| value.dims().contains(d));
        let dims: Vec<DimId> = kept.chain([axis]).collect();
        let each = (0..n).map(|i| b.element(value, axis, i)).collect();
        (each, value.broadcast(b.scope, &dims))
    };
    let order = rho.len();
    if order >= v.k {
        let message = format!(
            "{order} coefficients need a series of more than {order} elements; `{}` has {}",
            site.s.name, v.k
        );
        return Err(b.model.error(e.span, message));
    }
    let sigma = b.given(site, 1, &v.outer, &[])?;
    let before = b.scope.with(|g| g.slice_dim(v.event, order));
    let first = first_law(b, site, 2, &v.with(before))?;
    unbounded(b, site, &first, 2)?;
    Ok(Autoregression {
        v,
        order,
        rho,
        rho_vector,
        sigma,
        first,
    })
}

/// Σ ln p(y\[t\]) over the first elements + Σ ln Normal(y\[t\] | Σ rho\[i\]·y[t − 1 − i], sigma)
fn autoregressive_density<'g>(
    b: &Build<'_, 'g>,
    site: &Site<'_>,
    a: &Autoregression<'g>,
    y: Value<'g>,
) -> Result<Value<'g>> {
    let (v, p) = (&a.v, a.order);
    let n = v.k - p;
    let start = b.slice(y, v.event, 0, p);
    let first = log_density(b, site, &a.first, start)?;
    let first = first.broadcast(b.scope, &start.dims());
    let lag = |i: usize| b.slice(y, v.event, p - 1 - i, n);
    let terms = a.rho.iter().enumerate().map(|(i, &rho)| rho * lag(i));
    let mean = terms.reduce(|x, y| x + y).expect("there is a coefficient");
    let now = b.slice(y, v.event, p, n);
    let steps = Scalar::Normal.log_density(now, &[mean, a.sigma]);
    let (before, after) = b
        .scope
        .with(|g| (g.slice_dim(v.event, p), g.slice_dim(v.event, n)));
    Ok(first.sum_over(&[before]) + steps.sum_over(&[after]))
}

/// An autoregressive series, sampled as it is.
pub(super) fn autoregressive_parameter<'g>(b: &mut Build<'_, 'g>, site: &Site<'_>) -> Result<()> {
    let a = autoregression(b, site)?;
    let u = b.coordinates_of(site.s, &a.v.dims());
    let x = b.or_given(site.s, u, |_, x| vec![x]);
    let density = autoregressive_density(b, site, &a, x)?;
    b.define(site.s, x, density, &a.v.outer);
    if let ([rho], Law::Scalar(Scalar::Normal, first), Centring::Auto) =
        (&a.rho[..], &a.first, site.s.centring)
    {
        let (v, n) = (&a.v, a.v.k - 1);
        let part = |len: usize| v.with(b.scope.with(|g| g.slice_dim(v.event, len)));
        let (one, later) = (part(1), part(n));
        let whole = |start: Value<'g>, steps: Value<'g>| {
            let start = b.place(v, start.broadcast(b.scope, &one), 0);
            start + b.place(v, steps.broadcast(b.scope, &later), 1)
        };
        let mean = whole(first[0], *rho * b.slice(u, v.event, 0, n));
        let sd = whole(first[1], a.sigma);
        b.latent(u, mean, sd);
    }
    Ok(())
}

/// An observed autoregressive series.
pub(super) fn autoregressive_observed<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    y: Value<'g>,
    observed: Observed<'_>,
) -> Result<()> {
    finite(b, observed)?;
    let a = autoregression(b, site)?;
    let rows = autoregressive_density(b, site, &a, y)?;
    b.vector_term(observed, &a.v.outer, rows, None);
    autoregressive_draw(b, site, true)
}

pub(super) fn autoregressive_draw(
    b: &mut Build<'_, '_>,
    site: &Site<'_>,
    observed: bool,
) -> Result<()> {
    let a = autoregression(b, site)?;
    let (draw, own) = a.first.drawing();
    let arguments = [a.rho_vector, a.sigma].into_iter().chain(own).collect();
    b.draw_vector(
        site,
        &a.v,
        Draw::Autoregressive(Box::new(draw)),
        arguments,
        observed,
    );
    Ok(())
}
