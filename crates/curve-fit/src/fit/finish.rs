//! The ends of a fit: steps on all rows after a start on some, and what normal equations lose.

use super::options::{Finish, Options};
use super::plan::Plan;
use super::problem::Problem;
use super::samples::{Part, Samples, Step};
use crate::formula::{Loss, Newton};
use crate::method::dense::{Triangle, inverse};
use crate::method::statistics::rank_of_normal;
use crate::method::{Minimum, Moments, Objective, Observer, Progress, Status};
use crate::pass::Stretches;
use fitzroy::Result;
use fitzroy_device::cpu::TILE_ROWS;

/// A scaled step below this is taken without another read.
const BLIND_STEP: f64 = 1e-5;
/// Tiles from which on a step on a part of the rows comes first, and for more than four parameters, where
/// with fewer rows the subsample says too little in one fit of two; and what part that is.
const MANY_TILES: [usize; 2] = [512, 960];
const SHARE: usize = 8;
/// Most reads of all rows before the progressive start is given up.
const MOST_READS: usize = 20;
/// Condition of the scaled Jacobian below which normal equations lose nothing.
const WELL_APART: f64 = 100.0;
/// Most steps of polishing.
const MOST_POLISHED: usize = 4;
/// Rows below which projection is cheap.
const CHEAP_ROWS: usize = 10_000;

/// The pass of fits of `n_rows` rows that step on a part of them first; none of others.
pub(super) fn parted(plan: &Plan, n_rows: usize) -> Option<&Newton> {
    let many = n_rows >= MANY_TILES[usize::from(plan.free.len() > 4)] * TILE_ROWS;
    let newton = || plan.programs.newton().filter(|_| !plan.bounds.any());
    many.then(newton)?
}

/// On to the end by damped steps; none where there is no finite value.
fn damped(
    problem: &mut Problem<'_>,
    plan: &Plan,
    options: &Options,
    theta: &[f64],
    observer: &mut Observer<'_>,
) -> Result<Option<(Minimum, &'static str)>> {
    let steps = options.method.steps();
    let found = steps(problem, theta, &plan.bounds, &options.limits, observer)?;
    Ok(found.moments.is_finite().then_some((found, "exact")))
}

/// Gauss–Newton steps on all rows from the minimum of a subsample; `None` where they do not lead
/// down. `few` is the subsample.
pub(super) fn finish_on_all(
    problem: &mut Problem<'_>,
    few: &mut Problem<'_>,
    plan: &Plan,
    options: &Options,
    theta: &[f64],
    observer: &mut Observer<'_>,
) -> Result<Option<(Minimum, &'static str)>> {
    if plan.bounds.any() || plan.programs.loss().is_robust() {
        // Steps that meet a bound, or converge linearly, are for the damped method.
        return damped(problem, plan, options, theta, observer);
    }
    let table = problem.reader.table;
    let newton = parted(plan, table.n_rows());
    let stretches = newton.map(|_| Stretches::new(table, SHARE, options.seed));
    let part = stretches.as_ref().map(|rows| Part {
        problem: Problem::new(&plan.programs, rows, options.threads, problem.scale),
        rows,
        told: false,
    });
    let mut samples = Samples { few, part };
    let mut theta = theta.to_vec();
    let (p, mut here) = (theta.len(), Moments::new(theta.len()));
    let mut rest = vec![0.0; p * p];
    samples.approach(&mut theta, &mut here)?;
    let mut before = f64::INFINITY;
    for read in 1..=MOST_READS {
        match newton {
            Some(newton) => samples.all(problem, newton, &theta, (&mut here, &mut rest))?,
            None => problem.moments(&theta, &mut here)?,
        }
        let stop = told(observer, read, &theta, here.cost);
        if !here.is_finite() || here.cost > before * (1.0 + 1e-12) {
            return Ok(None);
        }
        before = here.cost;
        let exact = (here.cost == 0.0).then_some(Status::ExactFit);
        if let Some(status) = stop.or(exact) {
            return Ok(Some((Minimum::reached(theta, here, status, read), "exact")));
        }
        let Some(mut step) = Step::new(&here, &rest, table.n_rows(), &theta) else {
            return Ok(None);
        };
        let blind = step.length <= BLIND_STEP * step.size;
        let fast = options.finish == Finish::Fast;
        let settled = match newton {
            Some(newton) if fast && !blind => {
                samples.settle(newton, &theta, &mut step, &mut here)?
            }
            _ => None,
        };
        if let Some(end) = settled {
            let found = Minimum::reached(end, here, Status::SmallStep, read);
            return Ok(Some((found, "fast")));
        }
        if blind {
            step.take(&mut theta, &mut here);
            if fast {
                let found = Minimum::reached(theta, here, Status::SmallStep, read);
                return Ok(Some((found, "fast")));
            }
            // Exact: on to the end by the damped method, whose first steps are these.
            return damped(problem, plan, options, &theta, observer);
        }
        samples.bend(&theta, &mut step)?;
        step.take(&mut theta, &mut here);
    }
    Ok(None)
}

