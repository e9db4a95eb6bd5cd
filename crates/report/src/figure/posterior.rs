//! Each posterior with its mean, its interval, and what one wants to compare it with.

use super::look::{left_out, say_instead};
use super::trace::draw_curve;
use super::{Draws, Series, Style, no_density, said};
use crate::draw::{
    Align, Axes, AxisSpec, Group, Ink, Labels, Panel, Rect, Scene, Stroke, Text, grid, range_of,
};
use crate::numeric::{counts, density, is_whole};
use fitzroy::diagnose::mean;

/// What posteriors are compared with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Posterior {
    /// Reference values by label of the series, such as known truths; an empty label is for all.
    pub reference: Vec<(String, f64)>,
    /// Region of practical equivalence: values that count as no difference.
    pub rope: Option<[f64; 2]>,
}

/// Marginal posteriors, one panel per series: density, mean, interval, and with a reference value
/// the share of draws on each side of it, with a ROPE the share inside.
pub fn posterior_figure(draws: &Draws, compare: &Posterior, style: &Style) -> Scene {
    let n = draws.series.len();
    let columns = match n {
        0..=2 => n.max(1),
        4 => 2,
        _ => 3,
    };
    let columns = columns.min((style.width / 240.0) as usize).max(1);
    let (cells, height) = grid(n, columns, style.width, 212.0, 30.0);
    let mut scene = Scene::new(style.width, height, "Posterior densities");
    let words = format!("density, mean (dot) and {} (bar)", style.interval_name());
    scene.text(Text::new(words, [16.0, 20.0], 12.0));
    for (series, cell) in draws.series.iter().zip(cells) {
        panel(&mut scene, cell, series, compare, style);
    }
    left_out(&mut scene, draws);
    scene
}

fn panel(scene: &mut Scene, cell: Rect, series: &Series, compare: &Posterior, style: &Style) {
    let pooled = series.pooled();
    let whole = is_whole(&pooled);
    let curve = match whole {
        _ if no_density(&pooled).is_some() => None,
        true => Some(counts(&pooled)),
        false => density(&pooled),
    };
    let references = compare.reference.iter();
    let reference = references
        .rev()
        .find(|(label, _)| label.is_empty() || *label == series.label);
    let reference = reference.map(|(_, value)| *value);
    let edge = if whole { 0.6 } else { 0.0 };
    let mut ends = match &curve {
        Some(d) => vec![d.x[0] - edge, d.x[d.x.len() - 1] + edge],
        None => pooled.clone(),
    };
    let domain = range_of(ends.iter().copied().chain(reference), 0.0);
    // A reference value at the very end would be half hidden.
    if reference.is_some_and(|r| r == domain[0] || r == domain[1]) {
        ends = range_of(domain, 0.05).to_vec();
    }
    let domain = range_of(ends.into_iter().chain(domain), 0.0);
    let highest = curve
        .as_ref()
        .map_or(1.0, |d| d.y.iter().copied().fold(0.0, f64::max));
    // Words about reference and ROPE stand above the curve.
    let words = usize::from(reference.is_some()) + usize::from(compare.rope.is_some());
    let top = [1.06, 1.3, 1.5][words] * highest;
    let quantity = if whole { "share" } else { "density" };
    let y = AxisSpec::new(quantity, [-0.34 * highest, top]);
    let x = AxisSpec::new("", domain).grid();
    let panel = Panel::new(cell, &series.label, x, y.labels(Labels::None));
    let panel = match &curve {
        Some(_) => panel.note(format!("mean {}", said(mean(&pooled)))),
        None => panel,
    };
    let axes = panel.draw(scene);
    let Some(curve) = curve else {
        let why = no_density(&pooled).unwrap_or_else(|| "draws too close together".into());
        say_instead(scene, &axes, &why);
        return;
    };
    // The curve stands on a ground of its own, above the bar.
    let mut ground = axes;
    ground.rect.height = axes.y.pixel(0.0) - axes.rect.y;
    if let Some(rope) = compare.rope {
        draw_rope(scene, &ground, &pooled, rope, words);
    }
    scene.open(Group {
        clip: Some(axes.rect),
        data: Vec::new(),
    });
    draw_curve(scene, &ground, &curve, Stroke::series(0, 1.8), whole);
    scene.close();
    scene.line(
        [axes.rect.x, ground.rect.bottom()],
        [axes.rect.right(), ground.rect.bottom()],
        Stroke::new(Ink::Grid, 1.0),
    );
    if let Some(value) = reference {
        draw_reference(scene, &ground, &pooled, value, words);
    }
    draw_interval(scene, &axes, &pooled, style);
}

