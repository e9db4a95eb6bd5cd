//! Forecasts of a trained model, in the channels' units.

use crate::time::Time;
use crate::train::{Forecaster, Problem, Start};
use fitzroy::{Error, ErrorKind, Result};

/// Puts the truth on the boundary, and where channels are read alone.
pub(super) fn force(problem: &Problem, truth: &[f32], state: &mut [f32]) {
    let n = problem.archive.channels.len();
    for (place, &node) in problem.outputs().iter().enumerate() {
        if problem.node_weights[place] == 0.0 {
            let at = node as usize * n;
            state[at..at + n].copy_from_slice(&truth[at..at + n]);
        }
    }
    for channel in problem.read_alone() {
        let pairs = state.iter_mut().zip(truth).skip(channel).step_by(n);
        pairs.for_each(|(x, truth)| *x = *truth);
    }
}

/// A state in the channels' units.
pub(super) fn restored(problem: &Problem, state: &[f32]) -> Vec<f64> {
    let n = problem.archive.channels.len();
    let value = |(k, &x): (usize, &f32)| {
        let value = problem.normaliser.restore(k % n, x);
        if problem.archive.channels[k % n].is_rain() {
            value.max(0.0)
        } else {
            value
        }
    };
    state.iter().enumerate().map(value).collect()
}

/// Forecasts from record `t` by every member: the states of its steps in the channels' units. The boundary comes
/// from the archive's later records.
///
/// # Errors
/// A record before the start, or one of the boundary, is missing; a machine fails.
pub fn forecast(
    problem: &Problem,
    forecaster: &mut Forecaster<'_>,
    t: usize,
) -> Result<Vec<Vec<Vec<f64>>>> {
    let archive = &problem.archive;
    let record = |k: i64| {
        let time = Time(archive.times[t].0 + k * archive.step_s);
        let found = archive.times.binary_search(&time).ok();
        found.map(|at| archive.record(at)).ok_or_else(|| {
            let what = if k < 0 {
                "a forecast starts from two states one step apart"
            } else {
                "the boundary, and variables that are read alone, are forced with later states; \
                 append them to ⟨data⟩, or give them as ⟨boundary⟩"
            };
            let message = format!("there is no record of {}: {what}", time.iso());
            Error::new(ErrorKind::Data, message)
        })
    };
    let (steps, before) = (forecaster.n_steps(), record(-1)?);
    let truth = match problem.needs_truth() {
        true => (1..=steps as i64).map(record).collect::<Result<_>>()?,
        false => Vec::new(),
    };
    let start = Start {
        before,
        now: archive.record(t),
        time: archive.times[t],
        truth,
    };
    let rolled = forecaster.roll(problem, &[start])?;
    let of = |member| {
        let states = (0..steps).map(|step| restored(problem, rolled[0].state(member, step)));
        states.collect()
    };
    Ok((0..forecaster.n_members()).map(of).collect())
}
