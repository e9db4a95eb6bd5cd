//! Curves that are sums: each term by itself, with its area, its highest place and its width.

use super::estimate::Estimate;
use super::plan::Plan;
use super::predict::pointwise;
use crate::formula::{Loss, Programs};
use fitzroy::Result;
use fitzroy::model::ast::{BinaryOp, Expr, ExprKind, UnaryOp};
use fitzroy_device::cpu::Engine;
use std::sync::{Arc, OnceLock};

/// Places at which a term is computed for its area: an even number of stretches, for Simpson's rule.
const PLACES: usize = 4001;
/// Places at which it is asked whether a term is a parabola, and what third differences rounding may leave.
const ASKED: usize = 33;
const STRAIGHT: f64 = 1e-9;
/// Terms that are shown apart, at most.
const MOST: usize = 24;
/// Letters of a name, at most; a longer term is called by its parameters.
const LETTERS: usize = 28;

/// Where a term is highest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// The place.
    pub at: f64,
    /// The value there: the farthest from 0.
    pub height: f64,
    /// Full width at half of it.
    pub fwhm: f64,
}

/// One term of a curve that is a sum.
#[derive(Clone)]
pub struct Component {
    /// The term as text, or its parameters where that is long.
    pub name: String,
    /// Whether it is what the others stand on: all constants, slopes and parabolas together.
    pub background: bool,
    /// Its integral over the range of the predictor.
    pub area: f64,
    /// The standard error of that, by the delta method; NaN where parameters have none.
    pub area_se: f64,
    /// Its highest place, if it falls to half of that on both sides within the range.
    pub peak: Option<Peak>,
    /// The plan of the term alone.
    plan: Plan,
}

impl Component {
    /// The term at places `x`, with the fitted parameters `theta` of the whole curve.
    ///
    /// # Errors
    /// None but those of reading.
    pub fn at(&self, theta: &[f64], x: &[f64]) -> Result<Vec<f64>> {
        Ok(pointwise(&self.plan, theta, &[x])?.0)
    }
}

/// The terms of a curve of one predictor over `range`, the background last. There are none for a curve that is no
/// sum, and none where all terms but one are a constant and that one has no peak: the curve says it all.
///
/// # Errors
/// None but those of reading.
pub fn components(plan: &Plan, estimate: &Estimate, range: [f64; 2]) -> Result<Vec<Component>> {
    let [low, high] = range;
    let alone = plan.roles.predictors.len() == 1;
    let apart = plan.roles.parameters.iter().any(|p| p.indexed.is_some());
    let whole = low < high && (high - low).is_finite();
    if plan.formula.is_code() || !alone || apart || !whole {
        return Ok(Vec::new());
    }
    let mut terms = Vec::new();
    split(plan.formula.value(), false, &mut terms);
    if terms.len() < 2 || terms.len() > MOST {
        return Ok(Vec::new());
    }
    let (mut out, mut ground, mut flat) = (Vec::new(), None::<Expr>, true);
    for term in terms {
        let own = alone_plan(plan, &term)?;
        let x = places(range, ASKED);
        let values = pointwise(&own, &estimate.popt, &[&x])?.0;
        if is_parabola(&values) {
            flat &= values.iter().all(|v| *v == values[0]);
            ground = Some(match ground {
                None => term,
                Some(before) => sum(before, term),
            });
        } else {
            out.push(component(own, named(plan, &term), false, estimate, range)?);
        }
    }
    let told = match &out[..] {
        [] => false,
        [one] => one.peak.is_some() || !flat,
        _ => true,
    };
    if !told {
        return Ok(Vec::new());
    }
    if let Some(ground) = ground {
        let own = alone_plan(plan, &ground)?;
        let name = "background".to_string();
        out.push(component(own, name, true, estimate, range)?);
    }
    Ok(out)
}

/// The terms of a sum, those that are subtracted with their sign.
fn split(e: &Expr, minus: bool, out: &mut Vec<Expr>) {
    match &e.kind {
        ExprKind::Binary(BinaryOp::Add, a, b) => {
            split(a, minus, out);
            split(b, minus, out);
        }
        ExprKind::Binary(BinaryOp::Sub, a, b) => {
            split(a, minus, out);
            split(b, !minus, out);
        }
        ExprKind::Unary(UnaryOp::Neg, a) => split(a, !minus, out),
        _ if minus => out.push(Expr {
            kind: ExprKind::Unary(UnaryOp::Neg, Box::new(e.clone())),
            span: e.span,
        }),
        _ => out.push(e.clone()),
    }
}

fn sum(a: Expr, b: Expr) -> Expr {
    Expr {
        span: a.span,
        kind: ExprKind::Binary(BinaryOp::Add, Box::new(a), Box::new(b)),
    }
}

