//! The global search against SciPy's differential evolution (`golden/global.py`): curves with many minima, in the
//! same bounds, without starting values.
#![allow(clippy::unwrap_used)]

use fitzroy_curve_fit::{CurveFit, Data, Options};
use serde_json::Value;

fn golden() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/global.json");
    let all: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    all.as_array().unwrap().clone()
}

fn numbers(of: &Value) -> Vec<f64> {
    let all = of.as_array().unwrap().iter();
    all.map(|v| v.as_f64().unwrap()).collect()
}

fn bounds(problem: &Value) -> Vec<(String, f64, f64)> {
    let all = problem["bounds"].as_object().unwrap().iter();
    let ends = all.map(|(name, ends)| (name.clone(), numbers(ends)));
    ends.map(|(name, ends)| (name, ends[0], ends[1])).collect()
}

/// Every problem ends at the minimum that SciPy's search of the same box found, which is that of a fit from the
/// truth, for every seed that is tried. Bound: 1e-6 of the cost.
#[test]
fn every_problem_ends_where_scipys_differential_evolution_does() {
    let (mut wrong, mut plain) = (Vec::new(), 0);
    let all = golden();
    for (k, problem) in all.iter().enumerate() {
        let (x, y) = (numbers(&problem["x"]), numbers(&problem["y"]));
        let data = Data::new(&y).with("x", &x);
        let fitter = CurveFit::compile(problem["formula"].as_str().unwrap()).unwrap();
        let best = problem["scipy_cost"].as_f64().unwrap();
        let best = best.min(problem["truth_cost"].as_f64().unwrap());
        let fit = |global: bool, seed: u64| {
            let options = Options {
                bounds: bounds(problem),
                global,
                seed,
                ..Options::default()
            };
            fitter.fit(&data, &options).unwrap()
        };
        for seed in [42, 1, 2] {
            let e = fit(true, seed);
            if !(e.converged() && e.cost <= best * (1.0 + 1e-6)) {
                wrong.push((k, problem["family"].clone(), seed, e.cost, best));
            }
        }
        plain += usize::from(fit(false, 42).cost <= best * (1.0 + 1e-6));
    }
    println!(
        "without the search {plain} of {} problems end there",
        all.len()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The same seed gives the same bits, and a search never ends above the fit without one.
#[test]
fn a_search_repeats_itself_and_never_makes_a_fit_worse() {
    let x: Vec<f64> = (0..60).map(|i| f64::from(i) * 0.1).collect();
    let y: Vec<f64> = x
        .iter()
        .map(|x| 2.0 * (-0.7 * x).exp() + 0.3 + 0.05 * (9.0 * x).sin())
        .collect();
    let data = Data::new(&y).with("x", &x);
    for model in ["a*exp(-b*x)+c", "a*x+b", "gaussian(x,a,m,s)+c"] {
        let fitter = CurveFit::compile(model).unwrap();
        let options = Options {
            global: true,
            ..Options::default()
        };
        let [first, second] = [0, 1].map(|_| fitter.fit(&data, &options).unwrap());
        assert_eq!(first.popt, second.popt, "{model}");
        let plain = fitter.fit(&data, &Options::default()).unwrap();
        assert!(first.cost <= plain.cost * (1.0 + 1e-12), "{model}");
    }
}

/// Losses and counts: the field is searched by least squares, and what is found is fitted as asked for.
#[test]
fn robust_fits_and_counts_are_searched_too() {
    let x: Vec<f64> = (0..80).map(|i| f64::from(i) * 0.075).collect();
    let wave = |x: &f64| (1.7 * x + 0.9 * x * x + 0.4).sin();
    let mut y: Vec<f64> = x.iter().map(|x| 2.0 * wave(x)).collect();
    y[7] += 30.0;
    let box_ = [
        ("a", 0.1, 9.0),
        ("w", 0.0, 12.0),
        ("k", -2.0, 2.0),
        ("p", -3.2, 3.2),
    ];
    let bounds = box_.map(|(n, a, b)| (n.to_string(), a, b)).to_vec();
    let options = Options {
        bounds,
        global: true,
        loss: fitzroy_curve_fit::Loss::SoftL1,
        f_scale: fitzroy_curve_fit::Scale::Fixed(0.1),
        ..Options::default()
    };
    let fitter = CurveFit::compile("a*sin(w*x + k*x^2 + p)").unwrap();
    let e = fitter.fit(&Data::new(&y).with("x", &x), &options).unwrap();
    assert!(e.converged());
    assert!(
        (e.parameter("k").unwrap().value - 0.9).abs() < 0.01,
        "{:?}",
        e.popt
    );
    let counts: Vec<f64> = x.iter().map(|x| (40.0 + 30.0 * wave(x)).round()).collect();
    let options = Options {
        loss: fitzroy_curve_fit::Loss::Poisson,
        ..options
    };
    let fitter = CurveFit::compile("40 + 10*a*sin(w*x + k*x^2 + p)").unwrap();
    let e = fitter
        .fit(&Data::new(&counts).with("x", &x), &options)
        .unwrap();
    assert!(
        (e.parameter("k").unwrap().value - 0.9).abs() < 0.02,
        "{:?}",
        e.popt
    );
}
