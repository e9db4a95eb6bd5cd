//! Heavy tails: StudentT, HalfStudentT, Cauchy, HalfCauchy.

use super::formula::{HALF_LN_TWO_PI, ln_1m_exp, ln_gamma_half_step, positive, unless};
use super::sampling::{Rng, gamma_draw};
use super::tails::{ln_beta_shares, ln_student_tail};
use super::{Arg, Real, Support, Univariate};
use fitzroy_graph::special::beta_inc;
use std::f64::consts::{FRAC_2_PI, LN_2, PI};

/// ½ ln(nu/2) + ln Γ(nu/2) − ln Γ((nu + 1)/2) + ln sigma + ½ ln 2π.
fn student_norm<R: Real>(nu: R, sigma: R) -> R {
    let half = R::lit(0.5) * positive(nu);
    R::lit(0.5) * half.ln() - ln_gamma_half_step(half) + sigma.ln() + R::lit(HALF_LN_TWO_PI)
}

/// −(nu + 1)/2 · ln(1 + z²/nu).
fn student_kernel<R: Real>(z: R, nu: R) -> R {
    R::lit(-0.5) * (nu + R::lit(1.0)) * (z * z / nu).ln_1p()
}

/// P(|T| > |z|) and its complement.
fn student_tails(z: f64, nu: f64) -> (f64, f64) {
    if z.is_infinite() {
        return (0.0, 1.0);
    }
    let total = nu + z * z;
    let (x, y) = (nu / total, z * z / total);
    (beta_inc(0.5 * nu, 0.5, x, y), beta_inc(0.5, 0.5 * nu, y, x))
}

/// ln P(T ≤ z).
fn ln_student<R: Real>(z: R, nu: R) -> R {
    let left = z.lt(R::lit(0.0));
    let tail = ln_student_tail(left.select(-z, z), nu);
    left.select(tail, ln_1m_exp(tail))
}

/// StudentT(nu, mu, sigma): nu degrees of freedom, location mu, scale sigma; or by lam = sigma⁻².
///
/// ln p(y) = ln Γ((nu+1)/2) − ln Γ(nu/2) − ½ ln(nu π) − ln sigma − (nu+1)/2 · ln(1 + z²/nu), with
/// z = (y − mu)/sigma.
///
/// Support: the real line. Requires nu > 0, sigma > 0.
/// Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 2, chapter 28.
pub struct StudentT;

impl Univariate<3> for StudentT {
    const ARGS: [Arg; 3] = [
        Arg::needed("nu"),
        Arg::with_default("mu", 0.0),
        Arg::with_default("sigma", 1.0),
    ];
    const SUPPORT: Support = Support::Real;
    const LOCATION_SCALE: Option<[usize; 2]> = Some([1, 2]);
    const SYMMETRIC: bool = true;

    fn log_density<R: Real>(y: R, [nu, mu, sigma]: [R; 3]) -> R {
        student_kernel((y - mu) / sigma, nu) - student_norm(nu, sigma)
    }

    fn log_cdf<R: Real>(y: R, [nu, mu, sigma]: [R; 3]) -> Option<R> {
        Some(ln_student((y - mu) / positive(sigma), positive(nu)))
    }

    fn log_ccdf<R: Real>(y: R, [nu, mu, sigma]: [R; 3]) -> Option<R> {
        Some(ln_student((mu - y) / positive(sigma), positive(nu)))
    }

    fn cdf(y: f64, [nu, mu, sigma]: [f64; 3]) -> Option<f64> {
        let z = (y - mu) / positive(sigma);
        let (outer, inner) = student_tails(z, nu);
        Some(if z < 0.0 {
            0.5 * outer
        } else {
            0.5 + 0.5 * inner
        })
    }

    fn sample(rng: &mut Rng, [nu, mu, sigma]: [f64; 3]) -> f64 {
        mu + sigma * rng.normal() / (gamma_draw(rng, 0.5 * nu) / (0.5 * nu)).sqrt()
    }
}

/// HalfStudentT(nu, sigma), the absolute value of StudentT(nu, 0, sigma); or by lam = sigma⁻².
///
/// ln p(y) = ln 2 + ln StudentT(y | nu, 0, sigma), for y ≥ 0.
///
/// Requires nu > 0, sigma > 0. Source: Gelman, Bayesian Analysis 1 (2006), 515–534.
pub struct HalfStudentT;

impl HalfStudentT {
    /// ln P(Y ≤ y) and ln P(Y > y).
    fn ln_shares<R: Real>(y: R, [nu, sigma]: [R; 2]) -> (R, R) {
        let half = R::lit(0.5);
        let z = y.max(R::lit(0.0)) / positive(sigma);
        let z = z.min(R::lit(1e150));
        let total = nu + z * z;
        ln_beta_shares(half, half * positive(nu), z * z / total, nu / total)
    }
}

