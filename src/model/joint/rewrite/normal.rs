//! The density of a block as a function of its sums, and what was integrated out given the rest.
//!
//! Rows are y = D b + a v + noise of scale σ (times known factors), with group effects
//! v_j = τ_j z_j, z_j standard normal, and coefficients b with prior N(m, t²). With A_j = Σ a² over
//! the rows of group j, P_j = 1 + A_j τ_j²/σ² and the sums of [`super::gram`],
//!
//!   M = within/σ² + Σ_j A_j f̄_j f̄_jᵀ/(σ² P_j),    ln p(y | b, ...) = −½ fᵀM f − N ln σ − ½ Σ ln P_j,
//!
//! f = (−b, 1). With b = t ζ, ζ ~ N(δ, I), δ = m/t, and h = M_by less what the sampled columns
//! explain, Λ = I + t M_bb t = L Lᵀ and u = L⁻¹(t h + δ),
//!
//!   ln p(y | ...) = −½ (M_yy + |δ|² − |u|²) − Σ ln L_kk − N ln σ − ½ Σ ln P_j.
//!
//! Given all that, ζ = L⁻ᵀ(u + ε) and z_j = (A_j τ_j/σ²) ē_j/P_j + ε_j/√P_j, with ē_j the mean of
//! the residuals and ε standard normal. Lindley and Smith (1972), "Bayes estimates for the linear
//! model".

use super::find::{Block, Columns, Normal};
use super::gram::Sums;
use super::small;
use crate::dist::Real;
use fitzroy_graph::{DimId, Expr as Value, NodeId, Op, Scope};
use std::f64::consts::PI;

pub(super) fn lit<'g>(x: f64) -> Value<'g> {
    Value::lit(x)
}

/// What takes the place of a block.
pub(super) struct Rewritten<'g> {
    /// ln p(y | what stays).
    pub(super) density: Value<'g>,
    /// ln p(what was integrated out | what stays, y), in its coordinates.
    pub(super) conditional: Value<'g>,
    /// Coordinates that were integrated out, as functions of standard normal numbers that stand
    /// in their place.
    pub(super) drawn: Vec<(NodeId, Value<'g>)>,
}

/// The marginal of the coefficients, and how they are drawn.
pub(super) struct Coefficients<'g> {
    /// fᵀM f with the integrated coefficients at their best, Σ ln L_kk included.
    pub(super) quadratic: Value<'g>,
    /// Σ ln L_kk.
    pub(super) log_factor: Value<'g>,
    /// ζ for each integrated part of the columns, flat over its dims.
    pub(super) standard: Vec<Value<'g>>,
    /// ē_j: y less what all coefficients explain, group by group.
    pub(super) residual: Option<Value<'g>>,
}

/// A block, its sums and what they depend on.
pub(super) struct Writer<'a, 'g> {
    pub(super) scope: &'g Scope,
    pub(super) block: &'a Block,
    pub(super) sums: &'a Sums,
    /// 1/σ².
    pub(super) precision: Value<'g>,
    /// 1/(σ² P) for each class, over the dim of classes; empty of dims where there is one class.
    pub(super) weights: Option<Value<'g>>,
    pub(super) groups: Option<DimId>,
}

/// True where `scale` is one number for all elements.
pub(super) fn uniform(scope: &Scope, scale: NodeId) -> Option<NodeId> {
    scope.with(|g| {
        let node = g.node(scale);
        match node.op {
            _ if node.dims.is_empty() => Some(scale),
            Op::Broadcast if g.dims(node.inputs[0]).is_empty() => Some(node.inputs[0]),
            _ => None,
        }
    })
}

/// Whether all effects of the group have the same prior spread.
pub(super) fn alike(scope: &Scope, block: &Block) -> bool {
    let Some(normal) = block.group.as_ref().and_then(|g| g.integrated.as_ref()) else {
        return true;
    };
    match normal.scale {
        Some(scale) => uniform(scope, scale).is_some(),
        None => normal.prior.iter().all(|p| p.1 == normal.prior[0].1),
    }
}

/// The prior spread of the group effects: one number, or one for each over `dim`.
fn spread<'g>(scope: &'g Scope, normal: &Normal, dim: DimId, name: &str) -> Value<'g> {
    let by_group = |values: Vec<f64>| match values.iter().all(|v| *v == values[0]) {
        true => lit(values[0]),
        false => scope.bound_data(&format!("{name}: spread"), &[dim], &values),
    };
    match normal.scale {
        Some(scale) => match uniform(scope, scale) {
            Some(one) => scope.expr(one),
            None => flat(scope, scope.expr(scale), dim),
        },
        None => by_group(normal.prior.iter().map(|p| p.1).collect()),
    }
}

/// The same elements under other dims.
pub(super) fn relabelled<'g>(scope: &'g Scope, value: Value<'g>, dims: &[DimId]) -> Value<'g> {
    let node = scope.node(value);
    scope.expr(scope.with(|g| g.relabel(node, dims)))
}

