//! Latent series in the mean of a normal likelihood, each element of which is a multiple of the one before
//! plus normal noise: random walks and autoregressions of the first order.

use super::Sites;
use super::coefficients::Regression;
use super::innovation::innovation;
use super::normal::lit;
use super::reading::{Reading, read};
use fitzroy_graph::{DimId, Expr as Value, NodeId, Op, Scope};
use std::collections::HashMap;

/// Fewest elements of a series.
const FEWEST: usize = 3;
/// Most coefficients beside a series: each runs through all of its steps, too.
const MOST_BESIDE: usize = 8;

/// A series x_t = by_t x_(t−1) + fixed_t + scale_t u_t from x_(−1) = start, with normal u.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// Index among the latents of the parameter.
    pub(super) latent: usize,
    /// The parameter, x, and the dim of the steps, which is one of x.
    pub(super) u: NodeId,
    pub(super) x: NodeId,
    pub(super) time: DimId,
    /// All over the dims of x, but for `start`, which lacks the steps. None stands for 1.
    pub(super) by: Option<NodeId>,
    pub(super) fixed: NodeId,
    pub(super) scale: NodeId,
    pub(super) start: NodeId,
    /// Known means and standard deviations of u; none if the parameter is x itself, and u standard normal.
    pub(super) prior: Option<(Vec<f64>, Vec<f64>)>,
}

/// A normal likelihood with a series in its mean, and coefficients beside it.
#[derive(Clone, Debug)]
pub(super) struct StateSpace {
    pub(super) series: Series,
    pub(super) reading: Reading,
    pub(super) regression: Regression,
}

impl StateSpace {
    /// The latents that are integrated out.
    pub(super) fn latents(&self) -> Vec<usize> {
        let beside = self.regression.latents();
        [self.series.latent].into_iter().chain(beside).collect()
    }
}

/// A series before it is known how the rows read it: x, and what each step adds.
struct Steps<'g> {
    x: NodeId,
    time: DimId,
    by: Option<Value<'g>>,
    added: NodeId,
    start: Value<'g>,
}

