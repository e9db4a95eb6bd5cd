//! The same computation with arrays of more dims in the place of some nodes.

use crate::graph::{DimId, Graph, Node, NodeId};
use crate::op::Op;
use crate::{Binary, Scope};
use std::collections::HashMap;

/// Says of a condition that does not vary what it comes to, where that is the same for all elements.
type Decide<'a> = &'a dyn Fn(&Graph, NodeId) -> Option<bool>;

impl Scope {
    /// `roots` computed with other nodes in the place of those that `replacements` names. A
    /// replacement has the dims of the node, in their order, and perhaps others behind them; whatever
    /// is computed from it has these behind its own, in the order of their numbers.
    ///
    /// # Errors
    /// The first node that cannot have more dims: an operation of one matrix, or a recurrence.
    ///
    /// # Panics
    /// When a replacement has not the dims of the node first.
    pub fn widen(
        &self,
        roots: &[NodeId],
        replacements: &HashMap<NodeId, NodeId>,
    ) -> Result<Vec<NodeId>, NodeId> {
        self.with_bound(|graph, bindings| {
            let decide = |graph: &Graph, condition: NodeId| {
                if graph.varies(condition) {
                    return None;
                }
                let params = vec![0.0; graph.n_params()];
                let values = crate::evaluate(graph, bindings, &params, &[condition]).pop()?;
                let first = *values.first()? != 0.0;
                values.iter().all(|&v| (v != 0.0) == first).then_some(first)
            };
            graph.widen(roots, replacements, &decide)
        })
    }
}

impl Graph {
    fn widen(
        &mut self,
        roots: &[NodeId],
        replacements: &HashMap<NodeId, NodeId>,
        decide: Decide<'_>,
    ) -> Result<Vec<NodeId>, NodeId> {
        for (old, new) in replacements {
            let (old, new) = (self.dims(*old), self.dims(*new));
            assert_eq!(new.get(..old.len()), Some(old), "own dims come first");
        }
        let end = roots.iter().map(|r| r.index() + 1).max().unwrap_or(0);
        let mut needed = vec![false; end];
        roots.iter().for_each(|r| needed[r.index()] = true);
        for at in (0..end).rev() {
            if needed[at] && !replacements.contains_key(&NodeId(at as u32)) {
                let inputs = self.nodes[at].inputs.iter();
                inputs.for_each(|i| needed[i.index()] = true);
            }
        }
        let mut new: Vec<NodeId> = (0..end as u32).map(NodeId).collect();
        for at in 0..end {
            let old = NodeId(at as u32);
            if let Some(&replacement) = replacements.get(&old) {
                new[at] = replacement;
            } else if needed[at] {
                let inputs = &self.nodes[at].inputs;
                let inputs: Vec<NodeId> = inputs.iter().map(|i| new[i.index()]).collect();
                if inputs != self.nodes[at].inputs {
                    new[at] = self.widened(old, &inputs, decide).ok_or(old)?;
                }
            }
        }
        Ok(roots.iter().map(|r| new[r.index()]).collect())
    }

    /// Node `old` of other inputs, which may have more dims.
    fn widened(&mut self, old: NodeId, x: &[NodeId], decide: Decide<'_>) -> Option<NodeId> {
        let node = self.node(old).clone();
        let mut more: Vec<DimId> = Vec::new();
        for (before, after) in node.inputs.iter().zip(x) {
            let behind = &self.dims(*after)[self.dims(*before).len()..];
            more.extend(behind);
        }
        more.sort_unstable();
        more.dedup();
        let full = [&node.dims[..], &more].concat();
        let out = match node.op {
            Op::Unary(_) | Op::Binary(_) | Op::Select | Op::WithSlopes => {
                let x: Vec<NodeId> = x.iter().map(|&x| self.broadcast(x, &full)).collect();
                self.element_by_element(&node.op, &x, decide)?
            }
            Op::Broadcast => self.broadcast(x[0], &full),
            Op::Relabel => self.relabel(x[0], &full),
            Op::Gather(index) => self.gather(x[0], index),
            Op::SegmentSum(index) => self.segment_sum(x[0], index),
            Op::CumSum { axis, reverse } => self.cum_sum(x[0], axis, reverse),
            Op::Sum | Op::MaxOver | Op::Slice { .. } | Op::Unslice { .. } => {
                self.along_one(&node, x[0])?
            }
            Op::Contract { ref over } => self.contract(x[0], x[1], over).ok()?,
            Op::TriSolve { transpose } if x[0] == node.inputs[0] => {
                let (k, rest) = full.split_first()?;
                let name: Vec<String> = rest
                    .iter()
                    .map(|&d| self.dim_info(d).name.clone())
                    .collect();
                let size = self.len_of(rest);
                let columns = self.dim(&name.join("*"), size);
                let flat = self.relabel(x[1], &[*k, columns]);
                let solved = self.tri_solve(x[0], flat, transpose);
                self.relabel(solved, &full)
            }
            ref op if more.is_empty() => self.push(op.clone(), x.to_vec(), node.dims.clone()),
            _ => return None,
        };
        Some(self.broadcast(out, &full))
    }

