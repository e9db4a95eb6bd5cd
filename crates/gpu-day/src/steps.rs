//! The steps: each finds out one thing and returns its numbers.

use crate::curves;
use crate::models::{Example, M1, M2, SCHOOLS};
use crate::others::{peers, peers_many, sanitizer};
use crate::runs::{bits, on_gpu, same_bits, sampled, sampled_in};
use crate::{stop_signal, weather};
use fitzroy::diagnose::SummaryOptions;
use fitzroy::run::{Device, Settings, Team, kernel_source};
use fitzroy::verify::{Depth, verify};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::gpu::text::Precision;
use fitzroy_device::gpu::{Gpu, Machine, Places};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

type Run = fn(&Places, Option<&Path>) -> Result<Value>;

/// A step.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// Seconds after which it is ended.
    pub(crate) limit_s: u64,
    /// What it does; the Python of the peers is for some.
    pub(crate) run: Run,
    /// Fields that must reach a number, or with `<` stay below it.
    pub(crate) floors: &'static [(&'static str, char, f64)],
}

const fn step(
    name: &'static str,
    limit_s: u64,
    run: Run,
    floors: &'static [(&'static str, char, f64)],
) -> Step {
    Step {
        name,
        limit_s,
        run,
        floors,
    }
}

/// All steps, the most telling first; those at the end are left out where time runs short.
pub(crate) const STEPS: &[Step] = &[
    step("verify", 60, |p, _| verified(p), &[]),
    step(
        "compile",
        30,
        |p, _| compile(p),
        &[("cold_s", '<', 1.0), ("cached_s", '<', 0.005)],
    ),
    step("equal-schools", 30, |p, _| equal(p, &SCHOOLS, 200), &[]),
    step("equal-m1", 30, |p, _| equal(p, &M1, 150), &[]),
    step("equal-m2", 45, |p, _| equal(p, &M2, 100), &[]),
    step(
        "m1-4",
        30,
        |p, _| speed(p, &M1, 4, 500, Team::Auto),
        &[("leapfrogs_per_s_per_chain", '>', 1e6)],
    ),
    step(
        "m1-1024",
        45,
        |p, _| speed(p, &M1, 1024, 200, Team::Auto),
        &[("leapfrogs_per_s", '>', 3e8)],
    ),
    step(
        "m2-4",
        30,
        |p, _| speed(p, &M2, 4, 300, Team::Auto),
        &[("leapfrogs_per_s_per_chain", '>', 5e5)],
    ),
    step(
        "m2-1024",
        60,
        |p, _| speed(p, &M2, 1024, 100, Team::Auto),
        &[("leapfrogs_per_s", '>', 1e8)],
    ),
    step(
        "converge-m1",
        30,
        |p, _| converge(p),
        &[("seconds_after_compile", '<', 0.1)],
    ),
    step("mixed-m1", 30, |p, _| lower(p, &M1, Precision::Mixed), &[]),
    step("f32-m1", 30, |p, _| lower(p, &M1, Precision::F32), &[]),
    step("mixed-m2", 30, |p, _| lower(p, &M2, Precision::Mixed), &[]),
    step("f32-m2", 30, |p, _| lower(p, &M2, Precision::F32), &[]),
    step("repeat-m1", 45, |p, _| repeat(p), &[("spread", '<', 0.1)]),
    step("stop", 20, |p, _| stop(p), &[("seconds_to_stop", '<', 1.0)]),
    step("too-many", 20, |p, _| too_many(p), &[]),
    step(
        "equal-stop-signal",
        60,
        |p, _| stop_signal::equal(p, 6, 20),
        &[],
    ),
    step(
        "stop-signal-100",
        60,
        |p, _| stop_signal::speed(p, 100, 60),
        &[],
    ),
    step("curve-rows", 30, |p, _| curves::large(p, 4_000_000), &[]),
    step("curve-batch", 30, |p, _| curves::many(p, 100_000), &[]),
    step("weather", 60, |p, _| weather::equal(p), &[]),
    step(
        "weather-speed",
        90,
        |p, _| weather::speed(p),
        &[("bf16_ms", '<', 20.0), ("tf32_ms", '<', 45.0)],
    ),
    step("peers", 120, peers, &[("ratio_per_chain", '>', 50.0)]),
    step("peers-1024", 120, peers_many, &[("ratio", '>', 100.0)]),
    step(
        "m1-64-warp",
        30,
        |p, _| speed(p, &M1, 64, 300, Team::Threads(32)),
        &[],
    ),
    step(
        "m1-64-block",
        30,
        |p, _| speed(p, &M1, 64, 300, Team::Threads(128)),
        &[],
    ),
    step(
        "m2-4-sharded",
        30,
        |p, _| speed(p, &M2, 4, 300, Team::Sharded),
        &[],
    ),
    step(
        "m2-64-warp",
        30,
        |p, _| speed(p, &M2, 64, 200, Team::Threads(32)),
        &[],
    ),
    step(
        "m2-64-block",
        30,
        |p, _| speed(p, &M2, 64, 200, Team::Threads(128)),
        &[],
    ),
    step(
        "m1-4096",
        45,
        |p, _| speed(p, &M1, 4096, 50, Team::Auto),
        &[],
    ),
    step("sanitizer", 60, |p, _| sanitizer(p), &[]),
];