impl<'g> Sites<'_, 'g> {
    /// The longest series in the mean of normal term `which` that can be integrated out, with coefficients.
    pub(super) fn state_space(&self, which: usize) -> Option<StateSpace> {
        let regression = self.regression(which)?;
        let latents = (0..self.latents.len()).filter(|&l| {
            let parameter = self.latents[l].parameter;
            self.allowed.get(parameter) == Some(&true)
        });
        let mut latents: Vec<usize> = latents.collect();
        let len = |l: &usize| self.scope.with(|g| g.len(self.latents[*l].node));
        latents.sort_by_key(|l| std::cmp::Reverse(len(l)));
        let (series, reading) = latents
            .into_iter()
            .filter(|l| len(l) >= FEWEST)
            .find_map(|latent| self.series(latent, &regression))?;
        let mut found = StateSpace {
            series,
            reading,
            regression,
        };
        found.regression.series = Some(found.series.u);
        let apart = [found.series.x, found.reading.by];
        let fits = |r: &Regression| r.width() <= MOST_BESIDE;
        self.add_coefficients(&mut found.regression, &apart, fits);
        Some(found)
    }

    /// The series that a latent makes, and how the mean of `found` reads it.
    fn series(&self, latent: usize, found: &Regression) -> Option<(Series, Reading)> {
        let scope = self.scope;
        let u = self.latents[latent].node;
        if self.stands_elsewhere(latent, found) {
            return None;
        }
        let Some(prior) = self.known_prior(latent) else {
            return self.centred_series(latent, found);
        };
        let depends = scope.with(|g| g.dependents(&[u]));
        let needed = scope.with(|g| g.needed(&[found.mean]));
        let nodes = scope.with(|g| g.node_ids());
        let inside: Vec<NodeId> = nodes
            .filter(|n| depends.get(n.index()) == Some(&true))
            .filter(|n| needed.get(n.index()) == Some(&true))
            .collect();
        inside.into_iter().find_map(|node| {
            let steps = steps(scope, node)?;
            let reading = read(scope, (steps.x, &depends), (found.mean, &found.rows))?;
            let part = innovation(scope, (u, &depends), steps.added)?;
            let dims = scope.with(|g| g.dims(steps.x).to_vec());
            let n = scope.with(|g| g.size(steps.time));
            let is_whole =
                part.axis == Some(steps.time) && part.offset == 0 && part.holds == (0..n);
            if !is_whole || n < FEWEST || scope.with(|g| g.len(steps.x) != g.len(u)) {
                return None;
            }
            let zero = lit(0.0).broadcast(scope, &scope.with(|g| g.dims(u).to_vec()));
            let without: HashMap<NodeId, NodeId> = [(u, scope.node(zero))].into_iter().collect();
            let fixed = scope.with(|g| g.substitute(&[steps.added], &without))[0];
            let over = |v: Value<'g>| scope.node(v.broadcast(scope, &dims));
            let outer: Vec<DimId> = dims.iter().copied().filter(|d| *d != steps.time).collect();
            let series = Series {
                latent,
                u,
                x: steps.x,
                time: steps.time,
                by: steps.by.map(over),
                fixed: over(scope.expr(fixed)),
                scale: over(part.by),
                start: scope.node(steps.start.broadcast(scope, &outer)),
                prior: Some(prior.clone()),
            };
            self.is_linear(&series, &reading)
                .then_some((series, reading))
        })
    }

    /// A series whose elements are parameters with a normal prior around a multiple of the one before.
    fn centred_series(&self, latent: usize, found: &Regression) -> Option<(Series, Reading)> {
        let scope = self.scope;
        let one = &self.latents[latent];
        let x = one.node;
        let depends = scope.with(|g| g.dependents(&[x]));
        let dims = scope.with(|g| g.dims(x).to_vec());
        let part = innovation(scope, (x, &depends), one.mean)?;
        let time = part.axis?;
        let n = scope.with(|g| g.size(time));
        if part.offset != -1 || part.holds != (1..n) || n < FEWEST || !dims.contains(&time) {
            return None;
        }
        let over = |v: Value<'_>| scope.node(v.broadcast(scope, &dims));
        let zero = over(lit(0.0));
        let without: HashMap<NodeId, NodeId> = [(x, zero)].into_iter().collect();
        let fixed = scope.with(|g| g.substitute(&[one.mean], &without))[0];
        let series = Series {
            latent,
            u: x,
            x,
            time,
            by: Some(over(part.by)),
            fixed: over(scope.expr(fixed)),
            scale: over(scope.expr(one.sd)),
            start: scope.node(lit(0.0)),
            prior: None,
        };
        let reading = read(scope, (x, &depends), (found.mean, &found.rows))?;
        self.is_linear(&series, &reading)
            .then_some((series, reading))
    }

    /// Whether nothing but x depends on the innovations.
    fn is_linear(&self, series: &Series, reading: &Reading) -> bool {
        let depends = self.scope.with(|g| g.dependents(&[series.u]));
        let parts = [
            Some(series.fixed),
            series.by,
            Some(series.scale),
            Some(series.start),
        ];
        let mut parts = parts.into_iter().flatten().chain([reading.by]);
        !parts.any(|n| depends[n.index()])
    }
}

/// The steps of a node, if it is a running sum.
fn steps<'g>(scope: &'g Scope, node: NodeId) -> Option<Steps<'g>> {
    let n = scope.with(|g| g.node(node).clone());
    match n.op {
        Op::CumSum {
            axis,
            reverse: false,
        } => Some(Steps {
            x: node,
            time: axis,
            by: None,
            added: n.inputs[0],
            start: lit(0.0),
        }),
        Op::Recurrence(of) => {
            let found = scope.with(|g| g.first_order(node))?;
            Some(Steps {
                x: found.after,
                time: of.time,
                by: Some(scope.expr(found.by)),
                added: found.added,
                start: scope.expr(n.inputs[0]),
            })
        }
        _ => None,
    }
}
