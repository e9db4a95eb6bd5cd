//! Scores against numbers worked out by hand, baselines against data they must fit.

use super::scores::{Score, Series, Tally};
use super::*;
use crate::data::{Archive, Channel, Climatology};
use crate::time::Time;
use crate::train::{Forecaster, Target};

/// Forecasts of a test by this processor.
fn on_processor<'m>(
    problem: &crate::train::Problem,
    members: &[&'m [f32]],
    options: &Options,
) -> Forecaster<'m> {
    Forecaster::new(Target::Cpu, problem, members, options.extent(1, None)).unwrap()
}

/// Two forecasts of four places, by hand: errors 1, −1, 0, 2 and 0, 0, 0, 0.
#[test]
fn errors_are_means_over_places_and_times() {
    let mut tally = Tally::default();
    let weights = [0.25; 4];
    let (truth, usual) = ([1.0, 2.0, 3.0, 4.0], [2.5; 4]);
    tally.add(&weights, &[2.0, 1.0, 3.0, 6.0], &truth, Some(&usual), false);
    tally.add(&weights, &truth, &truth, Some(&usual), false);
    let score = tally.score(false, 1).unwrap();
    assert!((score.rmse - 0.75_f64.sqrt()).abs() < 1e-12);
    assert!((score.mae - 0.5).abs() < 1e-12 && (score.bias - 0.25).abs() < 1e-12);
    // First: Σ f'o' = 0.75 + 0.75 + 0.25 + 5.25 = 7, Σ f'² = 15, Σ o'² = 5.
    let acc = 0.5 * (7.0 / (15.0_f64 * 5.0).sqrt() + 1.0);
    assert!((score.acc.unwrap() - acc).abs() < 1e-12, "{:?}", score.acc);
    assert!(score.rain.is_none());
}

/// At 10 mm: two hits, one miss, one false alarm.
#[test]
fn rain_is_counted_above_thresholds() {
    let mut tally = Tally::default();
    let weights = [0.2; 5];
    let forecast = [12.0, 30.0, 9.0, 11.0, 0.0];
    let truth = [10.0, 26.0, 15.0, 2.0, 0.5];
    tally.add(&weights, &forecast, &truth, Some(&[0.0; 5]), true);
    let rain = tally.score(true, 1).unwrap().rain.unwrap();
    assert_eq!(rain.csi, [Some(1.0), Some(0.5), Some(1.0)]);
    assert_eq!(rain.frequency_bias, [Some(1.0), Some(1.0), Some(1.0)]);
    assert_eq!(
        rain.mse,
        [
            Some((81.0 + 0.25) / 2.0),
            Some((4.0 + 36.0) / 2.0),
            Some(16.0)
        ]
    );
    let mut dry = Tally::default();
    dry.add(&[1.0], &[0.0], &[0.0], None, true);
    assert_eq!(dry.score(true, 1).unwrap().rain.unwrap().csi, [None; 3]);
}

fn wave(n_times: usize) -> Archive {
    let (n_lat, n_lon) = (8, 9);
    let mut values = Vec::new();
    for t in 0..n_times {
        for k in 0..n_lat * n_lon {
            let (y, x) = ((k / n_lon) as f64, (k % n_lon) as f64);
            values.push((0.7 * x - 0.4 * t as f64 + 0.3 * y).sin() as f32);
        }
    }
    let channel = Channel {
        variable: "U".into(),
        level: None,
        units: String::new(),
    };
    Archive {
        times: (0..n_times).map(|k| Time(21_600 * k as i64)).collect(),
        step_s: 21_600,
        lat: (0..n_lat).map(|k| 40.0 + k as f64).collect(),
        lon: (0..n_lon).map(|k| k as f64).collect(),
        channels: vec![channel],
        absent: Vec::new(),
        mask: None,
        curved: None,
        statics: Vec::new(),
        values: values.into(),
    }
}

#[test]
fn climatology_is_the_mean_of_the_hour() {
    let archive = wave(40);
    let climatology = Climatology::new(&archive, &(0..20));
    let n = archive.record_len();
    for t in [21, 22] {
        let own: Vec<usize> = (0..20).filter(|k| k % 4 == t % 4).collect();
        for node in [0, 17, n - 1] {
            let mean = own.iter().map(|&k| archive.record(k)[node]).sum::<f32>() / own.len() as f32;
            assert!((climatology.at(&archive, t)[node] - mean).abs() < 1e-5);
        }
    }
}

