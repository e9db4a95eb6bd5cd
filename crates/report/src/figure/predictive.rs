//! Could the model have made these data? Replicated data sets beside the observed one.

use super::look::say_instead;
use super::{Style, count, said};
use crate::draw::{
    AxisSpec, Group, Ink, Key, Labels, Panel, Rect, Scene, Stroke, grid, legend, range_of,
};
use crate::numeric::{counts, density, density_among, is_whole};
use fitzroy::diagnose::{mean, quantile, sd};

/// Replicates drawn as curves, and used for bands and statistics.
const CURVES: usize = 50;
const REPLICATES: usize = 400;

/// Data sets made by the model, beside the observed one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predictive {
    /// Name of the observed variable.
    pub name: String,
    /// The observed numbers; empty when there are none, as for the prior without data.
    pub observed: Vec<f64>,
    /// Replicated data sets, each as long as the observed one.
    pub replicates: Vec<Vec<f64>>,
    /// Whether the replicates come from the prior.
    pub prior: bool,
}

/// Density (bars with intervals for whole numbers), distribution function, and test statistics:
/// mean, standard deviation, least and greatest, each with the share of replicates at or above
/// the observed one.
pub fn predictive_figure(data: &Predictive, style: &Style) -> Scene {
    let step = data.replicates.len().div_ceil(REPLICATES).max(1);
    let used: Vec<&Vec<f64>> = data.replicates.iter().step_by(step).collect();
    let of = if data.prior { "prior" } else { "posterior" };
    let title = format!("{of} predictive check of {}", data.name);
    let mut scene = Scene::new(style.width, 0.0, title);
    let mut keys = vec![Key::line(
        format!("{of} predictive, {} replicates", count(used.len())),
        Stroke::series(0, 1.5),
    )];
    if !data.observed.is_empty() {
        keys.push(Key::line("observed", Stroke::new(Ink::Mark, 2.2)));
    }
    let top = 12.0 + legend(&mut scene, &keys, [16.0, 8.0], style.width - 32.0);
    let half = style.width / 2.0;
    let cell = |x: f64| Rect {
        x,
        y: top,
        width: half - 24.0,
        height: 250.0,
    };
    let shown = window(data, &used);
    if whole(data, &used) {
        bars(&mut scene, cell(16.0), data, &used);
    } else {
        densities(&mut scene, cell(16.0), data, &used, shown);
    }
    distribution(&mut scene, cell(half + 8.0), data, &used, shown);
    let (cells, height) = grid(4, 4, style.width, 170.0, top + 258.0);
    let statistics: [(&str, fn(&[f64]) -> f64); 4] = [
        ("mean", mean),
        ("sd", sd),
        ("least", |x| x.iter().copied().fold(f64::INFINITY, f64::min)),
        ("greatest", |x| {
            x.iter().copied().fold(f64::NEG_INFINITY, f64::max)
        }),
    ];
    for ((name, statistic), cell) in statistics.into_iter().zip(cells) {
        test_statistic(&mut scene, cell, name, statistic, data, &used);
    }
    scene.height = height;
    scene
}

/// Whether observed and replicated data are all whole numbers over few values.
fn whole(data: &Predictive, used: &[&Vec<f64>]) -> bool {
    let all = used.iter().copied().chain([&data.observed]);
    let all: Vec<f64> = all.flatten().copied().collect();
    all.iter().all(|v| v.fract() == 0.0) && {
        let (low, high) = (quantile(&all, 0.0), quantile(&all, 0.995));
        low < high && high - low <= 100.0
    }
}

/// What is shown of the axis: all observed data, and the middle 98 % of replicated ones with as
/// much again on either side. A heavy tail would squeeze everything else into one pixel.
fn window(data: &Predictive, used: &[&Vec<f64>]) -> [f64; 2] {
    let all = used
        .iter()
        .flat_map(|r| r.iter().copied())
        .filter(|v| v.is_finite());
    let all: Vec<f64> = all.collect();
    let (low, high) = (quantile(&all, 0.01), quantile(&all, 0.99));
    let more = 0.3 * (high - low);
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let ends = [least.max(low - more), most.min(high + more)];
    range_of(data.observed.iter().copied().chain(ends), 0.02)
}

