//! From a minimum to a result: intervals, findings.

use super::advice::Advice;
use super::data::Data;
use super::errors::{Errors, Optimum};
use super::estimate::{Estimate, Fitted, Kind, Minima};
use super::options::Options;
use super::plan::Plan;
use super::problem::Problem;
use super::search::{BY_CHANCE, Unseen};
use super::solve::Solution;
use super::start::StartRule;
use super::verdict::GUESSED;
use crate::formula::{Loss, Setting};
use crate::method::dense::{cholesky, cholesky_solve};
use crate::method::optimality::descent;
use crate::pass::Table;
use fitzroy::Result;

/// The result of `solution`.
pub(crate) fn conclude(
    plan: &Plan,
    table: &dyn Table,
    options: &Options,
    solution: Solution,
) -> Result<Estimate> {
    let (theta, moments) = (&solution.minimum.theta, &solution.minimum.moments);
    let descent = match moments.is_finite() {
        true => descent(theta, moments, &plan.bounds, &options.limits),
        false => None,
    };
    let last_fall = solution.minimum.last_fall;
    let mut problem = Problem::new(&plan.programs, table, options.threads, solution.scale);
    let found = Optimum::new(plan, options, &solution, &mut problem)?;
    let errors = found.errors(&mut problem)?;
    let ranked = errors.ranked.clone();
    let mut estimate = estimate(&found, errors, solution, problem.reads)?;
    let advice = Advice {
        plan,
        options,
        at_bound: &found.at_bound,
        inside: &found.inside,
        ranked: &ranked,
        doubts: &found.doubts,
        last_fall,
        descent,
    };
    advice.give(&mut estimate);
    Ok(estimate)
}

/// What is known before any advice, after `reads` of the table.
fn estimate(
    found: &Optimum<'_>,
    errors: Errors,
    solution: Solution,
    reads: usize,
) -> Result<Estimate> {
    let Optimum { plan, options, .. } = *found;
    let parameters = parameters(found, &solution, &errors.pcov)?;
    let (theta, starts) = (&solution.minimum.theta, solution.start.unseen.iter());
    // What the search did not see, the steps from there may have found.
    let guessed = starts.filter(|term| !shows(theta, &errors.pcov, term));
    let mut findings: Vec<String> = guessed.map(|term| guess(plan, &term.shape)).collect();
    let flags = match findings.is_empty() {
        true => Vec::new(),
        false => vec![GUESSED],
    };
    findings.extend(solution.findings);
    Ok(Estimate {
        model: plan.formula.text().to_string(),
        predictors: plan.roles.predictors.clone(),
        parameters,
        free: plan.names(),
        linear: plan.programs.linear().to_vec(),
        popt: solution.minimum.theta,
        pcov: errors.pcov,
        covariance_kind: errors.kind,
        covariance_status: errors.status,
        status: found.status,
        loss: plan.programs.loss(),
        f_scale: solution.scale,
        absolute_sigma: options.absolute_sigma,
        weighted: plan.weighted,
        n: found.n,
        n_dropped: 0,
        dof: found.dof,
        cost: solution.minimum.moments.cost,
        chi2: found.chi2,
        confidence: options.confidence,
        condition: errors.ranked.condition,
        rank: errors.ranked.rank,
        evaluations: solution.minimum.evaluations,
        full_reads: solution.full_reads + reads,
        subsample_rows: solution.subsample_rows,
        finish: solution.finish,
        method: solution.method,
        minima: minima(&solution.costs, starts_of(options, &solution.costs)),
        findings,
        flags,
    })
}

/// Whether the rows show `term` at the minimum `theta` with the covariance `pcov`: whether its factors `a` are further from 0
/// than chance takes them, `aᵀ C⁻¹ a >` [`BY_CHANCE`], with their covariance `C` given the shape of the term. That is by how
/// much the cost grows without the term.
fn shows(theta: &[f64], pcov: &[f64], term: &Unseen) -> bool {
    let (p, m) = (theta.len(), term.factors.len());
    let part = |rows: &[usize], columns: &[usize]| -> Vec<f64> {
        let cells = rows
            .iter()
            .flat_map(|&a| columns.iter().map(move |&b| pcov[a * p + b]));
        cells.collect()
    };
    let (factors, shape) = (&term.factors[..], &term.shape[..]);
    let mut own = part(factors, factors);
    let mut of_shape = part(shape, shape);
    // An exact fit leaves no doubt of anything.
    if own.iter().all(|&c| c == 0.0) {
        return factors.iter().any(|&k| theta[k] != 0.0);
    }
    let finite = |cells: &[f64]| cells.iter().all(|c| c.is_finite());
    if !finite(&own) || !finite(&of_shape) || !cholesky(&mut of_shape, shape.len()) {
        return false;
    }
    // The part of the covariance that goes through the shape.
    for (k, &column) in factors.iter().enumerate() {
        let mut solved = part(shape, &[column]);
        cholesky_solve(&of_shape, shape.len(), &mut solved);
        for (j, &row) in factors.iter().enumerate() {
            let through = part(&[row], shape);
            own[j * m + k] -= through.iter().zip(&solved).map(|(c, x)| c * x).sum::<f64>();
        }
    }
    let values: Vec<f64> = factors.iter().map(|&k| theta[k]).collect();
    let mut solved = values.clone();
    if !cholesky(&mut own, m) {
        return false;
    }
    cholesky_solve(&own, m, &mut solved);
    let distance: f64 = solved.iter().zip(&values).map(|(x, a)| x * a).sum();
    distance > BY_CHANCE
}

