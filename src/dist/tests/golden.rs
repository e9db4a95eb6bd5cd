//! Densities and distribution functions against golden values.

use crate::dist::*;

/// A row of `scalar.csv`.
struct Row<'a> {
    line: &'a str,
    form: Scalar,
    args: Vec<f64>,
    y: f64,
    log_density: f64,
    cdf: Option<f64>,
}

fn rows() -> Vec<Row<'static>> {
    let table = include_str!("../../../tests/golden/dist/scalar.csv");
    let number = |cell: &str| cell.parse::<f64>().expect("a number");
    let row = |line: &'static str| {
        let cells: Vec<&str> = line.split(',').collect();
        let named = |form: &&Scalar| format!("{form:?}") == cells[0];
        Row {
            line,
            form: *Scalar::ALL.iter().find(named).expect("a form in the table"),
            args: cells[1].split_whitespace().map(number).collect(),
            y: number(cells[2]),
            log_density: number(cells[3]),
            cdf: if cells[4].is_empty() {
                None
            } else {
                Some(number(cells[4]))
            },
        }
    };
    table.lines().skip(1).map(row).collect()
}

/// |got − expected| as a share of `bound`; equal infinities and two NaN are 0.
fn share(got: f64, expected: f64, bound: f64) -> f64 {
    if got == expected || (got.is_nan() && expected.is_nan()) {
        return 0.0;
    }
    let share = (got - expected).abs() / bound;
    if share.is_nan() { f64::INFINITY } else { share }
}

#[track_caller]
fn check_all(error_of: impl Fn(&Row) -> f64) {
    let mut bad: Vec<String> = Vec::new();
    for row in rows() {
        let error = error_of(&row);
        if error > 1.0 {
            bad.push(format!("{} is {error:.3} times its bound", row.line));
        }
    }
    assert!(bad.is_empty(), "{} rows:\n{}", bad.len(), bad.join("\n"));
}

/// Bound: 1e-12 of the value, or absolutely below 1: an error of the logarithm is a relative
/// error of the density. Formulas are sums of a few terms, each good to about 1e-15 of itself;
/// terms are up to a hundred times the sum here.
#[test]
fn log_densities_agree_with_60_digit_values() {
    check_all(|row| {
        let got = row.form.log_density(row.y, &row.args);
        share(got, row.log_density, 1e-12 * row.log_density.abs().max(1.0))
    });
}

/// Bound: 1e-12 of the value, plus 1e-15 where a thin tail is a difference of larger numbers.
#[test]
fn distribution_functions_agree_with_60_digit_values() {
    check_all(|row| match (row.form.cdf(row.y, &row.args), row.cdf) {
        (Some(got), Some(expected)) => share(got, expected, 1e-12 * expected + 1e-15),
        (None, None) => 0.0,
        _ => f64::INFINITY,
    });
}

/// Bound: each logarithm is good to 1e-12, so the two shares sum to 1 within 3e-12.
#[test]
fn closed_lower_and_upper_shares_sum_to_one() {
    check_all(|row| {
        let below = row.form.log_cdf(row.y, &row.args);
        let above = row.form.log_ccdf(row.y, &row.args);
        match (below, above) {
            (Some(below), Some(above)) if row.log_density.is_nan() => {
                f64::from(!(below.is_nan() && above.is_nan())) * 2.0
            }
            (Some(below), Some(above)) => share(below.exp() + above.exp(), 1.0, 3e-12),
            (None, None) => 0.0,
            _ => f64::INFINITY,
        }
    });
}

#[test]
fn every_form_has_golden_rows() {
    let rows = rows();
    for form in Scalar::ALL {
        assert!(rows.iter().any(|row| row.form == *form), "{form:?}");
    }
}

#[test]
fn location_and_scale_move_and_stretch() {
    for form in Scalar::ALL {
        let Some([location, scale]) = form.location_scale() else {
            continue;
        };
        let mut args = vec![3.0; form.args().len()];
        (args[location], args[scale]) = (0.0, 1.0);
        let standard = form.log_density(0.7, &args);
        (args[location], args[scale]) = (5.0, 2.0);
        let moved = form.log_density(5.0 + 2.0 * 0.7, &args);
        assert!((moved + 2f64.ln() - standard).abs() < 1e-14, "{form:?}");
    }
}
