//! Many fits: some of them as small panels, and all parameters against what the groups are.

use super::text::grouped;
use super::view::View;
use crate::batch::{Batch, Groups};
use crate::fit::{Doubts, Plan, pointwise};
use crate::pass::{Columns, Table, visit_all};
use fitzroy::Result;
use fitzroy_report::draw::{AxisSpec, Ink, Labels, Scene, Stroke};
use fitzroy_report::figure::{Chart, Layer, Style, charts};
use fitzroy_report::page::{Block, Card, Page, Section, State, Verdict};
use std::borrow::Cow;

/// Panels, at most, and how many of these are for fits that did not go well.
const PANELS: usize = 24;
const TROUBLED: usize = 8;
const COLUMNS: usize = 4;
/// Rows of a panel, and places of its curve.
const ROWS: usize = 400;
const PLACES: usize = 120;
/// Fits whose parameters are drawn, at most, and those up to which each has its error.
const DRAWN: usize = 5000;
const WITH_ERRORS: usize = 500;
/// Heights in pixels.
const PANEL: f64 = 170.0;
const TREND: f64 = 210.0;

/// One fit as a small panel.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The group, and what is to be known of the fit.
    pub title: String,
    /// Rows: the predictor, or the fitted values where there are several.
    pub x: Vec<f64>,
    /// The response.
    pub y: Vec<f64>,
    /// Places of the curve, ascending; empty where the fit has no values.
    pub curve_x: Vec<f64>,
    /// The curve there.
    pub curve_y: Vec<f64>,
    /// Whether it converged and nothing speaks against it.
    pub good: bool,
}

/// What figures of many fits show.
#[derive(Clone, Debug)]
pub struct Many {
    /// The formula.
    pub model: String,
    /// The column of the groups.
    pub by: String,
    /// What stands across in panels, and the response.
    pub axes: [String; 2],
    /// Some fits.
    pub panels: Vec<Panel>,
    /// Names of the parameters.
    pub names: Vec<String>,
    /// The numbers that the groups are, or their places.
    pub at: Vec<f64>,
    /// Labels at their places, where groups are no numbers.
    pub labels: Vec<String>,
    /// Parameters, fit after fit; NaN where a fit did not converge.
    pub theta: Vec<f64>,
    /// Their standard errors.
    pub se: Vec<f64>,
    /// Fits, those that converged, and those of them that are in doubt.
    pub counts: [usize; 3],
}

impl Many {
    /// Of a batch by the column `by`.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn new(
        plan: &Plan,
        table: &Columns<'_>,
        (groups, batch, doubts): (&Groups, &Batch, &[Doubts]),
        by: &str,
        view: &View,
    ) -> Result<Many> {
        let n = groups.len();
        let p = batch.names.len();
        let good = |k: usize| batch.status[k].converged() && doubts[k].is_empty();
        let chosen = chosen(n, good);
        let numbers: Option<Vec<f64>> = groups.labels().map(|l| l.parse().ok()).collect();
        let numbers = numbers.filter(|all| all.iter().all(|v| v.is_finite()));
        let labels = match numbers {
            Some(_) => Vec::new(),
            None => groups.labels().map(Cow::into_owned).collect(),
        };
        let across = match &plan.roles.predictors[..] {
            [one] => view.column(one),
            _ => "fitted".into(),
        };
        let all = rows(plan, table)?;
        let panel = |&k: &usize| {
            let theta = &batch.theta[k * p..(k + 1) * p];
            let said = match (batch.status[k].converged(), doubts[k].each().next()) {
                (false, _) => format!(": {}", batch.status[k].name().replace('_', " ")),
                (true, Some(doubt)) => format!(": {}", doubt.words()),
                (true, None) => String::new(),
            };
            let mut panel = panel(plan, &all, groups.rows(k), theta)?;
            panel.title = format!("{by} = {}{said}", groups.label(k));
            panel.good = good(k);
            Ok(panel)
        };
        let mut theta = batch.theta.clone();
        for k in (0..n).filter(|&k| !batch.status[k].converged()) {
            theta[k * p..(k + 1) * p].fill(f64::NAN);
        }
        let converged = batch.n_converged();
        Ok(Many {
            model: plan.formula.text().into(),
            by: by.into(),
            axes: [across, view.response.clone()],
            panels: chosen.iter().map(panel).collect::<Result<_>>()?,
            names: batch.names.clone(),
            at: numbers.unwrap_or_else(|| (0..n).map(|k| k as f64).collect()),
            labels,
            theta,
            se: batch.se.clone(),
            counts: [
                n,
                converged,
                converged - (0..n).filter(|&k| good(k)).count(),
            ],
        })
    }
}

