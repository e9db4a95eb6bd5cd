//! A problem: data, graph and task together, ready for a network.

use super::carry::Provenance;
use super::checkpoint::Checkpoint;
use super::identity::{saved_architecture, saved_task};
use super::scales::Scales;
use crate::data::{
    Archive, Channel, Climatology, FORCINGS, Normaliser, Split, Splits, statics, windows,
};
use crate::graph::{Boxes, flat, grid_set, mesh, prune};
use fitzroy::{Error, ErrorKind, Named, Result};
use fitzroy_device::nn::{Input, Network, NodeSet, Recompute, Spec, Stage};
use serde_json::{Value, json};

/// What is learnt.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// All channels one step ahead, step after step, with a forced boundary of this many cells.
    Forecast {
        /// Outer cells that are set to the truth.
        boundary_width: usize,
    },
    /// Rain one step ahead in a downstream box.
    Precip(Boxes),
}

/// Which graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphKind {
    /// Nearest neighbours.
    Flat,
    /// Grid, multiscale mesh, grid.
    Mesh,
}

impl Named for GraphKind {
    const NAMES: &'static [(&'static str, Self)] =
        &[("flat", GraphKind::Flat), ("mesh", GraphKind::Mesh)];
}

/// What a forecast goes on from; the network adds to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Baseline {
    /// The last change, as far as changes go on.
    Momentum,
    /// A linear model of the two states of the neighbourhood.
    #[default]
    Linear,
}

impl Named for Baseline {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("linear", Baseline::Linear),
        ("momentum", Baseline::Momentum),
    ];
}

/// Sizes of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Architecture {
    /// Graph.
    pub graph: GraphKind,
    /// What a forecast goes on from.
    pub baseline: Baseline,
    /// Width of states.
    pub latent: usize,
    /// Message layers.
    pub n_layers: usize,
    /// Width of hidden layers.
    pub hidden: usize,
    /// Hidden layers of a perceptron.
    pub n_hidden: usize,
}

/// Penalty of a residual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// r².
    Mse,
    /// |r|.
    Mae,
    /// r²/2 for |r| ≤ 1, else |r| − ½.
    Huber,
}

impl Named for LossKind {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("mse", LossKind::Mse),
        ("mae", LossKind::Mae),
        ("huber", LossKind::Huber),
    ];
}

/// Weights of the loss.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighting {
    /// Penalty.
    pub loss: LossKind,
    /// Weight of a variable; 1 where none is given.
    pub variables: Vec<(String, f64)>,
    /// Weight of heavy rain, and where it begins, in mm (precip).
    pub heavy: (f64, f64),
}

impl Default for Weighting {
    fn default() -> Self {
        Weighting {
            loss: LossKind::Mse,
            variables: Vec::new(),
            heavy: (3.0, 10.0),
        }
    }
}

/// A set of nodes that is fed sample by sample.
#[derive(Clone, Debug)]
pub(super) struct Fed {
    /// Its number in the network.
    pub(super) set: usize,
    /// Its nodes in the grid.
    pub(super) nodes: Vec<u32>,
}

/// Everything training and scoring need to know.
pub struct Problem {
    /// Normalised data.
    pub archive: Archive,
    /// Their scales.
    pub normaliser: Normaliser,
    /// Which records do what.
    pub splits: Splits,
    /// The task.
    pub task: Task,
    /// The sizes.
    pub architecture: Architecture,
    /// The network.
    pub spec: Spec,
    /// Weight of each output node: 0 on the boundary, else area with mean 1.
    pub node_weights: Vec<f32>,
    /// Weight of each output channel.
    pub channel_weights: Vec<f32>,
    /// Penalty and heavy rain.
    pub weighting: Weighting,
    /// 1/σ_Δ of each channel: a forecast is fed (X(t) − X(t−1))/σ_Δ beside X(t). The two states
    /// themselves differ by a tenth of their spread, and a network has to find that difference
    /// first, which takes it most of a short training.
    pub tendency_scales: Vec<f32>,
    /// Checksum of the training and validation records, as they were before they were normalised.
    pub checksum: u32,
    /// Nodes that were dropped because they reach no output.
    pub n_pruned: usize,
    /// What a checkpoint keeps of where all this came from.
    pub provenance: Provenance,
    pub(super) fed: Vec<Fed>,
    /// Output nodes in the grid.
    pub(super) outputs: Vec<u32>,
    /// Output channels among the channels.
    pub(super) targets: Vec<usize>,
    pub(super) statics: (Vec<f32>, usize),
}

