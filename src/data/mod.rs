//! Named arrays with dimensions and labels, and the files they come from.

mod json;
mod netcdf;
mod npy;
mod packed;
mod parquet;
mod read;
mod table;
mod unpack;
mod xlsx;
mod xml;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use netcdf::NetCdfFile;
pub use parquet::ParquetFile;
pub(crate) use read::io_message;
pub use read::{DataFile, read_binding, read_binding_with, read_file, read_setting};
pub use table::{Cells, DecimalMark, HeaderAt, Separator, TableOptions, TableText};
pub(crate) use unpack::unpack;

/// What an array holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Real numbers (whole numbers included). A missing cell is NaN.
    Real(Vec<f64>),
    /// Labels of categories, one per element.
    Text(Vec<String>),
}

impl Values {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        match self {
            Values::Real(v) => v.len(),
            Values::Text(v) => v.len(),
        }
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An array as it was read, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The name by which a model refers to it.
    pub name: String,
    /// Length of each axis; empty for a scalar.
    pub shape: Vec<usize>,
    /// The elements, last axis fastest.
    pub values: Values,
    /// True when every element was written as a whole number.
    pub whole: bool,
    /// Where it came from, for messages: a file name, or `--set`.
    pub source: String,
    /// Positions in `values` that were missing in the file (an empty cell, `NA`, `NaN`, `null`),
    /// ascending from 0; in a column, position i is data row i + 1. Real values are NaN there.
    pub missing: Vec<usize>,
    /// Why the values are text although some elements are numbers, for example
    /// "row 17: `abc`": the first element that is not one. `None` for plain numbers or labels.
    pub note: Option<String>,
}

impl Array {
    /// An array of numbers without missing elements; `whole` is taken from the values.
    pub fn real(name: &str, shape: &[usize], values: Vec<f64>, source: &str) -> Self {
        Array {
            name: name.into(),
            shape: shape.to_vec(),
            whole: values.iter().all(|v| v.fract() == 0.0),
            values: Values::Real(values),
            source: source.into(),
            missing: Vec::new(),
            note: None,
        }
    }

    /// An array of labels without missing elements.
    pub fn text(name: &str, shape: &[usize], values: Vec<String>, source: &str) -> Self {
        Array {
            name: name.into(),
            shape: shape.to_vec(),
            values: Values::Text(values),
            whole: false,
            source: source.into(),
            missing: Vec::new(),
            note: None,
        }
    }
}

/// Everything a model may be bound to, by name; later arrays of the same name replace earlier.
#[derive(Clone, Debug, Default)]
pub struct Dataset {
    arrays: Vec<Array>,
}

impl Dataset {
    /// A data set without arrays.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `array`, replacing one of the same name.
    pub fn insert(&mut self, array: Array) {
        self.arrays.retain(|a| a.name != array.name);
        self.arrays.push(array);
    }

    /// Adds a real array from memory.
    pub fn insert_real(&mut self, name: &str, shape: &[usize], values: Vec<f64>) {
        self.insert(Array::real(name, shape, values, "memory"));
    }

    /// The array called `name`.
    pub fn get(&self, name: &str) -> Option<&Array> {
        self.arrays.iter().find(|a| a.name == name)
    }

    /// All arrays, in the order they came.
    pub fn arrays(&self) -> &[Array] {
        &self.arrays
    }
}

/// Labels along a dimension.
#[derive(Clone, Debug, PartialEq)]
pub enum Labels {
    /// Whole numbers, for example 0, 1, 2, ...
    Integers(Vec<i64>),
    /// Names, for example schools.
    Text(Vec<String>),
}

impl Labels {
    /// How many labels there are.
    pub fn len(&self) -> usize {
        match self {
            Labels::Integers(v) => v.len(),
            Labels::Text(v) => v.len(),
        }
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Label `i` as text.
    pub fn text(&self, i: usize) -> String {
        match self {
            Labels::Integers(v) => v[i].to_string(),
            Labels::Text(v) => v[i].clone(),
        }
    }
}
