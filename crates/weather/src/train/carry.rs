//! A training that starts from the weights of another: what is taken over, and what is new.

use super::checkpoint::{Checkpoint, Found};
use super::identity::{differing, saved_architecture, saved_forcing, saved_task};
use super::model::initial;
use super::problem::{Architecture, Problem, Task};
use super::scales::Scales;
use super::weights::Weighting;
use crate::data::{Archive, Channel, Climatology, FORCINGS, Normaliser, Splits};
use fitzroy::{Error, Result};
use fitzroy_device::nn::{Network, Parameter, Recompute};
use serde_json::{Value, json};

/// What a checkpoint keeps of where a problem came from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// How the files were read (`Reading::to_json`).
    pub reading: Value,
    /// The run whose weights were taken over ([`Carried::to_json`]).
    pub origin: Value,
    /// The average of the hour over the training records, from a checkpoint.
    pub climatology: Option<Climatology>,
    /// Parameters to start from; fresh ones where there are none.
    pub(super) parameters: Option<Vec<f32>>,
}

/// What was taken over from a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    /// The checkpoint.
    pub checkpoint: String,
    /// Its step.
    pub step: u64,
    /// Whether its average of parameters was taken.
    pub averaged: bool,
    /// Channels that it knows.
    pub channels: Vec<String>,
    /// Channels that it does not know.
    pub new_channels: Vec<String>,
    /// Static fields that it does not know.
    pub new_statics: Vec<String>,
    /// Parameters that were taken over, and new ones.
    pub parameters: (usize, usize),
    /// Where its training was different, in words.
    pub notes: Vec<String>,
}

impl Carried {
    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "checkpoint": self.checkpoint, "step": self.step,
            "weights": if self.averaged { "average" } else { "last" },
            "channels": self.channels, "new_channels": self.new_channels,
            "new_statics": self.new_statics, "parameters": self.parameters.0,
            "new_parameters": self.parameters.1, "notes": self.notes,
        })
    }

    /// The same in words.
    pub fn lines(&self) -> Vec<String> {
        let weights = match self.averaged {
            true => "the averaged weights (EMA)",
            false => "the weights",
        };
        let mut lines = vec![format!(
            "starts from {weights} of {}, step {}: {} parameters taken over, {} new",
            self.checkpoint, self.step, self.parameters.0, self.parameters.1
        )];
        if !self.new_channels.is_empty() {
            lines.push(format!(
                "channels taken over with their scales: {}; new: {}",
                self.channels.join(", "),
                self.new_channels.join(", ")
            ));
        }
        if !self.new_statics.is_empty() {
            lines.push(format!(
                "new static fields: {}",
                self.new_statics.join(", ")
            ));
        }
        lines.extend(self.notes.iter().cloned());
        lines
    }
}

/// The place of each of `own` among `theirs`.
///
/// # Errors
/// One of `theirs` is not among `own`: all that are missing.
fn places(kind: &str, own: &[String], theirs: &[String]) -> Result<Vec<Option<usize>>> {
    let missing = theirs.iter().filter(|name| !own.contains(name));
    let missing: Vec<&str> = missing.map(String::as_str).collect();
    if !missing.is_empty() {
        return Err(Error::data(format!(
            "⟨init_from⟩: the checkpoint was trained on {kind} that the data lack or that are not \
             among ⟨variables⟩ and ⟨levels⟩: {}; a network can gain channels, not lose them",
            missing.join(", ")
        )));
    }
    let place = |name: &String| theirs.iter().position(|other| other == name);
    Ok(own.iter().map(place).collect())
}

/// Labels of the channels in an identity.
fn labels(id: &Value) -> Vec<String> {
    let channels = id["channels"].as_array().into_iter().flatten();
    let label = |c: &Value| {
        let channel = Channel {
            variable: c["variable"].as_str().unwrap_or_default().into(),
            level: c["level"].as_f64(),
            units: String::new(),
        };
        channel.label()
    };
    channels.map(label).collect()
}

fn static_names(id: &Value) -> Vec<String> {
    let names = id["statics"].as_array().into_iter().flatten();
    names.filter_map(|n| n.as_str().map(String::from)).collect()
}

