//! Is each observation where its prediction from the others says?

use super::{Style, count};
use crate::draw::{AxisSpec, Ink, Key, Panel, Rect, Scene, Stroke, legend};
use crate::numeric::{ecdf_band, ecdf_difference};

const POINTS: usize = 100;

/// The empirical distribution function of the LOO probability integral transforms of the
/// observations, minus the uniform one, with a band that holds it with probability 95 % when the
/// model predicts well. `values` lie in [0, 1], one per observation.
///
/// A hump in the middle: predictions are too wide; a dent: too narrow; a tilt: biased.
pub fn pit_figure(values: &[f64], name: &str, style: &Style) -> Scene {
    let mut scene = Scene::new(style.width, 0.0, "LOO-PIT");
    let n = values.iter().filter(|v| v.is_finite()).count();
    let keys = [
        Key::line("observations", Stroke::series(0, 2.0)),
        Key::area("95 % band", Ink::Series(0), 0.13),
    ];
    let top = 12.0 + legend(&mut scene, &keys, [16.0, 8.0], style.width - 32.0);
    let (low, high) = ecdf_band(n.max(1), None, POINTS, 0.95);
    let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    let path = ecdf_difference(&finite, POINTS);
    let outside = path.iter().zip(low.iter().zip(&high));
    let outside = outside.filter(|(v, (l, h))| *v < l || *v > h).count();
    let note = match (n, values.len() - n) {
        (0, _) => "no observations".into(),
        (_, 0) if outside == 0 => "inside the band: predictions are calibrated".into(),
        (_, 0) => "leaves the band: predictions are not calibrated".to_string(),
        (_, bad) => format!("{} observations without a value", count(bad)),
    };
    let x: Vec<f64> = (0..=POINTS).map(|k| k as f64 / POINTS as f64).collect();
    let all = path.iter().chain(&low).chain(&high).copied();
    let y = AxisSpec::around("ECDF − uniform", all).grid();
    let axis = AxisSpec::new("LOO-PIT", [0.0, 1.0]);
    let cell = Rect {
        x: 16.0,
        y: top,
        width: style.width - 32.0,
        height: 280.0,
    };
    let axes = Panel::new(cell, name, axis, y).note(note).draw(&mut scene);
    scene.areas(vec![axes.between(&x, &low, &high)], Ink::Series(0), 0.13);
    if n > 0 {
        scene.lines(vec![axes.curve(&x, &path)], Stroke::series(0, 1.8));
    }
    scene.height = top + 288.0;
    scene
}
