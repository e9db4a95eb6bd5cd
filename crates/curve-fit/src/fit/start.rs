//! Starting values: given, by the rule of a built-in curve, solved, or searched for.

use super::options::Options;
use super::plan::Plan;
use super::problem::Problem;
use super::robust::with_loss;
use crate::formula::{Loss, Programs};
use crate::library::Sample;
use crate::method::{Moments, Objective, starts, varpro};
use crate::pass::{Table, visit_all};
use fitzroy::Result;
use std::sync::Arc;

/// Where a starting value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartRule {
    /// The user.
    Given,
    /// The rule of the built-in curve.
    Builtin,
    /// Solved for, given the others.
    Linear,
    /// The best of 64 points of automatic ranges.
    Automatic,
    /// Not fitted.
    None,
}

impl StartRule {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            StartRule::Given => "given",
            StartRule::Builtin => "builtin",
            StartRule::Linear => "linear",
            StartRule::Automatic => "automatic",
            StartRule::None => "none",
        }
    }
}

/// Starting values of the free parameters.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) theta: Vec<f64>,
    pub(crate) rules: Vec<StartRule>,
}

/// Points tried by an automatic start.
const TRIED: usize = 64;
/// Most rows that rules look at.
const LOOKED_AT: usize = 4096;

/// A few rows, evenly spread.
pub(crate) fn sample(table: &dyn Table, n_predictors: usize) -> Result<Sample> {
    let n = table.n_rows();
    let step = n.div_ceil(LOOKED_AT).max(1);
    let mut x = vec![Vec::new(); n_predictors];
    let mut y = Vec::new();
    let mut take = |first: usize, columns: &[&[f64]]| {
        let skip = (step - first % step) % step;
        for (to, from) in x.iter_mut().zip(columns) {
            to.extend(from.iter().skip(skip).step_by(step));
        }
        y.extend(columns[n_predictors].iter().skip(skip).step_by(step));
        Ok(())
    };
    visit_all(table, &mut take)?;
    Ok(Sample::new(&x, &y))
}

/// Starting values for `problem`, inside the bounds.
pub(crate) fn start(plan: &Plan, options: &Options, problem: &mut Problem<'_>) -> Result<Start> {
    let p = plan.free.len();
    let mut theta = vec![f64::NAN; p];
    let mut rules = vec![StartRule::Automatic; p];
    for (name, value) in &options.p0 {
        if let Some(k) = (0..p).find(|&k| plan.name(k) == name) {
            (theta[k], rules[k]) = (*value, StartRule::Given);
        }
    }
    if rules.iter().all(|&r| r == StartRule::Given) {
        return Ok(Start { theta, rules });
    }
    let sample = sample(problem.reader.table, plan.roles.predictors.len())?;
    builtin(plan, &sample, &mut theta, &mut rules);
    let linear = plan.programs.linear();
    let wanted = |k: usize| rules[k] == StartRule::Automatic;
    let plain = match (0..p).any(|k| linear[k] && wanted(k)) {
        true => least_squares(plan)?,
        false => Arc::clone(&plan.programs),
    };
    let mut projectable = plain.projection().is_some();
    let ranges: Vec<(f64, f64)> = (0..p).map(|k| range(plan, &sample, k)).collect();
    let search = Search {
        plan,
        options,
        plain: &plain,
        theta,
        ranges,
    };
    let is_solved = |k: usize| projectable && linear[k] && wanted(k);
    let mut best = search.best(problem, wanted, is_solved)?;
    // Least squares may lead where counts have no mean: then linear parameters are searched for, too.
    if best.0.is_infinite() && plan.programs.loss() != Loss::Linear {
        best = search.best(problem, wanted, |_| false)?;
        projectable = false;
    }
    let theta = best.1;
    for (k, rule) in rules.iter_mut().enumerate() {
        if *rule == StartRule::Automatic && projectable && linear[k] {
            *rule = StartRule::Linear;
        }
    }
    Ok(Start { theta, rules })
}

