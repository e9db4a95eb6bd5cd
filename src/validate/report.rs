//! A validation as text and as JSON.

use super::{GpuRun, Validation};
use crate::diagnose::{Agreeing, Diagnosis};
use crate::report::{diagnosis_json, json_number};
use crate::run::Outcome;
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
    for gpu in validation.gpu.iter().chain(&validation.gpu_all) {
        out += &gpu_line(gpu);
    }
    out
}

/// What a run on a GPU took and gave.
fn gpu_line(gpu: &GpuRun) -> String {
    let timing = &gpu.outcome.timing;
    format!(
        "{}, {} coordinates: compile {:.3}, warm-up {:.3}, sampling {:.3} s, {:.1} MiB; {} times \
         as fast as the CPU; smallest bulk ESS a second: {:.0} of sampling\n",
        gpu.said(),
        gpu.outcome.n_sampled(),
        timing.compile,
        timing.warmup,
        timing.sampling,
        gpu.memory_bytes() as f64 / 1_048_576.0,
        times(gpu.speed_up()),
        gpu.diagnosis.min_ess_bulk / timing.sampling
    )
}

/// Seconds of a run.
pub(super) fn seconds_of(outcome: &Outcome) -> f64 {
    let t = &outcome.timing;
    t.compile + t.warmup + t.sampling + t.collecting
}

/// A ratio in three figures.
fn times(ratio: f64) -> String {
    match ratio {
        r if r >= 100.0 => format!("{r:.0}"),
        r if r >= 10.0 => format!("{r:.1}"),
        r => format!("{r:.2}"),
    }
}

/// A run beside others: what it took and gave.
fn contender(name: &str, outcome: &Outcome, found: &Diagnosis, memory: Option<u64>) -> Value {
    let t = &outcome.timing;
    let stages = [
        ("compile", t.compile),
        ("warm-up", t.warmup),
        ("sampling", t.sampling),
        ("trace", t.collecting),
    ];
    json!({
        "name": name,
        "stages": stages.map(|(stage, s)| json!([stage, json_number(s)])),
        "ess_per_s": json_number(found.min_ess_bulk / t.sampling),
        "memory_bytes": memory,
    })
}

/// Elements of the comparison that are kept: those furthest apart.
const FURTHEST: usize = 10;

fn gpu_json(gpu: &GpuRun) -> Value {
    let mut worst: Vec<_> = gpu.agreement.elements.iter().collect();
    worst.sort_by(|a, b| b.largest().total_cmp(&a.largest()));
    let row = |e: &&Agreeing| {
        json!({
            "name": e.name,
            "means": e.means.map(json_number),
            "sds": e.sds.map(json_number),
            "distance": json_number(e.largest()),
            "r_hat": json_number(e.r_hat),
        })
    };
    json!({
        "device": gpu.card.label,
        "name": gpu.card.name,
        "precision": gpu.outcome.precision.name(),
        "coordinates": gpu.outcome.n_sampled(),
        "speed_up": json_number(gpu.speed_up()),
        "memory_bytes": gpu.memory_bytes(),
        "same_bits": gpu.same_bits,
        "agree": gpu.agreement.agree,
        "limit": json_number(gpu.agreement.limit),
        "differences": gpu.agreement.differences,
        "furthest": worst.iter().take(FURTHEST).map(row).collect::<Vec<_>>(),
    })
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
    let mut runs = vec![contender(
        "CPU",
        &validation.outcome,
        &validation.diagnosis,
        None,
    )];
    if let Some(gpu) = &validation.gpu {
        let name = &gpu.card.label;
        let memory = Some(gpu.memory_bytes());
        runs.push(contender(name, &gpu.outcome, &gpu.diagnosis, memory));
        document.insert("gpu".into(), gpu_json(gpu));
    }
    if let Some(gpu) = &validation.gpu_all {
        document.insert("gpu_all_parameters".into(), gpu_json(gpu));
    }
    document.insert("contenders".into(), json!(runs));
    for (key, value) in own {
        document.insert(key.into(), value);
    }
    for (key, value) in diagnosis_json(&validation.diagnosis) {
        document.entry(key).or_insert(value);
    }
    Value::Object(document)
}
