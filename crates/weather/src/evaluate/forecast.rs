//! Forecasts of a trained model, in the channels' units.

use crate::data::{FORCINGS, forcings};
use crate::time::Time;
use crate::train::{Predictor, Problem};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::nn::{Pool, Recompute};

/// Puts the truth on the boundary.
pub(super) fn force(problem: &Problem, truth: &[f32], state: &mut [f32]) {
    let n = problem.archive.channels.len();
    for (place, &node) in problem.outputs().iter().enumerate() {
        if problem.node_weights[place] == 0.0 {
            let at = node as usize * n;
            state[at..at + n].copy_from_slice(&truth[at..at + n]);
        }
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

/// Forecasts `steps` steps from record `t`: states in the channels' units. The boundary comes
/// from the archive's later records.
///
/// # Errors
/// A record before the start, or one of the boundary, is missing.
pub fn forecast(
    problem: &Problem,
    parameters: &[f32],
    pool: &mut Pool,
    t: usize,
    steps: usize,
) -> Result<Vec<Vec<f64>>> {
    let archive = &problem.archive;
    let step_s = archive.step_s;
    let at = |k: i64| {
        let time = Time(archive.times[t].0 + k * step_s);
        archive.times.binary_search(&time).ok().ok_or_else(|| {
            let what = if k < 0 {
                "a forecast starts from two states one step apart"
            } else {
                "the boundary is forced with later states; append them to ⟨data⟩, or give them \
                 as ⟨boundary⟩"
            };
            let message = format!("there is no record of {}: {what}", time.iso());
            Error::new(ErrorKind::Data, message)
        })
    };
    let known = |time: i64| {
        let mut out = vec![0.0; archive.n_nodes() * FORCINGS];
        let time = Time(archive.times[t].0 + time * step_s);
        forcings(time, archive, &mut out);
        out
    };
    let forced = problem.node_weights.contains(&0.0);
    let mut predictor = Predictor::new(problem, pool, 1, 1, Recompute::Mlp)?;
    predictor.embed(pool, parameters);
    predictor.start(archive.record(at(-1)?), archive.record(t));
    let mut states = Vec::new();
    for step in 0..steps {
        let truth = if forced {
            Some(archive.record(at(step as i64 + 1)?))
        } else {
            None
        };
        let sun = [-1, 0, 1].map(|k| known(step as i64 + k));
        let sun = [&sun[0][..], &sun[1][..], &sun[2][..]];
        predictor.step(problem, pool, parameters, (step, 0), sun, truth);
        states.push(restored(problem, predictor.state(step + 2)));
    }
    Ok(states)
}
