//! Whether a lower precision is good enough: its log density and slopes against those in f64, at
//! draws of the warm-up, on the machine that computes in it.

use super::super::chain::{Chain, PhaseSettings};
use super::super::run::Session;
use super::super::{Phase, Target};
use super::workers::working;
use super::{Job, Kinds, Lower, Remote, STATE_EXTRA, Slot, Stretch, chain_words, program_for};
use crate::Result;
use fitzroy_device::gpu::text::Precision;
use fitzroy_device::gpu::{idle, read_into};
use std::sync::OnceLock;

/// Draws at which precisions are compared.
const POINTS: usize = 32;
/// Nats by which differences of the log density may be off: a hundredth changes an acceptance
/// probability by one percent.
const LOG_DENSITY_ALLOWED: f64 = 0.01;
/// How far a slope may be off, relative to the usual length of a slope.
const SLOPE_ALLOWED: f64 = 1e-3;

/// How far below the highest a point may lie to count, in nats, beside one for each coordinate: draws of
/// the posterior lie about half of one lower for each. A chain on its way there passes places where
/// densities are so low that f32 has few digits for them.
const DEPTH: f64 = 100.0;

/// How far a lower precision is from f64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disagreement {
    /// The largest error of a difference of log densities, in nats.
    pub log_density: f64,
    /// The largest error of a slope, relative to the root mean square of their lengths.
    pub slope: f64,
    /// Points that were compared.
    pub n_points: usize,
}

impl Disagreement {
    /// Whether draws of a chain would show it: more than 0.01 nats, or 1e-3 of a slope.
    pub fn matters(&self) -> bool {
        // NaN matters, too.
        !(self.log_density <= LOG_DENSITY_ALLOWED && self.slope <= SLOPE_ALLOWED)
    }

    /// Of values and slopes in f64 and in a lower precision. Points where f64 is not finite, or far below
    /// others, count for nothing.
    fn of(exact: &[(f64, Vec<f64>)], lower: &[(f64, Vec<f64>)]) -> Disagreement {
        let highest = exact.iter().map(|e| e.0).fold(f64::NEG_INFINITY, f64::max);
        let counts =
            |e: &(f64, Vec<f64>)| e.0.is_finite() && e.0 >= highest - DEPTH - e.1.len() as f64;
        let pairs = exact.iter().zip(lower);
        let pairs: Vec<_> = pairs.filter(|(e, _)| counts(e)).collect();
        let n = pairs.len() as f64;
        let errors: Vec<f64> = pairs.iter().map(|(e, l)| l.0 - e.0).collect();
        let mean = errors.iter().sum::<f64>() / n;
        let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
        let usual = (pairs.iter().map(|(e, _)| square(&e.1)).sum::<f64>() / n).sqrt();
        let apart = |(e, l): &(&(f64, Vec<f64>), &(f64, Vec<f64>))| {
            let each: Vec<f64> = e.1.iter().zip(&l.1).map(|(a, b)| a - b).collect();
            square(&each).sqrt() / usual.max(f64::MIN_POSITIVE)
        };
        // `max` of two numbers loses NaN.
        let largest = |x: &mut dyn Iterator<Item = f64>| {
            x.fold(0.0, |most: f64, x| if x <= most { most } else { x })
        };
        Disagreement {
            log_density: largest(&mut errors.iter().map(|e| (e - mean).abs())),
            slope: largest(&mut pairs.iter().map(apart)),
            n_points: pairs.len(),
        }
    }
}

/// What is known of the agreement of two precisions; shared by all stretches of a run.
#[derive(Debug, Default)]
pub struct Agreement {
    refused: OnceLock<Disagreement>,
}

impl Agreement {
    /// Whether the lower precision is still used.
    pub fn holds(&self) -> bool {
        self.refused.get().is_none()
    }

    /// Why it is not used any more.
    pub fn refused(&self) -> Option<&Disagreement> {
        self.refused.get()
    }

    /// Gives it up.
    pub fn refuse(&self, found: Disagreement) {
        // The first reason stays.
        let _ = self.refused.set(found);
    }
}

/// Compares the precisions where a window of the warm-up begins, and before the first draw.
/// Starting points may lie so far out that f32 has no numbers there, so they are not looked at. All
/// machines are asked at the same draws, and one that disagrees decides for all.
pub(super) fn examine<T: Target>(
    remote: &Remote<'_>,
    chains: &mut [Chain<T>],
    phase: &PhaseSettings,
    session: &Session<'_>,
) -> Result<()> {
    let Some(lower) = remote.lower.as_ref().filter(|l| l.agreement.holds()) else {
        return Ok(());
    };
    let begun = chains[0].iteration as usize;
    let due = match phase.phase {
        Phase::Warmup => begun > 0,
        Phase::Sampling => begun == phase.start,
    };
    if !due {
        return Ok(());
    }
    let points = points(chains, lower.source.precision);
    let target = &mut chains[0].target;
    let exact: Vec<(f64, Vec<f64>)> = points
        .iter()
        .map(|point| {
            let mut slope = vec![0.0; point.len()];
            (target.value_and_gradient(point, &mut slope), slope)
        })
        .collect();
    chains[0].gradients += points.len() as u64;
    // The kernel of the transitions to come, so that it is compiled once.
    let kinds = remote.kinds(session.settings, chains);
    for (worker, n) in working(&remote.workers, chains.len())? {
        let n = worker.at_once(n);
        let code = ((worker.team)(n), worker.kinds(kinds));
        let mut stretch = worker.stretch(n, remote.source.dim);
        match evaluate(&mut stretch, lower, code, &points, session) {
            Ok(got) => {
                let found = Disagreement::of(&exact, &got);
                if found.n_points > 0 && found.matters() {
                    lower.agreement.refuse(found);
                    break;
                }
            }
            Err(error) => worker.lost(error, remote.workers.len() == 1, session),
        }
    }
    Ok(())
}

