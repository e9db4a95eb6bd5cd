//! Functions along dims and of the incomplete kind: values against plain loops and 50-digit numbers, and
//! slopes.

use super::{Reals, Tested, assert_near, error};
use crate::rng::{Purpose, Rng};

/// `x[a, b]` as parameters near 0 and `d[a, b]` as data, both with equal elements and zeros.
struct Table {
    a: usize,
    b: usize,
    data: Vec<f64>,
    at: Vec<f64>,
}

impl Table {
    fn new(number: u32) -> Table {
        let mut rng = Rng::new(41, 0, 0, number, Purpose::Test);
        let size = |rng: &mut Rng| 1 + (rng.uniform() * 9.0) as usize;
        let (a, b) = (size(&mut rng), size(&mut rng));
        let number = |rng: &mut Rng| match (rng.uniform() * 5.0) as u32 {
            0 => 0.0,
            1 => 1.25,
            _ => 2.0 * rng.normal(),
        };
        let data = (0..a * b).map(|_| number(&mut rng)).collect();
        let at = (0..a * b).map(|_| 1.5 * rng.normal()).collect();
        Table { a, b, data, at }
    }

    /// `f` of every row, or of every column.
    fn rows(values: &[f64], (a, b): (usize, usize), columns: bool) -> Vec<Vec<f64>> {
        let at = |i: usize, j: usize| values[i * b + j];
        match columns {
            false => (0..a).map(|i| (0..b).map(|j| at(i, j)).collect()).collect(),
            true => (0..b).map(|j| (0..a).map(|i| at(i, j)).collect()).collect(),
        }
    }
}

fn reduced(name: &str, row: &[f64]) -> f64 {
    match name {
        "prod" => row.iter().product(),
        "any" => f64::from(u8::from(row.iter().any(|x| *x != 0.0))),
        _ => f64::from(u8::from(row.iter().all(|x| *x != 0.0))),
    }
}

fn along(name: &str, row: &[f64]) -> Vec<f64> {
    let mut out = row.to_vec();
    match name {
        "sort" => out.sort_by(f64::total_cmp),
        "cumprod" => (1..row.len()).for_each(|k| out[k] *= out[k - 1]),
        _ => {
            let total = row.iter().map(|x| x.exp()).sum::<f64>().ln();
            out.iter_mut().for_each(|x| *x -= total);
        }
    }
    out
}

/// Random tables against loops, of parameters and of data, over rows, columns and all.
#[test]
fn functions_along_dims_are_those_of_plain_loops() {
    for number in 0..40 {
        let table = Table::new(number);
        let Table { a, b, data, at } = &table;
        let mut text = String::from("data d[a, b]\nx[a, b] ~ Normal(0, 2)\n");
        for of in ["x", "d"] {
            for (k, f) in ["prod", "any", "all"].iter().enumerate() {
                text += &format!("{of}r{k}[a] = {f}({of}, axis=b)\n");
                text += &format!("{of}c{k}[b] = {f}({of}, axis=a)\n{of}w{k} = {f}({of})\n");
            }
            for (k, f) in ["sort", "cumprod", "log_softmax"].iter().enumerate() {
                text += &format!("{of}s{k}[a, b] = {f}({of}, axis=b)\n");
                text += &format!("{of}t{k}[a, b] = {f}({of}, axis=a)\n");
            }
        }
        let weight: Vec<f64> = (0..a * b).map(|k| 0.3 + (k % 7) as f64 / 5.0).collect();
        text += "data w[a, b]\ntarget += xw0 / 9 + sum(xs0 * w) - sum(xt1 * w) / 9 + sum(xt2 * w)\n\
                 target += sum(xc0) / 9 + sum(xt0 * w) + sum(xs1 * w) / 9\n";
        let given: &Reals<'_> = &[("d", &[*a, *b], data), ("w", &[*a, *b], &weight)];
        let tested = Tested::new(&text, given);
        tested.check_gradient();
        for (of, values) in [("x", at), ("d", data)] {
            let read = |name: &str| tested.recorded(&format!("{of}{name}"), at);
            for (k, f) in ["prod", "any", "all"].iter().enumerate() {
                for (what, columns) in [("r", false), ("c", true)] {
                    let got = read(&format!("{what}{k}"));
                    let rows = Table::rows(values, (*a, *b), columns);
                    for (got, row) in got.iter().zip(&rows) {
                        assert_near(*got, reduced(f, row));
                    }
                }
                assert_near(read(&format!("w{k}"))[0], reduced(f, values));
            }
            for (k, f) in ["sort", "cumprod", "log_softmax"].iter().enumerate() {
                for (what, columns) in [("s", false), ("t", true)] {
                    let got = Table::rows(&read(&format!("{what}{k}")), (*a, *b), columns);
                    let rows = Table::rows(values, (*a, *b), columns);
                    for (got, row) in got.iter().zip(&rows) {
                        let want = along(f, row);
                        got.iter().zip(&want).for_each(|(g, w)| assert_near(*g, *w));
                    }
                }
            }
        }
    }
}

