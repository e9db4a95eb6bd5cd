//! Where maps lie: the places of cells, the names of axes, and the coast.

use super::coast::{coast, coastlines};
use super::curved::Curved;
use fitzroy_report::figure::{Heat, Tint};

/// Where maps lie.
pub struct Ground {
    x: Vec<f64>,
    y: Vec<f64>,
    names: [&'static str; 2],
    lines: Vec<Vec<[f64; 2]>>,
}

impl Ground {
    /// Of a grid of latitudes and longitudes; or with `curved` rows and columns, of the latitudes and
    /// longitudes of all its points, row by row.
    pub fn new(lat: &[f64], lon: &[f64], curved: Option<(usize, usize)>) -> Self {
        let Some((rows, columns)) = curved else {
            let ends = |places: &[f64]| Some([*places.first()?, *places.last()?]);
            let both = ends(lon).zip(ends(lat));
            return Ground {
                x: lon.to_vec(),
                y: lat.to_vec(),
                names: ["longitude (°E)", "latitude (°N)"],
                lines: both.map_or(Vec::new(), |(lon, lat)| coast(lon, lat)),
            };
        };
        let count = |n: usize| (0..n).map(|k| k as f64).collect();
        let laid = Curved::new(lat, lon, (rows, columns));
        Ground {
            x: count(columns),
            y: count(rows),
            names: ["column of the grid", "row of the grid"],
            lines: laid.map_or(Vec::new(), |grid| grid.lines(&coastlines())),
        }
    }

    /// A map of `values`, row by row.
    pub(super) fn map(&self, title: String, units: &str, values: Vec<f64>, tint: Tint) -> Heat {
        Heat {
            title,
            units: units.into(),
            x: self.x.clone(),
            y: self.y.clone(),
            names: self.names.map(String::from),
            values,
            tint,
            lines: self.lines.clone(),
        }
    }
}
