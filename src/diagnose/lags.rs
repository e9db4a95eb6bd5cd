//! Autocovariance by lag: summed directly while lags are few, by Fourier transform when many.

use super::chains::{dot, mean, sum};

/// Autocovariances a_t = mean over rows of (1/n) Σ_i d_i d_{i+t} with d = x − row mean.
///
/// Most series need a few dozen lags; the caller asks one by one and stops when it has enough.
pub(crate) struct Lags {
    /// Rows without their means, row after row.
    centred: Vec<f64>,
    n_rows: usize,
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
        for row in rows {
            let m = mean(row);
            centred.extend(row.iter().map(|v| v - m));
        }
        Lags {
            centred,
            n_rows: rows.len(),
            n,
            // A transform costs about as much as this many direct sums.
            direct_limit: 32 * (usize::BITS - n.leading_zeros()) as usize,
            all: Vec::new(),
        }
    }

    /// a_t for t below the length of a row.
    pub(crate) fn at(&mut self, lag: usize) -> f64 {
        if lag < self.direct_limit {
            return self.direct(lag);
        }
        if self.all.is_empty() {
            self.all = self.transform();
        }
        self.all[lag]
    }

    fn direct(&self, lag: usize) -> f64 {
        let kept = self.n - lag;
        let rows = self.centred.chunks_exact(self.n);
        let total: f64 = if lag == 0 {
            sum(&self.centred, |d| d * d)
        } else {
            rows.map(|d| dot(&d[..kept], &d[lag..])).sum()
        };
        total / (self.n * self.n_rows) as f64
    }

    /// Every lag from the power spectrum of the rows, padded so that nothing wraps around.
    fn transform(&self) -> Vec<f64> {
        let size = (2 * self.n).next_power_of_two();
        let mut spectrum = vec![[0.0; 2]; size];
        for row in self.centred.chunks_exact(self.n) {
            let mut wave = vec![[0.0; 2]; size];
            for (w, &d) in wave.iter_mut().zip(row) {
                w[0] = d;
            }
            fourier(&mut wave);
            for (s, w) in spectrum.iter_mut().zip(&wave) {
                s[0] += w[0] * w[0] + w[1] * w[1];
            }
        }
        fourier(&mut spectrum);
        let scale = 1.0 / (size as f64 * (self.n * self.n_rows) as f64);
        spectrum[..self.n].iter().map(|s| s[0] * scale).collect()
    }
}

/// The discrete Fourier transform in place (Cooley and Tukey, radix 2), Σ_j x_j e^(−2πijk/N).
/// The length must be a power of two.
fn fourier(x: &mut [[f64; 2]]) {
    let n = x.len();
    let shift = (n.leading_zeros() + 1) % usize::BITS;
    for i in 0..n {
        let j = i.reverse_bits() >> shift;
        if i < j {
            x.swap(i, j);
        }
    }
    let roots: Vec<[f64; 2]> = (0..n / 2)
        .map(|k| {
            let (sin, cos) = libm::sincos(-std::f64::consts::TAU * k as f64 / n as f64);
            [cos, sin]
        })
        .collect();
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
    let at_zero = lags.at(0);
    let last = max_lag.min(draws.len() - 1);
    (0..=last).map(|lag| lags.at(lag) / at_zero).collect()
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
        let draws: Vec<f64> = (0..1500).map(|_| noise()).collect();
        let lags = Lags::new(&[&draws[..750], &draws[750..]]);
        let all = lags.transform();
        for lag in 0..750 {
            assert!(
                (all[lag] - lags.direct(lag)).abs() < 1e-13 * all[0],
                "lag {lag}"
            );
        }
    }
}
