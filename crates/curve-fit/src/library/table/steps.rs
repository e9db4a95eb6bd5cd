//! Steps.

use super::{Entry, INF, e};

/// Steps from one level to another.
pub(super) const ENTRIES: &[Entry] = &[
    e(
        "sigmoid",
        &["l", "x0", "k", "b"],
        "l*inv_logit(k*(x - x0)) + b",
        "A step of height l at x0, steepness k.",
        |s| {
            let (first, last) = (s.edge(false), s.edge(true));
            vec![last - first, s.middle(), 8.0 / s.span(0), first]
        },
    ),
    e(
        "erf_step",
        &["a", "x0", "w", "c"],
        "a*0.5*(1 + erf((x - x0)/w)) + c",
        "A step of height a blurred by a Gaussian.",
        |s| {
            let (first, last) = (s.edge(false), s.edge(true));
            vec![last - first, s.middle(), 0.2 * s.span(0), first]
        },
    ),
    e(
        "linear_step",
        &["a", "x0", "w", "c"],
        "a*clip((x - x0)/w + 0.5, 0, 1) + c",
        "A step of height a that is a ramp of width w.",
        |s| {
            let (first, last) = (s.edge(false), s.edge(true));
            let at = |part: f64| s.crossing(first + part * (last - first));
            let w = 2.0 * (at(0.75) - at(0.25)).abs().max(1e-3 * s.span(0));
            vec![last - first, at(0.5), w, first]
        },
    )
    .bounded(&[("w", 0.0, INF)]),
    e(
        "atan_step",
        &["a", "x0", "w", "c"],
        "a*(0.5 + atan((x - x0)/w)/pi) + c",
        "A step of height a blurred by a Lorentzian.",
        |s| {
            let (first, last) = (s.edge(false), s.edge(true));
            vec![last - first, s.middle(), 0.05 * s.span(0), first]
        },
    ),
    e(
        "rectangle",
        &["a", "x1", "w1", "x2", "w2", "c"],
        "a*0.5*(erf((x - x1)/w1) - erf((x - x2)/w2)) + c",
        "A step up at x1 and down at x2, each blurred by a Gaussian.",
        |s| {
            let c = 0.5 * (s.edge(false) + s.edge(true));
            let (a, top, _) = s.peak(c);
            let [left, right] = s.sides(c);
            let w = 0.1 * (left + right);
            vec![a, top - left, w, top + right, w, c]
        },
    )
    .bounded(&[("w1", 0.0, INF), ("w2", 0.0, INF)]),
];
