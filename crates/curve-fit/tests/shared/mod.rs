//! A decay with ripples in place of noise, its fit, and a folder that removes itself.
#![allow(dead_code, unreachable_pub)] // Each test file uses a part.

use fitzroy_curve_fit::fit::{Plan, fit_table};
use fitzroy_curve_fit::method::Next;
use fitzroy_curve_fit::pass::{Columns, Table};
use fitzroy_curve_fit::{Estimate, Formula, Options, Progressive, values};
use std::borrow::Cow;
use std::path::PathBuf;

/// x and y of `n` rows, in the order of `x(i, n)`.
pub fn decay_along(n: usize, x: impl Fn(usize, usize) -> f64) -> [Vec<f64>; 2] {
    let x: Vec<f64> = (0..n).map(|i| x(i, n)).collect();
    let ripple = |i: usize| ((i * 104_729) % 1009) as f64 / 1009.0 - 0.5;
    let rows = x.iter().enumerate();
    let y = rows.map(|(i, x)| 2.0 * (-0.5 * x).exp() + 0.3 + 0.1 * ripple(i));
    let y = y.collect();
    [x, y]
}

/// x and y of `n` rows, shuffled.
pub fn decay(n: usize) -> [Vec<f64>; 2] {
    decay_along(n, |i, n| (i * 7919 % n) as f64 * 5.0 / n as f64)
}

/// Columns in memory.
pub fn table(columns: [Vec<f64>; 2]) -> Columns<'static> {
    Columns::new(columns.into_iter().map(Cow::Owned).collect())
}

/// The fit of `a*exp(-b*x)+c`.
pub fn fit(
    table: &dyn Table,
    threads: usize,
    progressive: Progressive,
) -> fitzroy::Result<Estimate> {
    let options = Options {
        p0: values([("a", 1.0), ("b", 1.0), ("c", 0.0)]),
        threads,
        progressive,
        ..Options::default()
    };
    let formula = Formula::parse("a*exp(-b*x)+c")?;
    let roles = formula.roles(&["x"], &[])?;
    let plan = Plan::new(&formula, roles, false, &options)?;
    fit_table(&plan, table, &options, &mut |_| Next::Continue)
}

/// All numbers of a converged fit, as bits.
#[track_caller]
pub fn bits(found: &Estimate) -> Vec<u64> {
    assert!(found.converged());
    let all = found.popt.iter().chain(&found.pcov).chain([&found.cost]);
    all.map(|x| x.to_bits()).collect()
}

/// A folder of its own, removed at the end.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// A folder named after the test.
    pub fn new(name: &str) -> Scratch {
        let name = format!("fitzroy-curve-fit-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("the temporary folder is writable");
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
