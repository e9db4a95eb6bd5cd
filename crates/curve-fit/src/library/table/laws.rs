//! Laws of heat, light, magnets, vapour and binding.

use super::{Entry, INF, Sample, e};

/// Bounds of a temperature or a width.
const THETA: &[(&str, f64, f64)] = &[("theta", 0.0, INF)];

/// x at which a curve that rises to a level reaches half of it, and the level.
fn half(s: &Sample) -> (f64, f64) {
    (s.half_reached(), s.edge(true))
}

/// Heat and magnets.
pub(super) const THERMAL: &[Entry] = &[
    e(
        "debye_heat",
        &["a", "theta"],
        // Gauss and Legendre's rule of 20 points for 3∫s²E(us)ds up to where E is 0 but for 1e-11.
        "let u = theta/x; let k = min(1, 30/u); let h = u*k/2;
             3*a*k^3*(
             1.0395819854639982e-07*(0.003435700407452502*h/sinh(0.003435700407452502*h))^2
             + 6.587693761193703e-06*(0.018014036361043095*h/sinh(0.018014036361043095*h))^2
             + 6.034374714643751e-05*(0.04388278587433703*h/sinh(0.04388278587433703*h))^2
             + 0.0002694351181830269*(0.08044151408889061*h/sinh(0.08044151408889061*h))^2
             + 0.0008198685695246175*(0.1268340467699246*h/sinh(0.1268340467699246*h))^2
             + 0.001956960507001175*(0.1819731596367425*h/sinh(0.1819731596367425*h))^2
             + 0.003938331282585666*(0.24456649902458644*h/sinh(0.24456649902458644*h))^2
             + 0.0069670444124860075*(0.3131469556422902*h/sinh(0.3131469556422902*h))^2
             + 0.011119255429742094*(0.38610707442917747*h/sinh(0.38610707442917747*h))^2
             + 0.016283573432947927*(0.46173673943325133*h/sinh(0.46173673943325133*h))^2
             + 0.02212841608718434*(0.5382632605667487*h/sinh(0.5382632605667487*h))^2
             + 0.028109003275243724*(0.6138929255708225*h/sinh(0.6138929255708225*h))^2
             + 0.03351813503001169*(0.6868530443577098*h/sinh(0.6868530443577098*h))^2
             + 0.03757602124034438*(0.7554335009754136*h/sinh(0.7554335009754136*h))^2
             + 0.03954599405493699*(0.8180268403632576*h/sinh(0.8180268403632576*h))^2
             + 0.03885671889398105*(0.8731659532300754*h/sinh(0.8731659532300754*h))^2
             + 0.03520889872571599*(0.9195584859111094*h/sinh(0.9195584859111094*h))^2
             + 0.028646143836849037*(0.956117214125663*h/sinh(0.956117214125663*h))^2
             + 0.019575906961219917*(0.981985963638957*h/sinh(0.981985963638957*h))^2
             + 0.00874659107626914*(0.9965642995925474*h/sinh(0.9965642995925474*h))^2)",
        "Heat capacity of a solid at temperature x: a at high ones, 3R for a mole of atoms (Debye 1912).",
        |s| {
            let (x, high) = half(s);
            vec![high, 4.0 * x]
        },
    )
    .bounded(THETA),
    e(
        "einstein_heat",
        &["a", "theta"],
        "let h = theta/(2*x); a*(h/sinh(h))^2",
        "Heat capacity of oscillators of one frequency at temperature x: a at high ones (Einstein 1907).",
        |s| {
            let (x, high) = half(s);
            vec![high, 3.0 * x]
        },
    )
    .bounded(THETA),
    e(
        "antoine",
        &["a", "b", "c"],
        "10^(a - b/(c + x))",
        "Vapour pressure at temperature x (Antoine 1888).",
        |s| {
            // log₁₀ y = a − b/(c + x), the straightest of some c.
            let (low, high) = s.range(0);
            let v: Vec<f64> = s.y.iter().map(|y| y.abs().log10()).collect();
            let fits = (0..60).filter_map(|k| {
                let c = 0.1 * (high - low) * 1.12f64.powi(k) - low;
                let u: Vec<f64> = s.x[0].iter().map(|x| 1.0 / (c + x)).collect();
                let (b, a) = Sample::line(u.iter().copied(), v.iter().copied())?;
                let off = u.iter().zip(&v).map(|(u, v)| (v - a - b * u).powi(2));
                Some((off.sum::<f64>(), vec![a, -b, c]))
            });
            let best = fits.min_by(|a, b| a.0.total_cmp(&b.0));
            best.map_or_else(|| vec![1.0, 1.0, 1.0], |(_, found)| found)
        },
    ),
    e(
        "langevin",
        &["m", "h"],
        "let u = x/h; m*where(abs(u) < 0.01, u/3*(1 - u^2/15), 1/tanh(u) - 1/u)",
        "Magnetisation of free moments in a field x; h is the field at which their energy is kT (Langevin 1905).",
        |s| {
            let (low, high) = s.y_range();
            let m = if high.abs() > low.abs() { high } else { low };
            vec![m, s.span(0) / 12.0]
        },
    )
    .bounded(&[("h", 0.0, INF)]),
];

