//! Missing values, filled or left out, beside loops over plain lists; and what is said of them.
#![allow(clippy::unwrap_used)]

mod noise;
mod rooms;

use fitzroy_weather::data::{Archive, Chosen, Forecasts, Inspection, Missing, Normaliser, Reading};
use fitzroy_weather::files::{GridFile, GridHeader, GridVariable};
use fitzroy_weather::time::Time;
use noise::noise;
use std::path::PathBuf;

const PLACES: usize = 6;
/// What numbers of the file stand for missing ones without a declaration.
const FILL: f32 = -9999.0;

struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A file with these records (time, place), six hours apart but for a gap of a day.
fn written(name: &str, records: &[Vec<f32>]) -> Temporary {
    written_with(name, records, Vec::new())
}

/// The same with global attributes.
fn written_with(name: &str, records: &[Vec<f32>], attributes: Vec<(String, String)>) -> Temporary {
    let file = format!("fitzroy-missing-{name}-{}.nc", std::process::id());
    let path = Temporary(std::env::temp_dir().join(file));
    let header = GridHeader {
        title: "test".into(),
        attributes,
        times: times(records.len()),
        levels: vec![500.0],
        lat: vec![10.0, 11.0],
        lon: vec![0.0, 1.0, 2.0],
        curved: None,
        variables: vec![GridVariable {
            name: "sst".into(),
            units: "K".into(),
            long_name: "sea surface temperature".into(),
            has_levels: false,
        }],
        statics: Vec::new(),
        compression: 1,
    };
    let mut out = GridFile::create(&path.0, header).unwrap();
    for (t, record) in records.iter().enumerate() {
        out.write(t, 0, record).unwrap();
    }
    out.finish().unwrap();
    path
}

fn times(n: usize) -> Vec<Time> {
    let hours = |t: usize| 6 * t as i64 + if t > 4 { 24 } else { 0 };
    (0..n).map(|t| Time(3600 * hours(t))).collect()
}

fn read(path: &Temporary, missing: Missing) -> fitzroy::Result<(Archive, Vec<String>)> {
    let chosen = Chosen {
        reading: Reading {
            missing,
            ..Reading::default()
        },
        ..Chosen::default()
    };
    let read = rooms::read(std::slice::from_ref(&path.0), &chosen);
    read.map(|(archive, contents)| (archive, contents.notes))
}

/// Random records: place 0 without values, some values missing elsewhere, by NaN or by a number.
fn random(seed: u64) -> Vec<Vec<f32>> {
    let mut pick = noise(seed);
    let n = 8 + pick(8);
    let fill = if pick(2) == 0 { FILL } else { f32::NAN };
    let mut records: Vec<Vec<f32>> = (0..n)
        .map(|_| {
            (0..PLACES)
                .map(|_| 280.0 + pick(100) as f32 / 8.0)
                .collect()
        })
        .collect();
    for (t, record) in records.iter_mut().enumerate() {
        record[0] = fill;
        for (place, x) in record.iter_mut().enumerate().skip(1) {
            // Each place keeps a value.
            if pick(5) == 0 && t != place {
                *x = fill;
            }
        }
    }
    records
}

fn is_missing(x: f32) -> bool {
    x.is_nan() || x == FILL
}

/// The value at a place from the nearest known ones before and behind, by search.
fn between(records: &[Vec<f32>], times: &[Time], t: usize, place: usize) -> f32 {
    let known = |t: &usize| !is_missing(records[*t][place]);
    let before = (0..=t).rev().find(known);
    let after = (t..records.len()).find(known);
    let value = |t: usize| f64::from(records[t][place]);
    let filled = match (before, after) {
        (Some(a), Some(b)) if a == b => value(a),
        (Some(a), Some(b)) => {
            let (from, to) = (times[a].0 as f64, times[b].0 as f64);
            let share = (times[t].0 as f64 - from) / (to - from);
            (1.0 - share) * value(a) + share * value(b)
        }
        (Some(a), None) => value(a),
        (None, Some(b)) => value(b),
        (None, None) => unreachable!("each place keeps a value"),
    };
    filled as f32
}

