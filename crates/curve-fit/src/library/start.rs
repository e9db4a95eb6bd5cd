//! Starting values: what a few rows of data say about a curve.

/// Rows that starting values are taken from, sorted by the first predictor.
#[derive(Clone, Debug)]
pub struct Sample {
    /// One column per predictor.
    pub x: Vec<Vec<f64>>,
    /// The response.
    pub y: Vec<f64>,
    /// Smallest and largest value of each predictor.
    ranges: Vec<(f64, f64)>,
}

impl Sample {
    /// Sorts rows by their first predictor; there must be at least one row.
    pub fn new(x: Vec<Vec<f64>>, y: Vec<f64>) -> Sample {
        let ranges = x.iter().map(|c| range(c)).collect();
        let first = x.first().filter(|first| !first.is_sorted());
        let order = first.map(|first| {
            let mut order: Vec<usize> = (0..y.len()).collect();
            order.sort_by(|&a, &b| first[a].total_cmp(&first[b]));
            order
        });
        let Some(order) = order else {
            return Sample { x, y, ranges };
        };
        let take = |v: &[f64]| order.iter().map(|&i| v[i]).collect();
        Sample {
            x: x.iter().map(|c| take(c)).collect(),
            y: take(&y),
            ranges,
        }
    }

    /// Smallest and largest value of predictor `k`.
    pub fn range(&self, k: usize) -> (f64, f64) {
        self.ranges[k]
    }

    /// Length of the range of predictor `k`, never 0.
    pub fn span(&self, k: usize) -> f64 {
        let (low, high) = self.range(k);
        if high > low { high - low } else { 1.0 }
    }

    /// Smallest and largest response.
    pub fn y_range(&self) -> (f64, f64) {
        range(&self.y)
    }

    /// Mean response of the first (`last` = false) or last twentieth of the rows.
    pub fn edge(&self, last: bool) -> f64 {
        let n = self.y.len();
        let k = (n / 20).max(1);
        let part = if last { &self.y[n - k..] } else { &self.y[..k] };
        part.iter().sum::<f64>() / k as f64
    }

    /// The response smoothed over a thirtieth of the rows, so that one stray point is no peak.
    fn smooth(&self) -> Vec<f64> {
        let n = self.y.len();
        let half = n / 60;
        let mean = |i: usize| {
            let part = &self.y[i.saturating_sub(half)..(i + half + 1).min(n)];
            part.iter().sum::<f64>() / part.len() as f64
        };
        (0..n).map(mean).collect()
    }

    /// Height above `base`, place and full width at half height of the greatest excursion.
    pub fn peak(&self, base: f64) -> (f64, f64, f64) {
        let (height, at, sides) = self.excursion(base);
        let least = self.span(0) / self.y.len() as f64;
        (height, at, (sides[0] + sides[1]).max(least))
    }

    /// How far the greatest excursion from `base` goes to the left and to the right of its summit, at half
    /// height.
    pub fn sides(&self, base: f64) -> [f64; 2] {
        let least = 0.5 * self.span(0) / self.y.len() as f64;
        self.excursion(base).2.map(|side| side.max(least))
    }

    fn excursion(&self, base: f64) -> (f64, f64, [f64; 2]) {
        let (x, y) = (&self.x[0], self.smooth());
        let top = (0..y.len())
            .max_by(|&a, &b| (y[a] - base).abs().total_cmp(&(y[b] - base).abs()))
            .unwrap_or(0);
        let height = y[top] - base;
        let inside = |i: &usize| (y[*i] - base) * height.signum() >= height.abs() / 2.0;
        let left = (0..=top).rev().take_while(inside).last().unwrap_or(top);
        let right = (top..y.len()).take_while(inside).last().unwrap_or(top);
        (height, x[top], [x[top] - x[left], x[right] - x[top]])
    }

    /// First x at which the smoothed response passes `level`; where it comes nearest, if it never does.
    pub fn crossing(&self, level: f64) -> f64 {
        let (x, y) = (&self.x[0], self.smooth());
        let passes = |w: &[usize; 2]| (y[w[0]] - level) * (y[w[1]] - level) <= 0.0;
        let mut pairs = (1..y.len()).map(|i| [i - 1, i]);
        let nearest = || {
            let off = |i: &usize| (y[*i] - level).abs();
            (0..y.len()).min_by(|a, b| off(a).total_cmp(&off(b)))
        };
        let at = pairs.find(passes).map(|w| w[1]).or_else(nearest);
        x[at.unwrap_or(0)]
    }

    /// x at which a response that rises from 0 is half its greatest, positive.
    pub fn half_reached(&self) -> f64 {
        let (_, high) = self.y_range();
        self.crossing(high / 2.0).abs().max(1e-3 * self.span(0))
    }

    /// The smoothed response at the row nearest to `at`.
    pub fn near(&self, at: f64) -> f64 {
        let i = self.x[0].partition_point(|x| *x < at);
        self.smooth()[i.min(self.y.len() - 1)]
    }

    /// Place and value of the least response.
    pub fn lowest(&self) -> (f64, f64) {
        let y = self.smooth();
        let at = (0..y.len()).min_by(|&a, &b| y[a].total_cmp(&y[b]));
        (self.x[0][at.unwrap_or(0)], y[at.unwrap_or(0)])
    }

