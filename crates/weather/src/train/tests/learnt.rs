//! What is learnt, and how it is told.

use super::*;
use fitzroy_device::nn::Recompute;

#[test]
fn four_samples_can_be_learnt_by_heart() {
    let problem = problem_of(
        archive(40),
        Task::Forecast { boundary_width: 1 },
        GraphKind::Mesh,
    );
    let mut pool = fitzroy_device::nn::Pool::new(2);
    let mut learner = Learner::new(&problem, &pool, 4, 1, Recompute::None).unwrap();
    let mut theta = initial(&problem, &learner.predictor.network, 1);
    let mut batch = Batch::default();
    batch.fill(&problem, &[1, 2, 3, 4], 1);
    let n = theta.len();
    let (mut m, mut v) = (vec![0.0; n], vec![0.0; n]);
    let mut loss = f64::INFINITY;
    for step in 1..=1000 {
        let mut gradient = vec![0.0; n];
        learner.predictor.embed(&mut pool, &theta);
        loss = learner.learn(&problem, &mut pool, &theta, &batch, &mut gradient);
        let rate = 5e-3 * (1.0 - step as f64 / 1020.0);
        let adamw = fitzroy_device::nn::AdamW {
            weight_decay: 0.0,
            ..Default::default()
        };
        adamw.step(
            &mut pool, step, rate, 1.0, &mut theta, &gradient, &mut m, &mut v,
        );
    }
    assert!(loss < 1e-3, "{loss}");
}

#[test]
fn rain_is_learnt_downstream_of_pruned_boxes() {
    let problem = problem_of(archive(60), rain(), GraphKind::Flat);
    assert!(problem.n_pruned > 0);
    let folder = Folder::new("rain");
    let outcome = run(
        &problem,
        &Settings {
            max_steps: Some(20),
            ..settings()
        },
        None,
        &folder.0,
    );
    assert!(outcome.last_loss.is_finite());
    let refused = plan(
        &problem,
        &Settings {
            rollout_steps: "2".into(),
            ..settings()
        },
    );
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("cannot be carried on")
    );
}

/// A map without noise that no linear model knows: x(t+1) = 1 − 1.4 x(t)² + 0.3 x(t−1) at every
/// point for itself (Hénon 1976). A trained network is ahead of everything by more than chance at
/// both leads, on validation forecasts and in the evaluation; before training it is not, and its
/// forecasts are those of its start.
#[test]
fn a_network_that_has_learnt_passes_and_one_that_has_not_fails() {
    let mut data = archive(240);
    data.channels.truncate(1);
    let (n, n_times) = (data.n_nodes(), data.times.len());
    let mut values = vec![0.0_f32; n * n_times];
    for k in 0..n {
        let (mut before, mut now) = (0.1 + 0.002 * k as f64, 0.3 - 0.003 * k as f64);
        for t in 0..n_times + 50 {
            (before, now) = (now, 1.0 - 1.4 * now * now + 0.3 * before);
            if t >= 50 {
                values[(t - 50) * n + k] = now as f32;
            }
        }
    }
    data.values = values.into();
    let task = Task::Forecast { boundary_width: 1 };
    let problem = problem_from(data, task, GraphKind::Flat, Baseline::Linear);
    let options = crate::evaluate::Options {
        leads: 2,
        from: None,
        until: None,
        starts_max: 0,
        baselines: true,
        forecasts: crate::data::Forecasts::default(),
        areas: Vec::new(),
    };
    let scored = |parameters: &[f32]| {
        let mut forecaster = on_processor(&problem, parameters, options.leads);
        let found =
            crate::evaluate::evaluate(&problem, &mut forecaster, &options, &mut |_, _| true);
        found.unwrap().unwrap()
    };
    let learner = Learner::new(
        &problem,
        &fitzroy_device::nn::Pool::new(1),
        1,
        1,
        Recompute::None,
    );
    let untrained = scored(&initial(&problem, &learner.unwrap().predictor.network, 1));
    assert!(!untrained.passed());
    let start = untrained.beside("start");
    assert!(
        start
            .iter()
            .all(|c| (c.ratio - 1.0).abs() < 1e-6 && !c.beyond_chance())
    );
    let folder = Folder::new("henon");
    let settings = Settings {
        n_epochs: 12,
        learning_rate: 1e-2,
        decay_steps: None,
        validation_frequency: 50,
        validation_leads: 2,
        average: None,
        ..settings()
    };
    let outcome = run(&problem, &settings, None, &folder.0);
    assert_eq!(outcome.beside_start.len(), 2);
    assert!(
        outcome.beside_start.iter().all(|b| b.ratio < 0.7),
        "{:?}",
        outcome.beside_start
    );
    let best = Checkpoint::load(&outcome.best.unwrap()).unwrap();
    let trained = scored(best.best_parameters());
    assert!(trained.passed(), "{:?}", trained.failures());
}

