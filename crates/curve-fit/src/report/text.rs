//! A fit as text for a person, and its parameters as CSV.

use crate::fit::{CovarianceStatus, Estimate, Fitted, Kind, Quality, StartRule};
use crate::formula::Loss;
use std::fmt::Write as _;

/// Seconds spent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    /// Reading and checking data.
    pub read: f64,
    /// From formula to programs.
    pub compile: f64,
    /// The fit.
    pub fit: f64,
    /// Everything.
    pub total: f64,
}

/// `x` with `digits` significant digits, without an exponent where it is short.
pub fn significant(x: f64, digits: usize) -> String {
    if !x.is_finite() {
        return if x.is_nan() {
            "-".into()
        } else {
            format!("{x}")
        };
    }
    if x == 0.0 {
        return "0".into();
    }
    let magnitude = x.abs().log10().floor() as i32;
    if (-4..9).contains(&magnitude) {
        let decimals = (digits as i32 - 1 - magnitude).max(0) as usize;
        return format!("{x:.decimals$}");
    }
    format!("{x:.*e}", digits - 1)
}

/// A value with two more digits than its error, as many as both are worth.
pub(super) fn beside(x: f64, se: f64) -> String {
    if !(se > 0.0 && se.is_finite() && x != 0.0 && x.is_finite()) {
        return significant(x, 7);
    }
    let digits = (x.abs().log10().floor() - se.log10().floor()) as i32 + 3;
    significant(x, digits.clamp(4, 15) as usize)
}

pub(super) fn milliseconds(s: f64) -> String {
    if s >= 10.0 {
        format!("{s:.1} s")
    } else {
        format!("{} ms", significant(1e3 * s, 2))
    }
}

/// Thousands apart: 1,000,000.
pub fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (k, c) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// The result for a terminal.
///
/// `on` says where it was computed: `cpu, 2 threads`.
pub fn text(e: &Estimate, quality: Option<&Quality>, timing: &Timing, on: &str) -> String {
    let mut out = String::new();
    head(&mut out, e, timing, on);
    table(&mut out, e);
    let mut line = |text: String| {
        let _ = writeln!(out, "{text}");
    };
    let what = if e.loss == Loss::Poisson {
        "deviance"
    } else {
        "chi2"
    };
    line(format!(
        "{what} {} with {} degrees of freedom ({} each)",
        significant(e.chi2, 6),
        grouped(e.dof),
        significant(e.reduced_chi2(), 5)
    ));
    if let Some(q) = quality {
        line(format!(
            "R2 {:.6}   AIC {}   BIC {}   RMSE {}   MAE {}",
            q.r2,
            significant(q.aic, 6),
            significant(q.bic, 6),
            significant(q.rmse, 5),
            significant(q.mae, 5)
        ));
        let serial = match q.durbin_watson {
            x if x.is_nan() => significant(x, 3),
            x => format!("{x:.3}"),
        };
        line(format!(
            "residuals: runs p = {}, Durbin-Watson {serial}, normality p = {}",
            significant(q.runs_p, 2),
            significant(q.normality_p, 2)
        ));
    }
    let errors = match e.covariance_status {
        CovarianceStatus::Ok | CovarianceStatus::AtBound | CovarianceStatus::Flat => {
            format!("errors: {}", e.covariance_kind)
        }
        CovarianceStatus::RankDeficient => "no errors: parameters are not determined".into(),
        CovarianceStatus::ZeroDof => "no errors: as many parameters as rows".into(),
        CovarianceStatus::NotConverged => "no errors: not converged".into(),
    };
    line(format!(
        "{errors}; condition {}",
        significant(e.condition, 3)
    ));
    correlations(&mut out, e);
    for finding in &e.findings {
        let _ = writeln!(out, "! {finding}");
    }
    out
}

