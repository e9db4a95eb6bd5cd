//! Recurrences as machine code: a loop over steps, for one lane or as many as a register holds.
//!
//! The code is called as `f(work, fixed, first, steps, lane)`: `rdi` and `rsi` are the arenas, `rdx`
//! the bytes before the first row, `rcx` how many steps there are, `r8` the bytes before the lane.

use super::assemble::{Assembler, Layout, Target};
use super::body::{self, Buffers};
use super::{Fault, MOST_ALIVE, RET, VZEROUPPER, order, plant};
use crate::cpu::program::{Instr, LoopPlan, RecurrencePlan};

/// Before the first step.
const PROLOGUE: [&[u8]; 3] = [
    &[0x4E, 0x8D, 0x0C, 0x07], // lea r9, [rdi + r8]
    &[0x4E, 0x8D, 0x14, 0x06], // lea r10, [rsi + r8]
    &[0x48, 0x89, 0xD0],       // mov rax, rdx
];

/// The functions of a recurrence, each with the lanes that it computes; none where a step is too
/// large.
pub(super) fn assemble(
    plan: &RecurrencePlan,
    wide: bool,
    slots_at: usize,
    fault: Fault,
) -> Vec<(usize, Vec<u8>)> {
    let widest = if wide { 8 } else { 4 };
    let lanes = [widest, 1].into_iter().filter(|&lanes| lanes <= plan.lanes);
    lanes
        .filter(|&lanes| lanes > 1 || !plan.lanes.is_multiple_of(widest))
        .filter_map(|lanes| {
            let row = i32::try_from(8 * plan.lanes).ok()?;
            let moved = if plan.reverse { -row } else { row };
            let bytes = function((&plan.code, moved), lanes, wide, slots_at, fault)?;
            Some((lanes, bytes))
        })
        .collect()
}

/// A piece of straight code for one lane, called as a recurrence of one step; none if it is too
/// large.
pub(super) fn piece(code: &[Instr], wide: bool, slots_at: usize, fault: Fault) -> Option<Vec<u8>> {
    function((code, 0), 1, wide, slots_at, fault)
}

/// The loop over the steps of `code`, each so many bytes further on.
fn function(
    (code, moved): (&[Instr], i32),
    lanes: usize,
    wide: bool,
    slots_at: usize,
    fault: Fault,
) -> Option<Vec<u8>> {
    let target = Target {
        wide,
        single: lanes == 1,
        cut: false,
        layout: Layout::Steps,
        slots_at,
        n_sums: 0,
    };
    // A step works element by element, as a loop that sums nothing does.
    let as_loop = LoopPlan {
        n: lanes,
        code: code.to_vec(),
        ..LoopPlan::default()
    };
    let none = Buffers {
        all: &mut Vec::new(),
        reserve: &mut |_| 0,
    };
    let mut nodes = body::split(&as_loop, wide, none)?.nodes;
    plant(fault, &mut nodes);
    let arranged = order::in_order(&nodes, &order::side_by_side(&nodes, MOST_ALIVE));
    let write = |nodes: &[_]| {
        let mut a = Assembler::new(nodes, target);
        a.writer.bytes.extend(PROLOGUE.concat());
        let top = a.writer.bytes.len();
        a.writer.bytes.extend([0x48, 0x85, 0xC9]); // test rcx, rcx
        let end = a.writer.jump(&[0x0F, 0x84]); // jz
        a.body(1, false);
        a.writer.bytes.extend([0x48, 0x05]); // add rax, bytes
        a.writer.bytes.extend(moved.to_le_bytes());
        a.writer.bytes.extend([0x48, 0xFF, 0xC9]); // dec rcx
        a.writer.back(top);
        a.writer.land(&end);
        a.writer.bytes.extend(VZEROUPPER);
        a.writer.bytes.push(RET);
        (!a.failed).then(|| a.writer.finish(if wide { 1 } else { 4 }))
    };
    write(&arranged).or_else(|| write(&nodes))
}