fn densities(
    scene: &mut Scene,
    cell: Rect,
    data: &Predictive,
    used: &[&Vec<f64>],
    range: [f64; 2],
) {
    let step = used.len().div_ceil(CURVES).max(1);
    let replicated = used.iter().flat_map(|r| r.iter().copied());
    let all: Vec<f64> = replicated.chain(data.observed.iter().copied()).collect();
    let curves: Vec<_> = used
        .iter()
        .step_by(step)
        .filter_map(|r| density_among(r, &all))
        .collect();
    let observed = density_among(&data.observed, &all);
    let peaks = |d: &crate::numeric::Density| d.y.iter().copied().fold(0.0, f64::max);
    let mut tops: Vec<f64> = curves.iter().map(peaks).collect();
    tops.sort_unstable_by(f64::total_cmp);
    // One narrow replicate must not flatten all others.
    let usual = tops
        .get(tops.len().saturating_sub(1) * 9 / 10)
        .copied()
        .unwrap_or(0.0);
    let highest = observed.as_ref().map_or(0.0, peaks).max(usual * 1.2);
    let highest = if highest > 0.0 { 1.06 * highest } else { 1.0 };
    let y = AxisSpec::new("density", [0.0, highest]).labels(Labels::None);
    let x = AxisSpec::new(&data.name, range).grid();
    let axes = Panel::new(cell, "Density", x, y).draw(scene);
    scene.open(Group {
        clip: Some(axes.rect),
        data: Vec::new(),
    });
    let parts = curves.iter().map(|d| axes.curve(&d.x, &d.y)).collect();
    scene.lines(parts, Stroke::series(0, 1.0).opacity(0.35));
    if let Some(d) = &observed {
        scene.lines(vec![axes.curve(&d.x, &d.y)], Stroke::new(Ink::Mark, 2.2));
    }
    scene.close();
    if curves.is_empty() && observed.is_none() {
        say_instead(scene, &axes, "no density: constant or too few values");
    }
}

/// Shares of whole numbers: observed as dots, replicated as bars with the interval of 89 %.
fn bars(scene: &mut Scene, cell: Rect, data: &Predictive, used: &[&Vec<f64>]) {
    let replicated = used.iter().flat_map(|r| r.iter().copied());
    let all: Vec<f64> = replicated
        .chain(data.observed.iter().copied())
        .filter(|v| v.is_finite())
        .collect();
    let (low, high) = (quantile(&all, 0.0), quantile(&all, 0.995));
    let high = data.observed.iter().copied().fold(high, f64::max).ceil();
    let n = (high - low).clamp(0.0, 400.0) as usize + 1;
    let shares = |values: &[f64]| {
        let mut out = vec![0.0; n];
        for v in values {
            if let Some(bin) = out.get_mut((v - low).round().max(0.0) as usize) {
                *bin += 1.0 / values.len() as f64;
            }
        }
        out
    };
    let by_replicate: Vec<Vec<f64>> = used.iter().map(|r| shares(r)).collect();
    let at = |k: usize| by_replicate.iter().map(|s| s[k]).collect::<Vec<f64>>();
    let columns: Vec<[f64; 3]> = (0..n)
        .map(|k| {
            let values = at(k);
            [0.055, 0.5, 0.945].map(|p| quantile(&values, p))
        })
        .collect();
    let observed = shares(&data.observed);
    let tops = columns.iter().map(|c| c[2]).chain(observed.iter().copied());
    let highest = tops.filter(|v| v.is_finite()).fold(0.0, f64::max);
    let highest = if highest > 0.0 { 1.08 * highest } else { 1.0 };
    let y = AxisSpec::new("share of observations", [0.0, highest]).grid();
    let x = AxisSpec::new(&data.name, [low - 0.7, low + n as f64 - 0.3]);
    let note = "bars: median and 89 % of the replicates";
    let axes = Panel::new(cell, "Counts", x, y).note(note).draw(scene);
    let width = (axes.x.pixel(low + 1.0) - axes.x.pixel(low)) * 0.7;
    for (k, [lower, middle, upper]) in columns.iter().enumerate() {
        let x = low + k as f64;
        let [px, py] = axes.at(x, *middle);
        let bar = Rect {
            x: px - width / 2.0,
            y: py,
            width,
            height: axes.rect.bottom() - py,
        };
        if bar.height > 0.0 {
            scene.rect(bar, Ink::Series(0), 0.3);
        }
        scene.line(
            axes.at(x, *lower),
            axes.at(x, *upper),
            Stroke::series(0, 1.6),
        );
    }
    let dots = observed.iter().enumerate().filter(|(_, v)| v.is_finite());
    let dots: Vec<_> = dots.map(|(k, &v)| axes.at(low + k as f64, v)).collect();
    if !data.observed.is_empty() {
        scene.dots(&dots, width.clamp(3.0, 7.0), Ink::Mark, 1.0);
    }
}

