//! Constraints that are not linear: by multipliers and a penalty (the augmented Lagrangian of Hestenes and of Powell
//! 1969), which damped steps minimise as they do least squares.

use super::estimate::{CovarianceStatus, Estimate};
use super::finished::settle;
use super::options::Options;
use super::plan::Plan;
use super::problem::Problem;
use crate::formula::{Formula, Loss, tie_value};
use crate::method::dense::inverse;
use crate::method::{Minimum, Moments, Objective, Observer, Status};
use crate::pass::Table;
use fitzroy::{Error, Result};

/// Descents, each with multipliers from the one before.
const ROUNDS: usize = 40;
/// What a constraint may be broken by, beside the size of its terms.
const BROKEN: f64 = 1e-10;
/// How much stiffer a penalty is than what the data say of the constraint, and how it grows where that is too weak.
const STIFF: f64 = 100.0;
const HARDER: f64 = 8.0;
/// The part of a fault that must go in a round.
const GONE: f64 = 0.25;
/// A multiplier below this part of the gradient presses on nothing.
const LOOSE: f64 = 1e-8;
/// What is left of a unit vector beside those that constraints take, at least.
const OWN: f64 = 1e-6;

/// A constraint that is not linear: g = 0 or g ≤ 0.
#[derive(Clone, Debug)]
pub struct Curved {
    /// As it was written.
    pub text: String,
    /// Whether it is an equation.
    pub equation: bool,
    /// g.
    pub(super) formula: Formula,
}

impl Curved {
    /// g and its slopes by the free parameters.
    fn value(&self, plan: &Plan, theta: &[f64]) -> Result<(f64, Vec<f64>)> {
        tie_value(&self.formula, &plan.roles, &plan.settings, theta)
    }
}

/// The curve over its rows, with the constraints as penalties.
struct Augmented<'a> {
    problem: Problem<'a>,
    plan: &'a Plan,
    multipliers: Vec<f64>,
    weights: Vec<f64>,
}

/// A point where constraints hold.
struct Held {
    minimum: Minimum,
    multipliers: Vec<f64>,
    /// Whether they do.
    holds: bool,
    /// F and the sums without penalties.
    plain: Moments,
}

/// `before`, the fit without the curved constraints of `plan`, moved to the least cost where they hold.
///
/// # Errors
/// Robust losses; the data cannot be read.
pub(super) fn constrained(
    plan: &Plan,
    table: &dyn Table,
    options: &Options,
    before: Estimate,
    observer: &mut Observer<'_>,
) -> Result<Estimate> {
    if plan.programs.loss().is_robust() {
        let text = &plan.constrained.curved[0].text;
        return Err(Error::usage(format!(
            "⟨constraint {text}⟩: a constraint that is not linear goes with least squares and counts; leave out ⟨loss⟩"
        )));
    }
    let begun = before
        .free
        .iter()
        .filter_map(|name| before.parameter(name)?.start);
    let mut starts = vec![before.popt.clone(), begun.collect()];
    starts.retain(|s| s.len() == plan.free.len() && s.iter().all(|v| v.is_finite()));
    let mut best: Option<Held> = None;
    let mut evaluations = before.evaluations;
    for start in starts {
        let problem = Problem::new(&plan.programs, table, options.threads, before.f_scale);
        let found = held(plan, problem, options, start, observer)?;
        evaluations += found.minimum.evaluations;
        let better = |b: &Held| (found.holds, -found.plain.cost) > (b.holds, -b.plain.cost);
        if best.as_ref().is_none_or(better) {
            best = Some(found);
        }
    }
    match best {
        Some(found) => finished(plan, before, found, evaluations),
        None => Ok(before),
    }
}

