//! Data coordinates on a rectangle of pixels.

use super::scene::{Point, Rect};

/// From numbers to pixels along one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Number at the first pixel.
    pub low: f64,
    /// Number at the last pixel.
    pub high: f64,
    /// First and last pixel.
    pub pixels: [f64; 2],
    /// Whether powers of ten are equally far apart.
    pub log: bool,
}

impl Scale {
    /// The pixel of a number; NaN for NaN, and for numbers not above 0 on a logarithmic scale.
    pub fn pixel(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.log10() - self.low.log10()) / (self.high.log10() - self.low.log10())
        } else {
            // Halves, so that the whole range of numbers may be spanned.
            (value / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0)
        };
        self.pixels[0] + share * (self.pixels[1] - self.pixels[0])
    }
}

/// A rectangle with a scale in each direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axes {
    /// Where data are drawn.
    pub rect: Rect,
    /// Left to right.
    pub x: Scale,
    /// Bottom to top.
    pub y: Scale,
}

impl Axes {
    /// The pixel of a pair of numbers.
    pub fn at(&self, x: f64, y: f64) -> Point {
        [self.x.pixel(x), self.y.pixel(y)]
    }

    /// Pixels of a curve.
    pub fn curve(&self, xs: &[f64], ys: &[f64]) -> Vec<Point> {
        let both = xs.iter().zip(ys);
        both.map(|(&x, &y)| self.at(x, y)).collect()
    }

    /// The outline of the area between two curves over the same `xs`.
    pub fn between(&self, xs: &[f64], low: &[f64], high: &[f64]) -> Vec<Point> {
        let mut outline = self.curve(xs, low);
        outline.extend(self.curve(xs, high).into_iter().rev());
        outline
    }

    /// A series of equally spaced values, x from `first` on in steps of `step`, reduced to the
    /// least and the greatest of each column of pixels where there are more than two to a column.
    pub fn series(&self, first: f64, step: f64, values: &[f64]) -> Vec<Point> {
        let columns = self.rect.width.ceil().max(1.0) as usize;
        let point = |i: usize| self.at(first + step * i as f64, values[i]);
        if values.len() <= 2 * columns {
            return (0..values.len()).map(point).collect();
        }
        crate::numeric::extremes(values, columns)
            .into_iter()
            .map(point)
            .collect()
    }
}

/// The smallest range that holds all finite values, widened by `margin` of itself on both sides;
/// a single value gets a range around it, nothing at all 0 to 1.
pub(crate) fn range_of(values: impl IntoIterator<Item = f64>, margin: f64) -> [f64; 2] {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for v in values {
        if v.is_finite() {
            low = low.min(v);
            high = high.max(v);
        }
    }
    if low > high {
        return [0.0, 1.0];
    }
    let far = 8e307;
    let (low, high) = (low.clamp(-far, far), high.clamp(-far, far));
    let size = low.abs().max(high.abs());
    let width = high / 2.0 - low / 2.0;
    if width <= size * 1e-14 {
        let around = if size > 0.0 { size * 0.1 } else { 1.0 };
        return [low - around, high + around];
    }
    let widened = [low - 2.0 * margin * width, high + 2.0 * margin * width];
    widened.map(|v: f64| v.clamp(-2.0 * far, 2.0 * far))
}
