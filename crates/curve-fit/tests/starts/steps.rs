//! Families with steps and breaks, and what errors they have.

use super::*;

/// A step of `where`, of 3 to 20 standard deviations.
pub(super) fn step(chance: &mut Chance) -> Problem {
    let (n, span, even) = (
        chance.count(100, 1000),
        chance.scale(1e-2, 1e3),
        chance.coin(),
    );
    let x = chance.rows(n, span, even);
    let (x0, a) = (span * chance.between(0.1, 0.9), chance.between(-2.0, 2.0));
    let b = a + if chance.coin() { 1.0 } else { -1.0 };
    let noise = chance.scale(0.05, 0.33);
    let y = chance.noisy(&x, noise, |x| if x < x0 { a } else { b });
    Problem {
        text: "where(x < x0, a, b)".into(),
        x,
        y,
        truth: truth(&[("x0", x0), ("a", a), ("b", b)]),
    }
}

pub(super) fn two_steps(chance: &mut Chance) -> Problem {
    let mut p = step(chance);
    let span = p.x[p.x.len() - 1];
    let (x0, x1) = (
        span * chance.between(0.1, 0.45),
        span * chance.between(0.55, 0.9),
    );
    let (a, b, c) = (0.0, 1.0, chance.between(-1.0, 0.5));
    let x = p.x.clone();
    let noise = chance.scale(0.03, 0.2);
    p.y = chance.noisy(&x, noise, |x| {
        if x < x0 {
            a
        } else if x < x1 {
            b
        } else {
            c
        }
    });
    p.text = "where(x < x0, a, where(x < x1, b, c))".into();
    p.truth = truth(&[("x0", x0), ("a", a), ("x1", x1), ("b", b), ("c", c)]);
    p
}

/// Two lines that meet.
pub(super) fn broken_line(chance: &mut Chance) -> Problem {
    let mut p = step(chance);
    let span = p.x[p.x.len() - 1];
    let x0 = span * chance.between(0.2, 0.8);
    let (a, b, c) = (
        1.0,
        chance.between(-2.0, 2.0) / span,
        chance.between(4.0, 8.0) / span,
    );
    let x = p.x.clone();
    let noise = chance.scale(0.02, 0.1);
    p.y = chance.noisy(&x, noise, |x| a + b * x + c * (x - x0).max(0.0));
    p.text = match chance.coin() {
        true => "a + b*x + c*max(x - x0, 0)",
        false => "where(x < x0, a + b*x, a + b*x + c*(x - x0))",
    }
    .into();
    p.truth = truth(&[("a", a), ("b", b), ("c", c), ("x0", x0)]);
    p
}

/// The place of a step is one of many: none is reported to be better, so that it has no error; levels have
/// those of means of the rows on their sides.
#[test]
fn the_place_of_a_step_is_found_and_has_no_error() {
    let mut chance = Chance(Rng::new(7, 0, 0, 0, Purpose::Data));
    for n in [60, 900, 20_000] {
        let x = chance.rows(n, 10.0, n != 60);
        let y = chance.noisy(&x, 0.1, |x| if x < 3.7 { 1.0 } else { 2.0 });
        let below = x
            .iter()
            .copied()
            .filter(|x| *x < 3.7)
            .fold(f64::NEG_INFINITY, f64::max);
        let above = x
            .iter()
            .copied()
            .filter(|x| *x >= 3.7)
            .fold(f64::INFINITY, f64::min);
        let problem = Problem {
            text: "where(x < x0, a, b)".into(),
            truth: truth(&[("x0", 3.7), ("a", 1.0), ("b", 2.0)]),
            x,
            y,
        };
        let found = fit(&problem, &[]);
        let place = found.parameter("x0").unwrap();
        assert!(
            below < place.value && place.value <= above,
            "{n}: {}",
            place.value
        );
        assert!(
            !place.se.is_finite() && !found.findings.is_empty(),
            "{:?}",
            found.findings
        );
        let level = found.parameter("b").unwrap();
        assert!((level.value - 2.0).abs() < 0.1, "{}", level.value);
        let above = problem.x.iter().filter(|x| **x >= place.value).count();
        let error = (found.reduced_chi2() / above as f64).sqrt();
        assert!(
            (level.se / error - 1.0).abs() < 1e-9,
            "{} {error}",
            level.se
        );
        assert_eq!(found.covariance_status, CovarianceStatus::Flat);
    }
}
