//! Many small fits: eight at a time, a problem in each lane of the registers.
//!
//! A result does not depend on lane, neighbours, threads or order. What does not end well in a
//! lane is fitted once more alone, by every means a single fit has; so are fits with bounds,
//! robust losses or counts, from many starts, by other methods or with other covariances.

mod doubts;
mod eights;
mod errors;
mod grids;
mod groups;
mod judge;
mod lanes;
mod machine;
mod starts;
mod step;

pub use doubts::{Doubted, doubts};
pub use groups::Groups;

use crate::fit::{CovarianceKind, CovarianceStatus, Method, Options, Plan, Restarts, fit_table};
use crate::formula::{Loss, Setting, computed_column};
use crate::method::{Next, Status};
use crate::pass::{Columns, Seat};
use fitzroy::Result;
use grids::Grids;
use starts::{Starts, searched, starts};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The results of many fits: arrays with one element, or p, per fit.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Names of the fitted parameters.
    pub names: Vec<String>,
    /// Their values, fit after fit.
    pub theta: Vec<f64>,
    /// Their standard errors; NaN where there are none.
    pub se: Vec<f64>,
    /// F of each fit.
    pub cost: Vec<f64>,
    /// Σ r² of each, or the deviance for counts.
    pub chi2: Vec<f64>,
    /// How each ended.
    pub status: Vec<Status>,
    /// Why standard errors are missing, if they are.
    pub covariance_status: Vec<CovarianceStatus>,
    /// Evaluations of each.
    pub evaluations: Vec<u32>,
    /// Fits that were done once more alone.
    pub n_alone: usize,
}

impl Batch {
    /// How many fits converged.
    pub fn n_converged(&self) -> usize {
        self.status.iter().filter(|s| s.converged()).count()
    }

    /// Fits of `names` that have not been made.
    fn new(names: Vec<String>, n: usize) -> Batch {
        let p = names.len();
        Batch {
            names,
            theta: vec![f64::NAN; n * p],
            se: vec![f64::NAN; n * p],
            cost: vec![f64::NAN; n],
            chi2: vec![f64::NAN; n],
            status: vec![Status::Interrupted; n],
            covariance_status: vec![CovarianceStatus::NotConverged; n],
            evaluations: vec![0; n],
            n_alone: 0,
        }
    }

    /// Takes a fit of problem `k` that was made alone.
    fn take(&mut self, k: usize, found: &crate::fit::Estimate) {
        let own = k * self.names.len()..(k + 1) * self.names.len();
        self.theta[own.clone()].copy_from_slice(&found.popt);
        self.se[own].copy_from_slice(&found.se());
        self.cost[k] = found.cost;
        self.chi2[k] = found.chi2;
        self.status[k] = found.status;
        self.covariance_status[k] = found.covariance_status;
        self.evaluations[k] += found.evaluations as u32;
    }

    /// Parameters of `plan` that were not fitted, with a value for each fit: fixed ones, and ties of what
    /// was fitted.
    ///
    /// # Errors
    /// None for a plan whose fits these are.
    pub fn held(&self, plan: &Plan) -> Result<Vec<(String, Vec<f64>)>> {
        let (mut held, mut ties) = (Vec::new(), Vec::new());
        for (parameter, setting) in plan.roles.parameters.iter().zip(&plan.settings) {
            let name = parameter.name.clone();
            match setting {
                Setting::Free => {}
                Setting::Fixed(x) => held.push((name, vec![*x; self.status.len()])),
                Setting::Tied(tie) => ties.push((name, tie)),
            }
        }
        // There may be millions of fits, whose values only ties have to see.
        if ties.is_empty() {
            return Ok(held);
        }
        let fitted = self.names.iter().enumerate().map(|(a, name)| {
            let values = self.theta.iter().skip(a).step_by(self.names.len());
            (name.clone(), values.copied().collect())
        });
        let known: Vec<(String, Vec<f64>)> = fitted.chain(held.iter().cloned()).collect();
        for (name, tie) in ties {
            held.push((name, computed_column(tie, &known)?));
        }
        Ok(held)
    }

