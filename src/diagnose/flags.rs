//! Autocovariance of series of 0 and 1, sixty-four of them to a word.

use super::lags::{Autocovariance, Lags};

/// Lags counted word by word before a Fourier transform takes over.
const DIRECT_LAGS: usize = 4096;

/// Rows of flags of equal length.
///
/// With k flags set in a row of n, p = k/n, of which h among the first n − t and l among the last,
/// and c pairs (i, i + t) both set: Σ d_i d_{i+t} = c − p(h + l) + (n − t)p², and c is a shift, an
/// `and` and a count of bits.
pub(crate) struct Flags {
    /// Words of each row, row after row, with one word of zeros behind.
    words: Vec<u64>,
    words_per_row: usize,
    n: usize,
    means: Vec<f64>,
    /// Takes over once a series turned out to need many lags.
    many: Option<Lags>,
}

impl Flags {
    /// Whether `holds` is true of every element of the rows.
    pub(crate) fn new(rows: &[&[f64]], holds: impl Fn(f64) -> bool) -> Self {
        let n = rows[0].len();
        let words_per_row = n.div_ceil(64) + 1;
        let mut words = Vec::with_capacity(rows.len() * words_per_row);
        for row in rows {
            let word = |block: &[f64]| {
                let bits = block.iter().enumerate();
                bits.fold(0, |word, (i, &v)| word | u64::from(holds(v)) << i)
            };
            words.extend(row.chunks(64).map(word));
            words.push(0);
        }
        let means = words.chunks_exact(words_per_row);
        let means = means.map(|row| ones(row) as f64 / n as f64).collect();
        Flags {
            words,
            words_per_row,
            n,
            means,
            many: None,
        }
    }

    /// Whether all flags are the same.
    pub(crate) fn constant(&self) -> bool {
        let first = self.means[0];
        (first == 0.0 || first == 1.0) && self.means.iter().all(|&m| m == first)
    }

    /// Σ d_i d_{i+t} over one row.
    fn sum(&self, row: &[u64], p: f64, lag: usize) -> f64 {
        let (apart, shift) = (lag / 64, lag % 64);
        let mut both = 0;
        for (i, &word) in row[..row.len() - 1 - apart].iter().enumerate() {
            let (low, high) = (row[i + apart], row[i + apart + 1]);
            // Two shifts, for one by 64 is none.
            both += (word & (low >> shift | high << 1 << (63 - shift))).count_ones();
        }
        let all = ones(row);
        let (first, last) = (all - ones_before(row, lag), ones_before(row, self.n - lag));
        let pairs = (self.n - lag) as f64;
        f64::from(both) - p * (first + last) as f64 + pairs * p * p
    }

    fn at(&self, lag: usize) -> f64 {
        let rows = self.words.chunks_exact(self.words_per_row);
        let total: f64 = rows
            .zip(&self.means)
            .map(|(row, &p)| self.sum(row, p, lag))
            .sum();
        total / (self.n * self.means.len()) as f64
    }

    /// The flags as numbers, for a transform.
    fn expanded(&self) -> Lags {
        let flag = |row: &[u64], i: usize| f64::from((row[i / 64] >> (i % 64) & 1) as u8);
        let rows = self.words.chunks_exact(self.words_per_row);
        let rows: Vec<Vec<f64>> = rows
            .map(|row| (0..self.n).map(|i| flag(row, i)).collect())
            .collect();
        Lags::new(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }
}

impl Autocovariance for Flags {
    fn at_zero(&self) -> f64 {
        self.at(0)
    }

    fn pair(&mut self, lag: usize) -> [f64; 2] {
        if lag < DIRECT_LAGS {
            return [self.at(lag), self.at(lag + 1)];
        }
        if self.many.is_none() {
            self.many = Some(self.expanded());
        }
        let many = self.many.as_mut().expect("it was just made");
        many.pair(lag)
    }

    fn row_means(&self) -> &[f64] {
        &self.means
    }
}

fn ones(words: &[u64]) -> u64 {
    words.iter().map(|w| u64::from(w.count_ones())).sum()
}

/// Flags set among the first `n`.
fn ones_before(words: &[u64], n: usize) -> u64 {
    let (whole, rest) = (n / 64, n % 64);
    let part = words[whole] & !(u64::MAX << rest);
    ones(&words[..whole]) + u64::from(part.count_ones())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    /// Bound: rounding of sums of 2,000 numbers of size 1, 1e-13. Catches: a shift across words
    /// that loses a bit, flags at the ends counted for the wrong side.
    #[test]
    fn flags_have_the_autocovariance_of_their_numbers() {
        for n in [4, 63, 64, 65, 130, 500] {
            let mut rng = Rng::new(5, 0, 0, n as u32, Purpose::Test);
            let draws: Vec<f64> = (0..3 * n).map(|_| rng.uniform()).collect();
            let rows: Vec<&[f64]> = draws.chunks_exact(n).collect();
            let mut flags = Flags::new(&rows, |v| v < 0.2);
            let numbers: Vec<f64> = draws
                .iter()
                .map(|&v| f64::from(u8::from(v < 0.2)))
                .collect();
            let mut plain = Lags::new(&numbers.chunks_exact(n).collect::<Vec<_>>());
            assert!((flags.at_zero() - plain.at_zero()).abs() < 1e-13);
            for lag in (0..n - 1).step_by(2) {
                let (a, b) = (flags.pair(lag), plain.pair(lag));
                assert!((a[0] - b[0]).abs() < 1e-13, "{n} {lag}: {a:?} {b:?}");
                assert!((a[1] - b[1]).abs() < 1e-13, "{n} {lag}: {a:?} {b:?}");
            }
        }
    }
}
