//! Row programs as machine code: all outputs of a block, from columns and scalars to buffers.
//!
//! The code is called as `f(scalars, buffers, columns, len)` for `len` rows, a multiple of eight:
//! `rdi`, `rsi`, the addresses of the columns at `rdx`, and `rcx`. Every scalar stands eight times
//! in a row, or once for each of eight problems, so one code serves both.
//!
//! Two more functions do the same operations and sum. One is for eight problems, and begins with the
//! operations among scalars. The other is for tiles: it adds eight of the 32 partials of every sum,
//! and fetches what lies a distance ahead, its fifth argument, from memory. With AVX-512 every sum
//! has a register of its own from the first row to the last, where these suffice; what is beyond them is
//! read and written once for two rows. With AVX2 a call does half of the lanes; all sums stay in memory.

use super::assemble::{Assembler, COLUMNS, Layout, MOVE_IN, MOVE_OUT, SLOT, SLOTS, Target};
use super::body::elementwise;
use super::pages::Pages;
use super::tape::{self, Narrow, Node, Op, Recorder, Wide};
use super::x86::{Gpr, RAX, RBX, RDX, Rm};
use super::{Fault, MOST_COPIES, RET, VZEROUPPER, live, plant, registers};
use crate::cpu::program::{Arena, BLOCK, Loc, Motion, PARTIALS};
use crate::cpu::rowwise::{BUFFER, Place, RowInstr};
use crate::lanes::Level;
use std::collections::HashMap;

/// Code for a block of rows: scalars, buffers, columns, rows.
type Entry = unsafe extern "sysv64" fn(*mut f64, *mut f64, *const *const f64, usize);

/// Code for eight partials of a tile: scalars, sums, columns, rows, bytes to fetch ahead.
type Tiles = unsafe extern "sysv64" fn(*mut f64, *mut f64, *const *const f64, usize, usize);

/// A compiled row program: the code, which lives as long as this.
#[derive(Debug)]
pub(in crate::cpu) struct RowCode {
    entry: Entry,
    /// The function that sums for eight problems, where there is one.
    sums: Option<Entry>,
    /// The function that sums for tiles, where there is one.
    tiles: Option<Tiles>,
    /// Lanes that one call of these two sums.
    lanes: usize,
    _pages: Pages,
}

/// A row program as the emitter takes it.
pub(in crate::cpu) struct Formula<'a> {
    pub(in crate::cpu) code: &'a [RowInstr],
    /// Instructions among scalars.
    pub(in crate::cpu) uniform: &'a [RowInstr],
    /// Fills buffers with scalars.
    pub(in crate::cpu) fill: &'a [RowInstr],
    /// Buffers whose products are summed, and those summed alone.
    pub(in crate::cpu) products: &'a [usize],
    pub(in crate::cpu) alone: &'a [usize],
    pub(in crate::cpu) n_scalars: usize,
    /// Scalars that are 1.
    pub(in crate::cpu) ones: &'a [usize],
    pub(in crate::cpu) n_columns: usize,
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

    /// From parameters to the other scalars; adds the sums of `len` rows of eight problems, a
    /// multiple of eight, to those at `to`; false where
    /// there is no code for that.
    ///
    /// # Safety
    /// As for [`RowCode::run`], and `to` has eight numbers for each sum.
    #[inline]
    pub(in crate::cpu) unsafe fn add(
        &self,
        scalars: *mut f64,
        to: *mut f64,
        columns: &[*const f64],
        len: usize,
    ) -> bool {
        debug_assert!(len.is_multiple_of(STEP), "whole steps");
        let Some(sums) = self.sums else { return false };
        for lane in (0..STEP).step_by(self.lanes) {
            let (scalars, to) = (scalars.wrapping_add(lane), to.wrapping_add(lane));
            let columns = from_lane(columns, lane);
            // SAFETY: as above; all of these stand eight times.
            unsafe { sums(scalars, to, columns.as_ptr(), len) };
        }
        true
    }

    /// True where [`RowCode::add_tile`] adds anything.
    pub(in crate::cpu) fn has_tiles(&self) -> bool {
        self.tiles.is_some()
    }

    /// Of `len` rows, a multiple of `PARTIALS`, adds the first eight of every `PARTIALS` to eight
    /// partials of every sum, which stand `PARTIALS` numbers apart from `to` on; fetches what lies
    /// `ahead` bytes further on. False where there is no code for that.
    ///
    /// # Safety
    /// As for [`RowCode::run`]; the columns begin with the first of these rows, and `to` has its
    /// numbers.
    #[inline]
    pub(in crate::cpu) unsafe fn add_tile(
        &self,
        scalars: *mut f64,
        to: *mut f64,
        columns: &[*const f64],
        [len, ahead]: [usize; 2],
    ) -> bool {
        debug_assert!(len.is_multiple_of(PARTIALS), "whole steps");
        let Some(tiles) = self.tiles else {
            return false;
        };
        for lane in (0..STEP).step_by(self.lanes) {
            let (scalars, to) = (scalars.wrapping_add(lane), to.wrapping_add(lane));
            let columns = from_lane(columns, lane);
            // The same lines are fetched once.
            let ahead = if lane == 0 { ahead } else { 0 };
            // SAFETY: as above.
            unsafe { tiles(scalars, to, columns.as_ptr(), len, ahead) };
        }
        true
    }
}

