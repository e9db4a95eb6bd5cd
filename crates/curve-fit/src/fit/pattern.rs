//! Whether residuals are noise: neighbours along a predictor that are alike are what a curve has missed.

use super::plan::Plan;
use super::residuals::{Shared, widen};
use crate::pass::{Table, whole};
use fitzroy::Result;
use fitzroy_graph::special::ndtr;

/// Residuals up to which they are put in the order of every predictor; of more, some are.
pub(super) const MOST_SORTED: usize = 1 << 16;
/// Fewer say nothing.
const FEWEST: usize = 12;
/// What neighbours must have in common, as a correlation: less does not matter, however sure it is.
const LEAST_ALIKE: f64 = 0.05;

/// Residuals before one that are looked at besides its neighbour, if there are many times more: a peak or a wave
/// that was missed by little is as wide.
const REACHES: [usize; 2] = [4, 16];

/// How alike neighbours are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pattern {
    /// The predictor along which they are, by number; none for the order of rows.
    pub along: Option<usize>,
    /// The probability that independent residuals of any variances look so much alike, along this or any other.
    pub p: f64,
}

/// The strongest pattern of `residuals`, of which there is one for every so many rows (`stride`), along any
/// predictor; within each data set if there are several.
pub(super) fn strongest(
    plan: &Plan,
    table: &dyn Table,
    residuals: &[f64],
    stride: usize,
) -> Result<Option<Pattern>> {
    let neighbours = Neighbours::new(plan);
    // Files are not read again for it.
    if plan.roles.predictors.is_empty() || stride > 1 {
        return Ok(neighbours.in_order(residuals));
    }
    whole(table, |columns| neighbours.strongest(columns, residuals))
}

/// Along which predictors residuals have neighbours.
pub(super) struct Neighbours {
    /// Residuals that say something.
    fewest: usize,
    /// Predictors that are labels of data sets, by number, and the others.
    sets: Vec<usize>,
    numeric: Vec<usize>,
}

impl Neighbours {
    /// Those of the curve of `plan`.
    pub(super) fn new(plan: &Plan) -> Neighbours {
        let parameters = plan.roles.parameters.iter();
        let labels: Vec<&String> = parameters
            .filter_map(|p| p.indexed.as_ref())
            .map(|(_, column, _)| column)
            .collect();
        let is_label = |k: &usize| labels.contains(&&plan.roles.predictors[*k]);
        let (sets, numeric) = (0..plan.roles.predictors.len()).partition(is_label);
        Neighbours {
            sets,
            numeric,
            ..Neighbours::along_all(0, plan.free.len())
        }
    }

    /// Those of a curve of `n_parameters` parameters over `n_columns` predictors that no formula is known of.
    pub(super) fn along_all(n_columns: usize, n_parameters: usize) -> Neighbours {
        Neighbours {
            fewest: FEWEST.max(2 * n_parameters),
            sets: Vec::new(),
            numeric: (0..n_columns).collect(),
        }
    }

    /// The pattern in the order of rows.
    fn in_order(&self, residuals: &[f64]) -> Option<Pattern> {
        (residuals.len() >= self.fewest).then(|| Pattern {
            along: None,
            p: probability(residuals),
        })
    }

    /// The strongest pattern along any predictor, of which `columns` has the values.
    pub(super) fn strongest(&self, columns: &[&[f64]], residuals: &[f64]) -> Option<Pattern> {
        if self.numeric.is_empty() && self.sets.is_empty() {
            return self.in_order(residuals);
        }
        if residuals.len() < self.fewest {
            return None;
        }
        let mut best: Option<Pattern> = None;
        for &k in &self.numeric {
            let own = self.probability_along(k, columns, residuals);
            // As many looks, as many chances.
            let p = (own * self.numeric.len() as f64).min(1.0);
            if best.is_none_or(|b| p < b.p) {
                best = Some(Pattern { along: Some(k), p });
            }
        }
        best
    }

    /// The probability of residuals so much alike in the order of predictor `k`, within each data set.
    fn probability_along(&self, k: usize, columns: &[&[f64]], residuals: &[f64]) -> f64 {
        if self.sets.is_empty() && columns[k].is_sorted() {
            return probability(residuals);
        }
        let mut order: Vec<usize> = (0..residuals.len()).collect();
        order.sort_by(|&i, &j| {
            let sets = self.sets.iter();
            let first = sets
                .map(|&s| columns[s][i].total_cmp(&columns[s][j]))
                .find(|o| o.is_ne());
            first.unwrap_or_else(|| columns[k][i].total_cmp(&columns[k][j]))
        });
        let sorted: Vec<f64> = order.iter().map(|&i| residuals[i]).collect();
        probability(&sorted)
    }
}

/// The smallest of some probabilities, times their number, of tests of residuals in their order, each one-sided: of
/// so few runs of one sign (Wald and Wolfowitz 1940), and of so large a sum of products of residuals with the sum of
/// those before them ([`REACHES`]) by the root of the sum of the squares of these products, which needs no equal
/// variances (White 1980).
fn probability(r: &[f64]) -> f64 {
    let n = r.len() as f64;
    let [first, own @ ..] = r else {
        return 1.0;
    };
    let shared = Shared::of(&r[..own.len()], own);
    let up = shared.up + f64::from(u8::from(*first > 0.0));
    let runs = 1.0 + shared.changes;
    let expected = 1.0 + 2.0 * up * (n - up) / n;
    let spread = ((expected - 1.0) * (expected - 2.0) / (n - 1.0)).sqrt();
    // Half a run more, as for any count that is compared with a normal distribution.
    let few = (runs + 0.5 - expected) / spread;
    let far = far(r);
    if !(shared.products / shared.own >= LEAST_ALIKE && shared.squares > 0.0) {
        return far;
    }
    let by_runs = if few.is_finite() { ndtr(few) } else { 1.0 };
    let by_products = ndtr(-shared.products / shared.squares.sqrt());
    (3.0 * by_runs.min(by_products)).min(far)
}

/// What residuals that are not neighbours tell.
fn far(r: &[f64]) -> f64 {
    let tests = REACHES.iter().filter(|reach| r.len() >= FEWEST * **reach);
    let (mut sums, mut width, mut least) = (Vec::new(), 1, 1.0_f64);
    for &reach in tests {
        if sums.is_empty() {
            sums = r.to_vec();
        }
        // Sums of two, of four and so on take turns: a reach is a power of two.
        while width < reach {
            widen(&mut sums, width);
            width *= 2;
        }
        let shared = Shared::of(&sums[..r.len() - 1], &r[1..]);
        let enough = LEAST_ALIKE * (reach as f64).sqrt();
        if shared.products / shared.own >= enough && shared.squares > 0.0 {
            least = least.min(ndtr(-shared.products / shared.squares.sqrt()));
        }
    }
    (3.0 * least).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::probability;

    #[test]
    fn waves_have_a_pattern_and_alternating_residuals_have_none() {
        let wave: Vec<f64> = (0..60).map(|i| (f64::from(i) * 0.2).sin()).collect();
        assert!(probability(&wave) < 1e-9);
        let mixed: Vec<f64> = (0..60).map(|i| f64::from((i * 37) % 61) - 30.0).collect();
        assert!(probability(&mixed) > 0.01, "{}", probability(&mixed));
        // One outlier is no pattern, however large.
        let mut outlier = mixed;
        outlier[30] = 1e6;
        assert!(probability(&outlier) > 0.01);
    }
}
