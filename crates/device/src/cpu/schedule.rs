//! Which nodes run together: every node gets a stage, and the elementwise nodes of one stage over
//! the same dims become one loop.

use super::rows::scalar_core;
use fitzroy_graph::reference::around;
use fitzroy_graph::{DimId, Graph, NodeId, Op};
use std::collections::BTreeMap;

/// What becomes of a node that varies with the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Not needed, or constant.
    Absent,
    /// Parameters: already in memory.
    Leaf,
    /// The same memory, or the same scalar, as its input.
    Alias,
    /// Computed block by block.
    Elementwise,
    /// Adds up what a loop over its input's dims computes.
    Reduction,
    /// Computed from whole arrays.
    Kernel,
}

/// Roles and stages of all nodes.
pub(crate) struct Schedule {
    pub(crate) role: Vec<Role>,
    pub(crate) stage: Vec<usize>,
    /// Whether the node's elements must stand in memory.
    pub(crate) stored: Vec<bool>,
    /// How many nodes read it (through aliases).
    pub(crate) uses: Vec<usize>,
    /// Nodes by stage and loop dims; `None` for kernels.
    pub(crate) steps: BTreeMap<(usize, Option<Vec<DimId>>), Vec<NodeId>>,
}

/// How a node reads one of its inputs.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Edge {
    /// Element by element, in the same loop if both are in the same stage.
    Along,
    /// One number for the whole loop.
    Scalar,
    /// From memory, complete.
    Whole,
}

/// A contraction of a constant matrix with a vector, which runs inside a loop over rows.
pub(crate) fn matrix_product(graph: &Graph, node: NodeId) -> Option<MatrixProduct> {
    let n = graph.node(node);
    let Op::Contract { over } = &n.op else {
        return None;
    };
    for (matrix, vector) in [(n.inputs[0], n.inputs[1]), (n.inputs[1], n.inputs[0])] {
        let (m, v) = (graph.dims(matrix), graph.dims(vector));
        if graph.varies(matrix) || m.len() != 2 || v.len() != 1 || *over != v {
            continue;
        }
        // Rows are the longer dim; both products keep its columns apart.
        let rows = if graph.size(m[0]) >= graph.size(m[1]) {
            m[0]
        } else {
            m[1]
        };
        return Some(MatrixProduct {
            matrix,
            vector,
            rows,
            transposed: v[0] == rows,
        });
    }
    None
}

/// See [`matrix_product`].
#[derive(Clone, Copy)]
pub(crate) struct MatrixProduct {
    pub(crate) matrix: NodeId,
    pub(crate) vector: NodeId,
    pub(crate) rows: DimId,
    /// Sums over the rows.
    pub(crate) transposed: bool,
}

/// The first element of a slice among those of what is sliced, if its elements stand side by side
/// there.
pub(crate) fn side_by_side(graph: &Graph, slice: NodeId) -> Option<usize> {
    let node = graph.node(slice);
    let Op::Slice { axis, start } = node.op else {
        return None;
    };
    let (outer, _, inner) = around(graph, graph.dims(node.inputs[0]), axis);
    (outer == 1).then_some(start * inner)
}

/// Follows aliases to the node whose memory or loop it is.
pub(crate) fn origin(graph: &Graph, role: &[Role], mut node: NodeId) -> NodeId {
    while role[node.index()] == Role::Alias {
        node = graph.node(node).inputs[0];
    }
    node
}

fn role_of(graph: &Graph, node: NodeId) -> Role {
    match &graph.node(node).op {
        Op::Param { .. } => Role::Leaf,
        Op::Relabel => Role::Alias,
        Op::Slice { .. } if side_by_side(graph, node).is_some() => Role::Alias,
        Op::Unary(_) | Op::Binary(_) | Op::Select | Op::Gather(_) | Op::Slice { .. } => {
            Role::Elementwise
        }
        Op::Broadcast if scalar_core(graph, node).is_some() => Role::Alias,
        Op::Broadcast => Role::Elementwise,
        Op::Sum | Op::SegmentSum(_) => Role::Reduction,
        Op::Contract { .. } => match matrix_product(graph, node) {
            Some(p) if p.transposed => Role::Reduction,
            Some(_) => Role::Elementwise,
            None => Role::Kernel,
        },
        _ => Role::Kernel,
    }
}

impl Schedule {
    /// Assigns roles and stages to everything `outputs` need.
    pub(crate) fn new(graph: &Graph, outputs: &[NodeId], needed: &[bool]) -> Self {
        let n = graph.nodes().len();
        let mut role = vec![Role::Absent; n];
        for id in graph.node_ids() {
            if needed[id.index()] && graph.varies(id) {
                role[id.index()] = role_of(graph, id);
            }
        }
        // A repeated scalar that is read from memory must be written there. Readers come later, so
        // theirs are settled first.
        let mut whole = vec![false; n];
        outputs.iter().for_each(|o| whole[o.index()] = true);
        for id in graph.node_ids().rev() {
            let role = &mut role[id.index()];
            let alone = *role == Role::Alias && scalar_core(graph, id).is_some();
            if alone && whole[id.index()] {
                *role = Role::Elementwise;
            }
            if reads_whole(graph, *role, id) {
                let inputs = &graph.node(id).inputs;
                inputs.iter().for_each(|i| whole[i.index()] = true);
            }
        }
        let mut schedule = Schedule {
            role,
            stage: vec![0; n],
            stored: vec![false; n],
            uses: vec![0; n],
            steps: BTreeMap::new(),
        };
        schedule.assign_stages(graph);
        schedule.mark_stored(graph, outputs);
        schedule.group(graph);
        schedule
    }

