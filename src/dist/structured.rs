//! The list of distributions of vectors and matrices, and of those made of others.

/// A parameterisation of a distribution that is not one formula of one number.
///
/// The formulas are functions over slices; the model layer chooses among them by this value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Structured {
    /// [`categorical`](fn@super::categorical) by probabilities.
    Categorical,
    /// [`categorical_logit`](super::categorical_logit).
    CategoricalLogit,
    /// [`ordered_logistic`](super::ordered_logistic).
    OrderedLogistic,
    /// [`ordered_probit`](super::ordered_probit).
    OrderedProbit,
    /// [`dirichlet`](super::dirichlet).
    Dirichlet,
    /// [`stick_breaking_weights`](super::stick_breaking_weights).
    StickBreakingWeights,
    /// [`multinomial`](super::multinomial).
    Multinomial,
    /// [`dirichlet_multinomial`](super::dirichlet_multinomial).
    DirichletMultinomial,
    /// [`mv_normal`](fn@super::mv_normal) by covariance.
    MvNormal,
    /// [`mv_normal_cholesky`](super::mv_normal_cholesky).
    MvNormalCholesky,
    /// [`mv_student`](fn@super::mv_student) by the scale matrix.
    MvStudentT,
    /// [`mv_student_cholesky`](super::mv_student_cholesky).
    MvStudentTCholesky,
    /// [`lkj_cholesky_covariance`](super::lkj_cholesky_covariance).
    LkjCholeskyCov,
    /// [`lkj_correlation`](super::lkj_correlation), sampled as
    /// [`lkj_cholesky`](super::lkj_cholesky).
    LkjCorr,
    /// [`zero_sum_normal`](super::zero_sum_normal).
    ZeroSumNormal,
    /// [`random_walk_steps`](super::random_walk_steps).
    GaussianRandomWalk,
    /// [`autoregressive_steps`](super::autoregressive_steps).
    Ar,
    /// [`stop_signal`](fn@super::stop_signal).
    StopSignal,
    /// [`stop_signal_ex_gaussian`](fn@super::stop_signal_ex_gaussian).
    StopSignalExGaussian,
    /// [`wald_race`](super::wald_race).
    WaldRace,
    /// [`mixture`](super::mixture).
    Mixture,
    /// [`Scalar::censored_log_density`](super::Scalar::censored_log_density).
    Censored,
    /// [`Scalar::interval_log_density`](super::Scalar::interval_log_density).
    Interval,
}
