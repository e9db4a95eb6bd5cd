//! From a plan and a table to the minimum: start, progressive start, both methods.

use super::descend::descend;
use super::evolution::global;
use super::finish::{finish_on_all, parted};
use super::options::{Method, Options, Progressive, Scale};
use super::plan::Plan;
use super::problem::Problem;
use super::robust::auto_scale;
use super::samples::near;
use super::settle::settle;
use super::sign;
use super::start::{self, Start};
use crate::formula::Loss;
use crate::method::{Limits, Minimum, Moments, Next, Objective, Observer, Progress, Status};
use crate::pass::{Columns, Table};
use fitzroy::{Error, ErrorKind, Result};

/// Rows above which a fit starts on some of them.
pub(super) const MANY_ROWS: usize = 50_000;
/// Every so many rows of a subsample lead to where the descent on all of it begins, for curves with at
/// most so many parameters.
const COARSE: usize = 8;
const FEW_PARAMETERS: usize = 16;

/// What a minimisation found, and how.
pub(crate) struct Solution {
    pub(crate) minimum: Minimum,
    pub(crate) start: Start,
    pub(crate) method: String,
    pub(crate) scale: f64,
    pub(crate) subsample_rows: usize,
    pub(crate) finish: &'static str,
    pub(crate) full_reads: usize,
    pub(crate) costs: Vec<f64>,
    pub(crate) findings: Vec<String>,
}

/// Minimises; `known` is the end of another fit, which several starts begin with.
pub(crate) fn solve(
    plan: &Plan,
    table: &dyn Table,
    options: &Options,
    known: Option<&[f64]>,
    observer: &mut Observer<'_>,
) -> Result<Solution> {
    let n = table.n_rows();
    let mut problem = Problem::new(&plan.programs, table, options.threads, 1.0);
    problem.scale = match options.f_scale {
        Scale::Fixed(c) => c,
        Scale::Auto if plan.programs.loss().is_robust() => auto_scale(plan, table, options)?,
        Scale::Auto => 1.0,
    };
    let large = is_large(options.progressive, n);
    let before = problem.reads;
    // Starting values are looked for on the subsample where there is one.
    let sub = large.then(|| problem.subsample(options.seed)).transpose()?;
    let few: &dyn Table = match &sub {
        Some(sub) => sub,
        None => table,
    };
    let mut small = Problem::new(&plan.programs, few, 1, problem.scale);
    let (mut starts, start) = all_starts(plan, options, &mut small)?;
    starts.splice(0..0, known.map(<[f64]>::to_vec));
    if options.method == Method::Varpro {
        check_start(plan, &mut small, &start)?;
    }
    let (mut found, costs) = match &sub {
        Some(sub) => first_of_many(plan, options, (&mut small, sub), n, starts, observer)?,
        None => best_of(
            plan,
            options,
            &mut small,
            &starts,
            &options.limits,
            observer,
        )?,
    };
    if found.0.status == Status::NonFinite {
        check_start(plan, &mut small, &start)?;
    }
    let (mut finish, mut findings) = ("exact", Vec::new());
    if !large {
        settle(&plan.bounds, options, &mut small, &mut found, observer)?;
        sign::settle(plan, options, &mut small, &mut found.0)?;
        problem.reads = small.reads;
    } else if found.0.status != Status::Interrupted {
        let mut few = Problem::new(&plan.programs, few, 1, problem.scale);
        let both = (&mut problem, &mut few);
        match go_on_with_all(plan, options, both, &start, &mut found, observer)? {
            Some(way) => finish = way,
            None => findings.push("the subsample led elsewhere; refitted on all rows".into()),
        }
    }
    Ok(Solution {
        minimum: found.0,
        start,
        method: found.1,
        scale: problem.scale,
        subsample_rows: sub.as_ref().map_or(0, |s| s.n_rows()),
        finish,
        full_reads: problem.reads - before,
        costs,
        findings,
    })
}

/// Whether a fit of `n` rows starts on some of them.
fn is_large(progressive: Progressive, n: usize) -> bool {
    match progressive {
        Progressive::Auto => n > MANY_ROWS,
        Progressive::On => n >= 4 * 1024,
        Progressive::Off => false,
    }
}

/// Goes on from what was found on the subsample with all rows, and says how; none where that led nowhere,
/// and all rows were fitted from the start.
fn go_on_with_all(
    plan: &Plan,
    options: &Options,
    (problem, few): (&mut Problem<'_>, &mut Problem<'_>),
    start: &Start,
    found: &mut (Minimum, String),
    observer: &mut Observer<'_>,
) -> Result<Option<&'static str>> {
    let evaluations = found.0.evaluations;
    let way = match finish_on_all(problem, few, plan, options, &found.0.theta, observer)? {
        Some((minimum, way)) => {
            *found = (minimum, format!("{}+gauss-newton", found.1));
            Some(way)
        }
        None => {
            check_start(plan, problem, start)?;
            let (from, limits) = (&start.theta, &options.limits);
            *found = descend(plan, options, problem, from, limits, observer)?;
            None
        }
    };
    // Steps of a fast finish end where the next one would be short, and meet no bound.
    if way.is_none_or(|way| way == "exact") {
        settle(&plan.bounds, options, problem, found, observer)?;
    }
    found.0.evaluations += evaluations;
    Ok(way)
}

