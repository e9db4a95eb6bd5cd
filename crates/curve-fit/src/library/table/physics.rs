//! Laws of temperature, frequency, energy and distance.

use super::{Entry, INF, Sample, e};

/// Curves of physics and chemistry.
pub(super) const ENTRIES: &[Entry] = &[
    e(
        "arrhenius",
        &["a", "ea"],
        "a*exp(-ea/(8.314462618*x))",
        "A rate at temperature x in kelvin, with an activation energy ea in J/mol (Arrhenius 1889).",
        |s| {
            let inverse = s.x[0].iter().map(|x| 1.0 / x);
            let line = Sample::line(inverse, s.y.iter().map(|y| y.abs().ln()));
            let (slope, at_zero) = line.unwrap_or((-1.0, 0.0));
            vec![at_zero.exp(), -slope * 8.314_462_618]
        },
    ),
    e(
        "vogel_fulcher",
        &["a", "b", "t0"],
        "a*exp(b/(x - t0))",
        "Viscosity or relaxation time near the glass transition (Vogel 1921, Fulcher 1925).",
        |s| {
            // The line of log y against 1/(x − t₀) that is straightest.
            let (low, _) = s.range(0);
            let fits = (1..40).filter_map(|k| {
                let t0 = low - s.span(0) * 0.05 * f64::from(k);
                let u: Vec<f64> = s.x[0].iter().map(|x| 1.0 / (x - t0)).collect();
                let v: Vec<f64> = s.y.iter().map(|y| y.abs().ln()).collect();
                let (b, a) = Sample::line(u.iter().copied(), v.iter().copied())?;
                let off = u
                    .iter()
                    .zip(&v)
                    .map(|(u, v)| (v - a - b * u).powi(2))
                    .sum::<f64>();
                Some((off, vec![a.exp(), b, t0]))
            });
            let best = fits.min_by(|a, b| a.0.total_cmp(&b.0));
            best.map_or_else(|| vec![1.0, 1.0, 0.0], |(_, found)| found)
        },
    ),
    e(
        "debye_relaxation",
        &["e_inf", "e_s", "tau"],
        "e_inf + (e_s - e_inf)/(1 + (x*tau)^2)",
        "Real part of the permittivity at angular frequency x (Debye 1929).",
        |s| {
            let (first, last) = (s.edge(false), s.edge(true));
            vec![last, first, 1.0 / s.middle().abs().max(1e-6 * s.span(0))]
        },
    ),
    e(
        "debye_loss",
        &["de", "tau"],
        "de*x*tau/(1 + (x*tau)^2)",
        "Imaginary part of the permittivity at angular frequency x (Debye 1929).",
        |s| {
            let (top, at, _) = s.peak(0.0);
            vec![2.0 * top, 1.0 / at.abs().max(1e-6 * s.span(0))]
        },
    ),
    e(
        "fermi_dirac",
        &["a", "mu", "kt"],
        "a*inv_logit((mu - x)/kt)",
        "Occupation at energy x (Fermi 1926, Dirac 1926).",
        |s| vec![s.edge(false), s.middle(), 0.05 * s.span(0)],
    )
    .bounded(&[("kt", 0.0, INF)]),
    e(
        "bose_einstein",
        &["a", "mu", "kt"],
        "a/expm1((x - mu)/kt)",
        "Occupation at energy x above mu (Bose 1924, Einstein 1925).",
        |s| {
            // log(1 + a/y) is a straight line in x; a is tried.
            let (low, high) = s.y_range();
            let size = high.abs().max(low.abs());
            let fits = (-8..9).filter_map(|k| {
                let a = size * 2f64.powi(k);
                let v: Vec<f64> = s.y.iter().map(|y| (a / y).ln_1p()).collect();
                let (slope, at_zero) = Sample::line(s.x[0].iter().copied(), v.into_iter())?;
                let (kt, mu) = (1.0 / slope, -at_zero / slope);
                let f = |x: f64| a / ((x - mu) / kt).exp_m1();
                let off = s.x[0]
                    .iter()
                    .zip(&s.y)
                    .map(|(x, y)| (f(*x) - y).powi(2))
                    .sum::<f64>();
                (off.is_finite() && kt > 0.0).then(|| (off, vec![a, mu, kt]))
            });
            let best = fits.min_by(|a, b| a.0.total_cmp(&b.0));
            best.map_or_else(
                || vec![size, s.range(0).0 - s.span(0), s.span(0)],
                |(_, found)| found,
            )
        },
    )
    .bounded(&[("kt", 0.0, INF)]),
    e(
        "maxwell",
        &["area", "s"],
        "area*sqrt(2/pi)*x^2/s^3*exp(-x^2/(2*s^2))",
        "Speeds of a gas: the Maxwell density times its area, s = sqrt(kT/m).",
        |s| {
            let (top, at, _) = s.peak(0.0);
            let s = (at.abs() / std::f64::consts::SQRT_2).max(1e-6 * s.span(0));
            vec![1.7 * top * s, s]
        },
    ),
    e(
        "planck",
        &["a", "t"],
        "a*x^3/expm1(x/t)",
        "Radiation of a black body at frequency x; t is kT/h in its unit (Planck 1900).",
        |s| {
            let (top, at, _) = s.peak(0.0);
            let t = (at.abs() / 2.82).max(1e-6 * s.span(0));
            vec![top / (1.42 * t.powi(3)), t]
        },
    ),
    e(
        "shockley",
        &["i0", "vt"],
        "i0*expm1(x/vt)",
        "Current of a diode at voltage x (Shockley 1949).",
        |s| {
            let (_, high) = s.y_range();
            let above = |y: &f64| if *y > 0.05 * high { y.ln() } else { f64::NAN };
            let line = Sample::line(s.x[0].iter().copied(), s.y.iter().map(above));
            let (slope, at_zero) = line.unwrap_or((10.0 / s.span(0), 0.0));
            vec![at_zero.exp(), 1.0 / slope]
        },
    ),
    e(
        "lennard_jones",
        &["epsilon", "sigma"],
        "4*epsilon*((sigma/x)^12 - (sigma/x)^6)",
        "Energy of two atoms at distance x (Lennard-Jones 1924).",
        |s| {
            let (at, low) = s.lowest();
            vec![low.abs(), at / 1.122_462]
        },
    ),
    e(
        "morse",
        &["d", "a", "r0", "c"],
        "d*(1 - exp(-a*(x - r0)))^2 + c",
        "Energy of a bond of length x (Morse 1929).",
        |s| {
            let (at, low) = s.lowest();
            let d = (s.edge(true) - low).abs();
            // Where the inner wall is as high as the outer level, exp(a (r₀ − x)) is 2.
            let wall = (at - s.crossing(s.edge(true))).abs().max(1e-2 * s.span(0));
            vec![d, 0.69 / wall, at, low]
        },
    ),
];
