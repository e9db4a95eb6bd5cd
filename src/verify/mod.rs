//! Is this machine fit for work: what it is, whether its arithmetic is right, how fast it is,
//! and which settings follow.

mod document;
mod gpus;
mod numerics;

pub use document::{devices_json, verification_json};
pub use gpus::{Gpu, Gpus};

use fitzroy_device::gpu::{Description, Driver, Places};
use fitzroy_device::probe::{self, Cpu, Streams};

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// A short name: `cpu`, `numerics`, ...
    pub name: &'static str,
    /// How it went.
    pub verdict: Verdict,
    /// What was found, with units, and what to do when it is not good.
    pub detail: String,
}

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Pass,
    /// Not as it should be.
    Fail,
    /// Not there, so not checked.
    Skip,
}

impl Verdict {
    /// The word shown to people: `PASS`, `FAIL` or `SKIP`.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Pass => "PASS",
            Verdict::Fail => "FAIL",
            Verdict::Skip => "SKIP",
        }
    }
}

/// Measured speeds of one thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Memory traffic of a triad over arrays larger than the cache, in 10⁹ bytes a second.
    pub memory_gb_per_s: f64,
    /// Multiply-adds in registers, in 10⁹ operations a second (a multiply-add counts twice).
    pub arithmetic_gflop_per_s: f64,
}

/// Settings that suit this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// `--device`.
    pub device: &'static str,
    /// `--precision`.
    pub precision: &'static str,
    /// `--chains`.
    pub chains: usize,
    /// `--threads`.
    pub threads: usize,
    /// Bytes that a run should stay below: nine tenths of free memory, where that is known.
    pub memory_budget_bytes: Option<u64>,
}

/// Everything that [`verify`] finds out.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// The processor and the memory.
    pub cpu: Cpu,
    /// The GPUs, their driver and the compiler of their kernels.
    pub gpus: Gpus,
    /// The checks in the order in which they ran.
    pub checks: Vec<Check>,
    /// Measured speeds.
    pub rates: Rates,
    /// Recommended settings.
    pub settings: Settings,
    /// GPUs that passed.
    pub gpus_passed: usize,
}

impl Verification {
    /// True when no check failed. What is not there does not fail.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|c| c.verdict != Verdict::Fail)
    }
}

/// Elements per array of the memory measurement: 96 MiB in three arrays.
const STREAM_ELEMENTS: usize = 4 << 20;
/// How long each speed is measured, in seconds.
const MEASURE_S: f64 = 0.05;

/// How much of a GPU is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Teams of one size.
    Usual,
    /// Teams of every size.
    Conformance,
}

/// The devices of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Devices {
    /// The processor and the memory.
    pub cpu: Cpu,
    /// What the driver says of every GPU.
    pub gpus: Vec<Description>,
    /// Why a GPU, or any, cannot be used.
    pub trouble: Option<String>,
}

/// Lists the devices, without a check; a driver is opened where `places` say.
pub fn devices(places: &Places) -> Devices {
    let mut out = Devices {
        cpu: probe::cpu(),
        gpus: Vec::new(),
        trouble: None,
    };
    match Driver::open(places) {
        Ok(driver) => {
            for index in 0..driver.n_devices() {
                match driver.describe(index) {
                    Ok(found) => out.gpus.push(found),
                    Err(trouble) => out.trouble = Some(trouble.to_string()),
                }
            }
        }
        Err(trouble) => out.trouble = Some(trouble.to_string()),
    }
    out
}

