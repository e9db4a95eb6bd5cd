//! Effective sample size: how many independent draws the chains are worth.
//!
//! References: Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7 (1992); Vehtari
//! et al., Bayesian Analysis 16 (2021).

use super::chains::{Chains, mean, variance};
use super::flags::Flags;
use super::lags::{Autocovariance, Lags};
use super::ranks::{Ordered, Scores};

/// For which estimate the effective sample size is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ess {
    /// The centre of the distribution: normal scores of the draws.
    Bulk,
    /// The extremes, see [`TailEss`].
    Tail(TailEss),
    /// The mean.
    Mean,
    /// The standard deviation.
    Sd,
    /// The median.
    Median,
    /// The median absolute deviation.
    Mad,
    /// The quantile at a probability in [0, 1].
    Quantile(f64),
    /// The share of draws between two quantiles, given by their probabilities.
    Local(f64, f64),
}

/// Which two quantiles the tail ESS takes the smaller of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TailEss {
    /// .05 and .95, as in the paper, in R's `posterior` and in ArviZ before 1.0.
    #[default]
    Classic,
    /// .11 and .89, as in ArviZ 1.x.
    Arviz1,
}

impl TailEss {
    /// The two probabilities.
    pub fn probabilities(self) -> (f64, f64) {
        match self {
            TailEss::Classic => (0.05, 0.95),
            TailEss::Arviz1 => (1.0 - 0.89, 0.89), // subtracted in floating point, as there
        }
    }

    /// The probabilities as people read them.
    pub fn label(self) -> &'static str {
        match self {
            TailEss::Classic => ".05/.95",
            TailEss::Arviz1 => ".11/.89",
        }
    }
}

/// Effective sample size of `x` for the estimate `kind`, in draws.
///
/// The chains are split in halves first. NaN for any NaN, fewer than four draws, or probabilities
/// outside [0, 1]. A constant counts every draw; no answer exceeds S log10 S of S draws.
pub fn ess(x: Chains, kind: Ess) -> f64 {
    if !x.usable() {
        return f64::NAN;
    }
    match kind {
        Ess::Mean => ess_mean(x.values(), &x),
        Ess::Sd => ess_mean(&squared_deviations(x.values()), &x),
        _ => ess_ordered(&Ordered::new(x), kind),
    }
}

/// Those kinds of ESS that need the draws in order.
fn ess_ordered(draws: &Ordered, kind: Ess) -> f64 {
    match kind {
        Ess::Bulk => ess_bulk(&draws.scores(&Scores::of(&draws.x)), &draws.x),
        Ess::Tail(tail) => ess_tail(draws, tail),
        Ess::Median => ess_quantile(draws, 0.5),
        Ess::Quantile(p) => ess_quantile(draws, p),
        Ess::Local(p, q) => ess_local(draws, p, q),
        Ess::Mad => ess_mad(draws),
        Ess::Mean | Ess::Sd => ess(draws.x, kind),
    }
}

/// ESS of the mean of `values`, which are laid out as `x` is.
pub(crate) fn ess_mean(values: &[f64], x: &Chains) -> f64 {
    ess_of_rows(&Chains::new(values, x.n_chains(), x.n_draws()).halves())
}

/// ESS of the bulk from normal scores in the place of the draws.
pub(crate) fn ess_bulk(z: &[f64], x: &Chains) -> f64 {
    ess_mean(z, x)
}

/// The smaller ESS of the two tail quantiles.
pub(crate) fn ess_tail(draws: &Ordered, tail: TailEss) -> f64 {
    let (p, q) = tail.probabilities();
    let (low, high) = (ess_quantile(draws, p), ess_quantile(draws, q));
    if high < low { high } else { low }
}

/// ESS of the indicator that a draw does not exceed its quantile at `p`.
pub(crate) fn ess_quantile(draws: &Ordered, p: f64) -> f64 {
    let limit = draws.quantile(p);
    if limit.is_nan() {
        return f64::NAN;
    }
    ess_indicator(draws, |v| v <= limit)
}

fn ess_local(draws: &Ordered, p: f64, q: f64) -> f64 {
    let (low, high) = (draws.quantile(p), draws.quantile(q));
    if low.is_nan() || high.is_nan() {
        return f64::NAN;
    }
    ess_indicator(draws, |v| low <= v && v <= high)
}

fn ess_indicator(draws: &Ordered, holds: impl Fn(f64) -> bool) -> f64 {
    let halves = draws.x.halves();
    let n = halves[0].len();
    let mut flags = Flags::new(&halves, holds);
    if flags.constant() {
        return (halves.len() * n) as f64;
    }
    ess_of_lags(&mut flags, halves.len(), n)
}

