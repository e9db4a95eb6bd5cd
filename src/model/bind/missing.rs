//! Missing values: which data may have them, and what they are called.

use super::super::ast::{Call, Data, Sampled, Statement, Subscript};
use super::super::families::{as_distribution, family, values_of};
use super::{Binder, Binding, BoundArray, BoundDim, described, place, wrong};
use crate::Result;
use crate::data::{Array, Labels, Values};
use crate::dist::{Form, Structured, Support};

/// Places named in a note.
const MOST_PLACES: usize = 8;

/// The elements of a data array that are missing. Each is a parameter; a discrete one is summed out.
#[derive(Clone, Debug, PartialEq)]
pub struct Missing {
    /// What the parameter is called: `NAME_missing`.
    pub parameter: String,
    /// Its dim, an index into [`Binding::dims`]: its labels say where in the array each element
    /// stands.
    pub dim: usize,
    /// The dim of the elements that are not missing, labelled likewise.
    pub observed_dim: usize,
    /// Row-major places of the missing elements, ascending.
    pub at: Vec<usize>,
    /// Whether its distribution gives whole numbers.
    pub is_discrete: bool,
}

impl Missing {
    /// Places of the elements that are not missing, of `len` in all.
    pub fn observed(&self, len: usize) -> Vec<usize> {
        let gone = |i: &usize| self.at.binary_search(i).is_ok();
        (0..len).filter(|i| !gone(i)).collect()
    }
}

impl Binding {
    /// A sentence for each array with missing values: how many, where, and what they became.
    pub fn missing_notes(&self) -> Vec<String> {
        let note = |array: &BoundArray| {
            let missing = array.missing.as_ref()?;
            let shape: Vec<usize> = array.dims.iter().map(|&d| self.dims[d].size).collect();
            let n: usize = shape.iter().product();
            let places = missing.at.iter().map(|&i| place(&shape, i));
            let places = places.map(|p| p.trim_start_matches(", ").to_owned());
            let shown: Vec<String> = places.take(MOST_PLACES).collect();
            let more = match missing.at.len() - shown.len() {
                0 => String::new(),
                n => format!("; and {n} more"),
            };
            let (are, s) = match missing.at.len() {
                1 => ("is", ""),
                _ => ("are", "s"),
            };
            let become_what = match missing.is_discrete {
                true => ", summed out, and drawn as".to_owned(),
                false => format!(" and sampled as parameter{s}"),
            };
            Some(format!(
                "{} of {n} values of `{}` {are} missing ({}{more}){become_what} `{}`",
                missing.at.len(),
                array.name,
                shown.join("; "),
                missing.parameter
            ))
        };
        self.arrays.iter().filter_map(note).collect()
    }
}

