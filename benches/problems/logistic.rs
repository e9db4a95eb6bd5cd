//! Data of the logistic benchmark, by the same generator as `logistic.py` beside it.

use super::random::{SplitMix64, checksum};

/// Number of rows.
pub(crate) const N_ROWS: usize = 10_000;
/// Number of columns.
pub(crate) const N_COLUMNS: usize = 25;

/// FNV-1a over entries and outcomes, as `logistic.py --checksum` prints it.
const CHECKSUM: u64 = 0x368c_3770_2517_5a12;
const SEED: u64 = 10_025;

/// The columns, row by row, and the outcomes.
pub(crate) fn rows() -> (Vec<f64>, Vec<f64>) {
    let mut rng = SplitMix64(SEED);
    let truth: [f64; N_COLUMNS] = std::array::from_fn(|k| ((7 * k % 11) as f64 - 5.0) / 10.0);
    let (mut ticks, mut outcomes) = (Vec::new(), Vec::new());
    for _ in 0..N_ROWS {
        let row: [i64; N_COLUMNS] =
            std::array::from_fn(|_| (rng.normal() * 1e3 + 0.5).floor() as i64);
        let eta: f64 = row
            .iter()
            .zip(truth)
            .map(|(&t, b)| t as f64 / 1e3 * b)
            .sum();
        ticks.extend(row);
        outcomes.push(u64::from(rng.uniform() < 1.0 / (1.0 + (-eta).exp())));
    }
    let integers = ticks
        .iter()
        .map(|t| t.cast_unsigned())
        .chain(outcomes.iter().copied());
    assert_eq!(checksum(&integers.collect::<Vec<_>>()), CHECKSUM);
    let x = ticks.iter().map(|&t| t as f64 / 1e3).collect();
    (x, outcomes.iter().map(|&y| y as f64).collect())
}
