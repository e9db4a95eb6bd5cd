//! One chain: its state, its transitions, and what it remembers for adaptation.

use super::dice::Dice;
use super::flights::Flights;
use super::independence::{self, Independence, NUTS_EVERY, Proposal, Scratch};
use super::metric::Metric;
use super::normals::Stream;
use super::rotation;
use super::statistics::{Draws, Row};
use super::step_size::{self, DualAveraging};
use super::strictness::{SEARCHING, Strictness};
use super::trajectory::flight::{self, Dynamics};
use super::trajectory::walnuts::{self, Walnuts};
use super::trajectory::{Hamiltonian, Point, Workspace};
use super::tree::{Growth, Oracle, Reach, Stop, grow};
use super::warmup;
use super::{Event, Observer, Phase, Sampler, Settings, Target};
use crate::rng::{Purpose, Rng};
use std::sync::Arc;

/// Draws of one warm-up window that an estimate may use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    /// Positions, row-major.
    pub(crate) positions: Vec<f64>,
    /// Gradients there.
    pub(crate) gradients: Vec<f64>,
    /// Log density of every draw of the window.
    pub(crate) log_densities: Vec<f64>,
    /// Divergent transitions, those of the first [`SEARCHING`] left out.
    pub(crate) divergences: usize,
    /// Transitions with a step that was held, and the divergent ones of them; see [`super::strictness`].
    pub(crate) held: [usize; 2],
}

/// A draw of a divergent trajectory is only used if it lies more than this many steps away.
const USEFUL_OFFSET: i64 = 4;

impl Window {
    /// Forgets all draws, and keeps their memory for those to come.
    pub(crate) fn clear(&mut self) {
        let Window {
            positions,
            gradients,
            log_densities,
            divergences,
            held,
        } = self;
        for numbers in [positions, gradients, log_densities] {
            numbers.clear();
        }
        (*divergences, *held) = (0, [0; 2]);
    }

    fn count(&mut self, log_density: f64, (diverged, held): (bool, bool)) {
        let counts = diverged && self.log_densities.len() >= SEARCHING;
        self.divergences += usize::from(counts);
        self.held[0] += usize::from(held);
        self.held[1] += usize::from(held && diverged);
        self.log_densities.push(log_density);
    }

    fn remember(&mut self, dim: usize, draw: &Point, diverged: bool) {
        let moved = draw.offset.abs();
        if moved > if diverged { USEFUL_OFFSET } else { 0 } {
            let rows = [
                (&mut self.positions, &draw.position),
                (&mut self.gradients, &draw.gradient),
            ];
            for (rows, row) in rows {
                rows.extend_from_slice(&row.as_flattened()[..dim]);
            }
        }
    }
}

/// Draws of the run that a run continues.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Earlier {
    /// Positions, row-major.
    pub(crate) positions: Vec<f64>,
    /// Log density of each.
    pub(crate) log_densities: Vec<f64>,
}

/// One chain.
pub(crate) struct Chain<T> {
    /// Its place among the chains of this run.
    pub(crate) index: usize,
    /// Its random numbers.
    pub(crate) stream: Stream,
    /// Its log density.
    pub(crate) target: T,
    /// The metric in force.
    pub(crate) metric: Arc<Metric>,
    /// Its state and memory.
    pub(crate) space: Workspace,
    /// Step size adaptation; frozen after warm-up.
    pub(crate) step: DualAveraging,
    /// The step size after warm-up.
    pub(crate) step_size: f64,
    /// Transitions so far, warm-up included: a word of the random counter.
    pub(crate) iteration: u32,
    /// Gradients so far.
    pub(crate) gradients: u64,
    /// Of them in warm-up.
    pub(crate) warmup_gradients: u64,
    /// Draws of the present and of the previous window.
    pub(crate) windows: [Window; 2],
    /// How often steps were found to be too long.
    pub(crate) strictness: Strictness,
    /// Windows in which the chain lay far below the others.
    pub(crate) stuck: u32,
    /// Whether it has been restarted.
    pub(crate) restarted: bool,
    /// Warm-up draws, if they are kept.
    pub(crate) warmup: Option<Draws>,
    /// Draws.
    pub(crate) draws: Draws,
    /// Positions and log densities of the draws of the run that this one continues, for looks at
    /// all of them; empty without [`Settings::until`].
    pub(crate) earlier: Earlier,
    /// What was found about independence proposals, if they were asked for.
    pub(crate) independence: Option<Independence>,
    /// The proposal, if it is used, and memory for its transitions.
    pub(crate) proposal: Option<(Arc<Proposal>, Box<Scratch>)>,
    /// Memory for steps that are cut into halves, if they may be.
    pub(crate) halving: Option<Box<walnuts::Scratch>>,
    /// What is known of flights, from where in the warm-up they are made.
    pub(crate) flights: Option<Box<Flights>>,
    /// Divergences of this phase.
    pub(crate) divergences: usize,
    /// Step size searches so far: a word of the random counter.
    pub(crate) searches: u32,
}

