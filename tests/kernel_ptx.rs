//! The PTX that NVIDIA's compiler makes of the sampler's kernels, executed here: it makes the draws of the
//! CPU, bit for bit.
//!
//! `FITZROY_NVRTC` names the compiler; with `FITZROY_REQUIRE_NVRTC` a missing one fails.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

#[path = "support/nvrtc.rs"]
mod nvrtc;
mod support;

use fitzroy::fit::sample::{Integrator, MetricKind};
use fitzroy::model::joint::Joint;
use fitzroy::run::{CoordinateChoice, Device, Settings, Team};
use fitzroy_device::gpu::{Compiler, Machine, Program, closeness, conformance, idle, read_into};
use fitzroy_ptx::machine::PtxMachine;
use fitzroy_ptx::run::Order;
use nvrtc::compiler;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::EXAMPLES;
use support::draws::{Bits, bits, sampled, settings};

/// The architecture, teams, and the order of threads.
#[derive(Clone, Copy)]
struct Launch {
    arch: u32,
    team: usize,
    order: Order,
}

#[track_caller]
fn assert_same_draws(
    compiler: &Arc<Compiler>,
    joint: &Joint,
    settings: &Settings,
    launch: Launch,
    what: &str,
) {
    let cpu = sampled(joint, settings, Device::threads()).unwrap();
    let machine = PtxMachine::new(Arc::clone(compiler), launch.arch).in_order(launch.order, 5);
    let counts = machine.counts();
    let device = Device::machine(machine).with_team(Team::Threads(launch.team));
    let what = format!("{what}, teams of {}, compute_{}", launch.team, launch.arch);
    let ptx = sampled(joint, settings, device).unwrap_or_else(|e| panic!("{what}: {e}"));
    // That kernels ran here at all: a small model takes some thousand instructions.
    let n = counts.lock().unwrap().instructions;
    assert!(n > 1_000, "{what}: {n} instructions");
    let (cpu_bits, ptx_bits) = (bits(&cpu), bits(&ptx));
    assert_eq!(cpu_bits.len(), ptx_bits.len(), "{what}");
    for ((name, a), (_, b)) in cpu_bits.iter().zip(&ptx_bits) {
        let first = a.iter().zip(b).position(|(x, y)| x != y);
        assert_eq!(first, None, "{what}: {name} differs from there on");
        assert_eq!(a.len(), b.len(), "{what}: {name}");
    }
    assert_eq!(cpu.run.gradients, ptx.run.gradients, "{what}");
}

const fn launch(arch: u32, team: usize) -> Launch {
    Launch {
        arch,
        team,
        order: Order::Lockstep,
    }
}

#[test]
fn a_small_model_makes_the_draws_of_the_cpu_with_every_team() {
    let Some(compiler) = compiler().map(Arc::new) else {
        return;
    };
    let joint = support::example_joint("eight-schools", "eight-schools.csv").unwrap();
    for launch in [
        launch(70, 32),
        launch(90, 128),
        launch(100, 512),
        launch(120, 32),
    ] {
        assert_same_draws(
            &compiler,
            &joint,
            &settings(30, 20),
            launch,
            "eight schools",
        );
    }
}

/// Catches: what only holds while the lanes of a warp stay together, and barriers that are missing.
#[test]
fn threads_in_any_order_make_the_same_draws() {
    let Some(compiler) = compiler().map(Arc::new) else {
        return;
    };
    for (name, file) in [
        ("eight-schools", "eight-schools.csv"),
        ("mixture", "mixture.csv"),
    ] {
        let joint = support::example_joint(name, file).unwrap();
        for (arch, team) in [(70, 32), (90, 64), (90, 512)] {
            let launch = Launch {
                arch,
                team,
                order: Order::Shuffled,
            };
            assert_same_draws(&compiler, &joint, &settings(4, 2), launch, name);
        }
    }
}

/// The examples, a half for each of two tests that run side by side.
fn examples(which: usize) {
    let Some(compiler) = compiler().map(Arc::new) else {
        return;
    };
    for (name, file, _) in EXAMPLES.iter().skip(which).step_by(2) {
        let joint = support::example_joint(name, file).unwrap();
        for launch in [launch(70, 32), launch(90, 128)] {
            assert_same_draws(&compiler, &joint, &settings(6, 3), launch, name);
        }
    }
}

