//! The machines of a run: which chains each advances, and what becomes of those whose machine fails.
//!
//! A chain's random numbers go by seed, chain and transition, and its books are kept here, so its draws
//! are the same whichever machine makes them, and a chain goes on from its books on another machine.

use super::super::Target;
use super::super::chain::Chain;
use super::super::run::Session;
use crate::{Error, Result};
use fitzroy_device::gpu::{Machine, all_failed, side_by_side};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

/// A machine that takes part in a run.
pub struct Worker<'a> {
    /// What runs kernels.
    pub machine: &'a Mutex<dyn Machine + 'a>,
    /// What it has done.
    pub record: &'a Record,
    /// How fast it is predicted to be, in any unit that all machines of the run share.
    pub speed: f64,
    /// Chains for which it has the memory.
    pub most_chains: usize,
    /// Threads to a chain where it has so many chains, as [`Program::team`] has them.
    ///
    /// [`Program::team`]: fitzroy_device::gpu::Program::team
    pub team: Box<dyn Fn(usize) -> usize + Send + Sync + 'a>,
    /// Nanoseconds after which a launch begins no further transition, on a machine that ends long
    /// kernels.
    pub budget_ns: Option<u64>,
}

/// What a machine has done for its runs, for whoever asks afterwards.
#[derive(Debug, Default)]
pub struct Record {
    /// What people call it, such as `cuda:0`.
    pub label: String,
    transitions: AtomicU64,
    failed: OnceLock<Error>,
}

impl Record {
    /// Of a machine that has done nothing yet.
    pub fn new(label: impl Into<String>) -> Self {
        Record {
            label: label.into(),
            ..Record::default()
        }
    }

    /// Transitions that it made, of all chains.
    pub fn transitions(&self) -> u64 {
        self.transitions.load(Ordering::Relaxed)
    }

    /// What ended its part, if something did.
    pub fn failed(&self) -> Option<&Error> {
        self.failed.get()
    }

    pub(super) fn made(&self, n: u64) {
        self.transitions.fetch_add(n, Ordering::Relaxed);
    }
}

/// How many of `n` chains each of several machines gets, of which speed and most chains are given: the one
/// that is done last is done as early as can be, at a time for a chain that is 1/speed. None where they
/// have no room for all. A machine may get none.
pub fn shares(machines: &[(f64, usize)], n: usize) -> Option<Vec<usize>> {
    let mut found = vec![0; machines.len()];
    for _ in 0..n {
        let ends = |k: usize| (found[k] + 1) as f64 / machines[k].0;
        let free = (0..machines.len()).filter(|&k| found[k] < machines[k].1);
        let first = free.min_by(|&a, &b| ends(a).total_cmp(&ends(b)))?;
        found[first] += 1;
    }
    Some(found)
}

/// The machines that work, with the chains of each, of `n` in all. Where some have failed the others may
/// get more than they have room for at a time.
///
/// # Errors
/// All have failed: why.
pub(super) fn working<'w, 'a>(
    workers: &'w [Worker<'a>],
    n: usize,
) -> Result<Vec<(&'w Worker<'a>, usize)>> {
    let alive = workers.iter().filter(|w| w.record.failed().is_none());
    let alive: Vec<_> = alive.collect();
    if alive.is_empty() {
        let why = |w: &'w Worker<'a>| Some((w.record.label.as_str(), w.record.failed()?));
        let failed: Vec<_> = workers.iter().filter_map(why).collect();
        return Err(all_failed(&failed));
    }
    let with = |most: &dyn Fn(&Worker<'_>) -> usize| -> Vec<(f64, usize)> {
        alive.iter().map(|w| (w.speed, most(w))).collect()
    };
    let found = shares(&with(&|w| w.most_chains), n);
    let found = found.or_else(|| shares(&with(&|_| usize::MAX), n));
    let found = found.expect("there is room without limits");
    let pairs = alive.into_iter().zip(found);
    Ok(pairs.filter(|(_, n)| *n > 0).collect())
}

impl Worker<'_> {
    /// It takes no further part.
    pub(super) fn lost(&self, error: Error, is_alone: bool, session: &Session<'_>) {
        if !is_alone {
            session.observer.lost(&self.record.label, &error);
        }
        // The first reason stays.
        let _ = self.record.failed.set(error);
    }

    /// Chains that it advances at a time, of its `n`.
    pub(super) fn at_once(&self, n: usize) -> usize {
        n.min(self.most_chains).max(1)
    }
}

