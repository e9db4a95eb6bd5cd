//! Are numbers uniform? Empirical distribution functions with a band that holds them all at once.
//!
//! Reference: Säilynoja, Bürkner, Vehtari, "Graphical test for discrete uniformity and its
//! applications in goodness-of-fit evaluation and multiple sample comparison", Statistics and
//! Computing 32 (2022).

use fitzroy::diagnose::ascending;

/// Draws up to which the band is exact; beyond, its pointwise level is that of this many.
const EXACT_MAX: usize = 500;

/// Half-open band around 0 for the difference between the empirical distribution function of `n`
/// numbers and the uniform one at the points k/`points`, k = 0 .. `points`: lower and upper ends.
///
/// `population`: the numbers are the ranks of one chain among so many draws of all chains, drawn
/// without replacement; none: independent uniform numbers. If they are, the whole path stays
/// inside with probability `probability`, or slightly more, for counts are whole.
pub fn ecdf_band(
    n: usize,
    population: Option<usize>,
    points: usize,
    probability: f64,
) -> (Vec<f64>, Vec<f64>) {
    let exact = n.min(EXACT_MAX);
    let population = population.map(|all| all.max(n) / n.max(1));
    let walk = Walk {
        n: exact,
        population: population.map(|chains| chains * exact),
        points,
    };
    let level = walk.pointwise_level(probability);
    let (mut low, mut high) = walk.band(level);
    // The band shrinks with the root of the sample size.
    let shrink = (exact as f64 / n.max(1) as f64).sqrt();
    for v in low.iter_mut().chain(&mut high) {
        *v *= shrink;
    }
    (low, high)
}

/// Counts of numbers below k/points, a Markov chain in k.
struct Walk {
    n: usize,
    population: Option<usize>,
    points: usize,
}

impl Walk {
    /// Positions below point `k` in the whole population, of `all`.
    fn below(&self, k: usize, all: usize) -> usize {
        all * k / self.points
    }

    /// Probabilities of the growth from point `k` to the next, with `left` numbers to come.
    fn step(&self, k: usize, left: usize, out: &mut Counts) {
        match self.population {
            Some(all) => {
                let before = self.below(k, all);
                let inside = self.below(k + 1, all) - before;
                out.hypergeometric(all - before, inside, left);
            }
            None => out.binomial(left, 1.0 / (self.points - k) as f64),
        }
    }

    /// The smallest and largest count at point `k` that a pointwise interval of probability
    /// 1 − 2·`tail` holds.
    fn interval(&self, k: usize, tail: f64, memory: &mut Counts) -> [usize; 2] {
        match self.population {
            Some(all) => memory.hypergeometric(all, self.below(k, all), self.n),
            None => memory.binomial(self.n, k as f64 / self.points as f64),
        }
        let [mut low, mut high] = memory.ends;
        let (mut below, mut above) = (0.0, 0.0);
        while low < high && below + memory.p[low] < tail {
            below += memory.p[low];
            low += 1;
        }
        while high > low && above + memory.p[high] < tail {
            above += memory.p[high];
            high -= 1;
        }
        [low, high]
    }

    /// Probability that every count lies in its pointwise interval.
    fn coverage(&self, tail: f64) -> f64 {
        let (mut memory, mut step) = (Counts::default(), Counts::default());
        let mut states = vec![1.0];
        let mut first = 0;
        for k in 0..self.points - 1 {
            let [low, high] = self.interval(k + 1, tail, &mut memory);
            let mut next = vec![0.0; high - low + 1];
            for (offset, &mass) in states.iter().enumerate().filter(|(_, m)| **m > 1e-12) {
                let count = first + offset;
                self.step(k, self.n - count, &mut step);
                let [least, most] = step.ends;
                let reached = least.max(low.saturating_sub(count))..=most;
                for more in reached.take_while(|more| count + more <= high) {
                    next[count + more - low] += mass * step.p[more];
                }
            }
            (states, first) = (next, low);
        }
        states.iter().sum()
    }

    /// The tail probability of pointwise intervals that together hold a path with `probability`.
    fn pointwise_level(&self, probability: f64) -> f64 {
        // Between the level of one point and that of points that know nothing of each other.
        let (mut low, mut high) = (
            ((1.0 - probability) / (2.0 * self.points as f64)).ln(),
            ((1.0 - probability) / 2.0).ln(),
        );
        for _ in 0..9 {
            let middle = (low + high) / 2.0;
            if self.coverage(middle.exp()) >= probability {
                low = middle;
            } else {
                high = middle;
            }
        }
        low.exp()
    }