/// What of a step's values does not reach its floor, in words.
pub(crate) fn below(step: &Step, values: &Value) -> Vec<String> {
    let missed = |(field, kind, floor): &(&str, char, f64)| {
        let got = values[*field].as_f64().unwrap_or(f64::NAN);
        let reached = match kind {
            '<' => got <= *floor,
            _ => got >= *floor,
        };
        (!reached).then(|| format!("{field} is {got:.4e}, the goal is {kind} {floor:.1e}"))
    };
    step.floors.iter().filter_map(missed).collect()
}

/// Where the libraries may lie.
pub(crate) fn places(compiler: Option<PathBuf>) -> Places {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    Places {
        compiler,
        python: ["VIRTUAL_ENV", "CONDA_PREFIX"]
            .into_iter()
            .filter_map(named)
            .collect(),
        visible: std::env::var("CUDA_VISIBLE_DEVICES").ok(),
        ..Places::default()
    }
}

pub(crate) fn failure(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Device, text)
}

fn verified(places: &Places) -> Result<Value> {
    let start = Instant::now();
    let now = || start.elapsed().as_secs_f64();
    let found = verify(&now, Some((places, Depth::Conformance)));
    let failed = found.checks.iter().find(|c| c.verdict.word() == "FAIL");
    if let Some(check) = failed {
        return Err(failure(format!("{}: {}", check.name, check.detail)));
    }
    let Some(gpu) = found.gpus.found.iter().find(|g| g.passed) else {
        return Err(failure("no GPU passed"));
    };
    let rates = gpu.rates.ok_or_else(|| failure("it was not measured"))?;
    Ok(json!({
        "gpu": gpu.description.name,
        "capability": format!("{}.{}", gpu.description.capability.0, gpu.description.capability.1),
        "multiprocessors": gpu.description.multiprocessors,
        "memory_bytes": gpu.description.memory_bytes,
        "ecc": gpu.description.ecc,
        "values_compared": gpu.compared,
        "copy_gb_per_s": rates.copy_gb_per_s,
        "f64_tflop_per_s": rates.f64_tflop_per_s,
        "f32_tflop_per_s": rates.f32_tflop_per_s,
    }))
}

/// Seconds to make the kernel of M1 ready: compiled, and found among those kept.
fn compile(places: &Places) -> Result<Value> {
    let joint = M1.joint()?;
    let settings = Settings::default();
    let source = kernel_source(&joint, &settings)?;
    let depth = settings.sampler.max_treedepth;
    let program = fitzroy::fit::sample::kernel::program(&source, 128, depth);
    let folder = std::env::temp_dir().join(format!("fitzroy-gpu-day-{}", std::process::id()));
    let mut places = places.clone();
    places.cache = Some(folder.clone());
    let mut times = Vec::new();
    let mut usage = (0, 0);
    for _ in 0..2 {
        let mut gpu = Gpu::open(&places, 0)?;
        let start = Instant::now();
        gpu.load(&program)?;
        times.push(start.elapsed().as_secs_f64());
        usage = (gpu.loaded.registers, gpu.loaded.local_bytes);
    }
    // What cannot be removed lies in the folder for temporary files.
    let _ = std::fs::remove_dir_all(folder);
    Ok(json!({
        "cold_s": times[0],
        "cached_s": times[1],
        "registers": usage.0,
        "local_bytes": usage.1,
    }))
}

/// The same seed on CPU and GPU, there also with chains that are spread over multiprocessors: the same
/// bits.
fn equal(places: &Places, example: &Example, n: usize) -> Result<Value> {
    let (cpu, cpu_s) = sampled(example, Device::threads(), 4, n, n)?;
    let (gpu, gpu_s) = sampled(example, on_gpu(places)?, 4, n, n)?;
    let (sharded, sharded_s) = {
        let device = on_gpu(places)?.with_team(Team::Sharded);
        sampled(example, device, 4, n, n)?
    };
    same_bits(&cpu, &sharded)?;
    let compared = same_bits(&cpu, &gpu)?;
    Ok(json!({
        "numbers_compared": compared,
        "cpu_s": cpu_s,
        "gpu_s": gpu_s,
        "sharded_s": sharded_s,
    }))
}

/// How fast chains advance, and whether they converge.
pub(crate) fn speed(
    places: &Places,
    example: &Example,
    chains: usize,
    n: usize,
    team: Team,
) -> Result<Value> {
    let device = on_gpu(places)?.with_team(team);
    let (outcome, seconds) = sampled(example, device, chains, n, n)?;
    let diagnosis = outcome.diagnose(&SummaryOptions::default())?;
    let run = &outcome.run;
    let leapfrogs = (run.gradients - run.warmup_gradients) as f64;
    let per_s = leapfrogs / outcome.timing.sampling;
    Ok(json!({
        "chains": chains,
        "seconds": seconds,
        "compile_s": outcome.timing.compile,
        "warmup_s": outcome.timing.warmup,
        "sampling_s": outcome.timing.sampling,
        "leapfrogs": leapfrogs,
        "leapfrogs_per_s": per_s,
        "leapfrogs_per_s_per_chain": per_s / chains as f64,
        "max_rhat": diagnosis.max_r_hat,
        "max_rhat_nested": diagnosis.max_r_hat_nested,
        "min_ess_bulk": diagnosis.min_ess_bulk,
        "converged": diagnosis.converged,
    }))
}

