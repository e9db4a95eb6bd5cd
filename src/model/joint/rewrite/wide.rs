//! The marginal of many coefficients, by matrices.

use super::find::Normal;
use super::normal::{Coefficients, Writer, contract, flat, identity, joined, lit};
use crate::dist::Real;
use fitzroy_graph::{DimId, Expr as Value};

/// A part of the rows and columns of M.
struct Part<'a> {
    name: &'a str,
    rows: std::ops::Range<usize>,
    columns: std::ops::Range<usize>,
    dims: Vec<DimId>,
}

impl<'g> Writer<'_, 'g> {
    /// A part of M over its dims.
    fn part(&self, part: &Part<'_>) -> Value<'g> {
        let (sums, width) = (self.sums, self.sums.width);
        let cut = |from: &[f64]| -> Vec<f64> {
            let rows = part.rows.clone();
            rows.flat_map(|r| from[r * width..][part.columns.clone()].to_vec())
                .collect()
        };
        let data = |what: &str, dims: &[DimId], values: &[f64]| match dims {
            [] => lit(values[0]),
            _ => self
                .scope
                .bound_data(&format!("{}: {what}", part.name), dims, values),
        };
        let within = data("within", &part.dims, &cut(&sums.within)) * self.precision;
        let Some(weights) = self.weights else {
            return within;
        };
        if let [class] = &sums.classes[..] {
            return within + data("between", &part.dims, &cut(&class.between)) * weights;
        }
        let classes = weights.dims()[0];
        let dims: Vec<DimId> = [classes]
            .into_iter()
            .chain(part.dims.iter().copied())
            .collect();
        let values: Vec<f64> = sums.classes.iter().flat_map(|c| cut(&c.between)).collect();
        let between = self
            .scope
            .bound_data(&format!("{}: between", part.name), &dims, &values);
        within + contract(self.scope, weights, between, classes)
    }
}

/// The coefficients of a block of many columns.
pub(super) fn coefficients<'g>(w: &Writer<'_, 'g>, name: &str) -> Coefficients<'g> {
    let (scope, width) = (w.scope, w.sums.width);
    let (p, _) = w.block.widths();
    let given_dim = scope.dim(&format!("{name}: given"), width - p);
    let given_twin = scope.with(|g| g.twin(given_dim));
    let sampled = w.sampled_parts(given_dim);
    let part = |what: &str, rows: std::ops::Range<usize>, columns, dims: &[DimId]| {
        w.part(&Part {
            name: &format!("{name}: {what}"),
            rows,
            columns,
            dims: dims.to_vec(),
        })
    };
    let m_given = part("given", p..width, p..width, &[given_dim, given_twin]);
    let half = contract(scope, m_given, flat(scope, sampled, given_twin), given_twin);
    let mut quadratic = (half * sampled).sum_all();
    let mut of = Coefficients {
        quadratic,
        log_factor: lit(0.0),
        standard: Vec::new(),
        residual: None,
    };
    let mut coefficients = None;
    if p > 0 {
        let dim = scope.dim(&format!("{name}: coefficients"), p);
        let twin = scope.with(|g| g.twin(dim));
        let (t, delta) = (w.spread_parts(dim, name), w.deltas());
        let m_cross = part("cross", 0..p, p..width, &[dim, given_dim]);
        let h = contract(scope, m_cross, sampled, given_dim);
        let m_own = part("own", 0..p, 0..p, &[dim, twin]);
        let both = [dim, twin];
        let identity = identity(scope, both, name);
        let t_rows = t.broadcast(scope, &both);
        let t_columns = flat(scope, t.broadcast(scope, &[dim]), twin).broadcast(scope, &both);
        let lambda = scope.node(identity + m_own * (t_rows * t_columns));
        let square: f64 = delta.iter().map(|d| d * d).sum();
        let delta = scope.bound_data(&format!("{name}: delta"), &[dim], &delta);
        let target = scope.node((t * h + delta).broadcast(scope, &[dim]));
        let factor = scope.with(|g| g.cholesky(lambda));
        let u = scope.expr(scope.with(|g| g.tri_solve(factor, target, false)));
        let diagonal = scope.expr(scope.with(|g| g.diagonal(factor)));
        quadratic = quadratic - (u * u).sum_all() + lit(square);
        let moved = scope.node(u + w.noise_parts(dim));
        let zeta = scope.expr(scope.with(|g| g.tri_solve(factor, moved, true)));
        of = Coefficients {
            quadratic,
            log_factor: diagonal.ln().sum_all(),
            standard: w.split(zeta, dim),
            residual: None,
        };
        coefficients = Some((t * zeta, dim));
    }
    let given = (sampled, given_dim);
    let unexplained = |groups| w.unexplained(groups, given, coefficients, name);
    of.residual = w.groups.map(unexplained);
    of
}

