//! Whether a rewritten density is that of the model as written, and what is said if not.

use crate::diagnose::{Finding, FindingKind, say};
use crate::fit::sample::kernel::Disagreement;
use crate::run::compiled::{Change, Compiled, Frames, Written, log_jacobian};
use fitzroy_device::gpu::text::Precision;
use std::sync::Arc;

/// Points at which rewritten and written density are compared.
pub(super) const GUARD_POINTS: usize = 32;
/// How far their difference may vary, relative to the log density.
const GUARD_TOLERANCE: f64 = 1e-8;

/// What is said when a rewrite was taken back.
pub(in crate::run) fn undone() -> Finding {
    Finding::new(
        FindingKind::RewriteUndone,
        f64::NAN,
        "coordinates",
        "the density in the chosen coordinates differs from the model as written",
    )
}

/// What is said when a lower precision was given up.
pub(super) fn raised(asked: Precision, found: &Disagreement) -> Finding {
    let asked = asked.name();
    let fact = match found.n_points {
        0 => format!("an earlier session gave up ⟨precision {asked}⟩: f64 was used"),
        n => format!(
            "⟨precision {asked}⟩ was given up for f64: at {n} draws of the warm-up the log density \
             was off by up to {} nats (0.01 are allowed) and a slope by {} of its size (0.001)",
            say(found.log_density),
            say(found.slope)
        ),
    };
    Finding::new(
        FindingKind::PrecisionRaised,
        found.log_density,
        "precision",
        fact,
    )
}

/// Whether `new` gives the density of `written` but for the Jacobian and a constant, at some of
/// the `points`, which are rows of all coordinates of `present`.
pub(in crate::run) fn agrees(
    present: &Arc<Compiled>,
    written: &Written,
    new: &Arc<Compiled>,
    points: &[f64],
) -> bool {
    let (mut frames, mut rewritten) = (present.whole(), new.whole());
    let mut plain = written.evaluator();
    let to_written = Change::new(present, &written.chosen);
    let to_new = Change::new(present, &new.chosen);
    let dim = present.full;
    let n = points.len() / dim;
    let step = n.div_ceil(GUARD_POINTS).max(1);
    let (mut lowest, mut highest, mut tolerance) = (f64::INFINITY, f64::NEG_INFINITY, 0.0_f64);
    let (mut x, mut w) = (vec![0.0; dim], vec![0.0; dim]);
    for point in points.chunks_exact(dim).step_by(step) {
        x.copy_from_slice(point);
        w.copy_from_slice(point);
        frames.run(point);
        frames.restore(&mut x);
        to_written.shift(&frames, &mut x, |_| true);
        to_new.shift(&frames, &mut w, |place| place.sampled);
        rewritten.run(&w);
        let (before, after) = (plain(&x), rewritten.density());
        let difference = after - before - log_jacobian(&new.chosen, &frames, point);
        if after.is_finite() && invalid_scale(present, &frames) {
            return false;
        }
        // A scale of 0 or infinity leaves nothing to compare.
        if ![before, after, difference].iter().all(|x| x.is_finite()) {
            continue;
        }
        lowest = lowest.min(difference);
        highest = highest.max(difference);
        tolerance =
            tolerance.max(GUARD_TOLERANCE * (1.0 + before.abs()) + rounding(present, &frames, &x));
    }
    // Nothing could be compared where the range is empty.
    highest < lowest || highest - lowest <= tolerance
}

/// Whether a scale is negative or NaN: the density as written does not exist there, and the
/// standardised one would not notice.
fn invalid_scale(compiled: &Compiled, frames: &Frames<'_>) -> bool {
    let wrong = |k: usize| frames.of(k).1.iter().any(|s| s.is_nan() || *s < 0.0);
    (0..compiled.places.len()).any(wrong)
}

/// How far rounding alone may move the density as written: (x − m)/s loses digits where s is small.
fn rounding(compiled: &Compiled, frames: &Frames<'_>, x: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (k, place) in compiled.places.iter().enumerate() {
        let (location, scale) = frames.of(k);
        for j in 0..place.len {
            let x = x[place.offset + j];
            let z = (x - location[j]) / scale[j];
            sum += (1.0 + z.abs()) * (x.abs() + location[j].abs()) / scale[j];
        }
    }
    8.0 * f64::EPSILON * sum
}
