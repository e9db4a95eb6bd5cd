//! Logarithms of shares and their slopes where the distribution function is an incomplete gamma
//! or beta function, against 75-digit values.

use crate::dist::*;
use fitzroy_graph::{Bindings, Expr, Op, Scope, evaluate, gradient};

/// A row of `tails.csv`.
struct Row {
    line: &'static str,
    form: Scalar,
    /// y and the arguments.
    point: Vec<f64>,
    /// ln P(Y ≤ y) and ln P(Y > y).
    shares: [f64; 2],
    /// The slopes of both to y and the arguments; 0 to whole numbers.
    slopes: [Vec<f64>; 2],
}

fn rows() -> Vec<Row> {
    let table = include_str!("../../../tests/golden/dist/tails.csv");
    let number = |cell: &str| cell.parse::<f64>().expect("a number");
    let numbers = |cell: &str| cell.split_whitespace().map(number).collect::<Vec<f64>>();
    let row = |line: &'static str| {
        let cells: Vec<&str> = line.split(',').collect();
        let named = |form: &&Scalar| format!("{form:?}") == cells[0];
        Row {
            line,
            form: *Scalar::ALL.iter().find(named).expect("a form in the table"),
            point: [vec![number(cells[2])], numbers(cells[1])].concat(),
            shares: [number(cells[3]), number(cells[4])],
            slopes: [numbers(cells[5]), numbers(cells[6])],
        }
    };
    table.lines().skip(1).map(row).collect()
}

fn share<R: Real>(form: Scalar, side: usize, x: &[R]) -> R {
    let share = match side {
        0 => form.log_cdf(x[0], &x[1..]),
        _ => form.log_ccdf(x[0], &x[1..]),
    };
    share.expect("its distribution function is known")
}

/// Bound: 1e-11 for the rule of fixed nodes, as `tails.rs` says, and 1e-15 of the largest term of
/// the front, which like the density is a sum of terms as large as a ln a; below 1e-300 the share
/// is subnormal or none. Catches: a rule with half as many nodes (1e-6), a wrong side, a shape that
/// is not raised back.
#[test]
fn shares_far_into_the_tails_agree_with_75_digit_values() {
    let mut worst = (0.0, "");
    for row in rows() {
        let size: f64 = row
            .point
            .iter()
            .map(|x| x.abs())
            .fold(1.0, f64::max)
            .min(1e6);
        for side in [0, 1] {
            let (got, want) = (share(row.form, side, &row.point), row.shares[side]);
            let bound = 1e-11 * want.abs().max(1.0) + 1e-15 * size * libm::log(size + 1.0);
            // Next to 1 the logarithm is as small as the other share.
            let bound = if want > -1e-3 {
                1e-10 * want.abs() + 1e-16
            } else {
                bound
            };
            let error = (got - want).abs() / bound;
            assert!(error < 1.0, "{}: side {side} is {got}", row.line);
            if error > worst.0 {
                worst = (error, row.line);
            }
        }
    }
    assert!(worst.0 > 0.0, "something was compared");
}

/// Bound: as of the values, a hundred times wider, for a slope is a quotient of such numbers.
#[test]
fn slopes_of_shares_agree_with_75_digit_values() {
    for row in rows() {
        for side in [0, 1] {
            let scope = Scope::new();
            let wanted = &row.slopes[side];
            let leaf = |i: usize| match wanted[i] {
                0.0 => Expr::lit(row.point[i]),
                _ => scope.param(i, &[]),
            };
            let x: Vec<Expr> = (0..row.point.len()).map(leaf).collect();
            let node = scope.node(share(row.form, side, &x));
            let mut graph = scope.finish();
            for partial in gradient(&mut graph, node) {
                let Op::Param { offset } = graph.node(partial.param).op else {
                    panic!("a leaf")
                };
                let bindings = Bindings::default();
                let got = evaluate(&graph, &bindings, &row.point, &[partial.adjoint])[0][0];
                let want = wanted[offset];
                let bound = 1e-9 * want.abs() + 1e-11 * row.shares[side].abs().min(1.0) + 1e-15;
                let error = (got - want).abs() / bound;
                assert!(
                    error < 1.0,
                    "{}: side {side}, slope {offset} is {got}, not {want}",
                    row.line
                );
            }
        }
    }
}

