//! The functions that chains evaluate: density and slopes, frames, and what is recorded.

use super::{Compilation, Leaf, Place, is_small, recorded_nodes};
use crate::Result;
use crate::model::joint::Graphs;
use fitzroy_device::cpu::{Engine, Function};
use fitzroy_device::lanes::Level;
use fitzroy_graph::{NodeId, Op};

/// Location, scale and signs of each sampled plate in turn, and where each plate stands among them.
pub(super) fn frames(
    graphs: &mut Graphs,
    places: &[Place],
) -> (Vec<(usize, Option<usize>)>, Vec<NodeId>) {
    let (mut slots, mut nodes) = (Vec::new(), Vec::new());
    let frames = graphs.plates.iter().zip(&graphs.signs);
    for (place, (&(m, s), &sign)) in places.iter().zip(frames) {
        let at = nodes.len();
        slots.push((at, sign.map(|_| at + 2)));
        if place.sampled {
            nodes.extend([m, s]);
            nodes.extend(sign);
        }
    }
    if nodes.is_empty() {
        nodes.push(graphs.graph.lit(0.0));
    }
    (slots, nodes)
}

/// What chains evaluate, as the fields of [`Compiled`](super::Compiled) of these names.
pub(super) struct Functions {
    pub(super) density: Function,
    pub(super) frames: Function,
    pub(super) whole: Function,
    pub(super) recorded: Option<Function>,
}

impl Functions {
    /// Compiles them all. `total` is the density of all coordinates, `lp` that as written.
    pub(super) fn compile(
        graphs: &Graphs,
        frames: Vec<NodeId>,
        (total, lp): (NodeId, NodeId),
        compilation: Compilation,
    ) -> Result<Self> {
        let mut density = vec![graphs.density];
        density.extend(graphs.gradient.iter().map(|p| p.adjoint));
        let mut whole: Vec<NodeId> = graphs.plates.iter().flat_map(|&(m, s)| [m, s]).collect();
        whole.push(total);
        whole.extend(graphs.restored.iter().map(|(_, node)| node));
        whole.extend(graphs.signs.iter().flatten());
        let compile = |engine: Engine, nodes: &[NodeId]| {
            let (graph, bindings) = (&graphs.graph, &graphs.bindings);
            Function::compile_for(Level::detect(), engine, graph, bindings, nodes)
        };
        let engine = compilation.engine;
        let of_draws = recorded_nodes(graphs, lp);
        // What reads draws of discrete parameters is computed where these are drawn.
        let sampled = graphs.discrete.is_empty();
        let aside = compilation.aside && sampled && is_small(graphs, &of_draws);
        std::thread::scope(|scope| {
            let recorded = aside.then(|| scope.spawn(|| compile(engine, &of_draws)));
            let density = compile(engine, &density);
            let frames = compile(Engine::Interpreter, &frames);
            let whole = compile(Engine::Interpreter, &whole);
            let recorded = recorded.map(|thread| thread.join().expect("compiling does not panic"));
            Ok(Functions {
                recorded: recorded.transpose()?,
                density: density?,
                frames: frames?,
                whole: whole?,
            })
        })
    }
}
pub(super) fn leaf(graphs: &Graphs, param: NodeId) -> Leaf {
    match graphs.graph.node(param).op {
        Op::Param { offset } => Leaf {
            offset,
            len: graphs.graph.len(param),
        },
        _ => panic!("a gradient is taken with respect to parameters"),
    }
}

/// Whether the leaves cover `dim` coordinates without gap or overlap.
pub(super) fn fills(leaves: &[Leaf], dim: usize) -> bool {
    let mut sorted = leaves.to_vec();
    sorted.sort_by_key(|l| l.offset);
    let end = sorted
        .iter()
        .try_fold(0, |at, l| (l.offset == at).then_some(at + l.len));
    end == Some(dim)
}
