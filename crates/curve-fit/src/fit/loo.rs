//! Leave-one-out cross-validation of a fit, without fitting again: at the minimum, a row that leaves moves its own
//! residual r to r/(1 − h), h its leverage (exact for linear curves; Cook and Weisberg 1982).

use super::data::Data;
use super::estimate::{CovarianceStatus, Estimate};
use super::plan::Plan;
use super::predict::pointwise;
use crate::formula::Loss;
use crate::method::dense::Triangle;
use crate::method::statistics::triangle_inverse;
use fitzroy::Result;
use fitzroy_device::cpu::TILE_ROWS;
use std::f64::consts::PI;

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
    let mut triangle = Triangle::new(p, TILE_ROWS);
    for tile in slopes.chunks(p * TILE_ROWS) {
        let column = |k: usize| tile.iter().skip(k).step_by(p).copied().collect();
        let columns: Vec<Vec<f64>> = (0..p).map(column).collect();
        triangle.add(&columns);
    }
    let inverse = triangle_inverse(&triangle, p);
    let mut sum = 0.0;
    for (i, row) in slopes.chunks(p).enumerate() {
        let by = |a: usize| (0..p).map(|b| inverse[a * p + b] * row[b]).sum::<f64>();
        let leverage: f64 = (0..p).map(|a| row[a] * by(a)).sum();
        let (r, own) = ((curve[i] - rest[0][i]) * weight(i), 1.0 - leverage);
        let variance = match estimate.absolute_sigma {
            true => 1.0,
            false => (estimate.chi2 - r * r / own) / (n - p - 1) as f64,
        };
        let log = (2.0 * PI * variance).ln() - 2.0 * weight(i).ln();
        sum += log + (r / own).powi(2) / variance;
    }
    Ok(sum)
}
