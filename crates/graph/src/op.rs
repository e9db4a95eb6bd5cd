//! The operations: what a node of a graph may do, and the facts about each that passes need.

use crate::graph::{DataId, DimId, IndexId};
use crate::ode::Ode;
use crate::recurrence::Recurrence;
use crate::{Real, special};
use std::sync::Arc;

/// Elementwise functions of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // names say it; formulas stand at `Real`
pub enum Unary {
    Neg,
    Recip,
    Sqrt,
    Abs,
    Floor,
    Exp,
    Log,
    Log1p,
    Expm1,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Erf,
    Erfc,
    /// e^(x²)·erfc(x).
    Erfcx,
    LogNdtr,
    /// φ(x)/Φ(x), the slope of `LogNdtr`.
    NdtrSlope,
    Lgamma,
    Digamma,
    Trigamma,
    LogI0,
    /// I₁(x)/I₀(x), the slope of `LogI0`.
    I1OverI0,
    InvLogit,
    Softplus,
}

/// Elementwise functions of two arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Min,
    Max,
    LogAddExp,
    /// 1 where a < b, else 0.
    Lt,
    /// 1 where a ≤ b, else 0.
    Le,
    /// 1 where a = b, else 0.
    Eq,
    /// a·b, but 0 wherever a is 0, whatever b is: how a derivative passes a branch not taken.
    MulZ,
}

impl Unary {
    /// Every one of them, for conformance suites.
    pub const ALL: [Unary; 30] = [
        Unary::Neg,
        Unary::Recip,
        Unary::Sqrt,
        Unary::Abs,
        Unary::Floor,
        Unary::Exp,
        Unary::Log,
        Unary::Log1p,
        Unary::Expm1,
        Unary::Sin,
        Unary::Cos,
        Unary::Tan,
        Unary::Asin,
        Unary::Acos,
        Unary::Atan,
        Unary::Sinh,
        Unary::Cosh,
        Unary::Tanh,
        Unary::Erf,
        Unary::Erfc,
        Unary::Erfcx,
        Unary::LogNdtr,
        Unary::NdtrSlope,
        Unary::Lgamma,
        Unary::Digamma,
        Unary::Trigamma,
        Unary::LogI0,
        Unary::I1OverI0,
        Unary::InvLogit,
        Unary::Softplus,
    ];

    /// The definition of the function.
    pub fn eval(self, x: f64) -> f64 {
        match self {
            Unary::Neg => -x,
            Unary::Recip => 1.0 / x,
            Unary::Sqrt => x.sqrt(),
            Unary::Abs => x.abs(),
            Unary::Floor => x.floor(),
            Unary::Exp => Real::exp(x),
            Unary::Log => Real::ln(x),
            Unary::Log1p => Real::ln_1p(x),
            Unary::Expm1 => Real::exp_m1(x),
            Unary::Sin => Real::sin(x),
            Unary::Cos => Real::cos(x),
            Unary::Tan => Real::tan(x),
            Unary::Asin => Real::asin(x),
            Unary::Acos => Real::acos(x),
            Unary::Atan => Real::atan(x),
            Unary::Sinh => Real::sinh(x),
            Unary::Cosh => Real::cosh(x),
            Unary::Tanh => Real::tanh(x),
            Unary::Erf => Real::erf(x),
            Unary::Erfc => Real::erfc(x),
            Unary::Erfcx => special::erfcx(x),
            Unary::LogNdtr => special::log_ndtr(x),
            Unary::NdtrSlope => special::log_ndtr_slope(x),
            Unary::Lgamma => Real::lgamma(x),
            Unary::Digamma => special::digamma(x),
            Unary::Trigamma => special::trigamma(x),
            Unary::LogI0 => special::log_i0(x),
            Unary::I1OverI0 => special::i1_over_i0(x),
            Unary::InvLogit => Real::inv_logit(x),
            Unary::Softplus => Real::softplus(x),
        }
    }
}

impl Binary {
    /// Every one of them, for conformance suites.
    pub const ALL: [Binary; 12] = [
        Binary::Add,
        Binary::Sub,
        Binary::Mul,
        Binary::Div,
        Binary::Pow,
        Binary::Min,
        Binary::Max,
        Binary::LogAddExp,
        Binary::Lt,
        Binary::Le,
        Binary::Eq,
        Binary::MulZ,
    ];

