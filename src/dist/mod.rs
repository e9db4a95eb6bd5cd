//! Probability distributions: one formula each, written once for values and for graphs.

mod formula;
mod sampling;
mod univariate;

mod beta;
mod binomial;
mod exponential;
mod extreme;
mod gamma;
mod normal;
mod other_forms;
mod poisson;
mod student;
mod uniform;
mod von_mises;

mod scalar;
#[cfg(test)]
mod tests;
mod transform;
mod vector_transform;

pub use beta::{Beta, Kumaraswamy};
pub use binomial::{Bernoulli, BernoulliLogit, BetaBinomial, Binomial, BinomialLogit, Geometric};
pub use exponential::{ExGaussian, Exponential, Laplace, Logistic};
pub use extreme::{Gumbel, Pareto, Wald, Weibull};
pub use fitzroy_graph::Real;
pub use gamma::{Gamma, InverseGamma};
pub use normal::{HalfNormal, LogNormal, Normal, SkewNormal, TruncatedNormal};
pub use other_forms::*;
pub use poisson::{NegativeBinomial, Poisson, ZeroInflatedPoisson};
pub use scalar::Scalar;
pub use student::{Cauchy, HalfCauchy, HalfStudentT, StudentT};
pub use transform::Transform;
pub use uniform::{DiscreteUniform, Flat, HalfFlat, Triangular, Uniform};
pub use univariate::{Arg, ArgKind, Bound, Support, Univariate};
pub use vector_transform::VectorTransform;
pub use von_mises::VonMises;