impl Binder<'_> {
    /// Places of the missing elements of `array`.
    ///
    /// # Errors
    /// Elements are missing where they cannot be parameters.
    pub(super) fn missing_places(&self, declared: &Data, array: &Array) -> Result<Vec<usize>> {
        let at: Vec<usize> = match &array.values {
            Values::Real(values) => {
                let all = values.iter().enumerate().filter(|(_, v)| v.is_nan());
                all.map(|(i, _)| i).collect()
            }
            Values::Text(_) => array.missing.clone(),
        };
        let Some(&first) = at.first() else {
            return Ok(at);
        };
        let Some(why) = self.why_not(declared, array, at.len()) else {
            self.refuse_taken_names(&declared.name.text)?;
            return Ok(at);
        };
        let here = format!("{}{}", described(array), place(&array.shape, first));
        let more = match at.len() {
            1 => String::new(),
            n => format!(" (the first of {n})"),
        };
        Err(wrong(format!(
            "{here}: the value is missing or not a number{more}; {why}"
        )))
    }

    /// Why missing elements of `array` cannot be parameters, and what to do.
    fn why_not(&self, declared: &Data, array: &Array, n: usize) -> Option<String> {
        let name = &declared.name.text;
        const REMOVE: &str = "remove the row or fill it in";
        if declared.indexes.is_some() || matches!(array.values, Values::Text(_)) {
            return Some(format!(
                "an index or a label cannot be a parameter: {REMOVE}"
            ));
        }
        if declared.dims.is_empty() {
            return Some(format!(
                "a single number that is not known is a parameter: take `{name}` out of `data`, \
                 and give it a prior"
            ));
        }
        let own = |s: &&Sampled| s.name.text == *name;
        let all: Vec<&Sampled> = self.sampled().filter(own).collect();
        let [s] = all[..] else {
            return Some(match all.len() {
                0 => format!(
                    "give `{name}` a distribution (`{name} ~ Normal(mu, sigma)`), by which the \
                     missing values become parameters, or {REMOVE}"
                ),
                _ => format!(
                    "values can be missing where one distribution speaks of all of `{name}`, and it \
                     has {}: {REMOVE}",
                    all.len()
                ),
            });
        };
        let law = &s.distribution.name.text;
        let whole = |t: &Subscript| match t {
            Subscript::At(e) => self.model.dims().iter().any(|d| d.text == e.to_string()),
            Subscript::Slice { .. } => false,
        };
        if !s.subscripts.iter().all(whole) {
            return Some(format!(
                "values can be missing where one distribution speaks of all of `{name}`, and \
                 `{law}` speaks of a part: {REMOVE}"
            ));
        }
        if declared.whole && !values_of(&s.distribution).discrete() {
            return Some(format!(
                "`{name}` holds whole numbers, and `{law}` does not give such: {REMOVE}"
            ));
        }
        if !single_numbers(&s.distribution) {
            return Some(format!(
                "values can be missing where a distribution gives numbers one by one, which \
                 `{law}` does not: {REMOVE}"
            ));
        }
        (n == array.values.len()).then(|| {
            format!(
                "all values are: take `{name}` out of `data`, and its distribution is the prior of \
                 a parameter"
            )
        })
    }

    fn sampled(&self) -> impl Iterator<Item = &Sampled> {
        self.model.statements().iter().filter_map(|s| match s {
            Statement::Sampled(s) => Some(s),
            _ => None,
        })
    }

    /// Names that the trace will hold must be free.
    fn refuse_taken_names(&self, name: &str) -> Result<()> {
        let [parameter, gone, seen] = names(name);
        for made in [parameter, gone, seen] {
            let dim = self.model.dims().iter().any(|d| d.text == made);
            if dim || self.model.symbols().contains_key(&made) {
                return Err(wrong(format!(
                    "`{name}` has missing values, for which the trace needs the name `{made}`, \
                     and the model uses it already; rename that"
                )));
            }
        }
        Ok(())
    }

    /// Makes a parameter of the elements `at`, with a dim for them and one for the others.
    pub(super) fn parameter_of_missing(
        &self,
        array: &BoundArray,
        at: Vec<usize>,
        dims: &mut Vec<BoundDim>,
    ) -> Missing {
        let [parameter, gone, seen] = names(&array.name);
        let first = dims.len();
        let own: Vec<&BoundDim> = array.dims.iter().map(|&d| &self.dims[d]).collect();
        let len = own.iter().map(|d| d.size).product();
        let mut statements = self.sampled().filter(|s| s.name.text == array.name);
        let missing = Missing {
            parameter,
            dim: first,
            observed_dim: first + 1,
            at,
            is_discrete: statements.any(|s| values_of(&s.distribution).discrete()),
        };
        let dim = |name: String, at: &[usize], what: &str| BoundDim {
            name,
            size: at.len(),
            labels: Some(labels(&own, at)),
            source: format!("the {what} values of `{}`", array.name),
        };
        dims.push(dim(gone, &missing.at, "missing"));
        dims.push(dim(seen, &missing.observed(len), "observed"));
        missing
    }
}

/// The names of the parameter of missing elements, of its dim, and of the dim of the others.
fn names(name: &str) -> [String; 3] {
    ["missing", "missing_at", "observed_at"].map(|word| format!("{name}_{word}"))
}

/// Whether a distribution gives numbers one by one, none of which is cut to a bound.
fn single_numbers(call: &Call) -> bool {
    let form = family(&call.name.text).and_then(|f| f.forms.first().copied());
    match form {
        Some(Form::Scalar(scalar)) => scalar.support() != Support::ZeroOrPositive,
        Some(Form::Structured(Structured::Mixture)) => {
            let parts = call
                .arguments
                .iter()
                .filter_map(|a| as_distribution(&a.value));
            parts.into_iter().all(single_numbers)
        }
        _ => false,
    }
}

/// Labels of the elements `at` of an array over `dims`: those of its dim, or those of all its dims,
/// separated by commas.
fn labels(dims: &[&BoundDim], at: &[usize]) -> Labels {
    let own: Vec<Labels> = dims.iter().map(|d| d.coordinates()).collect();
    match &own[..] {
        [Labels::Integers(v)] => Labels::Integers(at.iter().map(|&i| v[i]).collect()),
        own => {
            let text = |&i: &usize| {
                let (mut rest, mut words) = (i, Vec::new());
                for labels in own.iter().rev() {
                    words.push(labels.text(rest % labels.len()));
                    rest /= labels.len();
                }
                words.reverse();
                words.join(", ")
            };
            Labels::Text(at.iter().map(text).collect())
        }
    }
}
