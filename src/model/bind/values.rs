//! The elements of each array: numbers that a model can take, labels turned into positions.

use super::super::ast::Data;
use super::super::families::Values as Kind;
use super::super::names::nearest;
use super::{Binder, BoundDim, Content, described, place, wrong};
use crate::data::{Array, Labels, Values};
use crate::{Error, Result};
use std::collections::HashMap;

/// The distribution whose observed numbers, the lower ends of intervals, may be infinite.
const INTERVAL: &str = "Interval";

impl Binder<'_> {
    /// The checked elements of one array.
    pub(super) fn content(&self, declared: &Data, array: &Array) -> Result<Content> {
        if let Some(dim) = &declared.indexes {
            let dim = self.index(&dim.text);
            let at = self.positions(declared, array, &self.dims[dim])?;
            return Ok(Content::Positions { dim, at });
        }
        let Values::Real(values) = &array.values else {
            return Err(text_in_numbers(array));
        };
        let observed = self.observed_as(&declared.name.text);
        for (i, &v) in values.iter().enumerate() {
            let at = || format!("{}{}", described(array), place(&array.shape, i));
            // Missing, which was found to be possible here.
            if v.is_nan() {
                continue;
            }
            if v.is_infinite() && observed.is_some_and(|(_, family)| family != INTERVAL) {
                return Err(wrong(format!(
                    "{}: {v} is observed; it must be finite",
                    at()
                )));
            }
            if declared.whole && v.fract() != 0.0 {
                return Err(wrong(format!(
                    "{}: {v} is not a whole number (`: int`)",
                    at()
                )));
            }
            if let Some((kind, family)) = observed.filter(|_| v.is_finite()) {
                let needed = match kind {
                    Kind::Binary if v != 0.0 && v != 1.0 => "0 or 1",
                    Kind::Counts if v < 0.0 || v.fract() != 0.0 => "a whole number, 0 or more",
                    Kind::Whole if v.fract() != 0.0 => "a whole number",
                    _ => continue,
                };
                return Err(wrong(format!(
                    "{}: {v} is not what `{family}` gives: {needed}",
                    at()
                )));
            }
        }
        Ok(Content::Real(values.clone()))
    }

    /// Element `i` of `array` as a whole number, for an index column.
    pub(super) fn whole_number(&self, array: &Array, i: usize, v: f64) -> Result<i64> {
        if v.fract() != 0.0 || v.abs() > 1e15 {
            let at = format!("{}{}", described(array), place(&array.shape, i));
            return Err(wrong(format!(
                "{at}: {v} is not a whole number, so it cannot be an index"
            )));
        }
        Ok(v as i64)
    }

    fn positions(&self, declared: &Data, array: &Array, dim: &BoundDim) -> Result<Vec<u32>> {
        match (&array.values, &dim.labels) {
            (Values::Text(texts), Some(Labels::Text(labels))) => {
                let known: HashMap<&str, u32> = labels
                    .iter()
                    .zip(0..)
                    .map(|(l, i)| (l.as_str(), i))
                    .collect();
                let find = |(i, text): (usize, &String)| {
                    let found = known.get(text.as_str()).copied();
                    found.ok_or_else(|| unknown_label(array, i, text, dim, labels))
                };
                texts.iter().enumerate().map(find).collect()
            }
            (Values::Text(_), labels) => {
                let has = match labels {
                    Some(_) => "whose labels are whole numbers",
                    None => "which has no labels",
                };
                let name = &dim.name;
                Err(wrong(format!(
                    "{} holds texts, but dim `{name}` is sized by {}, {has}; declare \
                     `dim {name} = [\"...\", ...]`, give an array of labels called `{name}`, or use \
                     0-based positions",
                    described(array),
                    dim.source
                )))
            }
            (Values::Real(values), Some(Labels::Integers(labels))) if declared.from.is_none() => {
                let known: HashMap<i64, u32> = labels.iter().copied().zip(0..).collect();
                let find = |(i, &v): (usize, &f64)| {
                    let label = self.whole_number(array, i, v)?;
                    let found = known.get(&label).copied();
                    found.ok_or_else(|| unknown_label(array, i, &label.to_string(), dim, &[]))
                };
                values.iter().enumerate().map(find).collect()
            }
            (Values::Real(values), _) => {
                let base = declared.from.unwrap_or(0);
                let find = |(i, &v): (usize, &f64)| {
                    let value = self.whole_number(array, i, v)?;
                    let position = value - base;
                    if (0..dim.size as i64).contains(&position) {
                        return Ok(position as u32);
                    }
                    Err(out_of_range(
                        array,
                        i,
                        value,
                        base,
                        dim,
                        declared.from.is_none(),
                    ))
                };
                values.iter().enumerate().map(find).collect()
            }
        }
    }
}

fn text_in_numbers(array: &Array) -> Error {
    let Values::Text(texts) = &array.values else {
        return wrong(format!("{} holds no numbers", described(array)));
    };
    let first = texts.iter().position(|t| t.trim().parse::<f64>().is_err());
    let i = first.unwrap_or(0);
    let at = format!("{}{}", described(array), place(&array.shape, i));
    let text = texts.get(i).map_or("", String::as_str);
    // Numbers that may be fractions or thousands: the reader knows more.
    if let Some(note) = array.note.as_ref().filter(|n| n.contains("decimal")) {
        return wrong(format!("{}: {note}", described(array)));
    }
    wrong(format!(
        "{at}: expected a number, found the text {text:?}; a column of labels is declared \
         `data {}[...] in DIM`",
        array.name
    ))
}

fn unknown_label(array: &Array, i: usize, label: &str, dim: &BoundDim, near: &[String]) -> Error {
    let at = format!("{}{}", described(array), place(&array.shape, i));
    let advice = nearest(label, near.iter().map(String::as_str))
        .map_or_else(String::new, |n| format!("; did you mean {n:?}?"));
    wrong(format!(
        "{at}: label {label:?} is not one of the {} labels of dim `{}`{advice}",
        dim.size, dim.name
    ))
}

fn out_of_range(
    array: &Array,
    i: usize,
    value: i64,
    base: i64,
    dim: &BoundDim,
    by_default: bool,
) -> Error {
    let at = format!("{}{}", described(array), place(&array.shape, i));
    let last = base + dim.size as i64 - 1;
    let advice = if by_default && value == dim.size as i64 {
        format!("; if it counts from 1, declare `in {} from 1`", dim.name)
    } else {
        String::new()
    };
    wrong(format!(
        "{at}: {value} is out of range; dim `{}` has size {} by {}, so positions go from {base} to \
         {last}{advice}",
        dim.name, dim.size, dim.source
    ))
}
