//! A minimum at a kink of the curve, such as the place where two lines meet: slopes jump there, and first-order
//! conditions hold for none of them.
//!
//! Such a point is found by steps along the parameters, longer after one that lowers the cost and shorter after
//! a round in which none does (Hooke and Jeeves, Journal of the ACM 8, 1961). It is known to be a kink where the
//! slopes promise that a step lowers the cost, and no step does, however short: on a smooth curve one would.

use super::problem::Problem;
use crate::method::{Bounds, Limits, Minimum, Moments, Next, Objective, lm};
use fitzroy::Result;

/// The longest and the shortest step, as parts of the one that would bring all residuals to 0.
const STEPS: [f64; 2] = [0.1, 1e-7];
/// By how much steps grow and shrink.
const FACTOR: f64 = 10.0;
/// The part of the cost that a step must gain. Along a narrow valley there are no ends to smaller gains.
const LEAST_FALL: f64 = 1e-11;
/// The least cosine c between residuals and a partial that promises a fall. On a smooth curve one of the steps,
/// which is between c/10 and c long, would gain a fifth of c² or more.
const PROMISED: f64 = 1e-5;
/// Of the evaluations that a fit may take, the part for this search.
const PART: usize = 4;
/// Steps of a round, for each parameter.
const MOST_STEPS: usize = 60;
/// Most rounds.
const ROUNDS: usize = 8;

/// Moves `best` to the lowest point around; true if that is a kink. Parameters at which slopes jump are held
/// while the others are fitted, which leads along the kink.
pub(super) fn rests(
    problem: &mut Problem<'_>,
    bounds: &Bounds,
    limits: &Limits,
    best: &mut Minimum,
) -> Result<bool> {
    for _ in 0..ROUNDS {
        if lowest_around(problem, bounds, limits, best)? {
            return Ok(!jumping(bounds, best).is_empty());
        }
        let mut held = bounds.clone();
        for k in jumping(bounds, best) {
            (held.lower[k], held.upper[k]) = (best.theta[k], best.theta[k]);
        }
        let mut found = lm::minimise(problem, &best.theta, &held, limits, &mut |_| Next::Continue)?;
        best.evaluations += found.evaluations;
        if found.moments.is_finite() && found.moments.cost < best.moments.cost {
            best.theta = std::mem::take(&mut found.theta);
            std::mem::swap(&mut best.moments, &mut found.moments);
        }
    }
    Ok(false)
}

/// Parameters whose slopes promise a fall.
fn jumping(bounds: &Bounds, best: &Minimum) -> Vec<usize> {
    let p = best.theta.len();
    let root = (2.0 * best.moments.cost).sqrt();
    let jumps = |&k: &usize| {
        let (g, size) = (
            best.moments.gradient[k],
            best.moments.normal[k * p + k].sqrt(),
        );
        !bounds.holds(k, best.theta[k], g) && g.abs() > PROMISED * size * root
    };
    (0..p).filter(jumps).collect()
}

/// Steps along the parameters until none is lower; false where there was no time for that.
fn lowest_around(
    problem: &mut Problem<'_>,
    bounds: &Bounds,
    limits: &Limits,
    best: &mut Minimum,
) -> Result<bool> {
    let p = best.theta.len();
    let mut there = Moments::new(p);
    let mut left = (limits.max_evaluations / PART).min(MOST_STEPS * p);
    let mut length = STEPS[0];
    while length >= STEPS[1] {
        let mut fell = false;
        for k in 0..p {
            for side in [-1.0, 1.0] {
                let Some(trial) = moved(best, bounds, k, side * length) else {
                    continue;
                };
                if left == 0 {
                    return Ok(false);
                }
                left -= 1;
                best.evaluations += 1;
                problem.moments(&trial, &mut there)?;
                if there.is_finite() && there.cost < best.moments.cost * (1.0 - LEAST_FALL) {
                    best.theta = trial;
                    std::mem::swap(&mut best.moments, &mut there);
                    fell = true;
                }
            }
        }
        length = match fell {
            true => (length * FACTOR).min(STEPS[0]),
            false => length / FACTOR,
        };
    }
    Ok(true)
}

/// The point a step along parameter `k` away; none where it has no effect.
fn moved(best: &Minimum, bounds: &Bounds, k: usize, length: f64) -> Option<Vec<f64>> {
    let p = best.theta.len();
    let size = best.moments.normal[k * p + k].sqrt();
    if size == 0.0 {
        return None;
    }
    let step = length * (2.0 * best.moments.cost).sqrt() / size;
    let mut trial = best.theta.clone();
    trial[k] = bounds.clip(k, trial[k] + step);
    (trial[k] != best.theta[k]).then_some(trial)
}
