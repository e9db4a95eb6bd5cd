//! Means and intervals one below the other, with R-hat and effective sample size beside them.

use super::{Style, count, said};
use crate::draw::{
    Align, AxisSpec, Ink, Key, Labels, Panel, Rect, Scene, Stroke, Text, Weight, fitted, legend,
    range_of, text_width,
};
use fitzroy::diagnose::{ESS_LIMIT, RHAT_LIMIT};

/// Room between the names and the intervals.
const LABEL_GAP: f64 = 20.0;

/// One number in one trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForestColumn {
    /// Mean of the draws.
    pub mean: f64,
    /// Ends of the narrow interval, 50 %.
    pub inner: [f64; 2],
    /// Ends of the wide interval.
    pub outer: [f64; 2],
    /// R-hat; NaN where there is none.
    pub r_hat: f64,
    /// Bulk effective sample size, in draws.
    pub ess: f64,
}

/// One number, in every trace that has it.
#[derive(Clone, Debug, PartialEq)]
pub struct ForestRow {
    /// The variable; rows of one variable stand together.
    pub variable: String,
    /// The whole name: `theta[Choate]`.
    pub label: String,
    /// By trace.
    pub traces: Vec<Option<ForestColumn>>,
}

/// Height of a line in pixels.
const LINE: f64 = 17.0;
const SIZE: f64 = 11.0;

/// A forest: mean, 50 % and the wide interval of each row, R-hat and ESS at the right, several
/// traces side by side. `names` are those of the traces. Variables get axes of their own where
/// their intervals could not be read on that of their neighbours.
pub fn forest_figure(
    rows: &[ForestRow],
    names: &[String],
    left_out: usize,
    style: &Style,
) -> Scene {
    let mut scene = Scene::new(style.width, 0.0, "Means and intervals");
    let words = format!(
        "mean (dot), 50 % (thick) and {} (thin)",
        style.interval_name()
    );
    scene.text(Text::new(words, [16.0, 20.0], 12.0));
    let mut top = 22.0;
    if names.len() > 1 {
        let keys = names.iter().enumerate();
        let keys: Vec<Key> = keys
            .map(|(k, n)| Key::line(n, Stroke::series(k, 2.0)))
            .collect();
        top += legend(&mut scene, &keys, [16.0, top], style.width - 32.0);
    }
    let labels = rows
        .iter()
        .map(|r| text_width(&r.label, SIZE, Weight::Regular));
    let left = labels.fold(60.0, f64::max).min(style.width * 0.34) + LABEL_GAP;
    for block in blocks(rows) {
        top = draw_block(&mut scene, block, names.len(), left, top, style);
    }
    if left_out > 0 {
        let words = format!("{} more not shown; name those to be shown", count(left_out));
        scene.text(Text::new(words, [16.0, top + 14.0], 12.0));
        top += 20.0;
    }
    scene.height = top + 8.0;
    scene
}

/// Rows that share an axis.
struct Shared {
    from: usize,
    to: usize,
    range: [f64; 2],
    /// The widest interval of the variable whose intervals are narrowest.
    narrowest: f64,
}

/// Consecutive variables share an axis as long as every one of them has an interval that can still
/// be read on it, a thirtieth of its length.
fn blocks(rows: &[ForestRow]) -> Vec<&[ForestRow]> {
    let mut out: Vec<Shared> = Vec::new();
    let mut start = 0;
    for variable in rows.chunk_by(|a, b| a.variable == b.variable) {
        let new = Shared {
            from: start,
            to: start + variable.len(),
            range: range(variable),
            narrowest: widest(variable),
        };
        start = new.to;
        let joined = out.last().map(|last| Shared {
            from: last.from,
            to: new.to,
            range: [
                last.range[0].min(new.range[0]),
                last.range[1].max(new.range[1]),
            ],
            narrowest: last.narrowest.min(new.narrowest),
        });
        match joined.filter(|j| j.narrowest >= (j.range[1] - j.range[0]) / 30.0) {
            Some(joined) => *out.last_mut().expect("it was joined to") = joined,
            None => out.push(new),
        }
    }
    out.iter()
        .map(|shared| &rows[shared.from..shared.to])
        .collect()
}

fn widest(rows: &[ForestRow]) -> f64 {
    let columns = rows.iter().flat_map(|r| r.traces.iter().flatten());
    let widths = columns.map(|c| c.outer[1] - c.outer[0]);
    widths.filter(|w| w.is_finite()).fold(0.0, f64::max)
}

