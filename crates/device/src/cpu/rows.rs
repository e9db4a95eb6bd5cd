//! Row order: rows are sorted once, by the index that costs most, so that lookups by it become
//! runs and sums by it become sums of runs. Where groups have few rows each and about equally
//! many, the first rows of all groups come first, then the second rows, and so on: then lookups
//! are copies of stretches and sums add stretches.

use super::program::{Runs, WORTH_RISING};
use fitzroy_graph::{Bindings, DimId, Graph, IndexId, NodeId, Op};

/// A reordering of the rows of some dims, applied to everything bound.
pub(crate) struct RowOrder {
    /// The bound arrays in the new order.
    pub(crate) bindings: Bindings,
    /// For each reordered dim, the old position of each new row.
    pub(crate) from: Vec<(DimId, Vec<u32>)>,
}

impl RowOrder {
    /// Chooses and applies the order for what `needed` marks.
    pub(crate) fn new(graph: &Graph, bindings: &Bindings, needed: &[bool]) -> Self {
        let mut order = RowOrder {
            bindings: bindings.clone(),
            from: Vec::new(),
        };
        for (dim, index) in choose(graph, needed) {
            let keys = &order.bindings.indices[index.index()];
            let mut from = by_group(keys);
            if !order.has_nested(graph, dim, index, &from)
                && let Some(dealt) = by_rank(keys, &from)
            {
                from = dealt;
            }
            if !from.is_sorted() {
                order.apply(graph, dim, &from);
                order.from.push((dim, from));
            }
        }
        order
    }

    /// True when the order `from`, by `index`, also sorts another index over `dim`.
    fn has_nested(&self, graph: &Graph, dim: DimId, index: IndexId, from: &[u32]) -> bool {
        graph.index_ids().any(|other| {
            let keys = &self.bindings.indices[other.index()];
            other != index
                && graph.index_slots()[other.index()].rows == dim
                && from.is_sorted_by_key(|&row| keys[row as usize])
        })
    }

    fn apply(&mut self, graph: &Graph, dim: DimId, from: &[u32]) {
        for (slot, rows) in graph.index_slots().iter().zip(&mut self.bindings.indices) {
            if slot.rows == dim {
                *rows = from.iter().map(|&row| rows[row as usize]).collect();
            }
        }
        for (slot, array) in graph.data_slots().iter().zip(&mut self.bindings.data) {
            *array = permute(graph, &slot.dims, dim, from, array, false);
        }
    }

    /// Where each element of an output in the user's order stands in ours; `None` if nowhere else.
    pub(crate) fn output_positions(&self, graph: &Graph, dims: &[DimId]) -> Option<Vec<u32>> {
        if !self.from.iter().any(|(dim, _)| dims.contains(dim)) {
            return None;
        }
        let n = graph.len_of(dims);
        let mut at: Vec<f64> = (0..n).map(|i| i as f64).collect();
        for (dim, from) in &self.from {
            at = permute(graph, dims, *dim, from, &at, true);
        }
        Some(at.iter().map(|&x| x as u32).collect())
    }
}

/// Rows sorted by group; those of a group keep their order.
fn by_group(keys: &[u32]) -> Vec<u32> {
    let mut from: Vec<u32> = (0..keys.len() as u32).collect();
    from.sort_by_key(|&row| keys[row as usize]); // stable
    from
}

/// Rows dealt out: the first of every group, then the second of every group, and so on; `None`
/// where that gives no longer runs than `sorted`, the order by group.
fn by_rank(keys: &[u32], sorted: &[u32]) -> Option<Vec<u32>> {
    let groups = sorted.chunk_by(|&a, &b| keys[a as usize] == keys[b as usize]);
    let n_groups = groups.clone().count();
    let mut ranked: Vec<(usize, u32)> =
        groups.flat_map(|g| g.iter().copied().enumerate()).collect();
    ranked.sort_by_key(|&(rank, _)| rank); // stable: groups keep their order
    let from: Vec<u32> = ranked.into_iter().map(|(_, row)| row).collect();
    let dealt: Vec<u32> = from.iter().map(|&row| keys[row as usize]).collect();
    let runs = Runs::rising(&dealt);
    (runs.len() < n_groups && runs.mean_len() >= WORTH_RISING).then_some(from)
}

/// Reorders an array along `dim`, if it has it: new row i is old row `from[i]`, or with `back`
/// old row i becomes new row `from[i]`.
fn permute(
    graph: &Graph,
    dims: &[DimId],
    dim: DimId,
    from: &[u32],
    array: &[f64],
    back: bool,
) -> Vec<f64> {
    if !dims.contains(&dim) {
        return array.to_vec();
    }
    let (outer, n, inner) = fitzroy_graph::reference::around(graph, dims, dim);
    let mut out = vec![0.0; array.len()];
    for o in 0..outer {
        for (new, &old) in from.iter().enumerate() {
            let (to, source) = if back {
                (old as usize, new)
            } else {
                (new, old as usize)
            };
            let (to, source) = ((o * n + to) * inner, (o * n + source) * inner);
            out[to..to + inner].copy_from_slice(&array[source..source + inner]);
        }
    }
    out
}

/// For each dim whose rows may be reordered, the index used most over it.
fn choose(graph: &Graph, needed: &[bool]) -> Vec<(DimId, IndexId)> {
    let slots = graph.index_slots();
    let mut uses = vec![0usize; slots.len()];
    let mut fixed: Vec<DimId> = slots.iter().map(|s| s.target).collect();
    for (at, node) in graph.nodes().iter().enumerate() {
        if !needed[at] {
            continue;
        }
        match &node.op {
            Op::Gather(i) | Op::SegmentSum(i) => {
                uses[i.index()] += graph.len_of(&node.dims).max(graph.len(node.inputs[0]));
            }
            Op::Const(_)
            | Op::Data(_)
            | Op::Unary(_)
            | Op::Binary(_)
            | Op::Select
            | Op::Broadcast
            | Op::Sum
            | Op::MaxOver
            | Op::Contract { .. } => {}
            // Parameters and everything that knows the order of its rows.
            _ => {
                fixed.extend(&node.dims);
                for &input in &node.inputs {
                    fixed.extend(graph.dims(input));
                }
            }
        }
    }
    let mut chosen: Vec<(DimId, IndexId)> = Vec::new();
    for (k, slot) in slots.iter().enumerate() {
        if uses[k] == 0 || fixed.contains(&slot.rows) {
            continue;
        }
        let id = index_id(graph, k);
        match chosen.iter_mut().find(|(dim, _)| *dim == slot.rows) {
            Some((_, best)) if uses[best.index()] < uses[k] => *best = id,
            Some(_) => {}
            None => chosen.push((slot.rows, id)),
        }
    }
    chosen
}

fn index_id(graph: &Graph, k: usize) -> IndexId {
    graph.index_ids().nth(k).expect("k counts the slots")
}

/// True when `node` is a whole number of repeats of a scalar.
pub(crate) fn scalar_core(graph: &Graph, node: NodeId) -> Option<NodeId> {
    let n = graph.node(node);
    match n.op {
        Op::Broadcast if graph.dims(n.inputs[0]).is_empty() => Some(n.inputs[0]),
        _ => None,
    }
}