/// Chains and the machine that advances them.
struct Part<'w, 'a, 'c, T> {
    worker: &'w Worker<'a>,
    chains: &'c mut [Chain<T>],
}

/// Cuts `chains` into the parts of the machines that work, neighbours together.
fn parts<'w, 'a, 'c, T>(
    workers: &'w [Worker<'a>],
    mut chains: &'c mut [Chain<T>],
) -> Result<Vec<Part<'w, 'a, 'c, T>>> {
    let working = working(workers, chains.len())?;
    let of = |(worker, n): (&'w Worker<'a>, usize)| {
        let (own, others) = std::mem::take(&mut chains).split_at_mut(n);
        chains = others;
        Part {
            worker,
            chains: own,
        }
    };
    Ok(working.into_iter().map(of).collect())
}

/// What brings chains to `iteration` on one machine.
pub(super) type Work<'f, T> = &'f (dyn Fn(&Worker<'_>, &mut [Chain<T>]) -> Result<()> + Sync);

impl<T> Part<'_, '_, '_, T> {
    /// In turns where there are more than its machine has room for.
    fn advance(&mut self, work: Work<'_, T>) -> Result<()> {
        let at_once = self.worker.at_once(self.chains.len());
        let mut turns = self.chains.chunks_mut(at_once);
        turns.try_for_each(|chains| work(self.worker, chains))
    }
}

/// Has all machines that work bring their share of `chains` to `iteration`, side by side. Chains of one that
/// fails go on from their books on the others: no more than its last launches is made again.
///
/// # Errors
/// All have failed.
pub(super) fn share_out<T: Target + Send>(
    workers: &[Worker<'_>],
    chains: &mut [Chain<T>],
    iteration: usize,
    session: &Session<'_>,
    work: Work<'_, T>,
) -> Result<()> {
    let mut left = vec![chains];
    while let Some(some) = left.pop() {
        let mut parts = parts(workers, some)?;
        let ended = side_by_side(&mut parts, |part| part.advance(work));
        for (part, ended) in parts.into_iter().zip(ended) {
            if let Err(error) = ended {
                part.worker.lost(error, workers.len() == 1, session);
                // The gradients at draws went with it.
                for chain in part.chains.iter_mut() {
                    chain.space.candidate.evaluate(&mut chain.target);
                }
                // Those of one launch stand at the same transition.
                let together = part.chains.chunk_by_mut(|a, b| a.iteration == b.iteration);
                left.extend(together.filter(|c| (c[0].iteration as usize) < iteration));
            }
        }
        if session.stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(machines: &[(f64, usize)], n: usize) -> Vec<usize> {
        shares(machines, n).unwrap_or_default()
    }

    #[test]
    fn chains_are_shared_by_speed_and_none_is_left() {
        const ALL: usize = usize::MAX;
        assert_eq!(of(&[(1.0, ALL)], 5), [5]);
        assert_eq!(of(&[(1.0, ALL), (1.0, ALL)], 4), [2, 2]);
        assert_eq!(of(&[(1.0, ALL), (1.0, ALL), (1.0, ALL)], 4), [2, 1, 1]);
        assert_eq!(of(&[(2.0, ALL), (1.0, ALL)], 300), [200, 100]);
        // One that would keep all others waiting gets none.
        assert_eq!(of(&[(100.0, ALL), (1.0, ALL)], 4), [4, 0]);
        assert_eq!(of(&[(1.0, ALL), (1.0, ALL)], 1), [1, 0]);
        // Whatever the speeds, the last to end is not later than with a chain moved elsewhere.
        let speeds = [3.7, 1.1, 0.4];
        let found = of(&speeds.map(|s| (s, ALL)), 97);
        assert_eq!(found.iter().sum::<usize>(), 97);
        let ends = |n: usize, k: usize| n as f64 / speeds[k];
        let last = (0..3).map(|k| ends(found[k], k)).fold(0.0, f64::max);
        assert!((0..3).all(|k| ends(found[k] + 1, k) >= last), "{found:?}");
    }

    #[test]
    fn memory_bounds_a_share_and_too_little_of_it_is_no_plan() {
        assert_eq!(of(&[(2.0, 10), (1.0, 1000)], 300), [10, 290]);
        assert_eq!(of(&[(2.0, 10), (1.0, 10)], 20), [10, 10]);
        assert_eq!(shares(&[(2.0, 10), (1.0, 10)], 21), None);
    }
}
