//! Partials of a curve along its predictors.

use super::derive::{Programs, slope};
use fitzroy_device::cpu::RowProgram;
use fitzroy_graph::{NodeId, Op, tangent};

impl Programs {
    /// Outputs `[∂f/∂θ…, ∂f/∂x…, f]`, the predictors in their order; reads all columns, of which those of y and 1/σ
    /// do not matter.
    pub fn along(&self) -> RowProgram {
        let mut graph = self.graph.clone();
        let params = &self.params[..self.n_free];
        let mut nodes: Vec<NodeId> = params
            .iter()
            .map(|&p| slope(&mut graph, self.curve, p))
            .collect();
        let n_predictors = self.columns().count() - 1 - usize::from(self.weight.is_some());
        let leaves: Vec<Option<NodeId>> = (0..n_predictors)
            .map(|k| {
                let is =
                    |id: &NodeId| matches!(graph.node(*id).op, Op::Data(data) if data.index() == k);
                graph.node_ids().find(is)
            })
            .collect();
        for leaf in leaves {
            let one = graph.lit(1.0);
            let along = match leaf {
                Some(leaf) => {
                    let one = graph.broadcast(one, &[self.rows]);
                    tangent(&mut graph, self.curve, &[(leaf, one)])
                }
                None => graph.lit(0.0),
            };
            nodes.push(graph.broadcast(along, &[self.rows]));
        }
        nodes.push(self.curve);
        let wide: Vec<NodeId> = nodes
            .iter()
            .map(|&n| graph.broadcast(n, &[self.rows]))
            .collect();
        RowProgram::compile(&graph, self.rows, &wide, &[])
    }
}
