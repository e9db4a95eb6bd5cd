//! Places on projected and curvilinear grids: columns and rows of longitudes and latitudes.

type Vector = [f64; 3];

/// Cosine of the angle from the middle of a grid up to which it is laid out flat: 80 degrees.
const REACH: f64 = 0.174;
/// Cells beyond the edge of a grid in which places are looked for, so that lines end at its frame.
const MARGIN: f64 = 1.0;
/// Steps of a search for a place.
const STEPS: usize = 60;

/// A grid, laid out flat around its middle (a stereographic projection).
pub(super) struct Curved {
    rows: usize,
    columns: usize,
    /// Its middle, and the directions across and up.
    frame: [Vector; 3],
    /// Its points, row by row.
    points: Vec<[f64; 2]>,
    /// Least and greatest place across and up, two cells wider.
    bounds: [[f64; 2]; 2],
    /// About the length of a cell.
    cell: f64,
}

/// The direction from the middle of the Earth to a place.
fn direction([lon, lat]: [f64; 2]) -> Vector {
    let (sin_phi, cos_phi) = libm::sincos(lat.to_radians());
    let (sin_lambda, cos_lambda) = libm::sincos(lon.to_radians());
    [cos_phi * cos_lambda, cos_phi * sin_lambda, sin_phi]
}

