//! Fits that do not describe their rows are searched for once more: without the starts that were given, over the whole
//! field, and wherever the curve depends on its parameters at all. The lowest minimum counts.

use super::conclude::conclude;
use super::estimate::Estimate;
use super::evolution::evolve;
use super::options::{Options, Restarts, Scale};
use super::plan::Plan;
use super::problem::Problem;
use super::quality::quality_at;
use super::ranges::{Reach, ranges, reaches, spread};
use super::solve::solve;
use super::start::{StartRule, least_squares, sample};
use super::verdict::Doubt;
use crate::formula::Programs;
use crate::method::{Observer, Status};
use crate::pass::{Columns, Table, spread_rows};
use fitzroy::Result;
use std::borrow::Cow;

/// Rows up to which a fit is searched for again, and on how many of them.
const MOST_ROWS: usize = 10_000;
const LOOKED_AT: usize = 1024;
/// Rows on which is looked where the curve depends on its parameters.
const FEW_ROWS: usize = 64;
/// Parameters that are not linear, at most, of a search wherever the curve depends on them.
const MOST_OPEN: usize = 6;
/// Such searches, at most.
const ROUNDS: u64 = 4;
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

/// `first`, or a lower minimum where that does not describe the rows.
///
/// # Errors
/// What `first` has, if no other start does better.
pub(super) fn again(
    plan: &Plan,
    table: &dyn Table,
    options: &Options,
    first: Result<Option<Estimate>>,
    observer: &mut Observer<'_>,
) -> Result<Estimate> {
    let (mut best, error) = match first {
        Ok(found) => (found, None),
        Err(error) => (None, Some(error)),
    };
    let found = |best: Option<Estimate>| match (best, error) {
        (Some(best), _) => Ok(best),
        (None, Some(error)) => Err(error),
        (None, None) => unreachable!("a fit has a start"),
    };
    if !may(plan, table, options, best.as_ref()) || !wanting(plan, table, best.as_ref())? {
        return found(best);
    }
    let (was, mut moved) = (best.as_ref().map(|b| b.chi2), false);
    let everywhere = (0..ROUNDS).map(Search::Everywhere);
    for search in [Search::Unstarted, Search::Field]
        .into_iter()
        .chain(everywhere)
    {
        let Some(other) = lowest(plan, table, options, search, best.as_ref(), observer)? else {
            continue;
        };
        // Nothing that rows determine is given up for what they do not.
        let lower = |b: &Estimate| match (determined(&other), determined(b)) {
            (false, true) => false,
            // A minimum is better than a point beside it.
            _ => {
                other.cost < b.cost * (1.0 - LOWER)
                    || other.converged() && !b.converged() && other.cost <= b.cost * (1.0 + LOWER)
            }
        };
        if best.as_ref().is_none_or(lower) {
            (best, moved) = (Some(other), true);
        }
        if !wanting(plan, table, best.as_ref())? {
            break;
        }
    }
    if let (Some(best), Some(was), true) = (&mut best, was, moved && !options.p0.is_empty()) {
        best.findings.push(format!(
            "from the starting values that were given the fit ends at chi2 = {was:.6}; this is a lower minimum, which a \
             search without them found"
        ));
    }
    found(best)
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

/// Whether there is no fit, or one that does not describe its rows.
fn wanting(plan: &Plan, table: &dyn Table, best: Option<&Estimate>) -> Result<bool> {
    let Some(best) = best else {
        return Ok(true);
    };
    Ok(match best.status {
        Status::Interrupted | Status::TimeLimit | Status::ExactFit => false,
        Status::Kink => true,
        status if !status.converged() => true,
        _ if best.flags.contains(&"rank_deficient") => true,
        _ => {
            let ended = best.ended();
            let doubts = ended.doubts(&quality_at(plan, table, &best.popt, &ended)?);
            // Of rows in which a search saw nothing, and which look like noise, others would make something.
            let noise = best.flags.contains(&"guessed_start") && !doubts.has(Doubt::Patterned);
            !doubts.is_empty() && !noise
        }
    })
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
            (!options.p0.is_empty()).then(|| solve(plan, table, &from(Vec::new()), observer));
        let Some(Ok(solution)) = again else {
            return Ok(None);
        };
        return Ok(Some(conclude(plan, table, options, solution)?));
    }
    let mut found: Option<Estimate> = None;
    for theta in starts(plan, table, options, search, best)? {
        let named = plan.names().into_iter().zip(theta);
        let own = from(named.collect());
        // A start at which the curve has no value is none.
        let Ok(solution) = solve(plan, table, &own, observer) else {
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

/// Where descents should begin.
fn starts(
    plan: &Plan,
    table: &dyn Table,
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
    let rows = spread_rows(table, LOOKED_AT)?;
    let rows = Columns::new(rows.into_iter().map(Cow::Owned).collect());
    let mut problem = Problem::new(&plain, &rows, 1, 1.0);
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
