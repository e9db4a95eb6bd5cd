//! A graph of ONNX that grows node by node.

use crate::protobuf::Message;

/// The version of the operators: the first with `LayerNormalization`.
const OPERATORS: i64 = 17;
/// The version of the file format that came with it.
const FORMAT: i64 = 8;

/// The kind of a tensor's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    F32 = 1,
    I64 = 7,
    Bool = 9,
    F64 = 11,
}

/// An attribute of a node.
pub(super) enum Attribute<'a> {
    Integer(&'a str, i64),
    Real(&'a str, f32),
    Text(&'a str, &'a str),
}

/// Nodes, constants, inputs and outputs. Values are known by their names.
#[derive(Default)]
pub(super) struct Graph {
    message: Message,
    n_nodes: usize,
    n_constants: usize,
}

impl Graph {
    /// Appends a node; its output is called `name`.
    pub(super) fn named(
        &mut self,
        name: &str,
        operator: &str,
        inputs: &[&str],
        attributes: &[Attribute<'_>],
    ) -> String {
        let mut node = Message::default();
        inputs.iter().for_each(|input| node.text(1, input));
        node.text(2, name);
        self.n_nodes += 1;
        node.text(3, &format!("{operator}_{}", self.n_nodes));
        node.text(4, operator);
        for attribute in attributes {
            let mut own = Message::default();
            match attribute {
                Attribute::Integer(name, x) => {
                    own.text(1, name);
                    own.integer(3, *x);
                    own.integer(20, 2);
                }
                Attribute::Real(name, x) => {
                    own.text(1, name);
                    own.real(2, *x);
                    own.integer(20, 1);
                }
                Attribute::Text(name, text) => {
                    own.text(1, name);
                    own.text(4, text);
                    own.integer(20, 3);
                }
            }
            node.message(5, &own);
        }
        self.message.message(1, &node);
        name.to_string()
    }

    /// Appends a node and names its output.
    pub(super) fn node(
        &mut self,
        operator: &str,
        inputs: &[&str],
        attributes: &[Attribute<'_>],
    ) -> String {
        let name = format!("{}_out_{}", operator.to_lowercase(), self.n_nodes + 1);
        self.named(&name, operator, inputs, attributes)
    }

    /// A node without attributes.
    pub(super) fn plain(&mut self, operator: &str, inputs: &[&str]) -> String {
        self.node(operator, inputs, &[])
    }

    /// Side by side along the last of two axes.
    pub(super) fn beside(&mut self, parts: &[&str]) -> String {
        self.node("Concat", parts, &[Attribute::Integer("axis", 1)])
    }

    /// The rows of `table` that `index` says.
    pub(super) fn rows(&mut self, table: &str, index: &str) -> String {
        self.node("Gather", &[table, index], &[Attribute::Integer("axis", 0)])
    }

    /// The columns of `table` that `index` says.
    pub(super) fn columns(&mut self, table: &str, index: &str) -> String {
        self.node("Gather", &[table, index], &[Attribute::Integer("axis", 1)])
    }

    /// The same numbers in another kind.
    pub(super) fn cast(&mut self, value: &str, kind: Kind) -> String {
        self.node("Cast", &[value], &[Attribute::Integer("to", kind as i64)])
    }

    /// The same numbers in another shape.
    pub(super) fn shaped(&mut self, value: &str, shape: &[usize]) -> String {
        let shape = self.whole(&shape.iter().map(|&n| n as i64).collect::<Vec<_>>());
        self.plain("Reshape", &[value, &shape])
    }

    fn tensor(&mut self, name: &str, kind: Kind, shape: &[usize], bytes: &[u8]) -> String {
        let mut tensor = Message::default();
        shape.iter().for_each(|&n| tensor.integer(1, n as i64));
        tensor.integer(2, kind as i64);
        tensor.text(8, name);
        tensor.bytes(9, bytes);
        self.message.message(5, &tensor);
        name.to_string()
    }

    fn constant(&mut self, kind: Kind, shape: &[usize], bytes: &[u8]) -> String {
        self.n_constants += 1;
        let name = format!("constant_{}", self.n_constants);
        self.tensor(&name, kind, shape, bytes)
    }

    /// Parameters under their name.
    pub(super) fn weights(&mut self, name: &str, shape: &[usize], values: &[f32]) -> String {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.tensor(name, Kind::F32, shape, &bytes)
    }

    /// Constants in f32.
    pub(super) fn reals(&mut self, shape: &[usize], values: &[f32]) -> String {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.constant(Kind::F32, shape, &bytes)
    }

    /// A list of constants in f64.
    pub(super) fn doubles(&mut self, values: &[f64]) -> String {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.constant(Kind::F64, &[values.len()], &bytes)
    }

    /// A list of whole numbers.
    pub(super) fn whole(&mut self, values: &[i64]) -> String {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.constant(Kind::I64, &[values.len()], &bytes)
    }

    /// A list of indices.
    pub(super) fn indices(&mut self, values: impl Iterator<Item = u32>) -> String {
        self.whole(&values.map(i64::from).collect::<Vec<_>>())
    }

    /// Truths.
    pub(super) fn truths(&mut self, shape: &[usize], values: &[bool]) -> String {
        let bytes: Vec<u8> = values.iter().map(|&x| u8::from(x)).collect();
        self.constant(Kind::Bool, shape, &bytes)
    }

    /// Declares an input of f32 numbers.
    pub(super) fn input(&mut self, name: &str, shape: &[usize]) -> String {
        let value = value(name, shape);
        self.message.message(11, &value);
        name.to_string()
    }

    /// Declares an output of f32 numbers, a value of this name.
    pub(super) fn output(&mut self, name: &str, shape: &[usize]) {
        let value = value(name, shape);
        self.message.message(12, &value);
    }

    /// The file: the graph under `name`, with notes by name.
    pub(super) fn file(mut self, name: &str, notes: &[(String, String)]) -> Vec<u8> {
        self.message.text(2, name);
        let mut operators = Message::default();
        operators.text(1, "");
        operators.integer(2, OPERATORS);
        let mut model = Message::default();
        model.integer(1, FORMAT);
        model.text(2, "Fitzroy");
        model.text(3, env!("CARGO_PKG_VERSION"));
        model.message(7, &self.message);
        model.message(8, &operators);
        for (key, value) in notes {
            let mut note = Message::default();
            note.text(1, key);
            note.text(2, value);
            model.message(14, &note);
        }
        model.0
    }
}

/// The name, kind and shape of an input or output.
fn value(name: &str, shape: &[usize]) -> Message {
    let mut dims = Message::default();
    for &n in shape {
        let mut dim = Message::default();
        dim.integer(1, n as i64);
        dims.message(1, &dim);
    }
    let mut tensor = Message::default();
    tensor.integer(1, Kind::F32 as i64);
    tensor.message(2, &dims);
    let mut kind = Message::default();
    kind.message(1, &tensor);
    let mut value = Message::default();
    value.text(1, name);
    value.message(2, &kind);
    value
}
