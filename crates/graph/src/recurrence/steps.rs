//! From holes and what is computed from them to a recurrence.

use super::Recurrence;
use crate::graph::{DimId, Graph, Node, NodeId};
use crate::op::Op;
use crate::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// Operations of one step that are refused: they become straight code.
const MOST_OPERATIONS: usize = 50_000;

/// A state of a recurrence that is being made.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// The hole that stands for the state before each step.
    pub before: NodeId,
    /// The state before the first step, over the dims of the hole without the steps.
    pub start: NodeId,
    /// The state after each step; its dims are among those of the hole.
    pub after: NodeId,
}

/// A state over all steps, with the dims of its hole.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    /// Before each step.
    pub before: NodeId,
    /// After each step.
    pub after: NodeId,
}

impl Graph {
    /// A leaf over `dims` that stands for a state before each step, until [`Graph::recur`].
    pub fn hole(&mut self, dims: &[DimId]) -> NodeId {
        let number = self.nodes().len() as u32;
        self.push(Op::Hole(number), vec![], dims.to_vec())
    }

    /// Runs states over the steps of `time`, from the first to the last, or in `reverse`.
    ///
    /// Here a decaying average a(t) = 0.5 a(t − 1) + 0.5 y(t) from a(−1) = 0:
    ///
    /// ```
    /// use fitzroy_graph::{Binary, Bindings, Carried, Graph, evaluate};
    /// let mut g = Graph::new();
    /// let time = g.dim("time", 3);
    /// let y = g.data("y", &[time]);
    /// let before = g.hole(&[time]);
    /// let sum = g.binary(Binary::Add, before, y)?;
    /// let half = g.lit(0.5);
    /// let after = g.binary(Binary::Mul, half, sum)?;
    /// let start = g.lit(0.0);
    /// let ran = g.recur(time, false, &[Carried { before, start, after }])?;
    /// let bindings = Bindings { data: vec![vec![8.0, 0.0, 4.0]], indices: vec![] };
    /// assert_eq!(evaluate(&g, &bindings, &[], &[ran[0].after]), [[4.0, 2.0, 3.0]]);
    /// # Ok::<(), fitzroy_graph::Error>(())
    /// ```
    ///
    /// # Errors
    /// When what a state is computed from reads other steps, looks up by a column of steps, holds
    /// a recurrence or an operation on matrices, or is more than one step can be; and when
    /// dims do not fit.
    pub fn recur(&mut self, time: DimId, reverse: bool, carried: &[Carried]) -> Result<Vec<Ran>> {
        let holes: Vec<NodeId> = carried.iter().map(|c| c.before).collect();
        let afters = self.afters(carried, "the value after a step")?;
        let of = "the step of a recurrence";
        let (recurrence, reads) = self.step((time, reverse), (&holes, holes.len()), &afters, of)?;
        let mut inputs = Vec::new();
        for (s, c) in carried.iter().enumerate() {
            let dims = [&recurrence.states[s][..], &recurrence.lanes].concat();
            inputs.push(self.broadcast(c.start, &dims));
        }
        inputs.extend(reads);
        Ok(self.run(recurrence, inputs, &holes))
    }

