//! How residuals are spread, and how they follow one another.

use super::shown::Shown;
use fitzroy_graph::special::ndtri;
use fitzroy_report::draw::{Ink, Scene, Stroke};
use fitzroy_report::figure::{Chart, Layer, Style, charts};

/// Height in pixels of a panel.
const SMALL: f64 = 260.0;

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
    charts("", &[histogram, quantiles, serial(shown)], 3, SMALL, style)
}

/// Autocorrelation of the residuals by lag, with the band that independent ones leave in one lag of twenty.
fn serial(shown: &Shown) -> Chart {
    let serial = &shown.serial;
    let all = &serial.autocorrelation;
    let lags = all.len().max(1) as f64;
    let half = (1.96 / (serial.n.max(1) as f64).sqrt()).min(1.0);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for (k, r) in all.iter().enumerate() {
        x.extend([k as f64 + 1.0, k as f64 + 1.0, f64::NAN]);
        y.extend([0.0, *r, f64::NAN]);
    }
    let ends = vec![0.0, lags + 1.0];
    let layers = vec![
        Layer::Band {
            name: "95 % of independent residuals".into(),
            x: ends.clone(),
            low: vec![-half; 2],
            high: vec![half; 2],
            ink: Ink::Grey,
        },
        Layer::Line {
            name: String::new(),
            x: ends,
            y: vec![0.0; 2],
            stroke: Stroke::new(Ink::Axis, 1.0),
        },
        Layer::Line {
            name: String::new(),
            x,
            y,
            stroke: Stroke::new(Ink::Series(0), if lags > 25.0 { 2.0 } else { 4.0 }),
        },
    ];
    let title = format!(
        "{} runs of one sign, {:.0} expected",
        super::text::grouped(serial.runs),
        serial.expected
    );
    let along = match shown.over_predictor {
        true => format!("lag along {}", shown.across),
        false => "lag in the order of rows".into(),
    };
    let mut chart = Chart::new(title, &along, "autocorrelation", layers);
    chart.x.range = [0.0, lags + 1.0];
    let most = all.iter().fold(1.5 * half, |most, r| most.max(r.abs()));
    chart.y.range = [-1.1 * most, 1.1 * most];
    chart
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
