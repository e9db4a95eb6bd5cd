//! The draws of the warm-up's windows: pooled for estimates, and taken along to other coordinates.

use super::chain::{Chain, Window};
use super::pool::Progress;
use super::run::Session;
use super::warmup::stretch_of;
use super::{Adapt, CoordinateMap, Posterior, Settings, Target};
use std::sync::{Arc, Mutex, PoisonError};

/// Draws that an estimate uses, at most: as many, or so many times the coordinates. Few chains never have
/// more; of a thousand chains the others would only cost time. A scale from 4,096 draws is known to 1 %.
const MOST_POOLED: usize = 4_096;
const MOST_POOLED_PER_COORDINATE: usize = 16;
/// Chains that remember their draws for estimates, at least.
const LEAST_LEARNING: usize = 64;

/// Draws of `dim` coordinates that an estimate uses, at most.
fn most_pooled(dim: usize) -> usize {
    MOST_POOLED.max(MOST_POOLED_PER_COORDINATE * dim)
}

/// How many chains, the first ones, remember their draws in the window that transition `iteration` of the
/// warm-up is in, or in what comes after the last window: as many as fill an estimate.
pub(super) fn n_learning(settings: &Settings, dim: usize, iteration: usize) -> usize {
    if settings.adapt == Adapt::PerChain {
        return usize::MAX;
    }
    let (begin, end) = stretch_of(settings.tune, iteration);
    most_pooled(dim)
        .div_ceil((end - begin).max(1))
        .max(LEAST_LEARNING)
}

/// Draws of several chains: positions and gradients, row-major.
pub(super) type Pooled = (Vec<f64>, Vec<f64>);

/// Positions and gradients of both windows of all chains that are not stuck; of very many draws every second,
/// third or so.
pub(super) fn pool_windows<T: Target>(chains: &[Chain<T>]) -> Pooled {
    let dim = chains[0].target.dim().max(1);
    let free = || chains.iter().filter(|c| c.stuck == 0);
    let windows = || free().flat_map(|chain| &chain.windows);
    let n: usize = windows().map(|w| w.positions.len() / dim).sum();
    let every = n.div_ceil(most_pooled(dim)).max(1);
    let pooled = |rows: fn(&Window) -> &[f64]| {
        let mut pooled = Vec::with_capacity(n.div_ceil(every) * dim);
        let rows = windows().flat_map(|w| rows(w).chunks_exact(dim));
        for row in rows.step_by(every) {
            pooled.extend_from_slice(row);
        }
        pooled
    };
    (pooled(|w| &w.positions), pooled(|w| &w.gradients))
}

/// Offers the posterior a change of coordinates, from the `pooled` windows of the chains, and carries it out.
/// Whether there was one.
pub(super) fn recoordinate<P: Posterior>(
    posterior: &mut P,
    chains: &mut [Chain<P::Target>],
    session: &Session<'_>,
    (positions, gradients): &Pooled,
    last: bool,
) -> bool {
    let Some(map) = posterior.recoordinate(positions, gradients, last) else {
        return false;
    };
    let dim = posterior.dim();
    for chain in chains.iter_mut() {
        // The centre was one of the coordinates before.
        if chain.metric.rotates() {
            chain.metric = Arc::new(chain.metric.straight());
        }
    }
    let n: usize = chains.iter().map(|c| rows_of(c, dim)).sum();
    let few = chains.len() < session.settings.threads;
    let is_heavy = few && n as f64 * posterior.gradient_cost() > HEAVY;
    let posterior = &*posterior;
    session.threads.run_all(chains, |chain| {
        chain.target = posterior.target();
        let point = &mut chain.space.candidate;
        map(&mut point.position.as_flattened_mut()[..dim]);
        point.evaluate(&mut chain.target);
        chain.gradients += 1 + rows_of(chain, dim) as u64;
        if let Some(kept) = &mut chain.warmup {
            kept.positions.chunks_exact_mut(dim).for_each(&map);
        }
        if !is_heavy {
            let Chain {
                windows, target, ..
            } = chain;
            rows(windows, dim).for_each(|row| move_row(row, &map, target));
        }
        Progress::Done
    });
    if is_heavy {
        move_apart(posterior, chains, session.settings.threads, &map);
    }
    true
}

/// Operations from which on it pays to start more threads than there are chains.
const HEAVY: f64 = 1e8;
/// Draws that a thread takes at a time: to ask for each would take longer than to move it.
const ROWS_AT_ONCE: usize = 16;

/// A position and the slopes there.
type Row<'w> = (&'w mut [f64], &'w mut [f64]);

/// How many draws the windows of a chain hold.
fn rows_of<T>(chain: &Chain<T>, dim: usize) -> usize {
    let rows = chain.windows.iter().map(|w| w.positions.len() / dim.max(1));
    rows.sum()
}