/// Columns from a lane on.
#[inline]
fn from_lane(columns: &[*const f64], lane: usize) -> [*const f64; COLUMNS.len()] {
    let mut from = [std::ptr::null(); COLUMNS.len()];
    for (from, column) in from.iter_mut().zip(columns) {
        *from = column.wrapping_add(lane);
    }
    from
}

/// The program's code.
///
/// # Errors
/// Why there is none, in words.
pub(in crate::cpu) fn compile(
    level: Level,
    formula: &Formula<'_>,
    fault: Fault,
) -> Result<RowCode, String> {
    let wide = match level {
        Level::Scalar => return Err("there is no machine code for this processor".into()),
        Level::Avx2 => false,
        Level::Avx512 => true,
    };
    if formula.n_columns > COLUMNS.len() {
        return Err(format!("more than {} columns", COLUMNS.len()));
    }
    let ((), tape) = tape::record(|| {
        if wide {
            record::<Wide>(formula);
        } else {
            record::<Narrow>(formula);
        }
    });
    let mut nodes = live(&tape.nodes);
    plant(fault, &mut nodes);
    let target = Target {
        wide,
        single: false,
        cut: false,
        layout: Layout::Rows,
        slots_at: 8 * formula.n_scalars,
        n_sums: 0,
    };
    let n_columns = formula.n_columns;
    let mut bytes = assemble(&nodes, target, n_columns).ok_or("the formula is too large")?;
    let mut more = |layout| {
        let target = Target { layout, ..target };
        let code = match wide {
            true => sums::<Wide>(formula, target, fault),
            false => sums::<Narrow>(formula, target, fault),
        }?;
        bytes.resize(bytes.len().next_multiple_of(64), 0xCC);
        let at = bytes.len();
        bytes.extend(code);
        Some(at)
    };
    let (second, third) = (more(Layout::Eight), more(Layout::Tiles));
    let pages = match fault {
        #[cfg(test)]
        Fault::Refused => Err(std::io::ErrorKind::PermissionDenied.into()),
        _ => Pages::new(&bytes),
    };
    let pages = pages.map_err(|e| format!("the system gives no memory to execute: {e}"))?;
    // SAFETY: at the start, at `second` and at `third` stand functions that follow the calling
    // convention and take these arguments: they were written for this program by `assemble` and
    // `sums`.
    let entry = |at| unsafe { std::mem::transmute::<*const u8, Entry>(pages.address(at)) };
    // SAFETY: see above.
    let tiles = |at| unsafe { std::mem::transmute::<*const u8, Tiles>(pages.address(at)) };
    Ok(RowCode {
        entry: entry(0),
        sums: second.map(entry),
        tiles: third.map(tiles),
        lanes: target.lanes(),
        _pages: pages,
    })
}

/// Where an operand stands, for [`Layout::Rows`].
pub(super) fn loc(place: Place) -> Loc {
    let (arena, motion, at) = match place {
        Place::Scalar(k) => (Arena::Work, Motion::Scalar, 8 * k),
        Place::Buffer(k) => (Arena::Work, Motion::Buffer, k * BUFFER),
        Place::Column(c) => (Arena::Fixed, Motion::Stream, c),
    };
    Loc { arena, motion, at }
}

/// Writes down what the code does, and what stands where after it; `given` hears of every result.
pub(super) fn values<R: Recorder>(
    code: &[RowInstr],
    mut given: impl FnMut(Place, u32),
) -> HashMap<Place, u32> {
    let mut known: HashMap<Place, u32> = HashMap::new();
    for instr in code {
        let arg = |k: usize| {
            let place = instr.from[k].expect("instructions have their operands");
            let load = || tape::push(Op::Load(loc(place)), &[]);
            R::of(known.get(&place).copied().unwrap_or_else(load))
        };
        let (value, also) = elementwise::<R>(instr.code, arg);
        let second = instr.also_to.zip(also);
        for (to, value) in [(instr.to, value)].into_iter().chain(second) {
            known.insert(to, value.id());
            given(to, value.id());
        }
    }
    known
}

