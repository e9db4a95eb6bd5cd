//! Whether a warm-up has learned what it was to learn.
//!
//! It may end where three things hold at the end of a window: the chains are where they belong, for
//! pieces of all of them have the same means; their coordinates stay what they were; and the metric
//! that the last two windows teach is the one with which the last of them was drawn, so that more of the
//! same teaches nothing. None of it touches the draws' validity: a warm-up that ends too early costs
//! gradients, as one that is too short does.

use super::chain::Chain;
use super::estimate::moments;
use super::metric::Metric;
use super::warmup::stretch_of;
use super::windows::n_learning;
use super::{Settings, Target};

/// Pieces that all chains together are cut into, at least, and pieces of each chain.
const PIECES: usize = 8;
const PIECES_OF_CHAIN: usize = 2;
/// Rows of a piece, at least.
const LEAST_ROWS: usize = 10;
/// The variance of the means of pieces in units of that within them, at most: R-hat below 1.05, and ten
/// effective draws in a piece.
const APART: f64 = 0.1;
/// Standard deviations of a metric before and after differ by this factor in the mean square, at most.
const CHANGE: f64 = 1.15;
/// Transitions that tune the step size alone at the end, at least, and in parts of those before.
const LEAST_TAIL: usize = 50;
const TAIL: f64 = 0.15 / 0.85;

/// The end of a warm-up that has settled at transition `now`.
pub(crate) fn end(now: usize) -> usize {
    now + LEAST_TAIL.max((TAIL * now as f64).ceil() as usize)
}

/// Whether all chains have been in the same place over the last two windows, in every coordinate, and at
/// the same log density over the last one.
pub(crate) fn agree<T: Target>(chains: &[Chain<T>], settings: &Settings, end: usize) -> bool {
    if chains.iter().any(|chain| chain.stuck > 0) {
        return false;
    }
    let densities = chains.iter().map(|c| c.windows[0].log_densities.clone());
    let dim = chains[0].target.dim();
    let last = end - 1;
    let before = stretch_of(settings.tune, last).0.saturating_sub(1);
    let learning = [last, before].map(|at| n_learning(settings, dim, at));
    let learning = learning.into_iter().min().unwrap_or(0).min(chains.len());
    let positions = chains[..learning].iter().map(|c| {
        let [last, before] = &c.windows;
        [&before.positions[..], &last.positions].concat()
    });
    are_alike(&densities.collect::<Vec<_>>(), 1) && are_alike(&positions.collect::<Vec<_>>(), dim)
}

/// Whether pieces of `chains`, each row-major `n × dim` with an n of its own, have the same means.
fn are_alike(chains: &[Vec<f64>], dim: usize) -> bool {
    let n = chains.iter().map(|rows| rows.len() / dim).min();
    let of_chain = PIECES.div_ceil(chains.len()).max(PIECES_OF_CHAIN);
    let length = n.unwrap_or(0) / of_chain;
    if length < LEAST_ROWS {
        return false;
    }
    let mut means = Vec::new();
    let mut within = vec![0.0; dim];
    for rows in chains {
        let last = &rows[rows.len() - of_chain * length * dim..];
        for piece in last.chunks_exact(length * dim) {
            let (mean, variances) = moments(piece, dim);
            means.extend(mean);
            within.iter_mut().zip(variances).for_each(|(w, v)| *w += v);
        }
    }
    let n_pieces = (of_chain * chains.len()) as f64;
    let (_, between) = moments(&means, dim);
    let mut both = between.iter().zip(&within);
    // Not for NaN.
    both.all(|(between, within)| *between <= APART * within / n_pieces)
}

/// Whether what was learned is what was known: the metric is of the same family, takes the same steps,
/// and has nearly the same variances.
pub(crate) fn is_kept(before: &Metric, after: &Metric, dim: usize) -> bool {
    let same = before.kind() == after.kind() && before.parts() == after.parts();
    let (old, new) = (before.variances(dim), after.variances(dim));
    let changes = old
        .iter()
        .zip(&new)
        .map(|(old, new)| 0.5 * libm::log(new / old));
    let square = changes.map(|c| c * c).sum::<f64>() / dim as f64;
    same && square.sqrt() <= libm::log(CHANGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    const DIM: usize = 3;

    /// Four chains of normal rows, number k of them shifted by `shift(k, row)` in the last coordinate.
    fn chains(n: usize, shift: impl Fn(usize, usize) -> f64) -> Vec<Vec<f64>> {
        let rows = |k: usize| {
            let mut rng = Rng::new(3, 0, k as u32, 0, Purpose::Test);
            let mut rows: Vec<f64> = (0..n * DIM).map(|_| rng.normal()).collect();
            for row in 0..n {
                rows[row * DIM + DIM - 1] += shift(k, row);
            }
            rows
        };
        (0..4).map(rows).collect()
    }

    /// Catches: one coordinate looked at for all, chains compared and not their halves, or halves and
    /// not chains.
    #[test]
    fn chains_are_alike_that_have_been_in_one_place() {
        let alike = |n, shift: &dyn Fn(usize, usize) -> f64| are_alike(&chains(n, shift), DIM);
        assert!(alike(100, &|_, _| 0.0));
        assert!(!alike(100, &|k, _| if k == 2 { 1.5 } else { 0.0 }));
        assert!(!alike(100, &|_, row| 0.02 * row as f64));
        assert!(!alike(100, &|_, _| f64::NAN));
        // The same place on average, and never there together.
        assert!(!alike(100, &|k, row| if (k % 2 == 0) == (row < 50) {
            1.0
        } else {
            -1.0
        }));
        assert!(!alike(2 * LEAST_ROWS - 1, &|_, _| 0.0));
        assert!(!are_alike(&[Vec::new(), vec![0.0; 300]], DIM));
    }

    /// The latest rows of each, where some chains have more of them.
    #[test]
    fn what_came_first_is_left_out_of_longer_chains() {
        let mut some = chains(100, |_, _| 0.0);
        some[1].splice(0..0, [1000.0; 40 * DIM]);
        assert!(are_alike(&some, DIM));
    }

    #[test]
    fn few_chains_are_cut_into_more_pieces() {
        let one = |n| are_alike(&chains(n, |_, _| 0.0)[..1], DIM);
        assert!(!one(PIECES * LEAST_ROWS - 1) && one(PIECES * 50));
    }

    #[test]
    fn a_metric_is_kept_that_knows_nearly_the_same() {
        let diagonal = |variances: [f64; 4]| Metric::diagonal(&variances);
        let is_kept =
            |after: [f64; 4]| is_kept(&diagonal([1.0, 4.0, 9.0, 1e6]), &diagonal(after), 4);
        assert!(is_kept([1.1, 3.9, 9.0, 1.2e6]));
        assert!(!is_kept([1.0, 4.0, 9.0, 2e6]));
        assert!(!is_kept([1.5, 5.0, 6.5, 1.4e6]));
    }

    #[test]
    fn the_step_size_is_tuned_for_as_large_a_part_as_in_a_full_warm_up() {
        assert_eq!((end(120), end(850), end(8500)), (170, 1000, 10_000));
    }
}