/// Fits that have a panel: some that did not go well, and others evenly spread.
fn chosen(n: usize, good: impl Fn(usize) -> bool) -> Vec<usize> {
    if n <= PANELS {
        return (0..n).collect();
    }
    let others: Vec<usize> = (0..n).filter(|&k| good(k)).collect();
    let troubled = TROUBLED.max(PANELS.saturating_sub(others.len()));
    let mut out: Vec<usize> = (0..n).filter(|&k| !good(k)).take(troubled).collect();
    let wanted = (PANELS - out.len()).min(others.len());
    out.extend((0..wanted).map(|i| others[i * (others.len() - 1) / (wanted - 1).max(1)]));
    out.sort_unstable();
    out.dedup();
    out
}

/// Predictors and response of all rows.
fn rows(plan: &Plan, table: &dyn Table) -> Result<Vec<Vec<f64>>> {
    let mut out = vec![Vec::with_capacity(table.n_rows()); plan.roles.predictors.len() + 1];
    visit_all(table, &mut |_, columns| {
        let both = out.iter_mut().zip(columns);
        both.for_each(|(to, from)| to.extend_from_slice(from));
        Ok(())
    })?;
    Ok(out)
}

fn panel(plan: &Plan, all: &[Vec<f64>], own: &[u32], theta: &[f64]) -> Result<Panel> {
    let step = own.len().div_ceil(ROWS).max(1);
    let pick = |c: &Vec<f64>| -> Vec<f64> {
        let some = own.iter().step_by(step);
        some.map(|&i| c[i as usize]).collect()
    };
    let mut columns: Vec<Vec<f64>> = all.iter().map(pick).collect();
    let y = columns.pop().unwrap_or_default();
    let known = theta.iter().all(|v| v.is_finite()) && !y.is_empty();
    let mut out = Panel {
        title: String::new(),
        x: columns.first().cloned().unwrap_or_default(),
        y,
        curve_x: Vec::new(),
        curve_y: Vec::new(),
        good: true,
    };
    if columns.len() == 1 {
        let AxisSpec { range, .. } = AxisSpec::around("", out.x.iter().copied());
        if known {
            let [low, high] = range;
            let place = |i: usize| low + (high - low) * i as f64 / (PLACES - 1) as f64;
            out.curve_x = (0..PLACES).map(place).collect();
            out.curve_y = pointwise(plan, theta, &[&out.curve_x])?.0;
        }
    } else if known {
        let views: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        out.x = pointwise(plan, theta, &views)?.0;
        let ends = out.x.iter().copied().filter(|v| v.is_finite());
        let ends = ends.fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], v| {
            [a.min(v), b.max(v)]
        });
        (out.curve_x, out.curve_y) = (ends.to_vec(), ends.to_vec());
    }
    Ok(out)
}

/// Some fits as a grid of small panels.
pub fn panel_figure(many: &Many, style: &Style) -> Scene {
    let [across, up] = &many.axes;
    let chart = |(k, panel): (usize, &Panel)| {
        let ink = if panel.good {
            Ink::Series(1)
        } else {
            Ink::Warn
        };
        let layers = vec![
            Layer::Points {
                name: String::new(),
                x: panel.x.clone(),
                y: panel.y.clone(),
                ink: Ink::Series(0),
                size: 3.5,
            },
            Layer::Line {
                name: String::new(),
                x: panel.curve_x.clone(),
                y: panel.curve_y.clone(),
                stroke: Stroke::new(ink, 1.6),
            },
        ];
        // Names at the edges are enough.
        let last = k + COLUMNS >= many.panels.len();
        let x = if last { across.as_str() } else { "" };
        let y = if k % COLUMNS == 0 { up.as_str() } else { "" };
        let mut chart = Chart::new(&panel.title, x, y, layers);
        // The rows are what is looked at, wherever the curve goes.
        let y = AxisSpec::around(y, panel.y.iter().copied()).grid();
        chart.y = y;
        chart
    };
    let all: Vec<Chart> = many.panels.iter().enumerate().map(chart).collect();
    charts("", &all, COLUMNS.min(all.len().max(1)), PANEL, style)
}

