//! What was found of a machine, as JSON.

use super::{Devices, Gpu, Verification};
use crate::report::json_number;
use fitzroy_device::gpu::Description;
use fitzroy_device::probe::{Cpu, level_name};
use serde_json::{Value, json};

/// The devices of a machine, and where there is no GPU to use why.
pub fn devices_json(devices: &Devices) -> Value {
    let gpus = devices.gpus.iter().map(description);
    json!({
        "cpu": cpu_document(&devices.cpu),
        "gpus": gpus.collect::<Vec<_>>(),
        "trouble": devices.trouble,
    })
}

fn cpu_document(cpu: &Cpu) -> Value {
    let memory = cpu
        .memory
        .map(|m| json!({"total_bytes": m.total_bytes, "free_bytes": m.free_bytes}));
    json!({
        "model": cpu.model,
        "threads": cpu.threads,
        "simd": level_name(cpu.simd),
        "memory": memory,
    })
}

fn description(d: &Description) -> Value {
    json!({
        "index": d.index,
        "name": d.name,
        "short_name": d.short_name(),
        "capability": format!("{}.{}", d.capability.0, d.capability.1),
        "multiprocessors": d.multiprocessors,
        "memory": {"total_bytes": d.memory_bytes, "free_bytes": d.free_bytes},
        "ecc": d.ecc,
        "clock_mhz": d.clock_mhz,
        "memory_clock_mhz": d.memory_clock_mhz,
        "watchdog": d.watchdog,
        "bus_id": d.bus_id,
    })
}

fn gpu_document(gpu: &Gpu) -> Value {
    let d = &gpu.description;
    let rates = gpu.rates.map(|r| {
        json!({
            "copy_gb_per_s": json_number(r.copy_gb_per_s),
            "f64_tflop_per_s": json_number(r.f64_tflop_per_s),
            "f32_tflop_per_s": json_number(r.f32_tflop_per_s),
        })
    });
    let sensors = gpu.sensors.map(|s| {
        json!({"temperature_c": s.temperature_c, "clock_mhz": s.clock_mhz, "power_w": s.power_w})
    });
    let mut out = description(d);
    let found = json!({
        "passed": gpu.passed,
        "compile_s": gpu.compile_s,
        "values_compared": gpu.compared,
        "rates": rates,
        "sensors": sensors,
        "settings": {
            "precision": d.precision().name(),
            "chains": gpu.chains,
            "memory_budget_bytes": gpu.memory_budget_bytes,
        },
    });
    if let (Value::Object(to), Value::Object(from)) = (&mut out, found) {
        to.extend(from);
    }
    out
}

fn library_document(library: &Option<(String, (u32, u32))>) -> Value {
    match library {
        Some((path, (major, minor))) => {
            json!({"path": path, "version": format!("{major}.{minor}")})
        }
        None => Value::Null,
    }
}

/// What was found of a machine; `passed` is the verdict of whoever asked.
pub fn verification_json(found: &Verification, passed: bool) -> Value {
    let checks: Vec<Value> = found
        .checks
        .iter()
        .map(|c| json!({"name": c.name, "verdict": c.verdict.word(), "detail": c.detail}))
        .collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "cpu": cpu_document(&found.cpu),
        "gpu": {
            "usable": found.gpus_passed > 0,
            "driver": library_document(&found.gpus.driver),
            "nvrtc": library_document(&found.gpus.compiler),
            "troubles": found.gpus.troubles,
        },
        "gpus": found.gpus.found.iter().map(gpu_document).collect::<Vec<_>>(),
        "checks": checks,
        "rates": {
            "memory_gb_per_s": json_number(found.rates.memory_gb_per_s),
            "arithmetic_gflop_per_s": json_number(found.rates.arithmetic_gflop_per_s),
        },
        "settings": {
            "device": found.settings.device,
            "precision": found.settings.precision,
            "chains": found.settings.chains,
            "threads": found.settings.threads,
            "memory_budget_bytes": found.settings.memory_budget_bytes,
        },
        "passed": passed,
    })
}
