//! Upstream and downstream boxes: a graph of nearest neighbours without a mesh.

use super::{Place, Points, edge_set, nearest};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::nn::EdgeSet;

/// Two boxes and how they are joined; degrees.
#[derive(Clone, Debug, PartialEq)]
pub struct Boxes {
    /// South, north, west, east of what is predicted.
    pub downstream: [f64; 4],
    /// South, north, west, east of where it comes from.
    pub upstream: [f64; 4],
    /// Neighbours within the downstream box.
    pub intra_k: usize,
    /// Upstream neighbours of a boundary node.
    pub inter_k: usize,
    /// Downstream nodes up to this longitude receive from upstream.
    pub boundary_lon: f64,
}

impl Default for Boxes {
    fn default() -> Self {
        Boxes {
            downstream: [25.0, 40.0, 110.0, 125.0],
            upstream: [25.0, 50.0, 70.0, 110.0],
            intra_k: 8,
            inter_k: 32,
            boundary_lon: 111.0,
        }
    }
}

/// The flat graph. Node set 0 is downstream, 1 upstream.
#[derive(Clone, Debug)]
pub struct Flat {
    /// Numbers of the downstream nodes in the grid.
    pub downstream: Vec<u32>,
    /// Numbers of the upstream nodes in the grid.
    pub upstream: Vec<u32>,
    /// Downstream nodes that receive from upstream.
    pub n_boundary: usize,
    /// Within the downstream box.
    pub intra: EdgeSet,
    /// From upstream to the boundary nodes.
    pub inter: EdgeSet,
}

/// Numbers of the points in the box `name`.
fn inside(points: &Points, name: &str, [south, north, west, east]: [f64; 4]) -> Result<Vec<u32>> {
    let near = 1e-6;
    let ends = |of: fn(&Place) -> f64| {
        let values = points.places.iter().map(of);
        let start = (f64::INFINITY, f64::NEG_INFINITY);
        values.fold(start, |(low, high), x| (low.min(x), high.max(x)))
    };
    let (lat, lon) = (ends(|place| place.0), ends(|place| place.1));
    let fits = south >= lat.0 - near
        && north <= lat.1 + near
        && west >= lon.0 - near
        && east <= lon.1 + near;
    let held = |&(_, &(phi, lambda)): &(usize, &Place)| {
        let tall = (south - near..=north + near).contains(&phi);
        tall && (west - near..=east + near).contains(&lambda)
    };
    let chosen = points.places.iter().enumerate().filter(held);
    let chosen: Vec<u32> = chosen.map(|(k, _)| k as u32).collect();
    if chosen.is_empty() || !fits {
        let message = format!(
            "the {name} box (lat {south} to {north}, lon {west} to {east}) does not lie on \
             the grid (lat {} to {}, lon {} to {}); set --{name}-lat-min and so on",
            lat.0, lat.1, lon.0, lon.1
        );
        return Err(Error::new(ErrorKind::Data, message));
    }
    Ok(chosen)
}

/// Builds the flat graph over a grid.
///
/// # Errors
/// A box holds no grid point or leaves the grid, or no downstream node is at the boundary.
pub fn flat(points: &Points, boxes: &Boxes) -> Result<Flat> {
    let downstream = inside(points, "downstream", boxes.downstream)?;
    let upstream = inside(points, "upstream", boxes.upstream)?;
    let place = |nodes: &[u32], k: usize| points.places[nodes[k] as usize];
    let squared = |a: Place, b: Place| (a.0 - b.0) * (a.0 - b.0) + (a.1 - b.1) * (a.1 - b.1);
    let senders = |k: usize, nodes: &[u32], here: Place, is_itself: &dyn Fn(usize) -> bool| {
        nearest(k, nodes.len(), |s| match is_itself(s) {
            true => f64::INFINITY,
            false => squared(place(nodes, s), here),
        })
    };

    let (mut intra, mut inter, mut n_boundary) = (Vec::new(), Vec::new(), 0);
    for r in 0..downstream.len() {
        let here = place(&downstream, r);
        let within = senders(boxes.intra_k, &downstream, here, &|s| s == r);
        intra.extend(within.into_iter().map(|s| (r as u32, s)));
        if here.1 <= boxes.boundary_lon + 1e-6 {
            n_boundary += 1;
            // A point of both boxes is not its own neighbour.
            let is_itself = |s: usize| place(&upstream, s) == here;
            let beyond = senders(boxes.inter_k, &upstream, here, &is_itself);
            inter.extend(beyond.into_iter().map(|s| (r as u32, s)));
        }
    }
    if n_boundary == 0 {
        let message = format!(
            "no downstream node lies at or west of ⟨boundary_lon {}⟩, so nothing comes from \
             upstream; the box starts at {}",
            boxes.boundary_lon, boxes.downstream[2]
        );
        return Err(Error::new(ErrorKind::Data, message));
    }
    let feature = |senders: &[u32], receivers: &[u32], r: u32, s: u32| {
        let (from, to) = (place(senders, s as usize), place(receivers, r as usize));
        let (north, east) = (from.0 - to.0, from.1 - to.1);
        [north, east, libm::hypot(north, east)]
    };
    Ok(Flat {
        intra: edge_set("intra", (0, 0), intra, |r, s| {
            feature(&downstream, &downstream, r, s)
        }),
        inter: edge_set("inter", (1, 0), inter, |r, s| {
            feature(&upstream, &downstream, r, s)
        }),
        downstream: downstream.clone(),
        upstream: upstream.clone(),
        n_boundary,
    })
}