impl Univariate<2> for HalfStudentT {
    const ARGS: [Arg; 2] = [Arg::needed("nu"), Arg::with_default("sigma", 1.0)];
    const SUPPORT: Support = Support::POSITIVE;
    const REACHES_ZERO: bool = true;

    fn log_density<R: Real>(y: R, [nu, sigma]: [R; 2]) -> R {
        let kernel = unless(y.lt(R::lit(0.0)), student_kernel(y / sigma, nu));
        kernel - (student_norm(nu, sigma) - R::lit(LN_2))
    }

    fn log_cdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        Some(HalfStudentT::ln_shares(y, args).0)
    }

    fn log_ccdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        Some(HalfStudentT::ln_shares(y, args).1)
    }

    fn cdf(y: f64, [nu, sigma]: [f64; 2]) -> Option<f64> {
        Some(student_tails(y.max(0.0) / positive(sigma), nu).1)
    }

    fn sample(rng: &mut Rng, [nu, sigma]: [f64; 2]) -> f64 {
        StudentT::sample(rng, [nu, 0.0, sigma]).abs()
    }
}

/// Cauchy(alpha, beta): median alpha, half width at half maximum beta.
///
/// ln p(y) = −ln π − ln beta − ln(1 + z²), with z = (y − alpha)/beta.
///
/// Support: the real line. Requires beta > 0.
/// Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 1, chapter 16.
pub struct Cauchy;

/// ln P(Z ≤ z) of the standard Cauchy distribution; far left it is atan(−1/z)/π.
fn ln_cauchy<R: Real>(z: R) -> R {
    let minus_one = R::lit(-1.0);
    let far = (minus_one / z.min(minus_one)).atan();
    let near = z.max(minus_one).atan() + R::lit(0.5 * PI);
    (z.lt(minus_one).select(far, near) * R::lit(1.0 / PI)).ln()
}

impl Univariate<2> for Cauchy {
    const ARGS: [Arg; 2] = [Arg::needed("alpha"), Arg::needed("beta")];
    const SUPPORT: Support = Support::Real;
    const LOCATION_SCALE: Option<[usize; 2]> = Some([0, 1]);
    const SYMMETRIC: bool = true;

    fn log_density<R: Real>(y: R, [alpha, beta]: [R; 2]) -> R {
        let z = (y - alpha) / beta;
        -(z * z).ln_1p() - (R::lit(PI) * beta).ln()
    }

    fn log_cdf<R: Real>(y: R, [alpha, beta]: [R; 2]) -> Option<R> {
        Some(ln_cauchy((y - alpha) / positive(beta)))
    }

    fn log_ccdf<R: Real>(y: R, [alpha, beta]: [R; 2]) -> Option<R> {
        Some(ln_cauchy((alpha - y) / positive(beta)))
    }

    fn sample(rng: &mut Rng, [alpha, beta]: [f64; 2]) -> f64 {
        alpha + beta * libm::tan(PI * (rng.uniform() - 0.5))
    }
}

/// HalfCauchy(beta), the absolute value of Cauchy(0, beta).
///
/// ln p(y) = ln(2/π) − ln beta − ln(1 + (y/beta)²), for y ≥ 0.
///
/// Requires beta > 0. Source: Gelman, Bayesian Analysis 1 (2006), 515–534.
pub struct HalfCauchy;

impl Univariate<1> for HalfCauchy {
    const ARGS: [Arg; 1] = [Arg::needed("beta")];
    const SUPPORT: Support = Support::POSITIVE;
    const REACHES_ZERO: bool = true;

    fn log_density<R: Real>(y: R, [beta]: [R; 1]) -> R {
        let z = y / beta;
        unless(y.lt(R::lit(0.0)), -(z * z).ln_1p()) - (R::lit(0.5 * PI) * beta).ln()
    }

    fn log_cdf<R: Real>(y: R, [beta]: [R; 1]) -> Option<R> {
        let z = y.max(R::lit(0.0)) / positive(beta);
        Some((z.atan() * R::lit(FRAC_2_PI)).ln())
    }

    fn log_ccdf<R: Real>(y: R, [beta]: [R; 1]) -> Option<R> {
        let z = y.max(R::lit(0.0)) / positive(beta);
        Some(ln_cauchy(-z) + R::lit(LN_2))
    }

    fn sample(rng: &mut Rng, [beta]: [f64; 1]) -> f64 {
        beta * libm::tan(0.5 * PI * rng.uniform())
    }
}
