//! Arrays of any store, by name: for data that are no trace.

use super::super::{Attribute, Column};
use super::array::{Elements, plan, wrong};
use super::metadata::attributes_of;
use super::read::Store;
use crate::Result;
use std::ops::Range;
use std::path::Path;

/// A Zarr store as named arrays: version 3, or version 2.
pub struct ZarrArrays {
    store: Store,
    arrays: Vec<ZarrArray>,
}

/// What is known of an array without reading it.
#[derive(Clone, Debug, PartialEq)]
pub struct ZarrArray {
    /// Its path below the root.
    pub name: String,
    /// Names of its dimensions.
    pub dims: Vec<String>,
    /// Its sizes.
    pub shape: Vec<usize>,
    /// Sizes of its chunks.
    pub chunk: Vec<usize>,
    /// Its attributes; lists are left out.
    pub attributes: Vec<(String, Attribute)>,
    /// The number that stands for a missing one, in stores of version 2.
    pub missing: Option<f64>,
    /// Bits of its numbers, and whether they have a sign, where they are whole.
    pub whole_kind: Option<(u32, bool)>,
}

impl ZarrArrays {
    /// Opens the store at `path`.
    ///
    /// # Errors
    /// `Io` when it cannot be read, `Data` when it is no store. Whoever asks names the path.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let store = Store::open(path.as_ref())?;
        let mut arrays = Vec::new();
        for (name, node) in store.nodes() {
            if node["node_type"] != "array" {
                continue;
            }
            let planned = plan(node, name, false).map_err(|e| e.context(name))?;
            let Some(plan) = planned.filter(|plan| plan.numeric()) else {
                continue; // Text, or a type without numbers.
            };
            let older = node["zarr_format"] == 2;
            arrays.push(ZarrArray {
                name: name.clone(),
                whole_kind: plan.whole_kind(),
                dims: plan.dims,
                shape: plan.shape,
                chunk: plan.chunk,
                attributes: attributes_of(node),
                missing: node["fill_value"].as_f64().filter(|_| older),
            });
        }
        Ok(ZarrArrays { store, arrays })
    }

    /// The arrays of numbers, by name.
    pub fn arrays(&self) -> &[ZarrArray] {
        &self.arrays
    }

    /// Elements of an array that lie in `wanted`, a range on every axis, row-major.
    ///
    /// # Errors
    /// There is no such array, the ranges leave it, or a chunk is damaged or of a codec that is
    /// not known. Whoever asks names the store and the array.
    pub fn read(&self, name: &str, wanted: &[Range<usize>]) -> Result<Vec<f64>> {
        let node = self.store.nodes().find(|(path, _)| *path == name);
        let (_, node) = node.ok_or_else(|| wrong("there is no such array"))?;
        let plan = plan(node, name, false)?;
        let plan = plan.ok_or_else(|| wrong("its type is not known"))?;
        let inside = wanted.iter().zip(&plan.shape).all(|(r, &n)| r.end <= n);
        if wanted.len() != plan.shape.len() || !inside {
            return Err(wrong(format!(
                "{wanted:?} leaves its shape {:?}",
                plan.shape
            )));
        }
        let elements = self.store.array(name, &plan, wanted)?;
        Ok(match elements {
            Elements::Numbers(Column::Real(values)) => values,
            Elements::Numbers(Column::Integer(values)) => {
                values.into_iter().map(|n| n as f64).collect()
            }
            Elements::Numbers(Column::Flag(values)) => {
                values.into_iter().map(|b| f64::from(u8::from(b))).collect()
            }
            Elements::Texts(_) => return Err(wrong("it holds text")),
        })
    }
}
