//! The graph: an append-only list of nodes over named, sized dimensions.

use crate::op::Op;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

/// A dimension of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DimId(pub(crate) u32);

/// A node of a graph. Inputs always precede.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

/// A real array bound at compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DataId(pub(crate) u32);

/// An index array bound at compile: for each row, which element of the target dim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexId(pub(crate) u32);

impl NodeId {
    /// Its place in the list of nodes.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
impl DataId {
    /// Its place in the list of data.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
impl IndexId {
    /// Its place in the list of indices.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Name and size of a dimension.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dim {
    /// Its name in the model.
    pub name: String,
    /// How many elements it has.
    pub size: usize,
}

/// A real array that will be bound.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DataSlot {
    /// Its name in the model.
    pub name: String,
    /// Its dims.
    pub dims: Vec<DimId>,
}

/// An index array that will be bound.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IndexSlot {
    /// Its name in the model.
    pub name: String,
    /// The dim it runs over.
    pub rows: DimId,
    /// The dim it points into.
    pub target: DimId,
}

/// One node: an operation, its inputs, and the dims of its result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The operation.
    pub op: Op,
    /// The inputs, all earlier in the list.
    pub inputs: Vec<NodeId>,
    /// The dims of the result, slowest first.
    pub dims: Vec<DimId>,
}

/// A computation over named dims, as a value: the same model gives the same graph.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub(crate) dims: Vec<Dim>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) data: Vec<DataSlot>,
    pub(crate) indices: Vec<IndexSlot>,
    pub(crate) n_params: usize,
    /// Where the node with a hash stands; the next number that is free, if that hash was taken.
    seen: HashMap<u64, NodeId, Quick>,
    /// Whether each node depends on a parameter.
    pub(crate) varies: Vec<bool>,
}

/// Hashes of a few small numbers. The standard ones resist people who choose what collides, which
/// nobody does here, and took a tenth of the time of compiling a short formula.
#[derive(Clone, Copy, Debug, Default)]
struct Mixed(u64);

type Quick = BuildHasherDefault<Mixed>;

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_u64(b.into()));
    }
    fn write_u32(&mut self, x: u32) {
        self.write_u64(x.into());
    }
    fn write_usize(&mut self, x: usize) {
        self.write_u64(x as u64);
    }
    fn write_u64(&mut self, x: u64) {
        // 2⁶⁴/φ: neighbouring numbers land far apart; high bits come down for the next.
        let mixed = (self.0 ^ x).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ mixed >> 32;
    }
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Self {
        Self::default()
    }

    /// The dim called `name` with `size` elements; made when new. Dims of the same name and
    /// size are the same dim.
    pub fn dim(&mut self, name: &str, size: usize) -> DimId {
        let found = self
            .dims
            .iter()
            .position(|d| d.name == name && d.size == size);
        let at = found.unwrap_or_else(|| {
            self.dims.push(Dim {
                name: name.into(),
                size,
            });
            self.dims.len() - 1
        });
        DimId(at as u32)
    }

    /// A second dim of the same size, for square matrices: `k'` beside `k`.
    pub fn twin(&mut self, dim: DimId) -> DimId {
        let Dim { name, size } = self.dim_info(dim).clone();
        self.dim(&format!("{name}'"), size)
    }

    /// Name and size of `dim`.
    pub fn dim_info(&self, dim: DimId) -> &Dim {
        &self.dims[dim.0 as usize]
    }

    /// Number of elements of `dim`.
    pub fn size(&self, dim: DimId) -> usize {
        self.dims[dim.0 as usize].size
    }

    /// Number of elements of an array with these dims.
    pub fn len_of(&self, dims: &[DimId]) -> usize {
        dims.iter().map(|&d| self.size(d)).product()
    }

    /// Number of elements of a node.
    pub fn len(&self, node: NodeId) -> usize {
        self.len_of(&self.node(node).dims)
    }

    /// True when the graph has no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// One node.
    pub fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node.index()]
    }

    /// Dims of a node.
    pub fn dims(&self, node: NodeId) -> &[DimId] {
        &self.node(node).dims
    }

    /// All nodes, inputs first.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The real arrays to bind, by [`DataId`].
    pub fn data_slots(&self) -> &[DataSlot] {
        &self.data
    }

    /// The index arrays to bind, by [`IndexId`].
    pub fn index_slots(&self) -> &[IndexSlot] {
        &self.indices
    }

    /// All node ids, inputs first.
    pub fn node_ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// All index ids, in the order of their slots.
    pub fn index_ids(&self) -> impl Iterator<Item = IndexId> + use<> {
        (0..self.indices.len() as u32).map(IndexId)
    }

    /// Length of the parameter vector.
    pub fn n_params(&self) -> usize {
        self.n_params
    }

    /// Whether `node` depends on a parameter; if not, it can be computed once.
    pub fn varies(&self, node: NodeId) -> bool {
        self.varies[node.index()]
    }

    /// Which nodes `outputs` need, themselves included.
    pub fn needed(&self, outputs: &[NodeId]) -> Vec<bool> {
        let mut needed = vec![false; self.nodes.len()];
        for &o in outputs {
            needed[o.index()] = true;
        }
        for at in (0..needed.len()).rev() {
            if needed[at] {
                for i in &self.nodes[at].inputs {
                    needed[i.index()] = true;
                }
            }
        }
        needed
    }

    /// Dims in words, for messages: `[obs=100, feature=3]`.
    pub fn describe_dims(&self, dims: &[DimId]) -> String {
        let one = |&d: &DimId| format!("{}={}", self.dim_info(d).name, self.size(d));
        format!("[{}]", dims.iter().map(one).collect::<Vec<_>>().join(", "))
    }

    /// Value of a constant node, looking through a broadcast.
    pub fn constant(&self, node: NodeId) -> Option<f64> {
        let n = self.node(node);
        match n.op {
            Op::Const(bits) => Some(f64::from_bits(bits)),
            Op::Broadcast => self.constant(n.inputs[0]),
            _ => None,
        }
    }

    /// Appends a node, or returns the one that already says the same.
    pub(crate) fn push(&mut self, op: Op, inputs: Vec<NodeId>, dims: Vec<DimId>) -> NodeId {
        debug_assert!(
            inputs.iter().all(|i| i.index() < self.nodes.len()),
            "inputs precede"
        );
        let node = Node { op, inputs, dims };
        let mut key = Quick::default().hash_one(&node);
        while let Some(&id) = self.seen.get(&key) {
            if self.nodes[id.index()] == node {
                return id;
            }
            key = key.wrapping_add(1);
        }
        let id = NodeId(u32::try_from(self.nodes.len()).expect("fewer than 2³² nodes"));
        let varies = matches!(node.op, Op::Param { .. } | Op::Hole(_))
            || node.inputs.iter().any(|&i| self.varies(i));
        self.varies.push(varies);
        self.seen.insert(key, id);
        self.nodes.push(node);
        id
    }

    /// A constant.
    pub fn lit(&mut self, x: f64) -> NodeId {
        self.push(Op::Const(x.to_bits()), vec![], vec![])
    }

    /// The parameters from `offset` on, shaped as `dims`.
    pub fn param(&mut self, offset: usize, dims: &[DimId]) -> NodeId {
        self.n_params = self.n_params.max(offset + self.len_of(dims));
        self.push(Op::Param { offset }, vec![], dims.to_vec())
    }

    /// A real array that is bound later under `name`.
    pub fn data(&mut self, name: &str, dims: &[DimId]) -> NodeId {
        let slot = DataSlot {
            name: name.into(),
            dims: dims.to_vec(),
        };
        let at = self
            .data
            .iter()
            .position(|d| *d == slot)
            .unwrap_or_else(|| {
                self.data.push(slot);
                self.data.len() - 1
            });
        self.push(Op::Data(DataId(at as u32)), vec![], dims.to_vec())
    }

    /// An index array that is bound later under `name`: for each element of `rows`, an element
    /// of `target`.
    pub fn index(&mut self, name: &str, rows: DimId, target: DimId) -> IndexId {
        let slot = IndexSlot {
            name: name.into(),
            rows,
            target,
        };
        let at = self
            .indices
            .iter()
            .position(|d| *d == slot)
            .unwrap_or_else(|| {
                self.indices.push(slot);
                self.indices.len() - 1
            });
        IndexId(at as u32)
    }
}

