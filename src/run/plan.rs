//! Which device a run is faster on: a prediction from the cost of one gradient on the CPU and from
//! what a GPU says of itself.

use super::Settings;
use super::attempt::allowed;
use super::compiled::{Evaluator, Terms};
use super::device::{INSTRUCTIONS, Load};
use super::posterior::ModelPosterior;
use crate::Result;
use crate::fit::sample::Target;
use crate::model::joint::Joint;
use fitzroy_device::gpu::Description;
use fitzroy_device::gpu::text::Precision;

/// What a run asks of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Seconds of one gradient on one thread of the CPU.
    pub gradient_s: f64,
    /// Elements computed for a gradient.
    pub n_operations: f64,
    /// Coordinates.
    pub dim: usize,
    /// Chains.
    pub chains: usize,
    /// Transitions of a chain, warm-up included.
    pub transitions: usize,
    /// Gradients of a transition.
    pub gradients: f64,
    /// Threads of the CPU that run chains.
    pub threads: usize,
}

/// What a GPU says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Inventory {
    /// Its name on the command line, such as `cuda:0`.
    pub label: String,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Highest clock in MHz.
    pub clock_mhz: u32,
    /// Operations in f64 that a multiprocessor starts per clock.
    pub f64_per_clock: f64,
    /// What the kernel would compute in.
    pub precision: Precision,
}

/// The device of a run, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Whether it is the GPU.
    pub on_gpu: bool,
    /// Predicted seconds of the CPU.
    pub cpu_s: f64,
    /// Predicted seconds of the GPU.
    pub gpu_s: f64,
    /// The sentence for people.
    pub reason: String,
}

/// Gradients of a transition, where none was made yet.
const STEPS: f64 = 15.0;
/// Runs that the CPU ends before this many seconds stay there.
const SHORT_S: f64 = 2.0;
/// Share of the CPU's time that a GPU must stay below: its prediction is the less certain one.
const WORTH: f64 = 0.7;
/// Seconds to take a GPU into use and to compile, where nothing was kept.
pub const OPENING_S: f64 = 1.0;
/// Warps that a multiprocessor has room for, each thread with 168 registers as most kernels have.
const WARPS: f64 = 12.0;
/// Operations in f32 that a multiprocessor starts per clock.
const F32_PER_CLOCK: f64 = 128.0;

/// Chooses between the CPU and one GPU. The times of the GPU are estimates from instruction counts.
pub fn plan(costs: &Costs, gpu: &Inventory) -> Plan {
    let turns = costs.chains.div_ceil(costs.threads.max(1)) as f64;
    let cpu_s = costs.gradient_s * costs.gradients * costs.transitions as f64 * turns;
    let cost = format!("{:.2} µs a gradient on the CPU", 1e6 * costs.gradient_s);
    weigh(&cost, cpu_s, seconds_on(costs, gpu), gpu)
}

/// Chooses between predicted seconds of the CPU and of one GPU; `cost` says what the former rest on.
pub fn weigh(cost: &str, cpu_s: f64, gpu_s: f64, gpu: &Inventory) -> Plan {
    let on_gpu = cpu_s >= SHORT_S && gpu_s < WORTH * cpu_s;
    let (needs, other) = match on_gpu {
        true => ("needs", "cpu"),
        false => ("would need", "cuda"),
    };
    let reason = format!(
        "auto: {cost}, about {} in all; {} {needs} an estimated {}. Force with ⟨device {other}⟩",
        seconds(cpu_s),
        gpu.label,
        seconds(gpu_s)
    );
    Plan {
        on_gpu,
        cpu_s,
        gpu_s,
        reason,
    }
}

impl Inventory {
    /// What the driver says of a GPU, of which kernels would compute in `precision`.
    pub fn of(description: &Description, precision: Precision) -> Inventory {
        Inventory {
            label: format!("cuda:{}", description.index),
            multiprocessors: description.multiprocessors,
            memory_bytes: description.memory_bytes,
            clock_mhz: description.clock_mhz,
            f64_per_clock: description.f64_per_clock(),
            precision,
        }
    }

    /// Clocks of `n_operations` elementwise operations that all multiprocessors share.
    fn clocks(&self, n_operations: f64) -> f64 {
        let per_clock = match self.precision {
            Precision::F64 => self.f64_per_clock,
            Precision::Mixed | Precision::F32 => F32_PER_CLOCK,
        };
        n_operations * INSTRUCTIONS / (f64::from(self.multiprocessors.max(1)) * per_clock)
    }

    fn hertz(&self) -> f64 {
        1e6 * f64::from(self.clock_mhz.max(1))
    }

