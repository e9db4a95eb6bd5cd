//! The sampler's kernel, compiled as C++ and run here, makes the draws of the CPU's sampler, bit
//! for bit: with one thread, and with many in shuffled order. A barrier that is taken away shows.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

mod support;

use fitzroy::Result;
use fitzroy::data::Dataset;
use fitzroy::fit::sample::{Adapt, Integrator, MetricKind, PastTurn, Sampler};
use fitzroy::model::joint::{Joint, Rewrites};
use fitzroy::run::{CoordinateChoice, Device, Settings, Team, kernel_text};
use fitzroy_device::gpu::host::{HostMachine, is_barrier};
use fitzroy_device::gpu::text::Precision;
use fitzroy_device::gpu::{MOST_MEMBERS, Machine, Meanwhile, Program, Take, Words};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use support::draws::{bits, sampled, settings};
use support::has_compiler;

#[track_caller]
fn assert_same_draws(joint: &Joint, settings: &Settings, threads: usize, what: &str) {
    assert_same_in_blocks(joint, settings, (1, threads), what);
}

/// A team of so many blocks of a machine whose blocks have other sizes than those of a GPU.
fn in_blocks(device: Device, blocks: usize) -> Device {
    match blocks {
        1 => device,
        _ => device.with_team(Team::Threads(blocks * MOST_MEMBERS)),
    }
}

/// Chains of so many blocks of so many threads make the draws of the CPU.
#[track_caller]
fn assert_same_in_blocks(
    joint: &Joint,
    settings: &Settings,
    (blocks, threads): (usize, usize),
    what: &str,
) {
    let cpu = sampled(joint, settings, Device::threads()).unwrap();
    let machine = in_blocks(Device::machine(HostMachine::new(threads, 5)), blocks);
    let kernel = sampled(joint, settings, machine).unwrap_or_else(|e| panic!("{what}: {e}"));
    for ((name, a), (_, b)) in bits(&cpu).iter().zip(&bits(&kernel)) {
        let first = a.iter().zip(b).position(|(x, y)| x != y);
        assert_eq!(
            first, None,
            "{what}, {blocks} blocks of {threads}: {name} differs from there on"
        );
        assert_eq!(a.len(), b.len(), "{what}: {name}");
    }
    assert_eq!(cpu.run.gradients, kernel.run.gradients, "{what}");
}

#[test]
fn one_thread_makes_the_draws_of_the_cpu_whatever_the_metric_and_the_coordinates() {
    if !has_compiler() {
        return;
    }
    for (name, file) in [
        ("eight-schools", "eight-schools.csv"),
        ("hierarchical", "hierarchical.csv"),
        ("mixture", "mixture.csv"),
    ] {
        let joint = support::example_joint(name, file).unwrap();
        assert_same_draws(&joint, &settings(150, 60), 1, name);
    }
    let joint = support::example_joint("eight-schools", "eight-schools.csv").unwrap();
    for metric in [MetricKind::Diagonal, MetricKind::Dense, MetricKind::LowRank] {
        let mut settings = settings(100, 40);
        settings.coordinates = CoordinateChoice::AsWritten;
        settings.sampler.metric = metric;
        settings.sampler.max_treedepth = 6;
        settings.sampler.adapt = Adapt::PerChain;
        assert_same_draws(&joint, &settings, 1, metric.name());
    }
}

#[test]
fn teams_of_many_threads_make_the_same_draws() {
    if !has_compiler() {
        return;
    }
    let joint = support::example_joint("hierarchical", "hierarchical.csv").unwrap();
    for threads in [32, 128] {
        assert_same_draws(&joint, &settings(20, 4), threads, "hierarchical");
    }
}

