//! From a scheduled graph to steps: memory for every stored array, and instructions for loops.

use super::contract::Contraction;
use super::emit::LoopEmitter;
use super::program::{Arena, KernelPlan, Loc, Motion, PARTIALS, SLACK, Step};
use super::rows::{RowOrder, scalar_core};
use super::schedule::{Role, Schedule, matrix_product, reads_by_position, side_by_side};
use super::{ode, recurrence};
use fitzroy_graph::reference::{evaluate, flat_positions};
use fitzroy_graph::{Bindings, DimId, Graph, NodeId, Op};
use std::collections::HashMap;

/// Where an output stands after a run.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) loc: Loc,
    pub(crate) len: usize,
    /// Position of each element in the user's order, where rows were reordered.
    pub(crate) positions: Option<Vec<u32>>,
}

impl Output {
    /// Room for it in the user's order; none where it need not be put in order.
    pub(crate) fn in_order(&self) -> Vec<f64> {
        let len = self.positions.as_ref().map_or(0, Vec::len);
        vec![0.0; len]
    }
}

/// A graph being lowered: its memory and its steps.
pub(crate) struct Lower<'g> {
    pub(crate) graph: &'g Graph,
    pub(crate) bindings: &'g Bindings,
    pub(crate) schedule: Schedule,
    pub(crate) fixed: Vec<f64>,
    fixed_at: HashMap<NodeId, usize>,
    matrix_at: HashMap<(NodeId, DimId), usize>,
    place: Vec<Option<usize>>,
    pub(crate) work_len: usize,
    pub(crate) buffers: Vec<usize>,
    pub(crate) steps: Vec<Step>,
}

/// Rounds up to a whole number of cache lines.
fn line(n: usize) -> usize {
    n.div_ceil(8) * 8
}

impl<'g> Lower<'g> {
    /// Lowers everything `outputs` need; `order` holds the bound arrays.
    pub(crate) fn new(graph: &'g Graph, order: &'g RowOrder, outputs: &[NodeId]) -> Self {
        let needed = graph.needed(outputs);
        let schedule = Schedule::new(graph, outputs, &needed);
        let mut lower = Lower {
            graph,
            bindings: &order.bindings,
            schedule,
            fixed: Vec::new(),
            fixed_at: HashMap::new(),
            matrix_at: HashMap::new(),
            place: vec![None; graph.nodes().len()],
            work_len: line(graph.n_params() + SLACK),
            buffers: Vec::new(),
            steps: Vec::new(),
        };
        lower.compute_constants(outputs);
        for id in graph.node_ids() {
            let stored = lower.schedule.stored[id.index()];
            lower.place[id.index()] = match graph.node(id).op {
                Op::Param { offset } => Some(offset),
                _ if stored => Some(lower.reserve(graph.len(id))),
                _ => None,
            };
        }
        let steps = lower.schedule.steps.clone();
        for ((_, dims), nodes) in steps {
            match dims {
                Some(dims) => {
                    let plan = LoopEmitter::emit(&mut lower, &dims, &nodes);
                    lower.steps.push(Step::Loop(plan));
                }
                None => {
                    for node in nodes {
                        let step = match &graph.node(node).op {
                            Op::Recurrence(of) => {
                                Step::Recurrence(recurrence::lower(&mut lower, node, of))
                            }
                            Op::Ode(of) => Step::Ode(ode::lower(&mut lower, node, of, false)),
                            Op::OdeAdjoint(of) => Step::Ode(ode::lower(&mut lower, node, of, true)),
                            _ => Step::Kernel(lower.kernel(node)),
                        };
                        lower.steps.push(step);
                    }
                }
            }
        }
        lower
    }

    /// Room for `len` numbers in the workspace.
    pub(crate) fn reserve(&mut self, len: usize) -> usize {
        let at = self.work_len;
        self.work_len += line(len + SLACK);
        at
    }

    /// Evaluates what does not vary, once.
    fn compute_constants(&mut self, outputs: &[NodeId]) {
        let graph = self.graph;
        let mut frontier: Vec<NodeId> = Vec::new();
        for id in graph.node_ids() {
            if self.schedule.role[id.index()] == Role::Absent {
                continue;
            }
            let whole = self.schedule.role[id.index()] == Role::Kernel
                || reads_by_position(graph, id)
                || matrix_product(graph, id).is_some();
            for &input in &graph.node(id).inputs {
                if !graph.varies(input) {
                    let core = scalar_core(graph, input).filter(|_| !whole);
                    frontier.push(core.unwrap_or(input));
                }
            }
        }
        frontier.extend(outputs.iter().filter(|&&o| !graph.varies(o)));
        frontier.sort_unstable();
        frontier.dedup();
        let params = vec![0.0; graph.n_params()];
        let values = evaluate(graph, self.bindings, &params, &frontier);
        for (&id, value) in frontier.iter().zip(&values) {
            let at = self.fix(value);
            self.fixed_at.insert(id, at);
        }
    }