/// The plan with `term` in place of the whole curve: the same parameters in the same order.
fn alone_plan(plan: &Plan, term: &Expr) -> Result<Plan> {
    let formula = plan.formula.with_value(term.clone());
    let (loss, engine) = (Loss::Linear, Engine::Interpreter);
    let (roles, settings) = (&plan.roles, &plan.settings);
    let programs = Programs::new(&formula, roles, settings, plan.weighted, loss, engine)?;
    Ok(Plan {
        formula,
        programs: Arc::new(programs),
        hints: OnceLock::new(),
        ..plan.clone()
    })
}

/// The term as written if that is short, else its parameters.
fn named(plan: &Plan, term: &Expr) -> String {
    let text = term.to_string();
    if text.chars().count() <= LETTERS {
        return text;
    }
    let formula = plan.formula.with_value(term.clone());
    let columns: Vec<&str> = plan.roles.predictors.iter().map(String::as_str).collect();
    let names = formula.value_names(&columns).unwrap_or_default();
    match names.is_empty() {
        true => text.chars().take(LETTERS - 1).chain(['…']).collect(),
        false => names.join(", "),
    }
}

fn places([low, high]: [f64; 2], n: usize) -> Vec<f64> {
    let step = (high - low) / (n - 1) as f64;
    (0..n).map(|i| low + step * i as f64).collect()
}

/// Whether third differences of equally spaced values are 0 but for rounding.
fn is_parabola(values: &[f64]) -> bool {
    let size = values.iter().fold(0.0f64, |most, v| most.max(v.abs()));
    let third = |w: &[f64]| (w[3] - 3.0 * w[2] + 3.0 * w[1] - w[0]).abs();
    values.iter().all(|v| v.is_finite()) && values.windows(4).all(|w| third(w) <= STRAIGHT * size)
}

fn component(
    plan: Plan,
    name: String,
    background: bool,
    estimate: &Estimate,
    range: [f64; 2],
) -> Result<Component> {
    let x = places(range, PLACES);
    let (values, partials) = pointwise(&plan, &estimate.popt, &[&x])?;
    let p = estimate.popt.len();
    let step = x[1] - x[0];
    let area = simpson(step, |i| values[i]);
    let slope: Vec<f64> = (0..p)
        .map(|k| simpson(step, |i| partials[i * p + k]))
        .collect();
    let mut variance = 0.0;
    for a in (0..p).filter(|&a| slope[a] != 0.0) {
        for b in (0..p).filter(|&b| slope[b] != 0.0) {
            variance += slope[a] * estimate.pcov[a * p + b] * slope[b];
        }
    }
    Ok(Component {
        name,
        background,
        area,
        area_se: variance.sqrt(),
        peak: if background { None } else { peak(&x, &values) },
        plan,
    })
}

fn simpson(step: f64, value: impl Fn(usize) -> f64) -> f64 {
    let weight = |i: usize| match i {
        0 => 1.0,
        i if i == PLACES - 1 => 1.0,
        i if i % 2 == 1 => 4.0,
        _ => 2.0,
    };
    (0..PLACES).map(|i| weight(i) * value(i)).sum::<f64>() * step / 3.0
}

/// The place farthest from 0, by a parabola through it and its neighbours, and the width at half of it.
fn peak(x: &[f64], values: &[f64]) -> Option<Peak> {
    let far = |a: &usize, b: &usize| values[*a].abs().total_cmp(&values[*b].abs());
    let top = (0..x.len())
        .filter(|&i| values[i].is_finite())
        .max_by(far)?;
    if top == 0 || top + 1 == x.len() || values[top] == 0.0 {
        return None;
    }
    let [a, b, c] = [values[top - 1], values[top], values[top + 1]];
    let bend = a - 2.0 * b + c;
    let shift = if bend == 0.0 {
        0.0
    } else {
        (0.5 * (a - c) / bend).clamp(-1.0, 1.0)
    };
    let height = b - 0.25 * (a - c) * shift;
    let half = 0.5 * height.abs();
    let beyond = |i: &usize| values[*i] * height.signum() < half;
    let between = |inside: usize, outside: usize| {
        let (v, w) = (values[inside].abs(), values[outside] * height.signum());
        x[inside] + (x[outside] - x[inside]) * (v - half) / (v - w)
    };
    let left = (0..top).rev().find(beyond)?;
    let right = (top + 1..x.len()).find(beyond)?;
    Some(Peak {
        at: x[top] + shift * (x[1] - x[0]),
        height,
        fwhm: between(right - 1, right) - between(left + 1, left),
    })
}
