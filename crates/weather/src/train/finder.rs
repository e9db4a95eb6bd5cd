//! Which learning rate: losses while it grows from step to step.

use super::batch::{Batch, order};
use super::caller::Caller;
use super::engine::{Engine, Target};
use super::plan::Settings;
use super::problem::Problem;
use super::resume::{Ready, first, ready};
use crate::data::Split;
use fitzroy::{Error, ErrorKind, Result};
use std::sync::atomic::Ordering;

/// First and last rate.
const RATES: (f64, f64) = (1e-6, 1.0);
/// Steps from one to the other.
const STEPS: usize = 120;
/// Weight of the past in the smoothed loss.
const SMOOTH: f64 = 0.9;
/// A smoothed ratio of so many times the smallest ends the search.
const DIVERGED: f64 = 1.5;
/// The suggestion is the rate of the smallest smoothed ratio divided by this: the mean lags behind by
/// about as much, and a schedule that begins with larger rates than are good does not recover.
const BELOW: f64 = 3.0;
/// The loss has fallen where its smoothed ratio is below this.
const FELL: f64 = 0.995;

/// Losses at growing rates. Those of batches differ by far more than training changes them, so each is
/// divided by what the weights of the start have on the same batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// Rate, loss of the batch over that of the start, and its smoothed logarithm as a ratio, of each
    /// step.
    pub steps: Vec<(f64, f64, f64)>,
    /// The rate to train with; none where the loss never fell.
    pub suggested: Option<f64>,
    /// The rate of the smallest smoothed loss.
    pub least: Option<f64>,
}

impl Rates {
    /// What follows from the ratios of losses at growing rates.
    fn new(ratios: &[(f64, f64)]) -> Self {
        let (mut mean, mut steps) = (0.0, Vec::new());
        for (k, &(rate, ratio)) in ratios.iter().enumerate() {
            mean = SMOOTH * mean + (1.0 - SMOOTH) * ratio.ln();
            let known = 1.0 - SMOOTH.powi(k as i32 + 1);
            steps.push((rate, ratio, (mean / known).exp()));
        }
        let finite = steps.iter().filter(|s| s.2.is_finite());
        let least = finite.min_by(|a, b| a.2.total_cmp(&b.2)).copied();
        let fell = least.filter(|least| least.2 < FELL);
        Rates {
            suggested: fell.map(|least| two_digits(least.0 / BELOW)),
            least: fell.map(|least| least.0),
            steps,
        }
    }
}

/// A number of two significant digits, which people type.
fn two_digits(x: f64) -> f64 {
    let scale = 10_f64.powf(x.log10().floor() - 1.0);
    let text = format!("{:.1e}", (x / scale).round() * scale);
    text.parse().unwrap_or(x)
}

