//! Forecasts by lists, whose kernels run as C++ on this processor, against those of the CPU.

use super::super::tests::{archive, has_compiler, masked, problem_from, rain};
use super::super::{Baseline, GraphKind, Task, initial};
use super::*;
use crate::data::{Forecasts, Split};
use crate::evaluate::{Evaluation, Options, evaluate, forecast};
use fitzroy::rng::{Purpose, Rng};
use fitzroy_device::gpu::host_work::HostWork;

/// Parameters that have learnt something: none is 0.
fn parameters(problem: &Problem, seed: u64) -> Vec<f32> {
    let network = Network::new(&problem.spec, Recompute::Mlp).unwrap();
    let mut rng = Rng::new(seed, 3, 0, 0, Purpose::Test);
    let mut all = initial(problem, &network, seed);
    all.iter_mut()
        .for_each(|x| *x += 0.05 * rng.normal() as f32);
    all
}

fn lists(math: Math) -> Target {
    Target::Device(Box::new(HostWork::new(1, 3)), math)
}

fn extent(steps: usize, starts: usize) -> Extent {
    Extent {
        steps,
        starts,
        threads: 1,
        memory_bytes: None,
    }
}

/// Kinds of problems: both graphs, both baselines, with and without a forced boundary, and rain.
fn problems() -> Vec<(&'static str, Problem)> {
    let forced = Task::Forecast { boundary_width: 1 };
    let free = Task::Forecast { boundary_width: 0 };
    let (mesh, flat) = (GraphKind::Mesh, GraphKind::Flat);
    let make = |task, graph, baseline| problem_from(archive(60), task, graph, baseline);
    vec![
        ("mesh", make(forced.clone(), mesh, Baseline::Momentum)),
        ("linear", make(forced, flat, Baseline::Linear)),
        ("free", make(free, flat, Baseline::Momentum)),
        ("rain", make(rain(), flat, Baseline::Momentum)),
        (
            "gaps",
            masked::problem(&masked::with_gaps(1), Baseline::Linear),
        ),
    ]
}

/// The largest difference of forecasts by both, in standard deviations of the records, of each step.
fn apart(problem: &Problem, math: Math, steps: usize, starts: &[usize]) -> Vec<f32> {
    let sets = [1, 2].map(|seed| parameters(problem, seed));
    let members = [&sets[0][..], &sets[1][..]];
    let archive = &problem.archive;
    let asked: Vec<Start<'_>> = starts
        .iter()
        .map(|&t| Start {
            before: archive.record(t - 1),
            now: archive.record(t),
            time: archive.times[t],
            truth: (1..=steps).map(|k| archive.record(t + k)).collect(),
        })
        .collect();
    let rolled = |target| {
        // Three side by side, so that the last are filled up.
        let mut made = Forecaster::new(target, problem, &members, extent(steps, 3)).unwrap();
        made.roll(problem, &asked).unwrap()
    };
    let (cpu, machine) = (rolled(Target::Cpu), rolled(lists(math)));
    assert_eq!((cpu.len(), machine.len()), (asked.len(), asked.len()));
    let off = |step: usize| {
        let pairs = cpu.iter().zip(&machine);
        let both = pairs.flat_map(|(a, b)| [0, 1].map(|m| (a.state(m, step), b.state(m, step))));
        both.map(|(a, b)| {
            assert_eq!(a.len(), b.len());
            let differences = a.iter().zip(b).map(|(x, y)| (x - y).abs());
            differences.fold(0.0, f32::max)
        })
        .fold(0.0, f32::max)
    };
    (0..steps).map(off).collect()
}

