//! Figures of a fit: data with curve and bands above residuals; the cost.

use super::parts;
use super::shown::{Cloud, Shown};
use fitzroy_report::draw::{AxisSpec, Ink, Scene, Stroke};
use fitzroy_report::figure::{Chart, Layer, Style, charts, stacked};

/// Heights in pixels of data, residuals, and of the cost.
const DATA: f64 = 380.0;
const RESIDUALS: f64 = 190.0;
const SMALL: f64 = 260.0;

/// Data, curve and bands above a panel of residuals.
pub fn fit_figure(shown: &Shown, confidence: f64, style: &Style) -> Scene {
    let percent = (1e4 * confidence).round() / 100.0;
    let mut layers = Vec::new();
    let mut below = Vec::new();
    bands(&mut layers, shown, percent);
    parts::layers(shown, &mut layers);
    cloud(&mut layers, &shown.data, Named::Data, shown.log);
    error_bars(&mut layers, shown);
    lines(&mut layers, shown);
    if !shown.over_predictor {
        layers.push(diagonal(&shown.data));
    }
    let up = above(shown, &mut layers);
    let mut top = Chart::new(&shown.title, "", &shown.up, layers);
    let [across, _] = shown.log;
    cloud(
        &mut below,
        &shown.residuals,
        Named::Residuals,
        [across, false],
    );
    below.push(level(&shown.residuals));
    let unit = match shown.weighted {
        true => "residual / σ".to_string(),
        false => format!("{} − curve", shown.up),
    };
    let mut under = Chart::new("", "", &unit, below).log(across, false);
    // Both over the same range.
    top.x = AxisSpec {
        name: String::new(),
        ..under.x.clone()
    };
    if let Some(up) = up {
        top.y = up.grid();
    }
    under.x.name.clone_from(&shown.across);
    stacked(&shown.title, &[(top, DATA), (under, RESIDUALS)], style)
}

/// A logarithmic axis upwards for the data and curves, if it is one; what reaches to 0 and below is cut there.
fn above(shown: &Shown, layers: &mut [Layer]) -> Option<AxisSpec> {
    if !shown.log[1] {
        return None;
    }
    let data = match &shown.data {
        Cloud::Dots { y, .. } => y.clone(),
        Cloud::Counts { y, .. } => y.to_vec(),
    };
    let least = data.iter().copied().filter(|v| *v > 0.0);
    let least = least.fold(f64::INFINITY, f64::min);
    let most = data.iter().copied().fold(0.0, f64::max);
    // A curve may go far below the data, a figure may not.
    let curves = shown.curves.iter().flat_map(|c| c.band.value.iter());
    let [low, high] = curves.fold([least, most], |[low, high], &v| {
        let v = v.clamp(least / 100.0, most * 100.0);
        [low.min(v), high.max(v)]
    });
    let cut = |v: &mut f64| {
        if *v < low / 10.0 {
            *v = low / 10.0;
        }
    };
    for layer in layers {
        match layer {
            Layer::Band { low, high, .. } => low.iter_mut().chain(high).for_each(cut),
            Layer::Line { y, .. } => y.iter_mut().for_each(cut),
            Layer::Points { .. } | Layer::Cells { .. } => {}
        }
    }
    Some(AxisSpec::new(&shown.up, [low / 1.4, high * 1.4]).log())
}

/// Where new observations fall, and where the curve is, behind all else.
fn bands(layers: &mut Vec<Layer>, shown: &Shown, percent: f64) {
    for (k, curve) in shown.curves.iter().enumerate() {
        let once = |name: String| if k == 0 { name } else { String::new() };
        let (x, band) = (&curve.x, &curve.band);
        if shown.curves.len() == 1 {
            let name = format!("{percent} % of new observations");
            let low = finite(&band.prediction_lower, &band.value);
            let high = finite(&band.prediction_upper, &band.value);
            edged(layers, name, x, [low, high], Ink::Grey);
        }
        let name = once(format!("{percent} % band of the curve"));
        let low = finite(&band.lower, &band.value);
        let high = finite(&band.upper, &band.value);
        edged(layers, name, x, [low, high], curve_ink(shown, k));
    }
}

/// A band with lines at its edges, since a tint alone is hardly seen where it is wide.
fn edged(layers: &mut Vec<Layer>, name: String, x: &[f64], [low, high]: [Vec<f64>; 2], ink: Ink) {
    layers.push(Layer::Band {
        name,
        x: x.to_vec(),
        low: low.clone(),
        high: high.clone(),
        ink,
    });
    layers.extend([low, high].map(|y| Layer::Line {
        name: String::new(),
        x: x.to_vec(),
        y,
        stroke: Stroke::new(ink, 0.8).opacity(0.8),
    }));
}

/// The curves.
fn lines(layers: &mut Vec<Layer>, shown: &Shown) {
    for (k, curve) in shown.curves.iter().enumerate() {
        let name = match curve.name.as_str() {
            "" => "fitted curve".to_string(),
            name => format!("fitted, {name}"),
        };
        layers.push(Layer::Line {
            name,
            x: curve.x.clone(),
            y: curve.band.value.clone(),
            stroke: Stroke::new(curve_ink(shown, k), 1.8),
        });
    }
}

