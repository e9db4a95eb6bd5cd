//! A forecast as a file.

use super::device::{Taken, target, tell_notes};
use super::maps::Maps;
use super::{find_members, read_for};
use crate::face::Face;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_weather::data::{Archive, Asked, Splits};
use fitzroy_weather::evaluate::forecast;
use fitzroy_weather::files::{GridFile, GridHeader, GridVariable};
use fitzroy_weather::time::Time;
use fitzroy_weather::train::{Extent, Forecaster, Found, Problem};
use std::path::{Path, PathBuf};

/// What is forecast.
pub struct Forecasting<'a> {
    /// Files of data, those with later states at the boundary among them.
    pub data: &'a [PathBuf],
    /// How they are read; where nothing is said, as those of the training.
    pub reading: Asked,
    /// The folder for data that do not fit into memory; none for the current one.
    pub scratch: Option<&'a Path>,
    /// A checkpoint, or a folder of them; several are an ensemble, as is a folder of members.
    pub checkpoints: &'a [PathBuf],
    /// Time of the last known state; none if a step before [`Forecasting::target`].
    pub start: Option<Time>,
    /// Time to forecast, one step ahead.
    pub target: Option<Time>,
    /// Steps to forecast.
    pub n_steps: usize,
    /// The file to write, which must not be there.
    pub output: &'a Path,
    /// Whether maps are written beside it.
    pub pictures: bool,
    /// Variables or channels that are drawn; the first six where none is named.
    pub channels: &'a [String],
    /// Threads.
    pub threads: usize,
    /// The GPU that forecasts; none for this processor.
    pub gpu: Option<Taken>,
}

/// A forecast that was written.
pub struct Forecast {
    /// Time of the last known state.
    pub start: Time,
    /// Times of the forecast.
    pub times: Vec<Time>,
    /// Maps of it.
    pub pictures: Vec<PathBuf>,
    /// The checkpoints that made it.
    pub checkpoints: Vec<PathBuf>,
    /// What it was computed on: `cpu`, or the GPU and its precision.
    pub device: String,
}

fn usage<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Usage, message))
}

impl Forecasting<'_> {
    /// Forecasts and writes the file.
    ///
    /// # Errors
    /// Checkpoint or data cannot be read or do not suffice; the file is there already, or cannot be
    /// written.
    pub fn run(mut self, face: &dyn Face) -> Result<Forecast> {
        if self.n_steps == 0 {
            return usage("⟨num_steps 0⟩: needs at least 1".into());
        }
        if self.output.exists() {
            return usage(format!(
                "⟨output {}⟩: the file exists; choose another name",
                self.output.display()
            ));
        }
        let members = find_members(self.checkpoints, face)?;
        let found = &members[0];
        let archive = read_for(
            &found.checkpoint,
            self.data,
            (&self.reading, self.scratch),
            face,
        )?;
        let step_s = archive.step_s;
        let t = self.first_record(&archive)?;
        let start = archive.times[t];
        let splits = Splits::whole(&archive);
        let problem = Problem::restore(archive, splits, &found.checkpoint)?;
        if self.n_steps > 1 && !problem.is_forecast() {
            return usage(
                "⟨num_steps⟩ above 1: a rain model cannot be carried on, for it forecasts rain alone"
                    .into(),
            );
        }
        let maps = match self.pictures {
            true => Some(Maps::new(&problem, self.channels, self.output)?),
            false => None,
        };
        let (made, device) = self.forecasts(&problem, &members, t, face)?;
        let states = joined(made);
        let times = (1..=self.n_steps).map(|k| Time(start.0 + k as i64 * step_s));
        let times: Vec<Time> = times.collect();
        let attributes = self.attributes(&problem, &members, (start, &device))?;
        write(self.output, &problem, attributes, (&times, &states))?;
        let means: Vec<&[f64]> = states.iter().map(|state| &state.mean[..]).collect();
        let pictures = match maps {
            Some(maps) => maps.write(&problem, t, &means)?,
            None => Vec::new(),
        };
        Ok(Forecast {
            pictures,
            start,
            times,
            device,
            checkpoints: members.into_iter().map(|found| found.path).collect(),
        })
    }
}

