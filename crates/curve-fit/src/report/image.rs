//! Surfaces: data, curve and residuals of two predictors as images of one scale.

use super::shown::Shown;
use fitzroy_report::draw::Scene;
use fitzroy_report::figure::{Heat, Style, Tint, heat_figure, tint_of};

/// Cells along an axis of rows that stand on no grid, at most.
const CELLS: usize = 40;
/// Rows that a cell should hold, of those.
const IN_A_CELL: f64 = 4.0;
/// Share of a grid's places that have a row, at least; the others stay empty.
const FILLED: f64 = 0.5;
/// Rows up to which they are shown so.
pub(super) const MOST: usize = 1 << 20;
const HEIGHT: f64 = 300.0;

/// Means over cells of two predictors.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Names of the two predictors.
    pub names: [String; 2],
    /// Middles of cells, ascending.
    pub x: Vec<f64>,
    /// Middles of cells, ascending.
    pub y: Vec<f64>,
    /// The response, row by row from the lowest; NaN where there is no row.
    pub data: Vec<f64>,
    /// The curve.
    pub curve: Vec<f64>,
    /// (y − f)/σ.
    pub residuals: Vec<f64>,
}

impl Image {
    /// The image of rows `[x, y, response, curve, residual]`; none where a predictor does not vary.
    pub(super) fn new(names: [String; 2], rows: &[[f64; 5]]) -> Option<Image> {
        let [x, y] = [0, 1].map(|k| cells(rows.iter().map(|row| row[k]), rows.len()));
        let (x, y) = (x?, y?);
        let grid = x.exact && y.exact && {
            let places = (x.n * y.n) as f64;
            rows.len() as f64 >= FILLED * places
        };
        let (x, y) = match grid {
            true => (x, y),
            false => (x.coarse(rows.len()), y.coarse(rows.len())),
        };
        let n = x.n * y.n;
        let (mut sums, mut counts) = ([vec![0.0; n], vec![0.0; n], vec![0.0; n]], vec![0.0; n]);
        for row in rows.iter().filter(|row| row.iter().all(|v| v.is_finite())) {
            let at = y.place(row[1]) * x.n + x.place(row[0]);
            counts[at] += 1.0;
            for (sum, value) in sums.iter_mut().zip(&row[2..]) {
                sum[at] += value;
            }
        }
        let mean = |sum: Vec<f64>| sum.iter().zip(&counts).map(|(s, n)| s / n).collect();
        let [data, curve, residuals] = sums.map(mean);
        Some(Image {
            names,
            x: x.middles(),
            y: y.middles(),
            data,
            curve,
            residuals,
        })
    }
}

/// Equal cells along an axis.
struct Cells {
    first: f64,
    step: f64,
    n: usize,
    /// Whether every row stands in the middle of one.
    exact: bool,
}

impl Cells {
    fn place(&self, value: f64) -> usize {
        let at = ((value - self.first) / self.step).round();
        (at.max(0.0) as usize).min(self.n - 1)
    }

    fn middles(&self) -> Vec<f64> {
        let place = |k: usize| self.first + self.step * k as f64;
        (0..self.n).map(place).collect()
    }

    /// The same range in cells that hold some rows each.
    fn coarse(self, n_rows: usize) -> Cells {
        let wanted = (n_rows as f64 / IN_A_CELL).sqrt() as usize;
        let n = wanted.clamp(3, CELLS).min(self.n.max(3));
        let range = self.step * (self.n - 1) as f64;
        let step = range / n as f64;
        Cells {
            first: self.first + 0.5 * step,
            step,
            n,
            exact: false,
        }
    }
}

/// Cells by the distinct values, if these stand at equal distances; by many equal ones else.
fn cells(values: impl Iterator<Item = f64>, n_rows: usize) -> Option<Cells> {
    let mut all: Vec<f64> = values.filter(|v| v.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let (&first, &last) = (all.first()?, all.last()?);
    if last <= first {
        return None;
    }
    let n = all.len();
    let step = (last - first) / (n - 1) as f64;
    let near = |(k, v): (usize, &f64)| (v - first - step * k as f64).abs() < 0.01 * step;
    let exact = n * 2 <= n_rows && all.iter().enumerate().all(near);
    Some(Cells {
        first,
        step,
        n,
        exact,
    })
}

/// Data, curve and residuals beside one another: the first two with one scale, the third around 0. None unless
/// two predictors vary.
pub fn image_figure(shown: &Shown, style: &Style) -> Option<Scene> {
    let image = shown.image.as_ref()?;
    let both = image.data.iter().chain(&image.curve).copied();
    let scale = tint_of(both, false);
    let off = tint_of(image.residuals.iter().copied(), true);
    let unit = if shown.weighted { "σ" } else { "" };
    let heat = |title: &str, values: &[f64], tint: Tint, units: &str| Heat {
        title: title.into(),
        units: units.into(),
        x: image.x.clone(),
        y: image.y.clone(),
        names: image.names.clone(),
        values: values.to_vec(),
        tint,
        lines: Vec::new(),
    };
    let fields = [
        heat("data", &image.data, scale, ""),
        heat("curve, same scale", &image.curve, scale, ""),
        heat("data − curve", &image.residuals, off, unit),
    ];
    Some(heat_figure(&shown.title, &fields, 3, HEIGHT, style))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> [String; 2] {
        ["x".into(), "y".into()]
    }

    #[test]
    fn a_grid_keeps_its_pixels_whatever_their_order() {
        let mut rows = Vec::new();
        for k in [7, 3, 11, 0, 5, 1, 10, 2, 9, 4, 8, 6] {
            let (x, y) = (0.1 * (k % 4) as f64, 2.0 + (k / 4) as f64);
            rows.push([x, y, k as f64, 100.0 + k as f64, -(k as f64)]);
        }
        let image = Image::new(names(), &rows).expect("a grid");
        assert_eq!((image.x.len(), image.y.len()), (4, 3));
        for k in 0..12 {
            let k = k as f64;
            let at = k as usize;
            assert_eq!(
                (image.data[at], image.curve[at], image.residuals[at]),
                (k, 100.0 + k, -k)
            );
        }
    }

    #[test]
    fn scattered_rows_are_means_and_lines_are_no_image() {
        let ripple = |k: usize, by: usize| ((k * by) % 1009) as f64 / 1009.0;
        let rows: Vec<[f64; 5]> = (0..800)
            .map(|k| [ripple(k, 617), ripple(k, 251), 3.0, 4.0, -1.0])
            .collect();
        let image = Image::new(names(), &rows).expect("scattered");
        assert!(image.x.len() <= CELLS && image.x.len() > 5);
        let known: Vec<&f64> = image.data.iter().filter(|v| v.is_finite()).collect();
        assert!(known.len() * 2 > image.data.len() && known.iter().all(|v| **v == 3.0));
        let line: Vec<[f64; 5]> = (0..9).map(|k| [1.0, k as f64, 0.0, 0.0, 0.0]).collect();
        assert!(Image::new(names(), &line).is_none());
    }
}
