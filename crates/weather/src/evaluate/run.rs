//! Forecasts of a trained model, and its scores beside the baselines'.

use super::areas::{Area, Areas};
use super::baselines::Ridges;
use super::forecast::{force, restored};
use super::found::{Evaluation, Scored};
use super::scores::Tally;
use super::spatial::SpatialSums;
use crate::data::{Channel, Climatology, Forecasts, Linear, Split};
use crate::time::Time;
use crate::train::{Extent, Forecaster, Problem, Rollout, Start, untrained};
use fitzroy::{Error, ErrorKind, Result};
use std::borrow::Cow;

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
    /// Whether the baselines are scored too.
    pub baselines: bool,
    /// Forecasts of others; where there are some, the initial times are theirs.
    pub forecasts: Forecasts,
    /// Parts of the region to score by themselves, too.
    pub areas: Vec<Area>,
}

impl Options {
    /// What a forecaster is to be made for, with so many threads or so much memory of a GPU.
    pub fn extent(&self, threads: usize, memory_bytes: Option<u64>) -> Extent {
        Extent {
            steps: self.leads,
            starts: match self.starts_max {
                0 => usize::MAX,
                most => most,
            },
            threads,
            memory_bytes,
        }
    }
}

/// Scores a model, or an ensemble of several sets of parameters of one network, by the forecasts of `forecaster`,
/// whose steps are the leads.
///
/// On the boundary all methods get the truth; only the inside is scored. Leads without truth
/// (a gap, the end) are left out.
///
/// # Errors
/// No initial time lies between the dates.
pub fn evaluate(
    problem: &Problem,
    forecaster: &mut Forecaster<'_>,
    options: &Options,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Option<Evaluation>> {
    let archive = &problem.archive;
    let leads = forecaster.n_steps();
    let inside = |t: &u32| {
        let time = archive.times[*t as usize];
        options.from.is_none_or(|from| time >= from)
            && options.until.is_none_or(|until| time <= until)
    };
    let mut starts: Vec<u32> = problem.windows(Split::Test, leads).0;
    starts.retain(inside);
    let theirs = &options.forecasts;
    if !theirs.is_empty() {
        starts.retain(|t| {
            let t = *t as usize;
            let has = |k| {
                theirs
                    .state(archive.times[t], archive.times[t + k])
                    .is_some()
            };
            (1..=leads).all(has)
        });
    }
    if starts.is_empty() {
        return Err(Error::new(
            ErrorKind::Data,
            format!(
                "no forecast of {leads} steps {}starts between the dates inside of the test split \
                 ({} to {})",
                if theirs.is_empty() {
                    ""
                } else {
                    "for which ⟨forecast⟩ has all times "
                },
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
    let sizes = (leads, starts.len());
    let mut scorer = Scorer::new(problem, options, sizes, forecaster.n_members())?;
    let mut count = 0;
    for part in starts.chunks(forecaster.abreast()) {
        let asked = part.iter().map(|&t| start_at(problem, t as usize, leads));
        let rolled = forecaster.roll(problem, &asked.collect::<Vec<_>>())?;
        for (&start, rolled) in part.iter().zip(&rolled) {
            scorer.add(problem, (rolled, theirs), start as usize);
            count += 1;
            if !progress(count, starts.len()) {
                return Ok(None);
            }
        }
    }
    scorer.check(problem)?;
    let starts = starts.iter().map(|t| archive.times[*t as usize]);
    Ok(Some(scorer.finish(problem, starts.collect())))
}

/// What a forecast from record `t` is made from, with the truth of all leads.
fn start_at(problem: &Problem, t: usize, leads: usize) -> Start<'_> {
    let archive = &problem.archive;
    Start {
        before: archive.record(t - 1),
        now: archive.record(t),
        time: archive.times[t],
        truth: (1..=leads).map(|k| archive.record(t + k)).collect(),
    }
}

/// A baseline that is rolled out like the network: its last two states.
type Rolled = (Vec<f32>, Vec<f32>);

struct Scorer {
    methods: Vec<&'static str>,
    /// (method, lead, channel).
    tallies: Vec<Vec<Vec<Tally>>>,
    climatology: Option<Climatology>,
    ridges: Option<Ridges>,
    notes: Vec<String>,
    leads: usize,
    n_members: usize,
    /// Scored places among the outputs, and their weights, which sum to 1.
    places: Vec<usize>,
    weights: Vec<f64>,
    areas: Areas,
    spatial: SpatialSums,
    maps: Vec<(f64, Vec<f64>, Vec<f64>)>,
    /// Truths that are missing by scored channel, and how many there would be of each.
    missing: (Vec<usize>, usize),
}

impl Scorer {
    fn new(
        problem: &Problem,
        options: &Options,
        (leads, n_starts): (usize, usize),
        n_members: usize,
    ) -> Result<Self> {
        let mut methods = vec!["model"];
        let (mut ridges, mut notes) = (None, Vec::new());
        let trained_on = |split| !problem.windows(split, 1).0.is_empty();
        let known = trained_on(Split::Train);
        let saved = problem.provenance.climatology.is_some();
        if options.baselines {
            methods.push("persistence");
            if known || saved {
                methods.push("climatology");
            }
            if !known {
                let all = match saved {
                    true => "the tuned linear model is left out",
                    false => {
                        "climatology, anomaly correlation and the tuned linear model are left out"
                    }
                };
                notes.push(format!("the data hold none of the training records: {all}"));
            }
            if problem.is_forecast() {
                methods.push("start");
            }
            if problem.is_forecast() && known && trained_on(Split::Validation) {
                methods.push("linear");
                ridges = Some(Ridges::tuned(problem, leads));
            }
        }
        if !options.forecasts.is_empty() {
            methods.push("forecast");
        }
        if n_members > 1 {
            methods.push("member");
        }
        let weights = &problem.node_weights;
        let places: Vec<usize> = (0..weights.len()).filter(|&k| weights[k] != 0.0).collect();
        let total: f64 = places.iter().map(|&k| f64::from(weights[k])).sum();
        let n_channels = problem.target_channels().len();
        let sizes = [methods.len(), leads, n_channels];
        Ok(Scorer {
            areas: Areas::new(problem, &options.areas, &places, sizes)?,
            spatial: SpatialSums::new(problem, &places, &methods, (leads, n_starts)),
            tallies: vec![vec![vec![Tally::default(); n_channels]; leads]; methods.len()],
            methods,
            climatology: problem.provenance.climatology.clone().or_else(|| {
                known.then(|| Climatology::new(&problem.archive, &problem.splits.train))
            }),
            ridges,
            notes,
            leads,
            n_members,
            weights: places
                .iter()
                .map(|&k| f64::from(weights[k]) / total)
                .collect(),
            places,
            maps: Vec::new(),
            missing: (vec![0; n_channels], 0),
        })
    }

    /// One forecast by every method, scored at every lead.
    fn add(&mut self, problem: &Problem, (forecast, theirs): (&Rollout, &Forecasts), t: usize) {
        let archive = &problem.archive;
        self.spatial.begin();
        let first = || (archive.record(t - 1).to_vec(), archive.record(t).to_vec());
        let mut start = first();
        let models = self.ridges.as_ref().map_or(&[][..], Ridges::models);
        let mut rolled: Vec<Rolled> = models.iter().map(|_| first()).collect();
        for lead in 0..self.leads {
            self.count(problem, t + lead + 1);
            let truth = archive.record(t + lead + 1);
            let members = 0..self.n_members;
            let states: Vec<&[f32]> = members.map(|m| forecast.state(m, lead)).collect();
            self.tally(problem, 0, lead, t, &states);
            for (method, name) in self.methods.clone().into_iter().enumerate().skip(1) {
                match name {
                    "persistence" => self.tally(problem, method, lead, t, &[archive.record(t)]),
                    "forecast" => {
                        let state = theirs.state(archive.times[t], archive.times[t + lead + 1]);
                        let Some(state) = state else { continue };
                        self.tally(problem, method, lead, t, &[state]);
                    }
                    "member" => self.tally(problem, method, lead, t, &states[..1]),
                    "climatology" => {
                        let Some(usual) = &self.climatology else {
                            continue;
                        };
                        let usual = usual.at(archive, t + lead + 1).to_vec();
                        self.tally(problem, method, lead, t, &[&usual]);
                    }
                    "start" => {
                        let next = untrained(problem, &start.0, &start.1, Some(truth));
                        start = (start.1, next);
                        self.tally(problem, method, lead, t, &[&start.1]);
                    }
                    _ => {
                        let Some(ridges) = &self.ridges else { continue };
                        for (model, states) in ridges.models().iter().zip(&mut rolled) {
                            advance(problem, model, states, truth);
                        }
                        let chosen = ridges.of_lead(lead);
                        self.tally(problem, method, lead, t, &[&rolled[chosen].1]);
                    }
                }
            }
            if self.maps.len() < self.leads {
                let hours = (lead + 1) as f64 * archive.step_s as f64 / 3600.0;
                let forecast = mean_of(states.iter().map(|state| restored(problem, state)));
                let mut maps = (hours, restored(problem, truth), forecast);
                blank(problem, t + lead + 1, &mut maps);
                self.maps.push(maps);
            }
        }
    }

    fn tally(
        &mut self,
        problem: &Problem,
        method: usize,
        lead: usize,
        t: usize,
        states: &[&[f32]],
    ) {
        let archive = &problem.archive;
        let n = archive.channels.len();
        let truth = archive.record(t + lead + 1);
        let usual = self.climatology.as_ref();
        let usual = usual.map(|c| c.at(archive, t + lead + 1));
        for (k, &channel) in problem.targets_in_order().iter().enumerate() {
            let all = (&self.places[..], &self.weights[..]);
            let (places, weights) = scored(problem, channel, t + lead + 1, all);
            if places.is_empty() {
                self.tallies[method][lead][k].leave_out(states.len());
                continue;
            }
            let rain = archive.channels[channel].is_rain();
            let pick = |state: &[f32]| -> Vec<f64> {
                let at = |&place: &usize| problem.outputs()[place] as usize * n + channel;
                let value = |place: &usize| problem.normaliser.restore(channel, state[at(place)]);
                // Rain is not negative, whatever a model says.
                let held = |x: f64| if rain { x.max(0.0) } else { x };
                places.iter().map(|place| held(value(place))).collect()
            };
            let members: Vec<Vec<f64>> = states.iter().map(|state| pick(state)).collect();
            let (o, c) = (pick(truth), usual.map(pick));
            let tally = &mut self.tallies[method][lead][k];
            match &members[..] {
                [f] => tally.add(&weights, f, &o, c.as_deref(), rain),
                _ => tally.add_ensemble(&weights, &members, &o, c.as_deref(), rain),
            }
            let mean = mean_of(members.into_iter());
            let squares: Vec<f64> = mean.iter().zip(&o).map(|(f, o)| (f - o).powi(2)).collect();
            let node = |&place: &usize| problem.outputs()[place] as usize;
            let nodes: Vec<usize> = places.iter().map(node).collect();
            self.spatial
                .add([method, lead, k], &nodes, (&mean, &o), rain);
            let held: Vec<usize> = (places.iter())
                .filter_map(|place| self.places.binary_search(place).ok())
                .collect();
            self.areas
                .add([method, lead, k], &held, (&weights, &squares));
        }
    }

    /// Counts truths that are missing at a time.
    fn count(&mut self, problem: &Problem, time: usize) {
        let n = problem.archive.channels.len();
        self.missing.1 += self.places.len();
        for (count, &channel) in self.missing.0.iter_mut().zip(problem.targets_in_order()) {
            let node = |&place: &usize| problem.outputs()[place] as usize;
            let nodes = self.places.iter().map(node);
            let missing = nodes.filter(|node| problem.archive.is_missing(time, node * n + channel));
            *count += missing.count();
        }
    }

    /// What was left out of the scores, in words.
    fn left_out(&self, problem: &Problem) -> Option<String> {
        let channels = problem.target_channels();
        let pairs = self.missing.0.iter().zip(channels);
        let all = pairs.filter(|(n, _)| **n > 0).map(|(&n, channel)| {
            let share = 100.0 * n as f64 / self.missing.1 as f64;
            format!("{}: {share:.1} %", channel.label())
        });
        let all: Vec<String> = all.collect();
        let said = format!(
            "Values that are missing are not scored ({}).",
            all.join(", ")
        );
        (!all.is_empty()).then_some(said)
    }

    /// Refuses channels without a known truth at some lead.
    fn check(&self, problem: &Problem) -> Result<()> {
        for (lead, tallies) in self.tallies[0].iter().enumerate() {
            for (tally, channel) in tallies.iter().zip(problem.target_channels()) {
                if tally.series().n_known() == 0 {
                    let hours = (lead + 1) as f64 * problem.archive.step_s as f64 / 3600.0;
                    return Err(Error::data(format!(
                        "{} has no values {hours} h after any of the initial times: score other times, fewer leads, or \
                         leave it out of ⟨variables⟩ when training",
                        channel.label()
                    )));
                }
            }
        }
        Ok(())
    }

    fn finish(mut self, problem: &Problem, starts: Vec<Time>) -> Evaluation {
        self.notes.extend(self.left_out(problem));
        let channels: Vec<Channel> = problem.target_channels().into_iter().cloned().collect();
        let score = |tallies: &Vec<Tally>| {
            let pairs = tallies.iter().zip(&channels);
            let score = |(t, c): (&Tally, &Channel)| t.score(c.is_rain(), self.n_members);
            pairs.filter_map(score).collect()
        };
        let series = |tallies: &Vec<Tally>| tallies.iter().map(|t| t.series().clone()).collect();
        let methods = self
            .methods
            .iter()
            .zip(&self.tallies)
            .map(|(&method, leads)| Scored {
                method,
                scores: leads.iter().map(score).collect(),
                series: leads.iter().map(series).collect(),
            });
        let ridges = self.ridges.as_ref();
        let penalties = (0..self.leads).filter_map(|lead| Some(ridges?.penalty(lead)));
        let archive = &problem.archive;
        Evaluation {
            methods: methods.collect(),
            penalties: penalties.collect(),
            notes: self.notes,
            channels,
            step_hours: problem.archive.step_s as f64 / 3600.0,
            n_starts: starts.len(),
            span: (starts[0], starts[starts.len() - 1]),
            starts,
            n_members: self.n_members,
            areas: self.areas.finish(),
            spatial: self.spatial.finish(),
            maps: self.maps,
            lat: archive.lat.clone(),
            lon: archive.lon.clone(),
            curved: archive.curved,
            n_channels: problem.archive.channels.len(),
            places: problem.targets_in_order().to_vec(),
        }
    }
}

/// Blanks maps of truth and forecast where a channel has no values, and the truth where it is
/// missing.
fn blank(problem: &Problem, time: usize, maps: &mut (f64, Vec<f64>, Vec<f64>)) {
    let (archive, n) = (&problem.archive, problem.archive.channels.len());
    let (_, truth, forecast) = maps;
    for (at, (truth, forecast)) in truth.iter_mut().zip(forecast).enumerate() {
        let absent = archive.absent.get(at % n);
        if absent.is_some_and(|all| all.get(at / n) == Some(&true)) {
            (*truth, *forecast) = (f64::NAN, f64::NAN);
        } else if archive.is_missing(time, at) {
            *truth = f64::NAN;
        }
    }
}

/// The mean of fields.
fn mean_of(fields: impl ExactSizeIterator<Item = Vec<f64>>) -> Vec<f64> {
    let share = 1.0 / fields.len() as f64;
    let mut mean = Vec::new();
    for field in fields {
        mean.resize(field.len(), 0.0);
        mean.iter_mut()
            .zip(&field)
            .for_each(|(m, x)| *m += share * x);
    }
    mean
}

/// Places at which a channel is scored at record `time`, and their weights: not where it has no
/// values, nor where that one is missing.
fn scored<'a>(
    problem: &Problem,
    channel: usize,
    time: usize,
    (places, weights): (&'a [usize], &'a [f64]),
) -> (Cow<'a, [usize]>, Cow<'a, [f64]>) {
    let archive = &problem.archive;
    let absent = archive.absent.get(channel).filter(|all| !all.is_empty());
    if absent.is_none() && archive.mask.is_none() {
        return (Cow::Borrowed(places), Cow::Borrowed(weights));
    }
    let is_known = |&(place, _): &(usize, f64)| {
        let node = problem.outputs()[place] as usize;
        let at = node * archive.channels.len() + channel;
        absent.is_none_or(|all| !all[node]) && !archive.is_missing(time, at)
    };
    let pairs = places.iter().copied().zip(weights.iter().copied());
    let (places, weights): (Vec<usize>, Vec<f64>) = pairs.filter(is_known).unzip();
    let total: f64 = weights.iter().sum();
    let weights = weights.iter().map(|w| w / total.max(f64::MIN_POSITIVE));
    (Cow::Owned(places), Cow::Owned(weights.collect()))
}

/// One step of a linear model, with the truth on the boundary.
pub(super) fn advance(problem: &Problem, model: &Linear, states: &mut Rolled, truth: &[f32]) {
    let mut next = vec![0.0; truth.len()];
    model.change(&states.0, &states.1, &mut next);
    next.iter_mut().zip(&states.1).for_each(|(d, x)| *d += x);
    problem.archive.hold(&states.1, &mut next);
    force(problem, truth, &mut next);
    states.0 = std::mem::replace(&mut states.1, next);
}
