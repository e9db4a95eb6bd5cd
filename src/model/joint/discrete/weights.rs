//! What terms come to at every value of a discrete variable.

use super::super::build::Build;
use super::super::law::log_sum_exp;
use super::coupling::{NONE, Owner, Piece};
use super::{Discrete, LookUp};
use crate::dist::Real;
use fitzroy_device::Fnv;
use fitzroy_graph::{DimId, Expr as Value, NodeId};
use std::collections::HashMap;

/// The values that terms are computed at: as dims behind those of each term, or one by one.
#[derive(Clone)]
pub(super) enum Values {
    /// Every value of an element, along a dim.
    Along(DimId),
    /// Every combination of values of all elements, along a dim.
    Together(DimId),
    /// One value after the other, each in nodes of its own.
    Each,
    /// Every value before a step, and every value of it, along two dims.
    Moves(DimId, DimId),
}

/// Terms at every value: one array with the values along its last dim, or an array for each value.
pub(super) struct Weights<'g> {
    pub(super) parts: Vec<Value<'g>>,
    pub(super) along: Option<DimId>,
}

impl<'g> Weights<'g> {
    /// The same with `f` of every part.
    pub(super) fn map(&self, f: impl FnMut(Value<'g>) -> Value<'g>) -> Weights<'g> {
        Weights {
            parts: self.parts.iter().copied().map(f).collect(),
            along: self.along,
        }
    }

    /// The sums of both, which are over the same dims.
    pub(super) fn plus(&self, other: &Weights<'g>) -> Weights<'g> {
        let both = self.parts.iter().zip(&other.parts);
        Weights {
            parts: both.map(|(&a, &b)| a + b).collect(),
            along: self.along,
        }
    }
}

impl<'g> Build<'_, 'g> {
    /// ln Σ eˣ over the values.
    pub(super) fn log_total(&self, weights: &Weights<'g>) -> Value<'g> {
        match weights.along {
            Some(along) => self.log_sum_along(weights.parts[0], along),
            None => log_sum_exp(&weights.parts),
        }
    }

    /// ln Σ eˣ along a dim; −∞ where all are.
    pub(super) fn log_sum_along(&self, x: Value<'g>, along: DimId) -> Value<'g> {
        let scope = self.scope;
        let node = scope.node(x);
        let peak = scope.expr(scope.with(|g| g.max_over(node, &[along])));
        let peak = peak
            .equals(Value::lit(f64::NEG_INFINITY))
            .select(Value::lit(0.0), peak);
        peak + (x - peak).exp().sum_over(&[along]).ln()
    }

    /// `nodes` at every value of variable `k`.
    ///
    /// # Errors
    /// A node that cannot be computed for all values at once.
    pub(super) fn at_values(
        &mut self,
        k: usize,
        values: &Values,
        nodes: &[NodeId],
    ) -> Result<Vec<Weights<'g>>, NodeId> {
        let z = self.discrete[k].clone();
        let mut out: Vec<Weights<'g>> = Vec::new();
        let along = match values {
            Values::Along(dim) | Values::Together(dim) => Some(*dim),
            Values::Each | Values::Moves(..) => None,
        };
        let one = |by: Value<'g>| HashMap::from([(z.hole, self.scope.node(by))]);
        let replacements: Vec<HashMap<NodeId, NodeId>> = match values {
            Values::Along(dim) => vec![one(self.every_value(&z, *dim))],
            Values::Together(dim) => vec![one(self.every_combination(&z, *dim))],
            Values::Each => (0..z.count)
                .map(|i| one(Value::lit(z.low + i as f64).broadcast(self.scope, &z.dims)))
                .collect(),
            Values::Moves(from, to) => {
                let mut both = one(self.every_value(&z, *to));
                let before = z.before.as_ref().expect("it is a chain").hole;
                both.insert(before, self.scope.node(self.every_value(&z, *from)));
                vec![both]
            }
        };
        for (i, by) in replacements.into_iter().enumerate() {
            let found = self.at_value(k, values, (i, by), nodes)?;
            for (place, node) in found.into_iter().enumerate() {
                let mut part = self.scope.expr(node);
                if let Some(along) = along.filter(|along| !part.dims().contains(along)) {
                    let full = [part.dims(), vec![along]].concat();
                    part = part.broadcast(self.scope, &full);
                }
                match out.get_mut(place) {
                    Some(weights) => weights.parts.push(part),
                    None => out.push(Weights {
                        parts: vec![part],
                        along,
                    }),
                }
            }
        }
        Ok(out)
    }

    /// The values of every element along a dim.
    fn every_value(&self, z: &Discrete, dim: DimId) -> Value<'g> {
        let values: Vec<f64> = (0..z.count).map(|i| z.low + i as f64).collect();
        let name = format!("values of {}", z.name);
        let values = self.scope.bound_data(&name, &[dim], &values);
        values.broadcast(self.scope, &[&z.dims[..], &[dim]].concat())
    }

