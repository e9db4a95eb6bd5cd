//! Densities and bands against NumPy and SciPy (`tests/golden/generate.py`).
#![allow(clippy::unwrap_used)]

use super::reduce::extremes;
use super::*;
use serde_json::Value;

fn golden(name: &str) -> Vec<f64> {
    let all: Value = serde_json::from_str(include_str!("../../tests/golden/numeric.json")).unwrap();
    let values = all[name].as_array().unwrap().iter();
    values.map(|v| v.as_f64().unwrap()).collect()
}

fn at(d: &Density, x: f64) -> f64 {
    let step = d.x[1] - d.x[0];
    let place = (x - d.x[0]) / step;
    let k = (place.floor() as usize).min(d.x.len() - 2);
    d.y[k] + (place - k as f64) * (d.y[k + 1] - d.y[k])
}

/// Bound: 1 % of the peak, what 512 bins and linear reading between them may cost. Catches a wrong
/// width, a wrong scale, and a curve that leaks over a bound.
#[test]
fn densities_agree_with_the_sum_over_all_draws() {
    for (draws, x, y) in [
        ("draws", "x", "density"),
        ("positive", "positive_x", "positive_density"),
    ] {
        let d = density(&golden(draws)).unwrap();
        let expected = golden(y);
        let peak = expected.iter().copied().fold(0.0, f64::max);
        for (x, expected) in golden(x).into_iter().zip(expected) {
            assert!((at(&d, x) - expected).abs() < 0.01 * peak, "{draws} at {x}");
        }
        let area: f64 = d.y.iter().sum::<f64>() * (d.x[1] - d.x[0]);
        assert!((area - 1.0).abs() < 0.01, "{area}");
    }
}

/// Catches: a chain that stays above 0 by chance, cut off there beside chains that do not.
#[test]
fn a_part_has_the_bounds_of_the_whole() {
    let part: Vec<f64> = (1..100).map(|i| 0.02 * f64::from(i)).collect();
    let all: Vec<f64> = part.iter().copied().chain([-1.0]).collect();
    assert_eq!(density(&part).unwrap().x[0], 0.0);
    assert!(density_among(&part, &all).unwrap().x[0] < -0.1);
    assert_eq!(density_among(&part, &part), density(&part));
}

#[test]
fn what_has_no_density_has_none() {
    for draws in [
        vec![],
        vec![1.0],
        vec![2.0; 50],
        vec![1.0, f64::NAN],
        vec![1.0, f64::INFINITY],
    ] {
        assert!(density(&draws).is_none(), "{draws:?}");
    }
    assert!(
        density(&[-1e300, 0.0, 1e300])
            .unwrap()
            .y
            .iter()
            .all(|y| y.is_finite())
    );
    let tiny = density(&[1e-300, 2e-300, 3e-300]).unwrap();
    assert!(tiny.x.windows(2).all(|w| w[0] < w[1]));
}

#[test]
fn whole_numbers_are_counted() {
    assert!(is_whole(&[0.0, 3.0, 1.0]) && !is_whole(&[0.5, 1.0]) && !is_whole(&[2.0, 2.0]));
    assert!(!is_whole(&[0.0, 1e6]) && !is_whole(&[f64::NAN]));
    let c = counts(&[1.0, 3.0, 3.0, 1.0]);
    assert_eq!((c.x, c.y), (vec![1.0, 2.0, 3.0], vec![0.5, 0.0, 0.5]));
}

/// The band in units of the pointwise standard deviation, in the middle, against the simulated
/// 95 % quantile of the largest deviation. Bound: 12 %, for a band of equal pointwise probability
/// is a little wider at the ends, and counts are whole. Catches a band that is pointwise (2.0
/// instead of 2.8), or that takes ranks for independent numbers (15 % too wide).
#[test]
fn bands_are_as_wide_as_simulated_paths_ask() {
    let all: Value = serde_json::from_str(include_str!("../../tests/golden/numeric.json")).unwrap();
    for (population, key) in [(None, "uniform_worst95"), (Some(400), "ranks_worst95")] {
        let (low, high) = ecdf_band(100, population, 20, 0.95);
        let expected = all[key].as_f64().unwrap();
        let sd = (0.25f64 / 100.0).sqrt();
        for end in [-low[10] / sd, high[10] / sd] {
            assert!(
                (end / expected - 1.0).abs() < 0.12,
                "{key}: {end} {expected}"
            );
        }
        assert_eq!((low[0], high[20]), (0.0, 0.0));
    }
}

#[test]
fn bands_shrink_with_the_root_of_the_size() {
    let (_, small) = ecdf_band(500, None, 20, 0.95);
    let (_, large) = ecdf_band(50_000, None, 20, 0.95);
    assert!((small[10] / large[10] - 10.0).abs() < 1e-9);
    let (low, high) = ecdf_band(1, Some(4), 20, 0.95);
    assert!(low.iter().chain(&high).all(|v| v.is_finite()));
}

#[test]
fn ranks_are_shared_by_equal_draws() {
    let ranks = fractional_ranks(&[vec![1.0, 2.0], vec![2.0, 5.0]]).unwrap();
    assert_eq!(ranks, [[0.25, 0.625], [0.625, 1.0]]);
    assert!(fractional_ranks(&[vec![f64::NAN]]).is_none());
    let path = ecdf_difference(&[0.25, 0.5, 0.75, 1.0], 4);
    assert_eq!(path, [0.0; 5]);
}

#[test]
fn reduction_keeps_the_least_and_the_greatest_of_each_column() {
    let mut values: Vec<f64> = (0..1000).map(|i| f64::from(i % 7)).collect();
    values[333] = 99.0;
    values[334] = -99.0;
    values[5] = f64::NAN;
    let kept = extremes(&values, 50);
    assert!(kept.windows(2).all(|w| w[0] < w[1]) && kept.len() <= 100);
    assert!(kept.contains(&333) && kept.contains(&334) && !kept.contains(&5));
    assert!(extremes(&[f64::NAN; 10], 3).is_empty());
}
