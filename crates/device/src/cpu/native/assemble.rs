//! One loop as machine code: registers chosen while the instructions are written.
//!
//! The code is called as `f(work, fixed, start, len, at)`: `rdi` and `rsi` are the arenas, `rdx` the
//! bytes before the block in every array, `rcx` its rows, `r8` the bytes before its place in every
//! table that is looked up by runs. It moves through the block in `rax`.

use super::order::copies_side_by_side;
use super::registers::{Class, File, Value};
use super::tape::{Node, Op};
use super::x86::{
    Encoding, Gpr, Mem, Opcode, Parts, R9, R10, R11, RAX, RBX, RCX, RDI, RDX, RSI, Rm, Writer,
};
use crate::cpu::program::{Arena, Loc, Motion, PARTIALS};

/// Registers that may be saved at once; each takes `SLOT` numbers of the workspace.
pub(super) const SLOTS: usize = 128;
/// Numbers of one saved register.
pub(super) const SLOT: usize = 8;
/// The mask of the last rows: k1, or with AVX2 this register.
pub(super) const TAIL: u8 = 15;
pub(super) const K_TAIL: u8 = 1;

/// Where operands stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// In the arenas of a function.
    Loop,
    /// Likewise, of a recurrence: `rax` are the bytes before the row, and what differs from lane to
    /// lane alone is found from `r9` and `r10`.
    Steps,
    /// As [`super::rows`] says: scalars eight times, buffers of a block, and columns by number.
    Rows,
    /// The same for eight problems, of which a register may hold four: the next register is that of the
    /// next row.
    Eight,
    /// The same, where one register of rows is followed by the one `PARTIALS` rows further on.
    Tiles,
}

/// Addresses of columns; `rdx` last, since they are read from there.
pub(super) const COLUMNS: [Gpr; 5] = [R9, R10, R11, RCX, RDX];

/// What a loop is compiled for.
#[derive(Clone, Copy)]
pub(super) struct Target {
    /// AVX-512, else AVX2.
    pub(super) wide: bool,
    /// A loop of one element.
    pub(super) single: bool,
    /// Blocks end where runs do; partial sums are eight instead of `PARTIALS`.
    pub(super) cut: bool,
    pub(super) layout: Layout,
    /// First number of the room for saved registers.
    pub(super) slots_at: usize,
    /// Sums that have registers of their own, the first ones in the last registers; the others are in
    /// memory.
    pub(super) n_sums: usize,
}

impl Target {
    /// Numbers of a register.
    pub(super) fn lanes(self) -> usize {
        match (self.single, self.wide) {
            (true, _) => 1,
            (false, true) => 8,
            (false, false) => 4,
        }
    }

    /// Partial sums of a sum in memory.
    pub(super) fn n_partials(self) -> usize {
        if self.cut { 8 } else { PARTIALS }
    }

    /// Bytes from one register of rows to the next.
    pub(super) fn step(self) -> usize {
        match self.layout {
            Layout::Tiles => 8 * PARTIALS,
            Layout::Eight => 64,
            Layout::Loop | Layout::Steps | Layout::Rows => 8 * self.lanes(),
        }
    }

    /// Bytes from one sum to the next, where rows are summed.
    pub(super) fn apart(self) -> usize {
        match self.layout {
            Layout::Tiles => 8 * PARTIALS,
            _ => 64,
        }
    }

    /// The register of sum `k`.
    pub(super) fn sum(self, k: usize) -> u8 {
        (32 - self.n_sums + k) as u8
    }
}

/// Code of the operations of one pass, for some copies of a register's worth of rows.
pub(super) struct Assembler<'a> {
    pub(super) nodes: &'a [Node],
    pub(super) target: Target,
    pub(super) writer: Writer,
    pub(super) copies: usize,
    /// The last rows: lanes beyond them must not count.
    pub(super) tail: bool,
    /// Where copies are to stand as they wait for each other least, the most values alive at once; else
    /// every operation is followed by its copies. For sums of rows, which take all copies at once.
    pub(super) arranged: Option<usize>,
    shared: Vec<bool>,
    pub(super) values: Vec<Value>,
    pub(super) files: [File; 2],
    pub(super) free_slots: Vec<usize>,
    /// Slots that the present operation may still read.
    pub(super) ending_slots: Vec<usize>,
    /// Something needs more room than there is, or lies too far away.
    pub(super) failed: bool,
}

