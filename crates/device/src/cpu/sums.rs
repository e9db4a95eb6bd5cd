//! Sums and lookups by run. The order of every sum is fixed, see `run`.

use super::operand::{Bound, Reader};
use super::program::{GroupSumPlan, PARTIALS, Runs, SHORT_RUN, SumPlan, TILE};
use crate::lanes::Lanes;

/// Joins the partials of a tile and pushes the sum onto the tree: like a carry in binary counting.
#[inline(always)]
pub(super) unsafe fn close_tile<L: Lanes>(sum: &SumPlan, work: *mut f64, tile: usize) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let p = work.add(sum.partials);
        // 32 to 16 to 8 partials by registers, the rest in one expression: a loop over memory down
        // to a single number would wait for every store.
        for half in [PARTIALS / 2, PARTIALS / 4] {
            for i in (0..half).step_by(L::N) {
                L::load(p.add(i))
                    .add(L::load(p.add(i + half)))
                    .store(p.add(i));
            }
        }
        let c = |k: usize| *p.add(k);
        let mut s = ((c(0) + c(4)) + (c(2) + c(6))) + ((c(1) + c(5)) + (c(3) + c(7)));
        p.write_bytes(0, PARTIALS);
        let tree = work.add(sum.tree);
        let mut level = 0;
        while tile >> level & 1 == 1 {
            s += *tree.add(level);
            level += 1;
        }
        *tree.add(level) = s;
    }
}

/// The total of a loop of at most `PARTIALS` elements, without a tree. Partial sums that no element
/// went to are zeros and left out, which changes no bit: what is added at last is added to 0.
#[inline(always)]
pub(super) unsafe fn close_short<L: Lanes>(sum: &SumPlan, work: *mut f64, n: usize) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let p = work.add(sum.partials);
        for half in [PARTIALS / 2, PARTIALS / 4] {
            if n > half {
                for i in (0..half).step_by(L::N) {
                    L::load(p.add(i))
                        .add(L::load(p.add(i + half)))
                        .store(p.add(i));
                }
            }
        }
        let c = |k: usize| *p.add(k);
        let s = ((c(0) + c(4)) + (c(2) + c(6))) + ((c(1) + c(5)) + (c(3) + c(7)));
        p.write_bytes(0, n.next_multiple_of(PARTIALS / 4));
        *work.add(sum.total) = 0.0 + s;
    }
}

/// Adds up what is left on the tree, lowest level first.
#[inline(always)]
pub(super) unsafe fn join_tiles(sum: &SumPlan, work: *mut f64, tiles: usize) {
    let mut total = 0.0;
    let mut left = tiles;
    while left > 0 {
        let level = left.trailing_zeros() as usize;
        left &= left - 1;
        // SAFETY: see `LoopRun::run`.
        total += unsafe { *work.add(sum.tree + level) };
    }
    // SAFETY: see `LoopRun::run`.
    unsafe { *work.add(sum.total) = total };
}

/// Adds a block to the 32 partial sums.
#[inline(always)]
pub(super) unsafe fn sum<L: Lanes>(partials: *mut f64, a: Reader<L>, len: usize) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let full = len / PARTIALS * PARTIALS;
        let abreast = PARTIALS.min(full);
        for j in (0..abreast).step_by(L::N) {
            let mut s = L::load(partials.add(j));
            for k in (j..full).step_by(PARTIALS) {
                s = s.add(a.get::<true>(k));
            }
            s.store(partials.add(j));
        }
        for k in full..len {
            let x = if a.scalar.is_some() {
                *a.at
            } else {
                *a.at.add(k)
            };
            *partials.add(k - full) += x;
        }
    }
}

/// Adds the products of two blocks to the 32 partial sums.
#[inline(always)]
pub(super) unsafe fn sum_products<L: Lanes>(
    partials: *mut f64,
    a: Reader<L>,
    b: Reader<L>,
    len: usize,
) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let full = len / PARTIALS * PARTIALS;
        let abreast = PARTIALS.min(full);
        for j in (0..abreast).step_by(L::N) {
            let mut s = L::load(partials.add(j));
            for k in (j..full).step_by(PARTIALS) {
                s = a.get::<true>(k).fma(b.get::<true>(k), s);
            }
            s.store(partials.add(j));
        }
        for k in full..len {
            let x = if a.scalar.is_some() {
                *a.at
            } else {
                *a.at.add(k)
            };
            let y = if b.scalar.is_some() {
                *b.at
            } else {
                *b.at.add(k)
            };
            let p = partials.add(k - full);
            *p = Lanes::fma(x, y, *p);
        }
    }
}

