//! A model meets its data: sizes and labels of dims, positions, checked numbers.

mod dims;
mod missing;
mod values;

use super::Model;
use super::ast::{Data, Statement};
use super::families::{Values, values_of};
use super::names::{did_you_mean, list};
use crate::data::{Array, Dataset, Labels};
use crate::{Error, ErrorKind, Result};

pub use missing::Missing;

/// A dim with its size.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundDim {
    /// Its name.
    pub name: String,
    /// Its length.
    pub size: usize,
    /// Its labels, where the data or the model give any.
    pub labels: Option<Labels>,
    /// What gave its size, for messages: "`y` (trial.csv)".
    pub source: String,
}

impl BoundDim {
    /// Its labels, or 0, 1, 2, ... where there are none.
    pub fn coordinates(&self) -> Labels {
        match &self.labels {
            Some(labels) => labels.clone(),
            None => Labels::Integers((0..self.size as i64).collect()),
        }
    }
}

/// The elements of a bound array, row-major.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Real numbers; NaN where they are [missing](BoundArray::missing), and nowhere else.
    Real(Vec<f64>),
    /// 0-based positions in a dim, each below its size.
    Positions {
        /// Which of [`Binding::dims`].
        dim: usize,
        /// The positions.
        at: Vec<u32>,
    },
}

/// A data array of the model, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundArray {
    /// Its name.
    pub name: String,
    /// Its dims, each an index into [`Binding::dims`].
    pub dims: Vec<usize>,
    /// Its elements.
    pub content: Content,
    /// Those that are missing.
    pub missing: Option<Missing>,
}

impl BoundArray {
    /// Its elements as real numbers; positions become whole numbers.
    pub fn reals(&self) -> Vec<f64> {
        match &self.content {
            Content::Real(v) => v.clone(),
            Content::Positions { at, .. } => at.iter().map(|&i| f64::from(i)).collect(),
        }
    }
}

/// A model's dims and data arrays, sized, labelled and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// All dims, in the order they first occur in the model.
    pub dims: Vec<BoundDim>,
    /// All data arrays, in the order of their declarations.
    pub arrays: Vec<BoundArray>,
}

impl Binding {
    /// The index of the dim called `name`.
    pub fn dim(&self, name: &str) -> Option<usize> {
        self.dims.iter().position(|d| d.name == name)
    }

    /// The array called `name`.
    pub fn array(&self, name: &str) -> Option<&BoundArray> {
        self.arrays.iter().find(|a| a.name == name)
    }
}

/// An error about data.
fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Data, message)
}

/// `name` with the file it came from.
fn described(array: &Array) -> String {
    if array.source.is_empty() {
        format!("`{}`", array.name)
    } else {
        format!("`{}` ({})", array.name, array.source)
    }
}

/// Element `i` of an array of `shape` in words, counted from 1 as a spreadsheet counts.
pub(crate) fn place(shape: &[usize], i: usize) -> String {
    let mut rest = i;
    let mut at = vec![0; shape.len()];
    for (k, &n) in shape.iter().enumerate().rev() {
        at[k] = rest % n + 1;
        rest /= n;
    }
    match at[..] {
        [] => String::new(),
        [row] => format!(", row {row}"),
        [row, column] => format!(", row {row}, column {column}"),
        _ => format!(", element {at:?} (counted from 1)"),
    }
}

/// Matches `model` with `data`. See [`Model::bind`].
pub(super) fn bind(model: &Model, data: &Dataset) -> Result<Binding> {
    let mut binder = Binder {
        model,
        data,
        declared: Vec::new(),
        dims: Vec::new(),
    };
    binder.declared = binder.find_arrays()?;
    let missing = binder.declared.iter();
    let missing: Result<Vec<_>> = missing.map(|(d, a)| binder.missing_places(d, a)).collect();
    let missing = missing?;
    binder.dims = binder.size_dims()?;
    let mut all_dims = binder.dims.clone();
    let mut arrays = Vec::new();
    for ((declared, array), at) in binder.declared.iter().zip(missing) {
        let dims = declared
            .dims
            .iter()
            .map(|d| binder.index(&d.text))
            .collect();
        let mut bound = BoundArray {
            name: declared.name.text.clone(),
            dims,
            content: binder.content(declared, array)?,
            missing: None,
        };
        if !at.is_empty() {
            bound.missing = Some(binder.parameter_of_missing(&bound, at, &mut all_dims));
        }
        arrays.push(bound);
    }
    Ok(Binding {
        dims: all_dims,
        arrays,
    })
}

struct Binder<'a> {
    model: &'a Model,
    data: &'a Dataset,
    declared: Vec<(&'a Data, &'a Array)>,
    dims: Vec<BoundDim>,
}

impl<'a> Binder<'a> {
    /// The array for each declaration, with the number of axes it was declared with.
    fn find_arrays(&self) -> Result<Vec<(&'a Data, &'a Array)>> {
        let mut out = Vec::new();
        for statement in self.model.statements() {
            let Statement::Data(declared) = statement else {
                continue;
            };
            let name = declared.name.text.as_str();
            let Some(array) = self.data.get(name) else {
                return Err(self.missing(name));
            };
            let elements: usize = array.shape.iter().product();
            let scalar = declared.dims.is_empty() && elements == 1;
            if !scalar && array.shape.len() != declared.dims.len() {
                return Err(wrong(rank_message(declared, array)));
            }
            if elements == 0 {
                return Err(wrong(format!(
                    "{} is empty; it needs at least one row",
                    described(array)
                )));
            }
            out.push((declared, array));
        }
        Ok(out)
    }

    fn missing(&self, name: &str) -> Error {
        let names = || self.data.arrays().iter().map(|a| a.name.as_str());
        let got = list(names(), 12);
        wrong(match did_you_mean(name, names()) {
            near if near.is_empty() => format!("data `{name}` is missing; the data hold {got}"),
            near => format!("data `{name}` is missing{near} The data hold {got}"),
        })
    }

    /// The index of a dim that the model is known to have.
    fn index(&self, name: &str) -> usize {
        let at = self.model.dims().iter().position(|d| d.text == name);
        at.expect("checking the model collected every dim")
    }

    /// The kind of values that the model's distribution for `name` gives, if it is observed.
    fn observed_as(&self, name: &str) -> Option<(Values, &'a str)> {
        self.model.statements().iter().find_map(|s| match s {
            Statement::Sampled(s) if s.name.text == name => Some((
                values_of(&s.distribution),
                s.distribution.name.text.as_str(),
            )),
            _ => None,
        })
    }
}

fn rank_message(declared: &Data, array: &Array) -> String {
    let dims: Vec<&str> = declared.dims.iter().map(|d| d.text.as_str()).collect();
    let needed = match dims.len() {
        0 => "a scalar".to_owned(),
        1 => format!("one dim, [{}]", dims[0]),
        n => format!("{n} dims, [{}]", dims.join(", ")),
    };
    let shape: Vec<String> = array.shape.iter().map(usize::to_string).collect();
    let got = match shape.len() {
        0 => "a scalar".to_owned(),
        _ => format!("an array of shape [{}]", shape.join(", ")),
    };
    format!(
        "{} is {got}, but the model declares {needed}",
        described(array)
    )
}
