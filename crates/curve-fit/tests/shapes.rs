//! Built-in curves against SciPy: their values, and fits from their own starts against least squares from the
//! truth (`golden/shapes.py`).
#![allow(clippy::unwrap_used)]

use fitzroy_curve_fit::library::entry;
use fitzroy_curve_fit::{CurveFit, Data, Options};
use serde_json::Value;

fn golden() -> Vec<(String, Value)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/shapes.json");
    let all: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    all.as_object().unwrap().clone().into_iter().collect()
}

fn numbers(of: &Value) -> Vec<f64> {
    let all = of.as_array().unwrap().iter();
    all.map(|v| v.as_f64().unwrap()).collect()
}

fn points(shape: &Value, n: usize) -> Vec<f64> {
    let range = numbers(&shape["range"]);
    let step = (range[1] - range[0]) / (n - 1) as f64;
    (0..n).map(|k| range[0] + step * k as f64).collect()
}

/// Bound: 1e-12 of the value, and 1e-15 of the first parameter. Catches: a wrong formula or constant.
#[test]
fn curves_have_the_values_of_scipy() {
    for (name, shape) in golden() {
        let entry = entry(&name).unwrap_or_else(|| panic!("`{name}` is no curve"));
        let truth = numbers(&shape["truth"]);
        assert_eq!(truth.len(), entry.parameters.len(), "{name}");
        let mut formula = entry.usage();
        for (parameter, value) in entry.parameters.iter().zip(&truth) {
            formula = formula.replacen(&format!(" {parameter}"), &format!(" ({value:?})"), 1);
        }
        let x = points(&shape, numbers(&shape["y"]).len());
        let parsed = fitzroy_curve_fit::Formula::parse(&formula).unwrap();
        let got = fitzroy_curve_fit::formula::computed_column(&parsed, &[("x".into(), x)]).unwrap();
        for (at, want) in [7, 40, 71].iter().zip(numbers(&shape["at_truth"])) {
            let least = 1e-15 * truth[0].abs();
            assert!(
                (got[*at] - want).abs() <= 1e-12 * want.abs() + least,
                "{name}: {} at row {at}, SciPy {want}",
                got[*at]
            );
        }
    }
}

/// Bounds: χ² to 1e-8, values to a ten-thousandth of their standard errors (a hundredth where SciPy's own end is no
/// nearer). A width of either sign is the same curve. Catches: a start that leads elsewhere.
#[test]
fn every_start_leads_to_the_minimum_that_scipy_finds_from_the_truth() {
    let mut wrong = Vec::new();
    for (name, shape) in golden() {
        let y = numbers(&shape["y"]);
        let data = Data::new(y.clone()).with("x", points(&shape, y.len()));
        let found = CurveFit::compile(&name)
            .unwrap()
            .fit(&data, &Options::default())
            .unwrap();
        let (want, errors) = (numbers(&shape["popt"]), numbers(&shape["errors"]));
        let chi2 = shape["chi2"].as_f64().unwrap();
        let names = entry(&name).unwrap().parameters;
        let off = found.parameters.iter().map(|p| {
            let k = names.iter().position(|n| *n == p.name).unwrap();
            (p.value.abs() - want[k].abs()).abs() / errors[k]
        });
        let off = off.fold(0.0, f64::max);
        let close = (found.chi2 - chi2).abs() <= 1e-8 * chi2 || found.chi2 < chi2;
        if !found.converged() || !close || !(off < 1e-2) {
            let values: Vec<String> = found
                .parameters
                .iter()
                .map(|p| format!("{}={:.5} from {:?}", p.name, p.value, p.start))
                .collect();
            wrong.push(format!(
                "{name}: {:?}, chi2 {} for {chi2}, {off} errors off; {}; SciPy {want:?}",
                found.status,
                found.chi2,
                values.join(" ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
