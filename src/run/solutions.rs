//! Whether differential equations were cut off at the limit of their steps.

use super::compiled::Compiled;
use crate::Result;
use crate::diagnose::{Finding, FindingKind};
use fitzroy_device::cpu::{Engine, Function};
use fitzroy_device::lanes::Level;
use fitzroy_graph::Op;

/// The share of the steps allowed from which on others will have needed more than all.
const NEARLY_ALL: f64 = 0.75;

/// What is to be said of the steps that solutions took at `points`, rows of all coordinates.
///
/// A solution that needs more steps than are allowed has no density, so that the posterior ends there;
/// draws that come close are all that can be seen of it.
pub(super) fn cut(compiled: &Compiled, points: &[f64]) -> Result<Option<Finding>> {
    let nodes = compiled.graphs.graph.nodes();
    if !nodes.iter().any(|n| matches!(n.op, Op::Ode(_))) {
        return Ok(None);
    }
    let mut graph = compiled.graphs.graph.clone();
    let needed = graph.needed(&[compiled.graphs.density]);
    let ids = graph.node_ids().filter(|id| needed[id.index()]);
    let ids: Vec<_> = ids.collect();
    let taken: Vec<_> = ids.iter().filter_map(|&id| graph.steps_taken(id)).collect();
    let nodes: Vec<_> = taken.iter().map(|(node, _)| *node).collect();
    let bindings = &compiled.graphs.bindings;
    let level = Level::detect();
    let function = Function::compile_for(level, Engine::Interpreter, &graph, bindings, &nodes)?;
    let mut workspace = function.workspace();
    let mut most = (0.0, 0);
    for point in points.chunks_exact(compiled.full) {
        function.run(&mut workspace, point);
        for (k, &(_, allowed)) in taken.iter().enumerate() {
            for &steps in function.output(&workspace, k) {
                if steps / allowed as f64 > most.0 / f64::max(most.1 as f64, 1.0) {
                    most = (steps, allowed);
                }
            }
        }
    }
    let (steps, allowed) = most;
    Ok((steps > NEARLY_ALL * allowed as f64).then(|| {
        let fact = format!(
            "solutions of differential equations took up to {steps} of {allowed} steps: where they \
             need more, there is no density, and the posterior is cut off"
        );
        Finding::new(
            FindingKind::SolutionsCut,
            steps,
            "differential equations",
            fact,
        )
    }))
}
