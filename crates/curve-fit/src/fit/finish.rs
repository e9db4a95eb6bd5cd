//! The ends of a fit: steps on all rows after a start on some, and what normal equations lose.

use super::options::{Finish, Options};
use super::plan::Plan;
use super::problem::Problem;
use crate::formula::Loss;
use crate::method::dense::Triangle;
use crate::method::statistics::rank_of_normal;
use crate::method::{Minimum, Moments, Next, Objective, Observer, Status};
use fitzroy::Result;
use fitzroy_device::cpu::TILE_ROWS;

/// A scaled step below this is taken without another read.
const BLIND_STEP: f64 = 1e-5;
/// Longest bend of a step, as a part of the step.
const MOST_BENT: f64 = 0.25;
/// Most reads of all rows before the progressive start is given up.
const MOST_READS: usize = 20;
/// Condition of the scaled Jacobian below which normal equations lose nothing.
const WELL_APART: f64 = 100.0;
/// Most steps of polishing.
const MOST_POLISHED: usize = 4;
/// Rows below which projection is cheap.
const CHEAP_ROWS: usize = 10_000;

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
        let steps = options.method.steps();
        let found = steps(problem, theta, &plan.bounds, &options.limits, observer)?;
        return Ok(found.moments.is_finite().then_some((found, "exact")));
    }
    let p = theta.len();
    let mut theta = theta.to_vec();
    let mut here = Moments::new(p);
    let mut before = f64::INFINITY;
    for read in 1..=MOST_READS {
        problem.moments(&theta, &mut here)?;
        let report = crate::method::Progress {
            iteration: read,
            cost: here.cost,
            theta: &theta,
            lambda: 0.0,
        };
        let stop = match observer(&report) {
            Next::Continue => None,
            Next::OutOfTime => Some(Status::TimeLimit),
            Next::Interrupt => Some(Status::Interrupted),
        };
        if !here.is_finite() || here.cost > before * (1.0 + 1e-12) {
            return Ok(None);
        }
        before = here.cost;
        let minimum = |theta: Vec<f64>, moments: Moments, status: Status| Minimum {
            theta,
            moments,
            status,
            evaluations: read,
            last_fall: 0.0,
        };
        if let Some(status) = stop {
            return Ok(Some((minimum(theta, here, status), "exact")));
        }
        if here.cost == 0.0 {
            return Ok(Some((minimum(theta, here, Status::ExactFit), "exact")));
        }
        let Some(inverse) = crate::method::dense::inverse(&here.normal, p) else {
            return Ok(None);
        };
        let (mut length, mut size, mut fall) = (0.0, 0.0, 0.0);
        let mut next = theta.clone();
        for k in 0..p {
            let step: f64 = -(0..p)
                .map(|j| inverse[k * p + j] * here.gradient[j])
                .sum::<f64>();
            length += here.normal[k * p + k] * step * step;
            size += here.normal[k * p + k] * theta[k] * theta[k];
            fall -= 0.5 * here.gradient[k] * step;
            next[k] += step;
        }
        let blind = length.sqrt() <= BLIND_STEP * size.sqrt();
        if blind && options.finish == Finish::Fast {
            here.cost -= fall;
            return Ok(Some((minimum(next, here, Status::SmallStep), "fast")));
        }
        if blind {
            // Exact: on to the end by the damped method, whose first steps are these.
            let steps = options.method.steps();
            let found = steps(problem, &next, &plan.bounds, &options.limits, observer)?;
            return Ok(found.moments.is_finite().then_some((found, "exact")));
        }
        bend(few, &theta, &mut next)?;
        theta = next;
    }
    Ok(None)
}

/// Adds to the step from `theta` to `next` half the second derivative along it, by the few rows of a
/// subsample: what a Gauss–Newton step leaves is mostly that, and a whole read is saved.
fn bend(few: &mut Problem<'_>, theta: &[f64], next: &mut [f64]) -> Result<()> {
    let p = theta.len();
    let step: Vec<f64> = next.iter().zip(theta).map(|(a, b)| a - b).collect();
    let mut bent = vec![0.0; p];
    if !few.bend(theta, &step, &mut bent)? {
        return Ok(());
    }
    let mut there = Moments::new(p);
    few.moments(theta, &mut there)?;
    let Some(inverse) = crate::method::dense::inverse(&there.normal, p) else {
        return Ok(());
    };
    let half: Vec<f64> = inverse
        .chunks(p)
        .map(|row| -0.5 * row.iter().zip(&bent).map(|(a, b)| a * b).sum::<f64>())
        .collect();
    let length = |v: &[f64]| -> f64 {
        let scaled = v
            .iter()
            .enumerate()
            .map(|(k, x)| there.normal[k * p + k] * x * x);
        scaled.sum()
    };
    // A quarter of the step: beyond, it is not small, and the next read will tell.
    if length(&half) < MOST_BENT * MOST_BENT * length(&step) {
        next.iter_mut().zip(&half).for_each(|(x, a)| *x += a);
    }
    Ok(())
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
    if !wanted || rank_of_normal(&best.moments.normal, p, n).condition < WELL_APART {
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
