//! Differential equations: solutions of SciPy, slopes, and what is said of those that cannot be solved.

use super::Tested;
use serde_json::Value;

fn numbers(list: &Value) -> Vec<f64> {
    let list = list.as_array().expect("a list");
    list.iter().map(|x| x.as_f64().expect("a number")).collect()
}

/// Catches: a wrong coefficient of a method or of its interpolant, a wrong Jacobian, an error that is
/// not what was asked for.
#[test]
fn solutions_are_those_of_scipy_within_the_tolerance() {
    let text = include_str!("../../../../tests/golden/ode/solutions.json");
    let cases: Vec<Value> = serde_json::from_str(text).expect("the golden file is JSON");
    for case in &cases {
        let states: Vec<_> = case["states"].as_array().expect("a list").iter().collect();
        let times = numbers(&case["times"]);
        let method = case["method"].as_str().expect("text");
        for relative in [1e-4, 1e-6, 1e-8, 1e-10] {
            let mut model = "data t[time]\nmu ~ Normal(0, 1)\n".to_owned();
            for state in &states {
                let [name, rate] = [0, 1].map(|k| state[k].as_str().expect("text"));
                model += &format!(
                    "{name}[time] = {method}({rate}, {} * exp(mu), t, rtol={relative:e}, \
                     atol={:e}, steps=100000)\n",
                    state[2],
                    relative * 1e-6
                );
            }
            let tested = Tested::new(&model, &[("t", &[times.len()], &times)]);
            for (state, want) in states
                .iter()
                .zip(case["values"].as_array().expect("a list"))
            {
                let name = state[0].as_str().expect("text");
                let (got, want) = (tested.recorded(name, &[0.0]), numbers(want));
                let scale = want.iter().fold(0.0f64, |m, x| m.max(x.abs()));
                let off = got.iter().zip(&want).map(|(a, b)| (a - b).abs() / scale);
                let worst = off.fold(0.0, f64::max);
                println!("{method} {name} {relative:e}: {worst:e}");
                assert!(worst < 200.0 * relative + 1e-8, "{model}: {got:?} {want:?}");
            }
        }
    }
}
