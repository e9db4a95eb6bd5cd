//! Data of the grouped mixture benchmark, by the same generator as `mixture.py` beside it.
//!
//! 20,000 response times of 100 subjects, round robin; each time is a whole number of 10 µs.

use super::random::SplitMix64;

/// Number of trials.
pub(crate) const N_TRIALS: usize = 20_000;
/// Number of subjects.
pub(crate) const N_SUBJECTS: usize = 100;
/// FNV-1a over the ticks, as `mixture.py --checksum` prints it.
pub(crate) const CHECKSUM: u64 = 0x7bde_1b1d_a500_76d7;

const SEED: u64 = 20_613;
const SHIFT: f64 = 0.05;
const TRUTH_MEAN: [f64; 6] = [1.0, 0.45, -3.0, -2.0, 0.3, 1.1];
const TRUTH_SD: [f64; 6] = [0.4, 0.05, 0.2, 0.25, 0.15, 0.15];

/// Michael, Schucany and Haas (1976).
fn wald(rng: &mut SplitMix64, threshold: f64, drift: f64) -> f64 {
    let (mean, shape) = (threshold / drift, threshold * threshold);
    let y = rng.normal().powi(2);
    let root = (mean * y * (4.0 * shape + mean * y)).sqrt();
    let x = mean + mean * (mean * y - root) / (2.0 * shape);
    if rng.uniform() <= mean / (mean + x) {
        x
    } else {
        mean * mean / x
    }
}

/// Subject of each trial, and its time in units of 10 µs.
pub(crate) fn ticks() -> (Vec<usize>, Vec<u64>) {
    let mut rng = SplitMix64(SEED);
    let people: Vec<[f64; 6]> = (0..N_SUBJECTS)
        .map(|_| std::array::from_fn(|k| TRUTH_MEAN[k] + TRUTH_SD[k] * rng.normal()))
        .collect();
    let mut ticks = Vec::with_capacity(N_TRIALS);
    for trial in 0..N_TRIALS {
        let [logit, mu, log_sigma, log_tau, log_threshold, log_drift] = people[trial % N_SUBJECTS];
        let mut time = 0.0;
        while !(0.12 < time && time < 10.0) {
            time = if rng.uniform() < 1.0 / (1.0 + (-logit).exp()) {
                let normal = mu + log_sigma.exp() * rng.normal();
                normal - log_tau.exp() * rng.uniform().ln()
            } else {
                SHIFT + wald(&mut rng, log_threshold.exp(), log_drift.exp())
            };
        }
        ticks.push((time * 1e5 + 0.5).floor() as u64);
    }
    ((0..N_TRIALS).map(|t| t % N_SUBJECTS).collect(), ticks)
}
