//! Trials of stop-signal tasks as data.

use fitzroy::data::Dataset;

/// A trial: outcome, rt, ssd.
pub(crate) type Trial = (f64, f64, f64);

/// `y`, `rt` and `ssd` of trials.
pub(crate) fn data(trials: &[Trial]) -> Dataset {
    let mut data = Dataset::new();
    let n = [trials.len()];
    data.insert_real("y", &n, trials.iter().map(|t| t.0).collect());
    data.insert_real("rt", &n, trials.iter().map(|t| t.1).collect());
    data.insert_real("ssd", &n, trials.iter().map(|t| t.2).collect());
    data
}
