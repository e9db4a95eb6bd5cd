//! Where parameters may lie: what the units of a formula and the data suggest, and where the curve depends on them at
//! all.

use super::plan::{Hint, Plan};
use super::problem::Problem;
use super::start::sample;
use crate::formula::Programs;
use crate::library::Sample;
use crate::pass::{Columns, Table};
use fitzroy::Result;

/// Widths to expect, in spans of a predictor.
const NARROW: f64 = 0.005;
const WIDE: f64 = 0.5;
/// Where a number without unit may lie.
pub(super) const PLAIN: (f64, f64) = (0.05, 20.0);

/// Where free parameters may lie.
pub(super) fn ranges(plan: &Plan, sample: &Sample) -> Vec<(f64, f64)> {
    let hints = plan.hints().iter().enumerate();
    hints
        .map(|(k, hint)| range(plan, sample, k, *hint))
        .collect()
}

/// Where free parameter k may lie: its bounds, or the range that the data suggest.
fn range(plan: &Plan, sample: &Sample, k: usize, hint: Hint) -> (f64, f64) {
    let (low, high) = (plan.bounds.lower[k], plan.bounds.upper[k]);
    if low.is_finite() && high.is_finite() {
        return (low, high);
    }
    let size = |column: usize| {
        let (a, b) = sample.range(column);
        a.abs().max(b.abs()).max(f64::MIN_POSITIVE)
    };
    let names = plan
        .roles
        .parameters
        .iter()
        .filter_map(|p| p.indexed.as_ref());
    let labels: Vec<&String> = names.map(|(_, column, _)| column).collect();
    let numbers = (0..sample.x.len()).filter(|&c| !labels.contains(&&plan.roles.predictors[c]));
    let spans = numbers.map(|column| sample.span(column));
    let (least, most) = spans.fold((f64::INFINITY, 0.0), |(a, b): (f64, f64), x| {
        (a.min(x), b.max(x))
    });
    let suggested = match (hint.place, hint.power) {
        (Some((true, column)), _) => sample.range(column),
        (Some((false, column)), Some(1.0)) => (size(column) / 30.0, 10.0 * size(column)),
        (Some((false, column)), _) => (0.1 / size(column), 30.0 / size(column)),
        // A width, or what is measured as one: predictors of one unit reach about as far.
        (None, Some(power)) if power != 0.0 && most <= 10.0 * least => {
            let ends = [NARROW * least, WIDE * most].map(|width| width.powf(power));
            (ends[0].min(ends[1]), ends[0].max(ends[1]))
        }
        (None, _) => PLAIN,
    };
    (
        suggested.0.max(low),
        suggested.1.min(high.max(suggested.0.max(low) + 1.0)),
    )
}

/// A point of a range: by its logarithm where both ends are positive and far apart.
pub(super) fn spread((low, high): (f64, f64), u: f64) -> f64 {
    if low > 0.0 && high / low > 30.0 {
        (low.ln() + u * (high / low).ln()).exp()
    } else {
        low + u * (high - low)
    }
}

/// How far free parameter `k` may be expected to go: the far end of its bounds or of the range that the
/// data suggest.
pub(super) fn reach(plan: &Plan, table: &dyn Table, k: usize) -> Result<f64> {
    let sample = sample(table, plan.roles.predictors.len())?;
    let (low, high) = ranges(plan, &sample)[k];
    Ok(low.abs().max(high.abs()))
}

/// Decades that are looked at, from 10^−30 on.
const DECADES: std::ops::Range<i32> = -30..30;
/// How much the shape of a curve changes over a decade that counts, relative to its size.
const ALIVE: f64 = 1e-3;
/// A small step, and how much of a change by it means that the curve is no function to be followed, as a wave far beyond
/// the distance of rows.
const NUDGE: f64 = 1.01;
const CHAOTIC: f64 = 0.3;
/// How far beyond the rows places are looked for, in spans.
const BESIDE: f64 = 2.0;

/// Intervals in which a parameter may lie, each searched by its logarithm where its ends have one sign and are far
/// apart.
pub(super) struct Reach(Vec<(f64, f64)>);

impl Reach {
    /// One interval.
    pub(super) fn of(range: (f64, f64)) -> Reach {
        Reach(vec![range])
    }

    /// The value at a part `u` of all of them.
    pub(super) fn at(&self, u: f64) -> f64 {
        let n = self.0.len() as f64;
        let piece = ((u * n) as usize).min(self.0.len() - 1);
        let within = u * n - piece as f64;
        match self.0[piece] {
            (low, high) if high <= 0.0 => -spread((-high, -low), 1.0 - within),
            range => spread(range, within),
        }
    }
}

