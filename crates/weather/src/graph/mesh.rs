//! Grid, mesh and grid again: the limited-area graph with a multiscale mesh.
//!
//! Sources: Lam et al., "Learning skillful medium-range global weather forecasting", Science
//! 2023; Oskarsson et al., "Graph-based neural weather prediction for limited area modeling",
//! 2023.

use super::{Place, Points, nearest, offset_km, tangent_set};
use fitzroy_device::nn::EdgeSet;

/// Grid cells from one mesh node to the next.
const SPACING: usize = 3;
/// Radius of grid-to-mesh edges, in mesh spacings.
const REACH: f64 = 0.67;
/// Mesh nodes that a grid node receives from.
const BACK: usize = 4;

/// A mesh over a grid, with its three sets of edges. Node set 0 is the grid, 1 the mesh.
#[derive(Clone, Debug)]
pub struct Mesh {
    /// Mesh nodes.
    pub nodes: Vec<Place>,
    /// Grid to mesh.
    pub up: EdgeSet,
    /// Within the mesh, all scales.
    pub within: EdgeSet,
    /// Mesh to grid.
    pub down: EdgeSet,
}

/// Rows or columns of the mesh: every third, centred.
fn lines(n: usize) -> Vec<usize> {
    let count = n.div_ceil(SPACING).max(2).min(n);
    let span = (count - 1) * SPACING;
    let first = n.saturating_sub(1).saturating_sub(span.min(n - 1)) / 2;
    (0..count)
        .map(|k| (first + k * SPACING).min(n - 1))
        .collect()
}

/// Builds the mesh over a grid.
pub fn mesh(points: &Points) -> Mesh {
    let (grid, (n_rows, n_columns)) = (&points.places, points.shape);
    let (rows, columns) = (lines(n_rows), lines(n_columns));
    let of_rows = rows
        .iter()
        .flat_map(|&r| columns.iter().map(move |&c| (r, c)));
    let crossings: Vec<(usize, usize)> = of_rows.collect();
    let nodes: Vec<Place> = crossings
        .iter()
        .map(|(r, c)| grid[r * n_columns + c])
        .collect();
    let distance = |from: Place, to: Place| {
        let (x, y) = offset_km(from, to);
        x * x + y * y
    };
    // The spacing along both axes counts as one, so that grids of any shape are covered evenly.
    let apart = |m: usize, g: usize| {
        let far = |a: usize, b: usize| a.abs_diff(b) as f64 / SPACING as f64;
        let (row, column) = crossings[m];
        libm::hypot(far(row, g / n_columns), far(column, g % n_columns))
    };

    let mut up = Vec::new();
    let mut reached = vec![false; grid.len()];
    for m in 0..nodes.len() {
        for g in 0..grid.len() {
            if apart(m, g) <= REACH {
                up.push((m as u32, g as u32));
                reached[g] = true;
            }
        }
    }
    for (g, &place) in grid.iter().enumerate().filter(|(g, _)| !reached[*g]) {
        let m = nearest(1, nodes.len(), |m| distance(nodes[m], place))[0];
        up.push((m, g as u32));
    }
    let mut within = Vec::new();
    let mut stride = 1;
    while stride < rows.len().max(columns.len()) {
        neighbours(rows.len(), columns.len(), stride, &mut within);
        stride *= 3;
    }
    let mut down = Vec::new();
    for (g, &place) in grid.iter().enumerate() {
        for m in nearest(BACK, nodes.len(), |m| distance(nodes[m], place)) {
            down.push((g as u32, m));
        }
    }
    Mesh {
        up: tangent_set("grid_to_mesh", (0, 1), up, grid, &nodes),
        within: tangent_set("mesh", (1, 1), within, &nodes, &nodes),
        down: tangent_set("mesh_to_grid", (1, 0), down, &nodes, grid),
        nodes,
    }
}

/// The grid alone: every point receives from its eight neighbours. Node set 0 sends and receives.
pub fn grid_set(points: &Points) -> EdgeSet {
    let (grid, (rows, columns)) = (&points.places, points.shape);
    let mut pairs = Vec::new();
    neighbours(rows, columns, 1, &mut pairs);
    tangent_set("grid", (0, 0), pairs, grid, grid)
}

/// Edges to the eight neighbours, of every `stride`-th node.
fn neighbours(rows: usize, columns: usize, stride: usize, pairs: &mut Vec<(u32, u32)>) {
    let number = |r: i64, c: i64| {
        let inside = r >= 0 && c >= 0 && (r as usize) < rows && (c as usize) < columns;
        inside.then_some((r as usize * columns + c as usize) as u32)
    };
    let s = stride as i64;
    for r in (0..rows as i64).step_by(stride) {
        for c in (0..columns as i64).step_by(stride) {
            let Some(receiver) = number(r, c) else {
                continue;
            };
            for (dr, dc) in [
                (-s, -s),
                (-s, 0),
                (-s, s),
                (0, -s),
                (0, s),
                (s, -s),
                (s, 0),
                (s, s),
            ] {
                if let Some(sender) = number(r + dr, c + dc) {
                    pairs.push((receiver, sender));
                }
            }
        }
    }
}
