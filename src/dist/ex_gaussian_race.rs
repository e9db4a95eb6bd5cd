//! An ex-Gaussian runner of a race: logarithms of its density and survivor with their slopes, and
//! the stop-signal model whose runners all are ex-Gaussian.
//!
//! Sources: Matzke, Dolan, Logan, Brown and Wagenmakers, Journal of Experimental Psychology:
//! General 142 (2013) 1047–1073; for two go runners Matzke, Curley, Gong and Heathcote,
//! Psychological Methods 24 (2019) 374–393.

use super::Real;
use super::stop_signal::{StopTime, StopWindow, gauss_legendre};
use std::f64::consts::FRAC_1_SQRT_2;

const FRAC_1_SQRT_TWO_PI: f64 = 0.398_942_280_401_432_7;

fn lit<R: Real>(x: f64) -> R {
    R::lit(x)
}

/// Normal(μ, σ) + Exponential(mean τ) at x: ln f, ln S and their slopes in (μ, σ, τ), finite as far
/// as x² is.
///
/// With r = σ/τ, z = (x − μ)/σ, q = r − z, a = erfcx(|z|/√2) and b = erfcx(|q|/√2):
/// ln f = −z²/2 + ln ½b − ln τ for q ≥ 0, and (q² − z²)/2 + ln(1 − ½e^(−q²/2)b) − ln τ below.
/// S = 1 − ½e^(−z²/2)(a − b) for z ≤ 0; above it has the factor e^(−z²/2) with ½(a + b) for q ≥ 0,
/// and e^((q² − z²)/2) with 1 + ½e^(−q²/2)(a − b) below. With h = f/S and k = K/A of
/// [`StopTime`]: ∂ln f = ((z − k)/σ, (z² − (r + z)k)/σ, (rk − 1)/τ), ∂ln S = h·(1, z − k, rk).
#[derive(Clone, Copy, Debug)]
pub struct ExGaussianTime<R> {
    /// ln f(x).
    pub log_density: R,
    /// ∂ln f/∂(μ, σ, τ).
    pub log_density_by: [R; 3],
    /// ln S(x).
    pub log_survivor: R,
    /// ∂ln S/∂(μ, σ, τ).
    pub log_survivor_by: [R; 3],
}

impl<R: Real> ExGaussianTime<R> {
    /// At `x`.
    pub fn at(x: R, [mu, sigma, tau]: [R; 3]) -> Self {
        let (half, one, zero) = (lit::<R>(0.5), lit::<R>(1.0), lit::<R>(0.0));
        let (inverse_sigma, inverse_tau) = (one / sigma, one / tau);
        let r = sigma * inverse_tau;
        let z = (x - mu) * inverse_sigma;
        let q = r - z;
        let a = (z.abs() * lit(FRAC_1_SQRT_2)).erfcx();
        let b = (q.abs() * lit(FRAC_1_SQRT_2)).erfcx();
        let below = q.lt(zero);
        let late = zero.lt(z);
        let bell_q = below.select((lit::<R>(-0.5) * (q * q)).exp(), one);
        let bell_z = (lit::<R>(-0.5) * (z * z)).exp();
        let half_b = half * (bell_q * b);
        // ln f without its factor, which is taken out where f is small.
        let rest = below.select(one - half_b, half_b);
        let factor = half * below.select(r * (q - z), -(z * z));
        let log_density = factor + rest.ln() - tau.ln();
        let k = bell_q * lit(FRAC_1_SQRT_TWO_PI) / rest - q;
        let early = one - half * bell_z * (a - b);
        let tail = below.select(one + half * (bell_q * (a - b)), half * (a + b));
        let log_survivor = late.select(factor + tail.ln(), early.ln());
        let hazard = (log_density - log_survivor).exp();
        ExGaussianTime {
            log_density,
            log_density_by: [
                (z - k) * inverse_sigma,
                (z * z - (r + z) * k) * inverse_sigma,
                (r * k - one) * inverse_tau,
            ],
            log_survivor,
            log_survivor_by: [hazard, hazard * (z - k), hazard * (r * k)],
        }
    }
}