/// The arrays a graph is bound to, by slot.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    /// One row-major array per [`DataSlot`].
    pub data: Vec<Vec<f64>>,
    /// One array of 0-based positions per [`IndexSlot`].
    pub indices: Vec<Vec<u32>>,
}

impl Bindings {
    /// Checks lengths and ranges against the slots of `graph`.
    ///
    /// # Errors
    /// Names the array, and both sizes or the row that points outside.
    pub fn check(&self, graph: &Graph) -> crate::Result<()> {
        use crate::{Error, ErrorKind};
        let fail = |text: String| Err(Error::new(ErrorKind::Data, text));
        if self.data.len() != graph.data.len() || self.indices.len() != graph.indices.len() {
            return fail(format!(
                "{} arrays and {} indices were bound, the graph has {} and {}",
                self.data.len(),
                self.indices.len(),
                graph.data.len(),
                graph.indices.len()
            ));
        }
        for (slot, array) in graph.data.iter().zip(&self.data) {
            if array.len() != graph.len_of(&slot.dims) {
                let dims = graph.describe_dims(&slot.dims);
                let name = &slot.name;
                return fail(format!(
                    "`{name}` has {} elements but dims {dims}",
                    array.len()
                ));
            }
        }
        for (slot, array) in graph.indices.iter().zip(&self.indices) {
            let (rows, size) = (graph.size(slot.rows), graph.size(slot.target));
            let name = &slot.name;
            if array.len() != rows {
                return fail(format!(
                    "`{name}` has {} elements, its dim has {rows}",
                    array.len()
                ));
            }
            if let Some(row) = array.iter().position(|&i| i as usize >= size) {
                let target = &graph.dim_info(slot.target).name;
                let got = array[row];
                return fail(format!(
                    "`{name}`, row {row}: index {got} is outside dim `{target}` of size {size}"
                ));
            }
        }
        Ok(())
    }
}

impl std::fmt::Display for Graph {
    /// One line per node: `%5 = Mul %3 %4 [obs]`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, node) in self.nodes.iter().enumerate() {
            let op = match &node.op {
                Op::Const(bits) => format!("{:?}", f64::from_bits(*bits)),
                Op::Data(id) => format!("data `{}`", self.data[id.index()].name),
                Op::Gather(id) => format!("gather by `{}`", self.indices[id.index()].name),
                Op::SegmentSum(id) => format!("sum by `{}`", self.indices[id.index()].name),
                Op::Unary(op) => format!("{op:?}"),
                Op::Binary(op) => format!("{op:?}"),
                other => format!("{other:?}"),
            };
            let inputs: String = node.inputs.iter().map(|i| format!(" %{}", i.0)).collect();
            writeln!(f, "%{at} = {op}{inputs} {}", self.describe_dims(&node.dims))?;
        }
        Ok(())
    }
}
