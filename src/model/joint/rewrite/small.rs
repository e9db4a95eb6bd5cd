//! The marginal of few coefficients, number by number: no matrices, so everything stays in
//! registers.

use super::find::Columns;
use super::normal::{Coefficients, Writer, lit, uniform};
use crate::dist::Real;
use fitzroy_graph::{DimId, Expr as Value, NodeId, Scope};

/// Most columns, y among them, that are written out.
pub(super) const WIDEST: usize = 4;

/// The elements of an array, each on its own.
pub(super) fn elements<'g>(scope: &'g Scope, value: Value<'g>, name: &str) -> Vec<Value<'g>> {
    let node = scope.node(value);
    let len = scope.with(|g| g.len(node));
    if scope.with(|g| g.dims(node).is_empty()) {
        return vec![value];
    }
    let dim = scope.dim(&format!("{name}: {len} coefficients"), len);
    let one = |at: usize| {
        scope.with(|g| {
            let flat = g.relabel(node, &[dim]);
            g.element(flat, dim, at).expect("it is inside")
        })
    };
    (0..len).map(|at| scope.expr(one(at))).collect()
}

/// Numbers as an array over `dim`.
pub(super) fn stacked<'g>(scope: &'g Scope, values: &[Value<'g>], dim: DimId) -> Value<'g> {
    let one = scope.with(|g| g.slice_dim(dim, 1));
    let mut sum = lit(0.0);
    for (at, value) in values.iter().enumerate() {
        let node = scope.node(*value);
        let placed = scope.with(|g| {
            let part = g.relabel(node, &[one]);
            g.unslice(part, one, dim, at)
        });
        sum = sum + scope.expr(placed);
    }
    sum
}

impl<'g> Writer<'_, 'g> {
    /// Element (r, c) of M.
    fn entry(&self, r: usize, c: usize, name: &str) -> Value<'g> {
        let (sums, at) = (self.sums, r * self.sums.width + c);
        let within = match sums.within[at] {
            0.0 => lit(0.0),
            w => lit(w) * self.precision,
        };
        let Some(weights) = self.weights else {
            return within;
        };
        if let [class] = &sums.classes[..] {
            return within + lit(class.between[at]) * weights;
        }
        let values: Vec<f64> = sums.classes.iter().map(|c| c.between[at]).collect();
        let dims = weights.dims();
        let between = self
            .scope
            .bound_data(&format!("{name}: between {r} {c}"), &dims, &values);
        within + (between * weights).sum_all()
    }

    /// The spread of each integrated coefficient.
    fn spreads(&self, name: &str) -> Vec<Value<'g>> {
        let mut t = Vec::new();
        for part in &self.block.columns {
            let Some(normal) = &part.integrated else {
                continue;
            };
            match normal.scale {
                Some(scale) => match uniform(self.scope, scale) {
                    Some(one) => t.extend(vec![self.scope.expr(one); part.len]),
                    None => t.extend(elements(self.scope, self.scope.expr(scale), name)),
                },
                None => t.extend(normal.prior.iter().map(|p| lit(p.1))),
            }
        }
        t
    }

    /// The δ of each integrated coefficient.
    pub(super) fn deltas(&self) -> Vec<f64> {
        let mut delta = Vec::new();
        for part in &self.block.columns {
            let Some(normal) = &part.integrated else {
                continue;
            };
            match normal.scale {
                Some(_) => delta.extend(vec![0.0; part.len]),
                None => {
                    let shift = &self.sums.shift[delta.len()..];
                    let prior = normal.prior.iter().zip(shift);
                    let moved: Vec<f64> = prior.map(|((m, t), shift)| (m - shift) / t).collect();
                    delta.extend(moved);
                }
            }
        }
        delta
    }

    /// Sampled columns, less their shift.
    pub(super) fn sampled(&self, name: &str) -> Vec<Value<'g>> {
        let (mut out, mut at) = (Vec::new(), 0);
        for part in &self.block.columns {
            if part.integrated.is_none() {
                let all = elements(self.scope, self.scope.expr(part.leaf), name);
                let shift = &self.sums.shift[at..];
                out.extend(all.iter().zip(shift).map(|(v, s)| *v - lit(*s)));
            }
            at += part.len;
        }
        out
    }

    /// Standard normal numbers in the place of the integrated coefficients.
    fn epsilons(&self, name: &str) -> Vec<Value<'g>> {
        let nodes = self
            .block
            .columns
            .iter()
            .filter_map(|c| Some(c.integrated.as_ref()?.node));
        let each = |node: NodeId| elements(self.scope, self.scope.expr(node), name);
        nodes.flat_map(each).collect()
    }

    /// y's means by group less Σ coefficients times the means of their columns.
    fn residual(&self, coefficients: &[Value<'g>], name: &str) -> Option<Value<'g>> {
        let (dim, width) = (self.groups?, self.sums.width);
        let column = |k: usize| {
            let means = self.sums.groups.means.iter().skip(k).step_by(width);
            let values: Vec<f64> = means.copied().collect();
            match values.iter().all(|v| *v == values[0]) {
                true => lit(values[0]).broadcast(self.scope, &[dim]),
                false => self
                    .scope
                    .bound_data(&format!("{name}: means {k}"), &[dim], &values),
            }
        };
        let all = coefficients.iter().enumerate();
        Some(all.fold(column(width - 1), |rest, (k, b)| rest - column(k) * *b))
    }
}

/// The coefficients of a block of few columns.
pub(super) fn coefficients<'g>(w: &Writer<'_, 'g>, name: &str) -> Coefficients<'g> {
    let (p, _) = w.block.widths();
    let width = w.sums.width;
    let y = width - 1;
    let sampled = w.sampled(name);
    let m = |r: usize, c: usize| w.entry(r.min(c), r.max(c), name);
    // f over the columns that are not integrated out, y last.
    let mut given: Vec<(usize, Value<'g>)> = Vec::new();
    given.extend(sampled.iter().enumerate().map(|(k, s)| (p + k, -*s)));
    given.push((y, lit(1.0)));
    let mut quadratic = lit(0.0);
    for (i, &(r, a)) in given.iter().enumerate() {
        quadratic = quadratic + a * a * m(r, r);
        for &(c, b) in &given[i + 1..] {
            quadratic = quadratic + lit(2.0) * a * b * m(r, c);
        }
    }
    let (t, delta) = (w.spreads(name), w.deltas());
    let h = |k: usize| {
        given
            .iter()
            .fold(lit(0.0), |sum, &(c, f)| sum + f * m(k, c))
    };
    let target: Vec<Value<'g>> = (0..p).map(|k| t[k] * h(k) + lit(delta[k])).collect();
    let lambda = |r: usize, c: usize| {
        let own = t[r] * t[c] * m(r, c);
        if r == c { lit(1.0) + own } else { own }
    };
    let factor = cholesky(p, lambda);
    let u = forward(&factor, &target);
    let mut log_factor = lit(0.0);
    for (k, row) in factor.iter().enumerate() {
        log_factor = log_factor + row[k].ln();
        quadratic = quadratic - u[k] * u[k] + lit(delta[k] * delta[k]);
    }
    let moved: Vec<Value<'g>> = u
        .iter()
        .zip(w.epsilons(name))
        .map(|(u, e)| *u + e)
        .collect();
    let zeta = backward(&factor, &moved);
    let mut all: Vec<Value<'g>> = zeta.iter().zip(&t).map(|(z, t)| *t * *z).collect();
    all.extend(&sampled);
    Coefficients {
        quadratic,
        log_factor,
        residual: w.residual(&all, name),
        standard: stack_parts(w, &zeta, name),
    }
}

/// ζ of each integrated part.
fn stack_parts<'g>(w: &Writer<'_, 'g>, zeta: &[Value<'g>], name: &str) -> Vec<Value<'g>> {
    let mut rest = zeta;
    let integrated = |c: &&Columns| c.integrated.is_some();
    let mut out = Vec::new();
    for part in w.block.columns.iter().filter(integrated) {
        let (own, others) = rest.split_at(part.len);
        rest = others;
        out.push(match own {
            [one] => *one,
            many => {
                let dim = w
                    .scope
                    .dim(&format!("{name}: {} coefficients", part.len), part.len);
                stacked(w.scope, many, dim)
            }
        });
    }
    out
}

