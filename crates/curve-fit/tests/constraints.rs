//! Linear constraints: against every active set tried in turn, and what is refused.
#![allow(clippy::unwrap_used)]

use fitzroy::rng::{Purpose, Rng};
use fitzroy_curve_fit::{CurveFit, Data, Estimate, Options, values};

const N: usize = 40;
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// Columns of a linear model of four parameters.
fn columns(rng: &mut Rng) -> Vec<Vec<f64>> {
    let normal = |_| (0..N).map(|_| rng.normal()).collect();
    (0..4).map(normal).collect()
}

/// Σ (Xθ − y)² with Cθ = e, by elimination of the equations' multipliers: the solution of the bordered matrix.
fn bordered(x: &[Vec<f64>], y: &[f64], rows: &[(Vec<f64>, f64)]) -> Option<(Vec<f64>, Vec<f64>)> {
    let (p, m) = (x.len(), rows.len());
    let mut a = vec![vec![0.0; p + m + 1]; p + m];
    let dot = |u: &[f64], v: &[f64]| u.iter().zip(v).map(|(a, b)| a * b).sum::<f64>();
    for i in 0..p {
        for j in 0..p {
            a[i][j] = dot(&x[i], &x[j]);
        }
        for (k, (c, _)) in rows.iter().enumerate() {
            (a[i][p + k], a[p + k][i]) = (c[i], c[i]);
        }
        a[i][p + m] = dot(&x[i], y);
    }
    for (k, (_, e)) in rows.iter().enumerate() {
        a[p + k][p + m] = *e;
    }
    for at in 0..p + m {
        let pivot = (at..p + m).max_by(|&i, &j| a[i][at].abs().total_cmp(&a[j][at].abs()))?;
        if a[pivot][at].abs() < 1e-10 {
            return None;
        }
        a.swap(at, pivot);
        for i in 0..p + m {
            if i != at {
                let factor = a[i][at] / a[at][at];
                for j in at..=p + m {
                    a[i][j] -= factor * a[at][j];
                }
            }
        }
    }
    let all: Vec<f64> = (0..p + m).map(|i| a[i][p + m] / a[i][i]).collect();
    Some((all[..p].to_vec(), all[p..].to_vec()))
}

/// One constraint as text: Σ c θ (sign) e.
fn written(row: &(Vec<f64>, f64), sign: &str) -> String {
    let terms = row.0.iter().zip(NAMES).filter(|(c, _)| **c != 0.0);
    let terms: Vec<String> = terms.map(|(c, name)| format!("({c:?})*{name}")).collect();
    format!("{} {sign} {:?}", terms.join(" + "), row.1)
}

fn fitted(
    x: &[Vec<f64>],
    y: &[f64],
    constraints: Vec<String>,
    method: fitzroy_curve_fit::Method,
) -> fitzroy::Result<Estimate> {
    let mut data = Data::new(y.to_vec());
    for (k, column) in x.iter().enumerate() {
        data = data.with(&format!("x{k}"), column.clone());
    }
    let options = Options {
        constraints,
        method,
        ..Options::default()
    };
    CurveFit::compile("a*x0 + b*x1 + c*x2 + d*x3")
        .unwrap()
        .fit(&data, &options)
}

/// Random problems of one to three inequalities and perhaps an equation. The oracle solves every choice of
/// inequalities as equations, and keeps the one that breaks none and has no multiplier of the wrong sign.
#[test]
fn the_minimum_is_that_of_the_right_active_set() {
    let mut solved = 0;
    for number in 0..60 {
        let mut rng = Rng::new(900 + number, 0, 0, 0, Purpose::Test);
        let x = columns(&mut rng);
        let truth: Vec<f64> = (0..4).map(|_| rng.normal()).collect();
        let y: Vec<f64> = (0..N)
            .map(|i| (0..4).map(|k| truth[k] * x[k][i]).sum::<f64>() + 0.3 * rng.normal())
            .collect();
        let mut row = || {
            let c: Vec<f64> = (0..4)
                .map(|_| {
                    if rng.uniform() < 0.4 {
                        0.0
                    } else {
                        rng.normal()
                    }
                })
                .collect();
            (c, 0.5 * rng.normal())
        };
        let n_less = 1 + number as usize % 3;
        let less: Vec<(Vec<f64>, f64)> = (0..n_less)
            .map(|_| row())
            .filter(|r| r.0.iter().any(|c| *c != 0.0))
            .collect();
        let equal: Vec<(Vec<f64>, f64)> = (0..number as usize / 3 % 2)
            .map(|_| row())
            .filter(|r| r.0.iter().any(|c| *c != 0.0))
            .collect();
        let value = |c: &[f64], at: &[f64]| c.iter().zip(at).map(|(a, b)| a * b).sum::<f64>();
        let mut want = None;
        for set in 0..1usize << less.len() {
            let active: Vec<usize> = (0..less.len()).filter(|k| set >> k & 1 == 1).collect();
            let rows: Vec<_> = equal
                .iter()
                .chain(active.iter().map(|&k| &less[k]))
                .cloned()
                .collect();
            let Some((theta, multipliers)) = bordered(&x, &y, &rows) else {
                continue;
            };
            let holds = less.iter().all(|(c, e)| value(c, &theta) <= e + 1e-9);
            if holds && multipliers[equal.len()..].iter().all(|m| *m >= -1e-9) {
                want = Some((theta, active));
            }
        }
        let Some((want, active)) = want else { continue };
        let constraints: Vec<String> = less
            .iter()
            .map(|r| written(r, "<="))
            .chain(equal.iter().map(|r| written(r, "=")))
            .collect();
        for method in [
            fitzroy_curve_fit::Method::Auto,
            fitzroy_curve_fit::Method::Trf,
        ] {
            let found = match fitted(&x, &y, constraints.clone(), method) {
                // Three of two parameters.
                Err(error) => {
                    assert!(
                        error.to_string().contains("follows from the others"),
                        "{error}"
                    );
                    continue;
                }
                Ok(found) => found,
            };
            solved += 1;
            assert!(
                found.converged(),
                "{number}: {:?} {constraints:?}",
                found.status
            );
            for (name, want) in NAMES.iter().zip(&want) {
                let got = found.parameter(name).unwrap().value;
                assert!(
                    (got - want).abs() < 1e-8 * (1.0 + want.abs()),
                    "{number} {name}: {got}, want {want}; {constraints:?}"
                );
            }
            for k in 0..less.len() {
                let slack = found.parameter(&format!("slack{}", k + 1)).unwrap();
                assert_eq!(
                    slack.at_bound,
                    active.contains(&k),
                    "{number}: {constraints:?}"
                );
            }
            let told = found
                .findings
                .iter()
                .filter(|f| f.contains("holds with equality"))
                .count();
            assert_eq!(told, active.len());
        }
    }
    assert!(solved > 80, "{solved}");
}

