//! From a specification to blocks: parameters, arrays, and who reads what.

use super::block::{Aggregate, Block, Dense, Index, Kept, Layer, Lookup, Role};
use super::plan::{Buffer, Copies, Plan};
use super::spec::{Parameter, Recompute, Spec};
use std::ops::Range;

/// The state of a set of nodes or edges at one point of the network.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) now: Buffer,
    pub(super) once: bool,
    /// Slope by states that differ by sample, and by those that do not.
    pub(super) slope: Buffer,
    pub(super) slope_once: Buffer,
}

/// Builds a network block by block.
pub(super) struct Builder<'a> {
    pub(super) spec: &'a Spec,
    pub(super) recompute: Recompute,
    pub(super) plan: Plan,
    pub(super) blocks: Vec<Block>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) n_parameters: usize,
    /// Projections that differ by sample, one for each place in a block.
    pub(super) projected: Vec<Buffer>,
    pub(super) g: Buffer,
    /// Blocks that run forward again before they run backward.
    pub(super) groups: Vec<Range<usize>>,
    /// States that are not kept, by their place in a group: all groups use the same memory.
    pub(super) passing: Vec<(Passing, Buffer)>,
    /// The place in its group of the stage that is being built, and whether it is the last.
    pub(super) place: Option<(usize, bool)>,
}

