//! Medians side by side with their spread: times, speeds, sizes.

use super::{Style, said};
use crate::draw::{
    Align, AxisSpec, Ink, Labels, Panel, Rect, Scene, Stroke, Text, Weight, fitted, text_width,
};

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Who or what.
    pub label: String,
    /// Its length; NaN for what was not reached.
    pub value: f64,
    /// Least and greatest of the repeats, where there are any.
    pub spread: Option<[f64; 2]>,
    /// Series whose colour it has.
    pub series: usize,
    /// What stands beside it instead of the number, such as "not reached".
    pub note: String,
}

impl Bar {
    /// A bar without spread, in the first colour.
    pub fn new(label: impl Into<String>, value: f64) -> Self {
        Bar {
            label: label.into(),
            value,
            spread: None,
            series: 0,
            note: String::new(),
        }
    }
}

const ROW: f64 = 26.0;

/// Horizontal bars from 0, with numbers beside them. `quantity` names the axis with its unit.
pub fn bar_figure(bars: &[Bar], title: &str, quantity: &str, style: &Style) -> Scene {
    let height = 60.0 + ROW * bars.len() as f64;
    let mut scene = Scene::new(style.width, height + 8.0, title);
    let labels = bars
        .iter()
        .map(|b| text_width(&b.label, 12.0, Weight::Regular));
    let left = labels.fold(40.0, f64::max).min(style.width * 0.4) + 16.0;
    let ends = bars
        .iter()
        .flat_map(|b| [b.value, b.spread.map_or(0.0, |s| s[1])]);
    let highest = ends.filter(|v| v.is_finite()).fold(0.0, f64::max);
    let highest = if highest > 0.0 { 1.14 * highest } else { 1.0 };
    let cell = Rect {
        x: 8.0,
        y: 4.0,
        width: style.width - 24.0,
        height,
    };
    let y = AxisSpec::new("", [0.0, 1.0]).labels(Labels::None);
    let mut panel = Panel::new(
        cell,
        title,
        AxisSpec::new(quantity, [0.0, highest]).grid(),
        y,
    );
    panel.left = left;
    let axes = panel.draw(&mut scene);
    let row = axes.rect.height / bars.len().max(1) as f64;
    for (k, bar) in bars.iter().enumerate() {
        let middle = axes.rect.y + (k as f64 + 0.5) * row;
        let base = middle + 4.3;
        let label = fitted(&bar.label, left - 16.0, 12.0, Weight::Regular);
        let at = [axes.rect.x - 8.0, base];
        scene.text(Text::new(label, at, 12.0).align(Align::End).ink(Ink::Text));
        let mut end = axes.rect.x;
        if bar.value.is_finite() && bar.value >= 0.0 {
            let shape = Rect {
                x: axes.rect.x,
                y: middle - 8.0,
                width: axes.x.pixel(bar.value) - axes.rect.x,
                height: 16.0,
            };
            end = shape.right();
            if shape.width > 0.0 {
                scene.rect(shape, Ink::Series(bar.series), 0.85);
            }
        }
        if let Some([low, high]) = bar.spread {
            let [from, to] = [low, high].map(|v| axes.x.pixel(v));
            scene.line([from, middle], [to, middle], Stroke::new(Ink::Mark, 1.4));
            end = end.max(to);
        }
        let words = match bar.note.is_empty() {
            true => said(bar.value),
            false => bar.note.clone(),
        };
        let mut text = Text::new(words, [end + 6.0, base], 12.0).ink(Ink::Text);
        text.at[0] = text.at[0].min(cell.right() - text.width());
        scene.text(text);
    }
    scene
}
