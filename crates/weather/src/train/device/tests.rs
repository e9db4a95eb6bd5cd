//! Training as lists, whose kernels run as C++ on this processor, against training on the CPU.

use super::super::tests::{
    Folder, archive, has_compiler, last, masked, problem_from, quiet, rain, run, settings,
};
use super::super::*;
use fitzroy_device::gpu::host_work::HostWork;
use fitzroy_device::gpu::work::Math;
use fitzroy_device::nn::Recompute;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn run_on_lists(
    problem: &Problem,
    settings: &Settings,
    from: Option<Checkpoint>,
    folder: &Path,
    math: Math,
) -> Outcome {
    let stop = AtomicBool::new(false);
    let caller = quiet(&stop);
    let settings = Settings {
        device: Some(math),
        ..settings.clone()
    };
    let target = Target::Device(Box::new(HostWork::new(1, 3)), math);
    train_on(target, problem, &settings, from, folder, &caller).unwrap()
}

fn away(a: &[f32], b: &[f32]) -> f64 {
    let pairs = a.iter().zip(b);
    let sum: f64 = pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum();
    sum.sqrt()
}

/// Both ways of training, from the same parameters: the loss of the last step and of the best
/// validation, and how far parameters, moments and average lie apart, in lengths of the way that
/// the parameters have gone.
fn apart(problem: &Problem, settings: &Settings, name: &str, math: Math) -> [f64; 3] {
    let folders = [0, 1].map(|k| Folder::new(&format!("lists-{name}{k}")));
    let cpu = run(problem, settings, None, &folders[0].0);
    let lists = run_on_lists(problem, settings, None, &folders[1].0, math);
    let (a, b) = (last(&folders[0].0), last(&folders[1].0));
    assert_eq!(a.progress.step, b.progress.step);
    let network = fitzroy_device::nn::Network::new(&problem.spec, Recompute::None).unwrap();
    let way = away(&initial(problem, &network, settings.seed), &a.parameters);
    let mut off = away(&a.parameters, &b.parameters) / way;
    if let (Some(a), Some(b)) = (&a.average, &b.average) {
        off = off.max(away(a, b) / way);
    }
    let relative = |a: f64, b: f64| (a / b - 1.0).abs();
    let best = |c: &Checkpoint| c.progress.best_loss.unwrap();
    [
        relative(lists.last_loss, cpu.last_loss),
        relative(best(&b), best(&a)),
        off,
    ]
}

/// Rollouts, a linear model or momentum beneath, micro-batches, an average, both graphs, all
/// losses, and rain: eight steps of each. Bounds: rounding of f32, which Adam enlarges where slopes
/// are all but 0. Catches: a slope lost between steps, a boundary that leaks, an index off by one
/// sample.
#[test]
fn training_on_lists_is_training_on_the_cpu() {
    if !has_compiler() {
        return;
    }
    let forecast = Task::Forecast { boundary_width: 1 };
    let rain = rain();
    let (mesh, flat) = (GraphKind::Mesh, GraphKind::Flat);
    let cases = [
        (
            "mesh",
            forecast.clone(),
            mesh,
            Baseline::Momentum,
            LossKind::Mse,
            "1:1,3:2",
        ),
        (
            "linear",
            forecast.clone(),
            flat,
            Baseline::Linear,
            LossKind::Huber,
            "2",
        ),
        ("rain", rain, flat, Baseline::Momentum, LossKind::Mae, "1"),
    ];
    for (name, task, graph, baseline, loss, rollouts) in cases {
        let mut problem = problem_from(archive(60), task, graph, baseline);
        problem.weighting.loss = loss;
        let settings = Settings {
            max_steps: Some(8),
            accumulate: if name == "mesh" { 2 } else { 1 },
            rollout_steps: rollouts.into(),
            recompute: if name == "linear" {
                Recompute::Layer
            } else {
                Recompute::None
            },
            ..settings()
        };
        let [last, best, parameters] = apart(&problem, &settings, name, Math::F32);
        assert!(last < 1e-4, "{name}: loss {last}");
        assert!(best < 1e-4, "{name}: validation {best}");
        assert!(parameters < 1e-2, "{name}: parameters {parameters}");
    }
}