/// True on the outer `width` cells of a grid.
fn boundary(n_lat: usize, n_lon: usize, width: usize) -> Vec<bool> {
    let edge = |k: usize, n: usize| k < width || k + width >= n;
    (0..n_lat * n_lon)
        .map(|k| edge(k / n_lon, n_lat) || edge(k % n_lon, n_lon))
        .collect()
}

impl Problem {
    /// Builds graph and weights; normalises the archive, with `normaliser` where one is given.
    ///
    /// # Errors
    /// The grid is too small for the boundary or a box, the graph does not fit the task, or a
    /// weight names no variable.
    pub fn new(
        archive: Archive,
        splits: Splits,
        task: Task,
        architecture: Architecture,
        weighting: Weighting,
        normaliser: Option<Normaliser>,
    ) -> Result<Self> {
        let scales = normaliser.map_or(Scales::Fresh, Scales::Saved);
        let scales = (scales, None);
        Self::build(archive, splits, task, architecture, weighting, scales)
    }

    pub(super) fn build(
        mut archive: Archive,
        splits: Splits,
        task: Task,
        architecture: Architecture,
        weighting: Weighting,
        (scales, usual): (Scales, Option<&Climatology>),
    ) -> Result<Self> {
        let checksum = archive.checksum(&(splits.train.start..splits.validation.end));
        let linear =
            architecture.baseline == Baseline::Linear && matches!(task, Task::Forecast { .. });
        let usual = usual.filter(|usual| usual.len() == archive.record_len());
        let usual = usual.map(Climatology::overall);
        let normaliser = scales.settle(&mut archive, &splits, linear, usual)?;
        let n = archive.n_nodes();
        let targets: Vec<usize> = match task {
            Task::Forecast { .. } => (0..archive.channels.len()).collect(),
            Task::Precip(_) => {
                let rain = archive.channels.iter().position(Channel::is_rain);
                vec![rain.ok_or_else(|| {
                    Error::data("⟨task precip⟩ needs the variable `precipitation`")
                })?]
            }
        };
        let width = match task {
            Task::Forecast { boundary_width } => boundary_width,
            Task::Precip(_) => 0,
        };
        let (n_rows, n_columns) = archive.shape();
        let forced = boundary(n_rows, n_columns, width);
        if forced.iter().all(|&b| b) {
            return Err(Error::data(format!(
                "⟨boundary_width {width}⟩: nothing is left inside of {n_rows} x {n_columns} points"
            )));
        }
        let statics = match task {
            Task::Forecast { .. } => statics(&archive, &forced),
            Task::Precip(_) => (Vec::new(), 0),
        };
        let built = graph(&archive, &task, &architecture, statics.1)?;
        let outputs = built.fed[0].nodes.clone();
        let inside = |&g: &u32| !forced[g as usize];
        let areas = archive.curved.map(|_| archive.points().areas());
        let area = |&g: &u32| match &areas {
            None => libm::cos(archive.place(g as usize).0.to_radians()),
            Some(areas) => areas[g as usize],
        };
        let interior: Vec<f64> = outputs.iter().filter(|g| inside(g)).map(area).collect();
        let mean = interior.iter().sum::<f64>() / interior.len() as f64;
        let node_weights: Vec<f32> = outputs
            .iter()
            .map(|g| match (&task, inside(g)) {
                (_, false) => 0.0,
                (Task::Precip(_), _) => 1.0,
                _ => (area(g) / mean) as f32,
            })
            .collect();
        let mut channel_weights = channel_weights(&archive.channels, &targets, &weighting)?;
        // A loss is a mean over what is known: its sums miss the rest, by this share on average.
        for (weight, &channel) in channel_weights.iter_mut().zip(&targets) {
            let places = (&outputs[..], &node_weights[..]);
            let share = archive.known_share(channel, places, &splits.train);
            *weight = (f64::from(*weight) / share.max(f64::MIN_POSITIVE)) as f32;
        }
        debug_assert!(outputs.iter().all(|&g| (g as usize) < n));
        let mut spec = built.spec;
        spec.out_channels = targets.len();
        let tendency_scales = normaliser.change_sd.iter().map(|&sd| (1.0 / sd) as f32);
        Ok(Problem {
            tendency_scales: tendency_scales.collect(),
            archive,
            normaliser,
            splits,
            task,
            architecture,
            spec,
            node_weights,
            channel_weights,
            weighting,
            checksum,
            n_pruned: built.n_pruned,
            provenance: Provenance::default(),
            fed: built.fed,
            outputs,
            targets,
            statics,
        })
    }

