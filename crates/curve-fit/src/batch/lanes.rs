//! Eight fits side by side: each lane a problem of its own, refilled when it is done.

use super::eights::{Eight, Eights};
use super::errors::Errors;
use super::judge::{Ends, SMALL, Turn, ended};
use super::step::{State, pair};
use super::{Fits, Groups};
use crate::fit::Plan;
use crate::method::{Limits, Status};
use crate::pass::Columns;
use fitzroy_device::cpu::RowWorkspace;
use fitzroy_device::lanes::{Level, prefetch};
use std::ops::Range;

/// A lane without a fit.
const IDLE: usize = usize::MAX;

/// Columns for which a pass needs no memory of its own.
const FEW: usize = 16;

/// The fits of one thread.
#[derive(Clone, Copy)]
pub(super) struct Queue<'a> {
    pub(super) groups: &'a Groups,
    /// Which groups, in the order they are fitted.
    pub(super) part: &'a [usize],
    /// Free parameters of every group, one after the other.
    pub(super) starts: &'a [f64],
}

/// Everything eight lanes need; nothing is allocated between fits.
pub(super) struct Lanes<'a> {
    plan: &'a Plan,
    data: &'a Columns<'a>,
    queue: Queue<'a>,
    ends: Ends,
    level: Level,
    workspace: RowWorkspace,
    params: Eights,
    columns: Vec<Wide>,
    n_rows: [usize; 8],
    /// Which fit is in each lane.
    fits: [usize; 8],
    state: State,
    there: Eights,
    ended: Eight,
    errors: Errors,
}

/// A column of eight fits: row i of each.
struct Wide(Eights);

impl Wide {
    fn rows(&self, n: usize) -> &[f64] {
        self.0[..n].as_flattened()
    }

    /// The numbers of `rows` into lane `k`.
    fn set(&mut self, k: usize, column: &[f64], rows: &[u32]) {
        let (own, beyond) = self.0.split_at_mut(rows.len());
        match together(rows) {
            Some(rows) => {
                let both = own.iter_mut().zip(&column[rows]);
                both.for_each(|(slot, &x)| slot[k] = x);
            }
            None => {
                let both = own.iter_mut().zip(rows);
                both.for_each(|(slot, &row)| slot[k] = column[row as usize]);
            }
        }
        // What stands beyond must be harmless for the formula: the last row again.
        let last = own.last().map_or(0.0, |slot| slot[k]);
        beyond.iter_mut().for_each(|slot| slot[k] = last);
    }
}

/// The rows of a fit, which rise, where they stand one after the other.
fn together(rows: &[u32]) -> Option<Range<usize>> {
    let (first, last) = (*rows.first()? as usize, *rows.last()? as usize);
    (last.wrapping_sub(first) == rows.len() - 1).then_some(first..last + 1)
}

impl<'a> Lanes<'a> {
    /// For fits of at most `longest` rows.
    pub(super) fn new(
        plan: &'a Plan,
        data: &'a Columns<'a>,
        queue: Queue<'a>,
        longest: usize,
        limits: Limits,
    ) -> Self {
        let p = plan.free.len();
        let n_columns = plan.programs.columns().count();
        Lanes {
            plan,
            data,
            queue,
            ends: Ends {
                xtol: SMALL.max(limits.xtol),
                ftol: limits.ftol,
                max_evaluations: limits.max_evaluations as f64,
            },
            level: Level::detect(),
            workspace: plan.programs.pass.workspace(),
            params: Eights::zeros(2 * p + 1),
            columns: (0..n_columns)
                .map(|_| Wide(Eights::zeros(longest)))
                .collect(),
            n_rows: [0; 8],
            fits: [IDLE; 8],
            state: State::new(p),
            there: Eights::zeros(plan.programs.pass.n_sums()),
            ended: [0.0; 8],
            errors: Errors::new(p),
        }
    }