/// Errors of two methods of one variable over `n` days, as an evaluation.
fn found(step_hours: f64, errors: [Vec<Vec<f64>>; 2]) -> Evaluation {
    named(step_hours, ["model", "start"], errors)
}

/// The same with the names of the methods.
pub(crate) fn named(
    step_hours: f64,
    names: [&'static str; 2],
    errors: [Vec<Vec<f64>>; 2],
) -> Evaluation {
    let n = errors[0][0].len();
    let score = |squares: &Vec<f64>| Score {
        rmse: (squares.iter().sum::<f64>() / n as f64).sqrt(),
        mae: 0.0,
        bias: 0.0,
        acc: None,
        crps: 0.0,
        spread: None,
        correlation: None,
        rain: None,
    };
    let series = |squares: Vec<f64>| Series {
        absolute: vec![0.0; n],
        errors: vec![0.0; n],
        acc: vec![f64::NAN; n],
        crps: vec![0.0; n],
        variances: Vec::new(),
        missing: Vec::new(),
        squares,
    };
    let methods = names.into_iter().zip(errors);
    let methods = methods.map(|(method, squares)| Scored {
        method,
        scores: squares.iter().map(|lead| vec![score(lead)]).collect(),
        series: squares.into_iter().map(|lead| vec![series(lead)]).collect(),
    });
    Evaluation {
        spatial: Spatial::default(),
        channels: wave(1).channels,
        step_hours,
        n_starts: n,
        starts: (0..n as i64).map(|k| Time(k * 86_400)).collect(),
        n_members: 1,
        areas: Vec::new(),
        span: (Time(0), Time((n as i64 - 1) * 86_400)),
        methods: methods.collect(),
        maps: Vec::new(),
        lat: Vec::new(),
        lon: Vec::new(),
        curved: None,
        n_channels: 1,
        penalties: Vec::new(),
        notes: Vec::new(),
        places: vec![0],
    }
}

/// Numbers that look random, from 0 to 1.
pub(crate) fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as f64 / f64::from(1_u32 << 31)
    }
}

/// A fifth less error at every lead, day by day with noise: ahead. The same errors, or a model that
/// is only ahead on some lucky days: not ahead. A rival that explodes does not hide an advantage.
#[test]
fn an_advantage_must_be_more_than_chance() {
    let days = 60;
    let series = |factor: f64, spread: f64, seed: u64| -> Vec<Vec<f64>> {
        let mut next = noise(seed);
        let mut day = || factor * (1.0 + spread * (next() - 0.5));
        (0..2).map(|_| (0..days).map(|_| day()).collect()).collect()
    };
    let better = found(24.0, [series(0.8, 0.4, 1), series(1.0, 0.4, 2)]);
    assert!(better.passed(), "{:?}", better.failures());
    assert_eq!(better.comparisons().len(), 2);
    let same = found(24.0, [series(1.0, 0.4, 3), series(1.0, 0.4, 3)]);
    assert!(!same.passed());
    assert!(same.comparisons().iter().all(|c| c.chance == Some(1.0)));
    // Always ahead, by a tenth of a percent: a network that has hardly moved.
    let hardly: Vec<Vec<f64>> = (series(1.0, 0.4, 3).into_iter())
        .map(|lead| lead.into_iter().map(|x| 0.998 * x).collect())
        .collect();
    let hardly = found(24.0, [hardly, series(1.0, 0.4, 3)]);
    assert!(!hardly.passed() && hardly.comparisons()[0].ahead == (1, 1));
    let mut lucky = series(1.0, 0.0, 4);
    for lead in &mut lucky {
        lead[10..13].fill(0.1);
        lead[13..].iter_mut().step_by(2).for_each(|x| *x = 1.001);
    }
    let lucky = found(24.0, [lucky, series(1.0, 0.0, 5)]);
    assert_eq!(lucky.comparisons()[0].ahead, (1, 1));
    assert!(!lucky.passed() && lucky.failures()[0].contains("beyond chance"));
    let mut exploding = series(1.0, 0.4, 6);
    exploding[1][30] = f64::INFINITY;
    let exploding = found(24.0, [series(0.8, 0.4, 7), exploding]);
    assert!(exploding.passed(), "{:?}", exploding.failures());
    let few = |lead: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
        lead.into_iter().map(|l| l[..4].to_vec()).collect()
    };
    let short = found(24.0, [few(series(0.5, 0.1, 8)), few(series(1.0, 0.1, 9))]);
    assert!(!short.passed() && short.failures()[0].contains("too few to tell"));
}

