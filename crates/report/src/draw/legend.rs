//! What the lines mean, in rows above the data.

use super::font::{Weight, text_width};
use super::scene::{Fill, Group, Scene, Stroke, Text};
use super::theme::Ink;

/// One entry of a legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// What it stands for.
    pub label: String,
    /// A line, as it is drawn.
    pub stroke: Option<Stroke>,
    /// An area, as it is filled.
    pub fill: Option<Fill>,
    /// A dot instead of a line.
    pub dot: bool,
    /// Attributes in SVG, for scripts of a page.
    pub data: Vec<(&'static str, String)>,
}

impl Key {
    /// A line.
    pub fn line(label: impl Into<String>, stroke: Stroke) -> Self {
        Key {
            label: label.into(),
            stroke: Some(stroke),
            fill: None,
            dot: false,
            data: Vec::new(),
        }
    }

    /// An area.
    pub fn area(label: impl Into<String>, ink: Ink, opacity: f64) -> Self {
        Key {
            label: label.into(),
            stroke: None,
            fill: Some(Fill { ink, opacity }),
            dot: false,
            data: Vec::new(),
        }
    }

    /// A dot.
    pub fn dot(label: impl Into<String>, ink: Ink) -> Self {
        Key {
            dot: true,
            ..Key::line(label, Stroke::new(ink, 7.0))
        }
    }
}

const SIZE: f64 = 12.0;
const SAMPLE: f64 = 18.0;
const ROW: f64 = 18.0;

/// Draws the keys in rows from `[x, y]` on, at most `width` wide; returns the height used.
pub fn legend(scene: &mut Scene, keys: &[Key], [x, y]: [f64; 2], width: f64) -> f64 {
    if keys.is_empty() {
        return 0.0;
    }
    let (mut at, mut row) = (x, y);
    for key in keys {
        let needed = SAMPLE + 6.0 + text_width(&key.label, SIZE, Weight::Regular);
        if at > x && at + needed > x + width {
            at = x;
            row += ROW;
        }
        scene.open(Group {
            clip: None,
            data: key.data.clone(),
        });
        let middle = row + ROW / 2.0;
        if let Some(fill) = key.fill {
            let box_ = super::scene::Rect {
                x: at,
                y: middle - 5.0,
                width: SAMPLE,
                height: 10.0,
            };
            scene.rect(box_, fill.ink, fill.opacity);
        }
        match key.stroke {
            Some(stroke) if key.dot => {
                let centre = [at + SAMPLE / 2.0, middle];
                scene.dots(&[centre], stroke.width, stroke.ink, stroke.opacity);
            }
            Some(stroke) => scene.line([at, middle], [at + SAMPLE, middle], stroke),
            None => {}
        }
        let base = middle + 0.36 * SIZE;
        let label = super::font::fitted(&key.label, width - SAMPLE - 6.0, SIZE, Weight::Regular);
        scene.text(Text::new(label, [at + SAMPLE + 6.0, base], SIZE).ink(Ink::Text));
        scene.close();
        at += needed + 18.0;
    }
    row + ROW - y
}
