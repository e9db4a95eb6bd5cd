//! Errors from fits of parts of the rows, as text and JSON.

use super::json::number;
use super::significant;
use crate::fit::{Resampled, Resampling};
use serde_json::{Value, json};
use std::fmt::Write as _;

fn name(resampled: &Resampled) -> &'static str {
    match resampled.resampling {
        Resampling::Bootstrap(_) => "bootstrap",
        Resampling::Jackknife => "jackknife",
    }
}

/// A line for each parameter.
pub fn resampled_text(resampled: &Resampled) -> String {
    let (what, fits) = (name(resampled), resampled.n_fits);
    let mut out = format!("{what} of {fits} fits");
    if resampled.n_failed > 0 {
        let _ = write!(out, " ({} more did not converge)", resampled.n_failed);
    }
    out += ":\n";
    for s in &resampled.spreads {
        let (se, bias) = (significant(s.se, 4), significant(s.bias, 2));
        let _ = write!(out, "  {}: SE {se}, bias {bias}", s.name);
        if s.ci.0.is_finite() {
            let (low, high) = (significant(s.ci.0, 7), significant(s.ci.1, 7));
            let _ = write!(out, ", interval {low} ... {high}");
        }
        out.push('\n');
    }
    out
}

/// All of it.
pub fn resampled_json(resampled: &Resampled) -> Value {
    let spreads = resampled.spreads.iter().map(|s| {
        json!({"name": s.name, "se": number(s.se), "bias": number(s.bias), "ci_lower": number(s.ci.0),
               "ci_upper": number(s.ci.1)})
    });
    let p = resampled.spreads.len().max(1);
    let row = |row: &[f64]| row.iter().map(|&v| number(v)).collect::<Value>();
    let covariance: Value = resampled.covariance.chunks(p).map(row).collect();
    json!({"method": name(resampled), "fits": resampled.n_fits, "failed": resampled.n_failed,
           "parameters": spreads.collect::<Vec<_>>(), "covariance": covariance})
}
