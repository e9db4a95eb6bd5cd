//! Loops of one element: the same instructions without the machinery of blocks. Lane functions of
//! `f64` give the same bits as wide registers do.

use super::elementwise::apply;
use super::operand::Bound;
use super::program::{Code, LoopPlan, PARTIALS};
use crate::lanes::Lanes;

/// Runs a loop over one element. Addresses as in `run`.
#[inline(always)]
pub(super) fn run(code: &[Bound], plan: &LoopPlan, work: *mut f64, fixed: *const f64) {
    for i in code {
        // SAFETY: every operand of an instruction is at least one number in an arena that lives as
        // long as the workspace and function borrowed by the caller.
        unsafe { one(i, plan, work, fixed) };
    }
}

#[inline(always)]
unsafe fn one(i: &Bound, plan: &LoopPlan, work: *mut f64, fixed: *const f64) {
    // SAFETY: see `run`.
    unsafe {
        let [a, b, _] = i.from.map(|arg| arg.at);
        let to = i.to.at;
        match i.code {
            Code::GatherRuns(t) | Code::GatherRising(t) => {
                *to = *a.add(plan.runs[t].group[0] as usize)
            }
            Code::GatherAt(t) => *to = *a.add(plan.positions[t][0] as usize),
            Code::Sum(s) => {
                // Added to a partial sum of zero, as in a longer loop.
                let x = if i.n_from == 2 {
                    Lanes::fma(*a, *b, 0.0)
                } else {
                    0.0 + *a
                };
                *work.add(plan.sums[s].total) = x;
            }
            Code::SumRuns(g) | Code::SumRising(g) | Code::SumAt(g) => {
                let group = &plan.groups[g];
                let total = work.add(group.total);
                total.write_bytes(0, group.len);
                *total.add(group.positions[0] as usize) = 0.0 + *a;
            }
            Code::MatVec(m) => {
                let m = &plan.matrices[m];
                let mut s = 0.0;
                for k in 0..m.columns {
                    s = Lanes::fma(*fixed.add(m.at + k * PARTIALS), *a.add(k), s);
                }
                *to = s;
            }
            Code::MatVecT(m) => {
                let m = &plan.matrices[m];
                for k in 0..m.columns {
                    let x = Lanes::fma(*fixed.add(m.at + k * PARTIALS), *a, 0.0);
                    *work.add(plan.sums[m.first_sum + k].total) = x;
                }
            }
            Code::Native => {
                let entry = plan.native.expect("its code was made with the instruction");
                entry(work, fixed, 0, 1, 0);
            }
            code => {
                let (value, also) = apply(code, |k| *i.from[k].at);
                *to = value;
                if let Some(also) = also {
                    *i.also_to.at = also;
                }
            }
        }
    }
}
