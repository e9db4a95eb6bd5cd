//! Constraints that are not linear: against SciPy (`golden/curved.py`), and against the same curve written in parameters
//! that know no constraint.
#![allow(clippy::unwrap_used)]

use fitzroy_curve_fit::{CurveFit, Data, Estimate, Options, values};
use serde_json::Value;

fn numbers(of: &Value) -> Vec<f64> {
    let all = of.as_array().unwrap().iter();
    all.map(|v| v.as_f64().unwrap()).collect()
}

fn golden() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/curved.json");
    let all: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    all.as_array().unwrap().clone()
}

fn fitted(case: &Value, constraints: Vec<String>) -> Estimate {
    let (x, y) = (numbers(&case["x"]), numbers(&case["y"]));
    let data = Data::new(&y).with("x", &x);
    let options = Options {
        constraints,
        ..Options::default()
    };
    let fitter = CurveFit::compile(case["formula"].as_str().unwrap()).unwrap();
    fitter.fit(&data, &options).unwrap()
}

/// Bounds: the cost to 1e-7 of SciPy's or below it, values to 1e-4 of themselves, which is what SLSQP and trust-constr
/// are good for.
#[test]
fn curved_constraints_end_where_scipy_does() {
    for case in golden() {
        let texts = case["constraints"].as_array().unwrap().iter();
        let texts: Vec<String> = texts.map(|t| t.as_str().unwrap().into()).collect();
        let e = fitted(&case, texts.clone());
        assert!(e.converged(), "{texts:?}: {:?} {:?}", e.status, e.findings);
        let want = case["cost"].as_f64().unwrap();
        assert!(
            (e.cost / want - 1.0).abs() < 1e-6,
            "{texts:?}: {} there {want}",
            e.cost
        );
        let names = ["a", "b", "m", "s", "w", "p", "c", "d"];
        let mut order: Vec<&str> = e.parameters.iter().map(|p| p.name.as_str()).collect();
        order.retain(|n| names.contains(n));
        for (name, want) in order.iter().zip(numbers(&case["theta"])) {
            let got = e.parameter(name).unwrap().value;
            assert!(
                (got - want).abs() < 1e-4 * want.abs().max(0.1),
                "{texts:?} {name}: {got} there {want}"
            );
        }
    }
}

/// a = cos φ and b = sin φ need no a² + b² = 1, and a = 3.2/s no a·s = 3.2: values, errors and degrees of freedom are
/// the same.
#[test]
fn errors_are_those_of_parameters_without_the_constraint() {
    let all = golden();
    for (k, other, of) in [
        (0, "cos(q)*x + sin(q)", "q"),
        (3, "3.2/s*exp(-(x-m)^2/(2*s^2)) + c", "s"),
    ] {
        let case = &all[k];
        let text = case["constraints"][0].as_str().unwrap().to_string();
        let e = fitted(case, vec![text]);
        let (x, y) = (numbers(&case["x"]), numbers(&case["y"]));
        let data = Data::new(&y).with("x", &x);
        let options = Options {
            p0: values([("q", 0.7)])
                .into_iter()
                .filter(|(n, _)| n == of)
                .collect(),
            ..Options::default()
        };
        let plain = CurveFit::compile(other)
            .unwrap()
            .fit(&data, &options)
            .unwrap();
        assert_eq!(e.dof, plain.dof);
        assert!((e.chi2 / plain.chi2 - 1.0).abs() < 1e-9);
        let find = |e: &Estimate, name: &str| e.parameter(name).map(|p| (p.value, p.se)).unwrap();
        let (v, s) = find(&plain, of);
        let pairs = match k {
            0 => vec![
                ("a", v.cos(), v.sin().abs() * s),
                ("b", v.sin(), v.cos().abs() * s),
            ],
            _ => vec![("s", v, s), ("a", 3.2 / v, 3.2 / (v * v) * s)],
        };
        for (name, value, se) in pairs {
            let got = find(&e, name);
            assert!((got.0 - value).abs() < 1e-7, "{name} {got:?} {value}");
            assert!((got.1 / se - 1.0).abs() < 1e-5, "{name} {got:?} {se}");
        }
    }
}

/// A constraint that no point fulfils is told, and one that does not bind changes nothing.
#[test]
fn what_cannot_hold_is_told_and_what_does_not_bind_changes_nothing() {
    let case = &golden()[1];
    let free = fitted(case, Vec::new());
    let loose = fitted(case, vec!["a*b < 10".into()]);
    for (a, b) in free.popt.iter().zip(&loose.popt) {
        assert!((a / b - 1.0).abs() < 1e-8);
    }
    for (a, b) in free.pcov.iter().zip(&loose.pcov) {
        assert!((a - b).abs() < 1e-6 * a.abs().max(1e-12));
    }
    assert!(loose.findings.is_empty(), "{:?}", loose.findings);
    let tight = fitted(case, vec!["a*b < 1.5".into()]);
    assert!(tight.converged() && tight.cost > free.cost);
    assert!(tight.findings[0].contains("holds with equality"));
    let never = fitted(case, vec!["a^2 + b^2 < -1".into()]);
    assert!(!never.converged());
    assert!(
        never.findings.iter().any(|f| f.contains("no point")),
        "{:?}",
        never.findings
    );
}