/// Height of a line of words above the curve, in pixels.
const LINE: f64 = 14.0;

/// The bar, the dot of the mean, and the ends as numbers below the bar.
fn draw_interval(scene: &mut Scene, axes: &Axes, draws: &[f64], style: &Style) {
    let (low, high) = style.interval(draws);
    let y = axes.y.pixel(0.0) + 9.0;
    let [from, to] = [low, high].map(|v| axes.x.pixel(v));
    scene.line([from, y], [to, y], Stroke::new(Ink::Text, 4.0));
    let centre = [axes.x.pixel(mean(draws)), y];
    scene.dots(&[centre], 9.0, Ink::Paper, 1.0);
    scene.dots(&[centre], 7.0, Ink::Series(0), 1.0);
    let base = y + 17.0;
    let text = |words: String, x: f64| {
        Text::new(words, [x, base], 11.0)
            .align(Align::Middle)
            .ink(Ink::Text)
    };
    let (mut left, mut right) = (text(said(low), from), text(said(high), to));
    let keep = |t: &mut Text| {
        let half = t.width() / 2.0;
        t.at[0] = t.at[0].clamp(
            axes.rect.x + half,
            (axes.rect.right() - half).max(axes.rect.x + half),
        );
    };
    keep(&mut left);
    keep(&mut right);
    if left.bounds().right() + 8.0 > right.bounds().x {
        let mut both = text(
            format!("{} to {}", said(low), said(high)),
            (from + to) / 2.0,
        );
        keep(&mut both);
        scene.text(both);
    } else {
        scene.text(left);
        scene.text(right);
    }
}

/// A dashed line with the shares of draws on both sides.
fn draw_reference(scene: &mut Scene, axes: &Axes, draws: &[f64], value: f64, words: usize) {
    let x = axes.x.pixel(value);
    let stroke = Stroke::new(Ink::Series(1), 1.6).dashed(5.0, 3.0);
    let top = axes.rect.y + LINE * words as f64;
    scene.line([x, top], [x, axes.rect.bottom()], stroke);
    let below = draws.iter().filter(|v| **v < value).count() as f64 / draws.len() as f64;
    let words = format!(
        "{} % < {} < {} %",
        said(100.0 * below),
        said(value),
        said(100.0 * (1.0 - below))
    );
    let mut text = Text::new(words, [x, axes.rect.y + 10.0], 11.0)
        .align(Align::Middle)
        .ink(Ink::Series(1));
    let half = text.width() / 2.0;
    text.at[0] = x.clamp(
        axes.rect.x + half,
        (axes.rect.right() - half).max(axes.rect.x + half),
    );
    scene.text(text);
}

/// A shaded region with the share of draws inside.
fn draw_rope(scene: &mut Scene, axes: &Axes, draws: &[f64], [low, high]: [f64; 2], words: usize) {
    let r = axes.rect;
    let top = r.y + LINE * words as f64;
    let [from, to] = [low, high].map(|v| axes.x.pixel(v).clamp(r.x, r.right()));
    let shade = Rect {
        x: from,
        y: top,
        width: to - from,
        height: r.bottom() - top,
    };
    if shade.width > 0.0 {
        scene.rect(shade, Ink::Series(2), 0.18);
    }
    let inside = draws.iter().filter(|v| (low..=high).contains(*v)).count();
    let share = said(100.0 * inside as f64 / draws.len() as f64);
    let words = format!("{share} % in ROPE");
    let mut text = Text::new(words, [(from + to) / 2.0, top - 4.0], 11.0)
        .align(Align::Middle)
        .ink(Ink::Series(2));
    let half = text.width() / 2.0;
    text.at[0] = text.at[0].clamp(r.x + half, (r.right() - half).max(r.x + half));
    scene.text(text);
}
