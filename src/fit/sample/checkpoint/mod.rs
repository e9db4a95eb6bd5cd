//! Checkpoints: all that a run needs to go on as if it had never stopped.
//!
//! Random numbers have no state but their counters, so a chain is its position with the slope
//! there, its step size, its metric and, in warm-up, the draws of its windows.

mod bytes;

pub(crate) use bytes::{Reader, Writer, wrong};

use super::chain::{Chain, Earlier, Window};
use super::flights::{self, Flights, Length};
use super::independence::{Independence, Proposal, Scratch};
use super::metric::Metric;
use super::run::{Restart, Session, State};
use super::settings::Settings;
use super::statistics::Draws;
use super::step_size::DualAveraging;
use super::strictness::Strictness;
use super::{Phase, Posterior, vector};
use crate::{Error, ErrorKind, Result};
use std::sync::Arc;

/// The state of a run between two transitions, as plain data.
///
/// It belongs to one version of the program, one posterior and one set of settings. Of the
/// settings, `draws`, `threads` and the bounds of `until` may be others when the run goes on; there
/// must be none of the latter or some, as before.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    phase: Phase,
    dim: usize,
    /// The settings that must not change, by name.
    fixed: Vec<(&'static str, u64)>,
    /// What [`Posterior::coordinates`] gave.
    coordinates: Vec<u8>,
    restarts: Vec<Restart>,
    /// The transition that ends the warm-up.
    warmup_end: usize,
    /// Draws at which it is next seen whether they are good enough.
    next_look: usize,
    /// Whether trajectories of the draws go on after they have turned.
    past_turn: bool,
    /// Every metric once.
    metrics: Vec<(u64, Vec<f64>)>,
    chains: Vec<ChainState>,
}

/// One chain.
#[derive(Clone, Debug, Default, PartialEq)]
struct ChainState {
    metric: usize,
    position: Vec<f64>,
    gradient: Vec<f64>,
    log_density: f64,
    averaging: [f64; 6],
    step_size: f64,
    /// Iteration, gradients, those of the warm-up, times stuck, whether restarted, divergences of
    /// the phase, step size searches, and of both windows what they hold of steps that were held.
    counts: [u64; 13],
    /// How often steps were found to be too long.
    strictness: f64,
    /// Positions, gradients and log densities of both windows.
    windows: [[Vec<f64>; 3]; 2],
    warmup: Option<Draws>,
    /// The draws so far, of a run that ends when they are good enough.
    earlier: Earlier,
    /// The length of flights as it is learned; empty before there are any.
    flights: Vec<f64>,
    /// Whether independence proposals are used, k and acceptance, and the proposal's numbers; empty
    /// when they were not asked for.
    independence: Vec<f64>,
}

impl Checkpoint {
    /// The phase that goes on.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Transitions of that phase that every chain has finished.
    pub fn done(&self) -> usize {
        let iteration = self.chains[0].counts[0] as usize;
        match self.phase {
            Phase::Warmup => iteration,
            Phase::Sampling => iteration - self.tune(),
        }
    }

    /// Draws made so far, per chain.
    pub fn n_draws(&self) -> usize {
        match self.phase {
            Phase::Warmup => 0,
            Phase::Sampling => self.done(),
        }
    }

    /// What [`Posterior::coordinates`] gave when it was made.
    pub fn coordinates(&self) -> &[u8] {
        &self.coordinates
    }

    fn tune(&self) -> usize {
        let tune = self.fixed.iter().find(|(name, _)| *name == "tune");
        tune.map_or(0, |(_, n)| *n as usize)
    }

    /// The state of a run.
    pub(crate) fn of<P: Posterior>(
        posterior: &P,
        state: &State<P::Target>,
        settings: &Settings,
    ) -> Self {
        let dim = posterior.dim();
        let mut metrics: Vec<&Arc<Metric>> = Vec::new();
        let chains = state.chains.iter().map(|chain| {
            let known = metrics.iter().position(|m| Arc::ptr_eq(m, &chain.metric));
            let metric = known.unwrap_or_else(|| {
                metrics.push(&chain.metric);
                metrics.len() - 1
            });
            ChainState::of(chain, metric, dim, settings)
        });
        Checkpoint {
            chains: chains.collect(),
            phase: state.phase,
            dim,
            fixed: fixed(settings),
            coordinates: posterior.coordinates(),
            restarts: state.restarts.clone(),
            warmup_end: state.warmup_end,
            next_look: state.next_look,
            past_turn: state.past_turn,
            metrics: metrics.iter().map(|m| m.numbers(dim)).collect(),
        }
    }

