//! A run as one JSON document.

use super::{Outcome, Settings};
use crate::diagnose::Diagnosis;
use crate::model::joint::Rewrote;
use crate::report::{diagnosis_json, json_number};
use serde_json::{Map, Value, json};

/// What ran where, and how long it took from the start of the program.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Name of the model.
    pub model: String,
    /// Name of the processor.
    pub device: String,
    /// Seconds before [`super::run`]: reading files, binding data.
    pub reading: f64,
    /// Seconds from the start until the draws were on the disk.
    pub written: f64,
    /// Seconds from the start to the end, diagnostics included.
    pub total: f64,
}

/// What was rewritten, as a list of objects.
pub(super) fn rewrites_json(done: &[Rewrote]) -> Value {
    let one = |r: &Rewrote| json!({"kind": r.kind, "parameters": r.parameters, "what": r.what});
    done.iter().map(one).collect()
}

/// Seconds by stage, and effective draws in each of them.
fn times_json(outcome: &Outcome, diagnosis: &Diagnosis, machine: &Machine) -> (Value, Value) {
    let timing = &outcome.timing;
    let (written, total) = (machine.written, machine.total);
    let (written, total) = (timing.earlier + written, timing.earlier + total);
    let per_second = |seconds: f64| match seconds > 0.0 {
        true => json_number(diagnosis.min_ess_bulk / seconds),
        false => Value::Null,
    };
    let seconds = json!({
        "compile": machine.reading + timing.compile,
        "warmup": timing.warmup,
        "sampling": timing.sampling,
        "collecting": timing.collecting,
        "written": written,
        "total": total,
    });
    let draws = json!({
        "sampling": per_second(timing.sampling),
        "written": per_second(written),
        "total": per_second(total),
    });
    (seconds, draws)
}

/// The document of `sample --json`.
///
/// Times are in seconds. `timing_s.compile` includes reading, binding and a GPU's kernels,
/// `collecting` puts the trace together, `written` is when the draws were on the disk. ESS per second
/// is the smallest bulk ESS of all elements over the seconds of drawing, until the draws were on the
/// disk, and over all seconds. Of a run that went on, all but `compile` and `collecting` hold the seconds
/// of the sessions before.
pub fn run_json(
    outcome: &Outcome,
    settings: &Settings,
    diagnosis: &Diagnosis,
    machine: &Machine,
) -> Value {
    let sampler = &settings.sampler;
    let (timing_s, min_ess_per_second) = times_json(outcome, diagnosis, machine);
    let centring: Map<String, Value> = outcome
        .centring
        .iter()
        .map(|(name, c)| (name.clone(), json!(c)))
        .collect();
    let kind = match settings.device.is_machine() {
        true => "cuda",
        false => "cpu",
    };
    let metric = outcome.run.metrics.first().map_or("none", |m| m.name());
    let own = json!({
        "model": machine.model,
        "version": env!("CARGO_PKG_VERSION"),
        "device": {"kind": kind, "name": machine.device},
        "precision": outcome.precision.name(),
        "seed": sampler.seed,
        "group": outcome.group,
        "interrupted": outcome.run.interrupted,
        "until_reached": outcome.run.until_reached,
        "chains": outcome.run.chains.len(),
        "tune": sampler.tune,
        "warmup_transitions": outcome.run.warmup_transitions,
        "draws": outcome.n_draws(),
        "sampler": sampler.sampler.name(),
        "independence": outcome.run.independence.map(|found| json!({
            "pareto_k": json_number(found.pareto_k),
            "acceptance": json_number(found.acceptance),
            "used": found.used,
        })),
        "target_accept": outcome.run.stricter.unwrap_or(sampler.target_accept),
        "metric": metric,
        "past_turn": outcome.run.past_turn,
        "integrator": outcome.run.integrator(),
        "centring": centring,
        "rewrites": rewrites_json(&outcome.rewrites),
        "step_size": outcome.run.step_sizes.iter().map(|&s| json_number(s)).collect::<Vec<_>>(),
        "timing_s": timing_s,
        "gradients": outcome.run.gradients,
        "min_ess_per_second": min_ess_per_second,
    });
    let Value::Object(mut document) = own else {
        unreachable!("it was written as an object");
    };
    for (key, value) in diagnosis_json(diagnosis) {
        document.entry(key).or_insert(value);
    }
    Value::Object(document)
}
