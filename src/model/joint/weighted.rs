//! Draws of whole numbers by the logarithms of their weights.

use crate::rng::Rng;

/// The place of one of some log weights; none where no weight is above 0.
fn place(rng: &mut Rng, all: impl Iterator<Item = f64> + Clone) -> Option<usize> {
    let peak = all.clone().fold(f64::NEG_INFINITY, f64::max);
    let share = |w: f64| (w - peak).exp();
    let total: f64 = all.clone().map(share).sum();
    if !peak.is_finite() || !total.is_finite() {
        return None;
    }
    let mut rest = rng.uniform() * total;
    // Rounding may leave a little after the last weight.
    let mut picked = 0;
    for (k, w) in all.enumerate() {
        let share = share(w);
        if share > 0.0 {
            picked = k;
        }
        if rest < share {
            break;
        }
        rest -= share;
    }
    Some(picked)
}

/// Numbers from `low` on by the log weights of their combinations; NaN where none has any.
pub(super) fn weighted(rng: &mut Rng, weights: &[&[f64]], low: f64, count: usize, out: &mut [f64]) {
    let all = weights.iter().flat_map(|w| w.iter().copied());
    let Some(mut picked) = place(rng, all) else {
        out.fill(f64::NAN);
        return;
    };
    for x in out.iter_mut().rev() {
        *x = low + (picked % count) as f64;
        picked /= count;
    }
}

/// Numbers from `low` on along steps, by log weights `[step][number]` of the last step and of those
/// before given the next, to which moves `[step][before][number]` add.
pub(super) fn chain(
    rng: &mut Rng,
    (steps, moves): (&[f64], &[f64]),
    (low, count): (f64, usize),
    out: &mut [f64],
) {
    let mut next: Option<usize> = None;
    for t in (0..out.len()).rev() {
        let own = &steps[t * count..(t + 1) * count];
        let picked = match next {
            None => place(rng, own.iter().copied()),
            Some(to) => {
                let moves = &moves[(t + 1) * count * count..];
                let all = own.iter().enumerate();
                place(rng, all.map(|(from, w)| w + moves[from * count + to]))
            }
        };
        let Some(picked) = picked else {
            out.fill(f64::NAN);
            return;
        };
        out[t] = low + picked as f64;
        next = Some(picked);
    }
}
