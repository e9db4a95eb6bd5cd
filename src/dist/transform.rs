//! Maps between the support of a parameter and unconstrained coordinates.
//!
//! `constrain` goes from the coordinate u to the value x, `unconstrain` back, and `log_jacobian`
//! is ln |dx/du|, by which a density over x becomes one over u.

use super::Real;
use std::f64::consts::{PI, TAU};

/// The map of a scalar, its ends known or computed.
///
/// ```
/// use fitzroy::dist::Transform;
/// let positive = Transform::Lower(0.0);
/// assert_eq!(positive.constrain(0.0), 1.0);
/// assert_eq!(positive.unconstrain(1.0), 0.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transform<R> {
    /// x = u.
    Identity,
    /// x = lower + eᵘ.
    Lower(R),
    /// x = upper − eᵘ.
    Upper(R),
    /// x = lower + (upper − lower)/(1 + e⁻ᵘ).
    ///
    /// Recorded in a graph with ends 0 and 1, ln x and ln(1 − x) are formed from u directly, so
    /// that neither end loses accuracy.
    Interval(R, R),
    /// x = u turned into [−π, π]. The density over u is then periodic, not integrable: only its
    /// directions mean anything, and a start far from 0 serves no end.
    Circular,
}

impl<R: Real> Transform<R> {
    /// The map of an interval whose ends are known numbers or, if `None`, expressions that are
    /// finite: an infinite end is no end.
    pub fn of_interval(lower: (R, Option<f64>), upper: (R, Option<f64>)) -> Self {
        let open = |end: Option<f64>| end.is_some_and(f64::is_infinite);
        match (open(lower.1), open(upper.1)) {
            (true, true) => Transform::Identity,
            (true, false) => Transform::Upper(upper.0),
            (false, true) => Transform::Lower(lower.0),
            (false, false) => Transform::Interval(lower.0, upper.0),
        }
    }

    /// x of u.
    pub fn constrain(self, u: R) -> R {
        match self {
            Transform::Identity => u,
            Transform::Lower(lower) => lower + u.exp(),
            Transform::Upper(upper) => upper - u.exp(),
            Transform::Interval(lower, upper) => lower + (upper - lower) * u.inv_logit(),
            Transform::Circular => u - R::lit(TAU) * ((u + R::lit(PI)) * R::lit(1.0 / TAU)).floor(),
        }
    }

    /// u of x; infinite at the ends and NaN outside.
    pub fn unconstrain(self, x: R) -> R {
        match self {
            Transform::Identity | Transform::Circular => x,
            Transform::Lower(lower) => (x - lower).ln(),
            Transform::Upper(upper) => (upper - x).ln(),
            Transform::Interval(lower, upper) => (x - lower).ln() - (upper - x).ln(),
        }
    }

    /// ln |dx/du| at u.
    pub fn log_jacobian(self, u: R) -> R {
        match self {
            Transform::Identity | Transform::Circular => R::lit(0.0),
            Transform::Lower(_) | Transform::Upper(_) => u,
            // ln(width) + ln(1/(1 + e⁻ᵘ)) + ln(1/(1 + eᵘ)).
            Transform::Interval(lower, upper) => {
                (upper - lower).ln() + u - R::lit(2.0) * u.softplus()
            }
        }
    }
}
