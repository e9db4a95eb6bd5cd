//! The list of scalar distributions: one line for each parameterisation.

use super::sampling::Rng;
use super::*;

/// Declares [`Scalar`] and sends each of its methods to the [`Univariate`] of the same name.
macro_rules! scalars {
    ($($form:ident $name:literal)*) => {
        /// A parameterisation of a scalar distribution, as a value.
        ///
        /// ```
        /// use fitzroy::dist::Scalar;
        /// let at_mode = Scalar::Normal.log_density(0.0, &[0.0, 1.0]);
        /// assert!((at_mode + 0.918_938_533_204_672_7).abs() < 1e-15);
        /// assert_eq!(Scalar::BetaMean.name(), "Beta");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Scalar {
            $(#[doc = concat!("[`", stringify!($form), "`](super::", stringify!($form), ").")] $form,)*
        }

        impl Scalar {
            /// All of them, the parameterisations of one distribution next to each other.
            pub const ALL: &'static [Scalar] = &[$(Scalar::$form),*];

            /// The name of the distribution, which its parameterisations share.
            pub fn name(self) -> &'static str {
                match self { $(Scalar::$form => $name,)* }
            }

            /// Names and defaults of the arguments, in order.
            pub fn args(self) -> &'static [Arg] {
                match self { $(Scalar::$form => &$form::ARGS,)* }
            }

            /// Where the density is not 0.
            pub fn support(self) -> Support {
                match self { $(Scalar::$form => $form::SUPPORT,)* }
            }

            /// Whether the ends of the support are excluded; see [`Univariate::OPEN`].
            pub fn is_open(self) -> bool {
                match self { $(Scalar::$form => $form::OPEN,)* }
            }

            /// The places of location and scale; see [`Univariate::LOCATION_SCALE`].
            pub fn location_scale(self) -> Option<[usize; 2]> {
                match self { $(Scalar::$form => $form::LOCATION_SCALE,)* }
            }

            /// Whether the density is symmetric about its location; see [`Univariate::SYMMETRIC`].
            pub fn is_symmetric(self) -> bool {
                match self { $(Scalar::$form => $form::SYMMETRIC,)* }
            }

            /// Whether it can be mirrored at 0; see [`Univariate::REACHES_ZERO`].
            pub fn reaches_zero(self) -> bool {
                match self { $(Scalar::$form => $form::REACHES_ZERO,)* }
            }

            /// Whether the density has an infinite integral; see [`Univariate::IMPROPER`].
            pub fn is_improper(self) -> bool {
                match self { $(Scalar::$form => $form::IMPROPER,)* }
            }

            /// ln p(y): −∞ outside the support, NaN where an argument is invalid.
            ///
            /// # Panics
            /// If `args` has not the length of [`Scalar::args`].
            #[track_caller]
            pub fn log_density<R: Real>(self, y: R, args: &[R]) -> R {
                match self { $(Scalar::$form => $form::log_density(y, all(args)),)* }
            }

            /// ln P(Y ≤ y), where the distribution function is known.
            ///
            /// # Panics
            /// If `args` has not the length of [`Scalar::args`].
            #[track_caller]
            pub fn log_cdf<R: Real>(self, y: R, args: &[R]) -> Option<R> {
                match self { $(Scalar::$form => $form::log_cdf(y, all(args)),)* }
            }

            /// ln P(Y > y), where the distribution function is known.
            ///
            /// # Panics
            /// If `args` has not the length of [`Scalar::args`].
            #[track_caller]
            pub fn log_ccdf<R: Real>(self, y: R, args: &[R]) -> Option<R> {
                match self { $(Scalar::$form => $form::log_ccdf(y, all(args)),)* }
            }

            /// P(Y ≤ y); none for Flat and HalfFlat. NaN where an argument is invalid.
            ///
            /// # Panics
            /// If `args` has not the length of [`Scalar::args`].
            #[track_caller]
            pub fn cdf(self, y: f64, args: &[f64]) -> Option<f64> {
                match self { $(Scalar::$form => $form::cdf(y, all(args)),)* }
            }

            /// A random draw without the check of the arguments.
            #[track_caller]
            fn draw(self, rng: &mut Rng, args: &[f64]) -> f64 {
                match self { $(Scalar::$form => $form::sample(rng, all(args)),)* }
            }
        }
    };
}

