//! Shares of several categories: Dirichlet and StickBreakingWeights.

use super::super::build::Build;
use super::super::function::log_sum_exp;
use super::super::{Draw, observed::Observed};
use super::site::{Site, Vector, lit, positive};
use crate::Result;
use crate::dist::Real;
use fitzroy_graph::{DimId, Expr as Value};

/// Rows of observed vectors that must sum to 0 may miss it by this much.
pub(super) const SUM_TOLERANCE: f64 = 1e-6;
/// How far the sum of observed shares may be from 1: they are published with two or three digits.
const SHARES_TOLERANCE: f64 = 0.01;

/// Concentrations, argument `k`, over the event dim and perhaps outer ones.
pub(super) fn concentrations<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    k: usize,
    v: &Vector,
) -> Result<Value<'g>> {
    let a = b.given(site, k, &v.dims(), &[v.event])?;
    Ok(if a.dims().contains(&v.event) {
        a
    } else {
        let own: Vec<DimId> = a.dims().into_iter().chain([v.event]).collect();
        a.broadcast(b.scope, &own)
    })
}

/// ln Γ(Σa) − Σ ln Γ(a)
fn dirichlet_norm<'g>(a: Value<'g>, v: &Vector) -> Value<'g> {
    let over = [v.event];
    a.sum_over(&over).lgamma() - positive(a).lgamma().sum_over(&over)
}

/// Shares p = softmax(u, −Σu): the coordinates u, K − 1 of them, count all shares alike.
///
/// With the Jacobian ln K + Σ ln p the density over u is ln norm + Σ a ln p + ln K.
pub(super) fn dirichlet_parameter(b: &mut Build<'_, '_>, site: &Site<'_>) -> Result<()> {
    let v = b.vector(site, 2)?;
    let a = concentrations(b, site, 0, &v)?;
    let part = b.all_but_one(&v);
    let len = b.scope.with(|g| g.len_of(&v.with(part)));
    let u = b.coordinates_over(site.s, &v.dims(), &v.with(part), len);
    let last = -u.sum_over(&[part]);
    let logits = b.place(&v, u, 0) + b.place_one(&v, last, v.k - 1);
    let log_p = logits - log_sum_exp(b, logits, &[v.event]);
    let kernel = (a * log_p).sum_over(&[v.event]);
    let density = dirichlet_norm(a, &v) + kernel + lit((v.k as f64).ln());
    let p = b.or_given(site.s, log_p.exp(), |b, p| {
        // The coordinates are log shares less their mean, but for the last.
        let log_p = p.ln();
        let mean = log_p.sum_over(&[v.event]) * lit(1.0 / v.k as f64);
        let u = b.slice(log_p - mean, v.event, 0, v.k - 1);
        vec![u.broadcast(b.scope, &v.with(part))]
    });
    b.unit_sums.push(b.scope.node(p));
    b.define(site.s, p, density, &v.outer);
    Ok(())
}

/// That observed shares are positive and sum to 1.
fn check_shares(b: &Build<'_, '_>, v: &Vector, observed: Observed<'_>) -> Result<()> {
    let name = &observed.s.distribution.name;
    for (i, row) in observed.values.chunks(v.k).enumerate() {
        if let Some(at) = row.iter().position(|&p| !(p > 0.0 && p.is_finite())) {
            let why = format!("{} is no share: {name} gives numbers above 0", row[at]);
            return Err(b.wrong_value(observed, i * v.k + at, &why));
        }
        let total: f64 = row.iter().sum();
        if (total - 1.0).abs() > SHARES_TOLERANCE {
            let why = format!("these shares sum to {total}, not to 1; divide each row by its sum");
            return Err(b.wrong_row(observed, v, i, &why));
        }
    }
    Ok(())
}

/// Observed shares, which must be positive and sum to 1.
pub(super) fn dirichlet_observed<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    y: Value<'g>,
    observed: Observed<'_>,
) -> Result<()> {
    let v = b.vector(site, 2)?;
    check_shares(b, &v, observed)?;
    let a = concentrations(b, site, 0, &v)?;
    let norm = dirichlet_norm(a, &v);
    let log_y = y.ln();
    let less_one = a - lit(1.0);
    let rows = norm + (less_one * log_y).sum_over(&[v.event]);
    let shared = a.dims() == [v.event];
    let sum = shared.then(|| {
        let n = b.scope.with(|g| g.len_of(&v.outer)) as f64;
        lit(n) * norm + (less_one * log_y.sum_over(&v.outer)).sum_all()
    });
    b.vector_term(observed, &v.outer, rows, sum);
    dirichlet_draw(b, site, true)
}

