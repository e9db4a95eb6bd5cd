//! The emitter: loops as x86-64 machine code, made while the function is compiled.
//!
//! Of every loop, what is done element by element becomes one piece of straight code around
//! registers. Look-ups and sums by long runs are part of it, where blocks end with these runs; others
//! stay with the block interpreter, before and after it, as do products with matrices. Operations
//! and the order of every sum are the interpreter's, so the bits are as well.

mod assemble;
mod body;
mod operations;
mod order;
mod pages;
mod registers;
mod rows;
mod steps;
mod straight;
mod tape;
#[cfg(test)]
mod tests;
mod totals;
mod values;
mod x86;

use super::program::{Code, Entry, Instr, LoopPlan, PARTIALS, Step, Steps, SumPlan};
use crate::lanes::Level;
use assemble::{Assembler, Layout, SLOT, SLOTS, Target};
use body::{Buffers, Split, live};
use pages::Pages;
pub(super) use rows::{Formula as RowFormula, ROOM, RowCode, compile as compile_rows};
pub(super) use straight::{StraightCode, compile as compile_straight};
use tape::Node;

/// Most registers of rows side by side.
const MOST_COPIES: usize = 4;

/// Most values alive at once in the order of `order`. Registers are half as many with AVX2, but to
/// save some costs less than to wait.
const MOST_ALIVE: usize = 32;

/// Compiled loops: the code, which lives as long as this.
#[derive(Debug)]
pub(super) struct Native {
    _pages: Pages,
}

/// Numbers of the workspace that are still free.
pub(super) struct Room<'a> {
    pub(super) work_len: &'a mut usize,
    pub(super) buffers: &'a mut Vec<usize>,
}

impl Room<'_> {
    fn reserve(work_len: &mut usize, len: usize) -> usize {
        let at = *work_len;
        *work_len += len.next_multiple_of(8);
        at
    }
}

/// A fault put in on purpose, to see that it is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fault {
    #[default]
    None,
    /// The first constant is wrong in its last bit.
    #[cfg(test)]
    Constant,
    /// Lanes beyond the last row are added to sums.
    #[cfg(test)]
    Tail,
    /// A difference is taken the wrong way round.
    #[cfg(test)]
    Difference,
    /// A product is added to the sum of another.
    #[cfg(test)]
    Product,
    /// The system refuses memory that can be executed.
    #[cfg(test)]
    Refused,
}

/// Replaces what it can of the loops in `steps` by machine code.
///
/// # Errors
/// Why there is none, in words.
pub(super) fn compile(
    level: Level,
    steps: &mut [Step],
    room: Room<'_>,
    fault: Fault,
) -> Result<Native, String> {
    let wide = match level {
        Level::Scalar => return Err("there is no machine code for this processor".into()),
        Level::Avx2 => false,
        Level::Avx512 => true,
    };
    let slots_at = Room::reserve(room.work_len, SLOTS * SLOT);
    let mut made = Made::default();
    for (k, step) in steps.iter_mut().enumerate() {
        match step {
            Step::Loop(plan) => {
                let buffers = Buffers {
                    all: &mut *room.buffers,
                    reserve: &mut |len| Room::reserve(room.work_len, len),
                };
                if let Some(bytes) = compile_loop(plan, wide, slots_at, buffers, fault) {
                    made.add((k, Part::Loop), bytes);
                }
            }
            Step::Recurrence(plan) => {
                for (lanes, bytes) in steps::assemble(plan, wide, slots_at, fault) {
                    made.add((k, Part::Steps { lanes }), bytes);
                }
            }
            Step::Ode(plan) => {
                for (number, piece) in plan.pieces.iter().enumerate() {
                    if let Some(bytes) = steps::piece(&piece.code, wide, slots_at, fault) {
                        made.add((k, Part::Piece { number }), bytes);
                    }
                }
            }
            Step::Kernel(_) => {}
        }
    }
    let pages = match fault {
        #[cfg(test)]
        Fault::Refused => Err(std::io::ErrorKind::PermissionDenied.into()),
        _ => Pages::new(&made.code),
    };
    let pages = pages.map_err(|e| format!("the system gives no memory to execute: {e}"))?;
    for ((k, part), offset) in made.functions {
        // SAFETY: at this offset starts a function that follows the calling convention and takes
        // these arguments: it was written for this part of the step.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(pages.address(offset)) };
        match (&mut steps[k], part) {
            (Step::Loop(plan), Part::Loop) => plan.native = Some(entry),
            (Step::Recurrence(plan), Part::Steps { lanes }) => {
                plan.native[usize::from(lanes == 1)] = Some(Steps { entry, lanes });
            }
            (Step::Ode(plan), Part::Piece { number }) => plan.pieces[number].native = Some(entry),
            _ => unreachable!("the step had this code made"),
        }
    }
    Ok(Native { _pages: pages })
}