impl<T> Chain<T> {
    /// The draws so far, those of an earlier run included.
    pub(crate) fn all_draws(&self) -> Earlier {
        Earlier {
            positions: [&self.earlier.positions[..], &self.draws.positions].concat(),
            log_densities: [&self.earlier.log_densities[..], &self.draws.statistics.lp].concat(),
        }
    }
}

impl<T: Target> Chain<T> {
    /// A chain at the origin, not yet started.
    pub(crate) fn new(index: usize, stream: Stream, target: T, settings: &Settings) -> Self {
        let dim = target.dim();
        let halves = settings.sampler == Sampler::Walnuts;
        Chain {
            index,
            stream,
            target,
            metric: Arc::new(Metric::diagonal(&vec![1.0; dim])),
            space: Workspace::new(dim, settings.max_treedepth),
            step: DualAveraging::new(1.0, f64::INFINITY),
            step_size: 1.0,
            iteration: 0,
            gradients: 0,
            warmup_gradients: 0,
            windows: Default::default(),
            strictness: Strictness::default(),
            stuck: 0,
            restarted: false,
            warmup: None,
            draws: Draws::default(),
            earlier: Earlier::default(),
            independence: None,
            proposal: None,
            halving: halves.then(|| Box::new(walnuts::Scratch::new(dim))),
            flights: None,
            divergences: 0,
            searches: 0,
        }
    }

    /// Searches a step size from `guess` and restarts its adaptation there.
    pub(crate) fn search_step_size(&mut self, guess: f64) {
        let key = (self.stream, self.searches, Purpose::Adapt);
        self.searches += 1;
        let most = rotation::longest_step(&self.metric);
        let found = step_size::search(guess, most, |step_size| {
            self.gradients += self.metric.gradients();
            let (density, space) = ((&mut self.target, &*self.metric), &mut self.space);
            let dynamics = self.flights.as_ref().map(|flights| flights.dynamics);
            let dynamics = dynamics.unwrap_or(Dynamics::Hamiltonian);
            let error = flight::fly(density, space, dynamics, (step_size, 1), key).error;
            // `min` would take 1 over NaN.
            let acceptance = libm::exp(-error);
            if acceptance.is_nan() {
                0.0
            } else {
                acceptance.min(1.0)
            }
        });
        self.step = DualAveraging::new(found, most);
    }

    /// One transition with the step size of the phase; records, adapts and reports it.
    pub(crate) fn advance(&mut self, phase: &PhaseSettings, observer: &dyn Observer) {
        let warmup = phase.phase == Phase::Warmup;
        if !warmup && self.proposal.is_some() && !self.iteration.is_multiple_of(NUTS_EVERY) {
            return self.propose(phase, observer);
        }
        let step_size = match (warmup, phase.held) {
            (true, false) => self.step.current(),
            (true, true) => self.step.average(),
            (false, _) => self.step_size,
        };
        if self.flights.is_some() {
            return self.fly(phase, step_size, observer);
        }
        let key = (self.stream, self.iteration, Purpose::Momentum);
        let (target, space) = (&mut self.target, &mut self.space);
        let mut path = Hamiltonian::start(target, &self.metric, space, step_size, key);
        let energy_start = path.energy_start();
        let mut dice = Dice::new(self.stream, self.iteration);
        let growth = match &mut self.halving {
            None => grow(&mut path, &mut dice, phase.reach),
            Some(scratch) => {
                let mut path = Walnuts::new(path, scratch);
                let growth = grow(&mut path, &mut dice, phase.reach);
                path.account(growth)
            }
        };
        self.conclude(phase, step_size, energy_start, &growth, observer);
    }

    /// One flight, whose end is accepted or not.
    fn fly(&mut self, phase: &PhaseSettings, step_size: f64, observer: &dyn Observer) {
        let Some(flights) = &mut self.flights else {
            return;
        };
        let most = (1 << phase.reach.max_depth) - 1;
        let (n_steps, cut) = flights.n_steps(self.iteration, step_size, most);
        let key = (self.stream, self.iteration, Purpose::Momentum);
        let (density, space) = ((&mut self.target, &*self.metric), &mut self.space);
        let flight = flight::fly(density, space, flights.dynamics, (step_size, n_steps), key);
        let probability = match flight.diverged {
            true => 0.0,
            false => libm::exp(-flight.error).min(1.0),
        };
        if phase.phase == Phase::Warmup {
            flights.learn(space, &self.metric, (&flight, probability), self.iteration);
        }
        space.candidate.energy = flight.energy_start;
        if Dice::new(self.stream, self.iteration).accept(probability) {
            space.land();
        }
        let growth = Growth {
            stop: match (flight.diverged, cut) {
                (true, _) => Stop::Diverged,
                (false, true) => Stop::Depth,
                (false, false) => Stop::Turned,
            },
            depth: 0,
            n_steps: flight.n_steps,
            max_energy_error: flight.error,
            acceptance_sum: probability * f64::from(flight.n_steps),
            nonfinite: !flight.error.is_finite(),
        };
        self.conclude(phase, step_size, flight.energy_start, &growth, observer);
    }