fn head(out: &mut String, e: &Estimate, timing: &Timing, on: &str) {
    let names: Vec<&str> = e.parameters.iter().map(|p| p.name.as_str()).collect();
    let linear: Vec<&str> = e
        .free
        .iter()
        .zip(&e.linear)
        .filter(|(_, linear)| **linear)
        .map(|(name, _)| name.as_str())
        .collect();
    let note = match linear[..] {
        [] => String::new(),
        _ => format!(" ({} linear)", linear.join(", ")),
    };
    let _ = writeln!(
        out,
        "{}   predictors: {}   parameters: {}{note}",
        e.model,
        e.predictors.join(", "),
        names.join(", ")
    );
    let dropped = match e.n_dropped {
        0 => String::new(),
        n => format!(" ({} dropped)", grouped(n)),
    };
    let start = match e.subsample_rows {
        0 => String::new(),
        n => format!(" + {}-row start", grouped(n)),
    };
    let verdict = e.verdict();
    let plural = |n: usize, one: &str, many: &str| {
        if n == 1 {
            one.to_string()
        } else {
            many.to_string()
        }
    };
    let _ = writeln!(
        out,
        "{verdict}: {}, {} {}{start}, {} rows{dropped}, {on}, {} after {} compile",
        e.status.name().replace('_', " "),
        e.full_reads,
        plural(e.full_reads, "full read", "full reads"),
        grouped(e.n),
        milliseconds(timing.fit),
        milliseconds(timing.compile),
    );
}

pub(super) fn note(f: &Fitted) -> String {
    let bound = |b: f64, side: &str| {
        let what = if f.at_bound && f.value == b {
            "active"
        } else {
            "not active"
        };
        if b.is_finite() {
            format!("{side} bound {b}: {what}")
        } else {
            String::new()
        }
    };
    match f.kind {
        Kind::Fixed => "fixed".into(),
        Kind::Tied => "tied".into(),
        Kind::Free => {
            let both = [bound(f.lower, "lower"), bound(f.upper, "upper")];
            both.iter()
                .filter(|s| !s.is_empty())
                .cloned()
                .collect::<Vec<_>>()
                .join(", ")
        }
    }
}

fn table(out: &mut String, e: &Estimate) {
    let level = format!("{} % interval", (1e4 * e.confidence).round() / 100.0);
    let header = ["name", "value", "SE", &level, "start", "note"].map(str::to_string);
    let mut rows = vec![header];
    for f in &e.parameters {
        let start = match (f.start_rule, f.start) {
            (StartRule::Linear, _) => "solved".into(),
            (StartRule::Given, Some(x)) => significant(x, 4)
                .trim_end_matches(['0'])
                .trim_end_matches('.')
                .to_string(),
            (StartRule::None, _) | (_, None) => String::new(),
            (_, Some(x)) => format!("{} found", significant(x, 3)),
        };
        let interval = if f.se.is_finite() {
            format!(
                "{} ... {}",
                beside(f.ci_lower, f.se),
                beside(f.ci_upper, f.se)
            )
        } else {
            "-".into()
        };
        let start = if start.is_empty() && f.start == Some(0.0) {
            "0".into()
        } else {
            start
        };
        rows.push([
            f.name.clone(),
            beside(f.value, f.se),
            significant(f.se, 3),
            interval,
            start,
            note(f),
        ]);
    }
    let width = |k: usize| rows.iter().map(|r| r[k].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    for row in &rows {
        let mut line = format!("  {:<w$}", row[0], w = widths[0]);
        for k in 1..5 {
            let _ = write!(line, "  {:>w$}", row[k], w = widths[k]);
        }
        let _ = write!(line, "  {}", row[5]);
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// The three largest correlations above 0.5.
fn correlations(out: &mut String, e: &Estimate) {
    let p = e.popt.len();
    let all = e.correlation();
    let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
    for i in 0..p {
        for j in i + 1..p {
            if all[i * p + j].abs() > 0.5 {
                pairs.push((all[i * p + j], i, j));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    if pairs.is_empty() {
        return;
    }
    let said: Vec<String> = pairs
        .iter()
        .take(3)
        .map(|(c, i, j)| format!("{}-{} {c:.3}", e.free[*i], e.free[*j]))
        .collect();
    let _ = writeln!(out, "correlations: {}", said.join(", "));
}

/// The parameters as CSV, full precision.
pub fn csv(e: &Estimate) -> String {
    let mut out = "name,value,se,ci_lower,ci_upper,start,lower,upper,at_bound\n".to_string();
    for f in &e.parameters {
        let start = f.start.map_or(String::new(), |x| x.to_string());
        let name = if f.name.contains([',', '"']) {
            format!("\"{}\"", f.name.replace('"', "\"\""))
        } else {
            f.name.clone()
        };
        let _ = writeln!(
            out,
            "{name},{},{},{},{},{start},{},{},{}",
            f.value, f.se, f.ci_lower, f.ci_upper, f.lower, f.upper, f.at_bound
        );
    }
    out
}
