//! Errors by fitting again: the bootstrap, of rows drawn with replacement, and the jackknife, without each row in turn.

use super::data::Data;
use super::estimate::Estimate;
use super::options::Options;
use super::plan::Plan;
use crate::method::Next;
use fitzroy::rng::{Purpose, Rng};
use fitzroy::{Error, Result};

/// Which rows the fits are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resampling {
    /// So many times as many rows, drawn with replacement (Efron 1979).
    Bootstrap(usize),
    /// All but one row, once for each (Tukey 1958).
    Jackknife,
}

/// Most rows of a jackknife, which fits once for each.
const MOST_ROWS: usize = 20_000;
/// Fewest fits that percentiles are taken of.
const FEWEST: usize = 20;

/// A parameter over all fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// Its name.
    pub name: String,
    /// Its standard error.
    pub se: f64,
    /// What fits of part of the rows are off by, on average: to be taken from the value.
    pub bias: f64,
    /// Ends of the interval: percentiles of the bootstrap; of the jackknife, t with n − 1 degrees of freedom is left to
    /// the reader, and these are NaN.
    pub ci: (f64, f64),
}

/// What fits of parts of the rows gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Resampled {
    /// Which rows.
    pub resampling: Resampling,
    /// Every fitted parameter.
    pub spreads: Vec<Spread>,
    /// Their covariance, row by row.
    pub covariance: Vec<f64>,
    /// Fits that converged, of which all this is.
    pub n_fits: usize,
    /// Fits that did not.
    pub n_failed: usize,
}

/// Fits parts of the rows of `data`, each from where `estimate` ended. Row draws are a function of `options.seed` and the
/// number of the fit.
///
/// # Errors
/// Too few fits, or too many rows; fewer than half of the fits converge.
pub fn resample(
    plan: &Plan,
    data: &Data<'_>,
    options: &Options,
    estimate: &Estimate,
    resampling: Resampling,
) -> Result<Resampled> {
    let n = data.n_rows();
    let n_fits = match resampling {
        Resampling::Bootstrap(fits) if fits < FEWEST => {
            let message =
                format!("⟨bootstrap {fits}⟩: percentiles need {FEWEST} fits or more, such as 1000");
            return Err(Error::usage(message));
        }
        Resampling::Bootstrap(fits) => fits,
        Resampling::Jackknife if n > MOST_ROWS => {
            let message = format!(
                "⟨jackknife⟩: fits once for each row, up to {MOST_ROWS}, and there are {n}; use ⟨bootstrap 1000⟩"
            );
            return Err(Error::usage(message));
        }
        Resampling::Jackknife => n,
    };
    let names = plan.names();
    let at = names.iter().cloned().zip(estimate.popt.iter().copied());
    let options = Options {
        p0: at.collect(),
        multistart: 1,
        global: false,
        restarts: super::Restarts::Never,
        ..options.clone()
    };
    let mut values = Vec::new();
    let mut n_failed = 0;
    for fit in 0..n_fits {
        let rows: Vec<usize> = match resampling {
            Resampling::Bootstrap(_) => {
                let mut rng = Rng::new(options.seed, 0, 0, fit as u32, Purpose::Data);
                (0..n)
                    .map(|_| ((rng.uniform() * n as f64) as usize).min(n - 1))
                    .collect()
            }
            Resampling::Jackknife => (0..n).filter(|row| *row != fit).collect(),
        };
        let part = data.rows(&rows);
        let table = part.table(&plan.roles.predictors)?;
        match super::fit_table(plan, &table, &options, &mut |_| Next::Continue) {
            Ok(found) if found.converged() => values.push(found.popt),
            _ => n_failed += 1,
        }
    }
    if values.len() < n_fits.div_ceil(2) || values.len() < 2 {
        return Err(Error::usage(format!(
            "of {n_fits} fits of parts of the rows {n_failed} did not converge: the rows do not determine the \
             parameters well enough to leave any out"
        )));
    }
    Ok(gathered(
        estimate,
        names,
        &values,
        resampling,
        n_failed,
        options.confidence,
    ))
}

fn gathered(
    estimate: &Estimate,
    names: Vec<String>,
    values: &[Vec<f64>],
    resampling: Resampling,
    n_failed: usize,
    confidence: f64,
) -> Resampled {
    let (p, m) = (names.len(), values.len() as f64);
    let mean = |k: usize| values.iter().map(|v| v[k]).sum::<f64>() / m;
    let means: Vec<f64> = (0..p).map(mean).collect();
    let factor = match resampling {
        Resampling::Bootstrap(_) => 1.0 / (m - 1.0),
        Resampling::Jackknife => (m - 1.0) / m,
    };
    let off = |v: &Vec<f64>, k: usize| v[k] - means[k];
    let entry = |at: usize| {
        let (i, j) = (at / p, at % p);
        factor * values.iter().map(|v| off(v, i) * off(v, j)).sum::<f64>()
    };
    let covariance: Vec<f64> = (0..p * p).map(entry).collect();
    let spread = |(k, name): (usize, String)| {
        let shift = means[k] - estimate.popt[k];
        let mut sorted: Vec<f64> = values.iter().map(|v| v[k]).collect();
        sorted.sort_by(f64::total_cmp);
        let (bias, ci) = match resampling {
            Resampling::Bootstrap(_) => {
                let tail = 0.5 * (1.0 - confidence);
                (
                    shift,
                    (percentile(&sorted, tail), percentile(&sorted, 1.0 - tail)),
                )
            }
            Resampling::Jackknife => ((m - 1.0) * shift, (f64::NAN, f64::NAN)),
        };
        Spread {
            name,
            se: covariance[k * p + k].sqrt(),
            bias,
            ci,
        }
    };
    Resampled {
        resampling,
        spreads: names.into_iter().enumerate().map(spread).collect(),
        n_fits: values.len(),
        n_failed,
        covariance,
    }
}

/// Between the two nearest of sorted numbers, as NumPy does.
fn percentile(sorted: &[f64], part: f64) -> f64 {
    let at = part * (sorted.len() - 1) as f64;
    let (low, rest) = (at.floor() as usize, at.fract());
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + rest * (sorted[high] - sorted[low])
}
