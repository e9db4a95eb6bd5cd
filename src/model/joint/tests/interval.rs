//! Intervals against SciPy, against `Censored`, and what is refused.

use super::{Reals, Tested, assert_near, error, joint};
use crate::dist::Scalar;

const INF: f64 = f64::INFINITY;

/// Bound: SciPy's own error in differences of distribution functions, of the order of 1e-13 of the
/// larger one; the intervals hold a hundredth of it or more.
#[test]
fn log_probabilities_are_those_of_scipy() {
    let table = include_str!("../../../../tests/golden/interval/interval.csv");
    let mut compared = 0;
    for line in table.lines().skip(1) {
        let [law, low, high, expected] = line.split('|').collect::<Vec<_>>()[..] else {
            panic!("four columns: {line}")
        };
        let number = |text: &str| text.parse::<f64>().expect("a number");
        let text = format!("data low[obs], high[obs]\nlow ~ Interval({law}, upper=high)");
        let data: &Reals<'_> = &[
            ("low", &[1], &[number(low)]),
            ("high", &[1], &[number(high)]),
        ];
        let got = Tested::new(&text, data).density(&[]);
        let wanted = number(expected);
        let error = (got - wanted).abs() / (1.0 + wanted.abs());
        assert!(error < 1e-10, "{line}: got {got}");
        if law == "Normal(0.3, 1.2)" {
            let formula =
                Scalar::Normal.interval_log_density(number(low), &[0.3, 1.2], number(high));
            let error = (formula.expect("it is known") - wanted).abs() / (1.0 + wanted.abs());
            assert!(error < 1e-10, "{line}: the formula gives {formula:?}");
        }
        compared += 1;
    }
    assert_eq!(compared, 67);
}

#[test]
fn exact_censored_and_interval_rows_stand_in_one_statement() {
    let text = "data low[obs], high[obs], x[obs], shape
                a ~ Normal(0, 1)
                s ~ HalfNormal(1)
                low ~ Interval(Weibull(shape + s, exp(a + x)), upper=high)";
    let (low, high) = ([0.5, 0.0, 2.0, 0.7, 1.5], [0.5, 1.0, INF, 1.4, 1.5]);
    let x = [0.1, 0.2, 0.3, 0.4, 0.5];
    let data: &Reals<'_> = &[
        ("low", &[5], &low),
        ("high", &[5], &high),
        ("x", &[5], &x),
        ("shape", &[], &[1.2]),
    ];
    let tested = Tested::new(text, data);
    tested.check_gradient();
    // The same by formulas: ln S = −(t/β)^α.
    for u in tested.points() {
        let (a, s) = (tested.recorded("a", &u)[0], tested.recorded("s", &u)[0]);
        let alpha = 1.2 + s;
        let power = |t: f64, i: usize| (t / (a + x[i]).exp()).powf(alpha);
        let exact = |i: usize| {
            let t: f64 = low[i];
            alpha.ln() - t.ln() + power(t, i).ln() - power(t, i)
        };
        let log_share = |lower: f64, upper: f64, i: usize| {
            ((-power(lower, i)).exp() - (-power(upper, i)).exp()).ln()
        };
        let rows = [
            exact(0),
            log_share(0.0, 1.0, 1),
            -power(2.0, 2),
            log_share(0.7, 1.4, 3),
            exact(4),
        ];
        let own: Vec<f64> = tested
            .graphs
            .terms
            .iter()
            .filter(|t| t.name == "low")
            .flat_map(|t| tested.value(t.node, &u))
            .collect();
        let ordered = [rows[0], rows[4], rows[1], rows[2], rows[3]];
        own.iter()
            .zip(&ordered)
            .for_each(|(a, b)| assert_near(*a, *b));
        assert_eq!(own.len(), 5);
    }
    let joint = joint(text, data);
    assert_eq!(joint.n_observed(), 5);
    let graphs = joint.graphs(&[]);
    let places: Vec<usize> = graphs
        .drawn
        .iter()
        .flat_map(|d| d.part.as_ref().expect("each is a part").at.clone())
        .collect();
    assert_eq!(places, [0, 4, 1, 2, 3]);
}

