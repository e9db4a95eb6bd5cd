//! Vectors with heavy tails: MvStudentT.

use super::super::build::Build;
use super::super::{Draw, observed::Observed};
use super::normal::{
    Moments, check_finite, define_moved, log_diagonal, moments, of_vectors, squares,
};
use super::site::{Site, Vector};
use crate::Result;
use crate::dist::{ln_mv_student_norm, mv_student_kernel};
use crate::model::ast::Centring;
use fitzroy_graph::Expr as Value;

/// Degrees of freedom, one number for each vector.
fn freedom<'g>(b: &mut Build<'_, 'g>, site: &Site<'_>, v: &Vector) -> Result<Value<'g>> {
    b.given(site, 0, &v.outer, &v.outer)
}

/// x = mu + L z of a standard z with the same tails, or itself if `@ centred`.
pub(super) fn parameter(b: &mut Build<'_, '_>, site: &Site<'_>) -> Result<()> {
    let v = b.vector(site, 1)?;
    let nu = freedom(b, site, &v)?;
    let Moments { mean, factor } = moments(b, site, &v, 1)?;
    let u = b.coordinates_of(site.s, &v.dims());
    let norm = ln_mv_student_norm(nu, v.k);
    if site.s.centring == Centring::Centred {
        let u = b.or_given(site.s, u, |_, x| vec![x]);
        let kernel = mv_student_kernel(squares(b, factor, u - mean, &v), nu, v.k);
        b.define(site.s, u, norm + kernel - log_diagonal(b, factor), &v.outer);
        return Ok(());
    }
    let density = norm + mv_student_kernel((u * u).sum_over(&[v.event]), nu, v.k);
    define_moved(b, site, &v, Moments { mean, factor }, (u, density))
}

/// ln p of each vector of `y`.
pub(super) fn rows<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    v: &Vector,
    y: Value<'g>,
) -> Result<Value<'g>> {
    let nu = freedom(b, site, v)?;
    let Moments { mean, factor } = moments(b, site, v, 1)?;
    let kernel = mv_student_kernel(squares(b, factor, y - mean, v), nu, v.k);
    Ok(kernel + (ln_mv_student_norm(nu, v.k) - log_diagonal(b, factor)))
}

/// Observed vectors.
pub(super) fn observed<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    y: Value<'g>,
    observed: Observed<'_>,
) -> Result<()> {
    let v = b.vector(site, 1)?;
    check_finite(b, observed)?;
    let rows = rows(b, site, &v, y)?;
    b.vector_term(observed, &v.outer, rows, None);
    draw(b, site, true)
}

/// How one is drawn.
pub(super) fn drawing<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    v: &Vector,
) -> Result<(Draw, Vec<Value<'g>>)> {
    let nu = freedom(b, site, v)?;
    let Moments { mean, factor } = moments(b, site, v, 1)?;
    Ok((Draw::MvStudentT, vec![nu, of_vectors(b, mean, v), factor]))
}

pub(super) fn draw(b: &mut Build<'_, '_>, site: &Site<'_>, observed: bool) -> Result<()> {
    let v = b.vector(site, 1)?;
    let (draw, arguments) = drawing(b, site, &v)?;
    b.draw_vector(site, &v, draw, arguments, observed);
    Ok(())
}
