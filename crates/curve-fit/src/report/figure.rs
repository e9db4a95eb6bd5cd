//! Figures of a fit: data with curve and bands above residuals; how residuals are spread; the cost.

use super::shown::{Cloud, Shown};
use fitzroy_graph::special::ndtri;
use fitzroy_report::draw::{Ink, Scene, Stroke};
use fitzroy_report::figure::{Chart, Layer, Style, charts, stacked};

/// Heights in pixels of data, residuals, and of smaller panels.
const DATA: f64 = 380.0;
const RESIDUALS: f64 = 190.0;
const SMALL: f64 = 260.0;

/// Data, curve and bands above a panel of residuals.
pub fn fit_figure(shown: &Shown, confidence: f64, style: &Style) -> Scene {
    let percent = (1e4 * confidence).round() / 100.0;
    let mut layers = Vec::new();
    cloud(&mut layers, &shown.data, Named::Data);
    error_bars(&mut layers, shown);
    for (k, curve) in shown.curves.iter().enumerate() {
        let once = |name: String| if k == 0 { name } else { String::new() };
        let ink = curve_ink(shown, k);
        let (x, band) = (&curve.x, &curve.band);
        if shown.curves.len() == 1 {
            layers.push(Layer::Band {
                name: format!("{percent} % of new observations"),
                x: x.clone(),
                low: finite(&band.prediction_lower, &band.value),
                high: finite(&band.prediction_upper, &band.value),
                ink: Ink::Grey,
            });
        }
        layers.push(Layer::Band {
            name: once(format!("{percent} % band of the curve")),
            x: x.clone(),
            low: finite(&band.lower, &band.value),
            high: finite(&band.upper, &band.value),
            ink,
        });
        let name = match curve.name.as_str() {
            "" => "fitted curve".to_string(),
            name => format!("fitted, {name}"),
        };
        layers.push(Layer::Line {
            name,
            x: x.clone(),
            y: band.value.clone(),
            stroke: Stroke::new(ink, 1.8),
        });
    }
    if !shown.over_predictor {
        layers.push(diagonal(&shown.data));
    }
    let mut top = Chart::new("", "", &shown.up, layers);
    let mut below = Vec::new();
    cloud(&mut below, &shown.residuals, Named::Residuals);
    below.push(level(&shown.residuals));
    let unit = match shown.weighted {
        true => "residual / σ".to_string(),
        false => format!("{} − curve", shown.up),
    };
    let mut under = Chart::new("", &shown.across, &unit, below);
    // Both over the same range.
    top.x.range = under.x.range;
    under.x.name.clone_from(&shown.across);
    stacked(&shown.verdict, &[(top, DATA), (under, RESIDUALS)], style)
}

/// Histogram and normal quantiles of the residuals.
pub fn residual_figure(shown: &Shown, style: &Style) -> Scene {
    let mut sorted: Vec<f64> = shown
        .sample
        .iter()
        .copied()
        .filter(|r| r.is_finite())
        .collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len().max(1) as f64;
    let mean = sorted.iter().sum::<f64>() / n;
    let sd = (sorted.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / n).sqrt();
    let normal: Vec<f64> = (0..sorted.len())
        .map(|i| ndtri((i as f64 + 0.5) / n))
        .collect();
    let ends = [-3.2, 3.2];
    let quantiles = Chart::new(
        "Normal quantiles",
        "quantile of a normal distribution",
        "residual",
        vec![
            Layer::Line {
                name: "normal".into(),
                x: ends.to_vec(),
                y: ends.map(|z| mean + sd * z).to_vec(),
                stroke: Stroke::new(Ink::Mark, 1.0),
            },
            Layer::Points {
                name: String::new(),
                x: normal,
                y: sorted.clone(),
                ink: Ink::Series(0),
                size: 3.0,
            },
        ],
    );
    let histogram = Chart::new(
        "Residuals",
        "residual",
        "density",
        histogram(&sorted, mean, sd),
    );
    charts("", &[histogram, quantiles], 2, SMALL, style)
}

/// Steps of a density and the normal curve of the same mean and sd.
fn histogram(sorted: &[f64], mean: f64, sd: f64) -> Vec<Layer> {
    let (Some(&low), Some(&high)) = (sorted.first(), sorted.last()) else {
        return Vec::new();
    };
    if high <= low {
        return Vec::new();
    }
    let n = sorted.len();
    let bins = ((n as f64).sqrt() as usize).clamp(5, 60);
    let width = (high - low) / bins as f64;
    let mut counts = vec![0.0; bins];
    for r in sorted {
        counts[(((r - low) / width) as usize).min(bins - 1)] += 1.0;
    }
    let (mut x, mut up) = (Vec::new(), Vec::new());
    for (k, count) in counts.iter().enumerate() {
        x.extend([low + width * k as f64, low + width * (k + 1) as f64]);
        up.extend([count / (n as f64 * width); 2]);
    }
    let places: Vec<f64> = (0..200)
        .map(|i| low + (high - low) * f64::from(i) / 199.0)
        .collect();
    let bell = |x: &f64| {
        let z = (x - mean) / sd;
        (-0.5 * z * z).exp() / (sd * (2.0 * std::f64::consts::PI).sqrt())
    };
    vec![
        Layer::Band {
            name: String::new(),
            low: vec![0.0; x.len()],
            x: x.clone(),
            high: up.clone(),
            ink: Ink::Series(0),
        },
        Layer::Line {
            name: String::new(),
            x,
            y: up,
            stroke: Stroke::new(Ink::Series(0), 1.2),
        },
        Layer::Line {
            name: "normal".into(),
            y: places.iter().map(bell).collect(),
            x: places,
            stroke: Stroke::new(Ink::Mark, 1.0),
        },
    ]
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

fn cloud(layers: &mut Vec<Layer>, cloud: &Cloud, which: Named) {
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
            let size = [(x[1] - x[0]) / across as f64, (y[1] - y[0]) / up as f64];
            let most = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
            let filled = counts.iter().enumerate().filter(|(_, c)| **c > 0);
            let (mut xs, mut ys, mut share) = (Vec::new(), Vec::new(), Vec::new());
            for (at, count) in filled {
                xs.push(x[0] + size[0] * ((at % across) as f64 + 0.5));
                ys.push(y[0] + size[1] * ((at / across) as f64 + 0.5));
                // By the root, so that thin parts are seen.
                share.push((*count as f64 / most).sqrt());
            }
            layers.push(Layer::Cells {
                name: name("data, darker where rows are dense"),
                x: xs,
                y: ys,
                size,
                share,
                ink: Ink::Series(0),
            });
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