    /// The step that computes `afters` from `holes`, and what it reads beside these. The first
    /// `n_told` of the holes tell which dims are lanes; `of` is what it is called in messages. Holes
    /// without the dim `time` are those of a step that stands alone.
    pub(crate) fn step(
        &mut self,
        (time, reverse): (DimId, bool),
        (holes, n_told): (&[NodeId], usize),
        afters: &[NodeId],
        of: &str,
    ) -> Result<(Recurrence, Vec<NodeId>)> {
        let depends = self.dependents(holes);
        let needed = self.needed(afters);
        let inside: Vec<NodeId> = self
            .node_ids()
            .filter(|id| depends[id.index()] && needed[id.index()] && !holes.contains(id))
            .collect();
        for &id in &inside {
            self.check_step(id, time, of)?;
            if self.dims(holes[0]).contains(&time) && !self.each(id, time) {
                let name = &self.dim_info(time).name;
                let text = format!("a step of a recurrence over `{name}` cannot read other steps");
                return Err(Error::new(ErrorKind::Dims, text));
            }
        }
        let lanes = self.lanes(time, &holes[..n_told], &inside);
        let mut step = Step {
            time,
            lanes: &lanes,
            nodes: Vec::new(),
            holes: Vec::new(),
            at: HashMap::new(),
        };
        for &hole in holes {
            step.hole(self, hole, hole);
        }
        let inputs = inside.iter().flat_map(|id| self.node(*id).inputs.clone());
        let read: Vec<NodeId> = inputs.chain(afters.iter().copied()).collect();
        step.read(self, &read, &depends);
        for &id in &inside {
            step.add(self, id);
        }
        let next = afters.iter().enumerate().map(|(s, &after)| {
            let at = step.input(self, after);
            step.repeat(at, &step.nodes[s].dims.clone())
        });
        let next: Vec<NodeId> = next.collect();
        let inner = |g: &Graph, id: NodeId| -> Vec<DimId> {
            let own = |d: &&DimId| **d != time && !lanes.contains(d);
            g.dims(id).iter().filter(own).copied().collect()
        };
        let states = holes.iter().map(|&h| inner(self, h)).collect();
        let (nodes, reads) = (step.nodes, step.holes[holes.len()..].to_vec());
        let recurrence = Recurrence {
            time,
            reverse,
            lanes: lanes.clone(),
            states,
            holes: step.holes.len(),
            nodes,
            next,
        };
        if recurrence.operations(self) > MOST_OPERATIONS {
            let text = format!(
                "{of} has {} operations; at most {MOST_OPERATIONS} are possible",
                recurrence.operations(self)
            );
            return Err(Error::new(ErrorKind::Dims, text));
        }
        Ok((recurrence, reads))
    }

    /// What stands after each hole, called `what` in messages, over the dims of the hole.
    pub(crate) fn afters(&mut self, carried: &[Carried], what: &str) -> Result<Vec<NodeId>> {
        let mut afters = Vec::new();
        for c in carried {
            let (has, wanted) = (self.dims(c.after), self.dims(c.before).to_vec());
            if !has.iter().all(|d| wanted.contains(d)) {
                let (has, wanted) = (self.describe_dims(has), self.describe_dims(&wanted));
                let text = format!("{what} has dims {has}, the state {wanted}");
                return Err(Error::new(ErrorKind::Dims, text));
            }
            afters.push(self.broadcast(c.after, &wanted));
        }
        Ok(afters)
    }

    /// Whether `node`, which depends on a hole, may be part of a step, which is called `of`.
    fn check_step(&self, id: NodeId, time: DimId, of: &str) -> Result<()> {
        let what = match &self.node(id).op {
            Op::Recurrence(_) => format!("a recurrence cannot stand in {of}"),
            Op::Ode(_) => format!("a differential equation cannot be solved in {of}"),
            Op::Gather(i) | Op::SegmentSum(i) if self.indices[i.index()].rows == time => {
                let index = &self.indices[i.index()].name;
                format!(
                    "a state of a recurrence cannot be looked up by `{index}`, which differs from step to step"
                )
            }
            op if is_matrix(op) => format!("factors of matrices cannot be taken in {of}"),
            _ => return Ok(()),
        };
        Err(Error::new(ErrorKind::Dims, what))
    }