/// Catches: random numbers that go on from where the warm-up ended.
#[test]
fn draws_after_a_warm_up_that_ended_early_are_those_of_the_cpu() {
    if !has_compiler() {
        return;
    }
    let joint = support::example_joint("hierarchical", "hierarchical.csv").unwrap();
    let mut settings = settings(800, 20);
    settings.sampler.end_warmup_early = true;
    let outcome = sampled(&joint, &settings, Device::threads()).unwrap();
    assert!(outcome.run.warmup_transitions < 500);
    assert_same_draws(&joint, &settings, 1, "hierarchical");
}

/// A ridge beside a funnel, where steps are held in the warm-up and tuned more strictly after it. Catches:
/// steps of a kernel that go on being tuned, or to another acceptance.
#[test]
fn steps_that_are_held_are_those_of_the_cpu() {
    if !has_compiler() {
        return;
    }
    let text = "dim k = 5\na ~ Normal(0, 1)\nb ~ Normal(a, 0.03) @ centred\nv ~ Normal(0, 2)\n\
                x[k] ~ Normal(0, exp(v / 2)) @ centred";
    let model = fitzroy::model::Model::parse(text).unwrap();
    let mut settings = settings(700, 20);
    let joint = fitzroy::run::bind(&model, &fitzroy::data::Dataset::new(), &settings).unwrap();
    // The first seed for which transitions diverge in a late window.
    let held = (1..20).any(|seed| {
        settings.sampler.seed = seed;
        let outcome = sampled(&joint, &settings, Device::threads()).unwrap();
        outcome.run.stricter.is_some()
    });
    assert!(held);
    assert_same_draws(&joint, &settings, 1, "ridge and neck");
}

/// Books of many chains are kept by several threads. Catches: rows that go to another chain, or in another
/// order.
#[test]
fn every_chain_of_many_has_its_own_draws() {
    if !has_compiler() {
        return;
    }
    let joint = support::example_joint("eight-schools", "eight-schools.csv").unwrap();
    let mut settings = settings(40, 20);
    settings.sampler.chains = 37;
    settings.sampler.threads = 3;
    assert_same_draws(&joint, &settings, 1, "many chains");
}

/// Catches: a half that turns unseen, a trajectory that ends at its own turn, one that goes past the
/// turn of a quarter.
#[test]
fn trajectories_that_go_past_their_turn_are_those_of_the_cpu() {
    if !has_compiler() {
        return;
    }
    for (name, file, threads) in [
        ("eight-schools", "eight-schools.csv", 1),
        ("hierarchical", "hierarchical.csv", 32),
    ] {
        let joint = support::example_joint(name, file).unwrap();
        let mut settings = settings(60, 20);
        let steps = |settings: &Settings| {
            let outcome = sampled(&joint, settings, Device::threads()).unwrap();
            outcome.run.mean_steps()
        };
        settings.sampler.past_turn = PastTurn::Off;
        let usual = steps(&settings);
        settings.sampler.past_turn = PastTurn::On;
        assert!(steps(&settings) > 1.5 * usual, "{name}: {usual}");
        assert_same_draws(&joint, &settings, threads, name);
    }
}

/// A machine that the test can still reach.
struct Shared(Arc<Mutex<HostMachine>>);

impl Shared {
    fn machine(&self) -> MutexGuard<'_, HostMachine> {
        self.0.lock().unwrap()
    }
}

impl Machine for Shared {
    fn load(&mut self, program: &Program) -> Result<()> {
        self.machine().load(program)
    }
    fn reserve(&mut self, slot: usize, words: usize) -> Result<u64> {
        self.machine().reserve(slot, words)
    }
    fn write(&mut self, at: u64, words: &[u64]) -> Result<()> {
        self.machine().write(at, words)
    }
    fn read(&mut self, words: Words, take: Take<'_>) -> Result<()> {
        self.machine().read(words, take)
    }
    fn launch(&mut self, job: u64, n_teams: usize, meanwhile: Meanwhile<'_>) -> Result<f64> {
        self.machine().launch(job, n_teams, meanwhile)
    }
}

