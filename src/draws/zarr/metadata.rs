//! The JSON of a store: groups and arrays.

use super::super::{Attribute, Column, Group, Labels};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The attribute of the root that lists the arrays of draws in the order of the model.
pub(super) const ORDER: &str = "fitzroy_order";

/// What an array of a store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// f64.
    Real,
    /// i64.
    Integer,
    /// bool, one byte.
    Flag,
    /// Text.
    Text,
}

impl Kind {
    pub(super) fn of(column: &Column) -> Self {
        match column {
            Column::Real(_) => Kind::Real,
            Column::Integer(_) => Kind::Integer,
            Column::Flag(_) => Kind::Flag,
        }
    }

    /// Bytes of one element; text has none of its own.
    pub(super) fn size(self) -> usize {
        match self {
            Kind::Real | Kind::Integer => 8,
            Kind::Flag => 1,
            Kind::Text => 0,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Real => "float64",
            Kind::Integer => "int64",
            Kind::Flag => "bool",
            Kind::Text => "string",
        }
    }

    fn fill(self) -> Value {
        match self {
            Kind::Real => json!("NaN"),
            Kind::Integer => json!(0),
            Kind::Flag => json!(false),
            Kind::Text => json!(""),
        }
    }

    fn codecs(self) -> Value {
        match self {
            Kind::Real | Kind::Integer => {
                json!([{"name": "bytes", "configuration": {"endian": "little"}}])
            }
            Kind::Flag => json!([{"name": "bytes"}]),
            Kind::Text => json!([{"name": "vlen-utf8"}]),
        }
    }
}

/// How chunks are named, and the only way in which a store can be gone on with. They lie side by
/// side: a folder for each index would take longer than its file.
pub(super) fn chunk_keys() -> Value {
    json!({"name": "default", "configuration": {"separator": "."}})
}

/// An array: what its `zarr.json` says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) kind: Kind,
    pub(super) dims: Vec<String>,
    pub(super) shape: Vec<usize>,
    pub(super) chunk: Vec<usize>,
}

impl Layout {
    /// `zarr.json` of the array. A chunk of no elements is not allowed, so 0 counts as 1.
    pub(super) fn json(&self) -> Value {
        let chunk: Vec<usize> = self.chunk.iter().map(|&n| n.max(1)).collect();
        json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": self.shape,
            "data_type": self.kind.name(),
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
            "chunk_key_encoding": chunk_keys(),
            "fill_value": self.kind.fill(),
            "codecs": self.kind.codecs(),
            "attributes": {},
            "dimension_names": self.dims,
            "storage_transformers": [],
        })
    }
}

/// Attributes as JSON; whole numbers and reals stay apart.
pub(super) fn attributes_json(attributes: &[(String, Attribute)]) -> Value {
    let value = |value: &Attribute| match value {
        Attribute::Text(text) => json!(text),
        Attribute::Integer(number) => json!(number),
        Attribute::Real(number) if number.is_finite() => json!(number),
        Attribute::Real(number) => json!(number.to_string()),
    };
    let pairs = attributes.iter().map(|(name, v)| (name.clone(), value(v)));
    Value::Object(pairs.collect())
}

/// Attributes from JSON, those that are lists of one number or text among them; other lists and
/// objects are left out.
pub(super) fn attributes_of(node: &Value) -> Vec<(String, Attribute)> {
    let one = |(name, value): (&String, &Value)| {
        let only = value.as_array().filter(|list| list.len() == 1);
        let value = match only.map_or(value, |list| &list[0]) {
            Value::String(text) => Attribute::Text(text.clone()),
            Value::Number(n) => match n.as_i64() {
                Some(i) => Attribute::Integer(i),
                None => Attribute::Real(n.as_f64()?),
            },
            Value::Bool(b) => Attribute::Integer(i64::from(*b)),
            _ => return None,
        };
        Some((name.clone(), value))
    };
    let pairs = node["attributes"].as_object();
    pairs.map_or_else(Vec::new, |map| map.iter().filter_map(one).collect())
}

/// `zarr.json` of a group, `members` being everything below it by path.
///
/// Keys are sorted, groups before what they hold, and every group has its own empty list: Zarr for
/// Python before 3.2 finds nothing otherwise.
pub(super) fn group_json(attributes: Value, members: BTreeMap<String, Value>) -> Value {
    let members: Map<String, Value> = members.into_iter().collect();
    json!({
        "zarr_format": 3,
        "node_type": "group",
        "attributes": attributes,
        "consolidated_metadata": {
            "kind": "inline",
            "must_understand": false,
            "metadata": members,
        },
    })
}

/// Dimensions of a group with their sizes, in the order in which its variables name them.
pub(super) fn dimensions(group: &Group) -> Vec<(String, usize)> {
    let mut out: Vec<(String, usize)> = Vec::new();
    for variable in &group.variables {
        for (dim, &size) in variable.dims.iter().zip(&variable.shape) {
            if !out.iter().any(|(known, _)| known == dim) {
                out.push((dim.clone(), size));
            }
        }
    }
    out
}

/// The labels of a dimension, 0, 1, .. where it has none of this size.
pub(super) fn labels_for(coords: &BTreeMap<String, Labels>, dim: &str, size: usize) -> Labels {
    match coords.get(dim) {
        Some(labels) if labels.len() == size => labels.clone(),
        _ => Labels::Integers((0..size as i64).collect()),
    }
}
