//! Intervals of scores: what they would be for other initial times of the same kind.
//!
//! Scores of neighbouring times are alike, so blocks of them are drawn with replacement, none
//! shorter than the lead or than a day, from a circle, on which every time is as likely as any other
//! (Politis and Romano 1992). The interval is from the 2.5th to the 97.5th percentile of a
//! thousand draws. All scores use the same draws, so that ratios are paired.

use super::found::Evaluation;
use fitzroy::rng::{Purpose, Rng};

/// Draws.
const DRAWS: usize = 1000;
/// Blocks of which there must be as many, at least.
const BLOCKS_MIN: f64 = 6.0;
/// Hours of a block, at least.
const BLOCK_HOURS: f64 = 24.0;

/// Draws of blocks of initial times.
pub(super) struct Bootstrap {
    n: usize,
    length: usize,
    /// First times of the blocks of each draw.
    draws: Vec<Vec<usize>>,
}

impl Bootstrap {
    /// For forecasts of `lead_hours` from `n` of the initial times; none where these are too few.
    pub(super) fn new(found: &Evaluation, n: usize, lead_hours: f64) -> Option<Self> {
        let apart = found.span_hours() / (found.n_starts.max(2) - 1) as f64;
        let length = (lead_hours.max(BLOCK_HOURS) / apart).ceil().max(1.0) as usize;
        if !(n as f64 / length as f64 >= BLOCKS_MIN) {
            return None;
        }
        let count = n.div_ceil(length);
        let draw = |number: usize| {
            let mut rng = Rng::new(1, length as u32, 0, number as u32, Purpose::Data);
            let place = |_| ((rng.uniform() * n as f64) as usize).min(n - 1);
            (0..count).map(place).collect()
        };
        Some(Bootstrap {
            n,
            length,
            draws: (0..DRAWS).map(draw).collect(),
        })
    }

    /// The mean of numbers of the times but those that are `missing`, where they are 0, draw by
    /// draw. The last block of a draw is cut short, so that it has as many times as there are.
    fn means<'a>(&'a self, all: &'a [f64], missing: &'a [usize]) -> impl Iterator<Item = f64> + 'a {
        let (mut sums, mut known) = (vec![0.0], vec![0_usize]);
        for k in 0..2 * self.n {
            let is_missing = missing.binary_search(&(k % self.n)).is_ok();
            sums.push(sums[k] + all[k % self.n]);
            known.push(known[k] + usize::from(!is_missing));
        }
        self.draws.iter().map(move |draw| {
            let mut left = self.n;
            let (mut total, mut count) = (0.0, 0);
            for &first in draw {
                let length = self.length.min(left);
                left -= length;
                total += sums[first + length] - sums[first];
                count += known[first + length] - known[first];
            }
            total / count as f64
        })
    }

    /// Interval of the mean of numbers of the times, or of what `of` makes of it; none where one is
    /// not finite.
    pub(super) fn interval(
        &self,
        (all, missing): (&[f64], &[usize]),
        of: fn(f64) -> f64,
    ) -> Option<[f64; 2]> {
        percentiles(self.means(all, missing).map(of).collect())
    }

    /// Interval of the root of the ratio of two means of the same times.
    pub(super) fn ratio(&self, [own, theirs]: [&[f64]; 2], missing: &[usize]) -> Option<[f64; 2]> {
        let pairs = self.means(own, missing).zip(self.means(theirs, missing));
        percentiles(pairs.map(|(a, b)| (a / b).sqrt()).collect())
    }
}

impl Bootstrap {
    /// Interval of the geometric mean over channels of roots of ratios of two means, whose times
    /// that are missing stand behind them.
    pub(super) fn mean_ratio(&self, pairs: &[([Vec<f64>; 2], Vec<usize>)]) -> Option<[f64; 2]> {
        let mut logs = vec![0.0; DRAWS];
        for ([own, theirs], missing) in pairs {
            let means = self.means(own, missing).zip(self.means(theirs, missing));
            for (log, (own, theirs)) in logs.iter_mut().zip(means) {
                *log += 0.5 * (own / theirs).ln();
            }
        }
        let n = pairs.len() as f64;
        percentiles(logs.into_iter().map(|log| (log / n).exp()).collect())
    }
}

/// The 2.5th and the 97.5th percentile.
fn percentiles(mut all: Vec<f64>) -> Option<[f64; 2]> {
    if all.iter().any(|x| !x.is_finite()) {
        return None;
    }
    all.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = share * (all.len() - 1) as f64;
        let (k, rest) = (place as usize, place.fract());
        all[k] + rest * (all[(k + 1).min(all.len() - 1)] - all[k])
    };
    Some([at(0.025), at(0.975)])
}

