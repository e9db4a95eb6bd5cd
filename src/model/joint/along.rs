//! Products, order and truth along dims.

use super::build::Build;
use crate::Result;
use crate::dist::Real;
use crate::model::ast::Span;
use fitzroy_graph::{DimId, Expr as Value};

/// Most elements that are sorted where they are not known: each is compared with each.
const SORTED: usize = 1000;

fn lit<'g>(x: f64) -> Value<'g> {
    Value::lit(x)
}

impl<'g> Build<'_, 'g> {
    /// The product over `over`. Halves are multiplied with each other, so that slopes are right where
    /// factors are 0.
    pub(super) fn product_over(&self, x: Value<'g>, over: &[DimId]) -> Value<'g> {
        let mut x = x;
        for &dim in over {
            let mut axis = dim;
            let mut beside: Option<Value<'g>> = None;
            loop {
                let n = self.scope.with(|g| g.size(axis));
                let half = n / 2;
                if n % 2 == 1 {
                    let last = self.element(x, axis, n - 1);
                    beside = Some(beside.map_or(last, |other| other * last));
                }
                if half == 0 {
                    break;
                }
                let (a, b) = (
                    self.slice(x, axis, 0, half),
                    self.slice(x, axis, half, half),
                );
                x = a * b;
                axis = self.scope.with(|g| g.slice_dim(axis, half));
            }
            x = beside.expect("a power of two ends at one element");
        }
        x
    }

    /// Running products along `axis`, of which twice as many are joined each time.
    pub(super) fn running_product(&self, x: Value<'g>, axis: DimId) -> Value<'g> {
        let (n, name) = (self.scope.with(|g| g.size(axis)), self.name_of(axis));
        let (mut x, mut done) = (x, 1);
        while done < n {
            let part = self.slice(x, axis, 0, n - done);
            let from = self.scope.with(|g| g.slice_dim(axis, n - done));
            let node = self.scope.node(part);
            let moved = self.scope.with(|g| g.unslice(node, from, axis, done));
            let ones: Vec<f64> = (0..n).map(|k| f64::from(u8::from(k < done))).collect();
            let tag = format!("ones before {done} of {name}");
            let ones = self.scope.bound_data(&tag, &[axis], &ones);
            x = x * (self.scope.expr(moved) + ones);
            done *= 2;
        }
        x
    }

    /// Where any element over `over` is not 0.
    pub(super) fn any_over(&self, x: Value<'g>, over: &[DimId]) -> Value<'g> {
        let truth = lit(1.0) - x.equals(lit(0.0));
        let node = self.scope.node(truth);
        self.scope.expr(self.scope.with(|g| g.max_over(node, over)))
    }

    /// The elements along `axis` in ascending order.
    ///
    /// Those that are not known have the number of elements before them as their place, and are added
    /// there, so that each keeps its slope.
    pub(super) fn sorted(&self, x: Value<'g>, axis: DimId, span: Span) -> Result<Value<'g>> {
        let n = self.scope.with(|g| g.size(axis));
        let dims = x.dims();
        if let Some(known) = self.scope.known(x) {
            let sizes: Vec<usize> = dims
                .iter()
                .map(|&d| self.scope.with(|g| g.size(d)))
                .collect();
            let place = dims.iter().position(|&d| d == axis).expect("its own axis");
            let sorted = sorted_along(&known, &sizes, place);
            let tag = format!(
                "sorted {:?} along {}",
                self.scope.node(x),
                self.name_of(axis)
            );
            return Ok(self.scope.bound_data(&tag, &dims, &sorted));
        }
        if n > SORTED {
            let message = format!(
                "`sort` of what depends on parameters compares each element with each, which {SORTED} \
                 may be; these are {n}"
            );
            return Err(self.model.error(span, message));
        }
        let here = self.scope.dim(&format!("sorted {n}"), n);
        let there = self.scope.with(|g| g.twin(here));
        let renamed = |to: DimId| {
            let own: Vec<DimId> = dims
                .iter()
                .map(|&d| if d == axis { to } else { d })
                .collect();
            self.relabel(x, &own)
        };
        let outer = dims.iter().copied().filter(|&d| d != axis);
        let both: Vec<DimId> = outer.chain([here, there]).collect();
        let wide = |x: Value<'g>| x.broadcast(self.scope, &both);
        let places = |dim: DimId| {
            let all: Vec<f64> = (0..n).map(|k| k as f64).collect();
            let name = format!("positions in {}", self.name_of(dim));
            wide(self.scope.bound_data(&name, &[dim], &all))
        };
        let (own, other) = (wide(renamed(here)), wide(renamed(there)));
        let earlier = places(there).lt(places(here));
        let before = other.lt(own) + other.equals(own) * earlier;
        let rank = wide(before.sum_over(&[there]));
        let mine = rank.equals(places(there)).try_select(own, lit(0.0))?;
        let sorted = mine.sum_over(&[here]);
        let back: Vec<DimId> = sorted
            .dims()
            .iter()
            .map(|&d| if d == there { axis } else { d })
            .collect();
        Ok(self.relabel(sorted, &back).broadcast(self.scope, &dims))
    }
}

/// `values` of an array of these sizes, sorted along the axis at `place`; those that are no number come
/// last.
fn sorted_along(values: &[f64], sizes: &[usize], place: usize) -> Vec<f64> {
    let n = sizes[place];
    let step: usize = sizes[place + 1..].iter().product();
    let mut out = values.to_vec();
    for start in (0..values.len()).filter(|i| (i / step).is_multiple_of(n)) {
        let at = |k: usize| start + k * step;
        let mut row: Vec<f64> = (0..n).map(|k| values[at(k)]).collect();
        row.sort_by(f64::total_cmp);
        row.into_iter()
            .enumerate()
            .for_each(|(k, x)| out[at(k)] = x);
    }
    out
}
