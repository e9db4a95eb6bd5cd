//! Random draws against distribution functions.

use crate::dist::*;
use crate::rng::{Purpose, Rng};

/// Valid arguments for every proper form, several for those whose sampler has several cases.
pub(super) fn cases() -> Vec<(Scalar, Vec<f64>)> {
    use Scalar as S;
    let cases: &[(Scalar, &[f64])] = &[
        (S::Normal, &[1.0, 2.0]),
        (S::NormalPrecision, &[1.0, 0.25]),
        (S::HalfNormal, &[2.0]),
        (S::HalfNormalPrecision, &[0.25]),
        (S::StudentT, &[3.0, 1.0, 2.0]),
        (S::StudentT, &[0.5, 0.0, 1.0]),
        (S::StudentTPrecision, &[5.0, 0.0, 2.0]),
        (S::HalfStudentT, &[3.0, 2.0]),
        (S::HalfStudentTPrecision, &[3.0, 2.0]),
        (S::Cauchy, &[1.0, 2.0]),
        (S::HalfCauchy, &[2.0]),
        (S::Laplace, &[1.0, 2.0]),
        (S::Logistic, &[1.0, 2.0]),
        (S::LogNormal, &[1.0, 0.5]),
        (S::LogNormalPrecision, &[1.0, 4.0]),
        (S::Exponential, &[3.0]),
        (S::ExponentialScale, &[3.0]),
        (S::Gamma, &[0.05, 1.0]),
        (S::Gamma, &[4.5, 2.0]),
        (S::GammaMoments, &[4.5, 2.0]),
        (S::InverseGamma, &[3.0, 2.0]),
        (S::InverseGammaMoments, &[3.0, 2.0]),
        (S::Weibull, &[1.7, 3.0]),
        (S::Gumbel, &[1.0, 2.0]),
        (S::Pareto, &[2.0, 1.5]),
        (S::Beta, &[0.3, 0.2]),
        (S::Beta, &[5.0, 2.0]),
        (S::BetaMean, &[0.3, 8.0]),
        (S::BetaMeanNu, &[0.3, 8.0]),
        (S::BetaMoments, &[0.3, 0.1]),
        (S::Kumaraswamy, &[2.0, 5.0]),
        (S::Uniform, &[-1.0, 3.0]),
        (S::Triangular, &[-1.0, 3.0, 0.5]),
        (S::VonMises, &[2.5, 0.0]),
        (S::VonMises, &[2.5, 1.5]),
        (S::VonMises, &[-0.5, 60.0]),
        (S::SkewNormal, &[1.0, 2.0, -4.0]),
        (S::ExGaussian, &[0.4, 0.05, 0.2]),
        (S::Wald, &[2.0, 0.7, 0.5]),
        (S::Wald, &[0.5, 20.0, 0.0]),
        (S::TruncatedNormal, &[0.0, 1.0, -1.0, 2.0]),
        (S::TruncatedNormal, &[0.0, 1.0, 3.0, f64::INFINITY]),
        (S::TruncatedNormal, &[0.0, 1.0, 9.0, 9.1]),
        (S::TruncatedNormal, &[0.0, 1.0, f64::NEG_INFINITY, -40.0]),
        (S::Bernoulli, &[0.3]),
        (S::BernoulliLogit, &[-1.0]),
        (S::Binomial, &[10.0, 0.3]),
        (S::Binomial, &[3000.0, 0.013]),
        (S::BinomialLogit, &[100.0, 1.0]),
        (S::BetaBinomial, &[2.0, 3.0, 40.0]),
        (S::Poisson, &[0.4]),
        (S::Poisson, &[11.0]),
        (S::Poisson, &[500.0]),
        (S::NegativeBinomial, &[7.0, 0.8]),
        (S::NegativeBinomialTrials, &[3.0, 0.2]),
        (S::Geometric, &[0.2]),
        (S::ZeroInflatedPoisson, &[0.6, 4.0]),
        (S::ZeroInflatedBinomial, &[0.6, 9.0, 0.3]),
        (S::ZeroInflatedBinomialLogit, &[0.6, 9.0, -1.0]),
        (S::ZeroInflatedNegativeBinomial, &[0.6, 4.0, 1.5]),
        (S::ZeroInflatedNegativeBinomialTrials, &[0.6, 3.0, 0.4]),
        (S::HurdlePoisson, &[0.6, 1.5]),
        (S::HurdleNegativeBinomial, &[0.6, 1.5, 0.7]),
        (S::HurdleNegativeBinomial, &[0.6, 0.01, 2.0]),
        (S::HurdleNegativeBinomialTrials, &[0.6, 3.0, 0.4]),
        (S::HurdleGamma, &[0.6, 1.5, 0.7]),
        (S::HurdleGammaMoments, &[0.6, 1.5, 0.7]),
        (S::HurdleLogNormal, &[0.6, 0.5, 0.7]),
        (S::HurdleLogNormalPrecision, &[0.6, 0.5, 0.7]),
        (S::HyperGeometric, &[50.0, 10.0, 5.0]),
        (S::HyperGeometric, &[400.0, 300.0, 250.0]),
        (S::Rice, &[1.3, 0.7]),
        (S::Rice, &[0.0, 2.0]),
        (S::Rice, &[20.0, 0.5]),
        (S::RiceRatio, &[1.5, 2.0]),
        (S::SkewStudentT, &[1.5, 4.0, 1.0, 2.0]),
        (S::SkewStudentTPrecision, &[3.0, 0.6, 0.0, 2.0]),
        (S::DiscreteWeibull, &[0.8, 0.7]),
        (S::AsymmetricLaplace, &[1.7, 1.0, 2.0]),
        (S::Moyal, &[1.0, 2.0]),
        (S::LogitNormal, &[0.5, 1.5]),
        (S::LogitNormalPrecision, &[0.5, 0.25]),
        (S::ChiSquared, &[3.0]),
        (S::DiscreteUniform, &[-2.0, 7.0]),
    ];
    cases
        .iter()
        .map(|(form, args)| (*form, args.to_vec()))
        .collect()
}

