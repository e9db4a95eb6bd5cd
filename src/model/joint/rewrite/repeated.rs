//! Identical rows of a likelihood, counted instead of repeated.

use super::super::TermKind;
use super::super::build::Build;
use super::{Rewrites, Rewrote};
use fitzroy_graph::reference::flat_positions;
use fitzroy_graph::{DimId, IndexId, NodeId, Op};
use std::collections::{BTreeSet, HashMap};

/// Rows for each different one, at least, for counting to be worth while.
const FEWEST_COPIES: usize = 2;

/// What one row of a term is computed from.
struct Rows {
    dim: DimId,
    n: usize,
    nodes: BTreeSet<NodeId>,
    /// Nodes that do not vary: all elements, and the row of each.
    known: Vec<(NodeId, Vec<f64>, Vec<u32>)>,
    lookups: Vec<(IndexId, Vec<u32>)>,
}

impl Build<'_, '_> {
    /// Counts identical rows of the likelihood terms that `skip` does not name.
    pub(in super::super) fn count_rows(
        &mut self,
        rewrites: Rewrites,
        skip: &[usize],
    ) -> Vec<Rewrote> {
        let mut done = Vec::new();
        for at in 0..self.terms.len() {
            let term = &self.terms[at];
            if !rewrites.dedup || term.kind != TermKind::Likelihood || skip.contains(&at) {
                continue;
            }
            let (node, name) = (term.node, term.name.clone());
            let Some(rows) = self.rows(node) else {
                continue;
            };
            let (first, counts) = rows.distinct();
            if rows.n < FEWEST_COPIES * first.len() {
                continue;
            }
            self.terms[at].sum =
                self.counted(node, &rows, (&first, &counts), &format!("{name} ({at})"));
            done.push(Rewrote::counted(&name, rows.n, first.len()));
        }
        done
    }

    fn rows(&self, node: NodeId) -> Option<Rows> {
        let (dim, nodes, n) = self.scope.with(|g| {
            let dims = g.dims(node).to_vec();
            let dim = dims.into_iter().max_by_key(|&d| g.size(d))?;
            Some((dim, g.row_by_row(node, dim)?, g.size(dim)))
        })?;
        let mut known = Vec::new();
        let mut lookups: Vec<(IndexId, Vec<u32>)> = Vec::new();
        for &id in &nodes {
            let (node, varies, to_row) = self.scope.with(|g| {
                let node = g.node(id).clone();
                let to_row = flat_positions(g, &node.dims, &[dim]);
                (node, g.varies(id), to_row)
            });
            if !varies {
                known.push((id, self.scope.known(self.scope.expr(id))?, to_row));
            } else if let Op::Gather(index) = node.op
                && !lookups.iter().any(|(i, _)| *i == index)
                && self
                    .scope
                    .with(|g| g.index_slots()[index.index()].rows == dim)
            {
                lookups.push((index, self.scope.index_positions(index)));
            }
        }
        Some(Rows {
            dim,
            n,
            nodes,
            known,
            lookups,
        })
    }

    /// Σ over the different rows of how often they occur times what they give.
    fn counted(
        &self,
        root: NodeId,
        rows: &Rows,
        (first, counts): (&[usize], &[f64]),
        name: &str,
    ) -> NodeId {
        let scope = self.scope;
        let to = scope.dim(&format!("{name}: different rows"), first.len());
        let mut place = vec![usize::MAX; rows.n];
        first
            .iter()
            .enumerate()
            .for_each(|(k, &row)| place[row] = k);
        let mut leaves = HashMap::new();
        for (id, values, to_row) in &rows.known {
            let dims = scope.with(|g| g.dims(*id).to_vec());
            let dims: Vec<DimId> = dims
                .iter()
                .map(|&d| if d == rows.dim { to } else { d })
                .collect();
            // Elements of kept rows, in the order of the kept rows along the dim.
            let mut kept = vec![0.0; scope.with(|g| g.len_of(&dims))];
            let wide = scope.with(|g| flat_positions(g, &dims, &[to]));
            let mut at_row: Vec<Vec<usize>> = vec![Vec::new(); first.len()];
            wide.iter()
                .enumerate()
                .for_each(|(i, &r)| at_row[r as usize].push(i));
            let mut seen = vec![0; first.len()];
            for (value, &row) in values.iter().zip(to_row) {
                let k = place[row as usize];
                if k != usize::MAX {
                    kept[at_row[k][seen[k]]] = *value;
                    seen[k] += 1;
                }
            }
            let data = scope.bound_data(&format!("{name}: rows of %{}", id.index()), &dims, &kept);
            leaves.insert(*id, scope.node(data));
        }
        let mut lookups = HashMap::new();
        for (index, at) in &rows.lookups {
            let target = scope.with(|g| g.index_slots()[index.index()].target);
            let at: Vec<u32> = first.iter().map(|&row| at[row]).collect();
            let name = format!("{name}: lookup {}", index.index());
            lookups.insert(*index, scope.bound_index(&name, to, target, &at));
        }
        let nodes = &rows.nodes;
        let each = scope.with(|g| g.over_rows(root, nodes, (rows.dim, to), &leaves, &lookups));
        let counts = scope.bound_data(&format!("{name}: copies"), &[to], counts);
        scope.node((scope.expr(each) * counts).sum_all())
    }
}

impl Rows {
    /// The first of each kind of rows, and how many there are of each.
    fn distinct(&self) -> (Vec<usize>, Vec<f64>) {
        let mut keys: Vec<Vec<u64>> = vec![Vec::new(); self.n];
        for (_, values, to_row) in &self.known {
            for (value, &row) in values.iter().zip(to_row) {
                keys[row as usize].push(value.to_bits());
            }
        }
        for (_, at) in &self.lookups {
            keys.iter_mut()
                .zip(at)
                .for_each(|(key, &i)| key.push(u64::from(i)));
        }
        let mut places: HashMap<Vec<u64>, usize> = HashMap::new();
        let (mut first, mut counts) = (Vec::new(), Vec::new());
        for (row, key) in keys.into_iter().enumerate() {
            let next = first.len();
            let at = *places.entry(key).or_insert(next);
            if at == next {
                first.push(row);
                counts.push(0.0);
            }
            counts[at] += 1.0;
        }
        (first, counts)
    }
}
