//! Shares and counts of several categories: Dirichlet and Multinomial.

use super::super::build::Build;
use super::super::function::log_sum_exp;
use super::super::{Draw, observed::Observed};
use super::site::{Site, Vector, lit, positive};
use crate::Result;
use crate::dist::Real;
use fitzroy_graph::{DimId, Expr as Value};

/// Rows of observed vectors that must sum to 1 or 0 may miss it by this much.
pub(super) const SUM_TOLERANCE: f64 = 1e-6;

/// Concentrations, over the event dim and perhaps outer ones.
fn concentrations<'g>(b: &mut Build<'_, 'g>, site: &Site<'_>, v: &Vector) -> Result<Value<'g>> {
    let a = b.given(site, 0, &v.dims(), &[v.event])?;
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
    let a = concentrations(b, site, &v)?;
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

/// Observed shares, which must be positive and sum to 1.
pub(super) fn dirichlet_observed<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    y: Value<'g>,
    observed: Observed<'_>,
) -> Result<()> {
    let v = b.vector(site, 2)?;
    for (i, row) in observed.values.chunks(v.k).enumerate() {
        if let Some(at) = row.iter().position(|&p| !(p > 0.0 && p.is_finite())) {
            let why = format!("{} is no share: Dirichlet gives numbers above 0", row[at]);
            return Err(b.wrong_value(observed, i * v.k + at, &why));
        }
        let total: f64 = row.iter().sum();
        if (total - 1.0).abs() > SUM_TOLERANCE {
            let why = format!("these shares sum to {total}, not to 1");
            return Err(b.wrong_row(observed, &v, i, &why));
        }
    }
    let a = concentrations(b, site, &v)?;
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
    let a = concentrations(b, site, &v)?;
    b.draw_vector(site, &v, Draw::Dirichlet, vec![a], observed);
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

/// Number of trials and probabilities.
fn trials<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    v: &Vector,
) -> Result<(Value<'g>, Value<'g>)> {
    let n = b.given(site, 0, &v.outer, &[])?;
    let p = b.given(site, 1, &v.dims(), &[v.event])?;
    if !p.dims().contains(&v.event) {
        let e = site
            .given(1)
            .expect("the probabilities were checked to be given");
        let needs = b.scope.with(|g| g.describe_dims(&[v.event]));
        let message = format!("`p` of `Multinomial` must have the dim {needs}");
        return Err(b.model.error(e.span, message));
    }
    Ok((n, p))
}

/// Observed counts, which must sum to n.
///
/// Where p is the same for all rows only its total counts enter the density.
pub(super) fn multinomial_observed<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    y: Value<'g>,
    observed: Observed<'_>,
) -> Result<()> {
    let v = b.vector(site, 1)?;
    let (n, p) = trials(b, site, &v)?;
    let n_known = b.scope.known(n.broadcast(b.scope, &v.outer));
    let Some(n_known) = n_known else {
        let e = site
            .given(0)
            .expect("the number of trials was checked to be given");
        let message = "`n` of `Multinomial` must be known: it is the sum of the counts";
        return Err(b.model.error(e.span, message));
    };
    for (i, row) in observed.values.chunks(v.k).enumerate() {
        if let Some(at) = row.iter().position(|&x| x < 0.0 || x.fract() != 0.0) {
            let why = format!("{} is no count: a whole number, 0 or more", row[at]);
            return Err(b.wrong_value(observed, i * v.k + at, &why));
        }
        let (total, n) = (row.iter().sum::<f64>(), n_known[i]);
        if total != n {
            let why = format!("these counts sum to {total}, but `n` is {n}");
            return Err(b.wrong_row(observed, &v, i, &why));
        }
    }
    let event = [v.event];
    let ways = |x: Value<'g>| (x + lit(1.0)).lgamma();
    let constant = ways(n) - ways(y).sum_over(&event);
    let log_p = b.log_shares(p, v.event);
    // 0 ln 0 = 0, and has no slope.
    let times = |count: Value<'g>| count.try_select(count * log_p, lit(0.0));
    let rows = constant + times(y)?.sum_over(&event);
    let sum = match p.dims() == event {
        true => {
            let constants = constant.broadcast(b.scope, &v.outer).sum_all();
            Some(constants + times(y.sum_over(&v.outer))?.sum_all())
        }
        false => None,
    };
    b.vector_term(observed, &v.outer, rows, sum);
    b.draw_vector(site, &v, Draw::Multinomial, vec![n, p], true);
    Ok(())
}

pub(super) fn multinomial_draw(
    b: &mut Build<'_, '_>,
    site: &Site<'_>,
    observed: bool,
) -> Result<()> {
    let v = b.vector(site, 1)?;
    let (n, p) = trials(b, site, &v)?;
    b.draw_vector(site, &v, Draw::Multinomial, vec![n, p], observed);
    Ok(())
}
