//! What speaks against the fits of a batch: what a single fit says of its residuals, of each.

use super::{Batch, Groups};
use crate::fit::{Doubt, Doubts, Judge, Misfit, Options, Plan, quality_at};
use crate::pass::Columns;
use crate::report::grouped;
use fitzroy_device::cpu::TILE_ROWS;

/// Fits judged by a thread at once.
const SHARE: usize = 512;

/// Standard deviations of a number of fits beyond which it is more than chance.
const BEYOND_CHANCE: f64 = 3.0;

/// The doubts in many fits.
pub struct Doubted {
    /// Those in each; none in a fit that did not converge.
    pub each: Vec<Doubts>,
    n_converged: usize,
}

impl Doubted {
    /// How often each doubt is raised, of those that are.
    pub fn counts(&self) -> Vec<(Doubt, usize)> {
        let count = |doubt| self.each.iter().filter(|d| d.has(doubt)).count();
        let all = Doubt::ALL.into_iter().map(|doubt| (doubt, count(doubt)));
        all.filter(|(_, n)| *n > 0).collect()
    }

    /// Whether more fits that converged are called into question than right models would be by chance: by the level of
    /// each doubt and three standard deviations of so many.
    pub fn is_beyond_chance(&self) -> bool {
        let n = self.n_converged as f64;
        self.counts().into_iter().any(|(doubt, found)| {
            let expected = n * doubt.by_chance();
            found as f64 > expected + BEYOND_CHANCE * expected.sqrt()
        })
    }

    /// "12 of those that converged are in doubt: in 12 the residuals are patterned"; nothing where there are no doubts.
    pub fn words(&self) -> Option<String> {
        let n = self.each.iter().filter(|d| !d.is_empty()).count();
        let counts = self.counts().into_iter();
        let counts: Vec<String> = counts
            .map(|(doubt, n)| format!("in {} {}", grouped(n), doubt.words()))
            .collect();
        let counts = counts.join(", ");
        (n > 0).then(|| {
            format!(
                "{} of those that converged are in doubt: {counts}",
                grouped(n)
            )
        })
    }
}

/// Doubts in each fit of `batch`, which was fitted by [`fit_many`](super::fit_many) with the same arguments; none in
/// those that did not converge.
pub fn doubts(
    batch: &Batch,
    plan: &Plan,
    table: &Columns<'_>,
    groups: &Groups,
    options: &Options,
) -> Doubted {
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
    Doubted {
        each: out,
        n_converged: batch.n_converged(),
    }
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