/// The minimum of the subsample of a table of `n` rows, or a point near it, and the costs that descents
/// reached. `small` is a problem on the subsample.
fn first_of_many(
    plan: &Plan,
    options: &Options,
    (small, sub): (&mut Problem<'_>, &Columns<'_>),
    n: usize,
    starts: Vec<Vec<f64>>,
    observer: &mut Observer<'_>,
) -> Result<((Minimum, String), Vec<f64>)> {
    let limits = Limits {
        // A hundredth of the standard errors there, by which all rows differ anyway.
        ftol: options.limits.ftol.max(1e-9),
        xtol: options.limits.xtol.max(1e-4),
        ..options.limits
    };
    let (starts, spent, led) = coarse(plan, options, sub, small.scale, starts)?;
    // A step on more rows follows, so the minimum itself need not be found.
    let steps = matches!(options.method, Method::Auto | Method::Lm);
    let near = match &starts[..] {
        [from] if led && steps && parted(plan, n).is_some() => near(small, from, COARSE)?,
        _ => None,
    };
    let (mut found, costs) = match near {
        Some(near) => {
            let cost = near.moments.cost;
            ((near, "lm".to_string()), vec![cost])
        }
        None => best_of(plan, options, small, &starts, &limits, observer)?,
    };
    found.0.evaluations += spent;
    Ok((found, costs))
}

/// Where descents on a part of the subsample lead from `starts`, their evaluations, and whether all of
/// them ended well: what far steps cost on all of it is most of what it costs. A descent that fails
/// leaves its start.
fn coarse(
    plan: &Plan,
    options: &Options,
    sub: &Columns<'_>,
    scale: f64,
    starts: Vec<Vec<f64>>,
) -> Result<(Vec<Vec<f64>>, usize, bool)> {
    let p = plan.free.len();
    // Robust losses have other minima far out, which fewer rows find sooner.
    if plan.programs.loss().is_robust() || p > FEW_PARAMETERS || sub.n_rows() < 1024 * COARSE {
        return Ok((starts, 0, false));
    }
    let rows: Vec<usize> = (0..sub.n_rows()).step_by(COARSE).collect();
    let part = sub.take(&rows);
    let mut few = Problem::new(&plan.programs, &part, 1, scale);
    let limits = Limits {
        xtol: 1e-3,
        ftol: 1e-6,
        ..options.limits
    };
    let (mut out, mut spent, mut led) = (Vec::new(), 0, true);
    for start in starts {
        let steps = options.method.steps();
        let silent = &mut |_: &Progress<'_>| Next::Continue;
        let found = steps(&mut few, &start, &plan.bounds, &limits, silent)?;
        spent += found.evaluations;
        led &= found.status.converged();
        out.push(match found.status.converged() {
            true => found.theta,
            false => start,
        });
    }
    Ok((out, spent, led))
}

fn all_starts(
    plan: &Plan,
    options: &Options,
    problem: &mut Problem<'_>,
) -> Result<(Vec<Vec<f64>>, Start)> {
    for k in 0..plan.free.len() {
        let (low, high) = (plan.bounds.lower[k], plan.bounds.upper[k]);
        let name = plan.name(k);
        let given = options.p0.iter().rev().find(|(n, _)| n == name);
        if let Some(&(_, x)) = given.filter(|(_, x)| *x < low || *x > high) {
            let side = |b: f64| {
                if b.is_finite() {
                    b.to_string()
                } else {
                    String::new()
                }
            };
            let message = format!(
                "p0 {name} = {x} lies outside its bound {}:{}; choose a value inside",
                side(low),
                side(high)
            );
            return Err(Error::new(ErrorKind::Usage, message));
        }
    }
    let start = start::start(plan, options, problem)?;
    let mut starts = if options.multistart > 1 {
        start::many(plan, options, problem)?
    } else {
        vec![start.theta.clone()]
    };
    if options.global {
        starts.extend(global(plan, options, problem, &start.theta)?);
    }
    Ok((starts, start))
}