/// A machine that counts launches; the clock of its kernels goes on by one with each look at it.
struct Counting(HostMachine, Arc<AtomicUsize>);

impl Machine for Counting {
    fn load(&mut self, program: &Program) -> Result<()> {
        self.0.load(program)
    }
    fn reserve(&mut self, slot: usize, words: usize) -> Result<u64> {
        self.0.reserve(slot, words)
    }
    fn write(&mut self, at: u64, words: &[u64]) -> Result<()> {
        self.0.write(at, words)
    }
    fn read(&mut self, words: Words, take: Take<'_>) -> Result<()> {
        self.0.read(words, take)
    }
    fn launch(&mut self, job: u64, n_teams: usize, meanwhile: Meanwhile<'_>) -> Result<f64> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.launch(job, n_teams, meanwhile)
    }
}

/// Catches: transitions that are made twice or never when a launch ends at its deadline, chains that
/// wait for each other, blocks of a chain that stop at different transitions.
#[test]
fn launches_with_a_deadline_make_the_draws_of_the_cpu() {
    if !has_compiler() {
        return;
    }
    let joint = support::example_joint("eight-schools", "eight-schools.csv").unwrap();
    let settings = settings(60, 40);
    let cpu = bits(&sampled(&joint, &settings, Device::threads()).unwrap());
    for (blocks, threads) in [(1, 1), (1, 32), (2, 4)] {
        let launches = |budget_ns: Option<u64>| {
            let counted = Arc::new(AtomicUsize::new(0));
            let machine = Counting(HostMachine::new(threads, 5), Arc::clone(&counted));
            let device = Device::machine(machine).with_budget_ns(budget_ns);
            let made = sampled(&joint, &settings, in_blocks(device, blocks)).unwrap();
            assert!(bits(&made) == cpu, "{blocks} of {threads}, {budget_ns:?}");
            counted.load(Ordering::Relaxed)
        };
        let (without, many, few) = (launches(None), launches(Some(2)), launches(Some(1 << 40)));
        assert_eq!(without, few, "{blocks} of {threads}");
        assert!(many > 2 * without, "{many} launches, {without} without");
    }
}

/// Chains that learn alone have metrics of several kinds at once, of several ranks.
#[test]
fn a_low_rank_metric_makes_the_draws_of_the_cpu() {
    if !has_compiler() {
        return;
    }
    let joint = support::example_joint("hierarchical-noncentred", "hierarchical.csv").unwrap();
    for (adapt, threads) in [(Adapt::Pooled, 32), (Adapt::PerChain, 1)] {
        let mut settings = settings(60, 4);
        settings.coordinates = CoordinateChoice::AsWritten;
        settings.sampler.metric = MetricKind::LowRank;
        settings.sampler.max_treedepth = 5;
        settings.sampler.adapt = adapt;
        let kinds = sampled(&joint, &settings, Device::threads())
            .unwrap()
            .run
            .metrics;
        assert!(kinds.contains(&MetricKind::LowRank), "{kinds:?}");
        assert_same_draws(&joint, &settings, threads, "low-rank");
    }
}

/// Models whose metrics have rotations of each kind, as the two functions below use them.
fn rotating(metric: MetricKind, draws: usize) -> (Joint, Settings) {
    let mut settings = settings(60, draws);
    settings.rewrites = Rewrites::NONE;
    settings.sampler.integrator = Integrator::Rotation;
    settings.sampler.metric = metric;
    settings.sampler.max_treedepth = 5;
    settings.coordinates = CoordinateChoice::AsWritten;
    let (name, file) = match metric {
        MetricKind::LowRank => ("rats", "rats.csv"),
        _ => ("mixture", "mixture.csv"),
    };
    (support::example_joint(name, file).unwrap(), settings)
}

