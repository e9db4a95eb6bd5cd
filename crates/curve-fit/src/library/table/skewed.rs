//! Peaks with unequal sides.

use super::{Entry, FWHM, INF, e};

/// Skewed peaks.
pub(super) const ENTRIES: &[Entry] = &[
    e(
        "exgaussian",
        &["area", "mu", "sigma", "tau"],
        "let t = (sigma/tau - (x - mu)/sigma)/sqrt(2); area/(2*tau)*where(t < 0, exp((sigma/tau)^2/2 - (x - mu)/tau)*erfc(t), exp(-((x - mu)/sigma)^2/2)*erfcx(t))",
        "A Gaussian with an exponential tail of time tau, times its area (Grushka 1972).",
        |s| {
            let (a, mu, width) = s.peak(0.0);
            vec![a * width, mu - width / 4.0, width / FWHM / 1.5, width / 2.0]
        },
    ).bounded(&[("sigma", 0.0, INF), ("tau", 0.0, INF)]),
    e(
        "skewed_gaussian",
        &["a", "x0", "sigma", "alpha"],
        "let u = (x - x0)/sigma; a*exp(-u^2/2)*(1 + erf(alpha*u/sqrt(2)))",
        "A bell skewed by alpha; a is the height for alpha = 0.",
        |s| {
            let (a, x0, _) = s.peak(0.0);
            let [left, right] = s.sides(0.0);
            let wide = (left + right) / 1.6;
            let skew = if right < left { -1.0 } else { 1.0 };
            vec![a, x0 - 0.6 * skew * wide, 0.7 * wide, 2.0 * skew]
        },
    ),
    e(
        "skewed_voigt",
        &["area", "x0", "sigma", "gamma", "skew"],
        "area*voigt_profile(x - x0, sigma, gamma)*(1 + erf(skew*(x - x0)/(sigma*sqrt(2))))",
        "A Voigt profile skewed by skew, times its area.",
        |s| {
            let (a, x0, _) = s.peak(0.0);
            let [left, right] = s.sides(0.0);
            let width = left + right;
            let skew = if right < left { -1.0 } else { 1.0 };
            vec![a * width, x0 - 0.3 * skew * width, 0.4 * width, width / 4.0, skew]
        },
    ),
    e(
        "fano",
        &["a", "x0", "w", "q", "c"],
        "let u = 2*(x - x0)/w; a*(q + u)^2/(1 + u^2) + c",
        "A resonance of full width w that interferes with a continuum (Fano 1961); the Breit-Wigner-Fano line of lmfit.",
        |s| {
            let (low, high) = s.y_range();
            let level = 0.5 * (s.edge(false) + s.edge(true));
            let (up, down) = (high - level, level - low);
            let q = (up / down.max(1e-3 * up)).sqrt().clamp(0.05, 20.0);
            let [dip, summit] = s.extremes();
            // They are at u = −q and 1/q.
            let sign = if dip < summit { 1.0 } else { -1.0 };
            let w = 2.0 * (summit - dip).abs() / (q + 1.0 / q);
            let w = w.max(1e-3 * s.span(0));
            let x0 = dip + sign * q * w / 2.0;
            vec![(high - low) / (1.0 + q * q), x0, w, sign * q, low]
        },
    ),
    e(
        "breit_wigner",
        &["a", "m", "g"],
        "a*(m*g)^2/((x^2 - m^2)^2 + (m*g)^2)",
        "A resonance of mass m and width g at energy x, relativistic, of height a.",
        |s| {
            let (a, x0, width) = s.peak(0.0);
            vec![a, x0, width]
        },
    ),
    e(
        "doniach",
        &["a", "x0", "w", "alpha"],
        "let u = (x - x0)/w; a*cos(pi*alpha/2 + (1 - alpha)*atan(u))/(1 + u^2)^((1 - alpha)/2)",
        "A photoelectron line of asymmetry alpha (Doniach and Sunjic 1970).",
        |s| {
            let (a, x0, _) = s.peak(0.0);
            let [left, right] = s.sides(0.0);
            let width = left + right;
            vec![a, x0, width / 2.0, 0.1]
        },
    ),
    e(
        "lognormal",
        &["area", "mu", "sigma"],
        "area/(x*sigma*sqrt(2*pi))*exp(-((log(x) - mu)/sigma)^2/2)",
        "The log-normal density times its area, x > 0.",
        |s| {
            let (a, x0, _) = s.peak(0.0);
            let [left, right] = s.sides(0.0);
            let sigma = ((left + right) / x0.abs().max(1e-9) / FWHM).clamp(0.05, 1.5);
            vec![a * (left + right), x0.abs().max(1e-9).ln(), sigma]
        },
    ),
    e(
        "weibull",
        &["area", "scale", "k"],
        "area*k/scale*(x/scale)^(k - 1)*exp(-(x/scale)^k)",
        "The Weibull density times its area, x > 0.",
        |s| {
            let (a, x0, _) = s.peak(0.0);
            let [left, right] = s.sides(0.0);
            vec![a * (left + right), x0.abs().max(1e-9), 2.0]
        },
    ).bounded(&[("scale", 0.0, INF), ("k", 0.0, INF)]),
    e(
        "double_sigmoid",
        &["a", "x0", "w1", "w2", "w3"],
        "a/(1 + exp(-(x - x0 + w1/2)/w2))*(1 - 1/(1 + exp(-(x - x0 - w1/2)/w3)))",
        "A rise and a fall at distance w1 with their own widths.",
        |s| {
            let (a, x0, _) = s.peak(0.0);
            let [left, right] = s.sides(0.0);
            vec![a, x0, 0.9 * (left + right), left / 3.0, right / 3.0]
        },
    ),
    e(
        "bateman",
        &["a", "ka", "ke"],
        "a*ka/(ka - ke)*(exp(-ke*x) - exp(-ka*x))",
        "Concentration after a dose that enters at rate ka and leaves at rate ke (Bateman 1910).",
        |s| {
            let (top, at, _) = s.peak(0.0);
            let ke = 1.0 / s.span(0) * (top / s.edge(true).abs().max(1e-3 * top.abs())).abs().ln().max(1.0);
            let ka = 2.5 / at.abs().max(1e-3 * s.span(0));
            vec![1.3 * top, ka.max(1.5 * ke), ke]
        },
    ),
];
