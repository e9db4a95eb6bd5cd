//! Recurrences of one number whose steps are linear in it.

use crate::gradient::pull_back;
use crate::graph::{Graph, NodeId};
use crate::op::Op;
use std::collections::HashMap;

/// A recurrence x(t) = by(t) x(t − 1) + added(t), element by element over its lanes.
#[derive(Clone, Copy, Debug)]
pub struct FirstOrder {
    /// x after each step, over the steps and the lanes.
    pub after: NodeId,
    /// The factor of the state before; it does not depend on x.
    pub by: NodeId,
    /// What each step adds.
    pub added: NodeId,
}

impl Graph {
    /// The steps of `node`, if it is a recurrence of one number from the first step to the last whose steps are
    /// linear in that number. Here x(t) = ½ x(t − 1) + y(t):
    ///
    /// ```
    /// use fitzroy_graph::{Binary, Bindings, Carried, Graph, Op, evaluate};
    /// let mut g = Graph::new();
    /// let time = g.dim("time", 3);
    /// let y = g.data("y", &[time]);
    /// let (before, half, start) = (g.hole(&[time]), g.lit(0.5), g.lit(0.0));
    /// let kept = g.binary(Binary::Mul, half, before)?;
    /// let after = g.binary(Binary::Add, kept, y)?;
    /// let ran = g.recur(time, false, &[Carried { before, start, after }])?;
    /// let node = g.node_ids().find(|n| matches!(g.node(*n).op, Op::Recurrence(_))).expect("it was made");
    /// let found = g.first_order(node).expect("it is linear");
    /// let bindings = Bindings { data: vec![vec![8.0, 0.0, 4.0]], indices: vec![] };
    /// let values = evaluate(&g, &bindings, &[], &[found.by, found.added, found.after]);
    /// assert_eq!(values, [[0.5, 0.5, 0.5], [8.0, 0.0, 4.0], [8.0, 4.0, 6.0]]);
    /// assert_eq!(found.after, ran[0].after);
    /// # Ok::<(), fitzroy_graph::Error>(())
    /// ```
    pub fn first_order(&mut self, node: NodeId) -> Option<FirstOrder> {
        let Op::Recurrence(of) = self.node(node).op.clone() else {
            return None;
        };
        if of.reverse || of.states.len() != 1 || !of.states[0].is_empty() {
            return None;
        }
        let dims = of.hole_dims(0).to_vec();
        let before = self.hole(&dims);
        let mut leaves = vec![before];
        leaves.extend(&self.node(node).inputs.clone()[1..]);
        let next = of.instantiate(self, &leaves)[0];
        let one = self.lit(1.0);
        let ones = self.broadcast(one, &dims);
        let by = pull_back(self, &[(next, ones)], &[before], false)[0]?;
        if self.dependents(&[before])[by.index()] {
            return None;
        }
        let zero = self.lit(0.0);
        let zeros = self.broadcast(zero, &dims);
        let without: HashMap<NodeId, NodeId> = [(before, zeros)].into_iter().collect();
        let added = self.substitute(&[next], &without)[0];
        let after = of.values(self, node, 0, true);
        Some(FirstOrder {
            after,
            by: self.broadcast(by, &dims),
            added: self.broadcast(added, &dims),
        })
    }
}
