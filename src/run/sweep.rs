//! Something computed for every draw of every chain, on several threads.

use super::integrated::Integrated;
use fitzroy_device::large_pages::zeros;
use std::sync::{Mutex, PoisonError};

/// Unconstrained draws, chain by chain, each row-major `[draw][sampled coordinate]`.
pub(super) struct Positions<'a> {
    /// One slice per chain.
    pub(super) chains: Vec<&'a [f64]>,
    /// Draws in each.
    pub(super) n_draws: usize,
    /// Number of the first draw.
    pub(super) first: usize,
    /// Number of the transition that made it.
    pub(super) transition: usize,
    /// The coordinates that were not sampled.
    pub(super) integrated: Integrated,
}

/// Fills arrays `[chain][draw][element]`, one for each of `lengths`, by what `worker` makes: it is
/// called once per thread and chain, and then with (chain, draw, position, one slice per array).
pub(super) fn sweep<W>(
    positions: &Positions<'_>,
    lengths: &[usize],
    threads: usize,
    worker: impl Fn() -> W + Sync,
) -> Vec<Vec<f64>>
where
    W: FnMut(usize, usize, &[f64], &mut [&mut [f64]]),
{
    let (n_chains, n_draws) = (positions.chains.len(), positions.n_draws);
    let (integrated, dim) = (&positions.integrated, positions.integrated.dim);
    let mut arrays: Vec<Vec<f64>> = lengths
        .iter()
        .map(|len| zeros(n_chains * n_draws * len))
        .collect();
    let mut by_chain: Vec<Vec<&mut [f64]>> = (0..n_chains).map(|_| Vec::new()).collect();
    for (array, len) in arrays.iter_mut().zip(lengths) {
        let mut rest = array.as_mut_slice();
        for chain in &mut by_chain {
            let (own, others) = rest.split_at_mut(n_draws * len);
            chain.push(own);
            rest = others;
        }
    }
    let queue = Mutex::new(by_chain.into_iter().enumerate());
    let serve = || {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((chain, mut rest)) = next else {
                break;
            };
            let mut rows = Vec::with_capacity(n_draws * lengths.len());
            for _ in 0..n_draws {
                for (rest, &len) in rest.iter_mut().zip(lengths) {
                    rows.extend(rest.split_off_mut(..len));
                }
            }
            let (mut work, mut workspace) = (worker(), integrated.workspace());
            let of_draws = rows.chunks_mut(lengths.len().max(1));
            for (draw, rows) in of_draws.enumerate() {
                let sampled = &positions.chains[chain][draw * dim..(draw + 1) * dim];
                let transition = positions.transition + draw;
                let position = integrated.extend(&mut workspace, sampled, chain, transition);
                work(chain, draw, position, rows);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(n_chains) {
            scope.spawn(serve);
        }
        serve();
    });
    arrays
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_draw_of_every_chain_lands_in_its_place() {
        let chains: Vec<Vec<f64>> = (0..3)
            .map(|c| (0..4).map(|d| f64::from(10 * c + d)).collect())
            .collect();
        for threads in [1, 2, 8] {
            let positions = Positions {
                chains: chains.iter().map(Vec::as_slice).collect(),
                n_draws: 2,
                first: 0,
                transition: 0,
                integrated: Integrated::none(2),
            };
            let arrays = sweep(&positions, &[2, 1], threads, || {
                |chain: usize, draw: usize, x: &[f64], rows: &mut [&mut [f64]]| {
                    rows[0].copy_from_slice(x);
                    rows[1][0] = (100 * chain + draw) as f64;
                }
            });
            assert_eq!(arrays[0], chains.concat());
            assert_eq!(arrays[1], [0.0, 1.0, 100.0, 101.0, 200.0, 201.0]);
        }
    }
}
