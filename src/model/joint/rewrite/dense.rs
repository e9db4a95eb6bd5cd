//! Normal coefficients of a normal likelihood in front of which stands a matrix with a Cholesky factor that
//! parameters make: latent Gaussian processes, and coefficients beside them. The noise may differ from row
//! to row.
//!
//! Rows are y = c + D b + noise of scale σ_i, b_k ~ N(m_k, t_k²). With b = m + t ζ, the rows
//! r = (y − c − D m)/σ and A = D t/σ, Λ = I + AᵀA = L Lᵀ and u = L⁻¹ Aᵀ r,
//!
//!   ln p(y | ...) = −½ (|r|² − |u|²) − Σ ln L_kk − Σ ln σ_i − ½ N ln 2π,    ζ = L⁻ᵀ(u + ε)
//!
//! with standard normal ε. Rasmussen and Williams (2006), "Gaussian processes for machine learning",
//! section 2.1.

use super::Sites;
use super::design::Search;
use super::normal::{Rewritten, contract, flat, identity, joined, lit, noise, relabelled};
use crate::dist::Real;
use fitzroy_graph::{DimId, Expr as Value, Graph, NodeId, Op, Scope};
use std::collections::HashMap;

/// Most coefficients that are integrated out together.
const MOST_TOGETHER: usize = 512;
/// Most products of one gradient.
const MOST_PRODUCTS: usize = 1 << 28;

/// Coefficients that are integrated out.
#[derive(Clone, Debug)]
pub(super) struct Coefficients {
    /// Index among the latents.
    latent: usize,
    node: NodeId,
    /// Rows, then coefficients.
    matrix: NodeId,
    len: usize,
    /// Known means and standard deviations of their priors.
    mean: Vec<f64>,
    sd: Vec<f64>,
}

/// A normal likelihood with coefficients to integrate out.
#[derive(Clone, Debug)]
pub(super) struct Dense {
    pub(super) term: usize,
    pub(super) rows: usize,
    row: DimId,
    y: NodeId,
    mean: NodeId,
    sd: NodeId,
    pub(super) coefficients: Vec<Coefficients>,
}

impl Sites<'_, '_> {
    /// The coefficients of normal term `which` that can be integrated out by a matrix; none if there are none.
    pub(super) fn dense(&self, which: usize) -> Option<Dense> {
        let normal = &self.normals[which];
        let dims = self.scope.with(|g| g.dims(normal.y).to_vec());
        let [row] = dims[..] else { return None };
        self.scope.known(self.scope.expr(normal.y))?;
        if !self.scope.with(|g| has_factor(g, normal.mean)) {
            return None;
        }
        let rows = self.scope.with(|g| g.size(row));
        let mut found = Dense {
            term: normal.term,
            rows,
            row,
            y: normal.y,
            mean: normal.mean,
            sd: normal.sd,
            coefficients: Vec::new(),
        };
        let mut order: Vec<usize> = (0..self.latents.len()).collect();
        order.sort_by_key(|&l| self.scope.with(|g| g.len(self.latents[l].node)));
        for latent in order {
            let Some(more) = self.coefficients(latent, &found) else {
                continue;
            };
            found.coefficients.push(more);
            if !self.is_small(&found) {
                found.coefficients.pop();
            }
        }
        // A spline of 16 coefficients whose noise is modelled, too, took as long as before, and more
        // trajectories diverged in what stayed.
        let made = |c: &Coefficients| self.scope.with(|g| has_factor(g, c.matrix));
        found.coefficients.iter().any(made).then_some(found)
    }

