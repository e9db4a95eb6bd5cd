//! Starting points.

use super::trajectory::Point;
use super::vector;
use super::{Init, Settings, Stream, Target};
use crate::rng::{Purpose, Rng};
use crate::{Error, ErrorKind, Result};

/// Places tried, at most.
pub(crate) const ATTEMPTS: u32 = 100;

/// The interval that a coordinate of a starting point is drawn from; [−1, 1] by default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scatter {
    /// Its middle.
    pub centre: f64,
    /// Half its length.
    pub half_width: f64,
}

impl Scatter {
    /// The interval within 1 of `centre`.
    pub fn around(centre: f64) -> Scatter {
        let half_width = 1.0;
        Scatter { centre, half_width }
    }
}

impl Default for Scatter {
    fn default() -> Self {
        Scatter::around(0.0)
    }
}

/// Random coordinates, one in each of the intervals: the `attempt`th of a chain.
pub(crate) fn places(
    scatter: &[Scatter],
    stream: Stream,
    attempt: u32,
) -> impl Iterator<Item = f64> {
    let (seed, which, chain) = (stream.seed, stream.stream, stream.chain);
    let mut rng = Rng::new(seed, which, chain, attempt, Purpose::Init);
    let one = move |s: &Scatter| s.centre + s.half_width * (2.0 * rng.uniform() - 1.0);
    scatter.iter().map(one)
}

/// Puts the start of chain `chain` into `point`; returns how many gradients that took.
pub(crate) fn start(
    point: &mut Point,
    target: &mut impl Target,
    scatter: &[Scatter],
    settings: &Settings,
    stream: Stream,
    chain: usize,
) -> Result<u32> {
    match &settings.init {
        Init::Jitter | Init::Pathfinder => jitter(point, target, scatter, stream),
        Init::Points(points) => {
            vector::load(&mut point.position, &points[chain]);
            if point.evaluate(target) {
                return Ok(1);
            }
            Err(Error::new(
                ErrorKind::Numerics,
                format!(
                    "the log density at the starting point of chain {chain} is {} or has a slope \
                     that is not finite; give another point, or none",
                    point.log_density
                ),
            ))
        }
    }
}

/// The first finite point of some in the intervals `scatter`.
///
/// Not the best of them: the best ones of all chains lie in one mode where there are several, and
/// then no diagnostic knows of the others.
fn jitter(
    point: &mut Point,
    target: &mut impl Target,
    scatter: &[Scatter],
    stream: Stream,
) -> Result<u32> {
    for attempt in 0..ATTEMPTS {
        let numbers = point.position.as_flattened_mut().iter_mut();
        let places = places(scatter, stream, attempt);
        numbers.zip(places).for_each(|(x, place)| *x = place);
        if point.evaluate(target) {
            return Ok(attempt + 1);
        }
    }
    Err(Error::new(
        ErrorKind::Numerics,
        format!(
            "no starting point: the log density or its slope was not finite at {ATTEMPTS} points \
             around the centre of the prior (at the last one it was {}); check the data against \
             the support of the likelihood, or give starting points",
            point.log_density
        ),
    ))
}
