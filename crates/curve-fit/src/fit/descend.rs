//! One descent by all the ways there are to a minimum, and which of them counts.

use super::finish::polish;
use super::options::{Method, Options};
use super::plan::Plan;
use super::problem::Problem;
use super::robust::huber_first;
use crate::formula::{Loss, Projection};
use crate::method::dense::Triangle;
use crate::method::{Limits, Minimum, Moments, Objective, Observer, Status, trf, varpro};
use fitzroy::{Error, ErrorKind, Result};

/// Rows up to which other ways are cheap.
const CHEAP_ROWS: usize = 20_000;
/// Evaluations after which a descent was not smooth.
const SMOOTH: usize = 40;
/// Evaluations after which projection, where there is any, is tried before damped steps go on.
const PATIENCE: usize = 400;

/// One descent: damped steps, projection where they did not go smoothly, and the trust region where
/// that left doubts; the lowest cost counts.
pub(super) fn descend(
    plan: &Plan,
    options: &Options,
    problem: &mut Problem<'_>,
    from: &[f64],
    limits: &Limits,
    observer: &mut Observer<'_>,
) -> Result<(Minimum, String)> {
    let bounds = &plan.bounds;
    // Solved parameters know no bounds, and β is not kept inside any.
    let projection = || plan.programs.projection().filter(|_| !bounds.any());
    let mut from = from.to_vec();
    if plan.programs.loss() == Loss::Tukey {
        from = huber_first(plan, options, problem, &from)?;
    }
    let cheap = problem.reader.table.n_rows() <= CHEAP_ROWS;
    // Where projection may do better, damped steps are to end soon, or to go on after it.
    let linear = plan.programs.loss() == Loss::Linear && plan.programs.linear().contains(&true);
    let two_ways = options.method == Method::Auto && cheap && linear && !bounds.any();
    let mut first = *limits;
    if two_ways {
        first.max_evaluations = first.max_evaluations.min(PATIENCE);
    }
    let mut best = match options.method {
        Method::Varpro => only_project(projection(), problem, &from, limits, observer)?,
        method => {
            let found = method.steps()(problem, &from, bounds, &first, observer)?;
            let name = if method == Method::Trf { "trf" } else { "lm" };
            (found, name.to_string())
        }
    };
    let smooth = best.0.status.converged() && best.0.evaluations <= SMOOTH;
    // A start without a value is refused: other ways would hide that, where they can do without.
    let ended = matches!(best.0.status, Status::Interrupted | Status::NonFinite);
    if options.method == Method::Auto && cheap && !ended {
        if let Some(projection) = projection().filter(|_| !smooth) {
            let found = project(projection, problem, &from, limits, observer)?;
            better(&mut best, found);
        }
        let unfinished = best.0.status == Status::EvaluationLimit;
        if unfinished && two_ways && limits.max_evaluations > PATIENCE {
            let from = best.0.theta.clone();
            let found = options.method.steps()(problem, &from, bounds, limits, observer)?;
            better(&mut best, Some((found, "lm".into())));
        }
        let touches = |(k, x): (usize, &f64)| bounds.touches(k, *x);
        let hemmed = best.0.theta.iter().enumerate().any(touches);
        if !best.0.status.converged() || hemmed || bounds.any() && !smooth {
            let found = trf::minimise(problem, &from, bounds, limits, observer)?;
            better(&mut best, Some((found, "trf".into())));
        }
    }
    // Nothing is lower, however a descent ended there.
    if best.0.moments.cost == 0.0 && !ended {
        best.0.status = Status::ExactFit;
    }
    polish(plan, problem, &mut best.0)?;
    Ok(best)
}

/// A descent by projection, where no other way is wanted.
fn only_project(
    projection: Option<&Projection>,
    problem: &mut Problem<'_>,
    from: &[f64],
    limits: &Limits,
    observer: &mut Observer<'_>,
) -> Result<(Minimum, String)> {
    let Some(projection) = projection else {
        let message = "⟨method varpro⟩ needs linear loss, parameters that enter linearly, \
                       and no bounds; use ⟨method lm⟩";
        return Err(Error::new(ErrorKind::Usage, message));
    };
    let found = project(projection, problem, from, limits, observer)?;
    found.ok_or_else(|| {
        let message = "variable projection could not start: some column of the linear \
                       parameters is not finite or depends on the others; use ⟨method lm⟩";
        Error::new(ErrorKind::Numerics, message)
    })
}

/// A descent by projection; none where it cannot start.
fn project(
    projection: &Projection,
    problem: &mut Problem<'_>,
    from: &[f64],
    limits: &Limits,
    observer: &mut Observer<'_>,
) -> Result<Option<(Minimum, String)>> {
    let mut reduce = |theta: &[f64], triangle: &mut Triangle| {
        problem.triangle_of(&projection.program, theta, triangle)
    };
    let Some(found) = varpro::minimise(projection, from, limits, &mut reduce, observer)? else {
        return Ok(None);
    };
    let mut moments = Moments::new(from.len());
    problem.moments(&found.theta, &mut moments)?;
    let minimum = Minimum {
        theta: found.theta,
        moments,
        status: found.status,
        evaluations: found.evaluations,
        last_fall: 0.0,
    };
    Ok(Some((minimum, "varpro".into())))
}

/// Takes `found` where it is lower, or as low and converged where `best` is not; all evaluations count.
fn better(best: &mut (Minimum, String), found: Option<(Minimum, String)>) {
    let Some(mut found) = found else {
        return;
    };
    let evaluations = best.0.evaluations + found.0.evaluations;
    let (own, other) = (best.0.moments.cost, found.0.moments.cost);
    let tie = (own - other).abs() <= 1e-9 * other;
    let lower = !best.0.moments.is_finite()
        || !tie && other < own
        || tie && !best.0.status.converged() && found.0.status.converged();
    if lower && found.0.moments.is_finite() {
        std::mem::swap(best, &mut found);
    }
    best.0.evaluations = evaluations;
}
