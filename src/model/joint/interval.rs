//! Data that are known to lie between two numbers.

use super::build::Build;
use super::cells::Cells;
use super::law::{Law, Of};
use super::observed::Observed;
use super::{Observations, TermKind};
use crate::Result;
use crate::dist::{Form, Real, Scalar, Structured, Support};
use crate::model::ast::{Expr, Sampled};
use crate::model::families::{Resolved, resolve};
use crate::model::source::line_number;
use fitzroy_graph::{DimId, Expr as Value};
use std::sync::Arc;

/// What is known of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// The number itself.
    Exactly,
    /// That it is no more than the upper end.
    Below,
    /// That it is no less than the lower end.
    Above,
    /// That it lies between.
    Between,
}

impl Known {
    const ALL: [Known; 4] = [Known::Exactly, Known::Below, Known::Above, Known::Between];

    fn word(self) -> &'static str {
        match self {
            Known::Exactly => "exactly",
            Known::Below => "from below",
            Known::Above => "from above",
            Known::Between => "between",
        }
    }
}

impl<'g> Build<'_, 'g> {
    /// The arguments of `Interval`, if `s` says that.
    pub(super) fn interval_of<'s>(&self, s: &'s Sampled) -> Result<Option<Resolved<'s>>> {
        let resolved = resolve(self.model.text(), &s.distribution)?;
        let is_interval = matches!(resolved.form, Form::Structured(Structured::Interval));
        if is_interval && s.limits.is_some() {
            let message = "`Interval` cannot be truncated or bounded";
            return Err(self.model.error(s.distribution.span, message));
        }
        Ok(is_interval.then_some(resolved))
    }

    /// The likelihood of intervals that begin at what is observed.
    pub(super) fn interval(
        &mut self,
        observed: Observed<'_>,
        resolved: Resolved<'_>,
    ) -> Result<()> {
        let Observed {
            s, dims, values, ..
        } = observed;
        let of = Of {
            name: &s.name,
            dims,
        };
        let (dist, upper) = (resolved.values[0], resolved.values[1]);
        let law = self.part(dist.expect("it was checked to be given"), of)?;
        let upper = self.upper_ends(upper.expect("it was checked to be given"), of)?;
        let known: Vec<Known> = (0..values.len())
            .map(|i| self.known(observed, &law, i, upper[i]))
            .collect::<Result<_>>()?;
        for kind in Known::ALL {
            let at: Vec<usize> = (0..known.len()).filter(|&i| known[i] == kind).collect();
            if !at.is_empty() {
                self.known_of(kind, &at, observed, &law, &upper)?;
            }
        }
        Ok(())
    }

    /// The upper ends, which are known before sampling.
    fn upper_ends(&mut self, e: &Expr, of: Of<'_>) -> Result<Vec<f64>> {
        let value = self.value(e)?;
        let value = self.fit_list(value, of.dims);
        let value = self.within(value, "`upper` of `Interval`", e, of)?;
        let value = self.scope.expr(self.scope.node(value));
        let known = self
            .scope
            .known(self.spread(value, of.dims, &of.name.text, e.span)?);
        known.ok_or_else(|| {
            let message = "the ends of an interval are data; these depend on parameters";
            self.model.error(e.span, message)
        })
    }

    /// What interval `i` says.
    fn known(&self, of: Observed<'_>, law: &Law<'g>, i: usize, high: f64) -> Result<Known> {
        let low = of.values[i];
        if high.is_nan() || low > high {
            let why = format!("the interval begins at {low} and ends at {high}");
            return Err(self.wrong_value(of, i, &why));
        }
        if low == high {
            return Ok(Known::Exactly);
        }
        let (least, most) = ends(law);
        match (low > least, high < most) {
            (false, false) => {
                let why = format!(
                    "the interval from {low} to {high} holds all numbers, so it says nothing; \
                     remove the row"
                );
                Err(self.wrong_value(of, i, &why))
            }
            (false, true) if high < least => Err(self.no_mass(of, i, law, high)),
            (true, false) if low > most => Err(self.no_mass(of, i, law, high)),
            (false, true) => Ok(Known::Below),
            (true, false) => Ok(Known::Above),
            (true, true) => Ok(Known::Between),
        }
    }

    fn no_mass(&self, of: Observed<'_>, i: usize, law: &Law<'g>, high: f64) -> crate::Error {
        let (low, name) = (of.values[i], law.name());
        let why = format!("{name} gives nothing between {low} and {high}");
        self.wrong_value(of, i, &why)
    }

    /// The term of the intervals `at` of one kind.
    fn known_of(
        &mut self,
        kind: Known,
        at: &[usize],
        of: Observed<'_>,
        law: &Law<'g>,
        upper: &[f64],
    ) -> Result<()> {
        let name = &of.s.name.text;
        let title = format!("{name} {}", kind.word());
        let along = self.scope.dim(&title, at.len());
        let cells = Cells {
            name,
            dims: of.dims,
            along,
            at,
        };
        let law = law.map(&mut |v| self.pick(v, &cells));
        let low: Vec<f64> = at.iter().map(|&i| of.values[i]).collect();
        let high: Vec<f64> = at.iter().map(|&i| upper[i]).collect();
        let part = Some(self.part_of(of, at, &low));
        let (n_terms, n_drawn) = (self.terms.len(), self.drawn.len());
        let data = |b: &Self, end: &str, values: &[f64]| {
            b.scope
                .bound_data(&format!("{title}, {end}"), &[along], values)
        };
        let some = Observed {
            s: of.s,
            dims: &[along],
            values: &low,
            part: part.as_deref(),
        };
        if kind == Known::Exactly {
            let y = data(self, "low", &low);
            self.observed(y, some, &law, None)?;
        } else {
            let share = match kind {
                Known::Below => law.log_cdf(data(self, "high", &high)),
                Known::Above => law.log_mass(data(self, "low", &low), Value::lit(f64::INFINITY)),
                _ => law.log_mass(data(self, "low", &low), data(self, "high", &high)),
            };
            let Some(share) = share else {
                let message = format!(
                    "the share of `{}` between two numbers has no closed form, so intervals cannot be \
                     of it",
                    law.innermost()
                );
                return Err(self.model.error(of.s.distribution.span, message));
            };
            self.term(
                name,
                TermKind::Likelihood,
                share.broadcast(self.scope, &[along]),
            );
            self.draw_numbers(of.s, &law, None, &[along], true);
        }
        self.note_part(n_terms, n_drawn, &part);
        Ok(())
    }

    /// The elements `at` of what is observed, as a part of the whole array.
    fn part_of(&self, of: Observed<'_>, at: &[usize], values: &[f64]) -> Arc<Observations> {
        let (dims, shape, at) = match of.part {
            Some(part) => {
                let at = at.iter().map(|&i| part.at[i]).collect();
                (part.dims.clone(), part.shape.clone(), at)
            }
            None => {
                let dims: &[DimId] = of.dims;
                let (dims, shape) = self.dim_names(&of.s.name.text, dims);
                (dims, shape, at.to_vec())
            }
        };
        Arc::new(Observations {
            dims,
            shape,
            at,
            values: values.to_vec(),
            line: line_number(self.model.text(), of.s.name.span.start()),
        })
    }
}

/// The least and the largest number that a distribution gives, as far as that is known.
fn ends(law: &Law<'_>) -> (f64, f64) {
    if let Law::Scalar(scalar, _) = law {
        match Scalar::support(*scalar) {
            Support::NonNegativeInteger => return (0.0, f64::INFINITY),
            Support::PositiveInteger => return (1.0, f64::INFINITY),
            _ => {}
        }
    }
    let ends = law.ends();
    let known = |end: Option<Value<'_>>, open: f64| end.and_then(|v| v.constant()).unwrap_or(open);
    (
        known(ends.lower, f64::NEG_INFINITY),
        known(ends.upper, f64::INFINITY),
    )
}
