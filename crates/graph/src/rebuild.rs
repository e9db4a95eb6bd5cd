//! Rewriting: what depends on what, and the same computation with some nodes replaced.

use crate::graph::{DimId, Graph, IndexId, NodeId};
use crate::op::Op;
use std::collections::{BTreeSet, HashMap};

impl Graph {
    /// Which nodes depend on any of `sources`, themselves included.
    pub fn dependents(&self, sources: &[NodeId]) -> Vec<bool> {
        let mut depends = vec![false; self.nodes.len()];
        for source in sources {
            depends[source.index()] = true;
        }
        for at in 0..depends.len() {
            let inputs = &self.nodes[at].inputs;
            depends[at] |= inputs.iter().any(|i| depends[i.index()]);
        }
        depends
    }

    /// `roots` computed with other nodes in place of those that `replacements` names. A replacement
    /// is taken as it stands: nodes inside it are not replaced again.
    ///
    /// # Panics
    /// When a replacement has other dims.
    #[track_caller]
    pub fn substitute(
        &mut self,
        roots: &[NodeId],
        replacements: &HashMap<NodeId, NodeId>,
    ) -> Vec<NodeId> {
        for (old, new) in replacements {
            assert_eq!(
                self.dims(*old),
                self.dims(*new),
                "a replacement has the dims"
            );
        }
        let needed = self.needed(roots);
        let end = roots.iter().map(|r| r.index() + 1).max().unwrap_or(0);
        let mut new: Vec<NodeId> = (0..end as u32).map(NodeId).collect();
        for at in 0..end {
            let old = NodeId(at as u32);
            if let Some(&replacement) = replacements.get(&old) {
                new[at] = replacement;
            } else if needed[at] {
                let node = &self.nodes[at];
                let inputs: Vec<NodeId> = node.inputs.iter().map(|i| new[i.index()]).collect();
                if inputs != node.inputs {
                    let (op, dims) = (node.op.clone(), node.dims.clone());
                    new[at] = self.push(op, inputs, dims);
                }
            }
        }
        roots.iter().map(|r| new[r.index()]).collect()
    }

    /// The same computation without [`Op::WithSlopes`], for a device: its outputs there.
    pub fn without_slopes(&self, outputs: &[NodeId]) -> Option<(Graph, Vec<NodeId>)> {
        let given = |node: &crate::graph::Node| node.op == Op::WithSlopes;
        if !self.nodes.iter().any(given) {
            return None;
        }
        let mut graph = self.clone();
        let mut new: Vec<NodeId> = Vec::with_capacity(self.nodes.len());
        for (at, node) in self.nodes.iter().enumerate() {
            let inputs: Vec<NodeId> = node.inputs.iter().map(|i| new[i.index()]).collect();
            new.push(match node.op {
                Op::WithSlopes => inputs[0],
                _ if inputs == node.inputs => NodeId(at as u32),
                _ => graph.push(node.op.clone(), inputs, node.dims.clone()),
            });
        }
        let outputs = outputs.iter().map(|o| new[o.index()]).collect();
        Some((graph, outputs))
    }

