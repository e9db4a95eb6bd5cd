//! A fit as JSON: full precision; what is not finite is spelled as words.

use super::Timing;
use crate::fit::{Estimate, Fitted, Kind, Minima, Quality};
use serde_json::{Map, Value, json};

/// A number, or "NaN", "Infinity", "-Infinity".
pub fn number(x: f64) -> Value {
    fitzroy::report::json_number(x)
}

fn matrix(values: &[f64], p: usize) -> Value {
    let row = |r: &[f64]| r.iter().map(|&x| number(x)).collect::<Value>();
    values.chunks(p.max(1)).map(row).collect()
}

fn parameter_json(f: &Fitted) -> Value {
    json!({
        "name": f.name, "value": number(f.value), "se": number(f.se),
        "ci_lower": number(f.ci_lower), "ci_upper": number(f.ci_upper),
        "start": f.start.map(number), "start_rule": f.start_rule.name(),
        "lower": number(f.lower), "upper": number(f.upper),
        "at_bound": f.at_bound, "fixed": f.kind == Kind::Fixed,
        "tied": f.kind == Kind::Tied,
    })
}

fn minima_json(m: &Minima) -> Value {
    let costs: Vec<Value> = m.costs.iter().map(|&c| number(c)).collect();
    json!({"starts": m.n_starts, "reached_best": m.n_best, "costs": costs})
}

/// The fields of a fit, to which a caller may add its own.
pub fn estimate_json(
    e: &Estimate,
    quality: Option<&Quality>,
    timing: &Timing,
) -> Map<String, Value> {
    let p = e.popt.len();
    let parameters = e.parameters.iter().map(parameter_json).collect();
    let q = |get: fn(&Quality) -> f64| quality.map(|q| number(get(q)));
    let minima = e.minima.as_ref().map(minima_json);
    let rate = e.n as f64 * e.full_reads as f64 / timing.fit;
    let fields = [
        ("model", json!(e.model)),
        ("predictors", json!(e.predictors)),
        ("n", json!(e.n)),
        ("dropped", json!(e.n_dropped)),
        ("n_parameters", json!(p)),
        ("dof", json!(e.dof)),
        ("converged", json!(e.converged())),
        ("status", json!(e.status.name())),
        ("verdict", json!(e.verdict())),
        ("standing", json!(e.standing().name())),
        ("flags", json!(e.flags)),
        ("finish", json!(e.finish)),
        ("method", json!(e.method)),
        ("loss", json!(e.loss.name())),
        ("f_scale", number(e.f_scale)),
        ("absolute_sigma", json!(e.absolute_sigma)),
        ("confidence", number(e.confidence)),
        ("parameters", Value::Array(parameters)),
        ("covariance", matrix(&e.pcov, p)),
        ("correlation", matrix(&e.correlation(), p)),
        ("covariance_parameters", json!(e.free)),
        ("covariance_kind", json!(e.covariance_kind)),
        ("covariance_status", json!(e.covariance_status.name())),
        ("cost", number(e.cost)),
        ("chi2", number(e.chi2)),
        ("reduced_chi2", number(e.reduced_chi2())),
        ("rmse", json!(q(|q| q.rmse))),
        ("mae", json!(q(|q| q.mae))),
        ("r2", json!(q(|q| q.r2))),
        ("adjusted_r2", json!(q(|q| q.adjusted_r2))),
        ("aic", json!(q(|q| q.aic))),
        ("bic", json!(q(|q| q.bic))),
        ("runs_p", json!(q(|q| q.runs_p))),
        ("durbin_watson", json!(q(|q| q.durbin_watson))),
        ("normality_p", json!(q(|q| q.normality_p))),
        ("chi2_p", json!(q(|q| q.chi2_p))),
        ("condition", number(e.condition)),
        ("rank", json!(e.rank)),
        ("full_reads", json!(e.full_reads)),
        ("evaluations", json!(e.evaluations)),
        ("subsample_rows", json!(e.subsample_rows)),
        ("minima", json!(minima)),
        ("rows_per_second", number(rate)),
        (
            "timing_s",
            json!({"read": timing.read, "compile": timing.compile, "fit": timing.fit,
                   "total": timing.total}),
        ),
        ("findings", json!(e.findings)),
    ];
    fields
        .into_iter()
        .map(|(k, v)| (k.to_string(), v))
        .collect()
}
