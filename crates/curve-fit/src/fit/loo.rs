//! Leave-one-out cross-validation of a fit, without fitting again: at the minimum, a row that leaves moves its own
//! residual r to r/(1 − h), h its leverage (exact for linear curves; Cook and Weisberg 1982).

use super::criteria::leave_one_out;
use super::data::Data;
use super::estimate::{CovarianceStatus, Estimate};
use super::plan::Plan;
use super::predict::pointwise;
use crate::formula::Loss;
use fitzroy::Result;

/// Rows up to which it is worth its memory.
const MOST_ROWS: usize = 1 << 20;

/// −2 Σ log N(y_i; f₍ᵢ₎, s₍ᵢ₎σ_i), of the fit without row i, as AIC estimates it; s is 1 where σ is absolute. NaN for
/// counts, for fits without errors, and where a row alone determines a parameter.
///
/// # Errors
/// The data cannot be read.
pub(super) fn loo(plan: &Plan, estimate: &Estimate, data: &Data<'_>) -> Result<f64> {
    let (n, p) = (data.n_rows(), estimate.popt.len());
    let usable = estimate.covariance_status == CovarianceStatus::Ok
        && estimate.loss == Loss::Linear
        && (n > p + 1 && n <= MOST_ROWS);
    if !usable {
        return Ok(f64::NAN);
    }
    let names = &plan.roles.predictors;
    let table = data.table(names)?;
    let columns = table.all();
    let (x, rest) = columns.split_at(names.len());
    let weight = |i: usize| rest.get(1).map_or(1.0, |w| w[i]);
    let (curve, mut slopes) = pointwise(plan, &estimate.popt, x)?;
    for (i, row) in slopes.chunks_mut(p).enumerate() {
        row.iter_mut().for_each(|s| *s *= weight(i));
    }
    let residuals: Vec<f64> = (0..n)
        .map(|i| (curve[i] - rest[0][i]) * weight(i))
        .collect();
    Ok(leave_one_out(
        &residuals,
        &slopes,
        weight,
        estimate.chi2,
        estimate.absolute_sigma,
    ))
}