/// The lower Cholesky factor, row by row.
fn cholesky<'g>(p: usize, a: impl Fn(usize, usize) -> Value<'g>) -> Vec<Vec<Value<'g>>> {
    let mut rows: Vec<Vec<Value<'g>>> = Vec::new();
    for r in 0..p {
        let mut row: Vec<Value<'g>> = Vec::new();
        for c in 0..=r {
            let above = if c == r { &row } else { &rows[c] };
            let dot = row
                .iter()
                .zip(above)
                .fold(lit(0.0), |s, (x, y)| s + *x * *y);
            let rest = a(r, c) - dot;
            row.push(if c == r {
                rest.sqrt()
            } else {
                rest / rows[c][c]
            });
        }
        rows.push(row);
    }
    rows
}

/// L⁻¹ b.
fn forward<'g>(factor: &[Vec<Value<'g>>], b: &[Value<'g>]) -> Vec<Value<'g>> {
    let mut out: Vec<Value<'g>> = Vec::new();
    for (k, row) in factor.iter().enumerate() {
        let dot = out.iter().zip(row).fold(lit(0.0), |s, (x, l)| s + *x * *l);
        out.push((b[k] - dot) / row[k]);
    }
    out
}

/// L⁻ᵀ b.
fn backward<'g>(factor: &[Vec<Value<'g>>], b: &[Value<'g>]) -> Vec<Value<'g>> {
    let mut out = b.to_vec();
    for k in (0..factor.len()).rev() {
        for r in k + 1..factor.len() {
            out[k] = out[k] - factor[r][k] * out[r];
        }
        out[k] = out[k] / factor[k][k];
    }
    out
}
