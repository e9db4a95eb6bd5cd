//! Variables against each other, divergent trajectories on top.

use super::look::say_instead;
use super::trace::draw_curve;
use super::{Draws, Series, Style, count, no_density};
use crate::draw::{Align, AxisSpec, Ink, Key, Labels, Panel, Rect, Scene, Stroke, Text, legend};
use crate::numeric::density;
use fitzroy::diagnose::{mean, sd};

/// Pixels left of the data, equal in all panels, so that columns can be read downwards.
const LEFT: f64 = 62.0;
/// Points of a panel; more are thinned evenly.
const POINTS: usize = 2000;

/// Scatter of every pair of series below the diagonal, densities on it, correlations above it.
pub fn pair_figure(draws: &Draws, style: &Style) -> Scene {
    let n = draws.series.len().max(1);
    let mut scene = Scene::new(style.width, 0.0, "Pairs of variables");
    let mut keys = vec![Key::dot("draw", Ink::Series(0))];
    if draws.n_divergent() > 0 {
        let label = format!("divergent, {}", count(draws.n_divergent()));
        keys.push(Key::dot(label, Ink::Series(1)));
    }
    let total = draws
        .series
        .first()
        .map_or(0, |s| s.chains.len() * s.n_draws());
    let step = total.div_ceil(POINTS).max(1);
    if step > 1 {
        keys[0].label = format!("draw (one in {step})");
    }
    if n == 1 {
        keys[0].label = "one number: there is nothing to pair it with".into();
    }
    let top = 12.0 + legend(&mut scene, &keys, [16.0, 8.0], style.width - 32.0);
    let width = (style.width - 24.0) / n as f64;
    let height = (width * 0.72).clamp(150.0, 420.0);
    let pooled: Vec<Vec<f64>> = draws.series.iter().map(Series::pooled).collect();
    let divergent: Vec<Vec<f64>> = draws
        .series
        .iter()
        .map(|s| draws.at_divergences(s))
        .collect();
    for row in 0..n.min(pooled.len()) {
        for column in 0..n {
            let cell = Rect {
                x: 12.0 + width * column as f64,
                y: top + height * row as f64,
                width: width - 6.0,
                height: height - 4.0,
            };
            let names = [&draws.series[column].label, &draws.series[row].label];
            let (x, y) = (&pooled[column], &pooled[row]);
            if row == column {
                diagonal(&mut scene, cell, names[0], x, row + 1 == n);
            } else if column < row {
                let ends = [column == 0, row + 1 == n];
                let axes = scatter(&mut scene, cell, names, [x, y], step, ends);
                let pairs = divergent[column].iter().zip(&divergent[row]);
                let dots: Vec<_> = pairs.map(|(&a, &b)| axes.at(a, b)).collect();
                let dots: Vec<_> = dots
                    .into_iter()
                    .filter(|p| p[0].is_finite() && p[1].is_finite())
                    .collect();
                scene.dots(&dots, 5.5, Ink::Paper, 1.0);
                scene.dots(&dots, 4.0, Ink::Series(1), 1.0);
            } else {
                correlation_text(&mut scene, cell, x, y);
            }
        }
    }
    scene.height = top + height * n as f64 + 8.0;
    super::look::left_out(&mut scene, draws);
    scene
}

/// The name of the axis, or nothing inside the grid.
fn named(name: &str, values: &[f64], shown: bool) -> AxisSpec {
    let axis = AxisSpec::around(if shown { name } else { "" }, values.iter().copied());
    match shown {
        true => axis,
        false => axis.labels(Labels::None),
    }
}

fn diagonal(scene: &mut Scene, cell: Rect, name: &str, draws: &[f64], last: bool) {
    let curve = density(draws).filter(|_| no_density(draws).is_none());
    let highest = curve
        .as_ref()
        .map_or(1.0, |d| d.y.iter().copied().fold(0.0, f64::max));
    let y = AxisSpec::new("density", [0.0, 1.06 * highest]).labels(Labels::None);
    // The same range as the scatter below, so that columns can be read downwards.
    let mut panel = Panel::new(cell, name, named(name, draws, last), y);
    panel.left = LEFT;
    let axes = panel.draw(scene);
    match curve {
        Some(curve) => {
            scene.open(crate::draw::Group {
                clip: Some(axes.rect),
                data: Vec::new(),
            });
            draw_curve(scene, &axes, &curve, Stroke::series(0, 1.8), false);
            scene.close();
        }
        None => say_instead(scene, &axes, &no_density(draws).unwrap_or_default()),
    }
}

fn scatter(
    scene: &mut Scene,
    cell: Rect,
    [x_name, y_name]: [&String; 2],
    [x, y]: [&Vec<f64>; 2],
    step: usize,
    [first, last]: [bool; 2],
) -> crate::draw::Axes {
    let mut panel = Panel::new(cell, "", named(x_name, x, last), named(y_name, y, first));
    panel.left = LEFT;
    let axes = panel.draw(scene);
    let pairs = x.iter().zip(y).step_by(step);
    let dots: Vec<_> = pairs.map(|(&a, &b)| axes.at(a, b)).collect();
    scene.dots(&dots, 3.0, Ink::Series(0), 0.3);
    axes
}

/// Pearson's correlation, in large letters.
fn correlation_text(scene: &mut Scene, cell: Rect, x: &[f64], y: &[f64]) {
    let (mx, my) = (mean(x), mean(y));
    let products: Vec<f64> = x.iter().zip(y).map(|(a, b)| (a - mx) * (b - my)).collect();
    let n = x.len() as f64;
    let r = mean(&products) * n / (n - 1.0) / (sd(x) * sd(y));
    let words = match r.is_finite() {
        true => format!("r = {}", crate::draw::shown(r, 2)),
        false => "no correlation".into(),
    };
    let at = [cell.x + cell.width / 2.0, cell.y + cell.height / 2.0];
    scene.text(
        Text::new(words, at, 14.0)
            .align(Align::Middle)
            .ink(Ink::Text),
    );
}