impl<'g> Writer<'_, 'g> {
    /// ē_j: y less what the columns explain, those that are given over their dim and those that are
    /// integrated out over theirs.
    fn unexplained(
        &self,
        groups: DimId,
        (sampled, given_dim): (Value<'g>, DimId),
        coefficients: Option<(Value<'g>, DimId)>,
        name: &str,
    ) -> Value<'g> {
        let (scope, width) = (self.scope, self.sums.width);
        let (p, _) = self.block.widths();
        let means = |from: usize, to: usize| -> Vec<f64> {
            let rows = self.sums.groups.means.chunks_exact(width);
            rows.flat_map(|row| row[from..to].iter().copied()).collect()
        };
        let data = |what: &str, dims: &[DimId], values: &[f64]| {
            scope.bound_data(&format!("{name}: means of {what}"), dims, values)
        };
        let given = data("given", &[groups, given_dim], &means(p, width));
        let rest = contract(scope, given, sampled, given_dim);
        match coefficients {
            Some((b, dim)) => {
                let own = data("own", &[groups, dim], &means(0, p));
                rest - contract(scope, own, b.broadcast(scope, &[dim]), dim)
            }
            None => rest,
        }
    }

    /// f: minus the sampled columns less their shift, then 1.
    fn sampled_parts(&self, dim: DimId) -> Value<'g> {
        let (mut parts, mut fixed, mut at) = (Vec::new(), Vec::new(), 0);
        for part in &self.block.columns {
            if part.integrated.is_none() {
                parts.push((-self.scope.expr(part.leaf), part.len));
                fixed.extend_from_slice(&self.sums.shift[at..at + part.len]);
            }
            at += part.len;
        }
        fixed.push(1.0);
        let name = self.scope.with(|g| g.dim_info(dim).name.clone());
        let fixed = self
            .scope
            .bound_data(&format!("{name}: shift"), &[dim], &fixed);
        match parts.is_empty() {
            true => fixed,
            false => joined(self.scope, &parts, dim) + fixed,
        }
    }

    /// Spreads of the integrated coefficients over `dim`.
    fn spread_parts(&self, dim: DimId, name: &str) -> Value<'g> {
        let scope = self.scope;
        let integrated = self.block.columns.iter();
        let integrated = integrated.filter_map(|c| Some((c.integrated.as_ref()?, c.len)));
        if integrated.clone().all(|(normal, _)| normal.scale.is_none()) {
            let all = integrated.flat_map(|(normal, _)| normal.prior.iter().map(|p| p.1));
            let all: Vec<f64> = all.collect();
            return scope.bound_data(&format!("{name}: spreads"), &[dim], &all);
        }
        let part = |(normal, len): (&Normal, usize)| {
            let own = scope.with(|g| g.dims(normal.node).to_vec());
            let value = match normal.scale {
                Some(scale) => scope.expr(scale).broadcast(scope, &own),
                None => {
                    let known: Vec<f64> = normal.prior.iter().map(|p| p.1).collect();
                    let name = format!("{name}: spread of %{}", normal.node.index());
                    match known[..] {
                        [one] => lit(one).broadcast(scope, &own),
                        _ => scope.bound_data(&name, &own, &known),
                    }
                }
            };
            (value, len)
        };
        joined(scope, &integrated.map(part).collect::<Vec<_>>(), dim)
    }

    /// Standard normal numbers in the place of the integrated coefficients.
    fn noise_parts(&self, dim: DimId) -> Value<'g> {
        let integrated = self.block.columns.iter();
        let parts =
            integrated.filter_map(|c| Some((self.scope.expr(c.integrated.as_ref()?.node), c.len)));
        joined(self.scope, &parts.collect::<Vec<_>>(), dim)
    }

    /// The parts of an array over all integrated coefficients.
    fn split(&self, zeta: Value<'g>, dim: DimId) -> Vec<Value<'g>> {
        let node = self.scope.node(zeta);
        let (mut out, mut at) = (Vec::new(), 0);
        for part in self.block.columns.iter().filter(|c| c.integrated.is_some()) {
            let cut = self.scope.with(|g| g.slice(node, dim, at, part.len));
            out.push(self.scope.expr(cut.expect("it is inside")));
            at += part.len;
        }
        out
    }
}
