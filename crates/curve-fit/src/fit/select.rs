//! Several curves for the same rows: information criteria, and F tests of curves that are special cases of others.

use super::average::{Criterion, weights};
use super::criteria::correction;
use super::data::Data;
use super::estimate::Estimate;
use super::loo::loo;
use super::options::Options;
use super::plan::Plan;
use super::predict::pointwise;
use super::quality::Quality;
use crate::formula::Loss;
use crate::method::Next;
use fitzroy::{Error, Result};
use fitzroy_graph::special::{beta_inc, gamma_q};

/// A curve that was fitted to the rows.
#[derive(Clone, Copy)]
pub struct Candidate<'c> {
    /// Its plan.
    pub plan: &'c Plan,
    /// Its fit.
    pub estimate: &'c Estimate,
    /// Measures of its residuals.
    pub quality: &'c Quality,
}

/// What a curve costs and how well it fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// The curve as it was written.
    pub model: String,
    /// Fitted parameters.
    pub n_parameters: usize,
    /// Σ r², or the deviance for counts.
    pub chi2: f64,
    /// As in [`Quality`].
    pub aic: f64,
    /// AIC + 2k(k+1)/(n−k−1) (Hurvich and Tsai 1989); infinite where n ≤ k + 1.
    pub aicc: f64,
    /// As in [`Quality`].
    pub bic: f64,
    /// exp(−½ (AICc − the least AICc)), all together 1 (Akaike 1978).
    pub weight: f64,
    /// The same of BIC.
    pub weight_bic: f64,
    /// The same of LOO; NaN where no curve has it.
    pub weight_loo: f64,
    /// −2 Σ log of the density of each row under the fit without it; on the scale of AIC, which estimates it. NaN for
    /// counts, and where a fit has no errors.
    pub loo: f64,
    /// Whether its fit converged.
    pub converged: bool,
}

impl Ranked {
    /// Its weight by `criterion`.
    pub fn weight_by(&self, criterion: Criterion) -> f64 {
        match criterion {
            Criterion::Aicc => self.weight,
            Criterion::Bic => self.weight_bic,
            Criterion::Loo => self.weight_loo,
        }
    }
}

/// A curve beside one that it is a special case of.
#[derive(Clone, Debug, PartialEq)]
pub struct Nested {
    /// The place of the special case among the ranked.
    pub inner: usize,
    /// The place of the other.
    pub outer: usize,
    /// (Δχ²/Δp)/(χ²/dof) of the outer; Δχ²/Δp where σ is absolute and for counts.
    pub f: f64,
    /// Δp, and the degrees of freedom of the outer; infinite where σ is absolute and for counts.
    pub dof: (f64, f64),
    /// Probability of such an F or a larger one if the inner curve is right.
    pub p: f64,
}

/// Curves, the one with the least AICc first.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// All curves.
    pub ranked: Vec<Ranked>,
    /// The place of each among the candidates.
    pub order: Vec<usize>,
    /// All pairs of curves of which one is a special case of the other.
    pub nested: Vec<Nested>,
}

/// What a curve may differ from another one that contains it, as a part of the χ² of the data.
const SAME: f64 = 1e-6;

