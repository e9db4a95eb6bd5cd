//! Mixtures of vectors: each row is from one of several distributions.

use super::super::build::Build;
use super::super::law::{Of, log_sum_exp};
use super::super::{Draw, observed::Observed};
use super::normal::check_finite;
use super::site::{Site, Vector};
use super::{normal, student};
use crate::Result;
use crate::dist::{Form, Structured};
use crate::model::families::{as_distribution, resolve};
use fitzroy_graph::Expr as Value;

/// The weights with their logarithms, and a distribution for each.
struct Parts<'g, 'a> {
    weights: Vec<(Value<'g>, Value<'g>)>,
    sites: Vec<(Structured, Site<'a>)>,
}

fn parts<'g, 'a>(b: &mut Build<'_, 'g>, site: &Site<'a>, v: &Vector) -> Result<Parts<'g, 'a>> {
    let first = site.given(1).expect("components were checked to be given");
    let mut sites = Vec::new();
    for e in std::iter::once(first).chain(site.resolved.more.iter().copied()) {
        let call = as_distribution(e).expect("the kind of the argument was checked");
        let resolved = resolve(b.model.text(), call)?;
        match resolved.form {
            Form::Structured(
                form @ (Structured::MvNormal
                | Structured::MvNormalCholesky
                | Structured::MvStudentT
                | Structured::MvStudentTCholesky),
            ) => sites.push((form, Site::new(site.s, resolved, &site.dims))),
            _ => {
                let message = format!(
                    "vectors are mixed of `MvNormal` and `MvStudentT`, and `{}` is neither",
                    call.name
                );
                return Err(b.model.error(call.span, message));
            }
        }
    }
    let w = site.given(0).expect("weights were checked to be given");
    let of = Of {
        name: &site.s.name,
        dims: &v.outer,
    };
    let weights = b.weights(&site.s.distribution, w, sites.len(), of)?;
    Ok(Parts { weights, sites })
}

/// ln Σ w·p of each vector of `y`.
fn rows<'g>(
    b: &mut Build<'_, 'g>,
    parts: &Parts<'g, '_>,
    v: &Vector,
    y: Value<'g>,
) -> Result<Value<'g>> {
    let mut terms = Vec::new();
    for ((form, site), (_, log_weight)) in parts.sites.iter().zip(&parts.weights) {
        let density = match form {
            Structured::MvNormal | Structured::MvNormalCholesky => normal::rows(b, site, v, y)?,
            _ => student::rows(b, site, v, y)?,
        };
        terms.push(*log_weight + density);
    }
    Ok(log_sum_exp(&terms))
}

/// A vector that is sampled as itself.
pub(super) fn parameter(b: &mut Build<'_, '_>, site: &Site<'_>) -> Result<()> {
    let v = b.vector(site, 1)?;
    let parts = parts(b, site, &v)?;
    let u = b.coordinates_of(site.s, &v.dims());
    let u = b.or_given(site.s, u, |_, x| vec![x]);
    let density = rows(b, &parts, &v, u)?;
    b.define(site.s, u, density, &v.outer);
    Ok(())
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
    let parts = parts(b, site, &v)?;
    let rows = rows(b, &parts, &v, y)?;
    b.vector_term(observed, &v.outer, rows, None);
    draw(b, site, true)
}

pub(super) fn draw(b: &mut Build<'_, '_>, site: &Site<'_>, observed: bool) -> Result<()> {
    let v = b.vector(site, 1)?;
    let parts = parts(b, site, &v)?;
    let mut arguments: Vec<Value<'_>> = parts.weights.iter().map(|w| w.0).collect();
    let mut draws = Vec::new();
    for (form, site) in &parts.sites {
        let (draw, own) = match form {
            Structured::MvNormal | Structured::MvNormalCholesky => normal::drawing(b, site, &v)?,
            _ => student::drawing(b, site, &v)?,
        };
        draws.push(draw);
        arguments.extend(own);
    }
    b.draw_vector(site, &v, Draw::MixtureOfVectors(draws), arguments, observed);
    Ok(())
}