impl Forecasting<'_> {
    /// What the file says of itself.
    fn attributes(
        &self,
        problem: &Problem,
        members: &[Found],
        (start, device): (Time, &str),
    ) -> Result<Vec<(String, String)>> {
        let step = members[0].checkpoint.progress.step;
        let shown = members.iter().map(|found| found.path.display().to_string());
        let shown: Vec<String> = shown.collect();
        let sums = members
            .iter()
            .map(|found| Ok(format!("{:08x}", found.checksum()?)));
        let sums: Vec<String> = sums.collect::<Result<_>>()?;
        let attributes = [
            ("initial_time", start.iso()),
            ("forecast_reference_time", start.iso()),
            ("checkpoint", shown.join(", ")),
            ("checkpoint_crc32", sums.join(", ")),
            ("boundary", self.boundary(problem)),
            ("members", members.len().to_string()),
            ("device", device.to_string()),
            ("checkpoint_step", step.to_string()),
            ("source", format!("Fitzroy {}", env!("CARGO_PKG_VERSION"))),
        ];
        let named = attributes.map(|(name, value)| (name.to_string(), value));
        Ok(named.to_vec())
    }

    /// Where the states at the boundary come from.
    fn boundary(&self, problem: &Problem) -> String {
        let forced = problem.node_weights.iter().filter(|w| **w == 0.0).count();
        let files = self.data.iter().map(|path| path.display().to_string());
        match forced {
            0 => "none".into(),
            n => format!(
                "{n} outer points are set to the later records of {}",
                files.collect::<Vec<_>>().join(", ")
            ),
        }
    }

    /// The number of the last known state.
    fn first_record(&self, archive: &Archive) -> Result<usize> {
        let start = match (self.start, self.target) {
            (Some(start), _) => start,
            (None, Some(target)) => Time(target.0 - archive.step_s),
            (None, None) => return usage("⟨initial_time⟩ is missing".into()),
        };
        let times = &archive.times;
        times.binary_search(&start).or_else(|_| {
            usage(format!(
                "there is no record of {}; the data go from {} to {}",
                start.iso(),
                times[0].iso(),
                times[times.len() - 1].iso()
            ))
        })
    }

    /// Forecasts of members from record `t`, and what they were made on.
    fn forecasts(
        &mut self,
        problem: &Problem,
        members: &[Found],
        t: usize,
        face: &dyn Face,
    ) -> Result<(Vec<Vec<Vec<f64>>>, String)> {
        let gpu = self.gpu.take();
        let extent = Extent {
            steps: self.n_steps,
            starts: 1,
            threads: self.threads,
            memory_bytes: gpu.as_ref().map(Taken::budget_bytes),
        };
        let (target, device) = target(gpu, face);
        let best = members.iter().map(|m| m.checkpoint.best_parameters());
        let best: Vec<&[f32]> = best.collect();
        let mut forecaster = Forecaster::new(target, problem, &best, extent)?;
        tell_notes(&forecaster, face);
        Ok((forecast(problem, &mut forecaster, t)?, device))
    }
}

/// What several forecasts say together.
struct Joined {
    mean: Vec<f64>,
    /// Standard deviation; none of a single forecast.
    spread: Option<Vec<f64>>,
}

