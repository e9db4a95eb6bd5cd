//! What the steps of the sampler do: is it right, how fast is it, and does it keep within bounds.

use crate::bits::same_bits;
use crate::models::{Example, M1, M1_WHOLE, M2, M2_WHOLE};
use crate::others::pymc_s;
use crate::runs::{
    draws, leapfrogs_per_s, on_gpu, on_gpu_with_clock, ready, run_of, same_draws, sampled,
    sampled_in, settings,
};
use crate::steps::{Setup, failure};
use fitzroy::Result;
use fitzroy::diagnose::SummaryOptions;
use fitzroy::fit::sample::Integrator;
use fitzroy::fit::sample::kernel::program;
use fitzroy::run::{Device, KernelMemory, Settings, Team, kernel_source};
use fitzroy::verify::{Depth, verify};
use fitzroy_device::gpu::text::Precision;
use fitzroy_device::gpu::{Gpu, Machine, Places};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(crate) fn verified(places: &Places) -> Result<Value> {
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
    let version = |found: &Option<(String, (u32, u32))>| {
        found.as_ref().map(|(_, v)| format!("{}.{}", v.0, v.1))
    };
    Ok(json!({
        "cpu": fitzroy_device::probe::model(),
        "cpu_threads": std::thread::available_parallelism().map_or(1, usize::from),
        "driver": version(&found.gpus.driver),
        "nvrtc": version(&found.gpus.compiler),
        "gpu": gpu.description.name,
        "capability": format!("{}.{}", gpu.description.capability.0, gpu.description.capability.1),
        "multiprocessors": gpu.description.multiprocessors,
        "clock_mhz": gpu.description.clock_mhz,
        "memory_bytes": gpu.description.memory_bytes,
        "free_bytes": gpu.description.free_bytes,
        "ecc": gpu.description.ecc,
        "values_compared": gpu.compared,
        "copy_gb_per_s": rates.copy_gb_per_s,
        "f64_tflop_per_s": rates.f64_tflop_per_s,
        "f32_tflop_per_s": rates.f32_tflop_per_s,
        "sensors": gpu.sensors.as_ref().map(|s| json!({
            "temperature_c": s.temperature_c,
            "clock_mhz": s.clock_mhz,
            "power_w": s.power_w,
        })),
    }))
}

/// Seconds to make the kernels of M1 and M2 ready: compiled, and found among those kept.
pub(crate) fn compile(places: &Places) -> Result<Value> {
    let mut found = serde_json::Map::new();
    let mut slowest = 0.0f64;
    for (name, example) in [
        ("m1", &M1),
        ("m1_whole", &M1_WHOLE),
        ("m2", &M2),
        ("m2_whole", &M2_WHOLE),
    ] {
        let settings = Settings {
            rewrites: example.rewrites,
            ..Settings::default()
        };
        let source = kernel_source(&example.joint()?, &settings)?;
        let made = ready(places, &program(&source, 128, &settings.sampler))?;
        let [cold, cached] = made.seconds;
        slowest = slowest.max(cached);
        found.insert(format!("{name}_cold_s"), json!(cold));
        found.insert(format!("{name}_cached_s"), json!(cached));
        found.insert(format!("{name}_registers"), json!(made.registers));
        found.insert(format!("{name}_local_bytes"), json!(made.local_bytes));
    }
    found.insert("slowest_cached_s".into(), json!(slowest));
    Ok(Value::Object(found))
}

/// The same seed on CPU and GPU, there also with chains that are spread over multiprocessors: the same
/// bits.
pub(crate) fn equal(places: &Places, example: &Example, n: usize) -> Result<Value> {
    let (cpu, cpu_s) = sampled(example, Device::threads(), 4, n, n)?;
    let (gpu, gpu_s) = sampled(example, on_gpu(places)?, 4, n, n)?;
    let (sharded, sharded_s) = {
        let device = on_gpu(places)?.with_team(Team::Sharded);
        sampled(example, device, 4, n, n)?
    };
    same_draws("sharded chains", &cpu, &sharded)?;
    let compared = same_draws("a team to a chain", &cpu, &gpu)?;
    Ok(json!({
        "numbers_compared": compared,
        "cpu_s": cpu_s,
        "gpu_s": gpu_s,
        "sharded_s": sharded_s,
    }))
}

/// How fast chains advance, and whether they converge. All parameters of a model take leapfrogs, as in
/// other programs, so that a step is a gradient everywhere.
pub(crate) fn speed(
    places: &Places,
    example: &Example,
    chains: usize,
    n: usize,
    team: Team,
) -> Result<Value> {
    let (device, busy) = on_gpu_with_clock(places)?;
    let never = AtomicBool::new(false);
    let suit = |settings: &mut Settings, _| {
        settings.rewrites = example.rewrites;
        if example.is_whole() {
            settings.sampler.integrator = Integrator::Leapfrog;
        }
    };
    let (outcome, seconds) = run_of(
        &example.joint()?,
        device.with_team(team),
        Precision::F64,
        [chains, n, n],
        &never,
        &suit,
    )?;
    let diagnosis = outcome.diagnose(&SummaryOptions::default())?;
    let run = &outcome.run;
    let per_s = leapfrogs_per_s(&outcome);
    // What the GPU does alone, without the host that keeps the books of many chains.
    let kernel_s = 1e-9 * busy.load(Ordering::Relaxed) as f64;
    Ok(json!({
        "chains": chains,
        "seconds": seconds,
        // With that of the kernel, where it was not kept from before.
        "compile_s": outcome.timing.compile,
        "warmup_s": outcome.timing.warmup,
        "sampling_s": outcome.timing.sampling,
        "kernel_s": kernel_s,
        "leapfrogs": run.gradients - run.warmup_gradients,
        "leapfrogs_per_s": per_s,
        "leapfrogs_per_s_per_chain": per_s / chains as f64,
        "kernel_leapfrogs_per_s": run.gradients as f64 / kernel_s,
        "max_rhat": diagnosis.max_r_hat,
        "max_rhat_nested": diagnosis.max_r_hat_nested,
        "min_ess_bulk": diagnosis.min_ess_bulk,
        "converged": diagnosis.converged(),
    }))
}

