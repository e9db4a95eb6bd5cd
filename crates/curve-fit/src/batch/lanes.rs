//! Eight fits side by side: each lane a problem of its own, refilled when it is done.

use super::eights::{Eight, Eights};
use super::errors::Errors;
use super::grids::{Grids, same};
use super::judge::{Ends, SMALL, Turn, ended};
use super::step::{State, pair};
use super::{Fits, Groups, Starts};
use crate::fit::Plan;
use crate::method::optimality::is_flat;
use crate::method::{Limits, Status};
use crate::pass::Columns;
use fitzroy_device::cpu::{GridProgram, GridWorkspace, RowWorkspace};
use fitzroy_device::lanes::{Level, prefetch};
use std::ops::Range;
use std::sync::Arc;

/// A lane without a fit.
const IDLE: usize = usize::MAX;

/// How many fits ahead numbers are asked for: several lanes may become free at once.
const SOON: usize = 4;

/// The cosine between residuals and a partial at which a fit of a batch has converged.
pub(super) const FLAT: f64 = 1e-5;

/// Columns for which a pass needs no memory of its own.
const FEW: usize = 16;

/// The fits of one thread.
#[derive(Clone, Copy)]
pub(super) struct Queue<'a> {
    pub(super) groups: &'a Groups,
    /// Which groups, in the order they are fitted.
    pub(super) part: &'a [usize],
    pub(super) starts: &'a Starts,
    pub(super) grids: &'a Grids,
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
    /// The rows whose numbers stand in each lane, where they stand one after the other.
    held: [Option<Range<usize>>; 8],
    /// The grid whose points stand in each lane.
    held_grid: [Option<usize>; 8],
    /// What passes over the grids of all lanes, where they have such fits.
    grid: Option<(Arc<GridProgram>, GridWorkspace)>,
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

    /// Numbers into lane `k`.
    fn set<'n>(&mut self, k: usize, numbers: impl ExactSizeIterator<Item = &'n f64>) {
        let (own, beyond) = self.0.split_at_mut(numbers.len());
        let both = own.iter_mut().zip(numbers);
        both.for_each(|(slot, &x)| slot[k] = x);
        // What stands beyond must be harmless for the formula: the last row again.
        let last = own.last().map_or(0.0, |slot| slot[k]);
        beyond.iter_mut().for_each(|slot| slot[k] = last);
    }
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
            held: [const { None }; 8],
            held_grid: [None; 8],
            grid: None,
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
        let groups = self.queue.groups;
        self.state.begin(k, self.queue.starts.of(group));
        self.n_rows[k] = groups.n_rows(group);
        self.fits[k] = fit;
        self.fetch(fit + SOON);
        if self.grid.is_some() {
            return self.load_grid(k, group);
        }
        let together = groups.together(group);
        let before = std::mem::replace(&mut self.held[k], together.clone());
        for (c, wide) in self.columns.iter_mut().enumerate() {
            let column = self.data.column(c);
            let Some(rows) = &together else {
                let rows = groups.rows(group).iter();
                wide.set(k, rows.map(|&row| &column[row as usize]));
                continue;
            };
            // Pixels and times are mostly those of the fit before.
            let own = &column[rows.clone()];
            if !before
                .as_ref()
                .is_some_and(|b| same(&column[b.clone()], own))
            {
                wide.set(k, own.iter());
            }
        }
    }

    /// The numbers of a fit on a grid into lane `k`: points of x and y, and z in their order.
    fn load_grid(&mut self, k: usize, group: usize) {
        let (Some(place), Some((_, workspace))) = (self.queue.grids.place(group), &mut self.grid)
        else {
            return;
        };
        let grid = self.queue.grids.grid(place);
        let points = workspace.points();
        let set = |to: &mut [Eight], numbers: &[f64]| {
            let both = to.iter_mut().zip(numbers);
            both.for_each(|(slot, &x)| slot[k] = x);
        };
        let (x, rest) = points.split_at_mut(grid.x.len());
        let (y, z) = rest.split_at_mut(grid.y.len());
        if self.held_grid[k].replace(place) != Some(place) {
            set(x, &grid.x);
            set(y, &grid.y);
        }
        let groups = self.queue.groups;
        let numbers = self.data.column(2);
        if let (Some(rows), true) = (groups.together(group), grid.rows.is_empty()) {
            return set(z, &numbers[rows]);
        }
        let rows = self.queue.grids.rows(group, groups);
        let both = z.iter_mut().zip(rows.iter());
        both.for_each(|(slot, &row)| slot[k] = numbers[row as usize]);
    }

    /// Asks for the numbers of a fit that comes soon, which mostly stand one after the other: the
    /// lane that takes it would wait for them.
    fn fetch(&self, fit: usize) {
        let Some(&group) = self.queue.part.get(fit) else {
            return;
        };
        if let Some(rows) = self.queue.groups.together(group) {
            // Points of a grid mostly are those of the fit before.
            let first = if self.grid.is_some() { 2 } else { 0 };
            for c in first..self.columns.len() {
                let numbers = &self.data.column(c)[rows.clone()];
                numbers.chunks(8).for_each(|line| prefetch(line.as_ptr()));
            }
        }
    }

    /// Fits every fit that `queue` gives, all on grids of one shape or none.
    pub(super) fn run(
        &mut self,
        shape: Option<[usize; 2]>,
        queue: &mut dyn Iterator<Item = usize>,
        out: &mut Fits<'_>,
    ) {
        let p = self.state.trial.len();
        (self.held, self.held_grid) = ([const { None }; 8], [None; 8]);
        self.grid = shape.and_then(|shape| {
            let grid = self.plan.programs.grid(shape)?;
            let workspace = grid.workspace();
            Some((grid, workspace))
        });
        for k in 0..8 {
            self.load(k, queue.next());
        }
        while let Some(longest) = self.busy_rows() {
            self.pass(p, longest);
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
                if self.ended[k] != 0.0
                    && self.fits[k] != IDLE
                    && let Some((status, at_trial)) = ended(self.ended[k])
                {
                    self.finish(k, status, at_trial, out);
                    self.load(k, queue.next());
                }
            }
        }
        self.errors.give(out.se);
    }

    /// Sums at the trial points of `p` parameters, over rows up to the longest.
    fn pass(&mut self, p: usize, longest: usize) {
        if let Some((grid, workspace)) = &mut self.grid {
            workspace.params().copy_from_slice(&self.state.trial);
            return grid.accumulate(workspace, &mut self.there);
        }
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
    }

    /// Rows of the longest fit at work; `None` when there is none.
    fn busy_rows(&self) -> Option<usize> {
        let both = self.fits.iter().zip(&self.n_rows);
        let busy = both.filter(|(fit, _)| **fit != IDLE);
        busy.map(|(_, &n)| n).max()
    }

    /// Whether the gradient vanishes where lane `k` has ended by `status`.
    fn is_flat(&self, k: usize, status: Status, at_trial: bool) -> bool {
        let state = &self.state;
        let p = state.theta.len();
        let sums = |a: usize, b: usize| state.here[pair(p + 1, a, b)][k];
        let theta = |a: usize| state.theta[a][k];
        let moved = |a: usize| match at_trial {
            true => state.trial[a][k] - state.theta[a][k],
            false => 0.0,
        };
        status == Status::ExactFit || is_flat(p, sums, theta, moved, FLAT)
    }

    /// Writes the result of lane `k`.
    fn finish(&mut self, k: usize, status: Status, at_trial: bool, out: &mut Fits<'_>) {
        let (state, fit) = (&self.state, self.fits[k]);
        let p = state.theta.len();
        // What only seems to have converged is fitted once more alone.
        let status = match status.converged() && !self.is_flat(k, status, at_trial) {
            true => Status::NoProgress,
            false => status,
        };
        out.status[fit] = status;
        out.evaluations[fit] = state.evaluations[k] as u32;
        let to = &mut out.theta[fit * p..(fit + 1) * p];
        if status == Status::NonFinite {
            to.copy_from_slice(self.queue.starts.of(self.queue.part[fit]));
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