    /// The elements of every combination along a dim; the last element changes fastest.
    fn every_combination(&self, z: &Discrete, dim: DimId) -> Value<'g> {
        let (n, combinations) = self.scope.with(|g| (g.len_of(&z.dims), g.size(dim)));
        let mut values = Vec::with_capacity(n * combinations);
        for i in 0..n {
            let step = z.count.pow((n - 1 - i) as u32);
            values.extend((0..combinations).map(|c| z.low + (c / step % z.count) as f64));
        }
        let dims = [&z.dims[..], &[dim]].concat();
        let name = format!("combinations of {}", z.name);
        self.scope.bound_data(&name, &dims, &values)
    }

    /// `nodes` with other nodes in the place of variable `k`, the `i`th value where they come one by
    /// one.
    fn at_value(
        &mut self,
        k: usize,
        values: &Values,
        (i, mut replaced): (usize, HashMap<NodeId, NodeId>),
        nodes: &[NodeId],
    ) -> Result<Vec<NodeId>, NodeId> {
        let holes: Vec<NodeId> = self.discrete[k].holes().collect();
        let needed = self.scope.with(|g| g.needed(nodes));
        let needed = |node: NodeId| needed.get(node.index()) == Some(&true);
        let all: Vec<LookUp> = self.look_ups.clone();
        for look_up in all.iter().filter(|l| needed(l.node)) {
            let depends = self.scope.with(|g| g.dependents(&holes));
            let by_this = look_up.of == k;
            if !by_this && !depends[look_up.table.index()] {
                continue;
            }
            let table = self.scope.widen(&[look_up.table], &replaced)?[0];
            let node = match by_this {
                true => self.looked_up(k, look_up, table, values, i),
                false => Some(self.again(look_up, table)),
            };
            replaced.extend(node.map(|node| (look_up.node, node)));
        }
        self.scope.widen(nodes, &replaced)
    }

    /// What variable `k` picks of `table`, which stands for that of `look_up`, at its values; none
    /// where that is computed as it is written.
    fn looked_up(
        &self,
        k: usize,
        look_up: &LookUp,
        table: NodeId,
        values: &Values,
        i: usize,
    ) -> Option<NodeId> {
        let z = &self.discrete[k];
        let scope = self.scope;
        let (own, n_own) = scope.with(|g| (g.dims(table).to_vec(), g.dims(look_up.table).len()));
        let mut more = own[n_own..].to_vec();
        let first = z.low as usize;
        let picked = match values {
            Values::Together(_) => return None,
            Values::Each => scope
                .with(|g| g.element(table, look_up.axis, first + i))
                .ok()?,
            Values::Along(_) | Values::Moves(..) => {
                let dim = &self.dim_of_values(z, look_up, values)?;
                if own.contains(dim) {
                    return None;
                }
                let (dim_name, axis) = (self.name_of(*dim), self.name_of(look_up.axis));
                let name = format!("{dim_name} along {axis}");
                let at: Vec<u32> = (first..first + z.count).map(|v| v as u32).collect();
                let index = scope.bound_index(&name, *dim, look_up.axis, &at);
                more.push(*dim);
                scope.with(|g| g.gather(table, index))
            }
        };
        more.sort_unstable();
        Some(scope.with(|g| {
            let dims = [g.dims(look_up.node), &more].concat();
            g.broadcast(picked, &dims)
        }))
    }

    /// The dim along which the values stand that `look_up` is by.
    fn dim_of_values(&self, z: &Discrete, look_up: &LookUp, values: &Values) -> Option<DimId> {
        match (values, &z.before) {
            (Values::Along(dim), _) => Some(*dim),
            (Values::Moves(from, to), Some(before)) => {
                let depends = self.scope.with(|g| g.dependents(&[before.hole]));
                Some(if depends[look_up.by.index()] {
                    *from
                } else {
                    *to
                })
            }
            _ => None,
        }
    }

    /// The look-up of another variable in a table that depends on this one.
    fn again(&mut self, look_up: &LookUp, table: NodeId) -> NodeId {
        let scope = self.scope;
        let made = self.pick_along(scope.expr(table), look_up.axis, scope.expr(look_up.by));
        let made = scope.node(made);
        self.note(LookUp {
            node: made,
            table,
            ..look_up.clone()
        });
        scope.with(|g| {
            let n_own = g.dims(look_up.table).len();
            let more = &g.dims(table)[n_own..];
            let dims = [g.dims(look_up.node), more].concat();
            g.broadcast(made, &dims)
        })
    }

    /// A part of a term at every value, summed to the elements of the variable (all of them where
    /// `over` has no dims), and what of it depends on no element.
    pub(super) fn by_element(
        &self,
        z: &Discrete,
        piece: &Piece,
        over: &[DimId],
        weights: &Weights<'g>,
    ) -> Weights<'g> {
        let own = self.scope.with(|g| g.dims(piece.node).to_vec());
        weights.map(|x| {
            let more: Vec<DimId> = x.dims()[own.len()..].to_vec();
            let behind = [over, &more].concat();
            let sum = match &piece.owner {
                _ if over.is_empty() => x.sum_over(&own),
                Owner::Same => {
                    let others: Vec<DimId> = own
                        .iter()
                        .copied()
                        .filter(|d| !z.dims.contains(d))
                        .collect();
                    x.sum_over(&others)
                }
                Owner::By(owners) => self.grouped(z, (x, &own), owners, &more),
            };
            sum.broadcast(self.scope, &behind)
        })
    }

    /// Sums over the elements of a term that belong to each element of the variable.
    fn grouped(
        &self,
        z: &Discrete,
        (x, own): (Value<'g>, &[DimId]),
        owners: &[u32],
        more: &[DimId],
    ) -> Value<'g> {
        let scope = self.scope;
        let mut x = x;
        if owners.contains(&NONE) {
            let some = self.with_owner(z, own, owners);
            let some = some.broadcast(scope, &x.dims());
            x = some.select(x, Value::lit(0.0));
        }
        let at: Vec<u32> = owners
            .iter()
            .map(|&o| if o == NONE { 0 } else { o })
            .collect();
        let (rows, target) = self.flat_apart(own, &z.dims);
        let index = self.known_index(z, rows, target, &at);
        let node = scope.node(x);
        let sums = scope.expr(scope.with(|g| {
            let flat = g.relabel(node, &[&[rows], more].concat());
            let sums = g.segment_sum(flat, index);
            g.relabel(sums, &[&z.dims[..], more].concat())
        }));
        // Of an element without rows the sum is 0, even if a row would be impossible.
        let n = scope.with(|g| g.len_of(&z.dims));
        let mut has_rows = vec![0.0; n];
        owners
            .iter()
            .filter(|&&o| o != NONE)
            .for_each(|&o| has_rows[o as usize] = 1.0);
        if !has_rows.contains(&0.0) {
            return sums;
        }
        let name = format!("elements of {} with rows ({})", z.name, tag(owners));
        let has_rows = scope.bound_data(&name, &z.dims, &has_rows);
        let has_rows = has_rows.broadcast(scope, &sums.dims());
        has_rows.select(sums, Value::lit(0.0))
    }

    /// 1 for the elements of a term that depend on some element of the variable, 0 for others.
    pub(super) fn with_owner(&self, z: &Discrete, own: &[DimId], owners: &[u32]) -> Value<'g> {
        let some: Vec<f64> = owners
            .iter()
            .map(|&o| f64::from(u8::from(o != NONE)))
            .collect();
        let name = format!("with some element of {} ({})", z.name, tag(owners));
        self.scope.bound_data(&name, own, &some)
    }

    /// An index with these positions: one of the data where there is one.
    pub(super) fn known_index(
        &self,
        z: &Discrete,
        rows: DimId,
        target: DimId,
        at: &[u32],
    ) -> fitzroy_graph::IndexId {
        let slots = self.scope.with(|g| {
            let slots = g.index_ids().zip(g.index_slots());
            let fits = slots.filter(|(_, s)| s.rows == rows && s.target == target);
            fits.map(|(id, _)| id).collect::<Vec<_>>()
        });
        let mut slots = slots.into_iter();
        let known = slots.find(|&id| self.scope.index_positions(id) == at);
        known.unwrap_or_else(|| {
            let name = format!("element of {} ({})", z.name, tag(at));
            self.scope.bound_index(&name, rows, target, at)
        })
    }
}

/// Tells lists apart that are not the same.
fn tag(list: &[u32]) -> String {
    let mut hash = Fnv::default();
    list.iter().for_each(|x| hash.bytes(&x.to_le_bytes()));
    format!("{:016x}", hash.0)
}
