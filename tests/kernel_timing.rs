//! The time that a machine takes to compile a kernel is booked as compilation, not as warm-up.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

mod support;

use fitzroy::Result;
use fitzroy::model::joint::Rewrites;
use fitzroy::run::{Caller, Device, Settings, run};
use fitzroy_device::gpu::host::{HostLibrary, HostMachine};
use fitzroy_device::gpu::{Machine, Meanwhile, Program, Take, Words};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Seconds that a clock says a compilation took.
const COMPILES_S: u64 = 100;
/// Seconds that it says a launch took.
const RUNS_S: u64 = 1;

/// This processor, with a clock of its own that moves when a text is compiled or run.
struct Slow {
    host: HostMachine,
    clock: Arc<AtomicU64>,
    loaded: Option<Program>,
}

impl Machine for Slow {
    fn load(&mut self, program: &Program) -> Result<()> {
        if self.loaded.as_ref() != Some(program) {
            self.clock.fetch_add(COMPILES_S, Ordering::Relaxed);
            self.loaded = Some(program.clone());
        }
        self.host.load(program)
    }
    fn reserve(&mut self, slot: usize, words: usize) -> Result<u64> {
        self.host.reserve(slot, words)
    }
    fn write(&mut self, at: u64, words: &[u64]) -> Result<()> {
        self.host.write(at, words)
    }
    fn read(&mut self, words: Words, take: Take<'_>) -> Result<()> {
        self.host.read(words, take)
    }
    fn launch(&mut self, job: u64, n_teams: usize, meanwhile: Meanwhile<'_>) -> Result<f64> {
        self.clock.fetch_add(RUNS_S, Ordering::Relaxed);
        self.host.launch(job, n_teams, meanwhile)
    }
}

/// Catches: a kernel that is compiled in the first transition and makes the warm-up look long.
#[test]
fn kernels_are_compiled_under_compile() {
    if !HostLibrary::has_compiler() {
        assert!(std::env::var_os("FITZROY_REQUIRE_GXX").is_none());
        eprintln!("skipped: there is no g++");
        return;
    }
    let joint = support::example_joint("eight-schools", "eight-schools.csv").unwrap();
    let clock = Arc::new(AtomicU64::new(0));
    let machine = Slow {
        host: HostMachine::new(1, 1),
        clock: Arc::clone(&clock),
        loaded: None,
    };
    let mut settings = Settings {
        rewrites: Rewrites::NONE,
        device: Device::machine(machine),
        ..Settings::default()
    };
    settings.sampler.chains = 2;
    settings.sampler.tune = 60;
    settings.sampler.draws = 40;
    let caller = Caller {
        now: &|| clock.load(Ordering::Relaxed) as f64,
        ..Caller::silent()
    };
    let timing = run(&joint, &settings, &caller).unwrap().timing;
    let compilations = timing.compile / COMPILES_S as f64;
    assert!(
        compilations >= 1.0 && compilations.fract() == 0.0,
        "{timing:?}"
    );
    let all = clock.load(Ordering::Relaxed) as f64;
    let chains = timing.warmup + timing.sampling;
    assert!(timing.warmup > 0.0 && timing.sampling > 0.0, "{timing:?}");
    assert_eq!(chains, all - timing.compile, "{timing:?}");
}
