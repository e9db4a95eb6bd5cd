//! One pair of axes with its title, names, ticks and grid, measured so that nothing is cut off.

use super::axes::{Axes, Scale, range_of};
use super::font::{Weight, fitted, text_width};
use super::scene::{Align, Group, Rect, Scene, Stroke, Text};
use super::theme::Ink;
use super::ticks::Ticks;

/// Size of tick labels, axis names and titles in pixels.
pub(crate) const TICK: f64 = 11.0;
pub(crate) const NAME: f64 = 12.0;
pub(crate) const TITLE: f64 = 13.0;

/// What stands at the ticks of an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Labels {
    /// Numbers.
    Numbers,
    /// Names at given places.
    Names(Vec<(f64, String)>),
    /// Nothing: the axis has a name alone.
    None,
}

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisSpec {
    /// What is measured, with its unit where known.
    pub name: String,
    /// Least and greatest number shown.
    pub range: [f64; 2],
    /// Whether powers of ten are equally far apart.
    pub log: bool,
    /// What stands at the ticks.
    pub labels: Labels,
    /// Whether lines cross the panel at the ticks.
    pub grid: bool,
}

impl AxisSpec {
    /// An axis over exactly `range`.
    pub fn new(name: impl Into<String>, range: [f64; 2]) -> Self {
        AxisSpec {
            name: name.into(),
            range: range_of(range, 0.0),
            log: false,
            labels: Labels::Numbers,
            grid: false,
        }
    }

    /// An axis that holds all `values`, with a margin.
    pub fn around(name: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        AxisSpec::new(name, range_of(values, 0.04))
    }

    /// The same with grid lines.
    #[must_use]
    pub fn grid(self) -> Self {
        AxisSpec { grid: true, ..self }
    }

    /// The same with other labels.
    #[must_use]
    pub fn labels(self, labels: Labels) -> Self {
        AxisSpec { labels, ..self }
    }

    /// The same on a logarithmic scale, cut to numbers above 0.
    #[must_use]
    pub fn log(mut self) -> Self {
        self.log = true;
        let [low, high] = self.range;
        let high = if high > 0.0 { high } else { 1.0 };
        let low = if low > 0.0 { low } else { high / 1000.0 };
        self.range = if low < high {
            [low, high]
        } else {
            [low / 2.0, high * 2.0]
        };
        self
    }

    fn ticks(&self, n: usize) -> Ticks {
        let [low, high] = self.range;
        match &self.labels {
            Labels::Numbers if self.log => Ticks::log(low, high, n),
            Labels::Numbers => {
                // One tick says nothing about the scale.
                let enough = |n: &usize| Ticks::linear(low, high, *n).at.len() >= 2;
                let n = (n..n + 5).find(enough).unwrap_or(n);
                Ticks::linear(low, high, n)
            }
            Labels::Names(names) => {
                let stride = names.len().div_ceil(n.max(1)).max(1);
                let kept = names.iter().step_by(stride);
                let (at, labels) = kept.cloned().unzip();
                Ticks { at, labels }
            }
            Labels::None => Ticks::default(),
        }
    }

    /// As many ticks as fit side by side on `width` pixels. Labels may reach over the ends by so
    /// many pixels, and are pushed back inside where they would reach further.
    fn ticks_across(&self, width: f64, [before, after]: [f64; 2]) -> Ticks {
        let wanted = match &self.labels {
            Labels::Names(names) => names.len().max(1),
            _ => ((width / 70.0) as usize).clamp(2, 9),
        };
        let scale = self.scale([0.0, width]);
        let fits = |ticks: &Ticks| {
            let mut end = f64::NEG_INFINITY;
            ticks.at.iter().zip(&ticks.labels).all(|(&at, label)| {
                let half = text_width(label, TICK, Weight::Regular) / 2.0;
                let (first, last) = (half - before, width + after - half);
                let centre = scale.pixel(at).clamp(first.min(last), last);
                let clear = centre - half >= end + 8.0;
                end = centre + half;
                clear
            })
        };
        let mut n = wanted;
        while n > 1 {
            let ticks = self.ticks(n);
            if fits(&ticks) {
                return ticks;
            }
            // Names may be thousands, and need not be tried one by one.
            n = (n - 1).min(n * 4 / 5).max(1);
        }
        let mut ticks = self.ticks(1);
        ticks.at.truncate(1);
        ticks.labels.truncate(1);
        ticks
    }

