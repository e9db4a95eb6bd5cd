//! Whether residuals are noise: neighbours along a predictor that are alike are what a curve has missed.

use super::plan::Plan;
use crate::pass::{Table, visit_all};
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

/// Partial sums.
const LANES: usize = 8;

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
    let n_x = plan.roles.predictors.len();
    // Files are not read again for it.
    if n_x == 0 || stride > 1 {
        return Ok(neighbours.in_order(residuals));
    }
    let mut columns = vec![Vec::with_capacity(residuals.len()); n_x];
    visit_all(table, &mut |_, values| {
        let both = columns.iter_mut().zip(values);
        both.for_each(|(to, from)| to.extend_from_slice(from));
        Ok(())
    })?;
    let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    Ok(neighbours.strongest(&columns, residuals))
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
            fewest: FEWEST.max(2 * plan.free.len()),
            sets,
            numeric,
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
        if self.sets.is_empty() && columns[k].is_sorted_by(|a, b| a.total_cmp(b).is_le()) {
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
    let up = r.iter().filter(|x| **x > 0.0).count() as f64;
    let runs = 1.0
        + r.windows(2)
            .filter(|w| (w[0] > 0.0) != (w[1] > 0.0))
            .count() as f64;
    let expected = 1.0 + 2.0 * up * (n - up) / n;
    let spread = ((expected - 1.0) * (expected - 2.0) / (n - 1.0)).sqrt();
    // Half a run more, as for any count that is compared with a normal distribution.
    let few = (runs + 0.5 - expected) / spread;
    let [products, squares, own] = alike(r, 1);
    if !(products / own >= LEAST_ALIKE && squares > 0.0) {
        return far(r);
    }
    let by_runs = if few.is_finite() { ndtr(few) } else { 1.0 };
    let by_products = ndtr(-products / squares.sqrt());
    (3.0 * by_runs.min(by_products)).min(far(r))
}

/// What residuals that are not neighbours tell.
fn far(r: &[f64]) -> f64 {
    let tests = REACHES.iter().filter(|reach| r.len() >= FEWEST * **reach);
    let each = tests.map(|reach| {
        let [products, squares, own] = alike(r, *reach);
        match products / own >= LEAST_ALIKE * (*reach as f64).sqrt() && squares > 0.0 {
            true => ndtr(-products / squares.sqrt()),
            false => 1.0,
        }
    });
    (3.0 * each.fold(1.0, f64::min)).min(1.0)
}

/// Sums over residuals after the first: of products with the sum of at most `reach` before them, of the squares of
/// these products, and of their own squares. `reach` is a power of two: sums of two, of four and so on take turns.
fn alike(r: &[f64], reach: usize) -> [f64; 3] {
    let mut before = r.to_vec();
    let mut width = 1;
    while width < reach.min(r.len()) {
        let last = before.clone();
        let (_, later) = before.split_at_mut(width);
        later.iter_mut().zip(&last).for_each(|(b, l)| *b += l);
        width *= 2;
    }
    // Eight partial sums of each, so that one addition does not wait for the last.
    let mut partial = [[0.0; LANES]; 3];
    let mut add = |x: &[f64], before: &[f64]| {
        for (lane, (x, before)) in x.iter().zip(before).enumerate() {
            let product = x * before;
            partial[0][lane] += product;
            partial[1][lane] += product * product;
            partial[2][lane] += x * x;
        }
    };
    let own = r.get(1..).unwrap_or(&[]);
    let (whole, rest) = own.split_at(own.len() / LANES * LANES);
    for (x, before) in whole.chunks_exact(LANES).zip(before.chunks_exact(LANES)) {
        add(x, before);
    }
    add(rest, &before[whole.len()..]);
    partial.map(|sums| sums.iter().sum())
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
