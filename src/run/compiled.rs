//! One choice of coordinates, compiled: what chains evaluate.

use crate::Result;
use crate::fit::sample::Target;
use crate::model::joint::{Chosen, Coordinates, Graphs, Joint, TermKind};
use fitzroy_device::cpu::{Engine, Function, Workspace};
use fitzroy_device::gpu::text::{Precision, Source, emit_in};
use fitzroy_device::lanes::Level;
use fitzroy_graph::{Binary, NodeId, Op, Unary, gradient};
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
    /// The log density in the coordinates as written.
    pub(super) lp: NodeId,
    /// Number of sampled coordinates, the first of all.
    pub(super) dim: usize,
    /// Number of unconstrained coordinates; those beyond `dim` hold standard normal numbers.
    pub(super) full: usize,
    /// First coordinate and number of coordinates of each parameter that is integrated out.
    integrated: Vec<(usize, usize)>,
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

impl Compiled {
    /// Builds and compiles `terms` of `joint` in what is `chosen`, the density for `engine`.
    pub(super) fn new(
        joint: &Joint,
        chosen: &Chosen,
        terms: Terms,
        engine: Engine,
    ) -> Result<Arc<Compiled>> {
        Self::of(joint, joint.graphs_of(chosen), chosen, terms, engine)
    }

    /// As [`Compiled::new`], without sums in place of rows and with nothing integrated out. It is
    /// what others are compared with at some points, which is too little for machine code.
    pub(super) fn plain(
        joint: &Joint,
        coordinates: &[Coordinates],
        terms: Terms,
    ) -> Result<Arc<Compiled>> {
        let (graphs, chosen) = (joint.plain_graphs(coordinates), coordinates.into());
        Self::of(joint, graphs, &chosen, terms, Engine::Interpreter)
    }

