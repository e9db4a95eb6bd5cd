//! Scores against numbers worked out by hand, baselines against data they must fit.

use super::scores::Tally;
use super::*;
use crate::data::{Archive, Channel};
use crate::time::Time;

/// Two forecasts of four places, by hand: errors 1, −1, 0, 2 and 0, 0, 0, 0.
#[test]
fn errors_are_means_over_places_and_times() {
    let mut tally = Tally::default();
    let weights = [0.25; 4];
    let (truth, usual) = ([1.0, 2.0, 3.0, 4.0], [2.5; 4]);
    tally.add(&weights, &[2.0, 1.0, 3.0, 6.0], &truth, &usual, false);
    tally.add(&weights, &truth, &truth, &usual, false);
    let score = tally.score(false).unwrap();
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
    tally.add(&weights, &forecast, &truth, &[0.0; 5], true);
    let rain = tally.score(true).unwrap().rain.unwrap();
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
    dry.add(&[1.0], &[0.0], &[0.0], &[0.0], true);
    assert_eq!(dry.score(true).unwrap().rain.unwrap().csi, [None; 3]);
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
        statics: Vec::new(),
        values,
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
