//! The sizes of a network: those asked for, those of a checkpoint, and whether they agree.

use super::checkpoint::Checkpoint;
use super::problem::{Architecture, Baseline, GraphKind, Task};
use crate::graph::Boxes;
use fitzroy::{Error, Named, Result};
use serde_json::Value;

/// Width of states without a wish.
const LATENT: usize = 256;
/// Message layers without a wish.
const LAYERS: usize = 12;
/// Hidden layers without a wish.
const HIDDEN_LAYERS: usize = 2;
/// Widest hidden layer without a wish.
const HIDDEN: usize = 256;
/// Outer cells that are forced, without a wish.
const BOUNDARY: usize = 3;

/// Sizes that were asked for; where nothing was, those of a checkpoint or the usual ones hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Which graph.
    pub graph: Option<GraphKind>,
    /// What a forecast goes on from.
    pub baseline: Option<Baseline>,
    /// Width of states.
    pub latent: Option<usize>,
    /// Message layers.
    pub n_layers: Option<usize>,
    /// Width of hidden layers.
    pub hidden: Option<usize>,
    /// Hidden layers of a perceptron.
    pub n_hidden: Option<usize>,
    /// Outer cells that are forced.
    pub boundary_width: Option<usize>,
}

impl Wanted {
    /// Sizes and task, over those of `saved` where a training goes on from it.
    ///
    /// # Errors
    /// The checkpoint lacks a field.
    pub fn settle(&self, task: &Task, saved: Option<&Checkpoint>) -> Result<(Architecture, Task)> {
        let was = saved.map(|c| saved_architecture(&c.identity)).transpose()?;
        let old = saved.map(|c| saved_task(&c.identity)).transpose()?;
        let latent = self.latent.or(was.map(|a| a.latent)).unwrap_or(LATENT);
        let architecture = Architecture {
            graph: self.graph.or(was.map(|a| a.graph)).unwrap_or(match task {
                Task::Forecast { .. } => GraphKind::Mesh,
                Task::Precip(_) => GraphKind::Flat,
            }),
            baseline: self
                .baseline
                .or(was.map(|a| a.baseline))
                .unwrap_or_default(),
            latent,
            n_layers: self.n_layers.or(was.map(|a| a.n_layers)).unwrap_or(LAYERS),
            hidden: self
                .hidden
                .or(was.map(|a| a.hidden))
                .unwrap_or(latent.min(HIDDEN)),
            n_hidden: self
                .n_hidden
                .or(was.map(|a| a.n_hidden))
                .unwrap_or(HIDDEN_LAYERS),
        };
        let task = match (task, old) {
            (Task::Forecast { .. }, Some(Task::Forecast { boundary_width })) => Task::Forecast {
                boundary_width: self.boundary_width.unwrap_or(boundary_width),
            },
            (Task::Forecast { .. }, _) => Task::Forecast {
                boundary_width: self.boundary_width.unwrap_or(BOUNDARY),
            },
            (task, _) => task.clone(),
        };
        Ok((architecture, task))
    }
}

fn lacks(field: &str) -> Error {
    Error::data(format!("the checkpoint lacks `{field}`"))
}

/// The task of a checkpoint, from its identity.
pub(super) fn saved_task(id: &Value) -> Result<Task> {
    let task = &id["task"];
    let number = |field: &str| task[field].as_u64().ok_or_else(|| lacks(field));
    let sides = |field: &str| -> Result<[f64; 4]> {
        let side = |k: usize| task[field][k].as_f64().ok_or_else(|| lacks(field));
        Ok([side(0)?, side(1)?, side(2)?, side(3)?])
    };
    match task["name"].as_str() {
        Some("forecast") => Ok(Task::Forecast {
            boundary_width: number("boundary_width")? as usize,
        }),
        Some("precip") => Ok(Task::Precip(Boxes {
            downstream: sides("downstream")?,
            upstream: sides("upstream")?,
            intra_k: number("intra_k")? as usize,
            inter_k: number("inter_k")? as usize,
            boundary_lon: task["boundary_lon"].as_f64().ok_or_else(|| lacks("task"))?,
        })),
        _ => Err(lacks("task")),
    }
}

/// The variables that the network of a checkpoint reads and does not forecast, from its identity.
pub(super) fn saved_forcing(id: &Value) -> Vec<String> {
    let names = id["forcing"].as_array().into_iter().flatten();
    names.filter_map(|n| n.as_str().map(String::from)).collect()
}

/// The sizes of the network of a checkpoint, from its identity.
pub(super) fn saved_architecture(id: &Value) -> Result<Architecture> {
    let count = |field: &str| {
        id[field]
            .as_u64()
            .map(|n| n as usize)
            .ok_or_else(|| lacks(field))
    };
    Ok(Architecture {
        graph: if id["graph"] == "flat" {
            GraphKind::Flat
        } else {
            GraphKind::Mesh
        },
        baseline: if id["baseline"] == "linear" {
            Baseline::Linear
        } else {
            Baseline::Momentum
        },
        latent: count("latent_size")?,
        n_layers: count("num_gnn_layers")?,
        hidden: count("mlp_hidden_size")?,
        n_hidden: count("mlp_num_hidden_layers")?,
    })
}

/// What of two networks of which one takes over weights from the other must be the same and is
/// not: setting, theirs, own.
pub(super) fn differing(
    (theirs, own): (&Architecture, &Architecture),
    tasks: (&Task, &Task),
) -> Vec<(&'static str, String, String)> {
    let name = |task: &Task| match task {
        Task::Forecast { .. } => "forecast",
        Task::Precip(_) => "precip",
    };
    let text = |a: &Architecture| {
        [
            ("graph", a.graph.setting().to_string()),
            ("baseline", a.baseline.setting().to_string()),
            ("latent_size", a.latent.to_string()),
            ("num_gnn_layers", a.n_layers.to_string()),
            ("mlp_hidden_size", a.hidden.to_string()),
            ("mlp_num_hidden_layers", a.n_hidden.to_string()),
        ]
    };
    let mut all = vec![("task", name(tasks.0).to_string(), name(tasks.1).to_string())];
    let pairs = text(theirs).into_iter().zip(text(own));
    all.extend(pairs.map(|((name, a), (_, b))| (name, a, b)));
    // What a precip network goes on from is not used.
    let precip = matches!(tasks.1, Task::Precip(_));
    all.retain(|(name, a, b)| a != b && !(precip && *name == "baseline"));
    all
}