fn dot(a: Vector, b: Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn unit(v: Vector) -> Option<Vector> {
    let length = dot(v, v).sqrt();
    (length > 1e-9).then(|| v.map(|x| x / length))
}

fn cross(a: Vector, b: Vector) -> Vector {
    let part = |i: usize, j: usize| a[i] * b[j] - a[j] * b[i];
    [part(1, 2), part(2, 0), part(0, 1)]
}

impl Curved {
    /// The grid of points with these latitudes and longitudes, row by row; none of one that is a
    /// line, or so wide that it cannot be laid out flat.
    pub(super) fn new(lat: &[f64], lon: &[f64], (rows, columns): (usize, usize)) -> Option<Self> {
        if rows < 2 || columns < 2 {
            return None;
        }
        let all: Vec<Vector> = (lon.iter().zip(lat))
            .map(|(lon, lat)| direction([*lon, *lat]))
            .collect();
        let sum = |axis: usize| all.iter().map(|v| v[axis]).sum();
        let middle = unit([sum(0), sum(1), sum(2)])?;
        let axis = match middle[2].abs() < 0.9 {
            true => [0.0, 0.0, 1.0],
            false => [1.0, 0.0, 0.0],
        };
        let across = unit(cross(axis, middle))?;
        let mut grid = Curved {
            rows,
            columns,
            frame: [middle, across, cross(middle, across)],
            points: Vec::new(),
            bounds: [[f64::INFINITY, f64::NEG_INFINITY]; 2],
            cell: 0.0,
        };
        grid.points = all
            .into_iter()
            .map(|v| grid.flat(v))
            .collect::<Option<_>>()?;
        for point in &grid.points {
            for (bounds, x) in grid.bounds.iter_mut().zip(point) {
                *bounds = [bounds[0].min(*x), bounds[1].max(*x)];
            }
        }
        let [width, height] = grid.bounds.map(|[low, high]| high - low);
        grid.cell = (width * height / ((rows - 1) * (columns - 1)) as f64).sqrt();
        for bounds in &mut grid.bounds {
            *bounds = [bounds[0] - 2.0 * grid.cell, bounds[1] + 2.0 * grid.cell];
        }
        Some(grid)
    }

    /// Where a direction lies on the plane, if it is near enough.
    fn flat(&self, v: Vector) -> Option<[f64; 2]> {
        let [middle, across, up] = self.frame;
        let high = dot(v, middle);
        let scale = 2.0 / (1.0 + high);
        (high > REACH).then(|| [scale * dot(v, across), scale * dot(v, up)])
    }

    /// Whether a point of the plane lies on the grid or near it.
    fn is_near(&self, point: [f64; 2]) -> bool {
        let pairs = point.iter().zip(&self.bounds);
        pairs
            .into_iter()
            .all(|(x, [low, high])| (*low..=*high).contains(x))
    }

    /// The plane at a column and a row, and how it changes with either: straight between the four
    /// points around, and on from them outside.
    fn at(&self, [u, v]: [f64; 2]) -> [[f64; 2]; 3] {
        let first = |x: f64, n: usize| (x.max(0.0) as usize).min(n - 2);
        let (i, j) = (first(u, self.columns), first(v, self.rows));
        let (a, b) = (u - i as f64, v - j as f64);
        let corner = |di: usize, dj: usize| self.points[(j + dj) * self.columns + i + di];
        let corners = [corner(0, 0), corner(1, 0), corner(0, 1), corner(1, 1)];
        let mix = |weights: [f64; 4]| {
            [0, 1].map(|axis| {
                let pairs = weights.iter().zip(&corners);
                pairs.map(|(w, corner)| w * corner[axis]).sum::<f64>()
            })
        };
        [
            mix([(1.0 - a) * (1.0 - b), a * (1.0 - b), (1.0 - a) * b, a * b]),
            mix([b - 1.0, 1.0 - b, -b, b]),
            mix([a - 1.0, -a, 1.0 - a, a]),
        ]
    }

    /// Column and row of a point of the plane, by Newton's steps from a guess.
    fn search(&self, point: [f64; 2], mut place: [f64; 2]) -> Option<[f64; 2]> {
        let most = self.columns.max(self.rows) as f64 / 4.0;
        for _ in 0..STEPS {
            let [own, by_u, by_v] = self.at(place);
            let [x, y] = [point[0] - own[0], point[1] - own[1]];
            let area = by_u[0] * by_v[1] - by_u[1] * by_v[0];
            let step = [
                (x * by_v[1] - y * by_v[0]) / area,
                (y * by_u[0] - x * by_u[1]) / area,
            ];
            if !step.iter().all(|x| x.is_finite()) {
                return None;
            }
            place = [0, 1].map(|k| place[k] + step[k].clamp(-most, most));
            if step.iter().all(|x| x.abs() < 1e-6) {
                return Some(place);
            }
        }
        None
    }

    /// Column and row of the nearest point of the grid.
    fn nearest(&self, point: [f64; 2]) -> [f64; 2] {
        let apart = |p: &[f64; 2]| (p[0] - point[0]).powi(2) + (p[1] - point[1]).powi(2);
        let all = self.points.iter().enumerate();
        let best = all.min_by(|a, b| apart(a.1).total_cmp(&apart(b.1)));
        let at = best.map_or(0, |(at, _)| at);
        [(at % self.columns) as f64, (at / self.columns) as f64]
    }

    /// Column and row of a point of the plane on the grid, or not far beyond its edge; `guess` is
    /// where a neighbour of it lies.
    fn locate(&self, point: [f64; 2], guess: Option<[f64; 2]>) -> Option<[f64; 2]> {
        let inside = |place: &[f64; 2]| {
            let ends = [self.columns, self.rows].map(|n| (n - 1) as f64 + MARGIN);
            (-MARGIN..=ends[0]).contains(&place[0]) && (-MARGIN..=ends[1]).contains(&place[1])
        };
        let near = guess.and_then(|guess| self.search(point, guess));
        let found = near.filter(inside);
        let anew = || self.search(point, self.nearest(point)).filter(inside);
        found.or_else(anew)
    }

    /// Column and row of a place, where it lies on the grid.
    pub(super) fn place(&self, lon: f64, lat: f64, guess: Option<[f64; 2]>) -> Option<[f64; 2]> {
        let point = self.flat(direction([lon, lat]))?;
        let near = self.is_near(point);
        near.then(|| self.locate(point, guess)).flatten()
    }

    /// What of lines of longitudes and latitudes lies on the grid, as columns and rows.
    pub(super) fn lines(&self, all: &[Vec<[f64; 2]>]) -> Vec<Vec<[f64; 2]>> {
        let mut out: Vec<Vec<[f64; 2]>> = Vec::new();
        for line in all {
            let mut open: Vec<[f64; 2]> = Vec::new();
            for pair in line.windows(2) {
                for place in self.along([pair[0], pair[1]], open.last().copied()) {
                    match place {
                        Some(place) => open.push(place),
                        None => out.push(std::mem::take(&mut open)),
                    }
                }
            }
            out.push(open);
        }
        out.retain(|line| line.len() > 1);
        out
    }

    /// Places along a piece of a line, less than half a cell apart, none where it leaves the grid;
    /// its first point where nothing goes before.
    fn along(&self, [a, b]: [[f64; 2]; 2], before: Option<[f64; 2]>) -> Vec<Option<[f64; 2]>> {
        let ends = [a, b].map(|end| self.flat(direction(end)));
        let near = ends.iter().flatten().any(|end| self.is_near(*end));
        // The edges of a map of the world are no coast.
        let across = (b[0] - a[0]).abs() > 180.0;
        let [Some(from), Some(to)] = ends else {
            return vec![None];
        };
        if !near || across {
            return vec![None];
        }
        let length = (to[0] - from[0]).hypot(to[1] - from[1]);
        let n = (2.0 * length / self.cell).ceil().max(1.0) as usize;
        let mut guess = before;
        let first = usize::from(before.is_some());
        let place = |k: usize| {
            let share = k as f64 / n as f64;
            let [lon, lat] = [0, 1].map(|axis| a[axis] + share * (b[axis] - a[axis]));
            let found = self.place(lon, lat, guess);
            guess = found;
            found
        };
        (first..=n).map(place).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::coast::coastlines;
    use super::*;
    use fitzroy::rng::{Purpose, Rng};

    /// A rotated pole: longitude and latitude of rotated ones, by turning the globe about an axis in
    /// the equator and then about its own.
    struct Rotated {
        pole: [f64; 2],
    }

    impl Rotated {
        fn turn(&self, [lon, lat]: [f64; 2], back: bool) -> [f64; 2] {
            let turn = (90.0 - self.pole[1]).to_radians();
            let (sin, cos) = turn.sin_cos();
            let sin = if back { -sin } else { sin };
            let east = if back { lon } else { lon - self.pole[0] };
            let [x, y, z] = direction([east, lat]);
            let [x, y, z] = [cos * x - sin * z, y, sin * x + cos * z];
            let lon = y.atan2(x).to_degrees() + if back { self.pole[0] } else { 0.0 };
            [lon, z.clamp(-1.0, 1.0).asin().to_degrees()]
        }
    }

    /// Grids about places of all kinds: the north pole, the date line, the equator.
    fn grids() -> Vec<(Rotated, [f64; 2], Curved)> {
        let poles = [[-170.0, 40.0], [10.0, 35.0], [0.0, 90.0], [162.0, 39.25]];
        let corners = [[-8.0, -12.0], [-60.0, 10.0], [165.0, -20.0], [-28.0, -23.0]];
        let pairs = poles.into_iter().zip(corners);
        let grid = |(pole, corner): ([f64; 2], [f64; 2])| {
            let rotated = Rotated { pole };
            let (rows, columns) = (40, 50);
            let nodes = (0..rows * columns).map(|k| {
                let [x, y] = [
                    corner[0] + (k % columns) as f64,
                    corner[1] + (k / columns) as f64,
                ];
                rotated.turn([x, y], true)
            });
            let (lon, lat): (Vec<f64>, Vec<f64>) = nodes.map(|[lon, lat]| (lon, lat)).unzip();
            let curved = Curved::new(&lat, &lon, (rows, columns)).expect("a grid");
            (rotated, corner, curved)
        };
        pairs.map(grid).collect()
    }

    /// Columns and rows of random places beside those that turning the globe gives.
    #[test]
    fn places_are_found_on_rotated_grids() {
        let mut rng = Rng::new(4, 1, 0, 0, Purpose::Data);
        for (rotated, corner, curved) in grids() {
            for guess in [None, Some([3.0, 30.0])] {
                for _ in 0..300 {
                    let expected = [49.0 * rng.uniform(), 39.0 * rng.uniform()];
                    let [x, y] = [0, 1].map(|k| corner[k] + expected[k]);
                    let [lon, lat] = rotated.turn([x, y], true);
                    let [u, v] = curved.place(lon, lat, guess).expect("it lies inside");
                    let off = (u - expected[0]).abs() + (v - expected[1]).abs();
                    assert!(off < 0.02, "{u} {v} {expected:?}");
                }
            }
            let far = rotated.turn([corner[0] - 5.0, corner[1] + 20.0], true);
            assert!(curved.place(far[0], far[1], None).is_none());
        }
        // A globe, and a line, are not laid out.
        let lon: Vec<f64> = (0..360).map(|k| (k % 36) as f64 * 10.0).collect();
        let lat: Vec<f64> = (0..360).map(|k| (k / 36) as f64 * 18.0 - 81.0).collect();
        assert!(Curved::new(&lat, &lon, (10, 36)).is_none());
        assert!(Curved::new(&[1.0, 2.0], &[1.0, 2.0], (1, 2)).is_none());
    }

    /// Every point of the coast that lies on a grid is on one of its lines, and no line is elsewhere.
    #[test]
    fn coasts_of_rotated_grids_are_those_of_the_globe() {
        let all = coastlines();
        for (rotated, corner, curved) in grids() {
            let lines = curved.lines(&all);
            let own: Vec<[f64; 2]> = lines.iter().flatten().copied().collect();
            let mut coast = Vec::new();
            for line in &all {
                for pair in line
                    .windows(2)
                    .filter(|p| (p[1][0] - p[0][0]).abs() < 180.0)
                {
                    for k in 0..=20 {
                        let share = f64::from(k) / 20.0;
                        let at = [0, 1].map(|i| pair[0][i] + share * (pair[1][i] - pair[0][i]));
                        let [x, y] = rotated.turn(at, false);
                        let [u, v] = [(x - corner[0]).rem_euclid(360.0), y - corner[1]];
                        if (-1.5..50.5).contains(&v) && !(51.0..=358.0).contains(&u) {
                            coast.push(([if u > 358.0 { u - 360.0 } else { u }, v], k));
                        }
                    }
                }
            }
            let apart = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
            let inside = |p: [f64; 2]| (0.0..=49.0).contains(&p[0]) && (0.0..=39.0).contains(&p[1]);
            let ends: Vec<[f64; 2]> = (coast.iter())
                .filter(|(p, k)| *k == 0 && inside(*p))
                .map(|(p, _)| *p)
                .collect();
            assert!(ends.len() > 20, "{}", ends.len());
            for end in ends.iter().step_by(7) {
                assert!(
                    own.iter().any(|p| apart(*p, *end) < 0.05),
                    "{end:?} is lost"
                );
            }
            for p in own.iter().step_by(11) {
                let near = coast.iter().any(|(c, _)| apart(*p, *c) < 0.3);
                assert!(near, "{p:?} is no coast");
            }
        }
    }
}