fn held(
    plan: &Plan,
    problem: Problem<'_>,
    options: &Options,
    start: Vec<f64>,
    observer: &mut Observer<'_>,
) -> Result<Held> {
    let all = &plan.constrained.curved;
    let mut field = Augmented {
        problem,
        plan,
        multipliers: vec![0.0; all.len()],
        weights: Vec::new(),
    };
    let mut plain = Moments::new(start.len());
    field.problem.moments(&start, &mut plain)?;
    for constraint in all {
        let (_, slope) = constraint.value(plan, &start)?;
        field.weights.push(STIFF * stiffness(&plain, &slope));
    }
    let (mut theta, mut evaluations) = (start, 0);
    let mut faults = vec![f64::INFINITY; all.len()];
    let steps = options.method.steps();
    loop {
        let mut found = steps(&mut field, &theta, &plan.bounds, &options.limits, observer)?;
        evaluations += found.evaluations;
        theta.clone_from(&found.theta);
        let before = faults.clone();
        let mut moved = false;
        for (i, constraint) in all.iter().enumerate() {
            let (g, slope) = constraint.value(plan, &theta)?;
            let size: f64 = slope.iter().zip(&theta).map(|(s, x)| (s * x).abs()).sum();
            let pressed = field.multipliers[i] + field.weights[i] * g;
            let next = match constraint.equation {
                true => pressed,
                false => pressed.max(0.0),
            };
            // What is broken, or pressed on though it is not reached.
            let off = (next - field.multipliers[i]) / field.weights[i];
            faults[i] = off.abs() / size.max(f64::MIN_POSITIVE);
            moved |= !(faults[i] <= BROKEN);
            field.multipliers[i] = next;
            if faults[i] > GONE * before[i] {
                field.weights[i] *= HARDER;
            }
        }
        let over = evaluations > ROUNDS * 50
            || matches!(
                found.status,
                Status::Interrupted | Status::TimeLimit | Status::NonFinite
            );
        if !moved || over {
            field.problem.moments(&theta, &mut plain)?;
            found.evaluations = evaluations;
            return Ok(Held {
                minimum: found,
                multipliers: field.multipliers,
                holds: !moved,
                plain,
            });
        }
    }
}

/// 1 over the variance that the data leave the constraint, for σ of 1.
fn stiffness(at: &Moments, slope: &[f64]) -> f64 {
    let p = slope.len();
    let variance = inverse(&at.normal, p).map(|v| {
        let products = (0..p * p).map(|i| slope[i / p] * v[i] * slope[i % p]);
        products.sum::<f64>()
    });
    let squares: f64 = slope.iter().map(|s| s * s).sum();
    let trace: f64 = (0..p).map(|k| at.normal[k * p + k]).sum();
    let weight = match variance {
        Some(v) if v > 0.0 && v.is_finite() => 1.0 / v,
        _ => trace / squares,
    };
    if weight > 0.0 && weight.is_finite() {
        weight
    } else {
        1.0
    }
}

impl Objective for Augmented<'_> {
    fn moments(&mut self, theta: &[f64], out: &mut Moments) -> Result<()> {
        self.problem.moments(theta, out)?;
        let p = theta.len();
        for (i, constraint) in self.plan.constrained.curved.iter().enumerate() {
            let (g, slope) = constraint.value(self.plan, theta)?;
            let weight = self.weights[i];
            let push = g + self.multipliers[i] / weight;
            if !constraint.equation && push <= 0.0 {
                continue;
            }
            out.cost += 0.5 * weight * push * push;
            for a in 0..p {
                out.gradient[a] += weight * push * slope[a];
                for b in 0..p {
                    out.normal[a * p + b] += weight * slope[a] * slope[b];
                }
            }
        }
        Ok(())
    }

    fn bend(&mut self, _: &[f64], _: &[f64], _: &mut [f64]) -> Result<bool> {
        Ok(false)
    }

    fn solve_linear(&mut self, _: &mut [f64], _: &mut Moments) {}
}

/// The estimate at `found`.
fn finished(plan: &Plan, before: Estimate, found: Held, evaluations: usize) -> Result<Estimate> {
    let p = plan.free.len();
    let theta = found.minimum.theta;
    let mut e = before;
    e.findings.clear();
    e.flags.clear();
    e.method = format!("{} + multipliers", e.method);
    (e.evaluations, e.cost) = (evaluations, found.plain.cost);
    if e.loss == Loss::Linear {
        e.chi2 = 2.0 * e.cost;
    } else {
        e.chi2 += 2.0 * (e.cost - 0.5 * e.chi2);
    }
    e.status = match found.holds {
        true => found.minimum.status,
        false => Status::NoProgress,
    };
    let at_bound: Vec<bool> = (0..p).map(|k| plan.bounds.touches(k, theta[k])).collect();
    let taken = binding(plan, &theta, &found.plain, &found.multipliers, &mut e)?;
    if !found.holds {
        let all: Vec<String> = plan
            .constrained
            .curved
            .iter()
            .map(|c| c.text.clone())
            .collect();
        e.findings.push(format!(
            "no point was found where the constraints hold ({}); give starting values near one (⟨p0⟩), or see whether \
             they contradict one another",
            all.join(", ")
        ));
    }
    let covariance = projected(&found.plain, &taken, &at_bound);
    e.covariance_status = match (&covariance, e.status.converged()) {
        (_, false) => CovarianceStatus::NotConverged,
        (None, _) => CovarianceStatus::RankDeficient,
        _ if e.dof == 0 && !e.absolute_sigma => CovarianceStatus::ZeroDof,
        _ if at_bound.contains(&true) => CovarianceStatus::AtBound,
        _ => CovarianceStatus::Ok,
    };
    let known = e.absolute_sigma || e.loss == Loss::Poisson;
    let s2 = if known { 1.0 } else { e.reduced_chi2() };
    let shown = matches!(
        e.covariance_status,
        CovarianceStatus::Ok | CovarianceStatus::AtBound
    );
    e.pcov = match covariance.filter(|_| shown) {
        Some(v) => v.iter().map(|v| v * s2).collect(),
        None => vec![f64::NAN; p * p],
    };
    settle(plan, theta, &at_bound, &mut e)?;
    Ok(e)
}

