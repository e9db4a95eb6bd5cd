//! Normal coefficients of a normal likelihood with the matrices in front of them, which may depend on
//! other parameters.

use super::Sites;
use super::design::Search;
use super::normal::{flat, lit, relabelled};
use fitzroy_graph::{DimId, Expr as Value, NodeId, Scope};
use std::collections::HashMap;

/// Coefficients that are integrated out.
#[derive(Clone, Debug)]
pub(super) struct Coefficients {
    /// Index among the latents.
    pub(super) latent: usize,
    pub(super) node: NodeId,
    /// Rows, then coefficients.
    pub(super) matrix: NodeId,
    pub(super) len: usize,
    /// Known means and standard deviations of their priors.
    mean: Vec<f64>,
    sd: Vec<f64>,
}

/// A normal likelihood with coefficients to integrate out.
#[derive(Clone, Debug)]
pub(super) struct Regression {
    pub(super) term: usize,
    /// The dims of its rows.
    pub(super) rows: Vec<DimId>,
    pub(super) n_rows: usize,
    pub(super) y: NodeId,
    pub(super) mean: NodeId,
    pub(super) sd: NodeId,
    pub(super) coefficients: Vec<Coefficients>,
    /// The innovations of a series that is integrated out beside them.
    pub(super) series: Option<NodeId>,
}

impl Regression {
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

impl Sites<'_, '_> {
    /// Normal term `which` without coefficients; none if its data are not known.
    pub(super) fn regression(&self, which: usize) -> Option<Regression> {
        let normal = &self.normals[which];
        let rows = self.scope.with(|g| g.dims(normal.y).to_vec());
        self.scope.known(self.scope.expr(normal.y))?;
        Some(Regression {
            term: normal.term,
            n_rows: self.scope.with(|g| g.len_of(&rows)),
            rows,
            y: normal.y,
            mean: normal.mean,
            sd: normal.sd,
            coefficients: Vec::new(),
            series: None,
        })
    }

    /// Adds all latents that are linear in the mean of `found` and stand nowhere else, the shortest first, as
    /// long as `fits` holds. None of the nodes `apart` depends on them.
    pub(super) fn add_coefficients(
        &self,
        found: &mut Regression,
        apart: &[NodeId],
        fits: impl Fn(&Regression) -> bool,
    ) {
        let mut order: Vec<usize> = (0..self.latents.len()).collect();
        order.sort_by_key(|&l| self.scope.with(|g| g.len(self.latents[l].node)));
        for latent in order {
            let Some(more) = self.coefficients(latent, found, apart) else {
                continue;
            };
            found.coefficients.push(more);
            if !fits(found) {
                found.coefficients.pop();
            }
        }
    }

    /// Whether anything depends on a latent beside its prior and the mean of normal term `term`, whose standard
    /// deviation is `sd`.
    pub(super) fn stands_elsewhere(&self, latent: usize, found: &Regression) -> bool {
        let one = &self.latents[latent];
        let depends = self.scope.with(|g| g.dependents(&[one.node]));
        let on = |node: NodeId| depends.get(node.index()) == Some(&true);
        let terms = self.terms.iter().enumerate();
        let mut others = terms.filter(|(t, _)| *t != found.term && *t != one.term);
        let mut plates = self.plates.iter().filter(|p| p.parameter != one.parameter);
        others.any(|(_, t)| on(t.sum))
            || on(found.sd)
            || plates.any(|p| on(p.location) || on(p.scale))
            || found.coefficients.iter().any(|c| on(c.matrix))
    }

    /// Known means and standard deviations of the prior of a latent.
    pub(super) fn known_prior(&self, latent: usize) -> Option<(Vec<f64>, Vec<f64>)> {
        let one = &self.latents[latent];
        let len = self.scope.with(|g| g.len(one.node));
        let known = |node: NodeId| {
            let all = self.scope.known(self.scope.expr(node))?;
            Some(match all.len() {
                1 => vec![all[0]; len],
                _ => all,
            })
        };
        let (mean, sd) = (known(one.mean)?, known(one.sd)?);
        let is_valid = mean.iter().all(|m| m.is_finite());
        let is_proper = sd.iter().all(|t| *t > 0.0 && t.is_finite());
        (is_valid && is_proper).then_some((mean, sd))
    }

