//! From graph to row program: which instructions, in which order, in which buffers.

use super::super::program::Code;
use super::emitted::Switch;
use super::{Engine, Place, RowInstr, RowProgram};
use crate::lanes::Level;
use fitzroy_graph::{Binary, DimId, Graph, NodeId, Op, Unary};

struct Compiler<'g> {
    graph: &'g Graph,
    rows: DimId,
    /// Reads left of every node by instructions of this program.
    reads: Vec<usize>,
    /// Products that became part of their only reader.
    fused: Vec<bool>,
    /// Second results of paired instructions, and their first.
    second: Vec<Option<NodeId>>,
    first: Vec<Option<NodeId>>,
    place: Vec<Option<Place>>,
    scalars: Vec<f64>,
    uniform: Vec<RowInstr>,
    code: Vec<RowInstr>,
    free: Vec<usize>,
    n_buffers: usize,
}

pub(super) fn compile(
    level: Level,
    graph: &Graph,
    rows: DimId,
    products: &[NodeId],
    alone: &[NodeId],
) -> RowProgram {
    let outputs: Vec<NodeId> = products.iter().chain(alone).copied().collect();
    let mut c = Compiler::new(graph, rows);
    let needed = graph.needed(&outputs);
    c.find_pairs(&needed);
    c.find_fusions(&needed, &outputs);
    for id in graph.node_ids().filter(|id| needed[id.index()]) {
        if c.is_row(id) && !c.fused[id.index()] && c.first[id.index()].is_none() {
            for input in c.operands(id) {
                c.reads[input.index()] += 1;
            }
        }
    }
    // What is an output stays in its buffer.
    for output in &outputs {
        c.reads[output.index()] += 1;
    }
    for output in &outputs {
        c.visit(*output);
    }
    let mut fill = Vec::new();
    let buffers: Vec<usize> = outputs
        .iter()
        .map(|&o| match c.place[o.index()].expect("visited") {
            Place::Buffer(b) => b,
            place => {
                let to = c.n_buffers;
                c.n_buffers += 1;
                let instr = RowInstr {
                    code: Code::Copy,
                    to: Place::Buffer(to),
                    also_to: None,
                    from: [Some(place), None, None],
                };
                match place {
                    Place::Scalar(_) => fill.push(instr),
                    _ => c.code.push(instr),
                }
                to
            }
        })
        .collect();
    RowProgram {
        level,
        n_params: graph.n_params(),
        scalars: c.scalars,
        uniform: c.uniform,
        fill,
        code: c.code,
        n_buffers: c.n_buffers,
        n_columns: graph.data_slots().len(),
        products: buffers[..products.len()].to_vec(),
        alone: buffers[products.len()..].to_vec(),
        switch: Switch::new(Engine::default()),
    }
}

/// What is computed over rows, as instructions in a straight line: results are left in buffers.
pub(crate) struct Straight {
    /// The instructions.
    pub(crate) code: Vec<RowInstr>,
    /// Constants.
    pub(crate) scalars: Vec<f64>,
    /// The buffer of each result.
    pub(crate) results: Vec<usize>,
    /// How many there are.
    pub(crate) n_buffers: usize,
}

/// The straight code of `outputs`, which depend on no parameter.
pub(crate) fn straight(graph: &Graph, rows: DimId, outputs: &[NodeId]) -> Straight {
    let program = compile(Level::Scalar, graph, rows, outputs, &[]);
    Straight {
        code: [program.uniform, program.code, program.fill].concat(),
        scalars: program.scalars,
        results: program.products,
        n_buffers: program.n_buffers,
    }
}

impl<'g> Compiler<'g> {
    /// One that has compiled nothing.
    fn new(graph: &'g Graph, rows: DimId) -> Self {
        let n = graph.nodes().len();
        Compiler {
            graph,
            rows,
            reads: vec![0; n],
            fused: vec![false; n],
            second: vec![None; n],
            first: vec![None; n],
            place: vec![None; n],
            scalars: vec![0.0; graph.n_params()],
            uniform: Vec::new(),
            code: Vec::new(),
            free: Vec::new(),
            n_buffers: 0,
        }
    }
}

