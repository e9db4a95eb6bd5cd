//! What comes back from a launch, taken into the books of the chains.

use super::super::Target;
use super::super::chain::{Chain, PhaseSettings};
use super::super::pool::Progress;
use super::super::run::Session;
use super::super::tree::{Growth, Stop};
use super::ROW_HEAD;

/// Chains whose rows a thread takes in before it looks for others.
const CHAINS_AT_ONCE: usize = 8;

/// Takes `rows` of `row` words, chain after chain, into the books of the chains: many chains make more of
/// them than one thread can take in, so that all threads of the run share them.
pub(super) fn keep_books<T: Target + Send>(
    chains: &mut [Chain<T>],
    rows: &[u64],
    row: usize,
    (phase, session): (&PhaseSettings, &Session<'_>),
) {
    let of_chain = rows.len() / chains.len();
    let shares = chains.chunks_mut(CHAINS_AT_ONCE);
    let mut shares: Vec<_> = shares.zip(rows.chunks(CHAINS_AT_ONCE * of_chain)).collect();
    session.threads.run_all(&mut shares, |(chains, rows)| {
        for (chain, rows) in chains.iter_mut().zip(rows.chunks(of_chain)) {
            for row in rows.chunks_exact(row) {
                absorb(chain, phase, row, session);
            }
        }
        Progress::Done
    });
}

/// Takes one transition into the books of its chain.
fn absorb<T: Target>(
    chain: &mut Chain<T>,
    phase: &PhaseSettings,
    row: &[u64],
    session: &Session<'_>,
) {
    let x = |i: usize| f64::from_bits(row[i]);
    let growth = Growth {
        stop: match x(0) as u32 {
            0 => Stop::Turned,
            1 => Stop::Diverged,
            _ => Stop::Depth,
        },
        depth: x(1) as u32,
        n_steps: x(2) as u32,
        max_energy_error: x(5),
        acceptance_sum: x(6),
        nonfinite: x(10) != 0.0,
    };
    let dim = chain.target.dim();
    let point = &mut chain.space.candidate;
    // Rows of draws have no gradient.
    let (position, gradient) = row[ROW_HEAD..].split_at(dim);
    load(point.position.as_flattened_mut(), position);
    load(point.gradient.as_flattened_mut(), gradient);
    point.energy = x(3);
    point.log_density = x(8);
    point.offset = x(9) as i64;
    chain.conclude(phase, x(7), x(4), &growth, session.observer);
}

fn load(to: &mut [f64], from: &[u64]) {
    to.iter_mut()
        .zip(from)
        .for_each(|(t, f)| *t = f64::from_bits(*f));
}

/// Takes the gradients out of the `states` that a kernel has left, one after the other, into the books.
pub(super) fn keep_gradients<T: Target>(chains: &mut [Chain<T>], states: &[u64]) {
    let of_chain = states.len() / chains.len();
    for (chain, state) in chains.iter_mut().zip(states.chunks_exact(of_chain)) {
        let dim = chain.target.dim();
        let to = chain.space.candidate.gradient.as_flattened_mut();
        load(to, &state[dim..2 * dim]);
    }
}