    fn of(
        joint: &Joint,
        mut graphs: Graphs,
        chosen: &Chosen,
        terms: Terms,
        engine: Engine,
    ) -> Result<Arc<Compiled>> {
        if terms == Terms::Priors {
            priors_alone(&mut graphs)?;
        }
        let leaves: Vec<Leaf> = graphs
            .gradient
            .iter()
            .map(|p| leaf(&graphs, p.param))
            .collect();
        let mut outputs = vec![graphs.density];
        outputs.extend(graphs.gradient.iter().map(|p| p.adjoint));
        let (graph, bindings) = (&graphs.graph, &graphs.bindings);
        let density = Function::compile_for(Level::detect(), engine, graph, bindings, &outputs)?;
        let gone = |k: usize| graphs.restored.iter().any(|(p, _)| *p == k);
        let places = joint.plates().iter().map(|plate| {
            let parameter = &joint.parameters()[plate.parameter];
            Place {
                offset: parameter.offset,
                len: parameter.len,
                sampled: !gone(plate.parameter),
                written: f64::from(u8::from(!plate.standardised)),
            }
        });
        let places: Vec<Place> = places.collect();
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
        let frames = Function::compile(&graphs.graph, &graphs.bindings, &nodes)?;
        let total = match graphs.conditional {
            Some(conditional) => graphs
                .graph
                .binary(Binary::Add, graphs.density, conditional)?,
            None => graphs.density,
        };
        let lp = as_written(&mut graphs, total, chosen, &places)?;
        let mut nodes: Vec<NodeId> = graphs.plates.iter().flat_map(|&(m, s)| [m, s]).collect();
        nodes.push(total);
        nodes.extend(graphs.restored.iter().map(|(_, node)| node));
        nodes.extend(graphs.signs.iter().flatten());
        let whole = Function::compile(&graphs.graph, &graphs.bindings, &nodes)?;
        let of = |&(k, _): &(usize, NodeId)| {
            let parameter = &joint.parameters()[k];
            (parameter.offset, parameter.len)
        };
        let integrated: Vec<(usize, usize)> = graphs.restored.iter().map(of).collect();
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
            lp,
            full,
            integrated,
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

/// `total` less [`log_jacobian`].
fn as_written(
    graphs: &mut Graphs,
    total: NodeId,
    chosen: &Chosen,
    places: &[Place],
) -> Result<NodeId> {
    let graph = &mut graphs.graph;
    let mut out = total;
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

/// Replaces the density by the sum of the priors.
fn priors_alone(graphs: &mut Graphs) -> Result<()> {
    let mut total = graphs.graph.lit(0.0);
    for term in graphs.terms.iter().filter(|t| t.kind == TermKind::Prior) {
        total = graphs.graph.binary(Binary::Add, total, term.sum)?;
    }
    graphs.density = total;
    graphs.gradient = gradient(&mut graphs.graph, total);
    Ok(())
}

fn leaf(graphs: &Graphs, param: NodeId) -> Leaf {
    match graphs.graph.node(param).op {
        Op::Param { offset } => Leaf {
            offset,
            len: graphs.graph.len(param),
        },
        _ => panic!("a gradient is taken with respect to parameters"),
    }
}

/// Whether the leaves cover `dim` coordinates without gap or overlap.
fn fills(leaves: &[Leaf], dim: usize) -> bool {
    let mut sorted = leaves.to_vec();
    sorted.sort_by_key(|l| l.offset);
    let end = sorted
        .iter()
        .try_fold(0, |at, l| (l.offset == at).then_some(at + l.len));
    end == Some(dim)
}

/// Locations and scales of all plates at a position.
pub(super) struct Frames<'a> {
    compiled: &'a Compiled,
    function: &'a Function,
    workspace: Workspace,
    /// Whether all plates are there, or the sampled ones alone.
    whole: bool,
}

impl Frames<'_> {
    /// Evaluates them at `position`.
    pub(super) fn run(&mut self, position: &[f64]) {
        self.function.run(&mut self.workspace, position);
    }

    /// Location and scale of every element of plate `k` at the last position.
    pub(super) fn of(&self, k: usize) -> (&[f64], &[f64]) {
        let output = |i| self.function.output(&self.workspace, i);
        let at = if self.whole {
            2 * k
        } else {
            self.compiled.slots[k].0
        };
        (output(at), output(at + 1))
    }

    /// −1 or 1 for each coordinate of plate `k`, where it has the sign of its scale.
    fn signs_of(&self, k: usize) -> Option<&[f64]> {
        let signs = &self.compiled.graphs.signs;
        let at = match self.whole {
            true => {
                let first = 2 * self.compiled.places.len() + 1 + self.compiled.integrated.len();
                signs[k].map(|_| first + signs[..k].iter().flatten().count())
            }
            false => self.compiled.slots[k].1,
        };
        at.map(|at| self.function.output(&self.workspace, at))
    }

    /// The log density of all coordinates at the last position; only of [`Compiled::whole`].
    pub(super) fn density(&self) -> f64 {
        let at = 2 * self.compiled.places.len();
        self.function.output(&self.workspace, at)[0]
    }

    /// Replaces standard normal numbers by the coordinates they stand for at the last position,
    /// which are those of [`Compiled::plain`]; only of [`Compiled::whole`].
    pub(super) fn restore(&self, position: &mut [f64]) {
        let first = 2 * self.compiled.places.len() + 1;
        for (k, &(offset, len)) in self.compiled.integrated.iter().enumerate() {
            let values = self.function.output(&self.workspace, first + k);
            position[offset..offset + len].copy_from_slice(values);
        }
    }
}

/// A change from one choice of coordinates to another, with the same values of all variables.
pub(super) struct Change {
    from: Arc<Compiled>,
    to: Chosen,
}

impl Change {
    /// From the coordinates of `from` to others.
    pub(super) fn new(from: &Arc<Compiled>, to: &Chosen) -> Self {
        Change {
            from: Arc::clone(from),
            to: to.clone(),
        }
    }

    /// Maps a position with the memory of `frames`, which must be those of the old coordinates:
    /// w' = c' m + s^(c' − c) (w − c m), location m and scale s taken at the old position. Scales
    /// that get a sign get +, those that lose theirs leave it to their plates.
    pub(super) fn apply(&self, frames: &mut Frames<'_>, position: &mut [f64]) {
        frames.run(position);
        self.shift(frames, position, |place| place.sampled);
    }