/// Adds rows that start anywhere to the partial sums, and closes the tiles that end among them.
#[inline(always)]
pub(super) unsafe fn sum_across_tiles<L: Lanes>(
    plan: &SumPlan,
    i: &Bound,
    work: *mut f64,
    start: usize,
    len: usize,
) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let mut done = 0;
        while done < len {
            let row = start + done;
            // To the next row of the first partial sum, then to the end of the tile.
            let to = if row.is_multiple_of(PARTIALS) {
                TILE
            } else {
                PARTIALS
            };
            let n = (to - row % to).min(len - done);
            let partials = work.add(plan.partials + row % PARTIALS);
            let a = Reader::<L>::new(i.from[0], start).after(done);
            if i.n_from == 2 {
                let b = Reader::<L>::new(i.from[1], start).after(done);
                sum_products::<L>(partials, a, b, n);
            } else {
                sum::<L>(partials, a, n);
            }
            done += n;
            if (row + n).is_multiple_of(TILE) {
                close_tile::<L>(plan, work, row / TILE);
            }
        }
    }
}

/// The total of a run from its eight partial sums, which are cleared.
#[inline(always)]
pub(super) unsafe fn close_eight((carry, total): (usize, usize), group: usize, work: *mut f64) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let carry = work.add(carry);
        let c = |k: usize| *carry.add(k);
        *work.add(total + group) =
            ((c(0) + c(4)) + (c(2) + c(6))) + ((c(1) + c(5)) + (c(3) + c(7)));
        carry.write_bytes(0, 8);
    }
}

/// Adds the next rows of a short run, of which each stands in a partial sum of its own.
#[inline(always)]
pub(super) unsafe fn close_row_by_row(
    (carry, total): (usize, usize),
    group: usize,
    work: *mut f64,
    rows: usize,
) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let (carry, total) = (work.add(carry), work.add(total + group));
        let mut s = *total;
        for k in 0..rows {
            s += *carry.add(k);
        }
        *total = s;
        carry.write_bytes(0, 8);
    }
}

/// Sums by run; a run that spans blocks carries on.
#[inline(always)]
pub(super) unsafe fn sum_runs<L: Lanes>(
    group: &GroupSumPlan,
    from: *const f64,
    work: *mut f64,
    start: usize,
    len: usize,
) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let Some(runs) = &group.runs else { return };
        let (carry, total) = (work.add(group.carry), work.add(group.total));
        let mut run = runs.containing(start);
        let (mut row, end) = (start, start + len);
        while row < end {
            let first = *runs.start.get_unchecked(run) as usize;
            let last = *runs.start.get_unchecked(run + 1) as usize;
            let stop = last.min(end);
            let out = total.add(*runs.group.get_unchecked(run) as usize);
            if let Some(length) = runs.even
                && length < SHORT_RUN
                && row == first
                && row + 8 * length <= end
            {
                sum_eight_runs(from.add(row - start), length, out);
                (row, run) = (row + 8 * length, run + 8);
                continue;
            }
            if last - first < SHORT_RUN {
                let mut s = if row == first { 0.0 } else { *carry };
                for k in row - start..stop - start {
                    s += *from.add(k);
                }
                *(if stop == last { out } else { carry }) = s;
            } else {
                if row == first {
                    carry.write_bytes(0, 8);
                }
                add_to_eight::<L>(carry, from.add(row - start), row - first, stop - row);
                if stop == last {
                    let c = |k: usize| *carry.add(k);
                    *out = ((c(0) + c(4)) + (c(2) + c(6))) + ((c(1) + c(5)) + (c(3) + c(7)));
                }
            }
            row = stop;
            run += 1;
        }
    }
}

