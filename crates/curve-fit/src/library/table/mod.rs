//! The table of built-in curves.

mod binding;
mod growth;
mod laws;
mod oscillations;
mod peaks;
mod physics;
mod planes;
mod skewed;
mod steps;

use super::{Entry, Sample};

const INF: f64 = f64::INFINITY;
/// Full width at half height of a Gaussian, in standard deviations.
const FWHM: f64 = 2.354_820_045_030_949_3;

/// A curve of x.
const fn e(
    name: &'static str,
    parameters: &'static [&'static str],
    formula: &'static str,
    about: &'static str,
    start: fn(&Sample) -> Vec<f64>,
) -> Entry {
    Entry {
        name,
        predictors: &["x"],
        parameters,
        formula,
        start,
        bounds: &[],
        about,
    }
}

impl Entry {
    /// The same of other predictors.
    const fn of(self, predictors: &'static [&'static str]) -> Entry {
        Entry { predictors, ..self }
    }

    const fn bounded(self, bounds: &'static [(&'static str, f64, f64)]) -> Entry {
        Entry { bounds, ..self }
    }
}

/// Every built-in curve.
pub static ENTRIES: std::sync::LazyLock<Vec<Entry>> = std::sync::LazyLock::new(|| {
    [
        growth::ENTRIES,
        binding::ENTRIES,
        oscillations::ENTRIES,
        peaks::ENTRIES,
        skewed::ENTRIES,
        steps::ENTRIES,
        physics::ENTRIES,
        laws::THERMAL,
        laws::OPTICAL,
        laws::BINDING,
        planes::ENTRIES,
    ]
    .concat()
});