/// A channel that never changes has no scale, and a loss of exactly 0 is no success.
#[test]
fn what_cannot_be_learnt_is_refused_or_no_success() {
    let mut data = archive(60);
    for x in data.values.iter_mut().skip(1).step_by(3) {
        *x = 4.0;
    }
    let by = SplitBy::Ratios {
        train: 0.6,
        validation: 0.2,
    };
    let splits = Splits::new(&data, &by).unwrap();
    let architecture = problem().architecture;
    let task = Task::Forecast { boundary_width: 1 };
    let weighting = Weighting::default();
    let refused = Problem::new(data, splits, task, architecture, weighting, None);
    let error = refused.err().unwrap().to_string();
    assert!(error.contains("U 850 hPa never changes"), "{error}");
    let mut problem = problem();
    problem.channel_weights.fill(0.0);
    let folder = Folder::new("nothing");
    let short = Settings {
        max_steps: Some(3),
        ..settings()
    };
    let outcome = run(&problem, &short, None, &folder.0);
    assert_eq!((outcome.ended, outcome.last_loss), (Ended::Degenerate, 0.0));
}

/// The errors of validations that are logged are those of plain loops over forecasts, in the units of the channels, and
/// they choose the best checkpoint and end a run where it is asked for. Catches: squares of another lead, means over
/// samples that were filled up, areas forgotten.
#[test]
fn errors_of_validations_are_those_of_plain_loops_and_end_a_run() {
    let task = Task::Forecast { boundary_width: 2 };
    let problem = problem_from(archive(60), task, GraphKind::Flat, Baseline::Linear);
    let folder = Folder::new("monitor");
    let settings = Settings {
        batch_size: 3,
        monitor: Monitor::Rmse,
        validation_frequency: 5,
        validation_leads: 3,
        max_steps: Some(5),
        ..settings()
    };
    run(&problem, &settings, None, &folder.0);
    let text = std::fs::read_to_string(folder.0.join("metrics.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &serde_json::Value| line.get("validation/lead_hours").is_some())
        .collect();
    let raw = archive(60);
    let windows = problem.windows(crate::data::Split::Validation, 3).0;
    assert!(!windows.len().is_multiple_of(settings.batch_size));
    let errors = |parameters: &[f32]| -> Vec<f64> {
        let mut sums = [(0.0, 0.0); 3];
        let mut forecaster = on_processor(&problem, parameters, 3);
        for &t in &windows {
            let made = crate::evaluate::forecast(&problem, &mut forecaster, t as usize);
            let made = made.unwrap().remove(0).remove(2);
            let truth = raw.record(t as usize + 3);
            for k in 0..made.len() {
                let (node, channel) = (k / 3, k % 3);
                let (y, x) = (node / 10, node % 10);
                if (2..7).contains(&y) && (2..8).contains(&x) {
                    let w = raw.lat[y].to_radians().cos();
                    sums[channel].0 += w * (made[k] - f64::from(truth[k])).powi(2);
                    sums[channel].1 += w;
                }
            }
        }
        sums.iter().map(|(s, w)| (s / w).sqrt()).collect()
    };
    let checkpoint = last(&folder.0);
    let network = fitzroy_device::nn::Network::new(&problem.spec, Recompute::None).unwrap();
    let first = errors(&initial(&problem, &network, settings.seed));
    let after = errors(checkpoint.best_parameters());
    for (line, plain) in [(&lines[0], &first), (&lines[1], &after)] {
        assert_eq!(line["validation/lead_hours"], 18.0);
        // Rain is not held above 0 in a validation, as in the loss.
        for (label, plain) in ["TEM 850 hPa", "U 850 hPa"].iter().zip(plain) {
            let own = line[format!("validation/rmse/{label}")].as_f64().unwrap();
            assert!((own / plain - 1.0).abs() < 1e-4, "{label}: {own} {plain}");
        }
    }
    let ratio = |k: usize| {
        let label = ["TEM 850 hPa", "U 850 hPa", "precipitation"][k];
        let of =
            |line: &serde_json::Value| line[format!("validation/rmse/{label}")].as_f64().unwrap();
        of(&lines[1]) / of(&lines[0])
    };
    let mean = (0..3).map(|k| ratio(k).ln()).sum::<f64>() / 3.0;
    let told = lines[1]["validation/ratio"].as_f64().unwrap();
    assert!(
        (told / mean.exp() - 1.0).abs() < 1e-9,
        "{told} {}",
        mean.exp()
    );
    // A rate that spoils everything: no validation is better than the first.
    let spoiled = Folder::new("spoiled");
    let settings = Settings {
        learning_rate: 1.0,
        warmup_steps: Some(1),
        validation_frequency: 2,
        patience: 2,
        max_steps: None,
        ..settings
    };
    let outcome = run(&problem, &settings, None, &spoiled.0);
    assert_eq!(outcome.ended, Ended::Early);
    assert!(outcome.progress.step <= 10, "{}", outcome.progress.step);
}
