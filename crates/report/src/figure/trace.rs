//! Densities by chain on the left, draws in their order on the right, one row per variable.

use super::look::{Look, left_out, rug, say_instead};
use super::{Draws, Series, Style, no_density};
use crate::draw::{
    Axes, AxisSpec, Group, Ink, Key, Labels, Panel, Rect, Scene, Stroke, legend, range_of,
};
use crate::numeric::{Density, counts, density_among, is_whole};
use fitzroy::diagnose::quantile;

/// Height of a row in pixels.
const ROW: f64 = 178.0;

/// Traces: one row of two panels per series.
///
/// Lines of more than two draws per column of pixels are reduced to the least and the greatest of
/// each column. Above 24 chains a band holds the middle 90 % and 50 % of them, and the three
/// furthest from the rest are drawn. Short strokes on the axes mark divergent trajectories.
pub fn trace_figure(draws: &Draws, style: &Style) -> Scene {
    let look = Look::of(draws);
    let mut scene = Scene::new(style.width, 0.0, "Traces: density and draws of each chain");
    let mut keys = look.keys(draws);
    if draws.n_divergent() > 0 {
        let label = format!("divergent, {}", super::count(draws.n_divergent()));
        keys.push(Key::line(label, Stroke::new(Ink::Mark, 1.5)));
    }
    let mut top = 8.0 + legend(&mut scene, &keys, [16.0, 8.0], style.width - 32.0);
    for (k, series) in draws.series.iter().enumerate() {
        let split = (style.width * 0.36).round();
        let cell = |x: f64, width: f64| Rect {
            x,
            y: top,
            width,
            height: ROW,
        };
        let left = cell(16.0, split - 24.0);
        let right = cell(split + 8.0, style.width - split - 24.0);
        density_panel(&mut scene, left, draws, series, &look);
        lines_panel(&mut scene, right, draws, k, &look, style);
        top += ROW;
    }
    scene.height = top + 8.0;
    left_out(&mut scene, draws);
    scene
}

/// Densities of each chain.
fn density_panel(scene: &mut Scene, cell: Rect, draws: &Draws, series: &Series, look: &Look) {
    let pooled = series.pooled();
    let whole = is_whole(&pooled);
    let estimate = |x: &[f64]| match whole {
        true => Some(counts(x)),
        false => density_among(x, &pooled),
    };
    let all = estimate(&pooled).filter(|_| no_density(&pooled).is_none());
    let chain = |c: &usize| estimate(&series.chains[*c]).filter(|_| all.is_some());
    let curves: Vec<(usize, Stroke, Option<Density>)> = look
        .chains
        .iter()
        .map(|(c, s)| (*c, *s, chain(c)))
        .collect();
    let shown = curves.iter().filter_map(|(_, _, d)| d.as_ref()).chain(&all);
    let highest = shown.flat_map(|d| d.y.iter().copied()).fold(0.0, f64::max);
    let domain = all.as_ref().map_or(range_of(pooled.clone(), 0.04), |d| {
        let edge = if whole { 0.6 } else { 0.0 };
        [d.x[0] - edge, d.x[d.x.len() - 1] + edge]
    });
    let name = if whole { "share" } else { "density" };
    let highest = if highest > 0.0 { highest * 1.06 } else { 1.0 };
    let y = AxisSpec::new(name, [0.0, highest]).labels(Labels::None);
    let x = AxisSpec::new("", domain).grid();
    let axes = Panel::new(cell, &series.label, x, y).draw(scene);
    let Some(all) = &all else {
        let why = no_density(&pooled).unwrap_or_else(|| "draws too close together".into());
        say_instead(scene, &axes, &why);
        return;
    };
    scene.open(Group {
        clip: Some(axes.rect),
        data: Vec::new(),
    });
    if look.band {
        let line = Stroke::new(Ink::Muted, 1.8);
        draw_curve(scene, &axes, all, line, whole);
    }
    for (c, stroke, curve) in curves {
        let Some(curve) = curve else { continue };
        let line = Stroke {
            width: 1.8,
            ..stroke
        };
        scene.open(Group {
            clip: None,
            data: vec![("data-chain", c.to_string())],
        });
        draw_curve(scene, &axes, &curve, line, whole);
        scene.close();
    }
    scene.close();
    rug(scene, &axes, &draws.at_divergences(series));
}

