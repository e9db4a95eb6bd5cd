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
const TAIL: u8 = 15;
const K_TAIL: u8 = 1;

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
    nodes: &'a [Node],
    pub(super) target: Target,
    pub(super) writer: Writer,
    copies: usize,
    /// The last rows: lanes beyond them must not count.
    tail: bool,
    shared: Vec<bool>,
    values: Vec<Value>,
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

    fn number(&self, node: usize, copy: usize) -> u32 {
        let copy = if self.shared[node] { 0 } else { copy };
        (node * self.copies + copy) as u32
    }

    /// The operands of a node, as values.
    fn args(&self, k: usize, copy: usize) -> impl Iterator<Item = u32> + use<'a> {
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

    fn file(&mut self, class: Class) -> &mut File {
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

    fn place(&mut self, loc: Loc, copy: usize) -> Mem {
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

    fn partials(&mut self, at: usize, copy: usize) -> Mem {
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

    fn emit(&mut self, op: Opcode, reg: u8, middle: u8, rm: Rm) {
        self.emit_with(op, reg, middle, rm, 0, None);
    }

    fn emit_with(&mut self, op: Opcode, reg: u8, middle: u8, rm: Rm, mask: u8, imm: Option<u8>) {
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
    fn take(&mut self, class: Class) -> u8 {
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

    fn assign(&mut self, value: u32, register: u8) {
        self.values[value as usize].register = Some(register);
        let class = self.class(value);
        self.file(class).set(register, Some(value));
    }

    /// A register for the result `value`.
    fn define(&mut self, value: u32) -> u8 {
        let register = self.take(self.class(value));
        self.assign(value, register);
        register
    }

    /// The register that holds `value`, which is fetched if need be; pinned.
    fn register(&mut self, value: u32) -> u8 {
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
    fn fetch(&mut self, value: u32, register: u8) {
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
    fn operand(&mut self, value: u32) -> Rm {
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
    fn release(&mut self, args: &[u32]) {
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

    fn unpin(&mut self) {
        self.files.iter_mut().for_each(File::unpin);
    }

    /// A value that this instruction may overwrite: in a register, and not read again.
    fn ends(&self, value: u32, others: [u32; 2]) -> bool {
        let known = &self.values[value as usize];
        known.register.is_some() && known.reads.len() == 1 && !others.contains(&value)
    }

    fn operation(&mut self, k: usize, copy: usize) {
        let node = self.nodes[k];
        let value = self.number(k, copy);
        let args: Vec<u32> = self.args(k, copy).collect();
        match node.op {
            Op::Const(_) | Op::Load(_) => self.values[value as usize].in_memory = true,
            Op::Store(loc) => {
                let register = self.register(args[0]);
                let to = Rm::Mem(self.place(loc, copy));
                let op = if self.target.single {
                    MOVE_ONE_OUT
                } else {
                    MOVE_OUT
                };
                self.emit(op, register, 0, to);
                self.release(&args);
            }
            Op::Sum(at) | Op::SumProduct(at) => self.sum(at, copy, &args),
            Op::MulAdd => self.multiply_add(value, [args[0], args[1], args[2]], 0x08),
            Op::MulSub => self.multiply_add(value, [args[0], args[1], args[2]], 0x0A),
            Op::SubMul => self.multiply_add(value, [args[0], args[1], args[2]], 0x0C),
            Op::Select => self.select(value, &args),
            Op::MaskAnd | Op::MaskOr | Op::MaskNot if self.target.wide => {
                self.masks(node.op, value, &args);
            }
            op => self.plain(op, value, args),
        }
    }

    /// Operations of one or two registers.
    fn plain(&mut self, op: Op, value: u32, mut args: Vec<u32>) {
        let (opcode, immediate) = opcode(op, self.target.wide);
        if let Op::ShiftLeft(_) | Op::ShiftRight(_) = op {
            let from = self.register(args[0]);
            self.release(&args);
            self.unpin();
            let to = self.define(value);
            let which = if matches!(op, Op::ShiftLeft(_)) { 6 } else { 2 };
            return self.emit_with(opcode, which, to, Rm::Reg(from), 0, immediate);
        }
        if args.len() == 1 && op != Op::MaskNot {
            let from = self.operand(args[0]);
            self.release(&args);
            self.unpin();
            let to = self.define(value);
            return self.emit_with(opcode, to, 0, from, 0, immediate);
        }
        let in_register = |s: &Self, v: u32| s.values[v as usize].register.is_some();
        if op.commutes() && !in_register(self, args[0]) && in_register(self, args[1]) {
            args.swap(0, 1);
        }
        let a = self.register(args[0]);
        let b = if op == Op::MaskNot {
            Rm::Mem(self.writer.constant(u64::MAX))
        } else {
            self.operand(args[1])
        };
        self.release(&args);
        self.unpin();
        let to = self.define(value);
        self.emit_with(opcode, to, a, b, 0, immediate);
    }

    /// a·b ± c; `form` is the low half of the opcode whose high half says which operand is lost.
    fn multiply_add(&mut self, value: u32, [mut a, mut b, c]: [u32; 3], form: u8) {
        let code = |order: u8| Opcode(2, 1, true, order | form);
        let in_register = |s: &Self, v: u32| s.values[v as usize].register.is_some();
        if !in_register(self, a) && in_register(self, b) {
            std::mem::swap(&mut a, &mut b);
        }
        let args = [a, b, c];
        let (to, middle, rm, order) = if self.ends(c, [a, b]) {
            let to = self.register(c);
            let middle = self.register(a);
            (to, middle, self.operand(b), 0xB0)
        } else if self.ends(a, [b, c]) {
            let to = self.register(a);
            let middle = self.register(b);
            (to, middle, self.operand(c), 0xA0)
        } else if self.ends(b, [a, c]) {
            let to = self.register(b);
            let middle = self.register(a);
            (to, middle, self.operand(c), 0xA0)
        } else {
            let middle = self.register(a);
            let rm = self.operand(b);
            let held = self.values[c as usize].register;
            if let Some(held) = held {
                self.file(Class::Vector).pin(held);
            }
            let to = self.take(Class::Vector);
            match held {
                Some(held) => self.emit(COPY, to, 0, Rm::Reg(held)),
                None => self.fetch(c, to),
            }
            (to, middle, rm, 0xB0)
        };
        self.release(&args);
        self.assign(value, to);
        self.emit(code(order), to, middle, rm);
    }

    fn select(&mut self, value: u32, args: &[u32]) {
        let mask = self.register(args[0]);
        let no = self.register(args[2]);
        let yes = self.operand(args[1]);
        self.release(args);
        self.unpin();
        let to = self.define(value);
        if self.target.wide {
            self.emit_with(Opcode(2, 1, true, 0x65), to, no, yes, mask, None);
        } else {
            self.emit_with(Opcode(3, 1, false, 0x4B), to, no, yes, 0, Some(mask << 4));
        }
    }

    /// Operations on mask registers.
    fn masks(&mut self, op: Op, value: u32, args: &[u32]) {
        let a = self.register(args[0]);
        let b = args.get(1).map_or(a, |&b| self.register(b));
        self.release(args);
        self.unpin();
        let to = self.define(value);
        let (byte, middle, rm, length) = match op {
            Op::MaskAnd => (0x41, a, b, 1),
            Op::MaskOr => (0x45, a, b, 1),
            _ => (0x44, 0, a, 0),
        };
        let parts = Parts {
            reg: to,
            middle,
            rm: Rm::Reg(rm),
            mask: 0,
            immediate: None,
        };
        self.writer.vex(Opcode(1, 1, false, byte), parts, length);
    }

    /// Adds to partial sums in memory; of the last rows only the lanes that count.
    fn sum(&mut self, at: usize, copy: usize, args: &[u32]) {
        let place = Rm::Mem(self.partials(at, copy));
        let a = self.register(args[0]);
        let b = args.get(1).map(|&b| self.operand(b));
        let sum = self.take(Class::Vector);
        self.emit(MOVE_IN, sum, 0, place);
        let mask = if self.tail && self.target.wide {
            K_TAIL
        } else {
            0
        };
        let mut to = sum;
        if self.tail && !self.target.wide {
            to = self.take(Class::Vector);
            self.emit(COPY, to, 0, Rm::Reg(sum));
        }
        match b {
            Some(b) => self.emit_with(Opcode(2, 1, true, 0xB8), to, a, b, mask, None),
            None => self.emit_with(opcode(Op::Add, true).0, to, to, Rm::Reg(a), mask, None),
        }
        if to != sum {
            let blend = Opcode(3, 1, false, 0x4B);
            self.emit_with(blend, to, sum, Rm::Reg(to), 0, Some(TAIL << 4));
        }
        self.emit(MOVE_OUT, to, 0, place);
        self.release(args);
    }
}

const MOVE_IN: Opcode = Opcode(1, 1, true, 0x10);
const MOVE_OUT: Opcode = Opcode(1, 1, true, 0x11);
const MOVE_ONE_IN: Opcode = Opcode(1, 3, true, 0x10);
const MOVE_ONE_OUT: Opcode = Opcode(1, 3, true, 0x11);
const COPY: Opcode = Opcode(1, 1, true, 0x28);
const K_MOVE_IN: Opcode = Opcode(1, 1, false, 0x90);
const K_MOVE_OUT: Opcode = Opcode(1, 1, false, 0x91);

/// Opcode and immediate byte of an operation of one or two registers.
fn opcode(op: Op, wide: bool) -> (Opcode, Option<u8>) {
    // AVX2 does bits on numbers, where AVX-512 has no masks for less.
    let bits = |wide_byte, narrow_byte| if wide { wide_byte } else { narrow_byte };
    let (map, byte, immediate) = match op {
        Op::Add => (1, 0x58, None),
        Op::Mul => (1, 0x59, None),
        Op::Sub => (1, 0x5C, None),
        Op::Lesser => (1, 0x5D, None),
        Op::Div => (1, 0x5E, None),
        Op::Greater => (1, 0x5F, None),
        Op::Sqrt => (1, 0x51, None),
        Op::Round => (3, 0x09, Some(8)),
        Op::Floor => (3, 0x09, Some(9)),
        Op::Scale => (2, 0x2C, None),
        Op::Exponent => (2, 0x42, None),
        Op::Mantissa => (3, 0x26, Some(3)),
        Op::Eq => (1, 0xC2, Some(0x00)),
        Op::Lt => (1, 0xC2, Some(0x11)),
        Op::Le => (1, 0xC2, Some(0x12)),
        Op::AndBits | Op::MaskAnd => (1, bits(0xDB, 0x54), None),
        Op::OrBits | Op::MaskOr => (1, bits(0xEB, 0x56), None),
        Op::XorBits | Op::MaskNot => (1, bits(0xEF, 0x57), None),
        Op::AddBits => (1, 0xD4, None),
        Op::SubBits => (1, 0xFB, None),
        Op::ShiftLeft(k) | Op::ShiftRight(k) => (1, 0x73, Some(k)),
        Op::Const(_)
        | Op::Load(_)
        | Op::MulAdd
        | Op::MulSub
        | Op::SubMul
        | Op::Select
        | Op::Store(_)
        | Op::Sum(_)
        | Op::SumProduct(_) => unreachable!("written elsewhere"),
    };
    (Opcode(map, 1, true, byte), immediate)
}