#[test]
fn half_of_the_examples_make_the_draws_of_the_cpu() {
    examples(0);
}

#[test]
fn the_other_half_make_them_too() {
    examples(1);
}

/// Every distribution and every function of the language, in models made for the purpose: on each of them a
/// few short trajectories.
#[test]
fn every_distribution_and_function_makes_the_draws_of_the_cpu() {
    let Some(compiler) = compiler().map(Arc::new) else {
        return;
    };
    let shapes = [
        launch(70, 128),
        launch(80, 32),
        launch(90, 32),
        launch(100, 64),
    ];
    for ((name, joint), launch) in support::language::joints()
        .iter()
        .zip(shapes.iter().cycle())
    {
        let mut settings = settings(1, 1);
        settings.sampler.chains = 1;
        settings.sampler.max_treedepth = 2;
        assert_same_draws(&compiler, joint, &settings, *launch, name);
    }
}

#[test]
fn every_metric_makes_the_draws_of_the_cpu() {
    let Some(compiler) = compiler().map(Arc::new) else {
        return;
    };
    let joint = support::example_joint("hierarchical", "hierarchical.csv").unwrap();
    for metric in [MetricKind::Diagonal, MetricKind::Dense, MetricKind::LowRank] {
        let mut settings = settings(60, 4);
        settings.coordinates = CoordinateChoice::AsWritten;
        settings.sampler.metric = metric;
        settings.sampler.max_treedepth = 5;
        assert_same_draws(&compiler, &joint, &settings, launch(90, 128), metric.name());
    }
}

/// What `fitzroy verify` runs on a GPU: every operation of the engine, for teams of every size, and in lower
/// precision.
#[test]
fn every_operation_has_the_bits_of_the_cpu() {
    let Some(compiler) = compiler().map(Arc::new) else {
        return;
    };
    for (arch, team) in [(70, 32), (80, 64), (90, 256), (100, 512)] {
        let mut machine = PtxMachine::new(Arc::clone(&compiler), arch);
        let n = conformance(&mut machine, team);
        let n = n.unwrap_or_else(|e| panic!("compute_{arch}, {team}: {e}"));
        assert!(n > 40_000, "{n}");
    }
    for arch in [86, 120] {
        let mut machine = PtxMachine::new(Arc::clone(&compiler), arch);
        let off = closeness(&mut machine, 32);
        off.unwrap_or_else(|e| panic!("compute_{arch}: {e}"));
    }
}

const JOINS: &str = "
struct Job {
    const double *terms;
    const wide_t *counts;
    double *out;
    wide_t n;
};

ENTRY void advance(const Job *job)
{
    for (int k = 0; k < (int)job->n; ++k) {
        const double by_warp = JOIN_TILES(job->terms, (int)job->counts[k]);
        const double alone = join_tiles(job->terms, (int)job->counts[k]);
        if (MEMBER == 0) {
            job->out[2 * k] = by_warp;
            job->out[2 * k + 1] = alone;
        }
    }
}
";

/// A warp joins any number of tiles as one thread does.
#[test]
fn tiles_are_joined_by_a_warp_as_by_one_thread() {
    let Some(compiler) = compiler().map(Arc::new) else {
        return;
    };
    let counts: Vec<u64> = (1..=70)
        .chain([96, 127, 128, 129, 992, 1023, 1024, 1500])
        .collect();
    let terms = (1..1501u64).map(|k| {
        let digits = (k * 2_654_435_761 % 1_000_003) as f64;
        digits / 7.0 * 10f64.powi((k % 9) as i32 - 4)
    });
    let terms: Vec<u64> = terms.map(f64::to_bits).collect();
    let mut machine = PtxMachine::new(compiler, 90);
    let text = JOINS.to_string();
    machine.load(&Program { text, team: 32 }).unwrap();
    let mut place = |slot, words: &[u64]| {
        let at = machine.reserve(slot, words.len()).unwrap();
        machine.write(at, words).unwrap();
        at
    };
    let mut made = vec![0; 2 * counts.len()];
    let [terms, at_counts, out] = [place(0, &terms), place(1, &counts), place(2, &made)];
    let job = place(3, &[terms, at_counts, out, counts.len() as u64]);
    machine.launch(job, 1, &mut idle).unwrap();
    read_into(&mut machine, out, &mut made).unwrap();
    for (n, pair) in counts.iter().zip(made.chunks(2)) {
        assert_eq!(pair[0], pair[1], "{n} tiles");
        assert!(f64::from_bits(pair[0]) > 0.0, "{n} tiles");
    }
}