    /// First records of the windows of a part, for forecasts of `steps` steps, and how many
    /// records gaps and borders cost.
    pub fn windows(&self, split: Split, steps: usize) -> (Vec<u32>, usize) {
        windows(&self.archive, &self.splits.of(split), steps)
    }

    /// Output nodes, as numbers in the grid.
    pub fn outputs(&self) -> &[u32] {
        &self.outputs
    }

    /// Output channels, as numbers among the channels.
    pub fn targets_in_order(&self) -> &[usize] {
        &self.targets
    }

    /// Output channels.
    pub fn target_channels(&self) -> Vec<&Channel> {
        self.targets
            .iter()
            .map(|&k| &self.archive.channels[k])
            .collect()
    }

    /// True when the model's output is a change to be added to the state.
    pub fn is_forecast(&self) -> bool {
        matches!(self.task, Task::Forecast { .. })
    }

    /// Rebuilds the problem of a checkpoint over other data of the same region.
    ///
    /// # Errors
    /// The data differ in grid, channels or step, or the checkpoint lacks a field.
    pub fn restore(archive: Archive, splits: Splits, checkpoint: &Checkpoint) -> Result<Self> {
        let task = saved_task(&checkpoint.identity)?;
        let architecture = saved_architecture(&checkpoint.identity)?;
        let normaliser = Normaliser::from_json(&checkpoint.normaliser)?;
        if normaliser.mean.len() != archive.channels.len() {
            return Err(Error::data(format!(
                "the checkpoint's normaliser has {} channels, the data have {}",
                normaliser.mean.len(),
                archive.channels.len()
            )));
        }
        let weighting = Weighting::default();
        let scales = (Scales::Saved(normaliser), checkpoint.climatology.as_ref());
        let mut problem = Self::build(archive, splits, task, architecture, weighting, scales)?;
        let network = Network::new(&problem.spec, Recompute::None)?;
        checkpoint.agree(&problem.identity(), network.n_parameters())?;
        let len = problem.archive.record_len();
        let usual = checkpoint.climatology.clone();
        problem.provenance.climatology = usual.filter(|usual| usual.len() == len);
        Ok(problem)
    }

    /// What a checkpoint must agree with.
    pub fn identity(&self) -> Value {
        let channels: Vec<Value> = self
            .archive
            .channels
            .iter()
            .map(|c| json!({"variable": c.variable, "level": c.level}))
            .collect();
        let a = &self.architecture;
        let task = match &self.task {
            Task::Forecast { boundary_width } => {
                json!({"name": "forecast", "boundary_width": boundary_width})
            }
            Task::Precip(b) => json!({
                "name": "precip", "downstream": b.downstream, "upstream": b.upstream,
                "intra_k": b.intra_k, "inter_k": b.inter_k, "boundary_lon": b.boundary_lon,
            }),
        };
        let statics: Vec<&String> = self.archive.statics.iter().map(|(name, _)| name).collect();
        let baseline = self.normaliser.linear.as_ref().map(|_| "linear");
        json!({
            "task": task,
            "inputs": "tendency",
            "baseline": baseline,
            "graph": a.graph.setting(),
            "latent_size": a.latent,
            "num_gnn_layers": a.n_layers,
            "mlp_hidden_size": a.hidden,
            "mlp_num_hidden_layers": a.n_hidden,
            "channels": channels,
            "statics": statics,
            "step_s": self.archive.step_s,
            "lat": self.archive.lat,
            "lon": self.archive.lon,
        })
    }
}

/// λ·p/Σp over a variable's levels.
fn channel_weights(
    channels: &[Channel],
    targets: &[usize],
    weighting: &Weighting,
) -> Result<Vec<f32>> {
    for (name, weight) in &weighting.variables {
        let known = channels.iter().any(|c| c.variable == *name);
        if !known || !(*weight >= 0.0) {
            let message = format!(
                "⟨loss_weights {name}={weight}⟩: needs a variable of the data and a weight from 0"
            );
            return Err(Error::new(ErrorKind::Usage, message));
        }
    }
    let weight = |&k: &usize| {
        let channel = &channels[k];
        let given = weighting
            .variables
            .iter()
            .find(|(name, _)| *name == channel.variable);
        let own = given.map_or(1.0, |(_, weight)| *weight);
        let levels = channels.iter().filter(|c| c.variable == channel.variable);
        let sum: f64 = levels.filter_map(|c| c.level).sum();
        (own * channel.level.map_or(1.0, |p| p / sum)) as f32
    };
    Ok(targets.iter().map(weight).collect())
}

