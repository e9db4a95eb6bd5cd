//! Starting values: given, by the rule of a built-in curve, solved, or searched for.

use super::options::Options;
use super::plan::Plan;
use super::problem::Problem;
use super::ranges::{PLAIN, ranges, spread};
use super::robust::with_loss;
use super::scan::Scan;
use super::search::{Found, Unseen, search as search_terms};
use crate::formula::{Loss, Programs};
use crate::library::Sample;
use crate::method::{Limits, Moments, Next, Objective, Progress, lm, starts, varpro};
use crate::pass::{Table, spread_rows};
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
    /// The best of many points of automatic ranges.
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
    /// Terms whose start is a guess.
    pub(crate) unseen: Vec<Unseen>,
}

/// Points tried by an automatic start of up to two parameters that are not linear; of three, and of more.
const TRIED: usize = 64;
const TRIED_MORE: [usize; 2] = [128, 512];
/// Points tried on few rows, of one parameter that is not linear and of two.
const SCANNED: [usize; 2] = [32, 64];
/// Rows up to which so many are.
const FEW_ROWS: usize = 4096;
/// The best of many points, of which each is followed for a few steps: the lowest point may lie beside the
/// wrong minimum, as one peak of a sum does between two of the data.
const FOLLOWED: usize = 16;
/// Where a number without unit is looked for among others.
const NEAR_ONE: (f64, f64) = (0.2, 2.0);
/// Most rows that rules look at.
const LOOKED_AT: usize = 4096;

/// A few rows, evenly spread.
pub(crate) fn sample(table: &dyn Table, n_predictors: usize) -> Result<Sample> {
    let mut all = spread_rows(table, LOOKED_AT)?.into_iter();
    let x = all.by_ref().take(n_predictors).collect();
    Ok(Sample::new(x, all.next().unwrap_or_default()))
}

/// Starting values that were given, and where each of all comes from so far.
fn given(plan: &Plan, options: &Options) -> (Vec<f64>, Vec<StartRule>) {
    let p = plan.free.len();
    let mut theta = vec![f64::NAN; p];
    let mut rules = vec![StartRule::Automatic; p];
    for (name, value) in &options.p0 {
        if let Some(k) = (0..p).find(|&k| plan.name(k) == name) {
            (theta[k], rules[k]) = (*value, StartRule::Given);
        }
    }
    (theta, rules)
}