/// Eight short runs of one length, side by side, so that none waits for another.
#[inline(always)]
unsafe fn sum_eight_runs(from: *const f64, length: usize, to: *mut f64) {
    let mut sums = [0.0; 8];
    for k in 0..length {
        for (run, sum) in sums.iter_mut().enumerate() {
            // SAFETY: the caller has eight whole runs.
            *sum += unsafe { *from.add(run * length + k) };
        }
    }
    // SAFETY: there are as many sums as runs.
    unsafe { to.copy_from_nonoverlapping(sums.as_ptr(), 8) };
}

/// Adds `len` numbers, of which the first is the run's number `done`, to eight partials.
#[inline(always)]
pub(super) unsafe fn add_to_eight<L: Lanes>(
    carry: *mut f64,
    from: *const f64,
    done: usize,
    len: usize,
) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let head = ((8 - done % 8) % 8).min(len);
        for k in 0..head {
            *carry.add((done + k) % 8) += *from.add(k);
        }
        let full = head + (len - head) / 8 * 8;
        for j in (0..8).step_by(L::N) {
            let mut s = L::load(carry.add(j));
            for k in (head + j..full).step_by(8) {
                s = s.add(L::load(from.add(k)));
            }
            s.store(carry.add(j));
        }
        for k in full..len {
            *carry.add(k - full) += *from.add(k);
        }
    }
}

/// Repeats one element per run. Stores may reach beyond a run; the next run overwrites them.
#[inline(always)]
pub(super) unsafe fn gather_runs<L: Lanes>(runs: &Runs, i: &Bound, start: usize, len: usize) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let (to, from) = (i.to.block(start), i.from[0].at);
        let mut run = runs.containing(start);
        let (mut row, end) = (start, start + len);
        while row < end {
            let stop = (*runs.start.get_unchecked(run + 1) as usize).min(end);
            let x = L::splat(*from.add(*runs.group.get_unchecked(run) as usize));
            let mut k = row - start;
            while k < stop - start {
                x.store(to.add(k));
                k += L::N;
            }
            row = stop;
            run += 1;
        }
    }
}

/// Copies one stretch per run. Stores may reach beyond a run; the next run overwrites them.
#[inline(always)]
pub(super) unsafe fn gather_rising<L: Lanes>(runs: &Runs, i: &Bound, start: usize, len: usize) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let (to, from) = (i.to.block(start), i.from[0].at);
        let mut run = runs.containing(start);
        let (mut row, end) = (start, start + len);
        while row < end {
            let done = row - *runs.start.get_unchecked(run) as usize;
            let stop = (*runs.start.get_unchecked(run + 1) as usize).min(end);
            let from = from.add(*runs.group.get_unchecked(run) as usize + done);
            let to = to.add(row - start);
            for k in (0..stop - row).step_by(L::N) {
                L::load(from.add(k)).store(to.add(k));
            }
            row = stop;
            run += 1;
        }
    }
}

/// Adds one stretch per run to the sums, which start at zero.
#[inline(always)]
pub(super) unsafe fn sum_rising<L: Lanes>(
    group: &GroupSumPlan,
    from: *const f64,
    work: *mut f64,
    start: usize,
    len: usize,
) {
    // SAFETY: see `LoopRun::run`. What stands behind the last sum of a stretch is another sum, so
    // the rest of a register is added one by one.
    unsafe {
        let Some(runs) = &group.runs else { return };
        let total = work.add(group.total);
        let mut run = runs.containing(start);
        let (mut row, end) = (start, start + len);
        while row < end {
            let done = row - *runs.start.get_unchecked(run) as usize;
            let stop = (*runs.start.get_unchecked(run + 1) as usize).min(end);
            let total = total.add(*runs.group.get_unchecked(run) as usize + done);
            let (from, n) = (from.add(row - start), stop - row);
            let full = n / L::N * L::N;
            for k in (0..full).step_by(L::N) {
                let sum = L::load(total.add(k)).add(L::load(from.add(k)));
                sum.store(total.add(k));
            }
            for k in full..n {
                *total.add(k) += *from.add(k);
            }
            row = stop;
            run += 1;
        }
    }
}