impl<'a> Assembler<'a> {
    pub(super) fn new(nodes: &'a [Node], target: Target) -> Self {
        let encoding = if target.wide {
            Encoding::Evex
        } else {
            Encoding::Vex
        };
        let length = match target.lanes() {
            8 => 2,
            4 => 1,
            _ => 0,
        };
        let mut shared = Vec::with_capacity(nodes.len());
        for node in nodes {
            shared.push(match node.op {
                Op::Const(_) => true,
                // Where scalars stand eight times, half registers may read them from two places.
                Op::Load(loc) => {
                    matches!(loc.motion, Motion::Scalar | Motion::Run)
                        && (target.layout == Layout::Loop || target.step().is_multiple_of(64))
                }
                op => !op.is_effect() && node.args().iter().all(|&a| shared[a as usize]),
            });
        }
        Assembler {
            nodes,
            target,
            writer: Writer::new(encoding, length),
            copies: 1,
            tail: false,
            arranged: None,
            shared,
            values: Vec::new(),
            files: [File::new(0, 1), File::new(0, 1)],
            free_slots: Vec::new(),
            ending_slots: Vec::new(),
            failed: false,
        }
    }

    /// Writes all operations for `copies` registers of rows side by side.
    pub(super) fn body(&mut self, copies: usize, tail: bool) {
        self.copies = copies;
        self.tail = tail;
        self.values = vec![Value::default(); self.nodes.len() * copies];
        let vectors = match (self.target.wide, self.target.layout) {
            (true, _) => self.target.sum(0),
            // Without a mask of the last rows.
            (false, Layout::Eight | Layout::Tiles) => TAIL + 1,
            (false, _) => TAIL,
        };
        self.files = [File::new(0, vectors), File::new(K_TAIL + 1, 8)];
        self.free_slots = (0..SLOTS).rev().collect();
        let list = self.list(copies);
        for (at, &(k, copy)) in list.iter().enumerate().rev() {
            for arg in self.args(k, copy) {
                let reads = &mut self.values[arg as usize].reads;
                if reads.last() != Some(&(at as u32)) {
                    reads.push(at as u32);
                }
            }
        }
        for (k, copy) in list {
            self.operation(k, copy);
            self.files.iter_mut().for_each(File::unpin);
            self.free_slots.append(&mut self.ending_slots);
        }
    }

    /// The operations and their copies, in the order in which they are written.
    fn list(&self, copies: usize) -> Vec<(usize, usize)> {
        if let Some(most) = self.arranged
            && copies > 1
        {
            return copies_side_by_side(self.nodes, &self.shared, copies, most);
        }
        let mut list = Vec::with_capacity(self.values.len());
        for (k, shared) in self.shared.iter().enumerate() {
            let copies = if *shared { 1 } else { copies };
            list.extend((0..copies).map(|copy| (k, copy)));
        }
        list
    }

    /// The mask of AVX2: bit i of `edx` becomes the sign of lane i, which is what blends look at.
    pub(super) fn narrow_mask(&mut self) {
        let shifts = self.writer.constants([63, 62, 61, 60]);
        let moves = [
            (Opcode(1, 1, false, 0x6E), 0, Rm::Reg(2), 0), // vmovd xmm15, edx
            (Opcode(2, 1, false, 0x59), 0, Rm::Reg(TAIL), 1), // vpbroadcastq ymm15, xmm15
            (Opcode(2, 1, true, 0x47), TAIL, Rm::Mem(shifts), 1), // vpsllvq ymm15, ymm15, [...]
        ];
        for (op, middle, rm, length) in moves {
            let parts = Parts {
                reg: TAIL,
                middle,
                rm,
                mask: 0,
                immediate: None,
            };
            self.writer.vex(op, parts, length);
        }
    }

    pub(super) fn number(&self, node: usize, copy: usize) -> u32 {
        let copy = if self.shared[node] { 0 } else { copy };
        (node * self.copies + copy) as u32
    }