/// Seconds from the compiled kernel until R-hat < 1.01 and ESS > 400 on M1, with few draws.
pub(crate) fn converge(places: &Places) -> Result<Value> {
    let mut last = Value::Null;
    for draws in [100, 200, 500, 1000] {
        // Kernels are compiled, and kept, in the first of two runs.
        let (_, with_compilation) = sampled(&M1, on_gpu(places)?, 4, 200, draws)?;
        let (outcome, seconds) = sampled(&M1, on_gpu(places)?, 4, 200, draws)?;
        let diagnosis = outcome.diagnose(&SummaryOptions::default())?;
        last = json!({
            "draws": draws,
            "seconds_of_first_run": with_compilation,
            "seconds_after_compile": seconds,
            "max_rhat": diagnosis.max_r_hat,
            "min_ess_bulk": diagnosis.min_ess_bulk,
            "converged": diagnosis.converged(),
        });
        if diagnosis.converged() {
            return Ok(last);
        }
    }
    Err(failure(format!("it did not converge: {last}")))
}

/// M1 as `fitzroy sample` has it and with all parameters, from the model's text to diagnosed draws,
/// against PyMC on a CPU with the same counts.
pub(crate) fn speed_up(places: &Places) -> Result<Value> {
    let (theirs, ended) = pymc_s()?;
    let mut found = serde_json::Map::new();
    let mut slowest = 0.0f64;
    for (name, example) in [("rewritten", &M1), ("whole", &M1_WHOLE)] {
        let start = Instant::now();
        let (outcome, _) = sampled(example, on_gpu(places)?, 4, 1000, 1000)?;
        let diagnosis = outcome.diagnose(&SummaryOptions::default())?;
        let seconds = start.elapsed().as_secs_f64();
        slowest = slowest.max(seconds);
        found.insert(
            name.into(),
            json!({"seconds": seconds, "converged": diagnosis.converged()}),
        );
    }
    found.insert("pymc_cpu_s".into(), json!(theirs));
    found.insert("pymc_had_ended".into(), json!(ended));
    found.insert("speed_up_at_least".into(), json!(theirs / slowest));
    Ok(Value::Object(found))
}

/// Memory as it is said before a run, and as it is taken.
pub(crate) fn memory(places: &Places) -> Result<Value> {
    const CHAINS: usize = 1024;
    let gpu = Gpu::open(places, 0)?;
    let (used, free) = (gpu.used(), gpu.free_bytes());
    let device = Device::gpu(gpu, Precision::F64);
    let counts = [CHAINS, 20, 20];
    let mut asked = settings(device.clone(), Precision::F64, counts);
    asked.rewrites = M2_WHOLE.rewrites;
    let expected = KernelMemory::new(&M2_WHOLE.joint()?, &asked)?.bytes(CHAINS);
    sampled(&M2_WHOLE, device, CHAINS, counts[1], counts[2])?;
    let used = used.load(Ordering::Relaxed);
    let found = json!({
        "chains": CHAINS,
        "free_bytes": free,
        "expected_bytes": expected,
        "used_bytes": used,
    });
    match (expected / 2..=expected).contains(&used) {
        true => Ok(found),
        false => Err(failure(format!("the estimate is off: {found}"))),
    }
}

/// A lower precision against f64: the posteriors, the speed, and whether it was kept.
pub(crate) fn lower(places: &Places, example: &Example, precision: Precision) -> Result<Value> {
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
        "f64_leapfrogs_per_s": leapfrogs_per_s(&exact),
        "leapfrogs_per_s": leapfrogs_per_s(&found),
    }))
}

/// How long a run goes on that was told to stop.
pub(crate) fn stop(places: &Places) -> Result<Value> {
    let device = on_gpu(places)?;
    let told = AtomicBool::new(false);
    let after = Duration::from_secs(3);
    let (ended, ran) = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(after);
            told.store(true, Ordering::Relaxed);
        });
        let start = Instant::now();
        // More chains make gigabytes of draws in the meantime, which take their time to be collected.
        let counts = [8, 1000, 1_000_000];
        let ran = sampled_in(&M2_WHOLE, device, Precision::F64, counts, &told);
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
pub(crate) fn repeat(places: &Places, setup: &Setup<'_>) -> Result<Value> {
    let mut times = Vec::new();
    let mut first = Vec::new();
    for k in 0..5 {
        let (outcome, _) = sampled(
            &M1_WHOLE,
            on_gpu(places)?,
            64,
            setup.few(200),
            setup.few(5000),
        )?;
        times.push(outcome.timing.sampling);
        let made = draws(&outcome);
        if k > 0 {
            same_bits("runs of one seed", &made, &first)?;
        }
        first = made;
    }
    times.sort_by(f64::total_cmp);
    Ok(json!({"sampling_s": times, "spread": (times[4] - times[0]) / times[2]}))
}

/// Far more memory than any card has: an error that says so.
pub(crate) fn too_many(places: &Places) -> Result<Value> {
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
