//! R-hat: do the chains agree? In its rank-normalised split form and for superchains.
//!
//! References: Vehtari, Gelman, Simpson, Carpenter, Bürkner, "Rank-normalization, folding, and
//! localization: an improved R-hat", Bayesian Analysis 16 (2021); Margossian, Hoffman, Sountsov,
//! Riou-Durand, Vehtari, Gelman, "Nested R-hat", Bayesian Analysis (2024).

use super::chains::{Chains, mean, variance};
use super::ranks::{Ordered, Scores};
use crate::{Error, ErrorKind, Result};

/// Rank-normalised split R-hat: the larger of the R-hat of the normal scores of the split chains
/// and that of the scores of their distances from the median.
///
/// Dimensionless; 1 when the chains agree, and [`RHAT_LIMIT`](super::RHAT_LIMIT) is the usual
/// bound. NaN for one chain, fewer than four draws, any NaN, or a constant. ∞ when every chain is
/// constant at a value of its own.
pub fn rhat(x: Chains) -> f64 {
    if !x.usable() || x.n_chains() < 2 {
        return f64::NAN;
    }
    rhat_ordered(&Ordered::new(x), &Scores::of(&x))
}

/// [`rhat`] of draws already in order, for two chains or more.
pub(crate) fn rhat_ordered(draws: &Ordered, scores: &Scores) -> f64 {
    if draws.x.n_chains() < 2 {
        return f64::NAN;
    }
    rhat_of_scores(&draws.scores(scores), draws, scores)
}

/// [`rhat_ordered`] when the normal scores `z` are known.
pub(crate) fn rhat_of_scores(z: &[f64], draws: &Ordered, scores: &Scores) -> f64 {
    larger_of_two(z, draws, scores, rhat_of_rows)
}

/// The larger of `measure` on the scores and on the folded scores. As a comparison, not a
/// maximum: a NaN of the first stays, a NaN of the second is passed over.
fn larger_of_two(
    z: &[f64],
    draws: &Ordered,
    scores: &Scores,
    measure: impl Fn(&[&[f64]]) -> f64,
) -> f64 {
    let (n_chains, n_draws) = (draws.x.n_chains(), draws.x.n_draws());
    let of_scores = |z: &[f64]| measure(&Chains::new(z, n_chains, n_draws).halves());
    let bulk = of_scores(z);
    match draws.folded_scores(scores).map(|z| of_scores(&z)) {
        Some(tail) if tail > bulk => tail,
        _ => bulk,
    }
}

/// sqrt((B/W + n − 1)/n) with B = n·variance of the row means and W = mean of the row variances.
fn rhat_of_rows(rows: &[&[f64]]) -> f64 {
    let n = rows[0].len() as f64;
    let means: Vec<f64> = rows.iter().map(|row| mean(row)).collect();
    let variances: Vec<f64> = rows.iter().map(|row| variance(row, 1)).collect();
    let between = n * variance(&means, 1);
    ((between / mean(&variances) + n - 1.0) / n).sqrt()
}

/// Nested R-hat, rank-normalised and split, for chains that come in superchains: tasks of an
/// array, or chains that share a starting point. It is of use where chains are many and short.
///
/// `superchain` names the superchain of every chain; all must hold equally many chains.
/// sqrt(1 + B/W) with B the variance of the superchain means and W the mean over superchains of
/// the variance of their chain means plus the mean of their chains' variances.
///
/// NaN in the cases of [`rhat`]. An error when the names do not match the chains or the
/// superchains differ in size.
pub fn rhat_nested(x: Chains, superchain: &[usize]) -> Result<f64> {
    let groups = superchain_members(superchain, x.n_chains())?;
    if !x.usable() || x.n_chains() < 2 {
        return Ok(f64::NAN);
    }
    let (draws, scores) = (Ordered::new(x), Scores::of(&x));
    let nested = |rows: &[&[f64]]| nested_of_rows(rows, &groups);
    let z = draws.scores(&scores);
    Ok(larger_of_two(&z, &draws, &scores, nested))
}

/// Chains from which on they come in superchains.
const MANY_CHAINS: usize = 256;
/// Superchains of many chains.
const SUPERCHAINS: usize = 16;

/// How many superchains `n_chains` chains are taken as: chain i belongs to superchain i modulo this.
/// None below 256 chains, or where they cannot be shared out evenly among 16.
///
/// Chains of a run start where the first of their superchain does. Draws of chains with starts of
/// their own may be taken so as well: the grouping is then arbitrary, and as good.
pub fn superchains(n_chains: usize) -> Option<usize> {
    let many = n_chains >= MANY_CHAINS && n_chains.is_multiple_of(SUPERCHAINS);
    many.then_some(SUPERCHAINS)
}

/// [`rhat_nested`] of as many chains as come in superchains, when their normal scores `z` are known;
/// NaN for fewer.
pub(crate) fn nested_of_scores(z: &[f64], draws: &Ordered, scores: &Scores) -> f64 {
    let n_chains = draws.x.n_chains();
    let Some(n) = superchains(n_chains) else {
        return f64::NAN;
    };
    let members = |s: usize| (s..2 * n_chains).step_by(n).collect::<Vec<_>>();
    let groups: Vec<Vec<usize>> = (0..n).map(members).collect();
    larger_of_two(z, draws, scores, |rows| nested_of_rows(rows, &groups))
}

/// The rows of the split array in every superchain.
fn superchain_members(superchain: &[usize], n_chains: usize) -> Result<Vec<Vec<usize>>> {
    if superchain.len() != n_chains {
        return Err(Error::new(
            ErrorKind::Usage,
            format!(
                "nested R-hat got {} superchain numbers for {n_chains} chains; give one per chain",
                superchain.len()
            ),
        ));
    }
    let mut names = superchain.to_vec();
    names.sort_unstable();
    names.dedup();
    let members = |name: usize| -> Vec<usize> {
        let halves = superchain.iter().chain(superchain);
        let rows = halves.enumerate().filter(|(_, s)| **s == name);
        rows.map(|(row, _)| row).collect()
    };
    let groups: Vec<Vec<usize>> = names.iter().map(|&name| members(name)).collect();
    match groups.iter().find(|g| g.len() != groups[0].len()) {
        None => Ok(groups),
        Some(other) => Err(Error::new(
            ErrorKind::Usage,
            format!(
                "nested R-hat needs superchains of equal size; got {} and {} chains",
                groups[0].len() / 2,
                other.len() / 2
            ),
        )),
    }
}

fn nested_of_rows(rows: &[&[f64]], groups: &[Vec<usize>]) -> f64 {
    let mut means = Vec::new();
    let mut within = Vec::new();
    for group in groups {
        let chain_means: Vec<f64> = group.iter().map(|&r| mean(rows[r])).collect();
        let spreads: Vec<f64> = group.iter().map(|&r| variance(rows[r], 1)).collect();
        means.push(mean(&chain_means));
        // The split gives every superchain two rows or more, so this variance exists.
        within.push(variance(&chain_means, 1) + mean(&spreads));
    }
    (1.0 + variance(&means, 1) / mean(&within)).sqrt()
}
