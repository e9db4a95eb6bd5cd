//! One step, cut into parts and beside differences.

use super::*;
use crate::data::{Room, Values};
use fitzroy_device::nn::{Pool, Recompute};

/// Data in a file beside the same data in memory. Catches: a pass over the records that misses some
/// of a block, a batch of other windows.
#[test]
fn data_in_a_file_train_the_same_network() {
    let trained = |data: Archive, name: &str| {
        let problem = problem_from(
            data,
            Task::Forecast { boundary_width: 1 },
            GraphKind::Mesh,
            Baseline::Linear,
        );
        let folder = Folder::new(name);
        run(&problem, &settings(), None, &folder.0);
        (problem.checksum, last(&folder.0).parameters)
    };
    let (held, mut mapped) = (archive(60), archive(60));
    let few = Room {
        memory_bytes: Some(10_000),
        folder: Some(std::env::temp_dir()),
    };
    mapped.values = Values::missing(held.values.len(), &few).unwrap();
    assert!(mapped.values.in_file() && mapped.values.iter().all(|x| x.is_nan()));
    mapped.values.copy_from_slice(&held.values);
    assert!(trained(held, "held") == trained(mapped, "mapped"));
}

#[test]
fn summed_halves_and_recomputed_layers_are_the_same_step() {
    let problem = problem();
    let losses = |settings: Settings| {
        let folder = Folder::new(&format!(
            "same{}{}",
            settings.batch_size, settings.accumulate
        ));
        let settings = Settings {
            max_steps: Some(4),
            average: None,
            ..settings
        };
        run(&problem, &settings, None, &folder.0);
        last(&folder.0).parameters
    };
    let eight = losses(Settings {
        batch_size: 8,
        ..settings()
    });
    let halves = losses(Settings {
        batch_size: 4,
        accumulate: 2,
        ..settings()
    });
    let worst = eight
        .iter()
        .zip(&halves)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    // Four steps of at most 3e-3 each; sums in another order change the last bits.
    assert!(worst < 1e-4, "{worst}");
    let recomputed = losses(Settings {
        batch_size: 8,
        recompute: Recompute::Mlp,
        ..settings()
    });
    assert!(eight == recomputed);
}

/// A network of `problem` that learns from two windows of three steps.
fn learning(problem: &Problem) -> (Pool, Learner) {
    let pool = Pool::new(1);
    let learner = Learner::new(problem, &pool, 2, 3, Recompute::None).unwrap();
    (pool, learner)
}

/// Holds the gradient of a forecast of three steps at `theta` against central differences of its loss
/// along it, in f32: the bound is its rounding.
fn assert_gradient(problem: &Problem, mut pool: Pool, mut learner: Learner, mut theta: Vec<f32>) {
    let mut batch = Batch::default();
    batch.fill(problem, &[5, 9], 3);
    let mut gradient = vec![0.0; theta.len()];
    learner.predictor.embed(&mut pool, &theta);
    let loss = learner.learn(problem, &mut pool, &theta, &batch, &mut gradient);
    let mut value = |theta: &[f32]| {
        learner.predictor.embed(&mut pool, theta);
        learner.forecast(problem, &mut pool, theta, &batch, 2, false)
    };
    assert!((value(&theta) - loss).abs() < 1e-6 * loss);
    // Along the gradient the loss must change by its length.
    let length = gradient
        .iter()
        .map(|g| f64::from(g * g))
        .sum::<f64>()
        .sqrt();
    let h = 1e-3 * loss / length;
    let start = theta.clone();
    let mut moved = |sign: f64| {
        for ((x, x0), g) in theta.iter_mut().zip(&start).zip(&gradient) {
            *x = x0 + (sign * h / length) as f32 * g;
        }
        value(&theta)
    };
    let slope = (moved(1.0) - moved(-1.0)) / (2.0 * h);
    assert!((slope / length - 1.0).abs() < 5e-3, "{slope} and {length}");
}

/// Catches: a slope that is lost between steps.
#[test]
fn gradients_run_through_all_steps_of_a_forecast() {
    let problem = problem();
    let (pool, learner) = learning(&problem);
    let theta = initial(&problem, &learner.predictor.network, 1);
    assert_gradient(&problem, pool, learner, theta);
}

/// Along the gradient of a rolled-out forecast with a linear model beneath. Catches: its slope by
/// either state that is lost, or goes to the wrong neighbour.
#[test]
fn gradients_run_through_the_linear_model_too() {
    let problem = problem_from(
        archive(60),
        Task::Forecast { boundary_width: 1 },
        GraphKind::Flat,
        Baseline::Linear,
    );
    let (pool, learner) = learning(&problem);
    let mut theta = initial(&problem, &learner.predictor.network, 1);
    let last = learner.predictor.network.parameters().iter();
    let last = last.rev().find(|p| p.shape.len() == 2).unwrap().clone();
    assert!(
        theta[last.offset..last.offset + last.n()]
            .iter()
            .all(|&x| x == 0.0)
    );
    // A network that says nothing has no slopes but those of its last layer.
    for (k, x) in theta[last.offset..last.offset + last.n()]
        .iter_mut()
        .enumerate()
    {
        *x = 0.3 * ((k * 7 % 11) as f32 - 5.0) / 5.0;
    }
    assert_gradient(&problem, pool, learner, theta);
}

/// Along the gradient where a channel is read alone: its states are the truth, whatever a network
/// says, so no slope runs through them. Catches: a channel that is forecast all the same, outputs that
/// belong to another channel.
#[test]
fn gradients_leave_out_channels_that_are_read_alone() {
    let data = archive(60);
    let alone = data.channels[0].variable.clone();
    let (n, record) = (data.channels.len(), data.record_len());
    let splits = crate::data::Splits {
        train: 0..40,
        validation: 40..60,
        test: 60..60,
    };
    let weighting = Weighting {
        forcing: vec![alone.clone()],
        ..Weighting::default()
    };
    let sizes = Architecture {
        graph: GraphKind::Flat,
        baseline: Baseline::Linear,
        latent: 8,
        n_layers: 1,
        hidden: 8,
        n_hidden: 1,
    };
    let task = Task::Forecast { boundary_width: 1 };
    let problem = Problem::new(data, splits, task, sizes, weighting, None).unwrap();
    let left = problem
        .archive
        .channels
        .iter()
        .filter(|c| c.variable != alone);
    assert_eq!(problem.target_channels(), left.collect::<Vec<_>>());
    assert!(problem.needs_truth() && problem.targets.len() < n);
    let (pool, mut learner) = learning(&problem);
    let mut theta = initial(&problem, &learner.predictor.network, 1);
    theta
        .iter_mut()
        .enumerate()
        .for_each(|(k, x)| *x += 0.05 * ((k % 7) as f32 - 3.0));
    let mut batch = Batch::default();
    batch.fill(&problem, &[5, 9], 3);
    let mut own = Pool::new(1);
    learner.predictor.embed(&mut own, &theta);
    learner.forecast(&problem, &mut own, &theta, &batch, 2, false);
    for step in 2..5 {
        let (made, truth) = (learner.predictor.state(step), batch.state(step));
        for (at, (a, b)) in made.iter().zip(truth).enumerate() {
            let is_alone = problem.archive.channels[at % record % n].variable == alone;
            assert!(!is_alone || a == b, "step {step}, number {at}");
        }
        assert!(made.iter().zip(truth).any(|(a, b)| a != b));
    }
    assert_gradient(&problem, pool, learner, theta);
}