/// Light and vapour.
pub(super) const OPTICAL: &[Entry] = &[
    e(
        "cauchy_dispersion",
        &["a", "b", "c"],
        "a + b/x^2 + c/x^4",
        "Refractive index at wavelength x (Cauchy 1836).",
        |s| vec![s.edge(true), 0.0, 0.0],
    ),
    e(
        "cole_cole",
        &["e_inf", "e_s", "tau", "alpha"],
        "let p = (x*tau)^(1 - alpha); let s = sin(pi*alpha/2);
             e_inf + (e_s - e_inf)*(1 + p*s)/(1 + 2*p*s + p^2)",
        "Real part of the permittivity at angular frequency x, with a spread of times: Debye's for alpha = 0 \
         (Cole and Cole 1941).",
        |s| {
            let (first, last) = (s.edge(false), s.edge(true));
            let tau = 1.0 / s.middle().abs().max(1e-6 * s.span(0));
            vec![last, first, tau, 0.1]
        },
    )
    .bounded(&[("tau", 0.0, INF), ("alpha", 0.0, 0.999)]),
    e(
        "damped_harmonic",
        &["a", "x0", "gamma", "kt"],
        "a*gamma*(1/((x - x0)^2 + gamma^2) - 1/((x + x0)^2 + gamma^2))/(1 - exp(-x/kt))",
        "Spectrum of a damped harmonic oscillator at energy x above 0, with the occupation at kt; lmfit's, whose \
         amplitude is pi times a.",
        |s| {
            let (top, at, width) = s.peak(0.0);
            let gamma = 0.5 * width;
            let kt = 0.5 * at.abs().max(1e-9 * s.span(0));
            vec![top * gamma * -(-at.abs() / kt).exp_m1(), at, gamma, kt]
        },
    )
    .bounded(&[("gamma", 0.0, INF), ("kt", 0.0, INF)]),
    e(
        "gumbel",
        &["a", "x0", "w"],
        "let u = (x - x0)/w; a*exp(1 - u - exp(-u))",
        "The density of the greatest of many, of height a at x0 (Gumbel 1935); Extreme of Origin.",
        |s| {
            let (top, at, width) = s.peak(0.0);
            vec![top, at, width / 2.446]
        },
    )
    .bounded(&[("w", 0.0, INF)]),
];

/// Binding.
pub(super) const BINDING: &[Entry] = &[
    e(
        "exponential_rise",
        &["a", "b", "c"],
        "a*(1 - exp(-b*x)) + c",
        "A rise by a from c at rate b; the association of Origin.",
        |s| {
            let (amplitude, rate, level) = s.decay();
            vec![-amplitude, rate, level + amplitude]
        },
    ),
    e(
        "boltzmann",
        &["a1", "a2", "x0", "dx"],
        "a2 + (a1 - a2)*inv_logit((x0 - x)/dx)",
        "A step from a1 to a2 at x0, dx wide, as Origin has it.",
        |s| {
            let width = 0.1 * s.span(0);
            vec![s.edge(false), s.edge(true), s.middle(), width]
        },
    ),
    e(
        "two_sites",
        &["b1", "k1", "b2", "k2"],
        "b1*x/(k1 + x) + b2*x/(k2 + x)",
        "Binding to two kinds of sites at concentration x.",
        |s| {
            let (x, high) = half(s);
            vec![0.5 * high, 0.2 * x, 0.6 * high, 4.0 * x]
        },
    )
    .bounded(&[("k1", 0.0, INF), ("k2", 0.0, INF)]),
    e(
        "morrison",
        &["v0", "e", "k"],
        "let s = e + x + k; v0*(1 - 2*x/(s + sqrt(s^2 - 4*e*x)))",
        "Rate at inhibitor concentration x that binds tightly to enzyme e with the constant k (Morrison 1969).",
        |s| {
            let first = s.edge(false);
            let x = s.crossing(0.5 * first).abs().max(1e-3 * s.span(0));
            vec![first, x, 0.5 * x]
        },
    )
    .bounded(&[("e", 0.0, INF), ("k", 0.0, INF)]),
];
