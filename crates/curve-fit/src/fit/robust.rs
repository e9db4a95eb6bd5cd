//! What robust losses need before they begin: a scale, and a start near the right minimum.

use super::options::Options;
use super::plan::Plan;
use super::problem::Problem;
use super::solve::MANY_ROWS;
use super::start;
use crate::formula::{Loss, Programs};
use crate::method::{Limits, Next, lm};
use crate::pass::Table;
use fitzroy::Result;

/// Tukey's loss has local minima far out: its start is the end of a Huber fit.
pub(super) fn huber_first(
    plan: &Plan,
    options: &Options,
    problem: &Problem<'_>,
    from: &[f64],
) -> Result<Vec<f64>> {
    let programs = with_loss(plan, Loss::Huber)?;
    let scale = problem.scale * 1.345 / 4.685;
    let mut gentle = Problem::new(&programs, problem.reader.table, options.threads, scale);
    let limits = rough(&options.limits);
    let found = lm::minimise(&mut gentle, from, &plan.bounds, &limits, &mut |_| {
        Next::Continue
    })?;
    Ok(if found.moments.is_finite() {
        found.theta
    } else {
        from.to_vec()
    })
}

/// The programs of `plan` with another loss.
pub(super) fn with_loss(plan: &Plan, loss: Loss) -> Result<Programs> {
    Programs::new(
        &plan.formula,
        &plan.roles,
        &plan.settings,
        plan.weighted,
        loss,
        plan.programs.engine(),
    )
}

/// C = k·1.4826·MAD of the residuals of a robust fit, on the subsample of a large table.
pub(super) fn auto_scale(plan: &Plan, table: &dyn Table, options: &Options) -> Result<f64> {
    let programs = with_loss(plan, Loss::Cauchy)?;
    let whole = Problem::new(&programs, table, 1, 1.0);
    let sub = if table.n_rows() > MANY_ROWS {
        Some(whole.subsample(options.seed)?)
    } else {
        None
    };
    let few: &dyn Table = match &sub {
        Some(sub) => sub,
        None => table,
    };
    let plain = Plan {
        programs: std::sync::Arc::new(with_loss(plan, Loss::Linear)?),
        ..plan.clone()
    };
    let mut small = Problem::new(&plain.programs, few, 1, 1.0);
    let mut theta = start::start(&plain, options, &mut small)?.theta;
    let mut c = 1.0;
    for round in 0..4 {
        let mad = median_size(&programs, few, &theta)?;
        // Exact data have no spread: any scale will do.
        if !(mad > 0.0 && mad.is_finite()) {
            break;
        }
        c = 1.4826 * mad;
        if round < 3 {
            let mut robust = Problem::new(&programs, few, 1, 2.385 * c);
            let limits = rough(&options.limits);
            let found = lm::minimise(&mut robust, &theta, &plan.bounds, &limits, &mut |_| {
                Next::Continue
            })?;
            if found.moments.is_finite() {
                theta = found.theta;
            }
        }
    }
    let k = match plan.programs.loss() {
        Loss::Cauchy | Loss::Arctan => 2.385,
        Loss::Tukey => 4.685,
        _ => 1.345,
    };
    Ok(k * c)
}

/// The median absolute residual at `theta`.
fn median_size(programs: &Programs, table: &dyn Table, theta: &[f64]) -> Result<f64> {
    let problem = Problem::new(programs, table, 1, 1.0);
    let mut sizes = Vec::with_capacity(table.n_rows());
    let params = problem.params(theta);
    problem
        .reader
        .rows(programs.plain(), &params, &mut |_, out| {
            sizes.extend(out[theta.len()].iter().map(|r| r.abs()));
            Ok(())
        })?;
    let middle = sizes.len() / 2;
    let (_, median, _) = sizes.select_nth_unstable_by(middle, f64::total_cmp);
    Ok(*median)
}

/// Limits for a fit that is only a start.
fn rough(limits: &Limits) -> Limits {
    Limits {
        xtol: limits.xtol.max(1e-6),
        ftol: limits.ftol.max(1e-12),
        gtol: limits.gtol,
        max_evaluations: limits.max_evaluations,
    }
}