fn flag(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// ESS of the normal scores of the indicator abs(x − median) ≤ median abs(x − median).
fn ess_mad(draws: &Ordered) -> f64 {
    let median = middle(&draws.sorted);
    let distances = |v: f64| (v - median).abs();
    let mut ascending: Vec<f64> = draws.sorted.iter().map(|&v| distances(v)).collect();
    if ascending.iter().any(|v| v.is_nan()) {
        return f64::NAN;
    }
    ascending.sort_unstable_by(f64::total_cmp);
    let limit = middle(&ascending);
    let values = draws.x.values();
    let flags: Vec<f64> = values
        .iter()
        .map(|&v| flag(distances(v) <= limit))
        .collect();
    let (n_chains, n_draws) = (draws.x.n_chains(), draws.x.n_draws());
    ess(Chains::new(&flags, n_chains, n_draws), Ess::Bulk)
}

/// The middle of ascending numbers, or the mean of the two middle ones.
fn middle(x: &[f64]) -> f64 {
    let n = x.len();
    if n % 2 == 1 {
        x[n / 2]
    } else {
        (x[n / 2 - 1] + x[n / 2]) / 2.0
    }
}

/// (x − mean)².
pub(crate) fn squared_deviations(x: &[f64]) -> Vec<f64> {
    let m = mean(x);
    x.iter().map(|v| (v - m) * (v - m)).collect()
}

/// ESS of rows of equal length, which are not split further.
///
/// Geyer's initial positive, then monotone, sequence on the autocorrelations combined over rows.
/// Lags are summed only as far as the sequence stays positive.
pub(crate) fn ess_of_rows(rows: &[&[f64]]) -> f64 {
    let n = rows[0].len();
    let size = (rows.len() * n) as f64;
    match range(rows) {
        r if r.is_nan() => return f64::NAN,
        r if r < 1e-15 => return size,
        _ => {}
    }
    ess_of_lags(&mut Lags::new(rows), rows.len(), n)
}

/// ESS of `n_rows` rows of length `n` that are not all equal.
fn ess_of_lags(lags: &mut impl Autocovariance, n_rows: usize, n: usize) -> f64 {
    let size = (n_rows * n) as f64;
    let means = lags.row_means();
    let mean_variance = if means.len() < 2 {
        0.0
    } else {
        variance(means, 1)
    };
    let Some((mut r, last)) = positive_sequence(lags, n, mean_variance) else {
        return f64::NAN;
    };
    let mut t = 1;
    while t <= last - 2 {
        let i = t as usize;
        let before = r[i - 1] + r[i];
        if r[i + 1] + r[i + 2] > before {
            r[i + 1] = before / 2.0;
            r[i + 2] = before / 2.0;
        }
        t += 2;
    }
    let (counted, extra) = r.split_at((last + 1) as usize);
    let tau = -1.0 + 2.0 * counted.iter().sum::<f64>() + extra[0];
    size / tau.max(1.0 / size.log10())
}

/// Geyer's initial positive sequence with room to spare behind it, and the last lag that counts
/// twice (−1 for none). `None` when a correlation is NaN.
fn positive_sequence(
    lags: &mut impl Autocovariance,
    n: usize,
    mean_variance: f64,
) -> Option<(Vec<f64>, isize)> {
    let m = lags.at_zero() * n as f64 / (n as f64 - 1.0);
    let v = m * (n as f64 - 1.0) / n as f64 + mean_variance;
    let rho = |a: f64| 1.0 - (m - a) / v;
    // Rows have two columns or more; lags come in pairs, and lag 0 is known.
    let (mut even, mut odd) = (1.0, rho(lags.pair(0)[1]));
    let mut r = vec![even, odd];
    let mut t = 1;
    while t + 3 < n && even + odd > 0.0 {
        [even, odd] = lags.pair(t + 1).map(rho);
        let positive = even + odd >= 0.0;
        r.extend(if positive { [even, odd] } else { [0.0, 0.0] });
        t += 2;
    }
    let last = t as isize - 2;
    if even > 0.0 {
        r[(last + 1) as usize] = even;
    }
    let nan = even.is_nan() || odd.is_nan() || r.iter().any(|v| v.is_nan());
    (!nan).then_some((r, last))
}

/// Largest minus smallest element; NaN when any is NaN.
fn range(rows: &[&[f64]]) -> f64 {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut nan = false;
    for &v in rows.iter().copied().flatten() {
        low = if v < low { v } else { low };
        high = if v > high { v } else { high };
        nan |= v.is_nan();
    }
    if nan { f64::NAN } else { high - low }
}