/// Errors without an advantage that are alike for about two days (an autoregression of 0.6 a day):
/// a model is called ahead in at most 5 % of cases. Bound: that and four standard deviations of a
/// share of 1,000. Catches: a level of 5 % with ten blocks (86 of 1,000), days taken as independent.
#[test]
fn false_advantages_are_as_rare_as_the_level_says() {
    let days = 60;
    let mut ahead = 0;
    for seed in 0..1000 {
        let mut next = noise(seed + 1);
        let mut series = || -> Vec<f64> {
            let mut x = 0.0;
            let mut day = || {
                x = 0.6 * x + next() + next() + next() - 1.5;
                f64::exp(x)
            };
            for _ in 0..20 {
                day();
            }
            (0..days).map(|_| day()).collect()
        };
        let both = [vec![series()], vec![series()]];
        ahead += usize::from(found(24.0, both).comparisons()[0].beyond_chance());
    }
    assert!(ahead <= 77, "{ahead} of 1000");
    assert!(ahead >= 10, "{ahead} of 1000: nothing would ever be found");
}

/// Scores of random problems against loops over plain lists: persistence, climatology of the hour,
/// and the start, which adds the linear model of the checkpoint, on the inside of the boundary.
#[test]
fn scores_are_those_of_plain_loops() {
    use crate::data::{SplitBy, Splits};
    use crate::train::{Architecture, Baseline, GraphKind, Problem, Task, Weighting, initial};
    for seed in 0..4 {
        let mut next = noise(seed + 50);
        let mut archive = wave(80);
        archive.lat.iter_mut().for_each(|y| *y += seed as f64);
        archive.values.iter_mut().for_each(|x| *x += next() as f32);
        let raw = archive.clone();
        let by = SplitBy::Ratios {
            train: 0.6,
            validation: 0.2,
        };
        let splits = Splits::new(&archive, &by).unwrap();
        let architecture = Architecture {
            graph: GraphKind::Flat,
            baseline: Baseline::Linear,
            latent: 8,
            n_layers: 1,
            hidden: 8,
            n_hidden: 1,
        };
        let task = Task::Forecast { boundary_width: 2 };
        let weighting = Weighting::default();
        let problem = Problem::new(archive, splits, task, architecture, weighting, None).unwrap();
        let network =
            fitzroy_device::nn::Network::new(&problem.spec, fitzroy_device::nn::Recompute::None);
        let parameters = initial(&problem, &network.unwrap(), 1);
        let options = Options {
            leads: 3,
            from: None,
            until: None,
            starts_max: 0,
            baselines: true,
            forecasts: crate::data::Forecasts::default(),
            areas: halves(&raw),
        };
        let mut forecaster = on_processor(&problem, &[&parameters], &options);
        let found = evaluate(&problem, &mut forecaster, &options, &mut |_, _| true);
        let found = found.unwrap().unwrap();
        let starts: Vec<usize> = (65..77).collect();
        // Two parts that together are all: their squares, weighed by area, are those of all.
        let weight = |part: &Part| -> f64 {
            let rows = raw_rows(&raw, part.name == "north");
            rows.iter().map(|lat| lat.to_radians().cos()).sum()
        };
        for (m, method) in found.methods.iter().enumerate() {
            for lead in 0..3 {
                let parts = found.areas.iter();
                let all: f64 = parts
                    .clone()
                    .map(|p| weight(p) * p.rmse[m][lead][0].powi(2))
                    .sum();
                let total: f64 = parts.map(weight).sum();
                let own = method.scores[lead][0].rmse;
                assert!(((all / total).sqrt() / own - 1.0).abs() < 1e-6, "{own}");
            }
        }
        let (north, south) = (&found.areas[0].rmse[1][0][0], &found.areas[1].rmse[1][0][0]);
        assert!(north != south && found.areas[0].count > found.areas[1].count);
        assert_eq!(found.n_starts, starts.len());
        for method in &found.methods {
            for lead in 1..=3 {
                let plain = plain(&raw, &problem, method.method, &starts, lead);
                let Some(plain) = plain else { continue };
                let score = &method.scores[lead - 1][0];
                for (own, plain) in [score.rmse, score.mae, score.bias].iter().zip(plain) {
                    let off = (own - plain).abs();
                    assert!(off < 1e-5, "{seed} {} {lead}: {own} {plain}", method.method);
                }
            }
        }
    }
}