    fn element_by_element(&mut self, op: &Op, x: &[NodeId], decide: Decide<'_>) -> Option<NodeId> {
        Some(match *op {
            Op::Unary(op) => self.unary(op, x[0]),
            Op::Binary(op) => self.bin(op, x[0], x[1]),
            Op::Select => match decide(self, x[0]) {
                Some(taken) => x[if taken { 1 } else { 2 }],
                None => self.select(x[0], x[1], x[2]).ok()?,
            },
            _ => {
                let slopes: Vec<(NodeId, NodeId)> = x[1..]
                    .chunks_exact(2)
                    .map(|pair| (pair[0], pair[1]))
                    .collect();
                self.with_slopes(x[0], &slopes)
            }
        })
    }

    /// `node`, which changes axes of its one input, of another input.
    fn along_one(&mut self, node: &Node, x: NodeId) -> Option<NodeId> {
        let before = self.dims(node.inputs[0]).to_vec();
        let gone = before.iter().copied().filter(|d| !node.dims.contains(d));
        let gone: Vec<DimId> = gone.collect();
        Some(match node.op {
            Op::Sum => self.sum(x, &gone),
            Op::MaxOver => self.max_over(x, &gone),
            Op::Slice { axis, start } => {
                let at = before.iter().position(|&d| d == axis)?;
                let len = self.size(node.dims[at]);
                self.slice(x, axis, start, len).ok()?
            }
            Op::Unslice { axis, start } => {
                let at = node.dims.iter().position(|&d| d == axis)?;
                self.unslice(x, before[at], axis, start)
            }
            _ => return None,
        })
    }

    /// Of each element of `root` the greatest number that `leaf` has where it is computed from
    /// `sources`, 0 where it is not; `leaf` has the dims of each source and numbers above 0. Where
    /// elements are not told apart, the greatest of more.
    pub fn greatest_source(&mut self, root: NodeId, sources: &[NodeId], leaf: NodeId) -> NodeId {
        let depends = self.dependents(sources);
        let needed = self.needed(&[root]);
        let mut found: HashMap<NodeId, NodeId> = sources.iter().map(|&s| (s, leaf)).collect();
        for at in 0..=root.index() {
            let id = NodeId(at as u32);
            if !needed[at] || !depends[at] || sources.contains(&id) {
                continue;
            }
            let node = self.node(id).clone();
            let made = match (&node.op, &node.inputs[..]) {
                // A choice by what is known depends on what is chosen.
                (Op::Select, &[condition, a, b])
                    if !found.contains_key(&condition) && !self.varies(condition) =>
                {
                    let nothing = self.lit(0.0);
                    let nothing = self.broadcast(nothing, &node.dims);
                    let [a, b] = [a, b].map(|i| found.get(&i).copied().unwrap_or(nothing));
                    self.push(Op::Select, vec![condition, a, b], node.dims.clone())
                }
                _ => {
                    let inputs = node.inputs.iter().filter_map(|i| found.get(i).copied());
                    let inputs: Vec<NodeId> = inputs.collect();
                    self.source_of(&node, &inputs)
                }
            };
            found.insert(id, made);
        }
        found.get(&root).copied().unwrap_or_else(|| {
            let zero = self.lit(0.0);
            let dims = self.dims(root).to_vec();
            self.broadcast(zero, &dims)
        })
    }

    fn source_of(&mut self, node: &Node, inputs: &[NodeId]) -> NodeId {
        let x = inputs[0];
        let alone = inputs.len() == 1;
        match node.op {
            Op::Unary(_) | Op::Binary(_) | Op::Select | Op::WithSlopes => {
                let rest = inputs[1..].iter();
                rest.fold(x, |a, &b| {
                    self.push(Op::Binary(Binary::Max), vec![a, b], node.dims.clone())
                })
            }
            Op::Gather(_) | Op::Slice { .. } | Op::Unslice { .. } | Op::Relabel | Op::Broadcast => {
                self.push(node.op.clone(), vec![x], node.dims.clone())
            }
            Op::Sum | Op::MaxOver if alone => self.greatest_within(x, &node.dims),
            Op::Contract { ref over } => {
                let all = [&node.dims[..], over].concat();
                let mut wide = inputs
                    .iter()
                    .map(|&i| self.broadcast(i, &all))
                    .collect::<Vec<_>>();
                let mut most = wide.remove(0);
                for other in wide {
                    most = self.push(Op::Binary(Binary::Max), vec![most, other], all.clone());
                }
                self.greatest_within(most, &node.dims)
            }
            // Whatever an element is computed from, it is no more than all of the inputs.
            _ => {
                let all = inputs.iter().map(|&i| self.greatest_within(i, &[]));
                let all: Vec<NodeId> = all.collect();
                let most = all[1..].iter();
                let most = most.fold(all[0], |a, &b| self.bin(Binary::Max, a, b));
                self.broadcast(most, &node.dims)
            }
        }
    }