    fn band(&self, tail: f64) -> (Vec<f64>, Vec<f64>) {
        let mut memory = Counts::default();
        let mut ends = |k: usize| {
            let [low, high] = self.interval(k, tail, &mut memory);
            let expected = match self.population {
                Some(all) => self.below(k, all) as f64 / all as f64,
                None => k as f64 / self.points as f64,
            };
            let share = |count: usize| count as f64 / self.n as f64 - expected;
            (share(low), share(high))
        };
        (0..=self.points).map(&mut ends).unzip()
    }
}

/// Probabilities of counts, those that matter.
#[derive(Default)]
struct Counts {
    /// By count; only those between `ends` are set.
    p: Vec<f64>,
    /// The least and the greatest count with a probability worth counting.
    ends: [usize; 2],
}

impl Counts {
    /// Of successes among `n`, each with probability `p`.
    fn binomial(&mut self, n: usize, p: f64) {
        if p <= 0.0 || p >= 1.0 {
            let sure = if p <= 0.0 { 0 } else { n };
            return self.weights_around(sure, sure, sure, |_| 0.0);
        }
        let odds = p / (1.0 - p);
        self.weights_around(0, n, ((n + 1) as f64 * p) as usize, |k| {
            (n - k) as f64 / (k + 1) as f64 * odds
        });
    }

    /// Of marked ones among `drawn` of `all`, `marked` of which are.
    fn hypergeometric(&mut self, all: usize, marked: usize, drawn: usize) {
        let (least, most) = ((drawn + marked).saturating_sub(all), drawn.min(marked));
        let mode = (drawn + 1) as f64 * (marked + 1) as f64 / (all + 2) as f64;
        let (all, marked, drawn) = (all as f64, marked as f64, drawn as f64);
        self.weights_around(least, most, mode as usize, |k| {
            let k = k as f64;
            (marked - k) * (drawn - k) / ((k + 1.0) * (all - marked - drawn + k + 1.0))
        });
    }

    /// Outwards from the most likely count, by the ratio of neighbours p(k + 1)/p(k), as far as
    /// probabilities matter; then they are made to sum to 1.
    fn weights_around(
        &mut self,
        least: usize,
        most: usize,
        mode: usize,
        ratio: impl Fn(usize) -> f64,
    ) {
        const SMALL: f64 = 1e-13;
        self.p.resize(self.p.len().max(most + 1), 0.0);
        let mode = mode.clamp(least, most);
        let p = &mut self.p;
        p[mode] = 1.0;
        let (mut total, mut low, mut high) = (1.0, mode, mode);
        while high < most && p[high] > SMALL {
            p[high + 1] = p[high] * ratio(high);
            high += 1;
            total += p[high];
        }
        while low > least && p[low] > SMALL {
            p[low - 1] = p[low] / ratio(low - 1);
            low -= 1;
            total += p[low];
        }
        p[low..=high].iter_mut().for_each(|v| *v /= total);
        self.ends = [low, high];
    }
}

/// The empirical distribution function of `values` in [0, 1] minus the uniform one, at the points
/// k/`points`.
pub fn ecdf_difference(values: &[f64], points: usize) -> Vec<f64> {
    let mut below = vec![0usize; points + 1];
    for v in values.iter().filter(|v| v.is_finite()) {
        let k = (v.clamp(0.0, 1.0) * points as f64 - 1e-9).ceil().max(0.0);
        below[(k as usize).min(points)] += 1;
    }
    let n = values.len().max(1) as f64;
    let mut sum = 0;
    let difference = |(k, count): (usize, &usize)| {
        sum += count;
        sum as f64 / n - k as f64 / points as f64
    };
    below.iter().enumerate().map(difference).collect()
}

/// Ranks of every chain's draws among all draws, from 1/S to 1; equal draws share their average
/// rank. None when a draw is not a number.
pub fn fractional_ranks(chains: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let pooled = chains.concat();
    if pooled.iter().any(|v| v.is_nan()) {
        return None;
    }
    let order = ascending(&pooled);
    let total = order.len() as f64;
    let mut ranks = vec![0.0; pooled.len()];
    for tied in order
        .chunk_by(|a, b| a.0 == b.0)
        .scan(0usize, |start, tied| {
            let first = *start;
            *start += tied.len();
            Some((first, tied))
        })
    {
        let (first, tied) = tied;
        let rank = (first as f64 + (tied.len() + 1) as f64 / 2.0) / total;
        for &(_, place) in tied {
            ranks[place as usize] = rank;
        }
    }
    let mut rest = ranks.as_slice();
    let own = |chain: &Vec<f64>| rest.split_off(..chain.len()).unwrap_or_default().to_vec();
    Some(chains.iter().map(own).collect())
}
