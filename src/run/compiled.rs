//! One choice of coordinates, compiled: what chains evaluate.

mod change;
mod conditionals;
mod evaluation;
mod functions;

pub(super) use change::{Change, log_jacobian};
pub(super) use conditionals::Conditionals;
pub(super) use evaluation::{Evaluator, Frames, Written};

use functions::{Functions, fills, frames, leaf};

use crate::Result;
use crate::model::joint::{Chosen, Coordinates, Graphs, Joint, TermKind};
use fitzroy_device::cpu::{Engine, Function};
use fitzroy_device::gpu::text::{Precision, Source, emit_in};
use fitzroy_device::lanes::Level;
use fitzroy_graph::{Binary, NodeId, Unary};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Which terms of the joint density are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Terms {
    /// All of them: the posterior.
    All,
    /// The priors alone, without data and without `target +=`.
    Priors,
}

/// The settings of a compilation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compilation {
    /// What evaluates it.
    pub(super) engine: Engine,
    /// Whether a second thread compiles meanwhile what will be asked for after it.
    pub(super) aside: bool,
}

impl From<Engine> for Compilation {
    fn from(engine: Engine) -> Self {
        let aside = false;
        Compilation { engine, aside }
    }
}

/// Where one leaf of parameters stands among the coordinates.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    offset: usize,
    len: usize,
}

/// The coordinates of one plate among all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// First coordinate.
    pub(super) offset: usize,
    /// How many.
    pub(super) len: usize,
    /// False where it is integrated out: its coordinates are never changed.
    pub(super) sampled: bool,
    /// The c that the model is written in.
    pub(super) written: f64,
}

/// A joint density in one choice of coordinates, ready to run; shared by all chains.
pub(super) struct Compiled {
    /// The coordinates of each plate, and which scales have a sign.
    pub(super) chosen: Chosen,
    /// What was compiled.
    pub(super) graphs: Graphs,
    /// Where each plate stands.
    pub(super) places: Vec<Place>,
    /// Log density, then the slope for each leaf.
    density: Function,
    leaves: Vec<Leaf>,
    /// True when the leaves fill all coordinates, each once.
    complete: bool,
    /// Location, scale and signs of each sampled plate in turn.
    frames: Function,
    /// Where each plate stands in `frames`: its location and scale, and its signs.
    slots: Vec<(usize, Option<usize>)>,
    /// Where each scale that can have a sign stands among the coordinates.
    pub(super) scales: Vec<Range<usize>>,
    /// Location and scale of every plate, the density of all coordinates, and the coordinates of
    /// what is integrated out.
    whole: Function,
    /// What is recorded of every draw, and `lp`, where it was compiled aside.
    recorded: Option<Function>,
    /// The log density in the coordinates as written.
    pub(super) lp: NodeId,
    /// Number of sampled coordinates, the first of all.
    pub(super) dim: usize,
    /// Number of unconstrained coordinates; those beyond `dim` are not sampled.
    pub(super) full: usize,
    /// First coordinate and number of coordinates of each parameter that is integrated out.
    integrated: Vec<(usize, usize)>,
    /// How those with a conjugate prior are drawn.
    pub(super) conditionals: Option<Arc<Conditionals>>,
    /// The density as text in every precision, once it was asked for.
    sources: [OnceLock<Arc<Source>>; 3],
}

/// c of element `j`: 1 is centred, 0 non-centred.
pub(super) fn centring(coordinates: &Coordinates, j: usize) -> f64 {
    match coordinates {
        Coordinates::Centred => 1.0,
        Coordinates::NonCentred => 0.0,
        Coordinates::Partial(c) => c[j],
    }
}

/// Where the coordinates of every plate stand.
fn places(joint: &Joint, graphs: &Graphs) -> Vec<Place> {
    let gone = |k: usize| graphs.restored.iter().any(|(p, _)| *p == k);
    let place = joint.plates().iter().map(|plate| {
        let parameter = &joint.parameters()[plate.parameter];
        Place {
            offset: parameter.offset,
            len: parameter.len,
            sampled: !gone(plate.parameter),
            written: f64::from(u8::from(!plate.standardised)),
        }
    });
    place.collect()
}

impl Compiled {
    /// Builds and compiles `terms` of `joint` in what is `chosen`.
    pub(super) fn new(
        joint: &Joint,
        chosen: &Chosen,
        terms: Terms,
        compilation: impl Into<Compilation>,
    ) -> Result<Arc<Compiled>> {
        let graphs = with_terms(of_terms(joint, terms).graphs_of(chosen), terms)?;
        Self::of(joint, graphs, chosen, compilation.into())
    }

