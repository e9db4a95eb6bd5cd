//! Totals of loops that end before their sums have been round once: a dozen instructions each, where
//! going back to the interpreter took half as long as the loops.

use super::assemble::{Assembler, MOVE_IN, MOVE_ONE_OUT, MOVE_OUT};
use super::x86::{Mem, Opcode, Parts, RDI, Rm};
use crate::cpu::program::{PARTIALS, SumPlan};

/// Instructions on two numbers, and on four.
const TWO: u8 = 0;
const FOUR: u8 = 1;

pub(super) const ADD: Opcode = Opcode(1, 1, true, 0x58);
pub(super) const XOR: Opcode = Opcode(1, 1, true, 0x57);
/// The high numbers of two registers.
pub(super) const HIGH: Opcode = Opcode(1, 1, true, 0x15);

impl Assembler<'_> {
    /// The totals of loops of `n` rows, at most `PARTIALS`, in the order of
    /// [`super::super::sums::close_short`]; leaves zeros for the next run.
    pub(super) fn totals(&mut self, sums: &[SumPlan], n: usize) {
        debug_assert!(
            sums.is_empty() || n <= PARTIALS,
            "no partial sum has more than one row"
        );
        for sum in sums {
            // Of eight sums that join the others, two to a register.
            for (register, first) in [(0, 0), (1, 4), (2, 2), (3, 6)] {
                self.joined(register, sum.partials + first, n);
            }
            self.pair(ADD, 0, 0, Rm::Reg(1));
            self.pair(ADD, 2, 2, Rm::Reg(3));
            self.pair(ADD, 0, 0, Rm::Reg(2));
            self.pair(HIGH, 1, 0, Rm::Reg(0));
            self.pair(ADD, 0, 0, Rm::Reg(1));
            self.narrow(XOR, 1, 1, Rm::Reg(1), FOUR);
            self.pair(ADD, 0, 1, Rm::Reg(0));
            let total = self.number_at(sum.total);
            self.pair(MOVE_ONE_OUT, 0, 0, total);
            for k in (0..n.next_multiple_of(PARTIALS / 4)).step_by(4) {
                let place = self.number_at(sum.partials + k);
                self.narrow(MOVE_OUT, 1, 0, place, FOUR);
            }
        }
    }

    /// Two of eight sums, with those that join them: 16 numbers on, then eight.
    fn joined(&mut self, register: u8, at: usize, n: usize) {
        let half = PARTIALS / 2;
        let first = self.number_at(at);
        self.pair(MOVE_IN, register, 0, first);
        if n > half {
            let far = self.number_at(at + half);
            self.pair(ADD, register, register, far);
        }
        if n > half / 2 {
            let second = self.number_at(at + half / 2);
            self.pair(MOVE_IN, 4, 0, second);
            if n > half {
                let far = self.number_at(at + half + half / 2);
                self.pair(ADD, 4, 4, far);
            }
            self.pair(ADD, register, register, Rm::Reg(4));
        }
    }

    fn pair(&mut self, op: Opcode, reg: u8, middle: u8, rm: Rm) {
        self.narrow(op, reg, middle, rm, TWO);
    }

    /// An instruction of AVX, which processors with AVX-512 have as well.
    fn narrow(&mut self, op: Opcode, reg: u8, middle: u8, rm: Rm, length: u8) {
        let parts = Parts {
            reg,
            middle,
            rm,
            mask: 0,
            immediate: None,
        };
        self.writer.vex(op, parts, length);
    }

    /// A number of the workspace.
    fn number_at(&mut self, at: usize) -> Rm {
        let disp = self.bytes(at);
        Rm::Mem(Mem::At {
            base: RDI,
            index: None,
            disp,
        })
    }
}
