//! Curves that were compared, averaged by their weights: what they say together where none is known to be right.

use super::data::Data;
use super::predict::{predict, quantile};
use super::select::{Candidate, Selection};
use crate::method::statistics::t_quantile;
use fitzroy::{Error, Named, Result};

/// What weights follow from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Criterion {
    /// AICc.
    #[default]
    Aicc,
    /// BIC: weights are then probabilities of the curves, each as likely before.
    Bic,
    /// Leave-one-out.
    Loo,
}

impl Named for Criterion {
    const NAMES: &'static [(&'static str, Criterion)] = &[
        ("aicc", Criterion::Aicc),
        ("bic", Criterion::Bic),
        ("loo", Criterion::Loo),
    ];
}

impl Criterion {
    /// Its name as people write it.
    pub fn title(self) -> &'static str {
        match self {
            Criterion::Aicc => "AICc",
            Criterion::Bic => "BIC",
            Criterion::Loo => "LOO",
        }
    }
}

/// exp(−½ (c − the least c)), all together 1 (Akaike 1978); 0 for what is not finite, NaN where nothing is.
pub fn weights(criteria: &[f64]) -> Vec<f64> {
    let finite = criteria.iter().copied().filter(|c| c.is_finite());
    let least = finite.fold(f64::INFINITY, f64::min);
    let weigh = |c: f64| match c.is_finite() {
        true => (-0.5 * (c - least)).exp(),
        false => 0.0,
    };
    let total: f64 = criteria.iter().map(|&c| weigh(c)).sum();
    criteria.iter().map(|&c| weigh(c) / total).collect()
}

/// What one curve says at some rows.
#[derive(Clone, Debug)]
pub struct Predicted {
    /// Its values.
    pub value: Vec<f64>,
    /// Their standard errors.
    pub se: Vec<f64>,
    /// The quantile of Student's t behind its intervals.
    pub quantile: f64,
}

/// An average of curves at some rows.
#[derive(Clone, Debug, Default)]
pub struct Averaged {
    /// What the weights follow from.
    pub criterion: Criterion,
    /// Σ w f.
    pub value: Vec<f64>,
    /// √(Σ w (se² + (f − the average)²)), of all that is not known, which curve is right among it (Burnham and
    /// Anderson 2004).
    pub se: Vec<f64>,
    /// √(Σ w (f − the average)²): the part of it that is between curves.
    pub between: Vec<f64>,
    /// Ends of the interval: each se widened by its own quantile of Student's t, relative to that of the normal
    /// distribution (Burnham and Anderson 2002, section 4.3.3).
    pub lower: Vec<f64>,
    /// Its other end.
    pub upper: Vec<f64>,
    /// Each curve, in the order of the ranking.
    pub each: Vec<Vec<f64>>,
}

/// The average of `candidates`, which `selection` ranks, at the rows of `data`, of which the predictors are read.
///
/// # Errors
/// A predictor is missing, or no curve has such a criterion.
pub fn average(
    candidates: &[Candidate<'_>],
    selection: &Selection,
    criterion: Criterion,
    data: &Data<'_>,
) -> Result<Averaged> {
    let weights: Vec<f64> = selection
        .ranked
        .iter()
        .map(|r| r.weight_by(criterion))
        .collect();
    if weights.iter().any(|w| w.is_nan()) {
        return Err(Error::usage(format!(
            "⟨average {}⟩: no curve has this criterion; take another",
            criterion.setting()
        )));
    }
    let mut curves = Vec::new();
    for &at in &selection.order {
        let Candidate { plan, estimate, .. } = candidates[at];
        let names = plan.roles.predictors.iter();
        let views: Vec<&[f64]> = names.filter_map(|name| data.column(name)).collect();
        if views.len() != plan.roles.predictors.len() {
            return Err(Error::usage(format!(
                "the rows lack a predictor of `{}`",
                estimate.model
            )));
        }
        let mut found = predict(plan, estimate, &views, None)?;
        // A curve that reads no column is the same in every row.
        for column in [&mut found.value, &mut found.se] {
            let first = column.first().copied().unwrap_or(f64::NAN);
            column.resize(data.n_rows(), first);
        }
        curves.push(Predicted {
            value: found.value,
            se: found.se,
            quantile: quantile(estimate),
        });
    }
    Ok(Averaged {
        criterion,
        ..combined(&weights, curves, candidates[0].estimate.confidence)
    })
}

/// The average of curves by `weights`, each at the same rows, with intervals of this confidence.
pub fn combined(weights: &[f64], curves: Vec<Predicted>, confidence: f64) -> Averaged {
    let normal = t_quantile(0.5 + confidence / 2.0, f64::INFINITY);
    let mut out = Averaged::default();
    for row in 0..curves.first().map_or(0, |curve| curve.value.len()) {
        // What has no weight has no say, nor has its error.
        let all = || {
            let both = weights.iter().zip(&curves).filter(|(w, _)| **w > 0.0);
            both.map(move |(w, c)| (*w, c.value[row], c.se[row], c.quantile / normal))
        };
        let value: f64 = all().map(|(w, f, ..)| w * f).sum();
        let between: f64 = all().map(|(w, f, ..)| w * (f - value).powi(2)).sum();
        let within: f64 = all().map(|(w, _, se, _)| w * se * se).sum();
        let wide: f64 = all().map(|(w, _, se, t)| w * (t * se).powi(2)).sum();
        let half = normal * (wide + between).sqrt();
        out.value.push(value);
        out.se.push((within + between).sqrt());
        out.between.push(between.sqrt());
        out.lower.push(value - half);
        out.upper.push(value + half);
    }
    out.each = curves.into_iter().map(|curve| curve.value).collect();
    out
}

/// Points of a grid, and rows of several predictors that stand for all.
const POINTS: usize = 200;

/// Rows at which curves of `data` are averaged unless others are given: a grid over the range of the predictor that
/// `candidates` read, or some of the rows where they read several.
pub fn averaged_rows(candidates: &[Candidate<'_>], data: &Data<'_>) -> Data<'static> {
    let read = |name: &str| {
        let mut all = candidates.iter().flat_map(|c| &c.plan.roles.predictors);
        all.any(|own| own == name)
    };
    let mut names = data.names();
    names.retain(|name| read(name));
    let labels = data.label_columns();
    if let [name] = names[..]
        && labels.iter().all(|(label, _)| *label != name)
        && let Some(column) = data.column(name)
    {
        let ends = [f64::INFINITY, f64::NEG_INFINITY];
        let [low, high] = column.iter().fold(ends, |[a, b], &x| [a.min(x), b.max(x)]);
        let at = |k: usize| low + (high - low) * k as f64 / (POINTS - 1) as f64;
        let grid: Vec<f64> = (0..POINTS).map(at).collect();
        return Data::new(vec![0.0; POINTS]).with(name, grid);
    }
    let n = data.n_rows();
    let shown = POINTS.min(n);
    let rows: Vec<usize> = (0..shown)
        .map(|k| k * (n - 1) / (shown - 1).max(1))
        .collect();
    let mut rows = data.rows(&rows);
    rows.columns.retain(|(name, _)| read(name));
    rows
}
