//! Confidence regions as a figure.

use super::text::significant;
use crate::fit::{Contour, Profile, Regions};
use fitzroy_report::draw::{Ink, Scene, Stroke};
use fitzroy_report::figure::{Chart, Layer, Style, charts};

/// Height in pixels of a panel, and panels beside one another.
const HEIGHT: f64 = 230.0;
const COLUMNS: usize = 3;
/// Points of a parabola.
const PLACES: usize = 61;

/// How χ² rises along each parameter and around each two; `quantile` is that of the intervals. None without
/// profiles.
pub fn region_figure(regions: &Regions, quantile: f64, style: &Style) -> Option<Scene> {
    if regions.profiles.is_empty() {
        return None;
    }
    let of = |p: &Profile| profile(p, quantile);
    let mut all: Vec<Chart> = regions.profiles.iter().map(of).collect();
    let mut pairs: Vec<&[Contour]> = Vec::new();
    for pair in regions.contours.chunk_by(|a, b| a.names == b.names) {
        pairs.push(pair);
    }
    all.extend(pairs.into_iter().map(contours));
    let columns = COLUMNS.min(all.len());
    Some(charts("", &all, columns, HEIGHT, style))
}

fn profile(p: &Profile, quantile: f64) -> Chart {
    let (first, last) = (p.x[0], p.x[p.x.len() - 1]);
    let step = (last - first) / (PLACES - 1) as f64;
    let x: Vec<f64> = (0..PLACES).map(|i| first + step * i as f64).collect();
    let [centre, se] = p.centre;
    let goal = quantile * quantile;
    let parabola = x.iter().map(|x| ((x - centre) / se).powi(2)).collect();
    let layers = vec![
        line("by the covariance", &x, parabola, thin()),
        Layer::Line {
            name: "level of the interval".into(),
            x: vec![first, last],
            y: vec![goal; 2],
            stroke: Stroke::new(Ink::Axis, 1.0),
        },
        line(
            "by the likelihood",
            &p.x,
            p.rise.clone(),
            Stroke::new(Ink::Series(0), 1.8),
        ),
    ];
    let mut chart = Chart::new(&p.name, &p.name, "rise of χ² / s²", layers);
    chart.x.range = [first, last];
    chart.y.range = [0.0, 2.2 * goal];
    chart
}

fn contours(levels: &[Contour]) -> Chart {
    let mut layers = Vec::new();
    for (k, c) in levels.iter().enumerate() {
        let [x, y] = &c.ellipse;
        layers.push(line("by the covariance", x, y.clone(), thin()));
        let percent = significant(100.0 * c.level, 3);
        let percent = percent.trim_end_matches('0').trim_end_matches('.');
        let name = format!("{percent} % of both");
        let stroke = Stroke::new(Ink::Series(k), 1.8);
        layers.push(line(&name, &c.x, c.y.clone(), stroke));
    }
    let [across, up] = &levels[0].names;
    Chart::new(format!("{across} and {up}"), across, up, layers)
}

fn thin() -> Stroke {
    Stroke::new(Ink::Mark, 1.0).opacity(0.5)
}

fn line(name: &str, x: &[f64], y: Vec<f64>, stroke: Stroke) -> Layer {
    Layer::Line {
        name: name.into(),
        x: x.to_vec(),
        y,
        stroke,
    }
}