/// The outcomes of the trials of a stop-signal task as a race of ex-Gaussian times: 0 no response, 1
/// the right one, 2 the wrong one, at rt seconds.
///
/// With probability pgf nothing is pressed. Otherwise a runner for the right response takes
/// Normal(go_mu, go_sigma) + Exponential(mean go_tau), and one for the wrong response the same with
/// error_mu, error_sigma and error_tau; the first gives the response. Without error_mu, error_sigma
/// and error_tau there is one go runner, and every response is outcome 1. Times of go runners are
/// those above go_lb. `ssd` = inf says that there was no stop signal. With one, with probability 1 −
/// ptf, a stop process ends at ssd + X, X ~ Normal(stop_mu, stop_sigma) + Exponential(mean stop_tau)
/// given X > stop_lb; if it is first there is no response.
///
/// With f and S the density and survivor of a go runner at rt and S_T the survivor of X, p(response) =
/// (1 − pgf)·f(winner)·S(loser), on stop trials times ptf + (1 − ptf)·S_T(rt − ssd); p(none) = pgf, on
/// stop trials pgf + (1 − pgf)(1 − ptf)·∫ f_T(x)·S(x + ssd)·S(x + ssd) dx, by `nodes` Gauss–Legendre
/// nodes between the ends, the middle, and where the go runners are. With a `deadline` later
/// responses count as none. −∞ for rt ≤ go_lb; NaN where a parameter is not valid.
///
/// Observed only, over one dim of trials; `rt`, `ssd`, `stop_lb`, `go_lb`, `deadline` and `nodes` are
/// data. Sources: Matzke, Dolan, Logan, Brown and Wagenmakers, Journal of Experimental Psychology:
/// General 142 (2013) 1047–1073; Matzke, Curley, Gong and Heathcote, Psychological Methods 24 (2019)
/// 374–393.
pub fn stop_signal_ex_gaussian(
    outcome: u8,
    rt: f64,
    ssd: f64,
    go: &[[f64; 3]],
    [mu, sigma, tau, pgf, ptf]: [f64; 5],
    [stop_lb, go_lb]: [f64; 2],
) -> f64 {
    let stop = [mu, sigma, tau];
    let survivor = |x: f64, of: [f64; 3]| StopTime::at(x, of).survivor();
    let kept = if stop_lb.is_finite() {
        survivor(stop_lb, stop)
    } else {
        1.0
    };
    let go_kept: f64 = go.iter().map(|p| survivor(go_lb, *p)).product();
    if outcome > 0 {
        if rt <= go_lb {
            return f64::NEG_INFINITY;
        }
        let ln = |(k, p): (usize, &[f64; 3])| {
            let at = ExGaussianTime::at(rt, *p);
            match k + 1 == usize::from(outcome) {
                true => at.log_density,
                false => at.log_survivor,
            }
        };
        let raced: f64 = go.iter().enumerate().map(ln).sum();
        let x = rt - ssd;
        let later = if x > stop_lb {
            survivor(x, stop) / kept
        } else {
            1.0
        };
        let late = if ssd.is_finite() {
            ptf + (1.0 - ptf) * later
        } else {
            1.0
        };
        return raced - libm::log(go_kept) + libm::log(late) + libm::log1p(-pgf);
    }
    if ssd.is_infinite() {
        return libm::log(pgf);
    }
    let start = (go_lb - ssd).max(stop_lb);
    let window = StopWindow::new(start, None, stop);
    let mut first = if start > stop_lb {
        (kept - survivor(start, stop)) * go_kept
    } else {
        0.0
    };
    let marks: Vec<f64> = go.iter().map(|p| p[0] - ssd).collect();
    let edges = window.edges(&marks, stop);
    for pair in edges.windows(2) {
        let width = pair[1] - pair[0];
        for (c, w) in gauss_legendre(24).into_iter().take(24) {
            // The first half of two is the rule on (0, ½).
            let (z, dx) = StopWindow::map(pair[0] + width * 2.0 * c, [sigma, tau]);
            let t = (mu + sigma * z + ssd).max(go_lb);
            let both: f64 = go.iter().map(|p| survivor(t, *p)).product();
            first += 2.0 * w * width * dx * StopTime::standardised(z, [sigma, tau]).density * both;
        }
    }
    libm::log(pgf + (1.0 - pgf) * (1.0 - ptf) * first / (kept * go_kept))
}