fn distribution(
    scene: &mut Scene,
    cell: Rect,
    data: &Predictive,
    used: &[&Vec<f64>],
    range: [f64; 2],
) {
    let y = AxisSpec::new("share at or below", [0.0, 1.0]).grid();
    let x = AxisSpec::new(&data.name, range);
    let axes = Panel::new(cell, "Distribution function", x, y).draw(scene);
    scene.open(Group {
        clip: Some(axes.rect),
        data: Vec::new(),
    });
    let step = used.len().div_ceil(CURVES).max(1);
    let parts = used.iter().step_by(step).map(|r| steps(&axes, r)).collect();
    scene.lines(parts, Stroke::series(0, 1.0).opacity(0.35));
    if !data.observed.is_empty() {
        scene.lines(
            vec![steps(&axes, &data.observed)],
            Stroke::new(Ink::Mark, 2.2),
        );
    }
    scene.close();
}

/// The empirical distribution function as steps, of at most two points per pixel.
fn steps(axes: &crate::draw::Axes, values: &[f64]) -> Vec<crate::draw::Point> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    let stride = (n / 400).max(1);
    let mut out = Vec::new();
    let mut before = 0.0;
    for k in (0..n).step_by(stride) {
        let share = (k + 1) as f64 / n as f64;
        out.push(axes.at(sorted[k], before));
        out.push(axes.at(sorted[k], share));
        before = share;
    }
    out
}

fn test_statistic(
    scene: &mut Scene,
    cell: Rect,
    name: &str,
    statistic: fn(&[f64]) -> f64,
    data: &Predictive,
    used: &[&Vec<f64>],
) {
    let made: Vec<f64> = used
        .iter()
        .map(|r| statistic(r))
        .filter(|v| v.is_finite())
        .collect();
    let observed = (!data.observed.is_empty()).then(|| statistic(&data.observed));
    let observed = observed.filter(|v| v.is_finite());
    let whole = is_whole(&made);
    let shown = if whole {
        made.clone()
    } else {
        within_fences(&made)
    };
    let curve = if whole {
        Some(counts(&shown))
    } else {
        density(&shown)
    };
    let trimmed = [quantile(&shown, 0.002), quantile(&shown, 0.998)];
    let range = match &curve {
        Some(d) if made.len() < 300 || whole => [
            d.x[0] - 0.5 * f64::from(u8::from(whole)),
            d.x[d.x.len() - 1] + 0.5 * f64::from(u8::from(whole)),
        ],
        _ => trimmed,
    };
    let range = range_of(range.into_iter().chain(observed), 0.03);
    let highest = curve
        .as_ref()
        .map_or(1.0, |d| d.y.iter().copied().fold(0.0, f64::max));
    let quantity = if whole { "share" } else { "density" };
    let y = AxisSpec::new(quantity, [0.0, 1.06 * highest]).labels(Labels::None);
    let x = AxisSpec::new("", range).grid();
    let note = observed.map_or(String::new(), |o| {
        let above = made.iter().filter(|v| **v >= o).count() as f64 / made.len().max(1) as f64;
        let p = format!("p = {}", said((above * 1000.0).round() / 1000.0));
        match (&curve, made.len() - shown.len()) {
            (Some(_), 0) => p,
            (Some(_), outside) => format!("{p}, {outside} far outside"),
            (None, _) => format!("{p}, all alike"),
        }
    });
    let axes = Panel::new(cell, name, x, y).note(note).draw(scene);
    scene.open(Group {
        clip: Some(axes.rect),
        data: Vec::new(),
    });
    if let Some(curve) = &curve {
        super::trace::draw_curve(scene, &axes, curve, Stroke::series(0, 1.8), whole);
    }
    scene.close();
    if let Some(o) = observed {
        let x = axes.x.pixel(o);
        scene.line(
            [x, axes.rect.y],
            [x, axes.rect.bottom()],
            Stroke::new(Ink::Mark, 2.2),
        );
    }
}

/// The values within six interquartile ranges of the quartiles: a few replicates from a prior with
/// heavy tails would leave the others no room.
fn within_fences(values: &[f64]) -> Vec<f64> {
    let [low, high] = [0.25, 0.75].map(|p| quantile(values, p));
    let reach = 6.0 * (high - low);
    let inside = |v: &&f64| reach == 0.0 || (low - reach..=high + reach).contains(*v);
    values.iter().filter(inside).copied().collect()
}