/// Slopes of the constraints that bind, which are told, with the degrees of freedom that equations take.
fn binding(
    plan: &Plan,
    theta: &[f64],
    at: &Moments,
    multipliers: &[f64],
    e: &mut Estimate,
) -> Result<Vec<Vec<f64>>> {
    let steepest = at.gradient.iter().map(|g| g.abs());
    let steepest = steepest.fold(0.0, f64::max);
    let mut taken = Vec::new();
    for (constraint, multiplier) in plan.constrained.curved.iter().zip(multipliers) {
        let (_, slope) = constraint.value(plan, theta)?;
        let press = slope.iter().map(|s| (s * multiplier).abs());
        let active = press.fold(0.0, f64::max) > LOOSE * steepest;
        if constraint.equation {
            e.dof += 1;
        } else if active {
            let text = &constraint.text;
            e.findings
                .push(format!("the constraint `{text}` holds with equality"));
        }
        if constraint.equation || active {
            taken.push(slope);
        }
    }
    Ok(taken)
}

/// (JᵀJ)⁻¹ along directions that change no constraint of which `taken` has the slopes, with parameters at a bound held;
/// NaN for those. None where some such direction changes no row.
fn projected(at: &Moments, taken: &[Vec<f64>], at_bound: &[bool]) -> Option<Vec<f64>> {
    let p = at_bound.len();
    let scale: Vec<f64> = (0..p)
        .map(|k| match at.normal[k * p + k].sqrt() {
            0.0 => 1.0,
            size => size,
        })
        .collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    // In scaled variables; `own` is what is left of a direction beside those before it.
    let own = |mut v: Vec<f64>, basis: &[Vec<f64>]| {
        let whole = dot(&v, &v).sqrt();
        for _ in 0..2 {
            for b in basis {
                let share = dot(&v, b);
                v.iter_mut().zip(b).for_each(|(v, b)| *v -= share * b);
            }
        }
        let left = dot(&v, &v).sqrt();
        (left > OWN * whole).then(|| v.iter().map(|x| x / left).collect::<Vec<f64>>())
    };
    let unit = |k: usize| (0..p).map(|i| f64::from(i == k)).collect::<Vec<f64>>();
    let bound = (0..p).filter(|&k| at_bound[k]).map(unit);
    let scaled = taken
        .iter()
        .map(|slope| slope.iter().zip(&scale).map(|(s, d)| s / d).collect());
    for direction in bound.chain(scaled) {
        basis.extend(own(direction, &basis));
    }
    let held = basis.len();
    for k in 0..p {
        basis.extend(own(unit(k), &basis));
    }
    let free = &basis[held..];
    let m = free.len();
    let mut inner = vec![0.0; m * m];
    for (i, u) in free.iter().enumerate() {
        for (j, v) in free.iter().enumerate() {
            let products = (0..p * p).map(|at_| {
                let (a, b) = (at_ / p, at_ % p);
                u[a] * at.normal[at_] / (scale[a] * scale[b]) * v[b]
            });
            inner[i * m + j] = products.sum();
        }
    }
    let inner = if m == 0 {
        Vec::new()
    } else {
        inverse(&inner, m)?
    };
    let mut out = vec![0.0; p * p];
    for (at_, out) in out.iter_mut().enumerate() {
        let (a, b) = (at_ / p, at_ % p);
        if at_bound[a] || at_bound[b] {
            *out = f64::NAN;
            continue;
        }
        for i in 0..m {
            for j in 0..m {
                *out += free[i][a] * inner[i * m + j] * free[j][b] / (scale[a] * scale[b]);
            }
        }
    }
    Some(out)
}