/// Writes down what the code does, and which results are kept.
fn record<R: Recorder>(formula: &Formula<'_>) {
    let known = values::<R>(formula.code, |_, _| {});
    let mut stored = Vec::new();
    for &buffer in formula.products.iter().chain(formula.alone) {
        let place = Place::Buffer(buffer);
        if let Some(&value) = known.get(&place)
            && !stored.contains(&buffer)
        {
            tape::push(Op::Store(loc(place)), &[value]);
            stored.push(buffer);
        }
    }
}

/// Writes down what is done among scalars, and that all results are kept.
fn record_uniform<R: Recorder>(formula: &Formula<'_>) {
    let known = values::<R>(formula.uniform, |_, _| {});
    for instr in formula.uniform {
        for place in [Some(instr.to), instr.also_to].into_iter().flatten() {
            tape::push(Op::Store(loc(place)), &[known[&place]]);
        }
    }
}

/// Writes down what the code does, and that products and outputs are summed, sum after sum.
fn record_sums<R: Recorder>(formula: &Formula<'_>) {
    let known = values::<R>(formula.code, |_, _| {});
    let value = |&buffer: &usize| {
        let place = Place::Buffer(buffer);
        known.get(&place).copied().unwrap_or_else(|| {
            // What fills it stands eight times, and need not be written to a buffer first.
            let fill = formula.fill.iter().find(|instr| instr.to == place);
            let from = fill.and_then(|instr| instr.from[0]).unwrap_or(place);
            tape::push(Op::Load(loc(from)), &[])
        })
    };
    let products: Vec<u32> = formula.products.iter().map(value).collect();
    let is_one = |&buffer: &usize| {
        let place = Place::Buffer(buffer);
        let fill = formula.fill.iter().find(|instr| instr.to == place);
        let from = fill.and_then(|instr| instr.from[0]);
        matches!(from, Some(Place::Scalar(k)) if formula.ones.contains(&k))
    };
    let ones: Vec<bool> = formula.products.iter().map(is_one).collect();
    let mut n = 0;
    for (k, &a) in products.iter().enumerate() {
        for (l, &b) in products.iter().enumerate().skip(k) {
            // A product with one is the other factor: added, which may be done beside products.
            match (ones[k], ones[l]) {
                (_, true) => tape::push(Op::Sum(n), &[a]),
                (true, _) => tape::push(Op::Sum(n), &[b]),
                _ => tape::push(Op::SumProduct(n), &[a, b]),
            };
            n += 1;
        }
    }
    for buffer in formula.alone {
        tape::push(Op::Sum(n), &[value(buffer)]);
        n += 1;
    }
}

/// Registers that formulas keep, at least, when sums take the others.
const LEAST_REGISTERS: usize = 11;

/// Bytes that a pass over blocks fetches ahead: a block.
const AHEAD: usize = 8 * BLOCK;

/// Sums, at most: of more columns, products are summed by groups that fit into registers.
const MOST_SUMS: usize = 29;

/// Operations from which on a formula and its sums are long: an exponential with its ten sums has 43, a
/// spot of five parameters 64, a damped sine 119.
const LONG: usize = 96;

/// Most values alive at once in the order of a long formula, for the sixteen registers of AVX2.
const MOST_ALIVE: usize = 24;

/// Operations that are more than reading an operand.
fn operations(nodes: &[Node]) -> usize {
    let operand = |op| matches!(op, Op::Const(_) | Op::Load(_));
    nodes.iter().filter(|node| !operand(node.op)).count()
}

