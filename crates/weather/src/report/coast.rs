//! Coastlines on maps: Natural Earth's, thinned (`coast/README.md`).

/// Lines of points; the format stands in `coast/coastline.py`.
static COASTLINE: &[u8] = include_bytes!("coast/coastline.bin");

/// Units of the file in a degree.
const IN_A_DEGREE: f64 = 100.0;

/// A number of seven bits a byte, the lowest first, as far as there is one.
fn number(bytes: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let (mut value, mut shift) = (0, 0);
    for byte in bytes {
        value |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Some(value);
        }
        shift += 7;
    }
    None
}

/// A number whose lowest bit is its sign.
fn signed(bytes: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let n = number(bytes)?;
    Some((n >> 1) as i64 ^ -((n & 1) as i64))
}

/// The coastlines of the Earth: longitudes from -180 to 180 and latitudes.
pub(super) fn coastlines() -> Vec<Vec<[f64; 2]>> {
    let mut bytes = COASTLINE.iter().copied();
    let mut lines = Vec::new();
    while let Some(n) = number(&mut bytes) {
        let (mut x, mut y) = (0, 0);
        let points = (0..n).map_while(|_| {
            x += signed(&mut bytes)?;
            y += signed(&mut bytes)?;
            Some([x as f64 / IN_A_DEGREE, y as f64 / IN_A_DEGREE])
        });
        lines.push(points.collect());
    }
    lines
}

/// The coastlines that may cross a map between two longitudes, which may lie in any turn, and two
/// latitudes.
pub(super) fn coast(lon: [f64; 2], lat: [f64; 2]) -> Vec<Vec<[f64; 2]>> {
    let all = coastlines();
    let turns = |k: i32| 360.0 * f64::from(k);
    let moved = (-2..=2).flat_map(|k| {
        let by = turns(k);
        all.iter()
            .map(move |line| -> Vec<[f64; 2]> { line.iter().map(|[x, y]| [x + by, *y]).collect() })
    });
    let meets = |line: &Vec<[f64; 2]>| {
        let reach = |axis: usize| {
            let start = (f64::INFINITY, f64::NEG_INFINITY);
            let ends = line.iter().map(|point| point[axis]);
            ends.fold(start, |(low, high), v| (low.min(v), high.max(v)))
        };
        let (x, y) = (reach(0), reach(1));
        x.0 <= lon[1] && x.1 >= lon[0] && y.0 <= lat[1] && y.1 >= lat[0]
    };
    moved.filter(meets).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a closed line holds a point: a ray to the east crosses it an odd number of times.
    fn holds(line: &[[f64; 2]], [x, y]: [f64; 2]) -> bool {
        let edges = line.windows(2).filter(|e| (e[0][1] > y) != (e[1][1] > y));
        let right = edges.filter(|e| {
            let share = (y - e[0][1]) / (e[1][1] - e[0][1]);
            e[0][0] + share * (e[1][0] - e[0][0]) > x
        });
        right.count() % 2 == 1
    }

    /// Places that everybody knows lie on land or at sea.
    #[test]
    fn land_is_inside_of_closed_coastlines_and_sea_is_not() {
        let closed: Vec<Vec<[f64; 2]>> = coastlines()
            .into_iter()
            .filter(|line| line.first() == line.last())
            .collect();
        let inside = |place| closed.iter().any(|line| holds(line, place));
        for (name, place, land) in [
            ("Iceland", [-18.5, 64.8], true),
            ("Madagascar", [46.5, -19.5], true),
            ("Tasmania", [146.6, -42.0], true),
            ("Sicily", [14.2, 37.5], true),
            ("the Atlantic", [-35.0, 30.0], false),
            ("the North Sea", [3.0, 56.0], false),
            ("the Tasman Sea", [160.0, -38.0], false),
        ] {
            assert_eq!(inside(place), land, "{name}");
        }
        assert!(coastlines().len() > 1000);
        let points = coastlines().into_iter().flatten();
        for [x, y] in points {
            assert!(x.abs() <= 180.0 && y.abs() <= 90.0, "{x} {y}");
        }
    }

    /// A map in 0 to 360 degrees has the coasts of one in -180 to 180, a turn further.
    #[test]
    fn coasts_are_found_in_every_turn() {
        let here = coast([-25.0, -13.0], [62.0, 68.0]);
        let turned = coast([335.0, 347.0], [62.0, 68.0]);
        assert!(!here.is_empty() && here.len() == turned.len());
        for (a, b) in here.iter().flatten().zip(turned.iter().flatten()) {
            assert!((a[0] + 360.0 - b[0]).abs() < 1e-9 && a[1] == b[1]);
        }
        // Nothing lies in the middle of the Atlantic, whatever lines reach around it.
        let sea = coast([-40.0, -30.0], [25.0, 35.0]);
        let there = |[x, y]: &[f64; 2]| (-40.0..-30.0).contains(x) && (25.0..35.0).contains(y);
        assert!(!sea.iter().flatten().any(there));
    }
}