    /// The run it was made of, ready to go on.
    ///
    /// # Errors
    /// Other settings, another posterior.
    pub(crate) fn restore<P: Posterior>(
        &self,
        posterior: &mut P,
        session: &Session<'_>,
    ) -> Result<State<P::Target>> {
        let dim = posterior.dim();
        if dim != self.dim {
            return Err(wrong(&format!(
                "it is of a model with {} coordinates, this one has {dim}",
                self.dim
            )));
        }
        let settings = session.settings;
        for ((name, then), (_, now)) in self.fixed.iter().zip(fixed(settings)) {
            if *then != now {
                let message = format!(
                    "the run to continue was made with another `{name}`; give the same, or start \
                     a new run"
                );
                return Err(Error::new(ErrorKind::Usage, message));
            }
        }
        posterior.restore(&self.coordinates)?;
        let metrics = self.metrics.iter().map(|(kind, numbers)| {
            let metric = Metric::from_numbers(*kind, dim, numbers);
            metric
                .map(Arc::new)
                .ok_or_else(|| wrong("a metric has the wrong size"))
        });
        let metrics: Vec<_> = metrics.collect::<Result<_>>()?;
        let mut chains = session.new_chains(posterior);
        if chains.len() != self.chains.len() {
            return Err(wrong("it has another number of chains"));
        }
        for (chain, state) in chains.iter_mut().zip(&self.chains) {
            let metric = metrics.get(state.metric);
            let metric = metric.ok_or_else(|| wrong("a metric is missing"))?;
            chain.metric = Arc::clone(metric);
            state.load(chain, dim)?;
            if let Some(length) = state.flights.first_chunk::<6>() {
                chain.flights = Flights::of(settings.sampler, dim);
                let known = chain.flights.iter_mut();
                known.for_each(|flights| flights.length = Length::from_numbers(*length));
            }
        }
        flights::centre(&mut chains, settings.adapt);
        Ok(State {
            chains,
            restarts: self.restarts.clone(),
            phase: self.phase,
            warmup_end: self.warmup_end,
            next_look: self.next_look,
            past_turn: self.past_turn,
        })
    }

    /// As bytes, which [`Checkpoint::from_bytes`] reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = Writer::new();
        to.word(u64::from(self.phase == Phase::Sampling));
        to.word(self.dim as u64);
        to.word(self.fixed.len() as u64);
        self.fixed.iter().for_each(|(_, bits)| to.word(*bits));
        to.bytes(&self.coordinates);
        to.word(self.restarts.len() as u64);
        for r in &self.restarts {
            to.word(r.chain as u64);
            to.word(r.iteration as u64);
            to.word(r.from_chain as u64);
            to.real(r.gap);
        }
        to.word(self.warmup_end as u64);
        to.word(self.next_look as u64);
        to.word(u64::from(self.past_turn));
        to.word(self.metrics.len() as u64);
        for (kind, numbers) in &self.metrics {
            to.word(*kind);
            to.reals(numbers);
        }
        to.word(self.chains.len() as u64);
        self.chains.iter().for_each(|c| c.write(&mut to));
        to.finish()
    }

    /// From bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Data`] for anything but the undamaged bytes of a checkpoint of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes)?;
        let phase = match from.word()? {
            0 => Phase::Warmup,
            _ => Phase::Sampling,
        };
        let dim = from.word()? as usize;
        let names = fixed(&Settings::default());
        if from.length(8)? != names.len() {
            return Err(wrong("it holds other settings than this version has"));
        }
        let fixed = names.into_iter().map(|(name, _)| Ok((name, from.word()?)));
        let fixed = fixed.collect::<Result<_>>()?;
        let coordinates = from.bytes()?;
        let restarts = (0..from.length(32)?).map(|_| {
            Ok(Restart {
                chain: from.word()? as usize,
                iteration: from.word()? as usize,
                from_chain: from.word()? as usize,
                gap: from.real()?,
            })
        });
        let restarts = restarts.collect::<Result<_>>()?;
        let warmup_end = from.word()? as usize;
        let next_look = from.word()? as usize;
        let past_turn = from.word()? != 0;
        let metrics = (0..from.length(16)?).map(|_| Ok((from.word()?, from.reals()?)));
        let metrics = metrics.collect::<Result<_>>()?;
        let chains = (0..from.length(64)?).map(|_| ChainState::read(&mut from));
        let chains: Vec<ChainState> = chains.collect::<Result<_>>()?;
        from.finish()?;
        let checkpoint = Checkpoint {
            phase,
            dim,
            fixed,
            coordinates,
            restarts,
            warmup_end,
            next_look,
            past_turn,
            metrics,
            chains,
        };
        checkpoint.check()?;
        Ok(checkpoint)
    }

    /// What the rest of the code relies on.
    fn check(&self) -> Result<()> {
        let Some(first) = self.chains.first() else {
            return Err(wrong("it has no chains"));
        };
        let iteration = first.counts[0];
        let together = self.chains.iter().all(|c| c.counts[0] == iteration);
        let tune = self.tune() as u64;
        let in_phase = match self.phase {
            Phase::Warmup => iteration <= self.warmup_end as u64,
            Phase::Sampling => iteration >= tune,
        };
        match together && in_phase && self.warmup_end as u64 <= tune {
            true => Ok(()),
            false => Err(wrong("its chains do not stand at one place")),
        }
    }
}

