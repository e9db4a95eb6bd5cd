//! All variables at once, draw by draw: what do divergent draws have in common?

use super::look::say_instead;
use super::{Draws, Series, Style, count};
use crate::draw::{AxisSpec, Ink, Key, Labels, Panel, Rect, Scene, Stroke, legend};
use fitzroy::diagnose::{mean, sd};

/// Lines of ordinary draws, thinned evenly, and of divergent ones, the first ones.
const LINES: usize = 300;

/// What the lines are, of which there is one for every `step` draws.
fn keys(step: usize, n_divergent: usize) -> [Key; 2] {
    let ordinary = match step {
        1 => "draws".into(),
        n => format!("one draw in {n}"),
    };
    let divergent = match n_divergent {
        0 => "divergent: none".into(),
        n if n > LINES => format!("{LINES} of {} divergent", count(n)),
        n => format!("divergent, {}", count(n)),
    };
    [
        Key::line(ordinary, Stroke::new(Ink::Grey, 2.0)),
        Key::line(divergent, Stroke::series(1, 2.0)),
    ]
}

/// Each draw as a line over the variables, in standard deviations from each variable's mean;
/// divergent draws on top.
pub fn parallel_figure(draws: &Draws, style: &Style) -> Scene {
    let mut scene = Scene::new(style.width, 0.0, "Parallel coordinates");
    let total = draws
        .series
        .first()
        .map_or(0, |s| s.chains.len() * s.n_draws());
    let step = total.div_ceil(LINES).max(1);
    let keys = keys(step, draws.n_divergent());
    let top = 12.0 + legend(&mut scene, &keys, [16.0, 8.0], style.width - 32.0);
    let cell = Rect {
        x: 16.0,
        y: top,
        width: style.width - 32.0,
        height: 320.0,
    };
    let standard = |s: &Series, values: Vec<f64>| -> Vec<f64> {
        let pooled = s.pooled();
        let (m, spread) = (mean(&pooled), sd(&pooled));
        values.iter().map(|v| (v - m) / spread).collect()
    };
    let columns: Vec<Vec<f64>> = draws
        .series
        .iter()
        .map(|s| standard(s, s.pooled()))
        .collect();
    let divergent: Vec<Vec<f64>> = draws
        .series
        .iter()
        .map(|s| standard(s, draws.at_divergences(s)))
        .collect();
    let all = columns.iter().flat_map(|c| c.iter().step_by(step)).copied();
    let all = all.chain(divergent.iter().flatten().copied());
    let y = AxisSpec::around("standard deviations from the mean", all).grid();
    let names = draws.series.iter().enumerate();
    let names = names.map(|(k, s)| (k as f64, s.label.clone())).collect();
    let x = AxisSpec::new("", [-0.3, columns.len().max(1) as f64 - 0.7]);
    let axes = Panel::new(cell, "", x.labels(Labels::Names(names)), y).draw(&mut scene);
    if columns.len() < 2 {
        say_instead(
            &mut scene,
            &axes,
            "one number: there is nothing to join it with",
        );
    }
    let line = |columns: &[Vec<f64>], i: usize| {
        let points = columns.iter().enumerate();
        points
            .map(|(k, c)| axes.at(k as f64, c[i]))
            .collect::<Vec<_>>()
    };
    let ordinary = (0..total).step_by(step).map(|i| line(&columns, i));
    scene.lines(ordinary.collect(), Stroke::new(Ink::Grey, 0.8).opacity(0.6));
    let n = divergent.first().map_or(0, Vec::len);
    let on_top = (0..n).take(LINES).map(|i| line(&divergent, i));
    scene.lines(on_top.collect(), Stroke::series(1, 1.2).opacity(0.8));
    scene.height = top + 328.0;
    super::look::left_out(&mut scene, draws);
    scene
}
