//! A problem: data, graph and task together, ready for a network.

use super::carry::Provenance;
use super::checkpoint::Checkpoint;
use super::identity::{saved_architecture, saved_forcing, saved_task};
use super::layout::{Fed, Layout};
use super::scales::Scales;
use super::weights::{Weighting, boundary, channel_weights, node_weights};
use crate::data::{Archive, Channel, Climatology, Normaliser, Split, Splits, statics, windows};
use crate::graph::Boxes;
use fitzroy::{Error, Named, Result};
use fitzroy_device::nn::{Network, Recompute, Spec};
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

impl Task {
    /// The channels that come out, by number; `forcing` are variables that do not.
    fn targets(&self, channels: &[Channel], forcing: &[String]) -> Result<Vec<usize>> {
        let names = |name: &String| channels.iter().any(|c| c.variable == *name);
        if let Some(name) = forcing.iter().find(|name| !names(name)) {
            return Err(Error::usage(format!(
                "⟨forcing {name}⟩: it is none of the variables that are used"
            )));
        }
        match self {
            Task::Forecast { .. } => {
                let is_target = |k: &usize| !forcing.contains(&channels[*k].variable);
                let targets: Vec<usize> = (0..channels.len()).filter(is_target).collect();
                match targets.is_empty() {
                    true => Err(Error::usage("⟨forcing⟩ leaves no variable to forecast")),
                    false => Ok(targets),
                }
            }
            Task::Precip(_) if !forcing.is_empty() => Err(Error::usage(
                "⟨forcing⟩ is for ⟨task forecast⟩: of ⟨task precip⟩ all variables but rain are read alone",
            )),
            Task::Precip(_) => {
                let rain = channels.iter().position(Channel::is_rain);
                let rain = rain.map(|rain| vec![rain]);
                rain.ok_or_else(|| Error::data("⟨task precip⟩ needs the variable `precipitation`"))
            }
        }
    }

    /// Outer cells that are set to the truth.
    fn boundary_width(&self) -> usize {
        match self {
            Task::Forecast { boundary_width } => *boundary_width,
            Task::Precip(_) => 0,
        }
    }
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
    pub(crate) fed: Vec<Fed>,
    /// Output nodes in the grid.
    pub(crate) outputs: Vec<u32>,
    /// Output channels among the channels.
    pub(crate) targets: Vec<usize>,
    pub(crate) statics: (Vec<f32>, usize),
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
        let targets = task.targets(&archive.channels, &weighting.forcing)?;
        let width = task.boundary_width();
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
        let built = Layout::new(&archive, &task, &architecture, statics.1)?;
        let outputs = built.fed[0].nodes.clone();
        let node_weights = node_weights(&archive, &task, &outputs, &forced);
        let places = (&outputs[..], &node_weights[..]);
        let train = &splits.train;
        let channel_weights = channel_weights(&archive, &targets, &weighting, places, train)?;
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

    /// Channels that a forecast reads and does not make, by number: their truth stands in every state.
    pub fn read_alone(&self) -> impl Iterator<Item = usize> + '_ {
        let all = 0..self.archive.channels.len();
        all.filter(|k| self.is_forecast() && !self.targets.contains(k))
    }

    /// Whether a forecast needs the truth of later states: at the boundary, or of a channel that it
    /// does not make.
    pub fn needs_truth(&self) -> bool {
        self.node_weights.contains(&0.0) || self.read_alone().next().is_some()
    }

    /// Refuses what machines other than this processor do not compute.
    ///
    /// # Errors
    /// Channels are read alone.
    pub(super) fn check_machine(&self) -> Result<()> {
        match self.read_alone().next() {
            Some(_) => Err(Error::usage(
                "⟨forcing⟩: variables that are read alone are computed by the CPU; use ⟨device cpu⟩",
            )),
            None => Ok(()),
        }
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
        let weighting = Weighting {
            forcing: saved_forcing(&checkpoint.identity),
            ..Weighting::default()
        };
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
        let mut identity = json!({
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
        });
        if !self.weighting.forcing.is_empty() {
            let mut forcing = self.weighting.forcing.clone();
            forcing.sort();
            forcing.dedup();
            identity["forcing"] = json!(forcing);
        }
        identity
    }
}