/// Tells the observer; how the fit ends if that is to stop it.
fn told(observer: &mut Observer<'_>, read: usize, theta: &[f64], cost: f64) -> Option<Status> {
    let report = Progress {
        iteration: read,
        cost,
        theta,
        lambda: 0.0,
    };
    report.tell(observer)
}

/// Whether normal equations lose nothing: by a bound of the condition, √(p tr Â⁻¹), where that will do.
fn well_apart(normal: &[f64], p: usize, n: usize) -> bool {
    let bound = inverse(normal, p).map(|inverse| {
        let terms = (0..p).map(|k| normal[k * p + k] * inverse[k * p + k]);
        (p as f64 * terms.sum::<f64>()).sqrt()
    });
    bound.is_some_and(|c| c < WELL_APART) || rank_of_normal(normal, p, n).condition < WELL_APART
}

/// Gauss–Newton steps by orthogonal factors from a minimum whose parameters are hard to tell apart:
/// what normal equations lose there is found again (a digit of NIST's mean).
pub(super) fn polish(plan: &Plan, problem: &mut Problem<'_>, best: &mut Minimum) -> Result<()> {
    let p = best.theta.len();
    let n = problem.reader.table.n_rows();
    let wanted = n <= CHEAP_ROWS
        && n > p
        && p > 0
        && best.status.converged()
        && best.moments.is_finite()
        && plan.programs.loss() == Loss::Linear
        && (0..p).all(|k| !plan.bounds.touches(k, best.theta[k]));
    if !wanted || well_apart(&best.moments.normal, p, n) {
        return Ok(());
    }
    let mut before = f64::INFINITY;
    let mut there = Moments::new(p);
    for _ in 0..MOST_POLISHED {
        let mut r = Triangle::new(p + 1, TILE_ROWS);
        problem.triangle_of(plan.programs.plain(), &best.theta, &mut r)?;
        let mut step = vec![0.0; p];
        for i in (0..p).rev() {
            let known: f64 = (i + 1..p).map(|k| r.at(i, k) * step[k]).sum();
            step[i] = -(r.at(i, p) + known) / r.at(i, i);
        }
        let trial: Vec<f64> = best.theta.iter().zip(&step).map(|(x, s)| x + s).collect();
        let relative = step.iter().zip(&trial).map(|(s, x)| (s / x).abs());
        let change = relative.fold(0.0, f64::max);
        let inside = (0..p).all(|k| !plan.bounds.touches(k, trial[k]));
        // Steps that do not shrink are rounding, or the minimum is not where damped steps ended.
        if !(change < 0.5 * before && change < 1e-3 && inside) {
            break;
        }
        problem.moments(&trial, &mut there)?;
        best.evaluations += 1;
        if !there.is_finite() || there.cost > best.moments.cost * (1.0 + 1e-13) {
            break;
        }
        best.theta = trial;
        std::mem::swap(&mut best.moments, &mut there);
        before = change;
    }
    Ok(())
}
