//! Second derivatives summed in the pass of a fit.

use super::derive::slope;
use fitzroy_device::cpu::{Engine, RowProgram};
use fitzroy_graph::{Binary, DimId, Graph, NodeId};

/// A pass that also sums what Gauss and Newton leave out.
pub struct Newton {
    /// Sums of the products of `[J…, r]`, then of each r ∂²r/∂θ_a∂θ_b that is not 0 everywhere.
    pub program: RowProgram,
    /// (a, b) of these, a ≤ b.
    pub pairs: Vec<(usize, usize)>,
}

/// Most sums of such a pass: as many as have registers of their own.
const MOST_SUMS: usize = 21;

impl Newton {
    /// The pass of `[J…, r]` and parameters; none where it has too many sums.
    pub(super) fn new(
        mut graph: Graph,
        rows: DimId,
        (jacobian, residual, params): (&[NodeId], NodeId, &[NodeId]),
        engine: Engine,
    ) -> Option<Newton> {
        let p = params.len();
        let room = MOST_SUMS.checked_sub((p + 1) * (p + 2) / 2)?;
        let (mut pairs, mut alone) = (Vec::new(), Vec::new());
        for (a, b) in (0..p).flat_map(|a| (a..p).map(move |b| (a, b))) {
            let bend = slope(&mut graph, jacobian[a], params[b]);
            if graph.constant(bend) == Some(0.0) {
                continue;
            }
            let term = graph.binary(Binary::Mul, residual, bend);
            alone.push(term.expect("both over rows"));
            pairs.push((a, b));
        }
        let all: Vec<NodeId> = jacobian.iter().copied().chain([residual]).collect();
        (alone.len() <= room).then(|| Newton {
            program: RowProgram::compile(&graph, rows, &all, &alone).with_engine(engine),
            pairs,
        })
    }
}
