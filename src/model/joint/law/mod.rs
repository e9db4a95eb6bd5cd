//! Distributions of single numbers with the values of their arguments: scalar ones, mixtures and
//! censored ones.

mod call;

use super::Draw;
use crate::dist::{Bound, Real, Scalar, Support, ln_1m_exp};
use fitzroy_graph::Expr as Value;
use std::f64::consts::PI;

pub(super) use call::Of;

fn lit<'g>(x: f64) -> Value<'g> {
    Value::lit(x)
}

/// A distribution of single numbers.
#[derive(Clone, Debug)]
pub(super) enum Law<'g> {
    /// One formula.
    Scalar(Scalar, Vec<Value<'g>>),
    /// Weights, their logarithms, and a distribution for each.
    Mixture(Vec<(Value<'g>, Value<'g>)>, Vec<Law<'g>>),
    /// What lies beyond a bound is recorded as the bound.
    Censored(Box<Law<'g>>, Option<Value<'g>>, Option<Value<'g>>),
}

/// Lower and upper end of a support, where there is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends<'g> {
    pub(super) lower: Option<Value<'g>>,
    pub(super) upper: Option<Value<'g>>,
}

/// True for −∞ or ∞ known while building.
pub(super) fn infinite(v: Value<'_>) -> bool {
    v.constant().is_some_and(f64::is_infinite)
}

/// ln Σ eˣ over several, pairwise.
pub(super) fn log_sum_exp<'g>(terms: &[Value<'g>]) -> Value<'g> {
    match terms {
        [] => lit(f64::NEG_INFINITY),
        [one] => *one,
        _ => {
            let (left, right) = terms.split_at(terms.len() / 2);
            log_sum_exp(left).log_add_exp(log_sum_exp(right))
        }
    }
}

