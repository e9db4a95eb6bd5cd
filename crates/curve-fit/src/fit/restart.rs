//! Fits that do not describe their rows are searched for once more: without the starts that were given, over the whole
//! field, and wherever the curve depends on its parameters at all. The lowest minimum counts.

use super::conclude::conclude;
use super::estimate::Estimate;
use super::evolution::evolve;
use super::options::{Options, Restarts, Scale};
use super::plan::Plan;
use super::problem::Problem;
use super::quality::{Quality, quality_at};
use super::ranges::{Reach, ranges, reaches, spread};
use super::solve::solve;
use super::start::{StartRule, least_squares, sample};
use super::verdict::{Doubt, GUESSED, Misfit};
use crate::formula::Programs;
use crate::method::{Limits, Moments, Next, Objective, Observer, Progress, Status, lm};
use crate::pass::{Columns, Table, spread_rows};
use fitzroy::Result;
use std::borrow::Cow;

/// Rows up to which a fit is searched for again, and on how many of them.
const MOST_ROWS: usize = 10_000;
const LOOKED_AT: usize = 512;
/// Rows on which is looked where the curve depends on its parameters.
const FEW_ROWS: usize = 64;
/// Parameters that are not linear, at most, of a search wherever the curve depends on them.
const MOST_OPEN: usize = 6;
/// Such searches, at most.
const ROUNDS: u64 = 4;
/// Evaluations that show where a start leads, the starts that are followed to the end, and the evaluations of each.
const A_FEW: usize = 100;
const FOLLOWED: usize = 2;
const MOST_EVALUATIONS: usize = 1000;
/// Condition beyond which a minimum may be far from another one of the same valley.
const NARROW: f64 = 1e6;
/// Rows up to which residuals say too little of a wrong minimum: of 690 fits of unseen shapes, most to fewer than 60
/// rows, 61 ended above the lowest and raised no doubt.
const UNSURE_ROWS: usize = 100;
/// Probability of residuals so much alike below which a fit is searched for again.
const SUSPECT: f64 = 0.02;
/// χ² per degree of freedom beyond which σ, though relative, are not believed to be that wrong.
const FAR_BEYOND: f64 = 10.0;
/// By how much −2 ln L of a minimum is lower that is likelier by more than chance, and by how much if a search saw nothing
/// of a term: in noise the best of many places takes some 15 from it.
const BEYOND_CHANCE: f64 = 4.0;
const BEYOND_NOISE: f64 = 25.0;
/// By how much a minimum must be lower, as a part of the cost, to be another one.
const LOWER: f64 = 1e-6;

/// Starts that a further search tries.
#[derive(Clone, Copy, PartialEq)]
enum Search {
    /// Those of a fit to which nothing was given.
    Unstarted,
    /// Of the field in which parameters are expected.
    Field,
    /// Of all in which the curve depends on them, begun by chance as this number says.
    Everywhere(u64),
}

/// What is missing.
#[derive(Clone, Copy, PartialEq)]
enum Want {
    /// A minimum that describes the rows at all.
    Minimum,
    /// One that is lower: as often as not the curve itself is not quite right.
    Lower,
    /// One whose −2 ln L is lower by so much: nothing is known against the first, and of two that describe the
    /// rows alike the one of a start with a reason counts.
    Likelier(f64),
}

/// `first`, or a lower minimum where that does not describe the rows, with its measures if they were needed.
///
/// # Errors
/// What `first` has, if no other start does better.
pub(super) fn again(
    plan: &Plan,
    table: &dyn Table,
    options: &Options,
    first: Result<Option<Estimate>>,
    observer: &mut Observer<'_>,
) -> Result<(Estimate, Option<Quality>)> {
    let (mut best, error) = match first {
        Ok(found) => (found, None),
        Err(error) => (None, Some(error)),
    };
    let found = |best: Option<Estimate>, quality| match (best, error) {
        (Some(best), _) => Ok((best, quality)),
        (None, Some(error)) => Err(error),
        (None, None) => unreachable!("a fit has a start"),
    };
    // A start that was given and has no value is the user's to mend.
    let unusable = best.is_none() && !options.p0.is_empty();
    if unusable || !may(plan, table, options, best.as_ref()) {
        return found(best, None);
    }
    let (mut want, mut quality) = wanting(plan, table, options, best.as_ref())?;
    let (was, mut moved) = (best.as_ref().map(|b| b.chi2), false);
    let everywhere = (0..ROUNDS).map(Search::Everywhere);
    for search in [Search::Unstarted, Search::Field]
        .into_iter()
        .chain(everywhere)
    {
        let again = matches!(search, Search::Everywhere(round) if round > 0);
        if want.is_none() || want != Some(Want::Minimum) && again {
            break;
        }
        let Some(other) = lowest(plan, table, options, search, best.as_ref(), observer)? else {
            continue;
        };
        // Nothing that rows determine is given up for what they do not.
        let lower = |b: &Estimate| match (determined(&other), determined(b), want) {
            (false, true, _) => false,
            (_, _, Some(Want::Likelier(fall))) => is_likelier(&other, b, fall),
            // A minimum is better than a point beside it.
            _ => {
                other.cost < b.cost * (1.0 - LOWER)
                    || other.converged() && !b.converged() && other.cost <= b.cost * (1.0 + LOWER)
            }
        };
        if best.as_ref().is_none_or(lower) {
            (best, moved) = (Some(other), true);
            (want, quality) = wanting(plan, table, options, best.as_ref())?;
        }
    }
    if let (Some(best), Some(was), true) = (&mut best, was, moved && !options.p0.is_empty()) {
        best.findings.push(format!(
            "from the starting values that were given the fit ends at chi2 = {was:.6}; this is a lower minimum, which a \
             search without them found"
        ));
    }
    found(best, quality)
}

