//! Draws in order: ranks, normal scores, quantiles. One sort serves every diagnostic of a scalar.

use super::chains::Chains;
use super::order;
use fitzroy_graph::special::ndtri;

/// Φ⁻¹((r − 3/8)/(S + 1/4)) for every whole and half rank r of S numbers.
///
/// The scores depend on S alone, so one table serves all scalars of a trace.
#[derive(Clone, Debug)]
pub struct Scores {
    /// At 2r stands the score of rank r, r = 1, 1½, .. S.
    by_twice_rank: Vec<f64>,
}

impl Scores {
    /// The scores of `size` ranked numbers.
    pub fn new(size: usize) -> Self {
        let score = |twice: usize| {
            let rank = twice as f64 / 2.0;
            ndtri((rank - 0.375) / (size as f64 + 0.25))
        };
        Scores {
            by_twice_rank: (0..=2 * size).map(score).collect(),
        }
    }

    /// The scores that the split form of `x` needs.
    pub fn of(x: &Chains) -> Self {
        Scores::new(2 * x.n_chains() * (x.n_draws() / 2))
    }

    /// Whether this table belongs to the split form of `x`.
    pub fn fits(&self, x: &Chains) -> bool {
        self.by_twice_rank.len() == 4 * x.n_chains() * (x.n_draws() / 2) + 1
    }
}

/// The draws of one scalar together with their order. Draws must not be NaN.
pub struct Ordered<'a> {
    pub(crate) x: Chains<'a>,
    /// All draws, ascending.
    pub(crate) sorted: Vec<f64>,
    /// Position and value of every draw that the halves keep, ascending by value.
    kept: Vec<(f64, u32)>,
}

impl<'a> Ordered<'a> {
    /// Sorts the draws of `x`.
    pub fn new(x: Chains<'a>) -> Self {
        let mut kept = order::ascending(x.values());
        let sorted = kept.iter().map(|pair| pair.0).collect();
        let n = x.n_draws();
        if n % 2 == 1 {
            kept.retain(|&(_, i)| i as usize % n != n / 2);
        }
        Ordered { x, sorted, kept }
    }

    /// The quantile of all draws, see [`quantile_of_sorted`].
    pub fn quantile(&self, p: f64) -> f64 {
        quantile_of_sorted(&self.sorted, p)
    }

    /// Normal scores of the draws among the halves, in the place of the draws. The middle draw of
    /// a chain of odd length is left at 0; halves never read it.
    pub(crate) fn scores(&self, scores: &Scores) -> Vec<f64> {
        let mut z = vec![0.0; self.x.values().len()];
        scatter_scores(&self.kept, scores, &mut z);
        z
    }

    /// Normal scores of abs(draw − median), the median taken over the halves; `None` where that
    /// median is not finite.
    pub(crate) fn folded_scores(&self, scores: &Scores) -> Option<Vec<f64>> {
        let median = self.median_of_halves();
        if !median.is_finite() {
            return None;
        }
        // The lower half falls towards the median and the upper half rises from it, so merging
        // the two sorts the distances.
        let distance = |(v, place): (f64, u32)| ((v - median).abs(), place);
        let kept = &self.kept;
        let (mut below, mut above) = (kept.len() / 2, kept.len() / 2);
        let mut folded = Vec::with_capacity(kept.len());
        while below > 0 && above < kept.len() {
            let (low, high) = (distance(kept[below - 1]), distance(kept[above]));
            if low.0 <= high.0 {
                folded.push(low);
                below -= 1;
            } else {
                folded.push(high);
                above += 1;
            }
        }
        folded.extend(kept[..below].iter().rev().map(|&pair| distance(pair)));
        folded.extend(kept[above..].iter().map(|&pair| distance(pair)));
        let mut z = vec![0.0; self.x.values().len()];
        scatter_scores(&folded, scores, &mut z);
        Some(z)
    }

    /// Mean of the two middle draws of the halves.
    fn median_of_halves(&self) -> f64 {
        let k = self.kept.len();
        (self.kept[k / 2 - 1].0 + self.kept[k / 2].0) / 2.0
    }
}

/// Writes the score of every pair's average rank to its place in `z`.
fn scatter_scores(ascending: &[(f64, u32)], scores: &Scores, z: &mut [f64]) {
    let mut start = 0;
    while start < ascending.len() {
        let mut end = start + 1;
        while end < ascending.len() && ascending[end].0 == ascending[start].0 {
            end += 1;
        }
        // Ranks start + 1 ..= end share their average.
        let score = scores.by_twice_rank[start + 1 + end];
        for &(_, place) in &ascending[start..end] {
            z[place as usize] = score;
        }
        start = end;
    }
}

/// The sorted copy of `x`, which must hold no NaN.
pub(crate) fn sorted(x: &[f64]) -> Vec<f64> {
    order::ascending(x).into_iter().map(|(v, _)| v).collect()
}

/// The quantile of ascending numbers at `p` in [0, 1], Hyndman and Fan's type 7, rounded as NumPy
/// rounds it: the tail ESS compares draws with it, so every bit counts.
///
/// With h = (S − 1)p, i = ⌊h⌋, g = h − i and d = x_{i+1} − x_i it is x_i + d g where g < ½, else
/// x_{i+1} − d (1 − g). NaN of nothing, and for p outside [0, 1].
pub fn quantile_of_sorted(x: &[f64], p: f64) -> f64 {
    if x.is_empty() || !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let h = (x.len() - 1) as f64 * p;
    let below = h.floor();
    let g = h - below;
    let low = x[below as usize];
    let Some(&high) = x.get(below as usize + 1) else {
        return low;
    };
    let d = high - low;
    if g < 0.5 {
        low + d * g
    } else {
        high - d * (1.0 - g)
    }
}

/// The quantile of `x` in any order; NaN when an element is NaN.
pub fn quantile(x: &[f64], p: f64) -> f64 {
    if x.iter().any(|v| v.is_nan()) {
        return f64::NAN;
    }
    quantile_of_sorted(&sorted(x), p)
}
