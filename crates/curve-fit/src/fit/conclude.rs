//! From a minimum to a result: rank, covariance, intervals, findings.

use super::advice::Advice;
use super::data::Data;
use super::doubt::Doubts;
use super::estimate::{CovarianceStatus, Estimate, Fitted, Kind, Minima};
use super::options::{CovarianceKind, Options};
use super::plan::Plan;
use super::problem::Problem;
use super::solve::Solution;
use super::start::StartRule;
use crate::formula::{Loss, Setting};
use crate::method::dense::{Triangle, inverse};
use crate::method::optimality::descent;
use crate::method::statistics::{
    Rank, rank, rank_of_normal, sandwich, t_quantile, triangle_columns, triangle_inverse,
};
use crate::pass::Table;
use fitzroy::Result;
use fitzroy_device::cpu::TILE_ROWS;

/// Condition of the scaled Jacobian up to which its normal matrix is inverted; beyond, QR.
const NORMAL_IS_FINE: f64 = 1e4;

/// The result of `solution`.
pub(crate) fn conclude(
    plan: &Plan,
    table: &dyn Table,
    options: &Options,
    solution: Solution,
) -> Result<Estimate> {
    let p = plan.free.len();
    let n = table.n_rows();
    let theta = solution.minimum.theta.clone();
    let moments = &solution.minimum.moments;
    let descent = match moments.is_finite() {
        true => descent(&theta, moments, &plan.bounds, &options.limits),
        false => None,
    };
    let at_bound: Vec<bool> = (0..p).map(|k| plan.bounds.touches(k, theta[k])).collect();
    let boundless = options.covariance == CovarianceKind::Boundless;
    let inside: Vec<usize> = (0..p).filter(|&k| boundless || !at_bound[k]).collect();
    let mut problem = Problem::new(&plan.programs, table, options.threads, solution.scale);
    let robust = plan.programs.loss().is_robust();
    let counts = plan.programs.loss() == Loss::Poisson;
    let finite = solution.minimum.moments.is_finite();
    let mut chi2 = 2.0 * solution.minimum.moments.cost;
    let mut plain = None;
    if robust && finite {
        let sums = problem.sums_of(plan.programs.plain(), &theta)?;
        chi2 = *sums.last().expect("r²");
        plain = Some(unpack(&sums, p));
    }
    let normal = plain.unwrap_or_else(|| solution.minimum.moments.normal.clone());
    let dof = n.saturating_sub(p);
    let s2 = if options.absolute_sigma || counts {
        1.0
    } else {
        chi2 / dof.max(1) as f64
    };
    let doubts = if finite {
        let points = (&solution.start.theta[..], &theta[..]);
        Doubts::of(plan, table, points, &normal, &inside, s2.sqrt())?
    } else {
        Doubts::default()
    };
    let status = doubts.status(solution.minimum.status);
    // Of a step's place the sum of squares is a constant nearby: others have the errors with it held.
    let flat = doubts.are_flat(&normal, p);
    let inside: Vec<usize> = inside
        .into_iter()
        .filter(|k| !(flat && doubts.lost.contains(k)))
        .collect();
    let (mut ranked, bread) = if finite && !inside.is_empty() {
        bread(plan, &mut problem, &theta, &normal, &inside, counts)?
    } else {
        (
            Rank {
                rank: 0,
                condition: f64::NAN,
                undetermined: None,
            },
            None,
        )
    };
    if !doubts.lost.is_empty() {
        ranked.condition = f64::INFINITY;
        if !flat {
            ranked.rank = ranked.rank.min(inside.len() - doubts.lost.len());
        }
    }
    let mut covariance_status = if !status.converged() {
        CovarianceStatus::NotConverged
    } else if ranked.undetermined.is_some() || !doubts.lost.is_empty() && !flat {
        CovarianceStatus::RankDeficient
    } else if dof == 0 && !options.absolute_sigma && !counts {
        CovarianceStatus::ZeroDof
    } else if flat {
        CovarianceStatus::Flat
    } else if !boundless && at_bound.iter().any(|&b| b) {
        CovarianceStatus::AtBound
    } else {
        CovarianceStatus::Ok
    };
    let kind = match options.covariance {
        CovarianceKind::Auto if counts => "fisher",
        CovarianceKind::Auto | CovarianceKind::Sandwich if robust => "sandwich",
        CovarianceKind::Hc0 | CovarianceKind::Sandwich => "hc0",
        CovarianceKind::Hc3 => "hc3",
        CovarianceKind::Boundless => "boundless",
        _ => "classic",
    };
    let mut pcov = vec![f64::NAN; p * p];
    let shown = matches!(
        covariance_status,
        CovarianceStatus::Ok | CovarianceStatus::AtBound | CovarianceStatus::Flat
    );
    if let (true, Some(bread)) = (shown, bread) {
        let m = inside.len();
        let inner = match kind {
            "sandwich" => influence(plan, &mut problem, &theta, &normal, &inside, dof)?,
            "hc0" => squares(plan, &mut problem, &theta, &bread, &inside, false)?,
            "hc3" => squares(plan, &mut problem, &theta, &bread, &inside, true)?,
            _ => Some(bread.iter().map(|x| x * s2).collect()),
        };
        match inner {
            Some(inner) => {
                for (i, &a) in inside.iter().enumerate() {
                    for (j, &b) in inside.iter().enumerate() {
                        pcov[a * p + b] = inner[i * m + j];
                    }
                }
            }
            None => covariance_status = CovarianceStatus::RankDeficient,
        }
    }
    let t = if options.absolute_sigma || counts || dof == 0 {
        t_quantile(0.5 + options.confidence / 2.0, f64::INFINITY)
    } else {
        t_quantile(0.5 + options.confidence / 2.0, dof as f64)
    };
    let parameters = parameters(plan, &solution, &pcov, &at_bound, t)?;
    let mut estimate = Estimate {
        model: plan.formula.text().to_string(),
        predictors: plan.roles.predictors.clone(),
        parameters,
        free: plan.names(),
        linear: plan.programs.linear().to_vec(),
        popt: theta,
        pcov,
        covariance_kind: kind,
        covariance_status,
        status,
        loss: plan.programs.loss(),
        f_scale: solution.scale,
        absolute_sigma: options.absolute_sigma,
        weighted: plan.weighted,
        n,
        n_dropped: 0,
        dof,
        cost: solution.minimum.moments.cost,
        chi2,
        confidence: options.confidence,
        condition: ranked.condition,
        rank: ranked.rank,
        evaluations: solution.minimum.evaluations,
        full_reads: solution.full_reads + problem.reads,
        subsample_rows: solution.subsample_rows,
        finish: solution.finish,
        method: solution.method,
        minima: minima(&solution.costs, starts_of(options, &solution.costs)),
        findings: solution.findings,
        flags: match solution.start.findings.is_empty() {
            true => Vec::new(),
            false => vec!["guessed_start"],
        },
    };
    let advice = Advice {
        plan,
        options,
        at_bound: &at_bound,
        inside: &inside,
        ranked: &ranked,
        doubts: &doubts,
        last_fall: solution.minimum.last_fall,
        descent,
    };
    advice.give(&mut estimate);
    Ok(estimate)
}

