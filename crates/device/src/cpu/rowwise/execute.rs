//! Running a row program: every instruction over a block, then the outputs to where they go.

use super::super::maps::elementwise;
use super::super::operand::Bound;
use super::super::program::{BLOCK, PARTIALS, TILE};
use super::BUFFER;
use super::dots;
use super::emitted::RowCode;
use crate::lanes::{Kernel, Lanes, prefetch};

/// Cache lines of a block of a column.
const LINES: usize = BLOCK / 8;

/// Where the outputs of a block stand.
#[derive(Clone, Copy)]
pub(super) struct Outputs<'a> {
    pub(super) buffers: *mut f64,
    pub(super) products: &'a [usize],
    pub(super) alone: &'a [usize],
}

impl Outputs<'_> {
    pub(super) fn product(&self, k: usize) -> *mut f64 {
        self.buffers.wrapping_add(self.products[k] * BUFFER)
    }

    pub(super) fn alone(&self, k: usize) -> *mut f64 {
        self.buffers.wrapping_add(self.alone[k] * BUFFER)
    }

    fn each(&self) -> impl Iterator<Item = *mut f64> + '_ {
        let all = self.products.iter().chain(self.alone);
        all.map(|&b| self.buffers.wrapping_add(b * BUFFER))
    }
}

/// What becomes of the outputs of a block.
pub(super) enum Sink<'a> {
    /// Nothing: there are none.
    Nothing,
    /// Summed tile by tile.
    Tiles {
        outputs: Outputs<'a>,
        partials: *mut f64,
        sums: &'a mut [f64],
        tile: &'a mut dyn FnMut(&[f64]),
    },
    /// Copied.
    Rows {
        outputs: Outputs<'a>,
        to: &'a mut [Vec<f64>],
    },
    /// Summed for eight problems side by side.
    Eight {
        outputs: Outputs<'a>,
        partials: *mut f64,
        n_rows: &'a [usize; 8],
    },
}

/// Columns that machine code may read, at most.
pub(super) const MOST_COLUMNS: usize = 8;

/// The code of a program as machine code, and where its operands stand.
pub(super) struct Blocks<'a> {
    pub(super) code: &'a RowCode,
    pub(super) scalars: *mut f64,
    pub(super) buffers: *mut f64,
    pub(super) columns: &'a [&'a [f64]],
    /// A copy of the last rows, which fill no block, where there is one.
    pub(super) tail: Option<*const f64>,
}

impl Blocks<'_> {
    /// Computes the rows `start .. start + len`.
    #[inline]
    unsafe fn run(&self, start: usize, len: usize) {
        let mut at = [std::ptr::null(); MOST_COLUMNS];
        for (c, (at, column)) in at.iter_mut().zip(self.columns).enumerate() {
            *at = match self.tail {
                Some(tail) if len < BLOCK => tail.wrapping_add(c * BUFFER),
                _ => column.as_ptr().wrapping_add(start),
            };
        }
        let len = len.next_multiple_of(8);
        // SAFETY: the workspace is that of the program; rows beyond the last are in the tail.
        unsafe { self.code.run(self.scalars, self.buffers, &at, len) }
    }
}

/// A run over `n` rows.
pub(super) struct Run<'a> {
    pub(super) fill: &'a [Bound],
    pub(super) fill_len: usize,
    pub(super) code: &'a [Bound],
    /// The same code for the last rows, which fill no block.
    pub(super) tail_code: &'a [Bound],
    pub(super) n: usize,
    /// Columns to fetch a block ahead of the code.
    pub(super) ahead: &'a [&'a [f64]],
    /// What runs in place of the code over rows.
    pub(super) native: Option<Blocks<'a>>,
    pub(super) sink: Sink<'a>,
}

impl<'a> Run<'a> {
    /// Instructions among scalars, and nothing over rows.
    pub(super) fn among_scalars(code: &'a [Bound]) -> Self {
        Run {
            fill: code,
            fill_len: 8,
            code: &[],
            tail_code: &[],
            n: 0,
            ahead: &[],
            native: None,
            sink: Sink::Nothing,
        }
    }
}

impl Kernel for Run<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self) {
        // SAFETY: operands were bound to arrays that live as long as the workspace and columns
        // borrowed by the caller. Columns are read up to their last whole block; the rest was
        // copied to buffers, which have room for a block and a register.
        unsafe {
            let (mut code, mut start, mut len) = (self.fill, 0, self.fill_len);
            let mut filling = true;
            // Lines to fetch with each instruction: all at once would wait for memory instead of
            // using it while computing.
            let lines = self.ahead.len() * LINES;
            let share = lines.div_ceil(self.code.len().max(1));
            loop {
                if let Some(native) = self.native.as_ref().filter(|_| !filling) {
                    native.run(start, len);
                    code = &[];
                }
                let mut next = 0;
                for instr in code {
                    let end = lines.min(next + share);
                    for line in next..end {
                        let column = self.ahead[line / LINES];
                        prefetch(column.as_ptr().wrapping_add(start + len + line % LINES * 8));
                    }
                    next = end;
                    elementwise::<L>(instr, start, len);
                }
                if !filling {
                    self.sink.take::<L>(start, len, self.n);
                    start += len;
                }
                if start >= self.n {
                    break;
                }
                filling = false;
                len = BLOCK.min(self.n - start);
                code = if len == BLOCK {
                    self.code
                } else {
                    self.tail_code
                };
            }
        }
    }
}

impl Sink<'_> {
    /// Takes the outputs of the rows `start .. start + len`.
    #[inline(always)]
    unsafe fn take<L: Lanes>(&mut self, start: usize, len: usize, n: usize) {
        // SAFETY: see `run`.
        unsafe {
            match self {
                Sink::Nothing => {}
                Sink::Tiles {
                    outputs,
                    partials,
                    sums,
                    tile,
                } => {
                    let padded = len.next_multiple_of(PARTIALS);
                    for at in outputs.each() {
                        at.add(len).write_bytes(0, padded - len);
                    }
                    dots::block::<L, PARTIALS>(outputs, *partials, padded);
                    let end = start + len;
                    if end.is_multiple_of(TILE) || end == n {
                        dots::close::<L>(*partials, sums);
                        tile(sums);
                    }
                }
                Sink::Rows { outputs, to } => {
                    for (to, from) in to.iter_mut().zip(outputs.each()) {
                        let from = std::slice::from_raw_parts(from.cast_const(), len);
                        to[start..start + len].copy_from_slice(from);
                    }
                }
                Sink::Eight {
                    outputs,
                    partials,
                    n_rows,
                } => {
                    for (problem, &rows) in n_rows.iter().enumerate() {
                        for row in rows.max(start / 8)..(start + len) / 8 {
                            for at in outputs.each() {
                                *at.add(8 * row + problem - start) = 0.0;
                            }
                        }
                    }
                    dots::block::<L, 8>(outputs, *partials, len);
                }
            }
        }
    }
}
