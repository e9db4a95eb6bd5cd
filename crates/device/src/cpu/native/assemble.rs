//! One loop as machine code: registers chosen while the instructions are written.
//!
//! The code is called as `f(work, fixed, start, len)`: `rdi` and `rsi` are the arenas, `rdx` the
//! bytes before the block in every array, `rcx` its rows. It moves through the block in `rax`.

use super::registers::{Class, File, Value};
use super::tape::{Node, Op};
use super::x86::{Encoding, Mem, Opcode, Parts, R9, R10, R11, RAX, RDI, RSI, Rm, Writer};
use crate::cpu::program::{Arena, Loc, Motion};

/// Registers that may be saved at once; each takes `SLOT` numbers of the workspace.
pub(super) const SLOTS: usize = 128;
/// Numbers of one saved register.
pub(super) const SLOT: usize = 8;
/// The mask of the last rows: k1, or with AVX2 this register.
pub(super) const TAIL: u8 = 15;
pub(super) const K_TAIL: u8 = 1;

/// What a loop is compiled for.
#[derive(Clone, Copy)]
pub(super) struct Target {
    /// AVX-512, else AVX2.
    pub(super) wide: bool,
    /// A loop of one element.
    pub(super) single: bool,
    /// First number of the room for saved registers.
    pub(super) slots_at: usize,
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
}

