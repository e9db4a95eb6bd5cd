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
use super::coefficients::{Priors, Regression};
use super::normal::{Rewritten, contract, identity, joined, lit, noise, relabelled};
use crate::dist::Real;
use fitzroy_graph::{Expr as Value, Graph, NodeId, Op, Scope};

/// Most coefficients that are integrated out together.
const MOST_TOGETHER: usize = 512;
/// Most products of one gradient.
const MOST_PRODUCTS: usize = 1 << 28;

impl Sites<'_, '_> {
    /// The coefficients of normal term `which` that can be integrated out by a matrix; none if there are none.
    pub(super) fn dense(&self, which: usize) -> Option<Regression> {
        let mut found = self.regression(which)?;
        let is_vector = found.rows.len() == 1;
        if !is_vector || !self.scope.with(|g| has_factor(g, found.mean)) {
            return None;
        }
        // A gradient with all these coefficients costs little enough.
        let is_small = |found: &Regression| {
            let width = found.width();
            width <= MOST_TOGETHER && found.n_rows * width * width <= MOST_PRODUCTS
        };
        self.add_coefficients(&mut found, &[], is_small);
        // A spline of 16 coefficients whose noise is modelled, too, took as long as before, and more
        // trajectories diverged in what stayed.
        let mut all = found.coefficients.iter();
        let made = all.any(|c| self.scope.with(|g| has_factor(g, c.matrix)));
        made.then_some(found)
    }
}

/// Whether a Cholesky factor that parameters make goes into a matrix: a gradient then costs the cube of its rows
/// as the model is written, too.
fn has_factor(graph: &Graph, matrix: NodeId) -> bool {
    let needed = graph.needed(&[matrix]);
    let mut nodes = graph.node_ids().filter(|n| needed[n.index()]);
    nodes.any(|n| graph.node(n).op == Op::Cholesky && graph.varies(n))
}

/// Writes the density of `dense`, and the draws of its coefficients.
pub(super) fn write<'g>(scope: &'g Scope, dense: &Regression, name: &str) -> Rewritten<'g> {
    let row = dense.rows[0];
    let dim = scope.dim(&format!("{name}: coefficients"), dense.width());
    let twin = scope.with(|g| g.twin(dim));
    let node = |v: Value<'g>| scope.node(v);
    let priors = Priors::new(scope, dense, name);
    let precise = scope.expr(dense.sd).unary(fitzroy_graph::Unary::Recip);
    let rest = priors.centred(scope, dense, &[]);
    let rest = ((scope.expr(dense.y) - rest) * precise).broadcast(scope, &[row]);
    let matrix = priors.matrix(scope, dense, dim, 0) * precise;
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
    let constant = -0.5 * dense.n_rows as f64 * libm::log(2.0 * std::f64::consts::PI);
    let density = lit(constant)
        - lit(0.5) * ((rest * rest).sum_all() - (u * u).sum_all())
        - log_factor
        - log_sd;
    let parts: Vec<(Value<'g>, usize)> = (dense.coefficients.iter())
        .map(|c| (scope.expr(c.node), c.len))
        .collect();
    let moved = node(u + joined(scope, &parts, dim));
    let zeta = scope.with(|g| g.tri_solve(factor, moved, true));
    let mut conditional = log_factor;
    for (one, log_sd) in dense.coefficients.iter().zip(&priors.log_sd) {
        conditional = conditional + noise(scope, one.node) - lit(*log_sd);
    }
    Rewritten {
        density,
        conditional,
        drawn: priors.drawn(scope, dense, (zeta, dim)),
    }
}