impl<'g> Law<'g> {
    /// The name of the distribution.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Law::Scalar(scalar, _) => scalar.name(),
            Law::Mixture(..) => "Mixture",
            Law::Censored(..) => "Censored",
        }
    }

    /// The name of what is censored, or of the distribution itself.
    pub(super) fn innermost(&self) -> &'static str {
        match self {
            Law::Censored(part, ..) => part.innermost(),
            other => other.name(),
        }
    }

    /// True where values beyond a bound are recorded as the bound.
    pub(super) fn is_censored(&self) -> bool {
        match self {
            Law::Scalar(..) => false,
            Law::Mixture(_, parts) => parts.iter().any(Law::is_censored),
            Law::Censored(..) => true,
        }
    }

    /// True for whole numbers.
    pub(super) fn is_discrete(&self) -> bool {
        match self {
            Law::Scalar(scalar, _) => scalar.support().is_discrete(),
            Law::Mixture(_, parts) => parts[0].is_discrete(),
            Law::Censored(part, ..) => part.is_discrete(),
        }
    }

    /// True where 0 has a probability and the numbers above it a density.
    pub(super) fn has_zeros(&self) -> bool {
        match self {
            Law::Scalar(scalar, _) => scalar.support() == Support::ZeroOrPositive,
            Law::Mixture(_, parts) => parts[0].has_zeros(),
            Law::Censored(part, ..) => part.has_zeros(),
        }
    }

    /// ln p(y), element by element; `None` where a share beyond a bound has no closed form.
    pub(super) fn log_density(&self, y: Value<'g>) -> Option<Value<'g>> {
        match self {
            Law::Scalar(scalar, arguments) => Some(scalar.log_density(y, arguments)),
            Law::Mixture(weights, parts) => mixed(weights, parts, |part| part.log_density(y)),
            Law::Censored(part, lower, upper) => {
                if let Law::Scalar(scalar, arguments) = &**part
                    && let Some(value) = scalar.censored_log_density(y, arguments, *lower, *upper)
                {
                    return Some(value);
                }
                let mut value = part.log_density(y)?;
                if let Some(lower) = *lower {
                    let share = part.log_cdf(lower)?;
                    value = y.equals(lower).select(share, value);
                    value = y.lt(lower).select(lit(f64::NEG_INFINITY), value);
                }
                if let Some(upper) = *upper {
                    let share = part.log_mass(upper, lit(f64::INFINITY))?;
                    value = y.equals(upper).select(share, value);
                    value = upper.lt(y).select(lit(f64::NEG_INFINITY), value);
                }
                Some(value)
            }
        }
    }

    /// ln P(Y ≤ y), where the distribution function is known.
    pub(super) fn log_cdf(&self, y: Value<'g>) -> Option<Value<'g>> {
        match self {
            Law::Scalar(scalar, arguments) => summed(*scalar, arguments, y, FEW)
                .or_else(|| scalar.log_cdf(y, arguments))
                .or_else(|| summed(*scalar, arguments, y, MANY)),
            Law::Mixture(weights, parts) => mixed(weights, parts, |part| part.log_cdf(y)),
            Law::Censored(..) => None,
        }
    }

    /// ln P(lower ≤ Y ≤ upper), where the distribution function is known.
    pub(super) fn log_mass(&self, lower: Value<'g>, upper: Value<'g>) -> Option<Value<'g>> {
        let end = |v: Value<'g>| (!infinite(v)).then_some(v);
        match self {
            Law::Scalar(scalar, arguments) => without_zero(*scalar, arguments, lower, upper)
                .or_else(|| scalar.log_mass(end(lower), end(upper), arguments))
                .or_else(|| summed_between(*scalar, arguments, lower, upper)),
            Law::Mixture(weights, parts) => {
                mixed(weights, parts, |part| part.log_mass(lower, upper))
            }
            Law::Censored(..) => None,
        }
    }

    /// The ends of the support: of a mixture, those of the union of its parts.
    pub(super) fn ends(&self) -> Ends<'g> {
        let (scalar, arguments) = match self {
            Law::Scalar(scalar, arguments) => (scalar, arguments),
            Law::Mixture(_, parts) => return union(parts),
            Law::Censored(..) => {
                return Ends {
                    lower: None,
                    upper: None,
                };
            }
        };
        let at = |bound: Bound| bound.at(arguments);
        let (lower, upper) = match scalar.support() {
            Support::LowerBounded(b) => (Some(at(b)), None),
            Support::Interval(a, b) => (Some(at(a)), Some(at(b))),
            Support::Circular => (Some(lit(-PI)), Some(lit(PI))),
            _ => (None, None),
        };
        Ends {
            lower: lower.filter(|v| !infinite(*v)),
            upper: upper.filter(|v| !infinite(*v)),
        }
    }

    /// The same with `f` of every argument.
    pub(super) fn map(&self, f: &mut impl FnMut(Value<'g>) -> Value<'g>) -> Law<'g> {
        match self {
            Law::Scalar(scalar, arguments) => {
                Law::Scalar(*scalar, arguments.iter().map(|&a| f(a)).collect())
            }
            Law::Mixture(weights, parts) => {
                let weights = weights.iter().map(|&(w, log)| (f(w), f(log))).collect();
                Law::Mixture(weights, parts.iter().map(|p| p.map(f)).collect())
            }
            Law::Censored(part, lower, upper) => {
                let (lower, upper) = (lower.map(&mut *f), upper.map(&mut *f));
                Law::Censored(Box::new(part.map(f)), lower, upper)
            }
        }
    }

    /// How it is drawn, and the arguments of that.
    pub(super) fn drawing(&self) -> (Draw, Vec<Value<'g>>) {
        match self {
            Law::Scalar(scalar, arguments) => (Draw::Scalar(*scalar), arguments.clone()),
            Law::Mixture(weights, parts) => {
                let mut arguments: Vec<Value<'g>> = weights.iter().map(|w| w.0).collect();
                let mut draws = Vec::new();
                for part in parts {
                    let (draw, own) = part.drawing();
                    draws.push(draw);
                    arguments.extend(own);
                }
                (Draw::Mixture(draws), arguments)
            }
            Law::Censored(part, lower, upper) => {
                let (draw, own) = part.drawing();
                let mut arguments = vec![
                    lower.unwrap_or(lit(f64::NEG_INFINITY)),
                    upper.unwrap_or(lit(f64::INFINITY)),
                ];
                arguments.extend(own);
                (Draw::Censored(Box::new(draw)), arguments)
            }
        }
    }
}