    /// The operands of a node, as values.
    pub(super) fn args(&self, k: usize, copy: usize) -> impl Iterator<Item = u32> + use<'a> {
        let node = &self.nodes[k];
        let mut all = [0; 3];
        for (to, &arg) in all.iter_mut().zip(node.args()) {
            *to = self.number(arg as usize, copy);
        }
        all.into_iter().take(node.args().len())
    }

    pub(super) fn node(&self, value: u32) -> &'a Node {
        &self.nodes[value as usize / self.copies]
    }

    pub(super) fn class(&self, value: u32) -> Class {
        if self.target.wide && self.node(value).op.is_mask() {
            Class::Mask
        } else {
            Class::Vector
        }
    }

    pub(super) fn file(&mut self, class: Class) -> &mut File {
        &mut self.files[usize::from(class == Class::Mask)]
    }

    /// A distance from the start of an arena, in bytes.
    pub(super) fn bytes(&mut self, numbers: usize) -> i32 {
        // Room for the displacements of copies on top.
        i32::try_from(numbers * 8)
            .ok()
            .filter(|&d| d < i32::MAX - 4096)
            .unwrap_or_else(|| {
                self.failed = true;
                0
            })
    }

    pub(super) fn place(&mut self, loc: Loc, copy: usize) -> Mem {
        match self.target.layout {
            Layout::Loop => {}
            Layout::Steps => return self.step_place(loc),
            _ => return self.row_place(loc, copy),
        }
        let work = loc.arena == Arena::Work;
        let disp = self.bytes(loc.at);
        if loc.motion == Motion::Scalar || self.target.single {
            let base = if work { RDI } else { RSI };
            return Mem::At {
                base,
                index: None,
                disp,
            };
        }
        if loc.motion == Motion::Run {
            return Mem::At {
                base: RBX,
                index: None,
                disp,
            };
        }
        let base = match (loc.motion, work) {
            (Motion::Along, _) => RBX,
            (Motion::Stream, true) => R9,
            (Motion::Stream, false) => R10,
            (_, true) => RDI,
            (_, false) => RSI,
        };
        let disp = disp + (copy * self.target.lanes() * 8) as i32;
        Mem::At {
            base,
            index: Some(RAX),
            disp,
        }
    }

    fn step_place(&mut self, loc: Loc) -> Mem {
        let disp = self.bytes(loc.at);
        let (base, index) = match (loc.motion, loc.arena) {
            (Motion::Stream, Arena::Work) => (RDI, Some(RAX)),
            (Motion::Stream, Arena::Fixed) => (RSI, Some(RAX)),
            (Motion::Along, Arena::Work) => (R9, None),
            (Motion::Along, Arena::Fixed) => (R10, None),
            (_, Arena::Work) => (RDI, None),
            (_, Arena::Fixed) => (RSI, None),
        };
        Mem::At { base, index, disp }
    }

    fn row_place(&mut self, loc: Loc, copy: usize) -> Mem {
        let register = (copy * self.target.step()) as i32;
        let (base, index, disp) = match (loc.motion, loc.arena) {
            (Motion::Scalar, _) => (RDI, None, self.bytes(loc.at) + register % 64),
            (_, Arena::Work) => (RSI, Some(RAX), self.bytes(loc.at) + register),
            (_, Arena::Fixed) => (COLUMNS[loc.at], Some(RAX), register),
        };
        Mem::At { base, index, disp }
    }

    pub(super) fn partials(&mut self, at: usize, copy: usize) -> Mem {
        let sums = copy * self.target.lanes() % self.target.n_partials();
        let disp = self.bytes(at) + (sums * 8) as i32;
        Mem::At {
            base: RDI,
            index: Some(R11),
            disp,
        }
    }

    /// Where sum `k` stands, where rows are summed.
    pub(super) fn sum_place(&self, k: usize) -> Mem {
        Mem::At {
            base: RSI,
            index: None,
            disp: (self.target.apart() * k) as i32,
        }
    }

    pub(super) fn slot(&mut self, slot: usize) -> Mem {
        let disp = self.bytes(self.target.slots_at + slot * SLOT);
        Mem::At {
            base: RDI,
            index: None,
            disp,
        }
    }

    pub(super) fn emit(&mut self, op: Opcode, reg: u8, middle: u8, rm: Rm) {
        self.emit_with(op, reg, middle, rm, 0, None);
    }

    pub(super) fn emit_with(
        &mut self,
        op: Opcode,
        reg: u8,
        middle: u8,
        rm: Rm,
        mask: u8,
        imm: Option<u8>,
    ) {
        let parts = Parts {
            reg,
            middle,
            rm,
            mask,
            immediate: imm,
        };
        self.writer.vector(op, parts);
    }
}

pub(super) const MOVE_IN: Opcode = Opcode(1, 1, true, 0x10);
pub(super) const MOVE_OUT: Opcode = Opcode(1, 1, true, 0x11);
pub(super) const MOVE_ONE_IN: Opcode = Opcode(1, 3, true, 0x10);
pub(super) const MOVE_ONE_OUT: Opcode = Opcode(1, 3, true, 0x11);
pub(super) const COPY: Opcode = Opcode(1, 1, true, 0x28);
pub(super) const K_MOVE_IN: Opcode = Opcode(1, 1, false, 0x90);
pub(super) const K_MOVE_OUT: Opcode = Opcode(1, 1, false, 0x91);