    /// A latent as coefficients of `found`, if it is linear in its mean and stands nowhere else.
    fn coefficients(&self, latent: usize, found: &Dense) -> Option<Coefficients> {
        let scope = self.scope;
        let one = &self.latents[latent];
        if self.allowed.get(one.parameter) != Some(&true) {
            return None;
        }
        let (own, depends) = scope.with(|g| (g.dims(one.node).to_vec(), g.dependents(&[one.node])));
        let on = |node: NodeId| depends.get(node.index()) == Some(&true);
        let len = scope.with(|g| g.len_of(&own));
        if own.len() > 1 {
            return None;
        }
        let known = |node: NodeId| {
            let all = scope.known(scope.expr(node))?;
            Some(match all.len() {
                1 => vec![all[0]; len],
                _ => all,
            })
        };
        let (mean, sd) = (known(one.mean)?, known(one.sd)?);
        let is_valid = mean.iter().all(|m| m.is_finite());
        if !is_valid || !sd.iter().all(|t| *t > 0.0 && t.is_finite()) {
            return None;
        }
        let terms = self.terms.iter().enumerate();
        let mut others = terms.filter(|(t, _)| *t != found.term && *t != one.term);
        let mut plates = self.plates.iter().filter(|p| p.parameter != one.parameter);
        let elsewhere = others.any(|(_, t)| on(t.sum))
            || on(found.sd)
            || !on(found.mean)
            || plates.any(|p| on(p.location) || on(p.scale))
            || found.coefficients.iter().any(|c| on(c.matrix));
        if elsewhere {
            return None;
        }
        let columns = scope.dim(&format!("coefficients %{}", one.node.index()), len);
        let search = Search {
            scope,
            z: one.node,
            depends: &depends,
            columns,
        };
        let matrix = scope.node(search.matrix(found.mean, &[found.row])?);
        // Those that were found before stand in what multiplies them alone.
        let depends = scope.with(|g| {
            let before: Vec<NodeId> = found.coefficients.iter().map(|c| c.node).collect();
            g.dependents(&before)[matrix.index()]
        });
        (!depends).then_some(Coefficients {
            latent,
            node: one.node,
            matrix,
            len,
            mean,
            sd,
        })
    }

    /// Whether a gradient with all these coefficients costs little enough.
    fn is_small(&self, found: &Dense) -> bool {
        let width = found.width();
        width <= MOST_TOGETHER && found.rows * width * width <= MOST_PRODUCTS
    }
}

/// Whether a Cholesky factor that parameters make goes into a matrix: a gradient then costs the cube of its rows
/// as the model is written, too.
fn has_factor(graph: &Graph, matrix: NodeId) -> bool {
    let needed = graph.needed(&[matrix]);
    let mut nodes = graph.node_ids().filter(|n| needed[n.index()]);
    nodes.any(|n| graph.node(n).op == Op::Cholesky && graph.varies(n))
}

impl Dense {
    /// The latents that are integrated out.
    pub(super) fn latents(&self) -> Vec<usize> {
        self.coefficients.iter().map(|c| c.latent).collect()
    }

    /// Numbers that are integrated out.
    pub(super) fn width(&self) -> usize {
        self.coefficients.iter().map(|c| c.len).sum()
    }

    /// Lets the shortest coefficients stay.
    pub(super) fn keep_one(&mut self) {
        let shortest = (0..self.coefficients.len()).min_by_key(|&k| self.coefficients[k].len);
        shortest.map(|k| self.coefficients.remove(k));
    }
}

