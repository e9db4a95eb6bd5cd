//! Curves of unseen shapes over few rows, nothing given: the fit ends as low as one from the truth does. Few rows say
//! little of a wrong minimum, so that a fit is not to be trusted only because they say nothing.
#![allow(clippy::unwrap_used)]

use fitzroy::rng::{Purpose, Rng};
use fitzroy_curve_fit::{CurveFit, Data, Estimate, Options, values};

/// A formula, its value at the truth, and the truth: factors of what is drawn.
type Shape = (
    &'static str,
    fn(f64, &[f64]) -> f64,
    &'static [(&'static str, f64)],
);

const SHAPES: [Shape; 8] = [
    (
        "y0-sqrt(r^2-(x-x0)^2)",
        |x, p| p[0] - (p[1] * p[1] - (x - p[2]).powi(2)).sqrt(),
        &[("y0", 40.0), ("r", 25.0), ("x0", 5.0)],
    ),
    (
        "a+b*x+c/(x+d)^2",
        |x, p| p[0] + p[1] * x + p[2] / (x + p[3]).powi(2),
        &[("a", 30.0), ("b", 1.2), ("c", 90.0), ("d", 1.5)],
    ),
    (
        "a*x/(b+x)+c*exp(-d*x)",
        |x, p| p[0] * x / (p[1] + x) + p[2] * (-p[3] * x).exp(),
        &[("a", 8.0), ("b", 3.0), ("c", 5.0), ("d", 1.3)],
    ),
    (
        "a*sqrt(x)+b*(1-exp(-x/u))",
        |x, p| p[0] * x.sqrt() + p[1] * (1.0 - (-x / p[2]).exp()),
        &[("a", 2.0), ("b", 6.0), ("u", 0.6)],
    ),
    (
        "a*x/(1+b*x)+c*(1-exp(-d*x))",
        |x, p| p[0] * x / (1.0 + p[1] * x) + p[2] * (1.0 - (-p[3] * x).exp()),
        &[("a", 1.5), ("b", 0.05), ("c", 4.0), ("d", 2.5)],
    ),
    (
        "a/sin((x+c)/8)^4+b",
        |x, p| p[0] / ((x + p[1]) / 8.0).sin().powi(4) + p[2],
        &[("a", 0.3), ("c", 3.0), ("b", 2.0)],
    ),
    (
        "i*(exp(a*(x-e))-exp(-c*(x-e)))",
        |x, p| p[0] * ((p[1] * (x - p[2])).exp() - (-p[3] * (x - p[2])).exp()),
        &[("i", 0.4), ("a", 0.5), ("e", 5.0), ("c", 0.8)],
    ),
    (
        "c/(x-h)+d",
        |x, p| p[0] / (x - p[1]) + p[2],
        &[("c", 40.0), ("h", -4.0), ("d", 1.0)],
    ),
];

fn fit(model: &str, x: &[f64], y: &[f64], options: Options) -> Estimate {
    let data = Data::new(y).with("x", x);
    CurveFit::compile(model)
        .unwrap()
        .fit(&data, &options)
        .unwrap()
}

#[test]
fn a_fit_of_few_rows_is_as_likely_as_the_one_from_the_truth_and_more_starts_are_never_worse() {
    let mut rng = Rng::new(77, 0, 0, 0, Purpose::Test);
    let (mut n, mut lower, mut higher) = (0, 0, Vec::new());
    for (model, value, about) in SHAPES {
        for draw in 0..10 {
            let truth: Vec<f64> = about
                .iter()
                .map(|(_, p)| p * (0.3 * rng.normal()).exp().clamp(0.5, 2.0))
                .collect();
            let rows = 14 + 2 * draw;
            let mut x: Vec<f64> = (0..rows).map(|_| 0.2 + 9.6 * rng.uniform()).collect();
            x.sort_by(f64::total_cmp);
            let clean: Vec<f64> = x.iter().map(|x| value(*x, &truth)).collect();
            if clean.iter().any(|y| !y.is_finite()) {
                continue;
            }
            let size = clean.iter().fold(0.0_f64, |s, y| s.max(y.abs()));
            let noise = size * 0.003 * (1.0 + 2.0 * rng.uniform());
            let y: Vec<f64> = clean.iter().map(|y| y + noise * rng.normal()).collect();
            let given: Vec<(String, f64)> = about
                .iter()
                .map(|p| p.0.to_string())
                .zip(truth.clone())
                .collect();
            let from_truth = fit(
                model,
                &x,
                &y,
                Options {
                    p0: given.clone(),
                    ..Options::default()
                },
            );
            if !from_truth.converged() {
                continue;
            }
            let found = fit(model, &x, &y, Options::default());
            let searched = fit(
                model,
                &x,
                &y,
                Options {
                    multistart: 6,
                    ..Options::default()
                },
            );
            assert!(
                searched.cost <= found.cost * (1.0 + 1e-9),
                "{model}, {draw}: {} starts end at {}, one at {}",
                6,
                searched.cost,
                found.cost
            );
            n += 1;
            let variance = 2.0 * from_truth.cost / (rows - truth.len()) as f64;
            if 2.0 * (found.cost - from_truth.cost) <= 4.0 * variance {
                lower += 1;
            } else {
                higher.push((model, draw, found.cost / from_truth.cost, found.doubts()));
            }
        }
    }
    assert!(n >= 60, "{n}");
    assert!(
        f64::from(lower) >= 0.95 * f64::from(n),
        "{lower} of {n}: {higher:?}"
    );
}

#[test]
fn a_power_of_zero_dose_has_slopes() {
    // (x·10ᵏ)ˢ with s < 1 has no finite slope by its base at x = 0, where that does not move.
    let x = [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 0.0, 16.0];
    for (model, truth) in [
        ("a*(x*10^k)^s/(1+(x*10^k)^s)", [3.0, -0.4, 0.7]),
        ("a*(x/exp(k))^s/(1+(x/exp(k))^s)", [3.0, 0.4, 0.7]),
        ("a*(k*x)^s/(1+(k*x)^s)", [3.0, 0.4, 0.7]),
    ] {
        let [a, k, s] = truth;
        let scale = match model {
            m if m.contains("10^k") => 10f64.powf(k),
            m if m.contains("exp") => (-k).exp(),
            _ => k,
        };
        let clean = x.map(|x| a * (x * scale).powf(s) / (1.0 + (x * scale).powf(s)));
        for p0 in [vec![], values([("a", 2.5), ("k", k * 1.1), ("s", 0.8)])] {
            let options = Options {
                p0,
                ..Options::default()
            };
            let found = fit(model, &x, &clean, options);
            for (name, want) in ["a", "k", "s"].iter().zip(truth) {
                let p = found.parameters.iter().find(|p| p.name == *name).unwrap();
                assert!(
                    (p.value - want).abs() < 1e-7 * want.abs(),
                    "{model}: {name} = {}",
                    p.value
                );
            }
        }
    }
}