/// Whether a further search is allowed, and is no matter of minutes.
fn may(plan: &Plan, table: &dyn Table, options: &Options, best: Option<&Estimate>) -> bool {
    let stuck = |b: &Estimate| matches!(b.status, Status::NoProgress | Status::DampingLimit);
    let wanted = match options.restarts {
        Restarts::Always => true,
        Restarts::Unstarted => options.p0.is_empty() || best.is_some_and(stuck),
        Restarts::Never => false,
    };
    let linear = plan.programs.linear().iter().all(|&l| l);
    let alone = options.multistart <= 1 && !options.global && plan.constrained.slacks.is_empty();
    wanted && alone && !linear && table.n_rows() <= MOST_ROWS
}

/// What a fit lacks, none where nothing is to be asked of it; and its measures, if that took them.
fn wanting(
    plan: &Plan,
    table: &dyn Table,
    options: &Options,
    best: Option<&Estimate>,
) -> Result<(Option<Want>, Option<Quality>)> {
    let Some(best) = best else {
        return Ok((Some(Want::Minimum), None));
    };
    match best.status {
        Status::Interrupted | Status::TimeLimit | Status::ExactFit => return Ok((None, None)),
        Status::Kink => return Ok((Some(Want::Minimum), None)),
        _ if !determined(best) => return Ok((Some(Want::Minimum), None)),
        _ => {}
    }
    let misfit = best.misfit();
    let quality = quality_at(plan, table, &best.popt, &misfit)?;
    let doubts = misfit.doubts(&quality);
    // Of rows in which a search saw nothing, and which look like noise, others would make something.
    let noise = best.flags.contains(&GUESSED) && !doubts.has(Doubt::Patterned);
    let poor = doubts.has(Doubt::PoorR2) || best.condition > NARROW;
    let fall = if noise { BEYOND_NOISE } else { BEYOND_CHANCE };
    // Starting values that were given say which minimum is meant.
    let open = options.p0.is_empty() && is_suspect(plan, &misfit, &quality, best.n);
    let want = match (doubts.is_empty() || noise, poor) {
        (true, _) => open.then_some(Want::Likelier(fall)),
        (false, true) => Some(Want::Minimum),
        (false, false) => Some(Want::Lower),
    };
    Ok((want, Some(quality)))
}

/// Whether a lower minimum is worth looking for, though nothing that is sure speaks against a fit.
fn is_suspect(plan: &Plan, misfit: &Misfit, quality: &Quality, n: usize) -> bool {
    let alike = quality.pattern.is_some_and(|p| p.p < SUSPECT);
    let far = misfit.dof > 0 && misfit.chi2 > FAR_BEYOND * misfit.dof as f64;
    n <= UNSURE_ROWS || alike || plan.weighted && far
}

/// Whether −2 ln L of a fit is lower than that of `first` by more than `fall`.
fn is_likelier(other: &Estimate, first: &Estimate, fall: f64) -> bool {
    let variance = match other.absolute_sigma {
        true => 1.0,
        false => 2.0 * other.cost / other.dof.max(1) as f64,
    };
    other.converged() && 2.0 * (first.cost - other.cost) > fall * variance
}

/// Whether the rows determine all parameters of a fit that converged.
fn determined(fit: &Estimate) -> bool {
    let lost = ["rank_deficient", "out_of_range"];
    fit.converged() && !fit.flags.iter().any(|flag| lost.contains(flag))
}

