//! A chart of one's own: lines, points and bands on one pair of axes, for reports of other work.

use super::Style;
use crate::draw::{
    Axes, AxisSpec, Fill, Group, Ink, Key, Labels, Panel, Scene, Stroke, grid, legend,
};

/// Something drawn on a chart, in the order given.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    /// A curve through points, broken where a number is not finite.
    Line {
        /// Its name in the legend; nothing for none.
        name: String,
        /// Across.
        x: Vec<f64>,
        /// Up.
        y: Vec<f64>,
        /// How it is drawn.
        stroke: Stroke,
    },
    /// Dots.
    Points {
        /// Its name in the legend; nothing for none.
        name: String,
        /// Across.
        x: Vec<f64>,
        /// Up.
        y: Vec<f64>,
        /// Colour.
        ink: Ink,
        /// Diameter in pixels.
        size: f64,
    },
    /// The area between two curves.
    Band {
        /// Its name in the legend; nothing for none.
        name: String,
        /// Across.
        x: Vec<f64>,
        /// Lower curve.
        low: Vec<f64>,
        /// Upper curve.
        high: Vec<f64>,
        /// Colour.
        ink: Ink,
    },
    /// Equal rectangles, the darker the nearer `share` is to 1.
    Cells {
        /// Its name in the legend; nothing for none.
        name: String,
        /// Middles across.
        x: Vec<f64>,
        /// Middles up.
        y: Vec<f64>,
        /// Width and height of each: differences, or factors where an axis is logarithmic.
        size: [f64; 2],
        /// 0 to 1.
        share: Vec<f64>,
        /// Colour.
        ink: Ink,
    },
}

/// One pair of axes with layers on it. Ranges left at `[0, 0]` are taken from the layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Bold, upper left.
    pub title: String,
    /// Left to right.
    pub x: AxisSpec,
    /// Bottom to top.
    pub y: AxisSpec,
    /// The lowest first.
    pub layers: Vec<Layer>,
}

impl Chart {
    /// A chart whose ranges come from its layers.
    pub fn new(title: impl Into<String>, x_name: &str, y_name: &str, layers: Vec<Layer>) -> Self {
        let xs = layers.iter().flat_map(|l| l.x().iter().copied());
        let ys = layers.iter().flat_map(Layer::ys);
        Chart {
            title: title.into(),
            x: AxisSpec::around(x_name, xs),
            y: AxisSpec::around(y_name, ys).grid(),
            layers,
        }
    }

    /// The same with logarithmic axes, across and up.
    #[must_use]
    pub fn log(mut self, across: bool, up: bool) -> Self {
        let positive = |values: Vec<f64>| values.into_iter().filter(|v| *v > 0.0);
        if across {
            let all = self.layers.iter().flat_map(|l| l.x().to_vec()).collect();
            self.x.range = spread(positive(all));
            self.x = self.x.log();
        }
        if up {
            let all = self.layers.iter().flat_map(Layer::ys).collect();
            self.y.range = spread(positive(all));
            self.y = self.y.log();
        }
        self
    }
}

/// Least and greatest, a twentieth of a decade further apart.
fn spread(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let start = [f64::INFINITY, 0.0];
    let [low, high] = values
        .filter(|v| v.is_finite())
        .fold(start, |[a, b]: [f64; 2], v| [a.min(v), b.max(v)]);
    [low / 1.12, high * 1.12]
}

impl Layer {
    fn x(&self) -> &[f64] {
        match self {
            Layer::Line { x, .. }
            | Layer::Points { x, .. }
            | Layer::Band { x, .. }
            | Layer::Cells { x, .. } => x,
        }
    }

    fn ys(&self) -> Vec<f64> {
        match self {
            Layer::Line { y, .. } | Layer::Points { y, .. } | Layer::Cells { y, .. } => y.clone(),
            Layer::Band { low, high, .. } => [low.as_slice(), high].concat(),
        }
    }

    fn key(&self) -> Option<Key> {
        let key = match self {
            Layer::Line { name, stroke, .. } => Key::line(
                name,
                Stroke {
                    width: stroke.width.max(1.5),
                    ..*stroke
                },
            ),
            Layer::Points { name, ink, .. } => Key::dot(name, *ink),
            Layer::Band { name, ink, .. } => Key::area(name, *ink, tint(*ink)),
            Layer::Cells { name, ink, .. } => Key::area(name, *ink, 0.6),
        };
        (!key.label.is_empty()).then_some(key)
    }
}

/// Tint of bands, and of grey ones, which need more to be seen.
const BAND: f64 = 0.2;
const GREY_BAND: f64 = 0.3;

fn tint(ink: Ink) -> f64 {
    match ink {
        Ink::Grey => GREY_BAND,
        _ => BAND,
    }
}

