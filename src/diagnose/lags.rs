//! Autocovariance by lag: summed directly while lags are few, by Fourier transform when many.

use super::chains::{dot_two, mean, sum};

/// Autocovariances of rows of equal length, by lag, see [`Lags`].
pub(crate) trait Autocovariance {
    /// a_0.
    fn at_zero(&self) -> f64;
    /// a_t and a_{t+1}, for t + 1 below the length of a row.
    fn pair(&mut self, lag: usize) -> [f64; 2];
    /// The mean of every row.
    fn row_means(&self) -> &[f64];
}

/// Autocovariances a_t = mean over rows of (1/n) Σ_i d_i d_{i+t} with d = x − row mean.
///
/// Most series need a few dozen lags; the caller asks one by one and stops when it has enough.
pub(crate) struct Lags {
    /// Rows without their means, row after row.
    centred: Vec<f64>,
    /// The mean of every row.
    means: Vec<f64>,
    n: usize,
    direct_limit: usize,
    /// Every lag, once a series turned out to need many.
    all: Vec<f64>,
}

impl Lags {
    /// Prepares the rows, which are of equal length.
    pub(crate) fn new(rows: &[&[f64]]) -> Self {
        let n = rows[0].len();
        let mut centred = Vec::with_capacity(rows.len() * n);
        let mut means = Vec::with_capacity(rows.len());
        for row in rows {
            let m = mean(row);
            means.push(m);
            centred.extend(row.iter().map(|v| v - m));
        }
        Lags {
            centred,
            means,
            n,
            // A transform costs about as much as this many direct sums.
            direct_limit: 8 * (usize::BITS - n.leading_zeros()) as usize,
            all: Vec::new(),
        }
    }

    fn direct(&self, lag: usize) -> [f64; 2] {
        let kept = self.n - lag - 1;
        let mut total = [0.0; 2];
        for d in self.centred.chunks_exact(self.n) {
            let [first, second] = dot_two(&d[..kept], &d[lag..lag + kept], &d[lag + 1..]);
            total[0] += first + d[kept] * d[self.n - 1];
            total[1] += second;
        }
        total.map(|t| t / self.centred.len() as f64)
    }

    /// Every lag from the power spectrum of the rows, padded so that nothing wraps around.
    ///
    /// Two rows a and b go together as a + ib: the real part of that series' autocovariance is
    /// the sum of theirs.
    fn transform(&self) -> Vec<f64> {
        let size = (2 * self.n).next_power_of_two();
        let roots = roots_of_unity(size);
        let mut spectrum = vec![[0.0; 2]; size];
        let mut wave = vec![[0.0; 2]; size];
        for rows in self.centred.chunks(2 * self.n) {
            wave.fill([0.0; 2]);
            for (part, row) in rows.chunks_exact(self.n).enumerate() {
                for (w, &d) in wave.iter_mut().zip(row) {
                    w[part] = d;
                }
            }
            fourier(&mut wave, &roots);
            for (s, w) in spectrum.iter_mut().zip(&wave) {
                s[0] += w[0] * w[0] + w[1] * w[1];
            }
        }
        fourier(&mut spectrum, &roots);
        let scale = 1.0 / (size as f64 * self.centred.len() as f64);
        spectrum[..self.n].iter().map(|s| s[0] * scale).collect()
    }
}

impl Autocovariance for Lags {
    fn at_zero(&self) -> f64 {
        sum(&self.centred, |d| d * d) / self.centred.len() as f64
    }

    fn pair(&mut self, lag: usize) -> [f64; 2] {
        if lag < self.direct_limit {
            return self.direct(lag);
        }
        if self.all.is_empty() {
            self.all = self.transform();
        }
        [self.all[lag], self.all[lag + 1]]
    }

    fn row_means(&self) -> &[f64] {
        &self.means
    }
}

/// e^(−2πik/size) for the first half of k.
fn roots_of_unity(size: usize) -> Vec<[f64; 2]> {
    let root = |k: usize| {
        let (sin, cos) = libm::sincos(-std::f64::consts::TAU * k as f64 / size as f64);
        [cos, sin]
    };
    (0..size / 2).map(root).collect()
}

/// The discrete Fourier transform in place (Cooley and Tukey, radix 2), Σ_j x_j e^(−2πijk/N).
/// The length must be a power of two above 1.
fn fourier(x: &mut [[f64; 2]], roots: &[[f64; 2]]) {
    let n = x.len();
    let shift = n.leading_zeros() + 1;
    for i in 0..n {
        let j = i.reverse_bits() >> shift;
        if i < j {
            x.swap(i, j);
        }
    }
    let mut half = 1;
    while half < n {
        let stride = n / (2 * half);
        for block in x.chunks_exact_mut(2 * half) {
            let (even, odd) = block.split_at_mut(half);
            for k in 0..half {
                let [c, s] = roots[k * stride];
                let [a, b] = odd[k];
                let turned = [a * c - b * s, a * s + b * c];
                let [p, q] = even[k];
                even[k] = [p + turned[0], q + turned[1]];
                odd[k] = [p - turned[0], q - turned[1]];
            }
        }
        half *= 2;
    }
}

/// Autocorrelation of one chain at lags 0 to `max_lag` (fewer when the chain is shorter): the
/// autocovariance with divisor n at every lag, divided by that at lag 0. NaN for a constant.
pub fn autocorrelation(draws: &[f64], max_lag: usize) -> Vec<f64> {
    if draws.is_empty() {
        return Vec::new();
    }
    let mut lags = Lags::new(&[draws]);
    let at_zero = lags.at_zero();
    let wanted = max_lag.min(draws.len() - 1) + 1;
    let mut out = vec![at_zero];
    while out.len() < wanted {
        // The last pair may begin one lag early, so that both lags exist.
        let lag = out.len().min(draws.len() - 2);
        out.truncate(lag);
        out.extend(lags.pair(lag));
    }
    out.truncate(wanted);
    out.iter().map(|a| a / at_zero).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bound: rounding of about 2,000 terms, 1e-13 of the variance. Catches a transform that
    /// wraps around, or a wrong scale.
    #[test]
    fn both_ways_to_sum_lags_agree() {
        let mut state = 1u64;
        let mut noise = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let draws: Vec<f64> = (0..2250).map(|_| noise()).collect();
        let lags = Lags::new(&[&draws[..750], &draws[750..1500], &draws[1500..]]);
        let all = lags.transform();
        for lag in 0..749 {
            let direct = lags.direct(lag);
            assert!((all[lag] - direct[0]).abs() < 1e-13 * all[0], "lag {lag}");
            assert!(
                (all[lag + 1] - direct[1]).abs() < 1e-13 * all[0],
                "lag {lag}"
            );
        }
    }
}
