//! Pathfinder: starting points from normal approximations along the way to the mode.
//!
//! Each chain climbs the log density by L-BFGS. At every step the gradients of the last steps give
//! an approximation of the inverse Hessian, hence a normal approximation of the target; the one
//! with the largest evidence lower bound (ELBO) is drawn from. Chains then take their starts from
//! the draws of all paths, by importance.
//!
//! Reference: Zhang, Carpenter, Gelman, Vehtari, "Pathfinder: parallel quasi-Newton variational
//! inference", JMLR 23, 2022; numbers of its algorithms stand at the functions.

use super::chain::Chain;
use super::normal_path::{Ascent, NormalFit};
use super::pool::Progress;
use super::run::Session;
use super::trajectory::Point;
use super::vector;
use super::{Adapt, Stream, Target};
use crate::rng::{Purpose, Rng};

/// Steps of an ascent, at most.
const STEPS: usize = 1000;
/// Draws that an ELBO is estimated from.
const ELBO_DRAWS: usize = 10;
/// Approximations of a path whose ELBO is estimated again.
const PROMISING: usize = 3;
/// Draws for that; those of the best are kept.
const DRAWS: usize = 50;
/// Counters of the random numbers begin here; those of the jitter lie below.
const FIRST_COUNTER: u32 = 1 << 20;

/// What one path found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Draws with a finite log density, row-major.
    pub(crate) draws: Vec<f64>,
    /// ln p − ln q of each.
    pub(crate) log_weights: Vec<f64>,
    /// Their mean, −∞ if a draw had no finite one.
    pub(crate) elbo: f64,
}

/// Moves chains from where they are to draws of the approximations their paths found. A chain for
/// which there are none stays.
pub(crate) fn move_chains<T: Target + Send>(chains: &mut [Chain<T>], session: &Session<'_>) {
    let mut paths: Vec<_> = chains.iter_mut().map(|c| (c, Found::default())).collect();
    session.threads.run_all(&mut paths, |(chain, found)| {
        let start = chain.space.candidate.clone();
        let gradients = &mut chain.gradients;
        *found = path(&mut chain.target, start, chain.stream, gradients);
        Progress::Done
    });
    let all: Vec<Found> = paths.into_iter().map(|(_, found)| found).collect();
    let taken = match session.settings.adapt {
        Adapt::Pooled => resample(&all, chains.len(), chains[0].stream),
        Adapt::PerChain => {
            let alone = all.iter().zip(chains.iter());
            let alone = alone.map(|(f, c)| resample(std::slice::from_ref(f), 1, c.stream));
            alone.map(|one| one.into_iter().next().flatten()).collect()
        }
    };
    for (chain, start) in chains.iter_mut().zip(taken) {
        let Some(start) = start else { continue };
        let before = chain.space.candidate.clone();
        vector::load(&mut chain.space.candidate.position, &start);
        chain.gradients += 1;
        if !chain.space.candidate.evaluate(&mut chain.target) {
            chain.space.candidate = before;
        }
    }
}

/// One path from `start`: algorithm 1, but for the choice of the approximation.
///
/// The paper takes the largest of the ELBOs from a few draws each. The largest of many noisy
/// estimates is mostly one with luck: of 300 normals of condition 100 in 5 coordinates 19 were
/// represented by an approximation far from the best. So the most promising are estimated once
/// more, by draws of their own, and these are the draws that starts are taken from.
pub(crate) fn path(
    target: &mut impl Target,
    start: Point,
    stream: Stream,
    gradients: &mut u64,
) -> Found {
    let random = |i: usize| {
        let (seed, replicate, chain) = (stream.seed, stream.stream, stream.chain);
        Rng::new(
            seed,
            replicate,
            chain,
            FIRST_COUNTER + i as u32,
            Purpose::Init,
        )
    };
    let mut ascent = Ascent::new(start, target.dim());
    let mut promising: Vec<(f64, NormalFit)> = Vec::new();
    for step in 0..STEPS {
        let goes_on = ascent.step(target, gradients);
        if let Some(fit) = ascent.fit() {
            let elbo = draws_of(&fit, ELBO_DRAWS, target, &mut random(step), gradients).elbo;
            let place = promising.partition_point(|(better, _)| *better >= elbo);
            if elbo.is_finite() {
                promising.insert(place, (elbo, fit));
                promising.truncate(PROMISING);
            }
        }
        if !goes_on {
            break;
        }
    }
    let mut best: Option<Found> = None;
    for (k, (_, fit)) in promising.iter().enumerate() {
        let found = draws_of(fit, DRAWS, target, &mut random(STEPS + k), gradients);
        if best.as_ref().is_none_or(|best| found.elbo > best.elbo) {
            best = Some(found);
        }
    }
    best.unwrap_or_default()
}

/// Draws of an approximation, and its ELBO: the mean of their ln p − ln q, −∞ if one is not finite.
fn draws_of(
    fit: &NormalFit,
    n: usize,
    target: &mut impl Target,
    rng: &mut Rng,
    gradients: &mut u64,
) -> Found {
    let mut scratch = vec![0.0; target.dim()];
    let mut found = Found::default();
    for _ in 0..n {
        let (x, log_q) = fit.draw(rng);
        *gradients += 1;
        let log_weight = target.value_and_gradient(&x, &mut scratch) - log_q;
        if log_weight.is_finite() {
            found.elbo += log_weight / n as f64;
            found.draws.extend(x);
            found.log_weights.push(log_weight);
        } else {
            found.elbo = f64::NEG_INFINITY;
        }
    }
    found
}

/// `n` different draws of all paths, each chosen with a probability proportional to its weight
/// among those that are left: algorithm 2. No weight counts more than √S times the mean of the S
/// weights, so that one far draw is not the start of everything (Ionides 2008).
fn resample(paths: &[Found], n: usize, stream: Stream) -> Vec<Option<Vec<f64>>> {
    let logs: Vec<f64> = paths.iter().flat_map(|p| p.log_weights.clone()).collect();
    let draws: Vec<f64> = paths.iter().flat_map(|p| p.draws.clone()).collect();
    if logs.is_empty() {
        return vec![None; n];
    }
    let dim = draws.len() / logs.len();
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut weights: Vec<f64> = logs.iter().map(|l| libm::exp(l - largest)).collect();
    let count = weights.len() as f64;
    let cap = count.sqrt() * weights.iter().sum::<f64>() / count;
    weights.iter_mut().for_each(|w| *w = w.min(cap));
    let (seed, replicate, chain) = (stream.seed, stream.stream, stream.chain);
    let counter = FIRST_COUNTER + (STEPS + PROMISING) as u32;
    let mut rng = Rng::new(seed, replicate, chain, counter, Purpose::Init);
    let one = |_| {
        let total: f64 = weights.iter().sum();
        let mut left = rng.uniform() * total;
        let mut chosen = None;
        for (i, w) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            chosen = Some(i);
            left -= w;
            if left < 0.0 {
                break;
            }
        }
        // None when there are fewer draws than chains.
        let i = chosen?;
        weights[i] = 0.0;
        Some(draws[i * dim..(i + 1) * dim].to_vec())
    };
    (0..n).map(one).collect()
}

#[cfg(test)]
mod tests;