    /// Puts the next fit, if there is one, into lane `k`.
    fn load(&mut self, k: usize, fit: Option<usize>) {
        let Some(fit) = fit else {
            // It goes on with what it has, which nobody looks at.
            self.fits[k] = IDLE;
            self.n_rows[k] = usize::MAX;
            return;
        };
        let group = self.queue.part[fit];
        let rows = self.queue.groups.rows(group);
        for (c, wide) in self.columns.iter_mut().enumerate() {
            wide.set(k, self.data.column(c), rows);
        }
        let p = self.state.trial.len();
        self.state
            .begin(k, &self.queue.starts[group * p..(group + 1) * p]);
        self.n_rows[k] = rows.len();
        self.fits[k] = fit;
        self.fetch(fit + 1);
    }

    /// Asks for the numbers of the fit that comes next, which mostly stand one after the other: the
    /// next lane to be free would wait for them.
    fn fetch(&self, fit: usize) {
        let Some(&group) = self.queue.part.get(fit) else {
            return;
        };
        if let Some(rows) = together(self.queue.groups.rows(group)) {
            for c in 0..self.columns.len() {
                let numbers = &self.data.column(c)[rows.clone()];
                numbers.chunks(8).for_each(|line| prefetch(line.as_ptr()));
            }
        }
    }

    /// Fits every fit that `queue` gives.
    pub(super) fn run(&mut self, queue: &mut dyn Iterator<Item = usize>, out: &mut Fits<'_>) {
        let p = self.state.trial.len();
        for k in 0..8 {
            self.load(k, queue.next());
        }
        while let Some(longest) = self.busy_rows() {
            self.params[..p].copy_from_slice(&self.state.trial);
            let mut few = [&[][..]; FEW];
            let many: Vec<&[f64]>;
            let views = match few.get_mut(..self.columns.len()) {
                Some(views) => {
                    let both = views.iter_mut().zip(&self.columns);
                    both.for_each(|(view, column)| *view = column.rows(longest));
                    &*views
                }
                None => {
                    many = self.columns.iter().map(|c| c.rows(longest)).collect();
                    &many[..]
                }
            };
            let pass = &self.plan.programs.pass;
            pass.accumulate_eight(
                &mut self.workspace,
                &self.params,
                views,
                &self.n_rows,
                &mut self.there,
            );
            self.level.run(Turn {
                state: &mut self.state,
                there: &self.there,
                ends: self.ends,
                ended: &mut self.ended,
            });
            // Mostly none has.
            if self.ended == [0.0; 8] {
                continue;
            }
            for k in 0..8 {
                if self.fits[k] != IDLE
                    && let Some((status, at_trial)) = ended(self.ended[k])
                {
                    self.finish(k, status, at_trial, out);
                    self.load(k, queue.next());
                }
            }
        }
        self.errors.give(out.se);
    }

    /// Rows of the longest fit at work; `None` when there is none.
    fn busy_rows(&self) -> Option<usize> {
        let both = self.fits.iter().zip(&self.n_rows);
        let busy = both.filter(|(fit, _)| **fit != IDLE);
        busy.map(|(_, &n)| n).max()
    }

    /// Writes the result of lane `k`.
    fn finish(&mut self, k: usize, status: Status, at_trial: bool, out: &mut Fits<'_>) {
        let (state, fit) = (&self.state, self.fits[k]);
        let p = state.theta.len();
        out.status[fit] = status;
        out.evaluations[fit] = state.evaluations[k] as u32;
        let to = &mut out.theta[fit * p..(fit + 1) * p];
        if status == Status::NonFinite {
            let group = self.queue.part[fit];
            to.copy_from_slice(&self.queue.starts[group * p..(group + 1) * p]);
            return;
        }
        let theta = if at_trial { &state.trial } else { &state.theta };
        to.iter_mut()
            .zip(theta.iter())
            .for_each(|(to, x)| *to = x[k]);
        out.cost[fit] = state.cost[k];
        let dof = self.n_rows[k].saturating_sub(p);
        if !status.converged() || dof == 0 && !out.absolute_sigma {
            return;
        }
        let s2 = match out.absolute_sigma {
            true => 1.0,
            false => 2.0 * out.cost[fit] / dof as f64,
        };
        let q = p + 1;
        let entry = |a: usize, b: usize| state.here[pair(q, a, b)][k];
        self.errors.take(fit, entry, s2, out.se);
    }
}