/// A file of later records alone is scored beside the climatology that the checkpoint remembers, as with the training
/// records.
#[test]
fn a_checkpoint_remembers_climatology() {
    use crate::data::Splits;
    use crate::train::tests::{Folder, archive, problem_from, run, settings};
    use crate::train::{Baseline, GraphKind, Problem, Task, find};
    let task = Task::Forecast { boundary_width: 1 };
    let problem = problem_from(archive(60), task, GraphKind::Flat, Baseline::Linear);
    let folder = Folder::new("climatology");
    run(&problem, &settings(), None, &folder.0);
    let checkpoint = find(&folder.0).unwrap().checkpoint;
    let options = Options {
        leads: 2,
        from: None,
        until: None,
        starts_max: 0,
        baselines: true,
        forecasts: crate::data::Forecasts::default(),
        areas: Vec::new(),
    };
    let scored = |archive: Archive, splits: Splits| {
        let restored = Problem::restore(archive, splits, &checkpoint).unwrap();
        let parameters = checkpoint.best_parameters();
        let mut forecaster = on_processor(&restored, &[parameters], &options);
        let found = evaluate(&restored, &mut forecaster, &options, &mut |_, _| true);
        let found = found.unwrap().unwrap();
        let usual = found.methods.iter().find(|m| m.method == "climatology");
        (
            found.notes.len(),
            usual.unwrap().scores.clone(),
            found.methods[0].scores.clone(),
        )
    };
    let first = problem.splits.test.start;
    let whole = scored(archive(60), problem.splits.clone());
    let mut later = archive(60);
    let len = later.record_len();
    later.values = later.values[first * len..].to_vec().into();
    later.times.drain(..first);
    let n = later.times.len();
    let splits = Splits {
        train: 0..0,
        validation: 0..0,
        test: 0..n,
    };
    let later = scored(later, splits);
    assert_eq!((whole.0, later.0), (0, 1));
    assert!(whole.1 == later.1 && whole.2 == later.2);
    assert!(later.1[0][0].acc.is_none() && later.2[0][0].acc.is_some());
}

/// The region north and south of its fourth row.
fn halves(raw: &Archive) -> Vec<Area> {
    let border = raw.lat[3];
    let half = |name: &str, south: f64, north: f64| Area {
        name: name.into(),
        region: crate::files::Region {
            south,
            north,
            west: -180.0,
            east: 180.0,
        },
    };
    vec![
        half("north", border, 90.0),
        half("south", -90.0, border - 0.5),
    ]
}

/// Latitudes inside of the boundary of two cells, from the fourth row on or before it.
fn raw_rows(raw: &Archive, north: bool) -> Vec<f64> {
    let inside = &raw.lat[2..raw.lat.len() - 2];
    inside
        .iter()
        .copied()
        .filter(|lat| (*lat >= raw.lat[3]) == north)
        .collect()
}