    pub(super) fn fix(&mut self, value: &[f64]) -> usize {
        let at = self.fixed.len();
        self.fixed.extend_from_slice(value);
        // The last element again, so that nothing strange is computed beyond the end.
        let pad = value.last().copied().unwrap_or(0.0);
        self.fixed.resize(at + line(value.len() + SLACK), pad);
        at
    }

    /// Where all elements of `node` stand.
    pub(crate) fn storage(&self, node: NodeId) -> Loc {
        let graph = self.graph;
        if !graph.varies(node)
            && let Some(&at) = self.fixed_at.get(&node)
        {
            return Loc {
                arena: Arena::Fixed,
                motion: Motion::Stream,
                at,
            };
        }
        // A slice begins further on than what it is of.
        let (mut from, mut after) = (node, 0);
        while self.schedule.role[from.index()] == Role::Alias {
            after += side_by_side(graph, from).unwrap_or(0);
            from = graph.node(from).inputs[0];
        }
        let at =
            self.place[from.index()].expect("what is read from memory has been stored") + after;
        Loc {
            arena: Arena::Work,
            motion: Motion::Stream,
            at,
        }
    }

    /// The operand for reading `input` in a loop, unless it is computed in that loop.
    pub(crate) fn operand(&self, input: NodeId) -> Loc {
        let graph = self.graph;
        let core = scalar_core(graph, input);
        if !graph.varies(input) {
            let id = core.unwrap_or(input);
            let scalar = graph.len(id) == 1 && (core.is_some() || graph.dims(input).is_empty());
            let at = self.fixed_at[&id];
            let motion = if scalar {
                Motion::Scalar
            } else {
                Motion::Stream
            };
            return Loc {
                arena: Arena::Fixed,
                motion,
                at,
            };
        }
        let mut loc = match core {
            Some(core) if self.schedule.role[input.index()] == Role::Alias => self.storage(core),
            _ => self.storage(input),
        };
        let scalar = self.schedule.role[input.index()] == Role::Alias && core.is_some();
        if scalar || graph.dims(input).is_empty() {
            loc.motion = Motion::Scalar;
        }
        loc
    }

    /// A constant matrix in panels (see `MatrixPlan`): where the first one starts.
    pub(crate) fn matrix(&mut self, matrix: NodeId, rows: DimId) -> usize {
        if let Some(&found) = self.matrix_at.get(&(matrix, rows)) {
            return found;
        }
        let dims = self.graph.dims(matrix);
        let (n, columns) = (self.graph.size(rows), self.graph.len(matrix));
        let columns = columns / n.max(1);
        let (by_row, by_column) = if dims[0] == rows {
            (columns, 1)
        } else {
            (1, n)
        };
        let from = self.fixed_at[&matrix];
        let at = self.fixed.len();
        self.fixed.reserve(n.next_multiple_of(PARTIALS) * columns);
        for panel in (0..n).step_by(PARTIALS) {
            for column in 0..columns {
                for row in panel..panel + PARTIALS {
                    // The last row again, so that nothing strange is computed beyond the end.
                    let element = row.min(n - 1) * by_row + column * by_column;
                    self.fixed.push(self.fixed[from + element]);
                }
            }
        }
        self.matrix_at.insert((matrix, rows), at);
        at
    }

    fn kernel(&mut self, node: NodeId) -> KernelPlan {
        let graph = self.graph;
        let n = graph.node(node);
        let positions = match &n.op {
            Op::MaxOver => flat_positions(graph, graph.dims(n.inputs[0]), &n.dims),
            _ => vec![],
        };
        debug_assert!(
            matrix_product(graph, node).is_none(),
            "matrix products run in loops"
        );
        let contraction = match &n.op {
            Op::Contract { over } => Some(Contraction::plan(self, node, over)),
            _ => None,
        };
        KernelPlan {
            contraction,
            op: n.op.clone(),
            dims: n.dims.clone(),
            input_dims: n.inputs.iter().map(|&i| graph.dims(i).to_vec()).collect(),
            inputs: n
                .inputs
                .iter()
                .map(|&i| (self.storage(i), graph.len(i)))
                .collect(),
            to: self.place[node.index()].expect("a kernel's result is stored"),
            len: graph.len(node),
            side: n.dims.first().map_or(1, |&d| graph.size(d)),
            positions,
        }
    }

    /// Where an output stands.
    pub(crate) fn output(&self, order: &RowOrder, node: NodeId) -> Output {
        Output {
            loc: self.storage(node),
            len: self.graph.len(node),
            positions: order.output_positions(self.graph, self.graph.dims(node)),
        }
    }
}