    /// Has `make` write the fits of `order`, one after the other: where they belong if that is one after the
    /// other, too.
    fn in_order(&mut self, order: &[usize], absolute_sigma: bool, make: impl FnOnce(Fits<'_>)) {
        let p = self.names.len();
        let Some(&first) = order.first() else { return };
        if order.iter().enumerate().all(|(at, &k)| k == first + at) {
            let (_, others) = self.fits(absolute_sigma).split(first);
            return make(others.split(order.len()).0);
        }
        let mut sorted = Batch::new(self.names.clone(), order.len());
        make(sorted.fits(absolute_sigma));
        for (at, &k) in order.iter().enumerate() {
            if sorted.status[at] == Status::Interrupted {
                continue;
            }
            self.theta[k * p..(k + 1) * p].copy_from_slice(&sorted.theta[at * p..(at + 1) * p]);
            self.se[k * p..(k + 1) * p].copy_from_slice(&sorted.se[at * p..(at + 1) * p]);
            self.cost[k] = sorted.cost[at];
            self.status[k] = sorted.status[at];
            self.evaluations[k] = sorted.evaluations[at];
        }
    }

    /// Where results of all its fits are written.
    fn fits(&mut self, absolute_sigma: bool) -> Fits<'_> {
        Fits {
            theta: &mut self.theta,
            se: &mut self.se,
            cost: &mut self.cost,
            status: &mut self.status,
            evaluations: &mut self.evaluations,
            absolute_sigma,
        }
    }
}

/// Where lanes write their results: fits that follow each other, each written once.
struct Fits<'o> {
    theta: &'o mut [f64],
    se: &'o mut [f64],
    cost: &'o mut [f64],
    status: &'o mut [Status],
    evaluations: &'o mut [u32],
    absolute_sigma: bool,
}

impl<'o> Fits<'o> {
    /// The first `n` and the others.
    fn split(self, n: usize) -> (Fits<'o>, Fits<'o>) {
        let p = self.theta.len() / self.cost.len().max(1);
        let (theta, more_theta) = self.theta.split_at_mut(n * p);
        let (se, more_se) = self.se.split_at_mut(n * p);
        let (cost, more_cost) = self.cost.split_at_mut(n);
        let (status, more_status) = self.status.split_at_mut(n);
        let (evaluations, more_evaluations) = self.evaluations.split_at_mut(n);
        let absolute_sigma = self.absolute_sigma;
        let first = Fits {
            theta,
            se,
            cost,
            status,
            evaluations,
            absolute_sigma,
        };
        let others = Fits {
            theta: more_theta,
            se: more_se,
            cost: more_cost,
            status: more_status,
            evaluations: more_evaluations,
            absolute_sigma,
        };
        (first, others)
    }

