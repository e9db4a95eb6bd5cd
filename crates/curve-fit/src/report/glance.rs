//! What a figure takes from one read of the rows.

use super::image;
use super::shown::Cloud;
use crate::fit::{Estimate, Plan};
use crate::formula::WEIGHT;
use crate::pass::{Table, visit_all};
use fitzroy::Result;

/// Rows up to which each is a dot.
pub(super) const DOTS: usize = 3000;
/// Residuals that stand for all in histogram and quantiles.
const SAMPLED: usize = 4000;
/// Residuals of which it is asked how they depend on one another.
pub(super) const CORRELATED: usize = 1 << 16;
/// Lags of the autocorrelation, at most.
const LAGS: usize = 40;

/// How residuals follow one another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Serial {
    /// Autocorrelation at lags 1, 2, …
    pub autocorrelation: Vec<f64>,
    /// Residuals it was computed of.
    pub n: usize,
    /// Runs of one sign.
    pub runs: usize,
    /// Runs to be expected of independent residuals.
    pub expected: f64,
}

impl Serial {
    /// Of residuals in an order.
    pub fn of(residuals: &[f64]) -> Serial {
        let n = residuals.len();
        let up = residuals.iter().filter(|r| **r > 0.0).count();
        let runs = residuals
            .windows(2)
            .filter(|w| (w[0] > 0.0) != (w[1] > 0.0));
        let (ups, downs) = (up as f64, (n - up) as f64);
        let lags = LAGS.min(n / 4);
        let mut all = match n >= 8 && lags > 0 {
            true => fitzroy::diagnose::autocorrelation(residuals, lags),
            false => Vec::new(),
        };
        all.retain(|v| v.is_finite());
        Serial {
            autocorrelation: all.into_iter().skip(1).collect(),
            n,
            runs: runs.count() + usize::from(n > 0),
            expected: if n > 0 {
                1.0 + 2.0 * ups * downs / n as f64
            } else {
                0.0
            },
        }
    }
}

/// One row as a figure sees it.
pub(super) struct Seen {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) f: f64,
    pub(super) plane: [f64; 2],
    pub(super) r: f64,
    pub(super) sigma: f64,
    pub(super) set: usize,
}

/// Which columns matter.
pub(super) struct Places {
    pub(super) x: Option<usize>,
    /// Two predictors, if there are as many.
    pub(super) plane: Option<[usize; 2]>,
    pub(super) set: Option<usize>,
    pub(super) weight: Option<usize>,
}

impl Places {
    pub(super) fn of(plan: &Plan) -> Places {
        let indexed = plan.roles.parameters.iter().find_map(|p| p.indexed.clone());
        let labels = indexed.map(|(_, column, _)| column);
        let is_label = |name: &String| labels.as_ref() == Some(name);
        let names = &plan.roles.predictors;
        let numeric: Vec<usize> = (0..names.len()).filter(|&k| !is_label(&names[k])).collect();
        let x = match numeric[..] {
            [one] => Some(one),
            _ => None,
        };
        let plane = match numeric[..] {
            [a, b] if labels.is_none() => Some([a, b]),
            _ => None,
        };
        Places {
            x,
            plane,
            set: names.iter().position(is_label),
            weight: plan.programs.columns().position(|c| c == WEIGHT),
        }
    }
}

/// Every row in turn.
pub(super) fn rows(
    plan: &Plan,
    table: &dyn Table,
    estimate: &Estimate,
    places: &Places,
    take: &mut dyn FnMut(usize, &Seen),
) -> Result<()> {
    let p = estimate.popt.len();
    let mut params = vec![0.0; 2 * p + 1];
    params[..p].copy_from_slice(&estimate.popt);
    let curve = plan.programs.curve();
    let mut out = vec![Vec::new(); curve.n_outputs()];
    let mut workspace = curve.workspace();
    curve.set_parameters(&mut workspace, &params);
    visit_all(table, &mut |first, columns| {
        out.iter_mut().for_each(|o| o.resize(columns[0].len(), 0.0));
        curve.evaluate(&mut workspace, columns, &mut out);
        for i in 0..out[p].len() {
            let (f, y) = (out[p][i], out[p + 1][i]);
            let w = places.weight.map_or(1.0, |k| columns[k][i]);
            let seen = Seen {
                x: places.x.map_or(f, |k| columns[k][i]),
                y,
                f,
                plane: places
                    .plane
                    .map_or([0.0; 2], |at| at.map(|k| columns[k][i])),
                r: (y - f) * w,
                sigma: 1.0 / w,
                set: places.set.map_or(0, |k| columns[k][i] as usize),
            };
            take(first + i, &seen);
        }
        Ok(())
    })
}

