//! Lines, powers, decay and growth.

use super::{Entry, INF, Sample, e};

/// Curves without a place, or with the place of a rise.
pub(super) const ENTRIES: &[Entry] = &[
    e("linear", &["a", "b"], "a*x + b", "A straight line.", |s| {
        let line = Sample::line(s.x[0].iter().copied(), s.y.iter().copied());
        let (slope, at_zero) = line.unwrap_or((0.0, s.y[0]));
        vec![slope, at_zero]
    }),
    e(
        "exponential_decay",
        &["a", "b", "c"],
        "a*exp(-b*x) + c",
        "Decay at rate b towards c.",
        |s| {
            let (a, b, c) = s.decay();
            vec![a, b, c]
        },
    ),
    e(
        "exponential_growth",
        &["a", "b", "c"],
        "a*exp(b*x) + c",
        "Growth at rate b from c.",
        |s| {
            let (a, b, c) = s.decay();
            vec![a, -b, c]
        },
    ),
    e(
        "double_exponential",
        &["a1", "b1", "a2", "b2"],
        "a1*exp(-b1*x) + a2*exp(-b2*x)",
        "Two decays side by side.",
        |s| {
            let b = 3.0 / s.span(0);
            let half = s.edge(false) / 2.0;
            vec![half, 3.0 * b, half, b / 3.0]
        },
    ),
    e(
        "stretched_exponential",
        &["a", "tau", "beta", "c"],
        "a*exp(-(x/tau)^beta) + c",
        "Relaxation with a spread of rates, x > 0 (Kohlrausch 1854).",
        |s| {
            let (a, b, c) = s.decay();
            vec![a, 1.0 / b, 0.9, c]
        },
    )
    .bounded(&[("tau", 0.0, INF), ("beta", 0.0, INF)]),
    e(
        "power_law",
        &["a", "b"],
        "a*x^b",
        "A power of x > 0.",
        |s| {
            let logs = s.x[0].iter().map(|x| x.ln());
            let line = Sample::line(logs, s.y.iter().map(|y| y.abs().ln()));
            let (b, a) = line.unwrap_or((1.0, 0.0));
            let sign = if s.y[s.y.len() / 2] < 0.0 { -1.0 } else { 1.0 };
            vec![sign * a.exp(), b]
        },
    ),
    e(
        "power_law_offset",
        &["a", "b", "c"],
        "a*x^b + c",
        "A power of x > 0 on a level.",
        |s| {
            let (first, last) = (s.edge(false), s.edge(true));
            let (low, high) = s.range(0);
            // The power that joins the edges through the middle.
            let at = (low.max(1e-9 * high) * high).sqrt();
            let bent = (s.near(at) - first) / (last - first);
            let b = 2.0 * (1.0 / bent.clamp(0.02, 0.98) - 1.0).ln()
                / (high / low.max(1e-3 * high)).ln();
            let b = if b.abs() < 0.05 { 0.5 } else { b };
            let a = (last - first) / (high.powf(b) - low.max(1e-9 * high).powf(b));
            vec![a, b, last - a * high.powf(b)]
        },
    ),
    e(
        "logarithm",
        &["a", "b"],
        "a*log(x) + b",
        "A logarithm of x > 0.",
        |s| {
            let logs = s.x[0].iter().map(|x| x.ln());
            let (a, b) = Sample::line(logs, s.y.iter().copied()).unwrap_or((1.0, 0.0));
            vec![a, b]
        },
    ),
    e(
        "gompertz",
        &["a", "x0", "k"],
        "a*exp(-exp(-k*(x - x0)))",
        "Growth to a with the steepest slope at x0 (Gompertz 1825).",
        |s| {
            let a = s.edge(true);
            vec![a, s.crossing(a * (-1.0f64).exp()), 5.0 / s.span(0)]
        },
    ),
    e(
        "richards",
        &["a", "x0", "k", "nu"],
        "a*(1 + nu*exp(-k*(x - x0)))^(-1/nu)",
        "Growth to a between the logistic (nu = 1) and Gompertz (nu to 0) curves (Richards 1959).",
        |s| {
            let a = s.edge(true);
            vec![a, s.crossing(a / 2.0), 6.0 / s.span(0), 1.0]
        },
    )
    .bounded(&[("nu", 0.0, INF)]),
    e(
        "weibull_growth",
        &["a", "tau", "k", "c"],
        "a*(1 - exp(-(x/tau)^k)) + c",
        "Growth by a from c in a time tau, x > 0 (Weibull 1951).",
        |s| {
            let (first, last) = (s.edge(false), s.edge(true));
            let tau = s.crossing(first + 0.632 * (last - first));
            vec![last - first, tau.max(1e-3 * s.span(0)), 1.5, first]
        },
    )
    .bounded(&[("tau", 0.0, INF), ("k", 0.0, INF)]),
];
