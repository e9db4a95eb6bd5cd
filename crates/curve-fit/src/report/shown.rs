//! What a figure of a fit shows: the rows, or how many fall where when there are many.

use crate::fit::{Estimate, Plan, Prediction, predict};
use crate::formula::WEIGHT;
use crate::pass::{Table, visit_all};
use fitzroy::Result;

/// Rows up to which each is a dot.
const DOTS: usize = 3000;
/// Cells across and up where rows are counted.
const ACROSS: usize = 180;
const UP: usize = 90;
/// Residuals that stand for all in histogram and quantiles.
const SAMPLED: usize = 4000;
/// Places at which a curve is computed.
const PLACES: usize = 400;
/// Data sets drawn apart.
const SETS: usize = 7;

/// Numbers in pairs: each a dot, or counted in cells.
#[derive(Clone, Debug, PartialEq)]
pub enum Cloud {
    /// Every pair, with the data set it belongs to.
    Dots {
        /// Across.
        x: Vec<f64>,
        /// Up.
        y: Vec<f64>,
        /// By number.
        set: Vec<usize>,
    },
    /// Counts on a grid over the ranges.
    Counts {
        /// Least and greatest across.
        x: [f64; 2],
        /// Least and greatest up.
        y: [f64; 2],
        /// Row by row of the grid, from below.
        counts: Vec<u64>,
    },
}

/// A curve with its bands at ascending places.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Name of the data set; empty where there is one.
    pub name: String,
    /// Places.
    pub x: Vec<f64>,
    /// The curve there.
    pub band: Prediction,
}

/// What a figure of a fit shows.
#[derive(Clone, Debug)]
pub struct Shown {
    /// What stands across: the predictor, or "fitted" where there are several.
    pub across: String,
    /// The response.
    pub up: String,
    /// Whether `data` stands over the predictor; else over the fitted values.
    pub over_predictor: bool,
    /// Response.
    pub data: Cloud,
    /// (y − f)/σ.
    pub residuals: Cloud,
    /// Whether rows have a σ.
    pub weighted: bool,
    /// The curve, once for each data set; empty where several predictors vary.
    pub curves: Vec<Curve>,
    /// Half the length of the error bars of dots; empty without σ or with many rows.
    pub sigma: Vec<f64>,
    /// Some residuals, spread over all rows.
    pub sample: Vec<f64>,
    /// Number of rows.
    pub n: usize,
    /// The headline of a fit that did not converge or is in doubt, else nothing.
    pub verdict: String,
}

/// One row as a figure sees it.
struct Seen {
    x: f64,
    y: f64,
    r: f64,
    sigma: f64,
    set: usize,
}

/// Which columns matter.
struct Places {
    x: Option<usize>,
    set: Option<usize>,
    weight: Option<usize>,
}

impl Places {
    fn of(plan: &Plan) -> Places {
        let indexed = plan.roles.parameters.iter().find_map(|p| p.indexed.clone());
        let labels = indexed.map(|(_, column, _)| column);
        let is_label = |name: &String| labels.as_ref() == Some(name);
        let names = &plan.roles.predictors;
        let numeric: Vec<usize> = (0..names.len()).filter(|&k| !is_label(&names[k])).collect();
        let x = match numeric[..] {
            [one] => Some(one),
            _ => None,
        };
        Places {
            x,
            set: names.iter().position(is_label),
            weight: plan.programs.columns().position(|c| c == WEIGHT),
        }
    }
}