    /// The same with the plates that `which` picks, at the last position of `frames`.
    pub(super) fn shift(
        &self,
        frames: &Frames<'_>,
        position: &mut [f64],
        which: impl Fn(&Place) -> bool,
    ) {
        let signed = &self.from.chosen.signed;
        let places = self.from.places.iter().enumerate();
        for (k, place) in places.filter(|(_, place)| which(place)) {
            let (location, scale) = frames.of(k);
            let (old, new) = (&self.from.chosen.plates[k], &self.to.plates[k]);
            let slots = &mut position[place.offset..place.offset + place.len];
            if *signed != self.to.signed
                && let Some(signs) = frames.signs_of(k)
            {
                slots.iter_mut().zip(signs).for_each(|(w, sign)| *w *= sign);
            }
            for (j, w) in slots.iter_mut().enumerate() {
                let (c, d) = (centring(old, j), centring(new, j));
                if c != d {
                    let (m, s) = (location[j], scale[j]);
                    *w = d * m + libm::pow(s, d - c) * (*w - c * m);
                }
            }
        }
        if *signed == self.to.signed {
            return;
        }
        for (k, place) in self.from.scales.iter().enumerate() {
            let (had, has) = (signed.contains(&k), self.to.signed.contains(&k));
            for u in &mut position[place.clone()] {
                *u = match (had, has) {
                    (false, true) => libm::exp(*u),
                    (true, false) => libm::log(u.abs()),
                    (true, true) => u.abs(),
                    (false, false) => *u,
                };
            }
        }
    }

    /// A map that owns what it needs, for any number of threads.
    pub(super) fn map(self) -> impl Fn(&mut [f64]) + Send + Sync {
        let spare = std::sync::Mutex::new(Vec::<Workspace>::new());
        move |position| {
            let function = &self.from.frames;
            let lock = || {
                spare
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
            };
            let workspace = lock().pop().unwrap_or_else(|| function.workspace());
            let mut frames = Frames {
                compiled: &self.from,
                function,
                workspace,
                whole: false,
            };
            self.apply(&mut frames, position);
            lock().push(frames.workspace);
        }
    }
}

/// Σ (c₀ − c) ln s over all elements of all plates, less Σ ln 2τ over scales τ that have a sign, at
/// `position`, the last of `frames`: the log density in the `chosen` coordinates less that in the
/// coordinates as written, c₀.
pub(super) fn log_jacobian(chosen: &Chosen, frames: &Frames<'_>, position: &[f64]) -> f64 {
    let compiled = frames.compiled;
    let of_scale = |k: &usize| -> f64 {
        let own = &position[compiled.scales[*k].clone()];
        let logs = own
            .iter()
            .map(|&u| match compiled.chosen.signed.contains(k) {
                true => libm::log(u.abs()),
                false => u,
            });
        logs.map(|log| -log - std::f64::consts::LN_2).sum()
    };
    let of_scales: f64 = chosen.signed.iter().map(of_scale).sum();
    let of_plate = |(k, chosen): (usize, &Coordinates)| -> f64 {
        let written = compiled.places[k].written;
        let terms = frames.of(k).1.iter().enumerate();
        terms
            .map(|(j, &s)| match written - centring(chosen, j) {
                0.0 => 0.0,
                power => power * libm::log(s),
            })
            .sum()
    };
    chosen.plates.iter().enumerate().map(of_plate).sum::<f64>() + of_scales
}

/// Evaluates a compiled density; one for each chain. Allocates nothing after it was made.
pub(super) struct Evaluator {
    compiled: Arc<Compiled>,
    workspace: Workspace,
}

impl Evaluator {
    /// An evaluator with memory of its own.
    pub(super) fn new(compiled: &Arc<Compiled>) -> Self {
        Evaluator {
            workspace: compiled.density.workspace(),
            compiled: Arc::clone(compiled),
        }
    }

    /// The log density alone.
    pub(super) fn value(&mut self, position: &[f64]) -> f64 {
        let density = &self.compiled.density;
        density.run(&mut self.workspace, position);
        density.output(&self.workspace, 0)[0]
    }
}

impl Target for Evaluator {
    fn dim(&self) -> usize {
        self.compiled.dim
    }

    fn value_and_gradient(&mut self, position: &[f64], slope: &mut [f64]) -> f64 {
        let value = self.value(position);
        let compiled = &*self.compiled;
        let parts = compiled.leaves.iter().enumerate();
        let parts = parts.map(|(k, leaf)| {
            let part = compiled.density.output(&self.workspace, k + 1);
            (leaf.offset..leaf.offset + leaf.len, part)
        });
        if compiled.complete {
            parts.for_each(|(at, part)| slope[at].copy_from_slice(part));
        } else {
            slope.fill(0.0);
            for (at, part) in parts {
                slope[at].iter_mut().zip(part).for_each(|(g, p)| *g += p);
            }
        }
        value
    }
}