    /// As [`Compiled::new`], without sums in place of rows and with nothing integrated out: what is
    /// sampled once a rewrite has been taken back.
    pub(super) fn plain(
        joint: &Joint,
        coordinates: &[Coordinates],
        terms: Terms,
    ) -> Result<Arc<Compiled>> {
        let graphs = of_terms(joint, terms).plain_graphs(coordinates);
        let graphs = graphs.with_gradient();
        let graphs = with_terms(graphs, terms)?;
        let compilation = Engine::Interpreter.into();
        Self::of(joint, graphs, &coordinates.into(), compilation)
    }

    fn of(
        joint: &Joint,
        mut graphs: Graphs,
        chosen: &Chosen,
        compilation: Compilation,
    ) -> Result<Arc<Compiled>> {
        let leaves = graphs.gradient.iter().map(|p| leaf(&graphs, p.param));
        let leaves: Vec<Leaf> = leaves.collect();
        let places = places(joint, &graphs);
        let (slots, frames) = frames(&mut graphs, &places);
        let total = match graphs.conditional {
            Some(given) => graphs.graph.binary(Binary::Add, graphs.density, given)?,
            None => graphs.density,
        };
        let lp = as_written(&mut graphs, total, chosen, &places)?;
        let Functions {
            density,
            frames,
            whole,
            recorded,
        } = Functions::compile(&graphs, frames, (total, lp), compilation)?;
        let of = |&(k, _): &(usize, NodeId)| {
            let parameter = &joint.parameters()[k];
            (parameter.offset, parameter.len)
        };
        let integrated: Vec<(usize, usize)> = graphs.restored.iter().map(of).collect();
        let conditionals = Conditionals::new(joint, &graphs)?.map(Arc::new);
        let scales = joint.scales().iter().map(|&k| {
            let parameter = &joint.parameters()[k];
            parameter.offset..parameter.offset + parameter.len
        });
        let full = joint.n_params();
        let dim = full - integrated.iter().map(|i| i.1).sum::<usize>();
        Ok(Arc::new(Compiled {
            chosen: chosen.clone(),
            scales: scales.collect(),
            complete: fills(&leaves, dim),
            slots,
            whole,
            recorded,
            lp,
            full,
            integrated,
            conditionals,
            graphs,
            places,
            density,
            leaves,
            frames,
            dim,
            sources: Default::default(),
        }))
    }

    /// The log density and its gradient as text for a kernel.
    pub(super) fn source(&self, precision: Precision) -> Result<Arc<Source>> {
        let made = &self.sources[precision as usize];
        if let Some(source) = made.get() {
            return Ok(Arc::clone(source));
        }
        let graphs = &self.graphs;
        let slopes: Vec<(usize, NodeId)> = self
            .leaves
            .iter()
            .zip(&graphs.gradient)
            .map(|(leaf, partial)| (leaf.offset, partial.adjoint))
            .collect();
        let (graph, bindings) = (&graphs.graph, &graphs.bindings);
        let dim = self.dim;
        let source = emit_in(graph, bindings, graphs.density, &slopes, dim, precision)?;
        Ok(Arc::clone(made.get_or_init(|| Arc::new(source))))
    }

    /// What evaluates the density: `emitter`, or `interpreter` and, in brackets, why the emitter
    /// does not.
    pub(super) fn engine(&self) -> String {
        let name = self.density.engine().name();
        match self.density.engine_note() {
            Some(note) => format!("{name} ({note})"),
            None => name.into(),
        }
    }

    /// What is recorded of every draw, and `lp`, where that has been compiled.
    pub(super) fn recorded(&self) -> Option<&Function> {
        self.recorded.as_ref()
    }

    /// Compiles further nodes of the same graph.
    pub(super) fn function(&self, outputs: &[NodeId]) -> Result<Function> {
        self.function_for(Engine::Interpreter, outputs)
    }

    /// The same, for one engine.
    pub(super) fn function_for(&self, engine: Engine, outputs: &[NodeId]) -> Result<Function> {
        let (graph, bindings) = (&self.graphs.graph, &self.graphs.bindings);
        Function::compile_for(Level::detect(), engine, graph, bindings, outputs)
    }

