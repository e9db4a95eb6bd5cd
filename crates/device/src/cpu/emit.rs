//! One loop: the order of its nodes, their buffers, and the instructions.

use super::lower::Lower;
use super::program::{
    Arena, BLOCK, Code, Division, GroupSumPlan, Instr, Loc, LoopPlan, MatrixPlan, Motion, PARTIALS,
    SLACK, SumPlan,
};
use super::schedule::{MatrixProduct, Role, matrix_product};
use fitzroy_graph::reference::{around, flat_positions, gather_positions};
use fitzroy_graph::{Binary, DimId, NodeId, Op, Unary};
use std::collections::HashMap;

/// Mean run length from which a lookup by runs beats one by positions.
const WORTH_RUNS: f64 = 3.0;

pub(crate) struct LoopEmitter<'l, 'g> {
    lower: &'l mut Lower<'g>,
    plan: LoopPlan,
    inside: Vec<bool>,
    /// Products that became part of their only reader.
    fused: Vec<bool>,
    /// Second results of paired instructions, by their first.
    second: HashMap<NodeId, NodeId>,
    first: HashMap<NodeId, NodeId>,
    at: HashMap<NodeId, Loc>,
    reads_left: HashMap<NodeId, usize>,
    free: Vec<usize>,
}

impl<'l, 'g> LoopEmitter<'l, 'g> {
    /// The loop over `dims` that computes `nodes`.
    pub(crate) fn emit(lower: &'l mut Lower<'g>, dims: &[DimId], nodes: &[NodeId]) -> LoopPlan {
        let n = lower.graph.len_of(dims);
        let total = lower.graph.nodes().len();
        let free = lower.buffers.clone();
        let mut emitter = LoopEmitter {
            lower,
            plan: LoopPlan {
                n,
                ..LoopPlan::default()
            },
            inside: vec![false; total],
            fused: vec![false; total],
            second: HashMap::new(),
            first: HashMap::new(),
            at: HashMap::new(),
            reads_left: HashMap::new(),
            free,
        };
        for &node in nodes {
            emitter.inside[node.index()] = true;
        }
        emitter.find_pairs(nodes);
        emitter.find_fusions(nodes);
        let order = emitter.order(nodes);
        for &node in &order {
            for input in emitter.reads(node) {
                *emitter.reads_left.entry(input).or_default() += 1;
            }
        }
        for &node in &order {
            emitter.node(node);
        }
        emitter.plan
    }

