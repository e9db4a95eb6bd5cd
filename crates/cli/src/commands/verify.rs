//! `fitzroy verify`.

use crate::args::Common;
use crate::exit::Outcome;
use crate::{json, terminal};
use clap::Args;
use fitzroy::Result;
use fitzroy::verify::{Depth, Gpu, Verdict, Verification, gib, verification_json, verify};
use fitzroy_device::choice::Choice;
use fitzroy_device::gpu::text::Precision;
use fitzroy_session::device::{open, open_several};
use std::time::Instant;

/// Flags of `fitzroy verify`.
#[derive(Args)]
#[command(after_help = "Example:\n  fitzroy verify --json")]
pub(crate) struct VerifyArgs {
    /// Fail (exit 1) unless a GPU passes
    #[arg(long)]
    require_gpu: bool,
    /// Run the whole suite of operations on every GPU, with teams of every size
    #[arg(long)]
    conformance: bool,
    #[command(flatten)]
    common: Common,
}

/// Looks at the machine and prints what it found.
pub(crate) fn run(args: &VerifyArgs) -> Result<Outcome> {
    args.common.threads()?;
    args.common.check_precision()?;
    let places = args.common.places();
    // A GPU that was asked for and cannot be used is an error here as everywhere.
    match args.common.device()? {
        Choice::Gpu(number) => drop(open(&places, number, args.common.asked_precision())?),
        Choice::Gpus(several) => drop(open_several(&places, several)?),
        Choice::Auto | Choice::Cpu => {}
    }
    let start = Instant::now();
    let depth = match args.conformance {
        true => Depth::Conformance,
        false => Depth::Usual,
    };
    let now = || start.elapsed().as_secs_f64();
    let found = verify(&now, Some((&places, depth)));
    let passed = found.passed() && (!args.require_gpu || found.gpus_passed > 0);
    if args.common.json {
        json::print(&verification_json(&found, passed));
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
    for gpu in &found.gpus.found {
        terminal::out(format_args!("{}", words(gpu)));
    }
    let settings = &found.settings;
    let budget = settings.memory_budget_bytes.map_or(String::new(), |b| {
        format!(", memory budget {:.1} GiB", gib(b))
    });
    terminal::out(format_args!(
        "settings: --device {} --precision {} --chains {} --threads {}{budget}",
        settings.device, settings.precision, settings.chains, settings.threads
    ));
}

/// What follows for runs on a GPU.
fn words(gpu: &Gpu) -> String {
    let index = gpu.description.index;
    let name = gpu.description.short_name();
    let Some(rates) = &gpu.rates else {
        return format!("cuda:{index} ({name}): cannot be used, see above");
    };
    let slow = match gpu.description.precision() {
        Precision::F64 => "",
        _ => "; its f64 is slow, and mixed is compared with it during the warm-up",
    };
    format!(
        "cuda:{index} ({name}): copy {:.0} GB/s, {:.2} TFLOP/s f64, {:.2} TFLOP/s f32; \
         --device cuda:{index} --precision {}, --chains 4 for heavy models and up to {} for small \
         ones, memory budget {:.1} GiB{slow}",
        rates.copy_gb_per_s,
        rates.f64_tflop_per_s,
        rates.f32_tflop_per_s,
        gpu.description.precision().name(),
        gpu.chains,
        gib(gpu.memory_budget_bytes)
    )
}
