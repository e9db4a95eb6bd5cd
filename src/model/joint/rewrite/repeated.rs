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
            let Some((sum, rows, different)) = self.counted_rows(node, &format!("{name} ({at})"))
            else {
                continue;
            };
            self.terms[at].sum = sum;
            done.push(Rewrote::counted(&name, rows, different));
        }
        done
    }

    /// The sum over `node`, with identical rows counted, where that is worth while.
    pub(super) fn counted_sum(&self, node: NodeId, name: &str) -> Option<NodeId> {
        self.counted_rows(node, name).map(|found| found.0)
    }

    /// The same, with the number of all rows and of the different ones.
    fn counted_rows(&self, node: NodeId, name: &str) -> Option<(NodeId, usize, usize)> {
        let rows = self.rows(node)?;
        let (first, counts) = rows.keys().kinds()?;
        let sum = self.counted(node, &rows, (&first, &counts), name);
        Some((sum, rows.n, first.len()))
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
    /// What is known of every row, row after row.
    fn keys(&self) -> Keys {
        let mut start = vec![0; self.n + 1];
        let places = self.known.iter().flat_map(|(_, _, to_row)| to_row);
        places.for_each(|&row| start[row as usize + 1] += 1);
        for row in 0..self.n {
            start[row + 1] += start[row] + self.lookups.len();
        }
        let mut next = start.clone();
        let mut words = vec![0; start[self.n]];
        let mut push = |row: usize, word: u64| {
            words[next[row]] = word;
            next[row] += 1;
        };
        for (_, values, to_row) in &self.known {
            for (value, &row) in values.iter().zip(to_row) {
                push(row as usize, value.to_bits());
            }
        }
        for (_, at) in &self.lookups {
            at.iter()
                .enumerate()
                .for_each(|(row, &i)| push(row, u64::from(i)));
        }
        Keys { words, start }
    }
}

/// The words of all rows, in one array: a row of its own for each took most of the time of binding
/// a million.
struct Keys {
    words: Vec<u64>,
    /// Where the words of each row begin, and the end.
    start: Vec<usize>,
}

impl Keys {
    fn of(&self, row: usize) -> &[u64] {
        &self.words[self.start[row]..self.start[row + 1]]
    }

    /// The first of each kind of rows, and how many there are of each; none where there are too many
    /// kinds for counting to be worth while.
    fn kinds(&self) -> Option<(Vec<usize>, Vec<f64>)> {
        let n = self.start.len() - 1;
        let mut places = vec![0u32; (n + 2).next_power_of_two()];
        let (mut first, mut counts) = (Vec::new(), Vec::new());
        for row in 0..n {
            let key = self.of(row);
            let mut slot = hash(key) as usize % places.len();
            // What stands in a slot is counted from 1.
            while places[slot] != 0 && self.of(first[places[slot] as usize - 1]) != key {
                slot = (slot + 1) % places.len();
            }
            if places[slot] == 0 {
                first.push(row);
                counts.push(0.0);
                if n < FEWEST_COPIES * first.len() {
                    return None;
                }
                places[slot] = first.len() as u32;
            }
            counts[places[slot] as usize - 1] += 1.0;
        }
        Some((first, counts))
    }
}

/// A number that is another for most other keys. It decides where rows are looked for, and nothing else.
fn hash(key: &[u64]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |h: u64| (h ^ h >> 32).wrapping_mul(ODD);
    let all = key.iter().fold(0, |h, &word| mix(mix(h) ^ word));
    mix(all) >> 16
}

#[cfg(test)]
mod tests {
    use super::{FEWEST_COPIES, Keys};
    use crate::rng::{Purpose, Rng};
    use std::collections::HashMap;

    /// As [`Keys::kinds`] says it, by a map of the standard library.
    fn by_map(keys: &[Vec<u64>]) -> Option<(Vec<usize>, Vec<f64>)> {
        let mut places: HashMap<&[u64], usize> = HashMap::new();
        let (mut first, mut counts) = (Vec::new(), Vec::new());
        for (row, key) in keys.iter().enumerate() {
            let at = *places.entry(key).or_insert(first.len());
            if at == first.len() {
                first.push(row);
                counts.push(0.0);
            }
            counts[at] += 1.0;
        }
        (keys.len() >= FEWEST_COPIES * first.len()).then_some((first, counts))
    }

    /// Catches: kinds that are mixed up where their places in the table meet, a count that is lost, a
    /// bound that is off by one.
    #[test]
    fn kinds_of_rows_are_those_that_a_map_finds() {
        let mut rng = Rng::new(5, 0, 0, 0, Purpose::Test);
        let mut worth = 0;
        for problem in 0..400 {
            let n = (rng.uniform() * 60.0) as usize;
            let kinds = 1.0 + rng.uniform() * 1.2 * (n as f64 + 1.0).sqrt();
            let mut word = |scale: f64| match problem % 3 {
                0 => (rng.uniform() * scale) as u64,
                1 => (rng.uniform() * scale).floor().to_bits(),
                _ => ((rng.uniform() * scale) as u64) << 52,
            };
            let rows: Vec<Vec<u64>> = (0..n)
                .map(|row| {
                    (0..2 + usize::from(row == 0))
                        .map(|_| word(kinds))
                        .collect()
                })
                .collect();
            let ends = rows.iter().scan(0, |end, row| {
                *end += row.len();
                Some(*end)
            });
            let keys = Keys {
                start: std::iter::once(0).chain(ends).collect(),
                words: rows.concat(),
            };
            assert_eq!(keys.kinds(), by_map(&rows), "problem {problem}");
            worth += usize::from(keys.kinds().is_some());
        }
        assert!((50..350).contains(&worth), "{worth} of 400");
    }
}