/// In every family that has them. Catches: a centre that the kernel does not know, S for S⁻¹, a sine of
/// another library, a longest step that only one of them has, a kick between two rotations for one at the
/// ends. Steps of one rotation and of two are among them.
#[test]
fn rotations_are_those_of_the_cpu() {
    if !has_compiler() {
        return;
    }
    let mut rotations = std::collections::BTreeSet::new();
    let kinds = [MetricKind::Diagonal, MetricKind::Dense, MetricKind::LowRank];
    let mut runs: Vec<_> = kinds.map(|metric| rotating(metric, 4)).into();
    // Of a normal posterior nothing is left: one rotation is enough.
    let normal = support::joint("a ~ Normal(1, 2)\nb ~ Normal(0, 1)", &Dataset::new());
    runs.push((normal, rotating(MetricKind::Diagonal, 4).1));
    for (joint, mut settings) in runs {
        let metric = settings.sampler.metric;
        for (adapt, threads) in [(Adapt::Pooled, 32), (Adapt::PerChain, 1)] {
            settings.sampler.adapt = adapt;
            let run = sampled(&joint, &settings, Device::threads()).unwrap().run;
            // Alone, a chain may have too few draws for a metric of its own.
            assert_ne!(run.integrator(), "leapfrog");
            rotations.extend(run.rotations);
            assert!(run.metrics.contains(&metric), "{:?}", run.metrics);
            assert_same_draws(&joint, &settings, threads, metric.name());
        }
    }
    assert!(rotations.is_superset(&[1, 2].into()), "{rotations:?}");
}

/// Two parameters of each rat in a block of their own. Catches: S for Sᵀ, sums in another order, a
/// barrier that is missing (with many threads).
#[test]
fn a_metric_of_blocks_makes_the_draws_of_the_cpu() {
    if !has_compiler() {
        return;
    }
    let joint = support::example_joint("rats", "rats.csv").unwrap();
    for (adapt, threads) in [(Adapt::Pooled, 32), (Adapt::PerChain, 1)] {
        let mut settings = settings(60, 4);
        settings.rewrites = Rewrites::NONE;
        settings.sampler.metric = MetricKind::Blocks;
        settings.sampler.max_treedepth = 5;
        settings.sampler.adapt = adapt;
        let kinds = sampled(&joint, &settings, Device::threads())
            .unwrap()
            .run
            .metrics;
        assert!(kinds.contains(&MetricKind::Blocks), "{kinds:?}");
        assert_same_draws(&joint, &settings, threads, "blocks");
    }
}

/// The barriers of a low-rank metric that are taken away one by one: every one is missed. Catches a
/// projection that is read before all of its partial sums are there, for positions and for slopes.
#[test]
fn barriers_of_a_low_rank_metric_are_all_missed() {
    if !has_compiler() {
        return;
    }
    let joint = support::example_joint("hierarchical-noncentred", "hierarchical.csv").unwrap();
    let mut settings = settings(60, 1);
    settings.coordinates = CoordinateChoice::AsWritten;
    settings.sampler.metric = MetricKind::LowRank;
    settings.sampler.max_treedepth = 5;
    assert_all_are_missed(&joint, &settings, ("low-rank", 3));
}

/// Likewise those of rotations: places and what they are moved by are read whole.
#[test]
fn barriers_of_rotations_are_all_missed() {
    if !has_compiler() {
        return;
    }
    for (metric, own) in [
        (MetricKind::Dense, ("rotation, dense", 2)),
        (MetricKind::LowRank, ("rotation, directions", 5)),
    ] {
        let (joint, settings) = rotating(metric, 1);
        assert_all_are_missed(&joint, &settings, own);
    }
}