/// Catches: a sample that gets another's forcings, a member with another's parameters, a boundary that leaks, a
/// step that is read for another. Bounds: rounding of f32, which a rollout by an untrained network enlarges.
#[test]
fn forecasts_on_lists_are_those_of_the_cpu() {
    if !has_compiler() {
        return;
    }
    for (name, problem) in problems() {
        let steps = if problem.is_forecast() { 4 } else { 1 };
        let off = apart(&problem, Math::F32, steps, &[2, 9, 30, 31, 50]);
        assert!(off[0] < 1e-4, "{name}: {off:?}");
        assert!(off.iter().all(|x| *x < 2e-3), "{name}: {off:?}");
        let off = apart(&problem, Math::Bf16, 1, &[2, 9]);
        assert!(off[0] > 1e-5 && off[0] < 0.2, "{name}: {off:?} in bf16");
    }
}

fn scored(problem: &Problem, target: Target, members: &[&[f32]]) -> Evaluation {
    let options = Options {
        leads: 3,
        from: None,
        until: None,
        starts_max: 7,
        baselines: true,
        forecasts: Forecasts::default(),
        areas: Vec::new(),
    };
    let mut made = Forecaster::new(target, problem, members, options.extent(1, None)).unwrap();
    let found = evaluate(problem, &mut made, &options, &mut |_, _| true);
    found.unwrap().unwrap()
}

#[test]
fn scores_and_forecasts_of_a_record_are_those_of_the_cpu() {
    if !has_compiler() {
        return;
    }
    for (name, problem) in problems() {
        let own = parameters(&problem, 5);
        let other = parameters(&problem, 6);
        for members in [vec![&own[..]], vec![&own[..], &other[..]]] {
            let cpu = scored(&problem, Target::Cpu, &members);
            let machine = scored(&problem, lists(Math::F32), &members);
            assert_eq!(cpu.starts, machine.starts);
            for (a, b) in cpu.methods.iter().zip(&machine.methods) {
                let scores = a.scores.iter().flatten().zip(b.scores.iter().flatten());
                for (a, b) in scores {
                    assert!((a.rmse / b.rmse - 1.0).abs() < 1e-3, "{name}: {a:?}, {b:?}");
                }
            }
            let t = problem.windows(Split::Test, 1).0[0] as usize;
            let at = |target| {
                let mut made = Forecaster::new(target, &problem, &members, extent(1, 1)).unwrap();
                forecast(&problem, &mut made, t).unwrap()
            };
            let (cpu, machine) = (at(Target::Cpu), at(lists(Math::F32)));
            assert_eq!((cpu.len(), machine.len()), (members.len(), members.len()));
            let both = cpu
                .iter()
                .flatten()
                .flatten()
                .zip(machine.iter().flatten().flatten());
            let both: Vec<(&f64, &f64)> = both.collect();
            assert!(both.iter().all(|(a, b)| (*a - *b).abs() < 1e-2), "{name}");
        }
    }
}

/// Catches: a machine with little room that is asked for all of it, or refused what fits.
#[test]
fn as_many_forecasts_as_fit_are_made_side_by_side() {
    if !has_compiler() {
        return;
    }
    let (_, problem) = problems().swap_remove(0);
    let own = parameters(&problem, 1);
    let network = Network::new(&problem.spec, Recompute::Mlp).unwrap();
    let needed = |abreast| -> u64 {
        let parts = device::forecast_bytes(&problem, &network, (abreast, 2), Math::F32);
        parts.iter().map(|part| part.1).sum()
    };
    let made = |memory_bytes| {
        let extent = Extent {
            memory_bytes: Some(memory_bytes),
            ..extent(2, 100)
        };
        Forecaster::new(lists(Math::F32), &problem, &[&own], extent)
    };
    for (memory_bytes, abreast) in [
        (u64::MAX, 16),
        (needed(16), 16),
        (needed(16) - 1, 8),
        (needed(1), 1),
    ] {
        assert_eq!(made(memory_bytes).unwrap().abreast(), abreast);
    }
    let refused = made(needed(1) - 1).err().unwrap().to_string();
    for part in ["2 steps needs", "of the GPU's memory (", "⟨device cpu⟩"] {
        assert!(refused.contains(part), "{refused}");
    }
}