    /// Seconds of `n_operations` elementwise operations that all multiprocessors share.
    pub fn seconds(&self, n_operations: f64) -> f64 {
        self.clocks(n_operations) / self.hertz()
    }
}

/// Seconds that a run would take on a GPU, estimated from instruction counts.
pub fn seconds_on(costs: &Costs, gpu: &Inventory) -> f64 {
    let load = Load {
        dim: costs.dim,
        n_operations: costs.n_operations,
        chains: costs.chains,
        multiprocessors: gpu.multiprocessors as usize,
        memory_bytes: gpu.memory_bytes,
    };
    let team = load.team();
    let warps = (costs.chains * team) as f64 / 32.0;
    let rounds = warps / (f64::from(gpu.multiprocessors.max(1)) * WARPS);
    let alone = load.clocks(team) * rounds.max(1.0);
    let all = gpu.clocks(costs.chains as f64 * costs.n_operations);
    let clocks = costs.gradients * costs.transitions as f64 * alone.max(all);
    OPENING_S + clocks / gpu.hertz()
}

/// Cards of clusters as their data sheets have them, of each the slowest that bears the name:
/// multiprocessors, gigabytes of memory, highest clock in MHz, operations in f64 that a multiprocessor
/// starts per clock.
const CARDS: [(&str, u32, u64, u32, f64); 8] = [
    ("v100", 80, 16, 1_380, 32.0),
    ("a100", 108, 40, 1_410, 32.0),
    ("h100", 114, 80, 1_755, 64.0),
    ("h200", 132, 141, 1_785, 64.0),
    ("t4", 40, 16, 1_590, 2.0),
    ("a40", 84, 48, 1_740, 2.0),
    ("l4", 58, 24, 2_040, 2.0),
    ("l40s", 142, 48, 2_520, 2.0),
];

/// What is known of cards that are not here; without a precision that was asked for, each computes
/// in f64 where that is fast, else in mixed precision, as `auto` would.
pub fn cards(precision: Option<Precision>) -> impl Iterator<Item = Inventory> {
    CARDS.into_iter().map(
        move |(name, multiprocessors, gigabytes, clock_mhz, f64_per_clock)| Inventory {
            label: name.into(),
            multiprocessors,
            memory_bytes: gigabytes * 1_000_000_000,
            clock_mhz,
            f64_per_clock,
            precision: precision.unwrap_or(match f64_per_clock < 16.0 {
                true => Precision::Mixed,
                false => Precision::F64,
            }),
        },
    )
}

/// Seconds with two digits.
fn seconds(x: f64) -> String {
    match x {
        x if x < 1e-3 => format!("{:.0} µs", 1e6 * x),
        x if x < 0.1 => format!("{:.0} ms", 1e3 * x),
        x if x < 10.0 => format!("{x:.1} s"),
        x => format!("{x:.0} s"),
    }
}

/// How long gradients are timed, in seconds.
const TIMED_S: f64 = 5e-3;

