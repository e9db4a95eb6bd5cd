//! Pareto smoothed importance sampling of one observation.
//!
//! References: Vehtari, Simpson, Gelman, Yao, Gabry, "Pareto smoothed importance sampling", JMLR
//! 25 (2024); Zhang, Stephens, "A new and efficient estimation method for the generalized Pareto
//! distribution", Technometrics 51 (2009).

/// Fewer tail draws than this are not smoothed.
const FEWEST_TAIL: usize = 5;
/// Weight of the prior of k, in draws, and its mean.
const PRIOR: (f64, f64) = (10.0, 0.5);

/// Importance weights of one observation, and memory to work them out.
#[derive(Default)]
pub(crate) struct Psis {
    /// Log weights in the order of the draws, normalised: their exponentials sum to 1.
    pub(crate) log_weights: Vec<f64>,
    order: Vec<(f64, u32)>,
    tail: Vec<f64>,
}

/// Draws in the smoothed tail of `size` draws of relative efficiency `r_eff`: ⌊3 √(S/r_eff)⌋ where
/// S r_eff is above 225, else ⌊S/5⌋.
fn tail_length(size: usize, r_eff: f64) -> usize {
    let s = size as f64;
    if s * r_eff > 225.0 {
        (3.0 * (s / r_eff).sqrt()).floor() as usize
    } else {
        size / 5
    }
}

impl Psis {
    /// Weights proportional to exp(−`log_likelihood`) with a smoothed upper tail; gives k, the
    /// shape of that tail.
    ///
    /// k is ∞ where the tail cannot be fitted (fewer than five draws, or all equal) and −∞ where
    /// all draws are equal, NaN where the fit is refused; the weights are then not smoothed. All
    /// log likelihoods must be finite.
    pub(crate) fn smooth(&mut self, log_likelihood: &[f64], r_eff: f64) -> f64 {
        let lowest = log_likelihood.iter().copied().fold(f64::INFINITY, f64::min);
        self.log_weights.clear();
        self.log_weights
            .extend(log_likelihood.iter().map(|&l| lowest - l));
        let k = self.smooth_tail(tail_length(log_likelihood.len(), r_eff));
        let total = log_sum_exp(self.log_weights.iter().copied());
        self.log_weights.iter_mut().for_each(|w| *w -= total);
        k
    }

    fn smooth_tail(&mut self, n_tail: usize) -> f64 {
        let size = self.log_weights.len();
        if n_tail < FEWEST_TAIL || n_tail >= size {
            return f64::INFINITY;
        }
        self.order.clear();
        self.order
            .extend(self.log_weights.iter().copied().zip(0u32..));
        let cut = size - n_tail - 1;
        let ascending = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        let (_, &mut cutoff, tail) = self.order.select_nth_unstable_by(cut, ascending);
        tail.sort_unstable_by(ascending);
        // The largest log weight is 0.
        let least = tail[0].0;
        if -least < f64::MIN_POSITIVE {
            let all = self.log_weights.iter().all(|&w| w == 0.0);
            return if all {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            };
        }
        let floor = libm::exp(cutoff.0);
        self.tail.clear();
        self.tail
            .extend(tail.iter().map(|t| libm::exp(t.0) - floor));
        let Some((k, sigma)) = fit(&self.tail) else {
            return f64::NAN;
        };
        if !k.is_finite() || sigma.is_nan() || sigma <= 0.0 {
            return k;
        }
        for (j, &(_, place)) in tail.iter().enumerate() {
            let p = (j as f64 + 0.5) / n_tail as f64;
            let log_upper = libm::log1p(-p);
            let value = match k {
                0.0 => floor - sigma * log_upper,
                _ => floor + sigma * libm::expm1(-k * log_upper) / k,
            };
            self.log_weights[place as usize] = libm::log(value).min(0.0);
        }
        k
    }
}