/// The best of descents from all starts, and the costs they reached.
fn best_of(
    plan: &Plan,
    options: &Options,
    problem: &mut Problem<'_>,
    starts: &[Vec<f64>],
    limits: &Limits,
    observer: &mut Observer<'_>,
) -> Result<((Minimum, String), Vec<f64>)> {
    let mut best: Option<(Minimum, String)> = None;
    let (mut costs, mut evaluations) = (Vec::new(), 0);
    for from in starts {
        let found = descend(plan, options, problem, from, limits, observer)?;
        evaluations += found.0.evaluations;
        let stop = found.0.status == Status::Interrupted;
        if found.0.moments.is_finite() {
            costs.push(found.0.moments.cost);
        }
        let better = |b: &(Minimum, String)| {
            !b.0.moments.is_finite() || found.0.moments.cost < b.0.moments.cost
        };
        if best.as_ref().is_none_or(better) {
            best = Some(found);
        }
        if stop {
            break;
        }
    }
    let mut best = best.expect("there is a start");
    best.0.evaluations = evaluations;
    Ok((best, costs))
}

/// Refuses data that are not finite, naming row and column.
fn refuse_gaps(plan: &Plan, table: &dyn Table) -> Result<()> {
    let columns: Vec<String> = plan.programs.columns().map(str::to_string).collect();
    crate::pass::visit_all(table, &mut |first, values| {
        for (name, values) in columns.iter().zip(values) {
            if let Some(row) = values.iter().position(|x| !x.is_finite()) {
                let name = if name == crate::formula::RESPONSE {
                    "y"
                } else {
                    name
                };
                return Err(super::data::not_finite(first + row, name, values[row]));
            }
        }
        Ok(())
    })
}

/// Refuses a start at which the curve is not finite, naming the row and why.
fn check_start(plan: &Plan, problem: &mut Problem<'_>, start: &Start) -> Result<()> {
    let p = start.theta.len();
    let mut moments = Moments::new(p);
    problem.moments(&start.theta, &mut moments)?;
    if moments.is_finite() {
        return Ok(());
    }
    let params = problem.params(&start.theta);
    let table = problem.reader.table;
    // Data first: a NaN there is no fault of the start.
    refuse_gaps(plan, table)?;
    let mut found = None;
    let curve = plan.programs.curve();
    problem.reader.rows(&curve, &params, &mut |first, out| {
        let n = out[0].len();
        let bad = (0..n).find(|&i| out[..=p].iter().any(|o| !o[i].is_finite()));
        if found.is_none() {
            found = bad.map(|i| {
                let steep = (0..p).find(|&k| !out[k][i].is_finite());
                (first + i, out[p][i], steep)
            });
        }
        Ok(())
    })?;
    let at: Vec<String> = start
        .theta
        .iter()
        .enumerate()
        .map(|(k, x)| format!("{} = {}", plan.name(k), readable(*x)))
        .collect();
    let far_off = start::far_off(plan, table)?;
    let message = match found {
        Some((row, value, steep)) => {
            let what = match steep.filter(|_| value.is_finite()) {
                Some(k) => format!("the model has no finite derivative by {}", plan.name(k)),
                None => "the model is not finite".into(),
            };
            let x = row_of(table, row, plan.roles.predictors.len())?;
            let named = plan.roles.predictors.iter().zip(x);
            let x: Vec<String> = named.map(|(name, x)| format!("{name} = {x}")).collect();
            let advice = match plan.programs.linear().contains(&false) {
                true => "choose other starting values (⟨p0⟩)",
                false => "no values of the parameters change that: leave the row out (⟨range⟩)",
            };
            format!(
                "{what} at the start: row {}, {} gives {value} with {}; {advice}",
                row + 1,
                x.join(", "),
                at.join(", ")
            )
        }
        None if plan.programs.loss() == Loss::Poisson => format!(
            "the model is not positive everywhere at the start ({}), and counts need a positive \
             mean; choose other starting values (⟨p0⟩)",
            at.join(", ")
        ),
        None => format!(
            "the sum of squares overflows at the start ({}); {}",
            at.join(", "),
            match &far_off {
                Some(_) => super::doubt::count_from(far_off.as_ref()),
                None => "choose other starting values (⟨p0⟩)".into(),
            }
        ),
    };
    Err(Error::new(ErrorKind::Numerics, message))
}

/// A number as it was written, very large and very small ones with an exponent.
fn readable(x: f64) -> String {
    match x == 0.0 || (1e-6..1e15).contains(&x.abs()) {
        true => x.to_string(),
        false => format!("{x:e}"),
    }
}

/// The predictors of one row.
fn row_of(table: &dyn Table, row: usize, n: usize) -> Result<Vec<f64>> {
    let tile = row / fitzroy_device::cpu::TILE_ROWS * fitzroy_device::cpu::TILE_ROWS;
    let end = (tile + fitzroy_device::cpu::TILE_ROWS).min(table.n_rows());
    let mut out = Vec::new();
    table.visit(tile..end, &mut |first, columns| {
        if row >= first && row - first < columns[0].len() {
            out = columns[..n].iter().map(|c| c[row - first]).collect();
        }
        Ok(())
    })?;
    Ok(out)
}
