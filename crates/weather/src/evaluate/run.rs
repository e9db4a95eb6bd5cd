//! Forecasts of a trained model, and its scores beside the baselines'.

use super::baselines::Climatology;
use super::scores::{Score, Tally};
use crate::data::{Channel, FORCINGS, Linear, Split, forcings};
use crate::time::Time;
use crate::train::{Predictor, Problem};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::nn::{Pool, Recompute};

/// What to score.
#[derive(Clone, Debug)]
pub struct Options {
    /// Steps ahead, at most.
    pub leads: usize,
    /// First initial time; the test split's first without.
    pub from: Option<Time>,
    /// Last initial time.
    pub until: Option<Time>,
    /// Initial times at most, evenly spread; 0: all.
    pub starts_max: usize,
    /// Whether persistence, climatology and the linear model are scored too.
    pub baselines: bool,
}

/// Scores of one method.
#[derive(Clone, Debug)]
pub struct Scored {
    /// `model`, `persistence`, `climatology` or `linear`.
    pub method: &'static str,
    /// Lead by lead, channel by channel.
    pub scores: Vec<Vec<Score>>,
}

/// All scores, and the last forecast for maps.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// Channels, as scored.
    pub channels: Vec<Channel>,
    /// Hours from one lead to the next.
    pub step_hours: f64,
    /// Initial times.
    pub n_starts: usize,
    /// First and last initial time.
    pub span: (Time, Time),
    /// The model first.
    pub methods: Vec<Scored>,
    /// Hours of each lead of the maps, with truth and forecast of all channels (node, channel),
    /// in the channels' units, from the first initial time.
    pub maps: Vec<(f64, Vec<f64>, Vec<f64>)>,
    /// Latitudes of the maps.
    pub lat: Vec<f64>,
    /// Longitudes of the maps.
    pub lon: Vec<f64>,
    /// Channels of the maps, scored or not.
    pub n_channels: usize,
    /// By scored channel, its place among those of the maps.
    pub places: Vec<usize>,
}

impl Evaluation {
    fn rmse(&self, method: &str, lead: usize, channel: usize) -> Option<f64> {
        let found = self.methods.iter().find(|m| m.method == method)?;
        Some(found.scores.get(lead)?.get(channel)?.rmse)
    }

    /// Channels and leads at which the model is not below the linear model at the first lead, or
    /// not below persistence at any lead up to 48 hours; in words.
    pub fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        let leads = self.methods[0].scores.len();
        for (k, channel) in self.channels.iter().enumerate() {
            for lead in 0..leads {
                let hours = (lead + 1) as f64 * self.step_hours;
                let own = self.rmse("model", lead, k);
                let mut hold = |other: &str| {
                    if let (Some(own), Some(theirs)) = (own, self.rmse(other, lead, k))
                        && !(own < theirs)
                    {
                        let label = channel.label();
                        failures.push(format!(
                            "{label}, {hours} h: RMSE {own:.4} is not below {other}'s {theirs:.4}"
                        ));
                    }
                };
                if lead == 0 {
                    hold("linear");
                }
                if hours <= 48.0 {
                    hold("persistence");
                }
            }
        }
        failures
    }
}

