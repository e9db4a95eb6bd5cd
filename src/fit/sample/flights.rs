//! Flights of a length that is learned: HMC after ChEES, and microcanonical flights (MAMS).
//!
//! NUTS makes the first third of the warm-up, with its metric and coordinates. From then on every
//! transition flies for a time 2hT, with h from a sequence that fills (0, 1) evenly, and its end is
//! accepted or not. T climbs the criterion of ChEES, how far apart squared distances from the
//! centre lie before and after a flight, ¼E[(|q′ − m|² − |q − m|²)²] in units of the metric's
//! variances, by the slope over the flights of all chains since they last met.
//!
//! References: Hoffman, Radul, Sountsov, AISTATS 2021 (the criterion, its slope, and jitter);
//! Robnik, Cohn-Gordon, Seljak, arXiv:2503.01707 (microcanonical flights).

use super::blocks::Pacer;
use super::chain::Chain;
use super::metric::Metric;
use super::run::{Session, State};
use super::settings::{Adapt, Sampler};
use super::step_size::forgetting;
use super::trajectory::Workspace;
use super::trajectory::flight::{Dynamics, Flight};
use super::vector::{self, Vector};
use super::{Posterior, Target};

/// Flights begin at the first window end from this fraction of the warm-up on.
pub(crate) const FIRST_FLIGHT: f64 = 0.32;
/// Transitions between two meetings at which the length is learned.
const MEET_EVERY: usize = 10;
/// How far ln T moves at a meeting, in units of its usual slope.
const RATE: f64 = 0.05;
/// How much of the usual squared slope is remembered from one meeting to the next.
const MEMORY: f64 = 0.95;

/// The mean time of a flight, as it is learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Length {
    /// ln T.
    log: f64,
    /// The usual squared slope.
    square: f64,
    /// Meetings.
    updates: f64,
    /// The average of ln T.
    average: f64,
    /// Σ of accepted slopes and of acceptances since the last meeting.
    sums: [f64; 2],
}

impl Length {
    /// A quarter of the period of a standard normal.
    fn new() -> Self {
        let log = libm::log(std::f64::consts::FRAC_PI_2);
        Length {
            log,
            square: 0.0,
            updates: 0.0,
            average: log,
            sums: [0.0; 2],
        }
    }

    /// All it knows, for [`Length::from_numbers`].
    pub(crate) fn numbers(&self) -> [f64; 6] {
        let [slope, acceptance] = self.sums;
        [
            self.log,
            self.square,
            self.updates,
            self.average,
            slope,
            acceptance,
        ]
    }

    /// What [`Length::numbers`] were of.
    pub(crate) fn from_numbers(
        [log, square, updates, average, slope, acceptance]: [f64; 6],
    ) -> Self {
        Length {
            log,
            square,
            updates,
            average,
            sums: [slope, acceptance],
        }
    }

    /// One step along the mean slope of the criterion, by its sign and its size against the usual
    /// one (Adam without momentum).
    fn learn(&mut self, slope: f64) {
        self.updates += 1.0;
        self.square = MEMORY * self.square + (1.0 - MEMORY) * slope * slope;
        let usual = (self.square / (1.0 - libm::pow(MEMORY, self.updates))).sqrt();
        if usual > 0.0 && slope.is_finite() {
            self.log += RATE * slope / usual;
        }
        let weight = forgetting(self.updates);
        self.average = weight * self.log + (1.0 - weight) * self.average;
    }
}

/// What a chain knows of its flights.
#[derive(Clone, Debug)]
pub(crate) struct Flights {
    /// The law of motion.
    pub(crate) dynamics: Dynamics,
    /// Their length.
    pub(crate) length: Length,
    /// The centre of the criterion.
    centre: Vec<f64>,
    /// One over the variance of each coordinate.
    weights: Vec<f64>,
    velocity: Vector,
}

impl Flights {
    fn new(dynamics: Dynamics, dim: usize) -> Self {
        Flights {
            dynamics,
            length: Length::new(),
            centre: vec![0.0; dim],
            weights: vec![1.0; dim],
            velocity: vector::zeros(dim),
        }
    }

    /// Flights as `sampler` makes them; none if it makes none.
    pub(crate) fn of(sampler: Sampler, dim: usize) -> Option<Box<Self>> {
        let dynamics = match sampler {
            Sampler::Chees => Dynamics::Hamiltonian,
            Sampler::Mams => Dynamics::Microcanonical,
            _ => return None,
        };
        Some(Box::new(Flights::new(dynamics, dim)))
    }

    /// Steps of the flight that transition `iteration` makes, and whether it is cut at `most`.
    pub(crate) fn n_steps(&self, iteration: u32, step_size: f64, most: u32) -> (u32, bool) {
        let wanted = 2.0 * spread(iteration) * libm::exp(self.length.log) / step_size;
        let most = f64::from(most);
        // Rounded up: no flight stays where it is.
        (wanted.ceil().clamp(1.0, most) as u32, wanted > most)
    }