fn range(rows: &[ForestRow]) -> [f64; 2] {
    let columns = rows.iter().flat_map(|r| r.traces.iter().flatten());
    range_of(columns.flat_map(|c| [c.outer[0], c.outer[1], c.mean]), 0.03)
}

/// Columns of numbers at the right: their heads and where they end.
fn heads(style: &Style) -> [(&'static str, f64); 3] {
    let right = style.width - 20.0;
    [
        ("mean", right - 124.0),
        ("ESS bulk", right - 54.0),
        ("R-hat", right),
    ]
}

fn draw_block(
    scene: &mut Scene,
    rows: &[ForestRow],
    n_traces: usize,
    left: f64,
    top: f64,
    style: &Style,
) -> f64 {
    let row = LINE * n_traces.max(1) as f64 + if n_traces > 1 { 4.0 } else { 0.0 };
    let height = row * rows.len() as f64;
    let cell = Rect {
        x: 8.0,
        y: top,
        width: style.width - 8.0 - 220.0,
        height: height + 28.0 + 22.0,
    };
    // Names are written here, and not by the axis, which would leave some out.
    let y = AxisSpec::new("", [0.0, rows.len() as f64]).labels(Labels::None);
    let mut panel = Panel::new(cell, "", AxisSpec::new("", range(rows)).grid(), y);
    panel.left = left;
    panel.note = " ".into(); // Room for the heads of the columns.
    let mut axes = panel.draw(scene);
    (axes.y.low, axes.y.high) = (rows.len() as f64, 0.0);
    for (name, x) in heads(style) {
        let at = [x, axes.rect.y - 6.0];
        scene.text(Text::new(name, at, SIZE).align(Align::End));
    }
    for (k, r) in rows.iter().enumerate() {
        let middle = axes.y.pixel(k as f64 + 0.5);
        let label = fitted(&r.label, left - LABEL_GAP, SIZE, Weight::Regular);
        let place = [axes.rect.x - 8.0, middle + 0.36 * SIZE];
        scene.text(
            Text::new(label, place, SIZE)
                .align(Align::End)
                .ink(Ink::Text),
        );
        for (t, column) in r.traces.iter().enumerate() {
            let shift = (t as f64 - (n_traces as f64 - 1.0) / 2.0) * LINE;
            if let Some(column) = column {
                draw_line(scene, &axes, column, middle + shift, t, style);
            }
        }
    }
    top + cell.height
}

fn draw_line(
    scene: &mut Scene,
    axes: &crate::draw::Axes,
    column: &ForestColumn,
    y: f64,
    trace: usize,
    style: &Style,
) {
    let stroke = Stroke::series(trace, 1.6);
    let x = |v: f64| axes.x.pixel(v).clamp(axes.rect.x, axes.rect.right());
    let finite = |pair: &[f64; 2]| pair.iter().all(|v| v.is_finite());
    if finite(&column.outer) && column.mean.is_finite() {
        scene.line([x(column.outer[0]), y], [x(column.outer[1]), y], stroke);
        let thick = Stroke {
            width: 4.5,
            dash: None,
            ..stroke
        };
        scene.line([x(column.inner[0]), y], [x(column.inner[1]), y], thick);
        scene.dots(&[[x(column.mean), y]], 8.0, Ink::Paper, 1.0);
        scene.dots(&[[x(column.mean), y]], 6.0, stroke.ink, 1.0);
    } else {
        let middle = axes.rect.x + axes.rect.width / 2.0;
        let at = [middle, y + 0.36 * SIZE];
        let words = "NaN or infinite draws";
        let words = fitted(words, axes.rect.width, SIZE, Weight::Regular);
        scene.text(Text::new(words, at, SIZE).align(Align::Middle));
    }
    let [mean, ess, r_hat] = heads(style).map(|(_, x)| x);
    let base = y + 0.36 * SIZE;
    let cell = |words: String, x: f64, bad: bool| {
        let text = Text::new(words, [x, base], SIZE).align(Align::End);
        match bad {
            true => text.bold().ink(Ink::Bad),
            false => text.ink(Ink::Text),
        }
    };
    let whole = |v: f64| match v.is_finite() {
        true => count(v.round().max(0.0) as usize),
        false => "–".into(),
    };
    scene.text(cell(said(column.mean), mean, false));
    scene.text(cell(whole(column.ess), ess, column.ess <= ESS_LIMIT));
    let rounded = match column.r_hat {
        v if v.is_nan() => "–".into(),
        v if (1.005..1.1).contains(&v) => format!("{v:.3}"),
        v if v < 1000.0 => format!("{v:.2}"),
        v => said(v),
    };
    scene.text(cell(rounded, r_hat, column.r_hat >= RHAT_LIMIT));
}
