//! What a figure of a fit shows: the rows, or how many fall where when there are many.

use super::glance::{CORRELATED, DOTS, Glance, Places, Range, Serial, rows};
use super::image::Image;
use super::view::View;
use crate::fit::{Component, Estimate, Plan, Prediction, components, predict};
use crate::pass::Table;
use fitzroy::Result;

/// Cells across and up where rows are counted.
const ACROSS: usize = 180;
const UP: usize = 90;
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

/// A term of a curve that is a sum, as it stands on the others.
#[derive(Clone)]
pub struct Part {
    /// What is known of it.
    pub component: Component,
    /// The background below it, at the places of the curve; 0 for the background itself.
    pub from: Vec<f64>,
    /// The term with that.
    pub to: Vec<f64>,
}

/// What a figure of a fit shows.
#[derive(Clone)]
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
    /// The title that was asked for, and the headline of a fit that did not converge or is in doubt.
    pub title: String,
    /// Whether the axes across and upwards are logarithmic.
    pub log: [bool; 2],
    /// The terms of a curve that is a sum.
    pub parts: Vec<Part>,
    /// Data, curve and residuals over two predictors.
    pub image: Option<Image>,
    /// How residuals follow one another along the predictor, or in the order of rows.
    pub serial: Serial,
}

impl Shown {
    /// Reads the rows once, or twice where there are many.
    ///
    /// # Errors
    /// The data cannot be read.
    pub fn new(plan: &Plan, table: &dyn Table, estimate: &Estimate, view: &View) -> Result<Shown> {
        let n = table.n_rows();
        let places = Places::of(plan);
        let glance = Glance::new(plan, table, estimate, &places)?;
        let log = view
            .axes
            .log(&glance.some(0), &glance.some(1), &glance.some(2));
        // What fitted and observed values have in common is one scale.
        let log = match places.x {
            Some(_) => log,
            None => [log[0] && log[1]; 2],
        };
        let mut ranges = glance.ranges;
        for k in 0..2 {
            if log[k] {
                ranges[k] = glance.above[k];
            }
        }
        let (data, residuals) = match glance.dots(n) {
            Some(both) => both,
            None => counted(plan, table, estimate, &places, (&ranges, log))?,
        };
        // New observations are taken to be as good as those at hand.
        let sigma = (glance.squares / n as f64).sqrt();
        let curves = curves(plan, estimate, &places, (ranges[0].0, log[0]), sigma)?;
        let parts = parts(plan, estimate, ranges[0].0, &curves)?;
        let image = places.plane.and_then(|at| {
            let names = at.map(|k| view.column(&plan.roles.predictors[k]));
            Image::new(names, &glance.plane)
        });
        Ok(Shown {
            title: view.headed(estimate),
            across: match places.x {
                Some(k) => view.column(&plan.roles.predictors[k]),
                None => "fitted".into(),
            },
            up: view.response.clone(),
            over_predictor: places.x.is_some(),
            data,
            residuals,
            weighted: plan.weighted,
            curves,
            sigma: match n <= DOTS / 10 && plan.weighted {
                true => glance.kept.iter().map(|row| row[3]).collect(),
                false => Vec::new(),
            },
            sample: glance.some(3),
            n,
            log,
            parts,
            image,
            serial: glance.serial(places.x.is_some() && n <= CORRELATED),
        })
    }

    /// Cells across and up of [`Cloud::Counts`].
    pub const CELLS: [usize; 2] = [ACROSS, UP];
}

/// How many rows fall where, by response and by residual.
fn counted(
    plan: &Plan,
    table: &dyn Table,
    estimate: &Estimate,
    places: &Places,
    ([x, y, r], log): (&[Range; 3], [bool; 2]),
) -> Result<(Cloud, Cloud)> {
    let mut counts = [vec![0u64; ACROSS * UP], vec![0u64; ACROSS * UP]];
    rows(plan, table, estimate, places, &mut |_, seen| {
        let Some(across) = x.cell(seen.x, ACROSS, log[0]) else {
            return;
        };
        let up = [y.cell(seen.y, UP, log[1]), r.cell(seen.r, UP, false)];
        for (counts, up) in counts.iter_mut().zip(up) {
            if let Some(up) = up {
                counts[up * ACROSS + across] += 1;
            }
        }
    })?;
    let cloud = |y: &Range, counts: Vec<u64>| Cloud::Counts {
        x: x.0,
        y: y.0,
        counts,
    };
    let [data, residuals] = counts;
    Ok((cloud(y, data), cloud(r, residuals)))
}

/// The terms of a curve that is a sum, each on the background.
fn parts(plan: &Plan, estimate: &Estimate, range: [f64; 2], curves: &[Curve]) -> Result<Vec<Part>> {
    let [curve] = curves else {
        return Ok(Vec::new());
    };
    let all = components(plan, estimate, range)?;
    let values = |c: &Component| c.at(&estimate.popt, &curve.x);
    let ground = match all.iter().find(|c| c.background) {
        Some(ground) => values(ground)?,
        None => vec![0.0; curve.x.len()],
    };
    let part = |component: Component| {
        let own = values(&component)?;
        let from = match component.background {
            true => vec![0.0; own.len()],
            false => ground.clone(),
        };
        Ok(Part {
            to: own.iter().zip(&from).map(|(a, b)| a + b).collect(),
            from,
            component,
        })
    };
    all.into_iter().map(part).collect()
}

/// The curve over the range of its predictor, for each data set of which there are few.
fn curves(
    plan: &Plan,
    estimate: &Estimate,
    places: &Places,
    ([low, high], log): ([f64; 2], bool),
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
    let place = |i: usize| {
        let share = i as f64 / (PLACES - 1) as f64;
        match log {
            true => low * (high / low).powf(share),
            false => low + (high - low) * share,
        }
    };
    let x: Vec<f64> = (0..PLACES).map(place).collect();
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
