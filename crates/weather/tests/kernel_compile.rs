//! The compile gate: the kernels of training compile for the architectures of real GPUs, without
//! spilling, within a budget of registers.
//!
//! `FITZROY_NVRTC` names the compiler; with `FITZROY_REQUIRE_NVRTC` a missing one fails.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

#[path = "../../../tests/support/nvrtc.rs"]
mod nvrtc;

use fitzroy_device::gpu::text::for_device;
use fitzroy_device::gpu::work::Math;
use fitzroy_device::gpu::{Program, Target};
use fitzroy_device::nn::{Network, Recompute};
use fitzroy_ptx::compiled;
use fitzroy_weather::data::{Archive, Channel, Mask, SplitBy, Splits};
use fitzroy_weather::time::Time;
use fitzroy_weather::train::{
    Architecture, Baseline, GraphKind, Problem, Task, Weighting, kernel_names, kernel_text,
};
use nvrtc::compiler;

/// Registers of a thread: 80 of 65,536 let 25 of 32 blocks of a Hopper's multiprocessor be at work.
/// The widest kernel takes 72.
const REGISTERS: u32 = 80;

/// A forecast 256 wide, as wide as rows of the original pipeline.
fn problem(baseline: Baseline) -> Problem {
    let n_times = 40;
    let lat: Vec<f64> = (0..6).map(|k| 40.0 + f64::from(k)).collect();
    let channel = |variable: &str| Channel {
        variable: variable.into(),
        level: Some(850.0),
        units: String::new(),
    };
    let archive = Archive {
        times: (0..n_times).map(|k| Time(21_600 * k)).collect(),
        step_s: 21_600,
        lon: lat.clone(),
        lat,
        channels: vec![channel("TEM"), channel("U"), channel("V")],
        absent: Vec::new(),
        // Kernels of momentum are those that know missing values, too.
        mask: (baseline == Baseline::Momentum).then(|| Mask::new(n_times as usize * 108)),
        curved: None,
        statics: Vec::new(),
        values: (0..n_times * 108)
            .map(|k| (k * 37 % 101) as f32)
            .collect::<Vec<f32>>()
            .into(),
    };
    let by = SplitBy::Ratios {
        train: 0.6,
        validation: 0.2,
    };
    let splits = Splits::new(&archive, &by).unwrap();
    let architecture = Architecture {
        graph: GraphKind::Flat,
        baseline,
        latent: 256,
        n_layers: 1,
        hidden: 256,
        n_hidden: 1,
    };
    let task = Task::Forecast { boundary_width: 1 };
    Problem::new(
        archive,
        splits,
        task,
        architecture,
        Weighting::default(),
        None,
    )
    .unwrap()
}

#[test]
fn kernels_of_training_compile_within_their_budget() {
    let Some(compiler) = compiler() else { return };
    for (arch, math, baseline) in [
        (70, Math::F32, Baseline::Linear),
        (80, Math::Bf16, Baseline::Linear),
        (86, Math::Tf32, Baseline::Momentum),
        (89, Math::Bf16, Baseline::Momentum),
        (90, Math::Bf16, Baseline::Linear),
        (90, Math::F32, Baseline::Momentum),
        (100, Math::Bf16, Baseline::Momentum),
        (120, Math::Tf32, Baseline::Linear),
    ] {
        let problem = problem(baseline);
        let network = Network::new(&problem.spec, Recompute::None).unwrap();
        let text = for_device(&Program {
            text: kernel_text(&problem, &network, math),
            team: 32,
        });
        let made = compiled::compile(&compiler, &text, Target::Cubin(arch));
        let (cubin, usage) = made.unwrap_or_else(|e| panic!("sm_{arch}: {e}"));
        assert!(cubin.starts_with(b"\x7fELF"));
        for name in kernel_names() {
            let there = cubin.windows(name.len()).any(|w| w == name.as_bytes());
            assert!(there, "{name} is missing");
        }
        let what = format!("sm_{arch} {}: {usage:?}", math.name());
        assert!(
            usage.registers <= REGISTERS && usage.spill_bytes == 0,
            "{what}"
        );
    }
}
