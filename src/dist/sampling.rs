//! Exact random draws that several distributions are built from.

pub(crate) use crate::rng::Rng;

/// The logarithm of a Gamma(shape, 1) draw; small shapes do not underflow.
///
/// Reference: Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26
/// (2000); below shape 1 with the factor U^(1/shape).
pub(crate) fn ln_gamma_draw(rng: &mut Rng, shape: f64) -> f64 {
    if !shape.is_finite() || shape <= 0.0 {
        return f64::NAN;
    }
    if shape < 1.0 {
        return ln_gamma_draw(rng, shape + 1.0) - rng.exponential() / shape;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = rng.normal();
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        if libm::log(rng.uniform()) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
            return libm::log(d * v);
        }
    }
}

/// A Gamma(shape, 1) draw.
pub(crate) fn gamma_draw(rng: &mut Rng, shape: f64) -> f64 {
    libm::exp(ln_gamma_draw(rng, shape))
}

/// A Beta(a, b) draw and its complement to 1, each with full relative accuracy.
pub(crate) fn beta_draw(rng: &mut Rng, a: f64, b: f64) -> (f64, f64) {
    let difference = ln_gamma_draw(rng, a) - ln_gamma_draw(rng, b);
    (
        1.0 / (1.0 + libm::exp(-difference)),
        1.0 / (1.0 + libm::exp(difference)),
    )
}

/// A Poisson(mu) draw: a product of uniforms below 12, above split at a gamma arrival time.
///
/// Reference: Ahrens and Dieter, "Computer methods for sampling from gamma, beta, Poisson and
/// binomial distributions", Computing 12 (1974).
pub(crate) fn poisson_draw(rng: &mut Rng, mu: f64) -> f64 {
    if !mu.is_finite() || mu < 0.0 {
        return f64::NAN;
    }
    let (mut mu, mut count) = (mu, 0.0);
    while mu > 12.0 {
        let m = (0.875 * mu).floor();
        let arrival = gamma_draw(rng, m);
        if arrival > mu {
            return count + binomial_draw(rng, m - 1.0, mu / arrival);
        }
        count += m;
        mu -= arrival;
    }
    let limit = libm::exp(-mu);
    let mut product = rng.uniform();
    while product > limit {
        count += 1.0;
        product *= rng.uniform();
    }
    count
}

/// A Binomial(n, p) draw: coins for small n, above split at the median order statistic.
///
/// Reference: Devroye, "Non-uniform random variate generation" (1986), section X.4.3.
pub(crate) fn binomial_draw(rng: &mut Rng, n: f64, p: f64) -> f64 {
    if !n.is_finite() || !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let (mut n, mut p, mut count) = (n, p, 0.0);
    while n > 16.0 {
        if p == 0.0 || p == 1.0 {
            return count + n * p;
        }
        let i = (0.5 * n).floor() + 1.0;
        let (below, above) = beta_draw(rng, i, n + 1.0 - i);
        if p < below {
            n = i - 1.0;
            p /= below;
        } else {
            count += i;
            n -= i;
            p = ((p - below) / above).clamp(0.0, 1.0);
        }
    }
    while n > 0.5 {
        count += f64::from(rng.uniform() < p);
        n -= 1.0;
    }
    count
}
