//! The end of a minimisation: parameters beside a bound are put on it, and first-order conditions are asked
//! before a fit is said to have converged.

use super::kink;
use super::options::{Method, Options};
use super::problem::Problem;
use crate::method::optimality::{descent, on_bounds};
use crate::method::{
    Bounds, Limits, Minimise, Minimum, Moments, Objective, Observer, Status, lm, trf,
};
use fitzroy::Result;

/// Most descents from where the conditions did not hold.
const MOST_DESCENTS: usize = 8;
/// The part of the cost that a descent must gain, not to have been in vain.
const LEAST_FALL: f64 = 1e-12;
/// The part of the cost that rounding may add on a bound.
const ROUNDED: f64 = 1e-13;

/// Goes on from `best` until first-order conditions hold, or up to a kink of the curve.
pub(super) fn settle(
    bounds: &Bounds,
    options: &Options,
    problem: &mut Problem<'_>,
    best: &mut (Minimum, String),
    observer: &mut Observer<'_>,
) -> Result<()> {
    fulfil(bounds, options, problem, best, observer)?;
    let status = best.0.status;
    let stuck = gave_up(status) || status == Status::EvaluationLimit;
    if stuck && kink::rests(problem, bounds, &options.limits, &mut best.0)? {
        best.0.status = Status::Kink;
    }
    Ok(())
}

/// Goes on by the method's own steps and by the trust region in turn. What still does not fulfil first-order
/// conditions has made no progress; what gave up where they hold has converged, to rounding.
fn fulfil(
    bounds: &Bounds,
    options: &Options,
    problem: &mut Problem<'_>,
    best: &mut (Minimum, String),
    observer: &mut Observer<'_>,
) -> Result<()> {
    let limits = &options.limits;
    let mut idle = 0;
    for turn in 0..MOST_DESCENTS {
        let status = best.0.status;
        // Of a cost of rounding, slopes say nothing.
        if status == Status::ExactFit || !(status.converged() || gave_up(status)) {
            return Ok(());
        }
        put_on_bounds(problem, bounds, &mut best.0)?;
        if descent(&best.0.theta, &best.0.moments, bounds, limits).is_none() {
            if gave_up(status) {
                best.0.status = Status::Rounding;
            }
            return Ok(());
        }
        if idle >= 2 {
            break;
        }
        let by_region = (options.method == Method::Trf) != (turn % 2 == 1);
        let (steps, name): (Minimise, _) = match by_region {
            true => (trf::minimise, "trf"),
            false => (lm::minimise, "lm"),
        };
        let spent = best.0.evaluations;
        let left = Limits {
            max_evaluations: limits.max_evaluations.saturating_sub(spent).max(1),
            ..*limits
        };
        let mut found = steps(problem, &best.0.theta, bounds, &left, observer)?;
        found.evaluations += spent;
        let (before, after) = (best.0.moments.cost, found.moments.cost);
        // Both ways in turn, before a fit is given up.
        idle = if after < before * (1.0 - LEAST_FALL) {
            0
        } else {
            idle + 1
        };
        if found.moments.is_finite() && after <= before {
            if !best.1.split('+').any(|own| own == name) {
                best.1 = format!("{}+{name}", best.1);
            }
            best.0 = found;
        } else {
            best.0.evaluations = found.evaluations;
            if matches!(found.status, Status::Interrupted | Status::TimeLimit) {
                best.0.status = found.status;
            }
        }
    }
    if best.0.status.converged()
        && descent(&best.0.theta, &best.0.moments, bounds, limits).is_some()
    {
        best.0.status = Status::NoProgress;
    }
    Ok(())
}

/// Whether a descent ended because no step helped.
fn gave_up(status: Status) -> bool {
    matches!(status, Status::NoProgress | Status::DampingLimit)
}

/// Puts parameters beside their bounds on them, where that does not raise the cost.
fn put_on_bounds(problem: &mut Problem<'_>, bounds: &Bounds, best: &mut Minimum) -> Result<()> {
    let Some(trial) = on_bounds(&best.theta, &best.moments, bounds).filter(|_| bounds.any()) else {
        return Ok(());
    };
    let mut there = Moments::new(trial.len());
    problem.moments(&trial, &mut there)?;
    best.evaluations += 1;
    if there.is_finite() && there.cost <= best.moments.cost * (1.0 + ROUNDED) {
        (best.theta, best.moments) = (trial, there);
    }
    Ok(())
}
