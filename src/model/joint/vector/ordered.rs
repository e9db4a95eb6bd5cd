//! `ordered`: a parameter whose elements increase along its last dim.

use super::super::build::Build;
use super::super::law::{Ends, Law};
use super::super::sampled::ends;
use super::site::{Vector, lit};
use crate::Result;
use crate::dist::Real;
use crate::model::ast::Sampled;
use fitzroy_graph::{DimId, Expr as Value};

/// Without ends x₀ = u₀ and xᵢ = xᵢ₋₁ + e^uᵢ. With a lower end x₀ is e^u₀ above it. With an upper end
/// alone the last is e^u below it, and each e^uᵢ below the next. With both, each takes its share of what
/// the one before leaves of the way to the upper end; where all u are 0 the elements stand in equal
/// distances.
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
    let limits = b.limit_values(s, dims)?;
    let ends = ends(law, limits);
    let by_element = |end: Option<Value<'g>>| end.is_some_and(|v| v.dims().contains(&event));
    if by_element(ends.upper) || (limits.is_some() && by_element(ends.lower)) {
        let message = format!(
            "the elements of `{}` are in order, so their ends must be the same for all of them",
            s.name
        );
        return Err(b.model.error(s.distribution.span, message));
    }
    let v = Vector {
        outer: outer.to_vec(),
        event,
        k: b.scope.with(|g| g.size(event)),
    };
    let u = b.coordinates_of(s, dims);
    let (x, log_slope) = increasing(b, s, &v, ends, u);
    let x = x.broadcast(b.scope, dims);
    let x = b.or_given(s, x, |b, x| vec![coordinates(b, s, &v, x, ends)]);
    let density = b.prior_density(s, law, x, limits)?;
    b.define(s, x, density + log_slope, dims);
    Ok(())
}

/// Sums of `x` up to each element of the event dim, or from each on.
fn sums<'g>(b: &Build<'_, 'g>, v: &Vector, x: Value<'g>, from_each: bool) -> Value<'g> {
    let node = b.scope.node(x.broadcast(b.scope, &v.dims()));
    let sums = b.scope.with(|g| g.cum_sum(node, v.event, from_each));
    b.scope.expr(sums)
}

/// An array over the event dim.
fn each<'g>(
    b: &Build<'_, 'g>,
    s: &Sampled,
    v: &Vector,
    what: &str,
    f: impl Fn(usize) -> f64,
) -> Value<'g> {
    let tag = format!("{what} of {} at {}", s.name, s.name.span.start());
    let all: Vec<f64> = (0..v.k).map(f).collect();
    b.scope.bound_data(&tag, &[v.event], &all)
}

/// The u at which elements between two ends are in equal distances.
fn even<'g>(b: &Build<'_, 'g>, s: &Sampled, v: &Vector) -> Value<'g> {
    each(b, s, v, "even steps", |i| -((v.k - i) as f64).ln())
}

/// x and the logarithms of its slopes to u.
fn increasing<'g>(
    b: &Build<'_, 'g>,
    s: &Sampled,
    v: &Vector,
    ends: Ends<'g>,
    u: Value<'g>,
) -> (Value<'g>, Value<'g>) {
    match (ends.lower, ends.upper) {
        (None, None) => {
            let first = each(b, s, v, "first", |i| f64::from(u8::from(i == 0)));
            let steps = first.select(u, u.exp());
            (sums(b, v, steps, false), first.select(lit(0.0), u))
        }
        (Some(lower), None) => (sums(b, v, u.exp(), false) + lower, u),
        (None, Some(upper)) => (upper - sums(b, v, u.exp(), true), u),
        (Some(lower), Some(upper)) => {
            let u = u + even(b, s, v);
            let log_left = -sums(b, v, u.softplus(), false);
            let width = upper - lower;
            let log_slope = width.ln() + log_left - (-u).softplus();
            (upper - width * log_left.exp(), log_slope)
        }
    }
}

/// The u of given x.
fn coordinates<'g>(
    b: &Build<'_, 'g>,
    s: &Sampled,
    v: &Vector,
    x: Value<'g>,
    ends: Ends<'g>,
) -> Value<'g> {
    let between =
        |b: &Build<'_, 'g>| b.slice(x, v.event, 1, v.k - 1) - b.slice(x, v.event, 0, v.k - 1);
    if let (None, Some(upper)) = (ends.lower, ends.upper) {
        let last = b.element(x, v.event, v.k - 1);
        let start = b.place_one(v, (upper - last).ln(), v.k - 1);
        return match v.k {
            1 => start,
            _ => start + b.place(v, between(b).ln(), 0),
        };
    }
    let first = b.element(x, v.event, 0);
    let first = ends.lower.map_or(first, |lower| (first - lower).ln());
    let mut u = b.place_one(v, first, 0);
    if v.k > 1 {
        u = u + b.place(v, between(b).ln(), 1);
    }
    match ends.upper {
        None => u,
        Some(upper) => (u - (upper - x).ln() - even(b, s, v)).broadcast(b.scope, &v.dims()),
    }
}
