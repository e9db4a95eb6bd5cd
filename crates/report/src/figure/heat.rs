//! Fields on a grid as tinted cells: maps, matrices.

use super::{Style, said};
use crate::draw::{Align, Axes, AxisSpec, Ink, Panel, Point, Rect, Scene, Stroke, Text, grid};

/// How numbers become tints. Both readings are safe for the colour-blind, in light and in dark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tint {
    /// From the ground at the first number to full blue at the second.
    From(f64, f64),
    /// Orange above 0 and blue below, full at this distance.
    Around(f64),
}

/// One field.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// Bold, upper left.
    pub title: String,
    /// Unit of the numbers, at the scale of tints.
    pub units: String,
    /// Places of the columns, equally far apart, ascending.
    pub x: Vec<f64>,
    /// Places of the rows, equally far apart, ascending.
    pub y: Vec<f64>,
    /// Names of the two axes.
    pub names: [String; 2],
    /// Row by row from the lowest.
    pub values: Vec<f64>,
    /// Tints.
    pub tint: Tint,
    /// Lines over the cells, as coasts: places across and up. What leaves the field is cut off.
    pub lines: Vec<Vec<[f64; 2]>>,
}

/// Tints that can be told apart.
const STEPS: usize = 14;
/// Cells along one axis at most; a finer field is averaged.
const CELLS_MAX: usize = 90;
/// The number of the areas that are missing, behind those of the tints of both signs.
const MISSING: usize = 2 * (STEPS + 1);
/// How cells without a number are drawn: the ground is the tint of the least number.
const GREY: (Ink, f64) = (Ink::Muted, 0.35);
/// Height of the scale of tints with its numbers, and of the word for grey below it.
const SCALE: f64 = 30.0;
const WORD: f64 = 16.0;

impl Tint {
    /// Colour and step of a number, from 0 to [`STEPS`].
    fn step(self, value: f64) -> (Ink, usize) {
        let (share, ink) = match self {
            Tint::From(low, high) => ((value - low) / (high - low), Ink::Series(0)),
            Tint::Around(most) if value < 0.0 => (-value / most, Ink::Series(0)),
            Tint::Around(most) => (value / most, Ink::Series(1)),
        };
        (ink, (share.clamp(0.0, 1.0) * STEPS as f64).round() as usize)
    }

    fn ends(self) -> [f64; 2] {
        match self {
            Tint::From(low, high) => [low, high],
            Tint::Around(most) => [-most, most],
        }
    }
}

/// The tint that holds all `values`: around 0 where `signed`.
pub fn tint_of(values: impl IntoIterator<Item = f64>, signed: bool) -> Tint {
    let finite = values.into_iter().filter(|v| v.is_finite());
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for v in finite {
        (low, high) = (low.min(v), high.max(v));
    }
    let [low, high] = match low < high {
        true => [low, high],
        false if low == high => [low - 0.5, low + 0.5],
        false => [0.0, 1.0],
    };
    match signed {
        true => Tint::Around(low.abs().max(high.abs()).max(f64::MIN_POSITIVE)),
        false => Tint::From(low, high),
    }
}

impl Heat {
    /// Whether a number is missing.
    fn has_holes(&self) -> bool {
        self.values.iter().any(|value| !value.is_finite())
    }

    /// The field averaged so that no axis has more than [`CELLS_MAX`] cells.
    fn reduced(&self) -> Heat {
        let by = |n: usize| n.div_ceil(CELLS_MAX).max(1);
        let (bx, by) = (by(self.x.len()), by(self.y.len()));
        if bx == 1 && by == 1 {
            return self.clone();
        }
        let places = |all: &[f64], by: usize| -> Vec<f64> {
            let mean = |some: &[f64]| some.iter().sum::<f64>() / some.len() as f64;
            all.chunks(by).map(mean).collect()
        };
        let (x, y) = (places(&self.x, bx), places(&self.y, by));
        let mut values = Vec::with_capacity(x.len() * y.len());
        for row in 0..y.len() {
            for column in 0..x.len() {
                let (mut sum, mut n) = (0.0, 0.0);
                for r in row * by..((row + 1) * by).min(self.y.len()) {
                    for c in column * bx..((column + 1) * bx).min(self.x.len()) {
                        let value = self.values[r * self.x.len() + c];
                        if value.is_finite() {
                            sum += value;
                            n += 1.0;
                        }
                    }
                }
                // Without any number in it, a cell is missing.
                values.push(sum / n);
            }
        }
        Heat {
            x,
            y,
            values,
            ..self.clone()
        }
    }
}

