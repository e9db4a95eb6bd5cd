//! How long each dim is, and what its positions are called.

use super::super::ast::{BinaryOp, Call, Dim, Expr, ExprKind, Extent, Statement, UnaryOp};
use super::super::check::constant;
use super::{Binder, BoundDim, described, wrong};
use crate::data::{Array, Labels, Values};
use crate::{ErrorKind, Result};
use std::collections::BTreeSet;

/// Largest size of a dim: positions are 32-bit.
const LARGEST: f64 = u32::MAX as f64;

/// What is known of a dim so far.
#[derive(Clone, Default)]
struct Found {
    size: Option<usize>,
    source: String,
    labels: Option<Labels>,
}

impl Binder<'_> {
    /// Sizes from the axes of arrays, then labels, then index columns, then `dim` statements.
    pub(super) fn size_dims(&self) -> Result<Vec<BoundDim>> {
        let mut found = vec![Found::default(); self.model.dims().len()];
        for (declared, array) in &self.declared {
            for (axis, dim) in declared.dims.iter().enumerate() {
                let i = self.index(&dim.text);
                self.settle(&mut found[i], i, array.shape[axis], &described(array))?;
            }
        }
        self.labels_from_model(&mut found)?;
        self.labels_from_data(&mut found)?;
        self.sizes_of_columns(&mut found)?;
        self.sizes_of_expressions(&mut found)?;
        self.scalars_that_name_dims(&found)?;
        let bound = found
            .into_iter()
            .zip(self.model.dims())
            .map(|(found, name)| BoundDim {
                name: name.text.clone(),
                size: found
                    .size
                    .expect("every dim is an axis, indexed or declared"),
                labels: found.labels,
                source: found.source,
            });
        Ok(bound.collect())
    }

    /// Gives dim `i` its size, or compares with the size it has.
    fn settle(&self, found: &mut Found, i: usize, size: usize, source: &str) -> Result<()> {
        let name = &self.model.dims()[i];
        match found.size {
            None if size as f64 > LARGEST => Err(wrong(format!(
                "dim `{name}` has size {size} by {source}; the largest possible is {LARGEST}"
            ))),
            None => {
                found.size = Some(size);
                found.source = source.into();
                Ok(())
            }
            Some(known) if known == size => Ok(()),
            Some(known) => Err(wrong(format!(
                "dim `{name}` has size {known} by {} but {size} by {source}",
                found.source
            ))),
        }
    }

    fn dim_statements(&self) -> impl Iterator<Item = &Dim> {
        self.model.statements().iter().filter_map(|s| match s {
            Statement::Dim(dim) => Some(dim),
            _ => None,
        })
    }

    fn labels_from_model(&self, found: &mut [Found]) -> Result<()> {
        for dim in self.dim_statements() {
            let Extent::Labels(labels) = &dim.extent else {
                continue;
            };
            let i = self.index(&dim.name.text);
            distinct(&dim.name.text, labels, "the model")?;
            self.settle(&mut found[i], i, labels.len(), "its labels in the model")?;
            found[i].labels = Some(labels.clone());
        }
        Ok(())
    }

    /// An array of the data that is named as a dim, and is not data of the model, labels the dim.
    fn labels_from_data(&self, found: &mut [Found]) -> Result<()> {
        for (i, dim) in self.model.dims().iter().enumerate() {
            let declared = self.model.symbols().contains_key(&dim.text);
            let Some(array) = self.data.get(&dim.text) else {
                continue;
            };
            if declared || found[i].labels.is_some() || array.shape.len() != 1 {
                continue;
            }
            let labels = match &array.values {
                Values::Text(v) => Labels::Text(v.clone()),
                Values::Real(v) if array.whole => {
                    Labels::Integers(v.iter().map(|&x| x as i64).collect())
                }
                Values::Real(_) => continue,
            };
            // A column beside others may share a dim's name by chance: only distinct labels of
            // the right number are labels.
            let fits = found[i].size.is_none_or(|n| n == labels.len());
            if fits && distinct(&dim.text, &labels, "").is_ok() {
                let source = described(array);
                self.settle(&mut found[i], i, labels.len(), &source)?;
                found[i].labels = Some(labels);
            }
        }
        Ok(())
    }

    /// Sizes a dim that nothing else sizes by the columns that index it.
    fn sizes_of_columns(&self, found: &mut [Found]) -> Result<()> {
        for (i, dim) in self.model.dims().iter().enumerate() {
            let stated = self.dim_statements().any(|d| d.name.text == dim.text);
            if found[i].size.is_some() || stated {
                continue;
            }
            let columns = self.declared.iter();
            let columns: Vec<_> = columns
                .filter(|(d, _)| d.indexes.as_ref().is_some_and(|n| n.text == dim.text))
                .collect();
            let (mut texts, mut integers) = (BTreeSet::new(), BTreeSet::new());
            let (mut size, mut counted) = (0, false);
            for (declared, array) in &columns {
                match (&array.values, declared.from) {
                    (Values::Text(v), _) => texts.extend(v.iter().cloned()),
                    (Values::Real(v), Some(base)) => {
                        counted = true;
                        size = size.max(self.largest(array, v)? - base + 1);
                    }
                    (Values::Real(v), None) => {
                        self.largest(array, v)?;
                        integers.extend(v.iter().map(|&x| x as i64));
                    }
                }
            }
            let mut source = columns.first().map_or(String::new(), |(_, a)| described(a));
            let kinds = [!texts.is_empty(), !integers.is_empty(), counted];
            if kinds.iter().filter(|k| **k).count() > 1 {
                return Err(wrong(format!(
                    "the columns that index dim `{dim}` hold labels of different kinds; use one \
                     kind, or declare `dim {dim} = ...`"
                )));
            }
            let labels = match kinds {
                [true, ..] => Some(Labels::Text(texts.into_iter().collect())),
                [_, true, _] => Some(Labels::Integers(integers.into_iter().collect())),
                _ => None,
            };
            let mut size = labels.as_ref().map_or(size.max(1) as usize, Labels::len);
            if let (None, Some((n, array))) = (&labels, self.number_called(&dim.text)) {
                (size, source) = (n, described(array));
            }
            self.settle(&mut found[i], i, size, &source)?;
            found[i].labels = labels;
        }
        Ok(())
    }

    /// The number of the data that is called as a dim: its size, of which positions that count from a
    /// number need not reach the last.
    fn number_called(&self, dim: &str) -> Option<(usize, &Array)> {
        let declared = self.declared.iter().find(|(d, _)| d.name.text == dim);
        let array = declared.map_or_else(|| self.data.get(dim), |(_, array)| Some(*array))?;
        match &array.values {
            Values::Real(v) if array.shape.is_empty() && v[0] >= 1.0 && v[0].fract() == 0.0 => {
                Some((v[0] as usize, array))
            }
            _ => None,
        }
    }

    /// The largest of `values`, which must all be whole.
    fn largest(&self, array: &Array, values: &[f64]) -> Result<i64> {
        let mut largest = i64::MIN;
        for (i, &v) in values.iter().enumerate() {
            largest = largest.max(self.whole_number(array, i, v)?);
        }
        Ok(largest)
    }

    /// `dim NAME = expression`, in whatever order they can be worked out.
    fn sizes_of_expressions(&self, found: &mut [Found]) -> Result<()> {
        let mut waiting: Vec<&Dim> = self.dim_statements().collect();
        waiting.retain(|d| matches!(d.extent, Extent::Size(_)));
        while !waiting.is_empty() {
            let before = waiting.len();
            let mut later = Vec::new();
            for dim in waiting {
                let Extent::Size(e) = &dim.extent else {
                    continue;
                };
                let Some(size) = self.evaluate(e, found)? else {
                    later.push(dim);
                    continue;
                };
                let fits = size.fract() == 0.0 && (1.0..=LARGEST).contains(&size);
                if !fits {
                    let message = format!(
                        "dim `{}` would have size {size}; it must be a whole number from 1 to {LARGEST}",
                        dim.name
                    );
                    let text = self.model.text();
                    return Err(super::super::source::located(
                        ErrorKind::Data,
                        text,
                        e.span,
                        message,
                    ));
                }
                let i = self.index(&dim.name.text);
                self.settle(
                    &mut found[i],
                    i,
                    size as usize,
                    "its statement in the model",
                )?;
            }
            waiting = later;
            assert!(
                waiting.len() < before,
                "cycles of dims are refused when the model is checked"
            );
        }
        Ok(())
    }

    /// The value of a size expression; `None` while a dim in it has no size yet.
    fn evaluate(&self, e: &Expr, found: &[Found]) -> Result<Option<f64>> {
        let wrong_kind = || {
            let message = "expected numbers, scalar data, dims, and + - * / ^ of them, or `size(array, axis)`, \
                           `max(array)`, `min(array)` or `sum(array)` of data that are no index";
            self.model.error(e.span, message)
        };
        Ok(match &e.kind {
            ExprKind::Number(v) => Some(*v),
            ExprKind::Name(name) => {
                let array = self.declared.iter().find(|(d, _)| d.name.text == *name);
                match (array, constant(name)) {
                    (
                        Some((
                            _,
                            Array {
                                values: Values::Real(v),
                                ..
                            },
                        )),
                        _,
                    ) => v.first().copied(),
                    (Some((_, array)), _) => {
                        return Err(wrong(format!(
                            "{} holds text, not a size",
                            described(array)
                        )));
                    }
                    (None, Some(value)) => Some(value),
                    (None, None) => found[self.index(name)].size.map(|n| n as f64),
                }
            }
            ExprKind::Unary(UnaryOp::Neg, x) => self.evaluate(x, found)?.map(|x| -x),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.evaluate(a, found)?, self.evaluate(b, found)?);
                let (Some(a), Some(b)) = (a, b) else {
                    return Ok(None);
                };
                Some(match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    BinaryOp::Mul => a * b,
                    BinaryOp::Div => a / b,
                    BinaryOp::Pow => a.powf(b),
                    _ => return Err(wrong_kind()),
                })
            }
            ExprKind::Call(call) => match self.number_of(call) {
                Some(number) => Some(number),
                None => return Err(wrong_kind()),
            },
            _ => return Err(wrong_kind()),
        })
    }

    /// The length of an axis of a data array, or its greatest, least or summed number.
    fn number_of(&self, call: &Call) -> Option<f64> {
        let (array, axis) = match &call.arguments[..] {
            [array] => (array, None),
            [array, axis] => (array, Some(axis)),
            _ => return None,
        };
        let ExprKind::Name(name) = &array.value.kind else {
            return None;
        };
        let (declared, array) = self.declared.iter().find(|(d, _)| d.name.text == *name)?;
        if let ("size", Some(axis)) = (call.name.text.as_str(), axis) {
            let ExprKind::Number(axis) = axis.value.kind else {
                return None;
            };
            return array.shape.get(axis as usize).map(|&n| n as f64);
        }
        let Values::Real(v) = &array.values else {
            return None;
        };
        let known = declared.indexes.is_none() && axis.is_none();
        let least = || v.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = || v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match call.name.text.as_str() {
            "max" if known => Some(greatest()),
            "min" if known => Some(least()),
            "sum" if known => Some(v.iter().sum()),
            _ => None,
        }
    }

    /// A scalar `data N` beside a dim `N` must say the same.
    fn scalars_that_name_dims(&self, found: &[Found]) -> Result<()> {
        for (declared, array) in &self.declared {
            let name = &declared.name.text;
            let dim = self.model.dims().iter().position(|d| d.text == *name);
            let (Some(dim), Values::Real(v)) = (dim, &array.values) else {
                continue;
            };
            let size = found[dim].size.unwrap_or(0);
            if v.first() != Some(&(size as f64)) {
                let value = v.first().copied().unwrap_or(f64::NAN);
                return Err(wrong(format!(
                    "{} is {value}, but dim `{name}` has size {size} by {}",
                    described(array),
                    found[dim].source
                )));
            }
        }
        Ok(())
    }
}

/// That no label of dim `name` occurs twice.
fn distinct(name: &str, labels: &Labels, source: &str) -> Result<()> {
    let mut seen = BTreeSet::new();
    for i in 0..labels.len() {
        let label = labels.text(i);
        if let Some(twice) = seen.replace(label) {
            return Err(wrong(format!(
                "label \"{twice}\" of dim `{name}` occurs twice in {source}"
            )));
        }
    }
    Ok(())
}