struct Built {
    spec: Spec,
    fed: Vec<Fed>,
    n_pruned: usize,
}

fn graph(
    archive: &Archive,
    task: &Task,
    architecture: &Architecture,
    n_statics: usize,
) -> Result<Built> {
    let n = archive.n_nodes();
    let forced = if matches!(task, Task::Forecast { .. }) {
        3 * FORCINGS + n_statics
    } else {
        0
    };
    let channels = 2 * archive.channels.len() + forced;
    let set = |name: &str, n: usize| NodeSet {
        name: name.into(),
        n,
        input: Input::Samples { channels },
    };
    let layers = |edges: &[usize], nodes: &[usize]| -> Vec<Stage> {
        let layer = |k| Stage {
            name: format!("layer{k}"),
            edges: edges.to_vec(),
            nodes: nodes.to_vec(),
        };
        (0..architecture.n_layers).map(layer).collect()
    };
    let spec = |nodes, edges, stages| Spec {
        latent: architecture.latent,
        hidden: architecture.hidden,
        n_hidden: architecture.n_hidden,
        nodes,
        edges,
        stages,
        output: 0,
        out_channels: 1,
    };
    match (architecture.graph, task) {
        (GraphKind::Mesh, Task::Forecast { .. }) => {
            let mesh = mesh(&archive.points());
            let fixed = mesh_features(&mesh.nodes);
            let node = NodeSet {
                name: "mesh".into(),
                n: mesh.nodes.len(),
                input: Input::Fixed {
                    channels: 4,
                    values: fixed,
                },
            };
            let stage = |name: &str, edges: &[usize], nodes: &[usize]| Stage {
                name: name.into(),
                edges: edges.to_vec(),
                nodes: nodes.to_vec(),
            };
            let mut stages = vec![stage("encode", &[0], &[1, 0])];
            stages.extend(layers(&[1], &[1]));
            stages.push(stage("process_to_grid", &[2], &[0]));
            Ok(Built {
                spec: spec(
                    vec![set("grid", n), node],
                    vec![mesh.up, mesh.within, mesh.down],
                    stages,
                ),
                fed: vec![Fed {
                    set: 0,
                    nodes: (0..n as u32).collect(),
                }],
                n_pruned: 0,
            })
        }
        (GraphKind::Flat, Task::Precip(boxes)) => {
            let flat = flat(&archive.points(), boxes)?;
            let stages = layers(&[0, 1], &[0, 1]);
            let sizes = [flat.downstream.len(), flat.upstream.len()];
            let pruned = prune(&sizes, &[flat.intra, flat.inter], &stages, 0);
            let upstream: Vec<u32> = pruned.nodes[1]
                .iter()
                .map(|&k| flat.upstream[k as usize])
                .collect();
            let n_pruned = flat.upstream.len() - upstream.len();
            let nodes = vec![set("downstream", sizes[0]), set("upstream", upstream.len())];
            Ok(Built {
                spec: spec(nodes, pruned.edges, stages),
                fed: vec![
                    Fed {
                        set: 0,
                        nodes: flat.downstream,
                    },
                    Fed {
                        set: 1,
                        nodes: upstream,
                    },
                ],
                n_pruned,
            })
        }
        (GraphKind::Flat, Task::Forecast { .. }) => Ok(Built {
            spec: spec(
                vec![set("grid", n)],
                vec![grid_set(&archive.points())],
                layers(&[0], &[0]),
            ),
            fed: vec![Fed {
                set: 0,
                nodes: (0..n as u32).collect(),
            }],
            n_pruned: 0,
        }),
        (GraphKind::Mesh, Task::Precip(_)) => Err(Error::new(
            ErrorKind::Usage,
            "⟨graph mesh⟩ covers one region; use ⟨graph flat⟩ for ⟨task precip⟩",
        )),
    }
}

/// sin and cos of latitude and longitude of mesh nodes.
fn mesh_features(nodes: &[crate::graph::Place]) -> Vec<f64> {
    let of = |&(phi, lambda): &(f64, f64)| {
        let (a, b) = libm::sincos(phi.to_radians());
        let (c, d) = libm::sincos(lambda.to_radians());
        [a, b, c, d]
    };
    nodes.iter().flat_map(of).collect()
}