    /// Has threads do `work` for `each` fits at a time, which are told by their places; this thread, if that is all.
    fn in_threads(self, each: usize, work: impl Fn(Range<usize>, Fits<'o>) + Sync) {
        let n = self.cost.len();
        if each >= n {
            return work(0..n, self);
        }
        std::thread::scope(|scope| {
            let (work, mut rest) = (&work, self);
            for first in (0..n).step_by(each) {
                let part = first..n.min(first + each);
                let (own, others) = rest.split(part.len());
                scope.spawn(move || work(part, own));
                rest = others;
            }
        });
    }
}

/// A standard error that is this many times its parameter: there may be nothing that determines it.
const VAST: f64 = 1e5;
/// Fits taken by a thread at once.
const SHARE: usize = 256;

/// Fits every group of the rows of `table`, whose columns are those of the plan.
///
/// `stop` ends the work early: fits not yet done are `Interrupted`.
///
/// # Errors
/// None but wrong options: what is wrong with one fit is its status.
pub fn fit_many(
    plan: &Plan,
    table: &Columns<'_>,
    groups: &Groups,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Batch> {
    fit_many_on(&[], plan, table, groups, options, stop)
}

/// As [`fit_many`], with the lanes on machines for kernels where there are any, which take parts of them in turns: fits with bounds,
/// robust losses or counts, and those that do not end well, stay with this processor.
///
/// # Errors
/// Those of the machines, all of which have failed.
pub fn fit_many_on(
    machines: &[Seat],
    plan: &Plan,
    table: &Columns<'_>,
    groups: &Groups,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Batch> {
    let (n, p) = (groups.len(), plan.free.len());
    let starts = starts(plan, table, groups, options)?;
    let in_lanes = suit_machines(plan, options);
    let mut batch = Batch::new(plan.names(), n);
    for (k, theta) in batch.theta.chunks_mut(p.max(1)).enumerate() {
        theta.copy_from_slice(starts.of(k));
    }
    for (k, status) in batch.status.iter_mut().enumerate() {
        if groups.n_rows(k) < p {
            *status = Status::TooFewRows;
        }
    }
    if in_lanes {
        match machines.is_empty() {
            false => machine::run(machines, plan, table, groups, options, &starts, &mut batch)?,
            true => share(plan, table, groups, options, &starts, &mut batch, stop),
        }
    }
    for k in 0..n {
        batch.chi2[k] = 2.0 * batch.cost[k];
        batch.covariance_status[k] = errors_in_lanes(&batch, k, groups.n_rows(k), options);
    }
    let searched = searched(plan, table, groups, options, &batch)?;
    let alone: Vec<usize> = (0..n)
        .filter(|&k| batch.status[k] != Status::TooFewRows)
        .filter(|&k| !batch.status[k].converged() || is_doubtful(&batch, k) || searched[k])
        .collect();
    if stop.load(Ordering::Relaxed) {
        return Ok(batch);
    }
    batch.n_alone = alone.len();
    let results: Vec<(usize, Option<crate::fit::Estimate>)> =
        each(&alone, options.threads, stop, |k| match searched[k] {
            true => one(plan, table, groups, options, options.p0.clone(), k),
            false => {
                let p0 = plan.names().into_iter().zip(starts.of(k).iter().copied());
                one(plan, table, groups, options, p0.collect(), k)
            }
        });
    for (k, found) in results {
        let lower = found.as_ref().is_some_and(|f| f.cost < batch.cost[k]);
        if searched[k] && !lower && batch.status[k].converged() {
            continue;
        }
        match found {
            Some(found) => batch.take(k, &found),
            None => {
                batch.status[k] = Status::NonFinite;
                batch.covariance_status[k] = CovarianceStatus::NotConverged;
            }
        }
    }
    // What was not fitted has no values: those of its start would look like a result.
    for (k, status) in batch.status.iter().enumerate() {
        if matches!(status, Status::TooFewRows | Status::NonFinite) {
            batch.theta[k * p..(k + 1) * p].fill(f64::NAN);
        }
    }
    Ok(batch)
}

/// Why fits that do not suit machines are made where they are.
pub const ON_PROCESSOR: &str = "many fits with bounds, a loss other than linear, several starts, another method than lm, or \
     another covariance than the classic one are made on the processor";

/// Whether lanes, and machines, can do what `options` ask for: damped steps from one start, least squares
/// without bounds, and the classic covariance.
pub fn suit_machines(plan: &Plan, options: &Options) -> bool {
    options.loss == Loss::Linear
        && !plan.bounds.any()
        && options.multistart <= 1
        && !options.global
        && matches!(options.method, Method::Auto | Method::Lm)
        && matches!(
            options.covariance,
            CovarianceKind::Auto | CovarianceKind::Classic
        )
}

/// What became of the errors of fit `k`, made in a lane from `n_rows` rows.
fn errors_in_lanes(batch: &Batch, k: usize, n_rows: usize, options: &Options) -> CovarianceStatus {
    let p = batch.names.len();
    if !batch.status[k].converged() {
        CovarianceStatus::NotConverged
    } else if batch.se[k * p..][..p].iter().all(|x| x.is_finite()) {
        CovarianceStatus::Ok
    } else if n_rows == p && !options.absolute_sigma {
        CovarianceStatus::ZeroDof
    } else {
        CovarianceStatus::RankDeficient
    }
}

/// Whether fit `k`, which converged in a lane, is to be looked at as closely as a single fit: where a
/// parameter has no effect, its lane has an error of 0 or a vast one.
fn is_doubtful(batch: &Batch, k: usize) -> bool {
    let p = batch.names.len();
    let vast = |(x, se): (&f64, &f64)| *se > VAST * x.abs();
    let both = batch.theta[k * p..].iter().zip(&batch.se[k * p..][..p]);
    batch.status[k] == Status::ExactFit
        || batch.covariance_status[k] == CovarianceStatus::RankDeficient
        || both.into_iter().any(vast)
}

/// Fits in lanes, shared among threads.
fn share(
    plan: &Plan,
    table: &Columns<'_>,
    groups: &Groups,
    options: &Options,
    starts: &Starts,
    batch: &mut Batch,
    stop: &AtomicBool,
) {
    let (n, p) = (groups.len(), plan.free.len());
    let grids = Grids::find(plan, table, groups);
    // Neighbours on grids of one shape need the same functions, others of like length waste least.
    let mut order: Vec<usize> = (0..n).filter(|&k| groups.n_rows(k) >= p.max(1)).collect();
    order.sort_by_key(|&k| (grids.shape(k), groups.n_rows(k)));
    let threads = options.threads.clamp(1, n.div_ceil(SHARE).max(1));
    let shares = order.len().div_ceil(threads).max(1);
    let run = |places: Range<usize>, mut own: Fits<'_>| {
        let part = &order[places];
        let longest = part.iter().map(|&k| groups.n_rows(k)).max().unwrap_or(0);
        let fits = lanes::Queue {
            groups,
            part,
            starts,
            grids: &grids,
        };
        let mut lanes = lanes::Lanes::new(plan, table, fits, longest, options.limits);
        let mut first = 0;
        for alike in part.chunk_by(|&a, &b| grids.shape(a) == grids.shape(b)) {
            let end = first + alike.len();
            let mut queue = (first..end).take_while(|_| !stop.load(Ordering::Relaxed));
            lanes.run(grids.shape(alike[0]), &mut queue, &mut own);
            first = end;
        }
    };
    batch.in_order(&order, options.absolute_sigma, |fits| {
        fits.in_threads(shares, run);
    });
}

/// `f` of each item, on several threads; results in any order.
fn each<T: Send>(
    items: &[usize],
    threads: usize,
    stop: &AtomicBool,
    f: impl Fn(usize) -> T + Sync,
) -> Vec<(usize, T)> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut out = Vec::new();
        while let Some(&k) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            out.push((k, f(k)));
        }
        out
    };
    if threads <= 1 || items.len() < 2 {
        return work();
    }
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads.min(items.len()))
            .map(|_| scope.spawn(work))
            .collect();
        handles
            .into_iter()
            .flat_map(|h| h.join().expect("fits do not panic"))
            .collect()
    })
}

/// One fit alone; `None` when its data or start are not usable.
fn one(
    plan: &Plan,
    table: &Columns<'_>,
    groups: &Groups,
    options: &Options,
    p0: Vec<(String, f64)>,
    k: usize,
) -> Option<crate::fit::Estimate> {
    let p = plan.free.len();
    let rows: Vec<usize> = groups.rows(k).iter().map(|&r| r as usize).collect();
    if rows.len() < p {
        return None;
    }
    let own = table.take(&rows);
    let options = Options {
        p0,
        threads: 1,
        restarts: Restarts::Never,
        ..options.clone()
    };
    fit_table(plan, &own, &options, &mut |_| Next::Continue).ok()
}
