//! Curves of two predictors.

use super::{Entry, INF, Sample, e};

/// Spots.
pub(super) fn entries() -> Vec<Entry> {
    let round = |s: &Sample| {
        let (low, high) = s.y_range();
        let top = (0..s.y.len())
            .max_by(|&a, &b| s.y[a].total_cmp(&s.y[b]))
            .unwrap_or(0);
        let width = s.span(0).min(s.span(1)) / 5.0;
        vec![high - low, s.x[0][top], s.x[1][top], width, low]
    };
    let mut flat = e(
        "gaussian2d",
        &["a", "x0", "y0", "sigma", "c"],
        "a*exp(-((x - x0)^2 + (y - y0)^2)/(2*sigma^2)) + c",
        "A round spot on a background.",
        round,
    );
    flat.predictors = &["x", "y"];
    let mut turned = e(
        "gaussian2d_rotated",
        &["a", "x0", "y0", "sx", "sy", "angle", "c"],
        "let u = (x - x0)*cos(angle) + (y - y0)*sin(angle); \
         let v = (y - y0)*cos(angle) - (x - x0)*sin(angle); \
         a*exp(-(u/sx)^2/2 - (v/sy)^2/2) + c",
        "A spot with two widths, turned by an angle.",
        |s| {
            let (low, high) = s.y_range();
            let top = (0..s.y.len())
                .max_by(|&a, &b| s.y[a].total_cmp(&s.y[b]))
                .unwrap_or(0);
            let (x0, y0) = (s.x[0][top], s.x[1][top]);
            vec![
                high - low,
                x0,
                y0,
                s.span(0) / 5.0,
                s.span(1) / 7.0,
                0.1,
                low,
            ]
        },
    );
    turned.predictors = &["x", "y"];
    let mut all = vec![flat, turned];
    for entry in &mut all {
        entry.bounds = match entry.name {
            "gaussian2d" => &[("sigma", 0.0, INF)],
            _ => &[("sx", 0.0, INF), ("sy", 0.0, INF)],
        };
    }
    all
}
