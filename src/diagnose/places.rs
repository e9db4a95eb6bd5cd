//! What the elements of a variable are called: by their labels, or by their positions.

use super::element::ElementStatistics;
use super::summary::Row;
use crate::draws::{Labels, Trace, Variable};

/// A coordinate label.
#[derive(Clone, Debug, PartialEq)]
pub enum Label {
    /// A whole number.
    Integer(i64),
    /// A name.
    Text(String),
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Label::Integer(i) => write!(f, "{i}"),
            Label::Text(text) => f.write_str(text),
        }
    }
}

/// The names of the elements of a variable of draws. Whether labels say more than positions takes a
/// look at all of them, so it is found out once, and not for every element.
pub struct Places<'a> {
    variable: &'a Variable,
    dims: Vec<Option<Dim<'a>>>,
}

/// The labels of a dimension.
struct Dim<'a> {
    labels: &'a Labels,
    /// Whether they only count from 0.
    counts: bool,
}

impl<'a> Places<'a> {
    /// The places of a variable of draws of `trace`.
    pub fn new(trace: &'a Trace, variable: &'a Variable) -> Self {
        let dim = |name: &String| {
            let labels = trace.coords.get(name)?;
            let counts = counts_from_zero(labels);
            Some(Dim { labels, counts })
        };
        Places {
            variable,
            dims: variable.dims[2..].iter().map(dim).collect(),
        }
    }

    /// The element as people write it: `mu`, `theta[3]`, `theta[Choate]`, `omega[2, 0]`.
    pub fn label(&self, element: usize) -> String {
        let index = self.index(element);
        written(&self.variable.name, &index, &self.labels(&index))
    }

    pub(crate) fn variable(&self) -> &'a Variable {
        self.variable
    }

    /// The row of one element.
    pub(crate) fn row(&self, element: usize, statistics: ElementStatistics) -> Row {
        let index = self.index(element);
        Row {
            name: self.variable.name.clone(),
            labels: self.labels(&index),
            index,
            statistics,
        }
    }

    /// Position along every dimension of the element at `flat`, row-major.
    fn index(&self, mut flat: usize) -> Vec<usize> {
        let shape = &self.variable.shape[2..];
        let mut index = vec![0; shape.len()];
        for (place, &size) in index.iter_mut().zip(shape).rev() {
            *place = flat % size;
            flat /= size;
        }
        index
    }

    /// Labels of an element, or none when they only repeat its positions.
    fn labels(&self, index: &[usize]) -> Vec<Label> {
        let dim = |d: usize| self.dims[d].as_ref().filter(|c| c.labels.len() > index[d]);
        if !(0..index.len()).any(|d| dim(d).is_some_and(|c| !c.counts)) {
            return Vec::new();
        }
        let label = |d: usize| match dim(d).map(|c| c.labels) {
            Some(Labels::Text(v)) => Label::Text(v[index[d]].clone()),
            Some(Labels::Integers(v)) => Label::Integer(v[index[d]]),
            None => Label::Integer(index[d] as i64),
        };
        (0..index.len()).map(label).collect()
    }
}

pub(super) fn written(name: &str, index: &[usize], labels: &[Label]) -> String {
    let inside: Vec<String> = match labels.is_empty() {
        true => index.iter().map(usize::to_string).collect(),
        false => labels.iter().map(Label::to_string).collect(),
    };
    if inside.is_empty() {
        return name.into();
    }
    format!("{name}[{}]", inside.join(", "))
}

fn counts_from_zero(labels: &Labels) -> bool {
    match labels {
        Labels::Integers(v) => v.iter().zip(0..).all(|(&label, i)| label == i),
        Labels::Text(_) => false,
    }
}
