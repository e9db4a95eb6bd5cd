//! A minimum at a kink of the curve, such as the place where two lines meet: slopes jump there, and first-order
//! conditions hold for none of them.
//!
//! Such a point is found by steps along the parameters, longer after one that lowers the cost and shorter after
//! a round in which none does (Hooke and Jeeves, Journal of the ACM 8, 1961). It is known to be a kink where the
//! slopes promise that a step lowers the cost, and no step does, however short: on a smooth curve one would. Where steps
//! along the parameters do not get there in time, as in a narrow valley, the interval is halved in which the slope turns,
//! the other parameters being fitted at each point.

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
/// Times that the interval is halved in which a slope turns.
const HALVED: usize = 60;
/// The part of the cost that rounding may add.
const ROUNDED: f64 = 1e-12;

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
    between(problem, bounds, limits, best)
}

/// Moves `best` to where slopes change their sign along one parameter after the other, the rest being fitted at each
/// point; false where they do not.
fn between(
    problem: &mut Problem<'_>,
    bounds: &Bounds,
    limits: &Limits,
    best: &mut Minimum,
) -> Result<bool> {
    if best.evaluations >= limits.max_evaluations {
        return Ok(false);
    }
    let mut held = bounds.clone();
    let mut any = false;
    for _ in 0..best.theta.len() {
        let jumps = jumping(&held, best);
        let Some(&k) = jumps.iter().find(|&&k| held.lower[k] < held.upper[k]) else {
            return Ok(any);
        };
        let Some(found) = turning(problem, &held, limits, best, k)? else {
            return Ok(false);
        };
        if found.moments.cost > best.moments.cost * (1.0 + ROUNDED) {
            return Ok(false);
        }
        let evaluations = best.evaluations + found.evaluations;
        *best = Minimum {
            evaluations,
            ..found
        };
        (held.lower[k], held.upper[k]) = (best.theta[k], best.theta[k]);
        any = true;
    }
    Ok(any)
}

/// The point of least cost where the slope along parameter `k` turns, by halves.
fn turning(
    problem: &mut Problem<'_>,
    bounds: &Bounds,
    limits: &Limits,
    best: &Minimum,
    k: usize,
) -> Result<Option<Minimum>> {
    let mut evaluations = 0;
    let mut at = |x: f64, from: &[f64]| -> Result<Minimum> {
        let mut held = bounds.clone();
        (held.lower[k], held.upper[k]) = (x, x);
        let mut theta = from.to_vec();
        theta[k] = x;
        let found = lm::minimise(problem, &theta, &held, limits, &mut |_| Next::Continue)?;
        evaluations += found.evaluations;
        Ok(found)
    };
    let size = best.moments.normal[k * best.theta.len() + k].sqrt();
    let mut near = at(best.theta[k], &best.theta)?;
    let down = -near.moments.gradient[k].signum();
    let mut length = STEPS[1] * (2.0 * best.moments.cost).sqrt() / size;
    let longest = STEPS[0] / STEPS[1] * length;
    let mut far = loop {
        let x = bounds.clip(k, near.theta[k] + down * length);
        let there = at(x, &near.theta)?;
        if !there.moments.is_finite() || x == near.theta[k] {
            return Ok(None);
        }
        if there.moments.gradient[k] * down > 0.0 {
            break there;
        }
        if length > longest {
            return Ok(None);
        }
        near = there;
        length *= FACTOR;
    };
    for _ in 0..HALVED {
        let x = 0.5 * (near.theta[k] + far.theta[k]);
        if x == near.theta[k] || x == far.theta[k] {
            break;
        }
        let middle = at(x, &near.theta)?;
        if !middle.moments.is_finite() {
            return Ok(None);
        }
        match middle.moments.gradient[k] * down > 0.0 {
            true => far = middle,
            false => near = middle,
        }
    }
    let mut lower = match far.moments.cost < near.moments.cost {
        true => far,
        false => near,
    };
    lower.evaluations = evaluations;
    Ok(Some(lower))
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
