//! The marginal of a latent series under normal noise, by the Kalman filter, and its draws, from the last step to
//! the first.
//!
//! The series is x_t = φ_t x_(t−1) + c_t + q_t u_t; rows are y_i = d_i + h_i x_t(i) + D_i b + noise of scale σ_i, with
//! b = m + t ζ. Given what came before, x_t is N(μ_t, P_t), with
//!
//!   J_t = Σ h²/σ²,   ξ_t = Σ h (y − d)/σ²   over the rows of t,   κ_t = 1/(1 + P_t J_t)
//!   μ_(t+1) = φ κ_t (μ_t + P_t ξ_t) + c,    P_(t+1) = φ² κ_t P_t + q²
//!
//! and with ε_i = y_i − d_i − h_i μ_t(i) and ξ' = Σ h ε/σ²
//!
//!   ln p(y) = −½ (Σ ε²/σ² − Σ P κ ξ'²) + ½ Σ ln κ − Σ ln σ − ½ N ln 2π.
//!
//! All of it is linear in y, so columns of D run through the same filter as y does: with S the sums of products of
//! filtered columns, Λ = I + S_DD = L Lᵀ and w = L⁻¹ S_Dy, ½ |w|² is added and Σ ln L_kk taken off (de Jong 1991, "The
//! diffuse Kalman filter", Ann. Stat. 19). Then ζ = L⁻ᵀ(w + ε), and from the last step on
//!
//!   x_t = κ (μ + P ξ) + G_t (x_(t+1) − μ_(t+1)) + √V_t ε_t,   G_t = κ P_t φ/P_(t+1),   V_t = κ P_t q²/P_(t+1)
//!
//! (Carter and Kohn 1994, "On Gibbs sampling for state space models", Biometrika 81; Frühwirth-Schnatter 1994).

use super::coefficients::{Priors, known_over};
use super::normal::{Rewritten, identity, joined, lit, noise, relabelled};
use super::series::StateSpace;
use crate::dist::Real;
use fitzroy_graph::{Carried, DimId, Expr as Value, NodeId, Scope, Unary};

/// What the filter computes, with its arrays over the dims of x. Columns, if there are any beside y, come last.
struct Filtered<'g> {
    /// μ and κ (μ + P ξ).
    mean: Value<'g>,
    updated: Value<'g>,
    /// P, and κ.
    variance: Value<'g>,
    kept: Value<'g>,
    /// Sums of products of the filtered columns.
    products: Value<'g>,
}

/// A state space that is being written.
struct Writer<'a, 'g> {
    scope: &'g Scope,
    of: &'a StateSpace,
    name: &'a str,
    /// Dims of x.
    dims: Vec<DimId>,
    /// The dim of y and the columns beside it; none if y is alone.
    columns: Option<DimId>,
    priors: Priors<'g>,
}

/// Writes the density of the rows, and the draws of the series and of the coefficients beside it.
pub(super) fn write<'g>(scope: &'g Scope, of: &StateSpace, name: &str) -> Rewritten<'g> {
    let width = of.regression.width();
    let columns = format!("{name}: columns");
    let w = Writer {
        scope,
        of,
        name,
        dims: scope.with(|g| g.dims(of.series.x).to_vec()),
        columns: (width > 0).then(|| scope.dim(&columns, 1 + width)),
        priors: Priors::new(scope, &of.regression, name),
    };
    let steps = w.standardised();
    let filtered = w.filter(&steps);
    let log_kept = filtered.kept.ln().sum_all();
    let log_sd = w.over_rows(scope.expr(of.regression.sd)).ln().sum_all();
    let constant = -0.5 * of.regression.n_rows as f64 * libm::log(2.0 * std::f64::consts::PI);
    let beside = w.beside(filtered.products);
    let density =
        lit(constant) - lit(0.5) * (beside.quadratic - log_kept) - log_sd - beside.log_factor;
    let mut drawn = beside.drawn;
    let mean = w.combined(filtered.mean, beside.weights);
    let updated = w.combined(filtered.updated, beside.weights);
    let x = w.backwards(&steps, &filtered, mean, updated);
    let (u, log_slope) = match &of.series.prior {
        Some((mean, sd)) => {
            let log_sd: f64 = sd.iter().map(|s| libm::log(*s)).sum();
            (w.innovations(&steps, x, mean), lit(log_sd))
        }
        None => (x, steps.scale.ln().sum_all()),
    };
    drawn.push((of.series.u, u));
    let conditional = noise(scope, of.series.u) - log_slope - lit(0.5) * log_kept;
    Rewritten {
        density,
        conditional: conditional + beside.conditional,
        drawn,
    }
}

