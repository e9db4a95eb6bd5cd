//! The same rows give the same bits: in memory, in pieces, with any number of threads.
#![allow(clippy::unwrap_used)]

use fitzroy_curve_fit::fit::{Plan, fit_table};
use fitzroy_curve_fit::method::Next;
use fitzroy_curve_fit::pass::{Columns, Pieces, Table};
use fitzroy_curve_fit::{Formula, Options, Progressive, values};
use std::borrow::Cow;

/// A decay with ripples in place of noise.
fn table(n: usize) -> Columns<'static> {
    let x: Vec<f64> = (0..n)
        .map(|i| (i * 7919 % n) as f64 * 5.0 / n as f64)
        .collect();
    let ripple = |i: usize| ((i * 104_729) % 1009) as f64 / 1009.0 - 0.5;
    let y = x
        .iter()
        .enumerate()
        .map(|(i, x)| 2.0 * (-0.5 * x).exp() + 0.3 + 0.1 * ripple(i));
    let y = y.collect();
    Columns::new(vec![Cow::Owned(x), Cow::Owned(y)])
}

fn fit(table: &dyn Table, threads: usize, progressive: Progressive) -> (Vec<u64>, usize) {
    let options = Options {
        p0: values([("a", 1.0), ("b", 1.0), ("c", 0.0)]),
        threads,
        progressive,
        ..Options::default()
    };
    let formula = Formula::parse("a*exp(-b*x)+c").unwrap();
    let roles = formula.roles(&["x"], &[]).unwrap();
    let plan = Plan::new(&formula, roles, false, &options).unwrap();
    let found = fit_table(&plan, table, &options, &mut |_| Next::Continue).unwrap();
    assert!(found.converged());
    let all = found.popt.iter().chain(&found.pcov).chain([&found.cost]);
    (all.map(|x| x.to_bits()).collect(), found.full_reads)
}

#[test]
fn pieces_and_threads_change_no_bit() {
    for n in [1023, 1024, 1025, 140_001] {
        let whole = table(n);
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
        let x: Vec<f64> = (0..n).map(|i| order(i, n)).collect();
        let ripple = |i: usize| ((i * 104_729) % 1009) as f64 / 1009.0 - 0.5;
        let y = x
            .iter()
            .enumerate()
            .map(|(i, x)| 2.0 * (-0.5 * x).exp() + 0.3 + 0.1 * ripple(i));
        let y: Vec<f64> = y.collect();
        let table = Columns::new(vec![Cow::Owned(x), Cow::Owned(y)]);
        let (fast, reads) = fit(&table, 1, Progressive::Auto);
        let (full, _) = fit(&table, 1, Progressive::Off);
        assert!(reads <= 8, "{reads} reads");
        for (fast, full) in fast[..3].iter().zip(&full) {
            let (fast, full) = (f64::from_bits(*fast), f64::from_bits(*full));
            assert!((fast - full).abs() <= 1e-7 * full.abs(), "{fast} {full}");
        }
    }
}