/// Where each free parameter may lie that is not linear, as far as the shape of the curve depends on it around any of
/// the points `around`: of either sign, and of any size. Others, and where nothing depends on them, have `ranges`.
///
/// # Errors
/// The rows cannot be read.
pub(super) fn reaches(
    plan: &Plan,
    plain: &Programs,
    rows: &Columns<'_>,
    ranges: &[(f64, f64)],
    around: &[Vec<f64>],
) -> Result<Vec<Reach>> {
    let sample = sample(rows, plan.roles.predictors.len())?;
    let bounds = &plan.bounds;
    let beside = |k: usize| {
        let place = plan.hints()[k].place;
        let bounded = bounds.lower[k].is_finite() && bounds.upper[k].is_finite();
        let (_, column) = place.filter(|(apart, _)| *apart && !bounded && !plain.linear()[k])?;
        let ((low, high), span) = (sample.range(column), BESIDE * sample.span(column));
        Some((bounds.clip(k, low - span), bounds.clip(k, high + span)))
    };
    let places: Vec<Option<(f64, f64)>> = (0..ranges.len()).map(beside).collect();
    // A pole among the rows hides what lives where it is beside them.
    let mut around = around.to_vec();
    for side in 0..2 {
        let mut moved = around[0].clone();
        for (x, place) in moved.iter_mut().zip(&places) {
            *x = place.map_or(*x, |ends| [ends.0, ends.1][side]);
        }
        around.push(moved);
    }
    let mut out = Vec::new();
    for (k, &range) in ranges.iter().enumerate() {
        let bounded = bounds.lower[k].is_finite() && bounds.upper[k].is_finite();
        out.push(match places[k] {
            Some(ends) => Reach::of(ends),
            None if bounded || plain.linear()[k] => Reach::of(range),
            None => alive(plan, plain, rows, &around, k, range)?,
        });
    }
    Ok(out)
}

/// The decades of parameter `k` over which the curve changes its shape.
fn alive(
    plan: &Plan,
    plain: &Programs,
    rows: &Columns<'_>,
    around: &[Vec<f64>],
    k: usize,
    range: (f64, f64),
) -> Result<Reach> {
    let mut pieces = Vec::new();
    for sign in [-1.0, 1.0] {
        let (mut first, mut last) = (None, 0);
        for decade in DECADES {
            let low = sign * 10f64.powi(decade);
            let inside = plan.bounds.clip(k, low) == low;
            let (mut lives, mut wild) = (false, false);
            for theta in around.iter().filter(|_| inside) {
                let shape = |x: f64| shape(plain, rows, theta, (k, x));
                let (here, near, far) = (shape(low)?, shape(NUDGE * low)?, shape(10.0 * low)?);
                let known = apart(&here, &near);
                wild |= known.is_some_and(|d| d > CHAOTIC);
                lives |= known.is_some() && apart(&here, &far).is_none_or(|d| d > ALIVE);
            }
            if wild {
                break;
            }
            if lives {
                first = first.or(Some(decade));
                last = decade;
            }
        }
        if let Some(first) = first {
            let ends = [sign * 10f64.powi(first), sign * 10f64.powi(last + 1)];
            let ends = ends.map(|x| plan.bounds.clip(k, x));
            pieces.push((ends[0].min(ends[1]), ends[0].max(ends[1])));
        }
    }
    Ok(match pieces.is_empty() {
        true => Reach::of(range),
        false => Reach(pieces),
    })
}

/// The curve on `rows` with parameter k at x, each column of its linear parameters by its own size; none where it has no
/// value.
fn shape(
    plain: &Programs,
    rows: &Columns<'_>,
    theta: &[f64],
    (k, x): (usize, f64),
) -> Result<Option<Vec<f64>>> {
    let mut theta = theta.to_vec();
    theta[k] = x;
    let problem = Problem::new(plain, rows, 1, 1.0);
    let params = problem.params(&theta);
    let mut out: Vec<f64> = Vec::new();
    let (columns, n) = match plain.structure() {
        Some(structure) => (&structure.columns, structure.linear.len()),
        None => (plain.value(), 1),
    };
    problem.reader.rows(columns, &params, &mut |_, columns| {
        for column in &columns[..n] {
            let size = column.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            out.extend(
                column
                    .iter()
                    .map(|x| if size > 0.0 { x / size } else { 0.0 }),
            );
        }
        Ok(())
    })?;
    Ok(out.iter().all(|x| x.is_finite()).then_some(out))
}

/// The greatest difference of two shapes; none where one has no value.
fn apart(a: &Option<Vec<f64>>, b: &Option<Vec<f64>>) -> Option<f64> {
    let (a, b) = (a.as_ref()?, b.as_ref()?);
    let gaps = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    Some(gaps.fold(0.0, f64::max))
}