    /// Location and scale of the sampled plates, with memory to evaluate them at sampled
    /// coordinates.
    pub(super) fn frames(&self) -> Frames<'_> {
        Frames {
            compiled: self,
            function: &self.frames,
            workspace: self.frames.workspace(),
            whole: false,
        }
    }

    /// Location and scale of all plates and the density of all coordinates, with memory to
    /// evaluate them.
    pub(super) fn whole(&self) -> Frames<'_> {
        Frames {
            compiled: self,
            function: &self.whole,
            workspace: self.whole.workspace(),
            whole: true,
        }
    }

    /// The first coordinate of leaf `k` of the gradient.
    pub(super) fn leaf_offset(&self, k: usize) -> usize {
        self.leaves[k].offset
    }

    /// Elements computed for one gradient: a rough measure of its cost.
    pub(super) fn n_operations(&self) -> f64 {
        let graph = &self.graphs.graph;
        let mut outputs = vec![self.graphs.density];
        outputs.extend(self.graphs.gradient.iter().map(|p| p.adjoint));
        let needed = graph.needed(&outputs);
        let computed = graph
            .node_ids()
            .filter(|&n| needed[n.index()] && graph.varies(n));
        computed.map(|n| graph.len(n) as f64).sum()
    }
}

/// What is recorded of every draw, then the log density in the coordinates as written.
fn recorded_nodes(graphs: &Graphs, lp: NodeId) -> Vec<NodeId> {
    let recorded = graphs.recorded.iter().map(|r| r.node);
    recorded.chain([lp]).collect()
}

/// Elements up to which something is compiled before it is needed: what is compiled holds its data.
const SMALL: usize = 1 << 16;

fn is_small(graphs: &Graphs, nodes: &[NodeId]) -> bool {
    let needed = graphs.graph.needed(nodes);
    let needed = graphs.graph.node_ids().filter(|n| needed[n.index()]);
    needed.map(|n| graphs.graph.len(n)).sum::<usize>() <= SMALL
}

/// `total` less [`log_jacobian`] and [`Graphs::volumes`].
fn as_written(
    graphs: &mut Graphs,
    total: NodeId,
    chosen: &Chosen,
    places: &[Place],
) -> Result<NodeId> {
    let graph = &mut graphs.graph;
    let mut out = total;
    for &volume in &graphs.volumes {
        out = graph.binary(Binary::Sub, out, volume)?;
    }
    for &k in &chosen.signed {
        // ½ p(|s|) instead of τ p(τ), for each element.
        let scale = graphs.scales[k];
        let halves = graph.lit(std::f64::consts::LN_2 * graph.len(scale) as f64);
        let log = graph.unary(Unary::Log, scale);
        let sum = graph.sum_all(log);
        out = graph.binary(Binary::Add, out, sum)?;
        out = graph.binary(Binary::Add, out, halves)?;
    }
    for (k, (chosen, place)) in chosen.plates.iter().zip(places).enumerate() {
        let scale = graphs.plates[k].1;
        let log = graph.unary(Unary::Log, scale);
        let power = match chosen {
            Coordinates::Centred => graph.lit(place.written - 1.0),
            Coordinates::NonCentred => graph.lit(place.written),
            Coordinates::Partial(c) => {
                let dims = graph.dims(scale).to_vec();
                let powers = c.iter().map(|c| place.written - c).collect();
                let n = graph.data_slots().len();
                let data = graph.data(&format!("power of plate {k}"), &dims);
                if graph.data_slots().len() > n {
                    graphs.bindings.data.push(powers);
                }
                data
            }
        };
        if graph.constant(power) == Some(0.0) {
            continue;
        }
        let powers = graph.binary(Binary::Mul, power, log)?;
        let sum = graph.sum_all(powers);
        out = graph.binary(Binary::Sub, out, sum)?;
    }
    Ok(out)
}

/// `joint` with discrete parameters summed out of the `terms` that are wanted.
fn of_terms(joint: &Joint, terms: Terms) -> Cow<'_, Joint> {
    match terms {
        Terms::All => Cow::Borrowed(joint),
        Terms::Priors => Cow::Owned(joint.of_priors()),
    }
}

/// Replaces the density by the sum of the priors, if they alone are wanted; the gradient follows where
/// there is one.
fn with_terms(mut graphs: Graphs, terms: Terms) -> Result<Graphs> {
    if terms == Terms::All {
        return Ok(graphs);
    }
    let mut total = graphs.graph.lit(0.0);
    for term in graphs.terms.iter().filter(|t| t.kind == TermKind::Prior) {
        total = graphs.graph.binary(Binary::Add, total, term.sum)?;
    }
    graphs.density = total;
    match graphs.gradient.is_empty() {
        true => Ok(graphs),
        false => Ok(graphs.with_gradient()),
    }
}