/// The settings that must be the same when a run goes on, in the order of the format.
fn fixed(s: &Settings) -> Vec<(&'static str, u64)> {
    vec![
        ("chains", s.chains as u64),
        ("tune", s.tune as u64),
        ("target_accept", s.target_accept.to_bits()),
        ("max_treedepth", u64::from(s.max_treedepth)),
        ("early_treedepth", u64::from(s.early_treedepth)),
        ("past_turn", s.past_turn as u64),
        ("integrator", s.integrator as u64),
        ("metric", s.metric as u64),
        ("seed", s.seed),
        ("stream", u64::from(s.stream)),
        ("first_chain", u64::from(s.first_chain)),
        ("keep_warmup", u64::from(s.keep_warmup)),
        ("adapt", s.adapt as u64),
        ("sampler", s.sampler as u64),
        ("until", u64::from(s.until.is_some())),
        ("end_warmup_early", u64::from(s.end_warmup_early)),
    ]
}

/// What is kept of a chain's independence proposals.
fn independence_of<T>(chain: &Chain<T>) -> Vec<f64> {
    let Some(found) = chain.independence else {
        return Vec::new();
    };
    let used = f64::from(u8::from(found.used));
    let mut numbers = vec![used, found.pareto_k, found.acceptance];
    if let Some((proposal, _)) = &chain.proposal {
        numbers.extend(proposal.numbers());
    }
    numbers
}

impl ChainState {
    fn of<T>(chain: &Chain<T>, metric: usize, dim: usize, settings: &Settings) -> Self {
        let point = &chain.space.candidate;
        let counts = [
            u64::from(chain.iteration),
            chain.gradients,
            chain.warmup_gradients,
            u64::from(chain.stuck),
            u64::from(chain.restarted),
            chain.divergences as u64,
            u64::from(chain.searches),
            chain.windows[0].divergences as u64,
            chain.windows[1].divergences as u64,
            chain.windows[0].held[0] as u64,
            chain.windows[1].held[0] as u64,
            chain.windows[0].held[1] as u64,
            chain.windows[1].held[1] as u64,
        ];
        let windows = [0, 1].map(|k| {
            let w = &chain.windows[k];
            [&w.positions, &w.gradients, &w.log_densities].map(Clone::clone)
        });
        ChainState {
            metric,
            position: point.position.as_flattened()[..dim].to_vec(),
            gradient: point.gradient.as_flattened()[..dim].to_vec(),
            log_density: point.log_density,
            averaging: chain.step.numbers(),
            step_size: chain.step_size,
            counts,
            strictness: chain.strictness.number(),
            windows,
            warmup: chain.warmup.clone(),
            earlier: match settings.until {
                Some(_) => chain.all_draws(),
                None => Earlier::default(),
            },
            flights: match &chain.flights {
                Some(flights) => flights.length.numbers().to_vec(),
                None => Vec::new(),
            },
            independence: independence_of(chain),
        }
    }

