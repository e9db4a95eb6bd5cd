//! The end of fits whose residuals are not row by row: an estimate from that of the plain fit before.

use super::conclude::value_of;
use super::estimate::{CovarianceStatus, Estimate};
use super::plan::Plan;
use super::predict::quantile;
use crate::method::Status;
use crate::method::foreign::{Solved, covariance};
use fitzroy::Result;

/// `before` with what a fit of other residuals gave; `what` says of which.
pub(super) fn finished(
    plan: &Plan,
    before: &Estimate,
    solved: &Solved,
    what: &str,
) -> Result<Estimate> {
    let p = plan.free.len();
    let theta = solved.minimum.theta.clone();
    let mut e = before.clone();
    e.cost = solved.minimum.moments.cost;
    e.chi2 = 2.0 * e.cost;
    e.status = solved.minimum.status;
    e.evaluations += solved.evaluations;
    e.method = format!("{} + {what}", before.method);
    e.covariance_kind = "classic";
    e.findings.clear();
    e.flags.clear();
    let at_bound: Vec<bool> = (0..p).map(|k| plan.bounds.touches(k, theta[k])).collect();
    let inside: Vec<usize> = (0..p).filter(|&k| !at_bound[k]).collect();
    let found = covariance(&solved.jacobian, p, &inside);
    e.covariance_status = match (&found, e.status.converged()) {
        (_, false) => CovarianceStatus::NotConverged,
        (None, _) => CovarianceStatus::RankDeficient,
        (Some(_), _) if e.dof == 0 && !e.absolute_sigma => CovarianceStatus::ZeroDof,
        _ if inside.len() < p => CovarianceStatus::AtBound,
        _ => CovarianceStatus::Ok,
    };
    e.pcov = vec![f64::NAN; p * p];
    let shown = matches!(
        e.covariance_status,
        CovarianceStatus::Ok | CovarianceStatus::AtBound
    );
    if let (Some(found), true) = (found, shown) {
        let s2 = if e.absolute_sigma {
            1.0
        } else {
            e.reduced_chi2()
        };
        for (i, &a) in inside.iter().enumerate() {
            for (j, &b) in inside.iter().enumerate() {
                e.pcov[a * p + b] = s2 * found[i * inside.len() + j];
            }
        }
    }
    if let Some(rank) = &solved.rank {
        (e.rank, e.condition) = (rank.rank, rank.condition);
    }
    settle(plan, theta, &at_bound, &mut e)?;
    if !e.status.converged() && e.status != Status::Interrupted {
        e.findings.push(format!(
            "the fit by {what} did not converge; give starting values (⟨p0⟩) or bounds"
        ));
    }
    Ok(e)
}

/// Puts the values at `theta` into `e`, with errors and intervals by its covariance, and tells which ended at
/// their bounds.
pub(super) fn settle(
    plan: &Plan,
    theta: Vec<f64>,
    at_bound: &[bool],
    e: &mut Estimate,
) -> Result<()> {
    let t = quantile(e);
    for (k, fitted) in e.parameters.iter_mut().enumerate() {
        let (value, se, _) = value_of(plan, k, &theta, &e.pcov)?;
        (fitted.value, fitted.se) = (value, se);
        (fitted.ci_lower, fitted.ci_upper) = (value - t * se, value + t * se);
        let free = plan.free.iter().position(|&f| f == k);
        fitted.at_bound = free.is_some_and(|at| at_bound[at]);
        if fitted.at_bound {
            e.findings.push(format!(
                "`{}` ended at its bound {value} and has no standard error",
                fitted.name
            ));
        }
    }
    e.popt = theta;
    Ok(())
}
