//! Oscillations in time, and resonance.

use super::{Entry, e};

/// Waves.
pub(super) const ENTRIES: &[Entry] = &[
    e(
        "damped_sine",
        &["a", "b", "w", "p", "c"],
        "a*exp(-b*x)*sin(w*x + p) + c",
        "An oscillation of angular frequency w that decays at rate b.",
        |s| {
            let (low, high) = s.y_range();
            let mean = s.y.iter().sum::<f64>() / s.y.len() as f64;
            vec![
                (high - low) / 2.0,
                1.0 / s.span(0),
                s.frequency(),
                0.0,
                mean,
            ]
        },
    ),
    e(
        "sine",
        &["a", "w", "p", "c"],
        "a*sin(w*x + p) + c",
        "An oscillation of angular frequency w.",
        |s| {
            let (low, high) = s.y_range();
            let w = s.frequency();
            let p = s.phase(w);
            vec![(high - low) / 2.0, w, p, (high + low) / 2.0]
        },
    ),
    e(
        "damped_oscillator",
        &["a", "x0", "sigma"],
        "a/sqrt((1 - (x/x0)^2)^2 + (2*sigma*x/x0)^2)",
        "Amplitude of an oscillator driven at x, with resonance at x0 and damping sigma.",
        |s| {
            let (top, at, width) = s.peak(0.0);
            let sigma = (width / at.abs().max(1e-9) / 3.5).max(1e-3);
            vec![2.0 * sigma * top, at, sigma]
        },
    ),
];
