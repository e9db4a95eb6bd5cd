//! A validation as text and as JSON.

use super::Validation;
use crate::report::{diagnosis_json, json_number};
use crate::verify::gib;
use fitzroy_device::probe::level_name;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// The lines that a person reads: one per check, then the table of times.
pub fn report_text(validation: &Validation) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    for check in &validation.checks {
        let _ = writeln!(
            out,
            "{}  {:16} {}",
            check.verdict.word(),
            check.name,
            check.detail
        );
    }
    let cpu = &validation.verification.cpu;
    let sampler = &validation.settings.run.sampler;
    let memory = cpu.memory.map_or(String::new(), |m| {
        format!(", {:.1} GiB", gib(m.total_bytes))
    });
    let _ = writeln!(
        out,
        "\nmachine   {}, {} threads used, {}{memory}\nmodel     hierarchical: {} groups of {}, data \
         seed {}\nsettings  {} chains of {} + {}, target acceptance {}, seed {}, f64 on the CPU",
        cpu.model,
        sampler.threads.min(sampler.chains),
        level_name(cpu.simd),
        validation.settings.groups,
        validation.settings.per_group,
        validation.settings.data_seed,
        sampler.chains,
        sampler.tune,
        sampler.draws,
        sampler.target_accept,
        sampler.seed,
    );
    for (name, c) in &validation.outcome.centring {
        let _ = writeln!(
            out,
            "centring  {name}: c = {c:.2} on average (1 centred, 0 non-centred)"
        );
    }
    let _ = writeln!(out, "\nstage              seconds");
    for (name, seconds) in &validation.timing {
        let _ = writeln!(out, "{name:17} {seconds:8.3}");
    }
    let total = validation.total_s();
    let _ = writeln!(out, "{:17} {total:8.3}", "total");
    let ess = validation.diagnosis.min_ess_bulk;
    let sampling = validation.outcome.timing.sampling;
    let _ = writeln!(
        out,
        "\nsmallest bulk ESS a second: {:.0} of sampling, {:.0} of the total; {} gradients",
        ess / sampling,
        ess / total,
        validation.outcome.run.gradients
    );
    out
}

/// The same as one JSON document.
pub fn validation_json(validation: &Validation) -> Value {
    let checks = validation
        .checks
        .iter()
        .map(|c| json!({"name": c.name, "verdict": c.verdict.word(), "detail": c.detail}));
    let mut timing: Map<String, Value> = validation
        .timing
        .iter()
        .map(|(name, seconds)| (name.replace(' ', "_"), json_number(*seconds)))
        .collect();
    timing.insert("total".into(), json_number(validation.total_s()));
    let sampler = &validation.settings.run.sampler;
    let mut document = Map::new();
    let own = [
        ("program", json!("fitzroy")),
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("passed", json!(validation.passed())),
        ("checks", checks.collect()),
        ("timing_s", Value::Object(timing)),
        ("groups", json!(validation.settings.groups)),
        ("per_group", json!(validation.settings.per_group)),
        ("data_seed", json!(validation.settings.data_seed)),
        ("seed", json!(sampler.seed)),
        ("tune", json!(sampler.tune)),
        ("target_accept", json!(sampler.target_accept)),
        ("gradients", json!(validation.outcome.run.gradients)),
        (
            "device",
            json!({"kind": "cpu", "name": validation.verification.cpu.model}),
        ),
    ];
    for (key, value) in own {
        document.insert(key.into(), value);
    }
    for (key, value) in diagnosis_json(&validation.diagnosis) {
        document.entry(key).or_insert(value);
    }
    Value::Object(document)
}