/// Where there is nothing below, or nothing above, and at arguments that are not valid.
#[test]
fn shares_at_the_ends_of_the_support_are_none_or_all() {
    let check = |form: Scalar, y: f64, args: &[f64], below: f64, above: f64| {
        let got = (
            form.log_cdf(y, args).unwrap(),
            form.log_ccdf(y, args).unwrap(),
        );
        // Where nothing is left 1e300 is as good as ∞.
        let equal = |a: f64, b: f64| {
            (a.is_nan() == b.is_nan() && a.max(-1e299) == b.max(-1e299))
                || (a.is_nan() && b.is_nan())
        };
        let right = equal(got.0, below) && equal(got.1, above);
        assert!(right, "{form:?} at {y} with {args:?}: {got:?}");
    };
    let none = f64::NEG_INFINITY;
    for (form, args) in [
        (Scalar::Gamma, [2.0, 3.0]),
        (Scalar::InverseGamma, [2.0, 3.0]),
        (Scalar::Beta, [2.0, 3.0]),
        (Scalar::HalfStudentT, [2.0, 3.0]),
        (Scalar::NegativeBinomial, [2.0, 3.0]),
        (Scalar::Binomial, [2.0, 0.3]),
        (Scalar::ZeroInflatedPoisson, [0.5, 3.0]),
        (Scalar::HurdlePoisson, [0.5, 3.0]),
    ] {
        check(form, -1.0, &args, none, 0.0);
        if form != Scalar::HalfStudentT && form != Scalar::ZeroInflatedPoisson {
            let far = form.log_cdf(f64::INFINITY, &args).unwrap();
            assert!(far.abs() < 1e-12, "{form:?} at infinity: {far}");
        }
        let invalid = [-args[0], args[1]];
        check(form, 0.5, &invalid, f64::NAN, f64::NAN);
    }
    check(Scalar::Binomial, 2.0, &[2.0, 0.3], 0.0, none);
    check(Scalar::Binomial, 0.0, &[2.0, 0.0], 0.0, none);
    check(Scalar::Binomial, 1.0, &[2.0, 1.0], none, 0.0);
    check(Scalar::Poisson, 3.0, &[0.0], 0.0, none);
    check(Scalar::Beta, 1.0, &[2.0, 3.0], 0.0, none);
    let far = Scalar::StudentT
        .log_ccdf(f64::INFINITY, &[2.0, 0.0, 1.0])
        .unwrap();
    assert!(far < -600.0, "{far}");
}

/// Bound: 4 standard errors of 4,000 draws, through the mean of a truncated tail that is nearly
/// exponential (known from the shares: slope of ln P(Y > y) is the hazard). Catches: NaN, and an
/// inversion on the side where the distribution function is 1.
#[test]
fn draws_far_up_a_tail_are_where_the_tail_is() {
    use crate::rng::{Purpose, Rng};
    let n = 4000;
    for (form, args, lower) in [
        (Scalar::Normal, vec![0.0, 1.0], 12.0),
        (Scalar::Normal, vec![0.0, 1.0], 38.0),
        (Scalar::Logistic, vec![0.0, 1.0], 60.0),
        (Scalar::Exponential, vec![1.0], 80.0),
        (Scalar::Gumbel, vec![0.0, 1.0], 45.0),
    ] {
        let mut rng = Rng::new(5, 0, 0, 0, Purpose::Test);
        let draw = |rng: &mut Rng| form.sample_truncated(rng, &args, lower, f64::INFINITY);
        let above: Vec<f64> = (0..n).map(|_| draw(&mut rng) - lower).collect();
        assert!(above.iter().all(|x| *x >= 0.0), "{form:?} above {lower}");
        // P(Y > lower + x)/P(Y > lower) is uniform.
        let start = form.log_ccdf(lower, &args).unwrap();
        let level = |x: &f64| (form.log_ccdf(lower + x, &args).unwrap() - start).exp();
        let mean = above.iter().map(level).sum::<f64>() / f64::from(n);
        let standard_error = (1.0 / 12.0 / f64::from(n)).sqrt();
        assert!(
            (mean - 0.5).abs() < 4.0 * standard_error,
            "{form:?}: {mean}"
        );
    }
    let mut rng = Rng::new(5, 0, 0, 0, Purpose::Test);
    let count = Scalar::Poisson.sample_truncated(&mut rng, &[2.0], 60.0, f64::INFINITY);
    assert!((60.0..66.0).contains(&count), "{count}");
    let low = Scalar::Normal.sample_truncated(&mut rng, &[0.0, 1.0], f64::NEG_INFINITY, -20.0);
    assert!((-21.0..=-20.0).contains(&low), "{low}");
}
