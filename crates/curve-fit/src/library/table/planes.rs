//! Curves of two predictors.

use super::{Entry, INF, Sample, e};

/// The highest value: how far it stands above the lowest one, where it is, and the lowest one.
fn top(s: &Sample) -> (f64, [f64; 2], f64) {
    let (low, high) = s.y_range();
    let top = (0..s.y.len())
        .max_by(|&a, &b| s.y[a].total_cmp(&s.y[b]))
        .unwrap_or(0);
    (high - low, [s.x[0][top], s.x[1][top]], low)
}

/// Spots.
pub(super) const ENTRIES: &[Entry] = &[
    e(
        "gaussian2d",
        &["a", "x0", "y0", "sigma", "c"],
        "a*exp(-((x - x0)^2 + (y - y0)^2)/(2*sigma^2)) + c",
        "A round spot on a background.",
        |s| {
            let (height, [x0, y0], low) = top(s);
            let width = s.span(0).min(s.span(1)) / 5.0;
            vec![height, x0, y0, width, low]
        },
    )
    .of(&["x", "y"])
    .bounded(&[("sigma", 0.0, INF)]),
    e(
        "gaussian2d_rotated",
        &["a", "x0", "y0", "sx", "sy", "angle", "c"],
        "let u = (x - x0)*cos(angle) + (y - y0)*sin(angle); \
         let v = (y - y0)*cos(angle) - (x - x0)*sin(angle); \
         a*exp(-(u/sx)^2/2 - (v/sy)^2/2) + c",
        "A spot with two widths, turned by an angle.",
        |s| {
            let (height, [x0, y0], low) = top(s);
            let widths = [s.span(0) / 5.0, s.span(1) / 7.0];
            vec![height, x0, y0, widths[0], widths[1], 0.1, low]
        },
    )
    .of(&["x", "y"])
    .bounded(&[("sx", 0.0, INF), ("sy", 0.0, INF)]),
];