/// Code of the operations of one pass, for some copies of a register's worth of rows.
pub(super) struct Assembler<'a> {
    pub(super) nodes: &'a [Node],
    pub(super) target: Target,
    pub(super) writer: Writer,
    copies: usize,
    /// The last rows: lanes beyond them must not count.
    pub(super) tail: bool,
    shared: Vec<bool>,
    pub(super) values: Vec<Value>,
    files: [File; 2],
    free_slots: Vec<usize>,
    /// Slots that the present operation may still read.
    ending_slots: Vec<usize>,
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
                Op::Load(loc) => loc.motion == Motion::Scalar,
                op => !op.is_effect() && node.args().iter().all(|&a| shared[a as usize]),
            });
        }
        Assembler {
            nodes,
            target,
            writer: Writer::new(encoding, length),
            copies: 1,
            tail: false,
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
        let vectors = if self.target.wide { 32 } else { TAIL };
        self.files = [File::new(0, vectors), File::new(K_TAIL + 1, 8)];
        self.free_slots = (0..SLOTS).rev().collect();
        let mut list = Vec::with_capacity(self.values.len());
        for (k, shared) in self.shared.iter().enumerate() {
            let copies = if *shared { 1 } else { copies };
            list.extend((0..copies).map(|copy| (k, copy)));
        }
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

    fn node(&self, value: u32) -> &'a Node {
        &self.nodes[value as usize / self.copies]
    }

    fn class(&self, value: u32) -> Class {
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
    fn bytes(&mut self, numbers: usize) -> i32 {
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
        let base = match (loc.motion, work) {
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

    pub(super) fn partials(&mut self, at: usize, copy: usize) -> Mem {
        let disp = self.bytes(at) + (copy * self.target.lanes() * 8) as i32;
        Mem::At {
            base: RDI,
            index: Some(R11),
            disp,
        }
    }

    fn slot(&mut self, slot: usize) -> Mem {
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

    /// A register for a new value or for passing use, pinned; whoever was in it is saved.
    pub(super) fn take(&mut self, class: Class) -> u8 {
        let (register, holder) = self.files[usize::from(class == Class::Mask)].take(&self.values);
        if let Some(holder) = holder {
            self.save(holder, register, class);
        }
        let file = self.file(class);
        file.set(register, None);
        file.pin(register);
        register
    }

    fn save(&mut self, value: u32, register: u8, class: Class) {
        let known = &mut self.values[value as usize];
        known.register = None;
        if known.in_memory || known.slot.is_some() {
            return;
        }
        let Some(slot) = self.free_slots.pop() else {
            self.failed = true;
            return;
        };
        known.slot = Some(slot);
        let to = Rm::Mem(self.slot(slot));
        match class {
            Class::Vector => self.emit(MOVE_OUT, register, 0, to),
            Class::Mask => {
                let parts = Parts {
                    reg: register,
                    middle: 0,
                    rm: to,
                    mask: 0,
                    immediate: None,
                };
                self.writer.vex(K_MOVE_OUT, parts, 0);
            }
        }
    }

    pub(super) fn assign(&mut self, value: u32, register: u8) {
        self.values[value as usize].register = Some(register);
        let class = self.class(value);
        self.file(class).set(register, Some(value));
    }

    /// A register for the result `value`.
    pub(super) fn define(&mut self, value: u32) -> u8 {
        let register = self.take(self.class(value));
        self.assign(value, register);
        register
    }

    /// The register that holds `value`, which is fetched if need be; pinned.
    pub(super) fn register(&mut self, value: u32) -> u8 {
        let class = self.class(value);
        if let Some(register) = self.values[value as usize].register {
            self.file(class).pin(register);
            return register;
        }
        let register = self.take(class);
        self.fetch(value, register);
        self.assign(value, register);
        register
    }

    /// Loads a value that is in memory.
    pub(super) fn fetch(&mut self, value: u32, register: u8) {
        if let Some(slot) = self.values[value as usize].slot {
            let from = Rm::Mem(self.slot(slot));
            if self.class(value) == Class::Mask {
                let parts = Parts {
                    reg: register,
                    middle: 0,
                    rm: from,
                    mask: 0,
                    immediate: None,
                };
                return self.writer.vex(K_MOVE_IN, parts, 0);
            }
            return self.emit(MOVE_IN, register, 0, from);
        }
        let copy = value as usize % self.copies;
        let (from, one) = match self.node(value).op {
            Op::Const(bits) => (self.writer.constant(bits), true),
            Op::Load(loc) => (self.place(loc, copy), loc.motion == Motion::Scalar),
            // There was no slot left for it.
            _ => return self.failed = true,
        };
        let op = match (self.target.single, one) {
            (true, _) => MOVE_ONE_IN,
            // The only instruction that VEX and EVEX want with a different W.
            (_, true) => Opcode(2, 1, self.target.wide, 0x19),
            _ => MOVE_IN,
        };
        self.emit(op, register, 0, Rm::Mem(from));
    }

    /// The value as an operand that may be in memory.
    pub(super) fn operand(&mut self, value: u32) -> Rm {
        let known = &self.values[value as usize];
        if known.register.is_none() {
            let last = known.reads.len() <= 1;
            let copy = value as usize % self.copies;
            match (self.node(value).op, known.slot) {
                (_, Some(slot)) if last => return Rm::Mem(self.slot(slot)),
                (Op::Const(bits), None) => {
                    let at = self.writer.constant(bits);
                    return if self.target.wide {
                        Rm::Broadcast(at)
                    } else {
                        Rm::Mem(at)
                    };
                }
                (Op::Load(loc), None) if loc.motion == Motion::Scalar => {
                    if self.target.wide && !self.target.single {
                        return Rm::Broadcast(self.place(loc, copy));
                    }
                }
                (Op::Load(loc), None) if last && !self.target.single => {
                    return Rm::Mem(self.place(loc, copy));
                }
                _ => {}
            }
        }
        Rm::Reg(self.register(value))
    }

    /// Takes note that the operands were read: those not needed again leave their registers.
    pub(super) fn release(&mut self, args: &[u32]) {
        for (k, &arg) in args.iter().enumerate() {
            if args[..k].contains(&arg) {
                continue;
            }
            let class = self.class(arg);
            let known = &mut self.values[arg as usize];
            known.reads.pop();
            if known.reads.is_empty() {
                let (register, slot) = (known.register.take(), known.slot.take());
                self.ending_slots.extend(slot);
                if let Some(register) = register {
                    self.file(class).set(register, None);
                }
            }
        }
    }

    pub(super) fn unpin(&mut self) {
        self.files.iter_mut().for_each(File::unpin);
    }

    /// A value that this instruction may overwrite: in a register, and not read again.
    pub(super) fn ends(&self, value: u32, others: [u32; 2]) -> bool {
        let known = &self.values[value as usize];
        known.register.is_some() && known.reads.len() == 1 && !others.contains(&value)
    }
}

pub(super) const MOVE_IN: Opcode = Opcode(1, 1, true, 0x10);
pub(super) const MOVE_OUT: Opcode = Opcode(1, 1, true, 0x11);
const MOVE_ONE_IN: Opcode = Opcode(1, 3, true, 0x10);
pub(super) const MOVE_ONE_OUT: Opcode = Opcode(1, 3, true, 0x11);
pub(super) const COPY: Opcode = Opcode(1, 1, true, 0x28);
const K_MOVE_IN: Opcode = Opcode(1, 1, false, 0x90);
const K_MOVE_OUT: Opcode = Opcode(1, 1, false, 0x91);