/// The same elements under one dim.
pub(super) fn flat<'g>(scope: &'g Scope, value: Value<'g>, dim: DimId) -> Value<'g> {
    relabelled(scope, value, &[dim])
}

/// a·b summed over `over`.
pub(super) fn contract<'g>(scope: &'g Scope, a: Value<'g>, b: Value<'g>, over: DimId) -> Value<'g> {
    let (a, b) = (scope.node(a), scope.node(b));
    let product = scope.with(|g| g.contract(a, b, &[over]));
    scope.expr(product.expect("both have the dim"))
}

/// The identity over `dim` and its twin.
pub(super) fn identity<'g>(scope: &'g Scope, dims: [DimId; 2], name: &str) -> Value<'g> {
    let n = scope.with(|g| g.size(dims[0]));
    let values: Vec<f64> = (0..n * n).map(|i| f64::from(i % (n + 1) == 0)).collect();
    scope.bound_data(&format!("{name}: identity"), &dims, &values)
}

/// Writes the density of `block` over its sums, and the draws of what is integrated out.
pub(super) fn write<'g>(scope: &'g Scope, block: &Block, name: &str) -> Rewritten<'g> {
    let mut block = block.clone();
    centre_group_prior(&mut block);
    let sums = Sums::new(&block, alike(scope, &block));
    // One number, which may lie over dims of one place.
    let sigma = block.sigma.map(|s| relabelled(scope, scope.expr(s), &[]));
    let (precision, log_sigma) = match sigma {
        Some(s) => ((s * s).unary(fitzroy_graph::Unary::Recip), s.ln()),
        None => (lit(1.0), lit(0.0)),
    };
    let n = sums.n as f64;
    let groups = block.group.as_ref();
    let dim = groups.map(|g| scope.dim(&format!("{name}: groups"), g.len));
    let effects = groups.and_then(|g| g.integrated.as_ref());
    let tau = effects.zip(dim).map(|(e, dim)| spread(scope, e, dim, name));
    let ratio = tau.map(|t| t * t * precision);
    let (weights, log_shrinkage) = match ratio {
        Some(ratio) => by_class(scope, &sums, ratio, precision, name),
        None => (None, lit(0.0)),
    };
    let writer = Writer {
        scope,
        block: &block,
        sums: &sums,
        precision,
        weights,
        groups: dim,
    };
    let of = match sums.width <= small::WIDEST {
        true => small::coefficients(&writer, name),
        false => super::wide::coefficients(&writer, name),
    };
    let constant = -sums.log_spread - 0.5 * n * libm::log(2.0 * PI);
    let density = lit(constant)
        - lit(n) * log_sigma
        - lit(0.5) * (of.quadratic + log_shrinkage)
        - of.log_factor;
    let mut out = Rewritten {
        density,
        conditional: of.log_factor + lit(0.5) * log_shrinkage,
        drawn: Vec::new(),
    };
    let mut at = 0;
    let mut standard = of.standard.iter();
    for part in block.columns.iter().filter(|c| c.integrated.is_some()) {
        let standard = *standard.next().expect("each part has one");
        let (value, log_t) = coefficient(scope, part, &sums.shift[at..], standard, name);
        let node = part.integrated.as_ref().expect("they were picked").node;
        out.conditional = out.conditional + noise(scope, node) - lit(log_t);
        out.drawn.push((node, value));
        at += part.len;
    }
    if let (Some(dim), Some(residual)) = (dim, of.residual) {
        writer.write_groups(&mut out, (dim, residual), tau.zip(ratio), name);
    }
    out
}

impl<'g> Writer<'_, 'g> {
    /// Adds how group effects are drawn that were integrated out, whose spread and τ²/σ² are given, or
    /// the density of others. `residual` is over the dim of groups.
    fn write_groups(
        &self,
        out: &mut Rewritten<'g>,
        (dim, residual): (DimId, Value<'g>),
        spread: Option<(Value<'g>, Value<'g>)>,
        name: &str,
    ) {
        let (scope, precision) = (self.scope, self.precision);
        let group = self.block.group.as_ref().expect("a dim means groups");
        let information = &self.sums.groups.information;
        let by_group = scope.bound_data(&format!("{name}: information"), &[dim], information);
        match &group.integrated {
            Some(effects) => {
                let (tau, ratio) = spread.expect("integrated effects have a spread");
                let shrunk = lit(1.0) + by_group * ratio;
                let epsilon = flat(scope, scope.expr(effects.node), dim);
                let mean = by_group * (tau * precision) * residual / shrunk;
                let z = mean + epsilon / shrunk.sqrt();
                let (value, log_t) = effect(scope, effects, z, dim, name);
                out.conditional = out.conditional + noise(scope, effects.node) - lit(log_t);
                out.drawn.push((effects.node, value));
            }
            None => {
                let distance = residual - flat(scope, scope.expr(group.leaf), dim);
                let sum = (by_group * distance * distance).sum_all();
                out.density = out.density - lit(0.5) * precision * sum;
            }
        }
    }
}

