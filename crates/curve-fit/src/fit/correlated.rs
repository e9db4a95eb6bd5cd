//! Errors of the response that are correlated: generalised least squares with a full covariance matrix.
//!
//! With Σ = LLᵀ, minimised is ½ |L⁻¹(f − y)|² (Aitken 1935).

use super::data::Data;
use super::estimate::Estimate;
use super::finished::finished;
use super::options::Options;
use super::plan::Plan;
use super::predict::pointwise;
use super::quality::Quality;
use crate::formula::Loss;
use crate::method::Observer;
use crate::method::dense::cholesky;
use crate::method::foreign::{Foreign, least_squares};
use fitzroy::{Error, Result};
use fitzroy_graph::special::gamma_q;

/// Rows of a covariance matrix, at most: it has their square of numbers.
const MOST_ROWS: usize = 10_000;
/// Relative difference of two elements that should be equal.
const ALIKE: f64 = 1e-8;

/// A fit with correlated errors.
#[derive(Clone, Debug)]
pub struct Correlated {
    /// The fit; `chi2` is (f − y)ᵀ Σ⁻¹ (f − y).
    pub estimate: Estimate,
    /// L⁻¹(y − f), which are independent where Σ is right.
    pub residuals: Vec<f64>,
    /// log |Σ|.
    pub log_det: f64,
}

impl Correlated {
    /// Measures of the fit in place of those of `plain`, which are of independent errors. Tests that need an order
    /// of the rows are left out.
    pub fn quality(&self, plain: &Quality) -> Quality {
        let e = &self.estimate;
        let (n, p) = (e.n as f64, e.popt.len() as f64);
        let turn = (2.0 * std::f64::consts::PI).ln();
        let (twice, k) = match e.absolute_sigma {
            true => (e.chi2 + n * turn, p),
            false => (n * (turn + (e.chi2 / n).ln() + 1.0), p + 1.0),
        };
        let twice = twice + self.log_det;
        let half = e.dof as f64 / 2.0;
        Quality {
            aic: twice + 2.0 * k,
            bic: twice + k * n.ln(),
            chi2_p: match e.absolute_sigma && e.dof > 0 {
                true => gamma_q(half, e.chi2 / 2.0),
                false => f64::NAN,
            },
            runs_p: f64::NAN,
            durbin_watson: f64::NAN,
            normality_p: f64::NAN,
            pattern: None,
            ..*plain
        }
    }
}

/// Fits with the covariance matrix `matrix` of the errors, row by row, from where `estimate`, the fit without it,
/// ended.
///
/// # Errors
/// A matrix of another size than the rows, that is not symmetric or not positive definite; σ beside it, robust
/// losses and counts.
pub fn correlated(
    plan: &Plan,
    data: &Data<'_>,
    matrix: &[f64],
    options: &Options,
    estimate: &Estimate,
    observer: &mut Observer<'_>,
) -> Result<Correlated> {
    let (n, p) = (data.n_rows(), plan.free.len());
    if plan.programs.loss() != Loss::Linear || plan.weighted {
        let message = "⟨sigma_matrix⟩: goes with plain least squares; leave out ⟨sigma⟩, ⟨loss⟩ and ⟨likelihood⟩";
        return Err(Error::usage(message));
    }
    if n == 0 || p == 0 || !estimate.popt.iter().all(|v| v.is_finite()) {
        let message =
            "⟨sigma_matrix⟩: needs rows, a free parameter, and a fit without it to start from";
        return Err(Error::usage(message));
    }
    let factor = factor(matrix, n)?;
    let names = &plan.roles.predictors;
    let columns: Vec<&[f64]> = names.iter().filter_map(|name| data.column(name)).collect();
    let y = data.response();
    let mut residuals = |theta: &[f64], out: &mut [f64]| {
        let (values, _) = pointwise(plan, theta, &columns)?;
        let off = out.iter_mut().zip(values.iter().zip(y));
        off.for_each(|(out, (f, y))| *out = f - y);
        whiten(&factor, out);
        Ok(())
    };
    let mut jacobian = |theta: &[f64], out: &mut [f64]| {
        let (_, partials) = pointwise(plan, theta, &columns)?;
        let mut column = vec![0.0; n];
        for k in 0..p {
            for i in 0..n {
                column[i] = partials[i * p + k];
            }
            whiten(&factor, &mut column);
            for i in 0..n {
                out[i * p + k] = column[i];
            }
        }
        Ok(())
    };
    let foreign = Foreign {
        n,
        residuals: &mut residuals,
        jacobian: Some(&mut jacobian),
        loss: None,
    };
    let solved = least_squares(
        foreign,
        &estimate.popt,
        &plan.bounds,
        &options.limits,
        options.method.steps(),
        observer,
    )?;
    let mut found = finished(plan, estimate, &solved, "correlated errors")?;
    found.weighted = true;
    Ok(Correlated {
        estimate: found,
        residuals: solved.residuals.iter().map(|r| -r).collect(),
        log_det: 2.0 * (0..n).map(|i| factor[i * n + i].ln()).sum::<f64>(),
    })
}

/// L of Σ = LLᵀ.
fn factor(matrix: &[f64], n: usize) -> Result<Vec<f64>> {
    let refuse = |message: String| Err(Error::data(format!("⟨sigma_matrix⟩: {message}")));
    if n > MOST_ROWS {
        return refuse(format!(
            "{n} rows have a matrix of {n} × {n}; needs at most {MOST_ROWS} rows"
        ));
    }
    if matrix.len() != n * n {
        let m = (matrix.len() as f64).sqrt();
        return refuse(format!(
            "it has {m:.0} × {m:.0} numbers for {n} rows; needs one row and one column for each row that is \
             fitted, in their order (⟨range⟩ and ⟨missing drop⟩ leave rows out)"
        ));
    }
    for i in 0..n {
        for j in 0..i {
            let (a, b) = (matrix[i * n + j], matrix[j * n + i]);
            let size = (matrix[i * n + i] * matrix[j * n + j]).abs().sqrt();
            if !((a - b).abs() <= ALIKE * size) {
                return refuse(format!(
                    "row {}, column {} is {a}, and row {}, column {} is {b}; a covariance matrix is symmetric",
                    i + 1,
                    j + 1,
                    j + 1,
                    i + 1
                ));
            }
        }
    }
    let mut factor = matrix.to_vec();
    if !cholesky(&mut factor, n) || (0..n).any(|i| !factor[i * n + i].is_finite()) {
        return refuse(
            "it is not positive definite: some combination of the errors would have no variance; a covariance \
             matrix has variances on its diagonal, and correlations between −1 and 1"
                .into(),
        );
    }
    Ok(factor)
}

/// L⁻¹ r in place of r.
fn whiten(factor: &[f64], r: &mut [f64]) {
    let n = r.len();
    for i in 0..n {
        let row = &factor[i * n..i * n + i];
        let before: f64 = row.iter().zip(&*r).map(|(l, r)| l * r).sum();
        r[i] = (r[i] - before) / factor[i * n + i];
    }
}