    /// The greatest element of `x` over the dims that `dims` has not.
    fn greatest_within(&mut self, x: NodeId, dims: &[DimId]) -> NodeId {
        let own = self.dims(x).to_vec();
        let over: Vec<DimId> = own.into_iter().filter(|d| !dims.contains(d)).collect();
        self.max_over(x, &over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bindings, Unary, evaluate};

    /// Catches: a dim that is left behind or summed away, elements in another order, a sum over too
    /// much, a product that sums over the new dim.
    #[test]
    fn every_value_of_a_new_dim_gives_what_it_gives_alone() {
        let scope = Scope::new();
        let (obs, group, k) = (
            scope.dim("obs", 3),
            scope.dim("group", 2),
            scope.dim("k", 4),
        );
        let index = scope.bound_index("i", obs, group, &[1, 0, 1]);
        let weights = scope.bound_data("w", &[obs, group], &[0.3, 1.2, -0.4, 0.8, 0.1, -2.0]);
        let x = scope.param(0, &[group]);
        let hole = scope.with(|g| g.hole(&[group]));
        let (x, w) = (scope.node(x), scope.node(weights));
        let roots = scope.with(|g| {
            let product = g.bin(Binary::Mul, hole, x);
            let looked = g.gather(product, index);
            let exp = g.unary(Unary::Exp, looked);
            let running = g.cum_sum(exp, obs, true);
            let part = g.slice(running, obs, 1, 2).unwrap();
            let short = g.dims(part)[0];
            let back = g.unslice(part, short, obs, 1);
            let dot = g.contract(w, product, &[group]).unwrap();
            let both = g.bin(Binary::Add, back, dot);
            let most = g.max_over(both, &[obs]);
            let sum = g.sum(both, &[obs]);
            let wide = g.broadcast(sum, &[group]);
            let chosen = g.select(hole, wide, product).unwrap();
            let flat = g.dim("flat", 3);
            let renamed = g.relabel(both, &[flat]);
            vec![chosen, most, renamed]
        });
        let values = [0.0, -1.0, 0.5, 2.0];
        let table: Vec<f64> = (0..2)
            .flat_map(|g| values.map(|v| v * f64::from(1 + g)))
            .collect();
        let wide = scope.bound_data("values", &[group, k], &table);
        let widened = scope
            .widen(&roots, &HashMap::from([(hole, scope.node(wide))]))
            .unwrap();
        let mut singles = Vec::new();
        for (at, v) in values.iter().enumerate() {
            let one = scope.bound_data(&format!("value {at}"), &[group], &[*v, 2.0 * v]);
            let replaced = HashMap::from([(hole, scope.node(one))]);
            singles.push(scope.widen(&roots, &replaced).unwrap());
        }
        let (graph, bindings) = scope.finish_bound();
        let at = |nodes: &[NodeId]| evaluate(&graph, &bindings, &[0.7, -1.3], nodes);
        let all = at(&widened);
        for (v, nodes) in singles.iter().enumerate() {
            for (root, own) in at(nodes).iter().enumerate() {
                for (i, x) in own.iter().enumerate() {
                    let other = all[root][i * values.len() + v];
                    assert!(
                        (x - other).abs() <= 1e-12 * (1.0 + x.abs()),
                        "{root} {i} {v}"
                    );
                }
            }
        }
    }

    #[test]
    fn sources_are_followed_through_lookups_and_sums() {
        let mut g = Graph::new();
        let (obs, group) = (g.dim("obs", 3), g.dim("group", 2));
        let index = g.index("i", obs, group);
        let source = g.hole(&[group]);
        let leaf = g.data("leaf", &[group]);
        let looked = g.gather(source, index);
        let alone = g.greatest_source(looked, &[source], leaf);
        let sum = g.sum_all(looked);
        let all = g.greatest_source(sum, &[source], leaf);
        let bindings = Bindings {
            data: vec![vec![1.0, 2.0]],
            indices: vec![vec![1, 0, 1]],
        };
        let out = evaluate(&g, &bindings, &[], &[alone, all]);
        assert_eq!(out, [vec![2.0, 1.0, 2.0], vec![2.0]]);
    }
}