/// The rule of the built-in curve, for what was not given.
fn builtin(plan: &Plan, sample: &Sample, theta: &mut [f64], rules: &mut [StartRule]) {
    let Some(entry) = plan.formula.builtin().and_then(|b| b.entry) else {
        return;
    };
    if sample.y.is_empty() {
        return;
    }
    let found = (entry.start)(sample);
    for k in 0..theta.len() {
        let own = entry.parameters.iter().position(|n| *n == plan.name(k));
        if let Some(at) = own.filter(|&at| found[at].is_finite())
            && rules[k] == StartRule::Automatic
        {
            (theta[k], rules[k]) = (found[at], StartRule::Builtin);
        }
    }
}

/// Least squares of the curve, whatever its loss: robust losses and counts have no linear parameters to
/// solve for, and a start need not be the end.
fn least_squares(plan: &Plan) -> Result<Arc<Programs>> {
    Ok(match plan.programs.loss() {
        Loss::Linear => Arc::clone(&plan.programs),
        _ => Arc::new(with_loss(plan, Loss::Linear)?),
    })
}

/// How far free parameter `k` may be expected to go: the far end of its bounds or of the range that the
/// data suggest.
pub(super) fn reach(plan: &Plan, table: &dyn Table, k: usize) -> Result<f64> {
    let sample = sample(table, plan.roles.predictors.len())?;
    let (low, high) = range(plan, &sample, k);
    Ok(low.abs().max(high.abs()))
}

/// Where the first predictor begins, if that is far from 0 beside how far it goes: (name, where).
pub(super) fn far_off(plan: &Plan, table: &dyn Table) -> Result<Option<(String, f64)>> {
    let sample = sample(table, plan.roles.predictors.len())?;
    let first = plan
        .roles
        .predictors
        .first()
        .map(|name| (name, sample.range(0)));
    let far = first.filter(|(_, (low, high))| low.abs().min(high.abs()) > 2.0 * (high - low));
    Ok(far.map(|(name, (low, _))| (name.clone(), low)))
}

/// A search through points of ranges.
struct Search<'a> {
    plan: &'a Plan,
    options: &'a Options,
    /// Least squares of the curve.
    plain: &'a Programs,
    /// What is not searched for.
    theta: Vec<f64>,
    ranges: Vec<(f64, f64)>,
}

impl Search<'_> {
    /// The best point and its cost, infinite where the curve has no value at any: those `wanted` are
    /// searched for, or solved for at the others.
    fn best(
        &self,
        problem: &mut Problem<'_>,
        wanted: impl Fn(usize) -> bool,
        solved: impl Fn(usize) -> bool,
    ) -> Result<(f64, Vec<f64>)> {
        let p = self.theta.len();
        let open: Vec<usize> = (0..p).filter(|&k| wanted(k) && !solved(k)).collect();
        let cube = if open.is_empty() {
            vec![Vec::new()]
        } else {
            starts::points(self.options.starts, TRIED, open.len(), self.options.seed)
        };
        let mut best: Option<(f64, Vec<f64>)> = None;
        for point in &cube {
            let mut trial = self.theta.clone();
            for (&k, u) in open.iter().zip(point) {
                trial[k] = spread(self.ranges[k], *u);
            }
            for k in (0..p).filter(|&k| solved(k)) {
                trial[k] = 1.0;
            }
            if (0..p).any(&solved) {
                solve(self.plan, self.plain, problem, &mut trial, &solved)?;
            }
            let cost = cost_inside(self.plan, problem, &mut trial)?;
            let cost = cost.unwrap_or(f64::INFINITY);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, trial));
            }
        }
        Ok(best.expect("at least one point was tried"))
    }
}

/// Puts `theta` inside its bounds; the cost there, if the curve has one.
fn cost_inside(plan: &Plan, problem: &mut Problem<'_>, theta: &mut [f64]) -> Result<Option<f64>> {
    for (k, x) in theta.iter_mut().enumerate() {
        *x = plan.bounds.clip(k, *x);
    }
    let mut moments = Moments::new(theta.len());
    problem.moments(theta, &mut moments)?;
    Ok(moments.is_finite().then_some(moments.cost))
}