/// Scores a model.
///
/// On the boundary all methods get the truth; only the inside is scored. Leads without truth
/// (a gap, the end) are left out.
///
/// # Errors
/// No initial time lies between the dates.
pub fn evaluate(
    problem: &Problem,
    parameters: &[f32],
    pool: &mut Pool,
    options: &Options,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Option<Evaluation>> {
    let archive = &problem.archive;
    let leads = if problem.is_forecast() {
        options.leads.max(1)
    } else {
        1
    };
    let inside = |t: &u32| {
        let time = archive.times[*t as usize];
        options.from.is_none_or(|from| time >= from)
            && options.until.is_none_or(|until| time <= until)
    };
    let mut starts: Vec<u32> = problem.windows(Split::Test, leads).0;
    starts.retain(inside);
    if starts.is_empty() {
        return Err(Error::new(
            ErrorKind::Data,
            format!(
                "no forecast of {leads} steps starts between the dates inside of the test split \
                 ({} to {})",
                archive.times[problem.splits.test.start].iso(),
                archive.times[problem.splits.test.end - 1].iso()
            ),
        ));
    }
    if options.starts_max > 0 && starts.len() > options.starts_max {
        let n = starts.len();
        let most = options.starts_max;
        starts = (0..most).map(|k| starts[k * n / most]).collect();
    }
    let mut scorer = Scorer::new(problem, options, leads);
    let mut predictor = Predictor::new(problem, pool, 1, 1, Recompute::Mlp)?;
    predictor.embed(pool, parameters);
    for (count, &start) in starts.iter().enumerate() {
        scorer.start(problem, parameters, pool, &mut predictor, start as usize);
        if !progress(count + 1, starts.len()) {
            return Ok(None);
        }
    }
    let span = [starts[0], starts[starts.len() - 1]].map(|t| archive.times[t as usize]);
    Ok(Some(scorer.finish(
        problem,
        starts.len(),
        (span[0], span[1]),
    )))
}

struct Scorer {
    methods: Vec<&'static str>,
    /// (method, lead, channel).
    tallies: Vec<Vec<Vec<Tally>>>,
    climatology: Climatology,
    linear: Option<Linear>,
    leads: usize,
    /// Scored places among the outputs, and their weights, which sum to 1.
    places: Vec<usize>,
    weights: Vec<f64>,
    maps: Vec<(f64, Vec<f64>, Vec<f64>)>,
}

impl Scorer {
    fn new(problem: &Problem, options: &Options, leads: usize) -> Self {
        let mut methods = vec!["model"];
        let mut linear = None;
        if options.baselines {
            methods.extend(["persistence", "climatology"]);
            if problem.is_forecast() {
                methods.push("linear");
                linear = Some(Linear::fit(&problem.archive, &problem.splits.train));
            }
        }
        let weights = &problem.node_weights;
        let places: Vec<usize> = (0..weights.len()).filter(|&k| weights[k] != 0.0).collect();
        let total: f64 = places.iter().map(|&k| f64::from(weights[k])).sum();
        let n_channels = problem.target_channels().len();
        Scorer {
            tallies: vec![vec![vec![Tally::default(); n_channels]; leads]; methods.len()],
            methods,
            climatology: Climatology::new(&problem.archive, &problem.splits.train),
            linear,
            leads,
            weights: places
                .iter()
                .map(|&k| f64::from(weights[k]) / total)
                .collect(),
            places,
            maps: Vec::new(),
        }
    }

    /// One forecast by every method, scored at every lead.
    fn start(
        &mut self,
        problem: &Problem,
        parameters: &[f32],
        pool: &mut Pool,
        predictor: &mut Predictor,
        t: usize,
    ) {
        let archive = &problem.archive;
        let sizes = archive.n_nodes() * FORCINGS;
        let known = |t: usize| {
            let mut out = vec![0.0; sizes];
            forcings(archive.times[t], &archive.lat, &archive.lon, &mut out);
            out
        };
        predictor.start(archive.record(t - 1), archive.record(t));
        let mut linear = (archive.record(t - 1).to_vec(), archive.record(t).to_vec());
        for lead in 0..self.leads {
            let truth = archive.record(t + lead + 1);
            let sun = [0, 1, 2].map(|k| known(t + lead + k - 1));
            let sun = [&sun[0][..], &sun[1][..], &sun[2][..]];
            predictor.step(problem, pool, parameters, (lead, 0), sun, Some(truth));
            self.tally(problem, 0, lead, t, predictor.state(lead + 2));
            for (method, name) in self.methods.clone().into_iter().enumerate().skip(1) {
                match name {
                    "persistence" => self.tally(problem, method, lead, t, archive.record(t)),
                    "climatology" => {
                        let usual = self.climatology.at(archive, t + lead + 1).to_vec();
                        self.tally(problem, method, lead, t, &usual);
                    }
                    _ => {
                        let Some(model) = &self.linear else { continue };
                        let mut next = vec![0.0; truth.len()];
                        model.change(&linear.0, &linear.1, &mut next);
                        next.iter_mut().zip(&linear.1).for_each(|(d, x)| *d += x);
                        force(problem, truth, &mut next);
                        self.tally(problem, method, lead, t, &next);
                        linear = (linear.1, next);
                    }
                }
            }
            if self.maps.len() < self.leads {
                let hours = (lead + 1) as f64 * archive.step_s as f64 / 3600.0;
                let whole = |state: &[f32]| restored(problem, state);
                self.maps
                    .push((hours, whole(truth), whole(predictor.state(lead + 2))));
            }
        }
    }

    fn tally(&mut self, problem: &Problem, method: usize, lead: usize, t: usize, state: &[f32]) {
        let archive = &problem.archive;
        let n = archive.channels.len();
        let truth = archive.record(t + lead + 1);
        let usual = self.climatology.at(archive, t + lead + 1);
        for (k, &channel) in problem.targets_in_order().iter().enumerate() {
            let rain = archive.channels[channel].is_rain();
            let pick = |state: &[f32]| -> Vec<f64> {
                let at = |&place: &usize| problem.outputs()[place] as usize * n + channel;
                let value = |place: &usize| problem.normaliser.restore(channel, state[at(place)]);
                // Rain is not negative, whatever a model says.
                let held = |x: f64| if rain { x.max(0.0) } else { x };
                self.places.iter().map(|place| held(value(place))).collect()
            };
            let (f, o, c) = (pick(state), pick(truth), pick(usual));
            self.tallies[method][lead][k].add(&self.weights, &f, &o, &c, rain);
        }
    }

    fn finish(self, problem: &Problem, n_starts: usize, span: (Time, Time)) -> Evaluation {
        let channels: Vec<Channel> = problem.target_channels().into_iter().cloned().collect();
        let score = |tallies: &Vec<Tally>| -> Vec<Score> {
            let pairs = tallies.iter().zip(&channels);
            pairs.filter_map(|(t, c)| t.score(c.is_rain())).collect()
        };
        let methods = self
            .methods
            .iter()
            .zip(&self.tallies)
            .map(|(&method, leads)| Scored {
                method,
                scores: leads.iter().map(score).collect(),
            });
        Evaluation {
            methods: methods.collect(),
            channels,
            step_hours: problem.archive.step_s as f64 / 3600.0,
            n_starts,
            span,
            maps: self.maps,
            lat: problem.archive.lat.clone(),
            lon: problem.archive.lon.clone(),
            n_channels: problem.archive.channels.len(),
            places: problem.targets_in_order().to_vec(),
        }
    }
}

/// Puts the truth on the boundary.
fn force(problem: &Problem, truth: &[f32], state: &mut [f32]) {
    let n = problem.archive.channels.len();
    for (place, &node) in problem.outputs().iter().enumerate() {
        if problem.node_weights[place] == 0.0 {
            let at = node as usize * n;
            state[at..at + n].copy_from_slice(&truth[at..at + n]);
        }
    }
}

/// A state in the channels' units.
fn restored(problem: &Problem, state: &[f32]) -> Vec<f64> {
    let n = problem.archive.channels.len();
    let value = |(k, &x): (usize, &f32)| {
        let value = problem.normaliser.restore(k % n, x);
        if problem.archive.channels[k % n].is_rain() {
            value.max(0.0)
        } else {
            value
        }
    };
    state.iter().enumerate().map(value).collect()
}

/// Forecasts `steps` steps from record `t`: states in the channels' units. The boundary comes
/// from the archive's later records.
///
/// # Errors
/// A record before the start, or one of the boundary, is missing.
pub fn forecast(
    problem: &Problem,
    parameters: &[f32],
    pool: &mut Pool,
    t: usize,
    steps: usize,
) -> Result<Vec<Vec<f64>>> {
    let archive = &problem.archive;
    let step_s = archive.step_s;
    let at = |k: i64| {
        let time = Time(archive.times[t].0 + k * step_s);
        archive.times.binary_search(&time).ok().ok_or_else(|| {
            let what = if k < 0 {
                "a forecast starts from two states one step apart"
            } else {
                "the boundary is forced with later states; append them to --data, or give them \
                 as --boundary"
            };
            let message = format!("there is no record of {}: {what}", time.iso());
            Error::new(ErrorKind::Data, message)
        })
    };
    let known = |time: i64| {
        let mut out = vec![0.0; archive.n_nodes() * FORCINGS];
        let time = Time(archive.times[t].0 + time * step_s);
        forcings(time, &archive.lat, &archive.lon, &mut out);
        out
    };
    let forced = problem.node_weights.contains(&0.0);
    let mut predictor = Predictor::new(problem, pool, 1, 1, Recompute::Mlp)?;
    predictor.embed(pool, parameters);
    predictor.start(archive.record(at(-1)?), archive.record(t));
    let mut states = Vec::new();
    for step in 0..steps {
        let truth = if forced {
            Some(archive.record(at(step as i64 + 1)?))
        } else {
            None
        };
        let sun = [-1, 0, 1].map(|k| known(step as i64 + k));
        let sun = [&sun[0][..], &sun[1][..], &sun[2][..]];
        predictor.step(problem, pool, parameters, (step, 0), sun, truth);
        states.push(restored(problem, predictor.state(step + 2)));
    }
    Ok(states)
}