/// A density as a filled curve, or the outline of bars for whole numbers.
pub(super) fn draw_curve(
    scene: &mut Scene,
    axes: &Axes,
    curve: &Density,
    line: Stroke,
    whole: bool,
) {
    let points = if whole {
        let steps = curve.x.iter().zip(&curve.y);
        steps
            .flat_map(|(x, &y)| [axes.at(x - 0.5, y), axes.at(x + 0.5, y)])
            .collect()
    } else {
        axes.curve(&curve.x, &curve.y)
    };
    let (first, last) = (points[0], points[points.len() - 1]);
    let mut area = points.clone();
    area.extend([
        [last[0], axes.rect.bottom()],
        [first[0], axes.rect.bottom()],
    ]);
    scene.areas(vec![area], line.ink, 0.05);
    scene.lines(vec![points], line);
}

/// Draws in their order, chain over chain.
fn lines_panel(scene: &mut Scene, cell: Rect, draws: &Draws, k: usize, look: &Look, style: &Style) {
    let series = &draws.series[k];
    let n = series.n_draws();
    let x = AxisSpec::new("draw", [0.0, n.saturating_sub(1).max(1) as f64]);
    let values = series.chains.iter().flatten().copied();
    let y = AxisSpec::around("", values).grid();
    let reduced = n as f64 > 2.0 * (cell.width - 80.0);
    let mut panel = Panel::new(cell, "", x, y);
    panel.left = 52.0;
    panel.live = style.live;
    if reduced {
        panel = panel.note("least and greatest draw of each column of pixels");
    }
    let axes = panel.draw(scene);
    let mut data = Vec::new();
    if style.live {
        let r = axes.rect;
        let rect = format!("{:.1} {:.1} {:.1} {:.1}", r.x, r.y, r.width, r.height);
        data.extend([
            ("class", "zoom".into()),
            ("data-series", k.to_string()),
            ("data-rect", rect),
            ("data-y", format!("{:e} {:e}", axes.y.low, axes.y.high)),
        ]);
    }
    scene.open(Group {
        clip: Some(axes.rect),
        data,
    });
    if look.band {
        chain_bands(scene, &axes, series);
    }
    for (c, stroke) in &look.chains {
        let line = Stroke {
            width: 0.9,
            dash: None,
            ..*stroke
        };
        let values = &series.chains[*c];
        if values.iter().filter(|v| v.is_finite()).count() == 1 {
            let dots = values.iter().enumerate();
            let dots: Vec<_> = dots.map(|(i, &v)| axes.at(i as f64, v)).collect();
            scene.dots(&dots, 5.0, line.ink, 1.0);
        } else {
            scene.lines(vec![axes.series(0.0, 1.0, values)], line.opacity(0.6));
        }
        scene.tag(&[("data-chain", c.to_string())]);
    }
    scene.close();
    let places: Vec<f64> = draws
        .divergent
        .iter()
        .flatten()
        .map(|&d| d as f64)
        .collect();
    rug(scene, &axes, &places);
}

/// The middle 90 % and 50 % of the chains in each of some stretches of draws.
fn chain_bands(scene: &mut Scene, axes: &Axes, series: &Series) {
    let n = series.n_draws();
    let stretches = n.clamp(1, 100);
    let mut x = Vec::new();
    let mut ends: [Vec<f64>; 4] = Default::default();
    for s in 0..stretches {
        let (from, to) = (s * n / stretches, (s + 1) * n / stretches);
        let values = series.chains.iter().flat_map(|c| &c[from..to]).copied();
        let values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
        if values.is_empty() {
            continue;
        }
        x.push((from + to - 1) as f64 / 2.0);
        for (end, p) in ends.iter_mut().zip([0.05, 0.95, 0.25, 0.75]) {
            end.push(quantile(&values, p));
        }
    }
    for pair in ends.as_chunks::<2>().0 {
        scene.areas(vec![axes.between(&x, &pair[0], &pair[1])], Ink::Grey, 0.45);
    }
}