/// Ranks fits of `data`, and tests those that are within others: a curve is if the other one, fitted to it without
/// noise, is the same, at its own parameters and beside them.
///
/// # Errors
/// Fewer than two fits, robust losses, which are no likelihoods, and fits of different losses or numbers of rows.
pub fn select(
    candidates: &[Candidate<'_>],
    data: &Data<'_>,
    options: &Options,
) -> Result<Selection> {
    check(candidates)?;
    let rows = candidates.iter().map(|c| ranked(c, data));
    let rows: Vec<Ranked> = rows.collect::<Result<_>>()?;
    let mut ranked: Vec<(usize, Ranked)> = rows.into_iter().enumerate().collect();
    ranked.sort_by(|a, b| a.1.aicc.total_cmp(&b.1.aicc));
    let own = |criterion: fn(&Ranked) -> f64| {
        let all: Vec<f64> = ranked.iter().map(|(_, r)| criterion(r)).collect();
        weights(&all)
    };
    let (aicc, bic, loo) = (own(|r| r.aicc), own(|r| r.bic), own(|r| r.loo));
    for (k, (_, r)) in ranked.iter_mut().enumerate() {
        (r.weight, r.weight_bic, r.weight_loo) = (aicc[k], bic[k], loo[k]);
    }
    let order: Vec<usize> = ranked.iter().map(|(k, _)| *k).collect();
    let mut nested = Vec::new();
    for (inner, &small) in order.iter().enumerate() {
        for (outer, &large) in order.iter().enumerate() {
            let (small, large) = (&candidates[small], &candidates[large]);
            let fewer = small.estimate.popt.len() < large.estimate.popt.len();
            if fewer && contains(large, small, data, options)? {
                nested.push(tested(inner, outer, small.estimate, large.estimate));
            }
        }
    }
    let ranked = ranked.into_iter().map(|(_, r)| r).collect();
    Ok(Selection {
        ranked,
        order,
        nested,
    })
}

fn check(candidates: &[Candidate<'_>]) -> Result<()> {
    let wrong = |what: &str| Err(Error::usage(format!("curves are compared {what}")));
    let [first, rest @ ..] = candidates else {
        return wrong("with at least one other");
    };
    if rest.is_empty() {
        return wrong("with at least one other");
    }
    let e = first.estimate;
    if e.loss.is_robust() {
        return wrong("by their likelihoods, and a robust loss is none; leave out ⟨loss⟩");
    }
    let same = |c: &Candidate<'_>| {
        (c.estimate.loss, c.estimate.n, c.estimate.absolute_sigma)
            == (e.loss, e.n, e.absolute_sigma)
    };
    match rest.iter().all(same) {
        true => Ok(()),
        false => wrong("over the same rows and with the same likelihood"),
    }
}

fn known_noise(e: &Estimate) -> bool {
    e.loss == Loss::Poisson || e.absolute_sigma
}

fn ranked(c: &Candidate<'_>, data: &Data<'_>) -> Result<Ranked> {
    let (n, p) = (c.estimate.n as f64, c.estimate.popt.len());
    let k = p as f64 + if known_noise(c.estimate) { 0.0 } else { 1.0 };
    Ok(Ranked {
        model: match c.plan.formula.builtin() {
            Some(curve) => curve.name().to_string(),
            None => c.estimate.model.clone(),
        },
        n_parameters: p,
        chi2: c.estimate.chi2,
        aic: c.quality.aic,
        aicc: c.quality.aic + correction(k, n),
        bic: c.quality.bic,
        weight: 0.0,
        weight_bic: 0.0,
        weight_loo: 0.0,
        loo: loo(c.plan, c.estimate, data)?,
        converged: c.estimate.converged(),
    })
}

/// Whether `large` can be what `small` is, at its values and a little beside them.
fn contains(
    large: &Candidate<'_>,
    small: &Candidate<'_>,
    data: &Data<'_>,
    options: &Options,
) -> Result<bool> {
    let names = &small.plan.roles.predictors;
    let views: Vec<&[f64]> = names.iter().filter_map(|n| data.column(n)).collect();
    let se = small.estimate.se();
    for way in [0.0, 1.0] {
        let moved = |k: usize, v: f64| {
            let step = if se[k].is_finite() {
                se[k]
            } else {
                0.01 * v.abs()
            };
            let sign = if k.is_multiple_of(2) { way } else { -0.7 * way };
            (v + sign * step).clamp(small.plan.bounds.lower[k], small.plan.bounds.upper[k])
        };
        let theta = small
            .estimate
            .popt
            .iter()
            .enumerate()
            .map(|(k, &v)| moved(k, v));
        let theta: Vec<f64> = theta.collect();
        let (curve, _) = pointwise(small.plan, &theta, &views)?;
        if curve.iter().any(|v| !v.is_finite()) {
            return Ok(false);
        }
        let without_noise = Data {
            y: curve.into(),
            ..data.clone()
        };
        let table = without_noise.table(&large.plan.roles.predictors)?;
        let at = large
            .plan
            .names()
            .into_iter()
            .zip(large.estimate.popt.iter().copied());
        let starts = [Vec::new(), at.collect()];
        let mut same = false;
        for p0 in starts {
            let options = Options {
                p0,
                multistart: 1,
                global: false,
                restarts: super::Restarts::Never,
                ..options.clone()
            };
            let found = super::fit_table(large.plan, &table, &options, &mut |_| Next::Continue);
            same |= found.is_ok_and(|found| found.chi2 <= SAME * small.estimate.chi2);
            if same {
                break;
            }
        }
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

fn tested(inner: usize, outer: usize, small: &Estimate, large: &Estimate) -> Nested {
    let more = (large.popt.len() - small.popt.len()) as f64;
    let gain = ((small.chi2 - large.chi2) / more).max(0.0);
    if known_noise(large) {
        let p = gamma_q(0.5 * more, 0.5 * more * gain);
        return Nested {
            inner,
            outer,
            f: gain,
            dof: (more, f64::INFINITY),
            p,
        };
    }
    let dof = large.dof as f64;
    let f = gain / (large.chi2 / dof);
    let x = dof / (dof + more * f);
    let p = if f.is_finite() {
        beta_inc(0.5 * dof, 0.5 * more, x, more * f / (dof + more * f))
    } else {
        f64::NAN
    };
    Nested {
        inner,
        outer,
        f,
        dof: (more, dof),
        p,
    }
}
