//! How long draws remember: autocorrelation by lag.

use super::look::{Look, left_out, say_instead};
use super::{Draws, Style, no_density};
use crate::draw::{AxisSpec, Ink, Key, Panel, Scene, Stroke, grid, legend};
use fitzroy::diagnose::autocorrelation;

/// Lags shown, at most.
const LAGS: usize = 100;

/// Autocorrelation of each chain by lag, with the band ±1.96/√n that independent draws would
/// leave in one of twenty lags.
pub fn autocorrelation_figure(draws: &Draws, style: &Style) -> Scene {
    let look = Look::of(draws);
    let n = draws.series.len();
    let columns = n.clamp(1, 3).min((style.width / 260.0) as usize).max(1);
    let mut scene = Scene::new(style.width, 0.0, "Autocorrelation of the chains");
    let mut keys = look.keys(draws);
    if look.band {
        keys.remove(0);
    }
    keys.push(Key::area("95 % of independent draws", Ink::Series(0), 0.13));
    let top = 12.0 + legend(&mut scene, &keys, [16.0, 8.0], style.width - 32.0);
    let (cells, height) = grid(n, columns, style.width, 184.0, top);
    scene.height = height;
    for (series, cell) in draws.series.iter().zip(cells) {
        let length = series.n_draws();
        let lags = LAGS.min(length.saturating_sub(1)).max(1);
        let x = AxisSpec::new("lag, draws", [0.0, lags as f64]);
        let usable = no_density(&series.pooled()).is_none();
        let curve = |c: usize| match usable {
            true => autocorrelation(&series.chains[c], lags),
            false => Vec::new(),
        };
        let curves: Vec<Vec<f64>> = look.chains.iter().map(|(c, _)| curve(*c)).collect();
        let least = curves
            .iter()
            .flatten()
            .copied()
            .filter(|v| v.is_finite())
            .fold(-0.2, f64::min);
        let y = AxisSpec::new("autocorrelation", [least.max(-1.0), 1.0]).grid();
        let axes = Panel::new(cell, &series.label, x, y).draw(&mut scene);
        if !usable {
            let why = no_density(&series.pooled()).unwrap_or_default();
            say_instead(&mut scene, &axes, &why);
            continue;
        }
        let half = (1.96 / (length as f64).sqrt()).min(1.0);
        let ends = [0.0, lags as f64];
        let band = axes.between(&ends, &[-half; 2], &[half; 2]);
        scene.areas(vec![band], Ink::Series(0), 0.13);
        for ((c, stroke), curve) in look.chains.iter().zip(&curves) {
            let lag: Vec<f64> = (0..curve.len()).map(|k| k as f64).collect();
            let line = Stroke {
                width: 1.4,
                ..*stroke
            };
            scene.lines(vec![axes.curve(&lag, curve)], line);
            scene.tag(&[("data-chain", c.to_string())]);
        }
    }
    left_out(&mut scene, draws);
    scene
}
