//! Draws as plain data: groups of variables with named, labelled dimensions; their files and
//! stores, and those of other programs.

mod cmdstan;
mod merge;
mod netcdf;
mod open;
mod parts;
mod zarr;

pub use crate::data::Labels;
pub use cmdstan::read_cmdstan;
pub use merge::{Part, Unequal, merge};
pub use netcdf::{Flush, netcdf_dims, read_netcdf, write_netcdf, write_netcdf_with};
pub use open::{Opened, open_trace, read_trace};
pub(crate) use parts::{draws_from, join_draws};
use std::collections::BTreeMap;
pub use zarr::{Block, Chunks, Stored, ZarrArray, ZarrArrays, ZarrStream, read_zarr};
pub(crate) use zarr::{Store, put_file};

/// The elements of a variable, row-major over its dimensions.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Real numbers.
    Real(Vec<f64>),
    /// Whole numbers.
    Integer(Vec<i64>),
    /// True or false.
    Flag(Vec<bool>),
}

impl Column {
    /// Element `i` as a real number. Whole numbers and flags widen.
    pub fn real(&self, i: usize) -> f64 {
        match self {
            Column::Real(v) => v[i],
            Column::Integer(v) => v[i] as f64,
            Column::Flag(v) => f64::from(u8::from(v[i])),
        }
    }
}

/// One variable of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name in the model, or the name ArviZ gives a statistic.
    pub name: String,
    /// Names of its dimensions. In groups of draws `chain` and `draw` come first, in this order.
    pub dims: Vec<String>,
    /// Sizes of its dimensions.
    pub shape: Vec<usize>,
    /// Its elements.
    pub values: Column,
}

impl Variable {
    /// Elements per draw: the product of the sizes after `chain` and `draw`.
    pub fn elements(&self) -> usize {
        self.shape.iter().skip(2).product()
    }

    /// The real draws of one element as `[chain][draw]`, copied. Whole numbers and flags widen.
    pub fn element(&self, element: usize) -> Vec<Vec<f64>> {
        let (chains, draws, stride) = (self.shape[0], self.shape[1], self.elements());
        (0..chains)
            .map(|c| {
                (0..draws)
                    .map(|d| self.values.real((c * draws + d) * stride + element))
                    .collect()
            })
            .collect()
    }
}

/// An attribute of a group or of the whole trace.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// Text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A real number.
    Real(f64),
}

/// A named group of variables: `posterior`, `sample_stats`, `observed_data`, ...
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its variables, in the order of the model.
    pub variables: Vec<Variable>,
    /// Its attributes.
    pub attributes: Vec<(String, Attribute)>,
}

impl Group {
    /// The variable called `name`.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|v| v.name == name)
    }
}

/// Everything a run leaves behind, in the layout of ArviZ's InferenceData.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Groups in writing order.
    pub groups: Vec<Group>,
    /// Labels by dimension name, `chain` and `draw` included.
    pub coords: BTreeMap<String, Labels>,
    /// Attributes of the whole.
    pub attributes: Vec<(String, Attribute)>,
}

impl Trace {
    /// The group called `name`.
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|g| g.name == name)
    }
}