/// Starting values for `problem`, inside the bounds.
pub(crate) fn start(plan: &Plan, options: &Options, problem: &mut Problem<'_>) -> Result<Start> {
    let p = plan.free.len();
    let (mut theta, mut rules) = given(plan, options);
    if rules.iter().all(|&r| r == StartRule::Given) {
        return Ok(Start {
            theta,
            rules,
            unseen: Vec::new(),
        });
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
    // The frequency of a built-in curve is searched for as that of any other.
    if plain.structure().is_some_and(|s| s.has_waves()) {
        let built_in = rules.iter_mut().filter(|r| **r == StartRule::Builtin);
        built_in.for_each(|rule| *rule = StartRule::Automatic);
    }
    let wanted = |k: usize| rules[k] == StartRule::Automatic;
    let ranges = ranges(plan, &sample);
    let search = Search {
        plan,
        options,
        plain: &plain,
        theta,
        ranges,
    };
    let is_solved = |k: usize| projectable && linear[k] && wanted(k);
    let found = terms(&search, problem, &rules)?;
    let placed = found.is_some();
    let unseen = found.as_ref().map_or(Vec::new(), |f| f.1.unseen.clone());
    let mut best = match found {
        Some((cost, found)) if found.explains_all => (cost, found.theta),
        found => {
            let other = search.best(problem, wanted, is_solved)?;
            found.map_or(other.clone(), |(cost, found)| match cost <= other.0 {
                true => (cost, found.theta),
                false => other,
            })
        }
    };
    // Least squares may lead where counts have no mean: then linear parameters are searched for, too.
    if best.0.is_infinite() && plan.programs.loss() != Loss::Linear {
        best = search.best(problem, wanted, |_| false)?;
        projectable = false;
    }
    if let Some(other) = undone(plan, options, problem, &rules, &search)?
        && other.0 < best.0
    {
        best = other;
    }
    let theta = best.1;
    for (k, rule) in rules.iter_mut().enumerate() {
        if *rule == StartRule::Automatic && (projectable || placed) && linear[k] {
            *rule = StartRule::Linear;
        }
    }
    Ok(Start {
        theta,
        rules,
        unseen,
    })
}

/// A start by its terms, with its cost; none for curves whose terms
/// have neither places nor waves.
fn terms(
    search: &Search<'_>,
    problem: &mut Problem<'_>,
    rules: &[StartRule],
) -> Result<Option<(f64, Found)>> {
    let given: Vec<bool> = rules.iter().map(|&r| r != StartRule::Automatic).collect();
    // Plain numbers, as the part of one line in a mixture, are near 1 as a rule: far out there are minima of
    // their own.
    let near = |range: &(f64, f64)| if *range == PLAIN { NEAR_ONE } else { *range };
    let ranges: Vec<(f64, f64)> = search.ranges.iter().map(near).collect();
    let known = (&search.theta[..], &given[..]);
    let table = problem.reader.table;
    let both = (search.plan, search.plain);
    let found = search_terms(both, table, search.options, &ranges, known)?;
    let Some(mut found) = found else {
        return Ok(None);
    };
    for k in (0..given.len()).filter(|&k| given[k]) {
        found.theta[k] = search.theta[k];
    }
    let cost = cost_inside(search.plan, problem, &mut found.theta)?;
    Ok(cost.map(|cost| (cost, found)))
}

/// A start of what the curve is a function of, where that alone has linear parameters, with the cost of the curve there.
fn undone(
    plan: &Plan,
    options: &Options,
    problem: &mut Problem<'_>,
    rules: &[StartRule],
    known: &Search<'_>,
) -> Result<Option<(f64, Vec<f64>)>> {
    if known.plain.linear().contains(&true) {
        return Ok(None);
    }
    let parts = (&plan.formula, &plan.roles, &plan.settings[..]);
    let engine = plan.programs.engine();
    let Some(programs) = Programs::undone(parts.0, parts.1, parts.2, plan.weighted, engine)? else {
        return Ok(None);
    };
    let programs = Arc::new(programs);
    let linear = programs.linear().to_vec();
    let sum = Plan {
        programs: Arc::clone(&programs),
        ..plan.clone()
    };
    let mut own = Problem::new(&programs, problem.reader.table, 1, 1.0);
    let search = Search {
        plan: &sum,
        options,
        plain: &programs,
        theta: known.theta.clone(),
        ranges: known.ranges.clone(),
    };
    let wanted = |k: usize| rules[k] == StartRule::Automatic;
    let is_solved = |k: usize| programs.projection().is_some() && linear[k] && wanted(k);
    let placed = terms(&search, &mut own, rules)?;
    let mut best = search.best(&mut own, wanted, is_solved)?;
    if let Some((cost, found)) = placed
        && cost < best.0
    {
        best = (cost, found.theta);
    }
    let cost = cost_inside(plan, problem, &mut best.1)?;
    Ok(cost.map(|cost| (cost, best.1)))
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
pub(super) fn least_squares(plan: &Plan) -> Result<Arc<Programs>> {
    Ok(match plan.programs.loss() {
        Loss::Linear => Arc::clone(&plan.programs),
        _ => Arc::new(with_loss(plan, Loss::Linear)?),
    })
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
        let linear = self.plain.linear();
        if (0..p).all(|k| linear[k] == solved(k))
            && matches!(open.len(), 1 | 2)
            && let Some(found) = self.scanned(problem, &open)?
        {
            return Ok(found);
        }
        let many = open.len() > 2 && problem.reader.table.n_rows() <= FEW_ROWS;
        let tried = match many {
            true => TRIED_MORE[(open.len() - 3).min(1)],
            false => TRIED,
        };
        let cube = if open.is_empty() {
            vec![Vec::new()]
        } else {
            starts::points(self.options.starts, tried, open.len(), self.options.seed)
        };
        let mut found: Vec<(f64, Vec<f64>)> = Vec::with_capacity(cube.len());
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
            found.push((cost.unwrap_or(f64::INFINITY), trial));
        }
        // Equal ones stay in their order.
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        if many {
            self.follow(problem, &mut found)?;
        }
        Ok(found.swap_remove(0))
    }

    /// The best of a few points of `open` on few rows, and its cost on all; none where few rows cannot tell.
    fn scanned(
        &self,
        problem: &mut Problem<'_>,
        open: &[usize],
    ) -> Result<Option<(f64, Vec<f64>)>> {
        let Some(mut scan) = Scan::new(self.plan, self.plain, problem.reader.table)? else {
            return Ok(None);
        };
        let (tried, seed) = (SCANNED[open.len() - 1], self.options.seed);
        let points = starts::points(self.options.starts, tried, open.len(), seed);
        let trial = |point: &[f64], theta: &mut [f64]| {
            theta.copy_from_slice(&self.theta);
            for (&k, u) in open.iter().zip(point) {
                theta[k] = spread(self.ranges[k], *u);
            }
        };
        let Some(mut best) = scan.best(&points, trial) else {
            return Ok(None);
        };
        let cost = cost_inside(self.plan, problem, &mut best)?;
        Ok(cost.map(|cost| (cost, best)))
    }

    /// Follows the best of `found` a few steps, and puts the one that leads lowest first.
    fn follow(&self, problem: &mut Problem<'_>, found: &mut [(f64, Vec<f64>)]) -> Result<()> {
        let limits = Limits {
            xtol: 1e-3,
            ftol: 1e-6,
            max_evaluations: 40,
            ..self.options.limits
        };
        let mut lowest = (f64::INFINITY, 0);
        for (k, (cost, theta)) in found.iter_mut().enumerate().take(FOLLOWED) {
            if cost.is_infinite() {
                break;
            }
            let silent = &mut |_: &Progress<'_>| Next::Continue;
            let end = lm::minimise(problem, theta, &self.plan.bounds, &limits, silent)?;
            if end.moments.is_finite() {
                (*cost, *theta) = (end.moments.cost, end.theta);
            }
            if *cost < lowest.0 {
                lowest = (*cost, k);
            }
        }
        found.swap(0, lowest.1);
        Ok(())
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

/// Starts of a multi-start: the first as for one, the others across bounds or ranges.
pub(crate) fn many(
    plan: &Plan,
    options: &Options,
    problem: &mut Problem<'_>,
) -> Result<Vec<Vec<f64>>> {
    let p = plan.free.len();
    let sample = sample(problem.reader.table, plan.roles.predictors.len())?;
    let ranges = ranges(plan, &sample);
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