    /// As many ticks as fit one above the other on `height` pixels.
    fn ticks_up(&self, height: f64) -> Ticks {
        let n = match &self.labels {
            Labels::Names(_) => (height / (TICK + 2.0)) as usize,
            _ => ((height / 32.0) as usize).clamp(3, 8),
        };
        self.ticks(n.max(1))
    }

    fn scale(&self, pixels: [f64; 2]) -> Scale {
        let [low, high] = self.range;
        Scale {
            low,
            high,
            pixels,
            log: self.log,
        }
    }
}

/// A pair of axes in a cell of the figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Everything stays inside.
    pub cell: Rect,
    /// Bold, upper left.
    pub title: String,
    /// Beside the title, in muted letters.
    pub note: String,
    /// Left to right.
    pub x: AxisSpec,
    /// Bottom to top.
    pub y: AxisSpec,
    /// Pixels left of the data, at least; equal in panels that stand one above the other.
    pub left: f64,
    /// Whether ticks stand in a group of their own, which a script may replace.
    pub live: bool,
}

impl Panel {
    /// A panel.
    pub fn new(cell: Rect, title: impl Into<String>, x: AxisSpec, y: AxisSpec) -> Self {
        Panel {
            cell,
            title: title.into(),
            note: String::new(),
            x,
            y,
            left: 0.0,
            live: false,
        }
    }

