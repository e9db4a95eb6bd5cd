//! The same rows give the same bits: in memory, in pieces, with any number of threads.
#![allow(clippy::unwrap_used)]

mod shared;

use fitzroy_curve_fit::pass::{Pieces, Table};
use fitzroy_curve_fit::{CurveFit, Data, Options, Progressive, values};
use shared::{bits, decay, decay_along, table};

fn fit(table: &dyn Table, threads: usize, progressive: Progressive) -> (Vec<u64>, usize) {
    let found = shared::fit(table, threads, progressive).unwrap();
    (bits(&found), found.full_reads)
}

#[test]
fn pieces_and_threads_change_no_bit() {
    for n in [1023, 1024, 1025, 140_001, 600_001] {
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

/// Of large tables all rows are read once, and the rest is told by a part of them: what that leaves is
/// at most the thousandth of a standard error that `finish.rs` allows; without the second derivatives
/// there it is a hundredth. Errors agree to their fourth digit; without the correction to the second.
#[test]
fn a_fit_that_reads_all_rows_once_ends_where_a_full_fit_ends() {
    for n in [600_001, 1_500_000] {
        let table = table(decay(n));
        let fast = shared::fit(&table, 1, Progressive::Auto).unwrap();
        let full = shared::fit(&table, 1, Progressive::Off).unwrap();
        assert_eq!(fast.full_reads, 1, "{n} rows");
        for (k, (own, other)) in fast.parameters.iter().zip(&full.parameters).enumerate() {
            let off = (own.value - other.value).abs() / other.se;
            assert!(off < 1e-3, "{off} errors off: {}", own.name);
            let off = (own.se / other.se - 1.0).abs();
            assert!(off < 1e-4, "the error of {k} is {off} off");
        }
        assert!((fast.chi2 / full.chi2 - 1.0).abs() < 1e-8);
    }
}

/// Of five parameters, too, where second derivatives are told by sums that are there anyway.
#[test]
fn a_damped_sine_is_read_once_and_ends_where_a_full_fit_ends() {
    let n = 1_000_000;
    let [x, noise] = decay(n);
    let free = |x: f64| 1.9 * (-0.25 * x).exp() * (3.1 * x + 0.4).sin() + 0.2;
    let smooth = |x: f64| 2.0 * (-0.5 * x).exp() + 0.3;
    let both = x.iter().zip(&noise);
    let y: Vec<f64> = both.map(|(&x, y)| free(x) + y - smooth(x)).collect();
    let fit = |progressive| {
        let options = Options {
            p0: values([("a", 1.5), ("b", 0.2), ("w", 3.0), ("p", 0.3), ("c", 0.0)]),
            progressive,
            ..Options::default()
        };
        let fitter = CurveFit::compile("a*exp(-b*x)*sin(w*x+p)+c").unwrap();
        fitter.fit(&Data::new(&y).with("x", &x), &options).unwrap()
    };
    let (fast, full) = (fit(Progressive::Auto), fit(Progressive::Off));
    assert_eq!(fast.full_reads, 1);
    for (own, other) in fast.parameters.iter().zip(&full.parameters) {
        let off = (own.value - other.value).abs() / other.se;
        assert!(off < 1e-3, "{off} errors off: {}", own.name);
    }
}

/// What a fit leaves behind for the next changes no bit, whatever rows that one has.
#[test]
fn a_fitter_that_was_used_gives_the_bits_of_a_new_one() {
    let options = Options {
        p0: values([("a", 1.0), ("b", 1.0), ("c", 0.0)]),
        ..Options::default()
    };
    let used = CurveFit::compile("a*exp(-b*x)+c").unwrap();
    for n in [1000, 37, 3001, 1000, 70_000, 999] {
        let [x, y] = decay(n);
        let data = Data::new(&y).with("x", &x);
        let new = CurveFit::compile("a*exp(-b*x)+c").unwrap();
        let want = bits(&new.fit(&data, &options).unwrap());
        assert_eq!(bits(&used.fit(&data, &options).unwrap()), want, "{n} rows");
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
