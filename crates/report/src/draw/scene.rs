//! A figure as a list of shapes, before it is SVG, PNG or PDF.

use super::font::{Weight, text_width};
use super::theme::Ink;

/// Across from the left, down from the top, in pixels.
pub type Point = [f64; 2];

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

impl Rect {
    /// Right edge.
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    /// Lower edge.
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }

    /// The rectangle without a margin of the given size on each side: top, right, bottom, left.
    #[must_use]
    pub fn inset(&self, [top, right, bottom, left]: [f64; 4]) -> Rect {
        Rect {
            x: self.x + left,
            y: self.y + top,
            width: (self.width - left - right).max(1.0),
            height: (self.height - top - bottom).max(1.0),
        }
    }
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    /// Its colour.
    pub ink: Ink,
    /// Its width in pixels.
    pub width: f64,
    /// 1 hides what is below, 0 is invisible.
    pub opacity: f64,
    /// Drawn and left out, in pixels; none for a solid line.
    pub dash: Option<[f64; 2]>,
}

impl Stroke {
    /// A solid line.
    pub fn new(ink: Ink, width: f64) -> Self {
        Stroke {
            ink,
            width,
            opacity: 1.0,
            dash: None,
        }
    }

    /// The same, partly transparent.
    #[must_use]
    pub fn opacity(self, opacity: f64) -> Self {
        Stroke { opacity, ..self }
    }

    /// The same, dashed.
    #[must_use]
    pub fn dashed(self, drawn: f64, left_out: f64) -> Self {
        Stroke {
            dash: Some([drawn, left_out]),
            ..self
        }
    }

    /// The line of the k-th series: its colour, dashed from the fifth on.
    pub fn series(k: usize, width: f64) -> Self {
        let plain = Stroke::new(Ink::Series(k), width);
        match k {
            0..4 => plain,
            4 => plain.dashed(6.0, 2.0),
            5 => plain.dashed(2.0, 2.0),
            _ => plain.dashed(8.0, 3.0),
        }
    }
}

/// How an area is filled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fill {
    /// Its colour.
    pub ink: Ink,
    /// 1 hides what is below.
    pub opacity: f64,
}

/// Lines, areas or dots.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Points of each part; a part of one point is a dot as wide as the stroke.
    pub parts: Vec<Vec<Point>>,
    /// Whether each part ends where it began.
    pub closed: bool,
    /// The inside.
    pub fill: Option<Fill>,
    /// The line.
    pub stroke: Option<Stroke>,
    /// Attributes in SVG, for scripts of a page.
    pub data: Vec<(&'static str, String)>,
}

/// On which side of its place a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Its letters.
    pub text: String,
    /// Where its base line is.
    pub at: Point,
    /// Size in pixels.
    pub size: f64,
    /// Which side of `at`.
    pub align: Align,
    /// Weight.
    pub weight: Weight,
    /// Colour.
    pub ink: Ink,
    /// Whether it reads upwards, turned by a quarter about `at`.
    pub upwards: bool,
}

impl Text {
    /// Plain text that begins at `at`.
    pub fn new(text: impl Into<String>, at: Point, size: f64) -> Self {
        Text {
            text: text.into(),
            at,
            size,
            align: Align::Start,
            weight: Weight::Regular,
            ink: Ink::Muted,
            upwards: false,
        }
    }

    /// The same, aligned otherwise.
    #[must_use]
    pub fn align(self, align: Align) -> Self {
        Text { align, ..self }
    }

    /// The same in another colour.
    #[must_use]
    pub fn ink(self, ink: Ink) -> Self {
        Text { ink, ..self }
    }

    /// The same in bold.
    #[must_use]
    pub fn bold(self) -> Self {
        Text {
            weight: Weight::Bold,
            ..self
        }
    }

    /// The same, reading upwards.
    #[must_use]
    pub fn upwards(self) -> Self {
        Text {
            upwards: true,
            ..self
        }
    }

    /// Width in pixels.
    pub fn width(&self) -> f64 {
        text_width(&self.text, self.size, self.weight)
    }

    /// Where its letters begin along its own direction, relative to `at`.
    pub(crate) fn offset(&self) -> f64 {
        match self.align {
            Align::Start => 0.0,
            Align::Middle => -self.width() / 2.0,
            Align::End => -self.width(),
        }
    }