/// Refuses a network into which the weights do not fit, and says what else is different.
fn compare(
    id: &Value,
    archive: &Archive,
    architecture: &Architecture,
    task: &Task,
) -> Result<Vec<String>> {
    let (theirs, old) = (saved_architecture(id)?, saved_task(id)?);
    let apart = differing((&theirs, architecture), (&old, task));
    if !apart.is_empty() {
        let all = apart
            .iter()
            .map(|(name, theirs, own)| format!("⟨{name}⟩ is {theirs} there, {own} here"));
        return Err(Error::usage(format!(
            "⟨init_from⟩ takes over weights, which fit into the same network alone: {}; leave \
             these settings out to have the checkpoint's",
            all.collect::<Vec<_>>().join("; ")
        )));
    }
    let hours = |s: i64| s as f64 / 3600.0;
    let step_s = id["step_s"].as_i64().unwrap_or(archive.step_s);
    if step_s != archive.step_s {
        return Err(Error::data(format!(
            "⟨init_from⟩: the checkpoint forecasts steps of {} h, the data have steps of {} h",
            hours(step_s),
            hours(archive.step_s)
        )));
    }
    let mut notes = Vec::new();
    if id["lat"] != json!(archive.lat) || id["lon"] != json!(archive.lon) {
        notes.push("the grid is another one than the checkpoint's".to_string());
    }
    if old != *task {
        notes.push("boundary or boxes are other ones than the checkpoint's".to_string());
    }
    Ok(notes)
}

/// A weighting with the variables that the network of a checkpoint reads alone.
///
/// # Errors
/// Others are asked for.
fn with_forcing(id: &Value, weighting: Weighting) -> Result<Weighting> {
    let (saved, mut asked) = (saved_forcing(id), weighting.forcing.clone());
    asked.sort();
    asked.dedup();
    if !asked.is_empty() && asked != saved {
        return Err(Error::usage(format!(
            "⟨forcing {}⟩: the network of the checkpoint reads alone {}; leave ⟨forcing⟩ out to have \
             the same",
            asked.join(","),
            match saved.is_empty() {
                true => "nothing".to_string(),
                false => saved.join(", "),
            }
        )));
    }
    Ok(Weighting {
        forcing: saved,
        ..weighting
    })
}

impl Problem {
    /// A problem whose training starts from the weights of `found`. Channels that its network
    /// knows keep their scales and what forecasts of them go on from.
    ///
    /// Whatever is new is read with weight 0, so that the first forecasts of the other channels
    /// are the checkpoint's; outputs of new channels are those of a fresh network of `seed`.
    ///
    /// # Errors
    /// Its network is another one, its step another one, or the data lack a channel of it; and
    /// those of [`Problem::new`].
    pub fn carried(
        archive: Archive,
        splits: Splits,
        (task, architecture): (Task, Architecture),
        weighting: Weighting,
        found: &Found,
        seed: u64,
    ) -> Result<(Self, Carried)> {
        let from = &found.checkpoint;
        let id = &from.identity;
        let mut notes = compare(id, &archive, &architecture, &task)?;
        let weighting = with_forcing(id, weighting)?;
        let own: Vec<String> = archive.channels.iter().map(Channel::label).collect();
        let channels = places("channels", &own, &labels(id))?;
        let statics: Vec<String> = archive.statics.iter().map(|s| s.0.clone()).collect();
        let forced = match task {
            Task::Forecast { .. } => places("static fields", &statics, &static_names(id))?,
            Task::Precip(_) => vec![Some(0); statics.len()],
        };
        let saved = Normaliser::from_json(&from.normaliser)?;
        let scales = (Scales::Carried(saved, channels.clone()), None);
        let mut problem = Self::build(archive, splits, task, architecture, weighting, scales)?;
        let network = Network::new(&problem.spec, Recompute::None)?;
        let (parameters, n_taken) = {
            let fresh = initial(&problem, &network, seed);
            let map = Map {
                problem: &problem,
                channels: &channels,
                statics: &forced,
                n_statics: static_names(id).len(),
            };
            map.parameters(network.parameters(), fresh, from)?
        };
        let named = |names: &[String], places: &[Option<usize>], known: bool| -> Vec<String> {
            let pairs = names.iter().zip(places);
            let kept = pairs.filter(|(_, place)| place.is_some() == known);
            kept.map(|(name, _)| name.clone()).collect()
        };
        if !from.origin.is_null() {
            notes.push(format!("it started from {}", from.origin["checkpoint"]));
        }
        let carried = Carried {
            checkpoint: found.path.display().to_string(),
            step: from.progress.step,
            averaged: from.average.is_some(),
            channels: named(&own, &channels, true),
            new_channels: named(&own, &channels, false),
            new_statics: named(&statics, &forced, false),
            parameters: (n_taken, parameters.len() - n_taken),
            notes,
        };
        problem.provenance.parameters = Some(parameters);
        problem.provenance.origin = carried.to_json();
        Ok((problem, carried))
    }

