//! Predictions with bands, and profile-likelihood intervals.

use super::estimate::{Estimate, Kind};
use super::fit_table;
use super::options::{Finish, Options};
use super::plan::Plan;
use super::problem::Problem;
use crate::formula::{Loss, WEIGHT};
use crate::method::statistics::t_quantile;
use crate::method::{Moments, Next, Objective};
use crate::pass::{Columns, Reader, Table, visit_all};
use fitzroy::Result;
use std::borrow::Cow;

/// The curve at some rows, with its bands.
#[derive(Clone, Debug, Default)]
pub struct Prediction {
    /// f(x; θ̂).
    pub value: Vec<f64>,
    /// √(∂fᵀ V ∂f).
    pub se: Vec<f64>,
    /// Confidence band.
    pub lower: Vec<f64>,
    /// Confidence band.
    pub upper: Vec<f64>,
    /// Prediction band: adds s²σ².
    pub prediction_lower: Vec<f64>,
    /// Prediction band.
    pub prediction_upper: Vec<f64>,
}

/// The curve at `theta`, the fitted parameters of `plan`, at every row of `predictors`, in the plan's
/// order; and its partial derivatives by them, ∂f/∂θ_k of row i at i·p + k.
///
/// # Errors
/// None but those of reading.
pub fn pointwise(
    plan: &Plan,
    theta: &[f64],
    predictors: &[&[f64]],
) -> Result<(Vec<f64>, Vec<f64>)> {
    let p = theta.len();
    let table = padded(plan, predictors);
    let mut params = vec![0.0; 2 * p + 1];
    params[..p].copy_from_slice(theta);
    let (mut values, mut partials) = (Vec::new(), Vec::new());
    Reader::new(&table, 1).rows(&plan.programs.curve(), &params, &mut |_, rows| {
        values.extend_from_slice(&rows[p]);
        for i in 0..rows[p].len() {
            partials.extend(rows[..p].iter().map(|column| column[i]));
        }
        Ok(())
    })?;
    Ok((values, partials))
}

/// Predictors with a response and 1/σ, which no output that is used reads.
fn padded<'d>(plan: &Plan, predictors: &[&'d [f64]]) -> Columns<'d> {
    let n = predictors.first().map_or(1, |c| c.len());
    let mut columns: Vec<Cow<'_, [f64]>> = predictors.iter().map(|&c| Cow::Borrowed(c)).collect();
    while columns.len() < plan.programs.columns().count() {
        columns.push(Cow::Owned(vec![1.0; n]));
    }
    Columns::new(columns)
}

/// The curve of `estimate` at the rows of `predictors`, in the plan's order; `sigma` are standard
/// deviations of new observations there, in the units of those of the fit (1 without), see
/// [`mean_sigma`].
///
/// # Errors
/// None but those of reading.
pub fn predict(
    plan: &Plan,
    estimate: &Estimate,
    predictors: &[&[f64]],
    sigma: Option<&[f64]>,
) -> Result<Prediction> {
    let p = estimate.popt.len();
    let table = padded(plan, predictors);
    let mut params = vec![0.0; 2 * p + 1];
    params[..p].copy_from_slice(&estimate.popt);
    let t = quantile(estimate);
    let s2 = if estimate.absolute_sigma {
        1.0
    } else {
        estimate.reduced_chi2()
    };
    let mut out = Prediction::default();
    let curve = plan.programs.curve();
    Reader::new(&table, 1).rows(&curve, &params, &mut |first, rows| {
        for i in 0..rows[p].len() {
            let mut variance = 0.0;
            for a in 0..p {
                for b in 0..p {
                    let (ja, jb) = (rows[a][i], rows[b][i]);
                    if ja != 0.0 && jb != 0.0 {
                        variance += ja * estimate.pcov[a * p + b] * jb;
                    }
                }
            }
            let value = rows[p][i];
            let own = sigma.map_or(1.0, |s| s[first + i]);
            let spread = if estimate.loss == Loss::Poisson {
                value
            } else {
                s2 * own * own
            };
            let (se, wide) = (variance.sqrt(), (variance + spread).sqrt());
            out.value.push(value);
            out.se.push(se);
            out.lower.push(value - t * se);
            out.upper.push(value + t * se);
            out.prediction_lower.push(value - t * wide);
            out.prediction_upper.push(value + t * wide);
        }
        Ok(())
    })?;
    Ok(out)
}

/// σ of a new observation that is as good as those of the fit: the root of the mean of their σ². It
/// is 1 where the fit had no σ.
///
/// # Errors
/// The data cannot be read.
pub fn mean_sigma(plan: &Plan, table: &dyn Table) -> Result<f64> {
    let Some(weight) = plan.programs.columns().position(|c| c == WEIGHT) else {
        return Ok(1.0);
    };
    let mut squares = 0.0;
    visit_all(table, &mut |_, columns| {
        squares += columns[weight].iter().map(|w| w.powi(-2)).sum::<f64>();
        Ok(())
    })?;
    Ok((squares / table.n_rows() as f64).sqrt())
}

/// The quantile behind the intervals of `estimate`.
pub fn quantile(estimate: &Estimate) -> f64 {
    let known = estimate.absolute_sigma || estimate.loss == Loss::Poisson || estimate.dof == 0;
    let dof = if known {
        f64::INFINITY
    } else {
        estimate.dof as f64
    };
    t_quantile(0.5 + estimate.confidence / 2.0, dof)
}

