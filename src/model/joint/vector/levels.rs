//! Observed categories that are in order: OrderedLogistic and OrderedProbit.

use super::super::build::Build;
use super::super::drawing::Drawing;
use super::super::{Draw, observed::Observed};
use super::category::{Table, categories, last, weights};
use super::site::{Site, Vector, lit, positive};
use crate::Result;
use crate::dist::{Real, Structured, ln_1m_exp, ln_normal_between};
use fitzroy_graph::{DimId, Expr as Value};

/// What is added to a cutpoint that no variable passes: so far above that nothing is left, and not
/// so far that its square would be infinite.
const FAR: f64 = 1e30;

/// The cutpoints around the category of each row.
struct Levels<'g> {
    lower: Value<'g>,
    upper: Value<'g>,
    /// ln(1 − e^(lower − upper)) of inner categories, else 0.
    gap: Value<'g>,
}

/// Cutpoints c of category y: c\[y − 1\] and c\[y\], far away where there is none.
fn levels<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    observed: Observed<'_>,
) -> Result<Levels<'g>> {
    let rows = observed.dims;
    let (cutpoints, axis) = weights(b, site, 1, rows)?;
    let n_cuts = b.scope.with(|g| g.size(axis));
    let y = categories(b, observed, n_cuts + 1)?;
    let mut table = Table::new(b, cutpoints, axis, rows);
    let cuts = table.values;
    let categories = b
        .scope
        .dim(&format!("{}: {}", site.s.name, n_cuts + 1), n_cuts + 1);
    let outer: Vec<DimId> = cuts.dims().into_iter().filter(|d| *d != axis).collect();
    let v = Vector {
        outer,
        event: categories,
        k: n_cuts + 1,
    };
    let cuts = cuts.broadcast(b.scope, &v.with(axis));
    let far = |at: usize, x: f64| {
        let mut values = vec![0.0; v.k];
        values[at] = x;
        b.scope
            .bound_data(&site.tag(&format!("end {at}")), &[categories], &values)
    };
    let upper = b.place(&v, cuts, 0) + far(v.k - 1, FAR);
    let lower = b.place(&v, cuts, 1) + far(0, -FAR);
    table.axis = categories;
    let mut pick = |values: Value<'g>| -> Result<_> {
        table.values = b.scope.expr(b.scope.node(values));
        table.pick(b, &y, rows, &site.tag("cells"))
    };
    let (upper, lower) = (pick(upper)?, pick(lower)?);
    let mut gap = lit(0.0);
    if n_cuts > 1 {
        let ahead = b.slice(cuts, axis, 1, n_cuts - 1);
        let inner = b.slice(cuts, axis, 0, n_cuts - 1) - ahead;
        gap = pick(b.place(&v, ln_1m_exp(inner), 1))?;
    }
    Ok(Levels { lower, upper, gap })
}

/// Location of the variable, and its scale where it has one.
fn location_and_scale<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    dims: &[DimId],
    form: Structured,
) -> Result<(Value<'g>, Option<Value<'g>>)> {
    let eta = b.given(site, 0, dims, dims)?;
    let sigma = match form {
        Structured::OrderedProbit => Some(b.given(site, 2, dims, dims)?),
        _ => None,
    };
    Ok((eta, sigma))
}

/// Observed ordered categories: a variable around eta among increasing cutpoints c.
///
/// Logistic: ln P(y) = −softplus(eta − c\[y\]) − softplus(c[y−1] − eta) + ln(1 − e^(c[y−1] − c\[y\])),
/// where the first category lacks the terms of its lower cutpoint and the last those of its upper
/// one. Normal: what lies between the two.
pub(super) fn observed(
    b: &mut Build<'_, '_>,
    site: &Site<'_>,
    observed: Observed<'_>,
    form: Structured,
) -> Result<()> {
    let rows = observed.dims;
    let (eta, sigma) = location_and_scale(b, site, rows, form)?;
    let Levels { lower, upper, gap } = levels(b, site, observed)?;
    let density = match sigma {
        Some(sigma) => {
            let sigma = positive(sigma);
            ln_normal_between((lower - eta) / sigma, (upper - eta) / sigma)
        }
        None => gap - (eta - upper).softplus() - (lower - eta).softplus(),
    };
    b.vector_term(observed, rows, density, None);
    draw(b, site, rows, form, true)
}

/// Notes that ordered categories are drawn anew.
pub(super) fn draw(
    b: &mut Build<'_, '_>,
    site: &Site<'_>,
    dims: &[DimId],
    form: Structured,
    observed: bool,
) -> Result<()> {
    let (eta, sigma) = location_and_scale(b, site, dims, form)?;
    let (cutpoints, axis) = weights(b, site, 1, dims)?;
    let mut arguments = vec![eta, last(b, cutpoints, axis, dims)];
    arguments.extend(sigma);
    let draw = match form {
        Structured::OrderedProbit => Draw::OrderedProbit,
        _ => Draw::OrderedLogistic,
    };
    let drawing = Drawing {
        draw,
        arguments,
        outer: dims,
        event: &[],
        observed,
    };
    b.draw(site.s, drawing);
    Ok(())
}