    /// Places of the least and the greatest response, in this order.
    pub fn extremes(&self) -> [f64; 2] {
        let y = self.smooth();
        let top = (0..y.len()).max_by(|&a, &b| y[a].total_cmp(&y[b]));
        [self.lowest().0, self.x[0][top.unwrap_or(0)]]
    }

    /// First x at which the smoothed response is past the middle of its edges.
    pub fn middle(&self) -> f64 {
        let (y, x) = (self.smooth(), &self.x[0]);
        let (first, last) = (self.edge(false), self.edge(true));
        let half = (first + last) / 2.0;
        let past = |i: &usize| (y[*i] - half) * (last - first) >= 0.0;
        x[(0..y.len()).find(past).unwrap_or(y.len() / 2)]
    }

    /// Slope and intercept of a straight line through (u, v), where both are finite.
    pub fn line(u: impl Iterator<Item = f64>, v: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
        let both = |&(u, v): &(f64, f64)| u.is_finite() && v.is_finite();
        let pairs: Vec<(f64, f64)> = u.zip(v).filter(both).collect();
        let n = pairs.len() as f64;
        let mean = |f: fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>() / n;
        let (mu, mv) = (mean(|p| p.0), mean(|p| p.1));
        let suu: f64 = pairs.iter().map(|p| (p.0 - mu).powi(2)).sum();
        let suv: f64 = pairs.iter().map(|p| (p.0 - mu) * (p.1 - mv)).sum();
        (pairs.len() > 1 && suu > 0.0).then(|| (suv / suu, mv - suv / suu * mu))
    }

    /// Rate of the exponential that leads from one edge towards the other, and the level it
    /// leaves: a·exp(−b x) + c.
    pub fn decay(&self) -> (f64, f64, f64) {
        let (x, y) = (&self.x[0], &self.y);
        let (first, last) = (self.edge(false), self.edge(true));
        let (low, high) = self.y_range();
        let margin = 0.05 * (high - low);
        // The flat side is the asymptote.
        let quarter = y.len() / 4;
        let bend = |r: std::ops::Range<usize>| (y[r.end - 1] - y[r.start]).abs();
        let n = y.len();
        let flat_last = n < 8 || bend(n - quarter..n) <= bend(0..quarter);
        let level = match (flat_last, first > last) {
            (true, true) => low - margin,
            (true, false) => high + margin,
            (false, true) => high + margin,
            (false, false) => low - margin,
        };
        let log = y.iter().map(|v| (v - level).abs().ln());
        let slope = Sample::line(x.iter().copied(), log);
        let (slope, at_zero) = slope.unwrap_or((-1.0 / self.span(0), 0.0));
        let sign = if y[n / 2] >= level { 1.0 } else { -1.0 };
        (sign * at_zero.exp(), -slope, level)
    }

    /// The phase of the wave of angular frequency `w` around the mean.
    pub fn phase(&self, w: f64) -> f64 {
        let mean = self.y.iter().sum::<f64>() / self.y.len() as f64;
        let rows = self.x[0].iter().zip(&self.y);
        let (s, c) = rows.fold((0.0, 0.0), |(s, c), (x, y)| {
            let off = y - mean;
            (s + off * libm::sin(w * x), c + off * libm::cos(w * x))
        });
        libm::atan2(c, s)
    }

    /// The angular frequency with most power among 1/8 to n/4 periods along the range.
    pub fn frequency(&self) -> f64 {
        let (x, span) = (&self.x[0], self.span(0));
        let mean = self.y.iter().sum::<f64>() / self.y.len() as f64;
        let stride = self.y.len().div_ceil(512);
        let most = (self.y.len() / stride / 4).clamp(1, 64);
        let power = |w: f64| {
            let (mut s, mut c) = (0.0, 0.0);
            for i in (0..self.y.len()).step_by(stride) {
                s += (self.y[i] - mean) * libm::sin(w * x[i]);
                c += (self.y[i] - mean) * libm::cos(w * x[i]);
            }
            s * s + c * c
        };
        let step = 2.0 * std::f64::consts::PI / span / 8.0;
        let candidates = (1..=8 * most).map(|k| k as f64 * step);
        let best = candidates.max_by(|a, b| power(*a).total_cmp(&power(*b)));
        best.unwrap_or(step)
    }
}

/// Least and greatest number; eight at a time, so that one does not wait for the last.
fn range(v: &[f64]) -> (f64, f64) {
    let (mut low, mut high) = ([f64::INFINITY; 8], [f64::NEG_INFINITY; 8]);
    let (eights, rest) = v.as_chunks::<8>();
    for eight in eights {
        for k in 0..8 {
            low[k] = if eight[k] < low[k] { eight[k] } else { low[k] };
            high[k] = if eight[k] > high[k] {
                eight[k]
            } else {
                high[k]
            };
        }
    }
    let least = low
        .iter()
        .chain(rest)
        .copied()
        .fold(f64::INFINITY, f64::min);
    let most = high.iter().chain(rest).copied();
    (least, most.fold(f64::NEG_INFINITY, f64::max))
}