/// The code that sums; `None` where it does not fit.
fn sums<R: Recorder>(formula: &Formula<'_>, target: Target, fault: Fault) -> Option<Vec<u8>> {
    let q = formula.products.len();
    let n_sums = q * (q + 1) / 2 + formula.alone.len();
    if n_sums > MOST_SUMS || n_sums == 0 {
        return None;
    }
    let tiles = target.layout == Layout::Tiles;
    let ((), tape) = tape::record(|| record_sums::<R>(formula));
    let mut nodes = live(&tape.nodes);
    plant(fault, &mut nodes);
    let n_sums = match target.wide {
        true => n_sums.min(32 - LEAST_REGISTERS),
        false => 0,
    };
    let target = Target { n_sums, ..target };
    let ((), before) = tape::record(|| record_uniform::<R>(formula));
    let before = live(&before.nodes);
    let mut a = Assembler::new(&nodes, target);
    if tiles {
        // push rbx; mov rbx, r8: where the next lines to fetch stand.
        a.writer.bytes.extend([0x53, 0x4C, 0x89, 0xC3]);
    } else {
        let mut scalars = Assembler::new(
            &before,
            Target {
                n_sums: 0,
                ..target
            },
        );
        scalars.body(1, false);
        (a.writer, a.failed) = (scalars.writer, scalars.failed);
    }
    start(&mut a, formula.n_columns);
    let all = |a: &mut Assembler<'_>, op| {
        for k in 0..n_sums {
            let at = Rm::Mem(a.sum_place(k));
            a.emit(op, target.sum(k), 0, at);
        }
    };
    all(&mut a, MOVE_IN);
    let fetch = tiles.then_some((RBX, 0, formula.n_columns));
    // Rows side by side, though some values have to be saved: one alone would wait for itself. Of
    // half registers there are four, which also read and write their sums less often; or two, as they
    // wait for each other least, of long formulas, whose four would save so many values that they take
    // a tenth longer, and half as long again where another thread shares the core.
    let long = !target.wide && operations(&nodes) > LONG;
    a.arranged = long.then_some(MOST_ALIVE);
    let mut copies = if target.wide || long { 2 } else { 4 };
    last_place(&mut a, copies);
    loop_of(&mut a, copies, fetch);
    while copies > 1 {
        one_more(&mut a, [copies, copies / 2], fetch);
        copies /= 2;
    }
    all(&mut a, MOVE_OUT);
    a.writer.bytes.extend(VZEROUPPER);
    if tiles {
        a.writer.bytes.push(0x5B); // pop rbx
    }
    a.writer.bytes.push(RET);
    let lanes = if target.wide { 1 } else { 4 };
    (!a.failed).then(|| a.writer.finish(lanes))
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
    start(&mut a, n_columns);
    let fetch = Some((RAX, AHEAD, n_columns));
    last_place(&mut a, copies);
    loop_of(&mut a, copies, fetch);
    if copies > least {
        one_more(&mut a, [copies, least], fetch);
    }
    a.writer.bytes.extend(VZEROUPPER);
    a.writer.bytes.push(RET);
    let lanes = if target.wide { 1 } else { 4 };
    (!a.failed).then(|| a.writer.finish(lanes))
}

/// r8 becomes the bytes of all rows, rax 0; the addresses of columns go to their registers.
fn start(a: &mut Assembler<'_>, n_columns: usize) {
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
}

/// Bytes of a step of `copies` registers.
fn bytes(target: Target, copies: usize) -> u32 {
    (copies * target.step()) as u32
}

/// r8 becomes the last place where a step of `copies` registers can begin.
fn last_place(a: &mut Assembler<'_>, copies: usize) {
    a.writer.bytes.extend([0x49, 0x81, 0xE8]); // sub r8, bytes
    a.writer.bytes.extend(bytes(a.target, copies).to_le_bytes());
}

/// What a loop fetches: the register that moves with the rows, bytes ahead of it, and columns.
type Fetch = Option<(Gpr, usize, usize)>;

/// The last rows, fewer at once.
fn one_more(a: &mut Assembler<'_>, [before, copies]: [usize; 2], fetch: Fetch) {
    let gained = bytes(a.target, before) - bytes(a.target, copies);
    a.writer.bytes.extend([0x49, 0x81, 0xC0]); // add r8, bytes
    a.writer.bytes.extend(gained.to_le_bytes());
    loop_of(a, copies, fetch);
}

/// While a step of `copies` registers ends before the last row: r8 is the last place where one can
/// begin.
fn loop_of(a: &mut Assembler<'_>, copies: usize, fetch: Fetch) {
    let top = a.writer.bytes.len();
    a.writer.bytes.extend([0x4C, 0x39, 0xC0]); // cmp rax, r8
    let end = a.writer.jump(&[0x0F, 0x8F]); // jg
    if let Some((index, ahead, n_columns)) = fetch {
        for copy in (0..copies).filter(|copy| (copy * a.target.step()).is_multiple_of(64)) {
            for &column in &COLUMNS[..n_columns] {
                // prefetcht0 [column + index + distance]
                let sib = index << 3 | column & 7;
                let rex = 0x40 | column >> 3;
                a.writer.bytes.extend([rex, 0x0F, 0x18, 0x8C, sib]);
                let distance = (ahead + copy * a.target.step()) as u32;
                a.writer.bytes.extend(distance.to_le_bytes());
            }
        }
    }
    a.body(copies, false);
    if fetch.is_some_and(|(index, ..)| index == RBX) {
        a.writer.bytes.extend([0x48, 0x81, 0xC3]); // add rbx, bytes
        a.writer.bytes.extend(bytes(a.target, copies).to_le_bytes());
    }
    super::advance(a, copies * a.target.step() / 8, top);
    a.writer.land(&end);
}