/// RMSE, MAE and bias of a method that is known without a network.
fn plain(
    raw: &Archive,
    problem: &crate::train::Problem,
    method: &str,
    starts: &[usize],
    lead: usize,
) -> Option<[f64; 3]> {
    let (n_lat, n_lon) = (raw.lat.len(), raw.lon.len());
    let n = n_lat * n_lon;
    let at = |t: usize, k: usize| f64::from(raw.values[t * n + k]);
    let train = problem.splits.train.clone();
    let usual = |t: usize, k: usize| {
        let hours: Vec<usize> = train.clone().filter(|s| s % 4 == t % 4).collect();
        hours.iter().map(|&s| at(s, k)).sum::<f64>() / hours.len() as f64
    };
    let edge = |k: usize| {
        let (y, x) = (k / n_lon, k % n_lon);
        y < 2 || x < 2 || y + 2 >= n_lat || x + 2 >= n_lon
    };
    let linear = problem.normaliser.linear.as_ref()?;
    let (mean, sd) = (problem.normaliser.mean[0], problem.normaliser.sd[0]);
    let weight = |p: usize| f64::from(linear.weights[p * linear.stride()]);
    let stepped = |t: usize| -> Vec<f64> {
        let scaled = |t: usize| (0..n).map(|k| (at(t, k) - mean) / sd).collect::<Vec<f64>>();
        let (mut before, mut now) = (scaled(t - 1), scaled(t));
        for step in 1..=lead {
            let truth = scaled(t + step);
            let next = (0..n).map(|k| {
                if edge(k) {
                    return truth[k];
                }
                let mut x = now[k] + weight(18) + problem.normaliser.rest_mean[0];
                for p in 0..9 {
                    let beside = k + (p / 3) * n_lon + p % 3 - n_lon - 1;
                    x += weight(p) * before[beside] + weight(9 + p) * now[beside];
                }
                x
            });
            (before, now) = (now.clone(), next.collect());
        }
        now.iter().map(|x| x * sd + mean).collect()
    };
    let (mut squares, mut absolute, mut sum, mut total) = (0.0, 0.0, 0.0, 0.0);
    for &t in starts {
        let forecast: Vec<f64> = match method {
            "persistence" => (0..n).map(|k| at(t, k)).collect(),
            "climatology" => (0..n).map(|k| usual(t + lead, k)).collect(),
            // A network that has not learnt is its start.
            "start" | "model" => stepped(t),
            _ => return None,
        };
        for k in (0..n).filter(|&k| !edge(k)) {
            let w = raw.lat[k / n_lon].to_radians().cos();
            let error = forecast[k] - at(t + lead, k);
            squares += w * error * error;
            absolute += w * error.abs();
            sum += w * error;
            total += w;
        }
    }
    Some([(squares / total).sqrt(), absolute / total, sum / total])
}

/// CRPS as the integral of (F(x) − 1{x ≥ o})² over the steps of the distribution of the members, and the spread, of
/// random ensembles; with rain that is held above 0 by nobody.
#[test]
fn ensembles_are_scored_as_their_definitions_say() {
    let mut next = noise(3);
    for m in [2, 3, 7] {
        let n = 20;
        let mut field = || (0..n).map(|_| 4.0 * next() - 2.0).collect::<Vec<f64>>();
        let members: Vec<Vec<f64>> = (0..m).map(|_| field()).collect();
        let truth = field();
        let weights = vec![1.0 / n as f64; n];
        let mut tally = Tally::default();
        tally.add_ensemble(&weights, &members, &truth, None, false);
        let score = tally.score(false, m).unwrap();
        let (mut crps, mut variance, mut squares) = (0.0, 0.0, 0.0);
        for place in 0..n {
            let own: Vec<f64> = members.iter().map(|f| f[place]).collect();
            let o = truth[place];
            let mut edges = own.clone();
            edges.push(o);
            edges.sort_by(f64::total_cmp);
            for pair in edges.windows(2) {
                let middle = 0.5 * (pair[0] + pair[1]);
                let below = own.iter().filter(|x| **x <= middle).count() as f64 / m as f64;
                let step = if middle >= o { 1.0 } else { 0.0 };
                crps += (pair[1] - pair[0]) * (below - step).powi(2) / n as f64;
            }
            let mean = own.iter().sum::<f64>() / m as f64;
            let spread = own.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (m as f64 - 1.0);
            variance += spread / n as f64;
            squares += (mean - o).powi(2) / n as f64;
        }
        assert!((score.crps - crps).abs() < 1e-12, "{} {crps}", score.crps);
        assert!((score.rmse - squares.sqrt()).abs() < 1e-12);
        let spread = (variance * (m as f64 + 1.0) / m as f64).sqrt();
        assert!((score.spread.unwrap() - spread).abs() < 1e-12);
    }
}

