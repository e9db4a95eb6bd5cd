//! Operands of instructions, with their addresses.

use super::program::Code;
use crate::lanes::Lanes;

/// An operand with its address.
#[derive(Clone, Copy)]
pub(crate) struct Arg {
    pub(crate) at: *mut f64,
    /// 1 where it moves with the rows, else 0.
    pub(crate) step: usize,
    pub(crate) scalar: bool,
    /// A scalar of eight problems side by side, for registers of eight lanes.
    pub(crate) eight: bool,
}

/// An instruction with its addresses.
#[derive(Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) code: Code,
    pub(crate) to: Arg,
    pub(crate) also_to: Arg,
    pub(crate) from: [Arg; 3],
    /// Number of operands.
    pub(crate) n_from: usize,
}

impl Arg {
    #[inline(always)]
    pub(super) unsafe fn block(self, start: usize) -> *mut f64 {
        // SAFETY: the operand reaches as far as the loop.
        unsafe { self.at.add(self.step * start) }
    }
}

/// An operand read register by register.
#[derive(Clone, Copy)]
pub(super) struct Reader<L> {
    pub(super) at: *const f64,
    pub(super) scalar: Option<L>,
}

impl<L: Lanes> Reader<L> {
    #[inline(always)]
    pub(super) unsafe fn new(arg: Arg, start: usize) -> Self {
        // SAFETY: see `LoopRun::run`.
        unsafe {
            let at = arg.block(start).cast_const();
            let scalar = match (arg.scalar, arg.eight) {
                (false, _) => None,
                (true, false) => Some(L::splat(*at)),
                (true, true) => Some(L::load(at)),
            };
            Reader { at, scalar }
        }
    }

    /// The operand from `rows` rows further on.
    #[inline(always)]
    pub(super) unsafe fn after(mut self, rows: usize) -> Self {
        if self.scalar.is_none() {
            // SAFETY: see `LoopRun::run`.
            self.at = unsafe { self.at.add(rows) };
        }
        self
    }

    #[inline(always)]
    pub(super) unsafe fn get<const SCALAR: bool>(self, i: usize) -> L {
        match self.scalar {
            Some(x) if SCALAR => x,
            // SAFETY: see `LoopRun::run`.
            _ => unsafe { L::load(self.at.add(i)) },
        }
    }
}
