//! Graphs over a region: who sends to whom, with positions as features.

mod flat;
mod mesh;
mod prune;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use flat::{Boxes, Flat, flat};
pub use mesh::{Mesh, grid_set, mesh};
pub use prune::{Pruned, prune};

use fitzroy_device::nn::EdgeSet;

/// A place in degrees: latitude, longitude.
pub type Place = (f64, f64);

/// Kilometres of a degree of latitude.
const DEGREE_KM: f64 = 111.195;

/// All points of a grid, row by row from the south-west.
pub fn places(lat: &[f64], lon: &[f64]) -> Vec<Place> {
    let row = |&phi: &f64| lon.iter().map(move |&lambda| (phi, lambda));
    lat.iter().flat_map(row).collect()
}

/// Points of a grid that lie in rows and columns, on latitudes and longitudes or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    /// Where they are, row by row.
    pub places: Vec<Place>,
    /// Rows and columns.
    pub shape: (usize, usize),
}

impl Points {
    /// Those of a grid of latitudes and longitudes, from the south-west.
    pub fn regular(lat: &[f64], lon: &[f64]) -> Self {
        Points {
            places: places(lat, lon),
            shape: (lat.len(), lon.len()),
        }
    }

    /// The share of the area of the earth that each stands for, but for a factor, by the distances
    /// of its neighbours.
    pub fn areas(&self) -> Vec<f64> {
        let (rows, columns) = self.shape;
        let across = |k: usize, n: usize| (k.saturating_sub(1), (k + 1).min(n - 1));
        let side = |from: usize, to: usize, steps: usize| {
            let (x, y) = offset_km(self.places[from], self.places[to]);
            let steps = steps.max(1) as f64;
            (x / steps, y / steps)
        };
        let area = |node: usize| {
            let (row, column) = (node / columns, node % columns);
            let ((south, north), (west, east)) = (across(row, rows), across(column, columns));
            let up = side(
                north * columns + column,
                south * columns + column,
                north - south,
            );
            let along = side(row * columns + east, row * columns + west, east - west);
            (up.1 * along.0 - up.0 * along.1).abs()
        };
        (0..self.places.len()).map(area).collect()
    }
}

/// Kilometres to the east and the north from `to` to `from`, on the plane that touches between.
fn offset_km(from: Place, to: Place) -> (f64, f64) {
    let middle = 0.5 * (from.0 + to.0);
    let east = (from.1 - to.1) * libm::cos(middle.to_radians());
    (east * DEGREE_KM, (from.0 - to.0) * DEGREE_KM)
}

/// The `k` senders nearest to a receiver, by squared degrees or kilometres; the lower number
/// where two are as near.
fn nearest(k: usize, n_senders: usize, distance: impl Fn(usize) -> f64) -> Vec<u32> {
    let mut all: Vec<(f64, u32)> = (0..n_senders)
        .map(|s| (distance(s), s as u32))
        .filter(|d| d.0.is_finite())
        .collect();
    let order = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    let k = k.min(all.len());
    if k > 0 && k < all.len() {
        all.select_nth_unstable_by(k - 1, order);
        all.truncate(k);
    }
    let mut chosen: Vec<u32> = all.into_iter().map(|(_, s)| s).collect();
    chosen.sort_unstable();
    chosen
}

/// A set of edges from (receiver, sender) pairs; features by `feature`.
fn edge_set(
    name: &str,
    (from, to): (usize, usize),
    mut pairs: Vec<(u32, u32)>,
    feature: impl Fn(u32, u32) -> [f64; 3],
) -> EdgeSet {
    pairs.sort_unstable();
    pairs.dedup();
    EdgeSet {
        name: name.into(),
        from,
        to,
        features: pairs.iter().flat_map(|&(r, s)| feature(r, s)).collect(),
        receivers: pairs.iter().map(|p| p.0).collect(),
        senders: pairs.iter().map(|p| p.1).collect(),
        channels: 3,
    }
}

/// East, north and distance from the receiver to the sender, divided by the longest edge.
fn tangent_set(
    name: &str,
    sets: (usize, usize),
    pairs: Vec<(u32, u32)>,
    senders: &[Place],
    receivers: &[Place],
) -> EdgeSet {
    let length = |&(r, s): &(u32, u32)| {
        let (x, y) = offset_km(senders[s as usize], receivers[r as usize]);
        libm::hypot(x, y)
    };
    let longest = pairs.iter().map(length).fold(f64::MIN_POSITIVE, f64::max);
    edge_set(name, sets, pairs, |r, s| {
        let (x, y) = offset_km(senders[s as usize], receivers[r as usize]);
        [x / longest, y / longest, libm::hypot(x, y) / longest]
    })
}
