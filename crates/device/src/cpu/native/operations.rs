//! The instructions of each operation.

use super::assemble::{Assembler, COPY, K_TAIL, Layout, MOVE_IN, MOVE_ONE_OUT, MOVE_OUT, TAIL};
use super::registers::Class;
use super::tape::Op;
use super::x86::{Mem, Opcode, Parts, Rm};
use crate::cpu::program::{Arena, Loc, Motion};

impl Assembler<'_> {
    /// Writes one operation.
    pub(super) fn operation(&mut self, k: usize, copy: usize) {
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
            Op::Sum(k) | Op::SumProduct(k) if k < self.target.n_sums => self.own_sum(k, &args),
            Op::Sum(sum) | Op::SumProduct(sum) if self.target.layout != Layout::Loop => {
                // All rows with the last, so that the sum is read and written once.
                if copy + 1 == self.copies {
                    self.sum_of_rows(sum, k);
                }
            }
            Op::Sum(at) | Op::SumProduct(at) => {
                let place = self.partials(at, copy);
                self.sum(place, &args);
            }
            Op::AddTo(at) => {
                let sums = Loc {
                    arena: Arena::Work,
                    motion: Motion::Along,
                    at,
                };
                let place = self.place(sums, copy);
                self.sum(place, &args);
            }
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

    /// Adds to a sum in its register.
    fn own_sum(&mut self, k: usize, args: &[u32]) {
        let to = self.target.sum(k);
        let a = self.register(args[0]);
        match args.get(1).map(|&b| self.operand(b)) {
            Some(b) => self.emit(Opcode(2, 1, true, 0xB8), to, a, b),
            None => self.emit(opcode(Op::Add, true).0, to, to, Rm::Reg(a)),
        }
        self.release(args);
    }

    /// Adds what all registers of rows have at node `k` to a sum in memory, row by row.
    fn sum_of_rows(&mut self, sum: usize, k: usize) {
        let place = Rm::Mem(self.sum_place(sum));
        let to = self.take(Class::Vector);
        self.emit(MOVE_IN, to, 0, place);
        for copy in 0..self.copies {
            let args: Vec<u32> = self.args(k, copy).collect();
            let a = self.register(args[0]);
            match args.get(1).map(|&b| self.operand(b)) {
                Some(b) => self.emit(Opcode(2, 1, true, 0xB8), to, a, b),
                None => self.emit(opcode(Op::Add, true).0, to, to, Rm::Reg(a)),
            }
            self.release(&args);
        }
        self.emit(MOVE_OUT, to, 0, place);
    }

    /// Adds to sums in memory; of the last rows only the lanes that count.
    fn sum(&mut self, place: Mem, args: &[u32]) {
        let place = Rm::Mem(place);
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
        | Op::SumProduct(_)
        | Op::AddTo(_) => unreachable!("written elsewhere"),
    };
    (Opcode(map, 1, true, byte), immediate)
}
