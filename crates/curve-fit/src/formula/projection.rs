//! The columns of variable projection.

use super::derive::slope;
use fitzroy_device::cpu::RowProgram;
use fitzroy_graph::{DimId, Graph, NodeId};

/// Most columns that variable projection may need.
const MOST_COLUMNS: usize = 24;

/// The columns of variable projection; see `method::varpro`.
pub struct Projection {
    /// Outputs: bases φ_k, cross partials ∂φ_k/∂β_j, partials ∂φ₀/∂β_j, then r at c = 0.
    pub program: RowProgram,
    /// Linear parameters, by position among the free.
    pub linear: Vec<usize>,
    /// The other free parameters.
    pub nonlinear: Vec<usize>,
    /// (k, j) of each cross partial, as positions in `linear` and `nonlinear`.
    pub cross: Vec<(usize, usize)>,
    /// j of each partial ∂φ₀/∂β_j.
    pub base: Vec<usize>,
}

/// The columns of variable projection, where they are no more than it may need.
pub(super) fn project(
    graph: &mut Graph,
    rows: DimId,
    is_linear: &[bool],
    jacobian: &[NodeId],
    params: &[NodeId],
    r0: NodeId,
) -> Option<Projection> {
    let all = 0..is_linear.len();
    let linear: Vec<usize> = all.clone().filter(|&k| is_linear[k]).collect();
    let nonlinear: Vec<usize> = all.filter(|&k| !is_linear[k]).collect();
    let mut outputs: Vec<NodeId> = linear.iter().map(|&k| jacobian[k]).collect();
    let mut cross = Vec::new();
    for (k, &at) in linear.iter().enumerate() {
        for (j, &b) in nonlinear.iter().enumerate() {
            let d = slope(graph, jacobian[at], params[b]);
            if graph.constant(d) != Some(0.0) {
                cross.push((k, j));
                outputs.push(d);
            }
        }
    }
    let mut base = Vec::new();
    for (j, &b) in nonlinear.iter().enumerate() {
        let d = slope(graph, r0, params[b]);
        if graph.constant(d) != Some(0.0) {
            base.push(j);
            outputs.push(d);
        }
    }
    outputs.push(r0);
    (outputs.len() <= MOST_COLUMNS).then(|| Projection {
        program: RowProgram::compile(graph, rows, &outputs, &[]),
        linear,
        nonlinear,
        cross,
        base,
    })
}
