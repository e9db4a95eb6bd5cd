//! Starting values: given, by the rule of a built-in curve, solved, or searched for.

use super::options::Options;
use super::plan::Plan;
use super::problem::Problem;
use crate::library::Sample;
use crate::method::{Moments, Objective, starts, varpro};
use crate::pass::{Table, visit_all};
use fitzroy::Result;

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
    let linear = plan.programs.linear().to_vec();
    let projectable = plan.programs.projection().is_some();
    let solved = |k: usize, rules: &[StartRule]| {
        projectable && linear[k] && rules[k] == StartRule::Automatic
    };
    let ranges: Vec<(f64, f64)> = (0..p).map(|k| range(plan, &sample, k)).collect();
    let open: Vec<usize> = (0..p)
        .filter(|&k| rules[k] == StartRule::Automatic && !solved(k, &rules))
        .collect();
    let cube = if open.is_empty() {
        vec![Vec::new()]
    } else {
        starts::points(options.starts, TRIED, open.len(), options.seed)
    };
    let mut best: Option<(f64, Vec<f64>)> = None;
    for point in &cube {
        let mut trial = theta.clone();
        for (&k, u) in open.iter().zip(point) {
            trial[k] = spread(ranges[k], *u);
        }
        for k in 0..p {
            if solved(k, &rules) {
                trial[k] = 1.0;
            }
        }
        if (0..p).any(|k| solved(k, &rules)) {
            solve(plan, problem, &mut trial, |k| solved(k, &rules))?;
        }
        for (k, x) in trial.iter_mut().enumerate() {
            *x = plan.bounds.clip(k, *x);
        }
        let mut moments = Moments::new(p);
        problem.moments(&trial, &mut moments)?;
        let usable = moments.is_finite();
        if usable && best.as_ref().is_none_or(|(cost, _)| moments.cost < *cost) || best.is_none() {
            let cost = if usable { moments.cost } else { f64::INFINITY };
            best = Some((cost, trial));
        }
    }
    let (_, theta) = best.expect("at least one point was tried");
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

/// Best linear parameters at the others of `theta`, where `wanted`.
fn solve(
    plan: &Plan,
    problem: &mut Problem<'_>,
    theta: &mut [f64],
    wanted: impl Fn(usize) -> bool,
) -> Result<()> {
    let programs = plan.programs.clone();
    let Some(projection) = programs.projection() else {
        return Ok(());
    };
    let found = varpro::solve_linear(projection, theta, &mut |theta, triangle| {
        problem.triangle_of(&projection.program, theta, triangle)
    })?;
    if let Some(found) = found {
        for k in (0..theta.len()).filter(|&k| wanted(k)) {
            theta[k] = found[k];
        }
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
    let mut out = vec![first];
    for point in &cube[1..] {
        let mut theta: Vec<f64> = (0..p).map(|k| spread(ranges[k], point[k])).collect();
        solve(plan, problem, &mut theta, |k| linear[k])?;
        for (k, x) in theta.iter_mut().enumerate() {
            *x = plan.bounds.clip(k, *x);
        }
        out.push(theta);
    }
    Ok(out)
}