/// Forecasts of members, step by step.
fn joined(members: Vec<Vec<Vec<f64>>>) -> Vec<Joined> {
    let m = members.len() as f64;
    let step = |k: usize| {
        let at = |place: usize| members.iter().map(move |member| member[k][place]);
        let places = 0..members[0][k].len();
        let mean: Vec<f64> = places.map(|p| at(p).sum::<f64>() / m).collect();
        let sd = |(p, mean): (usize, &f64)| {
            let squares: f64 = at(p).map(|x| (x - mean).powi(2)).sum();
            (squares / (m - 1.0)).sqrt()
        };
        let spread = (members.len() > 1).then(|| mean.iter().enumerate().map(sd).collect());
        Joined { mean, spread }
    };
    (0..members[0].len()).map(step).collect()
}

/// A static field of the data, so that a forecast can be read as data itself.
fn static_field((name, values): &(String, Vec<f32>)) -> (GridVariable, Vec<f32>) {
    let variable = GridVariable {
        name: name.clone(),
        units: String::new(),
        long_name: format!("{name} of the data"),
        has_levels: false,
    };
    (variable, values.clone())
}

/// The numbers of the forecast channels of a variable.
fn channels_of(problem: &Problem, name: &str) -> Vec<usize> {
    let all = problem.targets_in_order().iter().copied();
    all.filter(|&k| problem.archive.channels[k].variable == name)
        .collect()
}

/// The variables of a forecast: the means, and behind all means the spreads of an ensemble.
fn variables(problem: &Problem, names: &[&str], is_ensemble: bool) -> Vec<GridVariable> {
    let parts: &[(&str, &str)] = match is_ensemble {
        false => &[("", "forecast of")],
        true => &[
            ("", "mean of forecasts of"),
            ("_spread", "standard deviation of forecasts of"),
        ],
    };
    let variables = parts.iter().flat_map(|(ending, what)| {
        names.iter().map(move |name| {
            let first = &problem.archive.channels[channels_of(problem, name)[0]];
            GridVariable {
                name: format!("{name}{ending}"),
                units: first.units.clone(),
                long_name: format!("{what} {name}"),
                has_levels: first.level.is_some(),
            }
        })
    });
    variables.collect()
}

/// Writes the forecast channels, whole variables at a time; what is not forecast is left out.
fn write(
    output: &Path,
    problem: &Problem,
    attributes: Vec<(String, String)>,
    (times, states): (&[Time], &[Joined]),
) -> Result<()> {
    let archive = &problem.archive;
    let n_channels = archive.channels.len();
    let mut names: Vec<&str> = Vec::new();
    let mut levels: Vec<f64> = Vec::new();
    for channel in problem.target_channels() {
        if !names.contains(&channel.variable.as_str()) {
            names.push(&channel.variable);
        }
        if let Some(level) = channel.level.filter(|p| !levels.contains(p)) {
            levels.push(level);
        }
    }
    let is_ensemble = states.iter().any(|state| state.spread.is_some());
    let header = GridHeader {
        title: "Forecast of a graph network by Fitzroy".into(),
        attributes,
        times: times.to_vec(),
        levels,
        curved: archive.curved,
        lat: archive.lat.clone(),
        lon: archive.lon.clone(),
        variables: variables(problem, &names, is_ensemble),
        statics: archive.statics.iter().map(static_field).collect(),
        compression: 4,
    };
    let mut inside = vec![false; archive.n_nodes()];
    for &node in problem.outputs() {
        inside[node as usize] = true;
    }
    let mut file = GridFile::create(output, header)?;
    for (record, state) in states.iter().enumerate() {
        let fields = [Some(&state.mean), state.spread.as_ref()];
        let all = fields.into_iter().flatten();
        let all = all.flat_map(|field| names.iter().map(move |name| (field, name)));
        for (number, (state, name)) in all.enumerate() {
            let mut values = Vec::new();
            for channel in channels_of(problem, name) {
                values.extend((0..archive.n_nodes()).map(|node| {
                    let x = state[node * n_channels + channel] as f32;
                    let held = archive.is_held(node * n_channels + channel);
                    if inside[node] && !held { x } else { f32::NAN }
                }));
            }
            file.write(record, number, &values)?;
        }
    }
    file.finish()
}