    fn load<T>(&self, chain: &mut Chain<T>, dim: usize) -> Result<()> {
        let per_row = |[q, g, l]: &[Vec<f64>; 3]| {
            q.len() == g.len() && q.len().is_multiple_of(dim) && q.len() / dim <= l.len()
        };
        let kept = self.warmup.as_ref();
        let whole = [&self.position, &self.gradient].map(|v| v.len() == dim) == [true; 2]
            && self.windows.iter().all(per_row)
            && kept.is_none_or(|w| w.positions.len() == w.len() * dim)
            && kept.is_some() == chain.warmup.is_some()
            && self.earlier.positions.len() == self.earlier.log_densities.len() * dim;
        if !whole {
            return Err(wrong("a list has the wrong length"));
        }
        let point = &mut chain.space.candidate;
        vector::load(&mut point.position, &self.position);
        vector::load(&mut point.gradient, &self.gradient);
        point.log_density = self.log_density;
        chain.step = DualAveraging::from_numbers(self.averaging);
        chain.step_size = self.step_size;
        chain.windows = [0, 1].map(|k| {
            let [positions, gradients, log_densities] = self.windows[k].clone();
            Window {
                positions,
                gradients,
                log_densities,
                divergences: self.counts[7 + k] as usize,
                held: [9 + k, 11 + k].map(|i| self.counts[i] as usize),
            }
        });
        chain.strictness = Strictness::from_number(self.strictness);
        chain.warmup = self.warmup.clone();
        chain.earlier = self.earlier.clone();
        if let Some((found, numbers)) = self.independence.split_first_chunk::<3>() {
            let [used, pareto_k, acceptance] = *found;
            let used = used != 0.0;
            chain.independence = Some(Independence {
                pareto_k,
                acceptance,
                used,
            });
            if used {
                let proposal = Proposal::from_numbers(numbers, dim);
                let proposal = proposal.ok_or_else(|| wrong("a proposal has the wrong size"))?;
                chain.proposal = Some((Arc::new(proposal), Box::new(Scratch::new(dim))));
            }
        }
        chain.iteration = self.counts[0] as u32;
        chain.gradients = self.counts[1];
        chain.warmup_gradients = self.counts[2];
        chain.stuck = self.counts[3] as u32;
        chain.restarted = self.counts[4] != 0;
        chain.divergences = self.counts[5] as usize;
        chain.searches = self.counts[6] as u32;
        Ok(())
    }

    fn write(&self, to: &mut Writer) {
        to.word(self.metric as u64);
        to.reals(&self.position);
        to.reals(&self.gradient);
        to.real(self.log_density);
        self.averaging.iter().for_each(|x| to.real(*x));
        to.real(self.step_size);
        self.counts.iter().for_each(|n| to.word(*n));
        to.real(self.strictness);
        self.windows
            .iter()
            .flatten()
            .for_each(|list| to.reals(list));
        to.reals(&self.earlier.positions);
        to.reals(&self.earlier.log_densities);
        to.reals(&self.flights);
        to.reals(&self.independence);
        to.word(u64::from(self.warmup.is_some()));
        if let Some(draws) = &self.warmup {
            to.reals(&draws.positions);
            draws.statistics.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let mut state = ChainState {
            metric: from.word()? as usize,
            position: from.reals()?,
            gradient: from.reals()?,
            log_density: from.real()?,
            ..ChainState::default()
        };
        for x in &mut state.averaging {
            *x = from.real()?;
        }
        state.step_size = from.real()?;
        for n in &mut state.counts {
            *n = from.word()?;
        }
        state.strictness = from.real()?;
        for list in state.windows.iter_mut().flatten() {
            *list = from.reals()?;
        }
        state.earlier = Earlier {
            positions: from.reals()?,
            log_densities: from.reals()?,
        };
        state.flights = from.reals()?;
        state.independence = from.reals()?;
        if from.word()? != 0 {
            state.warmup = Some(Draws {
                positions: from.reals()?,
                statistics: super::Statistics::read(from)?,
            });
        }
        Ok(state)
    }
}

#[cfg(test)]
mod tests;
