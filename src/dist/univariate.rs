//! What a scalar distribution is, and the vocabulary of the table of distributions.

use super::sampling::Rng;
use crate::dist::Real;

/// One parameterisation of a scalar distribution: a formula over `[R; N]` arguments.
///
/// `R` is `f64` for a value and a graph expression to record the formula, so no implementation
/// branches on an `R`. The contract, tested for every distribution:
/// - outside the support the log density is −∞ (an end counts as outside where
///   [`OPEN`](Univariate::OPEN));
/// - where an argument is invalid it is NaN, whatever `y` is;
/// - what depends on arguments alone stands apart from what depends on `y`.
///
/// ```
/// use fitzroy::dist::{Normal, Univariate};
/// let height = Normal::log_density(0.0, [0.0, 1.0]);
/// assert!((height + 0.918_938_533_204_672_7).abs() < 1e-15);
/// ```
pub trait Univariate<const N: usize> {
    /// Names and defaults, in the order of `args`.
    const ARGS: [Arg; N];
    /// Where the density is not 0.
    const SUPPORT: Support;

    /// Whether the ends of the support are excluded: the density there would depend on whether an
    /// argument is below, at or above 1.
    const OPEN: bool = false;

    /// The places of location and scale among the arguments, where y = location + scale·z and the
    /// density of z is this one at location 0 and scale 1, whatever the two are.
    const LOCATION_SCALE: Option<[usize; 2]> = None;

    /// Whether the density at location + d is that at location − d.
    const SYMMETRIC: bool = false;

    /// Whether the support begins at 0 and the density there is neither 0 nor infinite, so that its
    /// mirror image at 0 is a density on the whole line that can be crossed there.
    const REACHES_ZERO: bool = false;

    /// Whether the density has an infinite integral, so that there is nothing to draw from.
    const IMPROPER: bool = false;

    /// ln p(y), of the density or the probability mass.
    fn log_density<R: Real>(y: R, args: [R; N]) -> R;

    /// ln P(Y ≤ y), where the distribution function is known.
    fn log_cdf<R: Real>(_y: R, _args: [R; N]) -> Option<R> {
        None
    }

    /// ln P(Y > y), where the distribution function is known.
    fn log_ccdf<R: Real>(_y: R, _args: [R; N]) -> Option<R> {
        None
    }

    /// P(Y ≤ y); none for improper distributions.
    fn cdf(y: f64, args: [f64; N]) -> Option<f64> {
        Self::log_cdf(y, args).map(libm::exp)
    }

    /// One exact random draw. Arguments are valid and finite (bounds may be infinite).
    fn sample(rng: &mut Rng, args: [f64; N]) -> f64;
}

/// An argument of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arg {
    /// Its name, for `name = value`.
    pub name: &'static str,
    /// The value it has when it is left out; none if it must be given.
    pub default: Option<f64>,
    /// What it is per draw: most arguments are scalars, which broadcast.
    pub kind: ArgKind,
}

/// What an argument is, per draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// A number.
    Scalar,
    /// A vector over one event dimension.
    Vector,
    /// A matrix over two event dimensions.
    Matrix,
    /// Another distribution.
    Distribution,
    /// Any number of distributions; only as the last argument.
    Distributions,
}

impl Arg {
    /// A scalar argument that must be given.
    pub const fn needed(name: &'static str) -> Arg {
        Arg {
            name,
            default: None,
            kind: ArgKind::Scalar,
        }
    }

    /// A scalar argument that may be left out.
    pub const fn with_default(name: &'static str, value: f64) -> Arg {
        Arg {
            name,
            default: Some(value),
            kind: ArgKind::Scalar,
        }
    }

    /// An argument of another kind, which must be given.
    pub const fn of_kind(name: &'static str, kind: ArgKind) -> Arg {
        Arg {
            name,
            default: None,
            kind,
        }
    }
}

/// An end of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// This number.
    At(f64),
    /// The value of the argument with this index.
    Arg(usize),
    /// The lesser of two arguments.
    Least(usize, usize),
    /// How much two arguments together are above a third, or 0.
    Excess([usize; 2], usize),
}

impl Bound {
    /// Its value, given those of the arguments.
    pub fn at<R: Real>(self, args: &[R]) -> R {
        match self {
            Bound::At(x) => R::lit(x),
            Bound::Arg(k) => args[k],
            Bound::Least(a, b) => args[a].min(args[b]),
            Bound::Excess([a, b], c) => (args[a] + args[b] - args[c]).max(R::lit(0.0)),
        }
    }
}

/// Where a distribution has mass; it decides the transform to unconstrained coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Support {
    /// The real line.
    Real,
    /// y > lower.
    LowerBounded(Bound),
    /// lower < y < upper. Either end may be infinite.
    Interval(Bound, Bound),
    /// 0, which has a probability, or y > 0, which has a density. Nothing moves between the two in
    /// small steps, so it cannot be a sampled parameter.
    ZeroOrPositive,
    /// An angle in [−π, π], in radians.
    Circular,
    /// 0, 1, 2, …
    NonNegativeInteger,
    /// 1, 2, 3, …
    PositiveInteger,
    /// Whole numbers from the first to the second, both included.
    IntegerRange(Bound, Bound),
    /// 0, 1, …, K − 1 with K the length of the vector argument plus this number.
    Category(i32),
    /// Vectors of whole numbers ≥ 0 that sum to the argument with this index.
    Counts(usize),
    /// Vectors of real numbers.
    RealVector,
    /// Vectors of numbers ≥ 0 that sum to 1.
    Simplex,
    /// Vectors that sum to 0.
    ZeroSum,
    /// Lower-triangular Cholesky factors of correlation matrices (rows of length 1).
    CorrelationCholesky,
    /// Lower-triangular Cholesky factors of covariance matrices (positive diagonal).
    CovarianceCholesky,
    /// That of the component distributions.
    OfComponents,
}

impl Support {
    /// y > 0.
    pub const POSITIVE: Support = Support::LowerBounded(Bound::At(0.0));
    /// 0 < y < 1.
    pub const UNIT: Support = Support::Interval(Bound::At(0.0), Bound::At(1.0));

    /// Whether only whole numbers have mass, so that it cannot be a sampled parameter.
    pub fn is_discrete(self) -> bool {
        matches!(
            self,
            Support::NonNegativeInteger
                | Support::PositiveInteger
                | Support::IntegerRange(..)
                | Support::Category(_)
                | Support::Counts(_)
        )
    }

    /// What one draw is.
    pub fn event(self) -> ArgKind {
        match self {
            Support::RealVector | Support::Simplex | Support::ZeroSum | Support::Counts(_) => {
                ArgKind::Vector
            }
            Support::CorrelationCholesky | Support::CovarianceCholesky => ArgKind::Matrix,
            _ => ArgKind::Scalar,
        }
    }
}