    /// Whether the node works element by element along `dim`.
    fn each(&self, id: NodeId, dim: DimId) -> bool {
        let node = self.node(id);
        let place = |dims: &[DimId]| {
            let at = dims.iter().position(|&d| d == dim)?;
            Some(self.len_of(&dims[at..]))
        };
        node.dims.contains(&dim)
            && match &node.op {
                Op::Unary(_)
                | Op::Binary(_)
                | Op::Select
                | Op::WithSlopes
                | Op::Broadcast
                | Op::Sum
                | Op::MaxOver => true,
                Op::Contract { over } => !over.contains(&dim),
                Op::Gather(i) | Op::SegmentSum(i) => {
                    let slot = &self.indices[i.index()];
                    slot.rows != dim && slot.target != dim
                }
                Op::CumSum { axis, .. } => *axis != dim,
                Op::Slice { axis, .. } | Op::Unslice { axis, .. } => {
                    *axis != dim && self.dims(node.inputs[0]).contains(&dim)
                }
                Op::Relabel => place(&node.dims) == place(self.dims(node.inputs[0])),
                _ => false,
            }
    }

    /// The dims along which the elements of all states know nothing of each other.
    fn lanes(&self, time: DimId, holes: &[NodeId], inside: &[NodeId]) -> Vec<DimId> {
        let depends = self.dependents(holes);
        let inside = inside.iter().filter(|id| depends[id.index()]);
        let inside: Vec<NodeId> = inside.copied().collect();
        let all = self.dims(holes[0]).iter().copied();
        let alone = |d: &DimId| {
            let kept = |id: NodeId| {
                let inputs = self.node(id).inputs.iter();
                let mut inside = inputs.filter(|i| depends[i.index()]);
                self.each(id, *d) && inside.all(|&i| self.dims(i).contains(d))
            };
            holes.iter().all(|&h| self.dims(h).contains(d)) && inside.iter().all(|&id| kept(id))
        };
        all.filter(|&d| d != time).filter(alone).collect()
    }

    /// The operation and, of each state, its values before and after every step.
    fn run(&mut self, of: Recurrence, inputs: Vec<NodeId>, holes: &[NodeId]) -> Vec<Ran> {
        let of = Arc::new(of);
        let total = (0..of.states.len()).map(|s| of.len_of_state(self, s)).sum();
        let name = format!("{}*", self.dim_info(of.time).name);
        let flat = self.dim(&name, total);
        let all = self.push(Op::Recurrence(Arc::clone(&of)), inputs, vec![flat]);
        let whole: Vec<Vec<DimId>> = holes.iter().map(|h| self.dims(*h).to_vec()).collect();
        let mut cut = |s: usize, after: bool| {
            let cut = of.values(self, all, s, after);
            self.broadcast(cut, &whole[s])
        };
        let ran = |s: usize| Ran {
            before: cut(s, false),
            after: cut(s, true),
        };
        (0..of.states.len()).map(ran).collect()
    }
}

impl Recurrence {
    /// The dim of the values of a state: one for each step, and the start.
    pub(super) fn rows(&self, g: &mut Graph) -> DimId {
        let (name, size) = (g.dim_info(self.time).name.clone(), g.size(self.time));
        g.dim(&format!("{name}+1"), size + 1)
    }

    /// Numbers of state `s` in the result.
    pub(crate) fn len_of_state(&self, g: &Graph, s: usize) -> usize {
        g.len_of(&self.states[s]) * (g.size(self.time) + 1) * g.len_of(&self.lanes)
    }

    /// State `s` of a row of numbers as the result is one, over its dims with one row more.
    pub(super) fn state(&self, g: &mut Graph, all: NodeId, s: usize) -> NodeId {
        let start = (0..s).map(|s| self.len_of_state(g, s)).sum();
        let (flat, len) = (g.dims(all)[0], self.len_of_state(g, s));
        let part = g
            .slice(all, flat, start, len)
            .expect("a part of the result");
        let longer = self.rows(g);
        let dims = [&self.states[s][..], &[longer], &self.lanes].concat();
        g.relabel(part, &dims)
    }