/// The largest distance between the empirical and the exact distribution function of `n` draws,
/// times √n.
fn kolmogorov(form: Scalar, args: &[f64], n: usize, seed: u64) -> f64 {
    let mut rng = Rng::new(seed, 0, 0, 0, Purpose::Test);
    let mut draws: Vec<f64> = (0..n).map(|_| form.sample(&mut rng, args)).collect();
    assert!(
        draws.iter().all(|y| !y.is_nan()),
        "{form:?} {args:?} drew NaN"
    );
    draws.sort_by(f64::total_cmp);
    let steps = form.support() == Support::ZeroOrPositive;
    let discrete = form.support().is_discrete() || steps;
    let mut worst: f64 = 0.0;
    for (i, y) in draws.iter().enumerate() {
        // For a distribution with steps only the last of equal draws sits at a step of both.
        if discrete && draws.get(i + 1) == Some(y) {
            continue;
        }
        let exact = form.cdf(*y, args).expect("a proper distribution");
        worst = worst.max((exact - (i + 1) as f64 / n as f64).abs());
        if !discrete {
            worst = worst.max((exact - i as f64 / n as f64).abs());
        }
    }
    worst * (n as f64).sqrt()
}

/// Bound: P(√n D > 2.3) = 2 exp(−2·2.3²) = 5e-5 for each of 58 cases (less for discrete ones), so
/// some case fails on 0.3 % of seeds; the seed is fixed. Catches: a boost of a small gamma shape
/// left out, a binomial split off by one, the wrong root of the Wald draw.
#[test]
fn draws_follow_the_distribution_function() {
    for (form, args) in cases() {
        let distance = kolmogorov(form, &args, 20_000, 11);
        assert!(distance < 2.3, "{form:?} {args:?}: {distance}");
    }
}

#[test]
fn every_proper_form_is_drawn() {
    let cases = cases();
    for form in Scalar::ALL.iter().filter(|form| !form.is_improper()) {
        assert!(cases.iter().any(|case| case.0 == *form), "{form:?}");
    }
}

#[test]
fn draws_with_invalid_or_infinite_arguments_are_nan_and_end() {
    let mut rng = Rng::new(1, 0, 0, 0, Purpose::Test);
    for (form, args) in cases() {
        for i in 0..args.len() {
            let mut bad = args.clone();
            bad[i] = f64::NAN;
            assert!(form.sample(&mut rng, &bad).is_nan(), "{form:?} {bad:?}");
            bad[i] = f64::INFINITY;
            form.sample(&mut rng, &bad);
        }
    }
    assert!(Scalar::Flat.sample(&mut rng, &[]).is_nan());
}

/// Far tails and tiny shapes, where a careless sampler underflows or never ends.
#[test]
fn draws_at_extreme_arguments_stay_in_the_support() {
    let mut rng = Rng::new(2, 0, 0, 0, Purpose::Test);
    for _ in 0..200 {
        let y = Scalar::TruncatedNormal.sample(&mut rng, &[0.0, 1.0, 30.0, 31.0]);
        assert!((30.0..=31.0).contains(&y));
        let p = Scalar::Beta.sample(&mut rng, &[1e-3, 1e-3]);
        assert!((0.0..=1.0).contains(&p));
        let y = Scalar::Binomial.sample(&mut rng, &[1e9, 1e-9]);
        assert!((0.0..50.0).contains(&y));
        let y = Scalar::Poisson.sample(&mut rng, &[1e12]);
        assert!((y - 1e12).abs() < 1e7);
    }
}
