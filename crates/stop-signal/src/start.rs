//! Where chains start and how they move. They start at the priors' medians, t0 at half of the
//! shortest response: from anywhere else a subject's t0 lies above one of its responses, where the
//! density is 0.

use crate::data::Study;
use crate::model::{Kind, Pooling, Spec};
use crate::params::Parameter;
use crate::priors::Prior;
use fitzroy::fit::sample::{MetricKind, PastTurn, Settings};
use fitzroy::model::joint::Joint;
use fitzroy::rng::{Purpose, Rng};

/// Half width of what is added to each coordinate.
const JITTER: f64 = 0.1;

/// Doublings of a trajectory before metric and coordinates fit: with the prior's scales and 100
/// subjects, whole trajectories have some 500 steps and lead no farther.
const EARLY_TREEDEPTH: u32 = 6;

/// What this posterior asks of the sampler, where nothing else is asked for.
///
/// Within a subject B and t0 correlate by −0.9 and B and v_plus by 0.7. For 100 simulated subjects
/// in centred coordinates the condition number that is left by the best diagonal metric is 13.7²,
/// by that with the 16 worst directions out 8.6², by one dense block per subject 3.1², and by both
/// 1.3² (normal approximation at the modes, population known).
///
/// What is left are a few slow directions of the population: how much of the stop time is
/// exponential, and how much of that differs between subjects. They hardly move before the
/// subjects' coordinates have turned; trajectories of twice the length move them more than twice as
/// well (100 simulated subjects: 1.6 to 3 times the effective draws of the slowest six).
pub fn suit(spec: &Spec, sampler: &mut Settings) {
    let slow = spec.kind.stops() && spec.pooling == Pooling::Partial;
    if slow && sampler.past_turn == PastTurn::Auto {
        sampler.past_turn = PastTurn::On;
    }
    if sampler.metric == MetricKind::Auto {
        sampler.metric = MetricKind::Blocks;
    }
    sampler.early_treedepth = EARLY_TREEDEPTH;
}

/// A point for each chain, in the coordinates that a run starts in.
///
/// `subjects` are those of the model, in its order.
pub fn points(
    spec: &Spec,
    study: &Study,
    joint: &Joint,
    subjects: &[String],
    chains: usize,
    seed: u64,
) -> Vec<Vec<f64>> {
    let counts = study.counts();
    let shortest = subjects.iter().map(|name| {
        let at = study.subjects.iter().position(|s| s == name);
        at.map_or(0.3, |k| counts[k].shortest)
    });
    let shortest: Vec<f64> = shortest.collect();
    let one = |chain: usize| {
        let mut rng = Rng::new(seed, 0, chain as u32, 0, Purpose::Init);
        let mut jitter = || JITTER * (2.0 * rng.uniform() - 1.0);
        let mut point = vec![0.0; joint.n_sampled()];
        for p in joint.parameters() {
            for i in 0..p.len {
                let shift = jitter();
                if let Some(slot) = point.get_mut(p.offset + i) {
                    *slot = coordinate(spec, &p.name, shortest.get(i).copied()) + shift;
                }
            }
        }
        // t0 by the group values of this very point.
        settle(spec, joint, &shortest, &mut point);
        point
    };
    (0..chains).map(one).collect()
}

/// The coordinate of the middle of a parameter's prior; 0 for standardised ones.
fn coordinate(spec: &Spec, name: &str, shortest: Option<f64>) -> f64 {
    if !spec.kind.stops() {
        return wald_coordinate(name, shortest);
    }
    let mut all = spec.priors();
    all.find_map(|(p, prior)| middle(spec, p, prior, name))
        .unwrap_or(0.0)
}

/// The coordinate called `name` at the middle of the prior of `p`, if it is about `p`.
fn middle(spec: &Spec, p: &Parameter, prior: &Prior, name: &str) -> Option<f64> {
    let x = p.name;
    let centre = if p.probability { prior.m } else { prior.m.ln() };
    let spread = 0.5 * prior.h;
    let own = spec.pooling == Pooling::None || spec.centred.iter().any(|n| n == x);
    if name == p.spread_name() {
        Some(spread.ln())
    } else if name == format!("_signed_{x}") {
        Some(spread)
    } else if name == p.centre_name() || name == p.scaled_name() && own {
        Some(centre)
    } else {
        None
    }
}

fn wald_coordinate(name: &str, shortest: Option<f64>) -> f64 {
    let logit = |p: f64| (p / (1.0 - p)).ln();
    match name {
        "mu_t0" => logit(0.15),
        "t0" => logit((0.5 * shortest.unwrap_or(0.3)).min(0.45) / 0.5),
        "v_true" => 2f64.ln(),
        "mu_v_true" => 2.0,
        "mu_v_false" => 1.0,
        "sigma_t0" => 0.05f64.ln(),
        _ if name.starts_with("sigma_") => 0.2f64.ln(),
        _ => 0.0,
    }
}

/// log t0 of every subject at half of its shortest response, or at the prior's median if lower.
fn settle(spec: &Spec, joint: &Joint, shortest: &[f64], point: &mut [f64]) {
    if spec.kind != Kind::Rdex {
        return;
    }
    let place = |name: &str| {
        let found = joint.parameters().iter().find(|p| p.name == name);
        found.map(|p| (p.offset, p.len))
    };
    let Some((at, len)) = place("log_t0") else {
        return;
    };
    let prior = spec.priors().find(|(p, _)| p.name == "t0");
    let median = prior.map_or(0.0, |(_, prior)| prior.m.ln());
    let centre = place("log_mu_t0").map_or(median, |(k, _)| point[k]);
    let scale = place("sigma_t0").map_or(1.0, |(k, _)| point[k].exp());
    let own = spec.pooling == Pooling::None || spec.centred.iter().any(|n| n == "t0");
    for (x, rt) in point[at..at + len].iter_mut().zip(shortest) {
        let wanted = (0.5 * rt).ln().min(centre);
        *x = if own {
            wanted
        } else {
            (wanted - centre) / scale
        };
    }
}