/// Least and greatest finite number.
#[derive(Clone, Copy)]
pub(super) struct Range(pub(super) [f64; 2]);

impl Range {
    pub(super) fn add(&mut self, x: f64) {
        if x.is_finite() {
            self.0 = [self.0[0].min(x), self.0[1].max(x)];
        }
    }

    /// The cell of `x` among `n`, of equal powers if `log`.
    pub(super) fn cell(&self, x: f64, n: usize, log: bool) -> Option<usize> {
        let scaled = |v: f64| if log { v.ln() } else { v };
        let ([low, high], x) = (self.0.map(scaled), scaled(x));
        let share = (x - low) / (high - low);
        let at = if high > low { share * n as f64 } else { 0.0 };
        x.is_finite().then(|| (at as usize).min(n - 1))
    }
}

pub(super) const NOTHING: Range = Range([f64::INFINITY, f64::NEG_INFINITY]);

/// What the first read of the rows leaves.
pub(super) struct Glance {
    /// Ranges of x, y and r; those of what is above 0 behind them.
    pub(super) ranges: [Range; 3],
    pub(super) above: [Range; 2],
    /// x, y, r, σ and set of few rows.
    pub(super) kept: Vec<[f64; 5]>,
    /// x, y, f and r of some rows.
    pub(super) some: Vec<[f64; 4]>,
    /// x, set and r of rows that follow one another.
    serial: Vec<(f64, usize, f64)>,
    /// Two predictors, y, f and r.
    pub(super) plane: Vec<[f64; 5]>,
    /// Σσ².
    pub(super) squares: f64,
}

impl Glance {
    pub(super) fn new(
        plan: &Plan,
        table: &dyn Table,
        estimate: &Estimate,
        places: &Places,
    ) -> Result<Glance> {
        let n = table.n_rows();
        let step = n.div_ceil(SAMPLED).max(1);
        let mut out = Glance {
            ranges: [NOTHING; 3],
            above: [NOTHING; 2],
            kept: Vec::new(),
            some: Vec::new(),
            serial: Vec::new(),
            plane: Vec::new(),
            squares: 0.0,
        };
        rows(plan, table, estimate, places, &mut |row, seen| {
            let values = [seen.x, seen.y, seen.r];
            let both = out.ranges.iter_mut().zip(values);
            both.for_each(|(range, value)| range.add(value));
            let above = out.above.iter_mut().zip(values).filter(|(_, v)| *v > 0.0);
            above.for_each(|(range, value)| range.add(value));
            out.squares += seen.sigma * seen.sigma;
            if row % step == step / 2 {
                out.some.push([seen.x, seen.y, seen.f, seen.r]);
            }
            if n <= DOTS {
                let set = seen.set as f64;
                out.kept.push([seen.x, seen.y, seen.r, seen.sigma, set]);
            }
            if row < CORRELATED && seen.r.is_finite() {
                out.serial.push((seen.x, seen.set, seen.r));
            }
            if places.plane.is_some() && n <= image::MOST {
                let [x, y] = seen.plane;
                out.plane.push([x, y, seen.y, seen.f, seen.r]);
            }
        })?;
        Ok(out)
    }

    pub(super) fn some(&self, k: usize) -> Vec<f64> {
        self.some.iter().map(|row| row[k]).collect()
    }

    /// How residuals follow one another, along x if there is one x and all rows are known.
    pub(super) fn serial(&self, sorted: bool) -> Serial {
        let mut rows = self.serial.clone();
        if sorted {
            rows.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.total_cmp(&b.0)));
        }
        let residuals: Vec<f64> = rows.iter().map(|row| row.2).collect();
        Serial::of(&residuals)
    }

    /// The rows and their residuals as dots; none if there are too many.
    pub(super) fn dots(&self, n: usize) -> Option<(Cloud, Cloud)> {
        let all = |k: usize| self.kept.iter().map(|row| row[k]).collect::<Vec<f64>>();
        let sets: Vec<usize> = self.kept.iter().map(|row| row[4] as usize).collect();
        let cloud = |k: usize| Cloud::Dots {
            x: all(0),
            y: all(k),
            set: sets.clone(),
        };
        (n <= DOTS).then(|| (cloud(1), cloud(2)))
    }
}
