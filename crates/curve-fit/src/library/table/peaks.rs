//! Lines and bells that are, or are nearly, symmetric.

use super::{Entry, FWHM, INF, e};

/// Peaks on no background: add what there is, as `gaussian(x, a, m, s) + k*x + c`.
pub(super) const ENTRIES: &[Entry] = &[
    e(
        "gaussian",
        &["a", "mu", "sigma"],
        "a*exp(-(x - mu)^2/(2*sigma^2))",
        "A bell of height a.",
        |s| {
            let (a, mu, width) = s.peak(0.0);
            vec![a, mu, width / FWHM]
        },
    ),
    e(
        "lorentzian",
        &["a", "x0", "gamma"],
        "a/(1 + ((x - x0)/gamma)^2)",
        "A line of height a and half width gamma at half height.",
        |s| {
            let (a, x0, width) = s.peak(0.0);
            vec![a, x0, width / 2.0]
        },
    ),
    e(
        "pseudo_voigt",
        &["a", "x0", "w", "eta"],
        "let u = (x - x0)/w; a*(eta/(1 + 4*u^2) + (1 - eta)*exp(-4*log(2)*u^2))",
        "A Lorentzian and a Gaussian of the same height and full width w (Wertheim 1974).",
        |s| {
            let (a, x0, width) = s.peak(0.0);
            vec![a, x0, width, 0.5]
        },
    ),
    e(
        "voigt",
        &["area", "x0", "sigma", "gamma"],
        "area*voigt_profile(x - x0, sigma, gamma)",
        "A Gaussian line of standard deviation sigma broadened by a Lorentzian of half width gamma, times its area.",
        |s| {
            let (a, x0, width) = s.peak(0.0);
            vec![1.2 * a * width, x0, width / FWHM / 1.5, width / 4.0]
        },
    ),
    e(
        "moffat",
        &["a", "x0", "w", "beta"],
        "a*(1 + ((x - x0)/w)^2)^(-beta)",
        "A line of height a with tails of power 2 beta (Moffat 1969).",
        |s| {
            let (a, x0, width) = s.peak(0.0);
            vec![a, x0, width * 0.9, 2.0]
        },
    ),
    e(
        "pearson7",
        &["a", "x0", "w", "m"],
        "a*(1 + ((x - x0)/w)^2*(2^(1/m) - 1))^(-m)",
        "A line of height a and half width w at half height: Lorentzian for m = 1, Gaussian for large m (Pearson 1916).",
        |s| {
            let (a, x0, width) = s.peak(0.0);
            vec![a, x0, width / 2.0, 2.0]
        },
    ).bounded(&[("m", 0.0, INF)]),
    e(
        "pearson4",
        &["a", "x0", "w", "m", "v"],
        "let u = (x - x0)/w; a*(1 + u^2)^(-m)*exp(-v*atan(u))",
        "A line with tails of power 2 m, skewed by v (Pearson 1895).",
        |s| {
            let (a, x0, _) = s.peak(0.0);
            let [left, right] = s.sides(0.0);
            let v = 2.0 * (left - right) / (left + right);
            vec![a, x0, 0.9 * (left + right), 2.0, v]
        },
    ),
    e(
        "students_t",
        &["a", "x0", "s", "nu"],
        "a*(1 + ((x - x0)/s)^2/nu)^(-(nu + 1)/2)",
        "A line with the shape of the density of t with nu degrees of freedom.",
        |s| {
            let (a, x0, width) = s.peak(0.0);
            vec![a, x0, width / FWHM, 4.0]
        },
    ).bounded(&[("nu", 0.0, INF)]),
    e(
        "sech2",
        &["a", "x0", "w"],
        "a/cosh((x - x0)/w)^2",
        "A soliton or pulse of height a.",
        |s| {
            let (a, x0, width) = s.peak(0.0);
            vec![a, x0, width / 1.763]
        },
    ),
    e(
        "split_gaussian",
        &["a", "x0", "s1", "s2"],
        "let s = where(x < x0, s1, s2); a*exp(-((x - x0)/s)^2/2)",
        "A bell of height a with the widths s1 on the left and s2 on the right.",
        |s| {
            let (a, x0, _) = s.peak(0.0);
            let [left, right] = s.sides(0.0);
            vec![a, x0, left / 1.177, right / 1.177]
        },
    ),
    e(
        "split_lorentzian",
        &["a", "x0", "w1", "w2"],
        "let w = where(x < x0, w1, w2); a/(1 + ((x - x0)/w)^2)",
        "A line of height a with the half widths w1 on the left and w2 on the right.",
        |s| {
            let (a, x0, _) = s.peak(0.0);
            let [left, right] = s.sides(0.0);
            vec![a, x0, left, right]
        },
    ),
];
