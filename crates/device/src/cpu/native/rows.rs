//! Row programs as machine code: all outputs of a block, from columns and scalars to buffers.
//!
//! The code is called as `f(scalars, buffers, columns, len)` for `len` rows, a multiple of eight:
//! `rdi`, `rsi`, the addresses of the columns at `rdx`, and `rcx`. Every scalar stands eight times
//! in a row, or once for each of eight problems, so one code serves both.

use super::assemble::{Assembler, COLUMNS, Layout, SLOT, SLOTS, Target};
use super::body::elementwise;
use super::pages::Pages;
use super::tape::{self, Narrow, Node, Op, Recorder, Wide};
use super::x86::RDX;
use super::{Fault, MOST_COPIES, RET, VZEROUPPER, live, plant, registers};
use crate::cpu::program::{Arena, Loc, Motion};
use crate::cpu::rowwise::{BUFFER, Place, RowInstr};
use crate::lanes::Level;
use std::collections::HashMap;

/// Code for a block of rows: scalars, buffers, columns, rows.
type Entry = unsafe extern "sysv64" fn(*mut f64, *mut f64, *const *const f64, usize);

/// A compiled row program: the code, which lives as long as this.
#[derive(Debug)]
pub(in crate::cpu) struct RowCode {
    entry: Entry,
    _pages: Pages,
}

/// Numbers of room behind the scalars.
pub(in crate::cpu) const ROOM: usize = SLOTS * SLOT;

/// Rows that the code works through at once, at least.
const STEP: usize = 8;

impl RowCode {
    /// Computes `len` rows, a multiple of eight.
    ///
    /// # Safety
    /// `scalars` has [`ROOM`] numbers behind those of the program, `buffers` all its buffers, and
    /// every column `len` rows.
    #[inline]
    pub(in crate::cpu) unsafe fn run(
        &self,
        scalars: *mut f64,
        buffers: *mut f64,
        columns: &[*const f64],
        len: usize,
    ) {
        debug_assert!(len.is_multiple_of(STEP), "whole steps");
        // SAFETY: the code was written for this program, and the caller vouches for the memory.
        unsafe { (self.entry)(scalars, buffers, columns.as_ptr(), len) }
    }
}

/// The program's code; `n_scalars` tells where its room starts.
///
/// # Errors
/// Why there is none, in words.
pub(in crate::cpu) fn compile(
    level: Level,
    code: &[RowInstr],
    outputs: &[usize],
    [n_scalars, n_columns]: [usize; 2],
    fault: Fault,
) -> Result<RowCode, String> {
    let wide = match level {
        Level::Scalar => return Err("there is no machine code for this processor".into()),
        Level::Avx2 => false,
        Level::Avx512 => true,
    };
    if n_columns > COLUMNS.len() {
        return Err(format!("more than {} columns", COLUMNS.len()));
    }
    let ((), tape) = tape::record(|| {
        if wide {
            record::<Wide>(code, outputs);
        } else {
            record::<Narrow>(code, outputs);
        }
    });
    let mut nodes = live(&tape.nodes);
    plant(fault, &mut nodes);
    let target = Target {
        wide,
        single: false,
        layout: Layout::Rows,
        slots_at: 8 * n_scalars,
    };
    let bytes = assemble(&nodes, target, n_columns).ok_or("the formula is too large")?;
    let pages = match fault {
        #[cfg(test)]
        Fault::Refused => Err(std::io::ErrorKind::PermissionDenied.into()),
        _ => Pages::new(&bytes),
    };
    let pages = pages.map_err(|e| format!("the system gives no memory to execute: {e}"))?;
    // SAFETY: at the start stands a function that follows the calling convention and takes these
    // arguments: it was written for this program by `assemble`.
    let entry = unsafe { std::mem::transmute::<*const u8, Entry>(pages.address(0)) };
    Ok(RowCode {
        entry,
        _pages: pages,
    })
}

/// Where an operand stands, for [`Layout::Rows`].
fn loc(place: Place) -> Loc {
    let (arena, motion, at) = match place {
        Place::Scalar(k) => (Arena::Work, Motion::Scalar, 8 * k),
        Place::Buffer(k) => (Arena::Work, Motion::Buffer, k * BUFFER),
        Place::Column(c) => (Arena::Fixed, Motion::Stream, c),
    };
    Loc { arena, motion, at }
}

/// Writes down what the code does, and which results are kept.
fn record<R: Recorder>(code: &[RowInstr], outputs: &[usize]) {
    let mut known: HashMap<Place, u32> = HashMap::new();
    for instr in code {
        let arg = |k: usize| {
            let place = instr.from[k].expect("instructions have their operands");
            let load = || tape::push(Op::Load(loc(place)), &[]);
            R::of(known.get(&place).copied().unwrap_or_else(load))
        };
        let (value, also) = elementwise::<R>(instr.code, arg);
        known.insert(instr.to, value.id());
        if let (Some(also), Some(place)) = (also, instr.also_to) {
            known.insert(place, also.id());
        }
    }
    let mut stored = Vec::new();
    for &buffer in outputs {
        let place = Place::Buffer(buffer);
        if let Some(&value) = known.get(&place)
            && !stored.contains(&buffer)
        {
            tape::push(Op::Store(loc(place)), &[value]);
            stored.push(buffer);
        }
    }
}

/// The code for any number of whole steps; `None` where it does not fit.
fn assemble(nodes: &[Node], target: Target, n_columns: usize) -> Option<Vec<u8>> {
    let least = STEP / target.lanes();
    let most = if target.wide { 30 } else { 13 };
    let mut copies = MOST_COPIES;
    while copies > least && copies * registers::pressure(nodes) > most {
        copies /= 2;
    }
    let mut a = Assembler::new(nodes, target);
    let end: [&[u8]; 2] = [
        &[0x4C, 0x8D, 0x04, 0xCD, 0, 0, 0, 0], // lea r8, [8 rcx]
        &[0x31, 0xC0],                         // xor eax, eax
    ];
    a.writer.bytes.extend(end.concat());
    for (c, &register) in COLUMNS[..n_columns].iter().enumerate() {
        // mov register, [rdx + 8 c]; rdx itself comes last.
        let rex = 0x48 | register >> 3 << 2;
        let operand = 0x40 | (register & 7) << 3 | RDX;
        a.writer.bytes.extend([rex, 0x8B, operand, 8 * c as u8]);
    }
    let bytes = |copies: usize| (8 * copies * target.lanes()) as u32;
    a.writer.bytes.extend([0x49, 0x81, 0xE8]); // sub r8, bytes
    a.writer.bytes.extend(bytes(copies).to_le_bytes());
    loop_of(&mut a, copies);
    if copies > least {
        let gained = bytes(copies) - bytes(least);
        a.writer.bytes.extend([0x49, 0x81, 0xC0]); // add r8, bytes
        a.writer.bytes.extend(gained.to_le_bytes());
        loop_of(&mut a, least);
    }
    a.writer.bytes.extend(VZEROUPPER);
    a.writer.bytes.push(RET);
    let lanes = if target.wide { 1 } else { 4 };
    (!a.failed).then(|| a.writer.finish(lanes))
}

/// While a step of `copies` registers ends before the last row: r8 is the last place where one can
/// begin.
fn loop_of(a: &mut Assembler<'_>, copies: usize) {
    let top = a.writer.bytes.len();
    a.writer.bytes.extend([0x4C, 0x39, 0xC0]); // cmp rax, r8
    let end = a.writer.jump(&[0x0F, 0x8F]); // jg
    a.body(copies, false);
    super::advance(a, copies * a.target.lanes(), top);
    a.writer.land(&end);
}