/// The normal matrix from sums of products of `[J…, r]`.
fn unpack(sums: &[f64], p: usize) -> Vec<f64> {
    let mut normal = vec![0.0; p * p];
    let mut at = 0;
    for a in 0..p {
        for b in a..p {
            (normal[a * p + b], normal[b * p + a]) = (sums[at], sums[at]);
            at += 1;
        }
        at += 1;
    }
    normal
}

fn part(full: &[f64], p: usize, inside: &[usize]) -> Vec<f64> {
    inside
        .iter()
        .flat_map(|&a| inside.iter().map(move |&b| full[a * p + b]))
        .collect()
}

/// Rank, and (JᵀJ)⁻¹ of the parameters inside their bounds: by the normal matrix where its
/// condition allows, else by QR.
fn bread(
    plan: &Plan,
    problem: &mut Problem<'_>,
    theta: &[f64],
    normal: &[f64],
    inside: &[usize],
    counts: bool,
) -> Result<(Rank, Option<Vec<f64>>)> {
    let (p, m) = (theta.len(), inside.len());
    let n = problem.reader.table.n_rows();
    let own = part(normal, p, inside);
    let quick = rank_of_normal(&own, m, n);
    if quick.condition < NORMAL_IS_FINE || counts {
        let inverse = inverse(&own, m);
        return Ok((quick, inverse));
    }
    let mut triangle = Triangle::new(p + 1, TILE_ROWS);
    problem.triangle_of(plan.programs.plain(), theta, &mut triangle)?;
    if m < p {
        // Columns of parameters at a bound leave: again, of the triangle's rows.
        let columns = triangle_columns(&triangle, p + 1);
        let kept: Vec<Vec<f64>> = inside.iter().map(|&k| columns[k].clone()).collect();
        triangle = Triangle::new(m, p + 1);
        triangle.add(&kept);
    }
    let ranked = rank(triangle_columns(&triangle, m), n);
    let full = ranked.rank == m;
    Ok((ranked, full.then(|| triangle_inverse(&triangle, m))))
}