/// What makes threads of a kernel wait for each other, or puts their memory in order.
const MEETINGS: [&str; 3] = ["bar.sync", "bar.warp.sync", "membar.gl"];

/// A text without meeting number `left_out`, counted from 0; how many there are.
fn without(text: &str, left_out: usize) -> (String, usize) {
    let mut n = 0;
    let lines = text.lines().map(|line| {
        let is_meeting = MEETINGS.iter().any(|m| line.trim_start().starts_with(m));
        let is_out = is_meeting && n == left_out;
        n += usize::from(is_meeting);
        if is_out { "" } else { line }
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    (text, n)
}

/// What becomes of a run whose kernel lacks meeting number `left_out`; how many there are.
fn run_without(
    compiler: &Arc<Compiler>,
    (joint, settings): (&Joint, &Settings),
    team: usize,
    left_out: usize,
) -> (std::result::Result<Bits, String>, usize) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let edit = move |text: String| {
        let (text, n) = without(&text, left_out);
        counted.store(n, Ordering::Relaxed);
        text
    };
    let machine = PtxMachine::new(Arc::clone(compiler), 70)
        .in_order(Order::Lockstep, 5)
        .with_races()
        .with_most(30_000_000)
        .with_edit(Box::new(edit));
    let device = Device::machine(machine).with_team(Team::Threads(team));
    let made = sampled(joint, settings, device);
    let made = made.map(|m| bits(&m)).map_err(|e| e.to_string());
    (made, count.load(Ordering::Relaxed))
}

/// Meetings around the density that is computed anew where a kernel in lower precision takes over: kernels in
/// f64 have the code and never come there. Teams, and numbers of the meetings.
const OF_LOWER_PRECISION: [(usize, &[usize]); 3] = [(32, &[2, 3]), (128, &[2, 3]), (512, &[4])];

/// Every other meeting of threads in the kernel of a small model is needed, and is missed when it is left out: by
/// a race, by other draws, or by threads that wait for ever. Some only a dense metric has.
#[test]
fn a_meeting_that_is_left_out_of_a_kernel_is_missed() {
    let Some(compiler) = compiler().map(Arc::new) else {
        return;
    };
    let joint = support::example_joint("eight-schools", "eight-schools.csv").unwrap();
    let mut dense = settings(24, 2);
    dense.sampler.metric = MetricKind::Dense;
    // Some meetings are those of rotations.
    let mut rotating = dense.clone();
    rotating.sampler.integrator = Integrator::Rotation;
    let witnesses = [settings(6, 3), dense, rotating].map(|settings| {
        let cpu = bits(&sampled(&joint, &settings, Device::threads()).unwrap());
        (settings, cpu)
    });
    for (team, spare) in OF_LOWER_PRECISION {
        let mut n = 0;
        for (settings, cpu) in &witnesses {
            let (whole, count) = run_without(&compiler, (&joint, settings), team, usize::MAX);
            assert_eq!(whole.as_ref(), Ok(cpu), "teams of {team}, nothing left out");
            n = count;
        }
        assert!(n > 8, "{n}");
        let is_missed = |k: usize| {
            witnesses.iter().any(|(settings, cpu)| {
                let found = run_without(&compiler, (&joint, settings), team, k).0;
                found.as_ref() != Ok(cpu)
            })
        };
        let unseen: Vec<usize> = (0..n).filter(|k| !is_missed(*k)).collect();
        assert_eq!(unseen, spare, "teams of {team}");
    }
}