/// The lowest minimum from the starts of `search`.
fn lowest(
    plan: &Plan,
    table: &dyn Table,
    options: &Options,
    search: Search,
    best: Option<&Estimate>,
    observer: &mut Observer<'_>,
) -> Result<Option<Estimate>> {
    // Costs compare at one scale of a robust loss.
    let f_scale = best.map_or(options.f_scale, |b| Scale::Fixed(b.f_scale));
    let from = |p0| Options {
        p0,
        f_scale,
        ..options.clone()
    };
    if search == Search::Unstarted {
        // With nothing given there is nothing new.
        let again =
            (!options.p0.is_empty()).then(|| solve(plan, table, &from(Vec::new()), None, observer));
        let Some(Ok(solution)) = again else {
            return Ok(None);
        };
        return Ok(Some(conclude(plan, table, options, solution)?));
    }
    let mut found: Option<Estimate> = None;
    let limits = Limits {
        max_evaluations: options.limits.max_evaluations.min(MOST_EVALUATIONS),
        ..options.limits
    };
    for theta in promising(plan, table, options, search, best)? {
        let named = plan.names().into_iter().zip(theta);
        let own = Options {
            limits,
            ..from(named.collect())
        };
        // A start at which the curve has no value is none.
        let Ok(solution) = solve(plan, table, &own, None, observer) else {
            continue;
        };
        let other = conclude(plan, table, &own, solution)?;
        if found.as_ref().is_none_or(|f| other.cost < f.cost) {
            found = Some(other);
        }
    }
    if let Some(found) = &mut found {
        let free = found.parameters.iter_mut().filter(|p| p.start.is_some());
        free.for_each(|p| p.start_rule = StartRule::Automatic);
    }
    Ok(found)
}

/// Where a few steps on some of the rows lead from the starts of `search`: the best two, if they are below `best`.
fn promising(
    plan: &Plan,
    table: &dyn Table,
    options: &Options,
    search: Search,
    best: Option<&Estimate>,
) -> Result<Vec<Vec<f64>>> {
    let rows = spread_rows(table, LOOKED_AT)?;
    let rows = Columns::new(rows.into_iter().map(Cow::Owned).collect());
    let scale = best.map_or(1.0, |b| b.f_scale);
    let mut problem = Problem::new(&plan.programs, &rows, 1, scale);
    let mut moments = Moments::new(plan.free.len());
    let mut least = f64::INFINITY;
    if let Some(best) = best {
        problem.moments(&best.popt, &mut moments)?;
        let other = if determined(best) { -LOWER } else { LOWER };
        if moments.is_finite() {
            least = moments.cost * (1.0 + other);
        }
    }
    let limits = Limits {
        xtol: 1e-4,
        ftol: 1e-8,
        max_evaluations: A_FEW,
        ..options.limits
    };
    let mut found: Vec<(f64, Vec<f64>)> = Vec::new();
    for theta in starts(plan, table, &rows, options, search, best)? {
        let silent = &mut |_: &Progress<'_>| Next::Continue;
        let end = lm::minimise(&mut problem, &theta, &plan.bounds, &limits, silent)?;
        if end.moments.is_finite() && end.moments.cost <= least {
            found.push((end.moments.cost, end.theta));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.truncate(FOLLOWED);
    Ok(found.into_iter().map(|(_, theta)| theta).collect())
}

/// Where descents on `rows` should begin.
fn starts(
    plan: &Plan,
    table: &dyn Table,
    rows: &Columns<'_>,
    options: &Options,
    search: Search,
    best: Option<&Estimate>,
) -> Result<Vec<Vec<f64>>> {
    let plain = least_squares(plan)?;
    let open = plain.linear().iter().filter(|&&l| !l).count();
    let (everywhere, round) = match search {
        Search::Everywhere(round) => (true, round),
        _ => (false, 0),
    };
    if everywhere && open > MOST_OPEN {
        return Ok(Vec::new());
    }
    let sample = sample(table, plan.roles.predictors.len())?;
    let ranges = ranges(plan, &sample);
    let middle: Vec<f64> = ranges.iter().map(|&r| spread(r, 0.5)).collect();
    let known = best.map_or_else(|| middle.clone(), |b| b.popt.clone());
    let reaches = match everywhere {
        true => alive(plan, &plain, table, &ranges, &[middle, known.clone()])?,
        false => ranges.into_iter().map(Reach::of).collect(),
    };
    let mut problem = Problem::new(&plain, rows, 1, 1.0);
    evolve(plan, &mut problem, &reaches, &known, options.seed + round)
}

fn alive(
    plan: &Plan,
    plain: &Programs,
    table: &dyn Table,
    ranges: &[(f64, f64)],
    around: &[Vec<f64>],
) -> Result<Vec<Reach>> {
    let few = spread_rows(table, FEW_ROWS)?;
    let few = Columns::new(few.into_iter().map(Cow::Owned).collect());
    reaches(plan, plain, &few, ranges, around)
}