#[test]
fn missing_values_are_filled_from_the_times_around_or_left_out() {
    for seed in 0..40 {
        let records = random(seed);
        let path = written(&format!("random-{seed}"), &records);
        let refused = read(&path, Missing::Refuse).unwrap_err().to_string();
        assert!(refused.contains("⟨missing fill⟩"), "{refused}");
        let all = records.iter().flatten().filter(|x| !is_missing(**x));
        let (sum, count) = all.fold((0.0, 0.0), |(s, n), &x| (s + f64::from(x), n + 1.0));
        let near = |a: f32, b: f32| (a - b).abs() < 1e-4;

        let (filled, notes) = read(&path, Missing::Fill).unwrap();
        assert_eq!(filled.absent, [[true, false, false, false, false, false]]);
        for t in 0..records.len() {
            let found = filled.record(t);
            assert!(near(found[0], (sum / count) as f32), "seed {seed}");
            for place in 1..PLACES {
                let expected = between(&records, &filled.times, t, place);
                assert!(near(found[place], expected), "seed {seed}: {t} {place}");
            }
        }
        let said = notes.join("\n");
        assert!(said.contains("1 of 6 places have no values"), "{said}");

        // Left out of losses and scores: what is read there is the last known before, or the first.
        let (masked, notes) = read(&path, Missing::Mask).unwrap();
        assert_eq!(masked.absent, filled.absent);
        for t in 0..records.len() {
            for place in 0..PLACES {
                let missing = is_missing(records[t][place]);
                assert_eq!(masked.is_missing(t, place), missing, "seed {seed}");
                assert_eq!(masked.is_held(place), place == 0);
                let known = |t: &usize| !is_missing(records[*t][place]);
                let before = (0..=t).rev().find(known);
                let source = before.or((t..records.len()).find(known));
                let expected = source.map_or((sum / count) as f32, |t| records[t][place]);
                assert!(near(masked.record(t)[place], expected), "seed {seed}");
            }
        }
        let said = notes.join("\n");
        assert!(said.contains("neither learnt nor scored"), "{said}");

        let whole: Vec<usize> = (0..records.len())
            .filter(|&t| !records[t][1..].iter().any(|x| is_missing(*x)))
            .collect();
        let left = read(&path, Missing::LeaveOut);
        if whole.len() < 4 {
            assert!(left.unwrap_err().to_string().contains("too few are left"));
            continue;
        }
        let (left, _) = left.unwrap();
        let kept: Vec<Time> = whole.iter().map(|&t| filled.times[t]).collect();
        assert_eq!(left.times, kept, "seed {seed}");
        for (k, &t) in whole.iter().enumerate() {
            assert_eq!(left.record(k)[1..], records[t][1..], "seed {seed}");
        }
    }
}

#[test]
fn a_variable_without_values_is_named_and_an_archive_is_told_of() {
    for seed in 1..9 {
        told(seed);
    }
}

fn told(seed: u64) {
    let mut records = random(seed);
    let path = written(&format!("inspect-{seed}"), &records);
    let found = Inspection::new(std::slice::from_ref(&path.0), &Chosen::default()).unwrap();
    let sst = &found.variables[0];
    let all = || records.iter().flatten();
    let missing = all().filter(|x| is_missing(**x)).count() as u64;
    let fills = all().filter(|x| **x == FILL).count();
    let always = (0..PLACES).filter(|&place| records.iter().all(|r| is_missing(r[place])));
    assert_eq!(sst.absent, Some((always.count(), PLACES)));
    let land = found.notes.iter().any(|n| n.contains("at 1 of 6 places"));
    assert_eq!(land, missing > 0);
    let counted: &[(f32, usize)] = if fills > 0 { &[(FILL, fills)] } else { &[] };
    assert_eq!(sst.fills, counted);
    let undeclared = found.notes.iter().any(|n| n.contains("does not declare"));
    assert_eq!(undeclared, fills > 0);
    let known = || all().copied().filter(|x| !is_missing(*x)).map(f64::from);
    let (low, high, mean) = sst.range.unwrap();
    assert!(low == known().fold(f64::INFINITY, f64::min) && high == known().fold(0.0, f64::max));
    assert!((mean - known().sum::<f64>() / known().count() as f64).abs() < 1e-3);
    assert_eq!((sst.name.as_str(), sst.n_times), ("sst", records.len()));
    assert_eq!(sst.missing.1, (records.len() * PLACES) as u64);
    assert_eq!(sst.missing.0, missing);
    if missing > 0 {
        let why = found.verdict.as_ref().unwrap_err();
        assert!(why.contains("⟨missing fill⟩"), "{why}");
    } else {
        assert_eq!(found.verdict, Ok((records.len(), vec!["sst".to_string()])));
    }
    assert_eq!(found.gaps.len(), 1);
    records.iter_mut().flatten().for_each(|x| *x = f32::NAN);
    let path = written(&format!("empty-{seed}"), &records);
    let error = read(&path, Missing::Fill).unwrap_err().to_string();
    assert!(error.contains("sst has no values at all"), "{error}");
}

/// A forecast of others may lack values where the data never have any, and nowhere else.
#[test]
fn forecasts_with_gaps_are_refused_but_for_land() {
    let records = random(3);
    let path = written("data", &records);
    let (archive, _) = read(&path, Missing::Mask).unwrap();
    let normaliser = Normaliser::new(&archive, &(0..records.len()));
    let chosen = Chosen {
        reading: Reading {
            missing: Missing::Mask,
            ..Reading::default()
        },
        ..Chosen::default()
    };
    let mut forecast: Vec<Vec<f32>> = (0..3)
        .map(|t| (0..PLACES).map(|k| 281.0 + (t * k) as f32).collect())
        .collect();
    forecast.iter_mut().for_each(|record| record[0] = f32::NAN);
    let start = ("initial_time".to_string(), "1969-12-31T18:00".to_string());
    let try_it = |name: &str, forecast: &[Vec<f32>]| {
        let file = written_with(name, forecast, vec![start.clone()]);
        Forecasts::read(
            std::slice::from_ref(&file.0),
            &chosen,
            &archive,
            &normaliser,
        )
    };
    let found = try_it("land", &forecast).unwrap();
    let state = found.state(Time(-21_600), Time(21_600)).unwrap();
    let own = normaliser.restore(0, state[4]);
    assert!((own - 285.0).abs() < 1e-3, "{own}");
    forecast[1][2] = f32::NAN;
    let said = try_it("gap", &forecast).unwrap_err().to_string();
    assert!(
        said.contains("sst is missing for 1970-01-01T06:00 at 10 N 2 E"),
        "{said}"
    );
}