/// Intervals of a method at one lead and channel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Intervals {
    /// Of the RMSE.
    pub rmse: Option<[f64; 2]>,
    /// Of the MAE.
    pub mae: Option<[f64; 2]>,
    /// Of the bias.
    pub bias: Option<[f64; 2]>,
    /// Of the anomaly correlation.
    pub acc: Option<[f64; 2]>,
    /// Of the CRPS.
    pub crps: Option<[f64; 2]>,
    /// Of the model's RMSE over this one's.
    pub ratio: Option<[f64; 2]>,
}

/// Intervals of every method, lead and channel.
pub fn intervals(found: &Evaluation) -> Vec<Vec<Vec<Intervals>>> {
    let leads = found.methods[0].series.len();
    let draws: Vec<Option<Bootstrap>> = (0..leads)
        .map(|lead| Bootstrap::new(found, found.n_starts, (lead + 1) as f64 * found.step_hours))
        .collect();
    let one = |method: usize, lead: usize, channel: usize| {
        let Some(draws) = &draws[lead] else {
            return Intervals::default();
        };
        let own = &found.methods[method].series[lead][channel];
        let model = &found.methods[0].series[lead][channel];
        let missing = &own.missing[..];
        let plain = |all: &[f64]| draws.interval((all, missing), |x| x);
        Intervals {
            rmse: draws.interval((&own.squares, missing), f64::sqrt),
            mae: plain(&own.absolute),
            bias: plain(&own.errors),
            acc: plain(&own.acc),
            crps: plain(&own.crps),
            ratio: draws
                .ratio([&model.squares, &own.squares], missing)
                .filter(|_| method > 0),
        }
    };
    let channels = found.channels.len();
    let lead = |m: usize, lead: usize| (0..channels).map(|k| one(m, lead, k)).collect();
    let method = |m: usize| (0..leads).map(|l| lead(m, l)).collect();
    (0..found.methods.len()).map(method).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{named, noise};
    use super::*;

    fn days(n: usize) -> Evaluation {
        let errors = || vec![vec![1.0; n]];
        named(24.0, ["model", "start"], [errors(), errors()])
    }

    /// Means of draws are those of the times that the blocks hold, one by one.
    #[test]
    fn means_of_draws_are_those_of_plain_loops() {
        for (n, lead) in [(60, 24.0), (50, 72.0), (43, 150.0)] {
            let draws = Bootstrap::new(&days(n), n, lead).unwrap();
            assert_eq!(draws.length, (lead / 24.0_f64).ceil() as usize);
            let mut next = noise(n as u64);
            let all: Vec<f64> = (0..n).map(|_| next()).collect();
            for (mean, draw) in draws.means(&all, &[]).zip(&draws.draws) {
                let days = draw.iter().flat_map(|&first| first..first + draws.length);
                let days: Vec<usize> = days.take(n).map(|k| k % n).collect();
                let plain = days.iter().map(|&k| all[k]).sum::<f64>() / n as f64;
                assert_eq!(days.len(), n);
                assert!((mean - plain).abs() < 1e-12);
            }
        }
        assert!(Bootstrap::new(&days(30), 30, 24.0 * 6.0).is_none());
    }

    /// Of independent times the interval of a mean is 1.96 standard errors either way (within what
    /// 1,000 draws allow), of such as last for days it is wider, and it holds the truth as often as
    /// it says, or nearly: 90 % of 200 and more, for blocks of a day know less than two days.
    #[test]
    fn intervals_are_as_wide_as_chance() {
        let n = 200;
        let held = |memory: f64| -> (f64, usize) {
            let draws =
                Bootstrap::new(&days(n), n, if memory > 0.0 { 120.0 } else { 24.0 }).unwrap();
            let (mut width, mut inside) = (0.0, 0);
            for seed in 0..200 {
                let mut next = noise(seed + 7);
                let mut x = 0.0;
                let mut day = || {
                    let jolt = next() + next() + next() - 1.5;
                    x = memory * x + (1.0 - memory * memory).sqrt() * 2.0 * jolt;
                    x
                };
                (0..20).for_each(|_| _ = day());
                let all: Vec<f64> = (0..n).map(|_| day()).collect();
                let [low, high] = draws.interval((&all, &[]), |x| x).unwrap();
                width += (high - low) / 200.0;
                inside += usize::from(low <= 0.0 && high >= 0.0);
            }
            (width, inside)
        };
        let (plain, inside) = held(0.0);
        let expected = 2.0 * 1.96 / (n as f64).sqrt();
        assert!((plain / expected - 1.0).abs() < 0.1, "{plain} {expected}");
        assert!(inside >= 180, "{inside}");
        let (lasting, inside) = held(0.5);
        assert!(lasting > 1.4 * plain, "{lasting} {plain}");
        assert!(inside >= 170, "{inside}");
    }
}
