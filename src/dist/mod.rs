//! Probability distributions: one formula each, written once for values and for graphs.

mod formula;
mod sampling;
mod tails;
mod univariate;

mod beta;
mod binomial;
mod exponential;
mod extreme;
mod further;
mod gamma;
mod inflated;
mod normal;
mod other_forms;
mod poisson;
mod student;
mod uniform;
mod von_mises;

mod categorical;
mod compound;
mod lkj;
mod mv_normal;
mod shares;
mod stop_signal;

mod registry;
mod scalar;
mod structured;
#[cfg(test)]
mod tests;
mod transform;
mod vector_transform;
mod words;

pub use beta::{Beta, Kumaraswamy};
pub use binomial::{Bernoulli, BernoulliLogit, BetaBinomial, Binomial, BinomialLogit, Geometric};
pub use categorical::{
    categorical, categorical_logit, draw_categorical, draw_ordered_logistic, ordered_logistic,
};
pub use compound::mixture;
pub use exponential::{ExGaussian, Exponential, Laplace, Logistic};
pub use extreme::{Gumbel, Pareto, Wald, Weibull};
pub use fitzroy_graph::Real;
pub(crate) use formula::ln_1m_exp;
pub use further::{AsymmetricLaplace, ChiSquared, DiscreteWeibull, LogitNormal, Moyal};
pub use gamma::{Gamma, InverseGamma};
pub use inflated::{
    ZeroInflatedBinomial, ZeroInflatedBinomialLogit, ZeroInflatedNegativeBinomial,
    ZeroInflatedNegativeBinomialTrials,
};
pub use lkj::{
    draw_lkj_cholesky, lkj_cholesky, lkj_cholesky_covariance, lkj_correlation, ln_lkj_norm,
};
pub use mv_normal::{
    autoregressive_steps, cholesky, draw_autoregressive, draw_mv_normal_cholesky,
    draw_zero_sum_normal, mv_normal, mv_normal_cholesky, random_walk_steps, zero_sum_normal,
};
pub use normal::{HalfNormal, LogNormal, Normal, SkewNormal, TruncatedNormal};
pub use other_forms::*;
pub use poisson::{HurdlePoisson, NegativeBinomial, Poisson, ZeroInflatedPoisson};
pub use registry::{Entry, Form, entries, entry};
pub use scalar::Scalar;
pub use shares::{dirichlet, draw_dirichlet, draw_multinomial, multinomial};
pub use stop_signal::{
    Race, Racer, StopTime, StopWindow, gauss_legendre, rate_after, stop_signal, wald_race,
};
pub use structured::Structured;
pub use student::{Cauchy, HalfCauchy, HalfStudentT, StudentT};
pub use transform::Transform;
pub use uniform::{DiscreteUniform, Flat, HalfFlat, Triangular, Uniform};
pub use univariate::{Arg, ArgKind, Bound, Support, Univariate};
pub use vector_transform::VectorTransform;
pub use von_mises::VonMises;
