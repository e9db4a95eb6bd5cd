//! Rain that files add up: its changes beside lists of what each step brought.
#![allow(clippy::unwrap_used)]

mod noise;
mod rooms;

use fitzroy_weather::data::{Accumulation, Archive, Chosen, Contents, Missing, Reading};
use fitzroy_weather::files::{GridFile, GridHeader, GridVariable};
use fitzroy_weather::time::Time;
use noise::noise;
use std::path::PathBuf;

const PLACES: usize = 6;

struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Six hours apart, but for a day before the tenth.
fn times(n: usize) -> Vec<Time> {
    let hours = |t: usize| 6 * t as i64 + if t > 9 { 18 } else { 0 };
    (0..n).map(|t| Time(3600 * hours(t))).collect()
}

/// A file with these records of rain, and a temperature of each time.
fn written(name: &str, rain: &[Vec<f32>]) -> Temporary {
    let file = format!("fitzroy-accumulated-{name}-{}.nc", std::process::id());
    let path = Temporary(std::env::temp_dir().join(file));
    let variable = |name: &str, units: &str| GridVariable {
        name: name.into(),
        units: units.into(),
        long_name: name.into(),
        has_levels: false,
    };
    let header = GridHeader {
        title: "test".into(),
        attributes: Vec::new(),
        times: times(rain.len()),
        levels: Vec::new(),
        lat: vec![10.0, 11.0],
        lon: vec![0.0, 1.0, 2.0],
        curved: None,
        variables: vec![variable("precipitation", "mm"), variable("t2m", "K")],
        statics: Vec::new(),
        compression: 1,
    };
    let mut out = GridFile::create(&path.0, header).unwrap();
    for (t, record) in rain.iter().enumerate() {
        out.write(t, 0, record).unwrap();
        let warm: Vec<f32> = (0..PLACES).map(|k| 280.0 + (t + k) as f32).collect();
        out.write(t, 1, &warm).unwrap();
    }
    out.finish().unwrap();
    path
}

fn read(
    path: &Temporary,
    accumulation: Accumulation,
    missing: Missing,
) -> fitzroy::Result<(Archive, Contents)> {
    let chosen = Chosen {
        variables: vec!["precipitation".into(), "t2m".into()],
        reading: Reading {
            accumulation,
            missing,
            ..Reading::default()
        },
        ..Chosen::default()
    };
    rooms::read(std::slice::from_ref(&path.0), &chosen)
}

/// What each step brought, a third of it nothing.
fn steps(seed: u64, n: usize) -> Vec<Vec<f32>> {
    let mut pick = noise(seed);
    let mut drop = || match pick(3) {
        0 => 0.0,
        _ => pick(100) as f32 / 8.0,
    };
    (0..n)
        .map(|_| (0..PLACES).map(|_| drop()).collect())
        .collect()
}

/// Their sums, which begin anew at times of `anew`.
fn totals(steps: &[Vec<f32>], anew: impl Fn(usize) -> bool) -> Vec<Vec<f32>> {
    let mut sum = vec![3.5; PLACES];
    let mut all = Vec::new();
    for (t, step) in steps.iter().enumerate() {
        if anew(t) {
            sum = vec![0.0; PLACES];
        }
        sum.iter_mut().zip(step).for_each(|(sum, x)| *sum += x);
        all.push(sum.clone());
    }
    all
}

/// Compares rain and temperature with the steps at the times that are known: not the first, and not
/// that behind the gap.
fn compare(archive: &Archive, steps: &[Vec<f32>]) {
    let kept: Vec<usize> = (0..steps.len()).filter(|t| ![0, 10].contains(t)).collect();
    let all = times(steps.len());
    let expected: Vec<Time> = kept.iter().map(|&t| all[t]).collect();
    assert_eq!(archive.times, expected);
    for (k, &t) in kept.iter().enumerate() {
        let record = archive.record(k);
        for place in 0..PLACES {
            assert!(
                (record[2 * place] - steps[t][place]).abs() < 1e-3,
                "{t} {place}"
            );
            assert_eq!(record[2 * place + 1], 280.0 + (t + place) as f32);
        }
    }
}

#[test]
fn totals_of_rain_become_what_each_step_brought() {
    for seed in 0..30 {
        let steps = steps(seed, 14 + seed as usize % 7);
        let path = written(&format!("never-{seed}"), &totals(&steps, |_| false));
        let (found, contents) = read(&path, Accumulation::Auto, Missing::Refuse).unwrap();
        compare(&found, &steps);
        let said = contents.notes.join("\n");
        assert!(
            contents.accumulated && said.contains("never falls"),
            "{said}"
        );
        let (found, contents) = read(&path, Accumulation::Step, Missing::Refuse).unwrap();
        assert!(!contents.accumulated && found.times.len() == steps.len());

        // Totals that begin anew at several hours: only who says so gets their changes.
        let path = written(&format!("daily-{seed}"), &totals(&steps, |t| t % 4 == 0));
        let (found, contents) = read(&path, Accumulation::Auto, Missing::Refuse).unwrap();
        assert!(!contents.accumulated && found.times.len() == steps.len());
        let (found, contents) = read(&path, Accumulation::Total, Missing::Refuse).unwrap();
        compare(&found, &steps);
        let said = contents.notes.join("\n");
        assert!(said.contains("begins anew"), "{said}");

        // Rain of steps stays as it is.
        let path = written(&format!("steps-{seed}"), &steps);
        let (found, contents) = read(&path, Accumulation::Auto, Missing::Refuse).unwrap();
        assert!(!contents.accumulated && found.record(2)[0] == steps[2][0]);
    }
}

/// Totals of each day, as of the Climate Data Store, fall at one hour of the day alone; one fall at
/// another hour, and it is not known what they are.
#[test]
fn totals_of_days_are_known_by_the_hour_at_which_they_fall() {
    for seed in 100..105 {
        let steps = steps(seed, 34 + seed as usize % 7);
        let all = times(steps.len());
        let morning = |t: usize| all[t].0.rem_euclid(86_400) == 21_600;
        let path = written(&format!("days-{seed}"), &totals(&steps, morning));
        let (found, contents) = read(&path, Accumulation::Auto, Missing::Refuse).unwrap();
        compare(&found, &steps);
        let said = contents.notes.join("\n");
        assert!(said.contains("same hour of each day"), "{said}");
        let odd = totals(&steps, |t| morning(t) || t == 20);
        let path = written(&format!("odd-{seed}"), &odd);
        let (found, contents) = read(&path, Accumulation::Auto, Missing::Refuse).unwrap();
        assert!(!contents.accumulated && found.times.len() == steps.len());
    }
}

/// A total that is missing leaves two changes unknown, and no others.
#[test]
fn a_missing_total_leaves_two_changes_unknown() {
    let steps = steps(50, 9);
    let mut totals = totals(&steps, |_| false);
    totals[4][2] = f32::NAN;
    let path = written("missing", &totals);
    assert!(read(&path, Accumulation::Auto, Missing::Refuse).is_err());
    let (found, _) = read(&path, Accumulation::Auto, Missing::Mask).unwrap();
    for t in 1..9 {
        for (place, step) in steps[t].iter().enumerate() {
            let unknown = place == 2 && (t == 4 || t == 5);
            assert_eq!(found.is_missing(t - 1, 2 * place), unknown);
            let own = found.record(t - 1)[2 * place];
            assert!(unknown || (own - step).abs() < 1e-3);
        }
    }
}