/// Times gradients of `joint` at the origin on one thread, by the caller's clock, for 5 ms; the
/// fastest counts, for other programs only slow one down.
///
/// # Errors
/// As [`super::run`].
pub fn gradient_costs(joint: &Joint, settings: &Settings, now: &dyn Fn() -> f64) -> Result<Costs> {
    let terms = match settings.prior_only {
        true => Terms::Priors,
        false => Terms::All,
    };
    let joint = joint.rewritten(allowed(settings));
    let posterior = ModelPosterior::new(&joint, settings.coordinates, terms, settings.engine)?;
    let compiled = posterior.compiled();
    let mut evaluator = Evaluator::new(compiled);
    let (position, mut slope) = (vec![0.0; compiled.dim], vec![0.0; compiled.dim]);
    let (start, mut fastest, mut n) = (now(), f64::INFINITY, 0);
    loop {
        // Many at a time, since a clock may be coarser than a gradient is long.
        let before = now();
        let batch = 1 + n / 4;
        for _ in 0..batch {
            std::hint::black_box(evaluator.value_and_gradient(&position, &mut slope));
        }
        n += batch;
        let after = now();
        fastest = fastest.min((after - before) / batch as f64);
        if after - start > TIMED_S || n > 1_000_000 {
            break;
        }
    }
    let sampler = &settings.sampler;
    Ok(Costs {
        gradient_s: fastest,
        n_operations: compiled.n_operations(),
        dim: compiled.dim,
        chains: sampler.chains,
        transitions: sampler.tune + sampler.draws,
        gradients: STEPS,
        threads: sampler.threads,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(gradient_s: f64, n_operations: f64, chains: usize) -> Costs {
        Costs {
            gradient_s,
            n_operations,
            dim: 100,
            chains,
            transitions: 2_000,
            gradients: STEPS,
            threads: 8,
        }
    }

    fn h100() -> Inventory {
        Inventory {
            label: "cuda:0".into(),
            multiprocessors: 132,
            memory_bytes: 80_000_000_000,
            clock_mhz: 1_980,
            f64_per_clock: 64.0,
            precision: Precision::F64,
        }
    }

    /// A card for drawing, on which f64 runs at 1/64.
    fn a6000(precision: Precision) -> Inventory {
        Inventory {
            label: "cuda:0".into(),
            multiprocessors: 84,
            memory_bytes: 80_000_000_000,
            clock_mhz: 1_800,
            f64_per_clock: 2.0,
            precision,
        }
    }

    #[test]
    fn small_models_with_few_chains_stay_on_the_cpu() {
        let found = plan(&costs(1e-6, 1e3, 4), &h100());
        assert!(!found.on_gpu && found.cpu_s < 0.1, "{found:?}");
        assert!(
            found.reason.contains("Force with ⟨device cuda⟩"),
            "{}",
            found.reason
        );
    }

    #[test]
    fn heavy_models_and_many_chains_go_to_the_gpu() {
        for run in [costs(2e-3, 1e6, 4), costs(5e-6, 5e3, 1024)] {
            let found = plan(&run, &h100());
            assert!(found.on_gpu, "{found:?}");
            assert!(
                found.reason.contains("Force with ⟨device cpu⟩"),
                "{}",
                found.reason
            );
        }
    }

    /// Catches: chains beyond what the multiprocessors hold at once, for nothing.
    #[test]
    fn more_chains_than_a_gpu_holds_take_their_turns() {
        let on = |chains| seconds_on(&costs(1e-6, 10.0, chains), &h100()) - OPENING_S;
        assert_eq!(on(64), on(1024));
        assert!(on(10_000) > 5.0 * on(1024), "{} {}", on(10_000), on(1024));
    }

    #[test]
    fn a_gpu_must_be_clearly_faster_and_the_run_long() {
        // Just under two seconds on the CPU, and next to nothing on the GPU.
        let short = plan(&costs(6.6e-5, 10.0, 8), &h100());
        assert!(short.cpu_s < 2.0 && !short.on_gpu, "{short:?}");
        // The same time on both.
        let mut even = costs(1e-4, 1e5, 8);
        even.gradient_s *= plan(&even, &h100()).gpu_s / plan(&even, &h100()).cpu_s;
        assert!(!plan(&even, &h100()).on_gpu);
    }

    #[test]
    fn newer_cards_of_a_table_are_faster_and_longer_runs_take_longer() {
        let run = costs(1e-3, 1e6, 64);
        let on = |name: &str, run: &Costs| {
            let card = cards(None).find(|c| c.label == name);
            seconds_on(run, &card.expect("it is in the table"))
        };
        let (v100, a100, h100) = (on("v100", &run), on("a100", &run), on("h100", &run));
        assert!(v100 > a100 && a100 > h100, "{v100} {a100} {h100}");
        let deep = Costs {
            gradients: 10.0 * STEPS,
            ..run
        };
        let (short, long) = (h100 - OPENING_S, on("h100", &deep) - OPENING_S);
        assert!((long / short - 10.0).abs() < 1e-9, "{short} {long}");
        // Children of a study, with as many trials each: twice as many take twice as long.
        let study = |children: usize| Costs {
            dim: 11 * children + 22,
            ..costs(1e-6 * children as f64, 1e4 * children as f64, 4)
        };
        let time = |children: usize| on("h100", &study(children)) - OPENING_S;
        for children in [500, 1000, 2000, 4000] {
            let ratio = time(2 * children) / time(children);
            assert!((1.5..2.1).contains(&ratio), "{children}: {ratio}");
        }
        // Cards for pictures compute in mixed precision unless told otherwise.
        let f64s = cards(None)
            .filter(|c| c.precision == Precision::F64)
            .count();
        assert_eq!(f64s, 4);
        assert!(cards(Some(Precision::F64)).all(|c| c.precision == Precision::F64));
    }

    #[test]
    fn slow_f64_keeps_a_run_on_the_cpu_that_a_lower_precision_moves() {
        // 5 operations per nanosecond on a thread of the CPU, as vector code does.
        let run = costs(2e-5, 1e5, 256);
        assert!(!plan(&run, &a6000(Precision::F64)).on_gpu);
        assert!(plan(&run, &a6000(Precision::Mixed)).on_gpu);
    }
}