    fn op(&self, node: NodeId) -> &'g Op {
        &self.lower.graph.node(node).op
    }

    fn inputs(&self, node: NodeId) -> &'g [NodeId] {
        &self.lower.graph.node(node).inputs
    }

    /// True when `input` is computed by an instruction of this loop.
    fn computed_here(&self, input: NodeId) -> bool {
        self.inside[input.index()] && self.lower.schedule.role[input.index()] == Role::Elementwise
    }

    fn find_pairs(&mut self, nodes: &[NodeId]) {
        let unary = |s: &Self, op: Unary, input: NodeId| {
            nodes
                .iter()
                .copied()
                .find(|&m| *s.op(m) == Op::Unary(op) && s.inputs(m)[0] == input)
        };
        for &node in nodes {
            let partner = match self.op(node) {
                Op::Unary(Unary::LogNdtr) => unary(self, Unary::NdtrSlope, self.inputs(node)[0]),
                Op::Unary(Unary::Softplus) => unary(self, Unary::InvLogit, self.inputs(node)[0]),
                Op::Unary(Unary::Lgamma) => unary(self, Unary::Digamma, self.inputs(node)[0]),
                Op::Unary(Unary::Sin) => unary(self, Unary::Cos, self.inputs(node)[0]),
                Op::Binary(Binary::LogAddExp) => {
                    let gap = nodes.iter().copied().find(|&m| {
                        *self.op(m) == Op::Binary(Binary::Sub)
                            && self.inputs(m) == self.inputs(node)
                    });
                    gap.and_then(|gap| unary(self, Unary::InvLogit, gap))
                }
                _ => None,
            };
            if let Some(partner) = partner
                && !self.first.contains_key(&partner)
            {
                self.second.insert(node, partner);
                self.first.insert(partner, node);
            }
        }
    }

    /// A product read once, here, becomes part of the sum or difference that reads it.
    fn find_fusions(&mut self, nodes: &[NodeId]) {
        for &node in nodes {
            let inputs = self.inputs(node);
            let candidates: &[NodeId] = match self.op(node) {
                Op::Binary(Binary::Add | Binary::Sub) => inputs,
                Op::Sum if self.lower.graph.dims(node).is_empty() => inputs,
                _ => &[],
            };
            let product = candidates.iter().copied().find(|&i| {
                self.computed_here(i)
                    && *self.op(i) == Op::Binary(Binary::Mul)
                    && self.lower.schedule.uses[i.index()] == 1
                    && !self.lower.schedule.stored[i.index()]
            });
            if let Some(product) = product {
                self.fused[product.index()] = true;
            }
        }
    }

    /// The nodes an instruction for `node` reads as operands of this loop.
    fn reads(&self, node: NodeId) -> Vec<NodeId> {
        if let Some(&first) = self.first.get(&node) {
            return vec![first];
        }
        if let Some(product) = matrix_product(self.lower.graph, node) {
            return if product.transposed {
                vec![product.vector]
            } else {
                vec![]
            };
        }
        match self.op(node) {
            Op::Gather(_) | Op::Broadcast | Op::Slice { .. } => vec![],
            _ => self
                .inputs(node)
                .iter()
                .flat_map(|&i| {
                    if self.fused[i.index()] {
                        self.inputs(i).to_vec()
                    } else {
                        vec![i]
                    }
                })
                .collect(),
        }
    }

    /// Depth first from the sums and stored results: short lives.
    fn order(&self, nodes: &[NodeId]) -> Vec<NodeId> {
        let mut done = vec![false; self.inside.len()];
        let mut order = Vec::new();
        for &root in nodes {
            let is_root = self.lower.schedule.role[root.index()] == Role::Reduction
                || self.lower.schedule.stored[root.index()];
            if is_root {
                self.visit(root, &mut done, &mut order);
            }
        }
        order
    }

    fn visit(&self, root: NodeId, done: &mut [bool], order: &mut Vec<NodeId>) {
        let mut stack = vec![(root, false)];
        while let Some((node, expanded)) = stack.pop() {
            if done[node.index()] {
                continue;
            }
            if expanded {
                done[node.index()] = true;
                order.push(node);
                continue;
            }
            stack.push((node, true));
            for input in self.reads(node).into_iter().rev() {
                if self.computed_here(input) && !done[input.index()] {
                    stack.push((input, false));
                }
            }
        }
    }

    fn buffer(&mut self) -> Loc {
        let at = self.free.pop().unwrap_or_else(|| {
            let at = self.lower.reserve(BLOCK + SLACK);
            self.lower.buffers.push(at);
            at
        });
        Loc {
            arena: Arena::Work,
            motion: Motion::Buffer,
            at,
        }
    }

    /// Where the result of `node` goes: its place in memory, or a buffer.
    fn target(&mut self, node: NodeId) -> Loc {
        let loc = if self.lower.schedule.stored[node.index()] {
            self.lower.storage(node)
        } else {
            self.buffer()
        };
        self.at.insert(node, loc);
        loc
    }

    /// The operand for `input`; releases its buffer after the last read.
    fn take(&mut self, input: NodeId) -> Loc {
        let Some(&loc) = self.at.get(&input) else {
            return self.lower.operand(input);
        };
        let left = self
            .reads_left
            .get_mut(&input)
            .expect("every read was counted");
        *left -= 1;
        if *left == 0 && loc.motion == Motion::Buffer {
            self.free.push(loc.at);
        }
        loc
    }

    fn push(&mut self, code: Code, to: Option<Loc>, also_to: Option<Loc>, from: &[Loc]) {
        let mut operands = [None; 3];
        for (slot, &loc) in operands.iter_mut().zip(from) {
            *slot = Some(loc);
        }
        self.plan.code.push(Instr {
            code,
            to,
            also_to,
            from: operands,
        });
    }

    fn node(&mut self, node: NodeId) {
        if self.first.contains_key(&node) {
            let first = self.first[&node];
            self.take(first);
            return;
        }
        match self.op(node).clone() {
            Op::Unary(op) => self.unary(node, op),
            Op::Binary(op) => self.binary(node, op),
            Op::Select => {
                let from: Vec<Loc> = self.inputs(node).iter().map(|&i| self.take(i)).collect();
                let to = self.target(node);
                self.push(Code::Select, Some(to), None, &from);
            }
            Op::Sum | Op::SegmentSum(_) => self.reduction(node),
            Op::Contract { .. } => {
                let product = matrix_product(self.lower.graph, node).expect("runs in a loop");
                self.matrix(node, product);
            }
            _ => self.lookup(node),
        }
    }

    fn unary(&mut self, node: NodeId, op: Unary) {
        let from = self.take(self.inputs(node)[0]);
        let also = self.second.get(&node).copied();
        let to = self.target(node);
        let also_to = also.map(|second| self.target(second));
        let code = match (also, op) {
            (Some(_), Unary::LogNdtr) => Code::LogNdtrPair,
            (Some(_), Unary::Softplus) => Code::SoftplusPair,
            (Some(_), Unary::Lgamma) => Code::LgammaPair,
            (Some(_), Unary::Sin) => Code::SinCos,
            _ => Code::Unary(op),
        };
        self.push(code, Some(to), also_to, &[from]);
    }

    fn binary(&mut self, node: NodeId, op: Binary) {
        let (a, b) = (self.inputs(node)[0], self.inputs(node)[1]);
        let (code, reads) = match (op, self.fused[a.index()], self.fused[b.index()]) {
            (Binary::Add, true, _) => (Code::MulAdd, [self.inputs(a), &[b]].concat()),
            (Binary::Add, _, true) => (Code::MulAdd, [self.inputs(b), &[a]].concat()),
            (Binary::Sub, true, _) => (Code::MulSub, [self.inputs(a), &[b]].concat()),
            (Binary::Sub, _, true) => (Code::SubMul, [self.inputs(b), &[a]].concat()),
            _ => (Code::Binary(op), vec![a, b]),
        };
        let from: Vec<Loc> = reads.iter().map(|&i| self.take(i)).collect();
        let second = self.second.get(&node).copied();
        let to = self.target(node);
        let also_to = second.map(|second| self.target(second));
        let code = if second.is_some() {
            Code::LogAddExpPair
        } else {
            code
        };
        self.push(code, Some(to), also_to, &from);
    }

    /// An operand that moves through memory: a scalar is copied out first.
    fn vector(&mut self, input: NodeId) -> Loc {
        let loc = self.take(input);
        if loc.motion != Motion::Scalar {
            return loc;
        }
        let to = self.buffer();
        self.push(Code::Copy, Some(to), None, &[loc]);
        self.free.push(to.at);
        to
    }

    fn reduction(&mut self, node: NodeId) {
        let graph = self.lower.graph;
        let input = self.inputs(node)[0];
        let total = self.lower.storage(node).at;
        if graph.dims(node).is_empty() {
            let reads = if self.fused[input.index()] {
                self.inputs(input).to_vec()
            } else {
                vec![input]
            };
            let from: Vec<Loc> = reads.iter().map(|&i| self.take(i)).collect();
            let sum = self.sum_plan(total);
            self.push(Code::Sum(sum), None, None, &from);
            return;
        }
        let positions = match self.op(node) {
            Op::SegmentSum(index) => gather_positions(
                graph,
                self.lower.bindings,
                *index,
                graph.dims(node),
                graph.dims(input),
            ),
            _ => flat_positions(graph, graph.dims(input), graph.dims(node)),
        };
        let from = self.vector(input);
        let carry = self.lower.reserve(8);
        let (code, runs): (fn(usize) -> Code, _) = match Division::new(&positions) {
            Division::Level(runs) => (Code::SumRuns, Some(runs)),
            Division::Rising(runs) => (Code::SumRising, Some(runs)),
            Division::Scattered => (Code::SumAt, None),
        };
        let len = graph.len(node);
        self.plan.groups.push(GroupSumPlan {
            runs,
            positions,
            carry,
            total,
            len,
        });
        self.push(code(self.plan.groups.len() - 1), None, None, &[from]);
    }

    fn sum_plan(&mut self, total: usize) -> usize {
        let partials = self.lower.reserve(PARTIALS);
        let tree = self.lower.reserve(64);
        self.plan.sums.push(SumPlan {
            partials,
            tree,
            total,
        });
        self.plan.sums.len() - 1
    }

    fn lookup(&mut self, node: NodeId) {
        let graph = self.lower.graph;
        let input = self.inputs(node)[0];
        if super::rows::scalar_core(graph, node).is_some() {
            let mut from = self.lower.storage(input);
            from.motion = Motion::Scalar;
            let to = self.target(node);
            return self.push(Code::Copy, Some(to), None, &[from]);
        }
        let (wide, narrow) = (graph.dims(node), graph.dims(input));
        let positions = match self.op(node) {
            Op::Gather(index) => gather_positions(graph, self.lower.bindings, *index, narrow, wide),
            Op::Slice { axis, start } => {
                let (outer, n, inner) = around(graph, narrow, *axis);
                let len = graph.len(node) / (outer * inner).max(1);
                let row = |o: usize| {
                    let from = (o * n + start) * inner;
                    from as u32..(from + len * inner) as u32
                };
                (0..outer).flat_map(row).collect()
            }
            _ => flat_positions(graph, wide, narrow),
        };
        let from = self.lower.storage(input);
        let to = self.target(node);
        let code = match Division::new(&positions) {
            Division::Level(runs) if runs.mean_len() >= WORTH_RUNS => {
                self.plan.runs.push(runs);
                Code::GatherRuns(self.plan.runs.len() - 1)
            }
            Division::Rising(runs) => {
                self.plan.runs.push(runs);
                Code::GatherRising(self.plan.runs.len() - 1)
            }
            _ => {
                self.plan.positions.push(positions);
                Code::GatherAt(self.plan.positions.len() - 1)
            }
        };
        self.push(code, Some(to), None, &[from]);
    }

    fn matrix(&mut self, node: NodeId, product: MatrixProduct) {
        let graph = self.lower.graph;
        let (at, stride) = self.lower.matrix(product.matrix, product.rows);
        let columns = graph.len(product.matrix) / graph.size(product.rows).max(1);
        let first_sum = self.plan.sums.len();
        let plan = MatrixPlan {
            at,
            stride,
            columns,
            first_sum,
        };
        self.plan.matrices.push(plan);
        let table = self.plan.matrices.len() - 1;
        if product.transposed {
            let total = self.lower.storage(node).at;
            for column in 0..columns {
                self.sum_plan(total + column);
            }
            let from = self.vector(product.vector);
            self.push(Code::MatVecT(table), None, None, &[from]);
        } else {
            let from = self.lower.storage(product.vector);
            let to = self.target(node);
            self.push(Code::MatVec(table), Some(to), None, &[from]);
        }
    }
}