#[test]
fn censored_rows_are_those_of_censored() {
    let by_interval = "data low[obs], high[obs]
        m ~ Normal(0, 1)
        low ~ Interval(Normal(m, 2), upper=high)";
    let by_censored = "data y[obs]
        m ~ Normal(0, 1)
        y ~ Censored(Normal(m, 2), -1, 1.5)";
    let left = Tested::new(
        by_interval,
        &[
            ("low", &[3], &[-INF, 0.3, 1.5]),
            ("high", &[3], &[-1.0, 0.3, INF]),
        ],
    );
    let right = Tested::new(by_censored, &[("y", &[3], &[-1.0, 0.3, 1.5])]);
    left.check_gradient();
    for u in left.points() {
        assert_near(left.density(&u), right.density(&u));
    }
}

#[test]
fn tables_slices_and_mixtures_have_intervals() {
    let text = "data low[rows, columns], high[columns]
                a[rows] ~ Normal(0, 1)
                low[1:, columns] ~ Interval(Mixture([0.3, 0.7], Normal(m, 1), Normal(0, 2)), upper=high)
                let m = a[1:]";
    let low = [9.0, 9.0, 0.0, -0.5, 0.2, 0.3];
    let data: &Reals<'_> = &[("low", &[3, 2], &low), ("high", &[2], &[1.0, 0.3])];
    let tested = Tested::new(text, data);
    tested.check_gradient();
    let joint = joint(text, data);
    assert_eq!(joint.n_observed(), 4);
    let at = |k: usize| {
        joint.graphs(&[]).drawn[k]
            .part
            .as_ref()
            .expect("a part")
            .at
            .clone()
    };
    assert_eq!((at(0), at(1)), (vec![5], vec![2, 3, 4]));
}

#[test]
fn wrong_intervals_are_placed() {
    let text =
        "data low[obs], high[obs]\na ~ Normal(0, 1)\nlow ~ Interval(Normal(a, 1), upper=high)";
    let two =
        |low: [f64; 2], high: [f64; 2]| error(text, &[("low", &[2], &low), ("high", &[2], &high)]);
    assert_eq!(
        two([0.0, 2.0], [1.0, 1.0]),
        "`low`, row 2: the interval begins at 2 and ends at 1"
    );
    assert_eq!(
        two([0.0, -INF], [1.0, INF]),
        "`low`, row 2: the interval from -inf to inf holds all numbers, so it says nothing; remove \
         the row"
    );
    let waiting = text.replace("Normal(a, 1)", "Exponential(exp(a))");
    let data: &Reals<'_> = &[("low", &[2], &[0.0, -3.0]), ("high", &[2], &[1.0, -1.0])];
    assert_eq!(
        error(&waiting, data),
        "`low`, row 2: Exponential gives nothing between -3 and -1"
    );
    let counted = text.replace("Normal(a, 1)", "Poisson(exp(a))");
    let data: &Reals<'_> = &[("low", &[2], &[0.0, 1.5]), ("high", &[2], &[1.0, 2.0])];
    assert_eq!(
        error(&counted, data),
        "`low` (memory), row 2: 1.5 is not what `Interval` gives: a whole number, 0 or more"
    );
    let moving = text.replace("upper=high", "upper=high + exp(a)");
    let data: &Reals<'_> = &[("low", &[1], &[0.0]), ("high", &[1], &[1.0])];
    let said = error(&moving, data);
    let expected = "the ends of an interval are data; these depend on parameters";
    assert!(said.contains(expected), "{said}");
    let prior = "a ~ Interval(Normal(0, 1), upper=2)";
    let said = error(prior, &[]);
    assert!(
        said.contains("`Interval` says between which numbers data lie"),
        "{said}"
    );
}