/// What of a step a function computes.
#[derive(Clone, Copy)]
enum Part {
    /// A whole loop.
    Loop,
    /// The steps of a recurrence, for so many lanes at a time.
    Steps { lanes: usize },
    /// A piece of a differential equation.
    Piece { number: usize },
}

/// Functions that were written, one after the other.
#[derive(Default)]
struct Made {
    code: Vec<u8>,
    /// The step and the part of it that each computes, and where it starts.
    functions: Vec<((usize, Part), usize)>,
}

impl Made {
    /// Appends a function, which starts on a cache line.
    fn add(&mut self, of: (usize, Part), bytes: Vec<u8>) {
        self.functions.push((of, self.code.len()));
        self.code.extend(bytes);
        self.code.resize(self.code.len().next_multiple_of(64), 0xCC);
    }
}

/// The code of a loop, whose plan then calls it; none where there is nothing to gain.
fn compile_loop(
    plan: &mut LoopPlan,
    wide: bool,
    slots_at: usize,
    buffers: Buffers<'_>,
    fault: Fault,
) -> Option<Vec<u8>> {
    let mut split = body::split(plan, wide, buffers)?;
    plant(fault, &mut split.nodes);
    let target = Target {
        wide,
        single: plan.n == 1,
        cut: split.cut.is_some(),
        layout: Layout::Loop,
        slots_at,
        n_sums: 0,
    };
    let rows = split.cut.as_ref().map(|cut| cut.runs.mean_len() as usize);
    let rows = rows.unwrap_or(plan.n);
    let closed = closes(plan, &split);
    let sums = if closed { &plan.sums[..] } else { &[] };
    let write = |nodes: &[Node]| assemble(nodes, target, rows, sums, fault);
    let arranged = arrange(&split.nodes, target, rows);
    let bytes = arranged.and_then(|nodes| write(&nodes));
    let bytes = bytes.or_else(|| write(&split.nodes))?;
    plan.closed = closed;
    replace(plan, split);
    Some(bytes)
}

/// Whether the code makes the totals of all sums, too: where a partial sum has one row at most, and none
/// is added to by others.
fn closes(plan: &LoopPlan, split: &Split) -> bool {
    let others = |i: &Instr| matches!(i.code, Code::MatVecT(_));
    split.cut.is_none() && (2..=PARTIALS).contains(&plan.n) && !split.after.iter().any(others)
}

fn replace(plan: &mut LoopPlan, split: Split) {
    let call = Instr {
        code: Code::Native,
        to: None,
        also_to: None,
        from: [None; 3],
    };
    plan.code = split.before;
    plan.code.push(call);
    plan.code.extend(split.after);
    plan.cut = split.cut;
    plan.count_passed();
}

/// How many registers of rows to compute side by side: as many as need no saving.
fn copies(nodes: &[Node], target: Target, n: usize) -> usize {
    let registers = if target.wide { 30 } else { 13 };
    let mut copies = MOST_COPIES;
    while copies > 1
        && (copies * registers::pressure(nodes) > registers || copies * target.lanes() > n)
    {
        copies /= 2;
    }
    copies
}

/// The operations in another order, where there is no second register of rows to compute meanwhile.
fn arrange(nodes: &[Node], target: Target, n: usize) -> Option<Vec<Node>> {
    let alone = !target.single && copies(nodes, target, n) == 1;
    alone.then(|| order::in_order(nodes, &order::side_by_side(nodes, MOST_ALIVE)))
}

const RET: u8 = 0xC3;
const VZEROUPPER: [u8; 3] = [0xC5, 0xF8, 0x77];
/// What every loop begins with.
const PROLOGUE: [&[u8]; 4] = [
    &[0x4C, 0x8D, 0x0C, 0x17],             // lea r9, [rdi + rdx]
    &[0x4C, 0x8D, 0x14, 0x16],             // lea r10, [rsi + rdx]
    &[0x4C, 0x8D, 0x04, 0xCD, 0, 0, 0, 0], // lea r8, [8 rcx]
    &[0x31, 0xC0],                         // xor eax, eax
];
/// What stands before and after it where blocks end with runs.
const CUT_PROLOGUE: [&[u8]; 2] = [
    &[0x53],                   // push rbx
    &[0x4A, 0x8D, 0x1C, 0x07], // lea rbx, [rdi + r8]
];
const CUT_EPILOGUE: u8 = 0x5B; // pop rbx
/// The bytes before the partial sums of these rows: r11 = rax mod 256, or mod 64 for eight of them.
const PARTIALS_INDEX: [&[u8]; 2] = [
    &[0x41, 0x89, 0xC3],                // mov r11d, eax
    &[0x41, 0x81, 0xE3, 0xFF, 0, 0, 0], // and r11d, 255
];
const CUT_PARTIALS_INDEX: [&[u8]; 2] = [
    &[0x41, 0x89, 0xC3],       // mov r11d, eax
    &[0x41, 0x83, 0xE3, 0x3F], // and r11d, 63
];

