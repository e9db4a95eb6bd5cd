//! The least-squares problems of Moré, Garbow and Hillstrom, each from x0, 10 x0 and 100 x0,
//! beside SciPy's trf on the same formulas.
#![allow(clippy::unwrap_used)]

use fitzroy_curve_fit::{CurveFit, Data, Options};
use serde_json::Value;

fn golden() -> Value {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/golden/more_garbow_hillstrom.json"
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(v: &Value) -> Vec<f64> {
    let all = v.as_array().unwrap().iter();
    all.map(|x| x.as_f64().unwrap()).collect()
}

/// As the script judges SciPy.
fn solved(sum_of_squares: f64, minima: &[f64]) -> bool {
    minima.iter().any(|best| {
        sum_of_squares <= best * (1.0 + 1e-5) + 1e-11
            && sum_of_squares >= best * (1.0 - 1e-4) - 1e-11
    })
}

#[test]
fn at_least_as_many_are_solved_as_by_trf() {
    let golden = golden();
    let (mut ours, mut said) = (0, String::new());
    for problem in golden["problems"].as_array().unwrap() {
        let columns = problem["columns"].as_object().unwrap();
        let n = columns.values().next().unwrap().as_array().unwrap().len();
        let mut data = Data::new(vec![0.0; n]);
        for (name, values) in columns {
            data = data.with(name, numbers(values));
        }
        let fitter = CurveFit::compile(problem["formula"].as_str().unwrap()).unwrap();
        let minima = numbers(&problem["minima"]);
        for run in problem["runs"].as_array().unwrap() {
            let names = problem["parameters"].as_array().unwrap().iter();
            let names = names.map(|n| n.as_str().unwrap().to_string());
            let options = Options {
                p0: names.zip(numbers(&run["start"])).collect(),
                ..Options::default()
            };
            let found = fitter.fit(&data, &options);
            let sum = found.as_ref().map_or(f64::NAN, |e| 2.0 * e.cost);
            let good = solved(sum, &minima);
            ours += usize::from(good);
            let theirs = run["solved"].as_bool().unwrap();
            if !good {
                let status = found.map_or_else(|e| e.to_string(), |e| e.status.name().to_string());
                said += &format!(
                    "{} from {}: {sum:e} ({status}), trf {theirs}\n",
                    problem["name"], run["start"]
                );
            }
        }
    }
    let theirs = golden["trf_solved"].as_u64().unwrap() as usize;
    assert!(ours >= theirs, "{ours} of 57, trf {theirs}\n{said}");
}
