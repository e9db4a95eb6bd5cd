//! What `compare` says: tables for people, documents for programs.

use crate::json::number;
use crate::terminal::out;
use fitzroy::diagnose::{Agreement, Comparison, Loo};
use serde_json::{Value, json};

/// Unreliable observations that are named.
const NAMED: usize = 5;
/// Elements shown of a comparison of posteriors.
const ROWS: usize = 12;

/// The ranking of models.
pub(super) fn models(found: &Comparison, loos: &[(String, Loo)], quiet: bool) {
    let best = &found.models[0];
    if quiet {
        out(&best.name);
        return;
    }
    let width = found.models.iter().map(|m| m.name.chars().count());
    let width = width.max().unwrap_or(0).max(5);
    out(format_args!(
        "PSIS-LOO on {} observations; elpd in nats, higher is better",
        found.n_observations
    ));
    out(format_args!(
        "{:<width$}  {:>10}  {:>8}  {:>8}  {:>10}  {:>8}  {:>8}  {:>7}",
        "model", "elpd", "se", "p", "elpd_diff", "dse", "p_worse", "weight"
    ));
    for m in &found.models {
        let worse = match m.p_worse.is_nan() {
            true => String::new(),
            false => format!("{:.3}", m.p_worse),
        };
        out(format_args!(
            "{:<width$}  {:>10.2}  {:>8.2}  {:>8.2}  {:>10.2}  {:>8.2}  {:>8}  {:>7.3}",
            m.name, m.elpd, m.se, m.p, m.elpd_diff, m.dse, worse, m.weight
        ));
    }
    for m in &found.models {
        if let Some(caution) = &m.caution {
            out(format_args!(
                "{}: {caution}; its probability of being worse is rough",
                m.name
            ));
        }
        let loo = &loos[m.place].1;
        let bad = loo.unreliable();
        if bad.is_empty() {
            continue;
        }
        let named = bad.iter().take(NAMED);
        let named = named.map(|&i| format!("{} ({:.2})", loo.names[i], loo.pointwise[i].k));
        out(format_args!(
            "{}: Pareto k above {:.2} at {} of {} observations, so its elpd is too high or too \
             low: {}{}; look at them, try a heavier-tailed likelihood, or refit without each",
            m.name,
            loo.k_limit,
            bad.len(),
            loo.pointwise.len(),
            named.collect::<Vec<_>>().join(", "),
            if bad.len() > NAMED { ", .." } else { "" }
        ));
    }
    if let Some(caution) = &found.caution {
        out(caution);
    }
}

/// Whether two runs agree.
pub(super) fn posteriors(found: &Agreement, names: &[String], quiet: bool) {
    let (a, b) = (&names[0], &names[1]);
    match found.agree {
        true => out(format_args!(
            "AGREE  {a} and {b}: {} elements within {:.1} Monte Carlo standard errors",
            found.elements.len(),
            found.limit
        )),
        false => out(format_args!("DIFFER  {a} and {b}")),
    }
    if quiet {
        return;
    }
    for difference in &found.differences {
        out(format_args!("  {difference}"));
    }
    if !found.left_out.is_empty() {
        out(format_args!(
            "not compared, for only one run has them or sizes differ: {}",
            found.left_out.join(", ")
        ));
    }
    let mut worst: Vec<_> = found.elements.iter().collect();
    worst.sort_by(|x, y| y.largest().total_cmp(&x.largest()));
    let width = worst.iter().take(ROWS).map(|e| e.name.chars().count());
    let width = width.max().unwrap_or(0).max(7);
    out("distances in Monte Carlo standard errors, the largest first");
    out(format_args!(
        "{:<width$}  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}  {:>8}  {:>8}",
        "element", "mean", "sd", "q .05", "median", "q .95", "R-hat", "mean %", "sd %"
    ));
    for e in worst.iter().take(ROWS) {
        let [low, median, high] = e.quantiles;
        out(format_args!(
            "{:<width$}  {:>7.2}  {:>7.2}  {low:>7.2}  {median:>7.2}  {high:>7.2}  {:>7.3}  \
             {:>8.2}  {:>8.2}",
            e.name, e.mean, e.sd, e.r_hat, e.mean_percent, e.sd_percent
        ));
    }
    if worst.len() > ROWS {
        out(format_args!(
            "and {} more in the output of --json",
            worst.len() - ROWS
        ));
    }
}

/// The same as a document.
pub(super) fn posteriors_json(found: &Agreement, names: &[String]) -> Value {
    let numbers = |x: &[f64]| -> Value { x.iter().map(|&v| number(v)).collect() };
    let row = |e: &fitzroy::diagnose::Agreeing| {
        json!({
            "name": e.name,
            "means": numbers(&e.means),
            "sds": numbers(&e.sds),
            "mean": number(e.mean),
            "sd": number(e.sd),
            "quantiles": numbers(&e.quantiles),
            "r_hat": number(e.r_hat),
            "mean_percent": number(e.mean_percent),
            "sd_percent": number(e.sd_percent),
        })
    };
    json!({
        "method": "posteriors",
        "runs": names,
        "agree": found.agree,
        "limit": number(found.limit),
        "differences": found.differences,
        "left_out": found.left_out,
        "elements": found.elements.iter().map(row).collect::<Vec<_>>(),
    })
}
