//! Small fits on machines for kernels, one to a thread.

use super::errors::Errors;
use super::grids::Grids;
use super::judge::SMALL;
use super::lanes::FLAT;
use super::{Batch, Fits, Groups, Starts};
use crate::fit::{Options, Plan};
use crate::method::Status;
use crate::method::optimality::is_flat;
use crate::pass::{Columns, Seat, from_a_queue};
use fitzroy::Result;
use fitzroy_device::gpu::rows::{Ended, Made, SmallFit, SmallFits, fit_small};
use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

/// Fits sent at once.
const SENT: usize = 1 << 18;
/// Parts of the fits that each of several machines is expected to make: those that are faster make more.
const TURNS: usize = 4;
/// Fits that are worth a thread that takes in what became of them.
const TAKEN: usize = 2048;
/// Fits side by side in a kernel.
const ABREAST: usize = 32;

/// How many of `n` fits are sent to one of several machines at once.
fn sent(n: usize, machines: usize) -> usize {
    match machines {
        1 => SENT,
        several => (n / (TURNS * several))
            .next_multiple_of(ABREAST)
            .clamp(ABREAST, SENT),
    }
}

fn status(ended: Ended) -> Status {
    match ended {
        Ended::SmallStep => Status::SmallStep,
        Ended::SmallReduction => Status::SmallReduction,
        Ended::ExactFit => Status::ExactFit,
        Ended::Rounding => Status::Rounding,
        Ended::NoProgress => Status::NoProgress,
        Ended::DampingLimit => Status::DampingLimit,
        Ended::EvaluationLimit => Status::EvaluationLimit,
        Ended::NonFinite => Status::NonFinite,
    }
}

/// Fits every group that has rows enough.
pub(super) fn run(
    seats: &[Seat],
    plan: &Plan,
    table: &Columns<'_>,
    groups: &Groups,
    options: &Options,
    starts: &Starts,
    batch: &mut Batch,
) -> Result<()> {
    let (n, p) = (groups.len(), plan.free.len());
    let columns: Vec<&[f64]> = (0..plan.programs.columns().count())
        .map(|c| table.column(c))
        .collect();
    let mut order: Vec<usize> = (0..n)
        .filter(|&k| groups.rows(k).len() >= p.max(1))
        .collect();
    let grids = Grids::find(plan, table, groups);
    order.sort_by_key(|&k| (grids.shape(k), groups.rows(k).len()));
    let alike = order.chunk_by(|&a, &b| grids.shape(a) == grids.shape(b));
    let parts = alike.flat_map(|alike| alike.chunks(sent(alike.len(), seats.len())));
    let batch = Mutex::new(batch);
    from_a_queue(seats, parts, &|machine, part| {
        let rows: Vec<Cow<'_, [u32]>> = part.iter().map(|&k| grids.rows(k, groups)).collect();
        let rows: Vec<&[u32]> = rows.iter().map(|rows| &rows[..]).collect();
        let own: Vec<f64> = part
            .iter()
            .flat_map(|&k| starts.of(k).iter().copied())
            .collect();
        let fits = SmallFits {
            n_free: p,
            starts: &own,
            rows: &rows,
            xtol: SMALL.max(options.limits.xtol),
            ftol: options.limits.ftol,
            max_evaluations: options.limits.max_evaluations,
            grids: plan
                .programs
                .separated()
                .zip(grids.shape(part[0]).map(|[nx, _]| nx)),
            threads: options.threads,
        };
        let made = fit_small(machine, &plan.programs.pass, &columns, &fits)?;
        let mut batch = batch.lock().unwrap_or_else(PoisonError::into_inner);
        batch.in_order(part, options.absolute_sigma, |fits| {
            take_all(&made, &rows, options.threads, fits);
        });
        Ok(())
    })
}

/// Takes fits that a machine has made, with the rows of each, where they belong.
fn take_all(made: &Made, rows: &[&[u32]], threads: usize, fits: Fits<'_>) {
    let n = rows.len();
    let threads = threads.clamp(1, n.div_ceil(TAKEN).max(1));
    fits.in_threads(n.div_ceil(threads).max(1), |places, mut fits| {
        let mut errors = Errors::new(fits.theta.len() / places.len().max(1));
        for (k, at) in places.enumerate() {
            let fit = made.fit(at);
            take(k, &fit, rows[at].len(), &mut fits, &mut errors);
        }
        errors.give(fits.se);
    });
}

/// Takes a fit of `n_rows` rows in as number `k` of `fits`.
fn take(k: usize, fit: &SmallFit<'_>, n_rows: usize, fits: &mut Fits<'_>, errors: &mut Errors) {
    let p = fit.theta.len();
    fits.theta[k * p..(k + 1) * p].copy_from_slice(fit.theta);
    fits.status[k] = status(fit.ended);
    fits.evaluations[k] = fit.evaluations as u32;
    if fit.ended == Ended::NonFinite {
        return;
    }
    fits.cost[k] = fit.cost;
    let q = p + 1;
    let entry = |a: usize, b: usize| fit.sums[a * q + b - a * (a + 1) / 2];
    let moved = |a: usize| fit.theta[a] - fit.evaluated[a];
    let flat = is_flat(p, entry, |a| fit.evaluated[a], moved, FLAT);
    if fits.status[k].converged() && fit.ended != Ended::ExactFit && !flat {
        fits.status[k] = Status::NoProgress;
    }
    let dof = n_rows.saturating_sub(p);
    if !fits.status[k].converged() || dof == 0 && !fits.absolute_sigma {
        return;
    }
    let s2 = match fits.absolute_sigma {
        true => 1.0,
        false => 2.0 * fit.cost / dof as f64,
    };
    errors.take(k, entry, s2, fits.se);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_machines_take_turns_at_parts_of_whole_warps() {
        assert_eq!(sent(1000, 1), SENT);
        assert_eq!(sent(1000, 3), 96);
        assert_eq!(sent(3, 2), 32);
        assert_eq!(sent(100_000_000, 2), SENT);
    }
}
