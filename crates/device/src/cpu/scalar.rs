//! Loops of one element: the same instructions without the machinery of blocks. Lane functions of
//! `f64` give the same bits as wide registers do.

use super::elementwise::{binary, unary};
use super::operand::Bound;
use super::program::{Code, LoopPlan, PARTIALS};
use crate::lanes::Lanes;
use crate::maths;

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
        let [a, b, c] = i.from.map(|arg| arg.at);
        let to = i.to.at;
        match i.code {
            Code::Copy => *to = *a,
            Code::Unary(op) => *to = unary(op, *a),
            Code::Binary(op) => *to = binary(op, *a, *b),
            Code::Select => *to = if *a == 0.0 { *c } else { *b },
            Code::MulAdd => *to = Lanes::fma(*a, *b, *c),
            Code::SubMul => *to = Lanes::fma(-*a, *b, *c),
            Code::MulSub => *to = Lanes::fma(*a, *b, -*c),
            Code::LogNdtrPair => (*to, *i.also_to.at) = maths::log_ndtr_with_slope(*a),
            Code::LogAddExpPair => (*to, *i.also_to.at) = maths::log_add_exp_with_weight(*a, *b),
            Code::SoftplusPair => (*to, *i.also_to.at) = maths::softplus_with_slope(*a),
            Code::LgammaPair => (*to, *i.also_to.at) = maths::lgamma_with_digamma(*a),
            Code::SinCos => (*to, *i.also_to.at) = maths::sincos(*a),
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
        }
    }
}