/// Ends of cells around equally spaced places.
fn edges(places: &[f64]) -> Vec<f64> {
    let n = places.len();
    let step = match n {
        0 | 1 => 1.0,
        n => (places[n - 1] - places[0]) / (n - 1) as f64,
    };
    let first = places.first().map_or(0.0, |p| p - 0.5 * step);
    (0..=n).map(|k| first + step * k as f64).collect()
}

/// Fields in rows of `columns`, each `height` pixels high, with its scale of tints below it.
pub fn heat_figure(
    title: &str,
    fields: &[Heat],
    columns: usize,
    height: f64,
    style: &Style,
) -> Scene {
    let mut scene = Scene::new(style.width, 0.0, title);
    let (cells, total) = grid(fields.len(), columns, style.width, height, 8.0);
    scene.height = total;
    for (field, cell) in fields.iter().zip(cells) {
        draw(&mut scene, &field.reduced(), cell);
    }
    scene
}

fn draw(scene: &mut Scene, field: &Heat, cell: Rect) {
    let (xs, ys) = (edges(&field.x), edges(&field.y));
    let axis = |name: &str, edges: &[f64]| AxisSpec::new(name, [edges[0], edges[edges.len() - 1]]);
    let upper = Rect {
        height: cell.height - SCALE - if field.has_holes() { WORD } else { 0.0 },
        ..cell
    };
    let panel = Panel::new(
        upper,
        &field.title,
        axis(&field.names[0], &xs),
        axis(&field.names[1], &ys),
    );
    let axes = panel.draw(scene);
    // Whole pixels: neighbours then share their edge, and no seam shows between them.
    let across: Vec<f64> = xs.iter().map(|&x| axes.x.pixel(x).round()).collect();
    let up: Vec<f64> = ys.iter().map(|&y| axes.y.pixel(y).round()).collect();
    let mut parts: Vec<Vec<Vec<Point>>> = vec![Vec::new(); MISSING + 1];
    let n = field.x.len();
    for (row, values) in field.values.chunks_exact(n.max(1)).enumerate() {
        let tint = |value: f64| value.is_finite().then(|| field.tint.step(value));
        let mut start = 0;
        for end in 1..=n {
            if end < n && tint(values[end]) == tint(values[start]) {
                continue;
            }
            let at = match tint(values[start]) {
                Some((_, 0)) => None,
                Some((Ink::Series(0), step)) => Some(step),
                Some((_, step)) => Some(step + STEPS + 1),
                None => Some(MISSING),
            };
            if let Some(at) = at {
                let (left, right) = (across[start], across[end]);
                let (low, high) = (up[row], up[row + 1]);
                parts[at].push(vec![[left, high], [right, high], [right, low], [left, low]]);
            }
            start = end;
        }
    }
    for (at, parts) in parts.into_iter().enumerate() {
        if !parts.is_empty() {
            let (ink, opacity) = match at {
                MISSING => GREY,
                at => (ink_of(at), opacity(at % (STEPS + 1))),
            };
            scene.areas(parts, ink, opacity);
        }
    }
    let ends = |edges: &[f64]| [edges[0], edges[edges.len() - 1]];
    let visible = cut(&field.lines, [ends(&xs), ends(&ys)])
        .into_iter()
        .map(|line| {
            let pixels = line
                .iter()
                .map(|[x, y]| [axes.x.pixel(*x), axes.y.pixel(*y)]);
            pixels.collect::<Vec<Point>>()
        });
    let visible: Vec<Vec<Point>> = visible.collect();
    if !visible.is_empty() {
        scene.lines(visible, Stroke::new(Ink::Muted, 0.9));
    }
    frame(scene, &axes);
    scale(scene, field, &axes, upper.bottom());
}