    /// The nodes over dim `rows` that `root` is computed from, inputs first, down to the first that
    /// do not vary. None where a row depends on other rows, or is a parameter of its own.
    pub fn row_by_row(&self, root: NodeId, rows: DimId) -> Option<BTreeSet<NodeId>> {
        let mut found = BTreeSet::new();
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            let node = self.node(id);
            if !node.dims.contains(&rows) || !found.insert(id) || !self.varies(id) {
                continue;
            }
            let each = match node.op {
                Op::Unary(_) | Op::Binary(_) | Op::Select | Op::WithSlopes => true,
                Op::Broadcast | Op::Sum | Op::Contract { .. } => true,
                // A lookup among the rows themselves reads other rows.
                Op::Gather(index) => self.indices[index.index()].target != rows,
                _ => false,
            };
            if !each {
                return None;
            }
            open.extend(&node.inputs);
        }
        Some(found)
    }

    /// `root` over rows `to` in place of `from`, where `nodes` are those of [`Graph::row_by_row`];
    /// `leaves` take the place of those that do not vary, `lookups` of indices over the rows.
    ///
    /// # Panics
    /// When one of them is missing.
    pub fn over_rows(
        &mut self,
        root: NodeId,
        nodes: &BTreeSet<NodeId>,
        (from, to): (DimId, DimId),
        leaves: &HashMap<NodeId, NodeId>,
        lookups: &HashMap<IndexId, IndexId>,
    ) -> NodeId {
        let mut new = leaves.clone();
        for &id in nodes {
            if !self.varies(id) {
                continue;
            }
            let node = self.node(id).clone();
            let dims = node.dims.iter().map(|&d| if d == from { to } else { d });
            let inputs = node.inputs.iter().map(|i| *new.get(i).unwrap_or(i));
            let op = match node.op {
                Op::Gather(index) if self.indices[index.index()].rows == from => {
                    Op::Gather(lookups[&index])
                }
                op => op,
            };
            let (inputs, dims) = (inputs.collect(), dims.collect());
            let copy = self.push(op, inputs, dims);
            new.insert(id, copy);
        }
        new[&root]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Binary, Bindings, evaluate};

    #[test]
    fn uses_are_replaced_and_the_rest_is_shared() {
        let mut g = Graph::new();
        let (x, y) = (g.param(0, &[]), g.param(1, &[]));
        let square = g.bin(Binary::Mul, x, x);
        let sum = g.bin(Binary::Add, square, y);
        let three = g.lit(3.0);
        let scaled = g.bin(Binary::Mul, three, x);
        let replaced = g.substitute(&[sum, y], &HashMap::from([(x, scaled)]));
        let nodes = [sum, replaced[0], replaced[1]];
        let out = evaluate(&g, &Bindings::default(), &[2.0, 5.0], &nodes);
        assert_eq!(out, [[9.0], [41.0], [5.0]]);
        assert_eq!(replaced[1], y);
        let depends = g.dependents(&[y]);
        assert!(depends[sum.index()] && !depends[square.index()]);
    }
    /// Catches: the value differentiated too, a slope on the wrong argument, a node left behind.
    #[test]
    fn slopes_that_are_given_are_taken_and_a_device_never_sees_them() {
        let mut g = Graph::new();
        let (x, y) = (g.param(0, &[]), g.param(1, &[]));
        let product = g.bin(Binary::Mul, x, y);
        let (five, seven) = (g.lit(5.0), g.lit(7.0));
        let known = g.with_slopes(product, &[(x, five), (y, seven), (five, seven)]);
        let root = g.bin(Binary::Mul, known, x);
        let partials = crate::gradient(&mut g, root);
        let mut nodes = vec![root];
        nodes.extend(partials.iter().map(|p| p.adjoint));
        let out = evaluate(&g, &Bindings::default(), &[2.0, 3.0], &nodes);
        // x·(xy), x·5 + xy, x·7
        assert_eq!(out, [[12.0], [16.0], [14.0]]);
        let (plain, same) = g.without_slopes(&nodes).expect("there is one");
        let needed = plain.needed(&same);
        let left = plain.nodes().iter().zip(&needed);
        assert!(
            !left
                .into_iter()
                .any(|(n, used)| *used && n.op == Op::WithSlopes)
        );
        assert_eq!(
            evaluate(&plain, &Bindings::default(), &[2.0, 3.0], &same),
            out
        );
        let tangent = crate::tangent(&mut g, known, &[(x, five), (y, seven)]);
        let out = evaluate(&g, &Bindings::default(), &[2.0, 3.0], &[tangent]);
        assert_eq!(out, [[25.0 + 49.0]]);
    }
}