/// ln Σ w·f(part), where f gives logarithms.
fn mixed<'g>(
    weights: &[(Value<'g>, Value<'g>)],
    parts: &[Law<'g>],
    f: impl Fn(&Law<'g>) -> Option<Value<'g>>,
) -> Option<Value<'g>> {
    let term = |(w, part): (&(Value<'g>, Value<'g>), &Law<'g>)| Some(w.1 + f(part)?);
    let terms: Option<Vec<_>> = weights.iter().zip(parts).map(term).collect();
    Some(log_sum_exp(&terms?))
}

/// So many terms are cheaper to sum than an incomplete gamma or beta function is.
const FEW: f64 = 16.0;

/// Most terms of a distribution function that is summed where there is no other way.
const MANY: f64 = 1000.0;

/// ln P(Y ≥ 1) of counts from 0 on, the usual truncation, by the one probability left out.
fn without_zero<'g>(
    scalar: Scalar,
    arguments: &[Value<'g>],
    lower: Value<'g>,
    upper: Value<'g>,
) -> Option<Value<'g>> {
    let from_one = lower.constant().is_some_and(|low| 0.0 < low && low <= 1.0);
    let counts = scalar.support() == Support::NonNegativeInteger;
    let open = upper.constant() == Some(f64::INFINITY);
    (counts && from_one && open).then(|| ln_1m_exp(scalar.log_density(lit(0.0), arguments)))
}

/// ln P(Y ≤ y) of counts as the sum of their probabilities, for a known y below `limit`.
fn summed<'g>(
    scalar: Scalar,
    arguments: &[Value<'g>],
    y: Value<'g>,
    limit: f64,
) -> Option<Value<'g>> {
    let y = y.constant().filter(|y| *y < limit)?;
    let counts = matches!(
        scalar.support(),
        Support::NonNegativeInteger
            | Support::PositiveInteger
            | Support::IntegerRange(Bound::At(_) | Bound::Excess(..), _)
    );
    let term = |k: u32| scalar.log_density(lit(f64::from(k)), arguments);
    let terms = (0..=y.max(-1.0) as u32).filter(|k| f64::from(*k) <= y);
    counts.then(|| log_sum_exp(&terms.map(term).collect::<Vec<_>>()))
}

/// ln P(lower ≤ Y ≤ upper) from [`summed`] distribution functions.
fn summed_between<'g>(
    scalar: Scalar,
    arguments: &[Value<'g>],
    lower: Value<'g>,
    upper: Value<'g>,
) -> Option<Value<'g>> {
    let below = match lower.constant()? {
        low if low.is_infinite() => lit(f64::NEG_INFINITY),
        low => summed(scalar, arguments, lit(low.ceil() - 1.0), MANY)?,
    };
    let up_to = match infinite(upper) {
        true => lit(0.0),
        false => summed(scalar, arguments, upper, MANY)?,
    };
    Some(match infinite(below) {
        true => up_to,
        false => up_to + ln_1m_exp(below - up_to),
    })
}

/// The ends that no part goes beyond.
fn union<'g>(parts: &[Law<'g>]) -> Ends<'g> {
    let ends: Vec<Ends<'g>> = parts.iter().map(Law::ends).collect();
    let lower: Option<Vec<_>> = ends.iter().map(|e| e.lower).collect();
    let upper: Option<Vec<_>> = ends.iter().map(|e| e.upper).collect();
    let fold = |all: Vec<Value<'g>>, op: fn(Value<'g>, Value<'g>) -> Value<'g>| {
        all.into_iter().reduce(op).expect("a mixture has parts")
    };
    Ends {
        lower: lower.map(|all| fold(all, |a, b| a.min(b))),
        upper: upper.map(|all| fold(all, |a, b| a.max(b))),
    }
}