    /// The definition of the function.
    pub fn eval(self, a: f64, b: f64) -> f64 {
        match self {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
            Binary::Pow => Real::powf(a, b),
            Binary::Min => Real::min(a, b),
            Binary::Max => Real::max(a, b),
            Binary::LogAddExp => Real::log_add_exp(a, b),
            Binary::Lt => Real::lt(a, b),
            Binary::Le => Real::le(a, b),
            Binary::Eq => Real::equals(a, b),
            Binary::MulZ => {
                if a == 0.0 {
                    0.0
                } else {
                    a * b
                }
            }
        }
    }

    /// True when the order of the arguments does not matter.
    pub fn commutes(self) -> bool {
        matches!(
            self,
            Binary::Add | Binary::Mul | Binary::Min | Binary::Max | Binary::LogAddExp | Binary::Eq
        )
    }
}

/// What a node does. Axes are named by their dimension.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A constant, by its bits. No dims.
    Const(u64),
    /// A run of the parameter vector, starting at `offset`.
    Param {
        /// First element.
        offset: usize,
    },
    /// An array bound when the graph is compiled.
    Data(DataId),
    /// A function of one argument, element by element.
    Unary(Unary),
    /// A function of two arguments of the same dims, element by element.
    Binary(Binary),
    /// `select(c, a, b)`: a where c ≠ 0, else b.
    Select,
    /// Its first input, whose slopes are known: the others are pairs (x, ∂/∂x), elementwise. The
    /// first input is not differentiated. For integrals and tails, where the formula of the slope
    /// is shorter and more accurate than the slope of the formula. Devices never see it.
    WithSlopes,
    /// Repeats (and, if need be, reorders axes) to the node's dims, a superset of the input's.
    Broadcast,
    /// Sums over the dims of the input that the node lacks.
    Sum,
    /// Maximum over the dims of the input that the node lacks.
    MaxOver,
    /// Replaces the index's target dim by its row dim: `out[row] = in[index[row]]`.
    Gather(IndexId),
    /// The transpose of `Gather`: `out[target] = Σ in[row]` over rows whose index is `target`.
    SegmentSum(IndexId),
    /// Running sums along an axis, from the end if `reverse`.
    CumSum {
        /// The axis.
        axis: DimId,
        /// Sums from the last element backwards.
        reverse: bool,
    },
    /// `out[i] = in[start + i]` along `axis`, which becomes the node's dim at the same place.
    Slice {
        /// The axis of the input.
        axis: DimId,
        /// First element taken.
        start: usize,
    },
    /// The transpose of `Slice`: places the input at `start` in zeros.
    Unslice {
        /// The axis of the output.
        axis: DimId,
        /// Where the first element goes.
        start: usize,
    },
    /// Σ over `over` of a·b, where both have these dims; the result has all the others.
    Contract {
        /// The dims summed over.
        over: Vec<DimId>,
    },
    /// The same elements, in the same order, under other dims.
    Relabel,
    /// Lower Cholesky factor of a symmetric matrix `[k, k']`.
    Cholesky,
    /// The adjoint of `Cholesky`, from (factor, adjoint of the factor); symmetric.
    CholeskyAdjoint,
    /// Solves L x = b, or Lᵀ x = b, for a lower triangular L `[k, k']`; b and x have dim `[k]`
    /// first and perhaps one more.
    TriSolve {
        /// Solves with Lᵀ.
        transpose: bool,
    },
    /// The elements below and on the diagonal of `[k, k']`, zeros above.
    LowerTriangle,
    /// The diagonal of `[k, k']`, as `[k]`.
    Diagonal,
    /// A `[k, k']` matrix with the input on its diagonal.
    FromDiagonal,
    /// What a step of a recurrence is given, by number; in a graph, a state that no recurrence
    /// carries yet (see [`crate::Graph::hole`]).
    Hole(u32),
    /// States over steps (see [`Recurrence`]).
    Recurrence(Arc<Recurrence>),
    /// The solution of a differential equation (see [`Ode`]).
    Ode(Arc<Ode>),
    /// The adjoints of the inputs of `Ode`, from (solution, its adjoint at the times, inputs).
    OdeAdjoint(Arc<Ode>),
}