    /// A latent as coefficients of `found`, if it is linear in its mean and stands nowhere else.
    fn coefficients(
        &self,
        latent: usize,
        found: &Regression,
        apart: &[NodeId],
    ) -> Option<Coefficients> {
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
        let (mean, sd) = self.known_prior(latent)?;
        if !on(found.mean) || apart.iter().any(|&n| on(n)) || self.stands_elsewhere(latent, found) {
            return None;
        }
        let columns = scope.dim(&format!("coefficients %{}", one.node.index()), len);
        let search = Search {
            scope,
            z: one.node,
            depends: &depends,
            columns,
        };
        let matrix = scope.node(search.matrix(found.mean, &found.rows)?);
        // Those that were found before stand in what multiplies them alone.
        let depends = scope.with(|g| {
            let before = found.coefficients.iter().map(|c| c.node);
            let before: Vec<NodeId> = before.chain(found.series).collect();
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
}

/// Means and standard deviations of coefficients, over their dims.
pub(super) struct Priors<'g> {
    pub(super) mean: Vec<Value<'g>>,
    pub(super) sd: Vec<Value<'g>>,
    /// Σ ln sd of each.
    pub(super) log_sd: Vec<f64>,
}

/// Known numbers over the dims of `node`.
pub(super) fn known_over<'g>(
    scope: &'g Scope,
    what: &str,
    node: NodeId,
    values: &[f64],
) -> Value<'g> {
    let dims = scope.with(|g| g.dims(node).to_vec());
    match values.iter().all(|v| *v == values[0]) {
        true => lit(values[0]).broadcast(scope, &dims),
        false => scope.bound_data(&format!("{what} of %{}", node.index()), &dims, values),
    }
}

impl<'g> Priors<'g> {
    pub(super) fn new(scope: &'g Scope, of: &Regression, name: &str) -> Priors<'g> {
        let array = |what: &str, node: NodeId, values: &[f64]| {
            known_over(scope, &format!("{name}: {what}"), node, values)
        };
        let all = || of.coefficients.iter();
        let log_sd = |c: &Coefficients| c.sd.iter().map(|t| libm::log(*t)).sum();
        Priors {
            mean: all().map(|c| array("mean", c.node, &c.mean)).collect(),
            sd: all().map(|c| array("sd", c.node, &c.sd)).collect(),
            log_sd: all().map(log_sd).collect(),
        }
    }

    /// The mean of the rows with all coefficients at the mean of their prior, and other nodes replaced.
    pub(super) fn centred(
        &self,
        scope: &'g Scope,
        of: &Regression,
        replaced: &[(NodeId, NodeId)],
    ) -> Value<'g> {
        let all = of.coefficients.iter().zip(&self.mean);
        let means = all.map(|(c, m)| (c.node, scope.node(*m)));
        let replaced: HashMap<NodeId, NodeId> = means.chain(replaced.iter().copied()).collect();
        let mean = scope.with(|g| g.substitute(&[of.mean], &replaced))[0];
        scope.expr(mean)
    }

    /// The matrices in front of standardised coefficients, over the rows and `dim`, from `at` on.
    pub(super) fn matrix(
        &self,
        scope: &'g Scope,
        of: &Regression,
        dim: DimId,
        mut at: usize,
    ) -> Value<'g> {
        let size = scope.with(|g| g.size(dim));
        let mut sum = lit(0.0);
        for (one, sd) in of.coefficients.iter().zip(&self.sd) {
            // One vector alone fills the whole dim.
            let part = match one.len == size {
                true => dim,
                false => scope.with(|g| g.slice_dim(dim, one.len)),
            };
            let dims = [&of.rows[..], &[part]].concat();
            let own = relabelled(scope, scope.expr(one.matrix), &dims);
            let scaled = scope.node((own * flat(scope, *sd, part)).broadcast(scope, &dims));
            let own = scope.with(|g| g.unslice(scaled, part, dim, at));
            sum = sum + scope.expr(own);
            at += one.len;
        }
        sum
    }

    /// The coefficients from their standardised values along `dim`.
    pub(super) fn drawn(
        &self,
        scope: &'g Scope,
        of: &Regression,
        (zeta, dim): (NodeId, DimId),
    ) -> Vec<(NodeId, Value<'g>)> {
        let mut at = 0;
        let each = of.coefficients.iter().enumerate().map(|(k, one)| {
            let dims = scope.with(|g| g.dims(one.node).to_vec());
            let own = scope.with(|g| {
                let cut = g.slice(zeta, dim, at, one.len).expect("it is inside");
                g.relabel(cut, &dims)
            });
            at += one.len;
            (one.node, self.mean[k] + self.sd[k] * scope.expr(own))
        });
        each.collect()
    }
}
