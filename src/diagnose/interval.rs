//! Credible intervals.

use super::ranks::{quantile_of_sorted, sorted};

/// Which interval holds the asked probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interval {
    /// Highest density: the shortest one.
    #[default]
    Hdi,
    /// Equal tails: as much probability below it as above.
    Eti,
}

impl Interval {
    /// Its name in table heads.
    pub fn label(self) -> &'static str {
        match self {
            Interval::Hdi => "HDI",
            Interval::Eti => "ETI",
        }
    }

    /// The interval of ascending draws that holds `probability`.
    pub(crate) fn of_sorted(self, x: &[f64], probability: f64) -> (f64, f64) {
        match self {
            Interval::Hdi => hdi_of_sorted(x, probability),
            Interval::Eti => eti_of_sorted(x, probability),
        }
    }
}

/// Highest-density interval: the shortest between two draws ⌊p S⌋ places apart, the lowest of
/// equally short ones, in the units of `x`. It takes the distribution to have one mode.
///
/// NaN when a draw is NaN, when there are none, or for a probability outside [0, 1].
pub fn hdi(x: &[f64], probability: f64) -> (f64, f64) {
    if x.iter().any(|v| v.is_nan()) {
        return (f64::NAN, f64::NAN);
    }
    hdi_of_sorted(&sorted(x), probability)
}

/// Equal-tailed interval: the quantiles at (1 − p)/2 and 1 − (1 − p)/2, in the units of `x`.
///
/// NaN in the cases of [`hdi`].
pub fn eti(x: &[f64], probability: f64) -> (f64, f64) {
    if x.iter().any(|v| v.is_nan()) {
        return (f64::NAN, f64::NAN);
    }
    eti_of_sorted(&sorted(x), probability)
}

fn hdi_of_sorted(x: &[f64], probability: f64) -> (f64, f64) {
    if x.is_empty() || !(0.0..=1.0).contains(&probability) {
        return (f64::NAN, f64::NAN);
    }
    let apart = ((probability * x.len() as f64).floor() as usize).min(x.len() - 1);
    let mut best = 0;
    let mut shortest = f64::INFINITY;
    for i in 0..x.len() - apart {
        let width = x[i + apart] - x[i];
        if width < shortest {
            (best, shortest) = (i, width);
        }
    }
    (x[best], x[best + apart])
}

fn eti_of_sorted(x: &[f64], probability: f64) -> (f64, f64) {
    let edge = (1.0 - probability) / 2.0;
    (
        quantile_of_sorted(x, edge),
        quantile_of_sorted(x, 1.0 - edge),
    )
}