/// Every parameter against what the groups are, with its error.
pub fn trend_figure(many: &Many, style: &Style) -> Scene {
    let p = many.names.len();
    let step = many.at.len().div_ceil(DRAWN).max(1);
    let chart = |a: usize| {
        let (mut x, mut y, mut bars) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
        for k in (0..many.at.len()).step_by(step) {
            let (at, value, se) = (many.at[k], many.theta[k * p + a], many.se[k * p + a]);
            if !value.is_finite() {
                continue;
            }
            x.push(at);
            y.push(value);
            if se.is_finite() && many.at.len() <= WITH_ERRORS {
                bars[0].extend([at, at, f64::NAN]);
                bars[1].extend([value - se, value + se, f64::NAN]);
            }
        }
        let [bar_x, bar_y] = bars;
        let around = AxisSpec::around(&many.names[a], y.iter().copied());
        let layers = vec![
            Layer::Line {
                name: "standard error".into(),
                x: bar_x,
                y: bar_y.clone(),
                stroke: Stroke::new(Ink::Series(0), 1.0).opacity(0.6),
            },
            Layer::Points {
                name: String::new(),
                x,
                y,
                ink: Ink::Series(0),
                size: if many.at.len() > WITH_ERRORS {
                    2.5
                } else {
                    4.5
                },
            },
        ];
        let mut chart = Chart::new("", &many.by, &many.names[a], layers);
        // Errors that are many times the spread of the values would hide it.
        let span = 2.0 * (around.range[1] - around.range[0]);
        let near = |v: &&f64| **v > around.range[0] - span && **v < around.range[1] + span;
        let seen = bar_y.iter().filter(near).copied();
        let all: Vec<f64> = seen.chain(around.range).collect();
        chart.y = AxisSpec::new(&many.names[a], AxisSpec::around("", all).range).grid();
        if !many.labels.is_empty() {
            let names = many.labels.iter().enumerate();
            let places = names.map(|(k, n)| (k as f64, n.clone())).collect();
            chart.x = chart.x.labels(Labels::Names(places));
        }
        chart
    };
    let all: Vec<Chart> = (0..p).map(chart).collect();
    charts("", &all, 3.min(p.max(1)), TREND, style)
}

/// The page of many fits.
pub fn many_page(many: &Many, command: &str) -> Page {
    let style = Style::default();
    let [n, converged, doubted] = many.counts;
    let mut page = Page::new(&many.model);
    page.kind = "Many curve fits".into();
    let state = match (converged == n, doubted == 0) {
        (true, true) => State::Good,
        (true, false) => State::Warn,
        (false, _) => State::Bad,
    };
    let headline = format!("{} of {} fits converged", grouped(converged), grouped(n));
    let detail = match doubted {
        0 => "Nothing speaks against those that did.".to_string(),
        k => format!(
            "The residuals of {} of them speak against the curve.",
            grouped(k)
        ),
    };
    page.verdict = Some(Verdict::new(state, &headline, &detail));
    page.cards = vec![
        Card::new("fits", &grouped(n)),
        Card::new("converged", &grouped(converged)),
        Card::new("in doubt", &grouped(doubted)),
    ];
    let caption = match many.panels.len() < n {
        true => format!(
            "{} of {} fits: some that did not go well, if there are any, and others evenly spread.",
            many.panels.len(),
            grouped(n)
        ),
        false => "Every fit.".into(),
    };
    let figure = |scene, caption: String| Block::Figure { scene, caption };
    let trends = "Fitted values with one standard error. A parameter that should not depend on the groups is a \
                  level line here.";
    page.sections = vec![
        Section::new("Fits", vec![figure(panel_figure(many, &style), caption)]),
        Section::new(
            "Parameters",
            vec![figure(trend_figure(many, &style), trends.into())],
        ),
    ];
    page.sections.push(Section::model(&many.model, command));
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_are_filled_whatever_went_well() {
        assert_eq!(chosen(10, |_| true), (0..10).collect::<Vec<_>>());
        for n_bad in [0, 1, 5, 60, 95, 100] {
            let all = chosen(100, |k| k >= n_bad);
            assert_eq!(all.len(), PANELS, "{n_bad} bad ones");
            assert!(all.is_sorted());
            let bad = all.iter().filter(|k| **k < n_bad).count();
            assert_eq!(
                bad,
                n_bad.min(TROUBLED.max(PANELS.saturating_sub(100 - n_bad)))
            );
        }
    }
}
