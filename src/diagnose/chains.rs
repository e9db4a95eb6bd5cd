//! The draws of one scalar, chain after chain, and the moments everything else is made of.

/// The draws of one scalar quantity: `n_chains` rows of `n_draws` numbers, chain after chain.
///
/// ```
/// use fitzroy::diagnose::Chains;
/// let draws = [0.1, 0.4, 0.2, 0.3, 0.2, 0.5, 0.1, 0.6];
/// let x = Chains::new(&draws, 2, 4);
/// assert_eq!(x.row(1), &[0.2, 0.5, 0.1, 0.6]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Chains<'a> {
    values: &'a [f64],
    n_chains: usize,
    n_draws: usize,
}

impl<'a> Chains<'a> {
    /// A view of `values`, which hold `n_chains` times `n_draws` numbers (else it panics).
    #[track_caller]
    pub fn new(values: &'a [f64], n_chains: usize, n_draws: usize) -> Self {
        assert_eq!(values.len(), n_chains * n_draws, "chains times draws");
        Chains {
            values,
            n_chains,
            n_draws,
        }
    }

    /// How many chains there are.
    pub fn n_chains(&self) -> usize {
        self.n_chains
    }

    /// How many draws each chain has.
    pub fn n_draws(&self) -> usize {
        self.n_draws
    }

    /// All draws, chain after chain.
    pub fn values(&self) -> &'a [f64] {
        self.values
    }

    /// The draws of one chain, counted from 0.
    pub fn row(&self, chain: usize) -> &'a [f64] {
        &self.values[chain * self.n_draws..][..self.n_draws]
    }

    /// Every chain.
    pub fn rows(&self) -> Vec<&'a [f64]> {
        (0..self.n_chains).map(|c| self.row(c)).collect()
    }

    /// The first half of every chain, then the last half of every chain. A chain of odd length
    /// loses its middle draw.
    pub fn halves(&self) -> Vec<&'a [f64]> {
        let half = self.n_draws / 2;
        let first = (0..self.n_chains).map(|c| &self.row(c)[..half]);
        let last = (0..self.n_chains).map(|c| &self.row(c)[self.n_draws - half..]);
        first.chain(last).collect()
    }

    /// True when no draw is NaN and there are four draws or more: below that nothing can be said.
    pub(crate) fn usable(&self) -> bool {
        self.n_chains > 0 && self.n_draws >= 4 && !self.values.iter().any(|x| x.is_nan())
    }
}

/// The mean, as x₀ + mean(x − x₀), so that equal numbers have exactly their own value as mean.
/// NaN of nothing.
pub fn mean(x: &[f64]) -> f64 {
    let Some(&first) = x.first() else {
        return f64::NAN;
    };
    first + sum(x, |v| v - first) / x.len() as f64
}

/// Σ (x − mean)² / (n − `freedom`): with `freedom` 1 the sample variance.
pub(crate) fn variance(x: &[f64], freedom: usize) -> f64 {
    let m = mean(x);
    let squares = sum(x, |v| (v - m) * (v - m));
    squares / (x.len() as f64 - freedom as f64)
}

/// The sample standard deviation, divisor n − 1. NaN of fewer than two numbers.
pub fn sd(x: &[f64]) -> f64 {
    variance(x, 1).sqrt()
}

/// Σ f(x) in eight interleaved sums, which the compiler turns into vector additions.
#[inline]
pub(crate) fn sum(x: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    let mut sums = [0.0; 8];
    let (blocks, rest) = x.as_chunks::<8>();
    for block in blocks {
        for k in 0..8 {
            sums[k] += f(block[k]);
        }
    }
    let tail: f64 = rest.iter().map(|&v| f(v)).sum();
    fold(sums) + tail
}

/// Σ a_i b_i and Σ a_i c_i, each in eight interleaved sums. All are as long as `a`.
#[inline]
pub(crate) fn dot_two(a: &[f64], b: &[f64], c: &[f64]) -> [f64; 2] {
    let (mut with_b, mut with_c) = ([0.0; 8], [0.0; 8]);
    let ((a, a_rest), (b, b_rest), (c, c_rest)) =
        (a.as_chunks::<8>(), b.as_chunks::<8>(), c.as_chunks::<8>());
    for ((a, b), c) in a.iter().zip(b).zip(c) {
        for k in 0..8 {
            with_b[k] += a[k] * b[k];
            with_c[k] += a[k] * c[k];
        }
    }
    let mut ends = [fold(with_b), fold(with_c)];
    for (k, &a) in a_rest.iter().enumerate() {
        ends[0] += a * b_rest[k];
        ends[1] += a * c_rest[k];
    }
    ends
}

fn fold(s: [f64; 8]) -> f64 {
    ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
}