/// Seconds from the compiled kernel until R-hat < 1.01 and ESS > 400 on M1, with few draws.
fn converge(places: &Places) -> Result<Value> {
    let mut last = Value::Null;
    for draws in [100, 200, 500, 1000] {
        let (outcome, seconds) = sampled(&M1, on_gpu(places)?, 4, 200, draws)?;
        let diagnosis = outcome.diagnose(&SummaryOptions::default())?;
        let after = outcome.timing.warmup + outcome.timing.sampling;
        last = json!({
            "draws": draws,
            "seconds": seconds,
            "compile_s": outcome.timing.compile,
            "seconds_after_compile": after,
            "max_rhat": diagnosis.max_r_hat,
            "min_ess_bulk": diagnosis.min_ess_bulk,
            "converged": diagnosis.converged,
        });
        if diagnosis.converged {
            return Ok(last);
        }
    }
    Err(failure(format!("it did not converge: {last}")))
}

/// A lower precision against f64: the posteriors, the speed, and whether it was kept.
fn lower(places: &Places, example: &Example, precision: Precision) -> Result<Value> {
    let never = AtomicBool::new(false);
    let counts = [4, 500, 1000];
    let (exact, exact_s) = sampled_in(example, on_gpu(places)?, Precision::F64, counts, &never)?;
    let (found, found_s) = sampled_in(example, on_gpu(places)?, precision, counts, &never)?;
    let options = SummaryOptions::default();
    let (a, b) = (exact.diagnose(&options)?, found.diagnose(&options)?);
    let mut worst = 0.0f64;
    for (x, y) in a.summary.rows.iter().zip(&b.summary.rows) {
        let (x, y) = (&x.statistics, &y.statistics);
        let apart = (x.mean - y.mean).abs() / x.mcse_mean.hypot(y.mcse_mean);
        if apart.is_finite() {
            worst = worst.max(apart);
        }
    }
    // Of a hundred means the largest is beyond 4 standard errors once in 160 times.
    if worst > 5.0 {
        return Err(failure(format!(
            "a mean is {worst:.1} standard errors from that in f64"
        )));
    }
    Ok(json!({
        "kept": found.precision == precision,
        "findings": found.findings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "means_apart_mcse": worst,
        "f64_s": exact_s,
        "seconds": found_s,
        "f64_leapfrogs_per_s": exact.run.gradients as f64 / exact_s,
        "leapfrogs_per_s": found.run.gradients as f64 / found_s,
    }))
}

/// How long a run goes on that was told to stop.
fn stop(places: &Places) -> Result<Value> {
    let device = on_gpu(places)?;
    let told = AtomicBool::new(false);
    let after = Duration::from_secs(3);
    let (ended, ran) = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(after);
            told.store(true, Ordering::Relaxed);
        });
        let start = Instant::now();
        let counts = [64, 1000, 1_000_000];
        let ran = sampled_in(&M2, device, Precision::F64, counts, &told);
        (start.elapsed(), ran)
    });
    let (outcome, _) = ran?;
    Ok(json!({
        "seconds_to_stop": ended.saturating_sub(after).as_secs_f64(),
        "draws_kept": outcome.n_draws(),
        "interrupted": outcome.run.interrupted,
    }))
}

/// Five runs of M1 with 64 chains: the spread of their times, and of their draws, which is none.
fn repeat(places: &Places) -> Result<Value> {
    let mut times = Vec::new();
    let mut first = Vec::new();
    for k in 0..5 {
        let (outcome, _) = sampled(&M1, on_gpu(places)?, 64, 200, 500)?;
        times.push(outcome.timing.sampling);
        let bits = bits(&outcome);
        if k > 0 && bits != first {
            return Err(failure("the same seed gave other draws"));
        }
        first = bits;
    }
    times.sort_by(f64::total_cmp);
    Ok(json!({"sampling_s": times, "spread": (times[4] - times[0]) / times[2]}))
}

/// Far more memory than any card has: an error that says so.
fn too_many(places: &Places) -> Result<Value> {
    let mut gpu = Gpu::open(places, 0)?;
    match gpu.reserve(0, 1 << 40) {
        Ok(_) => Err(failure("8 TiB were given out")),
        Err(error) if error.to_string().contains("too little memory") => {
            let n = fitzroy_device::gpu::conformance(&mut gpu, 32)?;
            Ok(json!({"said": error.to_string(), "values_compared_after_it": n}))
        }
        Err(error) => Err(error),
    }
}
