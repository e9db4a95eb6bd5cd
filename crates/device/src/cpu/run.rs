//! The block interpreter: every instruction runs over a block before the next one does.
//!
//! Sums have a fixed order, whatever the level: tiles of 1,024 elements, in a tile element i goes
//! to partial i mod 32, partials join by halves (16, 8, 4, 2, 1), tiles join in a pairwise tree.
//! Runs shorter than `SHORT_RUN` are summed one by one; longer ones in eight partials; where rows
//! do not stand in runs of one group, each group's sum grows row by row.

use super::maps::elementwise;
use super::operand::{Bound, Reader};
use super::products::{mat_vec, mat_vec_transposed};
use super::program::{Code, Cut, LoopPlan, PARTIALS, SHORT_RUN, TILE};
use super::scalar;
use super::sums::{
    close_eight, close_row_by_row, close_short, close_tile, gather_rising, gather_runs, join_tiles,
    sum, sum_across_tiles, sum_products, sum_rising, sum_runs,
};
use crate::lanes::{Kernel, Lanes};

/// A loop ready to run.
pub(crate) struct LoopRun<'p> {
    pub(crate) plan: &'p LoopPlan,
    pub(crate) code: &'p [Bound],
    pub(crate) work: *mut f64,
    pub(crate) fixed: *const f64,
}

impl LoopRun<'_> {
    /// Runs every block.
    #[inline(always)]
    pub(crate) fn run<L: Lanes>(self) {
        if self.plan.n == 1 {
            return self.single::<L>();
        }
        // SAFETY: addresses were made from plans whose arrays have SLACK numbers of room beyond
        // their ends, in arenas that live as long as the workspace and function borrowed here.
        unsafe {
            self.clear();
            if let Some(cut) = &self.plan.cut {
                return self.in_runs::<L>(cut);
            }
            let (n, block_len) = (self.plan.n, self.plan.block());
            if (1..=PARTIALS).contains(&n) {
                for instr in self.code {
                    block::<L>(self.plan, instr, self.work, self.fixed, 0, n);
                }
                if !self.plan.closed {
                    for sum in &self.plan.sums {
                        close_short::<L>(sum, self.work, n);
                    }
                }
                return;
            }
            let mut start = 0;
            while start < n {
                let len = block_len.min(n - start);
                for instr in self.code {
                    block::<L>(self.plan, instr, self.work, self.fixed, start, len);
                }
                start += len;
                if start % TILE == 0 || start == n {
                    let tile = (start - 1) / TILE;
                    for sum in &self.plan.sums {
                        close_tile::<L>(sum, self.work, tile);
                    }
                }
            }
            for sum in &self.plan.sums {
                join_tiles(sum, self.work, n.div_ceil(TILE));
            }
        }
    }

    /// Runs blocks that end where runs do. Their machine code leaves the eight partial sums of a
    /// run in memory, as [`sum_runs`] has them.
    #[inline(always)]
    unsafe fn in_runs<L: Lanes>(&self, cut: &Cut) {
        // SAFETY: see `run`.
        unsafe {
            let (plan, work) = (self.plan, self.work);
            for (bounds, &group) in cut.runs.start.windows(2).zip(&cut.runs.group) {
                let (first, last) = (bounds[0] as usize, bounds[1] as usize);
                // What is summed row by row has room for eight rows.
                let row_by_row = !cut.rising && last - first < SHORT_RUN;
                let most = if row_by_row { 8 } else { plan.block() };
                for start in (first..last).step_by(most) {
                    let len = most.min(last - start);
                    let done = if cut.rising { start - first } else { 0 };
                    self.in_run::<L>(start, len, group as usize + done);
                    if row_by_row {
                        for &sum in &cut.sums {
                            close_row_by_row(sum, group as usize, work, len);
                        }
                    }
                }
                if !row_by_row {
                    for &sum in &cut.sums {
                        close_eight(sum, group as usize, work);
                    }
                }
            }
            for sum in &plan.sums {
                if plan.n % TILE != 0 {
                    close_tile::<L>(sum, work, plan.n / TILE);
                }
                join_tiles(sum, work, plan.n.div_ceil(TILE));
            }
        }
    }

    /// One block of such a loop, at place `at` of the tables.
    #[inline(always)]
    unsafe fn in_run<L: Lanes>(&self, start: usize, len: usize, at: usize) {
        for instr in self.code {
            // SAFETY: see `run`.
            unsafe {
                match (instr.code, self.plan.native) {
                    (Code::Native, Some(entry)) => {
                        entry(self.work, self.fixed, 8 * start, len, 8 * at);
                    }
                    (Code::Sum(s), _) => {
                        sum_across_tiles::<L>(&self.plan.sums[s], instr, self.work, start, len);
                    }
                    _ => block::<L>(self.plan, instr, self.work, self.fixed, start, len),
                }
            }
        }
    }

    #[inline(always)]
    fn single<L: Lanes>(self) {
        if let (Some(entry), 1) = (self.plan.native, self.code.len()) {
            // SAFETY: see `run`; the code was made for this loop.
            unsafe { entry(self.work, self.fixed, 0, 1, 0) };
        } else {
            L::apart(Single(self));
        }
    }

    /// Group sums start at zero; partial sums were left there by the tile before.
    #[inline(always)]
    unsafe fn clear(&self) {
        for group in &self.plan.groups {
            // SAFETY: see `run`.
            unsafe { self.work.add(group.total).write_bytes(0, group.len) };
        }
    }
}