/// The cost above its minimum, step by step; nothing where there is too little to see.
pub fn cost_figure(costs: &[f64], style: &Style) -> Option<Scene> {
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let above: Vec<(f64, f64)> = costs
        .iter()
        .enumerate()
        .filter(|(_, c)| **c > least)
        .map(|(k, c)| (k as f64, c - least))
        .collect();
    if above.len() < 2 {
        return None;
    }
    let (x, y): (Vec<f64>, Vec<f64>) = above.into_iter().unzip();
    let line = Layer::Line {
        name: String::new(),
        x: x.clone(),
        y: y.clone(),
        stroke: Stroke::new(Ink::Series(0), 1.5),
    };
    let dots = Layer::Points {
        name: String::new(),
        x,
        y,
        ink: Ink::Series(0),
        size: 5.0,
    };
    let chart = Chart::new("", "step", "cost above its minimum", vec![line, dots]);
    Some(charts("", &[chart.log(false, true)], 1, SMALL, style))
}

/// Which of the two clouds a layer shows.
#[derive(Clone, Copy, PartialEq)]
enum Named {
    Data,
    Residuals,
}

fn curve_ink(shown: &Shown, k: usize) -> Ink {
    match shown.curves.len() {
        0 | 1 => Ink::Series(1),
        _ => Ink::Series(k),
    }
}

fn cloud(layers: &mut Vec<Layer>, cloud: &Cloud, which: Named, log: [bool; 2]) {
    let name = |text: &str| match which {
        Named::Data => text.to_string(),
        Named::Residuals => String::new(),
    };
    match cloud {
        Cloud::Dots { x, y, set } => {
            let n_sets = set.iter().max().map_or(1, |s| s + 1);
            for k in 0..n_sets.min(7) {
                let own = |v: &[f64]| -> Vec<f64> {
                    let pairs = v.iter().zip(set).filter(|(_, s)| **s == k || n_sets > 7);
                    pairs.map(|(x, _)| *x).collect()
                };
                let label = if k == 0 { name("data") } else { String::new() };
                layers.push(Layer::Points {
                    name: label,
                    x: own(x),
                    y: own(y),
                    ink: Ink::Series(k),
                    size: if x.len() > 500 { 3.0 } else { 5.0 },
                });
                if n_sets > 7 {
                    break;
                }
            }
        }
        Cloud::Counts { x, y, counts } => {
            let [across, up] = Shown::CELLS;
            let (x, y) = (Steps::new(*x, across, log[0]), Steps::new(*y, up, log[1]));
            let most = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
            let filled = counts.iter().enumerate().filter(|(_, c)| **c > 0);
            let (mut xs, mut ys, mut share) = (Vec::new(), Vec::new(), Vec::new());
            for (at, count) in filled {
                xs.push(x.middle(at % across));
                ys.push(y.middle(at / across));
                // By the root, so that thin parts are seen.
                share.push((*count as f64 / most).sqrt());
            }
            layers.push(Layer::Cells {
                name: name("data, darker where rows are dense"),
                x: xs,
                y: ys,
                size: [x.size, y.size],
                share,
                ink: Ink::Series(0),
            });
        }
    }
}

/// Cells along an axis, equal in numbers or in powers.
struct Steps {
    first: f64,
    size: f64,
    log: bool,
}

impl Steps {
    fn new([low, high]: [f64; 2], n: usize, log: bool) -> Steps {
        let size = match log {
            true => (high / low).powf(1.0 / n as f64),
            false => (high - low) / n as f64,
        };
        Steps {
            first: low,
            size,
            log,
        }
    }

    fn middle(&self, k: usize) -> f64 {
        let k = k as f64 + 0.5;
        match self.log {
            true => self.first * self.size.powf(k),
            false => self.first + self.size * k,
        }
    }
}

/// Error bars as one broken line.
fn error_bars(layers: &mut Vec<Layer>, shown: &Shown) {
    let Cloud::Dots { x, y, .. } = &shown.data else {
        return;
    };
    if shown.sigma.is_empty() {
        return;
    }
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    for ((x, y), s) in x.iter().zip(y).zip(&shown.sigma) {
        xs.extend([*x, *x, f64::NAN]);
        ys.extend([y - s, y + s, f64::NAN]);
    }
    layers.push(Layer::Line {
        name: "σ".into(),
        x: xs,
        y: ys,
        stroke: Stroke::new(Ink::Series(0), 1.0).opacity(0.6),
    });
}

fn ends(cloud: &Cloud) -> [f64; 2] {
    match cloud {
        Cloud::Dots { x, .. } => {
            let finite = x.iter().copied().filter(|x| x.is_finite());
            finite.fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], x| {
                [a.min(x), b.max(x)]
            })
        }
        Cloud::Counts { x, .. } => *x,
    }
}

/// Where residuals are 0.
fn level(cloud: &Cloud) -> Layer {
    Layer::Line {
        name: String::new(),
        x: ends(cloud).to_vec(),
        y: vec![0.0; 2],
        stroke: Stroke::new(Ink::Series(1), 1.5),
    }
}

/// Where observed and fitted are the same.
fn diagonal(cloud: &Cloud) -> Layer {
    Layer::Line {
        name: "observed as fitted".into(),
        x: ends(cloud).to_vec(),
        y: ends(cloud).to_vec(),
        stroke: Stroke::new(Ink::Series(1), 1.5),
    }
}

/// A band, or the curve itself where there are no errors.
fn finite(edge: &[f64], curve: &[f64]) -> Vec<f64> {
    let either = |(e, c): (&f64, &f64)| if e.is_finite() { *e } else { *c };
    edge.iter().zip(curve).map(either).collect()
}
