//! Probability distributions: one formula each, written once for values and for graphs.

mod euler;
mod formula;
mod sampling;
mod tails;
mod univariate;

mod beta;
mod binomial;
mod ex_gaussian_race;
mod exponential;
mod extreme;
mod further;
mod gamma;
mod hurdle;
mod hyper_geometric;
mod inflated;
mod normal;
mod other_forms;
mod poisson;
mod rice;
mod skew_student;
mod student;
mod uniform;
mod von_mises;

mod categorical;
mod compound;
mod conjugate;
mod lkj;
mod mv_normal;
mod mv_student;
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
pub(crate) use categorical::ln_normal_between;
pub use categorical::{
    categorical, categorical_logit, draw_categorical, draw_ordered_logistic, draw_ordered_probit,
    ordered_logistic, ordered_probit,
};
pub use compound::mixture;
pub(crate) use conjugate::Conjugate;
pub(crate) use euler::{ln_hyp2f1, ln_ive};
pub use ex_gaussian_race::{ExGaussianTime, stop_signal_ex_gaussian};
pub use exponential::{ExGaussian, Exponential, Laplace, Logistic};
pub use extreme::{Gumbel, Pareto, Wald, Weibull};
pub use fitzroy_graph::Real;
pub(crate) use formula::{ln_1m_exp, ln_beta, ln_choose, ln_rising, positive};
pub use further::{AsymmetricLaplace, ChiSquared, DiscreteWeibull, LogitNormal, Moyal};
pub use gamma::{Gamma, InverseGamma};
pub use hurdle::{HurdleGamma, HurdleLogNormal, HurdleNegativeBinomial};
pub use hyper_geometric::HyperGeometric;
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
pub use mv_student::{draw_mv_student_cholesky, mv_student, mv_student_cholesky};
pub(crate) use mv_student::{ln_mv_student_norm, mv_student_kernel};
pub use normal::{HalfNormal, LogNormal, Normal, SkewNormal, TruncatedNormal};
pub use other_forms::*;
pub use poisson::{HurdlePoisson, NegativeBinomial, Poisson, ZeroInflatedPoisson};
pub use registry::{Entry, Form, entries, entry};
pub use rice::Rice;
pub use scalar::Scalar;
pub use shares::{
    dirichlet, dirichlet_multinomial, draw_dirichlet, draw_dirichlet_multinomial, draw_multinomial,
    draw_stick_breaking_weights, multinomial, stick_breaking_weights,
};
pub use skew_student::SkewStudentT;
pub use stop_signal::{
    Race, Racer, StopTime, StopWindow, gauss_legendre, rate_after, stop_signal, wald_race,
};
pub use structured::Structured;
pub use student::{Cauchy, HalfCauchy, HalfStudentT, StudentT};
pub(crate) use tails::{ln_beta_shares, ln_gamma_shares};
pub use transform::Transform;
pub use uniform::{DiscreteUniform, Flat, HalfFlat, Triangular, Uniform};
pub use univariate::{Arg, ArgKind, Bound, Support, Univariate};
pub use vector_transform::VectorTransform;
pub use von_mises::VonMises;
