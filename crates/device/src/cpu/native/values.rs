//! Values in registers: who gets one, who is saved, and what is read from memory instead.

use super::assemble::{Assembler, K_MOVE_IN, K_MOVE_OUT, Layout, MOVE_IN, MOVE_ONE_IN, MOVE_OUT};
use super::registers::{Class, File};
use super::tape::Op;
use super::x86::{Opcode, Parts, Rm};
use crate::cpu::program::{Loc, Motion};

impl Assembler<'_> {
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
            Op::Load(loc) => (self.place(loc, copy), self.is_one(loc)),
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

    /// Whether it is one number in memory, for all lanes.
    fn is_one(&self, loc: Loc) -> bool {
        let arenas = matches!(self.target.layout, Layout::Loop | Layout::Steps);
        matches!(loc.motion, Motion::Scalar | Motion::Run) && arenas
    }

    /// The value as an operand that may be in memory.
    pub(super) fn operand(&mut self, value: u32) -> Rm {
        let known = &self.values[value as usize];
        if known.register.is_none() {
            let broadcasts = self.target.wide && !self.target.single;
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
                (Op::Load(loc), None) if self.is_one(loc) && broadcasts => {
                    return Rm::Broadcast(self.place(loc, copy));
                }
                (Op::Load(loc), None) if last && !self.is_one(loc) && !self.target.single => {
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
