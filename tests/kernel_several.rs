//! Several machines share the chains of a run and make the draws of one, bit for bit, whichever of them fails
//! and whenever.
//!
//! Kernels are compiled as C++ where there is g++; `FITZROY_NVRTC` names NVIDIA's compiler, whose PTX is executed
//! here as well.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

#[path = "support/nvrtc.rs"]
mod nvrtc;
mod support;

use fitzroy::Result;
use fitzroy::diagnose::FindingKind;
use fitzroy::fit::sample::{Adapt, MetricKind};
use fitzroy::model::joint::{Joint, Rewrites};
use fitzroy::run::{CoordinateChoice, Device, Outcome, Settings, Team};
use fitzroy_device::gpu::host::HostMachine;
use fitzroy_device::gpu::text::Precision;
use fitzroy_device::gpu::{Machine, Meanwhile, Program, Take, Words};
use fitzroy_graph::Error;
use fitzroy_ptx::machine::PtxMachine;
use fitzroy_ptx::run::Order;
use std::sync::Arc;
use support::draws::{bits, sampled, settings};
use support::has_compiler;

fn eight_schools() -> Joint {
    support::example_joint("eight-schools", "eight-schools.csv").unwrap()
}

/// What goes wrong with a machine, and never ends to.
#[derive(Clone, Copy)]
enum Wrong {
    Nothing,
    /// Program number so many, from 1.
    Load(usize),
    /// Launch number so many.
    Launch(usize),
    /// The copy from it that follows so many launches.
    Read(usize),
}

/// A machine that goes wrong.
struct Fragile {
    own: HostMachine,
    wrong: Wrong,
    loads: usize,
    launches: usize,
    dead: bool,
}

impl Fragile {
    fn new(wrong: Wrong) -> Fragile {
        Fragile {
            own: HostMachine::new(1, 5),
            wrong,
            loads: 0,
            launches: 0,
            dead: false,
        }
    }

    fn check(&mut self, is_now: bool) -> Result<()> {
        self.dead |= is_now;
        match self.dead {
            true => Err(Error::device("it fell off the bus")),
            false => Ok(()),
        }
    }
}

impl Machine for Fragile {
    fn load(&mut self, program: &Program) -> Result<()> {
        self.loads += 1;
        self.check(matches!(self.wrong, Wrong::Load(n) if n <= self.loads))?;
        self.own.load(program)
    }

    fn reserve(&mut self, slot: usize, words: usize) -> Result<u64> {
        self.check(false)?;
        self.own.reserve(slot, words)
    }

    fn write(&mut self, at: u64, words: &[u64]) -> Result<()> {
        self.check(false)?;
        self.own.write(at, words)
    }

    fn read(&mut self, words: Words, take: Take<'_>) -> Result<()> {
        self.check(matches!(self.wrong, Wrong::Read(n) if n <= self.launches))?;
        self.own.read(words, take)
    }

    fn launch(&mut self, job: u64, n_teams: usize, meanwhile: Meanwhile<'_>) -> Result<f64> {
        self.launches += 1;
        self.check(matches!(self.wrong, Wrong::Launch(n) if n <= self.launches))?;
        let (mut dead, wrong, launches) = (false, self.wrong, self.launches);
        // What is read meanwhile goes through the same gate.
        let own = &mut self.own;
        let seconds = own.launch(job, n_teams, &mut |machine| {
            dead = matches!(wrong, Wrong::Read(n) if n < launches);
            match dead {
                true => Err(Error::device("it fell off the bus")),
                false => meanwhile(machine),
            }
        });
        self.dead |= dead;
        seconds
    }
}

/// Machines of different speeds, and what goes wrong with each.
fn machines(wrongs: &[Wrong]) -> Device {
    let one = |(k, wrong): (usize, &Wrong)| {
        let device = Device::machine(Fragile::new(*wrong));
        let device = device.with_label(format!("cuda:{k}"));
        device.with_speed([1.0, 0.4, 0.7][k % 3])
    };
    Device::several(wrongs.iter().enumerate().map(one))
}

#[track_caller]
fn assert_same(expected: &Outcome, found: &Outcome, what: &str) {
    let (expected_bits, found_bits) = (bits(expected), bits(found));
    assert_eq!(expected_bits.len(), found_bits.len(), "{what}");
    for ((name, a), (_, b)) in expected_bits.iter().zip(&found_bits) {
        let first = a.iter().zip(b).position(|(x, y)| x != y);
        assert_eq!(first, None, "{what}: {name} differs from there on");
        assert_eq!(a.len(), b.len(), "{what}: {name}");
    }
    assert_eq!(expected.run.gradients, found.run.gradients, "{what}");
}

fn with_chains(n: usize, mut settings: Settings) -> Settings {
    settings.sampler.chains = n;
    settings
}

/// Catches: chains that get numbers by their place in a share, metrics of the wrong chain, books in the wrong
/// order.
#[test]
fn two_and_three_machines_make_the_draws_of_the_cpu_whatever_the_metric() {
    if !has_compiler() {
        return;
    }
    let joint = eight_schools();
    let cases = [
        (MetricKind::Auto, Adapt::Pooled),
        (MetricKind::Dense, Adapt::PerChain),
        (MetricKind::LowRank, Adapt::Pooled),
    ];
    for (metric, adapt) in cases {
        let mut settings = with_chains(5, settings(60, 30));
        settings.coordinates = CoordinateChoice::AsWritten;
        settings.sampler.metric = metric;
        settings.sampler.adapt = adapt;
        settings.sampler.max_treedepth = 6;
        let cpu = sampled(&joint, &settings, Device::threads()).unwrap();
        for n in [2, 3, 6] {
            let device = machines(&[Wrong::Nothing; 6][..n]);
            let found = sampled(&joint, &settings, device.clone()).unwrap();
            assert_same(&cpu, &found, &format!("{}, {n} machines", metric.name()));
            let made: Vec<u64> = device.records().map(|r| r.transitions()).collect();
            assert_eq!(made.iter().sum::<u64>(), 5 * 90, "{made:?}");
            assert!(
                made[0] >= made[1] && made[2..].iter().all(|m| *m > 0) || n != 2,
                "{made:?}"
            );
        }
    }
}

