//! `ordered`: a parameter whose elements increase along its last dim.

use super::super::build::Build;
use super::super::law::Law;
use super::site::{Vector, lit};
use crate::Result;
use crate::dist::Real;
use crate::model::ast::Sampled;
use fitzroy_graph::{DimId, Expr as Value};

/// x₀ = u₀ (or lower + e^u₀ where the distribution has a lower end), xᵢ = xᵢ₋₁ + e^uᵢ.
///
/// The density is the product of the densities of the elements, as if they were independent,
/// restricted to increasing vectors and not divided by the probability of those, 1/K! for equal
/// ones; it is a constant unless the arguments depend on parameters.
pub(super) fn parameter<'g>(
    b: &mut Build<'_, 'g>,
    s: &Sampled,
    dims: &[DimId],
    law: &Law<'g>,
) -> Result<()> {
    let (&event, outer) = dims.split_last().expect("checked to have a dim");
    let ends = law.ends();
    if ends.upper.is_some() {
        let message = "`ordered` needs a distribution without an upper end";
        return Err(b.model.error(s.distribution.span, message));
    }
    let v = Vector {
        outer: outer.to_vec(),
        event,
        k: b.scope.with(|g| g.size(event)),
    };
    let u = b.coordinates_of(s, dims);
    let mut first = vec![0.0; v.k];
    first[0] = 1.0;
    let tag = format!("first of {} at {}", s.name, s.name.span.start);
    let first = b.scope.bound_data(&tag, &[event], &first);
    let (steps, log_slope) = match ends.lower {
        Some(_) => (u.exp(), u),
        None => (first.select(u, u.exp()), first.select(lit(0.0), u)),
    };
    let node = b.scope.node(steps.broadcast(b.scope, dims));
    let mut x = b
        .scope
        .expr(b.scope.with(|g| g.cum_sum(node, event, false)));
    if let Some(lower) = ends.lower {
        x = (x + lower).broadcast(b.scope, dims);
    }
    let x = b.or_given(s, x, |b, x| vec![coordinates(b, &v, x, ends.lower)]);
    let density = b.prior_density(s, law, x, None)?;
    b.define(s, x, density + log_slope, dims);
    Ok(())
}

/// The u of given x: u₀ = x₀ or ln(x₀ − lower), uᵢ = ln(xᵢ − xᵢ₋₁).
fn coordinates<'g>(
    b: &Build<'_, 'g>,
    v: &Vector,
    x: Value<'g>,
    lower: Option<Value<'g>>,
) -> Value<'g> {
    let first = b.element(x, v.event, 0);
    let first = lower.map_or(first, |lower| (first - lower).ln());
    let start = b.place_one(v, first, 0);
    if v.k == 1 {
        return start;
    }
    let step = b.slice(x, v.event, 1, v.k - 1) - b.slice(x, v.event, 0, v.k - 1);
    start + b.place(v, step.ln(), 1)
}
