//! Exact draws of what was integrated out: standard normal numbers in the place of its coordinates,
//! from which the model computes it.

use super::compiled::Compiled;
use crate::fit::sample::{Draws, Run, Settings, Stream, fill_normals};
use crate::rng::Purpose;
use std::sync::{Mutex, PoisonError};

/// Of every so many draws one is compared with the model as written.
const COMPARED: usize = 100;

/// Adds the numbers of integrated coordinates to every draw of `run`. They depend on seed, chain
/// and number of the draw alone.
pub(super) fn draw(run: &mut Run, compiled: &Compiled, settings: &Settings) {
    run.dim = compiled.full;
    if compiled.dim == compiled.full {
        return;
    }
    let first = settings.tune + run.first_draw;
    let chains = run.chains.iter_mut().enumerate().map(|c| (c, first));
    let warmup = run.warmup.iter_mut().flatten().enumerate().map(|c| (c, 0));
    let queue = Mutex::new(chains.chain(warmup));
    let serve = || {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(((index, draws), first)) = next else {
                return;
            };
            let stream = Stream {
                seed: settings.seed,
                stream: settings.stream,
                chain: settings.first_chain.wrapping_add(index as u32),
            };
            extend(draws, (compiled.dim, compiled.full), stream, first);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..settings.threads.min(settings.chains) {
            scope.spawn(serve);
        }
        serve();
    });
}

/// Rows of `dim` numbers become rows of `full`.
fn extend(draws: &mut Draws, (dim, full): (usize, usize), stream: Stream, first: usize) {
    let n = full - dim;
    let mut noise = vec![[0.0; 8]; n.div_ceil(8)];
    let mut positions = Vec::with_capacity(draws.len() * full);
    for (at, row) in draws.positions.chunks_exact(dim).enumerate() {
        let iteration = (first + at) as u32;
        fill_normals(&mut noise, n, stream, iteration, Purpose::Integrated);
        positions.extend_from_slice(row);
        positions.extend_from_slice(&noise.as_flattened()[..n]);
    }
    draws.positions = positions;
}

/// Every hundredth draw of every chain, one row after the other.
pub(super) fn every_hundredth(run: &Run, full: usize) -> Vec<f64> {
    let rows = |draws: &Draws| -> Vec<f64> {
        let some = draws.positions.chunks_exact(full).step_by(COMPARED);
        some.flatten().copied().collect()
    };
    run.chains.iter().flat_map(rows).collect()
}