/// Best linear parameters at the others of `theta`, where `wanted`, by least squares.
fn solve(
    plan: &Plan,
    plain: &Programs,
    problem: &mut Problem<'_>,
    theta: &mut [f64],
    wanted: impl Fn(usize) -> bool,
) -> Result<()> {
    let Some(projection) = plain.projection() else {
        return Ok(());
    };
    let found = if plan.programs.loss() == Loss::Linear {
        varpro::solve_linear(projection, theta, &mut |theta, triangle| {
            problem.triangle_of(&projection.program, theta, triangle)
        })?
    } else {
        let mut own = Problem::new(plain, problem.reader.table, problem.reader.threads, 1.0);
        let found = varpro::solve_linear(projection, theta, &mut |theta, triangle| {
            own.triangle_of(&projection.program, theta, triangle)
        })?;
        problem.reads += own.reads;
        found
    };
    let Some(found) = found else { return Ok(()) };
    let wanted: Vec<usize> = (0..theta.len()).filter(|&k| wanted(k)).collect();
    for &k in &wanted {
        theta[k] = found[k];
    }
    if plan.programs.loss() != Loss::Poisson || cost_inside(plan, problem, theta)?.is_some() {
        return Ok(());
    }
    // A background a little below zero has no likelihood: most curves of counts are sums of parts that
    // are positive, so that positive factors have one.
    let largest = wanted.iter().fold(0.0, |m: f64, &k| m.max(theta[k]));
    for &k in &wanted {
        theta[k] = theta[k].max(1e-3 * largest);
    }
    Ok(())
}

/// Where free parameter k may lie: its bounds, or the range that the data suggest.
fn range(plan: &Plan, sample: &Sample, k: usize) -> (f64, f64) {
    let (low, high) = (plan.bounds.lower[k], plan.bounds.upper[k]);
    if low.is_finite() && high.is_finite() {
        return (low, high);
    }
    let suggested = match plan.formula.place_of(plan.name(k), &plan.roles) {
        Some((true, column)) => sample.range(column),
        Some((false, column)) => {
            let (a, b) = sample.range(column);
            let size = a.abs().max(b.abs()).max(f64::MIN_POSITIVE);
            (0.1 / size, 30.0 / size)
        }
        None => (0.05, 20.0),
    };
    (
        suggested.0.max(low),
        suggested.1.min(high.max(suggested.0.max(low) + 1.0)),
    )
}

/// A point of a range: by its logarithm where both ends are positive and far apart.
fn spread((low, high): (f64, f64), u: f64) -> f64 {
    if low > 0.0 && high / low > 30.0 {
        (low.ln() + u * (high / low).ln()).exp()
    } else {
        low + u * (high - low)
    }
}

/// Starts of a multi-start: the first as for one, the others across bounds or ranges.
pub(crate) fn many(
    plan: &Plan,
    options: &Options,
    problem: &mut Problem<'_>,
) -> Result<Vec<Vec<f64>>> {
    let p = plan.free.len();
    let sample = sample(problem.reader.table, plan.roles.predictors.len())?;
    let ranges: Vec<(f64, f64)> = (0..p).map(|k| range(plan, &sample, k)).collect();
    let first = start(plan, options, problem)?.theta;
    let cube = starts::points(options.starts, options.multistart, p, options.seed);
    let linear = plan.programs.linear();
    let plain = match linear.contains(&true) {
        true => least_squares(plan)?,
        false => Arc::clone(&plan.programs),
    };
    let mut out = vec![first];
    for point in &cube[1..] {
        let mut theta: Vec<f64> = (0..p).map(|k| spread(ranges[k], point[k])).collect();
        solve(plan, &plain, problem, &mut theta, |k| linear[k])?;
        for (k, x) in theta.iter_mut().enumerate() {
            *x = plan.bounds.clip(k, *x);
        }
        out.push(theta);
    }
    Ok(out)
}