/// Looks at the machine, checks its arithmetic and measures it; takes about a third of a second,
/// and a few seconds more for every GPU.
///
/// `now` tells the time in seconds from any origin, and `gpus` where the libraries of a GPU may lie
/// and how much is checked (none: GPUs are left alone). The library holds no clock and reads no
/// environment.
pub fn verify(now: &dyn Fn() -> f64, gpus: Option<(&Places, Depth)>) -> Verification {
    let cpu = probe::cpu();
    let gpus = gpus.map_or_else(Gpus::default, |(places, depth)| {
        gpus::look(places, now, depth)
    });
    let rates = Rates {
        memory_gb_per_s: memory_rate(now),
        arithmetic_gflop_per_s: arithmetic_rate(now),
    };
    let mut checks = vec![cpu_check(&cpu), numerics::check(), numerics::engine()];
    checks.extend(gpus.checks.iter().cloned());
    let gpus_passed = gpus.found.iter().filter(|g| g.passed).count();
    let settings = Settings {
        device: "cpu",
        precision: "f64",
        chains: 4,
        threads: cpu.threads,
        memory_budget_bytes: cpu.memory.map(|m| m.free_bytes / 10 * 9),
    };
    Verification {
        cpu,
        gpus,
        checks,
        rates,
        settings,
        gpus_passed,
    }
}

fn cpu_check(cpu: &Cpu) -> Check {
    let threads = match cpu.threads {
        1 => "1 thread".to_string(),
        n => format!("{n} threads"),
    };
    let memory = match cpu.memory {
        Some(memory) => format!(
            "{:.1} of {:.1} GiB free",
            gib(memory.free_bytes),
            gib(memory.total_bytes)
        ),
        None => "memory unknown on this system".to_string(),
    };
    Check {
        name: "cpu",
        verdict: Verdict::Pass,
        detail: format!(
            "{}, {threads}, {}, {memory}",
            cpu.model,
            probe::level_name(cpu.simd)
        ),
    }
}

/// Bytes in GiB.
pub fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 30) as f64
}

fn memory_rate(now: &dyn Fn() -> f64) -> f64 {
    let mut streams = Streams::new(STREAM_ELEMENTS);
    streams.pass(); // The first pass makes the pages.
    let bytes = streams.bytes_per_pass() as f64;
    rate(now, bytes, || streams.pass()) / 1e9
}

fn arithmetic_rate(now: &dyn Fn() -> f64) -> f64 {
    let rounds = 20_000;
    let operations = (2 * probe::MULTIPLY_ADDS_PER_ROUND * rounds) as f64;
    rate(now, operations, || probe::multiply_adds(rounds)) / 1e9
}

/// Units of work a second, from the fastest of the runs that fit into [`MEASURE_S`]: other
/// programs can only slow a run down.
fn rate(now: &dyn Fn() -> f64, units: f64, mut run: impl FnMut() -> f64) -> f64 {
    let (start, mut fastest) = (now(), f64::INFINITY);
    for n_runs in 1..=1000 {
        let before = now();
        std::hint::black_box(run());
        let after = now();
        fastest = fastest.min(after - before);
        if n_runs >= 3 && after - start > MEASURE_S {
            break;
        }
    }
    units / fastest
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_fastest_run_counts_and_the_clock_is_the_callers() {
        // Each call of the clock adds a millisecond, so each run takes one.
        let ticks = Cell::new(0.0);
        let now = || {
            ticks.set(ticks.get() + 1e-3);
            ticks.get()
        };
        let got = rate(&now, 5.0, || 0.0);
        assert!((got - 5000.0).abs() < 1e-6, "{got}");
    }

    #[test]
    fn this_machine_passes_and_a_missing_gpu_is_no_failure() {
        let ticks = Cell::new(0.0);
        let now = || {
            ticks.set(ticks.get() + 1.0);
            ticks.get()
        };
        let nowhere = Places {
            driver: Some("/nowhere/libcuda.so.1".into()),
            ..Places::default()
        };
        let found = verify(&now, Some((&nowhere, Depth::Usual)));
        assert!(found.passed(), "{:#?}", found.checks);
        assert_eq!(found.gpus_passed, 0);
        assert!(found.checks.iter().any(|c| c.verdict == Verdict::Skip));
    }
}