/// Moves known prior means of group effects into the data.
fn centre_group_prior(block: &mut Block) {
    let Some(group) = &block.group else { return };
    let Some(normal) = &group.integrated else {
        return;
    };
    if normal.scale.is_some() {
        return;
    }
    let rows = group.at.iter().zip(&group.by);
    for (y, (&j, &a)) in block.y.iter_mut().zip(rows) {
        *y -= a * normal.prior[j as usize].0;
    }
}

/// 1/(σ² P) for each class, and Σ ln P over the groups. `ratio` is τ²/σ².
fn by_class<'g>(
    scope: &'g Scope,
    sums: &Sums,
    ratio: Value<'g>,
    precision: Value<'g>,
    name: &str,
) -> (Option<Value<'g>>, Value<'g>) {
    if let [class] = &sums.classes[..] {
        let shrunk = lit(1.0) + lit(class.information) * ratio;
        return (
            Some(precision / shrunk),
            lit(class.count) * shrunk.ln().sum_all(),
        );
    }
    if sums.classes.is_empty() {
        return (None, lit(0.0));
    }
    let per_group = !ratio.dims().is_empty();
    let dim = match per_group {
        true => ratio.dims()[0],
        false => scope.dim(&format!("{name}: classes"), sums.classes.len()),
    };
    let of = |what: &str, values: Vec<f64>| {
        scope.bound_data(&format!("{name}: {what} by class"), &[dim], &values)
    };
    let all = sums.classes.iter();
    let information = of("information", all.clone().map(|c| c.information).collect());
    let counts = of("count", all.map(|c| c.count).collect());
    let shrunk = lit(1.0) + information * ratio;
    (Some(precision / shrunk), (counts * shrunk.ln()).sum_all())
}

/// Arrays one after the other, over `dim`.
pub(super) fn joined<'g>(scope: &'g Scope, parts: &[(Value<'g>, usize)], dim: DimId) -> Value<'g> {
    let (mut sum, mut at) = (lit(0.0), 0);
    for &(value, len) in parts {
        let node = scope.node(value);
        let placed = scope.with(|g| {
            let part = g.slice_dim(dim, len);
            let flat = g.relabel(node, &[part]);
            g.unslice(flat, part, dim, at)
        });
        sum = sum + scope.expr(placed);
        at += len;
    }
    sum
}

/// ln of the standard normal density of the numbers in the place of `node`.
pub(super) fn noise<'g>(scope: &'g Scope, node: NodeId) -> Value<'g> {
    let e = scope.expr(node);
    let n = scope.with(|g| g.len(node)) as f64;
    lit(-0.5) * (e * e).sum_all() - lit(0.5 * n * libm::log(2.0 * PI))
}

/// The coordinate of a part of the columns from its ζ, and Σ ln |d coordinate/dζ|.
fn coefficient<'g>(
    scope: &'g Scope,
    part: &Columns,
    shift: &[f64],
    standard: Value<'g>,
    name: &str,
) -> (Value<'g>, f64) {
    let normal = part.integrated.as_ref().expect("it is integrated out");
    let dims = scope.with(|g| g.dims(normal.node).to_vec());
    let own = scope.node(standard);
    let standard = scope.expr(scope.with(|g| g.relabel(own, &dims)));
    if normal.scale.is_some() {
        return (standard, 0.0);
    }
    let known = |what: &str, values: Vec<f64>| match values[..] {
        [x] => lit(x).broadcast(scope, &dims),
        _ => scope.bound_data(
            &format!("{name}: {what} of %{}", normal.node.index()),
            &dims,
            &values,
        ),
    };
    let t = known("spread", normal.prior.iter().map(|p| p.1).collect());
    let shift = known("shift", shift[..part.len].to_vec());
    let log_t = normal.prior.iter().map(|p| libm::log(p.1)).sum();
    (shift + t * standard, log_t)
}

/// The coordinates of group effects from their z, and Σ ln |d coordinate/dz|.
fn effect<'g>(
    scope: &'g Scope,
    normal: &Normal,
    z: Value<'g>,
    dim: DimId,
    name: &str,
) -> (Value<'g>, f64) {
    let dims = scope.with(|g| g.dims(normal.node).to_vec());
    let back = |v: Value<'g>| {
        let node = scope.node(v.broadcast(scope, &[dim]));
        scope.expr(scope.with(|g| g.relabel(node, &dims)))
    };
    if normal.scale.is_some() {
        return (back(z), 0.0);
    }
    let known = |what: &str, values: Vec<f64>| {
        scope.bound_data(&format!("{name}: {what} of effects"), &[dim], &values)
    };
    let m = known("mean", normal.prior.iter().map(|p| p.0).collect());
    let t = known("sd", normal.prior.iter().map(|p| p.1).collect());
    let log_t = normal.prior.iter().map(|p| libm::log(p.1)).sum();
    (back(m + t * z), log_t)
}
