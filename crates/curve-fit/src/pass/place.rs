//! Which device a fit is faster on: a prediction from a timed piece of a pass on the CPU and from
//! what a GPU says of itself.

use super::Table;
use crate::fit::{Options, Plan};
use fitzroy::Result;
use fitzroy::run::{self, Inventory, OPENING_S, weigh};
use fitzroy_device::cpu::TILE_ROWS;

/// What a fit asks of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Rows of a pass.
    pub n_rows: usize,
    /// Columns that a pass reads.
    pub n_columns: usize,
    /// Passes through all rows.
    pub passes: f64,
    /// Seconds of a row on one thread of the CPU.
    pub row_s: f64,
    /// Elementwise operations and sums of a row.
    pub n_operations: usize,
    /// Threads of the CPU.
    pub threads: usize,
}

/// Bytes a second that pageable memory is copied with.
const COPIED: f64 = 6e9;
/// Seconds from launching a pass until its sums are back.
const LAUNCH_S: f64 = 5e-5;
/// Bytes a second that a card reads from its own memory, on the safe side.
const OWN_MEMORY: f64 = 2e11;
/// Part of a second thread's time that reading the same memory leaves.
const SECOND_THREAD: f64 = 0.8;

/// Chooses between the CPU and one GPU. The times of the GPU are estimates from counts.
pub fn place(work: &Work, gpu: &Inventory) -> run::Plan {
    let rows = work.n_rows as f64;
    let threads = 1.0 + SECOND_THREAD * (work.threads.max(1) - 1) as f64;
    let cpu_s = work.passes * rows * work.row_s / threads;
    let bytes = 8.0 * rows * work.n_columns as f64;
    let computing = gpu.seconds(rows * work.n_operations as f64);
    let pass = LAUNCH_S + computing.max(bytes / OWN_MEMORY);
    let gpu_s = OPENING_S + bytes / COPIED + work.passes * pass;
    let (passes, row_ns) = (work.passes, 1e9 * work.row_s);
    let cost = format!("{passes:.0} passes of {row_ns:.2} ns a row on the CPU");
    weigh(&cost, cpu_s, gpu_s, gpu)
}

/// Tiles that are timed, and for how many seconds.
const TIMED_TILES: usize = 16;
const TIMED_S: f64 = 2e-3;
/// Passes of a fit on all its rows, and of one that began on a subsample.
const PASSES: f64 = 15.0;
const PASSES_AFTER_SUBSAMPLE: f64 = 3.0;
/// Rows above which fits begin on a subsample.
const MANY_ROWS: usize = 50_000;

/// What the fit of `plan` to `table` asks for: the first tiles of a pass are timed by the caller's
/// clock; the fastest counts, for other programs only slow one down.
///
/// # Errors
/// The data cannot be read.
pub fn work(
    plan: &Plan,
    table: &dyn Table,
    options: &Options,
    now: &dyn Fn() -> f64,
) -> Result<Work> {
    let program = &plan.programs.pass;
    let mut workspace = program.workspace();
    program.set_parameters(&mut workspace, &vec![1.0; program.n_params()]);
    let n_rows = table.n_rows();
    let few = (TIMED_TILES * TILE_ROWS).min(n_rows);
    let (start, mut fastest, mut n_columns) = (now(), f64::INFINITY, 0);
    table.visit(0..few, &mut |_, columns| {
        n_columns = columns.len();
        let n = columns[0].len().max(1) as f64;
        loop {
            let before = now();
            program.accumulate(&mut workspace, columns, &mut |sums| {
                std::hint::black_box(sums);
            });
            let after = now();
            fastest = fastest.min((after - before) / n);
            if after - start > TIMED_S {
                return Ok(());
            }
        }
    })?;
    let many = n_rows > MANY_ROWS && !plan.programs.loss().is_robust();
    Ok(Work {
        n_rows,
        n_columns,
        passes: if many { PASSES_AFTER_SUBSAMPLE } else { PASSES },
        row_s: fastest,
        n_operations: program.n_operations(),
        threads: options.threads,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fitzroy_device::gpu::text::Precision;

    /// An exponential with three parameters; an H100 by its data sheet.
    fn placed(n_rows: usize, passes: f64, threads: usize) -> run::Plan {
        let work = Work {
            n_rows,
            n_columns: 2,
            passes,
            row_s: 2e-9,
            n_operations: 17,
            threads,
        };
        let card = Inventory {
            label: "cuda:0".into(),
            multiprocessors: 132,
            memory_bytes: 80_000_000_000,
            clock_mhz: 1755,
            f64_per_clock: 64.0,
            precision: Precision::F64,
        };
        place(&work, &card)
    }

    #[test]
    fn fits_that_end_before_a_gpu_is_open_stay_on_the_processor() {
        for n in [1000, 1_000_000, 10_000_000] {
            let found = placed(n, 3.0, 1);
            assert!(!found.on_gpu, "{n} rows: {}", found.reason);
            assert!(found.reason.contains("⟨device cuda⟩"), "{}", found.reason);
        }
    }

    /// A billion rows: 6 s a pass against copying 16 GB once, which takes 2.7 s.
    #[test]
    fn fits_with_many_passes_over_many_rows_go_to_the_gpu_unless_many_threads_share_them() {
        let found = placed(1_000_000_000, 3.0, 1);
        assert!(found.on_gpu, "{}", found.reason);
        assert!(found.reason.contains("⟨device cpu⟩"), "{}", found.reason);
        assert!(!placed(1_000_000_000, 3.0, 64).on_gpu);
        assert!(placed(1_000_000_000, 60.0, 4).on_gpu);
    }

    #[test]
    fn a_card_with_slow_f64_is_chosen_later() {
        let work = Work {
            n_rows: 300_000_000,
            n_columns: 2,
            passes: 15.0,
            row_s: 2e-9,
            n_operations: 100,
            threads: 2,
        };
        let card = |f64_per_clock| Inventory {
            label: "cuda:0".into(),
            multiprocessors: 40,
            memory_bytes: 80_000_000_000,
            clock_mhz: 1500,
            f64_per_clock,
            precision: Precision::F64,
        };
        assert!(place(&work, &card(64.0)).on_gpu);
        assert!(!place(&work, &card(1.0)).on_gpu);
    }
}