/// Likewise those of matrices: a factor, what is solved by it, and their adjoints.
#[test]
fn barriers_of_matrices_are_all_missed() {
    if !has_compiler() {
        return;
    }
    let text = "dim k = 9\ns ~ Normal(0, 1)\nt[k] = positions(k)\n\
                x[k] ~ MvNormal(0, cov=exp_quad(t[k] - t[k'], exp(s)) + identity(k)) @ centred";
    let model = fitzroy::model::Model::parse(text).unwrap();
    let mut settings = settings(20, 5);
    settings.sampler.chains = 1;
    settings.sampler.metric = MetricKind::Diagonal;
    settings.rewrites = Rewrites::NONE;
    settings.coordinates = CoordinateChoice::AsWritten;
    let joint = fitzroy::run::bind(&model, &fitzroy::data::Dataset::new(), &settings).unwrap();
    assert_all_are_missed(&joint, &settings, ("matrix: ", 5));
}

/// That without any one of the `own.1` barriers which are marked `own.0` draws are others.
#[track_caller]
fn assert_all_are_missed(joint: &Joint, settings: &Settings, own: (&str, usize)) {
    let cpu = sampled(joint, settings, Device::threads()).unwrap();
    let metric = settings.sampler.metric;
    assert!(cpu.run.metrics.contains(&metric), "{:?}", cpu.run.metrics);
    let expected = bits(&cpu);
    let text = kernel_text(joint, settings).unwrap();
    let barriers = text.lines().filter(|l| is_barrier(l)).enumerate();
    let marked = barriers.filter(|b| b.1.contains(own.0));
    let (own, n): (Vec<usize>, usize) = (marked.map(|b| b.0).collect(), own.1);
    assert_eq!(own.len(), n);
    let machine = Arc::new(Mutex::new(HostMachine::new(32, 1)));
    let device = Device::machine(Shared(Arc::clone(&machine)));
    let differs = |barrier| {
        machine.lock().unwrap().leave_out(barrier);
        match sampled(joint, settings, device.clone()) {
            Ok(outcome) => bits(&outcome) != expected,
            Err(_) => true,
        }
    };
    assert!(
        !differs(None),
        "with all barriers the draws are those of the CPU"
    );
    for barrier in own {
        let missed = (0..3).any(|_| differs(Some(barrier)));
        assert!(
            missed,
            "barrier {barrier} of {}",
            text.lines().filter(|l| is_barrier(l)).count()
        );
    }
}

/// A chain that is spread over blocks, which run ahead of each other as far as they may. Catches: a
/// slope that is overwritten while another block reads it, blocks that part, rows that several write.
#[test]
fn chains_that_are_spread_over_blocks_make_the_draws_of_the_cpu() {
    if !has_compiler() {
        return;
    }
    let joint = support::example_joint("hierarchical", "hierarchical.csv").unwrap();
    for shape in [(2, 32), (5, 7), (3, 1)] {
        assert_same_in_blocks(&joint, &settings(30, 6), shape, "hierarchical");
    }
    let joint = support::example_joint("rats", "rats.csv").unwrap();
    for (metric, shape) in [
        (MetricKind::Blocks, (2, 8)),
        (MetricKind::LowRank, (3, 4)),
        (MetricKind::Dense, (2, 5)),
    ] {
        let mut settings = settings(60, 4);
        settings.rewrites = Rewrites::NONE;
        settings.sampler.metric = metric;
        settings.sampler.max_treedepth = 4;
        assert_same_in_blocks(&joint, &settings, shape, metric.name());
    }
}

/// In lower precisions, too, draws do not depend on how a chain is shared out.
#[test]
fn in_lower_precisions_blocks_make_the_draws_of_one_block() {
    if !has_compiler() {
        return;
    }
    let joint = support::example_joint("hierarchical", "hierarchical.csv").unwrap();
    for precision in [Precision::Mixed, Precision::F32] {
        let mut settings = settings(30, 5);
        settings.precision = precision;
        let on = |blocks, threads| {
            let device = Device::machine(HostMachine::new(threads, 5));
            bits(&sampled(&joint, &settings, in_blocks(device, blocks)).unwrap())
        };
        assert_eq!(on(1, 1), on(3, 4), "{}", precision.name());
    }
}

