//! Checks of observed values against where a distribution has mass, as far as that is known.

use super::build::Build;
use super::law::Law;
use super::observations::Observations;
use crate::dist::{Bound, Scalar, Support};
use crate::model::ast::Sampled;
use crate::model::bind::place;
use crate::{Error, ErrorKind, Result};
use fitzroy_graph::{DimId, Expr as Value};

/// Whether element i may have a value.
type Inside = Box<dyn Fn(usize, f64) -> bool>;

/// Values a distribution gives: a test, and in words.
struct Given {
    inside: Inside,
    meaning: String,
}

/// A bound that is known: one number for each element, or one for all.
#[derive(Clone)]
struct Known(Vec<f64>);

impl Known {
    fn at(&self, i: usize) -> f64 {
        self.0[if self.0.len() == 1 { 0 } else { i }]
    }

    fn text(&self) -> String {
        match self.0[..] {
            [x] => x.to_string(),
            _ => "its bound".into(),
        }
    }
}

/// The data of an observed statement: its dims and values.
#[derive(Clone, Copy)]
pub(super) struct Observed<'a> {
    pub(super) s: &'a Sampled,
    pub(super) dims: &'a [DimId],
    pub(super) values: &'a [f64],
    /// Where they stand in the whole array, if they are a part of it.
    pub(super) part: Option<&'a Observations>,
}

impl<'g> Build<'_, 'g> {
    /// Checks observed values; true when they are all known to lie in the support.
    ///
    /// # Errors
    /// The first value that cannot come from the distribution.
    pub(super) fn check_observed(&self, of: Observed<'_>, law: &Law<'g>) -> Result<bool> {
        let Some(given) = self.support_of(law, of.dims) else {
            return Ok(false);
        };
        let bad = (0..of.values.len()).find(|&i| !(given.inside)(i, of.values[i]));
        match bad {
            Some(i) => {
                let why = format!(
                    "{} cannot come from {}, which gives {}",
                    of.values[i],
                    law.name(),
                    given.meaning
                );
                Err(self.wrong_value(of, i, &why))
            }
            None => Ok(matches!(law, Law::Scalar(..))),
        }
    }

    /// An error about observed element `i`.
    pub(super) fn wrong_value(&self, of: Observed<'_>, i: usize, why: &str) -> Error {
        let sizes = of.dims.iter().map(|&d| self.scope.with(|g| g.size(d)));
        let at = match of.part {
            Some(part) => place(&part.shape, part.at[i]),
            None => place(&sizes.collect::<Vec<usize>>(), i),
        };
        let name = &of.s.name;
        Error::new(ErrorKind::Data, format!("`{name}`{at}: {why}"))
    }

    fn known_over(&self, value: Value<'g>, dims: &[DimId]) -> Option<Known> {
        match value.constant() {
            Some(x) => Some(Known(vec![x])),
            None => Some(Known(self.scope.known(value.broadcast(self.scope, dims))?)),
        }
    }

    fn support_of(&self, law: &Law<'g>, dims: &[DimId]) -> Option<Given> {
        match law {
            Law::Scalar(scalar, arguments) => self.given_by_scalar(*scalar, arguments, dims),
            Law::Mixture(_, parts) => {
                let all: Option<Vec<Given>> =
                    parts.iter().map(|p| self.support_of(p, dims)).collect();
                let all = all?;
                let mut words: Vec<String> = all.iter().map(|g| g.meaning.clone()).collect();
                words.dedup();
                Some(Given {
                    inside: Box::new(move |i, v| all.iter().any(|g| (g.inside)(i, v))),
                    meaning: words.join(" or "),
                })
            }
            Law::Censored(part, lower, upper) => {
                let end = |v: Option<Value<'g>>, missing: f64| match v {
                    Some(v) => self.known_over(v, dims),
                    None => Some(Known(vec![missing])),
                };
                let lower = end(*lower, f64::NEG_INFINITY)?;
                let upper = end(*upper, f64::INFINITY)?;
                let meaning = format!("numbers from {} to {}", lower.text(), upper.text());
                let part = self.support_of(part, dims);
                let inside = move |i: usize, v: f64| {
                    let (low, high) = (lower.at(i), upper.at(i));
                    let between = || part.as_ref().is_none_or(|g| (g.inside)(i, v));
                    v == low || v == high || (low < v && v < high && between())
                };
                Some(Given {
                    inside: Box::new(inside),
                    meaning,
                })
            }
        }
    }

    fn given_by_scalar(
        &self,
        scalar: Scalar,
        arguments: &[Value<'g>],
        dims: &[DimId],
    ) -> Option<Given> {
        let known = |bound: Bound| self.known_over(bound.at(arguments), dims);
        let open = scalar.is_open();
        let above = move |v: f64, low: f64| if open { v > low } else { v >= low };
        let whole = |v: f64| v.fract() == 0.0;
        let (inside, meaning): (Inside, String) = match scalar.support() {
            Support::Real | Support::Circular => {
                (Box::new(|_, v: f64| v.is_finite()), "finite numbers".into())
            }
            Support::ZeroOrPositive => (
                Box::new(|_, v: f64| v >= 0.0 && v.is_finite()),
                "0 and numbers above".into(),
            ),
            Support::LowerBounded(low) => {
                let low = known(low)?;
                let word = if open { "above" } else { "from" };
                let meaning = match open {
                    true => format!("numbers {word} {}", low.text()),
                    false => format!("numbers {word} {} on", low.text()),
                };
                (
                    Box::new(move |i, v| above(v, low.at(i)) && v.is_finite()),
                    meaning,
                )
            }
            Support::Interval(low, high) => {
                let (low, high) = (known(low)?, known(high)?);
                let word = if open { "between" } else { "from" };
                let join = if open { "and" } else { "to" };
                let meaning = format!("numbers {word} {} {join} {}", low.text(), high.text());
                (
                    Box::new(move |i, v| above(v, low.at(i)) && above(-v, -high.at(i))),
                    meaning,
                )
            }
            Support::IntegerRange(low, high) => {
                let (low, high) = (known(low)?, known(high)?);
                let meaning = format!("whole numbers from {} to {}", low.text(), high.text());
                (
                    Box::new(move |i, v| whole(v) && v >= low.at(i) && v <= high.at(i)),
                    meaning,
                )
            }
            Support::NonNegativeInteger => (
                Box::new(move |_, v| whole(v) && v >= 0.0),
                "whole numbers from 0 on".into(),
            ),
            Support::PositiveInteger => (
                Box::new(move |_, v| whole(v) && v >= 1.0),
                "whole numbers from 1 on".into(),
            ),
            _ => return None,
        };
        Some(Given { inside, meaning })
    }
}