    /// The problem of a training that goes on: with the scales of its checkpoint where that is of
    /// the same channels and the same network, and with fresh ones where it is not, which
    /// [`super::resumed`] then refuses.
    ///
    /// # Errors
    /// Those of [`Problem::new`].
    pub fn going_on(
        archive: Archive,
        splits: Splits,
        (task, architecture): (Task, Architecture),
        weighting: Weighting,
        from: &Checkpoint,
    ) -> Result<Self> {
        let own: Vec<String> = archive.channels.iter().map(Channel::label).collect();
        let same = labels(&from.identity) == own
            && saved_architecture(&from.identity)?.baseline == architecture.baseline;
        let scales = match same {
            true => Scales::Saved(Normaliser::from_json(&from.normaliser)?),
            false => Scales::Fresh,
        };
        let scales = (scales, None);
        Self::build(archive, splits, task, architecture, weighting, scales)
    }
}

/// Where the inputs and outputs of a network are in that of a checkpoint.
struct Map<'a> {
    problem: &'a Problem,
    /// Channels there.
    channels: &'a [Option<usize>],
    /// Static fields there.
    statics: &'a [Option<usize>],
    /// Static fields that it has.
    n_statics: usize,
}

impl Map<'_> {
    /// For each input of a fed node its place there.
    fn inputs(&self) -> Vec<Option<usize>> {
        let n = self.channels.iter().flatten().count();
        let both = (0..2).flat_map(|state| {
            let place = move |from: &Option<usize>| from.map(|k| state * n + k);
            self.channels.iter().map(place)
        });
        let mut all: Vec<Option<usize>> = both.collect();
        if self.problem.is_forecast() {
            let known = 2 * n + 3 * FORCINGS;
            all.extend((2 * n..known).map(Some));
            all.extend(self.statics.iter().map(|from| from.map(|k| known + k)));
            // Behind the fields stand the place of a node and its boundary.
            let places = self.problem.statics.1 - self.statics.len();
            let first = known + self.n_statics;
            all.extend((first..first + places).map(Some));
        }
        all
    }

    /// For each output its place there: channels of a forecast, rain alone otherwise.
    fn outputs(&self) -> Vec<Option<usize>> {
        if !self.problem.is_forecast() {
            return vec![Some(0)];
        }
        // The same variables are read alone there.
        let targets = self.problem.targets.iter();
        let places: Vec<Option<usize>> = targets.map(|&k| self.channels[k]).collect();
        let mut theirs: Vec<usize> = places.iter().flatten().copied().collect();
        theirs.sort_unstable();
        let rank = |place: usize| theirs.iter().filter(|&&other| other < place).count();
        places.into_iter().map(|place| place.map(rank)).collect()
    }

    /// Parameters to start from, and how many of them are the checkpoint's.
    fn parameters(
        &self,
        arrays: &[Parameter],
        mut all: Vec<f32>,
        from: &Checkpoint,
    ) -> Result<(Vec<f32>, usize)> {
        let fed: Vec<String> = (self.problem.fed.iter())
            .map(|fed| format!("embed.nodes.{}.w0", self.problem.spec.nodes[fed.set].name))
            .collect();
        let last = self.problem.spec.n_hidden;
        let (weights, bias) = (format!("decode.w{last}"), format!("decode.b{last}"));
        let mut n_taken = 0;
        for array in arrays {
            let theirs = from.arrays.iter().find(|a| a.name == array.name);
            let theirs = theirs.ok_or_else(|| {
                Error::data(format!(
                    "⟨init_from⟩: the checkpoint has no weights `{}`",
                    array.name
                ))
            })?;
            let (rows, columns) = match array.shape[..] {
                [rows, columns] => (rows, columns),
                _ => (1, array.n()),
            };
            let whole = |n: usize| (0..n).map(Some).collect::<Vec<_>>();
            let is_input = fed.contains(&array.name);
            let from_row = if is_input { self.inputs() } else { whole(rows) };
            let is_output = array.name == weights || array.name == bias;
            let from_column = match is_output {
                true => self.outputs(),
                false => whole(columns),
            };
            let width = theirs.shape.last().copied().unwrap_or(1);
            let height = from_row.iter().flatten().count();
            let fits =
                theirs.n() == height * width && width == from_column.iter().flatten().count();
            if !fits {
                return Err(Error::data(format!(
                    "⟨init_from⟩: the weights `{}` are {:?} there, and do not fit into {:?}",
                    array.name, theirs.shape, array.shape
                )));
            }
            let own = &mut all[array.offset..array.offset + array.n()];
            for (row, line) in from_row.iter().zip(own.chunks_exact_mut(columns)) {
                for (column, x) in from_column.iter().zip(line) {
                    match (row, column) {
                        (Some(row), Some(column)) => {
                            n_taken += 1;
                            *x = from.best_parameters()[theirs.offset + row * width + column];
                        }
                        (None, _) => *x = 0.0,
                        (_, None) => {}
                    }
                }
            }
        }
        Ok((all, n_taken))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Folder, archive, last, on_processor, problem_from, run, settings};
    use super::super::{Baseline, GraphKind, Settings};
    use super::*;
    use crate::data::SplitBy;
    use crate::evaluate::forecast;

    fn splits(archive: &Archive) -> Splits {
        let by = SplitBy::Ratios {
            train: 0.6,
            validation: 0.2,
        };
        Splits::new(archive, &by).unwrap()
    }

    /// The archive of the tests with one more channel, at place `at`, and a static field.
    fn wider(n_times: usize, at: usize) -> Archive {
        let mut wide = archive(n_times);
        let n = wide.channels.len();
        wide.channels.insert(
            at,
            Channel {
                variable: "V".into(),
                level: Some(850.0),
                units: String::new(),
            },
        );
        let records = wide.values.chunks_exact(n).enumerate();
        let more = records.flat_map(|(k, own)| {
            let mut all = own.to_vec();
            all.insert(at, 7.0 + (0.37 * k as f32).sin() + 0.1 * own[0] * own[1]);
            all
        });
        wide.values = more.collect::<Vec<f32>>().into();
        let field = (0..90).map(|k| (k % 7) as f32).collect();
        wide.statics = vec![("hills".into(), field)];
        wide
    }

    fn trained(baseline: Baseline, graph: GraphKind, folder: &Folder) -> (Problem, Found) {
        let task = Task::Forecast { boundary_width: 1 };
        let problem = problem_from(archive(60), task, graph, baseline);
        let settings = Settings {
            max_steps: Some(12),
            ..settings()
        };
        run(&problem, &settings, None, &folder.0);
        let found = super::super::find(&folder.0).unwrap();
        assert!(found.checkpoint.average.is_some());
        (problem, found)
    }

    fn carried(archive: Archive, found: &Found) -> Result<(Problem, Carried)> {
        let id = &found.checkpoint.identity;
        let sizes = (saved_task(id)?, saved_architecture(id)?);
        let splits = splits(&archive);
        Problem::carried(archive, splits, sizes, Weighting::default(), found, 9)
    }

    fn forecasts(problem: &Problem, parameters: &[f32]) -> Vec<Vec<f64>> {
        forecast(problem, &mut on_processor(problem, parameters, 3), 20)
            .unwrap()
            .remove(0)
    }

    /// With nothing changed forecasts are the same bit for bit, also after a step whose rate is 0.
    #[test]
    fn weights_taken_over_unchanged_forecast_the_same_bits() {
        for (baseline, graph) in [
            (Baseline::Linear, GraphKind::Flat),
            (Baseline::Momentum, GraphKind::Mesh),
        ] {
            let folder = Folder::new(&format!("carry-{baseline:?}"));
            let (problem, found) = trained(baseline, graph, &folder);
            let expected = forecasts(&problem, found.checkpoint.best_parameters());
            let (again, told) = carried(archive(60), &found).unwrap();
            assert_eq!(told.parameters.1, 0);
            assert_eq!(again.normaliser, problem.normaliser);
            let still = Settings {
                max_steps: Some(1),
                average: None,
                ..settings()
            };
            let other = Folder::new(&format!("carry-on-{baseline:?}"));
            run(&again, &still, None, &other.0);
            let after = last(&other.0);
            assert_eq!(after.progress.step, 1);
            assert!(after.origin["checkpoint"].is_string());
            assert!(forecasts(&again, after.best_parameters()) == expected);
            // What was taken over is the best until something is better.
            let best = Checkpoint::load(&other.0.join("best.safetensors")).unwrap();
            assert!(best.parameters == after.parameters);
        }
    }

    /// A channel more, before, between and behind the others, and a static field: the first forecasts of the others
    /// are the same bits, what is new is counted, and the new channel begins as a fresh network's.
    #[test]
    fn an_added_variable_leaves_the_forecasts_of_the_others() {
        for (baseline, graph) in [
            (Baseline::Linear, GraphKind::Mesh),
            (Baseline::Momentum, GraphKind::Flat),
        ] {
            let folder = Folder::new(&format!("wider-{baseline:?}"));
            let (problem, found) = trained(baseline, graph, &folder);
            let expected = forecasts(&problem, found.checkpoint.best_parameters());
            for at in 0..4 {
                let (wide, told) = carried(wider(60, at), &found).unwrap();
                assert_eq!(told.new_channels, ["V 850 hPa"]);
                assert_eq!(told.new_statics, ["hills"]);
                // Its state, its tendency and the field, 16 wide, and a column of 16 with its offset.
                assert_eq!(told.parameters.1, 3 * 16 + 16 + 1);
                let parameters = wide.provenance.parameters.clone().unwrap();
                let own = forecasts(&wide, &parameters);
                for (own, expected) in own.iter().zip(&expected) {
                    let kept = own.iter().enumerate().filter(|(k, _)| k % 4 != at);
                    let kept: Vec<f64> = kept.map(|(_, x)| *x).collect();
                    assert!(kept == *expected, "{baseline:?} {at}");
                }
                let fresh = problem_from(
                    wider(60, at),
                    Task::Forecast { boundary_width: 1 },
                    graph,
                    baseline,
                );
                let n = (&wide.normaliser, &fresh.normaliser);
                assert_eq!((n.0.mean[at], n.0.sd[at]), (n.1.mean[at], n.1.sd[at]));
                assert!(n.0.rest_sd[at] > 0.0 && n.0.rest_sd[at] != 1.0);
                assert!(Checkpoint::load(&found.path).unwrap() == found.checkpoint);
            }
        }
    }

    #[test]
    fn networks_that_do_not_fit_are_refused_with_what_differs() {
        let folder = Folder::new("misfit");
        let (_, found) = trained(Baseline::Linear, GraphKind::Flat, &folder);
        let refused = |archive: Archive, change: &dyn Fn(&mut Architecture, &mut Task)| {
            let id = &found.checkpoint.identity;
            let mut sizes = (saved_task(id).unwrap(), saved_architecture(id).unwrap());
            change(&mut sizes.1, &mut sizes.0);
            let splits = splits(&archive);
            let weighting = Weighting::default();
            let made = Problem::carried(archive, splits, sizes, weighting, &found, 1);
            made.err().unwrap().to_string()
        };
        let said = refused(archive(60), &|a, _| (a.latent, a.n_layers) = (32, 3));
        assert!(
            said.contains("⟨latent_size⟩ is 16 there, 32 here"),
            "{said}"
        );
        assert!(
            said.contains("⟨num_gnn_layers⟩ is 2 there, 3 here"),
            "{said}"
        );
        let said = refused(archive(60), &|a, _| a.graph = GraphKind::Mesh);
        assert!(said.contains("⟨graph⟩ is flat there, mesh here"), "{said}");
        let mut less = archive(60);
        less.channels.truncate(2);
        let two = less.values.chunks(3).flat_map(|x| [x[0], x[1]]);
        less.values = two.collect::<Vec<f32>>().into();
        let said = refused(less, &|_, _| {});
        assert!(
            said.contains("lack") && said.contains(": precipitation;"),
            "{said}"
        );
        let mut slow = archive(60);
        slow.times.iter_mut().for_each(|t| t.0 *= 2);
        slow.step_s *= 2;
        let said = refused(slow, &|_, _| {});
        assert!(
            said.contains("steps of 6 h, the data have steps of 12 h"),
            "{said}"
        );
    }
}
