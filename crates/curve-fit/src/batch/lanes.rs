//! Eight fits side by side: each lane a problem of its own, refilled when it is done.

use super::errors::Errors;
use super::step::{Eight, Finite, Step};
use super::{Fits, Groups};
use crate::fit::Plan;
use crate::method::{Limits, Status};
use crate::pass::Columns;
use fitzroy_device::cpu::RowWorkspace;
use fitzroy_device::lanes::Level;

/// A lane at work.
#[derive(Clone, Copy)]
struct Lane {
    /// Which fit; `usize::MAX` when there is none left.
    fit: usize,
    /// True until the start was evaluated.
    fresh: bool,
    cost: f64,
    nu: f64,
    evaluations: usize,
    /// Changes of the last two steps in a row that were accepted; 0 where there are none.
    last: [f64; 2],
}

/// The change of a step, or of the next where steps shrink steadily.
fn least_change(change: f64, last: [f64; 2]) -> f64 {
    let pace = (change / last[1]).max(last[1] / last[0]);
    match last[1] > 0.0 && last[0] > 0.0 && pace < 0.1 {
        true => pace * change,
        false => change,
    }
}

/// Relative change of every parameter, of a step or expected of the next, at which a fit of a batch
/// has converged: values are then those of a single fit to 10⁻⁹.
pub(super) const SMALL: f64 = 2e-10;

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
    limits: Limits,
    level: Level,
    workspace: RowWorkspace,
    params: Vec<Eight>,
    columns: Vec<Vec<f64>>,
    n_rows: [usize; 8],
    lanes: [Lane; 8],
    here: Vec<Eight>,
    there: Vec<Eight>,
    theta: Vec<Eight>,
    trial: Vec<Eight>,
    scale: Vec<Eight>,
    work: Vec<Eight>,
    starting: Vec<Eight>,
    errors: Errors,
    lambda: Eight,
    predicted: Eight,
    change: Eight,
    /// 0 where the sums at the trial points are finite.
    finite: Eight,
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
        let sums = plan.programs.pass.n_sums();
        let zero = [0.0; 8];
        Lanes {
            plan,
            data,
            queue,
            limits,
            level: Level::detect(),
            workspace: plan.programs.pass.workspace(),
            params: vec![zero; 2 * p + 1],
            columns: vec![vec![0.0; 8 * longest]; plan.programs.columns().count()],
            n_rows: [0; 8],
            lanes: [Lane {
                fit: usize::MAX,
                fresh: true,
                cost: f64::NAN,
                nu: 2.0,
                evaluations: 0,
                last: [0.0; 2],
            }; 8],
            here: vec![zero; sums],
            there: vec![zero; sums],
            theta: vec![zero; p],
            trial: vec![zero; p],
            scale: vec![zero; p],
            work: vec![zero; p * (p + 1) / 2 + 2 * p],
            starting: vec![zero; p],
            errors: Errors::new(p),
            lambda: zero,
            predicted: zero,
            change: zero,
            finite: zero,
        }
    }

    /// Puts fit `fit` into lane `k`.
    fn load(&mut self, k: usize, fit: usize) {
        let group = self.queue.part[fit];
        let rows = self.queue.groups.rows(group);
        for (c, wide) in self.columns.iter_mut().enumerate() {
            let column = self.data.column(c);
            let mut last = 0.0;
            for (slot, &row) in wide[k..].iter_mut().step_by(8).zip(rows) {
                last = column[row as usize];
                *slot = last;
            }
            // What stands beyond must be harmless for the formula: the last row again.
            for slot in wide[k..].iter_mut().step_by(8).skip(rows.len()) {
                *slot = last;
            }
        }
        self.n_rows[k] = rows.len();
        let p = self.trial.len();
        for a in 0..p {
            self.trial[a][k] = self.queue.starts[group * p + a];
            self.scale[a][k] = 0.0;
        }
        self.lambda[k] = 1e-3;
        self.lanes[k] = Lane {
            fit,
            fresh: true,
            cost: f64::NAN,
            nu: 2.0,
            evaluations: 0,
            last: [0.0; 2],
        };
    }

    /// Fits every fit that `queue` gives.
    pub(super) fn run(&mut self, queue: &mut dyn Iterator<Item = usize>, out: &mut Fits<'_>) {
        let p = self.trial.len();
        for k in 0..8 {
            if let Some(fit) = queue.next() {
                self.load(k, fit);
            }
        }
        // Idle lanes repeat a busy one's rows, so that they compute something harmless.
        while self.lanes.iter().any(|l| l.fit != usize::MAX) {
            self.params[..p].copy_from_slice(&self.trial);
            let longest = self.busy_rows();
            let views: Vec<&[f64]> = self.columns.iter().map(|c| &c[..8 * longest]).collect();
            let pass = &self.plan.programs.pass;
            pass.accumulate_eight(
                &mut self.workspace,
                &self.params,
                &views,
                &self.n_rows,
                &mut self.there,
            );
            self.level.run(Finite {
                sums: &self.there,
                to: &mut self.finite,
            });
            let mut accept = [0.0; 8];
            for k in 0..8 {
                if self.lanes[k].fit != usize::MAX && self.judge(k, out) {
                    accept[k] = 1.0;
                }
            }
            for k in 0..8 {
                let idle = self.lanes[k].fit == usize::MAX;
                if idle {
                    match queue.next() {
                        Some(fit) => self.load(k, fit),
                        None => self.n_rows[k] = 0,
                    }
                }
            }
            // Lanes just loaded keep their start as trial point: the step below moves them.
            self.starting.copy_from_slice(&self.trial);
            self.level.run(Step {
                p,
                there: &self.there,
                here: &mut self.here,
                theta: &mut self.theta,
                trial: &mut self.trial,
                accept: &accept,
                scale: &mut self.scale,
                lambda: &self.lambda,
                predicted: &mut self.predicted,
                change: &mut self.change,
                work: &mut self.work,
            });
            for k in (0..8).filter(|&k| self.lanes[k].fresh) {
                for a in 0..p {
                    self.trial[a][k] = self.starting[a][k];
                    self.scale[a][k] = 0.0;
                }
            }
        }
        self.errors.give(out.se);
    }

    fn busy_rows(&self) -> usize {
        let busy = self
            .lanes
            .iter()
            .zip(&self.n_rows)
            .filter(|(l, _)| l.fit != usize::MAX);
        busy.map(|(_, &n)| n).max().unwrap_or(0)
    }

    /// What becomes of the trial point of lane `k`: true when it is accepted. A lane that is done
    /// gives its result and is idle.
    fn judge(&mut self, k: usize, out: &mut Fits<'_>) -> bool {
        let p = self.trial.len();
        let cost = 0.5 * self.there[(p + 1) * (p + 2) / 2 - 1][k];
        let finite = self.finite[k] == 0.0;
        let lane = &mut self.lanes[k];
        lane.evaluations += 1;
        if lane.fresh {
            lane.fresh = false;
            if !finite {
                self.finish(k, Status::NonFinite, out, false);
                return false;
            }
            lane.cost = cost;
            if cost == 0.0 {
                self.finish(k, Status::ExactFit, out, true);
            }
            return true;
        }
        let (predicted, change) = (self.predicted[k], self.change[k]);
        let ratio = (lane.cost - cost) / predicted;
        let level = predicted <= 1e-14 * lane.cost && cost <= lane.cost * (1.0 + 1e-13);
        let better = finite && (ratio > 1e-4 && predicted > 0.0 || level);
        if better {
            lane.cost = cost;
            let q = ratio.min(1.0);
            let factor = if level {
                0.1
            } else {
                (1.0 - (2.0 * q - 1.0).powi(3)).max(0.1)
            };
            self.lambda[k] = (self.lambda[k] * factor).max(1e-20);
            lane.nu = 2.0;
        } else {
            self.lambda[k] = (self.lambda[k] * lane.nu).max(1e-14);
            lane.nu = (2.0 * lane.nu).min(64.0);
        }
        let small = least_change(change, lane.last) <= SMALL.max(self.limits.xtol);
        lane.last = match better {
            true => [lane.last[1], change],
            false => [0.0; 2],
        };
        let status = if cost == 0.0 {
            Some(Status::ExactFit)
        } else if better && small {
            Some(Status::SmallStep)
        } else if better && predicted <= self.limits.ftol * cost {
            Some(Status::SmallReduction)
        } else if !better && change < 1e-14 {
            let hidden = predicted <= 1e-12 * lane.cost;
            Some(if hidden {
                Status::Rounding
            } else {
                Status::NoProgress
            })
        } else if self.lambda[k] > 1e12 || !predicted.is_finite() && self.lambda[k] > 1.0 {
            Some(Status::DampingLimit)
        } else if lane.evaluations >= self.limits.max_evaluations {
            Some(Status::EvaluationLimit)
        } else {
            None
        };
        if let Some(status) = status {
            self.finish(k, status, out, better);
        }
        better
    }

    /// Writes the result of lane `k`, at the trial point if that was accepted.
    fn finish(&mut self, k: usize, status: Status, out: &mut Fits<'_>, at_trial: bool) {
        let lane = &mut self.lanes[k];
        let (sums, theta) = if at_trial {
            (&self.there, &self.trial)
        } else {
            (&self.here, &self.theta)
        };
        let p = theta.len();
        let fit = lane.fit;
        lane.fit = usize::MAX;
        out.status[fit] = status;
        out.evaluations[fit] = lane.evaluations as u32;
        out.cost[fit] = if at_trial || !lane.fresh {
            lane.cost
        } else {
            f64::NAN
        };
        for a in 0..p {
            out.theta[fit * p + a] = theta[a][k];
        }
        if status == Status::NonFinite {
            for a in 0..p {
                out.theta[fit * p + a] = self.trial[a][k];
            }
            return;
        }
        let dof = self.n_rows[k].saturating_sub(p);
        if !status.converged() || dof == 0 && !out.absolute_sigma {
            return;
        }
        let s2 = match out.absolute_sigma {
            true => 1.0,
            false => 2.0 * out.cost[fit] / dof as f64,
        };
        let q = p + 1;
        let entry = |a: usize, b: usize| sums[a * q + b - a * (a + 1) / 2][k];
        self.errors.take(fit, entry, s2, out.se);
    }
}