/// What of lines lies in a box of two ranges.
fn cut(lines: &[Vec<[f64; 2]>], box_of: [[f64; 2]; 2]) -> Vec<Vec<[f64; 2]>> {
    let mut out: Vec<Vec<[f64; 2]>> = Vec::new();
    for line in lines {
        let mut open = false;
        for pair in line.windows(2) {
            let Some([a, b]) = piece([pair[0], pair[1]], box_of) else {
                open = false;
                continue;
            };
            match out.last_mut().filter(|_| open) {
                Some(last) => last.push(b),
                None => out.push(vec![a, b]),
            }
            // The next piece goes on where this one ends inside.
            open = b == pair[1];
        }
    }
    out
}

/// The piece of a straight line that lies in a box (Liang and Barsky).
fn piece([a, b]: [[f64; 2]; 2], box_of: [[f64; 2]; 2]) -> Option<[[f64; 2]; 2]> {
    let (mut from, mut to) = (0.0_f64, 1.0_f64);
    for axis in 0..2 {
        let along = b[axis] - a[axis];
        let [low, high] = box_of[axis].map(|edge| edge - a[axis]);
        if along == 0.0 {
            if low > 0.0 || high < 0.0 {
                return None;
            }
            continue;
        }
        let (enter, leave) = (low / along, high / along);
        from = from.max(enter.min(leave));
        to = to.min(enter.max(leave));
    }
    let at = |share: f64| match share {
        0.0 => a,
        1.0 => b,
        share => [0, 1].map(|axis| a[axis] + share * (b[axis] - a[axis])),
    };
    (from < to).then(|| [at(from), at(to)])
}

fn ink_of(at: usize) -> Ink {
    Ink::Series(at / (STEPS + 1))
}

fn opacity(step: usize) -> f64 {
    step as f64 / STEPS as f64
}

fn frame(scene: &mut Scene, axes: &Axes) {
    let r = axes.rect;
    let corners = vec![
        [r.x, r.bottom()],
        [r.x, r.y],
        [r.right(), r.y],
        [r.right(), r.bottom()],
    ];
    scene.lines(vec![corners], Stroke::new(Ink::Axis, 1.0));
}