impl Compiler<'_> {
    fn op(&self, node: NodeId) -> &Op {
        &self.graph.node(node).op
    }

    fn inputs(&self, node: NodeId) -> &[NodeId] {
        &self.graph.node(node).inputs
    }

    /// True for an instruction over rows.
    fn is_row(&self, node: NodeId) -> bool {
        !self.graph.dims(node).is_empty() && !matches!(self.op(node), Op::Data(_) | Op::Broadcast)
    }

    fn find_pairs(&mut self, needed: &[bool]) {
        let ids: Vec<NodeId> = self
            .graph
            .node_ids()
            .filter(|id| needed[id.index()])
            .collect();
        for &node in &ids {
            let partner = match self.op(node) {
                Op::Unary(Unary::LogNdtr) => Unary::NdtrSlope,
                Op::Unary(Unary::Softplus) => Unary::InvLogit,
                Op::Unary(Unary::Lgamma) => Unary::Digamma,
                Op::Unary(Unary::Sin) => Unary::Cos,
                _ => continue,
            };
            let input = self.inputs(node)[0];
            let same = |&&m: &&NodeId| {
                *self.op(m) == Op::Unary(partner) && self.inputs(m)[0] == input && self.is_row(m)
            };
            if let Some(&found) = ids.iter().find(same) {
                self.second[node.index()] = Some(found);
                self.first[found.index()] = Some(node);
            }
        }
    }

    /// A product read once becomes part of the sum or difference that reads it.
    fn find_fusions(&mut self, needed: &[bool], outputs: &[NodeId]) {
        let mut uses = vec![0; needed.len()];
        for id in self.graph.node_ids().filter(|id| needed[id.index()]) {
            for input in self.inputs(id) {
                uses[input.index()] += 1;
            }
        }
        for output in outputs {
            uses[output.index()] += 1;
        }
        for id in self.graph.node_ids().filter(|id| needed[id.index()]) {
            if matches!(self.op(id), Op::Binary(Binary::Add | Binary::Sub)) && self.is_row(id) {
                let product = self.inputs(id).iter().copied().find(|&i| {
                    *self.op(i) == Op::Binary(Binary::Mul) && uses[i.index()] == 1 && self.is_row(i)
                });
                if let Some(product) = product {
                    self.fused[product.index()] = true;
                }
            }
        }
    }

    /// The nodes that the instruction for `node` reads.
    fn operands(&self, node: NodeId) -> Vec<NodeId> {
        let inputs = self.inputs(node).iter();
        inputs
            .flat_map(|&i| {
                if self.fused[i.index()] {
                    self.inputs(i).to_vec()
                } else {
                    vec![i]
                }
            })
            .collect()
    }

    /// Emits what `node` needs, depth first, then `node`.
    fn visit(&mut self, node: NodeId) {
        if self.place[node.index()].is_some() {
            return;
        }
        let dims = self.graph.dims(node);
        assert!(
            dims.is_empty() || dims == [self.rows],
            "row programs know rows and scalars"
        );
        if let Some(first) = self.first[node.index()] {
            return self.visit(first);
        }
        match self.op(node).clone() {
            Op::Param { offset } => self.place[node.index()] = Some(Place::Scalar(offset)),
            Op::Const(bits) => {
                self.scalars.push(f64::from_bits(bits));
                self.place[node.index()] = Some(Place::Scalar(self.scalars.len() - 1));
            }
            Op::Data(id) => self.place[node.index()] = Some(Place::Column(id.index())),
            Op::Broadcast => {
                let core = self.inputs(node)[0];
                self.visit(core);
                self.place[node.index()] = self.place[core.index()];
            }
            Op::Unary(_) | Op::Binary(_) | Op::Select => self.instruction(node),
            other => panic!("{other:?} is not elementwise"),
        }
    }

    fn instruction(&mut self, node: NodeId) {
        let row = self.is_row(node);
        let (code, operands) = self.choose(node);
        for &operand in &operands {
            self.visit(operand);
        }
        let mut from = [None; 3];
        for (from, operand) in from.iter_mut().zip(&operands) {
            *from = self.place[operand.index()];
        }
        if row {
            for &operand in &operands {
                self.release(operand);
            }
        }
        let to = self.reserve(row);
        self.place[node.index()] = Some(to);
        let also_to = self.second[node.index()].filter(|_| row).map(|second| {
            let also = self.reserve(row);
            self.place[second.index()] = Some(also);
            also
        });
        let instr = RowInstr {
            code,
            to,
            also_to,
            from,
        };
        if row {
            self.code.push(instr);
        } else {
            self.uniform.push(instr);
        }
    }

    /// The instruction for `node`, and what it reads, in order.
    fn choose(&self, node: NodeId) -> (Code, Vec<NodeId>) {
        let inputs = self.inputs(node).to_vec();
        let paired = self.second[node.index()].is_some() && self.is_row(node);
        let code = match *self.op(node) {
            Op::Unary(Unary::LogNdtr) if paired => Code::LogNdtrPair,
            Op::Unary(Unary::Softplus) if paired => Code::SoftplusPair,
            Op::Unary(Unary::Lgamma) if paired => Code::LgammaPair,
            Op::Unary(Unary::Sin) if paired => Code::SinCos,
            Op::Unary(op) => Code::Unary(op),
            Op::Select => Code::Select,
            Op::Binary(op) => {
                let fused = inputs.iter().position(|i| self.fused[i.index()]);
                return match (op, fused) {
                    (Binary::Add, Some(k)) => {
                        let product = self.inputs(inputs[k]);
                        (Code::MulAdd, vec![product[0], product[1], inputs[1 - k]])
                    }
                    (Binary::Sub, Some(k)) => {
                        let product = self.inputs(inputs[k]);
                        let code = if k == 0 { Code::MulSub } else { Code::SubMul };
                        (code, vec![product[0], product[1], inputs[1 - k]])
                    }
                    _ => (Code::Binary(op), inputs),
                };
            }
            _ => unreachable!("checked by the caller"),
        };
        (code, inputs)
    }

    fn reserve(&mut self, row: bool) -> Place {
        if !row {
            self.scalars.push(0.0);
            return Place::Scalar(self.scalars.len() - 1);
        }
        Place::Buffer(self.free.pop().unwrap_or_else(|| {
            self.n_buffers += 1;
            self.n_buffers - 1
        }))
    }

    /// One read of `node` is done; after the last its buffer is free.
    fn release(&mut self, node: NodeId) {
        if !self.is_row(node) {
            return;
        }
        self.reads[node.index()] -= 1;
        if self.reads[node.index()] == 0
            && let Some(Place::Buffer(b)) = self.place[node.index()]
        {
            self.free.push(b);
        }
    }
}