/// Errors of what is solved for are those of the other parameters, by the delta method: a share and its rest have one error.
#[test]
fn an_equation_leaves_one_error_to_both_sides() {
    let x: Vec<f64> = (0..60).map(|i| f64::from(i) * 0.1).collect();
    let mut rng = Rng::new(3, 0, 0, 0, Purpose::Test);
    let y: Vec<f64> = x
        .iter()
        .map(|x| 0.3 * (-x).exp() + 0.7 * (-0.2 * x).exp() + 0.01 * rng.normal())
        .collect();
    let data = Data::new(y).with("x", x);
    let options = Options {
        constraints: vec!["a1 + a2 = 1".into(), "k1 > k2".into()],
        p0: values([("k1", 2.0), ("k2", 0.1), ("a1", 0.5)]),
        ..Options::default()
    };
    let found = CurveFit::compile("a1*exp(-k1*x) + a2*exp(-k2*x)")
        .unwrap()
        .fit(&data, &options)
        .unwrap();
    let of = |name: &str| found.parameter(name).unwrap();
    assert!(found.converged());
    assert!((of("a1").value + of("a2").value - 1.0).abs() < 1e-14);
    assert!((of("a1").se - of("a2").se).abs() < 1e-12 && of("a1").se > 0.0);
    assert!((of("k1").value - of("k2").value - of("slack1").value).abs() < 1e-14);
    assert!((of("a1").value - 0.3).abs() < 5.0 * of("a1").se);
    assert!(found.dof == 60 - 3 && !of("slack1").at_bound);
}

/// Two equal peaks have two minima, of which a constraint allows one.
#[test]
fn peaks_are_put_in_the_order_that_is_asked_for() {
    let x: Vec<f64> = (0..200).map(|i| f64::from(i) * 0.1).collect();
    let peak = |x: f64, a: f64, m: f64| a * (-(x - m) * (x - m) / 2.0).exp();
    let y: Vec<f64> = x
        .iter()
        .map(|&x| peak(x, 3.0, 6.0) + peak(x, 5.0, 12.0))
        .collect();
    let data = Data::new(y).with("x", x);
    for (constraint, first) in [("m1 < m2", 6.0), ("m1 >= m2", 12.0)] {
        let options = Options {
            constraints: vec![constraint.into()],
            ..Options::default()
        };
        let found = CurveFit::compile("a1*exp(-(x-m1)^2/2) + a2*exp(-(x-m2)^2/2)")
            .unwrap()
            .fit(&data, &options)
            .unwrap();
        assert!(
            (found.parameter("m1").unwrap().value - first).abs() < 1e-6,
            "{constraint}: {found:?}"
        );
    }
}

#[test]
fn what_is_no_linear_constraint_is_refused() {
    let data = Data::new(vec![1.0, 2.0, 3.0, 4.0]).with("x", vec![0.0, 1.0, 2.0, 3.0]);
    for (constraints, holds) in [
        (vec!["a + x < 1"], "`x` is a column"),
        (vec!["a + q < 1"], "no parameter `q`"),
        (vec!["a + b"], "needs =, < or >"),
        (vec!["0 < a < b"], "more than one sign"),
        (vec!["a - a < 1"], "depends on no parameter"),
        (vec!["a + b = 1", "a + b = 2"], "contradicts"),
        (vec!["a < ("], "constraint a < ("),
    ] {
        let options = Options {
            constraints: constraints.iter().map(ToString::to_string).collect(),
            ..Options::default()
        };
        let error = CurveFit::compile("a*x + b")
            .unwrap()
            .fit(&data, &options)
            .unwrap_err()
            .to_string();
        assert!(error.contains(holds), "{constraints:?}: {error}");
    }
}