/// Where a factor is 0, the slope of a product is the product of the others. Catches: a product by
/// logarithms, or by dividing.
#[test]
fn slopes_of_products_are_right_at_zero() {
    let text = "dim k = 3\nx[k] ~ Flat()\nd[k] ~ Flat()\ntarget += prod(x) + sum(cumprod(d))";
    let tested = Tested::new(text, &[]);
    let (density, gradient) = tested.compiled(&[2.0, 0.0, 5.0, 0.0, 3.0, 7.0]);
    assert_eq!(density, 0.0);
    assert_eq!(gradient, [0.0, 10.0, 0.0, 1.0 + 3.0 + 21.0, 0.0, 0.0]);
}

/// Bound: 1e-11 for the rule of fixed nodes, of values and of slopes; logarithms of Γ of up to 300 cost
/// 1e-15 of 1,400.
#[test]
fn incomplete_functions_and_their_slopes_agree_with_50_digit_values() {
    let table = include_str!("../../../../tests/golden/functions/incomplete.csv");
    let mut bad = Vec::new();
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let numbers = |cell: &str| -> Vec<f64> {
            cell.split(' ')
                .map(|v| v.parse().expect("a number"))
                .collect()
        };
        let (x, want, slopes) = (numbers(cells[1]), numbers(cells[2])[0], numbers(cells[3]));
        let names = &["p", "q", "r", "s"][..x.len()];
        let priors: String = names.iter().map(|n| format!("{n} ~ Flat()\n")).collect();
        let text = format!("{priors}target += {}({})", cells[0], names.join(", "));
        let (got, gradient) = Tested::new(&text, &[]).compiled(&x);
        let size = slopes.iter().fold(want.abs(), |a, b| a.max(b.abs()));
        let off = |a: f64, b: f64, least: f64| !((a - b).abs() <= 2e-11 * b.abs() + least);
        let wrong = gradient
            .iter()
            .zip(&slopes)
            .any(|(a, b)| off(*a, *b, 1e-11 * size));
        if off(got, want, 1e-12 * want.abs().min(1.0)) || wrong {
            bad.push(format!("{line}: {got}, {gradient:?}"));
        }
    }
    assert!(bad.is_empty(), "{} rows:\n{}", bad.len(), bad.join("\n"));
}

#[test]
fn what_is_not_known_or_not_told_is_refused() {
    let long = "dim k = 1001\nx[k] ~ Normal(0, 1)\ny[k] = sort(x)";
    assert!(
        error(long, &[])
            .contains("compares each element with each, which 1000 may be; these are 1001")
    );
    let values: Vec<f64> = (0..2000).map(|k| f64::from(2000 - k)).collect();
    let data = "data d[k]\ny[k] = sort(d)\nm ~ Normal(0, 1)";
    let tested = Tested::new(data, &[("d", &[2000], &values)]);
    assert_eq!(tested.recorded("y", &[0.0])[..3], [1.0, 2.0, 3.0]);
    for f in ["sort", "cumprod"] {
        let text = format!("data d[a, b]\ny = {f}(d)\nm ~ Normal(0, 1)");
        let message = error(&text, &[("d", &[2, 2], &[1.0, 2.0, 3.0, 4.0])]);
        let wanted = format!("`{f}` goes along one dim; name it: `{f}(x, axis=dim)`");
        assert!(message.contains(&wanted), "{message}");
    }
    let tested = Tested::new(
        "x ~ Flat()\na = gamma_inc(-1, x)\nb = beta_inc(1, 2, 1 + x)\nc = gamma_inc(2, -x)",
        &[],
    );
    for name in ["a", "b", "c"] {
        assert!(tested.recorded(name, &[0.5])[0].is_nan(), "{name}");
    }
}
