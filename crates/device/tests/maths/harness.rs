//! Running a function at every level, and holding it to its table and to the other levels.

#![allow(clippy::print_stdout)]

use fitzroy_device::lanes::{Kernel, Lanes, Level};
use std::path::Path;

/// A function of up to two arguments with up to two results; a missing result repeats the first.
pub(crate) trait Function: Copy {
    fn at<L: Lanes>(self, x: L, y: L) -> (L, L);
}

/// A function and its slices, to be run at a level.
struct Map<'a, F> {
    function: F,
    x: &'a [f64],
    y: &'a [f64],
    first: &'a mut [f64],
    second: &'a mut [f64],
}

impl<F: Function> Kernel for Map<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let n = self.x.len();
        assert!(n.is_multiple_of(L::N), "padded by `evaluate`");
        assert!([self.y.len(), self.first.len(), self.second.len()] == [n; 3]);
        for i in (0..n).step_by(L::N) {
            // SAFETY: i + L::N ≤ n, the length of all four slices.
            unsafe {
                let x = L::load(self.x.as_ptr().add(i));
                let y = L::load(self.y.as_ptr().add(i));
                let (first, second) = self.function.at(x, y);
                first.store(self.first.as_mut_ptr().add(i));
                second.store(self.second.as_mut_ptr().add(i));
            }
        }
    }
}

/// Both results of `function` at `level`.
pub(crate) fn evaluate<F: Function>(
    function: F,
    level: Level,
    x: &[f64],
    y: &[f64],
) -> [Vec<f64>; 2] {
    let n = x.len().next_multiple_of(8);
    let pad = |v: &[f64]| [v, &vec![1.0; n - v.len()]].concat();
    let (x_padded, y_padded) = (pad(x), pad(y));
    let (mut first, mut second) = (vec![0.0; n], vec![0.0; n]);
    level.run(Map {
        function,
        x: &x_padded,
        y: &y_padded,
        first: &mut first,
        second: &mut second,
    });
    first.truncate(x.len());
    second.truncate(x.len());
    [first, second]
}

/// One line of a table.
struct Row {
    x: f64,
    y: f64,
    /// Correctly rounded results, and what was lost in units of the last place.
    exact: Vec<(f64, f64)>,
}

fn read_table(name: &str, n_arguments: usize) -> Vec<Row> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/maths/tables");
    let text = std::fs::read_to_string(folder.join(format!("{name}.txt"))).expect("a table");
    let number = |word: &str| f64::from_bits(u64::from_str_radix(word, 16).expect("bits"));
    text.lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let exact = words[n_arguments..]
                .chunks(2)
                .map(|pair| {
                    (
                        number(pair[0]),
                        pair[1].parse::<f64>().expect("a number") / 254.0,
                    )
                })
                .collect();
            Row {
                x: number(words[0]),
                y: number(words[n_arguments - 1]),
                exact,
            }
        })
        .collect()
}

/// The distance between neighbouring numbers around `x`.
pub(crate) fn ulp(x: f64) -> f64 {
    let exponent = ((x.to_bits() >> 52) & 0x7FF).max(1);
    if exponent > 52 {
        f64::from_bits((exponent - 52) << 52)
    } else {
        f64::from_bits(1 << (exponent - 1))
    }
}

/// How far `got` is from the exact result, in units of the last place; infinite where one is NaN
/// or infinite and the other is not, or where the sign of a zero differs.
fn error_in_ulp(got: f64, (exact, lost): (f64, f64)) -> f64 {
    if got.to_bits() == exact.to_bits() {
        return lost.abs();
    }
    if exact.is_nan() && got.is_nan() {
        return 0.0;
    }
    if !exact.is_finite() || !got.is_finite() || (got == 0.0 && exact == 0.0) {
        return f64::INFINITY;
    }
    ((got - exact) / ulp(exact) - lost).abs()
}

/// The largest error allowed of a result at (x, y).
pub(crate) type Allowance = fn(x: f64, y: f64, exact: f64) -> f64;

pub(crate) fn check<F: Function>(
    name: &str,
    function: F,
    n_arguments: usize,
    allowed: &[Allowance],
) {
    let rows = read_table(name, n_arguments);
    let x: Vec<f64> = rows.iter().map(|row| row.x).collect();
    let y: Vec<f64> = rows.iter().map(|row| row.y).collect();
    let mut failures = Vec::new();
    for level in Level::available() {
        let results = evaluate(function, level, &x, &y);
        for (k, allowed) in allowed.iter().enumerate() {
            let (mut worst, mut worst_at) = (0.0, 0.0);
            for (row, &got) in rows.iter().zip(&results[k]) {
                let error = error_in_ulp(got, row.exact[k]);
                let limit = allowed(row.x, row.y, row.exact[k].0) / ulp(row.exact[k].0);
                if error > worst {
                    (worst, worst_at) = (error, row.x);
                }
                if error > limit {
                    failures.push(format!(
                        "{name}[{k}]({:e}, {:e}) at {level:?}: got {got:e}, exact {:e}, {error:.2} ulp",
                        row.x, row.y, row.exact[k].0
                    ));
                }
            }
            // Shown by `--nocapture`.
            println!("{name}[{k}] {level:?}: worst {worst:.2} ulp at {worst_at:e}");
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
    check_levels_agree(name, function, &x, &y);
}

/// Table points and 20,000 random ones: half any bits, half of everyday size.
pub(crate) fn check_levels_agree<F: Function>(name: &str, function: F, x: &[f64], y: &[f64]) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |i: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mixed = (state >> 32) ^ state;
        let unit = (mixed >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
        match i % 4 {
            0 => unit * 4.0,
            1 => unit * 200.0,
            _ => f64::from_bits(mixed),
        }
    };
    let mut x = x.to_vec();
    let mut y = y.to_vec();
    for i in 0..20_000 {
        x.push(random(i));
        y.push(random(i));
    }
    let levels = Level::available();
    let base = evaluate(function, levels[0], &x, &y);
    for &level in &levels[1..] {
        let other = evaluate(function, level, &x, &y);
        for k in 0..2 {
            for i in 0..x.len() {
                let (a, b) = (base[k][i], other[k][i]);
                assert!(
                    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
                    "{name}[{k}]({:e}, {:e}): {a:e} at {:?}, {b:e} at {level:?}",
                    x[i],
                    y[i],
                    levels[0]
                );
            }
        }
    }
}