/// The steps of x with standard normal innovations; φ is none if it is 1.
struct Steps<'g> {
    by: Option<Value<'g>>,
    fixed: Value<'g>,
    scale: Value<'g>,
    start: Value<'g>,
}

/// What the rows of each step say: J and ξ.
struct Rows<'g> {
    information: Value<'g>,
    seen: Value<'g>,
}

impl<'g> Rows<'g> {
    /// Mean and variance of a step given its rows, too, and κ.
    fn update(&self, mean: Value<'g>, variance: Value<'g>) -> (Value<'g>, Value<'g>, Value<'g>) {
        let kept = (lit(1.0) + variance * self.information).unary(Unary::Recip);
        (kept * (mean + variance * self.seen), kept * variance, kept)
    }
}

/// What the coefficients beside a series add to the density.
struct Beside<'g> {
    /// S_yy − |w|², Σ ln L, and what the draws of the coefficients add to the conditional density.
    quadratic: Value<'g>,
    log_factor: Value<'g>,
    conditional: Value<'g>,
    /// 1, then −ζ, over the columns.
    weights: Option<Value<'g>>,
    drawn: Vec<(NodeId, Value<'g>)>,
}

impl<'g> Writer<'_, 'g> {
    fn more(&self) -> Vec<DimId> {
        self.columns.into_iter().collect()
    }

    fn with_columns(&self, dims: &[DimId]) -> Vec<DimId> {
        [dims, &self.more()].concat()
    }

    fn over(&self, value: Value<'g>) -> Value<'g> {
        value.broadcast(self.scope, &self.dims)
    }

    fn over_rows(&self, value: Value<'g>) -> Value<'g> {
        value.broadcast(self.scope, &self.of.regression.rows)
    }

    /// The steps in terms of standard normal innovations.
    fn standardised(&self) -> Steps<'g> {
        let (scope, s) = (self.scope, &self.of.series);
        let (mut fixed, mut scale) = (scope.expr(s.fixed), scope.expr(s.scale));
        if let Some((mean, sd)) = &s.prior {
            fixed = fixed + scale * self.known("mean", mean);
            scale = scale * self.known("sd", sd);
        }
        Steps {
            by: s.by.map(|by| scope.expr(by)),
            fixed: self.over(fixed),
            scale: self.over(scale),
            start: scope.expr(s.start),
        }
    }

    /// Known numbers of each innovation, over the dims of x.
    fn known(&self, what: &str, values: &[f64]) -> Value<'g> {
        let name = format!("{}: {what}", self.name);
        self.of_x(known_over(self.scope, &name, self.of.series.u, values))
    }

    /// What is over the dims of u, over those of x.
    fn of_x(&self, value: Value<'g>) -> Value<'g> {
        as_over(self.scope, value, &self.dims)
    }

    /// y without what is known of its mean, and the columns beside it, over the rows.
    fn data(&self) -> Value<'g> {
        let (scope, of) = (self.scope, &self.of.regression);
        let zero = scope.node(self.over(lit(0.0)));
        let centred = self.priors.centred(scope, of, &[(self.of.series.x, zero)]);
        let y = self.over_rows(scope.expr(of.y) - centred);
        let Some(columns) = self.columns else {
            return y;
        };
        let one = scope.with(|g| g.slice_dim(columns, 1));
        let own = [&of.rows[..], &[one]].concat();
        let y = scope.node(relabelled(scope, y, &own));
        let y = scope.expr(scope.with(|g| g.unslice(y, one, columns, 0)));
        y + self.priors.matrix(scope, of, columns, 1)
    }

    /// `value` over `dims` for y, and 0 for the columns beside it.
    fn of_first(&self, value: Value<'g>, dims: &[DimId]) -> Value<'g> {
        let Some(columns) = self.columns else {
            return value;
        };
        let value = value.broadcast(self.scope, &[dims, &[columns]].concat());
        let n = self.scope.with(|g| g.size(columns));
        let first: Vec<f64> = (0..n).map(|k| f64::from(u8::from(k == 0))).collect();
        let name = format!("{}: the first column", self.name);
        value * self.scope.bound_data(&name, &[columns], &first)
    }

    fn filter(&self, steps: &Steps<'g>) -> Filtered<'g> {
        let (scope, of) = (self.scope, self.of);
        let all = self.with_columns(&self.dims);
        let weight = scope.expr(of.regression.sd).unary(Unary::Recip);
        let weight = self.over_rows(weight * weight);
        let (h, data) = (scope.expr(of.reading.by), self.data());
        let rows = Rows {
            information: of.reading.sums(scope, h * h * weight, &[]),
            seen: of.reading.sums(scope, h * weight * data, &self.more()),
        };
        let (mean, variance) = self.predicted(steps, &rows);
        let (updated, _, kept) = rows.update(mean, variance);
        let (mean, kept) = (mean.broadcast(scope, &all), self.over(kept));
        let rest = data - h * of.reading.rows(scope, mean, &self.more());
        let rest = rest.broadcast(scope, &self.with_columns(&of.regression.rows));
        let products = match of.reading.is_one_to_one() {
            // Σ ε²/(σ² + h² P), which loses no digits.
            true => {
                let root = (weight * of.reading.rows(scope, kept, &[])).sqrt();
                self.products(rest * root, &of.regression.rows)
            }
            false => {
                let noticed = of.reading.sums(scope, h * weight * rest, &self.more());
                self.products(rest * weight.sqrt(), &of.regression.rows)
                    - self.products(noticed * (variance * kept).sqrt(), &self.dims)
            }
        };
        Filtered {
            mean,
            updated: updated.broadcast(scope, &all),
            variance: self.over(variance),
            kept,
            products,
        }
    }

    /// μ and P of each step.
    fn predicted(&self, steps: &Steps<'g>, rows: &Rows<'g>) -> (Value<'g>, Value<'g>) {
        let (scope, time) = (self.scope, self.of.series.time);
        let all = self.with_columns(&self.dims);
        let next = |mean: Value<'g>, variance: Value<'g>| {
            let added = self.of_first(steps.fixed, &self.dims);
            let kept = steps.by.map_or(mean, |by| by * mean);
            let spread = steps.by.map_or(variance, |by| by * by * variance);
            (kept + added, spread + steps.scale * steps.scale)
        };
        let hole = |dims: &[DimId]| scope.with(|g| g.hole(dims));
        let before = [hole(&all), hole(&self.dims)];
        let (mean, variance) = next(scope.expr(before[0]), scope.expr(before[1]));
        let (mean, variance, _) = rows.update(mean, variance);
        let outer = self.dims.iter().copied().filter(|d| *d != time);
        let outer: Vec<DimId> = outer.collect();
        let start = self.of_first(steps.start, &outer);
        let start = start.broadcast(scope, &self.with_columns(&outer));
        let carried = [
            Carried {
                before: before[0],
                start: scope.node(start),
                after: scope.node(mean.broadcast(scope, &all)),
            },
            Carried {
                before: before[1],
                start: scope.node(lit(0.0)),
                after: scope.node(self.over(variance)),
            },
        ];
        let ran = scope.with(|g| g.recur(time, false, &carried));
        let ran = ran.expect("a step of a filter is simple");
        next(scope.expr(ran[0].before), scope.expr(ran[1].before))
    }

    /// Sums over `dims` of the products of all columns with each other.
    fn products(&self, value: Value<'g>, dims: &[DimId]) -> Value<'g> {
        let scope = self.scope;
        let Some(columns) = self.columns else {
            return (value * value).sum_all();
        };
        let twin = scope.with(|g| g.twin(columns));
        let own = value.broadcast(scope, &[dims, &[columns]].concat());
        let other = relabelled(scope, own, &[dims, &[twin]].concat());
        let (own, other) = (scope.node(own), scope.node(other));
        let product = scope.with(|g| g.contract(own, other, dims));
        scope.expr(product.expect("both have the dims"))
    }

    fn beside(&self, products: Value<'g>) -> Beside<'g> {
        let (scope, of) = (self.scope, &self.of.regression);
        let Some(columns) = self.columns else {
            return Beside {
                quadratic: products,
                log_factor: lit(0.0),
                conditional: lit(0.0),
                weights: None,
                drawn: Vec::new(),
            };
        };
        let (twin, width) = (scope.with(|g| g.twin(columns)), of.width());
        let products = scope.node(products.broadcast(scope, &[columns, twin]));
        let dim = scope.with(|g| g.slice_dim(columns, width));
        let other = scope.with(|g| g.twin(dim));
        let cut = |from: usize, len: usize, to: &[DimId]| {
            let cut = scope.with(|g| {
                let rows = g.slice(products, columns, from, len)?;
                let part = g.slice(rows, twin, 1, width)?;
                Ok::<_, fitzroy_graph::Error>(g.relabel(part, to))
            });
            scope.expr(cut.expect("it is inside"))
        };
        let lambda = cut(1, width, &[dim, other]) + identity(scope, [dim, other], self.name);
        let target = scope.node(cut(0, 1, &[dim]));
        let own = scope.with(|g| {
            let row = g.element(products, columns, 0).expect("it is inside");
            g.element(row, twin, 0).expect("it is inside")
        });
        let lambda = scope.node(lambda);
        let factor = scope.with(|g| g.cholesky(lambda));
        let w = scope.expr(scope.with(|g| g.tri_solve(factor, target, false)));
        let diagonal = scope.expr(scope.with(|g| g.diagonal(factor)));
        let log_factor = diagonal.ln().sum_all();
        let parts = of.coefficients.iter().map(|c| (scope.expr(c.node), c.len));
        let moved = scope.node(w + joined(scope, &parts.collect::<Vec<_>>(), dim));
        let zeta = scope.with(|g| g.tri_solve(factor, moved, true));
        let weights = scope.with(|g| {
            let zeta = g.unary(Unary::Neg, zeta);
            g.unslice(zeta, dim, columns, 1)
        });
        let weights = scope.expr(weights) + self.of_first(lit(1.0), &[]);
        let mut conditional = log_factor;
        for (one, log_sd) in of.coefficients.iter().zip(&self.priors.log_sd) {
            conditional = conditional + noise(scope, one.node) - lit(*log_sd);
        }
        Beside {
            quadratic: scope.expr(own) - (w * w).sum_all(),
            log_factor,
            conditional,
            weights: Some(weights.broadcast(scope, &[columns])),
            drawn: self.priors.drawn(scope, of, (zeta, dim)),
        }
    }

    /// The sum of the columns with these weights.
    fn combined(&self, value: Value<'g>, weights: Option<Value<'g>>) -> Value<'g> {
        match (weights, self.columns) {
            (Some(weights), Some(columns)) => {
                self.over(super::normal::contract(self.scope, value, weights, columns))
            }
            _ => value,
        }
    }

    /// The series, drawn from its last element to its first.
    fn backwards(
        &self,
        steps: &Steps<'g>,
        filtered: &Filtered<'g>,
        mean: Value<'g>,
        updated: Value<'g>,
    ) -> Value<'g> {
        let scope = self.scope;
        let series = &self.of.series;
        let (later, last) = (|v: Value<'g>| self.shifted(v, true), self.indicator(false));
        let kept = filtered.kept * filtered.variance;
        let precise = filtered.variance.unary(Unary::Recip);
        let gain = kept * later(steps.by.map_or(precise, |by| by * precise));
        let spread = later(steps.scale * steps.scale * precise) + last;
        let epsilon = self.of_x(scope.expr(series.u));
        let own = updated - gain * later(mean) + (kept * spread).sqrt() * epsilon;
        let before = scope.with(|g| g.hole(&self.dims));
        let after = scope.node(self.over(own + gain * scope.expr(before)));
        let start = scope.node(lit(0.0));
        let carried = Carried {
            before,
            start,
            after,
        };
        let ran = scope.with(|g| g.recur(series.time, true, &[carried]));
        scope.expr(ran.expect("a step back is simple")[0].after)
    }

    /// The innovations of the model from the series.
    fn innovations(&self, steps: &Steps<'g>, x: Value<'g>, mean: &[f64]) -> Value<'g> {
        let (scope, scale) = (self.scope, self.scope.expr(self.of.series.scale));
        let first = self.over(self.indicator(true));
        let before = self.shifted(x, false) + first * steps.start;
        let before = steps.by.map_or(before, |by| by * before);
        let u = self.known("mean", mean) + (x - before - steps.fixed) / scale;
        let dims = scope.with(|g| g.dims(self.of.series.u).to_vec());
        as_over(scope, self.over(u), &dims)
    }

    /// 1 at the first or the last step, 0 elsewhere.
    fn indicator(&self, first: bool) -> Value<'g> {
        let time = self.of.series.time;
        let n = self.scope.with(|g| g.size(time));
        let at = if first { 0 } else { n - 1 };
        let values: Vec<f64> = (0..n).map(|t| f64::from(u8::from(t == at))).collect();
        let name = format!("{}: step {at}", self.name);
        self.scope.bound_data(&name, &[time], &values)
    }

    /// The values of the step after, 0 at the last, or of the step before, 0 at the first.
    fn shifted(&self, value: Value<'g>, later: bool) -> Value<'g> {
        let (scope, time) = (self.scope, self.of.series.time);
        let node = scope.node(self.over(value));
        let (from, to) = if later { (1, 0) } else { (0, 1) };
        scope.expr(scope.with(|g| {
            let n = g.size(time);
            let kept = g.slice(node, time, from, n - 1).expect("it is inside");
            let part = g.slice_dim(time, n - 1);
            g.unslice(kept, part, time, to)
        }))
    }
}

/// The same elements over `dims`: in another order, or under other names.
fn as_over<'g>(scope: &'g Scope, value: Value<'g>, dims: &[DimId]) -> Value<'g> {
    let own = value.dims();
    match own.iter().all(|d| dims.contains(d)) {
        true => value.broadcast(scope, dims),
        false => relabelled(scope, value, dims),
    }
}
