//! The network of a problem: its graph, and the nodes of the grid that are fed.

use super::problem::{Architecture, GraphKind, Task};
use crate::data::{Archive, FORCINGS};
use crate::graph::{Boxes, Place, Points, flat, grid_set, mesh, prune};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::nn::{EdgeSet, NodeSet, Spec, Stage};

/// A set of nodes that is fed sample by sample.
#[derive(Clone, Debug)]
pub(crate) struct Fed {
    /// Its number in the network.
    pub(crate) set: usize,
    /// Its nodes in the grid.
    pub(crate) nodes: Vec<u32>,
}

/// A network over a grid.
pub(super) struct Layout {
    pub(super) spec: Spec,
    pub(super) fed: Vec<Fed>,
    /// Nodes that were dropped because they reach no output.
    pub(super) n_pruned: usize,
}

impl Layout {
    /// The network of a task over the grid of an archive with `n_statics` fixed fields.
    pub(super) fn new(
        archive: &Archive,
        task: &Task,
        architecture: &Architecture,
        n_statics: usize,
    ) -> Result<Self> {
        let forced = match task {
            Task::Forecast { .. } => 3 * FORCINGS + n_statics,
            Task::Precip(_) => 0,
        };
        let channels = 2 * archive.channels.len() + forced;
        let points = || archive.points();
        match (architecture.graph, task) {
            (GraphKind::Mesh, Task::Forecast { .. }) => {
                Ok(over_mesh(&points(), architecture, channels))
            }
            (GraphKind::Flat, Task::Forecast { .. }) => {
                Ok(over_grid(&points(), architecture, channels))
            }
            (GraphKind::Flat, Task::Precip(boxes)) => {
                over_boxes(&points(), boxes, architecture, channels)
            }
            (GraphKind::Mesh, Task::Precip(_)) => Err(Error::new(
                ErrorKind::Usage,
                "⟨graph mesh⟩ covers one region; use ⟨graph flat⟩ for ⟨task precip⟩",
            )),
        }
    }
}

impl Architecture {
    /// A network of these sizes; the task says how many channels come out.
    fn spec(&self, nodes: Vec<NodeSet>, edges: Vec<EdgeSet>, stages: Vec<Stage>) -> Spec {
        Spec {
            latent: self.latent,
            hidden: self.hidden,
            n_hidden: self.n_hidden,
            nodes,
            edges,
            stages,
            output: 0,
            out_channels: 1,
        }
    }
}

/// From the grid to a mesh, through its layers, and back.
fn over_mesh(points: &Points, sizes: &Architecture, channels: usize) -> Layout {
    let mesh = mesh(points);
    let n = points.places.len();
    let nodes = vec![
        NodeSet::samples("grid", n, channels),
        NodeSet::fixed("mesh", 4, mesh_features(&mesh.nodes)),
    ];
    let mut stages = vec![Stage::new("encode", &[0], &[1, 0])];
    stages.extend(Stage::layers(sizes.n_layers, &[1], &[1]));
    stages.push(Stage::new("process_to_grid", &[2], &[0]));
    Layout {
        spec: sizes.spec(nodes, vec![mesh.up, mesh.within, mesh.down], stages),
        fed: whole_grid(n),
        n_pruned: 0,
    }
}

/// Layers between neighbours of the grid.
fn over_grid(points: &Points, sizes: &Architecture, channels: usize) -> Layout {
    let n = points.places.len();
    let nodes = vec![NodeSet::samples("grid", n, channels)];
    let stages = Stage::layers(sizes.n_layers, &[0], &[0]).collect();
    Layout {
        spec: sizes.spec(nodes, vec![grid_set(points)], stages),
        fed: whole_grid(n),
        n_pruned: 0,
    }
}

/// Layers within the downstream box and from upstream.
fn over_boxes(
    points: &Points,
    boxes: &Boxes,
    sizes: &Architecture,
    channels: usize,
) -> Result<Layout> {
    let flat = flat(points, boxes)?;
    let stages: Vec<Stage> = Stage::layers(sizes.n_layers, &[0, 1], &[0, 1]).collect();
    let n = [flat.downstream.len(), flat.upstream.len()];
    let pruned = prune(&n, &[flat.intra, flat.inter], &stages, 0);
    let kept = pruned.nodes[1].iter();
    let upstream: Vec<u32> = kept.map(|&k| flat.upstream[k as usize]).collect();
    let nodes = vec![
        NodeSet::samples("downstream", n[0], channels),
        NodeSet::samples("upstream", upstream.len(), channels),
    ];
    let n_pruned = n[1] - upstream.len();
    let fed = [flat.downstream, upstream].into_iter().enumerate();
    Ok(Layout {
        spec: sizes.spec(nodes, pruned.edges, stages),
        fed: fed.map(|(set, nodes)| Fed { set, nodes }).collect(),
        n_pruned,
    })
}

/// All nodes of the grid, as the first set.
fn whole_grid(n: usize) -> Vec<Fed> {
    let nodes = (0..n as u32).collect();
    vec![Fed { set: 0, nodes }]
}

/// sin and cos of latitude and longitude of mesh nodes.
fn mesh_features(nodes: &[Place]) -> Vec<f64> {
    let of = |&(phi, lambda): &(f64, f64)| {
        let (a, b) = libm::sincos(phi.to_radians());
        let (c, d) = libm::sincos(lambda.to_radians());
        [a, b, c, d]
    };
    nodes.iter().flat_map(of).collect()
}