/// Every barrier at which all blocks meet is taken away, one at a time: every one is missed, in one
/// of a few orders of blocks and threads.
#[test]
fn barriers_of_all_blocks_are_all_missed() {
    if !has_compiler() {
        return;
    }
    let joint = support::example_joint("hierarchical", "hierarchical.csv").unwrap();
    let mut settings = settings(20, 3);
    settings.sampler.chains = 1;
    settings.rewrites = Rewrites::NONE;
    let expected = bits(&sampled(&joint, &settings, Device::threads()).unwrap());
    let machine = Arc::new(Mutex::new(HostMachine::new(8, 1)));
    // With a deadline, at which blocks meet as well.
    let device = Device::machine(Shared(Arc::clone(&machine))).with_budget_ns(Some(2));
    let device = in_blocks(device, 3);
    let differs = |barrier| {
        machine.lock().unwrap().leave_out(barrier);
        match sampled(&joint, &settings, device.clone()) {
            Ok(outcome) => bits(&outcome) != expected,
            Err(_) => true,
        }
    };
    assert!(!differs(None), "with all barriers they are the CPU's draws");
    let text = kernel_text(&joint, &settings).unwrap();
    let barriers = text.lines().filter(|l| is_barrier(l)).enumerate();
    let common: Vec<usize> = barriers
        .filter(|b| b.1.contains("SYNC();"))
        .map(|b| b.0)
        .collect();
    assert!(common.len() >= 2, "{}", common.len());
    for barrier in common {
        let missed = (0..4).any(|_| differs(Some(barrier)));
        assert!(missed, "barrier {barrier}");
    }
}

#[test]
fn a_kernel_refuses_what_is_not_nuts() {
    let joint = support::example_joint("eight-schools", "eight-schools.csv").unwrap();
    let mut settings = settings(5, 5);
    settings.sampler.sampler = Sampler::Independence;
    let error = sampled(&joint, &settings, Device::machine(HostMachine::new(1, 1))).err();
    let error = error.map(|e| e.to_string()).unwrap_or_default();
    assert!(error.contains("⟨sampler nuts⟩"), "{error}");
}

/// Barriers that are taken away one by one: draws differ, or threads stop at different places. Not
/// every one shows at this size (where a thread reads what it wrote itself), so at least a quarter
/// is asked for; those around sums, momenta and a dense metric always show. Three orders of threads.
#[test]
fn barriers_that_are_taken_away_are_missed() {
    if !has_compiler() {
        return;
    }
    let joint = support::example_joint("eight-schools", "eight-schools.csv").unwrap();
    let mut settings = settings(40, 3);
    settings.sampler.chains = 1;
    settings.sampler.metric = MetricKind::Dense;
    settings.coordinates = CoordinateChoice::AsWritten;
    let expected = bits(&sampled(&joint, &settings, Device::threads()).unwrap());
    let text = kernel_text(&joint, &settings).unwrap();
    let barriers: Vec<&str> = text.lines().filter(|l| is_barrier(l)).collect();
    let machine = Arc::new(Mutex::new(HostMachine::new(32, 1)));
    let device = Device::machine(Shared(Arc::clone(&machine)));
    let differs = |barrier| {
        machine.lock().unwrap().leave_out(barrier);
        match sampled(&joint, &settings, device.clone()) {
            Ok(outcome) => bits(&outcome) != expected,
            Err(_) => true,
        }
    };
    assert!(
        !differs(None),
        "with all barriers the draws are those of the CPU"
    );
    let missed = barriers.iter().enumerate();
    let missed = missed.filter(|b| (0..3).any(|_| differs(Some(b.0))));
    let missed: Vec<&&str> = missed.map(|b| b.1).collect();
    let all = barriers.len();
    assert!(4 * missed.len() >= all, "of {all} barriers: {missed:?}");
}