#[test]
fn superchains_on_several_machines_are_those_of_the_cpu() {
    if !has_compiler() {
        return;
    }
    let settings = with_chains(256, settings(30, 4));
    let joint = eight_schools();
    let cpu = sampled(&joint, &settings, Device::threads()).unwrap();
    let found = sampled(&joint, &settings, machines(&[Wrong::Nothing; 3])).unwrap();
    assert_same(&cpu, &found, "256 chains");
}

/// Catches: a launch that is lost or counted twice, a machine that is asked again after it failed, chains that
/// do not fit and are made all the same.
#[test]
fn a_machine_that_fails_loses_its_launch_and_not_the_run() {
    if !has_compiler() {
        return;
    }
    let joint = eight_schools();
    let settings = with_chains(5, settings(60, 40));
    let cpu = sampled(&joint, &settings, Device::threads()).unwrap();
    let wrongs = [
        Wrong::Load(1),
        Wrong::Launch(1),
        Wrong::Launch(2),
        Wrong::Launch(9),
        Wrong::Read(3),
        Wrong::Read(14),
    ];
    for (k, wrong) in wrongs.into_iter().enumerate() {
        for all in [
            &[wrong, Wrong::Nothing][..],
            &[Wrong::Nothing, wrong],
            &[wrong, Wrong::Launch(6), Wrong::Nothing],
        ] {
            let what = format!("case {k} of {} machines", all.len());
            let device = machines(all).with_most_chains(3);
            let found = sampled(&joint, &settings, device.clone());
            let found = found.unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_same(&cpu, &found, &what);
            let lost = found.findings.iter();
            let lost: Vec<_> = lost.filter(|f| f.kind == FindingKind::DeviceLost).collect();
            assert_eq!(lost.len(), all.len() - 1, "{what}");
            let said = lost[0].to_string();
            assert!(said.contains("it fell off the bus"), "{said}");
            let made: u64 = device.records().map(|r| r.transitions()).sum();
            assert_eq!(made, 5 * 100, "{what}");
        }
    }
}

#[test]
fn a_run_of_which_all_machines_fail_says_what_was_wrong_with_each() {
    if !has_compiler() {
        return;
    }
    let joint = eight_schools();
    let settings = with_chains(4, settings(60, 40));
    let found = sampled(
        &joint,
        &settings,
        machines(&[Wrong::Launch(5), Wrong::Read(8)]),
    );
    let said = found.err().unwrap().to_string();
    for part in [
        "all GPUs have failed",
        "cuda:0: it fell off",
        "cuda:1: it fell off",
    ] {
        assert!(said.contains(part), "{said}");
    }
    // Alone it has no name and no others.
    let found = sampled(&joint, &settings, machines(&[Wrong::Launch(5)]));
    assert_eq!(found.err().unwrap().to_string(), "it fell off the bus");
}

/// Catches: draws at which precisions are compared that depend on who has which chains.
#[test]
fn a_lower_precision_makes_the_same_draws_on_any_number_of_machines() {
    if !has_compiler() {
        return;
    }
    let joint = eight_schools();
    let mut settings = with_chains(4, settings(40, 10));
    settings.rewrites = Rewrites::NONE;
    settings.precision = Precision::Mixed;
    let one = sampled(&joint, &settings, machines(&[Wrong::Nothing])).unwrap();
    for wrongs in [
        &[Wrong::Nothing; 3][..],
        &[Wrong::Nothing, Wrong::Launch(7)],
    ] {
        let found = sampled(&joint, &settings, machines(wrongs)).unwrap();
        assert_eq!(found.precision, one.precision);
        assert_same(&one, &found, &format!("{} machines", wrongs.len()));
    }
}

/// What NVIDIA's compiler makes of the kernels, for machines of other kinds: a warp, a block or several blocks to
/// a chain, threads in any order, launches with a deadline on one of them.
#[test]
fn unequal_machines_of_ptx_make_the_draws_of_the_cpu() {
    let Some(compiler) = nvrtc::compiler().map(Arc::new) else {
        return;
    };
    let joint = eight_schools();
    let machine = |arch: u32, order: Order| {
        Device::machine(PtxMachine::new(Arc::clone(&compiler), arch).in_order(order, 3))
    };
    let settings = with_chains(5, settings(12, 6));
    let cpu = sampled(&joint, &settings, Device::threads()).unwrap();
    for team in [Team::Threads(32), Team::Sharded] {
        let all = [
            machine(70, Order::Lockstep).with_multiprocessors(6),
            machine(90, Order::Lockstep)
                .with_speed(0.5)
                .with_budget_ns(Some(1)),
            machine(120, Order::Shuffled)
                .with_speed(0.4)
                .with_multiprocessors(2),
        ];
        for n in [2, 3] {
            let device = Device::several(all[..n].iter().cloned()).with_team(team);
            let found = sampled(&joint, &settings, device).unwrap();
            assert_same(&cpu, &found, &format!("{team:?}, {n} machines"));
        }
    }
}