    /// The rectangle that holds its letters.
    pub fn bounds(&self) -> Rect {
        let (width, start) = (self.width(), self.offset());
        let (ascent, descent) = (0.76 * self.size, 0.22 * self.size);
        if self.upwards {
            return Rect {
                x: self.at[0] - ascent,
                y: self.at[1] - start - width,
                width: ascent + descent,
                height: width,
            };
        }
        Rect {
            x: self.at[0] + start,
            y: self.at[1] - ascent,
            width,
            height: ascent + descent,
        }
    }
}

/// What belongs together, up to [`Item::Close`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Nothing is drawn outside of it.
    pub clip: Option<Rect>,
    /// Attributes in SVG, for scripts of a page.
    pub data: Vec<(&'static str, String)>,
}

/// A part of a scene.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Lines, areas or dots.
    Path(Path),
    /// A line of text.
    Text(Text),
    /// What follows belongs together.
    Open(Group),
    /// The end of the last group.
    Close,
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
    /// What the figure shows, for those who cannot see it.
    pub title: String,
    /// Shapes, the lowest first.
    pub items: Vec<Item>,
}

impl Scene {
    /// An empty figure.
    pub fn new(width: f64, height: f64, title: impl Into<String>) -> Self {
        Scene {
            width,
            height,
            title: title.into(),
            items: Vec::new(),
        }
    }

    /// Adds lines.
    pub fn lines(&mut self, parts: Vec<Vec<Point>>, stroke: Stroke) {
        self.path(parts, false, None, Some(stroke));
    }

    /// Adds one straight line.
    pub fn line(&mut self, from: Point, to: Point, stroke: Stroke) {
        self.lines(vec![vec![from, to]], stroke);
    }

    /// Adds filled areas.
    pub fn areas(&mut self, parts: Vec<Vec<Point>>, ink: Ink, opacity: f64) {
        self.path(parts, true, Some(Fill { ink, opacity }), None);
    }

    /// Adds a filled rectangle.
    pub fn rect(&mut self, r: Rect, ink: Ink, opacity: f64) {
        let corners = vec![
            [r.x, r.y],
            [r.right(), r.y],
            [r.right(), r.bottom()],
            [r.x, r.bottom()],
        ];
        self.areas(vec![corners], ink, opacity);
    }

    /// Adds dots.
    pub fn dots(&mut self, centres: &[Point], diameter: f64, ink: Ink, opacity: f64) {
        let parts = centres.iter().map(|&p| vec![p]).collect();
        self.lines(parts, Stroke::new(ink, diameter).opacity(opacity));
    }

    /// Adds text.
    pub fn text(&mut self, text: Text) {
        if !text.text.is_empty() {
            self.items.push(Item::Text(text));
        }
    }

    /// Begins a group.
    pub fn open(&mut self, group: Group) {
        self.items.push(Item::Open(group));
    }

    /// Ends the last group.
    pub fn close(&mut self) {
        self.items.push(Item::Close);
    }

    /// Adds a path; parts that hold a coordinate that is not finite are cut there.
    pub fn path(
        &mut self,
        parts: Vec<Vec<Point>>,
        closed: bool,
        fill: Option<Fill>,
        stroke: Option<Stroke>,
    ) {
        let finite = |p: &Point| p[0].is_finite() && p[1].is_finite();
        let clean = parts.iter().all(|part| part.iter().all(finite));
        let parts: Vec<Vec<Point>> = match clean {
            true => parts,
            false => parts
                .iter()
                .flat_map(|part| part.split(|p| !finite(p)).map(<[Point]>::to_vec))
                .collect(),
        };
        let parts: Vec<Vec<Point>> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        if !parts.is_empty() {
            self.items.push(Item::Path(Path {
                parts,
                closed,
                fill,
                stroke,
                data: Vec::new(),
            }));
        }
    }

    /// Puts attributes on the last path.
    pub fn tag(&mut self, data: &[(&'static str, String)]) {
        if let Some(Item::Path(path)) = self.items.last_mut() {
            path.data = data.to_vec();
        }
    }

    /// Puts `other` with its upper left corner at `at`.
    pub fn place(&mut self, other: Scene, at: Point) {
        let shift = |p: &mut Point| *p = [p[0] + at[0], p[1] + at[1]];
        for mut item in other.items {
            match &mut item {
                Item::Path(path) => path.parts.iter_mut().flatten().for_each(shift),
                Item::Text(text) => shift(&mut text.at),
                Item::Open(group) => {
                    if let Some(clip) = &mut group.clip {
                        clip.x += at[0];
                        clip.y += at[1];
                    }
                }
                Item::Close => {}
            }
            self.items.push(item);
        }
    }

    /// Every text of the figure.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.items.iter().filter_map(|item| match item {
            Item::Text(text) => Some(text),
            _ => None,
        })
    }
}