scalars! {
    Normal "Normal"                                 NormalPrecision "Normal"
    HalfNormal "HalfNormal"                         HalfNormalPrecision "HalfNormal"
    StudentT "StudentT"                             StudentTPrecision "StudentT"
    HalfStudentT "HalfStudentT"                     HalfStudentTPrecision "HalfStudentT"
    Cauchy "Cauchy"
    HalfCauchy "HalfCauchy"
    Laplace "Laplace"
    Logistic "Logistic"
    AsymmetricLaplace "AsymmetricLaplace"
    Moyal "Moyal"
    SkewStudentT "SkewStudentT"                     SkewStudentTPrecision "SkewStudentT"
    LogNormal "LogNormal"                           LogNormalPrecision "LogNormal"
    Exponential "Exponential"                       ExponentialScale "Exponential"
    Gamma "Gamma"                                   GammaMoments "Gamma"
    ChiSquared "ChiSquared"
    InverseGamma "InverseGamma"                     InverseGammaMoments "InverseGamma"
    Weibull "Weibull"
    Gumbel "Gumbel"
    Rice "Rice"                                     RiceRatio "Rice"
    Pareto "Pareto"
    Beta "Beta"                                     BetaMean "Beta"
    BetaMeanNu "Beta"                               BetaMoments "Beta"
    Kumaraswamy "Kumaraswamy"
    LogitNormal "LogitNormal"                       LogitNormalPrecision "LogitNormal"
    Uniform "Uniform"
    Triangular "Triangular"
    VonMises "VonMises"
    SkewNormal "SkewNormal"
    ExGaussian "ExGaussian"
    Wald "Wald"
    Flat "Flat"
    HalfFlat "HalfFlat"
    TruncatedNormal "TruncatedNormal"
    Bernoulli "Bernoulli"                           BernoulliLogit "Bernoulli"
    Binomial "Binomial"                             BinomialLogit "Binomial"
    BetaBinomial "BetaBinomial"
    Poisson "Poisson"
    NegativeBinomial "NegativeBinomial"             NegativeBinomialTrials "NegativeBinomial"
    Geometric "Geometric"
    ZeroInflatedPoisson "ZeroInflatedPoisson"
    ZeroInflatedBinomial "ZeroInflatedBinomial"     ZeroInflatedBinomialLogit "ZeroInflatedBinomial"
    ZeroInflatedNegativeBinomial "ZeroInflatedNegativeBinomial"
    ZeroInflatedNegativeBinomialTrials "ZeroInflatedNegativeBinomial"
    HurdlePoisson "HurdlePoisson"
    HurdleNegativeBinomial "HurdleNegativeBinomial"
    HurdleNegativeBinomialTrials "HurdleNegativeBinomial"
    HurdleGamma "HurdleGamma"                       HurdleGammaMoments "HurdleGamma"
    HurdleLogNormal "HurdleLogNormal"               HurdleLogNormalPrecision "HurdleLogNormal"
    HyperGeometric "HyperGeometric"
    DiscreteWeibull "DiscreteWeibull"
    DiscreteUniform "DiscreteUniform"
}

/// The arguments as an array.
#[track_caller]
fn all<R: Copy, const N: usize>(args: &[R]) -> [R; N] {
    match args.try_into() {
        Ok(array) => array,
        Err(_) => panic!("{N} arguments needed, {} given", args.len()),
    }
}

impl Scalar {
    /// Whether a density exists for these arguments.
    ///
    /// # Panics
    /// If `args` has not the length of [`Scalar::args`].
    #[track_caller]
    pub fn accepts(self, args: &[f64]) -> bool {
        // An invalid argument makes the log density NaN wherever it is taken.
        !args.iter().any(|x| x.is_nan()) && !self.log_density(0.0, args).is_nan()
    }

    /// One exact random draw; NaN where an argument is invalid or infinite (an end of the support
    /// may be infinite), or where the distribution is improper.
    ///
    /// # Panics
    /// If `args` has not the length of [`Scalar::args`].
    #[track_caller]
    pub fn sample(self, rng: &mut Rng, args: &[f64]) -> f64 {
        let is_end = |i: usize| match self.support() {
            Support::Interval(lower, upper) => [lower, upper].contains(&Bound::Arg(i)),
            _ => false,
        };
        let finite = (0..args.len()).all(|i| args[i].is_finite() || is_end(i));
        if finite && self.accepts(args) {
            self.draw(rng, args)
        } else {
            f64::NAN
        }
    }
}