#[inline(always)]
unsafe fn block<L: Lanes>(
    plan: &LoopPlan,
    i: &Bound,
    work: *mut f64,
    fixed: *const f64,
    start: usize,
    len: usize,
) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        match i.code {
            Code::GatherRuns(t) => gather_runs::<L>(&plan.runs[t], i, start, len),
            Code::GatherRising(t) => gather_rising::<L>(&plan.runs[t], i, start, len),
            Code::GatherAt(t) => {
                let (to, from) = (i.to.block(start), i.from[0].at);
                for (k, &p) in plan.positions[t][start..start + len].iter().enumerate() {
                    *to.add(k) = *from.add(p as usize);
                }
            }
            Code::Sum(s) => {
                let partials = work.add(plan.sums[s].partials);
                let a = Reader::<L>::new(i.from[0], start);
                if i.n_from == 2 {
                    let b = Reader::<L>::new(i.from[1], start);
                    sum_products::<L>(partials, a, b, len);
                } else {
                    sum::<L>(partials, a, len);
                }
            }
            Code::SumRuns(g) => {
                sum_runs::<L>(&plan.groups[g], i.from[0].block(start), work, start, len);
            }
            Code::SumRising(g) => {
                sum_rising::<L>(&plan.groups[g], i.from[0].block(start), work, start, len);
            }
            Code::SumAt(g) => {
                let group = &plan.groups[g];
                let (from, total) = (i.from[0].block(start), work.add(group.total));
                for (k, &p) in group.positions[start..start + len].iter().enumerate() {
                    *total.add(p as usize) += *from.add(k);
                }
            }
            Code::MatVec(m) => {
                let (m, v) = (&plan.matrices[m], i.from[0].at);
                let panel = fixed.add(m.panel(start));
                mat_vec::<L>(panel, m, v, i.to.block(start), len);
            }
            Code::MatVecT(m) => {
                let (m, g) = (&plan.matrices[m], i.from[0].block(start));
                // Without columns there are no sums either.
                let first = plan.sums.get(m.first_sum).map_or(0, |sum| sum.partials);
                let (panel, partials) = (fixed.add(m.panel(start)), work.add(first));
                mat_vec_transposed::<L>(panel, m, partials, g, len);
            }
            Code::Native => {
                let entry = plan.native.expect("its code was made with the instruction");
                entry(work, fixed, 8 * start, len, 0);
            }
            _ => elementwise::<L>(i, start, len),
        }
    }
}

/// A loop of one element.
struct Single<'a>(LoopRun<'a>);

impl Kernel for Single<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        scalar::run(self.0.code, self.0.plan, self.0.work, self.0.fixed);
    }
}
