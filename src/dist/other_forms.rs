//! Other parameterisations of the same distributions, by conversion of the arguments.

use super::formula::positive;
use super::sampling::Rng;
use super::*;

/// Declares `$name` as `$base` with arguments `$names`, turned into the base's by a rule
/// in the form of a closure (which cannot be generic).
macro_rules! other_form {
    ($(#[$doc:meta])* $name:ident [$n:literal]: $base:ident, $names:expr, |$given:pat_param| $base_args:expr) => {
        $(#[$doc])*
        pub struct $name;

        impl Univariate<$n> for $name {
            const ARGS: [Arg; $n] = $names;
            const SUPPORT: Support = $base::SUPPORT;
            const OPEN: bool = $base::OPEN;
            const SYMMETRIC: bool = $base::SYMMETRIC;
            const REACHES_ZERO: bool = $base::REACHES_ZERO;
            const IMPROPER: bool = $base::IMPROPER;

            fn log_density<R: Real>(y: R, args: [R; $n]) -> R {
                let $given = args;
                $base::log_density(y, $base_args)
            }
            fn log_cdf<R: Real>(y: R, args: [R; $n]) -> Option<R> {
                let $given = args;
                $base::log_cdf(y, $base_args)
            }
            fn log_ccdf<R: Real>(y: R, args: [R; $n]) -> Option<R> {
                let $given = args;
                $base::log_ccdf(y, $base_args)
            }
            fn cdf(y: f64, args: [f64; $n]) -> Option<f64> {
                let $given = args;
                $base::cdf(y, $base_args)
            }
            fn sample(rng: &mut Rng, args: [f64; $n]) -> f64 {
                let $given = args;
                $base::sample(rng, $base_args)
            }
        }
    };
}

/// The standard deviation of a precision.
fn sigma_of<R: Real>(tau: R) -> R {
    R::lit(1.0) / positive(tau).sqrt()
}

/// A rate from a scale.
fn inverse<R: Real>([scale]: [R; 1]) -> [R; 1] {
    [R::lit(1.0) / scale]
}

other_form!(
    /// [`Normal`] by precision.
    NormalPrecision [2]: Normal,
    [Arg::with_default("mu", 0.0), Arg::needed("tau")],
    |[mu, tau]| [mu, sigma_of(tau)]
);
other_form!(
    /// [`HalfNormal`] by precision.
    HalfNormalPrecision [1]: HalfNormal, [Arg::needed("tau")], |[tau]| [sigma_of(tau)]
);
other_form!(
    /// [`LogNormal`] by precision.
    LogNormalPrecision [2]: LogNormal,
    [Arg::with_default("mu", 0.0), Arg::needed("tau")],
    |[mu, tau]| [mu, sigma_of(tau)]
);
other_form!(
    /// [`LogitNormal`] by precision.
    LogitNormalPrecision [2]: LogitNormal,
    [Arg::with_default("mu", 0.0), Arg::needed("tau")],
    |[mu, tau]| [mu, sigma_of(tau)]
);
other_form!(
    /// [`StudentT`] by inverse squared scale.
    StudentTPrecision [3]: StudentT,
    [Arg::needed("nu"), Arg::with_default("mu", 0.0), Arg::needed("lam")],
    |[nu, mu, lam]| [nu, mu, sigma_of(lam)]
);
other_form!(
    /// [`HalfStudentT`] by inverse squared scale.
    HalfStudentTPrecision [2]: HalfStudentT,
    [Arg::needed("nu"), Arg::needed("lam")],
    |[nu, lam]| [nu, sigma_of(lam)]
);
other_form!(
    /// [`Exponential`] by scale, which is its mean.
    ExponentialScale [1]: Exponential, [Arg::needed("scale")],
    |args| inverse(args)
);
other_form!(
    /// [`Gamma`] by mean and standard deviation.
    GammaMoments [2]: Gamma, [Arg::needed("mu"), Arg::needed("sigma")], |args| Gamma::from_moments(args)
);
other_form!(
    /// [`InverseGamma`] by mean and standard deviation.
    InverseGammaMoments [2]: InverseGamma,
    [Arg::needed("mu"), Arg::needed("sigma")], |args| InverseGamma::from_moments(args)
);
other_form!(
    /// [`Beta`] by mean and concentration.
    BetaMean [2]: Beta, [Arg::needed("mu"), Arg::needed("kappa")], |args| Beta::from_mean(args)
);
other_form!(
    /// [`Beta`] by mean and concentration, under the name PyMC gives it.
    BetaMeanNu [2]: Beta, [Arg::needed("mu"), Arg::needed("nu")], |args| Beta::from_mean(args)
);
other_form!(
    /// [`Beta`] by mean and standard deviation.
    BetaMoments [2]: Beta, [Arg::needed("mu"), Arg::needed("sigma")], |args| Beta::from_moments(args)
);
other_form!(
    /// [`NegativeBinomial`] by number of successes and their probability.
    NegativeBinomialTrials [2]: NegativeBinomial,
    [Arg::needed("n"), Arg::needed("p")], |args| NegativeBinomial::from_trials(args)
);
other_form!(
    /// [`HurdleNegativeBinomial`] by number of successes and their probability.
    HurdleNegativeBinomialTrials [3]: HurdleNegativeBinomial,
    [Arg::needed("psi"), Arg::needed("n"), Arg::needed("p")],
    |[psi, n, p]| {
        let [mu, alpha] = NegativeBinomial::from_trials([n, p]);
        [psi, mu, alpha]
    }
);
other_form!(
    /// [`HurdleGamma`] by mean and standard deviation of what is above 0.
    HurdleGammaMoments [3]: HurdleGamma,
    [Arg::needed("psi"), Arg::needed("mu"), Arg::needed("sigma")],
    |[psi, mu, sigma]| {
        let [alpha, beta] = Gamma::from_moments([mu, sigma]);
        [psi, alpha, beta]
    }
);
other_form!(
    /// [`HurdleLogNormal`] by precision.
    HurdleLogNormalPrecision [3]: HurdleLogNormal,
    [Arg::needed("psi"), Arg::with_default("mu", 0.0), Arg::needed("tau")],
    |[psi, mu, tau]| [psi, mu, sigma_of(tau)]
);
other_form!(
    /// [`SkewStudentT`] by inverse squared scale.
    SkewStudentTPrecision [4]: SkewStudentT,
    [Arg::needed("a"), Arg::needed("b"), Arg::with_default("mu", 0.0), Arg::needed("lam")],
    |[a, b, mu, lam]| [a, b, mu, sigma_of(lam)]
);
other_form!(
    /// [`Rice`] by the distance in units of the scale.
    RiceRatio [2]: Rice, [Arg::needed("b"), Arg::with_default("sigma", 1.0)],
    |[b, sigma]| [b * sigma, sigma]
);
