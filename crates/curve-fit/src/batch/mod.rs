//! Many small fits: eight at a time, a problem in each lane of the registers.
//!
//! A result does not depend on lane, neighbours, threads or order. What does not end well in a
//! lane is fitted once more alone, by every means a single fit has; so are fits with bounds,
//! robust losses or counts.

mod eights;
mod errors;
mod groups;
mod judge;
mod lanes;
mod machine;
mod step;

pub use groups::Groups;

use crate::fit::{Options, Plan, fit_table};
use crate::formula::Loss;
use crate::library::Sample;
use crate::method::{Next, Status};
use crate::pass::Columns;
use fitzroy::Result;
use fitzroy_device::gpu::Machine;
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
    /// How each ended.
    pub status: Vec<Status>,
    /// Evaluations of each.
    pub evaluations: Vec<u32>,
    /// Fits that were done once more alone.
    pub n_alone: usize,
}

/// Where lanes write their results: all fits, each written once.
struct Fits<'o> {
    theta: &'o mut [f64],
    se: &'o mut [f64],
    cost: &'o mut [f64],
    status: &'o mut [Status],
    evaluations: &'o mut [u32],
    absolute_sigma: bool,
}

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
    fit_many_on(None, plan, table, groups, options, stop)
}

/// As [`fit_many`], with the lanes on a machine for kernels where there is one: fits with bounds,
/// robust losses or counts, and those that do not end well, stay with this processor.
///
/// # Errors
/// Those of the machine.
pub fn fit_many_on(
    machine: Option<&mut dyn Machine>,
    plan: &Plan,
    table: &Columns<'_>,
    groups: &Groups,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Batch> {
    let (n, p) = (groups.len(), plan.free.len());
    let starts = starts(plan, table, groups, options)?;
    let in_lanes = options.loss == Loss::Linear && !plan.bounds.any();
    let mut batch = Batch {
        names: plan.names(),
        theta: starts.clone(),
        se: vec![f64::NAN; n * p],
        cost: vec![f64::NAN; n],
        status: vec![Status::Interrupted; n],
        evaluations: vec![0; n],
        n_alone: 0,
    };
    for (k, status) in batch.status.iter_mut().enumerate() {
        if groups.rows(k).len() < p {
            *status = Status::TooFewRows;
        }
    }
    if in_lanes {
        match machine {
            Some(on) => machine::run(on, plan, table, groups, options, &starts, &mut batch)?,
            None => share(plan, table, groups, options, &starts, &mut batch, stop),
        }
    }
    let alone: Vec<usize> = (0..n)
        .filter(|&k| !batch.status[k].converged() && batch.status[k] != Status::TooFewRows)
        .collect();
    if stop.load(Ordering::Relaxed) {
        return Ok(batch);
    }
    batch.n_alone = alone.len();
    let results: Vec<(usize, Option<crate::fit::Estimate>)> =
        each(&alone, options.threads, stop, |k| {
            one(plan, table, groups, options, &starts, k)
        });
    for (k, found) in results {
        match found {
            Some(found) => {
                batch.theta[k * p..(k + 1) * p].copy_from_slice(&found.popt);
                batch.se[k * p..(k + 1) * p].copy_from_slice(&found.se());
                batch.cost[k] = found.cost;
                batch.status[k] = found.status;
                batch.evaluations[k] += found.evaluations as u32;
            }
            None => batch.status[k] = Status::NonFinite,
        }
    }
    Ok(batch)
}

/// Fits in lanes, shared among threads.
fn share(
    plan: &Plan,
    table: &Columns<'_>,
    groups: &Groups,
    options: &Options,
    starts: &[f64],
    batch: &mut Batch,
    stop: &AtomicBool,
) {
    let (n, p) = (groups.len(), plan.free.len());
    // Neighbours of like length waste least.
    let mut order: Vec<usize> = (0..n)
        .filter(|&k| groups.rows(k).len() >= p.max(1))
        .collect();
    order.sort_by_key(|&k| groups.rows(k).len());
    let threads = options.threads.clamp(1, n.div_ceil(SHARE).max(1));
    let shares = order.len().div_ceil(threads).max(1);
    let parts: Vec<&[usize]> = order.chunks(shares).collect();
    let run = |part: &[usize]| {
        let mut own = Own::new(part.len(), p);
        let longest = part
            .iter()
            .map(|&k| groups.rows(k).len())
            .max()
            .unwrap_or(0);
        let fits = lanes::Queue {
            groups,
            part,
            starts,
        };
        let mut lanes = lanes::Lanes::new(plan, table, fits, longest, options.limits);
        let mut queue = (0..part.len()).take_while(|_| !stop.load(Ordering::Relaxed));
        lanes.run(&mut queue, &mut own.fits(options.absolute_sigma));
        own
    };
    let done: Vec<Own> = if parts.len() == 1 {
        vec![run(parts[0])]
    } else {
        std::thread::scope(|scope| {
            let run = &run;
            let handles: Vec<_> = parts
                .iter()
                .map(|part| scope.spawn(move || run(part)))
                .collect();
            handles
                .into_iter()
                .map(|h| h.join().expect("fits do not panic"))
                .collect()
        })
    };
    for (part, own) in parts.iter().zip(done) {
        for (at, &k) in part.iter().enumerate() {
            batch.theta[k * p..(k + 1) * p].copy_from_slice(&own.theta[at * p..(at + 1) * p]);
            batch.se[k * p..(k + 1) * p].copy_from_slice(&own.se[at * p..(at + 1) * p]);
            batch.cost[k] = own.cost[at];
            batch.status[k] = own.status[at];
            batch.evaluations[k] = own.evaluations[at];
        }
    }
}

/// Results of one thread.
struct Own {
    theta: Vec<f64>,
    se: Vec<f64>,
    cost: Vec<f64>,
    status: Vec<Status>,
    evaluations: Vec<u32>,
}

impl Own {
    fn new(n: usize, p: usize) -> Own {
        Own {
            theta: vec![f64::NAN; n * p],
            se: vec![f64::NAN; n * p],
            cost: vec![f64::NAN; n],
            status: vec![Status::Interrupted; n],
            evaluations: vec![0; n],
        }
    }

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
    starts: &[f64],
    k: usize,
) -> Option<crate::fit::Estimate> {
    let p = plan.free.len();
    let rows: Vec<usize> = groups.rows(k).iter().map(|&r| r as usize).collect();
    if rows.len() < p {
        return None;
    }
    let own = table.take(&rows);
    let p0 = plan
        .names()
        .into_iter()
        .zip(starts[k * p..(k + 1) * p].iter().copied());
    let options = Options {
        p0: p0.collect(),
        threads: 1,
        ..options.clone()
    };
    fit_table(plan, &own, &options, &mut |_| Next::Continue).ok()
}

/// Starting values of every fit: given, by the rule of the built-in curve for each, or those of
/// the first fit that can be started, for all.
fn starts(
    plan: &Plan,
    table: &Columns<'_>,
    groups: &Groups,
    options: &Options,
) -> Result<Vec<f64>> {
    let (n, p) = (groups.len(), plan.free.len());
    let mut common = vec![f64::NAN; p];
    for (name, x) in &options.p0 {
        if let Some(k) = (0..p).find(|&k| plan.name(k) == name) {
            common[k] = *x;
        }
    }
    let entry = plan.formula.builtin().and_then(|b| b.entry);
    if let (Some(entry), true) = (entry, common.iter().any(|x| x.is_nan())) {
        let n_x = plan.roles.predictors.len();
        let mut out = Vec::with_capacity(n * p);
        for k in 0..n {
            let rows: Vec<usize> = groups.rows(k).iter().map(|&r| r as usize).collect();
            let own = table.take(&rows);
            let x: Vec<Vec<f64>> = (0..n_x).map(|c| own.column(c).to_vec()).collect();
            let found = (entry.start)(&Sample::new(&x, own.column(n_x)));
            for (a, given) in common.iter().enumerate() {
                let at = entry
                    .parameters
                    .iter()
                    .position(|name| *name == plan.name(a));
                let own = at.map_or(1.0, |at| found[at]);
                let own = if own.is_finite() { own } else { 1.0 };
                out.push(
                    plan.bounds
                        .clip(a, if given.is_nan() { own } else { *given }),
                );
            }
        }
        return Ok(out);
    }
    if common.iter().any(|x| x.is_nan()) {
        for k in 0..n {
            let rows: Vec<usize> = groups.rows(k).iter().map(|&r| r as usize).collect();
            if rows.len() <= p {
                continue;
            }
            let own = table.take(&rows);
            if let Ok(found) = fit_table(plan, &own, options, &mut |_| Next::Continue)
                && found.converged()
            {
                common.copy_from_slice(&found.popt);
                break;
            }
        }
        for x in &mut common {
            *x = if x.is_nan() { 1.0 } else { *x };
        }
    }
    let one = common
        .iter()
        .enumerate()
        .map(|(k, &x)| plan.bounds.clip(k, x));
    let one: Vec<f64> = one.collect();
    Ok(one.repeat(n))
}
