//! For which observations can leave-one-out be trusted?

use super::{Style, count, said};
use crate::draw::{Align, AxisSpec, Ink, Panel, Point, Rect, Scene, Stroke, Text};

/// Pareto k by observation. `limit` is min(1 − 1/log10 S, 0.7) of S draws: above it the estimate
/// for that observation is unreliable; above 1 its importance weights have no mean.
pub fn khat_figure(k: &[f64], labels: &[String], limit: f64, style: &Style) -> Scene {
    let mut scene = Scene::new(style.width, 300.0, "Pareto k by observation");
    let finite = || k.iter().copied().filter(|v| v.is_finite());
    let highest = finite().fold(1.1f64, f64::max);
    let least = finite().fold(0.0f64, f64::min);
    let above = k.iter().filter(|v| **v > limit || v.is_nan()).count();
    let note = match above {
        0 => format!("all {} below the limit", count(k.len())),
        n => format!("{} of {} above the limit", count(n), count(k.len())),
    };
    let cell = Rect {
        x: 16.0,
        y: 8.0,
        width: style.width - 32.0,
        height: 284.0,
    };
    let x = AxisSpec::new("observation", [-0.5, k.len().max(1) as f64 - 0.5]);
    let y = AxisSpec::around("Pareto k", [least, highest]).grid();
    let axes = Panel::new(cell, "Pareto k", x, y)
        .note(note)
        .draw(&mut scene);
    let limits = [(limit, format!("limit {}", said(limit))), (1.0, "1".into())];
    for (at, _) in &limits {
        let y = axes.y.pixel(*at);
        let line = Stroke::new(Ink::Bad, 1.4).dashed(5.0, 3.0);
        scene.line([axes.rect.x, y], [axes.rect.right(), y], line);
    }
    let mut names = Vec::new();
    for (at, words) in limits {
        let y = axes.y.pixel(at);
        let below = if at < 1.0 { 14.0 } else { -5.0 };
        let place = [axes.rect.right() - 4.0, y + below];
        let text = Text::new(words, place, 11.0)
            .align(Align::End)
            .ink(Ink::Bad);
        names.push(text);
    }
    let size = if k.len() > 500 { 3.5 } else { 6.0 };
    let (mut good, mut bad): (Vec<Point>, Vec<(usize, Point)>) = (Vec::new(), Vec::new());
    for (i, &v) in k.iter().enumerate() {
        // What is infinite stands at the upper edge.
        let shown = if v.is_nan() { highest } else { v.min(highest) };
        let at = axes.at(i as f64, shown);
        if v <= limit {
            good.push(at);
        } else {
            bad.push((i, at));
        }
    }
    scene.dots(&good, size, Ink::Series(0), 0.8);
    let places: Vec<Point> = bad.iter().map(|(_, at)| *at).collect();
    scene.dots(&places, size + 2.0, Ink::Bad, 1.0);
    bad.sort_by(|a, b| k[b.0].total_cmp(&k[a.0]));
    names.extend(names_of_worst(&bad, labels, axes.rect));
    let mut taken = Vec::new();
    for text in names {
        add_where_free(&mut scene, text, &mut taken);
    }
    scene
}

/// Names of the worst few.
fn names_of_worst(bad: &[(usize, Point)], labels: &[String], rect: Rect) -> Vec<Text> {
    let mut names = Vec::new();
    for (i, at) in bad.iter().take(10) {
        let label = labels.get(*i).cloned().unwrap_or_else(|| i.to_string());
        let label = crate::draw::fitted(&label, 120.0, 11.0, crate::draw::Weight::Regular);
        let mut text = Text::new(label, [at[0] + 7.0, at[1] + 4.0], 11.0).ink(Ink::Text);
        if text.bounds().right() > rect.right() {
            text.at[0] = at[0] - 7.0;
            text.align = Align::End;
        }
        // Above the upper edge stands the title.
        text.at[1] = text.at[1].max(rect.y + 10.0);
        names.push(text);
    }
    names
}

/// Adds a text unless it would lie on an earlier one; dots under it shine through a little.
fn add_where_free(scene: &mut Scene, text: Text, taken: &mut Vec<Rect>) {
    let b = text.bounds();
    let apart = |o: &Rect| {
        let across = b.right() < o.x || o.right() < b.x;
        across || b.bottom() < o.y || o.bottom() < b.y
    };
    if taken.iter().all(apart) {
        let [left, right] = [b.x - 1.0, b.right() + 1.0];
        let corners = [
            [left, b.y],
            [right, b.y],
            [right, b.bottom()],
            [left, b.bottom()],
        ];
        scene.areas(vec![corners.to_vec()], Ink::Paper, 0.8);
        taken.push(b);
        scene.text(text);
    }
}