/// That nothing shows where `parameters` are.
fn guess(plan: &Plan, parameters: &[usize]) -> String {
    let names: Vec<&str> = parameters.iter().map(|&k| plan.name(k)).collect();
    format!(
        "the rows show nothing of the term of {}: the curve is as good without it, and its start is a guess; \
         give starting values (⟨p0⟩) if you know more",
        names.join(", ")
    )
}

/// Values, errors and intervals of all parameters; those of ties by the delta method.
fn parameters(found: &Optimum<'_>, solution: &Solution, pcov: &[f64]) -> Result<Vec<Fitted>> {
    let (plan, theta, t) = (found.plan, &solution.minimum.theta, found.quantile());
    let mut out = Vec::new();
    for (k, parameter) in plan.roles.parameters.iter().enumerate() {
        let free = plan.free.iter().position(|&f| f == k);
        let (value, se, kind) = value_of(plan, k, theta, pcov)?;
        out.push(Fitted {
            name: parameter.name.clone(),
            value,
            se,
            ci_lower: value - t * se,
            ci_upper: value + t * se,
            start: free.map(|at| solution.start.theta[at]),
            start_rule: free.map_or(StartRule::None, |at| solution.start.rules[at]),
            lower: free.map_or(f64::NEG_INFINITY, |at| plan.bounds.lower[at]),
            upper: free.map_or(f64::INFINITY, |at| plan.bounds.upper[at]),
            at_bound: free.is_some_and(|at| found.at_bound[at]),
            kind,
        });
    }
    Ok(out)
}

/// Value and standard error of parameter `k` among all, at the values and the covariance of the free ones; that of a tie by
/// the delta method.
pub(super) fn value_of(
    plan: &Plan,
    k: usize,
    theta: &[f64],
    pcov: &[f64],
) -> Result<(f64, f64, Kind)> {
    let p = plan.free.len();
    let free = plan.free.iter().position(|&f| f == k);
    Ok(match (&plan.settings[k], free) {
        (Setting::Free, Some(at)) => (theta[at], pcov[at * p + at].sqrt(), Kind::Free),
        (Setting::Fixed(x), _) => (*x, f64::NAN, Kind::Fixed),
        (Setting::Tied(tie), _) => {
            let (value, slope) =
                crate::formula::tie_value(tie, &plan.roles, &plan.settings, theta)?;
            let mut variance = 0.0;
            for a in (0..p).filter(|&a| slope[a] != 0.0) {
                for b in (0..p).filter(|&b| slope[b] != 0.0) {
                    variance += slope[a] * pcov[a * p + b] * slope[b];
                }
            }
            (value, variance.sqrt(), Kind::Tied)
        }
        (Setting::Free, None) => unreachable!("free parameters are listed"),
    })
}

/// Starts that were asked for, or that a global search gave.
fn starts_of(options: &Options, costs: &[f64]) -> usize {
    match options.global {
        true => costs.len().max(options.multistart),
        false => options.multistart,
    }
}

/// Distinct minima of several starts.
fn minima(costs: &[f64], n_starts: usize) -> Option<Minima> {
    if n_starts <= 1 || costs.is_empty() {
        return None;
    }
    let mut sorted = costs.to_vec();
    sorted.sort_by(f64::total_cmp);
    let same = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b.abs().max(f64::MIN_POSITIVE);
    let n_best = sorted.iter().filter(|&&c| same(c, sorted[0])).count();
    let mut distinct: Vec<f64> = Vec::new();
    for c in sorted {
        if distinct.last().is_none_or(|&d| !same(c, d)) {
            distinct.push(c);
        }
    }
    Some(Minima {
        n_starts,
        n_best,
        costs: distinct,
    })
}

/// Refuses fewer rows than parameters, and negative counts.
///
/// # Errors
/// Says how many rows and which parameters, or which row.
pub fn check_rows(plan: &Plan, data: &Data<'_>) -> Result<()> {
    use fitzroy::{Error, ErrorKind};
    let (n, p) = (data.n_rows(), plan.free.len());
    if n < p || n == 0 {
        let names = plan.names().join(", ");
        let rows = if n == 1 { "row" } else { "rows" };
        let message =
            format!("{n} {rows} cannot determine {p} parameters ({names}); fix one or add rows");
        return Err(Error::new(ErrorKind::Data, message));
    }
    if plan.programs.loss() == Loss::Poisson {
        let name = data.y_name.as_deref().unwrap_or("y");
        check_counts(plan, data.y.as_ref(), 0, name)?;
    }
    Ok(())
}

/// Refuses weights beside counts, and counts below 0; `first` is the row of the first of `counts`.
///
/// # Errors
/// Names the row.
pub fn check_counts(plan: &Plan, counts: &[f64], first: usize, name: &str) -> Result<()> {
    use fitzroy::{Error, ErrorKind};
    if plan.weighted {
        let message = "⟨likelihood poisson⟩ takes its errors from the counts; leave out ⟨sigma⟩";
        return Err(Error::new(ErrorKind::Usage, message));
    }
    if let Some(row) = counts.iter().position(|&y| y < 0.0) {
        let message = format!(
            "row {}, column {name}: {} is no count; counts are 0 or more",
            first + row + 1,
            counts[row]
        );
        return Err(Error::new(ErrorKind::Data, message));
    }
    Ok(())
}