/// The code of one loop over `n` rows, or, where it is cut, of about `n` rows a run; `None` where it
/// does not fit. `sums` are those of which it makes the totals.
fn assemble(
    nodes: &[Node],
    target: Target,
    n: usize,
    sums: &[SumPlan],
    fault: Fault,
) -> Option<Vec<u8>> {
    let mut a = Assembler::new(nodes, target);
    if target.single {
        a.body(1, false);
    } else {
        let copies = copies(nodes, target, n);
        prologue(&mut a);
        if target.cut || n >= copies * target.lanes() {
            main_loop(&mut a, copies);
        }
        let rest = n % (copies * target.lanes());
        if target.cut || rest != 0 {
            tail_loop(&mut a, fault);
        }
        a.totals(sums, n);
        a.writer.bytes.extend(VZEROUPPER);
        if target.cut {
            a.writer.bytes.push(CUT_EPILOGUE);
        }
    }
    a.writer.bytes.push(RET);
    let lanes = if target.wide { 1 } else { 4 };
    (!a.failed).then(|| a.writer.finish(lanes))
}

fn prologue(a: &mut Assembler<'_>) {
    if a.target.cut {
        a.writer.bytes.extend(CUT_PROLOGUE.concat());
    }
    a.writer.bytes.extend(PROLOGUE.concat());
}

fn partials_index(a: &mut Assembler<'_>) {
    let code = match a.target.n_partials() {
        8 => CUT_PARTIALS_INDEX,
        _ => PARTIALS_INDEX,
    };
    a.writer.bytes.extend(code.concat());
}

fn advance(a: &mut Assembler<'_>, rows: usize, top: usize) {
    a.writer.bytes.extend([0x48, 0x05]); // add rax, bytes
    a.writer.bytes.extend((8 * rows as u32).to_le_bytes());
    a.writer.back(top);
}

/// All rows for which `copies` registers are full.
fn main_loop(a: &mut Assembler<'_>, copies: usize) {
    let rows = copies * a.target.lanes();
    let top = a.writer.bytes.len();
    a.writer.bytes.extend([0x4C, 0x8D, 0x98]); // lea r11, [rax + bytes]
    a.writer.bytes.extend((8 * rows as u32).to_le_bytes());
    a.writer.bytes.extend([0x4D, 0x39, 0xC3]); // cmp r11, r8
    let end = a.writer.jump(&[0x0F, 0x87]); // ja
    partials_index(a);
    a.body(copies, false);
    advance(a, rows, top);
    a.writer.land(&end);
}

/// What is left, a register at a time, with the mask of the rows that count.
fn tail_loop(a: &mut Assembler<'_>, fault: Fault) {
    let top = a.writer.bytes.len();
    a.writer.bytes.extend([0x4C, 0x39, 0xC0]); // cmp rax, r8
    let end = a.writer.jump(&[0x0F, 0x83]); // jae
    partials_index(a);
    let rows_left: [&[u8]; 3] = [
        &[0x4C, 0x89, 0xC1], // mov rcx, r8
        &[0x48, 0x29, 0xC1], // sub rcx, rax
        &[0xC1, 0xE9, 0x03], // shr ecx, 3
    ];
    a.writer.bytes.extend(rows_left.concat());
    // 2^rows − 1. Fewer than 32 rows are left, and the low lanes are what counts.
    let mask: [&[u8]; 3] = match fault {
        #[cfg(test)]
        Fault::Tail => [&[0xBA, 0xFF, 0xFF, 0, 0], &[], &[]], // mov edx, 65535
        _ => [
            &[0xBA, 1, 0, 0, 0], // mov edx, 1
            &[0xD3, 0xE2],       // shl edx, cl
            &[0xFF, 0xCA],       // dec edx
        ],
    };
    a.writer.bytes.extend(mask.concat());
    if a.target.wide {
        a.writer.bytes.extend([0xC5, 0xF9, 0x92, 0xCA]); // kmovb k1, edx
    } else {
        a.narrow_mask();
    }
    a.body(1, true);
    advance(a, a.target.lanes(), top);
    a.writer.land(&end);
}

/// Puts a fault in, if one is asked for.
fn plant(fault: Fault, nodes: &mut [Node]) {
    match fault {
        #[cfg(test)]
        Fault::Constant => {
            // All of them: a bit of one alone need not be seen, as that of log₂ e in eˣ is not.
            for node in nodes {
                if let tape::Op::Const(bits) = &mut node.op
                    && f64::from_bits(*bits).is_normal()
                {
                    *bits ^= 1;
                }
            }
        }
        #[cfg(test)]
        Fault::Difference => {
            if let Some(node) = nodes.iter_mut().find(|n| n.op == tape::Op::Sub) {
                node.args.swap(0, 1);
            }
        }
        #[cfg(test)]
        Fault::Product => {
            if let Some(node) = nodes.iter_mut().find(|n| n.op == tape::Op::SumProduct(1)) {
                node.op = tape::Op::SumProduct(2);
            }
        }
        _ => {
            let _ = nodes;
        }
    }
}