/// Place in a group, and which array of the stage: sums or edges by edge set, nodes by node set.
pub(super) type Passing = (usize, &'static str, usize);

/// A part of the input of a perceptron.
#[derive(Clone, Copy)]
enum Part {
    Dense {
        source: Buffer,
        k: usize,
        slope: Option<Buffer>,
        role: Role,
    },
    Lookup {
        state: State,
        rows: usize,
        index: Index,
    },
}

impl<'a> Builder<'a> {
    /// One that has built nothing.
    pub(super) fn new(spec: &'a Spec, recompute: Recompute) -> Self {
        let mut plan = Plan::default();
        Builder {
            spec,
            recompute,
            g: plan.add(1, spec.hidden, Copies::Samples),
            plan,
            blocks: Vec::new(),
            parameters: Vec::new(),
            n_parameters: 0,
            projected: Vec::new(),
            groups: Vec::new(),
            passing: Vec::new(),
            place: None,
        }
    }
}

impl Builder<'_> {
    fn parameter(&mut self, name: String, shape: Vec<usize>) -> usize {
        let offset = self.n_parameters;
        let parameter = Parameter {
            name,
            shape,
            offset,
        };
        self.n_parameters += parameter.n();
        self.parameters.push(parameter);
        offset
    }

    /// A perceptron over `rows` rows; `outs` numbers, with LayerNorm if `norm`.
    fn block(
        &mut self,
        name: &str,
        rows: usize,
        once: bool,
        parts: &[Part],
        outs: usize,
        norm: bool,
    ) -> Block {
        let start = self.n_parameters;
        let inputs = parts.iter().map(|part| self.width(part)).sum();
        let layers = self.layers(name, inputs, outs);
        let norm = norm.then(|| {
            let gamma = self.parameter(format!("{name}.gamma"), vec![outs]);
            (gamma, self.parameter(format!("{name}.beta"), vec![outs]))
        });
        let n0 = layers[0].n;
        let mut block = Block {
            name: name.into(),
            once,
            rows,
            dense: Vec::new(),
            lookups: Vec::new(),
            norm,
            base: None,
            base_slope: None,
            out: None,
            slope: None,
            edges: None,
            aggregate: None,
            kept: None,
            g: None,
            parameters: start..self.n_parameters,
            layers,
        };
        let mut w = start;
        for part in parts {
            let width = self.width(part);
            self.add_part(&mut block, part, w);
            w += width * n0;
        }
        // What is computed once is small: it is always kept.
        if self.recompute == Recompute::None || once {
            let copies = if once { Copies::One } else { Copies::Steps };
            let hidden = &block.layers[..self.spec.n_hidden];
            let pre = hidden.iter().map(|l| self.plan.add(rows, l.n, copies));
            block.kept = Some(Kept {
                pre: pre.collect(),
                x: self.plan.add(rows, outs, copies),
                rstd: self.plan.add(rows, 1, copies),
            });
        }
        if !block.lookups.is_empty() {
            // What is kept for the first activation makes room for its slope.
            let kept = block.kept.as_ref().map(|kept| kept.pre[0]);
            block.g = Some(kept.unwrap_or_else(|| {
                self.plan.grow(self.g, rows, n0);
                self.g
            }));
        }
        block
    }

    /// The layers of a perceptron.
    fn layers(&mut self, name: &str, inputs: usize, outs: usize) -> Vec<Layer> {
        let (hidden, n_hidden) = (self.spec.hidden, self.spec.n_hidden);
        let mut k = inputs;
        let mut layers = Vec::new();
        for number in 0..=n_hidden {
            let n = if number == n_hidden { outs } else { hidden };
            let w = self.parameter(format!("{name}.w{number}"), vec![k, n]);
            let b = self.parameter(format!("{name}.b{number}"), vec![n]);
            layers.push(Layer { w, b, k, n });
            k = n;
        }
        layers
    }

    fn width(&self, part: &Part) -> usize {
        match part {
            Part::Dense { k, .. } => *k,
            Part::Lookup { .. } => self.spec.latent,
        }
    }

    fn add_part(&mut self, block: &mut Block, part: &Part, w: usize) {
        let n0 = block.layers[0].n;
        match *part {
            Part::Dense {
                source,
                k,
                slope,
                role,
            } => {
                block.dense.push(Dense {
                    source,
                    k,
                    w,
                    slope,
                    role,
                });
            }
            Part::Lookup { state, rows, index } => {
                let projected = if state.once {
                    self.plan.add(rows, n0, Copies::One)
                } else {
                    let place = block.lookups.iter().filter(|l| !l.once).count();
                    if self.projected.len() <= place {
                        let buffer = self.plan.add(rows, n0, Copies::Samples);
                        self.projected.push(buffer);
                    }
                    self.plan.grow(self.projected[place], rows, n0);
                    self.projected[place]
                };
                block.lookups.push(Lookup {
                    source: state.now,
                    rows,
                    once: state.once,
                    k: self.spec.latent,
                    w,
                    projected,
                    index,
                    slope: if state.once {
                        state.slope_once
                    } else {
                        state.slope
                    },
                });
            }
        }
    }

    /// The state of a set after its embedding.
    fn state(&mut self, rows: usize, once: bool) -> State {
        let latent = self.spec.latent;
        let copies = if once { Copies::One } else { Copies::Steps };
        State {
            now: self.plan.add(rows, latent, copies),
            once,
            slope: self.plan.add(rows, latent, Copies::Samples),
            slope_once: self.plan.add(rows, latent, Copies::One),
        }
    }

    /// A state as part of a row's own input.
    fn own(&self, state: State, rows: usize) -> Part {
        if state.once {
            return Part::Lookup {
                state,
                rows,
                index: Index::Same,
            };
        }
        let slope = Some(state.slope);
        Part::Dense {
            source: state.now,
            k: self.spec.latent,
            slope,
            role: Role::State,
        }
    }

    /// An array of a stage: kept for every step, or shared by the groups that pass through it.
    fn passing(&mut self, rows: usize, kind: &'static str, set: usize) -> Buffer {
        let latent = self.spec.latent;
        let Some((place, last)) = self.place else {
            return self.plan.add(rows, latent, Copies::Steps);
        };
        // What a group leaves behind is where the next one starts from.
        if last && kind != "sums" {
            return self.plan.add(rows, latent, Copies::Steps);
        }
        let key = (place, kind, set);
        if let Some((_, buffer)) = self.passing.iter().find(|(other, _)| *other == key) {
            return *buffer;
        }
        let buffer = self.plan.add(rows, latent, Copies::Samples);
        self.passing.push((key, buffer));
        buffer
    }

    /// Gives a block its base, and the next state of the set.
    fn residual(
        &mut self,
        block: &mut Block,
        state: &mut State,
        rows: usize,
        (kind, set): (&'static str, usize),
    ) {
        block.base = Some((state.now, state.once));
        block.base_slope = state.once.then_some(state.slope_once);
        let next = self.passing(rows, kind, set);
        block.out = Some(next);
        block.slope = Some(state.slope);
        (state.now, state.once) = (next, false);
    }
}

impl Builder<'_> {
    pub(super) fn embed(
        &mut self,
        name: &str,
        rows: usize,
        once: bool,
        (source, channels, slope): (Buffer, usize, Option<Buffer>),
    ) -> State {
        let state = self.state(rows, once);
        let part = Part::Dense {
            source,
            k: channels,
            slope,
            role: Role::Input,
        };
        let latent = self.spec.latent;
        let mut block = self.block(name, rows, once, &[part], latent, true);
        block.out = Some(state.now);
        block.slope = Some(if once { state.slope_once } else { state.slope });
        self.blocks.push(block);
        state
    }

    /// All stages.
    pub(super) fn stages(&mut self, nodes: &mut [State], edges: &mut [State]) {
        let spec = self.spec;
        let latent = spec.latent;
        let mut sums_slopes: Vec<Option<Buffer>> = vec![None; spec.edges.len()];
        for (number, stage) in spec.stages.iter().enumerate() {
            let before = nodes.to_vec();
            let first_block = self.blocks.len();
            self.place = group_place(spec, number).filter(|_| self.recompute == Recompute::Layer);
            let mut sums = Vec::new();
            for &set in &stage.edges {
                let slope = &mut sums_slopes[set];
                let sum = self.messages((number, set), &before, &mut edges[set], slope);
                sums.push((spec.edges[set].to, sum));
            }
            for &set in &stage.nodes {
                let n = spec.nodes[set].n;
                let mut parts = vec![self.own(before[set], n)];
                for (_, sum) in sums.iter().filter(|(to, _)| *to == set) {
                    parts.push(Part::Dense {
                        source: sum.to,
                        k: latent,
                        slope: Some(sum.slope),
                        role: Role::Sums,
                    });
                }
                let name = format!("{}.nodes.{}", stage.name, spec.nodes[set].name);
                let mut block = self.block(&name, n, false, &parts, latent, true);
                self.residual(&mut block, &mut nodes[set], n, ("nodes", set));
                self.blocks.push(block);
            }
            match (self.place, self.groups.last_mut()) {
                (Some((0, _)), _) => self.groups.push(first_block..self.blocks.len()),
                (Some(_), Some(group)) => group.end = self.blocks.len(),
                _ => {}
            }
            self.place = None;
        }
    }

    /// The messages of a stage along a set of edges; where they are summed. The state of the edges
    /// changes if a later stage reads it.
    fn messages(
        &mut self,
        (number, set): (usize, usize),
        before: &[State],
        state: &mut State,
        slope: &mut Option<Buffer>,
    ) -> Aggregate {
        let (spec, latent) = (self.spec, self.spec.latent);
        let (stage, edges) = (&spec.stages[number], &spec.edges[set]);
        let (rows, n_receivers) = (edges.senders.len(), spec.nodes[edges.to].n);
        let parts = [
            self.own(*state, rows),
            Part::Lookup {
                state: before[edges.from],
                rows: spec.nodes[edges.from].n,
                index: Index::Sender,
            },
            Part::Lookup {
                state: before[edges.to],
                rows: n_receivers,
                index: Index::Receiver,
            },
        ];
        let name = format!("{}.edges.{}", stage.name, edges.name);
        let mut block = self.block(&name, rows, false, &parts, latent, true);
        let slope =
            *slope.get_or_insert_with(|| self.plan.add(n_receivers, latent, Copies::Samples));
        let to = self.passing(n_receivers, "sums", set);
        let sum = Aggregate { to, slope };
        block.edges = Some(set);
        block.aggregate = Some(sum);
        let mut later = spec.stages[number + 1..].iter();
        if later.any(|later| later.edges.contains(&set)) {
            self.residual(&mut block, state, rows, ("edges", set));
        }
        self.blocks.push(block);
        sum
    }

    pub(super) fn decode(&mut self, state: State) -> (Buffer, Buffer) {
        let spec = self.spec;
        let rows = spec.nodes[spec.output].n;
        let part = self.own(state, rows);
        let mut block = self.block("decode", rows, false, &[part], spec.out_channels, false);
        let out = self.plan.add(rows, spec.out_channels, Copies::Steps);
        let slope = self.plan.add(rows, spec.out_channels, Copies::Samples);
        (block.out, block.slope) = (Some(out), Some(slope));
        self.blocks.push(block);
        (out, slope)
    }
}

/// Where a stage stands in its group: of L equal stages in a row, ⌈√L⌉ make a group. Stages that
/// stand alone have none.
fn group_place(spec: &Spec, number: usize) -> Option<(usize, bool)> {
    let same = |k: usize| {
        let (a, b) = (&spec.stages[k], &spec.stages[number]);
        a.edges == b.edges && a.nodes == b.nodes
    };
    let first = (0..number).rev().take_while(|&k| same(k)).count();
    let n = first + (number..spec.stages.len()).take_while(|&k| same(k)).count();
    if n < 2 {
        return None;
    }
    let size = (1..=n).find(|size| size * size >= n)?;
    let place = first % size;
    Some((place, place + 1 == size || first + 1 == n))
}
