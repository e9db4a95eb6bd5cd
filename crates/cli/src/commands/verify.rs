//! `fitzroy verify`.

use crate::args::Common;
use crate::exit::Outcome;
use crate::{json, terminal};
use clap::Args;
use fitzroy::Result;
use fitzroy::verify::{Verdict, Verification, gib, verify};
use fitzroy_device::probe::level_name;
use serde_json::{Value, json};
use std::time::Instant;

/// Flags of `fitzroy verify`.
#[derive(Args)]
#[command(after_help = "Example:\n  fitzroy verify --json")]
pub(crate) struct VerifyArgs {
    /// Fail (exit 1) unless a GPU passes
    #[arg(long)]
    require_gpu: bool,
    #[command(flatten)]
    common: Common,
}

/// Looks at the machine and prints what it found.
pub(crate) fn run(args: &VerifyArgs) -> Result<Outcome> {
    args.common.machine()?;
    let start = Instant::now();
    let found = verify(&|| start.elapsed().as_secs_f64());
    let passed = found.passed() && (!args.require_gpu || found.gpus_passed > 0);
    if args.common.json {
        json::print(&document(&found, passed));
    } else {
        if !args.common.quiet {
            print_checks(&found);
        }
        let reason = match (passed, found.passed()) {
            (false, true) => ": --require-gpu was given and no GPU passed",
            _ => "",
        };
        terminal::out(format_args!("result: {}{reason}", word(passed)));
    }
    Ok(if passed {
        Outcome::Done
    } else {
        Outcome::NotPassed
    })
}

fn word(passed: bool) -> &'static str {
    if passed {
        Verdict::Pass.word()
    } else {
        Verdict::Fail.word()
    }
}

fn print_checks(found: &Verification) {
    for check in &found.checks {
        let (name, verdict) = (check.name, check.verdict.word());
        terminal::out(format_args!("{verdict}  {name:9} {}", check.detail));
    }
    terminal::out(format_args!(
        "rates: memory {:.1} GB/s, arithmetic {:.1} GFLOP/s (f64, one thread)",
        found.rates.memory_gb_per_s, found.rates.arithmetic_gflop_per_s
    ));
    let settings = &found.settings;
    let budget = settings.memory_budget_bytes.map_or(String::new(), |b| {
        format!(", memory budget {:.1} GiB", gib(b))
    });
    terminal::out(format_args!(
        "settings: --device {} --precision {} --chains {} --threads {}{budget}",
        settings.device, settings.precision, settings.chains, settings.threads
    ));
}

fn document(found: &Verification, passed: bool) -> Value {
    let checks: Vec<Value> = found
        .checks
        .iter()
        .map(|c| json!({"name": c.name, "verdict": c.verdict.word(), "detail": c.detail}))
        .collect();
    let memory = found
        .cpu
        .memory
        .map(|m| json!({"total_bytes": m.total_bytes, "free_bytes": m.free_bytes}));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "cpu": {
            "model": found.cpu.model,
            "threads": found.cpu.threads,
            "simd": level_name(found.cpu.simd),
            "memory": memory,
        },
        "gpu": {"usable": false, "detail": found.driver.advice()},
        "gpus": [],
        "checks": checks,
        "rates": {
            "memory_gb_per_s": json::number(found.rates.memory_gb_per_s),
            "arithmetic_gflop_per_s": json::number(found.rates.arithmetic_gflop_per_s),
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