/// Every row in turn.
fn rows(
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
struct Range([f64; 2]);

impl Range {
    fn add(&mut self, x: f64) {
        if x.is_finite() {
            self.0 = [self.0[0].min(x), self.0[1].max(x)];
        }
    }

    /// The cell of `x` among `n`.
    fn cell(&self, x: f64, n: usize) -> Option<usize> {
        let [low, high] = self.0;
        let share = (x - low) / (high - low);
        let at = if high > low { share * n as f64 } else { 0.0 };
        x.is_finite().then(|| (at as usize).min(n - 1))
    }
}

const NOTHING: Range = Range([f64::INFINITY, f64::NEG_INFINITY]);

impl Shown {
    /// Reads the rows once, or twice where there are many.
    ///
    /// # Errors
    /// The data cannot be read.
    pub fn new(plan: &Plan, table: &dyn Table, estimate: &Estimate, y: &str) -> Result<Shown> {
        let n = table.n_rows();
        let places = Places::of(plan);
        let step = n.div_ceil(SAMPLED).max(1);
        let (mut x_range, mut y_range, mut r_range) = (NOTHING, NOTHING, NOTHING);
        let (mut kept, mut sample) = (Vec::new(), Vec::new());
        let mut squares = 0.0;
        rows(plan, table, estimate, &places, &mut |row, seen| {
            x_range.add(seen.x);
            y_range.add(seen.y);
            r_range.add(seen.r);
            squares += seen.sigma * seen.sigma;
            if row % step == step / 2 {
                sample.push(seen.r);
            }
            if n <= DOTS {
                kept.push([seen.x, seen.y, seen.r, seen.sigma, seen.set as f64]);
            }
        })?;
        let all = |k: usize| kept.iter().map(|row| row[k]).collect::<Vec<f64>>();
        let sets: Vec<usize> = kept.iter().map(|row| row[4] as usize).collect();
        let (data, residuals) = if n <= DOTS {
            let cloud = |k: usize| Cloud::Dots {
                x: all(0),
                y: all(k),
                set: sets.clone(),
            };
            (cloud(1), cloud(2))
        } else {
            let mut counts = [vec![0u64; ACROSS * UP], vec![0u64; ACROSS * UP]];
            rows(plan, table, estimate, &places, &mut |_, seen| {
                let Some(across) = x_range.cell(seen.x, ACROSS) else {
                    return;
                };
                let up = [y_range.cell(seen.y, UP), r_range.cell(seen.r, UP)];
                for (counts, up) in counts.iter_mut().zip(up) {
                    if let Some(up) = up {
                        counts[up * ACROSS + across] += 1;
                    }
                }
            })?;
            let [data, residuals] = counts;
            let cloud = |y: Range, counts: Vec<u64>| Cloud::Counts {
                x: x_range.0,
                y: y.0,
                counts,
            };
            (cloud(y_range, data), cloud(r_range, residuals))
        };
        let doubtful = !estimate.converged() || estimate.doubts().is_some();
        Ok(Shown {
            verdict: if doubtful {
                estimate.headline()
            } else {
                String::new()
            },
            across: match places.x {
                Some(k) => plan.roles.predictors[k].clone(),
                None => "fitted".into(),
            },
            up: y.into(),
            over_predictor: places.x.is_some(),
            data,
            residuals,
            weighted: plan.weighted,
            // New observations are taken to be as good as those at hand.
            curves: curves(
                plan,
                estimate,
                &places,
                x_range.0,
                (squares / n as f64).sqrt(),
            )?,
            sigma: match n <= DOTS / 10 && plan.weighted {
                true => all(3),
                false => Vec::new(),
            },
            sample,
            n,
        })
    }

    /// Cells across and up of [`Cloud::Counts`].
    pub const CELLS: [usize; 2] = [ACROSS, UP];
}

/// The curve over the range of its predictor, for each data set of which there are few.
fn curves(
    plan: &Plan,
    estimate: &Estimate,
    places: &Places,
    [low, high]: [f64; 2],
    sigma: f64,
) -> Result<Vec<Curve>> {
    let Some(at) = places.x.filter(|_| low <= high) else {
        return Ok(Vec::new());
    };
    let mut labels: Vec<String> = Vec::new();
    for p in &plan.roles.parameters {
        if let Some((base, _, k)) = &p.indexed
            && *k == labels.len()
        {
            let inside = p.name.strip_prefix(base.as_str()).unwrap_or(&p.name);
            labels.push(inside.trim_matches(['[', ']']).to_string());
        }
    }
    if labels.is_empty() {
        labels.push(String::new());
    }
    let step = (high - low) / (PLACES - 1) as f64;
    let x: Vec<f64> = (0..PLACES).map(|i| low + step * i as f64).collect();
    let one = |(set, name): (usize, String)| {
        let own = vec![set as f64; PLACES];
        let n = plan.roles.predictors.len();
        let columns: Vec<&[f64]> = (0..n)
            .map(|k| {
                if k == at {
                    x.as_slice()
                } else {
                    own.as_slice()
                }
            })
            .collect();
        Ok(Curve {
            name,
            band: predict(plan, estimate, &columns, Some(&[sigma; PLACES]))?,
            x: x.clone(),
        })
    };
    labels.into_iter().take(SETS).enumerate().map(one).collect()
}