/// Charts in rows of `columns`, each `height` pixels high, with one legend above them that names
/// each layer once.
pub fn charts(title: &str, all: &[Chart], columns: usize, height: f64, style: &Style) -> Scene {
    let mut scene = Scene::new(style.width, 0.0, title);
    let top = keys(&mut scene, all);
    let (cells, total) = grid(all.len(), columns, style.width, height, top);
    scene.height = total;
    for (chart, cell) in all.iter().zip(cells) {
        let panel = Panel::new(cell, &chart.title, chart.x.clone(), chart.y.clone());
        chart.draw(&mut scene, &panel);
    }
    scene
}

/// Charts below one another, each with its height in pixels, over one and the same width of data;
/// one legend above them.
pub fn stacked(title: &str, all: &[(Chart, f64)], style: &Style) -> Scene {
    let mut scene = Scene::new(style.width, 0.0, title);
    let plain: Vec<Chart> = all.iter().map(|(chart, _)| chart.clone()).collect();
    let mut top = keys(&mut scene, &plain);
    let mut panels = Vec::new();
    for (chart, height) in all {
        let cell = grid(1, 1, style.width, *height, top).0[0];
        top = cell.bottom();
        panels.push(Panel::new(
            cell,
            &chart.title,
            chart.x.clone(),
            chart.y.clone(),
        ));
    }
    scene.height = top + 8.0;
    let left = panels.iter().map(Panel::needed_left).fold(0.0, f64::max);
    for ((chart, _), mut panel) in all.iter().zip(panels) {
        panel.left = left;
        chart.draw(&mut scene, &panel);
    }
    scene
}

/// Draws the legend of all layers; where the charts begin.
fn keys(scene: &mut Scene, all: &[Chart]) -> f64 {
    let mut keys: Vec<Key> = Vec::new();
    for key in all
        .iter()
        .flat_map(|c| c.layers.iter().filter_map(Layer::key))
    {
        if keys.iter().all(|k| k.label != key.label) {
            keys.push(key);
        }
    }
    let width = scene.width - 32.0;
    12.0 + legend(scene, &keys, [16.0, 8.0], width)
}

impl Chart {
    fn draw(&self, scene: &mut Scene, panel: &Panel) {
        let axes = panel.draw(scene);
        scene.open(Group {
            clip: Some(axes.rect),
            data: Vec::new(),
        });
        self.layers.iter().for_each(|l| l.draw(scene, &axes));
        scene.close();
    }
}

/// The two sides of a cell.
fn around(middle: f64, size: f64, log: bool) -> [f64; 2] {
    match log {
        true => [middle / size.sqrt(), middle * size.sqrt()],
        false => [middle - size / 2.0, middle + size / 2.0],
    }
}

/// Steps between empty and full of [`Layer::Cells`].
const SHADES: usize = 6;

impl Layer {
    fn draw(&self, scene: &mut Scene, axes: &Axes) {
        match self {
            Layer::Line { x, y, stroke, .. } => scene.lines(vec![axes.curve(x, y)], *stroke),
            Layer::Points {
                x, y, ink, size, ..
            } => {
                let dots = axes.curve(x, y);
                let finite = dots.into_iter().filter(|p| p.iter().all(|v| v.is_finite()));
                scene.dots(&finite.collect::<Vec<_>>(), *size, *ink, 0.8);
            }
            Layer::Band {
                x, low, high, ink, ..
            } => {
                let fill = Fill {
                    ink: *ink,
                    opacity: tint(*ink),
                };
                scene.path(vec![axes.between(x, low, high)], true, Some(fill), None);
            }
            Layer::Cells {
                x,
                y,
                size: [width, height],
                share,
                ink,
                ..
            } => {
                // Rectangles of one shade are one path.
                let mut shades = vec![Vec::new(); SHADES];
                for ((x, y), share) in x.iter().zip(y).zip(share) {
                    let k = (share * SHADES as f64) as usize;
                    let across = around(*x, *width, axes.x.log);
                    let up = around(*y, *height, axes.y.log);
                    let corners = [(0, 0), (1, 0), (1, 1), (0, 1)];
                    let outline = corners.map(|(i, j)| axes.at(across[i], up[j]));
                    shades[k.min(SHADES - 1)].push(outline.to_vec());
                }
                for (k, parts) in shades.into_iter().enumerate() {
                    if !parts.is_empty() {
                        scene.areas(parts, *ink, (k + 1) as f64 / SHADES as f64);
                    }
                }
            }
        }
    }
}

/// An axis of names at whole numbers.
impl AxisSpec {
    /// An axis of names at 0, 1, ..
    pub fn names(title: &str, names: &[String]) -> Self {
        let places = names.iter().enumerate();
        let places = places.map(|(k, n)| (k as f64, n.clone())).collect();
        AxisSpec::new(title, [-0.5, names.len().max(1) as f64 - 0.5]).labels(Labels::Names(places))
    }
}
