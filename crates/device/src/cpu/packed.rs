//! Contractions with a constant: a matrix times a vector, whole registers of results at a time.

use super::program::{Arena, KernelPlan, Packed};
use crate::lanes::Lanes;

/// Registers of results that grow side by side, to hide how long an addition takes.
const ABREAST: usize = 4;

/// Every result as one sum over the terms in their order, products rounded: the bits of
/// [`fitzroy_graph::reference`].
#[inline(always)]
pub(super) fn product<L: Lanes>(
    plan: &KernelPlan,
    packed: &Packed,
    work: *mut f64,
    fixed: *const f64,
) {
    let loc = plan.inputs[packed.vector].0;
    // SAFETY: the plan's arrays lie inside their arenas, with SLACK numbers of room beyond their
    // ends, and results do not overlap inputs.
    unsafe {
        let base = match loc.arena {
            Arena::Work => work.cast_const(),
            Arena::Fixed => fixed,
        };
        let (vector, to) = (base.add(loc.at), work.add(plan.to));
        let mut at = 0;
        while at + ABREAST * L::N <= plan.len {
            columns::<L, ABREAST>(packed, vector, fixed, to, at);
            at += ABREAST * L::N;
        }
        while at < plan.len {
            columns::<L, 1>(packed, vector, fixed, to, at);
            at += L::N;
        }
    }
}

/// Results `at` to `at + R * N`.
#[inline(always)]
unsafe fn columns<L: Lanes, const R: usize>(
    packed: &Packed,
    vector: *const f64,
    fixed: *const f64,
    to: *mut f64,
    at: usize,
) {
    // What a sum of numbers starts from.
    let nothing = std::iter::empty::<f64>().sum();
    let mut sums = [L::splat(nothing); R];
    // SAFETY: see `product`.
    unsafe {
        let mut row = fixed.add(packed.at + at);
        for &term in &packed.terms {
            let x = L::splat(*vector.add(term as usize));
            for (r, sum) in sums.iter_mut().enumerate() {
                *sum = sum.add(x.mul(L::load(row.add(r * L::N))));
            }
            row = row.add(packed.stride);
        }
        for (r, sum) in sums.iter().enumerate() {
            sum.store(to.add(at + r * L::N));
        }
    }
}