    /// The dims of the loop a node runs in.
    pub(crate) fn loop_dims(&self, graph: &Graph, id: NodeId) -> Option<Vec<DimId>> {
        match self.role[id.index()] {
            Role::Elementwise => Some(graph.dims(id).to_vec()),
            Role::Reduction => Some(match matrix_product(graph, id) {
                Some(p) => vec![p.rows],
                None => graph.dims(graph.node(id).inputs[0]).to_vec(),
            }),
            _ => None,
        }
    }

    /// The inputs that vary, by origin, and how each is read.
    fn edges(&self, graph: &Graph, id: NodeId) -> Vec<(NodeId, Edge)> {
        let node = graph.node(id);
        let space = self.loop_dims(graph, id);
        let mut out = Vec::new();
        for &input in &node.inputs {
            if self.role[input.index()] == Role::Absent {
                continue;
            }
            let from = origin(graph, &self.role, input);
            let scalar =
                self.role[input.index()] == Role::Alias && scalar_core(graph, input).is_some();
            let edge = if self.role[id.index()] == Role::Kernel || reads_by_position(graph, id) {
                Edge::Whole
            } else if scalar && !graph.dims(input).is_empty() {
                Edge::Scalar
            } else if self.role[input.index()] == Role::Alias || input != from {
                Edge::Whole
            } else if space.as_deref() == Some(graph.dims(input))
                && self.role[from.index()] == Role::Elementwise
            {
                Edge::Along
            } else {
                Edge::Whole
            };
            out.push((from, edge));
        }
        out
    }

    fn assign_stages(&mut self, graph: &Graph) {
        let present = |s: &Schedule, id: NodeId| {
            !matches!(s.role[id.index()], Role::Absent | Role::Alias | Role::Leaf)
        };
        let mut last = 0;
        for id in graph.node_ids() {
            if !present(self, id) {
                continue;
            }
            let mut stage = 0;
            for (from, edge) in self.edges(graph, id) {
                if self.role[from.index()] != Role::Leaf {
                    stage = stage.max(self.stage[from.index()] + usize::from(edge != Edge::Along));
                }
            }
            self.stage[id.index()] = stage;
            last = last.max(stage);
        }
        // As late as possible: fewer loops, shorter lives.
        let mut latest = vec![last; graph.nodes().len()];
        for id in graph.node_ids().rev() {
            if !present(self, id) {
                continue;
            }
            self.stage[id.index()] = latest[id.index()];
            for (from, edge) in self.edges(graph, id) {
                let bound = latest[id.index()].saturating_sub(usize::from(edge != Edge::Along));
                let slot = &mut latest[from.index()];
                *slot = (*slot).min(bound);
            }
        }
        for id in graph.node_ids() {
            if self.role[id.index()] == Role::Reduction {
                self.join_producers(graph, id);
            }
        }
    }

    /// Moves a sum, and what only leads to it, back into the loop that computes what it adds up:
    /// reading it there costs less than storing it for a later loop.
    fn join_producers(&mut self, graph: &Graph, sum: NodeId) {
        let stage = self.stage[sum.index()];
        let (mut cone, mut next) = (vec![sum], 0);
        let mut back = None;
        let mut ready = 0;
        while next < cone.len() {
            for (from, edge) in self.edges(graph, cone[next]) {
                if edge != Edge::Along {
                    if self.role[from.index()] != Role::Leaf {
                        ready = ready.max(self.stage[from.index()] + 1);
                    }
                    continue;
                }
                if self.stage[from.index()] < stage {
                    back = back.max(Some(self.stage[from.index()]));
                } else if !cone.contains(&from) {
                    cone.push(from);
                }
            }
            next += 1;
        }
        let Some(back) = back else { return };
        if ready <= back {
            for n in cone {
                self.stage[n.index()] = back;
            }
        }
    }

    fn mark_stored(&mut self, graph: &Graph, outputs: &[NodeId]) {
        for id in graph.node_ids() {
            if matches!(
                self.role[id.index()],
                Role::Absent | Role::Alias | Role::Leaf
            ) {
                continue;
            }
            let here = (self.stage[id.index()], self.loop_dims(graph, id));
            for (from, edge) in self.edges(graph, id) {
                self.uses[from.index()] += 1;
                let there = (self.stage[from.index()], self.loop_dims(graph, from));
                if edge != Edge::Along || here != there {
                    self.stored[from.index()] = true;
                }
            }
        }
        for &o in outputs {
            if self.role[o.index()] != Role::Absent {
                let from = origin(graph, &self.role, o);
                self.stored[from.index()] = true;
                self.uses[from.index()] += 1;
            }
        }
    }

    fn group(&mut self, graph: &Graph) {
        for id in graph.node_ids() {
            let key = match self.role[id.index()] {
                Role::Elementwise | Role::Reduction => self.loop_dims(graph, id),
                Role::Kernel => None,
                _ => continue,
            };
            self.steps
                .entry((self.stage[id.index()], key))
                .or_default()
                .push(id);
        }
    }
}

/// Nodes that read their input by computed positions, not element by element.
pub(crate) fn reads_by_position(graph: &Graph, id: NodeId) -> bool {
    match graph.node(id).op {
        Op::Gather(_) | Op::Slice { .. } => true,
        Op::Broadcast => scalar_core(graph, id).is_none(),
        Op::Contract { .. } => matrix_product(graph, id).is_some_and(|p| !p.transposed),
        _ => false,
    }
}

/// Whether the node, in this role, reads all of its inputs from memory.
fn reads_whole(graph: &Graph, role: Role, id: NodeId) -> bool {
    match role {
        Role::Kernel => true,
        Role::Alias => matches!(graph.node(id).op, Op::Relabel | Op::Slice { .. }),
        Role::Elementwise => reads_by_position(graph, id),
        _ => false,
    }
}
