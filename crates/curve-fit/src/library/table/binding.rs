//! Enzymes, adsorption, doses.

use super::{Entry, INF, Sample, e};

/// Curves of concentration, pressure or dose.
pub(super) const ENTRIES: &[Entry] = &[
    e(
        "michaelis_menten",
        &["vmax", "km"],
        "vmax*x/(km + x)",
        "Rate of an enzyme at concentration x (Michaelis and Menten 1913).",
        |s| {
            let (_, high) = s.y_range();
            let reached = |i: &usize| s.y[*i] >= high / 2.0;
            let at = (0..s.y.len()).find(reached).unwrap_or(0);
            vec![1.2 * high, s.x[0][at].abs().max(1e-3 * s.span(0))]
        },
    ),
    e(
        "haldane",
        &["vmax", "km", "ki"],
        "vmax*x/(km + x + x^2/ki)",
        "Rate of an enzyme that its substrate inhibits (Haldane 1930).",
        |s| {
            let (top, at, _) = s.peak(0.0);
            let km = s.crossing(top / 2.0).abs().max(1e-3 * s.span(0));
            vec![2.0 * top, km, (at * at / km).max(1e-3 * s.span(0))]
        },
    ),
    e(
        "hill",
        &["ymax", "k", "n"],
        "ymax*x^n/(k^n + x^n)",
        "Binding with cooperativity n at concentration x > 0 (Hill 1910).",
        |s| {
            let k = s.middle().abs().max(1e-3 * s.span(0));
            vec![s.y_range().1, k, 1.0]
        },
    ),
    e(
        "langmuir",
        &["qmax", "k"],
        "qmax*k*x/(1 + k*x)",
        "Adsorption in one layer at pressure or concentration x (Langmuir 1918).",
        |s| {
            let (_, high) = s.y_range();
            vec![1.2 * high, 1.0 / s.half_reached()]
        },
    ),
    e(
        "freundlich",
        &["k", "n"],
        "k*x^(1/n)",
        "Adsorption on an uneven surface, x > 0 (Freundlich 1907).",
        |s| {
            let logs = s.x[0].iter().map(|x| x.ln());
            let line = Sample::line(logs, s.y.iter().map(|y| y.abs().ln()));
            let (slope, k) = line.unwrap_or((0.5, 0.0));
            vec![k.exp(), 1.0 / slope]
        },
    ),
    e(
        "sips",
        &["qmax", "k", "n"],
        "qmax*(k*x)^n/(1 + (k*x)^n)",
        "Adsorption between Langmuir and Freundlich, x > 0 (Sips 1948).",
        |s| {
            let (_, high) = s.y_range();
            vec![1.2 * high, 1.0 / s.half_reached(), 1.0]
        },
    ),
    e(
        "bet",
        &["vm", "c"],
        "vm*c*x/((1 - x)*(1 + (c - 1)*x))",
        "Adsorption in many layers at relative pressure x (Brunauer, Emmett and Teller 1938).",
        |s| {
            // x/(v(1 − x)) is a straight line in x.
            let v = s.x[0].iter().zip(&s.y).map(|(x, y)| x / (y * (1.0 - x)));
            let line = Sample::line(s.x[0].iter().copied(), v);
            let (slope, at_zero) = line.unwrap_or((1.0, 0.1));
            vec![1.0 / (slope + at_zero), 1.0 + slope / at_zero]
        },
    ),
    e(
        "logistic4",
        &["a", "d", "c", "b"],
        "d + (a - d)/(1 + (x/c)^b)",
        "The four-parameter logistic of assays: a at 0, d at infinity, x > 0.",
        |s| {
            let c = s.middle().abs().max(1e-3 * s.span(0));
            vec![s.edge(false), s.edge(true), c, 1.5]
        },
    ),
    e(
        "logistic5",
        &["a", "d", "c", "b", "g"],
        "d + (a - d)/(1 + (x/c)^b)^g",
        "The five-parameter logistic: logistic4 with unequal sides, x > 0.",
        |s| {
            let c = s.middle().abs().max(1e-3 * s.span(0));
            vec![s.edge(false), s.edge(true), c, 1.5, 1.0]
        },
    )
    .bounded(&[("c", 0.0, INF), ("g", 0.0, INF)]),
    e(
        "dose_response",
        &["bottom", "top", "logec50", "hill"],
        "bottom + (top - bottom)/(1 + 10^((logec50 - x)*hill))",
        "Response to a dose whose logarithm to base 10 is x.",
        |s| {
            let (first, last) = (s.edge(false), s.edge(true));
            vec![first, last, s.middle(), 4.0 / s.span(0)]
        },
    ),
];