/// n/(n−p) H⁻¹BH⁻¹ of a robust fit.
fn influence(
    plan: &Plan,
    problem: &mut Problem<'_>,
    theta: &[f64],
    normal: &[f64],
    inside: &[usize],
    dof: usize,
) -> Result<Option<Vec<f64>>> {
    let (p, n) = (theta.len(), problem.reader.table.n_rows() as f64);
    let sums = problem.sums_of(&plan.programs.influence(), theta)?;
    let mean = sums[p * (p + 1) / 2] / n;
    let c2 = problem.scale * problem.scale;
    let h: Vec<f64> = part(normal, p, inside)
        .iter()
        .map(|x| x * mean / c2)
        .collect();
    let mut full = vec![0.0; p * p];
    let mut at = 0;
    for a in 0..p {
        for b in a..p {
            (full[a * p + b], full[b * p + a]) = (sums[at] / c2, sums[at] / c2);
            at += 1;
        }
    }
    let v = sandwich(&h, &part(&full, p, inside), inside.len());
    Ok(v.map(|v| v.iter().map(|x| x * n / dof.max(1) as f64).collect()))
}

/// (JᵀJ)⁻¹ (Σ r²jjᵀ) (JᵀJ)⁻¹, with r/(1 − h) for r if `leverage`.
fn squares(
    plan: &Plan,
    problem: &mut Problem<'_>,
    theta: &[f64],
    bread: &[f64],
    inside: &[usize],
    leverage: bool,
) -> Result<Option<Vec<f64>>> {
    let (p, m) = (theta.len(), inside.len());
    let params = problem.params(theta);
    let mut filling = vec![0.0; m * m];
    problem.reads += 1;
    problem
        .reader
        .rows(plan.programs.plain(), &params, &mut |_, out| {
            let mut j = vec![0.0; m];
            for i in 0..out[p].len() {
                for (j, &k) in j.iter_mut().zip(inside) {
                    *j = out[k][i];
                }
                let mut r = out[p][i];
                if leverage {
                    let mut h = 0.0;
                    for a in 0..m {
                        for b in 0..m {
                            h += j[a] * bread[a * m + b] * j[b];
                        }
                    }
                    r /= 1.0 - h;
                }
                for a in 0..m {
                    for b in 0..m {
                        filling[a * m + b] += r * r * j[a] * j[b];
                    }
                }
            }
            Ok(())
        })?;
    let Some(normal) = inverse(bread, m) else {
        return Ok(None);
    };
    Ok(sandwich(&normal, &filling, m))
}

/// Values, errors and intervals of all parameters; those of ties by the delta method.
fn parameters(
    plan: &Plan,
    solution: &Solution,
    pcov: &[f64],
    at_bound: &[bool],
    t: f64,
) -> Result<Vec<Fitted>> {
    let theta = &solution.minimum.theta;
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
            at_bound: free.is_some_and(|at| at_bound[at]),
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