    /// State `s` before or after every step, of a row of numbers as the result is one.
    pub(super) fn values(&self, g: &mut Graph, all: NodeId, s: usize, after: bool) -> NodeId {
        let (part, rows, steps) = (self.state(g, all, s), self.rows(g), g.size(self.time));
        let start = usize::from(self.reverse != after);
        let cut = g.slice(part, rows, start, steps).expect("one row fewer");
        g.relabel(cut, self.hole_dims(s))
    }

    /// Operations of a step over single numbers.
    fn operations(&self, g: &Graph) -> usize {
        let lanes = g.len_of(&self.lanes) * g.size(self.time);
        let of = |node: &Node| {
            let terms = match &node.op {
                Op::Contract { over } => g.len_of(over),
                _ => 1,
            };
            g.len_of(&node.dims) * terms / lanes.max(1)
        };
        self.nodes[self.holes..].iter().map(of).sum()
    }
}

fn is_matrix(op: &Op) -> bool {
    matches!(
        op,
        Op::Cholesky
            | Op::CholeskyAdjoint
            | Op::TriSolve { .. }
            | Op::LowerTriangle
            | Op::Diagonal
            | Op::FromDiagonal
    )
}

/// A step that is being written.
struct Step<'l> {
    time: DimId,
    lanes: &'l [DimId],
    nodes: Vec<Node>,
    /// What stands behind each hole.
    holes: Vec<NodeId>,
    /// The place of each node of the graph.
    at: HashMap<NodeId, NodeId>,
}

impl Step<'_> {
    fn push(&mut self, op: Op, inputs: Vec<NodeId>, dims: Vec<DimId>) -> NodeId {
        self.nodes.push(Node { op, inputs, dims });
        NodeId(self.nodes.len() as u32 - 1)
    }

    fn repeat(&mut self, at: NodeId, dims: &[DimId]) -> NodeId {
        match self.nodes[at.index()].dims == dims {
            true => at,
            false => self.push(Op::Broadcast, vec![at], dims.to_vec()),
        }
    }

    /// A hole for `id`, whose numbers are those of `core`: its own dims, then the steps, then the
    /// lanes, all of them if it has any or the steps.
    fn hole(&mut self, g: &mut Graph, id: NodeId, core: NodeId) {
        let dims = g.dims(core).to_vec();
        let own = |d: &DimId| *d != self.time && !self.lanes.contains(d);
        let mut sorted: Vec<DimId> = dims.iter().copied().filter(own).collect();
        sorted.extend(dims.iter().filter(|d| **d == self.time));
        if dims
            .iter()
            .any(|d| *d == self.time || self.lanes.contains(d))
        {
            sorted.extend(self.lanes);
        }
        let behind = g.broadcast(core, &sorted);
        let found = self.holes.iter().position(|&h| h == behind);
        let at = found.unwrap_or(self.holes.len());
        if found.is_none() {
            self.push(Op::Hole(at as u32), vec![], sorted);
            self.holes.push(behind);
        }
        self.at.insert(id, NodeId(at as u32));
    }

    /// Holes for all that a step reads and does not compute.
    fn read(&mut self, g: &mut Graph, read: &[NodeId], depends: &[bool]) {
        for &id in read {
            let known = depends[id.index()] || self.at.contains_key(&id);
            if !known && g.constant(id).is_none() {
                let core = match g.node(id).op {
                    Op::Broadcast => g.node(id).inputs[0],
                    _ => id,
                };
                self.hole(g, id, core);
            }
        }
    }

    fn add(&mut self, g: &Graph, id: NodeId) {
        let node = g.node(id).clone();
        let inputs = node.inputs.iter().map(|&i| self.input(g, i)).collect();
        let at = self.push(node.op, inputs, node.dims);
        self.at.insert(id, at);
    }

    /// A node of the step with the dims of node `id` of the graph.
    fn input(&mut self, g: &Graph, id: NodeId) -> NodeId {
        let at = match g.constant(id) {
            Some(x) => self.push(Op::Const(x.to_bits()), vec![], vec![]),
            None => self.at[&id],
        };
        self.repeat(at, g.dims(id))
    }
}