fn rows(windows: &mut [Window], dim: usize) -> impl Iterator<Item = Row<'_>> {
    windows.iter_mut().flat_map(move |window| {
        let positions = window.positions.chunks_exact_mut(dim);
        positions.zip(window.gradients.chunks_exact_mut(dim))
    })
}

fn move_row((position, gradient): Row<'_>, map: &CoordinateMap, target: &mut impl Target) {
    map(position);
    target.value_and_gradient(position, gradient);
}

/// Moves the draws of all windows on `threads` threads, each with an evaluator of its own.
fn move_apart<P: Posterior>(
    posterior: &P,
    chains: &mut [Chain<P::Target>],
    threads: usize,
    map: &CoordinateMap,
) {
    let dim = posterior.dim();
    let windows = chains.iter_mut().map(|chain| &mut chain.windows[..]);
    let all = Mutex::new(windows.flat_map(|windows| rows(windows, dim)));
    let next = || {
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        let some: Vec<Row<'_>> = all.by_ref().take(ROWS_AT_ONCE).collect();
        (!some.is_empty()).then_some(some)
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut target = posterior.target();
                while let Some(some) = next() {
                    some.into_iter()
                        .for_each(|row| move_row(row, map, &mut target));
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::sample::Stream;
    use crate::fit::sample::targets::Known;

    const TARGET: Known = Known::Waves {
        dim: 2,
        count: 1,
        sd: 1.0,
    };

    /// A chain whose windows hold `n` draws each, numbered from `first` on.
    fn chain(first: usize, n: usize) -> Chain<Known> {
        let stream = Stream {
            seed: 0,
            stream: 0,
            chain: 0,
        };
        let mut chain = Chain::new(0, stream, TARGET, &Settings::default());
        for (k, window) in chain.windows.iter_mut().enumerate() {
            let numbers = (0..n).map(|i| (first + k * n + i) as f64);
            window.positions = numbers.flat_map(|x| [x, -x]).collect();
            window.gradients = window.positions.iter().map(|x| 10.0 * x).collect();
        }
        chain
    }

    #[test]
    fn all_of_few_draws_are_pooled_and_every_so_many_of_many() {
        let chains = [chain(0, 300), chain(600, 300)];
        let (positions, gradients) = pool_windows(&chains);
        let firsts: Vec<f64> = positions.chunks_exact(2).map(|row| row[0]).collect();
        assert_eq!(firsts, (0..1200).map(|i| i as f64).collect::<Vec<_>>());
        assert!(
            positions
                .iter()
                .zip(&gradients)
                .all(|(x, g)| *g == 10.0 * x)
        );
        let mut chains: Vec<_> = (0..10).map(|k| chain(k * 4000, 2000)).collect();
        chains[3].stuck = 1;
        let (positions, gradients) = pool_windows(&chains);
        // 36,000 draws: every ninth.
        assert_eq!(positions.len(), 2 * 4_000);
        assert_eq!(positions[..6], [0.0, -0.0, 9.0, -9.0, 18.0, -18.0]);
        assert!(
            positions
                .iter()
                .zip(&gradients)
                .all(|(x, g)| *g == 10.0 * x)
        );
        assert!(!positions.contains(&12_006.0) && positions.contains(&16_006.0));
    }

    #[test]
    fn so_many_chains_remember_their_draws_that_they_fill_an_estimate() {
        let settings = |tune, adapt| Settings {
            tune,
            adapt,
            ..Settings::default()
        };
        let pooled = settings(1000, Adapt::Pooled);
        // Windows from 100 to 120 and from 600 to 850, and what comes after them.
        let found = [119, 849, 850, 999].map(|at| n_learning(&pooled, 10, at));
        assert_eq!(found, [205, 64, 64, 64]);
        assert_eq!(n_learning(&pooled, 1000, 119), 800);
        let short = settings(3, Adapt::Pooled);
        assert_eq!(n_learning(&short, 10, 0), 1366);
        let alone = settings(1000, Adapt::PerChain);
        assert_eq!(n_learning(&alone, 10, 119), usize::MAX);
    }

    #[test]
    fn draws_are_moved_alike_on_any_number_of_threads() {
        let map: CoordinateMap = Box::new(|position| position.iter_mut().for_each(|x| *x *= 0.01));
        let mut alone = [chain(0, 70), chain(140, 70)];
        for Chain {
            windows, target, ..
        } in &mut alone
        {
            rows(windows, 2).for_each(|row| move_row(row, &map, target));
        }
        for threads in [1, 2, 5] {
            let mut chains = [chain(0, 70), chain(140, 70)];
            move_apart(&TARGET, &mut chains, threads, &map);
            for (a, b) in chains.iter().zip(&alone) {
                for (a, b) in a.windows.iter().zip(&b.windows) {
                    assert_eq!(a.positions, b.positions);
                    assert_eq!(a.gradients, b.gradients);
                }
            }
        }
    }
}