/// Members that are one and the same are that one, without spread; of two the mean is scored, and the first is scored
/// as if it were alone.
#[test]
fn an_ensemble_of_one_network_is_that_network() {
    use crate::train::tests::{archive, problem_from};
    use crate::train::{Baseline, GraphKind, Task, initial};
    let task = Task::Forecast { boundary_width: 1 };
    let problem = problem_from(archive(60), task, GraphKind::Flat, Baseline::Momentum);
    let network =
        fitzroy_device::nn::Network::new(&problem.spec, fitzroy_device::nn::Recompute::None);
    let network = network.unwrap();
    let one = initial(&problem, &network, 1);
    let two = initial(&problem, &network, 2);
    let options = Options {
        leads: 2,
        from: None,
        until: None,
        starts_max: 4,
        baselines: false,
        forecasts: crate::data::Forecasts::default(),
        areas: Vec::new(),
    };
    let scored = |members: &[&[f32]]| {
        let mut forecaster = on_processor(&problem, members, &options);
        let found = evaluate(&problem, &mut forecaster, &options, &mut |_, _| true);
        found.unwrap().unwrap()
    };
    let (alone, twice) = (scored(&[&one]), scored(&[&one, &one]));
    for lead in 0..2 {
        let both = alone.methods[0].scores[lead]
            .iter()
            .zip(&twice.methods[0].scores[lead]);
        for (a, b) in both {
            assert!(
                (a.rmse - b.rmse).abs() < 1e-12 && b.spread == Some(0.0),
                "{a:?} {b:?}"
            );
            assert!((b.crps - b.mae).abs() < 1e-12 && a.spread.is_none());
        }
    }
    let pair = scored(&[&one, &two]);
    let member = pair.methods.iter().find(|m| m.method == "member").unwrap();
    assert!(member.scores[1][0].spread.is_none());
    assert_eq!(member.scores[1][0].rmse, alone.methods[0].scores[1][0].rmse);
    let own = &pair.methods[0].scores[1][0];
    assert!(own.spread.unwrap() > 0.0 && own.crps < member.scores[1][0].crps);
}

/// One variable by itself: a fifth less error is ahead, the other way round behind, the same level, a week too short.
#[test]
fn a_variable_stands_where_its_errors_are() {
    let series = |factor: f64, n: usize, seed: u64| -> Vec<Vec<f64>> {
        let mut next = noise(seed);
        vec![
            (0..n)
                .map(|_| factor * (1.0 + 0.4 * (next() - 0.5)))
                .collect(),
        ]
    };
    let stands = |own: f64, n: usize| {
        let found = found(24.0, [series(own, n, 1), series(1.0, n, 2)]);
        (found.standing(1, 0, 0), found.standings(1))
    };
    assert_eq!(stands(0.8, 60), (Standing::Ahead, [1, 0, 0, 0]));
    assert_eq!(stands(1.0, 60), (Standing::Level, [0, 1, 0, 0]));
    assert_eq!(stands(1.25, 60), (Standing::Behind, [0, 0, 1, 0]));
    assert_eq!(stands(0.8, 5), (Standing::Unknown, [0, 0, 0, 1]));
}

/// Seasons hold the initial times of their months, and the errors of these alone.
#[test]
fn seasons_are_those_of_initial_times() {
    let errors = |n: usize| vec![(0..n).map(|k| (k * k) as f64).collect::<Vec<f64>>()];
    assert!(seasons(&found(24.0, [errors(50), errors(50)])).is_empty());
    // From the first of January: 59 days of winter, then the first of spring.
    let all = seasons(&found(24.0, [errors(70), errors(70)]));
    let told: Vec<(&str, usize)> = all.iter().map(|s| (&s.name[..], s.count)).collect();
    assert_eq!(told, [("DJF", 59), ("MAM", 11)]);
    let plain = (59..70).map(|k: u64| (k * k) as f64).sum::<f64>() / 11.0;
    assert!((all[1].rmse[0][0][0] - plain.sqrt()).abs() < 1e-12);
    assert_eq!(all[1].ratio(1, 0), 1.0);
}

/// Intervals of a season are those of an evaluation of its initial times alone.
#[test]
fn intervals_of_seasons_are_those_of_their_times() {
    let mut next = noise(3);
    let all: Vec<[f64; 2]> = (0..150).map(|_| [next() + 0.1, next() + 0.2]).collect();
    let part = |range: std::ops::Range<usize>| {
        let of = |m: usize| vec![all[range.clone()].iter().map(|e| e[m]).collect()];
        found(24.0, [of(0), of(1)])
    };
    let seasons = seasons(&part(0..150));
    for (season, range) in seasons.iter().zip([0..59, 59..150]) {
        let alone = intervals(&part(range));
        for (method, alone) in alone.iter().enumerate() {
            assert!(season.intervals[method][0][0].is_some());
            assert_eq!(season.intervals[method][0][0], alone[0][0].rmse);
            // Of one channel the mean of ratios is the ratio.
            let apart = match (season.ratio_interval(method, 0), alone[0][0].ratio) {
                (Some(a), Some(b)) => (a[0] - b[0]).abs() + (a[1] - b[1]).abs(),
                (None, None) => 0.0,
                (a, b) => unreachable!("{a:?} {b:?}"),
            };
            assert!(apart < 1e-12 && (method == 0) == alone[0][0].ratio.is_none());
        }
    }
}
