//! Axes put in order: longitudes from west to east without a seam, and no holes in either.

use super::read::Region;
use fitzroy::{Error, Result};

/// A distance this much larger than those beside it is a hole.
const HOLE: f64 = 1.5;
/// Degrees by which 32-bit numbers may miss the edge of a region.
pub(super) const NEAR: f64 = 1e-4;

/// Where the largest hole of an ascending axis lies: the number of the point before it.
fn hole(values: &[f64]) -> Option<usize> {
    let steps: Vec<f64> = values.windows(2).map(|p| p[1] - p[0]).collect();
    if steps.len() < 2 {
        return None;
    }
    let beside = |k: usize| {
        let before = k.checked_sub(1).map(|k| steps[k]);
        before
            .into_iter()
            .chain(steps.get(k + 1).copied())
            .fold(0.0, f64::max)
    };
    let holes = (0..steps.len()).filter(|&k| steps[k] > HOLE * beside(k));
    holes.max_by(|&a, &b| steps[a].total_cmp(&steps[b]))
}

/// Refuses an axis with a hole, for points on its two sides would be taken for neighbours.
pub(super) fn whole(name: &str, values: &[f64]) -> Result<()> {
    let Some(k) = hole(values) else {
        return Ok(());
    };
    let (a, b) = (values[k], values[k + 1]);
    let usual = if k > 0 {
        values[k] - values[k - 1]
    } else {
        values[k + 2] - b
    };
    Err(Error::data(format!(
        "{name} has a hole between {a} and {b} ({} degrees where the points beside it are {} \
         apart): they would be taken for neighbours; cut the region on one side of it, or fill it",
        short(b - a),
        short(usual.abs())
    )))
}

fn short(x: f64) -> f64 {
    (x * 1e4).round() / 1e4
}

/// Longitudes from west to east, which point of the file each is, and a note where the file has
/// them otherwise: in 0 to 360 degrees on both sides of Greenwich, or in -180 to 180 on both sides
/// of the date line.
///
/// # Errors
/// They are not in order, repeat, or have a hole.
pub(super) fn eastward(given: &[f64]) -> Result<(Vec<f64>, Vec<usize>, Option<String>)> {
    let order: Vec<usize> = (0..given.len()).collect();
    let ascending = |v: &[f64]| v.windows(2).all(|p| p[0] < p[1]);
    let falls = given.windows(2).filter(|p| !(p[0] < p[1])).count();
    let seam = match falls {
        0 => hole(given),
        1 => given.windows(2).position(|p| p[0] >= p[1]),
        _ => None,
    };
    let finite = given.iter().all(|x| x.is_finite());
    if !finite || given.is_empty() || falls > 1 || falls == 1 && given.len() < 3 {
        return Err(Error::data("longitude must be in order, without repeats"));
    }
    let Some(seam) = seam else {
        return Ok((given.to_vec(), order, None));
    };
    // What lies behind the seam goes first, a turn to the west, or the rest a turn to the east.
    let mut turned: Vec<usize> = order[seam + 1..].to_vec();
    turned.extend(&order[..=seam]);
    if falls == 1 {
        turned = order;
    }
    let n_west = if falls == 1 {
        seam + 1
    } else {
        given.len() - seam - 1
    };
    let mut lon: Vec<f64> = turned.iter().map(|&k| given[k]).collect();
    if lon[0] - 360.0 >= -180.0 {
        lon[..n_west].iter_mut().for_each(|x| *x -= 360.0);
    } else {
        lon[n_west..].iter_mut().for_each(|x| *x += 360.0);
    }
    if !ascending(&lon) || lon[lon.len() - 1] - lon[0] >= 360.0 {
        return Err(Error::data("longitude must be in order, without repeats"));
    }
    if let Err(error) = whole("longitude", &lon) {
        // Not contiguous when turned either: the hole is where the file has it.
        whole("longitude", given)?;
        return Err(error);
    }
    let note = format!(
        "longitudes {} to {} of the file are taken as {} to {}",
        given[0],
        given[given.len() - 1],
        lon[0],
        lon[lon.len() - 1]
    );
    Ok((lon, turned, Some(note)))
}

/// The longitudes in a region, from west to east and counted on from its western edge, and which
/// point of the file each is.
///
/// # Errors
/// There are none, they repeat, or have a hole.
pub(super) fn within(given: &[f64], region: &Region) -> Result<(Vec<f64>, Vec<usize>)> {
    let width = match (region.east - region.west).rem_euclid(360.0) {
        0.0 if region.east != region.west => 360.0,
        width => width,
    };
    let near = NEAR;
    let mut inside: Vec<(f64, usize)> = Vec::new();
    for (k, &lon) in given.iter().enumerate() {
        // A point on the edge itself may lie a hair to the west of it.
        let east_of = (lon - region.west + near).rem_euclid(360.0) - near;
        if east_of <= width + near {
            inside.push((east_of, k));
        }
    }
    inside.sort_by(|a, b| a.0.total_cmp(&b.0));
    if inside.is_empty() {
        let (low, high) = given
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &x| {
                (l.min(x), h.max(x))
            });
        return Err(outside("longitudes", low, high));
    }
    if width == 360.0 && inside.len() > 1 && inside[inside.len() - 1].0 >= 360.0 - near {
        inside.pop(); // The same meridian again.
    }
    // The file's own numbers, but for whole turns.
    let lon: Vec<f64> = inside
        .iter()
        .map(|&(east_of, k)| {
            given[k] + ((region.west + east_of - given[k]) / 360.0).round() * 360.0
        })
        .collect();
    if !lon.windows(2).all(|pair| pair[0] < pair[1]) {
        return Err(Error::data("longitude must be in order, without repeats"));
    }
    whole("longitude", &lon)?;
    Ok((lon, inside.into_iter().map(|(_, k)| k).collect()))
}

/// No point of an axis lies in the region.
pub(super) fn outside(what: &str, low: f64, high: f64) -> Error {
    Error::data(format!(
        "no point lies in ⟨region⟩: the {what} of the file go from {low} to {high}"
    ))
}