pub(super) fn dirichlet_draw(b: &mut Build<'_, '_>, site: &Site<'_>, observed: bool) -> Result<()> {
    let v = b.vector(site, 2)?;
    let a = concentrations(b, site, 0, &v)?;
    b.draw_vector(site, &v, Draw::Dirichlet, vec![a], observed);
    Ok(())
}

/// Shares broken off a stick: each coordinate is the log odds of a part of what is left, which is
/// Beta(1, alpha).
///
/// With v the parts, the density over the coordinates is Σ [ln alpha + ln v + alpha ln(1 − v)].
pub(super) fn sticks_parameter(b: &mut Build<'_, '_>, site: &Site<'_>) -> Result<()> {
    let v = b.vector(site, 2)?;
    let alpha = positive(b.given(site, 0, &v.outer, &v.outer)?);
    let part = b.all_but_one(&v);
    let len = b.scope.with(|g| g.len_of(&v.with(part)));
    let u = b.coordinates_over(site.s, &v.dims(), &v.with(part), len);
    let (log_broken, log_rest) = (-(-u).softplus(), -u.softplus());
    let terms = alpha.ln() + log_broken + alpha * log_rest;
    let density = terms.broadcast(b.scope, &v.with(part)).sum_over(&[part]);
    let node = b.scope.node(log_rest);
    let left = b.scope.expr(b.scope.with(|g| g.cum_sum(node, part, false)));
    let log_p = b.place(&v, log_broken, 0) + b.place(&v, left, 1);
    let p = b.or_given(site.s, log_p.exp(), |b, p| {
        // The part of what is left against the rest of it.
        let rest = after(b, p, &v, part);
        let u = b.slice(p, v.event, 0, v.k - 1).ln() - rest.ln();
        vec![u.broadcast(b.scope, &v.with(part))]
    });
    b.unit_sums.push(b.scope.node(p));
    b.define(site.s, p, density, &v.outer);
    Ok(())
}

/// What is left behind each element but the last.
fn after<'g>(b: &Build<'_, 'g>, p: Value<'g>, v: &Vector, part: DimId) -> Value<'g> {
    let ahead = b.slice(p, v.event, 1, v.k - 1);
    let node = b.scope.node(ahead.broadcast(b.scope, &v.with(part)));
    b.scope.expr(b.scope.with(|g| g.cum_sum(node, part, true)))
}

/// Observed shares, as if broken off a stick.
pub(super) fn sticks_observed<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    y: Value<'g>,
    observed: Observed<'_>,
) -> Result<()> {
    let v = b.vector(site, 2)?;
    check_shares(b, &v, observed)?;
    let alpha = positive(b.given(site, 0, &v.outer, &v.outer)?);
    let part = b.all_but_one(&v);
    // The lengths before the first break, which is 1, and before the others.
    let lengths = after(b, y, &v, part).ln().sum_over(&[part]);
    let last = b.element(y, v.event, v.k - 1).ln();
    let lengths = lengths - last;
    let rows = lit((v.k - 1) as f64) * alpha.ln() + (alpha - lit(1.0)) * last - lengths;
    b.vector_term(observed, &v.outer, rows, None);
    sticks_draw(b, site, true)
}

pub(super) fn sticks_draw(b: &mut Build<'_, '_>, site: &Site<'_>, observed: bool) -> Result<()> {
    let v = b.vector(site, 2)?;
    let alpha = b.given(site, 0, &v.outer, &v.outer)?;
    b.draw_vector(site, &v, Draw::StickBreakingWeights, vec![alpha], observed);
    Ok(())
}

impl<'g> Build<'_, 'g> {
    /// ln (p/Σp) along `axis`; without the division where p sums to 1 by construction.
    pub(super) fn log_shares(&self, p: Value<'g>, axis: DimId) -> Value<'g> {
        if self.unit_sums.contains(&self.scope.node(p)) {
            p.ln()
        } else {
            p.ln() - positive(p.sum_over(&[axis])).ln()
        }
    }

    /// An error about row `i` of observed vectors.
    pub(super) fn wrong_row(
        &self,
        observed: Observed<'_>,
        v: &Vector,
        i: usize,
        why: &str,
    ) -> crate::Error {
        let outer = Observed {
            dims: &v.outer,
            ..observed
        };
        self.wrong_value(outer, i, why)
    }
}