/// Writes the density of `dense`, and the draws of its coefficients.
pub(super) fn write<'g>(scope: &'g Scope, dense: &Dense, name: &str) -> Rewritten<'g> {
    let row = dense.row;
    let dim = scope.dim(&format!("{name}: coefficients"), dense.width());
    let twin = scope.with(|g| g.twin(dim));
    let node = |v: Value<'g>| scope.node(v);
    let priors = Priors::new(scope, dense, name);
    let precise = scope.expr(dense.sd).unary(fitzroy_graph::Unary::Recip);
    let rest = centred(scope, dense, &priors);
    let rest = ((scope.expr(dense.y) - rest) * precise).broadcast(scope, &[row]);
    let matrix = matrix(scope, dense, &priors, dim) * precise;
    let matrix = matrix.broadcast(scope, &[row, dim]);
    let turned = relabelled(scope, matrix, &[row, twin]);
    let identity = identity(scope, [dim, twin], name);
    let lambda = node(contract(scope, matrix, turned, row) + identity);
    let target = node(contract(scope, matrix, rest, row).broadcast(scope, &[dim]));
    let factor = scope.with(|g| g.cholesky(lambda));
    let u = scope.expr(scope.with(|g| g.tri_solve(factor, target, false)));
    let log_factor = scope
        .expr(scope.with(|g| g.diagonal(factor)))
        .ln()
        .sum_all();
    let log_sd = scope.expr(dense.sd).broadcast(scope, &[row]).ln().sum_all();
    let constant = -0.5 * dense.rows as f64 * libm::log(2.0 * std::f64::consts::PI);
    let density = lit(constant)
        - lit(0.5) * ((rest * rest).sum_all() - (u * u).sum_all())
        - log_factor
        - log_sd;
    let parts: Vec<(Value<'g>, usize)> = (dense.coefficients.iter())
        .map(|c| (scope.expr(c.node), c.len))
        .collect();
    let moved = node(u + joined(scope, &parts, dim));
    let zeta = scope.with(|g| g.tri_solve(factor, moved, true));
    let (mut drawn, mut conditional, mut at) = (Vec::new(), log_factor, 0);
    for (k, one) in dense.coefficients.iter().enumerate() {
        let dims = scope.with(|g| g.dims(one.node).to_vec());
        let own = scope.with(|g| {
            let cut = g.slice(zeta, dim, at, one.len).expect("it is inside");
            g.relabel(cut, &dims)
        });
        at += one.len;
        let log_sd: f64 = one.sd.iter().map(|t| libm::log(*t)).sum();
        conditional = conditional + noise(scope, one.node) - lit(log_sd);
        drawn.push((one.node, priors.mean[k] + priors.sd[k] * scope.expr(own)));
    }
    Rewritten {
        density,
        conditional,
        drawn,
    }
}

/// Means and standard deviations of the coefficients, over their dims.
struct Priors<'g> {
    mean: Vec<Value<'g>>,
    sd: Vec<Value<'g>>,
}

impl<'g> Priors<'g> {
    fn new(scope: &'g Scope, dense: &Dense, name: &str) -> Priors<'g> {
        let array = |what: &str, node: NodeId, values: &[f64]| {
            let dims = scope.with(|g| g.dims(node).to_vec());
            match values.iter().all(|v| *v == values[0]) {
                true => lit(values[0]).broadcast(scope, &dims),
                false => scope.bound_data(
                    &format!("{name}: {what} of %{}", node.index()),
                    &dims,
                    values,
                ),
            }
        };
        let all = dense.coefficients.iter();
        Priors {
            mean: all
                .clone()
                .map(|c| array("mean", c.node, &c.mean))
                .collect(),
            sd: all.map(|c| array("sd", c.node, &c.sd)).collect(),
        }
    }
}

/// c + D m: the mean of the rows with all coefficients at the mean of their prior.
fn centred<'g>(scope: &'g Scope, dense: &Dense, priors: &Priors<'g>) -> Value<'g> {
    let all = dense.coefficients.iter().zip(&priors.mean);
    let replaced: HashMap<NodeId, NodeId> = all.map(|(c, m)| (c.node, scope.node(*m))).collect();
    let mean = scope.with(|g| g.substitute(&[dense.mean], &replaced))[0];
    scope.expr(mean)
}

/// D t over rows and `dim`.
fn matrix<'g>(scope: &'g Scope, dense: &Dense, priors: &Priors<'g>, dim: DimId) -> Value<'g> {
    let (mut sum, mut at) = (lit(0.0), 0);
    for (one, sd) in dense.coefficients.iter().zip(&priors.sd) {
        // One vector alone fills the whole dim.
        let part = match one.len == dense.width() {
            true => dim,
            false => scope.with(|g| g.slice_dim(dim, one.len)),
        };
        let own = relabelled(scope, scope.expr(one.matrix), &[dense.row, part]);
        let scaled = scope.node(own * flat(scope, *sd, part));
        let own = scope.with(|g| g.unslice(scaled, part, dim, at));
        sum = sum + scope.expr(own);
        at += one.len;
    }
    sum
}
