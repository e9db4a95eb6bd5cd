//! Counts of several categories: Multinomial and DirichletMultinomial.

use super::super::build::Build;
use super::super::{Draw, observed::Observed};
use super::shares::concentrations;
use super::site::{Site, Vector, lit, positive};
use crate::Result;
use crate::dist::{Real, ln_rising};
use fitzroy_graph::Expr as Value;

/// ln n! − Σ ln y! of observed counts, which must sum to n.
fn ways<'g>(
    b: &Build<'_, 'g>,
    site: &Site<'_>,
    (y, n): (Value<'g>, Value<'g>),
    v: &Vector,
    observed: Observed<'_>,
) -> Result<Value<'g>> {
    let n_known = b.scope.known(n.broadcast(b.scope, &v.outer));
    let Some(n_known) = n_known else {
        let e = site
            .given(0)
            .expect("the number of trials was checked to be given");
        let name = &site.s.distribution.name;
        let message = format!("`n` of `{name}` must be known: it is the sum of the counts");
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
            return Err(b.wrong_row(observed, v, i, &why));
        }
    }
    let ways = |x: Value<'g>| (x + lit(1.0)).lgamma();
    Ok(ways(n) - ways(y).sum_over(&[v.event]))
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
    let constant = ways(b, site, (y, n), &v, observed)?;
    let event = [v.event];
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

/// Number of trials and concentrations.
fn mixed_trials<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    v: &Vector,
) -> Result<(Value<'g>, Value<'g>)> {
    let n = b.given(site, 0, &v.outer, &[])?;
    Ok((n, concentrations(b, site, 1, v)?))
}

/// Observed counts whose probabilities are drawn from a Dirichlet distribution for each row.
pub(super) fn mixed_observed<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    y: Value<'g>,
    observed: Observed<'_>,
) -> Result<()> {
    let v = b.vector(site, 2)?;
    let (n, a) = mixed_trials(b, site, &v)?;
    let constant = ways(b, site, (y, n), &v, observed)?;
    let event = [v.event];
    let total = a.sum_over(&event);
    let counted = ln_rising(positive(a), y).sum_over(&event);
    let rows = constant - ln_rising(total, n) + counted;
    b.vector_term(observed, &v.outer, rows, None);
    mixed_draw(b, site, true)
}

pub(super) fn mixed_draw(b: &mut Build<'_, '_>, site: &Site<'_>, observed: bool) -> Result<()> {
    let v = b.vector(site, 2)?;
    let (n, a) = mixed_trials(b, site, &v)?;
    b.draw_vector(site, &v, Draw::DirichletMultinomial, vec![n, a], observed);
    Ok(())
}
