//! Straight code over the numbers of eight problems as machine code, stage after stage.
//!
//! The code is called as `f(scalars)`: every number stands eight times, once for each problem. What a
//! later stage reads, and what is asked for, is written to memory; the rest stays in registers.

use super::assemble::{Assembler, Layout, Target};
use super::pages::Pages;
use super::rows::{loc, values};
use super::tape::{self, Narrow, Op, Recorder, Wide};
use super::{Fault, RET, VZEROUPPER, live, plant};
use crate::cpu::rowwise::{Place, RowInstr};
use crate::lanes::Level;

type Entry = unsafe extern "sysv64" fn(*mut f64);

/// Compiled stages: the code, which lives as long as this.
#[derive(Debug)]
pub(in crate::cpu) struct StraightCode {
    entry: Entry,
    /// Problems that one call computes.
    lanes: usize,
    _pages: Pages,
}

impl StraightCode {
    /// Computes eight problems.
    ///
    /// # Safety
    /// `scalars` has the numbers of the program, and [`super::ROOM`] more.
    #[inline]
    pub(in crate::cpu) unsafe fn run(&self, scalars: *mut f64) {
        for lane in (0..8).step_by(self.lanes) {
            // SAFETY: the code was written for this program, and the caller vouches for the memory.
            unsafe { (self.entry)(scalars.wrapping_add(lane)) };
        }
    }
}

/// The code of `stages` over `n_scalars` numbers, which keeps those that `kept` names.
///
/// # Errors
/// Why there is none, in words.
pub(in crate::cpu) fn compile(
    level: Level,
    stages: &[Vec<RowInstr>],
    kept: &[bool],
    fault: Fault,
) -> Result<StraightCode, String> {
    let wide = match level {
        Level::Scalar => return Err("there is no machine code for this processor".into()),
        Level::Avx2 => false,
        Level::Avx512 => true,
    };
    let target = Target {
        wide,
        single: false,
        cut: false,
        layout: Layout::Eight,
        slots_at: 8 * kept.len(),
        n_sums: 0,
    };
    let mut before = None;
    for stage in stages {
        let ((), tape) = tape::record(|| match wide {
            true => record::<Wide>(stage, kept),
            false => record::<Narrow>(stage, kept),
        });
        let mut nodes = live(&tape.nodes);
        plant(fault, &mut nodes);
        let mut a = Assembler::new(&nodes, target);
        if let Some(writer) = before.take() {
            a.writer = writer;
        }
        a.body(1, false);
        if a.failed {
            return Err("the formula is too large".into());
        }
        before = Some(a.writer);
    }
    let mut writer = before.ok_or("there is nothing to do")?;
    writer.bytes.extend(VZEROUPPER);
    writer.bytes.push(RET);
    let bytes = writer.finish(if wide { 1 } else { 4 });
    let pages = Pages::new(&bytes);
    let pages = pages.map_err(|e| format!("the system gives no memory to execute: {e}"))?;
    Ok(StraightCode {
        // SAFETY: at the start stands a function that follows the calling convention and takes this
        // argument: it was written above.
        entry: unsafe { std::mem::transmute::<*const u8, Entry>(pages.address(0)) },
        lanes: target.lanes(),
        _pages: pages,
    })
}

/// Writes down what a stage does; results that are kept are written as soon as they are there, so that
/// they need no register.
fn record<R: Recorder>(stage: &[RowInstr], kept: &[bool]) {
    values::<R>(stage, |to, value| {
        if matches!(to, Place::Scalar(k) if kept[k]) {
            tape::push(Op::Store(loc(to)), &[value]);
        }
    });
}