/// The profile-likelihood interval of a fitted parameter: where χ² with the others fitted again
/// exceeds its minimum by s²·t² (t² for absolute sigma or counts). ±∞ where it never does.
///
/// # Errors
/// The data cannot be read.
pub fn profile(
    plan: &Plan,
    table: &dyn Table,
    options: &Options,
    estimate: &Estimate,
    name: &str,
) -> Result<Option<(f64, f64)>> {
    let Some(own) = estimate
        .parameters
        .iter()
        .find(|f| f.name == name && f.kind == Kind::Free)
    else {
        return Ok(None);
    };
    if !own.se.is_finite() || !estimate.converged() {
        return Ok(None);
    }
    let t = quantile(estimate);
    let s2 = if estimate.absolute_sigma || estimate.loss == Loss::Poisson {
        1.0
    } else {
        estimate.reduced_chi2()
    };
    let mut problem = Problem::new(&plan.programs, table, options.threads, estimate.f_scale);
    let mut moments = Moments::new(estimate.popt.len());
    problem.moments(&estimate.popt, &mut moments)?;
    let least = moments.cost;
    let goal = least + 0.5 * s2 * t * t;
    let mut profile = Profile::new(plan, table, options, estimate, name);
    let mut ends = [f64::NAN; 2];
    for (end, sign) in ends.iter_mut().zip([-1.0, 1.0]) {
        let limit = if sign < 0.0 { own.lower } else { own.upper };
        let step = own.se * t * sign;
        *end = crossing(own.value, step, limit, least, goal, &mut |x| {
            profile.cost_at(x)
        })?;
    }
    Ok(Some((ends[0], ends[1])))
}

/// Fits of all other parameters, with one held.
struct Profile<'a> {
    plan: &'a Plan,
    table: &'a dyn Table,
    name: &'a str,
    options: Options,
    /// The scale of a robust loss, which is held.
    scale: f64,
    /// What the last one of them found.
    rest: Vec<(String, f64)>,
}

impl<'a> Profile<'a> {
    fn new(
        plan: &'a Plan,
        table: &'a dyn Table,
        options: &Options,
        estimate: &Estimate,
        name: &'a str,
    ) -> Self {
        let mut options = options.clone();
        options.bounds.retain(|(n, _, _)| n != name);
        (options.multistart, options.global) = (1, false);
        // Differences of costs count here.
        options.finish = Finish::Exact;
        options.restarts = super::Restarts::Never;
        options.f_scale = super::Scale::Fixed(estimate.f_scale);
        let mut rest = values(estimate);
        rest.retain(|(n, _)| n != name);
        Profile {
            plan,
            table,
            name,
            options,
            scale: estimate.f_scale,
            rest,
        }
    }

    /// The least cost where the parameter is `value`. The plan with it fixed is compiled for each value:
    /// a graph of a few nodes.
    fn cost_at(&mut self, value: f64) -> Result<f64> {
        let Profile { plan, table, .. } = *self;
        let mut options = self.options.clone();
        options.fixed.push((self.name.to_string(), value));
        options.p0.clone_from(&self.rest);
        let plan = Plan::new(&plan.formula, plan.roles.clone(), plan.weighted, &options)?;
        if plan.free.is_empty() {
            let mut problem = Problem::new(&plan.programs, table, 1, self.scale);
            let mut moments = Moments::new(0);
            problem.moments(&[], &mut moments)?;
            return Ok(moments.cost);
        }
        let found = fit_table(&plan, table, &options, &mut |_| Next::Continue)?;
        self.rest = values(&found);
        Ok(found.cost)
    }
}

/// The values of the free parameters.
fn values(estimate: &Estimate) -> Vec<(String, f64)> {
    let names = estimate.free.iter().cloned();
    names.zip(estimate.popt.iter().copied()).collect()
}

/// Where the profile reaches `goal`, from the minimum in steps of `step`: bracketed, then by
/// regula falsi on the root of the excess, which is nearly straight.
fn crossing(
    from: f64,
    step: f64,
    limit: f64,
    least: f64,
    goal: f64,
    cost_at: &mut dyn FnMut(f64) -> Result<f64>,
) -> Result<f64> {
    let excess = |cost: f64| (cost - least).max(0.0).sqrt();
    let target = excess(goal);
    let (mut inside, mut at_inside) = (from, 0.0);
    let (mut outside, mut at_outside) = (from + step, 0.0);
    for _ in 0..12 {
        if limit.is_finite() && (outside - limit) * step > 0.0 {
            outside = limit;
        }
        let cost = cost_at(outside)?;
        at_outside = if cost.is_finite() {
            excess(cost)
        } else {
            f64::INFINITY
        };
        if at_outside >= target {
            break;
        }
        if outside == limit {
            return Ok(limit);
        }
        (inside, at_inside) = (outside, at_outside);
        outside += 2.0 * (outside - from);
    }
    if at_outside < target {
        return Ok(if step > 0.0 {
            f64::INFINITY
        } else {
            f64::NEG_INFINITY
        });
    }
    for _ in 0..40 {
        let share = ((target - at_inside) / (at_outside - at_inside)).clamp(0.05, 0.95);
        let middle = inside + share * (outside - inside);
        let cost = cost_at(middle)?;
        let at = if cost.is_finite() {
            excess(cost)
        } else {
            f64::INFINITY
        };
        if (at - target).abs() <= 1e-7 * target {
            return Ok(middle);
        }
        if at < target {
            (inside, at_inside) = (middle, at);
        } else {
            (outside, at_outside) = (middle, at);
        }
    }
    Ok(0.5 * (inside + outside))
}