    /// One transition by an independence proposal. Its energies are those of no momentum but with
    /// the mean kinetic energy, so that they compare with those of NUTS.
    fn propose(&mut self, phase: &PhaseSettings, observer: &dyn Observer) {
        let Some((proposal, scratch)) = &mut self.proposal else {
            return;
        };
        let (seed, replicate, chain) = (self.stream.seed, self.stream.stream, self.stream.chain);
        let mut rng = Rng::new(seed, replicate, chain, self.iteration, Purpose::Propose);
        let kinetic = 0.5 * self.target.dim() as f64;
        let at = &mut self.space.candidate;
        let energy_start = kinetic - at.log_density;
        let moved = independence::step(&mut self.target, proposal, at, scratch, &mut rng);
        at.energy = kinetic - at.log_density;
        at.offset = i64::from(moved.accepted);
        let growth = Growth {
            stop: Stop::Turned,
            depth: 0,
            n_steps: 1,
            max_energy_error: moved.error,
            acceptance_sum: moved.probability,
            nonfinite: false,
        };
        self.conclude(phase, self.step_size, energy_start, &growth, observer);
    }

    /// Books a transition that has just been made, here or elsewhere; the draw is the candidate.
    pub(crate) fn conclude(
        &mut self,
        phase: &PhaseSettings,
        step_size: f64,
        energy_start: f64,
        growth: &Growth,
        observer: &dyn Observer,
    ) {
        let warmup = phase.phase == Phase::Warmup;
        self.iteration += 1;
        self.gradients += u64::from(growth.n_steps) * self.metric.gradients();
        let diverged = growth.stop == Stop::Diverged;
        self.divergences += usize::from(diverged);
        if warmup {
            if !phase.held {
                let acceptance = growth.acceptance_sum / f64::from(growth.n_steps);
                self.step.learn(acceptance, phase.target_accept);
            }
            let window = &mut self.windows[0];
            window.count(self.space.candidate.log_density, (diverged, phase.held));
            if self.index < phase.n_learning {
                window.remember(self.target.dim(), &self.space.candidate, diverged);
            }
        }
        self.record(warmup, step_size, energy_start, growth);
        observer.event(&Event {
            chain: self.index,
            phase: phase.phase,
            done: self.iteration as usize - phase.start,
            total: phase.total,
            divergences: self.divergences,
            step_size,
            leapfrogs: self.gradients,
            position: &self.space.candidate.position.as_flattened()[..self.target.dim()],
        });
    }

    /// Writes the transition down.
    fn record(&mut self, warmup: bool, step_size: f64, energy_start: f64, growth: &Growth) {
        let draws = if warmup {
            let Some(draws) = &mut self.warmup else {
                return;
            };
            draws
        } else {
            &mut self.draws
        };
        let draw = &self.space.candidate;
        let position = &draw.position.as_flattened()[..self.target.dim()];
        draws.positions.extend_from_slice(position);
        draws.statistics.push(Row {
            diverging: growth.stop == Stop::Diverged,
            reached_max_treedepth: growth.stop == Stop::Depth,
            tree_depth: i64::from(growth.depth),
            n_steps: i64::from(growth.n_steps),
            energy: draw.energy,
            energy_error: draw.energy - energy_start,
            max_energy_error: growth.max_energy_error,
            acceptance_rate: growth.acceptance_sum / f64::from(growth.n_steps),
            step_size,
            step_size_bar: if warmup {
                self.step.average()
            } else {
                self.step_size
            },
            lp: draw.log_density,
            index_in_trajectory: draw.offset,
            nonfinite: growth.nonfinite,
        });
    }
}

/// What a chain needs to know of the phase it is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseSettings {
    /// Which phase.
    pub(crate) phase: Phase,
    /// Transitions before it.
    pub(crate) start: usize,
    /// Transitions in it.
    pub(crate) total: usize,
    /// Whether a warm-up holds its steps for a while; see [`super::strictness`].
    pub(crate) held: bool,
    /// How many chains, the first ones, remember their draws for estimates; see [`super::windows`].
    pub(crate) n_learning: usize,
    /// How far trajectories grow.
    pub(crate) reach: Reach,
    /// Acceptance to tune to.
    pub(crate) target_accept: f64,
}

impl PhaseSettings {
    /// What `settings` say about a phase, at transition `iteration`; draws go `past_turn` or not.
    pub(crate) fn of(phase: Phase, settings: &Settings, iteration: usize, past_turn: bool) -> Self {
        let early = phase == Phase::Warmup && iteration < warmup::early_end(settings.tune);
        let most = if early {
            settings.early_treedepth
        } else {
            u32::MAX
        };
        let (start, total) = match phase {
            Phase::Warmup => (0, settings.tune),
            Phase::Sampling => (settings.tune, settings.draws),
        };
        PhaseSettings {
            phase,
            start,
            total,
            held: false,
            n_learning: usize::MAX,
            reach: Reach {
                max_depth: settings.max_treedepth.min(most),
                past_turn: past_turn && phase == Phase::Sampling,
            },
            target_accept: settings.target_accept,
        }
    }
}
