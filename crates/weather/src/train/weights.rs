//! What counts how much in the loss: penalty, nodes, channels.

use super::problem::Task;
use crate::data::{Archive, Channel};
use fitzroy::{Error, ErrorKind, Named, Result};
use std::ops::Range;

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
    /// Weight of a variable, or of one of its levels (`TEM 850`), which goes before the variable's;
    /// 1 where none is given.
    pub variables: Vec<(String, f64)>,
    /// Variables that are read and not forecast (forecast): every state has their truth, as those of
    /// another model, and they count in no loss and no score.
    pub forcing: Vec<String>,
    /// Weight of heavy rain, and where it begins, in mm (precip).
    pub heavy: (f64, f64),
}

impl Default for Weighting {
    fn default() -> Self {
        Weighting {
            loss: LossKind::Mse,
            variables: Vec::new(),
            forcing: Vec::new(),
            heavy: (3.0, 10.0),
        }
    }
}

/// True on the outer `width` cells of a grid.
pub(super) fn boundary(n_lat: usize, n_lon: usize, width: usize) -> Vec<bool> {
    let edge = |k: usize, n: usize| k < width || k + width >= n;
    (0..n_lat * n_lon)
        .map(|k| edge(k / n_lon, n_lat) || edge(k % n_lon, n_lon))
        .collect()
}

/// Weights of the output nodes: 0 where the truth is `forced`, else their area with mean 1, or 1
/// for rain.
pub(super) fn node_weights(
    archive: &Archive,
    task: &Task,
    outputs: &[u32],
    forced: &[bool],
) -> Vec<f32> {
    let inside = |&g: &u32| !forced[g as usize];
    let areas = archive.curved.map(|_| archive.points().areas());
    let area = |&g: &u32| match &areas {
        None => libm::cos(archive.place(g as usize).0.to_radians()),
        Some(areas) => areas[g as usize],
    };
    let interior: Vec<f64> = outputs.iter().filter(|g| inside(g)).map(area).collect();
    let mean = interior.iter().sum::<f64>() / interior.len() as f64;
    let weight = |g: &u32| match (task, inside(g)) {
        (_, false) => 0.0,
        (Task::Precip(_), _) => 1.0,
        _ => (area(g) / mean) as f32,
    };
    outputs.iter().map(weight).collect()
}

/// Weights of the output channels `targets`: λ·p/Σp over a variable's levels, divided by the share
/// that is known of them in the records `train`. A loss is a mean over what is known: its sums miss
/// the rest, by this share on average.
pub(super) fn channel_weights(
    archive: &Archive,
    targets: &[usize],
    weighting: &Weighting,
    places: (&[u32], &[f32]),
    train: &Range<usize>,
) -> Result<Vec<f32>> {
    let mut weights = given_weights(&archive.channels, targets, weighting)?;
    for (weight, &channel) in weights.iter_mut().zip(targets) {
        let share = archive.known_share(channel, places, train);
        *weight = (f64::from(*weight) / share.max(f64::MIN_POSITIVE)) as f32;
    }
    Ok(weights)
}

/// λ·p/Σp over a variable's levels.
fn given_weights(
    channels: &[Channel],
    targets: &[usize],
    weighting: &Weighting,
) -> Result<Vec<f32>> {
    for (name, weight) in &weighting.variables {
        let is_meant = |c: &Channel| c.variable == *name || c.is_labelled(name);
        if !channels.iter().any(is_meant) || !(*weight >= 0.0) {
            let message = format!(
                "⟨loss_weights {name}={weight}⟩: needs a variable of the data, or a level of one as \
                 `TEM 850`, and a weight from 0"
            );
            return Err(Error::new(ErrorKind::Usage, message));
        }
    }
    let weight = |&k: &usize| {
        let channel = &channels[k];
        let given = || weighting.variables.iter();
        let own = given().find(|(name, _)| channel.is_labelled(name));
        let own = own.or_else(|| given().find(|(name, _)| *name == channel.variable));
        let own = own.map_or(1.0, |(_, weight)| *weight);
        let levels = channels.iter().filter(|c| c.variable == channel.variable);
        let sum: f64 = levels.filter_map(|c| c.level).sum();
        (own * channel.level.map_or(1.0, |p| p / sum)) as f32
    };
    Ok(targets.iter().map(weight).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_given_to_variables_and_to_single_levels() {
        let channel = |variable: &str, level| Channel {
            variable: variable.into(),
            level,
            units: String::new(),
        };
        let levels = [Some(850.0), Some(500.0), Some(150.0)];
        let mut channels: Vec<Channel> = levels.map(|p| channel("TEM", p)).into();
        channels.push(channel("t2m", None));
        let given = |pairs: &[(&str, f64)]| {
            let weighting = Weighting {
                variables: pairs
                    .iter()
                    .map(|(name, x)| (name.to_string(), *x))
                    .collect(),
                ..Weighting::default()
            };
            given_weights(&channels, &[0, 1, 2, 3], &weighting)
        };
        let shares = [850.0 / 1500.0, 500.0 / 1500.0, 150.0 / 1500.0, 1.0];
        let times = |factors: [f64; 4]| -> Vec<f32> {
            (shares.iter().zip(factors).map(|(a, b)| (a * b) as f32)).collect()
        };
        assert_eq!(given(&[]).unwrap(), times([1.0; 4]));
        let both = [
            ("TEM", 2.0),
            ("TEM 500", 3.0),
            ("TEM 150 hPa", 0.0),
            ("t2m", 0.5),
        ];
        assert_eq!(given(&both).unwrap(), times([2.0, 3.0, 0.0, 0.5]));
        for wrong in [("TEM 851", 1.0), ("U", 1.0), ("TEM", -1.0)] {
            let said = given(&[wrong]).unwrap_err().to_string();
            assert!(said.contains(wrong.0) && said.contains("TEM 850"), "{said}");
        }
    }
}
