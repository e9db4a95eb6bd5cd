//! The same rows give the same bits: in memory, in pieces, with any number of threads.
#![allow(clippy::unwrap_used)]

mod shared;

use fitzroy_curve_fit::Progressive;
use fitzroy_curve_fit::pass::{Pieces, Table};
use shared::{bits, decay, decay_along, table};

fn fit(table: &dyn Table, threads: usize, progressive: Progressive) -> (Vec<u64>, usize) {
    let found = shared::fit(table, threads, progressive).unwrap();
    (bits(&found), found.full_reads)
}

#[test]
fn pieces_and_threads_change_no_bit() {
    for n in [1023, 1024, 1025, 140_001] {
        let whole = table(decay(n));
        let want = fit(&whole, 1, Progressive::Auto);
        for tiles in [1, 7, 1000] {
            let pieces = Pieces {
                table: &whole,
                tiles,
            };
            for threads in [1, 2, 7] {
                assert_eq!(
                    fit(&pieces, threads, Progressive::Auto),
                    want,
                    "{n} {tiles} {threads}"
                );
            }
        }
    }
}

/// The progressive start must not be led astray by the order of rows.
#[test]
fn sorted_periodic_and_clustered_rows_end_where_a_full_fit_ends() {
    let n = 60_000;
    let orders: [fn(usize, usize) -> f64; 3] = [
        |i, n| i as f64 * 5.0 / n as f64,
        |i, _| (i % 64) as f64 * 5.0 / 64.0,
        |i, n| {
            if i < n - 500 {
                0.1 * (i as f64 / n as f64)
            } else {
                5.0 * (i % 100) as f64 / 100.0
            }
        },
    ];
    for order in orders {
        let table = table(decay_along(n, order));
        let (fast, reads) = fit(&table, 1, Progressive::Auto);
        let (full, _) = fit(&table, 1, Progressive::Off);
        assert!(reads <= 8, "{reads} reads");
        for (fast, full) in fast[..3].iter().zip(&full) {
            let (fast, full) = (f64::from_bits(*fast), f64::from_bits(*full));
            assert!((fast - full).abs() <= 1e-7 * full.abs(), "{fast} {full}");
        }
    }
}
