//! Starting points.

use super::trajectory::Point;
use super::vector;
use super::{Init, Settings, Stream, Target};
use crate::rng::{Purpose, Rng};
use crate::{Error, ErrorKind, Result};

/// Candidates compared.
const CANDIDATES: u32 = 16;
/// Candidates tried when none of the first is finite.
const ATTEMPTS: u32 = 100;

/// Puts the start of chain `chain` into `point`; returns how many gradients that took.
pub(crate) fn start(
    point: &mut Point,
    target: &mut impl Target,
    centre: &[f64],
    settings: &Settings,
    stream: Stream,
    chain: usize,
) -> Result<u32> {
    match &settings.init {
        Init::Jitter | Init::Pathfinder => jitter(point, target, centre, stream),
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

/// The best of 16 points around `centre`, or the first finite one of 100.
fn jitter(
    point: &mut Point,
    target: &mut impl Target,
    centre: &[f64],
    stream: Stream,
) -> Result<u32> {
    let mut trial = point.clone();
    let mut found = false;
    let mut tried = 0;
    for attempt in 0..ATTEMPTS {
        if attempt >= CANDIDATES && found {
            break;
        }
        tried += 1;
        let mut rng = Rng::new(
            stream.seed,
            stream.stream,
            stream.chain,
            attempt,
            Purpose::Init,
        );
        for (x, c) in trial.position.as_flattened_mut().iter_mut().zip(centre) {
            *x = c + 2.0 * rng.uniform() - 1.0;
        }
        let better = trial.evaluate(target) && (!found || trial.log_density > point.log_density);
        if better {
            point.clone_from(&trial);
            found = true;
        }
    }
    if found {
        return Ok(tried);
    }
    Err(Error::new(
        ErrorKind::Numerics,
        format!(
            "no starting point: the log density or its slope was not finite at {ATTEMPTS} points \
             around the centre of the prior (at the last one it was {}); check the data against \
             the support of the likelihood, or give starting points",
            trial.log_density
        ),
    ))
}