/// The windows of each step of the search, drawn as training draws them.
fn drawn(windows: &[u32], s: &Settings) -> Result<Vec<Vec<u32>>> {
    let needed = s.batch_size * s.accumulate;
    if windows.len() < needed {
        let message = format!(
            "the search needs {needed} training windows, there are {}",
            windows.len()
        );
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let mut drawn: Vec<Vec<u32>> = Vec::new();
    for epoch in 0.. {
        let all = order(windows, s.seed, epoch);
        drawn.extend(all.chunks_exact(needed).map(<[u32]>::to_vec));
        if drawn.len() >= STEPS {
            break;
        }
    }
    drawn.truncate(STEPS);
    Ok(drawn)
}

/// Trains a fresh network, or the one that is started from, with a rate that grows from step to
/// step by a constant factor, until the loss leaves or the rates end. Nothing is kept of it; none
/// if the user stopped it.
///
/// # Errors
/// Those of [`super::train_on`] before its first step.
pub fn find_rate(
    target: Target,
    problem: &Problem,
    settings: &Settings,
    caller: &Caller<'_>,
) -> Result<Option<Rates>> {
    let s = settings;
    let Ready {
        rollouts,
        network,
        own,
        ..
    } = ready(problem, s, None)?;
    let s = &Settings {
        average: None,
        ..s.clone()
    };
    let mut checkpoint = first(problem, &network, s, own);
    let mut engine = Engine::new(target, problem, s, rollouts.longest(), &checkpoint)?;
    let steps = rollouts.steps(0);
    let drawn = drawn(&problem.windows(Split::Train, steps).0, s)?;
    let of_start = |own: &Vec<u32>| Ok(engine.validate(problem, &checkpoint, own, steps)?.0);
    let of_start: Result<Vec<f64>> = drawn.iter().map(of_start).collect();
    let of_start = of_start?;
    let mut ratios = Vec::new();
    let mut batch = Batch::default();
    for (k, own) in drawn.iter().enumerate() {
        if caller.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let rate = RATES.0 * (RATES.1 / RATES.0).powf(k as f64 / (STEPS - 1) as f64);
        let mut loss = 0.0;
        for (number, part) in own.chunks(s.batch_size).enumerate() {
            engine.filler()(&mut batch, problem, part, steps);
            let ends = (number == 0, number + 1 == s.accumulate);
            loss += engine.learn(problem, &checkpoint, &batch, rate, ends)?;
        }
        let norm = engine.update(&mut checkpoint, s, rate);
        let mut known = (loss / s.accumulate as f64, norm);
        if let Engine::Device(device) = &mut engine {
            known = device.status()?.last;
        }
        ratios.push((rate, known.0 / of_start[k]));
        let so_far = Rates::new(&ratios);
        let (_, _, smoothed) = so_far.steps[k];
        let least = so_far
            .steps
            .iter()
            .map(|s| s.2)
            .fold(f64::INFINITY, f64::min);
        if !(known.0.is_finite() && known.1.is_finite()) || smoothed > DIVERGED * least {
            break;
        }
    }
    Ok(Some(Rates::new(&ratios)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{archive, problem_from, quiet, settings};
    use super::super::{Baseline, GraphKind, Settings, Task};
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// A valley in the logarithm of the rate, with noise: its bottom is found within the step of
    /// the search and the lag of the mean, and the suggestion is a third of it. A loss that never
    /// falls has none.
    #[test]
    fn the_suggestion_is_a_third_of_the_bottom_of_the_valley() {
        for (seed, bottom) in [(1_u64, 3e-4), (2, 1e-2), (3, 0.1)] {
            let mut state = seed;
            let mut noise = || {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 33) as f64 / f64::from(1_u32 << 31) - 0.5
            };
            let rate = |k: usize| 1e-6 * 1e6_f64.powf(k as f64 / 119.0);
            let loss = |x: f64| 1.0 + 0.3 * ((x / bottom).log10().powi(2) - 1.0).min(0.5);
            let losses: Vec<(f64, f64)> = (0..120)
                .map(|k| (rate(k), loss(rate(k)) + 0.02 * noise()))
                .collect();
            let found = Rates::new(&losses);
            let off = (found.least.unwrap() / bottom).log10();
            // A mean over about ten steps of a twentieth of a decade lags by half a decade.
            assert!((0.0..0.8).contains(&off), "{off}");
            let ratio = found.least.unwrap() / found.suggested.unwrap();
            assert!((ratio / 3.0 - 1.0).abs() < 0.06, "{ratio}");
        }
        let rising: Vec<(f64, f64)> = (0..120)
            .map(|k| (1e-6 * f64::from(k + 1), 1.0 + 0.01 * f64::from(k)))
            .collect();
        assert_eq!(Rates::new(&rising).suggested, None);
    }

    /// A search ends by itself, before the rates do where the loss leaves, and with its suggestion
    /// a training learns more than with a hundredth of it.
    #[test]
    fn a_search_ends_by_itself_with_a_rate_that_learns() {
        let task = Task::Forecast { boundary_width: 1 };
        let problem = problem_from(archive(60), task, GraphKind::Mesh, Baseline::Momentum);
        let stop = AtomicBool::new(false);
        let caller = quiet(&stop);
        let found = find_rate(Target::Cpu, &problem, &settings(), &caller)
            .unwrap()
            .unwrap();
        let suggested = found.suggested.unwrap();
        assert!((1e-5..0.1).contains(&suggested), "{suggested}");
        assert!(found.steps.len() <= STEPS && found.steps.len() > 40);
        let trained = |rate: f64| {
            let folder = super::super::tests::Folder::new(&format!("rate{rate}"));
            let settings = Settings {
                learning_rate: rate,
                ..settings()
            };
            super::super::tests::run(&problem, &settings, None, &folder.0).last_loss
        };
        assert!(trained(suggested) < trained(0.01 * suggested));
        stop.store(true, Ordering::Relaxed);
        assert_eq!(
            find_rate(Target::Cpu, &problem, &settings(), &caller).unwrap(),
            None
        );
    }
}