    /// The mean time of a flight from now on: the average of what was learned.
    pub(crate) fn freeze(&mut self) {
        self.length.log = self.length.average;
    }

    /// Learns from a flight, before it is accepted or not.
    pub(crate) fn learn(
        &mut self,
        space: &Workspace,
        metric: &Metric,
        (flight, probability): (&Flight, f64),
        iteration: u32,
    ) {
        if flight.diverged {
            return;
        }
        space.landing_velocity(metric, &mut self.velocity);
        let places = space.candidate.position.as_flattened().iter();
        let landings = space.landing().position.as_flattened().iter();
        let known = self.centre.iter().zip(&self.weights);
        let velocities = self.velocity.as_flattened().iter();
        let (mut before, mut after, mut along) = (0.0, 0.0, 0.0);
        for (((q, landing), (m, w)), v) in places.zip(landings).zip(known).zip(velocities) {
            before += w * (q - m) * (q - m);
            after += w * (landing - m) * (landing - m);
            along += w * (landing - m) * v;
        }
        let slope = spread(iteration) * (after - before) * along;
        if slope.is_finite() {
            self.length.sums[0] += probability * slope;
            self.length.sums[1] += probability;
        }
    }
}

/// Numbers that fill (0, 1) evenly: the bits of a counter in reverse (van der Corput).
fn spread(iteration: u32) -> f64 {
    (f64::from(iteration.reverse_bits()) + 0.5) / 4_294_967_296.0
}

/// Advances all chains to `end` of the warm-up, and learns the length of flights on the way.
pub(crate) fn advance<P: Posterior>(
    session: &Session<'_>,
    posterior: &P,
    state: &mut State<P::Target>,
    pacer: &mut Pacer<'_>,
    end: usize,
) -> bool {
    loop {
        let flying = state.chains[0].flights.is_some();
        let meeting = (state.iteration() / MEET_EVERY + 1) * MEET_EVERY;
        let next = if flying { meeting.min(end) } else { end };
        if !session.advance(posterior, state, pacer, next) {
            return false;
        }
        if flying {
            match session.settings.adapt {
                Adapt::Pooled => learn(&mut state.chains),
                Adapt::PerChain => state.chains.chunks_mut(1).for_each(learn),
            }
        }
        if next == end {
            return true;
        }
    }
}

/// A step of the length that these chains share.
fn learn<T>(chains: &mut [Chain<T>]) {
    let mut sums = [0.0; 2];
    for chain in chains.iter_mut() {
        let stuck = chain.stuck > 0;
        let Some(flights) = &mut chain.flights else {
            continue;
        };
        let own = std::mem::take(&mut flights.length.sums);
        if !stuck {
            sums[0] += own[0];
            sums[1] += own[1];
        }
    }
    // Where nothing was accepted there is nothing to learn.
    if sums[1] > 0.0 {
        let all = chains.iter_mut().filter_map(|c| c.flights.as_mut());
        all.for_each(|flights| flights.length.learn(sums[0] / sums[1]));
    }
}

/// From here on chains fly, if that is their sampler.
pub(crate) fn begin<T: Target>(chains: &mut [Chain<T>], sampler: Sampler) {
    for chain in chains.iter_mut().filter(|c| c.flights.is_none()) {
        chain.flights = Flights::of(sampler, chain.target.dim());
    }
}

/// The criterion's centre and units: those of the last window's draws and of the metric.
pub(crate) fn centre<T: Target>(chains: &mut [Chain<T>], adapt: Adapt) {
    match adapt {
        Adapt::Pooled => centre_together(chains),
        Adapt::PerChain => chains.chunks_mut(1).for_each(centre_together),
    }
}

fn centre_together<T: Target>(chains: &mut [Chain<T>]) {
    if chains.iter().all(|chain| chain.flights.is_none()) {
        return;
    }
    let dim = chains[0].target.dim();
    let mut sum = vec![0.0; dim];
    let mut n = 0.0;
    for chain in chains.iter().filter(|c| c.stuck == 0) {
        for row in chain.windows[1].positions.chunks_exact(dim) {
            sum.iter_mut().zip(row).for_each(|(s, q)| *s += q);
            n += 1.0;
        }
    }
    for chain in chains {
        let variances = chain.metric.variances(dim);
        let Some(flights) = &mut chain.flights else {
            continue;
        };
        if n > 0.0 {
            flights.centre = sum.iter().map(|s| s / n).collect();
        }
        flights.weights = variances.iter().map(|v| 1.0 / v).collect();
    }
}

#[cfg(test)]
mod tests;
