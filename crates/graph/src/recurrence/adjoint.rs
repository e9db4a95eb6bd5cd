//! The adjoint of a recurrence: a recurrence in reverse, and what it leaves at the inputs.

use super::{Carried, Recurrence};
use crate::gradient::pull_back;
use crate::graph::{DimId, Graph, NodeId};
use crate::op::{Binary, Op};

impl Recurrence {
    /// The adjoints of the inputs of node `id`, given its own: (which input, adjoint).
    pub(crate) fn adjoint(
        &self,
        g: &mut Graph,
        id: NodeId,
        d: NodeId,
        guard: bool,
    ) -> Vec<(usize, NodeId)> {
        if let Some(adjoints) = self.adjoint_by_elements(g, id, d, guard) {
            return adjoints;
        }
        let n = self.states.len();
        let inputs = g.node(id).inputs.clone();
        let rows = self.rows(g);
        let mut leaves: Vec<NodeId> = (0..n).map(|s| self.values(g, id, s, false)).collect();
        leaves.extend(&inputs[n..]);
        let next = self.instantiate(g, &leaves);
        let left: Vec<NodeId> = (0..n).map(|s| self.values(g, d, s, true)).collect();
        // The adjoint that a step passes to the one before it.
        let passed: Vec<NodeId> = (0..n).map(|s| g.hole(self.hole_dims(s))).collect();
        let whole = |g: &mut Graph, passed: &[NodeId]| -> Vec<(NodeId, NodeId)> {
            let sum = |s: usize| (next[s], g.bin(Binary::Add, left[s], passed[s]));
            (0..n).map(sum).collect()
        };
        let of = whole(g, &passed);
        let back = pull_back(g, &of, &leaves, guard);
        let zero = g.lit(0.0);
        let carried: Vec<Carried> = (0..n)
            .map(|s| Carried {
                before: passed[s],
                start: zero,
                after: back[s].unwrap_or(zero),
            })
            .collect();
        let ran = g.recur(self.time, !self.reverse, &carried);
        let ran = ran.expect("the step of an adjoint reads what the step read");
        let mut out = Vec::new();
        let steps = g.size(self.time);
        let (row, step) = if self.reverse {
            (steps, steps - 1)
        } else {
            (0, 0)
        };
        for (s, &input) in inputs[..n].iter().enumerate() {
            let own = self.state(g, d, s);
            let [own, passed] = [(own, rows, row), (ran[s].after, self.time, step)]
                .map(|(all, axis, at)| at_step(g, all, axis, at, input));
            out.push((s, g.bin(Binary::Add, own, passed)));
        }
        let before: Vec<NodeId> = ran.iter().map(|r| r.before).collect();
        let of = whole(g, &before);
        let read = pull_back(g, &of, &leaves, guard);
        let read = read.into_iter().enumerate().skip(n);
        out.extend(read.filter_map(|(k, adjoint)| Some((k, adjoint?))));
        out
    }

    /// The states after every step, where `behind` stands behind the holes.
    pub(super) fn instantiate(&self, g: &mut Graph, behind: &[NodeId]) -> Vec<NodeId> {
        let mut at: Vec<NodeId> = behind.to_vec();
        for node in &self.nodes[self.holes..] {
            let inputs = node.inputs.iter().map(|i| at[i.index()]).collect();
            at.push(match node.op {
                Op::Const(_) => g.push(node.op.clone(), vec![], vec![]),
                _ => g.push(node.op.clone(), inputs, node.dims.clone()),
            });
        }
        self.next.iter().map(|n| at[n.index()]).collect()
    }
}

/// Element `at` along `axis`, with the dims of `like`.
fn at_step(g: &mut Graph, all: NodeId, axis: DimId, at: usize, like: NodeId) -> NodeId {
    let one = g.slice(all, axis, at, 1).expect("a step");
    let dims = g.dims(like).to_vec();
    g.relabel(one, &dims)
}