/// A strip of all tints with the numbers at its ends.
fn scale(scene: &mut Scene, field: &Heat, axes: &Axes, top: f64) {
    const WIDTH: f64 = 120.0;
    const HEIGHT: f64 = 9.0;
    let [low, high] = field.tint.ends();
    let left = axes.rect.x + axes.rect.width / 2.0 - WIDTH / 2.0;
    let y = top + 6.0;
    let n = 2 * STEPS + 1;
    for k in 0..n {
        let value = low + (high - low) * k as f64 / (n - 1) as f64;
        let (ink, step) = field.tint.step(value);
        let (from, to) = (k as f64 / n as f64, (k + 1) as f64 / n as f64);
        let strip = Rect {
            x: (left + WIDTH * from).round(),
            y: y.round(),
            width: (left + WIDTH * to).round() - (left + WIDTH * from).round(),
            height: HEIGHT,
        };
        if step > 0 {
            scene.rect(strip, ink, opacity(step));
        }
    }
    let base = y.round() + HEIGHT;
    let end = format!("{} {}", said(high), field.units);
    scene.text(Text::new(said(low), [left - 6.0, base], 11.0).align(Align::End));
    scene.text(Text::new(end.trim_end(), [left + WIDTH + 6.0, base], 11.0));
    if field.has_holes() {
        let swatch = Rect {
            x: left.round(),
            y: y.round() + WORD,
            width: HEIGHT,
            height: HEIGHT,
        };
        scene.rect(swatch, GREY.0, GREY.1);
        let place = [swatch.right() + 6.0, base + WORD];
        scene.text(Text::new("missing", place, 11.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::svg;

    fn field(n: usize, tint: Tint) -> Heat {
        Heat {
            title: "U 850 hPa".into(),
            units: "m/s".into(),
            x: (0..n).map(|k| k as f64).collect(),
            y: (0..n / 2).map(|k| 30.0 + k as f64).collect(),
            names: ["longitude".into(), "latitude".into()],
            values: (0..n * (n / 2)).map(|k| (k % 7) as f64 - 3.0).collect(),
            tint,
            lines: vec![vec![[-500.0, -10.0], [500.0, 60.0], [0.5, 30.4]]],
        }
    }

    #[test]
    fn tints_grow_with_the_number_and_tell_its_sign() {
        let around = Tint::Around(10.0);
        assert_eq!(around.step(-10.0), (Ink::Series(0), STEPS));
        assert_eq!(around.step(5.0), (Ink::Series(1), STEPS / 2));
        assert_eq!(around.step(99.0).1, STEPS);
        assert_eq!(Tint::From(2.0, 4.0).step(3.0), (Ink::Series(0), STEPS / 2));
        assert_eq!(tint_of([1.0, f64::NAN, -3.0], true), Tint::Around(3.0));
        assert_eq!(tint_of([1.0, 3.0], false), Tint::From(1.0, 3.0));
        assert_eq!(tint_of([], false), Tint::From(0.0, 1.0));
    }

    /// A field with a hole, fine enough to be averaged. Catches: a hole that looks like the least
    /// number, a cell that is lost because a part of it is missing.
    #[test]
    fn missing_cells_are_grey_and_named() {
        let mut holed = field(200, Tint::From(0.0, 1.0));
        let whole = svg(
            &heat_figure(
                "t",
                std::slice::from_ref(&holed),
                1,
                300.0,
                &Style::default(),
            ),
            crate::draw::Theme::Light,
        );
        assert!(!whole.contains("missing"));
        holed.values[0] = f64::NAN;
        let reduced = holed.reduced();
        assert!(reduced.values.iter().all(|value| value.is_finite()));
        for row in 0..20 {
            holed.values[row * 200..row * 200 + 20].fill(f64::NAN);
        }
        let n_missing = holed.reduced().values.iter().filter(|v| v.is_nan()).count();
        assert_eq!(n_missing, 6 * 10);
        let said = svg(
            &heat_figure("t", &[holed], 1, 300.0, &Style::default()),
            crate::draw::Theme::Light,
        );
        assert!(said.contains("missing"));
    }

    /// Points of random lines, walked in small steps: those in the box lie on the pieces that are
    /// kept, and the pieces never leave the box.
    #[test]
    fn lines_are_cut_at_the_edges_of_the_field() {
        let mut state = 7_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 40) as f64 / (1_u64 << 24) as f64
        };
        let ranges = [[0.0, 2.0], [1.0, 3.0]];
        for _ in 0..300 {
            let line: Vec<[f64; 2]> = (0..4)
                .map(|_| [4.0 * random() - 1.0, 4.0 * random()])
                .collect();
            let kept = cut(std::slice::from_ref(&line), ranges);
            let inside = |[x, y]: [f64; 2], by: f64| {
                (-by..=2.0 + by).contains(&x) && (1.0 - by..=3.0 + by).contains(&y)
            };
            assert!(kept.iter().flatten().all(|p| inside(*p, 1e-9)));
            let length = |lines: &[Vec<[f64; 2]>]| -> f64 {
                let pairs = lines.iter().flat_map(|line| line.windows(2));
                pairs
                    .map(|p| (p[1][0] - p[0][0]).hypot(p[1][1] - p[0][1]))
                    .sum()
            };
            let mut walked = 0.0;
            for pair in line.windows(2) {
                let n = 2000;
                let at =
                    |k: f64| [0, 1].map(|i| pair[0][i] + k / n as f64 * (pair[1][i] - pair[0][i]));
                let in_box = (0..n).filter(|k| inside(at(*k as f64 + 0.5), 0.0)).count();
                walked += in_box as f64 / n as f64 * length(&[pair.to_vec()]);
            }
            assert!((length(&kept) - walked).abs() < 0.02, "{line:?}");
        }
    }

    /// Fine fields are averaged, holes are grey, and nothing leaves the figure.
    #[test]
    fn fields_of_any_size_stay_inside_of_the_figure() {
        for n in [2, 30, 400] {
            let mut one = field(n, Tint::Around(3.0));
            one.values[0] = f64::NAN;
            let scene = heat_figure("maps", &[one.clone(), one], 2, 300.0, &Style::default());
            let text = svg(&scene, crate::draw::Theme::Light);
            assert!(!text.contains("NaN") && text.len() < 1_500_000, "{n}");
            for text in scene.texts() {
                let b = text.bounds();
                assert!(b.x >= 0.0 && b.right() <= scene.width, "{}", text.text);
                assert!(b.y >= 0.0 && b.bottom() <= scene.height, "{}", text.text);
            }
        }
    }
}