/// Archives with land and gaps, forecasts of two steps, every loss: eight steps of each, with the bounds of above.
#[test]
fn training_over_gaps_on_lists_is_that_on_the_cpu() {
    if !has_compiler() {
        return;
    }
    let kinds = [LossKind::Mse, LossKind::Mae, LossKind::Huber];
    for (seed, loss) in kinds.into_iter().enumerate() {
        let baseline = [Baseline::Linear, Baseline::Momentum][seed % 2];
        let mut problem = masked::problem(&masked::with_gaps(seed as u64), baseline);
        problem.weighting.loss = loss;
        let settings = Settings {
            max_steps: Some(8),
            rollout_steps: "2".into(),
            // A GPU validates no further ahead than it trains; the best is then the same.
            validation_leads: 2,
            ..settings()
        };
        let name = format!("gaps{seed}");
        let [last, best, parameters] = apart(&problem, &settings, &name, Math::F32);
        assert!(last < 1e-4, "{loss:?}: loss {last}");
        assert!(best < 1e-4, "{loss:?}: validation {best}");
        assert!(parameters < 1e-2, "{loss:?}: parameters {parameters}");
    }
}

/// In bf16 the trajectory is another, and the losses are near those of f32: within 1 %.
#[test]
fn training_in_bf16_loses_little() {
    if !has_compiler() {
        return;
    }
    let forecast = Task::Forecast { boundary_width: 1 };
    let problem = problem_from(archive(60), forecast, GraphKind::Flat, Baseline::Momentum);
    let settings = Settings {
        max_steps: Some(14),
        ..settings()
    };
    let [_, best, parameters] = apart(&problem, &settings, "bf16", Math::Bf16);
    assert!(best < 1e-2, "{best}");
    assert!(parameters > 1e-4, "nothing was rounded");
}

/// A checkpoint made by lists is gone on from by the CPU, and the other way round.
#[test]
fn checkpoints_go_from_one_machine_to_the_other() {
    if !has_compiler() {
        return;
    }
    let forecast = Task::Forecast { boundary_width: 1 };
    let problem = problem_from(archive(60), forecast, GraphKind::Mesh, Baseline::Linear);
    let folders = [0, 1, 2].map(|k| Folder::new(&format!("across{k}")));
    let upto = |n| Settings {
        max_steps: Some(n),
        ..settings()
    };
    run(&problem, &upto(10), None, &folders[0].0);
    run_on_lists(&problem, &upto(4), None, &folders[1].0, Math::F32);
    run(&problem, &upto(7), Some(last(&folders[1].0)), &folders[1].0);
    let there = last(&folders[1].0);
    run_on_lists(&problem, &upto(10), Some(there), &folders[2].0, Math::F32);
    let (a, b) = (last(&folders[0].0), last(&folders[2].0));
    assert_eq!(b.progress.step, 10);
    let network = fitzroy_device::nn::Network::new(&problem.spec, Recompute::None).unwrap();
    let way = away(&initial(&problem, &network, settings().seed), &a.parameters);
    let off = away(&a.parameters, &b.parameters) / way;
    assert!(off < 1e-2, "{off}");
    assert!(away(&a.v, &b.v) <= 1e-3 * away(&a.v, &vec![0.0; a.v.len()]));
}

/// Records that are not numbers: updates are skipped, and after three in a row the run ends with
/// the parameters of the last good one.
#[test]
fn a_run_on_lists_that_diverges_ends_with_its_last_good_parameters() {
    if !has_compiler() {
        return;
    }
    let forecast = Task::Forecast { boundary_width: 1 };
    let mut problem = problem_from(archive(60), forecast, GraphKind::Mesh, Baseline::Momentum);
    problem.archive.values.fill(f32::NAN);
    let folder = Folder::new("lists-nan");
    let outcome = run_on_lists(&problem, &settings(), None, &folder.0, Math::F32);
    assert_eq!(outcome.ended, Ended::Diverged);
    assert!(outcome.progress.n_skipped >= 3);
}

/// What a GPU needs is told by part before anything is taken, and refused with what would fit.
#[test]
fn memory_of_a_gpu_is_planned() {
    let forecast = Task::Forecast { boundary_width: 1 };
    let problem = problem_from(archive(60), forecast, GraphKind::Mesh, Baseline::Momentum);
    let with = |memory_bytes| Settings {
        device: Some(Math::F32),
        memory_bytes,
        ..settings()
    };
    let found = plan(&problem, &with(None)).unwrap();
    let needed = found.total_bytes() - found.bytes[0].1;
    let refused = plan(&problem, &with(Some(needed - 1)))
        .unwrap_err()
        .to_string();
    assert!(refused.contains("of the GPU's memory"), "{refused}");
    assert!(plan(&problem, &with(Some(needed))).is_ok());
}
