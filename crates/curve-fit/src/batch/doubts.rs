//! What speaks against the fits of a batch: what a single fit says of its residuals, of each.

use super::{Batch, Groups};
use crate::fit::{Doubts, Judge, Misfit, Options, Plan, quality_at};
use crate::pass::Columns;
use fitzroy_device::cpu::TILE_ROWS;

/// Fits judged by a thread at once.
const SHARE: usize = 512;

/// Doubts in each fit of `batch`, which was fitted by [`fit_many`](super::fit_many) with the same arguments; none in
/// those that did not converge.
pub fn doubts(
    batch: &Batch,
    plan: &Plan,
    table: &Columns<'_>,
    groups: &Groups,
    options: &Options,
) -> Vec<Doubts> {
    let n = groups.len();
    let mut out = vec![Doubts::default(); n];
    let threads = options.threads.clamp(1, n.div_ceil(SHARE).max(1));
    let each = n.div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        for (part, own) in out.chunks_mut(each).enumerate() {
            let mut work = move || {
                judge(
                    batch,
                    plan,
                    table,
                    groups,
                    options,
                    (part * each, &mut *own),
                )
            };
            match threads {
                1 => work(),
                _ => drop(scope.spawn(work)),
            }
        }
    });
    out
}

/// Doubts in the fits from number `first`, as many as there is room for.
fn judge(
    batch: &Batch,
    plan: &Plan,
    table: &Columns<'_>,
    groups: &Groups,
    options: &Options,
    (first, out): (usize, &mut [Doubts]),
) {
    let p = plan.free.len();
    let mut judge = Judge::new(plan);
    let all = table.all();
    let mut gathered = vec![Vec::new(); all.len()];
    for (k, doubts) in (first..).zip(out) {
        let rows = groups.rows(k);
        if !batch.status[k].converged() || rows.is_empty() {
            continue;
        }
        let misfit = Misfit {
            n_parameters: p,
            dof: rows.len().saturating_sub(p),
            chi2: batch.chi2[k],
            loss: plan.programs.loss(),
            absolute_sigma: options.absolute_sigma,
        };
        let theta = &batch.theta[k * p..(k + 1) * p];
        if rows.len() > TILE_ROWS {
            let rows: Vec<usize> = rows.iter().map(|&row| row as usize).collect();
            let found = quality_at(plan, &table.take(&rows), theta, &misfit);
            *doubts = found.map_or(Doubts::default(), |quality| misfit.doubts(&quality));
            continue;
        }
        for (to, from) in gathered.iter_mut().zip(&all) {
            to.clear();
            to.extend(rows.iter().map(|&row| from[row as usize]));
        }
        let columns: Vec<&[f64]> = gathered.iter().map(Vec::as_slice).collect();
        *doubts = judge.doubts(&columns, theta, &misfit);
    }
}
