//! Draws of integrated parameters from distributions of their own.

use crate::Result;
use crate::model::joint::{Conditional, Graphs, Joint};
use crate::rng::Rng;
use fitzroy_device::cpu::{Function, Workspace};
use fitzroy_graph::NodeId;

/// The distributions of integrated parameters given the sampled coordinates.
pub(in crate::run) struct Conditionals {
    /// Both arguments of each in turn.
    function: Function,
    /// Each with its first coordinate.
    each: Vec<(Conditional, usize)>,
}

impl Conditionals {
    /// None where no parameter has one.
    pub(super) fn new(joint: &Joint, graphs: &Graphs) -> Result<Option<Conditionals>> {
        if graphs.conditionals.is_empty() {
            return Ok(None);
        }
        let nodes = graphs.conditionals.iter().flat_map(|c| c.arguments);
        let nodes: Vec<NodeId> = nodes.collect();
        let offset = |c: &Conditional| joint.parameters()[c.parameter].offset;
        Ok(Some(Conditionals {
            function: Function::compile(&graphs.graph, &graphs.bindings, &nodes)?,
            each: graphs
                .conditionals
                .iter()
                .map(|c| (c.clone(), offset(c)))
                .collect(),
        }))
    }

    pub(in crate::run) fn workspace(&self) -> Workspace {
        self.function.workspace()
    }

    /// Draws them into `position`, whose first coordinates are those that were sampled.
    pub(in crate::run) fn draw(
        &self,
        workspace: &mut Workspace,
        rng: &mut Rng,
        position: &mut [f64],
    ) {
        self.function.run(workspace, position);
        for (k, (law, offset)) in self.each.iter().enumerate() {
            let arguments = [2 * k, 2 * k + 1].map(|at| self.function.output(workspace, at));
            let pairs = arguments[0].iter().zip(arguments[1]);
            for (to, (&a, &b)) in position[*offset..].iter_mut().zip(pairs) {
                *to = law.draw(rng, [a, b]);
            }
        }
    }
}