    /// The same with a note beside the title.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Panel {
            note: note.into(),
            ..self
        }
    }

    fn top(&self) -> f64 {
        if self.title.is_empty() && self.note.is_empty() {
            8.0
        } else {
            28.0
        }
    }

    fn bottom(&self) -> f64 {
        let ticks = if self.x.labels == Labels::None {
            6.0
        } else {
            20.0
        };
        let name = if self.x.name.is_empty() { 2.0 } else { 18.0 };
        ticks + name
    }

    /// Pixels that labels and name of the y axis need.
    pub fn needed_left(&self) -> f64 {
        let ticks = self
            .y
            .ticks_up(self.cell.height - self.top() - self.bottom());
        let widest = ticks
            .labels
            .iter()
            .map(|l| text_width(l, TICK, Weight::Regular));
        let labels = widest.fold(0.0, f64::max).min(self.cell.width * 0.45);
        let name = if self.y.name.is_empty() { 0.0 } else { 20.0 };
        labels + name + if labels > 0.0 { 8.0 } else { 4.0 }
    }

    /// Draws everything but the data, and says where these go.
    pub fn draw(&self, scene: &mut Scene) -> Axes {
        let left = self.needed_left().max(self.left);
        let rect = self.cell.inset([self.top(), 12.0, self.bottom(), left]);
        let axes = Axes {
            rect,
            x: self.x.scale([rect.x, rect.right()]),
            y: self.y.scale([rect.bottom(), rect.y]),
        };
        self.draw_title(scene, rect);
        if self.live {
            scene.open(Group {
                clip: None,
                data: vec![("class", "ticks".into())],
            });
        }
        self.draw_ticks_up(scene, &axes);
        self.draw_ticks_across(scene, &axes);
        if self.live {
            scene.close();
        }
        let (base, line) = (rect.bottom(), Stroke::new(Ink::Axis, 1.0));
        scene.line([rect.x, base], [rect.right(), base], line);
        self.draw_names(scene, rect);
        axes
    }

    fn draw_title(&self, scene: &mut Scene, rect: Rect) {
        let base = self.cell.y + 16.0;
        let room = self.cell.right() - rect.x;
        let title = fitted(&self.title, room, TITLE, Weight::Bold);
        let used = text_width(&title, TITLE, Weight::Bold);
        scene.text(
            Text::new(title, [rect.x, base], TITLE)
                .bold()
                .ink(Ink::Text),
        );
        let gap = if self.title.is_empty() { 0.0 } else { 10.0 };
        let note_room = room - used - gap;
        if note_room > 40.0 {
            let note = fitted(&self.note, note_room, TICK, Weight::Regular);
            scene.text(Text::new(note, [rect.x + used + gap, base], TICK));
        }
    }

    fn draw_ticks_up(&self, scene: &mut Scene, axes: &Axes) {
        let rect = axes.rect;
        let ticks = self.y.ticks_up(rect.height);
        if self.y.grid {
            let lines = ticks.at.iter().map(|&v| axes.y.pixel(v));
            let lines = lines.map(|y| vec![[rect.x, y], [rect.right(), y]]);
            scene.lines(lines.collect(), Stroke::new(Ink::Grid, 1.0));
        }
        let name = if self.y.name.is_empty() { 0.0 } else { 18.0 };
        let room = rect.x - self.cell.x - 8.0 - name;
        for (at, label) in ticks.at.iter().zip(&ticks.labels) {
            let label = fitted(label, room, TICK, Weight::Regular);
            let place = [rect.x - 6.0, axes.y.pixel(*at) + 0.36 * TICK];
            scene.text(Text::new(label, place, TICK).align(Align::End));
        }
    }

    fn draw_ticks_across(&self, scene: &mut Scene, axes: &Axes) {
        let (rect, base) = (axes.rect, axes.rect.bottom());
        let over = [rect.x - self.cell.x, self.cell.right() - rect.right()];
        let ticks = self.x.ticks_across(rect.width, over);
        let places: Vec<f64> = ticks.at.iter().map(|&v| axes.x.pixel(v)).collect();
        if self.x.grid {
            let lines = places.iter().map(|&x| vec![[x, rect.y], [x, base]]);
            scene.lines(lines.collect(), Stroke::new(Ink::Grid, 1.0));
        }
        let marks = places.iter().map(|&x| vec![[x, base], [x, base + 4.0]]);
        scene.lines(marks.collect(), Stroke::new(Ink::Axis, 1.0));
        for (x, label) in places.iter().zip(&ticks.labels) {
            let label = fitted(label, self.cell.width, TICK, Weight::Regular);
            let text = Text::new(label, [*x, base + 16.0], TICK);
            self.centred(scene, text);
        }
    }

    fn draw_names(&self, scene: &mut Scene, rect: Rect) {
        let name = |text: &str, room: f64| fitted(text, room, NAME, Weight::Regular);
        // The name stands at the very left, whatever the labels' width.
        let place = [self.cell.x + 11.0, rect.y + rect.height / 2.0];
        let mut text = Text::new(name(&self.y.name, self.cell.height), place, NAME)
            .align(Align::Middle)
            .upwards();
        // A name longer than the axis moves so that it stays inside the cell.
        let half = text.width() / 2.0;
        let (first, last) = (self.cell.y + half, self.cell.bottom() - half);
        text.at[1] = text.at[1].clamp(first.min(last), last);
        scene.text(text);
        let down = if self.x.labels == Labels::None {
            16.0
        } else {
            32.0
        };
        let place = [rect.x + rect.width / 2.0, rect.bottom() + down];
        let text = Text::new(name(&self.x.name, self.cell.width), place, NAME);
        self.centred(scene, text);
    }

    /// Adds text around its place, moved so that it stays inside the cell.
    fn centred(&self, scene: &mut Scene, text: Text) {
        let mut text = text.align(Align::Middle);
        let half = text.width() / 2.0;
        let (first, last) = (self.cell.x + half, self.cell.right() - half);
        text.at[0] = text.at[0].clamp(first.min(last), last);
        scene.text(text);
    }
}

/// `n` cells of equal size in rows of `columns`, 16 pixels apart; and the height of all rows.
pub fn grid(n: usize, columns: usize, width: f64, height: f64, top: f64) -> (Vec<Rect>, f64) {
    const GAP: f64 = 16.0;
    let columns = columns.clamp(1, n.max(1));
    let cell = (width - GAP * (columns as f64 + 1.0)) / columns as f64;
    let at = |k: usize| Rect {
        x: GAP + (k % columns) as f64 * (cell + GAP),
        y: top + (k / columns) as f64 * (height + GAP / 2.0),
        width: cell,
        height,
    };
    let rows = n.div_ceil(columns) as f64;
    let total = top + rows * (height + GAP / 2.0);
    ((0..n).map(at).collect(), total)
}