/// Some of the draws of the present windows, or where the chains stand; as the precision holds them.
fn points<T: Target>(chains: &[Chain<T>], precision: Precision) -> Vec<Vec<f64>> {
    let dim = chains[0].target.dim();
    let windows = chains.iter().flat_map(|c| &c.windows);
    let mut rows: Vec<&[f64]> = windows
        .flat_map(|w| w.positions.chunks_exact(dim))
        .collect();
    if rows.is_empty() {
        let stand = |c| -> &[f64] {
            let chain: &Chain<T> = c;
            &chain.space.candidate.position.as_flattened()[..dim]
        };
        rows = chains.iter().map(stand).collect();
    }
    let step = rows.len().div_ceil(POINTS);
    let held = |x: &f64| match precision {
        Precision::F32 => f64::from(*x as f32),
        Precision::F64 | Precision::Mixed => *x,
    };
    let some = rows.iter().step_by(step);
    some.map(|row| row.iter().map(held).collect()).collect()
}

/// Log density and slopes at `points` by the machine: a launch of no transitions, with a chain at
/// each point.
fn evaluate(
    stretch: &mut Stretch<'_>,
    lower: &Lower<'_>,
    (team, kinds): (usize, Kinds),
    points: &[Vec<f64>],
    session: &Session<'_>,
) -> Result<Vec<(f64, Vec<f64>)>> {
    let source = &*lower.source;
    let settings = session.settings;
    stretch.load(&program_for(source, team, settings, kinds), session)?;
    let (dim, words) = (source.dim, 2 * source.dim + STATE_EXTRA);
    let fixed = stretch.send_numbers(Slot::Fixed, &source.fixed)?;
    let table = stretch.send_table(&source.table)?;
    // Of no kind and no directions: no transition reads it.
    let metric = stretch.send_numbers(Slot::Metric, &[0.0; 3])?;
    let mut found = Vec::with_capacity(points.len());
    // As many as there are chains at a time: that many have room.
    for some in points.chunks(stretch.n_chains) {
        let n = some.len();
        let mut states = vec![0.0; n * words];
        for (state, point) in states.chunks_exact_mut(words).zip(some) {
            state[..dim].copy_from_slice(point);
        }
        let memory = chain_words(source, settings.max_treedepth, team) * n;
        let at = stretch.send_numbers(Slot::States, &states)?;
        let job = Job {
            fixed,
            table,
            metric,
            states: at,
            memory: stretch.machine.reserve(Slot::Memory as usize, memory)?,
            n_chains: n as u64,
            seed: settings.seed,
            fresh: 1,
            ..Job::default()
        };
        let job = stretch.send(Slot::Job, &job.words())?;
        stretch.machine.launch(job, n, &mut idle)?;
        let mut got = vec![0u64; n * words];
        read_into(&mut *stretch.machine, at, &mut got)?;
        let number = |x: &u64| f64::from_bits(*x);
        found.extend(got.chunks_exact(words).map(|state| {
            let slope = state[dim..2 * dim].iter().map(number).collect();
            (number(&state[2 * dim]), slope)
        }));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(value: f64, slope: &[f64]) -> (f64, Vec<f64>) {
        (value, slope.to_vec())
    }

    #[test]
    fn a_constant_difference_does_not_matter_and_a_changing_one_does() {
        let exact = [at(-3.0, &[1.0, 2.0]), at(-5.0, &[-2.0, 1.0])];
        let shifted = [at(-2.0, &[1.0, 2.0]), at(-4.0, &[-2.0, 1.0])];
        assert!(!Disagreement::of(&exact, &shifted).matters());
        let bent = [at(-3.0, &[1.0, 2.0]), at(-5.03, &[-2.0, 1.0])];
        let found = Disagreement::of(&exact, &bent);
        assert!(found.matters() && (found.log_density - 0.015).abs() < 1e-12);
        let tilted = [at(-3.0, &[1.0, 2.01]), at(-5.0, &[-2.0, 1.0])];
        assert!(Disagreement::of(&exact, &tilted).matters());
    }

    #[test]
    fn points_far_below_others_count_for_nothing() {
        let exact = [at(-3.0, &[1.0]), at(-5e5, &[-2e3])];
        let rounded = [at(-3.0, &[1.0]), at(-5e5 + 0.03, &[-2e3])];
        let found = Disagreement::of(&exact, &rounded);
        assert!(!found.matters() && found.n_points == 1);
        let near = [at(-3.0, &[1.0]), at(-90.0, &[-2.0])];
        let rounded = [at(-3.0, &[1.0]), at(-90.03, &[-2.0])];
        assert!(Disagreement::of(&near, &rounded).matters());
    }

    #[test]
    fn what_is_no_number_in_the_lower_precision_matters() {
        let exact = [at(-3.0, &[1.0]), at(f64::NEG_INFINITY, &[0.0])];
        let lost = [at(f64::NAN, &[1.0]), at(0.0, &[0.0])];
        let found = Disagreement::of(&exact, &lost);
        assert!(found.matters() && found.n_points == 1);
        let lost = [at(-3.0, &[f64::INFINITY]), at(0.0, &[0.0])];
        assert!(Disagreement::of(&exact, &lost).matters());
    }
}
