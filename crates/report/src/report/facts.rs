//! What a run says of itself: from its trace, and from the document beside it.

use super::validation::{Apart, Contender};
use fitzroy::draws::{Attribute, Trace};
use serde_json::Value;

/// What a page tells of a run besides its draws.
#[derive(Clone, Debug, Default)]
pub struct RunFacts {
    /// Name of the model, or of the file.
    pub name: String,
    /// The command that made it; nothing when unknown.
    pub command: String,
    /// Name of the processor or GPU; nothing when unknown.
    pub device: String,
    /// What each of several GPUs did, which shared the run.
    pub gpus: Vec<String>,
    /// Stages and their seconds, in order.
    pub timing: Vec<(String, f64)>,
    /// Seconds from start to end.
    pub total_s: Option<f64>,
    /// Known true values by label, for validation.
    pub truths: Vec<(String, f64)>,
    /// Checks that were made: name, verdict ("PASS", "FAIL", "SKIP"), detail.
    pub checks: Vec<[String; 3]>,
    /// Runs of the same model beside each other, the first of them the one to compare with.
    pub contenders: Vec<Contender>,
    /// Numbers that are furthest apart in two of them.
    pub apart: Vec<Apart>,
    /// Threads for what is worked out for the page; 0 counts as 1.
    pub threads: usize,
    /// Whether the run goes on, with draws done and asked for.
    pub running: Option<(usize, usize)>,
}

impl RunFacts {
    /// Facts from the document that a run leaves beside its trace (`run.json`).
    pub fn from_document(document: &Value, name: &str) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_string);
        let mut facts = RunFacts {
            name: text(&document["model"]).unwrap_or_else(|| name.into()),
            command: text(&document["command"]).unwrap_or_default(),
            device: text(&document["device"]["name"]).unwrap_or_default(),
            total_s: document["timing_s"]["total"].as_f64(),
            ..RunFacts::default()
        };
        let gpus = document["gpus"].as_array().map_or(&[][..], |g| g);
        if gpus.len() > 1 {
            facts.gpus = gpus.iter().filter_map(gpu).collect();
        }
        if let Some(timing) = document["timing_s"].as_object() {
            let stages = timing.iter().filter(|(stage, _)| *stage != "total");
            let stages =
                stages.filter_map(|(stage, s)| Some((stage.replace('_', " "), s.as_f64()?)));
            facts.timing = stages.collect();
        }
        if let Some(checks) = document["checks"].as_array() {
            let field = |check: &Value, key: &str| text(&check[key]).unwrap_or_default();
            let row = |c: &Value| ["name", "verdict", "detail"].map(|key| field(c, key));
            facts.checks = checks.iter().map(row).collect();
        }
        let all = |list: &Value| list.as_array().cloned().unwrap_or_default();
        let contenders = all(&document["contenders"]);
        facts.contenders = contenders.iter().filter_map(Contender::of).collect();
        let apart = all(&document["gpu"]["furthest"]);
        facts.apart = apart.iter().filter_map(Apart::of).collect();
        facts
    }
}

/// `cuda:0 (NVIDIA H200): chains 2, transitions 4000 in 1.2 s, 80 MiB`.
fn gpu(record: &Value) -> Option<String> {
    let (label, name) = (record["label"].as_str()?, record["name"].as_str()?);
    let number = |key: &str| record[key].as_u64();
    let mut text = format!(
        "{label} ({name}): chains {}, transitions {} in {}, {} MiB",
        number("chains")?,
        number("transitions")?,
        seconds(record["busy_s"].as_f64()?),
        number("used_bytes")?.div_ceil(1 << 20),
    );
    if let Some(why) = record["failed"].as_str() {
        text += &format!("; then it failed: {why}");
    }
    Some(text)
}

/// An attribute of the trace as text.
pub(super) fn attribute(trace: &Trace, name: &str) -> Option<String> {
    let groups = trace.groups.iter().flat_map(|g| &g.attributes);
    let found = trace
        .attributes
        .iter()
        .chain(groups)
        .find(|(n, _)| n == name)?;
    Some(match &found.1 {
        Attribute::Text(text) => text.clone(),
        Attribute::Integer(i) => i.to_string(),
        Attribute::Real(x) => crate::figure::said(*x),
    })
}

/// An attribute of the trace as a number.
pub(super) fn number(trace: &Trace, name: &str) -> Option<f64> {
    let groups = trace.groups.iter().flat_map(|g| &g.attributes);
    let found = trace
        .attributes
        .iter()
        .chain(groups)
        .find(|(n, _)| n == name)?;
    match found.1 {
        Attribute::Integer(i) => Some(i as f64),
        Attribute::Real(x) => Some(x),
        Attribute::Text(_) => None,
    }
}

/// Settings in the trace, as names and values.
pub(super) fn settings(trace: &Trace) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let names = [
        ("fitzroy_version", "version"),
        ("inference_library", "sampled by"),
        ("inference_library_version", "its version"),
        ("created_at", "made at"),
        ("fitzroy_seed", "seed"),
        ("fitzroy_device", "device"),
        ("fitzroy_precision", "precision"),
        ("fitzroy_metric", "metric"),
        ("fitzroy_target_accept", "steps tuned to acceptance"),
        ("fitzroy_gradients", "gradients"),
        ("fitzroy_hash", "hash of model and data"),
    ];
    for (key, name) in names {
        if let Some(value) = attribute(trace, key) {
            out.push((name.to_string(), value));
        }
    }
    for (key, title) in [
        ("fitzroy_settings", ""),
        ("fitzroy_centring", "centring of "),
    ] {
        let text = attribute(trace, key);
        let parsed = text.and_then(|t| serde_json::from_str::<Value>(&t).ok());
        if let Some(Value::Object(map)) = parsed {
            for (name, value) in map {
                let value = match value {
                    Value::String(s) => s,
                    other => other.to_string(),
                };
                out.push((format!("{title}{}", name.replace('_', " ")), value));
            }
        }
    }
    out
}

/// Seconds as people say them.
pub fn seconds(s: f64) -> String {
    match s {
        s if s < 0.0995 => format!("{} ms", crate::figure::said(s * 1000.0)),
        s if s < 120.0 => format!("{} s", crate::figure::said(s)),
        s if s < 7200.0 => format!("{:.0} min {:.0} s", (s / 60.0).floor(), s % 60.0),
        s => format!(
            "{:.0} h {:.0} min",
            (s / 3600.0).floor(),
            (s % 3600.0) / 60.0
        ),
    }
}