/// Shape k and scale of a generalized Pareto distribution fitted to ascending numbers; none where
/// their first quartile is their smallest, which such a distribution never has.
pub(crate) fn fit(x: &[f64]) -> Option<(f64, f64)> {
    let n = x.len();
    let quartile = x[((n as f64 / 4.0 + 0.5) as usize).max(1) - 1];
    if quartile <= x[0] {
        return None;
    }
    let m = 30 + (n as f64).sqrt() as usize;
    let mean_log = |b: f64| mean_log1p(x, -b);
    let candidates: Vec<(f64, f64)> = (1..=m)
        .map(|i| {
            let b =
                (1.0 - (m as f64 / (i as f64 - 0.5)).sqrt()) / (3.0 * quartile) + 1.0 / x[n - 1];
            let k = mean_log(b);
            (b, n as f64 * (libm::log(-b / k) - k - 1.0))
        })
        .collect();
    let total = log_sum_exp(candidates.iter().map(|c| c.1));
    let weights = candidates.iter().map(|&(b, l)| (b, libm::exp(l - total)));
    let kept: Vec<(f64, f64)> = weights.filter(|w| w.1 >= 10.0 * f64::EPSILON).collect();
    let sum: f64 = kept.iter().map(|w| w.1).sum();
    let b: f64 = kept.iter().map(|&(b, w)| b * (w / sum)).sum();
    let k = mean_log(b);
    let sigma = -k / b;
    let k = (n as f64 * k + PRIOR.0 * PRIOR.1) / (n as f64 + PRIOR.0);
    Some(if k.is_nan() {
        (f64::INFINITY, f64::NAN)
    } else {
        (k, sigma)
    })
}

/// Mean of log(1 + `b` x). Four factors share a logarithm: each is between about 1e-16 and 1e16
/// here, so that their product neither underflows nor overflows.
fn mean_log1p(x: &[f64], b: f64) -> f64 {
    let (blocks, rest) = x.as_chunks::<4>();
    let product = |block: &[f64]| block.iter().map(|v| 1.0 + b * v).product::<f64>();
    let sum: f64 = blocks.iter().map(|block| libm::log(product(block))).sum();
    (sum + rest.iter().map(|v| libm::log1p(b * v)).sum::<f64>()) / x.len() as f64
}

/// ln Σ exp(x), −∞ of nothing.
pub(crate) fn log_sum_exp(x: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = x.clone().fold(f64::NEG_INFINITY, f64::max);
    if !most.is_finite() {
        return most;
    }
    most + libm::log(x.map(|v| libm::exp(v - most)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    /// Draws of a generalized Pareto distribution: sigma (u^(−k) − 1)/k.
    /// Bound: the standard error of k is about (1 + k)/√n = .02 at n = 5000; five of them.
    /// Catches: the prior on the wrong parameter, a sign of k.
    #[test]
    fn the_shape_of_pareto_draws_is_recovered() {
        for k in [-0.3, 0.1, 0.5, 0.9] {
            let mut rng = Rng::new(2, 0, 0, 0, Purpose::Test);
            let draw = |u: f64| 2.0 * (libm::pow(u, -k) - 1.0) / k;
            let mut x: Vec<f64> = (0..5000).map(|_| draw(1.0 - rng.uniform())).collect();
            x.sort_by(f64::total_cmp);
            let (got, sigma) = fit(&x).expect("a tail");
            assert!((got - k).abs() < 0.1, "{k}: {got}");
            assert!((sigma - 2.0).abs() < 0.25, "{k}: {sigma}");
        }
    }

    #[test]
    fn weights_sum_to_one_and_equal_draws_weigh_the_same() {
        let mut psis = Psis::default();
        assert_eq!(psis.smooth(&[-1.5; 100], 1.0), f64::NEG_INFINITY);
        assert!(
            psis.log_weights
                .iter()
                .all(|w| (w + 100f64.ln()).abs() < 1e-14)
        );
        // One draw far above the rest: the tail is that draw and equal ones.
        let mut two = [-1.0; 100];
        two[..3].fill(-9.0);
        assert!(psis.smooth(&two, 1.0).is_nan());
        let sum: f64 = psis.log_weights.iter().map(|w| w.exp()).sum();
        assert!((sum - 1.0).abs() < 1e-14);
        assert_eq!(psis.smooth(&[-1.0, -2.0, -3.0], 1.0), f64::INFINITY);
    }
}
