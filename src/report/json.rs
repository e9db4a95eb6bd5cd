//! JSON for programs: full precision; numbers that are not finite are spelled as words.

use crate::diagnose::{Diagnosis, Interval, Label, Row, Summary};
use serde_json::{Map, Value, json};

/// A number, or "NaN", "Infinity", "-Infinity", which JSON cannot write as numbers.
pub fn json_number(value: f64) -> Value {
    if value.is_finite() {
        return json!(value);
    }
    Value::from(spelled(value))
}

/// The words for numbers that are not finite.
pub(crate) fn spelled(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

/// The fields of a diagnosis, to which a caller may add its own.
///
/// `chains`, `draws`, `divergences` and `max_treedepth_hits` (null where the trace does not tell),
/// `bfmi` by chain, `max_rhat`, `max_rhat_nested` (null below 256 chains), `min_ess_bulk`,
/// `min_ess_tail`, `converged`, `verdict`, `findings` as sentences, `ci_prob`, `ci_kind`, `ess_tail` (its two probabilities), and `summary`, see
/// [`summary_json`].
pub fn diagnosis_json(diagnosis: &Diagnosis) -> Map<String, Value> {
    let summary = &diagnosis.summary;
    let options = &summary.statistics;
    let (low, high) = options.ess_tail.probabilities();
    let bfmi: Vec<Value> = diagnosis.bfmi.iter().map(|&b| json_number(b)).collect();
    let findings: Vec<String> = diagnosis.findings.iter().map(ToString::to_string).collect();
    let nested = match diagnosis.max_r_hat_nested {
        few_chains if few_chains.is_nan() => Value::Null,
        nested => json_number(nested),
    };
    let fields = [
        ("chains", json!(summary.n_chains)),
        ("draws", json!(summary.n_draws)),
        ("divergences", json!(diagnosis.divergences)),
        ("max_treedepth_hits", json!(diagnosis.max_treedepth_hits)),
        ("bfmi", Value::Array(bfmi)),
        ("max_rhat", json_number(diagnosis.max_r_hat)),
        ("max_rhat_nested", nested),
        ("min_ess_bulk", json_number(diagnosis.min_ess_bulk)),
        ("min_ess_tail", json_number(diagnosis.min_ess_tail)),
        ("converged", json!(diagnosis.converged())),
        ("verdict", json!(diagnosis.verdict().word().to_lowercase())),
        ("findings", json!(findings)),
        ("ci_prob", json_number(options.ci_prob)),
        ("ci_kind", json!(interval_key(options.ci_kind))),
        ("ess_tail", json!([low, high])),
        ("summary", summary_json(summary)),
    ];
    fields
        .into_iter()
        .map(|(key, value)| (key.to_string(), value))
        .collect()
}

/// The name of an interval in keys and column heads.
pub(crate) fn interval_key(kind: Interval) -> &'static str {
    match kind {
        Interval::Hdi => "hdi",
        Interval::Eti => "eti",
    }
}

/// Names and values of a row's numbers, in the order of files.
pub(crate) fn numbers(row: &Row, kind: Interval) -> [(String, f64); 10] {
    let s = &row.statistics;
    let interval = interval_key(kind);
    [
        ("mean".into(), s.mean),
        ("sd".into(), s.sd),
        ("mcse_mean".into(), s.mcse_mean),
        ("mcse_sd".into(), s.mcse_sd),
        ("ess_bulk".into(), s.ess_bulk),
        ("ess_tail".into(), s.ess_tail),
        ("r_hat".into(), s.r_hat),
        (format!("{interval}_lower"), s.lower),
        (format!("{interval}_upper"), s.upper),
        ("median".into(), s.median),
    ]
}

/// One object per row: `name`, `index` (positions from 0, empty for a scalar), `labels` where a
/// dimension has any, then the numbers; the interval's ends are named after its kind.
pub fn summary_json(summary: &Summary) -> Value {
    let row = |row: &Row| {
        let mut object = Map::new();
        object.insert("name".into(), json!(row.name));
        object.insert("index".into(), json!(row.index));
        if !row.labels.is_empty() {
            let label = |label: &Label| match label {
                Label::Integer(i) => json!(i),
                Label::Text(text) => json!(text),
            };
            object.insert("labels".into(), row.labels.iter().map(label).collect());
        }
        for (key, value) in numbers(row, summary.statistics.ci_kind) {
            object.insert(key, json_number(value));
        }
        Value::Object(object)
    };
    summary.rows.iter().map(row).collect()
}
