//! Signs that the curve does not depend on, as that of a width which only its square enters: the positive one is taken.

use super::options::Options;
use super::plan::Plan;
use super::problem::Problem;
use crate::method::{Minimum, Moments, Objective};
use fitzroy::Result;

/// How much rounding may change the cost, relative to itself and to what the parameters make of it.
const ROUNDED: f64 = 1e-9;
const EXACT: f64 = 1e-24;

/// Turns negative parameters that are not linear to their positive values, alone or with a linear one, where the curve
/// is the same; those that were started below 0 stay.
pub(super) fn settle(
    plan: &Plan,
    options: &Options,
    problem: &mut Problem<'_>,
    best: &mut Minimum,
) -> Result<()> {
    let p = best.theta.len();
    let linear = plan.programs.linear();
    let given = |k: usize| {
        let own = options.p0.iter().rev().find(|(n, _)| n == plan.name(k));
        own.is_some_and(|(_, x)| *x < 0.0)
    };
    let turns = |k: usize, x: f64| plan.bounds.clip(k, -x) == -x;
    let mut there = Moments::new(p);
    for k in (0..p).filter(|&k| !linear[k]) {
        if best.theta[k] >= 0.0 || given(k) || !turns(k, best.theta[k]) {
            continue;
        }
        let alone = std::iter::once(None);
        let with = (0..p).filter(|&l| linear[l] && turns(l, best.theta[l]));
        for partner in alone.chain(with.map(Some)) {
            let mut trial = best.theta.clone();
            for at in [Some(k), partner].into_iter().flatten() {
                trial[at] = -trial[at];
            }
            problem.moments(&trial, &mut there)?;
            let normal = &best.moments.normal;
            let size: f64 = (0..p)
                .map(|a| normal[a * p + a] * trial[a] * trial[a])
                .sum();
            let rounded = ROUNDED * best.moments.cost + EXACT * size;
            if there.is_finite() && (there.cost - best.moments.cost).abs() <= rounded {
                best.theta = trial;
                std::mem::swap(&mut best.moments, &mut there);
                break;
            }
        }
    }
    Ok(())
}
