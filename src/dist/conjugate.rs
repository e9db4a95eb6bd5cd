//! Conjugate priors: shares with a Beta prior, rates with a Gamma prior.
//!
//! Whoever observes successes and failures of a share θ ~ Beta(a, b), s and f in all, knows
//!
//!   ln p(data) = ln B(a + s, b + f) − ln B(a, b) + constants,    θ | data ~ Beta(a + s, b + f),
//!
//! and whoever observes s events in an exposure t of a rate θ ~ Gamma(a, b)
//!
//!   ln p(data) = ln Γ(a + s) − ln Γ(a) + a ln b − (a + s) ln(b + t) + constants,
//!   θ | data ~ Gamma(a + s, b + t).
//!
//! Source: Gelman and others, *Bayesian Data Analysis*, sections 2.4 and 2.6.

use super::formula::{count_ln, ln_beta, ln_choose, ln_rising, positive};
use super::further::ChiSquared;
use super::sampling::{Rng, ln_gamma_draw};
use super::{Beta, Gamma, Real, Scalar};

/// A family of priors that data leave in the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conjugate {
    /// Beta(a, b) of a share; its coordinate is ln(θ/(1 − θ)).
    Beta,
    /// Gamma(a, b) of a rate; its coordinate is ln θ.
    Gamma,
}

/// What one row of data adds: to a, to b, and to the log density whatever they are.
pub(crate) type Evidence<R> = [R; 3];

impl Conjugate {
    /// The family of a prior and its two arguments.
    pub(crate) fn of<R: Real>(prior: Scalar, args: &[R]) -> Option<(Conjugate, [R; 2])> {
        let one = R::lit(1.0);
        let two = || [args[0], args[1]];
        Some(match prior {
            Scalar::Beta => (Conjugate::Beta, two()),
            Scalar::BetaMean | Scalar::BetaMeanNu => (Conjugate::Beta, Beta::from_mean(two())),
            Scalar::BetaMoments => (Conjugate::Beta, Beta::from_moments(two())),
            Scalar::Gamma => (Conjugate::Gamma, two()),
            Scalar::GammaMoments => (Conjugate::Gamma, Gamma::from_moments(two())),
            Scalar::Exponential => (Conjugate::Gamma, [one, args[0]]),
            Scalar::ExponentialScale => (Conjugate::Gamma, [one, one / args[0]]),
            Scalar::ChiSquared => (Conjugate::Gamma, ChiSquared::as_gamma([args[0]])),
            _ => return None,
        })
    }

    /// Which argument of a distribution of data is θ, or for rates a multiple of it.
    pub(crate) fn argument(self, data: Scalar) -> Option<usize> {
        match (self, data) {
            (Conjugate::Beta, Scalar::Bernoulli | Scalar::Geometric) => Some(0),
            (Conjugate::Beta, Scalar::Binomial) => Some(1),
            (Conjugate::Gamma, Scalar::Poisson | Scalar::Exponential) => Some(0),
            (Conjugate::Gamma, Scalar::Gamma) => Some(1),
            _ => None,
        }
    }

    /// What a row `y` of a distribution adds whose [`Conjugate::argument`] is `by` times θ.
    ///
    /// # Panics
    /// When there is no such argument.
    #[track_caller]
    pub(crate) fn evidence<R: Real>(data: Scalar, y: R, args: &[R], by: R) -> Evidence<R> {
        let (zero, one) = (R::lit(0.0), R::lit(1.0));
        match data {
            Scalar::Bernoulli => [y, one - y, zero],
            Scalar::Binomial => [y, args[0] - y, ln_choose(args[0], y)],
            Scalar::Geometric => [one, y - one, zero],
            Scalar::Poisson => [y, by, count_ln(y, by) - (y + one).lgamma()],
            Scalar::Exponential => [one, by * y, positive(by).ln()],
            Scalar::Gamma => {
                let shape = positive(args[0]);
                let kernel = shape * positive(by).ln() + (shape - one) * y.ln();
                [shape, by * y, kernel - shape.lgamma()]
            }
            _ => panic!("{} has no conjugate prior here", data.name()),
        }
    }

    /// ln p(data) but for the constants of the rows, from what all rows add to a and b.
    pub(crate) fn log_marginal<R: Real>(self, [a, b]: [R; 2], [s, t]: [R; 2]) -> R {
        let (a, b) = (positive(a), positive(b));
        match self {
            Conjugate::Beta => ln_rising(a, s) + ln_rising(b, t) - ln_rising(a + b, s + t),
            Conjugate::Gamma => ln_rising(a, s) - a * (t / b).ln_1p() - s * (b + t).ln(),
        }
    }

    /// The log density of the coordinate u of θ.
    pub(crate) fn log_density<R: Real>(self, u: R, [a, b]: [R; 2]) -> R {
        match self {
            Conjugate::Beta => -a * (-u).softplus() - b * u.softplus() - ln_beta(a, b),
            Conjugate::Gamma => a * (u + b.ln()) - b * u.exp() - a.lgamma(),
        }
    }

    /// A draw of the coordinate of θ.
    pub(crate) fn draw(self, rng: &mut Rng, [a, b]: [f64; 2]) -> f64 {
        let first = ln_gamma_draw(rng, a);
        match self {
            Conjugate::Beta => first - ln_gamma_draw(rng, b),
            Conjugate::Gamma => first - libm::log(b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    /// Catches: the logarithm of the other share, a scale in place of a rate.
    #[test]
    fn draws_have_the_distribution_of_the_family() {
        let cases = [
            (Conjugate::Beta, Scalar::Beta, [0.3, 2.0]),
            (Conjugate::Beta, Scalar::Beta, [40.0, 7.5]),
            (Conjugate::Gamma, Scalar::Gamma, [0.4, 3.0]),
            (Conjugate::Gamma, Scalar::Gamma, [25.0, 0.2]),
        ];
        for (k, (family, law, args)) in cases.into_iter().enumerate() {
            let mut rng = Rng::new(3, 0, 0, k as u32, Purpose::Test);
            let natural = |u: f64| match family {
                Conjugate::Beta => 1.0 / (1.0 + libm::exp(-u)),
                Conjugate::Gamma => libm::exp(u),
            };
            let n = 20_000;
            let mut p: Vec<f64> = (0..n)
                .map(|_| law.cdf(natural(family.draw(&mut rng, args)), &args))
                .map(|p| p.expect("both have one"))
                .collect();
            p.sort_by(f64::total_cmp);
            // Kolmogorov's distance: above 1.95/√n once in a thousand.
            let far = |(i, p): (usize, &f64)| ((i as f64 + 0.5) / n as f64 - p).abs();
            let distance = p.iter().enumerate().map(far).fold(0.0, f64::max);
            assert!(distance < 1.95 / (n as f64).sqrt(), "{law:?}: {distance}");
        }
    }
}
